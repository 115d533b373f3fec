//! What other agents write beside the letter of either generation, and what of it is read.

use a2a::{Generation, RemoteTask, SendResponse, Transport, decode};
use domain::{Artifact, Notification, PartContent, TaskState, UNREAD};
use serde_json::{Value, json};

const BOTH: [Generation; 2] = [Generation::V1_0, Generation::V0_3];

fn answered(result: &Value) -> Vec<SendResponse> {
    let read = |generation| {
        decode::send_result(result, generation).unwrap_or_else(|error| panic!("{error}: {result}"))
    };
    BOTH.map(read).to_vec()
}

/// The same task, whatever the card claims.
fn task(result: &Value) -> RemoteTask {
    let mut read = answered(result).into_iter().map(|answer| match answer {
        SendResponse::Task(task) => task,
        SendResponse::Message(_) => panic!("a message: {result}"),
    });
    let first = read.next().unwrap();
    assert_eq!(read.next().as_ref(), Some(&first), "{result}");
    first
}

fn said(result: &Value) -> String {
    let mut read = answered(result).into_iter().map(|answer| match answer {
        SendResponse::Message(message) => message.text(),
        SendResponse::Task(_) => panic!("a task: {result}"),
    });
    let first = read.next().unwrap();
    assert_eq!(read.next().as_ref(), Some(&first), "{result}");
    first
}

