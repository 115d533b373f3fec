//! `switchyard up`: starts everything and waits to be stopped.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant};

use ::mqtt::{BrokerUrl, InvalidBroker};
use a2a::mqtt::{AgentAddress, TopicPrefix};
use clap::Args;
use domain::SecretString;
use edge::config::Env;
use edge::telemetry::{Collector, Headers, Lines, LogFilter, ParseError, init_local};
use host_agent::PlanApproval;
use mqtt_bridge::ImportRule;
use sandbox::mosquitto::{self, Mosquitto, Wanted};
use tokio::signal::unix::{SignalKind, signal};
use url::Url;

use super::place::{self, Found};
use super::{Failure, lines, models_here, out};
use local::data::folder;
use local::{
    BrokerAccess, Data, GoogleClient, HostName, LikeAws, Live, Models, MqttBroker, Options, OwnBroker,
    System, Tempo, models, mqtt,
};

/// Start everything in one process
#[derive(Args)]
pub(super) struct Up {
    /// The gateway's port
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Listen where containers can reach this machine as well, and use that address everywhere: for `sam local`. Every
    /// container on this machine can then reach the database
    #[arg(long)]
    containers: bool,
    /// The address at which containers reach this machine
    #[arg(
        long,
        value_name = "IP",
        default_value = "172.17.0.1",
        requires = "containers"
    )]
    container_host: IpAddr,
    /// Answer to this host name too. Requests with any other name than `localhost`, its addresses and these are refused, so
    /// that no web page reaches the system under a name of its own. May be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<HostName>,
    /// The folder that keeps state and secrets
    #[arg(long, value_name = "FOLDER", default_value = place::DATA)]
    data: PathBuf,
    /// Keep nothing: state and secrets end with the process
    #[arg(long, conflicts_with = "data")]
    memory: bool,
    /// Also write the list of endpoints to this file
    #[arg(long, value_name = "FILE")]
    endpoints: Option<PathBuf>,
    /// Use a real service instead of its sandbox: `weather` (Open-Meteo), `google` (calendars; `google=URL` for another server
    /// with the same API) or `mcp=URL` (an MCP server for places to stay). May be repeated
    #[arg(long, value_name = "NAME[=URL]")]
    live: Vec<Live>,
    /// With `--live google`: the OAuth client at Google. Its redirect URI is `consent/callback` below this system's address
    #[arg(long, value_name = "ID", env = "GOOGLE_CLIENT_ID")]
    google_client_id: Option<String>,
    /// Its secret. Better set the variable: other users of the machine can read arguments
    #[arg(
        long,
        value_name = "SECRET",
        env = "GOOGLE_CLIENT_SECRET",
        hide_env_values = true
    )]
    google_client_secret: Option<SecretString>,
    /// Let this language model decide: `openai:URL,MODEL[,key-env=NAME][,context=TOKENS][,max-tokens=N][,first-byte=SECONDS]`
    /// (any server with the Chat Completions API; the variable NAME holds its key), `bedrock:MODEL_ID`, or `auto` (Ollama,
    /// llama.cpp's server, LM Studio or vLLM on this machine, on its usual port). May be repeated: if a model does not answer, the next is asked; the
    /// last may be `rules`, the built-in rules, which decide if no model is named
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,
    /// Understand words by this hosted model of sentences: `openai:URL,MODEL[,key-env=NAME]` (any server with OpenAI's embeddings
    /// API) or `bedrock:MODEL_ID`
    #[arg(long, value_name = "MODEL", conflicts_with = "model")]
    embed: Option<String>,
    /// How people's words are understood where neither is named: by `sentences` (a small model of sentences, which is
    /// downloaded once, 91 MB, and kept in the cache) or by `words` alone
    #[arg(
        long,
        value_name = "sentences|words",
        env = "SWITCHYARD_UNDERSTANDING",
        default_value = "sentences"
    )]
    understanding: Understanding,
    /// Which plans wait for their user's approval: `always`, `over:N` (plans of more than N steps) or `never`
    #[arg(long, value_name = "always|over:N|never", default_value_t)]
    plan_approval: PlanApproval,
    /// How many seconds the access tokens of the authorization server are good; a short life shows how they are renewed
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(60..=600))]
    access_token_ttl: u64,
    /// Require users to sign in to the chat, as deployed systems do; without it there are guests too
    #[arg(long)]
    require_sign_in: bool,
    /// A push service that browsers may be reached at beside those of their makers: its host, or `*.example.com`
    #[arg(long, value_name = "HOST")]
    push_service: Vec<String>,
    /// How many tokens of language models each tenant may use a day (UTC), unless `tenant set NAME tokens_per_day=N` says
    /// otherwise
    #[arg(long, value_name = "N", requires = "model", default_value_t = models::TOKENS_PER_DAY, value_parser = domain::parse_tokens)]
    tokens_per_day: u64,
    /// Also offer the agents on an MQTT broker: `mqtts://HOST[:PORT]`, `mqtt://…` on this machine, or `spawn` to start a
    /// Mosquitto
    #[arg(long, value_name = "spawn|URL")]
    mqtt: Option<Broker>,
    /// The prefix of all topics
    #[arg(long, value_name = "PREFIX", requires = "mqtt", default_value_t = TopicPrefix::standard())]
    mqtt_prefix: TopicPrefix,
    /// Another organisation that replies may go to, beside `switchyard`. May be repeated
    #[arg(long, value_name = "ORG", requires = "mqtt")]
    mqtt_org: Vec<String>,
    /// With `--mqtt spawn`: a client of another organisation that may sign in at the broker, as a requester or an agent; or
    /// `switchyard/platform/NAME`, as a requester only. Its password is in the list of endpoints. May be repeated
    #[arg(long, value_name = "ORG/UNIT/NAME", requires = "mqtt")]
    mqtt_user: Vec<AgentAddress>,
    /// With `--mqtt URL`: each agent signs in with its address and password, as `switchyard mqtt acl --passwords` lists them
    #[arg(long, requires = "mqtt")]
    mqtt_sign_in: bool,
    /// Register agents of the broker: those of a unit, or one agent; for all tenants, or for one. May be repeated
    #[arg(long, value_name = "ORG/UNIT[/AGENT]:TYPE[@TENANT]", requires = "mqtt")]
    mqtt_import: Vec<ImportRule>,
    /// What to log besides a line for each task: `off`, `debug`, or a filter such as `warn,host_agent=debug`. With `json`,
    /// all output is log lines in JSON
    #[arg(
        long,
        value_name = "json|debug|off|FILTER",
        default_value = "warn,dynoxide=error"
    )]
    log: Log,
    /// Send spans to this OpenTelemetry collector (OTLP over HTTP)
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp: Option<Url>,
    /// Headers for the collector: `name=value,name=value`, values percent-encoded
    #[arg(
        long,
        value_name = "HEADERS",
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide_env_values = true,
        default_value = ""
    )]
    otlp_headers: Headers,
    /// Be as unkind as AWS: wakes come twice and overtake each other, again after 12 minutes where they failed; the sweeper
    /// looks every 15 seconds, agents wait as long as deployed ones; events have at most 6 MB, bodies 10 MB; an answer that does not begin within
    /// 29 seconds is not waited for, more than a thousand requests at once are refused, and what a client that leaves has asked for goes on
    #[arg(long)]
    like_aws: bool,
    /// A folder with a build of the page, which `page --watch` makes.
    #[arg(skip)]
    pub(super) page: Option<PathBuf>,
}

