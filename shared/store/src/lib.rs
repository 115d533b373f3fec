//! The store: every table of Switchyard, over DynamoDB and nothing else.
//!
//! One implementation serves AWS and the local system, which runs DynamoDB's API in its own process. Every key
//! begins with the tenant, there is no `Scan`, a change of state is one `TransactWriteItems` with compare-and-swap,
//! and expiry is checked against the time the caller passes in. What the stored things mean is the room `domain`.

mod cards;
mod count;
mod error;
mod page;
pub mod schema;
mod sessions;
mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::sync::Arc;

pub use cards::{Cards, Declared, Health, Put, RegisteredAgent, Visibility};
pub use count::{Calls, counted};
pub use error::StoreError;
pub use page::{Page, PageRequest};
pub use schema::Tables;
pub use sessions::{Added, Chat, Opened, Session, Sessions, StoredMessage};
pub use tasks::{
    Beat, ClaimedPush, Committed, Created, DUE_SHARDS, Due, Lease, LeaseAfter, Leased, NewRecord, Pointer,
    PointsAt, PushConfig, StoredTask, TaskKey, Tasks,
};

/// The door to every table. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    client: aws_sdk_dynamodb::Client,
    tables: Tables,
}

impl Store {
    /// A store over the account, region and endpoint of `config`. Opens nothing yet.
    #[must_use]
    pub fn new(config: &aws_config::SdkConfig, tables: Tables) -> Self {
        let client = aws_sdk_dynamodb::Client::new(config);
        Self {
            inner: Arc::new(Inner { client, tables }),
        }
    }

    /// Creates the tables that are not there yet: for the local system and for tests.
    ///
    /// # Errors
    /// [`StoreError::Inconsistent`] where a table exists with another schema.
    pub async fn create_tables(&self) -> Result<(), StoreError> {
        todo!()
    }

    /// Tasks, their events, what is due, and their push configurations.
    #[must_use]
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks { store: self }
    }

    /// Browser sessions, chats and their messages.
    #[must_use]
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { store: self }
    }

    /// The registry's agents and types.
    #[must_use]
    pub fn registry(&self) -> Cards<'_> {
        Cards { store: self }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("tables", &self.inner.tables)
            .finish_non_exhaustive()
    }
}
