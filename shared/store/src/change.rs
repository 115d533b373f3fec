//! Building of update expressions: every name goes through an alias, so that no reserved word can hit us.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::Timestamp;

/// Text.
pub(crate) fn text(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

/// A number.
pub(crate) fn number(value: impl Into<i128>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

/// True.
pub(crate) fn yes() -> AttributeValue {
    AttributeValue::Bool(true)
}

/// A list of numbers.
pub(crate) fn numbers(values: &[u64]) -> AttributeValue {
    AttributeValue::L(values.iter().map(|value| number(*value)).collect())
}

/// The aliases of the `#names` in an expression: `#name` always stands for `name`.
pub(crate) fn names(expression: &str) -> HashMap<String, String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let after_hash = expression.split('#').skip(1);
    let names = after_hash.map(|rest| rest.split(|c| !word(c)).next().unwrap_or_default());
    names.map(|name| (format!("#{name}"), name.to_owned())).collect()
}

/// A map with something in it: the SDK takes no empty one.
pub(crate) fn some<K, V>(map: HashMap<K, V>) -> Option<HashMap<K, V>> {
    (!map.is_empty()).then_some(map)
}

/// A request of the SDK's with what a change says of its condition; each of its builders has the same methods.
macro_rules! conditioned {
    ($request:expr, $change:ident) => {
        $request
            .set_condition_expression($change.condition())
            .set_expression_attribute_names(crate::change::some($change.names()))
            .set_expression_attribute_values(crate::change::some($change.values))
    };
}
pub(crate) use conditioned;

/// Longer than this nobody holds anything.
pub(crate) const HELD_MAX: Duration = Duration::from_secs(600);

/// The clauses of an update.
const SET: &str = "SET";
const REMOVE: &str = "REMOVE";
const ADD: &str = "ADD";
const DELETE: &str = "DELETE";

/// A conditional change of one item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    /// Each with the word of the clause that it stands in.
    parts: Vec<(&'static str, String)>,
    conditions: Vec<String>,
    pub(crate) values: HashMap<String, AttributeValue>,
    /// Names that cannot be their own aliases.
    aliases: HashMap<String, String>,
}

impl Change {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Gives the attribute a value.
    pub(crate) fn set(mut self, name: &str, value: AttributeValue) -> Self {
        self.parts.push((SET, format!("#{name} = :{name}")));
        self.values.insert(format!(":{name}"), value);
        self
    }

    /// Gives the attribute the value of an expression over `#names` and `:values`.
    pub(crate) fn set_to(mut self, name: &str, expression: &str) -> Self {
        self.parts.push((SET, format!("#{name} = {expression}")));
        self
    }

    /// Removes attributes.
    pub(crate) fn remove(mut self, names: &[&str]) -> Self {
        let parts = names.iter().map(|name| (REMOVE, format!("#{name}")));
        self.parts.extend(parts);
        self
    }

    /// Adds the members of the set `value` to a set that may not be there yet.
    pub(crate) fn join(mut self, name: &str, value: &str) -> Self {
        self.parts.push((ADD, format!("#{name} :{value}")));
        self
    }

    /// Takes the members of the set `value` out of a set.
    pub(crate) fn leave(mut self, name: &str, value: &str) -> Self {
        self.parts.push((DELETE, format!("#{name} :{value}")));
        self
    }

    /// Only where this holds, and all conditions before.
    pub(crate) fn when(mut self, condition: &str) -> Self {
        self.conditions.push(format!("({condition})"));
        self
    }

    /// Only where nobody holds it until the time in this attribute, in milliseconds or as a text. What ends later than anybody
    /// holds anything was taken before the clock was set back.
    pub(crate) fn when_free(
        self,
        until: &str,
        as_value: fn(Timestamp) -> AttributeValue,
        now: Timestamp,
    ) -> Self {
        self.when(&format!(
            "attribute_not_exists(#{until}) OR #{until} <= :free_at OR #{until} > :held_to"
        ))
        .value("free_at", as_value(now))
        .value("held_to", as_value(now.after(HELD_MAX)))
    }

    /// The value of a `:name`.
    pub(crate) fn value(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(format!(":{name}"), value);
        self
    }

    /// Adds to a number that may not be there yet. `alias` stands for the attribute in the expression, where the
    /// attribute's own name is of other characters than an alias may have.
    pub(crate) fn add(mut self, alias: &str, attribute: String, by: impl Into<i128>) -> Self {
        let sum = format!("#{alias} = if_not_exists(#{alias}, :zero) + :{alias}");
        self.parts.push((SET, sum));
        self.values.insert(":zero".to_owned(), number(0));
        self.values.insert(format!(":{alias}"), number(by));
        self.aliases.insert(format!("#{alias}"), attribute);
        self
    }

    /// The update expression.
    pub(crate) fn update(&self) -> String {
        let clause = |word: &'static str| {
            let parts = self.parts.iter().filter(|(of, _)| *of == word);
            let parts: Vec<&str> = parts.map(|(_, part)| part.as_str()).collect();
            match parts.as_slice() {
                [] => String::new(),
                parts => format!("{word} {} ", parts.join(", ")),
            }
        };
        [SET, REMOVE, ADD, DELETE].map(clause).concat()
    }

    /// The condition expression.
    pub(crate) fn condition(&self) -> Option<String> {
        (!self.conditions.is_empty()).then(|| self.conditions.join(" AND "))
    }

    /// The aliases of both expressions.
    pub(crate) fn names(&self) -> HashMap<String, String> {
        let mut names = names(&(self.update() + &self.condition().unwrap_or_default()));
        names.extend(self.aliases.clone());
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_aliases_every_name_it_uses_and_no_other() {
        let change = Change::new()
            .set("state", text("working"))
            .set_to("attempts", "#attempts + :one")
            .value("one", number(1))
            .remove(&["due_at", "due_shard"])
            .when("#rev = :seen")
            .when("attribute_exists(#pk) OR #size < :one");
        assert_eq!(
            change.update(),
            "SET #state = :state, #attempts = #attempts + :one REMOVE #due_at, #due_shard "
        );
        assert_eq!(
            change.condition().as_deref(),
            Some("(#rev = :seen) AND (attribute_exists(#pk) OR #size < :one)")
        );
        let mut names: Vec<_> = change.names().into_values().collect();
        names.sort();
        assert_eq!(
            names,
            ["attempts", "due_at", "due_shard", "pk", "rev", "size", "state"]
        );
    }
}
