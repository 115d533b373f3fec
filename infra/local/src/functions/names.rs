//! The agents of the system by their names in keys, and where each of them is.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{AgentName, InvalidId, Tenant};
use url::Url;

use crate::address::below;
use crate::data::endpoints::{Endpoints, TenantEndpoints};
use crate::data::secrets::{Secrets, TenantSecrets, Wanted};
use crate::functions::{HOST, Mounting, Spec, identity};

/// The names that agents have in keys.
pub struct Names {
    host: AgentName,
    /// Of those that each tenant has for itself, the host among them.
    tenant_agents: Vec<AgentName>,
    agents: Vec<AgentName>,
    /// Who signs in at the MQTT broker beside them, where there is one.
    mqtt_users: Option<Vec<String>>,
}

impl Names {
    /// The agents among these functions.
    ///
    /// # Errors
    /// Where a function is called otherwise than an agent can be.
    pub fn of(functions: &[Spec]) -> Result<Self, InvalidId> {
        let (own, shared): (Vec<_>, Vec<_>) = functions
            .iter()
            .partition(|spec| matches!(spec.place, Mounting::TenantAgent(..)));
        let names = |specs: Vec<&Spec>| {
            specs
                .into_iter()
                .filter_map(Spec::agent)
                .collect::<Result<_, _>>()
        };
        Ok(Self {
            host: AgentName::parse(HOST)?,
            tenant_agents: names(own)?,
            agents: names(shared)?,
            mqtt_users: None,
        })
    }

    /// The same for a system on an MQTT broker, where these sign in beside its agents.
    pub(crate) fn with_mqtt(self, users: Option<Vec<String>>) -> Self {
        Self {
            mqtt_users: users,
            ..self
        }
    }

    /// What there must be secrets for, with these tenants at least.
    #[must_use]
    pub fn wanted<'a>(&'a self, tenants: &'a [Tenant]) -> Wanted<'a> {
        Wanted {
            tenants,
            tenant_agents: &self.tenant_agents,
            agents: &self.agents,
            users: identity::demo_users,
            mqtt_users: self.mqtt_users.as_deref(),
        }
    }

    /// Every agent there is.
    pub fn all(&self) -> impl Iterator<Item = &AgentName> {
        self.tenant_agents.iter().chain(&self.agents)
    }

    /// Puts what the secrets say of agents and tenants into the list of endpoints.
    pub fn locate(&self, endpoints: &mut Endpoints, secrets: &Secrets) {
        endpoints.agents = urls(&endpoints.gateway, &secrets.slugs);
        endpoints.users.clear();
        endpoints.tenants.clear();
        for (tenant, own) in &secrets.tenants {
            self.locate_tenant(endpoints, tenant, own);
        }
    }

    /// Puts what the secrets say of one tenant into it.
    pub(crate) fn locate_tenant(&self, endpoints: &mut Endpoints, tenant: &Tenant, own: &TenantSecrets) {
        let users = Arc::new(identity::listed(own));
        endpoints.users.insert(tenant.name().to_owned(), users);
        let mut agents = urls(&endpoints.gateway, &own.slugs);
        if let Some(host_agent) = agents.remove(&self.host) {
            let base = below(&endpoints.gateway, &format!("/t/{}", tenant.name()));
            let located = TenantEndpoints {
                base,
                host_agent,
                agents,
            };
            endpoints.tenants.insert(tenant.clone(), Arc::new(located));
        }
    }
}

fn urls(gateway: &Url, slugs: &BTreeMap<AgentName, String>) -> BTreeMap<AgentName, Url> {
    let url = |slug: &String| below(gateway, &format!("/a/{slug}"));
    slugs
        .iter()
        .map(|(name, slug)| (name.clone(), url(slug)))
        .collect()
}
