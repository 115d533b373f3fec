//! Where everything is, and every function put at its place: computed anew from the secrets of now whenever a tenant
//! comes or goes or a key is rotated, as a deployment would.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::{AgentName, Clock, InvalidId, Tenant};
use outbound::open_meteo::Bases;
use url::Url;

use crate::client::below;
use crate::functions::{Own, Shared};
use crate::gateway::Gateway;
use crate::queue::{AgentWork, Workers};
use crate::secrets::{Secrets, Wanted};
use crate::{Endpoints, Live, StartError, TenantEndpoints, identity};

/// The names that agents have in keys.
pub(crate) struct Names {
    host: AgentName,
    horizon: AgentName,
    weather: AgentName,
    report: AgentName,
    tenant_agents: Vec<AgentName>,
    agents: Vec<AgentName>,
}

impl Names {
    pub(crate) fn new() -> Result<Self, InvalidId> {
        let host = AgentName::parse("host")?;
        let horizon = AgentName::parse(horizon_agent::NAME)?;
        let weather = AgentName::parse(weather_agent::NAME)?;
        let report = AgentName::parse(report_agent::NAME)?;
        Ok(Self {
            tenant_agents: vec![host.clone(), horizon.clone()],
            agents: vec![weather.clone(), report.clone()],
            host,
            horizon,
            weather,
            report,
        })
    }

    /// What there must be secrets for, with these tenants at least.
    pub(crate) fn wanted<'a>(&'a self, tenants: &'a [Tenant]) -> Wanted<'a> {
        Wanted {
            tenants,
            tenant_agents: &self.tenant_agents,
            agents: &self.agents,
            users: identity::demo_users,
        }
    }

    /// Every agent there is.
    pub(crate) fn all(&self) -> impl Iterator<Item = &AgentName> {
        self.tenant_agents.iter().chain(&self.agents)
    }

    /// Puts what the secrets say of agents and tenants into the list of endpoints.
    pub(crate) fn locate(&self, endpoints: &mut Endpoints, secrets: &Secrets) {
        let gateway = &endpoints.gateway;
        let urls = |slugs: &BTreeMap<AgentName, String>| -> BTreeMap<AgentName, Url> {
            slugs
                .iter()
                .map(|(name, slug)| (name.clone(), below(gateway, &format!("/a/{slug}"))))
                .collect()
        };
        let agents = urls(&secrets.slugs);
        let tenants: BTreeMap<Tenant, TenantEndpoints> = secrets
            .tenants
            .iter()
            .filter_map(|(name, own)| {
                let mut agents = urls(&own.slugs);
                let host_agent = agents.remove(&self.host)?;
                let base = below(gateway, &format!("/t/{name}"));
                Some((
                    name.clone(),
                    TenantEndpoints {
                        base,
                        host_agent,
                        agents,
                    },
                ))
            })
            .collect();
        let users = secrets
            .tenants
            .iter()
            .map(|(name, own)| (name.clone(), identity::listed(&own.users)));
        endpoints.users = users.collect();
        endpoints.agents = agents;
        endpoints.tenants = tenants;
    }
}

/// Every tenant with all that is its own.
pub(crate) fn owned<'a>(endpoints: &'a Endpoints, secrets: &'a Secrets) -> impl Iterator<Item = Own<'a>> {
    endpoints.tenants.iter().filter_map(|(name, endpoints)| {
        let secrets = secrets.tenants.get(name)?;
        Some(Own {
            name,
            endpoints,
            secrets,
        })
    })
}

/// Where weather comes from.
pub(crate) fn open_meteo(live: &BTreeSet<Live>, endpoints: &Endpoints) -> Result<Bases, StartError> {
    if live.contains(&Live::Weather) {
        Bases::live().map_err(StartError::part("weather agent"))
    } else {
        Ok(Bases::both(below(&endpoints.gateway, "/sandbox/open-meteo")))
    }
}

/// Builds every function and puts it at its address.
pub(crate) fn assemble(
    shared: &Shared,
    names: &Names,
    (live, clock): (&BTreeSet<Live>, &Arc<dyn Clock>),
    secrets: &Secrets,
    endpoints: &Endpoints,
) -> Result<(Gateway, Workers), StartError> {
    let mut gateway = Gateway::default();
    let mut workers = Workers::new();
    gateway.mount(endpoints.registry.path(), shared.registry(&endpoints.registry)?)?;
    gateway.mount(endpoints.idp.path(), shared.idp(&endpoints.idp, secrets))?;
    gateway.mount(
        "/sandbox/open-meteo",
        sandbox::open_meteo::open_meteo(clock.clone()),
    )?;

    if let Some(url) = endpoints.agents.get(&names.weather) {
        let agent = shared.weather(url, open_meteo(live, endpoints)?)?;
        gateway.mount(url.path(), weather_agent::router(&agent))?;
        workers.insert((names.weather.clone(), None), Arc::new(AgentWork(agent)));
    }
    if let Some(url) = endpoints.agents.get(&names.report) {
        let agent = shared.report(url)?;
        gateway.mount(url.path(), report_agent::router(&agent))?;
        workers.insert((names.report.clone(), None), Arc::new(AgentWork(agent)));
    }
    for own in owned(endpoints, secrets) {
        let (name, tenant) = (own.name, own.endpoints);
        let host = shared.host_agent(&own, &endpoints.registry, (&endpoints.idp, secrets))?;
        gateway.mount(
            tenant.host_agent.path(),
            host_agent::router(host_agent::State { agent: host.clone() }),
        )?;
        workers.insert(
            (names.host.clone(), Some(name.clone())),
            Arc::new(AgentWork(host)),
        );
        if let Some(url) = tenant.agents.get(&names.horizon) {
            let agent = shared.horizon(&own, url, (&endpoints.idp, secrets))?;
            gateway.mount(url.path(), horizon_agent::router(&agent))?;
            workers.insert(
                (names.horizon.clone(), Some(name.clone())),
                Arc::new(AgentWork(agent)),
            );
        }
        gateway.mount_below(
            tenant.base.path(),
            "/api/webhook/",
            shared.webhook_receiver(name, &names.host),
        )?;
        for below in ["/connect/", "/callback"] {
            let callback = shared.oauth_callback(&own, &endpoints.idp);
            gateway.mount_below(tenant.base.path(), below, callback)?;
        }
        gateway.mount(
            tenant.base.path(),
            shared.chat_api(&own, &names.host, &endpoints.idp),
        )?;
    }
    Ok((gateway, workers))
}
