//! The lenient step before any foreign JSON is read: `snake_case` names become `camelCase`, `null` means absent, base64
//! of any dialect becomes the standard one, enums by number get their names, as ProtoJSON has it. Free data (`data`,
//! `metadata`) passes untouched. Depth is bounded here.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};
use serde_json::{Map, Value};

/// Deepest nesting that is read: what is stored around it later must still be readable itself.
const MAX_DEPTH: usize = 64;

/// Names whose values are free data.
const FREE: [&str; 4] = ["data", "metadata", "params", "header"];

const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What is wrong with foreign JSON; the binding makes its own error of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) String);

impl Fault {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self(crate::error::capped(&error.to_string(), 300))
    }
}

impl From<domain::InvalidId> for Fault {
    fn from(error: domain::InvalidId) -> Self {
        Self(error.to_string())
    }
}

/// The value with the one spelling that the types know.
pub(crate) fn tidy(value: &Value) -> Result<Value, Fault> {
    walk(value, 0, false)
}

/// The same of what stands a few levels deep in something else: a part of a task, or its free data.
pub(crate) fn tidy_below(value: &Value) -> Result<Value, Fault> {
    /// The deepest place that such a thing has in an answer.
    const LEVELS: usize = 8;
    walk(value, LEVELS, false)
}

fn walk(value: &Value, depth: usize, free: bool) -> Result<Value, Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::new("the JSON is nested too deeply"));
    }
    match value {
        Value::Array(items) => items.iter().map(|item| walk(item, depth + 1, free)).collect(),
        Value::Object(fields) if free => fields
            .iter()
            .map(|(name, value)| Ok((name.clone(), walk(value, depth + 1, true)?)))
            .collect(),
        Value::Object(fields) => object(fields, depth),
        other => Ok(other.clone()),
    }
}

fn object(fields: &Map<String, Value>, depth: usize) -> Result<Value, Fault> {
    let mut tidied = Map::new();
    for (name, value) in fields {
        let camel = camel(name);
        // Where both spellings are there, the one that the specification writes wins.
        if camel != *name && fields.contains_key(&camel) {
            continue;
        }
        // `null` is a value only where any JSON is one.
        if value.is_null() && camel != "data" {
            continue;
        }
        let free = FREE.contains(&camel.as_str());
        let value = match value {
            Value::String(text) if camel == "raw" => {
                standard_base64(text).map_or_else(|| value.clone(), Value::String)
            }
            Value::Number(number) => number
                .as_u64()
                .and_then(|number| enum_name(&camel, number))
                .map_or_else(|| value.clone(), Value::from),
            _ => walk(value, depth + 1, free)?,
        };
        tidied.insert(camel, value);
    }
    Ok(Value::Object(tidied))
}

/// The name of an enum's value that was given by its number; `None` where the field is no enum, or the number no value.
pub(crate) fn enum_name(field: &str, number: u64) -> Option<&'static str> {
    const ROLES: [&str; 3] = ["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];
    const STATES: [&str; 9] = [
        "TASK_STATE_UNSPECIFIED",
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_AUTH_REQUIRED",
    ];
    let names: &[&str] = match field {
        "role" => &ROLES,
        // A list is filtered by `status`.
        "state" | "status" => &STATES,
        _ => return None,
    };
    names.get(usize::try_from(number).ok()?).copied()
}

/// `task_id` as `taskId`.
fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut raise = false;
    for letter in name.chars() {
        if letter == '_' && !camel.is_empty() {
            raise = true;
        } else if raise {
            camel.push(letter.to_ascii_uppercase());
            raise = false;
        } else {
            camel.push(letter);
        }
    }
    camel
}

/// Base64 of either alphabet, padded or not, as standard base64 with padding; `None` where it is none.
pub(crate) fn standard_base64(text: &str) -> Option<String> {
    decode_base64(text).map(|bytes| STANDARD.encode(bytes))
}

/// The bytes of base64 of either alphabet, padded or not.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.replace('-', "+").replace('_', "/");
    ANY_PADDING.decode(text).ok()
}

/// Bytes as standard base64.
pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A text that is there and not empty: protobuf's JSON may write an unset string as `""`.
pub(crate) fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_nulls_are_tidied_but_free_data_is_not() {
        let told = json!({
            "task_id": "t", "context_id": "old", "contextId": "new", "status": null,
            "parts": [{"data": null}, {"data": {"snake_case": null}}, {"raw": "_-8"}],
            "metadata": {"a_b": null},
        });
        let tidied = json!({
            "taskId": "t", "contextId": "new",
            "parts": [{"data": null}, {"data": {"snake_case": null}}, {"raw": "/+8="}],
            "metadata": {"a_b": null},
        });
        assert_eq!(tidy(&told), Ok(tidied));
    }

    #[test]
    fn enums_by_number_get_their_names() {
        let told = json!({ "role": 1, "state": 8, "status": 2, "count": 1, "data": { "role": 1 } });
        let tidied = json!({
            "role": "ROLE_USER", "state": "TASK_STATE_AUTH_REQUIRED", "status": "TASK_STATE_WORKING", "count": 1,
            "data": { "role": 1 },
        });
        assert_eq!(tidy(&told), Ok(tidied));
        for none in [
            json!({ "role": 3 }),
            json!({ "role": -1 }),
            json!({ "state": 1.5 }),
            json!({ "state": 9 }),
        ] {
            assert_eq!(tidy(&none), Ok(none.clone()));
        }
    }

    #[test]
    fn depth_is_bounded_in_free_data_too() {
        let mut deep = json!(1);
        for _ in 0..80 {
            deep = json!([deep]);
        }
        assert!(tidy(&json!({ "parts": deep.clone() })).is_err());
        assert!(tidy(&json!({ "metadata": deep })).is_err());
    }
}
