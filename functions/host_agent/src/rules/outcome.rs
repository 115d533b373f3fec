//! How a task ends once every job is over: with the answer and the agents' results.

use agent::Outcome;
use domain::{Artifact, Job, Task, TaskState};

use crate::rules::note::Note;
use crate::rules::plans;
use crate::rules::transcript::attached;

/// Most bytes of a finished task with the answer that is written into its log; the store takes a little more.
const TASK_MAX: usize = 3_600_000;

/// The outcome of a task whose answer is this text. Where only some of its parts were done, it says so.
pub(crate) fn outcome(task: &Task, note: &Note, text: String) -> Outcome {
    // What was tried again counts once; what was skipped was not done.
    let jobs = task.jobs.iter().filter(|job| !task.is_replaced(job));
    let told = jobs.filter_map(Job::remote).map(|remote| remote.state);
    let skipped = plans::skipped(task).map(|step| match step.is_refused() {
        true => TaskState::Canceled,
        false => TaskState::Failed,
    });
    let states: Vec<TaskState> = told.chain(skipped).collect();
    let done = states
        .iter()
        .filter(|state| **state == TaskState::Completed)
        .count();
    let text = match done {
        0 => note.around(text),
        done if done == states.len() => note.around(text),
        done => note.around(format!("{text}\n\n{done} of {} done.", states.len())),
    };
    let text = match left_out(task) {
        Some(said) => format!("{text}\n\n{said}"),
        None => text,
    };
    let all = |state: TaskState| states.iter().all(|known| *known == state);
    if states.is_empty() || states.contains(&TaskState::Completed) {
        let artifacts = artifacts(task);
        // A result is bounded where it comes in; here it is beside all that the user sent.
        if size(task) + text.len() + artifacts.iter().map(size).sum::<usize>() > TASK_MAX {
            let names = artifacts
                .iter()
                .map(|artifact| artifact.name.as_deref().unwrap_or(&artifact.artifact_id));
            let names = words::listed(&names.collect::<Vec<_>>(), "and");
            return Outcome::Failed(format!(
                "{text}\n\nWhat was brought is too large to keep beside what you sent: {names}."
            ));
        }
        return Outcome::Completed {
            artifacts,
            say: Some(text),
        };
    }
    if all(TaskState::Rejected) {
        Outcome::Rejected(text)
    } else if all(TaskState::Canceled) {
        Outcome::Canceled(text)
    } else {
        Outcome::Failed(text)
    }
}

/// Who did not take what the user attached, where somebody did not.
fn left_out(task: &Task) -> Option<String> {
    let alone = task.jobs.iter().filter(|job| job.words_alone);
    let mut names: Vec<&str> = alone.map(|job| job.agent_name.as_str()).collect();
    names.dedup();
    let what = attached(task);
    (!names.is_empty() && !what.is_empty()).then(|| {
        let takes = if names.len() == 1 { "takes" } else { "take" };
        let left = if what.len() == 1 { "was" } else { "were" };
        let (names, what) = (words::listed(&names, "and"), words::listed(&what, "and"));
        format!("{names} {takes} no such files: {what} {left} left out.")
    })
}

/// What the agents brought, under ids that do not collide.
fn artifacts(task: &Task) -> Vec<Artifact> {
    let completed = |job: &&Job| {
        job.remote()
            .is_some_and(|remote| remote.state == TaskState::Completed)
    };
    let several = task.jobs.len() > 1;
    let of_job = |job: &Job| {
        let number = job.number;
        let own = |artifact: Artifact| match several {
            true => Artifact {
                artifact_id: format!("{number}-{}", artifact.artifact_id),
                ..artifact
            },
            false => artifact,
        };
        job.artifacts.clone().into_iter().map(own).collect::<Vec<_>>()
    };
    task.jobs.iter().filter(completed).flat_map(of_job).collect()
}

fn size(value: &impl serde::Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 4, |text| text.len())
}
