//! Files of a chat's messages, which are read one file at a time: their bytes lie in the blob store, which a piece behind the messages
//! names, or in such pieces where they are small or there is no blob store.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{ChatId, MessageId, Tenant, Timestamp};
use serde_json::Value;

use super::chats::{FIRST, chat_key};
use super::messages::{message_item, message_key};
use super::{Added, Sessions, StoredMessage};
use crate::StoreError;
use crate::blobs::BlobScope;
use crate::change::{Change, number, text};
use crate::codec::{DOCUMENT_LIMIT, Item, Key, VERSION, document, encode, inconsistent, keyed, text_of};
use crate::schema::EXPIRES_AT;
use crate::transact::{Transacted, Writes};

/// What the sort keys of pieces begin with: behind all that is read with a chat.
pub(crate) const PIECE: &str = "PIECE#";
/// What a piece has: bytes, or the hash of a blob that is the whole file.
pub(crate) const BYTES: &str = "bytes";
pub(crate) const BLOB: &str = "blob";

/// Where a piece lies. The message's id comes last, as it may have any character.
fn piece_key(tenant: &Tenant, chat: &ChatId, message: &MessageId, (file, piece): (usize, usize)) -> Key {
    (
        chat_key(tenant, chat).0,
        format!("{PIECE}{file}#{piece}#{message}"),
    )
}

impl Sessions<'_> {
    /// Adds a message with its files, all of it or nothing; idempotent by its id: what says that the files are the same, such as
    /// their hashes, stands in the message. `is_first`: as for [`Sessions::add_first`]. A chat that is being deleted is none.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn add_with_files(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        (message, is_first): (&StoredMessage, bool),
        files: &[Vec<u8>],
    ) -> Result<Added, StoreError> {
        // What does not fit announces nothing.
        document("the message", &message.body)?;
        let order = match is_first {
            true => Some(FIRST),
            false => self.announce(tenant, chat, message.at).await?,
        };
        let Some(order) = order else {
            return Ok(Added::NoChat);
        };
        let end = self.chats_end(tenant, message.at);
        let mut writes = Writes::default();
        let here = Change::new().when("attribute_exists(#pk) AND attribute_not_exists(#deleted_at)");
        writes.check(self.table(), &chat_key(tenant, chat), here)?;
        let item = encode(&message_item(tenant, chat, message, (order, end))?)?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        writes.put(self.table(), item, absent)?;
        self.write_files(&mut writes, tenant, (chat, &message.id, end), files)
            .await?;
        match self.store.transact(writes).await? {
            Transacted::Done => Ok(Added::New),
            Transacted::Refused(refused) => match refused.into_iter().next() {
                Some((1, known)) => self.added_before(tenant, chat, message, known).await,
                _ => {
                    // Whoever deletes the chat may have been here before the files were.
                    self.store
                        .remove_blobs(&BlobScope::Owner(chat_key(tenant, chat).0))
                        .await?;
                    Ok(Added::NoChat)
                }
            },
        }
    }

    /// Puts another message in the place of one, with its files, all of it or nothing: it has the same id and the same place, and
    /// one edit more. False where the one was changed since it was read, or the chat is being deleted.
    ///
    /// # Errors
    /// As [`Sessions::add_with_files`].
    pub async fn edit_message(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        (known, body, now): (&StoredMessage, &Value, Timestamp),
        files: &[Vec<u8>],
    ) -> Result<bool, StoreError> {
        let end = self.chats_end(tenant, now);
        let mut writes = Writes::default();
        let here = Change::new().when("attribute_exists(#pk) AND attribute_not_exists(#deleted_at)");
        writes.check(self.table(), &chat_key(tenant, chat), here)?;
        let seen = match known.edits {
            0 => Change::new().when("attribute_exists(#pk) AND attribute_not_exists(#edits)"),
            edits => Change::new().when("#edits = :seen").value("seen", number(edits)),
        };
        let edited = seen
            .set("body", text(document("the message", body)?))
            .set("edits", number(known.edits.saturating_add(1)))
            .set(EXPIRES_AT, number(end));
        writes.update(self.table(), &message_key(tenant, chat, &known.id), edited)?;
        self.write_files(&mut writes, tenant, (chat, &known.id, end), files)
            .await?;
        Ok(matches!(self.store.transact(writes).await?, Transacted::Done))
    }

    /// Writes files into a transaction. The large ones are in the blob store before it.
    async fn write_files(
        &self,
        writes: &mut Writes,
        tenant: &Tenant,
        (chat, message, end): (&ChatId, &MessageId, i64),
        files: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        for (file, bytes) in files.iter().enumerate() {
            let key = piece_key(tenant, chat, message, (file, 0));
            if let Some(hash) = self.store.put_blob(&key.0, bytes).await? {
                writes.put(
                    self.table(),
                    piece_item(&key, (BLOB, text(hash)), end),
                    Change::new(),
                )?;
                continue;
            }
            for (piece, bytes) in bytes.chunks(DOCUMENT_LIMIT).enumerate() {
                let key = piece_key(tenant, chat, message, (file, piece));
                let bytes = AttributeValue::B(bytes.to_vec().into());
                writes.put(self.table(), piece_item(&key, (BYTES, bytes), end), Change::new())?;
            }
        }
        Ok(())
    }

    /// The bytes of a message's file, of which there are so many; `None` where they are not all there.
    ///
    /// # Errors
    /// What the database says.
    pub async fn file(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        message: &MessageId,
        (file, size): (usize, usize),
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let pieces = 0..size.div_ceil(DOCUMENT_LIMIT);
        let keys: Vec<Key> = pieces
            .map(|piece| piece_key(tenant, chat, message, (file, piece)))
            .collect();
        let mut found = self.store.items(self.table(), &keys).await?;
        let mut bytes = Vec::with_capacity(size);
        for key in &keys {
            let Some(item) = found.remove(key) else {
                return Ok(None);
            };
            if let Some(hash) = text_of(&item, BLOB) {
                return self.store.blob(self.table(), key, (hash, size)).await.map(Some);
            }
            match item.get(BYTES) {
                Some(AttributeValue::B(piece)) => bytes.extend_from_slice(piece.as_ref()),
                _ => return Err(inconsistent(self.table(), key, "a piece without bytes")),
            }
        }
        if bytes.len() != size {
            let key = message_key(tenant, chat, message);
            return Err(inconsistent(self.table(), &key, "its file has another size"));
        }
        Ok(Some(bytes))
    }
}

fn piece_item(key: &Key, (name, value): (&str, AttributeValue), expires_at: i64) -> Item {
    let more = HashMap::from([
        (name.to_owned(), value),
        (VERSION.to_owned(), number(domain::RECORDS)),
        (EXPIRES_AT.to_owned(), number(expires_at)),
    ]);
    keyed(key).into_iter().chain(more).collect()
}
