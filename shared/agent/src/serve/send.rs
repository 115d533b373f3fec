//! Send: stores the task and what comes next in one write, then answers.

use std::sync::Arc;
use std::time::Duration;

use a2a::{A2aError, SendCall};
use auth::scope::DELEGATED;
use domain::{
    Caller, ContextId, EventKind, Message, MessageId, NewTask, Revision, Task, TaskId, TaskState, Timestamp,
    TraceParent,
};
use store::{Admitted, Created, Decision, Due, NewRecord, Revised, StoreError, TaskKey, Tasks};
use tokio::time::Instant;

use super::find::{failed, owned};
use super::push_configs::{self, Written};
use crate::tail::{News, Tail, TailLimits};
use crate::worker::{Executed, WorkError};
use crate::{Agent, Shutdown, Wake, measure, push, wake_or_log, worker};

/// What a send may do beyond the protocol, by the extensions that it names.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    /// How its push configuration is written.
    pub(crate) written: Written,
    /// The task's id is the caller's choice ([`a2a::CLIENT_TASK_ID`]).
    pub(crate) client_task_id: bool,
}

/// Takes a message, and answers it in the way it asks for: at once, or when the task is settled.
pub(crate) async fn send(
    agent: &Arc<Agent>,
    caller: &Caller,
    call: SendCall,
    ways: Ways,
) -> Result<Task, A2aError> {
    let at_once = call.return_immediately;
    let task = accept(agent, caller, call, ways).await?;
    if is_settled(task.status.state) {
        return Ok(task);
    }
    // A mere message has no task that its answer could be asked of later.
    if !at_once || agent.executor.answers_directly(&task) {
        return block(agent, task).await;
    }
    let wake = Wake::for_task(&task);
    wake_or_log(agent.wake.as_ref(), &wake, Duration::ZERO).await;
    Ok(task)
}

/// Takes a message: makes its task, or goes on with the one it names. Nobody works on it yet.
pub(crate) async fn accept(
    agent: &Arc<Agent>,
    caller: &Caller,
    mut call: SendCall,
    ways: Ways,
) -> Result<Task, A2aError> {
    if call.message.parts.is_empty() {
        return Err(A2aError::InvalidParams(
            "a message needs at least one part".to_owned(),
        ));
    }
    let Some(id) = call.task_id.take() else {
        let made = create(agent, caller, (None, call), ways.written).await?;
        // A random id is nobody's.
        return made.ok_or_else(A2aError::internal);
    };
    // Most such sends make their task, and cost what others cost.
    let chosen = TaskId::parse(&id)
        .ok()
        .filter(|id| ways.client_task_id && *id.as_bytes() != [0; 16]);
    // Callers without a token are one owner, so that the id is all that keeps one's task from another.
    if caller.owner.is_anonymous() && chosen.is_some_and(|chosen| !chosen.is_unguessable()) {
        let reason = "without a token, message.taskId is a random UUID (version 4 or 7)";
        return Err(A2aError::InvalidParams(reason.to_owned()));
    }
    if let Some(chosen) = chosen
        && let Some(task) = create(agent, caller, (Some(chosen), call.clone()), ways.written).await?
    {
        return Ok(task);
    }
    follow_up(agent, caller, &id, call, ways).await
}

/// The task is over, or waits for its user.
fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// Makes a task, under the id that its caller chose if it did; `None` where there is one of that id.
async fn create(
    agent: &Arc<Agent>,
    caller: &Caller,
    (chosen, mut call): (Option<TaskId>, SendCall),
    written: Written,
) -> Result<Option<Task>, A2aError> {
    let now = agent.clock.now();
    let id = chosen.unwrap_or_else(|| TaskId::random(agent.entropy.as_ref()));
    // What stands beside a message does not make another message of it.
    let terms = std::mem::take(&mut call.message.terms);
    let body_hash = body_hash(&call.message)?;
    call.message.terms = terms;
    let message_id = idempotency_key(agent, caller, &call.message.message_id, &body_hash);
    let context_id = call
        .message
        .context_id
        .clone()
        .unwrap_or_else(|| ContextId::random(agent.entropy.as_ref()));
    let new = NewTask {
        id,
        tenant: caller.tenant.clone(),
        agent: agent.name.clone(),
        context_id,
        owner: caller.owner.clone(),
        message: call.message,
        trace: TraceParent::current(),
    };
    let mut task = Task::create(new, now);
    task.kept.admitted = !caller.scopes.contains(DELEGATED);
    let key = TaskKey::from(&task);
    let push = call
        .push
        .map(|target| push_configs::sealed(agent, caller, &key, target, written))
        .transpose()?;
    task.push_configs
        .extend(push.iter().map(|config| config.id.clone()));
    let record = NewRecord {
        task: &task,
        message_id: &message_id,
        body_hash: &body_hash,
        push: push.as_ref(),
        due_at: now.after(agent.settings.born_due),
        retention: agent.settings.retention,
    };
    let tasks = agent.store.tasks();
    if let Err(over) = admit(agent, &task).await? {
        // What was taken before is no new task.
        return match tasks.known(&record).await.map_err(failed)? {
            Some(known) => known_before(known),
            None => Err(over),
        };
    }
    let created = match chosen {
        Some(_) => tasks.create_chosen(&record).await,
        None => tasks.create(&record).await,
    };
    match created.map_err(failed)? {
        Created::New => {
            tracing::info!(tenant.id = task.tenant.name(), agent = %agent.name, task.id = %task.id, "task acknowledged");
            measure::count(measure::ACKNOWLEDGED, agent);
            Ok(Some(task))
        }
        known => {
            give_back(agent, &task).await;
            known_before(known)
        }
    }
}

