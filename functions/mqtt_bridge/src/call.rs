//! `POST /call?to=ORG/UNIT/AGENT`, or `ORG/UNIT/pool/POOL`: a host calls an agent on the broker, or whichever member of a pool takes the
//! request. It is published, and its first reply is the answer; what comes after that goes to the webhook that the call names
//! ([`crate::replies`]). Who has the task, where its agent says that, is told by `a2a-responder-agent-id`.
//!
//! A call is one attempt. It is stored nowhere: the host repeats it, under the same `Task.id` and with another correlation.

use std::sync::Arc;
use std::time::Duration;

use a2a::A2aError;
use a2a::jsonrpc::RpcId;
use a2a::mqtt::{
    AgentAddress, BindingError, OutgoingCall, Properties, Publication, Recipient, ReplyItem, first_answer,
    property, refuses_streams,
};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use domain::TraceParent;
use edge::refused;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mqtt::{PublishError, Published, Publisher};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bridge::Bridge;
use crate::caller::Host;
use crate::correlation::{Correlation, ReplyPlace};
use crate::waiting::Reply;

/// For how many seconds a request is worth anything: longer than anybody waits for its first reply.
pub(crate) const EXPIRY: u32 = 60;
/// Longest token for an agent.
const TOKEN_MAX: usize = 16 * 1024;
/// Tells who has a task.
const RESPONDER: HeaderName = HeaderName::from_static(property::RESPONDER);
/// What MQTT says where nobody subscribes.
const NO_SUBSCRIBERS: u8 = 0x10;
/// Longest challenge that is handed on.
const CHALLENGE_MAX: usize = 2_048;

/// Whom a call is for.
#[derive(Deserialize)]
pub(crate) struct To {
    to: String,
}

/// Why a call is not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error("`to` is ORG/UNIT/AGENT or ORG/UNIT/pool/POOL")]
    To,
    #[error("a2a-authorization is not one bearer token of at most {TOKEN_MAX} bytes")]
    Token,
    #[error("the webhook is not the one of the calling tenant")]
    Webhook,
    #[error("the webhook's URL and token are too long to travel with a request")]
    Correlation,
    #[error("the tenant's host is not on this broker")]
    NoHost,
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::To | Self::Token | Self::Correlation => {
                refused(StatusCode::BAD_REQUEST, "invalid_request", &message)
            }
            Self::Webhook => refused(StatusCode::FORBIDDEN, "foreign_webhook", &message),
            Self::NoHost => refused(StatusCode::NOT_FOUND, "not_found", &message),
        }
    }
}

/// What came of an attempt.
enum Outcome {
    Reply(Reply),
    /// The binding's own error, by its name, with the code that MQTT has for it.
    Failed(&'static str, Option<u8>),
}

pub(crate) async fn call(
    Host(tenant): Host,
    State(bridge): State<Arc<Bridge>>,
    Query(To { to }): Query<To>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, RouteError> {
    let to: Recipient = to.parse().map_err(|_| RouteError::To)?;
    let token = token(&headers)?;
    let host = bridge.host_of(&tenant).ok_or(RouteError::NoHost)?;
    let call = match OutgoingCall::read(&body) {
        Ok(call) => call,
        Err(error) => return Ok(failure(&RpcId::default(), error)),
    };
    // A reply is posted there with the host's own token: it goes nowhere else.
    if let Some(webhook) = &call.webhook
        && host.webhook.as_ref() != Some(&webhook.url)
    {
        return Err(RouteError::Webhook);
    }
    let identity = host.address.clone();
    let Some(publisher) = bridge.publisher(&identity) else {
        return Ok(answered(&call, Outcome::Failed("broker_unavailable", None)));
    };
    let attempt = Attempt {
        bridge: &bridge,
        identity,
        publisher,
        to,
        token,
    };
    let made = tokio::time::timeout(bridge.attempt, attempt.made(&call)).await;
    match made {
        Ok(outcome) => Ok(answered(&call, outcome?)),
        Err(_) => Ok(answered(&call, Outcome::Failed("no_reply", None))),
    }
}

/// The token for the agent, as it travels.
fn token(headers: &HeaderMap) -> Result<Option<String>, RouteError> {
    let mut told = headers.get_all(property::AUTHORIZATION).iter();
    match (told.next(), told.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| RouteError::Token)?;
            let is_good = text.len() <= TOKEN_MAX && auth::bearer(Some(text)).is_ok();
            is_good.then(|| Some(text.to_owned())).ok_or(RouteError::Token)
        }
        _ => Err(RouteError::Token),
    }
}

struct Attempt<'b> {
    bridge: &'b Bridge,
    identity: AgentAddress,
    publisher: Arc<dyn Publisher>,
    to: Recipient,
    token: Option<String>,
}

