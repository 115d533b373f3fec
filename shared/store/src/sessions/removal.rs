//! A chat's new name, and its end: what was said in it goes, a tombstone stays for a
//! month, so that its id means nothing else to a page that is open yet.

use std::time::Duration;

use domain::{ChatId, MessageId, Owner, Tenant, Timestamp};

use super::Sessions;
use super::chats::{CHAT, ChatItem, TITLE_LIMIT, chat_key, owner_partition};
use super::messages::{ANSWER, answer_key, message_key};
use crate::blobs::BlobScope;
use crate::change::{Change, number, text};
use crate::codec::{Key, decode, fits, key_of};
use crate::dynamo::{Query, Written};
use crate::tasks::expiry;
use crate::transact::Writes;
use crate::{Chat, StoreError};

/// Most items of one transaction.
const TOGETHER: usize = 100;

/// How long a chat that was deleted is known as such: nobody's page is open for longer.
const TOMBSTONE: Duration = Duration::from_secs(30 * 24 * 3600);

impl Sessions<'_> {
    /// Gives the owner's chat another title; `None` where there is no such chat, or it was deleted.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] for a giant title; otherwise what the database says.
    pub async fn rename_chat(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        chat: &ChatId,
        title: &str,
    ) -> Result<Option<Chat>, StoreError> {
        fits("the chat's title", title.len(), TITLE_LIMIT)?;
        let change = Change::new()
            .set("title", text(title))
            .when("#owner = :owner AND attribute_not_exists(#deleted_at)")
            .value("owner", text(owner));
        let written = self
            .store
            .update(self.table(), &chat_key(tenant, chat), change)
            .await?;
        Ok(match written {
            Written::Done(item) => Some(decode::<ChatItem>(self.table(), item)?.chat),
            Written::Refused(_) => None,
        })
    }

    /// Ends the owner's chat, then removes its messages and their files; false where there is no such chat. A repeat goes on where the first
    /// broke off.
    ///
    /// # Errors
    /// What the database says.
    pub async fn delete_chat(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        chat: &ChatId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // Out of the owner's list by another partition: releases that know no tombstones want every chat to have one.
        let away = format!("{}#deleted", owner_partition(tenant, owner));
        let change = Change::new()
            .set("deleted_at", text(now))
            .set("title", text(""))
            .set("owner_pk", text(away))
            .set("expires_at", number(expiry(now.after(TOMBSTONE))))
            .when("#owner = :owner")
            .value("owner", text(owner));
        let key = chat_key(tenant, chat);
        if let Written::Refused(_) = self.store.update(self.table(), &key, change).await? {
            return Ok(false);
        }
        self.remove_said(&key).await?;
        Ok(true)
    }

    /// Removes what was written into a chat by somebody who had not heard of its end; true where the chat is over. To be called
    /// after such a write: whoever deletes a chat says so first and removes what is there then, so that one of the two always sees
    /// the other.
    ///
    /// # Errors
    /// What the database says.
    pub async fn tidy_deleted(&self, tenant: &Tenant, chat: &ChatId) -> Result<bool, StoreError> {
        let key = chat_key(tenant, chat);
        let found = self.store.item(self.table(), &key).await?;
        let is_over = found.is_some_and(|item| item.contains_key("deleted_at"));
        if is_over {
            self.remove_said(&key).await?;
        }
        Ok(is_over)
    }

    /// Removes all that lies in a chat's partition beside the chat itself.
    pub(super) async fn remove_said(&self, key: &Key) -> Result<(), StoreError> {
        self.store.remove_blobs(&BlobScope::Owner(key.0.clone())).await?;
        let said = self.said_in(key).await?;
        self.remove_items(&said).await
    }

    /// The keys of all that lies in a chat's partition beside the chat itself.
    pub(crate) async fn said_in(&self, key: &Key) -> Result<Vec<Key>, StoreError> {
        let said = Query {
            table: self.table(),
            condition: "#pk = :pk AND #sk BETWEEN :answer AND :last",
            values: vec![
                (":pk", text(&key.0)),
                (":answer", text(ANSWER)),
                // Behind the pieces of files, which lie behind the messages.
                (":last", text("PIECE$")),
            ],
            only: Some("#pk, #sk"),
            ..Query::default()
        };
        let items = self.store.query_all(said).await?;
        let keys = items.iter().map(|item| key_of(self.table(), item));
        let keys: Result<Vec<Key>, _> = keys.collect();
        // The chat itself lies between the two.
        Ok(keys?.into_iter().filter(|(_, sk)| sk != CHAT).collect())
    }

    /// Removes messages of a chat, and answers that are kept in it: what came behind one that was edited.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove_messages(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        (messages, answers): (&[MessageId], &[MessageId]),
    ) -> Result<(), StoreError> {
        let messages = messages.iter().map(|id| message_key(tenant, chat, id));
        let answers = answers.iter().map(|id| answer_key(tenant, chat, id));
        self.remove_items(&messages.chain(answers).collect::<Vec<_>>())
            .await
    }

    async fn remove_items(&self, keys: &[Key]) -> Result<(), StoreError> {
        for some in keys.chunks(TOGETHER) {
            let mut writes = Writes::default();
            for key in some {
                writes.delete(self.table(), key, Change::new())?;
            }
            self.store.transact(writes).await?;
        }
        Ok(())
    }
}
