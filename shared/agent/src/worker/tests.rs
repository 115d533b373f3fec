//! The worker over a real store: leases, panics, poison, stops, cancels.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use auth::{Sealer, Verifier};
use domain::{
    AgentName, Artifact, Clock as _, ContextId, EventKind, ManualClock, Message, NewTask, Owner, Part,
    SystemEntropy, TaskId, TaskState, Tenant, Timestamp,
};
use outbound::{Outbound, Policy};
use store::NewRecord;

use super::*;
use crate::RetrySchedule;
use crate::{Access, Executor, Settings, WakeDoor, WakeError};

#[derive(Default)]
struct Door(Mutex<VecDeque<(Wake, Duration)>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back((wake.clone(), delay));
        Ok(())
    }
}

struct Bench {
    agent: Arc<Agent>,
    door: Arc<Door>,
    clock: Arc<ManualClock>,
    key: TaskKey,
    _database: store_testing::Database,
}

/// An agent with one task that was acknowledged.
async fn bench(executor: impl Executor + 'static) -> Bench {
    let (store, database) = store_testing::start().await;
    let entropy = Arc::new(SystemEntropy);
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    let door = Arc::new(Door::default());
    let url: url::Url = "http://127.0.0.1:9/a".parse().unwrap();
    let card = a2a::card::Card {
        name: "Test".into(),
        description: "A test".into(),
        version: "1".into(),
        url: url.clone(),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: Vec::new(),
        default_input_modes: Vec::new(),
        default_output_modes: Vec::new(),
        streaming: false,
        push_notifications: true,
        extended: false,
        extensions: Vec::new(),
        secured: None,
    };
    let agent = Arc::new(Agent {
        name: AgentName::parse("test").unwrap(),
        card,
        own_tenant: None,
        access: Access::Open,
        store,
        wake: door.clone(),
        executor: Arc::new(executor),
        validator: Arc::new(Verifier::new(url.to_string(), Vec::new()).unwrap()),
        sealer: Arc::new(Sealer::new(vec![("k".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: Outbound::new(Policy::default(), entropy.clone()),
        clock: clock.clone(),
        entropy,
        settings: Settings {
            cancel_check: Duration::from_millis(20),
            blocking_limit: Duration::from_millis(300),
            ..Settings::default()
        },
    });
    let new = NewTask {
        id: TaskId::random(&SystemEntropy),
        tenant: Tenant::parse("acme").unwrap(),
        agent: agent.name.clone(),
        context_id: ContextId::parse("c").unwrap(),
        owner: Owner::parse("ann").unwrap(),
        message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("hi")]),
        trace: None,
    };
    let task = Task::create(new, clock.now());
    let record = NewRecord {
        task: &task,
        message_id: &MessageId::parse("m").unwrap(),
        body_hash: "h",
        push: None,
        due_at: clock.now(),
        retention: Duration::from_secs(86_400),
    };
    agent.store.tasks().create(&record).await.unwrap();
    Bench {
        key: TaskKey::from(&task),
        agent,
        door,
        clock,
        _database: database,
    }
}

impl Bench {
    async fn wake(&self) {
        handle(&self.agent, &Wake::task(&self.key)).await.unwrap();
    }

    async fn stored(&self) -> store::StoredTask {
        let now = self.clock.now();
        self.agent
            .store
            .tasks()
            .find(&self.key, now)
            .await
            .unwrap()
            .unwrap()
    }

    async fn status(&self) -> (TaskState, String) {
        let status = self.stored().await.task.status;
        (
            status.state,
            status.message.map(|message| message.text()).unwrap_or_default(),
        )
    }

    fn woken(&self) -> Vec<Duration> {
        self.door
            .0
            .lock()
            .unwrap()
            .drain(..)
            .map(|(_, delay)| delay)
            .collect()
    }

    /// What a cancel by somebody else writes.
    async fn call_off(&self) {
        let mut revision = domain::Revision::of(self.stored().await.task);
        let canceled = EventKind::status(TaskState::Canceled, None);
        revision.record(canceled, self.clock.now()).unwrap();
        let tasks = self.agent.store.tasks();
        let done = tasks
            .commit(&revision, Due::At(self.clock.now()), store::LeaseAfter::Keep)
            .await;
        assert_eq!(done.unwrap(), store::Committed::Yes);
    }
}

struct Panics;

#[async_trait]
impl Executor for Panics {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        assert!(run.attempt() > 2, "this attempt panics");
        Err(ExecuteError::Retry("The oracle is away.".into()))
    }
}

#[tokio::test]
async fn an_executor_that_panics_is_tried_again_and_every_failed_attempt_is_noted() {
    let bench = bench(Panics).await;
    for attempt in 1..=8 {
        bench.wake().await;
        bench.clock.advance(Duration::from_secs(800));
        if attempt < 8 {
            let stored = bench.stored().await;
            assert_eq!(
                (stored.attempts, stored.lease.is_some()),
                (attempt, false),
                "{stored:?}"
            );
        }
    }
    assert_eq!(
        bench.status().await,
        (TaskState::Failed, "The oracle is away.".into())
    );
    assert_eq!(bench.woken(), RetrySchedule::default().waits());
    let events = bench
        .agent
        .store
        .tasks()
        .events(&bench.key, 0, 100)
        .await
        .unwrap();
    let stumbles: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Work {
                note: domain::WorkNote::Stumbled { stumble },
            } => Some((stumble.attempt, stumble.reason.as_str())),
            _ => None,
        })
        .collect();
    let panicked = (1..=2).map(|attempt| (attempt, "The agent made an error of its own."));
    let away = (3..=7).map(|attempt| (attempt, "The oracle is away."));
    assert_eq!(stumbles, panicked.chain(away).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_task_that_crashes_again_and_again_is_given_up_with_its_last_error() {
    let bench = bench(Panics).await;
    bench.wake().await;
    for crash in 0..bench.agent.settings.max_attempts {
        bench.clock.advance(Duration::from_secs(60));
        let now = bench.clock.now();
        let holder = format!("crash-{crash}");
        let until = now.after(Duration::from_secs(30));
        let leased = bench
            .agent
            .store
            .tasks()
            .lease(&bench.key, &holder, now, until)
            .await;
        assert!(matches!(leased.unwrap(), Leased::Taken(_)));
    }
    bench.clock.advance(Duration::from_secs(60));
    bench.wake().await;
    let (state, text) = bench.status().await;
    assert_eq!(state, TaskState::Failed);
    assert!(
        text.ends_with("The last error was: The agent made an error of its own."),
        "{text}"
    );
}

/// Parks with what it says, in one write; and what goes wrong afterwards is too late.
struct Rests;

/// How long that is.
const REST: Duration = Duration::from_secs(30);

#[async_trait]
impl Executor for Rests {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let until = run.now().after(REST);
        let status = EventKind::status(TaskState::Working, Some(run.message("I wait.")));
        let rest = |task: &Task| (task.status.state == TaskState::Working).then_some(until);
        run.record_and_park(vec![status], rest).await?;
        assert_eq!(run.parked(), Some(until));
        Err(ExecuteError::Retry("too late".into()))
    }
}

