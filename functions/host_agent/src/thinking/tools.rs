//! The model's tools, on one task.

use std::sync::Arc;

use agent::{ExecuteError, Run};
use async_trait::async_trait;
use domain::{AgentType, EventKind, Job, MessageId, NewJob, Protection};
use llm::{AgentBrief, Called, Tool, ToolCall, ToolOutcome, ToolResult, Toolbox};

use crate::advance::advance;
use crate::consents::{consent_status, protection, require_consent};
use crate::delegation::webhook_token;
use crate::deps::OnTask;
use crate::rules::note::Note;
use crate::rules::patience::is_over;
use crate::rules::{ability, transcript, wording};
use crate::thinking::directory::{ChosenAgent, KnownAgents, Wanted};
use crate::thinking::discovery::Discovery;
use crate::thinking::own_tasks;

/// Most jobs of one task.
const JOBS_MAX: usize = 20;

pub(crate) struct Tools<'a> {
    pub(crate) agents: &'a Discovery,
    pub(crate) run: &'a mut Run,
    /// Who there is; looked up when it is needed.
    pub(crate) known: Option<Arc<KnownAgents>>,
    /// What is noted with the first jobs.
    pub(crate) note: Note,
}

/// One `send_message` of the model, with the agent it goes to.
struct Send {
    call_id: String,
    agent_type: AgentType,
    message: String,
    to: ChosenAgent,
    protection: Option<Protection>,
}

#[async_trait]
impl Toolbox for Tools<'_> {
    type Error = ExecuteError;

    async fn call(&mut self, calls: Vec<ToolCall>) -> Result<Called, ExecuteError> {
        let agents = self.agents;
        let deps = agents.deps.as_ref();
        let mut results: Vec<ToolResult> = Vec::new();
        let mut sends: Vec<Send> = Vec::new();
        for ToolCall { id, tool } in calls {
            let outcome = match tool {
                Tool::SendMessage { agent_type, message } => {
                    match self.choose(&agent_type, &message).await? {
                        _ if self.run.task().jobs.len() + sends.len() >= JOBS_MAX => {
                            ToolOutcome::Failed("That is more than one task can hand out.".to_owned())
                        }
                        Some(to) if let Some(reason) = lacking(&to.brief, &message) => {
                            ToolOutcome::Failed(reason)
                        }
                        Some(to) => match protection(&deps.consents, &to.name, to.oauth.as_ref()) {
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
                    }
                }
                Tool::TaskStatus { task_id } => {
                    own_tasks::told_to_model(deps, self.run.task(), task_id).await?
                }
                Tool::Invalid { reason, .. } => ToolOutcome::Failed(reason),
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
        Box::pin(advance(deps, self.run, &fresh)).await?;
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
    async fn choose(
        &mut self,
        agent_type: &AgentType,
        asked: &str,
    ) -> Result<Option<ChosenAgent>, ExecuteError> {
        let known = match self.known.take() {
            Some(known) => known,
            None => self.agents.discover().await?,
        };
        let deps = &self.agents.deps;
        let wanted = Wanted {
            agent_type,
            asked,
            context: &self.run.task().context_id,
        };
        let chosen = known.choose(wanted, &deps.tenant, &deps.url);
        self.known = Some(known);
        Ok(chosen)
    }

    /// Stores the jobs, with what their users are told, in one write; before anything leaves. Gives the index of the
    /// first one.
    async fn prepare(&mut self, sends: &[Send], failed: &[ToolResult]) -> Result<usize, ExecuteError> {
        let (deps, task, now) = (self.agents.deps.as_ref(), self.run.task(), self.run.now());
        let on = OnTask { deps, task, now };
        let first = task.jobs.len();
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
                    webhook: webhook_token::new(deps, task, number),
                    step,
                },
                now,
            );
            job.protection.clone_from(&send.protection);
            job.sender_keys = webhook_token::sender_keys(deps, &send.to.endpoint.url).await;
            require_consent(on, &mut job, &jobs).await?;
            jobs.push(job);
        }
        let names: Vec<&str> = sends.iter().map(|send| send.to.name.as_str()).collect();
        let mut missed = String::new();
        for result in failed {
            let (ToolOutcome::Failed(said) | ToolOutcome::Done(said)) = &result.outcome;
            missed = format!("{missed} {said}");
        }
        let new = jobs.get(first..).unwrap_or_default();
        let waiting = new.iter().find_map(|job| Some((job, job.awaited_consent()?)));
        let status = match waiting {
            Some((job, awaited)) => consent_status(deps, job, awaited, missed.trim_start()),
            None => {
                let text = format!("Asking {} …{missed}", words::listed(&names, "and"));
                wording::working(deps.entropy.as_ref(), &text)
            }
        };
        let kinds = new
            .iter()
            .cloned()
            .map(|job| EventKind::Job { job: Box::new(job) });
        let mut kinds: Vec<EventKind> = kinds.chain([status]).collect();
        if first == 0 && !self.note.is_empty() && task.checkpoint.is_none() {
            kinds.push(self.note.event()?);
        }
        self.run.record(kinds).await?;
        Ok(first)
    }
}

/// Why an agent is not even asked: what is wanted changes something, and its card does not say that it does that.
fn lacking(agent: &AgentBrief, message: &str) -> Option<String> {
    let deed = ability::lacking(agent, message)?;
    let can = agent
        .description()
        .split(". ")
        .next()
        .unwrap_or_default()
        .trim_end_matches('.');
    let name = agent.name();
    Some(format!(
        "I cannot do that here: nobody I can reach can {deed} anything. {name} comes nearest. What it does: {can}."
    ))
}
