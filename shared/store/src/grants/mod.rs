//! What owners have let us do for them elsewhere: grants, and the requests for consent that lead to them.

mod consent;

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{AgentName, GrantKey, Lasting, Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, document, inconsistent, text_of};
use crate::dynamo::{Query, ROUNDS, Written};
use crate::error::unavailable;
use crate::record::{digest, fits_key};
use crate::tasks::expiry;
use crate::transact::{Transacted, Writes};
use crate::{Person, Store, StoreError};

pub use consent::ConsentWrite;

/// Most grants of one owner in a listing.
const LISTED: u32 = 100;

/// A grant: sealed tokens, and what they are for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredGrant {
    /// Who issued it.
    pub provider: String,
    /// What it is for.
    pub resource: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// The tokens, sealed.
    pub sealed: String,
    /// Grows with every change, also over the grant's removal and return.
    pub version: u64,
    /// Until when somebody refreshes it.
    pub refreshing_until: Option<Timestamp>,
    /// Since when.
    pub created_at: Timestamp,
    /// When its tokens last changed.
    pub updated_at: Timestamp,
    /// When it ends, in whole seconds, unless its tokens are renewed. Those of older releases that are no guest's do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Who gave it, and how they had signed in: it is good as long as such people are let in. Nobody who is known where it is a guest's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Box<Person>>,
}

/// A grant as it is given.
#[derive(Debug, Clone, Copy)]
pub struct GivenGrant<'a> {
    /// Whose it is, and for what.
    pub key: GrantKey<'a>,
    /// The scopes that were granted.
    pub scopes: &'a [String],
    /// The tokens, sealed.
    pub sealed: &'a str,
    /// Who gives it, where they have signed in.
    pub person: Option<&'a Person>,
    /// Since when.
    pub now: Timestamp,
}

impl StoredGrant {
    /// True where its time is over.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|until| until <= now.seconds())
    }
}

/// How long a guest's grant lasts after its tokens last changed: as long as a guest's session after its last visit. Nobody could use it
/// after that.
const GUESTS_LAST: Duration = Duration::from_secs(30 * 24 * 3600);

/// What became of claiming the refresh of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is the caller's to refresh, until the claim ends or the grant is replaced.
    Yes,
    /// Somebody else refreshes it right now.
    Busy,
    /// It was replaced since it was seen: this is it now.
    Changed(StoredGrant),
    /// There is no such grant any more.
    Gone,
}

/// Grants and requests for consent; they lie in the table of sessions.
#[derive(Clone, Copy)]
pub struct Grants<'s> {
    pub(crate) store: &'s Store,
    /// The agent of the platform that they are of; none for the tenant's own.
    pub(crate) agent: Option<&'s AgentName>,
}

/// The changes that give a grant other tokens, and until when it lasts if nobody renews them.
fn tokens(scopes: &[String], sealed: &str, (now, until): (Timestamp, i64)) -> Result<Change, StoreError> {
    document("the grant", &(scopes, sealed))?;
    Ok(Change::new()
        .set("expires_at", number(until))
        .set("scopes", AttributeValue::L(scopes.iter().map(text).collect()))
        .set("sealed", text(sealed))
        .set("updated_at", text(now))
        .value("one", number(1))
        .remove(&["refreshing_until"]))
}

impl<'s> Grants<'s> {
    /// The same of an agent of the platform, which has them under a key of its own, so that it never sees a tenant's.
    #[must_use]
    pub fn of(self, agent: Option<&'s AgentName>) -> Self {
        Self { agent, ..self }
    }

    /// What every key begins with.
    fn place(&self, tenant: &Tenant) -> String {
        match self.agent {
            Some(agent) => format!("{}#{agent}", tenant.prefix()),
            None => tenant.prefix().to_owned(),
        }
    }

    pub(crate) fn partition(&self, tenant: &Tenant, owner: &Owner) -> String {
        format!("{}#owner#{owner}#grants", self.place(tenant))
    }

    /// Where an owner's requests for consent are listed.
    pub(crate) fn consents_of(&self, tenant: &Tenant, owner: &Owner) -> String {
        format!("{}#owner#{owner}#consents", self.place(tenant))
    }

    /// The resource's digest has a fixed length, so that no provider can be mistaken for another with it.
    fn key(&self, grant: &GrantKey<'_>) -> Key {
        let sk = format!("{}#{}", grant.provider, digest(grant.resource));
        (self.partition(grant.tenant, grant.owner), sk)
    }

    /// The change that stores a grant over the one there is.
    fn given(&self, given: &GivenGrant<'_>) -> Result<Change, StoreError> {
        let (grant, now) = (given.key, given.now);
        let until = self.lasts(grant, now);
        let change = tokens(given.scopes, given.sealed, (now, until))?;
        let change = match given.person {
            Some(person) => change.set(
                "person",
                serde_dynamo::to_attribute_value(person).map_err(unavailable("encode"))?,
            ),
            None => change.remove(&["person"]),
        };
        // A version counts on from the time of its start, so that no grant that comes back has one of before.
        Ok(change
            .set("provider", text(grant.provider))
            .set("resource", text(grant.resource))
            .set_to("created_at", "if_not_exists(#created_at, :updated_at)")
            .set_to("version", "if_not_exists(#version, :start) + :one")
            .value("start", number(now.millis())))
    }

