//! Terms: the words of a text that say what it is about, in whatever language it is written.

use std::collections::HashMap;
use std::sync::LazyLock;

use domain::READ_MAX;
use words::is_day_name;
use words::phrases::is_time;

use super::hashing::ByHash;

/// Function words up to this length, in characters, say nothing at all: "the", "und", "por".
const MUTE_MAX: usize = 3;
/// What longer ones count for: the lists also have "order" and "room", which a request may turn on.
const FAINT: f64 = 0.45;
/// What a word counts for that says when, or names somebody or some place: it is the same whatever is asked.
const PASSING: f64 = 0.05;

/// The particle that makes of one word what another is of.
const OF: char = 'の';

/// Words that lead what something is to be written or said about.
pub(super) const ABOUT: &[&str] = &[
    "on", "about", "über", "sobre", "sur", "om", "su", "over", "o", "о",
];

/// Nouns and verbs that the library's English list has beside its little words: a text may be about them.
#[rustfmt::skip]
const CONTENT: &[&str] = &[
    "order", "orders", "system", "systems", "research", "page", "pages", "site", "website", "webpage", "information", "problem",
    "problems", "section", "computer", "group", "groups", "room", "rooms", "bill", "test", "novel", "mill", "fire", "goods",
    "shed", "ring", "mine", "member", "members", "invention", "face",
];

/// Whether the library's English list takes a word for a little one that says something.
#[must_use]
pub fn is_content(word: &str) -> bool {
    CONTENT.contains(&word)
}

/// Words that ask and say no more, beside the function words.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "check", "pls", "plz", "nachsehen", "nachschauen", "prüfen", "comprobar", "revisar", "vérifier", "sjekk", "sjekke", "checken",
    "kolla", "controllare", "verificar", "sprawdź", "sprawdzić", "проверь", "проверить",
];

/// A word that says what a text is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// In small letters.
    pub(super) text: String,
    /// How much it says, up to 1.
    pub(super) weight: f64,
    /// It stands right behind another term, with a blank between them.
    pub(super) behind: bool,
    /// A word such as "about" stands before it: it may be what something is to be written or said about.
    pub(super) is_topic: bool,
    /// It begins the text, as words such as "what" and "would" do.
    pub(super) begins: bool,
    /// It stands before a number, as "between" does.
    pub(super) leads: bool,
    /// It says of which kind the next one is, as the place does in "東京の天気".
    pub(super) specifies: bool,
}

impl Term {
    /// A word that a text means and does not have.
    pub(super) fn named(text: &str, weight: f64) -> Self {
        Self {
            text: text.to_owned(),
            weight,
            behind: false,
            is_topic: false,
            begins: false,
            leads: false,
            specifies: false,
        }
    }

    fn of(run: Run, is_topic: bool) -> Option<Self> {
        let Run {
            text,
            is_name,
            behind,
            specifies,
            of,
        } = run;
        let long = text.chars().count();
        let says = long > 1 || text.chars().all(is_ideograph);
        let number = text.chars().all(char::is_numeric);
        // "The 30th", "4pm".
        let counted = text.starts_with(|c: char| c.is_ascii_digit());
        let function = of != 0 || ASKING.contains(&text.as_str());
        if !says || number || function && long <= MUTE_MAX {
            return None;
        }
        let weight = match () {
            () if is_name || counted || is_time(&text) || is_day_name(&text) => PASSING,
            () if function => FAINT,
            () => 1.0,
        };
        Some(Self {
            text,
            weight,
            behind,
            is_topic,
            begins: false,
            leads: false,
            specifies,
        })
    }

    /// It says no more than when, where or who would.
    pub(super) fn passes(&mut self) {
        self.weight = self.weight.min(PASSING);
    }

    /// Whether it says more than when, where or who.
    pub(super) fn is_matter(&self) -> bool {
        self.weight > PASSING
    }

    /// Whether it mostly holds sentences together.
    pub(super) fn is_faint(&self) -> bool {
        self.weight > PASSING && self.weight < 1.0
    }

    /// Whether it is written without letters, in signs that mean something one by one.
    pub(super) fn is_ideographic(&self) -> bool {
        self.text.chars().all(is_ideograph)
    }
}

/// A text as its words, with the language that they are of.
pub(super) struct Text {
    runs: Vec<Run>,
    pub(super) spoken: Languages,
}

