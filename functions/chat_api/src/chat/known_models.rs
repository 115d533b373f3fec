//! Whom a message can be for, read from the host's card for the tenant's callers: the host, then each agent that it lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use a2a::OpenAgents;
use domain::{AgentType, Timestamp};
use serde::Serialize;
use serde_json::Value;

/// What was read is good for so long: an agent that was registered is there within it.
const KEPT: Duration = Duration::from_secs(20);
/// What was counted is good for so long: the order of an empty chat's examples hangs on it, and nothing else.
const COUNTED: Duration = Duration::from_secs(3600);
/// The host's own id among the models.
pub(crate) const HOST: &str = "host";
/// Most characters of a text, most of its list's entries.
const TEXT_MAX: usize = 300;
const EXAMPLES_MAX: usize = 5;
const MODELS_MAX: usize = 100;
const TYPES_MAX: usize = 64;
/// What everybody reads.
const WORDS: &str = "text/plain";
/// Of somebody who does not say what they take.
const ANYTHING: &str = "*/*";

/// Somebody whom a message can be for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Model {
    /// The agent's type; [`HOST`] of the host, which finds the agent itself.
    pub(crate) id: String,
    /// Its name, to show.
    pub(crate) name: String,
    /// What it says it does.
    pub(crate) description: String,
    /// Prompts that it names as examples, the first of each skill first.
    pub(crate) examples: Vec<String>,
    /// The media types that it takes, `*` standing for anything; of the host, what its agents take.
    #[serde(rename = "inputTypes")]
    pub(crate) input_types: Vec<String>,
}

/// What the host says of its agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// Whom a message can be for.
    pub(crate) models: Arc<Vec<Model>>,
    /// Who demands nothing of whom they answer.
    pub(crate) open: Arc<OpenAgents>,
}

impl Known {
    /// What a card of the host's for the tenant's callers says.
    pub(crate) fn of(card: &Value) -> Self {
        Self {
            models: Arc::new(of(card)),
            open: Arc::new(OpenAgents::of(card)),
        }
    }
}

/// How often each type of agent was asked.
pub(crate) type Used = BTreeMap<AgentType, usize>;

/// What the host said last, and how often each of its agents was asked when that was counted last.
#[derive(Default)]
pub(crate) struct LastModels(
    Mutex<Option<(Timestamp, Known)>>,
    Mutex<Option<(Timestamp, Used)>>,
);

impl LastModels {
    /// What is still good of it.
    pub(crate) fn known(&self, now: Timestamp) -> Option<Known> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, known) = known.as_ref().filter(|(read, _)| now < read.after(KEPT))?;
        Some(known.clone())
    }

    /// How often each was asked, where that was counted not long ago.
    pub(crate) fn used(&self, now: Timestamp) -> Option<Used> {
        let used = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, used) = used
            .as_ref()
            .filter(|(counted, _)| now < counted.after(COUNTED))?;
        Some(used.clone())
    }

    /// Keeps what was counted.
    pub(crate) fn keep_used(&self, used: &Used, now: Timestamp) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, used.clone()));
    }

    /// Keeps what was read.
    pub(crate) fn keep(&self, known: &Known, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, known.clone()));
    }
}

/// A skill of the card, as far as it is read.
struct Skill<'c> {
    /// The agent's type.
    id: &'c str,
    /// The agent's name.
    agent: Option<&'c str>,
    description: &'c str,
    examples: Vec<&'c str>,
    /// The media types that it takes; those of the card where it has none of its own.
    takes: Vec<&'c str>,
}

