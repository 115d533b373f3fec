//! The authorizer of the pool's API. The path of a request names a tenant (`/t/{tenant}/…`, `/a/{agent}/{tenant}/…`); this says under which
//! prefix it is known, by which Lambda picks a sandbox, and lets nobody through to a name that is not in the pool or is suspended. So a
//! made-up name opens no sandbox, and costs a read a second at most.
//!
//! Who somebody is, is not its business: that is the function's behind it, as it is a silo's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::{Clock, Tenant, Timestamp};
use edge::config::{ConfigError, Env};
use edge::{Authorizer, Error, Function, Ground};
use routes::Routes;
use store::{Standing, Store};

/// The function's name.
pub const NAME: &str = "pool_authorizer";

/// How long it goes on with what it has read of a name: a tenant that is suspended is refused after no more than this.
pub const READ_FOR: Duration = Duration::from_secs(1);
/// Most names that are remembered.
const REMEMBERED: usize = 1024;
/// What the API's integrations write into the header by which Lambda picks a sandbox.
const PREFIX: &str = "prefix";

/// The authorizer has no settings but those of every function.
#[derive(Debug, Clone, Copy)]
pub struct Config;

impl Config {
    /// Reads nothing.
    ///
    /// # Errors
    /// None.
    pub fn read(_env: &mut Env) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

/// Builds the function. It has no endpoint; whoever asks for one is told so in typed form.
///
/// # Errors
/// None in practice.
pub async fn build(ground: Ground, _config: Config) -> Result<Function, Error> {
    let router = edge::front(Routes::new(), ground.front(NAME));
    let authorizer = PoolAuthorizer::new(ground.store.clone(), Arc::clone(&ground.clock));
    Ok(Function::new(router).with_authorizer(authorizer))
}

/// The authorizer.
pub struct PoolAuthorizer {
    store: Store,
    clock: Arc<dyn Clock>,
    read: Mutex<HashMap<Tenant, (Option<String>, Timestamp)>>,
}

impl PoolAuthorizer {
    /// An authorizer over this store.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            read: Mutex::default(),
        }
    }

    /// The prefix of the tenant that answers to this name in the pool.
    async fn prefix_of(&self, name: &Tenant) -> Result<Option<String>, Error> {
        let now = self.clock.now();
        let read = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((prefix, at)) = read().get(name)
            && at.is_lately(READ_FOR, now)
        {
            return Ok(prefix.clone());
        }
        let present = self.store.tenants().present_in_pool(name).await?;
        let active = present.filter(|(_, standing)| *standing == Standing::Active);
        let prefix = active.map(|(tenant, _)| tenant.prefix().to_owned());
        let mut read = read();
        if read.len() >= REMEMBERED {
            read.retain(|_, (_, at)| at.is_lately(READ_FOR, now));
        }
        if read.len() < REMEMBERED {
            read.insert(name.clone(), (prefix.clone(), now));
        }
        Ok(prefix)
    }
}

#[async_trait]
impl Authorizer for PoolAuthorizer {
    async fn authorize(&self, tenant: &str) -> Result<Option<Vec<(&'static str, String)>>, Error> {
        let Ok(name) = Tenant::parse(tenant) else {
            return Ok(None);
        };
        let prefix = self.prefix_of(&name).await?;
        Ok(prefix.map(|prefix| vec![(PREFIX, prefix)]))
    }
}

#[cfg(test)]
mod tests {
    use domain::{ManualClock, Tenant};
    use store::Pooled;

    use super::*;

    #[tokio::test]
    async fn who_is_not_in_the_pool_or_suspended_is_let_through_nowhere() {
        let (store, _database) = store_testing::start().await;
        store.create_tables().await.unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
        let authorizer = PoolAuthorizer::new(store.clone(), clock.clone());
        let said = async |name: &str| {
            let said = authorizer.authorize(name).await.unwrap();
            said.map(|context| format!("{context:?}"))
        };
        let (acme, globex) = (
            Tenant::from_prefix("acme.7f3a9c2e").unwrap(),
            Tenant::parse("globex").unwrap(),
        );
        let tenants = store.tenants();
        for tenant in [&acme, &globex] {
            tenants.add(tenant).await.unwrap();
        }
        assert!(tenants.place_in_pool(&acme, &Pooled::default()).await.unwrap());

        assert_eq!(
            said("acme").await.as_deref(),
            Some(r#"[("prefix", "acme.7f3a9c2e")]"#)
        );
        for nobody in [
            "globex",
            "made-up",
            "acme.7f3a9c2e",
            "acme.00000001",
            "ACME",
            "",
            "*",
            "public",
            "../acme",
            "acme#host",
        ] {
            assert_eq!(said(nobody).await, None, "{nobody}");
        }

        let changed = async |change: bool| {
            assert!(change);
            clock.advance(READ_FOR);
            clock.advance(Duration::from_millis(1));
        };
        changed(tenants.suspend(&acme, Some(clock.now())).await.unwrap()).await;
        assert_eq!(said("acme").await, None);
        changed(tenants.suspend(&acme, None).await.unwrap()).await;
        assert!(said("acme").await.is_some());
        changed(tenants.take_out_of_pool(&acme).await.unwrap()).await;
        assert_eq!(said("acme").await, None);
        assert!(tenants.place_in_pool(&acme, &Pooled::default()).await.unwrap());
        tenants.remove(&acme).await.unwrap();
        changed(true).await;
        assert_eq!(said("acme").await, None);
        assert!(!tenants.place_in_pool(&acme, &Pooled::default()).await.unwrap());
    }
}
