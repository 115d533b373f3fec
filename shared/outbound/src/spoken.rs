//! Which generation an endpoint has turned out to speak, where that is not what its card claims: so that it need not be found
//! out with every call. Kept in memory alone; who does not know it finds it out once more.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::Generation;
use url::Url;

/// Most endpoints that are remembered. With one more, all are found out anew.
const MOST: usize = 256;

#[derive(Default)]
pub(crate) struct Spoken(Mutex<HashMap<Url, Generation>>);

impl Spoken {
    /// What the endpoint at that address has turned out to speak.
    pub(crate) fn at(&self, url: &Url) -> Option<Generation> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(url).copied()
    }

    pub(crate) fn note(&self, url: &Url, generation: Generation) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(url.clone(), generation);
    }
}
