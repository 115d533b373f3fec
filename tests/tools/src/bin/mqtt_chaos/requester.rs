//! Requesters as the profile has them: a new correlation for each attempt, one `Task.id`, and `GetTask` once anything was heard.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::mqtt::{Properties, Publication, is_stream_end};
use domain::{Clock as _, ExposeSecret as _, SecretString, SystemClock, SystemEntropy, TaskId, Timestamp};
use mqtt::{Inbox, Options, Publisher as _, Received, Session, Taking};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// Patience for the first reply.
const FIRST: Duration = Duration::from_secs(15);
/// Patience between two items.
const IDLE: Duration = Duration::from_secs(30);
/// Patience for an answer to GetTask, and then for more of the stream.
const LOOK: Duration = Duration::from_secs(15);
const AGAIN: Duration = Duration::from_secs(3);

/// How a requester takes what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Usual,
    /// Half a second for each, one at a time.
    Slow,
    /// It never acknowledges anything.
    Silent,
}

type Waiting = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<Value>>>>;

/// A requester with a reply topic of its own.
pub(crate) struct Requester {
    session: Session,
    reply: String,
    agent: String,
    token: SecretString,
    waiting: Waiting,
}

struct Replies {
    waiting: Waiting,
    manner: Manner,
}

impl Inbox for Replies {
    fn take(&self, received: Received) -> Taking {
        let properties = &received.publication.properties;
        let correlation = properties.correlation.as_deref().unwrap_or_default();
        let correlation = String::from_utf8_lossy(correlation).into_owned();
        let item = serde_json::from_slice(&received.publication.payload).unwrap_or_default();
        if let Some(waiting) = self.waiting.lock().expect("no panic").get(&correlation) {
            let _ = waiting.send(item);
        }
        match self.manner {
            Manner::Usual => Box::pin(async {}),
            Manner::Slow => Box::pin(tokio::time::sleep(Duration::from_millis(500))),
            Manner::Silent => Box::pin(std::future::pending()),
        }
    }
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) task: String,
    /// The state of the final task.
    pub(crate) state: String,
    pub(crate) took: Duration,
    /// It was the stream, or the answer, that told the end, and not a question for it.
    pub(crate) by_stream: bool,
    /// The numbers of the events that came.
    pub(crate) numbers: BTreeSet<u64>,
    pub(crate) attempts: u32,
    pub(crate) is_stream: bool,
    /// The longest time between two items.
    pub(crate) silence: Duration,
}

impl Requester {
    /// Opens one of that name.
    pub(crate) fn open(
        broker: SocketAddr,
        name: &str,
        (agent, token): (&str, SecretString),
        manner: Manner,
    ) -> Self {
        let waiting = Waiting::default();
        let reply = format!(
            "$a2a/v1/reply/chaos/lab/{name}/{}",
            TaskId::random(&SystemEntropy)
        );
        let options = Options {
            broker: format!("mqtt://{broker}").parse().expect("an address"),
            client_id: format!("chaos/lab/{name}"),
            credentials: None,
            will: None,
            filters: vec![reply.clone()],
            kept_for: Some(Duration::from_secs(3600)),
            receive_maximum: if manner == Manner::Slow { 1 } else { 64 },
            max_packet: 1024 * 1024,
            settle: None,
        };
        let replies = Replies {
            waiting: waiting.clone(),
            manner,
        };
        Self {
            session: Session::open(options, Arc::new(replies)).expect("a session"),
            reply,
            agent: agent.to_owned(),
            token,
            waiting,
        }
    }

    /// Waits until it is connected.
    pub(crate) async fn ready(&self) {
        self.session.ready().await;
    }

    /// Asks, and does not give up before `limit`.
    pub(crate) async fn ask(&self, stream: bool, limit: Duration) -> Result<Done, String> {
        let task = TaskId::random(&SystemEntropy).to_string();
        match timeout(limit, self.until_done(&task, stream)).await {
            Ok(done) => Ok(done),
            Err(_) => Err(task),
        }
    }

