//! What an operator may set for a tenant. Only what something reads is a setting: a key that nobody reads would seem to
//! work.

use crate::brand::{ACCENT, ACCENT_DARK, BRAND, Scheme, parse_accent, parse_name};
use crate::quota::{SHARES, parse_shares};
use crate::retention::{RETENTION, Retention};
use crate::{AgentType, InvalidContext, Quota, ServicePlan, UserContext};

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
    #[error(
        "there is no setting {0:?}; there are {known}, and of its deployment {deployment}",
        known = SettingChange::KEYS.join(", "), deployment = DEPLOYMENT.join(", ")
    )]
    Unknown(String),
    /// The value is none of this setting's.
    #[error("{0}")]
    Value(String),
}

/// The language of answers where neither the user's client nor their browser names one.
const LOCALE: &str = "locale";
/// The time zone of days and hours where the user's client names none.
pub const TIME_ZONE: &str = "timeZone";
/// Whether who has signed in may share a finished task by a link: `on`, or `off` as where it is not set.
pub const SHARE: &str = "share";
/// The types of the agents whose examples an empty chat shows first.
const START: &str = "start";
/// Whether new tasks are refused for now, by the tenant's own operators: `on`, or `off` as where it is not set.
pub const PAUSE: &str = "pause";
/// Most of these.
const START_MAX: usize = 12;
/// The name of the tenant's plan.
const PLAN: &str = "plan";
/// How many tokens of language models the tenant may use in a day (UTC).
const TOKENS_PER_DAY: &str = "tokens_per_day";
/// The rest of what is set otherwise than the plan says.
const TASKS_PER_DAY: &str = "tasks_per_day";
const TASKS_AT_ONCE: &str = "tasks_at_once";
const STREAMS: &str = "streams";
const DELIVERIES_PER_MINUTE: &str = "deliveries_per_minute";
const STORAGE_MB: &str = "storage_mb";
const DOLLARS_PER_MONTH: &str = "dollars_per_month";
/// What a tenant's record may say in place of its functions' environment: the variables that are the tenant's own and nothing of the
/// platform's. Each is read, and bounded, by the functions that have it. No address, table, secret or tenant is among them.
pub const DEPLOYMENT: [&str; 14] = [
    "MODELS",
    "EMBED",
    "PLAN_APPROVAL",
    "REQUIRE_SIGN_IN",
    "SIGN_IN_ISSUERS",
    "REQUIRE_ACR",
    "PUSH_SERVICES",
    "CHAT_GRACE",
    "A2A_AGENT_URL",
    "A2A_ENABLED",
    "A2A_TASK_TIMEOUT",
    "A2A_WEBHOOK_TOKEN_TTL",
    "A2A_PUSH_SCHEDULE",
    "A2A_RETRY_SCHEDULE",
];
/// Most bytes of one of these.
const DEPLOYMENT_MAX: usize = 2048;

/// The most that each can be: far more than anybody pays for, and far from where counts end.
const LIMIT_MAX: u64 = 1_000_000_000_000_000;
const TOKENS_MAX: u64 = 1_000_000_000_000;

impl SettingChange {
    /// Every setting there is.
    pub const KEYS: [&'static str; 18] = [
        LOCALE,
        TIME_ZONE,
        PLAN,
        TASKS_PER_DAY,
        TASKS_AT_ONCE,
        STREAMS,
        DELIVERIES_PER_MINUTE,
        STORAGE_MB,
        DOLLARS_PER_MONTH,
        SHARES,
        TOKENS_PER_DAY,
        BRAND,
        ACCENT,
        ACCENT_DARK,
        SHARE,
        START,
        PAUSE,
        RETENTION,
    ];

    /// Gives a setting a value; none takes it away.
    ///
    /// # Errors
    /// [`InvalidSetting`] where there is no such setting, or the value is none of its.
    pub fn parse(key: &str, value: Option<&str>) -> Result<Self, InvalidSetting> {
        let known = Self::KEYS
            .into_iter()
            .chain(DEPLOYMENT)
            .find(|known| *known == key);
        let key = known.ok_or_else(|| InvalidSetting::Unknown(key.to_owned()))?;
        let said = value.map(str::to_owned);
        let context =
            |read: Result<UserContext, _>| read.map(drop).map_err(|error: InvalidContext| error.to_string());
        let read = match key {
            LOCALE => context(UserContext::parse(said, None)),
            TIME_ZONE => context(UserContext::parse(None, said)),
            BRAND => value.map_or(Ok(()), |value| parse_name(value).map(drop)),
            ACCENT => value.map_or(Ok(()), |value| parse_accent(key, value, Scheme::Light).map(drop)),
            ACCENT_DARK => value.map_or(Ok(()), |value| parse_accent(key, value, Scheme::Dark).map(drop)),
            SHARE | PAUSE => value.map_or(Ok(()), |value| parse_switch(key, value).map(drop)),
            START => value.map_or(Ok(()), |value| parse_start(value).map(drop)),
            PLAN => value.map_or(Ok(()), |value| parse_plan(value).map(drop)),
            SHARES => value.map_or(Ok(()), parse_shares),
            RETENTION => value.map_or(Ok(()), |value| Retention::parse(value).map(drop)),
            TOKENS_PER_DAY => value.map_or(Ok(()), |value| parse_tokens(value).map(drop)),
            key if DEPLOYMENT.contains(&key) => value.map_or(Ok(()), |value| parse_deployment(key, value)),
            _ => value.map_or(Ok(()), |value| parse_limit(key, value, LIMIT_MAX).map(drop)),
        };
        read.map_err(InvalidSetting::Value)?;
        Ok(Self {
            key,
            value: value.map(str::to_owned),
        })
    }

