//! The whole function, in-process, over real tables.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::webhook::{SenderKeys, WebhookMessage, published_keys};
use auth::{Sealer, token};
use axum::Router;
use axum::body::Body;
use domain::{
    AgentName, Clock, EventKind, ExposeSecret, ManualClock, Message, MessageId, Revision, SystemEntropy,
    Task, TaskId, TaskState, Tenant, Timestamp,
};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use store::{Committed, Due, LeaseAfter, NewRecord, PointsAt, Store, StoredTask, TaskKey};
use store_testing::Database;
use tower::ServiceExt;

use crate::testing::{prepared_job, task_with};
use crate::{BODY_LIMIT, State, TOKEN_TTL, router};

/// A queue that takes wakes, or does not.
struct Queue {
    wakes: Mutex<Vec<Wake>>,
    broken: bool,
}

#[async_trait]
impl WakeDoor for Queue {
    async fn wake(&self, wake: &Wake, _: Duration) -> Result<(), WakeError> {
        if self.broken {
            return Err(WakeError::Queue("no queue".into()));
        }
        self.wakes.lock().unwrap().push(wake.clone());
        Ok(())
    }
}

/// A task with one job whose message is on its way.
struct World {
    app: Router,
    store: Store,
    clock: Arc<ManualClock>,
    queue: Arc<Queue>,
    key: TaskKey,
    token: String,
    _database: Database,
}

impl World {
    async fn new() -> Self {
        Self::with(false, "acme").await
    }

    async fn with(broken: bool, served: &str) -> Self {
        let (store, database) = store_testing::start().await;
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(60_000)));
        let queue = Arc::new(Queue {
            wakes: Mutex::default(),
            broken,
        });
        let app = router(State {
            tenant: Tenant::parse(served).unwrap(),
            host: AgentName::parse("host").unwrap(),
            store: store.clone(),
            wake: queue.clone(),
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy),
            token_ttl: TOKEN_TTL,
        });
        let task = task_with(Vec::new());
        let token = token::webhook(task.id, &SystemEntropy).expose_secret().to_owned();
        let retention = Duration::from_secs(100 * 24 * 3600);
        let record = NewRecord {
            task: &task,
            message_id: &MessageId::parse("m").unwrap(),
            body_hash: "h",
            push: None,
            due_at: Timestamp::from_millis(0).after(retention),
            retention,
        };
        store.tasks().create(&record).await.unwrap();
        let key = TaskKey::from(&task);
        // How the tenant stands is read once in ten seconds, not for each notification.
        let tenant = Tenant::parse(served).unwrap();
        store.tenants().standing(&tenant, clock.now()).await.unwrap();
        let mut revision = Revision::of(task);
        let job = EventKind::Job {
            job: Box::new(prepared_job(0, &token)),
        };
        revision.record(job, Timestamp::from_millis(1)).unwrap();
        store
            .tasks()
            .commit(&revision, Due::Never, LeaseAfter::Keep)
            .await
            .unwrap();
        Self {
            app,
            store,
            clock,
            queue,
            key,
            token,
            _database: database,
        }
    }

    /// The job's agent is known to sign with these keys.
    async fn signs_with(&self, keys: &SenderKeys) {
        let task = self.task().await;
        let mut job = task.jobs[0].clone();
        job.sender_keys = published_keys(&json!({"keys": keys.public_jwks()}));
        let mut revision = Revision::of(task);
        let changed = EventKind::Job { job: Box::new(job) };
        revision.record(changed, Timestamp::from_millis(1)).unwrap();
        let tasks = self.store.tasks();
        tasks
            .commit(&revision, Due::Never, LeaseAfter::Keep)
            .await
            .unwrap();
    }

    async fn from(&self, source: &str, bearer: &str) -> (StatusCode, Option<String>) {
        let body = update("WORKING", "x").to_string();
        let mut request = Request::post("/api/webhook/tasks")
            .header("authorization", format!("Bearer {bearer}"))
            .body(Body::from(body))
            .unwrap();
        request
            .extensions_mut()
            .insert(edge::Source(source.parse().unwrap()));
        let response = self.app.clone().oneshot(request).await.unwrap();
        let wait = response.headers().get("retry-after");
        let wait = wait.map(|value| value.to_str().unwrap().to_owned());
        (response.status(), wait)
    }

    async fn stored(&self) -> StoredTask {
        self.store
            .tasks()
            .find(&self.key, Timestamp::from_millis(0))
            .await
            .unwrap()
            .unwrap()
    }

    async fn task(&self) -> Task {
        self.stored().await.task
    }

    async fn post(&self, body: &Value) -> (StatusCode, Value) {
        let bearer = format!("Bearer {}", self.token);
        self.send(&[("authorization", &bearer)], body.to_string().into_bytes())
            .await
    }

    async fn send(&self, headers: &[(&str, &str)], body: Vec<u8>) -> (StatusCode, Value) {
        let mut request = Request::post("/api/webhook/tasks").header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self
            .app
            .clone()
            .oneshot(request.body(Body::from(body)).unwrap())
            .await
            .unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    fn wakes(&self) -> usize {
        self.queue.wakes.lock().unwrap().len()
    }
}

