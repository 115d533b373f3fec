//! Phrases as they are written: for one who passes on what was said and does not act on it.

use chrono::{Month, Weekday};

/// A word of a text, with where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    /// As it is written.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The first of its sentence, where a capital says nothing.
    pub first: bool,
}

impl Word<'_> {
    /// Written like a name: a capital followed by small letters, not at the start of a sentence.
    #[must_use]
    pub fn is_name(&self) -> bool {
        let mut chars = self.text.chars();
        !self.first
            && chars.next().is_some_and(char::is_uppercase)
            && chars.next().is_some_and(char::is_lowercase)
            && !is_time(&self.text.to_lowercase())
            // The month, which is no time in small letters.
            && self.text != "May"
    }

    /// In small letters.
    #[must_use]
    pub fn lower(&self) -> String {
        self.text.to_lowercase()
    }
}

/// The words of a text.
#[must_use]
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word<'_>> = Vec::new();
    let mut end = 0;
    while let Some(rest) = text.get(end..)
        && let Some(gap) = rest.find(char::is_alphanumeric)
        && let Some((between, word)) = rest.split_at_checked(gap)
    {
        let word = word
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let start = end + gap;
        end = start + word.len();
        let first = out.is_empty() || between.contains(['.', '?', '!', ':', '\n']);
        out.push(Word {
            text: word,
            start,
            end,
            first,
        });
    }
    out
}

/// Whether a word, in small letters, says when. The month of May does not in small letters, nor do names that are cut short.
#[must_use]
pub fn is_time(word: &str) -> bool {
    match word {
        "today" | "tonight" | "tomorrow" | "yesterday" | "now" | "day" | "days" | "week" | "weeks"
        | "weekend" | "weekends" | "month" | "months" | "year" | "years" | "hour" | "hours" | "morning"
        | "afternoon" | "evening" | "night" | "noon" | "next" | "last" => true,
        name => name.len() > 3 && (name.parse::<Weekday>().is_ok() || name.parse::<Month>().is_ok()),
    }
}

/// Words that stand together and are so, each run with the word before it.
fn runs<'w, 't>(
    words: &'w [Word<'t>],
    is: impl Fn(&Word<'_>) -> bool,
) -> Vec<(Option<&'w Word<'t>>, &'w [Word<'t>])> {
    let mut before = None;
    let mut runs = Vec::new();
    for run in words.chunk_by(|one, other| is(one) == is(other)) {
        if run.first().is_some_and(&is) {
            runs.push((before, run));
        }
        before = run.last();
    }
    runs
}

/// Names of places: words written like names behind a preposition.
#[must_use]
pub fn places(text: &str) -> Vec<String> {
    let leads = |word: &Word<'_>| {
        matches!(
            word.lower().as_str(),
            "in" | "to" | "at" | "near" | "around" | "for" | "from" | "visit"
        )
    };
    let words = words(text);
    let named = runs(&words, |word| word.is_name() && !leads(word)).into_iter();
    let led = named.filter(|(before, _)| before.is_some_and(leads));
    let text = |run: &[Word<'_>]| run.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    led.map(|(_, run)| text(run)).collect()
}

/// Phrases that say when: "tomorrow", "next week", "on Friday".
#[must_use]
pub fn times(text: &str) -> Vec<String> {
    let words = words(text);
    let said = runs(&words, |word| is_time(&word.lower())).into_iter();
    let phrase = |(before, run): (Option<&Word<'_>>, &[Word<'_>])| {
        let links = |word: &&Word<'_>| matches!(word.lower().as_str(), "on" | "this" | "at" | "in");
        let first = before.filter(links).or(run.first())?;
        text.get(first.start..run.last()?.end).map(str::to_owned)
    };
    said.filter_map(phrase).collect()
}
