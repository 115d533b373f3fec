//! A task's plan, as people read it and answer to it.

use std::time::Duration;

use domain::{
    EventKind, Job, Message, PLAN_HASH, PlanStep, StepState, Task, TaskPlan, TaskState, Timestamp, WorkNote,
};
use llm::{Tool, ToolCall, ToolOutcome, ToolResult};

use crate::rules::patience::is_over;
use crate::rules::{permission, sentences};

/// After so long without an answer the task goes on without what was not done.
const GOES_ON: Duration = Duration::from_secs(24 * 3600);
/// A plan that nobody starts is given up after so long.
const STARTED_WITHIN: Duration = Duration::from_secs(28 * 24 * 3600);
/// Most characters of a step's instruction that are shown.
const SHOWN_MAX: usize = 160;

/// What a plan waits for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asks<'a> {
    /// Its user's word to begin.
    ToStart,
    /// Its user's word for these steps: what they send must not go to their agents unasked.
    ToAllow(Vec<&'a PlanStep>),
    /// What is to become of it, as these steps were not done.
    AfterFailure(Vec<&'a PlanStep>),
}

/// What a task's plan waits for, where it waits for its user.
pub(crate) fn asks(task: &Task) -> Option<Asks<'_>> {
    let plan = task.plan.as_ref()?;
    if task.status.state.is_terminal() {
        return None;
    }
    let guarded = plan.guarded(&task.jobs);
    if !guarded.is_empty() {
        // Whatever can be done without an answer is done first.
        let rests = |job: &Job| is_over(job) || plan.holds(job, &task.jobs);
        let rests = task.jobs.iter().all(rests) && plan.moves(&task.jobs).is_empty();
        return rests.then_some(Asks::ToAllow(guarded));
    }
    if !task.jobs.iter().all(is_over) {
        return None;
    }
    if !plan.is_approved() {
        return Some(Asks::ToStart);
    }
    let failed = plan.failed(&task.jobs);
    (!failed.is_empty()).then_some(Asks::AfterFailure(failed))
}

/// What the user said to a plan that waits, where nothing was done about it yet.
pub(crate) fn said(task: &Task) -> Option<&Message> {
    let unanswered = task.unanswered.as_ref()?;
    let mut history = task.history.iter();
    asks(task)?;
    history.find(|message| message.message_id == *unanswered)
}

/// The steps that were not done because others were not.
pub(crate) fn skipped(task: &Task) -> impl Iterator<Item = &PlanStep> {
    let steps = task.plan.iter().flat_map(|plan| &plan.steps);
    steps.filter(|step| {
        matches!(step.state, StepState::Skipped { .. })
            && task.jobs.iter().all(|job| job.number != step.number)
    })
}

/// A step without a job, as a call and its result.
pub(crate) fn told_skipped(step: &PlanStep) -> (ToolCall, ToolResult) {
    let id = format!("job-{}", step.number);
    let why = match &step.state {
        StepState::Skipped { why } => why.clone(),
        StepState::Dropped => "its user left it out.".to_owned(),
        StepState::Planned | StepState::Unknown => "it was not begun yet.".to_owned(),
    };
    let call = ToolCall {
        id: id.clone(),
        tool: Tool::SendMessage {
            agent_type: step.agent_type.clone(),
            message: step.instruction.clone(),
            data: None,
        },
    };
    let result = ToolResult {
        call_id: id,
        agent: Some(step.agent_name.clone()),
        outcome: ToolOutcome::Failed(why),
    };
    (call, result)
}

/// The event that notes a plan.
pub(crate) fn noted(plan: TaskPlan) -> EventKind {
    EventKind::Work {
        note: WorkNote::Plan { plan: Box::new(plan) },
    }
}

/// The steps as a numbered list.
pub(crate) fn listed(plan: &TaskPlan, language: &str) -> String {
    let lines: Vec<String> = plan.wanted().map(|step| line(step, language)).collect();
    lines.join("\n")
}

/// One step: "2. Reports: write a report on it (after 1, with its result)".
fn line(step: &PlanStep, language: &str) -> String {
    let instruction = llm::clean(&step.instruction, SHOWN_MAX);
    let listed = |numbers: &[u32]| {
        let numbers: Vec<String> = numbers.iter().map(|number| (number + 1).to_string()).collect();
        sentences::listed(&numbers, language)
    };
    let needs: Vec<u32> = step.needs().collect();
    let key = match step.uses.as_slice() {
        [] => "planAfter",
        [only] if needs == [*only] => "planAfterWithResult",
        uses if uses.len() == needs.len() => "planAfterWithResults",
        _ => "planAfterWith",
    };
    let values = [("numbers", listed(&needs)), ("uses", listed(&step.uses))];
    let values = values.each_ref().map(|(key, value)| (*key, value.as_str()));
    let order = match needs.is_empty() {
        true => String::new(),
        false => format!(" ({})", words::told_of(Some(language), key, &values)),
    };
    format!("{}. {}: {instruction}{order}", step.number + 1, step.agent_name)
}

