//! Words of an answer as they come: for those who name the extension, and at no cost where nobody does. And calls of an
//! agent whose executions do not fit into a response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use a2a::card::Extension;
use agent::{Access, ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use http::Request;
use serde_json::{Value, json};
use store::AnswerDraft;

use crate::support::{Bench, bench, done, id_of, message, now, state};

/// Says this word by word, the first words at once, and is done after two seconds.
const WORDS: [&str; 5] = ["It ", "rains ", "in ", "Oslo", ", and so on.\n"];
const PAUSE: Duration = Duration::from_millis(450);

struct Speaks {
    inline: bool,
}

#[async_trait]
impl Executor for Speaks {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        run.working("thinking").await?;
        let drafting = run.drafting(0);
        let pen = drafting.as_ref().map(agent::Drafting::pen);
        let speaking = async {
            for word in WORDS {
                if let Some(pen) = &pen {
                    if word == "It " {
                        pen.begins(1);
                    }
                    pen.grows(word);
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        match &drafting {
            Some(drafting) => drafting.beside(speaking).await,
            None => speaking.await,
        }
        Ok(Outcome::Completed {
            artifacts: Vec::new(),
            say: Some(WORDS.concat().trim().to_owned()),
        })
    }

    fn runs_inline(&self) -> bool {
        self.inline
    }
}

async fn speaking(inline: bool) -> Bench {
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let agent = Arc::get_mut(&mut bench.agent).unwrap();
    agent.executor = Arc::new(Speaks { inline });
    agent.settings.cancel_check = Duration::from_secs(60);
    agent.settings.blocking_limit = Duration::from_secs(10);
    agent.card.extensions = vec![Extension {
        uri: a2a::DRAFTS.to_owned(),
        ..Extension::default()
    }];
    bench
}

fn request(path: &str, extension: Option<&str>) -> http::request::Builder {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    match extension {
        Some(uri) => request.header("a2a-extensions", uri),
        None => request,
    }
}

/// The events of a stream, with their numbers.
async fn streamed(
    bench: &Bench,
    owner: &str,
    request: http::request::Builder,
    body: Value,
) -> Vec<(bool, Value)> {
    use http_body_util::BodyExt as _;
    let response = bench.ask(Some(owner), request, &body.to_string()).await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    let read = |block: &str| {
        let data = block
            .lines()
            .find_map(|line| line.strip_prefix("data: "))
            .unwrap();
        (block.starts_with("id: "), serde_json::from_str(data).unwrap())
    };
    blocks.map(read).collect()
}

fn drafts(events: &[(bool, Value)]) -> Vec<(String, Value)> {
    let is_draft = |event: &&(bool, Value)| {
        event.1["statusUpdate"]["status"]["message"]["extensions"] == json!([a2a::DRAFTS])
    };
    let drafts = events.iter().filter(is_draft).map(|(is_numbered, event)| {
        assert!(!is_numbered, "a draft is no entry of the log: {event}");
        let said = &event["statusUpdate"]["status"]["message"];
        let text = said["parts"][0]["text"].as_str().unwrap().to_owned();
        (text, said["metadata"][a2a::DRAFTS].clone())
    });
    drafts.collect()
}

#[tokio::test]
async fn whoever_names_the_extension_sees_the_words_as_they_come_and_nobody_else_does() {
    for inline in [true, false] {
        let bench = speaking(inline).await;
        let begun = Instant::now();
        let told = async {
            let body = json!({ "message": message("m1", "hi") });
            streamed(&bench, "ann", request("/message:stream", Some(a2a::DRAFTS)), body).await
        };
        let (told, calls) = Box::pin(store::counted(async {
            tokio::join!(told, worked(&bench, inline)).0
        }))
        .await;
        let shown = drafts(&told);
        assert!(shown.len() >= 2, "{shown:?}");
        let whole = WORDS.concat();
        for pair in shown.windows(2) {
            assert!(
                pair[1].0.starts_with(&pair[0].0) && pair[0].0 != pair[1].0,
                "{shown:?}"
            );
            assert_eq!(pair[0].1, pair[1].1, "one attempt");
        }
        assert!(
            whole.starts_with(&shown[0].0) && shown[0].0 != whole.trim(),
            "{shown:?}"
        );
        let last = &told.last().unwrap().1["statusUpdate"]["status"];
        assert_eq!(last["message"]["parts"][0]["text"], whole.trim(), "{last}");
        // Two seconds of words: after 300 ms, then once a second.
        let most = 1 + begun.elapsed().as_secs();
        assert!((2..=most).contains(&calls.by_operation["PutItem"]), "{calls:?}");

        // The log has none of it, and once there is an answer nobody is shown the draft.
        let id = told[0].1["task"]["id"].as_str().unwrap();
        let log = bench
            .agent
            .store
            .tasks()
            .events(&bench.key(id), 0, 100)
            .await
            .unwrap();
        assert_eq!(log.len(), 3, "submitted, working, completed: {log:#?}");
        let again = streamed(
            &bench,
            "ann",
            request(&format!("/tasks/{id}:subscribe"), Some(a2a::DRAFTS)).header("last-event-id", "1"),
            json!({}),
        );
        assert_eq!(drafts(&again.await), []);
    }
}

/// Works off the queue where that is who works.
async fn worked(bench: &Bench, inline: bool) {
    if !inline {
        while bench.door.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bench.drain().await;
    }
}

#[tokio::test]
async fn where_nobody_asked_for_drafts_they_cost_no_request() {
    let bench = speaking(true).await;
    // The first of a day begins it in the ledger.
    let first = json!({ "message": message("m0", "hi") });
    streamed(&bench, "ann", request("/message:stream", None), first).await;
    for other in [
        None,
        Some("urn:switchyard:a2a:drafts:v2"),
        Some("https://ext.example/units/v1"),
    ] {
        let begun = Instant::now();
        let id = format!("m-{other:?}");
        let body = json!({ "message": message(&id, "hi") });
        let told = streamed(&bench, "ann", request("/message:stream", other), body);
        let (told, calls) = store::counted(told).await;
        assert_eq!(drafts(&told), []);
        // Admitted, stored, leased, said to be at it, settled, counted, and the table looked at where others may have written.
        let by = |operation: &str| calls.by_operation.get(operation).copied().unwrap_or_default();
        assert_eq!((by("PutItem"), by("GetItem")), (0, 0), "{calls:?}");
        assert!(
            calls.total() - by("Query") == 8 && by("Query") <= 1 + begun.elapsed().as_secs() / 2,
            "{calls:?}"
        );
        let task = told[0].1["task"]["id"].as_str().unwrap();
        let (key, now) = (bench.key(task), domain::Clock::now(bench.clock.as_ref()));
        let found = bench.agent.store.tasks().draft(&key, now).await;
        assert_eq!(found.unwrap(), None);
    }
}

#[tokio::test]
async fn another_client_of_the_task_gets_no_drafts_unless_it_asks_and_a_stranger_gets_nothing() {
    let bench = speaking(false).await;
    let body = json!({ "message": message("m1", "hi"), "configuration": now() });
    let (_, sent) = bench
        .json(
            Some("ann"),
            request("/message:send", Some(a2a::DRAFTS)),
            &body.to_string(),
        )
        .await;
    let id = sent["task"]["id"].as_str().unwrap().to_owned();
    let follow = |extension| {
        let request = request(&format!("/tasks/{id}:subscribe"), extension);
        streamed(&bench, "ann", request, Value::Null)
    };
    let stranger = async {
        tokio::time::sleep(Duration::from_millis(900)).await;
        let path = format!("/tasks/{id}:subscribe");
        bench
            .json(Some("eve"), request(&path, Some(a2a::DRAFTS)), "")
            .await
    };
    let (asks, plain, (status, told), ()) = tokio::join!(
        follow(Some(a2a::DRAFTS)),
        follow(None),
        stranger,
        worked(&bench, false)
    );
    assert!(!drafts(&asks).is_empty(), "{asks:#?}");
    assert_eq!(drafts(&plain), []);
    assert_eq!(plain.len(), asks.len() - drafts(&asks).len());
    assert_eq!(status, 404, "{told}");
    assert!(!told.to_string().contains("rains"));
}

#[tokio::test]
async fn a_draft_of_a_turn_that_is_over_is_not_shown_for_the_next_and_rubbish_is_none() {
    let bench = speaking(false).await;
    let body = json!({ "message": message("m1", "hi"), "configuration": now() });
    let (_, sent) = bench
        .json(
            Some("ann"),
            request("/message:send", Some(a2a::DRAFTS)),
            &body.to_string(),
        )
        .await;
    let id = sent["task"]["id"].as_str().unwrap().to_owned();
    let tasks = bench.agent.store.tasks();
    let (key, now) = (bench.key(&id), domain::Clock::now(bench.clock.as_ref()));
    // The task's first turn is stored; what is there of its words came before that.
    let mut revision = domain::Revision::of(tasks.find(&key, now).await.unwrap().unwrap().task);
    let turn = Box::new(domain::ModelTurn {
        prompts: 0,
        number: 0,
        said: None,
        model: "openai:scripted".to_owned(),
        text: String::new(),
        calls: Vec::new(),
        refused: false,
        usage: domain::TokenUsage::default(),
    });
    let note = domain::WorkNote::Turn { turn };
    revision.record(domain::EventKind::Work { note }, now).unwrap();
    let written = tasks
        .commit(&revision, store::Due::Keep, store::LeaseAfter::Keep)
        .await;
    assert_eq!(written.unwrap(), store::Committed::Yes);
    let old = AnswerDraft {
        turn: 0,
        attempt: 1,
        text: "Let me see".to_owned(),
    };
    assert!(tasks.put_draft(&key, &old, now).await.unwrap());
    let mut bench = bench;
    Arc::get_mut(&mut bench.agent).unwrap().settings.stream_limit = Duration::from_millis(1_200);
    let follow = streamed(
        &bench,
        "ann",
        request(&format!("/tasks/{id}:subscribe"), Some(a2a::DRAFTS)),
        Value::Null,
    );
    assert_eq!(drafts(&follow.await), []);
}

#[tokio::test]
async fn where_work_does_not_fit_into_a_response_a_worker_does_it_and_the_call_follows() {
    let bench = speaking(false).await;
    let blocking = async {
        let answer = bench.send("ann", message("m1", "hi"), json!({})).await;
        (state(&answer).to_owned(), id_of(&answer).to_owned())
    };
    let woken = async {
        while bench.door.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let all: Vec<_> = bench.door.0.lock().unwrap().iter().cloned().collect();
        let (key, now) = (all[0].key(), domain::Clock::now(bench.clock.as_ref()));
        let stored = bench.agent.store.tasks().find(&key, now).await.unwrap().unwrap();
        assert_eq!(stored.lease, None, "nobody works on it here");
        bench.drain().await;
        all.len()
    };
    let ((state, _), wakes) = tokio::join!(blocking, woken);
    assert_eq!((state.as_str(), wakes), ("TASK_STATE_COMPLETED", 1));
}
