//! What becomes of a guest's work when somebody signs in in the guest's browser.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use domain::{Clock, ExposeSecret, Owner, SystemEntropy};
use http::StatusCode;
use http::header::SET_COOKIE;
use serde_json::{Value, json};
use store::{GuestBefore, Person, Profile, Session};

use super::world::{Answered, Browser, World, says};

/// A guest who has chatted.
async fn guest(world: &World, app: &Router, chats: &[&str]) -> Browser {
    let browser = Browser::default();
    for chat in chats {
        let said = browser.post(app, "/api/chat", &says(chat, "m1", "hello")).await;
        assert_eq!(said.status, StatusCode::OK);
        world.clock.advance(Duration::from_secs(60));
    }
    browser
}

fn hash(browser: &Browser) -> String {
    let cookie = browser.0.lock().unwrap().clone().expect("a cookie");
    auth::token::hash(cookie.split_once('=').expect("a cookie").1)
}

/// A browser in which a person of another issuer has signed in where this guest was.
async fn person(world: &World, name: &str, before: Option<&Browser>, shared: bool) -> Browser {
    let (sessions, now) = (world.store.sessions(), world.clock.now());
    let subject = Owner::parse(name).unwrap();
    let issuer = "https://login.example".to_owned();
    let id = store::person_id(&issuer, &subject, None).unwrap();
    let profile = Profile {
        issuer: issuer.clone(),
        subject: subject.clone(),
        username: name.to_owned(),
        display_name: name.to_owned(),
        roles: Vec::new(),
    };
    let known = sessions.meet_person(&world.tenant, &id, &profile).await.unwrap();
    let mut guest = None;
    if let Some(before) = before {
        let session = hash(before);
        let found = sessions.find_session(&world.tenant, &session, now).await.unwrap();
        guest = found.map(|found| GuestBefore {
            owner: found.owner,
            session,
            shared,
        });
    }
    let session = Session {
        owner: known.owner.unwrap_or_else(|| id.clone()),
        created_at: now,
        expires_at: now.after(Duration::from_secs(12 * 3600)),
        person: Some(Person {
            issuer,
            subject,
            username: String::new(),
            auth_time: now,
            id: Some(id),
            sid: None,
            proof: None,
        }),
        guest,
        pushes: store::Pushes::default(),
    };
    let token = auth::token::random("sws", &SystemEntropy)
        .expose_secret()
        .to_owned();
    let token_hash = auth::token::hash(&token);
    sessions
        .begin_session(&world.tenant, &token_hash, &session)
        .await
        .unwrap();
    let browser = Browser::default();
    *browser.0.lock().unwrap() = Some(format!("switchyard_acme={token}"));
    browser
}

async fn asked(browser: &Browser, app: &Router) -> Value {
    browser.get(app, "/api/session").await.json()["takeOver"].clone()
}

async fn answers(browser: &Browser, app: &Router, take: bool) -> Answered {
    browser
        .post(app, "/api/session/guest", &json!({"take": take}))
        .await
}

