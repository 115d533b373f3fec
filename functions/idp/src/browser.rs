//! The browser at the authorization server: the cookie of a form that was shown, and the cookie of a login.
//!
//! Every form carries a token made of the secret in one of the two cookies and of the request it was shown for, so
//! that no other site can send it, and no form can be sent for another request. The secret of a login changes with
//! each login. Only hashes of it are stored.

use std::time::Duration;

use domain::{ExposeSecret as _, SecretString};
use edge::cookie::TokenCookie;
use http::{HeaderMap, HeaderValue};
use store::{Login, StoreError};

use crate::state::AppState;
use crate::tenant::Here;

/// What a login's token begins with.
const LOGIN_PREFIX: &str = "swl";
/// What a form cookie's token begins with.
const FORM_PREFIX: &str = "swf";
/// What the token of a browser begins with that somebody has signed in with before.
const DEVICE_PREFIX: &str = "swd";
/// How long that is remembered.
const DEVICE_FOR: Duration = Duration::from_secs(180 * 24 * 3600);
/// Length of either: prefix, underscore, 43 characters.
const TOKEN_LEN: usize = 3 + 1 + 43;

/// What a browser brought along.
pub(crate) struct Browser {
    form: Option<SecretString>,
    login: Option<SecretString>,
    device: Option<SecretString>,
}

/// A login that is still good, and its secret.
pub(crate) struct SignedIn {
    pub(crate) login: Login,
    /// What they may do in the tenant beside what every member may.
    pub(crate) roles: Vec<String>,
    token: SecretString,
}

/// Which form a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Login,
    Consent,
    Logout,
}

impl Browser {
    pub(crate) fn of(headers: &HeaderMap, app: &AppState, here: &Here) -> Self {
        let read = |name: String, prefix| cookie(headers, (&name, app.is_https()), prefix);
        Self {
            form: read(form_cookie(here), FORM_PREFIX),
            login: read(login_cookie(here), LOGIN_PREFIX),
            device: read(device_cookie(here), DEVICE_PREFIX),
        }
    }

    /// Who is signed in.
    pub(crate) async fn signed_in(
        &self,
        app: &AppState,
        here: &Here,
    ) -> Result<Option<SignedIn>, StoreError> {
        let Some(token) = self.login.clone() else {
            return Ok(None);
        };
        let hash = auth::token::hash(token.expose_secret());
        let identity = app.identity();
        let Some(login) = identity.find_login(&here.tenant, &hash, app.now()).await? else {
            return Ok(None);
        };
        // Whoever was removed, or got another password since, is not signed in any more.
        let user = identity.find_user(&here.tenant, &login.username).await?;
        let user = user.filter(|user| user.subject == login.subject && user.admits(login.auth_time));
        Ok(user.map(|user| SignedIn {
            login,
            roles: user.roles,
            token,
        }))
    }

    /// The hash of the browser's own token, where that user has signed in with it before.
    pub(crate) async fn known_to(
        &self,
        app: &AppState,
        here: &Here,
        username: &str,
    ) -> Result<Option<String>, StoreError> {
        let Some(token) = &self.device else {
            return Ok(None);
        };
        let hash = auth::token::hash(token.expose_secret());
        let identity = app.identity();
        let known = identity.knows_device(&here.tenant, &hash, username).await?;
        Ok(known.then_some(hash))
    }

    /// The token of the login form; none where the browser has no form cookie.
    pub(crate) fn form_token(&self, request: &str) -> Option<String> {
        self.form
            .as_ref()
            .map(|secret| form_token(Form::Login, secret, request))
    }

    /// Makes the form cookie where there is none yet. One that is there stays, for forms in other tabs.
    pub(crate) fn with_form(mut self, app: &AppState, here: &Here) -> (Self, Option<HeaderValue>) {
        if self.form.is_some() {
            return (self, None);
        }
        let token = auth::token::random(FORM_PREFIX, app.entropy());
        let set = set_cookie(&form_cookie(here), &token, None, app, here);
        self.form = Some(token);
        (self, set)
    }
}

impl SignedIn {
    /// The token of the consent form.
    pub(crate) fn form_token(&self, request: &str) -> String {
        form_token(Form::Consent, &self.token, request)
    }

    /// The token of the form to sign out.
    pub(crate) fn logout_token(&self, request: &str) -> String {
        form_token(Form::Logout, &self.token, request)
    }

