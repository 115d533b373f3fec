//! How long users wait, at a steady load on a store that fills up.
//!
//! ```text
//! cargo run -p tools --release --bin latency
//! ```
//!
//! The whole local system, over real HTTP. Its database is in memory, for how long this machine's disk takes is nothing that
//! DynamoDB or we have to do with; `--file` keeps it in a file. Tasks arrive by a schedule, whether those before
//! them are done or not, and every latency counts from when something was to happen: what comes late because the system
//! is behind is late. Each task goes to the tenant's host, which finds a specialist in the registry and hands it on; the
//! specialist (of this program, so that the system under load is the system alone) reports half of its work and then the
//! end to the webhook. The host's client is told by push notifications at one of a hundred receivers, and a page follows
//! the task through `/api/tasks/{id}/events`.
//!
//! The same load runs with ever more finished tasks in the tables: copies, under new ids, of tasks that the system has
//! finished before, all of the same owner. And once with a receiver among the hundred that takes connections and never
//! answers. Each run has a system of its own.

mod fill;
mod page;
mod receivers;
mod report;
mod run;
mod specialist;
mod starts;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use local::{Data, Meter, Options, System};

use crate::receivers::Receivers;
use crate::run::{Ground, Load, Run};
use crate::specialist::Specialist;
use crate::starts::Starts;

/// Seconds of load before each run.
const WARM_UP: u64 = 5;

/// The tenant that everything happens in.
const TENANT: &str = "acme";

/// p50 and p99 of send → executor starts, state change → first push attempt, webhook → visible, at a steady load; with
/// what a task asks of DynamoDB, and how all that grows with what is stored.
///
/// Exit code: 0 if every p99 is below a second, 1 if not, 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "latency")]
struct Arguments {
    /// Tasks that arrive each second.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,
    /// Seconds that each run takes.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Finished tasks in the tables before each run.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    stored: Vec<usize>,
    /// One of so many tasks is followed by a page.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    followed: u32,
    /// Keep the database in a file: the disk's pauses are in the times then.
    #[arg(long)]
    file: bool,
    /// Leave the run with a dead receiver out.
    #[arg(long)]
    no_dead: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let starts = Starts::listen();
    let mut runs = Vec::new();
    for (number, stored) in arguments.stored.iter().enumerate() {
        runs.push(measured(&arguments, &starts, *stored, false).await);
        if number == 0 && !arguments.no_dead {
            runs.push(measured(&arguments, &starts, *stored, true).await);
        }
    }
    if report::print(&arguments, &runs) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A run on a system of its own, with its name. The embedded engine keeps the token of each transaction for ten minutes and
/// looks through all of them with each: what runs later in one process would be slower, whatever is stored.
async fn measured(arguments: &Arguments, starts: &Starts, wanted: usize, dead: bool) -> (String, Run) {
    let folder = tempfile::tempdir().expect("a folder");
    let meter = Meter::default();
    let options = Options {
        data: match arguments.file {
            true => Data::Folder(folder.path().to_owned()),
            false => Data::Memory,
        },
        meter: Some(meter.clone()),
        ..Options::default()
    };
    let system = System::start(options).await.expect("the local system starts");
    let specialist = Specialist::start(system.endpoints()).await;
    let receivers = Receivers::start().await;
    let ground = Ground::new(&system, &specialist, &receivers, starts, &meter).await;
    let load = |seconds, dead| Load {
        rate: arguments.rate,
        lasts: Duration::from_secs(seconds),
        followed: arguments.followed,
        dead,
    };
    eprintln!("warming up");
    let warm = ground.run(load(WARM_UP, false)).await;
    let missing = wanted.saturating_sub(warm.tasks);
    if missing > 0 {
        eprintln!("storing {missing} more finished tasks");
        fill::copies(&system, &warm.done, missing).await;
    }
    let stored = warm.tasks + missing;
    let name = format!("{stored} stored{}", if dead { ", one receiver dead" } else { "" });
    eprintln!("{} tasks a second, {name}", arguments.rate);
    let run = ground.run(load(arguments.seconds, dead)).await;
    system.stop().await;
    (name, run)
}
