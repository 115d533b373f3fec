//! Session cookies: who asks, or nobody yet.
//!
//! The cookie holds a random token; the table holds its hash and the owner it stands for. A guest's owner is made with
//! the first thing the guest asks for, never by a look.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use domain::{ExposeSecret, Owner, SecretString, Tenant};
use edge::cookie::TokenCookie;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use tracing::Span;
use tracing::field::display;
use url::Url;

use crate::error::RouteError;
use crate::state::AppState;

/// What tokens of sessions begin with, so that scanners and people know one.
const TOKEN_PREFIX: &str = "sws";

/// The owner behind the request's session; `None` where it has no session that is still good.
pub(crate) struct Visitor(pub(crate) Option<Owner>);

impl FromRequestParts<Arc<AppState>> for Visitor {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        Span::current().record("tenant.id", room.tenant.name());
        let Some(token) = token(&parts.headers, room) else {
            return Ok(Self(None));
        };
        let hash = auth::token::hash(token.expose_secret());
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
    let cookie = TokenCookie {
        name: &cookie_name(&room.tenant),
        token,
        path: cookie_path(&room.base),
        max_age: Some(room.settings.session_lifetime),
        https: room.base.scheme() == "https",
    };
    cookie
        .header()
        .ok_or_else(|| RouteError::invalid("invalid_cookie", "the cookie cannot be written"))
}

fn cookie_name(tenant: &Tenant) -> String {
    format!("switchyard_{}", tenant.prefix())
}

fn cookie_path(base: &Url) -> &str {
    match base.path().trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

fn token(headers: &HeaderMap, room: &AppState) -> Option<SecretString> {
    let https = room.base.scheme() == "https";
    edge::cookie::token(headers, (&cookie_name(&room.tenant), https), TOKEN_PREFIX)
}

#[cfg(test)]
mod tests {
    use http::header::COOKIE;

    use super::*;

    #[test]
    fn only_the_tenants_own_cookie_counts() {
        let tenant = Tenant::parse("acme").unwrap();
        let read = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(line).unwrap());
            let named = (cookie_name(&tenant), false);
            edge::cookie::token(&headers, (&named.0, named.1), TOKEN_PREFIX)
                .map(|token| token.expose_secret().to_owned())
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
