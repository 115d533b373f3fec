//! What a host makes of each turn of the conversations: what stands before it is stored as tasks, the turn is sent to a real host,
//! and what became of those tasks and of its own says what it was understood as.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::routing::get;
use axum::{Json, Router};
use domain::{
    AgentName, AgentType, Approval, AwaitedConsent, Clock as _, ContextId, ExposeSecret as _, ManualClock,
    Message, MessageId, NewTask, Notification, Owner, Part, PlanStep, Protection, RemoteTaskId, RemoteUpdate,
    StepState, SystemEntropy, Task, TaskId, TaskPlan, TaskState, Tenant, Timestamp,
};
use host_agent::{Directory, Parts, Patience, PlanApproval, State};
use llm::{AgentBrief, Model};
use outbound::oauth::Providers;
use outbound::{Outbound, Policy};
use serde::Deserialize;
use serde_json::{Value, json};
use store::{NewRecord, Store, TaskKey};
use tower::ServiceExt as _;
use tracing::field::Field;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

const URL: &str = "http://127.0.0.1:9/a/host";
const ISSUER: &str = "http://127.0.0.1:9/t/acme";
/// So many bytes of what was asked tell which task is named.
const TOLD: usize = 24;
/// Longest answer of the host that is read, in bytes.
const ANSWER_MAX: usize = 1 << 20;
/// Thursday 2026-11-26, 10:00 UTC, which is today in the conversations.
const TODAY: i64 = 1_795_687_200_000;

#[derive(Deserialize)]
pub struct Conversations {
    pub conversation: Vec<Conversation>,
}

#[derive(Deserialize)]
pub struct Conversation {
    pub id: String,
    turn: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    before: String,
    said: String,
    means: Vec<Meant>,
    #[serde(default)]
    also_ok: Vec<Vec<Meant>>,
    #[serde(default)]
    ask_first: bool,
}

#[derive(Deserialize)]
struct Meant {
    act: String,
    agent: Option<String>,
    #[serde(default)]
    among: Vec<String>,
}

/// What the host says in its log that it understood last.
#[derive(Clone, Default)]
pub struct Meaning(Arc<Mutex<String>>);

impl Meaning {
    fn last(&self) -> String {
        self.0.lock().expect("a log").clone()
    }
}

impl<S: Subscriber> Layer<S> for Meaning {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            if field.name() == "meaning" {
                *self.0.lock().expect("a log") = format!("{value:?}").trim_matches('"').to_owned();
            }
        });
    }
}

/// What became of a turn: what was done with whose tasks, and who may be chosen.
#[derive(Debug, Default)]
struct Became {
    done: BTreeSet<(String, String)>,
    offered: BTreeSet<String>,
}

/// How a turn was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it was meant.
    Right,
    /// Its user is asked, and what was meant is offered.
    Asked,
    /// Some of it as it was meant, the rest not at all.
    InPart,
    /// Not at all.
    Missed,
    /// As something else, which was done.
    Wrong,
    /// It was done though its user should have been asked.
    Unasked,
}

/// The host, over agents that nobody can reach: what is asked of them is stored all the same.
pub struct Host {
    state: State,
    store: Store,
    clock: Arc<ManualClock>,
    key: Arc<SigningKey>,
    agents: Vec<AgentBrief>,
    meaning: Meaning,
    _database: store_testing::Database,
}

struct NoQueue;

#[async_trait]
impl WakeDoor for NoQueue {
    async fn wake(&self, _wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        Ok(())
    }
}

