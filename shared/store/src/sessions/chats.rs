//! An owner's chats.

use domain::{ChatId, ContextId, Lasting, Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::Sessions;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, encode, fits, inconsistent};
use crate::dynamo::Written;
use crate::page::Listing;
use crate::schema::BY_OWNER;
use crate::tasks::{expiry, is_over};
use crate::{Page, PageRequest, StoreError};

/// The sort key of a chat itself.
pub(crate) const CHAT: &str = "CHAT";

/// The place of a chat's first message.
pub(super) const FIRST: u64 = 1;

/// Most bytes of a chat's title that are kept.
pub(super) const TITLE_LIMIT: usize = 4096;

/// A chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// Its id, chosen by the page: its owner's own, and anybody else's too.
    pub id: ChatId,
    /// Where its items lie. Chats of older releases lie at their ids, which were the whole tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ChatId>,
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
    /// When it was deleted: of what was said in it nothing is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// From then on it does not exist, in whole seconds: each use moves that. Chats of older releases get their end with their next use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Chat {
    /// Where its items lie: what reads and writes them is told this.
    #[must_use]
    pub fn place(&self) -> &ChatId {
        self.place.as_ref().unwrap_or(&self.id)
    }
}

/// What became of opening a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It is new, and its first message's place is taken: see [`Sessions::add_first`].
    New(Chat),
    /// The owner's own of before.
    Known(Chat),
}

#[derive(Serialize, Deserialize)]
pub(super) struct ChatItem {
    pk: String,
    sk: String,
    #[serde(flatten)]
    pub(super) chat: Chat,
    /// How many messages were announced; the order of those that have one time.
    announced: u64,
    owner_pk: String,
    owner_sk: String,
}

pub(super) fn chat_key(tenant: &Tenant, chat: &ChatId) -> Key {
    (chat_place(tenant, chat), CHAT.to_owned())
}

/// The partition of a chat and of all that is in it.
pub(crate) fn chat_place(tenant: &Tenant, chat: &ChatId) -> String {
    format!("{}#chat#{chat}", tenant.prefix())
}

pub(crate) fn owner_partition(tenant: &Tenant, owner: &Owner) -> String {
    format!("{}#owner#{owner}", tenant.prefix())
}

fn sorted_at(at: Timestamp, chat: &ChatId) -> String {
    format!("{at}#{chat}")
}

