//! "How is my task doing?" and "cancel it": a caller's own tasks, in words.

use std::time::Duration;

use agent::{ExecuteError, cancel_task, wake_deliveries};
use domain::{Job, Message, Revision, Task, TaskId, TaskState};
use llm::ToolOutcome;
use store::{Committed, Due, LeaseAfter, PageRequest, Revised, TaskKey};

use crate::delegation::look::look_at_all;
use crate::deps::{Deps, OnTask};
use crate::rules::{transcript, wording};

/// How far back a task without an id is looked for.
const LOOK_BACK: u32 = 20;

/// How a task is doing: its agents are asked first.
pub(crate) async fn status_of(
    deps: &Deps,
    current: &Task,
    id: Option<TaskId>,
) -> Result<ToolOutcome, ExecuteError> {
    let Some(task) = own(deps, current, id, |_| true).await? else {
        return Ok(unknown(id));
    };
    let task = if task.status.state.is_terminal() {
        task
    } else {
        refreshed(deps, task).await?
    };
    Ok(ToolOutcome::Done(described(&task)))
}

/// Cancels a task, here and at its agents.
pub(crate) async fn cancel_by_words(
    deps: &Deps,
    current: &Task,
    id: Option<TaskId>,
) -> Result<ToolOutcome, ExecuteError> {
    let runs = |task: &Task| !task.status.state.is_terminal();
    let Some(task) = own(deps, current, id, runs).await? else {
        return Ok(unknown(id));
    };
    let (id, now) = (task.id, deps.clock.now());
    let canceled = cancel_task(deps.store.tasks(), task, deps.entropy.as_ref(), now).await;
    Ok(match canceled? {
        Revised::Missing => unknown(Some(id)),
        Revised::Left(task) => {
            let text = format!("Task {id} is {} already.", task.status.state.as_str());
            ToolOutcome::Done(text)
        }
        Revised::Written(revision) => {
            announce(deps, &revision).await;
            // Due at once: its own look tells the agents, again where that fails.
            deps.nudge(revision.task(), Duration::ZERO).await;
            ToolOutcome::Done(format!("Task {id} is canceled."))
        }
    })
}

/// The caller's task with that id, or the newest that delegated something; never the task that asks.
async fn own(
    deps: &Deps,
    current: &Task,
    id: Option<TaskId>,
    fits: impl Fn(&Task) -> bool,
) -> Result<Option<Task>, ExecuteError> {
    let now = deps.clock.now();
    let tasks = deps.store.tasks();
    if let Some(id) = id {
        let key = TaskKey {
            id,
            ..TaskKey::from(current)
        };
        let found = tasks.find(&key, now).await?.map(|stored| stored.task);
        return Ok(found.filter(|task| task.owner == current.owner && task.id != current.id));
    }
    let delegated = |task: &Task| task.id != current.id && !task.jobs.is_empty();
    let Task {
        tenant,
        agent,
        owner,
        context_id,
        ..
    } = current;
    let here = tasks.by_context(tenant, agent, owner, context_id, now).await?;
    if let Some(task) = here.into_iter().rev().find(|task| delegated(task) && fits(task)) {
        return Ok(Some(task));
    }
    let page = PageRequest {
        limit: LOOK_BACK,
        cursor: None,
    };
    let all = tasks.by_owner(tenant, agent, owner, page, now).await?;
    let mut fitting: Vec<Task> = all
        .items
        .into_iter()
        .filter(|task| delegated(task) && fits(task))
        .collect();
    fitting.sort_by_key(|task| task.created_at);
    Ok(fitting.pop())
}

async fn refreshed(deps: &Deps, task: Task) -> Result<Task, ExecuteError> {
    let now = deps.clock.now();
    let jobs = look_at_all(OnTask {
        deps,
        task: &task,
        now,
    })
    .await;
    let kinds = wording::news(deps.entropy.as_ref(), &task, &jobs);
    if kinds.is_empty() {
        if transcript::unconsented(&task).is_some() {
            deps.nudge(&task, Duration::ZERO).await;
        }
        return Ok(task);
    }
    let mut revision = Revision::of(task.clone());
    for kind in kinds {
        revision.record(kind, now)?;
    }
    let decide = transcript::wants_a_look(revision.task());
    if !commit(deps, &revision, if decide { Due::At(now) } else { Due::Keep }).await? {
        // Somebody else wrote news down meanwhile; theirs is as good.
        let found = deps.store.tasks().find(&TaskKey::from(&task), now).await?;
        return Ok(found.map_or(task, |stored| stored.task));
    }
    if decide {
        deps.nudge(revision.task(), Duration::ZERO).await;
    }
    Ok(revision.into_task())
}

/// Writes a revision of another task than the one that is being executed.
async fn commit(deps: &Deps, revision: &Revision, due: Due) -> Result<bool, ExecuteError> {
    let committed = deps.store.tasks().commit(revision, due, LeaseAfter::Keep).await?;
    if committed == Committed::Conflict {
        return Ok(false);
    }
    announce(deps, revision).await;
    Ok(true)
}

/// Tells of what was written into another task than the one that is being executed.
async fn announce(deps: &Deps, revision: &Revision) {
    agent::measure::moved(revision);
    wake_deliveries(deps.wake.as_ref(), revision).await;
}

fn unknown(id: Option<TaskId>) -> ToolOutcome {
    ToolOutcome::Failed(match id {
        Some(id) => format!("I know no task {id} of yours."),
        None => "I know no task of yours that this could mean.".to_owned(),
    })
}

fn described(task: &Task) -> String {
    let asked = llm::clean(&transcript::asked(task), 80);
    let state = match task.status.state {
        TaskState::Submitted => "not begun yet",
        TaskState::Working => "being worked on",
        TaskState::InputRequired => "waiting for your answer",
        TaskState::AuthRequired => "waiting for your consent",
        TaskState::Completed => "completed",
        TaskState::Canceled => "canceled",
        TaskState::Failed => "failed",
        TaskState::Rejected => "rejected",
        TaskState::Unknown => "unheard of for too long",
    };
    let mut lines = vec![format!("Task {} (\"{asked}\") is {state}.", task.id)];
    if task.status.state == TaskState::Working {
        lines.extend(task.jobs.iter().map(of_job));
    } else {
        lines.extend(
            task.status
                .message
                .as_ref()
                .map(Message::text)
                .filter(|text| !text.trim().is_empty()),
        );
    }
    lines.join("\n")
}

fn of_job(job: &Job) -> String {
    let remote = job.remote();
    let state = match (remote, job.awaited_consent()) {
        (_, Some(_)) => "waiting for your consent",
        (None, None) => "not reached yet",
        (Some(remote), None) => remote.state.as_str(),
    };
    let text = remote
        .and_then(|remote| remote.text.as_deref())
        .map(|text| llm::clean(text, 300));
    match text.filter(|text| !text.is_empty()) {
        Some(text) => format!("- {}: {state}: {text}", job.agent_name),
        None => format!("- {}: {state}", job.agent_name),
    }
}
