//! Sign-in with throttling. Names that nobody has behave like those that somebody has, in words, time and limits.

use http::HeaderValue;
use store::{Login, StoreError};

use crate::browser;
use crate::pages::Again;
use crate::password::MAX_PASSWORD;
use crate::state::AppState;
use crate::tenant::Here;

/// Longest user name.
pub(crate) const MAX_USERNAME: usize = 64;

/// What became of an attempt.
pub(crate) enum Attempt {
    /// Signed in; the cookie of the login.
    In(HeaderValue),
    Refused(Again),
}

/// A user name in its one spelling, where it can be one.
pub(crate) fn username(text: &str) -> Option<String> {
    let name = text.trim().to_lowercase();
    let fits = !name.is_empty()
        && name.len() <= MAX_USERNAME
        && !name
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == '#');
    fits.then_some(name)
}

pub(crate) async fn attempt(
    app: &AppState,
    here: &Here,
    name: Option<&str>,
    password: Option<&str>,
) -> Result<Attempt, StoreError> {
    let password = password.filter(|password| password.len() <= MAX_PASSWORD);
    let (Some(name), Some(password)) = (name.and_then(username), password) else {
        return Ok(Attempt::Refused(Again::Wrong));
    };
    let (identity, now) = (app.identity(), app.now());
    // Counted before the password is looked at, so that no burst of guesses slips through.
    let throttle = identity.count_failure(&here.tenant, &name, now).await?;
    if !throttle.counted {
        let left = throttle
            .locked_until
            .map_or(1, |until| until.since(now).as_secs().max(1));
        return Ok(Attempt::Refused(Again::Later(left)));
    }
    let user = identity.find_user(&here.tenant, &name).await?;
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let admitted = app.doorkeeper.admits(hash, password.into()).await;
    let (Some(user), true) = (user, admitted) else {
        tracing::info!(failures = throttle.failures, "a login failed");
        return Ok(Attempt::Refused(Again::Wrong));
    };
    identity.clear_failures(&here.tenant, &name).await?;
    let login = Login {
        subject: user.subject,
        username: user.username,
        auth_time: now,
        expires_at: now.after(app.given.settings.login),
    };
    let cookie = browser::begin(app, here, &login).await?;
    Ok(cookie.map_or(Attempt::Refused(Again::Wrong), Attempt::In))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_name_has_one_spelling() {
        assert_eq!(username(" Ada ").as_deref(), Some("ada"));
        let long = "a".repeat(65);
        for bad in ["", " ", "a b", "a#b", "a\0", long.as_str()] {
            assert_eq!(username(bad), None, "{bad:?}");
        }
    }
}
