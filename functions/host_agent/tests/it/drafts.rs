//! A hosted model speaks: its words are kept as they come for who asked for that, it is asked in time or by somebody else,
//! and a host without one promises nothing of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Shutdown, Wake};
use async_trait::async_trait;
use domain::{Clock as _, TaskId, TaskState};
use llm::{Answer, Draft, Model, ModelError, Prompt, Step};
use serde_json::json;
use store::AnswerDraft;

use crate::world::{World, status, world_with};

/// Says its words, waits for as long as it is told, and then answers with them.
#[derive(Clone, Default)]
struct Hosted(Arc<Spoken>);

#[derive(Default)]
struct Spoken {
    words: Mutex<Vec<&'static str>>,
    wait: Mutex<Duration>,
    asked: AtomicUsize,
}

#[async_trait]
impl Model for Hosted {
    async fn step(&self, _prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let words = self.0.words.lock().unwrap().clone();
        let wait = *self.0.wait.lock().unwrap();
        draft.begins(1);
        for word in &words {
            draft.grows(word);
        }
        tokio::time::sleep(wait).await;
        Ok(Answer {
            model: "openai:scripted".to_owned(),
            ..Answer::from(Step::Say(words.concat()))
        })
    }

    fn is_hosted(&self) -> bool {
        true
    }
}

impl Hosted {
    fn says(&self, words: &[&'static str], wait: Duration) {
        *self.0.words.lock().unwrap() = words.to_vec();
        *self.0.wait.lock().unwrap() = wait;
    }

    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }
}

async fn hosted() -> (World, Hosted) {
    let model = Hosted::default();
    let world = world_with(|parts, _| {
        parts.model = Arc::new(model.clone());
        // No look for a cancel is among the requests that are counted.
        parts.settings.cancel_check = Duration::from_secs(60);
    })
    .await;
    world.registered(json!([world.weather()]), json!({"weather": "global"}));
    (world, model)
}

async fn drafted(world: &World, id: TaskId) -> Option<AnswerDraft> {
    let found = world.store.tasks().draft(&world.key(id), world.clock.now()).await;
    found.unwrap()
}

#[tokio::test]
async fn words_are_kept_for_who_asked_for_them_and_cost_nothing_otherwise() {
    let (world, model) = hosted().await;
    model.says(&["It ", "rains."], Duration::from_millis(700));
    let plain = world
        .say_naming("urn:switchyard:a2a:drafts:v0", "m-1", "Rain?")
        .await;
    let (task, calls) = store::counted(Box::pin(world.wake(plain))).await;
    assert_eq!(status(&task), (TaskState::Completed, "It rains.".to_owned()));
    assert_eq!(calls.by_operation.get("PutItem"), None, "{calls:?}");
    assert_eq!(drafted(&world, plain).await, None);

    let asked = world.say_naming(a2a::DRAFTS, "m-2", "Rain?").await;
    let look = async {
        tokio::time::sleep(Duration::from_millis(550)).await;
        drafted(&world, asked).await
    };
    let (draft, (task, with)) = tokio::join!(look, store::counted(world.wake(asked)));
    assert_eq!(status(&task), (TaskState::Completed, "It rains.".to_owned()));
    assert_eq!(with.by_operation.get("PutItem"), Some(&1), "{with:?}");
    assert_eq!(
        with.total(),
        calls.total() + 1,
        "one write of the words, and no other request: {calls:?} {with:?}"
    );
    let draft = draft.unwrap();
    assert_eq!((draft.turn, draft.text.as_str()), (0, "It rains."));
    assert_eq!(drafted(&world, asked).await, None, "it went with the task's end");
    // Nothing else knows of it.
    let log = world
        .store
        .tasks()
        .events(&world.key(asked), 0, 100)
        .await
        .unwrap();
    let plain_log = world
        .store
        .tasks()
        .events(&world.key(plain), 0, 100)
        .await
        .unwrap();
    assert_eq!(log.len(), plain_log.len());

    // What is whole within a moment needs no draft.
    model.says(&["Yes."], Duration::from_millis(20));
    let quick = world.say_naming(a2a::DRAFTS, "m-3", "Sure?").await;
    let (_, calls) = store::counted(Box::pin(world.wake(quick))).await;
    assert_eq!(calls.by_operation.get("PutItem"), None, "{calls:?}");
}