/// What is answered for a message that made a task before, or names one.
fn known_before(known: Created) -> Result<Option<Task>, A2aError> {
    match known {
        Created::Repeated(stored) => Ok(Some(stored.task)),
        Created::MessageReused => Err(reused()),
        Created::New | Created::Taken => Ok(None),
    }
}

/// Admits a task that is about to be made: before anything of it is there, so that nothing is half begun. A delegation is part of a
/// task that was admitted.
async fn admit(agent: &Agent, task: &Task) -> Result<Result<(), A2aError>, A2aError> {
    if !task.kept.admitted {
        return Ok(Ok(()));
    }
    match agent.store.ledger().admit(task).await.map_err(failed)? {
        Admitted::Yes { nearly } => {
            if nearly {
                tracing::warn!(
                    tenant.id = task.tenant.name(),
                    "four fifths of what the tenant's plan has are used"
                );
                measure::count(measure::NEARLY_USED, agent);
            }
            Ok(Ok(()))
        }
        Admitted::No(over) => {
            tracing::info!(tenant.id = task.tenant.name(), agent = %agent.name, %over, "a task is not admitted");
            measure::count(measure::REFUSED, agent);
            Ok(Err(A2aError::over_quota(&over, agent.clock.now())))
        }
    }
}

async fn give_back(agent: &Agent, task: &Task) {
    if !task.kept.admitted {
        return;
    }
    if let Err(error) = agent.store.ledger().give_back(task, agent.clock.now()).await {
        tracing::warn!(tenant.id = task.tenant.name(), %error, "a place was not given back; that is set right later");
    }
}

/// What a repeat is known by. Callers without a token share one owner, and the id of one's message must not lead to another's
/// task: there a message is known again, whole, by an id that nobody else comes upon, and with any other it is new each time.
fn idempotency_key(agent: &Agent, caller: &Caller, message_id: &MessageId, body_hash: &str) -> MessageId {
    match caller.owner.is_anonymous() {
        false => message_id.clone(),
        true if message_id.is_unguessable() => MessageId::derived(&format!("{message_id}/{body_hash}")),
        true => MessageId::random(agent.entropy.as_ref()),
    }
}

fn body_hash(message: &Message) -> Result<String, A2aError> {
    let text = serde_json::to_string(message).map_err(|_| A2aError::internal())?;
    Ok(auth::token::hash(&text))
}

/// Goes on with a task that waits for the user; a repeat of the same message changes nothing.
async fn follow_up(
    agent: &Arc<Agent>,
    caller: &Caller,
    id: &str,
    call: SendCall,
    ways: Ways,
) -> Result<Task, A2aError> {
    let SendCall { message, push, .. } = call;
    let mut task = owned(agent, caller, id).await?.task;
    // Whoever made the task's id repeats a send because it heard nothing, and may listen elsewhere by now.
    let listens = takes(&task, &message)? || ways.client_task_id && !is_settled(task.status.state);
    if let Some(target) = push.filter(|_| listens) {
        let key = TaskKey::from(&task);
        let config = push_configs::sealed(agent, caller, &key, target, ways.written)?;
        push_configs::put(agent, &key, &config, task.rev).await?;
        // The task names its configurations: it is another one now.
        task = owned(agent, caller, id).await?.task;
    }
    let now = agent.clock.now();
    let due = Due::At(now.after(agent.settings.born_due));
    let revised = take_message(agent.store.tasks(), task, &message, now, due);
    match revised.await.map_err(failed)? {
        Revised::Missing => Err(A2aError::TaskNotFound),
        Revised::Left(told) => told.map(|task| *task),
        Revised::Written(revision) => {
            measure::moved(&revision);
            push::announce(agent, &revision).await;
            Ok(revision.into_task())
        }
    }
}

