//! A specialist that acknowledges each message at once, and leaves it to the program to report on it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use local::Endpoints;
use serde_json::{Value, json};

/// What is told of each message: the id of the specialist's task, and the token for reports on it.
type Told = Arc<dyn Fn(String, String) + Send + Sync>;

/// Starts it, and makes it known to the registry as the agent for prompts that begin with "echo".
///
/// # Panics
/// Where the registry refuses it.
pub async fn start(
    endpoints: &Endpoints,
    http: &reqwest::Client,
    told: impl Fn(String, String) + Send + Sync + 'static,
) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let card = json!({
        "name": "Echo", "description": "Repeats an echo", "version": "1",
        "supportedInterfaces": [{ "url": format!("{url}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "pushNotifications": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "echo", "name": "Echo", "description": "Echo a word", "tags": ["type:echo"], "examples": ["echo this"] }],
    });
    let router = axum::Router::new()
        .route(
            "/.well-known/agent-card.json",
            get(move || async move { Json(card) }),
        )
        .route("/", post(acknowledge))
        .with_state(Arc::new(told) as Told);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let registry = endpoints.registry.as_str().trim_end_matches('/');
    let declared = http
        .put(format!("{registry}/types/echo"))
        .json(&json!({ "scope": "global" }));
    let registered = http
        .post(format!("{registry}/agents"))
        .json(&json!({ "cardUrl": url }));
    for request in [declared, registered] {
        let answer = request.bearer_auth(&endpoints.registry_token).send().await;
        let answer = answer.expect("an answer");
        assert!(answer.status().is_success(), "{answer:?}");
    }
}

async fn acknowledge(State(told): State<Told>, Json(call): Json<Value>) -> Json<Value> {
    let message = &call["params"]["message"];
    let remote = format!("remote-{}", message["messageId"].as_str().unwrap_or_default());
    let token = call["params"]["configuration"]["taskPushNotificationConfig"]["token"].as_str();
    let Some(token) = token else {
        // The host's look at a task that was not heard of for long.
        let error = json!({ "code": -32001, "message": "the task is not kept" });
        return Json(json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }));
    };
    told(remote.clone(), token.to_owned());
    let status = json!({ "state": "TASK_STATE_SUBMITTED" });
    let task = json!({ "id": remote, "contextId": message["contextId"], "status": status });
    Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "task": task } }))
}
