//! Compound prompts: "the weather in Oslo and a flat for two" is work for two agents, "the weather in Oslo and
//! Bergen" is work for one.

use ::words::When;
use chrono::{Datelike as _, NaiveDate};
use domain::{AgentType, Clause, Fate, Timestamp, UserContext};
use words::language::{language, speaks};
use words::phrases::{places, times, words};

use super::order::{self, Piece};
use crate::AgentBrief;

/// Most parts looked at; a longer text is one piece of work.
const PIECES_MAX: usize = 40;
/// Longest span of days that another part of a text is read with, in bytes.
const RANGE_MAX: usize = 60;
/// Most letters of a word that is cut short.
const CUT_SHORT_MAX: usize = 3;
/// Words that join parts of a request, each with its language: "en" joins in Dutch alone.
const AND: [(&str, &str); 15] = [
    ("en", "and"),
    ("en", "also"),
    ("en", "plus"),
    ("de", "und"),
    ("es", "y"),
    ("fr", "et"),
    ("it", "e"),
    ("it", "ed"),
    ("nl", "en"),
    ("no", "og"),
    ("sv", "och"),
    ("pt", "e"),
    ("pl", "i"),
    ("pl", "oraz"),
    ("ru", "и"),
];

/// One agent's part of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) agent_type: AgentType,
    pub(super) message: String,
    /// It is to come after the parts before it: "then …".
    pub(super) is_later: bool,
    /// It is about what those before it bring: "… on it".
    pub(super) refers: bool,
}

impl Part {
    pub(super) fn only(agent_type: &AgentType, text: &str) -> Vec<Self> {
        let alone = Self {
            agent_type: agent_type.clone(),
            message: text.to_owned(),
            is_later: false,
            refers: false,
        };
        vec![alone]
    }
}

/// Who gets a piece of a text that several share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goes<'a> {
    /// This agent: it is its own, or belongs to the one before it.
    To(&'a AgentType),
    /// Each of them: it stands before what they get, and says where, when or of what.
    ToAll,
    /// Nobody does it.
    ToNobody,
    /// Nobody needs it.
    Talk,
}

/// What is known of a piece by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// Whose it is, where that is clear.
    pub(super) owner: Option<&'a AgentType>,
    /// It asks for something.
    pub(super) asks: bool,
    /// It asks for something that nobody here does.
    pub(super) is_nobodys: bool,
}

/// Who gets each piece. What belongs to nobody goes with what stands before it; at the beginning it goes to all where it says where
/// or when, and otherwise, so far as it asks for something, to the first of them.
pub(super) fn goes<'a>(text: &str, pieces: &[Piece], known: &[Known<'a>]) -> Vec<Goes<'a>> {
    let first = known.iter().find_map(|known| known.owner);
    let mut owner: Option<&AgentType> = None;
    let mut out = Vec::new();
    for (piece, known) in pieces.iter().zip(known) {
        owner = known.owner.or(owner);
        let said = piece.of(text);
        out.push(match (owner, first) {
            _ if known.is_nobodys => Goes::ToNobody,
            (Some(owner), _) => Goes::To(owner),
            (None, _) if piece.colon || !places(said).is_empty() || !times(said).is_empty() => Goes::ToAll,
            (None, Some(first)) if known.asks => Goes::To(first),
            (None, _) => Goes::Talk,
        });
    }
    out
}

/// What of a text one agent gets, of several that get pieces of it.
pub(super) fn part(
    cards: &[AgentBrief],
    text: &str,
    pieces: &[Piece],
    (known, goes, wanted): (&[Known<'_>], &[Goes<'_>], &AgentType),
    today: Option<NaiveDate>,
) -> Part {
    let is_own = |at: &usize| known.get(*at).is_some_and(|known| known.owner == Some(wanted));
    let own: Vec<usize> = (0..pieces.len()).filter(is_own).collect();
    let own = order::Own::of(text, pieces, &own);
    Part {
        agent_type: wanted.clone(),
        message: message(cards, text, pieces, (goes, wanted), (own.refers, today)),
        is_later: own.is_later,
        refers: own.refers,
    }
}

