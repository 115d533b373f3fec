//! Calls of agents, over both bindings and generations.

use a2a::{A2aError, SendResponse};
use domain::trace::within;
use domain::*;
use outbound::CallError;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{endpoint, header, hello, only_request, outbound, task, token, trace};

const ALL: [(Generation, Transport); 4] = [
    (Generation::V1_0, Transport::JsonRpc),
    (Generation::V1_0, Transport::Rest),
    (Generation::V0_3, Transport::JsonRpc),
    (Generation::V0_3, Transport::Rest),
];

/// A server that answers every request with this.
async fn answering(status: u16, body: Value) -> MockServer {
    answering_with(ResponseTemplate::new(status).set_body_json(body)).await
}

async fn answering_with(template: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(wiremock::matchers::any())
        .respond_with(template)
        .mount(&server)
        .await;
    server
}

fn jsonrpc_result(transport: Transport, result: Value) -> Value {
    match transport {
        Transport::JsonRpc | Transport::Mqtt => json!({"jsonrpc": "2.0", "id": "1", "result": result}),
        Transport::Rest => result,
    }
}

#[tokio::test]
async fn a_send_carries_token_version_and_trace_and_brings_the_task() {
    for (generation, transport) in ALL {
        let wrapped = match (generation, transport) {
            (Generation::V0_3, Transport::JsonRpc) => task(generation, transport),
            _ => json!({ "task": task(generation, transport) }),
        };
        let server = answering(200, jsonrpc_result(transport, wrapped)).await;
        let to = endpoint(&server, generation, transport);
        let (outbound, hello, token) = (outbound(), hello(), token());
        let sent = outbound.send(&to, &hello, Some(&token));
        let answer = within(Some(trace()), sent).await.unwrap();
        let SendResponse::Task(task) = answer else {
            panic!("{generation:?} {transport:?}: {answer:?}")
        };
        assert_eq!((task.id.as_str(), task.status.state), ("t-1", TaskState::Working));

        let request = only_request(&server).await;
        let (expected_path, expected_method) = match (generation, transport) {
            (Generation::V1_0, Transport::JsonRpc) => ("/agent", Some("SendMessage")),
            (Generation::V1_0, Transport::Rest) => ("/agent/message:send", None),
            (Generation::V0_3, Transport::JsonRpc) => ("/agent", Some("message/send")),
            (Generation::V0_3, Transport::Rest) => ("/agent/v1/message:send", None),
            (_, Transport::Mqtt) => unreachable!("it has tests of its own"),
        };
        let body: Value = request.body_json().unwrap();
        assert_eq!(request.url.path(), expected_path);
        assert_eq!(body["method"].as_str(), expected_method);
        assert_eq!(
            header(&request, "authorization").as_deref(),
            Some("Bearer the-token")
        );
        assert_eq!(
            header(&request, "a2a-version").as_deref(),
            Some(a2a::version(generation))
        );
        // The same trace, under a parent id of its own.
        let hop = TraceParent::parse(&header(&request, "traceparent").unwrap()).unwrap();
        assert_eq!(hop.trace_id(), trace().trace_id());
        assert_ne!(hop, trace());
        let media = header(&request, "content-type").unwrap();
        let rest_1_0 = (generation, transport) == (Generation::V1_0, Transport::Rest);
        assert_eq!(
            media,
            if rest_1_0 {
                "application/a2a+json"
            } else {
                "application/json"
            }
        );
    }
}

#[tokio::test]
async fn a_look_and_a_cancel_bring_the_task() {
    for (generation, transport) in ALL {
        let server = answering(200, jsonrpc_result(transport, task(generation, transport))).await;
        let to = endpoint(&server, generation, transport);
        let id = RemoteTaskId::parse("t-1").unwrap();
        let out = outbound();
        assert_eq!(out.task(&to, &id, None).await.unwrap().id, id);
        assert_eq!(out.cancel(&to, &id, Some(&token())).await.unwrap().id, id);
        let requests = server.received_requests().await.unwrap();
        assert_eq!(header(&requests[0], "authorization"), None);
        let paths: Vec<_> = requests
            .iter()
            .map(|request| request.url.path().to_owned())
            .collect();
        let expected = match (generation, transport) {
            (_, Transport::JsonRpc | Transport::Mqtt) => ["/agent", "/agent"],
            (Generation::V1_0, Transport::Rest) => ["/agent/tasks/t-1", "/agent/tasks/t-1:cancel"],
            (Generation::V0_3, Transport::Rest) => ["/agent/v1/tasks/t-1", "/agent/v1/tasks/t-1:cancel"],
        };
        assert_eq!(paths, expected);
    }
}

