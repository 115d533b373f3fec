//! A way out that may call this machine, and what to call.

use std::sync::Arc;
use std::time::Duration;

use a2a::SendCall;
use domain::*;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use url::Url;
use wiremock::{MockServer, Request};

pub(crate) fn outbound() -> Outbound {
    with(|_| {})
}

pub(crate) fn with(change: impl FnOnce(&mut Policy)) -> Outbound {
    let mut policy = Policy {
        allow_loopback: true,
        timeout: Duration::from_secs(10),
        ..Policy::default()
    };
    change(&mut policy);
    Outbound::new(policy, Arc::new(SystemEntropy))
}

pub(crate) fn endpoint(server: &MockServer, generation: Generation, transport: Transport) -> Endpoint {
    Endpoint {
        url: Url::parse(&format!("{}/agent", server.uri())).unwrap(),
        generation,
        transport,
        tenant: None,
        resource: None,
    }
}

pub(crate) fn hello() -> SendCall {
    SendCall::new(Message::user(
        MessageId::parse("m-1").unwrap(),
        vec![Part::text("hello")],
    ))
}

pub(crate) fn token() -> SecretString {
    SecretString::from("the-token")
}

pub(crate) fn trace() -> TraceParent {
    TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap()
}

/// A task as an agent of that generation and binding writes it.
pub(crate) fn task(generation: Generation, transport: Transport) -> Value {
    match (generation, transport) {
        (Generation::V1_0, _) => {
            json!({"id": "t-1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}})
        }
        (Generation::V0_3, Transport::JsonRpc | Transport::Mqtt) => {
            json!({"kind": "task", "id": "t-1", "contextId": "c", "status": {"state": "working"}})
        }
        (Generation::V0_3, Transport::Rest) => {
            json!({"id": "t-1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}})
        }
    }
}

/// The only request that the server has had.
pub(crate) async fn only_request(server: &MockServer) -> Request {
    let mut requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

pub(crate) fn header(request: &Request, name: &str) -> Option<String> {
    request
        .headers
        .get(name)
        .map(|value| value.to_str().unwrap().to_owned())
}
