//! Signed-in browsers, and the brake on guessing passwords.

use crate::*;
use store::{LOCKED_FOR, Login, MOST_FAILURES, Throttle, counted};

#[tokio::test]
async fn a_login_is_found_until_it_ends_or_is_deleted() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme, globex) = (store.identity(), tenant("acme"), tenant("globex"));
    let login = Login {
        subject: owner("user-1"),
        username: "ada".into(),
        auth_time: now(),
        expires_at: later(60),
    };
    identity.put_login(&acme, "hash", &login).await.unwrap();
    let found = identity.find_login(&acme, "hash", later(59)).await;
    assert_eq!(found.unwrap(), Some(login));
    assert_eq!(identity.find_login(&acme, "hash", later(60)).await.unwrap(), None);
    assert_eq!(identity.find_login(&globex, "hash", now()).await.unwrap(), None);
    identity.delete_login(&globex, "hash").await.unwrap();
    assert!(identity.find_login(&acme, "hash", now()).await.unwrap().is_some());
    identity.delete_login(&acme, "hash").await.unwrap();
    identity.delete_login(&acme, "hash").await.unwrap();
    assert_eq!(identity.find_login(&acme, "hash", now()).await.unwrap(), None);
}

async fn fail(store: &Store, at: Timestamp) -> Throttle {
    let acme = tenant("acme");
    store.identity().count_failure(&acme, "ada", at).await.unwrap()
}

#[tokio::test]
async fn failures_lock_a_name_for_a_while() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme) = (store.identity(), tenant("acme"));
    for failures in 1..MOST_FAILURES {
        let (throttle, calls) = counted(fail(&store, now())).await;
        assert_eq!((throttle.failures, throttle.locked_until), (failures, None));
        assert_eq!((throttle.counted, calls.total()), (true, 1));
    }
    let last = fail(&store, now()).await;
    assert_eq!(last.locked_until, Some(now().after(LOCKED_FOR)));
    assert!(last.counted && last.is_locked(later(59)) && !last.is_locked(now().after(LOCKED_FOR)));
    // While it is locked nothing counts, so that the lock does not grow by being rattled at.
    let locked = fail(&store, later(30)).await;
    assert_eq!(
        locked,
        Throttle {
            counted: false,
            ..last
        }
    );
    let found = identity.find_throttle(&acme, "ada", later(30)).await.unwrap();
    assert_eq!(found, locked);
    // Then it is one try at a time.
    let retry = fail(&store, now().after(LOCKED_FOR)).await;
    assert!(retry.counted && retry.is_locked(later(119)));
    // Other names, and the same name elsewhere, know nothing of it.
    for (tenant_name, name) in [("acme", "alan"), ("globex", "ada")] {
        let found = identity
            .find_throttle(&tenant(tenant_name), name, later(61))
            .await;
        assert_eq!(found.unwrap(), Throttle::default());
    }
    identity.clear_failures(&acme, "ada").await.unwrap();
    let found = identity.find_throttle(&acme, "ada", later(62)).await.unwrap();
    assert_eq!(found, Throttle::default());
    assert_eq!(fail(&store, later(62)).await.failures, 1);
}

#[tokio::test]
async fn failures_of_long_ago_count_no_more() {
    let (store, _database) = store_testing::start().await;
    for _ in 0..MOST_FAILURES {
        fail(&store, now()).await;
    }
    let found = store
        .identity()
        .find_throttle(&tenant("acme"), "ada", later(3601))
        .await
        .unwrap();
    assert_eq!(found, Throttle::default());
    let anew = fail(&store, later(3601)).await;
    assert_eq!((anew.failures, anew.locked_until, anew.counted), (1, None, true));
    assert_eq!(fail(&store, later(3602)).await.failures, 2);
}

#[tokio::test]
async fn a_burst_of_guesses_gets_no_more_than_the_free_ones() {
    let (store, _database) = store_testing::start().await;
    let mut guesses = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let store = store.clone();
        guesses.spawn(async move { fail(&store, later(1)).await.counted });
    }
    let tried = guesses.join_all().await.into_iter().filter(|tried| *tried);
    assert_eq!(tried.count(), MOST_FAILURES as usize);
}

#[tokio::test]
async fn a_name_of_any_length_can_fail() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme, name) = (store.identity(), tenant("acme"), "x".repeat(100_000));
    let throttle = identity.count_failure(&acme, &name, now()).await.unwrap();
    assert_eq!(throttle.failures, 1);
}
