//! An A2A agent of your own. You write an [`Executor`] and a [`card()`]; [`serve`] does the rest, on a laptop and, in the same program, as a
//! Lambda function: both generations of the protocol, streams, webhooks, retries, cancels, tokens. No work lies in memory alone: a task
//! goes on where it was when its process comes back.
//!
//! ```no_run
//! use switchyard_agent::{Error, ExecuteError, Executor, Outcome, Run, async_trait, card, serve, skill};
//!
//! struct Greeting;
//!
//! #[async_trait]
//! impl Executor for Greeting {
//!     async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
//!         Ok(Outcome::Completed { artifacts: Vec::new(), say: Some(format!("You said: {}", switchyard_agent::asked(run.task()))) })
//!     }
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Error> {
//!     let greets = skill("greet", "Greets whoever says something", &["Say hello to Ada", "Greet my team"]);
//!     serve(|url| card(url, "Greeter", "Greets people", vec![greets]), Greeting).await
//! }
//! ```
//!
//! Each of what follows is a whole agent's work, asked once over a database in memory ([`Trial`]).
//!
//! # Progress, streams and webhooks
//!
//! Whoever streams, or gave a webhook, hears of everything that a run records. A step that is recorded is done: an execution that begins
//! again goes on behind it, and one that waits holds nothing.
//!
//! ```
//! # use switchyard_agent::*;
//! struct Slow;
//!
//! #[async_trait]
//! impl Executor for Slow {
//!     async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
//!         if run.checkpoint::<u32>().is_none() {
//!             let until = run.now().after(std::time::Duration::from_millis(100));
//!             let status = EventKind::status(TaskState::Working, Some(run.message("Half of it")));
//!             run.record(vec![status, Run::checkpoint_event(&1)?]).await?;
//!             return Ok(Outcome::Parked { until });
//!         }
//!         Ok(Outcome::Completed { artifacts: vec![Artifact::new("result", vec![Part::text("All of it")])], say: None })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let trial = Trial::start(|url| card(url, "Slow", "Takes its time", vec![skill("wait", "Waits", &["Wait a bit"])]), Slow).await?;
//! let told = trial.stream("Wait a bit").await?;
//! assert!(told.contains("Half of it") && told.contains("All of it"), "{told}");
//! # Ok(()) }
//! ```
//!
//! # What is missing, by a schema
//!
//! What [`Executor::takes`] says is read from people's words, and from data. A request that lacks something is asked about, with the schema of
//! what is missing beside the question, and the executor sees it whole.
//!
//! ```
//! # use switchyard_agent::*;
//! use serde_json::json;
//!
//! struct Repeating(Takes);
//!
//! #[async_trait]
//! impl Executor for Repeating {
//!     fn takes(&self) -> Option<&Takes> {
//!         Some(&self.0)
//!     }
//!
//!     async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
//!         let word = run.taken().data["word"].as_str().unwrap_or_default().repeat(2);
//!         Ok(Outcome::Completed { artifacts: vec![Artifact::new("result", vec![Part::text(word)])], say: None })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let word = json!({"type": "string", "description": "Which word should be repeated?"});
//! let schema = json!({"type": "object", "properties": {"word": word}, "required": ["word"]});
//! let takes = Takes::new(&schema, &["Repeat the word {tea}"]);
//! let repeats = skill("repeat", "Repeats a word", &["Repeat the word tea"]);
//! let extensions = vec![inputs([("repeat", schema)])];
//! let card = |url| Card { extensions, ..card(url, "Echo", "Repeats words", vec![repeats]) };
//! let trial = Trial::start(card, Repeating(takes)).await?;
//! let task = trial.ask("Repeat a word").await?;
//! assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
//! assert!(task["status"].to_string().contains("Which word should be repeated?"));
//! let task = trial.answer(&task, "tea").await?;
//! assert_eq!(task["artifacts"][0]["parts"][0]["text"], "teatea");
//! # Ok(()) }
//! ```
//!
//! # A consent of your own
//!
//! The task waits, and its user is shown the link. Whatever they say next, or the time, has the executor look again.
//!
//! ```
//! # use switchyard_agent::*;
//! struct Asking;
//!
//! #[async_trait]
//! impl Executor for Asking {
//!     async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
//!         let has_agreed = run.task().history.len() > 1; // ask whoever keeps your users' consents
//!         if !has_agreed {
//!             let link = "https://example.com/agree";
//!             let mut message = run.message(&format!("Please agree here first: {link}"));
//!             message.metadata.insert(AUTH_URL.to_owned(), link.into());
//!             return Ok(Outcome::AuthRequired { message, until: run.now().after(std::time::Duration::from_secs(600)) });
//!         }
//!         Ok(Outcome::Completed { artifacts: Vec::new(), say: Some("Thank you.".into()) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let trial = Trial::start(|url| card(url, "Asker", "Asks first", vec![skill("ask", "Asks", &["Do it"])]), Asking).await?;
//! let task = trial.ask("Do it").await?;
//! assert_eq!(task["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
//! let task = trial.answer(&task, "I have agreed").await?;
//! assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
//! # Ok(()) }
//! ```
//!
//! # Files
//!
//! ```
//! # use switchyard_agent::*;
//! use serde_json::json;
//!
//! struct Counting;
//!
//! #[async_trait]
//! impl Executor for Counting {
//!     async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
//!         let files = run.task().history.iter().flat_map(|message| &message.parts).filter_map(bytes);
//!         let table: String = files.map(|file| format!("{}\n", file.len())).collect();
//!         let part = file("sizes.csv", "text/csv", table.as_bytes());
//!         Ok(Outcome::Completed { artifacts: vec![Artifact::new("sizes", vec![part])], say: None })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let trial = Trial::start(|url| card(url, "Sizes", "Measures files", vec![skill("size", "Measures", &["How large is this?"])]), Counting).await?;
//! let task = trial.send(json!([{"raw": "aGVsbG8=", "filename": "a.txt", "mediaType": "text/plain"}]), None).await?;
//! assert_eq!(task["artifacts"][0]["parts"][0]["raw"], "NQo=");
//! # Ok(()) }
//! ```
//!
//! # Tokens of hosts
//!
//! Every token that comes is verified: signature, issuer, audience (the agent's own URL), time, scope. Whose task it then is says
//! [`Run::caller`]. On a laptop the running system's hosts are trusted, and callers without a token share one small quota; deployed, the
//! setting `TRUSTED_ISSUERS` says who is, and nobody comes in without one unless `PUBLIC_AGENTS` is `true`. A card with
//! [`Card::secured`] takes none but callers with a good token anywhere.

#[cfg(feature = "local")]
mod local;
#[cfg(feature = "local")]
mod trial;

use std::sync::Arc;
use std::time::Duration;

use a2a::card::Skill;
use agent::{Access, Agent};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{AgentName, PartContent, Role, Task};
use edge::agent_parts::{self, AgentConfig};
use edge::config::Env;
use edge::sweep::{Looks, State, Sweeper};
use edge::{Function, Ground};

pub use a2a::AUTH_URL;
pub use a2a::card::{Card, inputs};
pub use agent::{ExecuteError, Executor, Outcome, Run};
pub use async_trait::async_trait;
pub use domain::{Artifact, EventKind, Message, Part, TaskState};
pub use edge::Error;
pub use nlu::Takes;
#[cfg(feature = "local")]
pub use trial::Trial;
pub use url::Url;

/// What it is called in its log lines.
const NAME: &str = "agent";
/// How often a function looks for what is due each time its schedule starts it, and how long after the look before.
const LOOKS: Looks = Looks {
    number: 10,
    every: Duration::from_secs(5),
};

/// A skill: what it does in a sentence, and what people ask for in three to six examples. Hosts find the agent by these words alone.
#[must_use]
pub fn skill(id: &str, description: &str, examples: &[&str]) -> Skill {
    Skill {
        id: id.to_owned(),
        name: id.to_owned(),
        description: description.to_owned(),
        tags: vec![id.to_owned()],
        examples: examples.iter().map(|example| (*example).to_owned()).collect(),
        ..Skill::default()
    }
}

/// The card of an agent that is called there: it streams and pushes, and takes and brings text, data and files.
#[must_use]
pub fn card(url: Url, name: &str, description: &str, skills: Vec<Skill>) -> Card {
    let modes = ["text/plain", "application/json", "*/*"].map(str::to_owned);
    Card {
        name: name.to_owned(),
        description: description.to_owned(),
        version: "0.1.0".to_owned(),
        url,
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills,
        default_input_modes: modes.to_vec(),
        default_output_modes: modes.to_vec(),
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: Vec::new(),
        secured: None,
    }
}

/// What the user said so far, the answers to questions too.
#[must_use]
pub fn asked(task: &Task) -> String {
    let said = task.history.iter().filter(|message| message.role == Role::User);
    said.map(Message::text).collect::<Vec<_>>().join(" ")
}

/// A file as a part of a result.
#[must_use]
pub fn file(name: &str, media_type: &str, bytes: &[u8]) -> Part {
    Part {
        filename: Some(name.to_owned()),
        media_type: Some(media_type.to_owned()),
        ..Part::new(PartContent::Raw(STANDARD.encode(bytes)))
    }
}

/// What is in a file that came with a message; `None` where the part is none.
#[must_use]
pub fn bytes(part: &Part) -> Option<Vec<u8>> {
    match &part.content {
        PartContent::Raw(text) => STANDARD.decode(text).ok(),
        _ => None,
    }
}

/// What an agent is: its card, with the address that it is called at, and its work.
struct Own<C> {
    card: C,
    executor: Arc<dyn Executor>,
}

/// Serves the agent: as a Lambda function where Lambda starts the program, and on this machine otherwise. There it keeps its tasks below
/// `--data` (`data`), listens at `--port` (9100; 0 takes any), prints where in a line of JSON, and joins the system whose list of endpoints
/// `SWITCHYARD_ENDPOINTS` names, unless `--no-join` is said.
///
/// # Errors
/// What is missing or wrong of the settings; where it cannot listen, or has no place for its data.
pub async fn serve(
    card: impl FnOnce(Url) -> Card + Send + 'static,
    executor: impl Executor + 'static,
) -> Result<(), Error> {
    let own = Own::new(card, executor);
    #[cfg(feature = "local")]
    if Env::process()
        .optional::<String>("AWS_LAMBDA_RUNTIME_API")?
        .is_none()
    {
        return local::serve(own).await;
    }
    lambda::run(Env::process(), AgentConfig::read, |ground, config| {
        own.function(ground, config)
    })
    .await
}

impl<C: FnOnce(Url) -> Card> Own<C> {
    fn new(card: C, executor: impl Executor + 'static) -> Self {
        let executor = Arc::new(executor);
        Self { card, executor }
    }

    /// The whole function: HTTP, its queue, and the schedule by which it finds what was forgotten.
    async fn function(self, ground: Ground, config: AgentConfig) -> Result<Function, Error> {
        let agent = self.agent(ground, config).await?;
        let sweeper = Sweeper::new(State {
            store: agent.store.clone(),
            wake: agent.wake.clone(),
            clock: agent.clock.clone(),
            looks: LOOKS,
        });
        Ok(agent_parts::function(agent, NAME).with_schedule(sweeper))
    }

    async fn agent(self, ground: Ground, config: AgentConfig) -> Result<Arc<Agent>, Error> {
        let mut parts = config.parts(ground).await?;
        parts.store = parts.store.of_any_tenant();
        let card = (self.card)(parts.url.clone());
        let access = match card.secured {
            Some(_) => Access::Secured,
            None => Access::Open,
        };
        let name = card.name.to_lowercase().replace([' ', '.'], "-");
        Ok(parts.agent((AgentName::parse(&name)?, card), (access, None), self.executor))
    }
}
