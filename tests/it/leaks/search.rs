//! Looking for secrets where none may be: in logs, answers, addresses, stored items and files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use serde_json::{Value, json};

/// Secrets that were seen: each with what it is, and as addresses write it where that differs.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(BTreeMap<String, (String, Option<String>)>);

impl Secrets {
    /// Remembers a secret. Short texts are none: they would be found anywhere.
    pub(super) fn add(&mut self, what: &str, secret: &str) {
        assert!(secret.len() >= 8, "{what} is too short to look for");
        let written = Some(percent(secret)).filter(|written| written != secret);
        self.0.insert(secret.to_owned(), (what.to_owned(), written));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What the secrets of this kind are.
    pub(super) fn of(&self, kind: &str) -> Vec<&str> {
        let found = self.0.iter().filter(|(_, (what, _))| what == kind);
        found.map(|(secret, _)| secret.as_str()).collect()
    }

    /// The same without those of a kind.
    pub(super) fn without(&self, kinds: &[&str]) -> Self {
        let kept = self
            .0
            .iter()
            .filter(|(_, (what, _))| !kinds.contains(&what.as_str()));
        Self(
            kept.map(|(secret, known)| (secret.clone(), known.clone()))
                .collect(),
        )
    }

    /// Every secret that stands in the text, plainly or as addresses write it; and whatever looks like a token of ours
    /// although nobody saw it. What they are, never the secrets themselves.
    pub(super) fn in_text(&self, text: &str) -> Vec<String> {
        let stands = |secret: &str, written: &Option<String>| {
            text.contains(secret) || written.as_ref().is_some_and(|written| text.contains(written))
        };
        let found = self
            .0
            .iter()
            .filter(|(secret, (_, written))| stands(secret, written));
        let mut found: Vec<String> = found.map(|(_, (what, _))| what.clone()).collect();
        found.extend(shapes(text).into_iter().map(str::to_owned));
        found.sort();
        found.dedup();
        found
    }
}

fn percent(secret: &str) -> String {
    url::form_urlencoded::byte_serialize(secret.as_bytes()).collect()
}

/// What looks like a secret by its shape alone.
pub(super) fn shapes(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let is_base64url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let long = |rest: &str, least: usize| rest.chars().take_while(|c| is_base64url(*c)).count() >= least;
    let jwt = text.match_indices("eyJ").any(|(at, _)| {
        let rest = text[at..].trim_start_matches(is_base64url);
        rest.strip_prefix('.').is_some_and(|rest| {
            long(rest, 20)
                && rest
                    .trim_start_matches(is_base64url)
                    .strip_prefix('.')
                    .is_some_and(|rest| long(rest, 20))
        })
    });
    if jwt {
        found.push("the shape of a JWT");
    }
    if text.contains("PRIVATE KEY") {
        found.push("the shape of a private key");
    }
    // What tokens of sessions, codes and refresh tokens begin with.
    for (prefix, what) in [
        ("sws_", "the shape of a session's token"),
        ("swc_", "the shape of a code"),
        ("swr_", "the shape of a refresh token"),
    ] {
        if text
            .match_indices(prefix)
            .any(|(at, _)| long(&text[at + prefix.len()..], 40))
        {
            found.push(what);
        }
    }
    // A task's id and 256 random bits: a webhook's token.
    let webhook = text.match_indices('.').any(|(at, _)| {
        let uuid = text.get(at.saturating_sub(36)..at).unwrap_or_default();
        let is_uuid =
            uuid.len() == 36 && domain::TaskId::parse(uuid).is_ok() && uuid.matches('-').count() == 4;
        is_uuid && long(&text[at + 1..], 43)
    });
    if webhook {
        found.push("the shape of a webhook's token");
    }
    found
}

/// What everything logs, as bytes in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// What was logged so far.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic under the lock")).into_owned()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("no panic under the lock")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Every item of every table, as DynamoDB's API gives it. Only tests read tables whole.
pub(super) async fn stored(dynamodb: &str) -> Vec<Value> {
    let call = async |operation: &str, body: Value| {
        ::system_testing::dynamodb::call(dynamodb, operation, &body).await
    };
    let tables = call("ListTables", json!({})).await;
    let mut found = Vec::new();
    for table in tables["TableNames"].as_array().expect("tables") {
        let mut start = Value::Null;
        loop {
            let mut request = json!({ "TableName": table });
            if !start.is_null() {
                request["ExclusiveStartKey"] = start;
            }
            let page = call("Scan", request).await;
            let mut items = page["Items"].as_array().cloned().unwrap_or_default();
            items.iter_mut().for_each(unpack);
            found.extend(items);
            start = page["LastEvaluatedKey"].clone();
            if start.is_null() {
                break;
            }
        }
    }
    found
}

/// Puts plain text in the place of packed text: nothing can be found in what is compressed.
fn unpack(value: &mut Value) {
    if let Some(packed) = value["B"].as_str() {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(packed)
            .expect("base64");
        let plain = miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap_or(bytes);
        *value = json!({ "S": String::from_utf8_lossy(&plain) });
        return;
    }
    match value {
        Value::Array(values) => values.iter_mut().for_each(unpack),
        Value::Object(fields) => fields.values_mut().for_each(unpack),
        _ => {}
    }
}

/// Every file of a folder, by name. Bytes that are no text are kept as far as they are.
pub(super) fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| {
            let bytes = std::fs::read(entry.path()).expect("readable");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_searched_too() {
        let plain = "a password ".repeat(50);
        let packed = miniz_oxide::deflate::compress_to_vec(plain.as_bytes(), 1);
        let packed = base64::engine::general_purpose::STANDARD.encode(packed);
        let mut item = json!({ "pk": { "S": "p" }, "list": { "L": [{ "B": packed }] } });
        assert!(!item.to_string().contains("password"));
        unpack(&mut item);
        assert_eq!(item["list"]["L"][0]["S"], plain);
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let mut secrets = Secrets::default();
        secrets.add("a password", "pass word/with=signs");
        assert_eq!(secrets.in_text("x pass word/with=signs y"), ["a password"]);
        assert_eq!(secrets.in_text("?p=pass+word%2Fwith%3Dsigns"), ["a password"]);
        assert!(secrets.in_text("pass word").is_empty());
    }

    #[test]
    fn tokens_are_known_by_their_shape() {
        let random = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEfGhIj";
        for (text, what) in [
            (format!("Bearer eyJhbGciOiJFUzI1NiJ9.{random}.{random}"), "JWT"),
            (format!("a sws_{random}"), "session"),
            (format!("swc_{random}"), "code"),
            (format!("swr_{random}"), "refresh"),
            (
                format!("x01234567-89ab-4def-8123-456789abcdef.{random}"),
                "webhook",
            ),
            ("-----BEGIN PRIVATE KEY-----".to_owned(), "private key"),
        ] {
            let found = shapes(&text);
            assert!(found.len() == 1 && found[0].contains(what), "{what}: {found:?}");
        }
        for harmless in [
            "eyJhbGciOiJFUzI1NiJ9",
            "sws_short",
            "01234567-89ab-4def-8123-456789abcdef.json",
        ] {
            assert!(shapes(harmless).is_empty(), "{harmless}");
        }
    }
}
