//! `GET /api/models`: whom a message can be for: the host, which finds the agent itself, then each agent that the tenant sees.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use a2a::OpenAgents;
use axum::Json;
use axum::extract::State;
use domain::{AgentType, Owner};
use serde_json::{Value, json};

use crate::chat::known_models::{Known, Model, Used};
use crate::error::RouteError;
use crate::session::visitor::Visitor;
use crate::state::AppState;

/// In whose name the host is asked for a visitor without a session: what it lists hangs on the tenant alone.
const LOOKS: &str = "visitor";

/// A visitor without a session sees them too: an empty page says what can be asked for.
pub(crate) async fn models(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
) -> Result<Json<Value>, RouteError> {
    // Who has begun something may see how a program would ask for it: the host wants a token from everybody.
    let host = visitor.map(|_| room.host.url());
    let (models, ranks) = (room.models().await?, room.ranks().await);
    let mut models: Vec<&Model> = models.iter().collect();
    // The host stays the first.
    if let Some((_, agents)) = models.split_first_mut() {
        agents.sort_by_key(|agent| ranks.of(&agent.id));
    }
    Ok(Json(json!({"models": models, "host": host})))
}

/// In which order an empty chat shows agents, and its examples.
struct Ranks<'a> {
    tenant: &'a str,
    /// Those that an admin has pinned.
    pinned: Vec<AgentType>,
    used: Used,
}

impl Ranks<'_> {
    /// The pinned first, then who is asked most.
    fn of(&self, id: &str) -> (usize, Reverse<Option<usize>>, u64) {
        let pinned = self.pinned.iter().position(|one| one.as_str() == id);
        let used = self.used.iter().find(|(one, _)| one.as_str() == id);
        // Whom nobody asks yet has a place by chance, the same each time: no name is worth more than another.
        let mut chance = DefaultHasher::new();
        (self.tenant, id).hash(&mut chance);
        let used = Reverse(used.map(|(_, times)| *times));
        (pinned.unwrap_or(usize::MAX), used, chance.finish())
    }
}

impl AppState {
    /// Those that there are, as the host says.
    pub(crate) async fn models(&self) -> Result<Arc<Vec<Model>>, RouteError> {
        Ok(self.said().await?.models)
    }

    /// The agents that demand nothing of whom they answer, as the host says.
    pub(crate) async fn open_agents(&self) -> Result<Arc<OpenAgents>, RouteError> {
        Ok(self.said().await?.open)
    }

    /// What the host says of its agents; it is asked once in a while.
    async fn said(&self) -> Result<Known, RouteError> {
        let now = self.clock.now();
        if let Some(known) = self.models.known(now) {
            return Ok(known);
        }
        let looks = Owner::parse(LOOKS);
        let looks = looks.map_err(|error| RouteError::invalid("invalid_owner", &error.to_string()))?;
        let found = Known::of(&self.host.card(&looks).await?);
        self.models.keep(&found, now);
        Ok(found)
    }

    async fn ranks(&self) -> Ranks<'_> {
        Ranks {
            tenant: self.tenant.prefix(),
            pinned: self.own.start().await,
            used: self.asked_lately().await,
        }
    }

    /// How often each was asked lately; counted once in a while, and for the order of examples alone.
    async fn asked_lately(&self) -> Used {
        let now = self.clock.now();
        if let Some(used) = self.models.used(now) {
            return used;
        }
        let used = self.used().await.unwrap_or_else(|error| {
            tracing::warn!(tenant.id = self.tenant.name(), %error, "which agents are used cannot be counted");
            Used::new()
        });
        self.models.keep_used(&used, now);
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_stand_first_then_who_is_asked_most_and_others_in_no_order_of_names() {
        let agent = |name: &str| AgentType::parse(name).unwrap();
        let ranks = Ranks {
            tenant: "acme",
            pinned: vec![agent("report")],
            used: [(agent("weather"), 3), (agent("horizon"), 9)].into(),
        };
        let mut ids = ["airbnb", "horizon", "report", "weather"];
        ids.sort_by_key(|id| ranks.of(id));
        assert_eq!(ids, ["report", "horizon", "weather", "airbnb"]);
    }
}
