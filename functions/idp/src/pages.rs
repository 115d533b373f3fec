//! What a person sees: signing in, agreeing, and what went wrong. Plain HTML without scripts, but for the one that works for a sign-in; the templates escape
//! whatever is put into them.
//!
//! `maud` is the templating: checked when compiled, escaping by default, and no dependency at run time but `itoa`.

use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Brand, ExposeSecret as _, Timestamp};
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};
use url::{Host, Url};

use crate::error::unstored;
use crate::request::Asked;
use crate::scope::SCOPES;
use crate::tenant::Here;
use crate::work::Challenge;

const STYLE: &str = include_str!("style.css");
/// What does the work that a challenge asks for: the one script there is, on the one page that has a challenge.
const WORK: &str = include_str!("work.js");

/// The style's source in the content security policy: its hash, so that no other style and no script runs.
static STYLE_SOURCE: LazyLock<String> = LazyLock::new(|| source_of(STYLE));

/// What the pages call themselves where their tenant has not said.
const PRODUCT: &str = "Switchyard";

/// The source of a style or script in the policy.
fn source_of(style: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(style)))
}

/// The accent of the tenant, whose contrast was looked at when it was set; empty without one. A page that asks for a password loads
/// nothing, so there is no logo.
fn accent_of(brand: &Brand) -> String {
    let accent = |(light, dark)| {
        format!(
            ":root {{ --accent: light-dark({light}, {dark}); --accent-strong: light-dark({light}, {dark}); \
             --on-accent: light-dark(#ffffff, #0c1226); }}"
        )
    };
    brand.accents.map(accent).unwrap_or_default()
}

/// A form's target and token.
pub(crate) struct Sent<'a> {
    /// The request's query: the form is sent to where the page came from, with the same request.
    pub(crate) query: &'a str,
    pub(crate) token: &'a str,
}

/// Why the person is asked to sign in once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// Name or password were wrong; which of them is not told.
    Wrong,
    /// There were too many attempts under that name; this many seconds are left.
    Later(u64),
    /// Passwords are tried from many places: something is to be done first.
    Work,
}

/// An attempt that did not sign anybody in.
pub(crate) struct Tried {
    pub(crate) again: Again,
    /// The user name that was typed, where it can be one: nobody has to type it once more.
    pub(crate) name: String,
    /// What the browser does before the next one.
    pub(crate) work: Option<Challenge>,
}

/// How long to wait, as people say it.
fn wait(seconds: u64) -> String {
    match seconds.div_ceil(60) {
        0 | 1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

/// The page to sign in.
pub(crate) fn login(here: &Here, asked: &Asked, sent: &Sent<'_>, tried: Option<&Tried>) -> Response {
    let client = &asked.reply.client.name;
    let again = tried.map(|tried| tried.again);
    let work = tried.and_then(|tried| tried.work.as_ref());
    let hint = asked.login_hint.as_deref().unwrap_or_default();
    let name = tried.map_or(hint, |tried| tried.name.as_str());
    let body = html! {
        h1 { "Sign in" }
        p.quiet { "to continue to " strong { (client) } }
        @match again {
            Some(Again::Wrong) => p.bad role="alert" #fault { "That user name and password do not go together." },
            Some(Again::Later(seconds)) => p.bad role="alert" #fault {
                "There were too many attempts. Try again in " (wait(seconds)) "."
            },
            Some(Again::Work) => p.bad role="alert" #fault {
                "Passwords are being guessed here. Sign in once more: your browser works a few seconds for it."
            },
            None => {},
        }
        form method="post" action={ "?" (sent.query) } data-work=[work.map(|work| &work.id)] data-bits=[work.map(|work| work.bits)] {
            input type="hidden" name="form" value=(sent.token);
            label for="username" { "User name" }
            input #username name="username" value=(name) autocomplete="username" autocapitalize="none" spellcheck="false"
                maxlength="64" required autofocus[name.is_empty()] aria-describedby=[again.map(|_| "fault")];
            label for="password" { "Password" }
            input #password name="password" type="password" autocomplete="current-password" maxlength="256" required
                autofocus[!name.is_empty()] aria-describedby=[again.map(|_| "fault")];
            @if let Some(work) = work {
                input type="hidden" name="work" value=(work.token.expose_secret());
                input type="hidden" name="number";
                p.quiet #working role="status" hidden { "Your browser is at work. This takes some seconds." }
            }
            button name="step" value="login" { "Sign in" }
            button.second name="step" value="cancel" formnovalidate { "Cancel" }
        }
        @if work.is_some() { script { (PreEscaped(WORK)) } }
        @if again.is_some() {
            p.quiet { "If you have forgotten your password, ask an admin of " (here.tenant.name()) " for another one." }
        }
    };
    let status = match again {
        None => StatusCode::OK,
        Some(Again::Wrong) => StatusCode::FORBIDDEN,
        Some(Again::Later(_) | Again::Work) => StatusCode::TOO_MANY_REQUESTS,
    };
    let mut response = page(
        status,
        Some(here),
        "Sign in",
        Some(&asked.reply.redirect_uri),
        &body,
    );
    if let Some(Again::Later(seconds)) = again {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    let policy = response.headers().get(CONTENT_SECURITY_POLICY);
    let policy = policy
        .filter(|_| work.is_some())
        .and_then(|policy| policy.to_str().ok());
    let working = policy.map(|policy| format!("{policy}; script-src {}", source_of(WORK)));
    if let Some(Ok(working)) = working.map(|policy| HeaderValue::from_str(&policy)) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, working);
    }
    response
}

