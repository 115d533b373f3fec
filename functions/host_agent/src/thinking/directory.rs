//! Which agents there are, and which of them a `send_message` goes to.
//!
//! The registry shows a host global agents and its own tenant's. What it answers is checked once more here: another
//! tenant's card is never chosen, not even when it is the only one of its type and the registry handed it out.
//!
//! Of several agents of one type the one is chosen whose card speaks most of what is asked. Those that fit alike share the
//! chats: one chat stays with one of them, as an agent may remember what was said to it in a context.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use a2a::OpenAgents;
use a2a::card::{ForeignCard, ForeignOAuth, ForeignSkill};
use domain::{
    AgentId, AgentType, ContextId, Endpoint, SecretString, Tag, Tenant, Timestamp, Transport, TypeScope,
};
use llm::{AgentBrief, Agents, CardText, SkillText};
use outbound::registry_client::{EntityTag, Found, FoundAgent, Registry};
use outbound::{CallError, Outbound};
use url::{Origin, Url};

use crate::broker::MqttBridge;

/// Most agents that are asked where a user is connected.
const CONNECTING_MAX: usize = 20;

/// Where a host finds agents.
pub enum Directory {
    /// In a registry.
    Registry {
        /// Its client.
        client: Registry,
        /// Its URL, the audience of tokens for it.
        url: Url,
        /// The broker that agents are called on, where there is one.
        bridge: Option<Box<MqttBridge>>,
        /// What it said last, which is asked for again only where it has changed.
        last: Box<LastAnswer>,
        /// What it was told of agents that cannot be reached.
        reported: Box<ReportedAgents>,
    },
    /// Nowhere: one agent gets everything.
    Fixed {
        /// The way to it.
        outbound: Outbound,
        /// Where its card lies.
        card: Url,
    },
}

/// An agent that cannot be reached is told of so seldom.
const TOLD_EVERY: Duration = Duration::from_secs(60);
/// Most agents of which it is remembered when they were told of.
const TOLD_MAX: usize = 512;
/// How long the registry is waited for with that: it looks at the agent itself, and nobody hangs on its answer.
const TOLD_WITHIN: Duration = Duration::from_secs(3);

/// When agents were last told of as out of reach, by this process.
#[derive(Default)]
pub struct ReportedAgents(Mutex<BTreeMap<AgentId, Timestamp>>);

impl ReportedAgents {
    /// Whether an agent is to be told of now; then it counts as told of.
    fn is_due(&self, id: AgentId, now: Timestamp) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get(&id).is_some_and(|last| now < last.after(TOLD_EVERY)) {
            return false;
        }
        told.retain(|_, last| now < last.after(TOLD_EVERY));
        if told.len() >= TOLD_MAX {
            return false;
        }
        told.insert(id, now);
        true
    }
}

/// What a registry said last.
#[derive(Default)]
pub struct LastAnswer {
    known: Mutex<Option<(EntityTag, Arc<KnownAgents>)>>,
    /// Held while the registry is asked.
    asked: tokio::sync::Mutex<Option<Asked>>,
}

/// One question to a registry.
struct Asked {
    begun: Instant,
    answer: Result<Arc<KnownAgents>, Arc<CallError>>,
}

impl LastAnswer {
    fn known(&self) -> Option<(EntityTag, Arc<KnownAgents>)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, etag: EntityTag, known: &Arc<KnownAgents>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((etag, Arc::clone(known)));
    }

    /// The answer to a question that began after this call did. Many calls at once so make two questions and not many,
    /// under which a registry that is slow would not answer any; and what was registered before a call is in its answer.
    async fn shared<F>(&self, ask: impl FnOnce() -> F) -> Result<Arc<KnownAgents>, Arc<CallError>>
    where
        F: Future<Output = Result<Arc<KnownAgents>, CallError>>,
    {
        let came = Instant::now();
        let mut asked = self.asked.lock().await;
        if let Some(asked) = asked.as_ref().filter(|asked| asked.begun > came) {
            return asked.answer.clone();
        }
        let begun = Instant::now();
        let answer = ask().await.map_err(Arc::new);
        *asked = Some(Asked {
            begun,
            answer: answer.clone(),
        });
        answer
    }
}

