//! Which model is asked when: in what order, and never too soon. Limits are short here, as everybody waits for them.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::answer::End;
use super::*;
use crate::{NoDraft, Step, Turn};

/// What a scripted model does next.
#[derive(Clone)]
enum Next {
    Say(&'static str),
    Fail(Fault),
    Hang,
}

struct Scripted {
    name: &'static str,
    script: Mutex<VecDeque<Next>>,
    asked: Arc<Mutex<Vec<(&'static str, Duration)>>>,
    /// Attempts that were dropped before they ended.
    dropped: Arc<AtomicUsize>,
    started: Instant,
}

struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn max_tokens(&self) -> u32 {
        1_000
    }

    async fn attempt(
        &self,
        _: &Dialogue,
        draft: &mut dyn Draft,
        gathered: &mut Gathered,
    ) -> Result<(), Fault> {
        self.asked
            .lock()
            .unwrap()
            .push((self.name, self.started.elapsed()));
        let next = self.script.lock().unwrap().pop_front().expect("asked too often");
        match next {
            Next::Say(text) => {
                draft.grows(text);
                text.clone_into(&mut gathered.text);
                gathered.end = Some(End::Natural);
                Ok(())
            }
            Next::Fail(fault) => Err(fault),
            Next::Hang => {
                let _dropped = OnDrop(Arc::clone(&self.dropped));
                std::future::pending().await
            }
        }
    }
}

/// A tenth of what is usual, and less.
const LIMITS: ChainLimits = ChainLimits {
    attempts: 3,
    whole: Duration::from_millis(1_500),
    patience: Duration::from_millis(400),
    pause: Duration::from_millis(100),
};

/// Chance that always gives the same.
struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

struct World {
    chain: Chain,
    asked: Arc<Mutex<Vec<(&'static str, Duration)>>>,
    dropped: Arc<AtomicUsize>,
}

/// A chain of models with these scripts; an empty one is the rules.
fn world(scripts: &[&[Next]]) -> World {
    let (asked, dropped) = (Arc::default(), Arc::default());
    let links = ["one", "two", "three"]
        .into_iter()
        .zip(scripts)
        .map(|(name, script)| match script {
            [] => Link::Rules,
            script => Link::Hosted {
                provider: Box::new(Scripted {
                    name,
                    script: Mutex::new(script.iter().cloned().collect()),
                    asked: Arc::clone(&asked),
                    dropped: Arc::clone(&dropped),
                    started: Instant::now(),
                }),
                tokens: 32_000,
            },
        });
    World {
        chain: Chain::new(links.collect(), LIMITS, Arc::new(Zeros)),
        asked,
        dropped,
    }
}

impl World {
    async fn step(&self) -> Result<Answer, ModelError> {
        let prompt = Prompt {
            turns: vec![Turn::User("hello".into())],
            ..Prompt::default()
        };
        self.chain.step(&prompt, &mut NoDraft).await
    }

    /// Who was asked, in what order.
    fn asked(&self) -> Vec<&'static str> {
        self.asked.lock().unwrap().iter().map(|(name, _)| *name).collect()
    }

