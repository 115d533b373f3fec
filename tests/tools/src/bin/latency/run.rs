//! One run: a load for a while, and what came of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::{AgentName, Clock as _, EventKind, SystemClock, TaskId, TaskState, Tenant};
use local::{Meter, Metered, System};
use serde_json::{Value, json};
use store::TaskKey;
use system_testing::User;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::TENANT;
use crate::page::{self, Seen};
use crate::receivers::Receivers;
use crate::specialist::Specialist;
use crate::starts::Starts;
use tools::arrivals;
use tools::figures::Times;

/// How long what is under way may take to end once no more tasks arrive.
const REST: Duration = Duration::from_secs(60);

/// A load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Tasks a second.
    pub(crate) rate: u32,
    pub(crate) lasts: Duration,
    /// One of so many tasks is followed by a page.
    pub(crate) followed: u32,
    /// One of the receivers is dead.
    pub(crate) dead: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// How many tasks there were.
    pub(crate) tasks: usize,
    /// Those that ended as they should.
    pub(crate) done: Vec<TaskKey>,
    /// Send → acknowledgement.
    pub(crate) acknowledged: Times,
    /// Send → the executor starts.
    pub(crate) started: Times,
    /// A change of state → the first attempt to tell of it, as it arrives.
    pub(crate) pushed: Times,
    /// Changes that nobody was told of.
    pub(crate) untold: usize,
    /// Webhook → what it was told stands on the page, while the task goes on.
    pub(crate) progress: Times,
    /// Webhook → the result of the task stands on the page: the host had to conclude it first.
    pub(crate) result: Times,
    /// Calls of the database for each task, and capacity units.
    pub(crate) asked: Asked,
}

/// What each task asked of the database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) requests: f64,
    pub(crate) wakes: f64,
    pub(crate) streams: f64,
    /// All of it, by operation.
    pub(crate) operations: BTreeMap<String, f64>,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

/// Who takes part in every run.
pub(crate) struct Ground<'a> {
    system: &'a System,
    specialist: &'a Specialist,
    receivers: &'a Receivers,
    starts: &'a Starts,
    meter: &'a Meter,
    http: reqwest::Client,
    host: String,
    base: String,
    owner: String,
    cookie: String,
    /// Tasks so far.
    numbers: AtomicUsize,
}

/// A task that was asked for.
struct Sent {
    number: usize,
    scheduled: Instant,
    acknowledged: Instant,
    task: TaskId,
    seen: Option<Seen>,
}

impl<'a> Ground<'a> {
    pub(crate) async fn new(
        system: &'a System,
        specialist: &'a Specialist,
        receivers: &'a Receivers,
        starts: &'a Starts,
        meter: &'a Meter,
    ) -> Self {
        let tenant = Tenant::parse(TENANT).expect("a tenant");
        let own = system.endpoints().tenants.get(&tenant).expect("the tenant");
        let plain = |url: &url::Url| url.as_str().trim_end_matches('/').to_owned();
        // A guest of the page; A2A calls in the guest's name make tasks that the page may follow.
        let user = User::new(own.base.as_str());
        let first = user.ask("hello").await.task_id();
        let key = key(first.parse().expect("a task id"));
        let found = system.store().tasks().find(&key, SystemClock.now()).await;
        let owner = found.expect("the table answers").expect("the task").task.owner;
        Self {
            system,
            specialist,
            receivers,
            starts,
            meter,
            http: system_testing::user::http(),
            host: plain(&own.host_agent),
            base: plain(&own.base),
            owner: owner.as_str().to_owned(),
            cookie: user.cookie().expect("a session"),
            numbers: AtomicUsize::new(0),
        }
    }

    /// Runs a load to its end.
    pub(crate) async fn run(&self, load: Load) -> Run {
        let before = self.meter.so_far();
        let mut under_way = JoinSet::new();
        for at in arrivals::schedule(Instant::now() + Duration::from_millis(100), load.rate, load.lasts) {
            sleep_until(at).await;
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let follows = number.is_multiple_of(load.followed as usize);
            let token = self
                .system
                .token(TENANT, &self.owner, &self.host)
                .expect("a token");
            let hook = self.receivers.address(number, load.dead);
            let send = send(self.http.clone(), self.host.clone(), token, number, hook);
            let (http, base, cookie) = (self.http.clone(), self.base.clone(), self.cookie.clone());
            under_way.spawn(async move {
                let task = send.await;
                let acknowledged = Instant::now();
                let seen = match follows {
                    true => Some(page::follow(http, base, cookie, task.to_string()).await),
                    false => None,
                };
                Sent {
                    number,
                    scheduled: at,
                    acknowledged,
                    task,
                    seen,
                }
            });
        }
        let sent = under_way.join_all().await;
        let done = self.ended(&sent).await;
        self.told_of_the_end(&sent, load.dead).await;
        let after = self.meter.so_far();
        let mut run = self.figures(&sent).await;
        run.asked = Asked::between(&before, &after, sent.len());
        run.done = done;
        run
    }

