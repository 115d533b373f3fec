//! What work costs on AWS: the one list of prices, and the arithmetic by which a task's record says what the task cost. Nothing is
//! counted while it works and nothing more is written: DynamoDB charges by sizes and steps, which the record has; functions,
//! requests and queues by steps alone. `tools`' `cost` holds it against counted requests.

use crate::{ModelTurn, Task, TokenUsage};

/// When the prices were looked up, in what others wrote of AWS's lists since November 2024; not on AWS's own pages.
pub const PRICED: &str = "as of November 2026";
/// Dollars, us-east-1, without free tiers and volume discounts. A request of a function.
pub const LAMBDA_REQUEST: f64 = 0.20e-6;
/// A gigabyte of a function's memory for a second.
pub const LAMBDA_GB_SECOND: f64 = 16.6667e-6;
/// A request to a REST API.
pub const REST_REQUEST: f64 = 3.50e-6;
/// A read unit of DynamoDB.
pub const READ_UNIT: f64 = 0.125e-6;
/// A write unit of it.
pub const WRITE_UNIT: f64 = 0.625e-6;
/// A gigabyte in a table and its backup, a month.
pub const STORED_GB_MONTH: f64 = 0.25 + 0.20;
/// A request to a queue.
pub const SQS_REQUEST: f64 = 0.40e-6;
/// A gigabyte of logs.
pub const LOG_GB: f64 = 0.50;
/// A secret, a month.
pub const SECRET_MONTH: f64 = 0.40;
/// A metric that an alarm watches, a month.
pub const ALARM_METRIC_MONTH: f64 = 0.10;
/// A dashboard, a month.
pub const DASHBOARD_MONTH: f64 = 3.00;
/// A metric of our own, a month.
pub const CUSTOM_METRIC_MONTH: f64 = 0.30;

/// Dollars for a million tokens: the part of a model's name by which it is known, its input, input from a cache, output.
const MODELS: [(&str, [f64; 3]); 4] = [
    ("nova-micro", [0.035, 0.00875, 0.14]),
    ("nova-lite", [0.06, 0.015, 0.24]),
    ("nova-pro", [0.80, 0.20, 3.20]),
    // What is not listed counts as dear: a limit of dollars rather holds too early.
    ("", [3.00, 3.00, 15.00]),
];

/// Days that a task is kept after its end, as the list of prices counts storage by the month.
const MONTHS_KEPT: f64 = 1.0;
/// Bytes that an invocation logs: its own lines, and Lambda's of its start, end and report.
const LOGGED: f64 = 1_560.0;

/// What was used, in the units that AWS charges.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    /// Requests to REST APIs.
    pub requests: f64,
    /// Invocations of functions.
    pub invocations: f64,
    /// Their time by their memory.
    pub gb_seconds: f64,
    /// Read units.
    pub reads: f64,
    /// Write units.
    pub writes: f64,
    /// Bytes kept for a month.
    pub stored: f64,
    /// Messages of queues: each is sent, received and deleted.
    pub sends: f64,
    /// Bytes of logs.
    pub logged: f64,
}

impl Units {
    /// What each kind of them costs, in dollars.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 8] {
        [
            ("API Gateway requests", self.requests * REST_REQUEST),
            ("Lambda requests", self.invocations * LAMBDA_REQUEST),
            ("Lambda time", self.gb_seconds * LAMBDA_GB_SECOND),
            ("DynamoDB writes", self.writes * WRITE_UNIT),
            ("DynamoDB reads", self.reads * READ_UNIT),
            (
                "DynamoDB storage and backup, a month",
                self.stored / 1e9 * STORED_GB_MONTH,
            ),
            ("SQS", self.sends * 3.0 * SQS_REQUEST),
            ("logs", self.logged / 1e9 * LOG_GB),
        ]
    }

    /// All of it, in dollars.
    #[must_use]
    pub fn dollars(&self) -> f64 {
        self.parts().iter().map(|(_, dollars)| dollars).sum()
    }
}

/// What a task delegated to an agent of ours takes there, by the walk of `docs/cost.md`: it belongs to the task that asked.
const DELEGATED: Units = Units {
    requests: 1.0,
    invocations: 4.0,
    gb_seconds: 0.155,
    reads: 1.1,
    writes: 44.2,
    stored: 4_000.0,
    sends: 3.0,
    logged: 4.0 * LOGGED,
};

/// What a task cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of language models.
    pub tokens: u64,
    /// Of everything else.
    pub work: u64,
}

impl Cost {
    /// Of a task whose record takes so many bytes as it is stored, with what it delegated.
    #[must_use]
    pub fn of(task: &Task, bytes: usize) -> Self {
        let tokens = task
            .turns
            .iter()
            .map(|ModelTurn { model, usage, .. }| token_dollars(model, usage));
        Self {
            tokens: millionths(tokens.sum()),
            work: millionths(units(task, bytes).dollars()),
        }
    }

    /// Both.
    #[must_use]
    pub fn all(self) -> u64 {
        self.tokens.saturating_add(self.work)
    }
}

/// What tokens of a model cost, in dollars.
#[must_use]
pub fn token_dollars(model: &str, usage: &TokenUsage) -> f64 {
    let known = MODELS.iter().find(|(part, _)| model.contains(part));
    let [input, cached, output] = known.map_or([0.0; 3], |(_, prices)| *prices);
    let fresh = usage.input.saturating_sub(usage.cached);
    (number(fresh) * input + number(usage.cached) * cached + number(usage.output) * output) / 1e6
}

/// What the work on a task used. Its send is a request; each job's news is one more, at the receiver of webhooks; both wake the agent.
///
/// A transaction's units count twice, an index's entries once: what is born due has four of them, a step moves about three. The
/// end stamps the log and the message that made the task.
#[must_use]
pub fn units(task: &Task, bytes: usize) -> Units {
    let jobs = number(task.jobs.len() as u64);
    let steps = number(task.rev.saturating_sub(2));
    let pieces = number((bytes as u64).div_ceil(1_024));
    let begun = number((bytes as u64 * 3 / 4).div_ceil(1_024));
    let created = 6.0 + 2.0 * begun;
    let lease = begun;
    let middle = steps * (5.0 + 2.0 * begun);
    let end = 9.0 + 2.0 * steps + 2.0 * pieces;
    let own = 2.0 + 2.0 * jobs;
    Units {
        requests: 1.0 + jobs * (1.0 + DELEGATED.requests),
        invocations: own + jobs * DELEGATED.invocations,
        gb_seconds: own * 0.0045 + jobs * DELEGATED.gb_seconds,
        reads: own + jobs * DELEGATED.reads,
        writes: created + lease + middle + end + jobs * DELEGATED.writes,
        stored: (number(bytes as u64) + 900.0 * (steps + 2.0) + jobs * DELEGATED.stored) * MONTHS_KEPT,
        sends: 1.0 + jobs * (1.0 + DELEGATED.sends),
        logged: own * LOGGED + jobs * DELEGATED.logged,
    }
}

#[expect(clippy::cast_precision_loss, reason = "no count here is near to 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is not between is cut off"
)]
fn millionths(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}
