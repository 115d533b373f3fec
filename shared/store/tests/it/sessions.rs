//! Sessions, chats, messages.

use domain::{ChatId, TaskId};
use serde_json::{Value, json};

use crate::*;
use store::{
    Added, Adopted, Chat, Opened, PageRequest, Person, Profile, Session, StoreError, StoredMessage, User,
    Verdict, counted, person_id,
};

fn chat(id: &str) -> ChatId {
    ChatId::parse(id).unwrap()
}

/// Where user-1's chat of that id lies.
fn place(id: &str) -> ChatId {
    chat(id).of_owner(&owner("user-1"))
}

fn said(id: &str, at: u64, body: Value) -> StoredMessage {
    StoredMessage {
        id: message_id(id),
        at: later(at),
        body,
        edits: 0,
    }
}

async fn open(store: &Store, tenant_name: &str, user: &str, id: &str, at: u64) -> Opened {
    let (tenant, owner) = (tenant(tenant_name), owner(user));
    store
        .sessions()
        .open_chat(&tenant, &owner, &chat(id), "A trip", later(at))
        .await
        .unwrap()
}

async fn chats(store: &Store, tenant_name: &str, user: &str) -> Vec<Chat> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit: 3, cursor };
        let page = store
            .sessions()
            .chats_of(&tenant(tenant_name), &owner(user), page, now())
            .await
            .unwrap();
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn a_session_is_found_by_its_tenant_and_token_until_it_ends() {
    let (store, _database) = store_testing::start().await;
    let sessions = store.sessions();
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    sessions
        .create_session(&acme, "hash", &owner("user-1"), now(), later(60))
        .await
        .unwrap();
    let (found, calls) = counted(sessions.find_session(&acme, "hash", later(60))).await;
    let found = found.unwrap().unwrap();
    assert_eq!(calls.total(), 1);
    assert_eq!((found.owner, found.created_at), (owner("user-1"), now()));
    assert!(
        sessions
            .find_session(&acme, "hash", later(61))
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        sessions
            .find_session(&acme, "other", now())
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        sessions
            .find_session(&globex, "hash", now())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_persons_session_is_good_as_long_as_what_it_was_proved_by() {
    let (store, _database) = store_testing::start().await;
    let (sessions, identity) = (store.sessions(), store.identity());
    let acme = tenant("acme");
    let ada = User {
        username: "ada".into(),
        subject: owner("user-ada"),
        display_name: "Ada".into(),
        password_hash: "none".into(),
        roles: vec!["admin".into()],
        since: None,
        not_before: None,
    };
    identity.put_user(&acme, &ada).await.unwrap();
    let person = Person {
        issuer: "https://idp.example/acme".into(),
        subject: owner("user-ada"),
        username: "ada".into(),
        auth_time: now(),
        id: None,
        sid: None,
        proof: None,
    };
    let session = Session {
        owner: owner("person-1"),
        created_at: now(),
        expires_at: later(60),
        person: Some(person.clone()),
        guest: None,
        pushes: store::Pushes::default(),
    };
    sessions.begin_session(&acme, "hash", &session).await.unwrap();
    sessions
        .create_session(&acme, "guest", &owner("guest-1"), now(), later(60))
        .await
        .unwrap();
    let (guest, calls) = counted(sessions.live_session(&acme, "guest", now())).await;
    assert_eq!((guest.unwrap().unwrap().signed_in, calls.total()), (None, 1));
    let (found, calls) = counted(sessions.live_session(&acme, "hash", now())).await;
    let found = found.unwrap().unwrap();
    assert_eq!(calls.total(), 2, "one read more than a guest's");
    assert_eq!(found.owner, owner("person-1"));
    let signed_in = found.signed_in.unwrap();
    assert_eq!(
        (signed_in.username.as_str(), signed_in.roles),
        ("ada", vec!["admin".to_owned()])
    );
    let is_live = async |at| sessions.live_session(&acme, "hash", at).await.unwrap().is_some();
    assert!(is_live(now()).await && !is_live(later(61)).await);

    // Another proof is wanted from now on; that of before is good for nothing, one of now is.
    identity
        .change_user(&acme, "ada", |user| user.not_before = Some(later(1)))
        .await
        .unwrap();
    assert!(!is_live(now()).await);
    let anew = Session {
        person: Some(Person {
            auth_time: later(1),
            ..person.clone()
        }),
        ..session.clone()
    };
    sessions.begin_session(&acme, "hash", &anew).await.unwrap();
    assert!(is_live(now()).await);
    // Somebody else of that name.
    let other = User {
        subject: owner("user-another"),
        ..ada
    };
    identity.put_user(&acme, &other).await.unwrap();
    assert!(!is_live(now()).await);
    identity.remove_user(&acme, "ada").await.unwrap();
    assert!(!is_live(now()).await);
    let kept = sessions.find_session(&acme, "hash", now()).await.unwrap();
    assert!(kept.is_some(), "it is the proof that is gone");
    sessions.end_session(&acme, "hash").await.unwrap();
    assert_eq!(sessions.find_session(&acme, "hash", now()).await.unwrap(), None);
}

#[tokio::test]
async fn a_person_of_another_issuer_has_an_epoch_here() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme) = (store.sessions(), tenant("acme"));
    let profile = Profile {
        issuer: "https://login.example".into(),
        subject: owner("ada|1"),
        username: "ada@login.example".into(),
        display_name: "Ada".into(),
        roles: vec!["operator".into()],
    };
    let id = person_id(&profile.issuer, &profile.subject, None).unwrap();
    assert_ne!(
        id,
        person_id(&profile.issuer, &profile.subject, Some(now())).unwrap()
    );
    let session = Session {
        owner: id.clone(),
        created_at: now(),
        expires_at: later(60),
        person: Some(Person {
            issuer: profile.issuer.clone(),
            subject: profile.subject.clone(),
            username: String::new(),
            auth_time: now(),
            id: Some(id.clone()),
            sid: None,
            proof: Some(domain::SignInProof::new(
                "corp",
                None,
                &["mfa".to_owned()],
                later(1),
            )),
        }),
        guest: None,
        pushes: store::Pushes::default(),
    };
    sessions.begin_session(&acme, "hash", &session).await.unwrap();
    let live = async || sessions.live_session(&acme, "hash", now()).await.unwrap();
    assert_eq!(live().await, None, "nobody has met them");
    let known = sessions.meet_person(&acme, &id, &profile).await.unwrap();
    assert_eq!(known.profile.as_ref(), Some(&profile));
    let (found, calls) = counted(live()).await;
    assert_eq!(calls.total(), 2, "as many reads as for a user of our own");
    let signed_in = found.unwrap().signed_in.unwrap();
    assert_eq!(
        (signed_in.display_name.as_str(), &signed_in.roles),
        ("Ada", &profile.roles)
    );
    assert_eq!(sessions.find_person(&tenant("globex"), &id).await.unwrap(), None);

    // Whoever was let in by another rule than that of now is out, and in again where it is that one again.
    let first = store.clone().admitting(domain::SignInRule::default());
    first
        .sessions()
        .begin_session(&acme, "other", &session)
        .await
        .unwrap();
    let admitted = async |issuers: &str, demands: &str| {
        let rule = domain::SignInRule {
            issuers: issuers.parse().unwrap(),
            demands: demands.parse().unwrap(),
        };
        let ruled = store.clone().admitting(rule);
        let person = session.person.clone().unwrap();
        let counts = ruled
            .sessions()
            .still_counts(&acme, &person, now())
            .await
            .unwrap();
        let live = ruled.sessions().live_session(&acme, "hash", now()).await.unwrap();
        assert_eq!(live.is_some(), counts, "sessions and shares alike");
        counts
    };
    for (issuers, demands, expect) in [
        ("idp,corp", "", true),
        ("corp=https://login.example", "amr:mfa", true),
        ("idp", "", false),
        ("corp=https://other.example", "", false),
        ("corp", "urn:example:strong", false),
    ] {
        assert_eq!(admitted(issuers, demands).await, expect, "{issuers} {demands}");
    }
    // A rule that comes back brings nobody back who was out.
    let ruled = |issuers: &str| {
        store.clone().admitting(domain::SignInRule {
            issuers: issuers.parse().unwrap(),
            ..domain::SignInRule::default()
        })
    };
    let person = session.person.clone().unwrap();
    for (issuers, at, expect) in [("idp", 2, false), ("idp,corp", 3, false)] {
        let ruled = ruled(issuers);
        let counts = ruled.sessions().still_counts(&acme, &person, later(at)).await;
        assert_eq!(counts.unwrap(), expect, "{issuers}");
    }
    let proof = domain::SignInProof::new("corp", None, &[], later(4));
    let again = Person {
        proof: Some(proof),
        ..person
    };
    let ruled = ruled("idp,corp");
    let (counts, calls) = counted(ruled.sessions().still_counts(&acme, &again, later(5))).await;
    assert!(counts.unwrap() && calls.total() == 2, "the rules are read once");
    let (_, calls) = counted(ruled.sessions().still_counts(&acme, &again, later(5))).await;
    assert_eq!(calls.total(), 1);

    // It only ever rises, and stays over the next sign-in; a proof of then counts.
    sessions.end_person(&acme, &id, later(2)).await.unwrap();
    sessions.end_person(&acme, &id, later(1)).await.unwrap();
    assert_eq!(live().await, None);
    let known = sessions.meet_person(&acme, &id, &profile).await.unwrap();
    assert_eq!(known.not_before, Some(later(2)));
    assert!(known.admits(later(2)) && !known.admits(later(1)));
    // Also of somebody who has not come yet.
    let eve = person_id(&profile.issuer, &owner("eve"), None).unwrap();
    sessions.end_person(&acme, &eve, later(2)).await.unwrap();
    let known = sessions.meet_person(&acme, &eve, &profile).await.unwrap();
    assert_eq!(known.not_before, Some(later(2)));
}

