//! No route without its row in the attack table: the routes and methods are read from the sources, the operations of
//! A2A from the type that names them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::attack::{ATTACKS, Cell, table};

/// A function (`agent` for what every agent serves), a method, a route.
type Route = (String, String, String);

fn root() -> PathBuf {
    tests::folder().parent().expect("the workspace").to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().expect("text");
        if path.is_dir() && name != "tests" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The arguments of every call of `.route(` in a source, without comments: however many lines they take.
fn calls(source: &str) -> Vec<String> {
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for (at, _) in code.match_indices(".route(") {
        let rest = &code[at + ".route(".len()..];
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0
        });
        found.push(rest[..end.expect("a whole call")].to_owned());
    }
    found
}

/// The paths that a call may mean: a literal, the literal of a constant of the same crate, or each literal that a local
/// of the same file may have.
fn paths(call: &str, source: &str, crates: &[String]) -> Vec<String> {
    let first = call.split(',').next().expect("an argument").trim();
    if let Some(literal) = first.strip_prefix('"') {
        return vec![literal.trim_end_matches('"').to_owned()];
    }
    let name = first.rsplit("::").next().expect("a name");
    let definition = format!("const {name}: &str = \"");
    let constant = crates.iter().find_map(|source| source.split(&definition).nth(1));
    if let Some(literal) = constant.and_then(|rest| rest.split('"').next()) {
        return vec![literal.to_owned()];
    }
    let local = source
        .split(&format!("let {name} = "))
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let literals: Vec<String> = local
        .unwrap_or_default()
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(
        !literals.is_empty(),
        "the route of {call:?} is neither a literal nor a name for one"
    );
    literals
}

/// What the routes of a file lie below: its `routes` may be merged or nested, several times.
fn prefixes(file: &Path, source: &str, crates: &[String]) -> Vec<String> {
    let name = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    let mounted = format!("{name}::routes(");
    if !source.contains("fn routes(") {
        return vec![String::new()];
    }
    let mut found = Vec::new();
    for (before, _) in crates.iter().flat_map(|source| {
        source
            .match_indices(&mounted)
            .map(|(at, _)| (source[..at].trim_end(), at))
            .collect::<Vec<_>>()
    }) {
        let before = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let prefix = match before.strip_suffix(".merge(") {
            Some(_) => String::new(),
            None => {
                let nested = before.rsplit(".nest(").next().expect("an argument");
                nested
                    .split('"')
                    .nth(1)
                    .unwrap_or_else(|| panic!("{mounted} is mounted oddly"))
                    .to_owned()
            }
        };
        found.push(prefix);
    }
    assert!(!found.is_empty(), "{mounted} is mounted nowhere");
    found
}

