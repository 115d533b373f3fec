//! New tasks, and reading one back.

use domain::{Event, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{TaskItem, expiry, message_key, stored};
use super::push::PushItem;
use super::{Created, NewRecord, StoredTask, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number};
use crate::codec::{Key, decode, document, encode, inconsistent};
use crate::transact::{Transacted, Writes};

/// Which task a message made.
#[derive(Serialize, Deserialize)]
struct MessageItem {
    pk: String,
    sk: String,
    task_id: domain::TaskId,
    body_hash: String,
    expires_at: i64,
}

/// One entry of a task's log.
#[derive(Serialize, Deserialize)]
pub(super) struct EventItem {
    pub(super) pk: String,
    pub(super) sk: String,
    pub(super) body: String,
    pub(super) expires_at: i64,
}

impl EventItem {
    pub(super) fn new(key: &TaskKey, event: &Event, expires_at: Timestamp) -> Result<Self, StoreError> {
        let (pk, sk) = key.event(event.seq);
        Ok(Self {
            pk,
            sk,
            body: document("the event", event)?,
            expires_at: expiry(expires_at),
        })
    }
}

impl Tasks<'_> {
    /// Stores a new task, its first event and its message's id, in one transaction.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where the task does not fit; otherwise what the database says.
    pub async fn create(&self, new: &NewRecord<'_>) -> Result<Created, StoreError> {
        let table = self.table();
        let (task, now) = (new.task, new.task.created_at);
        let key = TaskKey::from(task);
        let message = message_key(&task.tenant, &task.agent, &task.owner, new.message_id);
        let mut writes = Writes::default();
        let absent = || Change::new().when("attribute_not_exists(#pk)");
        let item = MessageItem {
            pk: message.0.clone(),
            sk: message.1.clone(),
            task_id: task.id,
            body_hash: new.body_hash.to_owned(),
            expires_at: expiry(new.expires_at),
        };
        let free = Change::new()
            .when("attribute_not_exists(#pk) OR #expires_at <= :now")
            .value("now", number(now.seconds()));
        writes.put(table, encode(&item)?, free)?;
        writes.put(
            table,
            encode(&TaskItem::new(task, new.due_at, new.expires_at)?)?,
            absent(),
        )?;
        let first = EventItem::new(&key, &task.first_event(), new.expires_at)?;
        writes.put(table, encode(&first)?, Change::new())?;
        if let Some(push) = new.push {
            writes.put(
                table,
                encode(&PushItem::new(&key, push, new.expires_at)?)?,
                Change::new(),
            )?;
        }
        match self.store.transact(writes).await? {
            Transacted::Done => Ok(Created::New),
            Transacted::Refused(refused) => match refused.into_iter().next() {
                Some((0, Some(known))) => self.repeated(&key, new, decode(table, known)?).await,
                // Not every stand-in for DynamoDB hands the item out with the refusal.
                Some((0, None)) => match self.store.item(table, &message).await? {
                    Some(known) => self.repeated(&key, new, decode(table, known)?).await,
                    None => Err(inconsistent(table, &message, "was there and is gone")),
                },
                _ => Err(inconsistent(table, &key.task(), "a new task's id is taken")),
            },
        }
    }

    async fn repeated(
        &self,
        key: &TaskKey,
        new: &NewRecord<'_>,
        known: MessageItem,
    ) -> Result<Created, StoreError> {
        if known.body_hash != new.body_hash {
            return Ok(Created::MessageReused);
        }
        let first = TaskKey {
            id: known.task_id,
            ..key.clone()
        };
        match self.find(&first, new.task.created_at).await? {
            Some(stored) => Ok(Created::Repeated(Box::new(stored))),
            None => {
                let message: Key = (known.pk, known.sk);
                Err(inconsistent(self.table(), &message, "its task is gone"))
            }
        }
    }

    /// The task, as of now; one consistent read. An expired one is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(&self, key: &TaskKey, now: Timestamp) -> Result<Option<StoredTask>, StoreError> {
        match self.store.item(self.table(), &key.task()).await? {
            Some(item) => stored(self.table(), item, now),
            None => Ok(None),
        }
    }

    pub(super) fn table(&self) -> &str {
        &self.store.tables().tasks
    }
}
