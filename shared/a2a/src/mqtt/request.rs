//! Requests, as a responder reads them.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{SecretString, TaskId};
use serde_json::{Map, Value, json};

use super::prefix::{Topic, TopicPrefix};
use super::publication::{Properties, Publication, property};
use super::{ArtifactMode, BindingError, CORRELATION_MAX, Recipient, ReplyPath};
use crate::A2aError;
use crate::jsonrpc::RpcId;
use crate::lenient::{Fault, tidy};

/// Longest id: it travels with what a responder gives its agent to keep.
const ID_MAX: usize = 256;

/// What a responder holds a request against.
#[derive(Debug, Clone, Copy)]
pub struct RequestRules<'r> {
    /// What topics begin with on the broker that it came from.
    pub prefix: &'r TopicPrefix,
    /// Organisations that replies go to.
    pub orgs: &'r BTreeSet<String>,
    /// How long it lay here before it was read.
    pub age: Duration,
}

/// A request that can be handed on.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its JSON-RPC id.
    pub id: RpcId,
    /// Whom it is for.
    pub recipient: Recipient,
    /// Where its replies go.
    pub reply: ReplyPath,
    /// The caller's token.
    pub token: Option<SecretString>,
    /// The trace it is part of, as it was told.
    pub trace: Option<String>,
    /// How artifacts are wanted.
    pub artifacts: ArtifactMode,
    /// What is asked, as far as the binding must know.
    pub asked: Asked,
    body: Value,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A message, answered at once by its task, of this id.
    Send(TaskId),
    /// A message, answered when its task is settled.
    SendAndWait(TaskId),
    /// A message, answered by each event of its task.
    Stream(TaskId),
    /// The events of a task from now on.
    Subscribe(String),
    /// One answer, whatever it is.
    Other,
}

/// Why a request is not handed on.
#[derive(Debug, Clone)]
pub enum Refused {
    /// There is nowhere that an answer could go.
    Dropped(Drop),
    /// The answer says why.
    Answered {
        /// Where to.
        reply: ReplyPath,
        /// To which request, as far as it was readable.
        id: RpcId,
        /// Why.
        error: BindingError,
    },
}

/// Why a publication is dropped without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// Its topic takes no requests.
    NotARequest,
    /// It has no Response Topic.
    NoResponseTopic,
    /// Its Response Topic is none of the profile's, or of an organisation that replies do not go to.
    ForeignResponseTopic,
}

impl Drop {
    /// A word for it, for logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotARequest => "not_a_request",
            Self::NoResponseTopic => "no_response_topic",
            Self::ForeignResponseTopic => "foreign_response_topic",
        }
    }
}

impl Request {
    /// The request as the agent gets it over HTTP. What is to be answered by more than one item is sent without waiting, with
    /// this push configuration.
    #[must_use]
    pub fn body_with(&self, push: Option<Value>) -> Value {
        let mut body = self.body.clone();
        let Some(push) = push else { return body };
        let Some(Value::Object(params)) = body.get_mut("params") else {
            return body;
        };
        let configuration = params.entry("configuration").or_insert_with(|| json!({}));
        if !configuration.is_object() {
            *configuration = json!({});
        }
        if let Some(fields) = configuration.as_object_mut() {
            fields.insert("returnImmediately".to_owned(), json!(true));
            fields.insert("taskPushNotificationConfig".to_owned(), push);
        }
        if let Some(fields) = body.as_object_mut() {
            fields.insert("method".to_owned(), json!("SendMessage"));
        }
        body
    }
}

/// Reads a request.
///
/// # Errors
/// [`Refused`] says whether anybody is told, and what.
pub fn read_request(publication: &Publication, rules: &RequestRules<'_>) -> Result<Request, Refused> {
    let Some(Topic::Request(recipient)) = rules.prefix.read(&publication.topic) else {
        return Err(Refused::Dropped(Drop::NotARequest));
    };
    let properties = &publication.properties;
    let reply = reply_path(properties, rules).map_err(Refused::Dropped)?;
    let mut id = RpcId::default();
    match understood(publication, rules, &mut id) {
        Ok(read) => Ok(Request {
            id,
            recipient,
            reply,
            token: read.token,
            trace: properties.one(property::TRACE).ok().flatten().map(str::to_owned),
            artifacts: ArtifactMode::of(properties),
            asked: read.asked,
            body: read.body,
        }),
        Err(error) => Err(Refused::Answered { reply, id, error }),
    }
}

