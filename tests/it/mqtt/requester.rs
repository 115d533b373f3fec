//! A requester, as the profile has it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use a2a::mqtt::{Properties, Publication, is_stream_end};
use domain::{SystemEntropy, TaskId};
use mqtt::{Published, Publisher as _, Session};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::world::{Told, World};

/// Gives up after this long without an item.
const IDLE: Duration = Duration::from_secs(30);

/// A new task's id, which over MQTT the requester makes.
pub(super) fn new_task() -> String {
    TaskId::random(&SystemEntropy).to_string()
}

/// A requester with a reply topic of its own.
pub(super) struct Requester {
    session: Session,
    told: Mutex<Told>,
    reply: String,
    count: AtomicU64,
}

impl Requester {
    pub(super) async fn new(world: &World, name: &str) -> Self {
        let reply = format!("$a2a/v1/reply/acme/lab/{name}/{}", new_task());
        let (session, told) = world
            .broker
            .open(&format!("acme/lab/{name}"), vec![reply.clone()])
            .await;
        Self {
            session,
            told: Mutex::new(told),
            reply,
            count: AtomicU64::default(),
        }
    }

    /// Asks, and takes every item of the answer.
    pub(super) async fn ask(&self, agent: &str, method: &str, params: Value) -> Vec<Value> {
        self.ask_with(agent, method, params, Properties::default()).await
    }

    /// The same with more beside it.
    pub(super) async fn ask_with(
        &self,
        agent: &str,
        method: &str,
        params: Value,
        more: Properties,
    ) -> Vec<Value> {
        let mut told = self.told.lock().await;
        let correlation = self.send(agent, request(method, params), more).await;
        let is_stream = method == "SendStreamingMessage";
        let mut items = Vec::new();
        loop {
            let next = tokio::time::timeout(IDLE, told.recv()).await;
            let next = next
                .unwrap_or_else(|_| panic!("no more items after {items:#?}"))
                .expect("a session");
            let Publication {
                payload, properties, ..
            } = next.publication;
            if properties.correlation.as_deref() != Some(correlation.as_bytes()) {
                continue;
            }
            let item: Value = serde_json::from_slice(&payload).expect("JSON");
            let result = item.get("result").cloned().unwrap_or_default();
            // A task that tells the end is followed by the event that alone ends a stream.
            let ends = item.get("error").is_some()
                || is_stream_end(&result) && (!is_stream || result.get("task").is_none());
            items.push(item);
            let is_settling = method == "SendMessage" && !ends;
            if ends || !is_stream && !is_settling {
                return items;
            }
        }
    }

    /// Sends a request and does not wait.
    pub(super) async fn publish(&self, agent: &str, method: &str, params: Value) {
        self.send(agent, request(method, params), Properties::default())
            .await;
    }

    /// Sends any payload; what it is known by.
    pub(super) async fn send(&self, agent: &str, payload: Value, more: Properties) -> String {
        let correlation = format!("c-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let publication = Publication {
            topic: format!("$a2a/v1/request/{agent}"),
            payload: payload.to_string().into(),
            retain: false,
            properties: Properties {
                response_topic: Some(self.reply.clone()),
                correlation: Some(correlation.clone().into()),
                content_type: Some("application/json".to_owned()),
                is_text: true,
                ..more
            },
        };
        assert_eq!(self.session.publish(publication).await, Ok(Published::Taken));
        correlation
    }

    /// Publishes something as it is.
    pub(super) async fn raw(&self, publication: Publication) {
        let _ = self.session.publish(publication).await;
    }

    /// What comes next, whatever it answers; nothing within a moment.
    pub(super) async fn next(&self) -> Option<Publication> {
        let mut told = self.told.lock().await;
        let next = tokio::time::timeout(Duration::from_secs(2), told.recv()).await;
        Some(next.ok()??.publication)
    }

    /// Where it takes replies.
    pub(super) fn reply(&self) -> &str {
        &self.reply
    }

    pub(super) async fn leave(self) {
        self.session.close().await;
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "r", "method": method, "params": params })
}
