//! What must be true in the end: rules over what the tables hold and what the customers heard. Pure, so that the tests
//! beside them can show each rule a history that breaks it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

use domain::{Event, EventKind, MessageId, Task, TaskState, WorkNote};
use store::DeliveryState;

use crate::customer::{Asked, Complaint, Heard, Notice, state_of};
use crate::read::{Logged, Tables};

/// What is wrong, by kind, and how much was looked at.
#[derive(Default)]
pub(crate) struct Faults {
    tasks: usize,
    completed: usize,
    canceled: usize,
    events: usize,
    stumbles: usize,
    notifications: usize,
    repeated: usize,
    specialists: usize,
    deliveries: usize,
    wrong: BTreeMap<&'static str, Vec<String>>,
}

impl Faults {
    pub(crate) fn note(&mut self, what: &'static str, which: String) {
        self.wrong.entry(what).or_default().push(which);
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.wrong.is_empty()
    }

    pub(crate) fn summary(&self) -> String {
        let mut lines = format!(
            "{} tasks: {} completed, {} canceled; {} events, {} failed attempts repeated\n\
             {} tasks of specialists; {} deliveries; {} notifications heard, {} of them repeats",
            self.tasks,
            self.completed,
            self.canceled,
            self.events,
            self.stumbles,
            self.specialists,
            self.deliveries,
            self.notifications,
            self.repeated,
        );
        for (what, which) in &self.wrong {
            let _ = write!(lines, "\nWRONG, {what}: {}", which.len());
            for one in which.iter().take(3) {
                let _ = write!(lines, "\n    {one}");
            }
        }
        lines
    }
}

/// Applies every rule.
pub(crate) fn judge(tables: &Tables, heard: &Heard, complaints: &[Complaint]) -> Faults {
    let mut faults = Faults {
        tasks: tables.asked.len(),
        specialists: tables.specialists.len(),
        deliveries: tables.deliveries.len(),
        ..Faults::default()
    };
    for (what, which) in complaints {
        faults.note(what, which.clone());
    }
    for (one, found) in &tables.asked {
        let Some(found) = found else {
            faults.note("tasks that are not there", format!("task {}", one.number));
            continue;
        };
        host_task(&mut faults, one, found);
        let told = heard.get(&one.number).map(Vec::as_slice).unwrap_or_default();
        notifications(&mut faults, one, found, told);
    }
    specialists(&mut faults, tables);
    for delivery in &tables.deliveries {
        if delivery.state != DeliveryState::Idle {
            let which = format!(
                "{}/{} {:?}",
                delivery.key.agent, delivery.key.id, delivery.last_error
            );
            faults.note("deliveries that are still owed or parked", which);
        }
    }
    faults
}

/// Every task is over as it should be, with one result, and its log is legal.
fn host_task(faults: &mut Faults, one: &Asked, Logged { task, events }: &Logged) {
    let name = format!("task {}", one.number);
    faults.events += events.len();
    faults.stumbles += events.iter().filter(|event| is_stumble(event)).count();
    if let Err(fault) = legal(task, events) {
        faults.note("logs that are not legal", format!("{name}: {fault}"));
    }
    match task.status.state {
        TaskState::Completed => faults.completed += 1,
        TaskState::Canceled if one.called_off => faults.canceled += 1,
        state if state.is_terminal() => {
            let said = task.status.message.as_ref().map(domain::Message::text);
            faults.note(
                "ends that nobody asked for",
                format!("{name}: {state:?}: {said:?}"),
            );
        }
        state => faults.note("tasks that are not over", format!("{name}: {state:?}")),
    }
    if task.status.state == TaskState::Completed {
        let brought = events.iter().filter(|event| is_artifact(event)).count();
        let result = task.artifacts.first().map(domain::Artifact::text);
        let right = result.is_some_and(|text| text.contains(one.city));
        if task.artifacts.len() != 1 || brought != 1 || !right {
            let said = task.status.message.as_ref().map(domain::Message::text);
            let jobs: Vec<_> = task.jobs.iter().map(|job| (&job.state, job.fetches)).collect();
            let what = format!(
                "{name}: {:?}, brought {brought} times; it said {said:?}, its jobs are {jobs:?}",
                task.artifacts
            );
            faults.note("results that are not exactly one", what);
        }
    }
}

