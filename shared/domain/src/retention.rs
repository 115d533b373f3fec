//! How long things of a tenant's people are kept: what its admins set, within what the platform allows.

use std::time::Duration;

/// The setting with how long things are kept, such as `chats=90 tasks=14`, in days.
pub const RETENTION: &str = "retention";

const DAY: u64 = 24 * 3600;

/// A kind of things that ends some time after something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// Tasks, after they are over, with their logs.
    Tasks,
    /// Chats, after their last message, with all that is in them: messages, answers, files, feedback.
    Chats,
    /// Records of consents, after their links ended.
    Consents,
    /// Grants, after their tokens were last renewed.
    Grants,
    /// Shares, after they were made.
    Shares,
    /// Subscriptions of browsers, after the browser was last here.
    Subscriptions,
    /// Entries of the audit, after what they tell of.
    Audit,
}

impl Lasting {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Tasks,
        Self::Chats,
        Self::Consents,
        Self::Grants,
        Self::Shares,
        Self::Subscriptions,
        Self::Audit,
    ];

    /// What it is called in the setting.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Chats => "chats",
            Self::Consents => "consents",
            Self::Grants => "grants",
            Self::Shares => "shares",
            Self::Subscriptions => "subscriptions",
            Self::Audit => "audit",
        }
    }

    /// For how many days it is kept at least, where nothing is set, and at most.
    #[must_use]
    pub fn days(self) -> [u64; 3] {
        match self {
            Self::Tasks => [1, 30, 3650],
            Self::Chats => [1, 365, 3650],
            Self::Consents => [1, 30, 365],
            Self::Grants => [1, 365, 3650],
            Self::Shares => [1, 7, 90],
            Self::Subscriptions => [1, 30, 365],
            Self::Audit => [30, 365, 3650],
        }
    }
}

/// How long things are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention([Option<u64>; Lasting::ALL.len()]);

impl Retention {
    /// Reads what is set.
    ///
    /// # Errors
    /// A sentence for whoever wrote it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut said = Self::default();
        for each in text.split_ascii_whitespace() {
            let one = each.split_once('=').and_then(|(name, days)| {
                let kept = Lasting::ALL.into_iter().find(|kept| kept.name() == name)?;
                Some((kept, days.parse::<u64>().ok()?))
            });
            let (kept, days) = one.ok_or_else(|| {
                let names = Lasting::ALL.map(Lasting::name).join(", ");
                format!("{RETENTION} is kinds with days, such as chats=90 tasks=14; the kinds are {names}")
            })?;
            let [least, _, most] = kept.days();
            if !(least..=most).contains(&days) {
                let name = kept.name();
                return Err(format!("{RETENTION} of {name} is {least} to {most} days"));
            }
            if let Some(place) = said.0.get_mut(kept as usize) {
                *place = Some(days);
            }
        }
        Ok(said)
    }

    /// What is set of a kind.
    #[must_use]
    pub fn set(&self, kept: Lasting) -> Option<Duration> {
        let days = self.0.get(kept as usize).copied().flatten();
        days.map(|days| Duration::from_secs(days * DAY))
    }

    /// How long a kind is kept.
    #[must_use]
    pub fn of(&self, kept: Lasting) -> Duration {
        let [_, usual, _] = kept.days();
        self.set(kept).unwrap_or(Duration::from_secs(usual * DAY))
    }

    /// The longest of them but the audit: nothing else of somebody is left so long after they were here.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Lasting::ALL
            .into_iter()
            .filter(|kept| *kept != Lasting::Audit)
            .map(|kept| self.of(kept))
            .max()
            .unwrap_or_default()
    }
}

/// What the settings say of it. A value that is none counts as absent.
#[must_use]
pub fn retention_of<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> Retention {
    let set = setting(RETENTION).and_then(|value| Retention::parse(value).ok());
    set.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_sets_days_within_what_the_platform_allows() {
        let days = |text: &str, kept: Lasting| Retention::parse(text).unwrap().of(kept).as_secs() / DAY;
        assert_eq!(days("", Lasting::Chats), 365);
        assert_eq!(days("chats=90 tasks=14", Lasting::Chats), 90);
        assert_eq!(days("chats=90 tasks=14", Lasting::Tasks), 14);
        assert_eq!(days("chats=90 tasks=14", Lasting::Grants), 365);
        for wrong in [
            "chats",
            "chats=",
            "chats=-1",
            "chats=0",
            "chats=3651",
            "cats=3",
            "chats=3d",
        ] {
            let why = Retention::parse(wrong).unwrap_err();
            assert!(why.contains("retention"), "{why}");
        }
        for kept in Lasting::ALL {
            let [least, usual, most] = kept.days();
            assert!(least <= usual && usual <= most);
            let named = format!("{}={most}", kept.name());
            let set = Retention::parse(&named).unwrap();
            assert_eq!(set.set(kept), Some(Duration::from_secs(most * DAY)));
            assert!(set.longest() >= set.of(kept) || kept == Lasting::Audit);
        }
        assert_eq!(retention_of(|_| Some("chats=many")), Retention::default());
    }
}
