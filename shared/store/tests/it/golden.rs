//! Records of every kind and every release, under `tests/golden/`: what was written once can be read for ever.
//!
//! `before.json` is what the last release without versions wrote. A release that changes what it writes raises
//! [`domain::RECORDS`] and adds a file: `cargo nextest run -p switchyard-store --run-ignored only this_releases_records`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use domain::{
    AgentId, AgentType, Approval, Artifact, AwaitedConsent, CallEnd, CallResult, ChatId, Endpoint, Entropy,
    GrantKey, Job, JobState, ModelTurn, NewJob, PlanStep, Protection, RemoteTaskId, RemoteUpdate,
    SealedToken, StepGuard, StepState, Stumble, Tag, TaskPlan, TokenUsage, TraceParent, Transport, TurnCall,
    TypeScope, UserWord, WorkNote,
};
use store::{
    Added, AnswerDraft, CardSignature, Client, Code, ConsentWrite, Declared, Family, Health, Leased, Login,
    Opened, Order, OrderItem, OrderStatus, Person, Put, Redeemed, RegisteredAgent, Session, SessionIssuer,
    Settled, StoredMessage, User, Verdict, Visibility,
};
use store_testing::Database;

use crate::*;

/// Items by table and key; a file has an item a line.
type Items = std::collections::BTreeMap<String, Vec<Value>>;

/// What the last release without versions wrote.
const BEFORE: &str = "before.json";

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn host() -> AgentName {
    agent("host")
}

fn remote_id(text: &str) -> RemoteTaskId {
    RemoteTaskId::parse(text).unwrap()
}

/// A task of the host, as it is born.
fn born(number: u8, words: &str) -> Task {
    let new = NewTask {
        id: TaskId::from_bytes([number; 16]),
        tenant: tenant("acme"),
        agent: host(),
        context_id: ContextId::parse("trip").unwrap(),
        owner: owner("user-1"),
        message: Message::user(message_id(&format!("m-{number}")), vec![Part::text(words)]),
        trace: TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    };
    Task::create(new, now())
}

fn new_job(number: u32) -> NewJob {
    NewJob {
        number,
        agent_type: AgentType::parse("weather").unwrap(),
        agent_id: AgentId::from_bytes([1; 16]),
        agent_name: "Weather".to_owned(),
        endpoint: Endpoint {
            url: "https://agents.example/x".parse().unwrap(),
            generation: Generation::V1_0,
            transport: Transport::JsonRpc,
            tenant: None,
            resource: None,
        },
        instruction: "Oslo".to_owned(),
        message_id: message_id(&format!("send-{number}")),
        webhook: SealedToken {
            hash: "token-hash".to_owned(),
            sealed: Some("v1.k.token".to_owned()),
        },
        step: number / 2,
    }
}

fn job(number: u32, at: u64) -> Job {
    Job::prepare(new_job(number), later(at))
}

fn updated(state: TaskState, text: &str, at: u64) -> RemoteUpdate {
    RemoteUpdate {
        text: Some(text.to_owned()),
        at: Some(later(at)),
        ..RemoteUpdate::of(state)
    }
}

fn linked(job: Job, id: &str, state: TaskState, at: u64) -> Job {
    Job {
        state: JobState::Linked {
            remote_task_id: remote_id(id),
            remote: updated(state, "On it.", at),
        },
        updated_at: later(at),
        attempts: 1,
        ..job
    }
}

fn forecast() -> Artifact {
    let parts = vec![Part::text("Light showers."), Part::data(json!({"rain": true}))];
    Artifact::new("forecast", parts).named("Forecast")
}

fn note(note: WorkNote) -> EventKind {
    EventKind::Work { note }
}

fn job_event(job: &Job) -> EventKind {
    EventKind::Job {
        job: Box::new(job.clone()),
    }
}

/// A model's answer, which releases before 4 did not keep.
fn turn() -> ModelTurn {
    let call = |id: &str, name: &str, end: CallEnd| TurnCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: "{}".to_owned(),
        end,
    };
    ModelTurn {
        prompts: 0,
        number: 0,
        model: "openai:gpt".to_owned(),
        said: None,
        text: "Let me see.".to_owned(),
        calls: vec![
            call("call-0", "send_message", CallEnd::Job { number: 0 }),
            call(
                "call-1",
                "task_status",
                CallEnd::Result(CallResult::new("There is none.", true)),
            ),
        ],
        refused: false,
        usage: TokenUsage {
            input: 900,
            output: 40,
            cached: 800,
        },
    }
}

