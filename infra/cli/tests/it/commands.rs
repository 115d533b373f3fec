//! The commands that talk to a running system.

use serde_json::json;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::binary::{Up, command, out, sentence, switchyard};

#[test]
fn commands_say_when_nothing_runs() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    for arguments in [
        &["agents"][..],
        &["chat", "--tenant", "acme", "hi"],
        &["token", "--tenant", "acme"],
        &["agent", "register", "https://a.example/card.json"],
    ] {
        let output = switchyard(&[arguments, &["--data", data]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            sentence(&output).contains("start the system with `switchyard up`"),
            "{arguments:?}"
        );
    }
    std::fs::write(place.path().join("endpoints.json"), "{\"gateway\": 7}").unwrap();
    let output = switchyard(&["agents", "--data", data]);
    assert!(sentence(&output).contains("is not a list of endpoints"));

    Up::start(place.path(), &[]).end("TERM");
    for arguments in [&["agents"][..], &["chat", "--tenant", "acme", "hi"]] {
        let output = switchyard(&[arguments, &["--data", data]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(sentence(&output).contains("nobody answers at"), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_from_elsewhere_is_registered_and_listed() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let up = Up::start(place.path(), &[]);
    let elsewhere = MockServer::start().await;
    let card = json!({
        "name": "Echo\u{1b}[2J", "description": "Says it back", "version": "1", "protocolVersion": "0.3.0",
        "url": "http://127.0.0.1:9/", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "echo", "name": "Echo", "description": "d", "tags": ["hello world"]}],
    });
    Mock::given(path("/card.json"))
        .respond_with(ResponseTemplate::new(200).set_body_json(card))
        .mount(&elsewhere)
        .await;
    let url = format!("{}/card.json", elsewhere.uri());

    let plain = switchyard(&["agent", "register", &url, "--data", data]);
    assert_eq!(plain.status.code(), Some(0), "{plain:?}");
    assert!(out(&plain).contains("its type `echo-2j` is new here"));
    let namesake = format!("{url}?two");
    let joins = switchyard(&["agent", "register", &namesake, "--data", data]);
    assert!(sentence(&joins).contains("there is a type `echo-2j` already"));
    assert!(sentence(&joins).contains("--type says so"));
    let tagged = switchyard(&["agent", "register", &url, "--type", "echo", "--data", data]);
    assert_eq!(tagged.status.code(), Some(0), "{tagged:?}");
    assert!(
        out(&tagged).contains("registered Echo[2J for all tenants as "),
        "{}",
        out(&tagged)
    );
    let private = switchyard(&[
        "agent",
        "register",
        &url,
        "--tag",
        "type:mine",
        "--tenant",
        "acme",
        "--data",
        data,
    ]);
    assert_eq!(private.status.code(), Some(0), "{private:?}");
    let contradiction = switchyard(&[
        "agent",
        "register",
        &url,
        "--tag",
        "type:echo",
        "--tenant",
        "acme",
        "--data",
        data,
    ]);
    assert!(sentence(&contradiction).contains("`echo` is global"));
    let contradiction = switchyard(&[
        "agent",
        "register",
        &url,
        "--tag",
        "type:mine",
        "--scope",
        "global",
        "--data",
        data,
    ]);
    assert!(
        sentence(&contradiction).contains("declared as tenant"),
        "{contradiction:?}"
    );
    let stranger = switchyard(&[
        "agent", "register", &url, "--tag", "type:x", "--tenant", "initech", "--data", data,
    ]);
    assert!(sentence(&stranger).contains("there are acme, globex"));

    let table = out(&switchyard(&["agents", "--data", data]));
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().skip(1).collect())
        .map(|mut row: Vec<&str>| {
            let card = row.pop().unwrap_or_default();
            assert!(
                card.starts_with("http://127.0.0.1:"),
                "where its card is: {table}"
            );
            let age = row.remove(row.len() - 2);
            assert!(
                age.ends_with('s') || age.ends_with('m'),
                "looked at just now: {table}"
            );
            row
        })
        .collect();
    assert!(
        rows.iter()
            .any(|row| row.ends_with(&["weather", "(all)", "healthy"])),
        "{table}"
    );
    assert!(
        rows.contains(&vec!["Echo[2J", "echo", "(all)", "healthy"]),
        "{table}"
    );
    assert!(
        rows.contains(&vec!["Echo[2J", "mine", "acme", "healthy"]),
        "{table}"
    );
    assert_eq!(rows.len(), 8, "{table}");
    elsewhere.reset().await;
    let table = out(&switchyard(&["agents", "--check", "--data", data]));
    assert_eq!(
        table.matches("unhealthy: the card cannot be fetched").count(),
        2,
        "{table}"
    );

    // Its name is that of two by now, so the id says which.
    let several = switchyard(&["agent", "remove", "echo[2J", "--data", data]);
    assert!(
        sentence(&several).contains("several agents are called"),
        "{several:?}"
    );
    let row = table.lines().find(|line| line.contains(" mine ")).unwrap();
    let id = row.split_whitespace().next().unwrap();
    let checked = out(&switchyard(&["agent", "check", id, "--data", data]));
    assert!(
        checked.contains("is unhealthy: the card cannot be fetched"),
        "{checked}"
    );
    let removed = out(&switchyard(&["agent", "remove", id, "--data", data]));
    assert_eq!(removed.trim(), format!("removed Echo[2J ({id})"));
    let removed = switchyard(&["agent", "remove", "ECHO[2J", "--data", data]);
    assert_eq!(removed.status.code(), Some(0), "{removed:?}");
    let gone = switchyard(&["agent", "check", id, "--data", data]);
    assert!(sentence(&gone).contains("no agent is called"), "{gone:?}");
    let table = out(&switchyard(&["agents", "--data", data]));
    assert!(!table.contains("Echo") && table.contains("weather"), "{table}");
    drop(up);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_a_card_brings_is_declared_by_a_flag_that_the_refusal_names() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let elsewhere = MockServer::start().await;
    let card = json!({
        "name": "Parrot", "description": "Says it back", "version": "1", "protocolVersion": "0.3.0",
        "url": "http://127.0.0.1:9/", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "p", "name": "Parrot", "description": "d", "tags": ["type:parrot"]}],
    });
    Mock::given(path("/card.json"))
        .respond_with(ResponseTemplate::new(200).set_body_json(card))
        .mount(&elsewhere)
        .await;
    let url = format!("{}/card.json", elsewhere.uri());
    let agent = |arguments: &[&str]| switchyard(&[&["agent"], arguments, &["--data", data]].concat());

    let refused = agent(&["register", &url]);
    assert!(
        sentence(&refused).contains("not declared; its type is new here: declare it by --scope global"),
        "{refused:?}"
    );
    let refused = agent(&["register", &url, "--scope", "tenant"]);
    assert!(sentence(&refused).contains("needs --tenant NAME"), "{refused:?}");
    let done = agent(&["register", &url, "--scope", "tenant", "--tenant", "acme"]);
    assert!(
        out(&done).starts_with("registered Parrot for acme as "),
        "{done:?}"
    );
    let refused = agent(&["register", &url, "--scope", "global"]);
    assert!(
        sentence(&refused).contains("a tenant's own with --tenant NAME"),
        "{refused:?}"
    );
    let short = agent(&["register", &url, "--tag", "type:x"]);
    assert_eq!(short.status.code(), Some(1), "{short:?}");

    let off = agent(&["disable", "parrot"]);
    assert!(out(&off).starts_with("disabled Parrot ("), "{off:?}");
    assert!(
        out(&agent(&["list"])).contains("  disabled"),
        "it stays in the list"
    );
    let on = agent(&["enable", "parrot"]);
    assert!(out(&on).contains("), which is healthy"), "{on:?}");
    assert!(!out(&agent(&["list"])).contains("disabled"));
}

