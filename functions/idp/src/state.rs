//! The app state: what the function is given, and what its handlers share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Clock, Entropy, Tenant};
use store::{Store, StoreError};
use url::Url;

use crate::keys::Keyring;
use crate::password::Doorkeeper;

/// The client that every tenant has: it is there once the tenant is provisioned.
pub const HOST_CLIENT: &str = "host";

/// What the function works with, given by whoever starts it.
pub struct State {
    /// Its own URL; each tenant's issuer lies below it.
    pub url: Url,
    /// The tables.
    pub store: Store,
    /// The keys that sign.
    pub keys: Keyring,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// How long things live.
    pub settings: Settings,
}

/// How long things live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// A code, until it is redeemed.
    pub code: Duration,
    /// An access token; ten minutes at most, whatever stands here.
    pub access_token: Duration,
    /// A family of refresh tokens, from the consent on.
    pub refresh_family: Duration,
    /// A login at the browser.
    pub login: Duration,
}

impl Default for Settings {
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
const MAX_ACCESS_TOKEN: Duration = Duration::from_secs(600);

/// The state as the endpoints share it.
pub(crate) struct AppState {
    pub(crate) url: Url,
    pub(crate) store: Store,
    pub(crate) keys: Keyring,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) settings: Settings,
    pub(crate) doorkeeper: Doorkeeper,
    /// Tenants that were found here once.
    known: Mutex<BTreeSet<Tenant>>,
}

impl AppState {
    pub(crate) fn new(state: State) -> Self {
        let State {
            url,
            store,
            keys,
            clock,
            entropy,
            mut settings,
        } = state;
        settings.access_token = settings.access_token.min(MAX_ACCESS_TOKEN);
        Self {
            url,
            store,
            keys,
            clock,
            entropy,
            settings,
            doorkeeper: Doorkeeper::new(),
            known: Mutex::default(),
        }
    }

    /// True where the tenant is provisioned here. A tenant is looked up once; one that is not there is looked up
    /// each time, as it may come at any moment.
    pub(crate) async fn has(&self, tenant: &Tenant) -> Result<bool, StoreError> {
        let known = |room: &Self| {
            let known = room.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.contains(tenant)
        };
        if known(self) {
            return Ok(true);
        }
        let found = self.store.identity().find_client(tenant, HOST_CLIENT).await?;
        if found.is_none() {
            return Ok(false);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(tenant.clone());
        Ok(true)
    }

    /// True where the server is reached by https, so that cookies must not go over anything else.
    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }
}
