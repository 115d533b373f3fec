//! YAML as CloudFormation writes it, as JSON: scalars by the core schema, tags as intrinsic functions.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value, json};

/// Reads one document.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut open: Vec<(Node, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let tag = |tag: &saphyr_parser::Tag| format!("{}{}", tag.handle, tag.suffix);
        let done = match event {
            Event::Scalar(text, style, _, named) => Some((
                scalar(&text, style, named.is_some()),
                named.map(|named| tag(&named)),
            )),
            Event::SequenceStart(_, named) => {
                open.push((Node::List(Vec::new()), named.map(|named| tag(&named))));
                None
            }
            Event::MappingStart(_, named) => {
                open.push((Node::Map(Map::new(), None), named.map(|named| tag(&named))));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (node, named) = open.pop().ok_or("an end without a start")?;
                let value = match node {
                    Node::List(values) => Value::Array(values),
                    Node::Map(map, _) => Value::Object(map),
                };
                Some((value, named))
            }
            Event::Alias(_) => return Err("CloudFormation takes no aliases".to_owned()),
            _ => None,
        };
        let Some((value, named)) = done else { continue };
        let value = match named {
            None => value,
            Some(name) => intrinsic(&name, value)?,
        };
        match open.last_mut() {
            None => return Ok(value),
            Some((Node::List(values), _)) => values.push(value),
            Some((Node::Map(map, key), _)) => match key.take() {
                None => *key = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                Some(name) => {
                    if map.insert(name.clone(), value).is_some() {
                        return Err(format!("line {}: {name} stands twice", span.start.line()));
                    }
                }
            },
        }
    }
    Err("no document".to_owned())
}

enum Node {
    List(Vec<Value>),
    /// With the key that waits for its value.
    Map(Map<String, Value>, Option<String>),
}

fn scalar(text: &str, style: ScalarStyle, tagged: bool) -> Value {
    if style != ScalarStyle::Plain || tagged {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        number => number
            .parse::<i64>()
            .map(Value::from)
            .unwrap_or_else(|_| Value::from(text)),
    }
}

fn intrinsic(tag: &str, value: Value) -> Result<Value, String> {
    let name = tag.trim_start_matches('!');
    Ok(match name {
        "Ref" | "Condition" => json!({ name: value }),
        "GetAtt" => {
            let text = value.as_str().ok_or("!GetAtt wants a text")?;
            let (id, attribute) = text.split_once('.').ok_or("!GetAtt wants a dot")?;
            json!({ "Fn::GetAtt": [id, attribute] })
        }
        "Sub" | "If" | "Join" | "Not" | "And" | "Or" | "Equals" | "ImportValue" => {
            json!({ format!("Fn::{name}"): value })
        }
        _ => return Err(format!("the tag {tag} is not expected")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_written_out() {
        let read = parse(
            "a: !Sub 'x${B}'\nb: [!Ref C, 1, true, '1']\nc: !GetAtt D.Arn\nd:\n  Fn::ImportValue: !Sub e\n",
        );
        let expect = json!({
            "a": { "Fn::Sub": "x${B}" }, "b": [{ "Ref": "C" }, 1, true, "1"], "c": { "Fn::GetAtt": ["D", "Arn"] },
            "d": { "Fn::ImportValue": { "Fn::Sub": "e" } },
        });
        assert_eq!(read, Ok(expect));
        assert!(parse("a: 1\na: 2\n").is_err());
        assert!(parse("a: !Foo 1\n").is_err());
    }
}
