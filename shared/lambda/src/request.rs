//! From an API Gateway event to the HTTP request that a router sees.
//!
//! The conversion that `lambda_http` brings is not used: it panics on a broken body or host, puts the stage into the
//! path of REST APIs, and resolves dots in paths before a router could refuse them.

use std::fmt::Write as _;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use edge::Source;
use edge::config::BasePath;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use lambda_http::aws_lambda_events::apigw::{ApiGatewayProxyRequest, ApiGatewayV2httpRequest};
use lambda_http::request::LambdaRequest;
use url::form_urlencoded;

use crate::event::{EventError, RestQuery};

/// The form that the answer to a request must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// REST API, payload version 1.
    Rest,
    /// HTTP API or function URL, payload version 2.
    HttpApi,
}

/// The request with what the gateway says of its source.
fn from_source((form, request): Read, source: Option<&str>) -> Read {
    let source = source.and_then(|text| text.parse().ok()).map(Source);
    let request = request.map(|mut request| {
        if let Some(source) = source {
            request.extensions_mut().insert(source);
        }
        request
    });
    (form, request)
}

/// A request as read, or none where it lies outside of the base path.
pub(crate) type Read = (Form, Option<Request<Body>>);

/// Reads a request.
pub(crate) fn read(event: LambdaRequest, query: RestQuery, base: &BasePath) -> Result<Read, EventError> {
    match event {
        LambdaRequest::ApiGatewayV1(event) => read_rest(event, &query, base),
        LambdaRequest::ApiGatewayV2(event) => read_http_api(event, base),
        // The other kinds exist only with features that nobody here asks for.
        _ => Err(EventError::Unknown),
    }
}

fn read_rest(event: ApiGatewayProxyRequest, query: &RestQuery, base: &BasePath) -> Result<Read, EventError> {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    // A REST API leaves the stage out of `path` (it is in `requestContext.path`).
    let path = event.path.unwrap_or_default();
    let mut headers = event.multi_value_headers;
    for (name, value) in &event.headers {
        if !headers.contains_key(name) {
            headers.insert(name, value.clone());
        }
    }
    let body = body(event.body, event.is_base64_encoded)?;
    let source = event.request_context.identity.source_ip;
    let read = request(Form::Rest, event.http_method, &path, &query, headers, body, base)?;
    Ok(from_source(read, source.as_deref()))
}

fn read_http_api(event: ApiGatewayV2httpRequest, base: &BasePath) -> Result<Read, EventError> {
    let path = event.raw_path.unwrap_or_default();
    let stage = event.request_context.stage.unwrap_or_default();
    let path = without_stage(&path, &stage);
    let query = event.raw_query_string.unwrap_or_default();
    let mut headers = event.headers;
    // An HTTP API moves cookies out of the headers.
    if let Some(cookies) = event.cookies.filter(|cookies| !cookies.is_empty()) {
        let joined = HeaderValue::from_str(&cookies.join("; "));
        headers.insert(
            COOKIE,
            joined.map_err(|_| malformed("a cookie is no header value"))?,
        );
    }
    let body = body(event.body, event.is_base64_encoded)?;
    let http = event.request_context.http;
    let read = request(Form::HttpApi, http.method, path, &query, headers, body, base)?;
    Ok(from_source(read, http.source_ip.as_deref()))
}

/// A named stage of an HTTP API is the first part of the raw path; `$default` is not.
fn without_stage<'a>(path: &'a str, stage: &str) -> &'a str {
    match path.strip_prefix('/').and_then(|rest| rest.strip_prefix(stage)) {
        Some("") if !stage.is_empty() => "/",
        Some(rest) if !stage.is_empty() && rest.starts_with('/') => rest,
        _ => path,
    }
}

fn body(text: Option<String>, base64: bool) -> Result<Body, EventError> {
    let text = text.unwrap_or_default();
    if base64 {
        let bytes = STANDARD
            .decode(text)
            .map_err(|_| malformed("the body is not base64"))?;
        Ok(Body::from(bytes))
    } else {
        Ok(Body::from(text))
    }
}

fn request(
    form: Form,
    method: Method,
    path: &str,
    query: &str,
    headers: HeaderMap,
    body: Body,
    base: &BasePath,
) -> Result<Read, EventError> {
    let Some(path) = base.seen(if path.is_empty() { "/" } else { path }) else {
        return Ok((form, None));
    };
    let mut target = encoded(&path);
    if !query.is_empty() {
        target.push('?');
        target.push_str(&encoded(query));
    }
    let uri = Uri::try_from(target).map_err(|_| malformed("the path is none"))?;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok((form, Some(request)))
}

/// Encodes what may not stand in a URI and leaves the rest, percent signs included: gateways decode some of it.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn malformed(reason: &str) -> EventError {
    EventError::Malformed {
        kind: "an API Gateway request",
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_is_stripped_only_as_a_whole_segment() {
        for (path, stage, expect) in [
            ("/prod/tasks", "prod", "/tasks"),
            ("/prod", "prod", "/"),
            ("/production", "prod", "/production"),
            ("/tasks", "$default", "/tasks"),
            ("/tasks", "", "/tasks"),
            ("//tasks", "", "//tasks"),
        ] {
            assert_eq!(without_stage(path, stage), expect, "{path} {stage}");
        }
    }

    #[test]
    fn what_may_not_stand_in_a_uri_is_encoded_once() {
        assert_eq!(encoded("/a b/%20/ø/\u{0}"), "/a%20b/%20/%C3%B8/%00");
        assert_eq!(encoded("/a#b{c}"), "/a%23b%7Bc%7D");
    }
}
