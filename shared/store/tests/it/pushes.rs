//! Deliveries: claimed by one, told in order, due again when there is news.

use crate::*;
use store::{ClaimedPush, DUE_SHARDS, PointsAt, PushSettled, Settled, counted};

fn settled(delivered: u64, attempts: u32, due: Due) -> Settled<'static> {
    Settled {
        delivered,
        numbered: 0,
        attempts,
        at: now(),
        due,
        last_error: None,
    }
}

struct Fixture {
    store: Store,
    _database: store_testing::Database,
    key: TaskKey,
    task: Task,
    id: PushConfigId,
}

/// A task with a push configuration, worked on once: the event 2 is news.
async fn fixture() -> Fixture {
    let fixture = fresh().await;
    let task = step(&fixture.store, fixture.task, TaskState::Working, now()).await;
    Fixture { task, ..fixture }
}

async fn fresh() -> Fixture {
    let (store, _database) = store_testing::start().await;
    let config = push_config("c#1");
    let mut task = task();
    task.push_configs = vec![config.id.clone()];
    let message = message_id("m");
    let new = NewRecord {
        task: &task,
        message_id: &message,
        body_hash: "hash",
        push: Some(&config),
        due_at: later(5000),
        retention: seconds(36_000),
    };
    assert_eq!(store.tasks().create(&new).await.unwrap(), Created::New);
    let (key, id) = (TaskKey::from(&task), config.id);
    Fixture {
        store,
        _database,
        key,
        task,
        id,
    }
}

impl Fixture {
    async fn claim(&self, holder: &str, at: u64) -> Option<ClaimedPush> {
        let tasks = self.store.tasks();
        tasks
            .claim_push(&self.key, &self.id, holder, later(at), later(at + 45))
            .await
            .unwrap()
    }

    async fn settle(&self, holder: &str, delivered: u64, attempts: u32, due: Due) -> PushSettled {
        let tasks = self.store.tasks();
        tasks
            .settle_push(&self.key, &self.id, holder, settled(delivered, attempts, due))
            .await
            .unwrap()
    }

    async fn news(&mut self, at: u64) {
        self.task = step(&self.store, self.task.clone(), TaskState::Working, later(at)).await;
    }

    /// Since when the delivery is due, as the sweeper sees it.
    async fn due(&self, at: u64) -> Option<Timestamp> {
        for shard in 0..DUE_SHARDS {
            for pointer in self
                .store
                .tasks()
                .due(shard, later(at), 100, None)
                .await
                .unwrap()
                .items
            {
                if pointer.what == PointsAt::Push(self.id.clone()) {
                    assert_eq!(pointer.key, self.key);
                    return Some(pointer.due_at);
                }
            }
        }
        None
    }
}

#[tokio::test]
async fn a_new_task_owes_nothing_and_only_news_for_the_client_changes_that() {
    let mut fixture = fresh().await;
    assert_eq!(fixture.due(4000).await, None);
    assert_eq!(fixture.claim("one", 0).await, None);
    let mut revision = Revision::of(fixture.task.clone());
    revision
        .record(
            EventKind::Said {
                message: message("more"),
            },
            now(),
        )
        .unwrap();
    fixture
        .store
        .tasks()
        .commit(&revision, Due::Keep, LeaseAfter::Keep)
        .await
        .unwrap();
    fixture.task = revision.into_task();
    assert_eq!(fixture.due(4000).await, None);
    fixture.news(1).await;
    assert_eq!(fixture.due(4000).await, Some(later(1)));
    let claimed = fixture.claim("one", 1).await.unwrap();
    assert_eq!((claimed.delivered, claimed.attempts), (1, 0));
    assert_eq!(claimed.config, push_config("c#1"));
}

#[tokio::test]
async fn a_delivery_is_one_workers_until_its_claim_ends() {
    let fixture = fixture().await;
    let since = fixture.due(0).await;
    assert!(since.is_some());
    assert!(fixture.claim("one", 0).await.is_some());
    assert_eq!(fixture.claim("two", 44).await, None);
    // A worker that was lost is found by the sweeper, and its claim goes to another.
    assert_eq!(fixture.due(45).await, since);
    assert!(fixture.claim("two", 45).await.is_some());
    for due in [Due::Keep, Due::Never, Due::At(later(50))] {
        assert_eq!(fixture.settle("one", 2, 0, due).await, PushSettled::Lost);
    }
    assert_eq!(fixture.settle("two", 2, 0, Due::Keep).await, PushSettled::Done);
    let again = fixture.settle("two", 2, 0, Due::Keep).await;
    assert_eq!(again, PushSettled::Done, "its first answer was lost");
    assert_eq!(fixture.due(4000).await, None);
    assert_eq!(fixture.claim("three", 4000).await, None);
}

