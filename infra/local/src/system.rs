//! The system: every part started in order, and stopped.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use auth::Grant;
use axum::serve::ListenerExt;
use domain::{AgentName, Clock, Entropy, ExposeSecret, InvalidId, SecretString};
use outbound::open_meteo::Bases;
use store::Store;
use task_sweeper::Swept;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::client::below;
use crate::database::Database;
use crate::folder::Folder;
use crate::functions::{Own, Shared, plain};
use crate::gateway::Gateway;
use crate::queue::{self, AgentWork, Workers};
use crate::registration::Registrar;
use crate::secrets::{self, Secrets, Wanted};
use crate::{
    Data, Endpoints, Live, Options, StartError, TenantEndpoints, endpoints, identity, index, orders, sandbox,
};

/// How long what is running may take to end when the system stops.
const DRAIN: Duration = Duration::from_secs(3);
/// How long a folder that another system holds is waited for.
const LET_GO: Duration = Duration::from_secs(1);
/// How long the registry's token lives: longer than anybody leaves a local system running.
const REGISTRY_TOKEN: Duration = Duration::from_secs(30 * 24 * 3600);
/// The name of the database in a data folder.
const DATABASE: &str = "switchyard.db";

/// A running system. Dropping it leaves its parts to the runtime; [`System::stop`] ends them in order.
pub struct System {
    endpoints: Endpoints,
    store: Store,
    sweeper: task_sweeper::State,
    stop: watch::Sender<bool>,
    parts: Vec<JoinHandle<()>>,
    pub(crate) database: Database,
    pub(crate) secrets: Secrets,
    pub(crate) router: axum::Router,
    pub(crate) door: queue::Door,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    _folder: Option<Folder>,
}

impl System {
    /// Starts every part; returns when all of them answer.
    ///
    /// # Errors
    /// [`StartError`], one sentence for whoever typed the command.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let folder = match &options.data {
            Data::Memory => None,
            Data::Folder(path) => Some(open(path).await?),
        };
        let file = |name: &str| folder.as_ref().map(|folder| folder.file(name));
        let lists: Vec<_> = file(endpoints::FILE)
            .into_iter()
            .chain(options.endpoints.clone())
            .collect();
        let listener = listen(options.port).await?;
        for list in &lists {
            // Whoever waits for the file must not find the last run's.
            let _none = std::fs::remove_file(list);
        }
        let names = Names::new().map_err(StartError::part("list of agents"))?;
        let wanted = Wanted {
            tenants: &options.tenants,
            tenant_agents: &[names.host.clone(), names.horizon.clone()],
            agents: std::slice::from_ref(&names.weather),
            users: identity::demo_users,
        };
        let secrets = Secrets::load_or_make(file(secrets::FILE).as_deref(), &wanted, &*options.entropy)?;
        let database = Database::start(file(DATABASE).as_deref()).await?;
        let (endpoints, registry_token) = plan(&options, &listener, &database, &secrets)?;
        for own in owned(&endpoints, &secrets) {
            identity::set_up(&database.store, &own, &*options.entropy).await?;
            orders::set_up(&database.store, &own, &*options.clock).await?;
        }
        let (door, queue) = queue::channel();
        let (stop, stopped) = watch::channel(false);
        let shared = Shared::new(
            database.store.clone(),
            Arc::new(door.clone()),
            (options.clock.clone(), options.entropy.clone()),
            &secrets,
            &endpoints,
        )?;
        let (gateway, workers) = assemble(&shared, &options, &names, &secrets, &endpoints)?;
        let sweeper = shared.sweeper();

        let router = gateway.into_router(index::page(&endpoints));
        let mut parts = vec![
            serve(listener, router.clone(), stopped.clone()),
            tokio::spawn(queue.run(workers, stopped.clone())),
        ];
        if let Some(every) = options.sweep_every {
            parts.push(tokio::spawn(sweep_often(sweeper.clone(), every, stopped)));
        }
        let store = database.store.clone();
        let Options { clock, entropy, .. } = options;
        let system = Self {
            endpoints,
            store,
            sweeper,
            stop,
            parts,
            database,
            secrets,
            router,
            door,
            clock,
            entropy,
            _folder: folder,
        };
        match system.announce(&registry_token, &lists).await {
            Ok(()) => Ok(system),
            Err(fault) => {
                system.stop().await;
                Err(fault)
            }
        }
    }

    /// Makes the agents and every address known.
    async fn announce(&self, token: &SecretString, lists: &[PathBuf]) -> Result<(), StartError> {
        let registrar = Registrar {
            registry: &self.endpoints.registry,
            token: token.expose_secret(),
        };
        for (name, url) in &self.endpoints.agents {
            registrar.register(name, url, None).await?;
        }
        for (tenant, own) in &self.endpoints.tenants {
            for (name, url) in &own.agents {
                registrar.register(name, url, Some(tenant)).await?;
            }
        }
        lists.iter().try_for_each(|list| self.endpoints.write(list))
    }

    /// Where everything is.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Wakes what is due by now, once.
    pub async fn sweep(&self) -> Swept {
        sweep(&self.sweeper).await
    }

    /// The tables.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stops: nothing new is taken, what runs may end within a few seconds. Whatever does not is found again by the
    /// next start, since no work lives only in memory.
    pub async fn stop(self) {
        let _nobody_listens = self.stop.send(true);
        let deadline = Instant::now() + DRAIN;
        for mut part in self.parts {
            if timeout_at(deadline, &mut part).await.is_err() {
                part.abort();
            }
        }
        self.database.stop().await;
    }
}

/// The names that agents have in keys.
struct Names {
    host: AgentName,
    horizon: AgentName,
    weather: AgentName,
}

