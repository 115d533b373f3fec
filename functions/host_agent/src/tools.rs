//! The model's tools, on one task.

use std::sync::Arc;

use agent::{ExecuteError, Run};
use async_trait::async_trait;
use domain::{AgentType, EventKind, Job, MessageId, NewJob, Protection, TaskState, TraceParent};
use llm::{Called, Tool, ToolCall, ToolOutcome, ToolResult, Toolbox};

use crate::conclude::listed;
use crate::directory::{Chosen, Known};
use crate::host::Host;
use crate::patience::is_over;
use crate::transcript;

/// Most jobs of one task.
const JOBS_MAX: usize = 20;

pub(crate) struct Tools<'a> {
    pub(crate) host: &'a Host,
    pub(crate) run: &'a mut Run,
    /// Who there is; looked up when it is needed.
    pub(crate) known: Option<Arc<Known>>,
}

/// One `send_message` of the model, with the agent it goes to.
struct Send {
    call_id: String,
    agent_type: AgentType,
    message: String,
    to: Chosen,
    protection: Option<Protection>,
}

#[async_trait]
impl Toolbox for Tools<'_> {
    type Error = ExecuteError;

    async fn call(&mut self, calls: Vec<ToolCall>) -> Result<Called, ExecuteError> {
        let mut results: Vec<ToolResult> = Vec::new();
        let mut sends: Vec<Send> = Vec::new();
        for ToolCall { id, tool } in calls {
            let outcome = match tool {
                Tool::SendMessage { agent_type, message } => match self.choose(&agent_type).await? {
                    _ if self.run.task().jobs.len() + sends.len() >= JOBS_MAX => {
                        ToolOutcome::Failed("That is more than one task can hand out.".to_owned())
                    }
                    Some(to) => match self.host.protection(&to) {
                        Ok(protection) => {
                            sends.push(Send {
                                call_id: id,
                                agent_type,
                                message,
                                to,
                                protection,
                            });
                            continue;
                        }
                        Err(reason) => ToolOutcome::Failed(reason),
                    },
                    None => ToolOutcome::Failed(format!(
                        "No agent of type {agent_type} is there for this tenant."
                    )),
                },
                Tool::TaskStatus { task_id } => self.host.status_of(self.run.task(), task_id).await?,
                Tool::CancelTask { task_id } => self.host.cancel_by_words(self.run.task(), task_id).await?,
            };
            results.push(ToolResult {
                call_id: id,
                agent: None,
                outcome,
            });
        }
        if sends.is_empty() {
            return Ok(Called::Results(results));
        }
        let first = self.prepare(&sends, &results).await?;
        let prepared = self.run.task().jobs.iter().skip(first);
        let fresh: Vec<u32> = prepared.map(|job| job.number).collect();
        self.host.advance(self.run, &fresh).await?;
        let jobs = self.run.task().jobs.get(first..).unwrap_or_default();
        if !jobs.iter().all(is_over) {
            return Ok(Called::Parked);
        }
        // They all finished in their answers; no webhook will come.
        for (job, send) in jobs.iter().zip(sends) {
            results.push(ToolResult {
                call_id: send.call_id,
                ..transcript::result(job)
            });
        }
        Ok(Called::Results(results))
    }
}

impl Tools<'_> {
    async fn choose(&mut self, agent_type: &AgentType) -> Result<Option<Chosen>, ExecuteError> {
        let known = match self.known.take() {
            Some(known) => known,
            None => self.host.discover(self.run.task().trace.as_ref()).await?,
        };
        let chosen = known.choose(agent_type, &self.host.tenant, &self.host.url);
        self.known = Some(known);
        Ok(chosen)
    }

    /// Stores the jobs, with what their users are told, in one write; before anything leaves. Gives the index of the
    /// first one.
    async fn prepare(&mut self, sends: &[Send], failed: &[ToolResult]) -> Result<usize, ExecuteError> {
        let task = self.run.task();
        let first = task.jobs.len();
        let now = self.run.now();
        let mut jobs = task.jobs.clone();
        let step = jobs.last().map_or(0, |job| job.step.saturating_add(1));
        for (number, send) in (0_u32..).skip(first).zip(sends) {
            let mut job = Job::prepare(
                NewJob {
                    number,
                    agent_type: send.agent_type.clone(),
                    agent_id: send.to.id,
                    agent_name: send.to.name.clone(),
                    endpoint: send.to.endpoint.clone(),
                    instruction: send.message.clone(),
                    message_id: MessageId::derived(&format!("{}/{number}", task.id)),
                    webhook: self.host.webhook_token(task, number),
                    step,
                },
                now,
            );
            job.protection.clone_from(&send.protection);
            job.sender_keys = self.host.sender_keys(&send.to.endpoint.url).await;
            self.host.require_consent(task, &mut job, &jobs, now).await?;
            jobs.push(job);
        }
        let names: Vec<&str> = sends.iter().map(|send| send.to.name.as_str()).collect();
        let mut text = format!("Asking {} …", listed(&names));
        for result in failed {
            let (ToolOutcome::Failed(said) | ToolOutcome::Done(said)) = &result.outcome;
            text = format!("{text} {said}");
        }
        let new = jobs.get(first..).unwrap_or_default();
        let waiting = new.iter().find_map(|job| Some((job, job.awaited_consent()?)));
        let status = match waiting {
            Some((job, awaited)) => self.host.consent_status(job, awaited, &format!("{text} ")),
            None => EventKind::status(TaskState::Working, Some(self.run.message(&text))),
        };
        let kinds = new
            .iter()
            .cloned()
            .map(|job| EventKind::Job { job: Box::new(job) });
        let kinds = kinds.chain([status]).collect();
        self.run.record(kinds).await?;
        Ok(first)
    }
}

impl Host {
    /// Finds the agents, with the host's own token.
    pub(crate) async fn discover(&self, trace: Option<&TraceParent>) -> Result<Arc<Known>, ExecuteError> {
        let now = self.clock.now();
        let token = |url: &url::Url| self.access.registry(url.as_str(), now);
        let unusable =
            || ExecuteError::Retry("The registry of agents cannot be asked at the moment.".to_owned());
        let found = self.directory.discover(token, trace).await.map_err(|error| {
            tracing::error!(error = %error, "no token for the registry");
            unusable()
        })?;
        found.map_err(|error| {
            tracing::warn!(error = %error, "the registry cannot be asked");
            unusable()
        })
    }
}