/// The agents that were found, with what each type is declared as.
#[derive(Default)]
pub(crate) struct KnownAgents {
    agents: Vec<Candidate>,
    types: BTreeMap<AgentType, TypeScope>,
    /// Where the registry is that said so.
    place: Option<Origin>,
    /// The types that are private whatever a card says.
    private_types: BTreeSet<AgentType>,
    /// What was made of them for one host: it is the same for every message until the registry changes.
    briefs: OnceLock<(Tenant, Url, Agents)>,
}

struct Candidate {
    id: AgentId,
    tenant: Option<Tenant>,
    healthy: bool,
    card: ForeignCard,
    link_hosts: Vec<String>,
}

/// The agent a message goes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenAgent {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    /// How its user's token is to be had, where it wants one.
    pub(crate) oauth: Option<ForeignOAuth>,
    /// It takes JSON beside words.
    pub(crate) takes_data: bool,
    /// The media types that it takes, where its card says so.
    pub(crate) input_modes: Vec<String>,
    /// With consents of its own it takes a proof of the starter's browser: its card says so, and it knows users by our tokens.
    pub(crate) takes_proof: bool,
    /// It sends no notifications.
    pub(crate) is_polled: bool,
    /// Its card demands authorization, or its type is a tenant's own, or declared private: what it says is for its user alone.
    pub(crate) is_private: bool,
    /// It is somebody else's: neither at the registry's place nor at its host's.
    pub(crate) is_foreign: bool,
    /// It changes something: its user is asked before anything is sent to it.
    pub(crate) writes: bool,
    /// The hosts that were named when it was registered: its card's, and where it may send users to sign in.
    pub(crate) link_hosts: Vec<String>,
    /// What it says of itself.
    pub(crate) brief: AgentBrief,
}

/// An agent through which users may be connected elsewhere.
pub(crate) struct Connecting {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) url: Url,
}

/// Work that an agent is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The type of the agent.
    pub(crate) agent_type: &'a AgentType,
    /// What it is asked.
    pub(crate) asked: &'a str,
    /// The conversation that it is asked in.
    pub(crate) context: &'a ContextId,
}

impl Directory {
    /// Agents from the registry at this URL; those on a broker only where that is the one of `bridge`.
    #[must_use]
    pub fn registry(outbound: Outbound, url: Url, bridge: Option<MqttBridge>) -> Self {
        Self::Registry {
            client: Registry::new(outbound, url.clone()),
            url,
            bridge: bridge.map(Box::new),
            last: Box::default(),
            reported: Box::default(),
        }
    }

    /// The one agent of this card.
    #[must_use]
    pub fn fixed(outbound: Outbound, card: Url) -> Self {
        Self::Fixed { outbound, card }
    }

    /// Finds the agents. `token` makes the token for the registry.
    pub(crate) async fn discover<E>(
        &self,
        token: impl FnOnce(&Url) -> Result<SecretString, E>,
    ) -> Result<Result<Arc<KnownAgents>, Arc<CallError>>, E> {
        Ok(match self {
            Self::Registry {
                client,
                url,
                bridge,
                last,
                ..
            } => {
                let token = token(url)?;
                last.shared(|| ask((client, url), (last, bridge.as_deref()), token))
                    .await
            }
            Self::Fixed { outbound, card } => outbound
                .card(card)
                .await
                .map(|document| Arc::new(KnownAgents::fixed(card, document)))
                .map_err(Arc::new),
        })
    }

    /// Tells the registry that an agent cannot be reached, at most once a minute: it looks at the agent itself.
    pub(crate) async fn report<E>(
        &self,
        id: AgentId,
        token: impl FnOnce(&Url) -> Result<SecretString, E>,
        now: Timestamp,
    ) -> Result<(), E> {
        let Self::Registry {
            client,
            url,
            reported,
            ..
        } = self
        else {
            return Ok(());
        };
        if reported.is_due(id, now) {
            let token = token(url)?;
            let told = tokio::time::timeout(TOLD_WITHIN, client.unreached(id, &token)).await;
            tracing::info!(agent.id = %id, heard = matches!(told, Ok(Ok(()))), "the registry is told of an agent out of reach");
        }
        Ok(())
    }
}

/// Asks a registry for all agents, or whether they are still those of its last answer.
async fn ask(
    (client, url): (&Registry, &Url),
    (last, bridge): (&LastAnswer, Option<&MqttBridge>),
    token: SecretString,
) -> Result<Arc<KnownAgents>, CallError> {
    let known = last.known();
    let etag = known.as_ref().map(|(etag, _)| etag);
    match client.agents(&[], etag, &token).await? {
        Some(mut found) => {
            let etag = found.etag.take();
            let found = Arc::new(KnownAgents::of(found, url, bridge));
            if let Some(etag) = etag {
                last.keep(etag, &found);
            }
            Ok(found)
        }
        None => known.map(|(_, known)| known).ok_or(CallError::Status(304)),
    }
}

