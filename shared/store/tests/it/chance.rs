//! Faults injected by chance, and what survives them.

use std::sync::Arc;

use proptest::prelude::*;
use tokio::task::JoinSet;

use crate::*;
use store::{Attempts, Beat, Leased, PutPush, TaskQuery};
use store_testing::{Database, Faults, Injected};

#[test]
fn faults_travel_as_text() {
    let faults = Faults::rough(7);
    assert_eq!(faults.to_string().parse(), Ok(faults));
    assert_eq!("".parse(), Ok(Faults::default()));
    for rubbish in ["seed", "seed=x", "sneeze=1", "=", "lost=-1"] {
        assert!(rubbish.parse::<Faults>().is_err(), "{rubbish}");
    }
}

/// What ten look-ups and ten commits meet.
async fn meets(faults: Faults) -> Injected {
    let (store, database) = store_testing::start().await;
    let (faulty, injector) = database.faulty_store(faults);
    let mut task = task();
    let key = created(&store, &task).await;
    for at in 0..10 {
        if let Ok(Some(found)) = faulty.tasks().find(&key, now()).await {
            task = found.task;
        }
        let revision = revised(&task, TaskState::Working, later(at));
        let tasks = faulty.tasks();
        let _ = tasks.commit(&revision, Due::Keep, LeaseAfter::Keep).await;
    }
    injector.injected()
}

#[tokio::test]
async fn each_fault_is_injected_counted_and_follows_from_the_seed() {
    assert_eq!(
        meets(Faults::default()).await,
        Injected {
            requests: 20,
            ..Injected::default()
        }
    );
    let half = |seed| Faults {
        seed,
        throttled: 150,
        conflicts: 150,
        unsent: 150,
        lost: 150,
        ..Faults::default()
    };
    let met = meets(half(1)).await;
    assert!(
        met.throttled > 0 && met.conflicts > 0 && met.unsent > 0 && met.lost > 0,
        "{met:?}"
    );
    assert_eq!(met, meets(half(1)).await);
    assert_ne!(met, meets(half(2)).await);
}

