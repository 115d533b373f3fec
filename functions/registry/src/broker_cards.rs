//! Cards of agents on an MQTT broker: the bridge to it has them, for the registry's own token alone.

use std::sync::Arc;
use std::time::Duration;

use auth::{Grant, SigningKey};
use outbound::CallError;
use serde_json::Value;
use url::Url;

use crate::State;

/// How long a token lives: one call and a little clock skew.
const LIFETIME: Duration = Duration::from_secs(300);

/// The bridge, and how the registry shows that it is the registry.
pub struct BrokerCards {
    /// The bridge's URL, the audience of tokens for it.
    pub bridge: Url,
    /// The issuer of the platform's tokens.
    pub issuer: String,
    /// The platform's key.
    pub key: Arc<SigningKey>,
}

impl BrokerCards {
    fn has(&self, card_url: &Url) -> bool {
        card_url
            .as_str()
            .starts_with(outbound::below(&self.bridge, "cards/").as_str())
    }
}

/// Whether a card is of an agent on a broker.
pub(crate) fn has(state: &State, card_url: &Url) -> bool {
    state
        .broker_cards
        .as_ref()
        .is_some_and(|cards| cards.has(card_url))
}

/// Fetches a card, wherever it lies.
pub(crate) async fn fetch(state: &State, card_url: &Url) -> Result<Value, CallError> {
    let Some(cards) = state.broker_cards.as_ref().filter(|cards| cards.has(card_url)) else {
        return state.outbound.card(card_url).await;
    };
    let grant = Grant {
        issuer: &cards.issuer,
        subject: "registry",
        tenant: None,
        audience: cards.bridge.as_str(),
        scopes: &["mqtt:cards"],
        lifetime: LIFETIME,
    };
    let token = cards.key.sign(&grant, state.clock.now(), state.entropy.as_ref());
    let token = token.map_err(|error| CallError::NotAllowed(error.to_string()))?;
    state.outbound.get_json(card_url, Some(&token)).await
}

/// Why the card of an agent on a broker is not there, in words for people; `None` where it is like any other card.
pub(crate) fn reason(state: &State, card_url: &Url, fault: &CallError) -> Option<&'static str> {
    state.broker_cards.as_ref().filter(|cards| cards.has(card_url))?;
    match fault {
        CallError::Status(503) => Some("the agent is not on its broker at present"),
        CallError::Status(404) => Some("the agent has no card on its broker"),
        _ => None,
    }
}
