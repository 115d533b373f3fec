//! Changes to a running system: tenants come and go, keys are rotated. Each change is drafted, built, kept and then
//! served, one at a time; what is under way goes on with the functions it began with.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use agent::WakeDoor;
use domain::{Clock, Entropy, ExposeSecret, SecretString, Tenant};
use outbound::Outbound;
use serde::{Deserialize, Serialize};
use store::Store;
use tokio::sync::Mutex;

use crate::assembly::{Names, assemble, owned};
use crate::functions::{self, Own, Shared};
use crate::gateway::Served;
use crate::queue::{Crew, Door};
use crate::registration::Registrar;
use crate::secrets::{Draft, Secrets, Stored, Vault};
use crate::{ChangeError, Endpoints, Live, StartError, Tempo, identity, orders};

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
}

/// What every function is built from besides secrets and addresses.
pub(crate) struct Ground {
    pub(crate) names: Names,
    pub(crate) store: Store,
    pub(crate) door: Door,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) live: BTreeSet<Live>,
    /// Where the list of endpoints is written.
    pub(crate) lists: Vec<PathBuf>,
    pub(crate) tempo: Tempo,
}

/// The system's secrets and addresses of now.
pub(crate) struct Current {
    pub(crate) secrets: Secrets,
    pub(crate) endpoints: Endpoints,
}

/// A running system, as far as it can change.
pub(crate) struct Control {
    pub(crate) ground: Ground,
    outbound: Outbound,
    pub(crate) served: Served,
    pub(crate) crew: Crew,
    current: RwLock<Arc<Current>>,
    /// Held while something changes.
    vault: Mutex<Vault>,
}

impl Control {
    /// Sets up whatever the secrets say there is, and serves it.
    pub(crate) async fn start(ground: Ground, vault: Vault, current: Current) -> Result<Self, StartError> {
        for own in owned(&current.endpoints, &current.secrets) {
            set_up(&ground, &own).await?;
        }
        let outbound = functions::outbound(ground.entropy.clone(), ground.tempo.rest)?;
        let control = Self {
            ground,
            outbound,
            served: Served::default(),
            crew: Crew::default(),
            current: RwLock::new(Arc::new(current)),
            vault: Mutex::new(vault),
        };
        control.serve(&control.now())?;
        Ok(control)
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
    pub(crate) async fn add_tenant(&self, name: &Tenant) -> Result<Arc<Current>, ChangeError> {
        let mut vault = self.vault.lock().await;
        let draft = self.draft(&vault, |stored| stored.add_tenant(name))?;
        let endpoints = self.located(&draft.secrets);
        if let Some(own) = owned(&endpoints, &draft.secrets).find(|own| own.name == name) {
            set_up(&self.ground, &own).await?;
        }
        let current = self.take_over(&mut vault, draft, endpoints)?;
        let registrar = registrar(&current.endpoints);
        register(&registrar, &current.endpoints, name).await?;
        self.list(&current.endpoints)?;
        tracing::info!(tenant.id = %name, "tenant added");
        Ok(current)
    }

    /// Takes a tenant away: nothing of it is served, nobody signs in there, its agents are in the registry no more.
    /// What else lies in the tables under its name stays, out of everybody's reach.
    pub(crate) async fn remove_tenant(&self, name: &Tenant) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let draft = self.draft(&vault, |stored| stored.remove_tenant(name))?;
        let endpoints = self.located(&draft.secrets);
        let current = self.take_over(&mut vault, draft, endpoints)?;
        let nobody = BTreeSet::new();
        let users = current.secrets.removed.get(name).unwrap_or(&nobody);
        self.clear(name, users, &registrar(&current.endpoints)).await?;
        self.list(&current.endpoints)?;
        tracing::info!(tenant.id = %name, "tenant removed");
        Ok(())
    }

    /// Rotates keys.
    pub(crate) async fn rotate(&self, rotation: &Rotation, force: bool) -> Result<(), ChangeError> {
        let mut vault = self.vault.lock().await;
        let Ground { clock, entropy, .. } = &self.ground;
        let draft = self.draft(&vault, |stored| {
            rotation.apply(stored, force, (&**clock, &**entropy))
        })?;
        let endpoints = self.located(&draft.secrets);
        self.take_over(&mut vault, draft, endpoints)?;
        tracing::info!(rotation = ?rotation, force, "keys rotated");
        Ok(())
    }

    fn draft(
        &self,
        vault: &Vault,
        change: impl FnOnce(&mut Stored) -> Result<(), ChangeError>,
    ) -> Result<Draft, ChangeError> {
        let Ground { names, entropy, .. } = &self.ground;
        vault.draft(&names.wanted(&[]), &**entropy, change)
    }

    fn located(&self, secrets: &Secrets) -> Endpoints {
        let mut endpoints = self.now().endpoints.clone();
        self.ground.names.locate(&mut endpoints, secrets);
        endpoints
    }

    /// Keeps the draft and serves it. What cannot be built is not kept.
    fn take_over(
        &self,
        vault: &mut Vault,
        draft: Draft,
        endpoints: Endpoints,
    ) -> Result<Arc<Current>, StartError> {
        let built = self.build(&draft.secrets, &endpoints)?;
        let secrets = vault.keep(draft)?;
        self.put(built);
        let current = Arc::new(Current { secrets, endpoints });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&current);
        Ok(current)
    }

    fn serve(&self, current: &Current) -> Result<(), StartError> {
        self.put(self.build(&current.secrets, &current.endpoints)?);
        Ok(())
    }

    fn build(
        &self,
        secrets: &Secrets,
        endpoints: &Endpoints,
    ) -> Result<(crate::gateway::Gateway, crate::queue::Workers), StartError> {
        let ground = &self.ground;
        let wake: Arc<dyn WakeDoor> = Arc::new(ground.door.clone());
        let shared = Shared::new(ground, wake, self.outbound.clone(), secrets, endpoints)?;
        let how = (&ground.live, &ground.clock);
        assemble(&shared, &ground.names, how, secrets, endpoints)
    }

    fn put(&self, (gateway, workers): (crate::gateway::Gateway, crate::queue::Workers)) {
        // Workers first: a call that is taken finds somebody who does its work.
        self.crew.replace(workers);
        self.served.replace(gateway);
    }

    /// Clears away what makes a tenant one.
    async fn clear(
        &self,
        name: &Tenant,
        users: &BTreeSet<String>,
        registrar: &Registrar<'_>,
    ) -> Result<(), StartError> {
        registrar.forget(name).await?;
        identity::clear(&self.ground.store, name, users).await
    }

    fn list(&self, endpoints: &Endpoints) -> Result<(), StartError> {
        self.ground
            .lists
            .iter()
            .try_for_each(|list| endpoints.write(list))
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

async fn set_up(ground: &Ground, own: &Own<'_>) -> Result<(), StartError> {
    identity::set_up(&ground.store, own, &*ground.entropy).await?;
    orders::set_up(&ground.store, own, &*ground.clock).await
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
