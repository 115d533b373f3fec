//! Ours beside turul-a2a, as both keep their tasks in DynamoDB: a blocking send of a message whose task completes at once,
//! over an empty table and over a full one, with what each send asks of the database.
//!
//! Each server has an embedded DynamoDB of its own, in memory and as a process of its own, behind the front that the local
//! system has. They take turns, so compare the two, not the figures of two runs.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use serde_json::{Value, json};
use tools::load::{Slice, many, median};

use crate::database::Spent;
use crate::message_that;
use crate::server::Server;

/// How many sends to one server are one measurement.
const SLICE: usize = 200;
/// Sends whose cost is counted.
const COUNTED: usize = 100;

/// Ours beside turul-a2a, over an embedded DynamoDB each.
#[derive(Args)]
pub(crate) struct Stored {
    /// How many tasks are stored each time it is measured.
    #[arg(long, value_delimiter = ',', default_value = "0,35000")]
    sizes: Vec<usize>,
    /// Measurements of each server at each size.
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// The agent on turul-a2a, built by tests/peers/turul_agent/build.
    #[arg(long)]
    turul: Option<PathBuf>,
    /// How many times as many sends a second ours has to take, at every size.
    #[arg(long, default_value_t = 1.8)]
    ahead: f64,
}

/// A server over a database.
struct Contender {
    server: Server,
    database: Server,
    stored: usize,
}

impl Contender {
    /// The server that this makes of the database's address.
    fn start(name: &'static str, command: impl FnOnce(&str) -> Command) -> Self {
        let mut own = Command::new(std::env::current_exe().expect("a path"));
        own.arg("database");
        let database = Server::start("the database", own);
        Self {
            server: Server::start(name, command(&database.url)),
            database,
            stored: 0,
        }
    }

    async fn send(&self) {
        // The prefix has ours complete at once, too; to the other it is a name like any other.
        let params = json!({ "message": message_that("tck-stream-002") });
        let answer: Value = self
            .server
            .call("SendMessage", params)
            .await
            .json()
            .await
            .expect("JSON");
        let state = answer
            .pointer("/result/task/status/state")
            .and_then(Value::as_str);
        let name = self.server.name;
        assert_eq!(state, Some("TASK_STATE_COMPLETED"), "{name}: {answer}");
    }

    async fn fill(&mut self, size: usize, at_once: usize) {
        many(size.saturating_sub(self.stored), at_once, |_| self.send()).await;
        self.stored = self.stored.max(size);
    }

    async fn measure(&mut self, at_once: usize) -> Slice {
        let processes = [self.server.id(), self.database.id()];
        let slice = Slice::of(&processes, (SLICE, at_once), |_| self.send()).await;
        self.stored += SLICE;
        slice
    }

    /// What a send asks of the database.
    async fn count(&mut self) -> Spent {
        let meter = format!("{}meter", self.database.url);
        let http = &self.database.http;
        http.put(&meter).send().await.expect("it begins to count");
        // One by one, so that nothing of one waits for another.
        many(COUNTED, 1, |_| self.send()).await;
        let told = http.get(&meter).send().await.expect("it tells");
        self.stored += COUNTED;
        told.json().await.expect("what was spent")
    }
}

impl Stored {
    /// Prints the table.
    ///
    /// # Panics
    /// Where ours is not as far ahead as it has to be.
    pub(crate) async fn run(self, at_once: usize) {
        let own = std::env::current_exe().expect("a path");
        let ours = Contender::start("switchyard", |database| {
            let mut command = Command::new(own.with_file_name("conformance_agent"));
            command.args(["--port", "0", "--dynamodb", database]);
            command
        });
        let built = system_testing::folder().join("peers/turul_agent/target/release/turul_agent");
        let turul = Contender::start("turul-a2a", |database| {
            let mut command = Command::new(self.turul.unwrap_or(built));
            command.arg(database);
            command
        });
        let mut both = [ours, turul];
        println!(
            "| stored | server | sends/s, median | server's and database's CPU ms a send | calls a send | write units | read units |"
        );
        println!("|---:|---|---:|---:|---|---:|---:|");
        let mut behind = Vec::new();
        for size in &self.sizes {
            for contender in &mut both {
                contender.fill(*size, at_once).await;
                // Connections, caches.
                contender.measure(at_once).await;
            }
            let mut slices = [Vec::new(), Vec::new()];
            for _ in 0..self.rounds {
                for (contender, slices) in both.iter_mut().zip(&mut slices) {
                    slices.push(contender.measure(at_once).await);
                }
            }
            for (contender, slices) in both.iter_mut().zip(&slices) {
                let spent = contender.count().await;
                let rate = median(slices.iter().map(|slice| slice.rate));
                let cost = median(slices.iter().map(|slice| slice.cost));
                println!(
                    "| {size} | {} | {rate:.0} | {cost:.2} | {} | {:.1} | {:.1} |",
                    contender.server.name,
                    calls(&spent),
                    spent.written / COUNTED as f64,
                    spent.read / COUNTED as f64,
                );
            }
            let [ours, turul] = &slices;
            let ahead = median(ours.iter().zip(turul).map(|(ours, turul)| ours.rate / turul.rate));
            println!("| {size} | ours ahead | {ahead:.2} × (median of pairs) | | | | |");
            if ahead < self.ahead {
                behind.push(format!("{ahead:.2} at {size}"));
            }
        }
        println!(
            "\n{} pairs of {SLICE} blocking sends in turn, {at_once} at once; each server stored some {} tasks more while it was measured",
            self.rounds,
            SLICE * (self.rounds + 1)
        );
        assert!(
            behind.is_empty(),
            "ours has to be ahead by {}: {behind:?}",
            self.ahead
        );
    }
}

fn calls(spent: &Spent) -> String {
    let each = |count: &u64| *count as f64 / COUNTED as f64;
    let all: f64 = spent.calls.values().map(each).sum();
    let named = spent
        .calls
        .iter()
        .map(|(name, count)| format!("{} {name}", each(count)));
    format!("{all:.1}: {}", named.collect::<Vec<_>>().join(", "))
}
