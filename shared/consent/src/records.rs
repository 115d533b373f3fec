//! Stored consents of one tenant, and the one loop that changes them.

use domain::{AgentName, Tenant, Timestamp};
use store::{ConsentWrite, GivenGrant, Grants, Store, StoreError};

use crate::stage::{Consent, Stage, Started};

/// How often a change is decided anew where another write came first. Only several browsers on one link, and the task's
/// own look, ever meet.
const ROUNDS: u32 = 8;

/// The stored consents of one tenant; a cheap clone.
#[derive(Clone)]
pub struct ConsentStore {
    store: Store,
    tenant: Tenant,
    agent: Option<AgentName>,
}

/// Why a consent was not changed.
#[derive(Debug, thiserror::Error)]
pub enum Unrevised<E> {
    /// The decision was against it.
    #[error("it was decided against")]
    Refused(E),
    /// There is no such consent any more.
    #[error("the consent is gone")]
    Missing,
    /// It changed as fast as it was read.
    #[error("the consent kept changing")]
    Contended,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ConsentStore {
    /// The consents of this tenant.
    #[must_use]
    pub fn new(store: Store, tenant: Tenant) -> Self {
        Self {
            store,
            tenant,
            agent: None,
        }
    }

    /// Those of an agent of the platform, which lie apart from the tenant's own.
    #[must_use]
    pub fn of(self, agent: Option<AgentName>) -> Self {
        Self { agent, ..self }
    }

    fn grants(&self) -> Grants<'_> {
        self.store.grants().of(self.agent.as_ref())
    }

    /// Stores a new consent. False where there is one with its id, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put(&self, consent: &Consent) -> Result<bool, StoreError> {
        let write = write_of(consent);
        self.grants().put_consent(&self.tenant, write).await
    }

    /// The consent with this id, also one that is over. A text that is no id finds nothing, and is not looked up.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(&self, id: &str) -> Result<Option<Consent>, StoreError> {
        let is_id = id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if !is_id {
            return Ok(None);
        }
        self.grants().find_consent(&self.tenant, id).await
    }

    /// The consent that waits for an answer to this state, and what it was started with. The state is used up by that,
    /// whatever the caller finds then; one that is expired, or replaced by a later one, is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn take_by_state(
        &self,
        state_hash: &str,
        now: Timestamp,
    ) -> Result<Option<(Consent, Started)>, StoreError> {
        let taken = self.grants().take_state(&self.tenant, state_hash, now).await?;
        let Some(id) = taken else {
            return Ok(None);
        };
        let found = self.find(&id).await?;
        Ok(found.and_then(|consent| match &consent.stage {
            Stage::Started(started) if started.state_hash == state_hash => {
                let started = started.clone();
                Some((consent, started))
            }
            _ => None,
        }))
    }

    /// Changes a consent as decided on what is stored: the decision is made on `seen` first, and again on what is there
    /// wherever another write came before. A decision for what is there already writes nothing.
    ///
    /// # Errors
    /// [`Unrevised`]; nothing is written then.
    pub async fn revise<E>(
        &self,
        seen: Consent,
        decide: impl FnMut(Consent) -> Result<Consent, E>,
    ) -> Result<Consent, Unrevised<E>> {
        self.revise_with(seen, decide, None).await
    }

    /// The same; what the consent `brought` is stored in the same write.
    pub(crate) async fn revise_with<E>(
        &self,
        seen: Consent,
        mut decide: impl FnMut(Consent) -> Result<Consent, E>,
        brought: Option<GivenGrant<'_>>,
    ) -> Result<Consent, Unrevised<E>> {
        let mut seen = seen;
        for _ in 0..ROUNDS {
            let mut next = decide(seen.clone()).map_err(Unrevised::Refused)?;
            // The move was made before, by this request's first try or by somebody else.
            if next == seen {
                return Ok(next);
            }
            next.version = seen.version.saturating_add(1);
            if self.replace(&seen, &next, brought).await? {
                return Ok(next);
            }
            seen = self.find(&seen.id).await?.ok_or(Unrevised::Missing)?;
        }
        Err(Unrevised::Contended)
    }

    async fn replace(
        &self,
        seen: &Consent,
        next: &Consent,
        brought: Option<GivenGrant<'_>>,
    ) -> Result<bool, StoreError> {
        let grants = self.grants();
        if let Some(brought) = brought {
            return grants.give_consent(write_of(next), brought).await;
        }
        // A new state leads to its consent from the same write on.
        let state = state_of(next).filter(|state| state_of(seen) != Some(state));
        grants.update_consent(&self.tenant, write_of(next), state).await
    }
}

fn write_of(consent: &Consent) -> ConsentWrite<'_, Consent> {
    ConsentWrite {
        id: &consent.id,
        owner: &consent.request.owner,
        document: consent,
        version: consent.version,
        expires_at: consent.expires_at,
    }
}

fn state_of(consent: &Consent) -> Option<&str> {
    match &consent.stage {
        Stage::Started(started) => Some(&started.state_hash),
        _ => None,
    }
}
