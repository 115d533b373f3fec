//! The registry, asked in the name of one of the tenant's operators.

use std::sync::Arc;
use std::time::Duration;

use auth::{Grant, KeyError, SigningKey};
use domain::{AgentId, Clock, Entropy, Owner, SecretString, Tenant};
use http::Method;
use outbound::{CallError, Outbound, below};
use serde_json::Value;
use url::Url;

use crate::error::RouteError;

/// How long a token for the registry is good: one is made for each request of an operator.
const LIFETIME: Duration = Duration::from_secs(60);
/// Most pages of agents that are read.
const PAGES_MAX: usize = 10;

/// A client of the registry.
pub(crate) struct RegistryClient {
    pub(crate) url: Url,
    pub(crate) tenant: Tenant,
    pub(crate) issuer: String,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) outbound: Outbound,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// What an operator can do with an agent of the tenant's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Check,
    Disable,
    Enable,
    Approve,
}

impl Verb {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "check" => Some(Self::Check),
            "disable" => Some(Self::Disable),
            "enable" => Some(Self::Enable),
            "approve" => Some(Self::Approve),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::Approve => "approve",
        }
    }
}

/// What a registry has against a card.
fn reasons(refused: &Value) -> String {
    let all = refused.get("reasons").and_then(Value::as_array);
    let all: Vec<&str> = all.into_iter().flatten().filter_map(Value::as_str).collect();
    match (all.is_empty(), refused.get("message").and_then(Value::as_str)) {
        (true, Some(message)) => message.to_owned(),
        (true, None) => "the registry refuses that".to_owned(),
        (false, _) => all.join("; "),
    }
}

impl RegistryClient {
    /// All agents that the tenant sees, also those that are switched off, as the registry tells them.
    pub(crate) async fn agents(&self, operator: &Owner) -> Result<Vec<Value>, RouteError> {
        let token = self.token(operator)?;
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..PAGES_MAX {
            let mut url = below(&self.url, "agents");
            url.query_pairs_mut().append_pair("disabled", "true");
            if let Some(cursor) = &cursor {
                url.query_pairs_mut().append_pair("cursor", cursor);
            }
            let page: Value = self
                .outbound
                .get_json(&url, Some(&token))
                .await
                .map_err(RouteError::Registry)?;
            let listed = page.get("agents").and_then(Value::as_array);
            found.extend(listed.into_iter().flatten().cloned());
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// Has an agent looked at, switched off or on, or its changed card approved, which the body names; the agent as it is then.
    pub(crate) async fn act(
        &self,
        operator: &Owner,
        id: AgentId,
        (verb, body): (Verb, &Value),
    ) -> Result<Value, RouteError> {
        let token = self.token(operator)?;
        let url = below(&self.url, &format!("agents/{id}/{}", verb.name()));
        let asked = self
            .outbound
            .request_json(Method::POST, &url, Some(body), Some(&token));
        match asked.await.map_err(RouteError::Registry)? {
            (200, agent) => Ok(agent),
            (403, _) => Err(RouteError::conflict(
                "platforms_agent",
                "this agent is the platform's: its operator changes it",
            )),
            (404, _) => Err(RouteError::NotFound),
            (409, _) => Err(RouteError::conflict(
                "conflict",
                match verb {
                    Verb::Approve => "its card has changed since you read it, or waits no more: look again",
                    _ => "somebody else changes this agent; try again shortly",
                },
            )),
            (400 | 422, refused) => Err(RouteError::invalid("invalid_request", &reasons(&refused))),
            (status, _) => Err(RouteError::Registry(CallError::Status(status))),
        }
    }

    fn token(&self, operator: &Owner) -> Result<SecretString, KeyError> {
        self.token_for(operator, &self.url, "registry:write")
    }

    /// A token that lets the operator do one thing at one address.
    pub(crate) fn token_for(
        &self,
        operator: &Owner,
        audience: &Url,
        scope: &str,
    ) -> Result<SecretString, KeyError> {
        let grant = Grant {
            issuer: &self.issuer,
            subject: operator.as_str(),
            tenant: Some(&self.tenant),
            audience: audience.as_str().trim_end_matches('/'),
            scopes: &[scope],
            lifetime: LIFETIME,
        };
        self.key.sign(&grant, self.clock.now(), self.entropy.as_ref())
    }
}
