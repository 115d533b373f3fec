//! How long something takes, in words: `an hour`, `half an hour`, `25-minute`, `90 minutes`, `1.5 hours`, `an hour and forty minutes`.

use crate::text::{self, Word, before, lower, take_out};

/// Takes the first length of time out of the words: how many minutes, none or fewer where that makes no sense.
pub fn take(words: &mut [Word]) -> Option<i64> {
    let (at, (minutes, taken)) = (0..words.len()).find_map(|index| {
        let found = at(words, index)?;
        let second = index.checked_sub(1).map_or("", |one| before(words, one));
        // "In two hours" is a time and no length, but "fit in two hours" is one.
        let is_length = before(words, index) != "in" || matches!(second, "fit" | "squeeze" | "get");
        is_length.then_some((index, found))
    })?;
    let sign = if before(words, at) == "minus" { -1 } else { 1 };
    take_out(words, at..at + taken);
    // What is longer than all that is counted is too long.
    Some(sign * minutes.min(1e9) as i64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_as_people_say_them() {
        for (said, minutes) in [
            ("An hour for lunch", Some(60)),
            ("half an hour", Some(30)),
            ("a half-hour slot", Some(30)),
            ("a 25-minute slot", Some(25)),
            ("a two-hour slot", Some(120)),
            ("90 minutes", Some(90)),
            ("1.5 hours", Some(90)),
            ("one and a half hours", Some(90)),
            ("an hour and a quarter", Some(75)),
            ("an hour and forty minutes", Some(100)),
            ("a quarter of an hour", Some(15)),
            ("fit in forty minutes", Some(40)),
            ("in two hours", None),
            ("minus 20 minutes", Some(-20)),
            ("zero minutes", Some(0)),
            ("the hour", None),
        ] {
            assert_eq!(take(&mut text::split(said, 200)), minutes, "{said}");
        }
    }
}