async fn chats(browser: &Browser, app: &Router) -> Vec<String> {
    let listed = browser.get(app, "/api/chats").await.json();
    let chats = listed["chats"].as_array().unwrap().iter();
    chats
        .map(|chat| chat["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Another browser with the same cookie.
fn copy(browser: &Browser) -> Browser {
    let copy = Browser::default();
    copy.0.lock().unwrap().clone_from(&browser.0.lock().unwrap());
    copy
}

/// In each browser there was a guest, and both are answered for at the same moment.
#[tokio::test]
async fn one_of_two_guests_whom_a_person_takes_over_at_once_stays_as_they_are() {
    for _ in 0..5 {
        let world = World::new().await;
        let app = world.app(Duration::ZERO);
        let guests = [
            guest(&world, &app, &["one"]).await,
            guest(&world, &app, &["two"]).await,
        ];
        let browsers = [
            person(&world, "ada", Some(&guests[0]), false).await,
            person(&world, "ada", Some(&guests[1]), false).await,
        ];
        let answered = tokio::join!(
            answers(&browsers[0], &app, true),
            answers(&browsers[1], &app, true)
        );
        let statuses = [answered.0.status, answered.1.status];
        let won = statuses.iter().position(|status| *status == StatusCode::OK);
        let won = won.unwrap_or_else(|| panic!("{statuses:?}"));
        let lost = 1 - won;
        assert_eq!(statuses[lost], StatusCode::CONFLICT);
        assert_eq!(chats(&browsers[won], &app).await, [["one", "two"][won]]);
        // The guest whose work was taken over has none any more; the other has all of it.
        assert_eq!(chats(&guests[won], &app).await, [""; 0]);
        assert_eq!(chats(&guests[lost], &app).await, [["one", "two"][lost]]);
    }
}

#[tokio::test]
async fn a_persons_answer_makes_a_guests_work_theirs_and_ends_the_guest() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let guest = guest(&world, &app, &["one", "two", "three"]).await;
    let planted = copy(&guest);
    let (sessions, token) = (world.store.sessions(), hash(&guest));
    let found = sessions
        .find_session(&world.tenant, &token, world.clock.now())
        .await;
    let owner = found.unwrap().unwrap().owner;
    let ada = person(&world, "ada", Some(&guest), false).await;
    let elsewhere = person(&world, "ada", None, false).await;

    let question = asked(&ada, &app).await;
    assert_eq!(
        (&question["chats"], &question["suggested"]),
        (&json!(3), &json!(true)),
        "{question}"
    );
    assert!(
        question["lastAt"]
            .as_str()
            .unwrap()
            .starts_with("2026-01-01T00:02"),
        "{question}"
    );
    assert_eq!(chats(&ada, &app).await, [""; 0], "nothing is theirs yet");
    let before = copy(&ada);
    let answered = answers(&ada, &app, true).await;
    assert_eq!(
        (answered.status, answered.json()),
        (StatusCode::OK, json!({"taken": true}))
    );
    assert!(answered.headers.contains_key(SET_COOKIE), "under another token");

    assert_eq!(chats(&ada, &app).await, ["three", "two", "one"]);
    assert_eq!(
        ada.get(&app, "/api/chats/one/messages").await.status,
        StatusCode::OK
    );
    assert_eq!(asked(&ada, &app).await, Value::Null);
    // What the guest had been let do has ended, before the work was anybody else's.
    assert_eq!(*world.connections.ended.lock().unwrap(), [format!("{owner} all")]);
    // Whoever has the old cookie, a copy of it, or the person's token of before, has nothing.
    for old in [&guest, &planted, &before, &elsewhere] {
        assert_eq!(old.get(&app, "/api/session").await.json()["who"], "nobody");
        assert_eq!(chats(old, &app).await, [""; 0]);
        assert_eq!(
            old.get(&app, "/api/chats/one/messages").await.status,
            StatusCode::NOT_FOUND
        );
    }
    // In another browser they find the same after their next sign-in.
    let again = person(&world, "ada", None, false).await;
    assert_eq!(chats(&again, &app).await, ["three", "two", "one"]);
    // The same answer once more changes nothing.
    let replayed = answers(&ada, &app, true).await;
    assert_eq!(
        (replayed.status, &replayed.json()["error"]),
        (StatusCode::CONFLICT, &json!("guest_gone"))
    );
}

#[tokio::test]
async fn a_guests_work_is_nobodys_twice_and_never_a_second_guests() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let first = guest(&world, &app, &["one"]).await;
    // Two people have signed in with copies of one guest's cookie.
    let ada = person(&world, "ada", Some(&first), false).await;
    let eve = person(&world, "eve", Some(&first), true).await;
    assert_eq!(
        asked(&eve, &app).await["suggested"],
        false,
        "somebody else has signed in here before"
    );
    assert_eq!(answers(&ada, &app, true).await.status, StatusCode::OK);
    let refused = answers(&eve, &app, true).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (StatusCode::CONFLICT, &json!("guest_gone"))
    );
    assert_eq!(chats(&eve, &app).await, [""; 0]);
    // Ada has work now: that of a second guest stays the guest's.
    let second = guest(&world, &app, &["two"]).await;
    let ada = person(&world, "ada", Some(&second), false).await;
    assert_eq!(asked(&ada, &app).await, Value::Null);
    assert_eq!(answers(&ada, &app, true).await.status, StatusCode::CONFLICT);
    assert_eq!(chats(&ada, &app).await, ["one"]);
    assert_eq!(chats(&second, &app).await, ["two"], "and the guest has it still");
    // So it is for whoever has chats of their own.
    let bob = person(&world, "bob", Some(&second), false).await;
    bob.post(&app, "/api/chat", &says("bobs", "m1", "hello")).await;
    assert_eq!(asked(&bob, &app).await, Value::Null);
    assert_eq!(answers(&bob, &app, true).await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn who_leaves_it_is_not_asked_again() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let guest = guest(&world, &app, &["one"]).await;
    let ada = person(&world, "ada", Some(&guest), false).await;
    for rubbish in [json!({}), json!({"take": "yes"}), json!([true]), json!(null)] {
        let answered = ada.post(&app, "/api/session/guest", &rubbish).await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{rubbish}");
    }
    let left = answers(&ada, &app, false).await;
    assert_eq!(
        (left.status, left.json()),
        (StatusCode::OK, json!({"taken": false}))
    );
    assert_eq!(asked(&ada, &app).await, Value::Null);
    assert_eq!(answers(&ada, &app, true).await.status, StatusCode::CONFLICT);
    assert_eq!(chats(&guest, &app).await, ["one"]);
    // Nobody and guests are asked nothing.
    for browser in [&Browser::default(), &guest] {
        assert_eq!(answers(browser, &app, true).await.status, StatusCode::CONFLICT);
    }
}

#[tokio::test]
async fn what_breaks_off_while_it_is_taken_over_goes_on_with_the_next_try() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let guest = guest(&world, &app, &["one"]).await;
    let ada = person(&world, "ada", Some(&guest), false).await;
    world.connections.away.store(true, Ordering::Relaxed);
    let answered = answers(&ada, &app, true).await;
    assert!(answered.status.is_server_error(), "{}", answered.text);
    assert_eq!(
        chats(&ada, &app).await,
        [""; 0],
        "not before the guest's grants have ended"
    );
    assert_eq!(
        chats(&guest, &app).await,
        [""; 0],
        "nor is it the guest's any more"
    );
    world.connections.away.store(false, Ordering::Relaxed);
    let answered = answers(&ada, &app, true).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    assert_eq!(chats(&ada, &app).await, ["one"]);
}

#[tokio::test]
async fn a_guest_who_comes_back_stays() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let guest = guest(&world, &app, &["one"]).await;
    let looked = guest.get(&app, "/api/session").await;
    assert!(!looked.headers.contains_key(SET_COOKIE), "once a day is enough");
    for _ in 0..3 {
        world.clock.advance(Duration::from_secs(20 * 24 * 3600));
        let looked = guest.get(&app, "/api/session").await;
        assert_eq!(looked.json()["who"], "guest");
        let set = looked.headers[SET_COOKIE].to_str().unwrap();
        assert!(set.contains("Max-Age=2592000"), "{set}");
    }
    world.clock.advance(Duration::from_secs(31 * 24 * 3600));
    assert_eq!(guest.get(&app, "/api/session").await.json()["who"], "nobody");
    // Whoever has signed in stays for twelve hours, however often they come.
    let ada = person(&world, "ada", None, false).await;
    world.clock.advance(Duration::from_secs(11 * 3600));
    assert!(
        !ada.get(&app, "/api/session")
            .await
            .headers
            .contains_key(SET_COOKIE)
    );
}
