//! Changes to a running system: tenants come and go, keys are rotated. Each change is drafted, built, kept and then
//! served, one at a time; what is under way goes on with the functions it began with.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use a2a::mqtt::AgentAddress;
use auth::JwksCache;
use domain::{AgentName, Clock, Entropy, ExposeSecret, Owner, SecretString, SettingChange, Tenant};
use edge::Ground;
use edge::secrets::Held;
use idp::People;
use outbound::{FetchedKeys, Outbound, Policy};
use serde::{Deserialize, Serialize};
use store::audit::{self, Action, Actor, Audit};
use store::{Purged, Store};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::assembly::{Assembled, Timers, assemble};
use crate::current::{Current, Own};
use crate::functions::Spec;
use crate::gateway::Served;
use crate::mqtt::Backgrounds;
use crate::names::Names;
use crate::options::Outside;
use crate::people::Changed;
use crate::queue::{Crew, Door};
use crate::registration::Registrar;
use crate::secrets::{Draft, ImportChange, Secrets, SignIn, Stored, Vault};
use crate::{ChangeError, Endpoints, StartError, Tempo, identity, mqtt, named, orders};

/// Which keys are rotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rotation {
    /// Those the authorization server signs with, for every tenant.
    Idp,
    /// Those that secrets in the tables are sealed with.
    Sealing,
    /// The one that a tenant's chat and host sign with.
    Session(Tenant),
}

impl Rotation {
    /// Makes the change in the kept secrets.
    pub(crate) fn apply(
        &self,
        stored: &mut Stored,
        force: bool,
        (clock, entropy): (&dyn Clock, &dyn Entropy),
    ) -> Result<(), ChangeError> {
        match self {
            Self::Idp => stored.rotate_idp(clock.now(), force),
            Self::Sealing => {
                stored.rotate_sealing(entropy);
                Ok(())
            }
            Self::Session(tenant) => stored.rotate_session(tenant, clock.now(), force),
        }
    }

    fn told(&self) {
        let (tenant, keys) = match self {
            Self::Idp => (None, "idp"),
            Self::Sealing => (None, "sealing"),
            Self::Session(tenant) => (Some(tenant), "session"),
        };
        told(Action::KeysRotate, tenant, keys);
    }
}

/// Logs what the operator did.
fn told(action: Action, tenant: Option<&Tenant>, object: &str) {
    let event = Audit {
        action,
        tenant,
        actor: Actor::Operator,
        object,
        result: audit::DONE,
    };
    event.log();
}

/// What stays as it is for as long as the system runs.
pub(crate) struct Site {
    pub(crate) functions: Vec<Spec>,
    pub(crate) names: Names,
    pub(crate) store: Store,
    pub(crate) door: Door,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) outside: Outside,
    /// Where the list of endpoints is written.
    pub(crate) lists: Vec<PathBuf>,
    /// Hears whose users an admin has changed.
    pub(crate) changed_users: Changed,
    pub(crate) tempo: Tempo,
}

impl Site {
    /// The way out of every function here.
    fn outbound(&self, endpoints: &Endpoints) -> Outbound {
        let policy = Policy {
            // Everything here is at addresses of this machine; deployed functions never call one.
            allow_loopback: true,
            allow_host: endpoints.container_host(),
            rest: self.tempo.rest,
            ..Policy::default()
        };
        Outbound::new(policy, Arc::clone(&self.entropy))
    }
}

/// A running system, as far as it can change.
pub(crate) struct Control {
    pub(crate) site: Site,
    outbound: Outbound,
    pub(crate) served: Served,
    pub(crate) crew: Crew,
    timers: RwLock<Timers>,
    pub(crate) backgrounds: Backgrounds,
    current: RwLock<Arc<Current>>,
    /// Held while something changes.
    vault: Mutex<Vault>,
}

