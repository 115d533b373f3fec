//! A form of the server's, as what its user is asked to fill in.

use agent::Filled;
use nlu::InputSchema;
use outbound::mcp::{self, FieldKind, McpForm};
use serde_json::{Map, Value, json};

/// Most characters of an answer.
const TEXT_MAX: usize = 200;

/// The form's fields; `None` where they cannot be shown as they are.
pub(crate) fn schema(form: &McpForm) -> Option<InputSchema> {
    let fields = form.fields.iter().map(|field| {
        let told = &field.title;
        let asked = match &field.kind {
            FieldKind::Text => json!({"type": "string", "maxLength": TEXT_MAX, "description": told}),
            FieldKind::Number => json!({"type": "number", "description": told}),
            FieldKind::Integer => json!({"type": "integer", "description": told}),
            FieldKind::Truth => json!({"type": "boolean", "description": told}),
            FieldKind::Choice(choices) => {
                let choices = choices
                    .iter()
                    .map(|(value, told)| json!({"const": value, "description": told}));
                json!({"type": "string", "oneOf": choices.collect::<Value>(), "description": told})
            }
        };
        (field.name.clone(), asked)
    });
    let fields: Map<String, Value> = fields.collect();
    // Of a form without duties the first field is asked for.
    let must = form.fields.iter().any(|field| field.is_required);
    let required = form.fields.iter().take(if must { usize::MAX } else { 1 });
    let required = required.filter(|field| field.is_required || !must);
    let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
    let schema = InputSchema::of(&json!({"type": "object", "properties": fields, "required": required}))?;
    // What is sent to the server is what it has, letter for letter.
    let is_kept = |field: &mcp::FormField| match &field.kind {
        FieldKind::Choice(choices) => schema
            .choices(&field.name)
            .map(|(value, _)| value)
            .eq(choices.iter().map(|(value, _)| value)),
        _ => schema.fields().any(|(name, _)| *name == field.name),
    };
    form.fields.iter().all(is_kept).then_some(schema)
}

/// Who asks, and for what.
pub(crate) fn lead(form: &McpForm) -> String {
    format!(
        "The accommodation service, not Switchyard, asks: {}",
        form.message
    )
}

/// What was said to it, for the server.
pub(crate) fn answer(filled: &Filled) -> mcp::Filled {
    match filled {
        Filled::In(fields) => mcp::Filled::In(fields.clone()),
        Filled::Declined => mcp::Filled::Declined,
    }
}
