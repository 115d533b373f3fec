//! An agent that is asked as a host does, over a database in memory: for its own tests.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use domain::{MessageId, SystemEntropy};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use url::Url;

use crate::local::Local;
use crate::{Card, Error, Executor, Own};

/// Most bytes of an answer.
const ANSWER_MAX: usize = 16 * 1024 * 1024;

/// An agent under test.
pub struct Trial(Local);

impl Trial {
    /// Starts it; it is called by nobody but this.
    ///
    /// # Errors
    /// Where its card or its database is none.
    pub async fn start(
        card: impl FnOnce(Url) -> Card,
        executor: impl Executor + 'static,
    ) -> Result<Self, Error> {
        let place = ("http://127.0.0.1/".parse()?, Vec::new());
        Ok(Self(Local::start(Own::new(card, executor), place, None).await?))
    }

    /// The task that comes of this text, once it is over or waits.
    ///
    /// # Errors
    /// What the agent answers instead of a task.
    pub async fn ask(&self, text: &str) -> Result<Value, Error> {
        self.send(json!([{ "text": text }]), None).await
    }

    /// The same task once its user has said this.
    ///
    /// # Errors
    /// As [`Trial::ask`].
    pub async fn answer(&self, task: &Value, text: &str) -> Result<Value, Error> {
        self.send(json!([{ "text": text }]), Some(task)).await
    }

    /// As [`Trial::ask`], with parts as A2A 1.0 writes them, for a new task or one that waits.
    ///
    /// # Errors
    /// As [`Trial::ask`].
    pub async fn send(&self, parts: Value, task: Option<&Value>) -> Result<Value, Error> {
        let told = self.call("SendMessage", &message(parts, task)).await?;
        let told: Value = serde_json::from_str(&told)?;
        let task = told.pointer("/result/task").cloned();
        task.ok_or_else(|| told.to_string().into())
    }

    /// Everything that is streamed of the task that comes of this text.
    ///
    /// # Errors
    /// Where the stream breaks off.
    pub async fn stream(&self, text: &str) -> Result<String, Error> {
        let sent = message(json!([{ "text": text }]), None);
        self.call("SendStreamingMessage", &sent).await
    }

    async fn call(&self, method: &str, parameters: &Value) -> Result<String, Error> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        let request = Request::post("/").header("content-type", "application/json");
        let request = request
            .header("a2a-version", "1.0")
            .body(Body::from(call.to_string()))?;
        // A router cannot fail; the error type has no value.
        let Ok(answer) = self.0.router().oneshot(request).await;
        let body = to_bytes(answer.into_body(), ANSWER_MAX).await?;
        Ok(String::from_utf8(body.to_vec())?)
    }
}

fn message(parts: Value, task: Option<&Value>) -> Value {
    let id = MessageId::random(&SystemEntropy);
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": parts });
    if let (Some(task), Some(fields)) = (task, message.as_object_mut()) {
        for (name, there) in [("taskId", "id"), ("contextId", "contextId")] {
            fields.insert(name.to_owned(), task.get(there).cloned().unwrap_or_default());
        }
    }
    json!({ "message": message })
}
