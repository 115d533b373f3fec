//! Currencies, by their codes (ISO 4217) and by what they are called.

use std::collections::HashSet;
use std::sync::LazyLock;

pub use iso_currency::Currency;

/// All of them but metals and units of account, whose codes begin with an X: they are called by words of other meanings.
static ALL: LazyLock<Vec<Currency>> = LazyLock::new(|| {
    let signs = || ('A'..='Z').filter_map(|sign| u8::try_from(sign).ok());
    let codes =
        signs().flat_map(|one| signs().flat_map(move |two| signs().map(move |three| [one, two, three])));
    let codes = codes.filter(|code| !code.starts_with(b"X"));
    codes
        .filter_map(|code| Currency::from_code(std::str::from_utf8(&code).ok()?))
        .collect()
});

/// What they are called: "dollar", "yen".
static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let called = ALL
        .iter()
        .filter_map(|currency| currency.name().split(' ').next_back());
    let called = called.filter(|name| name.chars().all(char::is_alphabetic));
    called.map(str::to_lowercase).collect()
});

/// Whether a word beside a number names a currency: a code, its name, or what people call it.
pub(crate) fn is_currency(word: &str) -> bool {
    matches!(
        word.to_lowercase().as_str(),
        "kroner" | "kronor" | "kr" | "bucks" | "quid" | "pounds"
    ) || is_small_code(word)
        || is_named(word)
}

/// The currencies that may be meant by a name of one or more words, or by a sign: `NOK`, `Danish kroner`, `dollars`, `RM`.
#[must_use]
pub fn currencies(name: &str) -> Vec<Currency> {
    let lower = name.to_lowercase();
    let mut which: Vec<&str> = lower.split_whitespace().collect();
    let Some(last) = which.pop() else {
        return Vec::new();
    };
    if let Some(one) =
        Currency::from_code(&last.to_uppercase()).filter(|_| is_code(name) || is_small_code(last))
    {
        return vec![one];
    }
    let called: &[&str] = match last {
        "kroner" | "kronor" | "kr" => &["krone", "krona", "króna"],
        "bucks" => &["dollar"],
        "quid" => &["sterling"],
        last => &[last.strip_suffix('s').unwrap_or(last), last],
    };
    let has = |currency: &Currency, any: &[&str]| {
        let name = currency.name().to_lowercase().replace("united states", "us");
        name.split(|c: char| !c.is_alphabetic())
            .any(|word| any.contains(&word))
    };
    let is_called = |currency: &&Currency| currency.symbol().symbol == name || has(currency, called);
    let in_use = |currency: &&Currency| !currency.is_fund() && !currency.is_special();
    let known: Vec<Currency> = ALL.iter().filter(in_use).filter(is_called).copied().collect();
    let is_that = |currency: &Currency| which.iter().all(|which| has(currency, &[which]));
    let told: Vec<Currency> = known.iter().copied().filter(is_that).collect();
    if told.is_empty() { known } else { told }
}

/// The currency of a sign with letters before it: of `NZ` and `A`, whose dollars they are.
pub(crate) fn of_dollars(country: &str) -> Option<Currency> {
    let mut ends = ["D", "AD", "UD", "GD"].iter();
    let by_code = ends.find_map(|end| Currency::from_code(&format!("{country}{end}")));
    let sign = format!("{country}$");
    let by_sign = || {
        ALL.iter()
            .copied()
            .find(|currency| currency.symbol().symbol == sign)
    };
    by_code.or_else(by_sign).filter(|_| !country.is_empty())
}

/// Codes that people write in small letters.
fn is_small_code(word: &str) -> bool {
    matches!(
        word.to_lowercase().as_str(),
        "eur" | "usd" | "nok" | "gbp" | "sek" | "dkk" | "chf"
    )
}

/// Whether a word is a currency's code in capitals, or what it is called.
pub(crate) fn is_named(word: &str) -> bool {
    let lower = word.to_lowercase();
    let one = lower
        .strip_suffix('s')
        .filter(|one| one.len() > 2)
        .unwrap_or(&lower);
    NAMES.contains(&lower) || NAMES.contains(one) || is_code(word) && Currency::from_code(word).is_some()
}

/// Whether a word is written like a currency's code.
pub(crate) fn is_code(word: &str) -> bool {
    word.len() == 3 && word.bytes().all(|c| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_signs_tell_which_currencies_may_be_meant() {
        for (name, codes) in [
            ("NOK", "NOK"),
            ("sek", "SEK"),
            ("euros", "EUR"),
            ("yen", "JPY"),
            ("Danish kroner", "DKK"),
            ("Swedish kronor", "SEK"),
            ("kr", "DKK ISK NOK SEK"),
            ("New Zealand dollars", "NZD"),
            ("US dollars", "USD"),
            ("quid", "GBP"),
            ("RM", "MYR"),
            ("baht", "THB"),
            ("beans", ""),
            ("", ""),
        ] {
            let read: Vec<&str> = currencies(name).iter().map(Currency::code).collect();
            assert_eq!(read.join(" "), codes, "{name}");
        }
        for (name, among) in [
            ("dollars", "SGD"),
            ("bucks", "USD"),
            ("pounds", "GBP"),
            ("pesos", "MXN"),
        ] {
            let read = currencies(name);
            assert!(
                read.len() > 5 && read.iter().any(|one| one.code() == among),
                "{name}: {read:?}"
            );
        }
        for (country, code) in [
            ("NZ", "NZD"),
            ("A", "AUD"),
            ("C", "CAD"),
            ("HK", "HKD"),
            ("US", "USD"),
            ("R", "BRL"),
        ] {
            assert_eq!(
                of_dollars(country).map(|currency| currency.code()),
                Some(code),
                "{country}"
            );
        }
        assert_eq!(of_dollars(""), None);
    }
}
