//! Creating, reading and committing tasks.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::*;
use store::{PageRequest, StoreError, counted};

fn whole_page() -> PageRequest {
    PageRequest {
        limit: 100,
        cursor: None,
    }
}

#[tokio::test]
async fn a_task_lies_in_the_table_as_it_was_given() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let found = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert_eq!(found.task, task);
    assert_eq!((found.lease, found.attempts), (None, 0));
    assert_eq!(found.due_at, Some(later(5)));
    assert_eq!(found.expires_at, None, "a live task has no end");
    assert_eq!(
        store.tasks().events(&key, 0, 10).await.unwrap(),
        [task.first_event()]
    );
}

#[tokio::test]
async fn each_operation_is_one_call() {
    let (store, _database) = store_testing::start().await;
    let (task, tasks) = (task(), store.tasks());
    let key = TaskKey::from(&task);
    let (_, create) = counted(created(&store, &task)).await;
    let (_, find) = counted(tasks.find(&key, now())).await;
    let (leased, lease) = counted(tasks.lease(&key, "w", now(), later(30))).await;
    let store::Leased::Taken(leased) = leased.unwrap() else {
        panic!("not leased")
    };
    let (_, beat) = counted(tasks.heartbeat(&key, "w", later(40))).await;
    let revision = revised(&leased.task, TaskState::Completed, now());
    let release = LeaseAfter::Release { holder: "w" };
    let (committed, commit) = counted(tasks.commit(&revision, Due::Never, release)).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    for (calls, operation) in [
        (create, "TransactWriteItems"),
        (find, "GetItem"),
        (lease, "UpdateItem"),
        (beat, "UpdateItem"),
        (commit, "TransactWriteItems"),
    ] {
        assert_eq!(calls.by_operation, [(operation.to_owned(), 1)].into());
    }
    // Countings nest, and nothing outside of one is counted.
    let ((_, inner), outer) = counted(Box::pin(async {
        tasks.find(&key, now()).await.unwrap();
        counted(tasks.find(&key, now())).await
    }))
    .await;
    assert_eq!((inner.total(), outer.total()), (1, 2));
}

#[tokio::test]
async fn a_repeated_message_finds_its_first_task_as_it_is_now() {
    let (store, _database) = store_testing::start().await;
    let first = task();
    assert_eq!(create_as(&store, &first, "m#1", "hash").await, Created::New);
    let worked = step(&store, first.clone(), TaskState::Working, now()).await;
    match create_as(&store, &task(), "m#1", "hash").await {
        Created::Repeated(stored) => assert_eq!(stored.task, worked),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        create_as(&store, &task(), "m#1", "other").await,
        Created::MessageReused
    );
    // Somebody else's message of that id is another message.
    for other in [
        task_of("globex", "weather", "user-1", now()),
        task_of("acme", "host", "user-1", now()),
        task_of("acme", "weather", "user-2", now()),
    ] {
        assert_eq!(create_as(&store, &other, "m#1", "other").await, Created::New);
    }
}