/// The guarded steps that a shown plan tells all of: who agrees to it has agreed to them.
pub(crate) fn told_whole(plan: &TaskPlan) -> Vec<u32> {
    let is_whole = |step: &&PlanStep| {
        let alone = step.guard.as_ref().is_some_and(|guard| guard.from.is_empty());
        alone && step.uses.is_empty() && llm::clean(&step.instruction, SHOWN_MAX) == step.instruction
    };
    plan.wanted().filter(is_whole).map(|step| step.number).collect()
}

/// What the user is asked.
pub(crate) fn question(task: &Task) -> Option<String> {
    let (plan, language) = (task.plan.as_ref()?, sentences::language(task));
    let spoken = Some(language.as_str());
    Some(match asks(task)? {
        Asks::ToStart => words::told_of(spoken, "planAsked", &[("steps", &listed(plan, &language))]),
        Asks::ToAllow(steps) => permission::question(task, &steps, &language),
        Asks::AfterFailure(failed) => {
            let told = failed
                .iter()
                .map(|step| format!("{}. {}: {}", step.number + 1, step.agent_name, reason(task, step)));
            let mut told: Vec<String> = told.collect();
            let retry = |step: &&PlanStep| {
                words::told_of(
                    spoken,
                    "retryNumber",
                    &[("number", &(step.number + 1).to_string())],
                )
            };
            let retries: Vec<String> = failed.iter().map(retry).collect();
            let skipped = plan
                .wanted()
                .filter(|step| is_skipped(step) && !failed.contains(step));
            let names: Vec<&str> = skipped.map(|step| step.agent_name.as_str()).collect();
            let needs = words::told_of(
                spoken,
                "needsThat",
                &[("names", &sentences::listed(&names, &language))],
            );
            told.extend((!names.is_empty()).then_some(needs));
            let retries = words::listed(&retries, &words::told(spoken, "or", ""));
            words::told_of(
                spoken,
                "planNotDone",
                &[("steps", &told.join("\n")), ("retries", &retries)],
            )
        }
    })
}

fn is_skipped(step: &PlanStep) -> bool {
    matches!(step.state, StepState::Skipped { .. })
}

/// Why a step was not done.
fn reason(task: &Task, step: &PlanStep) -> String {
    let job = task.jobs.iter().find(|job| job.number == step.number);
    let said = job.and_then(|job| job.remote()?.text.clone());
    let why = match (&step.state, said) {
        (StepState::Skipped { why }, None) => why.clone(),
        (_, Some(said)) => said,
        (_, None) => "it gave no reason.".to_owned(),
    };
    llm::clean(&why, SHOWN_MAX * 2)
}

/// The status that asks it, where the task does not show it yet.
pub(crate) fn asked(task: &Task, mut message: impl FnMut(&str) -> Message, lead: &str) -> Option<EventKind> {
    let (text, hash) = (question(task)?, asked_hash(task)?);
    let text = match lead.is_empty() {
        true => text,
        false => format!("{lead}\n\n{text}"),
    };
    let known = task.status.message.as_ref().is_some_and(|shown| {
        task.status.state == TaskState::InputRequired && shows(shown, &hash) && shown.text().ends_with(&text)
    });
    let mut message = message(&text);
    message.metadata.insert(PLAN_HASH.to_owned(), hash.into());
    (!known).then(|| EventKind::status(TaskState::InputRequired, Some(message)))
}

/// The hash of what its user is asked about: of the plan, or of what would go to which agents.
fn asked_hash(task: &Task) -> Option<String> {
    match asks(task)? {
        Asks::ToAllow(steps) => Some(permission::hash(&steps)),
        Asks::ToStart | Asks::AfterFailure(_) => task.plan.as_ref().map(TaskPlan::hash),
    }
}

fn shows(message: &Message, hash: &str) -> bool {
    message
        .metadata
        .get(PLAN_HASH)
        .and_then(serde_json::Value::as_str)
        == Some(hash)
}

/// Whether what its user is asked about, as it is now, is what was shown last, or what its user has named: a button's word is
/// about what stood beside the button.
pub(crate) fn is_shown(task: &Task) -> bool {
    let said = task.history.iter().chain(&task.status.message).rev();
    let mut shown = said.filter(|message| message.metadata.contains_key(PLAN_HASH));
    let hash = asked_hash(task);
    hash.is_some_and(|hash| shown.next().is_some_and(|message| shows(message, &hash)))
}

/// Whether its user was asked what its plan waits for.
pub(crate) fn is_asked(task: &Task) -> bool {
    let shown = task.status.message.as_ref();
    let asked = shown.is_some_and(|message| message.metadata.contains_key(PLAN_HASH));
    asked && task.status.state == TaskState::InputRequired
}

/// Until when a question waits; then the task goes on without what was not done, or is given up.
pub(crate) fn waits_until(task: &Task, asks: &Asks<'_>) -> Timestamp {
    match asks {
        Asks::ToStart | Asks::ToAllow(_) => task.created_at.after(STARTED_WITHIN),
        Asks::AfterFailure(_) => task.status.at.after(GOES_ON),
    }
}

/// A step as its model is told of it, which counts from 0.
pub(crate) fn told_to_model(step: &PlanStep) -> String {
    let needs: Vec<u32> = step.needs().collect();
    let behind = match needs.is_empty() {
        true => String::new(),
        false => format!(" after {needs:?}"),
    };
    format!("{}: {}{behind}", step.number, step.agent_name)
}
