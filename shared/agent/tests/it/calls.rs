//! Calls and the work behind them: send, get, cancel, follow-ups, retries, pushes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::{Access, ExecuteError, Executor, Outcome, Run, Wake};
use async_trait::async_trait;
use domain::Tenant;
use http::StatusCode;
use serde_json::{Value, json};
use store::TaskKey;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{bench, done, id_of, message, now, state};

#[tokio::test]
async fn a_send_is_stored_acknowledged_worked_on_and_found() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let (sent, calls) = store::counted(bench.send("ann", message("m1", "hi"), now())).await;
    assert_eq!(state(&sent), "TASK_STATE_SUBMITTED");
    assert_eq!(
        calls.total(),
        5,
        "admitted by its owner's and its tenant's item, two calls more as it is the day's first, and one write before the \
         acknowledgement: {calls:?}"
    );
    bench.drain().await;
    let id = id_of(&sent);
    let (got, calls) = store::counted(bench.act("ann", "GetTask", &id)).await;
    assert_eq!(calls.total(), 1, "{calls:?}");
    assert_eq!(state(&got), "TASK_STATE_COMPLETED");
    assert_eq!(got["result"]["artifacts"][0]["parts"][0]["text"], "42");
    // The log is gapless: submitted, working, artifact, completed.
    let key = TaskKey {
        tenant: Tenant::parse("acme").unwrap(),
        agent: bench.agent.name.clone(),
        id: id.parse().unwrap(),
    };
    let events = bench.agent.store.tasks().events(&key, 0, 100).await.unwrap();
    assert_eq!(
        events.iter().map(|event| event.seq).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    // A doubled wake does nothing more.
    agent::handle(&bench.agent, &Wake::task(&key)).await.unwrap();
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_repeated_message_is_the_same_task_and_another_body_is_refused() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let send = |text: &'static str| bench.send("ann", message("m1", text), now());
    let (first, second) = tokio::join!(send("hi"), send("hi"));
    assert_eq!(id_of(&first), id_of(&second));
    let other = send("something else").await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let neighbour = bench.send("bob", message("m1", "hi"), now()).await;
    assert_ne!(id_of(&first), id_of(&neighbour), "message ids are their sender's");
    bench.drain().await;
    assert_eq!(
        bench.executor.runs.load(Ordering::SeqCst),
        2,
        "each task ran once"
    );
}

#[tokio::test]
async fn others_tasks_do_not_exist_and_a_bad_token_gets_nowhere() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    let unknown = "00000000-0000-4000-8000-000000000000";
    for operation in ["GetTask", "CancelTask"] {
        let foreign = bench.act("bob", operation, &id).await;
        assert_eq!(foreign["error"]["code"], -32001);
        assert_eq!(
            foreign["error"],
            bench.act("bob", operation, unknown).await["error"]
        );
        assert_eq!(
            foreign["error"],
            bench.act("bob", operation, "not a uuid").await["error"]
        );
    }
    let mut follow = message("m2", "more");
    follow["taskId"] = json!(id);
    assert_eq!(bench.send("bob", follow, now()).await["error"]["code"], -32001);
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": id, "tenant": "globex" } });
    assert_eq!(
        bench.call(Some(&bench.token("ann")), &body).await.1["error"]["code"],
        -32001
    );
    for token in [None, Some("rubbish"), Some("a.b.c")] {
        let (status, told) = bench.call(token, &body).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert!(
            told["www_authenticate"].as_str().unwrap().starts_with("Bearer"),
            "{told}"
        );
    }
    let token = bench.token("ann");
    bench.clock.advance(Duration::from_secs(3600));
    let (status, told) = bench.call(Some(&token), &body).await;
    assert_eq!(
        (status, told["error_description"].as_str()),
        (StatusCode::UNAUTHORIZED, Some("token has expired"))
    );
}

#[tokio::test]
async fn an_open_agent_takes_strangers_but_keeps_them_apart_by_id() {
    let bench = bench(Access::Open, Box::new(|_, _| Ok(done()))).await;
    let body = |text: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": message("m1", text), "configuration": now() } })
    };
    let first = bench.call(None, &body("hi")).await.1;
    let other = bench
        .call(None, &body("another stranger, the same message id"))
        .await
        .1;
    assert_ne!(id_of(&first), id_of(&other));
    let get = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": id_of(&first) } });
    assert_eq!(state(&bench.call(None, &get).await.1), "TASK_STATE_SUBMITTED");
    assert_eq!(
        bench.call(Some(&bench.token("ann")), &get).await.1["error"]["code"],
        -32001
    );
    assert_eq!(
        bench.call(Some("rubbish"), &get).await.0,
        StatusCode::UNAUTHORIZED,
        "a token that is there must be good"
    );
}

