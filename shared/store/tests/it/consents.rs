//! Requests for consent: their state is good once, and nobody overwrites what another has just written.

use crate::faults::{Fault, faulty};
use crate::*;
use store::{Consent, ConsentStatus, counted};

fn consent(id: &str) -> Consent {
    Consent {
        id: id.into(),
        owner: owner("user-1"),
        agent: agent("host"),
        task_id: TaskId::from_bytes([7; 16]),
        job: 0,
        provider: "idp".into(),
        issuer: "https://idp.example/acme".into(),
        resource: "https://horizon.example/".into(),
        scopes: vec!["orders:read".into()],
        sealed: "v1.k.sealed".into(),
        state_hash: None,
        browser_hash: None,
        status: ConsentStatus::Open,
        code_hash: None,
        sealed_result: None,
        wrong_codes: std::collections::BTreeSet::new(),
        created_at: now(),
        expires_at: later(600),
        version: 1,
    }
}

async fn with_consent() -> (Store, store_testing::Database) {
    let (store, database) = store_testing::start().await;
    let (acme, request) = (tenant("acme"), consent("c"));
    assert!(store.grants().put_consent_request(&acme, &request).await.unwrap());
    (store, database)
}

async fn find(store: &Store, tenant_name: &str) -> Option<Consent> {
    let tenant = tenant(tenant_name);
    let found = store.grants().find_consent_request(&tenant, "c").await;
    found.unwrap()
}

async fn start(store: &Store, state: &str) -> bool {
    let acme = tenant("acme");
    let seen = find(store, "acme").await.unwrap();
    let seen = Consent {
        browser_hash: Some(format!("browser of {state}")),
        ..seen
    };
    store.grants().start_consent(&acme, &seen, state).await.unwrap()
}

async fn by_state(store: &Store, tenant_name: &str, state: &str, at: u64) -> Option<Consent> {
    let tenant = tenant(tenant_name);
    store.grants().by_state(&tenant, state, later(at)).await.unwrap()
}

#[tokio::test]
async fn a_request_is_found_by_its_tenant_also_when_it_is_over() {
    let (store, _database) = with_consent().await;
    let (found, calls) = counted(find(&store, "acme")).await;
    let found = found.unwrap();
    assert_eq!((&found, calls.total()), (&consent("c"), 1));
    assert!(!found.is_over(later(599)) && found.is_over(later(600)));
    for status in [ConsentStatus::Done, ConsentStatus::Denied, ConsentStatus::Expired] {
        let ended = Consent {
            status,
            ..consent("c")
        };
        assert!(ended.is_over(now()));
    }
    assert_eq!(find(&store, "globex").await, None);
    let long = store
        .grants()
        .find_consent_request(&tenant("acme"), &"x".repeat(9000))
        .await
        .unwrap();
    assert_eq!(long, None);
    let other = Consent {
        owner: owner("user-2"),
        ..consent("c")
    };
    let again = store
        .grants()
        .put_consent_request(&tenant("acme"), &other)
        .await
        .unwrap();
    assert!(!again, "the first stays");
    assert_eq!(find(&store, "acme").await, Some(consent("c")));
}

#[tokio::test]
async fn a_state_is_good_once() {
    let (store, _database) = with_consent().await;
    let (started, calls) = counted(start(&store, "state")).await;
    assert!(started);
    assert_eq!(calls.by_operation["TransactWriteItems"], 1);
    let expected = Consent {
        status: ConsentStatus::Started,
        state_hash: Some("state".into()),
        browser_hash: Some("browser of state".into()),
        version: 2,
        ..consent("c")
    };
    assert_eq!(by_state(&store, "acme", "other", 5).await, None);
    assert_eq!(by_state(&store, "globex", "state", 5).await, None);
    let (found, calls) = counted(by_state(&store, "acme", "state", 5)).await;
    assert_eq!((found, calls.total()), (Some(expected), 3));
    assert_eq!(by_state(&store, "acme", "state", 5).await, None);
    // The link can be followed anew, with another state.
    assert!(start(&store, "second").await);
    assert!(by_state(&store, "acme", "second", 6).await.is_some());
}

