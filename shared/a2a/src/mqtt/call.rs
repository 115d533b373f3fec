//! Calls as a requester makes them: what goes out for a call that came over HTTP, and what a reply means to its caller.
//!
//! Over MQTT a call has no push configuration: what a caller names as its webhook stays with the requester, and the agent is asked
//! for a stream instead, whose items are the notifications.

use std::fmt;

use domain::{SecretString, TaskId};
use serde_json::{Value, json};
use url::Url;

use crate::jsonrpc::RpcId;
use crate::mqtt::error::is_stream_end;
use crate::{A2aError, event_number};

/// A call that is to be published.
#[derive(Clone)]
pub struct OutgoingCall {
    /// Its JSON-RPC id.
    pub id: RpcId,
    /// How its first reply is understood.
    pub answer: AnswerKind,
    /// Where what comes after the first reply goes.
    pub webhook: Option<CallWebhook>,
    body: Value,
}

/// What a call is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// A task or a message.
    Sent,
    /// A task alone.
    Task,
    /// Whatever the agent says.
    Other,
}

/// Where a caller wants to be told of its task.
#[derive(Debug, Clone)]
pub struct CallWebhook {
    /// Its URL.
    pub url: Url,
    /// What its receiver knows a notification by.
    pub token: SecretString,
}

impl fmt::Debug for OutgoingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingCall")
            .field("answer", &self.answer)
            .field("has_webhook", &self.webhook.is_some())
            .finish_non_exhaustive()
    }
}

impl OutgoingCall {
    /// Reads a call.
    ///
    /// # Errors
    /// Why it is no call that can be made over MQTT.
    pub fn read(body: &[u8]) -> Result<Self, A2aError> {
        let invalid = |reason: &str| A2aError::InvalidRequest(reason.to_owned());
        let mut body: Value = serde_json::from_slice(body).map_err(|_| A2aError::ParseError)?;
        if !body.is_object() || body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid("a call is one JSON-RPC 2.0 request"));
        }
        let id = RpcId::read(body.get("id")).ok_or_else(|| invalid("id must be text, a number or null"))?;
        let method = body.get("method").and_then(Value::as_str).unwrap_or_default();
        if !method.starts_with(|first: char| first.is_ascii_uppercase()) || method.contains('/') {
            return Err(invalid("method must be one of A2A 1.0"));
        }
        let is_send = matches!(method, "SendMessage" | "SendStreamingMessage");
        let answer = match method {
            "SendMessage" | "SendStreamingMessage" => AnswerKind::Sent,
            "GetTask" | "CancelTask" => AnswerKind::Task,
            "SubscribeToTask" => return Err(invalid("a stream cannot be answered here")),
            _ => AnswerKind::Other,
        };
        let mut webhook = None;
        if is_send {
            let task = body.pointer("/params/message/taskId").and_then(Value::as_str);
            if task.is_none_or(|task| TaskId::parse(task).is_err()) {
                return Err(A2aError::InvalidParams(
                    "message.taskId must be a UUID: over MQTT whoever asks makes a task's id".to_owned(),
                ));
            }
            webhook = taken_out(&mut body)?;
            if let (true, Some(fields)) = (webhook.is_some(), body.as_object_mut()) {
                fields.insert("method".to_owned(), json!("SendStreamingMessage"));
            }
        }
        Ok(Self {
            id,
            answer,
            webhook,
            body,
        })
    }

    /// The payload of the request.
    #[must_use]
    pub fn payload(&self) -> String {
        self.body.to_string()
    }

    /// The same call for an agent that does not stream: it is answered when its task is settled. `None` where it is no stream.
    #[must_use]
    pub fn without_stream(&self) -> Option<Self> {
        let is_stream = self.body.get("method").and_then(Value::as_str) == Some("SendStreamingMessage");
        let mut call = self.clone();
        call.body
            .as_object_mut()
            .filter(|_| is_stream)?
            .insert("method".to_owned(), json!("SendMessage"));
        Some(call)
    }
}

