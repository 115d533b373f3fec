//! The app state: what the function is given, and what its handlers share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use auth::KeySet;
use domain::{Clock, Entropy, Tenant, Timestamp};
use store::audit::{Action, Actor};
use store::{Identity, Store, StoreError};
use url::Url;

use crate::password::Doorkeeper;

pub use store::HOST_CLIENT;

/// What the function works with, given by whoever starts it.
pub struct State {
    /// Its own URL; each tenant's issuer lies below it.
    pub url: Url,
    /// The database, through the one room that names it.
    pub store: Store,
    /// The keys that sign. Making, keeping and rotating them is `auth::KeySet`; whoever starts the function reads them anew.
    pub keys: Arc<KeySet>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG.
    pub entropy: Arc<dyn Entropy>,
    /// How long things live.
    pub settings: Lifetimes,
}

/// How long things live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifetimes {
    /// A code, until it is redeemed.
    pub code: Duration,
    /// An access token; ten minutes at most, whatever stands here.
    pub access_token: Duration,
    /// A family of refresh tokens, from the consent on.
    pub refresh_family: Duration,
    /// A login at the browser.
    pub login: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            code: Duration::from_secs(60),
            access_token: MAX_ACCESS_TOKEN,
            refresh_family: Duration::from_secs(30 * 24 * 3600),
            login: Duration::from_secs(12 * 3600),
        }
    }
}

/// Longest life of an access token, which nobody can call back.
pub(crate) const MAX_ACCESS_TOKEN: Duration = Duration::from_secs(600);

/// What the endpoints share: what was given, and what comes with it.
pub(crate) struct AppState {
    pub(crate) given: State,
    pub(crate) doorkeeper: Doorkeeper,
    /// Tenants that were found here once.
    known: Mutex<BTreeSet<Tenant>>,
}

impl AppState {
    pub(crate) fn new(mut given: State) -> Self {
        given.settings.access_token = given.settings.access_token.min(MAX_ACCESS_TOKEN);
        Self {
            given,
            doorkeeper: Doorkeeper::new(),
            known: Mutex::default(),
        }
    }

    pub(crate) fn identity(&self) -> Identity<'_> {
        self.given.store.identity()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.given.clock.now()
    }

    /// Tells the audit what was done.
    pub(crate) async fn tell(
        &self,
        action: Action,
        tenant: &Tenant,
        by: Actor<'_>,
        object: &str,
        result: &str,
    ) {
        let audit = self.given.store.audit(self.now());
        audit.tell(action, Some(tenant), by, object, result).await;
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        self.given.entropy.as_ref()
    }

    pub(crate) fn keys(&self) -> &KeySet {
        &self.given.keys
    }

    /// True where the tenant is provisioned here. A tenant is looked up once; one that is not there is looked up
    /// each time, as it may come at any moment.
    pub(crate) async fn has(&self, tenant: &Tenant) -> Result<bool, StoreError> {
        if self.known().contains(tenant) {
            return Ok(true);
        }
        let found = self.identity().find_client(tenant, HOST_CLIENT).await?.is_some();
        if found {
            self.known().insert(tenant.clone());
        }
        Ok(found)
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<Tenant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True where the server is reached by https, so that cookies must not go over anything else.
    pub(crate) fn is_https(&self) -> bool {
        self.given.url.scheme() == "https"
    }
}
