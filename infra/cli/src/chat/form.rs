//! What an agent asks for as data, filled in at a terminal.

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::chat::text;

/// One field of a form with what was filled in: `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filled {
    name: String,
    value: String,
}

impl std::str::FromStr for Filled {
    type Err = &'static str;

    fn from_str(said: &str) -> Result<Self, Self::Err> {
        match said.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok(Self {
                name: name.trim().to_owned(),
                value: value.trim().to_owned(),
            }),
            _ => Err("it must be NAME=VALUE, with the name of a field"),
        }
    }
}

/// The fields of a form, a line each: what it is called, what it takes, what it is.
pub(super) fn lines(form: &Value) -> Vec<String> {
    let needed = |name: &str| {
        let list = form.get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|known| known == name))
    };
    let line = |(name, field): (&String, &Value)| {
        let of = field.get("items").unwrap_or(field);
        let takes = match choices(of).as_slice() {
            [] => text(of, "format")
                .or_else(|| text(of, "type"))
                .unwrap_or("text")
                .to_owned(),
            choices => choices.join(" | "),
        };
        let about = text(field, "description").map(|told| format!("  {told}"));
        let optional = if needed(name) { "" } else { ", optional" };
        format!("{name} ({takes}{optional}){}", about.unwrap_or_default())
    };
    fields(form).into_iter().flatten().map(line).collect()
}

/// What was filled in as the data that the form wants, and as words.
///
/// # Errors
/// Where the form has no such field, or a value is of another type than its.
pub(super) fn data(form: &Value, filled: &[Filled]) -> Result<(Value, String), Failure> {
    let mut data = Map::new();
    for Filled { name, value } in filled {
        let field = fields(form).and_then(|fields| fields.get(name));
        let field = field.ok_or_else(|| {
            let known = fields(form).into_iter().flatten();
            let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
            Failure::other(format!(
                "there is no field {name}; there are {}",
                known.join(", ")
            ))
        })?;
        let wrong = |must: &str| Failure::other(format!("{name} must be {must}"));
        let one = field.get("items").unwrap_or(field);
        let typed = match text(one, "type") {
            Some("integer") => json!(value.parse::<i64>().map_err(|_| wrong("a whole number"))?),
            Some("number") => json!(value.parse::<f64>().map_err(|_| wrong("a number"))?),
            Some("boolean") => json!(value.parse::<bool>().map_err(|_| wrong("true or false"))?),
            _ => json!(value),
        };
        let typed = if field.get("items").is_some() {
            json!([typed])
        } else {
            typed
        };
        data.insert(name.clone(), typed);
    }
    let said = filled
        .iter()
        .map(|Filled { name, value }| format!("{name}: {value}"));
    let said = said.collect::<Vec<_>>().join(", ");
    Ok((Value::Object(data), said))
}

fn fields(form: &Value) -> Option<&Map<String, Value>> {
    form.get("properties")?.as_object()
}

fn choices(field: &Value) -> Vec<String> {
    let list = |name: &str| field.get(name).and_then(Value::as_array).into_iter().flatten();
    let constants = list("oneOf").filter_map(|choice| choice.get("const"));
    let all = list("enum").chain(constants);
    all.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Value {
        json!({"type": "object", "required": ["adults"], "properties": {
            "adults": {"type": "integer", "description": "How many adults."},
            "kind": {"type": "string", "enum": ["flat", "house"]},
            "answers": {"type": "array", "items": {"type": "string"}},
        }})
    }

    fn filled(said: &[&str]) -> Vec<Filled> {
        said.iter().map(|said| said.parse().unwrap()).collect()
    }

    #[test]
    fn fields_are_told_and_filled_in_by_their_types() {
        assert!(lines(&form()).contains(&"adults (integer)  How many adults.".to_owned()));
        assert!(lines(&form()).contains(&"kind (flat | house, optional)".to_owned()));
        let (data, said) = data(&form(), &filled(&["adults=2", "answers=Portland, Maine"])).unwrap();
        assert_eq!(data, json!({"adults": 2, "answers": ["Portland, Maine"]}));
        assert_eq!(said, "adults: 2, answers: Portland, Maine");
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (said, why) in [
            ("adults=two", "adults must be a whole number"),
            (
                "beds=2",
                "there is no field beds; there are adults, answers, kind",
            ),
        ] {
            let refused = data(&form(), &filled(&[said])).unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
        assert!("adults".parse::<Filled>().is_err());
    }
}
