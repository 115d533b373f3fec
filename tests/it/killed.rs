//! `switchyard up` killed without a word while tasks wait: for the next attempt at a send, for an agent that works on it, in the
//! middle of a large result. Started again it goes on from there; nothing is lost, and nobody is asked twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use domain::{SystemClock, SystemEntropy};
use sandbox::google::{CLIENT, Google, USERS};
use serde_json::json;
use system_testing::User;
use system_testing::binary::{Up, free_port};
use system_testing::browser::Browser;
use tokio::net::TcpListener;

use crate::consent::{code_on, link};
use crate::scripted::Scripted;

/// What three agents are asked, each by its example.
const ASKED: [(&str, &str, &str); 3] = [
    ("stocktake", "Stocktake", "Count the stock of the warehouse"),
    ("ledger", "Ledger", "Balance the ledger of the quarter"),
    ("archive", "Archive", "Fetch the minutes of May"),
];

struct Bench {
    data: tempfile::TempDir,
    port: u16,
    up: Up,
    agents: Vec<Scripted>,
    user: User,
}

impl Bench {
    async fn start() -> Self {
        let (data, port) = (tempfile::tempdir().expect("a folder"), free_port());
        let up = Up::start(data.path(), port);
        let place = |name: &str| up.endpoints[name].as_str().expect("an endpoint").to_owned();
        let registry = (place("registry"), place("registry_token"));
        let mut agents = Vec::new();
        for (kind, name, prompt) in ASKED {
            let agent = Scripted::registered(&registry, (kind, name), prompt).await;
            // It has no task for a message that it did not get.
            agent.knows(json!({ "tasks": [] }));
            agents.push(agent);
        }
        let user = User::new(up.base("acme"));
        Self {
            data,
            port,
            up,
            agents,
            user,
        }
    }

    fn killed_and_started_again(&mut self) {
        self.up.kill();
        self.up = Up::start(self.data.path(), self.port);
    }
}

