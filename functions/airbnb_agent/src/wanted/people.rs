//! Guests and nights among words; what is understood is taken out of them.

use words::text::{Kind, Word};

pub(super) const HOW_MANY: &str = "For how many guests?";

/// `4`, `four.`: a number and nothing else.
pub(super) fn number_alone(said: &str) -> Option<u32> {
    let words = words::text::split(said, 40);
    let mut own = words.iter().filter(|word| word.kind == Kind::Word);
    let count = own.next()?.count();
    own.next().is_none().then_some(count).flatten()
}

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
    let (mut guests, mut children) = match company(words) {
        Some((guests, children)) => (Some(guests), (children > 0).then_some(children)),
        None => (None, None),
    };
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
        if let Some((kind, taken)) = aged(words, at) {
            let people = if kind == Guest::Child {
                &mut children
            } else {
                &mut guests
            };
            *people = Some(people.unwrap_or(0) + 1);
            take_out(words, at, taken);
            continue;
        }
        if matches!(lower(words, at), "couple" | "couples") {
            let counted = at.checked_sub(1).filter(|_| lower(words, at) == "couples");
            let couples = counted.and_then(|before| words.get(before)?.count());
            guests = Some(guests.unwrap_or(0) + 2 * couples.unwrap_or(1));
            take_out(
                words,
                at - usize::from(couples.is_some()),
                1 + usize::from(couples.is_some()),
            );
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
    (guests, children)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Guest {
    Adult,
    Child,
}

fn guest(lower: &str) -> Option<Guest> {
    Some(match lower {
        "child" | "children" | "kid" | "kids" | "baby" | "babies" | "infant" | "infants" | "toddler"
        | "toddlers" | "teenager" | "teenagers" | "teen" | "teens" | "newborn" => Guest::Child,
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
        (true, _) => Some(HOW_MANY),
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

/// `my brother and I`, `me, my mother and my baby`: adults and children. The words of who is a child are taken out.
fn company(words: &mut [Word]) -> Option<(u32, u32)> {
    let (from, to) = (0..words.len()).find_map(|from| Some((from, list_end(words, from)?)))?;
    let (mut adults, mut children) = (0, 0);
    for at in from..to {
        if is_me(lower(words, at)) {
            adults += 1;
        } else if is_mine(lower(words, at)) {
            let counted = words.get(at + 1).and_then(Word::count);
            let noun = lower(words, at + 1 + usize::from(counted.is_some()));
            match is_child(noun) {
                true => children += counted.unwrap_or(1),
                false => adults += counted.unwrap_or(1),
            }
        }
    }
    take_out(words, from, to - from);
    Some((adults, children))
}

/// Where a list of the speaker and people of theirs ends that begins here.
fn list_end(words: &[Word], from: usize) -> Option<usize> {
    let joins = |at: usize| {
        let mut joints = words.iter().skip(at).map(|word| word.kind);
        match (joints.next(), joints.next()) {
            (Some(Kind::Comma), Some(Kind::And)) => Some(2),
            (Some(Kind::Comma | Kind::And), _) => Some(1),
            _ => None,
        }
    };
    let person = |at: usize| match lower(words, at) {
        me if is_me(me) => Some(1),
        my if is_mine(my) && words.get(at + 1).and_then(Word::count).is_some() => {
            (!lower(words, at + 2).is_empty()).then_some(3)
        }
        my if is_mine(my) && is_one_person(lower(words, at + 1)) => Some(2),
        _ => None,
    };
    let (mut end, mut count, mut has_me) = (from, 0, false);
    let mut next = from;
    while let Some(taken) = person(next) {
        has_me |= taken == 1;
        count += 1;
        end = next + taken;
        let Some(joint) = joins(end) else { break };
        next = end + joint;
    }
    (count > 1 && has_me).then_some(end)
}

fn is_me(lower: &str) -> bool {
    matches!(lower, "i" | "me" | "myself")
}

fn is_mine(lower: &str) -> bool {
    matches!(lower, "my" | "our")
}

/// Of "my parents" and "my family" nobody knows how many they are.
fn is_one_person(lower: &str) -> bool {
    !lower.is_empty() && lower != "family" && (lower == "boss" || !lower.ends_with('s'))
}

fn is_child(lower: &str) -> bool {
    matches!(lower, "son" | "sons" | "daughter" | "daughters") || guest(lower) == Some(Guest::Child)
}

/// `our ten-year-old son`: whether it is a child, and the number of words.
fn aged(words: &[Word], at: usize) -> Option<(Guest, usize)> {
    let lead = usize::from(is_mine(lower(words, at)) || matches!(lower(words, at), "a" | "an"));
    let years = lower(words, at + lead).strip_suffix("-year-old")?;
    let years = words::text::split(years, 20).first().and_then(Word::count)?;
    let kind = if years < 18 { Guest::Child } else { Guest::Adult };
    let noun = lower(words, at + lead + 1);
    let named = usize::from(is_child(noun) || guest(noun).is_some() || matches!(noun, "boy" | "girl"));
    Some((kind, lead + 1 + named))
}

/// Whether it is for people of whom it is not said how many they are: `for my family`, `for us`, `me and my parents`. Their words are
/// taken out.
pub(super) fn take_unsaid(words: &mut [Word]) -> bool {
    let led = |at: usize| matches!(lower(words, at), "for" | "with");
    let after_me = |at: usize| {
        let joined = words.get(at + 1).is_some_and(|word| word.kind == Kind::And);
        joined && is_me(lower(words, at))
    };
    let found = (0..words.len()).find_map(|at| match lower(words, at + 1) {
        "us" if led(at) => Some((at, 2)),
        my if is_mine(my) && led(at) => Some((at, 3)),
        _ => (after_me(at) && is_mine(lower(words, at + 2))).then_some((at, 4)),
    });
    if let Some((at, count)) = found {
        take_out(words, at, count);
    }
    found.is_some()
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
