//! One call to one agent about one job: send, forward, look, fetch.

use a2a::{A2aError, PushAuth, PushTarget, SendCall};
use consent::Obstacle;
use domain::{
    ExposeSecret, Job, Message, MessageId, Noted, Notification, Part, PartContent, RemoteTaskId,
    RemoteUpdate, SecretString, Task, TaskState, Timestamp,
};
use futures_util::future::join_all;
use outbound::{Answer, CallError, RemoteTask};

use crate::host::Host;

/// Media types that an answer can be shown in.
const OUTPUT_MODES: [&str; 3] = ["text/plain", "text/markdown", "application/json"];
/// Most characters of a foreign error that are shown.
const REASON_MAX: usize = 300;

/// What a call did to its job.
pub(crate) struct Done {
    /// The job as it is now.
    pub(crate) job: Job,
    /// What the agent said, kept in case the job cannot be recorded at once.
    pub(crate) heard: Option<Notification>,
    /// The call is worth another try of the whole execution.
    pub(crate) again: Option<String>,
    /// The user must consent to these scopes before the agent can be called.
    pub(crate) needs: Option<Vec<String>>,
}

impl Done {
    pub(crate) fn of(job: Job) -> Self {
        Self {
            job,
            heard: None,
            again: None,
            needs: None,
        }
    }

    pub(crate) fn again(job: Job, reason: String) -> Self {
        Self {
            again: Some(reason),
            ..Self::of(job)
        }
    }

    pub(crate) fn needs(job: Job, scopes: Vec<String>) -> Self {
        Self {
            needs: Some(scopes),
            ..Self::of(job)
        }
    }
}

impl Host {
    /// Sends a prepared job's message; the same bytes with every try.
    pub(crate) async fn send(&self, task: &Task, mut job: Job, now: Timestamp) -> Done {
        let Some(token) = self.open_webhook_token(task, &job) else {
            let reason = "it cannot be asked again: the key for its message is gone.";
            job.give_up(TaskState::Failed, reason, now);
            return Done::of(job);
        };
        let mut call = self.call(task, &job, Some(token));
        let mut answered = self.deliver(task, &job, &call, now).await;
        if matches!(
            answered,
            Err(Obstacle::Call(CallError::Refused(
                A2aError::PushNotificationNotSupported
            )))
        ) {
            // It does not push: it is asked from time to time instead.
            call.push = None;
            answered = self.deliver(task, &job, &call, now).await;
        }
        match answered {
            Ok(answer) => {
                job.attempts = 0;
                let news = answer.into_notification();
                job.note(news.clone(), now);
                tracing::info!(
                    tenant.id = %task.tenant, task.id = %task.id, job = job.number, agent.id = %job.agent_id,
                    task.remote_id = job.remote_task_id().map(RemoteTaskId::as_str), "delegation acknowledged"
                );
                Done {
                    heard: Some(news),
                    ..Done::of(job)
                }
            }
            Err(Obstacle::Consent(scopes)) => Done::needs(job, scopes),
            Err(Obstacle::Later(reason)) => Done::again(job, reason.to_owned()),
            Err(Obstacle::Call(error)) => self.undelivered(task, job, &error, now),
        }
    }

    pub(crate) fn undelivered(&self, task: &Task, mut job: Job, error: &CallError, now: Timestamp) -> Done {
        job.attempts = job.attempts.saturating_add(1);
        tracing::warn!(
            task.id = %task.id, job = job.number, agent.id = %job.agent_id, attempt = job.attempts,
            error = %error, "delegation failed"
        );
        job.updated_at = now;
        if !error.is_retryable() || self.patience.is_used_up(&job) {
            let (state, reason) = failure(error);
            job.give_up(state, reason, now);
        }
        Done::of(job)
    }

