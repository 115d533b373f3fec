//! Delivering push notifications.

use auth::webhook::{self, ID_HEADER, SIGNATURE_HEADER, SenderKeys, TIMESTAMP_HEADER};
use domain::{Clock, ExposeSecret, Generation, SecretString, Tenant};
use http::header::{AUTHORIZATION, HeaderName};
use serde_json::Value;
use url::Url;

use crate::client::Ask;
use crate::{CallError, Outbound};

/// One push notification to deliver.
#[derive(Clone)]
pub struct PushDelivery {
    /// Whose task it tells of.
    pub tenant: Tenant,
    /// The webhook.
    pub url: Url,
    /// The token by which the receiver knows the notification for its own. One that is a secret of Standard Webhooks
    /// (`whsec_…`) signs and is not sent.
    pub token: Option<SecretString>,
    /// The scheme of the `Authorization` header.
    pub scheme: Option<String>,
    /// The credentials of the `Authorization` header.
    pub credentials: Option<SecretString>,
    /// The notification.
    pub body: Value,
    /// The generation it is written in.
    pub generation: Generation,
    /// Its id, without full stops: the same one with every resend.
    pub id: String,
    /// The address of the agent on a broker that has the task, where that is another one than was asked.
    pub responder: Option<String>,
}

impl std::fmt::Debug for PushDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushDelivery")
            .field("id", &self.id)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

/// Why a push notification did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// It was not even tried: its receiver does not answer at present, or has enough to do. This is no attempt.
    #[error("its receiver is left in peace for now")]
    NotNow {
        /// When to come again.
        until: domain::Timestamp,
    },
    /// It was tried.
    #[error(transparent)]
    Failed(#[from] CallError),
}

impl Outbound {
    /// Delivers a push notification, signed as Standard Webhooks has it: with what the receiver gave, and with the
    /// sender's own key. `Authorization` is what the receiver asked for, else its token as a bearer; the token goes in
    /// its own header besides.
    ///
    /// # Errors
    /// [`PushError`]; any status but 2xx is one.
    pub async fn push(
        &self,
        delivery: &PushDelivery,
        keys: &SenderKeys,
        clock: &dyn Clock,
    ) -> Result<(), PushError> {
        let ask = self.signed(delivery, keys, clock)?;
        self.handed_over(&delivery.tenant, ask, clock).await
    }

    /// Sends what its receiver is to take, unless that is left in peace.
    pub(crate) async fn handed_over(
        &self,
        tenant: &Tenant,
        ask: Ask<'_>,
        clock: &dyn Clock,
    ) -> Result<(), PushError> {
        let trial = self.breaker.admit(tenant, ask.url, clock.now());
        let trial = trial.map_err(|until| PushError::NotNow { until })?;
        let ended = self.exchange(ask).await;
        let silent = matches!(ended, Err(CallError::Timeout | CallError::Unreachable { .. }));
        trial.ended(!silent, clock.now());
        Ok(ended?.success().map(drop)?)
    }

    fn signed<'d>(
        &self,
        delivery: &'d PushDelivery,
        keys: &SenderKeys,
        clock: &dyn Clock,
    ) -> Result<Ask<'d>, CallError> {
        let mut ask =
            Ask::post(&delivery.url, &delivery.body).header("a2a-version", a2a::version(delivery.generation));
        ask.timeout = Some(self.policy.push_timeout);
        if delivery.generation == Generation::V1_0 {
            ask = ask.header("content-type", a2a::MEDIA_TYPE);
        }
        let message = webhook::WebhookMessage {
            id: &delivery.id,
            at: clock.now(),
            body: ask.body.as_deref().unwrap_or_default(),
        };
        let shared = delivery.token.as_ref().or(delivery.credentials.as_ref());
        let by_secret = shared.map(|secret| webhook::hmac_signature(secret, &message));
        let signatures: Vec<String> = by_secret.into_iter().chain(keys.signature(&message)).collect();
        let seconds = message.at.seconds().to_string();
        ask = ask
            .secret(HeaderName::from_static(ID_HEADER), &delivery.id)?
            .secret(HeaderName::from_static(TIMESTAMP_HEADER), &seconds)?
            .secret(HeaderName::from_static(SIGNATURE_HEADER), &signatures.join(" "))?;
        if let Some(agent) = &delivery.responder {
            ask = ask.secret(HeaderName::from_static(a2a::mqtt::property::RESPONDER), agent)?;
        }
        let token = delivery.token.as_ref().filter(|token| !webhook::is_secret(token));
        let credentials = delivery.credentials.as_ref().map(SecretString::expose_secret);
        match (&delivery.scheme, credentials) {
            (Some(scheme), Some(credentials)) => {
                ask = ask.secret(AUTHORIZATION, &format!("{scheme} {credentials}"))?;
            }
            _ => ask = ask.bearer(token)?,
        }
        if let Some(token) = token {
            let name = HeaderName::from_static("x-a2a-notification-token");
            ask = ask.secret(name, token.expose_secret())?;
        }
        Ok(ask)
    }
}