    /// Whether attempts began no sooner than so many milliseconds after the start.
    fn not_before(&self, millis: &[u64]) -> bool {
        let asked = self.asked.lock().unwrap();
        let waited = asked
            .iter()
            .zip(millis)
            .all(|((_, at), least)| *at >= Duration::from_millis(*least));
        asked.len() == millis.len() && waited
    }
}

fn busy(wait: Option<u64>) -> Next {
    Next::Fail(Fault::Busy {
        wait: wait.map(Duration::from_millis),
        cause: "HTTP status 429".into(),
    })
}

fn broken() -> Next {
    Next::Fail(Fault::Broken("cut".into()))
}

fn said(answer: Result<Answer, ModelError>) -> String {
    match answer.unwrap().step {
        Step::Say(text) => text,
        step => panic!("{step:?}"),
    }
}

#[tokio::test]
async fn three_attempts_with_growing_pauses_and_then_the_next_model() {
    let world = world(&[&[broken(), busy(None), broken()], &[broken(), Next::Say("two")]]);
    assert_eq!(said(world.step().await), "two");
    assert_eq!(world.asked(), ["one", "one", "one", "two", "two"]);
    // Half of each pause at least, which doubles; the next model is asked at once.
    assert!(world.not_before(&[0, 50, 150, 150, 200]), "{:?}", world.asked);
}

#[tokio::test]
async fn a_short_wait_is_kept_to_and_a_long_one_is_not_waited_for() {
    let first = world(&[&[busy(Some(400)), Next::Say("one")], &[]]);
    assert_eq!(said(first.step().await), "one");
    assert!(first.not_before(&[0, 400]), "{:?}", first.asked);
    let second = world(&[&[busy(Some(401))], &[Next::Say("two")]]);
    assert_eq!(said(second.step().await), "two");
    assert_eq!(second.asked(), ["one", "two"]);
}

#[tokio::test]
async fn when_nobody_answers_it_is_for_later() {
    let world = world(&[&[broken(), broken(), broken()], &[busy(Some(60_000))]]);
    assert!(matches!(world.step().await, Err(ModelError::Unavailable(_))));
    assert_eq!(world.asked().len(), 4);
}

#[tokio::test]
async fn what_is_denied_or_refused_is_not_tried_again_anywhere() {
    let denied = world(&[&[Next::Fail(Fault::Denied("HTTP status 401".into()))], &[]]);
    let told = denied.step().await;
    assert!(
        matches!(&told, Err(ModelError::Denied(cause)) if cause == "HTTP status 401"),
        "{told:?}"
    );
    let refused = world(&[&[Next::Fail(Fault::Refused("I will not.".into()))], &[]]);
    let told = refused.step().await;
    assert!(
        matches!(&told, Err(ModelError::Refused(words)) if words == "I will not."),
        "{told:?}"
    );
    assert_eq!((denied.asked().len(), refused.asked().len()), (1, 1));
}

#[tokio::test]
async fn what_cannot_be_used_goes_to_the_next_model_at_once() {
    let fault = || Next::Fail(Fault::Unusable("3 MB".into()));
    let world_of_two = world(&[&[fault()], &[Next::Say("two")]]);
    assert_eq!(said(world_of_two.step().await), "two");
    assert_eq!(world_of_two.asked(), ["one", "two"]);
    let alone = world(&[&[fault()]]);
    assert!(matches!(alone.step().await, Err(ModelError::Unusable(_))));
}

#[tokio::test]
async fn all_of_it_ends_at_one_limit_and_the_rules_need_no_time() {
    let started = Instant::now();
    let hosted = world(&[&[Next::Hang], &[Next::Say("two")]]);
    assert!(matches!(hosted.step().await, Err(ModelError::Unavailable(_))));
    assert!(started.elapsed() >= LIMITS.whole);
    assert_eq!(hosted.asked(), ["one"], "no time is left for the second");
    assert_eq!(hosted.dropped.load(Ordering::SeqCst), 1);
    let rules = world(&[&[Next::Hang], &[]]);
    let answer = rules.step().await.unwrap();
    assert_eq!(answer.model, "rules");
}

#[tokio::test]
async fn who_drops_the_asking_ends_it_at_once_also_in_a_pause() {
    let hanging = world(&[&[Next::Hang]]);
    let soon = Duration::from_millis(10);
    assert!(tokio::time::timeout(soon, hanging.step()).await.is_err());
    assert_eq!(hanging.dropped.load(Ordering::SeqCst), 1);
    let pausing = world(&[&[busy(Some(100)), Next::Say("late")]]);
    assert!(tokio::time::timeout(soon, pausing.step()).await.is_err());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(pausing.asked().len(), 1);
}

/// A draft as text: attempts between bars.
struct Shown(String);

impl Draft for Shown {
    fn begins(&mut self, attempt: u32) {
        self.0.push_str(&format!("|{attempt}:"));
    }
    fn grows(&mut self, text: &str) {
        self.0.push_str(text);
    }
}

#[tokio::test]
async fn a_draft_counts_attempts_over_all_models() {
    let world = world(&[&[broken(), busy(Some(60_000))], &[Next::Say("two")]]);
    let mut shown = Shown(String::new());
    let prompt = Prompt {
        turns: vec![Turn::User("hello".into())],
        ..Prompt::default()
    };
    world.chain.step(&prompt, &mut shown).await.unwrap();
    assert_eq!(shown.0, "|1:|2:|3:two");
}

/// So many reservations, and what became of each.
struct Purse {
    left: AtomicUsize,
    told: Arc<Mutex<Vec<String>>>,
}

struct Coin(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Budget for Purse {
    async fn reserve(&self, tokens: u64) -> Result<Box<dyn Reservation>, BudgetError> {
        assert!(tokens > 1_000, "the prompt as well: {tokens}");
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            let until = domain::Timestamp::from_millis(86_400_000);
            return Err(BudgetError::Spent { until });
        }
        self.left.store(left - 1, Ordering::SeqCst);
        Ok(Box::new(Coin(Arc::clone(&self.told))))
    }
}

#[async_trait]
impl Reservation for Coin {
    async fn settle(self: Box<Self>, model: &str, taken: domain::TokenUsage) {
        let told = format!("{model} took {}", taken.input + taken.output);
        self.0.lock().unwrap().push(told);
    }

    async fn release(self: Box<Self>) {
        self.0.lock().unwrap().push("released".to_owned());
    }
}

fn purse(left: usize) -> (Arc<Purse>, Arc<Mutex<Vec<String>>>) {
    let told = Arc::default();
    let purse = Purse {
        left: AtomicUsize::new(left),
        told: Arc::clone(&told),
    };
    (Arc::new(purse), told)
}

#[tokio::test]
async fn every_attempt_is_reserved_and_counts_by_what_came_of_it() {
    let mut world = world(&[&[busy(None), broken(), Next::Say("hello")]]);
    let (purse, told) = purse(10);
    world.chain = world.chain.within(purse.clone());
    let answer = world.step().await.unwrap();
    assert_eq!(answer.step, Step::Say("hello".into()));
    let told = told.lock().unwrap();
    let [busy, broken, answered] = told.as_slice() else {
        panic!("{told:?}")
    };
    // What brought nothing took nothing; whose model does not count is counted roughly.
    assert_eq!([busy, broken], ["released"; 2]);
    assert!(
        answered.starts_with("one took ") && answered != "one took 0",
        "{answered}"
    );
    assert_eq!(purse.left.load(Ordering::SeqCst), 7, "three attempts");
}

#[tokio::test]
async fn a_spent_budget_leaves_the_rules_or_says_until_when() {
    let (purse, _) = purse(0);
    let mut hosted = world(&[&[Next::Say("never")]]);
    hosted.chain = hosted.chain.within(purse.clone());
    let error = hosted.step().await.unwrap_err();
    assert!(
        matches!(error, ModelError::Spent { until } if until.millis() == 86_400_000),
        "{error:?}"
    );
    assert!(hosted.asked.lock().unwrap().is_empty(), "the model is not asked");

    let mut with_rules = world(&[&[Next::Say("never")], &[]]);
    with_rules.chain = with_rules.chain.within(purse);
    assert!(with_rules.step().await.unwrap().is_by_rule());
}
