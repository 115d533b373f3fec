//! The system: every part started in order, and stopped.

pub(crate) mod testing;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::AgentAddress;
use axum::extract::ConnectInfo;
use domain::{AgentName, Clock, Entropy};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use store::Store;
use task_sweeper::Swept;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tower::ServiceExt as _;
use url::Url;

use crate::address::{below, plain};
use crate::control::{Control, Site, admin, follow, platform_token, shown};
use crate::data::current::Current;
use crate::data::database::Database;
use crate::data::endpoints::{self, Endpoints, MqttEndpoints};
use crate::data::folder::Folder;
use crate::data::secrets::{self, Secrets, Vault};
use crate::error::StartError;
use crate::functions::names::Names;
use crate::google::Google;
use crate::hosts::Hosts;
use crate::mcp::Homes;
use crate::mqtt::{self, MqttBroker};
use crate::options::{Data, LOOPBACK, Live, Options, Outside};
use crate::{functions, queue};

/// How long what is running may take to end when the system stops.
const DRAIN: Duration = Duration::from_secs(3);
/// How long a folder that another system holds is waited for.
const LET_GO: Duration = Duration::from_secs(1);
/// What every file of the database begins with.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";
/// The name of the database in a data folder.
const DATABASE: &str = "switchyard.db";

/// A running system. Dropping it leaves its parts to the runtime; [`System::stop`] ends them in order.
pub struct System {
    endpoints: Endpoints,
    told: Option<String>,
    port: u16,
    store: Store,
    stop: watch::Sender<bool>,
    parts: Vec<JoinHandle<()>>,
    pub(crate) database: Database,
    pub(crate) control: Arc<Control>,
    pub(crate) router: axum::Router,
    pub(crate) door: queue::Door,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    google: Option<sandbox::google::Google>,
    _folder: Option<Folder>,
}

