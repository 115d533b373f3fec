//! What every part of the bridge works with.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use a2a::mqtt::{AgentAddress, TopicPrefix};
use auth::Sealer;
use domain::{Clock, Entropy};
use mqtt::Publisher;
use outbound::Outbound;
use url::Url;

use crate::config::AgentPlace;
use crate::under_way::UnderWay;

/// The bridge: it remembers nothing of a request that would be missed.
pub struct Bridge {
    /// Where agents send their news of requests.
    pub(crate) reply_url: Url,
    /// What topics on the broker begin with.
    pub(crate) prefix: TopicPrefix,
    /// Organisations that replies go to.
    pub(crate) orgs: BTreeSet<String>,
    /// The agents that it answers for.
    pub(crate) agents: Vec<AgentPlace>,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) outbound: Outbound,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) patience: Duration,
    pub(crate) under_way: UnderWay,
    /// Who publishes for each agent, where that is this process.
    publishers: RwLock<HashMap<AgentAddress, Arc<dyn Publisher>>>,
}

/// What a bridge is made of.
pub struct BridgeParts {
    /// Its own URL.
    pub url: Url,
    /// What topics on the broker begin with.
    pub prefix: TopicPrefix,
    /// Organisations that replies go to.
    pub orgs: BTreeSet<String>,
    /// The agents that it answers for.
    pub agents: Vec<AgentPlace>,
    /// Seals what agents keep for it.
    pub sealer: Arc<Sealer>,
    /// The way to the agents.
    pub outbound: Outbound,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG.
    pub entropy: Arc<dyn Entropy>,
    /// When a requester that waits for the settled task is shown that there is work: [`PATIENCE`].
    pub patience: Duration,
}

/// Less than the 15 s after which a requester of the profile tries again.
pub const PATIENCE: Duration = Duration::from_secs(10);

impl Bridge {
    /// A bridge without any connection yet.
    #[must_use]
    pub fn new(parts: BridgeParts) -> Self {
        Self {
            reply_url: outbound::below(&parts.url, "reply"),
            prefix: parts.prefix,
            orgs: parts.orgs,
            agents: parts.agents,
            sealer: parts.sealer,
            outbound: parts.outbound,
            clock: parts.clock,
            entropy: parts.entropy,
            patience: parts.patience,
            under_way: UnderWay::default(),
            publishers: RwLock::default(),
        }
    }

    /// Who publishes for this agent from now on.
    pub fn publishes(&self, agent: &AgentAddress, publisher: Arc<dyn Publisher>) {
        let mut publishers = self.publishers.write().unwrap_or_else(PoisonError::into_inner);
        publishers.insert(agent.clone(), publisher);
    }

    /// Nobody here publishes for this agent any more.
    pub(crate) fn publishes_no_more(&self, agent: &AgentAddress) {
        let mut publishers = self.publishers.write().unwrap_or_else(PoisonError::into_inner);
        publishers.remove(agent);
    }

    /// Who publishes for this agent, where that is this process.
    pub(crate) fn publisher(&self, agent: &AgentAddress) -> Option<Arc<dyn Publisher>> {
        let publishers = self.publishers.read().unwrap_or_else(PoisonError::into_inner);
        publishers.get(agent).cloned()
    }

    /// The agent of this address, where the bridge answers for it.
    pub(crate) fn agent(&self, address: &AgentAddress) -> Option<&AgentPlace> {
        self.agents.iter().find(|place| place.address == *address)
    }
}
