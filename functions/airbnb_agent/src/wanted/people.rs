//! Guests and nights among words; what is understood is taken out of them.

use words::text::{Kind, Word};

pub(super) fn lower(words: &[Word], at: usize) -> &str {
    words
        .get(at)
        .filter(|word| word.kind == Kind::Word)
        .map_or("", |word| word.lower.as_str())
}

pub(super) fn take_out(words: &mut [Word], at: usize, count: usize) {
    for word in words.iter_mut().skip(at).take(count) {
        word.kind = Kind::Gap;
    }
}

/// `three nights`, `for a night`, `the night of the 1st of March`
pub(super) fn take_nights(words: &mut [Word]) -> Option<u32> {
    let of = (0..words.len()).find(|at| (lower(words, *at), lower(words, at + 1)) == ("night", "of"));
    if let Some(at) = of {
        take_out(words, at, 2);
        return Some(1);
    }
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

/// `two adults and a child`, `for two`, `the three of us`, `a party of seven`, `adults: 2`: adults and children.
pub(super) fn take(words: &mut [Word]) -> (Option<u32>, Option<u32>) {
    let (mut guests, mut children) = (None, None);
    for at in 0..words.len() {
        if let Some((kind, count)) = labelled(words, at) {
            *if kind == Guest::Child {
                &mut children
            } else {
                &mut guests
            } = Some(count);
            take_out(words, at, 3);
            continue;
        }
        if matches!(lower(words, at), "couple") {
            guests = Some(guests.unwrap_or(0) + 2);
            take_out(words, at, 1);
            continue;
        }
        let Some(count) = words
            .get(at)
            .filter(|word| word.kind == Kind::Word)
            .and_then(|word| match word.lower.as_str() {
                "a" | "an" => Some(1),
                _ => word.count(),
            })
        else {
            continue;
        };
        let before = at.checked_sub(1).map_or("", |before| lower(words, before));
        let digit = lower(words, at) != "a" && lower(words, at) != "an";
        // "6 grown ups", "2 small children".
        let named = (at + 1..at + 3).find_map(|place| Some((guest(lower(words, place))?, place)));
        match (named, lower(words, at + 1)) {
            (Some((kind, place)), _)
                if place == at + 1 || lower(words, at + 1) == "grown" || digit && kind == Guest::Child =>
            {
                let people = if kind == Guest::Child {
                    &mut children
                } else {
                    &mut guests
                };
                *people = Some(people.unwrap_or(0) + count);
                take_out(words, at, place + 1 - at);
            }
            (_, "of") if digit && lower(words, at + 2) == "us" => {
                guests = Some(count);
                take_out(words, at, 3);
            }
            // "For two, Friday to Sunday", but not "for two weeks" or "for 90 euros"; "a party of seven"; "we are four".
            _ if digit && ends(words, at + 1) && (before == "for" || is_party(words, at)) => {
                guests = Some(count);
                take_out(words, at - 1, 2);
            }
            // "Oslo, 8 to 10 January, two"
            _ if digit && is_last(words, at) && words.get(at).is_some_and(|word| word.number().is_none()) => {
                guests = Some(count);
                take_out(words, at, 1);
            }
            _ => {}
        }
    }
    (guests.or_else(|| together(words)), children)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Guest {
    Adult,
    Child,
}

fn guest(lower: &str) -> Option<Guest> {
    Some(match lower {
        "child" | "children" | "kid" | "kids" | "baby" | "babies" | "infant" | "infants" | "toddler"
        | "toddlers" | "teenager" | "teenagers" => Guest::Child,
        "guest" | "guests" | "people" | "person" | "persons" | "adult" | "adults" | "grown-up"
        | "grown-ups" | "ups" | "pax" | "women" | "men" | "travellers" | "travelers" | "friends" => {
            Guest::Adult
        }
        _ => return None,
    })
}

/// `adults: 2`
fn labelled(words: &[Word], at: usize) -> Option<(Guest, u32)> {
    let colon = words.get(at + 1).filter(|word| word.text == ":")?;
    let count = lower(words, at + 2)
        .parse()
        .ok()
        .filter(|_| colon.kind == Kind::Stop)?;
    Some((guest(lower(words, at))?, count))
}

/// What is asked where a number is no certain one: `-2 nights`, `a few nights`, `1 to 2 people`.
pub(super) fn unsure(said: &str, words: &[Word]) -> Option<&'static str> {
    let letters: Vec<char> = said.chars().collect();
    let is_below = |at: usize| {
        let before = letters
            .iter()
            .take(at)
            .rev()
            .find(|letter| !letter.is_whitespace());
        let apart = at == 0 || letters.get(at - 1).is_some_and(|letter| letter.is_whitespace());
        letters.get(at) == Some(&'-')
            && letters.get(at + 1).is_some_and(char::is_ascii_digit)
            && apart
            && before.is_none_or(|before| !before.is_ascii_digit() && *before != '.')
    };
    if (0..letters.len()).any(is_below) {
        return Some(
            "A number below zero cannot be meant. How many nights, for how many guests, and up to which price?",
        );
    }
    let count = |at: usize| words.get(at).and_then(Word::count);
    let is_or = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| matches!(word.lower.as_str(), "to" | "or" | "-" | "–"))
    };
    let either = |at: usize| {
        count(at).is_some()
            && is_or(at + 1)
            && count(at + 2).is_some()
            && guest(lower(words, at + 3)).is_some()
    };
    let few = |at: usize| {
        matches!(lower(words, at), "few" | "several") && matches!(lower(words, at + 1), "nights" | "days")
    };
    (0..words.len()).find_map(|at| match (either(at), few(at)) {
        (true, _) => Some("For how many guests?"),
        (_, true) => Some("For how many nights?"),
        _ => None,
    })
}

/// Whether a word is the text's last, behind a comma.
fn is_last(words: &[Word], at: usize) -> bool {
    let behind_comma = at.checked_sub(1).and_then(|before| words.get(before));
    behind_comma.is_some_and(|word| word.kind == Kind::Comma)
        && words.iter().skip(at + 1).all(|word| word.kind != Kind::Word)
}

/// `a party of seven`, `we are four`
fn is_party(words: &[Word], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or("", |place| lower(words, place));
    matches!(
        (before(2), before(1)),
        ("party" | "group", "of") | ("we", "are") | ("would", "be")
    )
}

/// `my brother and I`, `my wife and me`: two.
fn together(words: &[Word]) -> Option<u32> {
    let is_two = |at: usize| {
        let joined = words.get(at).is_some_and(|word| word.kind == Kind::And);
        let mine = at.checked_sub(2).is_some_and(|my| lower(words, my) == "my");
        joined && mine && matches!(lower(words, at + 1), "i" | "me" | "myself")
    };
    (0..words.len()).any(is_two).then_some(2)
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