    /// Waits until every task has ended; gives those that completed.
    async fn ended(&self, sent: &[Sent]) -> Vec<TaskKey> {
        let (tasks, deadline) = (self.system.store().tasks(), Instant::now() + REST);
        let mut done = Vec::with_capacity(sent.len());
        for sent in sent {
            let key = key(sent.task);
            loop {
                let found = tasks
                    .find(&key, SystemClock.now())
                    .await
                    .expect("the table answers");
                let state = found.expect("the task").task.status.state;
                if state == TaskState::Completed {
                    done.push(key);
                    break;
                }
                if state.is_terminal() || Instant::now() > deadline {
                    eprintln!("task {} is {}", sent.task, state.as_str());
                    break;
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
        done
    }

    /// Waits until every receiver that is well was told of the end of its tasks.
    async fn told_of_the_end(&self, sent: &[Sent], dead: bool) {
        let deadline = Instant::now() + REST;
        for sent in sent
            .iter()
            .filter(|sent| !(dead && Receivers::is_odd(sent.number)))
        {
            let ended = self.changes(sent.task).await.pop();
            while !self
                .receivers
                .told(sent.number)
                .iter()
                .any(|told| Some(told.of) >= ended)
            {
                if Instant::now() > deadline {
                    return;
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// When the task changed its status, after it was acknowledged.
    async fn changes(&self, task: TaskId) -> Vec<domain::Timestamp> {
        let events = self.system.store().tasks().events(&key(task), 1, 100).await;
        let events = events.expect("the table answers").into_iter();
        events
            .filter(|event| matches!(event.kind, EventKind::Status { .. }))
            .map(|event| event.at)
            .collect()
    }

    async fn figures(&self, sent: &[Sent]) -> Run {
        let mut run = Run {
            tasks: sent.len(),
            ..Run::default()
        };
        for sent in sent {
            run.acknowledged.add(sent.acknowledged - sent.scheduled);
            if let Some(started) = self.starts.of(sent.task) {
                run.started.add(started - sent.scheduled);
            }
            if let (Some(seen), Some(reported)) = (sent.seen, self.specialist.reported(sent.task)) {
                seen.half
                    .into_iter()
                    .for_each(|at| run.progress.add(at - reported.half));
                seen.end
                    .into_iter()
                    .for_each(|at| run.result.add(at - reported.end));
            }
            // What is compared between the runs are the others, so the odd one is left out of each.
            if Receivers::is_odd(sent.number) {
                continue;
            }
            let told = self.receivers.told(sent.number);
            for change in self.changes(sent.task).await {
                match told.iter().find(|told| told.of >= change) {
                    Some(told) => run.pushed.add(told.at.since(change)),
                    None => run.untold += 1,
                }
            }
        }
        run
    }
}

impl Asked {
    fn between(before: &Metered, after: &Metered, tasks: usize) -> Self {
        let each = |pick: fn(&Metered) -> f64| (pick(after) - pick(before)) / tasks.max(1) as f64;
        let mut operations = BTreeMap::new();
        for (metered, sign) in [(after, 1.0), (before, -1.0)] {
            for part in [&metered.requests, &metered.wakes, &metered.streams] {
                for (operation, count) in &part.by_operation {
                    *operations.entry(operation.clone()).or_default() +=
                        sign * *count as f64 / tasks.max(1) as f64;
                }
            }
        }
        Self {
            operations,
            requests: each(|metered| metered.requests.total() as f64),
            wakes: each(|metered| metered.wakes.total() as f64),
            streams: each(|metered| metered.streams.total() as f64),
            read_units: each(|metered| {
                metered.requests.capacity.read + metered.wakes.capacity.read + metered.streams.capacity.read
            }),
            write_units: each(|metered| {
                metered.requests.capacity.write
                    + metered.wakes.capacity.write
                    + metered.streams.capacity.write
            }),
        }
    }
}

/// The key of a task of the tenant's host.
fn key(id: TaskId) -> TaskKey {
    TaskKey {
        tenant: Tenant::parse(TENANT).expect("a tenant"),
        agent: AgentName::parse("host").expect("a name"),
        id,
    }
}

/// The message id of a task, by its number.
fn message_id(number: usize) -> String {
    format!("latency-{number}")
}

/// Sends a message for a task; the task's id.
async fn send(http: reqwest::Client, host: String, token: String, number: usize, hook: String) -> TaskId {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": message_id(number), "role": "ROLE_USER", "parts": [{ "text": "echo this" }] },
        "configuration": { "returnImmediately": true, "taskPushNotificationConfig": { "url": hook, "token": "latency" } } } });
    let call = http
        .post(host)
        .bearer_auth(token)
        .header("a2a-version", "1.0")
        .json(&body);
    let answer: Value = call.send().await.expect("an answer").json().await.expect("JSON");
    let id = answer["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    id.parse().expect("a task id")
}
