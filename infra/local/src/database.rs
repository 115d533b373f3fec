//! The embedded DynamoDB: the same API over SQLite, in this process, on a loopback port of its own.
//!
//! It keeps the real time whatever clock the system runs on: it has no clock to hand over for a file, and nothing
//! here depends on its time (expiry is checked in code).

use std::path::Path;
use std::time::Duration;

use dynoxide::{Database as Engine, ImportOptions};
use store::{Store, Tables};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use crate::{StartError, queue};

/// How long a request may take to end when the database stops.
const DRAIN: Duration = Duration::from_secs(2);

/// What the names of the tables begin with.
pub(crate) const TABLE_PREFIX: &str = "switchyard-";

/// A running database.
pub(crate) struct Database {
    pub(crate) url: Url,
    pub(crate) store: Store,
    /// None where the database belongs to another process.
    own: Option<Own>,
}

/// A database in this process.
struct Own {
    engine: Engine,
    serving: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

impl Database {
    /// Opens the file, or an empty database in memory, and makes the tables that are missing.
    pub(crate) async fn start(file: Option<&Path>) -> Result<Self, StartError> {
        let engine = match file {
            Some(file) => open(file)?,
            None => Engine::memory().map_err(StartError::part("database"))?,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(StartError::part("database"))?;
        let address = listener.local_addr().map_err(StartError::part("database"))?;
        let url = Url::parse(&format!("http://{address}/")).map_err(StartError::part("database"))?;
        let (stop, mut stopped) = watch::channel(false);
        let served = engine.clone();
        let serving = tokio::spawn(async move {
            let stopped = async move { queue::stopped(&mut stopped).await };
            if let Err(reason) = dynoxide::server::serve_with_shutdown(listener, served, stopped).await {
                tracing::error!(reason, "the database ended");
            }
        });
        let aws = edge::aws::sdk_config(Some(&url), None).await;
        let store = Store::new(&aws, Tables::prefixed(TABLE_PREFIX));
        let database = Self {
            url,
            store,
            own: Some(Own {
                engine,
                serving,
                stop,
            }),
        };
        if let Err(fault) = database.store.create_tables().await {
            return Err(match file {
                Some(file) => damaged(file, &fault),
                None => StartError::part("database")(fault),
            });
        }
        Ok(database)
    }
}

impl Database {
    /// One that another process runs, with its tables made.
    pub(crate) fn of_another(url: Url, store: Store) -> Self {
        Self {
            url,
            store,
            own: None,
        }
    }

    /// How many items lie in all tables together.
    pub(crate) fn items(&self) -> Result<i64, String> {
        let own = self
            .own
            .as_ref()
            .ok_or("the database belongs to another process")?;
        let stats = own.engine.table_stats().map_err(|fault| fault.to_string())?;
        Ok(stats.iter().map(|table| table.item_count).sum())
    }

    /// Puts items into a table as they are, in DynamoDB's JSON and in one transaction of the engine; nothing is checked.
    pub(crate) fn import(&self, table: &str, items: Vec<serde_json::Value>) -> Result<(), String> {
        let own = self
            .own
            .as_ref()
            .ok_or("the database belongs to another process")?;
        let items = items
            .into_iter()
            .map(serde_json::from_value)
            .collect::<Result<_, _>>();
        let items = items.map_err(|fault| fault.to_string())?;
        let name = format!("{TABLE_PREFIX}{table}");
        let imported = own.engine.import_items(&name, items, ImportOptions::default());
        imported.map(|_| ()).map_err(|fault| fault.to_string())
    }

    /// Stops: idle connections are closed, requests that run may end.
    pub(crate) async fn stop(self) {
        let Some(Own {
            mut serving, stop, ..
        }) = self.own
        else {
            return;
        };
        let _gone = stop.send(true);
        if tokio::time::timeout(DRAIN, &mut serving).await.is_err() {
            serving.abort();
        }
    }
}

fn open(file: &Path) -> Result<Engine, StartError> {
    let path = file
        .to_str()
        .ok_or_else(|| damaged(file, &"has a name that is not text"))?;
    let engine = Engine::new(path).map_err(|fault| damaged(file, &fault))?;
    // Opening alone does not read the tables.
    engine.table_stats().map_err(|fault| damaged(file, &fault))?;
    Ok(engine)
}

fn damaged(file: &Path, fault: &dyn std::fmt::Display) -> StartError {
    StartError::Damaged {
        path: file.to_owned(),
        reason: format!("cannot be used as database ({fault})"),
    }
}
