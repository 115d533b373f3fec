//! `GET /api/ops/tasks`: how many of the tenant's tasks are in which state, and those that are not over, stuck ones first. Metadata
//! alone: no prompt, no result, nobody's name.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use domain::{Task, TaskId, TaskState, Timestamp, clean};
use serde_json::{Value, json};
use store::Unfinished;

use crate::error::RouteError;
use crate::ops::agents::{Of, Operator};
use crate::state::AppState;
use crate::tasks::history_view::{failed_attempts, job_state, job_states, states};
use crate::tasks::show::log;

/// So far they are counted in each state, and read where they are not over.
const COUNTED: u32 = 1000;
/// So many are shown; the rest is counted.
const SHOWN: usize = 50;
/// So many bodies are in memory at once.
const AT_ONCE: usize = 5;
/// The sweeper wakes what is due every minute: what is due for so long, nobody can work on.
const OVERDUE: Duration = Duration::from_secs(180);
/// So often work has begun without an outcome.
const TRIED: u32 = 3;
/// How a task can end otherwise than completed.
const ENDED: [TaskState; 3] = [TaskState::Failed, TaskState::Rejected, TaskState::Canceled];

/// Why a task does not go on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stuck {
    /// It is due, and nobody works on it.
    Overdue,
    /// Attempt follows attempt, without an outcome.
    Failing,
    /// Its agent was not heard of within the time limit.
    Silent,
}

impl Stuck {
    fn of(task: &Unfinished, now: Timestamp) -> Option<Self> {
        let is_leased = task.leased_until.is_some_and(|until| until > now);
        let is_overdue = task.due_at.is_some_and(|due| now.since(due) > OVERDUE);
        match task.state {
            TaskState::Unknown => Some(Self::Silent),
            _ if is_overdue && !is_leased => Some(Self::Overdue),
            _ if task.attempts >= TRIED => Some(Self::Failing),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Overdue => "overdue",
            Self::Failing => "failing",
            Self::Silent => "silent",
        }
    }
}

/// Counts the tenant's tasks, and lists those that are not over; with `task=ID` tells the course of that one.
pub(crate) async fn tasks(
    State(room): State<Arc<AppState>>,
    Operator(_): Operator,
    Of(task): Of,
) -> Result<Json<Value>, RouteError> {
    if let Some(id) = task {
        return course(&room, id).await.map(Json);
    }
    let (store, now) = (room.store.tasks(), room.clock.now());
    let (mut unfinished, more) = store.unfinished(&room.tenant, &room.agent, COUNTED).await?;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for task in &unfinished {
        *counts.entry(task.state.as_str()).or_default() += 1;
    }
    for state in ENDED {
        let ended = store.ended(&room.tenant, &room.agent, state, COUNTED).await?;
        if ended > 0 {
            counts.insert(state.as_str(), ended);
        }
    }
    // Oldest first, as they came, within both kinds.
    unfinished.sort_by_key(|task| Reverse(Stuck::of(task, now).is_some()));
    unfinished.truncate(SHOWN);
    let mut shown = Vec::with_capacity(unfinished.len());
    for some in unfinished.chunks(AT_ONCE) {
        let ids: Vec<TaskId> = some.iter().map(|task| task.id).collect();
        let bodies = store.of_ids(&room.tenant, &room.agent, &ids, now).await?;
        for task in some {
            let body = bodies.iter().find(|body| body.id == task.id);
            shown.push(metadata(task, body, now));
        }
    }
    Ok(Json(
        json!({"counts": counts, "countedTo": COUNTED, "more": more, "tasks": shown}),
    ))
}

/// The states of a task and of its jobs with their times, and why attempts failed: no word of its user or of an agent.
async fn course(room: &AppState, id: TaskId) -> Result<Value, RouteError> {
    let task = room.anybodys_task(id).await?.ok_or(RouteError::NotFound)?;
    let events = log(room, &task, task.rev).await?;
    let wordless = |mut entries: Value| {
        for entry in entries.as_array_mut().into_iter().flatten() {
            entry.as_object_mut().and_then(|entry| entry.remove("message"));
        }
        entries
    };
    let jobs = task.jobs.iter().map(|job| {
        json!({
            "number": job.number, "agentName": clean(&job.agent_name, 80), "agentType": job.agent_type,
            "state": job_state(job), "history": wordless(job_states(&events, job.number)),
        })
    });
    Ok(json!({
        "taskId": task.id, "state": task.status.state, "createdAt": task.created_at, "updatedAt": task.status.at,
        "history": wordless(states(&events)), "failedAttempts": failed_attempts(&events), "jobs": jobs.collect::<Vec<_>>(),
    }))
}

/// A task, as far as its operator needs it: names of agents are their cards', and why an attempt failed is told by our own code.
fn metadata(task: &Unfinished, body: Option<&Task>, now: Timestamp) -> Value {
    let agents = body.into_iter().flat_map(|body| &body.jobs);
    let mut agents: Vec<String> = agents.map(|job| clean(&job.agent_name, 80)).collect();
    agents.dedup();
    let stumble = body.and_then(|body| body.stumble.as_ref());
    json!({
        "taskId": task.id,
        "state": task.state,
        "agents": agents,
        "createdAt": task.created_at,
        "since": task.since,
        "dueAt": task.due_at,
        "attempts": task.attempts,
        "stuck": Stuck::of(task, now).map(Stuck::name),
        "reason": stumble.map(|stumble| clean(&stumble.reason, 200)),
    })
}
