//! One issuer's keys: who fetches them ([`KeySource`]), and how seldom.
//!
//! A token under a key that is here costs no look-up. One under an unknown key makes the issuer's keys be fetched
//! again, at most once a minute whatever arrives; so do keys that are an hour old, of which a withdrawn one must go
//! some time. When the fetch fails, the keys that are here stay good.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use domain::{Tenant, Timestamp};
use futures_util::lock::Mutex as AsyncMutex;
use serde_json::Value;
use url::Url;

use crate::Algorithm;
use crate::public_key::PublicKey;

/// Shortest time between two fetches from one issuer.
const PAUSE: Duration = Duration::from_secs(60);
/// The same while nothing at all was had from it.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// So many callers in a row may go away while they wait, and the next one fetches at once all the same: a page that is loaded anew leaves
/// its first requests behind.
const LEFT_MAX: u8 = 3;
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

pub(crate) type Keys = HashMap<String, PublicKey>;

/// One issuer's keys.
pub(crate) struct Slot {
    url: Url,
    source: Arc<dyn KeySource>,
    /// How long keys are used that could not be fetched again; for ever, where there is no end.
    longest: Option<Duration>,
    kept: RwLock<Option<Kept>>,
    /// Held while fetching, so that callers who miss the same key wait for one fetch.
    tried: AsyncMutex<Option<Tried>>,
}

/// A document that was fetched.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) keys: Arc<Keys>,
    /// Whom it names as the issuer, where it vouches for one.
    pub(crate) issuer: Option<Arc<str>>,
    /// Which incarnation of the tenant's name it vouches for, where it says so.
    pub(crate) tenant: Option<Tenant>,
    at: Timestamp,
}

impl Kept {
    /// Whether it is old enough to be fetched again.
    pub(crate) fn is_old(&self, now: Timestamp) -> bool {
        !self.at.is_lately(AGE, now)
    }
}

#[derive(Clone, Copy)]
struct Tried {
    at: Timestamp,
    had: bool,
    /// How many callers in a row went away before it was known, this one among them until it is.
    left: u8,
}

impl Slot {
    pub(crate) fn new(url: Url, source: Arc<dyn KeySource>, longest: Option<Duration>) -> Self {
        Self {
            url,
            source,
            longest,
            kept: RwLock::default(),
            tried: AsyncMutex::default(),
        }
    }

    /// The keys that are here.
    pub(crate) fn keys(&self, now: Timestamp) -> Option<Kept> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let good = |kept: &&Kept| self.longest.is_none_or(|longest| kept.at.is_lately(longest, now));
        kept.as_ref().filter(good).cloned()
    }

    /// Whether the last try gave nothing; not while one is under way.
    pub(crate) fn has_failed(&self) -> bool {
        let tried = self.tried.try_lock();
        tried.is_some_and(|tried| tried.is_some_and(|last| !last.had))
    }

    /// Fetches the keys, unless that was tried a short while ago. False where the last try gave nothing.
    pub(crate) async fn refresh(&self, now: Timestamp) -> bool {
        let mut tried = self.tried.lock().await;
        let pause = if self.keys(now).is_some() {
            PAUSE
        } else {
            FIRST_PAUSE
        };
        let lately = tried.filter(|last| last.at.is_lately(pause, now));
        let left = match lately {
            Some(Tried { had, left: 0, .. }) => return had,
            Some(Tried { left, .. }) if left >= LEFT_MAX => return false,
            Some(Tried { left, .. }) => left + 1,
            None => 1,
        };
        // Noted before: callers who go away while they wait do not make us fetch for ever.
        let at = lately.map_or(now, |last| last.at);
        *tried = Some(Tried { at, had: false, left });
        let fetched = self.source.fetch(&self.url).await;
        let kept = fetched.ok().as_ref().and_then(|document| read(document, now));
        let had = kept.is_some();
        if let Some(kept) = kept {
            *self.kept.write().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
        *tried = Some(Tried {
            at: now,
            had,
            left: 0,
        });
        had
    }
}

/// The usable keys of a JWKS document. Keys of other kinds are passed over; a document without any usable one is none.
fn read(document: &Value, at: Timestamp) -> Option<Kept> {
    let listed = document.get("keys")?.as_array()?;
    let keys: Keys = listed
        .iter()
        .take(MAX_KEYS)
        .filter_map(|jwk| PublicKey::read(jwk).ok())
        .collect();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let tenant = match text("tenant") {
        Some(prefix) => Some(Tenant::from_prefix(prefix).ok()?),
        None => None,
    };
    (!keys.is_empty()).then(|| Kept {
        keys: Arc::new(keys),
        issuer: text("issuer").map(Arc::from),
        tenant,
        at,
    })
}

/// The keys of one issuer that may be used with an algorithm.
pub(crate) fn usable<'k>(keys: &'k Keys, kid: &str, algorithm: Algorithm) -> Option<&'k PublicKey> {
    keys.get(kid).filter(|key| key.algorithm == algorithm)
}
