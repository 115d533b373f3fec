//! The users of a tenant, as its operator and its admins see to them: they come, go, and get new passwords. What somebody proved
//! before such a change is worth nothing after it: codes, refresh tokens and sign-ins are older than the user's epoch.

use std::time::Duration;

use domain::{Entropy, Owner, SecretString, Tenant, Timestamp};
use store::audit::{self, Action, Actor, Entry};
use store::{Store, User};

use crate::password::hashed;
use crate::provision::{NewUser, ProvisionError, known_roles};
use crate::userinfo::subject_since;

/// The users of a tenant, for whoever changes them.
pub struct People<'a> {
    /// The tables.
    pub store: &'a Store,
    /// Whose users.
    pub tenant: &'a Tenant,
    /// Who changes them.
    pub by: Actor<'a>,
    /// When.
    pub now: Timestamp,
}

/// What is new about a user; what is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    /// What to call the user.
    pub display_name: Option<String>,
    /// What the user may do beside what every member may: [`crate::ROLES`].
    pub roles: Option<Vec<String>>,
}

/// A random password: 80 bits, in groups that can be typed. Behind argon2 and a throttle nobody finds it by trying.
#[must_use]
pub fn new_password(entropy: &dyn Entropy) -> SecretString {
    let mut bytes = [0; 10];
    entropy.fill(&mut bytes);
    let groups: Vec<String> = bytes
        .chunks(2)
        .map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    groups.join("-").into()
}

/// A user who comes now, as the tables have one.
///
/// # Errors
/// [`ProvisionError`]: something is wrong with the description.
pub async fn new_user(user: &NewUser, now: Timestamp, entropy: &dyn Entropy) -> Result<User, ProvisionError> {
    // A description that is wrong costs no hash.
    let described = user.stored(String::new())?;
    Ok(User {
        password_hash: hashed(&user.password, entropy).await?,
        // Somebody of that name may have been here before, whose sign-ins are not the new user's.
        subject: Owner::parse(&subject_since(&user.username, now))?,
        since: Some(now),
        not_before: Some(now),
        ..described
    })
}

impl<'a> People<'a> {
    /// The same in the hands of the operator.
    #[must_use]
    pub fn of_operator(store: &'a Store, tenant: &'a Tenant, now: Timestamp) -> Self {
        Self {
            store,
            tenant,
            by: Actor::Operator,
            now,
        }
    }

    /// Adds a user; the user as stored.
    ///
    /// # Errors
    /// [`ProvisionError`]: somebody has that name, or something is wrong with the description.
    pub async fn add(
        &self,
        user: &NewUser,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<User, ProvisionError> {
        let stored = new_user(user, now, entropy).await?;
        let entry = self.entry(Action::UserAdd, &stored.username);
        let store = self.store.telling(&entry);
        if !store.identity().add_user(self.tenant, &stored).await? {
            return Err(ProvisionError::Taken(stored.username));
        }
        entry.tell(&store).await;
        Ok(stored)
    }

    /// Takes a user away: nobody is signed in under that name any more, and nothing can be refreshed.
    ///
    /// # Errors
    /// [`ProvisionError::Nobody`], or what the tables say.
    pub async fn remove(&self, username: &str) -> Result<(), ProvisionError> {
        let identity = self.store.identity();
        if identity.find_user(self.tenant, username).await?.is_none() {
            return Err(ProvisionError::Nobody(username.to_owned()));
        }
        identity.remove_user(self.tenant, username).await?;
        self.entry(Action::UserRemove, username).tell(self.store).await;
        Ok(())
    }

    /// Gives a user another password, and ends whatever was begun with the one before.
    ///
    /// # Errors
    /// [`ProvisionError::Nobody`], or what the tables say.
    pub async fn reset(
        &self,
        username: &str,
        password: &SecretString,
        (now, entropy): (Timestamp, &dyn Entropy),
    ) -> Result<(), ProvisionError> {
        let hash = hashed(password, entropy).await?;
        let reset = |user: &mut User| user.reset(&hash, now);
        self.changed(Action::UserReset, username, reset).await.map(drop)
    }

    /// Calls a user something else, or gives them other roles; the user as stored. Both count at once, wherever they are signed in.
    ///
    /// # Errors
    /// [`ProvisionError`]: there is no such user, or no such role.
    pub async fn change(&self, username: &str, change: &UserChange) -> Result<User, ProvisionError> {
        known_roles(change.roles.iter().flatten())?;
        let new = |user: &mut User| {
            if let Some(name) = &change.display_name {
                user.display_name.clone_from(name);
            }
            if let Some(roles) = &change.roles {
                user.roles.clone_from(roles);
            }
        };
        self.changed(Action::UserChange, username, new).await
    }

    /// Ends whatever a user has proved up to now; the password stays.
    ///
    /// # Errors
    /// [`ProvisionError::Nobody`], or what the tables say.
    pub async fn end(&self, username: &str, now: Timestamp) -> Result<(), ProvisionError> {
        let at = now.after(Duration::from_millis(1));
        let ended = |user: &mut User| user.end(at);
        self.changed(Action::UserEnd, username, ended).await.map(drop)
    }

    async fn changed(
        &self,
        action: Action,
        username: &str,
        change: impl Fn(&mut User),
    ) -> Result<User, ProvisionError> {
        let identity = self.store.identity();
        let changed = identity.change_user(self.tenant, username, change).await?;
        let changed = changed.ok_or_else(|| ProvisionError::Nobody(username.to_owned()))?;
        self.entry(action, username).tell(self.store).await;
        Ok(changed)
    }

    fn entry(&self, action: Action, username: &str) -> Entry {
        let audit = self.store.audit(self.now);
        audit.entry(action, Some(self.tenant), self.by, username, audit::DONE)
    }
}
