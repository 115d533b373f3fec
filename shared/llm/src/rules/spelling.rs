//! Words that are typed wrong: what the agents' own words say was meant.

use std::collections::BTreeSet;
use std::hash::Hasher as _;

use words::phrases::words;

use super::hashing::Fnv;
use super::terms;
use crate::AgentBrief;

/// Shortest word that is taken for another, in letters: shorter ones are too often words of their own.
const SHORTEST: usize = 6;
/// Longest word that is looked up, in letters: what it takes grows with the square of them, and no card has a longer one.
const LONGEST: usize = 40;

/// The words of agents' cards, with what is left of each where a letter is missing: two words that one typing error parts have
/// one of these in common, so that no others need to be compared.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    /// In small letters and in order.
    words: Vec<String>,
    /// Those of them that an agent is called by.
    names: BTreeSet<String>,
    /// Hashes of what is left, in order, each with the word's place.
    left: Vec<(u64, u32)>,
}

impl Spelling {
    pub(super) fn of(agents: &[AgentBrief]) -> Self {
        let all: BTreeSet<String> = agents.iter().flat_map(words_of).collect();
        let called = agents
            .iter()
            .flat_map(|agent| [agent.name(), agent.agent_type().as_str()]);
        let names = called.flat_map(words).map(|word| word.lower()).collect();
        let words: Vec<String> = all.into_iter().collect();
        let fits = |(_, word): &(u32, &String)| (SHORTEST - 1..=LONGEST + 1).contains(&word.chars().count());
        let numbered = (0..).zip(&words).filter(fits);
        let left = numbered.flat_map(|(at, word)| left(word).into_iter().map(move |hash| (hash, at)));
        let mut left: Vec<(u64, u32)> = left.collect();
        left.sort_unstable();
        left.dedup();
        Self { words, names, left }
    }

    /// The text with its typing errors mended, as far as one of the words tells what was meant; `None` where there are none.
    pub(super) fn mended(&self, text: &str) -> Option<String> {
        let (mut out, mut end, mut found) = (String::new(), 0, false);
        for word in words(text) {
            let lower = word.lower();
            // A name is written as its owner does.
            let may_err = word.text == lower && (SHORTEST..=LONGEST).contains(&lower.chars().count());
            let meant = may_err.then(|| self.meant(&lower)).flatten();
            out.push_str(text.get(end..word.start).unwrap_or_default());
            out.push_str(meant.unwrap_or(word.text));
            (end, found) = (word.end, found || meant.is_some());
        }
        out.push_str(text.get(end..).unwrap_or_default());
        found.then_some(out)
    }

    /// The one word that an unknown one was meant to be.
    fn meant(&self, lower: &str) -> Option<&str> {
        if self
            .words
            .binary_search_by(|word| word.as_str().cmp(lower))
            .is_ok()
            || terms::is_function_word(lower)
        {
            return None;
        }
        let alike = left(lower).into_iter().flat_map(|hash| {
            let from = self.left.partition_point(|(known, _)| *known < hash);
            let known = self.left.get(from..).unwrap_or_default().iter();
            known
                .take_while(move |(known, _)| *known == hash)
                .map(|(_, at)| *at)
        });
        let alike: BTreeSet<u32> = alike.collect();
        let alike = alike
            .into_iter()
            .filter_map(|at| self.words.get(usize::try_from(at).ok()?));
        let near: Vec<&String> = alike.filter(|known| is_near(lower, known)).collect();
        // "Wether" may be "whether" and "Wetter" as well: of several, what an agent is called by.
        let mut named = near.iter().filter(|known| self.names.contains(**known));
        match (near.as_slice(), named.next(), named.next()) {
            ([only], _, _) | (_, Some(only), None) => Some(only.as_str()),
            _ => None,
        }
    }
}

/// Hashes of a word, and of the same with one letter left out.
fn left(word: &str) -> Vec<u64> {
    let without = |at: usize| {
        let mut hasher = Fnv::default();
        let mut signs = [0; 4];
        for (_, sign) in word.chars().enumerate().filter(|(place, _)| *place != at) {
            hasher.write(sign.encode_utf8(&mut signs).as_bytes());
        }
        hasher.finish()
    };
    // The place behind its end leaves out none.
    (0..=word.chars().count()).map(without).collect()
}

fn words_of(agent: &AgentBrief) -> Vec<String> {
    let mut texts = vec![agent.name(), agent.description(), agent.agent_type().as_str()];
    for skill in agent.skills() {
        texts.extend([skill.name(), skill.description()]);
        texts.extend(skill.examples().iter().map(String::as_str));
    }
    let all = texts.into_iter().flat_map(words);
    all.map(|word| word.lower()).collect()
}

/// True where one letter is missing, too much, another, or two neighbours have changed places. Nobody errs with the first
/// letter: "leather" is not "weather".
fn is_near(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = |one: &[char], other: &[char]| one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let ahead = same(&one, &other);
    if ahead == 0 || one.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let (one, other) = (
        one.get(ahead..).unwrap_or_default(),
        other.get(ahead..).unwrap_or_default(),
    );
    match (one, other) {
        ([_, rest @ ..], [_, more @ ..]) if rest == more => true,
        ([_, rest @ ..], other) if rest == other => true,
        (one, [_, more @ ..]) if one == more => true,
        ([a, b, rest @ ..], [c, d, more @ ..]) => a == d && b == c && rest == more,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use domain::AgentType;

    use super::*;
    use crate::{CardText, SkillText};

    #[test]
    fn a_word_that_is_typed_wrong_is_the_one_of_an_agent_that_is_one_letter_away() {
        let card = CardText {
            name: "weather",
            description: "Daily forecasts of the weather",
        };
        let skill = SkillText {
            examples: &[
                "Will it rain in Oslo tomorrow?".to_owned(),
                "Say whether it rains".to_owned(),
                "Das Wetter in Rom".to_owned(),
            ],
            ..SkillText::default()
        };
        let agents = [AgentBrief::new(
            AgentType::parse("weather").unwrap(),
            card,
            [skill],
        )];
        let spelling = Spelling::of(&agents);
        for (text, meant) in [
            ("weathr in oslo tomorow", Some("weather in oslo tomorrow")),
            ("wheather, please", Some("weather, please")),
            ("wetaher, please", Some("weather, please")),
            ("waather, please", Some("weather, please")),
            ("forecats for rome", Some("forecasts for rome")),
            ("wether tomorrow", Some("weather tomorrow")),
            ("whether tomorrow", None),
            ("Weathr in Oslo", None),
            ("weather tomorrow", None),
            ("leather in rome", None),
            ("rian in oslo", None),
        ] {
            assert_eq!(spelling.mended(text).as_deref(), meant, "{text}");
        }
    }
}
