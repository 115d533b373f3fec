//! What an operator may set for a tenant. Only what something reads is a setting: a key that nobody reads would seem to
//! work.

use crate::UserContext;

/// A change of one of a tenant's settings, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    key: &'static str,
    value: Option<String>,
}

/// Why a change of a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSetting {
    /// There is no such setting.
    #[error("there is no setting {0:?}; there are {known}", known = SettingChange::KEYS.join(", "))]
    Unknown(String),
    /// The value is none of this setting's.
    #[error("{0}")]
    Value(String),
}

/// The language of answers where neither the user's client nor their browser names one.
const LOCALE: &str = "locale";
/// The time zone of days and hours where the user's client names none.
const TIME_ZONE: &str = "timeZone";

impl SettingChange {
    /// Every setting there is.
    pub const KEYS: [&'static str; 2] = [LOCALE, TIME_ZONE];

    /// Gives a setting a value; none takes it away.
    ///
    /// # Errors
    /// [`InvalidSetting`] where there is no such setting, or the value is none of its.
    pub fn parse(key: &str, value: Option<&str>) -> Result<Self, InvalidSetting> {
        let known = Self::KEYS.into_iter().find(|known| *known == key);
        let key = known.ok_or_else(|| InvalidSetting::Unknown(key.to_owned()))?;
        let said = value.map(str::to_owned);
        let read = match key {
            LOCALE => UserContext::parse(said, None),
            _ => UserContext::parse(None, said),
        };
        read.map_err(|error| InvalidSetting::Value(error.to_string()))?;
        Ok(Self {
            key,
            value: value.map(str::to_owned),
        })
    }

    /// Which setting.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// Its new value; none where it is taken away.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

/// What the settings say of users who do not say it themselves. A value that is none counts as absent.
#[must_use]
pub fn default_context<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> UserContext {
    let text = |key| setting(key).map(str::to_owned);
    UserContext {
        locale: UserContext::parse(text(LOCALE), None).unwrap_or_default().locale,
        time_zone: UserContext::parse(None, text(TIME_ZONE))
            .unwrap_or_default()
            .time_zone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_read_can_be_set_and_only_to_what_it_can_be() {
        for (key, value) in [("locale", "en-GB"), ("timeZone", "Europe/Oslo")] {
            let change = SettingChange::parse(key, Some(value)).unwrap();
            assert_eq!((change.key(), change.value()), (key, Some(value)));
            assert_eq!(SettingChange::parse(key, None).unwrap().value(), None);
        }
        let unknown = SettingChange::parse("timezone", Some("Europe/Oslo")).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "there is no setting \"timezone\"; there are locale, timeZone"
        );
        for (key, value) in [("locale", "en_GB"), ("locale", ""), ("timeZone", "../etc")] {
            let wrong = SettingChange::parse(key, Some(value)).unwrap_err();
            assert!(
                matches!(wrong, InvalidSetting::Value(_)) && wrong.to_string().contains(key),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_kept_value_that_is_none_counts_as_absent() {
        let kept = |key: &str| Some(if key == "locale" { "en_GB" } else { "Europe/Oslo" });
        let context = default_context(kept);
        assert_eq!(
            (context.locale, context.time_zone.as_deref()),
            (None, Some("Europe/Oslo"))
        );
    }
}
