//! Changes to a running system: tenants come and go, keys are rotated. Each change is drafted, built, kept and then
//! served, one at a time; what is under way goes on with the functions it began with.

pub mod admin;
pub(crate) mod aws;
mod broker;
pub(crate) mod follow;
mod index;
mod orders;
mod people;
mod registration;
mod residents;
pub(crate) mod survival;
mod tenants;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use auth::JwksCache;
use domain::{AgentName, Clock, Entropy, ExposeSecret, SecretString, Tenant};
use edge::aws::Caller;
use edge::secrets::Held;
use edge::{Ground, QueueHandler};
use outbound::{FetchedKeys, Outbound, Policy};
use serde::{Deserialize, Serialize};
use store::Store;
use store::audit::{self, Action, Actor};
use tokio::sync::{Mutex, Notify};

use self::residents::{KEPT, Residents};
use self::tenants::registrar;
use crate::data::current::{Current, Own};
use crate::data::endpoints::Endpoints;
use crate::data::secrets::{Draft, ImportChange, Secrets, Stored, Vault};
use crate::error::{ChangeError, StartError};
use crate::functions::assembly::{self, Assembled, Timers};
use crate::functions::names::Names;
use crate::functions::people::Changed;
use crate::functions::{Spec, identity, named};
use crate::gateway::Served;
use crate::like_aws::{Invocations, LikeAws};
use crate::mqtt::Backgrounds;
use crate::options::{Outside, Tempo};
use crate::queue::{Door, Workers};

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

    async fn told(&self, site: &Site) {
        let (tenant, keys) = match self {
            Self::Idp => (None, "idp"),
            Self::Sealing => (None, "sealing"),
            Self::Session(tenant) => (Some(tenant), "session"),
        };
        site.told(Action::KeysRotate, tenant, keys).await;
    }
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
    pub(crate) like_aws: Option<LikeAws>,
    pub(crate) understanding: nlu::Slot,
}

impl Site {
    /// Tells the audit what the operator did.
    async fn told(&self, action: Action, tenant: Option<&Tenant>, object: &str) {
        let audit = self.store.audit(self.clock.now());
        audit
            .tell(action, tenant, Actor::Operator, object, audit::DONE)
            .await;
    }

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
    residents: Residents,
    /// Who works for every tenant.
    workers: RwLock<Workers>,
    timers: RwLock<Timers>,
    /// The keys that functions have fetched.
    keys: RwLock<Arc<JwksCache>>,
    /// Says that the list of endpoints is to be written.
    unlisted: Notify,
    pub(crate) backgrounds: Backgrounds,
    current: RwLock<Arc<Current>>,
    /// Held while something changes.
    vault: Mutex<Vault>,
}

