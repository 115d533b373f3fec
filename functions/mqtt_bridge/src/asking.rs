//! Asking an agent, and publishing what it said.

use a2a::mqtt::{BindingError, Publication, TokenChallenge};
use domain::SecretString;
use mqtt::{PublishError, Published, Publisher};
use outbound::{CallError, CarriedAnswer, CarriedCall};
use serde_json::Value;

use crate::bridge::Bridge;
use crate::config::AgentPlace;

/// What of A2A the bridge asks its agents for.
const EXTENSIONS: &[&str] = &[a2a::CLIENT_TASK_ID, a2a::EVERY_EVENT];

/// Why an agent has no result.
pub(crate) enum Said {
    /// Its own error.
    Error(Value),
    /// It was not asked, or wants another token.
    Failed(BindingError),
}

/// Asks an agent of ours, for whoever sent a request with this token.
pub(crate) async fn ask(
    bridge: &Bridge,
    place: &AgentPlace,
    token: Option<&SecretString>,
    body: &Value,
) -> Result<Value, Said> {
    let call = CarriedCall {
        url: &place.url,
        body,
        token,
        extensions: EXTENSIONS,
    };
    match bridge.outbound.carry(&call).await {
        Ok(CarriedAnswer::Answer(mut told)) => match told.get_mut("error").filter(|error| !error.is_null()) {
            Some(error) => Err(Said::Error(error.take())),
            None => Ok(told.get_mut("result").map(Value::take).unwrap_or_default()),
        },
        Ok(CarriedAnswer::Unauthorized(challenge)) => Err(Said::Failed(BindingError::Unauthenticated(
            TokenChallenge(challenge),
        ))),
        Ok(CarriedAnswer::Forbidden(challenge)) => Err(Said::Failed(BindingError::InsufficientScope(
            TokenChallenge(challenge),
        ))),
        Err(error) => {
            unanswered(place, &error);
            Err(Said::Failed(BindingError::Unavailable))
        }
    }
}

fn unanswered(place: &AgentPlace, error: &CallError) {
    tracing::warn!(mqtt.agent = %place.address, error = error as &dyn std::error::Error, "the agent did not answer");
}

/// Publishes one after the other.
pub(crate) async fn publish_all(
    publisher: &dyn Publisher,
    told: Vec<Publication>,
) -> Result<Published, PublishError> {
    let mut last = Published::Taken;
    for publication in told {
        let topic = publication.topic.clone();
        last = publisher
            .publish(publication)
            .await
            .inspect_err(|error| match error {
                PublishError::NotAuthorized => {
                    tracing::error!(
                        mqtt.topic = topic,
                        "the broker does not let this agent reply (0x87)"
                    );
                }
                error => tracing::info!(error = %error, "a reply was not published"),
            })?;
    }
    Ok(last)
}
