//! The local system with a Mosquitto of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{Publication, Topic, TopicPrefix};
use local::{MqttBroker, Options};
use mqtt::{Inbox, Received, Session, SessionState, Taking};
use sandbox::mosquitto::{self, Mosquitto, Wanted};
use system_testing::Local;
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A broker in a folder of its own.
pub(super) struct Broker {
    pub(super) running: Mosquitto,
    folder: TempDir,
}

/// What was heard on a session, as it comes.
pub(super) type Told = mpsc::UnboundedReceiver<Received>;

/// A system whose agents are on a broker.
pub(super) struct World {
    pub(super) local: Local,
    pub(super) broker: Broker,
}

/// Hands on what comes in.
pub(super) struct Heard(pub(super) mpsc::UnboundedSender<Received>);

impl Inbox for Heard {
    fn take(&self, received: Received) -> Taking {
        let _ = self.0.send(received);
        Box::pin(async {})
    }
}

/// The Mosquitto of the tests.
pub(super) fn program() -> PathBuf {
    let own = system_testing::folder().join(".tools/bin/mosquitto");
    if own.exists() { own } else { mosquitto::program() }
}

/// What the cards of these agents say: the status, and whose word that is.
fn said(cards: &BTreeMap<String, Publication>, agents: &BTreeSet<String>) -> Vec<String> {
    let said = agents.iter().map(|agent| {
        let Some(card) = cards.get(agent) else {
            return format!("{agent}: no card");
        };
        let said = ["a2a-status", "a2a-status-source"].map(|name| card.properties.one(name));
        format!("{agent}: {said:?}")
    });
    said.collect()
}

impl Broker {
    pub(super) fn start() -> Self {
        Self::start_as(&Wanted::default())
    }

    pub(super) fn start_as(wanted: &Wanted) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let running = Mosquitto::start(&program(), folder.path(), 0, wanted);
        let running =
            running.unwrap_or_else(|error| panic!("no Mosquitto ({error}): `tests/run tools` installs it"));
        Self { running, folder }
    }

    /// A session of that client, with what it hears.
    pub(super) async fn open(&self, client: &str, filters: Vec<String>) -> (Session, Told) {
        let (heard, told) = mpsc::unbounded_channel();
        let options = mqtt::Options {
            broker: self.running.url().parse().expect("an address"),
            client_id: client.to_owned(),
            credentials: None,
            will: None,
            filters,
            kept_for: None,
            receive_maximum: 64,
            max_packet: 1024 * 1024,
            settle: None,
        };
        let session = Session::open(options, Arc::new(Heard(heard))).expect("a session");
        assert!(matches!(session.ready().await, SessionState::Ready { refused } if refused.is_empty()));
        (session, told)
    }

    /// Every card, by its agent's address, once each of these agents has one that says so.
    pub(super) async fn cards_that_say(
        &self,
        status: &str,
        agents: &BTreeSet<String>,
        (_session, mut told): (Session, Told),
    ) -> BTreeMap<String, Publication> {
        let mut cards = BTreeMap::new();
        let mut others = agents.clone();
        let all = async {
            while !others.is_empty() {
                let told = told.recv().await.expect("a session").publication;
                let Some(Topic::Discovery(agent)) = TopicPrefix::standard().read(&told.topic) else {
                    panic!("no card's topic: {}", told.topic)
                };
                let agent = agent.to_string();
                match told.properties.one("a2a-status") == Ok(Some(status)) {
                    true => others.remove(&agent),
                    false => agents.contains(&agent) && others.insert(agent.clone()),
                };
                cards.insert(agent, told);
            }
        };
        let is_late = tokio::time::timeout(Duration::from_secs(20), all).await.is_err();
        assert!(!is_late, "not {status}: {:#?}", self::said(&cards, &others));
        cards
    }

    /// Kills it, and starts it anew on the same port, without anything it had.
    pub(super) fn restart(&mut self) {
        let port = self.running.port();
        self.running.kill();
        self.running = Mosquitto::start(&program(), self.folder.path(), port, &Wanted::default())
            .expect("Mosquitto starts again");
    }

    pub(super) async fn watch_cards(&self, client: &str) -> (Session, Told) {
        self.open(client, vec!["$a2a/v1/discovery/switchyard/+/+".to_owned()])
            .await
    }
}

impl World {
    /// Starts; the weather agent is on the broker by then.
    pub(super) async fn start() -> Self {
        Self::importing(&[]).await
    }

    /// The same with agents on the broker that the registry is to know, by these rules.
    pub(super) async fn importing(rules: &[&str]) -> Self {
        let imports = rules.iter().map(|rule| rule.parse().expect("a rule")).collect();
        let broker = Broker::start();
        let options = Options {
            mqtt: Some(MqttBroker {
                orgs: vec!["acme".to_owned()],
                imports,
                ..MqttBroker::open(broker.running.url().parse().expect("an address"))
            }),
            ..Options::default()
        };
        let local = Local::start_as(options).await;
        let world = Self { local, broker };
        let weather = BTreeSet::from(["switchyard/platform/weather".to_owned()]);
        let watcher = world.broker.watch_cards("test/start/watcher").await;
        world.broker.cards_that_say("online", &weather, watcher).await;
        world
    }

    /// The addresses of every agent of the system.
    pub(super) fn agents(&self) -> BTreeSet<String> {
        let endpoints = self.local.system.endpoints();
        let platform = endpoints
            .agents
            .keys()
            .map(|name| format!("switchyard/platform/{name}"));
        let tenants = endpoints.tenants.iter().flat_map(|(tenant, own)| {
            let names = own
                .agents
                .keys()
                .map(ToString::to_string)
                .chain(["host".to_owned()]);
            names.map(|name| format!("switchyard/{}/{name}", tenant.prefix()))
        });
        platform.chain(tenants).collect()
    }

    /// The cards of these agents, once all are there.
    pub(super) async fn cards(&self, agents: &BTreeSet<String>) -> BTreeMap<String, Publication> {
        let watcher = self.broker.watch_cards("test/cards/watcher").await;
        self.broker.cards_that_say("online", agents, watcher).await
    }

    /// Stops the system; the broker stays, with somebody who has watched the cards all the time.
    pub(super) async fn stop(self) -> (Broker, (Session, Told)) {
        let watcher = self.broker.watch_cards("test/stop/watcher").await;
        self.local.system.stop().await;
        (self.broker, watcher)
    }
}
