//! The highest price among words; what is understood is taken out of them.

use words::is_currency;
use words::text::{Kind, Word};

use super::Price;
use super::people::{lower, take_out};

/// How far before a price stands what makes it the highest.
const LEAD: usize = 3;
/// Most words of a currency's name: "New Zealand dollars".
const CURRENCY: usize = 3;
/// How far behind a price stands what it is for.
const SCOPE: usize = 4;
/// The highest price that is taken.
pub(super) const PRICE_MAX: u32 = 1_000_000;

/// `under 120 a night`, `up to 300 euros in total`, `25 000 pesos overall`; of `80 to 110 euros` the second.
pub(super) fn take(words: &mut [Word]) -> Option<Price> {
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
        let currency = currency(words, last).or(code.map(|_| last));
        if lead.is_none() && currency.is_none() && !is_a_night(words, last + 1) || is_counted(words, last + 1)
        {
            continue;
        }
        let mut end = currency.unwrap_or(last) + 1;
        let mut is_whole = before(words, lead.unwrap_or(at), 2).any(|word| word == "total");
        let scope = end..end + SCOPE;
        for behind in scope {
            match lower(words, behind) {
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
        let is_least = before(words, at, 2).any(|word| word == "least");
        let other = range(words, at);
        take_out(
            words,
            other.or(lead).unwrap_or(at),
            end - other.or(lead).unwrap_or(at),
        );
        if is_least {
            continue;
        }
        return Some(match is_whole {
            true => Price::Stay(price),
            false => Price::Night(price),
        });
    }
    None
}

fn amount(words: &[Word], at: usize) -> Option<u32> {
    let number: u32 = lower(words, at).parse().ok()?;
    (1..=PRICE_MAX).contains(&number).then_some(number)
}

/// An amount in words, and how many: `ninety euros`, `two hundred`. A small number alone may count anything.
fn spelled_out(words: &[Word], at: usize) -> Option<(u32, usize)> {
    let a = matches!(lower(words, at), "a" | "one").then_some(1);
    let count = words.get(at).filter(|word| word.number().is_none());
    let count = a.or_else(|| count.and_then(Word::count))?;
    let times = match lower(words, at + 1) {
        "hundred" => 100,
        "thousand" => 1_000,
        _ => {
            return currency(words, at)
                .filter(|_| lower(words, at) != "a")
                .filter(|end| *end == at + 1)
                .map(|_| (count, 1));
        }
    };
    Some((count * times, 2))
}

/// The words right before, the nearest first.
fn before(words: &[Word], at: usize, most: usize) -> impl Iterator<Item = &str> {
    (1..=most)
        .map_while(move |back| at.checked_sub(back))
        .map(move |at| lower(words, at))
}

/// Where the words begin that make a price the highest one.
fn lead(words: &[Word], at: usize) -> Option<usize> {
    let leads = |place: &usize| match lower(words, *place) {
        "under" | "below" | "max" | "maximum" | "than" | "most" | "within" | "budget" => true,
        "to" => place.checked_sub(1).is_some_and(|up| lower(words, up) == "up"),
        "over" => place
            .checked_sub(1)
            .is_some_and(|no| lower(words, no) == "nothing"),
        "least" => true,
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
    Some(found - before(words, found, 2).take_while(more).count())
}

/// Where the name of a currency ends behind a number.
fn currency(words: &[Word], at: usize) -> Option<usize> {
    let named = |place: &usize| {
        words
            .get(*place)
            .is_some_and(|word| word.kind == Kind::Word && is_currency(&word.text))
    };
    let found = (at + 1..=at + CURRENCY).find(named)?;
    let is_name = |place: usize| {
        let word = words.get(place);
        word.is_some_and(|word| word.kind == Kind::Word && word.text.chars().all(char::is_alphabetic))
    };
    (at + 1..found).all(is_name).then_some(found)
}

/// Whether a word is a currency's code, which may stand before the number.
fn is_code(words: &[Word], at: usize) -> bool {
    let word = words.get(at).filter(|word| word.kind == Kind::Word);
    word.is_some_and(|word| {
        is_currency(&word.text) && word.text.bytes().all(|byte| byte.is_ascii_uppercase())
    })
}

fn is_a_night(words: &[Word], at: usize) -> bool {
    let each = matches!(lower(words, at), "a" | "per" | "each" | "every");
    each && lower(words, at + 1) == "night" || lower(words, at) == "nightly"
}

/// Whether the number counts people or days.
fn is_counted(words: &[Word], at: usize) -> bool {
    matches!(
        lower(words, at),
        "guests" | "people" | "persons" | "adults" | "nights" | "days" | "night" | "children" | "kids"
    )
}

/// Where a range begins whose end this is: `between 80 and 110`.
fn range(words: &[Word], at: usize) -> Option<usize> {
    let first = at.checked_sub(2)?;
    let joined = words
        .get(at - 1)
        .is_some_and(|word| word.kind == Kind::And || word.lower == "to");
    amount(words, first)?;
    let between = first
        .checked_sub(1)
        .filter(|between| lower(words, *between) == "between");
    joined.then_some(between.unwrap_or(first))
}

/// The text with signs of currencies as words, and numbers without what sets their thousands apart.
pub(super) fn spelled(text: &str) -> String {
    let signs = [('€', "euros"), ('$', "dollars"), ('£', "pounds"), ('¥', "yen")];
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut out = String::new();
    let mut owed = None;
    for (at, letter) in letters.iter().enumerate() {
        if let Some((_, name)) = signs.iter().find(|(sign, _)| sign == letter) {
            // "NZ$300", "A$90": whose dollars they are.
            let country = out.chars().rev().take_while(char::is_ascii_uppercase).count();
            if (1..=2).contains(&country) && is_digit(at + 1) {
                out.truncate(out.len() - country);
            }
            // "$150", but "95€".
            match is_digit(at + 1) {
                true => (owed, _) = (Some(*name), out.push(' ')),
                false => out.push_str(&format!(" {name} ")),
            }
            continue;
        }
        let in_number =
            at > 0 && is_digit(at - 1) && (1..=3).all(|digit| is_digit(at + digit)) && !is_digit(at + 4);
        let is_zero = (1..=3).all(|digit| letters.get(at + digit) == Some(&'0'));
        if in_number
            && (matches!(letter, ',' | '.') || matches!(letter, ' ' | '\u{a0}' | '\u{202f}') && is_zero)
        {
            continue;
        }
        if !letter.is_ascii_digit()
            && !matches!(letter, ',' | '.')
            && let Some(name) = owed.take()
        {
            out.push_str(&format!(" {name}"));
        }
        out.push(*letter);
    }
    if let Some(name) = owed {
        out.push_str(&format!(" {name}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use words::text;

    use super::*;

    #[test]
    fn prices_are_told_from_other_numbers() {
        for (said, price) in [
            ("under 120 a night", Some(Price::Night(120))),
            ("max 1200 kroner per night", Some(Price::Night(1_200))),
            ("no more than 200 AUD a night", Some(Price::Night(200))),
            (
                "nothing over 250 New Zealand dollars a night",
                Some(Price::Night(250)),
            ),
            ("between 80 and 110 euros a night", Some(Price::Night(110))),
            ("max 95€/night", Some(Price::Night(95))),
            ("$150 max per night", Some(Price::Night(150))),
            ("1,500 dollars total", Some(Price::Stay(1_500))),
            ("¥30,000 for the whole stay", Some(Price::Stay(30_000))),
            ("25 000 pesos overall", Some(Price::Stay(25_000))),
            ("total budget 700 euros", Some(Price::Stay(700))),
            ("not more than 1.900 € altogether", Some(Price::Stay(1_900))),
            ("less than 400 bucks for everything", Some(Price::Stay(400))),
            ("two hundred pounds all in", Some(Price::Stay(200))),
            ("ninety euros a night", Some(Price::Night(90))),
            ("NZ$300 in all", Some(Price::Stay(300))),
            ("CAD 180 per night max", Some(Price::Night(180))),
            ("less than a hundred quid", Some(Price::Night(100))),
            ("two adults, a hundred steps away", None),
            ("at least 50 euros a night", None),
            ("for two, from 4 to 7 December", None),
            ("up to 4 guests", None),
        ] {
            let mut words = text::split(&spelled(said), 200);
            assert_eq!(take(&mut words), price, "{said}");
        }
    }

    #[test]
    fn what_is_no_price_stays_as_it_is() {
        for said in ["4.12. to 7.12.", "2026-12-04", "15, 2027", "Oslo, 12, Bergen"] {
            assert_eq!(spelled(said), said);
        }
    }
}
