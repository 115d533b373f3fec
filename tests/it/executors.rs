//! Each agent of ours with its executor, by a token of each kind: what is let in is worked on, what is not leaves nothing behind.

use std::collections::BTreeSet;
use std::time::Duration;

use local::Signer;
use serde_json::{Value, json};
use system_testing::Local;
use system_testing::user::http;

const HOUR: Duration = Duration::from_secs(3600);
const ADA: &str = "user-ada";

/// An agent: where it is, what it is asked, and the state that its executor alone brings a task to.
struct Executor {
    name: &'static str,
    at: &'static str,
    asked: &'static str,
    reaches: &'static str,
    /// Its answers to [`TOKENS`].
    answers: [u16; 6],
}

/// What a caller has.
#[derive(Debug, Clone, Copy)]
enum Token {
    Valid,
    Invalid,
    Missing,
    Expired,
    WrongTenant,
    SmallScope,
}

const TOKENS: [Token; 6] = [
    Token::Valid,
    Token::Invalid,
    Token::Missing,
    Token::Expired,
    Token::WrongTenant,
    Token::SmallScope,
];

/// Of one tenant: another tenant's token is known for what it is.
const TENANTS: [u16; 6] = [200, 401, 401, 401, 403, 403];
/// Of the platform: callers of each tenant have tasks of their own.
const PLATFORMS: [u16; 6] = [200, 401, 401, 401, 200, 403];
/// Open: nobody in particular is welcome too, but a token that is there must be good.
const OPEN: [u16; 6] = [200, 401, 200, 401, 200, 403];

const EXECUTORS: [Executor; 6] = [
    Executor {
        name: "host",
        at: "/tenants/acme/host_agent",
        asked: "Where is my order 1001?",
        reaches: "TASK_STATE_AUTH_REQUIRED",
        answers: TENANTS,
    },
    Executor {
        name: "horizon",
        at: "/tenants/acme/agents/horizon",
        asked: "Where is my order 1001?",
        reaches: "TASK_STATE_COMPLETED",
        answers: TENANTS,
    },
    Executor {
        name: "weather",
        at: "/agents/weather",
        asked: "Will it rain in Oslo tomorrow?",
        reaches: "TASK_STATE_COMPLETED",
        answers: OPEN,
    },
    Executor {
        name: "airbnb",
        at: "/agents/airbnb",
        asked: "A flat in Oslo for two, Friday to Sunday",
        reaches: "TASK_STATE_COMPLETED",
        answers: OPEN,
    },
    Executor {
        name: "calendar",
        at: "/agents/calendar",
        asked: "Am I free on Friday?",
        reaches: "TASK_STATE_AUTH_REQUIRED",
        answers: PLATFORMS,
    },
    Executor {
        name: "report",
        at: "/agents/report",
        asked: "Write a report about electric cars",
        reaches: "TASK_STATE_WORKING",
        answers: OPEN,
    },
];

impl Executor {
    fn url(&self, local: &Local) -> String {
        local.endpoint(self.at).trim_end_matches('/').to_owned()
    }

    fn token(&self, local: &Local, token: Token) -> Option<String> {
        let signer = |tenant| match self.name {
            "horizon" => Signer::Idp(tenant),
            _ => Signer::Session(tenant),
        };
        let signed = |tenant, scope, ago| {
            local
                .system
                .signed(signer(tenant), ADA, &self.url(local), scope, ago)
        };
        let scope = match self.name {
            "horizon" => "openid orders:read tasks",
            _ => "tasks",
        };
        match token {
            Token::Valid => signed("acme", scope, Duration::ZERO),
            Token::Invalid => {
                let good = signed("acme", scope, Duration::ZERO).expect("a token");
                // A good one with the end of its signature changed.
                let (rest, end) = good.split_at(good.len() - 6);
                Some(format!(
                    "{rest}{}",
                    if end == "AAAAAA" { "BBBBBB" } else { "AAAAAA" }
                ))
            }
            Token::Missing => None,
            Token::Expired => signed("acme", scope, HOUR),
            Token::WrongTenant => signed("globex", scope, Duration::ZERO),
            Token::SmallScope => signed("acme", "something", Duration::ZERO),
        }
    }

    async fn call(&self, local: &Local, token: Option<&str>, method: &str, params: Value) -> (u16, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = http()
            .post(self.url(local))
            .header("a2a-version", "1.0")
            .json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or_default())
    }

    /// Sends what it is asked, and does not wait.
    async fn send(&self, local: &Local, token: Option<&str>, id: &str) -> (u16, Value) {
        let message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": self.asked }] });
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        self.call(local, token, "SendMessage", params).await
    }

    /// Waits until the executor has worked on the task.
    async fn worked_on(&self, local: &Local, token: Option<&str>, id: &Value) {
        let mut last = Value::Null;
        for _ in 0..400 {
            let (_, told) = self.call(local, token, "GetTask", json!({ "id": id })).await;
            if told["result"]["status"]["state"] == self.reaches {
                return;
            }
            last = told;
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{} did not work on its task: {last:#}", self.name);
    }

    /// How many tasks this caller has there.
    async fn tasks(&self, local: &Local, token: Option<&str>) -> usize {
        let (status, told) = self.call(local, token, "ListTasks", json!({})).await;
        assert_eq!(status, 200, "{told}");
        told["result"]["tasks"].as_array().expect("a list").len()
    }
}

/// Asked of the system itself, so that an agent without a row fails.
fn names(local: &Local) -> BTreeSet<&str> {
    let of = |pointer: &str| {
        let agents = local.endpoints().pointer(pointer).and_then(Value::as_object);
        agents.expect("agents").keys().map(String::as_str)
    };
    of("/agents")
        .chain(of("/tenants/acme/agents"))
        .chain(["host"])
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_executor_works_for_good_tokens_alone() {
    let local = Local::start().await;
    let listed: BTreeSet<&str> = EXECUTORS.iter().map(|executor| executor.name).collect();
    assert_eq!(listed, names(&local), "an agent has no row");
    for executor in &EXECUTORS {
        let valid = executor.token(&local, Token::Valid);
        for (number, (token, expected)) in TOKENS.into_iter().zip(executor.answers).enumerate() {
            let held = executor.token(&local, token);
            let id = format!("00000000-0000-4000-8000-{number:012}");
            let (status, told) = executor.send(&local, held.as_deref(), &id).await;
            let what = format!("{}, {token:?}: {told}", executor.name);
            assert_eq!(status, expected, "{what}");
            let task = &told["result"]["task"]["id"];
            assert_eq!(task.is_string(), expected == 200, "{what}");
            if expected == 200 {
                executor.worked_on(&local, held.as_deref(), task).await;
                let (_, seen) = executor
                    .call(&local, valid.as_deref(), "GetTask", json!({ "id": task }))
                    .await;
                let is_own = matches!(token, Token::Valid);
                assert_eq!(seen.get("result").is_some(), is_own, "{what}: {seen}");
            }
        }
        let own = executor.tasks(&local, valid.as_deref()).await;
        assert_eq!(own, 1, "{}: what was refused left nothing", executor.name);
    }
    local.system.stop().await;
}
