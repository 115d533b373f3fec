//! What can go wrong, by what a caller can do about it.

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
    #[error("{what} is too large to be stored: {size} bytes or items, at most {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The cursor is rubbish or belongs to another listing.
    #[error("the cursor does not belong to this listing")]
    BadCursor,
}
