//! Whether a text answers what an agent asked: one of its choices, a value of the kind that was asked for, a yes or no.

use nlu::is_function_word;

use super::closed::{is_made_of, lower, singular};
use super::lists;
use crate::rules::agent_choice::{AgentChoice, Offered};

/// Most choices of one question.
const CHOICES_MAX: usize = 20;

/// The choices that a question lists: numbered lines; where there are none, lines with a dash.
pub(super) fn of(question: &str) -> Vec<&str> {
    let numbered = |line: &'_ str| {
        let (number, choice) = line.split_once(['.', ')'])?;
        let is_number = !number.is_empty() && number.len() < 3 && number.bytes().all(|c| c.is_ascii_digit());
        is_number.then_some(choice.len())
    };
    let dashed = |line: &'_ str| {
        let choice = line.strip_prefix(['-', '•', '*'])?;
        choice.starts_with(' ').then_some(choice.len())
    };
    let listed = |marked: &dyn Fn(&str) -> Option<usize>| -> Vec<&str> {
        let lines = question.lines().map(str::trim);
        let choices = lines.filter_map(|line| Some(line.get(line.len() - marked(line)?..)?.trim()));
        choices.take(CHOICES_MAX).collect()
    };
    match listed(&numbered) {
        none if none.is_empty() => listed(&dashed),
        choices => choices,
    }
}

/// Those; where there are none, what the question tells at its end: "Which Portland: Oregon or Maine?".
pub(super) fn told(question: &str) -> Vec<&str> {
    let at_its_end = || {
        let asked = question.trim().lines().last()?.strip_suffix('?')?;
        let (_, told) = asked.rsplit_once(": ")?;
        let (before, last) = told.rsplit_once(" or ")?;
        let choices = before.split(", ").chain([last]).map(str::trim);
        Some(
            choices
                .filter(|choice| !choice.is_empty())
                .take(CHOICES_MAX)
                .collect(),
        )
    };
    match of(question) {
        none if none.is_empty() => at_its_end().unwrap_or_default(),
        choices => choices,
    }
}

/// The one of these that a text picks, by its number, its place in the list, or words that only it has. Where several have all
/// of it, the first is as good as any for the agent, which asks again.
pub(super) fn picked(choices: &[&str], text: &str) -> Option<usize> {
    fitting(choices, text).first().copied()
}

/// The one of these agents that a whole message names, by its number, its place in the list, its name or its type; a yes names
/// the only one.
pub(crate) fn agent_named<'c>(choice: &'c AgentChoice, text: &str) -> Option<&'c Offered> {
    let told = |offered: &Offered| format!("{} {}", offered.name, offered.agent_type);
    let told: Vec<String> = choice.of.iter().map(told).collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    match (fitting(&told, text).as_slice(), choice.of.as_slice()) {
        ([only], _) => choice.of.get(*only),
        ([], [only]) => is_made_of(&lower(text), lists::YES).then_some(only),
        _ => None,
    }
}

/// Those of these that a text may pick.
fn fitting(choices: &[&str], text: &str) -> Vec<usize> {
    let known: Vec<Vec<String>> = choices.iter().map(|choice| words_of(choice)).collect();
    let said: Vec<String> = lower(text).iter().map(|word| singular(word)).collect();
    let place = |word: &String| {
        lists::ORDINALS
            .iter()
            .position(|words| words.contains(&word.as_str()))
    };
    let names = |word: &String| known.iter().any(|words| words.contains(word));
    let counts = |word: &&String| names(word) || !is_polite(word);
    let said: Vec<&String> = match said
        .iter()
        .filter(|word| place(word).is_some() && !names(word))
        .collect::<Vec<_>>()
        .as_slice()
    {
        // "The second one": of two such words the first is the place. "1 or 2" is none.
        [first, rest @ ..]
            if said.iter().all(|word| place(word).is_some() || is_polite(word))
                && rest
                    .iter()
                    .all(|word| *word == "one" || place(word) == place(first)) =>
        {
            vec![*first]
        }
        _ => said.iter().filter(counts).collect(),
    };
    if let [only] = said.as_slice()
        && let Some(at) = place(only).filter(|at| *at < choices.len() && !names(only))
    {
        return vec![at];
    }
    if said.is_empty() {
        return Vec::new();
    }
    let has_all = |words: &Vec<String>| said.iter().all(|word| words.contains(word));
    // "1. Weather", where that is the second.
    let is_other = |at: usize, word: &String| {
        let number = word.parse::<usize>().ok().filter(|_| !names(word));
        number.is_some_and(|number| number != at + 1)
    };
    let words = lower(text);
    let fitting = known.iter().enumerate().filter(|(_, words)| has_all(words));
    let fitting = fitting.filter(|(at, _)| !words.iter().any(|word| is_other(*at, word)));
    fitting.map(|(at, _)| at).collect()
}

/// The one of these that has a word of the text which no other has.
pub(super) fn picked_alone(choices: &[&str], text: &str) -> Option<usize> {
    let known: Vec<Vec<String>> = choices.iter().map(|choice| words_of(choice)).collect();
    let said = lower(text).into_iter().map(|word| singular(&word));
    let said = said.filter(|word| !is_function_word(word));
    let mut meant: Vec<usize> = Vec::new();
    for word in said {
        let has = known
            .iter()
            .enumerate()
            .filter(|(_, words)| words.contains(&word));
        match has.map(|(at, _)| at).collect::<Vec<_>>().as_slice() {
            [only] => meant.push(*only),
            _ => return None,
        }
    }
    meant.dedup();
    match meant.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// Whether a text names one of these among other words: a part of it picks one, or it has a word that only one of them has.
pub(super) fn named(choices: &[&str], text: &str) -> bool {
    let known: Vec<Vec<String>> = choices.iter().map(|choice| words_of(choice)).collect();
    let said: Vec<String> = lower(text).iter().map(|word| singular(word)).collect();
    let only = |word: &&String| {
        known.iter().filter(|words| words.contains(word)).count() == 1 && !is_function_word(word)
    };
    let meant = said
        .iter()
        .filter(only)
        .filter_map(|word| known.iter().position(|words| words.contains(word)));
    let meant: std::collections::BTreeSet<usize> = meant.collect();
    match meant.len() {
        0 => llm::clauses(text)
            .iter()
            .any(|clause| picked(choices, clause.read).is_some()),
        number => number == 1,
    }
}

fn words_of(choice: &str) -> Vec<String> {
    lower(choice).iter().map(|word| singular(word)).collect()
}

/// Whether an agent's question is answered by yes or no.
pub(super) fn is_yes_or_no(question: &str) -> bool {
    let words = lower(question.lines().last().unwrap_or_default());
    let begins = [
        "shall", "should", "do", "does", "is", "are", "may", "can", "could", "would", "will", "did", "have",
        "has",
    ];
    let asks = question.trim_end().ends_with('?')
        && words.first().is_some_and(|word| begins.contains(&word.as_str()));
    question.to_lowercase().contains("yes or no") || (asks && !words.iter().any(|word| word == "or"))
}

/// A word that goes with a choice and chooses nothing.
fn is_polite(word: &str) -> bool {
    let is_little = is_function_word(word) || lists::POLITE.contains(&word);
    is_little && !matches!(word, "no" | "yes")
}
