//! Send: stores the task and what comes next in one write, then answers.

use std::sync::Arc;
use std::time::Duration;

use a2a::{A2aError, PushTarget, SendCall};
use domain::{
    Caller, ContextId, EventKind, ExposeSecret, Message, MessageId, NewTask, PushConfigId, Revision, Task,
    TaskId, TaskState, TraceParent,
};
use store::{Committed, Created, Due, LeaseAfter, NewRecord, PushConfig, TaskKey};
use tokio::time::Instant;

use super::find::{failed, owned, same_tenant};
use crate::worker::{Executed, WorkError};
use crate::{Agent, Wake, measure, push, wake_or_log, worker};

/// How often a follow-up is tried again when the task changes under it.
const ROUNDS: u32 = 5;

/// Takes a message: makes its task, or goes on with the one it names.
pub(crate) async fn send(
    agent: &Arc<Agent>,
    caller: &Caller,
    call: SendCall,
    generation: a2a::Generation,
    trace: Option<TraceParent>,
) -> Result<Task, A2aError> {
    same_tenant(caller, call.tenant.as_deref())?;
    if call.message.parts.is_empty() {
        return Err(A2aError::InvalidParams(
            "a message needs at least one part".to_owned(),
        ));
    }
    let wait = !call.return_immediately;
    let task = match &call.task_id {
        Some(id) => follow_up(agent, caller, id.clone(), call.message).await?,
        None => create(agent, caller, call, generation, trace).await?,
    };
    if wait {
        return block(agent, task).await;
    }
    if !task.status.state.is_terminal() {
        wake_or_log(
            agent.wake.as_ref(),
            &Wake::task(&TaskKey::from(&task), task.trace.clone()),
            Duration::ZERO,
        )
        .await;
    }
    Ok(task)
}

async fn create(
    agent: &Arc<Agent>,
    caller: &Caller,
    call: SendCall,
    generation: a2a::Generation,
    trace: Option<TraceParent>,
) -> Result<Task, A2aError> {
    let now = agent.clock.now();
    let id = TaskId::random(agent.entropy.as_ref());
    let body_hash = body_hash(&call.message)?;
    let message_id = idempotency_key(caller, &call.message.message_id, &body_hash);
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
        trace,
    };
    let mut task = Task::create(new, now);
    let key = TaskKey::from(&task);
    let push = call
        .push
        .map(|target| seal(agent, &key, target, generation))
        .transpose()?;
    task.push_configs
        .extend(push.iter().map(|config| config.id.clone()));
    let record = NewRecord {
        task: &task,
        message_id: &message_id,
        body_hash: &body_hash,
        push: push.as_ref(),
        due_at: now.after(agent.settings.born_due),
        expires_at: now.after(agent.settings.retention),
    };
    match agent.store.tasks().create(&record).await.map_err(failed)? {
        Created::New => {
            tracing::info!(tenant.id = %task.tenant, agent = %agent.name, task.id = %task.id, "task acknowledged");
            measure::count(measure::ACKNOWLEDGED, agent);
            Ok(task)
        }
        Created::Repeated(stored) => Ok(stored.task),
        Created::MessageReused => Err(A2aError::InvalidParams(
            "this messageId was used before with another message; a new message needs a new id".to_owned(),
        )),
    }
}

/// Callers without a token share one owner; their message ids must not collide into each other's tasks, so that
/// there the whole message is the key.
fn idempotency_key(caller: &Caller, message_id: &MessageId, body_hash: &str) -> MessageId {
    if caller.owner.is_anonymous() {
        MessageId::derived(&format!("{message_id}/{body_hash}"))
    } else {
        message_id.clone()
    }
}

fn body_hash(message: &Message) -> Result<String, A2aError> {
    let text = serde_json::to_string(message).map_err(|_| A2aError::Internal { request_id: None })?;
    Ok(auth::token::hash(&text))
}

