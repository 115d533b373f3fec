//! Every file of `events/` handed to the program that it is for, as `sam local invoke` and `cargo lambda invoke` do.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use consent::{Consent, ConsentRequest, ConsentStore};
use domain::{
    AgentName, Clock as _, ContextId, Job, Message, MessageId, NewJob, NewTask, Owner, Part, SealedToken,
    SystemClock, Task, TaskId, Tenant,
};
use serde_json::Value;
use store::{Created, NewRecord};
use system_testing::cloud::Cloud;
use system_testing::runtime_api::{Function, Reply, Spec, program};

/// What an event is answered with: an HTTP status, the messages of a batch that come again, a report, or whether somebody may come in.
#[derive(Debug, PartialEq, Eq)]
enum Expect {
    Status(u64),
    Again(u64),
    Report,
    Lets(bool),
}
use Expect::{Again, Lets, Report, Status};

/// A function's events: the file's name, its kind, what it is answered with.
type Events = &'static [(&'static str, &'static str, Expect)];

/// Every event there is, function by function: `good`, `bad` and `unauthorized` where the function knows callers, `queue`
/// where it has one.
const EVENTS: &[(&str, Events)] = &[
    (
        "airbnb_agent",
        &[
            ("card", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("task_by_id", "good", Status(200)),
            ("rubbish_body", "bad", Status(200)),
            ("bad_token", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
        ],
    ),
    (
        "calendar_agent",
        &[
            ("card", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("task_by_id", "good", Status(200)),
            ("rubbish_body", "bad", Status(200)),
            ("bad_token", "unauthorized", Status(401)),
            ("unauthorized", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
        ],
    ),
    (
        "chat_api",
        &[
            ("a_first_visit", "good", Status(200)),
            ("chat", "good", Status(200)),
            ("chats_of_a_named_stage", "unauthorized", Status(200)),
            ("push_endpoint_inside", "bad", Status(400)),
            ("push_key", "good", Status(200)),
            ("push_told_without_a_pass", "unauthorized", Status(401)),
            ("rubbish_body", "bad", Status(400)),
            ("session", "good", Status(200)),
            ("tasks_of_context", "good", Status(200)),
            ("unauthorized", "unauthorized", Status(404)),
        ],
    ),
    (
        "horizon_agent",
        &[
            ("card", "good", Status(200)),
            ("resource_metadata", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("rubbish_body", "bad", Status(200)),
            ("bad_token", "unauthorized", Status(401)),
            ("unauthorized", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
        ],
    ),
    (
        "host_agent",
        &[
            ("card", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("send_message_0_3", "good", Status(200)),
            ("send_message_base64", "good", Status(200)),
            ("rubbish_body", "bad", Status(200)),
            ("unauthorized", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
            ("wakes_with_rubbish", "queue", Again(2)),
        ],
    ),
    (
        "idp",
        &[
            ("metadata", "good", Status(200)),
            ("jwks", "good", Status(200)),
            ("authorize", "good", Status(200)),
            ("authorize_foreign_redirect", "bad", Status(400)),
            ("authorize_plain_pkce", "bad", Status(302)),
            ("rubbish_body", "bad", Status(400)),
            ("token_code", "unauthorized", Status(401)),
            ("token_client_credentials", "unauthorized", Status(401)),
            ("unauthorized", "unauthorized", Status(401)),
        ],
    ),
    (
        "oauth_callback",
        &[
            ("connect", "good", Status(302)),
            ("connect_unknown", "bad", Status(404)),
            ("callback_rubbish", "bad", Status(400)),
            ("callback_stale", "unauthorized", Status(400)),
            ("sign_in", "good", Status(302)),
            ("sign_in_from_elsewhere", "good", Status(200)),
            ("signed_in_elsewhere", "unauthorized", Status(403)),
            ("sign_out", "good", Status(200)),
            ("sign_out_of_a_form", "bad", Status(415)),
        ],
    ),
    (
        "registry",
        &[
            ("agents_of_a_type", "good", Status(200)),
            ("agents_by_tags", "bad", Status(400)),
            ("register", "good", Status(200)),
            ("schedule", "good", Report),
            ("rubbish_body", "bad", Status(400)),
            ("unauthorized", "unauthorized", Status(401)),
        ],
    ),
    (
        "report_agent",
        &[
            ("card", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("task_by_id", "good", Status(200)),
            ("rubbish_body", "bad", Status(200)),
            ("bad_token", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
        ],
    ),
    (
        "task_sweeper",
        &[("schedule", "good", Report), ("scheduler", "good", Report)],
    ),
    (
        "weather_agent",
        &[
            ("card", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("task_by_id", "good", Status(200)),
            ("rubbish_body", "bad", Status(200)),
            ("bad_token", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
        ],
    ),
    (
        "webhook_receiver",
        &[
            ("completed", "good", Status(204)),
            ("notification_token", "good", Status(204)),
            ("rubbish_body", "bad", Status(400)),
            ("unauthorized", "unauthorized", Status(401)),
        ],
    ),
];

/// The events of the functions that stand before the pool's, where acme is in it.
const POOLED: &[(&str, Events)] = &[
    (
        "pool_authorizer",
        &[
            ("a_tenant_of_the_pool", "good", Lets(true)),
            ("a_made_up_name", "unauthorized", Lets(false)),
            ("no_name", "bad", Lets(false)),
        ],
    ),
    (
        "wake_router",
        &[
            ("wakes", "queue", Again(0)),
            ("wakes_with_rubbish", "queue", Again(2)),
        ],
    ),
];

/// What stands in the events where a token belongs.
const PLACES: [&str; 2] = ["header.payload.signature", "ACCESS_TOKEN"];

/// The task, and the request for consent, that the events are about.
const TASK: &str = "0b54a1f2-6a3e-4c39-8d0f-6f1c3d2b7a10";
const CONSENT: &str = "2f6d0c0e-55a8-4f9b-9a1e-6c1f0b7f0a02";
/// Whose tokens those of the events are.
const SOMEBODY: &str = "somebody";

/// Stores what the good events refer to: a task of each agent that they ask for, the host's job that an agent has news of,
/// the request for consent that somebody follows.
async fn prepare(cloud: &Cloud) {
    let now = SystemClock.now();
    let tenant = Tenant::parse("acme").unwrap();
    let (id, owner) = (TaskId::parse(TASK).unwrap(), Owner::parse(SOMEBODY).unwrap());
    for agent in ["weather", "airbnb", "calendar", "report", "host"] {
        let message_id = MessageId::parse("m").unwrap();
        let mut task = Task::create(
            NewTask {
                id,
                tenant: tenant.clone(),
                agent: AgentName::parse(agent).unwrap(),
                context_id: ContextId::parse("c-1").unwrap(),
                owner: owner.clone(),
                message: Message::user(message_id.clone(), vec![Part::text("Oslo?")]),
                trace: None,
            },
            now,
        );
        if agent == "host" {
            task.jobs = vec![job()];
        }
        let record = NewRecord {
            task: &task,
            message_id: &message_id,
            body_hash: "h",
            push: None,
            due_at: now.after(Duration::from_secs(3600)),
            retention: Duration::from_secs(24 * 3600),
        };
        assert_eq!(cloud.store.tasks().create(&record).await.unwrap(), Created::New);
    }
    let platform = &cloud.stacks["platform"];
    let request = ConsentRequest {
        owner,
        agent: AgentName::parse("host").unwrap(),
        task_id: id,
        job: 0,
        provider: "idp".to_owned(),
        issuer: format!("{}/acme", platform.output("IdpUrl")),
        resource: cloud.stacks["acme"].output("HorizonAgentUrl"),
        scopes: ["openid", "tasks", "orders:read"].map(str::to_owned).into(),
    };
    let until = now.after(Duration::from_secs(3600));
    let consent = Consent::new(CONSENT.to_owned(), request, now, until);
    let records = ConsentStore::new(cloud.store.clone(), tenant);
    assert!(records.put(&consent).await.unwrap());
}

/// A job whose message has left, and whose agent proves itself with the token of the events.
fn job() -> Job {
    let token = read("webhook_receiver", "notification_token")["headers"]["x-a2a-notification-token"].clone();
    let new = NewJob {
        webhook: SealedToken {
            hash: auth::token::hash(token.as_str().unwrap()),
            sealed: Some("s".into()),
        },
        ..domain::testing::new_job()
    };
    Job::prepare(new, SystemClock.now())
}

fn files(function: &str) -> BTreeSet<String> {
    let folder = system_testing::folder().join("../events").join(function);
    std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect()
}

fn read(function: &str, event: &str) -> Value {
    let path = system_testing::folder().join(format!("../events/{function}/{event}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_function_has_good_bad_unauthorized_and_queue_events_and_each_is_used() {
    let folder = system_testing::folder().join("../events");
    let mut there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    // Those of the bridge come from rules of IoT Core: `iot` plays them.
    there.remove("mqtt_bridge");
    assert_eq!(
        there,
        EVENTS
            .iter()
            .chain(POOLED)
            .map(|(function, _)| (*function).to_owned())
            .collect()
    );
    for (function, events) in EVENTS.iter().chain(POOLED) {
        let told: BTreeSet<String> = events.iter().map(|(event, _, _)| (*event).to_owned()).collect();
        assert_eq!(told, files(function), "{function}");
        let kinds: BTreeSet<&str> = events.iter().map(|(_, kind, _)| *kind).collect();
        let wanted: &[&str] = match *function {
            "task_sweeper" => &["good"],
            "wake_router" => &["queue"],
            name if name.ends_with("_agent") => &["good", "bad", "unauthorized", "queue"],
            _ => &["good", "bad", "unauthorized"],
        };
        for kind in wanted {
            assert!(kinds.contains(kind), "{function} has no {kind} event");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_program_answers_each_of_its_events() {
    let cloud = Cloud::start(&["acme"]).await;
    let logs = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    prepare(&cloud).await;
    for (function, events) in EVENTS {
        play(&cloud, function, events, logs.path(), &mut wrong).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", cloud.logs());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_program_before_the_pools_answers_each_of_its_events() {
    let cloud = Cloud::start_pooled(&["acme"]).await;
    let logs = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (function, events) in POOLED {
        play(&cloud, function, events, logs.path(), &mut wrong).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", cloud.logs());
}

/// Hands a function's program each of its events, and says what was answered otherwise than it should be.
async fn play(cloud: &Cloud, function: &str, events: Events, logs: &Path, wrong: &mut Vec<String>) {
    let output = |stack: &str, name: &str| cloud.stacks.get(stack).map(|stack| stack.output(name));
    let base = output("acme", "BaseUrl").unwrap_or_default();
    let weather = output("platform", "WeatherAgentUrl").unwrap_or_default();
    let camel: String = function
        .split('_')
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect();
    let full = cloud
        .environments
        .keys()
        .find(|name| name.ends_with(&format!("/{camel}Function")));
    let full = full.expect("a function");
    let mut environment = cloud.environments[full].clone();
    // The events carry the functions' own paths.
    environment.remove("BASE_PATH");
    environment.insert("ANSWERS".to_owned(), "buffered".to_owned());
    // Those of agents that are open come from callers without a token.
    environment.insert("PUBLIC_AGENTS".to_owned(), "true".to_owned());
    let spec = Spec {
        name: function.to_owned(),
        binary: program(function),
        environment,
        timeout: std::time::Duration::from_secs(60),
        memory: 256,
        isolated: false,
    };
    let lambda = Function::new(spec, logs);
    for (event, kind, expect) in events {
        let mut payload = read(function, event);
        // An event that is not about tokens has a place for the one of somebody who may.
        let mut text = payload
            .to_string()
            .replace("https://acme.example", &base)
            .replace("https://agents.example", &weather);
        for place in PLACES {
            if *kind != "unauthorized" && text.contains(place) {
                text = text.replace(place, &cloud.token(full));
            }
        }
        payload = serde_json::from_str(&text).unwrap();
        let reply = lambda.invoke(payload).await;
        let said = format!("{reply:?}");
        let got = match reply {
            Reply::Answer(answer) if answer["policyDocument"].is_object() => {
                let allow = &answer["policyDocument"]["Statement"][0]["Effect"];
                // Whoever is let in is so as the tenant of the path alone.
                let prefix = answer["context"]["prefix"].as_str();
                Lets(allow == "Allow" && prefix == Some("acme"))
            }
            Reply::Answer(answer) => match (
                answer["statusCode"].as_u64(),
                answer["batchItemFailures"].as_array(),
            ) {
                (Some(status), _) => Status(status),
                (None, Some(failed)) => Again(failed.len() as u64),
                (None, None) => Report,
            },
            other => {
                wrong.push(format!("{function}/{event}: {other:?}"));
                continue;
            }
        };
        if got != *expect {
            wrong.push(format!("{function}/{event}: {got:?}, not {expect:?}: {said}"));
        }
        // They came by https.
        if matches!(got, Status(_)) && !said.contains("\"strict-transport-security\"") {
            wrong.push(format!("{function}/{event} says nothing of https alone: {said}"));
        }
    }
}
