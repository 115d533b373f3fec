//! Parts of a day in words: `from 2 to 4 pm`, `between 9 and 12`, `8-10`, `at 3`, `after 5 pm`, `this evening`, `before lunch`.

use std::ops::Range;

use chrono::NaiveTime;

use crate::clock::Time;
use crate::dates;
use crate::days::Days;
use crate::text::{Kind, Word, before, lower, open, take_out};
use crate::when::When;

/// A part of each day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// From then.
    pub from: NaiveTime,
    /// Until then, over midnight where that is not later; none where something begins at `from` and nobody says how long it takes.
    pub to: Option<NaiveTime>,
}

impl Hours {
    fn new(from: NaiveTime, to: NaiveTime) -> Self {
        Self { from, to: Some(to) }
    }

    /// The same as data: `14:00/16:00`, or `14:00`.
    #[must_use]
    pub fn to_data(self) -> String {
        let (from, to) = (self.from.format("%H:%M"), self.to.map(|to| to.format("%H:%M")));
        to.map_or(from.to_string(), |to| format!("{from}/{to}"))
    }

    /// Reads what [`Hours::to_data`] writes; `None` for anything else.
    #[must_use]
    pub fn of_data(text: &str) -> Option<Self> {
        let time = |text| NaiveTime::parse_from_str(text, "%H:%M").ok();
        match text.split_once('/') {
            Some((from, to)) => Some(Self::new(time(from)?, time(to)?)),
            None => Some(Self {
                from: time(text)?,
                to: None,
            }),
        }
    }
}

/// What is said of a part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Each day has it.
    Daily(Hours),
    /// It begins on the first of the days and ends on the last.
    Over(Hours),
    /// Its end is no end of its beginning.
    Reversed {
        /// From then.
        from: NaiveTime,
        /// Until then.
        to: NaiveTime,
    },
    /// Several times that are not the ends of anything.
    Several,
}

/// Which half of the day is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Early,
    Late,
    Unsaid,
}

/// Takes a part of the day out of the words, of which [`crate::days::take`] has taken the days.
pub fn take(words: &mut [Word], days: &Days) -> Option<Part> {
    let has = |these: &[&str]| words.iter().any(|word| these.contains(&word.lower.as_str()));
    let about = match (has(&["afternoon", "evening", "tonight"]), has(&["morning"])) {
        (true, _) => About::Late,
        (false, true) => About::Early,
        _ => About::Unsaid,
    };
    let times = times(words, &days.times);
    if let Some(part) = span(words, &times, (about, days)) {
        return Some(part);
    }
    if let Some(part) = apart(words, &times, about) {
        return Some(Part::Daily(part));
    }
    match days.times.as_slice() {
        [] => named(words).map(Part::Daily),
        [(time, _)] => Some(Part::Daily(Hours {
            from: alone(*time, about)?,
            to: None,
        })),
        _ => Some(Part::Several),
    }
}

/// A time of the day, with its words.
type Told = (Time, Range<usize>);

/// The times that were read, and the numbers that may be hours beside them, in order.
fn times(words: &[Word], known: &[Told]) -> Vec<Told> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let is_read = known.iter().find(|(_, range)| range.start == at).cloned();
        let may_be = || {
            let (time, end) = Time::at(words, at).filter(|_| !open(words, at).is_empty())?;
            Some((time, at..end))
        };
        let told = is_read.or_else(may_be);
        at = told.as_ref().map_or(at + 1, |(_, range)| range.end);
        found.extend(told);
    }
    found
}

