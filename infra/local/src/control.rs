//! Changes to a running system: tenants come and go, keys are rotated. Each change is drafted, built, kept and then
//! served, one at a time; what is under way goes on with the functions it began with.

pub mod admin;
pub(crate) mod aws;
pub(crate) mod follow;
mod index;
mod orders;
mod people;
mod registration;
pub(crate) mod survival;
mod tenants;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use auth::JwksCache;
use domain::{Clock, Entropy, ExposeSecret, SecretString, Tenant};
use edge::Ground;
use edge::secrets::Held;
use outbound::{FetchedKeys, Outbound, Policy};
use serde::{Deserialize, Serialize};
use store::Store;
use store::audit::{self, Action, Actor};
use tokio::sync::Mutex;

use self::tenants::{register, registrar};
use crate::data::current::{Current, Own};
use crate::data::endpoints::Endpoints;
use crate::data::secrets::{Draft, ImportChange, Secrets, Stored, Vault};
use crate::error::{ChangeError, StartError};
use crate::functions::assembly::{Assembled, Timers, assemble};
use crate::functions::names::Names;
use crate::functions::people::Changed;
use crate::functions::{Spec, identity, named};
use crate::gateway::Served;
use crate::mqtt::Backgrounds;
use crate::options::{Outside, Tempo};
use crate::queue::{Crew, Door};

/// Which keys are rotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rotation {
    /// Those the authorization server signs with, for every tenant.
    Idp,
    /// Those that secrets in the tables are sealed with.
    Sealing,
    /// The one that a tenant's chat and host sign with.
    Session(Tenant),
}

impl Rotation {
    /// Makes the change in the kept secrets.
    ///
    /// # Errors
    /// Where the keys before are still needed, or a key cannot be made.
    pub fn apply(
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
    action.told(tenant, Actor::Operator, object, audit::DONE);
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
    pub(crate) understanding: nlu::Slot,
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
            understanding: site.understanding.clone(),
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

    fn list(&self, endpoints: &Endpoints) -> Result<(), StartError> {
        self.site.lists.iter().try_for_each(|list| endpoints.write(list))
    }
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