impl Attempt<'_> {
    async fn made(&self, call: &OutgoingCall) -> Result<Outcome, RouteError> {
        let outcome = self.published(call).await?;
        // An agent that does not stream answers when the task is settled: over MQTT that is a reply like any other.
        if let Outcome::Reply(Reply {
            item: ReplyItem::Error(error),
            ..
        }) = &outcome
            && refuses_streams(error)
            && let Some(call) = call.without_stream()
        {
            return self.published(&call).await;
        }
        Ok(outcome)
    }

    async fn published(&self, call: &OutgoingCall) -> Result<Outcome, RouteError> {
        let bridge = self.bridge;
        let topic = bridge.reply_topic(&self.identity);
        let place = ReplyPlace {
            requester: &self.identity,
            topic: &topic,
        };
        let lasts = match call.webhook {
            Some(_) => bridge.replies_for,
            None => Duration::from_secs(EXPIRY.into()),
        };
        let correlation = Correlation {
            webhook: call.webhook.clone(),
            asked: self.to.clone(),
            expires_at: bridge.clock.now().after(lasts),
        };
        let correlation = correlation.seal(&bridge.sealer, place, bridge.entropy.as_ref());
        if correlation.len() > a2a::mqtt::CORRELATION_MAX {
            return Err(RouteError::Correlation);
        }
        // The reply may be here before the broker's own acknowledgement.
        let mut waits = bridge.waiting.begin(correlation.clone());
        let request = self.request(call, topic, correlation);
        match self.publisher.publish(request).await {
            Ok(Published::Taken) => {}
            Ok(Published::NoMatchingSubscribers) => {
                return Ok(Outcome::Failed("no_matching_subscribers", Some(NO_SUBSCRIBERS)));
            }
            Err(error) => return Ok(self.unpublished(&error)),
        }
        let reply = waits.reply().await;
        Ok(reply.map_or(Outcome::Failed("no_reply", None), Outcome::Reply))
    }

    fn request(&self, call: &OutgoingCall, reply: String, correlation: String) -> Publication {
        let trace = TraceParent::outgoing(self.bridge.entropy.as_ref());
        let trace = trace.map(|trace| (property::TRACE.to_owned(), trace.to_string()));
        let token = self.token.clone();
        let token = token.map(|token| (property::AUTHORIZATION.to_owned(), token));
        Publication {
            topic: self.bridge.prefix.request(&self.to),
            payload: call.payload().into(),
            retain: false,
            properties: Properties {
                response_topic: Some(reply),
                correlation: Some(correlation.into()),
                content_type: Some("application/json".to_owned()),
                is_text: true,
                expiry: Some(EXPIRY),
                user: token.into_iter().chain(trace).collect(),
            },
        }
    }

    fn unpublished(&self, error: &PublishError) -> Outcome {
        let name = match error {
            PublishError::NotAuthorized => {
                tracing::error!(mqtt.agent = %self.identity, mqtt.to = %self.to, "the broker does not let this host ask (0x87)");
                "not_authorized"
            }
            PublishError::TooLarge => "packet_too_large",
            error => {
                tracing::warn!(mqtt.agent = %self.identity, mqtt.to = %self.to, error = %error, "a request was not published");
                "broker_unavailable"
            }
        };
        Outcome::Failed(name, error.code())
    }
}

fn answered(call: &OutgoingCall, outcome: Outcome) -> Response {
    let error = match outcome {
        Outcome::Reply(Reply {
            item: ReplyItem::Result(item),
            responder,
        }) => {
            let result = first_answer(call.answer, &item);
            let mut response = Json(a2a::jsonrpc::success(call.id.clone(), result)).into_response();
            let responder = responder.and_then(|agent| HeaderValue::from_str(&agent.to_string()).ok());
            response
                .headers_mut()
                .extend(responder.map(|agent| (RESPONDER, agent)));
            return response;
        }
        // Who refuses a task does not have it.
        Outcome::Reply(Reply {
            item: ReplyItem::Error(error),
            ..
        }) => error,
        Outcome::Failed(name, code) => {
            let reason_code = code.map(|code| format!("{code:#04x}"));
            json!({ "code": -32004, "message": name, "data": { "a2a_error": name, "reason_code": reason_code } })
        }
    };
    // What an agent says of a token is told as over HTTP, so that whoever calls renews it, or asks its user.
    let status = match error.pointer("/data/a2a_error").and_then(Value::as_str) {
        Some("unauthenticated") => StatusCode::UNAUTHORIZED,
        Some("insufficient_scope") => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    };
    let challenge = error.pointer("/data/www_authenticate").and_then(Value::as_str);
    let challenge = challenge.filter(|text| text.len() <= CHALLENGE_MAX);
    let challenge = challenge.and_then(|text| HeaderValue::from_str(text).ok());
    let body = json!({ "jsonrpc": "2.0", "id": call.id, "error": error });
    let mut response = (status, Json(body)).into_response();
    if let Some(challenge) = challenge.filter(|_| status != StatusCode::OK) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

fn failure(id: &RpcId, error: A2aError) -> Response {
    let error = BindingError::A2a(error).to_json();
    Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response()
}