impl Names {
    fn new() -> Result<Self, InvalidId> {
        Ok(Self {
            host: AgentName::parse("host")?,
            horizon: AgentName::parse(horizon_agent::NAME)?,
            weather: AgentName::parse(weather_agent::NAME)?,
        })
    }
}

/// Opens the folder; a system that is just being stopped, or was killed, gets a moment to let go of it.
async fn open(path: &Path) -> Result<Folder, StartError> {
    let deadline = Instant::now() + LET_GO;
    loop {
        match Folder::open(path) {
            Err(StartError::Busy(_)) if Instant::now() < deadline => tokio::time::sleep(LET_GO / 20).await,
            opened => return opened,
        }
    }
}

async fn listen(port: u16) -> Result<TcpListener, StartError> {
    TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|source| match source.kind() {
            ErrorKind::AddrInUse => StartError::PortTaken { port },
            _ => StartError::Listen { port, source },
        })
}

/// Where everything will be: the addresses depend on the port and the secrets alone.
fn plan(
    options: &Options,
    listener: &TcpListener,
    database: &Database,
    secrets: &Secrets,
) -> Result<(Endpoints, SecretString), StartError> {
    let address = listener.local_addr().map_err(StartError::part("gateway"))?;
    let gateway = Url::parse(&format!("http://{address}")).map_err(StartError::part("gateway"))?;
    let registry = below(&gateway, "/registry");
    let agents = |slugs: &BTreeMap<AgentName, String>| -> BTreeMap<AgentName, Url> {
        slugs
            .iter()
            .map(|(name, slug)| (name.clone(), below(&gateway, &format!("/a/{slug}"))))
            .collect()
    };
    let mut tenants = BTreeMap::new();
    for name in &options.tenants {
        let mut own = secrets
            .tenants
            .get(name)
            .map(|own| agents(&own.slugs))
            .unwrap_or_default();
        let host = own
            .iter()
            .find(|(name, _)| name.as_str() == "host")
            .map(|(name, _)| name.clone());
        let Some(host_agent) = host.and_then(|host| own.remove(&host)) else {
            continue;
        };
        let base = below(&gateway, &format!("/t/{name}"));
        tenants.insert(
            name.clone(),
            TenantEndpoints {
                base,
                host_agent,
                agents: own,
            },
        );
    }
    let grant = Grant {
        issuer: &plain(&gateway),
        subject: "operator",
        tenant: None,
        audience: &plain(&registry),
        scopes: &["registry:admin"],
        lifetime: REGISTRY_TOKEN,
    };
    let token = secrets
        .platform
        .sign(&grant, options.clock.now(), &*options.entropy);
    let token = token.map_err(StartError::part("registry's token"))?;
    let endpoints = Endpoints {
        agents: agents(&secrets.slugs),
        users: tenants
            .keys()
            .filter_map(|name| {
                let users = &secrets.tenants.get(name)?.users;
                Some((name.clone(), identity::listed(users)))
            })
            .collect(),
        idp: below(&gateway, "/idp"),
        dynamodb: database.url.clone(),
        registry_token: token.expose_secret().to_owned(),
        gateway,
        registry,
        tenants,
    };
    Ok((endpoints, token))
}

/// Every tenant with all that is its own.
fn owned<'a>(endpoints: &'a Endpoints, secrets: &'a Secrets) -> impl Iterator<Item = Own<'a>> {
    endpoints.tenants.iter().filter_map(|(name, endpoints)| {
        let secrets = secrets.tenants.get(name)?;
        Some(Own {
            name,
            endpoints,
            secrets,
        })
    })
}

/// Builds every function and puts it at its address.
fn assemble(
    shared: &Shared,
    options: &Options,
    names: &Names,
    secrets: &Secrets,
    endpoints: &Endpoints,
) -> Result<(Gateway, Workers), StartError> {
    let mut gateway = Gateway::default();
    let mut workers = Workers::new();
    gateway.mount(endpoints.registry.path(), shared.registry(&endpoints.registry)?)?;
    gateway.mount(endpoints.idp.path(), shared.idp(&endpoints.idp, secrets))?;
    gateway.mount(
        "/sandbox/open-meteo",
        sandbox::open_meteo::open_meteo(options.clock.clone()),
    )?;

    if let Some(url) = endpoints.agents.get(&names.weather) {
        let open_meteo = if options.live.contains(&Live::Weather) {
            Bases::live().map_err(StartError::part("weather agent"))?
        } else {
            Bases::both(below(&endpoints.gateway, "/sandbox/open-meteo"))
        };
        let agent = shared.weather(url, open_meteo)?;
        gateway.mount(url.path(), weather_agent::router(&agent))?;
        workers.insert((names.weather.clone(), None), Arc::new(AgentWork(agent)));
    }
    for own in owned(endpoints, secrets) {
        let (name, tenant) = (own.name, own.endpoints);
        let host = shared.host_agent(&own, &endpoints.registry, &endpoints.idp)?;
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

fn serve(listener: TcpListener, router: axum::Router, mut stop: watch::Receiver<bool>) -> JoinHandle<()> {
    // Small frames of a stream must leave at once.
    let listener = listener.tap_io(|connection| {
        let _best_effort = connection.set_nodelay(true);
    });
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        queue::stopped(&mut stop).await;
    });
    tokio::spawn(async move {
        if let Err(error) = serving.into_future().await {
            tracing::error!(error = &error as &dyn std::error::Error, "the gateway ended");
        }
    })
}

async fn sweep(sweeper: &task_sweeper::State) -> Swept {
    task_sweeper::sweep(&sweeper.store, &*sweeper.wake, &*sweeper.clock).await
}

async fn sweep_often(sweeper: task_sweeper::State, every: Duration, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                sweep(&sweeper).await;
            }
            () = queue::stopped(&mut stop) => return,
        }
    }
}
