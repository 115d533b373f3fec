//! The lease, and what is due.

use crate::*;
use store::{Attempts, Beat, DUE_SHARDS, Leased, PointsAt, StoredTask, counted};

async fn leased(store: &Store, key: &TaskKey, holder: &str, at: u64) -> Option<StoredTask> {
    match store
        .tasks()
        .lease(key, holder, later(at), later(at + 30))
        .await
        .unwrap()
    {
        Leased::Taken(stored) => Some(*stored),
        Leased::Held => None,
        Leased::Over(_) => panic!("over"),
        Leased::Missing | Leased::Expired => panic!("missing"),
    }
}

/// What is due at that time, over all shards.
async fn due(store: &Store, at: u64) -> Vec<(TaskKey, PointsAt, Timestamp)> {
    let mut found = Vec::new();
    for shard in 0..DUE_SHARDS {
        let pointers = store
            .tasks()
            .due(shard, later(at), 100, None)
            .await
            .unwrap()
            .items;
        found.extend(
            pointers
                .into_iter()
                .map(|pointer| (pointer.key, pointer.what, pointer.due_at)),
        );
    }
    found
}

#[tokio::test]
async fn a_lease_is_one_workers_until_it_ends() {
    let (store, _database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let taken = leased(&store, &key, "one", 0).await.unwrap();
    let lease = taken.lease.unwrap();
    assert_eq!((lease.holder.as_str(), lease.until), ("one", later(30)));
    assert_eq!(
        (taken.attempts, taken.due_at, taken.task.rev),
        (1, Some(later(5)), 1),
        "due when it was born due, before the lease ends"
    );
    assert!(leased(&store, &key, "two", 29).await.is_none());
    // An expired lease is anybody's.
    let stolen = leased(&store, &key, "two", 30).await.unwrap();
    assert_eq!(
        (stolen.attempts, stolen.lease.unwrap().holder.as_str()),
        (2, "two")
    );
    assert_eq!(
        store.tasks().heartbeat(&key, "one", later(90)).await.unwrap(),
        Beat::Lost
    );
    assert!(
        !store
            .tasks()
            .release(&key, "one", 1, Due::Never, Attempts::Reset)
            .await
            .unwrap()
    );
    assert!(leased(&store, &key, "three", 40).await.is_none());
    // Whoever holds it may take it again.
    assert!(leased(&store, &key, "two", 40).await.is_some());
}

#[tokio::test]
async fn a_heartbeat_prolongs_the_lease_and_leaves_the_revision_alone() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    leased(&store, &key, "one", 0).await.unwrap();
    assert_eq!(
        store.tasks().heartbeat(&key, "one", later(60)).await.unwrap(),
        Beat::Kept
    );
    assert!(leased(&store, &key, "two", 45).await.is_none());
    let found = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert_eq!((found.task.rev, found.due_at), (1, Some(later(60))));
    // A revision that was begun before the heartbeat still goes through.
    step(&store, task, TaskState::Working, later(1)).await;
}

#[tokio::test]
async fn only_one_of_many_gets_the_lease() {
    let (store, _database) = store_testing::start().await;
    let key = created(&store, &task()).await;
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..16 {
        let (store, key) = (store.clone(), key.clone());
        workers.spawn(async move { leased(&store, &key, &format!("w{worker}"), 0).await.is_some() });
    }
    assert_eq!(workers.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn a_release_fails_where_the_task_changed_unseen() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    leased(&store, &key, "one", 0).await.unwrap();
    let task = step(&store, task, TaskState::Working, later(1)).await;
    let tasks = store.tasks();
    assert!(
        !tasks
            .release(&key, "one", 1, Due::Never, Attempts::Reset)
            .await
            .unwrap()
    );
    assert!(
        leased(&store, &key, "two", 2).await.is_none(),
        "the lease is kept"
    );
    assert!(
        tasks
            .release(&key, "one", task.rev, Due::At(later(9)), Attempts::Keep)
            .await
            .unwrap()
    );
    let found = tasks.find(&key, now()).await.unwrap().unwrap();
    assert_eq!(
        (found.lease, found.attempts, found.due_at),
        (None, 1, Some(later(9)))
    );
    assert_eq!(leased(&store, &key, "two", 2).await.unwrap().attempts, 2);
    assert!(
        tasks
            .release(&key, "two", task.rev, Due::Never, Attempts::Reset)
            .await
            .unwrap()
    );
    assert_eq!(leased(&store, &key, "three", 2).await.unwrap().attempts, 1);
}

#[tokio::test]
async fn a_commit_that_releases_needs_the_lease() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    let done = revised(&task, TaskState::Completed, later(1));
    let release = |holder| LeaseAfter::Release { holder };
    assert_eq!(
        tasks.commit(&done, Due::Never, release("one")).await.unwrap(),
        Committed::Conflict
    );
    leased(&store, &key, "one", 0).await.unwrap();
    leased(&store, &key, "two", 30).await.unwrap();
    assert_eq!(
        tasks.commit(&done, Due::Never, release("one")).await.unwrap(),
        Committed::Conflict
    );
    assert_eq!(
        tasks.commit(&done, Due::Never, release("two")).await.unwrap(),
        Committed::Yes
    );
    let found = tasks.find(&key, now()).await.unwrap().unwrap();
    assert_eq!((found.lease, found.attempts, found.due_at), (None, 0, None));
}