impl Text {
    pub(super) fn of(text: &str) -> Self {
        let runs = runs(text);
        let spoken = language_of(text, &runs);
        Self { runs, spoken }
    }

    /// How many words it has, whatever they say.
    pub(super) fn words(&self) -> usize {
        self.runs.len()
    }

    /// Its terms, each once, in the order of the text.
    pub(super) fn terms(self) -> Vec<Term> {
        let capitals_name = self.spoken & GERMAN == 0 || self.spoken & ENGLISH != 0;
        let (mut before, mut is_topic) = (false, false);
        let mut terms: Vec<Term> = Vec::with_capacity(self.runs.len());
        let mut runs = self.runs.into_iter().peekable();
        let mut first = true;
        while let Some(run) = runs.next() {
            let begins = std::mem::replace(&mut first, false);
            let leads = runs.peek().is_some_and(Run::is_number);
            let is_name = run.is_name && capitals_name;
            let behind = run.behind && before;
            is_topic |= ABOUT.contains(&run.text.as_str());
            let run = Run {
                is_name,
                behind,
                ..run
            };
            let term = Term::of(run, is_topic).map(|term| Term {
                begins,
                leads,
                ..term
            });
            before = term.is_some();
            // Texts are short: looking for a word in them is quicker than keeping a set of them.
            terms.extend(term.filter(|term| !terms.iter().any(|known| known.text == term.text)));
        }
        terms
    }
}

/// The terms of a text, each once, in the order of the text.
#[cfg(test)]
pub(super) fn terms(text: &str) -> Vec<Term> {
    Text::of(text).terms()
}

/// The words of a text in small letters, whatever they say.
pub(super) fn spelled(text: &str) -> Vec<String> {
    runs(text).into_iter().map(|run| run.text).collect()
}

/// Whether a word is one of those that only hold a sentence together.
pub(super) fn is_mute(word: &str) -> bool {
    word.chars().count() <= MUTE_MAX && FUNCTION_WORDS.contains_key(word)
}

/// Whether a word holds sentences together, or asks and says no more.
pub(super) fn is_little(word: &str) -> bool {
    is_function_word(word) || ASKING.contains(&word)
}

/// Whether a word holds sentences together in one of the languages.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains_key(word)
}

/// How a sign is written, which tells where words end in a script without blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Letters,
    Ideographs,
    Katakana,
    /// Endings and particles.
    Hiragana,
}

