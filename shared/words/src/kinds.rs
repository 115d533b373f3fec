//! What kinds of things a text has, where standards or signs tell: currencies, languages, amounts of money, code. Who speaks of
//! "currencies" is meant by "zloty", and who of "languages" by "Icelandic".

use std::collections::HashSet;
use std::sync::LazyLock;

use iso_currency::Currency;
use pure_rust_locales::{Locale, locale_match};

use crate::phrases::{Word, words};

/// A kind of things, by the word that people have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A currency: its code, or what it is called.
    Currency,
    /// A language, by its English name or its own.
    Language,
    /// So much money.
    Amount,
    /// Something written for a machine.
    Code,
}

impl Kind {
    /// Its word in English.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Currency => "currency",
            Self::Language => "language",
            Self::Amount => "amount",
            Self::Code => "code",
        }
    }
}

/// The shortest name of a currency, in bytes, that stands for it alone.
const LONG_NAME: usize = 5;

/// The kinds of things that a text has.
#[must_use]
pub fn kinds(text: &str) -> Vec<Kind> {
    let words = words(text);
    let is_number = |word: &Word<'_>| word.text.bytes().all(|c| c.is_ascii_digit());
    let behind_number = |pair: &[Word<'_>]| matches!(pair, [one, other] if is_number(one) && is_named(other));
    let mut found = Vec::new();
    // "Who won?": short names alone are too often words of their own.
    let named: Vec<&Word<'_>> = words.iter().filter(|word| is_named(word)).collect();
    let is_surely = |word: &&Word<'_>| is_code(word.text) || word.text.len() >= LONG_NAME;
    if named.len() > 1 || named.iter().any(is_surely) || words.windows(2).any(behind_number) {
        found.push(Kind::Currency);
    }
    if words.iter().any(|word| LANGUAGES.contains(&word.lower())) {
        found.push(Kind::Language);
    }
    if words.windows(2).any(behind_number) || has_price(text) {
        found.push(Kind::Amount);
    }
    if has_code(text) {
        found.push(Kind::Code);
    }
    found
}

/// Whether a text has a number behind or before a sign of a currency, or one with two digits behind its point: "$18", "210.50".
fn has_price(text: &str) -> bool {
    let signs: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| signs.get(at).is_some_and(char::is_ascii_digit);
    let cents = |at: usize| {
        let point = matches!(signs.get(at), Some('.' | ','));
        let ends =
            !is_digit(at + 3) && !matches!((signs.get(at + 3), is_digit(at + 4)), (Some('.' | ','), true));
        point && at > 0 && is_digit(at - 1) && is_digit(at + 1) && is_digit(at + 2) && ends
    };
    let money = |at: usize| {
        let sign = matches!(signs.get(at), Some('$' | '€' | '£' | '¥' | '₹' | '₽' | '₩' | '₺'));
        sign && (is_digit(at + 1) || at > 0 && is_digit(at - 1))
    };
    (0..signs.len()).any(|at| cents(at) || money(at))
}

/// Whether a text has signs that only code has: a call, `==`, `=>`, `::`, `();`.
fn has_code(text: &str) -> bool {
    let has = ["==", "!=", "=>", "->", "::", "();", "&&", "||", "</", "/>", "){"];
    let called = text.match_indices('(').any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let inside = text.get(at + 1..).and_then(|rest| rest.split(')').next());
        // "the day(s)"
        let ending = inside.is_none_or(|inside| matches!(inside, "s" | "es" | "n" | "e"));
        before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') && !ending
    });
    called || has.iter().any(|sign| text.contains(sign))
}

/// Whether a word beside a number names a currency: a code, its name, or what people call it.
#[must_use]
pub fn is_currency(word: &str) -> bool {
    const CALLED: [&str; 14] = [
        "kroner", "kronor", "kr", "bucks", "quid", "pounds", "eur", "usd", "nok", "gbp", "sek", "dkk", "chf",
        "yen",
    ];
    let lower = word.to_lowercase();
    CALLED.contains(&lower.as_str()) || is_currency_of(word, &lower)
}

fn is_named(word: &Word<'_>) -> bool {
    is_currency_of(word.text, &word.lower())
}