#[tokio::test]
async fn what_is_owed_comes_with_the_task_in_one_read() {
    let mut fixture = fixture().await;
    fixture.news(1).await;
    let tasks = fixture.store.tasks();
    // What lies between the log and the task is not in the way.
    let stray = domain::RemoteTaskId::parse("r").unwrap();
    tasks
        .report_stray(&fixture.key, 0, &stray, later(9), later(1))
        .await
        .unwrap();
    let (owed, calls) = counted(tasks.owed(&fixture.key, 1, later(1))).await;
    let owed = owed.unwrap();
    let seen: Vec<u64> = owed.events.iter().map(|event| event.seq).collect();
    assert_eq!((seen, calls.total()), (vec![2, 3], 1));
    assert_eq!(owed.stored.unwrap().task.rev, fixture.task.rev);
    let rest = tasks.owed(&fixture.key, 3, later(1)).await.unwrap();
    assert!(rest.events.is_empty() && rest.stored.is_some());
}

#[tokio::test]
async fn news_during_a_delivery_makes_it_due_again() {
    let mut fixture = fixture().await;
    fixture.claim("one", 0).await.unwrap();
    fixture.news(10).await;
    assert_eq!(
        fixture.claim("two", 11).await,
        None,
        "order per configuration: nobody overtakes"
    );
    for _ in ["lost", "arrived"] {
        assert_eq!(fixture.settle("one", 2, 0, Due::Keep).await, PushSettled::News);
    }
    assert_eq!(fixture.due(4000).await, Some(later(10)));
    let claimed = fixture.claim("two", 12).await.unwrap();
    assert_eq!(claimed.delivered, 2);
    assert_eq!(fixture.settle("two", 3, 0, Due::Keep).await, PushSettled::Done);
    assert_eq!(fixture.due(4000).await, None);
}

#[tokio::test]
async fn a_failed_delivery_waits_for_its_time_whatever_the_news() {
    let mut fixture = fixture().await;
    fixture.claim("one", 0).await.unwrap();
    let later_on = Due::At(later(300));
    assert_eq!(fixture.settle("one", 1, 1, later_on).await, PushSettled::Done);
    fixture.news(5).await;
    assert_eq!(fixture.claim("one", 299).await, None);
    let claimed = fixture.claim("one", 300).await.unwrap();
    assert_eq!((claimed.delivered, claimed.attempts), (1, 1));
    // Parked after the last attempt, until there is news.
    assert_eq!(fixture.settle("one", 1, 2, Due::Never).await, PushSettled::Done);
    assert_eq!(fixture.due(4000).await, None);
    fixture.news(400).await;
    assert_eq!(fixture.due(4000).await, Some(later(400)));
    assert_eq!(fixture.claim("one", 400).await.unwrap().attempts, 2);
}

#[tokio::test]
async fn only_one_of_many_gets_a_delivery() {
    let fixture = std::sync::Arc::new(fixture().await);
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..16 {
        let fixture = std::sync::Arc::clone(&fixture);
        workers.spawn(async move { fixture.claim(&format!("w{worker}"), 0).await.is_some() });
    }
    assert_eq!(workers.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn what_is_unknown_or_expired_is_not_delivered() {
    let fixture = fixture().await;
    let tasks = fixture.store.tasks();
    let unknown = PushConfigId::parse("unknown").unwrap();
    let claimed = tasks
        .claim_push(&fixture.key, &unknown, "one", now(), later(45))
        .await
        .unwrap();
    assert_eq!(claimed, None);
    let unwritten = tasks.settle_push(&fixture.key, &unknown, "one", settled(2, 0, Due::Keep));
    assert_eq!(unwritten.await.unwrap(), PushSettled::Lost);
    let foreign = TaskKey {
        tenant: tenant("globex"),
        ..fixture.key.clone()
    };
    assert_eq!(
        tasks
            .claim_push(&foreign, &fixture.id, "one", now(), later(45))
            .await
            .unwrap(),
        None
    );
    step(&fixture.store, fixture.task.clone(), TaskState::Completed, now()).await;
    assert!(fixture.due(40_000).await.is_some());
    assert_eq!(fixture.claim("one", 40_000).await, None);
    assert_eq!(fixture.due(40_000).await, None, "nor found due for ever");
}

#[tokio::test]
async fn a_configuration_that_is_gone_is_noticed_and_nothing_is_committed() {
    let (store, _database) = store_testing::start().await;
    let mut task = task();
    task.push_configs = vec![PushConfigId::parse("gone").unwrap()];
    let key = created(&store, &task).await;
    let revision = revised(&task, TaskState::Working, now());
    let refused = store.tasks().commit(&revision, Due::Keep, LeaseAfter::Keep).await;
    assert!(matches!(refused, Err(store::StoreError::Inconsistent { .. })));
    assert_eq!(
        store.tasks().find(&key, now()).await.unwrap().unwrap().task.rev,
        1
    );
}
