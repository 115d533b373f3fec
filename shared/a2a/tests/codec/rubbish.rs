//! The fuzz targets, each played over what is left of good documents when they are cut, spliced and spoiled. cargo-fuzz, which few
//! have, looks further; here every run makes sure that the targets compile and that none of them breaks.

use a2a::mqtt::{ReplyItem, read_reply};
use serde_json::{Value, json};

#[expect(
    unreachable_pub,
    clippy::expect_used,
    reason = "the file is the library of the fuzz targets"
)]
#[path = "../../../../fuzz/src/wire.rs"]
mod targets;

/// What spoils a byte: the ends of text, of UTF-8, of JSON's words and of numbers.
const SPOILS: &[u8] = &[
    0, 0xff, 0xc3, b'"', b'{', b']', b',', b'9', b'-', b'\\', b'#', b'+', b'\n',
];
/// At most so many cuts, spoils and splices of each document.
const EACH: usize = 40;

const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";

/// What others really write, and one of each kind besides.
fn documents() -> Vec<Vec<u8>> {
    let golden: Value = serde_json::from_str(include_str!("golden/python_sdk_1_3_0.json")).unwrap();
    let mut found = Vec::new();
    objects(&golden, &mut found);
    let update = json!({ "statusUpdate": { "taskId": TASK, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } } });
    let piece = json!({ "artifactUpdate": { "taskId": TASK, "contextId": "c", "append": true, "lastChunk": false,
        "artifact": { "artifactId": "a", "parts": [{ "text": "ä\u{1}" }, { "raw": "AAEC" }, { "data": { "n": 1e300 } }] } } });
    let message =
        json!({ "messageId": "m", "taskId": TASK, "role": "ROLE_USER", "parts": [{ "text": "Oslo?" }] });
    let call = json!({ "message": message, "configuration": { "returnImmediately": true,
        "taskPushNotificationConfig": { "url": "https://hook.example/t", "token": "t" } } });
    let card = json!({ "name": "Echo", "description": "d", "version": "1", "skills": [{ "id": "e", "name": "E", "description": "d",
        "tags": ["type:echo"] }], "capabilities": { "streaming": true }, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "supportedInterfaces": [{ "url": "mqtts://b.example/$a2a/v1/request/a/b/c",
        "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" }], "signatures": [{ "protected": "e30", "signature": "AA" }] });
    let rpc = |method: &str, params: &Value| json!({ "jsonrpc": "2.0", "id": "r", "method": method, "params": params });
    let reply = |field: &str, value: Value| json!({ "jsonrpc": "2.0", "id": 7, field: value });
    let refused = json!({ "code": 403, "message": "no", "data": { "a2a_error": "insufficient_scope", "www_authenticate": "Bearer" } });
    found.extend([
        rpc("SendStreamingMessage", &call),
        rpc("SendMessage", &call),
        rpc("GetTask", &json!({ "id": TASK, "historyLength": 3 })),
        rpc("ListTasks", &json!({ "pageSize": 5, "pageToken": "x" })),
        rpc("message/send", &json!({ "message": { "kind": "message", "messageId": "m", "role": "user", "parts": [{ "kind": "text", "text": "x" }] } })),
        reply("result", update),
        reply("result", piece),
        reply("result", json!({ "task": { "id": TASK, "contextId": "c", "status": { "state": "TASK_STATE_WORKING" } } })),
        reply("result", json!({ "id": TASK, "status": { "state": "TASK_STATE_INPUT_REQUIRED" }, "artifacts": [] })),
        reply("error", refused),
        call,
        card,
        json!([[[[[[]]]]]]),
    ]);
    let texts = [
        "$a2a/v1/reply/switchyard/acme/host/3f1c9b5e7a2d4c6f8e0b1a2c3d4e5f60",
        "$share/a2a.o.u.p/$a2a/v1/request/o/u/pool/p",
        "contextId=c&pageSize=10&status=TASK_STATE_WORKING&historyLength=%C3%A4",
        // Names, as the target of requests over MQTT takes them apart, before their payload.
        "\u{40}acme/lab/echo\nlab/asker/s\nc-1\n60\na2a-artifact-mode\nbinary\nBearer t\n",
    ];
    found
        .iter()
        .map(|document| document.to_string().into_bytes())
        .chain(texts.map(|text| text.as_bytes().to_vec()))
        .collect()
}

/// Every object of a document that is no part of another that is here.
fn objects(of: &Value, found: &mut Vec<Value>) {
    match of {
        Value::Object(fields) if fields.contains_key("jsonrpc") || fields.contains_key("name") => {
            found.push(of.clone())
        }
        Value::Object(fields) => fields.values().for_each(|value| objects(value, found)),
        Value::Array(values) => values.iter().for_each(|value| objects(value, found)),
        _ => {}
    }
}

/// Places in a document of that length, from its beginning to its end.
fn places(length: usize) -> impl Iterator<Item = usize> {
    let step = length.div_ceil(EACH).max(1);
    (0..length).step_by(step)
}

fn plays(target: fn(&[u8])) {
    let documents = documents();
    target(b"");
    for (number, document) in documents.iter().enumerate() {
        target(document);
        let other = &documents[(number + 1) % documents.len()];
        for (turn, place) in places(document.len()).enumerate() {
            let (head, tail) = document.split_at(place);
            target(head);
            target(tail);
            let mut spoiled = document.clone();
            spoiled[place] = SPOILS[turn % SPOILS.len()];
            target(&spoiled);
            // The end of another, and a part that is there twice.
            target(&[head, &other[place % other.len()..]].concat());
            target(&[head, &tail[..tail.len().min(16)], tail].concat());
        }
    }
}

#[test]
fn no_rubbish_breaks_requests_over_jsonrpc() {
    plays(targets::jsonrpc);
}

#[test]
fn no_rubbish_breaks_requests_over_rest() {
    plays(targets::rest);
}

#[test]
fn no_rubbish_breaks_news_of_other_agents() {
    plays(targets::notification);
}

#[test]
fn no_rubbish_breaks_the_cards_of_others() {
    plays(targets::card);
}

#[test]
fn no_rubbish_breaks_replies_and_calls_over_mqtt() {
    plays(targets::reply);
}

#[test]
fn no_rubbish_breaks_requests_over_mqtt() {
    plays(targets::mqtt);
}

#[test]
fn the_documents_are_what_the_targets_read() {
    let documents = documents();
    let read = |count: usize, what: &dyn Fn(&[u8]) -> bool| {
        let found = documents.iter().filter(|document| what(document)).count();
        assert!(found >= count, "{found}");
    };
    read(4, &|it| matches!(read_reply(it), Some(ReplyItem::Result(_))));
    read(1, &|it| matches!(read_reply(it), Some(ReplyItem::Error(_))));
    read(2, &|it| a2a::mqtt::OutgoingCall::read(it).is_ok());
    read(3, &|it| a2a::jsonrpc::parse(it, Some("1.0")).is_ok());
    read(1, &|it| a2a::jsonrpc::parse(it, Some("0.3")).is_ok());
}
