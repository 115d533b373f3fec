//! What stands in for AWS where a function runs outside of this process: as much of Secrets Manager and SQS as the
//! functions ask for, in the JSON protocols that the AWS SDK speaks. Credentials are not looked at: the unguessable part
//! of the path is what lets somebody in, and the gateway listens on the loopback address alone, or where this machine's containers reach it.
//!
//! `GetSecretValue` tells the secrets of now, under the names of [`crate::functions::named`]. `SendMessage` takes wakes for the agents
//! that run in this process; nothing else of SQS is here, as the agents' queues are this process's own.

use std::sync::Arc;
use std::time::Duration;

use agent::{Wake, WakeDoor};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use domain::ExposeSecret;
use edge::queue::LONGEST_DELAY;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::address::plain;
use crate::control::Control;
use crate::data::current::Current;
use crate::functions::named::{secrets, whose};
use crate::options::Outside;

/// What an ARN of a secret here has in front of and behind the name, which AWS ends with six random characters.
const ARN: (&str, &str) = (
    "arn:aws:secretsmanager:eu-north-1:000000000000:secret:",
    "-000000",
);

/// Answers a call of the AWS SDK.
pub(crate) async fn answer(
    State(control): State<Arc<Control>>,
    Path((slug, service)): Path<(String, String)>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let current = control.now();
    let known = auth::token::hash(&current.secrets.aws_slug);
    if method != Method::POST || !auth::token::matches(&known, &slug) {
        return edge::refused(StatusCode::NOT_FOUND, "not_found", "nothing is served here");
    }
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    let (form, answered) = match (service.as_str(), target) {
        ("secretsmanager", Some("secretsmanager.GetSecretValue")) => (
            "application/x-amz-json-1.1",
            get_secret_value((&current, &control.site.outside), &body),
        ),
        ("sqs", Some("AmazonSQS.SendMessage")) => (
            "application/x-amz-json-1.0",
            send_message(&control, &current, &body).await,
        ),
        _ => (
            "application/x-amz-json-1.1",
            Err(Fault(
                "UnknownOperationException",
                "this stands in for GetSecretValue and SendMessage alone",
            )),
        ),
    };
    let mut response = match answered {
        Ok(body) => Json(body).into_response(),
        Err(Fault(kind, message)) => (
            StatusCode::BAD_REQUEST,
            Json(json!({"__type": kind, "message": message, "Message": message})),
        )
            .into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(form));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An error as the SDK reads it: its type and its text.
struct Fault(&'static str, &'static str);

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|_| Fault("SerializationException", "the request cannot be read"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetSecretValue {
    secret_id: String,
    version_stage: Option<String>,
}

fn get_secret_value((current, outside): (&Current, &Outside), body: &[u8]) -> Result<Value, Fault> {
    let asked: GetSecretValue = read(body)?;
    let is_current = asked.version_stage.is_none_or(|stage| stage == "AWSCURRENT");
    let named = asked.secret_id.strip_prefix(ARN.0).map(|rest| {
        let name = rest.strip_suffix(ARN.1);
        name.unwrap_or(rest)
    });
    let name = named.unwrap_or(&asked.secret_id);
    let tenant = whose(current, name);
    let tenant = tenant.and_then(|tenant| current.tenant(&tenant));
    let found = secrets(current, outside, tenant)
        .remove(name)
        .filter(|_| is_current);
    let found = found.ok_or(Fault(
        "ResourceNotFoundException",
        "Secrets Manager can't find the specified secret.",
    ))?;
    Ok(json!({
        "ARN": format!("{}{name}{}", ARN.0, ARN.1),
        "Name": name,
        "SecretString": found.expose_secret(),
        "VersionId": "00000000-0000-4000-8000-000000000000",
        "VersionStages": ["AWSCURRENT"],
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage {
    queue_url: String,
    message_body: String,
    #[serde(default)]
    delay_seconds: u64,
}

async fn send_message(control: &Control, current: &Current, body: &[u8]) -> Result<Value, Fault> {
    let sent: SendMessage = read(body)?;
    let base = format!("{}/", plain(&current.endpoints.sqs));
    let agent = sent.queue_url.strip_prefix(&base);
    let agent = agent.filter(|agent| control.site.names.all().any(|known| known.as_str() == *agent));
    let agent = agent.ok_or(Fault(
        "com.amazonaws.sqs#QueueDoesNotExist",
        "The specified queue does not exist.",
    ))?;
    let delay = Duration::from_secs(sent.delay_seconds);
    if delay > LONGEST_DELAY {
        return Err(Fault("InvalidParameterValue", "DelaySeconds is at most 900"));
    }
    let wake = Wake::parse(&sent.message_body)
        .ok()
        .filter(|wake| wake.key().agent.as_str() == agent)
        .ok_or(Fault(
            "com.amazonaws.sqs#InvalidMessageContents",
            "the message is no wake of this agent",
        ))?;
    let taken = control.site.door.wake(&wake, delay).await;
    taken.map_err(|_| Fault("com.amazonaws.sqs#OverLimit", "the queue takes no more"))?;
    Ok(json!({ "MessageId": control.site.entropy.uuid().to_string() }))
}
