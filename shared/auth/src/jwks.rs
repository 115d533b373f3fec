//! Keys that are fetched: who fetches them ([`KeySource`]) and how seldom ([`JwksCache`]).
//!
//! A token under a key that is here costs no look-up. One under an unknown key makes the issuer's keys be fetched
//! again, at most once a minute whatever arrives; so do keys that are an hour old, of which a withdrawn one must go
//! some time. When the fetch fails, the keys that are here stay good.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use domain::Timestamp;
use futures_util::lock::Mutex as AsyncMutex;
use serde_json::Value;
use url::Url;

use crate::Algorithm;
use crate::public_key::PublicKey;

/// Shortest time between two fetches from one issuer.
const PAUSE: Duration = Duration::from_secs(60);
/// The same while nothing at all was had from it.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// Age at which keys are fetched again though none is missing.
const AGE: Duration = Duration::from_secs(3600);
/// Most keys that are kept of one issuer. Each is bounded itself.
const MAX_KEYS: usize = 32;

/// Fetches JWKS documents. Whoever implements it guards the connection: its addresses, time and size.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The document at this URL.
    ///
    /// # Errors
    /// [`NoKeys`] where there is none to be had. Whoever implements it logs why.
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys>;
}

/// An issuer's keys could not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the issuer's keys could not be fetched")]
pub struct NoKeys;

/// Fetched keys, for all verifiers that share it.
pub struct JwksCache {
    source: Arc<dyn KeySource>,
    /// One slot per URL that is configured: nothing a token says adds one.
    slots: Mutex<HashMap<Url, Arc<Slot>>>,
}

impl JwksCache {
    /// An empty cache before this source.
    #[must_use]
    pub fn new(source: Arc<dyn KeySource>) -> Arc<Self> {
        Arc::new(Self {
            source,
            slots: Mutex::default(),
        })
    }

    /// A cache that fetches nothing, for verifiers whose issuers' keys are all written down.
    #[must_use]
    pub fn offline() -> Arc<Self> {
        struct Nobody;
        #[async_trait]
        impl KeySource for Nobody {
            async fn fetch(&self, _: &Url) -> Result<Value, NoKeys> {
                Err(NoKeys)
            }
        }
        Self::new(Arc::new(Nobody))
    }

    pub(crate) fn slot(&self, url: &Url) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(url.clone()).or_insert_with(|| {
            Arc::new(Slot {
                url: url.clone(),
                source: Arc::clone(&self.source),
                kept: RwLock::default(),
                tried: AsyncMutex::default(),
            })
        });
        Arc::clone(slot)
    }
}

impl std::fmt::Debug for JwksCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwksCache").finish_non_exhaustive()
    }
}

pub(crate) type Keys = HashMap<String, PublicKey>;

/// One issuer's keys.
pub(crate) struct Slot {
    url: Url,
    source: Arc<dyn KeySource>,
    kept: RwLock<Option<Kept>>,
    /// Held while fetching, so that callers who miss the same key wait for one fetch.
    tried: AsyncMutex<Option<Tried>>,
}

#[derive(Clone)]
struct Kept {
    keys: Arc<Keys>,
    at: Timestamp,
}

#[derive(Clone, Copy)]
struct Tried {
    at: Timestamp,
    had: bool,
}

impl Slot {
    /// The keys that are here, and whether they are old enough to be fetched again.
    pub(crate) fn keys(&self, now: Timestamp) -> Option<(Arc<Keys>, bool)> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref()
            .map(|kept| (Arc::clone(&kept.keys), now.since(kept.at) >= AGE))
    }

    /// Fetches the keys, unless that was tried a short while ago. False where the last try gave nothing.
    pub(crate) async fn refresh(&self, now: Timestamp) -> bool {
        let mut tried = self.tried.lock().await;
        let pause = if self.keys(now).is_some() {
            PAUSE
        } else {
            FIRST_PAUSE
        };
        if let Some(last) = *tried
            && now.since(last.at) < pause
        {
            return last.had;
        }
        // Noted before: a caller who goes away while it waits does not make the next one fetch at once.
        *tried = Some(Tried { at: now, had: false });
        let fetched = self.source.fetch(&self.url).await;
        let Some(keys) = fetched.ok().as_ref().and_then(read) else {
            return false;
        };
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = Some(Kept {
            keys: Arc::new(keys),
            at: now,
        });
        *tried = Some(Tried { at: now, had: true });
        true
    }
}

/// The usable keys of a JWKS document. Keys of other kinds are passed over; a document without any usable one is none.
fn read(document: &Value) -> Option<Keys> {
    let listed = document.get("keys")?.as_array()?;
    let keys: Keys = listed
        .iter()
        .take(MAX_KEYS)
        .filter_map(|jwk| PublicKey::read(jwk).ok())
        .collect();
    (!keys.is_empty()).then_some(keys)
}

/// The keys of one issuer that may be used with an algorithm.
pub(crate) fn usable<'k>(keys: &'k Keys, kid: &str, algorithm: Algorithm) -> Option<&'k PublicKey> {
    keys.get(kid).filter(|key| key.algorithm == algorithm)
}
