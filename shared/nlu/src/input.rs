//! What a skill takes as data: the subset of JSON Schema that a card may publish of it, taken in like all that a card says,
//! cleaned and capped, and held against what a model wants to send.
//!
//! Read are objects, texts (with `format`, lengths), numbers (with bounds), enums (also as a `oneOf` of constants, each with
//! its description), truth values and lists. Other keywords are left out: what they would have forbidden, the agent itself has to
//! refuse. A value that may be of several types is not checked.

use chrono::NaiveDate;
use chrono_tz::Tz;
use domain::clean;
use serde::Serialize;
use serde_json::{Map, Value, json};
use words::{Hours, When};

/// Most bytes of a schema; a larger one counts as none.
const SCHEMA_MAX: usize = 4_096;
/// Deepest nesting that is read.
const DEPTH_MAX: usize = 4;
const FIELDS_MAX: usize = 32;
const CHOICES_MAX: usize = 32;
const TEXT_MAX: usize = 120;
const NAME_MAX: usize = 64;

/// Most letters of what is read as a word in capitals or alone.
const ABBREVIATION_MAX: usize = 2;

const FORMATS: [&str; 21] = [
    "adults",
    "answer",
    "arrival",
    "children",
    "date",
    "day",
    "departure",
    "duration",
    "hours",
    "id",
    "infants",
    "nights",
    "place",
    "price-currency",
    "price-least",
    "price-most",
    "price-per",
    "rest",
    "time",
    "time-zone",
    "yes-no",
];

/// What a skill takes as data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct InputSchema(Value);

impl InputSchema {
    /// Takes a schema of a card in; `None` where it describes no object, or is too large.
    #[must_use]
    pub fn of(schema: &Value) -> Option<Self> {
        if schema.to_string().len() > SCHEMA_MAX {
            return None;
        }
        let tidied = tidy(schema, 0)?;
        let is_object = tidied.get("type").is_some_and(|kind| kind == "object");
        (is_object && tidied.get("properties").is_some()).then_some(Self(tidied))
    }

    /// The same of some fields alone: what a form asks for.
    #[must_use]
    pub fn of_fields(&self, names: &[impl AsRef<str> + Serialize]) -> Self {
        let is_named = |name: &str| names.iter().any(|known| known.as_ref() == name);
        let fields = self.fields().filter(|(name, _)| is_named(name));
        let fields: Map<String, Value> = fields
            .map(|(name, field)| (name.clone(), field.clone()))
            .collect();
        Self(json!({"type": "object", "properties": fields, "required": names}))
    }

    /// The fields with their schemas.
    pub fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        let fields = self.0.get("properties").and_then(Value::as_object);
        fields.into_iter().flatten()
    }

    /// What a field is, in the schema's own words.
    #[must_use]
    pub fn described(&self, name: &str) -> Option<&str> {
        self.field(name)?.get("description")?.as_str()
    }

    /// The type of a field; nothing where it has none, or several.
    #[must_use]
    pub fn kind(&self, name: &str) -> &str {
        let kind = self.field(name).and_then(|field| field.get("type")?.as_str());
        kind.unwrap_or_default()
    }

    /// The texts that a field can be, each with what it is called.
    pub fn choices(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let choices = self.field(name).into_iter().flat_map(choices_of);
        choices.filter_map(|(value, told)| {
            let value = value.as_str()?;
            Some((value, if told.is_empty() { value } else { told }))
        })
    }

    /// The choice that a reply names: the only one of a field of which it says a word, or an abbreviation in capitals or alone, that
    /// not every choice has.
    #[must_use]
    pub fn chosen(&self, reply: &str) -> Map<String, Value> {
        let said = pieces(reply);
        let is_meant = |word: &String| {
            let is_short = word.chars().count() <= ABBREVIATION_MAX;
            said.contains(word) && (!is_short || said.len() == 1 || reply.contains(&word.to_uppercase()))
        };
        let of_field = |(name, _): (&String, &Value)| {
            let told = |(value, told)| (value, pieces(&format!("{value} {told}")));
            let choices: Vec<(&str, Vec<String>)> = self.choices(name).map(told).collect();
            let is_shared =
                |word: &&String| choices.len() > 1 && choices.iter().all(|(_, told)| told.contains(word));
            let mut named = choices
                .iter()
                .filter(|(_, told)| told.iter().filter(|word| !is_shared(word)).any(is_meant));
            let (value, _) = named.next().filter(|_| named.next().is_none())?;
            Some((name.clone(), Value::from(*value)))
        };
        self.fields().filter_map(of_field).collect()
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.0.get("properties")?.get(name)
    }

    /// The schema as JSON.
    #[must_use]
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// The fields that must be there.
    #[must_use]
    pub fn requires(&self) -> Vec<&str> {
        names(self.0.get("required")).collect()
    }

    /// The fields that must be there and are not, in the order of the schema.
    #[must_use]
    pub fn missing(&self, data: &Map<String, Value>) -> Vec<String> {
        let is_missing = |name: &&str| data.get(*name).is_none_or(Value::is_null);
        let required = names(self.0.get("required"));
        required.filter(is_missing).map(str::to_owned).collect()
    }

    /// What the first of the fields that are there has to be, and is not.
    #[must_use]
    pub fn misfit_of_fields(&self, data: &Map<String, Value>) -> Option<String> {
        self.fields().find_map(|(name, field)| {
            let value = data.get(name).filter(|value| !value.is_null())?;
            misfit(field, value, name)
        })
    }

    /// Why this data does not fit, for the model that wrote it.
    #[must_use]
    pub fn misfit(&self, data: &Value) -> Option<String> {
        misfit(&self.0, data, "data")
    }
}

