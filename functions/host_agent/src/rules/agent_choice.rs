//! Which agent gets what was said, where the rules are not sure: their user chooses. What is asked, and until when.

use std::time::Duration;

use domain::{AgentType, Message, Timestamp};
use llm::{AgentBrief, Why};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A choice that nobody makes is given up after so long.
const CHOSEN_WITHIN: Duration = Duration::from_secs(24 * 3600);
/// The key in a status message's metadata under which pages find what there is to choose from.
const CHOICES: &str = "choices";
/// Most characters of what was said that are repeated.
const SAID_MAX: usize = 60;

/// The agents that a task's user chooses from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentChoice {
    /// Them, the likeliest first.
    pub(crate) of: Vec<Offered>,
    /// Why it is asked.
    #[serde(default)]
    pub(crate) why: Why,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Offered {
    pub(crate) agent_type: AgentType,
    /// Its name, as it is shown.
    pub(crate) name: String,
    /// Its name and what it says it does.
    pub(crate) summary: String,
}

impl AgentChoice {
    /// Of these types, as far as they are there.
    pub(crate) fn of(types: &[AgentType], why: Why, agents: &[AgentBrief]) -> Self {
        let brief = |wanted: &AgentType| agents.iter().find(|agent| agent.agent_type() == wanted);
        let offered = |agent: &AgentBrief| Offered {
            agent_type: agent.agent_type().clone(),
            name: agent.name().to_owned(),
            summary: llm::summary(agent),
        };
        Self {
            of: types.iter().filter_map(brief).map(offered).collect(),
            why,
        }
    }

    /// What the user is asked of what they said, in their language.
    pub(crate) fn question(&self, said: &str, language: &str) -> String {
        let told = |key| words::told(Some(language), key, "");
        let names: Vec<&str> = self.of.iter().map(|offered| offered.name.as_str()).collect();
        let lines: Vec<String> = (1..)
            .zip(&self.of)
            .map(|(number, offered)| format!("{number}. {}", offered.summary))
            .collect();
        let how = match (self.of.as_slice(), self.why) {
            ([_], _) => told("sayYesOrNo"),
            (_, Why::Unsure) => told("sayWhich"),
            // Whoever is chosen gets all of it, and nobody else anything.
            _ => told("sayWhichOrParts"),
        };
        let said = llm::clean(said, SAID_MAX);
        let names = words::listed(&names, &told("or"));
        let asks = match self.why {
            Why::Unsure => "unsureWhom",
            Why::Destroys => "mayRemove",
            Why::Conditional => "noIfs",
        };
        let asks = words::told_of(Some(language), asks, &[("said", &said), ("names", &names)]);
        format!("{asks}\n{}\n{how}", lines.join("\n"))
    }

    /// The message with what pages show as buttons: what is shown, and what is said by it.
    pub(crate) fn shown_with(&self, mut message: Message) -> Message {
        let buttons = (1..)
            .zip(&self.of)
            .map(|(number, offered)| json!({"label": offered.name, "say": number.to_string()}));
        message
            .metadata
            .insert(CHOICES.to_owned(), Value::Array(buttons.collect()));
        message
    }
}

/// Until when a choice waits that was asked for then.
pub(crate) fn waits_until(asked: Timestamp) -> Timestamp {
    asked.after(CHOSEN_WITHIN)
}
