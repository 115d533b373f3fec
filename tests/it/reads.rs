//! What an answer of an agent of ours reads in the database: an answer out of somebody's calendar little more than a forecast, which
//! needs nobody's consent.

use std::time::Duration;

use local::{Meter, Options};
use serde_json::{Value, json};
use system_testing::Local;
use system_testing::browser::Browser;
use system_testing::user::http;

use crate::consent::code_on;

/// How often each is asked: on a busy machine a lease may be looked at once more.
const ASKED: usize = 3;
/// What a calendar's answer may read more. It reads the grant.
const MORE: u64 = 2;

struct Bench {
    local: Local,
    meter: Meter,
}

struct Agent<'a> {
    bench: &'a Bench,
    url: String,
    token: String,
}

impl Bench {
    async fn start() -> Self {
        let meter = Meter::default();
        let local = Local::start_as(Options {
            meter: Some(meter.clone()),
            ..Options::default()
        })
        .await;
        Self { local, meter }
    }

    fn agent(&self, at: &str) -> Agent<'_> {
        let url = self.local.endpoint(at).trim_end_matches('/').to_owned();
        let token = self.local.system.token("acme", "ada", &url).expect("a token");
        Agent {
            bench: self,
            url,
            token,
        }
    }

    /// Reads of the database so far, by whatever operation, of calls and of the work on them.
    fn reads(&self) -> u64 {
        let metered = self.meter.so_far();
        let all = metered.requests.by_operation.into_iter();
        all.chain(metered.wakes.by_operation)
            .filter(|(operation, _)| {
                matches!(
                    operation.as_str(),
                    "GetItem" | "BatchGetItem" | "TransactGetItems" | "Query" | "Scan"
                )
            })
            .map(|(_, count)| count)
            .sum()
    }

    async fn reads_at_rest(&self) -> u64 {
        let mut last = self.meter.so_far();
        loop {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let now = self.meter.so_far();
            if now == last {
                return self.reads();
            }
            last = now;
        }
    }
}

impl Agent<'_> {
    async fn call(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let call = http().post(&self.url).bearer_auth(&self.token).json(&body);
        let answer = call.header("a2a-version", "1.0").send().await.expect("an answer");
        let answer: Value = answer.json().await.expect("JSON");
        answer["result"].clone()
    }

    /// Sends, waits for the end of all that comes of it, and gives the task with the reads until then.
    async fn told(&self, id: &str, text: &str, task: Option<&Value>) -> (Value, u64) {
        let before = self.bench.reads_at_rest().await;
        let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] });
        if let Some(task) = task {
            message["taskId"] = task["id"].clone();
        }
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        let sent = self.call("SendMessage", params).await["task"].clone();
        let mut reads = self.bench.reads_at_rest().await - before;
        loop {
            let task = self.call("GetTask", json!({ "id": sent["id"] })).await;
            let state = task["status"]["state"].as_str().unwrap_or_default();
            if !matches!(state, "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING") {
                return (task, reads);
            }
            // Work that begins later than the machine was quiet counts as well, and this look with it.
            reads = self.bench.reads_at_rest().await - before;
        }
    }

    /// The fewest reads of some such answers.
    async fn least(&self, name: &str, asked: &str, said: &str) -> u64 {
        let mut least = u64::MAX;
        for number in 0..ASKED {
            let (task, reads) = self.told(&format!("{name}-{number}"), asked, None).await;
            assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task:#}");
            assert!(task["artifacts"].to_string().contains(said), "{task:#}");
            least = least.min(reads);
        }
        least
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_out_of_a_calendar_reads_little_more_than_a_forecast() {
    let bench = Bench::start().await;
    let calendar = bench.agent("/agents/calendar");
    let (waiting, _) = calendar.told("connect-1", "Am I free on Friday?", None).await;
    let asked = waiting["status"]["message"].to_string();
    let link = asked
        .split(['"', ' ', '\\', '\n'])
        .find(|word| word.starts_with("http"))
        .unwrap_or_else(|| panic!("a link: {waiting:#}"));
    let mut browser = Browser::default();
    let page = browser.open(link).await;
    let page = browser.submit(&page, &[("user", "ines@sandbox.example")]).await;
    let (answered, _) = calendar.told("connect-2", &code_on(&page), Some(&waiting)).await;
    assert_eq!(
        answered["status"]["state"], "TASK_STATE_COMPLETED",
        "{answered:#}"
    );

    let free = calendar
        .least("free", "Am I free on Friday?", "you are busy")
        .await;
    let weather = bench.agent("/agents/weather");
    let forecast = weather
        .least("rain", "Will it rain in Oslo tomorrow?", "Oslo")
        .await;
    // The grant at least, or the calendar was not asked.
    assert!(
        (forecast + 1..=forecast + MORE).contains(&free),
        "{free} and {forecast}"
    );
    bench.local.system.stop().await;
}