/// A currency's code in capitals, or what it is called.
fn is_currency_of(word: &str, lower: &str) -> bool {
    let one = lower
        .strip_suffix('s')
        .filter(|one| one.len() > 2)
        .unwrap_or(lower);
    let is_known = CURRENCIES.contains(lower) || CURRENCIES.contains(one);
    is_known || is_code(word) && Currency::from_code(word).is_some()
}

/// Whether a word is written like a currency's code.
fn is_code(word: &str) -> bool {
    word.len() == 3 && word.bytes().all(|c| c.is_ascii_uppercase())
}

/// What currencies are called: "dollar", "yen". Metals and units of account, whose codes begin with an X, are called by words of
/// other meanings.
static CURRENCIES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let signs = || b'A'..=b'Z';
    let codes =
        signs().flat_map(|one| signs().flat_map(move |two| signs().map(move |three| [one, two, three])));
    let codes = codes.filter(|code| !code.starts_with(b"X"));
    let known = codes.filter_map(|code| Currency::from_code(std::str::from_utf8(&code).ok()?));
    let called = known.filter_map(|currency| currency.name().split(' ').next_back().map(str::to_lowercase));
    called
        .filter(|name| name.chars().all(char::is_alphabetic))
        .collect()
});

static LANGUAGES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    const LOCALES: [Locale; 45] = [
        Locale::ar_EG,
        Locale::bg_BG,
        Locale::bn_BD,
        Locale::ca_ES,
        Locale::cs_CZ,
        Locale::cy_GB,
        Locale::da_DK,
        Locale::de_DE,
        Locale::el_GR,
        Locale::en_GB,
        Locale::es_ES,
        Locale::et_EE,
        Locale::eu_ES,
        Locale::fa_IR,
        Locale::fi_FI,
        Locale::fr_FR,
        Locale::ga_IE,
        Locale::he_IL,
        Locale::hi_IN,
        Locale::hr_HR,
        Locale::hu_HU,
        Locale::id_ID,
        Locale::is_IS,
        Locale::it_IT,
        Locale::ja_JP,
        Locale::ko_KR,
        Locale::lt_LT,
        Locale::lv_LV,
        Locale::ms_MY,
        Locale::nb_NO,
        Locale::nl_NL,
        Locale::pl_PL,
        Locale::pt_PT,
        Locale::ro_RO,
        Locale::ru_RU,
        Locale::sk_SK,
        Locale::sl_SI,
        Locale::sr_RS,
        Locale::sv_SE,
        Locale::sw_KE,
        Locale::th_TH,
        Locale::tr_TR,
        Locale::uk_UA,
        Locale::vi_VN,
        Locale::zh_CN,
    ];
    let named = LOCALES.iter().flat_map(|locale| {
        let english: Option<&str> = locale_match!(locale => LC_IDENTIFICATION::LANGUAGE);
        let own: Option<&str> = locale_match!(locale => LC_ADDRESS::LANG_NAME);
        // "British English"
        [english.and_then(|name| name.split(' ').next_back()), own]
    });
    named.flatten().map(str::to_lowercase).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standards_and_signs_tell_what_kinds_of_things_a_text_has() {
        use Kind::{Amount, Code, Currency, Language};
        for (text, expected) in [
            ("EUR to SEK today?", &[Currency][..]),
            ("how many rupees do I get", &[Currency]),
            ("the yen against the won", &[Currency]),
            ("Who won the game?", &[]),
            ("a real report", &[]),
            ("300 euros for the trip", &[Currency, Amount]),
            ("say I love you in Icelandic", &[Language]),
            ("auf deutsch", &[Language]),
            ("$18 for a photo", &[Amount]),
            ("hotel in Stuttgart: 210.50", &[Amount]),
            ("for i in range(len(a)): a.pop(i)", &[Code]),
            ("if (a == b) return;", &[Code]),
            ("the eur in 2.5 weeks", &[]),
            ("gold and silver on the 1.12.2026 at 10,000 feet", &[]),
            ("rain (or snow) for so many day(s)", &[]),
            ("", &[]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }
}