impl Control {
    /// Sets up whatever the secrets say there is, and serves it.
    pub(crate) async fn start(site: Site, vault: Vault, current: Current) -> Result<Self, StartError> {
        let outbound = site.outbound(&current.endpoints);
        // Loading certificates takes long; it happens beside the rest of the start.
        let early = outbound.clone();
        let _nobody_waits = tokio::task::spawn_blocking(move || early.warm());
        for own in current.tenants() {
            set_up(&site, &current, &own).await?;
        }
        let control = Self {
            outbound,
            site,
            served: Served::default(),
            crew: Crew::default(),
            timers: RwLock::default(),
            backgrounds: Backgrounds::default(),
            current: RwLock::new(Arc::new(current)),
            vault: Mutex::new(vault),
        };
        let now = control.now();
        let built = control.build(&now).await?;
        if let Some(broker) = &control.site.outside.mqtt {
            broker.admit(&now, None)?;
        }
        control.put(built);
        Ok(control)
    }

    /// What runs by the clock.
    pub(crate) fn timers(&self) -> Timers {
        self.timers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The secrets and addresses of now.
    pub(crate) fn now(&self) -> Arc<Current> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes the agents and every address known. To be called once the gateway answers.
    pub(crate) async fn announce(&self) -> Result<(), StartError> {
        let current = self.now();
        let endpoints = &current.endpoints;
        let registrar = registrar(endpoints);
        for (tenant, users) in &current.secrets.removed {
            self.clear(tenant, users, &registrar).await?;
        }
        for (name, url) in &endpoints.agents {
            registrar.register(name, url, None).await?;
        }
        for tenant in endpoints.tenants.keys() {
            register(&registrar, endpoints, tenant).await?;
        }
        self.list(endpoints)
    }

    /// Adds a tenant, with everything that the others have.
    /// What lies in the tables of an earlier one of that name is not its.
    pub(crate) async fn add_tenant(&self, name: &Tenant) -> Result<(Arc<Current>, Tenant), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = name.incarnated(&*self.site.entropy);
        let draft = self.draft(&vault, |stored| stored.add_tenant(&tenant))?;
        let current = self.take_over(&mut vault, draft, Some(&tenant)).await?;
        let registrar = registrar(&current.endpoints);
        register(&registrar, &current.endpoints, &tenant).await?;
        self.list(&current.endpoints)?;
        told(Action::TenantAdd, Some(&tenant), tenant.prefix());
        Ok((current, tenant))
    }

