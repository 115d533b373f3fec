//! What words say: the kind of question, a length of time, days, hours, a clock. What is not read is asked about.

use chrono::{NaiveTime, TimeDelta};
use chrono_tz::{TZ_VARIANTS, Tz};
use words::text::{self, Kind as Piece, Word};
use words::{DateOrder, days};

use super::{Hours, Kind, MINUTES_MAX, Said};

/// Most characters of a message that are read.
const TEXT_MAX: usize = 2_000;

/// What words say; days also in the languages that `words` reads.
pub(super) fn read(said: &str, order: Option<DateOrder>) -> Said {
    let said: String = said.chars().take(TEXT_MAX).collect();
    let said = words::in_english(&said, |_| &[], |word| kind_of(word).is_some()).unwrap_or(said);
    let mut words = text::split(&said, TEXT_MAX);
    let kind = kind(&words);
    let meal = words.iter().find_map(|word| meal(&word.lower));
    let with_others = words.iter().any(|word| word.lower == "with");
    let zone = zone(&words);
    let minutes = take_length(&mut words);
    let span = take_span(&mut words);
    let time = days::take(&mut words, order);
    let at = time.clock.as_deref().and_then(clock);
    let part = time.part.as_deref().and_then(part);
    let evening = time.tonight.then(|| hours(18, 23));
    // Whoever names how long it takes looks for that time.
    let kind = match kind {
        Some(Kind::Disconnect) => kind,
        kind => minutes.map(|_| Kind::Slot).or(kind),
    };
    let moment = at.map(|from| Hours {
        from,
        to: from
            .overflowing_add_signed(TimeDelta::minutes(minutes.unwrap_or(60).into()))
            .0,
    });
    Said {
        kind,
        days: time.days,
        hours: span.or(moment).or(part).or(evening).or(meal),
        minutes,
        zone,
        with_others,
        wrong: None,
    }
}

fn kind(words: &[Word]) -> Option<Kind> {
    let found: Vec<Kind> = words.iter().filter_map(|word| kind_of(&word.lower)).collect();
    let has = |these: &[&str]| words.iter().any(|word| these.contains(&word.lower.as_str()));
    let asks_when = has(&["when", "find"]);
    let asks_what = has(&["what", "what's", "whats", "show", "list"]);
    match found.as_slice() {
        all if all.contains(&Kind::Disconnect) => Some(Kind::Disconnect),
        all if all.contains(&Kind::Slot) => Some(Kind::Slot),
        // "What time is my meeting", "what do I have on Friday"
        all if asks_what && (all.contains(&Kind::Events) || has(&["on", "have"])) => Some(Kind::Events),
        all if all.contains(&Kind::Free) && asks_when => Some(Kind::Slot),
        all if all.contains(&Kind::Free) => Some(Kind::Free),
        all => all.first().copied(),
    }
}

fn kind_of(lower: &str) -> Option<Kind> {
    Some(match lower {
        "disconnect" | "unlink" => Kind::Disconnect,
        "slot" | "slots" | "gap" | "gaps" | "opening" | "openings" => Kind::Slot,
        "free" | "busy" | "available" | "availability" | "booked" | "time" => Kind::Free,
        "calendar" | "calendar's" | "meeting" | "meetings" | "appointment" | "appointments" | "event"
        | "events" | "agenda" | "diary" | "schedule" | "anything" | "plans" => Kind::Events,
        _ => return None,
    })
}

/// A length of time: `an hour`, `half an hour`, `90 minutes`, `1.5 hours`, `an hour and a half`.
fn take_length(words: &mut [Word]) -> Option<u32> {
    for index in 0..words.len() {
        let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
        let (count, unit) = match (lower(index), lower(index + 1), lower(index + 2)) {
            ("half", "an", "hour") => (0.5, index + 2),
            ("an" | "a", "half", "hour") => (0.5, index + 2),
            ("an" | "a" | "one", _, _) => (1.0, index + 1),
            ("two", _, _) => (2.0, index + 1),
            ("three", _, _) => (3.0, index + 1),
            (number, _, _) => match number.parse::<f32>() {
                Ok(count) if count.is_finite() => (count, index + 1),
                _ => continue,
            },
        };
        let each = match lower(unit) {
            "hour" | "hours" | "hrs" => 60.0,
            "minute" | "minutes" | "min" | "mins" => 1.0,
            _ => continue,
        };
        let half = (lower(unit + 1), lower(unit + 2), lower(unit + 3)) == ("and", "a", "half");
        // "In two hours" is a time and no length.
        let ahead = index.checked_sub(1).map_or("", lower) == "in";
        let minutes = (count + if half { 0.5 } else { 0.0 }) * each;
        if ahead || !(5.0..=MINUTES_MAX as f32).contains(&minutes) {
            continue;
        }
        let taken = unit + 1 + if half { 3 } else { 0 } - index;
        for word in words.iter_mut().skip(index).take(taken) {
            word.kind = Piece::Gap;
        }
        return Some(minutes as u32);
    }
    None
}

