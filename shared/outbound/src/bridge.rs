//! Calls of agents on an MQTT broker: an HTTP call of the bridge to it, which publishes the request and answers with the first
//! reply. What comes after that reaches us as push notifications, like from any other agent.

use std::time::Duration;

use a2a::mqtt::TopicPrefix;
use domain::{Endpoint, SecretString};
use http::header::HeaderName;
use serde_json::Value;
use url::Url;

use crate::client::{Answered, Ask};
use crate::{CallError, MqttFault, Outbound};

/// How long the bridge may take: longer than it gives an agent for its first reply.
const PATIENCE: Duration = Duration::from_secs(19);

impl Outbound {
    /// One JSON-RPC call to an agent on a broker; `token` is the one for the agent.
    pub(crate) async fn call_over_mqtt(
        &self,
        to: &Endpoint,
        body: &Value,
        token: Option<&SecretString>,
    ) -> Result<Answered, CallError> {
        use domain::ExposeSecret as _;

        let bridge = self.bridge.as_ref();
        let bridge = bridge.ok_or_else(|| CallError::NotAllowed("no broker is configured".to_owned()))?;
        let url = address(&bridge.url, &to.url)?;
        let mut ask = Ask::post(&url, body).bearer(Some(&bridge.token))?;
        if let Some(token) = token {
            let name = HeaderName::from_static(a2a::mqtt::property::AUTHORIZATION);
            ask = ask.secret(name, &format!("Bearer {}", token.expose_secret()))?;
        }
        ask.most = Some(self.policy.max_result);
        ask.timeout = Some(PATIENCE);
        self.exchange(ask).await
    }
}

/// Where the bridge is asked to call the agent, or the pool, of this interface.
fn address(bridge: &Url, interface: &Url) -> Result<Url, CallError> {
    let read = TopicPrefix::read_interface(interface);
    let (_, _, recipient) = read.map_err(|reason| CallError::NotAllowed(reason.to_string()))?;
    let mut url = crate::below(bridge, "call");
    url.query_pairs_mut().append_pair("to", &recipient.to_string());
    Ok(url)
}

/// What the bridge says of a call that it could not carry.
pub(crate) fn fault(answered: &Answered) -> Option<MqttFault> {
    let told = answered.json().ok();
    let told = told.as_ref().filter(|body| body.get("jsonrpc").is_some());
    match told {
        Some(body) => {
            let name = body.pointer("/error/data/a2a_error").and_then(Value::as_str);
            name.and_then(MqttFault::named)
        }
        // It is the bridge itself that speaks: the agent was not asked.
        None => (answered.status >= 400).then_some(MqttFault::Unreachable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_addressed_by_its_names_alone() {
        let bridge = Url::parse("https://gateway.example/mqtt").unwrap();
        let to = |text: &str| {
            address(&bridge, &Url::parse(text).unwrap())
                .map(String::from)
                .ok()
        };
        assert_eq!(
            to("mqtts://broker.example:8883/$a2a/v1/request/acme/lab/echo").as_deref(),
            Some("https://gateway.example/mqtt/call?to=acme%2Flab%2Fecho")
        );
        assert_eq!(
            to("mqtts://broker.example:8883/a2a/v1/request/acme/lab/pool/echoes").as_deref(),
            Some("https://gateway.example/mqtt/call?to=acme%2Flab%2Fpool%2Fechoes")
        );
        assert_eq!(to("mqtts://broker.example"), None);
        assert_eq!(to("https://agents.example/a"), None);
    }
}