impl System {
    /// Starts every part; returns when all of them answer.
    ///
    /// # Errors
    /// [`StartError`], one sentence for whoever typed the command.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let folder = match (&options.joined, &options.data) {
            (None, Data::Folder(path)) => Some(open(path).await?),
            _ => None,
        };
        let file = |name: &str| folder.as_ref().map(|folder| folder.file(name));
        let lists: Vec<_> = file(endpoints::FILE)
            .into_iter()
            .chain(options.endpoints.clone())
            .collect();
        if let Some(folder) = &folder {
            belong_together(folder)?;
        }
        let hosts = Hosts::of(&options.hosts, options.containers);
        let listeners = Listeners::open(options.port, options.containers).await?;
        let port = listeners
            .own
            .local_addr()
            .map_err(StartError::part("gateway"))?
            .port();
        for list in &lists {
            // Whoever waits for the file must not find the last run's.
            let _none = std::fs::remove_file(list);
        }
        let mut functions = functions::all(&options.tempo.patience, options.page.as_deref());
        functions.extend(options.mqtt.as_ref().map(|_| functions::bridge()));
        let names = Names::of(&functions).map_err(StartError::part("list of agents"))?;
        let mut guests = options.mqtt.iter().flat_map(|mqtt| &mqtt.guests);
        let is_outside = |guest: &AgentAddress| mqtt::is_outside(guest, names.all().map(AgentName::as_str));
        if let Some(guest) = guests.find(|guest| !is_outside(guest)) {
            return Err(StartError::NoGuest(guest.clone()));
        }
        let names = names.with_mqtt(options.mqtt.as_ref().and_then(MqttBroker::users));
        let wanted = names.wanted(&options.tenants);
        let shared = options.joined.as_ref().map(|joined| joined.secrets.clone());
        let (mut vault, secrets) =
            Vault::open(shared.or_else(|| file(secrets::FILE)), &wanted, &*options.entropy)?;
        let database = match &options.joined {
            Some(joined) => Database::of_another(joined.dynamodb.clone(), joined.store.clone()),
            None => {
                let at = (file(DATABASE), options.address());
                Database::start(at.0.as_deref(), at.1, hosts.clone(), &*options.entropy).await?
            }
        };
        vault.begun()?;
        let endpoints = plan(&options, port, &database, (&names, &secrets))?;
        let mcp = options.live.iter().find_map(|live| match live {
            Live::Mcp(url) => Some(url.clone()),
            Live::Weather | Live::Google(_) => None,
        });
        let homes = Homes::pinned(mcp, &options.entropy).await?;
        let told = homes.told();
        let (door, queue) = queue::channel(options.like_aws);
        let (stop, stopped) = watch::channel(false);
        let (changed_users, changes) = mpsc::unbounded_channel();
        let Options {
            clock,
            entropy,
            live,
            google,
            models,
            plan_approval,
            access_token_ttl,
            require_sign_in,
            push_services,
            mqtt,
            sweep_every,
            tempo,
            like_aws,
            understanding,
            joined,
            meter,
            tenants,
            ..
        } = options;
        let google = Google::of(google, &endpoints.gateway, (&clock, &entropy));
        let sandbox = google.sandbox().map(|(_, google)| google.clone());
        let site = Site {
            functions,
            names,
            store: database.store.clone().with_entropy(entropy.clone()),
            door: door.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            outside: Outside {
                live,
                homes,
                google,
                models,
                plan_approval,
                access_token_ttl,
                require_sign_in,
                push_services,
                mqtt,
            },
            lists,
            changed_users,
            tempo,
            like_aws,
            understanding,
        };
        let current = Current {
            secrets,
            endpoints: endpoints.clone(),
        };
        let control = Box::pin(Control::start(site, vault, current)).await;
        let control = Arc::new(control.map_err(|fault| database.cause(fault))?);

        let own = admin::router(&control)?;
        let router = own.merge(control.served.router(control.clone()));
        let router = match &meter {
            Some(meter) => meter.over(router),
            None => router,
        };
        let mut parts = vec![tokio::spawn(queue.run(control.clone(), meter, stopped.clone()))];
        let listeners = [Some(listeners.own), listeners.containers];
        let served = listeners.into_iter().flatten();
        let guarded = hosts.before(router.clone());
        parts.extend(served.map(|listener| serve(listener, guarded.clone(), stopped.clone())));
        let follows = follow::users(Arc::clone(&control), changes, stopped.clone());
        parts.push(tokio::spawn(follows));
        let lists = follow::list(Arc::clone(&control), stopped.clone());
        parts.push(tokio::spawn(lists));
        if let Some(every) = sweep_every {
            let every = like_aws.map_or(every, |like| every.max(like.sweep_every));
            parts.push(tokio::spawn(sweep_often(
                Arc::clone(&control),
                every,
                stopped.clone(),
            )));
            parts.push(tokio::spawn(check_often(Arc::clone(&control), stopped)));
        }
        let store = database.store.clone();
        let system = Self {
            endpoints,
            told,
            port,
            store,
            stop,
            parts,
            database,
            control,
            router,
            door,
            clock,
            entropy,
            google: sandbox,
            _folder: folder,
        };
        if joined.is_some_and(|joined| !joined.founds) {
            return Ok(system);
        }
        match system.control.announce(&tenants).await {
            Ok(()) => Ok(system),
            Err(fault) => {
                let fault = system.database.cause(fault);
                system.stop().await;
                Err(fault)
            }
        }
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where everything is, as it was at the start; [`System::endpoints_now`] knows of tenants that came since.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// What whoever started it should know of services outside.
    #[must_use]
    pub fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }

    /// Where everything is at the moment.
    #[must_use]
    pub fn endpoints_now(&self) -> Endpoints {
        self.control.now().endpoints.clone()
    }

    /// The sandbox's Google, where it is not the real one.
    #[must_use]
    pub fn google(&self) -> Option<&sandbox::google::Google> {
        self.google.as_ref()
    }

    /// Wakes what is due by now, once.
    pub async fn sweep(&self) -> Swept {
        sweep(&self.control).await
    }

    /// Looks at every registered agent's card, once.
    pub async fn check_agents(&self) {
        check_agents(&self.control).await;
    }

    /// The database, through the one room that names it.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stops: nothing new is taken, what runs may end within a few seconds. Whatever does not is found again by the
    /// next start, since no work lives only in memory.
    pub async fn stop(self) {
        // While the agents still answer: what is under way goes out, and their cards say that they leave.
        self.control.backgrounds.end().await;
        let _nobody_listens = self.stop.send(true);
        let deadline = Instant::now() + DRAIN;
        for mut part in self.parts {
            if timeout_at(deadline, &mut part).await.is_err() {
                part.abort();
            }
        }
        if let Err(error) = self.control.rest().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the secrets were not put into one file"
            );
        }
        self.database.stop().await;
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

/// The database must not be started with new keys: nothing in it could be opened, and nobody would know why. Nor an empty one with
/// the keys of one that is gone: everybody's work would seem never to have been.
fn belong_together(folder: &Folder) -> Result<(), StartError> {
    let (secrets, database) = (folder.file(secrets::FILE), folder.file(DATABASE));
    let is_empty = std::fs::metadata(&database).map_or(true, |file| file.len() == 0);
    match (is_database(&database), secrets.exists()) {
        (true, false) => Err(StartError::NoSecrets { secrets, database }),
        (_, true) if is_empty && Vault::has_begun(&secrets)? => {
            Err(StartError::NoDatabase { secrets, database })
        }
        _ => Ok(()),
    }
}

/// Whether somebody has stored something there; what is damaged is told by the database itself.
fn is_database(file: &Path) -> bool {
    let mut beginning = [0; SQLITE.len()];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == *SQLITE
}

/// What the gateway listens on.
struct Listeners {
    own: TcpListener,
    /// The same port, where containers reach it.
    containers: Option<TcpListener>,
}

impl Listeners {
    async fn open(port: u16, containers: Option<IpAddr>) -> Result<Self, StartError> {
        let own = listen(LOOPBACK, port).await?;
        let containers = match containers.filter(|address| *address != LOOPBACK) {
            None => None,
            Some(address) => {
                let port = own.local_addr().map_err(StartError::part("gateway"))?.port();
                Some(listen(address, port).await?)
            }
        };
        Ok(Self { own, containers })
    }
}

