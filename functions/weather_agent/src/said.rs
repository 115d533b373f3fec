//! A message as its user meant it: words, and what data says of places, days and units. Data counts before words; fields
//! that the schema does not have are ignored, and what has the wrong type is asked about.

use agent::data::{Fields, objects};
use domain::{Message, to_read};
use serde_json::{Map, Value, json};
use words::{Named, When};

use crate::question::{AskedUnits, MAX_PLACES, Question};

/// Most characters of a place's name.
const PLACE_MAX: usize = 80;

/// What a user said in one message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Said {
    /// In words.
    pub text: String,
    /// As data.
    pub data: Given,
}

/// What data says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Given {
    places: Vec<Named>,
    more_places: bool,
    days: Vec<When>,
    units: AskedUnits,
    /// The question to ask, where some of it cannot be read.
    wrong: Option<String>,
}

/// The schema of the data, as the card publishes it.
pub(crate) fn schema() -> Value {
    let day = |which: &str| json!({"type": "string", "format": "date", "description": which});
    json!({
        "type": "object",
        "properties": {
            "places": {
                "type": "array", "maxItems": MAX_PLACES,
                "items": {"type": "string", "minLength": 1, "maxLength": PLACE_MAX},
                "description": "Names of places, such as Oslo or: Paris, Texas",
            },
            "from": day("The first day; today where there is none"),
            "to": day("The last day; as from where there is none"),
            "units": {"type": "string", "enum": ["metric", "imperial"]},
        },
        "additionalProperties": false,
    })
}

impl From<&Message> for Said {
    fn from(message: &Message) -> Self {
        let mut said = Self {
            text: message.text_to_read(),
            data: Given::default(),
        };
        let wordless = said.text.trim().is_empty();
        let mut texts = Vec::new();
        for fields in objects(message) {
            said.data = said.data.then(Given::read(fields));
            if wordless {
                texts.extend(other_texts(fields));
            }
        }
        if wordless {
            said.text = to_read(&texts.join("; ")).to_owned();
        }
        said
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            data: Given::default(),
        }
    }
}

/// The texts of fields that are none of the schema's: `{"when": "tomorrow"}` is read as words where there are no others.
fn other_texts(fields: &Map<String, Value>) -> Vec<String> {
    let others = fields.iter().filter(|(name, _)| !is_place(name));
    let others = others.filter(|(name, _)| !matches!(name.as_str(), "from" | "to" | "units"));
    let texts = others.take(16).filter_map(|(_, value)| value.as_str());
    texts.map(str::to_owned).collect()
}

fn is_place(name: &str) -> bool {
    matches!(name, "place" | "places" | "location" | "city")
}

impl Given {
    fn read(fields: &Map<String, Value>) -> Self {
        let mut given = Self::default();
        let names = fields.keys().filter(|name| is_place(name));
        let mut fields = Fields::of(fields);
        for name in names {
            let named = fields.one(name, "it must be names of places. Which places?", places);
            given.places.extend(named.unwrap_or_default());
        }
        given.more_places = given.places.iter().filter(|place| !place.chained).count() > MAX_PLACES;
        given.places.truncate(MAX_PLACES);
        match (fields.day("from"), fields.day("to")) {
            (Some(first), None) => given.days = vec![first.into()],
            (Some(first), Some(last)) if first == last => given.days = vec![first.into()],
            (Some(first), Some(last)) if first < last => {
                given.days = vec![When::span(first.into(), last.into())];
            }
            (Some(_), Some(_)) => fields.wrong("to", "it lies before `from`. From which day to which?"),
            (None, Some(_)) => fields.wrong("to", "there is no `from` beside it. From which day?"),
            (None, None) => {}
        }
        let units = |value: &Value| match value.as_str()? {
            "metric" => Some(AskedUnits::METRIC),
            "imperial" => Some(AskedUnits::IMPERIAL),
            _ => None,
        };
        let units = fields.one("units", "it must be metric or imperial. Which?", units);
        given.units = units.unwrap_or_default();
        given.wrong = fields.asked();
        given
    }

    /// What a later part of the same message says counts.
    fn then(self, later: Self) -> Self {
        let (places, more_places) = match later.places.is_empty() {
            true => (self.places, self.more_places),
            false => (later.places, later.more_places),
        };
        Self {
            places,
            more_places,
            days: if later.days.is_empty() {
                self.days
            } else {
                later.days
            },
            units: later.units.over(self.units),
            wrong: later.wrong.or(self.wrong),
        }
    }

    /// Whether it names places.
    pub(crate) fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    /// The question to ask, where some of it cannot be read.
    pub(crate) fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }

    /// The question with what is given here instead of what words say of it.
    pub(crate) fn put_into(&self, question: &mut Question) {
        if self.has_places() {
            question.places.clone_from(&self.places);
            question.more_places = self.more_places;
            question.own_days = Vec::new();
        }
        if !self.days.is_empty() {
            question.days.clone_from(&self.days);
            question.own_days = Vec::new();
            question.tonight = false;
        }
        question.units = self.units.over(question.units);
    }
}

