//! What a text may mean that shares no words with any agent: words that are typed wrong, or a number of the form that one
//! agent's examples have.

use std::collections::BTreeSet;

use domain::AgentType;
use words::phrases::{Word, is_time, words};

use super::terms::is_mute;
use crate::AgentBrief;

/// Shortest word that is taken for another, in letters: shorter ones are too often words of their own.
const SHORTEST: usize = 6;
/// Shortest number that is taken for the name of something, in digits.
const DIGITS: usize = 3;
/// Longest text that a number decides about, in words.
const WORDS_MAX: usize = 8;

/// The text with its typing errors mended, as far as agents' own words tell what was meant; `None` where there are none.
pub(super) fn mended(known: &BTreeSet<String>, text: &str) -> Option<String> {
    let (mut out, mut end, mut found) = (String::new(), 0, false);
    for word in words(text) {
        let lower = word.lower();
        // A name is written as its owner does.
        let may_err = word.text == lower && lower.chars().count() >= SHORTEST && !known.contains(&lower);
        // Nobody errs with the first letter: "leather" is not "weather".
        let first = lower.chars().next().map(String::from).unwrap_or_default();
        let alike = known
            .range(first.clone()..)
            .take_while(|known| may_err && known.starts_with(&first));
        let mut near = alike.filter(|known| is_near(&lower, known));
        let meant = near.next().filter(|_| near.next().is_none());
        out.push_str(text.get(end..word.start).unwrap_or_default());
        out.push_str(meant.map_or(word.text, String::as_str));
        (end, found) = (word.end, found || meant.is_some());
    }
    out.push_str(text.get(end..).unwrap_or_default());
    found.then_some(out)
}

/// The prompts that a type's agents name as examples.
pub(super) fn examples<'a>(agents: &'a [AgentBrief], of: &AgentType) -> impl Iterator<Item = &'a str> {
    let agents = agents.iter().filter(move |agent| agent.agent_type() == of);
    let skills = agents.flat_map(AgentBrief::skills);
    skills.flat_map(|skill| skill.examples()).map(String::as_str)
}

/// The one kind of agent that takes a place and a day without a question, where the text is no more than that: its card has
/// such an example.
pub(super) fn by_place_and_day<'a>(agents: &'a [AgentBrief], text: &str) -> Option<&'a AgentType> {
    if !::words::is_place_and_day(text) {
        return None;
    }
    let types: BTreeSet<&AgentType> = agents.iter().map(AgentBrief::agent_type).collect();
    let mut takes = types
        .into_iter()
        .filter(|name| examples(agents, name).any(::words::is_place_and_day));
    takes.next().filter(|_| takes.next().is_none())
}

/// The one agent whose examples ask in the same words about a number of the same length: "where's 1005 got to".
pub(super) fn by_number<'a>(agents: &'a [AgentBrief], text: &str) -> Option<&'a AgentType> {
    let asked = Numbered::of(text);
    if asked.lengths.is_empty() || words(text).len() > WORDS_MAX {
        return None;
    }
    let fits = |agent: &&AgentBrief| {
        let examples = agent.skills().iter().flat_map(|skill| skill.examples());
        examples.map(|example| Numbered::of(example)).any(|example| {
            example.lengths.intersection(&asked.lengths).next().is_some()
                && example.words.intersection(&asked.words).next().is_some()
        })
    };
    let types: BTreeSet<&AgentType> = agents.iter().filter(fits).map(AgentBrief::agent_type).collect();
    let mut types = types.into_iter();
    types.next().filter(|_| types.next().is_none())
}

/// The one kind of agent whose examples end as the text does in form: with so much of one thing in another, as in "20 dollars
/// to pounds".
pub(super) fn by_form<'a>(agents: &'a [AgentBrief], text: &str) -> Option<&'a AgentType> {
    if !is_so_much_in_another(text) {
        return None;
    }
    let types: BTreeSet<&AgentType> = agents.iter().map(AgentBrief::agent_type).collect();
    let mut takes = types
        .into_iter()
        .filter(|name| examples(agents, name).any(is_so_much_in_another));
    takes.next().filter(|_| takes.next().is_none())
}

/// Whether a text ends with a number, a thing, a small word and another thing.
fn is_so_much_in_another(text: &str) -> bool {
    let words = words(text);
    let [.., number, thing, small, other] = words.as_slice() else {
        return false;
    };
    let is_thing = |word: &Word<'_>| {
        let lower = word.lower();
        !word.is_name() && lower.chars().all(char::is_alphabetic) && !is_mute(&lower) && !is_time(&lower)
    };
    number.text.bytes().all(|c| c.is_ascii_digit())
        && is_thing(thing)
        && is_mute(&small.lower())
        && is_thing(other)
}

/// A text as the lengths of its numbers and its words that ask.
struct Numbered {
    lengths: BTreeSet<usize>,
    words: BTreeSet<String>,
}

impl Numbered {
    fn of(text: &str) -> Self {
        let lower: Vec<String> = words(text).iter().map(|word| word.lower()).collect();
        let is_number = |word: &&String| word.len() >= DIGITS && word.bytes().all(|c| c.is_ascii_digit());
        Self {
            lengths: lower.iter().filter(is_number).map(String::len).collect(),
            words: lower
                .into_iter()
                .filter(|word| matches!(word.as_str(), "where" | "status" | "when" | "track" | "find"))
                .collect(),
        }
    }
}

/// The words of agents' cards, in small letters.
pub(super) fn vocabulary(agents: &[AgentBrief]) -> BTreeSet<String> {
    agents.iter().flat_map(words_of).collect()
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

/// True where one letter is missing, too much, another, or two neighbours have changed places.
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
    use super::*;
    use crate::{CardText, SkillText};

    fn agent(agent_type: &str, example: &str) -> AgentBrief {
        let card = CardText {
            name: agent_type,
            description: "Daily forecasts of the weather",
        };
        let examples = [example.to_owned()];
        let skill = SkillText {
            examples: &examples,
            ..SkillText::default()
        };
        AgentBrief::new(AgentType::parse(agent_type).unwrap(), card, [skill])
    }

    #[test]
    fn a_word_that_is_typed_wrong_is_the_one_of_an_agent_that_is_one_letter_away() {
        let agents = [agent("weather", "Will it rain in Oslo tomorrow?")];
        for (text, meant) in [
            ("weathr in oslo tomorow", Some("weather in oslo tomorrow")),
            ("wheather, please", Some("weather, please")),
            ("forecats for rome", Some("forecasts for rome")),
            ("Weathr in Oslo", None),
            ("weather tomorrow", None),
            ("leather in rome", None),
            ("rian in oslo", None),
        ] {
            assert_eq!(mended(&vocabulary(&agents), text).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_for_the_one_agent_that_asks_for_such_numbers() {
        let agents = [
            agent("horizon", "Where is my order 1001?"),
            agent("weather", "Weather in Oslo on the 12th"),
        ];
        let of = |text: &str| by_number(&agents, text).map(AgentType::as_str);
        assert_eq!(of("where's 1005 got to"), Some("horizon"));
        assert_eq!(of("where is 12"), None);
        assert_eq!(of("1005"), None);
        assert_eq!(of("where's my cat"), None);
    }
}