impl Host {
    /// A host that knows these agents and is asked by this model; those of `effects` change things.
    pub async fn start(
        agents: Vec<AgentBrief>,
        effects: &BTreeSet<AgentType>,
        (model, understanding): (Arc<dyn Model>, nlu::Slot),
        meaning: Meaning,
    ) -> Self {
        let (store, database) = store_testing::start().await;
        let types = agents
            .iter()
            .map(|agent| (agent.agent_type().to_string(), json!("global")));
        let listing = json!({
            "agents": (1..).zip(&agents).map(|(number, agent)| listed(number, agent, effects)).collect::<Vec<_>>(),
            "types": types.collect::<serde_json::Map<_, _>>(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let at = listener.local_addr().expect("an address");
        let registry = Router::new().route("/registry/agents", get(move || async { Json(listing) }));
        tokio::spawn(axum::serve(listener, registry).into_future());
        let key = Arc::new(SigningKey::generate().expect("a key").0);
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(TODAY)));
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
        let acme = TrustedIssuer {
            issuer: ISSUER.to_owned(),
            tenant: Some(tenant()),
            keys: vec![key.public_jwk()],
        };
        let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]);
        let state = host_agent::host(Parts {
            tenant: tenant(),
            url: URL.parse().expect("a URL"),
            issuer: ISSUER.to_owned(),
            key: Arc::clone(&key),
            validator: Arc::new(Verifier::new(URL.to_owned(), vec![acme]).expect("an issuer")),
            sign_in: None,
            mqtt: None,
            bridge: None,
            directory: Directory::registry(
                outbound.clone(),
                format!("http://{at}/registry").parse().expect("a URL"),
                None,
            ),
            webhook: format!("{ISSUER}/api/webhook/tasks").parse().expect("a URL"),
            sealer: Arc::new(sealer.expect("a key")),
            store: store.clone(),
            wake: Arc::new(NoQueue),
            outbound,
            understanding,
            model,
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy),
            patience: Patience::default(),
            approval: PlanApproval::Never,
            enabled: true,
            providers: Providers::new(),
            settings: agent::Settings::default(),
        });
        Self {
            state: state.expect("a host"),
            store,
            clock,
            key,
            agents,
            meaning,
            _database: database,
        }
    }

    /// Plays each turn of a conversation by itself.
    pub async fn play(&self, conversation: &Conversation, each: bool) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (number, said) in (1_usize..).zip(&conversation.turn) {
            let name = format!("{}-{number}", conversation.id);
            let became = self
                .turn(
                    &name,
                    said,
                    conversation.turn.get(..number - 1).unwrap_or_default(),
                )
                .await;
            let verdict = said.verdict(&became);
            if each && verdict != Verdict::Right {
                let before = llm::clean(&said.before, 90);
                println!(
                    "  {verdict:?} {name} [{before}] {:?} => {:?} {:?}",
                    said.said, became.done, became.offered
                );
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    async fn turn(&self, name: &str, said: &Said, earlier: &[Said]) -> Became {
        let mut before = Vec::new();
        let told = said.before.split("; ").filter(|told| *told != "nothing");
        for (number, told) in (0_u8..).zip(told.filter(|told| !told.ends_with(" consented"))) {
            let task = self
                .stored((name, number), told, (&before, &said.before, earlier))
                .await;
            before.push(task);
        }
        self.clock.advance(Duration::from_secs(60));
        let message = json!({
            "messageId": name, "role": "ROLE_USER", "contextId": name, "parts": [{"text": said.said}],
        });
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let request = Request::post("/jsonrpc")
            .header("authorization", format!("Bearer {}", self.token(name)))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Body::from(body.to_string()))
            .expect("a request");
        let router = edge::agent_parts::function(self.state.agent.clone(), host_agent::NAME).router;
        let response = router.oneshot(request).await.expect("an answer");
        let bytes = to_bytes(response.into_body(), ANSWER_MAX)
            .await
            .expect("an answer");
        let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
        let id = answer["result"]["task"]["id"].as_str();
        let id = TaskId::parse(id.unwrap_or_else(|| panic!("{answer}"))).expect("a task");
        host_agent::handle(&self.state, &Wake::task(&key(id)))
            .await
            .expect("a turn");
        let mut became = Became::default();
        for task in &before {
            became.add_old(task, &self.task(task.id).await);
        }
        let meaning = self.meaning.last();
        became.add_new(&self.task(id).await, (&before, &meaning), &self.agents);
        became
    }

    fn token(&self, owner: &str) -> String {
        let grant = Grant {
            issuer: ISSUER,
            subject: owner,
            tenant: Some(&tenant()),
            audience: URL,
            scopes: &["tasks"],
            lifetime: Duration::from_secs(300),
        };
        let token = self.key.sign(&grant, self.clock.now(), &SystemEntropy);
        token.expect("a token").expose_secret().to_owned()
    }

    async fn task(&self, id: TaskId) -> Task {
        let found = self.store.tasks().find(&key(id), self.clock.now()).await;
        found.expect("the store").expect("a task").task
    }
}

