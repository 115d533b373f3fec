//! Who has signed in to the chat: an item each in one partition, for whoever looks after a tenant, and what of theirs leads in.

use domain::{Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::open::{OPEN, sid_place};
use super::people::owner_place;
use super::shares::{SHARE, link_of};
use super::subscriptions::{HAS, PUSH, SubscriptionItem};
use super::{Person, PushSubscription, Session, SessionItem, Sessions, Share, SignedIn, session_key};
use crate::change::text;
use crate::codec::{Key, decode, key_of, keyed};
use crate::dynamo::Query;
use crate::record::document_of;
use crate::{Page, PageRequest, StoreError};

/// Somebody who has signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Under which id their things are kept.
    pub owner: Owner,
    /// How they signed in last.
    pub person: Person,
    /// When that was.
    pub at: Timestamp,
}

/// What is erased of whoever somebody is, by its name among what was erased.
pub(crate) const PERSON: &str = "person";

/// What leads to an owner's things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Who it is, where they could still be in.
    pub signed_in: Option<SignedIn>,
    /// Their open sessions, by the hashes of their tokens.
    pub sessions: Vec<(String, Session)>,
    /// The browsers that are told of their tasks.
    pub devices: Vec<PushSubscription>,
    /// What they have shared.
    pub shares: Vec<Share>,
}

fn member_key(tenant: &Tenant, owner: &str) -> Key {
    (format!("{}#session#@@members", tenant.prefix()), owner.to_owned())
}

impl Sessions<'_> {
    /// Notes who has signed in.
    pub(super) async fn note_member(&self, tenant: &Tenant, session: &Session) -> Result<(), StoreError> {
        let Some(person) = &session.person else {
            return Ok(());
        };
        self.store.note_rule(tenant, session.created_at).await?;
        let retention = self.store.tenants().retention(tenant);
        let member = Member {
            owner: session.owner.clone(),
            person: person.clone(),
            at: session.created_at,
        };
        let key = member_key(tenant, session.owner.as_str());
        self.store
            .put_record(
                self.table(),
                key,
                "the member",
                &member,
                Some(session.expires_at.after(retention.longest())),
            )
            .await
    }

    /// Who has signed in, in the order of their ids.
    ///
    /// # Errors
    /// What the database says.
    pub async fn members(&self, tenant: &Tenant, page: &PageRequest) -> Result<Page<Member>, StoreError> {
        let start = page
            .cursor
            .as_deref()
            .map(|owner| keyed(&member_key(tenant, owner)));
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(member_key(tenant, "").0))],
            limit: Some(page.limit.clamp(1, 100)),
            start,
            ..Query::default()
        };
        let (items, last) = self.store.query(query).await?;
        let next = last.map(|last| key_of(self.table(), &last)).transpose()?;
        let members = items.into_iter().map(|item| document_of(self.table(), item));
        Ok(Page {
            items: members.collect::<Result<_, _>>()?,
            next: next.map(|(_, owner)| owner),
        })
    }

    /// Somebody who has signed in, by the id of their things.
    ///
    /// # Errors
    /// What the database says.
    pub async fn member(&self, tenant: &Tenant, owner: &Owner) -> Result<Option<Member>, StoreError> {
        let key = member_key(tenant, owner.as_str());
        self.store.record(self.table(), &key).await
    }

    /// What leads to somebody's things: one query, one read of the sessions that it tells of, and one of whom it is.
    ///
    /// # Errors
    /// What the database says.
    pub async fn access_of(
        &self,
        tenant: &Tenant,
        member: &Member,
        now: Timestamp,
    ) -> Result<Access, StoreError> {
        let mut access = Access {
            signed_in: self.still(tenant, member.person.clone(), now).await?,
            ..Access::default()
        };
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(owner_place(tenant, &member.owner)))],
            ..Query::default()
        };
        let mut hashes = Vec::new();
        for item in self.store.query_all(query).await? {
            let (_, sk) = key_of(self.table(), &item)?;
            if let Some(hash) = sk.strip_prefix(OPEN) {
                hashes.push(hash.to_owned());
            } else if sk.starts_with(PUSH) {
                access
                    .devices
                    .push(decode::<SubscriptionItem>(self.table(), item)?.read());
            } else if sk.starts_with(SHARE) {
                access.shares.push(document_of(self.table(), item)?);
            }
        }
        let keys: Vec<Key> = hashes.iter().map(|hash| session_key(tenant, hash)).collect();
        let mut found = self.store.items(self.table(), &keys).await?;
        for (key, hash) in keys.iter().zip(hashes) {
            let session = found
                .remove(key)
                .map(|item| decode::<SessionItem>(self.table(), item));
            let session = session.transpose()?.map(SessionItem::read);
            let session = session.filter(|session| session.expires_at > now);
            access.sessions.extend(session.map(|session| (hash, session)));
        }
        access.devices.retain(|device| device.expires_at > now);
        access.shares.retain(|share| share.ends_at > now);
        Ok(access)
    }

    /// What leads to an owner's things and whoever they are, by what it is, in the order in which it may go; but not the session of
    /// this token and what that hangs on.
    pub(crate) async fn leads_in(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        but: Option<&str>,
    ) -> Result<Vec<(&'static str, Vec<Key>)>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(owner_place(tenant, owner)))],
            ..Query::default()
        };
        let mut found = Vec::new();
        for item in self.store.query_all(query).await? {
            let key = key_of(self.table(), &item)?;
            if let Some(hash) = key.1.strip_prefix(OPEN) {
                if but != Some(hash) {
                    found.push(("sessions", self.session_keys(tenant, hash, key.clone()).await?));
                }
            } else if key.1.starts_with(SHARE) {
                let link = link_of(tenant, &item);
                found.push(("shares", link.into_iter().chain([key]).collect()));
            } else if key.1.starts_with(PUSH) || key.1 == HAS {
                found.push(("subscriptions", vec![key]));
            } else if but.is_none() {
                found.push((PERSON, vec![key]));
            }
        }
        let member = member_key(tenant, owner.as_str());
        if but.is_none() && self.store.item(self.table(), &member).await?.is_some() {
            found.push((PERSON, vec![member]));
        }
        Ok(found)
    }

    /// Where a session lies and what leads to it, which lies at the last of these.
    async fn session_keys(&self, tenant: &Tenant, hash: &str, open: Key) -> Result<Vec<Key>, StoreError> {
        let key = session_key(tenant, hash);
        let item = self.store.item(self.table(), &key).await?;
        let mut keys = Vec::new();
        if let Some(item) = item {
            let session: SessionItem = decode(self.table(), item)?;
            keys.push(key);
            if let Some((issuer, sid)) = session.person.and_then(|one| Some((one.issuer, one.sid?))) {
                let noted = (sid_place(tenant, &issuer, &sid), open.1.clone());
                let is_noted = self.store.item(self.table(), &noted).await?.is_some();
                keys.extend(is_noted.then_some(noted));
            }
        }
        keys.push(open);
        Ok(keys)
    }

    /// Ends one session of an owner; false where there is none of that hash.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end_session_of(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        token_hash: &str,
    ) -> Result<bool, StoreError> {
        let key = Self::open_key(tenant, owner, token_hash);
        if self.store.item_at(self.table(), &key).await?.is_none() {
            return Ok(false);
        }
        self.end_session(tenant, token_hash).await?;
        self.store.remove(self.table(), &key).await?;
        Ok(true)
    }
}
