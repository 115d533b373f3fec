//! What is refused, with which error; and what is taken although it is oddly written.

use a2a::{Call, Generation, card, decode, jsonrpc, rest};
use serde_json::{Value, json};

/// The code a body is answered with; 0 where it is taken.
fn code(body: &str, version: Option<&str>) -> i64 {
    jsonrpc::parse(body.as_bytes(), version).map_or_else(|failure| failure.error.code(), |_| 0)
}

fn send(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn message(role: &str, parts: Value) -> Value {
    json!({"message": {"messageId": "m", "role": role, "parts": parts}})
}

#[test]
fn rubbish_gets_its_own_error() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let deep_send = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{deep}}}]}}}}}}"#
    );
    let bottomless = "[".repeat(100_000);
    for (body, expected) in [
        ("", -32700),
        ("{", -32700),
        ("\u{0}", -32700),
        (bottomless.as_str(), -32700),
        ("null", -32600),
        ("[]", -32600),
        ("\"SendMessage\"", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"SendMessage"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"SendMessage"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"SendMessage"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"sendMessage","params":{}}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/explode","params":{}}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage"}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[]}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","historyLength":-1}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"historyLength":"many","id":"x"}}"#,
            -32602,
        ),
        (deep_send.as_str(), -32602),
    ] {
        assert_eq!(code(body, None), expected, "{}", &body[..body.len().min(120)]);
    }
}

#[test]
fn wrong_messages_are_wrong_parameters() {
    let text = || json!([{"text": "hi"}]);
    for params in [
        message("ROLE_NOBODY", text()),
        message("user", text()),
        message("ROLE_USER", json!([])),
        message("ROLE_USER", json!([{}])),
        message("ROLE_USER", json!([{"text": 7}])),
        message("ROLE_USER", json!([{"text": "hi", "url": "https://a.example"}])),
        message("ROLE_USER", json!([{"raw": "*"}])),
        message("ROLE_USER", json!("hi")),
        json!({"message": {"messageId": "", "role": "ROLE_USER", "parts": text()}}),
        json!({"message": {"messageId": "m\u{0}", "role": "ROLE_USER", "parts": text()}}),
        json!({"message": {"messageId": "m".repeat(300), "role": "ROLE_USER", "parts": text()}}),
        json!({"message": {"messageId": "m", "contextId": "a b", "role": "ROLE_USER", "parts": text()}}),
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": text()},
            "configuration": {"taskPushNotificationConfig": {"url": "nowhere"}}}),
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": text()},
            "configuration": {"taskPushNotificationConfig": {
                "url": "https://a.example", "authentication": {"scheme": "Bearer x\r\nX-Evil: 1"}}}}),
    ] {
        assert_eq!(
            code(&send("SendMessage", params.clone()), Some("1.0")),
            -32602,
            "{params}"
        );
    }
    for params in [
        message("ROLE_NOBODY", json!([{"kind": "text", "text": "hi"}])),
        message("user", json!([{"kind": "text"}])),
        message("user", json!([{"kind": "file", "text": "hi"}])),
        message("user", json!([{"kind": "file", "file": {}}])),
        message(
            "user",
            json!([{"kind": "file", "file": {"bytes": "AAAA", "uri": "https://a.example"}}]),
        ),
        message("user", json!([{"kind": "file", "file": {"bytes": "*"}}])),
        message("user", json!([{"kind": "video", "text": "hi"}])),
        message("user", json!([{"type": "video", "text": "hi"}])),
        message("user", json!([{"type": "file", "text": "hi"}])),
    ] {
        assert_eq!(
            code(&send("message/send", params.clone()), None),
            -32602,
            "{params}"
        );
    }
}

