//! What work costs on AWS: the one list of prices, and the arithmetic by which a task's record says what the task cost. Nothing is
//! counted while it works and nothing more is written: DynamoDB charges by sizes and steps, which the record has; functions,
//! requests and queues by steps alone. `tools`' `cost` holds it against counted requests.

use crate::{ModelTurn, PartContent, Task, TokenUsage};

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

/// Dollars for a million tokens: the part of a model's name by which it is known, its input, input from a cache, output. They stand so in
/// a copy of AWS's own page that somebody published in July 2025, and in others' lists until May 2026.
const MODELS: [(&str, [f64; 3]); 4] = [
    ("nova-micro", [0.035, 0.00875, 0.14]),
    ("nova-lite", [0.06, 0.015, 0.24]),
    ("nova-pro", [0.80, 0.20, 3.20]),
    // What is not listed counts as dear: a limit of dollars rather holds too early.
    ("", [3.00, 3.00, 15.00]),
];

/// Bytes of a task's item beside its record: keys, those of its indexes among them.
const BESIDE_BODY: u64 = 700;
/// Bytes that a job adds to the record.
const JOB_BYTES: u64 = 570;
/// Bytes of an entry of the log, with what DynamoDB bills beside an item.
const EVENT_BYTES: f64 = 900.0;
/// Write units of the ledger: owner and tenant, at the beginning and at the end.
const LEDGER: f64 = 4.0;
/// Gigabytes by seconds of an invocation of a host: it uses 256 MB, for about 18 ms.
const GB_SECONDS: f64 = 0.0045;
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

/// What a task delegated to an agent of ours takes there, by the walk of `docs/cost.md`: it belongs to the task that asked. Its writes are
/// 44 to 48 units, by which of two functions comes first: nearly 44, and what is above it comes with each time that the asker wakes
/// again, which [`units`] counts.
const DELEGATED: Units = Units {
    requests: 1.0,
    invocations: 4.0,
    gb_seconds: 0.155,
    reads: 1.1,
    writes: 44.8,
    stored: 4_000.0,
    sends: 3.0,
    logged: 4.0 * LOGGED,
};

/// What belongs to no task: of each prompt the page's function, the registry and sign-in, by the walk of `docs/cost.md`.
pub const BESIDE: Units = Units {
    requests: 2.1,
    invocations: 2.1,
    gb_seconds: 0.174,
    reads: 8.9,
    writes: 4.0,
    stored: 2_500.0,
    sends: 0.0,
    logged: 2.1 * LOGGED,
};
/// A tenant that does nothing, a month, in dollars: `docs/cost.md` has what of.
pub const IDLE_MONTH: f64 = 2.83;

/// What belongs to no task of a day with so many prompts, in millionths of a dollar: the row `shared`.
#[must_use]
pub fn shared(tasks: u64) -> u64 {
    millionths(number(tasks) * BESIDE.dollars() + IDLE_MONTH * 12.0 / 365.0)
}

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

/// What the work on a task used, of whose record so many bytes are stored. Its send is a request, each job's news is one more, at
/// the receiver of webhooks; both wake the agent, and so does whatever it waited for besides.
///
/// DynamoDB charges by the begun kilobyte, twice in a transaction, and once for an entry of an index: four for what is born due,
/// two to three for a step. A step's transaction mostly holds two events, of a job and of the status. The end stamps the log and
/// the message that made the task. Whoever wakes once more than a job needs has met its agent on the way: both write more for it. What a job adds to the record is there from its step on.
#[must_use]
pub fn units(task: &Task, bytes: usize) -> Units {
    let kilobytes = |bytes: u64| number((bytes + BESIDE_BODY).div_ceil(1_024));
    let (bytes, jobs) = (bytes as u64, task.jobs.len() as u64);
    let whole = kilobytes(bytes);
    let begun = kilobytes(bytes - (jobs * JOB_BYTES).min(bytes / 2));
    let steps = (task.rev / 2).saturating_sub(1);
    let again = number(steps.saturating_sub(1 + jobs));
    let (jobs, later, steps) = (number(jobs), number(steps.saturating_sub(1)), number(steps));
    let created = 6.0 + 2.0 * begun;
    let first = (5.0 + 2.0 * begun) * steps.min(1.0);
    let end = 9.0 + 2.0 * steps + 2.0 * whole;
    let own = 2.0 + 2.0 * jobs + 0.6 * again;
    Units {
        requests: 1.0 + jobs * (1.0 + DELEGATED.requests) + 0.25 * again,
        invocations: own + jobs * DELEGATED.invocations,
        gb_seconds: own * GB_SECONDS + jobs * DELEGATED.gb_seconds,
        reads: 1.4 + jobs * (1.9 + DELEGATED.reads),
        writes: created
            + (begun + again * (whole + 3.0))
            + first
            + later * (4.0 + 2.0 * whole)
            + end
            + if task.kept.admitted { LEDGER } else { 0.0 }
            + jobs * DELEGATED.writes,
        stored: number(bytes) + EVENT_BYTES * (steps + 2.0) + jobs * DELEGATED.stored,
        sends: 1.0 + jobs * (1.0 + DELEGATED.sends) + 0.7 * again,
        logged: own * LOGGED + jobs * DELEGATED.logged,
    }
}

/// How many bytes are kept for a task, of whose record so many are stored: with what it delegated, its chat, and the chat's own copies
/// of its files.
#[must_use]
pub fn stored(task: &Task, bytes: usize) -> u64 {
    let parts = task.history.iter().flat_map(|message| &message.parts);
    let files = parts.map(|part| match &part.content {
        PartContent::Raw(base64) => base64.len() as u64 / 4 * 3,
        _ => 0,
    });
    whole(units(task, bytes).stored + BESIDE.stored).saturating_add(files.sum())
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
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn millionths(dollars: f64) -> u64 {
    whole(dollars * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_what_the_list_says_and_what_is_not_listed_is_dear() {
        let usage = TokenUsage {
            input: 1_000_000,
            output: 100_000,
            cached: 500_000,
        };
        let dollars = |model: &str| format!("{:.4}", token_dollars(model, &usage));
        assert_eq!(dollars("bedrock:eu.amazon.nova-pro-v1:0"), "0.8200");
        assert_eq!(dollars("openai:somebody-elses"), "4.5000");
        assert_eq!(token_dollars("x", &TokenUsage::default()), 0.0);
        assert_eq!(millionths(0.000_109_89), 110);
    }
}
