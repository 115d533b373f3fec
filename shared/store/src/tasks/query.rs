//! What callers ask of their own tasks: filtered, newest status first, page by page, and counted.

use std::cmp::Reverse;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentName, ContextId, Owner, Task, TaskId, TaskState, Tenant, Timestamp};
use sha2::{Digest as _, Sha256};

use super::item::{NOT_OVER, context_partition, owner_partition, sorted_at};
use super::{TaskKey, Tasks};
use crate::StoreError;
use crate::change::{number, text};
use crate::codec::{Item, Key, inconsistent, key_of, keyed, text_of};
use crate::dynamo::Query;
use crate::schema::{BY_CONTEXT, BY_OWNER};

/// Entries of an index that are looked at in one request where few of them may be wanted.
const LOOK: u32 = 1000;

/// Which of an owner's tasks are wanted.
#[derive(Debug, Clone, Copy)]
pub struct TaskQuery<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The agent that does them.
    pub agent: &'a AgentName,
    /// Whose they are.
    pub owner: &'a Owner,
    /// Only those of this conversation.
    pub context: Option<&'a ContextId>,
    /// Only those that are in this state now.
    pub state: Option<TaskState>,
    /// Only those with a status of this time or later.
    pub changed_since: Option<Timestamp>,
    /// At most so many; held within 1 to 100.
    pub limit: u32,
    /// Where the page before ended.
    pub cursor: Option<&'a str>,
    /// The time now.
    pub now: Timestamp,
}

/// One page of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    /// The tasks, newest status first; it may be short, also where more follows.
    pub tasks: Vec<Task>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
    /// How many tasks the query has over all pages.
    pub total: u64,
}

/// What an index says: the places of one page, whether more follows, and how many there are.
struct Found {
    places: Vec<String>,
    more: bool,
    total: u64,
}

impl Tasks<'_> {
    /// An owner's tasks, newest status first. It stays within the owner's own partition of an index: a page costs what
    /// it shows, the total a count over that partition.
    ///
    /// A task whose status changes while somebody pages moves to the front, and is not shown twice behind it.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor that is rubbish or of another query; otherwise what the database says.
    pub async fn query(&self, query: TaskQuery<'_>) -> Result<TaskPage, StoreError> {
        let after = query.cursor.map(|cursor| query.place(cursor)).transpose()?;
        let found = match query.context {
            Some(context) => self.in_context(&query, context, after.as_deref()).await?,
            None => self.of_owner(&query, after.as_deref()).await?,
        };
        let last = found.places.last().filter(|_| found.more);
        let next = last.map(|place| query.cursor_at(place));
        let keys = found.places.iter().map(|place| query.key(place));
        let keys = keys.collect::<Option<_>>().ok_or_else(|| self.odd_place())?;
        let mut tasks = self.fetch(keys, query.now).await?;
        // The index may lag behind the task.
        tasks.retain(|task| query.wants(task));
        tasks.sort_by_key(|task| Reverse((task.status.at, task.id.to_string())));
        Ok(TaskPage {
            tasks,
            next,
            total: found.total,
        })
    }

    async fn of_owner(&self, query: &TaskQuery<'_>, after: Option<&str>) -> Result<Found, StoreError> {
        let partition = owner_partition(query.tenant, query.agent, query.owner);
        let limit = usize::try_from(query.limit()).unwrap_or_default();
        let mut values = query.values();
        values.push((":partition", text(&partition)));
        let (condition, filter) = query.conditions("#owner_pk = :partition");
        let mut wanted = Query {
            table: self.table(),
            index: Some(BY_OWNER.name),
            condition: &condition,
            filter: Some(&filter),
            values,
            limit: Some(if query.state.is_some() {
                LOOK
            } else {
                query.limit() + 1
            }),
            backwards: true,
            ..Query::default()
        };
        let counted = wanted.clone();
        wanted.start = after.map(|place| query.start(&partition, place)).transpose()?;
        let mut places = Vec::new();
        loop {
            let (items, next) = self.store.query(wanted.clone()).await?;
            for item in &items {
                places.push(self.place_of(item)?);
            }
            wanted.start = next;
            if wanted.start.is_none() || places.len() > limit {
                break;
            }
        }
        let more = places.len() > limit;
        let total = if after.is_none() && wanted.start.is_none() {
            u64::try_from(places.len()).unwrap_or(u64::MAX)
        } else {
            self.store
                .count(Query {
                    limit: None,
                    ..counted
                })
                .await?
        };
        places.truncate(limit);
        Ok(Found { places, more, total })
    }

    /// A conversation lies in its index by the time its tasks were made, so that all of it is looked at; only the page
    /// is held.
    async fn in_context(
        &self,
        query: &TaskQuery<'_>,
        context: &ContextId,
        after: Option<&str>,
    ) -> Result<Found, StoreError> {
        let partition = context_partition(query.tenant, query.agent, query.owner, context);
        let limit = usize::try_from(query.limit()).unwrap_or_default();
        let mut values = query.values();
        values.push((":partition", text(partition)));
        let filter = query.filter(query.changed_since.map(|_| "#owner_sk >= :since"));
        let mut wanted = Query {
            table: self.table(),
            index: Some(BY_CONTEXT.name),
            condition: "#context_pk = :partition",
            filter: Some(&filter),
            values,
            ..Query::default()
        };
        let (mut places, mut total) = (Vec::new(), 0);
        loop {
            let (items, next) = self.store.query(wanted.clone()).await?;
            total += u64::try_from(items.len()).unwrap_or_default();
            for item in &items {
                let place = self.place_of(item)?;
                if after.is_none_or(|after| place.as_str() < after) {
                    places.push(place);
                }
            }
            places.sort_unstable_by(|one, two| two.cmp(one));
            places.truncate(limit + 1);
            wanted.start = next;
            if wanted.start.is_none() {
                break;
            }
        }
        let more = places.len() > limit;
        places.truncate(limit);
        Ok(Found { places, more, total })
    }

    fn place_of(&self, item: &Item) -> Result<String, StoreError> {
        match text_of(item, BY_OWNER.sort) {
            Some(place) => Ok(place.to_owned()),
            None => Err(inconsistent(
                self.table(),
                &key_of(self.table(), item)?,
                "its index entry has no place",
            )),
        }
    }

    fn odd_place(&self) -> StoreError {
        inconsistent(self.table(), &Key::default(), "an index entry names no task")
    }
}