#[tokio::test]
async fn every_session_of_an_owner_and_of_an_issuers_session_can_be_ended() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme) = (store.sessions(), tenant("acme"));
    let guest = owner("guest-1");
    for (hash, whose) in [
        ("a", "guest-1"),
        ("b", "guest-1"),
        ("c", "guest-10"),
        ("d", "guest-2"),
    ] {
        let whose = owner(whose);
        let begun = sessions.create_session(&acme, hash, &whose, now(), later(60));
        begun.await.unwrap();
    }
    let there = async |hash: &str| sessions.find_session(&acme, hash, now()).await.unwrap().is_some();
    assert_eq!(
        sessions.end_sessions_of(&acme, &guest, Some("b")).await.unwrap(),
        1
    );
    assert!(!there("a").await && there("b").await && there("c").await && there("d").await);
    assert_eq!(sessions.end_sessions_of(&acme, &guest, None).await.unwrap(), 1);
    assert_eq!(sessions.end_sessions_of(&acme, &guest, None).await.unwrap(), 0);

    let place = ("https://login.example", "s1");
    assert!(sessions.note_sid(&acme, place, "c", later(60)).await.unwrap());
    let other = ("https://other.example", "s1");
    assert_eq!(sessions.end_sid(&acme, other, later(60)).await.unwrap(), 0);
    assert!(there("c").await);
    assert_eq!(sessions.end_sid(&acme, place, later(60)).await.unwrap(), 1);
    assert!(!there("c").await && there("d").await);
    assert!(
        !sessions.note_sid(&acme, place, "d", later(60)).await.unwrap(),
        "it comes too late"
    );

    assert!(
        !sessions
            .knows_logout(&acme, "https://login.example", "j")
            .await
            .unwrap()
    );
    let word = ("https://login.example", "j");
    assert!(sessions.note_logout(&acme, word, later(60)).await.unwrap());
    assert!(!sessions.note_logout(&acme, word, later(60)).await.unwrap());
    assert!(
        sessions
            .knows_logout(&acme, "https://login.example", "j")
            .await
            .unwrap()
    );
    assert!(
        !sessions
            .knows_logout(&acme, "https://other.example", "j")
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn a_guests_work_is_taken_over_once() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme) = (store.sessions(), tenant("acme"));
    let (guest, ada, eve) = (owner("guest-1"), owner("person-ada"), owner("person-eve"));
    assert_eq!(sessions.adopted_by(&acme, &guest).await.unwrap(), None);
    assert_eq!(sessions.adopt(&acme, &guest, &ada).await.unwrap(), Adopted::Yes);
    assert_eq!(
        sessions.adopt(&acme, &guest, &ada).await.unwrap(),
        Adopted::Yes,
        "a repeat"
    );
    assert_eq!(
        sessions.adopt(&acme, &guest, &eve).await.unwrap(),
        Adopted::ByAnother
    );
    assert_eq!(
        sessions.adopted_by(&acme, &guest).await.unwrap(),
        Some(ada.clone())
    );
    assert!(sessions.give_work(&acme, &ada, &guest).await.unwrap());
    assert!(sessions.give_work(&acme, &ada, &guest).await.unwrap());
    assert!(
        !sessions.give_work(&acme, &ada, &owner("guest-2")).await.unwrap(),
        "one guest's alone"
    );
    let known = sessions.find_person(&acme, &ada).await.unwrap().unwrap();
    assert_eq!((known.owner, known.profile), (Some(guest), None));
}

