//! The customers: they ask until they are heard, call some of it off again, and are told how it ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use domain::{AgentName, TaskId, Tenant};
use futures_util::StreamExt;
use serde_json::{Value, json};
use store::TaskKey;

use crate::proxy::{CUSTOMER, Proxy};
use crate::worker::{Access, Accesses};

/// Where it may rain. Each task asks about one.
const CITIES: [&str; 6] = ["Oslo", "Bergen", "Trondheim", "Stavanger", "London", "Paris"];
/// One of so many is called off as soon as it is acknowledged.
const CALLED_OFF: usize = 10;
/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Before the next try.
const BREATH: Duration = Duration::from_millis(150);

/// A task that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) number: usize,
    pub(crate) key: TaskKey,
    pub(crate) city: &'static str,
    pub(crate) called_off: bool,
}

/// What the webhook was told of each task, by its number.
pub(crate) type Heard = BTreeMap<usize, Vec<Value>>;

/// The customers of all tenants.
pub(crate) struct Customer {
    accesses: Accesses,
    webhook: String,
    http: reqwest::Client,
    heard: Arc<Mutex<Heard>>,
}

impl Customer {
    pub(crate) fn start(accesses: Accesses, proxy: &Proxy) -> Self {
        let heard: Arc<Mutex<Heard>> = Arc::default();
        let mut notices = proxy.notices();
        let taken = heard.clone();
        tokio::spawn(async move {
            while let Some((path, body)) = notices.recv().await {
                let number = path.parse().expect("the number of a task");
                let body = serde_json::from_slice(&body).expect("a notification is JSON");
                let mut taken = taken.lock().expect("no panic under the lock");
                taken.entry(number).or_default().push(body);
            }
        });
        Self {
            accesses,
            webhook: format!("{}{}", proxy.url.as_str().trim_end_matches('/'), CUSTOMER),
            http: tests::user::http(),
            heard,
        }
    }

    /// Everything that the webhook was told.
    pub(crate) fn heard(&self) -> Heard {
        self.heard.lock().expect("no panic under the lock").clone()
    }

    /// Asks for so many tasks; gives those that were acknowledged in time.
    pub(crate) async fn ask(&self, tasks: usize, at_once: usize, deadline: Instant) -> Vec<Asked> {
        futures_util::stream::iter((0..tasks).map(|number| self.ask_one(number, deadline)))
            .buffer_unordered(at_once)
            .filter_map(std::future::ready)
            .collect()
            .await
    }

    async fn ask_one(&self, number: usize, deadline: Instant) -> Option<Asked> {
        let city = CITIES[number % CITIES.len()];
        let params = json!({
            "message": {
                "messageId": format!("chaos-{number}"),
                "role": "ROLE_USER",
                "parts": [{ "text": format!("Will it rain in {city} tomorrow?") }],
            },
            "configuration": {
                "returnImmediately": true,
                "taskPushNotificationConfig": { "url": format!("{}{number}", self.webhook), "token": "chaos" },
            },
        });
        let (access, answer) = self.insist(number, "SendMessage", &params, deadline).await?;
        let id = answer.pointer("/result/task/id").and_then(Value::as_str);
        let id = id.unwrap_or_else(|| panic!("task {number}: no task in {answer}"));
        let asked = Asked {
            number,
            key: TaskKey {
                tenant: Tenant::parse(&access.tenant).expect("a tenant"),
                agent: AgentName::parse("host").expect("a name"),
                id: TaskId::parse(id).expect("a task id"),
            },
            city,
            called_off: number % CALLED_OFF == CALLED_OFF - 1,
        };
        // Said twice it is the same message, so it must be the same task.
        if number.is_multiple_of(7) {
            let (_, again) = self.insist(number, "SendMessage", &params, deadline).await?;
            let second = again.pointer("/result/task/id").and_then(Value::as_str);
            assert_eq!(
                second,
                Some(id),
                "task {number}: the same message made another task"
            );
        }
        if asked.called_off {
            self.insist(number, "CancelTask", &json!({ "id": id }), deadline)
                .await?;
        }
        Some(asked)
    }

    /// Calls until there is an answer of the protocol.
    async fn insist(
        &self,
        number: usize,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Option<(Access, Value)> {
        let body = json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params });
        while Instant::now() < deadline {
            let access = {
                let accesses = self.accesses.lock().expect("no panic under the lock");
                accesses[number % accesses.len()].clone()
            };
            let call = self
                .http
                .post(&access.host)
                .bearer_auth(&access.token)
                .header("content-type", "application/json")
                .header("a2a-version", "1.0")
                .timeout(PATIENCE)
                .body(body.to_string());
            if let Ok(answer) = call.send().await
                && answer.status().is_success()
                && let Ok(answer) = answer.json::<Value>().await
            {
                match answer.pointer("/error/code").and_then(Value::as_i64) {
                    None => return Some((access, answer)),
                    // It was over before the word came, or the first word was heard and its answer lost.
                    Some(-32002) if method == "CancelTask" => return Some((access, answer)),
                    // Its database would not have it just now.
                    Some(-32603) => {}
                    Some(_) => panic!("task {number}: {method} was refused: {answer}"),
                }
            }
            tokio::time::sleep(BREATH).await;
        }
        None
    }
}
