//! Web Push (RFC 8030): a message for a browser, handed to the push service whose address the browser gave.

use std::time::Duration;

use domain::{Clock, ExposeSecret as _, SecretString, Tenant};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use url::Url;

use crate::client::Ask;
use crate::{Outbound, PushError};

/// A message for a browser.
pub struct WebPush<'a> {
    /// Whose user has the browser.
    pub tenant: &'a Tenant,
    /// The push service's address for the browser.
    pub endpoint: &'a Url,
    /// The message, encrypted (`aes128gcm`).
    pub body: Vec<u8>,
    /// What makes us known to the push service (VAPID).
    pub authorization: &'a SecretString,
    /// Of several messages with one topic that wait for a browser, the last one is delivered; 32 characters of base64url at most.
    pub topic: &'a str,
    /// How long it is kept for a browser that is not there.
    pub ttl: Duration,
}

impl std::fmt::Debug for WebPush<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest of the address is all that it takes to write to the browser.
        f.debug_struct("WebPush")
            .field("host", &self.endpoint.host_str())
            .finish_non_exhaustive()
    }
}

impl Outbound {
    /// Hands a message to a push service, in four fifths of the time that the receiver of a notification has: whoever sends this is one.
    ///
    /// # Errors
    /// [`PushError`]; any status but 2xx is one. 404 and 410 say that there is no such browser any more (RFC 8030 §7.3).
    pub async fn web_push(&self, push: WebPush<'_>, clock: &dyn Clock) -> Result<(), PushError> {
        let mut ask = Ask::get(push.endpoint)
            .header("content-encoding", "aes128gcm")
            .header("urgency", "normal");
        ask.method = http::Method::POST;
        ask.headers
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        ask.headers
            .insert(HeaderName::from_static("ttl"), push.ttl.as_secs().into());
        ask.body = Some(push.body);
        ask.timeout = Some(self.policy.push_timeout * 4 / 5);
        let ask = ask
            .secret(HeaderName::from_static("topic"), push.topic)?
            .secret(AUTHORIZATION, push.authorization.expose_secret())?;
        self.handed_over(push.tenant, ask, clock).await
    }
}
