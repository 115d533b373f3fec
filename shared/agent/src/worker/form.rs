//! A form of an executor's own: what its user says to it. Data by the names of its fields, words for one field at a time.
//!
//! A question that opens a form has [`LEAD`] among its metadata, which no message of a user can be taken for. What follows is read
//! against the form's schema alone, until it is complete or declined.

use domain::{Message, Timestamp, UserContext};
use nlu::{Asked, InputSchema, Takes, extract};
use serde_json::{Map, Value};

use crate::{Filled, Outcome, data};

/// Among the metadata of the question that opens a form: who asks.
pub(super) const LEAD: &str = "switchyard/form";

/// A form that was opened, with what was said to it.
pub(super) struct Form {
    lead: String,
    schema: InputSchema,
    given: Map<String, Value>,
    is_declined: bool,
}

impl Form {
    /// The form that a message of the agent opens.
    pub(super) fn opened(message: &Message, schema: &Value) -> Option<Self> {
        Some(Self {
            lead: message.metadata.get(LEAD)?.as_str()?.to_owned(),
            schema: InputSchema::of(schema)?,
            given: Map::new(),
            is_declined: false,
        })
    }

    /// Whether a reply is its.
    pub(super) fn is_open(&self) -> bool {
        !self.is_declined && open(&self.schema, &self.given).is_some()
    }

    /// Reads a reply. What is of the wrong type stays open.
    pub(super) fn hear(&mut self, reply: &Message, now: Timestamp, user: &UserContext) {
        for (name, value) in data::objects(reply).flatten() {
            let one = Map::from_iter([(name.clone(), value.clone())]);
            let is_field = self.schema.fields().any(|(known, _)| known == name);
            if is_field && !value.is_null() && self.schema.misfit_of_fields(&one).is_none() {
                self.given.extend(one);
            }
        }
        let text = reply.text_to_read();
        let Some(name) = open(&self.schema, &self.given).filter(|_| !text.trim().is_empty()) else {
            return;
        };
        let no = words::yes_or_no(&text) == Some(false);
        let read = match self.schema.kind(name) {
            "string" if self.schema.choices(name).next().is_none() => {
                Some(text.trim().into()).filter(|_| !no)
            }
            "number" => text.trim().parse::<f64>().ok().map(Value::from),
            "boolean" => words::yes_or_no(&text).map(Value::from),
            _ => self.read(name, &text, (now, user)),
        };
        let one = read.map(|value| Map::from_iter([(name.to_owned(), value)]));
        match one.filter(|one| self.schema.misfit_of_fields(one).is_none()) {
            Some(one) => self.given.extend(one),
            None => self.is_declined = no,
        }
    }

    /// A number or a choice among words.
    fn read(&self, name: &str, text: &str, (now, user): (Timestamp, &UserContext)) -> Option<Value> {
        let alone = Takes::new(self.schema.of_fields(&[name]).as_json(), &[]);
        let nothing = Map::new();
        let asked = Asked {
            known: &nothing,
            before: &nothing,
            answers: Some(name),
            now,
            user,
        };
        extract(text, &alone, asked).data.remove(name)
    }

    /// What was said, once that is all.
    pub(super) fn filled(&self) -> Option<Filled> {
        match self.is_open() {
            true => None,
            false if self.is_declined => Some(Filled::Declined),
            false => Some(Filled::In(self.given.clone())),
        }
    }

    /// Asks for what is open.
    pub(super) fn ask(&self) -> Outcome {
        let missing = self.schema.missing(&self.given);
        Outcome::Missing {
            question: question(&self.lead, &self.schema, &self.given),
            schema: match missing.as_slice() {
                [] => self.schema.clone(),
                missing => self.schema.of_fields(missing),
            },
        }
    }
}

/// What is asked next.
pub(super) fn question(lead: &str, schema: &InputSchema, given: &Map<String, Value>) -> String {
    let Some(name) = open(schema, given) else {
        return lead.to_owned();
    };
    format!(
        "{lead} – {}{}?",
        schema.described(name).unwrap_or(name),
        how(schema, name)
    )
}

/// The field that is asked for next: those that must be filled in; the first one where none must.
fn open<'s>(schema: &'s InputSchema, given: &Map<String, Value>) -> Option<&'s str> {
    let required = schema.requires();
    match required.is_empty() {
        true => schema
            .fields()
            .next()
            .filter(|_| given.is_empty())
            .map(|(name, _)| name.as_str()),
        false => required.into_iter().find(|name| !given.contains_key(*name)),
    }
}

/// How a field is filled in; nothing where words do it.
fn how(schema: &InputSchema, name: &str) -> String {
    let choices: Vec<&str> = schema.choices(name).map(|(_, told)| told).collect();
    match schema.kind(name) {
        _ if !choices.is_empty() => format!(" ({})", words::listed(&choices, "or")),
        "integer" | "number" => " (a number)".to_owned(),
        "boolean" => " (yes or no)".to_owned(),
        _ => String::new(),
    }
}
