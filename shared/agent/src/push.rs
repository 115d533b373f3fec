//! Push notifications to clients: at least once, in order per configuration.
//!
//! A commit marks each configuration of its task due in the same transaction; a wake only makes it quick. What is
//! still owed is the difference between the task's log and the configuration's cursor: one event goes out as it is,
//! several collapse into a snapshot of the task.

use std::sync::Arc;
use std::time::Duration;

use domain::{Event, EventKind, MessageId, PushConfigId, SecretString, Task};
use outbound::PushDelivery;
use store::{ClaimedPush, Due, PushConfig, StoreError, TaskKey};

use crate::{Agent, Wake, wake_or_log};

/// How long one delivery may take before somebody else may try it.
const CLAIM: Duration = Duration::from_secs(45);

/// Longest wait a queue carries; beyond it the sweeper wakes.
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// Wakes the deliveries that a commit made due.
pub(crate) async fn announce(agent: &Agent, task: &Task) {
    let key = TaskKey::from(task);
    for config in &task.push_configs {
        wake_or_log(
            agent.wake.as_ref(),
            &Wake::push(&key, config.clone(), task.trace.clone()),
            Duration::ZERO,
        )
        .await;
    }
}

/// The text that binds a sealed push secret to its place.
pub(crate) fn associated(key: &TaskKey, config: &PushConfigId) -> String {
    format!("push/{}/{}/{}/{config}", key.tenant, key.agent, key.id)
}

/// Delivers what one configuration has not been told yet.
pub(crate) async fn deliver(
    agent: &Arc<Agent>,
    key: &TaskKey,
    config: &PushConfigId,
) -> Result<(), StoreError> {
    let holder = MessageId::random(agent.entropy.as_ref()).to_string();
    let tasks = agent.store.tasks();
    loop {
        let now = agent.clock.now();
        let Some(claimed) = tasks
            .claim_push(key, config, &holder, now, now.after(CLAIM))
            .await?
        else {
            return Ok(());
        };
        // The first event is the `submitted` that the client got as its answer.
        let told = claimed.delivered.max(1);
        let owed: Vec<Event> = tasks.events(key, told, 100).await?;
        let Some(last) = owed.last().map(|event| event.seq) else {
            tasks
                .settle_push(key, config, &holder, told, 0, Due::Keep)
                .await?;
            return Ok(());
        };
        let visible: Vec<Event> = owed
            .into_iter()
            .filter(|event| !matches!(event.kind, EventKind::Job { .. } | EventKind::Said { .. } | EventKind::Work { .. }))
            .collect();
        let Some(stored) = (if visible.is_empty() {
            None
        } else {
            tasks.find(key, now).await?
        }) else {
            tasks
                .settle_push(key, config, &holder, last, 0, Due::Keep)
                .await?;
            continue;
        };
        // A snapshot tells everything up to the task's own revision.
        let told_now = if visible.len() > 1 {
            stored.task.rev.max(last)
        } else {
            last
        };
        let id = format!("{}-{}-{told_now}", key.id, config);
        match send(agent, &stored.task, &visible, key, &claimed.config, id).await {
            Ok(()) => {
                tracing::info!(tenant.id = %key.tenant, task.id = %key.id, seq = told_now, "push delivered");
                if !tasks
                    .settle_push(key, config, &holder, told_now, 0, Due::Keep)
                    .await?
                {
                    return Ok(());
                }
            }
            Err(reason) => return later(agent, key, &claimed, &holder, &reason).await,
        }
    }
}

async fn send(
    agent: &Agent,
    task: &Task,
    events: &[Event],
    key: &TaskKey,
    config: &PushConfig,
    id: String,
) -> Result<(), String> {
    let place = associated(key, &config.id);
    let open = |sealed: &Option<String>| -> Result<Option<SecretString>, String> {
        let Some(sealed) = sealed else { return Ok(None) };
        let plain = agent
            .sealer
            .open(sealed, &place)
            .map_err(|error| error.to_string())?;
        String::from_utf8(plain)
            .map(|text| Some(text.into()))
            .map_err(|_| "not text".to_owned())
    };
    let delivery = PushDelivery {
        url: config.url.clone(),
        token: open(&config.sealed_token)?,
        scheme: config.scheme.clone(),
        credentials: open(&config.sealed_credentials)?,
        body: a2a::encode::push(task, events, config.generation),
        generation: config.generation,
        id,
    };
    agent
        .outbound
        .push(&delivery, task.trace.as_ref())
        .await
        .map_err(|error| error.to_string())
}

/// Puts a failed delivery on its schedule, or parks it after the last attempt.
async fn later(
    agent: &Agent,
    key: &TaskKey,
    claimed: &ClaimedPush,
    holder: &str,
    reason: &str,
) -> Result<(), StoreError> {
    let config = &claimed.config.id;
    let wait = usize::try_from(claimed.attempts)
        .ok()
        .and_then(|tried| agent.settings.push_retries.get(tried).copied());
    let due = wait.map_or(Due::Never, |wait| Due::At(agent.clock.now().after(wait)));
    tracing::warn!(
        tenant.id = %key.tenant, task.id = %key.id, attempt = claimed.attempts + 1, parked = wait.is_none(), reason,
        "push not delivered"
    );
    agent
        .store
        .tasks()
        .settle_push(key, config, holder, claimed.delivered, claimed.attempts + 1, due)
        .await?;
    if let Some(wait) = wait.filter(|wait| *wait <= LONGEST_DELAY) {
        wake_or_log(agent.wake.as_ref(), &Wake::push(key, config.clone(), None), wait).await;
    }
    Ok(())
}
