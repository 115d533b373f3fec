//! What an agent takes as data, and how people ask it.

use std::collections::HashSet;

use serde_json::Value;
use words::phrases;

use super::vocabulary::{Vocabulary, is_function_word};
use crate::InputSchema;
use crate::input::choices_of;

/// A schema, and how people ask for what it describes.
#[derive(Debug, Clone)]
pub struct Takes {
    schema: InputSchema,
    fields: Vec<Field>,
    /// The words of examples around their values.
    asking: Vocabulary,
    /// Pairs of words that stand before a value: "report about".
    leads: HashSet<(String, String)>,
    /// The second of such a pair.
    prepositions: HashSet<String>,
    /// Words that stand behind a value.
    ends: HashSet<String>,
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
#[derive(Debug, Clone)]
pub(super) enum Slot {
    /// A list of ids.
    Ids,
    /// A number with its noun.
    Count,
    /// One of these.
    Choice(Vec<Choice>),
    /// What is left.
    Text,
    /// Nothing but data tells it.
    Data,
}

/// One value of several.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) value: Value,
    pub(super) vocabulary: Vocabulary,
}

impl Takes {
    /// Reads a schema, and examples of what people say; in an example, a value of the text field may stand in braces. `None` where
    /// the schema is no object's, or too large.
    #[must_use]
    pub fn new(schema: &Value, examples: &[&str]) -> Option<Self> {
        let schema = InputSchema::of(schema)?;
        // Numbers and ids before what is left.
        let mut fields: Vec<Field> = schema
            .fields()
            .map(|(name, field)| Field::of(name, field))
            .collect();
        fields.sort_by_key(|field| field.slot.rank());
        let mut takes = Self {
            schema,
            fields,
            asking: Vocabulary::default(),
            leads: HashSet::new(),
            prepositions: HashSet::new(),
            ends: HashSet::new(),
        };
        for example in examples {
            takes.learn(example);
        }
        Some(takes)
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &InputSchema {
        &self.schema
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
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
            self.leads.insert((noun.clone(), lead.clone()));
            // "O" and its like are other words elsewhere.
            self.prepositions
                .extend(Some(lead.clone()).filter(|lead| lead.len() > 1));
        }
        // "Please": a longer rest of an example says more than that.
        if let [end] = behind.as_slice() {
            self.ends.insert(end.clone());
        }
    }

    /// Whether a word, in small letters, is one that people ask by.
    pub(super) fn asks(&self, lower: &str) -> bool {
        self.asking.has(lower)
    }

    /// Whether a value stands behind these two words, as it does in an example.
    pub(super) fn leads(&self, noun: &str, lead: &str) -> bool {
        self.leads.contains(&(noun.to_owned(), lead.to_owned()))
    }

    /// Whether a value may stand behind a word.
    pub(super) fn is_preposition(&self, lower: &str) -> bool {
        self.prepositions.contains(lower)
    }

    /// Whether a word, in small letters, stands behind a value and is none of it.
    pub(super) fn ends(&self, lower: &str) -> bool {
        self.ends.contains(lower)
    }
}

impl Field {
    fn of(name: &str, field: &Value) -> Self {
        let told = field
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is = |keyword: &str, value: &str| field.get(keyword).is_some_and(|told| told == value);
        let of_items = |keyword: &str, value: &str| {
            field
                .get("items")
                .is_some_and(|items| items.get(keyword).is_some_and(|told| told == value))
        };
        let choices: Vec<Choice> = choices_of(field)
            .filter_map(|(value, told)| {
                let vocabulary = Vocabulary::of(value.as_str()?, told);
                Some(Choice {
                    value: value.clone(),
                    vocabulary,
                })
            })
            .collect();
        let slot = match () {
            () if !choices.is_empty() => Slot::Choice(choices),
            () if is("format", "id") || of_items("format", "id") => Slot::Ids,
            () if is("type", "integer") => Slot::Count,
            () if is("type", "string") && field.get("format").is_none() => Slot::Text,
            () => Slot::Data,
        };
        Self {
            name: name.to_owned(),
            slot,
            vocabulary: Vocabulary::of(name, told),
            usual: field.get("default").cloned(),
        }
    }
}

impl Slot {
    fn rank(&self) -> u8 {
        match self {
            Self::Count => 0,
            Self::Ids => 1,
            Self::Choice(_) => 2,
            Self::Data => 3,
            Self::Text => 4,
        }
    }
}
