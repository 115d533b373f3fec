//! Push configurations come and go while their task lives.

use domain::{PushConfigId, Timestamp};

use super::item::{PUSH, TaskItem, push_list, task_item};
use super::push::PushItem;
use super::{MAX_PUSH_CONFIGS, PushConfig, PutPush, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{decode, encode, key_of};
use crate::dynamo::{Query, ROUNDS, pause};
use crate::transact::{Transacted, Writes};

impl Tasks<'_> {
    /// Adds a configuration to a task, or puts it in place of the one of its id. Its client knows the task's events
    /// up to `delivered`; what happened since is owed at once. A delivery by the one that was replaced is void.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; [`StoreError::Throttled`] where others are in the way for too
    /// long; otherwise what the database says.
    pub async fn put_push(
        &self,
        key: &TaskKey,
        config: &PushConfig,
        delivered: u64,
        now: Timestamp,
    ) -> Result<PutPush, StoreError> {
        for round in 1..=ROUNDS {
            let Some((task, mut configs)) = self.configs(key, now).await? else {
                return Ok(PutPush::Missing);
            };
            let known = configs.contains(&config.id);
            let before = push_list(&configs);
            if !known {
                if configs.len() >= MAX_PUSH_CONFIGS {
                    return Ok(PutPush::TooMany);
                }
                configs.push(config.id.clone());
            }
            // At this very revision, so that no event is missed between reading and writing.
            let unchanged = Change::new()
                .set("push", text(push_list(&configs)))
                .when("#push = :before")
                .value("before", text(before))
                .when("#rev = :rev")
                .value("rev", number(task.rev));
            let mut item = PushItem::new(key, config, delivered.min(task.rev), task.rev, now)?;
            item.expires_at = task.expires_at;
            let mut writes = Writes::default();
            writes.update(self.table(), &key.task(), unchanged)?;
            writes.put(self.table(), encode(&item)?, Change::new())?;
            match self.store.transact(writes).await? {
                Transacted::Done if known => return Ok(PutPush::Replaced),
                Transacted::Done => return Ok(PutPush::New),
                Transacted::Refused(_) => pause(round).await,
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }

    /// The configuration of that id.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_push(
        &self,
        key: &TaskKey,
        id: &PushConfigId,
    ) -> Result<Option<PushConfig>, StoreError> {
        let Some(item) = self.store.item(self.table(), &key.push(id)).await? else {
            return Ok(None);
        };
        let item: PushItem = decode(self.table(), item)?;
        item.config(self.table()).map(Some)
    }

    /// Every configuration of a task, in the order of their ids; at most [`MAX_PUSH_CONFIGS`].
    ///
    /// # Errors
    /// What the database says.
    pub async fn list_pushes(&self, key: &TaskKey) -> Result<Vec<PushConfig>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND begins_with(#sk, :push)",
            values: vec![(":pk", text(key.partition())), (":push", text(PUSH))],
            ..Query::default()
        };
        let items = self.store.query_all(query).await?.into_iter();
        let items =
            items.filter(|item| key_of(self.table(), item).is_ok_and(|key| TaskKey::of(&key).is_some()));
        let read = |item| decode::<PushItem>(self.table(), item)?.config(self.table());
        items.map(read).collect()
    }

    /// Removes a configuration; what is not there is as good as removed.
    ///
    /// # Errors
    /// [`StoreError::Throttled`] where others are in the way for too long; otherwise what the database says.
    pub async fn delete_push(
        &self,
        key: &TaskKey,
        id: &PushConfigId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.remove(key, id, now, None).await.map(|_| ())
    }

    /// Removes a configuration whose deliveries are over, for who has claimed them; false where the claim is no longer theirs: it
    /// has ended, or another configuration has taken the place.
    ///
    /// # Errors
    /// As [`Tasks::delete_push`].
    pub async fn end_push(
        &self,
        key: &TaskKey,
        id: &PushConfigId,
        holder: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.remove(key, id, now, Some(holder)).await
    }

    async fn remove(
        &self,
        key: &TaskKey,
        id: &PushConfigId,
        now: Timestamp,
        holder: Option<&str>,
    ) -> Result<bool, StoreError> {
        for round in 1..=ROUNDS {
            let Some((_, mut configs)) = self.configs(key, now).await? else {
                return Ok(true);
            };
            let before = push_list(&configs);
            let many = configs.len();
            configs.retain(|known| known != id);
            if configs.len() == many {
                return Ok(true);
            }
            let unchanged = Change::new()
                .set("push", text(push_list(&configs)))
                .when("#push = :before")
                .value("before", text(before));
            let held = match holder {
                Some(holder) => Change::new()
                    .when("#lease_holder = :holder")
                    .value("holder", text(holder)),
                None => Change::new(),
            };
            let mut writes = Writes::default();
            writes.update(self.table(), &key.task(), unchanged)?;
            writes.delete(self.table(), &key.push(id), held)?;
            match self.store.transact(writes).await? {
                Transacted::Done => return Ok(true),
                // The second of the two: the configuration itself.
                Transacted::Refused(why) if why.iter().any(|(place, _)| *place == 1) => return Ok(false),
                Transacted::Refused(_) => pause(round).await,
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }

    /// The task's item and its configurations, where it is there.
    async fn configs(
        &self,
        key: &TaskKey,
        now: Timestamp,
    ) -> Result<Option<(TaskItem, Vec<PushConfigId>)>, StoreError> {
        let Some(item) = self.store.item(self.table(), &key.task()).await? else {
            return Ok(None);
        };
        let Some(item) = task_item(self.table(), item, now)? else {
            return Ok(None);
        };
        let configs = item.push_configs(self.table())?;
        Ok(Some((item, configs)))
    }
}