/// The page to agree.
pub(crate) fn consent(
    here: &Here,
    asked: &Asked,
    sent: &Sent<'_>,
    (username, now): (&str, Timestamp),
) -> Response {
    let client = &asked.reply.client.name;
    let wanted = SCOPES.iter().filter(|scope| asked.scopes.contains(scope.name));
    let of_the_issuer = asked.resource == here.issuer;
    let back = Url::parse(&asked.reply.redirect_uri);
    let back = back.as_ref().ok().and_then(Url::host_str);
    // What stands out is the answer of whoever did not start it.
    let is_theirs = asked
        .occasion
        .as_ref()
        .is_none_or(|occasion| occasion.same_browser);
    let second = |is_second: bool| is_second.then_some("second");
    let body = html! {
        h1 { "Allow access?" }
        p.quiet { "You are signed in as " strong { (username) } "." }
        @match &asked.occasion {
            Some(occasion) => p { strong { (client) } " asks for the agent " strong { (occasion.agent) } ", to:" },
            None => p { strong { (client) } " asks to:" },
        }
        ul { @for scope in wanted { li { (scope.words) } } }
        @if let Some(occasion) = &asked.occasion {
            dl {
                dt { "Asked for" }
                dd { "“" (occasion.words) "”" }
                dt { "When" }
                dd { (occasion.ago(now)) }
                @if let Some(place) = &occasion.place {
                    dt { "From" }
                    dd { (place) }
                }
            }
            @if !is_theirs {
                p.bad role="alert" {
                    "This was not started in this browser. If it was not you who wrote that, choose “Do not allow”: "
                    "somebody else may be after what is yours."
                }
            }
        }
        @if !of_the_issuer { p.quiet { "At " code { (asked.resource) } } }
        form method="post" action={ "?" (sent.query) } {
            input type="hidden" name="form" value=(sent.token);
            button class=[second(!is_theirs)] name="step" value="allow" { "Allow" }
            button class=[second(is_theirs)] name="step" value="deny" { "Do not allow" }
            p.quiet {
                @if let Some(back) = back { "You go back to " strong { (back) } " either way. " }
                button.link name="step" value="switch" { "Use another account" }
            }
        }
    };
    page(
        StatusCode::OK,
        Some(here),
        "Allow access?",
        Some(&asked.reply.redirect_uri),
        &body,
    )
}

/// The page to sign out.
pub(crate) fn logout(here: &Here, sent: &Sent<'_>, username: &str, back: Option<&str>) -> Response {
    let body = html! {
        h1 { "Sign out?" }
        p.quiet { "You are signed in as " strong { (username) } "." }
        form method="post" action={ "?" (sent.query) } {
            input type="hidden" name="form" value=(sent.token);
            button name="step" value="logout" { "Sign out" }
            button.second name="step" value="everywhere" { "Sign out everywhere" }
            p.quiet {
                "Everywhere means: in every browser, and for every application that was let in. "
                button.link name="step" value="stay" { "Stay signed in" }
            }
        }
    };
    page(StatusCode::OK, Some(here), "Sign out?", back, &body)
}

/// The page of somebody who is not signed in.
pub(crate) fn signed_out(here: &Here) -> Response {
    let body = html! {
        h1 { "You are signed out" }
        p { "You can close this page." }
    };
    page(StatusCode::OK, Some(here), "You are signed out", None, &body)
}