#[tokio::test]
async fn a_person_takes_over_one_guest_though_two_are_answered_for_at_once() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme) = (store.sessions(), tenant("acme"));
    for round in 0..10 {
        let person = owner(&format!("person-{round}"));
        let guests = [
            owner(&format!("guest-{round}-a")),
            owner(&format!("guest-{round}-b")),
        ];
        let [one, two] = &guests;
        let (first, second) = tokio::join!(
            sessions.adopt(&acme, one, &person),
            sessions.adopt(&acme, two, &person)
        );
        let taken = match (first.unwrap(), second.unwrap()) {
            (Adopted::Yes, Adopted::HasAnother) => [one, two],
            (Adopted::HasAnother, Adopted::Yes) => [two, one],
            other => panic!("{other:?}"),
        };
        assert_eq!(
            sessions.adopted_by(&acme, taken[0]).await.unwrap(),
            Some(person.clone())
        );
        assert_eq!(sessions.adopted_by(&acme, taken[1]).await.unwrap(), None);
        // The one that lost is free for somebody else; the one that won goes on, however often.
        assert!(sessions.give_work(&acme, &person, taken[0]).await.unwrap());
        assert_eq!(
            sessions.adopt(&acme, taken[0], &person).await.unwrap(),
            Adopted::Yes
        );
        assert_eq!(
            sessions.adopt(&acme, taken[1], &person).await.unwrap(),
            Adopted::HasAnother
        );
        let another = owner(&format!("another-{round}"));
        assert_eq!(
            sessions.adopt(&acme, taken[1], &another).await.unwrap(),
            Adopted::Yes
        );
    }
    // Whoever has another's work of before says so as well.
    let (ada, before, next) = (owner("person-ada"), owner("guest-before"), owner("guest-next"));
    assert!(sessions.give_work(&acme, &ada, &before).await.unwrap());
    assert_eq!(
        sessions.adopt(&acme, &next, &ada).await.unwrap(),
        Adopted::HasAnother
    );
    assert_eq!(sessions.adopted_by(&acme, &next).await.unwrap(), None);
}

