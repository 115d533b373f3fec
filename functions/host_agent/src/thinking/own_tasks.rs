//! A caller's other tasks: how they are doing, ending them, handing an answer on to them.

use std::time::Duration;

use agent::{ExecuteError, cancel_task, take_message, wake_deliveries};
use domain::{EventKind, Job, Message, Revision, Task, TaskId, TaskState, Timestamp};
use llm::ToolOutcome;
use store::{Committed, Decision, Due, LeaseAfter, PageRequest, Revised, TaskKey};

use crate::delegation::cancel::cancel_asking;
use crate::delegation::look::{Looks, look_at_all};
use crate::delegation::resend::ask_again;
use crate::deps::{Deps, OnTask};
use crate::meaning;
use crate::rules::transcript::DECLINES;
use crate::rules::{sentences, transcript, wording};

/// How far back a task without an id is looked for.
const LOOK_BACK: u32 = 20;
/// Most tasks whose agents are asked for the latest at once.
const ASKED_MAX: usize = 5;

/// How tasks are doing: their agents are asked first.
pub(crate) async fn status_of(deps: &Deps, tasks: &[&Task], language: &str) -> Result<String, ExecuteError> {
    let (mut told, now) = (Vec::new(), deps.clock.now());
    for (number, task) in tasks.iter().enumerate() {
        let (latest, unheard) = match meaning::is_open(task) && number < ASKED_MAX {
            true => refreshed(deps, (*task).clone(), now).await?,
            false => ((*task).clone(), Vec::new()),
        };
        let described = wording::described(&latest, tasks.len() > 1, language);
        let silent = wording::silent(&latest, &unheard, language);
        told.push(format!("{described}{silent}"));
    }
    Ok(told.join("\n"))
}

/// As [`status_of`], for a model: the caller's task with that id, or the newest that delegated something.
pub(crate) async fn told_to_model(
    deps: &Deps,
    current: &Task,
    id: Option<TaskId>,
) -> Result<ToolOutcome, ExecuteError> {
    let now = deps.clock.now();
    let page = PageRequest {
        limit: LOOK_BACK,
        cursor: None,
    };
    let tasks = deps.store.tasks();
    let found = match id {
        Some(id) => {
            let key = TaskKey {
                id,
                ..TaskKey::from(current)
            };
            let found = tasks.find(&key, now).await?.map(|stored| stored.task);
            found.into_iter().collect()
        }
        None => {
            tasks
                .by_owner(&current.tenant, &current.agent, &current.owner, page, now)
                .await?
                .items
        }
    };
    let own = found
        .iter()
        .filter(|task| task.owner == current.owner && task.id != current.id && !task.jobs.is_empty());
    match own.max_by_key(|task| task.created_at) {
        Some(task) => Ok(ToolOutcome::Done(status_of(deps, &[task], "en").await?)),
        None => Ok(ToolOutcome::Failed(
            "There is no such task of this user.".to_owned(),
        )),
    }
}

/// Cancels tasks, here and at their agents; says what became of each.
pub(crate) async fn cancel_all(deps: &Deps, tasks: &[&Task], language: &str) -> Result<String, ExecuteError> {
    let told = |key, task: &str, state: &str| {
        words::told_of(Some(language), key, &[("task", task), ("state", state)])
    };
    let mut ended = Vec::new();
    for task in tasks {
        let canceled = cancel_task(
            deps.store.tasks(),
            (*task).clone(),
            deps.entropy.as_ref(),
            deps.clock.now(),
        )
        .await;
        let name = meaning::name(task);
        ended.push(match canceled? {
            Revised::Missing => told("notKept", &name, ""),
            Revised::Left(task) => told("isAlready", &name, &wording::state(task.status.state, language)),
            Revised::Written(revision) => {
                announce(deps, &revision).await;
                // Due at once: its own look tells the agents, again where that fails.
                deps.nudge(revision.task(), Duration::ZERO).await;
                told("canceled", &name, "")
            }
        });
    }
    Ok(ended.join("\n"))
}

