//! Records of a release that is newer than this one: read, shown, written back whole, and not acted on.

use crate::*;
use domain::RECORDS;
use store_testing::Database;

/// A task of a delegation, in the words of a newer release.
async fn newer(edit: impl FnOnce(&mut Value)) -> (Store, Database, TaskKey) {
    let (store, database) = store_testing::start().await;
    let mut task = task();
    task.jobs.push(domain::testing::job(now()));
    let key = created(&store, &task).await;
    rewrite(&database, &key, |body| {
        body["v"] = json!(RECORDS + 7);
        edit(body);
    });
    (store, database, key)
}

fn item(database: &Database, key: &TaskKey) -> Value {
    let (pk, sk) = place(key);
    let items = database.items(&database.tables().tasks, &pk);
    items
        .into_iter()
        .find(|item| item["sk"]["S"] == sk.as_str())
        .unwrap()
}

/// Changes a task's body past the store. It is read back through the store's own reader of packed text.
fn rewrite(database: &Database, key: &TaskKey, edit: impl FnOnce(&mut Value)) {
    let mut item = item(database, key);
    let mut body = body_of(&item);
    edit(&mut body);
    item["body"] = json!({ "S": body.to_string() });
    database.put(&database.tables().tasks, &item);
}

fn body_of(item: &Value) -> Value {
    match item["body"]["S"].as_str() {
        Some(plain) => serde_json::from_str(plain).unwrap(),
        None => {
            use base64::Engine as _;
            let bytes = item["body"]["B"].as_str().unwrap();
            let bytes = base64::engine::general_purpose::STANDARD.decode(bytes).unwrap();
            let plain = miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap();
            serde_json::from_slice(&plain).unwrap()
        }
    }
}

async fn say(store: &Store, key: &TaskKey, state: TaskState) -> Result<Committed, StoreError> {
    let stored = store.tasks().find(key, now()).await.unwrap().unwrap();
    let revision = revised(&stored.task, state, later(1));
    store.tasks().commit(&revision, Due::Keep, LeaseAfter::Keep).await
}

#[tokio::test]
async fn what_a_newer_release_said_stays_on_every_level_when_an_older_one_writes() {
    let (store, database, key) = newer(|body| {
        body["itinerary"] = json!({ "steps": [1, 2] });
        body["history"][0]["tone"] = json!("kind");
        body["history"][0]["parts"][0]["lang"] = json!("en");
        body["jobs"][0]["budget"] = json!(7);
        body["jobs"][0]["endpoint"]["region"] = json!("eu");
        body["status"]["progress"] = json!(0.5);
    })
    .await;
    let stored = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert!(!stored.task.needs_newer_release());
    let mut revision = Revision::of(stored.task);
    let mut job = revision.task().jobs[0].clone();
    job.attempts = 3;
    let kinds = [
        EventKind::Said {
            message: Message::user(message_id("next"), vec![Part::text("and Bergen?")]),
        },
        EventKind::Job { job: Box::new(job) },
        EventKind::status(TaskState::Working, None),
    ];
    for kind in kinds {
        revision.record(kind, later(1)).unwrap();
    }
    let committed = store.tasks().commit(&revision, Due::Keep, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    // Once more: what was kept is kept again.
    assert_eq!(
        say(&store, &key, TaskState::InputRequired).await.unwrap(),
        Committed::Yes
    );
    let body = body_of(&item(&database, &key));
    assert_eq!(body["v"], json!(RECORDS + 7));
    assert_eq!(body["itinerary"], json!({ "steps": [1, 2] }));
    assert_eq!(body["history"][0]["tone"], json!("kind"));
    assert_eq!(body["history"][0]["parts"][0]["lang"], json!("en"));
    assert_eq!(
        body["history"][1]["tone"],
        Value::Null,
        "the next message has none"
    );
    assert_eq!(body["jobs"][0]["budget"], json!(7));
    assert_eq!(body["jobs"][0]["attempts"], json!(3));
    assert_eq!(body["jobs"][0]["endpoint"]["region"], json!("eu"));
    assert_eq!(body["status"]["state"], json!("input-required"));
    assert_eq!(
        body["status"]["progress"],
        Value::Null,
        "it was said of the status before"
    );
}

#[tokio::test]
async fn a_task_with_a_kind_that_is_not_known_is_read_and_listed_and_may_only_end() {
    let edits: [fn(&mut Value); 3] = [
        |body| body["jobs"][0]["state"] = json!({ "phase": "bargaining", "offer": 3 }),
        |body| body["status"]["state"] = json!("paused"),
        |body| body["needs"] = json!(RECORDS + 1),
    ];
    for edit in edits {
        let (store, database, key) = newer(edit).await;
        let before = item(&database, &key);
        let stored = store.tasks().find(&key, now()).await.unwrap().unwrap();
        assert!(stored.task.needs_newer_release());
        let listed = of_user(
            &store,
            "user-1",
            PageRequest {
                limit: 9,
                cursor: None,
            },
        )
        .await
        .unwrap();
        assert_eq!(listed.items, [stored.task]);
        let refused = say(&store, &key, TaskState::Working).await;
        assert!(
            matches!(refused, Err(StoreError::NeedsNewerRelease)),
            "{refused:?}"
        );
        assert_eq!(item(&database, &key), before);
        let job = body_of(&before)["jobs"][0]["state"].clone();
        assert_eq!(
            say(&store, &key, TaskState::Canceled).await.unwrap(),
            Committed::Yes
        );
        let after = body_of(&item(&database, &key));
        assert_eq!(
            after["jobs"][0]["state"], job,
            "whoever knows it finds it as it was"
        );
        assert_eq!(after["status"]["state"], json!("canceled"));
    }
}

#[test]
fn what_release_0_2_wrote_back_of_a_job_is_in_our_phases_again() {
    let remote = json!({ "state": "completed" });
    let working = json!({ "state": "working" });
    let consent = json!({
        "provider": "idp", "scopes": [], "consent": { "id": "c", "expiresAt": "2026-01-01T00:00:00.000Z" },
    });
    for (state, protection, ours) in [
        (json!({ "phase": "prepared" }), &consent, "awaiting-consent"),
        (
            json!({ "phase": "linked", "remoteTaskId": "r", "remote": working }),
            &consent,
            "awaiting-consent",
        ),
        (
            json!({ "phase": "linked", "remoteTaskId": "r", "remote": working }),
            &Value::Null,
            "linked",
        ),
        (
            json!({ "phase": "settled", "remoteTaskId": "r", "remote": remote }),
            &Value::Null,
            "fetching",
        ),
        (
            json!({ "phase": "settled", "remote": remote }),
            &Value::Null,
            "settled",
        ),
    ] {
        let mut task = task();
        task.jobs = vec![domain::testing::job(now())];
        let mut body = serde_json::to_value(&task).unwrap();
        body["jobs"][0]["state"] = state;
        body["jobs"][0]["protection"] = protection.clone();
        let read = Task::from_stored(&body.to_string()).unwrap();
        assert_eq!(read.jobs[0].state.phase(), ours);
        let again = Task::from_stored(&read.to_stored().unwrap()).unwrap();
        assert_eq!(again.jobs, read.jobs);
    }
}

#[tokio::test]
async fn events_of_kinds_that_are_not_known_are_neutral_and_leave_no_gap() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    step(&store, task, TaskState::Working, later(1)).await;
    let (pk, _) = place(&key);
    let table = database.tables().tasks;
    let log = json!([
        { "seq": 3, "at": later(2), "kind": "pondered", "depth": 4 },
        { "seq": 4, "at": later(2), "kind": "work", "note": { "note": "sang", "song": "x" } },
        { "seq": 5, "at": later(2), "kind": "status", "state": "paused" },
    ]);
    let sk = format!("EVENT#{:020}", 5);
    database.put(
        &table,
        &json!({ "pk": { "S": pk }, "sk": { "S": sk }, "v": { "N": "9" }, "body": { "S": log.to_string() } }),
    );
    let events = store.tasks().events(&key, 1, 100).await.unwrap();
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [2, 3, 4, 5]);
    assert_eq!(events[1].kind, EventKind::Unknown);
    assert!(matches!(
        &events[3].kind,
        EventKind::Status {
            state: TaskState::Unknown,
            ..
        }
    ));
    assert!(!events[1].kind.is_public() && !events[2].kind.is_public());
}