#[tokio::test]
async fn the_words_of_a_killed_host_give_way_to_the_next_ones() {
    let (world, model) = hosted().await;
    let id = world.say_naming(a2a::DRAFTS, "m-1", "Rain?").await;
    model.says(&["It rains, and it will for days."], Duration::from_secs(60));
    let wake = Wake::task(&world.key(id));
    // It ends in the middle of the model's words, and says nothing to anybody.
    let killed = host_agent::handle(&world.host, &wake);
    assert!(
        tokio::time::timeout(Duration::from_millis(900), killed)
            .await
            .is_err()
    );
    let first = drafted(&world, id).await.unwrap();
    assert_eq!(first.text, "It rains, and it will for days.");
    world.clock.advance(Duration::from_secs(31));
    model.says(&["Sun."], Duration::from_millis(600));
    let look = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        drafted(&world, id).await.unwrap()
    };
    let (second, handled) = tokio::join!(look, host_agent::handle(&world.restarted, &wake));
    handled.unwrap();
    assert_eq!(second.text, "Sun.", "shorter, but of a later attempt");
    assert!(
        second.attempt > first.attempt && second.turn == first.turn,
        "{first:?} {second:?}"
    );
    assert_eq!(
        status(&world.task(id).await),
        (TaskState::Completed, "Sun.".to_owned())
    );
    assert_eq!(model.asked(), 2, "turns and kills");
}

#[tokio::test]
async fn a_model_is_not_asked_in_too_little_time() {
    let (world, model) = hosted().await;
    model.says(&["Sun."], Duration::ZERO);
    let id = world.say("user-1", "m-1", "Rain?", None).await;
    let wake = Wake::task(&world.key(id));
    world.door.0.lock().unwrap().clear();
    for (left, asked) in [(79, 0), (114, 1)] {
        let until = Shutdown::after(Duration::from_secs(left));
        until.scope(host_agent::handle(&world.host, &wake)).await.unwrap();
        assert_eq!(model.asked(), asked, "{left} s");
        if asked == 0 {
            let woken: Vec<Duration> = world
                .door
                .0
                .lock()
                .unwrap()
                .drain(..)
                .map(|(_, wait)| wait)
                .collect();
            assert_eq!(woken, [Duration::ZERO], "somebody else begins it at once");
        }
    }
    assert_eq!(world.task(id).await.status.state, TaskState::Completed);
    // The rules take no time.
    let (world, _weather) = crate::world::world().await;
    let id = world.say("user-1", "m-1", "What can you do?", None).await;
    let late = Shutdown::after(Duration::from_secs(10));
    late.scope(host_agent::handle(&world.host, &Wake::task(&world.key(id))))
        .await
        .unwrap();
    assert_eq!(world.task(id).await.status.state, TaskState::Completed);
}

#[tokio::test]
async fn only_a_host_with_a_hosted_model_has_the_extension_and_works_in_no_response() {
    let (hosted, _) = hosted().await;
    let (by_rule, _weather) = crate::world::world().await;
    let has = |world: &World| {
        let agent = &world.host.agent;
        let uris: Vec<&str> = agent
            .card
            .extensions
            .iter()
            .map(|known| known.uri.as_str())
            .collect();
        (uris.contains(&a2a::DRAFTS), agent.executor.runs_inline())
    };
    assert_eq!((has(&hosted), has(&by_rule)), ((true, false), (false, true)));
    // Named at a host without it, it is not in use.
    let id = by_rule.say_naming(a2a::DRAFTS, "m-1", "What can you do?").await;
    assert!(!a2a::wants_drafts(&by_rule.task(id).await));
}