/// A plan, which releases before 5 did not make, with all that a step can be.
fn plan() -> TaskPlan {
    let step = |number: u32, uses: Vec<u32>, state: StepState| PlanStep {
        number,
        agent_type: AgentType::parse("weather").unwrap(),
        agent_name: "Weather".to_owned(),
        instruction: "Oslo".to_owned(),
        after: uses.iter().take(1).copied().collect(),
        optional: number == 1,
        uses,
        state,
        turn: number,
        guard: (number == 0).then(|| StepGuard {
            agent: AgentId::from_bytes([9; 16]),
            from: vec!["Calendar".to_owned()],
            writes: true,
            word: UserWord::Awaited,
        }),
    };
    let why = "nobody is there".to_owned();
    let mut plan = TaskPlan {
        goal: "a trip".to_owned(),
        approval: Approval::Awaited,
        steps: vec![
            step(0, Vec::new(), StepState::Planned),
            step(1, vec![0], StepState::Skipped { why }),
            step(2, vec![0, 1], StepState::Dropped),
        ],
    };
    plan.approve();
    plan.allow(&[0]);
    plan
}

/// The writes that a busy task consists of, in each of its sub-states: two steps, four jobs, a user's unheard answer.
fn busy() -> Vec<Vec<EventKind>> {
    let (first, second, third, fourth) = (job(0, 1), job(1, 1), job(2, 3), job(3, 3));
    let said = |id: &str, text: &str| Message::agent_text(message_id(id), text);
    let settled = Job {
        state: JobState::Settled {
            remote_task_id: Some(remote_id("r-0")),
            remote: updated(TaskState::Completed, "Rain.", 2),
        },
        artifacts: vec![forecast()],
        updated_at: later(2),
        ..linked(first.clone(), "r-0", TaskState::Working, 2)
    };
    let bare = Job {
        state: JobState::Settled {
            remote_task_id: Some(remote_id("r-1")),
            remote: RemoteUpdate::of(TaskState::Completed),
        },
        fetches: 2,
        sender_keys: vec!["key".to_owned()],
        ..linked(second.clone(), "r-1", TaskState::Working, 2)
    };
    let mut heard = bare.clone();
    heard.heard.take(Some("delivery"), later(2));
    let waiting = Job {
        protection: Some(Protection {
            provider: "idp".to_owned(),
            scopes: vec!["orders.read".to_owned()],
            consent: Some(AwaitedConsent {
                id: "consent-1".to_owned(),
                expires_at: later(86_400),
            }),
            granted_at: None,
        }),
        ..third.clone()
    };
    let asking = linked(fourth.clone(), "r-3", TaskState::InputRequired, 4);
    vec![
        vec![
            EventKind::status(TaskState::Working, Some(said("s-1", "I ask Weather."))),
            job_event(&first),
            job_event(&second),
        ],
        vec![
            job_event(&settled),
            job_event(&heard),
            EventKind::artifact(forecast()),
        ],
        vec![
            note(WorkNote::Checkpoint {
                reached: json!({"step": 2}),
            }),
            note(WorkNote::Stumbled {
                stumble: Stumble {
                    attempt: 1,
                    reason: "away".to_owned(),
                },
            }),
            note(WorkNote::Direct),
        ],
        vec![job_event(&third), job_event(&waiting), job_event(&asking)],
        vec![EventKind::status(
            TaskState::InputRequired,
            Some(said("s-2", "Which day?")),
        )],
        vec![EventKind::Said {
            message: Message::user(message_id("u-2"), vec![Part::text("Tomorrow.")]),
        }],
    ]
}

/// One write of a task's life.
fn revision(task: Task, kinds: Vec<EventKind>, at: u64) -> Revision {
    let mut revision = Revision::of(task);
    for kind in kinds {
        revision.record(kind, later(at)).unwrap();
    }
    revision
}