impl Host {
    /// Stores what stands before a turn: "weather done: rain in Oslo? => dry", "calendar consent", "host asked: Which? | one | two".
    async fn stored(
        &self,
        (name, number): (&str, u8),
        told: &str,
        (before, before_it, earlier): (&[Task], &str, &[Said]),
    ) -> Task {
        self.clock.advance(Duration::from_secs(60));
        let now = self.clock.now();
        let (head, text) = told.split_once(": ").unwrap_or((told, ""));
        let (agent, state) = head.split_once(' ').unwrap_or((head, ""));
        let (asked, result) = text.split_once(" => ").unwrap_or((text, ""));
        let choices: Vec<&str> = asked.split(" | ").collect();
        // Of what waits for its user the conversation tells what was asked for.
        let of_agent = |said: &&Said| {
            said.means
                .iter()
                .any(|meant| meant.agent.as_deref() == Some(agent))
        };
        let request = earlier
            .iter()
            .rfind(of_agent)
            .map_or("", |said| said.said.as_str());
        let request = if matches!(state, "asked" | "consent") {
            request
        } else {
            asked
        };
        let new = NewTask {
            id: TaskId::random(&SystemEntropy),
            tenant: tenant(),
            agent: AgentName::parse(host_agent::AGENT).expect("a name"),
            context_id: ContextId::parse(name).expect("an id"),
            owner: Owner::parse(name).expect("an owner"),
            message: Message::user(
                MessageId::derived(&format!("{name}-{number}")),
                vec![Part::text(request)],
            ),
            trace: None,
        };
        let mut task = Task::create(new, now);
        let told = match choices.as_slice() {
            [question, choices @ ..] if !choices.is_empty() => {
                let lines = (1..)
                    .zip(choices)
                    .map(|(number, choice)| format!("\n{number}. {choice}"));
                format!("{question}{}", lines.collect::<String>())
            }
            _ => asked.to_owned(),
        };
        match (agent, state) {
            ("plan", _) => {
                task.plan = Some(plan(asked, &self.agents));
                task.status.state = TaskState::InputRequired;
            }
            ("host", _) => {
                task.direct = true;
                task.status.state = TaskState::Completed;
            }
            _ => {
                let mut job = job((agent, state), (&told, result), &self.agents, now);
                if before_it
                    .split("; ")
                    .any(|told| told == format!("{agent} consented"))
                {
                    job.protection = Some(Protection {
                        provider: "idp".to_owned(),
                        scopes: Vec::new(),
                        consent: None,
                        granted_at: Some(now),
                    });
                }
                task.status.state = match state {
                    "asked" => TaskState::InputRequired,
                    "consent" => TaskState::AuthRequired,
                    "failed" => TaskState::Failed,
                    "done" => TaskState::Completed,
                    _ => TaskState::Working,
                };
                task.jobs.push(job);
            }
        }
        let said = if result.is_empty() { told.as_str() } else { result };
        let mut said = Message::agent_text(MessageId::derived("told"), said);
        if agent == "host" {
            let deed = if asked.contains("again") {
                "retry"
            } else {
                "cancel"
            };
            let of: Vec<String> = before.iter().map(|task| task.id.to_string()).collect();
            said.metadata
                .insert("asks".to_owned(), json!({"to": deed, "of": of}));
        }
        task.status.message = Some(said);
        let message_id = task
            .history
            .first()
            .map(|said| said.message_id.clone())
            .expect("a message");
        let record = NewRecord {
            task: &task,
            message_id: &message_id,
            body_hash: "h",
            push: None,
            due_at: now,
            retention: Duration::from_secs(3600),
        };
        self.store.tasks().create(&record).await.expect("a task");
        task
    }
}

impl Became {
    /// What was done with a task that was there before.
    fn add_old(&mut self, before: &Task, after: &Task) {
        let act = match after.status.state {
            TaskState::Canceled if before.status.state != TaskState::Canceled => "cancel",
            _ if after.history.len() > before.history.len() => {
                let said = after.history.last();
                match said.is_some_and(|said| said.metadata.contains_key("declines")) {
                    true => "decline",
                    false => "answer",
                }
            }
            _ => return,
        };
        self.done
            .extend(types_of(before).map(|agent| (act.to_owned(), agent)));
    }

