//! A database in the same process, for tests.


use crate::Store;

/// Keeps the database of [`start`] running; it stops when this is dropped.
pub struct Database {
    endpoint: String,
}

impl Database {
    /// Where it listens, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

/// Starts an empty database on a loopback port and creates the tables.
///
/// # Panics
/// Where that fails: there is nothing to test then.
pub async fn start() -> (Store, Database) {
    todo!()
}
