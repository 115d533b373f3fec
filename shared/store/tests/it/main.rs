//! The suite of the store: on a database in the same process, with faults injected into the client.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod audit;
mod blobs;
mod cards;
mod chance;
mod configs;
mod consents;
mod costs;
mod drafts;
mod erasure;
mod export;
mod faults;
mod golden;
mod grants;
mod identity;
mod kinds;
mod leases;
mod ledger;
mod listings;
mod logins;
mod newer;
mod orders;
mod overview;
mod pieces;
mod purge;
mod pushes;
mod queries;
mod retention;
mod revising;
mod seeded;
mod sessions;
mod strays;
mod subscriptions;
mod tasks;
mod tenants;
mod usage;
mod vectors;

use std::time::Duration;

use domain::{
    AgentName, ContextId, EventKind, Generation, Message, MessageId, NewTask, Owner, Part, PushConfigId,
    Revision, SystemEntropy, Task, TaskId, TaskState, Tenant, Timestamp,
};

use serde_json::{Value, json};
use store::{
    Committed, Created, Due, LeaseAfter, NewRecord, Page, PageRequest, PushConfig, Store, StoreError, TaskKey,
};

/// Longest body of a task, in bytes.
const MOST: usize = 3_000_000;

/// The suite's present.
fn now() -> Timestamp {
    Timestamp::from_millis(1_767_225_600_500)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn later(by: u64) -> Timestamp {
    now().after(seconds(by))
}

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

fn message_id(text: &str) -> MessageId {
    MessageId::parse(text).unwrap()
}

fn message(text: &str) -> Message {
    Message::user(message_id("m"), vec![Part::text(text)])
}

/// A new task of one owner at one agent.
fn task_of(tenant_name: &str, agent_name: &str, owner_name: &str, at: Timestamp) -> Task {
    let new = NewTask {
        id: TaskId::random(&SystemEntropy),
        tenant: tenant(tenant_name),
        agent: agent(agent_name),
        context_id: ContextId::parse("trip").unwrap(),
        owner: owner(owner_name),
        message: message("Oslo?"),
        trace: None,
    };
    Task::create(new, at)
}

fn task() -> Task {
    task_of("acme", "weather", "user-1", now())
}

fn push_config(id: &str) -> PushConfig {
    PushConfig {
        id: PushConfigId::parse(id).unwrap(),
        url: "https://hooks.example/a".parse().unwrap(),
        generation: Generation::V1_0,
        sealed_token: Some("v1.k.sealed".into()),
        scheme: None,
        sealed_credentials: None,
        every_event: false,
    }
}

async fn create_as(store: &Store, task: &Task, message: &str, hash: &str) -> Created {
    let id = message_id(message);
    let new = NewRecord {
        task,
        message_id: &id,
        body_hash: hash,
        push: None,
        due_at: later(5),
        retention: seconds(3600),
    };
    store.tasks().create(&new).await.unwrap()
}

/// Stores the task under a message id of its own.
async fn created(store: &Store, task: &Task) -> TaskKey {
    assert_eq!(
        create_as(store, task, &task.id.to_string(), "hash").await,
        Created::New
    );
    TaskKey::from(task)
}

/// The task as it lies in the table.
async fn read(store: &Store, task: &Task) -> Task {
    let found = store.tasks().find(&TaskKey::from(task), now()).await.unwrap();
    found.unwrap().task
}

/// Where the task lies in the table.
fn place(key: &TaskKey) -> (String, String) {
    let TaskKey { tenant, agent, id } = key;
    (
        format!("{}#{agent}#task#{id}", tenant.prefix()),
        "TASK".to_owned(),
    )
}

/// A key in DynamoDB's JSON.
fn keyed((pk, sk): (String, String)) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": sk } })
}

/// A revision of the task by one status.
fn revised(task: &Task, state: TaskState, at: Timestamp) -> Revision {
    let mut revision = Revision::of(task.clone());
    revision.record(EventKind::status(state, None), at).unwrap();
    revision
}

/// Commits one status, and gives the task as it is then.
async fn step(store: &Store, task: Task, state: TaskState, at: Timestamp) -> Task {
    let revision = revised(&task, state, at);
    let committed = store
        .tasks()
        .commit(&revision, Due::Keep, LeaseAfter::Keep)
        .await
        .unwrap();
    assert_eq!(committed, Committed::Yes);
    revision.into_task()
}

/// A page of an owner's tasks at the agent `weather` of `acme`.
async fn of_user(store: &Store, user: &str, page: PageRequest) -> Result<Page<Task>, StoreError> {
    store
        .tasks()
        .by_owner(&tenant("acme"), &agent("weather"), &owner(user), page, now())
        .await
}

/// The tasks of one conversation of `user-1`.
async fn of_context(store: &Store, context: &str) -> Vec<Task> {
    let context = ContextId::parse(context).unwrap();
    let (acme, weather, user) = (tenant("acme"), agent("weather"), owner("user-1"));
    store
        .tasks()
        .by_context(&acme, &weather, &user, &context, now())
        .await
        .unwrap()
}
