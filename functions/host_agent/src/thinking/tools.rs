//! The model's tools, on one task.

use agent::{ExecuteError, Run};
use domain::{
    AgentType, CallEnd, CallResult, EventKind, Job, MessageId, ModelTurn, NewJob, Protection, TurnCall,
    WorkNote,
};
use llm::{AgentBrief, Answer, Step, Tool, ToolCall, ToolOutcome};

use crate::advance::advance;
use crate::consents::{consent_status, protection, require_consent};
use crate::delegation::webhook_token;
use crate::deps::OnTask;
use crate::rules::patience::is_over;
use crate::rules::{ability, transcript, wording};
use crate::thinking::directory::{ChosenAgent, Wanted};
use crate::thinking::discovery::Discovery;
use crate::thinking::own_tasks;
use crate::thinking::thought::Thought;

/// Most jobs of one task.
const JOBS_MAX: usize = 20;
/// Most calls of one step.
const CALLS_MAX: usize = 8;
const TOO_MANY: &str = "Not done: at most 8 calls at once.";

pub(crate) struct Tools<'a> {
    pub(crate) agents: &'a Discovery,
    pub(crate) run: &'a mut Run,
    pub(crate) thought: &'a mut Thought,
}

/// What became of the calls of one step.
pub(crate) enum Called {
    /// All have their results: those of jobs at the jobs, the others in this turn, where it is not stored.
    Answered(Option<ModelTurn>),
    /// The work goes on elsewhere.
    Parked,
}

/// One `send_message` of the model, with the agent it goes to.
struct Send {
    agent_type: AgentType,
    message: String,
    to: ChosenAgent,
    protection: Option<Protection>,
}

/// A call, with what is to be done about it.
enum Planned {
    Send(Box<Send>),
    Done(CallResult),
}

/// An answer as it is stored.
pub(crate) fn turn(number: u32, answer: &Answer, calls: Vec<TurnCall>) -> ModelTurn {
    let opaque = answer.opaque.as_ref().filter(|_| !calls.is_empty());
    let turn = ModelTurn {
        number,
        model: answer.model.clone(),
        text: answer.beside.clone(),
        opaque: opaque.map(|opaque| opaque.value.clone()),
        refused: false,
        usage: answer.usage,
        calls,
    };
    turn.bounded()
}

/// The event that stores it.
pub(crate) fn note(turn: ModelTurn) -> EventKind {
    EventKind::Work {
        note: WorkNote::Turn { turn: Box::new(turn) },
    }
}