#[tokio::test]
async fn what_an_execution_says_last_and_the_end_of_its_lease_are_one_write() {
    let bench = bench(Rests).await;
    let worked = execute_here(&bench.agent, &bench.key);
    let (worked, calls) = store::counted(worked).await;
    assert!(matches!(worked.unwrap(), Executed::Waits(_)));
    assert_eq!(calls.total(), 2, "the lease, and the rest: {calls:?}");
    let stored = bench.stored().await;
    assert_eq!(bench.status().await, (TaskState::Working, "I wait.".into()));
    assert_eq!((stored.task.rev, stored.attempts, &stored.lease), (2, 0, &None));
    assert_eq!(stored.due_at, Some(bench.clock.now().after(REST)));
    assert_eq!(bench.woken(), [REST]);
}

/// Sends its user elsewhere.
struct AsksConsent;

#[async_trait]
impl Executor for AsksConsent {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let mut message = run.message("Open the link and agree.");
        let link = "https://idp.example/connect/1";
        message.metadata.insert("authUrl".to_owned(), link.into());
        let until = run.now().after(REST);
        Ok(Outcome::AuthRequired { message, until })
    }
}

#[tokio::test]
async fn asking_for_consent_and_the_end_of_the_lease_are_one_write() {
    let bench = bench(AsksConsent).await;
    let (worked, calls) = store::counted(execute_here(&bench.agent, &bench.key)).await;
    assert!(matches!(worked.unwrap(), Executed::Waits(_)));
    assert_eq!(calls.by_operation["TransactWriteItems"], 1, "{calls:?}");
    let stored = bench.stored().await;
    let told = (TaskState::AuthRequired, "Open the link and agree.".into());
    assert_eq!(bench.status().await, told);
    let message = stored.task.status.message.unwrap();
    assert_eq!(message.metadata["authUrl"], "https://idp.example/connect/1");
    assert_eq!((stored.attempts, &stored.lease), (0, &None));
    assert_eq!(stored.due_at, Some(bench.clock.now().after(REST)));
    assert_eq!(bench.woken(), [REST]);
}