impl TaskQuery<'_> {
    fn limit(&self) -> u32 {
        self.limit.clamp(1, 100)
    }

    fn wants(&self, task: &Task) -> bool {
        self.state.is_none_or(|state| task.status.state == state)
            && self.changed_since.is_none_or(|since| task.status.at >= since)
    }

    fn filter(&self, more: Option<&str>) -> String {
        let state = self.state.map(|_| "#state = :state");
        let live = format!("({NOT_OVER})");
        let all = [Some(live.as_str()), state, more];
        all.into_iter().flatten().collect::<Vec<_>>().join(" AND ")
    }

    /// The condition on the owner's index, and the filter of what it gives.
    fn conditions(&self, partition: &str) -> (String, String) {
        let since = self.changed_since.map(|_| " AND #owner_sk >= :since");
        (
            format!("{partition}{}", since.unwrap_or_default()),
            self.filter(None),
        )
    }

    fn values(&self) -> Vec<(&'static str, AttributeValue)> {
        let mut values = vec![(":now_s", number(self.now.seconds()))];
        values.extend(self.state.map(|state| (":state", text(state.as_str()))));
        values.extend(self.changed_since.map(|since| (":since", text(since))));
        values
    }

    /// The task of a place: time and id.
    fn key(&self, place: &str) -> Option<Key> {
        let (at, id) = place.split_once('#')?;
        let (at, id) = (Timestamp::parse(at)?, TaskId::parse(id).ok()?);
        let key = TaskKey::new(self.tenant, self.agent, id);
        (sorted_at(at, id) == place).then(|| key.task())
    }

    fn start(&self, partition: &str, place: &str) -> Result<Item, StoreError> {
        let key = self.key(place).ok_or(StoreError::BadCursor)?;
        let mut start = keyed(&key);
        start.insert(BY_OWNER.partition.to_owned(), text(partition));
        start.insert(BY_OWNER.sort.to_owned(), text(place));
        Ok(start)
    }

    fn cursor_at(&self, place: &str) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}{place}", self.check(place)))
    }

    /// The place that a cursor of this very query names.
    fn place(&self, cursor: &str) -> Result<String, StoreError> {
        let bad = || StoreError::BadCursor;
        if cursor.len() > 1024 {
            return Err(bad());
        }
        let cursor = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
        let cursor = String::from_utf8(cursor).map_err(|_| bad())?;
        let (check, place) = cursor.split_at_checked(CHECK).ok_or_else(bad)?;
        if check != self.check(place) || self.key(place).is_none() {
            return Err(bad());
        }
        Ok(place.to_owned())
    }

    /// Ties a cursor to the caller and the filter. No secret is needed: whoever forges a cursor only moves within the
    /// caller's own partition, which the query names anyway.
    fn check(&self, place: &str) -> String {
        let partition = owner_partition(self.tenant, self.agent, self.owner);
        let context = self.context.map(ToString::to_string);
        let since = self.changed_since.map(|since| since.to_string());
        let mut hash = Sha256::new();
        for part in [
            Some(partition.as_str()),
            context.as_deref(),
            self.state.map(TaskState::as_str),
            since.as_deref(),
            Some(place),
        ] {
            // What is not there differs from what is empty.
            hash.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
            hash.update(part.unwrap_or_default());
        }
        let hash = URL_SAFE_NO_PAD.encode(hash.finalize());
        hash.get(..CHECK).unwrap_or_default().to_owned()
    }
}

/// Characters of a cursor's check.
const CHECK: usize = 16;
