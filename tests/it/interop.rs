//! The official A2A clients, as they come from their registries, against our host: card, send, stream, get, list, ask
//! back, push configuration, subscribe, cancel; on both generations and bindings where the client can.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use a2a_client::{A2AClientFactory, Transport, auth::AuthInterceptor};
use a2a_types::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, Part, Role,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig, TaskState,
};
use futures_util::StreamExt;
use serde_json::Value;
use system_testing::Local;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

const EVERY_STEP: [&str; 10] = [
    "card",
    "send",
    "stream",
    "get",
    "list",
    "push configuration",
    "cancel",
    "subscribe",
    "push",
    "delete",
];

/// A system whose clock moves: lists are in the order of the tasks' times.
async fn ticking() -> Local {
    let local = Local::start().await;
    let clock = local.clock.clone();
    tokio::spawn(async move {
        let tick = Duration::from_millis(10);
        loop {
            tokio::time::sleep(tick).await;
            clock.advance(tick);
        }
    });
    local
}

/// Runs a client of another language against acme's host and checks that it took every step but those that its SDK
/// lacks.
async fn drives(program: &'static str, arguments: impl Fn(&str, &str) -> Vec<String>, lacks: &[&str]) {
    let local = ticking().await;
    let host = local.endpoint("/tenants/acme/host_agent").to_owned();
    let token = local.system.token("acme", "peer", host.trim_end_matches('/'));
    let arguments = arguments(&host, &token.expect("acme is a tenant"));
    let program = match program {
        "python" => system_testing::python(),
        other => other.into(),
    };
    let ran = tokio::task::spawn_blocking(move || {
        Command::new(program)
            .args(arguments)
            .output()
            .expect("the client runs")
    })
    .await
    .expect("no panic");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let said: Value = serde_json::from_slice(&ran.stdout).expect("a line of JSON");
    let taken: Vec<&str> = said["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for step in EVERY_STEP {
        assert_eq!(taken.contains(&step), !lacks.contains(&step), "{step}: {taken:?}");
    }
    local.system.stop().await;
}

