//! The model's tools, on one task.

use agent::{ExecuteError, Run, on_heap};
use consent::{GrantNeed, covers};
use domain::{
    AgentType, CallEnd, CallResult, EventKind, Job, MessageId, ModelTurn, NewJob, Protection, Task, TaskPlan,
    TurnCall, UserContext, WorkNote,
};
use llm::{Answer, PlannedTask, Step, Tool, ToolCall, ToolOutcome};
use serde_json::Value;

use crate::advance::advance;
use crate::consents::{consent_status, protection, require_consent};
use crate::delegation::webhook_token;
use crate::deps::OnTask;
use crate::rules::brought::text_of;
use crate::rules::note::Note;
use crate::rules::patience::is_over;
use crate::rules::{plans, sentences, transcript, wording};
use crate::thinking::directory::{ChosenAgent, Wanted};
use crate::thinking::discovery::Discovery;
use crate::thinking::own_tasks;
use crate::thinking::planning::{Changed, Planning};
use crate::thinking::thought::Thought;

/// Most calls of one step.
const CALLS_MAX: usize = 8;
const TOO_MANY: &str = "Not done: at most 8 calls at once.";
/// What a model is told that calls for the same once more, before the result that is there.
const SAME: &str = "This was done already. All results are above: answer the user now, in their language, from these results only.";

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

/// A piece of work, with the agent that it goes to.
pub(crate) struct Send {
    pub(crate) number: u32,
    pub(crate) agent_type: AgentType,
    pub(crate) message: String,
    /// The same as data.
    pub(crate) data: Option<Value>,
    /// The turn that it was decided in.
    pub(crate) turn: u32,
    /// It works on results of others.
    pub(crate) uses: bool,
    pub(crate) to: ChosenAgent,
    pub(crate) protection: Option<Protection>,
}

/// A call, with what is to be done about it.
enum Planned {
    Send(Box<Send>),
    Done(CallResult),
    /// The plan was changed, and tells of it.
    Noted(CallResult),
    /// It was done already, in this task: this is its result.
    Known(CallResult),
}

/// What is to be done about the calls of a turn.
struct Decided {
    calls: Vec<Planned>,
    /// The task's plan, where they changed it: then all that is handed out stands there.
    plan: Option<TaskPlan>,
}