    /// When a grant ends whose tokens are new now.
    fn lasts(&self, grant: GrantKey<'_>, now: Timestamp) -> i64 {
        let retention = self.store.tenants().retention(grant.tenant);
        let lasts = retention.of(Lasting::Grants);
        expiry(now.after(match grant.owner.is_guest() {
            true => lasts.min(GUESTS_LAST),
            false => lasts,
        }))
    }

    /// Stores a grant, over the one there is.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_grant(&self, given: GivenGrant<'_>) -> Result<StoredGrant, StoreError> {
        let key = self.key(&given.key);
        fits_key("the grant", &key)?;
        let change = self.given(&given)?;
        match self.store.update(self.table(), &key, change).await? {
            Written::Done(item) => self.grant(item),
            Written::Refused(_) => Err(inconsistent(self.table(), &key, "refused without a condition")),
        }
    }

    /// The grant, if there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_grant(&self, grant: GrantKey<'_>) -> Result<Option<StoredGrant>, StoreError> {
        let found = self.store.item_at(self.table(), &self.key(&grant)).await?;
        found.map(|item| self.grant(item)).transpose()
    }

    /// An owner's grants by provider, at most a hundred.
    ///
    /// # Errors
    /// What the database says.
    pub async fn list_grants(&self, tenant: &Tenant, owner: &Owner) -> Result<Vec<StoredGrant>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk",
            values: vec![(":pk", text(self.partition(tenant, owner)))],
            limit: Some(LISTED),
            ..Query::default()
        };
        let (items, _) = self.store.query(query).await?;
        items.into_iter().map(|item| self.grant(item)).collect()
    }

    /// Removes a grant; what it was. A repeat whose first answer was lost is not told that there was none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn delete_grant(&self, grant: GrantKey<'_>) -> Result<Option<StoredGrant>, StoreError> {
        for _ in 0..ROUNDS {
            let Some(known) = self.find_grant(grant).await? else {
                return Ok(None);
            };
            if self.drop_grant(grant, known.version).await? {
                return Ok(Some(known));
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }

    /// Claims the refresh of a grant as it was seen: of several at once only one gets it. The claim of one that died
    /// ends by itself. A repeat whose first answer was lost finds its own claim.
    ///
    /// # Errors
    /// What the database says.
    pub async fn claim_refresh(
        &self,
        grant: GrantKey<'_>,
        seen_version: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Claim, StoreError> {
        let claim = self.store.mark();
        let change = Change::new()
            .set("refreshing_until", text(until))
            .set("refreshing_by", text(&claim))
            .when("#version = :seen")
            .value("seen", number(seen_version))
            // A claim ends by itself: its holder may have died.
            .when_free("refreshing_until", text, now);
        match self
            .store
            .update_at(self.table(), &self.key(&grant), change)
            .await?
        {
            Written::Done(_) => Ok(Claim::Yes),
            Written::Refused(None) => Ok(Claim::Gone),
            Written::Refused(Some(item)) => {
                let own = text_of(&item, "refreshing_by") == Some(&claim);
                match self.grant(item)? {
                    known if known.version != seen_version => Ok(Claim::Changed(known)),
                    _ if own => Ok(Claim::Yes),
                    _ => Ok(Claim::Busy),
                }
            }
        }
    }

    /// Gives a grant its refreshed tokens and ends the claim. False where it was replaced or removed since it was
    /// seen: nothing is changed then.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn replace_grant(
        &self,
        grant: GrantKey<'_>,
        seen_version: u64,
        scopes: &[String],
        sealed: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let until = self.lasts(grant, now);
        let change = tokens(scopes, sealed, (now, until))?
            .set_to("version", "#version + :one")
            .when("#version = :seen")
            .value("seen", number(seen_version));
        match self
            .store
            .update_at(self.table(), &self.key(&grant), change)
            .await?
        {
            Written::Done(_) => Ok(true),
            Written::Refused(None) => Ok(false),
            // The repeat of a write whose answer was lost finds its own: no two seals are alike.
            Written::Refused(Some(item)) => Ok(self.grant(item)?.sealed == sealed),
        }
    }

    /// Removes a grant that is still as it was seen, because its refresh was refused. False where it was replaced
    /// meanwhile: the new one stays.
    ///
    /// # Errors
    /// What the database says.
    pub async fn drop_grant(&self, grant: GrantKey<'_>, seen_version: u64) -> Result<bool, StoreError> {
        let seen = Change::new()
            // Gone is what is wanted; another version is a newer grant of somebody else.
            .when("attribute_not_exists(#pk) OR #version = :seen")
            .value("seen", number(seen_version));
        let mut writes = Writes::default();
        writes.delete(self.table(), &self.key(&grant), seen)?;
        let done = self.store.transact(writes).await?;
        Ok(matches!(done, Transacted::Done))
    }

    fn grant(&self, item: Item) -> Result<StoredGrant, StoreError> {
        decode(self.table(), item)
    }

    fn table(&self) -> &str {
        &self.store.tables().sessions
    }
}