fn script(c: char) -> Script {
    match c {
        '\u{3041}'..='\u{309f}' => Script::Hiragana,
        '\u{30a0}'..='\u{30ff}' => Script::Katakana,
        c if is_ideograph(c) => Script::Ideographs,
        _ => Script::Letters,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '々' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

/// A word as it stands in a text.
struct Run {
    /// In small letters.
    text: String,
    /// Whether it has a capital that no sentence's beginning explains.
    is_name: bool,
    /// Whether a blank alone parts it from the one before it.
    behind: bool,
    /// Whether a particle behind it makes it say of which kind the next one is.
    specifies: bool,
    /// The languages that it is a function word of.
    of: Languages,
}

impl Run {
    fn is_number(&self) -> bool {
        self.text.chars().all(char::is_numeric)
    }
}

/// The words of a text, cut where the script changes.
fn parted(text: &str) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    let mut open: Option<Script> = None;
    let mut begins = true;
    let mut gap = String::new();
    for c in text.chars().take(READ_MAX) {
        let now = Some(script(c)).filter(|_| c.is_alphanumeric() || c == '々');
        if let Some(script) = now.filter(|script| *script != Script::Hiragana) {
            match out.last_mut().filter(|_| open == Some(script)) {
                Some(run) => {
                    // "USD" is no name.
                    run.is_name &= !c.is_uppercase();
                    run.text.extend(c.to_lowercase());
                }
                None => out.push(Run {
                    text: c.to_lowercase().collect(),
                    is_name: c.is_uppercase() && !begins,
                    behind: gap == " ",
                    specifies: false,
                    of: 0,
                }),
            }
            begins = false;
            gap.clear();
        }
        if c == OF && open.is_some_and(|script| script != Script::Hiragana) {
            out.iter_mut()
                .next_back()
                .into_iter()
                .for_each(|run| run.specifies = true);
        }
        if now.is_none() {
            gap.push(c);
        }
        begins |= matches!(c, '.' | '?' | '!' | ':' | '\n' | '¿' | '¡' | '"' | '“');
        open = now;
    }
    out
}

/// The words of a text, each with the languages that it is a function word of.
fn runs(text: &str) -> Vec<Run> {
    let mut runs = parted(text);
    for run in &mut runs {
        run.of = FUNCTION_WORDS.get(&run.text).copied().unwrap_or(0);
    }
    runs
}

/// Languages, one bit each.
pub(super) type Languages = u16;

/// The language of a text, by its function words; none where it has none.
pub(super) fn language(text: &str) -> Languages {
    language_of(text, &runs(text))
}

fn language_of(text: &str, runs: &[Run]) -> Languages {
    if text
        .chars()
        .any(|c| matches!(script(c), Script::Hiragana | Script::Katakana))
    {
        return bit(LANGUAGES.len());
    }
    let mut counts = [0_u16; LANGUAGES.len()];
    for known in runs.iter().map(|run| run.of).filter(|of| *of != 0) {
        for (number, count) in counts.iter_mut().enumerate() {
            *count += u16::from(known & bit(number) != 0);
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let spoken = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count == most && most > 0);
    spoken.fold(0, |all, (number, _)| all | bit(number))
}

/// Whether a text of these languages may be of one, by its code; one of none may be of any.
pub(super) fn speaks(spoken: Languages, code: &str) -> bool {
    let number = LANGUAGES.iter().position(|known| *known == code);
    spoken == 0 || number.is_some_and(|number| spoken & bit(number) != 0)
}

fn bit(number: usize) -> Languages {
    1 << number
}

/// The languages whose function words are known, by their codes. Japanese has none that stand alone.
const LANGUAGES: [&str; 12] = [
    "en", "de", "es", "fr", "it", "nl", "no", "sv", "da", "pt", "pl", "ru",
];

const ENGLISH: Languages = 1;
/// The language that writes a capital where others write a name.
const GERMAN: Languages = 1 << 1;

/// Function words, each with the languages that it is one of.
static FUNCTION_WORDS: LazyLock<HashMap<String, Languages, ByHash>> = LazyLock::new(|| {
    let mut known: HashMap<String, Languages, ByHash> = HashMap::default();
    for (number, code) in LANGUAGES.iter().enumerate() {
        for word in stop_words::lookup(code)
            .into_iter()
            .flatten()
            .flat_map(|entry| parted(entry))
            .filter(|word| *code != "en" || !is_content(&word.text))
        {
            *known.entry(word.text).or_insert(0) |= bit(number);
        }
    }
    known
});

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let all = terms(text).into_iter().map(|term| term.text);
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_text_is_about_the_words_that_hold_no_sentence_together() {
        assert_eq!(shown("Will it rain in Oslo on the 12th?"), "will rain oslo 12th");
        assert_eq!(shown("Regnet es in Köln, und in Bonn?"), "regnet köln bonn");
        assert_eq!(shown("1003 rain RAIN Rain"), "rain");
        assert_eq!(shown("週末の大阪、傘いる？"), "週末 大阪 傘");
        assert_eq!(shown("レポートを書いて"), "レポート 書");
        assert_eq!(shown("🦀 ?!"), "");
    }

    #[test]
    fn names_and_times_say_little() {
        let weight = |text: &str| terms(text).pop().map(|term| term.weight);
        assert_eq!(weight("the weather"), Some(1.0));
        for passing in ["weather in Oslo", "weather tomorrow"] {
            assert!(weight(passing).is_some_and(|weight| weight < 0.5), "{passing}");
        }
        assert_eq!(weight("Wie wird das Wetter"), Some(1.0));
        assert_eq!(weight("100 USD"), Some(1.0));
        assert_eq!(weight("the"), None);
    }

    #[test]
    fn a_texts_language_is_that_of_its_function_words() {
        let english = language("Where is my order?");
        assert_ne!(english, 0);
        assert_eq!(language("how do I get there"), english);
        for other in [
            "Wo ist meine Bestellung?",
            "¿Dónde está mi pedido?",
            "Где мой заказ?",
            "傘いる？",
        ] {
            assert_eq!(language(other) & english, 0, "{other}");
        }
        assert_eq!(language("Oslo"), 0);
    }

    #[test]
    fn a_long_text_is_read_in_part() {
        assert_eq!(shown(&format!("{} rain", "a ".repeat(READ_MAX))), "");
    }
}