/// What a tenant's host makes of the agents that a registry lists, for who writes one of them. Agents of types that are not among
/// `found` are left out.
#[must_use]
pub fn briefs(found: Found, registry: &Url, tenant: &Tenant) -> Agents {
    KnownAgents::of(found, registry, None).briefs(tenant, registry)
}

impl KnownAgents {
    fn of(found: Found, registry: &Url, bridge: Option<&MqttBridge>) -> Self {
        let Found {
            agents,
            types,
            private_types,
            ..
        } = found;
        let mut agents: Vec<Candidate> = agents
            .into_iter()
            .filter_map(|agent| candidate(agent, bridge))
            .collect();
        tell_apart(&mut agents);
        Self {
            agents,
            types,
            place: Some(registry.origin()),
            private_types,
            briefs: OnceLock::new(),
        }
    }

    /// One agent, under the type its card names, or under `agent`.
    fn fixed(url: &Url, document: serde_json::Value) -> Self {
        let Ok(mut card) = a2a::card::parse(&document) else {
            tracing::warn!("the card of the fixed agent cannot be used");
            return Self::default();
        };
        let typed = card
            .skills
            .iter()
            .flat_map(|skill| &skill.tags)
            .find(|tag| tag.key() == "type");
        let Ok(tag) = typed.cloned().map_or_else(|| Tag::parse("type:agent"), Ok) else {
            return Self::default();
        };
        for skill in &mut card.skills {
            skill.tags = vec![tag.clone()];
        }
        let types = AgentType::parse(tag.value())
            .map(|name| (name, TypeScope::Global))
            .into_iter()
            .collect();
        let id = AgentId::derived(url.as_str());
        Self {
            agents: vec![Candidate {
                id,
                tenant: None,
                healthy: true,
                card,
                link_hosts: url.host_str().map(str::to_owned).into_iter().collect(),
            }],
            types,
            ..Self::default()
        }
    }

    /// The agent for a piece of work: of those with `type:` of it; where the type is declared tenant-specific, of these only
    /// those with the host's own `tenant_id:` beside it, within one skill. Healthy ones come first, then those whose cards
    /// fit best; of these the context decides, the same one for the same context.
    pub(crate) fn choose(&self, wanted: Wanted<'_>, own: &Tenant, host: &Url) -> Option<ChosenAgent> {
        let mut chosen = self.candidates(wanted.agent_type, own, host);
        let briefs: Vec<AgentBrief> = chosen.iter().map(|chosen| chosen.brief.clone()).collect();
        let best = llm::best_fitting(&briefs, wanted.asked);
        let mut place = 0..;
        chosen.retain(|_| place.next().is_some_and(|place| best.contains(&place)));
        // The highest of random weights (rendezvous hashing): when one goes, only its own chats move.
        let weight = |id: &AgentId| AgentId::derived(&format!("{}#{id}", wanted.context));
        chosen.into_iter().max_by_key(|chosen| weight(&chosen.id))
    }

    /// What a model may know of the agents that it can send to; once of those that say the same of themselves.
    pub(crate) fn briefs(&self, own: &Tenant, host: &Url) -> Agents {
        let known = self
            .briefs
            .get_or_init(|| (own.clone(), host.clone(), self.told(own, host).into()));
        match known {
            (tenant, url, agents) if tenant == own && url == host => agents.clone(),
            _ => self.told(own, host).into(),
        }
    }

    fn told(&self, own: &Tenant, host: &Url) -> Vec<AgentBrief> {
        let mut briefs: Vec<AgentBrief> = Vec::new();
        let all = self
            .types
            .keys()
            .flat_map(|name| self.candidates(name, own, host));
        for brief in all.map(|agent| agent.brief) {
            if !briefs.contains(&brief) {
                briefs.push(brief);
            }
        }
        briefs
    }

    /// The media types that agents of a type take, each for itself: what one of them takes can be sent to the type. Empty where one
    /// of them does not say, as that may take anything.
    pub(crate) fn input_modes(&self, agent_type: &AgentType, own: &Tenant, host: &Url) -> Vec<String> {
        let agents = self.candidates(agent_type, own, host);
        if agents.iter().any(|agent| agent.input_modes.is_empty()) {
            return Vec::new();
        }
        let modes: BTreeSet<String> = agents.into_iter().flat_map(|agent| agent.input_modes).collect();
        modes.into_iter().collect()
    }

