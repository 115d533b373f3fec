//! The card: public, with what caches need; and the extended one for callers who show who they are.

use std::sync::Arc;

use a2a::{A2aError, Generation};
use axum::body::Bytes;
use axum::extract::Extension;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use domain::Caller;
use serde_json::Value;

use super::caller::unauthenticated;
use super::headers;
use super::operation::Failed;
use crate::Agent;

/// How long a cache may keep a card without asking.
const CACHE: &str = "public, max-age=60";
/// The card depends on who asks in which version.
const VARY: HeaderName = HeaderName::from_static("vary");

/// The card as it is published, written once.
pub(crate) struct Published {
    /// For clients of both generations.
    both: Document,
    /// For clients that say that they are of 0.3.
    old: Document,
    /// When this process first had it, in whole seconds: nothing knows better, and it never lies ahead.
    since: i64,
}

struct Document {
    body: Bytes,
    etag: String,
}

impl Published {
    /// Writes the card.
    pub(crate) fn of(agent: &Agent) -> Self {
        let document = |generation| {
            let body = written(&agent.card, generation).to_string();
            Document {
                etag: format!("\"{}\"", auth::token::hash(&body)),
                body: body.into(),
            }
        };
        Self {
            both: document(Generation::V1_0),
            old: document(Generation::V0_3),
            since: agent.clock.now().seconds(),
        }
    }
}

/// A card as a document.
fn written(card: &a2a::card::Card, generation: Generation) -> Value {
    a2a::card::encode(card, generation)
}

/// `GET /.well-known/agent-card.json`.
pub(crate) async fn public(Extension(published): Extension<Arc<Published>>, headers: HeaderMap) -> Response {
    let version = headers::version(&headers, None);
    let document = match a2a::generation(version.as_deref()) {
        Ok(Generation::V0_3) if version.is_some() => &published.old,
        // Whoever looks for the versions we speak has to see the card first.
        _ => &published.both,
    };
    let modified = http_date(published.since);
    let caching = [
        (header::CACHE_CONTROL, CACHE),
        (header::ETAG, document.etag.as_str()),
        (header::LAST_MODIFIED, modified.as_str()),
        (VARY, a2a::VERSION_HEADER),
    ];
    if is_known(&headers, document, published.since) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (caching, json, document.body.clone()).into_response()
}

/// Whether the client has this very document already (RFC 9110, 13.1): the tag counts, and the time only without one.
fn is_known(headers: &HeaderMap, document: &Document, since: i64) -> bool {
    let mut tags = headers
        .get_all(header::IF_NONE_MATCH)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|told| told.split(','))
        .map(str::trim)
        .peekable();
    if tags.peek().is_some() {
        return tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == document.etag);
    }
    headers
        .get(header::IF_MODIFIED_SINCE)
        .and_then(|value| DateTime::parse_from_rfc2822(value.to_str().ok()?).ok())
        .is_some_and(|at| at.timestamp() >= since)
}

/// RFC 9110, 5.6.7.
fn http_date(seconds: i64) -> String {
    let at: DateTime<Utc> = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// The card that this caller sees; nobody sees it without having shown who they are.
pub(crate) fn extended(agent: &Agent, caller: &Caller, generation: Generation) -> Result<Value, Failed> {
    if caller.owner.is_anonymous() {
        return Err(Failed::Refused(unauthenticated(agent)));
    }
    let card = agent.executor.extended_card(caller, &agent.card);
    let card = card.ok_or(A2aError::ExtendedCardNotConfigured)?;
    Ok(written(&card, generation))
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    #[test]
    fn what_a_client_knows_is_not_sent_again() {
        let document = Document {
            body: Bytes::new(),
            etag: "\"abc\"".into(),
        };
        let since = Timestamp::parse("1994-11-06T08:49:37Z").unwrap().seconds();
        assert_eq!(http_date(since), "Sun, 06 Nov 1994 08:49:37 GMT");
        for (name, told, known) in [
            (header::IF_NONE_MATCH, "\"abc\"", true),
            (header::IF_NONE_MATCH, "\"x\", W/\"abc\"", true),
            (header::IF_NONE_MATCH, "*", true),
            (header::IF_NONE_MATCH, "\"ab\"", false),
            (header::IF_NONE_MATCH, "abc", false),
            (header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT", true),
            (header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT", false),
            (header::IF_MODIFIED_SINCE, "yesterday", false),
        ] {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(told))]);
            assert_eq!(is_known(&headers, &document, since), known, "{told}");
        }
    }
}
