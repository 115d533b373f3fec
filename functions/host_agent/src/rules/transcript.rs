//! Tasks as a conversation that a model reads, and the small questions about a task that everybody asks.

use std::collections::BTreeSet;

use domain::{
    ASKED_AGENT, AgentType, AwaitedConsent, CallEnd, CallResult, Job, Message, MessageId, ModelTurn, Part,
    PartContent, PlanStep, Role, Task, TaskState, TurnCall,
};
use llm::{Tool, ToolCall, ToolOutcome, ToolResult, Turn};

use crate::rules::agent_choice::AgentChoice;
use crate::rules::brought::text_of;
use crate::rules::note::Note;
use crate::rules::plans;

/// The key in a message's metadata that says: it declines what its task waits for, whatever its words.
pub(crate) const DECLINES: &str = "declines";

/// What the task was made for.
pub(crate) fn asked(task: &Task) -> String {
    if let Some(asked) = Note::of(task).and_then(|note| note.asked) {
        return asked;
    }
    task.history
        .iter()
        .find(|message| message.role == Role::User)
        .map(Message::text)
        .unwrap_or_default()
}

/// The agent that the user has named for a new task, beside what they said.
pub(crate) fn named_agent(task: &Task) -> Option<AgentType> {
    let said = task.history.iter().find(|message| message.role == Role::User)?;
    AgentType::parse(said.metadata.get(ASKED_AGENT)?.as_str()?).ok()
}

/// The work on the task as far as it went: what was called, and what came of it. `unstored` are turns of this execution
/// that are not in the task.
pub(crate) fn of_work(task: &Task, unstored: &[ModelTurn]) -> Vec<Turn> {
    let mut work = Vec::new();
    let turns = || task.turns.iter().chain(unstored);
    let steps = task.jobs.iter().map(|job| job.step);
    let skipped = plans::skipped(task).map(|step| step.turn);
    let steps: BTreeSet<u32> = steps
        .chain(skipped)
        .chain(turns().map(|turn| turn.number))
        .collect();
    for step in steps {
        let jobs: Vec<&Job> = task.jobs.iter().filter(|job| job.step == step).collect();
        let turn = turns().find(|turn| turn.number == step);
        let called = |job: &&&Job| turn.is_some_and(|turn| is_called(turn, job.number));
        // What a plan made of a turn is told behind its calls, as if it had been called for one by one.
        let more = jobs.iter().filter(|job| !called(job) && !task.is_replaced(job));
        let more = more.map(|job| (call(job), result(job)));
        let called = |skipped: &&PlanStep| turn.is_some_and(|turn| is_called(turn, skipped.number));
        let skipped = plans::skipped(task).filter(|skipped| skipped.turn == step && !called(skipped));
        let more: Vec<_> = more.chain(skipped.map(plans::told_skipped)).collect();
        match turn {
            Some(turn) => work.extend(of_turn(task, turn, more)),
            None => work.extend(told_turn(more)),
        }
    }
    work
}

/// The number of the next step of the work.
pub(crate) fn next_step(task: &Task, unstored: &[ModelTurn]) -> u32 {
    let turns = task.turns.iter().chain(unstored).map(|turn| turn.number);
    let steps = task
        .plan
        .iter()
        .flat_map(|plan| &plan.steps)
        .map(|step| step.turn);
    let last = turns
        .chain(task.jobs.iter().map(|job| job.step))
        .chain(steps)
        .max();
    last.map_or(0, |last| last.saturating_add(1))
}

fn is_called(turn: &ModelTurn, number: u32) -> bool {
    turn.calls.iter().any(|call| call.end == CallEnd::Job { number })
}

fn told_turn(calls: Vec<(ToolCall, ToolResult)>) -> [Turn; 2] {
    let (calls, results) = calls.into_iter().unzip();
    [Turn::Calls(calls), Turn::Results(results)]
}

/// A turn as its model reads it again, with what else was done for it. What its jobs were asked, and what came of them, they
/// hold themselves.
fn of_turn(task: &Task, turn: &ModelTurn, more: Vec<(ToolCall, ToolResult)>) -> Vec<Turn> {
    let mut told = Vec::new();
    let said = turn.said.as_ref().and_then(|id| said_as(task, id));
    told.extend(said.map(|said| Turn::User(said.text())));
    if !turn.text.is_empty() {
        told.push(Turn::Said(turn.text.clone()));
    }
    if turn.calls.is_empty() {
        return told;
    }
    let calls = turn.calls.iter().map(|stored| of_call(stored, task));
    told.extend(told_turn(calls.chain(more).collect()));
    told
}