    /// Whether it is of what the tenant's functions are built with ([`DEPLOYMENT`]).
    #[must_use]
    pub fn is_of_deployment(&self) -> bool {
        DEPLOYMENT.contains(&self.key)
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

/// Reads how many tokens a day are allowed: 0 to 10^12.
///
/// # Errors
/// A sentence for whoever wrote it.
pub fn parse_tokens(text: &str) -> Result<u64, String> {
    parse_limit(TOKENS_PER_DAY, text, TOKENS_MAX)
}

fn parse_limit(key: &str, text: &str, most: u64) -> Result<u64, String> {
    let limit = text.parse().ok().filter(|limit| *limit <= most);
    limit.ok_or_else(|| format!("{key} is a whole number, 0 to {most}"))
}

/// What any variable can be; the rest its readers tell.
fn parse_deployment(key: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() || text.len() > DEPLOYMENT_MAX || text.chars().any(char::is_control) {
        return Err(format!(
            "{key} is a text of 1 to {DEPLOYMENT_MAX} bytes without control characters"
        ));
    }
    Ok(())
}

fn parse_plan(text: &str) -> Result<ServicePlan, String> {
    let names = ServicePlan::ALL.map(|plan| plan.name).join(", ");
    ServicePlan::parse(text).ok_or_else(|| format!("{PLAN} is one of {names}"))
}

fn parse_switch(key: &str, text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{key} is on or off")),
    }
}

fn parse_start(text: &str) -> Result<Vec<AgentType>, String> {
    let types: Result<Vec<AgentType>, _> = text.split(',').map(|one| AgentType::parse(one.trim())).collect();
    let types = types.ok().filter(|types| types.len() <= START_MAX);
    types.ok_or_else(|| format!("{START} is types of agents between commas, {START_MAX} at most"))
}

/// The types of the agents that an empty chat shows first. A value that is none counts as absent.
#[must_use]
pub fn start_of<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> Vec<AgentType> {
    let types = setting(START).and_then(|value| parse_start(value).ok());
    types.unwrap_or_default()
}

/// Whether the settings let finished tasks be shared. A value that is none counts as off.
#[must_use]
pub fn may_share<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> bool {
    is_on(SHARE, setting)
}

/// Whether the settings refuse new tasks for now. A value that is none counts as off.
#[must_use]
pub fn is_paused<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> bool {
    is_on(PAUSE, setting)
}

fn is_on<'v>(key: &str, setting: impl Fn(&str) -> Option<&'v str>) -> bool {
    setting(key).is_some_and(|value| parse_switch(key, value) == Ok(true))
}

/// The plan that the settings name, where they name one.
#[must_use]
pub fn plan_of<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> Option<ServicePlan> {
    setting(PLAN).and_then(ServicePlan::parse)
}

/// How many tokens a day the settings allow, by themselves or by the plan, where they say. A value that is none counts as absent.
#[must_use]
pub fn tokens_per_day<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> Option<u64> {
    let own = setting(TOKENS_PER_DAY).and_then(|own| parse_tokens(own).ok());
    own.or_else(|| Some(ServicePlan::parse(setting(PLAN)?)?.quota.tokens_per_day))
}

