//! Push configurations of a task: made, shown, taken away. Their secrets are sealed and never shown again.

use std::sync::Arc;

use a2a::{A2aError, PushTarget, ShownPush};
use domain::{Caller, ExposeSecret, Generation, PushConfigId, SecretString};
use store::{PushConfig, PutPush, TaskKey};

use super::find::{failed, owned};
use crate::{Agent, push};

/// How a configuration's notifications are written.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub(crate) generation: Generation,
    /// Each event by itself, numbered ([`a2a::EVERY_EVENT`]).
    pub(crate) every_event: bool,
}

/// Which configurations of a task are wanted.
pub(crate) struct PageRequest {
    pub(crate) size: Option<u32>,
    pub(crate) token: Option<String>,
}

/// Adds a configuration, or replaces the one of the same id. It is told what happens from now on.
pub(crate) async fn create(
    agent: &Arc<Agent>,
    caller: &Caller,
    task_id: &str,
    target: PushTarget,
    written: Written,
) -> Result<ShownPush, A2aError> {
    let task = owned(agent, caller, task_id).await?.task;
    let key = TaskKey::from(&task);
    let config = sealed(agent, caller, &key, target, written)?;
    put(agent, &key, &config, task.rev).await?;
    Ok(shown(config))
}

/// A configuration; without an id, which only A2A 0.3 has, the first.
pub(crate) async fn get(
    agent: &Agent,
    caller: &Caller,
    task_id: &str,
    id: Option<&str>,
) -> Result<ShownPush, A2aError> {
    let key = TaskKey::from(&owned(agent, caller, task_id).await?.task);
    let tasks = agent.store.tasks();
    let found = match id.map(PushConfigId::parse) {
        Some(Ok(id)) => tasks.find_push(&key, &id).await.map_err(failed)?,
        Some(Err(_)) => None,
        None => tasks.list_pushes(&key).await.map_err(failed)?.into_iter().next(),
    };
    found.map(shown).ok_or(A2aError::TaskNotFound)
}

/// A page of a task's configurations, by id; and where the next one begins.
pub(crate) async fn list(
    agent: &Agent,
    caller: &Caller,
    task_id: &str,
    page: PageRequest,
) -> Result<(Vec<ShownPush>, Option<String>), A2aError> {
    let key = TaskKey::from(&owned(agent, caller, task_id).await?.task);
    let mut configs = agent.store.tasks().list_pushes(&key).await.map_err(failed)?;
    configs.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    if let Some(token) = page.token.filter(|token| !token.is_empty()) {
        configs.retain(|config| config.id.as_str() > token.as_str());
    }
    let size = page
        .size
        .and_then(|size| usize::try_from(size).ok())
        .unwrap_or(usize::MAX)
        .max(1);
    let more = configs.len() > size;
    configs.truncate(size);
    let next = configs
        .last()
        .filter(|_| more)
        .map(|config| config.id.to_string());
    Ok((configs.into_iter().map(shown).collect(), next))
}

/// Takes a configuration away; one that is not there is no error.
pub(crate) async fn delete(agent: &Agent, caller: &Caller, task_id: &str, id: &str) -> Result<(), A2aError> {
    let key = TaskKey::from(&owned(agent, caller, task_id).await?.task);
    match PushConfigId::parse(id) {
        Ok(id) => agent
            .store
            .tasks()
            .delete_push(&key, &id, agent.clock.now())
            .await
            .map_err(failed),
        // What cannot be an id names no configuration, and deleting nothing succeeds.
        Err(_) => Ok(()),
    }
}

