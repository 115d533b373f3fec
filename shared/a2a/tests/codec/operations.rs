//! Every operation, over both bindings: what a client asks comes out at the server as it was meant, what the server
//! answers is read back, and what is wrong is refused in words.

use a2a::{A2aError, Call, ListCall, ShownPush, Transport, decode, encode, jsonrpc, rest};
use domain::*;
use insta::assert_json_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

use crate::samples::{GENERATIONS, any_send, finished_task, full_send, plain};

const V1: Generation = Generation::V1_0;
const V03: Generation = Generation::V0_3;

/// A call as plain values, to compare.
fn told(call: &Call) -> Value {
    match call {
        Call::Send(send) => json!(["send", plain(send)]),
        Call::Stream(send) => json!(["stream", plain(send)]),
        Call::CreatePush {
            task_id,
            target,
            tenant,
        } => {
            let mut send = full_send();
            send.push = Some(target.clone());
            json!(["create", task_id, plain(&send)["push"], tenant])
        }
        other => json!(format!("{other:?}")),
    }
}

fn any_id() -> impl Strategy<Value = String> {
    "[a-z0-9-]{1,20}"
}

pub(crate) fn any_call(generation: Generation) -> impl Strategy<Value = Call> {
    let new = generation == V1;
    let tenant = move || prop::option::of("[a-z]{1,8}").prop_map(move |tenant| tenant.filter(|_| new));
    let length = move || prop::option::of(u32::from(!new)..9);
    let token = || prop::option::of("[A-Za-z0-9_-]{1,30}");
    let state = prop::option::of(proptest::sample::select(TaskState::ALL.to_vec()));
    let list = (
        prop::option::of("[a-z]{1,9}"),
        state.prop_map(|state| state.filter(|state| *state != TaskState::Unknown)),
        1..=100_u32,
        token(),
        length(),
        prop::option::of((0..4_000_000_000_000_i64).prop_map(Timestamp::from_millis)),
        any::<bool>(),
        tenant(),
    )
        .prop_map(
            |(
                context_id,
                state,
                page_size,
                page_token,
                history_length,
                changed_since,
                include_artifacts,
                tenant,
            )| {
                ListCall {
                    context_id,
                    state,
                    page_size,
                    page_token,
                    history_length,
                    changed_since,
                    include_artifacts,
                    tenant,
                }
            },
        );
    let push = any_send(generation).prop_filter_map("no push", |send| send.push);
    let metadata = prop::bool::ANY.prop_map(|full| {
        let mut metadata = Metadata::new();
        if full {
            metadata.insert("why_not".into(), json!({"a_b": null}));
        }
        metadata
    });
    prop_oneof![
        any_send(generation).prop_map(Call::Send),
        any_send(generation).prop_map(Call::Stream),
        (any_id(), length(), tenant()).prop_map(|(id, history_length, tenant)| Call::Get {
            id,
            history_length,
            tenant
        }),
        list.prop_map(Call::List),
        (any_id(), metadata, tenant()).prop_map(|(id, metadata, tenant)| Call::Cancel {
            id,
            metadata,
            tenant
        }),
        (any_id(), tenant()).prop_map(|(id, tenant)| Call::Subscribe { id, tenant }),
        (any_id(), push, tenant()).prop_map(|(task_id, target, tenant)| Call::CreatePush {
            task_id,
            target,
            tenant
        }),
        (any_id(), any_id(), tenant()).prop_map(|(task_id, id, tenant)| Call::GetPush {
            task_id,
            id: Some(id),
            tenant
        }),
        (any_id(), prop::option::of(1..99_u32), token(), tenant()).prop_map(
            |(task_id, page_size, page_token, tenant)| Call::ListPush {
                task_id,
                page_size,
                page_token,
                tenant
            }
        ),
        (any_id(), any_id(), tenant()).prop_map(|(task_id, id, tenant)| Call::DeletePush {
            task_id,
            id,
            tenant
        }),
        tenant().prop_map(|tenant| Call::ExtendedCard { tenant }),
    ]
}