/// Asks its user.
struct AsksUser;

#[async_trait]
impl Executor for AsksUser {
    async fn execute(&self, _: &mut Run) -> Result<Outcome, ExecuteError> {
        Ok(Outcome::InputRequired("Which one?".into()))
    }
}

#[tokio::test]
async fn what_its_user_does_not_answer_ends_when_it_would_not_be_kept_any_longer() {
    let bench = bench(AsksUser).await;
    let day = Duration::from_secs(86_400);
    bench.wake().await;
    let stored = bench.stored().await;
    assert_eq!(stored.due_at, Some(bench.clock.now().after(day)));
    assert_eq!(stored.expires_at, None);
    // Woken before, it asks again and has its time from then on.
    bench.clock.advance(day / 2);
    bench.wake().await;
    assert_eq!(bench.status().await.0, TaskState::InputRequired);
    bench.clock.advance(day);
    bench.wake().await;
    let told = (TaskState::Canceled, "Nobody answered for 1 day.".into());
    assert_eq!(bench.status().await, told);
    let stored = bench.stored().await;
    assert!(
        stored.due_at.is_none() && stored.expires_at.is_some(),
        "it has its end"
    );
}

/// Counts to five, a step each execution can go on from, and hangs after every second.
struct Counts;

#[async_trait]
impl Executor for Counts {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let begun: u32 = run.checkpoint().unwrap_or_default();
        for step in begun + 1..=5 {
            run.save_checkpoint(&step).await?;
            if step == begun + 2 {
                std::future::pending::<()>().await;
            }
        }
        Ok(Outcome::Completed {
            artifacts: vec![Artifact::new(
                "a",
                vec![Part::text(format!("went on from {begun}"))],
            )],
            say: None,
        })
    }
}

#[tokio::test]
async fn an_execution_whose_time_is_up_hands_over_and_the_next_goes_on_from_its_checkpoint() {
    let bench = bench(Counts).await;
    for reached in [2, 4] {
        let handed = execute_here(&bench.agent, &bench.key).await.unwrap();
        assert!(matches!(handed, Executed::Waits(_)), "{handed:?}");
        let stored = bench.stored().await;
        assert_eq!(stored.task.checkpoint, Some(serde_json::json!(reached)));
        assert!(
            stored.lease.is_none() && stored.due_at == Some(bench.clock.now()),
            "{stored:?}"
        );
        assert_eq!(bench.woken(), [Duration::ZERO], "somebody else is woken at once");
        assert_eq!(stored.attempts, 0, "it brought something");
    }
    let wake = Wake::task(&bench.key);
    Shutdown::default()
        .within(Duration::from_secs(60))
        .scope(handle(&bench.agent, &wake))
        .await
        .unwrap();
    let task = bench.stored().await.task;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.artifacts[0].text(), "went on from 4");
}