/// A push of A2A 1.0: one status update.
fn update(state: &str, text: &str) -> Value {
    json!({"statusUpdate": {
        "taskId": "remote-1",
        "contextId": "there",
        "status": {
            "state": format!("TASK_STATE_{state}"),
            "message": {"messageId": "x", "role": "ROLE_AGENT", "parts": [{"text": text}]},
        },
    }})
}

/// A push of A2A 0.3: the whole task.
fn whole(state: &str, text: &str) -> Value {
    json!({
        "kind": "task",
        "id": "remote-1",
        "contextId": "there",
        "status": {"state": state},
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": text}]}],
    })
}

#[tokio::test]
async fn a_result_is_stored_made_due_and_told_to_the_host_with_one_read_and_one_write() {
    for body in [
        whole("completed", "rain"),
        json!({"task": {
            "id": "remote-1", "contextId": "there",
            "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "a", "parts": [{"text": "rain"}]}],
        }}),
    ] {
        let world = World::new().await;
        let (answered, calls) = store::counted(world.post(&body)).await;
        assert_eq!(answered, (StatusCode::NO_CONTENT, Value::Null));
        assert_eq!(calls.total(), 2, "{calls:?}");
        let stored = world.stored().await;
        let job = &stored.task.jobs[0];
        assert_eq!(
            job.remote().unwrap().state,
            TaskState::Completed,
            "it overtook its acknowledgement"
        );
        assert_eq!(job.remote_task_id().unwrap().as_str(), "remote-1");
        assert_eq!(job.artifacts[0].text(), "rain");
        assert_eq!(stored.due_at, Some(Timestamp::from_millis(60_000)));
        assert_eq!(world.wakes(), 1);
    }
}

#[tokio::test]
async fn every_end_is_handled_and_no_late_news_undoes_it() {
    for (word, state) in [
        ("COMPLETED", TaskState::Completed),
        ("FAILED", TaskState::Failed),
        ("CANCELED", TaskState::Canceled),
        ("REJECTED", TaskState::Rejected),
    ] {
        let world = World::new().await;
        world.post(&update(word, "that is it")).await;
        let before = world.task().await;
        assert_eq!(before.jobs[0].remote().unwrap().state, state);
        assert_eq!(
            before.jobs[0].remote().unwrap().text.as_deref(),
            Some("that is it")
        );
        for late in ["WORKING", "SUBMITTED", "COMPLETED", "FAILED"] {
            let ((status, _), calls) = store::counted(world.post(&update(late, "late"))).await;
            assert_eq!(
                (status, calls.total()),
                (StatusCode::NO_CONTENT, 1),
                "{late} after {word}: one read"
            );
        }
        assert_eq!(world.task().await, before);
        assert_eq!(world.wakes(), 1);
    }
}

