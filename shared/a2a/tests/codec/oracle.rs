//! The official protobuf types of A2A 1.0 as an oracle: what we write, their ProtoJSON reads and writes back unchanged.
//! They pass over unknown names, so that a misspelt one would be missing in what they write.

use a2a::{Call, Generation, ListCall, ShownPush, card, encode, jsonrpc};
use a2a_pb::protojson as pb;
use domain::*;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use crate::operations::any_call;
use crate::samples::{any_artifact, any_message, finished_task};
use crate::snapshots::{open_card, secured_card};

const V1: Generation = Generation::V1_0;

/// What may differ without a difference: default values that ProtoJSON leaves out, how numbers and times are written.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let full = |value: &Value| {
                !matches!(value, Value::Null | Value::Bool(false))
                    && *value != json!("")
                    && *value != json!("TASK_STATE_UNSPECIFIED")
                    && *value != json!(0)
            };
            let fields = fields
                .iter()
                .filter(|(name, value)| name.as_str() == "data" || (full(value) && **value != json!([])))
                .map(|(name, value)| {
                    let free = ["data", "metadata", "params"].contains(&name.as_str());
                    let time = value.as_str().and_then(Timestamp::parse);
                    let value = match time {
                        Some(at) if name.to_lowercase().contains("timestamp") => json!(at.to_string()),
                        _ if free => numbers(value),
                        _ => plain(value),
                    };
                    (name.clone(), value)
                });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        other => numbers(other),
    }
}

/// Every number as the double that protobuf's `Value` holds.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), numbers(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn through<T: Serialize + DeserializeOwned>(written: &Value) -> Value {
    let read: T = serde_json::from_value(written.clone()).unwrap();
    serde_json::to_value(read).unwrap()
}

fn assert_same<T: Serialize + DeserializeOwned>(written: &Value) {
    let written = &exact(written);
    assert_eq!(plain(&through::<T>(written)), plain(written));
}

/// Without what the oracle does not take: integers that a double cannot hold, and a part's data that is `null`.
fn exact(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_f64().is_some_and(|told| told.abs() > 9e15) => json!(1),
        Value::Array(items) => items.iter().map(exact).collect(),
        Value::Object(fields) => {
            let member = |(name, value): (&String, &Value)| match value {
                Value::Null if name == "data" => (name.clone(), json!("null")),
                _ => (name.clone(), exact(value)),
            };
            Value::Object(fields.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

/// The parameters of a call by the type that the method has.
fn assert_params_same(call: &Call) {
    let params = &jsonrpc::call_request("1", call, V1)["params"];
    match call {
        Call::Send(_) | Call::Stream(_) => assert_same::<pb::SendMessageRequest>(params),
        Call::Get { .. } => assert_same::<pb::GetTaskRequest>(params),
        Call::List(_) => assert_same::<pb::ListTasksRequest>(params),
        Call::Cancel { .. } => assert_same::<pb::CancelTaskRequest>(params),
        Call::Subscribe { .. } => assert_same::<pb::SubscribeToTaskRequest>(params),
        Call::CreatePush { .. } => assert_same::<pb::TaskPushNotificationConfig>(params),
        Call::GetPush { .. } => assert_same::<pb::GetTaskPushNotificationConfigRequest>(params),
        Call::ListPush { .. } => assert_same::<pb::ListTaskPushNotificationConfigsRequest>(params),
        Call::DeletePush { .. } => assert_same::<pb::DeleteTaskPushNotificationConfigRequest>(params),
        Call::ExtendedCard { .. } => assert_same::<pb::GetExtendedAgentCardRequest>(params),
    }
}

#[test]
fn every_answer_of_ours_is_protojson() {
    let (task, events) = finished_task();
    assert_same::<pb::Task>(&encode::task(&task, V1, None));
    assert_same::<pb::SendMessageResponse>(&encode::send_result(&task, V1, Some(1)));
    assert_same::<pb::SendMessageResponse>(&encode::send_message_result(&task.history[0], V1));
    assert_same::<pb::StreamResponse>(&encode::stream_first(&task, V1, Some(0)));
    for event in &events {
        if let Some(written) = encode::event(&task, event, V1) {
            assert_same::<pb::StreamResponse>(&written);
        }
        assert_same::<pb::StreamResponse>(&encode::push(&task, std::slice::from_ref(event), V1));
    }
    let call = ListCall {
        include_artifacts: true,
        ..ListCall::default()
    };
    assert_same::<pb::ListTasksResponse>(&encode::list(
        std::slice::from_ref(&task),
        Some("next"),
        7,
        &call,
        V1,
    ));
    assert_same::<pb::ListTasksResponse>(&encode::list(&[], None, 0, &ListCall::default(), V1));
    let shown = ShownPush {
        id: PushConfigId::parse("p-1").unwrap(),
        url: Url::parse("https://hooks.example/x").unwrap(),
        scheme: Some("Bearer".into()),
    };
    let id = task.id.to_string();
    assert_same::<pb::TaskPushNotificationConfig>(&encode::push_config(&id, &shown, V1));
    let listed = encode::push_configs(&id, &[shown], Some("more"), V1);
    assert_same::<pb::ListTaskPushNotificationConfigsResponse>(&listed);
    for card in [open_card(), secured_card()] {
        assert_same::<pb::AgentCard>(&card::document(&card, Some("1.0")).unwrap());
    }
}

#[test]
fn enums_by_number_are_read_as_the_oracle_reads_them() {
    for role in 1..3 {
        let told = json!({ "message": { "messageId": "m", "role": role, "parts": [{ "text": "hi" }] } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": told });
        let read = jsonrpc::parse(body.to_string().as_bytes(), Some("1.0")).unwrap();
        let ours = jsonrpc::call_request("1", &read.call, V1)["params"].clone();
        let official = through::<pb::SendMessageRequest>(&told);
        assert_eq!(ours["message"]["role"], official["message"]["role"]);
    }
    for state in 1..9 {
        let told = json!({ "status": state });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": told });
        let read = jsonrpc::parse(body.to_string().as_bytes(), Some("1.0")).unwrap();
        let ours = jsonrpc::call_request("1", &read.call, V1)["params"].clone();
        assert_eq!(ours["status"], through::<pb::ListTasksRequest>(&told)["status"]);
        let query = a2a::rest::parse_list(Some(&format!("status={state}")), V1).unwrap();
        assert_eq!(
            jsonrpc::call_request("1", &Call::List(query), V1)["params"]["status"],
            ours["status"]
        );
    }
}

proptest! {
    #[test]
    fn any_request_of_ours_is_protojson(call in any_call(V1)) {
        assert_params_same(&call);
    }

    #[test]
    fn any_event_of_ours_is_protojson(
        artifact in any_artifact(V1), said in prop::option::of(any_message(V1)), append in any::<bool>(),
        state in proptest::sample::select(TaskState::ALL.to_vec()),
    ) {
        let (task, _) = finished_task();
        let at = Timestamp::from_millis(7);
        for kind in [
            EventKind::status(state, said),
            EventKind::Artifact { artifact, append, last_chunk: true },
        ] {
            let written = encode::event(&task, &Event { seq: 2, at, kind }, V1).unwrap();
            assert_same::<pb::StreamResponse>(&written);
        }
    }
}
