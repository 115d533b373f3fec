//! What a language model costs in requests to the database: the weather's walk with a model makes those of the rules, two for each
//! call of the model (its budget), two to show a model with results what it was shown before, the looks of whoever holds the
//! lease, and those for words that somebody asked for.

use std::collections::BTreeMap;

use domain::{AgentName, Clock as _, TaskId, Tenant};
use local::{Meter, Options};
use serde_json::{Value, json};
use store::TaskKey;
use system_testing::Local;
use system_testing::models::{Asked, BOTH, Piece, Stop};

use super::walk::models;
use super::*;

const PROMPT: &str = "Will it rain in Oslo tomorrow?";
const WORDS: &str = "It stays dry in Oslo tomorrow, as far as anybody can tell today.";

/// What a race with an agent's news may take more.
const RACES: u64 = 8;
/// How many walks are made for one figure.
const WALKS: usize = 16;
/// The walk by the rules, send and agent and webhook and all: 18 before tasks were counted in a ledger.
const BY_RULES: u64 = 22;
/// On a busy machine most walks with a model have an update more, whose cause is not known; what each of the two calls took more
/// would be two.
const STRAY: u64 = 1;
/// A reservation and a settlement.
const A_CALL: u64 = 2;

/// Requests by operation.
type Requests = BTreeMap<String, u64>;

struct Counted {
    local: Local,
    meter: Meter,
    host: String,
    token: String,
}

impl Counted {
    async fn start(models: Option<local::Models>) -> Self {
        let meter = Meter::default();
        let local = Local::start_as(Options {
            models,
            meter: Some(meter.clone()),
            ..Options::default()
        })
        .await;
        let host = local.endpoint("/tenants/acme/host_agent").to_owned();
        let host = host.trim_end_matches('/').to_owned();
        let token = local.system.token("acme", "ada", &host).expect("a token");
        Self {
            local,
            meter,
            host,
            token,
        }
    }

    fn so_far(&self) -> Requests {
        let metered = self.meter.so_far();
        let mut sum = Requests::new();
        for calls in [metered.requests, metered.wakes, metered.streams] {
            for (operation, count) in calls.by_operation {
                *sum.entry(operation).or_default() += count;
            }
        }
        sum
    }

    /// The least that some walks took, or one that took as few as this: where an agent's news overtakes its acknowledgement, or a
    /// second passes on a busy machine, more is asked.
    async fn least(&self, (name, enough): (&str, u64), extension: &str) -> Requests {
        let mut least: Option<Requests> = None;
        for number in 0..WALKS {
            let walked = self.walk(&format!("{name}-{number}"), extension).await;
            if least.as_ref().is_none_or(|least| sum(&walked) < sum(least)) {
                least = Some(walked);
            }
            if number > 0 && least.as_ref().is_some_and(|least| sum(least) <= enough) {
                break;
            }
        }
        least.expect("a walk")
    }

    /// From the send until nothing is asked any more. Nobody looks on: what is read here is read beside the system.
    async fn walk(&self, message: &str, extension: &str) -> Requests {
        let before = self.so_far();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
            "message": { "messageId": message, "role": "ROLE_USER", "parts": [{ "text": PROMPT }] },
            "configuration": { "returnImmediately": true } } });
        let call = system_testing::user::http()
            .post(&self.host)
            .bearer_auth(&self.token);
        let call = call
            .header("a2a-version", "1.0")
            .header("a2a-extensions", extension);
        let sent: Value = call.json(&body).send().await.unwrap().json().await.unwrap();
        let id = sent["result"]["task"]["id"].as_str().expect("a task");
        let key = TaskKey {
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            id: TaskId::parse(id).unwrap(),
        };
        let (tasks, now) = (self.local.system.store().tasks(), self.local.clock.now());
        loop {
            let found = tasks.find(&key, now).await.unwrap().expect("the task");
            if found.task.status.state.is_terminal() {
                assert_eq!(found.task.status.state, domain::TaskState::Completed, "{found:?}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut last = self.so_far();
        loop {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let now = self.so_far();
            if now == last {
                break;
            }
            last = now;
        }
        for (operation, count) in before {
            *last.entry(operation).or_default() -= count;
        }
        last.retain(|_, count| *count > 0);
        last
    }
}

fn sum(requests: &Requests) -> u64 {
    requests.values().sum()
}

fn puts(requests: &Requests) -> u64 {
    requests.get("PutItem").copied().unwrap_or_default()
}

/// An answer that takes this long, its words spread over it.
fn taking(dialect: Dialect, seconds: u64) -> Reply {
    let mut pieces = Vec::new();
    for bytes in dialect.text(WORDS) {
        pieces.extend([
            Piece::Bytes(bytes),
            Piece::Pause(Duration::from_millis(250 * seconds)),
        ]);
    }
    pieces.extend(dialect.stop(Stop::Said).into_iter().map(Piece::Bytes));
    pieces.push(Piece::End);
    Reply::Stream {
        content_type: dialect.content_type(),
        pieces,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_costs_two_requests_a_call_and_what_is_asked_for_while_it_speaks() {
    let rules = Counted::start(None).await;
    let by_rules = rules.least(("counted", BY_RULES), "").await;
    rules.local.system.stop().await;

    for dialect in BOTH {
        let script = move |asked: &Asked| match asked.has_results() {
            false => dialect.sends(&[("weather", PROMPT)]),
            true => dialect.says(WORDS),
        };
        let server = ModelServer::thinking(script).await;
        let quick = Counted::start(Some(models(dialect, &server, false, 1_000_000))).await;
        let wanted = sum(&by_rules) + 2 * A_CALL;
        let with_model = quick.least(("counted", wanted + STRAY), "").await;
        assert!(server.asked().len().is_multiple_of(2), "two calls a walk");
        // A machine that is never quiet shows what races take in either walk.
        let races = if sum(&by_rules) <= BY_RULES { STRAY } else { RACES };
        assert!(
            sum(&with_model).abs_diff(wanted) <= races,
            "{dialect:?}: {with_model:?}, by the rules {by_rules:?}"
        );
        let named = quick.least(("named", wanted + STRAY), a2a::DRAFTS).await;
        // A draft is a put of its own, and nothing else of a walk is one; a busy machine's races are no drafts.
        assert_eq!(
            puts(&named),
            puts(&with_model),
            "what is quick needs no draft: {named:?}"
        );
        assert!(sum(&named) <= wanted + RACES, "{named:?}");
        quick.local.system.stop().await;

        let seconds = 2;
        // It takes its time over the answer: looks and beats of the lease, and a second's words where they are wanted.
        let script = move |asked: &Asked| match asked.has_results() {
            false => dialect.sends(&[("weather", PROMPT)]),
            true => taking(dialect, seconds),
        };
        let server = ModelServer::thinking(script).await;
        let slow = Counted::start(Some(models(dialect, &server, false, 1_000_000))).await;
        let most = sum(&with_model) + RACES + seconds + seconds / 2 + 1;
        let quiet = slow.least(("quiet", most), "").await;
        assert_eq!(
            puts(&quiet),
            puts(&with_model),
            "nobody asked for words: {quiet:?}"
        );
        // One look a second, and a beat every two.
        assert!(
            (sum(&with_model) + 1..=most).contains(&sum(&quiet)),
            "{quiet:?}, at most {most}"
        );
        let spoken = slow.walk("spoken", a2a::DRAFTS).await;
        let words = puts(&spoken) - puts(&quiet);
        assert!(
            (1..=seconds + 1).contains(&words),
            "{words} writes of words: {spoken:?}"
        );
        slow.local.system.stop().await;
    }
}
