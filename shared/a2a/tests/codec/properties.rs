//! What holds for everything: nothing that arrives panics, and what one side writes the other reads back unchanged.

use a2a::{Call, SendResponse, card, decode, encode, jsonrpc, rest};
use domain::*;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::samples::{
    GENERATIONS, any_a2a_like_json, any_artifact, any_message, any_send, finished_task, plain,
};

/// Every reader of foreign bytes. A result of any kind is fine; a panic is not.
fn read_everything(bytes: &[u8]) {
    for version in [None, Some("1.0"), Some("0.3"), Some("9.9"), Some("\u{0}")] {
        if let Err(failure) = jsonrpc::parse(bytes, version) {
            let written = jsonrpc::failure(&failure);
            assert!(written["error"]["code"].is_i64() && written["error"]["message"].is_string());
        }
    }
    let _ = decode::notification(bytes);
    for generation in GENERATIONS {
        if let Err(error) = rest::parse_send(bytes, generation) {
            let (status, _) = rest::failure(&error, generation);
            assert!(
                (400..500).contains(&status),
                "{error:?} is answered with {status}"
            );
        }
    }
    let id = || "t".to_owned();
    let text = String::from_utf8_lossy(bytes);
    for generation in GENERATIONS {
        let _ = rest::parse_push(id(), bytes, generation);
        let _ = rest::parse_list(Some(&text), generation);
        let _ = rest::parse_get(id(), Some(&text), generation);
        for transport in [Transport::JsonRpc, Transport::Rest] {
            let _ = decode::stream_item(&text, generation, transport);
        }
    }
    let _ = rest::parse_cancel(id(), bytes);
    let _ = rest::parse_list_push(id(), Some(&text));
    let _ = rest::parse_delete_push(id(), id(), Some(&text));
    let _ = a2a::extensions([&*text]);
    let _ = a2a::asked_version(Some(&text), Some(&text));
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        let _ = card::parse(&value);
        let _ = card::etag(&value);
        let _ = card::verify(&value, |_, _| card::Verdict::Bad(String::new()));
        let _ = rest::read_failure(&value);
        let _ = jsonrpc::answer(value.clone());
        for generation in GENERATIONS {
            let _ = decode::send_result(&value, generation);
            let _ = decode::task(&value, generation);
            let _ = decode::list(&value, generation);
        }
    }
}

fn sent_over_jsonrpc(call: &a2a::SendCall, generation: Generation) -> Value {
    let request = jsonrpc::call_request("1", &Call::Send(call.clone()), generation).to_string();
    let read = jsonrpc::parse(request.as_bytes(), None).map_err(|failure| failure.error);
    match read.map(|request| (request.generation, request.call)) {
        Ok((told, Call::Send(call))) if told == generation => plain(&call),
        other => json!(format!("{other:?}")),
    }
}

fn sent_over_rest(call: &a2a::SendCall, generation: Generation) -> Value {
    let body = rest::send_body(call, generation).to_string();
    match rest::parse_send(body.as_bytes(), generation) {
        Ok(call) => plain(&call),
        Err(error) => json!(format!("{error:?}")),
    }
}

fn task_with(artifacts: Vec<Artifact>, said: Option<Message>, state: TaskState, at: i64) -> Task {
    let (mut task, _) = finished_task();
    task.artifacts = artifacts;
    task.status = Status {
        state,
        message: said,
        at: Timestamp::from_millis(at),
    };
    task
}

