//! Our extension of the card for agents that take data: a JSON Schema of what each skill takes.

use domain::Metadata;
use serde_json::{Map, Value, json};

use super::Extension;

/// What the extension is called by. Its `params` have `schemas`: by the id of a skill the JSON Schema of an object, of 4 KB at
/// most. Whoever sends such an object as a data part of a message has said the same in words that a program reads; what the
/// data leaves open the agent takes from the words, fields that it does not know it ignores, and what has the wrong type it
/// asks about. Nobody has to know the extension: words alone are always enough.
pub const INPUTS: &str = "urn:switchyard:a2a:inputs:v1";

/// The extension as an agent publishes it, with the schemas of its skills.
#[must_use]
pub fn inputs<'a>(schemas: impl IntoIterator<Item = (&'a str, Value)>) -> Extension {
    let schemas: Map<String, Value> = schemas
        .into_iter()
        .map(|(skill, schema)| (skill.to_owned(), schema))
        .collect();
    Extension {
        uri: INPUTS.to_owned(),
        description: "What each skill takes as a data part beside or instead of words, as a JSON Schema by the skill's id. \
                      What data leaves open is read from the words."
            .to_owned(),
        required: false,
        params: Metadata::from_iter([("schemas".to_owned(), json!(schemas))]),
    }
}

/// The schemas of a card that somebody else wrote.
pub(super) struct Inputs<'a>(Option<&'a Map<String, Value>>);

impl<'a> Inputs<'a> {
    pub(super) fn of(card: &'a Value) -> Self {
        let all = card.pointer("/capabilities/extensions").and_then(Value::as_array);
        let mut all = all.into_iter().flatten();
        let ours = all.find(|extension| extension.get("uri").is_some_and(|uri| uri == INPUTS));
        Self(ours.and_then(|ours| ours.pointer("/params/schemas")?.as_object()))
    }

    /// What a skill takes; `None` where nothing is said of it.
    pub(super) fn of_skill(&self, id: &str) -> Option<Value> {
        let schema = self.0?.get(id)?;
        schema.is_object().then(|| schema.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_of_a_card_are_found_by_their_skills() {
        let card = |schemas: Value| {
            json!({"capabilities": {"extensions": [
                {"uri": "urn:other"}, {"uri": INPUTS, "params": {"schemas": schemas}},
            ]}})
        };
        let told = card(json!({"a": {"type": "object"}, "c": "object"}));
        let inputs = Inputs::of(&told);
        assert_eq!(inputs.of_skill("a"), Some(json!({"type": "object"})));
        for none in ["c", "d"] {
            assert_eq!(inputs.of_skill(none), None, "{none}");
        }
        for told in [
            json!({}),
            json!({"capabilities": {"extensions": 7}}),
            card(json!([1])),
        ] {
            assert_eq!(Inputs::of(&told).of_skill("a"), None, "{told}");
        }
    }
}