#[test]
fn a_report_in_the_terminal_tells_each_of_its_steps_once() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let ask = "Write a report about whales in three steps";
    let said = out(&switchyard(&["chat", "--tenant", "acme", ask, "--data", data]));
    for step in 1..=3 {
        let step = format!("Step {step} of 3:");
        assert_eq!(said.matches(&step).count(), 1, "{step} {said}");
    }
    assert!(said.contains("# Report on whales"), "{said}");
}

#[test]
fn dates_are_read_as_the_terminals_user_writes_them() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let ask = [
        "chat",
        "--tenant",
        "acme",
        "--new",
        "weather in Oslo on 1/12",
        "--data",
        data,
    ];
    let said = |more: &[&str], set: &[(&str, &str)]| {
        let mut command = command(&[&ask, more].concat());
        for name in ["LC_ALL", "LC_TIME", "LANG", "TZ"] {
            command.env_remove(name);
        }
        out(&command.envs(set.iter().copied()).output().unwrap())
    };
    for (more, set, expect) in [
        (&["--locale", "en-US"][..], &[][..], "12 January"),
        (&["--locale", "en-GB"], &[("LANG", "en_US.UTF-8")], "1 December"),
        (&[], &[("LANG", "en_US.UTF-8")], "12 January"),
        (
            &[],
            &[("LANG", "en_US.UTF-8"), ("LC_TIME", "en_GB.UTF-8")],
            "1 December",
        ),
    ] {
        let said = said(more, set);
        assert!(said.contains(expect), "{more:?} {set:?}: {said}");
    }
    let wrong = switchyard(&[&ask[..], &["--time-zone", "not a zone"]].concat());
    assert!(
        sentence(&wrong).contains("timeZone must be an IANA name"),
        "{wrong:?}"
    );
    let unknown = switchyard(&[&ask[..], &["--time-zone", "Europe/Olso"]].concat());
    assert!(
        sentence(&unknown).contains("there is no time zone \"Europe/Olso\""),
        "{unknown:?}"
    );
}

