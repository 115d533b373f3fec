//! The embedded DynamoDB: the same API over SQLite, in this process, on a port of its own.
//!
//! The local system, the tests of every room and the benches all use this one, so that what is measured is what runs. It
//! keeps the real time whatever clock its users run on: it has no clock to hand over for a file, and nothing here depends
//! on its time (expiry is checked in code).

mod access;
mod front;
mod room;
#[cfg(test)]
mod tests;
mod tokens;

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use dynoxide::{Database as Engine, DynoxideError, ImportOptions};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use url::Url;

pub use crate::access::AccessKey;
use crate::front::Front;
use crate::room::Room;

/// How long requests may take to end when the database stops; then they are broken off.
const DRAIN: Duration = Duration::from_secs(2);

/// Threads that read requests and write answers while one of them is in the engine, which takes them one by one.
const FRONT: usize = 2;

/// Where a database in memory lies, of at most 1 GiB. Not `:memory:`: there SQLite keeps every page in its page cache and
/// looks through all of them at most commits, so that a write costs more the more is stored (see `tests`).
const MEMORY: &str = "file:switchyard?vfs=memdb";

/// Where it is reached from this machine alone.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Why a database does not start, or does not do what it was asked in this process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is no database, or not one that can be used: what is said of it.
    #[error("the file {0}")]
    File(String),
    /// There is no room left where the file lies.
    #[error("the disk is full")]
    Full,
    /// No thread or port for it.
    #[error(transparent)]
    Start(#[from] std::io::Error),
    /// The engine refuses.
    #[error(transparent)]
    Engine(#[from] DynoxideError),
}

/// A running database. Dropped, it stops by itself; [`Server::stop`] waits until it has.
pub struct Server {
    url: Url,
    front: Arc<Front>,
    stop: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl Server {
    /// Opens the file, which is made if it is not there, or a new database in memory. No tables are made.
    ///
    /// It answers in threads of its own: the engine takes one request after the other and waits for its file meanwhile, and
    /// would have all threads of the system wait with it.
    ///
    /// # Errors
    /// [`Error::File`] where the file cannot be used, [`Error::Full`] where there is no room for it.
    pub fn start(file: Option<&Path>) -> Result<Self, Error> {
        Self::start_behind(file, |router| router)
    }

    /// The same with something in front of it, such as a layer that counts.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_behind(
        file: Option<&Path>,
        wrap: impl FnOnce(Router) -> Router + Send + 'static,
    ) -> Result<Self, Error> {
        Self::start_at((file, LOOPBACK), wrap)
    }

    /// The same at another address of this machine than the loopback one. Whoever reaches that, and is let through by what
    /// is in front, has the database.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_at(
        place: (Option<&Path>, IpAddr),
        wrap: impl FnOnce(Router) -> Router + Send + 'static,
    ) -> Result<Self, Error> {
        Self::start_on(place, |listener, router, stop, ending| {
            let serving = move || {
                let served = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(FRONT)
                    .thread_name("database")
                    .enable_all()
                    .build()
                    .map(|runtime| runtime.block_on(serve(listener, wrap(router), stop)));
                if let Err(fault) = served {
                    failed(&fault);
                }
                // Whoever started it may be gone.
                let _ = ending.send(());
            };
            let thread = std::thread::Builder::new().name("database".to_owned());
            thread.spawn(serving).map(drop)
        })
    }

    /// In memory, and as a task of the caller's runtime: where that has one thread, nothing else runs while the engine
    /// works, so that a test's timers meet no request half done.
    ///
    /// # Errors
    /// Where no port is free.
    pub fn start_here() -> Result<Self, Error> {
        Self::start_on((None, LOOPBACK), |listener, router, stop, ending| {
            tokio::spawn(async move {
                serve(listener, router, stop).await;
                // Whoever started it may be gone.
                let _ = ending.send(());
            });
            Ok(())
        })
    }

    fn start_on(
        (file, address): (Option<&Path>, IpAddr),
        run: impl FnOnce(
            std::net::TcpListener,
            Router,
            watch::Receiver<bool>,
            oneshot::Sender<()>,
        ) -> std::io::Result<()>,
    ) -> Result<Self, Error> {
        let engine = match file {
            Some(file) => open(file)?,
            None => Engine::new(MEMORY)?,
        };
        let listener = std::net::TcpListener::bind((address, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let url = Url::parse(&format!("http://{address}/")).map_err(std::io::Error::other)?;
        let (stop, stopped) = watch::channel(false);
        let (ending, ended) = oneshot::channel();
        let front = Arc::new(Front::over(engine, file));
        run(listener, front::router(Arc::clone(&front)), stopped, ending)?;
        Ok(Self {
            url,
            front,
            stop,
            ended,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether something could not be written because there was no room for it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.front.room.is_full()
    }

    /// What it answers to an operation, such as `Query`, without the way through HTTP.
    ///
    /// # Errors
    /// What DynamoDB would refuse.
    pub fn answer(&self, operation: &str, request: &Value) -> Result<Value, Error> {
        let answer = self.front.run(operation, request.to_string().as_bytes())?;
        let answer = serde_json::from_str(&answer);
        Ok(answer.map_err(|fault| DynoxideError::InternalServerError(fault.to_string()))?)
    }

    /// How many items lie in all tables together.
    ///
    /// # Errors
    /// A fault of the engine.
    pub fn items(&self) -> Result<i64, Error> {
        let stats = self.front.engine.table_stats()?;
        Ok(stats.iter().map(|table| table.item_count).sum())
    }

    /// Puts items into a table as they are, in DynamoDB's JSON and in one transaction of the engine; nothing is checked.
    ///
    /// # Errors
    /// Where an item is none, or the table is missing.
    pub fn import(&self, table: &str, items: Vec<Value>) -> Result<(), Error> {
        let items = items.into_iter().map(serde_json::from_value);
        let items: Result<_, _> = items.collect();
        let items = items.map_err(|fault| DynoxideError::SerializationException(fault.to_string()))?;
        self.front
            .engine
            .import_items(table, items, ImportOptions::default())?;
        Ok(())
    }

    /// Stops: idle connections are closed, requests that run may end.
    pub async fn stop(self) {
        let _gone = self.stop.send(true);
        let _gone = self.ended.await;
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

/// Resolves once the database is to stop, or nobody is left who could say so.
async fn stopped(mut stop: watch::Receiver<bool>) {
    let _or_dropped = stop.wait_for(|stop| *stop).await;
}

/// Answers requests until it is told to stop.
async fn serve(listener: std::net::TcpListener, router: Router, stop: watch::Receiver<bool>) {
    let told = stop.clone();
    let serving = async {
        let listener = TcpListener::from_std(listener)?;
        axum::serve(listener, router)
            .with_graceful_shutdown(stopped(told))
            .await
    };
    let too_late = async {
        stopped(stop).await;
        tokio::time::sleep(DRAIN).await;
        Ok(())
    };
    let served = tokio::select! {
        served = serving => served,
        late = too_late => late,
    };
    if let Err(fault) = served {
        failed(&fault);
    }
}

fn failed(fault: &std::io::Error) {
    tracing::error!(error = fault as &dyn std::error::Error, "the database ended");
}

fn open(file: &Path) -> Result<Engine, Error> {
    let unusable = |fault: DynoxideError| {
        let room = Room::beside(Some(file));
        room.failed();
        match room.is_full() {
            true => Error::Full,
            false => {
                let told = fault.to_string();
                // What follows is for who builds the engine.
                let told = told.split(". If encrypted").next().unwrap_or_default();
                Error::File(format!("cannot be used as database ({told})"))
            }
        }
    };
    let path = file
        .to_str()
        .ok_or_else(|| Error::File("has a name that is not text".to_owned()))?;
    let engine = Engine::new(path).map_err(unusable)?;
    // Opening alone does not read the tables.
    engine.table_stats().map_err(unusable)?;
    Ok(engine)
}