fn seal(
    agent: &Agent,
    key: &TaskKey,
    target: PushTarget,
    generation: a2a::Generation,
) -> Result<PushConfig, A2aError> {
    if !agent.card.push_notifications {
        return Err(A2aError::PushNotificationNotSupported);
    }
    agent
        .outbound
        .check_url(&target.url)
        .map_err(|error| A2aError::InvalidParams(format!("push notification url: {error}")))?;
    let id = match target.id {
        Some(id) => id,
        None => PushConfigId::parse(&agent.entropy.uuid().to_string())
            .map_err(|_| A2aError::Internal { request_id: None })?,
    };
    let place = push::associated(key, &id);
    let seal = |secret: &domain::SecretString| {
        agent
            .sealer
            .seal(secret.expose_secret().as_bytes(), &place, agent.entropy.as_ref())
    };
    let (scheme, credentials) = target
        .authentication
        .map_or((None, None), |auth| (Some(auth.scheme), auth.credentials));
    Ok(PushConfig {
        url: target.url,
        generation,
        sealed_token: target.token.as_ref().map(seal),
        scheme,
        sealed_credentials: credentials.as_ref().map(seal),
        id,
    })
}

/// Goes on with a task that waits for the user; a repeat of the same message changes nothing.
async fn follow_up(
    agent: &Arc<Agent>,
    caller: &Caller,
    id: String,
    message: Message,
) -> Result<Task, A2aError> {
    for _ in 0..ROUNDS {
        let task = owned(agent, caller, &id).await?.task;
        if message
            .context_id
            .as_ref()
            .is_some_and(|context| *context != task.context_id)
        {
            return Err(A2aError::InvalidParams("contextId is not the task's".to_owned()));
        }
        if task
            .history
            .iter()
            .any(|known| known.message_id == message.message_id)
        {
            return Ok(task);
        }
        if task.status.state.is_terminal() {
            return Err(A2aError::UnsupportedOperation(format!(
                "the task is {} and takes no more messages",
                task.status.state.as_str()
            )));
        }
        let now = agent.clock.now();
        let interrupted = task.status.state.is_interrupted();
        let mut revision = Revision::of(task);
        let mut kinds = vec![EventKind::Said {
            message: message.clone(),
        }];
        if interrupted {
            kinds.push(EventKind::status(TaskState::Working, None));
        }
        for kind in kinds {
            revision
                .record(kind, now)
                .map_err(|error| A2aError::UnsupportedOperation(error.to_string()))?;
        }
        let due = Due::At(now.after(agent.settings.born_due));
        match agent
            .store
            .tasks()
            .commit(&revision, due, LeaseAfter::Keep)
            .await
            .map_err(failed)?
        {
            Committed::Conflict => {}
            Committed::Yes => {
                measure::moved(&revision);
                let task = revision.into_task();
                push::announce(agent, &task).await;
                return Ok(task);
            }
        }
    }
    tracing::warn!("a follow-up found its task changed again and again");
    Err(A2aError::Internal { request_id: None })
}

/// Waits until the task ends or needs the user. The work is done here as well, in this invocation, unless a worker has
/// it already; when the time is up the caller gets the task as it is, and the work goes on elsewhere.
async fn block(agent: &Arc<Agent>, task: Task) -> Result<Task, A2aError> {
    let key = TaskKey::from(&task);
    let until = Instant::now() + agent.settings.blocking_limit;
    match worker::execute_here(agent, &key).await.map_err(not_worked)? {
        Executed::Settled(task) => return Ok(*task),
        Executed::Missing => return Err(A2aError::TaskNotFound),
        Executed::Waits(_) | Executed::Elsewhere => {}
    }
    let waited = tokio::time::timeout_at(until, async {
        let mut pause = Duration::from_millis(20);
        loop {
            let task = reload(agent, &key).await?;
            if task.status.state.is_terminal() || task.status.state.is_interrupted() {
                return Ok(task);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    });
    match waited.await {
        Ok(done) => done,
        Err(_) => reload(agent, &key).await,
    }
}

fn not_worked(error: WorkError) -> A2aError {
    match error {
        WorkError::Store(error) => failed(error),
        WorkError::WrongAgent(_) => A2aError::TaskNotFound,
    }
}

async fn reload(agent: &Agent, key: &TaskKey) -> Result<Task, A2aError> {
    let found = agent
        .store
        .tasks()
        .find(key, agent.clock.now())
        .await
        .map_err(failed)?;
    found.map(|stored| stored.task).ok_or(A2aError::TaskNotFound)
}
