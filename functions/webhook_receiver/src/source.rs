//! Rate limiting by source, in this process: a token bucket each, so that a sender of ours has all the room it needs and
//! somebody who guesses tokens has little. The gateway's own limits stand before it; what one token may write is
//! bounded in the job's record.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::Timestamp;

/// What a notification costs, in thousandths of a bucket's drop.
const NOTIFICATION: u64 = 1_000;
/// What a wrong token costs on top.
const WRONG_TOKEN: u64 = 300_000;
/// What a full bucket holds.
const FULL: u64 = 3_000_000;
/// What runs in each millisecond: a thousand notifications a second, as one address may be that of a whole platform of
/// agents; but three wrong tokens.
const PER_MILLISECOND: u64 = 1_000;
/// Most sources that are remembered.
const MAX_SOURCES: usize = 10_000;

/// The buckets.
#[derive(Debug, Default)]
pub(crate) struct Sources(Mutex<HashMap<IpAddr, Bucket>>);

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: u64,
    at: Timestamp,
}

impl Bucket {
    fn at(self, now: Timestamp) -> Self {
        let passed = u64::try_from(now.since(self.at).as_millis()).unwrap_or(u64::MAX);
        let left = self.left.saturating_add(passed.saturating_mul(PER_MILLISECOND));
        Self {
            left: left.min(FULL),
            at: now,
        }
    }
}

impl Sources {
    /// Takes what a notification costs.
    ///
    /// # Errors
    /// How long to wait, where there is not enough left.
    pub(crate) fn admit(&self, source: IpAddr, now: Timestamp) -> Result<(), Duration> {
        self.with(source, now, |bucket| {
            match bucket.left.checked_sub(NOTIFICATION) {
                Some(left) => {
                    bucket.left = left;
                    Ok(())
                }
                None => Err(Duration::from_millis(
                    (NOTIFICATION - bucket.left).div_ceil(PER_MILLISECOND),
                )),
            }
        })
    }

    /// Takes what a wrong token costs.
    pub(crate) fn guessed(&self, source: IpAddr, now: Timestamp) {
        self.with(source, now, |bucket| {
            bucket.left = bucket.left.saturating_sub(WRONG_TOKEN);
        });
    }

    fn with<T>(&self, source: IpAddr, now: Timestamp, change: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_SOURCES {
            buckets.retain(|_, bucket| bucket.at(now).left < FULL);
        }
        if buckets.len() >= MAX_SOURCES {
            // So many at once are one attack; their addresses tell nothing.
            buckets.clear();
        }
        let full = Bucket { left: FULL, at: now };
        let bucket = buckets.entry(network(source)).or_insert(full);
        *bucket = bucket.at(now);
        change(bucket)
    }
}

/// Who has one address of IPv6 has the 2^64 beside it.
fn network(source: IpAddr) -> IpAddr {
    // Who has one IPv6 address has the 2^64 of its network.
    match source.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_source_is_slowed_down_and_recovers_and_others_are_not_touched() {
        let sources = Sources::default();
        let now = Timestamp::from_millis(0);
        for number in 0..3_000 {
            assert_eq!(sources.admit(ip("192.0.2.1"), now), Ok(()), "{number}");
        }
        assert_eq!(sources.admit(ip("192.0.2.1"), now), Err(Duration::from_millis(1)));
        assert_eq!(sources.admit(ip("192.0.2.2"), now), Ok(()));
        let later = now.after(Duration::from_millis(1));
        assert_eq!(sources.admit(ip("192.0.2.1"), later), Ok(()));
        assert!(sources.admit(ip("192.0.2.1"), later).is_err());
    }

    #[test]
    fn guessing_is_dear() {
        let sources = Sources::default();
        let now = Timestamp::from_millis(0);
        let mut tried = 0;
        while sources.admit(ip("2001:db8::1"), now).is_ok() {
            sources.guessed(ip("2001:db8::1"), now);
            tried += 1;
        }
        assert_eq!(tried, 10);
        assert!(
            sources.admit(ip("2001:db8::ffff"), now).is_err(),
            "its neighbours are the same"
        );
        assert!(sources.admit(ip("2001:db8:1::1"), now).is_ok());
        assert_eq!(network(ip("::ffff:192.0.2.1")), ip("192.0.2.1"));
    }

    #[test]
    fn no_number_of_sources_fills_the_memory() {
        let sources = Sources::default();
        let now = Timestamp::from_millis(0);
        for number in 0..u32::try_from(3 * MAX_SOURCES).unwrap() {
            let source = IpAddr::from(number.to_be_bytes());
            let _ = sources.admit(source, now);
        }
        assert!(sources.0.lock().unwrap().len() <= MAX_SOURCES);
    }
}
