//! Listings and their cursors.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::*;
use store::{Page, PageRequest, StoreError, counted};

const MANY: usize = 230;

async fn many(store: &Store) -> Vec<TaskId> {
    let mut ids = Vec::new();
    for round in 0..MANY {
        // Groups of three have one time.
        let task = task_of("acme", "weather", "user-1", later(round as u64 / 3));
        created(store, &task).await;
        ids.push(task.id);
    }
    ids
}

fn page(limit: u32, cursor: Option<&str>) -> PageRequest {
    PageRequest {
        limit,
        cursor: cursor.map(str::to_owned),
    }
}

#[tokio::test]
async fn many_tasks_are_paged_newest_first_without_loss_or_repeat() {
    let (store, _database) = store_testing::start().await;
    let ids = many(&store).await;
    created(&store, &task_of("acme", "weather", "user-2", now())).await;
    created(&store, &task_of("globex", "weather", "user-1", now())).await;
    for limit in [1000, 40] {
        let (mut cursor, mut seen, mut sizes) = (None::<String>, Vec::new(), Vec::new());
        loop {
            let (found, calls) = counted(of_user(&store, "user-1", page(limit, cursor.as_deref()))).await;
            let found = found.unwrap();
            assert!(calls.total() <= 2, "{calls:?}");
            sizes.push(found.items.len());
            seen.extend(found.items);
            cursor = found.next;
            if cursor.is_none() {
                break;
            }
        }
        assert!(sizes.iter().all(|size| *size <= 100));
        assert!(seen.is_sorted_by(|one, two| one.status.at >= two.status.at));
        let unique: HashSet<_> = seen.iter().map(|task| task.id).collect();
        assert_eq!((seen.len(), unique), (MANY, ids.iter().copied().collect()));
    }
    let listed = of_context(&store, "trip").await;
    assert_eq!(listed.len(), MANY);
    assert!(listed.is_sorted_by_key(|task| task.created_at));
}

#[tokio::test]
async fn a_new_status_moves_a_task_up() {
    let (store, _database) = store_testing::start().await;
    let old = task();
    created(&store, &old).await;
    let young = task_of("acme", "weather", "user-1", later(1));
    created(&store, &young).await;
    let old = step(&store, old, TaskState::Completed, later(2)).await;
    let ids = |page: Page<Task>| page.items.iter().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!(
        ids(of_user(&store, "user-1", page(10, None)).await.unwrap()),
        [old.id, young.id]
    );
    // The order of a conversation is that of its beginning.
    let listed = of_context(&store, "trip").await;
    let listed: Vec<_> = listed.iter().map(|task| task.id).collect();
    assert_eq!(listed, [old.id, young.id]);
    assert!(of_context(&store, "other").await.is_empty());
}

#[tokio::test]
async fn a_conversation_is_its_owners_alone() {
    let (store, _database) = store_testing::start().await;
    created(&store, &task()).await;
    let context = ContextId::parse("trip").unwrap();
    for (tenant_name, agent_name, user) in [
        ("acme", "weather", "user-2"),
        ("globex", "weather", "user-1"),
        ("acme", "host", "user-1"),
    ] {
        let (tenant, agent, owner) = (tenant(tenant_name), agent(agent_name), owner(user));
        let listed = store
            .tasks()
            .by_context(&tenant, &agent, &owner, &context, now())
            .await
            .unwrap();
        assert!(listed.is_empty());
        let listed = store
            .tasks()
            .by_owner(&tenant, &agent, &owner, page(10, None), now())
            .await
            .unwrap();
        assert!(listed.items.is_empty());
    }
}

#[tokio::test]
async fn a_cursor_of_another_listing_or_rubbish_is_refused_before_any_call() {
    let (store, _database) = store_testing::start().await;
    for name in ["acme", "globex"] {
        for round in 0..3 {
            for user in ["user-1", "user-2"] {
                created(&store, &task_of(name, "weather", user, later(round))).await;
            }
        }
    }
    let cursor = of_user(&store, "user-1", page(1, None))
        .await
        .unwrap()
        .next
        .unwrap();
    assert!(of_user(&store, "user-1", page(1, Some(&cursor))).await.is_ok());
    let tasks = store.tasks();
    let (acme, globex, weather, user) = (
        tenant("acme"),
        tenant("globex"),
        agent("weather"),
        owner("user-1"),
    );
    let foreign = page(1, Some(&cursor));
    let host = agent("host");
    let (refused, calls) = counted(async {
        [
            of_user(&store, "user-2", foreign.clone()).await,
            tasks
                .by_owner(&globex, &weather, &user, foreign.clone(), now())
                .await,
            tasks.by_owner(&acme, &host, &user, foreign, now()).await,
        ]
    })
    .await;
    assert!(
        refused
            .iter()
            .all(|refused| matches!(refused, Err(StoreError::BadCursor)))
    );
    assert_eq!(calls.total(), 0);
    let mut moved = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
    let last = moved.len() - 6;
    moved[last] ^= 1;
    let giant = "a".repeat(1_000_000);
    for rubbish in [
        "",
        "null",
        "!",
        "\0",
        &cursor[1..],
        &giant,
        &URL_SAFE_NO_PAD.encode(moved),
        &URL_SAFE_NO_PAD.encode("[]"),
        &URL_SAFE_NO_PAD.encode("[\"\",\"\",\"\",\"\"]"),
    ] {
        let refused = of_user(&store, "user-1", page(1, Some(rubbish))).await;
        assert!(matches!(refused, Err(StoreError::BadCursor)));
    }
}

#[tokio::test]
async fn beside_a_task_are_the_newest_others_of_its_conversation() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let mut made = Vec::new();
    for at in 0..5 {
        made.push(task_of("acme", "weather", "user-1", later(at)));
        created(&store, &made[made.len() - 1]).await;
    }
    for foreign in [
        task_of("acme", "weather", "user-2", later(9)),
        task_of("globex", "weather", "user-1", later(9)),
    ] {
        created(&store, &foreign).await;
    }
    let beside = async |task: &Task, most| {
        let (found, calls) = counted(tasks.beside(task, (most, 0), now())).await;
        let ids: Vec<TaskId> = found.unwrap().iter().map(|task| task.id).collect();
        (ids, calls.total())
    };
    let ids: Vec<TaskId> = made.iter().map(|task| task.id).collect();
    assert_eq!(beside(&made[4], 2).await, (vec![ids[2], ids[3]], 2));
    assert_eq!(beside(&made[0], 2).await, (vec![ids[3], ids[4]], 2));
    assert_eq!(beside(&made[3], 9).await.0, [ids[0], ids[1], ids[2], ids[4]]);
    // What is not over is found behind the newest as well, for not a call more.
    let with_open = async |task: &Task, most| {
        let (found, calls) = counted(tasks.beside(task, most, now())).await;
        let ids: Vec<TaskId> = found.unwrap().iter().map(|task| task.id).collect();
        (ids, calls.total())
    };
    for over in [0, 2] {
        let task = read(&store, &made[over]).await;
        step(&store, task, TaskState::Completed, later(50)).await;
    }
    assert_eq!(with_open(&made[4], (1, 9)).await, (vec![ids[1], ids[3]], 2));
    assert_eq!(with_open(&made[1], (1, 1)).await, (vec![ids[3], ids[4]], 2));
    assert_eq!(with_open(&made[4], (3, 9)).await.0, [ids[1], ids[2], ids[3]]);
    // Nothing is read for a conversation that has just begun.
    let alone = task_of("acme", "weather", "user-3", now());
    created(&store, &alone).await;
    assert_eq!(beside(&alone, 9).await, (Vec::new(), 1));
}
