//! Who signed in last in this browser: whether it was somebody else, and at which issuer.
//!
//! The cookie leads to nothing. Whoever changes it in their own browser changes which answer a question suggests there.

use std::time::Duration;

use domain::{ExposeSecret, Owner, SecretString};
use edge::cookie::{self, TokenCookie};
use http::{HeaderMap, HeaderValue};

use crate::state::State;

/// What the cookie begins with.
const PREFIX: &str = "swp";
/// Longest that browsers keep a cookie (RFC 6265bis).
const KEPT: Duration = Duration::from_secs(400 * 24 * 3600);
/// Stands for more than one person.
const SEVERAL: &str = "several";

/// What a browser says.
pub(crate) struct Before {
    who: String,
    pub(crate) issuer: String,
}

impl Before {
    /// What this browser says; `None` where nobody has signed in in it.
    pub(crate) fn of(app: &State, headers: &HeaderMap) -> Option<Self> {
        let token = cookie::token(headers, (&name(app), app.is_https()), PREFIX)?;
        let told = token.expose_secret().strip_prefix(PREFIX)?.strip_prefix('_')?;
        let (who, issuer) = told.split_once('.')?;
        Some(Self {
            who: who.to_owned(),
            issuer: issuer.to_owned(),
        })
    }

    /// Whether that was anybody but this person.
    pub(crate) fn was_another(&self, app: &State, person: &Owner) -> bool {
        self.who != mark(app, person)
    }
}

/// The cookie that says that this person has signed in here; `shared` where somebody else had before.
pub(crate) fn cookie(app: &State, (person, issuer): (&Owner, &str), shared: bool) -> Option<HeaderValue> {
    let who = if shared {
        SEVERAL.to_owned()
    } else {
        mark(app, person)
    };
    let token = SecretString::from(format!("{PREFIX}_{who}.{issuer}"));
    let base = app.base.path().trim_end_matches('/');
    let cookie = TokenCookie {
        name: &name(app),
        token: &token,
        path: if base.is_empty() { "/" } else { base },
        max_age: Some(KEPT),
        https: app.is_https(),
    };
    cookie.header()
}

fn mark(app: &State, person: &Owner) -> String {
    auth::token::hash(&format!("signed in before/{}/{person}", app.tenant().prefix()))
}

fn name(app: &State) -> String {
    format!("switchyard_{}_person", app.tenant().prefix())
}