#[tokio::test]
async fn the_interfaces_tenant_is_echoed() {
    for transport in [Transport::JsonRpc, Transport::Rest] {
        let wrapped = json!({ "task": task(Generation::V1_0, transport) });
        let server = answering(200, jsonrpc_result(transport, wrapped)).await;
        let to = Endpoint {
            tenant: Some("north".into()),
            ..endpoint(&server, Generation::V1_0, transport)
        };
        outbound().send(&to, &hello(), None).await.unwrap();
        let request = only_request(&server).await;
        let body: Value = request.body_json().unwrap();
        match transport {
            Transport::JsonRpc | Transport::Mqtt => assert_eq!(body["params"]["tenant"], "north"),
            Transport::Rest => assert_eq!(request.url.path(), "/agent/north/message:send"),
        }
    }
}

#[tokio::test]
async fn a_mere_message_is_an_answer() {
    let message = json!({"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}});
    let server = answering(200, jsonrpc_result(Transport::JsonRpc, message)).await;
    let to = endpoint(&server, Generation::V1_0, Transport::JsonRpc);
    let answer = outbound().send(&to, &hello(), None).await.unwrap();
    let news = answer.into_notification();
    assert_eq!(news.update.map(|update| update.state), Some(TaskState::Completed));
    assert_eq!(news.artifacts[0].0.text(), "hi");
}

/// What a send ends with when the server answers so.
async fn send_error(transport: Transport, template: ResponseTemplate, with_token: bool) -> CallError {
    let server = answering_with(template).await;
    let to = endpoint(&server, Generation::V1_0, transport);
    let token = token();
    outbound()
        .send(&to, &hello(), with_token.then_some(&token))
        .await
        .unwrap_err()
}

#[tokio::test]
async fn an_expired_token_is_recognised_in_header_and_body() {
    let unauthorized = || ResponseTemplate::new(401);
    let error =
        json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32600, "message": "token has expired"}});
    let gone = [
        unauthorized().insert_header("www-authenticate", r#"Bearer error="invalid_token""#),
        unauthorized().insert_header(
            "www-authenticate",
            r#"Bearer error_description="The Token has Expired""#,
        ),
        unauthorized().insert_header(
            "x-amzn-remapped-www-authenticate",
            r#"Bearer error="invalid_token""#,
        ),
        unauthorized().set_body_json(json!({"error": "invalid_token"})),
        unauthorized().set_body_string("token has expired"),
        unauthorized().set_body_json(&error),
        ResponseTemplate::new(403).set_body_string("token has expired"),
        ResponseTemplate::new(200).set_body_json(&error),
    ];
    for template in gone {
        let told = send_error(Transport::JsonRpc, template.clone(), true).await;
        assert!(
            matches!(told, CallError::Unauthorized { expired: true, .. }),
            "{told:?}"
        );
        assert!(!told.is_retryable());
    }
    // Without those words, or without a token that could have expired, it is only refused.
    for (template, with_token) in [
        (unauthorized(), true),
        (unauthorized().set_body_string("who are you?"), true),
        (unauthorized().set_body_string("token has expired"), false),
    ] {
        for transport in [Transport::JsonRpc, Transport::Rest] {
            let told = send_error(transport, template.clone(), with_token).await;
            assert!(
                matches!(told, CallError::Unauthorized { expired: false, .. }),
                "{told:?}"
            );
        }
    }
    let template =
        ResponseTemplate::new(403).insert_header("www-authenticate", r#"Bearer error="insufficient_scope""#);
    let told = send_error(Transport::Rest, template, true).await;
    assert!(
        matches!(told, CallError::Forbidden { challenge: Some(_) }),
        "{told:?}"
    );
}

#[tokio::test]
async fn refusals_of_the_protocol_are_told_as_such() {
    let error = json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32001, "message": "gone"}});
    for status in [200, 404, 500] {
        let told = send_error(
            Transport::JsonRpc,
            ResponseTemplate::new(status).set_body_json(&error),
            false,
        )
        .await;
        assert!(
            matches!(told, CallError::Refused(A2aError::TaskNotFound)),
            "{told:?}"
        );
    }
    let body = json!({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "no",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "UNSUPPORTED_OPERATION"}]}});
    let told = send_error(
        Transport::Rest,
        ResponseTemplate::new(400).set_body_json(body),
        false,
    )
    .await;
    assert!(
        matches!(told, CallError::Refused(A2aError::UnsupportedOperation(_))),
        "{told:?}"
    );
    let internal = json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32603, "message": "boom"}});
    let told = send_error(
        Transport::JsonRpc,
        ResponseTemplate::new(200).set_body_json(internal),
        false,
    )
    .await;
    assert!(told.is_retryable(), "{told:?}");
}

