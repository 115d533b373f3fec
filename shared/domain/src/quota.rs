//! What a tenant may use: three service plans, what an operator sets otherwise for one tenant, and each owner's share of it.
//!
//! A tenant without a plan may use [`ServicePlan::NONE`], which is far above what one uses by honest work: who runs the system
//! for themselves meets no limit that nobody has set.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Owner, Timestamp};

/// What may be used, by whoever it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Tasks that begin in a day (UTC).
    pub tasks_per_day: u64,
    /// Tasks at work at once; one that waits for its user is not.
    pub tasks_at_once: u64,
    /// Streams that one owner has open at once.
    pub streams: u64,
    /// Tokens of language models in a day (UTC).
    pub tokens_per_day: u64,
    /// Push notifications that leave its tasks in a minute; those beyond it leave later.
    pub deliveries_per_minute: u64,
    /// Millions of bytes that its tasks, chats and files take, by estimate.
    pub storage_mb: u64,
    /// What its tasks may cost in a month (UTC), by list prices.
    pub dollars_per_month: u64,
}

/// A plan, by the name that operators know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServicePlan {
    /// Its name.
    pub name: &'static str,
    /// What a tenant may use by it.
    pub quota: Quota,
}

/// The quota of these: tasks a day and at once, streams, millions of tokens, deliveries a minute, megabytes, dollars a month.
const fn quota([tasks, at_once, streams, tokens, deliveries, megabytes, dollars]: [u64; 7]) -> Quota {
    Quota {
        tasks_per_day: tasks,
        tasks_at_once: at_once,
        streams,
        tokens_per_day: tokens * 1_000_000,
        deliveries_per_minute: deliveries,
        storage_mb: megabytes,
        dollars_per_month: dollars,
    }
}

impl ServicePlan {
    /// Every plan, the smallest first.
    pub const ALL: [Self; 3] = [
        Self::named("starter", quota([500, 20, 5, 1, 600, 2_000, 20])),
        Self::named("team", quota([5_000, 100, 5, 10, 3_000, 20_000, 200])),
        Self::named("business", quota([50_000, 500, 5, 100, 15_000, 200_000, 2_000])),
    ];
    /// What whoever has no plan may use.
    pub const NONE: Quota = quota([
        10_000_000,
        100_000,
        5,
        1_000_000,
        UNPACED,
        1_000_000_000,
        1_000_000_000,
    ]);

    const fn named(name: &'static str, quota: Quota) -> Self {
        Self { name, quota }
    }

    /// The plan of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plan| plan.name == name)
    }
}

/// So many deliveries a minute and more are not counted.
pub const UNPACED: u64 = 1_000_000_000;
/// Most streams of one owner, whatever their tenant's plan.
pub const STREAMS_OF_OWNER: u64 = 5;
/// The shares of a tenant's quota in hundredths: a user's, for whom no other is set, and a guest's.
const USER: u64 = 10;
const GUEST: u64 = 1;
/// That of all guests together.
const GUESTS: u64 = 20;
/// What all callers without a token may use at open agents, together.
const ANONYMOUS: Quota = quota([1_000_000, 2_000, 200, 0, UNPACED, 0, 0]);
/// The setting with the shares of users that have others.
pub const SHARES: &str = "shares";
/// Most users with a share of their own.
const SHARES_MAX: usize = 50;

impl Quota {
    /// So many hundredths of it, rounded up: at least one of whatever there is. Streams are few for everybody alike; pace, storage and
    /// money have no shares.
    #[must_use]
    pub fn share(self, percent: u64) -> Self {
        let of = |all: u64| all.saturating_mul(percent).div_ceil(100);
        Self {
            tasks_per_day: of(self.tasks_per_day),
            tasks_at_once: of(self.tasks_at_once),
            streams: self.streams.min(STREAMS_OF_OWNER),
            tokens_per_day: of(self.tokens_per_day),
            ..self
        }
    }

    /// What all guests of a tenant may use of it together: many of them leave enough to those who have signed in.
    #[must_use]
    pub fn of_guests(self) -> Self {
        self.share(GUESTS)
    }

    /// An owner's share of it, by the setting with the shares. Everybody without a token is one owner.
    #[must_use]
    pub fn share_of(self, owner: &Owner, shares: Option<&str>) -> Self {
        match owner.is_anonymous() {
            true => ANONYMOUS,
            false => self.share(percent_of(owner, shares)),
        }
    }
}

/// The hundredths of its tenant's quota that an owner may use, by the setting with the shares.
fn percent_of(owner: &Owner, shares: Option<&str>) -> u64 {
    let own = shares.and_then(|shares| each(shares).flatten().find(|(of, _)| *of == owner.as_str()));
    match own {
        Some((_, percent)) => percent,
        None if owner.is_guest() => GUEST,
        None => USER,
    }
}

/// The shares that are set: an owner, `=`, and hundredths, with blanks between them, as no owner has any.
fn each(shares: &str) -> impl Iterator<Item = Option<(&str, u64)>> {
    shares.split_ascii_whitespace().map(|each| {
        let (owner, percent) = each.rsplit_once('=')?;
        Owner::parse(owner).ok()?;
        let percent = percent
            .parse()
            .ok()
            .filter(|percent| (1..=100).contains(percent))?;
        Some((owner, percent))
    })
}

/// Reads the shares of users that have others than a tenth: `user-1=50 user-2=25`.
///
/// # Errors
/// A sentence for whoever wrote it.
pub(crate) fn parse_shares(text: &str) -> Result<(), String> {
    let good = each(text).all(|each| each.is_some()) && each(text).count() <= SHARES_MAX;
    good.then_some(()).ok_or_else(|| {
        format!("{SHARES} is a list of at most {SHARES_MAX} owners with 1 to 100 hundredths each, such as user-1=50 user-2=25")
    })
}

