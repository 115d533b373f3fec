//! Fetching agent cards.

use serde_json::Value;
use url::Url;

use crate::client::Ask;
use crate::oauth::appended;
use crate::{CallError, Outbound};

/// Where a card lies below an agent's address: since 0.3, and before.
const WELL_KNOWN: [&str; 2] = ["agent-card.json", "agent.json"];

impl Outbound {
    /// Fetches an agent card: from the card's own URL (one that ends in `.json`), or from the well-known places below an
    /// agent's address, or from that address itself.
    ///
    /// # Errors
    /// [`CallError`] of the first place that was tried.
    pub async fn card(&self, url: &Url) -> Result<Value, CallError> {
        let mut first: Option<CallError> = None;
        for place in places(url) {
            match self.card_at(&place).await {
                Ok(card) => return Ok(card),
                Err(
                    error @ (CallError::Status(400..=499) | CallError::BadAnswer(_) | CallError::TooLarge(_)),
                ) => {
                    first.get_or_insert(error);
                }
                // Elsewhere on the same host it would end the same way.
                Err(error) => return Err(first.unwrap_or(error)),
            }
        }
        Err(first.unwrap_or_else(|| CallError::BadAnswer("there is no card".to_owned())))
    }

    async fn card_at(&self, url: &Url) -> Result<Value, CallError> {
        let card = self.exchange(Ask::get(url)).await?.success()?.json()?;
        if card.is_object() {
            Ok(card)
        } else {
            Err(CallError::BadAnswer("it is not a card".to_owned()))
        }
    }
}

fn places(url: &Url) -> Vec<Url> {
    if url.path().ends_with(".json") {
        return vec![url.clone()];
    }
    let well_known = WELL_KNOWN.iter().filter_map(|name| appended(url, name));
    well_known.chain([url.clone()]).collect()
}
