//! Chaos: many tasks through a system that is being killed, frozen, lied to and cut off, and the proof that none is
//! lost and none done twice.
//!
//! ```text
//! cargo run -p tests --release --bin chaos -- --seed 7 --tasks 2000
//! ```
//!
//! This process owns the database, the one address of the system, and the customer. Behind the address stand several
//! workers, each a process with the whole system over the same tables: hosts, specialists, webhook receivers, sweeper.
//!
//! What goes wrong: workers are killed (`SIGKILL`) and frozen past their leases (`SIGSTOP`); a share of all HTTP calls
//! is lost before or after its effect; notifications are lost, doubled and held back so that later ones overtake
//! them; the database throttles, refuses for rival transactions, loses requests and answers, and shows indexes as they
//! were; the workers' clocks differ by seconds; wakes die with the workers that held them.
//!
//! At the end every task is over, with exactly one result, done by one task of its specialist; each log is legal and
//! without gaps; the customer's webhook heard how each task ended; nothing is due any more.
//!
//! Every choice comes from `--seed`. Processes and networks keep their own time, so a seed repeats the kinds and the
//! order of each component's faults, not the moment that each of them meets.

mod check;
mod customer;
mod proxy;
mod tally;
mod worker;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use crate::customer::Customer;
use crate::proxy::{Losses, Proxy};
use crate::tally::Tally;
use crate::worker::{Herd, Place, WorkerArguments};

/// Many tasks through a system that is being killed, frozen, lied to and cut off.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Role>,
    /// Where every choice comes from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many tasks the customers ask for.
    #[arg(long, default_value_t = 2_000)]
    tasks: usize,
    /// How many worker processes there are.
    #[arg(long, default_value_t = 3)]
    workers: usize,
    /// How many tasks are asked for at once.
    #[arg(long, default_value_t = 24)]
    at_once: usize,
    /// Of a hundred HTTP calls, so many are lost: half of them before their effect, half after it.
    #[arg(long, default_value_t = 30)]
    lost: u32,
    /// After so many seconds what is not over counts as lost.
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// Nothing goes wrong: what the run itself costs.
    #[arg(long)]
    calm: bool,
}

#[derive(Subcommand)]
enum Role {
    /// A worker process; the run starts these itself.
    #[command(hide = true)]
    Worker(WorkerArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let threads = match arguments.command {
        Some(_) => 2,
        None => 4,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("a runtime");
    match arguments.command {
        Some(Role::Worker(worker)) => {
            runtime.block_on(worker::work(worker));
            ExitCode::SUCCESS
        }
        None => runtime.block_on(run(arguments)),
    }
}

async fn run(arguments: Arguments) -> ExitCode {
    let began = Instant::now();
    let folder = tempfile::tempdir().expect("a folder");
    let (store, database) = store::testing::start().await;
    let tally = Arc::new(Tally::default());
    let losses = Losses::of(arguments.calm, arguments.lost);
    let proxy = Proxy::start(arguments.seed, losses, tally.clone()).await;
    let secrets = folder.path().join("secrets.json");
    let place = Place {
        gateway: proxy.url.clone(),
        dynamodb: database.endpoint().parse().expect("a URL"),
        secrets,
    };
    println!(
        "seed {}, {} tasks, {} workers; everybody's address is {}",
        arguments.seed, arguments.tasks, arguments.workers, proxy.url
    );
    let herd = Herd::start(&arguments, place, proxy.upstreams.clone(), tally.clone()).await;
    proxy.rage();
    let customer = Customer::start(herd.accesses.clone(), &proxy);
    let deadline = began + Duration::from_secs(arguments.limit);
    let trouble = (!arguments.calm).then(|| tokio::spawn(herd.clone().trouble()));
    let asked = customer.ask(arguments.tasks, arguments.at_once, deadline).await;
    println!(
        "asked for {} tasks in {:.0} s",
        asked.len(),
        began.elapsed().as_secs_f64()
    );
    let over = check::until_over(&store, &asked, deadline).await;
    println!(
        "{} of {} are over after {:.0} s",
        over,
        asked.len(),
        began.elapsed().as_secs_f64()
    );
    // The trouble ends with the tasks; what is still owed then, notifications above all, must come to rest by itself.
    herd.heal();
    if let Some(trouble) = trouble {
        trouble.await.expect("no panic");
    }
    herd.thaw_all();
    proxy.heal();
    let rest = check::until_nothing_is_due(&store, Duration::from_secs(120)).await;
    let faults = check::everything(&store, &asked, &customer.heard()).await;
    herd.stop();
    println!("\n{}", tally.table());
    println!("{}", faults.summary());
    let due = rest.len();
    for pointer in rest.iter().take(5) {
        println!("still due: {pointer:?}");
    }
    println!("left due: {due}; {:.0} s in all", began.elapsed().as_secs_f64());
    match over == asked.len() && asked.len() == arguments.tasks && due == 0 && faults.is_clean() {
        true => {
            println!("nothing was lost, nothing was done twice");
            ExitCode::SUCCESS
        }
        false => {
            println!("FAILED; --seed {} shows the same faults", arguments.seed);
            ExitCode::FAILURE
        }
    }
}
