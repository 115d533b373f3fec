//! Keys that others publish, fetched through the guard: those of issuers of tokens, those of senders of webhooks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use auth::{KeySource, NoKeys};
use domain::Timestamp;
use serde_json::Value;
use url::Url;

use crate::{CallError, Outbound};

/// How long what an agent published, or that it published nothing, is taken for granted.
const AGE: Duration = Duration::from_secs(3600);
/// Most agents that are remembered; beyond, all are forgotten, which costs a request each.
const MAX_AGENTS: usize = 1000;

/// Fetches JWKS documents.
#[derive(Debug, Clone)]
pub struct FetchedKeys(
    /// The way out.
    pub Outbound,
);

#[async_trait]
impl KeySource for FetchedKeys {
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys> {
        let fetched = self.0.get_json(url, None).await;
        fetched.map_err(|error| {
            tracing::warn!(host = url.host_str(), error = %error, "an issuer's keys could not be fetched");
            NoKeys
        })
    }
}

/// The keys that agents sign their push notifications with, as far as they publish any.
#[derive(Clone)]
pub struct PushKeys {
    outbound: Outbound,
    known: Arc<Mutex<CachedKeys>>,
}

/// What each agent published, and when it was asked.
type CachedKeys = HashMap<Url, (Timestamp, Vec<String>)>;

impl PushKeys {
    /// Nothing known yet.
    #[must_use]
    pub fn new(outbound: Outbound) -> Self {
        Self {
            outbound,
            known: Arc::default(),
        }
    }

    /// The Ed25519 keys in `{agent}/.well-known/jwks.json`, in the form of [`auth::webhook::published_keys`]. Most agents
    /// of the world have no such document, and an empty list is the answer. `None` where the agent did not answer: nobody knows
    /// then whether it has any, and it is asked again next time.
    pub async fn of(&self, agent: &Url, now: Timestamp) -> Option<Vec<String>> {
        if let Some(known) = self.remembered(agent, now) {
            return Some(known);
        }
        let mut url = agent.clone();
        url.set_query(None);
        let Ok(()) = url.path_segments_mut().map(|mut segments| {
            segments.pop_if_empty().extend([".well-known", "jwks.json"]);
        }) else {
            return Some(Vec::new());
        };
        let keys = match self.outbound.get_json::<Value>(&url, None).await {
            Ok(document) => auth::webhook::published_keys(&document),
            Err(CallError::Timeout | CallError::Unreachable { .. }) => return None,
            Err(_) => Vec::new(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_AGENTS {
            known.clear();
        }
        known.insert(agent.clone(), (now, keys.clone()));
        Some(keys)
    }

    fn remembered(&self, agent: &Url, now: Timestamp) -> Option<Vec<String>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, keys) = known.get(agent)?;
        (at.is_lately(AGE, now)).then(|| keys.clone())
    }
}

impl std::fmt::Debug for PushKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushKeys").finish_non_exhaustive()
    }
}
