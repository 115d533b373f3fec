//! How the system is to be started.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use domain::{Clock, Entropy, SystemClock, SystemEntropy, Tenant};

/// How the system is to be started.
pub struct Options {
    /// The gateway's port on the loopback address; 0 takes any that is free.
    pub port: u16,
    /// Where state and secrets are kept.
    pub data: Data,
    /// Where the list of endpoints is written besides the data folder.
    pub endpoints: Option<PathBuf>,
    /// Services that are really asked, instead of their sandboxes.
    pub live: BTreeSet<Live>,
    /// The time, for everything but the database's own.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// How often the sweeper looks by itself; `None` leaves it to [`crate::System::sweep`].
    pub sweep_every: Option<Duration>,
    /// The tenants; each has a host agent and a chat.
    pub tenants: Vec<Tenant>,
}

/// Where state and secrets are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Nowhere: they end with the process.
    Memory,
    /// In this folder, for one system at a time.
    Folder(PathBuf),
}

/// A service that can be asked for real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Live {
    /// Open-Meteo, for the weather agent.
    Weather,
}

impl Default for Options {
    /// In memory on any free port, with the two demo tenants, the system's clock and a sweep every second.
    fn default() -> Self {
        Self {
            port: 0,
            data: Data::Memory,
            endpoints: None,
            live: BTreeSet::new(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            sweep_every: Some(Duration::from_secs(1)),
            tenants: ["acme", "globex"]
                .iter()
                .filter_map(|name| Tenant::parse(name).ok())
                .collect(),
        }
    }
}
