//! Delivering push notifications.

use domain::{ExposeSecret, Generation, SecretString, TraceParent};
use http::header::{AUTHORIZATION, HeaderName};
use serde_json::Value;
use url::Url;

use crate::client::Ask;
use crate::{CallError, Outbound};

/// One push notification to deliver.
#[derive(Clone)]
pub struct PushDelivery {
    /// The webhook.
    pub url: Url,
    /// The token by which the receiver knows the notification for its own.
    pub token: Option<SecretString>,
    /// The scheme of the `Authorization` header.
    pub scheme: Option<String>,
    /// The credentials of the `Authorization` header.
    pub credentials: Option<SecretString>,
    /// The notification.
    pub body: Value,
    /// The generation it is written in.
    pub generation: Generation,
    /// Its id: the same one with every resend.
    pub id: String,
}

impl std::fmt::Debug for PushDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushDelivery")
            .field("id", &self.id)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

impl Outbound {
    /// Delivers a push notification. `Authorization` is what the receiver asked for, else its token as a bearer; the
    /// token goes in its own header besides.
    ///
    /// # Errors
    /// [`CallError`]; any status but 2xx is one.
    pub async fn push(&self, delivery: &PushDelivery, trace: Option<&TraceParent>) -> Result<(), CallError> {
        let mut ask = Ask::post(&delivery.url, &delivery.body, trace)
            .header("a2a-version", a2a::version(delivery.generation))
            .secret(HeaderName::from_static("webhook-id"), &delivery.id)?;
        if delivery.generation == Generation::V1_0 {
            ask = ask.header("content-type", a2a::MEDIA_TYPE);
        }
        let credentials = delivery.credentials.as_ref().map(SecretString::expose_secret);
        match (&delivery.scheme, credentials, &delivery.token) {
            (Some(scheme), Some(credentials), _) => {
                ask = ask.secret(AUTHORIZATION, &format!("{scheme} {credentials}"))?;
            }
            (_, _, Some(token)) => ask = ask.bearer(Some(token))?,
            _ => {}
        }
        if let Some(token) = &delivery.token {
            ask = ask.secret(
                HeaderName::from_static("x-a2a-notification-token"),
                token.expose_secret(),
            )?;
        }
        self.exchange(ask).await?.success().map(drop)
    }
}
