//! One tenant whose users send texts that are made to take long, and whose agent answers with 20,000 artifacts: how much longer
//! another tenant waits for its answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use system_testing::Local;
use tokio::time::Instant;
use tools::figures::{Times, millis};

/// Letters of each hostile text: as many as a message may have.
const LETTERS: usize = 31_000;
/// Artifacts of each hostile answer.
const ARTIFACTS: usize = 20_000;
/// Between two of the other tenant's prompts.
const PAUSE: Duration = Duration::from_millis(100);

/// Every shape of text and 20,000 artifacts beside the p99 of another tenant.
#[derive(Args)]
pub(crate) struct Hostile {
    /// Prompts of the other tenant in each phase, one after the other.
    #[arg(long, default_value_t = 100)]
    prompts: usize,
}

impl Hostile {
    /// Prints the figures.
    ///
    /// # Panics
    /// Where the other's p99 is more than twice what it is alone.
    pub(crate) async fn run(self) {
        let local = Local::start().await;
        let http = system_testing::user::http();
        let told: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let tells = Arc::clone(&told);
        tools::echo::start(local.system.endpoints(), &http, move |remote, token| {
            tells.lock().expect("no panic").push((remote, token));
        })
        .await;
        let (hostile, other) = (local.user("acme"), local.user("globex"));
        let phase = async |name: &str| {
            let mut took = Times::default();
            for number in 0..self.prompts {
                let began = Instant::now();
                let answer = other.chat(&format!("{name}-{number}"), "m", "hello").await;
                assert!(answer.status.is_success(), "{answer:?}");
                took.add(began.elapsed());
                tokio::time::sleep(PAUSE).await;
            }
            took.within(0.99)
        };
        phase("warm").await;
        let alone = phase("alone").await;
        let (texts, answers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let webhook = format!(
            "{}/api/webhook/tasks",
            local.endpoint("/tenants/acme/base").trim_end_matches('/')
        );
        let artifact =
            |number: usize| json!({ "artifactId": number.to_string(), "parts": [{ "text": "x" }] });
        let artifacts: Vec<Value> = (0..ARTIFACTS).map(artifact).collect();
        let sending = async {
            let shapes: Vec<String> = words_testing::texts(LETTERS).collect();
            for (number, text) in shapes.iter().cycle().enumerate() {
                hostile.chat(&format!("h-{number}"), "m", text).await;
                texts.fetch_add(1, Ordering::Relaxed);
            }
        };
        let answering = async {
            for number in 0.. {
                hostile.chat(&format!("e-{number}"), "m", "echo this").await;
                let asked = told.lock().expect("no panic").pop();
                let Some((id, token)) = asked else { continue };
                let news = json!({ "task": { "id": id, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
                    "artifacts": artifacts } });
                let answer = http.post(&webhook).bearer_auth(token).json(&news).send().await;
                // A webhook may refuse so much; the work of that counts here as well.
                drop(answer.expect("an answer").bytes().await);
                answers.fetch_add(1, Ordering::Relaxed);
            }
        };
        let beside = tokio::select! {
            beside = phase("beside") => beside,
            () = sending => unreachable!("it goes on for ever"),
            () = answering => unreachable!("it goes on for ever"),
        };
        println!(
            "Beside {} texts of {LETTERS} letters and {} answers of {ARTIFACTS} artifacts another tenant's p99 is {} ms, alone {} ms.",
            texts.into_inner(),
            answers.into_inner(),
            millis(beside),
            millis(alone)
        );
        local.system.stop().await;
        assert!(beside <= alone * 2, "the other waits more than twice as long");
    }
}
