//! Time as a parameter: a [`Timestamp`] with millisecond precision and the [`Clock`] it comes from.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in milliseconds since the Unix epoch; its text is RFC 3339 UTC with milliseconds, as A2A has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch; held within the years 0 to 9999, so that its text always sorts.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(-62_167_219_200_000, 253_402_300_799_999))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, as JWTs (`NumericDate`) and DynamoDB's TTL count.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Parses RFC 3339 text of any offset.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text)
            .ok()
            .map(|at| Self::from_millis(at.timestamp_millis()))
    }

    /// This much later.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// This much earlier.
    #[must_use]
    pub fn before(self, back: Duration) -> Self {
        let millis = i64::try_from(back.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_sub(millis))
    }

    /// Whether this is less than so long before `now`, and no further ahead: of a clock that was set back, everything else is of before that.
    #[must_use]
    pub fn is_lately(self, span: Duration, now: Self) -> bool {
        now.since(self) < span && self.since(now) < span
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: DateTime<Utc> = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        f.write_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the system's clock"
        )]
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that others move: it runs from a start time plus whatever was added by hand.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Stands still at `start`.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.millis()))
    }

    /// Moves the clock ahead.
    pub fn advance(&self, by: Duration) {
        self.0
            .fetch_add(i64::try_from(by.as_millis()).unwrap_or(0), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_rfc_3339_with_milliseconds() {
        let at = Timestamp::from_millis(1_767_225_600_007);
        assert_eq!(at.to_string(), "2026-01-01T00:00:00.007Z");
        assert_eq!(Timestamp::parse("2026-01-01T01:00:00.007+01:00"), Some(at));
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(
            Timestamp::from_millis(i64::MAX).to_string(),
            "9999-12-31T23:59:59.999Z"
        );
    }
}
