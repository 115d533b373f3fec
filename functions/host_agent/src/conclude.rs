//! How a look at a task ends: with the answer, a question to the user, or waiting on.

use std::time::Duration;

use agent::{ExecuteError, Outcome, Run};
use domain::{Artifact, EventKind, Job, Message, Task, TaskState};

use crate::consent::AUTH_URL;
use crate::host::Host;
use crate::transcript;

/// Most bytes of a finished task; the store takes a little more.
const TASK_MAX: usize = 300 * 1024;

/// A status that is no older was written by this very look at the task.
const JUST_NOW: Duration = Duration::from_secs(1);
/// How long after a look that asked for consent the task is looked at once more.
const AFTERTHOUGHT: Duration = Duration::from_secs(3);

impl Host {
    /// Nothing can be done now: says what the task waits for, and until when.
    pub(crate) async fn wait(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        if let Some(until) = run.parked() {
            return Ok(Outcome::Parked { until });
        }
        let now = run.now();
        if let Some((job, awaited)) = transcript::unconsented(run.task()) {
            if !self.asks_for(run.task(), awaited) {
                let asks = self.consent_status(job, awaited, "");
                run.record(vec![asks]).await?;
            }
        } else if let Some(status) = self.waiting_for(run.task(), now) {
            let (state, text) = status;
            let mut message = run.message(&text);
            if state == TaskState::AuthRequired
                && let Some(address) = address(&text)
            {
                // The agent's own affair: it is shown as ours would be, and leads elsewhere.
                message.metadata.insert(AUTH_URL.to_owned(), address.into());
            }
            run.record(vec![EventKind::status(state, Some(message))]).await?;
        }
        let until = self.patience.wake_at(run.task(), now);
        if transcript::unconsented(run.task()).is_some() && now < run.task().status.at.after(JUST_NOW) {
            // A grant that came while this look held the task woke nobody.
            self.nudge(run.task(), AFTERTHOUGHT).await;
        }
        Ok(Outcome::Parked { until })
    }

    /// The status that a waiting task should have, where it has another.
    pub(crate) fn waiting_for(&self, task: &Task, now: domain::Timestamp) -> Option<(TaskState, String)> {
        let shown = task.status.message.as_ref().map(Message::text);
        if let Some(job) = transcript::asking(task) {
            let remote = job.remote()?;
            let asked = remote
                .text
                .as_deref()
                .map(str::trim)
                .filter(|text| !text.is_empty());
            let text = asked.map_or_else(
                || format!("{} needs more from you.", job.agent_name),
                str::to_owned,
            );
            let known = task.status.state == remote.state && shown.as_deref() == Some(text.as_str());
            return (!known).then_some((remote.state, text));
        }
        let late = |job: &&Job| {
            let deadline = self.patience.deadline(task, job);
            deadline.is_some_and(|deadline| deadline <= now)
        };
        let (unfetched, silent): (Vec<&Job>, Vec<&Job>) =
            task.jobs.iter().filter(late).partition(|job| job.is_settled());
        let given_up = task.status.state == TaskState::Unknown;
        if (silent.is_empty() && unfetched.is_empty()) || given_up {
            return None;
        }
        let minutes = self.patience.limit.as_secs() / 60;
        let mut text = String::new();
        if !silent.is_empty() {
            text = format!(
                "Nothing was heard from {} within {minutes} minutes. ",
                names(&silent)
            );
        }
        if !unfetched.is_empty() {
            let names = names(&unfetched);
            text += &format!("The result of {names} could not be fetched within {minutes} minutes. ");
        }
        text += "A late result is still taken; the task can be retried or cancelled.";
        Some((TaskState::Unknown, text))
    }

    /// The outcome of a task whose answer is this text.
    pub(crate) fn answer(&self, task: &Task, text: String) -> Outcome {
        let states: Vec<TaskState> = task
            .jobs
            .iter()
            .filter_map(Job::remote)
            .map(|remote| remote.state)
            .collect();
        let all = |state: TaskState| states.iter().all(|known| *known == state);
        if states.is_empty() || states.contains(&TaskState::Completed) {
            let artifacts = artifacts(task);
            if size(task) + text.len() + artifacts.iter().map(size).sum::<usize>() > TASK_MAX {
                return Outcome::Failed("The result is too large to keep.".to_owned());
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

fn names(jobs: &[&Job]) -> String {
    let names: Vec<&str> = jobs.iter().map(|job| job.agent_name.as_str()).collect();
    listed(&names)
}

/// The first https address in what an agent says; plain http and whatever else there is become no link.
fn address(text: &str) -> Option<String> {
    let around = |c: char| c.is_whitespace() || "<>()[]\"'`".contains(c);
    let found = text.split(around).find(|word| word.starts_with("https://"))?;
    let address = found.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    url::Url::parse(address).ok().map(String::from)
}

/// "A", "A and B", "A, B and C".
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