/// Those that a card lists. What in it is not as it should be is passed over.
pub(crate) fn of(card: &Value) -> Vec<Model> {
    let listed = card.get("skills").and_then(Value::as_array);
    let usual = texts(card, "defaultInputModes").collect::<Vec<_>>();
    let skills = listed.into_iter().flatten().filter_map(|one| skill(one, &usual));
    let skills: Vec<Skill<'_>> = skills.collect();
    let text = |name: &str| card.get(name).and_then(Value::as_str).unwrap_or_default();
    let of_host = skills.iter().filter(|skill| skill.id == HOST);
    let mut models = vec![Model {
        id: HOST.to_owned(),
        name: short(text("name")),
        description: short(text("description")),
        examples: examples(of_host),
        input_types: input_types(skills.iter().filter(|skill| skill.id != HOST)),
    }];
    for skill in skills.iter().filter(|skill| skill.id != HOST) {
        if models.len() < MODELS_MAX && models.iter().all(|known| known.id != skill.id) {
            let own = || skills.iter().filter(|other| other.id == skill.id);
            models.push(Model {
                id: skill.id.to_owned(),
                name: short(skill.agent.unwrap_or(skill.id)),
                description: short(skill.description),
                examples: examples(own()),
                input_types: input_types(own()),
            });
        }
    }
    models
}

/// The texts of a list.
fn texts<'c>(of: &'c Value, name: &str) -> impl Iterator<Item = &'c str> {
    let found = of.get(name).and_then(Value::as_array);
    found.into_iter().flatten().filter_map(Value::as_str)
}

fn skill<'c>(skill: &'c Value, usual: &[&'c str]) -> Option<Skill<'c>> {
    let tagged = |key: &str| texts(skill, "tags").find_map(|tag| tag.strip_prefix(key)?.strip_prefix(':'));
    let id = tagged("type").filter(|id| AgentType::parse(id).is_ok())?;
    let own: Vec<&str> = texts(skill, "inputModes").collect();
    Some(Skill {
        id,
        agent: tagged("agent").filter(|name| !name.trim().is_empty()),
        description: skill
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        examples: texts(skill, "examples").collect(),
        takes: if own.is_empty() { usual.to_vec() } else { own },
    })
}

/// What some of these skills take, sorted, each once; words are always among it.
fn input_types<'s, 'c: 's>(skills: impl Iterator<Item = &'s Skill<'c>>) -> Vec<String> {
    let mut found = BTreeSet::from([WORDS.to_owned()]);
    for skill in skills {
        if skill.takes.is_empty() || skill.takes.iter().any(|listed| a2a::media::is_anything(listed)) {
            return vec![ANYTHING.to_owned()];
        }
        let types = skill
            .takes
            .iter()
            .map(|listed| listed.trim().to_ascii_lowercase());
        found.extend(types.filter(|listed| !listed.is_empty() && listed.len() <= TEXT_MAX));
    }
    found.into_iter().take(TYPES_MAX).collect()
}

/// Of each skill the first, then of each the second, and so on; each text once.
fn examples<'s, 'c: 's>(skills: impl Iterator<Item = &'s Skill<'c>>) -> Vec<String> {
    let skills: Vec<&Skill<'_>> = skills.collect();
    let longest = skills.iter().map(|skill| skill.examples.len()).max().unwrap_or(0);
    let mut found: Vec<String> = Vec::new();
    for place in 0..longest {
        for example in skills.iter().filter_map(|skill| skill.examples.get(place)) {
            let example = short(example);
            if found.len() < EXAMPLES_MAX && !example.is_empty() && !found.contains(&example) {
                found.push(example);
            }
        }
    }
    found
}