/// Every task of the sample, with the writes of its life.
fn tasks() -> Vec<(Task, Vec<Vec<EventKind>>)> {
    let mut busy_born = born(1, "Will it rain in Oslo tomorrow?");
    busy_born.push_configs = vec![
        PushConfigId::parse("c").unwrap(),
        PushConfigId::parse("d").unwrap(),
    ];
    let done = EventKind::status(
        TaskState::Completed,
        Some(Message::agent_text(message_id("s-3"), "Rain.")),
    );
    let canceled = || EventKind::status(TaskState::Canceled, None);
    let working = || EventKind::status(TaskState::Working, None);
    // More than fits into an item, and a write more than fits into an entry of the log.
    let bulk = || Artifact::new("bulk", vec![Part::text("Oslo ".repeat(80_000))]);
    vec![
        (busy_born, busy()),
        (
            born(2, "large"),
            vec![vec![working(), EventKind::artifact(bulk())]],
        ),
        (born(3, "done"), vec![vec![EventKind::artifact(forecast()), done]]),
        (
            born(4, "off"),
            vec![vec![job_event(&job(0, 1))], vec![canceled()]],
        ),
        (
            born(5, "lost"),
            vec![vec![EventKind::status(TaskState::Unknown, None)]],
        ),
        (
            born(6, "thought about"),
            vec![vec![
                note(WorkNote::Turn {
                    turn: Box::new(turn()),
                }),
                job_event(&job(0, 1)),
            ]],
        ),
        (
            born(7, "planned"),
            vec![vec![
                job_event(&job(0, 1)),
                note(WorkNote::Plan {
                    plan: Box::new(plan()),
                }),
            ]],
        ),
    ]
}

/// The tasks as they are after their writes.
fn tasks_now() -> Vec<Task> {
    let lived = |(born, writes): (Task, Vec<Vec<EventKind>>)| {
        let writes = writes.into_iter().zip(1..);
        writes.fold(born, |task, (kinds, at)| revision(task, kinds, at).into_task())
    };
    tasks().into_iter().map(lived).collect()
}

async fn write_tasks(store: &Store) {
    let tasks_table = store.tasks();
    for (born, writes) in tasks() {
        let key = TaskKey::from(&born);
        let id = born.history[0].message_id.clone();
        let push = born.push_configs.first().map(|id| push_config(id.as_str()));
        let mut created = born.clone();
        created.push_configs.truncate(1);
        let new = NewRecord {
            task: &created,
            message_id: &id,
            body_hash: "hash",
            push: push.as_ref(),
            due_at: later(5),
            retention: seconds(3600),
        };
        assert_eq!(tasks_table.create(&new).await.unwrap(), Created::New);
        if let Some(second) = born.push_configs.get(1) {
            let config = push_config(second.as_str());
            tasks_table.put_push(&key, &config, 1, now()).await.unwrap();
        }
        for (kinds, at) in writes.into_iter().zip(1..) {
            let stored = tasks_table.find(&key, later(at)).await.unwrap().unwrap();
            let revision = revision(stored.task, kinds, at);
            let committed = tasks_table.commit(&revision, Due::Keep, LeaseAfter::Keep).await;
            assert_eq!(committed.unwrap(), Committed::Yes);
        }
    }
    let [busy, _, _, off, ..] = &tasks_now()[..] else {
        panic!()
    };
    let (key, off) = (TaskKey::from(busy), TaskKey::from(off));
    let leased = tasks_table
        .lease(&key, "worker", later(9), later(39))
        .await
        .unwrap();
    assert!(matches!(leased, Leased::Taken(_)));
    // One delivery is claimed, one parked.
    let [claimed, parked] = &busy.push_configs[..] else {
        panic!()
    };
    for config in [claimed, parked] {
        let claim = tasks_table
            .claim_push(&key, config, "pusher", later(9), later(54))
            .await;
        assert!(claim.unwrap().is_some());
    }
    let settled = Settled {
        delivered: 3,
        numbered: 0,
        attempts: 9,
        at: later(3),
        due: Due::Never,
        last_error: Some("410 Gone"),
    };
    tasks_table
        .settle_push(&key, parked, "pusher", settled)
        .await
        .unwrap();
    tasks_table
        .put_stray(&off, 0, &remote_id("r-9"), later(600))
        .await
        .unwrap();
    assert!(tasks_table.put_draft(&key, &draft(), later(9)).await.unwrap());
}

/// The words of an answer under way, which releases before 5 did not show.
fn draft() -> AnswerDraft {
    AnswerDraft {
        turn: 1,
        attempt: 101,
        text: "Light showers, ".to_owned(),
    }
}

/// Reservations that are always called the same.
struct Numbered(u8);

