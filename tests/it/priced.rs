//! What a task's record says that it cost is what its work used, counted request by request in the deployed system.

use std::time::Duration;

use domain::price::{self, Units};
use domain::{AgentName, Clock as _, TaskId, Tenant};
use store::TaskKey;
use system_testing::cloud::Cloud;

/// Orchestrations that are counted.
const RUNS: u32 = 10;
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
    let before = counted(&cloud);
    let mut ids = Vec::new();
    for _ in 0..RUNS {
        let asked = user.ask("Will it rain in Oslo tomorrow?").await;
        user.until(&asked.task_id(), &["completed"]).await;
        ids.push(asked.task_id());
    }
    settled(&cloud).await;
    let after = counted(&cloud);
    let [tasks, shared] = [0, 1].map(|of| {
        let (now, then) = (after[of], before[of]);
        let invocations = now.invocations - then.invocations;
        let sends = now.sends - then.sends;
        Units {
            requests: if of == 0 { invocations - sends } else { invocations },
            invocations,
            reads: now.reads - then.reads,
            writes: now.writes - then.writes,
            sends,
            ..Units::default()
        }
    });
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
