//! Finds the places that a question names.
//!
//! A name is told by its capital letter, by the preposition in front of it, by its place in a list, or, at last, by
//! being the one thing that nothing else explains. Only the surest kind that a question has is taken.

use crate::lists::{Tier, has_and, is_connector, is_grammar, is_second, is_talk, is_town_too, preposition};
use crate::text::{Kind, Word, before, lower};

pub use crate::lists::is_common;

/// Most words of a name.
const MAX_WORDS: usize = 6;
/// Most words of a name that is only guessed: longer stretches are prose.
const MAX_GUESSED: usize = 4;
/// Most letters of a name.
const MAX_LETTERS: usize = 80;

/// A place as a question names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name as it is written.
    pub text: String,
    /// It follows another behind a comma or an "in", so it may only say where that one is: `Paris, Texas`.
    pub chained: bool,
    /// Nothing speaks for it but that nothing else explains the words.
    pub guessed: bool,
    /// It stands in prose, and little speaks for it: prose has words that some place is called too.
    pub loose: bool,
    /// The number of its first word.
    pub at: usize,
    /// How many words it has.
    pub words: usize,
}

impl Named {
    /// Whether a word, by its number, is one of the name's.
    #[must_use]
    pub fn has(&self, at: usize) -> bool {
        (self.at..self.at + self.words).contains(&at)
    }
}

/// How a name hangs together with the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// A list goes on.
    List(Tier),
    /// It may say where the one before it is.
    Chain(Tier),
}

struct Candidate {
    text: String,
    at: usize,
    words: usize,
    chained: bool,
    /// It goes on a list that a comma or an "and" joins.
    listed: bool,
    tier: Tier,
}

/// Finds the places among words whose days, and whatever else is understood, are taken out ([`Kind::Gap`]).
#[must_use]
pub fn find(words: &[Word]) -> Vec<Named> {
    let mut candidates = candidates(words);
    // "oslo, Rome and Paris": what is in a list with a name is one.
    let mut lift = None;
    for candidate in candidates.iter_mut().rev() {
        candidate.tier = candidate.tier.max(lift.unwrap_or(candidate.tier));
        lift = candidate.listed.then_some(candidate.tier);
    }
    let best = candidates.iter().map(|candidate| candidate.tier).max();
    let named = |at: usize| {
        let mut all = candidates.iter();
        all.any(|candidate| (candidate.at..candidate.at + candidate.words).contains(&at))
    };
    let is_prose = words.iter().enumerate().any(|(at, word)| {
        word.kind == Kind::Word && !named(at) && is_grammar(&word.lower) && !is_connector(&word.lower)
    });
    let mut places: Vec<Named> = Vec::new();
    let mut kept = false;
    for (index, candidate) in candidates.iter().enumerate() {
        // What may only say where a place is goes with that place, and the other way round.
        let before_chain = candidate.text.starts_with(char::is_uppercase)
            && candidates
                .get(index + 1)
                .is_some_and(|next| next.chained && Some(next.tier) == best);
        let with_head = candidate.chained && candidate.tier < Tier::Sure && kept;
        let keep = Some(candidate.tier) == best || before_chain || with_head;
        if keep {
            places.push(Named {
                text: candidate.text.clone(),
                chained: candidate.chained && kept,
                guessed: candidate.tier == Tier::Guess,
                loose: candidate.tier < Tier::Sure && is_prose,
                at: candidate.at,
                words: candidate.words,
            });
        }
        kept = keep;
    }
    places
}

/// What is left of the words: neither a place, nor talk that `is_known`, nor grammar. Words that stand together are one
/// phrase.
#[must_use]
pub fn leftover(words: &[Word], places: &[Named], is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut phrases: Vec<String> = Vec::new();
    let mut follows = false;
    for (index, word) in words.iter().enumerate() {
        let explained = word.kind != Kind::Word
            || places.iter().any(|place| place.has(index))
            || is_talk(word)
            || is_grammar(&word.lower)
            || is_connector(&word.lower)
            || preposition(&word.lower).is_some()
            || is_known(&word.lower);
        match (explained, phrases.last_mut()) {
            (true, _) => {}
            (false, Some(phrase)) if follows => *phrase = format!("{phrase} {}", word.text),
            (false, _) => phrases.push(word.text.clone()),
        }
        follows = !explained;
    }
    phrases
}