impl Entropy for Numbered {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

const TAKEN: TokenUsage = TokenUsage {
    input: 300,
    output: 50,
    cached: 100,
};

/// Tokens of one call that ended and of one under way, which releases before 5 did not count.
async fn write_usage(store: &Store) {
    let (usage, acme) = (store.usage(), tenant("acme"));
    let mut holds = Vec::new();
    for number in [1, 2] {
        let entropy = Numbered(number);
        let hold = usage.reserve(&acme, 1_000, Some(9_000), (now(), &entropy));
        holds.push(hold.await.unwrap().unwrap());
    }
    usage.settle(&acme, &holds[0], "openai:gpt", TAKEN).await.unwrap();
}

/// That an agent has asked for a sign-in, which releases before 5 did not note.
async fn write_private(store: &Store) {
    let weather = AgentType::parse("weather").unwrap();
    let types = store.private_types();
    types.note(&tenant("acme"), &weather, now()).await.unwrap();
    // Once more, and later: it stays as it is.
    types.note(&tenant("acme"), &weather, later(9)).await.unwrap();
}

async fn reads_private(store: &Store) {
    let types = store.private_types();
    for (name, tenant_name, has) in [
        ("weather", "acme", true),
        ("weather", "globex", false),
        ("report", "acme", false),
    ] {
        let agent_type = AgentType::parse(name).unwrap();
        let told = types.has(&tenant(tenant_name), &agent_type).await.unwrap();
        assert_eq!(told, has, "{name} {tenant_name}");
    }
}

async fn reads_usage(store: &Store) {
    let day = store::day_of(now());
    let told = store.usage().of_day(&tenant("acme"), day).await.unwrap().unwrap();
    let model = told.models["openai:gpt"];
    assert_eq!(
        (told.used, told.reserved, model.calls, model.tokens),
        (1_350, 1_000, 1, TAKEN)
    );
}

fn chat_id() -> ChatId {
    ChatId::parse("chat-1").unwrap()
}

fn chat_message() -> StoredMessage {
    StoredMessage {
        id: message_id("ui-1"),
        at: later(1),
        body: json!({"id": "ui-1", "role": "user", "parts": [{"type": "text", "text": "Oslo?"}]}),
        edits: 0,
    }
}

/// The answer to it, which releases before 3 did not keep.
fn chat_answer() -> StoredMessage {
    StoredMessage {
        id: message_id("answer-1"),
        at: later(2),
        body: json!({"id": "answer-1", "role": "assistant", "parts": [{"type": "text", "text": "Rain."}]}),
        edits: 0,
    }
}

fn grant_key<'a>(tenant: &'a Tenant, owner: &'a Owner) -> GrantKey<'a> {
    GrantKey {
        tenant,
        owner,
        provider: "idp",
        resource: "https://agents.example/horizon",
    }
}

/// The body of a consent, which the room `consent` reads and writes; its tests read these files as well.
#[derive(Clone, serde::Serialize)]
struct Consent {
    v: u32,
    id: String,
    owner: Owner,
    agent: AgentName,
    task_id: TaskId,
    job: u32,
    provider: String,
    issuer: String,
    resource: String,
    scopes: Vec<String>,
    sealed: String,
    state_hash: Option<String>,
    browser_hash: Option<String>,
    status: &'static str,
    code_hash: Option<String>,
    sealed_result: Option<String>,
    wrong_codes: BTreeSet<MessageId>,
    created_at: Timestamp,
    expires_at: Timestamp,
    version: u64,
}

impl Consent {
    fn write(&self) -> ConsentWrite<'_, Self> {
        ConsentWrite {
            id: &self.id,
            owner: &self.owner,
            document: self,
            version: self.version,
            expires_at: self.expires_at,
        }
    }
}

fn consent(id: &str) -> Consent {
    Consent {
        v: domain::RECORDS,
        id: id.to_owned(),
        owner: owner("user-1"),
        agent: host(),
        task_id: TaskId::from_bytes([1; 16]),
        job: 2,
        provider: "idp".to_owned(),
        issuer: "https://idp.example/acme".to_owned(),
        resource: "https://agents.example/horizon".to_owned(),
        scopes: vec!["orders.read".to_owned()],
        sealed: "v1.k.sealed".to_owned(),
        state_hash: None,
        browser_hash: None,
        status: "open",
        code_hash: None,
        sealed_result: None,
        wrong_codes: [message_id("wrong")].into(),
        created_at: now(),
        expires_at: later(86_400),
        version: 1,
    }
}

