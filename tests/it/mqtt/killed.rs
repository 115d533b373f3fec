//! A host whose agents are on a broker, killed without a word in each of its waits: for the first reply to a request, and for the
//! rest of a reply, which comes while nobody is there. The broker keeps what comes for it; nothing is lost, and nothing is done twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use a2a::mqtt::{Properties, Publication};
use mqtt::{Publisher as _, Session};
use serde_json::{Value, json};
use system_testing::User;
use system_testing::binary::{Up, free_port};

use super::world::{Broker, Told};

const ADDRESS: &str = "acme/lab/story";

/// A request as its agent knows it.
#[derive(Debug, Clone)]
struct Asked {
    task: String,
    text: String,
    /// Where the newest attempt wants its replies, and their correlation.
    reply: Properties,
    id: Value,
    state: &'static str,
}

/// An agent that answers when it is told to.
struct Teller {
    session: Session,
    tasks: Arc<Mutex<BTreeMap<String, Asked>>>,
}

impl Teller {
    async fn start(broker: &Broker) -> Self {
        let topic = format!("$a2a/v1/request/{ADDRESS}");
        let (session, told) = broker.open(ADDRESS, vec![topic.clone()]).await;
        let card = json!({ "name": "Story", "description": "Tells slow stories", "version": "1.0.0",
            "supportedInterfaces": [{ "url": format!("{}/{topic}", broker.running.url()),
                "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" }],
            "capabilities": { "streaming": true }, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{ "id": "story", "name": "Story", "description": "Tells slow stories of snails and turtles",
                "tags": ["type:story"] }] });
        let card = Publication {
            topic: format!("$a2a/v1/discovery/{ADDRESS}"),
            payload: card.to_string().into(),
            retain: true,
            properties: Properties {
                user: vec![("a2a-status".to_owned(), "online".to_owned())],
                ..Properties::default()
            },
        };
        session.publish(card).await.expect("its card is published");
        let teller = Self {
            session: session.clone(),
            tasks: Arc::default(),
        };
        tokio::spawn(listen(session, told, Arc::clone(&teller.tasks)));
        teller
    }

    /// The request with this word, once it has come.
    async fn asked(&self, word: &str) -> Asked {
        let begun = Instant::now();
        loop {
            let found = self
                .tasks
                .lock()
                .expect("no panic")
                .values()
                .find(|asked| asked.text.contains(word))
                .cloned();
            if let Some(found) = found {
                return found;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "nobody asked about {word}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Tells the result, and that this was all.
    async fn tells(&self, word: &str) {
        let mut asked = self.asked(word).await;
        let items = [
            json!({ "artifactUpdate": { "taskId": asked.task, "contextId": "c", "lastChunk": true,
                "artifact": { "artifactId": "story", "parts": [{ "text": format!("The {word} arrived.") }] } } }),
            status(&asked.task, "TASK_STATE_COMPLETED"),
        ];
        for item in items {
            publish(&self.session, &asked.reply, &asked.id, item).await;
        }
        asked.state = "TASK_STATE_COMPLETED";
        self.tasks
            .lock()
            .expect("no panic")
            .insert(asked.task.clone(), asked);
    }
}

fn status(task: &str, state: &str) -> Value {
    json!({ "statusUpdate": { "taskId": task, "contextId": "c", "status": { "state": state } } })
}

async fn publish(session: &Session, to: &Properties, id: &Value, result: Value) {
    let reply = Publication {
        topic: to.response_topic.clone().expect("a response topic"),
        payload: json!({ "jsonrpc": "2.0", "id": id, "result": result })
            .to_string()
            .into(),
        retain: false,
        properties: Properties {
            correlation: to.correlation.clone(),
            ..Properties::default()
        },
    };
    session.publish(reply).await.expect("a reply is published");
}

/// A task comes into being once, and a repeated request is answered by how it stands. Who asks about turtles hears at once that
/// there is work.
async fn listen(session: Session, mut told: Told, tasks: Arc<Mutex<BTreeMap<String, Asked>>>) {
    while let Some(received) = told.recv().await {
        let publication = received.publication;
        let request: Value = serde_json::from_slice(&publication.payload).expect("JSON");
        let task = request["params"]["message"]["taskId"]
            .as_str()
            .or(request["params"]["id"].as_str());
        let (task, id) = (task.expect("a task").to_owned(), request["id"].clone());
        let is_look = request["method"] == "GetTask";
        let known = tasks.lock().expect("no panic").get(&task).cloned();
        let known = known.or_else(|| {
            (!is_look).then(|| Asked {
                task: task.clone(),
                text: request["params"]["message"]["parts"][0]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                reply: publication.properties.clone(),
                id: id.clone(),
                state: "TASK_STATE_WORKING",
            })
        });
        let Some(mut asked) = known else { continue };
        let stands =
            json!({ "id": task, "contextId": "c", "status": { "state": asked.state }, "artifacts": [] });
        if is_look {
            publish(&session, &publication.properties, &id, stands).await;
            continue;
        }
        (asked.reply, asked.id) = (publication.properties.clone(), id);
        if asked.text.contains("turtle") {
            publish(
                &session,
                &asked.reply,
                &asked.id,
                status(&task, "TASK_STATE_WORKING"),
            )
            .await;
        }
        tasks.lock().expect("no panic").insert(task, asked);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_while_it_waits_for_an_agent_on_a_broker_goes_on() {
    let broker = Broker::start();
    let teller = Teller::start(&broker).await;
    let (data, port, url) = (
        tempfile::tempdir().expect("a folder"),
        free_port(),
        broker.running.url(),
    );
    let more = ["--mqtt", url.as_str(), "--mqtt-import", "acme/lab/story:story"];
    let mut up = Up::start_more(data.path(), port, &more);
    let registry = format!(
        "{}/agents?tag=type:story",
        up.endpoints["registry"]
            .as_str()
            .expect("a URL")
            .trim_end_matches('/')
    );
    let token = up.endpoints["registry_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let begun = Instant::now();
    loop {
        let known = system_testing::user::http()
            .get(&registry)
            .bearer_auth(&token)
            .send()
            .await
            .expect("an answer");
        let known: Value = known.json().await.expect("JSON");
        if known["agents"]
            .as_array()
            .is_some_and(|agents| !agents.is_empty())
        {
            break;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is registered: {known}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let user = User::new(up.base("acme"));
    // One hears nothing yet, the other that there is work.
    let snail = user.begin("Tell me a slow story of snails").await;
    let turtle = user.begin("Tell me a slow story of turtles").await;
    teller.asked("snail").await;
    teller.asked("turtle").await;
    user.until(&turtle, &["working"]).await;

    up.kill();
    // Nobody is there: the broker keeps it.
    teller.tells("turtle").await;
    let mut up = Up::start_more(data.path(), port, &more);
    teller.tells("snail").await;
    for (task, word) in [(&turtle, "turtle"), (&snail, "snail")] {
        let done = user.until(task, &["completed", "failed"]).await;
        assert_eq!(done["status"], "completed", "{done:#}");
        let text = done["artifacts"].to_string();
        assert_eq!(
            text.matches(&format!("The {word} arrived.")).count(),
            1,
            "{done:#}"
        );
    }
    // Once more, when all is done: nothing begins again.
    up.kill();
    let _up = Up::start_more(data.path(), port, &more);
    for task in [&turtle, &snail] {
        assert_eq!(user.task(task).await["status"], "completed");
    }
    let tasks = teller.tasks.lock().expect("no panic").clone();
    assert_eq!(
        tasks.len(),
        2,
        "a task for each question, whatever was repeated: {tasks:#?}"
    );
}