/// Two times of a day: `from 2 to 4 pm`, `between 14:00 and 16:30`.
fn take_span(words: &mut [Word]) -> Option<Hours> {
    for index in 0..words.len() {
        let Some((from, half, next)) = time_at(words, index) else {
            continue;
        };
        let joined = words
            .get(next)
            .is_some_and(|word| matches!(word.lower.as_str(), "to" | "till" | "until" | "and" | "-" | "–"));
        let Some((to, to_half, end)) = time_at(words, next + 1).filter(|_| joined) else {
            continue;
        };
        // "2 to 4 pm": the half of the day is said once. Two numbers alone are no times.
        let said = half || to_half || from.1 || to.1;
        let (from, to) = (from.0, to.0);
        let from = match (half, to_half && to > NaiveTime::from_hms_opt(12, 0, 0)?) {
            (false, true) if from < NaiveTime::from_hms_opt(12, 0, 0)? => {
                from.overflowing_add_signed(TimeDelta::hours(12)).0
            }
            _ => from,
        };
        if !said || to <= from {
            continue;
        }
        for word in words.iter_mut().skip(index).take(end - index) {
            word.kind = Piece::Gap;
        }
        return Some(Hours { from, to });
    }
    None
}

/// A time that begins at `index`, whether it has minutes, whether it says which half of the day it is in, and where it ends.
fn time_at(words: &[Word], index: usize) -> Option<((NaiveTime, bool), bool, usize)> {
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let mut text = word(index).to_owned();
    let mut end = index + 1;
    if word(end) == ":" {
        text = format!("{text}:{}", word(end + 1));
        end += 2;
    }
    if matches!(word(end).to_lowercase().as_str(), "am" | "pm" | "a.m." | "p.m.") {
        text = format!("{text} {}", word(end));
        end += 1;
    }
    let lower = text.to_lowercase();
    let half = lower.ends_with('m') || lower.ends_with("m.");
    Some(((clock(&text)?, text.contains(':')), half, end))
}

/// A time of the day as it is written: `5 pm`, `14:30`, `at 8`.
fn clock(text: &str) -> Option<NaiveTime> {
    let lower = text.to_lowercase().replace('.', "");
    let text = lower.trim_start_matches("at ").trim();
    let (number, half) = match (text.strip_suffix("pm"), text.strip_suffix("am")) {
        (Some(number), _) => (number, Some(12)),
        (_, Some(number)) => (number, Some(0)),
        _ => (text.trim_end_matches("o'clock").trim_end_matches('h'), None),
    };
    let (hour, minute) = number.trim().split_once(':').unwrap_or((number.trim(), "0"));
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(more) if (1..=12).contains(&hour) => hour % 12 + more,
        Some(_) => return None,
        // Nobody who says "at 3" and no more means the night.
        None if hour < 7 && !number.contains(':') => hour + 12,
        None => hour,
    };
    NaiveTime::from_hms_opt(hour, minute, 0)
}

fn part(part: &str) -> Option<Hours> {
    Some(match part {
        "morning" => hours(6, 12),
        "afternoon" => hours(12, 18),
        "evening" | "night" => hours(18, 23),
        "noon" | "midday" | "lunchtime" => hours(11, 14),
        _ => return None,
    })
}

fn meal(lower: &str) -> Option<Hours> {
    Some(match lower {
        "breakfast" => hours(7, 10),
        "lunch" | "lunchtime" => hours(11, 14),
        "dinner" => hours(18, 22),
        _ => return None,
    })
}

fn hours(from: u32, to: u32) -> Hours {
    let at = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default();
    Hours {
        from: at(from),
        to: at(to),
    }
}

/// The clock that is named: `Oslo time`, `New York time`, `UTC`.
fn zone(words: &[Word]) -> Option<Tz> {
    if words.iter().any(|word| word.lower == "utc") {
        return Some(Tz::UTC);
    }
    let named = words.iter().position(|word| word.lower == "time")?;
    let before = |back: usize| named.checked_sub(back).and_then(|at| words.get(at));
    let one = before(1)?.lower.clone();
    let two = before(2).map(|word| format!("{}_{one}", word.lower));
    let is = |zone: &&Tz, city: &str| {
        let name = zone.name().to_lowercase();
        name.rsplit('/').next() == Some(city)
    };
    let find = |city: &str| TZ_VARIANTS.iter().find(|zone| is(zone, city)).copied();
    two.and_then(|city| find(&city)).or_else(|| find(&one))
}