    /// Takes a tenant away: nothing of it is served, nobody signs in there, its agents are in the registry no more.
    /// What else lies in the tables under its prefix stays, out of everybody's reach, until it expires or is purged.
    pub(crate) async fn remove_tenant(&self, name: &Tenant) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let before = self.now();
        let draft = self.draft(&vault, |stored| stored.remove_tenant(&tenant))?;
        let current = self.take_over(&mut vault, draft, None).await?;
        self.leave_broker(&before, &current, &tenant).await?;
        let nobody = BTreeSet::new();
        let users = current.secrets.removed.get(&tenant).unwrap_or(&nobody);
        self.clear(&tenant, users, &registrar(&current.endpoints)).await?;
        self.list(&current.endpoints)?;
        told(Action::TenantRemove, Some(&tenant), tenant.prefix());
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
            told(Action::TenantPurge, Some(&tenant), &format!("{items} items"));
            done.push(purged);
        }
        Ok(done)
    }

    /// Adds a user to a tenant; the password.
    pub(crate) async fn add_user(
        &self,
        name: &Tenant,
        username: &str,
        roles: &[String],
    ) -> Result<SecretString, ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let Site {
            store,
            clock,
            entropy,
            ..
        } = &self.site;
        let password = idp::new_password(&**entropy);
        let user = idp::NewUser {
            username: username.to_owned(),
            display_name: identity::display_name(username),
            password: password.clone(),
            roles: roles.to_vec(),
        };
        let people = People::of_operator(store, &tenant);
        people.add(&user, clock.now(), &**entropy).await?;
        let kept = |stored: &mut Stored| stored.put_user(&tenant, (username, roles), &password);
        self.keep_users(&mut vault, kept).await?;
        Ok(password)
    }

    /// Gives a user of a tenant a new password; it.
    pub(crate) async fn reset_user(
        &self,
        name: &Tenant,
        username: &str,
    ) -> Result<SecretString, ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let Site {
            store,
            clock,
            entropy,
            ..
        } = &self.site;
        let password = idp::new_password(&**entropy);
        let at = (clock.now(), &**entropy);
        let people = People::of_operator(store, &tenant);
        people.reset(username, &password, at).await?;
        let current = self.now();
        let own = current.secrets.tenants.get(&tenant);
        let roles = own
            .and_then(|own| own.roles.get(username))
            .cloned()
            .unwrap_or_default();
        let kept = |stored: &mut Stored| stored.put_user(&tenant, (username, &roles), &password);
        self.keep_users(&mut vault, kept).await?;
        Ok(password)
    }

    /// Takes a user of a tenant away.
    pub(crate) async fn remove_user(&self, name: &Tenant, username: &str) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let people = People::of_operator(&self.site.store, &tenant);
        people.remove(username).await?;
        let kept = |stored: &mut Stored| stored.remove_user(&tenant, username);
        self.keep_users(&mut vault, kept).await
    }

    /// Looks at the users whom the list of endpoints names, as an admin of the tenant has changed some: who is gone or has another
    /// password, which nobody told here, is named no more, and roles are as they are now.
    pub(crate) async fn see_users(&self, tenant: &Tenant) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let current = self.now();
        let Some(own) = current.secrets.tenants.get(tenant) else {
            return Ok(());
        };
        let part = |error| ChangeError::from(StartError::part("authorization server")(error));
        let (mut gone, mut other_roles) = (Vec::new(), Vec::new());
        for (name, password) in &own.users {
            let user = self.site.store.identity().find_user(tenant, name).await;
            let text = password.text.clone();
            match user.map_err(part)? {
                Some(user) if idp::is_password_of(&user.password_hash, &text) => {
                    if own.roles.get(name).map_or(&[][..], Vec::as_slice) != user.roles {
                        other_roles.push((name, user.roles, text));
                    }
                }
                _ => gone.push(name),
            }
        }
        if gone.is_empty() && other_roles.is_empty() {
            return Ok(());
        }
        let kept = |stored: &mut Stored| {
            for name in gone {
                stored.remove_user(tenant, name)?;
            }
            for (name, roles, password) in &other_roles {
                stored.put_user(tenant, (name.as_str(), roles.as_slice()), password)?;
            }
            Ok(())
        };
        self.keep_users(&mut vault, kept).await
    }

    /// Where people sign in at a tenant, as its operator may read it.
    pub(crate) fn sign_in(&self, name: &Tenant) -> Result<serde_json::Value, ChangeError> {
        let tenant = self.named(name)?;
        let current = self.now();
        let own = current.secrets.tenants.get(&tenant);
        own.map(|own| own.sign_in.told())
            .ok_or_else(|| self.unknown(name))
    }

    /// Changes where people sign in at a tenant.
    pub(crate) async fn change_sign_in(
        &self,
        name: &Tenant,
        change: impl FnOnce(&mut SignIn) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let tenant = self.named(name)?;
        let kept = |stored: &mut Stored| stored.change_sign_in(&tenant, change);
        let draft = self.draft(&vault, kept)?;
        self.take_over(&mut vault, draft, None).await?;
        tracing::info!(tenant.id = tenant.name(), "where people sign in was changed");
        Ok(())
    }

    /// Ends every sign-in of a person, who is an issuer and a subject there.
    pub(crate) async fn end_person(
        &self,
        name: &Tenant,
        (issuer, subject): (&str, &Owner),
    ) -> Result<(), ChangeError> {
        let tenant = self.named(name)?;
        let Site { store, clock, .. } = &self.site;
        let part = |error| ChangeError::from(StartError::part("table of people")(error));
        // Whatever was proved up to now.
        let at = clock.now().after(std::time::Duration::from_millis(1));
        if issuer == idp::issuer(&self.now().endpoints.idp, &tenant) {
            let ended = store.identity().end_user(&tenant, subject, at).await;
            if !ended.map_err(part)? {
                return Err(idp::ProvisionError::Nobody(subject.to_string()).into());
            }
        } else {
            let unusable = |_| ChangeError::SignIn("this is not a subject".to_owned());
            let person = store::person_id(issuer, subject, None).map_err(unusable)?;
            store
                .sessions()
                .end_person(&tenant, &person, at)
                .await
                .map_err(part)?;
        }
        told(Action::UserEnd, Some(&tenant), subject.as_str());
        Ok(())
    }

    async fn keep_users(
        &self,
        vault: &mut Vault,
        change: impl FnOnce(&mut Stored) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let draft = self.draft(vault, change)?;
        let current = self.take_over(vault, draft, None).await?;
        self.list(&current.endpoints)?;
        Ok(())
    }

    /// Lets nobody in at a tenant any more, or everybody again.
    pub(crate) async fn suspend(&self, name: &Tenant, suspended: bool) -> Result<(), ChangeError> {
        // A tenant that is being taken away is not suspended at the same time.
        let _nothing_else_changes = self.vault.lock().await;
        let tenant = self.named(name)?;
        let done = self.site.store.tenants().suspend(&tenant, suspended).await;
        if !done.map_err(StartError::part("table of tenants"))? {
            return Err(self.unknown(name));
        }
        let action = match suspended {
            true => Action::TenantSuspend,
            false => Action::TenantResume,
        };
        told(action, Some(&tenant), tenant.prefix());
        Ok(())
    }

    /// The tenant of that name.
    pub(crate) fn named(&self, name: &Tenant) -> Result<Tenant, ChangeError> {
        let current = self.now();
        let found = current.endpoints.named(name).map(|(tenant, _)| tenant.clone());
        // Who says which incarnation is meant means no other.
        let found = found.filter(|tenant| name.prefix() == name.name() || tenant == name);
        found.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &Tenant) -> ChangeError {
        ChangeError::Unknown {
            name: name.clone(),
            known: self.now().endpoints.tenants.keys().cloned().collect(),
        }
    }

    /// Makes these changes of a tenant's settings, all of them or none.
    pub(crate) async fn set(&self, name: &Tenant, changes: &[SettingChange]) -> Result<(), ChangeError> {
        // A tenant that is being taken away is not set at the same time.
        let _nothing_else_changes = self.vault.lock().await;
        let tenant = self.named(name)?;
        let set = self.site.store.tenants().set(&tenant, changes).await;
        match set.map_err(StartError::part("table of tenants"))? {
            true => {
                told(Action::TenantSet, Some(&tenant), "settings");
                Ok(())
            }
            false => Err(self.unknown(name)),
        }
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
        match set.map_err(StartError::part("table of tenants"))? {
            true => {
                told(Action::TenantSet, Some(&tenant), "logo");
                Ok(())
            }
            false => Err(self.unknown(name)),
        }
    }

    /// Rotates keys.
    pub(crate) async fn rotate(&self, rotation: &Rotation, force: bool) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let Site { clock, entropy, .. } = &self.site;
        let draft = self.draft(&vault, |stored| {
            rotation.apply(stored, force, (&**clock, &**entropy))
        })?;
        self.take_over(&mut vault, draft, None).await?;
        rotation.told();
        Ok(())
    }

    /// Changes which agents of the broker the registry is to know.
    pub(crate) async fn import(&self, change: &ImportChange) -> Result<(), ChangeError> {
        if self.site.outside.mqtt.is_none() {
            return Err(ChangeError::NoBroker);
        }
        let mut vault = self.vault.lock().await;
        let draft = self.draft(&vault, |stored| change.apply(stored))?;
        self.take_over(&mut vault, draft, None).await?;
        let rules = change.add.iter().chain(&change.remove);
        let rules: Vec<String> = rules.map(ToString::to_string).collect();
        tracing::info!(
            rules = rules.join(" "),
            "which agents of the broker are registered has changed"
        );
        Ok(())
    }

    /// The rules by which agents of the broker are registered.
    pub(crate) fn imports(&self) -> Vec<String> {
        let started = self.site.outside.mqtt.iter().flat_map(|broker| &broker.imports);
        let kept = self.now().secrets.mqtt_imports.clone();
        started.map(ToString::to_string).chain(kept).collect()
    }

    fn draft(
        &self,
        vault: &Vault,
        change: impl FnOnce(&mut Stored) -> Result<(), ChangeError>,
    ) -> Result<Draft, ChangeError> {
        let Site { names, entropy, .. } = &self.site;
        vault.draft(&names.wanted(&[]), &**entropy, change)
    }

    fn located(&self, secrets: &Secrets) -> Endpoints {
        let mut endpoints = self.now().endpoints.clone();
        self.site.names.locate(&mut endpoints, secrets);
        endpoints
    }

    /// Keeps the draft and serves it, once whoever is new in it is set up. What cannot be built is not kept.
    async fn take_over(
        &self,
        vault: &mut Vault,
        draft: Draft,
        new: Option<&Tenant>,
    ) -> Result<Arc<Current>, StartError> {
        let current = Current {
            endpoints: self.located(&draft.secrets),
            secrets: draft.secrets,
        };
        if let Some(own) = new.and_then(|name| current.tenant(name)) {
            set_up(&self.site, &current, &own).await?;
        }
        let built = self.build(&current).await?;
        vault.keep(draft.stored)?;
        // Whoever leaves still has to say so there.
        if let Some(broker) = &self.site.outside.mqtt {
            broker.admit(&current, Some(&self.now()))?;
        }
        self.put(built);
        let current = Arc::new(current);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&current);
        Ok(current)
    }

    async fn build(&self, current: &Current) -> Result<Assembled, StartError> {
        let site = &self.site;
        let ground = Ground {
            clock: Arc::clone(&site.clock),
            entropy: Arc::clone(&site.entropy),
            store: site.store.clone(),
            wake: Arc::new(site.door.clone()),
            outbound: self.outbound.clone(),
            secrets: Arc::new(Held(named::secrets(current, &site.outside))),
            // Keys that were fetched before may be rotated ones.
            keys: JwksCache::new(Arc::new(FetchedKeys(self.outbound.clone()))),
            settings: site.tempo.agent.clone(),
        };
        assemble(
            &site.functions,
            &ground,
            &site.outside,
            current,
            &site.changed_users,
        )
        .await
    }

    fn put(&self, assembled: Assembled) {
        // Workers first: a call that is taken finds somebody who does its work.
        self.crew.replace(assembled.workers);
        *self.timers.write().unwrap_or_else(PoisonError::into_inner) = assembled.timers;
        self.served.replace(assembled.gateway);
        self.backgrounds.replace(assembled.backgrounds);
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
    async fn clear(
        &self,
        name: &Tenant,
        users: &BTreeSet<String>,
        registrar: &Registrar<'_>,
    ) -> Result<(), StartError> {
        registrar.forget(name).await?;
        let forgotten = self.site.store.tenants().remove(name).await;
        forgotten.map_err(StartError::part("table of tenants"))?;
        identity::clear(&self.site.store, name, users).await
    }

    fn list(&self, endpoints: &Endpoints) -> Result<(), StartError> {
        self.site.lists.iter().try_for_each(|list| endpoints.write(list))
    }
}

