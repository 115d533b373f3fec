//! Login sessions of browsers, and the throttle on guessing passwords.

use std::time::Duration;

use domain::{Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Identity, Login, Throttle};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode};
use crate::dynamo::{ROUNDS, Written};
use crate::record::digest;
use crate::tasks::expiry;

/// So many failures are free; after that, one try is had each [`LOCKED_FOR`].
pub const MOST_FAILURES: u32 = 5;
/// How long no password is looked at after a failure that is not free.
pub const LOCKED_FOR: Duration = Duration::from_secs(60);
/// How long a failure counts.
const REMEMBERED: Duration = Duration::from_secs(3600);

#[derive(Serialize, Deserialize)]
struct ThrottleItem {
    failures: u32,
    failed_at: Timestamp,
    expires_at: i64,
}

impl ThrottleItem {
    fn is_past(&self, now: Timestamp) -> bool {
        self.expires_at <= now.seconds()
    }

    fn told(&self, counted: bool) -> Throttle {
        let locked = self.failures >= MOST_FAILURES;
        Throttle {
            failures: self.failures,
            locked_until: locked.then(|| self.failed_at.after(LOCKED_FOR)),
            counted,
        }
    }
}

fn login_key(tenant: &Tenant, token_hash: &str) -> Key {
    (
        format!("{}#login#{token_hash}", tenant.prefix()),
        "LOGIN".to_owned(),
    )
}

/// By the name's digest: people type all kinds of things into that field, their password among them.
fn throttle_key(tenant: &Tenant, username: &str) -> Key {
    (
        format!("{}#throttle#{}", tenant.prefix(), digest(username)),
        "THROTTLE".to_owned(),
    )
}

impl Identity<'_> {
    /// Stores a signed-in browser under the hash of its token.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_login(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        login: &Login,
    ) -> Result<(), StoreError> {
        let (key, until) = (login_key(tenant, token_hash), Some(login.expires_at));
        self.store
            .put_record(self.table(), key, "the login", login, until)
            .await
    }

    /// Who is signed in with that token. An expired login is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_login(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Login>, StoreError> {
        let key = login_key(tenant, token_hash);
        let found: Option<Login> = self.store.record(self.table(), &key).await?;
        Ok(found.filter(|login| login.expires_at > now))
    }

    /// Signs a browser out.
    ///
    /// # Errors
    /// What the database says.
    pub async fn delete_login(&self, tenant: &Tenant, token_hash: &str) -> Result<(), StoreError> {
        let key = login_key(tenant, token_hash);
        self.store.remove(self.table(), &key).await
    }

    /// Counts a failure to sign in, where it is not locked already. Counted before the password is looked at, and
    /// cleared where it was right, no burst of parallel guesses gets through: only those with
    /// [`Throttle::counted`] may be tried.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where others are in the way for too long.
    pub async fn count_failure(
        &self,
        tenant: &Tenant,
        username: &str,
        now: Timestamp,
    ) -> Result<Throttle, StoreError> {
        let key = throttle_key(tenant, username);
        let failure = Change::new()
            .set("failed_at", text(now))
            .set("expires_at", number(expiry(now.after(REMEMBERED))))
            .value("now_s", number(now.seconds()));
        let another = failure
            .clone()
            .set_to("failures", "if_not_exists(#failures, :none) + :one")
            .value("none", number(0))
            .value("one", number(1))
            .when("attribute_not_exists(#expires_at) OR #expires_at > :now_s")
            .when("attribute_not_exists(#failures) OR #failures < :most OR #failed_at <= :free_again")
            .value("most", number(MOST_FAILURES))
            .value("free_again", text(now.before(LOCKED_FOR)));
        let first = failure.set("failures", number(1)).when("#expires_at <= :now_s");
        for _ in 0..ROUNDS {
            match self.store.update(self.table(), &key, another.clone()).await? {
                Written::Done(item) => return Ok(self.throttle(item)?.told(true)),
                Written::Refused(None) => {}
                Written::Refused(Some(item)) => {
                    let known = self.throttle(item)?;
                    if !known.is_past(now) {
                        return Ok(known.told(false));
                    }
                    // The failures of long ago count no more.
                    let written = self.store.update(self.table(), &key, first.clone()).await?;
                    if let Written::Done(item) = written {
                        return Ok(self.throttle(item)?.told(true));
                    }
                }
            }
        }
        Err(StoreError::Throttled {
            operation: "UpdateItem",
        })
    }

    /// Forgets the failures of that name: the password was right.
    ///
    /// # Errors
    /// What the database says.
    pub async fn clear_failures(&self, tenant: &Tenant, username: &str) -> Result<(), StoreError> {
        let key = throttle_key(tenant, username);
        self.store.remove(self.table(), &key).await
    }

    /// How often signing in under that name has failed of late.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_throttle(
        &self,
        tenant: &Tenant,
        username: &str,
        now: Timestamp,
    ) -> Result<Throttle, StoreError> {
        let key = throttle_key(tenant, username);
        let Some(item) = self.store.item(self.table(), &key).await? else {
            return Ok(Throttle::default());
        };
        let known = self.throttle(item)?;
        if known.is_past(now) {
            return Ok(Throttle::default());
        }
        Ok(known.told(false))
    }

    fn throttle(&self, item: Item) -> Result<ThrottleItem, StoreError> {
        decode(self.table(), item)
    }
}
