//! Requests for consent that are under way in a browser: their state is good once.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{AgentName, Entropy as _, MessageId, Owner, SystemEntropy, TaskId, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::Grants;
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Key, decode, document, encode, parse, text_of};
use crate::dynamo::Written;
use crate::record::{document_of, record};
use crate::tasks::expiry;
use crate::transact::{Transacted, Writes};

/// How long a request is kept after its end, so that an old link still finds the task it was for.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);

/// A request for an owner's consent, which a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Its id, which is in the link: a UUID's text.
    pub id: String,
    /// Who is asked.
    pub owner: Owner,
    /// The agent whose task waits.
    pub agent: AgentName,
    /// The task that waits.
    pub task_id: TaskId,
    /// Which of its jobs needs the grant.
    pub job: u32,
    /// Who is to grant it, such as `idp`.
    pub provider: String,
    /// The provider's issuer.
    pub issuer: String,
    /// What the grant is for.
    pub resource: String,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// The secrets of the flow, sealed.
    pub sealed: String,
    /// The hash of the `state` that is good now.
    pub state_hash: Option<String>,
    /// The hash of the cookie of the browser it was started in.
    pub browser_hash: Option<String>,
    /// How far it is.
    pub status: ConsentStatus,
    /// The hash of the code that the owner types back.
    pub code_hash: Option<String>,
    /// What came of it, sealed, until the owner has typed the code back.
    pub sealed_result: Option<String>,
    /// The messages in which a wrong code was typed back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub wrong_codes: BTreeSet<MessageId>,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when the link is good.
    pub expires_at: Timestamp,
    /// Grows by one with every change; 1 at first.
    pub version: u64,
}

/// How far a request for consent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentStatus {
    /// Nobody has followed the link.
    Open,
    /// A browser was sent to the provider.
    Started,
    /// It was granted.
    Done,
    /// It was refused.
    Denied,
    /// It was found to be too old.
    Expired,
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
}

/// Which request a state belongs to.
#[derive(Serialize, Deserialize)]
struct State {
    consent: String,
    expires_at: Timestamp,
}

fn consent_key(tenant: &Tenant, id: &str) -> Key {
    (format!("{tenant}#consent#{id}"), "CONSENT".to_owned())
}

fn state_key(tenant: &Tenant, state_hash: &str) -> Key {
    (format!("{tenant}#state#{state_hash}"), "STATE".to_owned())
}

/// The request one version on, and the change that writes it where nobody else has changed it.
fn next_version(consent: &Consent) -> Result<Change, StoreError> {
    let next = Consent {
        version: consent.version.saturating_add(1),
        ..consent.clone()
    };
    Ok(Change::new()
        .set("body", text(document("the request for consent", &next)?))
        .set("version", number(next.version))
        .set("expires_at", number(expiry(next.expires_at.after(REMEMBERED))))
        .when("#version = :seen")
        .value("seen", number(consent.version)))
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

impl Consent {
    /// True where its link is good for nothing any more but to find the task.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        let running = matches!(self.status, ConsentStatus::Open | ConsentStatus::Started);
        !running || self.expires_at <= now
    }
}

impl Grants<'_> {
    /// Stores a new request. False where there is one of that id, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_consent_request(&self, tenant: &Tenant, consent: &Consent) -> Result<bool, StoreError> {
        let (pk, sk) = consent_key(tenant, &consent.id);
        let write = SystemEntropy.uuid().to_string();
        let item = ConsentItem {
            pk,
            sk,
            body: document("the request for consent", consent)?,
            version: consent.version,
            written_by: Some(write.clone()),
            expires_at: expiry(consent.expires_at.after(REMEMBERED)),
        };
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let written = self.store.put(self.table(), encode(&item)?, absent).await?;
        Ok(is_own(&written, &write))
    }

    /// The request of that id, also one that is over: its page says so, and its task gets another link.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_consent_request(
        &self,
        tenant: &Tenant,
        id: &str,
    ) -> Result<Option<Consent>, StoreError> {
        let key = consent_key(tenant, id);
        let found = self.store.item_at(self.table(), &key).await?;
        found
            .map(|item| {
                let item: ConsentItem = decode(self.table(), item)?;
                parse(self.table(), &(item.pk, item.sk), &item.body)
            })
            .transpose()
    }

    /// Writes the request down as started with a new state, which replaces the one before. False where it changed
    /// since it was read: nothing is written then.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn start_consent(
        &self,
        tenant: &Tenant,
        consent: &Consent,
        state_hash: &str,
    ) -> Result<bool, StoreError> {
        let started = Consent {
            status: ConsentStatus::Started,
            state_hash: Some(state_hash.to_owned()),
            ..consent.clone()
        };
        let state = State {
            consent: consent.id.clone(),
            expires_at: consent.expires_at,
        };
        let pointer = record(
            state_key(tenant, state_hash),
            "the state",
            &state,
            Some(state.expires_at),
        )?;
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let mut writes = Writes::default();
        let key = consent_key(tenant, &consent.id);
        writes.update(self.table(), &key, next_version(&started)?)?;
        writes.put(self.table(), pointer, absent)?;
        let done = self.store.transact(writes).await?;
        Ok(matches!(done, Transacted::Done))
    }

    /// The started request whose state this is. The state is used up by this, whatever the caller then finds; one that
    /// is expired, or replaced by a later one, is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn by_state(
        &self,
        tenant: &Tenant,
        state_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Consent>, StoreError> {
        let key = state_key(tenant, state_hash);
        let Some(taken) = self.store.take(self.table(), &key).await? else {
            return Ok(None);
        };
        let state: State = document_of(self.table(), taken)?;
        if state.expires_at <= now {
            return Ok(None);
        }
        let found = self.find_consent_request(tenant, &state.consent).await?;
        Ok(found.filter(|consent| {
            consent.status == ConsentStatus::Started && consent.state_hash.as_deref() == Some(state_hash)
        }))
    }

    /// Writes the request as it is now, over the version it was read with. False where it changed since: nothing is
    /// written then. Of several at once only one is told true.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn update_consent(&self, tenant: &Tenant, consent: &Consent) -> Result<bool, StoreError> {
        let key = consent_key(tenant, &consent.id);
        let write = SystemEntropy.uuid().to_string();
        let change = next_version(consent)?.set("written_by", text(&write));
        let written = self.store.update_at(self.table(), &key, change).await?;
        Ok(is_own(&written, &write))
    }
}
