//! The cards of all tasks as they change: one look, and the stream.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::{Answered, Browser, World, last_card, says};

/// Tasks by their prompts, from a card each.
async fn ask(world: &World, app: &Router, browser: &Browser, prompts: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for prompt in prompts {
        let body = says(&format!("c-{prompt}"), &format!("m-{prompt}"), prompt);
        let card = last_card(&browser.post(app, "/api/chat", &body).await.chunks());
        ids.push(card["taskId"].as_str().unwrap().to_owned());
        world.work().await;
    }
    ids
}

fn states(tasks: &Value) -> Vec<(String, String)> {
    let text = |card: &Value, name: &str| card[name].as_str().unwrap().to_owned();
    let cards = tasks.as_array().unwrap().iter();
    cards
        .map(|card| (text(card, "taskId"), text(card, "state")))
        .collect()
}

async fn stream(browser: &Browser, app: &Router, path: &str) -> Answered {
    let request = browser.request(Method::GET, path);
    let request = request.header(ACCEPT, "text/event-stream");
    browser.send(app, request.body(Body::empty()).unwrap()).await
}

fn told(answered: &Answered) -> Vec<(String, Value)> {
    let frames = answered.text.split("\n\n").filter_map(|frame| {
        let (id, data) = frame.strip_prefix("id: ")?.split_once("\ndata: ")?;
        Some((id.to_owned(), serde_json::from_str(data).unwrap()))
    });
    frames.collect()
}

#[tokio::test]
async fn a_look_shows_what_is_unfinished_and_what_has_just_ended() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let ids = ask(&world, &app, &browser, &["hello", "park"]).await;
    world.clock.advance(Duration::from_secs(60));
    let look = browser.get(&app, "/api/events").await;
    let body = look.json();
    assert_eq!(states(&body["tasks"]), [(ids[1].clone(), "working".to_owned())]);

    // The same again is nothing new, and says so.
    let known = browser.request(Method::GET, "/api/events");
    let known = known
        .header(IF_NONE_MATCH, &look.headers[ETAG])
        .body(Body::empty());
    assert_eq!(
        browser.send(&app, known.unwrap()).await.status,
        StatusCode::NOT_MODIFIED
    );

    // What ends after a look is in the next that goes on from there, however late.
    let more = ask(&world, &app, &browser, &["bye"]).await;
    world.clock.advance(Duration::from_secs(600));
    let cursor = body["cursor"].as_str().unwrap();
    let next = browser
        .get(&app, &format!("/api/events?after={cursor}"))
        .await
        .json();
    assert!(
        states(&next["tasks"]).contains(&(more[0].clone(), "completed".to_owned())),
        "{next:#}"
    );

    // To anybody else there is nothing.
    let stranger = Browser::default();
    assert_eq!(stranger.get(&app, "/api/events").await.json()["tasks"], json!([]));
    assert_eq!(
        stream(&stranger, &app, "/api/events").await.status,
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn a_stream_tells_each_change_once_and_its_cursor_loses_nothing() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.brief_app(Duration::from_millis(2500));
    let ids = ask(&world, &app, &browser, &["park"]).await;
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        ask(&world, &app, &browser, &["fail"]).await
    };
    let (answered, new) = tokio::join!(stream(&browser, &app, "/api/events"), meanwhile);
    let told = told(&answered);
    let seen: Vec<_> = told
        .iter()
        .map(|(_, card)| (card["taskId"].as_str().unwrap(), card["state"].as_str().unwrap()))
        .collect();
    assert_eq!(seen.first(), Some(&(ids[0].as_str(), "working")));
    assert_eq!(seen.last(), Some(&(new[0].as_str(), "failed")));
    let mut once = seen.clone();
    once.dedup();
    assert_eq!(once, seen, "nothing is told twice");

    // Whoever lost the last word gets it again.
    let cursor = &told.first().unwrap().0;
    let again = browser
        .get(&app, &format!("/api/events?after={cursor}"))
        .await
        .json();
    assert!(
        states(&again["tasks"]).contains(&(new[0].clone(), "failed".to_owned())),
        "{again:#}"
    );
}

