//! Foreign agents: written with the official Python SDK, registered by their card's URL, delegated to.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::{Grant, SigningKey};
use domain::{Clock as _, ExposeSecret as _, SystemClock, SystemEntropy, Tenant, Timestamp};
use local::data::secrets::{self, Secrets};
use serde_json::{Value, json};
use system_testing::binary::{self, Up};
use system_testing::peers::CurrencyAgent;
use system_testing::runtime_api::{Reply, Sandbox, Spec};
use system_testing::{User, binary::free_port};

/// Registers it for everybody; what the command says of it.
fn registered(agent: &CurrencyAgent, folder: &str) -> String {
    let card = [
        "agent",
        "register",
        &agent.card,
        "--tag",
        "type:currency",
        "--scope",
        "global",
    ];
    let registered = binary::run(&[&card[..], &["--data", folder]].concat());
    assert!(registered.status.success(), "{registered:?}");
    String::from_utf8(registered.stdout).expect("text")
}

/// The command registers the agent, the host finds it, the SDK's own push brings the result.
async fn registered_and_used(generation: &str) {
    let agent = CurrencyAgent::start(generation, 0.3);
    let data = tempfile::tempdir().expect("a folder");
    let up = Up::start(data.path(), free_port());
    let folder = data.path().to_str().expect("a path");
    assert!(!registered(&agent, folder).contains("warning"));
    let listed = binary::run(&["agents", "--data", folder]);
    assert!(
        String::from_utf8_lossy(&listed.stdout).contains("currency"),
        "{listed:?}"
    );

    let user = User::new(up.base("acme"));
    let answer = user.ask("How much is 100 euros in kroner?").await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert_eq!(task["agentType"], "currency", "{task:#}");
    assert!(task["artifacts"].to_string().contains("1160.00 NOK"), "{task:#}");
    assert_eq!(agent.runs().await, 1, "asked once");
    // What it has to know it asks for, and the answer goes to the same task.
    let begun = Instant::now();
    let asked = user.chat("euros", "m1", "How much is 50 euros?").await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(asked.said().contains("Into which currency?"), "{}", asked.said());
    let task = user.until(&asked.task_id(), &["input-required"]).await;
    assert!(task.to_string().contains("Into which currency?"), "{task:#}");
    let answered = user.chat("euros", "m2", "kroner").await.said();
    assert!(!answered.contains("nothing more"), "it was passed on: {answered}");
    let task = user.until(&asked.task_id(), &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("580.00 NOK"), "{task:#}");
    // What it will not do comes back as its own words.
    let answer = user.ask("Convert some money between currencies").await;
    let task = user.until(&answer.task_id(), &["rejected", "failed"]).await;
    assert!(task.to_string().contains("amount and two currencies"), "{task:#}");
    assert_eq!(up.terminate(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_agent_of_1_0_is_registered_and_delegated_to() {
    registered_and_used("1.0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_agent_of_0_3_is_registered_and_delegated_to() {
    registered_and_used("0.3").await;
}

/// Registers an agent and asks it once; what the command said of it.
async fn asked_once(agent: CurrencyAgent) -> String {
    let data = tempfile::tempdir().expect("a folder");
    let up = Up::start(data.path(), free_port());
    let said = registered(&agent, data.path().to_str().expect("a path"));
    let user = User::new(up.base("acme"));
    let answer = user.ask("How much is 100 euros in kroner?").await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert_eq!(agent.runs().await, 1, "asked once");
    let parts = task["artifacts"][0]["parts"].as_array().expect("a result");
    let result: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(result, "100 EUR is 1160.00 NOK.", "{task:#}");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_javascript_agent_whose_words_come_in_pieces_is_delegated_to() {
    let said = asked_once(CurrencyAgent::start_javascript(&["0.4"])).await;
    assert!(!said.contains("warning"), "{said}");
}

/// One command makes each agent, one starts it; nothing registers it but itself.
#[tokio::test(flavor = "multi_thread")]
async fn agents_made_by_the_command_pass_their_own_tests_join_and_answer() {
    let data = tempfile::tempdir().expect("a folder");
    let up = Up::start(data.path(), free_port());
    let folder = data.path().to_str().expect("a path");
    let make = |name: &str, sdk: &str| {
        let arguments = ["agent", "new", name, sdk, "--into", folder, "--data", folder];
        binary::run(&arguments)
    };
    let succeeds = |program: &mut Command| {
        let ran = program.output().expect("it runs");
        assert!(ran.status.success(), "{ran:?}");
    };
    for (name, sdk) in [("Wordy", "--python"), ("Lettery", "--typescript")] {
        let made = make(name, sdk);
        assert!(made.status.success(), "{made:?}");
        assert!(!make(name, sdk).status.success(), "nothing is written over");
    }
    assert!(!make("7/../x", "--python").status.success());
    assert!(!make("Both", "--both").status.success());

    let wordy = data.path().join("wordy");
    let (types, packages) = (
        system_testing::python_of("types"),
        system_testing::python_of("venv"),
    );
    let kept = types.with_file_name("../cache");
    succeeds(
        Command::new(types)
            .args(["-m", "mypy", "--strict", "--cache-dir"])
            .arg(kept)
            .arg("--python-executable")
            .args([&packages, &wordy]),
    );
    succeeds(Command::new(system_testing::python_of("venv")).arg(wordy.join("test_agent.py")));
    let agent = CurrencyAgent::start_python(wordy.join("agent.py").to_str().expect("a path"));
    answers(&up, folder, (&agent, "wordy")).await;
    assert!(
        binary::run(&["agent", "remove", "Wordy", "--data", folder])
            .status
            .success()
    );

    // Its packages are those of the tests: the same versions.
    let lettery = data.path().join("lettery");
    let packages = system_testing::folder().join("js/node_modules");
    std::os::unix::fs::symlink(&packages, lettery.join("node_modules")).expect("a link");
    succeeds(
        Command::new("node")
            .arg(packages.join("typescript/bin/tsc"))
            .current_dir(&lettery),
    );
    succeeds(
        Command::new("node")
            .args(["--test", "dist/"])
            .current_dir(&lettery),
    );
    let agent = CurrencyAgent::start_node(lettery.join("dist/agent.js").to_str().expect("a path"));
    answers(&up, folder, (&agent, "lettery")).await;
}

/// The same in Rust, from the source that the command writes. Its tasks survive a kill, and the same program is a Lambda function.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_made_in_rust_joins_answers_goes_on_after_a_kill_and_boots_on_lambda() {
    let data = tempfile::tempdir().expect("a folder");
    let up = Up::start(data.path(), free_port());
    let folder = data.path().to_str().expect("a path");
    let made = [
        "agent", "new", "Rusty", "--rust", "--into", folder, "--data", folder,
    ];
    let made = binary::run(&made);
    assert!(made.status.success(), "{made:?}");
    // A package of its own, of what this clone has.
    let rusty = data.path().join("rusty");
    let lock = system_testing::folder().join("../Cargo.lock");
    std::fs::copy(lock, rusty.join("Cargo.lock")).expect("a copy");
    let resolved = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .current_dir(&rusty)
        .output();
    let resolved = resolved.expect("cargo runs");
    assert!(resolved.status.success(), "{resolved:?}");

    let program = binary::path("examples/made_agent");
    let port = free_port().to_string();
    let start = || {
        let mut command = Command::new(&program);
        command.args(["--port", &port, "--data"]).arg(rusty.join("data"));
        command.env("SWITCHYARD_ENDPOINTS", data.path().join("endpoints.json"));
        CurrencyAgent::start_program(&mut command)
    };
    let agent = start();
    answers(&up, folder, (&agent, "agent-name")).await;

    let first = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Count"}]});
    let waits = sent(&agent, &first).await;
    assert_eq!(waits["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{waits}");
    drop(agent);
    let agent = start();
    let answer = json!({
        "messageId": "m2", "role": "ROLE_USER", "taskId": waits["id"], "parts": [{"text": "it: all that glitters"}],
    });
    let done = sent(&agent, &answer).await;
    assert!(done["artifacts"].to_string().contains("3 words"), "{done}");

    let env = data.path().join("env.json");
    let told = binary::run(&[
        "sam-env",
        "--data",
        folder,
        "--out",
        env.to_str().expect("a path"),
    ]);
    assert!(told.status.success(), "{told:?}");
    let known: Value = serde_json::from_slice(&std::fs::read(env).expect("a file")).expect("JSON");
    let mut environment: BTreeMap<String, String> =
        serde_json::from_value(known["WeatherAgentFunction"].clone()).expect("texts");
    environment.insert("PUBLIC_AGENTS".to_owned(), "true".to_owned());
    let sandbox = Spec {
        name: "rusty".to_owned(),
        binary: program,
        environment,
        timeout: Duration::from_secs(20),
        memory: 256,
        isolated: false,
    };
    let sandbox = Sandbox::start(&sandbox, data.path()).await;
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "count: hello world"}]});
    let call = send(&message);
    let reply = sandbox.invoke(json!({
        "resource": "/{proxy+}", "path": "/", "httpMethod": "POST", "isBase64Encoded": false, "body": call.to_string(),
        "headers": {"content-type": "application/json", "a2a-version": "1.0"}, "multiValueHeaders": {},
        "queryStringParameters": null, "multiValueQueryStringParameters": null, "pathParameters": null,
        "requestContext": {"httpMethod": "POST", "path": "/", "stage": "prod", "requestId": "r", "identity": {}},
    }));
    let Reply::Answer(answer) = reply.await else {
        panic!("{}", sandbox.log());
    };
    assert!(
        answer["body"]
            .as_str()
            .is_some_and(|body| body.contains("2 words")),
        "{answer}"
    );
}

fn send(message: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
}

/// What an agent answers to a call without any host.
async fn called(agent: &CurrencyAgent, call: &Value, token: Option<&str>) -> (u16, Value) {
    let post = system_testing::user::http().post(&agent.url).json(call);
    let post = token.into_iter().fold(post, reqwest::RequestBuilder::bearer_auth);
    let answer = post.header("a2a-version", "1.0").send().await.expect("an answer");
    let status = answer.status().as_u16();
    (status, answer.json().await.expect("JSON"))
}

/// What becomes of a message that is sent to an agent without any host.
async fn sent(agent: &CurrencyAgent, message: &Value) -> Value {
    let (_, answer) = called(agent, &send(message), None).await;
    answer["result"]["task"].clone()
}

/// The hosts' own token is taken, and what is not one for this agent is refused; nothing runs then.
async fn only_good_tokens(up: &Up, folder: &str, agent: &CurrencyAgent) {
    let secrets = Secrets::load(&Path::new(folder).join(secrets::FILE));
    let secrets = secrets.expect("readable").expect("a file");
    let [acme, globex] = ["acme", "globex"].map(|name| Tenant::parse(name).expect("a tenant"));
    let keys = format!(
        "{}/acme/sessions.json",
        up.endpoints["idp"].as_str().expect("a URL").trim_end_matches('/')
    );
    let vouched: Value = system_testing::user::http()
        .get(keys)
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let key_of = |tenant| {
        secrets
            .named(tenant)
            .expect("its keys")
            .session()
            .expect("a key")
            .clone()
    };
    let (own, stranger) = (key_of(&acme), SigningKey::generate().expect("a key").0);
    let (now, random) = (SystemClock.now(), SystemEntropy);
    let good = Grant {
        issuer: vouched["issuer"].as_str().expect("an issuer"),
        subject: "user-1",
        tenant: Some(&acme),
        audience: &agent.url,
        scopes: &["tasks"],
        lifetime: Duration::from_secs(300),
    };
    let signed = |key: &SigningKey, grant: &Grant<'_>, at: Timestamp| {
        key.sign(grant, at, &random)
            .expect("a token")
            .expose_secret()
            .to_owned()
    };
    let message = |id: &str| {
        send(&json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "Count: one two"}]}))
    };
    let token = signed(&own, &good, now);
    let (status, answer) = called(agent, &message("good"), Some(&token)).await;
    assert!(
        status == 200 && answer.to_string().contains("2 words"),
        "{answer}"
    );

    let tasks = async || {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
        let (_, own) = called(agent, &list, Some(&token)).await;
        let (_, nobodys) = called(agent, &list, None).await;
        [own, nobodys].map(|listed| listed["result"]["tasks"].as_array().map(Vec::len))
    };
    let before = tasks().await;
    assert_eq!(before[0], Some(1));
    let (head, signature) = token.rsplit_once('.').expect("a token");
    let claims = "eyJ0ZW5hbnRfaWQiOiIuLi9hY21lIn0";
    for (bad, why) in [
        ("rubbish".to_owned(), "no token"),
        (
            format!("{head}.{}", signature.chars().rev().collect::<String>()),
            "a wrong signature",
        ),
        (
            format!(
                "{}.{claims}.{signature}",
                head.split_once('.').expect("a header").0
            ),
            "a tenant that is a path",
        ),
        (
            signed(&own, &good, now.before(Duration::from_secs(400))),
            "expired",
        ),
        (
            signed(
                &own,
                &Grant {
                    audience: "http://127.0.0.1:1/",
                    ..good
                },
                now,
            ),
            "another agent's",
        ),
        (
            signed(
                &own,
                &Grant {
                    issuer: "http://127.0.0.1:1/",
                    ..good
                },
                now,
            ),
            "of nobody whom it trusts",
        ),
        (signed(&stranger, &good, now), "a stranger's key"),
        (signed(&key_of(&globex), &good, now), "another tenant's key"),
    ] {
        let (status, answer) = called(agent, &message("bad"), Some(&bad)).await;
        assert_eq!(status, 401, "{why}: {answer}");
        let expired = answer["error_description"] == "token has expired";
        assert_eq!(expired, why == "expired", "{why}: {answer}");
    }
    assert_eq!(tasks().await, before, "nothing ran");
}

