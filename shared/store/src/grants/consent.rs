//! Records of consents: documents that change by compare-and-swap, and the single-use states that lead to them.
//!
//! What a consent is, and how it moves, is the room `consent`'s to say; here it is a document with a version.

use domain::{Lasting, Owner, Tenant, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{GivenGrant, Grants};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Key, decode, document, encode, parse, text_of};
use crate::dynamo::Written;
use crate::record::{document_of, fits_key, record};
use crate::tasks::expiry;
use crate::transact::{Transacted, Writes};

/// A consent as it is to be written.
#[derive(Debug)]
pub struct ConsentWrite<'a, T> {
    /// Its id.
    pub id: &'a str,
    /// Who is asked.
    pub owner: &'a Owner,
    /// The whole of it. It holds the version as well, for releases that read it there.
    pub document: &'a T,
    /// The version that it has then, from 1. A change is written over the version before, and no other.
    pub version: u64,
    /// The end of its link. It is found for some time after that.
    pub expires_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct ConsentItem {
    pk: String,
    sk: String,
    body: String,
    version: u64,
    /// The write it is of, by which a repeat whose first answer was lost knows its own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written_by: Option<String>,
    expires_at: i64,
    // Its place in the index is there for whoever erases its owner.
    #[serde(skip_deserializing)]
    owner_pk: String,
    #[serde(skip_deserializing)]
    owner_sk: String,
}

/// Which consent a state belongs to.
#[derive(Serialize, Deserialize)]
struct State {
    consent: String,
    expires_at: Timestamp,
}

/// The change that writes the next version where nobody else has changed it.
fn next_version<T: Serialize>(write: &ConsentWrite<'_, T>, kept_until: i64) -> Result<Change, StoreError> {
    Ok(Change::new()
        .set("body", text(document("the consent", write.document)?))
        .set("version", number(write.version))
        .set("expires_at", number(kept_until))
        .when("#version = :seen")
        .value("seen", number(write.version.saturating_sub(1))))
}

/// True where the write is done, now or by an earlier try.
fn is_own(written: &Written, write: &str) -> bool {
    match written {
        Written::Done(_) => true,
        Written::Refused(known) => {
            let by = known.as_ref().and_then(|item| text_of(item, "written_by"));
            by == Some(write)
        }
    }
}

impl Grants<'_> {
    /// How long a consent is kept after the end of its link, so that an old one still finds the task it was for.
    fn kept_until(&self, tenant: &Tenant, ends: Timestamp) -> i64 {
        let retention = self.store.tenants().retention(tenant);
        expiry(ends.after(retention.of(Lasting::Consents)))
    }

    fn consent_key(&self, tenant: &Tenant, id: &str) -> Key {
        (
            format!("{}#consent#{id}", self.place(tenant)),
            "CONSENT".to_owned(),
        )
    }

    fn state_key(&self, tenant: &Tenant, state_hash: &str) -> Key {
        (
            format!("{}#state#{state_hash}", self.place(tenant)),
            "STATE".to_owned(),
        )
    }

    /// Writes a consent over the version before, and in the same write the grant that it brought. False where it changed
    /// since: nothing is written then.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where something does not fit; otherwise what the database says.
    pub async fn give_consent<T: Serialize>(
        &self,
        consent: ConsentWrite<'_, T>,
        given: GivenGrant<'_>,
    ) -> Result<bool, StoreError> {
        let at = self.key(&given.key);
        fits_key("the grant", &at)?;
        let mut writes = Writes::default();
        writes.update(
            self.table(),
            &self.consent_key(given.key.tenant, consent.id),
            next_version(&consent, self.kept_until(given.key.tenant, consent.expires_at))?,
        )?;
        writes.update(self.table(), &at, self.given(&given)?)?;
        let done = self.store.transact(writes).await?;
        Ok(matches!(done, Transacted::Done))
    }

    /// Stores a new consent. False where there is one of that id, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_consent<T: Serialize>(
        &self,
        tenant: &Tenant,
        consent: ConsentWrite<'_, T>,
    ) -> Result<bool, StoreError> {
        let (pk, sk) = self.consent_key(tenant, consent.id);
        let write = self.store.mark();
        let item = ConsentItem {
            pk,
            sk,
            body: document("the consent", consent.document)?,
            version: consent.version,
            written_by: Some(write.clone()),
            expires_at: self.kept_until(tenant, consent.expires_at),
            owner_pk: self.consents_of(tenant, consent.owner),
            owner_sk: consent.id.to_owned(),
        };
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let written = self.store.put(self.table(), encode(&item)?, absent).await?;
        Ok(is_own(&written, &write))
    }

    /// The consent of that id, also one that is over: its page says so, and its task gets another link.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_consent<T: DeserializeOwned>(
        &self,
        tenant: &Tenant,
        id: &str,
    ) -> Result<Option<T>, StoreError> {
        let key = self.consent_key(tenant, id);
        let found = self.store.item_at(self.table(), &key).await?;
        found
            .map(|item| {
                let item: ConsentItem = decode(self.table(), item)?;
                parse(self.table(), &(item.pk, item.sk), &item.body)
            })
            .transpose()
    }

    /// Writes a consent over the version before, and with it the hash of a `state` that leads to it from now on. False
    /// where it changed since: nothing is written then. Of several at once only one is told true.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn update_consent<T: Serialize>(
        &self,
        tenant: &Tenant,
        consent: ConsentWrite<'_, T>,
        state_hash: Option<&str>,
    ) -> Result<bool, StoreError> {
        let key = self.consent_key(tenant, consent.id);
        let change = next_version(&consent, self.kept_until(tenant, consent.expires_at))?;
        let Some(state_hash) = state_hash else {
            let write = self.store.mark();
            let change = change.set("written_by", text(&write));
            let written = self.store.update_at(self.table(), &key, change).await?;
            return Ok(is_own(&written, &write));
        };
        let state = State {
            consent: consent.id.to_owned(),
            expires_at: consent.expires_at,
        };
        let pointer = record(
            self.state_key(tenant, state_hash),
            "the state",
            &state,
            Some(state.expires_at),
        )?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let mut writes = Writes::default();
        writes.update(self.table(), &key, change)?;
        writes.put(self.table(), pointer, absent)?;
        let done = self.store.transact(writes).await?;
        Ok(matches!(done, Transacted::Done))
    }

    /// The id of the consent that a state leads to. The state is used up by this; one that is expired is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn take_state(
        &self,
        tenant: &Tenant,
        state_hash: &str,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let key = self.state_key(tenant, state_hash);
        let Some(taken) = self.store.take(self.table(), &key).await? else {
            return Ok(None);
        };
        let state: State = document_of(self.table(), taken)?;
        Ok((state.expires_at > now).then_some(state.consent))
    }
}
