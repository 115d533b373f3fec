//! The host agent, called as any A2A client would, in the name of the owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use a2a::{Connections, Disconnected, PushTarget};
use auth::web_push::WebPushKeys;
use auth::{Grant, KeyError, SigningKey};
use domain::{
    Clock, Endpoint, Entropy, ExposeSecret, Generation, Message, Owner, PushConfigId, RemoteTaskId,
    SecretString, TaskId, Tenant, Timestamp, Transport,
};
use http::Method;
use outbound::{CallError, Outbound, RemoteTask, SendCall, SendResponse, below};
use serde_json::{Value, json};
use url::Url;

use crate::error::RouteError;

/// How long a token for the host is good.
const LIFETIME: Duration = Duration::from_secs(300);
/// A token with less time left is not used again.
const RESERVE: Duration = Duration::from_secs(60);
/// Most owners whose tokens are kept.
const KEPT_MAX: usize = 1_000;

/// What the push configuration of a task is called by which we are told of it ourselves.
const AWAY: &str = "away";

/// In whose name something is sent.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) owner: Owner,
    /// Whether browsers of the owner are told of tasks.
    pub(crate) pushes: bool,
}

/// A client of the tenant's host agent.
pub(crate) struct HostClient {
    pub(crate) endpoint: Endpoint,
    pub(crate) tenant: Tenant,
    pub(crate) issuer: String,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) outbound: Outbound,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) push: Arc<WebPushKeys>,
    /// Where the host tells of tasks whose owners want to hear of them in browsers.
    pub(crate) tells_at: Url,
    /// Made once for each owner, for as long as they are good.
    pub(crate) tokens: Mutex<HashMap<Owner, (SecretString, Timestamp)>>,
}

impl HostClient {
    /// The host's interface at its address.
    pub(crate) fn endpoint(url: Url) -> Endpoint {
        Endpoint {
            url,
            generation: Generation::V1_0,
            transport: Transport::JsonRpc,
            tenant: None,
            resource: None,
        }
    }

    /// Where the host is.
    pub(crate) fn url(&self) -> &Url {
        &self.endpoint.url
    }

    /// Sends a message and does not wait for the task's end. Where browsers of its owner are told, the host tells of what becomes of it.
    pub(crate) async fn send(&self, who: &Sender, message: Message) -> Result<SendResponse, RouteError> {
        let token = self.token(&who.owner)?;
        let mut call = SendCall::new(message);
        call.push = who.pushes.then(|| PushTarget {
            id: PushConfigId::parse(AWAY).ok(),
            url: self.tells_at.clone(),
            token: Some(self.push.pass(&who.owner)),
            authentication: None,
        });
        call.history_length = Some(0); // the task is read from the store
        // The page shows words as they come, where the host's model gives them so.
        let sent = self
            .outbound
            .send_with(&self.endpoint, (&call, Some(a2a::DRAFTS)), Some(&token));
        Ok(sent.await?)
    }

    /// Has the host tell of what becomes of a task that is under way.
    pub(crate) async fn tells_of(&self, owner: &Owner, task: TaskId) -> Result<(), RouteError> {
        let token = self.token(owner)?;
        let url = below(
            &self.endpoint.url,
            &format!("tasks/{task}/pushNotificationConfigs"),
        );
        let pass = self.push.pass(owner);
        let config = json!({"id": AWAY, "url": self.tells_at, "token": pass.expose_secret()});
        let answered: Result<Value, CallError> = self.outbound.post_json(&url, &config, Some(&token)).await;
        answered.map(|_| ()).map_err(RouteError::from)
    }

    /// Calls a task off.
    pub(crate) async fn cancel(&self, owner: &Owner, task: TaskId) -> Result<RemoteTask, RouteError> {
        let token = self.token(owner)?;
        let id = RemoteTaskId::parse(&task.to_string()).map_err(|_| RouteError::NotFound)?;
        Ok(self.outbound.cancel(&self.endpoint, &id, Some(&token)).await?)
    }

    /// Has the host ask the agents of a task's jobs how they are doing.
    pub(crate) async fn refresh(&self, owner: &Owner, task: TaskId) -> Result<(), RouteError> {
        self.act(owner, (task, "refresh")).await
    }

    /// Has the host go on with a task at once that waits in vain.
    pub(crate) async fn retry(&self, owner: &Owner, task: TaskId) -> Result<(), RouteError> {
        self.act(owner, (task, "retry")).await
    }

    /// The host's card for the tenant's own callers: it lists the agents that the host hands work to.
    pub(crate) async fn card(&self, owner: &Owner) -> Result<Value, RouteError> {
        let token = self.token(owner)?;
        Ok(self.outbound.extended_card(&self.endpoint, Some(&token)).await?)
    }

    /// One of our agents' own operations beside A2A's.
    async fn act(&self, owner: &Owner, (task, verb): (TaskId, &str)) -> Result<(), RouteError> {
        let token = self.token(owner)?;
        let mut url = self.endpoint.url.clone();
        url.set_path(&format!(
            "{}/tasks/{task}:{verb}",
            url.path().trim_end_matches('/')
        ));
        let answered: Result<Value, CallError> =
            self.outbound.post_json(&url, &json!({}), Some(&token)).await;
        answered.map(|_| ()).map_err(RouteError::from)
    }

    /// Where the owner is connected.
    pub(crate) async fn connections(&self, owner: &Owner) -> Result<Connections, RouteError> {
        let token = self.token(owner)?;
        let url = below(&self.endpoint.url, "connections");
        Ok(self.outbound.get_json(&url, Some(&token)).await?)
    }

    /// Ends a connection of the owner's; its id is good for a path.
    pub(crate) async fn disconnect(&self, owner: &Owner, id: &str) -> Result<Disconnected, RouteError> {
        let token = self.token(owner)?;
        let url = below(&self.endpoint.url, &format!("connections/{id}"));
        let ended = self
            .outbound
            .request_json(Method::DELETE, &url, None, Some(&token));
        match ended.await? {
            (200, body) => serde_json::from_value(body)
                .map_err(|_| CallError::BadAnswer("it does not say what has ended".to_owned()).into()),
            (404, _) => Err(RouteError::NotFound),
            (status, _) => Err(CallError::Status(status).into()),
        }
    }

    /// A token that lets the owner use the host; made once for as long as it is good.
    fn token(&self, owner: &Owner) -> Result<SecretString, KeyError> {
        let now = self.clock.now();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, expires_at)) = tokens.get(owner)
            && now.after(RESERVE) < *expires_at
            // Made before the clock was set back: to everybody else it comes from the future.
            && *expires_at <= now.after(LIFETIME)
        {
            return Ok(token.clone());
        }
        let grant = Grant {
            issuer: &self.issuer,
            subject: owner.as_str(),
            tenant: Some(&self.tenant),
            audience: self.endpoint.url.as_str().trim_end_matches('/'),
            scopes: &["tasks", auth::scope::CHAT],
            lifetime: LIFETIME,
        };
        let token = self.key.sign(&grant, now, self.entropy.as_ref())?;
        if tokens.len() >= KEPT_MAX {
            tokens.clear();
        }
        tokens.insert(owner.clone(), (token.clone(), now.after(LIFETIME)));
        Ok(token)
    }
}
