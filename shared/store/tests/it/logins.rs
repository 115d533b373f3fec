//! Signed-in browsers, and the brake on guessing passwords.

use crate::*;
use store::{Brake, LOCKED_FOR, Login, MOST_FAILURES, Throttle, counted};

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

const ADA: Brake<'static> = Brake::Name("ada");

async fn fail(store: &Store, at: Timestamp) -> Throttle {
    let acme = tenant("acme");
    store.identity().count_failure(&acme, &ADA, at).await.unwrap()
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
    let found = identity.find_throttle(&acme, &ADA, later(30)).await.unwrap();
    assert_eq!(found, locked);
    // Then it is one try at a time.
    let retry = fail(&store, now().after(LOCKED_FOR)).await;
    assert!(retry.counted && retry.is_locked(later(119)));
    // Other names, and the same name elsewhere, know nothing of it.
    for (tenant_name, name) in [("acme", "alan"), ("globex", "ada")] {
        let found = identity
            .find_throttle(&tenant(tenant_name), &Brake::Name(name), later(61))
            .await;
        assert_eq!(found.unwrap(), Throttle::default());
    }
    identity.clear_failures(&acme, &ADA).await.unwrap();
    let found = identity.find_throttle(&acme, &ADA, later(62)).await.unwrap();
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
        .find_throttle(&tenant("acme"), &ADA, later(3601))
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
    let throttle = identity
        .count_failure(&acme, &Brake::Name(&name), now())
        .await
        .unwrap();
    assert_eq!(throttle.failures, 1);
}

#[tokio::test]
async fn a_lock_grows_with_each_failure_and_no_longer_than_half_an_hour() {
    let (store, _database) = store_testing::start().await;
    let mut at = now();
    let mut locks = Vec::new();
    for _ in 0..MOST_FAILURES + 8 {
        let throttle = fail(&store, at).await;
        assert!(throttle.counted);
        if let Some(until) = throttle.locked_until {
            locks.push(until.since(at).as_secs());
            at = until;
        }
    }
    assert_eq!(locks, [60, 120, 240, 480, 960, 1800, 1800, 1800, 1800]);
}

#[tokio::test]
async fn who_tries_and_where_is_counted_beside_the_name() {
    let (store, database) = store_testing::start().await;
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    let source = |text: &str| Brake::Source(text.parse().unwrap());
    // Two processes count the same.
    let other = database.store();
    for turn in 0..30 {
        let store = if turn % 2 == 0 { &store } else { &other };
        let counted = store
            .identity()
            .count_failure(&acme, &source("2001:db8:1:2::7"), now())
            .await;
        assert!(counted.unwrap().counted, "{turn}");
    }
    let locked = async |tenant: &Tenant, brake: Brake<'_>| {
        let found = store.identity().find_throttle(tenant, &brake, later(1)).await;
        found.unwrap().is_locked(later(1))
    };
    assert!(
        locked(&acme, source("2001:db8:1:2:ffff::1")).await,
        "one customer's network"
    );
    assert!(!locked(&acme, source("2001:db8:1:3::7")).await);
    assert!(!locked(&acme, source("192.0.2.1")).await);
    assert!(!locked(&globex, source("2001:db8:1:2::7")).await);
    assert!(!locked(&acme, Brake::Tenant).await && !locked(&acme, ADA).await);
    assert!(!locked(&acme, Brake::Device("ada")).await);
}

#[tokio::test]
async fn a_user_is_changed_as_it_is_and_its_name_is_given_once() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme) = (store.identity(), tenant("acme"));
    let user = |hash: &str| store::User {
        username: "ada".into(),
        subject: owner("user-ada"),
        display_name: "Ada".into(),
        password_hash: hash.into(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    assert!(identity.add_user(&acme, &user("1")).await.unwrap());
    assert!(
        identity.add_user(&acme, &user("1")).await.unwrap(),
        "its own repeat"
    );
    assert!(!identity.add_user(&acme, &user("2")).await.unwrap());
    let changed = identity.change_user(&acme, "ada", |user| user.not_before = Some(later(5)));
    let changed = changed.await.unwrap().unwrap();
    assert!(!changed.admits(later(4)) && changed.admits(later(5)));
    assert_eq!(identity.list_users(&acme).await.unwrap(), [changed]);
    assert!(identity.list_users(&tenant("globex")).await.unwrap().is_empty());
    identity.remove_user(&acme, "ada").await.unwrap();
    assert!(identity.list_users(&acme).await.unwrap().is_empty());
    let nobody = identity
        .change_user(&acme, "ada", |user| user.roles.clear())
        .await;
    assert_eq!(nobody.unwrap(), None);
}

#[tokio::test]
async fn nobody_is_a_user_whom_no_list_has() {
    let (store, _database) = store_testing::start().await;
    let (identity, acme) = (store.identity(), tenant("acme"));
    let user = |hash: &str| store::User {
        username: "ada".into(),
        subject: owner("user-ada"),
        display_name: "Ada".into(),
        password_hash: hash.into(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    identity.add_user(&acme, &user("0")).await.unwrap();
    for round in 1..=20 {
        let added = user(&round.to_string());
        let (removed, _) = tokio::join!(
            identity.remove_user(&acme, "ada"),
            identity.add_user(&acme, &added)
        );
        removed.unwrap();
        let found = identity.find_user(&acme, "ada").await.unwrap();
        let listed = identity.list_users(&acme).await.unwrap();
        assert_eq!(listed, Vec::from_iter(found), "round {round}");
        identity.add_user(&acme, &added).await.unwrap();
    }
}
