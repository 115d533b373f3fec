//! A host asks a pool whose members are not ours, and goes on with the one that has its task.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use a2a::mqtt::{Properties, Publication};
use axum::http::Method;
use local::{MqttBroker, Options};
use mqtt::Publisher as _;
use serde_json::{Value, json};
use system_testing::Local;

use super::registered::registry;
use super::world::Broker;

const NAMES: [&str; 3] = ["m1", "m2", "m3"];

/// Three processes of `python/mqtt_member.py`, and what they did.
struct Members {
    processes: Vec<Child>,
    did: Arc<Mutex<Vec<Value>>>,
}

impl Members {
    async fn start(broker: &Broker) -> Self {
        let did: Arc<Mutex<Vec<Value>>> = Arc::default();
        let start = |(at, name): (usize, &&str)| {
            let neighbour = NAMES[(at + 1) % NAMES.len()];
            let mut process = Command::new(system_testing::python_of("mqtt"))
                .arg(system_testing::folder().join("python/mqtt_member.py"))
                .args([&broker.running.port().to_string(), &format!("acme/lab/{name}")])
                .args(["stories", neighbour])
                .stdout(Stdio::piped())
                .spawn()
                .expect("the script starts");
            let (said, did) = (process.stdout.take().expect("its output"), Arc::clone(&did));
            std::thread::spawn(move || {
                for line in BufReader::new(said).lines().map_while(Result::ok) {
                    let told = serde_json::from_str(&line).expect("JSON");
                    did.lock().expect("no panic").push(told);
                }
            });
            process
        };
        let members = Self {
            processes: NAMES.iter().enumerate().map(start).collect(),
            did,
        };
        members.until("is there", NAMES.len()).await;
        members
    }

    /// The members and tasks of which that was done.
    fn who(&self, what: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let did = self.did.lock().expect("no panic");
        let such = did.iter().filter(|told| told["did"] == what);
        such.map(|told| (text(&told["member"]), text(&told["task"])))
            .collect()
    }

    async fn until(&self, what: &str, count: usize) -> Vec<(String, String)> {
        let begun = Instant::now();
        while self.who(what).len() < count {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{what}: {:#?}",
                self.did.lock().expect("no panic")
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.who(what)
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// What the pool's registrar publishes: a card whose interface is the pool's topic.
async fn published_card(broker: &Broker) -> mqtt::Session {
    let (registrar, _) = broker.open("acme/lab/stories", Vec::new()).await;
    let card = json!({ "name": "Story", "description": "Tells slow stories", "version": "1.0.0",
        "supportedInterfaces": [{ "url": format!("{}/a2a/v1/request/acme/lab/pool/stories", broker.running.url()),
            "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true }, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "story", "name": "Story", "description": "Tells slow stories of snails and turtles",
            "tags": ["type:story"] }] });
    let card = Publication {
        topic: "a2a/v1/discovery/acme/lab/stories".to_owned(),
        payload: card.to_string().into(),
        retain: true,
        properties: Properties {
            user: vec![("a2a-status".to_owned(), "online".to_owned())],
            ..Properties::default()
        },
    };
    registrar.publish(card).await.expect("its card is published");
    registrar
}

/// A system whose registry knows the pool.
async fn knowing(broker: &Broker) -> Local {
    let options = Options {
        mqtt: Some(MqttBroker {
            orgs: vec!["acme".to_owned()],
            imports: vec!["acme/lab/stories:story".parse().expect("a rule")],
            // Mosquitto shares nothing below `$`.
            prefix: "a2a/v1".parse().expect("a prefix"),
            ..MqttBroker::open(broker.running.url().parse().expect("an address"))
        }),
        ..Options::default()
    };
    let local = Local::start_as(options).await;
    let begun = Instant::now();
    while registry(&local, "GET", "/agents?tag=type:story", None).await["agents"] == json!([]) {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the pool is registered"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    local
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_asks_a_pool_and_goes_on_with_the_member_that_has_the_task() {
    let broker = Broker::start();
    let members = Members::start(&broker).await;
    let _registrar = published_card(&broker).await;
    let local = knowing(&broker).await;
    let user = local.user("acme");
    // One that stays with its member, one that is handed over, and one that its user gives up.
    let stories = ["snails", "turtles", "slugs"];
    let mut tasks = Vec::new();
    for story in stories {
        let said = format!("Tell me a slow story of {story}");
        let asked = user.chat(story, &format!("{story}-1"), &said).await;
        tasks.push(asked.task_id());
        user.until(&asked.task_id(), &["input-required"]).await;
    }
    let took = members.until("took", stories.len()).await;
    for story in &stories[..2] {
        user.chat(story, &format!("{story}-2"), &format!("wise old {story}"))
            .await;
    }
    let path = format!("/api/tasks/{}/cancel", tasks[2]);
    let canceled = user.call(Method::POST, &path, Some(json!({}))).await;
    assert_eq!(canceled.status, 200, "{canceled:?}");
    let answered = members.until("answered", 2).await;
    let canceled = members.until("canceled", 1).await;
    let next = |name: &str| {
        let at = NAMES.iter().position(|known| *known == name).expect("a member");
        NAMES[(at + 1) % NAMES.len()].to_owned()
    };
    // Each by the member that had it by then, under the id that it began with.
    let handed_over = (next(&took[1].0), took[1].1.clone());
    assert_eq!(answered, [took[0].clone(), handed_over.clone()]);
    assert_eq!(canceled, [took[2].clone()]);
    assert_eq!(members.who("does not know"), [], "nobody else was asked");
    for (at, member) in [(0, &took[0].0), (1, &handed_over.0)] {
        let done = user.until(&tasks[at], &["completed"]).await;
        let told = format!("{member} tells of the wise old {}", stories[at]);
        assert!(done["artifacts"].to_string().contains(&told), "{told}: {done:#}");
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_the_member_that_has_said_nothing_yet() {
    let broker = Broker::start();
    let members = Members::start(&broker).await;
    let _registrar = published_card(&broker).await;
    let local = knowing(&broker).await;
    let user = local.user("acme");
    let task = user.begin("Tell me a slow story of secret snails").await;
    let took = members.until("took", 1).await;
    let path = format!("/api/tasks/{task}/cancel");
    let canceled = user.call(Method::POST, &path, Some(json!({}))).await;
    assert_eq!(canceled.status, 200, "{canceled:?}");
    // Members are asked in turn, by the schedule of cancellations.
    let begun = Instant::now();
    while members.who("canceled").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody was told");
        tokio::time::sleep(Duration::from_secs(1)).await;
        local.advance(Duration::from_secs(10)).await;
    }
    assert_eq!(members.who("canceled"), took);
    local.system.stop().await;
}
