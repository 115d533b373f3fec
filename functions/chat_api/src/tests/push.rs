//! Browsers that are told of tasks: who may subscribe, what the host is asked, and what a push service gets.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::web_push::WebPushKeys;
use axum::Router;
use axum::body::Body;
use domain::{ExposeSecret, Owner, TaskId};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use store::TaskKey;

use super::world::{Answered, Browser, World, says};

/// RFC 8291, Appendix A.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

fn subscription(endpoint: &str) -> Value {
    json!({"endpoint": endpoint, "expirationTime": null, "keys": {"p256dh": P256DH, "auth": AUTH}})
}

impl Browser {
    async fn put(&self, app: &Router, path: &str, body: &Value) -> Answered {
        let request = self
            .request(Method::PUT, path)
            .header(CONTENT_TYPE, "application/json");
        self.send(app, request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    async fn delete(&self, app: &Router, path: &str) -> StatusCode {
        let request = self.request(Method::DELETE, path);
        self.send(app, request.body(Body::empty()).unwrap()).await.status
    }
}

fn path(endpoint: &str) -> String {
    format!("/api/push?id={}", auth::token::hash(endpoint))
}

/// What a push service was sent.
type Heard = Arc<Mutex<Vec<http::HeaderMap>>>;

/// A push service that answers with these statuses, the last one for ever.
async fn service(statuses: &'static [u16]) -> (String, Heard) {
    let heard = Heard::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/send/1", listener.local_addr().unwrap());
    let keeps = heard.clone();
    let take = move |headers: http::HeaderMap| async move {
        let mut heard = keeps.lock().unwrap();
        let status = statuses.get(heard.len()).or(statuses.last()).unwrap();
        heard.push(headers);
        StatusCode::from_u16(*status).unwrap()
    };
    let served = Router::new().route("/send/{id}", axum::routing::post(take));
    tokio::spawn(async move { axum::serve(listener, served).await });
    (url, heard)
}

/// A guest with a task that does what these words say, whose browser is told.
async fn guest(app: &Router, endpoint: &str, words: &str) -> Browser {
    let browser = Browser::default();
    browser.post(app, "/api/chat", &says("c", "m0", words)).await;
    let kept = browser.put(app, "/api/push", &subscription(endpoint)).await;
    assert_eq!(kept.status, StatusCode::OK, "{}", kept.text);
    browser
}

/// The host's task that waits in its queue, as it is now.
async fn task(world: &World, key: &TaskKey) -> domain::Task {
    let now = domain::Clock::now(world.clock.as_ref());
    world.store.tasks().find(key, now).await.unwrap().unwrap().task
}

fn pass(world: &World, owner: &Owner) -> String {
    let keys = WebPushKeys::of(&world.key, &world.tenant).unwrap();
    keys.pass(owner).expose_secret().to_owned()
}

/// The host's word that a task is in this state.
async fn tell(app: &Router, task: TaskId, state: &str, pass: &str) -> StatusCode {
    let body = json!({"statusUpdate": {"taskId": task, "contextId": "c", "status": {"state": state}}});
    let request = http::Request::builder()
        .method(Method::POST)
        .uri("/api/push/tasks")
        .header(AUTHORIZATION, format!("Bearer {pass}"));
    let request = request.body(Body::from(body.to_string())).unwrap();
    Browser::default().send(app, request).await.status
}

#[tokio::test]
async fn a_browser_is_told_until_it_says_no() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    let browser = Browser::default();
    let endpoint = "https://push.example/send/1";
    let shown = browser.get(&app, "/api/push").await.json();
    assert_eq!(shown["on"], false);
    assert_eq!(shown["key"].as_str().unwrap().len(), 87);
    let early = browser.put(&app, "/api/push", &subscription(endpoint)).await;
    assert_eq!(early.status, StatusCode::CONFLICT);
    assert_eq!(early.json()["error"], "nobody_here");
    browser.post(&app, "/api/chat", &says("c", "m0", "park")).await;
    for _ in 0..2 {
        let kept = browser.put(&app, "/api/push", &subscription(endpoint)).await;
        assert_eq!((kept.status, kept.json()), (StatusCode::OK, json!({"on": true})));
    }
    assert_eq!(browser.get(&app, &path(endpoint)).await.json()["on"], true);
    let another = path("https://push.example/send/2");
    assert_eq!(browser.get(&app, &another).await.json()["on"], false);
    // Another guest knows nothing of it, and ends nothing.
    let other = Browser::default();
    other.post(&app, "/api/chat", &says("d", "m0", "park")).await;
    assert_eq!(other.get(&app, &path(endpoint)).await.json()["on"], false);
    let at = format!("/api/push/{}", auth::token::hash(endpoint));
    assert_eq!(other.delete(&app, &at).await, StatusCode::NOT_FOUND);
    assert_eq!(browser.delete(&app, &at).await, StatusCode::NO_CONTENT);
    assert_eq!(browser.delete(&app, &at).await, StatusCode::NOT_FOUND);
    assert_eq!(browser.get(&app, &path(endpoint)).await.json()["on"], false);
}

#[tokio::test]
async fn what_is_no_subscription_is_refused_and_changes_nothing() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    let browser = Browser::default();
    browser.post(&app, "/api/chat", &says("c", "m0", "park")).await;
    let everything = || world.database.everything(&world.database.tables().sessions);
    let before = everything();
    let long = format!("https://push.example/{}", "a".repeat(2048));
    for endpoint in [
        "http://push.example/send",
        "https://10.0.0.1/send",
        "https://169.254.169.254/latest",
        "https://user:secret@push.example/",
        "https://push.example:22/",
        "ftp://push.example/",
        "javascript:alert(1)",
        "",
        &long,
    ] {
        let refused = browser.put(&app, "/api/push", &subscription(endpoint)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{endpoint}");
        assert_eq!(refused.json()["error"], "invalid_endpoint", "{endpoint}");
    }
    for endpoint in [
        "https://sink.example/anything",
        "https://fcm.googleapis.com.sink.example/send",
        "https://fcm.googleapis.com:8443/send",
    ] {
        let refused = browser.put(&app, "/api/push", &subscription(endpoint)).await;
        let host = endpoint.split(['/', ':']).nth(3).unwrap();
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{endpoint}");
        assert_eq!(refused.json()["error"], "unknown_push_service", "{endpoint}");
        let told = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(
            told.starts_with(host) && told.ends_with("an operator can add it"),
            "{told}"
        );
    }
    let good = "https://push.example/send";
    let with = |p256dh: &str, auth: &str| json!({"endpoint": good, "keys": {"p256dh": p256dh, "auth": auth}});
    let mut replacing = with(P256DH, AUTH);
    replacing["replaces"] = json!("x");
    for (body, status) in [
        (subscription(&"a".repeat(9000)), 413),
        (json!([]), 400),
        (json!({}), 400),
        (json!({"endpoint": good}), 400),
        (with(AUTH, AUTH), 400),
        (with(P256DH, P256DH), 400),
        (replacing, 400),
    ] {
        let refused = browser.put(&app, "/api/push", &body).await;
        assert_eq!(refused.status.as_u16(), status, "{:.100}", body.to_string());
    }
    assert_eq!(everything(), before);
}

#[tokio::test]
async fn the_host_is_asked_for_who_has_subscribed_at_no_call_more() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    let plain = Browser::default();
    plain.post(&app, "/api/chat", &says("c", "m0", "park")).await;
    world.work().await;
    let told = Browser::default();
    told.post(&app, "/api/chat", &says("c", "m0", "park")).await;
    let running = world.waiting();
    told.put(&app, "/api/push", &subscription("https://push.example/1"))
        .await;
    let tasks = world.store.tasks();
    let known = tasks.list_pushes(&running).await.unwrap();
    assert_eq!(known.len(), 1, "what runs already is told of as well");
    assert_eq!(
        known[0].url.as_str(),
        "http://127.0.0.1:3000/t/acme/api/push/tasks"
    );
    told.put(&app, "/api/push", &subscription("https://push.example/2"))
        .await;
    assert_eq!(tasks.list_pushes(&running).await.unwrap().len(), 1, "once");
    world.work().await;
    let (_, without) = store::counted(plain.post(&app, "/api/chat", &says("new", "m1", "park"))).await;
    assert!(tasks.list_pushes(&world.waiting()).await.unwrap().is_empty());
    world.work().await;
    let (_, with) = store::counted(told.post(&app, "/api/chat", &says("new", "m1", "park"))).await;
    assert_eq!(tasks.list_pushes(&world.waiting()).await.unwrap().len(), 1);
    assert_eq!(with.total(), without.total());
}