/// The session of somebody who has signed in.
fn signed_in() -> Session {
    Session {
        owner: owner("person-1"),
        created_at: now(),
        expires_at: Timestamp::from_millis(later(3600).seconds() * 1000),
        person: Some(Person {
            issuer: "https://idp.example/acme".to_owned(),
            subject: owner("user-1"),
            username: "ann".to_owned(),
            auth_time: now(),
            id: None,
            sid: None,
            proof: None,
        }),
        guest: None,
        pushes: store::Pushes::default(),
    }
}

async fn write_sessions(store: &Store) {
    let (acme, ann) = (tenant("acme"), owner("user-1"));
    let sessions = store.sessions();
    sessions
        .create_session(&acme, "session-hash", &ann, now(), later(3600))
        .await
        .unwrap();
    let signed_in = signed_in();
    sessions
        .begin_session(&acme, "signed-in-hash", &signed_in)
        .await
        .unwrap();
    let opened = sessions
        .open_chat(&acme, &ann, &chat_id(), "A trip", now())
        .await
        .unwrap();
    assert!(matches!(opened, Opened::New(_)));
    let place = chat_id().of_owner(&ann);
    let added = sessions.add_first(&acme, &place, &chat_message()).await.unwrap();
    assert_eq!(added, Added::New);
    sessions
        .keep_answer(&acme, &place, &chat_answer(), now())
        .await
        .unwrap();
    let thought = (TaskId::from_bytes([6; 16]), Some(Verdict::Good));
    sessions
        .keep_feedback(&acme, &place, thought, now())
        .await
        .unwrap();
    let grants = store.grants();
    let scopes = ["orders.read".to_owned()];
    grants
        .put_grant(store::GivenGrant {
            key: grant_key(&acme, &ann),
            scopes: &scopes,
            sealed: "v1.k.grant",
            person: None,
            now: now(),
        })
        .await
        .unwrap();
    for id in ["consent-1", "consent-2"] {
        assert!(grants.put_consent(&acme, consent(id).write()).await.unwrap());
    }
    let started = Consent {
        state_hash: Some("state-hash".to_owned()),
        browser_hash: Some("browser".to_owned()),
        status: "started",
        version: 2,
        ..consent("consent-2")
    };
    let write = grants.update_consent(&acme, started.write(), Some("state-hash"));
    assert!(write.await.unwrap());
}

fn registered() -> RegisteredAgent {
    RegisteredAgent {
        id: AgentId::from_bytes([7; 16]),
        tenant: None,
        card_url: "https://agents.example/x/.well-known/agent-card.json"
            .parse()
            .unwrap(),
        card: json!({"name": "Weather", "skills": []}),
        skills: vec![vec![Tag::parse("type:weather").unwrap()]],
        registered_at: now(),
        health: Health {
            ok: true,
            checked_at: now(),
            reason: None,
        },
        signature: CardSignature::Good { kid: "k".to_owned() },
        disabled: false,
        link_hosts: Vec::new(),
        pending: None,
    }
}

async fn write_registry(store: &Store) {
    let registry = store.registry();
    let weather = AgentType::parse("weather").unwrap();
    let declared = registry.declare_type(&weather, TypeScope::Global).await.unwrap();
    assert_eq!(declared, Declared::New);
    assert_eq!(registry.put(&registered()).await.unwrap(), Put::Yes);
}

