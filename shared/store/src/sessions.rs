//! Browser sessions; chats and their messages (`chats`, `messages`).

mod chats;
mod feedback;
mod files;
mod live;
mod members;
mod messages;
mod open;
mod people;
mod removal;
mod replaced;
mod rules;
mod shares;
mod subscriptions;

use domain::{Owner, SignInProof, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::change::{Change, number};
use crate::codec::{Key, decode, encode};
use crate::dynamo::Written;
use crate::tasks::expiry;
use crate::transact::Writes;
use crate::{Store, StoreError};

pub(crate) use chats::{CHAT, chat_place, owner_partition as chats_partition};
pub use chats::{Chat, Opened};
pub use feedback::Verdict;
pub(crate) use files::{BLOB, BYTES, PIECE};
pub use live::{LiveSession, SignedIn};
pub(crate) use members::PERSON;
pub use members::{Access, Member};
pub use messages::{Added, Conversation, StoredMessage};
pub use people::{Adopted, KnownPerson, Profile, person_id};
pub(crate) use rules::Ruled;
pub use shares::{SHARES_MAX, Share, SharedAgent};
pub use subscriptions::{MAX_SUBSCRIPTIONS, PushSubscription};

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
    /// Which browsers of the owner are told of tasks.
    pub pushes: Pushes,
}

/// Which of an owner's browsers are told of tasks while no page is open there, as a session knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushes {
    /// The subscription of this session's own browser.
    pub here: Option<String>,
    /// Whether any of them is told. It may still say so for a while where none is any more.
    pub anywhere: bool,
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
    /// How they proved it: what the tenant's rule is held against at each look. Sessions of older releases do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<SignInProof>,
}

impl Person {
    /// True where another issuer than the tenant's own authorization server vouches for them.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.username.is_empty()
    }
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subscription: Option<String>,
    #[serde(default, skip_serializing_if = "is_no")]
    pushes: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_no(told: &bool) -> bool {
    !told
}

impl SessionItem {
    fn read(self) -> Session {
        Session {
            owner: self.owner,
            created_at: self.created_at,
            expires_at: Timestamp::from_millis(self.expires_at.saturating_mul(1000)),
            person: self.person,
            guest: self.guest,
            pushes: Pushes {
                here: self.subscription,
                anywhere: self.pushes,
            },
        }
    }
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
        subscription: session.pushes.here.clone(),
        pushes: session.pushes.anywhere,
    }
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
            pushes: Pushes::default(),
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
        self.note_member(tenant, session).await?;
        let item = encode(&session_item(tenant, token_hash, session))?;
        // A transaction is dearer: it is one only where the audit is told in it.
        if self.store.tells.is_some() {
            let mut writes = Writes::default();
            writes.put(self.table(), item, Change::new())?;
            self.store.transact(writes).await?;
        } else {
            self.store.put(self.table(), item, Change::new()).await?;
        }
        Ok(())
    }

    /// Ends the session of that token, if there is one. Its browser is told of no tasks any more.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end_session(&self, tenant: &Tenant, token_hash: &str) -> Result<(), StoreError> {
        let key = session_key(tenant, token_hash);
        let Some(item) = self.store.item(self.table(), &key).await? else {
            return Ok(());
        };
        let ends: SessionItem = decode(self.table(), item)?;
        // The session last: what breaks off in between is found again.
        if let Some(id) = &ends.subscription {
            self.drop_subscription(tenant, &ends.owner, id).await?;
        }
        self.store.remove(self.table(), &key).await
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
        let found = decode::<SessionItem>(self.table(), item)?.read();
        Ok(Some(found).filter(|found| found.expires_at > now))
    }

    fn table(&self) -> &str {
        &self.store.tables().sessions
    }
}