/// How people's words are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Understanding {
    /// By a model of sentences, once it is there.
    Sentences,
    /// By words alone.
    Words,
}

/// Where what is fetched once for all systems of a user is kept.
#[expect(
    clippy::disallowed_methods,
    reason = "where a user's cache is, no setting of ours says"
)]
pub(crate) fn cache() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = || variable("HOME").map(|home| home.join(".cache"));
    variable("XDG_CACHE_HOME")
        .or_else(home)
        .map(|cache| cache.join("switchyard"))
}

/// Fills the slot beside what the system does, and says in a line how words are understood.
async fn understand(slot: nlu::Slot, machine: bool) {
    let say = move |line: &str| match machine {
        true => tracing::info!("{line}"),
        false => out::complain(format_args!("{line}")),
    };
    let Some(folder) = cache() else {
        return say("Words are matched only: there is no HOME to keep the model of sentences in.");
    };
    match local::understanding::fill(&slot, folder, say).await {
        Ok(()) => say("Sentences are understood by multilingual-e5-small."),
        Err(error) => say(&format!("Words are matched only: {error}.")),
    }
}

/// What is logged, beside the lines that tell of tasks.
#[derive(Debug, Clone)]
struct Log {
    filter: LogFilter,
    lines: Lines,
}

impl FromStr for Log {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        // The libraries' own details drown ours.
        const DEBUG: &str = "debug,dynoxide=error,hyper=info,hyper_util=info,h2=info,reqwest=info,rustls=info,tower=info,\
            aws_sdk_dynamodb=info,aws_smithy_runtime=info,aws_smithy_runtime_api=info,aws_smithy_http_client=info";
        let (filter, lines) = match text {
            "json" => ("info,dynoxide=error", Lines::Json),
            "debug" => (DEBUG, Lines::Text),
            filter => (filter, Lines::Text),
        };
        Ok(Self {
            filter: filter.parse()?,
            lines,
        })
    }
}