fn of_call(stored: &TurnCall, task: &Task) -> (ToolCall, ToolResult) {
    let own = |outcome: ToolOutcome| {
        let call = ToolCall {
            id: stored.id.clone(),
            tool: Tool::recalled(&stored.name, &stored.arguments),
        };
        let result = ToolResult {
            call_id: stored.id.clone(),
            agent: None,
            outcome,
        };
        (call, result)
    };
    match &stored.end {
        CallEnd::Job { number } => match task.jobs.iter().find(|job| job.number == *number) {
            Some(job) => {
                let call = ToolCall {
                    id: stored.id.clone(),
                    ..call(job)
                };
                let result = ToolResult {
                    call_id: stored.id.clone(),
                    ..result(job)
                };
                (call, result)
            }
            None => match task.plan.as_ref().and_then(|plan| plan.step(*number)) {
                Some(step) => {
                    let (call, result) = plans::told_skipped(step);
                    let (id, call_id) = (stored.id.clone(), stored.id.clone());
                    (ToolCall { id, ..call }, ToolResult { call_id, ..result })
                }
                None => own(ToolOutcome::Failed("it was not asked.".to_owned())),
            },
        },
        CallEnd::Result(CallResult { text, failed: false }) => own(ToolOutcome::Done(text.clone())),
        CallEnd::Result(CallResult { text, failed: true }) => own(ToolOutcome::Failed(text.clone())),
        CallEnd::Unknown => own(ToolOutcome::Failed("what came of it is not known.".to_owned())),
    }
}

/// Earlier tasks of the same conversation, as the model reads them: all that was said, by whomever, with what agents brought. What
/// was said of a failure is left out: it is no example.
pub(crate) fn of_earlier<'a>(before: impl IntoIterator<Item = &'a Task>) -> Vec<Turn> {
    let mut turns = Vec::new();
    for task in before {
        turns.push(Turn::User(asked(task)));
        let done: Vec<&Job> = task.jobs.iter().filter(|job| is_done(job)).collect();
        if !task.jobs.is_empty() {
            turns.push(Turn::Calls(task.jobs.iter().map(call).collect()));
        }
        if !done.is_empty() {
            turns.push(Turn::Results(done.into_iter().map(result).collect()));
        }
        let is_failure = matches!(
            task.status.state,
            TaskState::Failed | TaskState::Unknown | TaskState::Rejected
        );
        let said = task.status.message.as_ref().filter(|_| !is_failure);
        turns.extend(said.map(|message| Turn::Said(message.text())));
    }
    turns
}

/// Whether a job's agent has done it.
pub(crate) fn is_done(job: &Job) -> bool {
    job.remote()
        .is_some_and(|remote| remote.state == TaskState::Completed)
}

fn call(job: &Job) -> ToolCall {
    let tool = Tool::SendMessage {
        agent_type: job.agent_type.clone(),
        message: job.instruction.clone(),
        data: job.data.clone(),
    };
    ToolCall {
        id: call_id(job),
        tool,
    }
}

fn call_id(job: &Job) -> String {
    format!("job-{}", job.number)
}

/// What came of a job, as a tool's result.
fn result(job: &Job) -> ToolResult {
    let outcome = match job.remote() {
        Some(remote) if remote.state == TaskState::Completed => ToolOutcome::Done(text_of(job)),
        Some(remote) => {
            let said = remote.text.clone().filter(|text| !text.trim().is_empty());
            ToolOutcome::Failed(said.unwrap_or_else(|| NO_REASON.to_owned()))
        }
        None => ToolOutcome::Failed("it was not asked.".to_owned()),
    };
    ToolResult {
        call_id: call_id(job),
        agent: Some(job.agent_name.clone()),
        outcome,
    }
}

/// What is said of work that went wrong without a word.
const NO_REASON: &str = "it gave no reason. Say “try again” to have it tried once more.";

/// The user's newest message, where nothing was done about it yet: it is the last thing said, and not the first.
pub(crate) fn pending_answer(task: &Task) -> Option<&Message> {
    said_as(task, task.unanswered.as_ref()?)
}

fn said_as<'t>(task: &'t Task, id: &MessageId) -> Option<&'t Message> {
    task.history.iter().find(|message| message.message_id == *id)
}

