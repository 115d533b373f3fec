//! The registry's agents, found by id or tag, and the scope each type was declared with.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{AgentId, AgentType, Tag, Tenant, Timestamp, TypeScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, document, encode, inconsistent, key_of, parse};
use crate::dynamo::{Query, Written};
use crate::transact::{Transacted, Writes};
use crate::{Store, StoreError};

/// Which part of the registry is looked at: exactly one, never two together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility<'a> {
    /// The agents that serve every tenant.
    Global,
    /// One tenant's own.
    Tenant(&'a Tenant),
}

/// A registered agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAgent {
    /// Its id here.
    pub id: AgentId,
    /// Whose it is; none where it serves every tenant.
    pub tenant: Option<Tenant>,
    /// Where its card came from.
    pub card_url: Url,
    /// The card as fetched.
    pub card: Value,
    /// The tags of each skill.
    pub skills: Vec<Vec<Tag>>,
    /// Since when it is registered.
    pub registered_at: Timestamp,
    /// How it was at the last look.
    pub health: Health,
    /// What its card's signatures said when it was taken over.
    #[serde(default)]
    pub signature: CardSignature,
    /// Its operator has switched it off: it is offered to nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Hosts, beside that of its card, to which it may send users to sign in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_hosts: Vec<String>,
    /// Its card as it says now, where that is something else than what was registered: nobody has approved it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingCard>,
}

/// A card that is not the one that was registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCard {
    /// The card as fetched.
    pub card: Value,
    /// The tags of each skill.
    pub skills: Vec<Vec<Tag>>,
    /// What its signatures said.
    pub signature: CardSignature,
    /// Since when it says so.
    pub since: Timestamp,
}

/// What the signatures of a card said. A card with a bad one is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum CardSignature {
    /// There is none.
    #[default]
    Absent,
    /// A good one.
    Good {
        /// The name of its key.
        kid: String,
    },
    /// None that could be checked.
    Unchecked {
        /// Why not.
        reason: String,
    },
}

impl RegisteredAgent {
    /// Which part of the registry it lies in.
    #[must_use]
    pub fn visibility(&self) -> Visibility<'_> {
        self.tenant
            .as_ref()
            .map_or(Visibility::Global, Visibility::Tenant)
    }
}

/// How an agent was at the last look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// True where its card could be had.
    pub ok: bool,
    /// When that was looked at.
    pub checked_at: Timestamp,
    /// What was wrong.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What became of declaring a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// It is declared.
    New,
    /// It was declared just so before.
    Same,
    /// It was declared with this other scope before, which stays.
    Contradicts(TypeScope),
}

/// A type as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredType {
    /// Its name.
    pub name: AgentType,
    /// Whom its agents serve.
    pub scope: TypeScope,
    /// What its agents say, and what is said to them, goes to no other agent without their user's word.
    pub private: bool,
}

/// What became of registering an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is registered; it replaces what had the same id.
    Yes,
    /// Another agent of the same visibility has that card URL.
    CardUrlTaken(AgentId),
    /// Somebody else changed that agent at the same time.
    Conflict,
}

/// The table of the registry.
#[derive(Clone, Copy)]
pub struct Cards<'s> {
    pub(crate) store: &'s Store,
}

/// An agent's item: the document without what changes by itself.
#[derive(Serialize, Deserialize)]
struct AgentItem {
    pk: String,
    sk: String,
    rev: u64,
    body: String,
    health: String,
}

#[derive(Serialize, Deserialize)]
struct TypeItem {
    pk: String,
    sk: String,
    scope: TypeScope,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    private: bool,
}

/// Who has a card URL.
#[derive(Serialize, Deserialize)]
struct UrlItem {
    pk: String,
    sk: String,
    agent: AgentId,
}

/// The mark of the last change of a part of the registry.
#[derive(Serialize, Deserialize)]
struct EditionItem {
    pk: String,
    sk: String,
    edition: String,
}

