//! Listings of tasks, the log of one, and what is due.

use domain::{AgentName, ContextId, Event, Owner, Task, TaskState, Tenant, Timestamp};

use super::create::EventItem;
use super::item::{context_partition, due_shard, owner_partition, status_partition, stored};
use super::{Pointer, PointsAt, TaskKey, Tasks};
use crate::change::text;
use crate::codec::{Key, decode, inconsistent, key_of, parse, text_of};
use crate::dynamo::Query;
use crate::page::Listing;
use crate::schema::{BY_CONTEXT, BY_DUE, BY_OWNER, BY_STATUS, Index};
use crate::{Page, PageRequest, StoreError};

/// Most tasks of one conversation that are listed.
const CONTEXT_MOST: usize = 1000;

impl Tasks<'_> {
    /// The events after number `after`, oldest first; fewer than `limit` also where they are large.
    ///
    /// # Errors
    /// What the database says.
    pub async fn events(&self, key: &TaskKey, after: u64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let condition = "#pk = :pk AND #sk BETWEEN :first AND :last";
        let (pk, first) = key.event(after.saturating_add(1));
        let (_, last) = key.event(u64::MAX);
        let (items, _) = self
            .store
            .query(Query {
                table: self.table(),
                condition,
                values: vec![(":pk", text(pk)), (":first", text(first)), (":last", text(last))],
                limit: Some(limit.clamp(1, 1000)),
                ..Query::default()
            })
            .await?;
        let read = |item| {
            let item: EventItem = decode(self.table(), item)?;
            parse(self.table(), &(item.pk, item.sk), &item.body)
        };
        items.into_iter().map(read).collect()
    }

    /// An owner's tasks of one conversation, newest last, at most the newest 1000.
    ///
    /// # Errors
    /// What the database says.
    pub async fn by_context(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        owner: &Owner,
        context: &ContextId,
        now: Timestamp,
    ) -> Result<Vec<Task>, StoreError> {
        let partition = context_partition(tenant, agent, owner, context);
        let keys = self
            .listing(BY_CONTEXT, &partition)
            .newest(self.store, CONTEXT_MOST)
            .await?;
        let mut tasks = self.fetch(keys, now).await?;
        tasks.reverse();
        Ok(tasks)
    }

    /// An owner's tasks, newest status first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another listing; otherwise what the database says.
    pub async fn by_owner(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        owner: &Owner,
        page: PageRequest,
        now: Timestamp,
    ) -> Result<Page<Task>, StoreError> {
        self.page(BY_OWNER, &owner_partition(tenant, agent, owner), &page, now)
            .await
    }

    /// An agent's tasks in one state, newest status first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another listing; otherwise what the database says.
    pub async fn by_status(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        state: TaskState,
        page: PageRequest,
        now: Timestamp,
    ) -> Result<Page<Task>, StoreError> {
        let mut page = self
            .page(BY_STATUS, &status_partition(tenant, agent, state), &page, now)
            .await?;
        // The index may lag behind the task.
        page.items.retain(|task| task.status.state == state);
        Ok(page)
    }

    /// What is due in one of the [`DUE_SHARDS`](crate::DUE_SHARDS) shards, longest overdue first.
    ///
    /// # Errors
    /// What the database says.
    pub async fn due(&self, shard: u32, now: Timestamp, limit: u32) -> Result<Vec<Pointer>, StoreError> {
        let condition = "#due_shard = :shard AND #due_at <= :now";
        let (items, _) = self
            .store
            .query(Query {
                table: self.table(),
                index: Some(BY_DUE.name),
                condition,
                values: vec![(":shard", text(due_shard(shard))), (":now", text(now))],
                limit: Some(limit.clamp(1, 1000)),
                ..Query::default()
            })
            .await?;
        let read = |item| {
            let key = key_of(self.table(), &item)?;
            let due_at = text_of(&item, BY_DUE.sort).and_then(Timestamp::parse);
            let (Some((key, config)), Some(due_at)) = (TaskKey::of(&key), due_at) else {
                return Err(inconsistent(
                    self.table(),
                    &key,
                    "it is due, but no task or delivery",
                ));
            };
            let what = config.map_or(PointsAt::Task, PointsAt::Push);
            Ok(Pointer { key, what, due_at })
        };
        items.into_iter().map(read).collect()
    }

    async fn page(
        &self,
        index: Index,
        partition: &str,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<Task>, StoreError> {
        let (keys, next) = self.listing(index, partition).page(self.store, page).await?;
        Ok(Page {
            items: self.fetch(keys, now).await?,
            next,
        })
    }

    fn listing<'a>(&'a self, index: Index, partition: &'a str) -> Listing<'a> {
        Listing {
            table: self.table(),
            index,
            partition,
        }
    }

    /// The tasks of these keys as they are now, in the order of the keys; expired ones left out.
    async fn fetch(&self, keys: Vec<Key>, now: Timestamp) -> Result<Vec<Task>, StoreError> {
        let mut found = self.store.items(self.table(), &keys).await?;
        let items = keys.into_iter().filter_map(|key| found.remove(&key));
        let tasks = items.map(|item| stored(self.table(), item, now));
        tasks
            .filter_map(|task| task.map(|task| task.map(|stored| stored.task)).transpose())
            .collect()
    }
}
