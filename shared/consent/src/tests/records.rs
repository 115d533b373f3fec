//! Stored consents: a state is good once, and nobody overwrites what another has just written.

use domain::Tenant;
use store::{Store, counted};
use store_testing::Database;

use super::*;
use crate::{ConsentStore, InvalidMove, Unrevised};

fn acme(store: &Store) -> ConsentStore {
    ConsentStore::new(store.clone(), Tenant::parse("acme").unwrap())
}

fn globex(store: &Store) -> ConsentStore {
    ConsentStore::new(store.clone(), Tenant::parse("globex").unwrap())
}

async fn with_consent() -> (Store, Database) {
    let (store, database) = store_testing::start().await;
    assert!(acme(&store).put(&open()).await.unwrap());
    (store, database)
}

async fn find(store: &Store) -> Consent {
    acme(store).find(ID).await.unwrap().unwrap()
}

async fn start(store: &Store, state: &str) -> Consent {
    let start = |consent: Consent| consent.start(leaving(state), at(1));
    acme(store).revise(find(store).await, start).await.unwrap()
}

#[tokio::test]
async fn a_consent_is_found_by_its_tenant_and_a_second_one_of_its_id_is_refused() {
    let (store, _database) = with_consent().await;
    let (found, calls) = counted(find(&store)).await;
    assert_eq!((found, calls.total()), (open(), 1));
    assert_eq!(globex(&store).find(ID).await.unwrap(), None);
    for rubbish in ["", "x", &"x".repeat(36), &"0".repeat(9000)] {
        let (found, calls) = counted(acme(&store).find(rubbish)).await;
        assert_eq!((found.unwrap(), calls.total()), (None, 0), "not even looked up");
    }
    let mut other = open();
    other.request.owner = Owner::parse("user-2").unwrap();
    assert!(!acme(&store).put(&other).await.unwrap());
    assert_eq!(find(&store).await, open());
}

#[tokio::test]
async fn a_state_is_good_once_and_only_until_the_next_one_or_the_end() {
    let (store, _database) = with_consent().await;
    let (consent, calls) = counted(start(&store, "first")).await;
    assert_eq!(calls.by_operation["TransactWriteItems"], 1);
    assert_eq!(globex(&store).take_by_state("first", at(5)).await.unwrap(), None);
    assert_eq!(acme(&store).take_by_state("other", at(5)).await.unwrap(), None);
    let (found, calls) = counted(acme(&store).take_by_state("first", at(5))).await;
    assert_eq!(
        (found.unwrap(), calls.total()),
        (Some((consent, leaving("first"))), 3)
    );
    assert_eq!(acme(&store).take_by_state("first", at(5)).await.unwrap(), None);

    start(&store, "second").await;
    start(&store, "third").await;
    assert_eq!(acme(&store).take_by_state("second", at(5)).await.unwrap(), None);
    assert_eq!(acme(&store).take_by_state("third", at(600)).await.unwrap(), None);
    let consent = start(&store, "fourth").await;
    acme(&store).revise(consent, Consent::deny).await.unwrap();
    assert_eq!(acme(&store).take_by_state("fourth", at(5)).await.unwrap(), None);
}

#[tokio::test]
async fn of_concurrent_callbacks_one_finds_the_consent() {
    let (store, _database) = with_consent().await;
    start(&store, "state").await;
    let mut callbacks = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let records = acme(&store);
        callbacks.spawn(async move { records.take_by_state("state", at(5)).await.unwrap() });
    }
    assert_eq!(callbacks.join_all().await.into_iter().flatten().count(), 1);
}

#[tokio::test]
async fn a_stale_view_is_decided_on_anew() {
    let (store, _database) = with_consent().await;
    let stale = find(&store).await;
    let current = start(&store, "state").await;
    let mut seen = Vec::new();
    let done = acme(&store)
        .revise(stale.clone(), |consent| {
            seen.push(kind(&consent));
            // On the stale view the decision is another one.
            match consent.stage {
                Stage::Open => consent.start(leaving("late"), at(2)),
                _ => consent.give(),
            }
        })
        .await
        .unwrap();
    assert_eq!(
        (seen, done.version),
        (vec!["open", "started"], current.version + 1)
    );
    assert_eq!(find(&store).await, done);
    assert_eq!(
        acme(&store).take_by_state("late", at(5)).await.unwrap(),
        None,
        "nothing of the refused write is there"
    );
    let refused = acme(&store).revise(stale, Consent::deny).await;
    assert!(matches!(
        refused,
        Err(Unrevised::Refused(InvalidMove::NotStarted))
    ));
    let gone = globex(&store).revise(done.clone(), |_| open().end(at(600))).await;
    assert!(matches!(gone, Err(Unrevised::Missing)));
    // What is there already is not written again.
    let (again, calls) = counted(acme(&store).revise(done.clone(), Consent::give)).await;
    assert_eq!((again.unwrap(), calls.total()), (done, 0));
}

#[tokio::test]
async fn of_concurrent_starts_and_refusals_every_one_is_decided_on_what_is_there() {
    let (store, _database) = with_consent().await;
    start(&store, "state").await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..6 {
        let (records, seen) = (acme(&store), find(&store).await);
        callers.spawn(async move {
            if number % 2 == 0 {
                records.revise(seen, Consent::give).await.is_ok()
            } else {
                records.revise(seen, Consent::deny).await.is_ok()
            }
        });
    }
    let agreed = callers.join_all().await.into_iter().filter(|done| *done).count();
    assert_eq!(agreed, 3, "all of one mind, and nobody else");
    assert_eq!(find(&store).await.version, 3);
}
