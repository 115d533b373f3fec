//! Sign-in with throttling. Names that nobody has behave like those that somebody has, in words, time and limits.

use std::net::IpAddr;

use domain::Timestamp;
use http::HeaderValue;
use store::audit::{self, Action, Actor};
use store::{Brake, Login, StoreError, Throttle};

use crate::browser::{self, Browser};
use crate::pages::Again;
use crate::password::MAX_PASSWORD;
use crate::state::AppState;
use crate::tenant::Here;

/// Longest user name.
pub(crate) const MAX_USERNAME: usize = 64;

/// What became of an attempt.
pub(crate) enum Attempt {
    /// Signed in; the cookies of the login.
    In(Vec<HeaderValue>),
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
    (browser, source): (&Browser, Option<IpAddr>),
    (name, password): (Option<&str>, Option<&str>),
) -> Result<Attempt, StoreError> {
    let password = password.filter(|password| password.len() <= MAX_PASSWORD);
    let (Some(name), Some(password)) = (name.and_then(username), password) else {
        return Ok(Attempt::Refused(Again::Wrong));
    };
    let (identity, now) = (app.identity(), app.now());
    // Who comes by a browser that this user has signed in with before is not kept out by what others try.
    let device = browser.known_to(app, here, &name).await?;
    let around: Vec<Brake<'_>> = match (&device, source) {
        (Some(_), _) => Vec::new(),
        (None, Some(source)) => vec![Brake::Tenant, Brake::Source(source)],
        (None, None) => vec![Brake::Tenant],
    };
    for brake in &around {
        let throttle = identity.find_throttle(&here.tenant, brake, now).await?;
        if throttle.is_locked(now) {
            failed(here, "locked");
            return Ok(later(throttle, now));
        }
    }
    let own = device.as_deref().map_or(Brake::Name(&name), Brake::Device);
    // Counted before the password is looked at, so that no burst of guesses slips through.
    let throttle = identity.count_failure(&here.tenant, &own, now).await?;
    if !throttle.counted {
        failed(here, "locked");
        return Ok(later(throttle, now));
    }
    let user = identity.find_user(&here.tenant, &name).await?;
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let admitted = app.doorkeeper.admits(hash, password.into()).await;
    let (Some(user), true) = (user, admitted) else {
        for brake in &around {
            identity.count_failure(&here.tenant, brake, now).await?;
        }
        failed(here, "wrong");
        return Ok(Attempt::Refused(Again::Wrong));
    };
    identity.clear_failures(&here.tenant, &own).await?;
    told(here, Actor::Owner(&user.subject), audit::DONE);
    let login = Login {
        subject: user.subject,
        username: user.username,
        auth_time: now,
        expires_at: now.after(app.given.settings.login),
    };
    let mut cookies = Vec::from_iter(browser::begin(app, here, &login).await?);
    if device.is_none() {
        cookies.extend(browser::remember(app, here, &login.username).await?);
    }
    Ok(Attempt::In(cookies))
}

fn later(throttle: Throttle, now: Timestamp) -> Attempt {
    let left = throttle
        .locked_until
        .map_or(1, |until| until.since(now).as_secs().max(1));
    Attempt::Refused(Again::Later(left))
}

/// The name is not told: people type their passwords into its field.
fn failed(here: &Here, result: &'static str) {
    told(here, Actor::Unknown, result);
}

fn told(here: &Here, actor: Actor<'_>, result: &str) {
    Action::IdpSignIn.told(Some(&here.tenant), actor, "session", result);
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
