//! When a delivery that failed is tried again.

use std::str::FromStr;
use std::time::Duration;

use domain::Entropy;

use crate::schedule::{BadSchedule, read};

/// The waits before the next attempts of a delivery; after the last one it is parked.
///
/// As text it is the waits in whole seconds, with commas between them.
///
/// ```
/// use agent::PushSchedule;
/// let usual: PushSchedule = "5,300,1800,7200,18000,36000,36000".parse()?;
/// assert_eq!(usual, PushSchedule::default());
/// assert!("".parse::<PushSchedule>().is_err() && "5,soon".parse::<PushSchedule>().is_err());
/// # Ok::<(), agent::BadSchedule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSchedule(Vec<Duration>);

impl PushSchedule {
    /// These waits, whatever they are: for tests and local work, where nothing should take hours.
    #[must_use]
    pub fn of(waits: Vec<Duration>) -> Self {
        Self(waits)
    }

    /// The waits, in order.
    #[must_use]
    pub fn waits(&self) -> &[Duration] {
        &self.0
    }
}

impl Default for PushSchedule {
    /// 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.
    fn default() -> Self {
        let waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
        Self(waits.map(Duration::from_secs).to_vec())
    }
}

impl FromStr for PushSchedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Self, BadSchedule> {
        read(text).map(Self)
    }
}

/// The wait after so many failures, up to a fifth shorter than the schedule says, so that the receivers of one outage
/// are not all tried again at the same moment; `None` after the last attempt.
pub(super) fn wait(schedule: &[Duration], failures: u32, entropy: &dyn Entropy) -> Option<Duration> {
    let wait = usize::try_from(failures)
        .ok()
        .and_then(|failures| schedule.get(failures))?;
    Some(wait.saturating_sub(share(*wait / 5, entropy)))
}

/// A random part of a time, in 256 steps.
pub(super) fn share(time: Duration, entropy: &dyn Entropy) -> Duration {
    let mut byte = [0];
    entropy.fill(&mut byte);
    time * u32::from(byte[0]) / 255
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    struct Always(u8);

    impl Entropy for Always {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn waits_follow_the_schedule_and_end() {
        let usual = PushSchedule::default();
        let schedule = usual.waits();
        let waits = |entropy: &dyn Entropy| -> Vec<u64> {
            (0..)
                .map_while(|failures| wait(schedule, failures, entropy))
                .map(|wait| wait.as_secs())
                .collect()
        };
        assert_eq!(waits(&Always(0)), [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]);
        assert_eq!(
            waits(&Always(255)),
            [4, 240, 1_440, 5_760, 14_400, 28_800, 28_800]
        );
        let some: Vec<_> = (0..20)
            .map(|_| wait(schedule, 6, &SystemEntropy).unwrap())
            .collect();
        assert!(some.iter().any(|wait| *wait != some[0]), "they differ");
        assert_eq!(wait(&[], 0, &SystemEntropy), None);
        assert_eq!(wait(schedule, u32::MAX, &SystemEntropy), None);
    }

    #[test]
    fn a_schedule_from_outside_is_bounded_and_rubbish_is_none() {
        let read = |text: &str| {
            text.parse::<PushSchedule>().map(|schedule| {
                let waits = schedule.waits().iter();
                waits.map(Duration::as_secs).collect::<Vec<_>>()
            })
        };
        assert_eq!(read("7"), Ok(vec![7]));
        assert_eq!(read(" 1, 86400 "), Ok(vec![1, 86_400]));
        for rubbish in [
            "",
            ",",
            "5,",
            "5;6",
            "soon",
            "-5",
            "1.5",
            "5 6",
            "18446744073709551616",
        ] {
            assert_eq!(read(rubbish), Err(BadSchedule::NoNumbers), "{rubbish}");
        }
        for bound in ["0", "5,0", "86401", "18446744073709551615,1"] {
            assert_eq!(read(bound), Err(BadSchedule::OutOfBounds), "{bound}");
        }
        assert_eq!(read(&["1"; 21].join(",")), Err(BadSchedule::TooMany));
        assert_eq!(read(&["86400"; 8].join(",")), Err(BadSchedule::TooLong));
        assert_eq!(read(&["86400"; 7].join(",")).map(|waits| waits.len()), Ok(7));
    }
}