/// From one time to another.
fn span(words: &mut [Word], times: &[Told], (about, days): (About, &Days)) -> Option<Part> {
    let is_sure = |told: &Told| told.0.is_certain() || days.times.contains(told);
    let written = (0..words.len()).filter_map(|at| {
        // "8-10", "8am-9am"
        let (from, to) = open(words, at).split_once('-')?;
        Some(((Time::of(from)?, at..at), (Time::of(to)?, at..at + 1)))
    });
    let pairs = times.windows(2).filter_map(|pair| match pair {
        [one, other] => Some((one.clone(), other.clone())),
        _ => None,
    });
    let found = written.chain(pairs).find(|(one, other)| {
        let (from, to) = (lead(words, one.1.start), other.1.start);
        let is_led = matches!(lower(words, from), "from" | "between");
        let little = |word: &&Word| word.kind != Kind::Gap && !is_little(&word.lower);
        let mut between = words.iter().take(to).skip(one.1.end).filter(little);
        let is_joint = match (between.next(), between.next()) {
            (Some(joint), None) => {
                dates::is_to(joint) || joint.kind == Kind::And && lower(words, from) == "between"
            }
            // "8 pm Saturday to Sunday 8 am": the days have taken it. "8-10" is one word.
            (None, _) => one.1.is_empty() || goes_over(days, one.1.end..to),
            _ => false,
        };
        // Two numbers behind nothing that makes times of them.
        is_joint && (is_led || is_sure(one) || is_sure(other) || !days.mentions.is_empty())
    });
    let ((from, one), (to, other)) = found?;
    let (from, to) = between((from, to), about)?;
    let hours = Hours::new(from, to);
    let first = lead(words, one.start);
    take_out(words, first..one.end);
    take_out(words, one.end..other.end);
    if goes_over(days, one.end..other.start) {
        return Some(Part::Over(hours));
    }
    // Over midnight goes what begins in the evening.
    let (evening, noon) = (at(17), at(12));
    let is_over = from >= evening && to <= noon || to == NaiveTime::MIN;
    Some(if to > from || is_over {
        Part::Daily(hours)
    } else {
        Part::Reversed { from, to }
    })
}

/// Whether there is another day between two times.
fn goes_over(days: &Days, between: Range<usize>) -> bool {
    let is_long = days.mentions.len() > 1 || days.days.iter().any(|when| matches!(when, When::Span(..)));
    is_long && days.mentions.iter().any(|(at, _)| between.contains(at))
}

/// Where what leads to a time stands; the time itself where there is nothing.
fn lead(words: &[Word], time: usize) -> usize {
    let is_passed = |at: &usize| {
        words
            .get(*at)
            .is_some_and(|word| word.kind == Kind::Gap || is_little(&word.lower))
    };
    let passed = (0..time).rev().take_while(is_passed).count();
    let lead = time.checked_sub(passed + 1);
    lead.filter(|at| matches!(open(words, *at), "from" | "between"))
        .unwrap_or(time)
}

fn is_little(lower: &str) -> bool {
    matches!(lower, "on" | "at" | "the")
}

/// Times that stand each behind its own word: `after 1 pm, done by 6 pm`, `before ten, from eight`. One alone leaves the other end
/// open: `after 5 pm`.
fn apart(words: &mut [Word], times: &[Told], about: About) -> Option<Hours> {
    let behind = |leads: &[&str]| {
        times.iter().find_map(|(time, range)| {
            let lead = range.start.checked_sub(1)?;
            // "Not before 10" is the other way round.
            let is_led = leads.contains(&lower(words, lead)) && before(words, lead) != "not";
            is_led.then_some((*time, lead..range.end))
        })
    };
    let (hours, taken) = match (behind(&["after", "from"]), behind(&["before", "by"])) {
        (Some((from, one)), Some((to, other))) => (between((from, to), about)?, vec![one, other]),
        (Some((from, one)), None) if lower(words, one.start) == "after" => {
            ((alone(from, about)?, NaiveTime::MIN), vec![one])
        }
        (None, Some((to, other))) if lower(words, other.start) == "before" => {
            ((NaiveTime::MIN, alone(to, about)?), vec![other])
        }
        _ => return None,
    };
    let (from, to) = hours;
    if to <= from && to != NaiveTime::MIN {
        return None;
    }
    taken.into_iter().for_each(|range| take_out(words, range));
    Some(Hours::new(from, to))
}

/// A part of the day or a meal that has a name; what is behind it or before it, where that is said.
fn named(words: &mut [Word]) -> Option<Hours> {
    let found = words
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, hours_of(&word.lower)?)));
    let (name, (from, to)) = found?;
    let (from, to) = (at(from), at(to));
    let (hours, first) = match before(words, name) {
        "after" => (Hours::new(to, NaiveTime::MIN), name.saturating_sub(1)),
        "before" => (Hours::new(NaiveTime::MIN, from), name.saturating_sub(1)),
        _ => (Hours::new(from, to), name),
    };
    take_out(words, first..name + 1);
    Some(hours)
}

fn hours_of(lower: &str) -> Option<(u32, u32)> {
    Some(match lower {
        "morning" => (6, 12),
        "afternoon" => (12, 18),
        "evening" | "night" | "tonight" => (18, 23),
        "breakfast" => (7, 10),
        "noon" | "midday" | "lunchtime" | "lunch" => (11, 14),
        "dinner" => (18, 22),
        _ => return None,
    })
}

fn at(hour: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default()
}

fn in_half(time: Time, half: u32) -> Option<NaiveTime> {
    NaiveTime::from_hms_opt(time.hour % 12 + half, time.minute, 0)
}