/// A name, or a list of them; `None` where it is neither.
fn places(value: &Value) -> Option<Vec<Named>> {
    match value {
        Value::String(name) => named(name),
        Value::Array(names) => {
            let names = names.iter().map(|name| named(name.as_str()?));
            Some(names.collect::<Option<Vec<_>>>()?.concat())
        }
        _ => None,
    }
}

/// A place, with what says where that is behind a comma.
fn named(name: &str) -> Option<Vec<Named>> {
    let fits = !name.trim().is_empty() && name.chars().count() <= PLACE_MAX;
    let parts = name.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parts: Vec<Named> = parts
        .enumerate()
        .map(|(at, part)| Named {
            text: part.to_owned(),
            chained: at > 0,
            guessed: false,
            loose: false,
            at: 0,
            words: part.split_whitespace().count(),
        })
        .collect();
    (fits && !parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use domain::{MessageId, Part};

    use super::*;

    fn said(parts: Vec<Part>) -> Said {
        Said::from(&Message::user(MessageId::derived("m"), parts))
    }

    fn data(value: Value) -> Given {
        said(vec![Part::data(value)]).data
    }

    #[test]
    fn words_of_data_are_read_where_there_are_no_others() {
        let wordless = said(vec![Part::data(
            json!({ "places": ["Oslo", "Bergen"], "when": "tomorrow" }),
        )]);
        assert_eq!(
            (wordless.text.as_str(), wordless.data.places.len()),
            ("tomorrow", 2)
        );
        let worded = said(vec![
            Part::text("in Fahrenheit"),
            Part::data(json!({ "place": "Rome", "when": "x" })),
        ]);
        assert_eq!(
            (worded.text.as_str(), worded.data.places.len()),
            ("in Fahrenheit", 1)
        );
    }

    #[test]
    fn data_counts_before_words() {
        let mut question = Question::read("Will it rain in Bergen and Rome tomorrow?", None);
        let given = data(json!({
            "places": ["Paris, Texas"], "from": "2026-12-04", "to": "2026-12-06", "units": "imperial", "more": [1],
        }));
        given.put_into(&mut question);
        let places: Vec<(&str, bool)> = question
            .places
            .iter()
            .map(|place| (place.text.as_str(), place.chained))
            .collect();
        assert_eq!(places, [("Paris", false), ("Texas", true)]);
        assert!(matches!(question.days.as_slice(), [When::Span(..)]));
        assert_eq!(question.units, AskedUnits::IMPERIAL);
        assert_eq!(question.wants, [crate::question::Want::Rain]);
        assert_eq!(given.wrong(), None);
    }

    #[test]
    fn what_has_the_wrong_type_is_asked_about() {
        for (value, field) in [
            (json!({"place": 7}), "`place`"),
            (json!({"places": ["Oslo", 7]}), "`places`"),
            (json!({"places": [""]}), "`places`"),
            (json!({"places": [","]}), "`places`"),
            (json!({"place": "x".repeat(1_000_000)}), "`place`"),
            (json!({"place": "Oslo", "from": "Friday"}), "`from`"),
            (json!({"place": "Oslo", "from": "2026-02-30"}), "`from`"),
            (json!({"place": "Oslo", "from": 20_261_204}), "`from`"),
            (json!({"place": "Oslo", "to": "2026-12-04"}), "`to`"),
            (
                json!({"place": "Oslo", "from": "2026-12-06", "to": "2026-12-04"}),
                "`to`",
            ),
            (json!({"place": "Oslo", "units": "kelvin"}), "`units`"),
            (json!({"place": "Oslo", "units": {}}), "`units`"),
        ] {
            let given = data(value.clone());
            let asked = given.wrong().unwrap_or_default();
            let shown = value.to_string().chars().take(80).collect::<String>();
            assert!(asked.contains(field) && asked.ends_with('?'), "{shown}: {asked}");
        }
        for value in [
            json!({}),
            json!({"place": null, "from": null}),
            json!({"guests": "two"}),
        ] {
            assert_eq!(data(value).wrong(), None);
        }
    }

    #[test]
    fn a_fault_in_one_part_is_not_hidden_by_the_next() {
        let given = said(vec![
            Part::data(json!({"units": 7})),
            Part::data(json!({"place": "Oslo"})),
        ])
        .data;
        assert!(given.wrong().is_some() && given.has_places());
    }

    #[test]
    fn more_places_than_are_taken_are_told() {
        let many: Vec<String> = (0..100).map(|number| format!("Town {number}")).collect();
        let given = data(json!({ "places": many }));
        assert_eq!((given.places.len(), given.more_places), (MAX_PLACES, true));
    }
}
