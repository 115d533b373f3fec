//! Times, and what is said of them.

use std::time::Duration;

/// Times of one kind.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that this share of them does not exceed (nearest rank); zero where there are none.
    #[must_use]
    pub fn within(&self, share: f64) -> Duration {
        let mut times = self.0.clone();
        times.sort_unstable();
        let rank = (times.len() as f64 * share).ceil() as usize;
        times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

/// Milliseconds, as they are printed.
#[must_use]
pub fn millis(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_by_nearest_rank() {
        let times: Times = (1..=100).rev().map(Duration::from_millis).collect();
        for (share, expect) in [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)] {
            assert_eq!(times.within(share), Duration::from_millis(expect), "{share}");
        }
        assert_eq!(Times::default().within(0.99), Duration::ZERO);
        let one: Times = [Duration::from_millis(7)].into_iter().collect();
        assert_eq!(one.within(0.5), Duration::from_millis(7));
    }
}
