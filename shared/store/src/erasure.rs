//! Erases all that is kept of somebody, by keys and indexes.
//!
//! An erasure has a record, which is there before anything goes. What goes, goes in transactions that count it in the record, and what
//! leads to other things goes after them: it may break off anywhere, and whoever asks again goes on. The session of who asks goes last,
//! in the transaction that ends the erasure, so that it can be asked for again until then.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Days;
use domain::{
    AgentName, ContextId, EventKind, OWN_AGENTS, Owner, Revision, Task, TaskId, TaskState, Tenant, Timestamp,
};

use crate::blobs::BlobScope;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, key_of, text_of};
use crate::dynamo::{Query, ROUNDS, Written};
use crate::ledger::owner_day_key;
use crate::record::digest;
use crate::schema::BY_OWNER;
use crate::sessions::PERSON;
use crate::tasks::{Decision, Due, expiry, message_key, owner_partition};
use crate::transact::{Transacted, Writes};
use crate::usage::{KEPT, day_of};
use crate::{PageRequest, Store, StoreError, TaskKey};

/// Most items that one transaction removes.
const AT_ONCE: usize = 25;
/// Tasks of an index that are looked at in one go.
const TASKS_AT_ONCE: u32 = 100;
/// For so long those who work on parts of canceled tasks may take to hear of it; then their tasks go all the same.
const PATIENCE: Duration = Duration::from_secs(600);
/// For so long what has just ended in a deleted conversation is still there for whoever follows it.
const FOLLOWED: Duration = Duration::from_secs(60);
/// How long it is known that somebody was erased, by a digest of their id.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);
/// Most people of a tenant among whom somebody is looked for by their name.
const PEOPLE_MAX: usize = 100_000;

/// What the names of counts begin with in a record.
const COUNT: &str = "erased_";

/// Erases people.
#[derive(Clone, Copy)]
pub struct Erasures<'s> {
    pub(crate) store: &'s Store,
}

/// How far an erasure is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// Its id: a digest of whose it is.
    pub id: String,
    /// Whose; nobody once it is done.
    pub owner: Option<Owner>,
    /// Since when.
    pub begun_at: Timestamp,
    /// When the last of it went.
    pub done_at: Option<Timestamp>,
    /// How many items, by what they were.
    pub erased: BTreeMap<String, u64>,
    /// The agents that had something to do for them. Those of the platform have nothing of it any more.
    pub agents: BTreeSet<String>,
    /// Canceled tasks that somebody works on who has not heard of it yet.
    pub waiting: u64,
}

/// For how long a table can be restored to any moment.
const RECOVERY: Duration = Duration::from_secs(35 * 24 * 3600);

/// What a death left in the blob store goes in the first night after it is a day old.
const STRAYS: Duration = Duration::from_secs(2 * 24 * 3600);

impl Erasure {
    /// What was erased and when, and what outlives it, for whoever asked.
    #[must_use]
    pub fn certificate(&self) -> serde_json::Value {
        let recovery = self.done_at.map(|done| done.after(RECOVERY));
        serde_json::json!({
            "id": self.id,
            "begunAt": self.begun_at,
            "doneAt": self.done_at,
            "erased": self.erased,
            "waiting": self.waiting,
            "agents": self.agents,
            "outlives": [
                { "what": "copies from which tables and large things can be restored (point-in-time recovery, older versions)", "until": recovery },
                { "what": "large things of a task that was never stored, because its writer died: the sweeper removes them", "until": self.done_at.map(|done| done.after(STRAYS)) },
                { "what": "lines of logs and audit events, with ids and no words", "until": null },
                { "what": "the account to sign in with, which who runs it removes", "until": null },
                { "what": "what agents of others keep of their tasks; they are told that those are canceled, and one that did not answer for ten minutes may not know it", "until": null },
            ],
        })
    }
}

/// One erasure under way.
struct Pass<'a> {
    store: &'a Store,
    tenant: &'a Tenant,
    /// Where it is counted, if it is.
    record: Option<Key>,
    /// Under which ids things of theirs lie: a person may have taken over a guest's.
    owners: Vec<Owner>,
    /// The hash of the token of the session that goes last.
    but: Option<&'a str>,
    now: Timestamp,
    waits_until: Timestamp,
}

fn record_key(tenant: &Tenant, owner: &Owner) -> Key {
    let id = digest(&format!("erased/{}/{owner}", tenant.prefix()));
    (format!("{}#session#@@erasures", tenant.prefix()), id)
}

