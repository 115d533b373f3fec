//! Fetched keys of every issuer that a process trusts, for all its verifiers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use url::Url;

use crate::key_place::KeyTemplate;
use crate::slot::{KeySource, NoKeys, Slot};
use crate::slots::Slots;

/// Fetched keys, for all verifiers that share it.
pub struct JwksCache {
    source: Arc<dyn KeySource>,
    /// One slot per URL that is configured: nothing a token says adds one.
    slots: Mutex<HashMap<Url, Arc<Slot>>>,
    /// The same of those that hold one slot for each tenant.
    templates: Mutex<HashMap<KeyTemplate, Arc<Slots>>>,
}

impl JwksCache {
    /// An empty cache before this source.
    #[must_use]
    pub fn new(source: Arc<dyn KeySource>) -> Arc<Self> {
        Arc::new(Self {
            source,
            slots: Mutex::default(),
            templates: Mutex::default(),
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
        let slot = slots
            .entry(url.clone())
            .or_insert_with(|| Arc::new(Slot::new(url.clone(), Arc::clone(&self.source), None)));
        Arc::clone(slot)
    }

    pub(crate) fn each(&self, template: &KeyTemplate) -> Arc<Slots> {
        let mut templates = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = templates
            .entry(template.clone())
            .or_insert_with(|| Arc::new(Slots::new(template.clone(), Arc::clone(&self.source))));
        Arc::clone(slots)
    }
}

impl std::fmt::Debug for JwksCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwksCache").finish_non_exhaustive()
    }
}
