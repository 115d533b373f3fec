//! JSON as models write it: fenced, within prose, twice encoded, with a comma too many, in Python's manner.

use serde_json::Value;

/// Most bytes that are looked at.
const READ_MAX: usize = 64 * 1024;
/// Most places in a text where an object may begin.
const STARTS_MAX: usize = 8;

/// The object, or list of objects, that a text holds; `None` where it holds none.
pub(crate) fn json(text: &str) -> Option<Value> {
    let text = text
        .get(..text.floor_char_boundary(text.len().min(READ_MAX)))?
        .trim();
    match serde_json::from_str(text) {
        // Encoded twice.
        Ok(Value::String(within)) => return structure(&within),
        Ok(value @ (Value::Object(_) | Value::Array(_))) => return Some(value),
        Ok(_) | Err(_) => {}
    }
    let starts = text.match_indices(['{', '[']).take(STARTS_MAX);
    starts
        .into_iter()
        .find_map(|(at, _)| structure(balanced(text.get(at..)?)?))
}

fn structure(text: &str) -> Option<Value> {
    let found = serde_json::from_str(text).or_else(|_| serde_json::from_str(&mended(text)));
    found
        .ok()
        .filter(|value: &Value| value.is_object() || is_list(value))
}

/// Whether it is a list of objects: "[address left out]" is none.
fn is_list(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// From a bracket to the one that ends it; what lacks its end has none.
fn balanced(text: &str) -> Option<&str> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return text.get(..=at);
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The same with strings in double quotes, Python's constants as JSON has them, and no comma before an end.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '"') => out.push_str("\\\""),
            (Some(open), c) if c == open => {
                quote = None;
                out.push('"');
            }
            (Some(_), '\\') => match chars.next() {
                Some('\'') => out.push('\''),
                Some(next) => out.extend(['\\', next]),
                None => {}
            },
            (Some(_), '\n') => out.push_str("\\n"),
            (Some(_), c) => out.push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                out.push('"');
            }
            (None, ',') => {
                let mut rest = chars.clone();
                let next = rest.find(|c| !c.is_whitespace());
                if !matches!(next, Some('}' | ']')) {
                    out.push(',');
                }
            }
            (None, c) if c.is_ascii_alphabetic() => {
                let mut word = String::from(c);
                while let Some(more) = chars.next_if(char::is_ascii_alphabetic) {
                    word.push(more);
                }
                out.push_str(match word.as_str() {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    other => other,
                });
            }
            (None, c) => out.push(c),
        }
    }
    out
}

/// A text without the thoughts that some models write before it.
pub(crate) fn spoken(text: &str) -> &str {
    let said = text.rsplit_once("</think>").map_or(text, |(_, said)| said).trim();
    // One that never ended is all there is.
    match said.starts_with("<think>") {
        true => "",
        false => said,
    }
}

/// Whether a text ends by saying the same again and again.
pub(crate) fn loops(text: &str) -> bool {
    const PERIOD: usize = 40;
    const TIMES: usize = 8;
    let bytes = text.as_bytes();
    let Some(tail) = bytes.len().checked_sub(PERIOD).and_then(|at| bytes.get(at..)) else {
        return false;
    };
    let from = bytes.len().saturating_sub(PERIOD * TIMES * 4);
    let last = bytes.get(from..).unwrap_or_default();
    last.windows(PERIOD).filter(|window| *window == tail).count() >= TIMES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_nearly_json_is_read() {
        let wanted = json!({"agent": "weather", "n": 1, "is": true});
        for text in [
            r#"{"agent": "weather", "n": 1, "is": true}"#,
            "```json\n{\"agent\": \"weather\", \"n\": 1, \"is\": true,}\n```",
            r#"Let me see: {"agent": "weather", "n": 1, "is": true} - there."#,
            "{'agent': 'weather', 'n': 1, 'is': True}",
            r#""{\"agent\": \"weather\", \"n\": 1, \"is\": true}""#,
        ] {
            assert_eq!(json(text), Some(wanted.clone()), "{text}");
        }
        for text in [
            "",
            "Hello.",
            "[address left out]",
            "{",
            "{]",
            "7",
            "null",
            "{\"a\": ",
        ] {
            assert_eq!(json(text), None, "{text}");
        }
    }

    #[test]
    fn thoughts_and_loops_are_told() {
        assert_eq!(spoken("<think>hm</think>\nHello."), "Hello.");
        assert_eq!(spoken("hm</think> Hello."), "Hello.");
        assert_eq!(spoken("<think>hm, and on and on"), "");
        assert!(loops(&"again and ".repeat(60)) && !loops("again and again"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_in_bounds(text in any::<String>()) {
            let _any = (json(&text), loops(&text), spoken(&text).len() <= text.len());
        }
    }
}
