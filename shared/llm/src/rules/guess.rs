//! What a text may mean that shares no words with any agent: it has the form that one agent's examples have.

use std::collections::BTreeSet;

use domain::AgentType;
use words::phrases::{Word, is_time, words};

use super::terms::is_mute;
use crate::AgentBrief;

/// Shortest number that is taken for the name of something, in digits.
const DIGITS: usize = 3;
/// Longest text that a number decides about, in words.
const WORDS_MAX: usize = 8;

/// The prompts that a type's agents name as examples.
pub(super) fn examples<'a>(agents: &'a [AgentBrief], of: &AgentType) -> impl Iterator<Item = &'a str> {
    let agents = agents.iter().filter(move |agent| agent.agent_type() == of);
    let skills = agents.flat_map(AgentBrief::skills);
    skills.flat_map(|skill| skill.examples()).map(String::as_str)
}

/// What the examples of agents look like, whatever they say.
#[derive(Debug, Default)]
pub(super) struct Forms {
    /// The one type that is asked by a place and a day alone, without a question.
    place_and_day: Option<AgentType>,
    /// The one whose examples end with so much of one thing in another, as in "20 dollars to pounds".
    so_much_in_another: Option<AgentType>,
    /// Examples that ask about a number, each with its type.
    numbered: Vec<(Numbered, AgentType)>,
}

impl Forms {
    pub(super) fn of(agents: &[AgentBrief]) -> Self {
        let types: BTreeSet<&AgentType> = agents.iter().map(AgentBrief::agent_type).collect();
        let only = |is_such: fn(&str) -> bool| {
            let mut such = types.iter().filter(|name| examples(agents, name).any(is_such));
            such.next().filter(|_| such.next().is_none()).copied().cloned()
        };
        let numbered = types.iter().flat_map(|name| {
            let numbered = examples(agents, name).map(Numbered::of);
            let asks = numbered.filter(|form| !form.lengths.is_empty() && !form.words.is_empty());
            asks.map(|form| (form, (*name).clone()))
        });
        Self {
            place_and_day: only(::words::is_place_and_day),
            so_much_in_another: only(is_so_much_in_another),
            numbered: numbered.collect(),
        }
    }

    /// Whether a kind of agent is the one that takes a place and a day without a question.
    pub(super) fn takes_places(&self, agent_type: &AgentType) -> bool {
        self.place_and_day.as_ref() == Some(agent_type)
    }

    /// The one kind of agent that takes a place and a day without a question, where the text is no more than that.
    pub(super) fn by_place_and_day(&self, text: &str) -> Option<&AgentType> {
        let takes = self.place_and_day.as_ref();
        takes.filter(|_| ::words::is_place_and_day(text))
    }

    /// The one kind of agent whose examples ask in the same words about a number of the same length ("where's 1005 got to"), or
    /// end as the text does in form.
    pub(super) fn by_number_or_form(&self, text: &str) -> Option<&AgentType> {
        let such = self.so_much_in_another.as_ref();
        self.by_number(text)
            .or_else(|| such.filter(|_| is_so_much_in_another(text)))
    }

    fn by_number(&self, text: &str) -> Option<&AgentType> {
        let asked = Numbered::of(text);
        if asked.lengths.is_empty() || words(text).len() > WORDS_MAX {
            return None;
        }
        let fits = |form: &Numbered| {
            !form.lengths.is_disjoint(&asked.lengths) && !form.words.is_disjoint(&asked.words)
        };
        let types = self.numbered.iter().filter(|(form, _)| fits(form));
        let types: BTreeSet<&AgentType> = types.map(|(_, name)| name).collect();
        let mut types = types.into_iter();
        types.next().filter(|_| types.next().is_none())
    }
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
#[derive(Debug)]
struct Numbered {
    lengths: BTreeSet<usize>,
    words: BTreeSet<String>,
}

impl Numbered {
    fn of(text: &str) -> Self {
        let lower = words(text).into_iter().map(|word| word.lower());
        // "Where's", without its mark.
        let lower = lower.map(|word| {
            if word == "wheres" {
                "where".to_owned()
            } else {
                word
            }
        });
        let lower: Vec<String> = lower.collect();
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
    fn a_bare_number_is_for_the_one_agent_that_asks_for_such_numbers() {
        let agents = [
            agent("horizon", "Where is my order 1001?"),
            agent("weather", "Weather in Oslo on the 12th"),
        ];
        let forms = Forms::of(&agents);
        let of = |text: &str| forms.by_number_or_form(text).map(AgentType::as_str);
        assert_eq!(of("where's 1005 got to"), Some("horizon"));
        assert_eq!(of("where is 12"), None);
        assert_eq!(of("1005"), None);
        assert_eq!(of("where's my cat"), None);
    }
}