#[tokio::test]
async fn the_end_of_the_process_stops_an_execution_in_good_order() {
    let bench = bench(Forever::default()).await;
    let (stop, signal) = tokio::sync::watch::channel(false);
    let wake = Wake::task(&bench.key);
    let working = Shutdown::on(signal).scope(handle(&bench.agent, &wake));
    let (worked, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(20), working), async {
        while bench.stored().await.lease.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.send(true).unwrap();
    });
    worked.unwrap().unwrap();
    let stored = bench.stored().await;
    assert!(stored.lease.is_none());
    assert_eq!(stored.attempts, 1, "it brought nothing, which counts");
    assert_eq!(bench.woken(), [Duration::ZERO]);
}

/// Begins nothing that may take longer than is left.
struct Careful;

#[async_trait]
impl Executor for Careful {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        match run.time_left() {
            Some(left) if left < Duration::from_secs(80) => Err(ExecuteError::TooLittleTime),
            _ => Ok(Outcome::Completed {
                artifacts: Vec::new(),
                say: None,
            }),
        }
    }
}

#[tokio::test]
async fn what_may_not_be_done_in_time_is_left_to_somebody_else_at_once() {
    let bench = bench(Careful).await;
    let wake = Wake::task(&bench.key);
    let late = Shutdown::after(Duration::from_secs(79));
    late.scope(handle(&bench.agent, &wake)).await.unwrap();
    let stored = bench.stored().await;
    assert_eq!(
        (stored.lease, stored.attempts),
        (None, 1),
        "it brought nothing, which counts"
    );
    assert_eq!(
        stored.due_at,
        Some(bench.clock.now()),
        "also where the wake is lost"
    );
    assert_eq!(stored.task.status.state, TaskState::Submitted);
    assert_eq!(bench.woken(), [Duration::ZERO]);
    let soon = Shutdown::after(Duration::from_secs(114));
    soon.scope(handle(&bench.agent, &wake)).await.unwrap();
    assert_eq!(bench.status().await.0, TaskState::Completed);
    assert!(bench.woken().is_empty());
}

#[derive(Default)]
struct Forever {
    told: Arc<AtomicU32>,
    unreachable: u32,
}

#[async_trait]
impl Executor for Forever {
    async fn execute(&self, _run: &mut Run) -> Result<Outcome, ExecuteError> {
        std::future::pending().await
    }

    async fn cancel(&self, _run: &mut Run) -> Result<(), ExecuteError> {
        match self.told.fetch_add(1, Ordering::SeqCst) < self.unreachable {
            true => Err(ExecuteError::Retry("nobody there".into())),
            false => Ok(()),
        }
    }
}

#[tokio::test]
async fn a_cancel_reaches_an_execution_elsewhere_within_two_seconds_and_tells_until_it_is_heard() {
    let told = Arc::new(AtomicU32::new(0));
    let executor = Forever {
        told: Arc::clone(&told),
        unreachable: 2,
    };
    let bench = bench(executor).await;
    let (worked, begun) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(20), bench.wake()),
        async {
            while bench.stored().await.lease.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            bench.call_off().await;
            tokio::time::Instant::now()
        }
    );
    worked.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(told.load(Ordering::SeqCst), 1);
    // Not heard: it is stored that somebody is still to be told.
    let due = bench.stored().await.due_at.unwrap();
    assert!(due > bench.clock.now());
    for tries in 2..=3 {
        bench.clock.advance(Duration::from_secs(60));
        bench.wake().await;
        assert_eq!(told.load(Ordering::SeqCst), tries);
    }
    assert_eq!(bench.stored().await.due_at, None, "heard");
    assert_eq!(bench.stored().await.task.status.state, TaskState::Canceled);
}