/// The words of a text, in small letters.
fn pieces(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The keywords that are read, cleaned.
fn tidy(schema: &Value, depth: usize) -> Option<Value> {
    let told = schema.as_object().filter(|_| depth <= DEPTH_MAX)?;
    let mut kept = Map::new();
    for (keyword, value) in told {
        let value = match keyword.as_str() {
            "type" => kind(value).map(Value::from),
            "description" => value.as_str().map(|text| clean(text, TEXT_MAX).into()),
            "format" => value
                .as_str()
                .filter(|format| FORMATS.contains(format))
                .map(Value::from),
            "enum" => choices(value),
            "oneOf" => constants(value),
            "default" => {
                (value.is_string() || value.is_number() || value.is_boolean()).then(|| value.clone())
            }
            "minimum" | "maximum" => value.is_number().then(|| value.clone()),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.as_u64().map(Value::from),
            "items" => tidy(value, depth + 1),
            "properties" => value.as_object().map(|fields| properties(fields, depth)),
            "additionalProperties" => (value == &Value::Bool(false)).then(|| value.clone()),
            _ => None,
        };
        kept.extend(value.map(|value| (keyword.clone(), value)));
    }
    let required: Vec<Value> = names(told.get("required"))
        .filter(|name| {
            kept.get("properties")
                .is_some_and(|fields| fields.get(name).is_some())
        })
        .map(Value::from)
        .collect();
    if !required.is_empty() {
        kept.insert("required".to_owned(), required.into());
    }
    Some(Value::Object(kept))
}

/// `"string"`, or of `["string", "null"]` the one that is something; none where there are several.
fn kind(value: &Value) -> Option<&'static str> {
    const KINDS: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
    let several = value.as_array().into_iter().flatten();
    let told = value
        .as_str()
        .into_iter()
        .chain(several.filter_map(Value::as_str));
    let mut known = told.filter_map(|told| KINDS.into_iter().find(|kind| *kind == told));
    let first = known.next();
    first.filter(|_| known.next().is_none())
}

/// The values of a `oneOf` that has nothing but constants, each with what it means.
fn constants(value: &Value) -> Option<Value> {
    let choices = value
        .as_array()
        .filter(|list| !list.is_empty() && list.len() <= CHOICES_MAX)?;
    let cleaned = choices.iter().map(|choice| {
        let value = clean(choice.get("const")?.as_str()?, NAME_MAX);
        let told = choice
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Some(json!({"const": value, "description": clean(told, TEXT_MAX)}))
    });
    cleaned.collect::<Option<Vec<Value>>>().map(Value::from)
}

fn choices(value: &Value) -> Option<Value> {
    let choices = value.as_array().filter(|list| list.len() <= CHOICES_MAX)?;
    let cleaned = choices.iter().map(|choice| match choice {
        Value::String(text) => Some(clean(text, NAME_MAX).into()),
        Value::Number(_) | Value::Bool(_) => Some(choice.clone()),
        _ => None,
    });
    cleaned.collect::<Option<Vec<Value>>>().map(Value::from)
}

fn properties(fields: &Map<String, Value>, depth: usize) -> Value {
    let fields = fields.iter().filter(|(name, _)| is_name(name)).take(FIELDS_MAX);
    let tidied = fields.filter_map(|(name, schema)| Some((name.clone(), tidy(schema, depth + 1)?)));
    Value::Object(tidied.collect())
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(plain)
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str)
}