/// The time that is meant where nothing else says more.
fn alone(time: Time, about: About) -> Option<NaiveTime> {
    let is_late = match about {
        About::Early => false,
        About::Late => time.hour < 12,
        // Nobody who says "at 3" and no more means the night.
        About::Unsaid => time.hour < 7,
    };
    match time.half {
        Some(half) => in_half(time, half),
        None if !time.exact && time.hour > 0 && is_late => in_half(time, 12),
        None => NaiveTime::from_hms_opt(time.hour % 24, time.minute, 0),
    }
}

/// From this time to that.
fn between((one, other): (Time, Time), about: About) -> Option<(NaiveTime, NaiveTime)> {
    // "2 to 4 pm", "11 to 1 pm": the half of the day is said once, and the nearer one is meant.
    Some(match (one.half, other.half) {
        (None, Some(half)) if !one.exact => {
            let to = in_half(other, half)?;
            let same = in_half(one, half).filter(|same| *same < to);
            (same.or_else(|| in_half(one, 12 - half))?, to)
        }
        (Some(half), None) if !other.exact => {
            let from = in_half(one, half)?;
            let same = in_half(other, half).filter(|same| from < *same);
            (from, same.or_else(|| in_half(other, 12 - half))?)
        }
        _ => (alone(one, about)?, alone(other, about)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{days, text};

    fn read(said: &str) -> String {
        let mut words = text::split(said, 200);
        let days = days::take(&mut words, None);
        match take(&mut words, &days) {
            Some(Part::Daily(hours)) => hours.to_data(),
            Some(Part::Over(hours)) => format!("over {}", hours.to_data()),
            Some(Part::Reversed { from, to }) => format!("reversed {}", Hours::new(from, to).to_data()),
            Some(Part::Several) => "several".to_owned(),
            None => String::new(),
        }
    }

    #[test]
    fn parts_of_a_day_as_people_say_them() {
        for (said, expected) in [
            ("free at 3 pm on Friday", "15:00"),
            ("free at 3 on Friday", "15:00"),
            ("tomorrow at 14:30", "14:30"),
            ("at 11 tonight", "23:00"),
            ("between 2 and 4 pm", "14:00/16:00"),
            ("11 to 1 pm on Friday", "11:00/13:00"),
            ("from 9:30 to 11", "09:30/11:00"),
            ("on Friday between 9 and 12", "09:00/12:00"),
            ("free on Friday 8-10?", "08:00/10:00"),
            ("monday 8am-9am", "08:00/09:00"),
            ("on Friday from 10 pm to 2 am", "22:00/02:00"),
            ("from 22:30 tonight to 00:30", "22:30/00:30"),
            ("tomorrow morning from 2 to 4", "02:00/04:00"),
            ("between half past nine and eleven in the morning", "09:30/11:00"),
            ("a quarter to ten to quarter past eleven", "09:45/11:15"),
            ("between ten past nine and noon", "09:10/12:00"),
            ("on Friday, after 1 pm, done by 5 pm", "13:00/17:00"),
            ("on Friday before noon, from 9", "09:00/12:00"),
            ("after 5 pm on Friday", "17:00/00:00"),
            ("before 10 am tomorrow", "00:00/10:00"),
            ("tomorrow after lunch", "14:00/00:00"),
            ("Wednesday afternoon", "12:00/18:00"),
            ("dinner on Saturday", "18:00/22:00"),
            ("Monday 9 am to 11 am and Tuesday", "09:00/11:00"),
            ("Saturday 20:00 to Sunday 12:00", "over 20:00/12:00"),
            ("8 pm Saturday to Sunday 8 am", "over 20:00/08:00"),
            (
                "from 11 pm on 29 December to 1:30 am on 30 December",
                "over 23:00/01:30",
            ),
            ("Friday from 5 pm to 3 pm", "reversed 17:00/15:00"),
            ("from 8 am to 8 am", "reversed 08:00/08:00"),
            ("from 9:00 at 10:00 on Friday at 11:00", "several"),
            ("from 5 to 9 July", ""),
            ("two or three people", ""),
            ("not before 10", ""),
        ] {
            assert_eq!(read(said), expected, "{said}");
        }
    }

    #[test]
    fn data_are_written_and_read() {
        for data in ["14:00/16:00", "22:00/02:00", "09:30"] {
            assert_eq!(Hours::of_data(data).unwrap().to_data(), data);
        }
        for data in ["25:00", "noon", "14:00/", ""] {
            assert_eq!(Hours::of_data(data), None, "{data}");
        }
    }
}
