//! Why the system does not start, or does not change: one sentence each.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use a2a::mqtt::AgentAddress;
use auth::KeyError;
use domain::{InvalidSetting, Tenant};

/// Why the system does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process listens there.
    #[error("port {port} is taken; stop what listens there or choose another with --port")]
    PortTaken {
        /// The port asked for.
        port: u16,
    },
    /// The port cannot be opened for another reason.
    #[error("port {port} cannot be opened: {source}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system says.
        source: std::io::Error,
    },
    /// Containers do not reach this machine where it was said.
    #[error(
        "{address} is no address of this machine, so no container reaches it there: start Docker first, or say with \
         --container-host where containers find this machine"
    )]
    NoSuchAddress {
        /// The address asked for.
        address: IpAddr,
    },
    /// Another system runs on this data folder.
    #[error("the data folder {} is in use by another switchyard; stop that one or choose another folder with --data", .0.display())]
    Busy(PathBuf),
    /// The data folder cannot be made, read or written.
    #[error("{} cannot be used: {source}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no room left on the disk.
    #[error("the disk is full: {} cannot be written; make room and start again, what is stored stays as it is", .0.display())]
    Full(PathBuf),
    /// The keys are there, and the database that they were used with is not.
    #[error(
        "{} is missing or empty, and {} beside it holds the keys that it was used with: put the file back, or move the whole \
         folder away to start afresh",
        database.display(),
        secrets.display()
    )]
    NoDatabase {
        /// The file of secrets.
        secrets: PathBuf,
        /// The database.
        database: PathBuf,
    },
    /// The database is there, and the keys to what is sealed in it are not.
    #[error(
        "{} is missing, and {} beside it is sealed with the keys that it held: put the file back, or move the whole \
         folder away to start afresh",
        secrets.display(),
        database.display()
    )]
    NoSecrets {
        /// The file of secrets.
        secrets: PathBuf,
        /// The database.
        database: PathBuf,
    },
    /// Something in the data folder is not what this program wrote.
    #[error("the data folder is damaged: {} {reason}; move the folder away to start afresh", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A client from outside would be one of the system's own.
    #[error(
        "{0} cannot be a client from outside: those are of other organisations, or `switchyard/platform/NAME` with a name that nobody \
         there has"
    )]
    NoGuest(AgentAddress),
    /// A part of the system does not start; that is a fault of this program.
    #[error("the {part} does not start: {source}")]
    Part {
        /// Which part.
        part: &'static str,
        /// What it says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StartError {
    /// For `map_err`: a file or folder that cannot be used.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full(path),
            _ => Self::Folder { path, source },
        }
    }

    /// For `map_err`: a part that does not start.
    pub(crate) fn part<E>(part: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Self::Part {
            part,
            source: source.into(),
        }
    }
}

/// Why a change to the system's tenants or keys is not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A tenant of that name is here.
    #[error("there is a tenant {} already", .0.name())]
    Exists(Tenant),
    /// No tenant of that name is here.
    #[error("there is no tenant {} here; there are {}", .name.name(), listed(.known))]
    Unknown {
        /// The name.
        name: Tenant,
        /// The tenants there are.
        known: Vec<Tenant>,
    },
    /// No tenant of that name was removed, or nothing can be left of it.
    #[error("nothing is left of a removed tenant {}", .0.name())]
    NothingLeft(Tenant),
    /// A system without any tenant would serve nobody.
    #[error("{} is the last tenant and stays", .0.name())]
    Last(Tenant),
    /// The keys before are still needed.
    #[error(
        "these keys were rotated a short while ago, and tokens signed before that still live: wait {minutes} minutes, \
         or end them now with --force"
    )]
    TooSoon {
        /// Until the next rotation harms nobody.
        minutes: u64,
    },
    /// A key could not be made or used.
    #[error("a key cannot be made or used: {0}")]
    Key(#[from] KeyError),
    /// A user cannot be added, reset or removed.
    #[error(transparent)]
    User(#[from] idp::ProvisionError),
    /// No issuer of that id is named for the tenant.
    #[error("no issuer {0} is named for this tenant; `switchyard issuer list` lists those that are")]
    NoIssuer(String),
    /// Where people sign in cannot be changed in this way.
    #[error("{0}")]
    SignIn(String),
    /// There is no such rule.
    #[error("{0} is no rule of this system; `switchyard mqtt import` lists its rules")]
    NoImport(String),
    /// There are too many rules.
    #[error("a system has at most {0} rules")]
    ManyImports(usize),
    /// The system is on no MQTT broker.
    #[error("the system is on no MQTT broker; start it with `switchyard up --mqtt spawn`")]
    NoBroker,
    /// The broker lets anybody in, or its users are somebody else's to make.
    #[error(
        "the MQTT broker's clients are not this system's to admit; start it with `switchyard up --mqtt spawn`"
    )]
    NotOurBroker,
    /// A client of the broker cannot have that name.
    #[error("{0} is the name of an agent, or no name: 1 to 64 of A-Z a-z 0-9 _ . -")]
    BrokerClientName(String),
    /// A tenant has no client of that name at the broker.
    #[error("the tenant has no client {0} at the MQTT broker")]
    NoBrokerClient(String),
    /// A tenant has too many clients at the broker.
    #[error("a tenant has at most {0} clients at the MQTT broker")]
    ManyBrokerClients(usize),
    /// A setting of a tenant is none.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// A part did not take the change.
    #[error(transparent)]
    Part(#[from] StartError),
}

fn listed(tenants: &[Tenant]) -> String {
    let names: Vec<&str> = tenants.iter().map(Tenant::name).collect();
    names.join(", ")
}