fn candidates(words: &[Word]) -> Vec<Candidate> {
    let shouted = !words.iter().any(|word| word.text.chars().any(char::is_lowercase));
    let mut found: Vec<Candidate> = Vec::new();
    let mut anchor: Option<Tier> = None;
    let mut link: Option<Link> = None;
    // Where the newest name ended.
    let mut ended: Option<usize> = None;
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let last = found.last().map(|candidate| candidate.tier);
        match word.kind {
            Kind::Gap => anchor = None,
            Kind::Stop => (anchor, link, ended) = (None, None, None),
            Kind::Comma => {
                anchor = None;
                if let (Some(tier), true) = (last, ended == Some(index)) {
                    link = Some(Link::Chain(tier));
                }
            }
            Kind::And => {
                anchor = None;
                if let (Some(tier), true) = (last, ended.is_some()) {
                    link = Some(Link::List(tier));
                }
            }
            Kind::Word => {
                let direct = anchor == Some(Tier::Sure) && before(words, index) == "in";
                if let Some(end) = name_end(words, index, direct && !shouted, direct) {
                    let start = first_capital(words, index, end, shouted);
                    if let Some(candidate) = candidate(words, (start, end), anchor, link, shouted) {
                        match (found.last_mut(), merges(words, start, end, ended)) {
                            (Some(before), true) => {
                                before.text = format!("{} and {}", before.text, candidate.text);
                                before.words = end - before.at;
                            }
                            _ => found.push(candidate),
                        }
                        ended = Some(end);
                    }
                    (anchor, link) = (None, None);
                    index = end;
                    continue;
                }
                let before = ended == Some(index);
                match preposition(&word.lower) {
                    Some(tier) => {
                        link = match (word.lower.as_str(), before, last) {
                            ("in", true, Some(tier)) => Some(Link::Chain(tier)),
                            ("to", true, Some(tier)) => Some(Link::List(tier)),
                            _ => None,
                        };
                        anchor = Some(tier);
                    }
                    None if matches!(word.lower.as_str(), "the" | "city" | "town" | "of") => {}
                    None => {
                        anchor = None;
                        // "Oslo or maybe Bergen": a little word does not end a list, weather talk does.
                        if is_talk(word) {
                            link = None;
                        }
                    }
                }
            }
        }
        index += 1;
    }
    found
}

/// Where the name that begins at `index` ends; `None` where none begins.
fn name_end(words: &[Word], index: usize, direct: bool, behind_in: bool) -> Option<usize> {
    let first = words.get(index)?;
    let hague = first.lower == "hague";
    let talk_as_name = direct && first.is_capital() && is_talk(first)
        || behind_in
            && is_town_too(&first.lower)
            && !words.get(index + 1).is_some_and(|next| next.kind == Kind::Word);
    if !hague && !talk_as_name && !is_name(first) {
        return None;
    }
    let mut end = index + 1;
    while end - index < MAX_WORDS
        && let Some(word) = words.get(end)
    {
        // "Oslo's weather", but "King's Lynn"
        let possessive = before(words, end).ends_with("'s");
        let goes_on = is_name(word) || word.kind == Kind::Word && is_second(&word.lower);
        if word.kind == Kind::Word && goes_on && (!possessive || word.is_capital()) {
            end += 1;
        } else if word.kind == Kind::Word
            && is_connector(&word.lower)
            && let Some(skip) = connects(words, end)
        {
            end += skip;
        } else {
            break;
        }
    }
    Some(end)
}