#[test]
fn the_method_selects_the_generation_and_the_version_only_refuses() {
    let new = send("SendMessage", message("ROLE_USER", json!([{"text": "hi"}])));
    let old = send(
        "message/send",
        message("user", json!([{"kind": "text", "text": "hi"}])),
    );
    for version in [
        None,
        Some(""),
        Some("1.0"),
        Some("1.0.1"),
        Some("0.3"),
        Some("0.3.0"),
    ] {
        let generation = |body: &str| jsonrpc::parse(body.as_bytes(), version).unwrap().generation;
        assert_eq!(generation(&new), Generation::V1_0);
        assert_eq!(generation(&old), Generation::V0_3);
    }
    for version in ["2.0", "1", "1.1", "0.2.6", "x", "1.0;", "\u{0}"] {
        assert_eq!(code(&new, Some(version)), -32009, "{version}");
        assert_eq!(code(&old, Some(version)), -32009, "{version}");
    }
}

#[test]
fn a_part_of_0_3_may_use_the_words_of_other_versions() {
    for part in [
        json!({"type": "text", "text": "hi"}),
        json!({"type": "video", "kind": "text", "text": "hi"}),
        json!({"type": 7, "text": "hi"}),
        json!({"kind": "file", "file": {"url": "https://a.example/x"}}),
    ] {
        assert_eq!(
            code(&send("message/send", message("user", json!([part]))), None),
            0,
            "{part}"
        );
    }
}

#[test]
fn odd_but_honest_requests_are_taken() {
    let odd = json!({
        "tenant": "",
        "configuration": {"return_immediately": true, "history_length": null, "accepted_output_modes": ["text/plain"],
            "task_push_notification_config": {"url": "https://a.example/h", "token": "", "id": null}},
        "message": {"message_id": "m", "task_id": "not-a-uuid", "context_id": "", "role": "ROLE_USER", "later": {},
            "parts": [{"raw": "_-8", "media_type": null}, {"data": null}], "metadata": null},
    });
    let Ok(request) = jsonrpc::parse(send("SendMessage", odd).as_bytes(), None) else {
        panic!("refused")
    };
    let Call::Send(call) = request.call else {
        panic!("no send")
    };
    assert_eq!(call.task_id.as_deref(), Some("not-a-uuid"));
    assert_eq!(
        (call.message.task_id, call.message.context_id.clone()),
        (None, None)
    );
    assert!(call.return_immediately && call.tenant.is_none());
    let push = call.push.unwrap();
    assert!(push.token.is_none() && push.id.is_none());
    assert_eq!(
        call.message.parts[0].content,
        domain::PartContent::Raw("/+8=".into())
    );

    // Nothing said about waiting: 1.0 and 0.3 wait, 0.3's protobuf form does not.
    let waits = |body: Value, generation| {
        !rest::parse_send(body.to_string().as_bytes(), generation)
            .unwrap()
            .return_immediately
    };
    assert!(waits(
        message("ROLE_USER", json!([{"text": "hi"}])),
        Generation::V1_0
    ));
    assert!(waits(
        message("user", json!([{"kind": "text", "text": "hi"}])),
        Generation::V0_3
    ));
    let proto = json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}});
    assert!(!waits(proto, Generation::V0_3));
}

#[test]
fn ids_of_requests_come_back_as_they_were() {
    for id in [
        json!(1),
        json!(-7),
        json!("a"),
        json!(""),
        json!(null),
        json!(1.5),
    ] {
        let body =
            json!({"jsonrpc": "2.0", "id": id, "method": "GetTask", "params": {"id": "x"}}).to_string();
        let request = jsonrpc::parse(body.as_bytes(), None).unwrap();
        assert_eq!(jsonrpc::success(request.id, json!({}))["id"], id);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "Nope"}).to_string();
        let failure = jsonrpc::parse(body.as_bytes(), None).unwrap_err();
        assert_eq!(jsonrpc::failure(&failure)["id"], id);
    }
}

#[test]
fn notifications_that_are_none_are_rubbish() {
    for body in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        r#"{"task": 7}"#,
        r#"{"task": {}}"#,
        r#"{"kind": "task"}"#,
        r#"{"kind": 7}"#,
        r#"{"kind": "status-update", "taskId": "t"}"#,
        r#"{"statusUpdate": {"taskId": "", "status": {"state": "TASK_STATE_WORKING"}}}"#,
        r#"{"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_FLYING"}}}"#,
        r#"{"id": "t", "status": {"state": "flying"}}"#,
        r#"{"id": "t t", "status": {"state": "working"}}"#,
        r#"{"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": []}}"#,
    ] {
        assert!(decode::notification(body.as_bytes()).is_err(), "{body}");
    }
    // Of either generation, with and without the wrapper.
    for body in [
        r#"{"id": "t", "status": {"state": "working"}}"#,
        r#"{"id": "t", "status": {"state": "TASK_STATE_WORKING"}}"#,
        r#"{"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working", "timestamp": "once upon a time"}}"#,
        r#"{"status_update": {"task_id": "t", "status": {"state": "TASK_STATE_WORKING"}}}"#,
    ] {
        assert!(decode::notification(body.as_bytes()).is_ok(), "{body}");
    }
}

