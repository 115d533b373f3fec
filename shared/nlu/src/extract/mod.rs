//! What somebody says as the data that an agent takes: values bound to the fields of a JSON Schema.
//!
//! ```text
//! words ─► split once ─► numbers with their noun ─► ids ─► choices ─► what is left, as text ─► Extraction
//!                        (integer)                 (id)    (oneOf)    (string)
//! ```
//!
//! Nothing here knows what an agent does. What a number counts, which choice is meant and which words only ask is told by the
//! agent's own schema and examples ([`Takes`]): the name and the description of a field name its noun, the description of a
//! constant names what people call it, and an example with its value in braces ("Prepare a report on {tea}") shows what people
//! say around a value. The rest are function words of a library. So a field that an agent describes is read, whoever wrote it.
//!
//! - Data that a message has counts before its words ([`Asked::known`]); a list is continued by them.
//! - What is missing is asked for by the field's own description, and nobody but the agent's runtime does that.
//! - A value that no field holds, and a clause that hands a result on, are `unsure`: the agent names them, so that nobody takes
//!   them for done. Words that nothing took are `unread`.
//! - A schema with places or days has each sentence read as a whole ([`spoken`]), since they tell each other; days and places are read
//!   by `words`, also in other languages where the agent has a table of its words.
//! - Time is told by formats (`timed`): `day`, `hours` of each day, a `duration` in minutes, a `time-zone`. Of a schema with hours, a
//!   word or number that is left over beside a time is asked about (`left`), and the field that it may belong to stays open.
//! - Of a stay, arrival, departure, nights, who comes and prices have formats of their own (`stays`); what nothing took is a `rest`.
//! - Fields of other kinds than these are taken as data alone.
//!
//! It is pure: no IO, no weights, work by the length of the text alone, of which 2,000 characters are read.

mod free;
mod ids;
mod left;
mod one_of;
mod other_days;
mod said;
mod spoken;
mod stays;
mod takes;
mod timed;
mod vocabulary;
mod zone;

use std::collections::HashSet;

use domain::{Timestamp, UserContext, to_read};
use serde_json::{Map, Value};
use words::{Named, When, days, text};

use one_of::OneOf;
use said::Said;
use takes::{Field, Slot};
use vocabulary::Vocabulary;

pub use other_days::other_days;
pub use takes::Takes;
pub use timed::day_of;
pub use vocabulary::is_function_word;

/// Most values that are named as held by no field.
const NAMED_MAX: usize = 16;

/// What is known when something is said.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The data beside the words, which counts before them.
    pub known: &'a Map<String, Value>,
    /// What was said before, in messages of their own.
    pub before: &'a Map<String, Value>,
    /// The field that the agent has asked for, so that a value alone is its.
    pub answers: Option<&'a str>,
    /// The time now.
    pub now: Timestamp,
    /// Whose words they are.
    pub user: &'a UserContext,
}

/// What was said, as data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extraction {
    /// The known data, and what was read beside it.
    pub data: Map<String, Value>,
    /// The fields that must be there and are not.
    pub missing: Vec<String>,
    /// Values that no field holds, and clauses that nobody does, as they were said.
    pub unsure: Vec<String>,
    /// What nothing took, in small letters; beside places and days the phrases as they are written.
    pub unread: Vec<String>,
    /// The places as they are named, with how surely each is one.
    pub places: Vec<Named>,
    /// A field of which it is not clear what is meant, and what to ask.
    pub unclear: Option<(String, String)>,
}

