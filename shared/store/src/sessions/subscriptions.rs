//! Browsers that are told of their owner's tasks while no page is open there (Web Push).
//!
//! A subscription lies beside what else is kept of an owner's sessions. It ends with the session of its browser where that is
//! ended, and not where that merely runs out: a task over night is what it is for. What it was proved by has to count
//! all the same, each time somebody is told. Whether an owner has any stands in each of the owner's sessions, so that nobody
//! has to look for it who sends a message.

use domain::{Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::people::owner_place;
use super::{Person, Sessions, session_key};
use crate::StoreError;
use crate::change::{Change, text, yes};
use crate::codec::{Item, Key, decode, encode, fits};
use crate::dynamo::Query;
use crate::record::fits_key;
use crate::tasks::expiry;

/// What the sort keys of subscriptions begin with; their ids follow.
pub(super) const PUSH: &str = "PUSH#";
/// Says that an owner has subscriptions.
pub(super) const HAS: &str = "PUSHES";
/// Most subscriptions of an owner; one more takes the place of the oldest.
pub const MAX_SUBSCRIPTIONS: usize = 8;
/// Most bytes of what is sealed.
const SEALED_LIMIT: usize = 8 * 1024;

/// A browser's subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSubscription {
    /// Its id: a digest of the push service's address for it.
    pub id: String,
    /// That address and the browser's keys, sealed.
    pub sealed: String,
    /// Who was signed in there, and how that was proved; nobody where it is a guest's.
    pub person: Option<Person>,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when, unless its browser is here again; whole seconds.
    pub expires_at: Timestamp,
    /// The last news that it was told beside others that have to be told once more.
    pub told: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SubscriptionItem {
    pk: String,
    sk: String,
    sealed: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<Person>,
    created_at: Timestamp,
    expires_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<String>,
}

impl SubscriptionItem {
    pub(super) fn read(self) -> PushSubscription {
        PushSubscription {
            id: self.sk.strip_prefix(PUSH).unwrap_or_default().to_owned(),
            sealed: self.sealed,
            person: self.person,
            created_at: self.created_at,
            expires_at: Timestamp::from_millis(self.expires_at.saturating_mul(1000)),
            told: self.told,
        }
    }
}

fn subscription_key(tenant: &Tenant, owner: &Owner, id: &str) -> Key {
    (owner_place(tenant, owner), format!("{PUSH}{id}"))
}

fn item_of(tenant: &Tenant, owner: &Owner, one: &PushSubscription) -> Result<Item, StoreError> {
    let key = subscription_key(tenant, owner, &one.id);
    fits_key("the subscription", &key)?;
    fits("the subscription", one.sealed.len(), SEALED_LIMIT)?;
    encode(&SubscriptionItem {
        pk: key.0,
        sk: key.1,
        sealed: one.sealed.clone(),
        person: one.person.clone(),
        created_at: one.created_at,
        expires_at: expiry(one.expires_at),
        told: one.told.clone(),
    })
}

fn has_key(tenant: &Tenant, owner: &Owner) -> Key {
    (owner_place(tenant, owner), HAS.to_owned())
}

impl Sessions<'_> {
    /// Keeps the subscription of the browser that has this session, and says in each session of the owner that there is one.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] for a giant one; otherwise what the database says.
    pub async fn keep_subscription(
        &self,
        tenant: &Tenant,
        (owner, token_hash): (&Owner, &str),
        subscription: &PushSubscription,
    ) -> Result<(), StoreError> {
        let item = item_of(tenant, owner, subscription)?;
        self.store.put(self.table(), item, Change::new()).await?;
        let mut all = self.all_subscriptions(tenant, owner).await?;
        all.sort_by_key(|one| (one.id == subscription.id, one.expires_at));
        for oldest in all.iter().take(all.len().saturating_sub(MAX_SUBSCRIPTIONS)) {
            self.drop_subscription(tenant, owner, &oldest.id).await?;
        }
        let here = Change::new().set("subscription", text(&subscription.id));
        self.change_session(tenant, token_hash, here).await?;
        self.has_some(tenant, owner).await
    }

    /// Puts off the end of a browser's subscription, which is with this session now.
    ///
    /// # Errors
    /// What the database says.
    pub async fn extend_subscription(
        &self,
        tenant: &Tenant,
        (owner, token_hash): (&Owner, &str),
        subscription: &PushSubscription,
    ) -> Result<(), StoreError> {
        let is_there = Change::new().when("attribute_exists(#pk)");
        let item = item_of(tenant, owner, subscription)?;
        self.store.put(self.table(), item, is_there).await?;
        let here = Change::new()
            .set("subscription", text(&subscription.id))
            .set("pushes", yes());
        self.change_session(tenant, token_hash, here).await
    }

    /// The owner's subscription of that id, if it is still good.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_subscription(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<PushSubscription>, StoreError> {
        let key = subscription_key(tenant, owner, id);
        let Some(item) = self.store.item_at(self.table(), &key).await? else {
            return Ok(None);
        };
        let found = decode::<SubscriptionItem>(self.table(), item)?.read();
        Ok(Some(found).filter(|found| found.expires_at > now))
    }

    /// Which of an owner's browsers are to be told: those whose time is not over, and where what was proved still counts. All others
    /// are forgotten.
    ///
    /// # Errors
    /// What the database says.
    pub async fn live_subscriptions(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<Vec<PushSubscription>, StoreError> {
        let mut live: Vec<PushSubscription> = Vec::new();
        for one in self.all_subscriptions(tenant, owner).await? {
            let is_known = live.iter().any(|known| known.person == one.person);
            let counts = match &one.person {
                _ if one.expires_at <= now => false,
                Some(person) if !is_known => self.still(tenant, person.clone(), now).await?.is_some(),
                _ => true,
            };
            match counts {
                true => live.push(one),
                false => self.drop_subscription(tenant, owner, &one.id).await?,
            }
        }
        if live.is_empty() {
            self.has_none(tenant, owner).await?;
        }
        Ok(live)
    }

    /// Notes the last news that a browser was told, as others have to be told once more.
    ///
    /// # Errors
    /// What the database says.
    pub async fn note_told(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        (id, news): (&str, &str),
    ) -> Result<(), StoreError> {
        let change = Change::new()
            .set("told", text(news))
            .when("attribute_exists(#pk)");
        let key = subscription_key(tenant, owner, id);
        self.store.update_at(self.table(), &key, change).await?;
        Ok(())
    }

    /// Ends a subscription; one that is not there is as good as ended.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end_subscription(&self, tenant: &Tenant, owner: &Owner, id: &str) -> Result<(), StoreError> {
        self.drop_subscription(tenant, owner, id).await?;
        match self.all_subscriptions(tenant, owner).await?.is_empty() {
            true => self.has_none(tenant, owner).await,
            false => Ok(()),
        }
    }

    /// Says in a session that has just begun whether its owner has subscriptions. One read; to be called once the session is stored, so
    /// that it or whoever subscribes at the same moment sees the other.
    ///
    /// # Errors
    /// What the database says.
    pub async fn learn_subscriptions(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        token_hash: &str,
    ) -> Result<(), StoreError> {
        let has = self.store.item_at(self.table(), &has_key(tenant, owner)).await?;
        match has {
            Some(_) => {
                let change = Change::new().set("pushes", yes());
                self.change_session(tenant, token_hash, change).await
            }
            None => Ok(()),
        }
    }

    /// Forgets all subscriptions of an owner.
    pub(super) async fn drop_subscriptions(&self, tenant: &Tenant, owner: &Owner) -> Result<(), StoreError> {
        for one in self.all_subscriptions(tenant, owner).await? {
            self.drop_subscription(tenant, owner, &one.id).await?;
        }
        Ok(())
    }

    pub(super) async fn drop_subscription(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        id: &str,
    ) -> Result<(), StoreError> {
        let key = subscription_key(tenant, owner, id);
        self.store.remove(self.table(), &key).await
    }

    async fn has_some(&self, tenant: &Tenant, owner: &Owner) -> Result<(), StoreError> {
        // Who signs in from here on looks for this; who is there already is told.
        self.store
            .put_record(
                self.table(),
                has_key(tenant, owner),
                "the subscriptions",
                &(),
                None,
            )
            .await?;
        for hash in self.open_sessions(tenant, owner).await? {
            let change = Change::new().set("pushes", yes());
            self.change_session(tenant, &hash, change).await?;
        }
        Ok(())
    }

    async fn has_none(&self, tenant: &Tenant, owner: &Owner) -> Result<(), StoreError> {
        self.store.remove(self.table(), &has_key(tenant, owner)).await?;
        for hash in self.open_sessions(tenant, owner).await? {
            let change = Change::new().remove(&["pushes", "subscription"]);
            self.change_session(tenant, &hash, change).await?;
        }
        // Whoever subscribed meanwhile said so before this, and is seen here.
        match self.all_subscriptions(tenant, owner).await?.is_empty() {
            true => Ok(()),
            false => self.has_some(tenant, owner).await,
        }
    }

    async fn change_session(
        &self,
        tenant: &Tenant,
        token_hash: &str,
        change: Change,
    ) -> Result<(), StoreError> {
        let key = session_key(tenant, token_hash);
        let change = change.when("attribute_exists(#pk)");
        self.store.update_at(self.table(), &key, change).await?;
        Ok(())
    }

    async fn all_subscriptions(
        &self,
        tenant: &Tenant,
        owner: &Owner,
    ) -> Result<Vec<PushSubscription>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND begins_with(#sk, :push)",
            values: vec![(":pk", text(owner_place(tenant, owner))), (":push", text(PUSH))],
            ..Query::default()
        };
        let items = self.store.query_all(query).await?.into_iter();
        let read = |item| Ok(decode::<SubscriptionItem>(self.table(), item)?.read());
        items.map(read).collect()
    }
}
