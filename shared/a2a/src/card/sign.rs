//! Signatures of cards (A2A 1.0, 8.4): JWS over the JCS form (RFC 8785) of the card without its signatures. What is
//! signed is decided here; keys are somebody else's business.
//!
//! Others' cards are read from the JSON as it came, as types forget which fields were there. Signers do not agree on
//! what the canonical form leaves out (the specification's own example does not verify), so that each reading is tried:
//! the card as it is, without default values as 8.4.1 says, and, for servers that sign their 1.0 card and then add the
//! fields of 0.3, the 1.0 card alone. In that last case only the 1.0 card is good: what nobody signed is dropped.

use a2a_types as wire;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::lenient::encode_base64;

/// Most signatures of a card that are looked at.
const MAX_SIGNATURES: usize = 8;

/// Fields that 1.0 marks as required or optional: they stay where they are, whatever their value.
const KEPT: [&str; 26] = [
    "name",
    "supportedInterfaces",
    "version",
    "documentationUrl",
    "iconUrl",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
    "url",
    "protocolBinding",
    "protocolVersion",
    "organization",
    "streaming",
    "pushNotifications",
    "extendedAgentCard",
    "id",
    "tags",
    "location",
    "scheme",
    "flows",
    "scopes",
    "openIdConnectUrl",
    "authorizationUrl",
    "tokenUrl",
    "deviceAuthorizationUrl",
];

/// What the signatures of a card say.
#[derive(Debug, Clone, PartialEq)]
pub enum Signature {
    /// There is none.
    Absent,
    /// At least one is good.
    Good {
        /// The name of its key.
        kid: String,
        /// The card as far as it is signed.
        card: Value,
    },
    /// None of them can be checked here; a card without any says as much.
    Unchecked(String),
    /// One of them is wrong, and none is good.
    Bad(String),
}

/// What a check of one signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The key of that name made it.
    Good(String),
    /// It is wrong.
    Bad(String),
    /// It cannot be checked.
    Unknown(String),
}

/// One signature of a card: the halves of a JWS whose payload is the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwsSignature {
    /// The protected header, base64url.
    pub protected: String,
    /// The signature, base64url.
    pub signature: String,
}

/// Signs a document of ours. A document for both generations is signed twice, as a whole and as the 1.0 card in it,
/// because clients that go by 1.0's types see the latter only.
///
/// # Errors
/// The signer's.
pub fn sign<E>(
    document: &mut Value,
    mut signer: impl FnMut(&[u8]) -> Result<JwsSignature, E>,
) -> Result<(), E> {
    let whole = unsigned(document);
    let mut payloads = vec![canonical(&whole)];
    if let Some(alone) = of_1_0(&whole).map(|card| canonical(&without_defaults(&card)))
        && !payloads.contains(&alone)
    {
        payloads.push(alone);
    }
    let signatures = payloads
        .iter()
        .map(|payload| signer(payload))
        .map(|signed| {
            signed.map(|halves| json!({ "protected": halves.protected, "signature": halves.signature }))
        })
        .collect::<Result<Vec<_>, E>>()?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("signatures".to_owned(), Value::Array(signatures));
    }
    Ok(())
}

/// The signatures of a card; those that are none are left out.
#[must_use]
pub fn signatures(card: &Value) -> Vec<JwsSignature> {
    let listed = card.get("signatures").and_then(Value::as_array);
    let read = |told: &Value| {
        let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(JwsSignature {
            protected: text("protected")?,
            signature: text("signature")?,
        })
    };
    let listed = listed.into_iter().flatten().take(MAX_SIGNATURES);
    listed.filter_map(read).collect()
}

/// Checks the signatures of a card as it was received. `check` is given a signature and what it should be over.
pub fn verify(card: &Value, check: impl Fn(&JwsSignature, &[u8]) -> Verdict) -> Signature {
    match card.get("signatures") {
        None | Some(Value::Null) => return Signature::Absent,
        Some(Value::Array(listed)) if listed.is_empty() => return Signature::Absent,
        Some(Value::Array(_)) => {}
        Some(_) => return Signature::Bad("the card's signatures are no list".to_owned()),
    }
    let signatures = signatures(card);
    if signatures.is_empty() {
        return Signature::Bad("the card's signatures are none".to_owned());
    }
    let readings = readings(card);
    let (mut bad, mut unknown) = (None, None);
    for signature in &signatures {
        for (payload, signed) in &readings {
            match check(signature, payload) {
                Verdict::Good(kid) => {
                    let card = signed.clone();
                    return Signature::Good { kid, card };
                }
                Verdict::Bad(reason) => bad = Some(reason),
                Verdict::Unknown(reason) => {
                    unknown = Some(reason);
                    break;
                }
            }
        }
    }
    match (bad, unknown) {
        (Some(reason), _) => Signature::Bad(reason),
        (None, reason) => Signature::Unchecked(reason.unwrap_or_default()),
    }
}