#[tokio::test]
async fn nobody_leases_what_is_not_there_or_has_expired() {
    let (store, _database) = store_testing::start().await;
    let absent = TaskKey::from(&task());
    assert_eq!(
        store.tasks().lease(&absent, "w", now(), later(30)).await.unwrap(),
        Leased::Missing
    );
    assert!(
        store.tasks().find(&absent, now()).await.unwrap().is_none(),
        "and nothing was made"
    );
    let task = task();
    let key = created(&store, &task).await;
    step(&store, task, TaskState::Completed, now()).await;
    assert_eq!(due(&store, 4000).await.len(), 1);
    assert_eq!(
        store
            .tasks()
            .lease(&key, "w", later(4000), later(4030))
            .await
            .unwrap(),
        Leased::Expired
    );
    // An expired task is not found due again and again.
    assert!(due(&store, 9999).await.is_empty());
}

#[tokio::test]
async fn tasks_are_born_due_and_what_is_due_moves_with_the_lease() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    assert!(due(&store, 4).await.is_empty());
    assert_eq!(due(&store, 5).await, [(key.clone(), PointsAt::Task, later(5))]);
    leased(&store, &key, "one", 5).await.unwrap();
    assert_eq!(due(&store, 35).await.len(), 1, "a lost worker is found");
    assert!(
        leased(&store, &key, "two", 34).await.is_none(),
        "and not replaced before"
    );
    store.tasks().heartbeat(&key, "one", later(60)).await.unwrap();
    assert!(due(&store, 59).await.is_empty());
    // News of somebody else makes it due, and the holder's release does not undo that unseen.
    let revision = revised(&task, TaskState::Working, later(36));
    store
        .tasks()
        .commit(&revision, Due::At(later(36)), LeaseAfter::Keep)
        .await
        .unwrap();
    assert!(
        !store
            .tasks()
            .release(&key, "one", 1, Due::Never, Attempts::Reset)
            .await
            .unwrap()
    );
    assert_eq!(due(&store, 36).await, [(key.clone(), PointsAt::Task, later(36))]);
    assert!(
        store
            .tasks()
            .release(&key, "one", 2, Due::Never, Attempts::Reset)
            .await
            .unwrap()
    );
    assert!(due(&store, 9999).await.is_empty());
}

#[tokio::test]
async fn what_is_due_after_the_lease_or_never_is_due_at_its_end() {
    let (store, _database) = store_testing::start().await;
    for rest in [Due::At(later(3600)), Due::Never] {
        let task = task();
        let key = created(&store, &task).await;
        let revision = revised(&task, TaskState::Working, later(1));
        let tasks = store.tasks();
        let committed = tasks.commit(&revision, rest, LeaseAfter::Keep).await.unwrap();
        assert_eq!(committed, Committed::Yes);
        let taken = leased(&store, &key, "one", 2).await.unwrap();
        assert_eq!(taken.due_at, Some(later(32)), "{rest:?}");
        let lost = due(&store, 32).await;
        assert!(lost.contains(&(key, PointsAt::Task, later(32))), "{lost:?}");
    }
}

