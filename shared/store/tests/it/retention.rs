//! The end of finished tasks.

use crate::*;
use store::{StoredTask, counted};
use store_testing::Database;

/// Every item that a task has, its message's too.
pub(crate) async fn all_of(store: &Store, database: &Database, key: &TaskKey) -> Vec<Value> {
    let table = database.tables().tasks;
    let mut items = database.items(&table, &place(key).0);
    let stored = store.tasks().find(key, now()).await.unwrap().unwrap();
    let kept = stored.task.kept.keeping.unwrap();
    let TaskKey { tenant, agent, .. } = key;
    let message = format!(
        "{}#{agent}#message#{}#{}",
        tenant.prefix(),
        stored.task.owner,
        kept.message_id
    );
    let messages = database.items(&table, &message);
    assert_eq!(messages.len(), 1, "{message}");
    items.extend(messages);
    items
}

/// When an item ends, in seconds.
pub(crate) fn end(item: &Value) -> Option<String> {
    Some(item.get("expires_at")?["N"].as_str().unwrap().to_owned())
}

async fn ends(store: &Store, database: &Database, key: &TaskKey) -> Vec<Option<String>> {
    all_of(store, database, key).await.iter().map(end).collect()
}

async fn found(store: &Store, key: &TaskKey, at: u64) -> Option<StoredTask> {
    store.tasks().find(key, later(at)).await.unwrap()
}

#[tokio::test]
async fn what_hangs_on_a_finished_task_ends_with_it_in_the_same_transaction() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    for name in ["a", "b"] {
        tasks.put_push(&key, &push_config(name), 1, now()).await.unwrap();
    }
    let task = step(&store, read(&store, &task).await, TaskState::Working, now()).await;
    assert_eq!(
        ends(&store, &database, &key).await,
        vec![None; 5],
        "nothing of a live task ends"
    );
    // However long it waits for somebody.
    assert!(found(&store, &key, 1_000_000_000).await.is_some());

    let revision = revised(&task, TaskState::Completed, later(100));
    let (committed, calls) = counted(tasks.commit(&revision, Due::Never, LeaseAfter::Keep)).await;
    assert_eq!((committed.unwrap(), calls.total()), (Committed::Yes, 1));
    let end = later(100 + 3600).after(Duration::from_millis(500));
    assert_eq!(
        ends(&store, &database, &key).await,
        vec![Some(end.seconds().to_string()); 6]
    );
    assert!(found(&store, &key, 3700).await.is_some());
    assert!(found(&store, &key, 3701).await.is_none());
    // A configuration that comes late ends as well.
    tasks
        .put_push(&key, &push_config("c"), 3, later(200))
        .await
        .unwrap();
    assert_eq!(
        ends(&store, &database, &key).await,
        vec![Some(end.seconds().to_string()); 7]
    );
}

#[tokio::test]
async fn the_log_of_a_long_task_ends_with_it_too() {
    let (store, database) = store_testing::start().await;
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
    let ends = ends(&store, &database, &key).await;
    assert_eq!(ends.len(), 63);
    assert!(
        ends.iter().all(|end| *end == ends[0] && end.is_some()),
        "{ends:?}"
    );
}

#[tokio::test]
async fn a_writer_that_is_lost_over_the_end_of_a_long_log_leaves_the_task_due() {
    let (store, database) = store_testing::start().await;
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
    assert!(ends(&store, &database, &key).await.contains(&None), "as was that");
    let tasks = store.tasks();
    let found = tasks.find(&key, now()).await.unwrap().unwrap();
    assert_eq!(found.due_at, Some(later(180)));

    tasks.end(&found.task).await.unwrap();
    let ends = ends(&store, &database, &key).await;
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

#[tokio::test]
async fn a_tenants_work_is_due_at_once_where_it_is_resumed_and_ends_where_it_is_removed() {
    let (store, database) = store_testing::start().await;
    let tasks = store.tasks();
    let mut keys = Vec::new();
    for (tenant, agent) in [("acme", "host"), ("acme", "weather"), ("globex", "host")] {
        let task = task_of(tenant, agent, "user-1", now());
        let key = created(&store, &task).await;
        tasks.put_push(&key, &push_config("a"), 1, now()).await.unwrap();
        step(&store, read(&store, &task).await, TaskState::Working, now()).await;
        keys.push(key);
    }
    let [host, weather, other] = &keys[..] else {
        panic!()
    };
    tasks.put_off(weather, None, (later(5), later(9))).await.unwrap();
    let hook = PushConfigId::parse("a").unwrap();
    tasks
        .put_off(weather, Some(&hook), (later(5), later(9)))
        .await
        .unwrap();
    let due = async |key: &TaskKey| {
        let items = database.items(&database.tables().tasks, &place(key).0);
        let due = items
            .iter()
            .filter_map(|item| Some(item.get("due_at")?["S"].as_str()?.to_owned()));
        due.collect::<Vec<_>>()
    };
    assert_eq!(due(weather).await, [later(9).to_string(), later(9).to_string()]);
    tasks.hasten(&tenant("acme"), later(7)).await.unwrap();
    for (key, at) in [(host, [7, 7]), (weather, [7, 7]), (other, [0, 5])] {
        assert_eq!(due(key).await, at.map(|at| later(at).to_string()), "{key:?}");
    }

    // One that waits for its user is due never, and found by its state.
    let waits = task_of("acme", "host", "user-1", now());
    let waits_key = created(&store, &waits).await;
    let asked = revised(&read(&store, &waits).await, TaskState::InputRequired, now());
    tasks.commit(&asked, Due::Never, LeaseAfter::Keep).await.unwrap();
    for _ in 0..2 {
        tasks
            .end_all(&tenant("acme"), &agent("host"), now())
            .await
            .unwrap();
        for key in [host, weather, &waits_key] {
            assert_eq!(due(key).await, [""; 0]);
            assert!(found(&store, key, 3601).await.is_none());
            assert!(
                ends(&store, &database, key).await.iter().all(Option::is_some),
                "{key:?}"
            );
        }
    }
    assert_eq!(due(other).await.len(), 2);
    assert_eq!(ends(&store, &database, other).await, vec![None; 4]);
}
