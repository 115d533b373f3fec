//! Which requests are being handled here right now, so that what comes of one is told after its first answer.
//!
//! This is a courtesy to readers, no truth: after a crash, or in another instance, an event may come before the task that it is
//! of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use a2a::mqtt::ReplyPath;
use bytes::Bytes;
use tokio::sync::Semaphore;

/// Longest wait for a request's first answer.
const LONGEST: Duration = Duration::from_secs(3);

type Key = (String, Bytes);

/// The requests that are being handled.
#[derive(Debug, Default, Clone)]
pub(crate) struct UnderWay {
    places: Arc<Mutex<HashMap<Key, Arc<Semaphore>>>>,
}

/// One of them, for as long as it is.
#[derive(Debug)]
pub(crate) struct Handling {
    key: Key,
    under_way: UnderWay,
    place: Arc<Semaphore>,
}

impl UnderWay {
    /// A request is handled until the result is dropped.
    pub(crate) fn begin(&self, reply: &ReplyPath) -> Handling {
        let key = (reply.topic.clone(), reply.correlation.clone());
        let place = Arc::new(Semaphore::new(0));
        self.places().insert(key.clone(), Arc::clone(&place));
        Handling {
            key,
            under_way: self.clone(),
            place,
        }
    }

    /// Waits until the request is handled, if it is handled here; not for long.
    pub(crate) async fn over(&self, reply: &ReplyPath) {
        let key = (reply.topic.clone(), reply.correlation.clone());
        let place = self.places().get(&key).cloned();
        if let Some(place) = place {
            let _ = tokio::time::timeout(LONGEST, place.acquire()).await;
        }
    }

    fn places(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<Semaphore>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Handling {
    fn drop(&mut self) {
        let mut places = self.under_way.places();
        // A repeat of the request has a place of its own.
        if places
            .get(&self.key)
            .is_some_and(|place| Arc::ptr_eq(place, &self.place))
        {
            places.remove(&self.key);
        }
        self.place.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_event_waits_for_the_first_answer_to_its_own_request_alone() {
        let under_way = UnderWay::default();
        let path = |correlation: &str| ReplyPath {
            topic: "t".to_owned(),
            correlation: correlation.to_owned().into(),
        };
        let handling = under_way.begin(&path("a"));
        under_way.over(&path("b")).await;
        let (waiting, theirs) = (under_way.clone(), path("a"));
        let waits = tokio::spawn(async move { waiting.over(&theirs).await });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(handling);
        waits.await.unwrap();
        assert!(under_way.places().is_empty());
    }
}
