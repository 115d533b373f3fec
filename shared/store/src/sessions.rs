//! Browser sessions, chats and their messages.

mod feedback;
mod files;
mod live;
mod open;
mod people;
mod removal;
mod replaced;

use domain::{ChatId, ContextId, MessageId, Owner, TaskId, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, document, encode, fits, inconsistent, parse, text_of};
use crate::dynamo::{Query, Written};
use crate::page::Listing;
use crate::schema::BY_OWNER;
use crate::tasks::expiry;
use crate::{Page, PageRequest, Store, StoreError};

pub use feedback::Verdict;
use feedback::{FEEDBACK, FeedbackItem};
pub use live::{LiveSession, SignedIn};
pub use people::{Adopted, KnownPerson, Profile, person_id};

/// The place of a chat's first message.
const FIRST: u64 = 1;

/// Most bytes of a chat's title that are kept.
const TITLE_LIMIT: usize = 4096;

/// A browser's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub owner: Owner,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when; whole seconds.
    pub expires_at: Timestamp,
    /// Who has signed in; nobody where it is a guest's.
    pub person: Option<Person>,
    /// The guest who was in this browser when that person signed in, until the person says whose work that is.
    pub guest: Option<GuestBefore>,
}

/// A guest who was in a browser before somebody signed in there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestBefore {
    /// Whose work it is as yet.
    pub owner: Owner,
    /// The hash of the session's token.
    pub session: String,
    /// Whether somebody else has signed in in this browser before.
    #[serde(default)]
    pub shared: bool,
}

/// Who has signed in, and when they proved it: the session is good only as long as that proof is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The issuer that vouched for them.
    pub issuer: String,
    /// What that issuer calls them for good.
    pub subject: Owner,
    /// Which user of the tenant's own authorization server they are; empty where another issuer vouches for them.
    pub username: String,
    /// When they proved it there; never later than that was.
    pub auth_time: Timestamp,
    /// Their own id ([`person_id`]). Sessions of older releases do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Owner>,
    /// The issuer's own session, where it named one: its end is this session's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
}

impl Person {
    /// True where another issuer than the tenant's own authorization server vouches for them.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.username.is_empty()
    }
}

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

/// The table of sessions.
#[derive(Clone, Copy)]
pub struct Sessions<'s> {
    pub(crate) store: &'s Store,
}

#[derive(Serialize, Deserialize)]
struct SessionItem {
    pk: String,
    sk: String,
    owner: Owner,
    created_at: Timestamp,
    expires_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<Person>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guest: Option<GuestBefore>,
}

#[derive(Serialize, Deserialize)]
struct ChatItem {
    pk: String,
    sk: String,
    #[serde(flatten)]
    chat: Chat,
    /// How many messages were announced; the order of those that have one time.
    announced: u64,
    owner_pk: String,
    owner_sk: String,
}

#[derive(Serialize, Deserialize)]
struct MessageItem {
    pk: String,
    sk: String,
    id: MessageId,
    at: Timestamp,
    order: u64,
    body: String,
}

fn session_key(tenant: &Tenant, token_hash: &str) -> Key {
    (
        format!("{}#session#{token_hash}", tenant.prefix()),
        "SESSION".to_owned(),
    )
}

fn session_item(tenant: &Tenant, token_hash: &str, session: &Session) -> SessionItem {
    let (pk, sk) = session_key(tenant, token_hash);
    SessionItem {
        pk,
        sk,
        owner: session.owner.clone(),
        created_at: session.created_at,
        expires_at: expiry(session.expires_at),
        person: session.person.clone(),
        guest: session.guest.clone(),
    }
}

/// What the sort keys of a chat's messages begin with, and those of the answers that are kept.
const MESSAGE: &str = "MESSAGE#";
const ANSWER: &str = "ANSWER#";

fn chat_key(tenant: &Tenant, chat: &ChatId) -> Key {
    (format!("{}#chat#{chat}", tenant.prefix()), "CHAT".to_owned())
}

fn message_key(tenant: &Tenant, chat: &ChatId, message: &MessageId) -> Key {
    (
        format!("{}#chat#{chat}", tenant.prefix()),
        format!("{MESSAGE}{message}"),
    )
}

fn message_item(
    tenant: &Tenant,
    chat: &ChatId,
    message: &StoredMessage,
    order: u64,
) -> Result<MessageItem, StoreError> {
    let (pk, sk) = message_key(tenant, chat, &message.id);
    Ok(MessageItem {
        pk,
        sk,
        id: message.id.clone(),
        at: message.at,
        order,
        body: document("the message", &message.body)?,
    })
}

/// Where an answer is kept. Releases that knew no stored answers list messages alone.
fn answer_key(tenant: &Tenant, chat: &ChatId, answer: &MessageId) -> Key {
    (chat_key(tenant, chat).0, format!("{ANSWER}{answer}"))
}

fn owner_partition(tenant: &Tenant, owner: &Owner) -> String {
    format!("{}#owner#{owner}", tenant.prefix())
}