#[tokio::test]
async fn how_often_a_task_was_tried_does_not_count_against_those_who_are_to_hear_of_its_end() {
    let told = Arc::new(AtomicU32::new(0));
    let executor = Forever {
        told: Arc::clone(&told),
        unreachable: 2,
    };
    let bench = bench(executor).await;
    for crash in 0..4 {
        let now = bench.clock.now();
        let until = now.after(Duration::from_secs(30));
        let tasks = bench.agent.store.tasks();
        let leased = tasks
            .lease(&bench.key, &format!("crash-{crash}"), now, until)
            .await;
        assert!(matches!(leased.unwrap(), Leased::Taken(_)));
        bench.clock.advance(Duration::from_secs(31));
    }
    bench.call_off().await;
    for wait in [1, 5] {
        bench.wake().await;
        let due = bench.stored().await.due_at.unwrap();
        assert_eq!(due.since(bench.clock.now()), Duration::from_secs(wait));
        bench.clock.advance(Duration::from_secs(wait));
    }
    bench.wake().await;
    assert_eq!(bench.stored().await.due_at, None);
    assert_eq!(told.load(Ordering::SeqCst), 3);
}

/// In the middle of something that cannot be taken back when the cancel comes.
struct Sends {
    done: Arc<AtomicU32>,
}

#[async_trait]
impl Executor for Sends {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let undisturbed = run.undisturbed();
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.done.fetch_add(1, Ordering::SeqCst);
        drop(undisturbed);
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_has_left_is_let_end_before_a_cancel_stops_the_execution() {
    let done = Arc::new(AtomicU32::new(0));
    let bench = bench(Sends {
        done: Arc::clone(&done),
    })
    .await;
    let (worked, ()) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(20), bench.wake()),
        async {
            while bench.stored().await.lease.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            bench.call_off().await;
        }
    );
    worked.unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

struct Says(Outcome);