/// Each message of a host was done exactly once: it has one task at its specialist, which is over, and which its job
/// knows; a job without one was called off before its message left.
fn specialists(faults: &mut Faults, tables: &Tables) {
    let mut by_message: BTreeMap<&MessageId, Vec<&Logged>> = BTreeMap::new();
    for found in &tables.specialists {
        let (task, id) = (&found.task, found.task.id);
        if !task.status.state.is_terminal() {
            let what = format!("weather {id}: {:?}", task.status.state);
            faults.note("specialists' tasks that are not over", what);
        }
        if let Err(fault) = legal(task, &found.events) {
            faults.note("logs that are not legal", format!("weather {id}: {fault}"));
        }
        match task.history.first() {
            Some(message) => by_message.entry(&message.message_id).or_default().push(found),
            None => faults.note("specialists' tasks of nobody", id.to_string()),
        }
    }
    for (one, found) in &tables.asked {
        let Some(Logged { task, .. }) = found else {
            continue;
        };
        for job in &task.jobs {
            let name = format!("task {}, job {}", one.number, job.number);
            let theirs = by_message.remove(&job.message_id).unwrap_or_default();
            if theirs.len() > 1 {
                faults.note("messages that were done twice", name.clone());
            }
            let only = theirs.first().map(|found| &found.task);
            match (job.remote_task_id(), only) {
                (Some(id), Some(task)) if task.id.to_string() == id.as_str() => {
                    let settled = job.remote().map(|remote| remote.state);
                    let same = settled == Some(task.status.state);
                    if job.is_settled() && !same {
                        let what = format!("{name}: {settled:?} and {:?}", task.status.state);
                        faults.note("ends that a job has otherwise than its specialist", what);
                    }
                }
                (Some(id), _) => faults.note("jobs of a task that is not there", format!("{name}: {id}")),
                // Called off before its message left, or before its acknowledgement came.
                (None, _) if one.called_off => {}
                (None, _) => faults.note("jobs without a task", format!("{name}: {:?}", job.state)),
            }
        }
    }
    for (message, found) in by_message {
        let what = format!("{} tasks for {message}", found.len());
        faults.note("specialists' tasks of nobody", what);
    }
}

/// Every notification tells what the log tells, in its order; none is left out but those that a snapshot covers; the
/// end was heard.
fn notifications(faults: &mut Faults, one: &Asked, found: &Logged, told: &[Notice]) {
    let name = format!("task {}", one.number);
    let Logged { task, events } = found;
    faults.notifications += told.len();
    let Some(config) = task.push_configs.first() else {
        faults.note("tasks whose webhook is forgotten", name);
        return;
    };
    // The id says up to which event a notification tells.
    let seqs: BTreeMap<String, u64> = events
        .iter()
        .map(|event| {
            let seed = format!("push/{}/{config}/{}", task.id, event.seq);
            (MessageId::derived(&seed).to_string(), event.seq)
        })
        .collect();
    let shown: Vec<u64> = events
        .iter()
        .filter(|event| event.kind.is_public())
        .map(|event| event.seq)
        .collect();
    // The first event is the answer to the send itself.
    let mut newest = 1;
    for notice in told {
        let Some(seq) = seqs.get(&notice.id).copied() else {
            faults.note("notifications of nothing", format!("{name}: {}", notice.body));
            continue;
        };
        if seq < newest {
            faults.note(
                "notifications out of order",
                format!("{name}: {seq} after {newest}"),
            );
        }
        faults.repeated += usize::from(seq == newest && seq > 1);
        let between = shown
            .iter()
            .filter(|shown| (newest + 1..=seq).contains(shown))
            .count();
        if notice.body.get("task").is_none() && between > 1 {
            let what = format!("{name}: event {seq} after {newest}, {between} were due");
            faults.note("notifications that were left out", what);
        }
        let state = wire(state_at(events, seq));
        if state_of(&notice.body).is_some_and(|said| said != state) {
            let what = format!("{name}: event {seq} is {state}: {}", notice.body);
            faults.note("notifications that tell another state than the log", what);
        }
        newest = newest.max(seq);
    }
    if shown.last().is_some_and(|last| newest < *last) {
        let what = format!("{name}: heard up to {newest} of {shown:?}");
        faults.note("ends that the customer did not hear of", what);
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
    let same = again.status == task.status
        && again.artifacts == task.artifacts
        && again.jobs == task.jobs
        && again.history == task.history;
    same.then_some(())
        .ok_or_else(|| "the log tells another story than the task".to_owned())
}

/// The state after that event.
fn state_at(events: &[Event], seq: u64) -> TaskState {
    let before = events.iter().take_while(|event| event.seq <= seq);
    let states = before.filter_map(|event| match &event.kind {
        EventKind::Status { state, .. } => Some(*state),
        _ => None,
    });
    states.last().unwrap_or(TaskState::Submitted)
}

pub(crate) fn is_stumble(event: &Event) -> bool {
    let EventKind::Work { note } = &event.kind else {
        return false;
    };
    matches!(note, WorkNote::Stumbled { .. })
}

fn is_artifact(event: &Event) -> bool {
    matches!(event.kind, EventKind::Artifact { .. })
}

fn wire(state: TaskState) -> String {
    // A2A 1.0 has no state for what nobody knows.
    if state == TaskState::Unknown {
        return "TASK_STATE_UNSPECIFIED".to_owned();
    }
    let name = state.as_str().to_uppercase().replace('-', "_");
    format!("TASK_STATE_{name}")
}