#[tokio::test]
async fn a_guests_session_slides_and_one_that_is_gone_does_not() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme) = (store.sessions(), tenant("acme"));
    let guest = owner("guest-1");
    sessions
        .create_session(&acme, "a", &guest, now(), later(60))
        .await
        .unwrap();
    assert!(
        sessions
            .extend_session(&acme, ("a", &guest), later(120))
            .await
            .unwrap()
    );
    let found = sessions.find_session(&acme, "a", later(90)).await.unwrap();
    assert_eq!(found.unwrap().owner, guest);
    assert!(
        !sessions
            .extend_session(&acme, ("b", &guest), later(120))
            .await
            .unwrap()
    );
    assert_eq!(sessions.find_session(&acme, "b", now()).await.unwrap(), None);
}

#[tokio::test]
async fn a_chat_is_opened_once_and_is_its_owners() {
    let (store, _database) = store_testing::start().await;
    let Opened::New(first) = open(&store, "acme", "user-1", "c", 0).await else {
        panic!("not opened")
    };
    assert_eq!(first.context_id, ContextId::derived("acme/user-1/c"));
    assert_eq!(
        open(&store, "acme", "user-1", "c", 9).await,
        Opened::Known(first.clone())
    );
    // An id is its owner's: somebody else's chat of that name is another one.
    let Opened::New(theirs) = open(&store, "acme", "user-2", "c", 9).await else {
        panic!("an id is taken by somebody else's chat")
    };
    assert_ne!(
        (theirs.place(), &theirs.context_id),
        (first.place(), &first.context_id)
    );
    let Opened::New(other) = open(&store, "globex", "user-1", "c", 0).await else {
        panic!("another tenant's chat is in the way")
    };
    assert_ne!(other.context_id, first.context_id);
    let sessions = store.sessions();
    assert_eq!(
        sessions
            .find_chat(&tenant("acme"), &owner("user-1"), &chat("c"), now())
            .await
            .unwrap(),
        Some(first)
    );
    assert_eq!(
        sessions
            .find_chat(&tenant("acme"), &owner("user-1"), &chat("d"), now())
            .await
            .unwrap(),
        None
    );
    let title = "x".repeat(5000);
    let refused = sessions
        .open_chat(&tenant("acme"), &owner("user-1"), &chat("e"), &title, now())
        .await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
}

