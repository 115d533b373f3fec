//! What an agent takes as data, and how people ask it.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use words::{Glossary, phrases};

use super::one_of::OneOf;
use super::vocabulary::{Vocabulary, is_function_word};
use crate::InputSchema;
use crate::input::choices_of;

/// A schema, and how people ask for what it describes.
#[derive(Debug, Clone, Default)]
pub struct Takes {
    schema: InputSchema,
    /// The fields, in the order in which they are read.
    pub(super) fields: Vec<Field>,
    /// The words of examples around their values.
    pub(super) asking: Vocabulary,
    /// Two words that stand before a value: "report about".
    pub(super) leads: HashSet<[String; 2]>,
    /// The second of the two.
    pub(super) prepositions: HashSet<String>,
    /// Words that stand behind a value and are none of it.
    pub(super) ends: HashSet<String>,
    /// What all of it is about, in small letters, so that it is no part of a name.
    topic: HashSet<String>,
    /// What words of other languages are in English.
    pub(super) abroad: Option<Arc<Glossary>>,
}

/// A field, and how its value is told.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) slot: Slot,
    /// What it is called.
    pub(super) vocabulary: Vocabulary,
    /// The value where it is spoken of and none is named.
    pub(super) usual: Option<Value>,
}

/// The kinds of values that words tell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    /// A list of ids.
    Ids,
    /// A number with its noun.
    Count,
    /// One of these.
    Choice(Vec<OneOf>),
    /// Several of these at once.
    Several(Vec<OneOf>),
    /// Names of places.
    Places,
    /// The name of one place.
    Place,
    /// One of the values of a stay.
    Stay(&'static str),
    /// Days.
    Days,
    /// A time of the day, as it is said.
    Time,
    /// A part of each day.
    Hours,
    /// How many minutes something takes.
    Length,
    /// Whose clock times are by.
    Zone,
    /// Whether a yes or a no is wanted.
    YesNo,
    /// Places and days that belong together.
    Parts,
    /// What is said to a question of the agent's, in turn.
    Answers,
    /// A number, or a truth, that is all that is said.
    Alone,
    /// What is left, phrase by phrase.
    Rest,
    /// What is left.
    Text,
    /// Nothing but data tells it.
    Data,
}

/// What is said of a stay, by the format of its field. Prices are those of a night or of the stay, as `price-per` says.
const STAY: [&str; 10] = [
    "arrival",
    "departure",
    "nights",
    "adults",
    "children",
    "infants",
    "price-least",
    "price-most",
    "price-per",
    "price-currency",
];

