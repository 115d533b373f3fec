//! Tenants at home here: a tenant's functions are built at its first request, and kept for those that were asked last; what a start
//! has to tell the tables of it is told then, too. However many tenants there are, a start is that of the platform.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::{AgentName, ExposeSecret as _, InvalidSetting, SettingChange, Tenant};
use edge::QueueHandler;
use edge::config::Env;
use serde_json::json;
use store::TenantSettings;
use tokio::sync::OnceCell;

use super::tenants::{register, registrar};
use super::{Control, Site, set_up};
use crate::data::current::{Current, Own};
use crate::error::{ChangeError, StartError};
use crate::functions::assembly::{self, Assembled};
use crate::functions::sam_env;
use crate::gateway::{Gateway, Tenants};
use crate::queue::Crew;

/// Of how many tenants the functions are kept.
pub(crate) const KEPT: usize = 256;

/// How tenants are set up: another number, and each is set up anew.
const FORM: u8 = 1;

/// The functions of the tenants that were asked last.
#[derive(Default)]
pub(crate) struct Residents {
    kept: Mutex<Kept>,
    /// Who was set up since the start.
    begun: Mutex<HashMap<Tenant, Once<()>>>,
    /// Whose agent is at an address.
    slugs: Mutex<HashMap<String, Tenant>>,
}

/// What is made once, while others wait for it.
type Once<T> = Arc<OnceCell<T>>;

#[derive(Default)]
struct Kept {
    asked: u64,
    functions: HashMap<Tenant, (Once<Arc<Assembled>>, u64)>,
}

impl Residents {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<Tenant, Once<()>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slugs(&self) -> MutexGuard<'_, HashMap<String, Tenant>> {
        self.slugs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a tenant's functions, which are those asked last from now on. What was asked longest ago makes room.
    fn place(&self, tenant: &Tenant, filled: Option<Arc<Assembled>>) -> Once<Arc<Assembled>> {
        let mut kept = self.kept();
        kept.asked += 1;
        let asked = kept.asked;
        if let (Some((place, last)), None) = (kept.functions.get_mut(tenant), &filled) {
            *last = asked;
            return Arc::clone(place);
        }
        let longest_ago = kept.functions.iter().min_by_key(|(_, (_, last))| *last);
        if let Some(other) = longest_ago.map(|(other, _)| other.clone())
            && kept.functions.len() >= KEPT
        {
            kept.functions.remove(&other);
        }
        let place = Arc::new(OnceCell::new_with(filled));
        kept.functions.insert(tenant.clone(), (Arc::clone(&place), asked));
        place
    }

    /// The functions of everybody are built anew, and everybody is set up anew: keys have changed.
    pub(super) fn renew(&self, current: &Current) {
        self.kept().functions.clear();
        self.begun().clear();
        let mut slugs = self.slugs();
        slugs.clear();
        for (tenant, own) in &current.secrets.tenants {
            slugs.extend(own.slugs.values().map(|slug| (slug.clone(), tenant.clone())));
        }
    }

    /// These are the tenant's functions from now on.
    pub(super) fn put(&self, own: Own<'_>, functions: Assembled, is_set_up: bool) {
        self.place(own.name, Some(Arc::new(functions)));
        if is_set_up {
            let done = Arc::new(OnceCell::new_with(Some(())));
            self.begun().insert(own.name.clone(), done);
        }
        let slugs = own.secrets.slugs.values();
        self.slugs()
            .extend(slugs.map(|slug| (slug.clone(), own.name.clone())));
    }

    /// The tenant is not here any more.
    pub(super) fn remove(&self, tenant: &Tenant) {
        self.kept().functions.remove(tenant);
        self.begun().remove(tenant);
        self.slugs().retain(|_, known| known != tenant);
    }
}

