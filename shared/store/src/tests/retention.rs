//! The end of finished tasks.

use super::*;
use crate::change::text;
use crate::codec::Item;
use crate::dynamo::Query;
use crate::tasks::message_key;
use crate::{StoredTask, counted, testing};

/// Every item that a task has, its message's too.
pub(super) async fn all_of(store: &Store, key: &TaskKey) -> Vec<Item> {
    let table = &store.tables().tasks;
    let query = |pk: String| Query {
        table,
        condition: "#pk = :pk",
        values: vec![(":pk", text(pk))],
        ..Query::default()
    };
    let mut items = store.query_all(query(key.task().0)).await.unwrap();
    let stored = store.tasks().find(key, now()).await.unwrap().unwrap();
    let kept = stored.task.kept.0.unwrap();
    let (message, _) = message_key(&key.tenant, &key.agent, &stored.task.owner, &kept.message_id);
    items.extend(store.query_all(query(message)).await.unwrap());
    items
}

async fn ends(store: &Store, key: &TaskKey) -> Vec<Option<String>> {
    let items = all_of(store, key).await.into_iter();
    items
        .map(|item| item.get("expires_at").map(|end| end.as_n().unwrap().clone()))
        .collect()
}

async fn found(store: &Store, key: &TaskKey, at: u64) -> Option<StoredTask> {
    store.tasks().find(key, later(at)).await.unwrap()
}

#[tokio::test]
async fn what_hangs_on_a_finished_task_ends_with_it_in_the_same_transaction() {
    let (store, _database) = testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    for name in ["a", "b"] {
        tasks.put_push(&key, &push_config(name), 1, now()).await.unwrap();
    }
    let task = step(&store, read(&store, &task).await, TaskState::Working, now()).await;
    assert_eq!(
        ends(&store, &key).await,
        vec![None; 6],
        "nothing of a live task ends"
    );
    // However long it waits for somebody.
    assert!(found(&store, &key, 1_000_000_000).await.is_some());

    let revision = revised(&task, TaskState::Completed, later(100));
    let (committed, calls) = counted(tasks.commit(&revision, Due::Never, LeaseAfter::Keep)).await;
    assert_eq!((committed.unwrap(), calls.total()), (Committed::Yes, 1));
    let end = later(100 + 3600).after(Duration::from_millis(500));
    assert_eq!(ends(&store, &key).await, vec![Some(end.seconds().to_string()); 7]);
    assert!(found(&store, &key, 3700).await.is_some());
    assert!(found(&store, &key, 3701).await.is_none());
    // A configuration that comes late ends as well.
    tasks
        .put_push(&key, &push_config("c"), 3, later(200))
        .await
        .unwrap();
    assert_eq!(ends(&store, &key).await, vec![Some(end.seconds().to_string()); 8]);
}

#[tokio::test]
async fn the_log_of_a_long_task_ends_with_it_too() {
    let (store, _database) = testing::start().await;
    let mut task = task();
    let key = created(&store, &task).await;
    task = read(&store, &task).await;
    for round in 0..60 {
        task = step(&store, task, TaskState::Working, later(round)).await;
    }
    let revision = revised(&task, TaskState::Failed, later(60));
    let tasks = store.tasks();
    let committed = tasks.commit(&revision, Due::Never, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let found = tasks.find(&key, now()).await.unwrap().unwrap();
    assert_eq!(found.due_at, None, "nothing is left to do");
    let ends = ends(&store, &key).await;
    assert_eq!(ends.len(), 64);
    assert!(
        ends.iter().all(|end| *end == ends[0] && end.is_some()),
        "{ends:?}"
    );
}

#[tokio::test]
async fn a_writer_that_is_lost_over_the_end_of_a_long_log_leaves_the_task_due() {
    let (store, _database) = testing::start().await;
    let mut task = task();
    let key = created(&store, &task).await;
    task = read(&store, &task).await;
    for round in 0..120 {
        task = step(&store, task, TaskState::Working, later(round)).await;
    }
    let revision = revised(&task, TaskState::Failed, later(120));
    let writer = store.clone();
    let lost = tokio::spawn(async move {
        let tasks = writer.tasks();
        tasks.commit(&revision, Due::Never, LeaseAfter::Keep).await
    });
    while read(&store, &task).await.status.state != TaskState::Failed {
        tokio::task::yield_now().await;
    }
    lost.abort();
    assert!(lost.await.is_err(), "it was done before it could be lost");
    assert!(ends(&store, &key).await.contains(&None), "as was that");
    let tasks = store.tasks();
    let found = tasks.find(&key, now()).await.unwrap().unwrap();
    assert_eq!(found.due_at, Some(later(180)));

    tasks.end(&found.task).await.unwrap();
    let ends = ends(&store, &key).await;
    assert!(
        ends.iter().all(|end| *end == ends[0] && end.is_some()),
        "{ends:?}"
    );
    let (again, calls) = counted(tasks.end(&found.task)).await;
    again.unwrap();
    assert_eq!(
        calls.by_operation.get("UpdateItem"),
        Some(&1),
        "only the message's, which lies elsewhere"
    );
}
