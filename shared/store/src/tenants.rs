//! What is known of a tenant by its name: one item each, with which incarnation of the name it is, whether that one may
//! work, and what its operator has set for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    AgentType, Brand, Clock, LOGO, Owner, Quota, Retention, SHARE, SHARES, SettingChange, Tenant, Timestamp,
    UserContext, default_context, may_share, quota_of, retention_of, start_of, tokens_per_day,
};

use crate::change::{Change, text};
use crate::codec::{Item, Key, keyed, text_of};
use crate::dynamo::{ROUNDS, Written};
use crate::{Store, StoreError};

mod place;

pub use place::{Pooled, SealedSecret, pooled_from, pooled_value};

/// How long a function goes on with what it has read of a tenant.
pub const SETTINGS_TTL: Duration = Duration::from_secs(10);
/// How long it does so where the table cannot be read; then nobody is let in.
const STALE_TTL: Duration = Duration::from_secs(60);
/// For how long what is due of a suspended tenant is put off, at least and at most.
const HELD: [Duration; 2] = [Duration::from_secs(3600), Duration::from_secs(86_400)];
/// Most names that are remembered; beyond, those read longest ago are read again.
const REMEMBERED: usize = 1024;

pub(crate) const STATUS: &str = "status";
pub(crate) const PREFIX: &str = "prefix";
const SETTINGS: &str = "settings";
/// The settings that its functions are built with: an attribute of its own, which no function may write.
const DEPLOYMENT: &str = "deployment";
/// The attribute with the tenant's epoch of shares: what was shared under an earlier one is shared no more.
const SHARING: &str = "sharing";
const MEDIA: &str = "media";
const BYTES: &str = "bytes";
const ACTIVE: &str = "active";
const SUSPENDED: &str = "suspended";
/// What its functions were set up with last.
const SET_UP: &str = "set_up";
/// Since when it is.
const SUSPENDED_AT: &str = "suspended_at";
/// What the sort keys of logos begin with: one of its own, so that who reads a tenant's settings does not pay for it.
const LOGO_OF: &str = "LOGO#";
/// What the sort keys of removed incarnations begin with.
pub(crate) const GONE: &str = "GONE#";
pub(crate) const REMOVED: &str = "removed";

/// A tenant's settings by their keys, also those that only a newer release knows.
pub type TenantSettings = BTreeMap<String, String>;

/// How a tenant stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It works.
    Active,
    /// Nobody is let in, and what runs is parked, until its operator resumes it.
    Suspended,
    /// It is not here: removed, or its name is another incarnation's by now.
    Gone,
}

/// A tenant's logo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logo {
    /// Its media type.
    pub media: String,
    /// Itself.
    pub bytes: Vec<u8>,
}

/// What the table says of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    status: String,
    prefix: String,
    settings: TenantSettings,
    deployment: TenantSettings,
    sharing: u64,
    suspended_at: Option<Timestamp>,
    /// Whether its functions are in the pool, and what those there are told.
    in_pool: bool,
    pooled: Option<Arc<Pooled>>,
}

/// What was read of names of late, for every function of the process over one store.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<String, (Option<Record>, Timestamp)>>);

impl Remembered {
    fn names(&self) -> MutexGuard<'_, HashMap<String, (Option<Record>, Timestamp)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, tenant: &Tenant) {
        self.names().remove(tenant.name());
    }

    fn keep(&self, tenant: &Tenant, record: Option<Record>, now: Timestamp) {
        let mut names = self.names();
        if names.len() >= REMEMBERED {
            names.retain(|_, (_, at)| at.is_lately(SETTINGS_TTL, now));
        }
        if names.len() < REMEMBERED {
            names.insert(tenant.name().to_owned(), (record, now));
        }
    }
}

/// The table of tenants.
#[derive(Clone, Copy)]
pub struct Tenants<'s> {
    pub(crate) store: &'s Store,
}

