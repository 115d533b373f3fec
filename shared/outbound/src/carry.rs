//! Calls of agents that are carried for somebody else: the body as it is, and the answer as it comes.

use domain::SecretString;
use http::header::HeaderName;
use serde_json::Value;
use url::Url;

use crate::client::Ask;
use crate::{CallError, Outbound};

/// A call to carry.
#[derive(Debug, Clone)]
pub struct CarriedCall<'a> {
    /// The agent's JSON-RPC interface, of A2A 1.0.
    pub url: &'a Url,
    /// The request.
    pub body: &'a Value,
    /// Its caller's token.
    pub token: Option<&'a SecretString>,
    /// The extensions that it names.
    pub extensions: &'a [&'static str],
}

/// What an agent answered.
#[derive(Debug, Clone)]
pub enum CarriedAnswer {
    /// JSON-RPC: a result or an error.
    Answer(Value),
    /// The token is missing or not good: 401, with what the agent says of the token it wants.
    Unauthorized(Option<String>),
    /// The token does not allow the call: 403, likewise.
    Forbidden(Option<String>),
}

impl Outbound {
    /// Carries a call to an agent.
    ///
    /// # Errors
    /// [`CallError`] where there is no answer, or none of JSON-RPC.
    pub async fn carry(&self, call: &CarriedCall<'_>) -> Result<CarriedAnswer, CallError> {
        let mut ask = Ask::post(call.url, call.body)
            .bearer(call.token)?
            .header("a2a-version", "1.0");
        if !call.extensions.is_empty() {
            let name = HeaderName::from_static("a2a-extensions");
            ask = ask.secret(name, &call.extensions.join(", "))?;
        }
        ask.most = Some(self.policy.max_result);
        let answered = self.exchange(ask).await?;
        let told = answered.json().ok();
        match answered.status {
            401 => return Ok(CarriedAnswer::Unauthorized(answered.challenge_or(told.as_ref()))),
            403 => return Ok(CarriedAnswer::Forbidden(answered.challenge_or(told.as_ref()))),
            _ => {}
        }
        match told {
            Some(told) if told.get("jsonrpc").is_some() => Ok(CarriedAnswer::Answer(told)),
            _ => {
                answered.success()?;
                Err(CallError::BadAnswer("it is no answer of JSON-RPC".to_owned()))
            }
        }
    }

    /// The card that an agent publishes for clients of A2A 1.0, as it is: its signature counts for these bytes.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn published_card(&self, agent: &Url) -> Result<bytes::Bytes, CallError> {
        let url = crate::below(agent, ".well-known/agent-card.json");
        let ask = Ask::get(&url).header("a2a-version", "1.0");
        Ok(self.exchange(ask).await?.success()?.body)
    }
}
