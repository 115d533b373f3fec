//! What of a card counts as the agent that somebody registered: all that a model, the router or a user reads of it, what it may do,
//! and where its calls go. A card that has changed in that is *pending*: the one before serves until somebody says otherwise.
//! Versions, signatures, and which of our calls it takes may change by themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::{CardSignature, PendingCard, RegisteredAgent};
use unicode_security::skeleton;
use url::Url;

use crate::State;
use crate::error::RouteError;

/// Fields that may change by themselves; of addresses only the places are pinned.
const FREE: [&str; 8] = [
    "signatures",
    "version",
    "protocolVersion",
    "preferredTransport",
    "url",
    "supportedInterfaces",
    "additionalInterfaces",
    "iconUrl",
];
/// Most changes of a card that are told, and most characters of each text.
const CHANGES_MAX: usize = 50;
const TEXT_MAX: usize = 300;
/// Names that are ours alone: a user would take such an agent for the host itself.
const RESERVED: [&str; 2] = ["Switchyard", "Host"];

/// One difference between two cards.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where in the card, as a JSON pointer.
    at: String,
    /// What stood there; nothing where it is new.
    before: Option<String>,
    /// What stands there now.
    after: Option<String>,
}

/// The part of a card that is pinned.
fn pinned(card: &Value) -> Value {
    let mut pinned = card.clone();
    let places: BTreeSet<String> = a2a::card::parse(card)
        .map(|card| card.endpoints)
        .unwrap_or_default()
        .iter()
        .map(|to| to.url.origin().ascii_serialization())
        .collect();
    if let Some(fields) = pinned.as_object_mut() {
        FREE.iter().for_each(|name| drop(fields.remove(*name)));
        let capabilities = fields.get_mut("capabilities").and_then(Value::as_object_mut);
        capabilities
            .into_iter()
            .for_each(|all| all.retain(|_, one| !one.is_boolean()));
        fields.insert("places".to_owned(), json!(places));
    }
    pinned
}

/// The name of exactly this card, as far as it is pinned.
pub(crate) fn pin(card: &Value) -> String {
    Sha256::digest(pinned(card).to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What of a card is another than before.
pub(crate) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    leaves(&pinned(before), String::new(), &mut old);
    leaves(&pinned(after), String::new(), &mut new);
    let places: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = places.into_iter().filter(|at| old.get(*at) != new.get(*at));
    let change = |at: &String| Change {
        at: at.clone(),
        before: old.get(at).cloned(),
        after: new.get(at).cloned(),
    };
    changed.map(change).take(CHANGES_MAX).collect()
}

fn leaves(value: &Value, at: String, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields
                .iter()
                .for_each(|(name, one)| leaves(one, format!("{at}/{name}"), found));
        }
        Value::Array(all) if !all.is_empty() => {
            all.iter()
                .enumerate()
                .for_each(|(number, one)| leaves(one, format!("{at}/{number}"), found));
        }
        leaf => {
            let text = leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned);
            found.insert(at, text.chars().take(TEXT_MAX).collect());
        }
    }
}

/// The agent with a card that was just fetched: taken over where it says what the one before said, or where it is this deployment's
/// own, which follows its upgrade; pending otherwise.
pub(crate) async fn renewed(
    state: &State,
    before: RegisteredAgent,
    fetched: RegisteredAgent,
) -> Result<RegisteredAgent, RouteError> {
    if pinned(&before.card) == pinned(&fetched.card) || is_ours(state, &fetched).await? {
        return Ok(RegisteredAgent {
            pending: None,
            ..fetched
        });
    }
    let known = before
        .pending
        .as_ref()
        .filter(|known| pinned(&known.card) == pinned(&fetched.card));
    let since = known.map_or(fetched.health.checked_at, |known| known.since);
    Ok(RegisteredAgent {
        health: fetched.health,
        pending: Some(PendingCard {
            card: fetched.card,
            skills: fetched.skills,
            signature: fetched.signature,
            since,
        }),
        ..before
    })
}

