//! The system's database: the embedded DynamoDB with the system's tables, or that of another process.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::Entropy;
use dynamodb::{AccessKey, Error, Server};
use store::{Folder, Store, Tables};
use url::Url;

use crate::error::StartError;
use crate::hosts::Hosts;

/// What the names of the tables begin with.
pub(crate) const TABLE_PREFIX: &str = "switchyard-";

/// The folder beside the database in which large things lie.
const BLOBS: &str = "blobs";

/// A folder that goes with whoever has this.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been made.
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// A running database.
pub(crate) struct Database {
    pub(crate) url: Url,
    /// What it wants to see of whoever asks; of another process's database that may be in its address.
    pub(crate) key: Option<AccessKey>,
    pub(crate) store: Store,
    /// None where the database belongs to another process.
    own: Option<Server>,
    file: Option<PathBuf>,
    /// Where large things lie of a database in memory: gone with it.
    _scratch: Option<Scratch>,
}

impl Database {
    /// Opens the file, or an empty database in memory, at this address, for these names and with an access key of its own,
    /// and makes the tables that are missing.
    ///
    /// The key is a new one with each start, as the port is.
    pub(crate) async fn start(
        file: Option<&Path>,
        address: IpAddr,
        hosts: Hosts,
        entropy: &dyn Entropy,
    ) -> Result<Self, StartError> {
        let key = random_key(entropy);
        let wanted = key.clone();
        let started = Server::start_at((file, address), |router| hosts.before(wanted.before(router)));
        let server = started.map_err(|fault| match (file, fault) {
            (Some(file), Error::File(reason)) => damaged(file, reason),
            (Some(file), Error::Full) => StartError::Full(file.to_owned()),
            (_, fault) => StartError::part("database")(fault),
        })?;
        let url = server.url().clone();
        let (blobs, scratch) = match file {
            Some(file) => (file.with_file_name(BLOBS), None),
            None => {
                let place = std::env::temp_dir().join(format!("switchyard-{}", entropy.uuid()));
                (place.clone(), Some(Scratch(place)))
            }
        };
        let store = Store::new(
            &edge::aws::sdk_config(Some(&key.within(&url)), None),
            Tables::prefixed(TABLE_PREFIX),
        )
        .with_blobs(Arc::new(Folder::new(blobs)));
        let created = store.create_tables().await;
        let database = Self {
            url,
            key: Some(key),
            store,
            own: Some(server),
            file: file.map(Path::to_owned),
            _scratch: scratch,
        };
        match created {
            Ok(()) => Ok(database),
            Err(fault) => Err(database.cause(match file {
                Some(file) => damaged(file, format!("cannot be used as database ({fault})")),
                None => StartError::part("database")(fault),
            })),
        }
    }

    /// Why something that uses the database failed: a full disk, where it is that.
    pub(crate) fn cause(&self, fault: StartError) -> StartError {
        match (&self.own, &self.file) {
            (Some(server), Some(file)) if server.is_full() => StartError::Full(file.clone()),
            _ => fault,
        }
    }

    /// One that another process runs, with its tables made.
    pub(crate) fn of_another(url: Url, store: Store) -> Self {
        Self {
            url,
            key: None,
            store,
            own: None,
            file: None,
            _scratch: None,
        }
    }

    /// How many items lie in all tables together.
    pub(crate) fn items(&self) -> Result<i64, String> {
        self.own()?.items().map_err(|fault| fault.to_string())
    }

    /// Puts items into a table as they are, in DynamoDB's JSON; nothing is checked.
    pub(crate) fn import(&self, table: &str, items: Vec<serde_json::Value>) -> Result<(), String> {
        let imported = self.own()?.import(&format!("{TABLE_PREFIX}{table}"), items);
        imported.map_err(|fault| fault.to_string())
    }

    fn own(&self) -> Result<&Server, &'static str> {
        self.own.as_ref().ok_or("the database belongs to another process")
    }

    /// Stops: idle connections are closed, requests that run may end.
    pub(crate) async fn stop(self) {
        if let Some(server) = self.own {
            server.stop().await;
        }
    }
}

fn random_key(entropy: &dyn Entropy) -> AccessKey {
    let random = || entropy.uuid().simple().to_string();
    AccessKey {
        access_key_id: format!("LOCAL{}", random()),
        secret_access_key: random(),
    }
}

fn damaged(file: &Path, reason: String) -> StartError {
    StartError::Damaged {
        path: file.to_owned(),
        reason,
    }
}
