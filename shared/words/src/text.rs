//! A text as words and the marks between them.

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word, or a number.
    Word,
    /// A comma.
    Comma,
    /// `and`, `or`, `&`, `/` and their like: what stands between the parts of a list.
    And,
    /// The end of a sentence, a bracket, a line break.
    Stop,
    /// Words that were understood already.
    Gap,
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub text: String,
    /// In small letters; two letters that are a state's code have a `~` in front.
    pub lower: String,
    /// What it is.
    pub kind: Kind,
    /// It belongs to what the question is about, so that it is hardly part of a place's name: [`mark_topic`].
    pub(crate) topic: bool,
}

impl Word {
    pub(crate) fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    /// A number of at most four digits.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        if self.kind == Kind::Word && self.lower.len() <= 4 {
            self.lower.parse().ok()
        } else {
            None
        }
    }

    /// A number in digits, as [`Word::number`] has it, or in a word up to ninety-nine.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        match self.kind {
            Kind::Word => named(&self.lower).or_else(|| self.number()),
            _ => None,
        }
    }

    fn new(text: &str, kind: Kind) -> Self {
        Self {
            text: text.to_owned(),
            lower: text.to_lowercase(),
            kind,
            topic: false,
        }
    }
}

const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
                       seventeen eighteen nineteen";
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";

/// A number in English words: `four`, `thirty`, `thirty-five`.
fn named(lower: &str) -> Option<u32> {
    let place = |names: &str, text: &str| {
        let at = names.split(' ').position(|name| name == text)?;
        u32::try_from(at + 1).ok()
    };
    let (tens, ones) = lower.split_once('-').unwrap_or((lower, ""));
    let tens = || Some((place(TENS, tens)? + 1) * 10);
    match ones {
        "" if lower == "zero" => Some(0),
        "" => place(NUMBERS, lower).or_else(tens),
        ones => place(NUMBERS, ones)
            .filter(|ones| *ones < 10)
            .and_then(|ones| Some(tens()? + ones)),
    }
}

/// A number in words or in digits, as [`Word::count`] has it.
#[must_use]
pub fn count(text: &str) -> Option<u32> {
    split(text, 20).first()?.count()
}

/// The number of `24th`.
#[must_use]
pub fn ordinal(lower: &str) -> Option<u32> {
    let mut ends = ["st", "nd", "rd", "th"].iter();
    ends.find_map(|end| lower.strip_suffix(end))?.parse().ok()
}

/// What stands at a place, in small letters; nothing beyond the ends.
#[must_use]
pub fn lower(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| word.lower.as_str())
}

/// The same of the place before.
#[must_use]
pub fn before(words: &[Word], at: usize) -> &str {
    at.checked_sub(1).map_or("", |before| lower(words, before))
}

/// The word at a place, in small letters; nothing where there is a mark, or a word that was understood already.
#[must_use]
pub fn open(words: &[Word], at: usize) -> &str {
    let word = words.get(at).filter(|word| word.kind == Kind::Word);
    word.map_or("", |word| word.lower.as_str())
}

/// Takes words out, which were understood.
pub fn take_out(words: &mut [Word], range: std::ops::Range<usize>) {
    let taken = words.iter_mut().take(range.end).skip(range.start);
    taken.for_each(|word| word.kind = Kind::Gap);
}

const ABBREVIATIONS: [&str; 6] = ["st", "mt", "ft", "ste", "sta", "dr"];

