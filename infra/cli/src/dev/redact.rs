//! What of a message may be shown: not its tokens, and nothing that would let its reader act for somebody.

use serde_json::Value;

/// What stands for what is left out.
const LEFT_OUT: &str = "***";
/// Fields whose text is a secret, by what their names hold in small letters: those of A2A's configurations and OAuth's answers.
const SECRET: [&str; 7] = [
    "token",
    "credential",
    "secret",
    "password",
    "authorization",
    "cookie",
    "apikey",
];
/// Longest text that is shown; a file's bytes say nothing.
const TEXT_MAX: usize = 2_000;

/// A JSON value without its secrets.
pub(super) fn value(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| {
                let bare = name.to_lowercase().replace(['_', '-'], "");
                let is_secret = field.is_string() && SECRET.iter().any(|secret| bare.contains(secret));
                (
                    name.clone(),
                    if is_secret {
                        LEFT_OUT.into()
                    } else {
                        self::value(field)
                    },
                )
            })
            .collect(),
        Value::Array(items) => items.iter().map(self::value).collect(),
        Value::String(said) => text(said).into(),
        other => other.clone(),
    }
}

/// A text without its secrets: addresses end before their query, and tokens are left out.
pub(super) fn text(said: &str) -> String {
    let said: String = said.chars().take(TEXT_MAX).collect();
    let mut is_token = false;
    let words = said.split_inclusive(char::is_whitespace).map(|word| {
        let is_next = std::mem::replace(&mut is_token, word.trim().eq_ignore_ascii_case("bearer"));
        let bare = word.trim_end();
        let space = &word[bare.len()..];
        if is_next || is_jwt(bare) {
            return format!("{LEFT_OUT}{space}");
        }
        match bare.contains("://").then(|| bare.find(['?', '#'])).flatten() {
            Some(end) => format!("{}{LEFT_OUT}{space}", &bare[..=end]),
            None => word.to_owned(),
        }
    });
    words.collect()
}

/// Whether a word holds a JSON Web Token: three or more parts, of which the first is the beginning of a JSON object in base64.
fn is_jwt(word: &str) -> bool {
    word.find("eyJ")
        .is_some_and(|at| word[at..].matches('.').count() >= 2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_left_out_wherever_they_stand() {
        let said = json!({
            "params": { "message": { "parts": [{ "text": "open https://a.example/x?ticket=S3CRET now" }] },
                "configuration": { "taskPushNotificationConfig": { "url": "http://h/w", "token": "S3CRET",
                    "authentication": { "scheme": "Bearer", "credentials": "S3CRET" } } } },
            "more": ["bearer S3CRET x", "(eyJhbGciOi.S3CRET.c)", { "access_token": "S3CRET", "Set-Cookie": "S3CRET" }],
            "usage": { "inputTokens": 7 },
        });
        let shown = value(&said).to_string();
        assert!(!shown.contains("S3CRET"), "{shown}");
        for kept in [
            "open https://a.example/x?*** now",
            "http://h/w",
            "Bearer",
            "\"inputTokens\":7",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
    }

    #[test]
    fn words_stay_as_they_are() {
        for said in ["Will it rain?  Yes.", "a://", "", " ü\n\t", "eyJ.", "what? http"] {
            assert_eq!(text(said), said);
        }
        assert_eq!(text(&"x".repeat(9_000)).len(), TEXT_MAX);
    }
}
