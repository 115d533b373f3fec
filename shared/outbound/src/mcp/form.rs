//! What a server wants to know of its user before it answers: a form of named fields. Only forms are taken; a page to visit, a
//! model's words or folders are refused, as are forms that are more than a few questions. Its texts are foreign: cleaned, capped.

use domain::clean;
use rmcp::model::InputRequiredResult;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::McpError;

const FIELDS_MAX: usize = 8;
const CHOICES_MAX: usize = 20;
const TEXT_MAX: usize = 200;
const NAME_MAX: usize = 64;
/// Most bytes of a server's state that are kept for it.
const STATE_MAX: usize = 16 * 1024;

/// A form that a server wants to have filled in, with what it needs to go on where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpForm {
    /// What the server calls its question.
    id: String,
    /// The server's own, to be given back letter for letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// What it asks.
    pub message: String,
    /// The fields, those that must be filled in first.
    pub fields: Vec<FormField>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormField {
    /// What the server calls it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Whether there is no answer without it.
    pub is_required: bool,
    /// What it takes.
    pub kind: FieldKind,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// Words.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Truth,
    /// One of these: what is sent, and what is shown of it.
    Choice(Vec<(String, String)>),
}

/// What a user said to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// These fields.
    In(Map<String, Value>),
    /// That it stays empty.
    Declined,
}

impl McpForm {
    /// The form of a server's question.
    ///
    /// # Errors
    /// [`McpError::Asks`] where it wants something else, or too much.
    pub(super) fn of(asked: &InputRequiredResult) -> Result<Self, McpError> {
        let wants = |what: &str| McpError::Asks(what.to_owned());
        let state = asked.request_state.clone();
        let mut requests = asked.input_requests.iter().flatten();
        let (Some((id, request)), None) = (requests.next(), requests.next()) else {
            return Err(wants("input"));
        };
        let request = serde_json::to_value(request).unwrap_or_default();
        if request
            .get("method")
            .is_none_or(|method| method != "elicitation/create")
        {
            return Err(wants("something that is no form"));
        }
        let params = request.get("params").unwrap_or(&Value::Null);
        if params.get("mode").is_some_and(|mode| mode != "form") {
            return Err(wants("a visit to a page"));
        }
        if state.as_ref().is_some_and(|state| state.len() > STATE_MAX) || id.len() > STATE_MAX {
            return Err(wants("more than can be kept"));
        }
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let fields = params.get("requestedSchema").and_then(fields);
        Ok(Self {
            id: id.clone(),
            state,
            message: clean(message, TEXT_MAX),
            fields: fields.ok_or_else(|| wants("a form that cannot be read"))?,
        })
    }

    /// The server's state, as it was.
    pub(super) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The answer, under the server's name of its question.
    pub(super) fn answer(&self, filled: &Filled) -> (String, Value) {
        let answer = match filled {
            Filled::In(content) => json!({"action": "accept", "content": content}),
            Filled::Declined => json!({"action": "decline"}),
        };
        (self.id.clone(), answer)
    }
}

/// The fields of a form's schema; `None` where one of them is of no kind that is known.
fn fields(schema: &Value) -> Option<Vec<FormField>> {
    let properties = schema.get("properties")?.as_object()?;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = properties.iter().map(|(name, field)| {
        let told = |key: &str| {
            field
                .get(key)
                .and_then(Value::as_str)
                .map(|text| clean(text, TEXT_MAX))
        };
        let title = told("title").or_else(|| told("description"));
        Some(FormField {
            title: title.unwrap_or_else(|| clean(name, NAME_MAX)),
            is_required: required.contains(&name.as_str()),
            kind: kind(field)?,
            name: Some(name.clone()).filter(|name| name.len() <= NAME_MAX)?,
        })
    });
    let mut fields = fields.collect::<Option<Vec<_>>>()?;
    fields.sort_by_key(|field| !field.is_required);
    (1..=FIELDS_MAX).contains(&fields.len()).then_some(fields)
}