#[tokio::test]
async fn progress_shows_in_the_task_and_does_not_wake_the_host() {
    let world = World::new().await;
    assert_eq!(
        world.post(&update("WORKING", "half way")).await.0,
        StatusCode::NO_CONTENT
    );
    let stored = world.stored().await;
    assert_eq!(stored.task.status.state, TaskState::Working);
    assert_eq!(
        stored.task.status.message.as_ref().map(Message::text).as_deref(),
        Some("half way")
    );
    assert_eq!((stored.due_at, world.wakes()), (None, 0));
    world.post(&update("WORKING", "half way")).await;
    assert_eq!(
        world.task().await.rev,
        stored.task.rev,
        "a duplicate writes nothing"
    );
}

#[tokio::test]
async fn a_question_wakes_the_host() {
    let world = World::new().await;
    world.post(&update("INPUT_REQUIRED", "which one?")).await;
    assert_eq!(
        world.task().await.jobs[0].remote().unwrap().state,
        TaskState::InputRequired
    );
    assert_eq!(world.wakes(), 1);
}

#[tokio::test]
async fn a_token_counts_in_any_of_its_headers_and_only_the_right_one() {
    let world = World::new().await;
    let body = update("WORKING", "x").to_string().into_bytes();
    let bearer = format!("Bearer {}", world.token);
    for (name, value) in [
        ("authorization", bearer.as_str()),
        ("x-a2a-notification-token", world.token.as_str()),
        ("a2a-notification-token", world.token.as_str()),
    ] {
        assert_eq!(
            world.send(&[(name, value)], body.clone()).await.0,
            StatusCode::NO_CONTENT,
            "{name}"
        );
    }
    let both = [
        ("authorization", "Bearer something-else"),
        ("x-a2a-notification-token", world.token.as_str()),
    ];
    assert_eq!(world.send(&both, body.clone()).await.0, StatusCode::NO_CONTENT);

    let guessed = token::webhook(world.key.id, &SystemEntropy);
    let elsewhere = token::webhook(TaskId::from_bytes([9; 16]), &SystemEntropy);
    let hash = token::hash(&world.token);
    let before = world.task().await;
    for wrong in [
        "",
        "x",
        "Bearer",
        guessed.expose_secret(),
        elsewhere.expose_secret(),
        &hash,
        &"x".repeat(5_000),
    ] {
        let (status, answer) = world
            .send(&[("x-a2a-notification-token", wrong)], body.clone())
            .await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::UNAUTHORIZED, &json!("unauthorized")),
            "{wrong}"
        );
    }
    assert_eq!(world.send(&[], body).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(world.task().await, before);
}

