//! What a tenant's operators see of all its host's tasks.

use crate::*;
use store::measured;

const MOST: u32 = 120;

fn host_task(tenant_name: &str, owner_name: &str, at: Timestamp) -> Task {
    task_of(tenant_name, "host", owner_name, at)
}

async fn commit(store: &Store, revision: &Revision) {
    let committed = store.tasks().commit(revision, Due::Keep, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
}

#[tokio::test]
async fn unfinished_tasks_of_all_users_are_listed_and_ended_ones_counted_until_they_are_completed() {
    let (store, _database) = store_testing::start().await;
    let (acme, host) = (tenant("acme"), agent("host"));
    let old = host_task("acme", "user-1", now());
    let new = host_task("acme", "user-2", later(1));
    for task in [&old, &new] {
        created(&store, task).await;
    }
    // Neither another tenant's nor another agent's.
    created(&store, &host_task("globex", "user-1", now())).await;
    created(&store, &task_of("acme", "weather", "user-1", now())).await;
    let ids = async || {
        let (found, more) = store.tasks().unfinished(&acme, &host, MOST).await.unwrap();
        assert!(!more);
        found
            .into_iter()
            .map(|one| (one.id, one.state))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ids().await,
        [(old.id, TaskState::Submitted), (new.id, TaskState::Submitted)]
    );
    // It stays where it stood, with its state of now.
    let old = step(&store, old, TaskState::Working, later(2)).await;
    let (found, _) = store.tasks().unfinished(&acme, &host, MOST).await.unwrap();
    let [first, _] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (first.id, first.state, first.since),
        (old.id, TaskState::Working, later(2))
    );
    assert_eq!(
        (first.created_at, first.attempts, first.leased_until),
        (now(), 0, None)
    );
    assert_eq!(first.due_at, Some(later(5)));
    store
        .tasks()
        .lease(&TaskKey::from(&old), "w", later(3), later(33))
        .await
        .unwrap();
    let (found, _) = store.tasks().unfinished(&acme, &host, MOST).await.unwrap();
    assert_eq!((found[0].attempts, found[0].leased_until), (1, Some(later(33))));

    let ended = async |state| store.tasks().ended(&acme, &host, state, MOST).await.unwrap();
    commit(&store, &revised(&old, TaskState::Failed, later(4))).await;
    assert_eq!(ids().await, [(new.id, TaskState::Submitted)]);
    assert_eq!(
        (ended(TaskState::Failed).await, ended(TaskState::Canceled).await),
        (1, 0)
    );
    let new = step(&store, new, TaskState::Working, later(5)).await;
    commit(&store, &revised(&new, TaskState::Completed, later(6))).await;
    assert_eq!((ids().await.len(), ended(TaskState::Completed).await), (0, 0));
    assert_eq!(
        store
            .tasks()
            .unfinished(&tenant("globex"), &host, MOST)
            .await
            .unwrap()
            .0
            .len(),
        1
    );
}

#[tokio::test]
async fn unfinished_tasks_are_read_and_ended_ones_counted_as_far_as_is_asked() {
    let (store, _database) = store_testing::start().await;
    let most = usize::try_from(MOST).unwrap();
    for number in 0..=most {
        created(&store, &host_task("acme", "user-1", later(number as u64))).await;
    }
    let ((found, more), calls) = measured(async {
        store
            .tasks()
            .unfinished(&tenant("acme"), &agent("host"), MOST)
            .await
            .unwrap()
    })
    .await;
    assert_eq!((found.len(), more), (most, true));
    assert_eq!(found.last().unwrap().created_at, later(most as u64 - 1));
    // A query, and a batch for each hundred.
    assert_eq!(calls.total(), 3);
    for number in 0..4 {
        let task = host_task("acme", "user-1", later(number));
        created(&store, &task).await;
        commit(&store, &revised(&task, TaskState::Canceled, later(number))).await;
    }
    let (tasks, acme, host) = (store.tasks(), tenant("acme"), agent("host"));
    for (most, counted) in [(2, 3), (3, 4), (4, 4)] {
        let ended = tasks.ended(&acme, &host, TaskState::Canceled, most).await;
        assert_eq!(ended.unwrap(), counted);
    }
}

/// What being listed costs: an entry of an index when a task is made, and its removal or its move at the end.
#[tokio::test]
async fn to_be_listed_costs_an_entry_at_the_beginning_and_one_at_the_end() {
    let (store, _database) = store_testing::start().await;
    let mut spent = Vec::new();
    for name in ["weather", "host"] {
        let (mut own, mut task) = (Vec::new(), task_of("acme", name, "user-1", now()));
        let (_, calls) = measured(created(&store, &task)).await;
        own.push(calls.capacity.write);
        for state in [TaskState::Working, TaskState::Completed] {
            let (stepped, calls) = measured(step(&store, task, state, later(2))).await;
            own.push(calls.capacity.write);
            task = stepped;
        }
        spent.push(own);
    }
    let more: Vec<f64> = spent[1]
        .iter()
        .zip(&spent[0])
        .map(|(host, other)| host - other)
        .collect();
    assert_eq!(more, [1.0, 0.0, 1.0]);
}
