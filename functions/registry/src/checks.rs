//! The scheduled look at every agent's card, so that hosts pass over those that are not there. Agents that are switched off
//! are not called.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use domain::AgentId;
use edge::{ScheduleError, ScheduleHandler};
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use store::RegisteredAgent;

use crate::State;
use crate::check_agent::{look_again, tell_of_change};
use crate::error::RouteError;

/// How often each agent is looked at.
pub const CHECK_EVERY: Duration = Duration::from_secs(300);
/// Looks under way at once.
const AT_ONCE: usize = 8;
/// How long further looks are begun: what is left is looked at first the next time.
const LONGEST: Duration = Duration::from_secs(15);

/// Looks at the agents whenever the schedule says so: each minute at one of so many shards.
pub struct Checks(pub Arc<State>, pub u32);

/// Of how many shards an agent is in this one, by its id.
fn is_of(id: &AgentId, shard: i64, shards: u32) -> bool {
    let hash = |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte));
    let own = id.to_string().bytes().fold(0, hash).checked_rem(shards);
    own.map(i64::from) == shard.checked_rem_euclid(i64::from(shards))
}

/// What a run of looks did.
#[derive(Debug, Default)]
struct Tally {
    /// Agents looked at and found well.
    well: AtomicU32,
    /// Agents looked at and found unwell.
    unwell: AtomicU32,
    /// Agents whose state could not be written down.
    not_written: AtomicU32,
    /// Agents that there was no time for.
    left: AtomicU32,
}

#[async_trait]
impl ScheduleHandler for Checks {
    async fn run(&self) -> Result<Value, ScheduleError> {
        let Self(state, shards) = self;
        let minute = state.clock.now().seconds().div_euclid(60);
        let registry = state.store.registry();
        let every = registry.every(|id| is_of(id, minute, *shards)).await;
        let mut agents = every.map_err(|error| ScheduleError(Box::new(error)))?;
        agents.retain(|agent| !agent.disabled);
        agents.sort_by_key(|agent| agent.health.checked_at);
        let begun = Instant::now();
        let tally = Tally::default();
        stream::iter(agents)
            .for_each_concurrent(AT_ONCE, |agent| tally.look(state, agent, begun))
            .await;
        Ok(tally.report())
    }
}

impl Tally {
    async fn look(&self, state: &State, agent: RegisteredAgent, begun: Instant) {
        let counter = match begun.elapsed() < LONGEST {
            false => &self.left,
            true => match check(state, agent).await {
                Ok(true) => &self.well,
                Ok(false) => &self.unwell,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "an agent's health is not written");
                    &self.not_written
                }
            },
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn report(self) -> Value {
        json!({
            "well": self.well.into_inner(),
            "unwell": self.unwell.into_inner(),
            "notWritten": self.not_written.into_inner(),
            "left": self.left.into_inner(),
        })
    }
}

/// Looks at one agent, and writes down how it is; as cheaply as it can be where nothing has changed.
async fn check(state: &State, agent: RegisteredAgent) -> Result<bool, RouteError> {
    let cards = state.store.registry();
    let checked = look_again(state, agent.clone(), false).await?;
    let (health, part, id) = (checked.health.clone(), checked.visibility(), checked.id);
    let told = |agent: &RegisteredAgent| (agent.health.ok, agent.health.reason.clone());
    if told(&checked) != told(&agent) {
        tracing::info!(agent.id = %id, ok = health.ok, reason = health.reason, "an agent's health has changed");
    }
    let told_of = |agent: &RegisteredAgent| agent.pending.as_ref().map(|pending| unsigned(&pending.card));
    let news = (&checked.skills, &checked.signature) != (&agent.skills, &agent.signature)
        || told_of(&checked) != told_of(&agent)
        || unsigned(&checked.card) != unsigned(&agent.card);
    if news {
        // Who removed the agent meanwhile, or changed it, is right; the next look finds what became of it.
        cards.replace(&agent, &checked).await?;
        tell_of_change(state, &agent, &checked).await;
    } else if told(&checked) == told(&agent) {
        cards.set_same_health(part, &id, health).await?;
    } else {
        cards.set_health(part, &id, health).await?;
    }
    Ok(checked.health.ok)
}

/// A card without its signatures: each start of an agent signs it anew, and not alike.
fn unsigned(card: &Value) -> Value {
    let mut card = card.clone();
    if let Some(fields) = card.as_object_mut() {
        fields.remove("signatures");
    }
    card
}
