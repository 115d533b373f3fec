//! Listings of tasks, the log of one, and what is due.

use domain::{AgentName, ContextId, Event, EventKind, Owner, Task, TaskState, Tenant, Timestamp};

use super::create::LogItem;
use super::item::{TASK, context_partition, due_shard, is_entry, owner_partition};
use super::{Owed, Pointer, PointsAt, TaskKey, Tasks};
use crate::change::text;
use crate::codec::{Item, Key, decode, key_of, parse, text_of};
use crate::dynamo::Query;
use crate::page::Listing;
use crate::schema::{BY_CONTEXT, BY_DUE, BY_OWNER, Index};
use crate::usage::ledger_of;
use crate::{Page, PageRequest, StoreError};

/// Most tasks of one conversation that are listed.
const CONTEXT_MOST: usize = 1000;

/// Entries of a conversation among which those that are not over are looked for: what one query of an index may have.
const WINDOW: usize = 100;

/// Events of a long log that are looked at in one go.
const MANY: u32 = 100;

/// What every log begins with.
fn first_event(at: Timestamp) -> Event {
    Event {
        seq: 1,
        at,
        kind: EventKind::status(TaskState::Submitted, None),
    }
}

/// Whether the index says so; a state that this release does not know is none that it could go on with.
fn is_over(item: &Item) -> bool {
    let state = text_of(item, "state").and_then(|state| serde_json::from_value(state.into()).ok());
    state.is_none_or(TaskState::is_terminal)
}