fn short(text: &str) -> String {
    text.trim().chars().take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card() -> Value {
        let skill = |tags: Value, examples: Value| json!({"id": "x", "name": "X", "description": "Does it", "tags": tags, "examples": examples});
        json!({"name": "Host", "description": "Finds agents", "skills": [
            skill(json!(["type:host", "tenant_id:acme"]), json!(["What can you do?"])),
            skill(json!(["type:weather", "agent:Weather: now"]), json!(["Rain in Oslo?", "Snow?"])),
            skill(json!(["type:report", "agent:Report"]), json!([])),
            skill(json!(["type:weather", "agent:Weather: now"]), json!(["Sunset in Rome?", "Snow?"])),
        ]})
    }

    #[test]
    fn the_host_comes_first_and_each_agent_once_with_the_examples_of_all_its_skills() {
        let models = of(&card());
        let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["host", "weather", "report"]);
        assert_eq!(models[0].name, "Host");
        assert_eq!(models[1].name, "Weather: now");
        assert_eq!(models[1].examples, ["Rain in Oslo?", "Sunset in Rome?", "Snow?"]);
        assert_eq!(models[2].examples, Vec::<String>::new());
    }

    #[test]
    fn each_has_the_types_that_its_skills_take_and_the_host_those_of_all_agents() {
        let skill = |kind: &str, modes: Value| json!({"tags": [format!("type:{kind}")], "inputModes": modes});
        let types = |card: Value| -> Vec<(String, Vec<String>)> {
            let models = of(&card).into_iter();
            models.map(|model| (model.id, model.input_types)).collect()
        };
        let told =
            |id: &str, types: &[&str]| (id.to_owned(), types.iter().map(|&one| one.to_owned()).collect());
        let skills = json!([
            skill("host", json!(["audio/*"])),
            skill("scan", json!(["image/png", " Image/JPEG "])),
            skill("scan", json!(["application/pdf", 7, ""])),
            skill("words", json!(["text/plain"])),
        ]);
        assert_eq!(
            types(json!({"defaultInputModes": ["text/plain", "*/*"], "skills": skills})),
            [
                told(
                    "host",
                    &["application/pdf", "image/jpeg", "image/png", "text/plain"]
                ),
                told(
                    "scan",
                    &["application/pdf", "image/jpeg", "image/png", "text/plain"]
                ),
                told("words", &["text/plain"]),
            ]
        );
        // What says nothing takes what its card says, and where that says nothing either, anything.
        let silent = json!([skill("silent", json!([]))]);
        for (usual, taken) in [
            (json!(["image/*"]), &["image/*", "text/plain"][..]),
            (json!(["*"]), &["*/*"]),
            (json!(7), &["*/*"]),
        ] {
            let card = json!({"defaultInputModes": usual, "skills": silent});
            assert_eq!(types(card), [told("host", taken), told("silent", taken)]);
        }
        assert_eq!(
            types(json!({})),
            [told("host", &["text/plain"])],
            "nobody is there to take a file"
        );
    }

    #[test]
    fn rubbish_in_a_card_is_passed_over_and_long_texts_are_cut() {
        let long = "é".repeat(10_000);
        for card in [
            json!(null),
            json!([]),
            json!({"skills": 7}),
            json!({"skills": [null, 7, [], {}, {"tags": "type:x"}, {"tags": ["type:"]}, {"tags": ["type:a b", "type:../x"]}]}),
        ] {
            assert_eq!(of(&card).len(), 1, "{card}");
        }
        let odd = json!({"skills": [{"tags": [7, "type:odd", "agent: "], "examples": [null, "", " ", long], "description": []}]});
        let models = of(&odd);
        assert_eq!((models[1].name.as_str(), models[1].examples.len()), ("odd", 1));
        assert_eq!(models[1].examples[0].chars().count(), TEXT_MAX);
        let many: Vec<Value> = (0..1000)
            .map(|n| json!({"tags": [format!("type:t{n}")]}))
            .collect();
        assert_eq!(of(&json!({ "skills": many })).len(), MODELS_MAX);
    }

    #[test]
    fn what_was_read_is_good_for_a_while() {
        let (last, now) = (LastModels::default(), Timestamp::from_millis(0));
        assert_eq!(last.known(now), None);
        last.keep(&Known::of(&card()), now);
        assert_eq!(
            last.known(now.after(KEPT / 2)).map(|known| known.models.len()),
            Some(3)
        );
        assert_eq!(last.known(now.after(KEPT)), None);
    }
}
