//! Sign-in with throttling. Names that nobody has behave like those that somebody has, in words, time and limits.

use std::net::IpAddr;

use domain::Timestamp;
use http::HeaderValue;
use store::audit::{self, Action, Actor};
use store::{Brake, Login, StoreError, Throttle};

use crate::browser::{self, Browser};
use crate::error::TokenError;
use crate::pages::Again;
use crate::password::MAX_PASSWORD;
use crate::state::AppState;
use crate::tenant::Here;
use crate::work::{self, Challenge, Paid};

/// Longest user name.
pub(crate) const MAX_USERNAME: usize = 64;

/// What became of an attempt.
pub(crate) enum Attempt {
    /// Signed in; the cookies of the login.
    In(Vec<HeaderValue>),
    /// Why, and what is to be done before the next one.
    Refused(Again, Option<Challenge>),
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
    (browser, source, paid): (&Browser, Option<IpAddr>, Paid<'_>),
    (name, password): (Option<&str>, Option<&str>),
) -> Result<Attempt, TokenError> {
    let password = password.filter(|password| password.len() <= MAX_PASSWORD);
    let (Some(name), Some(password)) = (name.and_then(username), password) else {
        return Ok(Attempt::Refused(Again::Wrong, None));
    };
    let (identity, now) = (app.identity(), app.now());
    // Who comes by a browser that this user has signed in with before is not kept out by what others try.
    let device = browser.known_to(app, here, &name).await?;
    let source = source.map(Brake::Source).filter(|_| device.is_none());
    let mut has_failed = source.is_none() && device.is_none();
    if let Some(source) = &source {
        let throttle = identity.find_throttle(&here.tenant, source, now).await?;
        if throttle.is_locked(now) {
            failed(app, here, "locked").await;
            return Ok(later(throttle, now));
        }
        has_failed = throttle.failures > 0;
    }
    // Whoever comes from where nobody has failed of late pays nothing, however many others are at it.
    if has_failed
        && let Some(bits) = asked(app, here).await?
        && !work::is_paid(app, here, paid, bits).await?
    {
        failed(app, here, "unpaid").await;
        return Ok(Attempt::Refused(
            Again::Work,
            Some(work::challenge(app, here, bits)?),
        ));
    }
    let own = device.as_deref().map_or(Brake::Name(&name), Brake::Device);
    // Counted before the password is looked at, so that no burst of guesses slips through.
    let throttle = identity.count_failure(&here.tenant, &own, now).await?;
    if !throttle.counted {
        failed(app, here, "locked").await;
        return Ok(later(throttle, now));
    }
    let user = identity.find_user(&here.tenant, &name).await?;
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let admitted = app.doorkeeper.admits(hash, password.into()).await;
    let (Some(user), true) = (user, admitted) else {
        failed(app, here, "wrong").await;
        if device.is_some() {
            return Ok(Attempt::Refused(Again::Wrong, None));
        }
        // Of a place that is known only its first failure counts: it is places that a tenant's are counted by.
        let is_first = match &source {
            Some(source) => identity.count_failure(&here.tenant, source, now).await?.failures == 1,
            None => true,
        };
        if is_first {
            identity.count_failure(&here.tenant, &Brake::Tenant, now).await?;
        }
        let work = asked(app, here)
            .await?
            .map(|bits| work::challenge(app, here, bits));
        return Ok(Attempt::Refused(Again::Wrong, work.transpose()?));
    };
    identity.clear_failures(&here.tenant, &own).await?;
    told(app, here, Actor::Owner(&user.subject), audit::DONE).await;
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

/// How much work is asked for at the tenant now.
async fn asked(app: &AppState, here: &Here) -> Result<Option<u32>, StoreError> {
    let identity = app.identity();
    let tenant = identity
        .find_throttle(&here.tenant, &Brake::Tenant, app.now())
        .await?;
    Ok(work::bits(tenant.failures))
}

fn later(throttle: Throttle, now: Timestamp) -> Attempt {
    let left = throttle
        .locked_until
        .map_or(1, |until| until.since(now).as_secs().max(1));
    Attempt::Refused(Again::Later(left), None)
}

/// The name is not told: people type their passwords into its field.
async fn failed(app: &AppState, here: &Here, result: &'static str) {
    told(app, here, Actor::Unknown, result).await;
}

async fn told(app: &AppState, here: &Here, actor: Actor<'_>, result: &str) {
    let told = app.tell(Action::IdpSignIn, &here.tenant, actor, "session", result);
    told.await;
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
