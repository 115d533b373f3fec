//! What can go wrong, by what a caller can do about it.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database sheds load, also after the retries made here: try again later.
    #[error("the database is busy ({operation})")]
    Throttled {
        /// The operation that was refused.
        operation: &'static str,
    },
    /// The database could not be reached, or refused in a way that a retry does not mend.
    #[error("the database failed ({operation})")]
    Unavailable {
        /// The operation that failed.
        operation: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What lies in the table is not what this program writes.
    #[error("the item {key} of table {table} is inconsistent: {reason}")]
    Inconsistent {
        /// The table.
        table: String,
        /// The item's key.
        key: String,
        /// What is wrong with it, without its content.
        reason: String,
    },
    /// What was to be written does not fit into an item or a transaction; nothing was written.
    #[error("{what} is too large to be stored: {size}, at most {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is, in bytes or items.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The task holds something that this release does not know, so that it cannot judge what the change would do:
    /// nothing was written. It is for a newer release, or for later.
    #[error("the task holds something that needs a newer release")]
    NeedsNewerRelease,
    /// The cursor is rubbish or belongs to another listing.
    #[error("the cursor does not belong to this listing")]
    BadCursor,
}

/// Codes by which DynamoDB says that it has too much to do; the SDK has repeated the request by then.
pub(crate) const BUSY: [&str; 6] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TransactionInProgressException",
    CONFLICT,
];

/// The code of a write to one item that a transaction is just writing too.
pub(crate) const CONFLICT: &str = "TransactionConflictException";

/// Sorts a failed request by what its caller can do.
pub(crate) fn failed<E, R>(operation: &'static str) -> impl FnOnce(SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    move |error| {
        let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
        if code.is_some_and(|code| BUSY.contains(&code)) {
            return StoreError::Throttled { operation };
        }
        unavailable(operation)(error)
    }
}

/// A failure that a retry does not mend.
pub(crate) fn unavailable<E>(operation: &'static str) -> impl FnOnce(E) -> StoreError
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| StoreError::Unavailable {
        operation,
        source: Box::new(source),
    }
}