/// Splits the first `max` characters of a text.
#[must_use]
pub fn split(text: &str, max: usize) -> Vec<Word> {
    let letters: Vec<char> = text
        .chars()
        .take(max)
        .map(|letter| if letter == '’' { '\'' } else { letter })
        .collect();
    let shouted = !letters.iter().any(|letter| letter.is_lowercase());
    let at = |index: usize| letters.get(index).copied().unwrap_or('\n');
    let mut words: Vec<Word> = Vec::new();
    let mut start = 0;
    while start < letters.len() {
        let letter = at(start);
        if letter.is_alphanumeric() || letter == '°' {
            let mut end = start + 1;
            let joined = |end: usize| is_inner(at(end)) || joins(at(end), at(end - 1), at(end + 1));
            // "7/19-7/22"
            let slashed = start > 0 && at(start - 1) == '/';
            while end < letters.len() && joined(end) && !(slashed && at(end) == '-') {
                end += 1;
            }
            let mut text: String = letters.get(start..end).unwrap_or_default().iter().collect();
            if at(end) == '.' && ABBREVIATIONS.contains(&text.to_lowercase().as_str())
                || at(end) == '.' && text.contains('.')
            {
                end += 1;
                // The dot behind a date is no part of it.
                if text.contains(char::is_alphabetic) {
                    text.push('.');
                }
            }
            words.push(Word::new(&text, Kind::Word));
            start = end;
            continue;
        }
        let kind = match letter {
            ',' | '、' | '，' => Some(Kind::Comma),
            '&' | '+' | '/' | '–' | '—' => Some(Kind::And),
            '.' | '!' | '?' | ';' | ':' | '(' | ')' | '[' | ']' | '\n' | '|' => Some(Kind::Stop),
            _ => None,
        };
        if let Some(kind) = kind {
            words.push(Word::new(&letter.to_string(), kind));
        }
        start += 1;
    }
    mark_ands(&mut words, shouted);
    words
}

/// Marks the words of what a question is about, by their small letters: "rain" for an agent that knows the weather.
pub fn mark_topic(words: &mut [Word], is_topic: impl Fn(&str) -> bool) {
    for word in words {
        word.topic = is_topic(&word.lower);
    }
}

/// A text that is nothing but words: without addresses, and without the marks that a page would make links, pictures or headings of.
#[must_use]
pub fn unlinked(text: &str) -> String {
    let marks = ['[', ']', '<', '>', '`', '*', '_', '#', '|', '~', '\\'];
    let words = text.split_whitespace().filter(|word| {
        let lower = word.to_lowercase();
        !["://", "](", "www.", "mailto:", "@"]
            .iter()
            .any(|mark| lower.contains(mark))
            || lower == "@"
    });
    let kept: Vec<String> = words.map(|word| word.replace(marks, "")).collect();
    kept.join(" ")
}

fn is_inner(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '\u{300}'..='\u{36f}')
}

/// Marks that join what stands on both sides of them.
fn joins(mark: char, before: char, after: char) -> bool {
    let inside = is_inner(before) && is_inner(after);
    inside && (matches!(mark, '\'' | '-') || mark == '.' && before.is_alphanumeric())
}

/// Whether two letters are a state's code rather than a word: `Portland, OR` but not `Oslo OR Bergen`.
fn is_code(words: &[Word], index: usize) -> bool {
    let code = |word: &Word| word.text.len() == 2 && word.text.bytes().all(|byte| byte.is_ascii_uppercase());
    let leads = |word: &Word| word.kind == Kind::Comma || word.is_capital();
    let follows = |word: &Word| word.kind == Kind::Word && word.is_capital();
    let before = index.checked_sub(1).and_then(|before| words.get(before));
    words.get(index).is_some_and(code)
        && before.is_some_and(leads)
        && !words.get(index + 1).is_some_and(follows)
}

fn mark_ands(words: &mut [Word], shouted: bool) {
    for index in 0..words.len() {
        if !shouted && is_code(words, index) {
            // Such a code is none of the little words that it looks like.
            if let Some(word) = words.get_mut(index) {
                word.lower.insert(0, '~');
            }
        } else if let Some(word) = words.get_mut(index)
            && word.kind == Kind::Word
            && matches!(
                word.lower.as_str(),
                "and" | "or" | "vs" | "versus" | "plus" | "und" | "og"
            )
        {
            word.kind = Kind::And;
        }
    }
}
