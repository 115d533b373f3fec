//! The protobuf form that 0.3 had over REST, as a change of JSON to JSON: `content` for a message's parts,
//! `ROLE_USER`, `TASK_STATE_…`, files by `fileWithUri` and `fileWithBytes`, data one level deeper, no `kind`.

use serde_json::{Map, Value, json};

use crate::lenient::{decode_base64, encode_base64};

/// Free data, which neither way looks into.
const FREE: [&str; 2] = ["metadata", "data"];

/// Plain 0.3 JSON in the protobuf form.
pub(crate) fn to_proto(plain: Value) -> Value {
    match plain {
        Value::Array(items) => items.into_iter().map(to_proto).collect(),
        Value::Object(fields) => {
            let is_message = fields.contains_key("messageId");
            let is_configuration = fields.contains_key("blocking");
            let mut proto = Map::new();
            for (name, value) in fields {
                let (name, value) = match (name.as_str(), value) {
                    // `referenceTaskIds` came with 1.0's protobuf.
                    ("kind" | "referenceTaskIds", _) => continue,
                    ("parts", value) if is_message => ("content".to_owned(), to_proto(value)),
                    ("role", Value::String(role)) => (name, json!(format!("ROLE_{}", role.to_uppercase()))),
                    ("state", Value::String(state)) => (name, json!(state_out(&state))),
                    ("data", value) => (name, json!({ "data": value })),
                    ("file", value) => (name, file_out(value)),
                    ("pushNotificationConfig", value) if is_configuration => {
                        ("pushNotification".to_owned(), value)
                    }
                    (free, value) if FREE.contains(&free) => (name, value),
                    (_, value) => (name, to_proto(value)),
                };
                proto.insert(name, value);
            }
            Value::Object(proto)
        }
        other => other,
    }
}

/// The protobuf form as plain 0.3 JSON, and whether it was that form. Plain JSON passes unchanged.
pub(crate) fn from_proto(told: Value) -> (Value, bool) {
    let mut was_proto = false;
    (plain(told, &mut was_proto), was_proto)
}

fn plain(told: Value, was_proto: &mut bool) -> Value {
    match told {
        Value::Array(items) => items.into_iter().map(|item| plain(item, was_proto)).collect(),
        Value::Object(fields) => {
            let is_part = !fields.contains_key("kind");
            let mut read = Map::new();
            for (name, value) in fields {
                let (name, value) = match (name.as_str(), value) {
                    ("content", value @ Value::Array(_)) => {
                        (proto("parts", was_proto), plain(value, was_proto))
                    }
                    ("request", value) => (proto("message", was_proto), plain(value, was_proto)),
                    ("pushNotification", value) => (proto("pushNotificationConfig", was_proto), value),
                    ("role", Value::String(role)) => match role.strip_prefix("ROLE_") {
                        Some(role) => (proto("role", was_proto), json!(role.to_lowercase())),
                        None => (name, Value::String(role)),
                    },
                    ("state", Value::String(state)) => match state.strip_prefix("TASK_STATE_") {
                        Some(state) => (proto("state", was_proto), json!(state_in(state))),
                        None => (name, Value::String(state)),
                    },
                    ("data", Value::Object(mut data)) if is_part && is_wrapped(&data) => {
                        (proto("data", was_proto), data.remove("data").unwrap_or_default())
                    }
                    ("file", value) => (name, file_in(value)),
                    (free, value) if FREE.contains(&free) => (name, value),
                    (_, value) => (name, plain(value, was_proto)),
                };
                read.insert(name, value);
            }
            Value::Object(read)
        }
        other => other,
    }
}

fn proto(name: &str, was_proto: &mut bool) -> String {
    *was_proto = true;
    name.to_owned()
}

/// `{"data": {…}}` and nothing else, in a part without a `kind`.
fn is_wrapped(data: &Map<String, Value>) -> bool {
    data.len() == 1 && data.get("data").is_some_and(Value::is_object)
}

fn state_out(state: &str) -> String {
    match state {
        "unknown" => "TASK_STATE_UNSPECIFIED".to_owned(),
        // With two L in 0.3's protobuf.
        "canceled" => "TASK_STATE_CANCELLED".to_owned(),
        other => format!("TASK_STATE_{}", other.to_uppercase().replace('-', "_")),
    }
}

fn state_in(state: &str) -> String {
    match state {
        "UNSPECIFIED" => "unknown".to_owned(),
        "CANCELLED" => "canceled".to_owned(),
        other => other.to_lowercase().replace('_', "-"),
    }
}

/// The field is `bytes`, and the official SDK put the base64 text there: in JSON it is base64 twice.
fn file_out(mut file: Value) -> Value {
    let fields = file.as_object_mut().map(std::mem::take).unwrap_or_default();
    let fields = fields
        .into_iter()
        .map(|(name, value)| match (name.as_str(), value) {
            ("bytes", Value::String(text)) => {
                ("fileWithBytes".to_owned(), json!(encode_base64(text.as_bytes())))
            }
            ("uri", value) => ("fileWithUri".to_owned(), value),
            (_, value) => (name, value),
        });
    Value::Object(fields.collect())
}

fn file_in(mut file: Value) -> Value {
    let Some(fields) = file.as_object_mut().map(std::mem::take) else {
        return file;
    };
    let fields = fields
        .into_iter()
        .map(|(name, value)| match (name.as_str(), value) {
            ("fileWithBytes", Value::String(text)) => ("bytes".to_owned(), Value::String(once(text))),
            ("fileWithUri", value) => ("uri".to_owned(), value),
            (_, value) => (name, value),
        });
    Value::Object(fields.collect())
}

/// Base64 that is base64 twice, once; anything else as it is.
fn once(text: String) -> String {
    let inner = decode_base64(&text).and_then(|bytes| String::from_utf8(bytes).ok());
    match inner {
        Some(inner) if !inner.is_empty() && decode_base64(&inner).is_some() => inner,
        _ => text,
    }
}