impl Control {
    /// Serves whatever the secrets say there is.
    pub(crate) async fn start(site: Site, vault: Vault, current: Current) -> Result<Self, StartError> {
        let outbound = site.outbound(&current.endpoints);
        // Loading certificates takes long; it happens beside the rest of the start.
        let early = outbound.clone();
        let _nobody_waits = tokio::task::spawn_blocking(move || early.warm());
        let control = Self {
            keys: RwLock::new(JwksCache::new(Arc::new(FetchedKeys(outbound.clone())))),
            outbound,
            served: Served::new(site.like_aws.map(|_| Invocations::new())),
            site,
            residents: Residents::default(),
            workers: RwLock::default(),
            timers: RwLock::default(),
            unlisted: Notify::new(),
            backgrounds: Backgrounds::default(),
            current: RwLock::new(Arc::new(current)),
            vault: Mutex::new(vault),
        };
        let now = control.now();
        let built = control.build(&now).await?;
        if let Some(broker) = &control.site.outside.mqtt {
            broker.admit(&now, None)?;
        }
        control.residents.renew(&now);
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

    /// Makes the agents and every address known, and these tenants; the others are when they are asked for. To be called once the
    /// gateway answers.
    pub(crate) async fn announce(&self, tenants: &[Tenant]) -> Result<(), StartError> {
        let current = self.now();
        let endpoints = &current.endpoints;
        let registrar = registrar(endpoints);
        for (tenant, users) in &current.secrets.removed {
            self.clear(tenant, users, &registrar).await?;
        }
        for (name, url) in &endpoints.agents {
            registrar.register(name, url, None).await?;
        }
        for (tenant, _) in tenants.iter().filter_map(|name| endpoints.named(name)) {
            if let Some(own) = current.tenant(tenant) {
                set_up(&self.site, &current, &own).await?;
                self.known_to_all(&current, &own).await?;
            }
        }
        self.list(endpoints)
    }

    /// Folds what was kept of single tenants into the file of everything.
    pub(crate) async fn rest(&self) -> Result<(), StartError> {
        self.vault.lock().await.rest()
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
        self.take_over(&mut vault, draft, Change::Keys).await?;
        rotation.told(&self.site).await;
        Ok(())
    }

    /// Changes which agents of the broker the registry is to know.
    pub(crate) async fn import(&self, change: &ImportChange) -> Result<(), ChangeError> {
        if self.site.outside.mqtt.is_none() {
            return Err(ChangeError::NoBroker);
        }
        let mut vault = self.vault.lock().await;
        let draft = self.draft(&vault, |stored| change.apply(stored))?;
        self.take_over(&mut vault, draft, Change::Keys).await?;
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

    fn located(&self, secrets: &Secrets, change: Change<'_>) -> Endpoints {
        let (mut endpoints, names) = (self.now().endpoints.clone(), &self.site.names);
        match change {
            Change::Comes(tenant) => {
                let own = secrets.tenants.get(tenant).into_iter();
                own.for_each(|own| names.locate_tenant(&mut endpoints, tenant, own));
            }
            _ => names.locate(&mut endpoints, secrets),
        }
        endpoints
    }

    /// Keeps the draft and serves it, once whoever is new in it is set up. What cannot be built is not kept.
    async fn take_over(
        &self,
        vault: &mut Vault,
        draft: Draft,
        change: Change<'_>,
    ) -> Result<Arc<Current>, StartError> {
        let current = Arc::new(Current {
            endpoints: self.located(&draft.secrets, change),
            secrets: draft.secrets,
        });
        let own = change.tenant().and_then(|name| current.tenant(name));
        if let (Change::Comes(_), Some(own)) = (change, &own) {
            set_up(&self.site, &current, own).await?;
        }
        let functions = match own {
            Some(own) => Some((own, self.build_tenant(&current, own).await?)),
            None => None,
        };
        // The bridge answers for each tenant's agents.
        let is_bridged = self.site.outside.mqtt.is_some() && !matches!(change, Change::Users);
        let is_everybodys = matches!(change, Change::Keys);
        if is_everybodys {
            let keys = JwksCache::new(Arc::new(FetchedKeys(self.outbound.clone())));
            *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        }
        let built = match is_everybodys || is_bridged {
            true => Some(self.build(&current).await?),
            false => None,
        };
        vault.keep(draft.kept)?;
        // Whoever leaves still has to say so there.
        if let Some(broker) = &self.site.outside.mqtt {
            broker.admit(&current, Some(&self.now()))?;
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&current);
        match (change, functions) {
            (Change::Keys, _) => self.residents.renew(&current),
            (Change::Goes(tenant), _) => self.residents.remove(tenant),
            (_, Some((own, functions))) => {
                let comes = matches!(change, Change::Comes(_));
                self.residents.put(own, functions, comes);
            }
            (_, None) => {}
        }
        built.into_iter().for_each(|built| self.put(built));
        Ok(current)
    }

    /// What functions are built on: everybody's, or this tenant's.
    fn ground(&self, current: &Current, tenant: Option<Own<'_>>) -> Ground {
        let site = &self.site;
        Ground {
            clock: Arc::clone(&site.clock),
            entropy: Arc::clone(&site.entropy),
            store: site.store.clone(),
            caller: Caller::own(),
            wake: Arc::new(site.door.clone()),
            outbound: self.outbound.clone(),
            secrets: Arc::new(Held(named::secrets(current, &site.outside, tenant))),
            keys: self.keys.read().unwrap_or_else(PoisonError::into_inner).clone(),
            settings: site.tempo.agent.clone(),
            understanding: site.understanding.clone(),
        }
    }

    async fn build(&self, current: &Current) -> Result<Assembled, StartError> {
        let site = &self.site;
        let ground = self.ground(current, None);
        let parts = (&*site.functions, &ground, &site.outside);
        assembly::of_platform(parts, current, &site.changed_users).await
    }

    /// Who works for every tenant, at this agent.
    fn shared_worker(&self, agent: &AgentName) -> Option<Arc<dyn QueueHandler>> {
        let workers = self.workers.read().unwrap_or_else(PoisonError::into_inner);
        workers.get(agent).cloned()
    }

    fn put(&self, assembled: Assembled) {
        // Workers first: a call that is taken finds somebody who does its work.
        *self.workers.write().unwrap_or_else(PoisonError::into_inner) = assembled.workers;
        *self.timers.write().unwrap_or_else(PoisonError::into_inner) = assembled.timers;
        self.served.replace(assembled.gateway);
        self.backgrounds.replace(assembled.backgrounds);
    }

    /// Writes the list of endpoints: now where it is short, and soon where that would take longer than what it tells of.
    fn list(&self, endpoints: &Endpoints) -> Result<(), StartError> {
        if endpoints.tenants.len() > KEPT {
            self.unlisted.notify_one();
            return Ok(());
        }
        self.list_now(endpoints)
    }

    fn list_now(&self, endpoints: &Endpoints) -> Result<(), StartError> {
        self.site.lists.iter().try_for_each(|list| endpoints.write(list))
    }
}

/// What a draft changes.
#[derive(Clone, Copy)]
enum Change<'a> {
    /// Keys or settings that every function may read.
    Keys,
    /// A tenant comes.
    Comes(&'a Tenant),
    /// What this tenant's functions read.
    Of(&'a Tenant),
    /// A tenant goes.
    Goes(&'a Tenant),
    /// Who signs in, which no function reads.
    Users,
}

impl Change<'_> {
    /// Whose functions are built anew.
    fn tenant(&self) -> Option<&Tenant> {
        match self {
            Self::Comes(tenant) | Self::Of(tenant) => Some(tenant),
            Self::Keys | Self::Goes(_) | Self::Users => None,
        }
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
