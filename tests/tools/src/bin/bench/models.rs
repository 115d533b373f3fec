//! A slow language model: how soon a prompt is acknowledged all the same, how soon its first word is on the page, and that many
//! tasks at once all end though half of its answers are refusals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use domain::SecretString;
use local::{Data, Models, Options, System};
use serde_json::{Value, json};
use system_testing::User;
use system_testing::models::{Dialect, ModelServer, Piece, Reply, Stop};
use tools::figures::{Times, millis};
use tools::load::many;

/// How long the model thinks before its first word, and how long its whole answer takes.
const THINKS: Duration = Duration::from_secs(2);
const TAKES: Duration = Duration::from_secs(5);
/// What no rule reads.
const PROMPT: &str = "Brauche ich einen Schirm?";
const WORDS: &str = "Nimm vorsichtshalber einen mit, es zieht von Westen her zu.";
const OVER: [&str; 4] = ["completed", "failed", "rejected", "canceled"];
/// After this long a task that is not over counts as lost.
const PATIENCE: Duration = Duration::from_secs(600);

/// A scripted model that takes five seconds, and one that refuses every second call.
#[derive(Args)]
pub(crate) struct SlowModels {
    /// Prompts whose acknowledgement and first word are timed.
    #[arg(long, default_value_t = 200)]
    prompts: usize,
    /// Tasks at once, of which half the calls are refused.
    #[arg(long, default_value_t = 200)]
    tasks: usize,
    /// p99 from a prompt to its acknowledgement, in milliseconds.
    #[arg(long, default_value_t = 50)]
    acknowledged: u64,
    /// p99 from the model's first word to the page, in milliseconds.
    #[arg(long, default_value_t = 900)]
    first_word: u64,
}

/// A system in this process whose hosts ask this model, by the real clock.
struct Asking {
    system: System,
    base: String,
    host: String,
    token: String,
    _folder: tempfile::TempDir,
}

impl Asking {
    async fn start(server: &ModelServer) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let list =
            json!([{"kind": "openai", "url": outbound::below(server.url(), "v1"), "model": "scripted"}]);
        let system = System::start(Options {
            data: Data::Folder(folder.path().to_owned()),
            models: Some(Models {
                embed: String::new(),
                list: list.to_string(),
                keys: BTreeMap::<String, SecretString>::new(),
                bedrock: None,
                tokens_per_day: 1_000_000_000_000,
            }),
            ..Options::default()
        })
        .await
        .expect("the system starts");
        let endpoints = serde_json::to_value(system.endpoints()).expect("endpoints are JSON");
        let place = |name: &str| {
            let url = endpoints.pointer(&format!("/tenants/acme/{name}"));
            let url = url.and_then(Value::as_str).expect("an address");
            url.trim_end_matches('/').to_owned()
        };
        let host = place("host_agent");
        Self {
            base: place("base"),
            token: system.token("acme", "bench", &host).expect("a token"),
            host,
            system,
            _folder: folder,
        }
    }
}

/// An answer that takes its time before its first word, and until its end.
fn slow(dialect: Dialect) -> Reply {
    let mut pieces = vec![Piece::Pause(THINKS)];
    pieces.extend(dialect.text(WORDS).into_iter().map(Piece::Bytes));
    pieces.push(Piece::Pause(TAKES.saturating_sub(THINKS)));
    pieces.extend(dialect.stop(Stop::Said).into_iter().map(Piece::Bytes));
    pieces.push(Piece::End);
    Reply::Stream {
        content_type: dialect.content_type(),
        pieces,
    }
}