/// Takes the webhook out of a send, and with it that the answer is not to wait: a stream does not.
fn taken_out(body: &mut Value) -> Result<Option<CallWebhook>, A2aError> {
    let invalid = |reason: &str| A2aError::InvalidParams(reason.to_owned());
    let configuration = body
        .pointer_mut("/params/configuration")
        .and_then(Value::as_object_mut);
    let Some(fields) = configuration else {
        return Ok(None);
    };
    let Some(push) = fields.remove("taskPushNotificationConfig") else {
        return Ok(None);
    };
    fields.remove("returnImmediately");
    let text = |path: &str| push.pointer(path).and_then(Value::as_str);
    let url = text("/url").and_then(|url| Url::parse(url).ok());
    let token = text("/token").or_else(|| text("/authentication/credentials"));
    match (url, token) {
        (Some(url), Some(token)) if !token.is_empty() => Ok(Some(CallWebhook {
            url,
            token: token.to_owned().into(),
        })),
        _ => Err(invalid("a push configuration has a url and a token")),
    }
}

/// An item of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyItem {
    /// A result of a call, or an event of a stream.
    Result(Value),
    /// An error.
    Error(Value),
}

/// Reads an item of a reply; `None` where it is none.
#[must_use]
pub fn read_reply(payload: &[u8]) -> Option<ReplyItem> {
    let Value::Object(mut told) = serde_json::from_slice(payload).ok()? else {
        return None;
    };
    match (told.remove("error"), told.remove("result")) {
        (Some(error @ Value::Object(_)), _) => Some(ReplyItem::Error(error)),
        (_, Some(result @ Value::Object(_))) => Some(ReplyItem::Result(result)),
        _ => None,
    }
}

/// What the first item of a reply means to a caller who wants one answer.
#[must_use]
pub fn first_answer(kind: AnswerKind, item: &Value) -> Value {
    let task = || {
        if let Some(task) = item.get("task") {
            return Some(task.clone());
        }
        let event = item.get("statusUpdate").or_else(|| item.get("artifactUpdate"))?;
        let status = event.get("status").filter(|_| !is_for_webhook(item)).cloned();
        // What an event brought besides goes to the webhook.
        let status = status.unwrap_or_else(|| json!({ "state": "TASK_STATE_WORKING" }));
        let of = |name: &str| event.get(name).cloned().unwrap_or_default();
        Some(json!({ "id": of("taskId"), "contextId": of("contextId"), "status": status }))
    };
    match kind {
        AnswerKind::Sent if item.get("message").is_some() => item.clone(),
        AnswerKind::Sent => {
            let bare = || item.get("id").is_some().then(|| item.clone());
            task()
                .or_else(bare)
                .map_or_else(|| item.clone(), |task| json!({ "task": task }))
        }
        AnswerKind::Task => task().unwrap_or_else(|| item.clone()),
        AnswerKind::Other => item.clone(),
    }
}

/// Whether the first item of a reply is one for the webhook: it tells of a result, and nothing of how the task is, or it ends a
/// numbered stream whose beginning went elsewhere, and with it the result.
#[must_use]
pub fn is_for_webhook(item: &Value) -> bool {
    let ends = || item.get("statusUpdate").is_some() && is_stream_end(item);
    item.get("artifactUpdate").is_some() || (ends() && event_number(item).is_some())
}

