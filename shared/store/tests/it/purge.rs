//! What a removed tenant left behind is removed, all of it and nothing else, however often whoever does it dies; and the count
//! is right.

use std::collections::{BTreeMap, BTreeSet};

use domain::{InvalidId, Tenant};
use serde_json::{Value, json};
use store::{PurgeError, Store};
use store_testing::{Database, Fate};

use crate::{later, now, tenant};

const TABLES: [&str; 5] = ["tasks", "sessions", "registry", "identity", "orders"];

/// An incarnation of acme.
fn acme(number: u32) -> Tenant {
    Tenant::from_prefix(&format!("acme.{number:08x}")).unwrap()
}

fn item(pk: &str, sk: &str) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": sk }, "body": { "S": "what was kept" } })
}

fn name(table: &str) -> String {
    format!("switchyard-{table}")
}

/// Puts a tenant's items of every kind into every table, so many of each.
fn fill(database: &Database, tenant: &Tenant, many: usize) -> BTreeMap<String, u64> {
    let prefix = tenant.prefix();
    let mut counts = BTreeMap::new();
    for table in TABLES {
        let mut put = |pk: String, sk: String| {
            database.put(&name(table), &item(&pk, &sk));
            *counts.entry(table.to_owned()).or_insert(0) += 1;
        };
        for n in 0..many {
            match table {
                "tasks" => {
                    put(format!("{prefix}#host#task#{n}"), "TASK".to_owned());
                    put(format!("{prefix}#host#task#{n}"), "EVENT#00002".to_owned());
                    put(format!("{prefix}#host#usage#{n}"), "USAGE".to_owned());
                }
                "sessions" => {
                    put(format!("{prefix}#session#{n}"), "SESSION".to_owned());
                    put(format!("{prefix}#calendar#state#{n}"), "STATE".to_owned());
                }
                "registry" => {
                    put(format!("{prefix}#agent#{n}"), "AGENT".to_owned());
                    put("global#every".to_owned(), format!("{prefix}#{n}"));
                }
                "identity" => put(format!("{prefix}#user#u{n}"), "USER".to_owned()),
                _ => put(format!("{prefix}#orders"), n.to_string()),
            }
        }
    }
    counts
}

/// Everything that is nobody's business here: other tenants', the platform's, and keys that look alike.
fn bystanders(database: &Database) {
    for prefix in ["acme", "acme-2", "acme.ffffffff", "globex.00000001", "public"] {
        let prefix = Tenant::from_prefix(prefix).unwrap_or_else(|_: InvalidId| Tenant::public());
        fill(database, &prefix, 1);
    }
    for table in TABLES {
        for (pk, sk) in [
            ("global#type", "weather"),
            ("global#agent#acme.00000001#", "acme.00000001#x"),
            ("xacme.00000001#host#task#1", "TASK"),
            ("acme.000000011#host#task#1", "TASK"),
            ("acme.00000001", "TENANT"),
            ("globex#host#task#acme.00000001#1", "acme.00000001#"),
        ] {
            database.put(&name(table), &item(pk, sk));
        }
    }
}

/// All items of all tables but that of tenants, and of that the records alone.
fn everything(database: &Database) -> BTreeSet<String> {
    let tables = TABLES.into_iter().chain(["tenants"]);
    let items = tables.flat_map(|table| {
        let items = database.everything(&name(table)).into_iter();
        let kept = items.filter(move |item| table != "tenants" || item["sk"]["S"] == "TENANT");
        kept.map(move |item| format!("{table} {item}"))
    });
    items.collect()
}

async fn removed(store: &Store, tenant: &Tenant) {
    store.tenants().add(tenant).await.unwrap();
    store.tenants().remove(tenant).await.unwrap();
}

#[tokio::test]
async fn what_is_left_of_removed_incarnations_goes_and_nothing_else() {
    let (store, database) = store_testing::start().await;
    bystanders(&database);
    store.tenants().add(&tenant("globex")).await.unwrap();
    assert_eq!(store.purge().gone(&tenant("acme")).await.unwrap(), []);
    for number in [1, 2] {
        removed(&store, &acme(number)).await;
    }
    store.tenants().add(&acme(3)).await.unwrap();
    let before = everything(&database);
    fill(&database, &acme(3), 3);
    let of_the_present: BTreeSet<_> = everything(&database).difference(&before).cloned().collect();
    let counts = [fill(&database, &acme(1), 40), fill(&database, &acme(2), 1)];

    let purge = store.purge().in_pages_of(7);
    let gone = purge.gone(&tenant("acme")).await.unwrap();
    assert_eq!(gone, [acme(1), acme(2)]);
    for (tenant, counts) in gone.iter().zip(&counts) {
        let purged = purge.run(tenant, now()).await.unwrap();
        assert_eq!(
            (purged.prefix.as_str(), &purged.removed),
            (tenant.prefix(), counts)
        );
        assert!(!purged.settled, "what was under way may still write");
        assert_eq!(
            store.purge().run(tenant, now()).await.unwrap(),
            purged,
            "again: nothing more"
        );
    }
    let after = everything(&database);
    assert_eq!(after, before.union(&of_the_present).cloned().collect());

    // One that comes late is found, and counted with the rest.
    database.put(&name("tasks"), &item("acme.00000001#host#task#late", "TASK"));
    let purged = store.purge().run(&acme(1), later(3600)).await.unwrap();
    assert_eq!(purged.removed["tasks"], counts[0]["tasks"] + 1);
    assert!(purged.settled);
    assert_eq!(everything(&database), after);
    assert_eq!(store.purge().gone(&tenant("acme")).await.unwrap(), [acme(2)]);
}

