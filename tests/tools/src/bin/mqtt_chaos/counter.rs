//! The agent that is asked: it works for some seconds, tells of each step, and counts how often it did what.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::card::{Card, Skill};
use agent::wakes;
use agent::{Access, Agent, ExecuteError, Executor, Outcome, Run, Settings, WakeDoor};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::serve::ListenerExt as _;
use domain::Clock as _;
use domain::{
    AgentName, Artifact, EventKind, Message, Part, SecretString, SystemClock, SystemEntropy, Task, Tenant,
};
use outbound::{Outbound, Policy};
use store::Store;
use store_testing::Database;
use url::Url;

const ISSUER: &str = "http://127.0.0.1/chaos";
/// Pieces of a result.
pub(crate) const STEPS: usize = 5;

/// How often each task was worked on.
pub(crate) type Counts = Arc<Mutex<HashMap<String, u32>>>;

/// The tasks that were made of each question.
pub(crate) type Questions = Arc<Mutex<HashMap<String, BTreeSet<String>>>>;

/// The running agent.
pub(crate) struct Counter {
    pub(crate) url: Url,
    pub(crate) counts: Counts,
    pub(crate) questions: Questions,
    pub(crate) store: Store,
    /// Where its wakes go.
    pub(crate) door: Arc<dyn WakeDoor>,
    key: SigningKey,
    _database: Database,
}

struct Steps {
    counts: Counts,
    questions: Questions,
    rest: Duration,
}

impl Steps {
    /// Counts that the task is worked on.
    fn noted(&self, task: &Task) {
        let id = task.id.to_string();
        *self
            .counts
            .lock()
            .expect("no panic")
            .entry(id.clone())
            .or_default() += 1;
        let asked = task.history.first().map(Message::text).unwrap_or_default();
        let mut questions = self.questions.lock().expect("no panic");
        questions.entry(asked).or_default().insert(id);
    }
}

#[async_trait]
impl Executor for Steps {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        self.noted(run.task());
        run.working("Counting").await?;
        for step in 1..=STEPS {
            tokio::time::sleep(self.rest).await;
            let piece = EventKind::Artifact {
                artifact: Artifact::new("count", vec![Part::text(format!("{step} "))]),
                append: step > 1,
                last_chunk: step == STEPS,
            };
            run.record(vec![piece]).await?;
        }
        Ok(Outcome::Completed {
            artifacts: Vec::new(),
            say: None,
        })
    }
}

impl Counter {
    /// Starts it on a free port; between two pieces it rests so long. It takes its own callers' tokens, and those of these issuers.
    pub(crate) async fn start(rest: Duration, others: Vec<TrustedIssuer>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url: Url = format!("http://{}/", listener.local_addr().expect("an address"))
            .parse()
            .expect("a URL");
        let (store, database) = store_testing::start_apart(None).await;
        let (key, _) = SigningKey::generate().expect("a key");
        let (counts, questions) = (Counts::default(), Questions::default());
        let mut issuers = others;
        issuers.push(TrustedIssuer {
            issuer: ISSUER.into(),
            tenant: Some(tenant()),
            keys: vec![key.public_jwk()],
        });
        let entropy = Arc::new(SystemEntropy);
        let policy = Policy {
            allow_loopback: true,
            rest: Duration::from_secs(1),
            ..Policy::default()
        };
        let (door, wakes) = wakes::queue();
        let card = card(&url);
        let agent = Arc::new(Agent {
            name: AgentName::parse("counter").expect("a name"),
            own_tenant: None,
            access: Access::Open,
            store: store.clone(),
            wake: Arc::clone(&door),
            executor: Arc::new(Steps {
                counts: counts.clone(),
                questions: questions.clone(),
                rest,
            }),
            validator: Arc::new(Verifier::new(card.url.to_string(), issuers).expect("a good key")),
            card,
            sealer: Arc::new(
                Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).expect("a good key"),
            ),
            outbound: Outbound::new(policy, entropy.clone()),
            clock: Arc::new(SystemClock),
            entropy,
            settings: Settings {
                // As locally: at a desk nobody waits half a minute for a notification.
                push_schedule: agent::PushSchedule::of(
                    [1, 2, 5, 10, 30, 60, 60].map(Duration::from_secs).to_vec(),
                ),
                ..Settings::default()
            },
        });
        let worker = Arc::clone(&agent);
        tokio::spawn(wakes::work(wakes, move |wake| {
            let agent = Arc::clone(&worker);
            async move { drop(agent::handle(&agent, &wake).await) }
        }));
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let router = agent::router(agent).into_router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            counts,
            questions,
            store,
            door,
            key,
            _database: database,
        }
    }

    /// A token that it takes.
    pub(crate) fn token(&self) -> SecretString {
        let tenant = tenant();
        let grant = Grant {
            issuer: ISSUER,
            subject: "chaos",
            tenant: Some(&tenant),
            audience: self.url.as_str(),
            scopes: &[agent::TASKS_SCOPE],
            lifetime: Duration::from_secs(900),
        };
        let signed = self.key.sign(&grant, SystemClock.now(), &SystemEntropy);
        signed.expect("a token")
    }
}

fn tenant() -> Tenant {
    Tenant::parse("chaos").expect("a tenant")
}

fn card(url: &Url) -> Card {
    Card {
        name: "Counter".into(),
        description: "Counts slowly".into(),
        version: "1".into(),
        url: url.clone(),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: "count".into(),
            name: "Count".into(),
            description: "Counts to five".into(),
            tags: vec!["type:count".into()],
            ..Skill::default()
        }],
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: a2a::carrier_extensions().to_vec(),
        secured: None,
    }
}
