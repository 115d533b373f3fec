//! Questions in other languages, word for word in English, so that one reader reads them all. What is not known stays as it
//! is written: names of places do.

use std::collections::HashSet;
use std::sync::LazyLock;

use pure_rust_locales::{Locale, locale_match};

/// Words of a language and what they are in English, both in small letters; an English side may be empty.
pub type Glossary = &'static [(&'static str, &'static str)];

/// A language that questions are asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// German.
    German,
    /// Spanish.
    Spanish,
    /// French.
    French,
    /// Norwegian.
    Norwegian,
    /// Swedish.
    Swedish,
    /// Dutch.
    Dutch,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Japanese.
    Japanese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::German,
        Self::Spanish,
        Self::French,
        Self::Norwegian,
        Self::Swedish,
        Self::Dutch,
        Self::Italian,
        Self::Portuguese,
        Self::Japanese,
    ];

    /// What holds its questions together, and its words for days that no table of a C library has.
    fn common(self) -> Glossary {
        match self {
            Self::German => GERMAN,
            Self::Spanish => SPANISH,
            Self::French => FRENCH,
            Self::Norwegian => NORWEGIAN,
            Self::Swedish => SWEDISH,
            Self::Dutch => DUTCH,
            Self::Italian => ITALIAN,
            Self::Portuguese => PORTUGUESE,
            Self::Japanese => JAPANESE,
        }
    }

    fn locale(self) -> Locale {
        match self {
            Self::German => Locale::de_DE,
            Self::Spanish => Locale::es_ES,
            Self::French => Locale::fr_FR,
            Self::Norwegian => Locale::nb_NO,
            Self::Swedish => Locale::sv_SE,
            Self::Dutch => Locale::nl_NL,
            Self::Italian => Locale::it_IT,
            Self::Portuguese => Locale::pt_PT,
            Self::Japanese => Locale::ja_JP,
        }
    }

    /// All that is known of it: words of one or more words, with their English.
    fn known(self, topic: Glossary) -> Vec<(Vec<String>, &'static str)> {
        let locale = self.locale();
        let days: &[&'static str] = locale_match!(locale => LC_TIME::DAY);
        let months: &[&'static str] = locale_match!(locale => LC_TIME::MON);
        // Japanese months are numbers.
        let by_name = months.iter().filter(|_| self != Self::Japanese);
        let named = days.iter().zip(DAYS).chain(by_name.zip(MONTHS));
        let named = named.map(|(theirs, english)| (*theirs, english));
        let all = self.common().iter().chain(topic).copied().chain(named);
        let split = |text: &str| text.split(' ').map(str::to_lowercase).collect();
        let mut known: Vec<(Vec<String>, &'static str)> =
            all.map(|(theirs, english)| (split(theirs), english)).collect();
        // "13 de julio"
        if matches!(self, Self::Spanish | Self::Portuguese) {
            known.extend(
                months
                    .iter()
                    .zip(MONTHS)
                    .map(|(theirs, english)| (split(&format!("de {theirs}")), english)),
            );
        }
        known
    }
}

/// Whether a word, in small letters, is the name of a day or a month in a language that people write to us.
#[must_use]
pub fn is_day_name(lower: &str) -> bool {
    const LOCALES: [Locale; 12] = [
        Locale::de_DE,
        Locale::es_ES,
        Locale::fr_FR,
        Locale::it_IT,
        Locale::nl_NL,
        Locale::nb_NO,
        Locale::sv_SE,
        Locale::da_DK,
        Locale::pt_PT,
        Locale::pl_PL,
        Locale::ru_RU,
        Locale::ja_JP,
    ];
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let named = LOCALES.iter().flat_map(|locale| {
            let days: &[&str] = locale_match!(locale => LC_TIME::DAY);
            let months: &[&str] = locale_match!(locale => LC_TIME::MON);
            days.iter().chain(months)
        });
        // Japanese is written without blanks, so that its words for when stand between others in any sentence.
        let when = JAPANESE.iter().filter(|(_, english)| {
            let mut words = english.split(' ');
            words.any(crate::phrases::is_time)
        });
        let all = named.chain(when.map(|(theirs, _)| theirs));
        all.map(|name| name.to_lowercase()).collect()
    });
    NAMES.contains(lower)
}

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From here on so many known words make a language.
const LEAST: usize = 2;