/// An answer as it is stored.
pub(crate) fn turn(number: u32, answer: &Answer, calls: Vec<TurnCall>) -> ModelTurn {
    let turn = ModelTurn {
        prompts: llm::PROMPTS,
        number,
        said: None,
        model: answer.model.clone(),
        text: answer.beside.clone(),
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
        let refused = on_heap(|| self.refused(calls, answer.is_by_rule())).await?;
        let is_refused = refused.is_some();
        let Decided { calls: planned, plan } = match refused {
            Some(calls) => Decided { calls, plan: None },
            None => self.plan(calls, number, answer.is_by_rule()).await?,
        };
        // Whoever calls for nothing but what is done is not asked for ever.
        let is_refused = is_refused || planned.iter().all(|call| matches!(call, Planned::Known(_)));
        let turn = ModelTurn {
            refused: is_refused,
            said: plans::said(self.run.task()).map(|said| said.message_id.clone()),
            ..turn(number, answer, ends(calls, &planned))
        };
        let failed = planned.iter().any(Planned::is_failed);
        let (kinds, unstored) = match answer.is_by_rule() {
            // What the rules plan, they need not read again.
            true => (Vec::new(), Some(turn).filter(|_| plan.is_none() || failed)),
            false => (vec![note(turn)], None),
        };
        let told = match answer.is_by_rule() {
            true => &answer.beside,
            false => &answer.unasked,
        };
        if !told.is_empty() {
            let lead = self.thought.note.lead.get_or_insert_default();
            if !lead.contains(told) {
                *lead = format!("{lead} {told}").trim().to_owned();
            }
        }
        let missed = missed(&planned);
        let sends: Vec<Send> = planned.into_iter().filter_map(Planned::send).collect();
        // What the rules cannot have done is said beside what is done, also when that comes after a wait, in which their turn is
        // not kept.
        let beside_others = answer.is_by_rule() && plan.is_none() && !missed.is_empty() && !sends.is_empty();
        let unstored = unstored.filter(|_| !beside_others);
        if beside_others {
            let lead = self.thought.note.lead.get_or_insert_default();
            *lead = format!("{lead} {}", missed.trim()).trim().to_owned();
        }
        match plan {
            Some(plan) => self.walk(Some(Changed { plan, kinds, missed })).await?,
            None if sends.is_empty() => {
                self.run.record(kinds).await?;
                return Ok(Called::Answered(unstored));
            }
            None => self.hand_out(&sends, kinds, &missed).await?,
        }
        // They may all have finished in their answers: then no webhook will come.
        let task = self.run.task();
        let is_over = self.run.parked().is_none() && task.jobs.iter().all(is_over);
        Ok(match is_over && plans::asks(task).is_none() {
            true => Called::Answered(unstored),
            false => Called::Parked,
        })
    }

    /// What the model is told where its calls cannot all be run: then none is, so that it may call them again without doing
    /// anything twice. Data that does not fit is such a call; what comes by rule was sent once before, and agents check it.
    async fn refused(
        &mut self,
        calls: &[ToolCall],
        is_by_rule: bool,
    ) -> Result<Option<Vec<Planned>>, ExecuteError> {
        let is_many = calls.len() > CALLS_MAX;
        let mut wrong: Vec<Option<String>> = Vec::new();
        // Of too many calls the first ones are answered, and the others are as if they had never been.
        for call in calls.iter().take(CALLS_MAX) {
            wrong.push(match &call.tool {
                Tool::Invalid { reason, .. } => Some(reason.clone()),
                Tool::SendMessage {
                    agent_type,
                    message,
                    data: Some(data),
                } if !is_by_rule && !is_many => {
                    let to = self.choose(agent_type, message).await?;
                    to.and_then(|to| to.brief.misfit(data))
                        .map(|misfit| format!("Not done: {misfit}"))
                }
                _ => None,
            });
        }
        if !is_many && !wrong.is_empty() && wrong.iter().all(Option::is_none) {
            return Ok(None);
        }
        let beside = match is_many {
            true => TOO_MANY,
            false => "Not done: another call beside this one cannot be run. Call this one again.",
        };
        let told = wrong
            .iter()
            .map(|wrong| CallResult::new(wrong.as_deref().unwrap_or(beside), true));
        Ok(Some(told.map(Planned::Done).collect()))
    }

    /// Hands pieces of work out at once.
    async fn hand_out(
        &mut self,
        sends: &[Send],
        mut kinds: Vec<EventKind>,
        missed: &str,
    ) -> Result<(), ExecuteError> {
        kinds.extend(self.prepare(sends, &[], missed).await?);
        self.run.record(kinds).await?;
        let fresh: Vec<u32> = sends.iter().map(|send| send.number).collect();
        on_heap(|| advance(&self.agents.deps, self.run, &fresh)).await
    }

    /// Finds out what is to be done about each call, and does what is done at once.
    async fn plan(
        &mut self,
        calls: &[ToolCall],
        turn: u32,
        is_by_rule: bool,
    ) -> Result<Decided, ExecuteError> {
        let failed = |reason: &str| Planned::Done(CallResult::new(reason, true));
        let told = |told: Result<String, String>| match told {
            Ok(text) => Planned::Noted(CallResult::new(&text, false)),
            Err(reason) => failed(&reason),
        };
        let task = self.run.task().clone();
        let mut planning = Planning::of(&task, turn);
        let mut planned = Vec::new();
        for call in calls {
            planned.push(match &call.tool {
                Tool::SendMessage {
                    agent_type,
                    message,
                    data,
                } => {
                    let data = data.clone().filter(|data| is_by_rule || is_of_days(&task, data));
                    let is_of_days = is_by_rule || is_of_days(&task, &Value::String(message.clone()));
                    let message = &match is_of_days {
                        true => message.clone(),
                        false => transcript::asked(&task),
                    };
                    let sent = planned.iter().filter_map(Planned::sent);
                    let same = |send: &Send| {
                        (&send.agent_type, &send.message, &send.data) == (agent_type, message, &data)
                    };
                    if let Some(known) = known(&task, (agent_type, message, &data)).filter(|_| !is_by_rule) {
                        planned.push(known);
                        continue;
                    }
                    if !is_by_rule && sent.into_iter().any(same) {
                        planned.push(Planned::Known(CallResult::new(
                            "The same as another call of this turn.",
                            false,
                        )));
                        continue;
                    }
                    match self.choice(agent_type, message).await? {
                        Err(reason) => failed(&reason),
                        Ok((to, protection)) => match planning.hand_out((agent_type, &to.name), message) {
                            None => failed("That is more than one task can hand out."),
                            Some(number) => Planned::Send(Box::new(Send {
                                number,
                                agent_type: agent_type.clone(),
                                message: message.clone(),
                                data,
                                turn,
                                uses: false,
                                to,
                                protection,
                            })),
                        },
                    }
                }
                Tool::PlanTasks { tasks } => told(match self.named(tasks).await? {
                    Ok(tasks) => planning.plan(&tasks),
                    Err(reason) => Err(reason),
                }),
                Tool::UpdateTask {
                    number,
                    message,
                    is_dropped,
                } => told(planning.update(*number, message.as_deref(), *is_dropped)),
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
        on_heap(|| self.guard(&mut planning, is_by_rule)).await?;
        let sends = planned
            .iter()
            .filter(|planned| matches!(planned, Planned::Send(_)));
        let (sends, approval) = (sends.count(), self.agents.deps.approval);
        if sends > 1 && approval.is_needed_for(sends) {
            planning.make_plan();
        }
        let mut plan = planning.changed();
        if let Some(plan) = &mut plan {
            approval.apply(plan);
        }
        Ok(Decided { calls: planned, plan })
    }

    /// Planned pieces of work with the names of the agents that they go to; why one of them cannot be done.
    async fn named(
        &mut self,
        tasks: &[PlannedTask],
    ) -> Result<Result<Vec<(PlannedTask, String)>, String>, ExecuteError> {
        let mut named = Vec::new();
        for task in tasks {
            match self.choice(&task.agent_type, &task.message).await? {
                Ok((to, _)) => named.push((task.clone(), to.name)),
                Err(reason) => return Ok(Err(format!("Not planned: {reason}"))),
            }
        }
        Ok(Ok(named))
    }

    /// The agent that a piece of work goes to, with the consent that it needs; why nobody can do it.
    pub(crate) async fn choice(
        &mut self,
        agent_type: &AgentType,
        message: &str,
    ) -> Result<Result<(ChosenAgent, Option<Protection>), String>, ExecuteError> {
        let Some(to) = self.choose(agent_type, message).await? else {
            return Ok(Err(format!(
                "No agent of type {agent_type} is there at the moment; it may be switched off."
            )));
        };
        let protection = protection(&self.agents.deps.consents, &to.name, to.oauth.as_ref());
        if let Ok(Some(protection)) = &protection
            && let Some(reason) = self.not_taken(&to, protection).await?
        {
            return Ok(Err(reason));
        }
        Ok(protection.map(|protection| (to, protection)))
    }

    /// Why nobody is asked to consent that this agent gets what is attached: by its card it does not take it.
    async fn not_taken(
        &self,
        to: &ChosenAgent,
        protection: &Protection,
    ) -> Result<Option<String>, ExecuteError> {
        let task = self.run.task();
        let files = transcript::attached_besides(task, &to.input_modes);
        if files.is_empty() {
            return Ok(None);
        }
        let need = GrantNeed {
            owner: &task.owner,
            provider: &protection.provider,
            resource: to.endpoint.audience().as_str(),
            scopes: &protection.scopes,
        };
        let grant = self.agents.deps.consents.grant(need).await?;
        let consented = grant.is_some_and(|grant| covers(&grant.scopes, &protection.scopes));
        let files = sentences::listed(&files, &sentences::language(task));
        let values = [("name", to.name.as_str()), ("files", &files)];
        Ok((!consented).then(|| sentences::told_of(task, "notAskedForFiles", &values)))
    }

    pub(crate) async fn choose(
        &mut self,
        agent_type: &AgentType,
        asked: &str,
    ) -> Result<Option<ChosenAgent>, ExecuteError> {
        let known = self.known().await?;
        let deps = &self.agents.deps;
        let wanted = Wanted {
            agent_type,
            asked,
            context: &self.run.task().context_id,
        };
        Ok(known.choose(wanted, &deps.tenant, &deps.url))
    }

    /// The jobs of pieces of work, with what their users are told: to be written before anything leaves. The `early` ones are
    /// there for their consent alone, and left for later where they need none.
    pub(crate) async fn prepare(
        &mut self,
        sends: &[Send],
        early: &[u32],
        missed: &str,
    ) -> Result<Vec<EventKind>, ExecuteError> {
        let (deps, task, now) = (self.agents.deps.as_ref(), self.run.task(), self.run.now());
        let on = OnTask { deps, task, now };
        let first = task.jobs.len();
        let mut jobs = task.jobs.clone();
        for send in sends {
            let number = send.number;
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
                    step: send.turn,
                },
                now,
            );
            job.protection.clone_from(&send.protection);
            job.takes_data = send.uses && send.to.takes_data;
            job.data.clone_from(&send.data);
            job.chosen_task_id = webhook_token::chosen_task_id(deps, task, (number, &send.to.endpoint));
            job.link_hosts.clone_from(&send.to.link_hosts);
            job.takes_proof = send.to.takes_proof;
            job.is_polled = send.to.is_polled;
            if send.to.is_foreign && !send.to.is_private {
                job.owner_there = deps.owner_at(&task.owner, job.endpoint.audience().as_str());
            }
            require_consent(on, &mut job, &jobs).await?;
            if job.awaited_consent().is_some() || !early.contains(&number) {
                job.sender_keys = webhook_token::sender_keys(deps, &send.to.endpoint).await;
                jobs.push(job);
            }
        }
        let begin = sends.iter().filter(|send| !early.contains(&send.number));
        let names: Vec<&str> = begin.map(|send| send.to.name.as_str()).collect();
        let new = jobs.get(first..).unwrap_or_default();
        let waiting = new.iter().find_map(|job| Some((job, job.awaited_consent()?)));
        let lead = self.thought.note.lead.as_deref().filter(|_| first == 0);
        let beside = match lead {
            // It has what was missed too, where that is not told as a part of a plan.
            Some(lead) if lead.contains(missed.trim()) => format!(" {lead}"),
            Some(lead) => format!(" {lead}{missed}"),
            None => missed.to_owned(),
        };
        let status = match waiting {
            Some((job, awaited)) if beside.is_empty() => consent_status(deps, (task, job), awaited, ""),
            Some((job, awaited)) => {
                consent_status(deps, (task, job), awaited, &format!("{}\n", beside.trim_start()))
            }
            None => {
                let asking = match names.is_empty() {
                    true => String::new(),
                    false => {
                        let language = &sentences::language(task);
                        let names = [("names", &*sentences::listed(&names, language))];
                        words::told_of(Some(language), "asking", &names)
                    }
                };
                let text = format!("{asking}{beside}");
                wording::working_beside(deps.entropy.as_ref(), text.trim_start(), lead)
            }
        };
        let kinds = new
            .iter()
            .cloned()
            .map(|job| EventKind::Job { job: Box::new(job) });
        let mut kinds: Vec<EventKind> = kinds.chain([status]).collect();
        let note = &self.thought.note;
        if first == 0 && !note.is_empty() && Note::of(task).as_ref() != Some(note) {
            kinds.push(note.event()?);
        }
        Ok(kinds)
    }
}

impl Planned {
    fn send(self) -> Option<Send> {
        match self {
            Self::Send(send) => Some(*send),
            Self::Done(_) | Self::Noted(_) | Self::Known(_) => None,
        }
    }

    fn sent(&self) -> Option<&Send> {
        match self {
            Self::Send(send) => Some(send),
            Self::Done(_) | Self::Noted(_) | Self::Known(_) => None,
        }
    }

    fn is_failed(&self) -> bool {
        matches!(self, Self::Done(CallResult { failed: true, .. }))
    }
}

/// The result of the same call, where an agent has done it in this task: nobody does it twice unless its user says so.
fn known(task: &Task, call: (&AgentType, &String, &Option<Value>)) -> Option<Planned> {
    let same = |job: &&Job| (&job.agent_type, &job.instruction, &job.data) == call;
    let job = task
        .jobs
        .iter()
        .filter(|job| transcript::is_done(job))
        .find(same)?;
    let text = format!("{SAME}\n{}", text_of(job));
    Some(Planned::Known(CallResult::new(&text, false)))
}

/// Whether data or words that a model wrote may be of the days that the user named. Data that is not goes in words alone, and words that
/// are not give way to the user's own.
fn is_of_days(task: &Task, data: &Value) -> bool {
    let user = UserContext::newest(task.history.iter());
    !nlu::other_days(&transcript::asked(task), data, (task.created_at, &user))
}

/// What is said beside the work that is handed out.
fn missed(planned: &[Planned]) -> String {
    let mut missed = String::new();
    for planned in planned {
        if let Planned::Done(CallResult { text, .. }) = planned {
            missed = format!("{missed} {text}");
        }
    }
    missed
}

/// The calls as they are stored.
fn ends(calls: &[ToolCall], planned: &[Planned]) -> Vec<TurnCall> {
    let stored = calls.iter().zip(planned).map(|(call, planned)| {
        let (name, arguments) = call.tool.written();
        let (arguments, end) = match planned {
            Planned::Send(send) => (String::new(), CallEnd::Job { number: send.number }),
            Planned::Done(result) | Planned::Noted(result) | Planned::Known(result) => {
                (arguments, CallEnd::Result(result.clone()))
            }
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