/// `taskId` as `task_id` in every name, as the conformance kit writes some of them.
fn snake(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let name = |name: &str| {
                let letter = |letter: char| match letter {
                    'A'..='Z' => format!("_{}", letter.to_ascii_lowercase()),
                    other => other.to_string(),
                };
                name.chars().map(letter).collect::<String>()
            };
            let free = |name: &str| ["data", "metadata"].contains(&name);
            let fields = fields.iter().map(|(key, value)| {
                let value = if free(key) { value.clone() } else { snake(value) };
                (name(key), value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(snake).collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn any_call_comes_back_unchanged(
        (generation, call) in proptest::sample::select(GENERATIONS.to_vec())
            .prop_flat_map(|generation| (Just(generation), any_call(generation))),
    ) {
        let mut request = jsonrpc::call_request("7", &call, generation);
        let read = jsonrpc::parse(request.to_string().as_bytes(), None).map_err(|failure| failure.error);
        let read = read.map(|read| (read.generation, told(&read.call)));
        prop_assert_eq!(read, Ok((generation, told(&call))));
        // The same in `snake_case`, with nulls and names that nobody knows.
        request["params"] = snake(&request["params"]);
        request["params"]["no_such_thing"] = json!({"a": [1]});
        for absent in ["page_token", "tenant", "history_length"] {
            if request["params"].get(absent).is_none() {
                request["params"][absent] = json!(null);
            }
        }
        let read = jsonrpc::parse(request.to_string().as_bytes(), Some("1.0")).map_err(|failure| failure.error);
        prop_assert_eq!(read.map(|read| told(&read.call)), Ok(told(&call)));
    }

    #[test]
    fn any_list_comes_back_unchanged_over_rest(call in any_call(V1)) {
        if let Call::List(list) = call {
            for generation in GENERATIONS {
                let params = encode::list_params(&list, generation);
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                for (name, value) in params.as_object().unwrap() {
                    query.append_pair(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                }
                query.append_pair("A2A-Version", "1.0");
                let read = rest::parse_list(Some(&query.finish()), generation);
                let tenant = list.tenant.clone().filter(|_| generation == V1);
                let history_length = list.history_length.filter(|length| generation == V1 || *length > 0);
                prop_assert_eq!(read, Ok(ListCall { tenant, history_length, ..list.clone() }));
            }
        }
    }
}

/// The methods that are asked with hardly more than names, as other people's clients write them.
#[test]
fn calls_as_others_write_them() {
    let read = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        jsonrpc::parse(body.as_bytes(), None).map(|request| request.call)
    };
    // The conformance kit.
    assert!(matches!(
        read("GetTaskPushNotificationConfig", json!({"task_id": "t", "id": "c"})),
        Ok(Call::GetPush { task_id, id: Some(id), .. }) if task_id == "t" && id == "c"
    ));
    let created = read(
        "CreateTaskPushNotificationConfig",
        json!({"task_id": "t", "id": "c", "url": "https://example.com/hook"}),
    );
    assert!(matches!(created, Ok(Call::CreatePush { task_id, .. }) if task_id == "t"));
    // 0.2 and 0.3: the configuration may be unnamed, and numbers may be text.
    assert!(matches!(
        read("tasks/pushNotificationConfig/get", json!({"id": "t"})),
        Ok(Call::GetPush { id: None, .. })
    ));
    assert!(matches!(
        read(
            "ListTasks",
            json!({"pageSize": "7", "status": "TASK_STATE_UNSPECIFIED", "includeArtifacts": "true"})
        ),
        Ok(Call::List(ListCall {
            page_size: 7,
            state: None,
            include_artifacts: true,
            ..
        }))
    ));
    assert!(matches!(
        read(
            "ListTasks",
            json!({"pageSize": 7.0, "status": "TASK_STATE_INPUT_REQUIRED"})
        ),
        Ok(Call::List(ListCall {
            page_size: 7,
            state: Some(TaskState::InputRequired),
            ..
        }))
    ));
    for method in ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let read = jsonrpc::parse(body.as_bytes(), None).unwrap();
        assert!(matches!(read.call, Call::ExtendedCard { tenant: None }));
    }
    // A time in a query whose `+` nobody escaped.
    let since = rest::parse_list(Some("statusTimestampAfter=2026-01-01T02:00:00+02:00"), V1).unwrap();
    assert_eq!(since.changed_since, Timestamp::parse("2026-01-01T00:00:00Z"));
    // 0.3 counts a history of 0 as all of it, 1.0 as none.
    let get = |query, generation| match rest::parse_get("t".into(), Some(query), generation).unwrap() {
        Call::Get { history_length, .. } => history_length,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (get("historyLength=0", V1), get("historyLength=0", V03)),
        (Some(0), None)
    );
    assert_eq!(get("history_length=2", V1), Some(2));
}

#[test]
fn push_configurations_of_0_3_are_read_in_every_form() {
    let inner = json!({"id": "c", "url": "https://h.example/x", "token": "t",
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "s"}});
    let named = "tasks/t-1/pushNotificationConfigs/c";
    let unnamed = json!({"url": "https://h.example/x"});
    for body in [
        inner.clone(),
        json!({"pushNotificationConfig": inner}),
        json!({"taskId": "t-1", "pushNotificationConfig": inner}),
        json!({"parent": "tasks/t-1", "configId": "other", "config": {"name": named, "pushNotificationConfig": inner}}),
        json!({"parent": "tasks/t-1", "config_id": "c", "config": {"push_notification_config": unnamed}}),
        json!({"name": named, "pushNotificationConfig": unnamed}),
    ] {
        let read = rest::parse_push("t-1".into(), body.to_string().as_bytes(), V03);
        let Ok(Call::CreatePush { task_id, target, .. }) = read else {
            panic!("{body}: {read:?}")
        };
        assert_eq!(task_id, "t-1");
        assert_eq!(target.id.map(|id| id.to_string()).as_deref(), Some("c"), "{body}");
    }
}

#[test]
fn wrong_parameters_are_told() {
    let rpc = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        jsonrpc::parse(body.as_bytes(), None).unwrap_err().error
    };
    for (method, params, reason) in [
        (
            "ListTasks",
            json!({"pageSize": 0}),
            "pageSize must be from 1 to 100",
        ),
        (
            "ListTasks",
            json!({"pageSize": 101}),
            "pageSize must be from 1 to 100",
        ),
        (
            "ListTasks",
            json!({"pageSize": -1}),
            "pageSize must be a whole number that is not negative",
        ),
        (
            "ListTasks",
            json!({"pageSize": 1e300}),
            "pageSize must be a whole number that is not negative",
        ),
        (
            "ListTasks",
            json!({"historyLength": -1}),
            "historyLength must be a whole number that is not negative",
        ),
        (
            "ListTasks",
            json!({"historyLength": 1.5}),
            "historyLength must be a whole number that is not negative",
        ),
        (
            "ListTasks",
            json!({"status": "FLYING"}),
            "status is none of A2A's states",
        ),
        ("ListTasks", json!({"status": 33}), "status must be text"),
        (
            "ListTasks",
            json!({"statusTimestampAfter": "yesterday"}),
            "statusTimestampAfter must be a time of RFC 3339",
        ),
        (
            "ListTasks",
            json!({"includeArtifacts": "perhaps"}),
            "includeArtifacts must be true or false",
        ),
        (
            "ListTasks",
            json!({"pageToken": "x".repeat(3000)}),
            "pageToken is too long",
        ),
        ("GetTask", json!({}), "id is missing"),
        ("GetTask", json!({"id": ""}), "id is missing"),
        (
            "CancelTask",
            json!({"id": "t", "metadata": 7}),
            "metadata must be an object",
        ),
        ("SubscribeToTask", json!({"id": ["t"]}), "id must be text"),
        (
            "CreateTaskPushNotificationConfig",
            json!({"url": "https://a.example"}),
            "taskId is missing",
        ),
        (
            "CreateTaskPushNotificationConfig",
            json!({"taskId": "t", "url": "nowhere"}),
            "the push notification's url is no URL",
        ),
        (
            "GetTaskPushNotificationConfig",
            json!({"taskId": "t"}),
            "id is missing",
        ),
        (
            "DeleteTaskPushNotificationConfig",
            json!({"id": "c"}),
            "taskId is missing",
        ),
        (
            "tasks/pushNotificationConfig/delete",
            json!({"id": "t"}),
            "pushNotificationConfigId is missing",
        ),
        ("tasks/resubscribe", json!({}), "id is missing"),
    ] {
        assert_eq!(
            rpc(method, params.clone()),
            A2aError::InvalidParams(reason.into()),
            "{method} {params}"
        );
    }
    assert_eq!(
        rest::parse_list(Some("pageSize=many"), V1).unwrap_err().code(),
        -32602
    );
    assert_eq!(
        rest::parse_cancel("t".into(), b"{").unwrap_err(),
        A2aError::ParseError
    );
    assert_eq!(rest::parse_cancel("t".into(), b"[]").unwrap_err().code(), -32600);
    assert!(rest::parse_cancel("t".into(), b" \n").is_ok());
    assert_eq!(
        rest::parse_push("t".into(), b"{}", V1).unwrap_err().code(),
        -32602
    );
    assert_eq!(
        rest::parse_push("t".into(), b"", V03).unwrap_err(),
        A2aError::ParseError
    );
}

