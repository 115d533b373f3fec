//! The token that an agent's notifications about a job must carry: stored as a hash for the receiver, and sealed so that
//! a resend has the same bytes.

use std::time::Duration;

use domain::{Endpoint, ExposeSecret, Job, KEYS_OWED, SealedToken, SecretString, Task, TaskId, Transport};

use crate::deps::{Deps, OnTask};

/// How long an agent's keys are waited for before its message leaves without them.
const KEYS_LIMIT: Duration = Duration::from_secs(2);

/// A new token for a job of the task.
pub(crate) fn new(deps: &Deps, task: &Task, number: u32) -> SealedToken {
    let entropy = deps.entropy.as_ref();
    let token = auth::token::webhook(task.id, entropy);
    let plain = token.expose_secret();
    let sealed = deps
        .sealer
        .seal(plain.as_bytes(), &binding(task, number), entropy);
    SealedToken {
        hash: auth::token::hash(plain),
        sealed: Some(sealed),
    }
}

/// The token of a job; `None` where the key that it was sealed with is gone, or the job is over.
pub(crate) fn open(on: OnTask<'_>, job: &Job) -> Option<SecretString> {
    let binding = binding(on.task, job.number);
    let sealed = job.webhook.sealed.as_deref()?;
    let plain = on.deps.sealer.open(sealed, &binding).ok()?;
    String::from_utf8(plain).ok().map(SecretString::from)
}

/// The keys that an agent signs its notifications with. No user waits for an agent that does not say in time: it is asked again
/// once it has answered anything ([`keys_again`]), and until then none of its notifications counts.
pub(crate) async fn sender_keys(deps: &Deps, agent: &Endpoint) -> Vec<String> {
    // What comes over a broker is posted by the bridge, which has no keys of the agent's.
    if agent.transport == Transport::Mqtt {
        return Vec::new();
    }
    let asking = deps.push_keys.of(&agent.url, deps.clock.now());
    let said = tokio::time::timeout(KEYS_LIMIT, asking).await;
    said.ok().flatten().unwrap_or_else(|| vec![KEYS_OWED.to_owned()])
}

/// Asks an agent once more for its keys, where it has not said them yet.
pub(crate) async fn keys_again(deps: &Deps, job: &mut Job) {
    if job.keys_owed() {
        job.sender_keys = sender_keys(deps, &job.endpoint).await;
    }
}

/// The id of the task that an agent makes of a job, where the caller chooses it: a UUID of version 4 that follows from the
/// host's keys and the job.
pub(crate) fn chosen_task_id(deps: &Deps, task: &Task, (number, to): (u32, &Endpoint)) -> Option<TaskId> {
    if to.transport != Transport::Mqtt {
        return None;
    }
    let derived = deps
        .sealer
        .derived(&format!("mqtt-task/{}", binding(task, number)));
    let mut bytes: [u8; 16] = derived.first()?.first_chunk().copied()?;
    // Version and variant (RFC 9562 §5.4).
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Some(TaskId::from_bytes(bytes))
}

/// What a token is sealed for: moved to another job, it does not open.
fn binding(task: &Task, number: u32) -> String {
    format!(
        "webhook/{}/{}/{}/{number}",
        task.tenant.prefix(),
        task.agent,
        task.id
    )
}
