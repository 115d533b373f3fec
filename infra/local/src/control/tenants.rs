//! Tenants come, go, and are set.

use std::collections::BTreeSet;
use std::sync::Arc;

use a2a::mqtt::AgentAddress;
use domain::{AgentName, SettingChange, Tenant};
use store::audit::Action;
use store::{Purged, StoreError};
use tokio::task::JoinSet;

use super::{Change, Control};
use crate::control::registration::Registrar;
use crate::data::current::Current;
use crate::data::endpoints::Endpoints;
use crate::error::{ChangeError, StartError};
use crate::functions::{HOST, identity};
use crate::mqtt;

impl Control {
    /// Adds a tenant, with everything that the others have.
    /// What lies in the tables of an earlier one of that name is not its.
    pub(crate) async fn add_tenant(&self, name: &Tenant) -> Result<(Arc<Current>, Tenant), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = name.incarnated(&*self.site.entropy);
        let (wanted, now) = (self.site.names.wanted(&[]), self.now());
        let draft = vault.draft_added(&now.secrets, &tenant, (&wanted, &*self.site.entropy))?;
        let current = self.take_over(&mut vault, draft, Change::Comes(&tenant)).await?;
        if let Some(own) = current.tenant(&tenant) {
            self.known_to_all(&current, &own).await?;
        }
        self.list(&current.endpoints)?;
        self.site
            .told(Action::TenantAdd, Some(&tenant), tenant.prefix())
            .await;
        Ok((current, tenant))
    }

    /// Takes a tenant away: nothing of it is served, nobody signs in there, its agents are in the registry no more.
    /// What else lies in the tables under its prefix stays, out of everybody's reach, until it expires or is purged.
    pub(crate) async fn remove_tenant(&self, name: &Tenant) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let before = self.now();
        let draft = self.draft(&vault, |stored| stored.remove_tenant(&tenant))?;
        let current = self.take_over(&mut vault, draft, Change::Goes(&tenant)).await?;
        self.leave_broker(&before, &current, &tenant).await?;
        let nobody = BTreeSet::new();
        let users = current.secrets.removed.get(&tenant).unwrap_or(&nobody);
        self.clear(&tenant, users, &registrar(&current.endpoints)).await?;
        self.list(&current.endpoints)?;
        self.site
            .told(Action::TenantRemove, Some(&tenant), tenant.prefix())
            .await;
        Ok(())
    }

    /// Removes what the removed tenants of that name left in the tables; what that was. It may break off anywhere, and goes on
    /// with the next call.
    pub(crate) async fn purge(&self, name: &Tenant) -> Result<Vec<Purged>, ChangeError> {
        let purge = self.site.store.purge();
        let gone = purge.gone(name).await;
        let gone = gone.map_err(StartError::part("table of tenants"))?;
        if gone.is_empty() {
            return Err(ChangeError::NothingLeft(name.clone()));
        }
        let mut done = Vec::new();
        for tenant in gone {
            let purged = purge.run(&tenant, self.site.clock.now()).await;
            let purged = purged.map_err(StartError::part("purge"))?;
            let items = purged.removed.values().sum::<u64>();
            self.site
                .told(Action::TenantPurge, Some(&tenant), &format!("{items} items"))
                .await;
            done.push(purged);
        }
        Ok(done)
    }

    /// Lets nobody in at a tenant any more, or everybody again.
    pub(crate) async fn suspend(&self, name: &Tenant, suspended: bool) -> Result<(), ChangeError> {
        // A tenant that is being taken away is not suspended at the same time.
        let _nothing_else_changes = self.vault.lock().await;
        let tenant = self.named(name)?;
        let (store, now) = (&self.site.store, self.site.clock.now());
        let done = store.tenants().suspend(&tenant, suspended.then_some(now)).await;
        if !done.map_err(StartError::part("table of tenants"))? {
            return Err(self.unknown(name));
        }
        let action = if suspended {
            Action::TenantSuspend
        } else {
            let due = store.tasks().hasten(&tenant, now).await;
            due.map_err(StartError::part("table of tasks"))?;
            Action::TenantResume
        };
        self.site.told(action, Some(&tenant), tenant.prefix()).await;
        Ok(())
    }

    /// Makes these changes of a tenant's settings, all of them or none. Where its functions are built with one of them they are built
    /// anew, and what they do not start with is not kept.
    pub(crate) async fn set(&self, name: &Tenant, changes: &[SettingChange]) -> Result<(), ChangeError> {
        // A tenant that is being taken away is not set at the same time.
        let _nothing_else_changes = self.vault.lock().await;
        let tenant = self.named(name)?;
        let current = self.now();
        let own = current.tenant(&tenant).ok_or_else(|| self.unknown(name))?;
        let functions = match changes.iter().any(SettingChange::is_of_deployment) {
            true => Some(self.build_changed(&current, own, changes).await?),
            false => None,
        };
        let set = self.site.store.tenants().set(&tenant, changes).await;
        let keys: Vec<&str> = changes.iter().map(SettingChange::key).collect();
        self.is_set(set, (name, &tenant), &keys.join(" ")).await?;
        if let Some(functions) = functions {
            self.residents.put(own, functions, false);
        }
        Ok(())
    }

    /// What became of a change of a tenant's settings.
    async fn is_set(
        &self,
        set: Result<bool, StoreError>,
        (name, tenant): (&Tenant, &Tenant),
        what: &str,
    ) -> Result<(), ChangeError> {
        if !set.map_err(StartError::part("table of tenants"))? {
            return Err(self.unknown(name));
        }
        self.site.told(Action::TenantSet, Some(tenant), what).await;
        Ok(())
    }

    /// Gives a tenant's page a logo, known by a hash, or takes it away.
    pub(crate) async fn set_logo(
        &self,
        name: &Tenant,
        logo: Option<(&str, store::Logo)>,
    ) -> Result<(), ChangeError> {
        let _nothing_else_changes = self.vault.lock().await;
        let tenant = self.named(name)?;
        let set = self.site.store.tenants().set_logo(&tenant, logo).await;
        self.is_set(set, (name, &tenant), "logo").await
    }

    /// Clears away what the MQTT broker has of a tenant's agents, once they have left it, and lets them in no more.
    async fn leave_broker(&self, before: &Current, now: &Current, tenant: &Tenant) -> Result<(), StartError> {
        let Some(broker) = &self.site.outside.mqtt else {
            return Ok(());
        };
        self.backgrounds.settled().await;
        let passwords = before.secrets.tenants.get(tenant).map(|own| own.mqtt.clone());
        let passwords = passwords.unwrap_or_default();
        let leaving = before.endpoints.tenants.get(tenant).into_iter().flat_map(|own| {
            let agents = own.agents.keys().map(AgentName::as_str);
            agents.chain([host_agent::AGENT])
        });
        let mut left = JoinSet::new();
        for name in leaving {
            let agent = AgentAddress::new(mqtt::ORG, tenant.prefix(), name);
            let agent = agent.map_err(StartError::part("list of agents"))?;
            let (broker, password) = (broker.clone(), passwords.get(name).cloned());
            left.spawn(async move { broker.forget(&agent, password).await });
        }
        left.join_all().await;
        broker.admit(now, None)
    }

    /// Clears away what makes a tenant one.
    pub(super) async fn clear(
        &self,
        name: &Tenant,
        users: &BTreeSet<String>,
        registrar: &Registrar<'_>,
    ) -> Result<(), StartError> {
        registrar.forget(name).await?;
        let store = &self.site.store;
        let forgotten = store.tenants().remove(name).await;
        forgotten.map_err(StartError::part("table of tenants"))?;
        let host = AgentName::parse(HOST).map_err(StartError::part("list of agents"))?;
        let ended = store.tasks().end_all(name, &host, self.site.clock.now()).await;
        ended.map_err(StartError::part("table of tasks"))?;
        identity::clear(store, name, users).await
    }
}

pub(super) fn registrar(endpoints: &Endpoints) -> Registrar<'_> {
    Registrar {
        registry: &endpoints.registry,
        token: &endpoints.registry_token,
    }
}

pub(super) async fn register(
    registrar: &Registrar<'_>,
    endpoints: &Endpoints,
    tenant: &Tenant,
) -> Result<(), StartError> {
    let own = endpoints.tenants.get(tenant);
    for (name, url) in own.into_iter().flat_map(|own| &own.agents) {
        registrar.register(name, url, Some(tenant)).await?;
    }
    Ok(())
}
