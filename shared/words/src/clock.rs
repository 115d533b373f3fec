//! Times of the day, as they are written.

use std::ops::Range;

use crate::lists::{is_grammar, preposition};
use crate::text::{Kind, Word, before, lower, take_out};

/// A time of the day as it is written: `5 pm`, `14:30`, `half past nine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// From 0 to 24.
    pub hour: u32,
    /// From 0 to 59.
    pub minute: u32,
    /// Which half of the day it says it is in, in hours; none where it is not said.
    pub half: Option<u32>,
    /// It cannot be meant otherwise: it has minutes, is `14h`, or is noon or midnight.
    pub exact: bool,
}

impl Time {
    /// A time that is written as one piece: `5pm`, `14:30`, `8`.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let exact = |hour| Self {
            hour,
            minute: 0,
            half: None,
            exact: true,
        };
        let plain = text.to_lowercase().replace("a.m.", "am").replace("p.m.", "pm");
        let (number, half) = match (plain.strip_suffix("pm"), plain.strip_suffix("am")) {
            (Some(number), _) => (number, Some(12)),
            (_, Some(number)) => (number, Some(0)),
            _ if matches!(plain.as_str(), "noon" | "midday") => return Some(exact(12)),
            _ if plain == "midnight" => return Some(exact(0)),
            _ => (plain.trim_end_matches('h'), None),
        };
        let number = number.trim();
        let (hour, minute) = number.split_once([':', '.']).unwrap_or((number, "00"));
        let time = Self {
            hour: hour.parse().ok()?,
            minute: minute.parse().ok().filter(|_| minute.len() == 2)?,
            half,
            exact: (hour.len() < number.len() || plain.ends_with('h')) && half.is_none(),
        };
        let hours = if half.is_some() { 1..=12 } else { 0..=24 };
        (hours.contains(&time.hour) && time.minute < 60).then_some(time)
    }

    /// A time that begins at `index`, which may be a number of anything, and where it ends.
    #[must_use]
    pub fn at(words: &[Word], index: usize) -> Option<(Self, usize)> {
        if let Some(told) = Self::told(words, index) {
            return Some(told);
        }
        let first = words.get(index).filter(|word| word.kind == Kind::Word)?;
        let spelled = first
            .count()
            .filter(|hour| *hour <= 12 && first.number().is_none());
        let mut text = spelled.map_or_else(|| first.text.clone(), |hour| hour.to_string());
        let mut end = index + 1;
        if lower(words, end) == ":" {
            text = format!("{text}:{}", lower(words, end + 1));
            end += 2;
        }
        if matches!(lower(words, end), "am" | "pm" | "a.m." | "p.m." | "a.m" | "p.m") {
            text = format!("{text} {}", lower(words, end).replace('.', ""));
            end += 1;
        }
        Some((Self::of(&text)?, end))
    }

    /// `half past nine`, `a quarter to five`, `ten past three`
    fn told(words: &[Word], index: usize) -> Option<(Self, usize)> {
        let index = index + usize::from(lower(words, index) == "a" && lower(words, index + 1) == "quarter");
        let minute = match (lower(words, index), lower(words, index + 1)) {
            ("half", "past") => 30,
            ("quarter", "past") => 15,
            ("quarter", "to") => 45,
            (_, "past") => words.get(index)?.count().filter(|minute| *minute < 60)?,
            _ => return None,
        };
        let (time, end) = Self::at(words, index + 2).filter(|(time, _)| time.minute == 0)?;
        // A quarter to one is past twelve.
        let before = u32::from(lower(words, index + 1) == "to");
        let hour = time
            .hour
            .checked_sub(before)
            .filter(|hour| *hour > 0)
            .unwrap_or(12);
        Some((Self { hour, minute, ..time }, end))
    }

    /// Whether it is certainly a time, and no other number.
    #[must_use]
    pub fn is_certain(self) -> bool {
        self.exact || self.half.is_some()
    }
}

/// Takes the times of the day out of the words: the first as it is written, and each with its words.
pub(crate) fn take(words: &mut [Word]) -> (Option<String>, Vec<(Time, Range<usize>)>) {
    let (mut found, mut times) = (None, Vec::new());
    let mut index = 0;
    while index < words.len() {
        let Some((time, end)) = at(words, index) else {
            index += 1;
            continue;
        };
        let mut text = String::new();
        for word in words.get(index..end).unwrap_or_default() {
            let apart = word.kind == Kind::Word && !text.is_empty() && !text.ends_with(':');
            text = format!("{text}{}{}", if apart { " " } else { "" }, word.text);
        }
        found = found.or(Some(text));
        times.extend(time.map(|time| (time, index..end)));
        take_out(words, index..end);
        index = end;
    }
    (found, times)
}

/// A time that begins at `index` and is no other number: `5pm`, `3 pm`, `14:30`, `at 8`, `at noon`, `8 o'clock`, and `2 hours`,
/// which is no time of its own; where it ends.
fn at(words: &[Word], index: usize) -> Option<(Option<Time>, usize)> {
    let word = words.get(index).filter(|word| word.kind == Kind::Word)?;
    if word.number().is_some()
        && matches!(
            lower(words, index + 1),
            "hours" | "hour" | "hrs" | "minutes" | "mins"
        )
    {
        return Some((None, index + 2));
    }
    let (time, end) = Time::at(words, index)?;
    let o_clock = lower(words, end) == "o'clock";
    // "At two hotels"
    let counts = |word: &Word| {
        let lower = word.lower.as_str();
        word.kind == Kind::Word
            && !is_grammar(lower)
            && preposition(lower).is_none()
            && !crate::phrases::is_time(lower)
    };
    let spelled = word.number().is_none() && word.count().is_some();
    let behind_at = before(words, index) == "at" && !(spelled && words.get(end).is_some_and(counts));
    // "3.12" and "noon" may be something else.
    let clear =
        word.number().is_some() || word.lower.ends_with('h') || end > index + 1 && !word.lower.contains('.');
    let is_time = time.half.is_some() || o_clock || behind_at || clear && (time.exact || time.minute > 0);
    is_time.then_some((Some(time), end + usize::from(o_clock)))
}