/// What a tenant is set up with, as a text that says nothing of it: its addresses, its keys, and how it is done here.
fn set_up_with(current: &Current, own: &Own<'_>) -> Result<String, StartError> {
    let part = "key maker";
    let keys = own.secrets.session_jwks().map_err(StartError::part(part))?;
    let sealing = current.secrets.sealing.first().map(|(name, _)| name);
    let client = auth::token::hash(own.secrets.client_secret.expose_secret());
    let agents = &own.endpoints.agents;
    let all = json!([
        FORM,
        own.endpoints.base,
        own.endpoints.host_agent,
        agents,
        keys,
        sealing,
        client
    ]);
    Ok(auth::token::hash(&all.to_string()))
}

/// What a path of a tenant's is for.
enum Below {
    /// Its own functions, that everything is to be ready for.
    Own(Tenant),
    /// An agent of it; the registry reads its card while the tenant is set up.
    Agent(Tenant),
    /// The authorization server, about it.
    Identity(Tenant),
}

impl Control {
    /// Sets a tenant up for this run of the system, where that is not done yet: tables and registry know its addresses of now.
    pub(super) async fn begin(&self, tenant: &Tenant) -> Result<(), StartError> {
        let current = self.now();
        let Some(own) = current.tenant(tenant) else {
            return Ok(());
        };
        let once = Arc::clone(self.residents.begun().entry(tenant.clone()).or_default());
        let begin = async || {
            let (tenants, part) = (self.site.store.tenants(), "table of tenants");
            let with = set_up_with(&current, &own)?;
            let known = tenants.is_set_up(tenant, &with).await;
            if known.map_err(StartError::part(part))? {
                return Ok(());
            }
            set_up(&self.site, &current, &own).await?;
            self.known_to_all(&current, &own).await
        };
        once.get_or_try_init(begin).await.copied()
    }

    /// The last step of setting a tenant up: the registry knows its agents, and its record that all is done.
    pub(super) async fn known_to_all(&self, current: &Current, own: &Own<'_>) -> Result<(), StartError> {
        register(&registrar(&current.endpoints), &current.endpoints, own.name).await?;
        let with = set_up_with(current, own)?;
        let noted = self.site.store.tenants().note_set_up(own.name, &with).await;
        noted.map_err(StartError::part("table of tenants"))
    }

    /// The tenant's functions; none where it is not here.
    async fn functions_of(&self, tenant: &Tenant) -> Result<Option<Arc<Assembled>>, StartError> {
        if self.now().tenant(tenant).is_none() {
            return Ok(None);
        }
        let place = self.residents.place(tenant, None);
        let build = async || {
            let current = self.now();
            let own = current
                .tenant(tenant)
                .ok_or_else(|| StartError::part("tenant")("it has just left"))?;
            self.build_tenant(&current, own).await.map(Arc::new)
        };
        place.get_or_try_init(build).await.cloned().map(Some)
    }

    /// Builds a tenant's functions, as its record says.
    pub(super) async fn build_tenant(
        &self,
        current: &Current,
        own: Own<'_>,
    ) -> Result<Assembled, StartError> {
        let says = self.deployment(own.name).await?;
        self.build_with(current, own, &says).await
    }

    /// What a tenant's record says of its functions.
    pub(super) async fn deployment(&self, tenant: &Tenant) -> Result<TenantSettings, StartError> {
        let Site { store, clock, .. } = &self.site;
        let says = store.tenants().deployment(tenant, clock.now()).await;
        says.map_err(StartError::part("table of tenants"))
    }