fn shown() -> [ShownPush; 2] {
    let url = |path: &str| Url::parse(&format!("https://hooks.example/{path}")).unwrap();
    [
        ShownPush {
            id: PushConfigId::parse("first").unwrap(),
            url: url("a"),
            scheme: Some("Bearer".into()),
        },
        ShownPush {
            id: PushConfigId::parse("second").unwrap(),
            url: url("b"),
            scheme: None,
        },
    ]
}

#[test]
fn answers_of_every_operation() {
    let (task, events) = finished_task();
    let id = task.id.to_string();
    let without = ListCall {
        page_size: 1,
        history_length: Some(0),
        ..ListCall::default()
    };
    let with = ListCall {
        history_length: Some(1),
        include_artifacts: true,
        ..ListCall::default()
    };
    let tasks = [task.clone()];
    for (name, generation) in [("1_0", V1), ("0_3", V03)] {
        let answers = json!({
            "list": encode::list(&tasks, Some("next-page"), 3, &without, generation),
            "list_with_artifacts": encode::list(&tasks, None, 1, &with, generation),
            "list_of_none": encode::list(&[], None, 0, &with, generation),
            "message": encode::send_message_result(&task.history[1], generation),
            "push_config": encode::push_config(&id, &shown()[0], generation),
            "push_configs": encode::push_configs(&id, &shown(), None, generation),
            "deleted": encode::deleted(generation),
            "first_of_a_stream": jsonrpc::success(jsonrpc::RpcId::default(), encode::stream_first(&task, generation, Some(0))),
        });
        assert_json_snapshot!(format!("answers_{name}"), answers);
        let over_rest = json!({
            "list": rest::list(&tasks, Some("next-page"), 3, &without, generation),
            "message": rest::send_message_result(&task.history[1], generation),
            "push_config": rest::push_config(&id, &shown()[0], generation),
            "push_configs": rest::push_configs(&id, &shown(), Some("more"), generation),
            "stream": events.iter().filter_map(|event| encode::event(&task, event, generation))
                .map(|item| rest::stream_item(item, generation)).collect::<Vec<_>>(),
        });
        assert_json_snapshot!(format!("answers_{name}_rest"), over_rest);
    }
}

