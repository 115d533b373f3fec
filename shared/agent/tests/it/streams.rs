//! Streams: what they carry, how they end, and how they are taken up again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::{Access, ExecuteError, Executor, Outcome, Run, Wake};
use async_trait::async_trait;
use axum::body::Body;
use domain::{Artifact, Message, MessageId, Part};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::{Bench, bench, done, id_of, message, now, state};

/// One server-sent event.
#[derive(Debug)]
struct Frame {
    id: Option<u64>,
    data: Value,
}

/// The events of a text, comments left out.
fn frames(text: &str) -> Vec<Frame> {
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    blocks
        .map(|block| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            Frame {
                id: field("id: ").map(|id| id.parse().unwrap()),
                data: serde_json::from_str(field("data: ").unwrap()).unwrap(),
            }
        })
        .collect()
}

async fn text(response: http::Response<Body>) -> String {
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn rest(path: &str) -> http::request::Builder {
    Request::post(path)
        .header("content-type", "application/json")
        .header("a2a-version", "1.0")
}

/// Streams the answer to a message over REST of 1.0.
async fn stream(bench: &Bench, message: Value) -> http::Response<Body> {
    let body = json!({ "message": message }).to_string();
    bench.ask(Some("ann"), rest("/message:stream"), &body).await
}

async fn subscribe(bench: &Bench, owner: &str, id: &str, last: Option<&str>) -> http::Response<Body> {
    let mut request = rest(&format!("/tasks/{id}:subscribe"));
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    bench.ask(Some(owner), request, "").await
}

/// Reads until this many events have come.
async fn read(body: &mut Body, events: usize) -> String {
    let mut text = String::new();
    while text.matches("data: ").count() < events {
        let frame = tokio::time::timeout(Duration::from_secs(10), body.frame()).await;
        let frame = frame.unwrap().unwrap().unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    text
}

fn name(frame: &Frame) -> &str {
    frame.data.as_object().unwrap().keys().next().unwrap()
}

#[tokio::test]
async fn a_stream_carries_the_execution_and_ends_with_the_task() {
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    // Nobody looks for a cancel meanwhile.
    Arc::get_mut(&mut bench.agent).unwrap().settings.cancel_check = Duration::from_secs(60);
    let (told, calls) = store::counted(async { text(stream(&bench, message("m1", "hi")).await).await }).await;
    let told = frames(&told);
    let names: Vec<&str> = told.iter().map(name).collect();
    assert_eq!(names, ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    let ids: Vec<Option<u64>> = told.iter().map(|frame| frame.id).collect();
    assert_eq!(ids, [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(
        told[3].data["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    // Stored, leased, said to be at it, settled: what the execution records needs no look at the table. Two before it and two after
    // are the ledger's, and two that begin the day.
    assert_eq!(calls.total(), 10, "{calls:?}");
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 1);
    assert!(bench.door.0.lock().unwrap().is_empty());
    // The same message once more is the same task, over by now.
    let again = frames(&text(stream(&bench, message("m1", "hi")).await).await);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].data["task"]["id"], told[0].data["task"]["id"]);
    assert_eq!(again[0].data["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(bench.executor.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn both_bindings_of_both_generations_stream_in_their_own_words() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let old = json!({ "messageId": "m0", "role": "user", "kind": "message", "parts": [{ "kind": "text", "text": "hi" }] });
    let call = |method: &str, message: Value| {
        json!({ "jsonrpc": "2.0", "id": "x", "method": method, "params": { "message": message } }).to_string()
    };
    let json = || Request::post("/").header("content-type", "application/json");
    let asked = call("SendStreamingMessage", message("m1", "hi"));
    let new = frames(&text(bench.ask(Some("ann"), json(), &asked).await).await);
    assert!(
        new.iter()
            .all(|frame| frame.data["id"] == "x" && frame.data["jsonrpc"] == "2.0")
    );
    assert_eq!(
        new[0].data["result"]["task"]["status"]["state"],
        "TASK_STATE_SUBMITTED"
    );
    assert_eq!(
        new[3].data["result"]["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    let asked = call("message/stream", old);
    let told = frames(&text(bench.ask(Some("ann"), json(), &asked).await).await);
    assert_eq!(told[0].data["result"]["kind"], "task");
    assert_eq!(told[2].data["result"]["kind"], "artifact-update");
    assert_eq!(told[3].data["result"]["final"], true);
    assert_eq!(told[1].data["result"]["final"], false);
    let proto =
        json!({ "request": { "messageId": "m2", "role": "ROLE_USER", "content": [{ "text": "hi" }] } });
    let request = Request::post("/v1/message:stream").header("content-type", "application/json");
    let told = frames(&text(bench.ask(Some("ann"), request, &proto.to_string()).await).await);
    assert_eq!(name(&told[0]), "task");
    assert_eq!(name(&told[3]), "statusUpdate");
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_where_it_ended() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let whole = text(stream(&bench, message("m1", "hi")).await).await;
    let id = frames(&whole)[0].data["task"]["id"].as_str().unwrap().to_owned();
    for seen in 1..4 {
        let rest = frames(&text(subscribe(&bench, "ann", &id, Some(&seen.to_string())).await).await);
        let ids: Vec<u64> = rest.iter().filter_map(|frame| frame.id).collect();
        assert_eq!(ids, (seen + 1..=4).collect::<Vec<u64>>());
    }
    // Everything was told, or it is no stream of this task's.
    for (last, reason) in [
        (None, "UNSUPPORTED_OPERATION"),
        (Some("4"), "UNSUPPORTED_OPERATION"),
        (Some("5"), "UNSUPPORTED_OPERATION"),
        (Some("x"), "INVALID_PARAMS"),
    ] {
        let refused = subscribe(&bench, "ann", &id, last).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{last:?}");
        let told = refused.into_body().collect().await.unwrap().to_bytes();
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!(told["error"]["details"][0]["reason"], reason, "{last:?}");
    }
    let foreign = subscribe(&bench, "bob", &id, Some("1")).await;
    assert_eq!(foreign.status(), StatusCode::NOT_FOUND);
    // The message sent again, with what was seen of its answer.
    let request = rest("/message:stream").header("last-event-id", "2");
    let body = json!({ "message": message("m1", "hi") }).to_string();
    let rest = frames(&text(bench.ask(Some("ann"), request, &body).await).await);
    assert_eq!(
        rest.iter().filter_map(|frame| frame.id).collect::<Vec<_>>(),
        [3, 4]
    );
}

/// Asks once, then is done.
fn asks(number: usize, _: &mut Run) -> Result<Outcome, ExecuteError> {
    match number {
        0 => Ok(Outcome::InputRequired("Where?".into())),
        _ => Ok(done()),
    }
}

#[tokio::test]
async fn an_idle_task_can_be_followed_from_anywhere() {
    let bench = bench(Access::Secured, Box::new(asks)).await;
    let asked = frames(&text(stream(&bench, message("m1", "weather")).await).await);
    let last = asked.last().unwrap();
    assert_eq!(
        last.data["statusUpdate"]["status"]["state"],
        "TASK_STATE_INPUT_REQUIRED"
    );
    let id = asked[0].data["task"]["id"].as_str().unwrap().to_owned();
    let mut followers: Vec<Body> = Vec::new();
    for _ in 0..2 {
        followers.push(subscribe(&bench, "ann", &id, None).await.into_body());
    }
    let mut seen = Vec::new();
    for follower in &mut followers {
        seen.push(read(follower, 1).await);
    }
    let mut follow = message("m2", "Oslo");
    follow["taskId"] = json!(id);
    bench.send("ann", follow, now()).await;
    bench.drain().await;
    for (follower, seen) in followers.iter_mut().zip(&mut seen) {
        let rest = follower.collect().await.unwrap().to_bytes();
        seen.push_str(std::str::from_utf8(&rest).unwrap());
        let told = frames(seen);
        assert_eq!(
            told[0].data["task"]["status"]["state"],
            "TASK_STATE_INPUT_REQUIRED"
        );
        let last = told.last().unwrap();
        assert_eq!(
            last.data["statusUpdate"]["status"]["state"],
            "TASK_STATE_COMPLETED"
        );
    }
    let events = |text: &str| {
        frames(text)
            .iter()
            .map(|frame| frame.data.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(events(&seen[0]), events(&seen[1]), "everybody sees the same");
}

/// Begins, and comes to no end by itself before its second run.
struct Slow(std::sync::atomic::AtomicUsize);

#[async_trait]
impl Executor for Slow {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        run.working("at it").await?;
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => std::future::pending().await,
            _ => Ok(done()),
        }
    }
}

#[tokio::test]
async fn who_leaves_a_stream_leaves_the_work_to_others() {
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    Arc::get_mut(&mut bench.agent).unwrap().executor = Arc::new(Slow(0.into()));
    let mut body = stream(&bench, message("m1", "hi")).await.into_body();
    let told = frames(&read(&mut body, 2).await);
    let id = told[0].data["task"]["id"].as_str().unwrap().to_owned();
    drop(body);
    let wake = Wake::task(&bench.key(&id));
    agent::handle(&bench.agent, &wake).await.unwrap();
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_WORKING",
        "its lease still holds"
    );
    bench
        .clock
        .advance(bench.agent.settings.lease + Duration::from_secs(1));
    agent::handle(&bench.agent, &wake).await.unwrap();
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_COMPLETED"
    );
    let rest = frames(&text(subscribe(&bench, "ann", &id, Some("2")).await).await);
    assert_eq!(
        rest.iter().filter_map(|frame| frame.id).collect::<Vec<_>>(),
        [3, 4, 5]
    );
}

#[tokio::test]
async fn a_stream_that_takes_too_long_ends_and_its_work_goes_on_elsewhere() {
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let agent = Arc::get_mut(&mut bench.agent).unwrap();
    agent.executor = Arc::new(Slow(0.into()));
    agent.settings.stream_limit = Duration::from_secs(4);
    agent.settings.stream_heartbeat = Duration::from_millis(200);
    let told = text(stream(&bench, message("m1", "hi")).await).await;
    assert!(told.contains(": still here\n\n"), "{told}");
    let told = frames(&told);
    let last = told.last().unwrap().id.unwrap();
    let id = told[0].data["task"]["id"].as_str().unwrap().to_owned();
    bench.drain().await;
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_COMPLETED",
        "handed over with a wake, before any lease ran out"
    );
    let rest = frames(&text(subscribe(&bench, "ann", &id, Some(&last.to_string())).await).await);
    let end = &rest.last().unwrap().data["statusUpdate"];
    assert_eq!(end["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn big_artifacts_come_in_pieces_of_which_the_last_has_the_number() {
    let big = |_, _: &mut Run| {
        let parts = (0..6).map(|n: u8| Part::text(char::from(b'a' + n).to_string().repeat(20_000)));
        Ok(Outcome::Completed {
            artifacts: vec![Artifact::new("big", parts.collect())],
            say: None,
        })
    };
    let bench = bench(Access::Secured, Box::new(big)).await;
    let told = frames(&text(stream(&bench, message("m1", "hi")).await).await);
    let pieces: Vec<&Frame> = told
        .iter()
        .filter(|frame| name(frame) == "artifactUpdate")
        .collect();
    assert_eq!(pieces.len(), 2);
    let update = |piece: &Frame| piece.data["artifactUpdate"].clone();
    assert_eq!((pieces[0].id, pieces[1].id), (None, Some(3)));
    assert_eq!(
        (&update(pieces[0])["append"], &update(pieces[0])["lastChunk"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        (&update(pieces[1])["append"], &update(pieces[1])["lastChunk"]),
        (&json!(true), &json!(true))
    );
}

#[tokio::test]
async fn a_mere_message_is_the_whole_answer_however_it_is_asked_for() {
    let answer = |_, run: &mut Run| {
        let said = run.task().last_user_message().unwrap().text();
        let message = Message::agent_text(MessageId::derived(&said), format!("You said {said}"));
        Ok(Outcome::Message(message))
    };
    let bench = bench(Access::Secured, Box::new(answer)).await;
    bench.executor.direct.store(true, Ordering::SeqCst);
    for (id, configuration) in [("m1", json!({})), ("m2", now()), ("m1", json!({}))] {
        let told = bench.send("ann", message(id, id), configuration).await;
        let told = &told["result"]["message"];
        assert_eq!(told["parts"][0]["text"], format!("You said {id}"));
        assert!(
            told["contextId"].is_string() && told.get("taskId").is_none(),
            "{told}"
        );
    }
    assert_eq!(
        bench.executor.runs.load(Ordering::SeqCst),
        2,
        "a repeat runs nothing"
    );
    for _ in 0..2 {
        let told = frames(&text(stream(&bench, message("m3", "three")).await).await);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].data["message"]["parts"][0]["text"], "You said three");
        assert!(told[0].data["message"]["contextId"].is_string());
    }
    let old = json!({ "messageId": "m4", "role": "user", "kind": "message", "parts": [{ "kind": "text", "text": "4" }] });
    let told = bench.rpc("ann", "message/send", json!({ "message": old })).await;
    assert_eq!(told["result"]["kind"], "message");
}

#[tokio::test]
async fn a_message_that_was_answered_with_its_task_at_once_is_answered_so_again() {
    let answer = |_, run: &mut Run| {
        let message = Message::agent_text(MessageId::derived("said"), "Hello!".to_owned());
        assert!(run.task().last_user_message().is_some());
        Ok(Outcome::Message(message))
    };
    let bench = bench(Access::Secured, Box::new(answer)).await;
    let first = bench.send("ann", message("m1", "hi"), now()).await;
    assert_eq!(state(&first), "TASK_STATE_SUBMITTED");
    bench.drain().await;
    let again = bench.send("ann", message("m1", "hi"), now()).await;
    assert_eq!(
        (id_of(&again), state(&again)),
        (id_of(&first), "TASK_STATE_COMPLETED")
    );
    // Who waits for the answer gets that.
    let waits = bench.send("ann", message("m1", "hi"), json!({})).await;
    assert_eq!(waits["result"]["message"]["parts"][0]["text"], "Hello!");
}

#[tokio::test]
async fn an_agent_that_may_answer_directly_may_still_make_a_task() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    bench.executor.direct.store(true, Ordering::SeqCst);
    let told = frames(&text(stream(&bench, message("m1", "hi")).await).await);
    let names: Vec<&str> = told.iter().map(name).collect();
    assert_eq!(names, ["task", "artifactUpdate", "statusUpdate"]);
    let sent = bench.send("ann", message("m2", "hi"), now()).await;
    assert_eq!(state(&sent), "TASK_STATE_COMPLETED");
    assert!(!id_of(&sent).is_empty());
}

#[tokio::test]
async fn what_others_record_meanwhile_is_in_the_stream_too() {
    // The execution waits until its task is called off by another instance.
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    Arc::get_mut(&mut bench.agent).unwrap().executor = Arc::new(Slow(0.into()));
    let mut body = stream(&bench, message("m1", "hi")).await.into_body();
    let mut told = read(&mut body, 2).await;
    let id = frames(&told)[0].data["task"]["id"].as_str().unwrap().to_owned();
    let (canceled, rest) = tokio::join!(bench.act("ann", "CancelTask", &id), body.collect());
    assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
    told.push_str(std::str::from_utf8(&rest.unwrap().to_bytes()).unwrap());
    let last = frames(&told).pop().unwrap();
    assert_eq!(
        last.data["statusUpdate"]["status"]["state"],
        "TASK_STATE_CANCELED"
    );
    // Nothing that is not for others' eyes was shown.
    let key = bench.key(&id);
    let events = bench.agent.store.tasks().events(&key, 0, 100).await.unwrap();
    let shown = events.iter().filter(|event| event.kind.is_public());
    assert_eq!(shown.count(), frames(&told).len());
}
