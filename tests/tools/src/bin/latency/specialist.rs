//! The specialist of the tasks: acknowledges at once, and reports half of its work and then the end to the webhook.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::TaskId;
use local::Endpoints;
use serde_json::json;
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
            http: system_testing::user::http(),
            reported: Mutex::default(),
        }));
        let worker = specialist.clone();
        tools::echo::start(endpoints, &specialist.0.http, move |remote, token| {
            tokio::spawn(worker.clone().work(remote, token));
        })
        .await;
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
