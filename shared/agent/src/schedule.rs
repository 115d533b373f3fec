//! Waits before something that failed is tried again, as they are set from outside.

use std::str::FromStr;
use std::time::Duration;

/// Most waits of a schedule.
const MOST_WAITS: usize = 20;
/// The longest of its waits, in seconds: a day.
const LONGEST_WAIT: u64 = 86_400;
/// The longest that all of them may be together, in seconds: a week, after which our own receivers take a task's token
/// no more.
const LONGEST_IN_ALL: u64 = 7 * 86_400;

/// Why a text is no schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSchedule {
    /// It is not a list of numbers.
    #[error("it must be whole seconds with commas between them, such as 5,300,1800")]
    NoNumbers,
    /// It has too many of them.
    #[error("it may have at most {MOST_WAITS} waits")]
    TooMany,
    /// A wait is too short or too long.
    #[error("each wait must be between 1 and {LONGEST_WAIT} seconds")]
    OutOfBounds,
    /// It takes too long.
    #[error("its waits may be at most {LONGEST_IN_ALL} seconds together")]
    TooLong,
}

/// The waits before the next attempts of an execution, or of a host's send; after the last one the work is left, and can be
/// taken up again by hand.
///
/// As text it is the waits in whole seconds, with commas between them.
///
/// ```
/// use agent::RetrySchedule;
/// let usual: RetrySchedule = "1,5,30,120,300,600,744".parse()?;
/// assert_eq!(usual, RetrySchedule::default());
/// assert!("0".parse::<RetrySchedule>().is_err());
/// # Ok::<(), agent::BadSchedule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule(Vec<Duration>);

impl RetrySchedule {
    /// The waits, in order.
    #[must_use]
    pub fn waits(&self) -> &[Duration] {
        &self.0
    }
}

impl Default for RetrySchedule {
    /// 1 s, 5 s, 30 s, 2 min, 5 min, 10 min, 12 min 24 s: half an hour in all.
    fn default() -> Self {
        let waits = [1, 5, 30, 120, 300, 600, 744];
        Self(waits.map(Duration::from_secs).to_vec())
    }
}

impl FromStr for RetrySchedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Self, BadSchedule> {
        read(text).map(Self)
    }
}

/// The waits that a text says.
pub(crate) fn read(text: &str) -> Result<Vec<Duration>, BadSchedule> {
    let seconds = |part: &str| part.trim().parse().map_err(|_| BadSchedule::NoNumbers);
    let seconds: Vec<u64> = text.split(',').map(seconds).collect::<Result<_, _>>()?;
    if seconds.len() > MOST_WAITS {
        return Err(BadSchedule::TooMany);
    }
    if seconds.iter().any(|wait| !(1..=LONGEST_WAIT).contains(wait)) {
        return Err(BadSchedule::OutOfBounds);
    }
    if seconds.iter().sum::<u64>() > LONGEST_IN_ALL {
        return Err(BadSchedule::TooLong);
    }
    Ok(seconds.into_iter().map(Duration::from_secs).collect())
}
