//! Cookies that hold a token of ours: read from a request within bounds, and set so that scripts and other sites do not
//! get at them.

use std::time::Duration;

use ::cookie::{Cookie, SameSite};
use domain::{ExposeSecret as _, SecretString};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

/// More is no token of ours.
const TOKEN_MAX: usize = 128;
/// Most cookies of one request that are looked at; browsers keep no more than this for one site.
const COOKIES_MAX: usize = 200;

/// What a cookie's name begins with that only this very host can have set, over https (RFC 6265bis, 4.1.3.2): a sibling in
/// the same domain cannot put one of that name into a browser.
const HOST: &str = "__Host-";

/// The name of a cookie on the wire.
fn full(name: &str, https: bool) -> String {
    if https {
        format!("{HOST}{name}")
    } else {
        name.to_owned()
    }
}

/// The token in the cookie of this name, where it begins with the prefix and an underscore. Over https only a cookie counts
/// that this host itself has set. Of several cookies of one name none does: somebody else has set one of them.
#[must_use]
pub fn token(headers: &HeaderMap, (name, https): (&str, bool), prefix: &str) -> Option<SecretString> {
    let name = full(name, https);
    let lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let cookies = lines.flat_map(Cookie::split_parse).take(COOKIES_MAX).flatten();
    let mut own = cookies.filter(|cookie| cookie.name() == name);
    let found = own.next()?;
    if own.next().is_some() {
        tracing::warn!("two cookies of one name; neither counts");
        return None;
    }
    let token = found.value();
    let ours = token
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.starts_with('_'));
    (ours && token.len() <= TOKEN_MAX).then(|| token.into())
}

/// A cookie that holds a token.
#[derive(Debug)]
pub struct TokenCookie<'a> {
    /// Its name.
    pub name: &'a str,
    /// The token; empty to remove the cookie.
    pub token: &'a SecretString,
    /// The path that the browser sends it to, with everything below; over https it is sent everywhere, as the name wants.
    pub path: &'a str,
    /// How long the browser keeps it; until it is closed where none is said.
    pub max_age: Option<Duration>,
    /// False where the site is reached by plain HTTP, on this machine.
    pub https: bool,
}

impl TokenCookie<'_> {
    /// The value of `Set-Cookie`; `None` where a name or a path cannot stand in one. `Lax`, as people come here by links
    /// of other sites.
    #[must_use]
    pub fn header(&self) -> Option<HeaderValue> {
        let path = if self.https { "/" } else { self.path };
        let mut cookie = Cookie::build((full(self.name, self.https), self.token.expose_secret()))
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(self.https)
            .path(path);
        if let Some(age) = self.max_age {
            let seconds = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
            cookie = cookie.max_age(::cookie::time::Duration::seconds(seconds));
        }
        let mut value = HeaderValue::from_str(&cookie.to_string()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_bytes(line).unwrap());
        }
        token(&headers, ("switchyard_acme", false), "sws").map(|token| token.expose_secret().to_owned())
    }

    #[test]
    fn a_token_is_found_under_its_whole_name_in_any_line() {
        for lines in [
            &[&b"switchyard_acme=sws_x=y"[..]][..],
            &[b"a=b; switchyard_acme=sws_x=y;c=d"],
            &[b"a=1", b"c", b"xswitchyard_acme=sws_no;  switchyard_acme=sws_x=y"],
        ] {
            assert_eq!(read(lines).as_deref(), Some("sws_x=y"));
        }
    }

    #[test]
    fn of_two_cookies_of_one_name_none_counts() {
        for lines in [
            &[&b"switchyard_acme=sws_x; switchyard_acme=sws_y"[..]][..],
            &[b"switchyard_acme=sws_x", b"switchyard_acme=sws_x"],
            &[b"switchyard_acme=tossed; switchyard_acme=sws_x"],
        ] {
            assert_eq!(read(lines), None);
        }
    }

    #[test]
    fn over_https_only_what_this_host_has_set_counts() {
        let read = |line: &'static str, https| {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, HeaderValue::from_static(line));
            token(&headers, ("switchyard_acme", https), "sws").is_some()
        };
        assert!(read("__Host-switchyard_acme=sws_x", true));
        // A sibling host of the same domain can set this one, beside ours or alone.
        assert!(!read("switchyard_acme=sws_x", true));
        assert!(read(
            "switchyard_acme=sws_tossed; __Host-switchyard_acme=sws_x",
            true
        ));
        assert!(!read("__Host-switchyard_acme=sws_x", false));
    }

    #[test]
    fn rubbish_is_no_token_and_stands_in_no_ones_way() {
        let long = format!("switchyard_acme=sws_{}", "x".repeat(200));
        let many = "a=b; ".repeat(10_000) + "switchyard_acme=sws_x";
        for line in [
            &b""[..],
            b"=",
            b";;;=;=;",
            b"switchyard_acme",
            b"switchyard_acme=",
            b"switchyard_acme=x",
            b"switchyard_acme=sws",
            b"switchyard_acme=swsx_y",
            b"switchyard_globex=sws_x",
            b"switchyard_acme=\"sws_x\"",
            b"switchyard_acme%3Dsws_x",
            long.as_bytes(),
            many.as_bytes(),
        ] {
            assert_eq!(read(&[line]), None, "{}", String::from_utf8_lossy(line));
        }
        let beside: [&[u8]; 3] = [b"\xff\xfe=\x80", b";=;;", b"switchyard_acme=sws_x"];
        assert_eq!(read(&beside).as_deref(), Some("sws_x"));
    }

    #[test]
    fn a_cookie_is_set_for_its_path_alone_and_hidden_from_scripts_and_logs() {
        let (token, none) = (SecretString::from("sws_x"), SecretString::from(""));
        let cookie = TokenCookie {
            name: "switchyard_acme",
            token: &token,
            path: "/t/acme",
            max_age: Some(Duration::from_secs(60)),
            https: true,
        };
        let value = cookie.header().unwrap();
        assert_eq!(
            value.to_str().unwrap(),
            "__Host-switchyard_acme=sws_x; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60"
        );
        assert!(value.is_sensitive() && !format!("{cookie:?}").contains("sws_x"));
        let local = TokenCookie {
            max_age: None,
            https: false,
            ..cookie
        };
        assert_eq!(
            local.header().unwrap(),
            "switchyard_acme=sws_x; HttpOnly; SameSite=Lax; Path=/t/acme"
        );
        let removed = TokenCookie {
            token: &none,
            max_age: Some(Duration::ZERO),
            ..local
        };
        assert_eq!(
            removed.header().unwrap(),
            "switchyard_acme=; HttpOnly; SameSite=Lax; Path=/t/acme; Max-Age=0"
        );
        let broken = TokenCookie {
            path: "/a\r\nb",
            https: false,
            ..removed
        };
        assert_eq!(broken.header(), None);
    }
}
