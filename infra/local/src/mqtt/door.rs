//! The broker's door: whom it lets in, and what is cleared away of whoever has left for good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Publication, TopicPrefix};
use domain::{ExposeSecret as _, SecretString};
use mqtt::{BrokerUrl, Inbox, Publisher as _, Received, Session, SessionState, Taking};
use mqtt_bridge::ImportRule;
use sandbox::mosquitto::Mosquitto;

use super::access::{self, ORG, PLATFORM, Rules};
use crate::data::current::Current;
use crate::data::secrets::Secrets;
use crate::error::StartError;

/// How long it may take to clear away what is left of an agent.
const FAREWELL: Duration = Duration::from_secs(5);

/// How clients sign in at a broker.
#[derive(Debug, Clone, Default)]
pub enum BrokerAccess {
    /// They do not: it takes anybody.
    #[default]
    Open,
    /// Each by its address and its password, which the broker's operator has told it.
    Named,
    /// The same at a broker whose users this system makes.
    Own(OwnBroker),
}

/// A Mosquitto of the system's own.
#[derive(Debug, Clone)]
pub struct OwnBroker {
    running: Arc<Mutex<Mosquitto>>,
    admitted: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl OwnBroker {
    /// This one, which was started `closed`.
    #[must_use]
    pub fn new(running: Mosquitto) -> Self {
        Self {
            running: Arc::new(Mutex::new(running)),
            admitted: Arc::default(),
        }
    }

    /// The broker's process.
    pub fn running(&self) -> MutexGuard<'_, Mosquitto> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A broker that the system's agents are on.
#[derive(Debug, Clone)]
pub struct MqttBroker {
    /// Its address.
    pub url: BrokerUrl,
    /// What topics on it begin with.
    pub prefix: TopicPrefix,
    /// Organisations that replies go to, beside the system's own.
    pub orgs: Vec<String>,
    /// Clients of other organisations that sign in there, and of the platform's unit that only ask; for a broker of the system's own.
    pub guests: Vec<AgentAddress>,
    /// How clients sign in.
    pub access: BrokerAccess,
    /// Which agents of the broker the registry is to know.
    pub imports: Vec<ImportRule>,
}

impl MqttBroker {
    /// A broker that takes anybody, with the standard's topics.
    #[must_use]
    pub fn open(url: BrokerUrl) -> Self {
        Self {
            url,
            prefix: TopicPrefix::standard(),
            orgs: Vec::new(),
            guests: Vec::new(),
            access: BrokerAccess::Open,
            imports: Vec::new(),
        }
    }

    /// Who signs in beside the agents, where anybody does.
    pub(crate) fn users(&self) -> Option<Vec<String>> {
        let clients = access::CLIENTS.map(str::to_owned).into_iter();
        let guests = self.guests.iter().map(ToString::to_string);
        self.signs_in().then(|| clients.chain(guests).collect())
    }

    /// The passwords of those who are no agents, as the list of endpoints has them.
    pub(crate) fn listed(&self, secrets: &Secrets) -> BTreeMap<String, String> {
        let clients = [access::WATCHER, access::OPERATOR].map(|name| format!("{ORG}/{PLATFORM}/{name}"));
        let guests = self.guests.iter().map(ToString::to_string);
        let names: Vec<String> = clients.into_iter().chain(guests).collect();
        let passwords = access::passwords(secrets).into_iter();
        let listed = passwords.filter(|(name, _)| names.contains(name));
        let listed = listed.map(|(name, password)| (name, password.expose_secret().to_owned()));
        match self.signs_in() {
            true => listed.collect(),
            false => BTreeMap::new(),
        }
    }

    /// Whether clients sign in.
    pub(crate) fn signs_in(&self) -> bool {
        !matches!(self.access, BrokerAccess::Open)
    }

    /// Lets in whoever there is now and, with `before`, whoever there was; where the users are the system's to make.
    pub(crate) fn admit(&self, now: &Current, before: Option<&Current>) -> Result<(), StartError> {
        let BrokerAccess::Own(own) = &self.access else {
            return Ok(());
        };
        let rules = Rules {
            prefix: &self.prefix,
            orgs: &self.orgs,
            guests: &self.guests,
        };
        let (mut clients, mut users) = (BTreeSet::new(), BTreeMap::new());
        for current in before.into_iter().chain([now]) {
            let passwords = access::passwords(&current.secrets);
            let known = rules.clients(&current.endpoints, &passwords);
            clients.extend(known.map_err(StartError::part("list of agents"))?);
            for (name, password) in passwords {
                // The newer one counts.
                users.insert(name, password.expose_secret().to_owned());
            }
        }
        let names: BTreeSet<String> = clients.iter().map(|client| client.address.to_string()).collect();
        let users: BTreeSet<_> = users
            .into_iter()
            .filter(|(name, _)| names.contains(name))
            .collect();
        let mut admitted = own.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        if *admitted == users {
            return Ok(());
        }
        let acl = access::mosquitto(&clients.into_iter().collect::<Vec<_>>());
        let told = own.running().admit(&Vec::from_iter(users.clone()), &acl);
        told.map_err(StartError::part("MQTT broker"))?;
        *admitted = users;
        Ok(())
    }

    /// Clears away what the broker keeps of an agent: its card and its session.
    pub(crate) async fn forget(&self, agent: &AgentAddress, password: Option<SecretString>) {
        let options = mqtt::Options {
            broker: self.url.clone(),
            client_id: agent.to_string(),
            credentials: password
                .filter(|_| self.signs_in())
                .map(|password| (agent.to_string(), password)),
            will: None,
            filters: Vec::new(),
            // Begins a new session in the place of the agent's, which ends with this connection.
            kept_for: None,
            receive_maximum: 1,
            max_packet: 1024 * 1024,
            settle: None,
        };
        let cleared = async {
            let session = Session::open(options, Arc::new(Nothing)).ok()?;
            let ready = matches!(session.ready().await, SessionState::Ready { .. });
            let card = Publication {
                topic: self.prefix.discovery(agent),
                retain: true,
                ..Publication::default()
            };
            let told = session.publish(card).await.ok().filter(|_| ready);
            session.close().await;
            told
        };
        if !matches!(tokio::time::timeout(FAREWELL, cleared).await, Ok(Some(_))) {
            tracing::warn!(mqtt.agent = %agent, "the broker still has the card of an agent that is gone");
        }
    }
}

/// Takes nothing: there are no subscriptions.
struct Nothing;

impl Inbox for Nothing {
    fn take(&self, _: Received) -> Taking {
        Box::pin(async {})
    }
}