    /// Hands the user's answer on to the agent that asked.
    pub(crate) async fn forward(&self, task: &Task, mut job: Job, said: &Message, now: Timestamp) -> Done {
        let Some(remote_task_id) = job.remote_task_id().cloned() else {
            return Done::of(job);
        };
        let token = self.open_webhook_token(task, &job);
        let id = MessageId::derived(&format!("{}/{}/{}", task.id, job.number, said.message_id));
        let mut call = self.call(task, &job, token);
        call.message = Message {
            metadata: said.metadata.clone(),
            ..Message::user(id, said.parts.clone())
        };
        call.task_id = Some(remote_task_id.as_str().to_owned());
        match self.deliver(task, &job, &call, now).await {
            Ok(answer) => {
                let news = answer.into_notification();
                let asks_again = news
                    .update
                    .as_ref()
                    .is_some_and(|update| update.state.is_interrupted());
                if job.note(news, now) == Noted::Nothing && !asks_again {
                    // It took the answer and says nothing new yet.
                    let remote = RemoteUpdate {
                        state: TaskState::Working,
                        text: None,
                        at: None,
                    };
                    job.state = domain::JobState::Linked {
                        remote_task_id,
                        remote,
                    };
                }
                job.updated_at = now;
                job.attempts = 0;
                Done::of(job)
            }
            Err(Obstacle::Consent(scopes)) => Done::needs(job, scopes),
            Err(Obstacle::Later(reason)) => Done::again(job, reason.to_owned()),
            Err(Obstacle::Call(error)) if error.is_retryable() => {
                let (_, reason) = failure(&error);
                let reason = format!("Your answer did not reach {}: {reason}", job.agent_name);
                Done::again(job, reason)
            }
            Err(Obstacle::Call(error)) => {
                let (state, reason) = failure(&error);
                job.give_up(state, reason, now);
                Done::of(job)
            }
        }
    }

    /// Asks the agent how its task is doing.
    pub(crate) async fn look(&self, task: &Task, mut job: Job, now: Timestamp) -> Done {
        job.attempts = job.attempts.saturating_add(1);
        match self.remote(task, &job, now).await {
            Ok(remote) => {
                job.note(remote.into_notification(), now);
            }
            Err(Obstacle::Call(CallError::Refused(A2aError::TaskNotFound))) => {
                let reason = "it knows nothing of the task any more.";
                job.give_up(TaskState::Failed, reason, now);
            }
            // Nobody is asked for consent for a mere look: the agent's own news comes all the same.
            Err(error) => {
                tracing::info!(task.id = %task.id, job = job.number, error = %error, "look at an agent's task failed");
            }
        }
        Done::of(job)
    }

    /// Gets the results of a job that ended without bringing any.
    pub(crate) async fn fetch(&self, task: &Task, mut job: Job, now: Timestamp) -> Done {
        match self.remote(task, &job, now).await {
            Ok(found) => {
                if let domain::JobState::Settled { remote, .. } = &mut job.state
                    && remote.text.is_none()
                {
                    remote.text = found.status.text;
                }
                job.artifacts = found.artifacts;
                (job.fetches, job.fetched) = (0, true);
                Done::of(job)
            }
            Err(error) if error.is_retryable() => {
                tracing::warn!(task.id = %task.id, job = job.number, error = %error, "a result cannot be fetched yet");
                job.fetches = job.fetches.saturating_add(1);
                Done::of(job)
            }
            Err(error) => {
                tracing::info!(task.id = %task.id, job = job.number, error = %error, "result not fetched");
                (job.fetches, job.fetched) = (0, true);
                Done::of(job)
            }
        }
    }

    /// Looks at every linked job, whether it is due or not; gives those that changed.
    pub(crate) async fn look_at_all(&self, task: &Task, now: Timestamp) -> Vec<Job> {
        let open = task
            .jobs
            .iter()
            .filter(|job| matches!(job.state, domain::JobState::Linked { .. }));
        let looks = join_all(open.map(|job| self.look(task, job.clone(), now))).await;
        let differs = |job: &Job| {
            task.jobs.iter().any(|known| {
                known.number == job.number && (known.state != job.state || known.artifacts != job.artifacts)
            })
        };
        looks.into_iter().map(|done| done.job).filter(differs).collect()
    }

    async fn deliver(
        &self,
        task: &Task,
        job: &Job,
        call: &SendCall,
        now: Timestamp,
    ) -> Result<Answer, Obstacle> {
        match self.deliver_all(task, job, call, now).await {
            Err(Obstacle::Call(CallError::Refused(cannot @ A2aError::ContentTypeNotSupported))) => {
                match words_alone(call) {
                    Some(call) => self.deliver_all(task, job, &call, now).await,
                    None => Err(Obstacle::Call(CallError::Refused(cannot))),
                }
            }
            answered => answered,
        }
    }

