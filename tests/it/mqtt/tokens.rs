//! The attack table's credentials over MQTT: every agent says of each what it says over HTTP, and a victim's task is nobody else's.

use std::time::Duration;

use a2a::mqtt::Properties;
use auth::SigningKey;
use local::Signer;
use reqwest::Method;
use serde_json::{Value, json};

use super::message;
use super::requester::{Requester, new_task};
use super::world::World;
use crate::attack::{ATTACKS, Attack, shapes};
use crate::tenants::admin;

/// The victim's owner at the agents.
const VICTIM: &str = "user-ada";

/// An agent that is attacked.
struct Target {
    address: &'static str,
    /// Where it is over HTTP, in the list of endpoints.
    place: &'static str,
    is_idps: bool,
    prompt: &'static str,
    /// Whoever comes without a token is welcome, to tasks of their own.
    is_open: bool,
}

const TARGETS: [Target; 4] = [
    Target {
        address: "switchyard/acme/host",
        place: "/tenants/acme/host_agent",
        is_idps: false,
        prompt: "Where is my order 1001?",
        is_open: false,
    },
    Target {
        address: "switchyard/acme/horizon",
        place: "/tenants/acme/agents/horizon",
        is_idps: true,
        prompt: "Show me",
        is_open: false,
    },
    Target {
        address: "switchyard/platform/calendar",
        place: "/agents/calendar",
        is_idps: false,
        prompt: "Am I free on Friday?",
        is_open: false,
    },
    Target {
        address: "switchyard/platform/weather",
        place: "/agents/weather",
        is_idps: false,
        prompt: "What is the weather like?",
        is_open: true,
    },
];

impl Target {
    fn tokens(&self, world: &World, rogue: &SigningKey, attack: Option<Attack>) -> Vec<Option<String>> {
        let audience = world.local.endpoint(self.place).trim_end_matches('/');
        let (signers, scope) = match self.is_idps {
            true => (
                (Signer::Idp("acme"), Signer::Idp("globex")),
                "openid orders:read tasks",
            ),
            false => ((Signer::Session("acme"), Signer::Session("globex")), "tasks"),
        };
        shapes((&world.local, rogue), signers, (VICTIM, audience, scope), attack)
    }

    /// The one answer over MQTT.
    async fn over_mqtt(&self, asker: &Requester, token: Option<&str>, call: (&str, Value)) -> Value {
        let bearer = token.map(|token| ("a2a-authorization".to_owned(), format!("Bearer {token}")));
        let with = Properties {
            user: bearer.into_iter().collect(),
            ..Properties::default()
        };
        let body = json!({ "jsonrpc": "2.0", "id": "r", "method": call.0, "params": call.1 });
        let correlation = asker.send(self.address, body, with).await;
        loop {
            let told = asker.next().await.expect("an answer");
            // A task that was made may say more.
            if told.properties.correlation.as_deref() == Some(correlation.as_bytes()) {
                return serde_json::from_slice(&told.payload).expect("JSON");
            }
        }
    }