#[test]
fn cards_that_cannot_be_used_say_why() {
    for (document, reason) in [
        (json!(null), "the card is not a JSON object"),
        (
            json!({"name": "A"}),
            "the card has no JSONRPC, HTTP+JSON or MQTT interface of A2A 1.0 or 0.3",
        ),
        (
            json!({"name": "A", "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "GRPC"}]}),
            "the card has no JSONRPC, HTTP+JSON or MQTT interface of A2A 1.0 or 0.3",
        ),
        (
            json!({"name": "A", "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "7.0"}]}),
            "the card has no JSONRPC, HTTP+JSON or MQTT interface of A2A 1.0 or 0.3",
        ),
        (
            json!({"name": "A", "url": "nowhere"}),
            "the card: an interface's url is no URL: \"nowhere\"",
        ),
        (
            json!({"name": "A", "url": "mailto:a@example.com"}),
            "the card: an interface's url is no URL: \"mailto:a@example.com\"",
        ),
        (json!({"url": "https://a.example"}), "the card: name is missing"),
        (
            json!({"name": 7, "url": "https://a.example"}),
            "the card: name must be text",
        ),
        (
            json!({"name": "A", "url": "https://a.example", "skills": {}}),
            "the card: skills must be a list",
        ),
        (
            json!({"name": "A", "url": "https://a.example", "skills": [7]}),
            "skill 1 is not an object",
        ),
        (
            json!({"name": "A", "url": "https://a.example", "skills": [{"id": "x", "tags": "weather"}]}),
            "skill 1: tags must be a list of at most 200 texts",
        ),
        (
            json!({"name": "A", "url": "https://a.example", "skills": [{"id": "x", "description": "x".repeat(9000)}]}),
            "skill 1: description is longer than 8192 bytes",
        ),
    ] {
        assert_eq!(
            card::parse(&document).unwrap_err().to_string(),
            reason,
            "{document}"
        );
    }
    let plain = json!({"name": "A", "url": "https://a.example/", "skills": [{"id": "x", "tags": ["weather", "type:weather"]}]});
    let read = card::parse(&plain).unwrap();
    assert_eq!(read.endpoints[0].generation, Generation::V0_3);
    assert_eq!(
        (read.skills[0].tags.len(), read.skills[0].plain_tags.as_slice()),
        (1, &["weather".to_owned()][..])
    );
}

#[test]
fn an_interface_that_cannot_be_called_hides_no_other() {
    let good =
        || json!({"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let odd = |url: Value| json!({"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
    for interfaces in [
        json!([odd(json!("/rest")), good()]),
        json!([good(), odd(json!(""))]),
        json!([odd(json!(7)), odd(Value::Null), 7, good()]),
        json!([{"protocolBinding": "JSONRPC"}, good()]),
    ] {
        let told =
            json!({"name": "A", "url": "", "protocolVersion": "1.0", "supportedInterfaces": interfaces});
        let read = card::parse(&told).unwrap_or_else(|fault| panic!("{fault}: {told}"));
        let urls: Vec<&str> = read.endpoints.iter().map(|to| to.url.as_str()).collect();
        assert_eq!(urls, ["https://a.example/rpc"], "{told}");
    }
    let none = json!({"name": "A", "supportedInterfaces": [odd(json!("/rest")), odd(json!("rest"))]});
    let fault = card::parse(&none).unwrap_err().to_string();
    assert!(
        fault.contains("\"/rest\"") && fault.contains("\"rest\""),
        "{fault}"
    );
}