#[tokio::test]
async fn of_concurrent_creates_of_one_message_one_makes_the_task() {
    let (store, _database) = store_testing::start().await;
    let mut racers = JoinSet::new();
    for _ in 0..16 {
        let store = store.clone();
        racers.spawn(async move {
            let task = task();
            (task.id, create_as(&store, &task, "m", "hash").await)
        });
    }
    let (mut winners, mut told) = (Vec::new(), Vec::new());
    for (id, outcome) in racers.join_all().await {
        match outcome {
            Created::New => winners.push(id),
            Created::Repeated(stored) => told.push(stored.task.id),
            Created::MessageReused | Created::Taken => panic!("reused"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(told, vec![winners[0]; 15]);
    let listed = of_user(&store, "user-1", whole_page()).await.unwrap();
    let listed: Vec<_> = listed.items.iter().map(|task| task.id).collect();
    assert_eq!(listed, winners);
}

#[tokio::test]
async fn a_burst_of_sends_waits_its_turn_and_loses_nothing() {
    const EACH: usize = 150;
    let (store, _database) = store_testing::start().await;
    let mut senders = JoinSet::new();
    for name in ["acme", "globex"] {
        for _ in 0..EACH {
            let store = store.clone();
            senders.spawn(async move {
                let task = task_of(name, "host", "user-1", now());
                counted(created(&store, &task)).await.1.total()
            });
        }
    }
    let calls = senders.join_all().await;
    assert!(calls.iter().all(|calls| *calls == 1), "nothing was repeated");
    for name in ["acme", "globex"] {
        let (tenant, host, user) = (tenant(name), agent("host"), owner("user-1"));
        let context = ContextId::parse("trip").unwrap();
        let listed = store
            .tasks()
            .by_context(&tenant, &host, &user, &context, now())
            .await
            .unwrap();
        assert_eq!(listed.len(), EACH);
    }
}

#[tokio::test]
async fn what_has_expired_does_not_exist_and_frees_its_message_id() {
    let (store, _database) = store_testing::start().await;
    let first = task();
    let tasks = store.tasks();
    assert_eq!(create_as(&store, &first, "m", "hash").await, Created::New);
    let key = TaskKey::from(&first);
    let first = step(&store, first, TaskState::Completed, now()).await;
    // It ends at the full second after 3600.5 s: rounded up, never down.
    let end = Timestamp::from_millis(now().millis() + 3_600_500);
    assert!(
        tasks
            .find(&key, end.before(Duration::from_millis(1)))
            .await
            .unwrap()
            .is_some()
    );
    assert!(tasks.find(&key, end).await.unwrap().is_none());
    let (acme, weather, user) = (tenant("acme"), agent("weather"), owner("user-1"));
    assert!(
        tasks
            .by_owner(&acme, &weather, &user, whole_page(), end)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    assert!(
        tasks
            .by_context(&acme, &weather, &user, &first.context_id, end)
            .await
            .unwrap()
            .is_empty()
    );
    let early = task_of("acme", "weather", "user-1", end.before(seconds(1)));
    assert!(matches!(
        create_as(&store, &early, "m", "hash").await,
        Created::Repeated(_)
    ));
    let late = task_of("acme", "weather", "user-1", end);
    assert_eq!(create_as(&store, &late, "m", "quite another").await, Created::New);
}

#[tokio::test]
async fn of_two_commits_on_one_revision_the_second_is_a_conflict_and_leaves_no_trace() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    let first = revised(&task, TaskState::Completed, later(1));
    let second = revised(&task, TaskState::Canceled, later(2));
    let commit = |revision| async move {
        let revision: Revision = revision;
        tasks
            .commit(&revision, Due::Never, LeaseAfter::Keep)
            .await
            .unwrap()
    };
    assert_eq!(commit(first.clone()).await, Committed::Yes);
    assert_eq!(commit(second).await, Committed::Conflict);
    assert_eq!(commit(first.clone()).await, Committed::Conflict);
    let found = tasks.find(&key, now()).await.unwrap().unwrap();
    assert_eq!(&found.task, first.task());
    assert_eq!(found.due_at, None);
    let log = tasks.events(&key, 0, 10).await.unwrap();
    assert_eq!(log, [vec![task.first_event()], first.events().to_vec()].concat());
}

#[tokio::test]
async fn a_commit_to_a_task_that_is_not_there_is_a_conflict() {
    let (store, _database) = store_testing::start().await;
    let revision = revised(&task(), TaskState::Working, now());
    let committed = store
        .tasks()
        .commit(&revision, Due::Keep, LeaseAfter::Keep)
        .await
        .unwrap();
    assert_eq!(committed, Committed::Conflict);
    assert!(
        store
            .tasks()
            .find(&TaskKey::from(revision.task()), now())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn concurrent_writers_who_reload_lose_nothing() {
    let (store, _database) = store_testing::start().await;
    let key = Arc::new(created(&store, &task()).await);
    let mut writers = JoinSet::new();
    for number in 0..12 {
        let (store, key) = (store.clone(), Arc::clone(&key));
        writers.spawn(async move {
            loop {
                let found = store.tasks().find(&key, now()).await.unwrap().unwrap();
                let mut revision = Revision::of(found.task);
                let said = EventKind::Said {
                    message: Message::user(message_id(&format!("m{number}")), vec![Part::text("more")]),
                };
                revision.record(said, now()).unwrap();
                let committed = store
                    .tasks()
                    .commit(&revision, Due::Keep, LeaseAfter::Keep)
                    .await
                    .unwrap();
                if committed == Committed::Yes {
                    break;
                }
            }
        });
    }
    writers.join_all().await;
    let found = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert_eq!((found.task.rev, found.task.history.len()), (13, 13));
    let log = store.tasks().events(&key, 0, 100).await.unwrap();
    assert_eq!(
        log.iter().map(|event| event.seq).collect::<Vec<_>>(),
        (1..=13).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn the_log_is_read_from_any_number_on() {
    let (store, _database) = store_testing::start().await;
    let mut task = task();
    let key = created(&store, &task).await;
    for round in 0..11 {
        task = step(&store, task, TaskState::Working, later(round)).await;
    }
    let numbers = async |after, limit| {
        let events = store.tasks().events(&key, after, limit).await.unwrap();
        events.iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0, 3).await, [1, 2, 3]);
    assert_eq!(numbers(8, 3).await, [9, 10, 11]);
    assert_eq!(numbers(11, 3).await, [12]);
    assert!(numbers(12, 3).await.is_empty());
    assert!(numbers(u64::MAX, 3).await.is_empty());
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_nothing_of_it_is_written() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let small = task();
    let mut large = task();
    large.history = vec![message(&"x".repeat(MOST))];
    let id = message_id("m");
    let new = NewRecord {
        task: &large,
        message_id: &id,
        body_hash: "hash",
        push: None,
        due_at: now(),
        retention: seconds(3600),
    };
    let (refused, calls) = counted(tasks.create(&new)).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { limit: MOST, .. })));
    assert_eq!(calls.total(), 0);
    assert_eq!(create_as(&store, &small, "m", "hash").await, Created::New);

    let mut revision = Revision::of(small.clone());
    let said = EventKind::Said {
        message: message(&"x".repeat(MOST)),
    };
    revision.record(said, now()).unwrap();
    let refused = tasks.commit(&revision, Due::Keep, LeaseAfter::Keep).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
    let found = tasks.find(&TaskKey::from(&small), now()).await.unwrap().unwrap();
    assert_eq!(found.task, small);
}

#[tokio::test]
async fn a_commit_without_events_makes_no_entry_and_the_task_can_still_end() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let task = task();
    let key = created(&store, &task).await;
    for _ in 0..2 {
        let nothing_new = Revision::of(read(&store, &task).await);
        let committed = tasks.commit(&nothing_new, Due::At(now()), LeaseAfter::Keep).await;
        assert_eq!(committed.unwrap(), Committed::Yes);
    }
    step(&store, read(&store, &task).await, TaskState::Completed, now()).await;
    assert_eq!(tasks.events(&key, 0, 100).await.unwrap().len(), 2);
}

#[tokio::test]
async fn however_many_events_one_write_has_they_are_one_entry_of_the_log() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let task = task();
    let key = created(&store, &task).await;
    let mut revision = Revision::of(read(&store, &task).await);
    for _ in 0..200 {
        revision
            .record(EventKind::status(TaskState::Working, None), now())
            .unwrap();
    }
    let committed = tasks.commit(&revision, Due::Keep, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    step(&store, revision.into_task(), TaskState::Completed, now()).await;
    // Read from anywhere, in pages of any size, there is no gap and nothing twice.
    for (after, limit) in [(0, 1), (0, 7), (1, 200), (57, 50), (200, 100), (202, 100)] {
        let mut seen = after;
        loop {
            let page = tasks.events(&key, seen, limit).await.unwrap();
            assert!(page.len() <= usize::try_from(limit).unwrap());
            let numbers: Vec<u64> = page.iter().map(|event| event.seq).collect();
            let wanted: Vec<u64> = (seen + 1..).take(page.len()).collect();
            assert_eq!(numbers, wanted);
            match numbers.last() {
                Some(last) => seen = *last,
                None => break,
            }
        }
        assert_eq!(seen, 202);
    }
}

#[tokio::test]
async fn one_tenants_key_never_finds_anothers_task() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    for other in [
        TaskKey {
            tenant: tenant("globex"),
            ..key.clone()
        },
        TaskKey {
            tenant: Tenant::public(),
            ..key.clone()
        },
        TaskKey {
            agent: agent("host"),
            ..key.clone()
        },
    ] {
        assert!(tasks.find(&other, now()).await.unwrap().is_none());
        assert!(tasks.events(&other, 0, 10).await.unwrap().is_empty());
        assert_eq!(
            tasks.lease(&other, "w", now(), later(30)).await.unwrap(),
            store::Leased::Missing
        );
        assert_eq!(
            tasks.heartbeat(&other, "w", later(30)).await.unwrap(),
            store::Beat::Lost
        );
    }
}

#[tokio::test]
async fn an_item_that_says_something_else_than_its_key_is_inconsistent() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let table = database.tables().tasks;
    let mut item = database.items(&table, &place(&key).0).remove(0);
    assert_eq!(item["sk"]["S"], "TASK");
    let stranger = serde_json::to_string(&task_of("globex", "weather", "user-1", now())).unwrap();
    let ahead = serde_json::to_string(revised(&task, TaskState::Working, now()).task()).unwrap();
    for body in ["", "{", "null", "{\"id\":7}", &stranger, &ahead] {
        item["body"] = json!({ "S": body });
        database.put(&table, &item);
        let error = store.tasks().find(&key, now()).await.unwrap_err();
        assert!(matches!(&error, StoreError::Inconsistent { key, .. } if key.contains(&task.id.to_string())));
        assert!(!format!("{error}").contains("Oslo"));
    }
    item.as_object_mut().unwrap().remove("body").unwrap();
    database.put(&table, &item);
    let error = store.tasks().find(&key, now()).await.unwrap_err();
    assert!(matches!(error, StoreError::Inconsistent { .. }));
}

#[tokio::test]
async fn the_tables_are_created_once_and_an_older_schema_is_refused() {
    let (store, database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    store.create_tables().await.unwrap();
    assert!(store.tasks().find(&key, now()).await.unwrap().is_some());
    // A table of today's name with yesterday's indexes.
    let tables = store::Tables {
        tasks: database.tables().registry,
        ..store::Tables::prefixed("older-")
    };
    let error = store::Store::new(&database.config(), tables)
        .create_tables()
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Inconsistent { .. }));
}
