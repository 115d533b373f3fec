//! Whether a text answers what an agent asked: one of its choices, a value of the kind that was asked for, a yes or no.

use super::lists;
use super::wish::{lower, singular};

/// Most choices of one question.
const CHOICES_MAX: usize = 20;

/// The choices that a question lists: numbered lines, or lines with a dash.
pub(super) fn of(question: &str) -> Vec<&str> {
    let listed = question.lines().filter_map(|line| {
        let line = line.trim();
        let numbered = line.split_once(['.', ')']).filter(|(number, _)| {
            !number.is_empty() && number.len() < 3 && number.bytes().all(|c| c.is_ascii_digit())
        });
        let dashed = line
            .strip_prefix(['-', '•', '*'])
            .filter(|rest| rest.starts_with(' '));
        numbered.map(|(_, choice)| choice).or(dashed).map(str::trim)
    });
    listed.take(CHOICES_MAX).collect()
}

/// The one of these that a text picks, by its number, its place in the list, or words that only it has.
pub(super) fn picked(choices: &[&str], text: &str) -> Option<usize> {
    let said: Vec<String> = lower(text).into_iter().filter(|word| !is_polite(word)).collect();
    if said.is_empty() || choices.is_empty() {
        return None;
    }
    if let [only] = said.as_slice()
        && let Some(at) = lists::ORDINALS
            .iter()
            .position(|words| words.contains(&only.as_str()))
        && at < choices.len()
    {
        return Some(at);
    }
    let has = |choice: &&str| {
        let words: Vec<String> = lower(choice).iter().map(|word| singular(word)).collect();
        said.iter().all(|word| words.contains(&singular(word)))
    };
    let mut fitting = choices
        .iter()
        .enumerate()
        .filter(|(_, choice)| has(choice))
        .map(|(at, _)| at);
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(only),
        // The first is as good as any for the agent, which asks again.
        (Some(first), Some(_)) => Some(first),
        _ => None,
    }
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

/// Whether a question asks for a number, and the text is one.
pub(super) fn is_number_asked(question: &str, text: &str) -> bool {
    let digits = text.trim().trim_start_matches('#');
    let number = !digits.is_empty() && digits.len() < 20 && digits.bytes().all(|c| c.is_ascii_digit());
    number
        && lower(question)
            .iter()
            .any(|word| matches!(word.as_str(), "number" | "many" | "much" | "amount"))
}

/// Words that go with a choice and choose nothing.
fn is_polite(word: &str) -> bool {
    const MORE: &[&str] = &[
        "one", "mean", "take", "like", "choose", "pick", "let", "number", "option", "think", "sorry",
    ];
    (lists::FILLER.contains(&word) || MORE.contains(&word)) && !matches!(word, "no" | "yes")
}
