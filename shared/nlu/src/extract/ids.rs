//! Ids of things: "1001", "A-1001", "orders 1001-1003".

use chrono::{DateTime, Datelike as _, NaiveDate};
use domain::Timestamp;

use super::said::Said;
use super::vocabulary::Vocabulary;

/// Most ids that a span stands for; a longer one is an id of its own.
const SPAN_MAX: u64 = 20;
/// Longest id, in bytes.
const ID_MAX: usize = 32;
/// Digits that make an id of what nothing calls one; fewer are a count.
const DIGITS_MIN: usize = 3;
/// A number this close to the year that it is now is a year, unless something calls it an id.
const YEARS_NEAR: u32 = 10;

/// Takes out the ids, each once; none where there are none. `is_value` where the text can be nothing but one.
pub(super) fn take(
    said: &mut Said<'_>,
    noun: &Vocabulary,
    is_value: bool,
    now: Timestamp,
) -> Option<Vec<String>> {
    let year = DateTime::from_timestamp_millis(now.millis())
        .unwrap_or_default()
        .year();
    let mut known = std::collections::HashSet::new();
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while at < said.len() {
        let joined = |at: usize| matches!(said.gap(at), "-" | "_" | "–" | "—");
        let end = (at + 1..said.len())
            .find(|next| !joined(*next))
            .unwrap_or(said.len());
        if said.is_open(at) {
            let token = said.slice(at..end).replace(['–', '—'], "-");
            let ids = read(&token, is_value || is_named(said, at, noun), year);
            if !ids.is_empty() {
                said.take(at..end);
            }
            found.extend(ids.into_iter().filter(|id| known.insert(id.clone())));
        }
        at = end;
    }
    (!found.is_empty()).then_some(found)
}

/// Whether the noun stands before it, a number sign, or an abbreviation behind the noun: "order 7", "#7", "order no. 7", "order nr 7".
/// An abbreviation has a full stop, or nothing to speak it by.
fn is_named(said: &Said<'_>, at: usize, noun: &Vocabulary) -> bool {
    let is_noun = |back: usize| {
        at.checked_sub(back)
            .is_some_and(|at| noun.has_noun(said.lower(at)))
    };
    let before = at.checked_sub(1).map_or("", |before| said.lower(before));
    let is_cut = said.gap(at).starts_with('.') || !before.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let is_short = before.len() <= 2 && is_cut;
    said.gap(at).contains('#') || is_noun(1) || is_short && is_noun(2)
}

fn read(token: &str, is_named: bool, this_year: i32) -> Vec<String> {
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    if !token.is_ascii() || token.len() > ID_MAX || digits == 0 || token.parse::<NaiveDate>().is_ok() {
        return Vec::new();
    }
    let year = token.parse::<i32>().ok().filter(|_| token.len() == 4);
    if !is_named && year.is_some_and(|year| year.abs_diff(this_year) <= YEARS_NEAR) {
        return Vec::new();
    }
    match token.split_once('-') {
        Some((from, to)) if is_plain(from) && is_plain(to) && from.len() >= DIGITS_MIN => span(from, to),
        _ if digits >= DIGITS_MIN || is_named && is_plain(token) => vec![token.to_owned()],
        _ => Vec::new(),
    }
}

/// `1001-1003`, where it is short enough to be a span; an id otherwise.
fn span(from: &str, to: &str) -> Vec<String> {
    let width = from.len();
    match (from.parse::<u64>(), to.parse::<u64>()) {
        (Ok(first), Ok(last)) if width == to.len() && first < last && last - first < SPAN_MAX => {
            (first..=last).map(|id| format!("{id:0width$}")).collect()
        }
        _ => vec![format!("{from}-{to}")],
    }
}
