//! Which tasks are meant, and what they are called.

use domain::{Job, Task, TaskId, TaskState, Timestamp};

use super::closed::{lower, singular};
use crate::rules::note::Note;
use crate::rules::transcript;

/// Longest name of a task, in characters.
const NAME_MAX: usize = 60;

/// Which tasks are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// By id.
    pub(super) id: Option<TaskId>,
    /// These tasks, by what they were asked for.
    pub(super) like: Option<Vec<TaskId>>,
    /// These jobs of such of them as have several.
    pub(super) jobs: Vec<(TaskId, u32)>,
    /// All of them.
    pub(super) all: bool,
    /// By these words, which a command names: of agents' names, and of what was asked.
    pub(super) words: Vec<String>,
}

impl Target {
    /// Whether nothing says which tasks are meant.
    pub(super) fn is_bare(&self) -> bool {
        self.words.is_empty() && self.id.is_none() && self.like.is_none()
    }
}

/// Whether something of a task is still to come, or waits.
pub(crate) fn is_open(task: &Task) -> bool {
    let waits = transcript::choosing(task).is_some();
    !task.status.state.is_terminal() && (!task.jobs.is_empty() || task.plan.is_some() || waits)
}

/// Whether a task's work can be done once more: it went wrong, or some of it did.
pub(super) fn can_be_retried(task: &Task) -> bool {
    let failed = |job: &Job| {
        job.remote()
            .is_some_and(|remote| remote.state != TaskState::Completed)
    };
    match task.status.state {
        TaskState::Completed => task.jobs.iter().any(failed),
        // Also one that never came to giving out work.
        state => state.is_terminal() || state == TaskState::Unknown,
    }
}

/// The task that this one is another try of.
pub(super) fn retry_of(task: &Task) -> Option<String> {
    Note::of(task)
        .and_then(|note| note.retry_of)
        .map(|id| id.to_string())
}

/// Whether the words fit a task: each is its agent's name, or stands in what was asked.
pub(super) fn is_meant(target: &Target, task: &Task) -> bool {
    if let Some(id) = target.id {
        return task.id == id;
    }
    if let Some(like) = &target.like {
        return like.contains(&task.id);
    }
    are_all_in(&target.words, &told(task))
}

fn are_all_in(words: &[String], told: &str) -> bool {
    let known: Vec<String> = lower(told).iter().map(|word| singular(word)).collect();
    words.iter().all(|word| known.contains(&singular(word)))
}

/// The jobs of a task that the words mean, where others go on: those of them that are not over.
pub(super) fn part(target: &Target, task: &Task) -> Option<Vec<u32>> {
    let is_like = |job: &&Job| target.jobs.contains(&(task.id, job.number));
    let is_meant = |job: &&Job| match target.like {
        Some(_) => is_like(job),
        None => are_all_in(&target.words, &told_of(job)),
    };
    let jobs = || task.jobs.iter().filter(|job| !task.is_replaced(job));
    let goes_on = |job: &&Job| !job.is_settled();
    let whole = task.plan.is_some() || target.id.is_some() || target.is_bare();
    let parted = jobs().any(|job| is_meant(&job)) && jobs().any(|job| goes_on(&job) && !is_meant(&job));
    (parted && !whole).then(|| {
        jobs()
            .filter(is_meant)
            .filter(goes_on)
            .map(|job| job.number)
            .collect()
    })
}

fn told_of(job: &Job) -> String {
    format!("{} {} {}", job.instruction, job.agent_name, job.agent_type)
}

/// All words that tell a task from another.
pub(super) fn told(task: &Task) -> String {
    let mut told = transcript::asked(task);
    for job in &task.jobs {
        told = format!("{told} {} {}", job.agent_name, job.agent_type);
    }
    told
}

/// What a task is called: by what was asked for, never by its id.
pub(crate) fn name(task: &Task) -> String {
    let asked = llm::clean(&transcript::asked(task), NAME_MAX);
    format!("“{}”", asked.trim_end_matches(['.', '?', '!']))
}

/// The names of tasks as a choice, one a line, with the day where that is not today.
pub(crate) fn names(tasks: &[&Task], now: Timestamp, language: &str) -> String {
    let lines = tasks.iter().zip(1..);
    let lines = lines.map(|(task, number)| format!("{number}. {}", dated(task, now, language)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The name of a task, with the day that it is of; without one where it is of today.
pub(crate) fn dated(task: &Task, now: Timestamp, language: &str) -> String {
    let date = |at: Timestamp| at.to_string().get(..10).unwrap_or_default().to_owned();
    let (name, made) = (name(task), date(task.created_at));
    let yesterday = Timestamp::from_millis(now.millis() - 24 * 3600 * 1000);
    let key = match &made {
        made if *made == date(now) => return name,
        made if *made == date(yesterday) => "ofYesterday",
        _ => "ofDay",
    };
    words::told_of(Some(language), key, &[("task", &name), ("day", &made)])
}
