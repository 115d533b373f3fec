//! Horizon on a broker alone, asked by its tenant's host, while bridge, host and agent are killed without a word in each wait of the
//! bridge. Each question ends once, however often its request or its result comes again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use system_testing::User;
use system_testing::binary::{Up, free_port};

use super::gate::{Gate, Held, Way};
use super::registered::{OnBroker, only_over_mqtt};
use super::world::{Broker, Told};
use crate::consent::{agree, link, profile};

const HORIZON: &str = "switchyard/acme/horizon";
const REQUEST: &str = "/request/switchyard/acme/horizon";
const REPLY: &str = "/reply/switchyard/acme/host/";
/// What a stream ends with.
const END: &str = "TASK_STATE_COMPLETED";

/// What the broker saw of requests and replies.
#[derive(Default)]
struct Seen {
    /// The words of each request that sends a message, by its task.
    asked: BTreeMap<String, String>,
    /// The events of each task that tell a result, and those that tell its end, by number.
    results: BTreeSet<(String, u64)>,
    ends: BTreeSet<(String, u64)>,
}

impl Seen {
    fn take(&mut self, told: &mut Told) {
        while let Ok(received) = told.try_recv() {
            let item: Value = serde_json::from_slice(&received.publication.payload).expect("JSON");
            if let Some(message) = item.pointer("/params/message") {
                let task = message["taskId"].as_str().expect("a task").to_owned();
                let text = message["parts"][0]["text"].as_str().unwrap_or_default();
                self.asked.insert(task, text.to_owned());
            }
            let result = &item["result"];
            let Some(number) = a2a::event_number(result) else {
                continue;
            };
            let of = |name: &str| {
                result[name]["taskId"]
                    .as_str()
                    .map(|task| (task.to_owned(), number))
            };
            self.results.extend(of("artifactUpdate"));
            if result["statusUpdate"]["status"]["state"] == END {
                self.ends.extend(of("statusUpdate"));
            }
        }
    }
}

/// A system whose horizon is on the broker alone, as a process.
struct Process {
    up: Up,
    data: tempfile::TempDir,
    port: u16,
    broker: String,
}

impl Process {
    fn start(broker: String) -> Self {
        let (data, port) = (tempfile::tempdir().expect("a folder"), free_port());
        let up = Up::start_more(data.path(), port, &["--mqtt", &broker]);
        Self {
            up,
            data,
            port,
            broker,
        }
    }

    /// Kills it while the gate holds a packet back, and starts it again without the gate in its way.
    fn kill(&mut self, gate: &Gate) {
        self.up.kill();
        gate.free();
        self.up = Up::start_more(self.data.path(), self.port, &["--mqtt", &self.broker]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn horizon_on_a_broker_ends_each_question_once_though_it_is_killed_in_each_wait() {
    let broker = Broker::start();
    let gate = Gate::open(broker.running.port()).await;
    let (_watcher, mut told) = broker
        .open(
            "test/waits/watcher",
            vec![format!("$a2a/v1{REQUEST}"), format!("$a2a/v1{REPLY}+")],
        )
        .await;
    let mut system = Process::start(gate.url());
    let endpoints = system.up.endpoints.clone();
    let url = endpoints["tenants"]["acme"]["agents"]["horizon"].as_str();
    let agent = OnBroker {
        address: HORIZON,
        url: url.expect("a URL"),
        tenant: Some("acme"),
    };
    let _card = only_over_mqtt(&endpoints, &gate.url(), agent, |_| ()).await;
    let base = system.up.base("acme").to_owned();
    let user = User::new(&base);

    // A consent waits.
    let task = user.begin("Where is my order 1003?").await;
    let waiting = user.until(&task, &["auth-required"]).await;
    system.kill(&gate);
    let login = &endpoints["users"]["acme"][0];
    let page = agree(&mut profile(&user, &base), &link(&waiting), login).await;
    assert_eq!(page.status, 200, "{page:?}");
    let mut tasks = vec![task];
    finished(&user, &tasks[0]).await;

    let publication = |way, topic, words| Held {
        way,
        topic,
        words,
        acknowledgement: false,
    };
    let acknowledgement = |way, topic, words| Held {
        acknowledgement: true,
        ..publication(way, topic, words)
    };
    for held in [
        // The host's request is not on the broker yet; it is, and the host does not know; the agent has it, and the broker does not know.
        publication(Way::ToBroker, REQUEST, ""),
        acknowledgement(Way::ToBroker, REQUEST, ""),
        acknowledgement(Way::FromBroker, REQUEST, ""),
        // The agent's result is not on the broker yet; it is, and the agent does not know; it is there, and its host does not have it.
        publication(Way::ToBroker, REPLY, END),
        acknowledgement(Way::ToBroker, REPLY, END),
        publication(Way::FromBroker, REPLY, END),
    ] {
        gate.hold(held);
        let task = user.begin("Where is my order 1003?").await;
        gate.has_held().await;
        let begun = Instant::now();
        system.kill(&gate);
        finished(&user, &task).await;
        println!("{held:?}: {:.1?}", begun.elapsed());
        tasks.push(task);
    }

    let mut seen = Seen::default();
    seen.take(&mut told);
    // What comes late has come by now.
    tokio::time::sleep(Duration::from_secs(1)).await;
    seen.take(&mut told);
    let questions = tasks.len();
    assert_eq!(seen.asked.len(), questions, "a task each: {:#?}", seen.asked);
    // An end may be told by the task itself too, where its host asked first.
    for (what, events) in [("result", &seen.results), ("end", &seen.ends)] {
        let of: BTreeSet<&String> = events.iter().map(|(task, _)| task).collect();
        assert_eq!(events.len(), of.len(), "no second {what}: {events:#?}");
    }
    for task in &tasks {
        finished(&user, task).await;
    }
}

/// The task has its result, once.
async fn finished(user: &User, task: &str) {
    // Where the agent died with the bridge, its host asks after 30 seconds.
    let mut done = Value::Null;
    for _ in 0..400 {
        done = user.task(task).await;
        if done["status"] == "completed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(done["status"], "completed", "{done:#}");
    let artifacts = done["artifacts"].as_array().expect("artifacts");
    assert_eq!(artifacts.len(), 1, "{done:#}");
    let ends = done["history"].as_array().expect("a history").iter();
    let ends = ends.filter(|step| step["state"] == "completed" || step["status"] == "completed");
    assert_eq!(ends.count(), 1, "{done:#}");
}
