//! Every function started from its settings and put at its place: anew from the secrets of now whenever a tenant comes or
//! goes or a key is rotated, as a deployment would.

use std::sync::Arc;

use edge::config::Env;
use edge::{Background, Ground, ScheduleHandler};

use crate::address::below;
use crate::data::current::Current;
use crate::error::StartError;
use crate::functions::people::{self, Changed};
use crate::functions::sam_env::{self, Environment};
use crate::functions::{Mounting, Spec};
use crate::gateway::Gateway;
use crate::options::Outside;
use crate::queue::Workers;

/// What runs: functions by address, by agent, by the clock.
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

/// Starts every function and puts it at its place.
pub(crate) async fn assemble(
    functions: &[Spec],
    ground: &Ground,
    outside: &Outside,
    current: &Current,
    changed_users: &Changed,
) -> Result<Assembled, StartError> {
    let settings = sam_env::all(functions, current, outside)?;
    let mut assembled = Assembled {
        gateway: Gateway::default(),
        workers: Workers::new(),
        timers: Timers::default(),
        backgrounds: Vec::new(),
    };
    let open_meteo = sandbox::open_meteo::open_meteo(ground.clock.clone());
    assembled.gateway.mount("/sandbox/open-meteo", open_meteo)?;
    let homes = sandbox::mcp::mcp(sandbox::mcp::Revisions::Both);
    assembled.gateway.mount(crate::mcp::SANDBOX, homes)?;
    if let Some((path, google)) = outside.google.sandbox() {
        assembled.gateway.mount(path, google.router())?;
    }
    for started in settings {
        let Environment {
            spec,
            tenant,
            variables,
        } = &started;
        let function = spec.start(ground.clone(), Env::of(variables.clone())).await;
        let mut function = function.map_err(StartError::part(spec.name))?;
        if spec.name == idp::NAME {
            function.router = people::watched(function.router, changed_users);
        }
        for (path, prefix) in addresses(&started, current) {
            assembled
                .gateway
                .mount_below(&path, prefix, function.router.clone())?;
        }
        if let (Some(agent), Some(queue)) = (spec.agent(), function.queue) {
            let agent = agent.map_err(StartError::part(spec.name))?;
            assembled
                .workers
                .insert((agent, tenant.map(|own| own.name.clone())), queue);
        }
        let timers = match spec.place {
            Mounting::Timer => &mut assembled.timers.sweeps,
            _ => &mut assembled.timers.checks,
        };
        timers.extend(function.schedule);
        assembled.backgrounds.extend(function.background);
    }
    Ok(assembled)
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
