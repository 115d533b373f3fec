//! How long something takes, in words: `an hour`, `half an hour`, `25-minute`, `90 minutes`, `1.5 hours`, `an hour and forty minutes`.

use words::text::{self, Word, lower, take_out};

use super::MINUTES_MAX;

/// A length of time that was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// So many minutes.
    Minutes(u32),
    /// One that nothing can take.
    None,
}

/// Takes the first length of time out of the words.
pub(super) fn take(words: &mut [Word]) -> Option<Length> {
    for index in 0..words.len() {
        let Some((minutes, taken)) = at(words, index) else {
            continue;
        };
        let before = text::before(words, index);
        let second = index
            .checked_sub(1)
            .map_or("", |before| text::before(words, before));
        // "In two hours" is a time and no length, but "fit in two hours" is one.
        if before == "in" && !matches!(second, "fit" | "squeeze" | "get") {
            continue;
        }
        let is_negative = before == "minus";
        take_out(words, index..index + taken);
        let good = (5.0..=MINUTES_MAX as f32).contains(&minutes) && !is_negative;
        return Some(match good {
            true => Length::Minutes(minutes as u32),
            false => Length::None,
        });
    }
    None
}

/// Minutes that begin at `index`, and the number of words they take.
fn at(words: &[Word], index: usize) -> Option<(f32, usize)> {
    // "25-minute", "half-hour"
    if let Some((count, unit)) = lower(words, index).rsplit_once('-')
        && let Some(each) = unit_of(unit)
    {
        let count = match count {
            "half" => 0.5,
            count => small(text::count(count)?)?,
        };
        return Some((count * each, 1));
    }
    let three = (
        lower(words, index),
        lower(words, index + 1),
        lower(words, index + 2),
    );
    let (count, unit) = match three {
        ("half", "an", "hour") => (0.5, index + 2),
        ("a" | "an", "half", "hour") => (0.5, index + 2),
        ("quarter", "of", "an") => (0.25, index + 3),
        ("a" | "an", _, _) => (1.0, index + 1),
        _ => (number(words.get(index)?)?, index + 1),
    };
    // "One and a half hours"
    let (more, unit) = match part(words, unit) {
        Some(part) => (part, unit + 3),
        None => (0.0, unit),
    };
    let each = unit_of(lower(words, unit))?;
    let mut end = unit + 1;
    let mut minutes = (count + more) * each;
    // "An hour and a half", "an hour and forty minutes"
    if let Some(part) = part(words, end) {
        minutes += part * each;
        end += 3;
    } else if each > 1.0
        && lower(words, end) == "and"
        && let Some(count) = words.get(end + 1).and_then(number)
        && unit_of(lower(words, end + 2)) == Some(1.0)
    {
        minutes += count;
        end += 3;
    }
    Some((minutes, end - index))
}

/// `and a half`, `and a quarter`
fn part(words: &[Word], at: usize) -> Option<f32> {
    match (lower(words, at), lower(words, at + 1), lower(words, at + 2)) {
        ("and", "a", "half") => Some(0.5),
        ("and", "a", "quarter") => Some(0.25),
        _ => None,
    }
}

fn unit_of(lower: &str) -> Option<f32> {
    match lower {
        "hour" | "hours" | "hrs" | "h" => Some(60.0),
        "minute" | "minutes" | "min" | "mins" => Some(1.0),
        _ => None,
    }
}

fn small(count: u32) -> Option<f32> {
    u16::try_from(count).ok().map(f32::from)
}

fn number(word: &Word) -> Option<f32> {
    let count = word.count().and_then(small).or_else(|| word.lower.parse().ok());
    count.filter(|count| count.is_finite() && *count >= 0.0)
}