/// Ends some jobs of a task, here and at their agents; its others go on.
pub(crate) async fn cancel_part(
    deps: &Deps,
    task: &Task,
    numbers: &[u32],
    language: &str,
) -> Result<String, ExecuteError> {
    let now = deps.clock.now();
    let is_meant = |job: &&Job| numbers.contains(&job.number) && !job.is_settled();
    let on = OnTask { deps, task, now };
    let told = task
        .jobs
        .iter()
        .filter(is_meant)
        .map(|job| cancel_asking(on, job));
    futures_util::future::join_all(told).await;
    let revised = deps.store.tasks().revise(task.clone(), now, |task| {
        let ended = task.jobs.iter().filter(is_meant).cloned().map(|mut job| {
            job.give_up(TaskState::Canceled, words::CALLED_OFF, now);
            EventKind::Job { job: Box::new(job) }
        });
        let ended: Vec<EventKind> = ended.collect();
        let goes_on = wording::working(deps.entropy.as_ref(), &sentences::told(&task, "withoutIt", ""));
        let mut revision = Revision::of(task);
        let mut kinds = ended.into_iter().chain([goes_on]);
        match kinds.try_for_each(|kind| revision.record(kind, now)) {
            Ok(()) => Decision::Write {
                revision: Box::new(revision),
                due: Due::At(now),
            },
            Err(_) => Decision::Leave(()),
        }
    });
    let name = meaning::name(task);
    let named = task.jobs.iter().filter(|job| numbers.contains(&job.number));
    let named: Vec<&str> = named.map(|job| job.agent_name.as_str()).collect();
    let named = sentences::listed(&named, language);
    let told = |key| words::told_of(Some(language), key, &[("task", &name), ("names", &named)]);
    Ok(match revised.await? {
        Revised::Written(revision) => {
            announce(deps, &revision).await;
            deps.nudge(revision.task(), Duration::ZERO).await;
            told("canceledPart")
        }
        Revised::Left(()) | Revised::Missing => told("isOver"),
    })
}

/// Says something to another task, as its caller would who names it; false where it takes nothing any more. `declines` says
/// that it declines what waits, whatever its words.
pub(crate) async fn say_to(
    deps: &Deps,
    task: &Task,
    said: Message,
    declines: bool,
) -> Result<bool, ExecuteError> {
    let now = deps.clock.now();
    let mut message = Message {
        task_id: None,
        ..said
    };
    if declines {
        message.metadata.insert(DECLINES.to_owned(), true.into());
    }
    match take_message(deps.store.tasks(), task.clone(), &message, now, Due::At(now)).await? {
        Revised::Written(revision) => {
            announce(deps, &revision).await;
            deps.nudge(revision.task(), Duration::ZERO).await;
            Ok(true)
        }
        // It has the message from an execution before this one.
        Revised::Left(Ok(_)) => Ok(true),
        Revised::Left(Err(_)) | Revised::Missing => Ok(false),
    }
}

/// Does at once what a task waits with, and waits on.
pub(crate) async fn ask_once_more(deps: &Deps, task: &Task) -> Result<(), ExecuteError> {
    let now = deps.clock.now();
    let kinds = ask_again(OnTask { deps, task, now }).await;
    let revised = deps.store.tasks().revise(task.clone(), now, |task| {
        let mut revision = Revision::of(task);
        match kinds
            .iter()
            .try_for_each(|kind| revision.record(kind.clone(), now))
        {
            Ok(()) => Decision::Write {
                revision: Box::new(revision),
                due: Due::At(now),
            },
            Err(_) => Decision::Leave(()),
        }
    });
    if let Revised::Written(revision) = revised.await? {
        announce(deps, &revision).await;
        deps.nudge(revision.task(), Duration::ZERO).await;
    }
    Ok(())
}

/// The task with what its agents say now, and the numbers of the jobs whose agents say nothing.
async fn refreshed(deps: &Deps, task: Task, now: Timestamp) -> Result<(Task, Vec<u32>), ExecuteError> {
    let Looks { changed, unheard } = look_at_all(OnTask {
        deps,
        task: &task,
        now,
    })
    .await;
    let kinds = wording::news(deps, &task, &changed, &[]);
    if kinds.is_empty() {
        if transcript::unconsented(&task).is_some() {
            deps.nudge(&task, Duration::ZERO).await;
        }
        return Ok((task, unheard));
    }
    let mut revision = Revision::of(task.clone());
    for kind in kinds {
        revision.record(kind, now)?;
    }
    let decide = transcript::wants_a_look(revision.task());
    if !commit(deps, &revision, if decide { Due::At(now) } else { Due::Keep }).await? {
        // Somebody else wrote news down meanwhile; theirs is as good.
        let found = deps.store.tasks().find(&TaskKey::from(&task), now).await?;
        return Ok((found.map_or(task, |stored| stored.task), unheard));
    }
    if decide {
        deps.nudge(revision.task(), Duration::ZERO).await;
    }
    Ok((revision.into_task(), unheard))
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