/// Reads what is said as the data that is taken.
#[must_use]
pub fn extract(said: &str, takes: &Takes, asked: Asked<'_>) -> Extraction {
    if takes.is_spoken() {
        return spoken::read(to_read(said), takes, asked);
    }
    let mut said = Said::of(to_read(said));
    let mut data = asked.known.clone();
    let mut unsure = Vec::new();
    for field in &takes.fields {
        let is_answer = asked.answers == Some(field.name.as_str());
        let is_value = is_answer && said.len() == 1;
        let known = data.get(&field.name).filter(|value| !value.is_null());
        let read = match (&field.slot, known) {
            (Slot::Ids, known) => {
                ids::take(&mut said, &field.vocabulary, is_value, asked.now).map(|ids| together(known, ids))
            }
            (_, Some(_)) => None,
            (Slot::Count, None) => count(&mut said, field, is_value).map(Value::from),
            (Slot::Choice(choices), None) => choice(&mut said, field, choices),
            (Slot::Alone, None) if is_answer => match takes.schema().kind(&field.name) {
                "boolean" => words::yes_or_no(said.text()).map(Value::from),
                _ => said.text().trim().parse::<f64>().ok().map(Value::from),
            },
            // Without examples nobody knows what only asks; a no is no text.
            (Slot::Text, None) if is_answer && takes.asking == Vocabulary::default() => {
                let text = Some(said.text().trim()).filter(|text| !text.is_empty());
                text.filter(|text| words::yes_or_no(text) != Some(false))
                    .map(Value::from)
            }
            (Slot::Text, None) => {
                unsure.extend(free::take_handed_on(&mut said));
                free::take(&mut said, takes, is_answer).map(Value::from)
            }
            _ => None,
        };
        data.extend(read.map(|value| (field.name.clone(), value)));
    }
    if takes.fields.iter().all(|field| !matches!(field.slot, Slot::Text)) {
        unsure.extend(values(&said));
    }
    Extraction {
        missing: takes.schema().missing(&data),
        unread: said.open().map(|at| said.lower(at).to_owned()).collect(),
        data,
        unsure,
        ..Extraction::default()
    }
}

/// A list with what was said beside it, each once.
fn together(known: Option<&Value>, mut said: Vec<String>) -> Value {
    let known = match known {
        Some(Value::Array(list)) => list.clone(),
        known => known.cloned().into_iter().collect(),
    };
    let told: HashSet<&str> = known.iter().filter_map(Value::as_str).collect();
    said.retain(|id| !told.contains(id.as_str()));
    known
        .into_iter()
        .chain(said.into_iter().map(Value::from))
        .collect()
}

/// A number beside the noun of its field: "page 2", "in six steps".
fn count(said: &mut Said<'_>, field: &Field, is_value: bool) -> Option<u32> {
    let is_noun = |at: Option<usize>| at.is_some_and(|at| field.vocabulary.has_noun(said.lower(at)));
    let (at, number) = said
        .open()
        .filter_map(|at| Some((at, text::count(said.text_of(at))?)))
        .find(|(at, _)| is_value || is_noun(at.checked_add(1)) || is_noun(at.checked_sub(1)))?;
    match is_noun(at.checked_add(1)) {
        _ if is_value => said.take(0..1),
        // With the preposition: "in six steps".
        true if at > 0 && said.gap(at) == " " && is_function_word(said.lower(at - 1)) => {
            said.take(at - 1..at + 2)
        }
        true => said.take(at..at + 2),
        false => said.take(at - 1..at + 1),
    }
    Some(number)
}

/// The first choice one of whose words is said; the usual one where the field is spoken of.
fn choice(said: &mut Said<'_>, field: &Field, choices: &[OneOf]) -> Option<Value> {
    let said_of = |words: &Vocabulary| said.open().find(|at| words.has(said.lower(*at)));
    let mut meant = choices
        .iter()
        .filter_map(|choice| Some((said_of(&choice.vocabulary)?, choice)));
    let Some((at, choice)) = meant.next() else {
        return said_of(&field.vocabulary).and(field.usual.clone());
    };
    drop(meant);
    said.take(at..at + 1);
    Some(choice.value.clone())
}

/// Days other than today, and numbers, that are left.
fn values(said: &Said<'_>) -> Vec<String> {
    let shown = text::split(said.text(), domain::READ_MAX);
    let mut words = shown.clone();
    let mentions = days::take(&mut words, None).mentions.into_iter();
    let run = |(at, _): (usize, When)| {
        let run = words.iter().zip(&shown).skip(at);
        let run = run.take_while(|(word, _)| word.kind == text::Kind::Gap);
        let run: Vec<&str> = run.map(|(_, shown)| shown.text.as_str()).collect();
        run.join(" ")
    };
    let mut found: Vec<String> = mentions
        .filter(|(_, when)| *when != When::In(0))
        .map(run)
        .collect();
    let is_new = |word: &&str| {
        let mut days = found
            .iter()
            .flat_map(|day| day.split(|c: char| !c.is_alphanumeric()));
        word.starts_with(|c: char| c.is_ascii_digit()) && !days.any(|part| part == *word)
    };
    let numbers: Vec<&str> = said.open().map(|at| said.text_of(at)).filter(is_new).collect();
    found.extend(numbers.into_iter().map(str::to_owned));
    found.truncate(NAMED_MAX);
    found
}

#[cfg(test)]
mod tests;