    /// The agents that say of themselves that users are connected through them: those that this tenant sees, and that take our
    /// own tokens, so that none learns of a user here who does not know users anyway.
    pub(crate) fn connecting(&self, own: &Tenant, host: &Url) -> Vec<Connecting> {
        let fits = |agent: &&Candidate| {
            let visible = agent.tenant.as_ref().is_none_or(|tenant| tenant == own);
            visible && agent.card.connects && agent.card.secured && agent.card.oauth.is_none()
        };
        let connecting = |agent: &Candidate| {
            let endpoint = agent.card.endpoints.first().filter(|to| to.url != *host)?;
            // The connections of an agent's users are asked for over HTTP alone.
            if endpoint.transport == Transport::Mqtt {
                return None;
            }
            Some(Connecting {
                id: agent.id,
                name: llm::clean(&agent.card.name, 80),
                url: endpoint.url.clone(),
            })
        };
        self.agents
            .iter()
            .filter(fits)
            .filter_map(connecting)
            .take(CONNECTING_MAX)
            .collect()
    }

    /// The name of the agent at this address.
    pub(crate) fn at(&self, resource: &str) -> Option<String> {
        let is_there = |agent: &&Candidate| {
            agent
                .card
                .endpoints
                .iter()
                .any(|to| to.audience().as_str() == resource)
        };
        let agent = self.agents.iter().find(is_there)?;
        Some(llm::clean(&agent.card.name, 80))
    }

    /// Whether what an agent says is private; so it is of one that is no longer there.
    pub(crate) fn says_private(&self, agent_type: &AgentType, id: &AgentId) -> bool {
        let agent = self.agents.iter().find(|agent| agent.id == *id);
        agent.is_none_or(|agent| self.is_private(agent_type, agent))
    }

    /// The agents of this tenant's that demand nothing of whom they answer, whether they can be sent to now or not.
    pub(crate) fn open(&self, own: &Tenant) -> OpenAgents {
        let mut open = OpenAgents::default();
        let visible = |agent: &&Candidate| agent.tenant.as_ref().is_none_or(|tenant| tenant == own);
        for agent in self.agents.iter().filter(visible) {
            for (name, scope) in &self.types {
                let is_of = fitting(&agent.card, name, *scope, own).next().is_some();
                if is_of && !self.is_private(name, agent) {
                    open.insert(name.clone(), agent.id);
                }
            }
        }
        open
    }

    fn is_private(&self, agent_type: &AgentType, agent: &Candidate) -> bool {
        let is_open = self.types.get(agent_type) == Some(&TypeScope::Global);
        !is_open || agent.card.secured || self.private_types.contains(agent_type)
    }

    /// Whether an address is of this deployment: where the registry is, or the host.
    fn is_ours(&self, url: &Url, host: &Url) -> bool {
        url.origin() == host.origin() || self.place.as_ref().is_some_and(|place| *place == url.origin())
    }

    /// The agents of a type that can be sent to; only the healthy ones where there are any.
    fn candidates(&self, agent_type: &AgentType, own: &Tenant, host: &Url) -> Vec<ChosenAgent> {
        let Some(scope) = self.types.get(agent_type).copied() else {
            return Vec::new();
        };
        let visible = |agent: &&Candidate| agent.tenant.as_ref().is_none_or(|tenant| tenant == own);
        let mut found: Vec<(bool, ChosenAgent)> = Vec::new();
        for agent in self.agents.iter().filter(visible) {
            let skills: Vec<&ForeignSkill> = fitting(&agent.card, agent_type, scope, own).collect();
            // An endpoint that is the host itself would make it talk to itself for ever.
            let endpoint = agent.card.endpoints.first().filter(|to| to.url != *host);
            if let (Some(endpoint), false) = (endpoint, skills.is_empty()) {
                let chosen = ChosenAgent {
                    id: agent.id,
                    name: llm::clean(&agent.card.name, 80),
                    endpoint: endpoint.clone(),
                    oauth: agent.card.oauth.clone(),
                    takes_data: agent.card.takes_data,
                    input_modes: agent.card.input_modes.clone(),
                    takes_proof: agent.card.takes_proof && agent.card.secured && agent.card.oauth.is_none(),
                    is_polled: !agent.card.push_notifications,
                    is_private: self.is_private(agent_type, agent),
                    is_foreign: !self.is_ours(&endpoint.url, host),
                    writes: skills.iter().any(|skill| is_write(skill)),
                    link_hosts: agent.link_hosts.clone(),
                    brief: brief(agent_type, &agent.card, &skills),
                };
                found.push((agent.healthy, chosen));
            }
        }
        let any_healthy = found.iter().any(|(healthy, _)| *healthy);
        found.retain(|(healthy, _)| *healthy == any_healthy);
        found.into_iter().map(|(_, agent)| agent).collect()
    }
}

