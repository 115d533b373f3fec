//! How an agent's task is doing, and its results.

use a2a::A2aError;
use consent::Obstacle;
use domain::{Job, JobState, TaskState};
use futures_util::future::join_all;
use outbound::{CallError, MqttFault};

use crate::delegation::done::Done;
use crate::delegation::send::{failure, first_call};
use crate::delegation::{calls, webhook_token};
use crate::deps::OnTask;
use crate::rules::patience::MOST_LOOKS;
use crate::rules::wording;

/// Asks the agent how its task is doing.
pub(crate) async fn look(on: OnTask<'_>, job: Job) -> Done {
    looked(on, job).await.0
}

/// The same, and whether the agent gave an answer.
async fn looked(on: OnTask<'_>, mut job: Job) -> (Done, bool) {
    job.attempts = job.attempts.saturating_add(1);
    let (mut answers, mut trouble) = (true, None);
    match calls::remote_task(on, &job).await {
        Ok(remote) => {
            webhook_token::keys_again(on.deps, &mut job).await;
            job.note(remote.into_notification(), on.now);
            // Also one that says nothing new was heard: it is slow, and not silent.
            (job.updated_at, job.failing_since) = (on.now, None);
            job.attempts = job.attempts.min(MOST_LOOKS);
        }
        Err(Obstacle::Call(CallError::Refused(A2aError::TaskNotFound))) => {
            let reason = "it has lost the task. Say “try again” to have it done once more.";
            job.give_up(TaskState::Failed, reason, on.now);
        }
        // It tells nobody about tasks, and knows its own again by the id that was chosen for it.
        Err(Obstacle::Call(
            CallError::Mqtt(MqttFault::NotTaken) | CallError::Refused(A2aError::MethodNotFound(_)),
        )) if job.chosen_task_id.is_some() => {
            answers = ask_the_same(on, &mut job).await;
        }
        // It will not get smaller, and it is all that the agent has to say.
        Err(Obstacle::Call(CallError::TooLarge(most))) => {
            job.give_up(TaskState::Failed, wording::too_large(most), on.now);
        }
        // Nobody is asked for consent for a mere look: the agent's own news comes all the same.
        Err(error) => {
            tracing::info!(task.id = %on.task.id, job = job.number, error = %error, "look at an agent's task failed");
            answers = false;
            if error.is_retryable() {
                // What is said of it is no news of the agent's.
                let before = job.failing_since.filter(|since| *since >= job.updated_at);
                let heard = job.updated_at.max(on.task.status.at);
                job.failing_since = Some(before.unwrap_or(heard));
                trouble = Some("isSilent");
            }
        }
    }
    let done = Done {
        trouble,
        ..Done::of(job)
    };
    (done, answers)
}

/// Sends the job's message once more; whether its agent gave an answer.
async fn ask_the_same(on: OnTask<'_>, job: &mut Job) -> bool {
    let Some(call) = first_call(on, job) else {
        return false;
    };
    match calls::send(on, job, &call).await {
        Ok(answer) => {
            job.note(answer.into_notification(), on.now);
            true
        }
        Err(error) => {
            tracing::info!(task.id = %on.task.id, job = job.number, error = %error, "an agent's task was not asked for again");
            false
        }
    }
}

/// Gets the results of a job that ended without bringing any.
pub(crate) async fn fetch(on: OnTask<'_>, mut job: Job) -> Done {
    match calls::remote_task(on, &job).await {
        Ok(found) => {
            if let JobState::Fetching { remote, .. } = &mut job.state
                && remote.text.is_none()
            {
                remote.text = found.status.text;
            }
            job.artifacts = found.artifacts;
            (job.fetches, job.fetched) = (0, true);
            job.tidy();
            Done::of(job)
        }
        Err(Obstacle::Call(CallError::TooLarge(most))) => {
            // Its result is there, and cannot be had: that is not completed.
            if let JobState::Fetching { remote, .. } = &mut job.state {
                let said = remote.text.take().filter(|said| !said.trim().is_empty());
                let too_large = wording::too_large(most);
                remote.text =
                    Some(said.map_or_else(|| too_large.clone(), |said| format!("{said}\n{too_large}")));
                remote.state = TaskState::Failed;
            }
            (job.fetches, job.fetched) = (0, true);
            job.tidy();
            Done::of(job)
        }
        Err(error) if error.is_retryable() => {
            tracing::warn!(task.id = %on.task.id, job = job.number, error = %error, "a result cannot be fetched yet");
            job.fetches = job.fetches.saturating_add(1);
            Done::of(job)
        }
        Err(error) => {
            tracing::info!(task.id = %on.task.id, job = job.number, error = %error, "result not fetched");
            if let JobState::Fetching { remote, .. } = &mut job.state
                && remote.state == TaskState::Completed
                && remote.text.as_ref().is_none_or(|said| said.trim().is_empty())
            {
                // It may have one, and nobody knows: that is not completed.
                remote.text = Some(format!("its result could not be fetched: {}", unfetched(&error)));
                remote.state = TaskState::Failed;
            }
            (job.fetches, job.fetched) = (0, true);
            job.tidy();
            Done::of(job)
        }
    }
}

/// Why a result cannot be had for good, in people's words.
fn unfetched(error: &Obstacle) -> String {
    match error {
        Obstacle::Call(CallError::Refused(A2aError::TaskNotFound)) => {
            "it has lost the task. Say “try again” to have it done once more.".to_owned()
        }
        Obstacle::Call(error) => failure(error).1,
        Obstacle::Consent(_) => {
            "it wants your consent once more. Say “try again” to be asked for it.".to_owned()
        }
        Obstacle::Later(reason) => (*reason).to_owned(),
    }
}

/// What a look at all of a task's jobs brought.
pub(crate) struct Looks {
    /// Those that changed.
    pub(crate) changed: Vec<Job>,
    /// The numbers of those whose agents did not answer.
    pub(crate) unheard: Vec<u32>,
}

/// Looks at every linked job, whether it is due or not.
pub(crate) async fn look_at_all(on: OnTask<'_>) -> Looks {
    let open = on
        .task
        .jobs
        .iter()
        .filter(|job| matches!(job.state, JobState::Linked { .. }));
    let looks = join_all(open.map(|job| looked(on, job.clone()))).await;
    let unheard = looks.iter().filter(|(_, answers)| !answers);
    let unheard = unheard.map(|(done, _)| done.job.number).collect();
    let differs = |job: &Job| {
        on.task.jobs.iter().any(|known| {
            known.number == job.number
                && (known.state != job.state
                    || known.artifacts != job.artifacts
                    || known.endpoint != job.endpoint
                    || known.sender_keys != job.sender_keys)
        })
    };
    let changed = looks.into_iter().map(|(done, _)| done.job).filter(differs);
    Looks {
        changed: changed.collect(),
        unheard,
    }
}
