//! How alike two words are: by the runs of three to five letters that both have. No grammar of any language is in it; it is
//! what makes "snowing" meet "snow", "Regenjacke" meet "Regen" and a typing error meet what was meant.

use std::hash::{Hash as _, Hasher as _};

use super::hashing::Fnv;
use super::terms::Term;

/// The runs of a word.
#[derive(Debug)]
pub(super) struct Grams {
    /// As hashes, each once.
    pub(super) runs: Vec<u64>,
    /// What it begins with.
    pub(super) opening: u64,
}

/// How many runs two words have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    /// The asked one.
    pub(super) asked: usize,
    /// The known one.
    pub(super) known: usize,
    /// Both of them.
    pub(super) both: usize,
    /// Both begin alike.
    pub(super) open_alike: bool,
}

/// Lengths of the runs of a word in letters; its beginning and end count as letters.
const OF_LETTERS: std::ops::RangeInclusive<usize> = 3..=5;
/// Lengths of the runs of a word in ideographs.
const OF_IDEOGRAPHS: std::ops::RangeInclusive<usize> = 1..=3;
/// Stands for a word's beginning and end.
const EDGE: char = '\u{0}';
/// Less than this is chance.
const CHANCE: f64 = 0.25;
/// How many runs a word of four letters has; with fewer, one word is in another by chance.
const A_WORD: f64 = 9.0;
/// How many runs a word of six letters has.
const A_LONG_WORD: f64 = 15.0;
/// How many of a word's runs its end is in.
const AN_END: f64 = 3.0;
/// How alike a word is to another that has it for a beginning.
const INFLECTED: f64 = 0.7;
/// Words that are alike in part count for less than their part.
const STEEP: f64 = 2.0;

/// The runs of a term.
pub(super) fn grams(term: &Term) -> Grams {
    let mut signs: Vec<char> = term.text.chars().collect();
    let lengths = if term.is_ideographic() {
        OF_IDEOGRAPHS
    } else {
        signs.insert(0, EDGE);
        signs.push(EDGE);
        OF_LETTERS
    };
    let opening = signs.get(..*lengths.start()).map_or(0, hash);
    let runs = lengths.flat_map(|length| signs.windows(length)).map(hash);
    let mut runs: Vec<u64> = runs.collect();
    runs.sort_unstable();
    runs.dedup();
    Grams { runs, opening }
}

/// How alike an asked word is to a known one, between 0 and 1.
pub(super) fn likeness(runs: Runs) -> f64 {
    let [asked, known, both] = [runs.asked, runs.known, runs.both].map(number);
    if both <= 0.0 {
        return 0.0;
    }
    let shorter = asked.min(known);
    // All of a word but its end is in the other: "rain" and "raining", "Regen" and "Regenjacke", though not in "train" and
    // "rain". What stands at the end of another word has to be longer: "Termin" and "Zahnarzttermin".
    let least = if runs.open_alike { A_WORD } else { A_LONG_WORD };
    if shorter >= least && both >= shorter - AN_END {
        return INFLECTED.max(both / asked.max(known));
    }
    let like = f64::midpoint(both / asked, both / known);
    if like > CHANCE { like.powf(STEEP) } else { 0.0 }
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn hash(signs: &[char]) -> u64 {
    let mut hasher = Fnv::default();
    signs.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::terms::terms;

    fn alike(asked: &str, known: &str) -> f64 {
        let [asked, known] = [asked, known].map(|word| grams(&terms(word)[0]));
        let both = asked.runs.iter().filter(|run| known.runs.contains(run)).count();
        likeness(Runs {
            asked: asked.runs.len(),
            known: known.runs.len(),
            both,
            open_alike: asked.opening == known.opening,
        })
    }

    #[test]
    fn words_are_alike_by_what_they_have_in_common() {
        assert!((alike("weather", "weather") - 1.0).abs() < 1e-9);
        for (near, far, known) in [
            ("snowing", "showing", "snow"),
            ("forecasts", "broadcasts", "forecast"),
            ("wheather", "broader", "weather"),
            ("Regenjacke", "Lederjacke", "Regen"),
            ("переночевать", "переписать", "ночевать"),
            ("天気予報", "電気予報", "天気"),
        ] {
            let [near, far] = [near, far].map(|asked| alike(asked, known));
            assert!(near > 0.1 && far < near, "{known}: {near} {far}");
        }
        assert!(alike("oslo", "berlin") <= 0.0);
    }
}
