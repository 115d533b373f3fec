//! Browsers that are told of tasks: whose they are, what each session knows of them, and what ends them.

use domain::{Owner, Tenant};
use store::{MAX_SUBSCRIPTIONS, Person, PushSubscription, Pushes, Session, Sessions, Store, User, counted};

use crate::{later, now, owner, tenant};

fn subscription(id: &str, until: u64) -> PushSubscription {
    PushSubscription {
        id: id.to_owned(),
        sealed: format!("v1.k.{id}"),
        person: None,
        created_at: now(),
        expires_at: later(until),
        told: None,
    }
}

async fn guest(sessions: Sessions<'_>, hash: &str, whose: &Owner) {
    let acme = tenant("acme");
    let begun = sessions.create_session(&acme, hash, whose, now(), later(600));
    begun.await.unwrap();
}

async fn pushes(sessions: Sessions<'_>, hash: &str) -> Pushes {
    let found = sessions.find_session(&tenant("acme"), hash, now()).await.unwrap();
    found.map(|session| session.pushes).unwrap_or_default()
}

async fn ids(sessions: Sessions<'_>, tenant: &Tenant, whose: &Owner) -> Vec<String> {
    let live = sessions.live_subscriptions(tenant, whose, now()).await.unwrap();
    live.into_iter().map(|one| one.id).collect()
}

fn known(here: Option<&str>, anywhere: bool) -> Pushes {
    Pushes {
        here: here.map(str::to_owned),
        anywhere,
    }
}

#[tokio::test]
async fn every_session_of_an_owner_knows_that_a_browser_is_told_and_a_send_reads_nothing_more() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme, ada) = (store.sessions(), tenant("acme"), owner("ada"));
    for hash in ["phone", "desk"] {
        guest(sessions, hash, &ada).await;
    }
    guest(sessions, "other", &owner("eve")).await;
    let phone = subscription("p", 60);
    sessions
        .keep_subscription(&acme, (&ada, "phone"), &phone)
        .await
        .unwrap();
    assert_eq!(pushes(sessions, "phone").await, known(Some("p"), true));
    assert_eq!(pushes(sessions, "desk").await, known(None, true));
    assert_eq!(pushes(sessions, "other").await, Pushes::default());
    let (live, calls) = counted(sessions.live_session(&acme, "desk", now())).await;
    assert!(live.unwrap().unwrap().pushes);
    assert_eq!(calls.total(), 1);
    // Who signs in later learns of it; nobody else does.
    for (hash, whose) in [("late", &ada), ("stranger", &owner("bob"))] {
        guest(sessions, hash, whose).await;
        let learned = counted(sessions.learn_subscriptions(&acme, whose, hash)).await;
        learned.0.unwrap();
        assert_eq!(learned.1.total(), if hash == "late" { 2 } else { 1 });
    }
    assert_eq!(pushes(sessions, "late").await, known(None, true));
    assert_eq!(pushes(sessions, "stranger").await, Pushes::default());
    // The last one takes all of that back.
    sessions.end_subscription(&acme, &ada, "p").await.unwrap();
    for hash in ["phone", "desk", "late"] {
        assert_eq!(pushes(sessions, hash).await, Pushes::default(), "{hash}");
    }
    guest(sessions, "later", &ada).await;
    sessions.learn_subscriptions(&acme, &ada, "later").await.unwrap();
    assert_eq!(pushes(sessions, "later").await, Pushes::default());
}

#[tokio::test]
async fn a_subscription_is_its_tenants_and_owners_alone_and_has_its_time() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme, ada) = (store.sessions(), tenant("acme"), owner("ada"));
    guest(sessions, "phone", &ada).await;
    let phone = subscription("p", 60);
    sessions
        .keep_subscription(&acme, (&ada, "phone"), &phone)
        .await
        .unwrap();
    assert_eq!(ids(sessions, &acme, &ada).await, ["p"]);
    assert!(ids(sessions, &tenant("globex"), &ada).await.is_empty());
    assert!(ids(sessions, &acme, &owner("ad")).await.is_empty());
    let find = async |whose: &str, id: &str, at| {
        let found = sessions.find_subscription(&acme, &owner(whose), id, at).await;
        // Its end is kept in whole seconds.
        found.unwrap().map(|found| PushSubscription {
            expires_at: later(60),
            ..found
        })
    };
    assert_eq!(find("ada", "p", now()).await, Some(phone.clone()));
    assert_eq!(find("eve", "p", now()).await, None);
    assert_eq!(find("ada", "q", now()).await, None);
    assert_eq!(find("ada", "p", later(61)).await, None);
    // Its browser was here again, in another session.
    guest(sessions, "again", &ada).await;
    let longer = PushSubscription {
        expires_at: later(120),
        ..phone
    };
    sessions
        .extend_subscription(&acme, (&ada, "again"), &longer)
        .await
        .unwrap();
    assert!(find("ada", "p", later(119)).await.is_some());
    assert_eq!(pushes(sessions, "again").await, known(Some("p"), true));
    let noted = sessions.note_told(&acme, &ada, ("p", "news")).await;
    noted.unwrap();
    assert_eq!(
        find("ada", "p", now()).await.unwrap().told.as_deref(),
        Some("news")
    );
    let live = sessions.live_subscriptions(&acme, &ada, later(121)).await;
    assert!(live.unwrap().is_empty());
    assert_eq!(find("ada", "p", now()).await, None, "what is over is forgotten");
    // What has ended meanwhile does not come back.
    let extended = sessions
        .extend_subscription(&acme, (&ada, "again"), &longer)
        .await;
    extended.unwrap();
    sessions.note_told(&acme, &ada, ("p", "news")).await.unwrap();
    assert_eq!(find("ada", "p", now()).await, None);
}

