//! Fills the tables: copies of finished tasks, item by item, under new ids.

use domain::{SystemEntropy, TaskId};
use local::System;
use serde_json::{Value, json};
use store::TaskKey;

/// How many tasks are copied over and over.
const PATTERNS: usize = 20;
/// Tasks that are written in one transaction of the engine.
const AT_ONCE: usize = 500;

/// A finished task: its items, and the ids in them that are its own.
struct Pattern {
    items: String,
    ids: Vec<String>,
}

/// Writes so many copies of these tasks.
pub(crate) async fn copies(system: &System, done: &[TaskKey], count: usize) {
    let mut patterns = Vec::new();
    for key in done.iter().rev().take(PATTERNS) {
        patterns.push(pattern(system, key).await);
    }
    assert!(!patterns.is_empty(), "no task was finished");
    let mut written = 0;
    while written < count {
        let batch = AT_ONCE.min(count - written);
        let items = (written..written + batch).flat_map(|number| copy(&patterns[number % patterns.len()]));
        let items = items.collect();
        tokio::task::block_in_place(|| system.import("tasks", items)).expect("the items are taken");
        written += batch;
        if written.is_multiple_of(20 * AT_ONCE) {
            eprintln!("  {written} of {count}");
        }
    }
}

fn copy(pattern: &Pattern) -> Vec<Value> {
    let mut items = pattern.items.clone();
    for id in &pattern.ids {
        items = items.replace(id, &TaskId::random(&SystemEntropy).to_string());
    }
    serde_json::from_str(&items).expect("it was JSON before")
}

async fn pattern(system: &System, key: &TaskKey) -> Pattern {
    let found = system
        .store()
        .tasks()
        .find(key, domain::Clock::now(&domain::SystemClock))
        .await;
    let task = found.expect("the table answers").expect("the task").task;
    let message = &task.history.first().expect("its message").message_id;
    let agent = format!("{}#{}", key.tenant.prefix(), key.agent);
    let mut items = query(system, &format!("{agent}#task#{}", key.id)).await;
    items.extend(query(system, &format!("{agent}#message#{}#{message}", task.owner)).await);
    assert!(
        items.len() >= 4,
        "a task has its own item, a log, a push configuration and a message: {items:?}"
    );
    Pattern {
        items: Value::Array(items).to_string(),
        ids: [
            key.id.to_string(),
            task.context_id.to_string(),
            message.to_string(),
        ]
        .to_vec(),
    }
}

/// Every item of a partition, in DynamoDB's JSON.
async fn query(system: &System, partition: &str) -> Vec<Value> {
    let body = json!({
        "TableName": "switchyard-tasks",
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": { ":pk": { "S": partition } },
    });
    let found = system_testing::dynamodb::call(system.endpoints().database().as_str(), "Query", &body).await;
    found["Items"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| panic!("{found}"))
}
