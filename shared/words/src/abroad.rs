//! Questions in other languages, word for word in English, so that one reader reads them all. What is not known stays as it
//! is written: names of places do.

use std::sync::LazyLock;

use pure_rust_locales::en_US::LC_TIME::{DAY, MON};
use pure_rust_locales::{Locale, locale_match};

use crate::phrases::{Word, words};

/// What other languages say of days, and what holds it together.
static WHEN: LazyLock<Glossary> = LazyLock::new(|| Glossary::of(""));

/// A text of another language in English, as far as it says when and where; `None` where it is English, or none that is read.
#[must_use]
pub fn when_in_english(text: &str) -> Option<String> {
    WHEN.in_english(text, crate::places::is_common)
}

/// What holds questions together, and words for days that no table of a C library has.
const COMMON: &str = include_str!("abroad.txt");

/// The languages that questions are asked in, with where their names of days and months are.
const LANGUAGES: [(&str, Locale); 9] = [
    ("de", Locale::de_DE),
    ("es", Locale::es_ES),
    ("fr", Locale::fr_FR),
    ("nb", Locale::nb_NO),
    ("sv", Locale::sv_SE),
    ("nl", Locale::nl_NL),
    ("it", Locale::it_IT),
    ("pt", Locale::pt_PT),
    (JAPANESE, Locale::ja_JP),
];
const JAPANESE: &str = "ja";