/// Each canonical form that a signer may have meant, with the card that it covers.
fn readings(card: &Value) -> Vec<(Vec<u8>, Value)> {
    let whole = unsigned(card);
    let mut forms = vec![
        (canonical(&whole), card.clone()),
        (canonical(&without_defaults(&whole)), card.clone()),
    ];
    if let Some(alone) = of_1_0(&whole) {
        forms.push((canonical(&alone), alone.clone()));
        forms.push((canonical(&without_defaults(&alone)), alone.clone()));
        forms.push((canonical(&without_empty(&alone)), alone));
    }
    let mut readings: Vec<(Vec<u8>, Value)> = Vec::new();
    for form in forms {
        if !readings.iter().any(|(payload, _)| *payload == form.0) {
            readings.push(form);
        }
    }
    readings
}

fn unsigned(card: &Value) -> Value {
    let mut card = card.clone();
    if let Some(fields) = card.as_object_mut() {
        fields.remove("signatures");
    }
    card
}

/// The 1.0 card in a document, as the official types know it.
fn of_1_0(document: &Value) -> Option<Value> {
    let card: wire::AgentCard = serde_json::from_value(document.clone()).ok()?;
    serde_json::to_value(card).ok()
}

/// RFC 8785. A JSON value always has that form.
fn canonical(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).unwrap_or_default()
}

/// Leaves out default values as 8.4.1 has it. Free data is not looked into.
fn without_defaults(card: &Value) -> Value {
    let Value::Object(fields) = card else {
        return card.clone();
    };
    let described = fields.contains_key("skills") || fields.contains_key("tags");
    let clean = |(name, value): (&String, &Value)| {
        let kept = KEPT.contains(&name.as_str()) || (described && name == "description");
        let value = match value {
            Value::Object(_) if name == "params" || name == "header" => value.clone(),
            Value::Object(_) => without_defaults(value),
            Value::Array(items) => items.iter().map(without_defaults).collect(),
            other => other.clone(),
        };
        // A message that is there is no default, even an empty one; a map or list that is empty is.
        let map = ["securitySchemes", "schemes"].contains(&name.as_str());
        let default = match &value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => map && members.is_empty(),
            _ => false,
        };
        (kept || !default).then(|| (name.clone(), value))
    };
    Value::Object(fields.iter().filter_map(clean).collect())
}

/// Leaves out every empty text, list and object, as the official Python SDK does.
fn without_empty(value: &Value) -> Value {
    let full = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    match value {
        Value::Array(items) => items.iter().map(without_empty).filter(full).collect(),
        Value::Object(fields) => {
            let cleaned = fields
                .iter()
                .map(|(name, value)| (name.clone(), without_empty(value)));
            let cleaned: Map<String, Value> = cleaned.filter(|(_, value)| full(value)).collect();
            Value::Object(cleaned)
        }
        other => other.clone(),
    }
}

/// The entity tag of a card (RFC 9110, 8.8.3). A weak one: each signing gives other bytes, but the same card.
#[must_use]
pub fn etag(document: &Value) -> String {
    let mut card = document.clone();
    let signatures = card.get_mut("signatures").and_then(Value::as_array_mut);
    for signature in signatures.into_iter().flatten() {
        if let Some(halves) = signature.as_object_mut() {
            halves.remove("signature");
        }
    }
    let hash = Sha256::digest(canonical(&card));
    format!("W/\"{}\"", encode_base64(&hash).trim_end_matches('='))
}

/// Whether an `If-None-Match` names this tag (RFC 9110, 13.1.2; the comparison is the weak one).
#[must_use]
pub fn matches(if_none_match: &str, etag: &str) -> bool {
    let plain = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if_none_match.trim() == "*" || if_none_match.split(',').any(|tag| plain(tag) == plain(etag))
}