fn methods(call: &str, source: &str) -> Vec<&'static str> {
    let mut after = call.split_once(',').expect("a handler").1.trim();
    // A handler that has a name of its own, as several routes share it.
    let name = after.trim_end_matches(".clone()");
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        after = source
            .split(&format!("let {name} = "))
            .nth(1)
            .and_then(|rest| rest.split(';').next())
            .unwrap_or("");
    }
    let has = |word: &str| {
        after
            .match_indices(word)
            .any(|(at, _)| !after[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
    };
    let found: Vec<_> = [
        ("get(", "GET"),
        ("post(", "POST"),
        ("put(", "PUT"),
        ("patch(", "PATCH"),
        ("delete(", "DELETE"),
        ("any(", "ANY"),
    ]
    .into_iter()
    .filter(|(word, _)| has(word))
    .map(|(_, method)| method)
    .collect();
    assert!(!found.is_empty(), "no method in {call:?}");
    found
}

/// Every route that a folder's sources mount; of a call that may mean several paths, all of them together.
fn routes_of(function: &str, folder: &Path) -> Vec<Vec<Route>> {
    let files = sources(folder);
    let crates: Vec<String> = files
        .iter()
        .map(|path| fs::read_to_string(path).expect("readable"))
        .collect();
    let mut found = Vec::new();
    for (file, source) in files.iter().zip(&crates) {
        for call in calls(source) {
            let paths = paths(&call, source, &crates);
            for prefix in prefixes(file, source, &crates) {
                for method in methods(&call, source) {
                    let route =
                        |path: &String| (function.to_owned(), method.to_owned(), format!("{prefix}{path}"));
                    found.push(paths.iter().map(route).collect());
                }
            }
        }
    }
    found
}

fn mounted() -> Vec<Vec<Route>> {
    let mut found = routes_of("agent", &root().join("shared/agent/src"));
    for entry in fs::read_dir(root().join("functions"))
        .expect("functions")
        .flatten()
    {
        let name = entry.file_name().into_string().expect("text");
        found.extend(routes_of(&name, &entry.path().join("src")));
    }
    found
}

fn tabled() -> BTreeSet<Route> {
    let rows = table();
    rows.iter()
        .map(|row| {
            (
                row.function.to_owned(),
                row.method.to_owned(),
                row.route.to_owned(),
            )
        })
        .collect()
}

#[test]
fn every_route_of_every_function_is_in_the_attack_table() {
    let (mounted, tabled) = (mounted(), tabled());
    assert!(mounted.len() > 40, "the sources were read: {mounted:#?}");
    let missing: Vec<_> = mounted
        .iter()
        .filter(|routes| routes.iter().all(|route| !tabled.contains(route)))
        .collect();
    assert!(
        missing.is_empty(),
        "routes without a row in tests/it/attack: {missing:#?}"
    );
    let known: BTreeSet<Route> = mounted.iter().flatten().cloned().collect();
    let gone: Vec<_> = tabled.difference(&known).collect();
    assert!(
        gone.is_empty(),
        "rows of routes that are not there any more: {gone:#?}"
    );
}

/// Nothing else gives out routes: what is merged or nested otherwise would hide its routes from this test.
#[test]
fn routes_are_mounted_in_ways_that_this_test_reads() {
    for folder in ["functions", "shared/agent"] {
        for path in sources(&root().join(folder)) {
            let source = fs::read_to_string(&path).expect("readable");
            for word in [".nest_service(", ".route_service(", ".fallback("] {
                assert!(!source.contains(word), "{}: {word}", path.display());
            }
            for word in [".nest(", ".merge("] {
                for (at, _) in source.match_indices(word) {
                    let line = source[at..].lines().next().unwrap_or_default();
                    assert!(line.contains("::routes("), "{}: {line}", path.display());
                }
            }
        }
    }
}

#[test]
fn the_reader_of_routes_finds_them_all() {
    let source = r#"
        //! .route("/comment", get(x))
        Router::new()
            .route("/a", get(a::show).post(a::step))
            .route(
                "/b/{id}",
                delete(forget_them),
            )
            .route(place::NAMED, post(target::put_it))
            .route(local, get(target::look))
        pub fn routes() { let local = if new { "/d" } else { "/e" }; }
    "#;
    let mounts = r#"
        const NAMED: &str = "/c"; Router::new().merge(rest::routes(New)).nest("/v1", rest::routes(Old))
    "#;
    let crates = [source.to_owned(), mounts.to_owned()];
    let found: Vec<_> = calls(source)
        .iter()
        .map(|call| (paths(call, source, &crates), methods(call, source)))
        .collect();
    let wanted = [
        (vec!["/a"], vec!["GET", "POST"]),
        (vec!["/b/{id}"], vec!["DELETE"]),
        (vec!["/c"], vec!["POST"]),
        (vec!["/d", "/e"], vec!["GET"]),
    ];
    let wanted: Vec<_> = wanted
        .map(|(paths, methods)| (paths.into_iter().map(str::to_owned).collect::<Vec<_>>(), methods))
        .into();
    assert_eq!(found, wanted);
    assert_eq!(prefixes(Path::new("rest.rs"), source, &crates), ["", "/v1"]);
}

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
        for agent in ["host", "horizon", "weather", "report"] {
            let found = rows.iter().any(|row| row.at == agent && row.operation == *name);
            assert!(found, "{name} has no row at {agent}");
        }
    }
}

/// A row whose every cell is excused proves nothing, and is only for what is public.
#[test]
fn only_what_is_public_is_excused_from_every_attack() {
    for row in table() {
        let excused = row
            .cells
            .iter()
            .filter(|cell| matches!(cell, Cell::Na(_)))
            .count();
        assert!(
            excused < ATTACKS.len() || row.method == "GET",
            "{} {} {}",
            row.function,
            row.method,
            row.route
        );
    }
}