    /// Builds a tenant's functions as if its record had these changes. What is wrong of them is told by the functions that read them.
    pub(super) async fn build_changed(
        &self,
        current: &Current,
        own: Own<'_>,
        changes: &[SettingChange],
    ) -> Result<Assembled, ChangeError> {
        let mut says = self.deployment(own.name).await?;
        for change in changes {
            match change.value() {
                Some(value) => says.insert(change.key().to_owned(), value.to_owned()),
                None => says.remove(change.key()),
            };
        }
        let site = &self.site;
        for started in sam_env::all(&site.functions, current, &site.outside, Some(own))? {
            let mut env = Env::of(started.variables).with_record(&says);
            let _told_below = started.spec.read(&mut env);
            env.finish()
                .map_err(|error| InvalidSetting::Value(error.to_string()))?;
        }
        let built = self.build_with(current, own, &says).await;
        built.map_err(|error| InvalidSetting::Value(error.to_string()).into())
    }

    async fn build_with(
        &self,
        current: &Current,
        own: Own<'_>,
        says: &TenantSettings,
    ) -> Result<Assembled, StartError> {
        let site = &self.site;
        let ground = self.ground(current, Some(own));
        let parts = (&*site.functions, &ground, &site.outside);
        assembly::of_tenant(parts, current, (own, says), &site.changed_users).await
    }

    fn whose(&self, path: &str) -> Option<Below> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let (place, name) = (parts.next()?, parts.next()?);
        let current = self.now();
        match place {
            "t" => {
                let name = Tenant::parse(name).ok()?;
                let (tenant, _) = current.endpoints.named(&name)?;
                Some(Below::Own(tenant.clone()))
            }
            "a" => {
                let tenant = self.residents.slugs().get(name).cloned()?;
                let own = current.endpoints.tenants.get(&tenant)?;
                Some(match own.host_agent.path().ends_with(name) {
                    true => Below::Own(tenant),
                    false => Below::Agent(tenant),
                })
            }
            "idp" => Tenant::from_prefix(name).ok().map(Below::Identity),
            _ => None,
        }
    }
}

#[async_trait]
impl Tenants for Control {
    async fn below(&self, path: &str) -> Result<Option<Gateway>, StartError> {
        let tenant = match self.whose(path) {
            None => return Ok(None),
            Some(Below::Identity(tenant)) => {
                self.begin(&tenant).await?;
                return Ok(None);
            }
            Some(Below::Agent(tenant)) => tenant,
            Some(Below::Own(tenant)) => {
                self.begin(&tenant).await?;
                tenant
            }
        };
        let functions = self.functions_of(&tenant).await?;
        Ok(functions.map(|functions| functions.gateway.clone()))
    }
}

#[async_trait]
impl Crew for Control {
    async fn worker(&self, agent: &AgentName, tenant: &Tenant) -> Option<(Arc<dyn QueueHandler>, bool)> {
        if let Some(shared) = self.shared_worker(agent) {
            return Some((shared, false));
        }
        let ready = async {
            self.begin(tenant).await?;
            self.functions_of(tenant).await
        };
        match ready.await {
            Ok(functions) => functions?.workers.get(agent).map(|own| (own.clone(), true)),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(
                    tenant.id = tenant.name(),
                    error,
                    "a tenant's functions do not start"
                );
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_asked_longest_ago_makes_room() {
        let residents = Residents::default();
        let tenant = |number: usize| Tenant::parse(&format!("t{number}")).unwrap();
        let first = residents.place(&tenant(0), None);
        for number in 1..KEPT {
            residents.place(&tenant(number), None);
        }
        assert!(Arc::ptr_eq(&first, &residents.place(&tenant(0), None)));
        let second = residents.place(&tenant(1), None);
        for number in KEPT..2 * KEPT - 2 {
            residents.place(&tenant(number), None);
        }
        assert_eq!(residents.kept().functions.len(), KEPT);
        assert!(Arc::ptr_eq(&first, &residents.place(&tenant(0), None)));
        assert!(Arc::ptr_eq(&second, &residents.place(&tenant(1), None)));
        residents.place(&tenant(2), None);
        for number in 0..KEPT {
            residents.place(&tenant(3 * KEPT + number), None);
        }
        assert!(!Arc::ptr_eq(&first, &residents.place(&tenant(0), None)));
    }
}