impl Erasures<'_> {
    /// Erases all that is kept of an owner, but for the session of this token, which goes with the last of it. Where tasks were
    /// canceled that others work on, it is not done before they have heard of it, ten minutes at most: it is to be asked for again.
    ///
    /// # Errors
    /// What the database says; a repeat goes on.
    pub async fn erase(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        but: Option<&str>,
        now: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let table = self.store.tables().sessions.as_str();
        let record = record_key(tenant, owner);
        let same = self.store.sessions().same_as(tenant, owner).await?;
        // It ends by itself too, where nobody asks again.
        let begin = Change::new()
            .set("owner", text(owner))
            .join("owners", "same")
            .value("same", AttributeValue::Ss(same))
            .set_to("begun_at", "if_not_exists(#begun_at, :now)")
            .value("now", text(now))
            .set("expires_at", number(expiry(now.after(REMEMBERED))))
            .remove(&["done_at"]);
        let begun = match self.store.update(table, &record, begin).await? {
            Written::Done(item) => item,
            Written::Refused(_) => Item::new(),
        };
        let owners = begun.get("owners").and_then(|owners| owners.as_ss().ok());
        let owners = owners
            .into_iter()
            .flatten()
            .filter_map(|one| Owner::parse(one).ok());
        let pass = Pass {
            store: self.store,
            tenant,
            owners: owners.collect(),
            but,
            now,
            waits_until: erasure_of(&record, &begun, now).begun_at.after(PATIENCE),
            record: Some(record.clone()),
        };
        let mut waiting = pass.erase_tasks().await?;
        // Whoever is still in may have written meanwhile: it is over once there was nothing to find.
        for _ in 0..ROUNDS {
            if pass.erase_rest().await? == 0 {
                break;
            }
            waiting = pass.erase_tasks().await?;
        }
        if waiting == 0 {
            pass.end().await?;
        }
        let known = self.store.item(table, &record).await?.unwrap_or_default();
        Ok(Erasure {
            waiting,
            ..erasure_of(&record, &known, now)
        })
    }

    /// Removes an owner's tasks of one conversation that are over, and what agents of the platform did for them; how many are left because
    /// somebody has to hear of their end first. Those go with their own end.
    ///
    /// # Errors
    /// What the database says; a repeat goes on.
    pub async fn erase_conversation(
        &self,
        (tenant, owner): (&Tenant, &Owner),
        context: &ContextId,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let tasks = self.store.tasks().bare();
        let host = AgentName::parse(AgentName::HOST).ok();
        let found = match &host {
            Some(host) => tasks.by_context(tenant, host, owner, context, now).await?,
            None => Vec::new(),
        };
        let pass = Pass {
            store: self.store,
            tenant,
            record: None,
            owners: Vec::new(),
            but: None,
            now,
            waits_until: now.after(PATIENCE),
        };
        let mut waiting = 0;
        for task in found {
            // What is done for it is named by it alone.
            let mut is_left = false;
            for job in &task.jobs {
                let agent = own_agents().find(|own| own.as_str() == job.agent_type.as_str());
                let id = job
                    .remote_task_id()
                    .and_then(|id| TaskId::parse(id.as_str()).ok());
                if let Some((agent, id)) = agent.zip(id) {
                    is_left |= !pass.task(owner, &TaskKey::new(tenant, &agent, id)).await?;
                }
            }
            is_left = is_left || !pass.task(owner, &TaskKey::from(&task)).await?;
            waiting += u64::from(is_left);
        }
        Ok(waiting)
    }

    /// Whom the tenant's erasures are of that are not done.
    ///
    /// # Errors
    /// What the database says.
    pub async fn open(&self, tenant: &Tenant) -> Result<Vec<Owner>, StoreError> {
        let place = format!("{}#session#@@erasures", tenant.prefix());
        let query = Query {
            table: &self.store.tables().sessions,
            condition: "#pk = :pk",
            values: vec![(":pk", text(place))],
            ..Query::default()
        };
        let items = self.store.query_all(query).await?;
        let owners = items.iter().filter_map(|item| text_of(item, "owner"));
        Ok(owners.filter_map(|owner| Owner::parse(owner).ok()).collect())
    }

    /// Erases whoever signs in by this name or has this id, or goes on with everybody who is being erased.
    ///
    /// # Errors
    /// As [`Erasures::erase`].
    pub async fn erase_named(
        &self,
        tenant: &Tenant,
        name: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Erasure>, StoreError> {
        let mut owners = self.open(tenant).await?;
        if let Some(name) = name {
            owners.retain(|owner| owner.as_str() == name);
            owners.extend(self.named(tenant, name).await?);
            // Guests stand in no list.
            owners.extend(Owner::parse(name).ok().filter(Owner::is_guest));
            owners.sort();
            owners.dedup();
        }
        let mut told = Vec::new();
        for owner in owners {
            told.push(self.erase(tenant, &owner, None, now).await?);
        }
        Ok(told)
    }

    /// Who signs in by this name or has this id.
    async fn named(&self, tenant: &Tenant, name: &str) -> Result<Vec<Owner>, StoreError> {
        let (mut found, mut seen) = (Vec::new(), 0);
        let mut page = PageRequest {
            limit: 100,
            cursor: None,
        };
        while seen < PEOPLE_MAX {
            let members = self.store.sessions().members(tenant, &page).await?;
            seen += members.items.len();
            let meant = |one: &crate::Member| one.owner.as_str() == name || one.person.username == name;
            found.extend(members.items.into_iter().filter(meant).map(|one| one.owner));
            page.cursor = members.next;
            if page.cursor.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

impl Pass<'_> {
    fn sessions(&self) -> &str {
        &self.store.tables().sessions
    }

    /// Cancels what is not over, and removes what is; how many wait until their cancel was told.
    async fn erase_tasks(&self) -> Result<u64, StoreError> {
        let mut waiting = 0;
        for owner in &self.owners {
            for agent in own_agents() {
                waiting += self.tasks_of(&agent, owner).await?;
            }
        }
        Ok(waiting)
    }

    async fn tasks_of(&self, agent: &AgentName, owner: &Owner) -> Result<u64, StoreError> {
        let table = self.store.tables().tasks.as_str();
        let partition = owner_partition(self.tenant, agent, owner);
        let (mut waiting, mut query) = (0, self.listed(table, &partition));
        query.limit = Some(TASKS_AT_ONCE);
        loop {
            let (items, next) = self.store.query(query.clone()).await?;
            for item in &items {
                let place = key_of(table, item)?;
                match TaskKey::of(&place) {
                    Some((key, None)) => waiting += u64::from(!self.task(owner, &key).await?),
                    _ => continue,
                }
            }
            query.start = next;
            if query.start.is_none() {
                return Ok(waiting);
            }
        }
    }

    /// Ends a task and removes it; false where somebody who works on it has to hear of its end first.
    async fn task(&self, owner: &Owner, key: &TaskKey) -> Result<bool, StoreError> {
        // What lies in the blob store may be gone by now.
        let (tasks, table) = (self.store.tasks().bare(), self.store.tables().tasks.as_str());
        // The beginning of time: also one that is over and not yet gone.
        let Some(stored) = tasks.find(key, Timestamp::from_millis(0)).await? else {
            return Ok(true);
        };
        let (holder, due) = (stored.lease, stored.due_at);
        let task = stored.task;
        if task.owner != *owner {
            return Ok(true);
        }
        let names: Vec<String> = task.jobs.iter().map(|job| job.agent_name.clone()).collect();
        if !task.status.state.is_terminal() {
            tasks
                .revise(task, self.now, |task| canceled(task, self.now))
                .await?;
            self.name(&names).await?;
            return Ok(false);
        }
        let is_held = holder.is_some_and(|lease| lease.until > self.now);
        if (is_held || due.is_some()) && self.now < self.waits_until {
            return Ok(false);
        }
        self.name(&names).await?;
        let ended_at = task.status.at;
        let message = task.kept.keeping.as_ref().map(|keeping| {
            let key = message_key(&task.tenant, &task.agent, owner, &keeping.message_id);
            (table, key)
        });
        let (pk, sk) = key.task();
        let mut keys: Vec<Key> = self.partition(table, &pk).await?;
        // It leads to the rest.
        keys.sort_by_key(|(_, place)| *place == sk);
        let beside = keys.into_iter().map(|key| (table, key));
        let all: Vec<(&str, Key)> = message.into_iter().chain(beside).collect();
        let is_followed = self.record.is_none() && self.now < ended_at.after(FOLLOWED);
        match is_followed {
            true => self.end_soon(&all).await?,
            false => {
                self.blobs(&pk).await?;
                self.remove("tasks", &all).await?;
            }
        }
        Ok(true)
    }

    /// Has these end in a moment: another page may be following the task, and is to see that it was called off.
    async fn end_soon(&self, keys: &[(&str, Key)]) -> Result<(), StoreError> {
        for (table, key) in keys {
            let ends = Change::new()
                .set("expires_at", number(expiry(self.now.after(FOLLOWED))))
                .when("attribute_exists(#pk)");
            self.store.update_at(table, key, ends).await?;
        }
        Ok(())
    }

    /// Removes everything but tasks and sessions that go last; how much that was.
    async fn erase_rest(&self) -> Result<usize, StoreError> {
        let mut gone = 0;
        for owner in &self.owners {
            gone += self.chats(owner).await?;
            gone += self.consents_and_grants(owner).await?;
            gone += self.shares_and_sessions(owner).await?;
            gone += self.counts(owner).await?;
        }
        Ok(gone)
    }

    async fn chats(&self, owner: &Owner) -> Result<usize, StoreError> {
        let (table, mut gone) = (self.sessions(), 0);
        let listed = crate::sessions::chats_partition(self.tenant, owner);
        for partition in [listed.clone(), format!("{listed}#deleted")] {
            for item in self.store.query_all(self.listed(table, &partition)).await? {
                let chat = key_of(table, &item)?;
                gone += self.blobs(&chat.0).await?;
                let mut keys = self.store.sessions().said_in(&chat).await?;
                keys.push(chat);
                gone += self.remove("chats", &of(table, keys)).await?;
            }
        }
        Ok(gone)
    }

    async fn consents_and_grants(&self, owner: &Owner) -> Result<usize, StoreError> {
        let (table, mut gone) = (self.sessions(), 0);
        let agents: Vec<AgentName> = own_agents().collect();
        for agent in std::iter::once(None).chain(agents.iter().map(Some)) {
            let grants = self.store.grants().of(agent);
            let consents = self
                .listed_keys(table, &grants.consents_of(self.tenant, owner))
                .await?;
            gone += self.remove("consents", &of(table, consents)).await?;
            let given = self
                .partition(table, &grants.partition(self.tenant, owner))
                .await?;
            gone += self.remove("grants", &of(table, given)).await?;
        }
        Ok(gone)
    }

    /// Removes what leads in: links of shares, sessions, subscriptions; but not the session of who asks, nor whoever they are, by which
    /// an operator finds them again.
    async fn shares_and_sessions(&self, owner: &Owner) -> Result<usize, StoreError> {
        let (table, sessions) = (self.sessions(), self.store.sessions());
        let mut gone = 0;
        for (what, keys) in sessions.leads_in(self.tenant, owner, self.but).await? {
            if what != PERSON {
                gone += self.remove(what, &of(table, keys)).await?;
            }
        }
        Ok(gone)
    }

    /// Removes what the ledger counted of them, day by day, and their places of streams.
    async fn counts(&self, owner: &Owner) -> Result<usize, StoreError> {
        let table = self.store.tables().tasks.as_str();
        let today = day_of(self.now);
        let days = (0..=KEPT.as_secs() / 86_400).filter_map(|ago| today.checked_sub_days(Days::new(ago)));
        let mut keys: Vec<Key> = days.map(|day| owner_day_key(self.tenant, owner, day)).collect();
        keys.push((
            format!("{}#streams#{owner}", self.tenant.prefix()),
            "STREAMS".to_owned(),
        ));
        let found = self.store.items_of(table, &keys, Some("#pk, #sk")).await?;
        self.remove("counts", &of(table, found.into_keys().collect()))
            .await
    }

    /// Says that it is done, and takes the last session and whoever they are away, in one transaction. Where so many sessions have been
    /// opened meanwhile that they do not fit, it is not done, and is to be asked for again.
    async fn end(&self) -> Result<(), StoreError> {
        let table = self.sessions();
        let mut writes = Writes::default();
        let done = Change::new()
            .set("done_at", text(self.now))
            .remove(&["owner", "owners"]);
        let mut last = HashSet::new();
        for owner in &self.owners {
            for (_, keys) in self.store.sessions().leads_in(self.tenant, owner, None).await? {
                last.extend(keys);
            }
        }
        if last.len() > AT_ONCE {
            return Ok(());
        }
        let done = match last.len() {
            0 => done,
            many => done.add(
                "sessions",
                format!("{COUNT}sessions"),
                i128::try_from(many).unwrap_or_default(),
            ),
        };
        if let Some(record) = &self.record {
            writes.update(table, record, done)?;
        }
        for key in &last {
            writes.delete(table, key, Change::new())?;
        }
        self.store.transact(writes).await?;
        Ok(())
    }

    /// Notes which agents had something to do.
    async fn name(&self, names: &[String]) -> Result<(), StoreError> {
        let Some(record) = self.record.as_ref().filter(|_| !names.is_empty()) else {
            return Ok(());
        };
        let change = Change::new()
            .join("agents", "names")
            .value("names", AttributeValue::Ss(names.to_vec()));
        self.store.update(self.sessions(), record, change).await?;
        Ok(())
    }

    /// Removes what lies in the blob store beside a partition, and counts it; how much that was. Where it breaks off in between, less is
    /// counted than went.
    async fn blobs(&self, partition: &str) -> Result<usize, StoreError> {
        let gone = self
            .store
            .remove_blobs(&BlobScope::Owner(partition.to_owned()))
            .await?;
        if let Some(record) = self.record.as_ref().filter(|_| gone > 0) {
            let many = i128::try_from(gone).unwrap_or_default();
            let counted = Change::new().add("blobs", format!("{COUNT}blobs"), many);
            self.store.update(self.sessions(), record, counted).await?;
        }
        Ok(gone)
    }

    /// Removes these items and counts them, in transactions; how many there are now fewer. Where one of a transaction's is gone already,
    /// somebody else is at it, and the next look says what is left.
    async fn remove(&self, what: &str, keys: &[(&str, Key)]) -> Result<usize, StoreError> {
        let mut gone = 0;
        for some in keys.chunks(AT_ONCE) {
            let mut writes = Writes::default();
            let many = i128::try_from(some.len()).unwrap_or_default();
            let counted = Change::new().add(what, format!("{COUNT}{what}"), many);
            if let Some(record) = &self.record {
                writes.update(self.sessions(), record, counted)?;
            }
            for (table, key) in some {
                writes.delete(table, key, Change::new().when("attribute_exists(#pk)"))?;
            }
            match self.store.transact(writes).await? {
                Transacted::Done => gone += some.len(),
                Transacted::Refused(_) => {
                    for (table, key) in some {
                        self.store.remove(table, key).await?;
                    }
                    gone += some.len();
                }
            }
        }
        Ok(gone)
    }

    fn listed<'q>(&self, table: &'q str, partition: &str) -> Query<'q> {
        Query {
            table,
            index: Some(BY_OWNER.name),
            condition: "#owner_pk = :partition",
            values: vec![(":partition", text(partition))],
            ..Query::default()
        }
    }

    async fn listed_keys(&self, table: &str, partition: &str) -> Result<Vec<Key>, StoreError> {
        let items = self.store.query_all(self.listed(table, partition)).await?;
        items.iter().map(|item| key_of(table, item)).collect()
    }

    /// The keys of all that lies in a partition.
    async fn partition(&self, table: &str, partition: &str) -> Result<Vec<Key>, StoreError> {
        let query = Query {
            table,
            condition: "#pk = :pk",
            only: Some("#pk, #sk"),
            values: vec![(":pk", text(partition))],
            ..Query::default()
        };
        let items = self.store.query_all(query).await?;
        items.iter().map(|item| key_of(table, item)).collect()
    }
}