#[tokio::test]
async fn a_stream_ends_soon_after_its_session() {
    let (world, guest) = (World::new().await, Browser::default());
    let patient = world.app(Duration::ZERO);
    let asked = guest.post(&patient, "/api/chat", &says("c1", "m1", "park")).await;
    let (card, app) = (last_card(&asked.chunks()), world.watchful_app());
    world.work().await;
    let ada = super::sessions::signed_in(&world).await;
    let of_task = format!("/api/tasks/{}/events", card["taskId"].as_str().unwrap());
    let (sessions, tenant) = (world.store.sessions(), &world.tenant);
    let cookie = guest.0.lock().unwrap().clone().unwrap();
    let guests = auth::token::hash(cookie.split_once('=').unwrap().1);
    // One ends by its own end, the other with its user.
    let ends = async |removes: bool| {
        tokio::time::sleep(Duration::from_millis(300)).await;
        match removes {
            true => world.store.identity().remove_user(tenant, "ada").await.unwrap(),
            false => sessions.end_session(tenant, &guests).await.unwrap(),
        }
        std::time::Instant::now()
    };
    let (answered, ended) = tokio::join!(stream(&ada, &app, "/api/events"), ends(true));
    assert!(ended.elapsed() < Duration::from_secs(5), "at once");
    assert_eq!(answered.status, StatusCode::OK);
    let guests_streams = async {
        tokio::join!(
            stream(&guest, &app, &of_task),
            stream(&guest, &app, "/api/events"),
            stream(&guest, &app, "/api/chat/c1/stream")
        )
    };
    let ((of_task, news, resumed), ended) = tokio::join!(guests_streams, ends(false));
    assert!(ended.elapsed() < Duration::from_secs(5), "at once");
    for answered in [of_task, news, resumed] {
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    }
}

#[tokio::test]
async fn a_stream_ends_soon_after_its_tenant_is_suspended() {
    let (world, guest) = (World::new().await, Browser::default());
    let patient = world.app(Duration::ZERO);
    guest.post(&patient, "/api/chat", &says("c1", "m1", "park")).await;
    let app = world.watchful_app();
    let tenants = world.store.tenants();
    tenants.add(&world.tenant).await.unwrap();
    let suspended = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(
            tenants
                .suspend(&world.tenant, Some(domain::Clock::now(&*world.clock)))
                .await
                .unwrap()
        );
        std::time::Instant::now()
    };
    let (answered, since) = tokio::join!(stream(&guest, &app, "/api/events"), suspended);
    assert!(since.elapsed() < Duration::from_secs(5), "at once");
    assert_eq!(answered.status, StatusCode::OK);
}

#[tokio::test]
async fn an_answer_ends_soon_after_the_session_of_whoever_asked() {
    let world = World::new().await;
    let app = world.watchful_app();
    let ada = super::sessions::signed_in(&world).await;
    let removed = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let identity = world.store.identity();
        identity.remove_user(&world.tenant, "ada").await.unwrap();
        std::time::Instant::now()
    };
    // Nobody works on it, so that its answer stays open for as long as the host has: half a minute.
    let (answered, ended) = ada
        .post_while(&app, "/api/chat", &says("c1", "m1", "park"), removed)
        .await;
    assert!(ended.elapsed() < Duration::from_secs(5), "at once");
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let text = &answered.text;
    let is_over = text.contains("\"finish\"") || text.contains("[DONE]");
    assert!(
        text.contains("\"start\"") && !is_over,
        "cut off, not come to its end: {text}"
    );
}

#[tokio::test]
async fn a_quiet_look_reads_no_body() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let _ = ask(&world, &app, &browser, &["park", "hello"]).await;
    let (_, calls) = store::counted(browser.get(&app, "/api/events")).await;
    assert_eq!(calls.total(), 4, "session, index, revisions, bodies: {calls:?}");
    let stranger = Browser::default();
    let (_, calls) = store::counted(stranger.get(&app, "/api/events")).await;
    assert_eq!(calls.total(), 0, "{calls:?}");
}

#[tokio::test]
async fn a_cursor_of_nobodys_is_refused() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let _ = ask(&world, &app, &browser, &["hello"]).await;
    for bad in ["x", "-1", "%00", "ffffffffffffffffff", "7fffffffffffffff"] {
        let answered = browser.get(&app, &format!("/api/events?after={bad}")).await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(answered.json()["error"], "invalid_cursor");
    }
}