/// Every declared type, one item each. The word cannot be a tenant's name.
const TYPES: &str = "global#type";
/// Where every agent lies, of all tenants, one item each; read by what looks after them by the clock, and by nobody else.
pub(crate) const EVERY: &str = "global#every";

impl Visibility<'_> {
    fn partition(&self, kind: &str) -> String {
        match self {
            Self::Global => format!("global#{kind}"),
            Self::Tenant(tenant) => format!("{}#{kind}", tenant.prefix()),
        }
    }

    fn agent(&self, id: &AgentId) -> Key {
        (self.partition(&format!("agent#{id}")), "AGENT".to_owned())
    }

    /// One entry of the list of all agents.
    fn listed(&self, id: &AgentId) -> Key {
        (self.partition("agents"), id.to_string())
    }

    fn tag(&self, tag: &Tag) -> String {
        self.partition(&format!("tag#{tag}"))
    }

    /// The mark that every change of this part renews.
    fn edition(&self) -> Key {
        (self.partition("edition"), "EDITION".to_owned())
    }

    /// URLs may be longer than keys.
    fn url(&self, url: &Url) -> Key {
        let hash = hex(&Sha256::digest(url.as_str()));
        (self.partition(&format!("url#{hash}")), "URL".to_owned())
    }

    /// One entry of the list of all agents of all tenants.
    fn of_every(&self, id: &AgentId) -> Key {
        let part = match self {
            Self::Global => "global",
            Self::Tenant(tenant) => tenant.prefix(),
        };
        (EVERY.to_owned(), format!("{part}#{id}"))
    }

    /// Where an agent is found by: the lists, and each of its tags.
    fn entries(&self, agent: &RegisteredAgent) -> BTreeSet<Key> {
        let tags = agent
            .skills
            .iter()
            .flatten()
            .map(|tag| (self.tag(tag), agent.id.to_string()));
        tags.chain([self.listed(&agent.id), self.of_every(&agent.id)])
            .collect()
    }
}

