//! `GET /api/models`: whom a message can be for: the host, which finds the agent itself, then each agent that the tenant sees.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use a2a::OpenAgents;
use axum::Json;
use axum::extract::State;
use domain::Owner;
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
    let models = room.models().await?;
    Ok(Json(json!({"models": *models, "host": host})))
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
        let card = self.host.card(&looks).await?;
        let (pinned, used) = (self.own.start().await, self.asked_lately().await);
        let found = Known::of(&card, |id| {
            let pinned = pinned.iter().position(|one| one.as_str() == id);
            let used = used.iter().find(|(one, _)| one.as_str() == id);
            // Whom nobody asks yet has a place by chance, the same each time: no name is worth more than another.
            let mut chance = DefaultHasher::new();
            (self.tenant.prefix(), id).hash(&mut chance);
            let used = Reverse(used.map(|(_, times)| *times));
            (pinned.unwrap_or(usize::MAX), used, chance.finish())
        });
        self.models.keep(&found, now);
        Ok(found)
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