/// What at `path` does not fit, the first of it. What is `null` counts as not there.
fn misfit(schema: &Value, data: &Value, path: &str) -> Option<String> {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let wrong = match (kind, data) {
        ("object", Value::Object(fields)) => return fields_misfit(schema, fields, path),
        ("array", Value::Array(items)) => return items_misfit(schema, items, path),
        ("string", Value::String(text)) => text_misfit(schema, text),
        ("integer", Value::Number(number)) if number.is_f64() => Some("must be a whole number".to_owned()),
        ("integer" | "number", Value::Number(_)) => number_misfit(schema, data),
        ("boolean", Value::Bool(_)) | ("", _) => None,
        ("object", _) => Some("must be an object".to_owned()),
        ("array", _) => Some("must be a list".to_owned()),
        ("string", _) => Some("must be text".to_owned()),
        ("boolean", _) => Some("must be true or false".to_owned()),
        _ => Some("must be a number".to_owned()),
    };
    let choices: Vec<&Value> = choices_of(schema).map(|(value, _)| value).collect();
    let unknown = !choices.is_empty() && !choices.contains(&data);
    let wrong = wrong.or_else(|| unknown.then(|| format!("must be one of {}", json!(choices))));
    wrong.map(|wrong| format!("{path} {wrong}."))
}

/// The values that a field can have, each with what it means; none where it can have any.
pub(crate) fn choices_of(schema: &Value) -> impl Iterator<Item = (&Value, &str)> {
    let listed = |keyword: &str| {
        schema
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let told = listed("oneOf").filter_map(|choice| {
        let told = choice
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Some((choice.get("const")?, told))
    });
    listed("enum").map(|value| (value, "")).chain(told)
}

fn fields_misfit(schema: &Value, fields: &Map<String, Value>, path: &str) -> Option<String> {
    let known = schema.get("properties").and_then(Value::as_object);
    let is_there = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
    if let Some(missing) = names(schema.get("required")).find(|name| !is_there(name)) {
        return Some(format!("{path}.{missing} is missing."));
    }
    let closed = schema.get("additionalProperties").is_some();
    fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .find_map(|(name, value)| match known.and_then(|known| known.get(name)) {
            Some(schema) => misfit(schema, value, &format!("{path}.{name}")),
            None if closed => {
                let names: Vec<&str> = known
                    .into_iter()
                    .flat_map(Map::keys)
                    .map(String::as_str)
                    .collect();
                let name = clean(name, NAME_MAX);
                Some(format!(
                    "{path} has no field {name}; there are {}.",
                    names.join(", ")
                ))
            }
            None => None,
        })
}

fn items_misfit(schema: &Value, items: &[Value], path: &str) -> Option<String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    if let Some(least) = bound("minItems").filter(|least| count < *least) {
        return Some(format!("{path} must have {least} items at least."));
    }
    if let Some(most) = bound("maxItems").filter(|most| count > *most) {
        return Some(format!("{path} must have {most} items at most."));
    }
    let each = schema.get("items")?;
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(at, item)| misfit(each, item, &format!("{path}[{at}]")))
}

fn text_misfit(schema: &Value, text: &str) -> Option<String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    let must = match schema.get("format").and_then(Value::as_str) {
        Some("arrival" | "date" | "departure") if text.parse::<NaiveDate>().is_err() => {
            "a day such as 2026-12-04"
        }
        Some("day") if When::of_data(text).is_none() => {
            "a day such as 2026-12-04, days such as 2026-12-04/2026-12-06, or P1D"
        }
        Some("hours") if Hours::of_data(text).is_none() => {
            "a time such as 14:30, or hours such as 14:30/16:00"
        }
        Some("time-zone") if text.parse::<Tz>().is_err() => "a time zone such as Europe/Oslo",
        _ => "",
    };
    if !must.is_empty() {
        return Some(format!("must be {must}"));
    }
    let count = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(least) = bound("minLength").filter(|least| count < *least) {
        return Some(format!("must have {least} characters at least"));
    }
    let most = bound("maxLength").filter(|most| count > *most)?;
    Some(format!("must have {most} characters at most"))
}

