//! What was heard of a job lately: which notifications were taken already, and how many in a short time.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// How many ids of notifications are remembered. A sender repeats its last one, not one long gone.
const REMEMBERED: usize = 8;
/// The time in which notifications are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Most notifications in that time; each is a write and a piece of the task's log.
const MOST: u32 = 300;

/// What was heard of a job lately.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The ids of the last notifications, as their sender named them, hashed.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    ids: VecDeque<String>,
    /// When the counting began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    /// How many since then.
    #[serde(default)]
    count: u32,
}

impl Heard {
    /// True where nothing was heard yet.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// True where the notification with this id was taken before.
    #[must_use]
    pub fn knows(&self, id: &str) -> bool {
        self.ids.iter().any(|known| known == id)
    }

    /// How long to wait until the next notification is taken, where there were too many.
    #[must_use]
    pub fn too_many(&self, now: Timestamp) -> Option<Duration> {
        let past = now.since(self.since?);
        (self.count >= MOST && past < WINDOW).then(|| WINDOW - past)
    }

    /// Counts a notification that is taken, with its id where it has one.
    pub fn take(&mut self, id: Option<&str>, now: Timestamp) {
        if self.since.is_none_or(|since| now.since(since) >= WINDOW) {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count = self.count.saturating_add(1);
        if let Some(id) = id {
            self.ids.push_back(id.to_owned());
            while self.ids.len() > REMEMBERED {
                self.ids.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ids_are_known_and_the_count_starts_anew_after_a_while() {
        let mut heard = Heard::default();
        let start = Timestamp::from_millis(1_000);
        for number in 0..MOST {
            assert_eq!(heard.too_many(start), None, "{number}");
            heard.take(Some(&number.to_string()), start);
        }
        assert_eq!(heard.too_many(start), Some(WINDOW));
        let later = start.after(Duration::from_secs(59));
        assert_eq!(heard.too_many(later), Some(Duration::from_secs(1)));
        assert!(heard.knows("299") && heard.knows("292") && !heard.knows("291"));
        let next = start.after(WINDOW);
        assert_eq!(heard.too_many(next), None);
        heard.take(None, next);
        assert_eq!((heard.count, heard.since), (1, Some(next)));
        let text = serde_json::to_string(&heard).unwrap();
        assert_eq!(serde_json::from_str::<Heard>(&text).unwrap(), heard);
        assert!(Heard::default().is_nothing() && !heard.is_nothing());
    }
}