#[tokio::test]
async fn a_task_is_made_due_sooner_and_never_later_and_not_once_it_is_over() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    let due_at = async || tasks.find(&key, now()).await.unwrap().unwrap().due_at;
    for (at, then) in [(9, 5), (3, 3), (4, 3)] {
        let (made, calls) = counted(tasks.make_due(&key, later(at))).await;
        made.unwrap();
        assert_eq!((due_at().await, calls.total()), (Some(later(then)), 1));
    }
    leased(&store, &key, "one", 4).await.unwrap();
    tasks.heartbeat(&key, "one", later(40)).await.unwrap();
    tasks.make_due(&key, later(6)).await.unwrap();
    assert_eq!(due_at().await, Some(later(6)), "whoever works on it");
    assert!(leased(&store, &key, "two", 7).await.is_none());
    let over = revised(&task, TaskState::Completed, later(8));
    tasks.commit(&over, Due::Never, LeaseAfter::Keep).await.unwrap();
    tasks.make_due(&key, later(9)).await.unwrap();
    assert_eq!(due_at().await, None);
    let absent = TaskKey::from(&crate::task());
    tasks.make_due(&absent, later(9)).await.unwrap();
    assert!(
        tasks.find(&absent, now()).await.unwrap().is_none(),
        "and nothing was made"
    );
}

#[tokio::test]
async fn a_task_that_is_over_is_leased_only_while_something_is_left_to_do() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let revision = revised(&task, TaskState::Canceled, later(1));
    let tasks = store.tasks();
    let due_now = Due::At(later(1));
    tasks.commit(&revision, due_now, LeaseAfter::Keep).await.unwrap();
    assert!(leased(&store, &key, "one", 2).await.is_some());
    let held = tasks.lease(&key, "two", later(3), later(33)).await.unwrap();
    assert_eq!(held, Leased::Held);
    let told = tasks.release(&key, "one", 2, Due::Never, Attempts::Reset);
    assert!(told.await.unwrap());
    let (woken, calls) = counted(tasks.lease(&key, "two", later(4), later(34))).await;
    let Leased::Over(over) = woken.unwrap() else {
        panic!("leased")
    };
    assert_eq!((over.task.rev, over.lease, calls.total()), (2, None, 1));
}

#[tokio::test]
async fn shards_share_the_due_tasks_of_all_tenants_longest_overdue_first() {
    let (store, _database) = store_testing::start().await;
    let mut expected = Vec::new();
    for round in 0..40 {
        let name = if round % 2 == 0 { "acme" } else { "globex" };
        let task = task_of(name, "weather", "user-1", now());
        let key = created(&store, &task).await;
        let revision = revised(&task, TaskState::Working, now());
        store
            .tasks()
            .commit(&revision, Due::At(later(100 - round)), LeaseAfter::Keep)
            .await
            .unwrap();
        expected.push(key);
    }
    let mut found = Vec::new();
    let mut used = 0;
    for shard in 0..DUE_SHARDS {
        let (pointers, calls) = counted(store.tasks().due(shard, later(100), 100, None)).await;
        let pointers = pointers.unwrap().items;
        assert_eq!(calls.total(), 1);
        assert!(pointers.is_sorted_by_key(|pointer| pointer.due_at));
        used += usize::from(!pointers.is_empty());
        let first = store.tasks().due(shard, later(100), 1, None).await.unwrap().items;
        assert_eq!(first.first(), pointers.first());
        assert!(first.len() <= 1);
        found.extend(pointers.into_iter().map(|pointer| pointer.key));
    }
    assert!(used > 3, "the ids spread over the shards");
    let text = |key: &TaskKey| format!("{key:?}");
    found.sort_by_key(text);
    expected.sort_by_key(text);
    assert_eq!(found, expected);
}

/// A worker took the lease by a clock that was ahead and was set right since.
#[tokio::test]
async fn a_lease_of_a_clock_that_was_ahead_is_waited_for_no_longer_than_any_lease() {
    for (ahead, is_free) in [
        (0, false),
        (500, false),
        (601, true),
        (3600, true),
        (31 * 24 * 3600, true),
    ] {
        let (store, _database) = store_testing::start().await;
        let key = created(&store, &task()).await;
        assert!(leased(&store, &key, "ahead", ahead).await.is_some());
        assert_eq!(
            leased(&store, &key, "right", 0).await.is_some(),
            is_free,
            "{ahead}"
        );
        // Whoever held it has lost it then.
        let beat = store.tasks().heartbeat(&key, "ahead", later(40)).await.unwrap();
        assert_eq!(beat == Beat::Lost, is_free, "{ahead}");
    }
}
