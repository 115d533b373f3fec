//! Guests and nights among words; what is understood is taken out of them.

use crate::lists::{is_grammar, preposition};
use crate::text::{self, Kind, Word, before, open, take_out};

/// What is asked where nobody knows how many come.
pub const HOW_MANY: &str = "For how many guests?";

/// `4`, `four.`: a number and nothing else.
#[must_use]
pub fn number_alone(said: &str) -> Option<u32> {
    let words = text::split(said, 40);
    let mut own = words.iter().filter(|word| word.kind == Kind::Word);
    let count = own.next()?.count();
    own.next().is_none().then_some(count).flatten()
}

/// A number that stands open there.
fn count(words: &[Word], at: usize) -> Option<u32> {
    words.get(at).and_then(Word::count)
}

/// `three nights`, `for a night`, `the night of the 1st of March`
pub fn take_nights(words: &mut [Word]) -> Option<u32> {
    let found = (0..words.len()).find_map(|at| match (open(words, at), open(words, at + 1)) {
        ("night", "of") => Some((at, 1)),
        ("a", "night" | "nights") if before(words, at) == "for" => Some((at, 1)),
        (_, "night" | "nights") => Some((at, count(words, at)?)),
        _ => None,
    });
    let (at, nights) = found?;
    take_out(words, at..at + 2);
    Some(nights)
}

/// How many come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Party {
    /// Who is grown up.
    pub adults: Option<u32>,
    /// Who is not.
    pub children: Option<u32>,
    /// Babies.
    pub infants: Option<u32>,
}

impl Party {
    fn of(&mut self, guest: Guest) -> &mut Option<u32> {
        match guest {
            Guest::Adult => &mut self.adults,
            Guest::Child => &mut self.children,
            Guest::Infant => &mut self.infants,
        }
    }

    fn add(&mut self, guest: Guest, count: u32) {
        let people = self.of(guest);
        *people = Some(people.unwrap_or(0).saturating_add(count));
    }

    /// Counts who is named at `at`; the words that say so.
    fn count(&mut self, words: &[Word], at: usize) -> Option<std::ops::Range<usize>> {
        if let Some((guest, number)) = labelled(words, at) {
            *self.of(guest) = Some(number);
            return Some(at..at + 3);
        }
        if let Some((guest, taken)) = aged(words, at) {
            self.add(guest, 1);
            return Some(at..at + taken);
        }
        if matches!(open(words, at), "couple" | "couples") {
            let couples = at.checked_sub(1).filter(|_| open(words, at) == "couples");
            let couples = couples.and_then(|number| count(words, number));
            self.add(Guest::Adult, 2 * couples.unwrap_or(1).min(100));
            return Some(at - usize::from(couples.is_some())..at + 1);
        }
        let is_a = matches!(open(words, at), "a" | "an");
        let number = if is_a { 1 } else { count(words, at)? };
        // "6 grown ups", "2 small children".
        let named = (at + 1..at + 3).find_map(|place| Some((guest(open(words, place))?, place)));
        let next = open(words, at + 1);
        let is_named = |(guest, place): &(Guest, usize)| {
            *place == at + 1 || next == "grown" || !is_a && *guest != Guest::Adult
        };
        if let Some((guest, place)) = named.filter(is_named) {
            self.add(guest, number);
            return Some(at..place + 1);
        }
        let taken = match next {
            _ if is_a => return None,
            "of" if open(words, at + 2) == "us" => at..at + 3,
            // "For two, Friday to Sunday", but not "for two weeks" or "for 90 euros"; "a party of seven"; "we are four".
            _ if ends(words, at + 1) && (before(words, at) == "for" || is_party(words, at)) => at - 1..at + 1,
            // "Oslo, 8 to 10 January, two"
            _ if is_last(words, at) && words.get(at).is_some_and(|word| word.number().is_none()) => {
                at..at + 1
            }
            _ => return None,
        };
        self.adults = Some(number);
        Some(taken)
    }
}

