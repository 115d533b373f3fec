//! Whether a send costs more the more is stored: two systems as processes of their own (`switchyard up --memory`), of which
//! one owner has few tasks in one and many in the other, get blocking sends in turn.

use clap::Args;
use serde_json::{Value, json};
use system_testing::binary::{Up, free_port};
use tools::load::{Slice, many, median};

/// How many sends of one system are one measurement.
const SLICE: usize = 250;

/// Two systems, alternately: `switchyard` must be built as this program is.
#[derive(Args)]
pub(crate) struct Sends {
    /// Tasks of the owner in the first system.
    #[arg(long, default_value_t = 5_000)]
    few: usize,
    /// Tasks of the owner in the second.
    #[arg(long, default_value_t = 50_000)]
    many: usize,
    /// Measurements of each.
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// How much slower sends may be in the second, in percent.
    #[arg(long, default_value_t = 15.0)]
    gate: f64,
}

/// A system, and how much is stored in it.
struct Filled {
    system: Up,
    agent: String,
    http: reqwest::Client,
    slices: Vec<Slice>,
}

impl Filled {
    async fn with(tasks: usize, at_once: usize) -> Self {
        let system = Up::in_memory(free_port());
        let agent = system.endpoints["agents"]["weather"]
            .as_str()
            .expect("the weather agent")
            .to_owned();
        let filled = Self {
            system,
            agent,
            http: system_testing::user::http(),
            slices: Vec::new(),
        };
        many(tasks, at_once, |_| filled.send()).await;
        filled
    }

    /// One blocking send of a new message, after which the agent asks back. Who has no token is one and the same owner.
    async fn send(&self) {
        let id = domain::MessageId::random(&domain::SystemEntropy);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
            "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "weather" }] } } });
        let sent = self
            .http
            .post(&self.agent)
            .header("a2a-version", "1.0")
            .json(&call);
        let answer: Value = sent.send().await.expect("an answer").json().await.expect("JSON");
        let state = answer.pointer("/result/task/status/state");
        assert_eq!(
            state.and_then(Value::as_str),
            Some("TASK_STATE_INPUT_REQUIRED"),
            "{answer}"
        );
    }

    async fn measure(&mut self, at_once: usize) {
        let slice = Slice::of(&[self.system.id()], (SLICE, at_once), |_| self.send()).await;
        self.slices.push(slice);
    }

    fn middle(&self, of: impl Fn(&Slice) -> f64) -> f64 {
        median(self.slices.iter().map(of))
    }
}

impl Sends {
    /// Prints the table.
    ///
    /// # Panics
    /// Where sends are slower than the gate allows.
    pub(crate) async fn run(self, at_once: usize) {
        // So that the middle of the measurements is at the number that was asked for.
        let ahead = SLICE * self.rounds / 2;
        let mut few = Filled::with(self.few.saturating_sub(ahead), at_once).await;
        let mut many = Filled::with(self.many.saturating_sub(ahead), at_once).await;
        for _ in 0..self.rounds {
            few.measure(at_once).await;
            many.measure(at_once).await;
        }
        println!("| tasks of one owner | sends/s, median | CPU ms a send, median |\n|---:|---:|---:|");
        for (filled, tasks) in [(&few, self.few), (&many, self.many)] {
            let (rate, cost) = (
                filled.middle(|slice| slice.rate),
                filled.middle(|slice| slice.cost),
            );
            println!("| {tasks} | {rate:.0} | {cost:.2} |");
        }
        let pairs = || few.slices.iter().zip(&many.slices);
        let slower = 100.0 * (median(pairs().map(|(few, many)| few.rate / many.rate)) - 1.0);
        let dearer = 100.0 * (median(pairs().map(|(few, many)| many.cost / few.cost)) - 1.0);
        println!(
            "\n{} pairs of {SLICE} sends in turn, {at_once} at once: {slower:+.1} % time, {dearer:+.1} % CPU (medians of pairs; {} % allowed)",
            self.rounds, self.gate
        );
        assert!(
            slower <= self.gate,
            "a send takes {slower:.1} % longer the more is stored"
        );
    }
}