/// Two strangers who choose the same id and the same words: the one who was first, with a push configuration, must not be told
/// what the other adds.
#[tokio::test]
async fn a_strangers_message_is_known_again_by_a_random_uuid_only() {
    let bench = bench(Access::Open, Box::new(|_, _| Ok(done()))).await;
    let send = async |id: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": { "message": message(id, "Oslo?"), "configuration": now() } });
        let told = bench.call(None, &body).await.1;
        let context = told["result"]["task"]["contextId"].as_str().unwrap().to_owned();
        (id_of(&told), context)
    };
    for guessable in [
        "m1",
        "1",
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "00000000-0000-0000-0000-000000000000",
        "9e107d9d-372b-5182-8b8a-0cfe2ae7a1c5",
    ] {
        let (first, second) = (send(guessable).await, send(guessable).await);
        assert_ne!(first.0, second.0, "{guessable}");
        assert_ne!(first.1, second.1, "{guessable}");
    }
    for random in [
        "9e107d9d-372b-4182-8b8a-0cfe2ae7a1c5",
        "019338a0-7c1e-7f3a-9c2e-0cfe2ae7a1c5",
    ] {
        assert_eq!(send(random).await, send(random).await, "{random}");
    }
}

#[tokio::test]
async fn a_blocking_send_waits_and_gives_up_in_time() {
    let bench = bench(
        Access::Secured,
        Box::new(|number, run| match number {
            0 => Ok(done()),
            _ => Ok(Outcome::Parked {
                until: run.now().after(Duration::from_secs(60)),
            }),
        }),
    )
    .await;
    let quick = bench.send("ann", message("m1", "quick"), json!({})).await;
    assert_eq!(state(&quick), "TASK_STATE_COMPLETED");
    let slow = bench.send("ann", message("m2", "slow"), json!({})).await;
    assert_eq!(state(&slow), "TASK_STATE_WORKING");
}

#[tokio::test]
async fn a_question_is_answered_on_the_same_task() {
    let bench = bench(
        Access::Secured,
        Box::new(|number, run| match number {
            0 => Ok(Outcome::InputRequired("Where?".into())),
            _ => Ok(Outcome::Completed {
                artifacts: Vec::new(),
                say: Some(run.task().last_user_message().unwrap().text()),
            }),
        }),
    )
    .await;
    let id = id_of(&bench.send("ann", message("m1", "weather"), now()).await);
    bench.drain().await;
    let asked = bench.act("ann", "GetTask", &id).await;
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
    let mut follow = message("m2", "Oslo");
    follow["taskId"] = json!(id);
    let mut elsewhere = follow.clone();
    elsewhere["contextId"] = json!("another");
    assert_eq!(bench.send("ann", elsewhere, now()).await["error"]["code"], -32602);
    for _ in 0..2 {
        assert_eq!(id_of(&bench.send("ann", follow.clone(), now()).await), id);
    }
    bench.drain().await;
    let told = bench.act("ann", "GetTask", &id).await;
    assert_eq!(told["result"]["status"]["message"]["parts"][0]["text"], "Oslo");
    follow["messageId"] = json!("m3");
    assert_eq!(
        bench.send("ann", follow, now()).await["error"]["code"],
        -32004,
        "a finished task takes nothing more"
    );
}

#[tokio::test]
async fn a_task_that_changed_meanwhile_is_decided_again() {
    let bench = bench(
        Access::Secured,
        Box::new(|number, _| {
            if number < 2 {
                Err(ExecuteError::Stale)
            } else {
                Ok(done())
            }
        }),
    )
    .await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    bench.drain().await;
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_COMPLETED"
    );
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_may_work_later_is_tried_again_and_then_fails_with_its_reason() {
    let bench = bench(
        Access::Secured,
        Box::new(|_, _| Err(ExecuteError::Retry("The oracle is away.".into()))),
    )
    .await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    bench.drain().await;
    let failed = bench.act("ann", "GetTask", &id).await;
    assert_eq!(state(&failed), "TASK_STATE_FAILED");
    assert_eq!(
        failed["result"]["status"]["message"]["parts"][0]["text"],
        "The oracle is away."
    );
    assert_eq!(
        bench.executor.runs.load(Ordering::SeqCst),
        8,
        "once, and seven times more"
    );
}

