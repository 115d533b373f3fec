//! The browser: whose session it has, and whether it is the one that left for the provider.

use consent::{Consent, Started};
use domain::{ExposeSecret, Owner, SecretString};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use store::StoreError;

use crate::app::{App, Visit};

/// What tokens of chat sessions begin with.
const SESSION_PREFIX: &str = "sws_";
/// What tokens that tie a consent to its browser begin with.
const BINDING_PREFIX: &str = "swb";
/// More is no token of ours.
const TOKEN_MAX: usize = 128;

/// The owner of the chat session that the browser has with this tenant, where that is still good. Only looked up.
pub(crate) async fn owner(visit: &Visit) -> Result<Option<Owner>, StoreError> {
    let app = &visit.app;
    let name = format!("switchyard_{}", app.tenant());
    let Some(token) = cookie(&visit.headers, &name).filter(|token| token.starts_with(SESSION_PREFIX)) else {
        return Ok(None);
    };
    let (hash, now) = (auth::token::hash(token), app.clock().now());
    let sessions = app.consents.store.sessions();
    let session = sessions.find_session(app.tenant(), &hash, now).await?;
    Ok(session.map(|session| session.owner))
}

/// A new tie between a browser and a consent.
pub(crate) fn binding(app: &App) -> SecretString {
    auth::token::random(BINDING_PREFIX, app.entropy())
}

/// The cookie that ties. Each consent has its own, so that two can be under way in one browser.
pub(crate) fn binding_cookie(app: &App, consent: &Consent, token: &SecretString) -> Option<HeaderValue> {
    let secure = match app.base.scheme() {
        "https" => "; Secure",
        _ => "",
    };
    let text = format!(
        "{}={}; Path={}; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
        binding_name(app, consent),
        token.expose_secret(),
        format_args!("{}/callback", app.base.path().trim_end_matches('/')),
        consent.expires_at.since(app.clock().now()).as_secs(),
    );
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// True where the browser is the one that left for the provider with this consent.
pub(crate) fn is_bound(visit: &Visit, consent: &Consent, started: &Started) -> bool {
    let token = cookie(&visit.headers, &binding_name(&visit.app, consent));
    token.is_some_and(|token| auth::token::matches(&started.browser_hash, token))
}

fn binding_name(app: &App, consent: &Consent) -> String {
    format!("switchyard_{}_consent_{}", app.tenant(), consent.id)
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    (value.len() <= TOKEN_MAX).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; xa=2;b=3"));
        headers.append(COOKIE, HeaderValue::from_static("c"));
        headers.append(COOKIE, HeaderValue::from_static("d=4=5"));
        for (name, expect) in [
            ("a", Some("1")),
            ("b", Some("3")),
            ("c", None),
            ("d", Some("4=5")),
            ("e", None),
        ] {
            assert_eq!(cookie(&headers, name), expect, "{name}");
        }
        let long = format!("a={}", "x".repeat(200));
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(&long).unwrap());
        assert_eq!(cookie(&headers, "a"), None);
    }
}