impl Sessions<'_> {
    /// Opens a chat; a repeat finds the same one.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] for a giant title; otherwise what the database says.
    pub async fn open_chat(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<Opened, StoreError> {
        fits("the chat's title", title.len(), TITLE_LIMIT)?;
        match self.kept_chat(tenant, owner, chat).await? {
            Some(known) if !is_over(known.expires_at, now) => return Ok(Opened::Known(known)),
            // What was said in it must not be read in the new one.
            Some(known) => self.remove_said(&chat_key(tenant, known.place())).await?,
            None => {}
        }
        let place = chat.of_owner(owner);
        let key = chat_key(tenant, &place);
        let item = ChatItem {
            pk: key.0.clone(),
            sk: key.1.clone(),
            chat: Chat {
                id: chat.clone(),
                place: Some(place),
                owner: owner.clone(),
                context_id: ContextId::derived(&format!("{}/{owner}/{chat}", tenant.prefix())),
                title: title.to_owned(),
                created_at: now,
                updated_at: now,
                deleted_at: None,
                expires_at: Some(self.chats_end(tenant, now)),
            },
            announced: FIRST,
            owner_pk: owner_partition(tenant, owner),
            owner_sk: sorted_at(now, chat),
        };
        let free = Change::new()
            .when("attribute_not_exists(#pk) OR #expires_at <= :now_s")
            .value("now_s", number(now.seconds()));
        let known: ChatItem = match self.store.put(self.table(), encode(&item)?, free).await? {
            Written::Done(_) => return Ok(Opened::New(item.chat)),
            Written::Refused(Some(known)) => decode(self.table(), known)?,
            Written::Refused(None) => match self.store.item(self.table(), &key).await? {
                Some(known) => decode(self.table(), known)?,
                None => return Err(inconsistent(self.table(), &key, "was there and is gone")),
            },
        };
        Ok(Opened::Known(known.chat))
    }

    /// The owner's chat of that id; one call.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_chat(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        chat: &ChatId,
        now: Timestamp,
    ) -> Result<Option<Chat>, StoreError> {
        let found = self.kept_chat(tenant, owner, chat).await?;
        Ok(found.filter(|chat| !is_over(chat.expires_at, now)))
    }

    /// The same, also one that is over.
    async fn kept_chat(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        chat: &ChatId,
    ) -> Result<Option<Chat>, StoreError> {
        let keys = [chat_key(tenant, &chat.of_owner(owner)), chat_key(tenant, chat)];
        let mut found = self.store.items(self.table(), &keys).await?;
        for key in &keys {
            let Some(item) = found.remove(key) else { continue };
            let chat = self.chat(item)?;
            if chat.owner == *owner {
                return Ok(Some(chat));
            }
        }
        Ok(None)
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
        now: Timestamp,
    ) -> Result<Page<Chat>, StoreError> {
        let partition = owner_partition(tenant, owner);
        let listing = Listing {
            table: self.table(),
            index: BY_OWNER,
            partition: &partition,
        };
        let (keys, next) = listing.page(self.store, &page).await?;
        let mut found = self.store.items(self.table(), &keys).await?;
        let items = keys.into_iter().filter_map(|key| found.remove(&key));
        let mut items: Vec<Chat> = items.map(|item| self.chat(item)).collect::<Result<_, _>>()?;
        items.retain(|chat| !is_over(chat.expires_at, now));
        Ok(Page { items, next })
    }

    /// Gives the next message its place, and moves the chat up its owner's list. A message of the past, such as a late
    /// answer found when the chat is read, moves nothing.
    pub(super) async fn announce(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let key = chat_key(tenant, chat);
        let count = Change::new()
            .set_to("announced", "#announced + :one")
            .value("one", number(1))
            // Nothing more is said in a chat that was deleted.
            .when("attribute_exists(#pk) AND attribute_not_exists(#deleted_at)");
        let newest = count
            .clone()
            .set("updated_at", text(at))
            .set("owner_sk", text(sorted_at(at, chat)))
            // A message that comes late must not move the chat back in its list.
            .when("#updated_at <= :updated_at");
        let written = match self.store.update(self.table(), &key, newest).await? {
            Written::Refused(Some(_)) => self.store.update(self.table(), &key, count).await?,
            written => written,
        };
        let Written::Done(item) = written else {
            return Ok(None);
        };
        let known: ChatItem = decode(self.table(), item)?;
        self.move_end(tenant, &key, known.chat.expires_at, at).await?;
        Ok(Some(known.announced))
    }

    /// When what is written into a chat now ends: not before the chat, whose end nobody has moved further yet.
    pub(super) fn chats_end(&self, tenant: &Tenant, now: Timestamp) -> i64 {
        let retention = self.store.tenants().retention(tenant);
        expiry(now.after(retention.of(Lasting::Chats)))
    }

    /// Moves the end of a chat that is used, and of all that is in it, where that is worth the writes: once in an eighth of the time
    /// that it is kept, or where that time is another one by now. The chat itself comes last, so that what breaks off is done
    /// with the next use, and nothing in it ends before it.
    async fn move_end(
        &self,
        tenant: &Tenant,
        key: &Key,
        known: Option<i64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let end = self.chats_end(tenant, now);
        let slack = end.saturating_sub(now.seconds()) / 8;
        if known.is_some_and(|known| (end - slack..=end).contains(&known)) {
            return Ok(());
        }
        let said = self.said_in(key).await?;
        for place in said.iter().chain([key]) {
            let change = Change::new()
                .set("expires_at", number(end))
                .when("attribute_exists(#pk)");
            self.store.update(self.table(), place, change).await?;
        }
        Ok(())
    }

    fn chat(&self, item: Item) -> Result<Chat, StoreError> {
        Ok(decode::<ChatItem>(self.table(), item)?.chat)
    }
}