#[tokio::test]
async fn mere_statuses_say_whether_to_try_again() {
    for (status, again) in [
        (400, false),
        (404, false),
        (410, false),
        (408, true),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (504, true),
        (501, false),
    ] {
        for transport in [Transport::JsonRpc, Transport::Rest] {
            let told = send_error(
                transport,
                ResponseTemplate::new(status).set_body_string("no"),
                false,
            )
            .await;
            assert!(
                matches!(told, CallError::Status(code) if code == status),
                "{told:?}"
            );
            assert_eq!(told.is_retryable(), again, "{status}");
        }
    }
}

#[tokio::test]
async fn rubbish_answers_are_bad_answers() {
    for body in [
        "",
        "null",
        "[]",
        "{",
        "<html>",
        "{}",
        "\u{0}",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","result":null}"#,
        r#"{"jsonrpc":"2.0","result":{"task":{"id":"","status":{"state":"TASK_STATE_WORKING"}}}}"#,
        r#"{"task":{"id":7}}"#,
    ] {
        for transport in [Transport::JsonRpc, Transport::Rest] {
            let told = send_error(transport, ResponseTemplate::new(200).set_body_string(body), false).await;
            assert!(matches!(told, CallError::BadAnswer(_)), "{body}: {told:?}");
        }
    }
}

#[tokio::test]
async fn the_registry_is_asked_for_tags() {
    let server = MockServer::start().await;
    let id = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";
    let body = json!({
        "agents": [{"id": id, "tenant": null, "cardUrl": "https://a.example/card.json", "card": {"name": "A"},
            "health": {"ok": true, "checkedAt": "2026-01-01T00:00:00.000Z", "reason": null}, "registeredAt": "2026-01-01T00:00:00.000Z"}],
        "types": {"weather": "global", "horizon": "tenant"},
    });
    Mock::given(method("GET"))
        .and(path("/registry/agents"))
        .respond_with(ResponseTemplate::new(200).set_body_json(body))
        .mount(&server)
        .await;
    let url = format!("{}/registry", server.uri()).parse().unwrap();
    let registry = outbound::registry_client::Registry::new(outbound(), url);
    let tags = [
        Tag::parse("type:weather").unwrap(),
        Tag::parse("tenant_id:acme").unwrap(),
    ];
    let token = token();
    let found = within(Some(trace()), registry.agents(&tags, None, &token)).await;
    let found = found.unwrap().unwrap();
    assert_eq!(found.agents[0].id.to_string(), id);
    assert_eq!(
        found.types[&AgentType::parse("horizon").unwrap()],
        TypeScope::Tenant
    );
    let request = only_request(&server).await;
    assert_eq!(
        request.url.query(),
        Some("tag=type%3Aweather&tag=tenant_id%3Aacme")
    );
    assert_eq!(
        header(&request, "authorization").as_deref(),
        Some("Bearer the-token")
    );
}

#[tokio::test]
async fn the_registry_is_not_read_again_where_nothing_has_changed() {
    let server = MockServer::start().await;
    let same = Mock::given(method("GET")).and(wiremock::matchers::header("if-none-match", "\"one\""));
    same.respond_with(ResponseTemplate::new(304)).mount(&server).await;
    let first = ResponseTemplate::new(200).insert_header("etag", "\"one\"");
    Mock::given(method("GET"))
        .respond_with(first.set_body_json(json!({"agents": [], "types": {"weather": "global"}})))
        .mount(&server)
        .await;
    let registry = outbound::registry_client::Registry::new(outbound(), server.uri().parse().unwrap());
    let found = registry.agents(&[], None, &token()).await.unwrap().unwrap();
    assert_eq!(found.types.len(), 1);
    let etag = found.etag.unwrap();
    let again = registry.agents(&[], Some(&etag), &token()).await;
    assert!(again.unwrap().is_none());
    // A registry that answers so without being asked is broken.
    server.reset().await;
    let odd = Mock::given(method("GET")).respond_with(ResponseTemplate::new(304));
    odd.mount(&server).await;
    let odd = registry.agents(&[], None, &token()).await;
    assert!(matches!(odd, Err(outbound::CallError::Status(304))), "{odd:?}");
}

