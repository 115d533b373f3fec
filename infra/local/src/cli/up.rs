//! `switchyard up`: starts everything and waits to be stopped.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use edge::telemetry::LogFilter;
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use crate::{Data, Live, Options, System, endpoints};

/// Start everything in one process
#[derive(Args)]
pub(super) struct Up {
    /// The gateway's port
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Where state and secrets are kept
    #[arg(long, value_name = "FOLDER", default_value = ".local")]
    data: PathBuf,
    /// Keep nothing: state and secrets end with the process
    #[arg(long, conflicts_with = "data")]
    memory: bool,
    /// Write the list of endpoints to this file too
    #[arg(long, value_name = "FILE")]
    endpoints: Option<PathBuf>,
    /// Ask this service for real, instead of its sandbox
    #[arg(long, value_name = "NAME")]
    live: Vec<Live>,
    /// Which log lines are shown, such as `info` or `warn,host_agent=debug`
    #[arg(long, value_name = "FILTER", default_value = "warn,dynoxide=error")]
    log: LogFilter,
}

impl Up {
    pub(super) async fn run(self) -> Result<(), Failure> {
        edge::telemetry::init(&self.log);
        let begun = Instant::now();
        // Before anything is started, so that a signal during the start is not lost.
        let mut terminate = signal(SignalKind::terminate()).map_err(Failure::other)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::other)?;
        let file = match (&self.endpoints, self.memory) {
            (Some(file), _) => Some(file.clone()),
            (None, false) => Some(self.data.join(endpoints::FILE)),
            (None, true) => None,
        };
        let options = Options {
            port: self.port,
            data: if self.memory {
                Data::Memory
            } else {
                Data::Folder(self.data)
            },
            endpoints: self.endpoints,
            live: self.live.into_iter().collect(),
            ..Options::default()
        };
        let starting = System::start(options);
        let system = tokio::select! {
            system = starting => system?,
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        };
        let told = tell(&system, begun.elapsed().as_secs_f64(), file);
        if told.is_err() {
            tracing::debug!("nobody reads the standard output");
        }
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::select! {
            () = system.stop() => Ok(()),
            _ = terminate.recv() => Err(Failure::other("stopped at once")),
            _ = interrupt.recv() => Err(Failure::other("stopped at once")),
        }
    }
}

/// Says where to click and what to try; not to a closed pipe.
fn tell(system: &System, seconds: f64, file: Option<PathBuf>) -> std::io::Result<()> {
    let endpoints = system.endpoints();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Switchyard is ready after {seconds:.1} s: {}",
        endpoints.gateway
    )?;
    for (name, tenant) in &endpoints.tenants {
        writeln!(out, "  {name:10} {}", tenant.base)?;
    }
    let called = std::env::args().next().unwrap_or_default();
    let command = if called.contains("target/") {
        "cargo run --"
    } else {
        "switchyard"
    };
    match file {
        Some(file) => {
            writeln!(out, "Every address is in {}.", file.display())?;
            writeln!(
                out,
                "Try: {command} chat --tenant acme \"Will it rain in Oslo tomorrow?\""
            )?;
        }
        None => writeln!(
            out,
            "With --endpoints FILE every address is written to a file, for the other commands."
        )?,
    }
    writeln!(out, "Ctrl-C stops it.")?;
    out.flush()
}