#[tokio::test]
async fn an_execution_that_crashes_is_found_by_its_lease_and_is_poison_in_the_end() {
    // A crash: the lease is taken, and nobody ever comes back.
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    let key = TaskKey {
        tenant: Tenant::parse("acme").unwrap(),
        agent: bench.agent.name.clone(),
        id: id.parse().unwrap(),
    };
    for crash in 0..bench.agent.settings.max_attempts {
        let now = domain::Clock::now(bench.clock.as_ref());
        let leased = bench
            .agent
            .store
            .tasks()
            .lease(
                &key,
                &format!("crash-{crash}"),
                now,
                now.after(Duration::from_secs(30)),
            )
            .await;
        assert!(matches!(leased.unwrap(), store::Leased::Taken(_)));
        agent::handle(&bench.agent, &Wake::task(&key)).await.unwrap();
        assert_eq!(
            bench.executor.runs.load(Ordering::SeqCst),
            0,
            "a held lease is left alone"
        );
        bench.clock.advance(Duration::from_secs(31));
    }
    agent::handle(&bench.agent, &Wake::task(&key)).await.unwrap();
    let poisoned = bench.act("ann", "GetTask", &id).await;
    assert_eq!(state(&poisoned), "TASK_STATE_FAILED");
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn cancel_ends_the_task_and_loses_against_a_completion() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    assert_eq!(
        state(&bench.act("ann", "CancelTask", &id).await),
        "TASK_STATE_CANCELED"
    );
    // A second time changes nothing; in 0.3 it is an error like that of any finished task.
    assert_eq!(
        state(&bench.act("ann", "CancelTask", &id).await),
        "TASK_STATE_CANCELED"
    );
    assert_eq!(
        bench.act("ann", "tasks/cancel", &id).await["error"]["code"],
        -32002
    );
    bench.drain().await;
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_CANCELED"
    );
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 0);
    let id = id_of(&bench.send("ann", message("m2", "hi"), now()).await);
    bench.drain().await;
    assert_eq!(bench.act("ann", "CancelTask", &id).await["error"]["code"], -32002);
}

struct Forever;

#[async_trait]
impl Executor for Forever {
    async fn execute(&self, _run: &mut Run) -> Result<Outcome, ExecuteError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn cancel_reaches_a_running_execution() {
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let agent = Arc::get_mut(&mut bench.agent).unwrap();
    agent.executor = Arc::new(Forever);
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    let (_, canceled) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(10), bench.drain()),
        async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            bench.act("ann", "CancelTask", &id).await
        }
    );
    assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
    assert!(
        bench.door.0.lock().unwrap().is_empty(),
        "the execution was left in time"
    );
}

#[tokio::test]
async fn push_tells_the_client_in_order_and_tries_again() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(503))
        .up_to_n_times(1)
        .mount(&receiver)
        .await;
    Mock::given(method("POST"))
        .and(header("x-a2a-notification-token", "secret-token"))
        .respond_with(ResponseTemplate::new(204))
        .mount(&receiver)
        .await;
    let configuration = json!({ "returnImmediately": true,
        "taskPushNotificationConfig": { "url": format!("{}/hook", receiver.uri()), "token": "secret-token" } });
    let id = id_of(&bench.send("ann", message("m1", "hi"), configuration).await);
    bench.drain().await;
    assert_eq!(
        receiver.received_requests().await.unwrap().len(),
        1,
        "it failed, and waits for its time"
    );
    bench.clock.advance(Duration::from_secs(6));
    let due = bench.agent.store.tasks();
    let now = domain::Clock::now(bench.clock.as_ref());
    for shard in 0..store::DUE_SHARDS {
        for pointer in due.due(shard, now, 10, None).await.unwrap().items {
            let store::PointsAt::Push(config) = pointer.what else {
                panic!("only the delivery is due")
            };
            bench
                .door
                .0
                .lock()
                .unwrap()
                .push_back(Wake::push(&pointer.key, config));
        }
    }
    bench.drain().await;
    // Nothing of the token lies in clear.
    let key = TaskKey {
        tenant: Tenant::parse("acme").unwrap(),
        agent: bench.agent.name.clone(),
        id: id.parse().unwrap(),
    };
    let stored = bench
        .agent
        .store
        .tasks()
        .find(&key, domain::Clock::now(bench.clock.as_ref()))
        .await
        .unwrap()
        .unwrap();
    assert!(
        !serde_json::to_string(&stored.task)
            .unwrap()
            .contains("secret-token")
    );
    let requests = receiver.received_requests().await.unwrap();
    assert_eq!(requests.len(), 2, "one failed, and it was tried again");
    let last: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    assert!(
        last.to_string().contains("TASK_STATE_COMPLETED") && last.to_string().contains("42"),
        "{last}"
    );
    let before = requests.len();
    bench
        .agent
        .wake
        .wake(
            &Wake::push(&key, stored.task.push_configs[0].clone()),
            Duration::ZERO,
        )
        .await
        .unwrap();
    bench.drain().await;
    assert_eq!(
        receiver.received_requests().await.unwrap().len(),
        before,
        "what was told is not told again"
    );
}

#[tokio::test]
async fn a_push_address_that_nobody_may_call_is_refused_before_anything_is_stored() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    for url in [
        "ftp://example.com/x",
        "http://169.254.169.254/latest",
        "https://10.0.0.1/x",
        "not a url",
    ] {
        let configuration =
            json!({ "returnImmediately": true, "taskPushNotificationConfig": { "url": url } });
        let refused = bench.send("ann", message("m1", "hi"), configuration).await;
        assert_eq!(refused["error"]["code"], -32602, "{url}: {refused}");
    }
    assert!(bench.door.0.lock().unwrap().is_empty());
}
