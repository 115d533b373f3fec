//! The users of a tenant, as its operator sees to them: they come, go, and get new passwords. What somebody proved before
//! such a change is worth nothing after it: codes, refresh tokens and sign-ins are older than the user's epoch.

use domain::{Entropy, Owner, SecretString, Tenant, Timestamp};
use store::audit::{self, Action, Actor, Audit};
use store::{Store, User};

use crate::password::hash;
use crate::provision::{NewUser, ProvisionError};
use crate::userinfo::subject_since;

/// Adds a user.
///
/// # Errors
/// [`ProvisionError`]: somebody has that name, or something is wrong with the description.
pub async fn add_user(
    store: &Store,
    tenant: &Tenant,
    user: &NewUser,
    now: Timestamp,
    entropy: &dyn Entropy,
) -> Result<(), ProvisionError> {
    // Somebody of that name may have been here before, whose sign-ins are not the new user's.
    let stored = User {
        subject: Owner::parse(&subject_since(&user.username, now))?,
        since: Some(now),
        not_before: Some(now),
        ..user.stored(hash(&user.password, entropy)?)?
    };
    if !store.identity().add_user(tenant, &stored).await? {
        return Err(ProvisionError::Taken(stored.username));
    }
    told(Action::UserAdd, tenant, &stored.username);
    Ok(())
}

/// Takes a user away: nobody is signed in under that name any more, and nothing can be refreshed.
///
/// # Errors
/// [`ProvisionError::Nobody`], or what the tables say.
pub async fn remove_user(store: &Store, tenant: &Tenant, username: &str) -> Result<(), ProvisionError> {
    let identity = store.identity();
    if identity.find_user(tenant, username).await?.is_none() {
        return Err(ProvisionError::Nobody(username.to_owned()));
    }
    identity.remove_user(tenant, username).await?;
    told(Action::UserRemove, tenant, username);
    Ok(())
}

/// Gives a user another password, and ends whatever was begun with the one before.
///
/// # Errors
/// [`ProvisionError::Nobody`], or what the tables say.
pub async fn reset_user(
    store: &Store,
    tenant: &Tenant,
    username: &str,
    password: &SecretString,
    (now, entropy): (Timestamp, &dyn Entropy),
) -> Result<(), ProvisionError> {
    let hash = hash(password, entropy)?;
    let identity = store.identity();
    let changed = identity.change_user(tenant, username, |user| {
        user.password_hash.clone_from(&hash);
        user.not_before = Some(now);
    });
    if changed.await?.is_none() {
        return Err(ProvisionError::Nobody(username.to_owned()));
    }
    told(Action::UserReset, tenant, username);
    Ok(())
}

fn told(action: Action, tenant: &Tenant, username: &str) {
    let event = Audit {
        action,
        tenant: Some(tenant),
        actor: Actor::Operator,
        object: username,
        result: audit::DONE,
    };
    event.log();
}