/// By its name, which is how people ask for it.
pub(crate) fn key(tenant: &Tenant) -> Key {
    (tenant.name().to_owned(), "TENANT".to_owned())
}

/// Where it is noted that an incarnation was removed.
pub(crate) fn gone_key(tenant: &Tenant) -> Key {
    (tenant.name().to_owned(), format!("{GONE}{}", tenant.prefix()))
}

/// Of this incarnation: another one of the name has no logo yet.
fn logo_key(tenant: &Tenant) -> Key {
    (tenant.name().to_owned(), format!("{LOGO_OF}{}", tenant.prefix()))
}

/// Holds for a record of this incarnation. Releases that knew no incarnations wrote none.
const OWN: &str = "#prefix = :prefix OR (attribute_not_exists(#prefix) AND #pk = :prefix)";

impl Tenants<'_> {
    /// Makes the tenant known. What is set for one that is known already stays, and so does its suspension; of another
    /// incarnation of its name nothing does.
    ///
    /// # Errors
    /// What the database says.
    pub async fn add(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let none = AttributeValue::M(HashMap::new());
        let known = Change::new()
            .set_to(STATUS, "if_not_exists(#status, :active)")
            .value(ACTIVE, text(ACTIVE))
            .set_to(SETTINGS, "if_not_exists(#settings, :none)")
            .value("none", none.clone())
            .when(&format!("attribute_not_exists(#pk) OR ({OWN})"))
            .when("attribute_not_exists(#status) OR #status <> :removed")
            .value(REMOVED, text(REMOVED));
        // A name without an incarnation is its own prefix, as releases wrote it that knew none.
        let known = match tenant.name() == tenant.prefix() {
            true => known.value(PREFIX, text(tenant.prefix())),
            false => known.set(PREFIX, text(tenant.prefix())),
        };
        if let Written::Refused(_) = self.store.update(self.table(), &key(tenant), known).await? {
            let mut item = keyed(&key(tenant));
            item.insert(STATUS.to_owned(), text(ACTIVE));
            item.insert(PREFIX.to_owned(), text(tenant.prefix()));
            item.insert(SETTINGS.to_owned(), none);
            self.store.put(self.table(), item, Change::new()).await?;
        }
        Ok(())
    }

    /// Whether the tenant is set up with just this, which is the caller's to say; see [`Tenants::note_set_up`].
    ///
    /// # Errors
    /// What the database says.
    pub async fn is_set_up(&self, tenant: &Tenant, with: &str) -> Result<bool, StoreError> {
        let item = self.store.item(self.table(), &key(tenant)).await?;
        let own = item.filter(|item| record_of(tenant, item).prefix == tenant.prefix());
        Ok(own.is_some_and(|item| text_of(&item, SET_UP) == Some(with)))
    }

    /// Notes that the tenant is set up with this, so that whoever starts it next need not do so again.
    ///
    /// # Errors
    /// What the database says.
    pub async fn note_set_up(&self, tenant: &Tenant, with: &str) -> Result<(), StoreError> {
        let change = Change::new()
            .set(SET_UP, text(with))
            .when("attribute_exists(#pk)")
            .when(OWN)
            .value(PREFIX, text(tenant.prefix()));
        self.store.update(self.table(), &key(tenant), change).await?;
        Ok(())
    }

    /// The tenant is here no longer: what was set for it is forgotten, its name is free. Another incarnation of the name is
    /// left alone.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let change = Change::new()
            .set(STATUS, text(REMOVED))
            .remove(&[SETTINGS, DEPLOYMENT, SET_UP])
            .remove(&place::OF_POOL)
            .when("attribute_exists(#pk)")
            .when(OWN)
            .value(PREFIX, text(tenant.prefix()));
        // First, so that whoever breaks off here and does it again leaves no incarnation that nobody knows was here.
        let noted = self.note_gone(tenant).await;
        let written = self.store.update(self.table(), &key(tenant), change).await;
        self.store.inner.remembered.forget(tenant);
        noted?;
        written?;
        self.store.remove(self.table(), &logo_key(tenant)).await
    }

    /// Notes that this incarnation has left: what it left behind is found by that.
    async fn note_gone(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let absent = Change::new().when("attribute_not_exists(#pk)");
        let note = keyed(&gone_key(tenant));
        self.store.put(self.table(), note, absent).await.map(|_| ())
    }

    /// Lets nobody in any more from `since` on, or everybody again; false where the tenant is not here. What was shared by links is
    /// shared no more, then either.
    ///
    /// # Errors
    /// What the database says.
    pub async fn suspend(&self, tenant: &Tenant, since: Option<Timestamp>) -> Result<bool, StoreError> {
        let change = match since {
            Some(since) => Change::new()
                .add(SHARING, SHARING.to_owned(), 1)
                .set(STATUS, text(SUSPENDED))
                .set(SUSPENDED_AT, text(since)),
            None => Change::new().set(STATUS, text(ACTIVE)),
        };
        let change = change
            .when("attribute_exists(#pk)")
            .when(OWN)
            .value(PREFIX, text(tenant.prefix()))
            .when("#status <> :removed")
            .value(REMOVED, text(REMOVED));
        let written = self.store.update(self.table(), &key(tenant), change).await;
        self.store.inner.remembered.forget(tenant);
        Ok(matches!(written?, Written::Done(_)))
    }

    /// How the tenant stands, as it was read [`SETTINGS_TTL`] ago at the latest; a minute where the table cannot be read.
    ///
    /// # Errors
    /// What the database says, where nothing was read of late.
    pub async fn standing(&self, tenant: &Tenant, now: Timestamp) -> Result<Standing, StoreError> {
        if *tenant == Tenant::public() || !self.store.knows_tenants {
            return Ok(Standing::Active);
        }
        let standing = standing_of(tenant, self.record(tenant, now).await?.as_ref());
        if standing != Standing::Gone {
            return Ok(standing);
        }
        // It may have come just now: who is not known costs a look each time.
        self.store.inner.remembered.forget(tenant);
        let record = self.record(tenant, now).await?;
        Ok(standing_of(tenant, record.as_ref()))
    }

    /// Until when what is due of a suspended tenant is put off: each time for as long as the suspension has lasted, so that a
    /// long one costs next to nothing.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub async fn held_until(&self, tenant: &Tenant, now: Timestamp) -> Result<Timestamp, StoreError> {
        let since = self
            .record(tenant, now)
            .await?
            .and_then(|record| record.suspended_at);
        let [least, most] = HELD;
        let lasted = since.map_or(least, |since| now.since(since));
        Ok(now.after(lasted.clamp(least, most)))
    }

    /// The present incarnation of a name, as far as it is known.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub async fn present(&self, name: &Tenant, now: Timestamp) -> Result<Option<Tenant>, StoreError> {
        let record = self.record(name, now).await?;
        Ok(match record {
            None => Some(name.clone()).filter(|name| name.prefix() == name.name()),
            Some(record) if record.status == REMOVED => None,
            Some(record) => Tenant::from_prefix(&record.prefix).ok(),
        })
    }

    /// How the tenant's pages look, as its record was read last: whoever asked for its standing has read it, and nothing more is
    /// read here.
    #[must_use]
    pub fn brand(&self, tenant: &Tenant) -> Brand {
        let own = self.settings_read(tenant);
        Brand::of(|key| own.get(key).map(String::as_str))
    }

    /// How long the tenant's things are kept, likewise.
    #[must_use]
    pub fn retention(&self, tenant: &Tenant) -> Retention {
        let own = self.settings_read(tenant);
        retention_of(|key| own.get(key).map(String::as_str))
    }

    fn settings_read(&self, tenant: &Tenant) -> TenantSettings {
        let names = self.store.inner.remembered.names();
        let record = names.get(tenant.name()).and_then(|(record, _)| record.as_ref());
        let own = record.filter(|record| record.prefix == tenant.prefix());
        own.map(|record| record.settings.clone()).unwrap_or_default()
    }

    /// The tenant's epoch of shares, where its settings let people share: it is another one after each suspension and each change of
    /// that setting. As it was read [`SETTINGS_TTL`] ago at the latest; whoever asked for the tenant's standing has read it.
    ///
    /// # Errors
    /// What the database says, where nothing was read of late.
    pub async fn sharing(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<u64>, StoreError> {
        let record = self.record(tenant, now).await?;
        let own = record.filter(|record| record.prefix == tenant.prefix() && record.status == ACTIVE);
        let may = own.filter(|record| may_share(|key| record.settings.get(key).map(String::as_str)));
        Ok(may.map(|record| record.sharing))
    }

    /// What the tenant may use, and an owner's share of it; as it was read [`SETTINGS_TTL`] ago at the latest.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub async fn quotas(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<(Quota, Quota), StoreError> {
        let own = self.own_settings(tenant, now).await?;
        let all = quota_of(|key| own.get(key).map(String::as_str));
        Ok((all, all.share_of(owner, own.get(SHARES).map(String::as_str))))
    }

    /// What the tenant may use, likewise.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub(crate) async fn quota(&self, tenant: &Tenant, now: Timestamp) -> Result<Quota, StoreError> {
        let own = self.own_settings(tenant, now).await?;
        Ok(quota_of(|key| own.get(key).map(String::as_str)))
    }

    async fn own_settings(&self, tenant: &Tenant, now: Timestamp) -> Result<TenantSettings, StoreError> {
        let record = match *tenant == Tenant::public() {
            true => None,
            false => self.record(tenant, now).await?,
        };
        let own = record.filter(|record| record.prefix == tenant.prefix());
        Ok(own.map(|record| record.settings).unwrap_or_default())
    }

    /// What is set for the tenant, also of its deployment; `None` where it is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settings(&self, tenant: &Tenant) -> Result<Option<TenantSettings>, StoreError> {
        let record = self.read(tenant).await?;
        let own = |record: &Record| record.status != REMOVED && record.prefix == tenant.prefix();
        Ok(record.filter(own).map(|record| {
            let Record {
                mut settings,
                deployment,
                ..
            } = record;
            settings.extend(deployment);
            settings
        }))
    }

    /// What the tenant's functions are built with beside their environment, also what a newer release knows alone; as it was read
    /// [`SETTINGS_TTL`] ago at the latest.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub async fn deployment(&self, tenant: &Tenant, now: Timestamp) -> Result<TenantSettings, StoreError> {
        let record = self.record(tenant, now).await?;
        let own = record.filter(|record| record.prefix == tenant.prefix());
        Ok(own.map(|record| record.deployment).unwrap_or_default())
    }

    /// Makes these changes, all of them or none, and touches no other setting; false where the tenant is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set(&self, tenant: &Tenant, changes: &[SettingChange]) -> Result<bool, StoreError> {
        let own = Change::new()
            .when("attribute_exists(#settings)")
            .when(OWN)
            .value(PREFIX, text(tenant.prefix()));
        if changes.iter().any(SettingChange::is_of_deployment) {
            // A path leads into a map that is there only.
            let map = own
                .clone()
                .set_to(DEPLOYMENT, "if_not_exists(#deployment, :none)")
                .value("none", AttributeValue::M(HashMap::new()));
            self.store.update(self.table(), &key(tenant), map).await?;
        }
        let written = self
            .store
            .update(self.table(), &key(tenant), with(own, changes))
            .await;
        self.store.inner.remembered.forget(tenant);
        Ok(matches!(written?, Written::Done(_)))
    }

    /// Makes these changes for an admin of the tenant; what is set then, and nothing where the tenant is not known. As
    /// [`Tenants::set`], and names no attribute but the settings and the epoch of shares: who may write those alone can neither resume a tenant nor make it
    /// another incarnation. Whose they are is read before, and what was read there must still be so.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where others change them all the time.
    pub async fn set_own(
        &self,
        tenant: &Tenant,
        changes: &[SettingChange],
    ) -> Result<Option<TenantSettings>, StoreError> {
        for _ in 0..ROUNDS {
            let item = self.store.item(self.table(), &key(tenant)).await?;
            let own = |item: &Item| {
                let record = record_of(tenant, item);
                record.status != REMOVED && record.prefix == tenant.prefix()
            };
            let seen = item.filter(own).and_then(|mut item| item.remove(SETTINGS));
            let Some(seen) = seen else { return Ok(None) };
            let change = with(Change::new(), changes)
                .when("#settings = :seen")
                .value("seen", seen);
            if let Written::Done(item) = self.store.update(self.table(), &key(tenant), change).await? {
                self.store.inner.remembered.forget(tenant);
                return Ok(Some(settings_of(&item, SETTINGS)));
            }
        }
        Err(StoreError::Throttled {
            operation: "UpdateItem",
        })
    }

    /// Stores the tenant's logo, and under which hash it is found, or removes it; false where the tenant is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set_logo(&self, tenant: &Tenant, logo: Option<(&str, Logo)>) -> Result<bool, StoreError> {
        let at = format!("{SETTINGS}.#{LOGO}");
        let change = Change::new()
            .when("attribute_exists(#settings)")
            .when(OWN)
            .value(PREFIX, text(tenant.prefix()));
        let (change, stored) = match logo {
            Some((hash, logo)) => (change.set_to(&at, ":logo").value(LOGO, text(hash)), Some(logo)),
            None => (change.remove(&[&at]), None),
        };
        // Named first: an item that nobody names would stay where the tenant is not known.
        if let Written::Refused(_) = self.store.update(self.table(), &key(tenant), change).await? {
            return Ok(false);
        }
        match stored {
            Some(Logo { media, bytes }) => {
                let mut item = keyed(&logo_key(tenant));
                item.insert(MEDIA.to_owned(), text(media));
                item.insert(BYTES.to_owned(), AttributeValue::B(Blob::new(bytes)));
                self.store.put(self.table(), item, Change::new()).await?;
            }
            None => self.store.remove(self.table(), &logo_key(tenant)).await?,
        }
        self.store.inner.remembered.forget(tenant);
        Ok(true)
    }

    /// The tenant's logo, where there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn logo(&self, tenant: &Tenant) -> Result<Option<Logo>, StoreError> {
        let item = self.store.item(self.table(), &logo_key(tenant)).await?;
        Ok(item.and_then(|item| {
            Some(Logo {
                media: text_of(&item, MEDIA)?.to_owned(),
                bytes: item.get(BYTES)?.as_b().ok()?.as_ref().to_vec(),
            })
        }))
    }

    async fn record(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<Record>, StoreError> {
        let remembered = &self.store.inner.remembered;
        let known = remembered.names().get(tenant.name()).cloned();
        if let Some((record, at)) = &known
            && at.is_lately(SETTINGS_TTL, now)
        {
            return Ok(record.clone());
        }
        match self.read(tenant).await {
            Ok(record) => {
                remembered.keep(tenant, record.clone(), now);
                Ok(record)
            }
            Err(error) => match known {
                Some((record, at)) if at.is_lately(STALE_TTL, now) => {
                    tracing::warn!(tenant.id = tenant.name(), %error, "the tenant cannot be read; what was read before goes on");
                    Ok(record)
                }
                _ => Err(error),
            },
        }
    }

    async fn read(&self, tenant: &Tenant) -> Result<Option<Record>, StoreError> {
        let item = self.store.item(self.table(), &key(tenant)).await?;
        Ok(item.map(|item| record_of(tenant, &item)))
    }

    fn table(&self) -> &str {
        &self.store.tables().tenants
    }
}