/// What the settings allow: the plan, and what is set otherwise; no new task where they pause the tenant. A value that is none counts
/// as absent.
#[must_use]
pub fn quota_of<'v>(setting: impl Fn(&str) -> Option<&'v str>) -> Quota {
    let plan = plan_of(&setting).map_or(ServicePlan::NONE, |plan| plan.quota);
    let or = |key, plan| {
        setting(key)
            .and_then(|own| parse_limit(key, own, LIMIT_MAX).ok())
            .unwrap_or(plan)
    };
    Quota {
        tasks_per_day: match is_paused(&setting) {
            true => 0,
            false => or(TASKS_PER_DAY, plan.tasks_per_day),
        },
        tasks_at_once: or(TASKS_AT_ONCE, plan.tasks_at_once),
        streams: or(STREAMS, plan.streams),
        tokens_per_day: or(TOKENS_PER_DAY, plan.tokens_per_day),
        deliveries_per_minute: or(DELIVERIES_PER_MINUTE, plan.deliveries_per_minute),
        storage_mb: or(STORAGE_MB, plan.storage_mb),
        dollars_per_month: or(DOLLARS_PER_MONTH, plan.dollars_per_month),
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
        for (key, value) in [
            ("locale", "en-GB"),
            ("timeZone", "Europe/Oslo"),
            ("tokens_per_day", "500000"),
            ("brand", "Acme Help"),
            ("accent", "#7a1f5c"),
            ("accentDark", "#f0a5d4"),
            ("start", "weather, report"),
            ("share", "on"),
            ("plan", "team"),
            ("tasks_at_once", "7"),
            ("shares", "user-1=50"),
            ("retention", "chats=90 tasks=14"),
            ("PLAN_APPROVAL", "over:3"),
        ] {
            let change = SettingChange::parse(key, Some(value)).unwrap();
            assert_eq!((change.key(), change.value()), (key, Some(value)));
            assert_eq!(SettingChange::parse(key, None).unwrap().value(), None);
        }
        let unknown = SettingChange::parse("timezone", Some("Europe/Oslo")).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "there is no setting \"timezone\"; there are locale, timeZone, plan, tasks_per_day, tasks_at_once, \
             streams, deliveries_per_minute, storage_mb, dollars_per_month, shares, tokens_per_day, brand, accent, accentDark, share, start, pause, retention, \
             and of its deployment MODELS, EMBED, PLAN_APPROVAL, REQUIRE_SIGN_IN, SIGN_IN_ISSUERS, REQUIRE_ACR, PUSH_SERVICES, CHAT_GRACE, \
             A2A_AGENT_URL, A2A_ENABLED, A2A_TASK_TIMEOUT, A2A_WEBHOOK_TOKEN_TTL, A2A_PUSH_SCHEDULE, A2A_RETRY_SCHEDULE"
        );
        for (key, value) in [
            ("locale", "en_GB"),
            ("locale", ""),
            ("timeZone", "../etc"),
            ("tokens_per_day", "-1"),
            ("tokens_per_day", "many"),
            ("tokens_per_day", "1000000000001"),
            ("brand", "A\u{202e}B"),
            ("accent", "#ffcc00"),
            ("accentDark", "#7a1f5c"),
            ("start", "weather,,report"),
            ("start", "a,b,c,d,e,f,g,h,i,j,k,l,m"),
            ("share", "yes"),
            ("plan", "Team"),
            ("streams", "-1"),
            ("shares", "user-1"),
            ("retention", "chats=0"),
            ("MODELS", ""),
            ("PLAN_APPROVAL", "always\nTENANT_ID=globex"),
            ("PUSH_SERVICES", &"a".repeat(2049)),
        ] {
            let wrong = SettingChange::parse(key, Some(value)).unwrap_err();
            assert!(
                matches!(wrong, InvalidSetting::Value(_)) && wrong.to_string().contains(key),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_plan_says_what_may_be_used_and_single_settings_say_otherwise() {
        let quota = |settings: &[(&'static str, &'static str)]| {
            let settings = settings.to_vec();
            let setting = move |key: &str| {
                settings
                    .iter()
                    .find(|(known, _)| *known == key)
                    .map(|(_, value)| *value)
            };
            (quota_of(&setting), tokens_per_day(&setting))
        };
        assert_eq!(quota(&[]), (ServicePlan::NONE, None));
        let [_, team, _] = ServicePlan::ALL.map(|plan| plan.quota);
        assert_eq!(quota(&[("plan", "team")]), (team, Some(team.tokens_per_day)));
        let (own, tokens) = quota(&[("plan", "team"), ("tasks_per_day", "0"), ("tokens_per_day", "7")]);
        assert_eq!(
            (own, tokens),
            (
                Quota {
                    tasks_per_day: 0,
                    tokens_per_day: 7,
                    ..team
                },
                Some(7)
            )
        );
        assert_eq!(
            quota(&[("plan", "gold"), ("streams", "many")]),
            (ServicePlan::NONE, None)
        );
    }

    #[test]
    fn nothing_is_shared_unless_that_is_on() {
        for (value, expected) in [
            (None, false),
            (Some("off"), false),
            (Some("On"), false),
            (Some("on"), true),
        ] {
            assert_eq!(may_share(|_| value), expected, "{value:?}");
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