fn news(body: &Value) -> Notification {
    decode::notification(body.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn texts(artifacts: &[Artifact]) -> Vec<String> {
    artifacts.iter().map(Artifact::text).collect()
}

/// A task in 1.0's words and in 0.3's, with this in its status and these parts of its result.
fn tasks(message: &Value, parts: &Value) -> [Value; 2] {
    let old = |state: &str, kind: Option<&str>| {
        let mut told = json!({ "id": "r-1", "contextId": "c", "status": { "state": state, "message": message },
            "artifacts": [{ "artifactId": "a", "parts": parts }] });
        if let Some(kind) = kind {
            told["kind"] = json!(kind);
        }
        told
    };
    [old("TASK_STATE_COMPLETED", None), old("completed", Some("task"))]
}

#[test]
fn a_result_is_read_whatever_its_status_message_looks_like() {
    for message in [
        json!({ "role": "ROLE_AGENT", "messageId": "m", "parts": [] }),
        json!({ "role": "agent", "kind": "message", "messageId": "m" }),
        json!({ "role": "agent", "parts": null, "referenceTaskIds": null }),
        json!({ "role": "ROLE_AGENT", "parts": [{ "text": "" }] }),
        json!({ "role": "ROLE_NOBODY", "messageId": "m m", "parts": 7, "metadata": [] }),
        json!({}),
        json!([]),
        json!(7),
        json!(""),
        Value::Null,
    ] {
        for told in tasks(&message, &json!([{ "text": "pong" }])) {
            let read = task(&told);
            assert_eq!(
                (read.status.state, read.status.text),
                (TaskState::Completed, None),
                "{told}"
            );
            assert_eq!(texts(&read.artifacts), ["pong"], "{told}");
            assert_eq!(news(&told).artifacts.len(), 1, "{told}");
        }
    }
    // What it says is read without an id and a role, and as mere text.
    for message in [json!({ "parts": [{ "text": "done" }] }), json!("done")] {
        for told in tasks(&message, &json!([])) {
            assert_eq!(task(&told).status.text.as_deref(), Some("done"), "{told}");
        }
    }
}

#[test]
fn a_part_that_cannot_be_read_is_left_out_and_counted() {
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    for odd in [
        json!({ "text": { "invalid": true } }),
        json!({ "kind": "text" }),
        json!({ "kind": "file", "file": {} }),
        json!({ "kind": "file", "file": { "bytes": "*" } }),
        json!({ "kind": "video", "video": "x" }),
        json!({ "raw": "*" }),
        json!({ "url": 7 }),
        json!({ "data": deep }),
        json!({}),
        json!(null),
        json!([]),
    ] {
        for told in tasks(&Value::Null, &json!([{ "text": "pong" }, odd, { "text": "!" }])) {
            let read = task(&told);
            assert_eq!(texts(&read.artifacts), ["pong!"], "{told}");
            assert_eq!(read.artifacts[0].metadata.get(UNREAD), Some(&json!(1)), "{told}");
        }
        for told in tasks(&Value::Null, &json!([odd, odd])) {
            let read = task(&told);
            assert_eq!(
                texts(&read.artifacts),
                ["(This part of the result cannot be read.)"],
                "{told}"
            );
            assert_eq!(read.artifacts[0].metadata.get(UNREAD), Some(&json!(2)), "{told}");
        }
    }
    let [good, _] = tasks(&Value::Null, &json!([{ "text": "pong" }]));
    assert!(task(&good).artifacts[0].metadata.is_empty());
}

#[test]
fn a_part_is_read_by_what_it_holds() {
    for (part, content) in [
        (
            json!({ "type": "text", "text": "pong" }),
            PartContent::Text("pong".into()),
        ),
        (
            json!({ "kind": "video", "text": "pong" }),
            PartContent::Text("pong".into()),
        ),
        (
            json!({ "root": { "kind": "text", "text": "pong" } }),
            PartContent::Text("pong".into()),
        ),
        (json!({ "text": 7 }), PartContent::Text("7".into())),
        (json!("pong"), PartContent::Text("pong".into())),
        (
            json!({ "kind": "file", "file": { "bytes": "_-8" } }),
            PartContent::Raw("/+8=".into()),
        ),
        (
            json!({ "file": { "uri": "https://a.example/x" } }),
            PartContent::Url("https://a.example/x".into()),
        ),
        (
            json!({ "kind": "file", "url": "https://a.example/x" }),
            PartContent::Url("https://a.example/x".into()),
        ),
        // What runs in whoever shows it stays words, however it is written.
        (
            json!({ "kind": "file", "file": { "uri": "javascript:x" } }),
            PartContent::Text("javascript:x".into()),
        ),
        (
            json!({ "kind": "data", "data": { "a": 1 } }),
            PartContent::Data(json!({ "a": 1 })),
        ),
    ] {
        for told in tasks(&Value::Null, &json!([part])) {
            assert_eq!(task(&told).artifacts[0].parts[0].content, content, "{told}");
        }
    }
}

#[test]
fn an_answer_says_itself_what_it_is() {
    let [new, old] = tasks(&Value::Null, &json!([{ "text": "pong" }]));
    for told in [
        new.clone(),
        old.clone(),
        json!({ "task": new }),
        json!({ "task": old }),
        json!({ "task": new, "message": null }),
        json!({ "root": old }),
        json!({ "root": { "task": new } }),
        json!({ "task": new, "statusUpdate": null, "artifactUpdate": null }),
    ] {
        let read = task(&told);
        assert_eq!(
            (read.id.as_str(), texts(&read.artifacts)),
            ("r-1", vec!["pong".to_owned()]),
            "{told}"
        );
    }
    let message = |role: &str| json!({ "role": role, "messageId": "m", "parts": [{ "text": "pong" }] });
    for told in [
        message("ROLE_AGENT"),
        message("agent"),
        message("model"),
        json!({ "message": message("ROLE_AGENT") }),
        json!({ "msg": { "role": "ROLE_AGENT", "content": [{ "text": "pong" }] } }),
        json!({ "kind": "message", "parts": [{ "kind": "text", "text": "pong" }] }),
    ] {
        assert_eq!(said(&told), "pong", "{told}");
    }
}

#[test]
fn an_id_and_a_state_are_all_that_a_task_needs() {
    for (state, known) in [
        ("completed", TaskState::Completed),
        ("TASK_STATE_CANCELLED", TaskState::Canceled),
        ("cancelled", TaskState::Canceled),
        ("Input_Required", TaskState::InputRequired),
        ("TASK_STATE_UNSPECIFIED", TaskState::Unknown),
    ] {
        for told in [
            json!({ "id": "r-1", "status": { "state": state } }),
            json!({ "id": "r-1", "status": state }),
            json!({ "task": { "id": "r-1", "status": { "state": state, "timestamp": "yesterday" }, "artifacts": null } }),
            json!({ "id": "r-1", "contextId": "a b", "status": { "state": state }, "artifacts": 7, "history": [7], "metadata": [] }),
            json!({ "taskId": "r-1", "context_id": 9, "status": { "state": state }, "artifacts": [7] }),
        ] {
            let read = task(&told);
            assert_eq!((read.id.as_str(), read.status.state), ("r-1", known), "{told}");
            assert!(read.artifacts.is_empty(), "{told}");
        }
    }
    assert_eq!(
        task(&json!({ "id": 17, "status": { "state": 2 } })).id.as_str(),
        "17"
    );
    // The agent has it, whatever it says of it: it can be asked once more.
    for told in [
        json!({ "id": "r-1", "status": { "state": "flying" } }),
        json!({ "id": "r-1", "status": {} }),
        json!({ "kind": "task", "id": "r-1" }),
    ] {
        assert_eq!(task(&told).status.state, TaskState::Unknown, "{told}");
    }
    // One that is done and has no id that it could be asked by is an answer all the same.
    let [mut new, _] = tasks(&Value::Null, &json!([{ "text": "pong" }]));
    for id in [Value::Null, json!("a b"), json!({})] {
        new["id"] = id;
        assert_eq!(said(&new), "pong");
    }
}

#[test]
fn a_result_without_parts_hides_no_other() {
    for odd in [
        json!({ "artifactId": "b", "parts": null }),
        json!({ "artifactId": "b", "parts": [] }),
        json!({ "artifactId": "b" }),
        json!(null),
    ] {
        for mut told in tasks(&Value::Null, &json!([{ "text": "pong" }])) {
            told["artifacts"].as_array_mut().unwrap().insert(0, odd.clone());
            let read = texts(&task(&told).artifacts).concat();
            assert_eq!(read, "pong", "{told}");
        }
    }
}

/// The Go SDK's JSON, as its own codec tests have it: what is empty is left out, times have nanoseconds and a zone, data may be any
/// JSON. A list that is nil is null where a field is not left out for it, as in any program in Go.
#[test]
fn what_the_go_sdk_writes_is_read() {
    let at = "2026-01-01T01:00:00.123456789+01:00";
    let parts = json!([{ "text": "pong" }, { "raw": "//4=", "filename": "a", "mediaType": "image/png" }, { "data": 12.34 },
        { "data": ["a", 1, true] }, { "url": "https://a.example/1.png", "filename": "b" }, { "text": "!", "metadata": { "a": "b" } }]);
    let result = json!({ "id": "r-1", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED", "timestamp": at },
        "artifacts": [{ "artifactId": "a", "parts": parts }] });
    for told in [json!({ "task": result }), result] {
        let Ok(SendResponse::Task(read)) = decode::send_result(&told, Generation::V1_0) else {
            panic!("{told}")
        };
        assert_eq!(read.artifacts[0].parts.len(), 6, "{told}");
        assert!(
            read.artifacts[0].metadata.is_empty() && read.status.at.is_some(),
            "{read:?}"
        );
    }
    let old = json!({ "kind": "task", "id": "r-1", "contextId": "c", "artifacts": null, "history": null, "metadata": null,
        "status": { "state": "completed", "timestamp": at, "message": { "kind": "message", "messageId": "m", "role": "agent",
            "parts": [{ "kind": "text", "text": "done", "metadata": null }], "extensions": null, "referenceTaskIds": null } } });
    assert_eq!(task(&old).status.text.as_deref(), Some("done"));
    let message =
        json!({ "message": { "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "pong" }] } });
    assert_eq!(said(&message), "pong");
    for told in [
        json!({ "statusUpdate": { "taskId": "r-1", "contextId": "c", "final": false,
            "status": { "state": "TASK_STATE_WORKING", "timestamp": at } } }),
        json!({ "artifactUpdate": { "taskId": "r-1", "contextId": "c",
            "artifact": { "artifactId": "a", "parts": [{ "text": "pong" }] } } }),
    ] {
        let read = news(&told);
        let is_read = read.update.is_some() || read.artifacts.len() == 1;
        assert!(is_read && read.remote_task_id.is_some(), "{told}");
    }
}

#[test]
fn results_without_names_of_their_own_stay_apart() {
    let told = json!({ "id": "r-1", "status": { "state": "completed" },
        "artifacts": [{ "parts": [{ "text": "a" }] }, { "artifactId": 7, "parts": [{ "text": "b" }] }, { "parts": [{ "text": "c" }] }] });
    let read = task(&told);
    assert_eq!(texts(&read.artifacts), ["a", "b", "c"]);
    let ids: std::collections::BTreeSet<_> =
        read.artifacts.iter().map(|result| &result.artifact_id).collect();
    assert_eq!(ids.len(), 3);
}

#[test]
fn news_are_read_in_any_clothing() {
    let update =
        json!({ "taskId": "r-1", "status": { "state": "TASK_STATE_COMPLETED", "message": { "parts": [] } } });
    for told in [
        json!({ "statusUpdate": update }),
        json!({ "status_update": update }),
        update.clone(),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "statusUpdate": update } }),
        json!({ "statusUpdate": { "taskId": "r-1", "final": true, "status": { "state": "TASK_STATE_COMPLETED" } } }),
        json!({ "task": null, "message": null, "statusUpdate": update }),
        json!({ "kind": "status-update", "taskId": "r-1", "final": true, "status": { "state": "completed" } }),
    ] {
        let read = news(&told);
        assert_eq!(
            read.update.map(|update| update.state),
            Some(TaskState::Completed),
            "{told}"
        );
        assert!(!read.snapshot, "{told}");
    }
    // The whole task, wrapped and bare, as older senders have it.
    let [new, old] = tasks(&Value::Null, &json!([{ "text": "pong" }]));
    for told in [json!({ "task": new }), new, old] {
        let read = news(&told);
        assert!(read.snapshot && read.artifacts.len() == 1, "{told}");
    }
    let piece = json!({ "taskId": "r-1", "append": true, "artifact": { "parts": [{ "text": "po" }, {}] } });
    for told in [json!({ "artifactUpdate": piece }), piece.clone()] {
        let read = news(&told);
        assert_eq!(read.artifacts.len(), 1, "{told}");
        assert!(
            read.artifacts[0].1 && read.artifacts[0].0.text() == "po",
            "{told}"
        );
    }
}

#[test]
fn half_a_character_spoils_no_answer() {
    let event =
        br#"{"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "r", "status": {"state": "working",
        "message": {"parts": [{"kind": "text", "text": "pong \ud83d"}]}}}}"#;
    let event = std::str::from_utf8(event).unwrap();
    let read = decode::stream_item(event, Generation::V0_3, Transport::JsonRpc).unwrap();
    assert_eq!(read.update.unwrap().text.as_deref(), Some("pong \u{fffd}"));
    let push = b"\xef\xbb\xbf{\"taskId\": \"r\", \"status\": \"completed\", \"result\": \"\\ude00\"}";
    assert_eq!(
        decode::notification(push).unwrap().artifacts[0].0.text(),
        "\u{fffd}"
    );
    let asked = br#"{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"messageId": "m", "role": "ROLE_USER",
        "parts": [{"text": "Oslo \ud83c"}]}}}"#;
    assert!(a2a::jsonrpc::parse(asked, Some("1.0")).is_ok());
}

#[test]
fn what_holds_no_answer_is_none() {
    for told in [
        json!(null),
        json!("pong"),
        json!([]),
        json!({}),
        json!({ "task": {} }),
        json!({ "task": "r-1" }),
        json!({ "message": { "parts": [] } }),
        json!({ "message": { "parts": [{}, 7] } }),
        json!({ "status": { "state": "working" } }),
        json!({ "id": "a b", "status": { "state": "failed" } }),
        json!({ "id": "r".repeat(2000), "status": { "state": "working" } }),
        json!({ "status": { "state": "completed" }, "artifacts": [] }),
        json!({ "root": { "root": { "root": { "root": { "root": { "root": { "parts": [{ "text": "x" }] } } } } } } }),
    ] {
        for generation in BOTH {
            assert!(decode::send_result(&told, generation).is_err(), "{told}");
        }
    }
}