    /// What it says of the same call over HTTP: the status where that is an error, else the code.
    async fn over_http(&self, world: &World, token: Option<&str>, (method, params): (&str, Value)) -> i64 {
        let url = world.local.endpoint(self.place).to_owned();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = system_testing::user::http()
            .post(url)
            .header("a2a-version", "1.0")
            .json(&body);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = request.send().await.expect("an answer");
        let status = i64::from(answer.status().as_u16());
        match answer.json::<Value>().await {
            Ok(told) if status == 200 => told["error"]["code"].as_i64().unwrap_or(200),
            _ => status,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_bad_credentials_is_refused_over_mqtt_as_over_http() {
    let world = World::start().await;
    let rogue = SigningKey::generate().expect("a key").0;
    let asker = Requester::new(&world, "asker").await;
    let mut wrong = Vec::new();
    for target in &TARGETS {
        let good = target.tokens(&world, &rogue, None).remove(0);
        let good = good.as_deref();
        let task = new_task();
        let mut params = message(&task, target.prompt);
        params["configuration"] = json!({ "returnImmediately": true });
        let made = target.over_mqtt(&asker, good, ("SendMessage", params)).await;
        assert_eq!(made["result"]["task"]["id"], json!(task), "{made:#}");
        for attack in ATTACKS {
            for token in target.tokens(&world, &rogue, Some(attack)) {
                let token = token.as_deref();
                for method in ["GetTask", "CancelTask"] {
                    let call = || (method, json!({ "id": task }));
                    let told = target.over_mqtt(&asker, token, call()).await;
                    let code = told["error"]["code"].as_i64();
                    let http = target.over_http(&world, token, call()).await;
                    let name = match code {
                        Some(401) => "unauthenticated",
                        Some(403) => "insufficient_scope",
                        // Whose it is decides, not the token.
                        _ => "",
                    };
                    // Over MQTT no token at all in the place of one is a fault of the message.
                    let http = if token == Some("") { -32005 } else { http };
                    let named = told.pointer("/error/data/a2a_error").and_then(Value::as_str);
                    let is_named = name.is_empty() || named == Some(name);
                    let is_quiet =
                        token.is_none_or(|token| token.is_empty() || !told.to_string().contains(token));
                    if code.is_none() || code != Some(http) || !is_named || !is_quiet {
                        wrong.push(format!(
                            "{} {method} {attack:?}: HTTP {http}, {told}",
                            target.address
                        ));
                    }
                }
                // Nobody but those whom the agent knows has work done, at those that know their callers.
                let mut params = message(&new_task(), target.prompt);
                params["configuration"] = json!({ "returnImmediately": true });
                let told = target.over_mqtt(&asker, token, ("SendMessage", params)).await;
                let is_stranger = matches!(attack, Attack::WrongOwner | Attack::WrongTenant);
                let may = is_stranger && told["result"]["task"]["id"] != json!(task)
                    || attack == Attack::None && target.is_open;
                let code = told["error"]["code"].as_i64();
                let is_refused = matches!(code, Some(401 | 403)) || token == Some("") && code == Some(-32005);
                if !is_refused && !may {
                    wrong.push(format!("{} SendMessage {attack:?}: {told}", target.address));
                }
            }
        }
        // The victim's task is there, and as it was.
        let found = target
            .over_mqtt(&asker, good, ("GetTask", json!({ "id": task })))
            .await;
        let state = found["result"]["status"]["state"].as_str().unwrap_or_default();
        if state.is_empty() || state == "TASK_STATE_CANCELED" {
            wrong.push(format!(
                "{}: an attack reached the victim's task: {found}",
                target.address
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    world.stop().await;
}

/// A token that was got before its user was removed, or its tenant suspended: over MQTT it is worth what it is over HTTP (`ended`).
#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_before_ends_with_its_tenant_at_once_and_by_itself_in_any_case() {
    let world = World::start().await;
    let rogue = SigningKey::generate().expect("a key").0;
    let asker = Requester::new(&world, "asker").await;
    let good: Vec<_> = TARGETS
        .iter()
        .map(|target| target.tokens(&world, &rogue, None).remove(0))
        .collect();
    let hold = async |suspended: bool| {
        let body = json!({ "suspended": suspended });
        let (status, told) = admin(&world.local, Method::PUT, "/tenants/acme/status", Some(body)).await;
        assert!(status.is_success(), "{told}");
    };
    let is_told = async |code: i64| {
        for (target, token) in TARGETS.iter().zip(&good) {
            let call = || ("GetTask", json!({ "id": new_task() }));
            let told = target.over_mqtt(&asker, token.as_deref(), call()).await;
            assert_eq!(told["error"]["code"], code, "{}: {told}", target.address);
            let http = target.over_http(&world, token.as_deref(), call()).await;
            assert_eq!(http, code, "{}", target.address);
        }
    };
    is_told(-32001).await;
    let (status, told) = admin(&world.local, Method::DELETE, "/tenants/acme/users/ada", None).await;
    assert!(status.is_success(), "{told}");
    is_told(-32001).await;
    hold(true).await;
    is_told(403).await;
    hold(false).await;
    is_told(-32001).await;
    world.local.clock.advance(Duration::from_secs(600));
    is_told(401).await;
    world.stop().await;
}
