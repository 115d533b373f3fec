//! The least and the highest price among words; what is understood is taken out of them.

use crate::currency::{currencies, is_currency, of_dollars};
use crate::people::guest;
use crate::text::{Kind, Word, before, open, take_out};

/// How far before a price stands what makes it the highest.
const LEAD: usize = 3;
/// Most words of a currency's name: "New Zealand dollars".
const CURRENCY: usize = 3;
/// How far behind a price stands what it is for.
const SCOPE: usize = 4;
/// The highest price that is taken.
pub const PRICE_MAX: u32 = 1_000_000;

/// Between which prices something is to be; at least one of them is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Price {
    /// The least.
    pub least: Option<u32>,
    /// The highest.
    pub most: Option<u32>,
    /// They are those of all nights together.
    pub is_whole: bool,
    /// What their currency is called, where that is said: `NOK`, `Danish kroner`.
    pub currency: Option<String>,
}

/// `under 120 a night`, `up to 300 euros in total`, `25 000 pesos overall`, `80 to 110 euros`; of several the first highest one.
pub fn take(words: &mut [Word]) -> Option<Price> {
    let mut least = None;
    for at in 0..words.len() {
        let Some((price, length)) = amount(words, at)
            .map(|price| (price, 1))
            .or_else(|| spelled_out(words, at))
        else {
            continue;
        };
        let last = at + length - 1;
        // "CAD 180"
        let code = at.checked_sub(1).filter(|code| is_code(words, *code));
        let lead = lead(words, code.unwrap_or(at)).or(code);
        let currency = currency(words, last);
        let is_price = lead.is_some() || currency.is_some() || is_a_night(words, last + 1);
        if !is_price || is_counted(words, last + 1) {
            continue;
        }
        let behind_it = currency.unwrap_or(last) + 1;
        let mut end = behind_it;
        let mut is_whole = nearest(words, lead.unwrap_or(at), 2).any(|word| word == "total");
        for behind in behind_it..behind_it + SCOPE {
            match open(words, behind) {
                "night" | "nightly" => {
                    (end, is_whole) = (behind + 1, false);
                    break;
                }
                "total" | "all" | "altogether" | "overall" | "everything" | "whole" | "stay" => {
                    (end, is_whole) = (behind + 1, true);
                }
                _ => {}
            }
        }
        let is_least = nearest(words, at, 2).any(|word| word == "least");
        let name = |from: usize, to: usize| {
            let named = words.get(from..to).unwrap_or_default().iter();
            let named: Vec<&str> = named.map(|word| word.text.as_str()).collect();
            Some(named.join(" ")).filter(|name| !currencies(name).is_empty())
        };
        let told = match currency {
            Some(named) => name(last + 1, named + 1),
            // "RM 300"
            None => name(at.saturating_sub(1), at),
        };
        let range = range(words, at);
        let begin = range.map(|(begin, _)| begin).or(lead).unwrap_or(at);
        take_out(words, begin..end);
        let found = Price {
            least: range
                .map(|(_, least)| least)
                .or(least.and_then(|found: Price| found.least)),
            most: Some(price).filter(|_| !is_least),
            is_whole,
            currency: told,
        };
        if !is_least {
            return Some(found);
        }
        least = Some(Price {
            least: Some(price),
            ..found
        });
    }
    least
}

fn amount(words: &[Word], at: usize) -> Option<u32> {
    let number: u32 = open(words, at).parse().ok()?;
    (1..=PRICE_MAX).contains(&number).then_some(number)
}

/// An amount in words, and how many: `ninety euros`, `two hundred`. A small number alone may count anything.
fn spelled_out(words: &[Word], at: usize) -> Option<(u32, usize)> {
    let is_a = open(words, at) == "a";
    let count = words.get(at).filter(|word| word.number().is_none());
    let count = is_a.then_some(1).or_else(|| count.and_then(Word::count));
    match open(words, at + 1) {
        "hundred" => Some((count? * 100, 2)),
        "thousand" => Some((count? * 1_000, 2)),
        _ => Some((count.filter(|_| !is_a && currency(words, at) == Some(at + 1))?, 1)),
    }
}

/// The words right before, the nearest first.
fn nearest(words: &[Word], at: usize, most: usize) -> impl Iterator<Item = &str> {
    (at.saturating_sub(most)..at).rev().map(move |at| open(words, at))
}

/// Where the words begin that make a price the highest one.
fn lead(words: &[Word], at: usize) -> Option<usize> {
    let leads = |place: &usize| match open(words, *place) {
        "under" | "below" | "max" | "maximum" | "than" | "most" | "within" | "budget" | "least" => true,
        "to" => before(words, *place) == "up",
        "over" => before(words, *place) == "nothing",
        _ => false,
    };
    let found = (at.saturating_sub(LEAD)..at).rev().find(leads)?;
    // "At most", "no more than", "nothing over", "up to".
    let more = |word: &&str| {
        matches!(
            *word,
            "at" | "the" | "not" | "no" | "more" | "less" | "nothing" | "up"
        )
    };
    Some(found - nearest(words, found, 2).take_while(more).count())
}