/// Which MQTT broker.
#[derive(Debug, Clone)]
enum Broker {
    Spawn,
    At(BrokerUrl),
}

impl FromStr for Broker {
    type Err = InvalidBroker;
    fn from_str(text: &str) -> Result<Self, InvalidBroker> {
        match text {
            "spawn" => Ok(Self::Spawn),
            url => url.parse().map(Self::At),
        }
    }
}

/// A Mosquitto of the system's own, in its data folder, so that it has after a restart what it had before.
fn spawned(data: &Path) -> Result<Mosquitto, Failure> {
    let folder = data.join("mosquitto");
    std::fs::create_dir_all(&folder).map_err(Failure::other)?;
    // Its port stays, as other addresses of the folder do.
    let kept = folder.join("port");
    let port = std::fs::read_to_string(&kept).ok();
    let port = port.and_then(|port| port.trim().parse().ok()).unwrap_or(0);
    let wanted = Wanted {
        persistent: true,
        closed: true,
        ..Wanted::default()
    };
    end_last(&folder);
    let started = Mosquitto::start(&mosquitto::program(), &folder, port, &wanted);
    let started = started.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::other(
            "there is no mosquitto here: install it (`apt-get install mosquitto`, `brew install mosquitto`), or name a broker",
        ),
        _ => Failure::other(format!("mosquitto does not start: {error}")),
    })?;
    std::fs::write(kept, started.port().to_string()).map_err(Failure::other)?;
    std::fs::write(folder.join(PROCESS), started.id().to_string()).map_err(Failure::other)?;
    Ok(started)
}

/// The file with the broker's process id, in its folder.
const PROCESS: &str = "pid";

/// Ends the broker of a system that was killed: it outlives its parent, and has the port.
fn end_last(folder: &Path) {
    let Some(last) = std::fs::read_to_string(folder.join(PROCESS)).ok() else {
        return;
    };
    let asked = Command::new("ps")
        .args(["-o", "args=", "-p", last.trim()])
        .output();
    let runs = asked.is_ok_and(|told| {
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        // Another process may have the number by now.
        told.contains("mosquitto") && told.contains(&*folder.to_string_lossy())
    });
    if runs {
        // What has ended meanwhile needs no signal.
        let _ = Command::new("kill").arg(last.trim()).status();
    }
}

impl Up {
    /// The data folder, where there is to be one.
    pub(super) fn data(&self) -> Option<&Path> {
        (!self.memory).then_some(&self.data)
    }