/// An agent of one generation: it knows that one's method over JSON-RPC, or its path over REST.
async fn speaking(generation: Generation, transport: Transport) -> MockServer {
    let server = MockServer::start().await;
    let answer = task(generation, transport);
    Mock::given(wiremock::matchers::any())
        .respond_with(move |request: &wiremock::Request| {
            let body: Value = request.body_json().unwrap_or_default();
            let old = match transport {
                Transport::Rest => request.url.path().contains("/v1/"),
                _ => body["method"].as_str().is_some_and(|method| method.contains('/')),
            };
            match (old == (generation == Generation::V0_3), transport) {
                (true, _) => {
                    ResponseTemplate::new(200).set_body_json(jsonrpc_result(transport, answer.clone()))
                }
                (false, Transport::Rest) => ResponseTemplate::new(404),
                (false, _) => ResponseTemplate::new(200).set_body_json(json!({"jsonrpc": "2.0", "id": "1",
                    "error": {"code": -32601, "message": "Method not found: SendMessage"}})),
            }
        })
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn an_endpoint_is_asked_in_the_other_generation_where_it_does_not_know_the_claimed_one() {
    for (generation, transport) in ALL {
        let server = speaking(generation, transport).await;
        let claimed = match generation {
            Generation::V1_0 => Generation::V0_3,
            Generation::V0_3 => Generation::V1_0,
        };
        let to = endpoint(&server, claimed, transport);
        let (outbound, hello, token) = (outbound(), hello(), token());
        let answer = outbound.send(&to, &hello, Some(&token)).await.unwrap();
        assert!(
            matches!(answer, SendResponse::Task(_)),
            "{generation:?} {transport:?}"
        );
        // It is found out once, and holds for looks as well.
        let id = RemoteTaskId::parse("t-1").unwrap();
        assert!(outbound.task(&to, &id, Some(&token)).await.is_ok());
        let asked = server.received_requests().await.unwrap();
        assert_eq!(asked.len(), 3, "{generation:?} {transport:?}");
        let versions = asked
            .iter()
            .map(|request| header(request, "a2a-version").unwrap());
        let [first, second, third]: [String; 3] = versions.collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(first, a2a::version(claimed));
        assert_eq!(
            (second.as_str(), third.as_str()),
            (a2a::version(generation), a2a::version(generation))
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_knows_neither_generation_is_asked_once_in_each() {
    let error = json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32601, "message": "Method not found: SendMessage"}});
    let server = answering(404, error).await;
    let to = endpoint(&server, Generation::V1_0, Transport::JsonRpc);
    let refused = outbound().send(&to, &hello(), None).await.unwrap_err();
    let CallError::Refused(error) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error.to_string(), "Method not found: SendMessage");
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_send_that_another_error_answers_is_not_made_again() {
    for (status, code) in [(200, -32602), (200, -32603), (400, -32600), (404, -32001)] {
        let error = json!({"jsonrpc": "2.0", "id": "1", "error": {"code": code, "message": "no"}});
        let server = answering(status, error).await;
        let to = endpoint(&server, Generation::V1_0, Transport::JsonRpc);
        assert!(outbound().send(&to, &hello(), None).await.is_err());
        only_request(&server).await;
    }
}

#[tokio::test]
async fn a_redirect_is_followed_on_the_same_origin_alone_and_once() {
    let elsewhere = answering(200, json!({})).await;
    for status in [307, 308] {
        let server = MockServer::start().await;
        let result = jsonrpc_result(
            Transport::JsonRpc,
            json!({ "task": task(Generation::V1_0, Transport::JsonRpc) }),
        );
        for (at, told) in [
            (
                "/agent",
                ResponseTemplate::new(status).insert_header("location", "/agent/"),
            ),
            ("/agent/", ResponseTemplate::new(200).set_body_json(result)),
            (
                "/away",
                ResponseTemplate::new(status).insert_header("location", elsewhere.uri()),
            ),
            (
                "/round",
                ResponseTemplate::new(status).insert_header("location", "/round?again"),
            ),
            (
                "/with-user",
                ResponseTemplate::new(status).insert_header("location", "//u:p@127.0.0.1/"),
            ),
        ] {
            Mock::given(method("POST"))
                .and(path(at))
                .respond_with(told)
                .mount(&server)
                .await;
        }
        let mut to = endpoint(&server, Generation::V1_0, Transport::JsonRpc);
        assert!(outbound().send(&to, &hello(), Some(&token())).await.is_ok());
        for at in ["/away", "/round", "/with-user"] {
            to.url.set_path(at);
            let stays = outbound().send(&to, &hello(), Some(&token())).await;
            assert!(
                matches!(stays, Err(CallError::Status(told)) if told == status),
                "{at}: {stays:?}"
            );
        }
    }
    assert!(
        elsewhere.received_requests().await.unwrap().is_empty(),
        "the token goes nowhere else"
    );
}