/// An agent that has joined is found by its examples, asked by hand, and asked by a host.
async fn answers(up: &Up, folder: &str, (agent, named): (&CurrencyAgent, &str)) {
    let looked = |arguments: &[&str]| binary::run(&[&["agent"], arguments, &["--data", folder]].concat());
    // By its own address it is the same one, also as one tenant's host sees it.
    let (own, _) = agent.card.split_once(".well-known").expect("its card's address");
    let registered = looked(&["register", own]);
    let listed = String::from_utf8(binary::run(&["agents", "--data", folder]).stdout).expect("text");
    assert!(
        registered.status.success() && listed.matches(&agent.card).count() == 1,
        "{registered:?} {listed}"
    );
    let lint = looked(&["lint", own, "--tenant", "acme"]);
    let said = String::from_utf8_lossy(&lint.stdout);
    assert!(
        lint.status.success() && said.contains(&format!("found as {named}")),
        "{lint:?}"
    );
    assert!(said.contains("✓ streams  ✓ pushes"), "what it can: {said}");
    assert_eq!(said.matches("\n    ✓ ").count(), 3, "its examples: {said}");
    let tried = looked(&["try", &agent.card, "Count the words: the quick brown fox"]);
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(
        said.contains("completed") && said.contains("4 words"),
        "{tried:?}"
    );
    let other = looked(&["try", &agent.card, "Will it rain in Oslo tomorrow?"]);
    assert!(
        String::from_utf8_lossy(&other.stdout).contains("→ Weather gets it"),
        "{other:?}"
    );
    let user = User::new(up.base("acme"));
    let answer = user.ask("Count the words: the quick brown fox").await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert_eq!(task["agentType"], named, "{task:#}");
    assert!(task["artifacts"].to_string().contains("4 words"), "{task:#}");
    only_good_tokens(up, folder, agent).await;
}

