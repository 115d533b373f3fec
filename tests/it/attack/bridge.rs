//! The rows of the bridge to MQTT brokers: what it takes from agents, by tickets that it sealed itself, from hosts and from the
//! registry.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Properties, Publication, TopicPrefix};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use domain::{SystemClock, SystemEntropy};
use local::Signer;
use mqtt::{PublishError, Published, Publisher};
use mqtt_bridge::{ATTEMPT, AgentPlace, Bridge, BridgeParts, Handled, PATIENCE, handle, router};
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::Cell::{Is, Na};
use super::world::{World, told};
use super::{Attack, Row, Told};

const LASTS: &str =
    "a ticket is good for as long as its agent keeps the push configuration that it stands in";
const ONE_REQUEST: &str =
    "a ticket is of one request, and says itself where the replies go: there is nobody else's to reach";
const NO_SCOPE: &str = "a ticket has no scopes";
const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";

const HOSTS: &str = "a host calls in its own name, whoever it calls for";
const PLATFORMS: &str = "the registry's own, which has no users";

pub(super) fn rows() -> [Row; 3] {
    let row = |method, route, cells, good| Row {
        function: "mqtt_bridge",
        at: "mqtt_bridge",
        method,
        route,
        operation: "",
        cells,
        good: Is(good),
    };
    let (no, not_for) = (Is(401), Is(403));
    [
        // The other tenant's host may call, and not with a webhook that is not its own.
        row(
            "POST",
            "/call",
            [no, no, no, no, no, not_for, Na(HOSTS), not_for],
            200,
        ),
        row(
            "GET",
            "/cards/{org}/{unit}/{agent}",
            [no, no, no, no, no, not_for, Na(PLATFORMS), not_for],
            404,
        ),
        replies(),
    ]
}

fn replies() -> Row {
    Row {
        function: "mqtt_bridge",
        at: "mqtt_bridge",
        method: "POST",
        route: "/reply",
        operation: "",
        cells: [
            Is(401),
            Is(401),
            Na(LASTS),
            Is(401),
            Is(401),
            Na(ONE_REQUEST),
            Na(ONE_REQUEST),
            Na(NO_SCOPE),
        ],
        good: Is(204),
    }
}

/// Calls of the system's own bridge, whose broker is away: good credentials get as far as that.
async fn ask_system(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let bridge = world.at("/mqtt/bridge");
    let is_call = row.route == "/call";
    let (signers, asked) = match is_call {
        true => (
            (Signer::Session("acme"), Signer::Session("globex")),
            ("host", "mqtt:call"),
        ),
        false => (
            (Signer::Platform, Signer::Session("globex")),
            ("registry", "mqtt:cards"),
        ),
    };
    let hook = format!("{}/api/webhook/tasks", world.at("/tenants/acme/base"));
    let send = json!({ "jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {
        "message": { "messageId": "m", "taskId": TASK, "role": "ROLE_USER", "parts": [{ "text": "x" }] },
        "configuration": { "taskPushNotificationConfig": { "url": hook, "token": "t" } } } });
    let mut answers = Vec::new();
    for token in world.tokens(signers, (asked.0, &bridge, asked.1), attack) {
        let mut request = match is_call {
            true => world
                .request("POST", &format!("{bridge}/call?to=acme/lab/echo"))
                .json(&send),
            false => world.request("GET", &format!("{bridge}/cards/acme/lab/echo")),
        };
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        answers.push(told(request).await);
    }
    answers
}

struct Broker;

#[async_trait]
impl Publisher for Broker {
    async fn publish(&self, _: Publication) -> Result<Published, PublishError> {
        Ok(Published::Taken)
    }

    fn max_packet(&self) -> usize {
        256 * 1024
    }
}

/// A bridge, and the ticket that it gave an agent for a request.
struct Asked {
    bridge: Arc<Bridge>,
    sealer: Arc<Sealer>,
    ticket: String,
}

async fn asked() -> Asked {
    let agent = MockServer::start().await;
    let task = json!({ "task": { "id": TASK, "status": { "state": "TASK_STATE_SUBMITTED" } } });
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": task });
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&agent)
        .await;
    let address: AgentAddress = "switchyard/platform/weather".parse().expect("an address");
    let key = Sealer::generate_key(&SystemEntropy);
    let sealer = Arc::new(Sealer::new(vec![("k1".to_owned(), key)]).expect("a key"));
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let bridge = Arc::new(
        Bridge::new(BridgeParts {
            url: "https://gateway.example/mqtt".parse().expect("an address"),
            broker: "mqtts://broker.example".parse().expect("a broker"),
            prefix: TopicPrefix::standard(),
            orgs: ["acme".to_owned()].into(),
            agents: vec![AgentPlace {
                address: address.clone(),
                url: agent.uri().parse().expect("an address"),
                pools: Vec::new(),
                webhook: None,
            }],
            verifier: Verifier::new("https://gateway.example/mqtt".to_owned(), Vec::new())
                .expect("a verifier"),
            replies_for: Duration::from_secs(3_600),
            sealer: Arc::clone(&sealer),
            outbound: Outbound::new(policy, Arc::new(SystemEntropy)),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            patience: PATIENCE,
            attempt: ATTEMPT,
            stays: true,
        })
        .expect("keys"),
    );
    bridge.publishes(&address, Arc::new(Broker));
    let payload = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage",
        "params": { "message": { "messageId": "m", "taskId": TASK, "role": "ROLE_USER", "parts": [{ "text": "x" }] } } });
    let request = Publication {
        topic: "$a2a/v1/request/switchyard/platform/weather".to_owned(),
        payload: payload.to_string().into(),
        retain: false,
        properties: Properties {
            response_topic: Some("$a2a/v1/reply/acme/lab/asker/s".to_owned()),
            correlation: Some("c".into()),
            ..Properties::default()
        },
    };
    assert_eq!(
        handle(&bridge, &address, &request, Duration::ZERO).await,
        Handled::Answered
    );
    let got = agent.received_requests().await.expect("requests");
    let got: Value = got[0].body_json().expect("JSON");
    let ticket = got["params"]["configuration"]["taskPushNotificationConfig"]["token"].as_str();
    Asked {
        bridge,
        sealer,
        ticket: ticket.expect("a ticket").to_owned(),
    }
}

pub(super) async fn ask(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    if row.route != "/reply" {
        return ask_system(world, row, attack).await;
    }
    let own = asked().await;
    let tickets = match attack {
        None => vec![Some(own.ticket)],
        Some(Attack::None) => vec![None],
        Some(Attack::Rubbish) => vec![
            Some("rubbish".to_owned()),
            Some(own.ticket[..own.ticket.len() - 1].to_owned()),
        ],
        Some(Attack::WrongIssuer) => vec![Some(asked().await.ticket)],
        Some(Attack::WrongAudience) => vec![Some(own.sealer.seal(b"{}", "push/acme/host", &SystemEntropy))],
        Some(_) => Vec::new(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/reply", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move { axum::serve(listener, router(own.bridge)).await });
    let news = json!({ "task": { "id": TASK, "status": { "state": "TASK_STATE_COMPLETED" } } });
    let mut answers = Vec::new();
    for ticket in tickets {
        let mut request = world.request("POST", &url).json(&news);
        if let Some(ticket) = ticket {
            request = request.header("authorization", format!("Bearer {ticket}"));
        }
        answers.push(told(request).await);
    }
    serving.abort();
    answers
}
