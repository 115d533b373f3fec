//! The browser: whose session it has, and whether it is the one that left for the provider.

use domain::{ExposeSecret, Owner, SecretString};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use store::{Consent, StoreError};

use crate::Desk;

/// What tokens of chat sessions begin with.
const SESSION_PREFIX: &str = "sws_";
/// What tokens that tie a consent to its browser begin with.
const BINDING_PREFIX: &str = "swb";
/// More is no token of ours.
const TOKEN_MAX: usize = 128;

/// The owner of the chat session that the browser has with this tenant, where that is still good. Only looked up.
pub(crate) async fn owner(desk: &Desk, headers: &HeaderMap) -> Result<Option<Owner>, StoreError> {
    let name = format!("switchyard_{}", desk.tenant);
    let Some(token) = cookie(headers, &name).filter(|token| token.starts_with(SESSION_PREFIX)) else {
        return Ok(None);
    };
    let hash = auth::token::hash(token);
    let now = desk.clock.now();
    let session = desk
        .store
        .sessions()
        .find_session(&desk.tenant, &hash, now)
        .await?;
    Ok(session.map(|session| session.owner))
}

/// A new tie between a browser and a consent.
pub(crate) fn binding(desk: &Desk) -> SecretString {
    auth::token::random(BINDING_PREFIX, desk.entropy.as_ref())
}

/// The cookie that ties. Each consent has its own, so that two can be under way in one browser.
pub(crate) fn binding_cookie(desk: &Desk, consent: &Consent, token: &SecretString) -> Option<HeaderValue> {
    let secure = match desk.base.scheme() {
        "https" => "; Secure",
        _ => "",
    };
    let text = format!(
        "{}={}; Path={}; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
        binding_name(desk, consent),
        token.expose_secret(),
        format_args!("{}/callback", desk.base.path().trim_end_matches('/')),
        consent.expires_at.since(desk.clock.now()).as_secs(),
    );
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// True where the browser is the one that left for the provider with this consent.
pub(crate) fn is_bound(desk: &Desk, consent: &Consent, headers: &HeaderMap) -> bool {
    let token = cookie(headers, &binding_name(desk, consent));
    match (&consent.browser_hash, token) {
        (Some(hash), Some(token)) => auth::token::matches(hash, token),
        _ => false,
    }
}

fn binding_name(desk: &Desk, consent: &Consent) -> String {
    format!("switchyard_{}_consent_{}", desk.tenant, consent.id)
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
