//! What is known of a tenant: what is set is set alone, what is not known of it stays, and what was read is good for ten
//! seconds.

use std::sync::Arc;
use std::time::Duration;

use domain::{ManualClock, SettingChange, Tenant};
use serde_json::json;
use store::OwnSettings;

use crate::{now, tenant};

fn set(key: &str, value: &str) -> SettingChange {
    SettingChange::parse(key, Some(value)).unwrap()
}

fn unset(key: &str) -> SettingChange {
    SettingChange::parse(key, None).unwrap()
}

#[tokio::test]
async fn settings_are_changed_all_or_none_and_only_of_a_tenant_that_is_known() {
    let (store, _database) = store_testing::start().await;
    let (tenants, acme) = (store.tenants(), tenant("acme"));
    let both = [set("locale", "en-GB"), set("timeZone", "Europe/Oslo")];
    assert!(!tenants.set(&acme, &both).await.unwrap());
    assert_eq!(tenants.settings(&acme).await.unwrap(), None, "nothing came of it");

    tenants.add(&acme).await.unwrap();
    assert!(tenants.set(&acme, &both).await.unwrap());
    let kept = tenants.settings(&acme).await.unwrap().unwrap();
    assert_eq!(
        json!(kept),
        json!({ "locale": "en-GB", "timeZone": "Europe/Oslo" })
    );
    tenants.add(&acme).await.unwrap();
    assert_eq!(
        tenants.settings(&acme).await.unwrap(),
        Some(kept),
        "known already"
    );

    let mixed = [unset("locale"), set("timeZone", "Asia/Tokyo")];
    assert!(tenants.set(&acme, &mixed).await.unwrap());
    assert!(
        tenants.set(&acme, &[unset("locale")]).await.unwrap(),
        "not set: as wanted"
    );
    let kept = tenants.settings(&acme).await.unwrap().unwrap();
    assert_eq!(json!(kept), json!({ "timeZone": "Asia/Tokyo" }));
    assert_eq!(tenants.settings(&tenant("globex")).await.unwrap(), None);

    tenants.remove(&acme).await.unwrap();
    assert_eq!(tenants.settings(&acme).await.unwrap(), None);
    tenants.add(&acme).await.unwrap();
    assert_eq!(
        json!(tenants.settings(&acme).await.unwrap()),
        json!({}),
        "it begins anew"
    );
}

#[tokio::test]
async fn what_a_newer_release_keeps_of_a_tenant_stays() {
    let (store, database) = store_testing::start().await;
    let table = database.tables().tenants;
    let newer = json!({
        "pk": { "S": "acme" }, "sk": { "S": "TENANT" }, "status": { "S": "suspended" }, "plan": { "S": "gold" },
        "settings": { "M": { "tokens_per_day": { "N": "5" }, "locale": { "S": "de" }, "flows": { "L": [] } } },
    });
    database.put(&table, &newer);
    let acme = tenant("acme");
    store.tenants().add(&acme).await.unwrap();
    assert!(
        store
            .tenants()
            .set(&acme, &[set("locale", "en-GB")])
            .await
            .unwrap()
    );
    let mut wanted = newer;
    wanted["settings"]["M"]["locale"]["S"] = "en-GB".into();
    assert_eq!(database.items(&table, "acme"), [wanted]);
    let shown = store.tenants().settings(&acme).await.unwrap();
    assert_eq!(json!(shown), json!({ "locale": "en-GB", "tokens_per_day": "5" }));
}

#[tokio::test]
async fn what_was_read_is_good_for_ten_seconds_and_a_silent_table_fails_nobody() {
    let (store, database) = store_testing::start().await;
    let clock = Arc::new(ManualClock::new(now()));
    // Asked by name, whichever incarnation is served.
    let again = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    let own = OwnSettings::new(store.clone(), again, clock.clone());
    assert_eq!(own.context().await.locale, None);
    store.tenants().add(&tenant("acme")).await.unwrap();
    store
        .tenants()
        .set(&tenant("acme"), &[set("locale", "nb")])
        .await
        .unwrap();
    clock.advance(Duration::from_millis(9_999));
    let (read, calls) = store::counted(own.context()).await;
    assert_eq!((read.locale, calls.total()), (None, 0));
    clock.advance(Duration::from_millis(1));
    let (read, calls) = store::counted(own.context()).await;
    assert_eq!((read.locale.as_deref(), calls.total()), (Some("nb"), 1));

    let silent = store::Store::new(&database.config(), store::Tables::prefixed("nowhere-"));
    let own = OwnSettings::new(silent, tenant("acme"), clock);
    assert_eq!(own.context().await, domain::UserContext::default());
}