    /// What became of the turn's own task.
    fn add_new(&mut self, task: &Task, (before, meaning): (&[Task], &str), agents: &[AgentBrief]) {
        let checkpoint = task.checkpoint.clone().unwrap_or_default();
        let retried = checkpoint["retryOf"].as_str();
        let act = if retried.is_some() { "retry" } else { "request" };
        let jobs = task.jobs.iter().map(|job| job.agent_type.to_string());
        self.done.extend(jobs.map(|agent| (act.to_owned(), agent)));
        // What waits for its user's word is not done.
        let steps = task.plan.iter().flat_map(|plan| &plan.steps);
        self.offered.extend(steps.map(|step| step.agent_type.to_string()));
        let said = task.status.message.as_ref();
        let text = said.map(Message::text).unwrap_or_default();
        let choice = checkpoint["choice"]["of"].as_array().into_iter().flatten();
        self.offered
            .extend(choice.filter_map(|agent| Some(agent["agentType"].as_str()?.to_owned())));
        let asks = said
            .and_then(|said| said.metadata.get("asks"))
            .unwrap_or(&checkpoint["asks"]);
        let of: Vec<&str> = asks["of"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let meant = before
            .iter()
            .filter(|task| of.contains(&task.id.to_string().as_str()));
        self.offered.extend(meant.flat_map(types_of));
        if self.done.is_empty() && self.offered.is_empty() {
            // It was answered by words alone; news tell of their tasks by what was asked, or by whom.
            let told = before.iter().filter(|task| {
                let asked = task.history.first().map(Message::text).unwrap_or_default();
                text.contains(asked.get(..asked.floor_char_boundary(TOLD)).unwrap_or_default())
                    || types_of(task).any(|agent| text.contains(name_of(&agent, agents)))
            });
            let told: Vec<String> = told.flat_map(types_of).collect();
            match meaning {
                "status" | "open" => self
                    .done
                    .extend(told.into_iter().map(|agent| ("status".to_owned(), agent))),
                // A yes is wanted in so many words.
                "agreeing" | "which-word" => self.offered.extend(told),
                _ => _ = self.done.insert((format!("words: {meaning}"), text)),
            }
        }
    }

    fn has(&self, act: &str, agent: Option<&str>) -> bool {
        self.done
            .iter()
            .any(|(done, of)| done == act && agent.is_none_or(|agent| agent == of))
    }

    fn says(&self) -> bool {
        self.done
            .iter()
            .all(|(act, _)| act.starts_with("words") || act == "status")
    }
}

impl Meant {
    /// Whether that became of it. Who agrees, says that it is done or answers is taken to the task that asked.
    fn is_done(&self, became: &Became) -> bool {
        let agent = self.agent.as_deref();
        match self.act.as_str() {
            "request" => became.has("request", agent) || became.has("answer", agent),
            "answer" | "approve" => became.has("answer", agent),
            "done" => became.has("answer", agent) || became.has("status", agent),
            "cancel" => became.has("cancel", agent) || became.has("decline", agent),
            "decline" => became.has("decline", agent) || became.has("cancel", agent),
            "retry" => became.has("retry", agent) || became.has("answer", agent),
            "status" => became.has("status", agent),
            "ask" => self.among.iter().all(|agent| became.offered.contains(agent)),
            // Words alone: who is told something nice has not been told how a task is doing.
            _ => became.offered.is_empty() && became.done.iter().all(|(act, _)| act.starts_with("words")),
        }
    }

    fn is_of(&self, (act, agent): (&str, &str)) -> bool {
        let of = self.agent.as_deref().is_none_or(|own| own == agent);
        let same = match act {
            "answer" => !matches!(
                self.act.as_str(),
                "cancel" | "decline" | "status" | "talk" | "nobody"
            ),
            "cancel" | "decline" => matches!(self.act.as_str(), "cancel" | "decline"),
            "status" => return true,
            words if words.starts_with("words") => return true,
            act => self.act == act,
        };
        of && same
    }
}

impl Said {
    fn verdict(&self, became: &Became) -> Verdict {
        let all = std::iter::once(&self.means).chain(&self.also_ok);
        let verdicts = all.map(|means| self.of(means, became));
        verdicts
            .min_by_key(|verdict| *verdict as usize)
            .unwrap_or(Verdict::Missed)
    }

    fn of(&self, means: &[Meant], became: &Became) -> Verdict {
        let amiss = became
            .done
            .iter()
            .any(|(act, agent)| !means.iter().any(|meant| meant.is_of((act, agent))));
        let deeds = became.done.iter().filter(|(act, _)| act == "request");
        let sent = deeds.count() > 0;
        let wanted = |meant: &Meant| {
            meant
                .agent
                .iter()
                .chain(&meant.among)
                .any(|agent| became.offered.contains(agent))
        };
        // Who agrees in other words than a yes is asked for that.
        let agrees =
            |meant: &Meant| matches!(meant.act.as_str(), "approve" | "decline") && !became.offered.is_empty();
        let is_offered = means.iter().any(|meant| wanted(meant) || agrees(meant));
        if amiss {
            return Verdict::Wrong;
        }
        match means.iter().filter(|meant| meant.is_done(became)).count() {
            _ if self.ask_first && sent => Verdict::Unasked,
            _ if self.ask_first && is_offered => Verdict::Right,
            all if all == means.len() => Verdict::Right,
            _ if is_offered => Verdict::Asked,
            0 if became.says() => Verdict::Missed,
            0 => Verdict::Wrong,
            _ => Verdict::InPart,
        }
    }
}

fn tenant() -> Tenant {
    Tenant::parse("acme").expect("a tenant")
}

fn key(id: TaskId) -> TaskKey {
    TaskKey {
        tenant: tenant(),
        agent: AgentName::parse(host_agent::AGENT).expect("a name"),
        id,
    }
}

/// Types of the agents that have something of a task, or are to get it.
fn types_of(task: &Task) -> impl Iterator<Item = String> {
    let jobs = task.jobs.iter().map(|job| job.agent_type.to_string());
    let steps = task.plan.iter().flat_map(|plan| &plan.steps);
    jobs.chain(steps.map(|step| step.agent_type.to_string()))
}

fn name_of<'a>(agent_type: &str, agents: &'a [AgentBrief]) -> &'a str {
    let found = agents
        .iter()
        .find(|agent| agent.agent_type().as_str() == agent_type);
    found.map_or("", AgentBrief::name)
}