impl Tasks<'_> {
    /// The events after number `after`, oldest first and without a gap; fewer than `limit` also where they are large.
    ///
    /// # Errors
    /// What the database says.
    pub async fn events(&self, key: &TaskKey, after: u64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let limit = limit.clamp(1, 1000);
        let (pk, first) = key.entry(after.saturating_add(1));
        let (_, last) = key.entry(u64::MAX);
        let mut query = Query {
            table: self.table(),
            condition: "#pk = :pk AND #sk BETWEEN :first AND :last",
            values: vec![(":pk", text(pk)), (":first", text(first)), (":last", text(last))],
            limit: Some(limit),
            ..Query::default()
        };
        let mut items = Vec::new();
        loop {
            let (more, next) = self.store.query(query.clone()).await?;
            for item in more
                .into_iter()
                .filter(|item| text_of(item, "sk").is_some_and(is_entry))
            {
                items.push(decode::<LogItem>(self.table(), item)?);
            }
            let mut events = self.contiguous(&items, after).await?;
            events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            query.start = next;
            // A large entry may take more than a page.
            if !events.is_empty() {
                return Ok(events);
            }
            if query.start.is_none() {
                return self.unwritten(key, after, !items.is_empty()).await;
            }
        }
    }

    /// The first event of a task whose log has no entry yet.
    async fn unwritten(&self, key: &TaskKey, after: u64, begun: bool) -> Result<Vec<Event>, StoreError> {
        if after > 0 || begun {
            return Ok(Vec::new());
        }
        let Some(item) = self.store.item(self.table(), &key.task()).await? else {
            return Ok(Vec::new());
        };
        let created = text_of(&item, BY_CONTEXT.sort).and_then(|place| place.split('#').next());
        let at = created.and_then(Timestamp::parse);
        Ok(at.map(first_event).into_iter().collect())
    }

    /// What has happened to the task after event `told`, and the task: they lie side by side, so that one query has both
    /// where they are no more than a page.
    ///
    /// # Errors
    /// What the database says.
    pub async fn owed(&self, key: &TaskKey, told: u64, now: Timestamp) -> Result<Owed, StoreError> {
        let (pk, first) = key.entry(told.saturating_add(1));
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND #sk BETWEEN :first AND :task",
            values: vec![(":pk", text(pk)), (":first", text(first)), (":task", text(TASK))],
            ..Query::default()
        };
        let (items, next) = self.store.query(query).await?;
        if next.is_some() {
            return Ok(Owed {
                events: self.events(key, told, MANY).await?,
                stored: self.find(key, now).await?,
            });
        }
        let (mut entries, mut task) = (Vec::new(), None);
        for item in items {
            match text_of(&item, "sk") {
                Some(TASK) => task = Some(item),
                Some(sk) if is_entry(sk) => entries.push(decode(self.table(), item)?),
                _ => {}
            }
        }
        let stored = match task {
            Some(item) => self.whole(item, now).await?,
            None => None,
        };
        let mut events = self.contiguous(&entries, told).await?;
        if told == 0 && entries.is_empty() {
            events.extend(stored.as_ref().map(|stored| stored.task.first_event()));
        }
        Ok(Owed { events, stored })
    }

    /// The events after `after` of these items as far as they follow each other: a reader may meet a writer halfway.
    async fn contiguous(&self, items: &[LogItem], after: u64) -> Result<Vec<Event>, StoreError> {
        let mut events: Vec<Event> = Vec::new();
        let mut items = items.iter();
        while let Some(item) = items.next() {
            let beside = usize::try_from(item.pieces).unwrap_or(usize::MAX);
            let pieces: Vec<&str> = items.by_ref().take(beside).map(|piece| &*piece.body).collect();
            if pieces.len() < beside {
                break;
            }
            let place = (item.pk.clone(), item.sk.clone());
            let entry = match beside {
                0 => item.body.0.clone(),
                _ => pieces.concat(),
            };
            let restored = self.store.restored((self.table(), &place), entry, self.left);
            let (entry, _) = Box::pin(restored).await?;
            let entry: Vec<Event> = parse(self.table(), &place, &entry)?;
            // The first entry may begin with events that are known.
            if let Some(at) = item.born.filter(|_| after == 0 && events.is_empty()) {
                events.push(first_event(at));
            }
            for event in entry.into_iter().filter(|event| event.seq > after) {
                let before = events.last().map_or(after, |event| event.seq);
                if event.seq != before.saturating_add(1) {
                    return Ok(events);
                }
                events.push(event);
            }
        }
        Ok(events)
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

    /// The other tasks of this task's conversation, oldest first: the newest `newest`, and up to `open` older ones that are not
    /// over, of the hundred before it. One query of the index, and no body is read beyond those.
    ///
    /// # Errors
    /// What the database says.
    pub async fn beside(
        &self,
        task: &Task,
        (newest, open): (usize, usize),
        now: Timestamp,
    ) -> Result<Vec<Task>, StoreError> {
        let partition = context_partition(&task.tenant, &task.agent, &task.owner, &task.context_id);
        let own = TaskKey::from(task).task();
        let limit = match open {
            0 => newest.saturating_add(1),
            _ => WINDOW,
        };
        let items = self
            .listing(BY_CONTEXT, &partition)
            .first(self.store, limit)
            .await?;
        let mut keys = Vec::new();
        let mut left = open;
        for item in &items {
            let key = key_of(self.table(), item)?;
            if key == own {
                continue;
            }
            if keys.len() >= newest {
                if left == 0 {
                    break;
                }
                if is_over(item) {
                    continue;
                }
                left -= 1;
            }
            keys.push(key);
        }
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

    /// What is due in one of the [`DUE_SHARDS`](crate::DUE_SHARDS) shards, longest overdue first. What cannot be read
    /// is logged and left out: nobody else waits for it.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another shard; otherwise what the database says.
    pub async fn due(
        &self,
        shard: u32,
        now: Timestamp,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Pointer>, StoreError> {
        let partition = due_shard(shard);
        let listing = self.listing(BY_DUE, &partition);
        let start = cursor.map(|cursor| listing.start(cursor)).transpose()?;
        let query = Query {
            table: self.table(),
            index: Some(BY_DUE.name),
            condition: "#due_shard = :shard AND #due_at <= :now",
            values: vec![(":shard", text(&partition)), (":now", text(now))],
            limit: Some(limit.clamp(1, 1000)),
            start,
            ..Query::default()
        };
        let (items, last) = self.store.query(query).await?;
        Ok(Page {
            items: items.iter().filter_map(|item| self.pointer(item)).collect(),
            next: last.as_ref().and_then(|last| listing.cursor(last)),
        })
    }

    fn pointer(&self, item: &Item) -> Option<Pointer> {
        let place = key_of(self.table(), item).ok();
        let due_at = text_of(item, BY_DUE.sort).and_then(Timestamp::parse);
        let named = place.as_ref().and_then(|place| match TaskKey::of(place) {
            Some((key, config)) => Some((key, config.map_or(PointsAt::Task, PointsAt::Push))),
            None => Some((TaskKey::ledger(ledger_of(place)?)?, PointsAt::Ledger)),
        });
        let (Some((key, what)), Some(due_at)) = (named, due_at) else {
            let key = place.map(|(pk, _)| pk).unwrap_or_default();
            tracing::error!(key, "an entry of the due index is no task or delivery");
            return None;
        };
        Some(Pointer { key, what, due_at })
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
    pub(super) async fn fetch(&self, keys: Vec<Key>, now: Timestamp) -> Result<Vec<Task>, StoreError> {
        let mut found = self.store.items(self.table(), &keys).await?;
        let mut tasks = Vec::with_capacity(found.len());
        for key in keys {
            if let Some(item) = found.remove(&key) {
                tasks.extend(self.whole(item, now).await?.map(|stored| stored.task));
            }
        }
        Ok(tasks)
    }
}
