//! JSON of strangers, from bytes: the one way in. Some of what real programs write is JSON by its grammar and no text, or
//! begins with a mark that is no JSON: that is mended, and everything else is refused as ever.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// What stands for what is no character (Unicode's replacement character), escaped as JSON has it.
const REPLACED: &[u8] = b"\\ufffd";
/// A byte-order mark, which some writers put in front (RFC 8259 §8.1 lets readers ignore it).
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads JSON that somebody else wrote. Half of a character that UTF-16 has in two (a program cut its text there), and bytes that are
/// no UTF-8, become U+FFFD; a byte-order mark in front is passed over. Nesting is bounded by the parser; size, by whoever read the bytes.
///
/// # Errors
/// What the parser says of it. Its words may repeat what it read.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    serde_json::from_slice(bytes).or_else(|error| match mended(bytes) {
        Some(bytes) => serde_json::from_slice(&bytes),
        None => Err(error),
    })
}

/// The same with characters alone in it; `None` where it had nothing else.
fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    let whole = halves_replaced(text.as_bytes());
    match (&text, whole) {
        (_, Some(whole)) => Some(whole),
        (Cow::Owned(text), None) => Some(text.as_bytes().to_vec()),
        (Cow::Borrowed(_), None) => None,
    }
}

/// With every escape of half a character replaced; `None` where there is none.
fn halves_replaced(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut replaced = false;
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let length = match unit(escape) {
            Some(0xd800..=0xdbff) if matches!(escape.get(6..).and_then(unit), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.extend_from_slice(REPLACED);
                replaced = true;
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            // Any other escape is of two bytes; a backslash that ends the text is the parser's business.
            None => 2,
        };
        let (kept, behind) = escape.split_at(length.min(escape.len()));
        out.extend_from_slice(kept);
        rest = behind;
    }
    out.extend_from_slice(rest);
    replaced.then_some(out)
}

/// The unit of UTF-16 that an escape at the beginning stands for.
fn unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    let all_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(bytes: &[u8]) -> Option<Value> {
        read(bytes).ok()
    }

    #[test]
    fn half_a_character_is_replaced_and_whole_ones_stay() {
        for (written, meant) in [
            (r#""pong \ud83d""#, "pong \u{fffd}"),
            (r#""\ude00 pong""#, "\u{fffd} pong"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\uD83D\n""#, "\u{fffd}\n"),
            (r#""\ud83d\ude00 \\ud83d \ud83d""#, "\u{1f600} \\ud83d \u{fffd}"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
        ] {
            assert_eq!(told(written.as_bytes()), Some(json!(meant)), "{written}");
        }
        assert_eq!(told(br#"{"\ud83d": 1}"#), Some(json!({ "\u{fffd}": 1 })));
    }

    #[test]
    fn a_mark_and_bytes_that_are_no_text_are_passed_over() {
        assert_eq!(told(b"\xef\xbb\xbf{\"a\": 1}"), Some(json!({ "a": 1 })));
        // Half a character written out, as some programs have it, and a Latin-1 letter.
        let halves = told(b"\"a\xed\xa0\xbd\"").unwrap_or_default();
        assert!(
            halves.as_str().is_some_and(|text| text.starts_with("a\u{fffd}")),
            "{halves}"
        );
        assert_eq!(told(b"\"Troms\xf8\""), Some(json!("Troms\u{fffd}")));
    }

    #[test]
    fn what_is_no_json_stays_refused() {
        let bottomless = "[".repeat(100_000);
        for body in [
            "",
            "\u{feff}",
            "{",
            "\"\\ud83d",
            "\"\\",
            "\"\\u12\"",
            "\"\\x\"",
            "{\"a\": \\ud83d}",
            "<html>",
            bottomless.as_str(),
        ] {
            assert_eq!(told(body.as_bytes()), None, "{}", &body[..body.len().min(20)]);
        }
        assert_eq!(told(b"\xff\xfe{\x00}\x00"), None);
    }
}