#[async_trait]
impl Executor for Says {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        if run.task().jobs.is_empty() {
            run.record(vec![EventKind::Job {
                job: Box::new(domain::testing::job(run.now())),
            }])
            .await?;
        }
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn a_parent_that_ends_with_open_jobs_is_due_until_their_agents_were_told() {
    let bench = bench(Says(Outcome::Failed("That went wrong.".into()))).await;
    bench.wake().await;
    assert_eq!(bench.stored().await.due_at, Some(bench.clock.now()));
    assert_eq!(bench.woken(), [Duration::ZERO]);
    bench.wake().await;
    assert_eq!(bench.stored().await.due_at, None);
}

#[tokio::test]
async fn a_direct_message_is_kept_as_the_answer() {
    let said = Message::agent_text(MessageId::derived("hello"), "Hello to you");
    let bench = bench(Says(Outcome::Message(said))).await;
    let Executed::Settled(task) = execute_here(&bench.agent, &bench.key).await.unwrap() else {
        panic!("it is settled")
    };
    assert_eq!(
        task.direct_message().map(Message::text).as_deref(),
        Some("Hello to you")
    );
    assert_eq!(bench.stored().await.task.direct_message(), task.direct_message());
}

/// Would end whatever it is given.
struct Ends;

#[async_trait]
impl Executor for Ends {
    async fn execute(&self, _: &mut Run) -> Result<Outcome, ExecuteError> {
        Ok(Outcome::Completed {
            artifacts: Vec::new(),
            say: None,
        })
    }
}

/// A bench whose task holds what only a newer release knows.
async fn newer_bench() -> Bench {
    let mut bench = bench(Ends).await;
    let mut task = bench.stored().await.task;
    task.id = TaskId::random(&SystemEntropy);
    task.needs = domain::RECORDS + 1;
    let record = NewRecord {
        task: &task,
        message_id: &MessageId::parse("newer").unwrap(),
        body_hash: "h",
        push: None,
        due_at: bench.clock.now(),
        retention: Duration::from_secs(86_400),
    };
    bench.agent.store.tasks().create(&record).await.unwrap();
    bench.key = TaskKey::from(&task);
    bench
}

#[tokio::test]
async fn a_task_that_needs_a_newer_release_is_left_to_it_without_an_attempt_and_unknown_in_the_end() {
    let bench = newer_bench().await;
    let born = bench.stored().await.task;
    for _ in 0..bench.agent.settings.max_attempts + 2 {
        bench.wake().await;
        let stored = bench.stored().await;
        assert_eq!(stored.task, born, "untouched");
        assert_eq!((stored.attempts, stored.lease), (0, None));
        let again = bench.clock.now().after(Duration::from_secs(30));
        assert_eq!(stored.due_at, Some(again));
        bench.clock.advance(Duration::from_secs(30));
    }
    bench.clock.advance(bench.agent.settings.newer_release);
    bench.wake().await;
    let needs = "This task needs a newer release.".to_owned();
    assert_eq!(bench.status().await, (TaskState::Unknown, needs));
    let told = bench.stored().await;
    bench.wake().await;
    let stored = bench.stored().await;
    assert_eq!((stored.task, stored.due_at), (told.task, None), "told once");
}

#[tokio::test]
async fn a_cancel_of_a_task_that_needs_a_newer_release_is_kept_for_it() {
    let bench = newer_bench().await;
    bench.call_off().await;
    bench.wake().await;
    let stored = bench.stored().await;
    assert_eq!(stored.task.status.state, TaskState::Canceled);
    assert_eq!(stored.task.needs, domain::RECORDS + 1);
    let again = bench.clock.now().after(Duration::from_secs(30));
    assert_eq!(
        stored.due_at,
        Some(again),
        "its parts are told by whoever knows them"
    );
}

#[tokio::test]
async fn what_is_due_of_a_tenant_that_is_not_active_is_put_off_and_ends_with_it() {
    let bench = bench(Panics).await;
    let (tenants, acme) = (bench.agent.store.tenants(), &bench.key.tenant);
    tenants.add(acme).await.unwrap();
    tenants.suspend(acme, Some(bench.clock.now())).await.unwrap();
    for hours in [1, 1, 2, 4, 8, 16, 24, 24] {
        bench.wake().await;
        let wait = Duration::from_secs(hours * 3600);
        let (stored, due) = (bench.stored().await, bench.clock.now().after(wait));
        assert_eq!((stored.due_at, stored.attempts), (Some(due), 0), "{hours}");
        // Not due, nothing is put off any further.
        bench.wake().await;
        bench.clock.advance(wait);
    }
    tenants.remove(acme).await.unwrap();
    bench.wake().await;
    let (stored, end) = (
        bench.stored().await,
        bench.clock.now().after(Duration::from_secs(86_400)),
    );
    assert_eq!((stored.due_at, stored.expires_at), (None, Some(end)));
}

#[tokio::test]
async fn work_wakes_itself_a_thousand_times_in_a_row_and_then_leaves_it_to_the_sweeper() {
    for (before, after) in [(None, Some(1)), (Some(999), Some(1000)), (Some(1000), None)] {
        let bench = bench(Says(Outcome::Failed("That went wrong.".into()))).await;
        let mut wake = serde_json::to_value(Wake::task(&bench.key)).unwrap();
        wake.as_object_mut()
            .unwrap()
            .extend(before.map(|hops| ("hops".to_owned(), hops.into())));
        handle(&bench.agent, &serde_json::from_value(wake).unwrap())
            .await
            .unwrap();
        let sent = bench.door.0.lock().unwrap().pop_front();
        let hops = sent.map(|(wake, _)| serde_json::to_value(wake).unwrap()["hops"].clone());
        assert_eq!(hops, after.map(serde_json::Value::from), "{before:?}");
        assert_eq!(
            bench.stored().await.due_at,
            Some(bench.clock.now()),
            "the sweeper finds it"
        );
    }
}
