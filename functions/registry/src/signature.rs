//! Signatures of the cards that are registered: a bad one is refused, a good one is told, and of an absent one, or one
//! whose key cannot be had, just that is told. Whoever could change a card could as well take its signatures off, so
//! that the latter two are no worse than each other.
//!
//! A signature says itself where its key lies (`jku`), and so proves nothing by that alone. Keys are taken only from the
//! host that the card itself came from: a good signature then says that the card is what that host's agent signed.

use std::collections::BTreeMap;

use a2a::card::{Signature, Verdict};
use auth::card_signature::{self, Checked};
use serde_json::Value;
use store::CardSignature;
use url::Url;

use crate::State;

/// Most documents of keys that are fetched for one card.
const MAX_DOCUMENTS: usize = 3;

/// Checks a card's signatures. Gives the card as far as it is signed, or as it is where nobody signed it.
///
/// # Errors
/// What is wrong with a bad one.
pub(crate) async fn check(
    state: &State,
    card_url: &Url,
    card: Value,
) -> Result<(Value, CardSignature), String> {
    let keys = published(state, card_url, &card).await;
    judge(card, &keys)
}

/// The documents of keys that the card's signatures name, as far as they may be asked and could be had.
async fn published(state: &State, card_url: &Url, card: &Value) -> BTreeMap<String, Value> {
    let mut documents = BTreeMap::new();
    for signature in a2a::card::signatures(card) {
        let jku = card_signature::header(&signature.protected)
            .ok()
            .and_then(|header| header.jku);
        let Some(jku) = jku.filter(|jku| !documents.contains_key(jku)) else {
            continue;
        };
        let Some(url) = of_the_same_host(&jku, card_url) else {
            continue;
        };
        if documents.len() >= MAX_DOCUMENTS {
            break;
        }
        match state.outbound.get_json::<Value>(&url, None).await {
            Ok(document) => {
                documents.insert(jku, document);
            }
            Err(error) => {
                tracing::info!(host = url.host_str(), error = %error, "the keys of a card's signature could not be fetched");
                documents.insert(jku, Value::Null);
            }
        }
    }
    documents
}

fn of_the_same_host(jku: &str, card_url: &Url) -> Option<Url> {
    let url = Url::parse(jku).ok()?;
    let origin = |url: &Url| url.origin().is_tuple().then(|| url.origin());
    (origin(&url)? == origin(card_url)?).then_some(url)
}

/// The verdict, given the documents of keys by their `jku`.
fn judge(card: Value, keys: &BTreeMap<String, Value>) -> Result<(Value, CardSignature), String> {
    let verdict = a2a::card::verify(&card, |signature, payload| {
        let header = match card_signature::header(&signature.protected) {
            Ok(header) => header,
            Err(reason) => return Verdict::Bad(reason.to_owned()),
        };
        let document = match header.jku.as_ref().map(|jku| keys.get(jku)) {
            None => {
                return Verdict::Unknown("a signature does not say where its key is published".to_owned());
            }
            Some(None) => {
                return Verdict::Unknown(
                    "a signature's key is not published by the card's own host".to_owned(),
                );
            }
            Some(Some(Value::Null)) => {
                return Verdict::Unknown("a signature's key could not be fetched".to_owned());
            }
            Some(Some(document)) => document,
        };
        match card_signature::check(&signature.protected, &signature.signature, payload, document) {
            Checked::Good { kid } => Verdict::Good(kid),
            Checked::Bad(reason) => Verdict::Bad(reason.to_owned()),
            Checked::Unknown(reason) => Verdict::Unknown(reason.to_owned()),
        }
    });
    match verdict {
        Signature::Absent => Ok((card, CardSignature::Absent)),
        Signature::Good { kid, card } => Ok((card, CardSignature::Good { kid })),
        Signature::Unchecked(reason) => Ok((card, CardSignature::Unchecked { reason })),
        Signature::Bad(reason) => Err(format!("the card's signature is bad: {reason}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_from_the_cards_own_host_alone() {
        let card = Url::parse("https://agents.example/a/.well-known/agent-card.json").unwrap();
        for (jku, fits) in [
            ("https://agents.example/a/.well-known/jwks.json", true),
            ("https://agents.example:443/jwks", true),
            ("http://agents.example/jwks", false),
            ("https://agents.example:8443/jwks", false),
            ("https://agents.example.evil.example/jwks", false),
            ("https://evil.example/jwks", false),
            ("data:application/json,{}", false),
            ("jwks", false),
        ] {
            assert_eq!(of_the_same_host(jku, &card).is_some(), fits, "{jku}");
        }
    }
}
