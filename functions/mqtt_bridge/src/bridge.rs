//! What every part of the bridge works with.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use a2a::mqtt::{AgentAddress, TopicPrefix};
use auth::webhook::SenderKeys;
use auth::{KeyError, Sealer, Verifier};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Clock, Entropy, Tenant};
use mqtt::{BrokerUrl, Publisher};
use outbound::Outbound;
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;

use crate::config::AgentPlace;
use crate::discovered::Discovered;
use crate::lines::Lines;
use crate::under_way::UnderWay;
use crate::waiting::Waiting;

/// The bridge: it remembers nothing of a request that would be missed.
pub struct Bridge {
    /// Its own URL.
    url: Url,
    /// The broker.
    pub(crate) broker: BrokerUrl,
    /// The agents that were found on it.
    pub(crate) discovered: Discovered,
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
    pub(crate) attempt: Duration,
    pub(crate) stays: bool,
    pub(crate) under_way: UnderWay,
    /// Whose tokens are good for calls.
    pub(crate) verifier: Verifier,
    /// For how long replies to a call are taken.
    pub(crate) replies_for: Duration,
    /// The calls that wait for their first reply here.
    pub(crate) waiting: Waiting,
    /// Replies on their way to webhooks.
    pub(crate) lines: Lines,
    /// Turns at the webhook of each host.
    turns: HashMap<AgentAddress, Semaphore>,
    /// Signs what goes to webhooks.
    pub(crate) sender: SenderKeys,
    /// Who publishes for each agent, where that is this process.
    publishers: RwLock<HashMap<AgentAddress, Arc<dyn Publisher>>>,
}

/// What a bridge is made of.
pub struct BridgeParts {
    /// Its own URL.
    pub url: Url,
    /// The broker.
    pub broker: BrokerUrl,
    /// What topics on the broker begin with.
    pub prefix: TopicPrefix,
    /// Organisations that replies go to.
    pub orgs: BTreeSet<String>,
    /// The agents that it answers for.
    pub agents: Vec<AgentPlace>,
    /// Seals what agents keep for it, and what replies are known by.
    pub sealer: Arc<Sealer>,
    /// Whose tokens are good for calls; its audience is the bridge's own URL.
    pub verifier: Verifier,
    /// For how long replies to a call are taken.
    pub replies_for: Duration,
    /// The way to the agents.
    pub outbound: Outbound,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG.
    pub entropy: Arc<dyn Entropy>,
    /// When a requester that waits for the settled task is shown that there is work: [`PATIENCE`].
    pub patience: Duration,
    /// How long a call waits for the broker and for its first reply: [`ATTEMPT`].
    pub attempt: Duration,
    /// The process goes on after a request was handled; otherwise everything is said before that.
    pub stays: bool,
}

/// Less than the 15 s after which a requester of the profile tries again.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long an agent may take for its first reply, and its broker before that.
pub const ATTEMPT: Duration = Duration::from_secs(15);

/// Replies of one host on their way to its webhook at once: as many as the way out lets go to one receiver.
const AT_ONCE: usize = 16;

impl Bridge {
    /// A bridge without any connection yet.
    ///
    /// # Errors
    /// [`KeyError`], which no sealing key gives.
    pub fn new(parts: BridgeParts) -> Result<Self, KeyError> {
        Ok(Self {
            sender: SenderKeys::of(&parts.sealer, parts.url.as_str())?,
            verifier: parts.verifier,
            replies_for: parts.replies_for,
            waiting: Waiting::default(),
            lines: Lines::default(),
            reply_url: outbound::below(&parts.url, "reply"),
            url: parts.url,
            broker: parts.broker,
            discovered: Discovered::default(),
            prefix: parts.prefix,
            orgs: parts.orgs,
            turns: parts
                .agents
                .iter()
                .filter(|place| place.webhook.is_some())
                .map(|place| (place.address.clone(), Semaphore::new(AT_ONCE)))
                .collect(),
            agents: parts.agents,
            sealer: parts.sealer,
            outbound: parts.outbound,
            clock: parts.clock,
            entropy: parts.entropy,
            patience: parts.patience,
            attempt: parts.attempt,
            stays: parts.stays,
            under_way: UnderWay::default(),
            publishers: RwLock::default(),
        })
    }

    /// Where the registry gets the card of an agent on the broker.
    pub(crate) fn card_url(&self, agent: &AgentAddress) -> Url {
        outbound::below(&self.url, &format!("cards/{agent}"))
    }

    /// The host of this tenant, where it is on the broker.
    pub(crate) fn host_of(&self, tenant: &Tenant) -> Option<&AgentPlace> {
        let is_its = |place: &&AgentPlace| place.webhook.is_some() && place.address.unit() == tenant.prefix();
        self.agents.iter().find(is_its)
    }

    /// Where a requester takes its replies: one topic for each sealing key, the one in use first. It follows from the key, so
    /// that it is the same after a restart, and nobody else can know it.
    pub(crate) fn reply_topics(&self, requester: &AgentAddress) -> Vec<String> {
        let suffixes = self.sealer.derived(&format!("mqtt/reply/{requester}"));
        let topic = |key: &[u8; 32]| {
            let suffix = URL_SAFE_NO_PAD.encode(key.first_chunk::<16>()?);
            self.prefix.reply(requester, &suffix).ok()
        };
        suffixes.iter().filter_map(topic).collect()
    }

    /// The topic that it uses now.
    pub(crate) fn reply_topic(&self, requester: &AgentAddress) -> String {
        // There is a sealing key, and base64url can stand in a topic.
        self.reply_topics(requester)
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// A turn at the webhook of this host, first come, first served.
    pub(crate) async fn turn(&self, host: &AgentAddress) -> Option<SemaphorePermit<'_>> {
        self.turns.get(host)?.acquire().await.ok()
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