fn kind(field: &Value) -> Option<FieldKind> {
    match field.get("type")?.as_str()? {
        "string" => choices(field),
        "number" => Some(FieldKind::Number),
        "integer" => Some(FieldKind::Integer),
        "boolean" => Some(FieldKind::Truth),
        _ => None,
    }
}

/// `enum`, with or without `enumNames`, and `oneOf` of `const` and `title`; words where there is neither.
fn choices(field: &Value) -> Option<FieldKind> {
    let list = |key: &str| field.get(key).and_then(Value::as_array);
    let told: Vec<(&str, &str)> = match (list("enum"), list("oneOf")) {
        (None, None) => return Some(FieldKind::Text),
        (Some(values), _) => {
            let shown = |at: usize| list("enumNames").and_then(|names| names.get(at)?.as_str());
            let told = values.iter().enumerate().map(|(at, value)| {
                let value = value.as_str()?;
                Some((value, shown(at).unwrap_or(value)))
            });
            told.collect::<Option<_>>()?
        }
        (None, Some(choices)) => {
            let told = choices.iter().map(|choice| {
                let value = choice.get("const")?.as_str()?;
                Some((
                    value,
                    choice.get("title").and_then(Value::as_str).unwrap_or(value),
                ))
            });
            told.collect::<Option<_>>()?
        }
    };
    let fits = |(value, _): &(&str, &str)| value.len() <= TEXT_MAX;
    let is_list = (1..=CHOICES_MAX).contains(&told.len()) && told.iter().all(fits);
    let choice = |(value, shown): (&str, &str)| (value.to_owned(), clean(shown, NAME_MAX));
    is_list.then(|| FieldKind::Choice(told.into_iter().map(choice).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(asked: Value) -> Result<McpForm, McpError> {
        McpForm::of(&serde_json::from_value(asked).unwrap())
    }

    fn wanting(params: Value) -> Value {
        json!({
            "resultType": "input_required", "requestState": "s1",
            "inputRequests": {"q": {"method": "elicitation/create", "params": params}},
        })
    }

    #[test]
    fn a_form_is_taken_in_cleaned_with_what_must_be_filled_in_first() {
        let form = form(wanting(json!({
            "mode": "form", "message": "Which\u{202e} kind?",
            "requestedSchema": {"type": "object", "required": ["kind"], "properties": {
                "beds": {"type": "integer", "title": "Beds"},
                "kind": {"type": "string", "enum": ["f", "h"], "enumNames": ["Flat", "House"]},
            }},
        })))
        .unwrap();
        assert_eq!((form.message.as_str(), form.state()), ("Which kind?", Some("s1")));
        let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["kind", "beds"]);
        assert_eq!(
            form.fields[0].kind,
            FieldKind::Choice(vec![("f".into(), "Flat".into()), ("h".into(), "House".into())])
        );
        let answer = form.answer(&Filled::In(Map::from_iter([("kind".to_owned(), "f".into())])));
        assert_eq!(
            answer,
            (
                "q".to_owned(),
                json!({"action": "accept", "content": {"kind": "f"}})
            )
        );
    }

    #[test]
    fn whatever_is_no_form_is_refused() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let url =
            json!({"mode": "url", "message": "Sign in", "url": "https://evil.example", "elicitationId": "e"});
        let large = json!({
            "resultType": "input_required", "requestState": "s".repeat(STATE_MAX + 1),
            "inputRequests": {"q": {"method": "elicitation/create",
                "params": {"mode": "form", "message": "?", "requestedSchema": schema}}},
        });
        for (asked, what) in [
            (
                json!({"resultType": "input_required", "inputRequests": {}}),
                "input",
            ),
            (
                json!({"resultType": "input_required", "requestState": "s"}),
                "input",
            ),
            (wanting(url), "a visit to a page"),
            (
                json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}),
                "no form",
            ),
            (large, "more than can be kept"),
            (
                wanting(json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}})),
                "cannot be read",
            ),
        ] {
            let refused = form(asked.clone()).unwrap_err().to_string();
            assert!(refused.contains(what), "{asked}: {refused}");
        }
    }
}