fn reply_path(properties: &Properties, rules: &RequestRules<'_>) -> Result<ReplyPath, Drop> {
    let topic = properties
        .response_topic
        .as_deref()
        .ok_or(Drop::NoResponseTopic)?;
    match rules.prefix.read(topic) {
        Some(Topic::Reply(requester, _)) if rules.orgs.contains(requester.org()) => Ok(ReplyPath {
            topic: topic.to_owned(),
            correlation: properties.correlation.clone().unwrap_or_default(),
        }),
        _ => Err(Drop::ForeignResponseTopic),
    }
}

/// What was read of a request's payload and properties.
struct Understood {
    token: Option<SecretString>,
    asked: Asked,
    body: Value,
}

fn understood(
    publication: &Publication,
    rules: &RequestRules<'_>,
    id: &mut RpcId,
) -> Result<Understood, BindingError> {
    let properties = &publication.properties;
    let read = serde_json::from_slice::<Value>(&publication.payload);
    if let Ok(body) = &read {
        let told = RpcId::read(body.get("id")).unwrap_or_default();
        if !told.is_within(ID_MAX) {
            return Err(invalid("id is longer than 256 bytes"));
        }
        *id = told;
    }
    match properties.correlation.as_ref().map_or(0, |data| data.len()) {
        0 => return Err(BindingError::Protocol("Correlation Data is missing")),
        1..=CORRELATION_MAX => {}
        _ => {
            return Err(BindingError::Protocol(
                "Correlation Data is longer than 1,024 bytes",
            ));
        }
    }
    let token = properties.bearer();
    let token = token.map_err(|_| BindingError::Protocol("a2a-authorization is not one bearer token"))?;
    let left = properties
        .expiry
        .map(|seconds| Duration::from_secs(seconds.into()));
    if left.is_some_and(|left| rules.age >= left) {
        return Err(BindingError::Expired);
    }
    let Value::Object(mut fields) = read.map_err(|_| A2aError::ParseError)? else {
        return Err(invalid("a request is one JSON object; batches are not supported"));
    };
    if RpcId::read(fields.get("id")).is_none() {
        return Err(invalid("id must be text, a number or null"));
    }
    let Some(method) = fields.get("method").and_then(Value::as_str).map(str::to_owned) else {
        return Err(invalid("method must be text"));
    };
    // The names of 0.3, of which the profile has none.
    if method.contains('/') {
        return Err(A2aError::MethodNotFound(crate::error::capped(&method, 64)).into());
    }
    if let Some(params) = fields.get("params") {
        let params = tidy(params).map_err(|Fault(reason)| A2aError::InvalidParams(reason))?;
        fields.insert("params".to_owned(), params);
    }
    let asked = asked(&method, &fields, properties)?;
    Ok(Understood {
        token,
        asked,
        body: Value::Object(fields),
    })
}

fn invalid(reason: &str) -> BindingError {
    A2aError::InvalidRequest(reason.to_owned()).into()
}