/// A language's words, each of one or more, in small letters, and what they are in English.
type Known = Vec<(Vec<String>, &'static str)>;

/// What words of other languages are in English.
#[derive(Debug)]
pub struct Glossary(Vec<(&'static str, Known)>);

impl Glossary {
    /// Words for a topic, beside those that hold every question together. The table has a line for each English word, or for `-`
    /// where there is none: `today: de heute; sv idag, i dag`. A language that it has no word of is not read, as nothing would be
    /// understood but when and where; with an empty table, when and where are all that is asked.
    #[must_use]
    pub fn of(topic: &'static str) -> Self {
        let has_words = |code| topic.is_empty() || code == JAPANESE || entries(topic, code).next().is_some();
        let spoken = LANGUAGES.into_iter().filter(|(code, _)| has_words(*code));
        Self(
            spoken
                .map(|(code, locale)| (code, known(code, locale, topic)))
                .collect(),
        )
    }

    /// A text in English words where it is written in one of the languages; `None` where it is in none of them, which English is
    /// told by: `is_english` knows a word of it.
    #[must_use]
    pub fn in_english(&self, text: &str, is_english: impl Fn(&str) -> bool) -> Option<String> {
        let is_japanese = |code: &str| code == JAPANESE;
        if text.chars().any(is_kana_or_ideograph) {
            let (_, known) = self.0.iter().find(|(code, _)| is_japanese(code))?;
            return Some(japanese(text, known));
        }
        let words: Vec<(Word<'_>, String)> =
            words(text).into_iter().map(|word| (word, word.lower())).collect();
        let spaced = self.0.iter().filter(|(code, _)| !is_japanese(code));
        let read = spaced.map(|(code, known)| glossed(text, &words, known, &is_english, *code == "de"));
        let best = read.max_by_key(|read| (read.own, read.count));
        best.filter(|read| read.count >= LEAST && read.own > read.english)
            .map(|read| read.text)
    }
}

/// All that is known of a language.
fn known(code: &str, locale: Locale, topic: &'static str) -> Known {
    let days: &[&str] = locale_match!(locale => LC_TIME::DAY);
    let months: &[&str] = match code {
        // Months are numbers there.
        JAPANESE => &[],
        _ => locale_match!(locale => LC_TIME::MON),
    };
    let names = days.iter().zip(DAY).chain(months.iter().zip(MON));
    let names = names.map(|(theirs, english)| ((*theirs).to_owned(), *english));
    // "13 de julio"
    let of_months = months.iter().zip(MON).filter(|_| matches!(code, "es" | "pt"));
    let of_months = of_months.map(|(theirs, english)| (format!("de {theirs}"), *english));
    let listed = entries(COMMON, code).chain(entries(topic, code));
    let listed = listed.map(|(theirs, english)| (theirs.to_owned(), english));
    let split = |theirs: String| theirs.split(' ').map(str::to_lowercase).collect();
    let all = listed.chain(names).chain(of_months);
    all.map(|(theirs, english)| (split(theirs), english)).collect()
}

/// A language's words in a table, each with its English.
fn entries(table: &'static str, code: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter_map(|line| line.split_once(": "));
    lines.flat_map(move |(english, abroad)| {
        let mut languages = abroad.split("; ");
        let theirs = languages.find_map(|words| words.strip_prefix(code)?.strip_prefix(' '));
        let english = if english == "-" { "" } else { english };
        let words = theirs.into_iter().flat_map(|theirs| theirs.split(", "));
        words.map(move |word| (word, english))
    })
}

/// From here on so many known words make a language.
const LEAST: usize = 2;

/// A text as one language reads it.
struct Glossed {
    /// With what is known of it in English.
    text: String,
    /// How many of its words are known.
    count: usize,
    /// How many of them are not the same in English.
    own: usize,
    /// How many of its words are not known and English.
    english: usize,
}

fn glossed(
    text: &str,
    words: &[(Word<'_>, String)],
    known: &Known,
    is_english: &impl Fn(&str) -> bool,
    nouns_have_capitals: bool,
) -> Glossed {
    let (mut out, mut end, mut at) = (String::new(), 0, 0);
    let (mut count, mut own, mut others) = (0, 0, 0);
    // A noun is a place behind a word such as "in", or behind what the question is about.
    let mut leads = true;
    while let Some((word, lower)) = words.get(at) {
        let fits = |known: &&(Vec<String>, &'static str)| {
            let said = words.get(at..at + known.0.len());
            said.is_some_and(|said| said.iter().map(|(_, lower)| lower).eq(known.0.iter()))
        };
        let longest = known.iter().filter(fits).max_by_key(|known| known.0.len());
        out.push_str(text.get(end..word.start).unwrap_or_default());
        let last = longest.map_or(at, |(theirs, _)| at + theirs.len() - 1);
        let stop = words.get(last).map_or(word.end, |(last, _)| last.end);
        let said = text.get(word.start..stop).unwrap_or_default();
        match longest {
            Some((theirs, english)) => {
                out.push_str(english);
                count += theirs.len();
                let is_own = theirs.join(" ") != english.to_lowercase();
                own += if is_own { theirs.len() } else { 0 };
                leads = LEADING.contains(english);
            }
            None if nouns_have_capitals && !leads => out.push_str(&said.to_lowercase()),
            None => {
                out.push_str(said);
                // "Bad Homburg"
                leads = true;
            }
        }
        others += usize::from(longest.is_none() && is_english(lower));
        (end, at) = (stop, last + 1);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Glossed {
        text: dated(&out),
        count,
        own,
        english: others,
    }
}

/// Days of a month as English has them: a number with a point is an ordinal ("9. bis 11. Januar"), and what stands for "in" between two
/// of them leads to the second ("du 9 au 11 janvier").
fn dated(text: &str) -> String {
    let said = words(text);
    let is_day = |at: usize| {
        let number = said.get(at).filter(|word| word.text.len() <= 2);
        number.is_some_and(|word| word.text.parse().is_ok_and(|day| (1..=31).contains(&day)))
    };
    let is_month = |at: usize| said.get(at).is_some_and(|word| MON.contains(&word.text));
    let gap = |at: usize| {
        let (word, next) = (said.get(at)?, said.get(at + 1)?);
        text.get(word.end..next.start)
    };
    let mut out = String::new();
    let mut end = 0;
    for (at, word) in said.iter().enumerate() {
        let leads = word.text == "in" && at > 0 && is_day(at - 1) && is_day(at + 1) && is_month(at + 2);
        out.push_str(text.get(end..word.start).unwrap_or_default());
        out.push_str(if leads { "to" } else { word.text });
        let goes_on = is_month(at + 1) || said.get(at + 1).is_some_and(|next| next.text == "to");
        let has_point = is_day(at) && goes_on && gap(at) == Some(". ");
        end = word.end + usize::from(has_point);
        // "all'11"
        if out.ends_with("to") && is_day(at + 1) && matches!(gap(at), Some("'" | "’")) {
            out.push(' ');
            end = said.get(at + 1).map_or(end, |next| next.start);
        }
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

/// English words behind which a noun may name a place.
const LEADING: [&str; 9] = ["in", "for", "at", "near", "from", "to", "and", "or", "weather"];

/// Japanese has no blanks: what is known of it is taken out from left to right, the longest first; signs that mean nothing to
/// us by themselves part what is left, which names places.
fn japanese(text: &str, known: &Known) -> String {
    let mut out = String::new();
    let (mut rest, mut in_name) = (text, false);
    while let Some(c) = rest.chars().next() {
        let known = known
            .iter()
            .filter_map(|(theirs, english)| Some((theirs.first()?, english)));
        let fits = known.filter(|(theirs, _)| !theirs.is_empty() && rest.starts_with(theirs.as_str()));
        let taken = if let Some((theirs, english)) = fits.max_by_key(|(theirs, _)| theirs.len()) {
            out.push_str(&format!(" {english} "));
            in_name = false;
            theirs.len()
        } else {
            let named = is_kana_or_ideograph(c) && !is_hiragana(c);
            if named && !in_name {
                out.push_str(" in ");
            }
            out.push(if is_hiragana(c) { ' ' } else { c });
            in_name = named;
            c.len_utf8()
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

fn is_kana_or_ideograph(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '々' | '\u{3400}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: &str = "\
        weather: de wetter; it tempo; ja 天気\n\
        rain: de regen; fr pleuvoir; sv regn; nl regenen; it piove; pt chover\n\
        sun: es sol; nb sol\n";

    fn read(text: &str) -> Option<String> {
        let read = Glossary::of(TOPIC).in_english(text, crate::places::is_common);
        read.map(|read| read.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_question_of_another_language_is_read_word_for_word() {
        for (text, english) in [
            (
                "Wie wird das Wetter morgen in Hamburg?",
                "how will the weather tomorrow in Hamburg?",
            ),
            (
                "Regen am Freitag in Bad Homburg für die Wanderung?",
                "rain on Friday in Bad Homburg for the wanderung?",
            ),
            (
                "Est-ce qu'il va pleuvoir à Besançon demain ?",
                "'it will rain in Besançon tomorrow ?",
            ),
            (
                "Blir det varmt i Bergen i morgen?",
                "will be it varmt in Bergen tomorrow?",
            ),
            (
                "¿Qué hará el lunes en Sevilla?",
                "¿what will be the Monday in Sevilla?",
            ),
            (
                "¿Lloverá en Sevilla del 10 al 13 de julio?",
                "¿Lloverá in Sevilla from 10 to 13 July?",
            ),
            (
                "¿qué hará mañana en Sevilla a las 5 de la tarde?",
                "¿what will be tomorrow in Sevilla at 5 pm?",
            ),
            (
                "Was wird morgen um 17 Uhr in Ulm?",
                "what will tomorrow at 17 o'clock in Ulm?",
            ),
            (
                "Gaat het morgen regenen in Utrecht?",
                "will it tomorrow rain in Utrecht?",
            ),
            (
                "Che tempo fa domani a Napoli?",
                "what weather is tomorrow in Napoli?",
            ),
            (
                "Regen in Ulm vom 9. bis zum 11. Januar?",
                "rain in Ulm from 9 to 11 January?",
            ),
            ("Regen am 9. Januar in Ulm?", "rain on 9 January in Ulm?"),
            (
                "Va-t-il pleuvoir à Lyon du 9 au 11 janvier ?",
                "will it rain in Lyon the 9 to 11 January ?",
            ),
            (
                "Piove a Roma dal 9 all'11 gennaio?",
                "rain in Roma from 9 to 11 January?",
            ),
            ("Vai chover amanhã no Porto?", "will it rain tomorrow in Porto?"),
            (
                "blir det regn i Malmö imorgon?",
                "will be it rain in Malmö tomorrow?",
            ),
            ("明日の東京の天気は？", "tomorrow in 東京 weather ?"),
        ] {
            assert_eq!(read(text).as_deref(), Some(english), "{text}");
        }
    }

    #[test]
    fn english_stays_as_it_is() {
        for text in [
            "Will it rain in Oslo tomorrow?",
            "the weather in San Sebastian and in La Coruña",
            "weather in Den Haag on Sunday",
            "weather in Wien",
            "Oslo tomorrow",
            "is it warm in Die, for the night",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn without_a_topic_all_languages_are_read_and_unknown_signs_stay() {
        let read = |text| Glossary::of("").in_english(text, crate::places::is_common);
        assert_eq!(read("Freitag bis Sonntag").as_deref(), Some("Friday to Sunday"));
        assert_eq!(read("わからない東京").as_deref(), Some("      in 東京"));
    }
}
