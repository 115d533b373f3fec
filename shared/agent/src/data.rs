//! The data of a message, field by field: what a skill's schema (`a2a::card::inputs`) lets callers say instead of words. Other fields
//! are left alone; what has another type than it should have is asked about.

use std::ops::RangeInclusive;

use chrono::NaiveDate;
use domain::{Message, PartContent};
use serde_json::{Map, Value};

/// The objects among a message's parts.
pub fn objects(message: &Message) -> impl Iterator<Item = &Map<String, Value>> {
    message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Data(Value::Object(fields)) => Some(fields),
        _ => None,
    })
}

/// An object's fields, and the question about the first of them that cannot be read.
#[derive(Debug)]
pub struct Fields<'a> {
    fields: &'a Map<String, Value>,
    asked: Option<String>,
}

impl<'a> Fields<'a> {
    /// The fields of an object.
    #[must_use]
    pub fn of(fields: &'a Map<String, Value>) -> Self {
        Self { fields, asked: None }
    }

    /// A field as `read` takes it; where it is there and cannot be read, what it `must` be is told, with a question.
    pub fn one<T>(&mut self, name: &str, must: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.wrong(name, must);
        }
        read
    }

    /// A day, such as `2026-12-04`.
    pub fn day(&mut self, name: &str) -> Option<NaiveDate> {
        let day = |value: &Value| value.as_str()?.parse().ok();
        self.one(name, "it must be a day such as 2026-12-04. Which day?", day)
    }

    /// A whole number of a range.
    pub fn number(&mut self, name: &str, range: RangeInclusive<u32>, question: &str) -> Option<u32> {
        let (least, most) = (range.start(), range.end());
        let must = format!("it must be a whole number from {least} to {most}. {question}");
        self.one(name, &must, |value| {
            let number = u32::try_from(value.as_u64()?).ok()?;
            range.contains(&number).then_some(number)
        })
    }

    /// Asks about a field, unless another was asked about before.
    pub fn wrong(&mut self, name: &str, must: &str) {
        self.asked
            .get_or_insert_with(|| format!("I cannot read `{name}`: {must}"));
    }

    /// The question, where something cannot be read.
    #[must_use]
    pub fn asked(self) -> Option<String> {
        self.asked
    }
}