fn user() -> User {
    User {
        username: "ann".to_owned(),
        subject: owner("user-1"),
        display_name: "Ann".to_owned(),
        password_hash: "$argon2id$".to_owned(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    }
}

fn client() -> Client {
    Client {
        client_id: "host".to_owned(),
        name: "The host".to_owned(),
        secret_hash: Some("secret-hash".to_owned()),
        redirect_uris: vec!["https://acme.example/callback".to_owned()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".to_owned()],
        scopes: vec!["orders.read".to_owned()],
        resources: vec!["https://agents.example/horizon".to_owned()],
        public: false,
    }
}

fn code() -> Code {
    Code {
        client_id: "host".to_owned(),
        redirect_uri: "https://acme.example/callback".to_owned(),
        subject: owner("user-1"),
        scope: "orders.read".to_owned(),
        resource: "https://agents.example/horizon".to_owned(),
        challenge: "challenge".to_owned(),
        nonce: None,
        auth_time: now(),
        issued_at: now(),
        expires_at: later(60),
    }
}

fn family() -> Family {
    Family {
        id: "family-1".to_owned(),
        client_id: "host".to_owned(),
        subject: owner("user-1"),
        scope: "orders.read".to_owned(),
        resource: "https://agents.example/horizon".to_owned(),
        refresh_hash: "refresh-hash".to_owned(),
        auth_time: None,
        generation: 1,
        expires_at: later(3600),
        revoked: false,
    }
}

fn login() -> Login {
    Login {
        subject: owner("user-1"),
        username: "ann".to_owned(),
        auth_time: now(),
        expires_at: later(3600),
    }
}

fn vouched() -> SessionIssuer {
    SessionIssuer {
        issuer: "https://acme.example".to_owned(),
        keys: vec![json!({"kty": "EC", "kid": "s"})],
        browser_keys: Vec::new(),
    }
}

async fn write_identity(store: &Store) {
    let (acme, ann) = (tenant("acme"), owner("user-1"));
    let identity = store.identity();
    identity.put_user(&acme, &user()).await.unwrap();
    identity.put_client(&acme, &client()).await.unwrap();
    let (resource, scopes) = (code().resource, ["orders.read".to_owned()]);
    identity
        .put_consent(&acme, &ann, "host", &resource, &scopes)
        .await
        .unwrap();
    identity.put_code(&acme, "code-hash", &code()).await.unwrap();
    identity.put_code(&acme, "used-hash", &code()).await.unwrap();
    let redeemed = identity
        .redeem_code(&acme, "used-hash", "family-1", later(1))
        .await;
    assert_eq!(redeemed.unwrap(), Redeemed::Fresh(code()));
    assert!(identity.put_family(&acme, &family()).await.unwrap());
    identity.put_login(&acme, "login-hash", &login()).await.unwrap();
    identity
        .count_failure(&acme, &store::Brake::Name("ann"), now())
        .await
        .unwrap();
    identity.put_session_issuer(&acme, &vouched()).await.unwrap();
}

fn order() -> Order {
    Order {
        id: "A-1".to_owned(),
        customer: Some(owner("user-1")),
        status: OrderStatus::Shipped,
        items: vec![OrderItem {
            name: "Kettle".to_owned(),
            quantity: 1,
        }],
        placed_at: now(),
        eta: None,
        updated_at: now(),
    }
}

/// Writes one record of every kind.
pub(crate) async fn written() -> (Store, Database) {
    let (store, database) = store_testing::start().await;
    write_tasks(&store).await;
    write_usage(&store).await;
    write_private(&store).await;
    write_sessions(&store).await;
    write_registry(&store).await;
    write_identity(&store).await;
    store.orders().put_order(&tenant("acme"), &order()).await.unwrap();
    (store, database)
}

fn read(name: &str) -> Items {
    let text = std::fs::read_to_string(file(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn table(name: &str) -> String {
    format!("switchyard-{name}")
}

/// What one file holds, in tables of its own.
async fn loaded(name: &str) -> (Store, Database) {
    let (store, database) = store_testing::start().await;
    for (name, items) in read(name) {
        for item in &items {
            database.put(&table(&name), item);
        }
    }
    (store, database)
}

/// The keys of records that are not among the oldest.
const ADDED: [(&str, &str); 7] = [
    ("sessions", "acme#chat#of-de43adb5-15a1-5f75-add5-69ed78c6a55d"),
    ("tasks", "acme#host#message#user-1#m-6"),
    ("tasks", "acme#host#message#user-1#m-7"),
    ("tasks", "acme#host#task#06060606-0606-0606-0606-060606060606"),
    ("tasks", "acme#host#task#07070707-0707-0707-0707-070707070707"),
    ("tasks", "acme#host#private#weather"),
    ("tasks", "acme#host#usage#2026-01-01"),
];

/// What lies under the keys of the oldest records, and of those that were added since.
fn dump(database: &Database) -> Items {
    let in_table = |(name, items): (String, Vec<Value>)| {
        let mut partitions: BTreeSet<_> = items
            .iter()
            .map(|item| item["pk"]["S"].as_str().unwrap())
            .collect();
        let added = ADDED.iter().filter(|(table, _)| *table == name);
        partitions.extend(added.map(|(_, key)| *key));
        let items = partitions
            .into_iter()
            .flat_map(|pk| database.items(&table(&name), pk));
        let items = items.collect();
        (name, items)
    };
    read(BEFORE).into_iter().map(in_table).collect()
}

#[tokio::test]
#[ignore = "writes the file of this release"]
async fn this_releases_records_are_written_down() {
    let (_store, database) = written().await;
    let tables = dump(&database).into_iter().map(|(table, items)| {
        let rows: Vec<String> = items.iter().map(|item| format!("    {item}")).collect();
        format!("  {table:?}: [\n{}\n  ]", rows.join(",\n"))
    });
    let text = format!("{{\n{}\n}}\n", tables.collect::<Vec<_>>().join(",\n"));
    std::fs::write(file(&format!("{}.json", domain::RECORDS)), text).unwrap();
}

/// Everything that is read of the records, against the sample; the store's own marks are not looked at.
async fn reads_all(store: &Store, release: u32) {
    reads_tasks(store, release).await;
    if release >= 5 {
        reads_usage(store).await;
        reads_private(store).await;
    }
    reads_sessions(store).await;
    reads_identity(store).await;
    let registry = store.registry();
    let found = registry.find(Visibility::Global, &registered().id).await.unwrap();
    assert_eq!(found, Some(registered()));
    let tag = Tag::parse("type:weather").unwrap();
    assert_eq!(
        registry.by_tag(Visibility::Global, &tag).await.unwrap(),
        [registered()]
    );
    let weather = AgentType::parse("weather").unwrap();
    let declared = registry.types().await.unwrap();
    let declared = declared.iter().find(|known| known.name == weather);
    assert_eq!(declared.map(|known| known.scope), Some(TypeScope::Global));
    let found = store.orders().find_order(&tenant("acme"), "A-1").await.unwrap();
    assert_eq!(found, Some(order()));
}

async fn reads_tasks(store: &Store, release: u32) {
    let table = store.tasks();
    let written = match release {
        0..4 => 5,
        4 => 6,
        _ => 7,
    };
    for (expected, (born, writes)) in tasks_now().into_iter().zip(tasks()).take(written) {
        let key = TaskKey::from(&expected);
        let stored = table.find(&key, later(9)).await.unwrap().unwrap();
        assert_eq!(stored.task, expected);
        let log = table.events(&key, 0, 1000).await.unwrap();
        let seqs: Vec<u64> = log.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=expected.rev).collect::<Vec<_>>());
        let mut replayed = born.clone();
        for event in &log[1..] {
            replayed.record(event.kind.clone(), event.at).unwrap();
        }
        replayed.jobs.clone_from(&expected.jobs);
        assert_eq!(replayed, expected);
        // The same message does not make a second task.
        let id = &born.history[0].message_id;
        let again = Task {
            id: TaskId::from_bytes([99; 16]),
            ..born.clone()
        };
        let repeat = NewRecord {
            task: &again,
            message_id: id,
            body_hash: "hash",
            push: None,
            due_at: later(5),
            retention: seconds(3600),
        };
        assert_eq!(
            table.create(&repeat).await.unwrap(),
            Created::Repeated(Box::new(stored))
        );
        assert!(!writes.is_empty());
    }
    let [busy, _, _, off, ..] = &tasks_now()[..] else {
        panic!()
    };
    let key = TaskKey::from(busy);
    let stored = table.find(&key, later(9)).await.unwrap().unwrap();
    assert_eq!(
        stored.lease.map(|lease| (lease.holder, lease.until)),
        Some(("worker".to_owned(), later(39)))
    );
    assert_eq!(
        table.list_pushes(&key).await.unwrap(),
        [push_config("c"), push_config("d")]
    );
    let stray = table.stray(&TaskKey::from(off), 0).await.unwrap();
    assert_eq!(stray, Some(remote_id("r-9")));
    let expected = (release >= 5).then(draft);
    assert_eq!(table.draft(&key, later(9)).await.unwrap(), expected);
    // The claim of one delivery ends, and it is made anew.
    let claim = table
        .claim_push(&key, &busy.push_configs[0], "next", later(60), later(90))
        .await
        .unwrap();
    assert_eq!(claim.map(|claim| claim.delivered), Some(1));
}

async fn reads_sessions(store: &Store) {
    let (acme, ann) = (tenant("acme"), owner("user-1"));
    let sessions = store.sessions();
    let session = sessions.find_session(&acme, "session-hash", now()).await.unwrap();
    assert_eq!(session.map(|session| session.owner), Some(ann.clone()));
    // Releases before knew guests alone.
    let found = sessions
        .find_session(&acme, "signed-in-hash", now())
        .await
        .unwrap();
    assert!(found.is_none_or(|session| session == signed_in()));
    let chat = sessions
        .find_chat(&acme, &ann, &chat_id(), now())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(chat.title, "A trip");
    // Another owner's chat of that id is another one, also where the first is of a release that knew one id for all.
    let others = sessions
        .find_chat(&acme, &owner("somebody-else"), &chat_id(), now())
        .await;
    assert_eq!(others.unwrap(), None);
    let conversation = sessions.conversation(&acme, chat.place(), now()).await.unwrap();
    assert_eq!(conversation.messages, [chat_message()]);
    assert!(conversation.answers.iter().all(|answer| *answer == chat_answer()));
    let grants = store.grants();
    let grant = grants.find_grant(grant_key(&acme, &ann)).await.unwrap();
    assert_eq!(grant.map(|grant| grant.sealed), Some("v1.k.grant".to_owned()));
    for (id, status) in [("consent-1", "open"), ("consent-2", "started")] {
        let found: Option<Value> = grants.find_consent(&acme, id).await.unwrap();
        assert_eq!(found.unwrap()["status"], status);
    }
    let state = grants.take_state(&acme, "state-hash", now()).await.unwrap();
    assert_eq!(state.as_deref(), Some("consent-2"));
}

async fn reads_identity(store: &Store) {
    let (acme, ann) = (tenant("acme"), owner("user-1"));
    let identity = store.identity();
    assert_eq!(identity.find_user(&acme, "ann").await.unwrap(), Some(user()));
    assert_eq!(identity.find_client(&acme, "host").await.unwrap(), Some(client()));
    let scopes = identity
        .find_consent(&acme, &ann, "host", &code().resource)
        .await
        .unwrap();
    assert_eq!(scopes, ["orders.read"]);
    let fresh = identity
        .redeem_code(&acme, "code-hash", "family-2", later(1))
        .await
        .unwrap();
    assert_eq!(fresh, Redeemed::Fresh(code()));
    let used = identity
        .redeem_code(&acme, "used-hash", "family-2", later(1))
        .await
        .unwrap();
    let family_id = "family-1".to_owned();
    assert_eq!(used, Redeemed::Replayed { family_id });
    assert_eq!(
        identity.find_family(&acme, "family-1", now()).await.unwrap(),
        Some(family())
    );
    assert_eq!(
        identity.find_login(&acme, "login-hash", now()).await.unwrap(),
        Some(login())
    );
    assert_eq!(
        identity
            .find_throttle(&acme, &store::Brake::Name("ann"), now())
            .await
            .unwrap()
            .failures,
        1
    );
    assert_eq!(
        identity.find_session_issuer(&acme).await.unwrap(),
        Some(vouched())
    );
}

#[tokio::test]
async fn the_records_of_every_release_are_read() {
    for entry in std::fs::read_dir(file("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (store, _database) = loaded(&name).await;
        let release = name.trim_end_matches(".json").parse().unwrap_or(0);
        reads_all(&store, release).await;
    }
    let (store, _database) = written().await;
    reads_all(&store, domain::RECORDS).await;
}

#[tokio::test]
async fn a_task_of_before_is_changed_and_read_again() {
    let (store, _database) = loaded(BEFORE).await;
    let [busy, ..] = &tasks_now()[..] else { panic!() };
    let key = TaskKey::from(busy);
    let stored = store.tasks().find(&key, later(9)).await.unwrap().unwrap();
    assert_eq!(stored.task.unanswered, Some(message_id("u-2")));
    let said = EventKind::status(TaskState::Working, Some(message("On it.")));
    let next = revision(stored.task, vec![said], 10);
    let committed = store.tasks().commit(&next, Due::Keep, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let read = store.tasks().find(&key, later(10)).await.unwrap().unwrap();
    assert_eq!(
        (read.task.unanswered.clone(), read.task),
        (None, next.into_task())
    );
}

/// A change of what is written that nobody noticed would be lost on older releases.
#[tokio::test]
async fn what_is_written_is_what_is_written_down_for_this_version() {
    let (_store, database) = written().await;
    let now: Items = dump(&database);
    let then = read(&format!("{}.json", domain::RECORDS));
    for (table, items) in &now {
        assert_eq!(items.len(), then[table].len(), "{table}");
        for (item, known) in items.iter().zip(&then[table]) {
            assert_eq!(shape(item), shape(known), "{table}");
        }
    }
}

/// An item without the marks that the store draws by lot.
fn shape(item: &Value) -> Value {
    let mut item = item.clone();
    for mark in ["edition", "written_by", "taken_by"] {
        if let Some(value) = item.get_mut(mark) {
            *value = Value::Null;
        }
    }
    item
}
