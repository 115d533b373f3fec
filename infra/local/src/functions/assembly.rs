//! Functions started from their settings and put at their places: those that serve everybody at the start, and anew from the
//! secrets of now whenever a key is rotated; a tenant's own when they are asked for.

use std::sync::Arc;

use edge::config::Env;
use edge::{Background, Ground, ScheduleHandler};
use store::TenantSettings;

use crate::address::below;
use crate::data::current::{Current, Own};
use crate::error::StartError;
use crate::functions::people::{self, Changed};
use crate::functions::sam_env::{self, Environment};
use crate::functions::{Mounting, Spec};
use crate::gateway::Gateway;
use crate::options::Outside;
use crate::queue::Workers;

/// What runs of everybody's, or of one tenant: functions by address, by agent, by the clock.
pub(crate) struct Assembled {
    pub(crate) gateway: Gateway,
    pub(crate) workers: Workers,
    pub(crate) timers: Timers,
    /// What runs as long as the process does.
    pub(crate) backgrounds: Vec<Arc<dyn Background>>,
}

/// What runs by the clock.
#[derive(Default, Clone)]
pub(crate) struct Timers {
    /// The sweeper.
    pub(crate) sweeps: Vec<Arc<dyn ScheduleHandler>>,
    /// The registry's looks at agents.
    pub(crate) checks: Vec<Arc<dyn ScheduleHandler>>,
}

impl Assembled {
    fn nothing() -> Self {
        Self {
            gateway: Gateway::default(),
            workers: Workers::new(),
            timers: Timers::default(),
            backgrounds: Vec::new(),
        }
    }
}

/// Starts the functions that serve everybody and puts each at its place, with the sandboxes beside them.
pub(crate) async fn of_platform(
    (functions, ground, outside): (&[Spec], &Ground, &Outside),
    current: &Current,
    changed_users: &Changed,
) -> Result<Assembled, StartError> {
    let settings = sam_env::all(functions, current, outside, None)?;
    let mut assembled = Assembled::nothing();
    let open_meteo = sandbox::open_meteo::open_meteo(ground.clock.clone());
    assembled.gateway.mount("/sandbox/open-meteo", open_meteo)?;
    let homes = sandbox::mcp::mcp(sandbox::mcp::Revisions::Both);
    assembled.gateway.mount(crate::mcp::SANDBOX, homes)?;
    if let Some((path, google)) = outside.google.sandbox() {
        assembled.gateway.mount(path, google.router())?;
    }
    let says = TenantSettings::new();
    assembled
        .start((settings, &says), ground, current, changed_users)
        .await
}

/// Starts a tenant's own functions, with what its record says of them, and puts each at its place.
pub(crate) async fn of_tenant(
    (functions, ground, outside): (&[Spec], &Ground, &Outside),
    current: &Current,
    (own, says): (Own<'_>, &TenantSettings),
    changed_users: &Changed,
) -> Result<Assembled, StartError> {
    let settings = sam_env::all(functions, current, outside, Some(own))?;
    let nothing = Assembled::nothing();
    nothing
        .start((settings, says), ground, current, changed_users)
        .await
}

impl Assembled {
    async fn start(
        mut self,
        (settings, says): (Vec<Environment<'_>>, &TenantSettings),
        ground: &Ground,
        current: &Current,
        changed_users: &Changed,
    ) -> Result<Self, StartError> {
        for started in settings {
            let Environment { spec, variables, .. } = &started;
            let env = Env::of(variables.clone()).with_record(says);
            let function = spec.start(ground.clone(), env).await;
            let mut function = function.map_err(StartError::part(spec.name))?;
            if spec.name == idp::NAME {
                function.router = people::watched(function.router, changed_users);
            }
            for (path, prefix) in addresses(&started, current) {
                self.gateway.mount_below(&path, prefix, function.router.clone())?;
            }
            if let (Some(agent), Some(queue)) = (spec.agent(), function.queue) {
                let agent = agent.map_err(StartError::part(spec.name))?;
                self.workers.insert(agent, queue);
            }
            let timers = match spec.place {
                Mounting::Timer => &mut self.timers.sweeps,
                _ => &mut self.timers.checks,
            };
            timers.extend(function.schedule);
            self.backgrounds.extend(function.background);
        }
        Ok(self)
    }
}

/// The paths of a function, each with what the paths below must begin with.
fn addresses(started: &Environment<'_>, current: &Current) -> Vec<(String, &'static str)> {
    match (started.spec.place, &started.tenant) {
        (Mounting::At(path), _) => vec![(below(&current.endpoints.gateway, path).path().to_owned(), "/")],
        (Mounting::Below(prefixes), Some(own)) => {
            let base = own.endpoints.base.path();
            prefixes.iter().map(|prefix| (base.to_owned(), *prefix)).collect()
        }
        (Mounting::Agent(_) | Mounting::TenantAgent(..), _) => {
            let url = started.agent_url(current);
            url.map(|url| (url.path().to_owned(), "/")).into_iter().collect()
        }
        (Mounting::Below(_) | Mounting::Timer, _) => Vec::new(),
    }
}