impl SlowModels {
    /// Prints the table.
    ///
    /// # Panics
    /// Where a figure is worse than its bound, or a task does not end.
    pub(crate) async fn run(self, at_once: usize) {
        let dialect = Dialect::OpenAi;
        let server = ModelServer::start([slow(dialect)]).await;
        let asking = Asking::start(&server).await;
        let (acknowledged, first_words) = self.timed(&server, &asking, at_once).await;
        asking.system.stop().await;
        let (ended, asked, took) = self.refused(dialect).await;
        println!(
            "| a model of {} s | p50 ms | p99 ms | bound |\n|---|---:|---:|---:|",
            TAKES.as_secs()
        );
        for (name, times, bound) in [
            ("prompt → acknowledged", &acknowledged, self.acknowledged),
            ("its first word → the page", &first_words, self.first_word),
        ] {
            println!(
                "| {name} | {} | {} | < {bound} |",
                millis(times.within(0.5)),
                millis(times.within(0.99))
            );
        }
        println!(
            "\n{} prompts, {at_once} at once. {} tasks at once, half of the calls 429: {ended} ended, after {asked} calls and {:.0} s.",
            acknowledged.count(),
            self.tasks,
            took.as_secs_f64()
        );
        assert_eq!(
            first_words.count(),
            self.prompts,
            "an answer had no words on its way"
        );
        assert_eq!(ended, self.tasks, "tasks that did not end");
        assert!(
            acknowledged.within(0.99) < Duration::from_millis(self.acknowledged),
            "too late an acknowledgement"
        );
        assert!(
            first_words.within(0.99) < Duration::from_millis(self.first_word),
            "too late a first word"
        );
    }

    /// Acknowledgements of plain sends, and first words in the chat.
    async fn timed(&self, server: &ModelServer, asking: &Asking, at_once: usize) -> (Times, Times) {
        let http = system_testing::user::http();
        let acknowledged = many(self.prompts, at_once, |number| {
            let body = super::send_body(number, PROMPT);
            let sent = http.post(&asking.host).bearer_auth(&asking.token);
            let sent = sent.header("a2a-version", "1.0").json(&body);
            async move {
                let began = Instant::now();
                let answer: Value = sent.send().await.expect("an answer").json().await.expect("JSON");
                assert!(answer["result"]["task"]["id"].is_string(), "{answer}");
                began.elapsed()
            }
        })
        .await;
        // Those answers are awaited before the page is looked at.
        tokio::time::sleep(TAKES + THINKS).await;
        let before = server.asked().len();
        let shown = many(self.prompts, at_once, |number| async move {
            let user = User::new(&asking.base);
            let prompt = format!("{PROMPT} ({number})");
            let is_word = |chunk: &Value| chunk["type"] == "text-delta";
            let chunks = user
                .chat_as_it_comes((&format!("c-{number}"), &format!("m-{number}"), &prompt), is_word)
                .await;
            let word = chunks.into_iter().find(|(_, chunk)| is_word(chunk));
            word.map(|(at, _)| (prompt, at))
        })
        .await;
        let asked = server.asked();
        let first = shown.into_iter().flatten().filter_map(|(prompt, at)| {
            let asked = asked
                .iter()
                .skip(before)
                .find(|asked| asked.prompt().contains(&prompt))?;
            Some(at.saturating_duration_since(asked.at + THINKS))
        });
        (acknowledged.into_iter().collect(), first.collect())
    }

    /// How many of many tasks at once end, where every second call is refused; how many calls that took, and how long.
    async fn refused(&self, dialect: Dialect) -> (usize, usize, Duration) {
        let calls = Arc::new(Mutex::new(0_usize));
        let counted = Arc::clone(&calls);
        let server = ModelServer::thinking(move |_| {
            let mut calls = counted.lock().expect("no panic under the lock");
            *calls += 1;
            match calls.is_multiple_of(2) {
                true => dialect.refusal(429, "too many"),
                false => dialect.says(WORDS),
            }
        })
        .await;
        let asking = Asking::start(&server).await;
        let began = Instant::now();
        let ended = many(self.tasks, self.tasks, |_| async {
            let user = User::new(&asking.base);
            let id = user.ask(PROMPT).await.task_id();
            while began.elapsed() < PATIENCE {
                let task = user.task(&id).await;
                if OVER.iter().any(|state| task["status"] == *state) {
                    return task["status"] == "completed";
                }
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            false
        })
        .await;
        let took = began.elapsed();
        asking.system.stop().await;
        let asked = *calls.lock().expect("no panic under the lock");
        (ended.into_iter().filter(|ended| *ended).count(), asked, took)
    }
}