/// The parts of a text with what becomes of each: every letter of it lies in one of them.
pub(super) fn clauses(text: &str, pieces: &[Piece], goes: &[Goes<'_>]) -> Vec<Clause> {
    let mut all: Vec<AgentType> = Vec::new();
    for to in goes {
        if let Goes::To(agent) = to
            && !all.contains(agent)
        {
            all.push((*agent).clone());
        }
    }
    let fate = |goes: Goes<'_>| match goes {
        Goes::To(agent) => Fate::Sent {
            to: vec![agent.clone()],
        },
        Goes::ToAll => Fate::Sent { to: all.clone() },
        Goes::ToNobody => Fate::Refused,
        Goes::Talk => Fate::Talk,
    };
    let spans = spans(text, pieces, goes);
    spans.map(|(said, goes)| Clause::new(said, fate(goes))).collect()
}

/// A text in the runs of pieces that go to the same.
fn spans<'t, 'a>(
    text: &'t str,
    pieces: &[Piece],
    goes: &[Goes<'a>],
) -> impl Iterator<Item = (&'t str, Goes<'a>)> {
    let mut runs: Vec<(usize, Goes<'a>)> = Vec::new();
    let mut end = 0;
    for (piece, goes) in pieces.iter().zip(goes) {
        // A word that joins two belongs to the second, a mark to the first.
        let gap = text.get(end..piece.start).unwrap_or_default();
        let word = gap.find(char::is_alphanumeric).unwrap_or(gap.len());
        match runs.last() {
            Some((_, before)) if before == goes => {}
            Some(_) => runs.push((end + word, *goes)),
            None => runs.push((0, *goes)),
        }
        end = piece.end;
    }
    let ends: Vec<usize> = runs.iter().skip(1).map(|(start, _)| *start).collect();
    let ends = ends.into_iter().chain([text.len()]);
    let span = |((start, goes), end): ((usize, Goes<'a>), usize)| Some((text.get(start..end)?, goes));
    runs.into_iter().zip(ends).filter_map(span)
}

/// The prompts that a type's agents name as examples.
fn examples<'a>(agents: &'a [AgentBrief], of: &AgentType) -> impl Iterator<Item = &'a str> {
    let agents = agents.iter().filter(move |agent| agent.agent_type() == of);
    let skills = agents.flat_map(AgentBrief::skills);
    skills.flat_map(|skill| skill.examples()).map(String::as_str)
}

/// What one agent is asked: its pieces, then what the others share.
fn message(
    cards: &[AgentBrief],
    text: &str,
    pieces: &[Piece],
    (goes, wanted): (&[Goes<'_>], &AgentType),
    (refers, today): (bool, Option<NaiveDate>),
) -> String {
    let runs = |which: Goes<'_>| {
        let mut runs: Vec<Piece> = Vec::new();
        let mut joined = false;
        for (piece, goes) in pieces.iter().zip(goes) {
            match runs.last_mut() {
                _ if *goes != which => joined = false,
                Some(run) if joined => {
                    *run = Piece {
                        start: run.start,
                        ..*piece
                    }
                }
                _ => {
                    runs.push(*piece);
                    joined = true;
                }
            }
        }
        runs
    };
    let joined = |runs: &[Piece]| {
        let said: Vec<&str> = runs.iter().map(|run| run.of(text).trim()).collect();
        said.join(", ")
    };
    let (own, lead) = (runs(Goes::To(wanted)), runs(Goes::ToAll));
    let done = own.last().map_or(0, |run| run.end);
    let mut own = joined(&own);
    if let Some(last) = lead.last() {
        let mark = if last.colon { ":" } else { "," };
        return format!("{}{mark} {own}", joined(&lead));
    }
    // "a flat for two there and the weather in Oslo" is one thought; what stands in another sentence is shared where the agent cannot do
    // without, and never what its own examples do not speak of.
    let agent = cards.iter().find(|agent| agent.agent_type() == wanted);
    let lacks = |said: &str| {
        let read =
            agent.and_then(|agent| agent.read(said, (Timestamp::from_millis(0), &UserContext::default())));
        read.map_or(0, |read| read.missing.len())
    };
    let sentences = pieces.iter().filter(|piece| piece.closed).count();
    // "a report on whales and then the weather in Oslo": what comes later says nothing of what was before it.
    let is_later = |at: &usize| order::Own::of(text, pieces, &[*at]).is_later;
    let behind = (0..pieces.len()).filter(|at| pieces.get(*at).is_some_and(|piece| piece.start >= done));
    let later = behind.filter(is_later).find_map(|at| pieces.get(at));
    let said = text
        .get(..later.map_or(text.len(), |later| later.start))
        .unwrap_or(text);
    let english = |said: &str| ::words::when_in_english(said).unwrap_or_else(|| said.to_owned());
    let said = &english(said);
    // Nor what it is handed anyway.
    if !refers {
        let mut dates = today.and_then(|today| dates(said, today));
        for (find, link) in [(places as fn(&str) -> Vec<String>, "in "), (times, "")] {
            let mut all = find(said);
            all.dedup();
            let wants = examples(cards, wanted).any(|example| !find(example).is_empty());
            let has = english(&own);
            // "The 9th" says when.
            let when = link.is_empty() && names_day(&has);
            // Of "9 to 12 January" the month alone says nothing.
            let dated = link.is_empty() && all.iter().any(|time| is_of_date(said, time));
            let only = match all.as_slice() {
                _ if dated => dates.take(),
                [only] => Some(only.clone()),
                [first, .., last] if link.is_empty() => range(said, first, last).map(str::to_owned),
                _ => None,
            };
            if let (Some(only), true, true) = (only, wants && !when, find(&has).is_empty()) {
                let whole = format!("{} {link}{only}", own.trim_end_matches(['?', '!', '.']));
                if sentences < 2 || lacks(&whole) < lacks(&own) {
                    own = match today {
                        Some(today) if !link.is_empty() => of_their_days(said, whole, today),
                        _ => whole,
                    };
                }
            }
        }
    }
    own
}

/// "A flat from Friday to Sunday and the weather there on Saturday": of a part that is about the place of the others a day's name is that
/// of the one span of days that they name, where the next day of that name lies outside of it.
fn of_their_days(text: &str, own: String, today: NaiveDate) -> String {
    let days = |text: &str| ::words::days::take(&mut ::words::text::split(text, text.len()), None);
    let named = days(&own).mentions;
    let [(at, when @ When::Weekday { day, .. })] = named.as_slice() else {
        return own;
    };
    let spans = days(text).days.into_iter().map(|when| when.resolve(today));
    let spans: Vec<Vec<NaiveDate>> = spans.filter(|span| span.len() > 1).collect();
    let [span] = spans.as_slice() else {
        return own;
    };
    let words = ::words::text::split(&own, own.len());
    let mut said = words.iter().skip(*at);
    let name = said.find(|word| days(&word.text).days.as_slice() == std::slice::from_ref(when));
    let mut theirs = span.iter().filter(|date| date.weekday() == *day);
    match (theirs.next(), theirs.next(), name) {
        (Some(date), None, Some(name)) if !when.resolve(today).contains(date) => {
            let dated = format!("{} {}", name.text, date.format("%-d %B"));
            own.replacen(&name.text, &dated, 1)
        }
        _ => own,
    }
}

/// What lies from one time to another, where that is one span of days: "Friday to Sunday".
fn range<'t>(text: &'t str, first: &str, last: &str) -> Option<&'t str> {
    let (start, end) = (text.find(first)?, text.rfind(last)? + last.len());
    let span = text.get(start..end).filter(|span| span.len() <= RANGE_MAX)?;
    let mut said = ::words::text::split(span, RANGE_MAX);
    let found = ::words::days::take(&mut said, None).days;
    (found.len() == 1).then_some(span)
}

/// The days of a text in full, where they are one or lie side by side: "from 9 January 2027 to 12 January 2027".
fn dates(text: &str, today: NaiveDate) -> Option<String> {
    let named = ::words::days::take(&mut ::words::text::split(text, text.len()), None);
    let [when] = named.days.as_slice() else {
        return None;
    };
    let full = |day: &NaiveDate| day.format("%-d %B %Y").to_string();
    let days = when.clone().ahead().resolve(today);
    match (days.first()?, days.last()?) {
        (first, last) if first == last => Some(format!("on {}", full(first))),
        (first, last) => Some(format!("from {} to {}", full(first), full(last))),
    }
}

/// Whether a text says when, in whatever form.
fn names_day(text: &str) -> bool {
    let mut said = ::words::text::split(text, text.len());
    !::words::days::take(&mut said, None).days.is_empty()
}

/// Whether a word for a time stands behind a number.
fn is_of_date(text: &str, time: &str) -> bool {
    let before = text.split_once(time).map(|(before, _)| before.trim_end());
    before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
}

/// Whether a word is cut short, such as "Dr": a few letters, the first a capital, and no vowel among them.
fn is_cut_short(word: &str) -> bool {
    let is_consonant = |c: char| c.is_ascii_alphabetic() && !"aeiouy".contains(c.to_ascii_lowercase());
    (1..=CUT_SHORT_MAX).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(is_consonant)
}

/// The pieces of a text, between punctuation and joining words.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let spoken = language(text);
    let mut quotes = nlu::quoted(text).into_iter().peekable();
    let mut out: Vec<Piece> = Vec::new();
    let mut start: Option<usize> = None;
    let mut end = 0;
    let mut close = |start: &mut Option<usize>, end: usize, colon: bool, closed: bool| {
        if let Some(start) = start.take() {
            out.push(Piece {
                start,
                end,
                colon,
                closed,
            });
        }
    };
    let (mut last, mut is_date) = (0, false);
    for word in words(text) {
        let gap = text.get(end..word.start).unwrap_or_default();
        // What is quoted goes on with what it is quoted in.
        while quotes.next_if(|quote| quote.end <= word.start).is_some() {}
        if start.is_some() && quotes.peek().is_some_and(|quote| quote.start < word.start) {
            (last, end) = (word.start, word.end);
            continue;
        }
        let is_short = text.get(last..end).is_some_and(is_cut_short);
        let ends = |c: char| {
            // Neither an address, a number nor "Dr." ends a sentence.
            let is_inside = |rest: &str| rest.is_empty() && matches!(c, '.' | ':') || c == '.' && is_short;
            gap.split(c).skip(1).any(|rest| {
                !is_inside(rest)
                    && (!c.is_ascii() || rest.is_empty() || rest.starts_with(char::is_whitespace))
            })
        };
        let colon = ends(':');
        // "vom 4. bis 6. Dezember": where numbers of days have a point.
        let is_ordinal = gap == ". "
            && text.get(..end).is_some_and(ends_with_day)
            && (word.text.starts_with(char::is_lowercase) || is_date || spoken != 0 && !speaks(spoken, "en"));
        let closed =
            !is_ordinal && ['.', '?', '!', ';', '。', '？', '！'].into_iter().any(ends) || gap.contains('\n');
        // "Freitag, 4. Dezember", "Saturday, 5 December": a day's name goes on with its number.
        let has_point = || text.get(word.end..).is_some_and(|rest| rest.starts_with(". "));
        is_date = gap == ", "
            && (1..=2).contains(&word.text.len())
            && word.text.bytes().all(|byte| byte.is_ascii_digit())
            && (has_point() || text.get(last..end).is_some_and(names_day));
        let parts = |mark: char| !is_date && ends(mark);
        if colon || closed || [',', '&', '、', '，'].into_iter().any(parts) {
            // A question or exclamation mark belongs to the piece it ends.
            let mark = gap.find(['?', '!']).map_or(0, |at| at + 1);
            close(&mut start, end + mark, colon, closed);
        }
        let lower = word.lower();
        let joins = |(code, joint): &(&str, &str)| *joint == lower && speaks(spoken, code);
        if AND.iter().any(joins) || order::is_later(&lower) {
            close(&mut start, end, false, false);
        } else if start.is_none() {
            start = Some(word.start);
        }
        (last, end) = (word.start, word.end);
    }
    close(&mut start, text.len(), false, true);
    if out.len() > PIECES_MAX {
        return vec![Piece {
            start: 0,
            end: text.len(),
            colon: false,
            closed: true,
        }];
    }
    out
}