#[tokio::test]
async fn browsers_are_told_what_they_need_to_know_and_nobody_else() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    let (endpoint, heard) = service(&[201]).await;
    guest(&app, &endpoint, "ask").await;
    let key = world.waiting();
    world.work().await;
    let owner = task(&world, &key).await.owner;
    let (own, count) = (pass(&world, &owner), || heard.lock().unwrap().len());
    for wrong in ["", "rubbish", &format!("{owner}."), &own[..own.len() - 1]] {
        let refused = tell(&app, key.id, "TASK_STATE_INPUT_REQUIRED", wrong).await;
        assert_eq!(refused, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let others = pass(&world, &Owner::parse("eve").unwrap());
    for (state, pass) in [
        // Somebody else's task is no task; what it was before, or is not yet, is told by other words.
        ("TASK_STATE_INPUT_REQUIRED", &others),
        ("TASK_STATE_WORKING", &own),
        ("TASK_STATE_COMPLETED", &own),
    ] {
        assert_eq!(tell(&app, key.id, state, pass).await, StatusCode::NO_CONTENT);
        assert_eq!(count(), 0, "{state}");
    }
    let done = tell(&app, key.id, "TASK_STATE_INPUT_REQUIRED", &own).await;
    assert_eq!((done, count()), (StatusCode::NO_CONTENT, 1));
    let sent = heard.lock().unwrap()[0].clone();
    for (name, value) in [
        ("content-encoding", "aes128gcm"),
        ("ttl", "604800"),
        ("urgency", "normal"),
    ] {
        assert_eq!(sent[name], value);
    }
    assert_eq!(sent["topic"].len(), 32);
    assert!(!sent["topic"].to_str().unwrap().contains(&key.id.to_string()[..8]));
    assert!(sent["authorization"].to_str().unwrap().starts_with("vapid t="));
}

#[tokio::test]
async fn a_push_service_that_cannot_now_is_asked_again_and_others_are_not_told_twice() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    let (busy, asked) = service(&[429, 503, 201]).await;
    let (well, heard) = service(&[201]).await;
    let browser = guest(&app, &busy, "ask").await;
    browser.put(&app, "/api/push", &subscription(&well)).await;
    let key = world.waiting();
    world.work().await;
    let own = pass(&world, &task(&world, &key).await.owner);
    for (status, tries) in [(503, 1), (503, 2), (204, 3)] {
        let answered = tell(&app, key.id, "TASK_STATE_INPUT_REQUIRED", &own).await;
        assert_eq!(answered.as_u16(), status);
        assert_eq!(asked.lock().unwrap().len(), tries);
        assert_eq!(heard.lock().unwrap().len(), 1);
    }
    let topic = |at: usize| asked.lock().unwrap()[at]["topic"].clone();
    assert_eq!(topic(0), topic(2), "of what waits there one is enough");
}