    async fn deliver_all(
        &self,
        task: &Task,
        job: &Job,
        call: &SendCall,
        now: Timestamp,
    ) -> Result<Answer, Obstacle> {
        let (outbound, to, trace) = (&self.outbound, &job.endpoint, task.trace.as_ref());
        let send = |token| async move { outbound.send(to, call, Some(&token), trace).await };
        self.with_token(task, job, now, send).await
    }

    async fn remote(&self, task: &Task, job: &Job, now: Timestamp) -> Result<RemoteTask, Obstacle> {
        let id = job
            .remote_task_id()
            .ok_or(CallError::Refused(A2aError::TaskNotFound))?;
        let (outbound, to, trace) = (&self.outbound, &job.endpoint, task.trace.as_ref());
        let look = |token| async move { outbound.task(to, id, Some(&token), trace).await };
        self.with_token(task, job, now, look).await
    }

    fn call(&self, task: &Task, job: &Job, token: Option<SecretString>) -> SendCall {
        // What the user attached goes along; the text is the model's choice.
        let attached = task
            .history
            .first()
            .into_iter()
            .flat_map(|message| &message.parts);
        let attached = attached
            .filter(|part| !matches!(part.content, PartContent::Text(_)))
            .cloned();
        let parts = std::iter::once(Part::text(job.instruction.clone()))
            .chain(attached)
            .collect();
        let message = Message {
            context_id: Some(task.context_id.clone()),
            ..Message::user(job.message_id.clone(), parts)
        };
        let mut call = SendCall::new(message);
        call.return_immediately = true;
        call.accepted_output_modes = OUTPUT_MODES.map(str::to_owned).to_vec();
        call.tenant.clone_from(&job.endpoint.tenant);
        call.push = token.map(|token| PushTarget {
            id: None,
            url: self.webhook.clone(),
            authentication: Some(PushAuth {
                scheme: "Bearer".to_owned(),
                credentials: Some(token.clone()),
            }),
            token: Some(token),
        });
        call
    }

    fn open_webhook_token(&self, task: &Task, job: &Job) -> Option<SecretString> {
        let plain = self
            .sealer
            .open(&job.webhook.sealed, &webhook_place(task, job.number))
            .ok()?;
        String::from_utf8(plain).ok().map(SecretString::from)
    }

    /// A new webhook token for a job of the task, sealed for the resend.
    pub(crate) fn webhook_token(&self, task: &Task, number: u32) -> domain::SealedToken {
        let token = auth::token::webhook(task.id, self.entropy.as_ref());
        let plain = token.expose_secret();
        domain::SealedToken {
            hash: auth::token::hash(plain),
            sealed: self.sealer.seal(
                plain.as_bytes(),
                &webhook_place(task, number),
                self.entropy.as_ref(),
            ),
        }
    }
}

fn webhook_place(task: &Task, number: u32) -> String {
    format!("webhook/{}/{}/{}/{number}", task.tenant, task.agent, task.id)
}

/// The call without what the user attached, which is not for every agent that takes part. Nothing was made of it where
/// it was refused, so that it is the same message still. `None` where it has nothing but words, or none.
fn words_alone(call: &SendCall) -> Option<SendCall> {
    let mut call = call.clone();
    let all = call.message.parts.len();
    call.message
        .parts
        .retain(|part| matches!(part.content, PartContent::Text(_)));
    ((1..all).contains(&call.message.parts.len())).then_some(call)
}

/// What to tell the user of a call that failed for good; "it" is the agent, which is named beside it.
fn failure(error: &CallError) -> (TaskState, String) {
    let reason = match error {
        CallError::Refused(refused) => {
            let state = match refused {
                A2aError::UnsupportedOperation(_)
                | A2aError::ContentTypeNotSupported
                | A2aError::InvalidParams(_) => TaskState::Rejected,
                _ => TaskState::Failed,
            };
            return (state, llm::clean(&refused.to_string(), REASON_MAX));
        }
        CallError::Unreachable { .. } | CallError::Timeout => {
            "it cannot be reached at the moment.".to_owned()
        }
        CallError::Status(status) if error.is_retryable() => {
            format!("it does not answer properly at the moment (status {status}).")
        }
        CallError::Unauthorized { .. } | CallError::Forbidden { .. } => {
            "it does not let us in; it wants other credentials.".to_owned()
        }
        CallError::NotAllowed(_) => "its address may not be called.".to_owned(),
        CallError::BadAnswer(_) | CallError::Status(_) => "it gave an answer that cannot be used.".to_owned(),
    };
    (TaskState::Failed, reason)
}