/// What another agent can know of the task.
fn as_remote(task: &Task) -> a2a::RemoteTask {
    a2a::RemoteTask {
        id: RemoteTaskId::parse(&task.id.to_string()).unwrap(),
        context_id: Some(task.context_id.clone()),
        status: RemoteUpdate {
            text: task
                .status
                .message
                .as_ref()
                .map(Message::text)
                .filter(|text| !text.is_empty()),
            at: Some(task.status.at),
            ..RemoteUpdate::of(task.status.state)
        },
        artifacts: task.artifacts.clone(),
        responder: None,
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }

    #[test]
    fn no_json_of_our_own_words_panics(value in any_a2a_like_json()) {
        read_everything(value.to_string().as_bytes());
        read_everything(json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": value}).to_string().as_bytes());
        read_everything(json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": value}).to_string().as_bytes());
        read_everything(json!({"message": {"messageId": "m", "role": "user", "parts": [value]}}).to_string().as_bytes());
        for method in ["ListTasks", "CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", "CancelTask"] {
            read_everything(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": value}).to_string().as_bytes());
        }
        read_everything(json!({"tasks": [value], "signatures": [value]}).to_string().as_bytes());
        read_everything(json!({"task": {"id": "t", "status": value, "artifacts": [value]}}).to_string().as_bytes());
    }

    #[test]
    fn a_valid_request_cut_or_bent_anywhere_does_not_panic(
        call in any_send(Generation::V1_0), cut in 0..600_usize, bend in any::<u8>(),
    ) {
        for generation in GENERATIONS {
            let mut bytes = jsonrpc::call_request("1", &Call::Send(call.clone()), generation).to_string().into_bytes();
            let cut = cut.min(bytes.len() - 1);
            read_everything(&bytes[..cut]);
            bytes[cut] = bend;
            read_everything(&bytes);
        }
    }

    #[test]
    fn a_send_comes_back_unchanged_1_0(call in any_send(Generation::V1_0)) {
        prop_assert_eq!(sent_over_jsonrpc(&call, Generation::V1_0), plain(&call));
        prop_assert_eq!(sent_over_rest(&call, Generation::V1_0), plain(&call));
    }

    #[test]
    fn a_send_comes_back_unchanged_0_3(mut call in any_send(Generation::V0_3)) {
        prop_assert_eq!(sent_over_jsonrpc(&call, Generation::V0_3), plain(&call));
        // Its protobuf form has no room for references to other tasks.
        call.message.reference_task_ids.clear();
        prop_assert_eq!(sent_over_rest(&call, Generation::V0_3), plain(&call));
    }

    #[test]
    fn a_task_comes_back_unchanged(
        (generation, artifacts, said) in proptest::sample::select(GENERATIONS.to_vec()).prop_flat_map(|generation| (
            Just(generation),
            prop::collection::vec(any_artifact(generation), 0..3),
            prop::option::of(any_message(generation)),
        )),
        state in proptest::sample::select(TaskState::ALL.to_vec()),
        at in 0..4_000_000_000_000_i64,
        history in prop::option::of(0..4_u32),
    ) {
        let task = task_with(artifacts, said, state, at);
        let expected = as_remote(&task);
        let over_jsonrpc = encode::send_result(&task, generation, history);
        prop_assert_eq!(decode::send_result(&over_jsonrpc, generation), Ok(SendResponse::Task(expected.clone())));
        prop_assert_eq!(decode::task(&encode::task(&task, generation, history), generation), Ok(expected.clone()));
        let over_rest = rest::send_result(&task, generation, history);
        prop_assert_eq!(decode::send_result(&over_rest, generation), Ok(SendResponse::Task(expected.clone())));
        prop_assert_eq!(decode::task(&rest::task(&task, generation, history), generation), Ok(expected.clone()));
        let pushed = encode::push(&task, &[], generation).to_string();
        prop_assert_eq!(decode::notification(pushed.as_bytes()), Ok(expected.into_notification()));
    }

    #[test]
    fn an_event_comes_back_unchanged(
        (generation, artifact, said) in proptest::sample::select(GENERATIONS.to_vec()).prop_flat_map(|generation| (
            Just(generation), any_artifact(generation), prop::option::of(any_message(generation)),
        )),
        state in proptest::sample::select(TaskState::ALL.to_vec()),
        append in any::<bool>(),
    ) {
        let (task, _) = finished_task();
        let at = Timestamp::from_millis(7);
        let id = RemoteTaskId::parse(&task.id.to_string()).unwrap();
        let text = said.as_ref().map(Message::text).filter(|text| !text.is_empty());

        let status = Event { seq: 2, at, kind: EventKind::status(state, said) };
        let written = encode::event(&task, &status, generation).unwrap();
        let expected = Notification {
            remote_task_id: Some(id.clone()),
            update: Some(RemoteUpdate { text, at: Some(at), ..RemoteUpdate::of(state) }),
            artifacts: Vec::new(),
            snapshot: false,
            responder: None,
        };
        prop_assert_eq!(decode::notification(written.to_string().as_bytes()), Ok(expected));

        let kind = EventKind::Artifact { artifact: artifact.clone(), append, last_chunk: true };
        let written = encode::event(&task, &Event { seq: 3, at, kind }, generation).unwrap();
        let expected = Notification {
            remote_task_id: Some(id),
            update: None,
            artifacts: vec![(artifact, append)],
            snapshot: false,
            responder: None,
        };
        prop_assert_eq!(decode::notification(written.to_string().as_bytes()), Ok(expected));
    }

    #[test]
    fn a_message_comes_back_unchanged(
        (generation, message) in proptest::sample::select(GENERATIONS.to_vec())
            .prop_flat_map(|generation| (Just(generation), any_message(generation))),
    ) {
        let written = encode::message(&message, generation);
        let answer = match generation {
            Generation::V1_0 => json!({ "message": written }),
            Generation::V0_3 => written,
        };
        prop_assert_eq!(decode::send_result(&answer, generation), Ok(SendResponse::Message(message)));
    }
}