/// `two adults and a child`, `for two`, `the three of us`, `a party of seven`, `adults: 2`: adults and children.
pub fn take(words: &mut [Word]) -> Party {
    let mut party = company(words).unwrap_or_default();
    for at in 0..words.len() {
        if let Some(taken) = party.count(words, at) {
            take_out(words, taken);
        }
    }
    party
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guest {
    Adult,
    Child,
    Infant,
}

pub(crate) fn guest(lower: &str) -> Option<Guest> {
    Some(match lower {
        "child" | "children" | "kid" | "kids" | "toddler" | "toddlers" | "teenager" | "teenagers"
        | "teen" | "teens" => Guest::Child,
        "baby" | "babies" | "infant" | "infants" | "newborn" => Guest::Infant,
        "guest" | "guests" | "people" | "person" | "persons" | "adult" | "adults" | "grown-up"
        | "grown-ups" | "ups" | "pax" | "women" | "men" | "travellers" | "travelers" | "friends" => {
            Guest::Adult
        }
        _ => return None,
    })
}

/// `adults: 2`
fn labelled(words: &[Word], at: usize) -> Option<(Guest, u32)> {
    words.get(at + 1).filter(|colon| colon.text == ":")?;
    Some((guest(open(words, at))?, open(words, at + 2).parse().ok()?))
}

/// What is asked where a number is no certain one: `-2 nights`, `a few nights`, `1 to 2 people`.
#[must_use]
pub fn unsure(said: &str, words: &[Word]) -> Option<&'static str> {
    let before = std::iter::once("").chain(said.split_whitespace());
    // "12 -14" is a span.
    let is_below = |(before, piece): (&str, &str)| {
        let number = piece.strip_prefix('-').unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit())
            && !before.ends_with(|c: char| c.is_ascii_digit() || c == '.')
    };
    if before.zip(said.split_whitespace()).any(is_below) {
        return Some(
            "A number below zero cannot be meant. How many nights, for how many guests, and up to which price?",
        );
    }
    (0..words.len()).find_map(|at| {
        let is_or = matches!(text::lower(words, at + 1), "to" | "or" | "-" | "–");
        let either = is_or && count(words, at).is_some() && count(words, at + 2).is_some();
        match (open(words, at), open(words, at + 1)) {
            _ if either && guest(open(words, at + 3)).is_some() => Some(HOW_MANY),
            ("few" | "several", "nights" | "days") => Some("For how many nights?"),
            _ => None,
        }
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
    let second = at.checked_sub(2).map_or("", |second| open(words, second));
    matches!(
        (second, before(words, at)),
        ("party" | "group", "of") | ("we", "are") | ("would", "be")
    )
}

/// `my brother and I`, `me, my mother and my baby`: a list of the speaker and people of theirs. Its words are taken out.
fn company(words: &mut [Word]) -> Option<Party> {
    let (party, list) = (0..words.len()).find_map(|from| listed(words, from))?;
    take_out(words, list);
    Some(party)
}

/// Such a list that begins here.
fn listed(words: &[Word], from: usize) -> Option<(Party, std::ops::Range<usize>)> {
    let is = |at: usize, kind: Kind| words.get(at).is_some_and(|word| word.kind == kind);
    let (mut party, mut people, mut has_me) = (Party::default(), 0, false);
    let (mut next, mut end) = (from, from);
    loop {
        let (first, counted) = (open(words, next), count(words, next + 1));
        let noun = open(words, next + 1 + usize::from(counted.is_some()));
        end = match (is_me(first), is_mine(first)) {
            (true, _) => next + 1,
            (_, true) if counted.is_some() && !noun.is_empty() => next + 3,
            (_, true) if counted.is_none() && is_one_person(noun) => next + 2,
            _ => break,
        };
        has_me |= is_me(first);
        party.add(
            if is_me(first) { Guest::Adult } else { of_kin(noun) },
            counted.filter(|_| !is_me(first)).unwrap_or(1),
        );
        people += 1;
        next = match (is(end, Kind::Comma), is(end, Kind::And)) {
            (true, _) => end + 1 + usize::from(is(end + 1, Kind::And)),
            (_, true) => end + 1,
            _ => break,
        };
    }
    (people > 1 && has_me).then_some((party, from..end))
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

/// Who somebody of the speaker's is.
fn of_kin(lower: &str) -> Guest {
    match lower {
        "son" | "sons" | "daughter" | "daughters" => Guest::Child,
        lower => guest(lower).unwrap_or(Guest::Adult),
    }
}

/// `our ten-year-old son`: whether it is a child, and the number of words.
fn aged(words: &[Word], at: usize) -> Option<(Guest, usize)> {
    let lead = usize::from(is_mine(open(words, at)) || matches!(open(words, at), "a" | "an"));
    let years = text::count(open(words, at + lead).strip_suffix("-year-old")?)?;
    let noun = open(words, at + lead + 1);
    let named = of_kin(noun) == Guest::Child || guest(noun).is_some() || matches!(noun, "boy" | "girl");
    let who = if years < 18 { Guest::Child } else { Guest::Adult };
    Some((who, lead + 1 + usize::from(named)))
}

/// Whether it is for people of whom it is not said how many they are: `for my family`, `for us`, `me and my parents`. Their words are
/// taken out.
pub fn take_unsaid(words: &mut [Word]) -> bool {
    let led = |at: usize| matches!(open(words, at), "for" | "with");
    let is_and = |at: usize| words.get(at).is_some_and(|word| word.kind == Kind::And);
    let found = (0..words.len()).find_map(|at| match open(words, at + 1) {
        "us" if led(at) => Some(at..at + 2),
        my if is_mine(my) && led(at) => Some(at..at + 3),
        _ => (is_me(open(words, at)) && is_and(at + 1) && is_mine(open(words, at + 2))).then_some(at..at + 4),
    });
    let is_found = found.is_some();
    found.into_iter().for_each(|range| take_out(words, range));
    is_found
}

/// Whether nothing that a number could count stands there.
fn ends(words: &[Word], at: usize) -> bool {
    let next = open(words, at);
    next.is_empty() || preposition(next).is_some() || is_grammar(next)
}