/// What a card says of the skills of a type.
fn brief(agent_type: &AgentType, card: &ForeignCard, skills: &[&ForeignSkill]) -> AgentBrief {
    let tags_of = |skill: &&ForeignSkill| {
        let tags = skill.tags.iter().map(Tag::to_string);
        tags.chain(skill.plain_tags.iter().cloned()).collect()
    };
    let tags: Vec<Vec<String>> = skills.iter().map(tags_of).collect();
    let texts = skills.iter().zip(&tags).map(|(skill, tags)| SkillText {
        name: &skill.name,
        description: &skill.description,
        tags,
        examples: &skill.examples,
        input: skill.input.as_ref(),
    });
    let card = CardText {
        name: &card.name,
        description: &card.description,
    };
    AgentBrief::new(agent_type.clone(), card, texts)
}

/// Has agents of one name that say different things be called by where they are as well: nobody could choose between them otherwise.
/// Those that say the same share the work.
fn tell_apart(agents: &mut [Candidate]) {
    let name = |agent: &Candidate| agent.card.name.trim().to_lowercase();
    let mut first: BTreeMap<String, (String, Vec<ForeignSkill>)> = BTreeMap::new();
    let mut differ = BTreeSet::new();
    for agent in agents.iter() {
        let says = (agent.card.description.clone(), agent.card.skills.clone());
        if *first.entry(name(agent)).or_insert_with(|| says.clone()) != says {
            differ.insert(name(agent));
        }
    }
    for agent in agents.iter_mut().filter(|agent| differ.contains(&name(agent))) {
        if let Some(to) = agent.card.endpoints.first() {
            agent.card.name = format!("{} ({})", agent.card.name.trim(), to.url.authority());
        }
    }
}

fn candidate(found: FoundAgent, bridge: Option<&MqttBridge>) -> Option<Candidate> {
    let FoundAgent {
        id,
        tenant,
        card_url,
        card,
        health,
        link_hosts,
    } = found;
    let own = card_url.as_ref().and_then(Url::host_str).map(str::to_owned);
    match a2a::card::parse(&card) {
        Ok(mut card) => {
            // Which brokers there are, the configuration says and never a card.
            let reaches = |url: &Url| bridge.is_some_and(|bridge| bridge.reaches(url));
            card.endpoints
                .retain(|to| to.transport != Transport::Mqtt || reaches(&to.url));
            Some(Candidate {
                id,
                tenant,
                healthy: health.is_none_or(|health| health.ok),
                card,
                link_hosts: own.into_iter().chain(link_hosts).collect(),
            })
        }
        Err(fault) => {
            tracing::warn!(agent.id = %id, reason = %fault, "a registered card cannot be used");
            None
        }
    }
}

/// Whether a skill changes something, by its tag `effect:write`.
fn is_write(skill: &ForeignSkill) -> bool {
    let mut tags = skill.tags.iter();
    tags.any(|tag| tag.key() == "effect" && tag.value().eq_ignore_ascii_case("write"))
}

/// The skills of that type that this tenant may use.
fn fitting<'a>(
    card: &'a ForeignCard,
    agent_type: &'a AgentType,
    scope: TypeScope,
    own: &'a Tenant,
) -> impl Iterator<Item = &'a ForeignSkill> {
    card.skills.iter().filter(move |skill| {
        let has = |key: &str, value: &str| {
            skill
                .tags
                .iter()
                .any(|tag| tag.key() == key && tag.value() == value)
        };
        let foreign = skill
            .tags
            .iter()
            .any(|tag| tag.key() == "tenant_id" && tag.value() != own.name());
        let owned = scope == TypeScope::Global || has("tenant_id", own.name());
        has("type", agent_type.as_str()) && owned && !foreign
    })
}
