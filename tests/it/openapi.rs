//! `docs/openapi.json` is valid, is what the local system serves, and describes what is really answered: here a whole
//! conversation, in `attack` every refusal of every operation.

use reqwest::Method;
use serde_json::{Value, json};
use system_testing::openapi::{answer, check};
use system_testing::{Local, User};

struct Watched {
    user: User,
    answers: Vec<Value>,
}

impl Watched {
    /// Asks, with `{id}` and the like filled in, and keeps the answer for the check.
    async fn ask(&mut self, method: Method, path: &str, filled: &str, body: Option<Value>) -> Value {
        let told = self.user.call(method.clone(), filled, body).await;
        let media = told
            .headers
            .get("content-type")
            .map(|media| media.to_str().expect("text"));
        let status = told.status.as_u16();
        self.answers.push(answer(
            (method.as_str(), path),
            status,
            media.unwrap_or(""),
            &told.text,
        ));
        serde_json::from_str(&told.text).unwrap_or_default()
    }

    async fn get(&mut self, path: &str, id: &str) -> Value {
        let filled = path.replace("{id}", id);
        self.ask(Method::GET, path, &filled, None).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_answered_as_the_document_says() {
    let local = Local::start_now().await;
    let mut watched = Watched {
        user: local.user("acme"),
        answers: Vec::new(),
    };
    let message = |id: &str, text: &str| {
        let parts = json!([{ "type": "text", "text": text }]);
        json!({ "id": "trip", "messages": [{ "id": id, "role": "user", "parts": parts }] })
    };
    let post = Method::POST;
    let several = "What is the weather in Oslo and Bergen tomorrow?";
    for (id, text) in [
        ("m1", several),
        ("m2", "Where is my order 1001?"),
        ("m3", "Hello"),
    ] {
        watched
            .ask(post.clone(), "/api/chat", "/api/chat", Some(message(id, text)))
            .await;
    }
    let listed = watched.get("/api/tasks", "").await;
    let tasks: Vec<String> = listed["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .map(|task| task["id"].as_str().expect("an id").to_owned())
        .collect();
    assert!(tasks.len() >= 2, "{listed:#}");
    for id in &tasks {
        let states = ["completed", "auth-required", "input-required", "rejected"];
        watched.user.until(id, &states).await;
        watched.get("/api/tasks/{id}", id).await;
        let refreshed = format!("/api/tasks/{id}?refresh=true");
        watched
            .ask(Method::GET, "/api/tasks/{id}", &refreshed, None)
            .await;
        let act = "/api/tasks/{id}/{action}";
        for action in ["retry", "cancel"] {
            let filled = format!("/api/tasks/{id}/{action}");
            watched.ask(post.clone(), act, &filled, Some(json!({}))).await;
        }
        watched.get("/api/tasks/{id}", id).await;
        watched.get("/api/tasks/{id}/events", id).await;
    }
    watched.get("/api/chats", "").await;
    watched.get("/api/chats/{id}/messages", "trip").await;
    for page in ["limit=1", "cursor=none"] {
        let (path, filled) = (
            "/api/chats/{id}/messages",
            format!("/api/chats/trip/messages?{page}"),
        );
        watched.ask(Method::GET, path, &filled, None).await;
    }
    watched.get("/api/chat/{id}/stream", "trip").await;
    watched
        .ask(
            post.clone(),
            "/api/chat/{id}/stop",
            "/api/chat/trip/stop",
            Some(json!({})),
        )
        .await;
    watched.get("/api/connections", "").await;
    watched.get("/api/push", "").await;
    watched.get("/api/models", "").await;
    // What is wrong with a request has a form too.
    for (path, wrong) in [
        ("/api/tasks", "/api/tasks?limit=0"),
        ("/api/chats", "/api/chats?cursor=x"),
        ("/api/tasks/{id}", "/api/tasks/none"),
    ] {
        watched.ask(Method::GET, path, wrong, None).await;
    }
    for body in [
        Some(json!({ "id": "trip" })),
        Some(message("m1", "Something else")),
        None,
    ] {
        watched.ask(post.clone(), "/api/chat", "/api/chat", body).await;
    }
    println!("{}", check(watched.answers));

    let gateway = local.endpoint("/gateway").trim_end_matches('/');
    let served = system_testing::user::http()
        .get(format!("{gateway}/openapi.json"))
        .send()
        .await;
    let served: Value = served.expect("an answer").json().await.expect("JSON");
    let kept =
        std::fs::read_to_string(system_testing::folder().join("../docs/openapi.json")).expect("readable");
    assert_eq!(served, serde_json::from_str::<Value>(&kept).expect("JSON"));
    local.system.stop().await;
}
