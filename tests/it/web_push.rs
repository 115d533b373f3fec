//! A browser that has no page open is told when a task ends or waits: by way of the host's own deliveries, encrypted for that browser
//! alone, as the packages of others read it; and never twice in vain, nor never, where the system is killed in between.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::binary::{Up, free_port};
use system_testing::{Local, User};
use tokio::sync::Notify;

use crate::scripted::Scripted;

/// How `web_push.py` answers.
fn python(verb: &str, told: &Value) -> Value {
    let mut python = Command::new(system_testing::python())
        .arg(system_testing::folder().join("python/web_push.py"))
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let stdin = python.stdin.as_mut().expect("its input is piped");
    stdin.write_all(told.to_string().as_bytes()).expect("it reads");
    let done = python.wait_with_output().expect("it ends");
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// A browser, and the push service that it has.
#[derive(Clone)]
struct Phone(Arc<Inner>);

struct Inner {
    keys: Value,
    endpoint: String,
    heard: Mutex<Vec<(HeaderMap, Bytes)>>,
    /// What the service answers; 0: nothing at all.
    status: AtomicU16,
    comes: Notify,
}

impl Phone {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let place = listener.local_addr().expect("an address");
        let phone = Self(Arc::new(Inner {
            keys: python("make", &Value::Null),
            endpoint: format!("http://{place}/send/phone"),
            heard: Mutex::default(),
            status: AtomicU16::new(201),
            comes: Notify::new(),
        }));
        let own = phone.clone();
        let take = move |headers: HeaderMap, body: Bytes| async move {
            own.0.heard.lock().expect("no panic").push((headers, body));
            own.0.comes.notify_one();
            match own.0.status.load(Ordering::SeqCst) {
                0 => std::future::pending().await,
                status => StatusCode::from_u16(status).expect("a status"),
            }
        };
        let served = Router::new().route("/send/phone", post(take));
        tokio::spawn(async move { axum::serve(listener, served).await });
        phone
    }

    fn answers(&self, status: u16) {
        self.0.status.store(status, Ordering::SeqCst);
    }

    /// Its user turns the switch on.
    async fn subscribes(&self, user: &User) {
        let keys = json!({ "p256dh": self.0.keys["p256dh"], "auth": self.0.keys["auth"] });
        let body = json!({ "endpoint": self.0.endpoint, "keys": keys });
        let kept = user.call(Method::PUT, "/api/push", Some(body)).await;
        assert_eq!(kept.status, 200, "{kept:?}");
    }

    fn times(&self) -> usize {
        self.0.heard.lock().expect("no panic").len()
    }

    /// Waits until its service was sent so many; the last with its headers.
    async fn nth(&self, count: usize) -> (HeaderMap, Value) {
        for _ in 0..1_200 {
            let found = self.0.heard.lock().expect("no panic").get(count - 1).cloned();
            if let Some((headers, body)) = found {
                let text = |name: &str| headers[name].to_str().expect("text").to_owned();
                let told = json!({
                    "body": STANDARD.encode(&body), "authorization": text("authorization"),
                    "private": self.0.keys["private"], "auth": self.0.keys["auth"],
                });
                return (headers, python("read", &told));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it was told {} times, not {count}", self.times())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_told_what_others_cannot_read() {
    let local = Local::start().await;
    let agent = Scripted::start(&local, "ledger", "What does the ledger say?").await;
    let (user, phone) = (local.user("acme"), Phone::start().await);
    user.ask("Hello").await;
    phone.subscribes(&user).await;
    let key = user.get("/api/push").await.json()["key"].clone();
    let task = user.begin("What does the ledger of May say?").await;
    let sent = agent.nth(1).await;
    agent
        .reports(&sent, "TASK_STATE_INPUT_REQUIRED", Some("Which May?"), None)
        .await;
    let (headers, told) = phone.nth(1).await;
    assert_eq!(told["message"], json!({ "task": task, "waits": true }));
    assert_eq!(told["key"], key);
    let origin = phone.0.endpoint.strip_suffix("/send/phone").expect("its place");
    assert_eq!(told["claims"]["aud"], origin);
    let now = domain::Clock::now(local.clock.as_ref()).seconds();
    let exp = told["claims"]["exp"].as_i64().expect("a time");
    assert!(exp > now && exp <= now + 24 * 3600, "{exp} after {now}");
    for (name, value) in [
        ("ttl", "604800"),
        ("content-encoding", "aes128gcm"),
        ("urgency", "normal"),
    ] {
        assert_eq!(headers[name], value);
    }
    // What was answered is told once more only when something is new.
    agent
        .reports(&sent, "TASK_STATE_COMPLETED", None, Some("balanced"))
        .await;
    user.until(&task, &["completed"]).await;
    let (later, told) = phone.nth(2).await;
    assert_eq!(told["message"], json!({ "task": task, "waits": false }));
    assert_eq!(
        later["topic"], headers["topic"],
        "the newer word replaces the older"
    );
    // Who is another user of the tenant has a task of their own, of which this phone hears nothing.
    let other = local.user("acme");
    other.ask("Will it rain in Oslo tomorrow?").await;
    let third = user.ask("Will it rain in Oslo tomorrow?").await.task_id();
    user.until(&third, &["completed"]).await;
    let (_, told) = phone.nth(3).await;
    assert_eq!(told["message"]["task"], third);
    assert_eq!(phone.times(), 3);
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_service_that_refuses_for_now_is_asked_again_by_the_hosts_schedule() {
    let local = Local::start().await;
    let (user, phone) = (local.user("acme"), Phone::start().await);
    user.ask("Hello").await;
    phone.subscribes(&user).await;
    phone.answers(503);
    let task = user.ask("Will it rain in Oslo tomorrow?").await.task_id();
    user.until(&task, &["completed"]).await;
    phone.nth(1).await;
    phone.answers(201);
    for _ in 0..20 {
        if phone.times() > 1 {
            break;
        }
        local.advance(Duration::from_secs(6)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (_, told) = phone.nth(2).await;
    assert_eq!(told["message"], json!({ "task": task, "waits": false }));
    // What it has taken is settled.
    local.advance(Duration::from_secs(24 * 3600)).await;
    assert_eq!(phone.times(), 2);
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_killed_before_the_push_still_sends_it() {
    let (data, port) = (tempfile::tempdir().expect("a folder"), free_port());
    let mut up = Up::start_more(data.path(), port, &["--push-service", "127.0.0.1"]);
    let place = |name: &str| up.endpoints[name].as_str().expect("an endpoint").to_owned();
    let registry = (place("registry"), place("registry_token"));
    let agent = Scripted::registered(
        &registry,
        ("ledger", "Ledger"),
        "Balance the ledger of the quarter",
    )
    .await;
    agent.knows(json!({ "tasks": [] }));
    let (user, phone) = (User::new(up.base("acme")), Phone::start().await);
    user.chat("hello", "m", "Hello").await;
    phone.subscribes(&user).await;
    let mut heard = 0;
    for (round, kill) in (1..).zip([Kill::AtOnce, Kill::Soon, Kill::WhileItIsSent]) {
        let asked = user
            .chat(&format!("c-{round}"), "m", "Balance the ledger of the quarter")
            .await;
        let (task, sent) = (asked.task_id(), agent.nth(round).await);
        phone.answers(if matches!(kill, Kill::WhileItIsSent) {
            0
        } else {
            201
        });
        let told = agent
            .tries_to_report(&sent, "TASK_STATE_COMPLETED", "balanced")
            .await;
        assert_eq!(told, Some(204), "{kill:?}");
        match kill {
            Kill::AtOnce => {}
            Kill::Soon => tokio::time::sleep(Duration::from_millis(15)).await,
            Kill::WhileItIsSent => {
                phone.nth(heard + 1).await;
            }
        }
        up.kill();
        phone.answers(201);
        up = Up::start_more(data.path(), port, &["--push-service", "127.0.0.1"]);
        user.until(&task, &["completed"]).await;
        // What was told before may be told once more, and later than one thinks.
        let mut times = if matches!(kill, Kill::WhileItIsSent) { 2 } else { 1 };
        let (mut wanted, mut topics) = (heard, Vec::new());
        let told = loop {
            wanted += 1;
            let (headers, told) = phone.nth(wanted).await;
            if told["message"]["task"] == json!(task) {
                topics.push(headers["topic"].clone());
                times -= 1;
            }
            if times == 0 {
                break told;
            }
        };
        assert_eq!(
            told["message"],
            json!({ "task": task, "waits": false }),
            "{kill:?}"
        );
        let all = phone.times();
        assert!(all <= wanted + 1, "{kill:?}: told {} times", all - heard);
        topics.dedup();
        assert_eq!(topics.len(), 1, "{kill:?}: one word for its browser");
        heard = all;
    }
}

/// When the process dies after the agent was told that its report is kept.
#[derive(Debug, Clone, Copy)]
enum Kill {
    AtOnce,
    Soon,
    WhileItIsSent,
}
