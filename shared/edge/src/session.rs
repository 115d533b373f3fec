//! The cookie of a chat's session: `chat_api` gives it to guests, `oauth_callback` to whoever signs in, and both read it. It
//! holds a random token; the table holds its hash.

use std::time::Duration;

use domain::{Entropy, SecretString, Tenant};
use http::{HeaderMap, HeaderValue};
use url::Url;

use crate::cookie::{self, TokenCookie};

/// What tokens of sessions begin with, so that scanners and people know one.
const TOKEN_PREFIX: &str = "sws";

/// A new token.
#[must_use]
pub fn token(entropy: &dyn Entropy) -> SecretString {
    auth::token::random(TOKEN_PREFIX, entropy)
}

/// The token that a browser has for the tenant at this base.
#[must_use]
pub fn presented(headers: &HeaderMap, tenant: &Tenant, base: &Url) -> Option<SecretString> {
    cookie::token(headers, (&name(tenant), is_https(base)), TOKEN_PREFIX)
}

/// The value of `Set-Cookie` that gives a browser this token for so long.
#[must_use]
pub fn given(
    (tenant, base): (&Tenant, &Url),
    token: &SecretString,
    max_age: Duration,
) -> Option<HeaderValue> {
    let path = match base.path().trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    let cookie = TokenCookie {
        name: &name(tenant),
        token,
        path,
        max_age: Some(max_age),
        https: is_https(base),
    };
    cookie.header()
}

/// The value of `Set-Cookie` that takes the token away.
#[must_use]
pub fn taken(tenant: &Tenant, base: &Url) -> Option<HeaderValue> {
    given((tenant, base), &SecretString::from(""), Duration::ZERO)
}

fn name(tenant: &Tenant) -> String {
    format!("switchyard_{}", tenant.prefix())
}

fn is_https(base: &Url) -> bool {
    base.scheme() == "https"
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret as _;
    use http::header::COOKIE;

    use super::*;

    #[test]
    fn only_the_tenants_own_cookie_counts() {
        let tenant = Tenant::parse("acme").unwrap();
        let base = Url::parse("http://127.0.0.1:3000/t/acme").unwrap();
        let read = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(line).unwrap());
            presented(&headers, &tenant, &base).map(|token| token.expose_secret().to_owned())
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

    #[test]
    fn the_cookie_is_the_tenants_own_where_tenants_share_an_origin() {
        let tenant = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
        let token = SecretString::from("sws_x");
        let set = |base: &str| {
            let base = Url::parse(base).unwrap();
            given((&tenant, &base), &token, Duration::from_secs(60)).unwrap()
        };
        assert_eq!(
            set("http://127.0.0.1:3000/t/acme/"),
            "switchyard_acme.7f3a9c2e=sws_x; HttpOnly; SameSite=Lax; Path=/t/acme; Max-Age=60"
        );
        assert_eq!(
            set("https://acme.example/prod"),
            "__Host-switchyard_acme.7f3a9c2e=sws_x; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60"
        );
        let base = Url::parse("http://127.0.0.1/").unwrap();
        let taken = taken(&tenant, &base).unwrap();
        assert!(
            taken.to_str().unwrap().ends_with("Path=/; Max-Age=0"),
            "{taken:?}"
        );
    }
}
