//! Counting of DynamoDB requests, so that tests and figures can say what an operation costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

type Counter = Arc<Mutex<BTreeMap<String, u64>>>;

tokio::task_local! {
    static COUNTER: Counter;
}

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
///
/// Where countings are nested, the outer one counts everything that the inner one does.
pub async fn counted<F: Future>(work: F) -> (F::Output, Calls) {
    let counter = Counter::default();
    let output = COUNTER.scope(Arc::clone(&counter), work).await;
    let by_operation = std::mem::take(&mut *counter.lock().unwrap_or_else(PoisonError::into_inner));
    for (operation, count) in &by_operation {
        add(operation, *count);
    }
    (output, Calls { by_operation })
}

fn add(operation: &str, count: u64) {
    // Outside of any counting there is nothing to add to.
    let _ = COUNTER.try_with(|counter| {
        let mut counter = counter.lock().unwrap_or_else(PoisonError::into_inner);
        *counter.entry(operation.to_owned()).or_default() += count;
    });
}

/// Sees every attempt right before it leaves, also those that the SDK itself repeats.
#[derive(Debug)]
pub(crate) struct CountCalls;

#[dyn_dispatch_hint]
impl Intercept for CountCalls {
    fn name(&self) -> &'static str {
        "CountCalls"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(operation) = settings.load::<Metadata>() {
            add(operation.name(), 1);
        }
        Ok(())
    }
}
