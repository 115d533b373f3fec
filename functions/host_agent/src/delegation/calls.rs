//! The calls that agents serve, with the token that each takes: ours for our own agents, the user's grant for one that
//! is protected. Here alone a call gets its token.

use std::future::Future;

use a2a::{A2aError, SendCall};
use consent::{GrantNeed, Obstacle};
use domain::{Generation, Job, Protection, RemoteTaskId, SecretString, Task, TaskId, Timestamp, Transport};
use outbound::{Bridge, CallError, MqttFault, Outbound, RemoteTask, SendResponse, Sent};

use crate::delegation::large_files;
use crate::deps::OnTask;

/// Sends a message to the job's agent.
pub(crate) async fn send(on: OnTask<'_>, job: &Job, call: &SendCall) -> Result<SendResponse, Obstacle> {
    let outbound = &way(on, job)?.patient(on.deps.patience.answer);
    let to = &job.endpoint;
    let send = |token| async move { outbound.send(to, call, Some(&token)).await };
    with_token(on, job, send).await
}

/// The agent's task for the job, as it is now.
pub(crate) async fn remote_task(on: OnTask<'_>, job: &Job) -> Result<RemoteTask, Obstacle> {
    let id = job
        .remote_task_id()
        .ok_or(CallError::Refused(A2aError::TaskNotFound))?;
    task_of(on, job, id).await
}

async fn task_of(on: OnTask<'_>, job: &Job, id: &RemoteTaskId) -> Result<RemoteTask, Obstacle> {
    let (outbound, to) = (&way(on, job)?, &job.endpoint);
    let look = |token| async move { large_files::task(on, outbound, (to, id), &token).await };
    with_token(on, job, look).await
}

/// What the agent says of the job's message, which may have left before: sent by a process that did not live to write the
/// acknowledgement down, or without an answer in time. Only A2A 1.0 has a way to ask.
pub(crate) async fn sent(on: OnTask<'_>, job: &Job) -> Result<Sent, Obstacle> {
    if job.endpoint.generation != Generation::V1_0 {
        return Ok(Sent::Untold);
    }
    if let Some(chosen) = &job.chosen_task_id {
        return chosen_task(on, job, chosen).await;
    }
    let (outbound, to) = (&way(on, job)?, &job.endpoint);
    let sent = (&on.task.context_id, &job.message_id);
    let find = |token| async move { outbound.task_of_message(to, sent, Some(&token)).await };
    match with_token(on, job, find).await {
        Err(Obstacle::Call(CallError::Refused(_) | CallError::BadAnswer(_) | CallError::TooLarge(_))) => {
            Ok(Sent::Untold)
        }
        Err(Obstacle::Call(CallError::Status(status))) if (400..500).contains(&status) => Ok(Sent::Untold),
        found => found,
    }
}

/// The agent's task of the id that was chosen for it. Who never heard of it, or tells nobody about tasks, knows the message again by
/// that id.
async fn chosen_task(on: OnTask<'_>, job: &Job, chosen: &TaskId) -> Result<Sent, Obstacle> {
    let Ok(id) = RemoteTaskId::parse(&chosen.to_string()) else {
        return Ok(Sent::Nothing);
    };
    match task_of(on, job, &id).await {
        Ok(task) => Ok(Sent::Task(Box::new(task))),
        Err(Obstacle::Call(CallError::Refused(_) | CallError::Mqtt(MqttFault::NotTaken))) => {
            Ok(Sent::Nothing)
        }
        Err(obstacle) => Err(obstacle),
    }
}

/// Cancels the agent's task.
pub(crate) async fn cancel(on: OnTask<'_>, job: &Job, id: &RemoteTaskId) -> Result<(), Obstacle> {
    let (outbound, to) = (&way(on, job)?, &job.endpoint);
    let cancel = |token| async move { outbound.cancel(to, id, Some(&token)).await };
    with_token(on, job, cancel).await.map(|_| ())
}

/// The way to the job's agent: over HTTP, or through the bridge to its broker.
fn way(on: OnTask<'_>, job: &Job) -> Result<Outbound, CallError> {
    let deps = on.deps;
    match (job.endpoint.transport, &deps.bridge) {
        (Transport::Mqtt, Some(bridge)) => {
            let token = deps.tokens.bridge(bridge.url.as_str(), deps.clock.now());
            let token = token.map_err(|error| CallError::NotAllowed(error.to_string()))?;
            let url = bridge.url.clone();
            Ok(deps.outbound.through(Bridge { url, token }))
        }
        _ => Ok(deps.outbound.clone()),
    }
}

/// Makes a call with the token that the job's agent takes; once more where that token has expired.
async fn with_token<T, F>(on: OnTask<'_>, job: &Job, call: impl Fn(SecretString) -> F) -> Result<T, Obstacle>
where
    F: Future<Output = Result<T, CallError>>,
{
    if let Some(protection) = &job.protection {
        let need = need(on.task, job, protection);
        return on.deps.consents.with_token(need, call).await;
    }
    match call(own_token(on, job, on.now)?).await {
        // The agent's clock is ahead of ours, or the call waited too long: once more with a fresh token.
        Err(CallError::Unauthorized { expired: true, .. }) => {
            Ok(call(own_token(on, job, on.deps.clock.now())?).await?)
        }
        answered => Ok(answered?),
    }
}

fn own_token(on: OnTask<'_>, job: &Job, now: Timestamp) -> Result<SecretString, CallError> {
    let audience = job.endpoint.audience().as_str();
    let owner = job.owner_there.as_ref().unwrap_or(&on.task.owner);
    let signed = on.deps.tokens.agent(owner, audience, now);
    signed.map_err(|error| CallError::NotAllowed(error.to_string()))
}

/// The grant that a job's calls need: of the task's owner, for that agent alone.
pub(crate) fn need<'a>(task: &'a Task, job: &'a Job, protection: &'a Protection) -> GrantNeed<'a> {
    GrantNeed {
        owner: &task.owner,
        provider: &protection.provider,
        resource: job.endpoint.audience().as_str(),
        scopes: &protection.scopes,
    }
}
