//! The keys of issuers, fetched through the one way out.

use async_trait::async_trait;
use auth::{KeySource, NoKeys};
use outbound::Outbound;
use serde_json::Value;
use url::Url;

/// Fetches JWKS documents.
pub(crate) struct FetchedKeys(pub(crate) Outbound);

#[async_trait]
impl KeySource for FetchedKeys {
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys> {
        let fetched = self.0.get_json(url, None, None).await;
        fetched.map_err(|error| {
            tracing::warn!(host = url.host_str(), error = %error, "an issuer's keys could not be fetched");
            NoKeys
        })
    }
}