    /// Ends the login; the value unsets its cookie.
    pub(crate) async fn end(self, app: &AppState, here: &Here) -> Result<Option<HeaderValue>, StoreError> {
        let hash = auth::token::hash(self.token.expose_secret());
        app.identity().delete_login(&here.tenant, &hash).await?;
        Ok(set_cookie(
            &login_cookie(here),
            &String::new().into(),
            Some(Duration::ZERO),
            app,
            here,
        ))
    }
}

/// Begins a login with a secret of its own; the value sets its cookie.
pub(crate) async fn begin(
    app: &AppState,
    here: &Here,
    login: &Login,
) -> Result<Option<HeaderValue>, StoreError> {
    let token = auth::token::random(LOGIN_PREFIX, app.entropy());
    let hash = auth::token::hash(token.expose_secret());
    app.identity().put_login(&here.tenant, &hash, login).await?;
    let lifetime = app.given.settings.login;
    Ok(set_cookie(&login_cookie(here), &token, Some(lifetime), app, here))
}

/// Remembers that the user has signed in with this browser; the value sets its cookie.
pub(crate) async fn remember(
    app: &AppState,
    here: &Here,
    username: &str,
) -> Result<Option<HeaderValue>, StoreError> {
    let token = auth::token::random(DEVICE_PREFIX, app.entropy());
    let hash = auth::token::hash(token.expose_secret());
    let until = app.now().after(DEVICE_FOR);
    let identity = app.identity();
    identity.put_device(&here.tenant, &hash, username, until).await?;
    Ok(set_cookie(
        &device_cookie(here),
        &token,
        Some(DEVICE_FOR),
        app,
        here,
    ))
}

/// Compares in constant time.
pub(crate) fn is_form_token(expected: &str, given: Option<&str>) -> bool {
    given.is_some_and(|given| auth::token::matches(&auth::token::hash(expected), given))
}

fn form_token(form: Form, secret: &SecretString, request: &str) -> String {
    let request = auth::token::hash(request);
    auth::token::hash(&format!("{form:?}.{}.{request}", secret.expose_secret()))
}

fn login_cookie(here: &Here) -> String {
    format!("switchyard_idp_{}", here.tenant.prefix())
}

fn form_cookie(here: &Here) -> String {
    format!("switchyard_idp_form_{}", here.tenant.prefix())
}

fn device_cookie(here: &Here) -> String {
    format!("switchyard_idp_device_{}", here.tenant.prefix())
}

fn cookie(headers: &HeaderMap, name: (&str, bool), prefix: &str) -> Option<SecretString> {
    edge::cookie::token(headers, name, prefix).filter(|token| token.expose_secret().len() == TOKEN_LEN)
}

/// What changes anything is a POST with a form token, so that a cookie alone does nothing.
fn set_cookie(
    name: &str,
    token: &SecretString,
    max_age: Option<Duration>,
    app: &AppState,
    here: &Here,
) -> Option<HeaderValue> {
    let cookie = TokenCookie {
        name,
        token,
        path: &here.path(app),
        max_age,
        https: app.is_https(),
    };
    cookie.header()
}

#[cfg(test)]
mod tests {
    use http::header::COOKIE;

    use super::*;

    #[test]
    fn only_a_token_of_ours_under_its_own_name_counts() {
        let good = format!("swl_{}", "x".repeat(43));
        let read = |line: String| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(&line).unwrap());
            cookie(&headers, ("switchyard_idp_acme", false), LOGIN_PREFIX).is_some()
        };
        assert!(read(format!("a=b; switchyard_idp_acme={good}; c=d")));
        for bad in [
            format!("switchyard_idp_globex={good}"),
            format!("switchyard_idp_acme=swf_{}", "x".repeat(43)),
            format!("switchyard_idp_acme={good}x"),
            "switchyard_idp_acme=".to_owned(),
            "switchyard_idp_acme".to_owned(),
        ] {
            assert!(!read(bad.clone()), "{bad}");
        }
    }

    #[test]
    fn a_form_token_is_for_one_form_one_secret_and_one_request() {
        let secret = |text: &str| SecretString::from(text);
        let token = form_token(Form::Login, &secret("a"), "q=1");
        assert!(is_form_token(&token, Some(&token)));
        for other in [
            form_token(Form::Consent, &secret("a"), "q=1"),
            form_token(Form::Login, &secret("b"), "q=1"),
            form_token(Form::Login, &secret("a"), "q=2"),
        ] {
            assert!(!is_form_token(&token, Some(&other)));
        }
        assert!(!is_form_token(&token, None));
        assert!(!is_form_token(&token, Some("")));
    }
}
