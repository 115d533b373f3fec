//! The guarded client.

use std::sync::Arc;

use a2a::{Answer, RemoteTask, SendCall};
use domain::{Endpoint, Entropy, Generation, RemoteTaskId, SecretString, TraceParent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::{CallError, Policy, SetupError};

/// The way out. Cheap to clone; all clones share their connections.
#[derive(Clone)]
pub struct Outbound {
    http: reqwest::Client,
    policy: Policy,
    entropy: Arc<dyn Entropy>,
}

/// One push notification to deliver.
#[derive(Debug, Clone)]
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

impl Outbound {
    /// Opens the way out.
    ///
    /// # Errors
    /// [`SetupError`] where TLS cannot be set up.
    pub fn new(policy: Policy, entropy: Arc<dyn Entropy>) -> Result<Self, SetupError> {
        let _ = (policy, entropy);
        todo!()
    }

    /// Checks a URL without asking DNS: what is refused here is refused for ever.
    ///
    /// # Errors
    /// [`CallError::NotAllowed`] with the reason.
    pub fn check(&self, url: &Url) -> Result<(), CallError> {
        let _ = (url, &self.http, &self.policy, &self.entropy);
        todo!()
    }

    /// Sends a message to an agent.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn send(
        &self,
        to: &Endpoint,
        call: &SendCall,
        token: Option<&SecretString>,
        trace: Option<&TraceParent>,
    ) -> Result<Answer, CallError> {
        let _ = (to, call, token, trace);
        todo!()
    }

    /// Looks at a task at an agent.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn task(
        &self,
        to: &Endpoint,
        id: &RemoteTaskId,
        token: Option<&SecretString>,
        trace: Option<&TraceParent>,
    ) -> Result<RemoteTask, CallError> {
        let _ = (to, id, token, trace);
        todo!()
    }

    /// Calls a task at an agent off.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn cancel(
        &self,
        to: &Endpoint,
        id: &RemoteTaskId,
        token: Option<&SecretString>,
        trace: Option<&TraceParent>,
    ) -> Result<RemoteTask, CallError> {
        let _ = (to, id, token, trace);
        todo!()
    }

    /// Fetches an agent card: from the card's own URL, or from the well-known places below a base URL.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn card(&self, url: &Url) -> Result<Value, CallError> {
        let _ = url;
        todo!()
    }

    /// Delivers a push notification.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn push(&self, delivery: &PushDelivery, trace: Option<&TraceParent>) -> Result<(), CallError> {
        let _ = (delivery, trace);
        todo!()
    }

    /// Gets JSON.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        url: &Url,
        token: Option<&SecretString>,
        trace: Option<&TraceParent>,
    ) -> Result<T, CallError> {
        let _ = (url, token, trace);
        todo!()
    }

    /// Posts JSON and reads JSON.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post_json<B: Serialize + Sync + ?Sized, T: DeserializeOwned>(
        &self,
        url: &Url,
        body: &B,
        token: Option<&SecretString>,
        trace: Option<&TraceParent>,
    ) -> Result<T, CallError> {
        let _ = (url, body, token, trace);
        todo!()
    }
}
