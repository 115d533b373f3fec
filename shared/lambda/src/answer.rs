//! From an HTTP response to what the Lambda runtime sends back: one JSON document, or a stream.

use axum::body::{Body, BodyDataStream, to_bytes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use futures_util::future::ready;
use futures_util::stream;
use http::header::SET_COOKIE;
use http::{HeaderMap, Response};
use lambda_runtime::{FunctionResponse, MetadataPrelude, StreamResponse};
use serde_json::{Map, Value, json};

use crate::event::EventError;
use crate::request::Form;
use edge::telemetry;

/// The body of a streaming answer.
pub type LambdaBody = BodyDataStream;

/// What an invocation answers: one JSON document, or a stream.
pub type LambdaResponse = FunctionResponse<Value, LambdaBody>;

/// What an authorizer says of a request: to be let through with this context, or not.
pub(crate) fn policy(method_arn: &str, said: Option<Vec<(&'static str, String)>>) -> Value {
    let effect = if said.is_some() { "Allow" } else { "Deny" };
    let context: Map<String, Value> = said
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    json!({
        // Whoever asks is known to the function behind, and to nobody here.
        "principalId": "anybody",
        "policyDocument": { "Version": "2012-10-17", "Statement": [
            { "Action": "execute-api:Invoke", "Effect": effect, "Resource": method_arn },
        ] },
        "context": context,
    })
}

/// The whole response as one document.
pub(crate) async fn buffered(response: Response<Body>, form: Form) -> Result<LambdaResponse, EventError> {
    let (head, body) = response.into_parts();
    // Bodies are ours, so there is no bound here; Lambda itself refuses more than 6 MB.
    let bytes = to_bytes(body, usize::MAX).await.map_err(EventError::Answer)?;
    let (text, base64) = match std::str::from_utf8(&bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (STANDARD.encode(&bytes), true),
    };
    let status = head.status.as_u16();
    let document = match form {
        Form::Rest => json!({
            "statusCode": status, "multiValueHeaders": lists(&head.headers), "body": text, "isBase64Encoded": base64,
        }),
        Form::HttpApi => {
            let (headers, cookies) = without_cookies(head.headers);
            json!({
                "statusCode": status, "headers": joined(&headers), "cookies": cookies, "body": text,
                "isBase64Encoded": base64,
            })
        }
    };
    Ok(FunctionResponse::BufferedResponse(document))
}

/// The response's head, and its body as it comes.
pub(crate) fn streaming(response: Response<Body>) -> LambdaResponse {
    let (head, body) = response.into_parts();
    let (headers, cookies) = without_cookies(head.headers);
    FunctionResponse::StreamingResponse(StreamResponse {
        metadata_prelude: MetadataPrelude {
            status_code: head.status,
            headers,
            cookies,
        },
        stream: flushed(body).into_data_stream(),
    })
}

/// The body; its end, which is the invocation's, comes when the spans have left.
fn flushed(body: Body) -> Body {
    if !telemetry::is_collecting() {
        return body;
    }
    let end = stream::once(telemetry::flush()).filter_map(|()| ready(None));
    Body::from_stream(body.into_data_stream().chain(end))
}

fn without_cookies(mut headers: HeaderMap) -> (HeaderMap, Vec<String>) {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let cookies = headers.get_all(SET_COOKIE).iter().map(text).collect();
    headers.remove(SET_COOKIE);
    (headers, cookies)
}

fn lists(headers: &HeaderMap) -> Map<String, Value> {
    each(headers, Value::from)
}

fn joined(headers: &HeaderMap) -> Map<String, Value> {
    each(headers, |values| Value::from(values.join(", ")))
}

fn each(headers: &HeaderMap, value: impl Fn(Vec<String>) -> Value) -> Map<String, Value> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .keys()
        .map(|name| {
            (
                name.to_string(),
                value(headers.get_all(name).iter().map(text).collect()),
            )
        })
        .collect()
}