#[tokio::test]
async fn messages_are_added_once_and_read_in_order() {
    let (store, _database) = store_testing::start().await;
    open(&store, "acme", "user-1", "c", 0).await;
    let (sessions, acme, c) = (store.sessions(), tenant("acme"), place("c"));
    let question = said("z", 5, json!({ "role": "user" }));
    let answer = said("a", 5, json!({ "role": "assistant" }));
    assert_eq!(
        sessions.add_message(&acme, &c, &question).await.unwrap(),
        Added::New
    );
    assert_eq!(
        sessions.add_message(&acme, &c, &answer).await.unwrap(),
        Added::New
    );
    let early = said("m", 1, json!({ "role": "user" }));
    assert_eq!(sessions.add_message(&acme, &c, &early).await.unwrap(), Added::New);
    assert_eq!(
        sessions.add_message(&acme, &c, &answer).await.unwrap(),
        Added::Same
    );
    let changed = said("a", 5, json!({ "role": "assistant", "more": 1 }));
    assert_eq!(
        sessions.add_message(&acme, &c, &changed).await.unwrap(),
        Added::Conflict
    );
    assert_eq!(
        sessions.messages(&acme, &c, now()).await.unwrap(),
        [early, question, answer]
    );

    let nowhere = said("m", 1, json!({}));
    for (name, id) in [("acme", "d"), ("globex", "c")] {
        assert_eq!(
            sessions
                .add_message(&tenant(name), &place(id), &nowhere)
                .await
                .unwrap(),
            Added::NoChat
        );
        assert!(
            sessions
                .messages(&tenant(name), &place(id), now())
                .await
                .unwrap()
                .is_empty()
        );
    }
    let giant = said("g", 1, json!("x".repeat(400_000)));
    let refused = sessions.add_message(&acme, &c, &giant).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
}

#[tokio::test]
async fn the_message_that_opens_a_chat_is_its_first_and_costs_a_look_and_two_writes() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme, c) = (store.sessions(), tenant("acme"), place("c"));
    let first = said("z", 0, json!({ "role": "user" }));
    let (_, calls) = counted(async {
        assert!(matches!(
            open(&store, "acme", "user-1", "c", 0).await,
            Opened::New(_)
        ));
        assert_eq!(sessions.add_first(&acme, &c, &first).await.unwrap(), Added::New);
    })
    .await;
    assert_eq!(calls.total(), 3, "a look, and two writes: {calls:?}");
    let second = said("a", 0, json!({ "role": "assistant" }));
    assert_eq!(
        sessions.add_message(&acme, &c, &second).await.unwrap(),
        Added::New
    );
    assert_eq!(
        sessions.add_message(&acme, &c, &first).await.unwrap(),
        Added::Same
    );
    assert_eq!(
        sessions.messages(&acme, &c, now()).await.unwrap(),
        [first, second]
    );
}

