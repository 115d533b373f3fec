//! What carriers between agents and another transport need: ids of tasks that callers make, and every event told by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use a2a::card::Extension;
use agent::{Access, ExecuteError, Executor, Outcome, Run, Wake};
use async_trait::async_trait;
use domain::{Artifact, Part};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Notify;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{Bench, Script, bench, done, message, now, state};

const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";
const BOTH: &str = "urn:switchyard:a2a:client-task-id:v1, urn:switchyard:a2a:every-event:v1";

async fn carried(access: Access, script: Script) -> Bench {
    let mut bench = bench(access, script).await;
    let agent = Arc::get_mut(&mut bench.agent).unwrap();
    let extension = |uri: &str| Extension {
        uri: uri.to_owned(),
        ..Extension::default()
    };
    agent.card.extensions = vec![extension(a2a::CLIENT_TASK_ID), extension(a2a::EVERY_EVENT)];
    bench
}

/// A send of that task's id, with the extensions or without.
async fn send(
    bench: &Bench,
    owner: Option<&str>,
    (task, said): (&str, Value),
    configuration: Value,
    extensions: Option<&str>,
) -> Value {
    let mut said = said;
    said["taskId"] = json!(task);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": said, "configuration": configuration } });
    let request = Request::post("/")
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    let request = match extensions {
        Some(uris) => request.header("a2a-extensions", uris),
        None => request,
    };
    let (status, answer) = bench.json(owner, request, &body.to_string()).await;
    assert_eq!(status, StatusCode::OK);
    answer
}

async fn receiver(status: u16) -> MockServer {
    let receiver = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(status))
        .mount(&receiver)
        .await;
    receiver
}

fn told_at(receiver: &MockServer, id: &str) -> Value {
    json!({ "returnImmediately": true,
        "taskPushNotificationConfig": { "id": id, "url": format!("{}/hook", receiver.uri()), "token": "t" } })
}

async fn heard(receiver: &MockServer) -> Vec<Value> {
    let requests = receiver.received_requests().await.unwrap();
    requests
        .iter()
        .map(|request| request.body_json().unwrap())
        .collect()
}

#[tokio::test]
async fn a_task_is_made_once_under_the_id_that_its_caller_chose() {
    for owner in [Some("ann"), None] {
        let bench = carried(Access::Open, Box::new(|_, _| Ok(done()))).await;
        let with = Some(BOTH);
        let first = send(&bench, owner, (TASK, message("m1", "hi")), now(), with).await;
        assert_eq!(first["result"]["task"]["id"], TASK);
        let again = send(&bench, owner, (TASK, message("m1", "hi")), now(), with).await;
        assert_eq!(again["result"]["task"]["id"], TASK);
        bench.drain().await;
        // Also when it is over: what is there is told, and nothing runs again.
        let late = send(&bench, owner, (TASK, message("m1", "hi")), now(), with).await;
        assert_eq!(state(&late), "TASK_STATE_COMPLETED");
        bench.drain().await;
        assert_eq!(bench.executor.runs.load(std::sync::atomic::Ordering::SeqCst), 1);
        // Another message is no repeat.
        let other = send(&bench, owner, (TASK, message("m2", "and then?")), now(), with).await;
        assert_eq!(other["error"]["code"], -32004, "{other}");
        let reused = send(
            &bench,
            owner,
            (TASK, message("m1", "something else")),
            now(),
            with,
        )
        .await;
        assert_eq!(reused["error"]["code"], -32602, "{reused}");
    }
}

#[tokio::test]
async fn without_a_token_an_id_that_could_be_guessed_makes_no_task() {
    let bench = carried(Access::Open, Box::new(|_, _| Ok(done()))).await;
    for (owner, id, is_made) in [
        (None, "00000000-0000-0000-0000-000000000001", false),
        (None, "6f2c1b1e-9a2b-1c3d-8e4f-5a6b7c8d9e0f", false),
        (None, "6f2c1b1e-9a2b-5c3d-8e4f-5a6b7c8d9e0f", false),
        (None, "6f2c1b1e-9a2b-7c3d-8e4f-5a6b7c8d9e0f", true),
        // Whoever has a token has their own tasks.
        (Some("ann"), "6f2c1b1e-9a2b-5c3d-8e4f-5a6b7c8d9e0f", true),
    ] {
        let told = send(&bench, owner, (id, message(id, "hi")), now(), Some(BOTH)).await;
        match is_made {
            true => assert_eq!(told["result"]["task"]["id"], id, "{told}"),
            false => assert_eq!(told["error"]["code"], -32602, "{told}"),
        }
    }
}

