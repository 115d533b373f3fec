//! Push configurations of a task: made, shown, taken away. Their secrets are sealed and never shown again.

use a2a::{A2aError, PushTarget};
use domain::{ExposeSecret, Generation, PushConfigId, SecretString};
use store::{PushConfig, TaskKey};

use crate::{Agent, push};

/// What a client wants, as it is stored. Its address is looked at as far as that goes without asking anybody.
pub(super) fn sealed(
    agent: &Agent,
    key: &TaskKey,
    target: PushTarget,
    generation: Generation,
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
        None => PushConfigId::parse(&agent.entropy.uuid().to_string()).map_err(|_| A2aError::internal())?,
    };
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
        generation,
        sealed_token: target.token.as_ref().map(seal),
        scheme,
        sealed_credentials: credentials.as_ref().map(seal),
        id,
    })
}

