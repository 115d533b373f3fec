//! What changes among all the tasks of an owner: which there are is said by an index, how far each is by its `rev`, and no body is
//! read before it has changed.

use std::collections::HashMap;

use domain::{AgentName, Owner, Task, TaskId, TaskState, Tenant, Timestamp};

use super::item::{owner_partition, sorted_at};
use super::{TaskKey, Tasks};
use crate::StoreError;
use crate::change::text;
use crate::codec::{Item, Key, text_of};
use crate::dynamo::Query;
use crate::schema::BY_OWNER;

/// A task as the owner's index has it; that may lag some seconds behind the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The task.
    pub id: TaskId,
    /// Its state.
    pub state: TaskState,
    /// Since when.
    pub at: Timestamp,
}

impl Tasks<'_> {
    /// The owner's tasks with the newest status, at most so many (1 to 100), newest first: one query of the index.
    ///
    /// # Errors
    /// What the database says.
    pub async fn heads(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        owner: &Owner,
        most: u32,
    ) -> Result<Vec<Head>, StoreError> {
        let query = Query {
            table: self.table(),
            index: Some(BY_OWNER.name),
            condition: "#owner_pk = :partition",
            values: vec![(":partition", text(owner_partition(tenant, agent, owner)))],
            limit: Some(most.clamp(1, 100)),
            backwards: true,
            ..Query::default()
        };
        let (items, _) = self.store.query(query).await?;
        Ok(items.iter().filter_map(head).collect())
    }

    /// The `rev` of each of these tasks as it is now; of what is gone there is none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn revisions(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        ids: &[TaskId],
    ) -> Result<HashMap<TaskId, u64>, StoreError> {
        let keys: Vec<Key> = ids.iter().map(|id| key(tenant, agent, *id)).collect();
        let mut found = self
            .store
            .items_of(self.table(), &keys, Some("#pk, #sk, #rev"))
            .await?;
        let rev = |item: Item| item.get("rev")?.as_n().ok()?.parse().ok();
        let known = ids.iter().zip(&keys);
        Ok(known
            .filter_map(|(id, key)| Some((*id, rev(found.remove(key)?)?)))
            .collect())
    }

    /// These tasks as they are now, in that order; those that are gone left out.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of_ids(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        ids: &[TaskId],
        now: Timestamp,
    ) -> Result<Vec<Task>, StoreError> {
        let keys = ids.iter().map(|id| key(tenant, agent, *id)).collect();
        self.fetch(keys, now).await
    }
}

fn key(tenant: &Tenant, agent: &AgentName, id: TaskId) -> Key {
    TaskKey::new(tenant, agent, id).task()
}

/// What has no such entry is no task that anybody can be told of.
fn head(item: &Item) -> Option<Head> {
    let place = text_of(item, BY_OWNER.sort)?;
    let (at, id) = place.split_once('#')?;
    let (at, id) = (Timestamp::parse(at)?, TaskId::parse(id).ok()?);
    let state = serde_json::from_value(text_of(item, "state")?.into()).ok()?;
    (sorted_at(at, id) == place).then_some(Head { id, state, at })
}
