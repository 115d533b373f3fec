//! How the system is to be started.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, Entropy, SystemClock, SystemEntropy, Tenant};
use host_agent::PlanApproval;
use store::Store;
use url::Url;

use crate::google::{Google, GoogleClient};
use crate::hosts::HostName;
use crate::like_aws::LikeAws;
use crate::mcp::Homes;
use crate::meter::Meter;
use crate::models::Models;
use crate::mqtt::MqttBroker;

/// Where people of this machine find the gateway.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How the system is to be started.
pub struct Options {
    /// The gateway's port on the loopback address; 0 takes any that is free.
    pub port: u16,
    /// Where containers of this machine reach it: everything listens there too, and has its addresses from there, which
    /// are then the same in a container and outside.
    pub containers: Option<IpAddr>,
    /// Names it is asked by, beside `localhost` and the addresses that it listens on; any other is refused.
    pub hosts: Vec<HostName>,
    /// Where state and secrets are kept.
    pub data: Data,
    /// Where the list of endpoints is written besides the data folder.
    pub endpoints: Option<PathBuf>,
    /// Services that are really asked, instead of their sandboxes.
    pub live: BTreeSet<Live>,
    /// How we are known at a Google outside of the system, whose calendars are then asked.
    pub google: Option<Box<GoogleClient>>,
    /// Language models that the hosts ask; without any, the rules decide.
    pub models: Option<Models>,
    /// Where the engine that understands people's words is, or will be ([`crate::understanding`]); words decide without it.
    pub understanding: nlu::Slot,
    /// Which plans wait for their user's word.
    pub plan_approval: PlanApproval,
    /// For how many seconds access tokens of the authorization server are good.
    pub access_token_ttl: u64,
    /// Whether chats let nobody in who has not signed in; else there are guests.
    pub require_sign_in: bool,
    /// Hosts of push services that browsers may be reached at beside those of their makers.
    pub push_services: Vec<String>,
    /// A folder with a build of the page, which is shown instead of the one that is in here.
    pub page: Option<PathBuf>,
    /// The MQTT broker that agents are on as well.
    pub mqtt: Option<MqttBroker>,
    /// The time, for everything but the database's own.
    pub clock: Arc<dyn Clock>,
    /// The RNG.
    pub entropy: Arc<dyn Entropy>,
    /// How often the sweeper looks by itself; `None` leaves it to [`crate::system::System::sweep`].
    pub sweep_every: Option<Duration>,
    /// The tenants; each has a host agent and a chat.
    pub tenants: Vec<Tenant>,
    /// How long agents wait for what.
    pub tempo: Tempo,
    /// Whether queues, sweeper and gateway are as unkind as on AWS.
    pub like_aws: Option<LikeAws>,
    /// This is one process of a system that several make up together; `data` is then not looked at.
    pub joined: Option<Joined>,
    /// Counts what is asked of the database; it is not counted otherwise.
    pub meter: Option<Meter>,
}

/// How long agents wait for what.
#[derive(Debug, Clone)]
pub struct Tempo {
    /// Leases, retries, deliveries.
    pub agent: agent::Settings,
    /// How long hosts wait for other agents.
    pub patience: host_agent::Patience,
    /// The first rest of a push receiver that does not answer.
    pub rest: Duration,
}

impl Default for Tempo {
    /// Shorter than on AWS: at their desk nobody should wait half a minute after a kill, or hours for a notification.
    fn default() -> Self {
        Self {
            agent: agent::Settings {
                lease: Duration::from_secs(8),
                heartbeat: Duration::from_secs(2),
                born_due: Duration::from_secs(3),
                push_schedule: agent::PushSchedule::of(
                    [1, 2, 5, 10, 30, 60, 60].map(Duration::from_secs).to_vec(),
                ),
                ..agent::Settings::default()
            },
            patience: host_agent::Patience::default(),
            rest: Duration::from_secs(5),
        }
    }
}

impl Tempo {
    /// As deployed agents wait.
    #[must_use]
    pub fn like_aws() -> Self {
        Self {
            agent: agent::Settings::default(),
            patience: host_agent::Patience::default(),
            rest: outbound::Policy::default().rest,
        }
    }
}

/// A system that several processes make up together.
#[derive(Clone)]
pub struct Joined {
    /// The address that everybody knows it by; some of what arrives there comes to this process.
    pub gateway: Url,
    /// The database that they share.
    pub dynamodb: Url,
    /// The tables in it.
    pub store: Store,
    /// The file of the secrets that they share.
    pub secrets: PathBuf,
    /// True for the first: it makes the agents known.
    pub founds: bool,
}

/// Where state and secrets are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Nowhere: they end with the process.
    Memory,
    /// In this folder, for one system at a time.
    Folder(PathBuf),
}

/// A service that can be asked for real.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Live {
    /// `weather`: Open-Meteo, for the weather agent.
    Weather,
    /// `google`: Google, for the calendar agent; with `google=URL`, who speaks as it does at this address.
    Google(Option<Url>),
    /// `mcp=URL`: an MCP server at this address, for the accommodation agent.
    Mcp(Url),
}

impl FromStr for Live {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            None if text == "weather" => Ok(Self::Weather),
            None if text == "google" => Ok(Self::Google(None)),
            Some(("google", url)) => url
                .parse()
                .map(|url| Self::Google(Some(url)))
                .map_err(|_| "what follows google= is no URL"),
            Some(("mcp", url)) => url
                .parse()
                .map(Self::Mcp)
                .map_err(|_| "what follows mcp= is no URL"),
            _ => Err("there are `weather`, `google`, `google=URL` and `mcp=URL`"),
        }
    }
}

/// What is really asked, outside of the system.
pub(crate) struct Outside {
    /// Services instead of their sandboxes.
    pub(crate) live: BTreeSet<Live>,
    /// The MCP server of places to stay.
    pub(crate) homes: Homes,
    /// The Google of the calendar agent.
    pub(crate) google: Google,
    /// Language models instead of the rules.
    pub(crate) models: Option<Models>,
    /// Which plans wait for their user's word.
    pub(crate) plan_approval: PlanApproval,
    /// For how many seconds access tokens are good.
    pub(crate) access_token_ttl: u64,
    /// Whether chats let nobody in who has not signed in.
    pub(crate) require_sign_in: bool,
    /// Hosts of push services that browsers may be reached at beside those of their makers.
    pub(crate) push_services: Vec<String>,
    /// The MQTT broker that agents are on as well.
    pub(crate) mqtt: Option<MqttBroker>,
}

impl Options {
    /// The address that the system's own addresses have.
    pub(crate) fn address(&self) -> IpAddr {
        self.containers.unwrap_or(LOOPBACK)
    }
}

impl Default for Options {
    /// In memory on any free port, with the two demo tenants, the system's clock and a sweep every second.
    fn default() -> Self {
        Self {
            port: 0,
            containers: None,
            hosts: Vec::new(),
            data: Data::Memory,
            endpoints: None,
            live: BTreeSet::new(),
            google: None,
            models: None,
            understanding: nlu::Slot::default(),
            plan_approval: PlanApproval::Never,
            access_token_ttl: 600,
            require_sign_in: false,
            push_services: Vec::new(),
            page: None,
            mqtt: None,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            sweep_every: Some(Duration::from_secs(1)),
            tenants: ["acme", "globex"]
                .iter()
                .filter_map(|name| Tenant::parse(name).ok())
                .collect(),
            tempo: Tempo::default(),
            like_aws: None,
            joined: None,
            meter: None,
        }
    }
}