fn asked(method: &str, fields: &Map<String, Value>, properties: &Properties) -> Result<Asked, BindingError> {
    let at = |path: &[&str]| {
        let mut found = fields.get("params")?;
        for name in path {
            found = found.get(name)?;
        }
        Some(found)
    };
    match method {
        "SendMessage" | "SendStreamingMessage" => {}
        "SubscribeToTask" => {
            let id = at(&["id"]).and_then(Value::as_str).unwrap_or_default();
            return Ok(Asked::Subscribe(id.to_owned()));
        }
        _ => return Ok(Asked::Other),
    }
    let told = at(&["message", "taskId"]).and_then(Value::as_str);
    let task = told.and_then(|told| TaskId::parse(told).ok());
    let task = task.ok_or(BindingError::Protocol(
        "params.message.taskId is missing or no UUID: over MQTT the requester makes a task's id",
    ))?;
    let context = properties.one(property::CONTEXT_ID);
    let context = context.map_err(|_| BindingError::Protocol("a2a-context-id came twice"))?;
    if context.is_some() && context != at(&["message", "contextId"]).and_then(Value::as_str) {
        return Err(BindingError::Protocol(
            "a2a-context-id is not the message's contextId",
        ));
    }
    let at_once = at(&["configuration", "returnImmediately"]) == Some(&Value::Bool(true));
    let asked = match (method, at_once) {
        ("SendMessage", true) => return Ok(Asked::Send(task)),
        ("SendMessage", false) => Asked::SendAndWait(task),
        _ => Asked::Stream(task),
    };
    match at(&["configuration", "taskPushNotificationConfig"]) {
        None => Ok(asked),
        Some(_) => Err(A2aError::InvalidParams(
            "a send whose reply is awaited has no other push configuration; use returnImmediately, or \
             CreateTaskPushNotificationConfig"
                .to_owned(),
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mqtt::AgentAddress;

    const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";

    fn request(payload: &Value) -> Publication {
        Publication {
            topic: "$a2a/v1/request/acme/platform/weather".to_owned(),
            payload: payload.to_string().into(),
            retain: false,
            properties: Properties {
                response_topic: Some("$a2a/v1/reply/acme/lab/asker/s1".to_owned()),
                correlation: Some("c-1".into()),
                ..Properties::default()
            },
        }
    }

    fn send(method: &str, message: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": "r-1", "method": method, "params": { "message": message } })
    }

    fn read(publication: &Publication) -> Result<Request, Refused> {
        let orgs = BTreeSet::from(["acme".to_owned()]);
        let prefix = TopicPrefix::standard();
        let age = Duration::from_secs(5);
        read_request(
            publication,
            &RequestRules {
                prefix: &prefix,
                orgs: &orgs,
                age,
            },
        )
    }

    #[test]
    fn sends_are_told_apart_and_handed_on_without_waiting() {
        let task = TaskId::parse(TASK).unwrap();
        let message = || json!({ "task_id": TASK, "parts": [{ "text": "Oslo?" }] });
        let mut at_once = send("SendMessage", message());
        at_once["params"]["configuration"] = json!({ "return_immediately": true });
        for (payload, asked) in [
            (send("SendMessage", message()), Asked::SendAndWait(task)),
            (send("SendStreamingMessage", message()), Asked::Stream(task)),
            (at_once, Asked::Send(task)),
            (
                json!({ "jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": { "id": "x" } }),
                Asked::Other,
            ),
            (
                json!({ "jsonrpc": "2.0", "method": "SubscribeToTask", "params": { "id": "x" } }),
                Asked::Subscribe("x".to_owned()),
            ),
        ] {
            let read = read(&request(&payload)).unwrap();
            assert_eq!(read.asked, asked, "{payload}");
            assert_eq!(
                read.recipient,
                Recipient::Agent("acme/platform/weather".parse::<AgentAddress>().unwrap())
            );
            assert_eq!(read.reply.correlation, "c-1");
        }
        let handed = read(&request(&send("SendStreamingMessage", message()))).unwrap();
        let handed = handed.body_with(Some(json!({ "url": "https://bridge.example/reply" })));
        assert_eq!(handed["method"], "SendMessage");
        assert_eq!(
            handed["params"]["configuration"],
            json!({ "returnImmediately": true, "taskPushNotificationConfig": { "url": "https://bridge.example/reply" } })
        );
        assert_eq!(handed["params"]["message"]["taskId"], TASK);
    }

    #[test]
    fn what_has_no_way_back_is_dropped() {
        let good = request(&send("SendMessage", json!({ "taskId": TASK })));
        for (topic, response, drop) in [
            (
                "$a2a/v1/request/acme/platform/weather",
                None,
                Drop::NoResponseTopic,
            ),
            (
                "$a2a/v1/request/acme/platform/weather",
                Some("$a2a/v1/reply/acme/lab/asker/+"),
                Drop::ForeignResponseTopic,
            ),
            (
                "$a2a/v1/request/acme/platform/weather",
                Some("$a2a/v1/reply/globex/lab/asker/s"),
                Drop::ForeignResponseTopic,
            ),
            (
                "$a2a/v1/request/acme/platform/weather",
                Some("$a2a/v1/request/acme/platform/weather"),
                Drop::ForeignResponseTopic,
            ),
            (
                "$a2a/v1/request/acme/platform/weather",
                Some("alarm/siren"),
                Drop::ForeignResponseTopic,
            ),
            (
                "$a2a/v1/reply/acme/platform/weather/s",
                Some("$a2a/v1/reply/acme/lab/asker/s"),
                Drop::NotARequest,
            ),
        ] {
            let mut bad = good.clone();
            bad.topic = topic.to_owned();
            bad.properties.response_topic = response.map(str::to_owned);
            assert!(
                matches!(read(&bad), Err(Refused::Dropped(why)) if why == drop),
                "{topic} {response:?}"
            );
        }
    }

    #[test]
    fn a_giant_id_travels_no_further() {
        let with = |id: Value| {
            let mut payload = send("SendStreamingMessage", json!({ "taskId": TASK }));
            payload["id"] = id;
            read(&request(&payload))
        };
        let longest = json!("x".repeat(ID_MAX));
        assert_eq!(
            with(longest.clone()).unwrap().id,
            RpcId::read(Some(&longest)).unwrap()
        );
        let Err(Refused::Answered { id, error, .. }) = with(json!("x".repeat(ID_MAX + 1))) else {
            panic!("it is told so");
        };
        assert_eq!(
            (id, error.to_json()["code"].as_i64()),
            (RpcId::default(), Some(-32600))
        );
    }

    #[test]
    fn what_is_wrong_is_said_to_whoever_asked() {
        let good = request(&send("SendMessage", json!({ "taskId": TASK, "contextId": "c" })));
        let with = |change: &dyn Fn(&mut Publication)| {
            let mut changed = good.clone();
            change(&mut changed);
            changed
        };
        let payload = |payload: Value| with(&|it| it.payload = payload.to_string().into());
        let mut pushed = send("SendMessage", json!({ "taskId": TASK }));
        pushed["params"]["configuration"] =
            json!({ "taskPushNotificationConfig": { "url": "https://x.example" } });
        for (bad, code) in [
            (with(&|it| it.properties.correlation = None), -32005),
            (
                with(&|it| it.properties.correlation = Some(vec![0; 65_535].into())),
                -32005,
            ),
            (with(&|it| it.properties.expiry = Some(5)), -32003),
            (
                with(&|it| it.properties.user = vec![("a2a-authorization".into(), "Bearer a".into()); 2]),
                -32005,
            ),
            (
                with(&|it| it.properties.user = vec![("a2a-context-id".into(), "d".into())]),
                -32005,
            ),
            (with(&|it| it.payload = "{".into()), -32700),
            (with(&|it| it.payload = vec![0xff; 9].into()), -32700),
            (
                payload(json!([send("SendMessage", json!({ "taskId": TASK }))])),
                -32600,
            ),
            (
                payload(json!({ "jsonrpc": "2.0", "id": {} , "method": "GetTask" })),
                -32600,
            ),
            (payload(json!({ "jsonrpc": "2.0", "id": 1 })), -32600),
            (payload(send("message/send", json!({ "taskId": TASK }))), -32601),
            (payload(send("SendMessage", json!({}))), -32005),
            (payload(send("SendMessage", json!({ "taskId": "t-1" }))), -32005),
            (payload(json!({ "id": 1, "method": "SendMessage" })), -32005),
            (payload(pushed), -32602),
        ] {
            let Err(Refused::Answered { error, reply, .. }) = read(&bad) else {
                panic!("{bad:?} is taken")
            };
            assert_eq!(error.to_json()["code"], code, "{error}");
            assert_eq!(reply.topic, "$a2a/v1/reply/acme/lab/asker/s1");
        }
        assert!(read(&with(&|it| it.properties.expiry = Some(6))).is_ok());
    }

    proptest! {
        #[test]
        fn no_payload_and_no_topic_break_the_reading(payload: Vec<u8>, topic: String, response: Option<String>, user: Vec<(String, String)>) {
            let mut publication = request(&json!({}));
            publication.payload = payload.into();
            publication.properties.user = user;
            let _ = read(&publication);
            publication.topic = topic;
            publication.properties.response_topic = response;
            let _ = read(&publication);
        }
    }
}