/// Whether a name goes on behind one or two small words; how many words are then added.
fn connects(words: &[Word], index: usize) -> Option<usize> {
    let name = |index: usize| words.get(index).is_some_and(is_name);
    let capital = |index: usize| words.get(index).is_some_and(Word::is_capital);
    let before = index.checked_sub(1).is_some_and(capital);
    let small = lower(words, index);
    // "of", "on" and "the" are too common to join anything but names with capitals.
    let common = matches!(small, "of" | "on" | "the" | "an" | "am" | "do");
    if name(index + 1) && (!common || before && capital(index + 1)) {
        return Some(2);
    }
    let second = words
        .get(index + 1)
        .is_some_and(|word| word.kind == Kind::Word && is_connector(&word.lower));
    (second && name(index + 2) && before && capital(index + 2)).then_some(3)
}

fn is_name(word: &Word) -> bool {
    word.kind == Kind::Word
        && word.lower.chars().any(char::is_alphabetic)
        && !word.lower.starts_with(|first: char| first.is_ascii_digit())
        && !is_grammar(&word.lower)
        && !is_talk(word)
        && preposition(&word.lower).is_none()
        && (word.lower.chars().count() > 1 || !word.text.is_ascii())
        && !word.lower.starts_with('°')
}

/// The first word with a capital, where small words lead up to it: "visit Oslo".
fn first_capital(words: &[Word], start: usize, end: usize, shouted: bool) -> usize {
    let led = |index: usize| words.get(index).is_some_and(|word| is_connector(&word.lower));
    let capital = (start..end).find(|index| words.get(*index).is_some_and(Word::is_capital));
    match capital {
        Some(capital) if !shouted && capital > start && !led(start) => capital,
        _ => start,
    }
}

fn candidate(
    words: &[Word],
    (start, end): (usize, usize),
    anchor: Option<Tier>,
    link: Option<Link>,
    shouted: bool,
) -> Option<Candidate> {
    let name = words.get(start..end)?;
    let pieces: Vec<&str> = name.iter().map(|word| word.text.as_str()).collect();
    let mut text = pieces.join(" ");
    let is_saint = |word: &Word| matches!(word.lower.trim_end_matches('.'), "st" | "saint");
    let saint = name.len() > 1 && name.iter().any(is_saint);
    if let Some(owner) = text.strip_suffix("'s")
        && !saint
    {
        text = owner.to_owned();
    }
    if text.eq_ignore_ascii_case("hague") {
        text = "The Hague".to_owned();
    }
    text = text.chars().take(MAX_LETTERS).collect();
    let capital = !shouted && name.first().is_some_and(Word::is_capital);
    let linked = link.map(|(Link::List(tier) | Link::Chain(tier))| tier);
    // A capital at the beginning of a sentence says nothing where the sentence goes on with plain words.
    let begins = start
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .is_none_or(|word| word.kind == Kind::Stop);
    let plain = words
        .get(end)
        .is_some_and(|next| next.kind == Kind::Word && !is_talk(next));
    // "Kan du sjekke": what several small words go on from is a sentence, where something else is surely a name.
    let sentence = name.len() > 2 && !name.iter().skip(1).any(Word::is_capital);
    let tier = if capital && !(begins && (plain || sentence)) {
        Tier::Sure
    } else {
        anchor.into_iter().chain(linked).max().unwrap_or(Tier::Guess)
    };
    let fits = tier > Tier::Guess || name.len() <= MAX_GUESSED;
    fits.then_some(Candidate {
        text,
        at: start,
        words: end - start,
        chained: matches!(link, Some(Link::Chain(_))),
        listed: link.is_some() && anchor.is_none(),
        tier,
    })
}

/// Whether the name goes on behind an "and": `Trinidad and Tobago`.
fn merges(words: &[Word], start: usize, end: usize, ended: Option<usize>) -> bool {
    let adjoins = start > 1 && ended == start.checked_sub(1) && end == start + 1;
    adjoins && has_and(before(words, start - 1), lower(words, start))
}
