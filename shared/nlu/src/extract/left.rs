//! What is said of time and was not read: it is asked about, so that no part of it is answered for the whole.
//!
//! Little words relate times to each other ("the day after …", "every …"). Where one is left over beside a time, the time alone does
//! not say what was meant; nor does a number say nothing.

use words::text::{Kind, Word, lower, open, ordinal};
use words::{Named, When, days};

/// What was read of time.
pub(super) struct Read<'a> {
    /// Each mention of a day, with the number of its first word.
    pub(super) mentions: &'a [(usize, When)],
    /// Which words were taken out before that, and say nothing of time.
    pub(super) others: &'a [bool],
    /// The days are those of a longer time.
    pub(super) within: bool,
}

/// The first word that is left over beside the times that were read, as it is written. Of a text that is `said` in another language
/// than English not all words are known, so that nobody knows what a number is that is left, and one that is lost leaves nothing.
pub(super) fn first<'w>(
    words: &'w [Word],
    read: &Read<'_>,
    (said, english): (&'w str, Option<&str>),
) -> Option<&'w str> {
    let digits = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .count()
    };
    if english.is_some_and(|english| digits(said) != digits(english)) {
        return Some(said);
    }
    let has_digit = |word: &Word| word.kind == Kind::Word && digits(&word.text) > 0;
    let mut left = words.iter().enumerate().filter(|(at, word)| {
        relates(words, *at, read) || is_number(word) || english.is_some() && has_digit(word)
    });
    left.next().map(|(_, word)| word.text.as_str())
}

/// Whether something is left over of what is said of a stay: a number that counts nothing ("2 bedrooms" do) and is no age, or a
/// little word that relates a day to something ("after Friday").
pub(super) fn is_any(words: &[Word], places: &[Named], days: &[(usize, When)]) -> bool {
    let is_place = |at: usize| places.iter().any(|place| place.has(at));
    let is_number = |at: usize| open(words, at).starts_with(|c: char| c.is_ascii_digit());
    let counts = |at: usize| !open(words, at + 1).is_empty() && !is_place(at + 1);
    // "Aged 6 and 9", "(13 and 15)"
    let is_age = |at: usize| {
        let is = |at: usize, kind: Kind| words.get(at).is_some_and(|word| word.kind == kind);
        let joins = |at: usize| is(at, Kind::And) || is(at, Kind::Comma);
        let mut heads = (0..at)
            .rev()
            .filter(|before| !is_number(*before) && !joins(*before));
        let head = heads.next().map_or("", |head| lower(words, head));
        matches!(head, "age" | "aged" | "ages" | "(")
    };
    let relates = |at: usize| {
        let article = usize::from(matches!(open(words, at + 1), "the" | "a"));
        let relates = matches!(
            open(words, at),
            "before" | "after" | "except" | "not" | "every" | "each" | "since"
        );
        relates && days.iter().any(|(day, _)| *day == at + 1 + article)
    };
    (0..words.len()).any(|at| is_number(at) && !is_place(at) && !counts(at) && !is_age(at) || relates(at))
}

/// Whether a word relates a time to something.
fn relates(words: &[Word], at: usize, read: &Read<'_>) -> bool {
    let is_article = |at: &usize| matches!(open(words, *at), "the" | "a" | "an");
    let next = at + 1 + (at + 1..words.len()).take_while(is_article).count();
    let day = read
        .mentions
        .iter()
        .find_map(|(first, day)| (*first == next).then_some(day));
    let is_time = |at: usize| {
        words.get(at).is_some_and(|word| match word.kind {
            Kind::Gap => read.others.get(at) != Some(&true),
            kind => kind == Kind::Word && days::is_time(word),
        })
    };
    let is_name = |at: usize| !open(words, at).is_empty() && is_time(at);
    let behind = at.checked_sub(1);
    match open(words, at) {
        "of" => !read.within && is_time(next) && behind.is_some_and(is_time),
        "from" | "between" => match day {
            Some(day) => !matches!(day, When::Span(..)) || behind.is_some_and(is_name),
            None => is_name(next),
        },
        // "The day after" too.
        "before" | "after" | "until" | "till" | "since" => is_time(next) || behind.is_some_and(is_name),
        "by" | "except" => is_time(next),
        // "Not before 10" too.
        "not" => is_time(next) || is_time(next + 1),
        "every" | "each" => !read.within && is_time(next),
        _ => false,
    }
}

/// Whether a word is a number: neither "one" nor the year of a month.
fn is_number(word: &Word) -> bool {
    let counts = word.count().filter(|count| *count != 1 && *count < 1_900);
    let is_ordinal = word.kind == Kind::Word && ordinal(&word.lower).is_some();
    counts.is_some() || word.number() == Some(1) || is_ordinal
}
