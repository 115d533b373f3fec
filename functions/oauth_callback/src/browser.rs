//! The browser: whose session it has, and whether it is the one that left for the provider.

use consent::{Consent, Started};
use domain::{ExposeSecret, Owner, SecretString};
use edge::cookie::{self, TokenCookie};
use http::HeaderValue;
use store::StoreError;

use crate::state::{State, Visit};

/// What tokens that tie a consent to its browser begin with.
const BINDING_PREFIX: &str = "swb";

/// The owner of the chat session that the browser has with this tenant, where that is still good. Only looked up.
pub(crate) async fn owner(visit: &Visit) -> Result<Option<Owner>, StoreError> {
    let app = &visit.app;
    // Sessions are the tenants'; an agent of the platform has none, and sees nobody's.
    if app.serves_all() {
        return Ok(None);
    }
    let Some(token) = edge::session::presented(&visit.headers, app.tenant(), &app.base) else {
        return Ok(None);
    };
    let (hash, now) = (auth::token::hash(token.expose_secret()), app.clock().now());
    let sessions = app.consents.store.sessions();
    let session = sessions.live_session(app.tenant(), &hash, now).await?;
    Ok(session.map(|session| session.owner))
}

/// Whether a browser that left as the starter's is that still: whoever has signed out meanwhile, was removed or lost their session
/// otherwise is nobody's starter, and what somebody grants there is held as in a stranger's browser.
pub(crate) async fn is_still(visit: &Visit, consent: &Consent) -> Result<bool, StoreError> {
    // An agent of the platform sees nobody's session: there the proof counts that the browser left with.
    if visit.app.serves_all() {
        return Ok(true);
    }
    Ok(owner(visit).await?.as_ref() == Some(&consent.request.owner))
}

/// Gives the browser's session another token, so that a copy of the one before leads to nothing; the cookie to set. A browser that cannot
/// be given one keeps its session.
pub(crate) async fn renewed(visit: &Visit) -> Option<HeaderValue> {
    let app = &visit.app;
    if app.serves_all() {
        return None;
    }
    let done = renew(visit).await;
    done.unwrap_or_else(|error| {
        let error = &error as &dyn std::error::Error;
        tracing::error!(error, "a session got no other token");
        None
    })
}

async fn renew(visit: &Visit) -> Result<Option<HeaderValue>, StoreError> {
    let (app, sessions) = (&visit.app, visit.app.consents.store.sessions());
    let Some(old) = edge::session::presented(&visit.headers, app.tenant(), &app.base) else {
        return Ok(None);
    };
    let (old, now) = (auth::token::hash(old.expose_secret()), app.clock().now());
    let Some(session) = sessions.find_session(app.tenant(), &old, now).await? else {
        return Ok(None);
    };
    let token = edge::session::token(app.entropy());
    let new = auth::token::hash(token.expose_secret());
    let is_there = sessions
        .replace_session(app.tenant(), (&old, &new), &session)
        .await?;
    let lifetime = session.expires_at.since(now);
    let cookie = edge::session::given((app.tenant(), &app.base), &token, lifetime);
    Ok(cookie.filter(|_| is_there))
}

/// A new tie between a browser and a consent.
pub(crate) fn binding(app: &State) -> SecretString {
    auth::token::random(BINDING_PREFIX, app.entropy())
}

/// The cookie that ties. Each consent has its own, so that two can be under way in one browser.
pub(crate) fn binding_cookie(app: &State, consent: &Consent, token: &SecretString) -> Option<HeaderValue> {
    let cookie = TokenCookie {
        name: &binding_name(app, consent),
        token,
        path: &format!("{}/callback", app.base.path().trim_end_matches('/')),
        max_age: Some(consent.expires_at.since(app.clock().now())),
        https: app.is_https(),
    };
    cookie.header()
}

/// True where the browser is the one that left for the provider with this consent.
pub(crate) fn is_bound(visit: &Visit, consent: &Consent, started: &Started) -> bool {
    let name = binding_name(&visit.app, consent);
    let token = cookie::token(&visit.headers, (&name, visit.app.is_https()), BINDING_PREFIX);
    token.is_some_and(|token| auth::token::matches(&started.browser_hash, token.expose_secret()))
}

fn binding_name(app: &State, consent: &Consent) -> String {
    format!("switchyard_{}_consent_{}", app.tenant().prefix(), consent.id)
}
