//! The registry, as the platform's operator calls it.

use std::sync::Arc;
use std::time::Duration;

use auth::{Grant, SigningKey};
use domain::{Clock, Entropy};
use http::Method;
use outbound::Outbound;
use serde_json::Value;
use url::Url;

/// How long a token lives: one call and a little clock skew.
const LIFETIME: Duration = Duration::from_secs(300);

/// Calls the registry in the platform's name.
#[derive(Clone)]
pub(crate) struct Operator {
    pub(crate) registry: Url,
    /// The issuer of the platform's tokens.
    pub(crate) issuer: String,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) outbound: Outbound,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Operator {
    /// One call; the status and the body of its answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let grant = Grant {
            issuer: &self.issuer,
            subject: "mqtt_bridge",
            tenant: None,
            audience: self.registry.as_str(),
            scopes: &["registry:admin"],
            lifetime: LIFETIME,
        };
        let token = self.key.sign(&grant, self.clock.now(), self.entropy.as_ref());
        let token = token.map_err(|error| error.to_string())?;
        let base = self.registry.as_str().trim_end_matches('/');
        let url = Url::parse(&format!("{base}/{path}")).map_err(|error| error.to_string())?;
        let answered = self.outbound.request_json(method, &url, body, Some(&token)).await;
        answered.map_err(|error| error.to_string())
    }
}
