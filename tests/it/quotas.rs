//! Plans in the whole system: what counts as a task, and who is refused.

use std::time::Duration;

use domain::{SettingChange, Tenant};
use reqwest::StatusCode;
use serde_json::json;
use store::{OwnerDay, TenantDay, day_of};
use system_testing::Local;

use crate::tenants::order;

fn tenant(local: &Local, name: &str) -> Tenant {
    let prefix = local.endpoint(&format!("/tenants/{name}/prefix"));
    Tenant::from_prefix(prefix).expect("a tenant")
}

/// The tenant's day, once nothing is at work.
async fn day(local: &Local, tenant: &Tenant) -> (TenantDay, Vec<OwnerDay>) {
    let ledger = local.system.store().ledger();
    let now = domain::Clock::now(local.clock.as_ref());
    for _ in 0..100 {
        let day = ledger.today(tenant, now).await.expect("a day");
        if day.running == 0 {
            let owners = ledger.owners_of_day(tenant, day_of(now)).await;
            return (day, owners.expect("owners"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("something is at work for ever");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_counts_once_whatever_its_host_hands_on() {
    let local = Local::start().await;
    let (user, base) = (local.user("acme"), local.endpoint("/tenants/acme/base"));
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&asked.task_id(), &["completed"]).await;
    order(&user, base, &local.endpoints()["users"]["acme"][0]).await;
    let (day, owners) = day(&local, &tenant(&local, "acme")).await;
    assert_eq!(day.tasks, 2, "{owners:?}");
    let [owner] = owners.as_slice() else {
        panic!("{owners:?}");
    };
    assert_eq!((owner.tasks, owner.running), (2, 0));
    let agents: Vec<_> = owner.agents.iter().collect();
    let [(agent, hours)] = agents.as_slice() else {
        panic!("{agents:?}");
    };
    let ended: u64 = hours.values().map(|hour| hour.ended).sum();
    assert_eq!((agent.as_str(), ended), ("host", 2));
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_used_up_their_day_is_told_so_and_the_tenant_next_door_works_on() {
    let local = Local::start().await;
    let acme = tenant(&local, "acme");
    let set = async |key: &str, value: &str| {
        let change = SettingChange::parse(key, Some(value)).expect("a setting");
        let tenants = local.system.store().tenants();
        assert!(
            tenants
                .set_own(&acme, &[change])
                .await
                .expect("it is set")
                .is_some()
        );
        local.clock.advance(Duration::from_secs(11));
    };
    set("tasks_per_day", "100").await;
    let user = local.user("acme");
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&asked.task_id(), &["completed"]).await;
    let refused = user.chat("c", "m1", "Will it rain in Bergen tomorrow?").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    let told = refused.json();
    let sentence = "You have used today's 1 task; more from 00:00 UTC, or ask your administrator";
    assert_eq!(
        (&told["error"], &told["message"]),
        (&json!("over_quota"), &json!(sentence))
    );
    for other in [local.user("acme"), local.user("globex")] {
        let asked = other.ask("Will it rain in Oslo tomorrow?").await;
        other.until(&asked.task_id(), &["completed"]).await;
    }
    // The plan is raised, and the very same message goes.
    set("tasks_per_day", "300").await;
    let asked = user.chat("c", "m1", "Will it rain in Bergen tomorrow?").await;
    user.until(&asked.task_id(), &["completed"]).await;
    local.system.stop().await;
}