fn registrar(endpoints: &Endpoints) -> Registrar<'_> {
    Registrar {
        registry: &endpoints.registry,
        token: &endpoints.registry_token,
    }
}

async fn register(
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

async fn set_up(site: &Site, current: &Current, own: &Own<'_>) -> Result<(), StartError> {
    let known = site.store.tenants().add(own.name).await;
    known.map_err(StartError::part("table of tenants"))?;
    let this_machine = current.endpoints.container_host();
    let sealing = &current.secrets.sealing;
    let given = (&*site.clock, &*site.entropy);
    identity::set_up(&site.store, own, sealing, this_machine, given).await?;
    orders::set_up(&site.store, own, &*site.clock).await
}

/// What the platform itself may do, for as long as a local system runs.
pub(crate) fn platform_token(
    secrets: &Secrets,
    issuer: &str,
    audience: &str,
    scope: &str,
    (clock, entropy): (&dyn Clock, &dyn Entropy),
) -> Result<SecretString, StartError> {
    let grant = auth::Grant {
        issuer,
        subject: "operator",
        tenant: None,
        audience,
        scopes: &[scope],
        lifetime: PLATFORM_TOKEN,
    };
    let token = secrets.platform.sign(&grant, clock.now(), entropy);
    token.map_err(StartError::part("platform's token"))
}

/// How long the platform's tokens live: longer than anybody leaves a local system running.
const PLATFORM_TOKEN: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);

/// The text of a platform token, for the list of endpoints.
pub(crate) fn shown(token: &SecretString) -> String {
    token.expose_secret().to_owned()
}
