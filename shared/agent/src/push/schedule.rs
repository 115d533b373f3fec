//! When a delivery that failed is tried again.

use std::time::Duration;

use domain::Entropy;

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
        let schedule = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map(Duration::from_secs);
        let waits = |entropy: &dyn Entropy| -> Vec<u64> {
            (0..)
                .map_while(|failures| wait(&schedule, failures, entropy))
                .map(|wait| wait.as_secs())
                .collect()
        };
        assert_eq!(waits(&Always(0)), [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]);
        assert_eq!(
            waits(&Always(255)),
            [4, 240, 1_440, 5_760, 14_400, 28_800, 28_800]
        );
        let some: Vec<_> = (0..20)
            .map(|_| wait(&schedule, 6, &SystemEntropy).unwrap())
            .collect();
        assert!(some.iter().any(|wait| *wait != some[0]), "they differ");
        assert_eq!(wait(&[], 0, &SystemEntropy), None);
        assert_eq!(wait(&schedule, u32::MAX, &SystemEntropy), None);
    }
}