impl Tools<'_> {
    /// Runs the calls of one step, all of them. What they are is stored before anything is done about them, in the same
    /// write as the jobs that they make.
    pub(crate) async fn call(&mut self, answer: &Answer) -> Result<Called, ExecuteError> {
        let Step::Call(calls) = &answer.step else {
            return Ok(Called::Answered(None));
        };
        let number = transcript::next_step(self.run.task(), &self.thought.unstored);
        let refused = refused(calls);
        let is_refused = refused.is_some();
        let planned = match refused {
            Some(planned) => planned,
            None => self.plan(calls).await?,
        };
        let first = self.run.task().jobs.len();
        let turn = ModelTurn {
            refused: is_refused,
            ..turn(number, answer, ends(calls, &planned, first))
        };
        let (mut kinds, unstored) = match answer.is_by_rule() {
            true => (Vec::new(), Some(turn)),
            false => (vec![note(turn)], None),
        };
        if !planned.iter().any(|planned| matches!(planned, Planned::Send(_))) {
            self.run.record(kinds).await?;
            return Ok(Called::Answered(unstored));
        }
        kinds.extend(self.prepare(&planned, number).await?);
        self.run.record(kinds).await?;
        let prepared = self.run.task().jobs.iter().skip(first);
        let fresh: Vec<u32> = prepared.map(|job| job.number).collect();
        Box::pin(advance(&self.agents.deps, self.run, &fresh)).await?;
        // They may all have finished in their answers: then no webhook will come.
        Ok(match self.run.task().jobs.iter().skip(first).all(is_over) {
            true => Called::Answered(unstored),
            false => Called::Parked,
        })
    }

    /// Finds out what is to be done about each call, and does what is done at once.
    async fn plan(&mut self, calls: &[ToolCall]) -> Result<Vec<Planned>, ExecuteError> {
        let failed = |reason: &str| Planned::Done(CallResult::new(reason, true));
        let mut planned = Vec::new();
        for call in calls {
            planned.push(match &call.tool {
                Tool::SendMessage { .. } if self.run.task().jobs.len() + planned.len() >= JOBS_MAX => {
                    failed("That is more than one task can hand out.")
                }
                Tool::SendMessage { agent_type, message } => self.plan_send(agent_type, message).await?,
                Tool::TaskStatus { task_id } => {
                    let deps = &self.agents.deps;
                    match own_tasks::told_to_model(deps, self.run.task(), *task_id).await? {
                        ToolOutcome::Done(text) => Planned::Done(CallResult::new(&text, false)),
                        ToolOutcome::Failed(reason) => failed(&reason),
                    }
                }
                Tool::Invalid { reason, .. } => failed(reason),
            });
        }
        Ok(planned)
    }

    async fn plan_send(&mut self, agent_type: &AgentType, message: &str) -> Result<Planned, ExecuteError> {
        let failed = |reason: String| Planned::Done(CallResult::new(&reason, true));
        let Some(to) = self.choose(agent_type, message).await? else {
            return Ok(failed(format!(
                "No agent of type {agent_type} is there for this tenant."
            )));
        };
        if let Some(reason) = lacking(&to.brief, message) {
            return Ok(failed(reason));
        }
        let consents = &self.agents.deps.consents;
        Ok(match protection(consents, &to.name, to.oauth.as_ref()) {
            Ok(protection) => Planned::Send(Box::new(Send {
                agent_type: agent_type.clone(),
                message: message.to_owned(),
                to,
                protection,
            })),
            Err(reason) => failed(reason),
        })
    }

    async fn choose(
        &mut self,
        agent_type: &AgentType,
        asked: &str,
    ) -> Result<Option<ChosenAgent>, ExecuteError> {
        let known = match self.thought.known.take() {
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
        self.thought.known = Some(known);
        Ok(chosen)
    }

    /// The jobs of a step, with what their users are told: to be written before anything leaves.
    async fn prepare(&mut self, planned: &[Planned], step: u32) -> Result<Vec<EventKind>, ExecuteError> {
        let (deps, task, now) = (self.agents.deps.as_ref(), self.run.task(), self.run.now());
        let on = OnTask { deps, task, now };
        let first = task.jobs.len();
        let mut jobs = task.jobs.clone();
        let sends: Vec<&Send> = planned.iter().filter_map(Planned::send).collect();
        for (number, send) in (0_u32..).skip(first).zip(&sends) {
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
        for planned in planned {
            if let Planned::Done(CallResult { text, .. }) = planned {
                missed = format!("{missed} {text}");
            }
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
        let lead = &self.thought.note;
        if first == 0 && !lead.is_empty() && task.checkpoint.is_none() {
            kinds.push(lead.event()?);
        }
        Ok(kinds)
    }
}

impl Planned {
    fn send(&self) -> Option<&Send> {
        match self {
            Self::Send(send) => Some(send),
            Self::Done(_) => None,
        }
    }
}

/// The calls as they are stored; the jobs among them get the numbers from `first` on.
fn ends(calls: &[ToolCall], planned: &[Planned], first: usize) -> Vec<TurnCall> {
    let mut jobs = (0_u32..).skip(first);
    let stored = calls.iter().zip(planned).map(|(call, planned)| {
        let (name, arguments) = call.tool.written();
        let (arguments, end) = match planned {
            Planned::Send(_) => {
                let number = jobs.next().unwrap_or(u32::MAX);
                (String::new(), CallEnd::Job { number })
            }
            Planned::Done(result) => (arguments, CallEnd::Result(result.clone())),
        };
        TurnCall {
            id: call.id.clone(),
            name,
            arguments,
            end,
        }
    });
    stored.collect()
}

/// What the model is told where its calls cannot all be run: then none is, so that it may call them again without doing
/// anything twice.
fn refused(calls: &[ToolCall]) -> Option<Vec<Planned>> {
    let is_valid = |call: &ToolCall| !matches!(call.tool, Tool::Invalid { .. });
    if (1..=CALLS_MAX).contains(&calls.len()) && calls.iter().all(is_valid) {
        return None;
    }
    // Of too many calls the first ones are answered, and the others are as if they had never been.
    let refused = calls.iter().take(CALLS_MAX).map(|call| {
        let reason = match &call.tool {
            Tool::Invalid { reason, .. } => reason,
            _ if calls.len() > CALLS_MAX => TOO_MANY,
            _ => "Not done: another call beside this one cannot be run. Call this one again.",
        };
        Planned::Done(CallResult::new(reason, true))
    });
    Some(refused.collect())
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
