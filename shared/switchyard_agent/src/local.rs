//! An agent on somebody's own machine: a database in the same process, a queue in memory, a look each second at what is due, and the
//! running system that it joins.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, wakes};
use auth::{Issuer, Sealer};
use axum::Router;
use domain::{ExposeSecret as _, SecretString, SystemEntropy};
use dynamodb::{AccessKey, Server};
use edge::agent_parts::{self, AgentConfig};
use edge::config::{Env, Platform, ThisMachine};
use edge::secrets::Held;
use edge::telemetry::{Lines, init_local};
use edge::{Error, Ground, sweep};
use outbound::{Outbound, below};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use crate::{Card, NAME, Own};

/// The name of the one secret.
const SEALING: &str = "sealing";
/// From one look at what is due to the next.
const EVERY: Duration = Duration::from_secs(1);
/// Most bytes that are read of a file.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// What the program was started with.
struct Options {
    port: u16,
    joins: bool,
    data: PathBuf,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut options = Self {
            port: 9100,
            joins: true,
            data: "data".into(),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--no-join" => options.joins = false,
                "--port" => options.port = words.next().unwrap_or_default().parse()?,
                "--data" => options.data = words.next().unwrap_or_default().into(),
                _ => return Err(format!("{word}: the options are --port, --data and --no-join").into()),
            }
        }
        Ok(options)
    }
}

/// The running system, as its list of endpoints tells of it.
#[derive(Deserialize)]
struct System {
    registry: Url,
    registry_token: String,
    idp: Url,
}

impl System {
    fn read(place: Option<String>) -> Result<Self, Error> {
        let place = place.ok_or("SWITCHYARD_ENDPOINTS is not set")?;
        Ok(serde_json::from_str(&text_of(Path::new(&place))?)?)
    }

    /// Whose tokens are good: those of its tenants' hosts.
    fn issuers(&self) -> Result<Vec<Issuer>, Error> {
        let keys = format!(
            "{}/{{tenant}}/sessions.json",
            self.idp.as_str().trim_end_matches('/')
        );
        Ok(serde_json::from_value(json!([{ "jwks_uri": keys }]))?)
    }

    /// Has the agent registered; what became of that, in a few words.
    async fn joined(&self, outbound: &Outbound, card: &Url) -> Result<String, Error> {
        let (body, token) = (
            json!({ "cardUrl": card }),
            SecretString::from(self.registry_token.as_str()),
        );
        let agents = below(&self.registry, "agents");
        let (status, told) = outbound
            .request_json(http::Method::POST, &agents, Some(&body), Some(&token))
            .await?;
        Ok(match (status, told.get("id").and_then(Value::as_str)) {
            (200..300, Some(id)) => format!("registered as {id}"),
            _ => format!("refused: {told}"),
        })
    }
}

/// An agent that works in this process.
pub(crate) struct Local {
    agent: Arc<Agent>,
    _database: Server,
}

impl Local {
    /// Starts it at this address, over the data of this folder, or in memory where there is none.
    pub(crate) async fn start<C: FnOnce(Url) -> Card>(
        own: Own<C>,
        (url, issuers): (Url, Vec<Issuer>),
        data: Option<&Path>,
    ) -> Result<Self, Error> {
        let random = || Sealer::generate_key(&SystemEntropy).expose_secret().to_owned();
        let access = AccessKey {
            access_key_id: random(),
            secret_access_key: random(),
        };
        let file = data.map(|folder| folder.join("tasks.sqlite"));
        let guard = access.clone();
        let database = Server::start_behind(file.as_deref(), |router| guard.before(router))?;
        let platform = Platform {
            table_prefix: "agent-".to_owned(),
            this_machine: ThisMachine::Loopback,
            dynamodb: Some(access.within(database.url())),
            ..Platform::default()
        };
        let (door, queue) = wakes::queue();
        let ground = Ground {
            wake: door,
            secrets: Arc::new(Held(BTreeMap::from([(SEALING.to_owned(), sealing_key(data)?)]))),
            ..Ground::aws(platform)
        };
        ground.store.create_tables().await?;
        let config = AgentConfig {
            url,
            issuers,
            sealing_keys: SEALING.to_owned(),
            mqtt: None,
            push_schedule: None,
            retry_schedule: None,
            public: true,
        };
        let agent = own.agent(ground, config).await?;
        let (worker, looker) = (agent.clone(), agent.clone());
        tokio::spawn(wakes::work(queue, move |wake| {
            let agent = worker.clone();
            async move {
                if let Err(error) = agent::handle(&agent, &wake).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "a wake was not worked on"
                    );
                }
            }
        }));
        tokio::spawn(async move {
            loop {
                sweep::sweep(&looker.store, looker.wake.as_ref(), looker.clock.as_ref()).await;
                tokio::time::sleep(EVERY).await;
            }
        });
        Ok(Self {
            agent,
            _database: database,
        })
    }

    pub(crate) fn router(&self) -> Router {
        agent_parts::function(self.agent.clone(), NAME).router
    }
}

/// Serves it until the process ends.
pub(crate) async fn serve<C: FnOnce(Url) -> Card>(own: Own<C>) -> Result<(), Error> {
    let options = Options::read(std::env::args().skip(1))?;
    let mut env = Env::process();
    init_local(&env.or("LOG_FILTER", "warn".parse()?)?, Lines::Text, None, None);
    let system = System::read(env.optional("SWITCHYARD_ENDPOINTS")?);
    let issuers = system.as_ref().map_or_else(|_| Ok(Vec::new()), System::issuers)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&options.data)?;
    // From here on callers wait instead of being refused: the registry calls while it is told of the agent.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    let url: Url = format!("http://{}/", listener.local_addr()?).parse()?;
    let local = Local::start(own, (url.clone(), issuers), Some(&options.data)).await?;
    let router = local.router();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let card = below(&url, ".well-known/agent-card.json");
    let joined = match (options.joins, system) {
        (false, _) => Ok("not registered".to_owned()),
        (true, Ok(system)) => system.joined(&local.agent.outbound, &card).await,
        (true, Err(error)) => Err(error),
    };
    let joined = joined
        .unwrap_or_else(|error| format!("no system is reached ({error}); start one, then start this again"));
    let said: Value = json!({ "url": url, "card": card, "joined": joined });
    writeln!(std::io::stdout(), "{said}")?;
    Ok(serving.await??)
}

/// The keys that seal what clients entrust to the agent: those of the folder, which are made where there are none.
fn sealing_key(data: Option<&Path>) -> Result<SecretString, Error> {
    let place = data.map(|folder| folder.join("sealing.json"));
    if let Some(kept) = place.as_deref().filter(|place| place.exists()) {
        return Ok(text_of(kept)?.into());
    }
    let key = json!([["k1", Sealer::generate_key(&SystemEntropy).expose_secret()]]).to_string();
    if let Some(place) = place {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(place)?;
        file.write_all(key.as_bytes())?;
    }
    Ok(key.into())
}

fn text_of(place: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let file = File::open(place).map_err(|error| format!("{}: {error}", place.display()))?;
    file.take(FILE_MAX).read_to_string(&mut text)?;
    Ok(text)
}