async fn listen(address: IpAddr, port: u16) -> Result<TcpListener, StartError> {
    TcpListener::bind((address, port))
        .await
        .map_err(|source| match source.kind() {
            ErrorKind::AddrInUse => StartError::PortTaken { port },
            ErrorKind::AddrNotAvailable => StartError::NoSuchAddress { address },
            _ => StartError::Listen { port, source },
        })
}

/// Where everything will be: the addresses depend on the port and the secrets alone.
fn plan(
    options: &Options,
    port: u16,
    database: &Database,
    (names, secrets): (&Names, &Secrets),
) -> Result<Endpoints, StartError> {
    let gateway = match &options.joined {
        Some(joined) => joined.gateway.clone(),
        None => {
            let address = SocketAddr::new(options.address(), port);
            Url::parse(&format!("http://{address}")).map_err(StartError::part("gateway"))?
        }
    };
    let registry = below(&gateway, "/registry");
    let token = |audience: &Url, scope: &str| {
        let clock_and_rng = (&*options.clock, &*options.entropy);
        let token = platform_token(secrets, &plain(&gateway), &plain(audience), scope, clock_and_rng);
        token.map(|token| shown(&token))
    };
    let aws = |service: &str| below(&gateway, &format!("/aws/{}/{service}", secrets.aws_slug));
    let mut endpoints = Endpoints {
        registry_token: token(&registry, "registry:admin")?,
        admin_token: token(&admin::url(&gateway), admin::SCOPE)?,
        agents: BTreeMap::new(),
        tenants: BTreeMap::new(),
        users: BTreeMap::new(),
        idp: below(&gateway, "/idp"),
        dynamodb: database.url.clone(),
        dynamodb_key: database.key.clone(),
        secrets_manager: aws("secretsmanager"),
        sqs: aws("sqs"),
        mqtt: options.mqtt.as_ref().map(|broker| MqttEndpoints {
            broker: broker.url.url().clone(),
            bridge: below(&gateway, mqtt::BRIDGE),
            prefix: broker.prefix.to_string(),
            orgs: broker.orgs.clone(),
            users: broker.listed(secrets),
        }),
        gateway,
        registry,
    };
    names.locate(&mut endpoints, secrets);
    Ok(endpoints)
}

/// How long the head of a request may take: half of one would hold its connection for ever.
const HEAD: Duration = Duration::from_secs(20);
/// How long nothing is accepted after that failed, as where the process has no file left.
const NO_ACCEPT: Duration = Duration::from_millis(200);

/// Serves connections until it is told to stop; those under way may end. (`axum::serve` waits for heads for ever.)
fn serve(listener: TcpListener, router: axum::Router, mut stop: watch::Receiver<bool>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut server = auto::Builder::new(TokioExecutor::new());
        server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = queue::stopped(&mut stop) => break,
            };
            let (connection, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "a connection was not accepted"
                    );
                    tokio::time::sleep(NO_ACCEPT).await;
                    continue;
                }
            };
            // Small frames of a stream must leave at once.
            let _best_effort = connection.set_nodelay(true);
            let router = router.clone();
            let service = hyper::service::service_fn(move |request: http::Request<Incoming>| {
                let mut request = request.map(axum::body::Body::new);
                // Each request knows its peer.
                request.extensions_mut().insert(ConnectInfo(peer));
                router.clone().oneshot(request)
            });
            let serving = server.serve_connection_with_upgrades(TokioIo::new(connection), service);
            let serving = graceful.watch(serving.into_owned());
            tokio::spawn(async move {
                // A client that goes away, or never said what it wants.
                let _ended = serving.await;
            });
        }
        graceful.shutdown().await;
    })
}

/// What a sweep could not do is due again with the next one.
async fn sweep(control: &Control) -> Swept {
    let mut swept = Swept::default();
    for timer in control.timers().sweeps {
        match timer.run().await.map(serde_json::from_value) {
            Ok(Ok(report)) => swept = report,
            Ok(Err(error)) => {
                tracing::error!(error = &error as &dyn std::error::Error, "no report of a sweep")
            }
            Err(error) => tracing::error!(error = &error as &dyn std::error::Error, "the sweep failed"),
        }
    }
    swept
}

async fn sweep_often(control: Arc<Control>, every: Duration, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                sweep(&control).await;
            }
            () = queue::stopped(&mut stop) => return,
        }
    }
}

/// How agents are is in the registry: what could not be looked at now is looked at first the next time.
async fn check_agents(control: &Control) {
    for timer in control.timers().checks {
        if let Err(error) = timer.run().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the agents were not looked at"
            );
        }
    }
}

async fn check_often(control: Arc<Control>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(registry::CHECK_EVERY) => check_agents(&control).await,
            () = queue::stopped(&mut stop) => return,
        }
    }
}
