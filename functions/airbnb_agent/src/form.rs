//! A form of the server's, filled in by what its user says: data by the names of its fields, words for one field at a time.

use domain::{Message, PartContent};
use outbound::mcp::{FieldKind, Filled, FormField, McpForm};
use serde_json::{Map, Value};

/// Most characters of an answer.
const TEXT_MAX: usize = 200;

/// The form as these replies fill it in.
///
/// # Errors
/// The question to ask.
pub(crate) fn filled(form: &McpForm, replies: &[&Message]) -> Result<Filled, String> {
    let mut given = Map::new();
    for reply in replies {
        for part in &reply.parts {
            if let PartContent::Data(Value::Object(data)) = &part.content {
                let named = form.fields.iter().filter_map(|field| {
                    let value = data.get(&field.name).filter(|value| fits(&field.kind, value))?;
                    Some((field.name.clone(), value.clone()))
                });
                given.extend(named);
            }
        }
        let text = reply.text_to_read();
        let (text, Some(field)) = (text.trim(), open(form, &given)) else {
            continue;
        };
        match read(&field.kind, text) {
            Some(value) => _ = given.insert(field.name.clone(), value),
            None if words::yes_or_no(text) == Some(false) => return Ok(Filled::Declined),
            None => {}
        }
    }
    match open(form, &given) {
        None => Ok(Filled::In(given)),
        Some(field) => Err(question(form, field)),
    }
}

/// What the form asks first.
pub(crate) fn first_question(form: &McpForm) -> String {
    match open(form, &Map::new()) {
        Some(field) => question(form, field),
        None => form.message.clone(),
    }
}

/// The field that is asked for next: those that must be filled in; the first one where none must.
fn open<'f>(form: &'f McpForm, given: &Map<String, Value>) -> Option<&'f FormField> {
    let is_open = |field: &&FormField| field.is_required && !given.contains_key(&field.name);
    match form.fields.iter().any(|field| field.is_required) {
        true => form.fields.iter().find(is_open),
        false => form.fields.first().filter(|_| given.is_empty()),
    }
}

fn question(form: &McpForm, field: &FormField) -> String {
    let how = match &field.kind {
        FieldKind::Text => String::new(),
        FieldKind::Number | FieldKind::Integer => " (a number)".to_owned(),
        FieldKind::Truth => " (yes or no)".to_owned(),
        FieldKind::Choice(choices) => {
            let shown: Vec<&str> = choices.iter().map(|(_, shown)| shown.as_str()).collect();
            format!(" ({})", words::listed(&shown, "or"))
        }
    };
    format!(
        "The accommodation service asks: {} – {}{how}?",
        form.message, field.title
    )
}

fn read(kind: &FieldKind, text: &str) -> Option<Value> {
    match kind {
        FieldKind::Text => {
            let fits = !text.is_empty() && text.chars().count() <= TEXT_MAX;
            (fits && words::yes_or_no(text) != Some(false)).then(|| text.into())
        }
        FieldKind::Number => text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(Value::from),
        FieldKind::Integer => text.parse::<i64>().ok().map(Value::from),
        FieldKind::Truth => words::yes_or_no(text).map(Value::from),
        FieldKind::Choice(choices) => {
            let said = text.to_lowercase();
            let is_said = |(value, shown): &&(String, String)| {
                value.to_lowercase() == said || shown.to_lowercase() == said
            };
            choices
                .iter()
                .find(is_said)
                .map(|(value, _)| value.clone().into())
        }
    }
}

fn fits(kind: &FieldKind, value: &Value) -> bool {
    match kind {
        FieldKind::Text => value
            .as_str()
            .is_some_and(|text| text.chars().count() <= TEXT_MAX),
        FieldKind::Number => value.is_number(),
        FieldKind::Integer => value.is_i64(),
        FieldKind::Truth => value.is_boolean(),
        FieldKind::Choice(choices) => choices.iter().any(|(choice, _)| value == choice.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use domain::{MessageId, Part};
    use serde_json::json;

    use super::*;

    fn field(name: &str, is_required: bool, kind: Value) -> Value {
        json!({"name": name, "title": name, "is_required": is_required, "kind": kind})
    }

    fn form(fields: &[Value]) -> McpForm {
        serde_json::from_value(json!({"id": "q", "message": "More, please", "fields": fields})).unwrap()
    }

    fn said(parts: Vec<Part>) -> Message {
        Message::user(MessageId::derived("m"), parts)
    }

    fn answers(form: &McpForm, replies: &[Message]) -> Result<Filled, String> {
        filled(form, &replies.iter().collect::<Vec<_>>())
    }

    #[test]
    fn words_fill_in_one_field_after_another() {
        let choice = json!({"choice": [["f", "Flat"], ["h", "House"]]});
        let form = form(&[
            field("kind", true, choice),
            field("beds", true, json!("integer")),
            field("pets", false, json!("truth")),
        ]);
        let words = ["a boat", "flat", "many", "2"].map(|text| said(vec![Part::text(text)]));
        let asked = |replies: &[Message]| answers(&form, replies).unwrap_err();
        assert_eq!(
            asked(&[]),
            "The accommodation service asks: More, please – kind (Flat or House)?"
        );
        assert_eq!(asked(&words[..1]), asked(&[]));
        assert!(asked(&words[..3]).ends_with("beds (a number)?"));
        let expected = Map::from_iter([("kind".to_owned(), json!("f")), ("beds".to_owned(), json!(2))]);
        assert_eq!(answers(&form, &words), Ok(Filled::In(expected)));
    }

    #[test]
    fn data_fills_in_all_fields_at_once_and_wrong_types_stay_open() {
        let form = form(&[
            field("beds", true, json!("integer")),
            field("pets", true, json!("truth")),
        ]);
        let whole = said(vec![Part::data(json!({"beds": 2, "pets": false, "else": 1}))]);
        let expected = Map::from_iter([("beds".to_owned(), json!(2)), ("pets".to_owned(), json!(false))]);
        assert_eq!(answers(&form, &[whole]), Ok(Filled::In(expected)));
        let wrong = said(vec![Part::data(json!({"beds": "two", "pets": 1}))]);
        assert!(answers(&form, &[wrong]).unwrap_err().contains("beds"));
    }

    #[test]
    fn no_leaves_it_empty_but_for_a_question_of_yes_or_no() {
        let no = || [said(vec![Part::text("no")])];
        let text = form(&[field("name", true, json!("text"))]);
        assert_eq!(answers(&text, &no()), Ok(Filled::Declined));
        let truth = form(&[field("pets", true, json!("truth"))]);
        assert_eq!(
            answers(&truth, &no()),
            Ok(Filled::In(Map::from_iter([("pets".to_owned(), json!(false))])))
        );
    }

    #[test]
    fn a_form_without_duties_takes_one_answer() {
        let form = form(&[field("note", false, json!("text"))]);
        assert!(answers(&form, &[]).is_err());
        assert!(answers(&form, &[said(vec![Part::text("quiet, please")])]).is_ok());
        assert!(answers(&form, &[said(vec![Part::text("x".repeat(1_000))])]).is_err());
    }
}
