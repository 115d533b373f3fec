//! Finished tasks that are shared by a link: what is read there, and everything that ends it.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use domain::{AgentId, AgentType, Clock as _, SettingChange};
use http::header::CONTENT_TYPE;
use http::{HeaderName, Method, StatusCode};
use serde_json::{Value, json};

use super::sessions::signed_in;
use super::world::{Answered, Browser, World, last_card, says};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// What was read of a tenant and of its agents is good no longer than this.
const MEANWHILE: Duration = Duration::from_secs(21);

struct Sharing {
    world: World,
    app: Router,
    ada: Browser,
}

impl Sharing {
    /// A tenant whose settings let people share, with an open weather agent, and somebody who has signed in.
    async fn new() -> Self {
        let world = World::new().await;
        world.store.tenants().add(&world.tenant).await.unwrap();
        set(&world, Some("on")).await;
        open(&world, "weather", true);
        let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
        Self { world, app, ada }
    }

    /// A task that did what it was asked.
    async fn task(&self, chat: &str, text: &str) -> String {
        let asked = self
            .ada
            .post(&self.app, "/api/chat", &says(chat, "m1", text))
            .await;
        let task = last_card(&asked.chunks())["taskId"].as_str().unwrap().to_owned();
        self.world.work().await;
        task
    }

    async fn share(&self, task: &str, body: Value) -> Answered {
        self.ada
            .post(&self.app, &format!("/api/tasks/{task}/share"), &body)
            .await
    }

    /// A task that is shared, and the path of its link.
    async fn shared(&self) -> (String, String) {
        let task = self.task("c1", "by weather Oslo").await;
        let made = self.share(&task, json!({})).await;
        (task, path_of(&made))
    }

    async fn read(&self, path: &str) -> Answered {
        Browser::default().get(&self.app, path).await
    }

    async fn delete(&self, browser: &Browser, path: &str) -> Answered {
        let request = browser.request(Method::DELETE, path);
        browser
            .send(&self.app, request.body(Body::empty()).unwrap())
            .await
    }

    /// How the task is shared, as its owner is told.
    async fn told(&self, task: &str) -> Value {
        let path = format!("/api/tasks/{task}/share");
        self.ada.get(&self.app, &path).await.json()["share"].clone()
    }
}

async fn set(world: &World, value: Option<&str>) {
    let change = [SettingChange::parse("share", value).unwrap()];
    assert!(world.store.tenants().set(&world.tenant, &change).await.unwrap());
}

fn open(world: &World, agent: &str, is_open: bool) {
    let name = AgentType::parse(agent).unwrap();
    let mut open = world.connections.open.lock().unwrap();
    match is_open {
        true => open.insert(name, AgentId::derived(agent)),
        false => open.remove(&name),
    }
}

fn path_of(made: &Answered) -> String {
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let link = made.json()["link"].as_str().unwrap().to_owned();
    link.strip_prefix("http://127.0.0.1:3000/t/acme")
        .unwrap()
        .to_owned()
}

fn error_of(answered: &Answered) -> (u16, String) {
    let error = answered.json()["error"].as_str().unwrap_or_default().to_owned();
    (answered.status.as_u16(), error)
}