/// Where the name of a currency ends behind a number.
fn currency(words: &[Word], at: usize) -> Option<usize> {
    let found = (at + 1..=at + CURRENCY).find(|place| is_currency(written(words, *place)))?;
    let is_name = |place: usize| {
        !open(words, place).is_empty() && written(words, place).chars().all(char::is_alphabetic)
    };
    (at + 1..found).all(is_name).then_some(found)
}

/// A word as it is written; nothing where it was understood already.
fn written(words: &[Word], at: usize) -> &str {
    let word = words.get(at).filter(|word| word.kind == Kind::Word);
    word.map_or("", |word| word.text.as_str())
}

/// Whether a word is a currency's code, which may stand before the number.
fn is_code(words: &[Word], at: usize) -> bool {
    let word = written(words, at);
    is_currency(word) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_a_night(words: &[Word], at: usize) -> bool {
    let each = matches!(open(words, at), "a" | "per" | "each" | "every");
    each && open(words, at + 1) == "night" || open(words, at) == "nightly"
}

/// Whether the number counts people or days.
fn is_counted(words: &[Word], at: usize) -> bool {
    let what = open(words, at);
    guest(what).is_some() || matches!(what, "nights" | "days" | "night")
}

/// Where a range begins whose end this is, and with which price: `between 80 and 110`.
fn range(words: &[Word], at: usize) -> Option<(usize, u32)> {
    let first = at.checked_sub(2)?;
    let joint = words.get(at - 1)?;
    let least = amount(words, first).filter(|_| joint.kind == Kind::And || joint.lower == "to")?;
    Some((first - usize::from(before(words, first) == "between"), least))
}

/// The text with signs of currencies as words, and numbers without what sets their thousands apart.
#[must_use]
pub fn spelled(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut out = String::new();
    // What stands before a number and is said behind it.
    let mut owed = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let sign = match letter {
            '€' => "euros",
            '$' => "dollars",
            '£' => "pounds",
            '¥' => "yen",
            _ => "",
        };
        if !sign.is_empty() && is_digit(at + 1) {
            // "NZ$300", "A$90": whose dollars they are.
            let country = out.trim_end_matches(|c: char| c.is_ascii_uppercase()).len();
            let whose = out.get(country..).and_then(of_dollars).filter(|_| *letter == '$');
            if whose.is_some() {
                out.truncate(country);
            }
            owed = format!(" {}", whose.map_or(sign, |whose| whose.code()));
            out.push(' ');
            continue;
        }
        // "95€"
        if !sign.is_empty() {
            out.push_str(&format!(" {sign} "));
            continue;
        }
        let in_number =
            at > 0 && is_digit(at - 1) && (1..=3).all(|digit| is_digit(at + digit)) && !is_digit(at + 4);
        let is_zero = (1..=3).all(|digit| letters.get(at + digit) == Some(&'0'));
        let parts = matches!(letter, ',' | '.') || matches!(letter, ' ' | '\u{a0}' | '\u{202f}') && is_zero;
        if in_number && parts {
            continue;
        }
        let goes_on = letter.is_ascii_digit() || matches!(letter, ',' | '.') && is_digit(at + 1);
        if !goes_on {
            out.push_str(&std::mem::take(&mut owed));
        }
        out.push(*letter);
    }
    out + &owed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn prices_are_told_from_other_numbers() {
        for (said, price) in [
            ("under 120 a night", (0, 120, false)),
            ("max 1200 kroner per night", (0, 1_200, false)),
            ("no more than 200 AUD a night", (0, 200, false)),
            ("nothing over 250 New Zealand dollars a night", (0, 250, false)),
            ("between 80 and 110 euros a night", (80, 110, false)),
            ("max 95€/night", (0, 95, false)),
            ("$150 max per night", (0, 150, false)),
            ("up to €180, for two", (0, 180, false)),
            ("1,500 dollars total", (0, 1_500, true)),
            ("¥30,000 for the whole stay", (0, 30_000, true)),
            ("25 000 pesos overall", (0, 25_000, true)),
            ("total budget 700 euros", (0, 700, true)),
            ("not more than 1.900 € altogether", (0, 1_900, true)),
            ("less than 400 bucks for everything", (0, 400, true)),
            ("two hundred pounds all in", (0, 200, true)),
            ("ninety euros a night", (0, 90, false)),
            ("NZ$300 in all", (0, 300, true)),
            ("CAD 180 per night max", (0, 180, false)),
            ("less than a hundred quid", (0, 100, false)),
            ("two adults, a hundred steps away", (0, 0, false)),
            ("at least 50 euros a night", (50, 0, false)),
            ("at least 50 and at most 90 euros", (50, 90, false)),
            ("for two, from 4 to 7 December", (0, 0, false)),
            ("up to 4 guests", (0, 0, false)),
        ] {
            let mut words = text::split(&spelled(said), 200);
            let read = take(&mut words).unwrap_or_default();
            let read = (read.least.unwrap_or(0), read.most.unwrap_or(0), read.is_whole);
            assert_eq!(read, price, "{said}");
        }
    }

    #[test]
    fn what_is_no_price_stays_as_it_is() {
        for said in ["4.12. to 7.12.", "2026-12-04", "15, 2027", "Oslo, 12, Bergen"] {
            assert_eq!(spelled(said), said);
        }
    }
}
