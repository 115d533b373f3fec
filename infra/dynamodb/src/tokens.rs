//! The tokens of transactions that were written (`ClientRequestToken`), with what was answered.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use dynoxide::DynoxideError;
use serde::Serialize;

/// How long DynamoDB knows a token.
const WINDOW: Duration = Duration::from_secs(600);

/// Most tokens that are kept; beyond, the oldest are forgotten sooner. Who repeats a transaction does so within seconds.
const MOST: usize = 20_000;

/// What is known of a transaction.
#[derive(Debug, PartialEq)]
pub(crate) struct PastAnswer {
    /// Its [`Tokens::fingerprint`].
    pub(crate) asked: u64,
    pub(crate) answer: String,
}

/// The newest tokens.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    known: HashMap<String, PastAnswer>,
    /// Oldest first.
    order: VecDeque<(Instant, String)>,
}

impl Tokens {
    /// The same for the same writes, whatever the order of their attributes.
    pub(crate) fn fingerprint(writes: &impl Serialize) -> Result<u64, DynoxideError> {
        // A JSON value keeps the names of an object sorted.
        let sorted = serde_json::to_value(writes);
        let sorted = sorted.map_err(|error| DynoxideError::InternalServerError(error.to_string()))?;
        let mut hasher = DefaultHasher::new();
        sorted.hash(&mut hasher);
        Ok(hasher.finish())
    }

    pub(crate) fn get(&mut self, token: &str, now: Instant) -> Option<&PastAnswer> {
        while let Some((at, _)) = self.order.front() {
            if self.order.len() <= MOST && now.duration_since(*at) < WINDOW {
                break;
            }
            if let Some((_, oldest)) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        self.known.get(token)
    }

    /// Keeps one that is not known.
    pub(crate) fn keep(&mut self, token: String, known: PastAnswer, now: Instant) {
        self.order.push_back((now, token.clone()));
        self.known.insert(token, known);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(asked: u64) -> PastAnswer {
        PastAnswer {
            asked,
            answer: String::new(),
        }
    }

    #[test]
    fn tokens_are_forgotten_by_age_and_by_number() {
        let mut tokens = Tokens::default();
        let start = Instant::now();
        for number in 0..=MOST as u64 {
            tokens.keep(number.to_string(), known(number), start);
        }
        assert_eq!(tokens.get("0", start), None, "one too many");
        assert_eq!(tokens.get("1", start), Some(&known(1)));
        tokens.keep("new".to_owned(), known(7), start + WINDOW / 2);
        let after = start + WINDOW;
        assert_eq!(tokens.get("2", after), None);
        assert_eq!(tokens.get("new", after), Some(&known(7)));
        assert_eq!((tokens.known.len(), tokens.order.len()), (1, 1));
    }

    #[test]
    fn the_order_of_names_does_not_matter_and_anything_else_does() {
        let of = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            Tokens::fingerprint(&value).unwrap()
        };
        assert_eq!(of(r#"[{"a": 1, "b": 2}]"#), of(r#"[{"b": 2, "a": 1}]"#));
        assert_ne!(of(r#"[{"a": 1, "b": 2}]"#), of(r#"[{"a": 2, "b": 1}]"#));
        assert_ne!(of("[1, 2]"), Tokens::fingerprint(&json!([2, 1])).unwrap());
    }
}