/// A page that says what went wrong; `again` is a link to begin once more with.
pub(crate) fn fault(status: StatusCode, title: &str, words: &str, again: Option<&str>) -> Response {
    let body = html! {
        h1 { (title) }
        p role="alert" { (words) }
        @match again {
            Some(query) => p { a href={ "?" (query) } { "Try again" } },
            None => p.quiet { "Go back to the application that you came from and begin once more. Nothing was shared with anybody." },
        }
    };
    page(status, None, title, None, &body)
}

/// Without a tenant it is a page of ours.
fn page(status: StatusCode, here: Option<&Here>, title: &str, back: Option<&str>, body: &Markup) -> Response {
    let brand = here.map(|here| here.brand.clone()).unwrap_or_default();
    let product = brand.name.as_deref().unwrap_or(PRODUCT);
    let accent = accent_of(&brand);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) " · " (product) }
                style { (PreEscaped(STYLE)) }
                @if !accent.is_empty() { style { (PreEscaped(&accent)) } }
            }
            body {
                main {
                    p.brand { (product) " " @if let Some(here) = here { span { (here.tenant.name()) } } }
                    (body)
                }
                footer { "Only enter your password on a page whose address you trust." }
            }
        }
    };
    let mut response = unstored((status, markup.into_string()).into_response());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CONTENT_SECURITY_POLICY, policy(back, &accent));
    response
}

/// Nothing but our own style and the tenant's accent. A form may end at the client's redirect URI, because browsers hold `form-action` against
/// the redirect that answers it too.
fn policy(back: Option<&str>, accent: &str) -> HeaderValue {
    let accent = match accent {
        "" => String::new(),
        accent => format!(" {}", source_of(accent)),
    };
    let back = back
        .and_then(source)
        .map(|source| format!(" {source}"))
        .unwrap_or_default();
    let text = format!(
        "default-src 'none'; style-src {}{accent}; form-action 'self'{back}; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_SOURCE,
    );
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(
        "default-src 'none'; frame-ancestors 'none'",
    ))
}

/// A redirect URI as a source of the policy: its origin, or its scheme where the policy has no words for its host.
fn source(uri: &str) -> Option<String> {
    let uri = Url::parse(uri).ok()?;
    let scheme = uri.scheme();
    match (uri.host(), uri.port()) {
        (Some(Host::Domain(_) | Host::Ipv4(_)), port) if matches!(scheme, "http" | "https") => {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            Some(format!("{scheme}://{}{port}", uri.host_str()?))
        }
        _ => Some(format!("{scheme}:")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_becomes_a_source_that_policies_know() {
        for (uri, expect) in [
            (
                "https://acme.example/callback?x=;%20script-src",
                "https://acme.example",
            ),
            ("http://127.0.0.1:3000/t/acme/callback", "http://127.0.0.1:3000"),
            ("http://[::1]:9/callback", "http:"),
            ("com.example.app:/callback", "com.example.app:"),
        ] {
            assert_eq!(source(uri).as_deref(), Some(expect));
        }
        let policy = policy(Some("https://acme.example/callback"), "");
        let policy = policy.to_str().unwrap();
        assert!(
            policy.contains("form-action 'self' https://acme.example;"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
    }

    #[test]
    fn people_are_told_how_long_to_wait() {
        for (seconds, words) in [
            (1, "a minute"),
            (60, "a minute"),
            (61, "2 minutes"),
            (1800, "30 minutes"),
        ] {
            assert_eq!(wait(seconds), words);
        }
    }

    #[test]
    fn what_is_put_into_a_page_is_escaped() {
        let text = html! { p { (String::from("<script>\"&")) } }.into_string();
        assert_eq!(text, "<p>&lt;script&gt;&quot;&amp;</p>");
    }

    #[test]
    fn the_style_has_enough_contrast() {
        // The colours of text on its ground, both schemes: WCAG AA wants 4.5.
        for (ink, ground) in [
            ("535a68", "f3f4f7"),
            ("535a68", "ffffff"),
            ("ffffff", "2747c7"),
            ("a01525", "fdecee"),
            ("2747c7", "ffffff"),
            ("a9b0bf", "101216"),
            ("a9b0bf", "1a1d24"),
            ("10183a", "9db2ff"),
            ("ffb3ba", "3a1a1f"),
            ("9db2ff", "1a1d24"),
        ] {
            for colour in [ink, ground] {
                assert!(STYLE.contains(colour), "{colour} is not in the style any more");
            }
            let (a, b) = (luminance(ink), luminance(ground));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{ink} on {ground}: {contrast:.2}");
        }
    }

    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.03928 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    }
}