#[tokio::test]
async fn a_browser_that_is_gone_is_forgotten_and_its_owner_costs_nothing_again() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    for gone in [&[404_u16][..], &[410]] {
        let (endpoint, heard) = service(gone).await;
        let browser = guest(&app, &endpoint, "ask").await;
        let key = world.waiting();
        world.work().await;
        let own = pass(&world, &task(&world, &key).await.owner);
        for _ in 0..2 {
            let answered = tell(&app, key.id, "TASK_STATE_INPUT_REQUIRED", &own).await;
            assert_eq!(answered, StatusCode::NO_CONTENT);
        }
        assert_eq!(heard.lock().unwrap().len(), 1);
        assert_eq!(browser.get(&app, &path(&endpoint)).await.json()["on"], false);
        browser.post(&app, "/api/chat", &says("n", "m1", "park")).await;
        let asked = world.store.tasks().list_pushes(&world.waiting()).await.unwrap();
        assert!(asked.is_empty());
        world.work().await;
    }
}

#[tokio::test]
async fn talk_and_what_was_called_off_is_not_told() {
    let world = World::pushing().await;
    let app = world.app(Duration::ZERO);
    let (endpoint, heard) = service(&[201]).await;
    let browser = guest(&app, &endpoint, "park").await;
    let key = world.waiting();
    world.work().await;
    let cancel = format!("/api/tasks/{}/cancel", key.id);
    assert_eq!(
        browser.post(&app, &cancel, &json!({})).await.status,
        StatusCode::OK
    );
    let own = pass(&world, &task(&world, &key).await.owner);
    assert_eq!(
        tell(&app, key.id, "TASK_STATE_CANCELED", &own).await,
        StatusCode::NO_CONTENT
    );
    assert!(heard.lock().unwrap().is_empty());
}
