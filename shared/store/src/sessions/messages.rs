//! A chat's messages, and the answers that are kept with them.

use domain::{ChatId, MessageId, TaskId, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Sessions;
use super::chats::{FIRST, chat_key};
use super::feedback::{FEEDBACK, FeedbackItem, Verdict};
use crate::StoreError;
use crate::change::{Change, text};
use crate::codec::{Item, Key, decode, document, encode, inconsistent, parse, text_of};
use crate::dynamo::{Query, Written};
use crate::tasks::is_over;

/// A chat's message.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Unique within the chat.
    pub id: MessageId,
    /// When it came.
    pub at: Timestamp,
    /// The AI SDK's UI message.
    pub body: Value,
    /// How often its user has put another in its place.
    pub edits: u32,
}

/// A chat as it is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// Its messages, in order.
    pub messages: Vec<StoredMessage>,
    /// The answers that are kept, in no order: each is found by its id.
    pub answers: Vec<StoredMessage>,
    /// What its user thinks of tasks' answers.
    pub feedback: Vec<(TaskId, Verdict)>,
}

/// What became of adding a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is stored.
    New,
    /// The very same was stored before.
    Same,
    /// Another message was stored under that id.
    Conflict,
    /// There is no such chat, or not any more.
    NoChat,
}

#[derive(Serialize, Deserialize)]
pub(super) struct MessageItem {
    pk: String,
    sk: String,
    id: MessageId,
    at: Timestamp,
    order: u64,
    body: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    edits: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What the sort keys of a chat's messages begin with, and those of the answers that are kept.
const MESSAGE: &str = "MESSAGE#";
pub(super) const ANSWER: &str = "ANSWER#";

pub(super) fn message_key(tenant: &Tenant, chat: &ChatId, message: &MessageId) -> Key {
    (
        format!("{}#chat#{chat}", tenant.prefix()),
        format!("{MESSAGE}{message}"),
    )
}

pub(super) fn message_item(
    tenant: &Tenant,
    chat: &ChatId,
    message: &StoredMessage,
    (order, expires_at): (u64, i64),
) -> Result<MessageItem, StoreError> {
    let (pk, sk) = message_key(tenant, chat, &message.id);
    Ok(MessageItem {
        pk,
        sk,
        id: message.id.clone(),
        at: message.at,
        order,
        body: document("the message", &message.body)?,
        edits: message.edits,
        expires_at: Some(expires_at),
    })
}

/// Where an answer is kept. Releases that knew no stored answers list messages alone.
pub(super) fn answer_key(tenant: &Tenant, chat: &ChatId, answer: &MessageId) -> Key {
    (chat_key(tenant, chat).0, format!("{ANSWER}{answer}"))
}

impl Sessions<'_> {
    /// Adds a message; idempotent by its id.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn add_message(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        message: &StoredMessage,
    ) -> Result<Added, StoreError> {
        // What does not fit announces nothing.
        document("the message", &message.body)?;
        match self.announce(tenant, chat, message.at).await? {
            Some(order) => self.put_message(tenant, chat, message, order).await,
            None => Ok(Added::NoChat),
        }
    }

    /// As [`Sessions::add_message`], for the message that a new chat was opened with, at the same time: it is announced
    /// already.
    ///
    /// # Errors
    /// As [`Sessions::add_message`].
    pub async fn add_first(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        message: &StoredMessage,
    ) -> Result<Added, StoreError> {
        self.put_message(tenant, chat, message, FIRST).await
    }

    /// A chat's message of that id.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_message(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Option<StoredMessage>, StoreError> {
        let found = self
            .store
            .item(self.table(), &message_key(tenant, chat, message))
            .await?;
        found
            .map(|item| self.message(decode(self.table(), item)?))
            .transpose()
    }

    async fn put_message(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        message: &StoredMessage,
        order: u64,
    ) -> Result<Added, StoreError> {
        let end = self.chats_end(tenant, message.at);
        let item = message_item(tenant, chat, message, (order, end))?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        match self.store.put(self.table(), encode(&item)?, absent).await? {
            Written::Done(_) => Ok(Added::New),
            Written::Refused(known) => self.added_before(tenant, chat, message, known).await,
        }
    }

    /// What adding a message means whose id has one already: the item that was in the way, where the database gave it.
    pub(super) async fn added_before(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        message: &StoredMessage,
        known: Option<Item>,
    ) -> Result<Added, StoreError> {
        let known = match known {
            Some(known) => Some(self.message(decode(self.table(), known)?)?),
            None => self.find_message(tenant, chat, &message.id).await?,
        };
        match known {
            Some(known) if known.body == message.body => Ok(Added::Same),
            Some(_) => Ok(Added::Conflict),
            None => {
                let key = message_key(tenant, chat, &message.id);
                Err(inconsistent(self.table(), &key, "was there and is gone"))
            }
        }
    }

    /// Keeps an answer that was shown, where it is not kept yet: one write. It has no place of its own among the messages: the
    /// one that it answers has.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn keep_answer(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        answer: &StoredMessage,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (pk, sk) = answer_key(tenant, chat, &answer.id);
        let item = MessageItem {
            pk,
            sk,
            id: answer.id.clone(),
            at: answer.at,
            order: 0,
            body: document("the answer", &answer.body)?,
            edits: 0,
            expires_at: Some(self.chats_end(tenant, now)),
        };
        // Of a finished task nothing changes, so that whoever comes first is right.
        let absent = Change::new().when("attribute_not_exists(#pk)");
        self.store.put(self.table(), encode(&item)?, absent).await?;
        Ok(())
    }

    /// A chat's messages, oldest first; those of one time in the order they were added. Beside them the answers that are kept.
    ///
    /// # Errors
    /// What the database says.
    pub async fn conversation(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        now: Timestamp,
    ) -> Result<Conversation, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND #sk BETWEEN :answer AND :message",
            values: vec![
                (":pk", text(chat_key(tenant, chat).0)),
                (":answer", text(ANSWER)),
                // Behind all that begins with the one and the other.
                (":message", text("MESSAGE$")),
            ],
            ..Query::default()
        };
        let (mut messages, mut answers): (Vec<MessageItem>, Vec<MessageItem>) = (Vec::new(), Vec::new());
        let mut feedback = Vec::new();
        for item in self.store.query_all(query).await? {
            let list = match text_of(&item, "sk") {
                Some(sk) if sk.starts_with(ANSWER) => &mut answers,
                Some(sk) if sk.starts_with(MESSAGE) => &mut messages,
                Some(sk) if sk.starts_with(FEEDBACK) => {
                    let item: FeedbackItem = decode(self.table(), item)?;
                    feedback.push((item.task, item.verdict));
                    continue;
                }
                _ => continue,
            };
            list.push(decode(self.table(), item)?);
        }
        messages.sort_by_key(|item| (item.at, item.order));
        let read = |items: Vec<MessageItem>| -> Result<Vec<StoredMessage>, StoreError> {
            let kept = items.into_iter().filter(|item| !is_over(item.expires_at, now));
            kept.map(|item| self.message(item)).collect()
        };
        Ok(Conversation {
            messages: read(messages)?,
            answers: read(answers)?,
            feedback,
        })
    }

    /// A chat's messages, as in [`Sessions::conversation`].
    ///
    /// # Errors
    /// What the database says.
    pub async fn messages(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        now: Timestamp,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        Ok(self.conversation(tenant, chat, now).await?.messages)
    }

    fn message(&self, item: MessageItem) -> Result<StoredMessage, StoreError> {
        Ok(StoredMessage {
            id: item.id,
            at: item.at,
            body: parse(self.table(), &(item.pk, item.sk), &item.body)?,
            edits: item.edits,
        })
    }
}