/// What somebody has used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Tasks in a day.
    TasksPerDay,
    /// Tasks at once.
    TasksAtOnce,
    /// Streams at once.
    Streams,
    /// What is kept.
    Storage,
    /// What tasks cost in a month.
    DollarsPerMonth,
}

/// Whose limit it is, which says who can raise it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The owner's share, which the tenant's administrator raises inside the plan.
    Owner,
    /// The tenant's plan, which the operator changes.
    Tenant,
    /// What all guests of the tenant may use of its plan.
    Guests,
}

/// Why nothing is begun: a limit is reached. Its text is for whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct OverQuota {
    /// Which limit.
    pub limit: Limit,
    /// Whose.
    pub whose: Whose,
    /// How much it is.
    pub most: u64,
    /// When asking again makes sense.
    pub until: Timestamp,
}

impl fmt::Display for OverQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most;
        let (who, own) = match self.whose {
            Whose::Owner => ("You have", "your"),
            Whose::Tenant => ("Your organisation has", "your organisation's"),
            Whose::Guests => ("All guests together have", "the guests'"),
        };
        let (task, run, are) = match most {
            1 => ("task", "runs", "is"),
            _ => ("tasks", "run", "are"),
        };
        match self.limit {
            Limit::TasksPerDay if most == 0 => write!(
                f,
                "New tasks are paused; what is at work goes on. Try again later"
            ),
            Limit::TasksPerDay => write!(f, "{who} used today's {most} {task}; more from 00:00 UTC"),
            Limit::TasksAtOnce => write!(
                f,
                "{most} of {own} tasks {run} at once; more when one of them ends"
            ),
            Limit::Streams => write!(
                f,
                "{most} of {own} streams {are} open at once; more when one of them ends"
            ),
            Limit::Storage => write!(
                f,
                "{who} stored {most} MB, as much as may be; less each day, as what is old goes"
            ),
            Limit::DollarsPerMonth => write!(
                f,
                "{who} used this month's {most} dollars; more from the first of the next month"
            ),
        }?;
        f.write_str(", or ask your administrator")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(text: &str) -> Owner {
        Owner::parse(text).unwrap()
    }

    #[test]
    fn a_share_is_a_tenth_rounded_up_and_at_least_one() {
        let [starter, team, _] = ServicePlan::ALL.map(|plan| plan.quota);
        let user = starter.share_of(&owner("user-1"), None);
        assert_eq!((user.tasks_per_day, user.tasks_at_once, user.streams), (50, 2, 5));
        let guest = starter.share_of(&Owner::guest("a").unwrap(), None);
        assert_eq!(
            (guest.tasks_per_day, guest.tasks_at_once, guest.streams),
            (5, 1, 5)
        );
        assert_eq!(team.share(10).tasks_at_once, 10);
        assert_eq!(starter.of_guests().tasks_per_day, 100);
        let none = Quota {
            tasks_at_once: 0,
            ..starter
        };
        assert_eq!(none.share(10).tasks_at_once, 0, "of nothing there is no share");
        assert_eq!(
            starter.share(100),
            Quota {
                streams: 5,
                ..starter
            }
        );
    }

    #[test]
    fn an_admin_raises_one_users_share_and_nobody_elses() {
        let shares = "user-1=50 a=b=25";
        parse_shares(shares).unwrap();
        for (of, percent) in [("user-1", 50), ("a=b", 25), ("user-2", 10), ("user", 10)] {
            assert_eq!(percent_of(&owner(of), Some(shares)), percent, "{of}");
        }
        assert_eq!(ServicePlan::NONE.share_of(&Owner::anonymous(), None), ANONYMOUS);
        let many = "u=1 ".repeat(51);
        for wrong in [
            "user-1",
            "user-1=0",
            "user-1=101",
            "=5",
            "user#1=5",
            "user-1=-5",
            &many,
        ] {
            assert!(parse_shares(wrong).is_err(), "{wrong}");
        }
        parse_shares("").unwrap();
    }

    #[test]
    fn a_refusal_says_what_until_when_and_who_can_raise_it() {
        let over = |limit, whose, most| {
            let until = Timestamp::from_millis(0);
            OverQuota {
                limit,
                whose,
                most,
                until,
            }
            .to_string()
        };
        assert_eq!(
            over(Limit::TasksPerDay, Whose::Owner, 50),
            "You have used today's 50 tasks; more from 00:00 UTC, or ask your administrator"
        );
        assert_eq!(
            over(Limit::TasksAtOnce, Whose::Owner, 10),
            "10 of your tasks run at once; more when one of them ends, or ask your administrator"
        );
        assert_eq!(
            over(Limit::TasksPerDay, Whose::Owner, 1),
            "You have used today's 1 task; more from 00:00 UTC, or ask your administrator"
        );
        assert_eq!(
            over(Limit::TasksPerDay, Whose::Tenant, 500),
            "Your organisation has used today's 500 tasks; more from 00:00 UTC, or ask your administrator"
        );
        assert_eq!(
            over(Limit::TasksAtOnce, Whose::Guests, 4),
            "4 of the guests' tasks run at once; more when one of them ends, or ask your administrator"
        );
        assert_eq!(
            over(Limit::TasksPerDay, Whose::Tenant, 0),
            "New tasks are paused; what is at work goes on. Try again later, or ask your administrator"
        );
        assert_eq!(
            over(Limit::DollarsPerMonth, Whose::Tenant, 20),
            "Your organisation has used this month's 20 dollars; more from the first of the next month, or ask your administrator"
        );
    }
}
