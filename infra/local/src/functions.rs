//! Every function of the system, a line each: what it is called, where it stands, how its settings are read and how it is
//! built. Its `main.rs` says the same to Lambda.

pub(crate) mod assembly;
pub mod identity;
pub(crate) mod named;
pub mod names;
pub(crate) mod people;
pub mod sam_env;

use std::path::Path;
use std::pin::Pin;

use domain::{AgentName, InvalidId, InvalidSetting, SettingChange};
use edge::config::{Env, Platform};
use edge::{Error, Function, Ground};

use crate::google;

/// A function of the system.
pub struct Spec {
    /// Its name, which is its package's.
    pub name: &'static str,
    pub(crate) place: Mounting,
    reads: Box<Reading>,
    starts: Box<dyn Fn(Ground, Env) -> Starting + Send + Sync>,
}

type Reading = dyn Fn(&mut Env) -> Result<(), Error> + Send + Sync;
type Starting = Pin<Box<dyn Future<Output = Result<Function, Error>> + Send>>;

/// Where a function stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounting {
    /// Once for all tenants, at this path.
    At(&'static str),
    /// Once for all tenants, as the agent of this name, at an unguessable path.
    Agent(&'static str),
    /// For each tenant, likewise; with whose tokens it takes.
    TenantAgent(&'static str, Trust),
    /// For each tenant, below its base, for the paths that begin so.
    Below(&'static [&'static str]),
    /// Once, at no address: it runs by the clock.
    Timer,
}

/// Whose tokens an agent takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those of whoever has signed in at the tenant's authorization server.
    SignedIn,
    /// Those, and the sessions that tenants and platform sign themselves.
    SessionsToo,
}

/// The name of `oauth_callback` where it takes the calendar agent's consents.
pub(crate) const CALENDAR_CALLBACK: &str = "calendar_callback";

/// The name of the host agent in keys and on queues.
pub(crate) const HOST: &str = host_agent::AGENT;

/// A function by its package, which shows the same four names in each.
macro_rules! spec {
    ($function:ident, $place:expr) => {
        spec!($function, $place, $function::Config::read)
    };
    ($function:ident, $place:expr, $read:expr) => {
        Spec::new($function::NAME, $place, $read, $function::build)
    };
}

/// Every function; the hosts among them wait for other agents as this says, and the chat's page may be one that is built in a
/// folder. Where several stand at one base, the first that fits a path gets it.
#[must_use]
pub fn all(patience: &host_agent::Patience, page: Option<&Path>) -> Vec<Spec> {
    let (patience, page) = (patience.clone(), page.map(Path::to_owned));
    let chat = move |env: &mut Env| {
        let read = chat_api::Config::read(env);
        read.map(|config| chat_api::Config {
            page: page.clone(),
            ..config
        })
    };
    let host = move |env: &mut Env| {
        let read = host_agent::Config::read(env);
        read.map(|config| host_agent::Config {
            patience: patience.clone(),
            ..config
        })
    };
    let open = Mounting::Agent;
    let own = Mounting::TenantAgent;
    vec![
        spec!(registry, Mounting::At("/registry")),
        spec!(idp, Mounting::At("/idp")),
        spec!(weather_agent, open(weather_agent::AGENT)),
        spec!(airbnb_agent, open(airbnb_agent::AGENT)),
        spec!(calendar_agent, open(calendar_agent::AGENT)),
        // Deployed once more, for the consents that the calendar agent asks for.
        Spec::new(
            CALENDAR_CALLBACK,
            Mounting::At(google::CONSENT),
            oauth_callback::Config::read,
            oauth_callback::build,
        ),
        spec!(report_agent, open(report_agent::AGENT)),
        spec!(host_agent, own(HOST, Trust::SessionsToo), host),
        spec!(horizon_agent, own(horizon_agent::AGENT, Trust::SignedIn)),
        spec!(webhook_receiver, Mounting::Below(&["/api/webhook/"])),
        spec!(
            oauth_callback,
            Mounting::Below(&["/connect/", "/callback", "/signin", "/signout"])
        ),
        spec!(chat_api, Mounting::Below(&["/"]), chat),
        spec!(task_sweeper, Mounting::Timer),
    ]
}

/// Whether a tenant's functions can read this setting of a deployment, as far as it alone tells.
///
/// # Errors
/// What the first that reads it says of it.
pub fn readable(change: &SettingChange) -> Result<(), InvalidSetting> {
    let (key, value) = (change.key(), change.value().unwrap_or_default());
    for spec in all(&host_agent::Patience::default(), None) {
        let mut env = Env::of([("TENANT_ID", "tenant"), (key, value)]);
        let _told_below = spec.is_of_tenant().then(|| spec.read(&mut env));
        let told = env.finish().err().into_iter().flat_map(|error| error.problems);
        if let Some(problem) = { told }.find(|problem| problem.name == key) {
            return Err(InvalidSetting::Value(format!("{key} {}", problem.reason)));
        }
    }
    Ok(())
}

/// The bridge to an MQTT broker, which is only there where a broker is.
pub(crate) fn bridge() -> Spec {
    let place = Mounting::At(crate::mqtt::BRIDGE);
    Spec::new(
        mqtt_bridge::NAME,
        place,
        mqtt_bridge::Config::read,
        mqtt_bridge::build,
    )
}

impl Spec {
    fn new<C, E, F>(
        name: &'static str,
        place: Mounting,
        read: impl Fn(&mut Env) -> Result<C, E> + Clone + Send + Sync + 'static,
        build: fn(Ground, C) -> F,
    ) -> Self
    where
        C: Send + 'static,
        E: Into<Error> + Send + 'static,
        F: Future<Output = Result<Function, Error>> + Send + 'static,
    {
        let reading = read.clone();
        Self {
            name,
            place,
            reads: Box::new(move |env| {
                let (platform, own) = (Platform::read(env), reading(env));
                own.map_err(Into::into)?;
                platform?;
                Ok(())
            }),
            starts: Box::new(move |ground, env| {
                let settings = edge::config::read(env, &read);
                Box::pin(async move {
                    let (_, config) = settings?;
                    build(ground, config).await
                })
            }),
        }
    }

    /// Reads its settings, to see which there are and whether they are good.
    ///
    /// # Errors
    /// The first that is missing or wrong.
    pub fn read(&self, env: &mut Env) -> Result<(), Error> {
        (self.reads)(env)
    }

    /// Starts the function with these settings, as `main.rs` does.
    pub(crate) async fn start(&self, ground: Ground, env: Env) -> Result<Function, Error> {
        (self.starts)(ground, env).await
    }

    /// Whether each tenant has one of its own.
    pub(crate) fn is_of_tenant(&self) -> bool {
        matches!(self.place, Mounting::TenantAgent(..) | Mounting::Below(_))
    }

    /// The agent that it is, if it is one.
    pub(crate) fn agent(&self) -> Option<Result<AgentName, InvalidId>> {
        match self.place {
            Mounting::Agent(name) | Mounting::TenantAgent(name, _) => Some(AgentName::parse(name)),
            Mounting::At(_) | Mounting::Below(_) | Mounting::Timer => None,
        }
    }
}
