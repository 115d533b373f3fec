//! What a task's record says that it cost is what its work used, counted request by request in the deployed system.

use std::time::Duration;

use domain::price::{self, Units};
use domain::{AgentName, Clock as _, TaskId, Tenant};
use serde_json::{Value, json};
use store::TaskKey;
use system_testing::browser::Browser;
use system_testing::cloud::Cloud;
use system_testing::{Local, User};

/// Orchestrations that are counted.
const RUNS: u32 = 60;
/// Those beside a task: the page's function, the registry, sign-in. They are the row `shared`.
const SHARED: [&str; 3] = ["ChatApiFunction", "RegistryFunction", "IdpFunction"];

/// What all functions used so far, but for time and logs, which debug builds have too much of: of tasks, and shared.
fn counted(cloud: &Cloud) -> [Units; 2] {
    let usage = cloud.gate.usage.lock().unwrap().clone();
    let mut all = [Units::default(); 2];
    for (full, function) in &cloud.functions {
        let used = usage.get(&full.replace('/', "-")).cloned().unwrap_or_default();
        let sent = used.calls.iter().filter(|(call, _)| call.starts_with("sqs:"));
        let own = &mut all[usize::from(SHARED.iter().any(|name| full.ends_with(name)))];
        own.invocations += function.billed().invocations as f64;
        own.reads += used.read_units;
        own.writes += used.write_units;
        own.sends += sent.map(|(_, many)| *many as f64).sum::<f64>();
    }
    all
}

async fn settled(cloud: &Cloud) {
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if cloud.quiet() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tasks_say_that_they_cost_is_what_was_counted() {
    let cloud = Cloud::start(&["acme"]).await;
    let user = cloud.user("acme");
    let warm = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&warm.task_id(), &["completed"]).await;
    settled(&cloud).await;
    let (before, asked_before) = (counted(&cloud), cloud.requests());
    let mut ids = Vec::new();
    for _ in 0..RUNS {
        let asked = user.ask("Will it rain in Oslo tomorrow?").await;
        user.until(&asked.task_id(), &["completed"]).await;
        ids.push(asked.task_id());
    }
    settled(&cloud).await;
    let (after, asked) = (counted(&cloud), cloud.requests() - asked_before);
    let [mut tasks, mut shared] = [0, 1].map(|of| {
        let (now, then) = (after[of], before[of]);
        Units {
            invocations: now.invocations - then.invocations,
            reads: now.reads - then.reads,
            writes: now.writes - then.writes,
            sends: now.sends - then.sends,
            ..Units::default()
        }
    });
    // These functions are asked by APIs alone.
    shared.requests = shared.invocations;
    tasks.requests = asked as f64 - shared.requests;
    let tenant = cloud.stacks["acme"].environment("HostAgentFunction")["TENANT_ID"].clone();
    let tenant = Tenant::from_prefix(&tenant).unwrap();
    let mut said = Vec::new();
    for id in &ids {
        let key = TaskKey {
            tenant: tenant.clone(),
            agent: AgentName::parse("host").unwrap(),
            id: TaskId::parse(id).unwrap(),
        };
        let task = cloud
            .store
            .tasks()
            .find(&key, domain::SystemClock.now())
            .await
            .unwrap()
            .unwrap()
            .task;
        let units = price::units(&task, store::kept_bytes(&task));
        said.push(Units {
            gb_seconds: 0.0,
            stored: 0.0,
            logged: 0.0,
            ..units
        });
    }
    let sum = said.iter().map(Units::dollars).sum::<f64>() + shared.dollars();
    let counted = tasks.dollars() + shared.dollars();
    let apart = (sum / counted - 1.0).abs();
    println!(
        "said {sum:.6}, counted {counted:.6} dollars, of them shared {:.6}",
        shared.dollars()
    );
    assert!(
        apart < 0.01,
        "{apart}: {tasks:?}\n{:?} of {} tasks",
        said[0],
        said.len()
    );
}

/// What tasks cost is told to the tenant's operators, of each day, user, agent and task, and to nobody next door.
#[tokio::test(flavor = "multi_thread")]
async fn what_tasks_cost_is_told_to_the_tenants_own_operators_alone() {
    let local = Local::start().await;
    let mut browser = Browser::default();
    crate::sign_in::sign_in(&local, &mut browser, crate::sign_in::demo(&local, "olga")).await;
    let olga = crate::sign_in::chat_of(&local, &browser);
    let guest = local.user("acme");
    let mut ids = Vec::new();
    for user in [&olga, &guest, &guest] {
        let asked = user.ask("Will it rain in Oslo tomorrow?").await;
        user.until(&asked.task_id(), &["completed"]).await;
        ids.push(asked.task_id());
    }
    let neighbour = local.user("globex");
    let asked = neighbour.ask("Will it rain in Oslo tomorrow?").await;
    neighbour.until(&asked.task_id(), &["completed"]).await;

    let told = async |user: &User| user.get("/api/ops/usage").await;
    let mut spent = Value::Null;
    // The end is counted right after the task has ended.
    for _ in 0..100 {
        spent = told(&olga).await.json()["spent"].take();
        if spent
            .as_array()
            .is_some_and(|rows| rows.iter().map(tasks).sum::<u64>() == 3)
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let rows = spent.as_array().unwrap();
    let mut each: Vec<u64> = rows.iter().map(tasks).collect();
    each.sort_unstable();
    assert_eq!(each, [1, 2], "{spent}");
    assert!(
        rows.iter()
            .all(|row| row["agent"] == "host" && row["failed"] == 0),
        "{spent}"
    );
    let sum: u64 = rows.iter().map(|row| row["microDollars"].as_u64().unwrap()).sum();
    let mut single = 0;
    for id in &ids {
        let task = olga.get(&format!("/api/ops/usage?task={id}")).await.json();
        assert_eq!(
            (&task["state"], &task["ofTokens"]),
            (&json!("completed"), &json!(0)),
            "{task}"
        );
        single += task["microDollars"].as_u64().unwrap();
    }
    assert_eq!(single, sum, "each is what its end was counted with");
    assert!((200..1_000).contains(&sum), "{sum} millionths for three tasks");

    // To others there is no such thing; another tenant's task is none.
    for path in [
        "/api/ops/usage".to_owned(),
        format!("/api/ops/usage?task={}", ids[0]),
        format!("/api/ops/tasks?task={}", ids[0]),
    ] {
        assert_eq!(
            (guest.get(&path).await.status, neighbour.get(&path).await.status),
            (404.try_into().unwrap(), 404.try_into().unwrap())
        );
    }
    for room in ["usage", "tasks"] {
        let foreign = format!("/api/ops/{room}?task={}", asked.task_id());
        assert_eq!(olga.get(&foreign).await.status, 404);
    }
    assert_eq!(olga.get("/api/ops/usage?task=none").await.status, 400);
    local.system.stop().await;
}

fn tasks(row: &Value) -> u64 {
    row["tasks"].as_u64().unwrap()
}
