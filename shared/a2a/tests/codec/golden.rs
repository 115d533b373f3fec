//! What the official Python SDK (`a2a-sdk` 1.3.0, with its 0.3 compatibility) really writes, recorded from its client
//! and its server over both bindings: everything must be read, and mean what it said.

use a2a::{A2aError, Call, Generation, SendCall, SendResponse, Transport, card, decode, jsonrpc, rest};
use domain::{ExposeSecret, Notification, PartContent, RemoteTaskId, SecretString, TaskState};
use serde_json::{Value, json};

fn recorded(what: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("golden/python_sdk_1_3_0.json")).unwrap();
    all[what]
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec![all[what].clone()])
}

fn kind(row: &Value) -> (Generation, bool) {
    let generation: Generation = serde_json::from_value(row["generation"].clone()).unwrap();
    (generation, row["binding"] == "JSONRPC")
}

fn assert_is_the_send(call: &SendCall) {
    assert_eq!(
        call.message
            .context_id
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("ctx-1")
    );
    assert!(call.message.message_id.as_str().starts_with("m-"));
    let contents: Vec<_> = call
        .message
        .parts
        .iter()
        .map(|part| part.content.clone())
        .collect();
    let expected = [
        PartContent::Text("hello".into()),
        PartContent::Data(json!({"a": 1.0})),
        PartContent::Raw("AP8=".into()),
    ];
    assert_eq!(contents, expected);
    assert_eq!(call.message.parts[2].filename.as_deref(), Some("f"));
    assert_eq!(
        call.message.parts[2].media_type.as_deref(),
        Some("application/octet-stream")
    );
    assert!(call.return_immediately);
    assert_eq!(call.accepted_output_modes, ["text/plain"]);
    let push = call.push.as_ref().unwrap();
    assert_eq!(push.url.as_str(), "https://echo.example/hook");
    assert_eq!(push.token.as_ref().map(SecretString::expose_secret), Some("tok"));
    let auth = push.authentication.as_ref().unwrap();
    assert_eq!(
        (
            auth.scheme.as_str(),
            auth.credentials.as_ref().map(SecretString::expose_secret)
        ),
        ("Bearer", Some("cred"))
    );
}

#[test]
fn requests_of_its_client_are_read() {
    let (mut sends, mut others) = (0, 0);
    for row in recorded("requests") {
        let (generation, over_jsonrpc) = kind(&row);
        let body = row["body"].to_string();
        if over_jsonrpc {
            let request = jsonrpc::parse(body.as_bytes(), row["generation"].as_str()).unwrap();
            assert_eq!(request.generation, generation);
            match request.call {
                Call::Send(call) => assert_is_the_send(&call),
                Call::Get { id, .. } | Call::Cancel { id, .. } => {
                    assert!(!id.is_empty());
                    others += 1;
                    continue;
                }
                other => panic!("{other:?}"),
            }
        } else if row["path"].as_str().unwrap().ends_with("message:send") {
            assert_is_the_send(&rest::parse_send(body.as_bytes(), generation).unwrap());
        } else {
            continue;
        }
        sends += 1;
    }
    assert_eq!((sends, others), (4, 6));
}

#[test]
fn answers_of_its_server_are_read() {
    let mut finished = 0;
    for row in recorded("answers") {
        let (generation, over_jsonrpc) = kind(&row);
        let result = if over_jsonrpc {
            jsonrpc::answer(row["body"].clone()).unwrap()
        } else {
            row["body"].clone()
        };
        if row["call"] == "send" {
            let Ok(SendResponse::Task(task)) = decode::send_result(&result, generation) else {
                panic!("{row}")
            };
            assert_eq!((task.status.state, task.status.at), (TaskState::Submitted, None));
            continue;
        }
        let task = decode::task(&result, generation).unwrap();
        assert_eq!(
            task.context_id.as_ref().map(ToString::to_string).as_deref(),
            Some("ctx-1")
        );
        assert_eq!(
            (task.status.state, task.status.text.as_deref()),
            (TaskState::Completed, Some("done"))
        );
        assert!(task.status.at.is_some());
        let contents: Vec<_> = task.artifacts[0]
            .parts
            .iter()
            .map(|part| part.content.clone())
            .collect();
        let expected = [
            PartContent::Text("echo: hello".into()),
            PartContent::Data(json!({"echo": "hello", "n": 4.0})),
            PartContent::Raw("AAH/".into()),
            PartContent::Url("https://x.example/y".into()),
        ];
        assert_eq!(contents, expected);
        finished += 1;
    }
    assert_eq!(finished, 4);
}

#[test]
fn its_refusals_are_read() {
    let mut read = Vec::new();
    for row in recorded("refusals") {
        let (_, over_jsonrpc) = kind(&row);
        read.push(if over_jsonrpc {
            jsonrpc::answer(row["body"].clone()).unwrap_err()
        } else {
            rest::read_failure(&row["body"]).unwrap()
        });
    }
    let expected = [A2aError::TaskNotCancelable, A2aError::TaskNotFound]
        .into_iter()
        .cycle()
        .take(8);
    assert_eq!(read, expected.collect::<Vec<_>>());
}

#[test]
fn its_pushes_are_read() {
    let pushes: Vec<Notification> = recorded("pushes")
        .iter()
        .map(|push| decode::notification(push.to_string().as_bytes()).unwrap())
        .collect();
    let ids: Vec<_> = pushes
        .iter()
        .filter_map(|push| push.remote_task_id.as_ref().map(RemoteTaskId::as_str))
        .collect();
    assert!(ids.len() == 4 && ids.iter().all(|id| *id == ids[0]));
    let states: Vec<_> = pushes
        .iter()
        .map(|push| push.update.as_ref().map(|update| update.state))
        .collect();
    assert_eq!(
        states,
        [
            Some(TaskState::Submitted),
            Some(TaskState::Working),
            None,
            Some(TaskState::Completed)
        ]
    );
    assert_eq!(
        pushes.iter().map(|push| push.snapshot).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    assert_eq!(pushes[2].artifacts[0].0.text(), "echo: hello");
}

#[test]
fn its_card_is_read() {
    let read = card::parse(&recorded("card")[0]).unwrap();
    assert_eq!(
        (read.name.as_str(), read.push_notifications, read.secured),
        ("Echo", true, false)
    );
    assert_eq!(read.skills[0].plain_tags, ["echo"]);
    let kinds: Vec<_> = read
        .endpoints
        .iter()
        .map(|endpoint| (endpoint.generation, endpoint.transport))
        .collect();
    let (new, old) = (Generation::V1_0, Generation::V0_3);
    let (rpc, rest) = (Transport::JsonRpc, Transport::Rest);
    assert_eq!(kinds, [(new, rpc), (new, rest), (old, rpc), (old, rest)]);
}
