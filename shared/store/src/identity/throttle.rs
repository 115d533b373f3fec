//! The brake on guessing passwords: failures are counted by the name that was tried, by who tried and over the whole
//! tenant, in the table, so that every process counts the same.

use std::net::IpAddr;
use std::time::Duration;

use domain::{Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::Identity;
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode};
use crate::dynamo::{ROUNDS, Written};
use crate::record::{digest, record};
use crate::tasks::expiry;

/// So many failures of one name are free; after that a try is had after each lock, which grows.
pub const MOST_FAILURES: u32 = 5;
/// How long no password is looked at after the first failure that is not free; twice as long after each one more.
pub const LOCKED_FOR: Duration = Duration::from_secs(60);
/// A lock grows no longer than this.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// How long a failure counts.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// Failures of one source that are free: many people may sit behind one address.
const MOST_OF_SOURCE: u32 = 30;
/// From so many places on where somebody failed, of late, a tenant asks for work before a password is looked at.
pub const MOST_SOURCES: u32 = 30;

/// What failures are counted by.
#[derive(Debug, Clone, Copy)]
pub enum Brake<'a> {
    /// The user name that was tried.
    Name(&'a str),
    /// Who tried: the address, of IPv6 the network of a customer.
    Source(IpAddr),
    /// The places where somebody failed. It locks nobody: that would be a stranger's way to keep everybody out.
    Tenant,
    /// A browser that its user has signed in with before, by its token's hash. It has a count of its own, so that others
    /// cannot lock it out.
    Device(&'a str),
}

impl Brake<'_> {
    /// By a digest: people type all kinds of things into that field, their password among them.
    fn key(&self, tenant: &Tenant) -> Key {
        let (of, kind) = match self {
            Self::Name(name) => (digest(name), "THROTTLE"),
            Self::Source(IpAddr::V4(ip)) => (digest(&ip.to_string()), "SOURCE"),
            Self::Source(IpAddr::V6(ip)) => {
                let network = ip.segments().map(|segment| format!("{segment:x}"));
                (digest(&network.get(..4).unwrap_or_default().join(":")), "SOURCE")
            }
            Self::Tenant => ("all".to_owned(), "TENANT"),
            Self::Device(hash) => (digest(hash), "DEVICE"),
        };
        (format!("{}#throttle#{of}", tenant.prefix()), kind.to_owned())
    }

    const fn free(&self) -> u32 {
        match self {
            Self::Name(_) | Self::Device(_) => MOST_FAILURES,
            Self::Source(_) => MOST_OF_SOURCE,
            Self::Tenant => u32::MAX,
        }
    }

    /// How long no password is looked at after so many failures.
    fn lock(&self, failures: u32) -> Option<Duration> {
        let more = failures.checked_sub(self.free())?;
        Some(LONGEST.min(LOCKED_FOR * 2_u32.saturating_pow(more.min(16))))
    }
}

/// How often signing in has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttle {
    /// Failures since the last success.
    pub failures: u32,
    /// Until when no password is to be looked at.
    pub locked_until: Option<Timestamp>,
    /// Of [`Identity::count_failure`]: false where it was locked already, and nothing was counted.
    pub counted: bool,
}

impl Throttle {
    /// True where no password is to be looked at now.
    #[must_use]
    pub fn is_locked(&self, now: Timestamp) -> bool {
        self.locked_until.is_some_and(|until| now < until)
    }
}

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

    fn told(&self, brake: &Brake<'_>, counted: bool) -> Throttle {
        Throttle {
            failures: self.failures,
            locked_until: brake.lock(self.failures).map(|lock| self.failed_at.after(lock)),
            counted,
        }
    }
}

impl Identity<'_> {
    /// Counts a failure to sign in, where it is not locked already. Counted before the password is looked at, and
    /// cleared where it was right, no burst of parallel guesses gets through: only those with
    /// [`Throttle::counted`] may be tried.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where others are in the way for too long.
    pub async fn count_failure(
        &self,
        tenant: &Tenant,
        brake: &Brake<'_>,
        now: Timestamp,
    ) -> Result<Throttle, StoreError> {
        let key = brake.key(tenant);
        let failure = Change::new()
            .set("failed_at", text(now))
            .set("expires_at", number(expiry(now.after(REMEMBERED))));
        let one_more = failure
            .clone()
            .set_to("failures", "if_not_exists(#failures, :none) + :one")
            .value("none", number(0))
            .value("one", number(1));
        let free = one_more
            .clone()
            .when("attribute_not_exists(#expires_at) OR #expires_at > :now_s")
            .value("now_s", number(now.seconds()))
            .when("attribute_not_exists(#failures) OR #failures < :free")
            .value("free", number(brake.free()));
        let first = failure
            .set("failures", number(1))
            .when("#expires_at <= :now_s")
            .value("now_s", number(now.seconds()));
        for _ in 0..ROUNDS {
            let known = match self.store.update(self.table(), &key, free.clone()).await? {
                Written::Done(item) => return Ok(self.throttle(item)?.told(brake, true)),
                Written::Refused(None) => continue,
                Written::Refused(Some(item)) => self.throttle(item)?,
            };
            let again = if known.is_past(now) {
                // The failures of long ago count no more.
                first.clone()
            } else if known.told(brake, false).is_locked(now) {
                return Ok(known.told(brake, false));
            } else {
                one_more
                    .clone()
                    .when("#failures = :seen AND #failed_at = :seen_at")
                    .value("seen", number(known.failures))
                    .value("seen_at", text(known.failed_at))
            };
            if let Written::Done(item) = self.store.update(self.table(), &key, again).await? {
                return Ok(self.throttle(item)?.told(brake, true));
            }
        }
        Err(StoreError::Throttled {
            operation: "UpdateItem",
        })
    }

    /// Notes that the work for this challenge was done; false where it had been before.
    ///
    /// # Errors
    /// What the database says.
    pub async fn spend_work(&self, tenant: &Tenant, id: &str, until: Timestamp) -> Result<bool, StoreError> {
        let key = (
            format!("{}#throttle#{}", tenant.prefix(), digest(id)),
            "WORK".to_owned(),
        );
        let spent = record(key, "the work", &(), Some(until))?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let written = self.store.put(self.table(), spent, absent).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// Forgets the failures: the password was right.
    ///
    /// # Errors
    /// What the database says.
    pub async fn clear_failures(&self, tenant: &Tenant, brake: &Brake<'_>) -> Result<(), StoreError> {
        self.store.remove(self.table(), &brake.key(tenant)).await
    }

    /// How often signing in has failed of late.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_throttle(
        &self,
        tenant: &Tenant,
        brake: &Brake<'_>,
        now: Timestamp,
    ) -> Result<Throttle, StoreError> {
        let Some(item) = self.store.item(self.table(), &brake.key(tenant)).await? else {
            return Ok(Throttle::default());
        };
        let known = self.throttle(item)?;
        if known.is_past(now) {
            return Ok(Throttle::default());
        }
        Ok(known.told(brake, false))
    }

    fn throttle(&self, item: Item) -> Result<ThrottleItem, StoreError> {
        decode(self.table(), item)
    }
}