/// An agent as the registry lists it.
fn listed(number: u8, agent: &AgentBrief, effects: &BTreeSet<AgentType>) -> Value {
    let url = format!("http://127.0.0.1:9/{}", agent.agent_type());
    let skills = agent.skills().iter().map(|skill| {
        let mut tags = vec![format!("type:{}", agent.agent_type())];
        tags.extend(
            effects
                .contains(agent.agent_type())
                .then(|| "effect:write".to_owned()),
        );
        json!({
            "id": skill.name(), "name": skill.name(), "description": skill.description(), "tags": tags,
            "examples": skill.examples(),
        })
    });
    json!({
        "id": domain::AgentId::from_bytes([number; 16]).to_string(),
        "tenant": null,
        "cardUrl": format!("{url}/card"),
        "health": {"ok": true, "checkedAt": "2026-01-01T00:00:00.000Z"},
        "card": {
            "name": agent.name(), "description": agent.description(), "version": "1",
            "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"pushNotifications": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": skills.collect::<Vec<_>>(),
        }
    })
}

/// What an agent has of a task: what it was asked, and what it said.
fn job(
    (agent, state): (&str, &str),
    (asked, result): (&str, &str),
    agents: &[AgentBrief],
    now: Timestamp,
) -> domain::Job {
    let mut new = domain::testing::new_job();
    new.agent_type = AgentType::parse(agent).expect("a type");
    name_of(agent, agents).clone_into(&mut new.agent_name);
    asked.clone_into(&mut new.instruction);
    let mut job = domain::Job::prepare(new, now);
    let said = match state {
        "asked" => Some((TaskState::InputRequired, asked)),
        "failed" => Some((TaskState::Failed, "It cannot be had.")),
        "done" => Some((TaskState::Completed, result)),
        "consent" => None,
        _ => Some((TaskState::Working, "Working on it.")),
    };
    match said {
        Some((state, text)) => {
            let update = RemoteUpdate {
                text: Some(text.to_owned()),
                ..RemoteUpdate::of(state)
            };
            job.note(
                Notification {
                    remote_task_id: Some(RemoteTaskId::parse("r-1").expect("an id")),
                    update: Some(update),
                    artifacts: Vec::new(),
                    snapshot: false,
                    responder: None,
                },
                now,
            );
        }
        None => {
            let consent = AwaitedConsent {
                id: "c".to_owned(),
                expires_at: now.after(Duration::from_secs(86_400)),
            };
            job.protection = Some(Protection {
                provider: "idp".to_owned(),
                scopes: Vec::new(),
                consent: Some(consent),
                granted_at: None,
            });
        }
    }
    job
}

/// A plan that waits for its user's word: "weather rain in Split then airbnb a flat there".
fn plan(told: &str, agents: &[AgentBrief]) -> TaskPlan {
    let steps = (0..).zip(told.split(" then ")).map(|(number, step)| {
        let (agent, instruction) = step.split_once(' ').expect("an agent and what it is asked");
        PlanStep {
            number,
            agent_type: AgentType::parse(agent).expect("a type"),
            agent_name: name_of(agent, agents).to_owned(),
            instruction: instruction.to_owned(),
            after: number.checked_sub(1).into_iter().collect(),
            uses: Vec::new(),
            optional: false,
            state: StepState::Planned,
            turn: 0,
            guard: None,
        }
    });
    TaskPlan {
        goal: told.to_owned(),
        approval: Approval::Awaited,
        steps: steps.collect(),
    }
}