#[tokio::test]
async fn an_id_of_somebody_else_is_not_found_and_without_the_extension_so_is_every_new_one() {
    let bench = carried(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    for extensions in [None, Some("urn:switchyard:a2a:every-event:v1")] {
        let refused = send(
            &bench,
            Some("ann"),
            (TASK, message("m1", "hi")),
            now(),
            extensions,
        )
        .await;
        assert_eq!(refused["error"]["code"], -32001, "{refused}");
    }
    let made = send(
        &bench,
        Some("ann"),
        (TASK, message("m1", "hi")),
        now(),
        Some(BOTH),
    )
    .await;
    assert_eq!(made["result"]["task"]["id"], TASK);
    let taken = send(
        &bench,
        Some("eve"),
        (TASK, message("m1", "hi")),
        now(),
        Some(BOTH),
    )
    .await;
    assert_eq!(taken["error"]["code"], -32001, "{taken}");
    let refused = send(
        &bench,
        Some("ann"),
        ("t-1", message("m3", "hi")),
        now(),
        Some(BOTH),
    )
    .await;
    assert_eq!(refused["error"]["code"], -32001, "{refused}");
    assert!(bench.rpc("eve", "GetTask", json!({ "id": TASK })).await["error"].is_object());
}

#[tokio::test]
async fn of_many_sends_at_once_one_makes_the_task() {
    let bench = Arc::new(carried(Access::Secured, Box::new(|_, _| Ok(done()))).await);
    let sends = (0..8).map(|_| {
        let bench = Arc::clone(&bench);
        async move {
            send(
                &bench,
                Some("ann"),
                (TASK, message("m1", "hi")),
                now(),
                Some(BOTH),
            )
            .await
        }
    });
    let told = futures_util::future::join_all(sends).await;
    assert!(
        told.iter().all(|answer| answer["result"]["task"]["id"] == TASK),
        "{told:?}"
    );
    bench.drain().await;
    assert_eq!(bench.executor.runs.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn every_event_comes_by_itself_numbered_and_then_the_configuration_is_gone() {
    let script: Script = Box::new(|_, _| {
        let artifact = |id: &str| Artifact::new(id, vec![Part::text(id)]);
        Ok(Outcome::Completed {
            artifacts: vec![artifact("a"), artifact("b")],
            say: Some("done".to_owned()),
        })
    });
    let bench = carried(Access::Secured, script).await;
    let receiver = receiver(204).await;
    send(
        &bench,
        Some("ann"),
        (TASK, message("m1", "hi")),
        told_at(&receiver, "r"),
        Some(BOTH),
    )
    .await;
    bench.drain().await;
    let heard = heard(&receiver).await;
    let kinds: Vec<&str> = heard
        .iter()
        .map(|told| told.as_object().unwrap().keys().next().unwrap().as_str())
        .collect();
    assert_eq!(
        kinds,
        ["statusUpdate", "artifactUpdate", "artifactUpdate", "task"]
    );
    let numbers: Vec<Option<u64>> = heard.iter().map(a2a::event_number).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(heard[3]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(heard[3]["task"]["artifacts"].as_array().unwrap().len(), 2);
    let listed = bench
        .rpc(
            "ann",
            "ListTaskPushNotificationConfigs",
            json!({ "taskId": TASK }),
        )
        .await;
    assert_eq!(listed["result"]["configs"], json!([]));
}

#[tokio::test]
async fn what_could_not_be_told_comes_later_under_its_own_number() {
    let script: Script = Box::new(|run, _| match run {
        0 => Ok(Outcome::InputRequired("Which one?".to_owned())),
        _ => Ok(done()),
    });
    let bench = carried(Access::Secured, script).await;
    let receiver = MockServer::start().await;
    // The first is taken, the second is not.
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .up_to_n_times(1)
        .mount(&receiver)
        .await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(503))
        .up_to_n_times(1)
        .mount(&receiver)
        .await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .mount(&receiver)
        .await;
    send(
        &bench,
        Some("ann"),
        (TASK, message("m1", "hi")),
        told_at(&receiver, "r"),
        Some(BOTH),
    )
    .await;
    bench.drain().await;
    bench.clock.advance(Duration::from_secs(6));
    let config = "r".parse().unwrap();
    bench
        .door
        .0
        .lock()
        .unwrap()
        .push_back(Wake::push(&bench.key(TASK), config));
    bench.drain().await;
    let numbers: Vec<Option<u64>> = heard(&receiver).await.iter().map(a2a::event_number).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(2)]);
    let waits = heard(&receiver).await.pop().unwrap();
    assert_eq!(waits["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    // What comes next is told to whoever sends next.
    let next = receiver_of_next(&bench).await;
    let told = heard(&next).await;
    let numbers: Vec<Option<u64>> = told.iter().map(a2a::event_number).collect();
    assert_eq!(numbers, (1..=told.len() as u64).map(Some).collect::<Vec<_>>());
    assert_eq!(
        told.last().unwrap()["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

async fn receiver_of_next(bench: &Bench) -> MockServer {
    let next = receiver(204).await;
    let answer = send(
        bench,
        Some("ann"),
        (TASK, message("m2", "the first")),
        told_at(&next, "r"),
        Some(BOTH),
    )
    .await;
    assert_eq!(state(&answer), "TASK_STATE_WORKING");
    bench.drain().await;
    next
}

#[tokio::test]
async fn a_repeated_send_moves_its_stream() {
    let bench = carried(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let (first, second) = (receiver(204).await, receiver(204).await);
    for receiver in [&first, &second] {
        send(
            &bench,
            Some("ann"),
            (TASK, message("m1", "hi")),
            told_at(receiver, "r"),
            Some(BOTH),
        )
        .await;
    }
    bench.drain().await;
    assert!(heard(&first).await.is_empty());
    let numbers: Vec<u64> = heard(&second)
        .await
        .iter()
        .filter_map(a2a::event_number)
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

/// Works, waits until it is let, and has a result.
struct Gated(Arc<Notify>);

#[async_trait]
impl Executor for Gated {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        run.working("at it").await?;
        self.0.notified().await;
        run.artifact(Artifact::new("a", vec![Part::text("1")])).await?;
        Ok(done())
    }
}

/// An agent that waits in the middle, and what lets it go on.
async fn gated() -> (Bench, Arc<Notify>) {
    let mut bench = carried(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let gate = Arc::new(Notify::new());
    let agent = Arc::get_mut(&mut bench.agent).unwrap();
    agent.executor = Arc::new(Gated(Arc::clone(&gate)));
    // Nobody looks at the task meanwhile, so that calls can be counted.
    agent.settings.cancel_check = Duration::from_secs(60);
    (bench, gate)
}

fn next_wake(bench: &Bench) -> Wake {
    bench.door.0.lock().unwrap().pop_front().unwrap()
}

/// Waits until so many notifications have come.
async fn hears(receiver: &MockServer, many: usize) {
    let heard = async {
        while heard(receiver).await.len() < many {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(10), heard).await;
    in_time.unwrap();
}

async fn numbers(receiver: &MockServer) -> Vec<u64> {
    let heard = heard(receiver).await;
    heard.iter().filter_map(a2a::event_number).collect()
}

#[tokio::test]
async fn what_an_execution_records_goes_out_with_it_under_one_claim() {
    let (bench, gate) = gated().await;
    let receiver = receiver(204).await;
    let told_at = told_at(&receiver, "r");
    send(
        &bench,
        Some("ann"),
        (TASK, message("m1", "hi")),
        told_at,
        Some(BOTH),
    )
    .await;
    let wake = next_wake(&bench);
    let working = store::counted(async { agent::handle(&bench.agent, &wake).await.unwrap() });
    let ((), calls) = tokio::join!(
        async {
            // While it works: nobody waits for its end.
            hears(&receiver, 1).await;
            gate.notify_one();
        },
        async { Box::pin(working).await.1 }
    );
    assert_eq!(numbers(&receiver).await, [1, 2, 3, 4]);
    // The lease, three writes of the execution, its end in the ledger's two items, a claim, and two to take the configuration away.
    assert_eq!(calls.total(), 9);
    assert!(
        bench.door.0.lock().unwrap().is_empty(),
        "nothing is left to a queue"
    );
}

#[tokio::test]
async fn a_stream_that_moves_under_its_execution_is_told_to_the_end_where_it_is() {
    let (bench, gate) = gated().await;
    let (first, second) = (receiver(204).await, receiver(204).await);
    let asks = async |receiver: &MockServer| {
        let told_at = told_at(receiver, "r");
        send(
            &bench,
            Some("ann"),
            (TASK, message("m1", "hi")),
            told_at,
            Some(BOTH),
        )
        .await
    };
    asks(&first).await;
    let wake = next_wake(&bench);
    tokio::join!(
        async {
            hears(&first, 1).await;
            asks(&second).await;
            gate.notify_one();
        },
        async { agent::handle(&bench.agent, &wake).await.unwrap() }
    );
    bench.drain().await;
    assert_eq!(numbers(&second).await, [1, 2, 3]);
    let last = heard(&second).await.pop().unwrap();
    assert_eq!(last["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let asked = json!({ "taskId": TASK });
    let listed = bench.rpc("ann", "ListTaskPushNotificationConfigs", asked).await;
    assert_eq!(listed["result"]["configs"], json!([]));
}

#[tokio::test]
async fn what_a_worker_told_before_it_died_is_told_again_under_its_number() {
    let (bench, _gate) = gated().await;
    let receiver = receiver(204).await;
    let told_at = told_at(&receiver, "r");
    send(
        &bench,
        Some("ann"),
        (TASK, message("m1", "hi")),
        told_at,
        Some(BOTH),
    )
    .await;
    let wake = next_wake(&bench);
    tokio::select! {
        () = hears(&receiver, 1) => {}
        _ = agent::handle(&bench.agent, &wake) => panic!("it waits"),
    }
    bench.clock.advance(Duration::from_secs(46));
    let wake = Wake::push(&bench.key(TASK), "r".parse().unwrap());
    agent::handle(&bench.agent, &wake).await.unwrap();
    let ids: Vec<String> = receiver
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|request| request.headers["webhook-id"].to_str().unwrap().to_owned())
        .collect();
    assert_eq!((numbers(&receiver).await, &ids[0]), (vec![1, 1], &ids[1]));
}

/// A receiver that takes its time holds no worker for as long as there are news.
#[tokio::test]
async fn a_worker_whose_execution_is_over_leaves_what_is_left_to_the_queue() {
    let script: Script = Box::new(|_, _| {
        let piece = |number: u32| Artifact::new(number.to_string(), vec![Part::text("la")]);
        Ok(Outcome::Completed {
            artifacts: (0..8).map(piece).collect(),
            say: None,
        })
    });
    let bench = carried(Access::Secured, script).await;
    let receiver = MockServer::start().await;
    let slow = ResponseTemplate::new(204).set_delay(Duration::from_millis(700));
    Mock::given(any()).respond_with(slow).mount(&receiver).await;
    let told_at = told_at(&receiver, "r");
    send(
        &bench,
        Some("ann"),
        (TASK, message("m1", "hi")),
        told_at,
        Some(BOTH),
    )
    .await;
    let (wake, begun) = (next_wake(&bench), Instant::now());
    agent::handle(&bench.agent, &wake).await.unwrap();
    // Ten times 0.7 s.
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    assert!(numbers(&receiver).await.len() < 10);
    bench.drain().await;
    assert_eq!(numbers(&receiver).await, (1..=10).collect::<Vec<_>>());
}