#[tokio::test]
async fn an_index_lags_and_catches_up() {
    let (store, database) = store_testing::start().await;
    let (faulty, injector) = database.faulty_store(Faults {
        lagging: 1000,
        lag_ms: 300,
        ..Faults::default()
    });
    let old = task();
    created(&store, &old).await;
    assert_eq!(of_context(&faulty, "trip").await.len(), 1);
    created(&faulty, &task()).await;
    assert_eq!(
        of_context(&faulty, "trip").await.len(),
        1,
        "the newest is not seen yet"
    );
    assert_eq!(injector.injected().lagging, 1);
    for _ in 0..100 {
        if of_context(&faulty, "trip").await.len() == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the index never caught up");
}

/// Half of all answers are lost.
fn lossy(seed: u64) -> Faults {
    Faults {
        seed,
        lost: 400,
        conflicts: 100,
        ..Faults::default()
    }
}

/// Until the database answers at all: what was not answered may have been done or not.
macro_rules! until_answered {
    ($call:expr) => {
        loop {
            match $call.await {
                Ok(answer) => break Some(answer),
                Err(StoreError::Unavailable { .. } | StoreError::Throttled { .. }) => break None,
                Err(error) => panic!("{error}"),
            }
        }
    };
}

#[tokio::test]
async fn whoever_did_it_is_told_so_also_when_the_answer_was_lost() {
    let (store, database) = store_testing::start().await;
    let (mut lost, mut told) = (0, 0);
    for seed in 0..25 {
        let (faulty, injector) = database.faulty_store(lossy(seed));
        let tasks = faulty.tasks();
        let task = task();
        let (key, message) = (TaskKey::from(&task), task.id.to_string());
        let id = message_id(&message);
        let new = NewRecord {
            task: &task,
            message_id: &id,
            body_hash: "hash",
            push: None,
            due_at: now(),
            retention: seconds(60),
        };
        let created = until_answered!(tasks.create(&new));
        assert!(matches!(created, None | Some(Created::New)), "{created:?}");
        if store.tasks().find(&key, now()).await.unwrap().is_none() {
            continue;
        }
        let leased = until_answered!(tasks.lease(&key, "w", now(), later(30)));
        if let Some(leased) = leased {
            let Leased::Taken(leased) = leased else {
                panic!("{leased:?}")
            };
            assert_eq!(leased.attempts, 1, "a repeat counts nothing");
            let beat = until_answered!(tasks.heartbeat(&key, "w", later(40)));
            assert!(matches!(beat, None | Some(Beat::Kept)));
            let revision = revised(&leased.task, TaskState::Working, later(1));
            let committed = until_answered!(tasks.commit(&revision, Due::Keep, LeaseAfter::Keep));
            assert!(matches!(committed, None | Some(Committed::Yes)));
            if committed.is_some() {
                let put = until_answered!(tasks.put_push(&key, &push_config("c"), 2, now()));
                assert!(
                    matches!(put, None | Some(PutPush::New | PutPush::Replaced)),
                    "{put:?}"
                );
                let released = until_answered!(tasks.release(&key, "w", 2, Due::Never, Attempts::Reset));
                assert!(released.unwrap_or(true));
                told += usize::from(released.is_some());
            }
        }
        lost += injector.injected().lost;
    }
    assert!(lost > 20 && told > 5, "{lost} {told}");
}

#[tokio::test]
async fn a_delivery_is_claimed_and_settled_once_also_when_answers_are_lost() {
    let (store, database) = store_testing::start().await;
    let mut told = 0;
    for seed in 100..120 {
        let (faulty, _) = database.faulty_store(lossy(seed));
        let task = task();
        let key = created(&store, &task).await;
        let config = push_config("c");
        store.tasks().put_push(&key, &config, 1, now()).await.unwrap();
        step(&store, read(&store, &task).await, TaskState::Working, now()).await;
        let tasks = faulty.tasks();
        let claimed = until_answered!(tasks.claim_push(&key, &config.id, "w", now(), later(45)));
        let Some(claimed) = claimed else { continue };
        assert_eq!(claimed.expect("it is due").delivered, 1);
        let settled = store::Settled {
            delivered: 2,
            numbered: 0,
            attempts: 0,
            at: now(),
            due: Due::Keep,
            last_error: None,
        };
        let done = until_answered!(tasks.settle_push(&key, &config.id, "w", settled));
        assert!(matches!(done, None | Some(store::PushSettled::Done)), "{done:?}");
        told += usize::from(done.is_some());
    }
    assert!(told > 5, "{told}");
}

/// A step of one of several writers on one task.
#[derive(Debug, Clone, Copy)]
enum Step {
    Record(TaskState),
    Say,
    Work,
    Configure(u8),
    Forget(u8),
    Cancel,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![Just(TaskState::Working), Just(TaskState::InputRequired)].prop_map(Step::Record),
        3 => Just(Step::Say),
        3 => Just(Step::Work),
        1 => (0..4_u8).prop_map(Step::Configure),
        1 => (0..4_u8).prop_map(Step::Forget),
        1 => Just(Step::Cancel),
    ]
}

/// Takes one step; whatever the store answers, the task must stay legal.
async fn take(store: &Store, key: &TaskKey, holder: &str, step: Step) -> Result<(), StoreError> {
    let tasks = store.tasks();
    let config = |name: u8| push_config(&format!("c{name}"));
    match step {
        Step::Configure(name) => tasks.put_push(key, &config(name), 1, now()).await.map(|_| ()),
        Step::Forget(name) => tasks.delete_push(key, &config(name).id, now()).await,
        Step::Work => {
            if let Leased::Taken(stored) = tasks.lease(key, holder, now(), later(30)).await?
                && !stored.task.status.state.is_terminal()
            {
                let revision = revised(&stored.task, TaskState::Working, later(1));
                let after = LeaseAfter::Release { holder };
                tasks.commit(&revision, Due::Never, after).await?;
            }
            Ok(())
        }
        Step::Record(_) | Step::Say | Step::Cancel => {
            let Some(stored) = tasks.find(key, now()).await? else {
                return Ok(());
            };
            let kind = match step {
                Step::Record(state) => EventKind::status(state, None),
                Step::Cancel => EventKind::status(TaskState::Canceled, None),
                _ => EventKind::Said {
                    message: message("more"),
                },
            };
            let mut revision = Revision::of(stored.task);
            if revision.record(kind, later(1)).is_ok() {
                tasks.commit(&revision, Due::Keep, LeaseAfter::Keep).await?;
            }
            Ok(())
        }
    }
}

