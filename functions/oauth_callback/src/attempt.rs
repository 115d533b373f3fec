//! One attempt to sign in, between the browser's leave and its return. Nothing of it is stored here: whoever merely follows a
//! link costs no write. The browser keeps one random secret in a cookie, and everything else follows from that secret and the
//! `state`: that the state is ours and this browser's, the PKCE verifier, the nonce. So an answer counts in the one browser
//! that left, for ten minutes; a second time it does not, as the code in it is used up.

use std::time::Duration;

use domain::{ExposeSecret, SecretString, Timestamp};
use edge::cookie::{self, TokenCookie};
use http::{HeaderMap, HeaderValue};

use crate::asked::Prompt;
use crate::state::State;
use crate::way_back::WayBack;

/// What the secrets begin with.
const PREFIX: &str = "swn";
/// How long somebody may take to sign in.
const LIFETIME: Duration = Duration::from_secs(600);

/// What the browser was sent off with.
pub(crate) struct Attempt {
    secret: SecretString,
    state: String,
    pub(crate) back: WayBack,
    /// The id of the issuer that it leads to.
    pub(crate) issuer: String,
    /// Whether the issuer was told to ask nothing.
    pub(crate) is_silent: bool,
}

/// Why an answer belongs to no attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// This browser has not left to sign in, or has forgotten it.
    NotHere,
    /// Not with this state.
    NotThis,
    /// It has taken too long.
    Late,
}

impl Attempt {
    /// A new one. A browser that is on its way in another tab keeps its secret, and both may come back.
    pub(crate) fn begin(
        app: &State,
        headers: &HeaderMap,
        (issuer, prompt): (&str, Prompt),
        back: WayBack,
    ) -> Self {
        let secret = kept(app, headers).unwrap_or_else(|| auth::token::random(PREFIX, app.entropy()));
        let now = app.clock().now().millis();
        let told = format!(
            "{now}.{}.{issuer}.{}.{}",
            app.entropy().uuid(),
            prompt.mark(),
            back.as_str()
        );
        let state = format!("{}.{told}", derived(&secret, "state", &told));
        Self {
            secret,
            state,
            back,
            issuer: issuer.to_owned(),
            is_silent: prompt == Prompt::Silent,
        }
    }

    /// The one that an answer belongs to.
    pub(crate) fn resume(app: &State, headers: &HeaderMap, state: &str) -> Result<Self, Lost> {
        let secret = kept(app, headers).ok_or(Lost::NotHere)?;
        let (proof, told) = state.split_once('.').ok_or(Lost::NotThis)?;
        let expected = auth::token::hash(&derived(&secret, "state", told));
        if !auth::token::matches(&expected, proof) {
            return Err(Lost::NotThis);
        }
        let mut parts = told.splitn(5, '.');
        let begun = parts.next().and_then(|text| text.parse().ok());
        let begun = Timestamp::from_millis(begun.ok_or(Lost::NotThis)?);
        let issuer = parts.nth(1).ok_or(Lost::NotThis)?.to_owned();
        let is_silent = parts.next() == Some(Prompt::Silent.mark());
        let back = WayBack::read(parts.next().unwrap_or_default());
        if begun.after(LIFETIME) <= app.clock().now() {
            return Err(Lost::Late);
        }
        Ok(Self {
            secret,
            state: state.to_owned(),
            back,
            issuer,
            is_silent,
        })
    }

    /// What ties the answer to the browser.
    pub(crate) fn state(&self) -> &str {
        &self.state
    }

    /// The PKCE verifier: 43 characters, as RFC 7636 wants at least.
    pub(crate) fn verifier(&self) -> SecretString {
        derived(&self.secret, "verifier", &self.state).into()
    }

    /// What ties the identity token to the attempt.
    pub(crate) fn nonce(&self) -> SecretString {
        derived(&self.secret, "nonce", &self.state).into()
    }

    /// The cookie that keeps the secret.
    pub(crate) fn cookie(&self, app: &State) -> Option<HeaderValue> {
        set(app, &self.secret, LIFETIME)
    }
}

/// Takes the secret away.
pub(crate) fn forgotten(app: &State) -> Option<HeaderValue> {
    set(app, &SecretString::from(""), Duration::ZERO)
}

fn kept(app: &State, headers: &HeaderMap) -> Option<SecretString> {
    cookie::token(headers, (&name(app), app.is_https()), PREFIX)
}

fn set(app: &State, secret: &SecretString, max_age: Duration) -> Option<HeaderValue> {
    let cookie = TokenCookie {
        name: &name(app),
        token: secret,
        path: &format!("{}/signin", app.base.path().trim_end_matches('/')),
        max_age: Some(max_age),
        https: app.is_https(),
    };
    cookie.header()
}

fn name(app: &State) -> String {
    format!("switchyard_{}_signin", app.tenant().prefix())
}

/// The text's hash has a fixed length, so that nothing can be appended to what is hashed with the secret.
fn derived(secret: &SecretString, what: &str, text: &str) -> String {
    let text = auth::token::hash(&format!("{what}.{text}"));
    auth::token::hash(&format!("{}.{text}", secret.expose_secret()))
}
