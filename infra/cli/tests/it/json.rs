//! `--json` on every command: what it prints is an object of JSON a line. The table is held against the command line itself.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::binary::{Up, switchyard};

/// Commands as they are run here, in this order, beside a running system.
const RUN: &[(&str, &[&str])] = &[
    ("chat", &["--tenant", "acme", "Will it rain in Oslo tomorrow?"]),
    ("status", &[]),
    ("tasks", &[]),
    ("task", &["TASK"]),
    ("logs", &[]),
    ("agents", &[]),
    ("agent list", &["--check"]),
    ("agent new", &["Wordy", "--python", "--into", "FOLDER"]),
    ("agent register", &["CARD"]),
    ("agent lint", &["CARD"]),
    ("agent try", &["CARD", "Will it rain in Oslo tomorrow?"]),
    ("agent check", &["ID"]),
    ("agent disable", &["ID"]),
    ("agent enable", &["ID"]),
    ("agent approve", &["ID"]),
    ("agent remove", &["ID"]),
    ("agent remove-type", &["spare"]),
    ("deliveries", &[]),
    ("deliveries replay", &[]),
    ("orders import", &["ORDERS", "--tenant", "acme"]),
    ("token", &["--tenant", "acme"]),
    ("tenant add", &["initech"]),
    ("tenant list", &[]),
    ("tenant set", &["initech", "share=on"]),
    ("tenant unset", &["initech", "share"]),
    ("tenant brand", &["initech"]),
    ("tenant plan", &["initech"]),
    ("tenant suspend", &["initech"]),
    ("tenant resume", &["initech"]),
    ("user add", &["bob", "--tenant", "initech"]),
    ("user list", &["--tenant", "initech"]),
    ("user reset", &["bob", "--tenant", "initech"]),
    ("user share", &["bob", "20", "--tenant", "initech"]),
    ("user end", &["https://a.example", "bob", "--tenant", "initech"]),
    ("user erase", &["bob", "--tenant", "initech"]),
    ("user remove", &["bob", "--tenant", "initech"]),
    ("issuer list", &["--tenant", "initech"]),
    ("issuer rules", &["--tenant", "initech"]),
    ("usage", &["--tenant", "acme"]),
    ("audit", &["--tenant", "acme"]),
    ("tenant export", &["acme", "--out", "ARCHIVE"]),
    ("eval", &["PROMPTS", "--tenant", "acme", "--least", "0"]),
    ("verify", &["--tenant", "globex"]),
    ("doctor", &["--tenant", "globex"]),
    ("keys rotate", &[]),
    ("sam-env", &[]),
    ("mcp pin", &["MCP"]),
    ("tenant remove", &["initech"]),
    ("tenant purge", &["initech"]),
    ("openapi", &[]),
];

/// Commands that have the option too, and are not run here.
const NOT_RUN: &[(&str, &str)] = &[
    ("up", "runs until it is stopped; its lines are those of its log"),
    ("page", "as `up`"),
    ("open", "opens a browser"),
    ("agent dev", "has a test of its own"),
    ("agent move", "moves an agent on AWS"),
    ("platform add", "is about AWS"),
    ("platform remove", "is about AWS"),
    ("pool add", "is about AWS"),
    ("tenant move", "is about AWS"),
    ("tenant pooled", "is for infra/deploy.sh, by its standard input"),
    (
        "tenant pooled-secret",
        "is for infra/deploy.sh, by its standard input",
    ),
    ("upgrade", "is about AWS"),
    ("issuer add", "wants a provider"),
    ("issuer check", "wants a provider"),
    ("issuer remove", "wants a provider"),
    ("mqtt import", "wants a broker"),
    ("mqtt acl", "wants a broker"),
    ("mqtt credentials", "wants a broker"),
    ("mqtt check", "wants a broker"),
    ("completions", "prints a script for a shell, which is no JSON"),
];

/// The names of all commands that do something, each with whether it takes `--json`.
fn commands(command: &clap::Command, path: &str, found: &mut BTreeSet<(String, bool)>) {
    let takes = command
        .get_arguments()
        .any(|argument| argument.get_id() == "json");
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        commands(below, format!("{path} {}", below.get_name()).trim(), found);
    }
    if !path.is_empty() && (!command.is_subcommand_required_set() || !command.has_subcommands()) {
        found.insert((path.to_owned(), takes));
    }
}

#[test]
fn every_command_is_in_the_table_and_takes_json() {
    let mut all = cli::command();
    all.build();
    let mut found = BTreeSet::new();
    commands(&all, "", &mut found);
    let run = RUN.iter().map(|(name, _)| *name);
    let listed: Vec<&str> = run.chain(NOT_RUN.iter().map(|(name, _)| *name)).collect();
    let listed_once: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(listed.len(), listed_once.len());
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, listed_once);
    let lacking: Vec<_> = found.iter().filter(|(_, takes)| !takes).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

#[test]
fn what_every_command_prints_is_an_object_a_line() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let up = Up::start(place.path(), &[]);
    let file = |name: &str, text: &str| {
        let file = place.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let orders = file(
        "orders.csv",
        "id,customer,status,items,placed_at,eta,updated_at\n2001,ada,shipped,1 x Lamp,2026-11-20T10:00:00Z,,\n",
    );
    let prompts = file(
        "prompts.jsonl",
        "{\"prompt\": \"Will it rain in Oslo tomorrow?\", \"agents\": [\"weather\"]}\n",
    );
    let card = up
        .endpoints
        .agents
        .iter()
        .find(|(name, _)| name.as_str() == "weather")
        .unwrap()
        .1
        .to_string();
    let mcp = format!("{}sandbox/mcp", up.endpoints.gateway);
    let (mut task, mut id) = (String::new(), String::new());
    for (name, arguments) in RUN {
        let filled = |argument: &&str| match *argument {
            "FOLDER" => data.to_owned(),
            "CARD" => card.clone(),
            "ORDERS" => orders.clone(),
            "PROMPTS" => prompts.clone(),
            "ARCHIVE" => format!("{data}/acme.tar"),
            "MCP" => mcp.clone(),
            "TASK" => task.clone(),
            "ID" => id.clone(),
            other => other.to_owned(),
        };
        let mut all: Vec<String> = name.split(' ').map(str::to_owned).collect();
        all.extend(arguments.iter().map(filled));
        all.extend(["--json".to_owned()]);
        let is_elsewhere = ["agent new", "openapi", "mcp pin"].contains(name);
        all.extend(
            (!is_elsewhere)
                .then(|| ["--data".to_owned(), data.to_owned()])
                .into_iter()
                .flatten(),
        );
        let ran = switchyard(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let (said, failed) = (
            String::from_utf8(ran.stdout).unwrap(),
            String::from_utf8(ran.stderr).unwrap(),
        );
        assert_ne!(ran.status.code(), Some(2), "{name}: {failed}");
        for line in said.lines() {
            let event: Value =
                serde_json::from_str(line).unwrap_or_else(|fault| panic!("{name}: {fault}: {line}"));
            assert!(event.is_object() && !line.contains('\u{1b}'), "{name}: {line}");
            // Data, and no sentence.
            assert!(event.get("line").is_none(), "{name}: {line}");
            let of = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            match *name {
                "tasks" => task = of("/id").unwrap(),
                "agent register" => id = of("/id").unwrap(),
                _ => {}
            }
        }
        // There is nothing to list, to erase or to remove.
        let may_be_silent = ["deliveries", "agent remove-type", "user erase", "tenant purge"].contains(name);
        assert!(
            may_be_silent || !said.is_empty(),
            "{name} prints nothing: {failed}"
        );
    }
}
