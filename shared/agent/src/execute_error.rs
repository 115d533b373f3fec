//! What stops an execution.

use domain::InvalidTransition;
use store::StoreError;

/// Why an execution stopped without an outcome.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// It may work later; the text is what the user is told once the attempts are used up.
    #[error("{0}")]
    Retry(String),
    /// The task changed under it: reload and decide again.
    #[error("the task changed meanwhile")]
    Stale,
    /// The time that is left here is too short for what comes next: somebody else begins it, at once.
    #[error("there is too little time left")]
    TooLittleTime,
    /// The executor asked for a step that the state machine does not have.
    #[error(transparent)]
    Transition(#[from] InvalidTransition),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
