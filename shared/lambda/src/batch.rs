//! SQS batches: each message on its own, and only those that failed come again.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use domain::trace::within;
use edge::{BatchHandler, QueueError, QueueHandler};
use futures_util::future::{FutureExt as _, join_all};
use serde_json::{Value, json};
use store::counted;
use tracing::Instrument as _;

use crate::event::EventError;

/// Handles the messages side by side and names those to repeat (`ReportBatchItemFailures`).
pub(crate) async fn handle(queue: &dyn QueueHandler, batch: SqsEvent) -> Result<Value, EventError> {
    let messages = identified(batch)?;
    let failed = join_all(messages.iter().map(|(id, message)| one(queue, id, message))).await;
    Ok(failures(failed.into_iter().flatten()))
}

/// Hands all messages over at once and names those to repeat.
pub(crate) async fn handle_together(
    batches: &dyn BatchHandler,
    batch: SqsEvent,
) -> Result<Value, EventError> {
    let messages = identified(batch)?;
    let body = |(_, message): &'_ (String, SqsMessage)| message.body.clone().unwrap_or_default();
    let bodies: Vec<String> = messages.iter().map(body).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let mut done = batches.handle(&bodies).await.into_iter();
    let failed = messages.iter().filter_map(|(id, _)| {
        // Of what nothing is said, it comes again.
        let error = match done.next() {
            Some(Ok(())) => return None,
            Some(Err(error)) => error.to_string(),
            None => "nothing was said of it".to_owned(),
        };
        tracing::warn!(message_id = id, error, "message failed, comes again");
        Some(id.as_str())
    });
    Ok(failures(failed))
}

/// The messages by their ids. Checked before any work: a failure without an id could not be reported.
fn identified(batch: SqsEvent) -> Result<Vec<(String, SqsMessage)>, EventError> {
    let messages = batch.records.into_iter();
    let messages = messages.map(|message| message.message_id.clone().map(|id| (id, message)));
    messages
        .collect::<Option<_>>()
        .ok_or_else(|| EventError::Malformed {
            kind: "an SQS batch",
            reason: "a message has no messageId".to_owned(),
        })
}

fn failures<'a>(ids: impl Iterator<Item = &'a str>) -> Value {
    let failures: Vec<Value> = ids.map(|id| json!({ "itemIdentifier": id })).collect();
    json!({ "batchItemFailures": failures })
}

/// Handles one message; its id when it failed.
async fn one<'a>(queue: &dyn QueueHandler, id: &'a str, message: &SqsMessage) -> Option<&'a str> {
    let started = Instant::now();
    let body = message.body.as_deref().unwrap_or_default();
    // A panic in one message must not take its neighbours along.
    let work = AssertUnwindSafe(queue.handle(body)).catch_unwind();
    within(queue.trace(body), async {
        let span = tracing::info_span!(
            "edge.message.handle",
            tenant.id = tracing::field::Empty,
            task.id = tracing::field::Empty,
            trace_id = tracing::field::Empty,
        );
        let (done, calls) = counted(work.instrument(span.clone())).await;
        let _entered = span.entered();
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let dynamodb_calls = calls.total();
        match done {
            Ok(Ok(())) => {
                tracing::info!(message_id = id, duration_ms, dynamodb_calls, "message handled");
                None
            }
            Ok(Err(QueueError::Failed(error))) => {
                let attempt = message
                    .attributes
                    .get("ApproximateReceiveCount")
                    .map(String::as_str);
                tracing::warn!(
                    message_id = id,
                    duration_ms,
                    dynamodb_calls,
                    attempt,
                    error,
                    "message failed, comes again"
                );
                Some(id)
            }
            Ok(Err(error @ QueueError::Unreadable(_))) => {
                tracing::error!(message_id = id, %error, "message cannot be read, goes to the dead letters");
                Some(id)
            }
            Err(_panic) => {
                tracing::error!(message_id = id, "message handler panicked, comes again");
                Some(id)
            }
        }
    })
    .await
}
