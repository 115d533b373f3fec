//! Remote tasks that became known after one's own was over.

use domain::RemoteTaskId;

use crate::*;
use store::{Attempts, Leased};

fn remote(id: &str) -> RemoteTaskId {
    RemoteTaskId::parse(id).unwrap()
}

async fn due_at(store: &Store, key: &TaskKey) -> Option<Timestamp> {
    let found = store.tasks().find(key, later(0)).await.unwrap();
    found.unwrap().due_at
}

#[tokio::test]
async fn a_stray_is_remembered_for_its_job_alone() {
    let (store, _database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let tasks = store.tasks();
    assert_eq!(tasks.stray(&key, 0).await.unwrap(), None);
    tasks.put_stray(&key, 0, &remote("r-1"), later(60)).await.unwrap();
    tasks.put_stray(&key, 0, &remote("r-1"), later(60)).await.unwrap();
    assert_eq!(tasks.stray(&key, 0).await.unwrap(), Some(remote("r-1")));
    assert_eq!(tasks.stray(&key, 1).await.unwrap(), None);
    let elsewhere = TaskKey {
        tenant: domain::Tenant::parse("globex").unwrap(),
        ..key
    };
    assert_eq!(tasks.stray(&elsewhere, 0).await.unwrap(), None);
}

#[tokio::test]
async fn a_report_makes_the_task_due_unless_somebody_works_on_it() {
    let (store, _database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let tasks = store.tasks();
    let taken = tasks.lease(&key, "one", later(0), later(30)).await.unwrap();
    assert!(matches!(taken, Leased::Taken(_)));
    let key_remote = remote("r-1");
    let report = |at| tasks.report_stray(&key, 0, &key_remote, later(60), later(at));
    assert!(!report(1).await.unwrap(), "the worker's release would forget it");
    assert_eq!(tasks.stray(&key, 0).await.unwrap(), None, "nothing is written");
    assert!(
        tasks
            .release(&key, "one", 1, Due::Never, Attempts::Reset)
            .await
            .unwrap()
    );
    assert_eq!(due_at(&store, &key).await, None);
    assert!(report(2).await.unwrap());
    assert_eq!(due_at(&store, &key).await, Some(later(2)));
    assert_eq!(tasks.stray(&key, 0).await.unwrap(), Some(remote("r-1")));
}

#[tokio::test]
async fn nothing_is_reported_of_a_task_that_is_not_there() {
    let (store, _database) = store_testing::start().await;
    let key = TaskKey::from(&task());
    let reported = store
        .tasks()
        .report_stray(&key, 0, &remote("r-1"), later(60), later(1))
        .await;
    assert!(!reported.unwrap());
    assert_eq!(store.tasks().stray(&key, 0).await.unwrap(), None);
}