fn own_agents() -> impl Iterator<Item = AgentName> {
    OWN_AGENTS.iter().filter_map(|name| AgentName::parse(name).ok())
}

fn of(table: &str, keys: Vec<Key>) -> Vec<(&str, Key)> {
    keys.into_iter().map(|key| (table, key)).collect()
}

/// Ends a task whose owner is erased; whoever works on parts of it hears of that as of any cancel.
fn canceled(task: Task, now: Timestamp) -> Decision<()> {
    let mut revision = Revision::of(task);
    match revision.record(EventKind::status(TaskState::Canceled, None), now) {
        Ok(()) => Decision::Write {
            revision: Box::new(revision),
            due: Due::At(now),
        },
        Err(_) => Decision::Leave(()),
    }
}

fn erasure_of((_, id): &Key, item: &Item, now: Timestamp) -> Erasure {
    let at = |name: &str| text_of(item, name).and_then(Timestamp::parse);
    let counts = item.iter().filter_map(|(name, value)| {
        let many = value.as_n().ok()?.parse().ok()?;
        Some((name.strip_prefix(COUNT)?.to_owned(), many))
    });
    let agents = item.get("agents").and_then(|agents| agents.as_ss().ok());
    Erasure {
        id: id.clone(),
        owner: text_of(item, "owner").and_then(|owner| Owner::parse(owner).ok()),
        begun_at: at("begun_at").unwrap_or(now),
        done_at: at("done_at"),
        erased: counts.collect(),
        agents: agents.into_iter().flatten().cloned().collect(),
        waiting: 0,
    }
}
