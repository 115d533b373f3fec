//! The embedded DynamoDB: the same API over SQLite, in this process, on a loopback port of its own.
//!
//! It keeps the real time whatever clock the system runs on: it has no clock to hand over for a file, and nothing
//! here depends on its time (expiry is checked in code).

mod front;
#[cfg(test)]
mod growth;
mod tokens;

use std::path::Path;
use std::time::Duration;

use dynoxide::{Database as Engine, ImportOptions};
use store::{Store, Tables};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use url::Url;

use crate::{StartError, queue};

/// How long requests may take to end when the database stops; then they are broken off.
const DRAIN: Duration = Duration::from_secs(2);

/// Threads that read requests and write answers while one of them is in the engine, which takes them one by one.
const FRONT: usize = 2;

/// A new database in memory, of at most 1 GiB. Not `:memory:`: there SQLite keeps every page in its page cache and looks
/// through all of them at most commits, so that a write costs more the more is stored (see `growth`).
const MEMORY: &str = "file:switchyard?vfs=memdb";

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
    stop: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Database {
    /// Opens the file, or an empty database in memory, and makes the tables that are missing.
    pub(crate) async fn start(file: Option<&Path>) -> Result<Self, StartError> {
        let engine = match file {
            Some(file) => open(file)?,
            None => Engine::new(MEMORY).map_err(StartError::part("database"))?,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .and_then(TcpListener::into_std)
            .map_err(StartError::part("database"))?;
        let address = listener.local_addr().map_err(StartError::part("database"))?;
        let url = Url::parse(&format!("http://{address}/")).map_err(StartError::part("database"))?;
        let (stop, stopped) = watch::channel(false);
        let (ending, ended) = oneshot::channel();
        let served = engine.clone();
        std::thread::Builder::new()
            .name("database".to_owned())
            .spawn(move || {
                serve(listener, served, stopped);
                // Whoever started it may be gone.
                let _ = ending.send(());
            })
            .map_err(StartError::part("database"))?;
        let aws = edge::aws::sdk_config(Some(&url), None);
        let store = Store::new(&aws, Tables::prefixed(TABLE_PREFIX));
        let database = Self {
            url,
            store,
            own: Some(Own { engine, stop, ended }),
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
        if let Some(Own { stop, ended, .. }) = self.own {
            let _gone = stop.send(true);
            let _gone = ended.await;
        }
    }
}

/// Answers requests until it is told to stop. In threads of its own: the engine answers one request after the other and
/// waits for its file meanwhile, and would have all threads of the system wait with it.
fn serve(listener: std::net::TcpListener, engine: Engine, mut stop: watch::Receiver<bool>) {
    let mut stopped = stop.clone();
    let serving = async {
        let listener = TcpListener::from_std(listener).map_err(|fault| fault.to_string())?;
        let stopped = async move { queue::stopped(&mut stopped).await };
        let serving = axum::serve(listener, front::router(engine)).with_graceful_shutdown(stopped);
        serving.await.map_err(|fault| fault.to_string())
    };
    let too_late = async {
        queue::stopped(&mut stop).await;
        tokio::time::sleep(DRAIN).await;
        Ok(())
    };
    let served = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(FRONT)
        .thread_name("database")
        .enable_all()
        .build()
        .map_err(|fault| fault.to_string())
        .and_then(|runtime| {
            runtime.block_on(async {
                tokio::select! {
                    served = serving => served,
                    late = too_late => late,
                }
            })
        });
    if let Err(reason) = served {
        tracing::error!(reason, "the database ended");
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
