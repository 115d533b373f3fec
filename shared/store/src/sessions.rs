//! Browser sessions, chats and their messages.

use domain::{ChatId, ContextId, MessageId, Owner, Tenant, Timestamp};
use serde_json::Value;

use crate::{Page, PageRequest, Store, StoreError};

/// A browser's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub owner: Owner,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when; whole seconds.
    pub expires_at: Timestamp,
}

/// A chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat {
    /// Its id, chosen by the page.
    pub id: ChatId,
    /// Whose it is.
    pub owner: Owner,
    /// The conversation its tasks belong to.
    pub context_id: ContextId,
    /// What to call it.
    pub title: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When the newest message came.
    pub updated_at: Timestamp,
}

/// What became of opening a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It is open: a new one, or the owner's own of before.
    Chat(Chat),
    /// Another owner has a chat of that id.
    NotYours,
}

/// A chat's message.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Unique within the chat.
    pub id: MessageId,
    /// When it came.
    pub at: Timestamp,
    /// The AI SDK's UI message.
    pub body: Value,
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
    /// There is no such chat.
    NoChat,
}

/// The table of sessions.
#[derive(Clone, Copy)]
pub struct Sessions<'s> {
    pub(crate) store: &'s Store,
}

impl Sessions<'_> {
    /// Stores a new session under the hash of its token.
    ///
    /// # Errors
    /// What the database says.
    pub async fn create_session(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        owner: &Owner,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        todo!()
    }

    /// The session of that token. An expired one is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_session(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        todo!()
    }

    /// Opens a chat; a repeat finds the same one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn open_chat(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<Opened, StoreError> {
        todo!()
    }

    /// The chat, whoever owns it: the caller compares the owner.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_chat(&self, tenant: &Tenant, chat: &ChatId) -> Result<Option<Chat>, StoreError> {
        todo!()
    }

    /// An owner's chats, newest first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another listing; otherwise what the database says.
    pub async fn chats_of(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        page: PageRequest,
    ) -> Result<Page<Chat>, StoreError> {
        todo!()
    }

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
        todo!()
    }

    /// A chat's messages, oldest first; those of one time in the order they were added.
    ///
    /// # Errors
    /// What the database says.
    pub async fn messages(&self, tenant: &Tenant, chat: &ChatId) -> Result<Vec<StoredMessage>, StoreError> {
        todo!()
    }
}
