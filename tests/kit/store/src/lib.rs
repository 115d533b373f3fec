//! A store over a database in the same process, and a client that meets faults: for the tests of every room.
//!
//! The items can be read and put as they lie in the tables, past the store.

mod faults;
mod mortal;

use std::path::Path;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_types::region::Region;
use serde_json::{Value, json};
use store::{Store, Tables};
use url::Url;

pub use faults::{Faults, Injected, Injector, NoFault, faulty_store};
pub use mortal::{Death, Fate};

/// Keeps the database of [`start`] running; it stops when this is dropped.
#[derive(Debug)]
pub struct Database(dynamodb::Server);

impl Database {
    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &Url {
        self.0.url()
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

    /// Another store over the same tables, whose process dies.
    #[must_use]
    pub fn mortal_store(&self, fate: Fate) -> (Store, Death) {
        mortal::mortal_store(self.config(), self.tables(), fate)
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
            .endpoint_url(self.url().as_str())
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
            let mut answer = needed(self.0.answer("Query", &page));
            if let Some(Value::Array(page)) = answer.get_mut("Items").map(Value::take) {
                items.extend(page);
            }
            start = match answer.get_mut("LastEvaluatedKey").map(Value::take) {
                None | Some(Value::Null) => return items,
                Some(last) => last,
            };
        }
    }

    /// Every item of a table as it lies there, in DynamoDB's JSON.
    ///
    /// # Panics
    /// Where the table is missing.
    #[must_use]
    pub fn everything(&self, table: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut start = Value::Null;
        loop {
            let page = json!({ "TableName": table, "ExclusiveStartKey": start });
            let mut answer = needed(self.0.answer("Scan", &page));
            if let Some(Value::Array(page)) = answer.get_mut("Items").map(Value::take) {
                items.extend(page);
            }
            start = match answer.get_mut("LastEvaluatedKey").map(Value::take) {
                None | Some(Value::Null) => return items,
                Some(last) => last,
            };
        }
    }

    /// Deletes an item of a table.
    ///
    /// # Panics
    /// Where the table is missing.
    pub fn delete(&self, table: &str, item: &Value) {
        let key = json!({ "pk": item["pk"], "sk": item["sk"] });
        needed(
            self.0
                .answer("DeleteItem", &json!({ "TableName": table, "Key": key })),
        );
    }

    /// Puts an item into a table as it is.
    ///
    /// # Panics
    /// Where the table is missing.
    pub fn put(&self, table: &str, item: &Value) {
        needed(
            self.0
                .answer("PutItem", &json!({ "TableName": table, "Item": item })),
        );
    }
}

/// Starts an empty database on a loopback port, in the runtime of the test, and creates the tables.
///
/// # Panics
/// Where that fails: there is nothing to test then.
pub async fn start() -> (Store, Database) {
    needed(with_tables(dynamodb::Server::start_here()).await)
}

/// The same as the local system has it, in threads of its own: over a file, which is made if it is not there, or in memory.
///
/// # Panics
/// Where that fails.
pub async fn start_apart(file: Option<&Path>) -> (Store, Database) {
    needed(with_tables(dynamodb::Server::start(file)).await)
}

async fn with_tables(
    server: Result<dynamodb::Server, dynamodb::Error>,
) -> Result<(Store, Database), Box<dyn std::error::Error>> {
    let database = Database(server?);
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