#[tokio::test]
async fn another_tenants_function_does_not_know_the_token() {
    let world = World::with(false, "globex").await;
    assert_eq!(
        world.post(&update("WORKING", "x")).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn an_old_token_is_refused() {
    let world = World::new().await;
    world.clock.advance(TOKEN_TTL - Duration::from_secs(61));
    assert_eq!(
        world.post(&update("WORKING", "x")).await.0,
        StatusCode::NO_CONTENT
    );
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(
        world.post(&update("COMPLETED", "x")).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn news_of_another_remote_task_is_refused() {
    let world = World::new().await;
    world.post(&update("WORKING", "x")).await;
    let mut other = update("COMPLETED", "x");
    other["statusUpdate"]["taskId"] = json!("remote-2");
    let (status, answer) = world.post(&other).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("foreign_task"))
    );
    assert_eq!(
        world.task().await.jobs[0].remote().unwrap().state,
        TaskState::Working
    );
}

#[tokio::test]
async fn rubbish_is_400_with_a_good_token_and_401_without() {
    let world = World::new().await;
    let before = world.task().await;
    let bearer = format!("Bearer {}", world.token);
    for body in [
        &b""[..],
        b"{",
        b"null",
        b"[]",
        b"7",
        b"\0",
        b"\xff\xfe",
        b"{}",
        br#"{"kind":"task"}"#,
        br#"{"statusUpdate":{"taskId":"r","status":{"state":"TASK_STATE_DANCING"}}}"#,
        br#"{"hello":"world"}"#,
        &b"[".repeat(100_000),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let (status, answer) = world.send(&[("authorization", &bearer)], body.to_vec()).await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_notification")),
            "{shown}"
        );
        assert_eq!(
            world.send(&[], body.to_vec()).await.0,
            StatusCode::UNAUTHORIZED,
            "{shown}"
        );
    }
    let giant = format!(r#"{{"kind":"task","id":"{}"}}"#, "x".repeat(10_000_000)).into_bytes();
    let (status, answer) = world.send(&[("authorization", &bearer)], giant).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer["error"].is_string());
    assert_eq!(world.task().await, before);
}

#[tokio::test]
async fn a_whole_result_is_taken_and_one_too_large_to_keep_is_named_with_its_size_and_has_failed() {
    for (bytes, state) in [(1_500_000, TaskState::Completed), (3_900_000, TaskState::Failed)] {
        let world = World::new().await;
        let mut body = whole("completed", &"x".repeat(bytes));
        body["artifacts"][0]["name"] = json!("minutes.txt");
        body["status"]["message"] = json!({"kind": "message", "messageId": "m", "role": "agent",
            "parts": [{"kind": "text", "text": "Here are the minutes."}]});
        let (answered, calls) = store::counted(world.post(&body)).await;
        assert_eq!(answered, (StatusCode::NO_CONTENT, Value::Null));
        assert_eq!(calls.total(), 2, "{calls:?}");
        let job = world.task().await.jobs[0].clone();
        let remote = job.remote().unwrap();
        assert_eq!(remote.state, state);
        assert_eq!(job.artifacts.len(), usize::from(state == TaskState::Completed));
        let text = remote.text.clone().unwrap();
        assert!(text.starts_with("Here are the minutes."), "{text}");
        assert_eq!(
            text.contains("minutes.txt (3.9 MB)"),
            state == TaskState::Failed,
            "{text}"
        );
    }
    let world = World::new().await;
    let (status, _) = world.post(&whole("completed", &"x".repeat(BODY_LIMIT))).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn news_in_the_plainest_form_are_news_under_the_same_rules() {
    let world = World::new().await;
    let own = world.task().await.id;
    let plain =
        |id: &str, status: &str, result: Value| json!({"taskId": id, "status": status, "result": result});
    let (status, _) = world
        .send(&[], plain("r", "completed", json!("x")).to_string().into_bytes())
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    for rubbish in [
        json!({"taskId": "r", "status": "done"}),
        json!({"taskId": "", "status": "completed"}),
        json!({"taskId": 7, "status": "completed"}),
        json!({"status": "completed", "result": "x"}),
        json!({"taskId": "r", "status": 7}),
    ] {
        let (status, told) = world.post(&rubbish).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{rubbish}: {told}");
    }
    assert_eq!(world.task().await.rev, 2, "nothing was written");
    // By our own id, as well as by one of its own.
    for (id, state, expected) in [
        (own.to_string(), "working", TaskState::Submitted),
        ("r-1".to_owned(), "TASK_STATE_WORKING", TaskState::Working),
        (own.to_string(), "completed", TaskState::Completed),
    ] {
        let (status, told) = world.post(&plain(&id, state, json!({"deep_name": 4}))).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
        let job = world.task().await.jobs[0].clone();
        assert_eq!(
            job.remote().map_or(TaskState::Submitted, |remote| remote.state),
            expected
        );
    }
    let job = world.task().await.jobs[0].clone();
    assert_eq!(job.remote_task_id().unwrap().as_str(), "r-1");
    let content = &job.artifacts[0].parts[0].content;
    assert_eq!(
        *content,
        domain::PartContent::Data(json!({"deep_name": 4})),
        "as it was sent"
    );
    let (status, _) = world.post(&plain("r-2", "failed", Value::Null)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "late, and changes nothing");
    assert_eq!(world.task().await.jobs[0], job);
}

#[tokio::test]
async fn news_at_the_same_time_are_all_kept() {
    let world = World::new().await;
    let pieces = (0..6).map(|number| {
        json!({"artifactUpdate": {
            "taskId": "remote-1", "contextId": "there",
            "artifact": {"artifactId": format!("a-{number}"), "parts": [{"text": "x"}]},
        }})
    });
    let pieces: Vec<_> = pieces.collect();
    let posts = pieces.iter().map(|piece| world.post(piece));
    for (status, _) in futures_util::future::join_all(posts).await {
        assert_eq!(status, StatusCode::NO_CONTENT);
    }
    assert_eq!(world.task().await.jobs[0].artifacts.len(), 6);
}

#[tokio::test]
async fn a_lost_wake_is_found_because_the_task_is_due() {
    let world = World::with(true, "acme").await;
    assert_eq!(
        world.post(&update("COMPLETED", "done")).await.0,
        StatusCode::NO_CONTENT
    );
    let mut found = Vec::new();
    for shard in 0..store::DUE_SHARDS {
        found.extend(
            world
                .store
                .tasks()
                .due(shard, Timestamp::from_millis(60_000), 10, None)
                .await
                .unwrap()
                .items,
        );
    }
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].key, &found[0].what), (&world.key, &PointsAt::Task));
}