#[tokio::test]
async fn an_owner_has_so_many_and_the_oldest_goes() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme, ada) = (store.sessions(), tenant("acme"), owner("ada"));
    guest(sessions, "phone", &ada).await;
    let names: Vec<String> = (0..=MAX_SUBSCRIPTIONS).map(|n| format!("s{n}")).collect();
    for (until, name) in (60..).zip(&names) {
        let one = subscription(name, until);
        let kept = sessions.keep_subscription(&acme, (&ada, "phone"), &one);
        kept.await.unwrap();
    }
    assert_eq!(ids(sessions, &acme, &ada).await, names[1..]);
    let giant = PushSubscription {
        sealed: "x".repeat(9_000),
        ..subscription("giant", 60)
    };
    let kept = sessions.keep_subscription(&acme, (&ada, "phone"), &giant).await;
    assert!(matches!(kept, Err(store::StoreError::TooLarge { .. })));
}

#[tokio::test]
async fn it_ends_with_the_session_of_its_browser_and_with_all_of_them() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme, ada) = (store.sessions(), tenant("acme"), owner("ada"));
    let subscribe = async |hash: &str| {
        guest(sessions, hash, &ada).await;
        let one = subscription(hash, 60);
        let kept = sessions.keep_subscription(&acme, (&ada, hash), &one);
        kept.await.unwrap();
    };
    for hash in ["a", "b", "c", "d"] {
        subscribe(hash).await;
    }
    sessions.end_session(&acme, "a").await.unwrap();
    assert_eq!(ids(sessions, &acme, &ada).await, ["b", "c", "d"]);
    // An issuer's own session has ended.
    let place = ("https://login.example", "s1");
    sessions.note_sid(&acme, place, "b", later(60)).await.unwrap();
    assert_eq!(sessions.end_sid(&acme, place, later(60)).await.unwrap(), 1);
    assert_eq!(ids(sessions, &acme, &ada).await, ["c", "d"]);
    // A session that ran out leaves its browser to be told, but not beyond the end of all of them.
    let gone = sessions.find_session(&acme, "c", later(601)).await.unwrap();
    assert!(gone.is_none());
    sessions.end_sessions_of(&acme, &ada, Some("c")).await.unwrap();
    assert_eq!(ids(sessions, &acme, &ada).await, ["c"]);
    sessions.end_sessions_of(&acme, &ada, None).await.unwrap();
    assert!(ids(sessions, &acme, &ada).await.is_empty());
}

async fn person(store: &Store) -> Person {
    let user = User {
        username: "ada".into(),
        subject: owner("user-ada"),
        display_name: "Ada".into(),
        password_hash: "none".into(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    store.identity().put_user(&tenant("acme"), &user).await.unwrap();
    Person {
        issuer: "https://idp.example/acme".into(),
        subject: owner("user-ada"),
        username: "ada".into(),
        auth_time: now(),
        id: None,
        sid: None,
        proof: None,
    }
}

#[tokio::test]
async fn whoever_is_out_everywhere_or_removed_is_told_nothing() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme, ada) = (store.sessions(), tenant("acme"), owner("person-1"));
    let person = person(&store).await;
    let session = Session {
        owner: ada.clone(),
        created_at: now(),
        expires_at: later(60),
        person: Some(person.clone()),
        guest: None,
        pushes: Pushes::default(),
    };
    let subscribe = async |id: &str, person: &Person| {
        let one = PushSubscription {
            person: Some(person.clone()),
            ..subscription(id, 600)
        };
        let kept = sessions.keep_subscription(&acme, (&ada, "phone"), &one);
        kept.await.unwrap();
    };
    sessions.begin_session(&acme, "phone", &session).await.unwrap();
    subscribe("p", &person).await;
    subscribe("q", &person).await;
    let (live, calls) = counted(sessions.live_subscriptions(&acme, &ada, now())).await;
    assert_eq!(
        (live.unwrap().len(), calls.total()),
        (2, 2),
        "a person is looked up once"
    );
    let identity = store.identity();
    let out = identity.change_user(&acme, "ada", |user| user.not_before = Some(later(1)));
    out.await.unwrap();
    assert!(ids(sessions, &acme, &ada).await.is_empty());
    assert_eq!(pushes(sessions, "phone").await, Pushes::default());
    let anew = Person {
        auth_time: later(1),
        ..person
    };
    subscribe("p", &anew).await;
    assert_eq!(ids(sessions, &acme, &ada).await, ["p"]);
    identity.remove_user(&acme, "ada").await.unwrap();
    assert!(ids(sessions, &acme, &ada).await.is_empty());
}
