//! Session cookies: who asks, or nobody yet.
//!
//! The cookie holds a random token; the table holds its hash and the owner it stands for. A guest's owner is made with
//! the first thing the guest asks for, never by a look.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use domain::{ExposeSecret, Owner, SecretString, Tenant};
use http::header::COOKIE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use tracing::Span;
use tracing::field::display;
use url::Url;

use crate::error::RouteError;
use crate::state::AppState;

/// What tokens of sessions begin with, so that scanners and people know one.
const TOKEN_PREFIX: &str = "sws";
/// More is no token of ours.
const TOKEN_MAX: usize = 128;

/// The owner behind the request's session; `None` where it has no session that is still good.
pub(crate) struct Visitor(pub(crate) Option<Owner>);

impl FromRequestParts<Arc<AppState>> for Visitor {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        Span::current().record("tenant.id", display(&room.tenant));
        let Some(token) = token(&parts.headers, &room.tenant) else {
            return Ok(Self(None));
        };
        let hash = auth::token::hash(&token);
        let session = room
            .store
            .sessions()
            .find_session(&room.tenant, &hash, room.clock.now())
            .await?;
        let owner = session.map(|session| session.owner);
        if let Some(owner) = &owner {
            Span::current().record("requester", display(owner));
        }
        Ok(Self(owner))
    }
}

/// Makes a guest and a session for it; the header value is the cookie to set.
pub(crate) async fn welcome_guest(room: &AppState) -> Result<(Owner, HeaderValue), RouteError> {
    let owner = Owner::parse(&format!("guest-{}", room.entropy.uuid()))
        .map_err(|error| RouteError::invalid("invalid_owner", &error.to_string()))?;
    let token = auth::token::random(TOKEN_PREFIX, room.entropy.as_ref());
    let now = room.clock.now();
    let hash = auth::token::hash(token.expose_secret());
    let until = now.after(room.settings.session_lifetime);
    room.store
        .sessions()
        .create_session(&room.tenant, &hash, &owner, now, until)
        .await?;
    Ok((owner, cookie(&token, room)?))
}

fn cookie(token: &SecretString, room: &AppState) -> Result<HeaderValue, RouteError> {
    let text = format!(
        "{}={}; Path={}; Max-Age={}; HttpOnly; SameSite=Lax{}",
        cookie_name(&room.tenant),
        token.expose_secret(),
        cookie_path(&room.base),
        room.settings.session_lifetime.as_secs(),
        if room.base.scheme() == "https" {
            "; Secure"
        } else {
            ""
        },
    );
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| RouteError::invalid("invalid_cookie", "the cookie cannot be written"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn cookie_name(tenant: &Tenant) -> String {
    format!("switchyard_{tenant}")
}

fn cookie_path(base: &Url) -> &str {
    match base.path().trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

fn token(headers: &HeaderMap, tenant: &Tenant) -> Option<String> {
    let name = cookie_name(tenant);
    let cookies = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    let ours = value
        .strip_prefix(TOKEN_PREFIX)
        .is_some_and(|rest| rest.starts_with('_'));
    (ours && value.len() <= TOKEN_MAX).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tenants_own_cookie_counts() {
        let tenant = Tenant::parse("acme").unwrap();
        let read = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(line).unwrap());
            token(&headers, &tenant)
        };
        assert_eq!(read("a=b; switchyard_acme=sws_x; c=d").as_deref(), Some("sws_x"));
        for bad in [
            "switchyard_globex=sws_x",
            "switchyard_acme=",
            "switchyard_acme",
            "switchyard_acme=x",
            "xswitchyard_acme=sws_x",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(read(&format!("switchyard_acme=sws_{}", "x".repeat(500))), None);
    }
}
