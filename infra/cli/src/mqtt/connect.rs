//! Which broker a command talks to, as whom, and its session there.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, TopicPrefix};
use clap::Args;
use domain::{SecretString, SystemEntropy};
use mqtt::{BrokerUrl, ConnectFault, Inbox, Options, Received, Session, SessionEnd, SessionState, Taking};
use tokio::sync::mpsc;

use crate::Failure;
use crate::place::RunningSystem;
use local::data::endpoints::MqttEndpoints;
use local::mqtt::ORG;
use local::mqtt::access::PLATFORM;

/// How long a broker may take to let a command in.
const CONNECT: Duration = Duration::from_secs(8);
/// Most bytes of a packet that is taken: a card has 64 KiB at most, a reply what the broker takes.
const PACKET: u32 = 1024 * 1024;

/// Which broker, and who asks.
#[derive(Args)]
pub(super) struct AtBroker {
    #[command(flatten)]
    pub(super) place: RunningSystem,
    /// Another broker than the running system's: `mqtts://HOST[:PORT]`, or `mqtt://…` on this machine
    #[arg(long, value_name = "URL")]
    broker: Option<BrokerUrl>,
    /// The prefix of its topics
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<TopicPrefix>,
    /// Sign in as this client, with the password in the variable MQTT_PASSWORD
    #[arg(long = "as", value_name = "ORG/UNIT/NAME")]
    user: Option<AgentAddress>,
    /// Its password. Better set the variable: other users of the machine can read arguments
    #[arg(
        long,
        value_name = "SECRET",
        env = "MQTT_PASSWORD",
        hide_env_values = true,
        requires = "user"
    )]
    password: Option<SecretString>,
}

/// A broker, and how it is reached.
pub(super) struct Way {
    pub(super) broker: BrokerUrl,
    pub(super) prefix: TopicPrefix,
    /// Who asks.
    pub(super) me: AgentAddress,
    credentials: Option<(String, SecretString)>,
}

/// A session, and what comes in by it.
pub(super) struct Connected {
    pub(super) session: Session,
    pub(super) heard: mpsc::UnboundedReceiver<Received>,
}

struct Heard(mpsc::UnboundedSender<Received>);

impl Inbox for Heard {
    fn take(&self, received: Received) -> Taking {
        // A command that has ended hears nothing.
        let _ = self.0.send(received);
        Box::pin(async {})
    }
}

impl AtBroker {
    /// The broker, asked by the system's client of that name where nobody else is named.
    pub(super) fn way(&self, name: &str) -> Result<Way, Failure> {
        let known = match &self.broker {
            Some(_) => None,
            None => Some(self.place.endpoints()?.mqtt.ok_or_else(|| {
                Failure::other("the system is on no MQTT broker; start it with `switchyard up --mqtt spawn`, or name a broker with --broker")
            })?),
        };
        let MqttEndpoints {
            broker: url,
            prefix,
            users,
            ..
        } = match (&self.broker, known) {
            (_, Some(known)) => known,
            (Some(broker), None) => MqttEndpoints {
                broker: broker.url().clone(),
                bridge: broker.url().clone(),
                prefix: TopicPrefix::standard().to_string(),
                orgs: Vec::new(),
                users: Default::default(),
            },
            (None, None) => return Err(Failure::other("no broker is named")),
        };
        let prefix = match &self.prefix {
            Some(prefix) => prefix.clone(),
            None => prefix.parse().map_err(Failure::other)?,
        };
        let own = AgentAddress::new(ORG, PLATFORM, name).map_err(Failure::other)?;
        let (me, password) = match (&self.user, &self.password) {
            (Some(user), Some(password)) => (user.clone(), Some(password.clone())),
            (Some(user), None) => {
                let known = users.get(&user.to_string()).map(|text| text.clone().into());
                (user.clone(), known)
            }
            (None, _) => {
                let known = users.get(&own.to_string()).map(|text| text.clone().into());
                (own, known)
            }
        };
        Ok(Way {
            broker: url.as_str().parse().map_err(Failure::other)?,
            prefix,
            credentials: password.map(|password| (me.to_string(), password)),
            me,
        })
    }
}

impl Way {
    /// Connects, with these subscriptions.
    pub(super) async fn connect(&self, filters: Vec<String>) -> Result<Connected, Failure> {
        let (sender, heard) = mpsc::unbounded_channel();
        let client_id = match &self.credentials {
            Some((name, _)) => name.clone(),
            // Two commands at once do not end each other.
            None => format!("{}-{}", self.me, &suffix()[..8]),
        };
        let options = Options {
            broker: self.broker.clone(),
            client_id,
            credentials: self.credentials.clone(),
            will: None,
            filters,
            kept_for: None,
            receive_maximum: u16::MAX,
            max_packet: PACKET,
            settle: None,
        };
        let session = Session::open(options, Arc::new(Heard(sender))).map_err(Failure::other)?;
        match tokio::time::timeout(CONNECT, session.ready_at_once()).await {
            Ok(Ok(SessionState::Ready { refused })) if refused.is_empty() => Ok(Connected { session, heard }),
            Ok(Ok(SessionState::Ready { refused })) => Err(Failure::other(format!(
                "the broker at {} refuses the subscription to {}",
                self.broker,
                refused.join(", ")
            ))),
            Ok(Ok(SessionState::Ended(SessionEnd::TakenOver))) => Err(Failure::other(format!(
                "another command is connected as {}; wait until it ends",
                self.me
            ))),
            Ok(Ok(SessionState::Ended(end))) => Err(Failure::other(end)),
            Ok(Err(ConnectFault::NotAdmitted)) => Err(Failure::other(format!(
                "the broker at {} does not let {} in: it has no such user, or the password is another one (--as, MQTT_PASSWORD)",
                self.broker, self.me
            ))),
            Ok(Err(fault)) => Err(Failure::other(format!("the broker at {}: {fault}", self.broker))),
            Ok(Ok(SessionState::Connecting)) | Err(_) => Err(Failure::other(format!(
                "the broker at {} does not answer within {} s",
                self.broker,
                CONNECT.as_secs()
            ))),
        }
    }
}

/// 128 random bits.
pub(super) fn suffix() -> String {
    local::data::secrets::slug(&SystemEntropy)[..32].to_owned()
}
