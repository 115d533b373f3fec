//! No route without its row in the attack table: what each function serves is asked of the function itself, and the
//! operations of A2A of the type that names them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::attack::{ATTACKS, Cell, table};
use routes::Route;

/// A function (`agent` for what every agent serves), a method, a route.
type Row = (String, String, String);

fn root() -> PathBuf {
    system_testing::folder()
        .parent()
        .expect("the workspace")
        .to_owned()
}

/// What each function serves. The agents serve `agent`'s routes and no others.
fn served() -> Vec<(&'static str, Vec<Route>)> {
    vec![
        // Their events are the gateway's and the queue's own.
        ("pool_authorizer", Vec::new()),
        ("task_sweeper", Vec::new()),
        ("wake_router", Vec::new()),
        ("agent", agent::routes()),
        ("chat_api", chat_api::routes()),
        ("gateway", local::routes()),
        ("idp", idp::routes()),
        ("mqtt_bridge", mqtt_bridge::routes()),
        ("oauth_callback", oauth_callback::routes()),
        ("registry", registry::routes()),
        ("webhook_receiver", webhook_receiver::routes()),
    ]
}

#[test]
fn every_route_of_every_function_is_in_the_attack_table() {
    let mounted: BTreeSet<Row> = served()
        .into_iter()
        .flat_map(|(function, routes)| {
            routes
                .into_iter()
                .map(move |route| (function.to_owned(), route.method.to_owned(), route.path))
        })
        .collect();
    let tabled: BTreeSet<Row> = table()
        .iter()
        .map(|row| {
            (
                row.function.to_owned(),
                row.method.to_owned(),
                row.route.to_owned(),
            )
        })
        .collect();
    let missing: Vec<_> = mounted.difference(&tabled).collect();
    assert!(
        missing.is_empty(),
        "routes without a row in tests/it/attack: {missing:#?}"
    );
    let gone: Vec<_> = tabled.difference(&mounted).collect();
    assert!(
        gone.is_empty(),
        "rows of routes that are not there any more: {gone:#?}"
    );
}

/// A function's package that is neither listed above nor an agent would hide its routes.
#[test]
fn every_function_is_asked_for_its_routes() {
    let listed: Vec<&str> = served().into_iter().map(|(name, _)| name).collect();
    for entry in fs::read_dir(root().join("functions"))
        .expect("functions")
        .flatten()
    {
        let name = entry.file_name().into_string().expect("text");
        match name.strip_suffix("_agent") {
            Some(agent) => assert!(AGENTS.contains(&agent), "{name} has no rows"),
            None => assert!(listed.contains(&name.as_str()), "{name} is not asked"),
        }
    }
}

/// The agents that are deployed, each of which is attacked.
const AGENTS: [&str; 6] = ["host", "horizon", "weather", "airbnb", "calendar", "report"];

/// What the operations of A2A are called over JSON-RPC in 1.0 and 0.3, by the variants of `a2a::Call`.
const OPERATIONS: [(&str, &[&str]); 11] = [
    ("Send", &["SendMessage", "message/send"]),
    ("Stream", &["SendStreamingMessage", "message/stream"]),
    ("Get", &["GetTask", "tasks/get"]),
    ("List", &["ListTasks", "tasks/list"]),
    ("Cancel", &["CancelTask", "tasks/cancel"]),
    ("Subscribe", &["SubscribeToTask", "tasks/resubscribe"]),
    (
        "CreatePush",
        &[
            "CreateTaskPushNotificationConfig",
            "tasks/pushNotificationConfig/set",
        ],
    ),
    (
        "GetPush",
        &[
            "GetTaskPushNotificationConfig",
            "tasks/pushNotificationConfig/get",
        ],
    ),
    (
        "ListPush",
        &[
            "ListTaskPushNotificationConfigs",
            "tasks/pushNotificationConfig/list",
        ],
    ),
    (
        "DeletePush",
        &[
            "DeleteTaskPushNotificationConfig",
            "tasks/pushNotificationConfig/delete",
        ],
    ),
    (
        "ExtendedCard",
        &["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"],
    ),
];

#[test]
fn every_operation_of_a2a_is_in_the_attack_table_at_every_agent() {
    let source = fs::read_to_string(root().join("shared/a2a/src/call.rs")).expect("readable");
    let body = source.split("pub enum Call {").nth(1).expect("the type");
    let body = body.split("\n}").next().expect("its end");
    let variants: BTreeSet<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split(|c: char| !c.is_alphanumeric()).next())
        .collect();
    let known: BTreeSet<&str> = OPERATIONS.iter().map(|(variant, _)| *variant).collect();
    assert_eq!(variants, known, "the operations of `a2a::Call`");
    let codec = fs::read_to_string(root().join("shared/a2a/src/jsonrpc.rs")).expect("readable");
    let rows = table();
    for name in OPERATIONS.iter().flat_map(|(_, names)| *names) {
        assert!(
            codec.contains(&format!("\"{name}\"")),
            "{name} is none of the codec's"
        );
        for agent in AGENTS {
            let found = rows.iter().any(|row| row.at == agent && row.operation == *name);
            assert!(found, "{name} has no row at {agent}");
        }
    }
}

/// A row whose every cell is excused proves nothing, and is only for what is public: what is read, and what the local gateway itself
/// serves.
#[test]
fn only_what_is_public_is_excused_from_every_attack() {
    for row in table() {
        let excused = row
            .cells
            .iter()
            .filter(|cell| matches!(cell, Cell::Na(_)))
            .count();
        assert!(
            excused < ATTACKS.len() || row.method == "GET" || row.function == "gateway",
            "{} {} {}",
            row.function,
            row.method,
            row.route
        );
    }
}