/// The job whose agent waits for the user, the first of them.
pub(crate) fn asking(task: &Task) -> Option<&Job> {
    let waits = |job: &&Job| job.remote().is_some_and(|remote| remote.state.is_interrupted());
    task.jobs.iter().find(waits)
}

/// The job whose agent is the first that waits for the user, with what it asked; none where that is a consent.
pub(crate) fn question(task: &Task) -> Option<(&Job, &str)> {
    let job = asking(task)?;
    let remote = job
        .remote()
        .filter(|remote| remote.state == TaskState::InputRequired)?;
    Some((job, remote.text.as_deref().unwrap_or_default()))
}

/// Whether an agent asks the user for a consent of its own.
pub(crate) fn asks_consent(task: &Task) -> bool {
    let asks = |job: &Job| {
        job.remote()
            .is_some_and(|remote| remote.state == TaskState::AuthRequired)
    };
    task.jobs.iter().any(asks)
}

/// What the user has still to choose from, where that is what the task waits for.
pub(crate) fn choosing(task: &Task) -> Option<AgentChoice> {
    let begun = !task.jobs.is_empty() || !task.turns.is_empty() || task.plan.is_some();
    let open = !begun && !task.status.state.is_terminal();
    Note::of(task).filter(|_| open)?.choice
}

/// The job that waits for the user's consent, the first of them.
pub(crate) fn unconsented(task: &Task) -> Option<(&Job, &AwaitedConsent)> {
    task.jobs
        .iter()
        .find_map(|job| Some((job, job.awaited_consent()?)))
}

/// True where the host has something to decide about the task.
pub(crate) fn wants_a_look(task: &Task) -> bool {
    !task.status.state.is_terminal()
        && !task.jobs.is_empty()
        && (task.jobs.iter().all(Job::is_settled)
            || task
                .plan
                .as_ref()
                .is_some_and(|plan| !plan.moves(&task.jobs).is_empty())
            || unconsented(task).is_some()
            || (asking(task).is_some() && !task.status.state.is_interrupted()))
}

/// Whether a message brings words.
pub(crate) fn has_text(message: &Message) -> bool {
    message
        .parts
        .iter()
        .any(|part| matches!(part.content, PartContent::Text(_)))
}

/// What the user attached, as it can be named.
pub(crate) fn attached(task: &Task) -> Vec<String> {
    files(task, |_| true)
}

/// Whether the user attached something, now or to the message that a retry repeats.
pub(crate) fn brings_file(task: &Task) -> bool {
    !attached(task).is_empty()
}

/// What goes along with the words of each job: what came with the first message, or with the one that a retry repeats.
/// Never with a later one: a resend must be the same, whatever was said meanwhile.
pub(crate) fn goes_along(task: &Task) -> Vec<Part> {
    let first = task.history.first().map(|message| message.parts.clone());
    let repeated = Note::of(task).map(|note| note.attached);
    let parts = first.into_iter().chain(repeated).flatten();
    parts
        .filter(|part| !matches!(part.content, PartContent::Text(_)))
        .collect()
}

/// What of it is of none of these media types, where they are listed and its own is known.
pub(crate) fn attached_besides(task: &Task, listed: &[String]) -> Vec<String> {
    files(task, |part| {
        let media_type = part.media_type.as_deref();
        media_type.is_some_and(|media_type| !a2a::media::takes(listed, media_type))
    })
}

/// The names of the user's files that are wanted.
fn files(task: &Task, wanted: impl Fn(&Part) -> bool) -> Vec<String> {
    let said = task.history.iter().filter(|message| message.role == Role::User);
    let repeated = Note::of(task).map(|note| note.attached).unwrap_or_default();
    said.flat_map(|message| &message.parts)
        .chain(&repeated)
        .filter(|part| is_file(part) && wanted(part))
        .map(named)
        .collect()
}

fn named(part: &Part) -> String {
    let named = part.filename.as_deref().or(part.media_type.as_deref());
    named.unwrap_or("your file").to_owned()
}

/// Whether a part is a file.
pub(crate) fn is_file(part: &Part) -> bool {
    matches!(part.content, PartContent::Raw(_) | PartContent::Url(_))
}

/// Whether a message brings something else than words.
pub(crate) fn has_file(message: &Message) -> bool {
    message.parts.iter().any(is_file)
}
