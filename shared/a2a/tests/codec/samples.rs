//! One task with something of everything, and a way to make any.

use a2a::{PushAuth, PushTarget, SendCall};
use domain::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

pub(crate) const GENERATIONS: [Generation; 2] = [Generation::V1_0, Generation::V0_3];

/// A task that was asked for, worked on, and completed with two results; and the events that made it so.
pub(crate) fn finished_task() -> (Task, Vec<Event>) {
    let at = |seconds: i64| Timestamp::from_millis(1_767_225_600_000 + seconds * 1000);
    let mut asked = Message::user(
        MessageId::parse("m-1").unwrap(),
        vec![Part::text("Will it rain in Oslo?")],
    );
    asked.metadata.insert("source".into(), json!("page"));
    let task = Task::create(
        NewTask {
            id: TaskId::from_bytes([0x11; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("weather").unwrap(),
            context_id: ContextId::parse("trip").unwrap(),
            owner: Owner::parse("user-1").unwrap(),
            message: asked,
            trace: None,
        },
        at(0),
    );
    let first = task.first_event();
    let mut revision = Revision::of(task);
    let says = |id: &str, text: &str| Some(Message::agent_text(MessageId::parse(id).unwrap(), text));
    let forecast = Artifact {
        description: Some("Tomorrow in Oslo".into()),
        ..Artifact::new(
            "forecast",
            vec![
                Part::text("Yes, 4 mm."),
                Part::data(json!({"place": "Oslo", "rain_mm": 4})),
            ],
        )
    }
    .named("Forecast");
    let chart = Part {
        media_type: Some("image/png".into()),
        filename: Some("chart.png".into()),
        ..Part::new(PartContent::Raw("iVBORw0KGgo=".into()))
    };
    let link = Part {
        media_type: Some("text/html".into()),
        ..Part::new(PartContent::Url("https://weather.example/oslo".into()))
    };
    let kinds = [
        EventKind::status(TaskState::Working, says("m-2", "Looking it up")),
        EventKind::artifact(forecast),
        EventKind::Artifact {
            artifact: Artifact::new("chart", vec![chart, link]),
            append: false,
            last_chunk: true,
        },
        EventKind::Said {
            message: Message::user(MessageId::parse("m-3").unwrap(), vec![Part::text("And wind?")]),
        },
        EventKind::status(TaskState::Completed, says("m-4", "Take an umbrella.")),
    ];
    for (second, kind) in (1..).zip(kinds) {
        revision.record(kind, at(second)).unwrap();
    }
    let events = std::iter::once(first).chain(revision.events().to_vec()).collect();
    (revision.into_task(), events)
}

/// A send with everything that a host says.
pub(crate) fn full_send() -> SendCall {
    let message = Message {
        context_id: Some(ContextId::parse("trip").unwrap()),
        reference_task_ids: vec!["t-0".into()],
        extensions: vec!["https://ext.example/a".into()],
        ..Message::user(
            MessageId::parse("m-1").unwrap(),
            vec![Part::text("Will it rain in Oslo?")],
        )
    };
    SendCall {
        return_immediately: true,
        accepted_output_modes: vec!["text/plain".into(), "application/json".into()],
        push: Some(PushTarget {
            id: Some(PushConfigId::parse("job-0").unwrap()),
            url: Url::parse("https://switchyard.example/t/acme/api/webhook/tasks").unwrap(),
            token: Some("the-token".into()),
            authentication: Some(PushAuth {
                scheme: "Bearer".into(),
                credentials: Some("the-token".into()),
            }),
        }),
        history_length: Some(2),
        ..SendCall::new(message)
    }
}

/// All of a call as plain values, secrets included, to compare.
pub(crate) fn plain(call: &SendCall) -> Value {
    let show =
        |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    json!({
        "message": call.message,
        "taskId": call.task_id,
        "returnImmediately": call.return_immediately,
        "modes": call.accepted_output_modes,
        "push": call.push.as_ref().map(|push| json!({
            "id": push.id, "url": push.url, "token": show(&push.token),
            "auth": push.authentication.as_ref().map(|auth| json!([auth.scheme, show(&auth.credentials)])),
        })),
        "historyLength": call.history_length,
        "tenant": call.tenant,
        "metadata": call.metadata,
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z_]{1,8}", inner, 0..3)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn any_metadata() -> impl Strategy<Value = Metadata> {
    prop::collection::hash_map("[a-z_]{1,6}", any_json(), 0..3).prop_map(|map| map.into_iter().collect())
}

fn any_base64() -> impl Strategy<Value = String> {
    use base64::Engine;
    prop::collection::vec(any::<u8>(), 0..20)
        .prop_map(|bytes| base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// Parts that the generation has room for: in 0.3 only files have a media type and a name.
fn any_part(generation: Generation) -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        ".{0,20}".prop_map(PartContent::Text),
        any_base64().prop_map(PartContent::Raw),
        "https://[a-z]{1,8}\\.example/[a-z]{0,8}".prop_map(PartContent::Url),
        any_json().prop_map(PartContent::Data),
    ];
    let name = prop::option::of("[a-z./]{1,12}");
    (content, name.clone(), name, any_metadata()).prop_map(
        move |(content, media_type, filename, metadata)| {
            let mut part = Part {
                media_type,
                filename,
                metadata,
                ..Part::new(content)
            };
            if generation == Generation::V0_3 {
                match part.content {
                    PartContent::Text(_) => (part.media_type, part.filename) = (None, None),
                    PartContent::Data(_) => {
                        (part.media_type, part.filename) = (Some("application/json".into()), None)
                    }
                    PartContent::Raw(_) | PartContent::Url(_) => {}
                }
            }
            part
        },
    )
}

pub(crate) fn any_message(generation: Generation) -> impl Strategy<Value = Message> {
    (
        "[!-~]{1,20}",
        prop_oneof![Just(Role::User), Just(Role::Agent)],
        prop::collection::vec(any_part(generation), 1..4),
        prop::option::of("[!-~]{1,20}"),
        prop::option::of(any::<[u8; 16]>()),
        any_metadata(),
        prop::collection::vec("[a-z:/]{1,12}", 0..2),
        prop::collection::vec("[a-z0-9-]{1,12}", 0..2),
    )
        .prop_map(
            |(id, role, parts, context, task, metadata, extensions, references)| Message {
                context_id: context.map(|id| ContextId::parse(&id).unwrap()),
                task_id: task.map(TaskId::from_bytes),
                metadata,
                extensions,
                reference_task_ids: references,
                ..Message::new(MessageId::parse(&id).unwrap(), role, parts)
            },
        )
}

pub(crate) fn any_artifact(generation: Generation) -> impl Strategy<Value = Artifact> {
    (
        "[a-z0-9-]{1,12}",
        prop::option::of(".{1,12}"),
        prop::option::of(".{1,12}"),
        prop::collection::vec(any_part(generation), 0..3),
        any_metadata(),
    )
        .prop_map(|(id, name, description, parts, metadata)| Artifact {
            name,
            description,
            metadata,
            ..Artifact::new(id, parts)
        })
}

pub(crate) fn any_send(generation: Generation) -> impl Strategy<Value = SendCall> {
    let secret = || prop::option::of("[!-~]{1,20}".prop_map(SecretString::from));
    let auth = ("[A-Za-z]{1,8}", secret()).prop_map(|(scheme, credentials)| PushAuth { scheme, credentials });
    let push = (
        prop::option::of("[a-z0-9]{1,8}"),
        secret(),
        prop::option::of(auth),
    )
        .prop_map(|(id, token, auth)| PushTarget {
            id: id.map(|id| PushConfigId::parse(&id).unwrap()),
            url: Url::parse("https://hooks.example/x?y=1").unwrap(),
            token,
            authentication: auth,
        });
    (
        any_message(generation),
        any::<bool>(),
        prop::collection::vec("[a-z/]{1,12}", 0..3),
        prop::option::of(push),
        prop::option::of(1..9_u32),
        prop::option::of("[a-z0-9]{1,8}"),
        any_metadata(),
    )
        .prop_map(
            move |(message, wait, modes, push, history_length, tenant, metadata)| SendCall {
                return_immediately: !wait,
                accepted_output_modes: modes,
                push,
                history_length,
                tenant: tenant.filter(|_| generation == Generation::V1_0),
                metadata,
                ..SendCall::new(message)
            },
        )
}

/// Any JSON made of A2A's own words, so that readers get deep into it.
pub(crate) fn any_a2a_like_json() -> impl Strategy<Value = Value> {
    let words = vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "message",
        "messageId",
        "message_id",
        "role",
        "parts",
        "text",
        "data",
        "raw",
        "url",
        "file",
        "bytes",
        "uri",
        "kind",
        "task",
        "taskId",
        "task_id",
        "contextId",
        "status",
        "state",
        "timestamp",
        "artifact",
        "artifacts",
        "artifactId",
        "history",
        "append",
        "lastChunk",
        "final",
        "statusUpdate",
        "artifactUpdate",
        "metadata",
        "configuration",
        "blocking",
        "returnImmediately",
        "historyLength",
        "pushNotificationConfig",
        "taskPushNotificationConfig",
        "pushNotification",
        "request",
        "content",
        "token",
        "authentication",
        "scheme",
        "schemes",
        "supportedInterfaces",
        "skills",
        "tags",
        "name",
        "error",
        "result",
    ];
    let texts = vec![
        "2.0",
        "SendMessage",
        "message/send",
        "GetTask",
        "tasks/get",
        "ROLE_USER",
        "user",
        "agent",
        "text",
        "file",
        "data",
        "task",
        "message",
        "status-update",
        "artifact-update",
        "TASK_STATE_WORKING",
        "completed",
        "x",
        "",
        "2026-01-01T00:00:00Z",
        "AAAA",
        "https://a.example/",
        "JSONRPC",
        "1.0",
        "\u{0}",
        "\u{10ffff}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(texts).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let field = proptest::sample::select(words.clone());
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::vec((field, inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}
