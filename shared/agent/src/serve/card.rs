//! The card: public, with what caches need; and the extended one for callers who show who they are.

use std::sync::{Arc, OnceLock};

use a2a::card::JwsSignature;
use a2a::{A2aError, Generation};
use auth::KeyError;
use auth::card_signature::CardKeys;
use auth::webhook::SenderKeys;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use domain::Caller;
use serde_json::Value;

use super::caller::unauthenticated;
use super::failed::Failed;
use super::headers;
use crate::Agent;

/// How long a cache may keep a card without asking.
const CACHE: &str = "public, max-age=60";
/// The same for keys, which change seldom; a new one is there before it signs anything.
const KEYS_CACHE: &str = "public, max-age=300";

/// Where the agent's public keys stand, below its URL.
pub(crate) const JWKS: &str = "/.well-known/jwks.json";

/// The card as it is published. Each document is written and signed once, when somebody first asks for it: most processes
/// begin and end without that, and their first answer need not wait for three signatures.
pub(crate) struct Published {
    /// For clients of both generations, who do not say which is theirs.
    both: OnceLock<Document>,
    new: OnceLock<Document>,
    old: OnceLock<Document>,
    /// When this process first had it, in whole seconds: nothing knows better, and it never lies ahead.
    since: i64,
}

struct Document {
    body: Bytes,
    etag: String,
}

impl Published {
    /// Nothing is written yet.
    pub(crate) fn of(agent: &Agent) -> Self {
        Self {
            both: OnceLock::new(),
            new: OnceLock::new(),
            old: OnceLock::new(),
            since: agent.clock.now().seconds(),
        }
    }

    fn document(&self, agent: &Agent, asked: Option<Generation>) -> &Document {
        let place = match asked {
            None => &self.both,
            Some(Generation::V1_0) => &self.new,
            Some(Generation::V0_3) => &self.old,
        };
        place.get_or_init(|| {
            let card = written(agent, &agent.card, asked);
            Document {
                etag: a2a::card::etag(&card),
                body: card.to_string().into(),
            }
        })
    }
}

/// A card as a document of a generation, or of both, signed with the agent's key.
fn written(agent: &Agent, card: &a2a::card::Card, asked: Option<Generation>) -> Value {
    // A generation that there is has a document.
    let mut document = a2a::card::document(card, asked.map(a2a::version)).unwrap_or_default();
    let signed = keys(agent).and_then(|keys| {
        let published = below(agent, JWKS);
        a2a::card::sign(&mut document, |payload| {
            let signed = keys.sign(payload, Some(&published))?;
            Ok::<_, KeyError>(JwsSignature {
                protected: signed.protected,
                signature: signed.signature,
            })
        })
    });
    if let Err(error) = signed {
        tracing::error!(agent = %agent.name, error = %error, "the card goes out unsigned");
    }
    document
}

fn keys(agent: &Agent) -> Result<CardKeys, KeyError> {
    CardKeys::of(&agent.sealer, agent.card.url.as_str())
}

/// An address below the agent's URL.
fn below(agent: &Agent, path: &str) -> String {
    format!("{}{path}", agent.card.url.as_str().trim_end_matches('/'))
}

/// `GET /.well-known/jwks.json`: what the agent's signatures are checked with, those of its card and those of its
/// notifications.
pub(crate) async fn jwks(State(agent): State<Arc<Agent>>) -> Response {
    let of_cards = keys(&agent).map(|keys| keys.public_jwks());
    let of_pushes = SenderKeys::of(&agent.sealer, agent.card.url.as_str()).map(|keys| keys.public_jwks());
    let mut published = Vec::new();
    for keys in [of_cards, of_pushes] {
        match keys {
            Ok(keys) => published.extend(keys),
            Err(error) => tracing::error!(agent = %agent.name, error = %error, "keys cannot be published"),
        }
    }
    let document = serde_json::json!({ "keys": published });
    ([(header::CACHE_CONTROL, KEYS_CACHE)], Json(document)).into_response()
}

/// `GET /.well-known/agent-card.json`.
pub(crate) async fn public(
    State(agent): State<Arc<Agent>>,
    Extension(published): Extension<Arc<Published>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = headers::version(&headers, query.as_deref());
    // Whoever looks for the versions that are spoken here has to see the card first.
    let asked = asked.and_then(|asked| a2a::generation(Some(&asked)).ok());
    let document = published.document(&agent, asked);
    let modified = http_date(published.since);
    let caching = [
        (header::CACHE_CONTROL, CACHE),
        (header::ETAG, document.etag.as_str()),
        (header::LAST_MODIFIED, modified.as_str()),
        (header::VARY, a2a::VERSION_HEADER),
    ];
    if is_known(&headers, document, published.since) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (caching, json, document.body.clone()).into_response()
}

/// Whether the client has this very document already (RFC 9110, 13.1): the tag counts, and the time only without one.
fn is_known(headers: &HeaderMap, document: &Document, since: i64) -> bool {
    let mut tags = headers.get_all(header::IF_NONE_MATCH).iter().peekable();
    if tags.peek().is_some() {
        return tags.any(|told| {
            told.to_str()
                .is_ok_and(|told| a2a::card::matches(told, &document.etag))
        });
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
pub(crate) async fn extended(
    agent: &Agent,
    caller: &Caller,
    generation: Generation,
) -> Result<Value, Failed> {
    if caller.owner.is_anonymous() {
        return Err(Failed::Refused(unauthenticated(agent)));
    }
    let card = agent.executor.extended_card(caller, &agent.card).await;
    let card = card.map_err(|error| {
        tracing::warn!(agent = %agent.name, error = %error, "the extended card cannot be written");
        A2aError::internal()
    })?;
    let card = card.ok_or(A2aError::ExtendedCardNotConfigured)?;
    Ok(written(agent, &card, Some(generation)))
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
            (header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT", true),
            (header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT", false),
            (header::IF_MODIFIED_SINCE, "yesterday", false),
        ] {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(told))]);
            assert_eq!(is_known(&headers, &document, since), known, "{told}");
        }
    }
}
