//! What words say: the kind of question, a length of time, days, hours, a clock. What is not read is asked about.

use std::sync::LazyLock;

use chrono::NaiveTime;
use domain::READ_MAX;
use words::text::{self, Word, take_out};
use words::{DateOrder, Glossary, When, days, related};

use super::hours::{self, About, Span};
use super::length::{self, Length};
use super::unread;
use super::{Hours, Kind, Said, clocks};

/// What calendars are called in other languages: the few words that say which kind of question it is.
static ABROAD: LazyLock<Glossary> = LazyLock::new(|| Glossary::of(include_str!("abroad.txt")));

const ONLY_LOOKS: &str = "I only look at your calendar and change nothing in it. Shall I say whether you are free then, what is on, or \
                          look for a free time?";

/// What words say; days also in the languages that `words` reads. `month` is today's.
pub(super) fn read(said: &str, order: Option<DateOrder>, month: u32) -> Said {
    let english = ABROAD.in_english(said, is_english);
    let is_foreign = english.is_some();
    let lost = english
        .as_ref()
        .is_some_and(|english| unread::is_number_lost(said, english));
    let mut words = text::split(english.as_deref().unwrap_or(said), READ_MAX);
    let kind = kind(&words);
    let is_deed = is_deed(&words);
    let has = |these: &[&str]| words.iter().any(|word| these.contains(&word.lower.as_str()));
    let meal = (0..words.len()).find_map(|at| meal_at(&words, at));
    let with_others = has(&["with"]) || words.windows(3).any(is_other_and_i);
    let past = has(&["did", "had", "was", "were"]);
    let about = match (has(&["afternoon", "evening", "tonight"]), has(&["morning"])) {
        (true, _) => About::Late,
        (false, true) => About::Early,
        _ => About::Unsaid,
    };
    let zone = clocks::take_zone(&mut words);
    let length = length::take(&mut words);
    let over_days = hours::take_over_days(&mut words, about, order);
    let span = over_days
        .as_ref()
        .map(|(hours, _)| Span::Hours(*hours))
        .or_else(|| hours::take_span(&mut words, about, order))
        .or_else(|| hours::take_apart(&mut words, about, order).map(Span::Hours));
    let week_of = take_pair(&mut words, |first, second| first == "week" && second == "of");
    let this_month = take_pair(&mut words, |first, second| first == "this" && second == "month");
    let next_month = take_pair(&mut words, |first, second| first == "next" && second == "month");
    let is_no_day = words.iter().any(|word| is_no_day(&word.lower));
    let is_span = span.is_some() || hours::count(&words) < 2;
    let mut time = days::take(&mut words, order);
    related::count_on(&mut words, &mut time);
    related::before(&mut words, &mut time);
    let through = over_days.is_some();
    if let Some((_, over)) = over_days {
        time.days.extend(over.days);
        time.named.extend(over.named);
    }
    let within = unread::is_within(&words, &time.mentions);
    let is_unread = lost
        || is_foreign && words.iter().any(has_digit)
        || words.windows(2).any(is_no_clock)
        || unread::is_any(&words, &time.mentions, span.is_some(), within);
    time.days.extend(this_month.then_some(When::Month(month)));
    time.days
        .extend(next_month.then_some(When::Month(month % 12 + 1)));
    let at = time.time.and_then(|time| hours::alone(time, about));
    let part = time.part.as_deref().and_then(part);
    let evening = time.tonight.then(|| hours(18, 23));
    let minutes = match length {
        Some(Length::Minutes(minutes)) => Some(minutes),
        _ => None,
    };
    // Whoever names how long it takes looks for that time.
    let kind = match kind {
        Some(Kind::Disconnect) => kind,
        kind => length.map(|_| Kind::Slot).or(kind),
    };
    let moment = at.map(|at| hours::from(at, minutes.unwrap_or(60)));
    let (span, reversed) = match span {
        Some(Span::Hours(hours)) => (Some(hours), None),
        Some(Span::Reversed(hours)) => (None, Some(hours)),
        None => (None, None),
    };
    let hours = span.or(moment).or(part).or(evening).or(meal);
    Said {
        kind,
        days: time.days,
        named: time.named,
        is_week: week_of,
        within,
        hours,
        through,
        minutes,
        zone,
        with_others,
        past,
        wrong: match (is_no_day, is_span) {
            (true, _) => Some("I know no such day. Which day do you mean?".to_owned()),
            // Two times that are not the ends of anything.
            (_, false) => Some("From when to when, and on which day?".to_owned()),
            _ => wrong(length, reversed, hours.filter(|_| !through)),
        }
        .or_else(|| {
            (is_deed && !matches!(kind, Some(Kind::Disconnect | Kind::Slot))).then(|| ONLY_LOOKS.to_owned())
        })
        .or_else(|| {
            is_unread
                .then(|| "I cannot read all of that. Which day or days, and from when to when?".to_owned())
        }),
    }
}

/// Whether it says to change something: "Delete everything on Friday", "can you move my lunch".
fn is_deed(words: &[Word]) -> bool {
    const POLITE: [&str; 9] = [
        "please", "can", "could", "would", "will", "you", "i", "to", "want",
    ];
    const DEEDS: [&str; 12] = [
        "add",
        "book",
        "cancel",
        "create",
        "decline",
        "delete",
        "invite",
        "move",
        "postpone",
        "remove",
        "reschedule",
        "schedule",
    ];
    let mut said = words.iter().map(|word| word.lower.as_str());
    let first = said.find(|word| !POLITE.contains(word));
    first.is_some_and(|first| DEEDS.contains(&first))
}