/// Every kill strikes all three waits at once: a start of the whole system is what takes the time.
#[tokio::test(flavor = "multi_thread")]
async fn in_every_wait_at_once() {
    let mut bench = Bench::start().await;
    let [away, working, archive] = [0, 1, 2].map(|at: usize| bench.agents[at].clone());

    away.is_away(true);
    let asked = bench.user.chat("away", "m", ASKED[0].2).await;
    assert!(
        asked.said().contains("No answer from Stocktake yet"),
        "{}",
        asked.said()
    );
    let unsent = asked.task_id();
    let worked = bench.user.chat("working", "m", ASKED[1].2).await.task_id();
    let worked_on = working.nth(1).await;

    let file = "x".repeat(1_400_000);
    for (round, pause) in (1..).zip([0_u64, 20, 60, 150]) {
        let asked = bench.user.chat(&format!("large-{round}"), "m", ASKED[2].2).await;
        let id = asked.task_id();
        let sent = archive.nth(round).await;
        let report = {
            let (agent, sent, file) = (archive.clone(), sent.clone(), file.clone());
            tokio::spawn(async move { agent.tries_to_report(&sent, "TASK_STATE_COMPLETED", &file).await })
        };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        bench.killed_and_started_again();
        report.await.expect("no panic");

        // It waits for the next attempt at a send.
        if round <= 2 {
            let task = bench.user.task(&unsent).await;
            assert_eq!(task["status"], "working", "{task:#}");
            let told = task["statusMessage"].as_str().unwrap_or_default();
            assert!(
                told.starts_with("No answer from Stocktake yet, trying again ("),
                "{told}"
            );
        }
        away.is_away(round < 2);

        // An agent works on it.
        if round <= 2 {
            let step = format!("shelf {round}");
            working
                .reports(&worked_on, "TASK_STATE_WORKING", Some(&step), None)
                .await;
            assert_eq!(bench.user.task(&worked).await["statusMessage"], step);
        } else if round == 3 {
            working
                .reports(&worked_on, "TASK_STATE_COMPLETED", None, Some("balanced"))
                .await;
            bench.user.until(&worked, &["completed"]).await;
        }

        // In the middle of a large result: who got no answer says it again.
        let told = archive
            .tries_to_report(&sent, "TASK_STATE_COMPLETED", &file)
            .await;
        assert_eq!(told, Some(204), "killed after {pause} ms");
        let task = bench.user.until(&id, &["completed"]).await;
        let parts = &task["artifacts"][0]["parts"];
        assert_eq!(
            parts[0]["text"].as_str().map(str::len),
            Some(file.len()),
            "killed after {pause} ms"
        );
        assert_eq!(task["artifacts"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            task["jobs"][0]["artifacts"][0]["sameAs"],
            task["artifacts"][0]["artifactId"]
        );
    }
    assert_eq!(archive.sent().len(), 4);
    assert_eq!(working.sent().len(), 1);

    let sent = away.nth(1).await;
    away.reports(
        &sent,
        "TASK_STATE_COMPLETED",
        Some("200 shelves."),
        Some("200 shelves"),
    )
    .await;
    bench.user.until(&unsent, &["completed"]).await;
    assert_eq!(away.sent().len(), 1);
}

/// The sandbox's Google in the process of the test, which nobody kills, for a system on this port; and its address.
async fn google(port: u16) -> (Google, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = format!("http://{}/google", listener.local_addr().expect("an address"));
    let google = Google::new(
        at.parse().expect("a URL"),
        format!("http://127.0.0.1:{port}/consent/callback"),
        (Arc::new(SystemClock), Arc::new(SystemEntropy)),
    );
    let router = Router::new().nest("/google", google.router());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (google, at)
}

/// Our own agents wait for their users: the calendar agent for a consent and then for the code that its page shows, the
/// accommodation agent for the days. Killed in each wait, and while the user is at Google, the tasks go on with what is said
/// afterwards, the code counts once, and Google is asked once for what each of its own codes is good for.
#[tokio::test(flavor = "multi_thread")]
async fn where_agents_of_ours_wait_for_their_user() {
    let (data, port) = (tempfile::tempdir().expect("a folder"), free_port());
    let (google, at) = google(port).await;
    let live = format!("google={at}");
    let start = || {
        let (id, secret) = CLIENT;
        let client = ["--google-client-id", id, "--google-client-secret", secret];
        Up::start_more(
            data.path(),
            port,
            &[&["--live", live.as_str()][..], &client].concat(),
        )
    };
    let mut up = start();
    let user = User::new(up.base("acme"));
    let asked = user
        .chat("calendar", "m1", "Am I free on Friday?")
        .await
        .task_id();
    let flat = user.chat("flat", "m1", "A flat in Oslo for two").await.task_id();
    let waiting = user.until(&asked, &["auth-required"]).await;
    user.until(&flat, &["input-required"]).await;

    up.kill();
    up = start();
    assert_eq!(user.task(&asked).await["authUrl"], waiting["authUrl"]);
    user.chat("flat", "m2", "Friday to Sunday").await;
    let found = user.until(&flat, &["completed"]).await;
    assert!(found["artifacts"].to_string().contains("(sandbox)"), "{found:#}");
    let mut browser = Browser::default();
    let page = browser.open(&link(&waiting)).await;
    up.kill();
    up = start();
    let page = browser.submit(&page, &[("user", USERS[0].0)]).await;
    let code = code_on(&page);

    up.kill();
    up = start();
    assert_eq!(user.task(&asked).await["status"], "auth-required");
    user.chat("calendar", "m2", &code).await;
    let told = user.until(&asked, &["completed"]).await;
    assert!(told["artifacts"].to_string().contains("sandbox"), "{told:#}");
    // What was granted is there after another one, and the code is good for nothing more.
    up.kill();
    let _up = start();
    let again = user.chat("again", "m1", "Am I free on Thursday?").await.task_id();
    user.until(&again, &["completed"]).await;
    let wider = user
        .chat("wider", "m1", "What is on my calendar tomorrow?")
        .await
        .task_id();
    let waiting = user.until(&wider, &["auth-required"]).await;
    user.chat("wider", "m2", &code).await;
    assert_eq!(user.task(&wider).await["status"], "auth-required");
    let page = browser.open(&link(&waiting)).await;
    let page = browser.submit(&page, &[("user", USERS[0].0)]).await;
    user.chat("wider", "m3", &code_on(&page)).await;
    user.until(&wider, &["completed"]).await;
    let exchanged = google.exchanged();
    let codes: BTreeSet<&String> = exchanged.iter().collect();
    assert_eq!((exchanged.len(), codes.len()), (2, 2), "each once: {exchanged:?}");
}