#[tokio::test]
async fn of_concurrent_callbacks_one_finds_the_request() {
    let (store, _database) = with_consent().await;
    start(&store, "state").await;
    let mut callbacks = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let store = store.clone();
        callbacks.spawn(async move { by_state(&store, "acme", "state", 5).await });
    }
    let found = callbacks.join_all().await.into_iter().flatten();
    assert_eq!(found.count(), 1);
}

#[tokio::test]
async fn a_state_ends_with_its_request_or_its_successor() {
    let (store, _database) = with_consent().await;
    start(&store, "first").await;
    start(&store, "second").await;
    assert_eq!(by_state(&store, "acme", "first", 5).await, None);
    assert_eq!(by_state(&store, "acme", "second", 600).await, None);

    start(&store, "third").await;
    let denied = Consent {
        status: ConsentStatus::Denied,
        ..find(&store, "acme").await.unwrap()
    };
    let acme = tenant("acme");
    assert!(store.grants().update_consent(&acme, &denied).await.unwrap());
    assert_eq!(by_state(&store, "acme", "third", 5).await, None);
}

#[tokio::test]
async fn a_stale_version_is_refused() {
    let (store, _database) = with_consent().await;
    let (grants, acme) = (store.grants(), tenant("acme"));
    let seen = find(&store, "acme").await.unwrap();
    assert!(start(&store, "state").await);
    let stale = Consent {
        status: ConsentStatus::Done,
        ..seen.clone()
    };
    assert!(!grants.update_consent(&acme, &stale).await.unwrap());
    assert!(!grants.start_consent(&acme, &seen, "other").await.unwrap());
    assert_eq!(
        by_state(&store, "acme", "other", 5).await,
        None,
        "nothing of a refused start is written"
    );
    assert_eq!(find(&store, "acme").await.unwrap().status, ConsentStatus::Started);

    let fresh = Consent {
        status: ConsentStatus::Done,
        sealed_result: Some("v1.k.result".into()),
        ..find(&store, "acme").await.unwrap()
    };
    let (updated, calls) = counted(grants.update_consent(&acme, &fresh)).await;
    assert_eq!((updated.unwrap(), calls.total()), (true, 1));
    let expected = Consent { version: 3, ..fresh };
    assert_eq!(find(&store, "acme").await, Some(expected.clone()));
    assert!(!grants.update_consent(&tenant("globex"), &expected).await.unwrap());
    let unknown = Consent {
        id: "d".into(),
        ..expected
    };
    assert!(!grants.update_consent(&acme, &unknown).await.unwrap());
    assert!(!grants.start_consent(&acme, &unknown, "s").await.unwrap());
}

#[tokio::test]
async fn of_concurrent_changes_one_is_written() {
    let (store, _database) = with_consent().await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let store = store.clone();
        callers.spawn(async move {
            let done = Consent {
                status: ConsentStatus::Done,
                ..consent("c")
            };
            let acme = tenant("acme");
            store.grants().update_consent(&acme, &done).await.unwrap()
        });
    }
    let written = callers.join_all().await.into_iter().filter(|written| *written);
    assert_eq!(written.count(), 1);
    assert_eq!(find(&store, "acme").await.unwrap().version, 2);
}

#[tokio::test]
async fn who_stored_changed_or_used_up_a_request_knows_it_when_the_answer_was_lost() {
    let (store, database) = store_testing::start().await;
    let unlucky = || faulty(&database, vec![Fault::Lost]).0;
    let acme = tenant("acme");
    let request = consent("c");
    let put = async |store: Store| store.grants().put_consent_request(&acme, &request).await.unwrap();
    assert!(put(unlucky()).await);
    assert!(!put(store.clone()).await, "another of that id is refused");
    let seen = find(&store, "acme").await.unwrap();
    assert!(unlucky().grants().update_consent(&acme, &seen).await.unwrap());
    assert!(!store.grants().update_consent(&acme, &seen).await.unwrap());
    assert!(start(&store, "state").await);
    assert!(by_state(&unlucky(), "acme", "state", 5).await.is_some());
    assert_eq!(by_state(&store, "acme", "state", 5).await, None);
}