#[tokio::test]
async fn whoever_has_the_link_reads_the_answer_as_text_and_it_is_told_once() {
    let sharing = Sharing::new().await;
    let task = sharing
        .task("c1", "by weather <b>Oslo</b> & [x](https://evil.example)")
        .await;
    assert_eq!(sharing.told(&task).await, Value::Null);
    let made = sharing.share(&task, json!({})).await;
    let path = path_of(&made);
    let token = path.strip_prefix("/share/swl_").unwrap();
    assert_eq!(token.len(), 22, "128 bits: {token}");
    assert_eq!(made.json()["endsAt"], "2026-01-08T00:00:00.000Z");
    assert_eq!(sharing.told(&task).await["endsAt"], made.json()["endsAt"]);
    assert!(!sharing.told(&task).await.to_string().contains(token));
    let listed = sharing.ada.get(&sharing.app, "/api/shares").await.json();
    assert_eq!(listed["shares"][0]["taskId"], task.as_str());
    let nobody = Browser::default().get(&sharing.app, "/api/shares").await.json();
    assert_eq!(nobody, json!({"shares": []}));

    let read = sharing.read(&path).await;
    assert_eq!(read.status, StatusCode::OK);
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-robots-tag", "noindex"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(read.headers[HeaderName::from_static(name)], value, "{name}");
    }
    let policy = read.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && policy.ends_with("; sandbox"),
        "{policy}"
    );
    assert!(!read.headers.contains_key("set-cookie"));
    let text = &read.text;
    for shown in [
        "&lt;b&gt;Oslo&lt;/b&gt; &amp; [x](https://evil.example)",
        "The weather agent",
        "Switchyard",
        "2026-01-08 00:00 UTC",
        "&quot;said&quot;",
    ] {
        assert!(text.contains(shown), "{shown} in {text}");
    }
    for live in [
        "<b>",
        "<script",
        "<a ",
        "href",
        "src=",
        "<form",
        "<img",
        "<link",
        "http-equiv",
    ] {
        assert!(!text.contains(live), "{live} in {text}");
    }
    // Nobody can find the link in what is stored.
    let stored = json!(
        sharing
            .world
            .database
            .everything(&sharing.world.database.tables().sessions)
    )
    .to_string();
    assert!(stored.contains("SHARE#") && !stored.contains(token), "{stored}");

    // Another link leads there in place of the first.
    let again = path_of(&sharing.share(&task, json!({})).await);
    assert_ne!(again, path);
    assert_eq!(sharing.read(&path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(sharing.read(&again).await.status, StatusCode::OK);
    let (_, calls) = store::counted(sharing.read(&again)).await;
    assert!(calls.total() <= 4, "{calls:?}");
    for _ in 0..2 {
        let ended = sharing
            .delete(&sharing.ada, &format!("/api/tasks/{task}/share"))
            .await;
        assert_eq!(ended.status, StatusCode::NO_CONTENT);
        assert_eq!(sharing.read(&again).await.status, StatusCode::NOT_FOUND);
        assert_eq!(sharing.told(&task).await, Value::Null);
    }
    let stored = json!(
        sharing
            .world
            .database
            .everything(&sharing.world.database.tables().sessions)
    )
    .to_string();
    assert!(!stored.contains("SHARE"), "nothing is left: {stored}");
}

#[tokio::test]
async fn whatever_leads_nowhere_is_one_page() {
    let sharing = Sharing::new().await;
    let (task, path) = sharing.shared().await;
    sharing
        .delete(&sharing.ada, &format!("/api/tasks/{task}/share"))
        .await;
    let ended = sharing.read(&path).await;
    assert_eq!(ended.status, StatusCode::NOT_FOUND);
    let long = "x".repeat(3000);
    for rubbish in [
        "x",
        "swl_",
        "swl_AAAAAAAAAAAAAAAAAAAAAA",
        "%00",
        "%ff",
        "..%2f..",
        "%23",
        "<script>",
        &long,
        &task,
    ] {
        let rubbish = rubbish.replace('<', "%3C").replace('>', "%3E");
        let answered = sharing.read(&format!("/share/{rubbish}")).await;
        assert_eq!(
            (answered.status, &answered.text),
            (ended.status, &ended.text),
            "{rubbish}"
        );
        let head = |answered: &Answered| {
            let mut headers = answered.headers.clone();
            headers.remove("x-request-id");
            headers
        };
        assert_eq!(head(&answered), head(&ended), "{rubbish}");
    }
    let (_, calls) = store::counted(sharing.read("/share/x")).await;
    assert_eq!(
        calls.total(),
        1,
        "what is no token is looked for as well: {calls:?}"
    );
}

/// How a link ends, and whether another link of the same task is good afterwards.
type Way = (&'static str, bool);

#[tokio::test]
async fn a_link_ends_with_its_time_its_setting_its_person_its_task_its_chat_and_its_agents() {
    let ways: [Way; 12] = [
        ("after a week", false),
        ("switched off", false),
        ("switched off and on", true),
        ("suspended and resumed", true),
        ("signed out everywhere", false),
        ("removed", false),
        ("the task's end", false),
        ("the chat deleted", true),
        ("the agent not open any more", false),
        ("the agent gone and back", true),
        ("the tenant removed", false),
        ("a guest's", false),
    ];
    for (way, is_good_again) in ways {
        let sharing = Sharing::new().await;
        let (world, identity) = (&sharing.world, sharing.world.store.identity());
        let (task, path) = sharing.shared().await;
        assert_eq!(sharing.read(&path).await.status, StatusCode::OK, "{way}");
        let tenants = world.store.tenants();
        match way {
            "after a week" => {
                world.clock.advance(7 * DAY - Duration::from_secs(1));
                assert_eq!(
                    sharing.read(&path).await.status,
                    StatusCode::OK,
                    "a second before"
                );
                world.clock.advance(Duration::from_secs(1));
            }
            "switched off" => {
                set(world, Some("off")).await;
                world.clock.advance(MEANWHILE);
            }
            "switched off and on" => {
                set(world, None).await;
                set(world, Some("on")).await;
                world.clock.advance(MEANWHILE);
            }
            "suspended and resumed" => {
                tenants
                    .suspend(&world.tenant, Some(world.clock.now()))
                    .await
                    .unwrap();
                assert_eq!(sharing.read(&path).await.status, StatusCode::FORBIDDEN);
                tenants.suspend(&world.tenant, None).await.unwrap();
            }
            "signed out everywhere" => {
                let later = world.clock.now().after(Duration::from_secs(1));
                identity
                    .change_user(&world.tenant, "ada", |user| user.not_before = Some(later))
                    .await
                    .unwrap();
            }
            "removed" => identity.remove_user(&world.tenant, "ada").await.unwrap(),
            "the task's end" => world.clock.advance(31 * DAY),
            "the chat deleted" => {
                let deleted = sharing.delete(&sharing.ada, "/api/chats/c1").await;
                assert_eq!(deleted.status, StatusCode::NO_CONTENT);
            }
            "the agent not open any more" => {
                open(world, "weather", false);
                world.clock.advance(MEANWHILE);
            }
            "the agent gone and back" => {
                open(world, "weather", false);
                world.clock.advance(MEANWHILE);
                assert_eq!(sharing.read(&path).await.status, StatusCode::NOT_FOUND);
                open(world, "weather", true);
                world.clock.advance(MEANWHILE);
                assert_eq!(sharing.read(&path).await.status, StatusCode::OK);
                continue;
            }
            "the tenant removed" => tenants.remove(&world.tenant).await.unwrap(),
            _ => {
                // What is a guest's cannot be shared at all.
                let guest = Browser::default();
                let asked = guest
                    .post(&sharing.app, "/api/chat", &says("c9", "m1", "by weather Oslo"))
                    .await;
                let own = last_card(&asked.chunks())["taskId"].as_str().unwrap().to_owned();
                world.work().await;
                let refused = guest
                    .post(&sharing.app, &format!("/api/tasks/{own}/share"), &json!({}))
                    .await;
                assert_eq!(error_of(&refused), (409, "sign_in_to_share".to_owned()));
                continue;
            }
        }
        let read = sharing.read(&path).await;
        assert_eq!(read.status, StatusCode::NOT_FOUND, "{way}: {}", read.text);
        assert!(!read.text.contains("Oslo"), "{way}");
        if is_good_again {
            let again = path_of(&sharing.share(&task, json!({})).await);
            assert_eq!(sharing.read(&again).await.status, StatusCode::OK, "{way}");
            assert_eq!(
                sharing.read(&path).await.status,
                StatusCode::NOT_FOUND,
                "{way}: the first stays ended"
            );
        }
    }
}

#[tokio::test]
async fn agents_that_demand_something_are_named_and_asked_about_again() {
    let sharing = Sharing::new().await;
    let task = sharing.task("c1", "by weather,horizon Oslo").await;
    let refused = sharing.share(&task, json!({})).await;
    assert_eq!(error_of(&refused), (409, "agents_ask_again".to_owned()));
    assert_eq!(
        refused.json()["agents"],
        json!([{"id": "horizon", "name": "The horizon agent"}])
    );
    let other = sharing.share(&task, json!({"agreed": ["weather", "*"]})).await;
    assert_eq!(error_of(&other), (409, "agents_ask_again".to_owned()));
    assert_eq!(sharing.told(&task).await, Value::Null, "nothing came of it");
    let made = sharing
        .share(&task, json!({"agreed": ["horizon", "weather"]}))
        .await;
    assert_eq!(
        made.json()["agreed"],
        json!(["horizon"]),
        "what needed no word is not agreed to"
    );
    let path = path_of(&made);
    assert_eq!(sharing.read(&path).await.status, StatusCode::OK);
    // What was agreed to is one agent's: another one that is not open any more ends it.
    open(&sharing.world, "weather", false);
    sharing.world.clock.advance(MEANWHILE);
    assert_eq!(sharing.read(&path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_cannot_be_shared_is_refused_in_words_and_nothing_is_stored() {
    let sharing = Sharing::new().await;
    let (app, ada) = (&sharing.app, &sharing.ada);
    let task = sharing.task("c1", "by weather Oslo").await;
    for (chat, text, error) in [
        ("c2", "hello", "nothing_to_share"),
        ("c3", "fail", "not_completed"),
        ("c4", "park", "not_completed"),
    ] {
        let other = sharing.task(chat, text).await;
        assert_eq!(
            error_of(&sharing.share(&other, json!({})).await),
            (409, error.to_owned()),
            "{text}"
        );
    }
    let path = format!("/api/tasks/{task}/share");
    for rubbish in [
        json!(null),
        json!([]),
        json!({"agreed": "horizon"}),
        json!({"agreed": [7]}),
        json!({"agreed": ["A B"]}),
        json!({"agreed": vec!["horizon"; 65]}),
    ] {
        let refused = sharing.share(&task, rubbish.clone()).await;
        assert_eq!(
            error_of(&refused),
            (400, "invalid_agreed".to_owned()),
            "{rubbish}"
        );
    }
    let giant = sharing.share(&task, json!({"agreed": ["x".repeat(5000)]})).await;
    assert_eq!(giant.status, StatusCode::PAYLOAD_TOO_LARGE);
    let form = ada
        .request(Method::POST, &path)
        .header(CONTENT_TYPE, "text/plain")
        .body(Body::from("{}"))
        .unwrap();
    assert_eq!(
        ada.send(app, form).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    for method in [Method::POST, Method::DELETE] {
        let foreign = ada
            .request(method, &path)
            .header("sec-fetch-site", "cross-site")
            .header(CONTENT_TYPE, "application/json");
        assert_eq!(
            ada.send(app, foreign.body(Body::from("{}")).unwrap())
                .await
                .status,
            StatusCode::FORBIDDEN
        );
    }
    let stranger = Browser::default();
    stranger.post(app, "/api/chat", &says("c1", "m1", "hello")).await;
    for browser in [&Browser::default(), &stranger] {
        assert_eq!(
            browser.post(app, &path, &json!({})).await.status,
            StatusCode::NOT_FOUND
        );
        assert_eq!(browser.get(app, &path).await.status, StatusCode::NOT_FOUND);
        assert_eq!(sharing.delete(browser, &path).await.status, StatusCode::NOT_FOUND);
    }
    let strict = sharing.world.strict_app();
    for at in [path.as_str(), "/api/shares"] {
        assert_eq!(
            stranger.get(&strict, at).await.status,
            StatusCode::UNAUTHORIZED,
            "{at}"
        );
    }
    set(&sharing.world, Some("off")).await;
    sharing.world.clock.advance(MEANWHILE);
    assert_eq!(
        error_of(&sharing.share(&task, json!({})).await),
        (409, "sharing_off".to_owned())
    );
    let stored = json!(
        sharing
            .world
            .database
            .everything(&sharing.world.database.tables().sessions)
    )
    .to_string();
    assert!(!stored.contains("SHARE"), "{stored}");
}

#[tokio::test]
async fn a_link_of_one_tenant_leads_nowhere_at_another_and_waits_while_the_host_is_away() {
    let sharing = Sharing::new().await;
    let (_, path) = sharing.shared().await;
    let away = sharing
        .world
        .app_at(Duration::ZERO, "http://127.0.0.1:9/a/host".parse().unwrap());
    let read = Browser::default().get(&away, &path).await;
    assert_eq!(read.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        read.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .ends_with("sandbox")
    );
    assert!(!read.text.contains("Oslo"));
    let other = World::new().await;
    other.store.tenants().add(&other.tenant).await.unwrap();
    set(&other, Some("on")).await;
    let answered = Browser::default().get(&other.app(Duration::ZERO), &path).await;
    assert_eq!(answered.status, StatusCode::NOT_FOUND);
    // In a strict tenant, too, whoever has the link may read.
    let read = Browser::default().get(&sharing.world.strict_app(), &path).await;
    assert_eq!(read.status, StatusCode::OK);
}