impl Takes {
    /// Reads a schema, and examples of what people say; in an example, a value of the text field may stand in braces. A schema that
    /// is no object's, or too large, has no fields.
    #[must_use]
    pub fn new(schema: &Value, examples: &[&str]) -> Self {
        let schema = InputSchema::of(schema).unwrap_or_default();
        let fields = schema.fields().map(|(name, field)| Field::of(name, field));
        let mut takes = Self {
            fields: fields.collect(),
            schema,
            ..Self::default()
        };
        // What is left is read last.
        takes.fields.sort_by_key(Field::rank);
        for example in examples {
            takes.learn(example);
        }
        takes
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &InputSchema {
        &self.schema
    }

    /// The same in other languages too: a table of the words of the schema, as [`Glossary::of`] reads it.
    #[must_use]
    pub fn abroad(mut self, table: &'static str) -> Self {
        self.abroad = Some(Arc::new(Glossary::of(table)));
        self
    }

    /// The same with words for all that it is about.
    #[must_use]
    pub fn about(mut self, topic: &str) -> Self {
        self.topic = topic.split_whitespace().map(str::to_owned).collect();
        self
    }

    /// Whether a field holds what is said to questions, one after the other.
    #[must_use]
    pub fn is_in_turn(&self, name: &str) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|field| field.name == name && matches!(field.slot, Slot::Answers))
    }

    /// Whether a field of which it was not clear what is meant is so no more, once this is said: of hours also by other days.
    #[must_use]
    pub fn is_settled(&self, name: &str, said: &Map<String, Value>) -> bool {
        let is_hours = self.named(|slot| matches!(slot, Slot::Hours)) == Some(name);
        let days = self.named(|slot| matches!(slot, Slot::Days));
        said.contains_key(name)
            || self.is_of_stays() && !said.is_empty()
            || is_hours && days.is_some_and(|days| said.contains_key(days))
    }

    /// Whether a sentence is read as a whole, as its places and days tell each other.
    pub(super) fn is_spoken(&self) -> bool {
        let is_told = |slot: &Slot| matches!(slot, Slot::Places | Slot::Place | Slot::Days);
        self.fields.iter().any(|field| is_told(&field.slot))
    }

    /// Whether it is about stays, which have a first day and one of departure.
    pub(super) fn is_of_stays(&self) -> bool {
        self.named(|slot| matches!(slot, Slot::Stay(_))).is_some()
    }

    /// The name of the field of such a slot.
    pub(super) fn named(&self, is: impl Fn(&Slot) -> bool) -> Option<&str> {
        let field = self.fields.iter().find(|field| is(&field.slot))?;
        Some(&field.name)
    }

    /// Whether a word, in small letters, is one of a choice's, or what all is about.
    pub(super) fn is_topic(&self, lower: &str) -> bool {
        self.topic.contains(lower) || self.choices().any(|(_, one)| one.words.contains(lower))
    }

    /// The choices, each with its field.
    pub(super) fn choices(&self) -> impl Iterator<Item = (&Field, &OneOf)> {
        self.fields.iter().flat_map(|field| {
            let choices = match &field.slot {
                Slot::Several(choices) | Slot::Choice(choices) => choices.as_slice(),
                _ => &[],
            };
            choices.iter().map(move |one| (field, one))
        })
    }

    fn learn(&mut self, example: &str) {
        let (before, value) = example.split_once('{').unwrap_or((example, ""));
        let behind = value.split_once('}').map_or("", |(_, behind)| behind);
        let lower =
            |text: &str| -> Vec<String> { phrases::words(text).iter().map(phrases::Word::lower).collect() };
        let (before, behind) = (lower(before), lower(behind));
        self.asking.extend(
            before
                .iter()
                .map(String::as_str)
                .filter(|word| !is_function_word(word)),
        );
        if let [.., noun, lead] = before.as_slice()
            && !value.is_empty()
        {
            self.leads.insert([noun.clone(), lead.clone()]);
            // "O" and its like are other words elsewhere.
            self.prepositions
                .extend(Some(lead.clone()).filter(|lead| lead.len() > 1));
        }
        // "Please": a longer rest of an example says more than that.
        if let [end] = behind.as_slice() {
            self.ends.insert(end.clone());
        }
    }
}

impl Field {
    fn of(name: &str, field: &Value) -> Self {
        let told = field
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is = |path: &str, value: &str| field.pointer(path).is_some_and(|told| told == value);
        let one_of = |field| choices_of(field).filter_map(|(value, told)| OneOf::of(value, told));
        let choices: Vec<OneOf> = one_of(field).collect();
        let several: Vec<OneOf> = field.get("items").into_iter().flat_map(one_of).collect();
        let slot = match () {
            () if let Some(part) = STAY.into_iter().find(|part| is("/format", part)) => Slot::Stay(part),
            () if is("/format", "place") => Slot::Place,
            () if is("/items/type", "object") => Slot::Parts,
            () if !several.is_empty() => Slot::Several(several),
            () if is("/items/format", "place") => Slot::Places,
            () if is("/items/format", "day") => Slot::Days,
            () if is("/items/format", "rest") => Slot::Rest,
            () if is("/items/format", "answer") => Slot::Answers,
            () if is("/format", "time") => Slot::Time,
            () if is("/format", "hours") => Slot::Hours,
            () if is("/format", "duration") => Slot::Length,
            () if is("/format", "time-zone") => Slot::Zone,
            () if is("/format", "yes-no") => Slot::YesNo,
            () if !choices.is_empty() => Slot::Choice(choices),
            () if is("/format", "id") || is("/items/format", "id") => Slot::Ids,
            () if is("/type", "integer") => Slot::Count,
            () if is("/type", "number") || is("/type", "boolean") => Slot::Alone,
            () if is("/type", "string") && field.get("format").is_none() => Slot::Text,
            () => Slot::Data,
        };
        Self {
            name: name.to_owned(),
            slot,
            vocabulary: Vocabulary::of(name, told),
            usual: field.get("default").cloned(),
        }
    }

    fn rank(&self) -> u8 {
        match self.slot {
            Slot::Count => 0,
            Slot::Ids => 1,
            Slot::Text => 3,
            _ => 2,
        }
    }
}