    pub(super) async fn run(mut self) -> Result<(), Failure> {
        if crate::out::is_json() {
            self.log.lines = Lines::Json;
        }
        let collector = self
            .otlp
            .map(|endpoint| Collector::at(endpoint, self.otlp_headers));
        // What `logs` shows. A program that reads the log on the standard output keeps it itself.
        let kept = (!self.memory && self.log.lines == Lines::Text).then(|| self.data.join(super::logs::FILE));
        if kept.is_some() {
            folder::make(&self.data)?;
        }
        init_local(
            &self.log.filter,
            self.log.lines,
            collector.as_ref(),
            kept.as_deref(),
        );
        if collector.is_some() {
            tokio::spawn(edge::telemetry::flush_every(Duration::from_secs(1)));
        }
        let machine = self.log.lines == Lines::Json;
        if !machine {
            lines::show();
        }
        let begun = Instant::now();
        // Before anything is started, so that a signal during the start is not lost.
        let mut terminate = signal(SignalKind::terminate()).map_err(Failure::other)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::other)?;
        let found = match (&self.endpoints, self.memory) {
            (_, false) => Some(Found::InFolder(self.data.clone())),
            (Some(file), true) => Some(Found::InFile(file.clone())),
            (None, true) => None,
        };
        let asked = self.live.iter().find_map(|live| match live {
            Live::Google(at) => Some(at.clone()),
            Live::Weather | Live::Mcp(_) => None,
        });
        let google = match (asked, self.google_client_id, self.google_client_secret) {
            (None, ..) => None,
            (Some(at), Some(id), Some(secret)) => Some(Box::new(GoogleClient { at, id, secret })),
            _ => {
                return Err(Failure::other(
                    "--live google wants GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET: a client of the type Web application, \
                     made at https://console.cloud.google.com/apis/credentials",
                ));
            }
        };
        let named = models_here::named(self.model).await?;
        let models = match (named.as_slice(), self.embed) {
            ([], None) => None,
            (names, embed) => {
                let mut env = Env::process();
                let models = Models::named(names, &mut env).map_err(Failure::other)?;
                let models = match embed {
                    Some(embed) => models.understood_by(&embed, &mut env).map_err(Failure::other)?,
                    None => models,
                };
                Some(Models {
                    tokens_per_day: self.tokens_per_day,
                    ..models
                })
            }
        };
        let spawned = match &self.mqtt {
            Some(Broker::Spawn) if self.memory => {
                return Err(Failure::other("a broker of its own needs a data folder"));
            }
            Some(Broker::Spawn) => Some(spawned(&self.data)?),
            _ => None,
        };
        let broker = match (self.mqtt, spawned) {
            (Some(Broker::At(url)), _) => {
                let access = match self.mqtt_sign_in {
                    true => BrokerAccess::Named,
                    false => BrokerAccess::Open,
                };
                Some((url, access))
            }
            (_, Some(mosquitto)) => {
                let url = mosquitto.url().parse().map_err(Failure::other)?;
                Some((url, BrokerAccess::Own(OwnBroker::new(mosquitto))))
            }
            (_, None) => None,
        };
        let mut orgs = self.mqtt_org;
        for guest in &self.mqtt_user {
            if guest.org() != mqtt::ORG && !orgs.iter().any(|org| org == guest.org()) {
                orgs.push(guest.org().to_owned());
            }
        }
        if orgs.iter().any(|org| org == mqtt::ORG) {
            return Err(Failure::other("the organisation switchyard is the system's own"));
        }
        let mqtt = broker.map(|(url, access)| MqttBroker {
            url,
            prefix: self.mqtt_prefix,
            orgs,
            guests: self.mqtt_user,
            access,
            imports: self.mqtt_import,
        });
        let like_aws = self.like_aws.then(LikeAws::default);
        let options = Options {
            port: self.port,
            containers: self.containers.then_some(self.container_host),
            hosts: self.host,
            data: if self.memory {
                Data::Memory
            } else {
                Data::Folder(self.data)
            },
            endpoints: self.endpoints,
            google,
            live: self.live.into_iter().collect(),
            models,
            plan_approval: self.plan_approval,
            access_token_ttl: self.access_token_ttl,
            require_sign_in: self.require_sign_in,
            push_services: self.push_service,
            page: self.page,
            mqtt,
            tempo: like_aws.map_or_else(Tempo::default, |_| Tempo::like_aws()),
            like_aws,
            ..Options::default()
        };
        let understands = options.models.is_none() && self.understanding == Understanding::Sentences;
        let slot = options.understanding.clone();
        let starting = System::start(options);
        let system = tokio::select! {
            system = starting => system?,
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        };
        // The standard output is the log's where programs read that.
        let mut out: Box<dyn Write> = match machine {
            true => Box::new(std::io::stderr()),
            false => Box::new(std::io::stdout()),
        };
        let told = tell(&mut out, &system, begun.elapsed().as_secs_f64(), found.as_ref());
        drop(out);
        if told.is_err() {
            tracing::debug!("nobody reads the standard output");
        }
        let understanding = understands.then(|| tokio::spawn(understand(slot, machine)));
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if let Some(understanding) = understanding {
            understanding.abort();
        }
        tokio::select! {
            () = system.stop() => {
                edge::telemetry::flush().await;
                Ok(())
            }
            _ = terminate.recv() => Err(Failure::other("stopped at once")),
            _ = interrupt.recv() => Err(Failure::other("stopped at once")),
        }
    }
}

/// Says where to click and what to try; not to a closed pipe.
fn tell(out: &mut dyn Write, system: &System, seconds: f64, found: Option<&Found>) -> std::io::Result<()> {
    let endpoints = system.endpoints();
    writeln!(
        out,
        "Switchyard is ready after {seconds:.1} s: {}",
        endpoints.gateway
    )?;
    for (name, tenant) in &endpoints.tenants {
        writeln!(out, "  {:10} {}", name.name(), tenant.base)?;
    }
    if let Some(told) = system.told() {
        writeln!(out, "{told}")?;
    }
    let called = std::env::args().next().unwrap_or_default();
    let command = if called.contains("target/") {
        "cargo run --"
    } else {
        "switchyard"
    };
    match found {
        Some(found) => {
            writeln!(out, "Every address is in {}.", found.file().display())?;
            let tenant = endpoints
                .tenants
                .keys()
                .next()
                .map_or("acme", |tenant| tenant.name());
            writeln!(
                out,
                "Try: {command} chat --tenant {tenant}{} \"Will it rain in Oslo tomorrow?\"",
                found.arguments()
            )?;
        }
        None => writeln!(
            out,
            "With --endpoints FILE every address is written to a file, for the other commands."
        )?,
    }
    writeln!(
        out,
        "A line follows for each task, with the time in UTC. Ctrl-C stops it."
    )?;
    out.flush()
}
