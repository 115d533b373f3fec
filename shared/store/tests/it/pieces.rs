//! Tasks and events that do not fit into one item.

use domain::Artifact;
use tokio::task::JoinSet;

use crate::*;
use store::{Leased, counted};

fn chunk(size: usize, append: bool) -> EventKind {
    EventKind::Artifact {
        // Letters of three bytes, so that no piece ends where it would by counting bytes.
        artifact: Artifact::new("report".to_owned(), vec![Part::text("€".repeat(size / 3))]),
        append,
        last_chunk: !append,
    }
}

/// Longest body that lies in one item, in bytes.
const INLINE: usize = 128 * 1024;

async fn grow(store: &Store, task: Task, size: usize, append: bool) -> Result<Task, StoreError> {
    let mut revision = Revision::of(task);
    revision.record(chunk(size, append), now()).unwrap();
    let tasks = store.tasks();
    let committed = tasks.commit(&revision, Due::Keep, LeaseAfter::Keep).await?;
    assert_eq!(committed, Committed::Yes);
    Ok(revision.into_task())
}

#[tokio::test]
async fn a_task_just_small_enough_is_one_item_and_one_call() {
    let (store, _database) = store_testing::start().await;
    let mut large = task();
    large.history = vec![message(&"x".repeat(INLINE - 2000))];
    let key = created(&store, &large).await;
    let (found, calls) = counted(store.tasks().find(&key, now())).await;
    assert_eq!((found.unwrap().unwrap().task, calls.total()), (large, 1));
}

#[tokio::test]
async fn a_large_task_and_its_log_come_back_as_they_were() {
    let (store, database) = store_testing::start().await;
    let tasks = store.tasks();
    let mut large = task();
    large.history = vec![message(&"ä".repeat(400_000))];
    let key = created(&store, &large).await;
    let mut task = read(&store, &large).await;
    assert_eq!(task, large);
    // Grown by a chunk that makes an event of several pieces, then by small ones, which tell nothing of the pieces.
    task = grow(&store, task, 900_000, false).await.unwrap();
    task = grow(&store, task, 300, true).await.unwrap();
    task = grow(&store, task, 300, true).await.unwrap();
    let (found, calls) = counted(tasks.find(&key, now())).await;
    assert_eq!(found.unwrap().unwrap().task, task);
    assert!(
        calls.by_operation["GetItem"] == 1 && calls.total() <= 4,
        "{calls:?}"
    );
    let log = tasks.events(&key, 0, 100).await.unwrap();
    let mut replayed = large.clone();
    for event in &log[1..] {
        replayed.record(event.kind.clone(), event.at).unwrap();
    }
    assert_eq!(replayed, task);
    assert_eq!(
        tasks.events(&key, 1, 1).await.unwrap()[0].seq,
        2,
        "also one by one"
    );
    let Leased::Taken(leased) = tasks.lease(&key, "w", now(), later(30)).await.unwrap() else {
        panic!("not leased")
    };
    assert_eq!(
        (leased.task, leased.lease.unwrap().holder.as_str()),
        (task.clone(), "w")
    );
    let listed = of_context(&store, "trip").await;
    assert_eq!(listed, [task.clone()]);
    // It shrinks, and its pieces with it; and ends, with all of them.
    task = grow(&store, task, 3, false).await.unwrap();
    assert_eq!(read(&store, &task).await, task);
    step(&store, task, TaskState::Completed, now()).await;
    let items = crate::retention::all_of(&store, &database, &key).await;
    assert!(items.iter().all(|item| item.get("expires_at").is_some()));
    let pieces = items
        .iter()
        .filter(|item| item["sk"]["S"].as_str().unwrap().starts_with("TASK#"))
        .count();
    assert_eq!(pieces, 3);
}

/// Letters without a pattern: what is stored of them is hardly shorter than they are.
fn noise(size: usize) -> String {
    let mut state = 7_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'0' + (state >> 26) as u8)
    };
    (0..size).map(letter).collect()
}

#[tokio::test]
async fn what_is_owed_of_a_log_larger_than_a_page_comes_with_the_task_too() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let task = task();
    let key = created(&store, &task).await;
    let mut revision = Revision::of(task);
    for _ in 0..3 {
        let artifact = Artifact::new("report".to_owned(), vec![Part::text(noise(600_000))]);
        revision.record(EventKind::artifact(artifact), now()).unwrap();
        let committed = tasks.commit(&revision, Due::Keep, LeaseAfter::Keep).await;
        assert_eq!(committed.unwrap(), Committed::Yes);
        revision = Revision::of(read(&store, revision.task()).await);
    }
    let owed = tasks.owed(&key, 1, now()).await.unwrap();
    // As much as a page holds: what follows is for the next look.
    assert_eq!(owed.events.first().unwrap().seq, 2);
    assert_eq!(owed.events, tasks.events(&key, 1, 100).await.unwrap());
    assert_eq!(&owed.stored.unwrap().task, revision.task());
}

#[tokio::test]
async fn a_full_task_takes_no_more_but_can_be_ended() {
    let (store, _database) = store_testing::start().await;
    let mut full = task();
    full.history = vec![message(&"x".repeat(MOST - 1000))];
    let key = created(&store, &full).await;
    let full = read(&store, &full).await;
    let refused = grow(&store, full.clone(), 3000, false).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { limit: MOST, .. })));
    assert_eq!(read(&store, &full).await, full);
    assert_eq!(store.tasks().events(&key, 0, 10).await.unwrap().len(), 1);
    let mut revision = Revision::of(full);
    let said = message(&"why ".repeat(1000));
    revision
        .record(EventKind::status(TaskState::Failed, Some(said)), now())
        .unwrap();
    let committed = store
        .tasks()
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let ended = read(&store, revision.task()).await;
    assert_eq!(&ended, revision.task());
}

#[tokio::test]
async fn readers_of_a_large_task_never_see_two_writes_mixed() {
    const ROUNDS: usize = 8;
    let (store, _database) = store_testing::start().await;
    let mut large = task();
    // Two pieces, and what changes is in the second: its length tells the revision.
    large.history = vec![message(&"x".repeat(360_000))];
    let key = created(&store, &large).await;
    let mut task = read(&store, &large).await;
    let writer = store.clone();
    let mut all = JoinSet::new();
    all.spawn(async move {
        for round in 2..ROUNDS + 2 {
            task = grow(&writer, task, round * 300, false).await.unwrap();
        }
    });
    let mut seen = 1;
    while seen < ROUNDS + 1 {
        let found = match store.tasks().find(&key, now()).await {
            Ok(found) => found.unwrap().task,
            Err(StoreError::Throttled { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let rev = usize::try_from(found.rev).unwrap();
        assert!(rev >= seen);
        seen = rev;
        if let Some(artifact) = found.artifacts.first() {
            assert_eq!(artifact.parts, [Part::text("€".repeat(rev * 100))]);
        }
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}
