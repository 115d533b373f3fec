//! A store over a database in the same process, and a client that meets faults: for the tests of every room.
//!
//! The items can be read and put as they lie in the tables, past the store.

mod faults;

use std::path::Path;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_types::region::Region;
use serde_json::{Value, json};
use store::{Store, Tables};

pub use faults::{Faults, Injected, Injector, NoFault, faulty_store};

/// Keeps the database of [`start`] running; it stops when this is dropped.
pub struct Database {
    endpoint: String,
    engine: dynoxide::Database,
    server: tokio::task::JoinHandle<()>,
}

impl Database {
    /// Where it listens, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> Tables {
        Tables::prefixed("switchyard-")
    }

    /// Another store over the same tables.
    #[must_use]
    pub fn store(&self) -> Store {
        Store::new(&self.config(), self.tables())
    }

    /// Another store over the same tables, whose client meets faults.
    #[must_use]
    pub fn faulty_store(&self, faults: Faults) -> (Store, Injector) {
        faulty_store(self.config(), self.tables(), faults)
    }

    /// What a store needs to get here.
    #[must_use]
    pub fn config(&self) -> aws_types::SdkConfig {
        aws_types::SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("eu-central-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new(
                "test", "test", None, None, "tests",
            )))
            .endpoint_url(&self.endpoint)
            .build()
    }

    /// The items of a partition as they lie in the table, in DynamoDB's JSON, by their sort key.
    ///
    /// # Panics
    /// Where the table is missing.
    #[must_use]
    pub fn items(&self, table: &str, partition: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut start = Value::Null;
        loop {
            let page = json!({
                "TableName": table,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": { ":pk": { "S": partition } },
                "ExclusiveStartKey": start,
            });
            let answer = needed(needed(
                serde_json::from_value(page).map(|page| self.engine.query(page)),
            ));
            items.extend(answer.items.into_iter().flatten());
            start = match answer.last_evaluated_key {
                Some(last) => needed(serde_json::to_value(last)),
                None => break,
            };
        }
        let items = items.iter().map(serde_json::to_value);
        needed(items.collect())
    }

    /// Puts an item, in DynamoDB's JSON, in the place of whatever lies there.
    ///
    /// # Panics
    /// Where the table refuses it.
    pub fn put(&self, table: &str, item: &Value) {
        let request = json!({ "TableName": table, "Item": item });
        needed(needed(
            serde_json::from_value(request).map(|request| self.engine.put_item(request)),
        ));
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Starts an empty database on a loopback port and creates the tables.
///
/// # Panics
/// Where that fails: there is nothing to test then.
pub async fn start() -> (Store, Database) {
    needed(try_start(None).await)
}

/// The same over a file, which is made if it is not there.
///
/// # Panics
/// Where that fails.
pub async fn start_on(file: &Path) -> (Store, Database) {
    needed(try_start(Some(file)).await)
}

async fn try_start(file: Option<&Path>) -> Result<(Store, Database), Box<dyn std::error::Error>> {
    let engine = match file {
        Some(file) => dynoxide::Database::new(file.to_str().ok_or("a file whose name is no text")?)?,
        None => dynoxide::Database::memory()?,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let server = tokio::spawn(dynoxide::server::serve_on(listener, engine.clone()));
    let database = Database {
        endpoint,
        engine,
        server,
    };
    let store = database.store();
    store.create_tables().await?;
    Ok((store, database))
}

/// What a test cannot go on without.
#[expect(
    clippy::panic,
    reason = "only tests use this, and a test without its database has failed"
)]
fn needed<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the database of the test: {error}"),
    }
}