impl Cards<'_> {
    /// Declares a type's scope, once.
    ///
    /// # Errors
    /// What the database says.
    pub async fn declare_type(&self, name: &AgentType, scope: TypeScope) -> Result<Declared, StoreError> {
        let item = TypeItem {
            pk: TYPES.to_owned(),
            sk: name.to_string(),
            scope,
            private: false,
        };
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let mut writes = Writes::default();
        writes.put(self.table(), encode(&item)?, absent)?;
        self.renew(&mut writes, Visibility::Global)?;
        let known = match self.store.transact(writes).await? {
            Transacted::Done => return Ok(Declared::New),
            Transacted::Refused(refused) => refused.into_iter().find_map(|(_, known)| known),
        };
        let known = known.map(|known| decode::<TypeItem>(self.table(), known).map(|known| known.scope));
        match known.transpose()? {
            Some(known) if known == scope => Ok(Declared::Same),
            Some(known) => Ok(Declared::Contradicts(known)),
            None => {
                let key = (item.pk, item.sk);
                Err(inconsistent(self.table(), &key, "was there and is gone"))
            }
        }
    }

    /// Removes a declared type. False where nobody declared it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove_type(&self, name: &AgentType) -> Result<bool, StoreError> {
        let key = (TYPES.to_owned(), name.to_string());
        let mut writes = Writes::default();
        writes.delete(self.table(), &key, Change::new().when("attribute_exists(#pk)"))?;
        self.renew(&mut writes, Visibility::Global)?;
        Ok(matches!(self.store.transact(writes).await?, Transacted::Done))
    }

    /// Says whether the agents of a declared type are private. False where nobody declared the type.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set_private(&self, name: &AgentType, private: bool) -> Result<bool, StoreError> {
        let key = (TYPES.to_owned(), name.to_string());
        let change = Change::new()
            .set("private", AttributeValue::Bool(private))
            .when("attribute_exists(#pk)");
        let mut writes = Writes::default();
        writes.update(self.table(), &key, change)?;
        self.renew(&mut writes, Visibility::Global)?;
        Ok(matches!(self.store.transact(writes).await?, Transacted::Done))
    }

    /// Every declared type, by name.
    ///
    /// # Errors
    /// What the database says.
    pub async fn types(&self) -> Result<Vec<DeclaredType>, StoreError> {
        let read = |item| {
            let item: TypeItem = decode(self.table(), item)?;
            let bad = |error| inconsistent(self.table(), &(item.pk.clone(), item.sk.clone()), error);
            Ok(DeclaredType {
                name: AgentType::parse(&item.sk).map_err(bad)?,
                scope: item.scope,
                private: item.private,
            })
        };
        self.partition(TYPES).await?.into_iter().map(read).collect()
    }

    /// Registers an agent, or replaces the one of the same id, with its tags; all in one transaction.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where the card does not fit or has too many tags; otherwise what the database says.
    pub async fn put(&self, agent: &RegisteredAgent) -> Result<Put, StoreError> {
        let known = self.stored(agent.visibility(), &agent.id).await?;
        self.write(agent, known).await
    }

    /// Replaces an agent that still is as it was seen, but for its health; otherwise a conflict, also where it is gone.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub async fn replace(&self, seen: &RegisteredAgent, agent: &RegisteredAgent) -> Result<Put, StoreError> {
        let known = self.stored(agent.visibility(), &agent.id).await?;
        let as_seen = known.as_ref().is_some_and(|(_, known)| {
            let health = seen.health.clone();
            let known = RegisteredAgent {
                health,
                ..known.clone()
            };
            known == *seen
        });
        match as_seen {
            true => self.write(agent, known).await,
            false => Ok(Put::Conflict),
        }
    }

    async fn write(
        &self,
        agent: &RegisteredAgent,
        known: Option<(u64, RegisteredAgent)>,
    ) -> Result<Put, StoreError> {
        let (table, visibility) = (self.table(), agent.visibility());
        let (pk, sk) = visibility.agent(&agent.id);
        let item = AgentItem {
            pk,
            sk,
            rev: known.as_ref().map_or(1, |(rev, _)| rev + 1),
            body: document("the agent's card", agent)?,
            health: document("the agent's health", &agent.health)?,
        };
        let mut writes = Writes::default();
        let url = visibility.url(&agent.card_url);
        let owned = UrlItem {
            pk: url.0.clone(),
            sk: url.1.clone(),
            agent: agent.id,
        };
        let free = Change::new()
            .when("attribute_not_exists(#pk) OR #agent = :agent")
            .value("agent", text(agent.id));
        writes.put(table, encode(&owned)?, free)?;
        writes.put(
            table,
            encode(&item)?,
            unchanged(known.as_ref().map(|(rev, _)| *rev)),
        )?;
        let entries = visibility.entries(agent);
        if let Some((_, known)) = &known {
            for gone in visibility.entries(known).difference(&entries) {
                writes.delete(table, gone, Change::new())?;
            }
            let known_url = visibility.url(&known.card_url);
            if known_url != url {
                writes.delete(table, &known_url, Change::new())?;
            }
        }
        for entry in &entries {
            writes.put(table, crate::codec::keyed(entry), Change::new())?;
        }
        self.renew(&mut writes, visibility)?;
        match self.store.transact(writes).await? {
            Transacted::Done => Ok(Put::Yes),
            Transacted::Refused(refused) if refused.iter().any(|(index, _)| *index == 0) => {
                let found = self.store.item(table, &url).await?;
                match found.map(|item| decode::<UrlItem>(table, item)).transpose()? {
                    Some(taken) => Ok(Put::CardUrlTaken(taken.agent)),
                    None => Ok(Put::Conflict),
                }
            }
            Transacted::Refused(_) => Ok(Put::Conflict),
        }
    }

    /// The agent of that id.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(
        &self,
        visibility: Visibility<'_>,
        id: &AgentId,
    ) -> Result<Option<RegisteredAgent>, StoreError> {
        Ok(self.stored(visibility, id).await?.map(|(_, agent)| agent))
    }

    /// The agents with a skill of that tag.
    ///
    /// # Errors
    /// What the database says.
    pub async fn by_tag(
        &self,
        visibility: Visibility<'_>,
        tag: &Tag,
    ) -> Result<Vec<RegisteredAgent>, StoreError> {
        self.entries(visibility, &visibility.tag(tag)).await
    }

    /// Every agent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn all(&self, visibility: Visibility<'_>) -> Result<Vec<RegisteredAgent>, StoreError> {
        self.entries(visibility, &visibility.partition("agents")).await
    }

    /// Removes an agent with its tags. False where there was none.
    ///
    /// # Errors
    /// [`StoreError::Throttled`] where it changes all the time; otherwise what the database says.
    pub async fn remove(&self, visibility: Visibility<'_>, id: &AgentId) -> Result<bool, StoreError> {
        // Another change in between only means another try; five in a row mean load.
        for _ in 0..5 {
            let Some((rev, agent)) = self.stored(visibility, id).await? else {
                return Ok(false);
            };
            let mut writes = Writes::default();
            writes.delete(self.table(), &visibility.agent(id), unchanged(Some(rev)))?;
            writes.delete(self.table(), &visibility.url(&agent.card_url), Change::new())?;
            for entry in visibility.entries(&agent) {
                writes.delete(self.table(), &entry, Change::new())?;
            }
            self.renew(&mut writes, visibility)?;
            if let Transacted::Done = self.store.transact(writes).await? {
                return Ok(true);
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }

    /// Writes down how an agent was found. False where there is none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set_health(
        &self,
        visibility: Visibility<'_>,
        id: &AgentId,
        health: Health,
    ) -> Result<bool, StoreError> {
        let mut writes = Writes::default();
        let change = told(&health)?;
        writes.update(self.table(), &visibility.agent(id), change)?;
        self.renew(&mut writes, visibility)?;
        Ok(matches!(self.store.transact(writes).await?, Transacted::Done))
    }

    /// Writes down that an agent was found as it was before: no news to anybody who asks for news. False where there is
    /// none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set_same_health(
        &self,
        visibility: Visibility<'_>,
        id: &AgentId,
        health: Health,
    ) -> Result<bool, StoreError> {
        let change = told(&health)?;
        let written = self
            .store
            .update(self.table(), &visibility.agent(id), change)
            .await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// Every agent of every tenant whose id is wanted, for what looks after them by the clock. Nothing is read of the others.
    ///
    /// # Errors
    /// What the database says.
    pub async fn every(
        &self,
        wanted: impl Fn(&AgentId) -> bool + Send,
    ) -> Result<Vec<RegisteredAgent>, StoreError> {
        let mut agents = Vec::new();
        let mut tenants: BTreeMap<String, Vec<AgentId>> = BTreeMap::new();
        for item in self.partition(EVERY).await? {
            let key = key_of(self.table(), &item)?;
            let bad = |error| inconsistent(self.table(), &key, error);
            let (part, id) = key
                .1
                .rsplit_once('#')
                .ok_or_else(|| bad("names no agent".to_owned()))?;
            let id = AgentId::parse(id).map_err(|error| bad(error.to_string()))?;
            if wanted(&id) {
                tenants.entry(part.to_owned()).or_default().push(id);
            }
        }
        for (part, ids) in tenants {
            let tenant = match part.as_str() {
                "global" => None,
                prefix => {
                    let tenant = Tenant::from_prefix(prefix);
                    let key = (EVERY.to_owned(), part.clone());
                    Some(tenant.map_err(|error| inconsistent(self.table(), &key, error))?)
                }
            };
            let home = tenant.as_ref().map_or(Visibility::Global, Visibility::Tenant);
            agents.extend(self.of_ids(home, &ids).await?);
        }
        Ok(agents)
    }

    /// Names what these parts of the registry hold together: as long as it is the same, so are their agents, how they
    /// were found, and the types. One call, whatever there is. A name never comes again.
    ///
    /// # Errors
    /// What the database says.
    pub async fn edition(&self, parts: &[Visibility<'_>]) -> Result<String, StoreError> {
        let keys: Vec<Key> = parts.iter().map(Visibility::edition).collect();
        let mut found = self.store.items(self.table(), &keys).await?;
        let mut all = Sha256::new();
        for key in keys {
            let item = found.remove(&key).map(|item| decode(self.table(), item));
            let item: Option<EditionItem> = item.transpose()?;
            // Nothing was ever changed where there is none.
            let edition = item.map_or_else(String::new, |item| item.edition);
            all.update(format!("{}/{edition}\n", key.0));
        }
        Ok(hex(&all.finalize()))
    }

    /// Marks the part as changed, with the writes that change it.
    fn renew(&self, writes: &mut Writes, visibility: Visibility<'_>) -> Result<(), StoreError> {
        let (pk, sk) = visibility.edition();
        let edition = self.store.mark();
        writes.put(
            self.table(),
            encode(&EditionItem { pk, sk, edition })?,
            Change::new(),
        )
    }

    async fn stored(
        &self,
        visibility: Visibility<'_>,
        id: &AgentId,
    ) -> Result<Option<(u64, RegisteredAgent)>, StoreError> {
        let found = self.store.item(self.table(), &visibility.agent(id)).await?;
        found.map(|item| self.read(visibility, item)).transpose()
    }

    fn read(&self, visibility: Visibility<'_>, item: Item) -> Result<(u64, RegisteredAgent), StoreError> {
        let item: AgentItem = decode(self.table(), item)?;
        let key = (item.pk, item.sk);
        let mut agent: RegisteredAgent = parse(self.table(), &key, &item.body)?;
        agent.health = parse(self.table(), &key, &item.health)?;
        // A tenant sees what its key says, whatever a document says.
        if agent.visibility() != visibility || visibility.agent(&agent.id) != key {
            return Err(inconsistent(
                self.table(),
                &key,
                "its document is of another tenant or agent",
            ));
        }
        Ok((item.rev, agent))
    }

    /// The agents that a partition of entries names.
    async fn entries(
        &self,
        visibility: Visibility<'_>,
        partition: &str,
    ) -> Result<Vec<RegisteredAgent>, StoreError> {
        let mut ids = Vec::new();
        for item in self.partition(partition).await? {
            let key = key_of(self.table(), &item)?;
            ids.push(AgentId::parse(&key.1).map_err(|error| inconsistent(self.table(), &key, error))?);
        }
        self.of_ids(visibility, &ids).await
    }

    /// The agents of these ids that there are.
    async fn of_ids(
        &self,
        visibility: Visibility<'_>,
        ids: &[AgentId],
    ) -> Result<Vec<RegisteredAgent>, StoreError> {
        let keys: Vec<Key> = ids.iter().map(|id| visibility.agent(id)).collect();
        let mut found = self.store.items(self.table(), &keys).await?;
        let items = keys.into_iter().filter_map(|key| found.remove(&key));
        items
            .map(|item| self.read(visibility, item).map(|(_, agent)| agent))
            .collect()
    }

    async fn partition(&self, partition: &str) -> Result<Vec<Item>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(partition))],
            ..Query::default()
        };
        self.store.query_all(query).await
    }

    fn table(&self) -> &str {
        &self.store.tables().registry
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The change to an agent's health; only where there is such an agent.
fn told(health: &Health) -> Result<Change, StoreError> {
    let told = text(document("the agent's health", health)?);
    Ok(Change::new().set("health", told).when("attribute_exists(#pk)"))
}

/// The condition that an agent is still as it was read.
fn unchanged(rev: Option<u64>) -> Change {
    match rev {
        Some(rev) => Change::new().when("#rev = :seen").value("seen", number(rev)),
        None => Change::new().when("attribute_not_exists(#pk)"),
    }
}
