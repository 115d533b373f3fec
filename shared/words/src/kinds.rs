//! What kinds of things a text has, where standards or signs tell: currencies, languages, amounts of money, code. Who speaks of
//! "currencies" is meant by "zloty", and who of "languages" by "Icelandic".

use std::collections::HashSet;
use std::sync::LazyLock;

use pure_rust_locales::{Locale, locale_match};

use crate::currency::{is_code, is_named};
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
    let behind_number =
        |pair: &[Word<'_>]| matches!(pair, [one, other] if is_number(one) && is_named(other.text));
    let mut found = Vec::new();
    // "Who won?": short names alone are too often words of their own.
    let named: Vec<&Word<'_>> = words.iter().filter(|word| is_named(word.text)).collect();
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

static LANGUAGES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    use Locale::*;
    const LOCALES: [Locale; 45] = [
        ar_EG, bg_BG, bn_BD, ca_ES, cs_CZ, cy_GB, da_DK, de_DE, el_GR, en_GB, es_ES, et_EE, eu_ES, fa_IR,
        fi_FI, fr_FR, ga_IE, he_IL, hi_IN, hr_HR, hu_HU, id_ID, is_IS, it_IT, ja_JP, ko_KR, lt_LT, lv_LV,
        ms_MY, nb_NO, nl_NL, pl_PL, pt_PT, ro_RO, ru_RU, sk_SK, sl_SI, sr_RS, sv_SE, sw_KE, th_TH, tr_TR,
        uk_UA, vi_VN, zh_CN,
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
