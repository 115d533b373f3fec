//! What must be true in the end, read from the tables and from what the customers heard.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use domain::{AgentName, Event, Owner, SystemClock, Task, TaskState, Tenant, Timestamp};
use domain::{Clock, JobState};
use futures_util::StreamExt;
use serde_json::Value;
use store::{DUE_SHARDS, Pointer, Store, TaskKey, TaskQuery};

use crate::customer::{Asked, Heard};

/// How many tasks are read at once.
const AT_ONCE: usize = 16;

/// Waits until every task is over; gives how many are.
pub(crate) async fn until_over(store: &Store, asked: &[Asked], deadline: Instant) -> usize {
    let mut open: Vec<&Asked> = asked.iter().collect();
    loop {
        let looked: Vec<(bool, &Asked)> = futures_util::stream::iter(open)
            .map(|one| async move { (is_over(store, &one.key).await, one) })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        open = looked
            .into_iter()
            .filter(|(over, _)| !over)
            .map(|(_, one)| one)
            .collect();
        if open.is_empty() || Instant::now() > deadline {
            for one in open.iter().take(5) {
                println!("not over: task {} {:?}", one.number, task(store, &one.key).await);
            }
            return asked.len() - open.len();
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn is_over(store: &Store, key: &TaskKey) -> bool {
    let task = task(store, key).await;
    task.is_some_and(|task| task.status.state.is_terminal())
}

async fn task(store: &Store, key: &TaskKey) -> Option<Task> {
    let mut tries = 0;
    loop {
        match store.tasks().find(key, SystemClock.now()).await {
            Ok(found) => return found.map(|stored| stored.task),
            // On a loaded machine the database may take longer than its client waits.
            Err(_) if tries < 5 => tries += 1,
            Err(fault) => panic!("the database does not answer: {fault}"),
        }
    }
}

/// Waits until no pointer to something due is left; gives what is left when the patience ends.
pub(crate) async fn until_nothing_is_due(store: &Store, patience: Duration) -> Vec<Pointer> {
    let deadline = Instant::now() + patience;
    let someday = Timestamp::from_millis(i64::from(i32::MAX) * 1_000);
    loop {
        let mut left = Vec::new();
        for shard in 0..DUE_SHARDS {
            let page = store.tasks().due(shard, someday, 100, None).await;
            left.extend(page.expect("the database answers").items);
        }
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// What is wrong, by kind.
#[derive(Default)]
pub(crate) struct Faults {
    tasks: usize,
    completed: usize,
    canceled: usize,
    events: usize,
    notifications: usize,
    remote_tasks: u64,
    wrong: BTreeMap<&'static str, Vec<String>>,
}

impl Faults {
    fn note(&mut self, what: &'static str, which: String) {
        self.wrong.entry(what).or_default().push(which);
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.wrong.is_empty()
    }

    pub(crate) fn summary(&self) -> String {
        let mut lines = format!(
            "{} tasks: {} completed, {} canceled; {} events, {} tasks of specialists, {} notifications heard",
            self.tasks, self.completed, self.canceled, self.events, self.remote_tasks, self.notifications
        );
        for (what, which) in &self.wrong {
            let some: Vec<&str> = which.iter().take(3).map(String::as_str).collect();
            lines.push_str(&format!("\nWRONG, {what}: {} such as {some:?}", which.len()));
        }
        lines
    }
}

/// Reads every task, its log, its specialist's task, and what the customers heard.
pub(crate) async fn everything(store: &Store, asked: &[Asked], heard: &Heard) -> Faults {
    let mut faults = Faults {
        tasks: asked.len(),
        ..Faults::default()
    };
    let mut remote: BTreeMap<(Tenant, Owner), BTreeSet<String>> = BTreeMap::new();
    let read: Vec<(&Asked, Option<Task>, Vec<Event>)> = futures_util::stream::iter(asked)
        .map(|one| async move { (one, task(store, &one.key).await, events(store, &one.key).await) })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for (one, found, events) in read {
        let name = format!("task {}", one.number);
        let Some(task) = found else {
            faults.note("tasks that are not there", name);
            continue;
        };
        faults.events += events.len();
        if let Err(fault) = legal(&task, &events) {
            faults.note("logs that are not legal", format!("{name}: {fault}"));
        }
        match task.status.state {
            TaskState::Completed => faults.completed += 1,
            TaskState::Canceled if one.called_off => faults.canceled += 1,
            state => faults.note("ends that nobody asked for", format!("{name}: {state:?}")),
        }
        if task.status.state == TaskState::Completed {
            let result = serde_json::to_string(&task.artifacts).expect("a task is JSON");
            if task.artifacts.len() != 1 || !result.contains(one.city) {
                let log = serde_json::to_string(&events).expect("events are JSON");
                faults.note(
                    "results that are not exactly one",
                    format!("{name}: {result} after {log}"),
                );
            }
        }
        for job in &task.jobs {
            match (&job.state, job.remote_task_id()) {
                (_, Some(id)) => {
                    let owner = (task.tenant.clone(), task.owner.clone());
                    if !remote.entry(owner).or_default().insert(id.to_string()) {
                        faults.note("specialists' tasks with two owners", format!("{name}: {id}"));
                    }
                }
                // Called off before it left.
                (JobState::Prepared | JobState::Settled { .. }, None) if one.called_off => {}
                (state, None) => faults.note("jobs without a task", format!("{name}: {state:?}")),
            }
        }
        let told = heard.get(&one.number).map(Vec::as_slice).unwrap_or_default();
        faults.notifications += told.len();
        let last = wire(task.status.state);
        if !told.iter().any(|body| state_of(body) == Some(last)) {
            faults.note(
                "ends that the customer did not hear of",
                format!("{name}: {last}"),
            );
        }
    }
    specialists(store, &remote, &mut faults).await;
    faults
}

/// Each specialist's task belongs to exactly one job, is over, and its log is legal; there is none besides, but for
/// those whose acknowledgement a cancelled task had no more use for.
async fn specialists(
    store: &Store,
    linked: &BTreeMap<(Tenant, Owner), BTreeSet<String>>,
    faults: &mut Faults,
) {
    let weather = AgentName::parse("weather").expect("a name");
    for ((tenant, owner), ids) in linked {
        let mut cursor = None;
        let mut seen = BTreeSet::new();
        loop {
            let query = TaskQuery {
                tenant,
                agent: &weather,
                owner,
                context: None,
                state: None,
                changed_since: None,
                limit: 100,
                cursor: cursor.as_deref(),
                now: SystemClock.now(),
            };
            let page = store.tasks().query(query).await.expect("the database answers");
            for task in page.tasks {
                faults.remote_tasks += 1;
                let id = task.id.to_string();
                if !task.status.state.is_terminal() {
                    faults.note("specialists' tasks that are not over", id.clone());
                }
                if !ids.contains(&id) && task.status.state != TaskState::Canceled {
                    faults.note("specialists' tasks of nobody", id.clone());
                }
                let events = events(store, &TaskKey::from(&task)).await;
                if let Err(fault) = legal(&task, &events) {
                    faults.note("logs that are not legal", format!("weather {id}: {fault}"));
                }
                seen.insert(id);
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        for id in ids.difference(&seen) {
            faults.note("specialists' tasks that are not there", id.clone());
        }
    }
}

async fn events(store: &Store, key: &TaskKey) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.seq);
        let more = store.tasks().events(key, after, 500).await;
        let more = more.expect("the database answers");
        if more.is_empty() {
            return events;
        }
        events.extend(more);
    }
}

/// Played again from the start, the log gives the task; every step is one that the state machine has.
fn legal(task: &Task, events: &[Event]) -> Result<(), String> {
    let gapless = events.iter().zip(1..).all(|(event, seq)| event.seq == seq);
    if !gapless || events.len() as u64 != task.rev {
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        return Err(format!("rev {} and events {seqs:?}", task.rev));
    }
    let mut again = task.clone();
    again.rev = 1;
    again.status.state = TaskState::Submitted;
    again.status.message = None;
    again.history.truncate(1);
    again.artifacts.clear();
    again.jobs.clear();
    again.checkpoint = None;
    again.stumble = None;
    again.direct = false;
    for event in events.iter().skip(1) {
        again
            .record(event.kind.clone(), event.at)
            .map_err(|fault| format!("event {}: {fault}", event.seq))?;
    }
    let same = again.status == task.status && again.artifacts == task.artifacts && again.jobs == task.jobs;
    same.then_some(())
        .ok_or_else(|| "the log tells another story than the task".to_owned())
}

fn wire(state: TaskState) -> &'static str {
    match state {
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        _ => "another state",
    }
}

/// The state that a notification tells, whether it is an event or the whole task.
fn state_of(body: &Value) -> Option<&str> {
    ["/statusUpdate/status/state", "/task/status/state"]
        .iter()
        .find_map(|place| body.pointer(place))
        .and_then(Value::as_str)
}
