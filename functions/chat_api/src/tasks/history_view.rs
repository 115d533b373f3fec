//! What a task's log tells its owner: the states of the task and of its jobs with their times, and the attempts that failed.

use domain::{Event, EventKind, Job, Message, TaskState, Timestamp, WorkNote};
use serde_json::{Value, json};

pub(crate) fn states(events: &[Event]) -> Value {
    let entry = |at: Timestamp, state: &TaskState, message: Option<String>| json!({"state": state, "at": at, "message": message});
    let states = events.iter().filter_map(|event| match &event.kind {
        EventKind::Status { state, message } => {
            Some(entry(event.at, state, message.as_ref().map(Message::text)))
        }
        _ => None,
    });
    Value::Array(states.collect())
}

/// The attempts at the task that failed and were followed by another.
pub(crate) fn failed_attempts(events: &[Event]) -> Value {
    let failed = events.iter().filter_map(|event| match &event.kind {
        EventKind::Work {
            note: WorkNote::Stumbled { stumble },
        } => Some(json!({"attempt": stumble.attempt, "reason": stumble.reason, "at": event.at})),
        _ => None,
    });
    Value::Array(failed.collect())
}

/// What became of a job and its agent's task, with the times; each entry once.
pub(crate) fn job_states(events: &[Event], number: u32) -> Value {
    let mut entries: Vec<Value> = Vec::new();
    let mut known = None;
    for event in events {
        let EventKind::Job { job } = &event.kind else {
            continue;
        };
        let message = job.remote().and_then(|remote| remote.text.as_deref());
        let now = (
            job_state(job),
            job.remote_task_id().cloned(),
            message.map(str::to_owned),
        );
        if job.number == number && known.as_ref() != Some(&now) {
            entries.push(json!({"state": now.0, "remoteTaskId": now.1, "message": now.2, "at": event.at}));
            known = Some(now);
        }
    }
    Value::Array(entries)
}

/// The state of a job's remote task, as far as it is known.
pub(crate) fn job_state(job: &Job) -> TaskState {
    job.remote().map_or(TaskState::Submitted, |remote| remote.state)
}