/// A text in English words where it is written in one of the languages; `None` where it is in none of them, which English is
/// told by: `is_english` knows a word of it. `topic` has a language's words for what the question is about.
#[must_use]
pub fn in_english(
    text: &str,
    topic: impl Fn(Language) -> Glossary,
    is_english: impl Fn(&str) -> bool,
) -> Option<String> {
    if text.chars().any(is_kana_or_ideograph) {
        return Some(japanese(
            text,
            &Language::Japanese.known(topic(Language::Japanese)),
        ));
    }
    let words = pieces(text);
    // In a language without words for the topic nothing would be understood but when and where.
    let spoken = Language::ALL
        .into_iter()
        .filter(|language| *language != Language::Japanese && !topic(*language).is_empty());
    let read = spoken.map(|language| {
        let known = language.known(topic(language));
        glossed(text, &words, (&known, &is_english), language == Language::German)
    });
    let best = read.max_by_key(|read| (read.own, read.count));
    best.filter(|read| read.count >= LEAST && read.own > read.english)
        .map(|read| read.text)
}

/// A word of a text, with where it stands.
struct Piece {
    lower: String,
    start: usize,
    end: usize,
}

/// The words; what a hyphen or an apostrophe joins is several.
fn pieces(text: &str) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let mut open: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (open, c.is_alphanumeric() || c == '°') {
            (None, true) => open = Some(at),
            (Some(start), false) => {
                let lower = text.get(start..at).unwrap_or_default().to_lowercase();
                out.push(Piece {
                    lower,
                    start,
                    end: at,
                });
                open = None;
            }
            _ => {}
        }
    }
    out
}

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
    words: &[Piece],
    (known, is_english): (&[(Vec<String>, &'static str)], &impl Fn(&str) -> bool),
    nouns_have_capitals: bool,
) -> Glossed {
    let (mut out, mut end, mut at) = (String::new(), 0, 0);
    let (mut count, mut own, mut others) = (0, 0, 0);
    // A noun is a place behind a word such as "in", or behind what the question is about.
    let mut leads = true;
    while let Some(word) = words.get(at) {
        let fits = |known: &&(Vec<String>, &'static str)| {
            let said = words.get(at..at + known.0.len());
            said.is_some_and(|said| said.iter().map(|word| &word.lower).eq(known.0.iter()))
        };
        let longest = known.iter().filter(fits).max_by_key(|known| known.0.len());
        out.push_str(text.get(end..word.start).unwrap_or_default());
        let last = longest.map_or(at, |(theirs, _)| at + theirs.len() - 1);
        let stop = words.get(last).map_or(word.end, |last| last.end);
        let said = text.get(word.start..stop).unwrap_or_default();
        match longest {
            Some((theirs, english)) => {
                out.push_str(english);
                count += theirs.len();
                own += if theirs.join(" ") == english.to_lowercase() {
                    0
                } else {
                    theirs.len()
                };
                leads = LEADING.contains(english);
            }
            None if nouns_have_capitals && !leads => out.push_str(&said.to_lowercase()),
            None => {
                out.push_str(said);
                // "Bad Homburg"
                leads = true;
            }
        }
        others += usize::from(longest.is_none() && is_english(&word.lower));
        (end, at) = (stop, last + 1);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Glossed {
        text: out,
        count,
        own,
        english: others,
    }
}

/// English words behind which a noun may name a place.
const LEADING: [&str; 9] = ["in", "for", "at", "near", "from", "to", "and", "or", "weather"];

/// Japanese has no blanks: what is known of it is taken out from left to right, the longest first; signs that mean nothing to
/// us by themselves part what is left, which names places.
fn japanese(text: &str, known: &[(Vec<String>, &'static str)]) -> String {
    let mut out = String::new();
    let (mut rest, mut in_name) = (text, false);
    while let Some(c) = rest.chars().next() {
        let fits = |known: &&(Vec<String>, &'static str)| {
            known
                .0
                .first()
                .is_some_and(|theirs| rest.starts_with(theirs.as_str()))
        };
        let longest = known
            .iter()
            .filter(fits)
            .max_by_key(|known| known.0.first().map_or(0, String::len));
        if let Some((theirs, english)) = longest {
            out.push_str(&format!(" {english} "));
            rest = rest
                .get(theirs.first().map_or(1, String::len)..)
                .unwrap_or_default();
            in_name = false;
            continue;
        }
        let named = is_kana_or_ideograph(c) && !is_hiragana(c);
        if named && !in_name {
            out.push_str(" in ");
        }
        match is_hiragana(c) {
            true => out.push(' '),
            false => out.push(c),
        }
        in_name = named;
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

fn is_kana_or_ideograph(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '々' | '\u{3400}'..='\u{9fff}')
}

#[rustfmt::skip]
const GERMAN: Glossary = &[
    ("heute", "today"), ("heute abend", "tonight"), ("heute nacht", "tonight"), ("morgen", "tomorrow"),
    ("morgen früh", "tomorrow morning"), ("morgen abend", "tomorrow evening"), ("übermorgen", "day after tomorrow"),
    ("gestern", "yesterday"), ("wochenende", "weekend"), ("woche", "week"), ("nächste", "next"), ("nächsten", "next"),
    ("nächstes", "next"), ("diese", "this"), ("dieses", "this"), ("kommende", "next"), ("tage", "days"), ("jetzt", "now"),
    ("wie", "how"), ("was", "what"), ("wann", "when"), ("ob", "whether"), ("wird", "will"), ("werden", "be"), ("es", "it"),
    ("als", "than"), ("ist", "is"), ("das", "the"), ("der", "the"), ("die", "the"), ("dem", "the"), ("den", "the"), ("in", "in"), ("im", "in"),
    ("bei", "near"), ("nach", "to"), ("bis", "to"), ("von", "from"), ("für", "for"), ("am", "on"), ("an", "on"),
    ("und", "and"), ("oder", "or"), ("ich", "i"), ("brauche", "need"), ("brauch", "need"), ("ein", "a"), ("eine", "a"), ("einen", "a"),
    ("viel", "much"), ("bitte", "please"), ("mir", "me"), ("sag", "tell"), ("zeig", "show"), ("gibt", "is"), ("kommt", "is"),
    ("bleibt", "stay"), ("soll", "should"), ("mit", "with"), ("hallo", "hello"), ("um", "at"), ("uhr", "o'clock"),
];

#[rustfmt::skip]
const SPANISH: Glossary = &[
    ("hoy", "today"), ("esta noche", "tonight"), ("mañana", "tomorrow"), ("mañana por la mañana", "tomorrow morning"),
    ("mañana por la tarde", "tomorrow afternoon"), ("por la mañana", "morning"), ("por la tarde", "afternoon"),
    ("pasado mañana", "day after tomorrow"), ("ayer", "yesterday"), ("fin de semana", "weekend"), ("semana", "week"),
    ("próxima", "next"), ("próximo", "next"), ("que viene", ""), ("esta", "this"), ("este", "this"), ("días", "days"), ("ahora", "now"),
    ("qué", "what"), ("que", "what"), ("cómo", "how"), ("cuándo", "when"), ("cuántos", "how many"), ("cuánto", "how much"),
    ("va a", "will it"), ("hará", "will be"), ("hace", "is it"), ("habrá", "will there be"), ("hay", "is there"), ("es", "is"), ("en", "in"),
    ("para", "for"), ("hasta", "to"), ("desde", "from"), ("y", "and"), ("o", "or"), ("necesito", "do i need"), ("un", "a"), ("una", "a"),
    ("el", "the"), ("por favor", "please"), ("hola", "hello"), ("dime", "tell"), ("estará", "will be"), ("está", "is"),
    ("del", "from"), ("al", "to"), ("a las", "at"), ("a la una", "at 1"), ("de la tarde", "pm"), ("de la noche", "pm"), ("de la mañana", "am"),
];

#[rustfmt::skip]
const FRENCH: Glossary = &[
    ("aujourd hui", "today"), ("ce soir", "tonight"), ("cette nuit", "tonight"), ("demain", "tomorrow"),
    ("demain matin", "tomorrow morning"), ("demain soir", "tomorrow evening"), ("après demain", "day after tomorrow"),
    ("hier", "yesterday"), ("week end", "weekend"), ("weekend", "weekend"), ("semaine", "week"), ("prochaine", "next"), ("prochain", "next"),
    ("cette", "this"), ("ce", "this"), ("jours", "days"), ("maintenant", "now"), ("est ce qu", ""), ("est ce que", ""),
    ("quel", "what"), ("quelle", "what"), ("comment", "how"), ("quand", "when"), ("combien", "how many"), ("il", "it"),
    ("va", "will"), ("va t il", "will it"), ("fera t il", "will it be"), ("fait il", "is it"), ("fera", "will be"), ("fait", "is"), ("est", "is"),
    ("à", "in"), ("au", "in"), ("dans", "in"), ("pour", "for"), ("jusqu", "to"), ("et", "and"), ("ou", "or"), ("un", "a"), ("une", "a"),
    ("du", "the"), ("de la", "the"), ("de", "from"), ("y aura t il", "will there be"), ("faut il", "do i need"), ("ai je besoin d", "do i need"),
    ("s il te plaît", "please"), ("s il vous plaît", "please"), ("bonjour", "hello"), ("heures", "o'clock"),
];

#[rustfmt::skip]
const NORWEGIAN: Glossary = &[
    ("i dag", "today"), ("i kveld", "tonight"), ("i natt", "tonight"), ("i morgen", "tomorrow"), ("i morgen tidlig", "tomorrow morning"),
    ("i morgen kveld", "tomorrow evening"), ("i overmorgen", "day after tomorrow"), ("overmorgen", "day after tomorrow"),
    ("i går", "yesterday"), ("helgen", "weekend"), ("helga", "weekend"), ("i helgen", "weekend"), ("i helga", "weekend"), ("uke", "week"), ("uka", "week"), ("uken", "week"),
    ("neste", "next"), ("denne", "this"), ("dager", "days"), ("nå", "now"), ("hvordan", "how"), ("hva", "what"), ("når", "when"),
    ("hvor", "how"), ("mange", "many"), ("blir", "will be"), ("det", "it"), ("er", "is"), ("skal", "will"), ("vil", "will"), ("kommer", "will"), ("til å", ""),
    ("i", "in"), ("ved", "near"), ("på", "on"), ("for", "for"), ("til", "to"), ("fra", "from"), ("og", "and"), ("eller", "or"), ("jeg", "i"),
    ("trenger", "need"), ("trenger jeg", "do i need"), ("en", "a"), ("et", "a"), ("vær så snill", "please"), ("takk", "thanks"), ("hei", "hello"), ("klokka", "at"), ("klokken", "at"),
];

#[rustfmt::skip]
const SWEDISH: Glossary = &[
    ("idag", "today"), ("i dag", "today"), ("ikväll", "tonight"), ("i kväll", "tonight"), ("i natt", "tonight"), ("imorgon", "tomorrow"), ("i morgon", "tomorrow"),
    ("övermorgon", "day after tomorrow"), ("i övermorgon", "day after tomorrow"), ("igår", "yesterday"), ("helgen", "weekend"), ("i helgen", "weekend"),
    ("vecka", "week"), ("nästa", "next"), ("dagar", "days"), ("nu", "now"), ("hur", "how"), ("vad", "what"), ("när", "when"), ("blir", "will be"), ("det", "it"),
    ("är", "is"), ("ska", "will"), ("kommer", "will"), ("att", ""), ("i", "in"), ("på", "on"), ("för", "for"), ("till", "to"), ("från", "from"), ("och", "and"), ("eller", "or"),
    ("än", "than"), ("jag", "i"), ("behöver", "need"), ("behöver jag", "do i need"), ("en", "a"), ("ett", "a"), ("tack", "thanks"), ("hej", "hello"), ("klockan", "at"),
];

#[rustfmt::skip]
const DUTCH: Glossary = &[
    ("vandaag", "today"), ("vanavond", "tonight"), ("vannacht", "tonight"), ("morgen", "tomorrow"), ("morgenochtend", "tomorrow morning"), ("morgenavond", "tomorrow evening"),
    ("overmorgen", "day after tomorrow"), ("gisteren", "yesterday"), ("weekend", "weekend"), ("week", "week"), ("volgende", "next"), ("komende", "next"), ("deze", "this"),
    ("dit", "this"), ("dagen", "days"), ("nu", "now"), ("hoe", "how"), ("wat", "what"), ("wanneer", "when"), ("wordt", "will"), ("worden", "be"), ("gaat", "will"), ("is", "is"),
    ("het", "it"), ("de", "the"), ("in", "in"), ("voor", "for"), ("bij", "near"), ("naar", "to"), ("tot", "to"), ("van", "from"), ("op", "on"), ("en", "and"),
    ("dan", "than"), ("ik", "i"), ("heb ik", "do i"), ("nodig", "need"), ("een", "a"), ("graag", "please"), ("alsjeblieft", "please"), ("hallo", "hello"), ("hoi", "hello"),
    ("hoeveel", "how many"), ("om", "at"), ("uur", "o'clock"),
];

#[rustfmt::skip]
const ITALIAN: Glossary = &[
    ("oggi", "today"), ("stasera", "tonight"), ("stanotte", "tonight"), ("domani", "tomorrow"), ("domani mattina", "tomorrow morning"), ("domani sera", "tomorrow evening"),
    ("dopodomani", "day after tomorrow"), ("ieri", "yesterday"), ("fine settimana", "weekend"), ("weekend", "weekend"), ("settimana", "week"), ("prossima", "next"),
    ("prossimo", "next"), ("questa", "this"), ("questo", "this"), ("giorni", "days"), ("ora", "now"), ("adesso", "now"), ("che", "what"), ("come", "how"), ("quando", "when"),
    ("quanti", "how many"), ("fa", "is"), ("farà", "will be"), ("sarà", "will be"), ("ci sarà", "will there be"), ("c è", "is there"), ("è", "is"), ("a", "in"), ("ad", "in"),
    ("in", "in"), ("per", "for"), ("fino", "to"), ("da", "from"), ("dal", "from"), ("al", "to"), ("di", "than"), ("e", "and"), ("o", "or"), ("ho bisogno", "do i need"),
    ("mi serve", "do i need"), ("un", "a"), ("una", "a"), ("il", "the"), ("la", "the"), ("del", "of"), ("per favore", "please"), ("ciao", "hello"), ("alle", "at"),
];

#[rustfmt::skip]
const PORTUGUESE: Glossary = &[
    ("hoje", "today"), ("esta noite", "tonight"), ("hoje à noite", "tonight"), ("amanhã", "tomorrow"), ("amanhã de manhã", "tomorrow morning"), ("depois de amanhã", "day after tomorrow"),
    ("ontem", "yesterday"), ("fim de semana", "weekend"), ("semana", "week"), ("próxima", "next"), ("próximo", "next"), ("esta", "this"), ("este", "this"), ("neste", "this"),
    ("dias", "days"), ("agora", "now"), ("que", "what"), ("qual", "what"), ("como", "how"), ("quando", "when"), ("quantos", "how many"), ("vai", "will it"), ("fazer", "be"),
    ("estar", "be"), ("fará", "will be"), ("faz", "is"), ("está", "is"), ("é", "is"), ("haverá", "will there be"), ("há", "is there"), ("em", "in"), ("no", "in"), ("na", "in"),
    ("para", "for"), ("até", "to"), ("desde", "from"), ("do", "from"), ("e", "and"), ("ou", "or"), ("do que", "than"), ("preciso de", "do i need"), ("um", "a"), ("uma", "a"),
    ("o", "the"), ("a", "the"), ("por favor", "please"), ("olá", "hello"), ("às", "at"), ("sábado", "Saturday"), ("segunda", "Monday"), ("terça", "Tuesday"), ("quarta", "Wednesday"),
    ("quinta", "Thursday"), ("sexta", "Friday"), ("rio de janeiro", "Rio de Janeiro"),
];

#[rustfmt::skip]
const JAPANESE: Glossary = &[
    ("今日", "today"), ("きょう", "today"), ("今夜", "tonight"), ("今晩", "tonight"), ("明日", "tomorrow"), ("あした", "tomorrow"), ("あす", "tomorrow"),
    ("明後日", "day after tomorrow"), ("あさって", "day after tomorrow"), ("昨日", "yesterday"), ("週末", "weekend"), ("今週", "this week"),
    ("来週", "next week"), ("今", "now"), ("教えてください", "tell"), ("教えて", "tell"), ("と", " and "), ("、", " , "), ("？", " ? "), ("。", " . "),
    ("何度", "how many degrees"), ("月曜", "Monday"), ("火曜", "Tuesday"), ("水曜", "Wednesday"), ("木曜", "Thursday"), ("金曜", "Friday"),
    ("土曜", "Saturday"), ("日曜", "Sunday"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(language: Language) -> Glossary {
        match language {
            Language::German => &[("wetter", "weather"), ("regen", "rain")],
            Language::French => &[("pleuvoir", "rain")],
            Language::Japanese => &[("天気", "weather")],
            Language::Dutch => &[("regenen", "rain")],
            Language::Italian => &[("tempo", "weather"), ("piove", "rain")],
            Language::Portuguese => &[("chover", "rain")],
            Language::Swedish => &[("regn", "rain")],
            Language::Spanish | Language::Norwegian => &[("sol", "sun")],
        }
    }

    fn read(text: &str) -> Option<String> {
        let read = in_english(text, topic, crate::places::is_common);
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
    fn days_and_months_have_names_in_many_languages() {
        for name in [
            "freitag",
            "viernes",
            "vendredi",
            "fredag",
            "piątek",
            "mai",
            "金曜日",
            "明日",
            "週末",
        ] {
            assert!(is_day_name(name), "{name}");
        }
        assert!(!is_day_name("regen"));
    }
}
