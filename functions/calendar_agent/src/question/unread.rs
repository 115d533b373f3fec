//! What a question says of time and nothing here has read: it is asked about, so that no part of it is answered for the whole.
//!
//! Little words relate times to each other ("the day after …", "until …", "every …"). Where one is left over beside a time, the time alone
//! does not say what was meant.

use words::text::{Kind as Piece, Word};
use words::{When, days};

/// Each mention of a day, with the number of its first word.
type Mentions = [(usize, When)];

/// Whether something is left over beside the times that were read. `has_hours` where two times of a day were read together, `within`
/// where the days are those of a longer time.
pub(super) fn is_any(words: &[Word], mentions: &Mentions, has_hours: bool, within: bool) -> bool {
    let mut left = words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.kind == Piece::Word);
    left.any(|(at, word)| {
        let around = Around { words, mentions, at };
        // Neither "one" nor the year of a month.
        let counts = word
            .count()
            .filter(|count| word.number() == Some(1) || (2..1_900).contains(count));
        around.relates(&word.lower, has_hours, within) || counts.is_some() && around.is_beside_time()
    })
}

/// A word that is left over, with what stands around it.
struct Around<'a> {
    words: &'a [Word],
    mentions: &'a Mentions,
    at: usize,
}

impl Around<'_> {
    /// Whether it relates a time to something.
    fn relates(&self, lower: &str, has_hours: bool, within: bool) -> bool {
        let next = past_articles(self.words, self.at + 1);
        let day = self.day_at(next);
        let spans = day.is_some_and(|day| matches!(day, When::Span(..)));
        let before = self.at.checked_sub(1).and_then(|before| self.words.get(before));
        let after = self.words.get(next);
        let is_name = |word: &Word| word.kind == Piece::Word && days::is_time(word);
        let behind_name = before.is_some_and(is_name);
        let before_name = after.is_some_and(|word| is_name(word) || word.count().is_some());
        let (behind_gap, before_gap) = (before.is_some_and(is_gap), after.is_some_and(is_gap));
        match lower {
            "of" => !within && (behind_name || behind_gap) && (before_name || before_gap),
            "between" => before_name || day.is_some() && !spans,
            "from" => behind_name || before_name || day.is_some() && !spans && !has_hours,
            "before" | "after" | "until" | "till" | "since" => behind_name || before_name || day.is_some(),
            "by" => before_name || day.is_some(),
            // "Not before 10" too.
            "not" => before_name || before_gap || self.words.get(next + 1).is_some_and(is_gap),
            "except" => before_name || before_gap,
            "every" | "each" => before_name || day.is_some() && !within,
            _ => false,
        }
    }

    /// Whether it stands beside a time, or in a list with one: `28 and 29 November`, `November 8 or 9`, `July 32`, `half eight tomorrow`.
    fn is_beside_time(&self) -> bool {
        let word = |at: Option<usize>| self.words.get(at?);
        let is = |at, is: fn(&Word) -> bool| word(at).is_some_and(is);
        let joins: fn(&Word) -> bool = |word| matches!(word.kind, Piece::And | Piece::Comma);
        let (before, after) = (self.at.checked_sub(1), Some(self.at + 1));
        is(before, is_gap)
            || is(after, is_gap)
            || is(after, joins) && self.day_at(self.at + 2).is_some()
            || is(before, |word| word.kind == Piece::And) && is(self.at.checked_sub(2), is_gap)
    }

    fn day_at(&self, at: usize) -> Option<&When> {
        let mut mentions = self.mentions.iter();
        mentions.find_map(|(first, day)| (*first == at).then_some(day))
    }
}

/// Whether names of days are those of a longer time that is named beside them: "Tuesday next week", "Fridays in June".
pub(super) fn is_within(words: &[Word], mentions: &Mentions) -> bool {
    let is_long = |day: &When| {
        matches!(
            day,
            When::Week { .. } | When::Weekend { .. } | When::Month(_) | When::Run { .. }
        )
    };
    let is_name = |day: &When| matches!(day, When::Weekday { .. });
    let is_joined = |(first, _): &(usize, When)| {
        let before = first.checked_sub(1).and_then(|before| words.get(before));
        before.is_some_and(|word| word.kind == Piece::And)
    };
    // "Monday or next week" are both.
    let is_both = mentions
        .windows(2)
        .any(|pair| matches!(pair, [one, other] if is_long(&one.1) != is_long(&other.1) && is_joined(other)));
    let long = mentions.iter().filter(|(_, day)| is_long(day)).count();
    let are_days = mentions.iter().all(|(_, day)| is_long(day) || is_name(day));
    long == 1 && mentions.len() > 1 && are_days && !is_both
}

/// Whether a number of the text is missing in what was made of it.
pub(super) fn is_number_lost(text: &str, english: &str) -> bool {
    let numbers = |text: &str| {
        let digits = text.split(|c: char| !c.is_ascii_digit());
        digits.filter(|digits| !digits.is_empty()).count()
    };
    numbers(text) != numbers(english)
}

fn is_gap(word: &Word) -> bool {
    word.kind == Piece::Gap
}

fn past_articles(words: &[Word], at: usize) -> usize {
    let is_article = |at: &usize| matches!(words::text::open(words, *at), "the" | "a" | "an");
    at + (at..words.len()).take_while(is_article).count()
}
