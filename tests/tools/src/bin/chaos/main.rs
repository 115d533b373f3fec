//! Chaos: many tasks through a system that is being killed, frozen, lied to and cut off, and the proof that none is
//! lost and none done twice.
//!
//! ```text
//! cargo run -p tools --release --bin chaos -- --seed 7 --tasks 2000
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
//! without gaps; every notification that the customer's webhook heard tells what the log tells, in its order, and none
//! is missing; nothing is due, owed or parked any more. A kind of fault that never came fails the run too.

mod check;
mod customer;
mod herd;
mod models;
mod plan;
mod proxy;
mod read;
mod tally;
mod worker;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use crate::customer::Customer;
use crate::herd::Herd;
use crate::plan::Plan;
use crate::proxy::Proxy;
use crate::tally::{Tally, kinds};
use crate::worker::{Place, WorkerArguments};

/// How often a run says how far it is.
const PROGRESS: Duration = Duration::from_secs(5);
/// How long what is still owed may take once nothing goes wrong any more.
const REST: Duration = Duration::from_secs(120);

/// Many tasks through a system that is being killed, frozen, lied to and cut off, and the proof that none is lost and
/// none done twice.
///
/// Every choice comes from the seed: what the n-th call of a kind meets, what the n-th trouble is and whom it strikes,
/// how far the clock of the n-th worker is off, what the n-th request of its database client meets. What does not come
/// from it is the machine's time: which task the n-th call belongs to, and what a worker is doing when it is killed. So
/// the same seed is the same rough day, and not the same run to the instant.
///
/// Exit code: 0 if all is well, 1 if not, 2 for wrong arguments, 130 if interrupted.
#[derive(Parser)]
#[command(name = "chaos")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Role>,
    /// Where every choice comes from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many tasks the customers ask for. Every tenth of them is called off again.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    tasks: u64,
    /// How many worker processes there are.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: u64,
    /// How many tasks are asked for at once.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    at_once: u64,
    /// Of a hundred HTTP calls, so many are lost: half of them before their effect, half after it.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=90))]
    lost: u32,
    /// After so many seconds what is not over counts as lost.
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// Nothing goes wrong: what the run itself costs.
    #[arg(long)]
    calm: bool,
    /// Queues, sweeper and gateway are as unkind as AWS's, by a clock on which a minute is a second.
    #[arg(long)]
    like_aws: bool,
    /// How many tenants ask.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    tenants: u64,
    /// Who decides: the rules, or a scripted language model that refuses every tenth call.
    #[arg(long, value_enum, default_value = "rules")]
    model: models::Choice,
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
        // What is interrupted drops its workers, and so ends them.
        None => runtime.block_on(async {
            tokio::select! {
                code = run(arguments) => code,
                _ = tokio::signal::ctrl_c() => ExitCode::from(130),
            }
        }),
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

async fn run(arguments: Arguments) -> ExitCode {
    let began = Instant::now();
    let folder = tempfile::tempdir().expect("a folder");
    let (store, database) = store_testing::start_apart(None).await;
    let tally = Arc::new(Tally::default());
    let plan = Plan::new(arguments.seed, arguments.lost, arguments.calm);
    let proxy = Proxy::start(plan, tally.clone()).await;
    let place = Place {
        gateway: proxy.url.clone(),
        dynamodb: database.url().clone(),
        secrets: folder.path().join("secrets.json"),
    };
    let tasks = count(arguments.tasks);
    println!(
        "seed {}, {tasks} tasks, {} workers behind {}, {} of 100 calls lost",
        arguments.seed, arguments.workers, proxy.url, arguments.lost
    );
    let models = models::Scripted::start(arguments.model).await;
    let herd = Herd::start(
        (
            count(arguments.workers),
            models.named(),
            arguments.like_aws,
            count(arguments.tenants),
        ),
        plan,
        place,
        proxy.upstreams.clone(),
        tally.clone(),
    )
    .await;
    proxy.rage();
    let customer = Arc::new(Customer::start(herd.accesses.clone(), &proxy));
    println!("decided by {:?}", arguments.model);
    let progress = tokio::spawn(progress(began, tasks, customer.clone(), tally.clone()));
    let deadline = began + Duration::from_secs(arguments.limit);
    let trouble = (!plan.is_calm()).then(|| tokio::spawn(herd.clone().trouble()));
    let asked = customer.ask(tasks, count(arguments.at_once), deadline).await;
    let over = read::until_over(&store, &asked, deadline).await;
    let took = began.elapsed().as_secs_f64();
    println!(
        "{over} of {} tasks are over after {took:.0} s; from here on nothing goes wrong any more",
        asked.len()
    );
    // The trouble ends with the tasks; what is still owed then, notifications above all, must come to rest by itself.
    herd.heal();
    if let Some(trouble) = trouble {
        trouble.await.expect("no panic");
    }
    herd.thaw_all();
    proxy.heal();
    let rest = read::until_nothing_is_due(&store, REST).await;
    progress.abort();
    let customers = herd.accesses.lock().expect("no panic under the lock").clone();
    let tables = read::tables(&store, &asked, &customers).await;
    let mut faults = check::judge(&tables, &customer.heard(), &customer.complaints());
    herd.stop();
    let lost = tally.count(kinds::KILLED) + tally.count(kinds::FROZEN);
    models.judge(&tables, &mut faults, count(lost));
    for pointer in &rest {
        faults.note("things that are still due", format!("{pointer:?}"));
    }
    if asked.len() < tasks {
        let missing = format!("{} of {tasks}", tasks - asked.len());
        faults.note("tasks that were not acknowledged in time", missing);
    }
    if !plan.is_calm() {
        for kind in tally.missing() {
            faults.note(
                "faults that never came, so that nothing is shown",
                kind.to_owned(),
            );
        }
    }
    println!("\n{}{}", tally.table(), faults.summary());
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    if faults.is_clean() {
        println!(
            "CLEAN: nothing was lost, nothing was done twice (seed {})",
            arguments.seed
        );
        ExitCode::SUCCESS
    } else {
        println!(
            "FAILED: see WRONG above; --seed {} plans the same faults",
            arguments.seed
        );
        ExitCode::FAILURE
    }
}

/// Says now and then how far the run is.
async fn progress(began: Instant, tasks: usize, customer: Arc<Customer>, tally: Arc<Tally>) {
    loop {
        tokio::time::sleep(PROGRESS).await;
        let (acknowledged, over) = customer.progress();
        println!(
            "{:>5.0} s: {acknowledged} of {tasks} acknowledged, the end of {over} heard; {} kills, {} freezes, {} calls lost, {} database faults",
            began.elapsed().as_secs_f64(),
            tally.count(kinds::KILLED),
            tally.count(kinds::FROZEN),
            tally.count(kinds::LOST_BEFORE) + tally.count(kinds::LOST_AFTER),
            tally.database_faults(),
        );
    }
}
