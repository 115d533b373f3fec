//! Guests, nights and prices among words; what is understood is taken out of them.

use words::text::{Kind, Word};

use super::Price;

fn lower(words: &[Word], at: usize) -> &str {
    words
        .get(at)
        .filter(|word| word.kind == Kind::Word)
        .map_or("", |word| word.lower.as_str())
}

fn take_out(words: &mut [Word], at: usize, count: usize) {
    for word in words.iter_mut().skip(at).take(count) {
        word.kind = Kind::Gap;
    }
}

/// `three nights`, `for a night`
pub(super) fn take_nights(words: &mut [Word]) -> Option<u32> {
    let found = (0..words.len()).find_map(|at| {
        let for_a = lower(words, at) == "a"
            && at
                .checked_sub(1)
                .is_some_and(|before| lower(words, before) == "for");
        let count = words.get(at)?.count().or(for_a.then_some(1))?;
        matches!(lower(words, at + 1), "night" | "nights").then_some((at, count))
    });
    let (at, nights) = found?;
    take_out(words, at, 2);
    Some(nights)
}

/// `two adults and a child`, `for two`, `the three of us`: adults and children.
pub(super) fn take(words: &mut [Word]) -> (Option<u32>, Option<u32>) {
    let (mut guests, mut children) = (None, None);
    for at in 0..words.len() {
        let Some(count) = words.get(at).and_then(|word| match word.lower.as_str() {
            "a" | "an" => Some(1),
            _ => word.count(),
        }) else {
            continue;
        };
        let named = lower(words, at + 1);
        let before = at.checked_sub(1).map_or("", |before| lower(words, before));
        let digit = lower(words, at) != "a" && lower(words, at) != "an";
        match named {
            "child" | "children" | "kid" | "kids" | "baby" | "babies" | "infant" | "infants" => {
                children = Some(children.unwrap_or(0) + count);
                take_out(words, at, 2);
            }
            "guest" | "guests" | "people" | "person" | "persons" | "adult" | "adults" | "travellers"
            | "travelers" | "friends" => {
                guests = Some(guests.unwrap_or(0) + count);
                take_out(words, at, 2);
            }
            "of" if digit && lower(words, at + 2) == "us" => {
                guests = Some(count);
                take_out(words, at, 3);
            }
            // "For two, Friday to Sunday", but not "for two weeks" or "for 90 euros".
            _ if digit && before == "for" && ends(words, at + 1) => {
                guests = Some(count);
                take_out(words, at - 1, 2);
            }
            _ => {}
        }
    }
    (guests, children)
}

/// Whether nothing that a number could count stands there.
fn ends(words: &[Word], at: usize) -> bool {
    words.get(at).is_none_or(|word| word.kind != Kind::Word)
        || matches!(
            lower(words, at),
            "in" | "at"
                | "near"
                | "on"
                | "from"
                | "with"
                | "under"
                | "below"
                | "this"
                | "next"
                | "tonight"
                | "tomorrow"
                | "please"
                | "between"
                | "until"
                | "over"
                | "up"
                | "by"
                | "around"
        )
}

/// `under 120 a night`, `up to 300 euros in total`
pub(super) fn take_price(words: &mut [Word]) -> Option<Price> {
    const LEADS: [&str; 9] = [
        "under", "below", "max", "maximum", "to", "than", "most", "within", "budget",
    ];
    let is_between = |at: usize| {
        matches!(
            lower(words, at),
            "of" | "is"
                | "about"
                | "around"
                | "eur"
                | "euro"
                | "euros"
                | "usd"
                | "nok"
                | "gbp"
                | "sek"
                | "dkk"
                | "chf"
        )
    };
    for at in 0..words.len() {
        if !LEADS.contains(&lower(words, at))
            || lower(words, at) == "to" && lower(words, at.wrapping_sub(1)) != "up"
        {
            continue;
        }
        let from = (at + 1..at + 3).find(|from| !is_between(*from)).unwrap_or(at + 1);
        let Some(price) = words.get(from).and_then(Word::number).filter(|price| *price > 0) else {
            continue;
        };
        let mut end = from + 1;
        while matches!(
            lower(words, end),
            "eur"
                | "euro"
                | "euros"
                | "usd"
                | "dollars"
                | "pounds"
                | "kroner"
                | "kr"
                | "nok"
                | "gbp"
                | "sek"
                | "dkk"
                | "chf"
        ) {
            end += 1;
        }
        if matches!(
            lower(words, end),
            "guests" | "people" | "persons" | "adults" | "nights" | "days"
        ) {
            continue;
        }
        let told = (lower(words, end), lower(words, end + 1));
        let (whole, more) = match told {
            ("in" | "all", "total" | "in" | "all") => (true, 2),
            ("total" | "altogether", _) => (true, 1),
            ("for", "all" | "everything") => (true, 2),
            ("a" | "per" | "each" | "every", "night") => (false, 2),
            ("nightly", _) => (false, 1),
            _ => (false, 0),
        };
        take_out(words, at, end + more - at);
        return Some(if whole {
            Price::Stay(price)
        } else {
            Price::Night(price)
        });
    }
    None
}