/// Whether a text ends with a number of one or two digits.
fn ends_with_day(text: &str) -> bool {
    let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (1..=2).contains(&digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agent(name: &str) -> AgentType {
        AgentType::parse(name).unwrap()
    }

    #[test]
    fn a_days_name_is_that_of_the_span_that_the_others_name() {
        // A Saturday.
        let today = NaiveDate::from_ymd_opt(2026, 11, 28).unwrap();
        for (text, own, expected) in [
            (
                "a flat from Friday to Sunday and the weather there on Saturday",
                "the weather there on Saturday in Lisbon",
                "the weather there on Saturday 5 December in Lisbon",
            ),
            // Which day is meant, nothing says, or it is the same.
            (
                "a flat from Monday to Wednesday and the weather there on Saturday",
                "on Saturday in Lisbon",
                "on Saturday in Lisbon",
            ),
            (
                "a flat and the weather there on Saturday",
                "on Saturday in Lisbon",
                "on Saturday in Lisbon",
            ),
            (
                "a flat this weekend and the weather there on Saturday",
                "on Saturday in Lisbon",
                "on Saturday in Lisbon",
            ),
            (
                "a flat from 4 to 20 December and the weather there on Saturday",
                "on Saturday in Lisbon",
                "on Saturday in Lisbon",
            ),
            (
                "a flat from Friday to Sunday and the weather there tomorrow",
                "tomorrow in Lisbon",
                "tomorrow in Lisbon",
            ),
        ] {
            assert_eq!(of_their_days(text, own.to_owned(), today), expected, "{text}");
        }
    }

    #[test]
    fn dates_are_shared_in_full_whatever_the_language() {
        let today = NaiveDate::from_ymd_opt(2026, 11, 28).unwrap();
        for (text, expected) in [
            (
                "A flat in Ulm from 9 to 11 January",
                Some("from 9 January 2027 to 11 January 2027"),
            ),
            (
                "Eine Wohnung in Ulm vom 9. bis 11. Januar",
                Some("from 9 January 2027 to 11 January 2027"),
            ),
            (
                "Un appartement à Lyon du 9 au 11 janvier pour deux",
                Some("from 9 January 2027 to 11 January 2027"),
            ),
            (
                "Un piso en Sevilla del 9 al 11 de enero",
                Some("from 9 January 2027 to 11 January 2027"),
            ),
            ("A table in Ulm on 9 January", Some("on 9 January 2027")),
            ("On 9 January or on 12 March", None),
            ("A flat in Ulm", None),
        ] {
            let english = ::words::when_in_english(text);
            let dates = dates(english.as_deref().unwrap_or(text), today);
            assert_eq!(dates.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_number_of_a_day_ends_no_sentence_where_it_has_a_point() {
        for (text, expected) in [
            (
                "Das Wetter in Rom vom 4. bis 6. Dezember und eine Wohnung dort",
                2,
            ),
            ("Falls ich am Freitag, 4. Dezember frei bin, such ein Zimmer", 2),
            ("Is it dry on Saturday, 5 December?", 1),
            ("Is it dry in Oslo, 5 people ask", 2),
            ("Ask Dr. Weiss. Is ada@x.example in?", 2),
            ("A flat in Oslo from 4 to 6. What is the weather there?", 2),
            ("Where is order 1003. the weather in Oslo", 2),
        ] {
            assert_eq!(pieces(text).len(), expected, "{text}");
        }
    }

    #[test]
    fn what_an_agent_cannot_do_without_it_gets_from_another_sentence_too() {
        let card = |name: &str, schema: serde_json::Value| {
            let examples = ["Will it rain in Oslo?".to_owned()];
            let skill = crate::SkillText {
                name,
                examples: &examples,
                input: Some(&schema),
                ..crate::SkillText::default()
            };
            AgentBrief::new(agent(name), crate::CardText::default(), [skill])
        };
        let place = |required: &[&str]| {
            serde_json::json!({"type": "object", "required": required,
                "properties": {"places": {"type": "array", "items": {"type": "string", "format": "place"}}}})
        };
        let text = "A flat in Lisbon for two. And the weather there";
        let pieces = pieces(text);
        let (weather, stays) = (agent("weather"), agent("stays"));
        let goes = [Goes::To(&stays), Goes::To(&weather)];
        let known = goes.map(|goes| Known {
            owner: match goes {
                Goes::To(owner) => Some(owner),
                _ => None,
            },
            asks: true,
            is_nobodys: false,
        });
        for (required, expected) in [
            (&["places"][..], "the weather there in Lisbon"),
            (&[], "the weather there"),
        ] {
            let cards = [card("weather", place(required))];
            let part = part(&cards, text, &pieces, (&known, &goes, &weather), None);
            assert_eq!(part.message, expected);
        }
    }

    proptest! {
        /// Nothing of what was said vanishes: each letter lies in one clause, and what is for an agent stands in its message.
        #[test]
        fn every_word_has_a_fate(
            said in prop::collection::vec(("[a-z]{2,8}( [a-z]{2,8}){0,3}", 0..5_u8), 2..9),
            mark in prop::sample::select(vec![", ", ". ", "; ", ": ", "? ", " and "]),
        ) {
            let text = said.iter().map(|(words, _)| words.as_str()).collect::<Vec<_>>().join(mark);
            let pieces = pieces(&text);
            let (weather, stays) = (agent("weather"), agent("stays"));
            let known: Vec<Known<'_>> = said.iter().map(|(_, whose)| Known {
                owner: [None, None, None, Some(&weather), Some(&stays)][usize::from(*whose)],
                asks: *whose > 0,
                is_nobodys: *whose == 2,
            }).cycle().take(pieces.len()).collect();
            prop_assume!(known.iter().any(|known| known.owner.is_some()));
            let goes = goes(&text, &pieces, &known);
            let whole: String = spans(&text, &pieces, &goes).map(|(said, _)| said).collect();
            prop_assert_eq!(&whole, &text);
            prop_assert_eq!(goes.len(), pieces.len());
            for (piece, goes) in pieces.iter().zip(&goes) {
                let gets = |wanted: &AgentType| {
                    let sent = part(&[], &text, &pieces, (&known, &self::goes(&text, &pieces, &known), wanted), None).message;
                    sent.contains(piece.of(&text).trim())
                };
                match goes {
                    Goes::To(wanted) => prop_assert!(gets(wanted)),
                    Goes::ToAll => prop_assert!(gets(&weather) && gets(&stays)),
                    Goes::ToNobody | Goes::Talk => {}
                }
            }
            prop_assert!(clauses(&text, &pieces, &goes).iter().all(|clause| !clause.said.is_empty()));
        }
    }
}
