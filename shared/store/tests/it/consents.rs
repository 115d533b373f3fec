//! Records of consents: a state is good once, and nobody overwrites what another has just written.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::faults::{Fault, faulty};
use crate::*;
use store::{ConsentWrite, counted};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Document {
    text: String,
    version: u64,
}

fn document(text: &str, version: u64) -> Document {
    let text = text.to_owned();
    Document { text, version }
}

/// Who is asked.
fn asked() -> &'static Owner {
    static ASKED: LazyLock<Owner> = LazyLock::new(|| owner("user-1"));
    &ASKED
}

fn write(document: &Document) -> ConsentWrite<'_, Document> {
    ConsentWrite {
        id: "c",
        owner: asked(),
        document,
        version: document.version,
        expires_at: later(600),
    }
}

async fn put(store: &Store, tenant_name: &str) -> bool {
    let first = document("open", 1);
    let grants = store.grants();
    grants
        .put_consent(&tenant(tenant_name), write(&first))
        .await
        .unwrap()
}

async fn find(store: &Store, tenant_name: &str, id: &str) -> Option<Document> {
    let found = store.grants().find_consent(&tenant(tenant_name), id).await;
    found.unwrap()
}

async fn update(store: &Store, text: &str, version: u64, state: Option<&str>) -> bool {
    let next = document(text, version);
    let grants = store.grants();
    grants
        .update_consent(&tenant("acme"), write(&next), state)
        .await
        .unwrap()
}

async fn take(store: &Store, tenant_name: &str, state: &str, at: u64) -> Option<String> {
    let taken = store
        .grants()
        .take_state(&tenant(tenant_name), state, later(at))
        .await;
    taken.unwrap()
}

#[tokio::test]
async fn a_record_is_found_by_its_tenant_and_the_first_of_its_id_stays() {
    let (store, _database) = store_testing::start().await;
    assert!(put(&store, "acme").await);
    let (found, calls) = counted(find(&store, "acme", "c")).await;
    assert_eq!((found, calls.total()), (Some(document("open", 1)), 1));
    assert_eq!(find(&store, "globex", "c").await, None);
    assert_eq!(find(&store, "acme", &"x".repeat(9000)).await, None);
    assert!(!put(&store, "acme").await, "the first stays");
}

#[tokio::test]
async fn a_state_is_good_once_and_until_the_end() {
    let (store, _database) = store_testing::start().await;
    put(&store, "acme").await;
    let (started, calls) = counted(update(&store, "started", 2, Some("state"))).await;
    assert!(started);
    assert_eq!(calls.by_operation["TransactWriteItems"], 1);
    assert_eq!(find(&store, "acme", "c").await, Some(document("started", 2)));
    assert_eq!(take(&store, "acme", "other", 5).await, None);
    assert_eq!(take(&store, "globex", "state", 5).await, None);
    let (taken, calls) = counted(take(&store, "acme", "state", 5)).await;
    assert_eq!((taken.as_deref(), calls.total()), (Some("c"), 2));
    assert_eq!(take(&store, "acme", "state", 5).await, None);
    assert!(update(&store, "started", 3, Some("second")).await);
    assert_eq!(
        take(&store, "acme", "second", 600).await,
        None,
        "its time is over"
    );
}

#[tokio::test]
async fn of_concurrent_callbacks_one_gets_the_state() {
    let (store, _database) = store_testing::start().await;
    put(&store, "acme").await;
    update(&store, "started", 2, Some("state")).await;
    let mut callbacks = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let store = store.clone();
        callbacks.spawn(async move { take(&store, "acme", "state", 5).await });
    }
    let taken = callbacks.join_all().await.into_iter().flatten();
    assert_eq!(taken.count(), 1);
}

#[tokio::test]
async fn a_stale_version_is_refused_together_with_its_state() {
    let (store, _database) = store_testing::start().await;
    put(&store, "acme").await;
    assert!(update(&store, "started", 2, Some("state")).await);
    assert!(!update(&store, "late", 2, None).await);
    assert!(!update(&store, "late", 2, Some("other")).await);
    assert_eq!(take(&store, "acme", "other", 5).await, None);
    assert_eq!(find(&store, "acme", "c").await, Some(document("started", 2)));
    let (updated, calls) = counted(update(&store, "done", 3, None)).await;
    assert_eq!((updated, calls.total()), (true, 1));
    // Nothing is made of an update of what is not there.
    let (elsewhere, next) = (tenant("globex"), document("done", 4));
    let made = store
        .grants()
        .update_consent(&elsewhere, write(&next), None)
        .await;
    assert!(!made.unwrap());
    let made = store
        .grants()
        .update_consent(&elsewhere, write(&next), Some("s"))
        .await;
    assert!(!made.unwrap());
    assert_eq!(find(&store, "globex", "c").await, None);
}

#[tokio::test]
async fn of_concurrent_changes_one_is_written() {
    let (store, _database) = store_testing::start().await;
    put(&store, "acme").await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..12 {
        let store = store.clone();
        callers.spawn(async move { update(&store, &format!("by {number}"), 2, None).await });
    }
    let written = callers.join_all().await.into_iter().filter(|written| *written);
    assert_eq!(written.count(), 1);
    assert_eq!(find(&store, "acme", "c").await.unwrap().version, 2);
}

#[tokio::test]
async fn who_stored_changed_or_used_up_a_record_knows_it_when_the_answer_was_lost() {
    let (store, database) = store_testing::start().await;
    let unlucky = || faulty(&database, vec![Fault::Lost]).0;
    assert!(put(&unlucky(), "acme").await);
    assert!(!put(&store, "acme").await, "another of that id is refused");
    assert!(update(&unlucky(), "started", 2, None).await);
    assert!(!update(&store, "late", 2, None).await);
    assert!(update(&unlucky(), "started", 3, Some("state")).await);
    assert!(take(&unlucky(), "acme", "state", 5).await.is_some());
    assert_eq!(take(&store, "acme", "state", 5).await, None);
}