#[tokio::test]
async fn a_task_that_was_called_off_takes_no_result() {
    let world = World::new().await;
    let mut revision = Revision::of(world.task().await);
    revision
        .record(
            EventKind::status(TaskState::Canceled, None),
            Timestamp::from_millis(2),
        )
        .unwrap();
    world
        .store
        .tasks()
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await
        .unwrap();
    let before = world.task().await;
    assert_eq!(
        world.post(&whole("completed", "late")).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!((world.task().await, world.wakes()), (before, 0));
}

#[tokio::test]
async fn an_agent_that_is_first_heard_of_after_the_task_was_called_off_is_left_to_the_host_to_tell() {
    let world = World::new().await;
    let mut revision = Revision::of(world.task().await);
    let canceled = EventKind::status(TaskState::Canceled, None);
    revision.record(canceled, Timestamp::from_millis(2)).unwrap();
    let tasks = world.store.tasks();
    let done = tasks.commit(&revision, Due::Never, LeaseAfter::Keep).await;
    assert_eq!(done.unwrap(), Committed::Yes);
    let before = world.task().await;
    let job = before.jobs[0].number;
    assert_eq!(tasks.stray(&world.key, job).await.unwrap(), None);
    for wakes in 1..=2 {
        assert_eq!(
            world.post(&update("WORKING", "on it")).await.0,
            StatusCode::NO_CONTENT
        );
        assert_eq!(world.wakes(), wakes);
    }
    assert_eq!(world.task().await, before, "a finished task never changes");
    assert!(
        world.stored().await.due_at.is_some(),
        "found without the wake too"
    );
    let stray = tasks.stray(&world.key, job).await.unwrap();
    assert_eq!(stray.map(|id| id.to_string()).as_deref(), Some("remote-1"));
}

fn sender(byte: u8) -> SenderKeys {
    // 32 equal bytes in base64url: the letter of six of their bits, again and again.
    let key = match byte {
        0 => "A".repeat(43),
        _ => format!("{}8", "_".repeat(42)),
    };
    let sealer = Sealer::new(vec![("k".into(), key.into())]).unwrap();
    SenderKeys::of(&sealer, "https://agents.example/x").unwrap()
}

#[tokio::test]
async fn where_the_senders_key_is_known_the_token_alone_is_not_enough() {
    let world = World::new().await;
    let (own, other) = (sender(0), sender(1));
    world.signs_with(&own).await;
    let before = world.task().await;
    let body = whole("completed", "rain").to_string().into_bytes();
    let bearer = format!("Bearer {}", world.token);
    let now = world.clock.now();
    let seconds = now.seconds().to_string();
    let message = |at, body| WebhookMessage { id: "n-1", at, body };
    let early = now.before(Duration::from_secs(400));
    let bad = [
        (other.signature(&message(now, &body)), seconds.clone()),
        (own.signature(&message(now, b"{}")), seconds.clone()),
        (own.signature(&message(early, &body)), early.seconds().to_string()),
        (Some("v1,AAAA".to_owned()), seconds.clone()),
        (Some(String::new()), seconds.clone()),
    ];
    for (signature, at) in bad {
        let headers = [
            ("authorization", bearer.as_str()),
            ("webhook-id", "n-1"),
            ("webhook-timestamp", at.as_str()),
            ("webhook-signature", signature.as_deref().unwrap()),
        ];
        let (status, _) = world.send(&headers, body.clone()).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{signature:?} {at}");
    }
    let (status, _) = world.send(&[("authorization", &bearer)], body.clone()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "not signed at all");
    assert_eq!(world.task().await, before);
    let good = own.signature(&message(now, &body)).unwrap();
    let headers = [
        ("authorization", bearer.as_str()),
        ("webhook-id", "n-1"),
        ("webhook-timestamp", seconds.as_str()),
        ("webhook-signature", good.as_str()),
    ];
    let (answered, calls) = store::counted(world.send(&headers, body)).await;
    assert_eq!((answered.0, calls.total()), (StatusCode::NO_CONTENT, 2));
}

#[tokio::test]
async fn while_nobody_knows_whether_the_sender_signs_its_news_is_to_come_again() {
    let world = World::new().await;
    let task = world.task().await;
    let mut job = task.jobs[0].clone();
    job.sender_keys = vec![domain::KEYS_OWED.to_owned()];
    let mut revision = Revision::of(task);
    let changed = EventKind::Job { job: Box::new(job) };
    revision.record(changed, Timestamp::from_millis(1)).unwrap();
    let tasks = world.store.tasks();
    tasks
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await
        .unwrap();
    let before = world.task().await;
    let bearer = format!("Bearer {}", world.token);
    let body = whole("completed", "rain").to_string().into_bytes();
    let own = sender(0);
    let (now, seconds) = (world.clock.now(), world.clock.now().seconds().to_string());
    let signed = own
        .signature(&WebhookMessage {
            id: "n-1",
            at: now,
            body: &body,
        })
        .unwrap();
    let bare = [("authorization", bearer.as_str())];
    let with = [
        ("authorization", bearer.as_str()),
        ("webhook-id", "n-1"),
        ("webhook-timestamp", seconds.as_str()),
        ("webhook-signature", signed.as_str()),
    ];
    for headers in [&bare[..], &with[..]] {
        let (status, _) = world.send(headers, body.clone()).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(world.task().await, before);
    // Its agent publishes keys, or says that it has none: then it is as ever.
    world.signs_with(&own).await;
    assert_eq!(world.send(&bare, body.clone()).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(world.send(&with, body.clone()).await.0, StatusCode::NO_CONTENT);
    // Once the job is over nobody asks for the keys any more: the agent is told to stop, and nothing changes.
    let task = world.task().await;
    let mut job = task.jobs[0].clone();
    assert!(job.is_settled(), "{job:?}");
    job.sender_keys = vec![domain::KEYS_OWED.to_owned()];
    let mut revision = Revision::of(task);
    let changed = EventKind::Job { job: Box::new(job) };
    revision.record(changed, Timestamp::from_millis(2)).unwrap();
    tasks
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await
        .unwrap();
    let over = world.task().await;
    assert_eq!(world.send(&bare, body).await.0, StatusCode::NO_CONTENT);
    assert_eq!(world.task().await, over);
}

#[tokio::test]
async fn a_source_that_guesses_is_sent_away_and_others_are_heard() {
    let world = World::new().await;
    let guessed = token::webhook(world.key.id, &SystemEntropy);
    let mut tried = 0;
    let wait = loop {
        match world.from("198.51.100.7", guessed.expose_secret()).await {
            (StatusCode::UNAUTHORIZED, None) => tried += 1,
            (StatusCode::TOO_MANY_REQUESTS, wait) => break wait,
            other => panic!("{other:?}"),
        }
    };
    assert!((2..20).contains(&tried), "{tried}");
    assert_eq!(wait.as_deref(), Some("1"));
    let (answered, calls) = store::counted(world.from("198.51.100.7", &world.token)).await;
    assert_eq!((answered.0, calls.total()), (StatusCode::TOO_MANY_REQUESTS, 0));
    assert_eq!(
        world.from("198.51.100.8", &world.token).await.0,
        StatusCode::NO_CONTENT
    );
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(
        world.from("198.51.100.7", &world.token).await.0,
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn a_piece_that_is_sent_again_is_not_added_again() {
    let world = World::new().await;
    let piece = json!({"artifactUpdate": {
        "taskId": "remote-1", "contextId": "there", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
    }});
    let bearer = format!("Bearer {}", world.token);
    for (id, parts) in [("n-1", 1), ("n-1", 1), ("n-2", 2), ("n-1", 2)] {
        let headers = [("authorization", bearer.as_str()), ("webhook-id", id)];
        let (status, _) = world.send(&headers, piece.to_string().into_bytes()).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        assert_eq!(world.task().await.jobs[0].artifacts[0].parts.len(), parts, "{id}");
    }
}

#[tokio::test]
async fn there_is_one_route() {
    let world = World::new().await;
    let request = Request::get("/api/webhook/tasks").body(Body::empty()).unwrap();
    assert_eq!(
        world.app.clone().oneshot(request).await.unwrap().status(),
        StatusCode::METHOD_NOT_ALLOWED
    );
    let request = Request::post("/api/webhook").body(Body::empty()).unwrap();
    assert_eq!(
        world.app.clone().oneshot(request).await.unwrap().status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn news_for_a_task_that_needs_a_newer_release_stay_with_their_sender() {
    let world = World::new().await;
    let before = world.task().await;
    let table = world._database.tables().tasks;
    let pk = format!("acme#host#task#{}", world.key.id);
    let raw = || {
        let items = world._database.items(&table, &pk);
        items.into_iter().find(|item| item["sk"]["S"] == "TASK").unwrap()
    };
    let put = |edit: &dyn Fn(&mut Value)| {
        let mut item = raw();
        let mut body: Value = serde_json::from_str(&before.to_stored().unwrap()).unwrap();
        edit(&mut body);
        item["body"] = json!({ "S": body.to_string() });
        world._database.put(&table, &item);
    };
    let news = json!({"statusUpdate": {"taskId": "r-1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}});
    put(&|body| {
        body["v"] = json!(domain::RECORDS + 1);
        body["jobs"][0]["state"] = json!({"phase": "bargaining"});
    });
    let untouched = raw();
    let (status, told) = world.post(&news).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{told}");
    assert_eq!(raw(), untouched);
    // The same notification, once somebody who knows the kind has moved the job on.
    put(&|_| {});
    assert_eq!(world.post(&news).await.0, StatusCode::NO_CONTENT);
    assert_eq!(
        world.task().await.jobs[0].remote().unwrap().state,
        TaskState::Working
    );
}