/// Writes a message of its user into a task, which goes on with it; due then. One that has it already is left as it is, one
/// that takes none says why.
///
/// # Errors
/// As [`Tasks::revise`].
pub async fn take_message(
    tasks: Tasks<'_>,
    task: Task,
    message: &Message,
    now: Timestamp,
    due: Due,
) -> Result<Revised<Result<Box<Task>, A2aError>>, StoreError> {
    let decide = |task: Task| {
        match takes(&task, message) {
            Ok(true) => {}
            Ok(false) => return Decision::Leave(Ok(Box::new(task))),
            Err(refused) => return Decision::Leave(Err(refused)),
        }
        let interrupted = task.status.state.is_interrupted();
        let mut revision = Revision::of(task);
        let said = EventKind::Said {
            message: message.clone(),
        };
        let goes_on = interrupted.then(|| EventKind::status(TaskState::Working, None));
        for kind in std::iter::once(said).chain(goes_on) {
            if let Err(error) = revision.record(kind, now) {
                return Decision::Leave(Err(A2aError::UnsupportedOperation(error.to_string())));
            }
        }
        let revision = Box::new(revision);
        Decision::Write { revision, due }
    };
    tasks.revise(task, now, decide).await
}

/// True where the task takes the message, false where it has it already.
fn takes(task: &Task, message: &Message) -> Result<bool, A2aError> {
    if let Some(context) = &message.context_id
        && *context != task.context_id
    {
        return Err(A2aError::InvalidParams("contextId is not the task's".to_owned()));
    }
    let known = task
        .history
        .iter()
        .find(|known| known.message_id == message.message_id);
    match known {
        Some(known) if says_the_same(known, message) => Ok(false),
        Some(_) => Err(reused()),
        None if task.status.state.is_terminal() => Err(A2aError::UnsupportedOperation(format!(
            "the task is {} and takes no more messages",
            task.status.state.as_str()
        ))),
        None => Ok(true),
    }
}

/// Whether it is the message that came before, of which only the task, the conversation and the terms may differ.
fn says_the_same(known: &Message, told: &Message) -> bool {
    let told = Message {
        task_id: known.task_id,
        context_id: known.context_id.clone(),
        terms: known.terms.clone(),
        ..told.clone()
    };
    *known == told
}

fn reused() -> A2aError {
    A2aError::InvalidParams(
        "this messageId was used before with another message; a new message needs a new id".to_owned(),
    )
}

/// Waits until the task ends or needs the user. The work is done here as well, in this invocation, unless a worker has
/// it already or it would not fit; when the time is up the caller gets the task as it is, and the work goes on elsewhere.
async fn block(agent: &Arc<Agent>, task: Task) -> Result<Task, A2aError> {
    let key = TaskKey::from(&task);
    let until = Instant::now() + agent.settings.blocking_limit;
    let executed = match agent.executor.runs_inline() {
        true => Box::pin(worker::execute_here(agent, &key))
            .await
            .map_err(not_worked)?,
        false => {
            let wake = Wake::for_task(&task);
            wake_or_log(agent.wake.as_ref(), &wake, Duration::ZERO).await;
            Executed::Elsewhere
        }
    };
    let task = match executed {
        Executed::Settled(task) => return Ok(*task),
        Executed::Missing => return Err(A2aError::TaskNotFound),
        Executed::Waits(task) => *task,
        // Another worker has it; its outcome is awaited below.
        Executed::Elsewhere => task,
    };
    let limits = TailLimits {
        time: until.saturating_duration_since(Instant::now()),
        heartbeat: agent.settings.blocking_limit,
    };
    let mut tail = Tail::new(agent.store.clone(), &task, task.rev, limits, Shutdown::current());
    while !is_settled(tail.state()) {
        if let News::TimeUp = tail.next().await.map_err(failed)? {
            break;
        }
    }
    let tasks = agent.store.tasks();
    let found = tasks.find(&key, agent.clock.now()).await.map_err(failed)?;
    found.map(|stored| stored.task).ok_or(A2aError::TaskNotFound)
}

fn not_worked(error: WorkError) -> A2aError {
    match error {
        WorkError::Store(error) => failed(error),
        WorkError::WrongAgent(_) => A2aError::TaskNotFound,
    }
}
