//! The local system with a Mosquitto of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{Publication, Topic, TopicPrefix};
use async_trait::async_trait;
use local::{MqttBroker, Options};
use mqtt::{Inbox, Received, Session, SessionState};
use sandbox::mosquitto::{self, Mosquitto, Wanted};
use tempfile::TempDir;
use tests::Local;
use tokio::sync::mpsc;

/// A broker in a folder of its own.
pub(super) struct Broker {
    pub(super) running: Mosquitto,
    _folder: TempDir,
}

/// What was heard on a session, as it comes.
pub(super) type Told = mpsc::UnboundedReceiver<Received>;

/// A system whose agents are on a broker.
pub(super) struct World {
    pub(super) local: Local,
    pub(super) broker: Broker,
}

struct Heard(mpsc::UnboundedSender<Received>);

#[async_trait]
impl Inbox for Heard {
    async fn take(&self, received: Received) {
        let _ = self.0.send(received);
    }
}

impl Broker {
    fn start() -> Self {
        let own = tests::folder().join(".tools/bin/mosquitto");
        let program = if own.exists() { own } else { mosquitto::program() };
        let folder = tempfile::tempdir().expect("a folder");
        let running = Mosquitto::start(&program, folder.path(), 0, &Wanted::default());
        let running =
            running.unwrap_or_else(|error| panic!("no Mosquitto ({error}): `tests/run tools` installs it"));
        Self {
            running,
            _folder: folder,
        }
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
        };
        let session = Session::open(options, Arc::new(Heard(heard))).expect("a session");
        assert!(matches!(session.ready().await, SessionState::Ready { refused } if refused.is_empty()));
        (session, told)
    }

    /// Every card, by its agent's address, once they are as they should be.
    pub(super) async fn cards_until(
        &self,
        (_session, mut told): (Session, Told),
        are_so: impl Fn(&BTreeMap<String, Publication>) -> bool,
    ) -> BTreeMap<String, Publication> {
        let mut cards = BTreeMap::new();
        let all = async {
            while let Some(received) = told.recv().await {
                let Some(Topic::Discovery(agent)) = TopicPrefix::standard().read(&received.publication.topic)
                else {
                    panic!("no card: {received:?}")
                };
                cards.insert(agent.to_string(), received.publication);
                if are_so(&cards) {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(20), all).await;
        assert!(are_so(&cards), "{cards:#?}");
        cards
    }

    pub(super) async fn watch_cards(&self, client: &str) -> (Session, Told) {
        self.open(client, vec!["$a2a/v1/discovery/switchyard/+/+".to_owned()])
            .await
    }
}

impl World {
    /// Starts; the weather agent is on the broker by then.
    pub(super) async fn start() -> Self {
        let broker = Broker::start();
        let options = Options {
            mqtt: Some(MqttBroker {
                url: broker.running.url().parse().expect("an address"),
                prefix: TopicPrefix::standard(),
                orgs: vec!["acme".to_owned()],
            }),
            ..Options::default()
        };
        let local = Local::start_as(options).await;
        let world = Self { local, broker };
        let weather =
            |cards: &BTreeMap<String, Publication>| cards.contains_key("switchyard/platform/weather");
        let watcher = world.broker.watch_cards("test/start/watcher").await;
        world.broker.cards_until(watcher, weather).await;
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

    /// The cards of that many agents.
    pub(super) async fn cards(&self, most: usize) -> BTreeMap<String, Publication> {
        let watcher = self.broker.watch_cards("test/cards/watcher").await;
        self.broker
            .cards_until(watcher, |cards| cards.len() >= most)
            .await
    }

    /// Stops the system; the broker stays, with somebody who has watched the cards all the time.
    pub(super) async fn stop(self) -> (Broker, (Session, Told)) {
        let watcher = self.broker.watch_cards("test/stop/watcher").await;
        self.local.system.stop().await;
        (self.broker, watcher)
    }
}