/// Takes two words that stand side by side out of the way of the dates: `the week of 13 March`.
fn take_pair(words: &mut [Word], is: impl Fn(&str, &str) -> bool) -> bool {
    let is = |pair: &[Word]| matches!(pair, [first, second] if is(&first.lower, &second.lower));
    let found = words.windows(2).position(is);
    found.into_iter().for_each(|at| take_out(words, at..at + 2));
    found.is_some()
}

/// `32nd`
fn is_no_day(lower: &str) -> bool {
    text::ordinal(lower).is_some_and(|day| !(1..=31).contains(&day))
}

/// `Bo and I`
fn is_other_and_i(words: &[Word]) -> bool {
    matches!(words, [other, and, i] if other.text.starts_with(char::is_uppercase) && and.kind == text::Kind::And && i.lower == "i")
}

/// `16h` too.
fn has_digit(word: &Word) -> bool {
    word.kind == text::Kind::Word && word.text.contains(|c: char| c.is_ascii_digit())
}

/// `25:00`, of which no clock has shown anything.
fn is_no_clock(words: &[Word]) -> bool {
    matches!(words, [hour, colon] if hour.kind == text::Kind::Word && hour.number().is_some() && colon.text == ":")
}

/// Whether a word tells that a text is English: "am" is a German word too.
fn is_english(lower: &str) -> bool {
    kind_of(lower).is_some()
        || matches!(
            lower,
            "the" | "from" | "on" | "my" | "with" | "between" | "what" | "i" | "to"
        )
}

/// What makes no sense together, as a question.
fn wrong(length: Option<Length>, reversed: Option<Hours>, hours: Option<Hours>) -> Option<String> {
    let shown = |hours: Hours| (hours.from.format("%H:%M"), hours.to.format("%H:%M"));
    if let Some(hours) = reversed {
        let (from, to) = shown(hours);
        return Some(format!("{to} is not after {from}. From when to when?"));
    }
    match (length?, hours) {
        (Length::None, _) => Some("How long is it to take, in minutes or hours?".to_owned()),
        (Length::Minutes(minutes), Some(hours)) if hours.minutes() < i64::from(minutes) => {
            let (from, to) = shown(hours);
            Some(format!(
                "From {from} to {to} there are no {minutes} minutes. How long is it to take, or from when to when?"
            ))
        }
        _ => None,
    }
}

fn kind(words: &[Word]) -> Option<Kind> {
    let found: Vec<Kind> = words.iter().filter_map(|word| kind_of(&word.lower)).collect();
    let has = |these: &[&str]| words.iter().any(|word| these.contains(&word.lower.as_str()));
    let asks_when = has(&["when", "find"]);
    let asks_what = has(&["what", "what's", "whats", "which", "show", "list"]);
    // "When can we meet", but not "when is my meeting".
    let can = |pair: &[Word]| matches!(pair, [when, can] if when.lower == "when" && matches!(can.lower.as_str(), "can" | "could"));
    match found.as_slice() {
        all if all.contains(&Kind::Disconnect) || has(&["access"]) && has(&["remove", "revoke", "end"]) => {
            Some(Kind::Disconnect)
        }
        all if all.contains(&Kind::Slot) || has(&["find"]) || words.windows(2).any(can) => Some(Kind::Slot),
        // "What time is my meeting", "what do I have on Friday"
        all if asks_what
            && (all.contains(&Kind::Events)
                || has(&["on", "have", "got", "did", "happening", "planned"])) =>
        {
            Some(Kind::Events)
        }
        all if all.contains(&Kind::Free) && asks_when => Some(Kind::Slot),
        all if all.contains(&Kind::Free) => Some(Kind::Free),
        [] if has(&["show", "list"]) => Some(Kind::Events),
        // "Could we do dinner on Saturday?"
        [] if words.windows(2).any(may_we) => Some(Kind::Free),
        all => all.first().copied(),
    }
}

fn may_we(words: &[Word]) -> bool {
    matches!(words, [may, we] if matches!(may.lower.as_str(), "can" | "could") && matches!(we.lower.as_str(), "i" | "we"))
}

fn kind_of(lower: &str) -> Option<Kind> {
    Some(match lower {
        "disconnect" | "unlink" => Kind::Disconnect,
        "slot" | "slots" | "gap" | "gaps" | "opening" | "openings" => Kind::Slot,
        "free" | "busy" | "available" | "availability" | "booked" | "open" | "time" => Kind::Free,
        "calendar" | "calendar's" | "meeting" | "meetings" | "appointment" | "appointments" | "event"
        | "events" | "agenda" | "diary" | "schedule" | "anything" | "everything" | "plans" => Kind::Events,
        _ => return None,
    })
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

/// The hours of a meal; those behind it or before it, where that is said.
fn meal_at(words: &[Word], at: usize) -> Option<Hours> {
    let hours = meal(&words.get(at)?.lower)?;
    Some(match text::before(words, at) {
        "after" => Hours::until_midnight(hours.to),
        "before" => Hours::from_midnight(hours.from),
        _ => hours,
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
