//! How an agent and the types look on the wire.

use std::collections::BTreeMap;

use domain::{AgentType, Tag, Timestamp, TypeScope};
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::{CardSignature, DeclaredType, Health, RegisteredAgent};

use crate::pinned;
use crate::rules::indexed;

/// A registered agent, as its readers see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentView {
    id: String,
    tenant: Option<String>,
    card_url: String,
    /// As fetched, with the tags given at registration in each skill that got them.
    card: Value,
    health: Health,
    /// False where its operator has switched it off, so that no host is offered it.
    enabled: bool,
    /// What the signatures of the card as fetched said.
    signature: CardSignature,
    registered_at: Timestamp,
    /// Where it may send users to sign in, beside its card's host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    link_hosts: Vec<String>,
    /// What its card says now, where that is something else than what was registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<PendingView>,
    /// What of it will not work, where that was tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The types that its registration declared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    declared: Vec<AgentType>,
}

/// A card that waits for a word.
#[derive(Serialize)]
struct PendingView {
    since: Timestamp,
    /// What an approval of it names.
    pin: String,
    changes: Vec<pinned::Change>,
}

impl AgentView {
    /// An agent that was tried just now, and what types that declared.
    pub(crate) fn warned(agent: RegisteredAgent, warnings: Vec<String>, declared: Vec<AgentType>) -> Self {
        Self {
            warnings,
            declared,
            ..Self::from(agent)
        }
    }
}

impl From<RegisteredAgent> for AgentView {
    fn from(agent: RegisteredAgent) -> Self {
        let pending = agent.pending.as_ref().map(|pending| PendingView {
            since: pending.since,
            pin: pinned::pin(&pending.card),
            changes: pinned::changes(&agent.card, &pending.card),
        });
        Self {
            id: agent.id.to_string(),
            tenant: agent.tenant.map(|tenant| tenant.prefix().to_owned()),
            card_url: agent.card_url.to_string(),
            card: tagged(agent.card, &agent.skills),
            health: agent.health,
            enabled: !agent.disabled,
            signature: agent.signature,
            registered_at: agent.registered_at,
            link_hosts: agent.link_hosts,
            pending,
            warnings: Vec::new(),
            declared: Vec::new(),
        }
    }
}

/// The card whose skills carry every tag they are found by.
fn tagged(mut card: Value, found_by: &[Vec<Tag>]) -> Value {
    let skills = card.get_mut("skills").and_then(Value::as_array_mut);
    for (skill, tags) in skills.into_iter().flatten().zip(found_by) {
        let Some(words) = skill.get_mut("tags").and_then(Value::as_array_mut) else {
            let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
            if let Some(fields) = skill.as_object_mut() {
                fields.insert("tags".to_owned(), tags.into());
            }
            continue;
        };
        // A plain word that it is found by stands there already.
        let plain: Vec<Tag> = words
            .iter()
            .filter_map(Value::as_str)
            .filter_map(indexed)
            .collect();
        for tag in tags.iter().filter(|tag| !plain.contains(tag)) {
            let tag = tag.to_string();
            if !words.iter().any(|word| *word == tag) {
                words.push(tag.into());
            }
        }
    }
    card
}

/// Every declared type with its scope. The vocabulary is the platform's, the same for all tenants.
fn types(declared: &[DeclaredType]) -> BTreeMap<&str, TypeScope> {
    let types = declared.iter();
    types.map(|known| (known.name.as_str(), known.scope)).collect()
}

/// The field with all of them, and beside it, where there are such, one with those whose agents are private.
pub(crate) fn with_types(mut body: Map<String, Value>, declared: &[DeclaredType]) -> Value {
    let private = declared.iter().filter(|known| known.private);
    let private: Vec<&str> = private.map(|known| known.name.as_str()).collect();
    body.insert("types".to_owned(), json!(types(declared)));
    if !private.is_empty() {
        body.insert("privateTypes".to_owned(), json!(private));
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_carries_the_tags_it_is_found_by() {
        let card = json!({"skills": [{"id": "a", "tags": ["demo", "lang:py"]}, {"id": "b"}]});
        let tag = |text| Tag::parse(text).unwrap();
        let found_by = [
            vec![tag("lang:py"), tag("type:echo"), tag("tag:demo")],
            vec![tag("type:echo")],
        ];
        let expect = json!([
            {"id": "a", "tags": ["demo", "lang:py", "type:echo"]},
            {"id": "b", "tags": ["type:echo"]},
        ]);
        assert_eq!(tagged(card, &found_by)["skills"], expect);
        assert_eq!(tagged(json!({"skills": 7}), &found_by), json!({"skills": 7}));
    }
}
