//! Where the engine is looked for: it may come while the system already serves.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::engine::Engine;

/// A place for the engine, shared by all that look for it; empty at first.
#[derive(Clone, Default)]
pub struct Slot(Arc<OnceLock<Engine>>);

impl Slot {
    /// The engine, once it is there.
    #[must_use]
    pub fn get(&self) -> Option<&Engine> {
        self.0.get()
    }

    /// Puts it there. The first one stays.
    pub fn fill(&self, engine: Engine) {
        let _another_one_is_there = self.0.set(engine);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.0.get().is_some()).finish()
    }
}