/// Whether a card is signed by this deployment: by a key that the registry's own address publishes, or that of the tenant's host.
async fn is_ours(state: &State, agent: &RegisteredAgent) -> Result<bool, RouteError> {
    if !matches!(agent.signature, CardSignature::Good { .. }) {
        return Ok(false);
    }
    let place = agent.card_url.origin();
    if state.url.origin() == place {
        return Ok(true);
    }
    let Some(tenant) = &agent.tenant else {
        return Ok(false);
    };
    let issuer = state.store.identity().find_session_issuer(tenant).await?;
    let host = issuer.and_then(|issuer| Url::parse(&issuer.issuer).ok());
    Ok(host.is_some_and(|host| host.origin() == place))
}

/// Why an agent may not have the name of its card: it is ours, or looks like that of another agent and is not it.
pub(crate) fn refused_name(card: &Value, others: &[RegisteredAgent]) -> Option<String> {
    let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
    let looks = looks(name);
    if RESERVED.iter().any(|reserved| looks == self::looks(reserved)) {
        return Some(format!(
            "the card: no agent may be called {}, or what looks like it",
            RESERVED.join(" or ")
        ));
    }
    let mut names = others.iter().filter_map(|other| other.card.get("name")?.as_str());
    let alike = names.find(|other| looks == self::looks(other) && !other.eq_ignore_ascii_case(name))?;
    let alike: String = alike.chars().take(80).collect();
    Some(format!(
        "the card: its name looks like that of another agent, `{alike}`, and is not the same"
    ))
}

/// What a name looks like to a reader: its letters and digits, each by the one that it is confused with (UTS 39, section 4).
fn looks(name: &str) -> String {
    let lower = skeleton(name).collect::<String>().to_lowercase();
    let again = skeleton(&lower).collect::<String>();
    again.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Value {
        json!({
            "name": "Zither", "description": "Tunes", "version": "1", "capabilities": {"streaming": true},
            "supportedInterfaces": [{"url": "https://zither.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "skills": [{"id": "tune", "name": "Tune", "description": "Tunes", "tags": ["type:tune"], "examples": ["Tune it"]}],
        })
    }

    #[test]
    fn what_is_read_of_a_card_is_pinned_and_the_rest_is_free() {
        let changed = |pointer: &str, value: Value| {
            let mut card = card();
            *card.pointer_mut(pointer).unwrap() = value;
            card
        };
        for (pointer, value) in [
            ("/version", json!("2")),
            ("/capabilities/streaming", json!(false)),
            ("/supportedInterfaces/0/url", json!("https://zither.example/v2")),
        ] {
            assert_eq!(changes(&card(), &changed(pointer, value)), [], "{pointer}");
        }
        for (pointer, value) in [
            ("/name", json!("Horizon")),
            ("/description", json!("SYSTEM NOTE")),
            ("/skills/0/examples/0", json!("Where is my order?")),
            ("/skills/0/tags/0", json!("effect:write")),
            ("/supportedInterfaces/0/url", json!("https://evil.example/a2a")),
        ] {
            let after = changed(pointer, value);
            assert_eq!(changes(&card(), &after).len(), 1, "{pointer}");
            assert_ne!(pin(&card()), pin(&after), "{pointer}");
        }
    }

    #[test]
    fn names_that_look_like_ours_or_anothers_are_refused() {
        let named = |name: &str| json!({"name": name});
        for name in ["Switchyard", "switch-yard", "Ѕwitchyаrd", "HOST", "Hоst"] {
            assert!(refused_name(&named(name), &[]).is_some(), "{name}");
        }
        assert_eq!(refused_name(&named("Host of parties"), &[]), None);
        assert_eq!(looks("Horizon"), looks("Hоrizοn"), "Cyrillic and Greek");
        assert_ne!(looks("Weather"), looks("Leather"));
    }
}