/// Longer than any other call may take. An agent on the official SDKs that does so has no task to be looked at, and pushes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn agents_that_answer_when_they_are_done_are_waited_for_and_asked_once() {
    let javascript = CurrencyAgent::start_javascript(&["21", "--blocking"]);
    let python = CurrencyAgent::start_blocking(21.0);
    for said in <[_; 2]>::from(tokio::join!(asked_once(javascript), asked_once(python))) {
        assert!(
            said.contains("warning: its card says that it does not push"),
            "{said}"
        );
    }
}

/// The system is killed while the foreign agent works; its push finds nobody. After the restart the host asks.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_found_nobody_is_fetched_after_the_restart() {
    let agent = CurrencyAgent::start("1.0", 1.5);
    let data = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let mut up = Up::start(data.path(), port);
    let folder = data.path().to_str().expect("a path");
    registered(&agent, folder);
    let user = Arc::new(User::new(up.base("acme")));
    user.ask("hello").await;
    let prompt = "How much is 100 euros in kroner?";
    let asking = tokio::spawn({
        let user = user.clone();
        async move { user.chat("money", "m1", prompt).await }
    });
    while agent.runs().await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    up.kill();
    assert!(
        asking.await.is_err(),
        "the stream broke off: the task was not done"
    );
    // The agent ends its work and calls a webhook that is not there.
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(up);
    let _up = Up::start(data.path(), port);
    let again = user.chat("money", "m1", prompt).await;
    let task = user.until(&again.task_id(), &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("1160.00 NOK"), "{task:#}");
    assert_eq!(
        agent.runs().await,
        1,
        "the host asked for the result, not for the work once more"
    );
}
