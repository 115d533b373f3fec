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
        around.relates(&word.lower, has_hours, within)
            || word.number().is_some() && (around.is_listed() || around.goes_on())
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

    /// `28 and 29 November`: the first of them is left over.
    fn is_listed(&self) -> bool {
        let joint = self.words.get(self.at + 1);
        joint.is_some_and(|word| matches!(word.kind, Piece::And | Piece::Comma))
            && self.day_at(self.at + 2).is_some()
    }

    /// `November 8 or 9`: the last of them is left over.
    fn goes_on(&self) -> bool {
        let back = |by: usize| self.at.checked_sub(by).and_then(|before| self.words.get(before));
        back(1).is_some_and(|word| word.kind == Piece::And) && back(2).is_some_and(is_gap)
    }

    fn day_at(&self, at: usize) -> Option<&When> {
        self.mentions
            .iter()
            .find(|(first, _)| *first == at)
            .map(|(_, day)| day)
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
        first
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .is_some_and(|word| word.kind == Piece::And)
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
        text.split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .count()
    };
    numbers(text) != numbers(english)
}

fn is_gap(word: &Word) -> bool {
    word.kind == Piece::Gap
}

fn past_articles(words: &[Word], at: usize) -> usize {
    at + words
        .iter()
        .skip(at)
        .take_while(|word| word.kind == Piece::Word && matches!(word.lower.as_str(), "the" | "a" | "an"))
        .count()
}
