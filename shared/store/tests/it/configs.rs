//! Push configurations that come and go, and the deliveries that somebody looks after.

use crate::*;
use store::{Delivery, DeliveryFilter, DeliveryState, MAX_PUSH_CONFIGS, PutPush, Settled, counted};

fn id(name: &str) -> PushConfigId {
    PushConfigId::parse(name).unwrap()
}

async fn put(store: &Store, key: &TaskKey, name: &str, delivered: u64) -> PutPush {
    let tasks = store.tasks();
    tasks
        .put_push(key, &push_config(name), delivered, now())
        .await
        .unwrap()
}

async fn names(store: &Store, key: &TaskKey) -> Vec<String> {
    let configs = store.tasks().list_pushes(key).await.unwrap();
    configs.into_iter().map(|config| config.id.to_string()).collect()
}

async fn deliveries(store: &Store, parked_only: bool) -> Vec<Delivery> {
    let (acme, weather) = (tenant("acme"), agent("weather"));
    let page = PageRequest {
        limit: 50,
        cursor: None,
    };
    let filter = DeliveryFilter { parked_only };
    let found = store
        .tasks()
        .deliveries(&acme, &weather, filter, page, now())
        .await;
    found.unwrap().items
}

#[tokio::test]
async fn configurations_come_and_go() {
    let (store, _database) = store_testing::start().await;
    let first = task();
    let key = created(&store, &first).await;
    let tasks = store.tasks();
    assert_eq!(put(&store, &key, "b", 1).await, PutPush::New);
    assert_eq!(put(&store, &key, "a", 1).await, PutPush::New);
    assert_eq!(names(&store, &key).await, ["a", "b"]);
    assert_eq!(put(&store, &key, "a", 1).await, PutPush::Replaced);
    assert_eq!(
        tasks.find_push(&key, &id("a")).await.unwrap(),
        Some(push_config("a"))
    );
    assert_eq!(tasks.find_push(&key, &id("x")).await.unwrap(), None);
    assert_eq!(read(&store, &first).await.push_configs, [id("b"), id("a")]);
    for _ in 0..2 {
        tasks.delete_push(&key, &id("a"), now()).await.unwrap();
    }
    assert_eq!(names(&store, &key).await, ["b"]);
    for number in 1..MAX_PUSH_CONFIGS {
        assert_eq!(put(&store, &key, &format!("c{number}"), 1).await, PutPush::New);
    }
    assert_eq!(put(&store, &key, "one-more", 1).await, PutPush::TooMany);
    assert_eq!(put(&store, &key, "c1", 1).await, PutPush::Replaced);
    let foreign = TaskKey {
        tenant: tenant("globex"),
        ..key.clone()
    };
    assert_eq!(put(&store, &foreign, "b", 1).await, PutPush::Missing);
    tasks.delete_push(&foreign, &id("b"), now()).await.unwrap();
    assert_eq!(names(&store, &key).await.len(), MAX_PUSH_CONFIGS);
    assert!(names(&store, &foreign).await.is_empty());
}

#[tokio::test]
async fn a_commit_tells_configurations_that_came_after_it_was_decided() {
    let (store, _database) = store_testing::start().await;
    let first = task();
    let key = created(&store, &first).await;
    put(&store, &key, "old", 1).await;
    let revision = revised(&read(&store, &first).await, TaskState::Working, later(1));
    put(&store, &key, "new", 1).await;
    store.tasks().delete_push(&key, &id("old"), now()).await.unwrap();
    // Nothing was decided anew: the revision is the same.
    let tasks = store.tasks();
    let (committed, calls) = counted(tasks.commit(&revision, Due::Keep, LeaseAfter::Keep)).await;
    assert_eq!((committed.unwrap(), calls.total()), (Committed::Yes, 2));
    let owed = deliveries(&store, false).await;
    assert_eq!(owed.len(), 1);
    assert_eq!(
        (&owed[0].config_id, owed[0].state),
        (&id("new"), DeliveryState::Owed)
    );
}

#[tokio::test]
async fn what_happened_before_a_configuration_was_stored_is_owed() {
    let (store, _database) = store_testing::start().await;
    let first = task();
    let key = created(&store, &first).await;
    step(&store, read(&store, &first).await, TaskState::Working, now()).await;
    put(&store, &key, "knows-all", 2).await;
    put(&store, &key, "missed-one", 1).await;
    let states: Vec<_> = deliveries(&store, false)
        .await
        .into_iter()
        .map(|delivery| (delivery.config_id.to_string(), delivery.state))
        .collect();
    assert!(states.contains(&("knows-all".into(), DeliveryState::Idle)));
    assert!(states.contains(&("missed-one".into(), DeliveryState::Owed)));
}