#[tokio::test]
async fn of_concurrent_adds_of_one_message_one_is_new() {
    let (store, _database) = store_testing::start().await;
    open(&store, "acme", "user-1", "c", 0).await;
    let mut adders = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let store = store.clone();
        adders.spawn(async move {
            let message = said("late", 3, json!({ "text": "done" }));
            store
                .sessions()
                .add_message(&tenant("acme"), &place("c"), &message)
                .await
                .unwrap()
        });
    }
    let added = adders.join_all().await;
    assert_eq!(added.iter().filter(|added| **added == Added::New).count(), 1);
    assert_eq!(added.iter().filter(|added| **added == Added::Same).count(), 11);
    assert_eq!(
        store
            .sessions()
            .messages(&tenant("acme"), &place("c"), now())
            .await
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn chats_are_listed_by_their_newest_message() {
    let (store, _database) = store_testing::start().await;
    for at in 0..10 {
        open(&store, "acme", "user-1", &format!("c{at}"), at).await;
    }
    open(&store, "acme", "user-2", "other", 99).await;
    open(&store, "globex", "user-1", "c0", 99).await;
    let sessions = store.sessions();
    let news = said("m", 50, json!({}));
    sessions
        .add_message(&tenant("acme"), &place("c4"), &news)
        .await
        .unwrap();
    // A message of the past does not move its chat down.
    let past = said("p", 2, json!({}));
    sessions
        .add_message(&tenant("acme"), &place("c4"), &past)
        .await
        .unwrap();
    let listed = chats(&store, "acme", "user-1").await;
    let ids: Vec<_> = listed.iter().map(|chat| chat.id.as_str()).collect();
    assert_eq!(ids, ["c4", "c9", "c8", "c7", "c6", "c5", "c3", "c2", "c1", "c0"]);
    assert_eq!(listed[0].updated_at, later(50));
}

#[tokio::test]
async fn a_long_chat_is_read_whole() {
    let (store, _database) = store_testing::start().await;
    open(&store, "acme", "user-1", "c", 0).await;
    let (sessions, acme, c) = (store.sessions(), tenant("acme"), place("c"));
    for round in 0..12 {
        // 3.6 MB, where one page of a query has 1 MB.
        let message = said(&format!("m{round}"), round, json!("x".repeat(300_000)));
        sessions.add_message(&acme, &c, &message).await.unwrap();
    }
    let (read, calls) = counted(sessions.messages(&acme, &c, now())).await;
    let ids: Vec<_> = read.unwrap().into_iter().map(|message| message.id).collect();
    let expected: Vec<_> = (0..12).map(|round| message_id(&format!("m{round}"))).collect();
    assert_eq!(ids, expected);
    assert!(calls.total() >= 3);
}

#[tokio::test]
async fn an_answer_is_kept_once_beside_the_messages_and_another_word_for_it_changes_nothing() {
    let (store, _database) = store_testing::start().await;
    let sessions = store.sessions();
    let (acme, c) = (tenant("acme"), place("c"));
    let answer = |text: &str| StoredMessage {
        id: message_id("a1"),
        at: now(),
        body: json!({"text": text}),
        edits: 0,
    };
    for text in ["first", "second"] {
        let (kept, calls) = counted(sessions.keep_answer(&acme, &c, &answer(text), now())).await;
        kept.unwrap();
        assert_eq!(calls.total(), 1, "{calls:?}");
    }
    let read = sessions.conversation(&acme, &c, now()).await.unwrap();
    assert_eq!((read.messages, read.answers), (Vec::new(), vec![answer("first")]));
    let elsewhere = sessions.conversation(&tenant("globex"), &c, now()).await.unwrap();
    assert_eq!(elsewhere.answers, []);
}

#[tokio::test]
async fn what_a_user_thinks_of_an_answer_is_kept_until_they_think_otherwise_or_the_chat_is_gone() {
    let (store, _database) = store_testing::start().await;
    open(&store, "acme", "user-1", "c", 0).await;
    let (sessions, acme, c) = (store.sessions(), tenant("acme"), place("c"));
    let [one, two] = [[1; 16], [2; 16]].map(TaskId::from_bytes);
    let message = said("m", 1, json!({}));
    sessions.add_message(&acme, &c, &message).await.unwrap();
    for thought in [
        (one, Some(Verdict::Good)),
        (two, Some(Verdict::Good)),
        (one, Some(Verdict::Bad)),
        (two, None),
        (two, None),
    ] {
        sessions.keep_feedback(&acme, &c, thought, now()).await.unwrap();
    }
    let (read, calls) = counted(sessions.conversation(&acme, &c, now())).await;
    let read = read.unwrap();
    assert_eq!(read.feedback, [(one, Verdict::Bad)]);
    assert_eq!((read.messages.len(), read.answers.len()), (1, 0));
    assert_eq!(calls.total(), 1, "it comes with the messages: {calls:?}");
    let elsewhere = sessions.conversation(&tenant("globex"), &c, now()).await.unwrap();
    assert_eq!(elsewhere.feedback, []);
    let owner = owner("user-1");
    assert!(sessions.delete_chat(&acme, &owner, &c, now()).await.unwrap());
    assert_eq!(
        sessions.conversation(&acme, &c, now()).await.unwrap(),
        store::Conversation::default()
    );
}

#[tokio::test]
async fn files_lie_beside_their_message_and_go_with_the_chat() {
    let (store, _database) = store_testing::start().await;
    open(&store, "acme", "user-1", "c", 0).await;
    let (sessions, acme, c) = (store.sessions(), tenant("acme"), place("c"));
    // No message id gets at another one's files, whatever is in it.
    let (message, near) = (said("m#0#1", 0, json!({"files": "a"})), message_id("0#m#0#1"));
    let large: Vec<u8> = (0..=u8::MAX).cycle().take(650_000).collect();
    let files = [large, b"small".to_vec(), Vec::new()];
    let (added, calls) = counted(sessions.add_with_files(&acme, &c, (&message, true), &files)).await;
    assert_eq!((added.unwrap(), calls.total()), (Added::New, 1), "{calls:?}");
    for (number, bytes) in files.iter().enumerate() {
        let read = sessions
            .file(&acme, &c, &message.id, (number, bytes.len()))
            .await
            .unwrap();
        assert!(read.as_ref() == Some(bytes), "file {number}");
    }
    for nothing in [
        sessions.file(&acme, &c, &message.id, (3, 5)).await.unwrap(),
        sessions.file(&acme, &c, &near, (1, 5)).await.unwrap(),
        sessions
            .file(&acme, &place("d"), &message.id, (1, 5))
            .await
            .unwrap(),
        sessions
            .file(&tenant("globex"), &c, &message.id, (1, 5))
            .await
            .unwrap(),
    ] {
        assert_eq!(nothing, None);
    }
    let wrong = sessions.file(&acme, &c, &message.id, (1, 4)).await;
    assert!(matches!(wrong, Err(StoreError::Inconsistent { .. })), "{wrong:?}");

    let again = sessions
        .add_with_files(&acme, &c, (&message, false), &files[1..])
        .await;
    assert_eq!(again.unwrap(), Added::Same);
    let other = said("m#0#1", 0, json!({"files": "b"}));
    let refused = sessions
        .add_with_files(&acme, &c, (&other, false), &[b"other".to_vec()])
        .await;
    assert_eq!(refused.unwrap(), Added::Conflict);
    let kept = sessions.file(&acme, &c, &message.id, (1, 5)).await.unwrap();
    assert_eq!(
        kept.as_deref(),
        Some(&b"small"[..]),
        "nothing of a refused message is kept"
    );
    let (read, calls) = counted(sessions.conversation(&acme, &c, now())).await;
    assert_eq!(
        (read.unwrap().messages, calls.total()),
        (vec![message.clone()], 1)
    );

    let owner = owner("user-1");
    assert!(sessions.delete_chat(&acme, &owner, &c, now()).await.unwrap());
    for (number, bytes) in files[..2].iter().enumerate() {
        let gone = sessions
            .file(&acme, &c, &message.id, (number, bytes.len()))
            .await
            .unwrap();
        assert!(gone.is_none(), "file {number}");
    }
    let late = sessions
        .add_with_files(&acme, &c, (&message, false), &files)
        .await;
    assert_eq!(late.unwrap(), Added::NoChat);
    assert_eq!(sessions.file(&acme, &c, &message.id, (1, 5)).await.unwrap(), None);
}

#[tokio::test]
async fn what_comes_late_into_a_deleted_chat_does_not_stay() {
    let (store, _database) = store_testing::start().await;
    open(&store, "acme", "user-1", "c", 0).await;
    let (sessions, acme, c) = (store.sessions(), tenant("acme"), place("c"));
    let owner = owner("user-1");
    let message = said("m", 0, json!({"role": "user"}));
    sessions.add_first(&acme, &c, &message).await.unwrap();
    assert!(!sessions.tidy_deleted(&acme, &c).await.unwrap(), "it is there");
    assert!(!sessions.tidy_deleted(&acme, &place("none")).await.unwrap());
    assert_eq!(sessions.messages(&acme, &c, now()).await.unwrap().len(), 1);

    assert!(sessions.delete_chat(&acme, &owner, &c, now()).await.unwrap());
    let late = said("m2", 1, json!({"role": "user"}));
    let added = sessions.add_message(&acme, &c, &late).await;
    assert_eq!(added.unwrap(), Added::NoChat);
    // What is written without a look at the chat, and what was on its way.
    let task = TaskId::from_bytes([1; 16]);
    sessions
        .keep_answer(&acme, &c, &said("a", 1, json!({})), now())
        .await
        .unwrap();
    let good = (task, Some(Verdict::Good));
    sessions.keep_feedback(&acme, &c, good, now()).await.unwrap();
    sessions.add_first(&acme, &c, &message).await.unwrap();
    let (tidied, calls) = counted(sessions.tidy_deleted(&acme, &c)).await;
    assert_eq!((tidied.unwrap(), calls.total()), (true, 3), "{calls:?}");
    assert_eq!(
        sessions.conversation(&acme, &c, now()).await.unwrap(),
        store::Conversation::default()
    );
    let tombstone = sessions
        .find_chat(&acme, &owner, &chat("c"), now())
        .await
        .unwrap();
    assert!(tombstone.is_some_and(|chat| chat.deleted_at.is_some()));
}

#[tokio::test]
async fn a_session_goes_on_under_another_token_and_ends_with_all_of_its_owners() {
    let (store, _database) = store_testing::start().await;
    let (sessions, acme) = (store.sessions(), tenant("acme"));
    let profile = Profile {
        issuer: "https://login.example".into(),
        subject: owner("ada|1"),
        username: "ada".into(),
        display_name: "Ada".into(),
        roles: Vec::new(),
    };
    let id = person_id(&profile.issuer, &profile.subject, None).unwrap();
    sessions.meet_person(&acme, &id, &profile).await.unwrap();
    let session = Session {
        owner: id.clone(),
        created_at: now(),
        expires_at: Timestamp::from_millis(later(60).seconds() * 1000),
        person: Some(Person {
            issuer: profile.issuer.clone(),
            subject: profile.subject.clone(),
            username: String::new(),
            auth_time: now(),
            id: Some(id.clone()),
            sid: Some("s1".into()),
            proof: None,
        }),
        guest: None,
        pushes: store::Pushes::default(),
    };
    let find = async |hash: &str| sessions.find_session(&acme, hash, now()).await.unwrap();
    let place = ("https://login.example", "s1");
    sessions.begin_session(&acme, "first", &session).await.unwrap();
    assert!(sessions.note_sid(&acme, place, "first", later(60)).await.unwrap());
    assert!(
        sessions
            .replace_session(&acme, ("first", "second"), &session)
            .await
            .unwrap()
    );
    assert_eq!(
        (find("first").await, find("second").await),
        (None, Some(session.clone()))
    );
    // What has ended does not go on.
    assert!(
        !sessions
            .replace_session(&acme, ("first", "third"), &session)
            .await
            .unwrap()
    );
    assert_eq!(find("third").await, None);
    // Its issuer's word ends it as it would have ended the one before.
    assert!(sessions.end_sid(&acme, place, later(60)).await.unwrap() >= 1);
    assert_eq!(find("second").await, None);
    // One that goes on while its issuer's session ends is not begun.
    sessions.begin_session(&acme, "fourth", &session).await.unwrap();
    assert!(
        !sessions
            .replace_session(&acme, ("fourth", "fifth"), &session)
            .await
            .unwrap()
    );
    assert_eq!((find("fourth").await, find("fifth").await), (None, None));

    // Whoever ends all sessions of an owner leaves none behind that gets another token meanwhile.
    let guest = owner("guest-1");
    for round in 0..20 {
        let (first, second) = (format!("a{round}"), format!("b{round}"));
        let own = Session {
            owner: guest.clone(),
            person: None,
            ..session.clone()
        };
        sessions.begin_session(&acme, &first, &own).await.unwrap();
        let (ended, moved) = tokio::join!(
            sessions.end_sessions_of(&acme, &guest, None),
            sessions.replace_session(&acme, (&first, &second), &own)
        );
        ended.unwrap();
        moved.unwrap();
        assert_eq!(
            (find(&first).await, find(&second).await),
            (None, None),
            "round {round}"
        );
    }
}
