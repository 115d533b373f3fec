//! The data of a message: what a skill's schema (`a2a::card::inputs`) lets callers say instead of words.

use domain::{Message, PartContent};
use serde_json::{Map, Value};

/// The objects among a message's parts.
pub fn objects(message: &Message) -> impl Iterator<Item = &Map<String, Value>> {
    message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Data(Value::Object(fields)) => Some(fields),
        _ => None,
    })
}