#[tokio::test]
async fn parked_deliveries_are_listed_with_their_error_and_sent_again_by_hand() {
    let (store, _database) = store_testing::start().await;
    let first = task();
    let key = created(&store, &first).await;
    put(&store, &key, "c", 1).await;
    let tasks = store.tasks();
    assert!(
        !tasks.replay_push(&key, &id("c"), now()).await.unwrap(),
        "nothing is owed"
    );
    let worked = step(&store, read(&store, &first).await, TaskState::Working, now()).await;
    let park = async |at: u64| {
        let claimed = tasks
            .claim_push(&key, &id("c"), "w", later(at), later(at + 45))
            .await;
        assert!(claimed.unwrap().is_some());
        assert!(
            !tasks.replay_push(&key, &id("c"), later(at)).await.unwrap(),
            "somebody delivers"
        );
        let settled = Settled {
            delivered: 1,
            numbered: 0,
            attempts: 8,
            at: later(1),
            due: Due::Never,
            last_error: Some(&"é".repeat(400)),
        };
        let parked = tasks.settle_push(&key, &id("c"), "w", settled).await.unwrap();
        assert_eq!(parked, store::PushSettled::Done);
    };
    assert!(deliveries(&store, true).await.is_empty());
    park(1).await;
    let parked = deliveries(&store, true).await;
    assert_eq!(parked, deliveries(&store, false).await);
    let [delivery] = &parked[..] else {
        panic!("{parked:?}")
    };
    assert_eq!(delivery.key, key);
    assert_eq!(
        (delivery.url_host.as_str(), delivery.state, delivery.attempts),
        ("hooks.example", DeliveryState::Parked, 8)
    );
    assert_eq!(
        (delivery.delivered, delivery.latest, delivery.changed_at),
        (1, 2, later(1))
    );
    assert_eq!(delivery.last_error.as_ref().unwrap().len(), 500);

    assert!(tasks.replay_push(&key, &id("c"), later(2)).await.unwrap());
    assert!(deliveries(&store, true).await.is_empty());
    let again = tasks
        .claim_push(&key, &id("c"), "w", later(2), later(3))
        .await
        .unwrap();
    assert_eq!(again.unwrap().attempts, 0);
    park(50).await;
    // News brings it back as well.
    step(&store, worked, TaskState::InputRequired, later(60)).await;
    assert!(deliveries(&store, true).await.is_empty());
    assert_eq!(deliveries(&store, false).await[0].state, DeliveryState::Owed);
    // It is one agent's, and one tenant's.
    let foreign = TaskKey {
        tenant: tenant("globex"),
        ..key.clone()
    };
    assert!(!tasks.replay_push(&foreign, &id("c"), later(60)).await.unwrap());
}

#[tokio::test]
async fn a_due_entry_that_nobody_can_read_keeps_nobody_waiting() {
    let (store, database) = store_testing::start().await;
    let keys = [created(&store, &task()).await, created(&store, &task()).await];
    let odd = ("acme#weather#odd#1".to_owned(), "TASK".to_owned());
    for shard in 0..store::DUE_SHARDS {
        let mut item = keyed((format!("{}{shard}", odd.0), odd.1.clone()));
        item["due_shard"] = json!({ "S": format!("due#{shard}") });
        item["due_at"] = json!({ "S": now().to_string() });
        database.put(&database.tables().tasks, &item);
    }
    let mut found = Vec::new();
    for shard in 0..store::DUE_SHARDS {
        // One a page: the odd one is first, and there is a cursor behind it.
        let mut cursor = None;
        loop {
            let tasks = store.tasks();
            let page = tasks.due(shard, later(5), 1, cursor.as_deref()).await.unwrap();
            found.extend(page.items.into_iter().map(|pointer| pointer.key));
            let Some(next) = page.next else { break };
            let elsewhere = store.tasks().due(shard + 1, later(5), 1, Some(&next)).await;
            assert!(matches!(elsewhere, Err(StoreError::BadCursor)));
            cursor = Some(next);
        }
    }
    assert_eq!(found.len(), 2);
    assert!(keys.iter().all(|key| found.contains(key)));
}
