//! The customers: they ask until they are heard, call some of it off again, and are told how it ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
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
/// One of so many is said twice.
const SAID_TWICE: usize = 7;
/// Stands between what is asked and the task's number, by which calls of a language model are told apart.
pub(crate) const NUMBERED: &str = " #";
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

/// A notification as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    /// What its sender calls it, the same with every resend.
    pub(crate) id: String,
    pub(crate) body: Value,
}

/// What the webhook was told of each task, by its number, in the order in which it arrived.
pub(crate) type Heard = BTreeMap<usize, Vec<Notice>>;

/// What a customer met that must not be: its kind, and which.
pub(crate) type Complaint = (&'static str, String);

/// The customers of all tenants.
pub(crate) struct Customer {
    accesses: Accesses,
    webhook: String,
    http: reqwest::Client,
    heard: Arc<Mutex<Heard>>,
    complaints: Arc<Mutex<Vec<Complaint>>>,
    acknowledged: AtomicUsize,
}

impl Customer {
    pub(crate) fn start(accesses: Accesses, proxy: &Proxy) -> Self {
        let heard: Arc<Mutex<Heard>> = Arc::default();
        let complaints: Arc<Mutex<Vec<Complaint>>> = Arc::default();
        let mut notices = proxy.notices();
        let (taken, wrong) = (heard.clone(), complaints.clone());
        tokio::spawn(async move {
            while let Some((path, id, body)) = notices.recv().await {
                match (path.parse(), id, serde_json::from_slice(&body)) {
                    (Ok(number), Some(id), Ok(body)) => {
                        let mut taken = taken.lock().expect("no panic under the lock");
                        taken.entry(number).or_default().push(Notice { id, body });
                    }
                    (_, id, _) => {
                        let what = format!("to {path}, with the id {id:?}");
                        let mut wrong = wrong.lock().expect("no panic under the lock");
                        wrong.push(("notifications that cannot be read", what));
                    }
                }
            }
        });
        Self {
            accesses,
            webhook: format!("{}{}", proxy.url.as_str().trim_end_matches('/'), CUSTOMER),
            http: system_testing::user::http(),
            heard,
            complaints,
            acknowledged: AtomicUsize::new(0),
        }
    }

    /// Everything that the webhook was told.
    pub(crate) fn heard(&self) -> Heard {
        self.heard.lock().expect("no panic under the lock").clone()
    }

    /// What the customers met that must not be.
    pub(crate) fn complaints(&self) -> Vec<Complaint> {
        self.complaints.lock().expect("no panic under the lock").clone()
    }

    /// How many tasks were acknowledged, and of how many the end was heard.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let heard = self.heard.lock().expect("no panic under the lock");
        let over = |told: &&Vec<Notice>| told.iter().any(|notice| is_over(&notice.body));
        (
            self.acknowledged.load(Ordering::Relaxed),
            heard.values().filter(over).count(),
        )
    }

    /// Asks for so many tasks; gives those that were acknowledged in time.
    pub(crate) async fn ask(&self, tasks: usize, at_once: usize, deadline: Instant) -> Vec<Asked> {
        futures_util::stream::iter((0..tasks).map(|number| self.ask_one(number, deadline)))
            .buffer_unordered(at_once.max(1))
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
                "parts": [{ "text": format!("Will it rain in {city} tomorrow?{NUMBERED}{number}") }],
            },
            "configuration": {
                "returnImmediately": true,
                "taskPushNotificationConfig": { "url": format!("{}{number}", self.webhook), "token": "chaos" },
            },
        });
        let (access, answer) = self.insist(number, "SendMessage", &params, deadline).await?;
        let id = answer.pointer("/result/task/id").and_then(Value::as_str);
        let Some(id) = id.and_then(|id| TaskId::parse(id).ok()) else {
            return self.complain("answers without a task", format!("task {number}: {answer}"));
        };
        let asked = Asked {
            number,
            key: TaskKey {
                tenant: Tenant::parse(&access.tenant).expect("a tenant"),
                agent: AgentName::parse("host").expect("a name"),
                id,
            },
            city,
            called_off: number % CALLED_OFF == CALLED_OFF - 1,
        };
        // Said twice it is the same message, so it must be the same task.
        if number.is_multiple_of(SAID_TWICE) {
            let (_, again) = self.insist(number, "SendMessage", &params, deadline).await?;
            let second = again.pointer("/result/task/id").and_then(Value::as_str);
            if second != Some(id.to_string().as_str()) {
                return self.complain(
                    "messages that made two tasks",
                    format!("task {number}: {id} and {again}"),
                );
            }
        }
        if asked.called_off {
            let which = json!({ "id": id.to_string() });
            self.insist(number, "CancelTask", &which, deadline).await?;
        }
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        Some(asked)
    }

    fn complain<T>(&self, what: &'static str, which: String) -> Option<T> {
        let mut complaints = self.complaints.lock().expect("no panic under the lock");
        complaints.push((what, which));
        None
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
                    Some(_) => {
                        let what = format!("task {number}: {method}: {answer}");
                        return self.complain("calls that were refused", what);
                    }
                }
            }
            tokio::time::sleep(BREATH).await;
        }
        None
    }
}

/// The number in a prompt.
pub(crate) fn prompt_number(prompt: &str) -> Option<usize> {
    let (_, number) = prompt.rsplit_once(NUMBERED)?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The state that a notification tells, whether it is an event or the whole task.
pub(crate) fn state_of(body: &Value) -> Option<&str> {
    ["/statusUpdate/status/state", "/task/status/state"]
        .iter()
        .find_map(|place| body.pointer(place))
        .and_then(Value::as_str)
}

fn is_over(body: &Value) -> bool {
    matches!(
        state_of(body),
        Some("TASK_STATE_COMPLETED" | "TASK_STATE_CANCELED" | "TASK_STATE_FAILED" | "TASK_STATE_REJECTED")
    )
}
