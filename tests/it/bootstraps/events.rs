//! Every file of `events/` handed to the program that it is for, as `sam local invoke` and `cargo lambda invoke` do.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tests::cloud::Cloud;
use tests::runtime_api::{Function, Reply, Spec, program};

/// What an event is answered with: an HTTP status, the messages of a batch that come again, or a report.
#[derive(Debug, PartialEq, Eq)]
enum Expect {
    Status(u64),
    Again(u64),
    Report,
}
use Expect::{Again, Report, Status};

/// A function's events: the file's name, its kind, what it is answered with.
type Events = &'static [(&'static str, &'static str, Expect)];

/// Every event there is, function by function: `good`, `bad` and `unauthorized` where the function knows callers, `queue`
/// where it has one.
const EVENTS: &[(&str, Events)] = &[
    (
        "chat_api",
        &[
            ("chat_first_visit", "good", Status(200)),
            ("chat", "unauthorized", Status(404)),
            ("chats_of_a_named_stage", "unauthorized", Status(200)),
            ("rubbish_body", "bad", Status(400)),
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
            ("connect_unknown", "good", Status(404)),
            ("callback_rubbish", "bad", Status(400)),
            ("callback_stale", "unauthorized", Status(400)),
        ],
    ),
    (
        "registry",
        &[
            ("agents_of_a_type", "good", Status(200)),
            ("agents_by_tags", "bad", Status(400)),
            ("register", "good", Status(422)),
            ("rubbish_body", "bad", Status(400)),
            ("unauthorized", "unauthorized", Status(401)),
        ],
    ),
    (
        "report_agent",
        &[
            ("card", "good", Status(200)),
            ("send_message", "good", Status(200)),
            ("task_by_id", "good", Status(404)),
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
            ("task_by_id", "good", Status(404)),
            ("rubbish_body", "bad", Status(200)),
            ("bad_token", "unauthorized", Status(401)),
            ("wakes", "queue", Again(0)),
        ],
    ),
    (
        "webhook_receiver",
        &[
            ("completed", "good", Status(401)),
            ("notification_token", "good", Status(401)),
            ("rubbish_body", "bad", Status(401)),
            ("unauthorized", "unauthorized", Status(401)),
        ],
    ),
];

/// What stands in the events where a token belongs.
const PLACES: [&str; 2] = ["header.payload.signature", "ACCESS_TOKEN"];

fn files(function: &str) -> BTreeSet<String> {
    let folder = tests::folder().join("../events").join(function);
    std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect()
}

fn read(function: &str, event: &str) -> Value {
    let path = tests::folder().join(format!("../events/{function}/{event}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_function_has_good_bad_unauthorized_and_queue_events_and_each_is_used() {
    let folder = tests::folder().join("../events");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        there,
        EVENTS
            .iter()
            .map(|(function, _)| (*function).to_owned())
            .collect()
    );
    for (function, events) in EVENTS {
        let told: BTreeSet<String> = events.iter().map(|(event, _, _)| (*event).to_owned()).collect();
        assert_eq!(told, files(function), "{function}");
        let kinds: BTreeSet<&str> = events.iter().map(|(_, kind, _)| *kind).collect();
        let wanted: &[&str] = match *function {
            "task_sweeper" => &["good"],
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
    let mut seen = BTreeMap::new();
    let base = cloud.stacks["acme"].output("BaseUrl");
    for (function, events) in EVENTS {
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
        let spec = Spec {
            name: (*function).to_owned(),
            binary: program(function),
            environment,
            timeout: std::time::Duration::from_secs(60),
            memory: 256,
        };
        let lambda = Function::new(spec, logs.path());
        for (event, kind, expect) in *events {
            let mut payload = read(function, event);
            // An event that is not about tokens has a place for the one of somebody who may.
            let mut text = payload.to_string().replace("https://acme.example", &base);
            for place in PLACES {
                if *kind != "unauthorized" && text.contains(place) {
                    text = text.replace(place, &cloud.token(full));
                }
            }
            payload = serde_json::from_str(&text).unwrap();
            let reply = lambda.invoke(payload).await;
            let said = format!("{reply:?}");
            let got = match reply {
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
            seen.insert(format!("{function}/{event}"), got);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", cloud.logs());
    assert_eq!(
        seen.len(),
        EVENTS.iter().map(|(_, events)| events.len()).sum::<usize>()
    );
}