    async fn until_done(&self, task: &str, stream: bool) -> Done {
        let begun = Instant::now();
        let method = if stream {
            "SendStreamingMessage"
        } else {
            "SendMessage"
        };
        let params = counting(task);
        // Replies to an earlier attempt count as well.
        let (sender, mut items) = mpsc::unbounded_channel();
        let (mut numbers, mut attempts, mut heard) = (BTreeSet::new(), 0, false);
        let (mut last, mut silence, mut looked) = (begun, Duration::ZERO, false);
        let done = |state: &str, by_stream, numbers, attempts, silence| Done {
            task: task.to_owned(),
            state: state.to_owned(),
            took: begun.elapsed(),
            by_stream,
            numbers,
            attempts,
            is_stream: stream,
            silence,
        };
        loop {
            if !heard && attempts < 3 {
                attempts += 1;
                self.publish(method, &params, &sender).await;
            } else {
                looked = true;
                match self.look(task).await.as_deref() {
                    // It never came there.
                    Some("") => (heard, attempts, looked) = (false, 0, false),
                    Some(state) if is_final(state) => return done(state, false, numbers, attempts, silence),
                    _ => {}
                }
            }
            while let Ok(Some(item)) = timeout(patience(heard, looked), items.recv()).await {
                let result = item.get("result").cloned().unwrap_or_default();
                if result.is_null() {
                    // Refused for now: the agent, or the bridge, is not there.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    break;
                }
                heard = true;
                silence = silence.max(last.elapsed());
                last = Instant::now();
                numbers.extend(a2a::event_number(&result));
                let ends = is_stream_end(&result) && (!stream || result.get("task").is_none());
                if ends {
                    let state = ["/task/status/state", "/statusUpdate/status/state"];
                    let state = state.iter().find_map(|path| result.pointer(path)?.as_str());
                    return done(state.unwrap_or_default(), true, numbers, attempts, silence);
                }
            }
        }
    }

    /// Asks for a stream: the time until its first item, and for each change of the task's state the time from it to its item.
    pub(crate) async fn timed(&self) -> (Duration, Vec<Duration>) {
        let task = TaskId::random(&SystemEntropy).to_string();
        let (sender, mut items) = mpsc::unbounded_channel();
        let begun = Instant::now();
        self.publish("SendStreamingMessage", &counting(&task), &sender)
            .await;
        let (mut first, mut changes) = (None, Vec::new());
        while let Some(item) = items.recv().await {
            first.get_or_insert_with(|| begun.elapsed());
            let result = item.get("result").cloned().unwrap_or_default();
            let at = result.pointer("/statusUpdate/status/timestamp");
            let at = at.and_then(|at| Timestamp::parse(at.as_str()?));
            changes.extend(at.map(|at| SystemClock.now().since(at)));
            if is_stream_end(&result) && result.get("task").is_none() {
                break;
            }
        }
        (first.unwrap_or_default(), changes)
    }

    /// The task's state now: empty where there is no such task, `None` where nobody says.
    pub(crate) async fn look(&self, task: &str) -> Option<String> {
        let (sender, mut items) = mpsc::unbounded_channel();
        self.publish("GetTask", &json!({ "id": task }), &sender).await;
        let item = timeout(LOOK, items.recv()).await.ok()??;
        match item.pointer("/error/code").and_then(Value::as_i64) {
            Some(-32001) => Some(String::new()),
            Some(_) => None,
            None => Some(item.pointer("/result/status/state")?.as_str()?.to_owned()),
        }
    }

    /// Publishes under a new correlation, until the broker has it.
    async fn publish(&self, method: &str, params: &Value, sender: &mpsc::UnboundedSender<Value>) {
        let correlation = TaskId::random(&SystemEntropy).to_string();
        self.waiting
            .lock()
            .expect("no panic")
            .insert(correlation.clone(), sender.clone());
        let body = json!({ "jsonrpc": "2.0", "id": correlation, "method": method, "params": params });
        let bearer = format!("Bearer {}", self.token.expose_secret());
        let publication = Publication {
            topic: format!("$a2a/v1/request/{}", self.agent),
            payload: body.to_string().into(),
            retain: false,
            properties: Properties {
                response_topic: Some(self.reply.clone()),
                correlation: Some(correlation.into()),
                content_type: Some("application/json".to_owned()),
                is_text: true,
                expiry: Some(60),
                user: vec![("a2a-authorization".to_owned(), bearer)],
            },
        };
        while self.session.publish(publication.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

fn counting(task: &str) -> Value {
    json!({ "message": { "messageId": format!("m-{task}"), "taskId": task, "role": "ROLE_USER", "parts": [{ "text": "count" }] } })
}

fn is_final(state: &str) -> bool {
    matches!(
        state,
        "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "TASK_STATE_CANCELED" | "TASK_STATE_REJECTED"
    )
}

/// How long to wait for the next item.
fn patience(heard: bool, looked: bool) -> Duration {
    match (heard, looked) {
        (_, true) => AGAIN,
        (true, false) => IDLE,
        (false, false) => FIRST,
    }
}