#[tokio::test]
async fn sort_keys_that_are_not_known_are_passed_over_by_every_reader_of_the_partition() {
    let (store, database) = store_testing::start().await;
    let mut task = task();
    task.artifacts = vec![domain::Artifact::new(
        "bulk",
        vec![Part::text("Oslo ".repeat(60_000))],
    )];
    let key = created(&store, &task).await;
    store
        .tasks()
        .put_push(&key, &push_config("c"), 1, now())
        .await
        .unwrap();
    let (pk, _) = place(&key);
    let table = database.tables().tasks;
    for sk in [
        "DRAFT",
        "EVENT#SUM",
        "EVENT#00000000000000000001#SIGNED",
        "NOTE#1",
        "PUSH#",
        "TASK#DRAFT",
        "TASK#PIECE#X",
        "THOUGHT#1",
    ] {
        database.put(
            &table,
            &json!({ "pk": { "S": pk }, "sk": { "S": sk }, "strange": { "BOOL": true } }),
        );
    }
    let stored = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert_eq!(stored.task.artifacts, task.artifacts);
    assert_eq!(store.tasks().events(&key, 0, 100).await.unwrap().len(), 1);
    let owed = store.tasks().owed(&key, 0, now()).await.unwrap();
    assert_eq!(
        (owed.events.len(), owed.stored.map(|stored| stored.task.id)),
        (1, Some(task.id))
    );
    assert_eq!(store.tasks().list_pushes(&key).await.unwrap(), [push_config("c")]);
}

/// What the next release leaves out: the first event, and places in indexes.
#[tokio::test]
async fn a_log_without_its_first_event_tells_it_all_the_same() {
    let (store, database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let (pk, _) = place(&key);
    let table = database.tables().tasks;
    let first = store.tasks().events(&key, 0, 10).await.unwrap();
    let gone = |item: &Value| item["sk"]["S"].as_str().unwrap().starts_with("EVENT#");
    let stay: Vec<Value> = database
        .items(&table, &pk)
        .into_iter()
        .filter(|item| !gone(item))
        .collect();
    let (store, database) = store_testing::start().await;
    for item in stay {
        database.put(&table, &item);
    }
    assert_eq!(store.tasks().events(&key, 0, 10).await.unwrap(), first);
    let log = json!([{ "seq": 2, "at": later(1), "kind": "status", "state": "working" }]);
    let sk = format!("EVENT#{:020}", 2);
    database.put(
        &table,
        &json!({ "pk": { "S": pk }, "sk": { "S": sk }, "born": { "S": now() }, "body": { "S": log.to_string() } }),
    );
    let events = store.tasks().events(&key, 0, 10).await.unwrap();
    assert_eq!((events.len(), &events[0]), (2, &first[0]));
    assert_eq!(store.tasks().events(&key, 1, 10).await.unwrap().len(), 1);
}