fn number_misfit(schema: &Value, number: &Value) -> Option<String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let number = number.as_f64()?;
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return Some(format!("must be {least} at least"));
    }
    let most = bound("maximum").filter(|most| number > *most)?;
    Some(format!("must be {most} at most"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stay() -> InputSchema {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Where\u{202e}", "maxLength": 10},
                "from": {"type": ["null", "string"], "format": "date"},
                "guests": {"type": "integer", "minimum": 1, "maximum": 16},
                "kinds": {"type": "array", "maxItems": 2, "items": {"enum": ["flat", "house"]}},
                "bad name": {"type": "string"},
            },
            "required": ["place", "nothing"],
            "additionalProperties": false,
            "oneOf": [{}],
        });
        InputSchema::of(&schema).unwrap()
    }

    #[test]
    fn a_schema_is_taken_in_cleaned() {
        let written = serde_json::to_value(stay()).unwrap();
        assert_eq!(written["properties"]["place"]["description"], "Where");
        assert_eq!(written["properties"]["from"]["type"], "string");
        assert_eq!(written["required"], json!(["place"]));
        for gone in ["/$schema", "/oneOf", "/properties/bad name"] {
            assert!(written.pointer(gone).is_none(), "{gone}");
        }
    }

    #[test]
    fn what_describes_no_object_is_none() {
        let long = "x".repeat(SCHEMA_MAX);
        for schema in [
            json!(null),
            json!("object"),
            json!({"type": "string"}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "description": long}),
        ] {
            assert!(InputSchema::of(&schema).is_none(), "{schema}");
        }
    }

    #[test]
    fn data_is_held_against_it() {
        for (data, misfit) in [
            (
                json!({"place": "Oslo", "from": "2026-12-04", "guests": 2, "kinds": ["flat"]}),
                None,
            ),
            (json!({"place": "Oslo", "guests": null}), None),
            (json!({"guests": 2}), Some("data.place is missing.")),
            (json!({"place": null}), Some("data.place is missing.")),
            (json!({"place": 7}), Some("data.place must be text.")),
            (
                json!({"place": "a very long name"}),
                Some("data.place must have 10 characters at most."),
            ),
            (
                json!({"place": "Oslo", "from": "Friday"}),
                Some("data.from must be a day such as 2026-12-04."),
            ),
            (
                json!({"place": "Oslo", "from": "2026-02-30"}),
                Some("data.from must be a day such as 2026-12-04."),
            ),
            (
                json!({"place": "Oslo", "guests": "two"}),
                Some("data.guests must be a number."),
            ),
            (
                json!({"place": "Oslo", "guests": 2.5}),
                Some("data.guests must be a whole number."),
            ),
            (
                json!({"place": "Oslo", "guests": 17}),
                Some("data.guests must be 16 at most."),
            ),
            (
                json!({"place": "Oslo", "guests": -1}),
                Some("data.guests must be 1 at least."),
            ),
            (
                json!({"place": "Oslo", "kinds": "flat"}),
                Some("data.kinds must be a list."),
            ),
            (
                json!({"place": "Oslo", "kinds": ["flat", "boat"]}),
                Some("data.kinds[1] must be one of [\"flat\",\"house\"]."),
            ),
            (
                json!({"place": "Oslo", "kinds": ["flat", "flat", "flat"]}),
                Some("data.kinds must have 2 items at most."),
            ),
            (
                json!({"place": "Oslo", "pets": 1}),
                Some("data has no field pets; there are from, guests, kinds, place."),
            ),
            (json!([1]), Some("data must be an object.")),
        ] {
            assert_eq!(stay().misfit(&data).as_deref(), misfit, "{data}");
        }
    }

    #[test]
    fn a_schema_cannot_be_deep() {
        let mut schema = json!({"type": "string"});
        for _ in 0..40 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        let taken = serde_json::to_string(&InputSchema::of(&schema).unwrap()).unwrap();
        assert_eq!(taken.matches("properties").count(), DEPTH_MAX + 1);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let words = [
            "type",
            "object",
            "properties",
            "enum",
            "items",
            "string",
            "required",
            "format",
            "date",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::sample::select(words.to_vec()).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(
                    prop::sample::select(words.to_vec()).prop_map(str::to_owned),
                    inner,
                    0..6
                )
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_schema_and_no_data_do_harm(schema in any_json(), data in any_json()) {
            let schema = json!({"type": "object", "properties": {"type": schema}});
            if let Some(schema) = InputSchema::of(&schema) {
                let _text = schema.misfit(&data);
                let once = serde_json::to_value(&schema).unwrap();
                prop_assert_eq!(InputSchema::of(&once), Some(schema));
            }
        }
    }
}