#[test]
fn a_list_shows_what_was_asked_for() {
    let (task, _) = finished_task();
    for generation in GENERATIONS {
        for include_artifacts in [false, true] {
            let call = ListCall {
                include_artifacts,
                history_length: Some(0),
                ..ListCall::default()
            };
            let page = encode::list(std::slice::from_ref(&task), None, 1, &call, generation);
            assert_eq!(page["tasks"][0].get("artifacts").is_some(), include_artifacts);
            assert_eq!(page["tasks"][0].get("history"), None);
            assert_eq!(page["nextPageToken"], "", "always there");
            let read = decode::list(&page, generation).unwrap();
            assert_eq!((read.tasks.len(), read.next, read.total), (1, None, Some(1)));
            assert_eq!(
                read.tasks[0].artifacts.len(),
                if include_artifacts { 2 } else { 0 }
            );
        }
    }
    let more = encode::list(&[], Some("n"), 9, &ListCall::default(), V1);
    assert_eq!(decode::list(&more, V1).unwrap().next.as_deref(), Some("n"));
    assert!(decode::list(&json!({"tasks": 7}), V1).is_err());
    assert!(decode::list(&json!({"tasks": [{}]}), V1).is_err());
}

/// What a server streams, a client reads: over both bindings, in both generations.
#[test]
fn streams_are_read_back() {
    let (task, events) = finished_task();
    for generation in GENERATIONS {
        let items: Vec<Value> = std::iter::once(encode::stream_first(&task, generation, None))
            .chain(
                events
                    .iter()
                    .filter_map(|event| encode::event(&task, event, generation)),
            )
            .chain([encode::send_message_result(&task.history[1], generation)])
            .collect();
        for item in items {
            let wrapped = jsonrpc::success(jsonrpc::RpcId::default(), item.clone()).to_string();
            let over_rpc = decode::stream_item(&wrapped, generation, Transport::JsonRpc).unwrap();
            let bare = rest::stream_item(item.clone(), generation).to_string();
            let over_rest = decode::stream_item(&bare, generation, Transport::Rest).unwrap();
            assert_eq!(over_rpc, over_rest, "{item}");
            assert!(over_rpc.update.is_some() || !over_rpc.artifacts.is_empty());
        }
        let refused = jsonrpc::failure(&jsonrpc::Failure {
            id: jsonrpc::RpcId::default(),
            generation,
            error: A2aError::TaskNotFound,
        });
        let over_rpc = decode::stream_item(&refused.to_string(), generation, Transport::JsonRpc);
        assert_eq!(over_rpc, Err(A2aError::TaskNotFound));
        for data in ["", "{", "null", "[]", "{}", "7"] {
            for transport in [Transport::JsonRpc, Transport::Rest] {
                assert!(
                    decode::stream_item(data, generation, transport).is_err(),
                    "{data}"
                );
            }
        }
    }
    let (_, refused) = rest::failure(&A2aError::TaskNotFound, V1);
    let over_rest = decode::stream_item(&refused.to_string(), V1, Transport::Rest);
    assert_eq!(over_rest, Err(A2aError::TaskNotFound));
}

#[test]
fn a_big_artifact_is_streamed_in_pieces_that_give_it_back() {
    let (task, _) = finished_task();
    let parts = (0..6).map(|n| Part::text(n.to_string().repeat(1000))).collect();
    let artifact = Artifact::new("report", parts);
    let event = Event {
        seq: 4,
        at: Timestamp::from_millis(0),
        kind: EventKind::artifact(artifact.clone()),
    };
    for generation in GENERATIONS {
        let pieces = encode::event_in_chunks(&task, &event, generation, 2500);
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().all(|piece| piece.to_string().len() < 4000));
        let mut together = Vec::new();
        for piece in &pieces {
            let read = decode::notification(piece.to_string().as_bytes()).unwrap();
            for (artifact, append) in read.artifacts {
                artifact.merge_into(&mut together, append);
            }
        }
        assert_eq!(together, std::slice::from_ref(&artifact));
        let whole = encode::event_in_chunks(&task, &event, generation, 1_000_000);
        assert_eq!(whole, [encode::event(&task, &event, generation).unwrap()]);
    }
}
