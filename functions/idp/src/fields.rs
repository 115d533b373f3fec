//! The parameters of a request, form-encoded in a query or a body. A parameter may stand there once (RFC 6749 §3.1),
//! and an empty one counts as absent.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header::CONTENT_TYPE;

use crate::error::TokenError;

/// Most bytes of all parameters together.
const MAX_BYTES: usize = 16 * 1024;
/// Most parameters.
const MAX_FIELDS: usize = 40;
/// The type of bodies.
const FORM: &str = "application/x-www-form-urlencoded";

/// Parameters by name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Fields(BTreeMap<String, Vec<String>>);

/// A parameter that stands there more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated;

impl Fields {
    /// Reads a query or body; `None` where it is longer than any request has reason to be.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (count, (name, value)) in url::form_urlencoded::parse(text).enumerate() {
            if count >= MAX_FIELDS {
                return None;
            }
            fields
                .entry(name.into_owned())
                .or_default()
                .push(value.into_owned());
        }
        Some(Self(fields))
    }

    /// A parameter's value.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Repeated> {
        match self.0.get(name).map(Vec::as_slice) {
            None => Ok(None),
            Some([value]) => Ok(Some(value.as_str()).filter(|value| !value.is_empty())),
            Some(_) => Err(Repeated),
        }
    }

    /// The value of a parameter that must stand there, once.
    pub(crate) fn needed(&self, name: &str, missing: &'static str) -> Result<&str, TokenError> {
        let told = self.one(name).unwrap_or_default();
        told.ok_or(TokenError::invalid(missing))
    }

    /// Every value of a parameter that may be repeated (`resource`, RFC 8707).
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }

    /// True where a parameter other than `except` is repeated.
    pub(crate) fn repeats(&self, except: &str) -> bool {
        self.0
            .iter()
            .any(|(name, values)| name != except && values.len() > 1)
    }

    /// The same parameters, some of them left out, as a query.
    pub(crate) fn query_without(&self, left_out: &[&str]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, values) in &self.0 {
            if !left_out.contains(&name.as_str()) {
                query.extend_pairs(values.iter().map(|value| (name, value)));
            }
        }
        query.finish()
    }
}

/// Names alone: values are secrets here as often as not.
impl std::fmt::Debug for Fields {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = TokenError;
    async fn from_request(request: Request, state: &S) -> Result<Self, TokenError> {
        let is_form = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok()?.split(';').next())
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM));
        if !is_form {
            return Err(TokenError::invalid(
                "the body must be application/x-www-form-urlencoded",
            ));
        }
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|_| TokenError::invalid("the body cannot be read"))?;
        let fields = Self::parse(&body).ok_or_else(|| TokenError::invalid("the body is too long"))?;
        if fields.repeats("resource") {
            return Err(TokenError::invalid("a parameter is repeated"));
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_stands_once_and_empty_is_absent() {
        let fields = Fields::parse(b"a=1&b=&c=1&c=1&d=%20x+y").unwrap();
        assert_eq!(fields.one("a"), Ok(Some("1")));
        assert_eq!(fields.one("b"), Ok(None));
        assert_eq!(fields.one("c"), Err(Repeated));
        assert_eq!(fields.one("d"), Ok(Some(" x y")));
        assert_eq!(fields.one("e"), Ok(None));
        assert!(fields.repeats("a") && !fields.repeats("c"));
        assert_eq!(fields.query_without(&["c", "b"]), "a=1&d=+x+y");
        assert!(!format!("{fields:?}").contains("x y"));
    }

    #[test]
    fn rubbish_is_read_or_refused_without_a_panic() {
        for rubbish in [&b"%"[..], b"&&&=", b"%ff=%00", b"\xff\xfe", b""] {
            assert!(Fields::parse(rubbish).is_some());
        }
        assert!(Fields::parse(&vec![b'a'; MAX_BYTES + 1]).is_none());
        assert!(Fields::parse("a=1&".repeat(MAX_FIELDS + 1).as_bytes()).is_none());
    }
}