async fn python(generation: &'static str, binding: &'static str) {
    let script = system_testing::folder()
        .join("python/a2a_client.py")
        .display()
        .to_string();
    let arguments = |host: &str, token: &str| {
        [
            &script,
            host,
            "--token",
            token,
            "--generation",
            generation,
            "--binding",
            binding,
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let lacks: &[&str] = match (generation, binding) {
        ("0.3", "HTTP+JSON") => &["list", "delete"],
        ("0.3", _) => &["list"],
        _ => &[],
    };
    drives("python", arguments, lacks).await;
}

async fn javascript(generation: &'static str, binding: &'static str) {
    let script = system_testing::folder()
        .join("js/a2a-client.mjs")
        .display()
        .to_string();
    let arguments = |host: &str, token: &str| {
        [&script, host, token, generation, binding]
            .map(str::to_owned)
            .to_vec()
    };
    let lacks: &[&str] = if generation == "0.3" { &["list"] } else { &[] };
    drives("node", arguments, lacks).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_drives_the_host_by_json_rpc_1_0() {
    python("1.0", "JSONRPC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_drives_the_host_by_rest_1_0() {
    python("1.0", "HTTP+JSON").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_drives_the_host_by_json_rpc_0_3() {
    python("0.3", "JSONRPC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_drives_the_host_by_rest_0_3() {
    python("0.3", "HTTP+JSON").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_client_drives_the_host_by_json_rpc_1_0() {
    javascript("1.0", "JSONRPC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_client_drives_the_host_by_rest_1_0() {
    javascript("1.0", "HTTP+JSON").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_client_drives_the_host_by_json_rpc_0_3() {
    javascript("0.3", "JSONRPC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_client_drives_the_host_by_rest_0_3() {
    javascript("0.3", "HTTP+JSON").await;
}

fn request(text: &str) -> SendMessageRequest {
    SendMessageRequest {
        message: Message::new(Role::User, vec![Part::text(text)]),
        configuration: None,
        metadata: None,
        tenant: None,
    }
}

fn task_of(answer: SendMessageResponse) -> Task {
    match answer {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a message instead of a task: {message:?}"),
    }
}

/// The final status that a stream must end with, and a task that it must begin with.
fn whole(events: &[StreamResponse], end: TaskState) -> Task {
    let Some(StreamResponse::StatusUpdate(last)) = events.last() else {
        panic!("no final status: {events:#?}");
    };
    assert_eq!(last.status.state, end);
    match events.first() {
        Some(StreamResponse::Task(task)) => task.clone(),
        other => panic!("a stream begins with the task: {other:?}"),
    }
}

/// The official Rust client knows 1.0 only.
async fn rust(binding: &str) {
    let local = ticking().await;
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let token = local
        .system
        .token("acme", "peer", &host)
        .expect("acme is a tenant");
    let http = system_testing::user::http();
    let card = a2a_client::agent_card::AgentCardResolver::new(Some(http.clone()))
        .resolve(&host)
        .await
        .expect("the card");
    let mut offered = card.clone();
    offered
        .supported_interfaces
        .retain(|interface| interface.protocol_binding == binding);
    let client = A2AClientFactory::builder()
        .no_defaults()
        .register(Arc::new(a2a_client::jsonrpc::JsonRpcTransportFactory::new(Some(
            http.clone(),
        ))))
        .register(Arc::new(a2a_client::rest::RestTransportFactory::new(Some(http))))
        .with_interceptor(Arc::new(AuthInterceptor::bearer(token)))
        .build()
        .create_from_card(&offered)
        .await
        .expect("a binding that both know");
    walk(&client).await;
    local.system.stop().await;
}

async fn walk<T: Transport>(client: &a2a_client::A2AClient<T>) {
    let send = request("Will it rain in Oslo tomorrow?");
    let sent = task_of(client.send_message(&send).await.expect("send"));
    assert_eq!(sent.status.state, TaskState::Completed);

    let send = request("Will it rain in Bergen tomorrow?");
    let stream = client.send_streaming_message(&send).await.expect("stream");
    let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
    let streamed = whole(&events, TaskState::Completed);
    let artifact = |event: &StreamResponse| matches!(event, StreamResponse::ArtifactUpdate(_));
    assert!(events.iter().any(artifact), "{events:#?}");

    let id = streamed.id.clone();
    let get = GetTaskRequest {
        id: id.clone(),
        history_length: None,
        tenant: None,
    };
    let got = client.get_task(&get).await.expect("get");
    assert_eq!(got.status.state, TaskState::Completed);

    let mut list = ListTasksRequest {
        context_id: None,
        status: None,
        page_size: Some(1),
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    };
    let first = client.list_tasks(&list).await.expect("list");
    assert_eq!(first.tasks[0].id, id);
    assert_eq!(first.total_size, 2);
    list.page_token = Some(first.next_page_token);
    let second = client.list_tasks(&list).await.expect("the second page");
    assert_eq!(second.tasks[0].id, sent.id);
    assert_eq!(second.next_page_token, "");

    let send = request("What will the weather be tomorrow?");
    let idle = task_of(client.send_message(&send).await.expect("send"));
    assert_eq!(idle.status.state, TaskState::InputRequired);
    let webhook = MockServer::start().await;
    Mock::given(method("POST"))
        .and(header("x-a2a-notification-token", "opaque-to-the-agent"))
        .respond_with(ResponseTemplate::new(204))
        .expect(1..)
        .mount(&webhook)
        .await;
    let config = TaskPushNotificationConfig {
        url: format!("{}/push", webhook.uri()),
        id: Some("mine".to_owned()),
        task_id: idle.id.clone(),
        token: Some("opaque-to-the-agent".to_owned()),
        authentication: None,
        tenant: None,
    };
    let made = client.create_push_config(&config).await.expect("create");
    assert_eq!(made.token, None, "the token is not shown");
    let (task_id, id) = (idle.id.clone(), made.id.expect("an id"));
    let get = GetTaskPushNotificationConfigRequest {
        task_id: task_id.clone(),
        id: id.clone(),
        tenant: None,
    };
    assert_eq!(client.get_push_config(&get).await.expect("get").url, config.url);
    let list = ListTaskPushNotificationConfigsRequest {
        task_id: task_id.clone(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    assert_eq!(
        client.list_push_configs(&list).await.expect("list").configs.len(),
        1
    );

    let subscribe = SubscribeToTaskRequest {
        id: task_id.clone(),
        tenant: None,
    };
    let mut watching = client.subscribe_to_task(&subscribe).await.expect("subscribe");
    let mut seen = vec![watching.next().await.expect("the task").expect("an event")];
    let cancel = CancelTaskRequest {
        id: task_id.clone(),
        metadata: None,
        tenant: None,
    };
    let canceled = client.cancel_task(&cancel).await.expect("cancel");
    assert_eq!(canceled.status.state, TaskState::Canceled);
    while let Some(event) = watching.next().await {
        seen.push(event.expect("an event"));
    }
    whole(&seen, TaskState::Canceled);
    for _ in 0..200 {
        if !webhook.received_requests().await.unwrap_or_default().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    webhook.verify().await;

    let gone = DeleteTaskPushNotificationConfigRequest {
        task_id,
        id,
        tenant: None,
    };
    client.delete_push_config(&gone).await.expect("delete");
    client
        .delete_push_config(&gone)
        .await
        .expect("delete is idempotent");
    assert!(
        client
            .list_push_configs(&list)
            .await
            .expect("list")
            .configs
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_drives_the_host_by_json_rpc() {
    rust("JSONRPC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_drives_the_host_by_rest() {
    rust("HTTP+JSON").await;
}
