//! `POST /signin/backchannel`: an issuer says that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0).
//!
//! Its word counts for its own people alone, once, and by its signature: the request itself comes from anywhere.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Owner;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;
use store::audit::{self, Action, Actor};
use store::{StoreError, person_id};
use url::form_urlencoded;

use crate::issuers::SignInIssuer;
use crate::logout_token::{self, LogoutToken};
use crate::sign_in_page::SignInPage;
use crate::signed_in::LIFETIME;
use crate::state::{State, Visit};

/// Longest token that is looked at.
const TOKEN_MAX: usize = 8 * 1024;
/// A session may begin so long after the issuer has let somebody in.
const UNDER_WAY: Duration = Duration::from_secs(600);

/// Whose sessions were ended, where the issuer says it of a session alone.
const UNKNOWN: &str = "unknown";

/// Why an issuer's word does not count.
enum Refused {
    /// It is no logout token of an issuer of ours for us, or was taken before.
    Bad(&'static str),
    /// Its issuer's keys or our tables cannot be had now.
    Later,
}

pub(crate) async fn backchannel(visit: Visit, headers: HeaderMap, body: Bytes) -> Response {
    let app = &visit.app;
    if app.sign_in.all().is_empty() {
        return edge::not_found();
    }
    match take(app, &headers, &body).await {
        Ok(Ended { issuer, person }) => {
            told(app, Actor::Issuer(&issuer), &person, audit::DONE).await;
            ([(CACHE_CONTROL, "no-store")], StatusCode::OK).into_response()
        }
        Err(Refused::Bad(reason)) => {
            told(app, Actor::Unknown, UNKNOWN, "refused").await;
            let body = json!({"error": "invalid_request", "error_description": reason});
            let headers = [(CACHE_CONTROL, "no-store")];
            (StatusCode::BAD_REQUEST, headers, Json(body)).into_response()
        }
        Err(Refused::Later) => edge::later(
            "temporarily_unavailable",
            "nothing was ended; send it again shortly",
        ),
    }
}

/// What an issuer's word has ended, for the log.
struct Ended {
    /// The id of the issuer on the tenant's list.
    issuer: String,
    /// Whose sessions those were.
    person: String,
}

/// Ends what the token says.
async fn take(app: &State, headers: &HeaderMap, body: &Bytes) -> Result<Ended, Refused> {
    let token = token(headers, body).ok_or(Refused::Bad("a form with one logout_token is needed"))?;
    let issuer = issuer(&token).and_then(|issuer| app.sign_in.of_name(&issuer));
    // Our own server has no need of it: what ends there is looked up with each request.
    let issuer = issuer.filter(|issuer| !issuer.is_own());
    let issuer = issuer.ok_or(Refused::Bad("nobody signs in here at the issuer of this token"))?;
    let name = &issuer.provider.issuer;
    let now = app.clock().now();
    let metadata = app.sign_in.told.of(&app.consents.outbound, name, now).await;
    let metadata = metadata.map_err(|error| {
        SignInPage::of_provider(&error);
        Refused::Later
    })?;
    let metadata = metadata.ok_or(Refused::Later)?;
    let checks = app.sign_in.statements(issuer, &metadata);
    let checks = checks.ok_or(Refused::Bad("the issuer does not say where its keys are"))?;
    let claims = checks.read(&token, &logout_token::TYPES, now).await;
    let claims = claims.map_err(|not_taken| match not_taken.refusal {
        auth::Refusal::Unavailable => Refused::Later,
        _ => Refused::Bad("the token is not the issuer's for us, or is too old"),
    })?;
    let told = logout_token::read(&claims).ok_or(Refused::Bad("this is not a logout token"))?;
    let sessions = app.consents.store.sessions();
    if sessions.knows_logout(app.tenant(), name, &told.jti).await? {
        return Err(Refused::Bad("this token was taken before"));
    }
    let person = end(app, issuer, &told).await?;
    // Last: where anything before it fails, the issuer sends it again.
    let until = told.expires_at.after(UNDER_WAY);
    let is_first = sessions
        .note_logout(app.tenant(), (name, &told.jti), until)
        .await?;
    match is_first {
        true => Ok(Ended {
            issuer: issuer.id.clone(),
            person,
        }),
        false => Err(Refused::Bad("this token was taken before")),
    }
}

async fn end(app: &State, issuer: &SignInIssuer, token: &LogoutToken) -> Result<String, StoreError> {
    let sessions = app.consents.store.sessions();
    let (tenant, name, now) = (app.tenant(), issuer.provider.issuer.as_str(), app.clock().now());
    let mut ended = 0;
    if let Some(sid) = &token.sid {
        ended = sessions.end_sid(tenant, (name, sid), now.after(LIFETIME)).await?;
    }
    let id = |subject: &Owner| person_id(name, subject, None).ok();
    let person = token.subject.as_ref().and_then(id);
    // Of one session alone where it is known; an issuer that names it only here has people's sessions ended.
    if let (Some(person), 0) = (&person, ended) {
        // Not later than now: an issuer whose clock is ahead must not keep its people out.
        let at = token.at.min(now.after(Duration::from_millis(1)));
        sessions.end_person(tenant, person, at).await?;
    }
    Ok(person.map_or_else(|| UNKNOWN.to_owned(), |person| person.to_string()))
}

/// The token of the form, which has no other and is a form.
fn token(headers: &HeaderMap, body: &Bytes) -> Option<String> {
    let media = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/x-www-form-urlencoded") || body.len() > TOKEN_MAX {
        return None;
    }
    let mut found = form_urlencoded::parse(body).filter(|(name, _)| name == "logout_token");
    let (first, second) = (found.next()?, found.next());
    second.is_none().then(|| first.1.into_owned())
}

/// Whose the token says it is: enough to choose the keys that it is checked with, and for nothing else.
fn issuer(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Unverified {
        iss: String,
    }
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Unverified = serde_json::from_slice(&payload).ok()?;
    Some(claims.iss)
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "an issuer's word could not be followed"
        );
        Self::Later
    }
}

async fn told(app: &State, actor: Actor<'_>, object: &str, result: &str) {
    let (audit, tenant) = (app.consents.store.audit(app.clock().now()), Some(app.tenant()));
    audit
        .tell(Action::ChatBackchannelLogout, tenant, actor, object, result)
        .await;
}