/// Whether an agent says that it does not stream.
#[must_use]
pub fn refuses_streams(error: &Value) -> bool {
    let code = error.get("code").and_then(Value::as_i64);
    let is_a2a = error.pointer("/data/a2a_error").is_none();
    matches!(code, Some(-32601)) || matches!(code, Some(-32004)) && is_a2a
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret as _;
    use proptest::prelude::*;

    use super::*;
    use crate::EVERY_EVENT;

    const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";

    fn send(task: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {
            "message": { "messageId": "m", "taskId": task, "parts": [{ "text": "Oslo?" }] },
            "configuration": { "returnImmediately": true, "acceptedOutputModes": ["text/plain"],
                "taskPushNotificationConfig": { "url": "https://gateway.example/hook", "token": "hunter2" } } } })
    }

    #[test]
    fn a_webhook_never_goes_on_the_wire_and_its_call_streams() {
        let call = OutgoingCall::read(send(TASK).to_string().as_bytes()).unwrap();
        assert_eq!(call.webhook.as_ref().unwrap().token.expose_secret(), "hunter2");
        let sent: Value = serde_json::from_str(&call.payload()).unwrap();
        assert_eq!(sent["method"], "SendStreamingMessage");
        assert_eq!(
            sent["params"]["configuration"],
            json!({ "acceptedOutputModes": ["text/plain"] })
        );
        assert!(!format!("{call:?} {}", call.payload()).contains("hunter2"));
        let waits: Value = serde_json::from_str(&call.without_stream().unwrap().payload()).unwrap();
        assert_eq!(waits["method"], "SendMessage");
        let look = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": TASK } });
        let look = OutgoingCall::read(look.to_string().as_bytes()).unwrap();
        assert!(look.webhook.is_none() && look.without_stream().is_none());
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let without_token = json!({ "url": "https://gateway.example/hook" });
        let mut no_token = send(TASK);
        no_token["params"]["configuration"]["taskPushNotificationConfig"] = without_token;
        for (bad, code) in [
            ("{".to_owned(), -32700),
            ("[]".to_owned(), -32600),
            (
                json!({ "jsonrpc": "2.0", "id": [], "method": "GetTask" }).to_string(),
                -32600,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get" }).to_string(),
                -32600,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask" }).to_string(),
                -32600,
            ),
            (
                json!({ "jsonrpc": "1.0", "id": 1, "method": "GetTask" }).to_string(),
                -32600,
            ),
            (send("1").to_string(), -32602),
            (no_token.to_string(), -32602),
        ] {
            let error = OutgoingCall::read(bad.as_bytes()).unwrap_err();
            assert_eq!(error.code(), code, "{bad}");
        }
    }

    #[test]
    fn the_first_item_answers_whoever_called() {
        let update = json!({ "statusUpdate": { "taskId": TASK, "contextId": "c", "status": { "state": "TASK_STATE_SUBMITTED" } } });
        let task = json!({ "id": TASK, "contextId": "c", "status": { "state": "TASK_STATE_SUBMITTED" } });
        assert_eq!(first_answer(AnswerKind::Sent, &update), json!({ "task": task }));
        assert_eq!(
            first_answer(AnswerKind::Sent, &json!({ "task": task })),
            json!({ "task": task })
        );
        assert_eq!(first_answer(AnswerKind::Sent, &task), json!({ "task": task }));
        assert_eq!(first_answer(AnswerKind::Task, &update), task);
        assert_eq!(first_answer(AnswerKind::Task, &task), task);
        let result = json!({ "artifactUpdate": { "taskId": TASK, "contextId": "c", "artifact": {} } });
        assert!(is_for_webhook(&result) && !is_for_webhook(&update));
        assert_eq!(
            first_answer(AnswerKind::Sent, &result)["task"]["status"]["state"],
            "TASK_STATE_WORKING"
        );
        // The end of a stream that was begun under another correlation says nothing of the pieces that went before.
        let end = |metadata: Value| {
            let status = json!({ "state": "TASK_STATE_COMPLETED" });
            json!({ "statusUpdate": { "taskId": TASK, "contextId": "c", "status": status, "metadata": metadata } })
        };
        for (item, goes_on, state) in [
            (
                end(json!({ EVERY_EVENT: { "number": 7 } })),
                true,
                "TASK_STATE_WORKING",
            ),
            (end(json!({})), false, "TASK_STATE_COMPLETED"),
        ] {
            assert_eq!(is_for_webhook(&item), goes_on, "{item}");
            assert_eq!(
                first_answer(AnswerKind::Sent, &item)["task"]["status"]["state"],
                state
            );
        }
        let page = json!({ "tasks": [] });
        assert_eq!(first_answer(AnswerKind::Other, &page), page);
    }

    #[test]
    fn an_agent_that_does_not_stream_says_so_in_a2as_words() {
        assert!(refuses_streams(&json!({ "code": -32601 })));
        assert!(refuses_streams(&json!({ "code": -32004, "data": [{}] })));
        assert!(!refuses_streams(
            &json!({ "code": -32004, "data": { "a2a_error": "responder_unavailable" } })
        ));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reading(bytes: Vec<u8>, text: String) {
            let _ = (OutgoingCall::read(&bytes), read_reply(&bytes), read_reply(text.as_bytes()));
        }
    }
}
