//! Sending again what may have left already: every resend has the same bytes, and an agent that tells its tasks is
//! asked first.

use agent::Run;
use consent::Obstacle;
use domain::{EventKind, Generation, Job, JobState, RemoteTaskId, Task, TaskState, Timestamp};
use outbound::{CallError, RemoteTask};

use crate::downstream::Done;
use crate::host::Host;
use crate::patience::lacks_result;

impl Host {
    /// Everything that waits for its time is done now: linked jobs are looked at, prepared ones sent. Gives what is to
    /// be recorded before that.
    pub(crate) async fn ask_again(&self, run: &Run) -> Vec<EventKind> {
        let now = run.now();
        let mut jobs = self.look_at_all(run.task(), now).await;
        let prepared = run
            .task()
            .jobs
            .iter()
            .filter(|job| matches!(job.state, JobState::Prepared) && job.awaited_consent().is_none());
        jobs.extend(prepared.cloned().map(|job| Job {
            attempts: 0,
            updated_at: now,
            ..job
        }));
        // What could not be fetched is asked for anew, with all the patience there is.
        let unfetched = run.task().jobs.iter().filter(|job| lacks_result(job));
        jobs.extend(unfetched.cloned().map(|job| Job {
            fetches: 0,
            updated_at: now,
            ..job
        }));
        let mut kinds: Vec<EventKind> = jobs
            .into_iter()
            .map(|job| EventKind::Job { job: Box::new(job) })
            .collect();
        let message = run.message("Asking once more and waiting on.");
        kinds.push(EventKind::status(TaskState::Working, Some(message)));
        kinds
    }

    /// Sends a message that may have been sent before, by a process that did not live to write the acknowledgement
    /// down. An agent that tells its tasks is asked first, in case it does not know a message again.
    pub(crate) async fn resend(&self, task: &Task, mut job: Job, now: Timestamp) -> Done {
        match self.find_sent(task, &job, now).await {
            Ok(None) => self.send(task, job, now).await,
            Ok(Some(sent)) => {
                job.attempts = 0;
                let news = sent.into_notification();
                job.note(news.clone(), now);
                tracing::info!(
                    tenant.id = %task.tenant, task.id = %task.id, job = job.number, agent.id = %job.agent_id,
                    task.remote_id = job.remote_task_id().map(RemoteTaskId::as_str), "delegation found at its agent"
                );
                Done {
                    heard: Some(news),
                    ..Done::of(job)
                }
            }
            Err(Obstacle::Call(error)) => self.undelivered(task, job, &error, now),
            Err(Obstacle::Consent(scopes)) => Done::needs(job, scopes),
            Err(Obstacle::Later(reason)) => Done::again(job, reason.to_owned()),
        }
    }

    /// The agent's task for a job's message, where it has one. Only A2A 1.0 has a way to ask; an agent that does not
    /// serve it is taken to have none.
    pub(crate) async fn find_sent(
        &self,
        task: &Task,
        job: &Job,
        now: Timestamp,
    ) -> Result<Option<RemoteTask>, Obstacle> {
        if job.endpoint.generation != Generation::V1_0 {
            return Ok(None);
        }
        let (outbound, to, trace) = (&self.outbound, &job.endpoint, task.trace.as_ref());
        let find = |token| async move {
            outbound
                .task_of_message(to, (&task.context_id, &job.message_id), Some(&token), trace)
                .await
        };
        match self.with_token(task, job, now, find).await {
            Err(Obstacle::Call(CallError::Refused(_) | CallError::BadAnswer(_))) => Ok(None),
            Err(Obstacle::Call(CallError::Status(status))) if (400..500).contains(&status) => Ok(None),
            found => found,
        }
    }
}