/// Stores a configuration that has been told everything up to event `delivered`.
pub(super) async fn put(
    agent: &Agent,
    key: &TaskKey,
    config: &PushConfig,
    delivered: u64,
) -> Result<(), A2aError> {
    match agent
        .store
        .tasks()
        .put_push(key, config, delivered, agent.clock.now())
        .await
        .map_err(failed)?
    {
        PutPush::New | PutPush::Replaced => Ok(()),
        PutPush::TooMany => Err(A2aError::InvalidParams(
            "the task has as many push configurations as it can have".to_owned(),
        )),
        PutPush::Missing => Err(A2aError::TaskNotFound),
    }
}

/// What a client wants, as it is stored. Its address is looked at as far as that goes without asking anybody.
pub(super) fn sealed(
    agent: &Agent,
    caller: &Caller,
    key: &TaskKey,
    target: PushTarget,
    written: Written,
) -> Result<PushConfig, A2aError> {
    if !agent.card.push_notifications {
        return Err(A2aError::PushNotificationNotSupported);
    }
    agent
        .outbound
        .check_url(&target.url)
        .map_err(|error| A2aError::InvalidParams(format!("push notification url: {error}")))?;
    let is_anonymous = caller.owner.is_anonymous();
    if is_anonymous {
        no_reflector(&target)?;
    }
    let id = match (target.id, written.generation) {
        // One alone: the next takes its place.
        _ if is_anonymous => PushConfigId::parse("default"),
        (Some(id), _) => Ok(id),
        (None, Generation::V1_0) => PushConfigId::parse(&agent.entropy.uuid().to_string()),
        // 0.3 does not create a configuration, it sets the task's: without an id it is always the same one.
        (None, Generation::V0_3) => PushConfigId::parse("default"),
    };
    let id = id.map_err(|_| A2aError::internal())?;
    let place = push::associated(key, &id);
    let seal = |secret: &SecretString| {
        agent
            .sealer
            .seal(secret.expose_secret().as_bytes(), &place, agent.entropy.as_ref())
    };
    let (scheme, credentials) = target
        .authentication
        .map_or((None, None), |auth| (Some(auth.scheme), auth.credentials));
    Ok(PushConfig {
        url: target.url,
        generation: written.generation,
        // The numbers stand in words of 1.0.
        every_event: written.every_event && written.generation == Generation::V1_0,
        sealed_token: target.token.as_ref().map(seal),
        scheme,
        sealed_credentials: credentials.as_ref().map(seal),
        id,
    })
}

/// Whoever says nothing of who they are sends notifications to their own machine alone, where the system runs there too, and with no
/// header of theirs: a stranger's address would be hit in our name.
fn no_reflector(target: &PushTarget) -> Result<(), A2aError> {
    let is_here = match target.url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let refused =
        |reason: &str| A2aError::InvalidParams(format!("push notifications without a token: {reason}"));
    if !is_here {
        return Err(refused(
            "they go to this machine's own addresses alone; call with a token",
        ));
    }
    match target.authentication {
        Some(_) => Err(refused("no credentials are sent with them")),
        None => Ok(()),
    }
}

fn shown(config: PushConfig) -> ShownPush {
    ShownPush {
        id: config.id,
        url: config.url,
        scheme: config.scheme,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_without_a_token_has_us_call_a_stranger() {
        let target = |url: &str| PushTarget {
            id: None,
            url: url.parse().unwrap(),
            token: None,
            authentication: None,
        };
        for here in ["http://127.0.0.1:9/a", "http://[::1]:9/", "http://localhost:9/"] {
            assert!(no_reflector(&target(here)).is_ok(), "{here}");
        }
        for elsewhere in [
            "https://evil.example/",
            "https://localhost.evil.example/",
            "http://169.254.169.254/",
            "http://10.0.0.1/",
        ] {
            assert!(no_reflector(&target(elsewhere)).is_err(), "{elsewhere}");
        }
        let theirs = PushTarget {
            authentication: Some(a2a::PushAuth {
                scheme: "Bearer".to_owned(),
                credentials: None,
            }),
            ..target("http://127.0.0.1:9/a")
        };
        assert!(no_reflector(&theirs).is_err());
    }
}
