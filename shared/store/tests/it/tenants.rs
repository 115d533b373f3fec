//! What is known of a tenant: what is set is set alone, what is not known of it stays, and what was read is good for ten
//! seconds.

use std::sync::Arc;
use std::time::Duration;

use domain::{ManualClock, SettingChange, Tenant};
use serde_json::json;
use store::{Logo, OwnSettings, Standing};

use crate::{later, now, tenant};

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
async fn settings_of_a_deployment_lie_beside_those_that_the_chat_may_write() {
    let (store, database) = store_testing::start().await;
    let (tenants, acme) = (store.tenants(), tenant("acme"));
    let always = [set("PLAN_APPROVAL", "always"), set("locale", "nb")];
    assert!(!tenants.set(&acme, &always).await.unwrap(), "nobody knows it");
    tenants.add(&acme).await.unwrap();
    let said = async |tenant: &Tenant| json!(tenants.deployment(tenant, now()).await.unwrap());
    assert_eq!(said(&acme).await, json!({}));

    assert!(
        tenants.set(&acme, &[unset("MODELS")]).await.unwrap(),
        "not set: as wanted"
    );
    assert!(tenants.set(&acme, &always).await.unwrap());
    // What was read of late is not what this process itself has changed.
    assert_eq!(said(&acme).await, json!({ "PLAN_APPROVAL": "always" }));
    let all = tenants.settings(&acme).await.unwrap();
    assert_eq!(json!(all), json!({ "PLAN_APPROVAL": "always", "locale": "nb" }));
    let table = database.tables().tenants;
    let record = &database.items(&table, "acme")[0];
    assert_eq!(record["settings"], json!({ "M": { "locale": { "S": "nb" } } }));
    assert_eq!(
        record["deployment"],
        json!({ "M": { "PLAN_APPROVAL": { "S": "always" } } })
    );

    let mixed = [unset("PLAN_APPROVAL"), set("CHAT_GRACE", "5")];
    assert!(tenants.set(&acme, &mixed).await.unwrap());
    assert_eq!(said(&acme).await, json!({ "CHAT_GRACE": "5" }));
    let again = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    assert_eq!(said(&again).await, json!({}), "another incarnation is a stranger");
    tenants.remove(&acme).await.unwrap();
    assert_eq!(said(&acme).await, json!({}));
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
    let again = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    let own = OwnSettings::new(store.clone(), again.clone(), clock.clone());
    assert_eq!(own.context().await.locale, None);
    store.tenants().add(&again).await.unwrap();
    // By another process.
    let other = store::Store::new(&database.config(), database.tables());
    other.tenants().set(&again, &[set("locale", "nb")]).await.unwrap();
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

#[tokio::test]
async fn another_incarnation_of_a_name_is_a_stranger_and_begins_with_nothing() {
    let (store, _database) = store_testing::start().await;
    let (tenants, first) = (store.tenants(), tenant("acme"));
    let second = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    let standing = async |tenant: &Tenant| tenants.standing(tenant, now()).await.unwrap();

    // Of a tenant that an older release made there may be no record.
    assert_eq!(standing(&first).await, Standing::Active);
    assert_eq!(standing(&second).await, Standing::Gone);
    tenants.add(&first).await.unwrap();
    tenants.set(&first, &[set("locale", "nb")]).await.unwrap();
    assert_eq!(standing(&first).await, Standing::Active);

    tenants.remove(&first).await.unwrap();
    assert_eq!(standing(&first).await, Standing::Gone);
    assert_eq!(tenants.present(&first, now()).await.unwrap(), None);
    assert!(!tenants.set(&first, &[set("locale", "nb")]).await.unwrap());
    assert!(
        !tenants.suspend(&first, None).await.unwrap(),
        "nobody comes back so"
    );

    tenants.add(&second).await.unwrap();
    assert_eq!(
        (standing(&first).await, standing(&second).await),
        (Standing::Gone, Standing::Active)
    );
    assert_eq!(
        tenants.present(&first, now()).await.unwrap(),
        Some(second.clone())
    );
    assert_eq!(json!(tenants.settings(&second).await.unwrap()), json!({}));
    assert_eq!(tenants.settings(&first).await.unwrap(), None);
    assert!(!tenants.set(&first, &[set("locale", "nb")]).await.unwrap());

    // What clears up behind the first leaves the second alone.
    tenants.remove(&first).await.unwrap();
    assert!(!tenants.suspend(&first, Some(now())).await.unwrap());
    assert_eq!(standing(&second).await, Standing::Active);
}

#[tokio::test]
async fn a_suspended_tenant_stays_so_until_it_is_resumed() {
    let (store, _database) = store_testing::start().await;
    let (tenants, acme) = (store.tenants(), tenant("acme"));
    assert!(!tenants.suspend(&acme, Some(now())).await.unwrap(), "not known");
    tenants.add(&acme).await.unwrap();
    tenants.set(&acme, &[set("locale", "nb")]).await.unwrap();
    assert!(tenants.suspend(&acme, Some(now())).await.unwrap());
    tenants.add(&acme).await.unwrap();
    assert_eq!(tenants.standing(&acme, now()).await.unwrap(), Standing::Suspended);
    assert_eq!(
        json!(tenants.settings(&acme).await.unwrap()),
        json!({ "locale": "nb" })
    );
    assert!(tenants.suspend(&acme, None).await.unwrap());
    assert_eq!(tenants.standing(&acme, now()).await.unwrap(), Standing::Active);
}

#[tokio::test]
async fn how_a_tenant_stands_is_read_every_ten_seconds_and_believed_for_a_minute() {
    let (store, database) = store_testing::start().await;
    let acme = tenant("acme");
    store.tenants().add(&acme).await.unwrap();
    let cold = store.clone();
    let at = |seconds| now().after(Duration::from_secs(seconds));
    let look = async |seconds| store::counted(cold.tenants().standing(&acme, at(seconds))).await;
    for (seconds, calls) in [(0, 1), (9, 0), (10, 1), (19, 0)] {
        let (standing, counted) = look(seconds).await;
        assert_eq!(
            (standing.unwrap(), counted.total()),
            (Standing::Active, calls),
            "{seconds}"
        );
    }
    // Another process suspends it, and this one sees it soon.
    let other = database.store();
    assert!(other.tenants().suspend(&acme, Some(now())).await.unwrap());
    assert_eq!(look(19).await.0.unwrap(), Standing::Active);
    assert_eq!(look(20).await.0.unwrap(), Standing::Suspended);

    drop(database);
    assert_eq!(look(79).await.0.unwrap(), Standing::Suspended);
    assert!(look(80).await.0.is_err(), "then nobody is let in");
}

#[tokio::test]
async fn a_logo_is_of_one_incarnation_and_goes_with_it() {
    let (store, _database) = store_testing::start().await;
    let (tenants, first) = (store.tenants(), tenant("acme"));
    let second = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    let logo = || Logo {
        media: "image/png".to_owned(),
        bytes: vec![0, 1, 0xff],
    };
    assert!(
        !tenants.set_logo(&first, Some(("ab12", logo()))).await.unwrap(),
        "nobody knows the tenant"
    );
    tenants.add(&first).await.unwrap();
    assert!(tenants.set_logo(&first, Some(("ab12", logo()))).await.unwrap());
    assert_eq!(tenants.logo(&first).await.unwrap(), Some(logo()));
    let settings = tenants.settings(&first).await.unwrap().unwrap();
    assert_eq!(json!(settings), json!({ "logo": "ab12" }));
    assert!(
        !tenants.set_logo(&second, None).await.unwrap(),
        "another incarnation's"
    );
    assert_eq!(tenants.logo(&second).await.unwrap(), None);

    assert!(tenants.set_logo(&first, None).await.unwrap());
    assert_eq!(tenants.logo(&first).await.unwrap(), None);
    assert!(tenants.set_logo(&first, Some(("cd34", logo()))).await.unwrap());
    tenants.remove(&first).await.unwrap();
    assert_eq!(tenants.logo(&first).await.unwrap(), None, "gone with its tenant");
    tenants.add(&second).await.unwrap();
    let settings = tenants.settings(&second).await.unwrap().unwrap();
    assert_eq!(json!(settings), json!({}));
}

#[tokio::test]
async fn an_admin_sets_what_is_the_tenants_own_and_nothing_of_its_standing() {
    let (store, _database) = store_testing::start().await;
    let (tenants, acme) = (store.tenants(), tenant("acme"));
    let brand = [set("brand", "Acme")];
    assert_eq!(tenants.set_own(&acme, &brand).await.unwrap(), None);
    tenants.add(&acme).await.unwrap();
    assert!(tenants.set(&acme, &[set("tokens_per_day", "5")]).await.unwrap());
    let own = tenants.set_own(&acme, &brand).await.unwrap();
    assert_eq!(json!(own), json!({ "brand": "Acme", "tokens_per_day": "5" }));
    // Two at the same time lose nothing of each other's.
    let (one, two) = ([set("locale", "en-GB")], [set("timeZone", "Europe/Oslo")]);
    let (one, two) = tokio::join!(tenants.set_own(&acme, &one), tenants.set_own(&acme, &two));
    assert!(one.unwrap().is_some() && two.unwrap().is_some());
    let kept = tenants.settings(&acme).await.unwrap();
    assert_eq!(
        json!(kept),
        json!({ "brand": "Acme", "locale": "en-GB", "timeZone": "Europe/Oslo", "tokens_per_day": "5" })
    );
    assert!(tenants.suspend(&acme, Some(now())).await.unwrap());
    tenants.set_own(&acme, &[unset("brand")]).await.unwrap();
    assert_eq!(tenants.standing(&acme, now()).await.unwrap(), Standing::Suspended);
    // Another incarnation of the name is nobody's to set for.
    tenants.remove(&acme).await.unwrap();
    let next = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    tenants.add(&next).await.unwrap();
    assert_eq!(tenants.set_own(&acme, &brand).await.unwrap(), None);
    assert_eq!(json!(tenants.settings(&next).await.unwrap()), json!({}));
}

#[tokio::test]
async fn nothing_of_before_is_shared_again_after_a_suspension_or_a_change_of_that_setting() {
    let (store, _database) = store_testing::start().await;
    let (tenants, acme) = (store.tenants(), tenant("acme"));
    tenants.add(&acme).await.unwrap();
    // Each look is late enough to read anew.
    let looks = std::cell::Cell::new(0);
    let epoch = async || {
        looks.set(looks.get() + 1);
        tenants.sharing(&acme, later(60 * looks.get())).await.unwrap()
    };
    assert_eq!(epoch().await, None, "it is off");
    assert!(tenants.set(&acme, &[set("share", "on")]).await.unwrap());
    let mut seen = vec![epoch().await.unwrap()];
    assert!(tenants.set(&acme, &[set("locale", "en-GB")]).await.unwrap());
    assert_eq!(
        epoch().await,
        seen.first().copied(),
        "another setting changes nothing"
    );
    assert!(tenants.suspend(&acme, Some(now())).await.unwrap());
    assert_eq!(epoch().await, None, "suspended");
    assert!(tenants.suspend(&acme, None).await.unwrap());
    seen.push(epoch().await.unwrap());
    for changes in [[set("share", "off")], [unset("share")]] {
        assert!(tenants.set(&acme, &changes).await.unwrap());
        assert_eq!(epoch().await, None, "{changes:?}");
        let on = tenants.set_own(&acme, &[set("share", "on")]).await.unwrap();
        assert!(on.is_some());
        seen.push(epoch().await.unwrap());
    }
    assert!(seen.is_sorted_by(|before, after| before < after), "{seen:?}");
    // Whoever has the name next begins with nothing shared.
    tenants.remove(&acme).await.unwrap();
    assert_eq!(epoch().await, None);
    let next = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
    tenants.add(&next).await.unwrap();
    assert_eq!(tenants.sharing(&next, later(10_000)).await.unwrap(), None);
    assert_eq!(epoch().await, None, "nor does the one before");
}
