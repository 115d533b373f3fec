//! What the whole-system tests and the benches share: the local system in this process with a clock that they move,
//! and users who talk to it over HTTP as anybody would.

pub mod binary;
pub mod browser;
pub mod cloud;
pub mod dynamodb;
pub mod models;
pub mod oauth;
pub mod openapi;
pub mod packets;
pub mod peers;
pub mod runtime_api;
pub mod user;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, ManualClock, SystemClock, SystemEntropy, Tenant, Timestamp};
use local::{Data, Models, Options, System};
use serde_json::Value;
use tokio::sync::OnceCell;

pub use template_testing::{self as template, policy};
pub use user::{Answer, User};

/// The folder `tests`.
#[must_use]
pub fn folder() -> &'static Path {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.ancestors().nth(2).unwrap_or(kit)
}

/// The workspace's folder.
#[must_use]
pub fn root() -> &'static Path {
    folder().parent().unwrap_or(folder())
}

/// 2026-01-01, when systems start.
const THURSDAY: i64 = 1_767_261_600_000;

/// The local system in this process.
pub struct Local {
    /// The system itself.
    pub system: System,
    /// Its clock, which stands still unless moved.
    pub clock: Arc<ManualClock>,
    endpoints: Value,
}

impl Local {
    /// Starts on a free port with an in-memory store.
    pub async fn start() -> Self {
        Self::start_with(Data::Memory).await
    }

    /// Starts with the given data.
    pub async fn start_with(data: Data) -> Self {
        Self::start_for(data, Options::default().tenants).await
    }

    /// Starts with the given data and tenants.
    pub async fn start_for(data: Data, tenants: Vec<Tenant>) -> Self {
        Self::start_at(data, Timestamp::from_millis(THURSDAY), tenants).await
    }

    /// Starts at the real time, for clients that look at clocks of their own.
    pub async fn start_now() -> Self {
        Self::start_at(Data::Memory, SystemClock.now(), Options::default().tenants).await
    }

    async fn start_at(data: Data, now: Timestamp, tenants: Vec<Tenant>) -> Self {
        Self::resume((0, data), Arc::new(ManualClock::new(now)), tenants).await
    }

    /// Starts with hosts that ask these language models.
    pub async fn start_asking(models: Models) -> Self {
        Self::start_as(Options {
            models: Some(models),
            ..Options::default()
        })
        .await
    }

    /// Starts as these options say, but for the clock, the RNG and the sweeper.
    pub async fn start_as(options: Options) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(THURSDAY)));
        Self::start_by(clock, options).await
    }

    /// Starts on this port, 0 being any, with this data, by this clock.
    pub async fn resume((port, data): (u16, Data), clock: Arc<ManualClock>, tenants: Vec<Tenant>) -> Self {
        let options = Options {
            port,
            data,
            tenants,
            ..Options::default()
        };
        Self::start_by(clock, options).await
    }

    async fn start_by(clock: Arc<ManualClock>, options: Options) -> Self {
        let options = Options {
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy),
            // The tests sweep when they want to.
            sweep_every: None,
            // Where theirs are.
            push_services: vec!["127.0.0.1".to_owned()],
            understanding: engine().await,
            ..options
        };
        let system = System::start(options).await.expect("the local system starts");
        let endpoints = serde_json::to_value(system.endpoints()).expect("endpoints are JSON");
        Self {
            system,
            clock,
            endpoints,
        }
    }

    /// What `endpoints.json` holds.
    #[must_use]
    pub fn endpoints(&self) -> &Value {
        &self.endpoints
    }

    /// A text of `endpoints.json`, by JSON pointer.
    #[must_use]
    pub fn endpoint(&self, pointer: &str) -> &str {
        self.endpoints
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no {pointer}"))
    }

    /// A new guest of a tenant, with a browser session of their own.
    #[must_use]
    pub fn user(&self, tenant: &str) -> User {
        User::new(self.endpoint(&format!("/tenants/{tenant}/base")))
    }

    /// Moves the clock ahead and lets the sweeper look once.
    pub async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.system.sweep().await;
    }
}

/// The engine that understands what people say, one a process. `tests/run tools` fetches its weights.
async fn engine() -> nlu::Slot {
    static ENGINE: OnceCell<nlu::Slot> = OnceCell::const_new();
    let filled = || async {
        let slot = nlu::Slot::default();
        let cache = folder().join(".tools/understanding");
        let filled = local::understanding::fill(&slot, cache, |line| println!("{line}")).await;
        filled.expect("the weights are there: `tests/run tools` fetches them");
        slot
    };
    ENGINE.get_or_init(|| Box::pin(filled())).await.clone()
}

/// The Python interpreter with the SDK, which `tests/run` installs.
#[must_use]
pub fn python() -> PathBuf {
    python_of("venv")
}

/// The Python interpreter of this environment, likewise.
#[must_use]
pub fn python_of(environment: &str) -> PathBuf {
    let python = folder().join(format!(".tools/{environment}/bin/python"));
    assert!(
        python.exists(),
        "{} is missing: `tests/run tools` installs it",
        python.display()
    );
    python
}
