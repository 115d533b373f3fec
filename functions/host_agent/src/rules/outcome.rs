//! How a task ends once every job is over: with the answer and the agents' results.

use agent::Outcome;
use domain::{Job, Task, TaskState};

use crate::rules::note::Note;
use crate::rules::plans;
use crate::rules::sentences;
use crate::rules::transcript::attached;

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
        done => {
            let values = [("number", done.to_string()), ("all", states.len().to_string())];
            let values = values.each_ref().map(|(key, value)| (*key, value.as_str()));
            let done = sentences::told_of(task, "partsDone", &values);
            note.around(format!("{text}\n\n{done}"))
        }
    };
    let text = match left_out(task) {
        Some(said) => format!("{text}\n\n{said}"),
        None => text,
    };
    let all = |state: TaskState| states.iter().all(|known| *known == state);
    if states.is_empty() || states.contains(&TaskState::Completed) {
        let completed = |job: &Job| {
            job.remote()
                .is_some_and(|remote| remote.state == TaskState::Completed)
        };
        let artifacts = task.brought(completed);
        if !task.has_room_for(&artifacts, text.len()) {
            let names = artifacts
                .iter()
                .map(|artifact| artifact.name.as_deref().unwrap_or(&artifact.artifact_id));
            let names = sentences::listed(&names.collect::<Vec<_>>(), &sentences::language(task));
            let told = sentences::told_of(task, "tooLargeBeside", &[("names", &names)]);
            return Outcome::Failed(format!("{text}\n\n{told}"));
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
        let language = sentences::language(task);
        let key = if names.len() == 1 {
            "takesNoSuchFiles"
        } else {
            "takeNoSuchFiles"
        };
        let (names, files) = (
            sentences::listed(&names, &language),
            sentences::listed(&what, &language),
        );
        words::told_of(Some(&language), key, &[("names", &names), ("files", &files)])
    })
}