fn sorted_at(at: Timestamp, chat: &ChatId) -> String {
    format!("{at}#{chat}")
}

impl Sessions<'_> {
    /// Stores a guest's new session under the hash of its token.
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
        let guest = Session {
            owner: owner.clone(),
            created_at: now,
            expires_at,
            person: None,
            guest: None,
        };
        self.begin_session(tenant, token_hash, &guest).await
    }

    /// Stores a new session under the hash of its token.
    ///
    /// # Errors
    /// What the database says.
    pub async fn begin_session(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        session: &Session,
    ) -> Result<(), StoreError> {
        self.note_open(tenant, &session.owner, token_hash, session.expires_at)
            .await?;
        let item = session_item(tenant, token_hash, session);
        self.store
            .put(self.table(), encode(&item)?, Change::new())
            .await?;
        Ok(())
    }

    /// Ends the session of that token, if there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end_session(&self, tenant: &Tenant, token_hash: &str) -> Result<(), StoreError> {
        self.store
            .remove(self.table(), &session_key(tenant, token_hash))
            .await
    }

    /// Puts off the end of a guest's session. False where there is no such session any more.
    ///
    /// # Errors
    /// What the database says.
    pub async fn extend_session(
        &self,
        tenant: &Tenant,
        (token_hash, owner): (&str, &Owner),
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        self.note_open(tenant, owner, token_hash, until).await?;
        let change = Change::new()
            .set("expires_at", number(expiry(until)))
            .when("attribute_exists(#pk)");
        let key = session_key(tenant, token_hash);
        let written = self.store.update_at(self.table(), &key, change).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// Forgets which guest was in the browser of this session before: the person has said whose work that is.
    ///
    /// # Errors
    /// What the database says.
    pub async fn forget_guest(&self, tenant: &Tenant, token_hash: &str) -> Result<(), StoreError> {
        let change = Change::new().remove(&["guest"]).when("attribute_exists(#pk)");
        let key = session_key(tenant, token_hash);
        self.store.update_at(self.table(), &key, change).await?;
        Ok(())
    }

    /// The session of that token as it is stored. An expired one is absent; whether who signed in is still somebody,
    /// [`Sessions::live_session`] knows.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_session(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let Some(item) = self
            .store
            .item(self.table(), &session_key(tenant, token_hash))
            .await?
        else {
            return Ok(None);
        };
        let item: SessionItem = decode(self.table(), item)?;
        let expires_at = Timestamp::from_millis(item.expires_at.saturating_mul(1000));
        Ok((expires_at > now).then_some(Session {
            owner: item.owner,
            created_at: item.created_at,
            expires_at,
            person: item.person,
            guest: item.guest,
        }))
    }

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
        if let Some(known) = self.find_chat(tenant, owner, chat).await? {
            return Ok(Opened::Known(known));
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
            },
            announced: FIRST,
            owner_pk: owner_partition(tenant, owner),
            owner_sk: sorted_at(now, chat),
        };
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let known: ChatItem = match self.store.put(self.table(), encode(&item)?, absent).await? {
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
        Ok(Page {
            items: items.map(|item| self.chat(item)).collect::<Result<_, _>>()?,
            next,
        })
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
        let item = message_item(tenant, chat, message, order)?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        match self.store.put(self.table(), encode(&item)?, absent).await? {
            Written::Done(_) => Ok(Added::New),
            Written::Refused(known) => self.added_before(tenant, chat, message, known).await,
        }
    }

    /// What adding a message means whose id has one already: the item that was in the way, where the database gave it.
    async fn added_before(
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
    ) -> Result<(), StoreError> {
        let (pk, sk) = answer_key(tenant, chat, &answer.id);
        let item = MessageItem {
            pk,
            sk,
            id: answer.id.clone(),
            at: answer.at,
            order: 0,
            body: document("the answer", &answer.body)?,
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
    pub async fn conversation(&self, tenant: &Tenant, chat: &ChatId) -> Result<Conversation, StoreError> {
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
            items.into_iter().map(|item| self.message(item)).collect()
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
    pub async fn messages(&self, tenant: &Tenant, chat: &ChatId) -> Result<Vec<StoredMessage>, StoreError> {
        Ok(self.conversation(tenant, chat).await?.messages)
    }

    /// Gives the next message its place, and moves the chat up its owner's list. A message of the past, such as a late
    /// answer found when the chat is read, moves nothing.
    async fn announce(
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
        match written {
            Written::Done(item) => Ok(Some(decode::<ChatItem>(self.table(), item)?.announced)),
            Written::Refused(_) => Ok(None),
        }
    }

    fn chat(&self, item: Item) -> Result<Chat, StoreError> {
        Ok(decode::<ChatItem>(self.table(), item)?.chat)
    }

    fn message(&self, item: MessageItem) -> Result<StoredMessage, StoreError> {
        Ok(StoredMessage {
            id: item.id,
            at: item.at,
            body: parse(self.table(), &(item.pk, item.sk), &item.body)?,
        })
    }

    fn table(&self) -> &str {
        &self.store.tables().sessions
    }
}
