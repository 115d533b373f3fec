//! What stands before every router.

use std::sync::Arc;

use axum::Router;
use domain::{Clock, Entropy};

/// Most bytes of a request body.
pub const BODY_LIMIT: usize = 1_048_576;

/// What the front needs to know.
#[derive(Clone)]
pub struct Front {
    /// Measures durations.
    pub clock: Arc<dyn Clock>,
    /// Makes request ids and trace ids.
    pub entropy: Arc<dyn Entropy>,
    /// The function's name in the log.
    pub function: &'static str,
}

/// Puts the front before a function's router.
pub fn front(router: Router, front: Front) -> Router {
    let _ = front;
    router
}