#[test]
fn orders_are_imported() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let file = |name: &str, text: &str| {
        let file = place.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let import = |file: &str, tenant: &str| {
        switchyard(&["orders", "import", file, "--tenant", tenant, "--data", data])
    };
    let line = |number: usize| {
        format!(
            r#"{{"id": "{number}", "customer": "ada", "status": "placed", "placed_at": "2026-11-20T10:00:00Z"}}"#
        )
    };
    // More than go in one request.
    let many: Vec<String> = (7000..7450).map(line).collect();
    let many = file("many.jsonl", &many.join("\n"));
    let done = import(&many, "acme");
    assert_eq!(out(&done).trim(), "imported 450 orders for acme", "{done:?}");
    assert_eq!(
        out(&import(&many, "acme")).trim(),
        "imported 450 orders for acme",
        "again"
    );
    let table = "id,customer,status,items,placed_at,eta,updated_at\n\
                 A-1,ada,shipped,2 x Lamp,2026-11-20T10:00:00Z,,\n";
    assert_eq!(
        out(&import(&file("one.csv", table), "acme")).trim(),
        "imported 1 order for acme"
    );

    let stranger = import(&file("bad.csv", &table.replace("ada", "nobody")), "acme");
    assert!(
        sentence(&stranger).contains("order A-1: nobody is no user of the tenant; nothing was stored"),
        "{stranger:?}"
    );
    for (file, tenant, word) in [
        (
            file("bad2.csv", &table.replace("shipped", "lost")),
            "acme",
            "line 2",
        ),
        (
            file("bad3.csv", &table.replace("A-1", "no")),
            "acme",
            "is no number of an order",
        ),
        (file("orders.txt", table), "acme", ".csv or .jsonl"),
        (file("good.csv", table), "initech", "there are acme, globex"),
        ("/nowhere.csv".to_owned(), "acme", "cannot be read"),
    ] {
        let refused = import(&file, tenant);
        assert_eq!(refused.status.code(), Some(1));
        assert!(sentence(&refused).contains(word), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minted_token_opens_its_one_door() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let up = Up::start(place.path(), &[]);
    let token = |more: &[&str]| {
        let output = switchyard(&[&["token", "--tenant", "acme", "--data", data][..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        out(&output).trim().to_owned()
    };
    let ask = async |host: &str, token: &str| {
        let url = format!("{host}/tasks/00000000-0000-4000-8000-000000000000");
        let request = crate::http::request(reqwest::Method::GET, url).header("a2a-version", "1.0");
        request.bearer_auth(token).send().await.unwrap().status().as_u16()
    };
    let (acme, globex) = {
        let mut tenants = up.endpoints.tenants.values();
        (
            tenants.next().unwrap().host_agent.to_string(),
            tenants.next().unwrap().host_agent.to_string(),
        )
    };
    assert_eq!(ask(&acme, &token(&[])).await, 404, "let in, and no such task");
    assert_eq!(ask(&globex, &token(&[])).await, 403, "another tenant's");
    assert_eq!(ask(&globex, &token(&["--for", &globex])).await, 403);
    assert_eq!(ask(&acme, &token(&["--for", "registry"])).await, 401);
    let cards = crate::http::json(
        format!("{}/agents", up.endpoints.registry),
        Some(&token(&["--for", "registry"])),
    )
    .await;
    assert_eq!(cards["agents"].as_array().unwrap().len(), 5);
    let stranger = switchyard(&["token", "--tenant", "initech", "--data", data]);
    assert!(sentence(&stranger).contains("there is no tenant initech"));
    let nonsense = switchyard(&["token", "--tenant", "acme", "--for", "x", "--data", data]);
    assert!(sentence(&nonsense).contains("--for takes"));
}

#[test]
fn a_prompt_is_answered_in_the_terminal_and_the_next_one_goes_on_in_the_same_chat() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let up = Up::start(place.path(), &[]);
    let chat =
        |more: &[&str]| switchyard(&[&["chat", "--tenant", "acme", "--data", data][..], more].concat());
    let remembered = || {
        let text = std::fs::read_to_string(place.path().join("chat.json")).unwrap();
        let known: serde_json::Value = serde_json::from_str(&text).unwrap();
        known.as_object().unwrap().values().next().unwrap().clone()
    };

    let first = chat(&["Will it rain in Oslo tomorrow?"]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let told = out(&first);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("[task "), "the card first: {told}");
    assert!(
        told.contains("Oslo") && told.contains("sandbox"),
        "the answer: {told}"
    );
    let known = remembered();

    let quiet = chat(&["--quiet", "Weather in Rome today?"]);
    let said = out(&quiet);
    assert!(
        said.starts_with("Rome") && !said.contains("[task ") && !said.contains('…'),
        "the answer alone: {said}"
    );
    let second = chat(&["And", "what", "can", "you", "do?"]);
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    assert_eq!(remembered(), known, "the same session, the same chat");
    let other = chat(&["--new", "Weather in Paris today?"]);
    assert_eq!(other.status.code(), Some(0), "{other:?}");
    assert_eq!(remembered()["cookie"], known["cookie"]);
    assert_ne!(remembered()["chat"], known["chat"]);

    // Somebody else does not get into the chat by its id: a chat of this id is their own, and knows no Oslo.
    let id = known["chat"].as_str().unwrap();
    std::fs::remove_file(place.path().join("chat.json")).unwrap();
    let stranger = chat(&["--chat", id, "What are my tasks?"]);
    assert_eq!(stranger.status.code(), Some(0), "{stranger:?}");
    assert!(!out(&stranger).contains("Oslo"), "{stranger:?}");
    drop(up);
}

#[test]
fn lines_from_the_standard_input_make_a_conversation() {
    use std::io::Write;
    use std::process::Stdio;

    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let mut chat = crate::binary::command(&["chat", "--tenant", "globex", "--data", data]);
    let mut chat = chat.stdin(Stdio::piped()).spawn().unwrap();
    chat.stdin
        .take()
        .unwrap()
        .write_all(
            "Weather in Rome today?\n\n  \nWeather in Bergen today?\nexit\nWeather in Paris today?\n"
                .as_bytes(),
        )
        .unwrap();
    let output = chat.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = out(&output);
    assert!(
        told.find("Rome").unwrap() < told.find("Bergen").unwrap(),
        "{told}"
    );
    let cards: std::collections::HashSet<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("[task ")?.split(']').next())
        .collect();
    assert_eq!(cards.len(), 2, "a task each, none for empty lines: {told}");
    assert!(!told.contains("Paris"), "it was over by then: {told}");
}

#[test]
fn who_stops_waiting_is_told_that_the_task_goes_on() {
    use std::io::{BufRead as _, BufReader};

    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let chat = ["chat", "--tenant", "acme", "--data", data];
    let mut asked = command(&[&chat[..], &["Write a report about whales in two steps"]].concat())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(asked.stdout.take().unwrap());
    let mut first = String::new();
    told.read_line(&mut first).unwrap();
    assert!(first.contains("] working"), "{first}");
    let id = asked.id().to_string();
    let interrupted = std::process::Command::new("kill")
        .args(["-s", "INT", &id])
        .status();
    assert!(interrupted.unwrap().success());
    let output = asked.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said.trim(),
        "switchyard: stopped waiting; the task goes on, ask again later"
    );
    let later = switchyard(&[&chat[..], &["/status"]].concat());
    assert!(out(&later).contains("whales"), "{later:?}");
}

#[test]
fn a_conversation_rides_through_a_restart() {
    use std::io::{BufRead, BufReader, Read};

    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let mut up = Up::start(place.path(), &[]);
    let port = up.endpoints.gateway.port().unwrap().to_string();
    let mut asked = crate::binary::command(&[
        "chat",
        "--tenant",
        "acme",
        "--data",
        data,
        "Write a report about whales in two steps",
    ])
    .spawn()
    .unwrap();
    let mut told = BufReader::new(asked.stdout.take().unwrap());
    let mut first = String::new();
    told.read_line(&mut first).unwrap();
    assert!(first.contains("] working"), "{first}");
    up.signal("TERM");
    up.child.wait().unwrap();
    let mut again = crate::binary::command(&["up", "--port", &port, "--data", data]);
    up.child = again.spawn().unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(asked.wait().unwrap().code(), Some(0), "{rest}");
    assert!(rest.contains("# Report on whales"), "{rest}");
}

#[test]
fn orders_for_aws_are_handed_to_the_program_that_speaks_to_aws() {
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("switchyard");
    let built = env!("CARGO_BIN_EXE_switchyard");
    if std::fs::hard_link(built, &own).is_err() {
        std::fs::copy(built, &own).unwrap();
    }
    let orders = place.path().join("orders.csv");
    let table = "id,customer,status,items,placed_at,eta,updated_at\n\
                 7001,ada,shipped,2 x Lamp; Rope,2026-11-20T10:00:00Z,,\n\
                 7002,,placed,,2026-11-21T10:00:00Z,,\n";
    std::fs::write(&orders, table).unwrap();
    let import = |more: &[&str]| {
        let mut command = std::process::Command::new(&own);
        command.args(["orders", "import"]).arg(&orders);
        command.args(["--tenant", "acme"]).args(more).output().unwrap()
    };
    let missing = import(&["--aws"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(sentence(&missing).contains("build it once: cargo build --manifest-path infra/operator"));

    // One that writes down what it is given.
    let program = place.path().join("switchyard-operator");
    std::fs::write(
        &program,
        "#!/bin/sh\necho \"$@\" > \"$0.asked\"\ncat > \"$0.orders\"\n",
    )
    .unwrap();
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, may_run).unwrap();
    let done = import(&["--aws", "--stage", "test"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let told = |end: &str| std::fs::read_to_string(format!("{}.{end}", program.display())).unwrap();
    assert_eq!(told("asked").trim(), "orders --tenant acme --stage test");
    let lines: Vec<serde_json::Value> = told("orders")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["customer"], &lines[0]["items"][0]["quantity"]),
        (&json!("ada"), &json!(2))
    );

    std::fs::write(&program, "#!/bin/sh\ncat > /dev/null\nexit 1\n").unwrap();
    let failed = import(&["--aws"]);
    assert!(sentence(&failed).contains("not all stored"), "{failed:?}");
}