#[tokio::test]
async fn nothing_of_a_tenant_that_is_here_is_removed() {
    let (store, database) = store_testing::start().await;
    store.tenants().add(&acme(1)).await.unwrap();
    fill(&database, &acme(1), 2);
    for suspended in [false, true] {
        store
            .tenants()
            .suspend(&acme(1), suspended.then(now))
            .await
            .unwrap();
        let before = everything(&database);
        let refused = store.purge().run(&acme(1), now()).await;
        assert!(matches!(refused, Err(PurgeError::Present)), "{refused:?}");
        assert_eq!(everything(&database), before);
    }
    store.tenants().suspend(&acme(1), None).await.unwrap();

    // It comes back while it is being purged: that ends there.
    store.tenants().remove(&acme(1)).await.unwrap();
    let (mortal, death) = database.mortal_store(Fate {
        requests: 12,
        does_one_more: false,
    });
    let purge = mortal.purge().in_pages_of(1);
    let first = acme(1);
    let killed = tokio::select! {
        ended = purge.run(&first, now()) => Some(ended),
        () = death.comes() => None,
    };
    assert!(killed.is_none(), "{killed:?}");
    store.tenants().add(&acme(1)).await.unwrap();
    let before = everything(&database);
    let refused = store.purge().run(&acme(1), now()).await;
    assert!(matches!(refused, Err(PurgeError::Present)), "{refused:?}");
    assert_eq!(everything(&database), before);
}

/// Kills a purge at this request, then lets another process end it; how many requests the killed one got to.
async fn killed_at(database: &Database, store: &Store, tenant: &Tenant, fate: Fate) -> u64 {
    removed(store, tenant).await;
    let before = everything(database);
    let counts = fill(database, tenant, 1);
    let (mortal, death) = database.mortal_store(fate);
    let purge = mortal.purge();
    tokio::select! {
        ended = purge.run(tenant, now()) => drop(ended.unwrap()),
        () = death.comes() => {}
    }
    drop(mortal);
    let missing: Vec<_> = before.difference(&everything(database)).cloned().collect();
    assert!(missing.is_empty(), "{fate:?} took {missing:?}");
    let purged = store.purge().run(tenant, now()).await.unwrap();
    assert_eq!(purged.removed, counts, "{fate:?}");
    assert_eq!(everything(database), before, "{fate:?}");
    death.requests()
}

#[tokio::test]
async fn a_kill_at_any_step_leaves_nothing_behind_and_counts_nothing_twice() {
    let (store, database) = store_testing::start().await;
    bystanders(&database);
    let never = Fate {
        requests: u64::MAX,
        does_one_more: false,
    };
    let steps = killed_at(&database, &store, &acme(1), never).await;
    assert!(steps > 40, "{steps}");
    for requests in 0..steps {
        for does_one_more in [false, true] {
            let fate = Fate {
                requests,
                does_one_more,
            };
            let number = u32::try_from(requests * 2).unwrap() + u32::from(does_one_more) + 2;
            killed_at(&database, &store, &acme(number), fate).await;
        }
    }
}

#[tokio::test]
async fn one_kill_after_the_other_comes_to_an_end() {
    let (store, database) = store_testing::start().await;
    bystanders(&database);
    let mut all = 0;
    for seed in 1..=20_u32 {
        let tenant = acme(seed);
        removed(&store, &tenant).await;
        let before = everything(&database);
        let counts = fill(&database, &tenant, 6);
        let (mut dice, mut kills) = (u64::from(seed), 0);
        let purged = loop {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (mortal, death) = database.mortal_store(Fate {
                requests: 8 + (dice >> 33) % 60,
                does_one_more: dice >> 63 == 1,
            });
            let purge = mortal.purge().in_pages_of(30);
            tokio::select! {
                ended = purge.run(&tenant, now()) => break ended.unwrap(),
                () = death.comes() => kills += 1,
            }
            assert!(kills < 1000, "{seed}: it does not get on");
        };
        all += kills;
        assert_eq!(purged.removed, counts, "{seed}, {kills} kills");
        assert_eq!(everything(&database), before, "{seed}");
    }
    assert!(all > 40, "{all}");
}

#[tokio::test]
async fn two_at_once_count_each_item_once() {
    let (store, database) = store_testing::start().await;
    removed(&store, &acme(1)).await;
    let before = everything(&database);
    let counts = fill(&database, &acme(1), 60);
    let second = database.store();
    let (one, other) = (store.purge().in_pages_of(50), second.purge());
    let acme = acme(1);
    let both = tokio::join!(one.run(&acme, now()), other.run(&acme, now()));
    assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
    assert_eq!(store.purge().run(&acme, now()).await.unwrap().removed, counts);
    assert_eq!(everything(&database), before);
}

#[tokio::test]
async fn a_rough_day_changes_nothing_about_it() {
    let (store, database) = store_testing::start().await;
    bystanders(&database);
    removed(&store, &acme(1)).await;
    let before = everything(&database);
    let counts = fill(&database, &acme(1), 30);
    // Enough of them, as some hundred requests are all there are.
    let (faulty, injector) = database.faulty_store(store_testing::Faults {
        lagging: 0,
        lost: 100,
        ..store_testing::Faults::rough(7)
    });
    let mut tries = 0;
    let purged = loop {
        match faulty.purge().in_pages_of(20).run(&acme(1), now()).await {
            Ok(purged) => break purged,
            Err(PurgeError::Store(_)) if tries < 50 => tries += 1,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(injector.injected().lost > 0, "{:?}", injector.injected());
    assert_eq!(purged.removed, counts);
    assert_eq!(everything(&database), before);
}