/// The log is gapless, replays to the task, and what hangs on the task agrees with it.
async fn is_legal(store: &Store, database: &Database, first: Task, key: &TaskKey) {
    let tasks = store.tasks();
    let stored = tasks.find(key, now()).await.unwrap().unwrap();
    let log = tasks.events(key, 0, 1000).await.unwrap();
    let numbers: Vec<u64> = log.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=stored.task.rev).collect::<Vec<_>>());
    let mut replayed = first;
    for event in &log[1..] {
        replayed.record(event.kind.clone(), event.at).unwrap();
    }
    let mut ids: Vec<_> = tasks
        .list_pushes(key)
        .await
        .unwrap()
        .into_iter()
        .map(|config| config.id)
        .collect();
    let mut named = stored.task.push_configs.clone();
    ids.sort_by_key(ToString::to_string);
    named.sort_by_key(ToString::to_string);
    assert_eq!(ids, named);
    replayed.push_configs.clone_from(&stored.task.push_configs);
    assert_eq!(replayed, stored.task);
    let ended = stored.task.status.state.is_terminal();
    assert_eq!(ended, stored.expires_at.is_some());
    for item in crate::retention::all_of(store, database, key).await {
        let end = crate::retention::end(&item);
        let expected = stored.expires_at.map(|end| end.seconds().to_string());
        assert_eq!(end, expected, "{item:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, ..ProptestConfig::default() })]
    #[test]
    fn any_interleaving_of_writers_leaves_a_legal_history(
        seed in any::<u64>(),
        writers in prop::collection::vec(prop::collection::vec(any_step(), 1..6), 2..5),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let (store, database) = store_testing::start().await;
            let first = task();
            let key = Arc::new(created(&store, &first).await);
            let mut all = JoinSet::new();
            for (number, steps) in (0_u64..).zip(writers) {
                let faults = Faults { lag_ms: 0, ..Faults::rough(seed.wrapping_add(number)) };
                let (faulty, _) = database.faulty_store(faults);
                let key = Arc::clone(&key);
                all.spawn(async move {
                    for step in steps {
                        match take(&faulty, &key, &format!("w{number}"), step).await {
                            Ok(()) | Err(StoreError::Throttled { .. } | StoreError::Unavailable { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            while let Some(done) = all.join_next().await {
                done.unwrap();
            }
            is_legal(&store, &database, first, &key).await;
        });
    }
}

#[tokio::test]
async fn a_listing_over_a_lagging_index_tells_nothing_untrue() {
    let (store, database) = store_testing::start().await;
    let (faulty, injector) = database.faulty_store(Faults {
        lagging: 1000,
        lag_ms: 60_000,
        ..Faults::default()
    });
    let (acme, weather, user) = (tenant("acme"), agent("weather"), owner("user-1"));
    let query = TaskQuery {
        tenant: &acme,
        agent: &weather,
        owner: &user,
        context: None,
        state: Some(TaskState::Submitted),
        changed_since: None,
        limit: 10,
        cursor: None,
        now: now(),
    };
    let task = task();
    created(&store, &task).await;
    assert_eq!(faulty.tasks().query(query).await.unwrap().tasks.len(), 1);
    step(&store, task, TaskState::Completed, later(1)).await;
    assert!(faulty.tasks().query(query).await.unwrap().tasks.is_empty());
    assert_eq!(injector.injected().lagging, 1);
}
