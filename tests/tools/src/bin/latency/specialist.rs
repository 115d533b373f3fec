//! The specialist of the tasks: acknowledges at once, and reports half of its work and then the end to the webhook.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use domain::TaskId;
use local::Endpoints;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::TENANT;

/// How long each half of the work takes: long enough that pages look as seldom as they ever do.
const HALF: Duration = Duration::from_secs(2);
/// What it says in the middle.
pub(crate) const HALF_DONE: &str = "half of it is done";

/// When it reported to the webhook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported {
    pub(crate) half: Instant,
    pub(crate) end: Instant,
}

/// The specialist.
#[derive(Clone)]
pub(crate) struct Specialist(Arc<Inner>);

struct Inner {
    webhook: String,
    http: reqwest::Client,
    reported: Mutex<HashMap<TaskId, Reported>>,
}

impl Specialist {
    /// Starts it and makes it known to the registry.
    pub(crate) async fn start(endpoints: &Endpoints) -> Self {
        let tenant = domain::Tenant::parse(TENANT).expect("a tenant");
        let base = endpoints.tenants.get(&tenant).expect("the tenant").base.as_str();
        let specialist = Self(Arc::new(Inner {
            webhook: format!("{}/api/webhook/tasks", base.trim_end_matches('/')),
            http: tests::user::http(),
            reported: Mutex::default(),
        }));
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
            .with_state(specialist.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let registry = endpoints.registry.as_str().trim_end_matches('/').to_owned();
        let http = &specialist.0.http;
        let declared = http
            .put(format!("{registry}/types/echo"))
            .json(&json!({ "scope": "global" }));
        let registered = http
            .post(format!("{registry}/agents"))
            .json(&json!({ "cardUrl": url }));
        for request in [declared, registered] {
            let answer = request
                .bearer_auth(&endpoints.registry_token)
                .send()
                .await
                .expect("an answer");
            assert!(answer.status().is_success(), "{answer:?}");
        }
        specialist
    }

    /// When it was to report on that task.
    pub(crate) fn reported(&self, task: TaskId) -> Option<Reported> {
        self.0
            .reported
            .lock()
            .expect("no panic under the lock")
            .get(&task)
            .copied()
    }

    async fn work(self, remote: String, token: String) {
        // Our token names the host's task: that is how the figures know it.
        let (task, _) = token.split_once('.').expect("a webhook token");
        let task = TaskId::parse(task).expect("a task id");
        let half = Instant::now() + HALF;
        let reported = Reported {
            half,
            end: half + HALF,
        };
        self.0
            .reported
            .lock()
            .expect("no panic under the lock")
            .insert(task, reported);
        let at_work = json!({ "state": "TASK_STATE_WORKING", "message": {
            "messageId": format!("{remote}-half"), "role": "ROLE_AGENT", "parts": [{ "text": HALF_DONE }] } });
        let news = [
            (
                reported.half,
                json!({ "task": { "id": remote, "contextId": "c", "status": at_work } }),
            ),
            (
                reported.end,
                json!({ "task": { "id": remote, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
                "artifacts": [{ "artifactId": "a", "parts": [{ "text": "echo" }] }] } }),
            ),
        ];
        for (at, news) in news {
            sleep_until(at).await;
            let call = self.0.http.post(&self.0.webhook).bearer_auth(&token).json(&news);
            let answer = call.send().await.expect("the webhook answers");
            assert_eq!(answer.status(), 204, "the webhook takes it");
        }
    }
}

async fn acknowledge(State(specialist): State<Specialist>, Json(call): Json<Value>) -> Json<Value> {
    let message = &call["params"]["message"];
    let remote = format!("remote-{}", message["messageId"].as_str().unwrap_or_default());
    let token = call["params"]["configuration"]["taskPushNotificationConfig"]["token"].as_str();
    tokio::spawn(specialist.work(remote.clone(), token.expect("a webhook token").to_owned()));
    let status = json!({ "state": "TASK_STATE_SUBMITTED" });
    let task = json!({ "id": remote, "contextId": message["contextId"], "status": status });
    Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "task": task } }))
}
