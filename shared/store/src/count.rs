//! Counting of DynamoDB requests and of the capacity they use, so that tests and figures can say what an operation
//! costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

tokio::task_local! {
    static COUNTER: Counter;
}

#[derive(Debug, Clone)]
struct Counter {
    calls: Arc<Mutex<Calls>>,
    measures: bool,
}

/// How many requests were made, retries included, and what they cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// Requests by DynamoDB operation, such as `GetItem`.
    pub by_operation: BTreeMap<String, u64>,
    /// The capacity they used; only of [`measured`] work.
    pub capacity: Capacity,
}

/// Capacity units used, of tables and indexes together, as the database reports them with its answers. It reports none
/// for a write whose condition did not hold, though that uses capacity too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Capacity {
    /// Read capacity units.
    pub read: f64,
    /// Write capacity units; a transaction's count twice.
    pub write: f64,
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
    count(work, wanted().is_some()).await
}

/// As [`counted`], and asks the database with each request what capacity it uses.
pub async fn measured<F: Future>(work: F) -> (F::Output, Calls) {
    count(work, true).await
}

async fn count<F: Future>(work: F, measures: bool) -> (F::Output, Calls) {
    let counter = Counter {
        calls: Arc::default(),
        measures,
    };
    let output = COUNTER.scope(counter.clone(), work).await;
    let calls = std::mem::take(&mut *counter.calls.lock().unwrap_or_else(PoisonError::into_inner));
    add(|outer| {
        for (operation, count) in &calls.by_operation {
            *outer.by_operation.entry(operation.clone()).or_default() += count;
        }
        outer.capacity.read += calls.capacity.read;
        outer.capacity.write += calls.capacity.write;
    });
    (output, calls)
}

/// Outside of any counting there is nothing to add to.
fn add(what: impl FnOnce(&mut Calls)) {
    let _ =
        COUNTER.try_with(|counter| what(&mut counter.calls.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// What a request asks of the database where its capacity is measured.
pub(crate) fn wanted() -> Option<ReturnConsumedCapacity> {
    let measures = COUNTER.try_with(|counter| counter.measures).unwrap_or_default();
    measures.then_some(ReturnConsumedCapacity::Total)
}

fn units<'c>(consumed: impl IntoIterator<Item = &'c ConsumedCapacity>) -> f64 {
    let units = consumed
        .into_iter()
        .filter_map(|consumed| consumed.capacity_units);
    units.sum()
}

/// A read's capacity.
pub(crate) fn read<'c>(consumed: impl IntoIterator<Item = &'c ConsumedCapacity>) {
    let units = units(consumed);
    add(|calls| calls.capacity.read += units);
}

/// A write's capacity.
pub(crate) fn written<'c>(consumed: impl IntoIterator<Item = &'c ConsumedCapacity>) {
    let units = units(consumed);
    add(|calls| calls.capacity.write += units);
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
            add(|calls| *calls.by_operation.entry(operation.name().to_owned()).or_default() += 1);
        }
        Ok(())
    }
}
