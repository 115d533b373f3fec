//! A database in the same process, and a client that meets faults, for tests.

mod faults;

use std::path::Path;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};

use crate::{Store, Tables};

pub use faults::{Faults, Injected, Injector, NoFault};

/// Keeps the database of [`start`] running; it stops when this is dropped.
#[derive(Debug)]
pub struct Database {
    endpoint: String,
    server: tokio::task::JoinHandle<()>,
}

impl Database {
    /// Where it listens, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Another store over the same tables.
    #[must_use]
    pub fn store(&self) -> Store {
        Store::new(&self.config(), Tables::prefixed("switchyard-"))
    }

    /// Another store over the same tables, whose client meets faults.
    #[must_use]
    pub fn faulty_store(&self, faults: Faults) -> (Store, Injector) {
        Store::new_with_faults(&self.config(), Tables::prefixed("switchyard-"), faults)
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
    started(try_start(None).await)
}

/// The same over a file, which is made if it is not there.
///
/// # Panics
/// Where that fails.
pub async fn start_on(file: &Path) -> (Store, Database) {
    started(try_start(Some(file)).await)
}

fn started(database: Result<(Store, Database), Box<dyn std::error::Error>>) -> (Store, Database) {
    match database {
        Ok(started) => started,
        Err(error) => {
            #[expect(
                clippy::panic,
                reason = "only tests use this, and a test without its database has failed"
            )]
            {
                panic!("no database for the test: {error}")
            }
        }
    }
}

async fn try_start(file: Option<&Path>) -> Result<(Store, Database), Box<dyn std::error::Error>> {
    let database = match file {
        Some(file) => dynoxide::Database::new(file.to_str().ok_or("a file whose name is no text")?)?,
        None => dynoxide::Database::memory()?,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let server = tokio::spawn(dynoxide::server::serve_on(listener, database));
    let database = Database { endpoint, server };
    let store = database.store();
    store.create_tables().await?;
    Ok((store, database))
}