fn record_of(tenant: &Tenant, item: &Item) -> Record {
    Record {
        status: text_of(item, STATUS).unwrap_or(ACTIVE).to_owned(),
        prefix: text_of(item, PREFIX).unwrap_or(tenant.name()).to_owned(),
        settings: settings_of(item, SETTINGS),
        deployment: settings_of(item, DEPLOYMENT),
        sharing: item
            .get(SHARING)
            .and_then(|epoch| epoch.as_n().ok()?.parse().ok())
            .unwrap_or_default(),
        suspended_at: text_of(item, SUSPENDED_AT).and_then(Timestamp::parse),
        in_pool: place::is_in_pool(item),
        pooled: place::pooled_of(item),
    }
}

/// A change with these changes of settings.
fn with(change: Change, changes: &[SettingChange]) -> Change {
    // What was shared before the setting was changed is not shared again once it is on again.
    let change = match changes.iter().any(|each| each.key() == SHARE) {
        true => change.add(SHARING, SHARING.to_owned(), 1),
        false => change,
    };
    changes.iter().fold(change, |change, each| {
        let map = if each.is_of_deployment() {
            DEPLOYMENT
        } else {
            SETTINGS
        };
        let at = format!("{map}.#{}", each.key());
        match each.value() {
            Some(value) => change
                .set_to(&at, &format!(":{}", each.key()))
                .value(each.key(), text(value)),
            None => change.remove(&[&at]),
        }
    })
}

