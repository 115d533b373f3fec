//! What is known of a tenant by its name: one item each, with what its operator has set for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Clock, SettingChange, Tenant, Timestamp, UserContext, default_context, tokens_per_day};

use crate::change::{Change, text};
use crate::codec::{Item, Key};
use crate::dynamo::Written;
use crate::{Store, StoreError};

/// How long a function goes on with the settings it has read.
pub const SETTINGS_TTL: Duration = Duration::from_secs(10);

const STATUS: &str = "status";
const SETTINGS: &str = "settings";

/// A tenant's settings by their keys, also those that only a newer release knows.
pub type TenantSettings = BTreeMap<String, String>;

/// The table of tenants.
#[derive(Clone, Copy)]
pub struct Tenants<'s> {
    pub(crate) store: &'s Store,
}

/// By its name, which is how people ask for it.
fn key(tenant: &Tenant) -> Key {
    (tenant.name().to_owned(), "TENANT".to_owned())
}

impl Tenants<'_> {
    /// Makes the tenant known. What is set for one that is known already stays.
    ///
    /// # Errors
    /// What the database says.
    pub async fn add(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let change = Change::new()
            .set_to(STATUS, "if_not_exists(#status, :active)")
            .value("active", text("active"))
            .set_to(SETTINGS, "if_not_exists(#settings, :none)")
            .value("none", AttributeValue::M(HashMap::new()));
        self.store
            .update(self.table(), &key(tenant), change)
            .await
            .map(|_| ())
    }

    /// Forgets the tenant and what was set for it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove(&self, tenant: &Tenant) -> Result<(), StoreError> {
        self.store.remove(self.table(), &key(tenant)).await
    }

    /// What is set for the tenant; `None` where it is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settings(&self, tenant: &Tenant) -> Result<Option<TenantSettings>, StoreError> {
        let item = self.store.item(self.table(), &key(tenant)).await?;
        Ok(item.map(|item| settings_of(&item)))
    }

    /// Makes these changes, all of them or none, and touches no other setting; false where the tenant is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set(&self, tenant: &Tenant, changes: &[SettingChange]) -> Result<bool, StoreError> {
        let mut change = Change::new().when("attribute_exists(#pk)");
        for each in changes {
            let at = format!("{SETTINGS}.#{}", each.key());
            change = match each.value() {
                Some(value) => change
                    .set_to(&at, &format!(":{}", each.key()))
                    .value(each.key(), text(value)),
                None => change.remove(&[&at]),
            };
        }
        let written = self.store.update(self.table(), &key(tenant), change).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    fn table(&self) -> &str {
        &self.store.tables().tenants
    }
}

fn settings_of(item: &Item) -> TenantSettings {
    let settings = item.get(SETTINGS).and_then(|settings| settings.as_m().ok());
    let text = |(key, value): (&String, &AttributeValue)| {
        let value = value.as_s().or_else(|_| value.as_n()).ok()?;
        Some((key.clone(), value.clone()))
    };
    settings.into_iter().flatten().filter_map(text).collect()
}

/// The settings of the one tenant that a function serves, read again after [`SETTINGS_TTL`].
pub struct OwnSettings {
    store: Store,
    tenant: Tenant,
    clock: Arc<dyn Clock>,
    known: Mutex<Option<(TenantSettings, Timestamp)>>,
}

impl OwnSettings {
    /// Nothing is read before the first setting is wanted.
    #[must_use]
    pub fn new(store: Store, tenant: Tenant, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            tenant,
            clock,
            known: Mutex::default(),
        }
    }

    /// What the tenant has set for users who do not say it themselves.
    pub async fn context(&self) -> UserContext {
        let settings = self.now().await;
        default_context(|key| settings.get(key).map(String::as_str))
    }

    /// How many tokens of language models a day the tenant may use, where that is set.
    pub async fn tokens_per_day(&self) -> Option<u64> {
        let settings = self.now().await;
        tokens_per_day(|key| settings.get(key).map(String::as_str))
    }

    /// A table that cannot be read makes no request fail: the last settings go on.
    async fn now(&self) -> TenantSettings {
        let now = self.clock.now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let last = match known {
            Some((settings, until)) if now < until => return settings,
            Some((settings, _)) => settings,
            None => TenantSettings::new(),
        };
        let settings = match self.store.tenants().settings(&self.tenant).await {
            Ok(found) => found.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(tenant.id = self.tenant.name(), %error, "the tenant's settings cannot be read; the last ones go on");
                last
            }
        };
        let fresh = (settings.clone(), now.after(SETTINGS_TTL));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh);
        settings
    }
}
