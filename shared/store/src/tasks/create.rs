//! New tasks, and reading one back.

use std::time::Duration;

use domain::{Event, Lasting, Owner, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{
    TaskItem, context_partition, is_over, message_key, owner_partition, push_list, sorted_at, status_place,
};
use super::pieces::{Cut, MOST, cut, write_entry_pieces};
use super::push::PushItem;
use super::{Created, NewRecord, StoredTask, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number};
use crate::codec::{DOCUMENT_LIMIT, Item, Key, decode, encode, inconsistent};
use crate::packed::Packed;
use crate::transact::{Transacted, Writes};

/// Which task a message made.
#[derive(Serialize, Deserialize)]
struct MessageItem {
    pk: String,
    sk: String,
    task_id: domain::TaskId,
    body_hash: String,
    /// None as long as the task is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

/// One entry of a task's log: what one revision recorded.
#[derive(Serialize, Deserialize)]
pub(super) struct LogItem {
    pub(super) pk: String,
    pub(super) sk: String,
    /// The events as a JSON list, oldest first; empty where it lies in pieces behind this item.
    pub(super) body: Packed,
    /// In how many pieces it lies behind this item.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) pieces: u32,
    /// When the task was made, in the entry of its second event: the first says no more, and has no entry of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) born: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_none(pieces: &u32) -> bool {
    *pieces == 0
}

impl TaskItem {
    /// The item of a new task.
    fn new(new: &NewRecord<'_>, cut: &Cut, retention: Duration) -> Self {
        let task = new.task;
        let key = TaskKey::from(task);
        let (pk, sk) = key.task();
        let (tenant, agent, owner) = (&task.tenant, &task.agent, &task.owner);
        let (status_pk, status_sk) = status_place(task).unzip();
        Self {
            pk,
            sk,
            rev: task.rev,
            state: task.status.state,
            body: Packed(cut.inline.clone()),
            pieces: cut.pieces(),
            written_by: cut.written_by.clone(),
            push: push_list(&task.push_configs),
            message_id: new.message_id.clone(),
            retention: retention.as_secs(),
            admitted: task.kept.admitted,
            revisions: Vec::new(),
            lease_holder: None,
            lease_until: None,
            due_shard: Some(key.shard()),
            due_at: Some(new.due_at),
            attempts: 0,
            expires_at: None,
            context_pk: context_partition(tenant, agent, owner, &task.context_id),
            context_sk: sorted_at(task.created_at, task.id),
            owner_pk: owner_partition(tenant, agent, owner),
            owner_sk: sorted_at(task.status.at, task.id),
            status_pk,
            status_sk,
        }
    }
}

impl LogItem {
    /// Writes the events of one revision, with their JSON; nothing where there are none.
    pub(super) fn write(
        writes: &mut Writes,
        table: &str,
        key: &TaskKey,
        (events, body): (&[Event], &str),
        created_at: Timestamp,
        expires_at: Option<i64>,
    ) -> Result<(), StoreError> {
        let Some((first, last)) = events.first().zip(events.last()) else {
            return Ok(());
        };
        // What every log begins with is told by the entry of the second event.
        let (born, last) = ((first.seq == 2).then_some(created_at), last.seq);
        let (pk, sk) = key.entry(last);
        let (body, beside) = match body.len() > DOCUMENT_LIMIT {
            true => (String::new(), cut(body)),
            false => (body.to_owned(), Vec::new()),
        };
        let item = Self {
            pk,
            sk,
            body: Packed(body),
            pieces: u32::try_from(beside.len()).unwrap_or(u32::MAX),
            born,
            expires_at,
        };
        writes.put(table, encode(&item)?, Change::new())?;
        write_entry_pieces(writes, table, key, last, &beside, expires_at)
    }
}

impl Tasks<'_> {
    /// Stores a new task and its message's id, in one transaction. Its first event follows from the task.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where the task does not fit: nothing is written then. Otherwise what the database says.
    #[tracing::instrument(
        name = "store.task.create", level = "debug", skip_all,
        fields(tenant.id = new.task.tenant.name(), agent = %new.task.agent, task.id = %new.task.id)
    )]
    pub async fn create(&self, new: &NewRecord<'_>) -> Result<Created, StoreError> {
        Box::pin(self.put_new(new, Created::New)).await
    }

    /// The same under an id that its caller chose: where the message made this very task already, that is
    /// [`Created::Taken`], as the task may have gone on since.
    ///
    /// # Errors
    /// As [`Tasks::create`].
    pub async fn create_chosen(&self, new: &NewRecord<'_>) -> Result<Created, StoreError> {
        Box::pin(self.put_new(new, Created::Taken)).await
    }

    /// What became of the message before, where it is known or there is a task of its id; nothing is written.
    ///
    /// # Errors
    /// What the database says.
    pub async fn known(&self, new: &NewRecord<'_>) -> Result<Option<Created>, StoreError> {
        let (table, task) = (self.table(), new.task);
        let (key, now) = (TaskKey::from(task), task.created_at);
        let message = message_key(&task.tenant, &task.agent, &task.owner, new.message_id);
        let Some(item) = self.store.item(table, &message).await? else {
            let taken = self.find(&key, now).await?;
            return Ok(taken.map(|_| Created::Taken));
        };
        let known: MessageItem = decode(table, item)?;
        match is_over(known.expires_at, now) {
            true => Ok(None),
            false => Ok(Some(self.repeated(&key, new, known, Created::Taken).await?)),
        }
    }

    /// `itself` is said where the message has made this very task.
    async fn put_new(&self, new: &NewRecord<'_>, itself: Created) -> Result<Created, StoreError> {
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
            expires_at: None,
        };
        let free = Change::new()
            .when("attribute_not_exists(#pk) OR #expires_at <= :now")
            .value("now", number(now.seconds()));
        writes.put(table, encode(&item)?, free)?;
        let body = self.stored(task)?;
        let cut = Cut::body(&body, MOST, 0, &task.id.to_string())?;
        let retention = self.store.tenants().retention(&task.tenant);
        let retention = retention.set(Lasting::Tasks).unwrap_or(new.retention);
        let item = TaskItem::new(new, &cut, retention);
        writes.put(table, encode(&item)?, absent())?;
        cut.write(&mut writes, table, &key, 0, None)?;
        if let Some(push) = new.push {
            // The first event is the answer its client got.
            let item = PushItem::new(&key, push, 1, 1, task.created_at)?;
            writes.put(table, encode(&item)?, Change::new())?;
        }
        Box::pin(self.store.put_large(&key.partition(), &[&body])).await?;
        match self.store.transact(writes).await? {
            Transacted::Done => Ok(Created::New),
            Transacted::Refused(refused) => match refused.into_iter().next() {
                Some((0, Some(known))) => self.repeated(&key, new, decode(table, known)?, itself).await,
                // Not every stand-in for DynamoDB hands the item out with the refusal.
                Some((0, None)) => match self.store.item(table, &message).await? {
                    Some(known) => self.repeated(&key, new, decode(table, known)?, itself).await,
                    None => Err(inconsistent(table, &message, "was there and is gone")),
                },
                Some((1, _)) => Ok(Created::Taken),
                _ => Err(inconsistent(table, &key.task(), "a new task was refused")),
            },
        }
    }

    async fn repeated(
        &self,
        key: &TaskKey,
        new: &NewRecord<'_>,
        known: MessageItem,
        itself: Created,
    ) -> Result<Created, StoreError> {
        if known.task_id == key.id {
            // Under a random id it is its own write of just now, of which the answer was lost.
            return Ok(itself);
        }
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

    /// The task, as of now; one consistent read, and a query more for a large one. An expired one is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(&self, key: &TaskKey, now: Timestamp) -> Result<Option<StoredTask>, StoreError> {
        match self.store.item(self.table(), &key.task()).await? {
            Some(item) => self.whole(item, now).await,
            None => Ok(None),
        }
    }

    /// The task where it is that owner's. Of another's no more is read than of one that is not there, however large.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_of(
        &self,
        owner: &Owner,
        key: &TaskKey,
        now: Timestamp,
    ) -> Result<Option<StoredTask>, StoreError> {
        let found = self.store.item(self.table(), &key.task()).await?;
        let own = owner_partition(&key.tenant, &key.agent, owner);
        let is_own = |item: &Item| {
            item.get("owner_pk")
                .and_then(|told| told.as_s().ok())
                .is_some_and(|told| *told == own)
        };
        match found.filter(is_own) {
            Some(item) => self.whole(item, now).await,
            None => Ok(None),
        }
    }

    pub(super) fn table(&self) -> &str {
        &self.store.tables().tasks
    }
}