fn standing_of(tenant: &Tenant, record: Option<&Record>) -> Standing {
    match record {
        // Made by a release that kept no such record.
        None if tenant.prefix() == tenant.name() => Standing::Active,
        Some(record) if record.prefix == tenant.prefix() => match record.status.as_str() {
            SUSPENDED => Standing::Suspended,
            REMOVED => Standing::Gone,
            _ => Standing::Active,
        },
        _ => Standing::Gone,
    }
}

fn settings_of(item: &Item, map: &str) -> TenantSettings {
    let settings = item.get(map).and_then(|settings| settings.as_m().ok());
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
    last: Mutex<TenantSettings>,
}

impl OwnSettings {
    /// Nothing is read before the first setting is wanted.
    #[must_use]
    pub fn new(store: Store, tenant: Tenant, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            tenant,
            clock,
            last: Mutex::default(),
        }
    }

    /// What the tenant has set for users who do not say it themselves.
    pub async fn context(&self) -> UserContext {
        let settings = self.now().await;
        default_context(|key| settings.get(key).map(String::as_str))
    }

    /// How the tenant's page looks.
    pub async fn brand(&self) -> Brand {
        let settings = self.now().await;
        Brand::of(|key| settings.get(key).map(String::as_str))
    }

    /// The types of the agents that an empty chat shows first.
    pub async fn start(&self) -> Vec<AgentType> {
        let settings = self.now().await;
        start_of(|key| settings.get(key).map(String::as_str))
    }

    /// How many tokens of language models a day the tenant may use, where that is set.
    pub async fn tokens_per_day(&self) -> Option<u64> {
        let settings = self.now().await;
        tokens_per_day(|key| settings.get(key).map(String::as_str))
    }

    /// A table that cannot be read makes no request fail: the last settings go on.
    async fn now(&self) -> TenantSettings {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match self
            .store
            .tenants()
            .own_settings(&self.tenant, self.clock.now())
            .await
        {
            Ok(settings) => {
                last().clone_from(&settings);
                settings
            }
            Err(error) => {
                tracing::warn!(tenant.id = self.tenant.name(), %error, "the tenant's settings cannot be read; the last ones go on");
                last().clone()
            }
        }
    }
}
