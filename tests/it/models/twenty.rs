//! Twenty walks through a scripted model (`tests/data/walks.toml`): the right agents get the right messages in the right order, and the
//! model is asked no more often than it has steps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use system_testing::models::{BOTH, Stop};

use super::walk::system;
use super::*;
use crate::scripted::{News, Scripted};

/// How long each agent takes: what is to begin later begins later than that.
const TAKES: Duration = Duration::from_millis(300);

#[derive(Deserialize)]
struct Walks {
    walk: Vec<Walk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Walk {
    name: String,
    prompt: String,
    steps: Vec<Answers>,
    order: Vec<Vec<String>>,
}

/// One step of the model.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answers {
    /// To whom, what.
    Send(Vec<(String, String)>),
    /// Who, what, and then the places of those whose results it works on.
    Plan(Vec<Vec<toml::Value>>),
    /// Tools with arguments as they are.
    Call(Vec<(String, String)>),
    Say(String),
}

impl Answers {
    fn reply(&self, dialect: Dialect) -> Reply {
        match self {
            Self::Say(text) => dialect.says(text),
            Self::Send(messages) => {
                let messages: Vec<(&str, &str)> = messages
                    .iter()
                    .map(|(to, what)| (to.as_str(), what.as_str()))
                    .collect();
                dialect.sends(&messages)
            }
            Self::Plan(pieces) => {
                let piece = |piece: &Vec<toml::Value>| {
                    let text = |at: usize| piece[at].as_str().expect("a text");
                    let uses: Vec<i64> = piece[2..].iter().filter_map(toml::Value::as_integer).collect();
                    json!({"agent_type": text(0), "message": text(1), "uses": uses})
                };
                let tasks: Vec<Value> = pieces.iter().map(piece).collect();
                dialect.calls([("plan_tasks", json!({ "tasks": tasks }))])
            }
            Self::Call(calls) => {
                let calls = calls.iter().enumerate();
                let events = calls.flat_map(|(place, (name, arguments))| {
                    dialect.call(place, (&format!("tool_{place}"), name), arguments)
                });
                dialect.stream(events.chain(dialect.stop(Stop::Called)).collect())
            }
        }
    }
}

fn walks() -> Vec<Walk> {
    let file = system_testing::folder().join("data/walks.toml");
    let text = std::fs::read_to_string(file).expect("the walks");
    toml::from_str::<Walks>(&text).expect("walks").walk
}

/// What each agent was sent, with the time.
fn arrived(agents: &[Scripted]) -> Vec<(String, Instant)> {
    let sent = agents.iter().flat_map(Scripted::sent);
    sent.map(|sent| (sent.text, sent.at)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_walks_reach_the_right_agents_in_the_right_order_without_a_call_too_many() {
    let walks = Arc::new(walks());
    assert!(walks.len() >= 20);
    let texts = walks.iter().flat_map(|walk| walk.order.iter().flatten());
    let distinct: BTreeSet<&String> = texts.clone().collect();
    assert_eq!(distinct.len(), texts.count(), "a text stands twice");
    for dialect in BOTH {
        let script = Arc::clone(&walks);
        let server = ModelServer::thinking(move |asked| {
            let prompt = asked.prompt();
            let walk = script.iter().find(|walk| prompt.contains(&walk.prompt));
            let step = walk.and_then(|walk| match asked.writes() {
                true => walk.steps.last(),
                false => walk.steps.get(asked.steps()),
            });
            step.map_or_else(
                || dialect.says("That is one call too many."),
                |step| step.reply(dialect),
            )
        })
        .await;
        let local = system(dialect, &server, false).await;
        let mut agents = Vec::new();
        for (kind, state) in [
            ("flats", "COMPLETED"),
            ("planner", "COMPLETED"),
            ("booklets", "COMPLETED"),
            ("broken", "FAILED"),
        ] {
            let agent = Scripted::start(&local, kind, &format!("Everything for {kind}")).await;
            let (state, text, artifact) = match state {
                "FAILED" => ("TASK_STATE_FAILED", Some("nothing works here"), None),
                _ => ("TASK_STATE_COMPLETED", None, Some("here it is")),
            };
            agent.works(vec![News {
                after: TAKES,
                state,
                text,
                artifact,
            }]);
            agents.push(agent);
        }
        let ended = join_all(walks.iter().map(|walk| {
            let user = local.user("acme");
            async move {
                let id = user.ask(&walk.prompt).await.task_id();
                user.until(&id, &["completed", "failed", "rejected", "canceled"])
                    .await
            }
        }))
        .await;
        let asked = server.asked();
        let arrived = arrived(&agents);
        for (walk, task) in walks.iter().zip(&ended) {
            let at = format!("{dialect:?}, {}", walk.name);
            assert_eq!(task["status"], "completed", "{at}: {task:#}");
            let Some(Answers::Say(says)) = walk.steps.last() else {
                panic!("{at}: it says nothing in the end")
            };
            let said = task["statusMessage"].as_str().unwrap_or_default();
            assert!(said.contains(says.as_str()), "{at}: {said}");
            let calls = asked
                .iter()
                .filter(|asked| asked.prompt().contains(&walk.prompt))
                .count();
            assert_eq!(calls, walk.steps.len(), "{at}: calls of the model");
            let mut over: Option<Instant> = None;
            for group in &walk.order {
                let came: Vec<Instant> = group
                    .iter()
                    .map(|text| {
                        let mut found = arrived.iter().filter(|(known, _)| known == text);
                        let first = found
                            .next()
                            .unwrap_or_else(|| panic!("{at}: nobody got {text:?}"));
                        assert!(found.next().is_none(), "{at}: {text:?} went out twice");
                        first.1
                    })
                    .collect();
                let first = came.iter().min().expect("a group has somebody");
                assert!(
                    over.is_none_or(|over| *first >= over),
                    "{at}: {group:?} began too early"
                );
                over = came.iter().max().map(|last| *last + TAKES);
            }
        }
        let wanted: usize = walks.iter().map(|walk| walk.order.concat().len()).sum();
        assert_eq!(
            arrived.len(),
            wanted,
            "{dialect:?}: nothing else was sent: {arrived:#?}"
        );
        local.system.stop().await;
    }
}
