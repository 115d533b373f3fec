//! What callers ask of their own tasks.

use crate::*;
use store::{TaskPage, TaskQuery, counted, measured};

struct Asker {
    tenant: Tenant,
    agent: AgentName,
    owner: Owner,
    context: ContextId,
}

fn asker(tenant_name: &str, user: &str) -> Asker {
    Asker {
        tenant: tenant(tenant_name),
        agent: agent("weather"),
        owner: owner(user),
        context: ContextId::parse("trip").unwrap(),
    }
}

impl Asker {
    fn all(&self) -> TaskQuery<'_> {
        TaskQuery {
            tenant: &self.tenant,
            agent: &self.agent,
            owner: &self.owner,
            context: None,
            state: None,
            changed_since: None,
            limit: 100,
            cursor: None,
            now: now(),
        }
    }
}

/// Every page; each says the same total.
async fn pages(store: &Store, query: TaskQuery<'_>) -> (Vec<Task>, u64) {
    let (mut tasks, mut cursor, mut total) = (Vec::new(), None::<String>, None);
    loop {
        let page = store
            .tasks()
            .query(TaskQuery {
                cursor: cursor.as_deref(),
                ..query
            })
            .await
            .unwrap();
        assert!(page.tasks.len() <= query.limit as usize);
        assert_eq!(*total.get_or_insert(page.total), page.total);
        tasks.extend(page.tasks);
        cursor = page.next;
        if cursor.is_none() {
            return (tasks, total.unwrap());
        }
    }
}

/// Fifty tasks of user-1, every fifth completed, three at a time in one millisecond.
async fn fifty(store: &Store) -> Vec<Task> {
    let mut tasks = Vec::new();
    for round in 0..50 {
        let mut task = task_of("acme", "weather", "user-1", later(round / 3));
        if round % 2 == 0 {
            task.context_id = ContextId::parse("other").unwrap();
        }
        created(store, &task).await;
        if round % 5 == 0 {
            task = step(
                store,
                read(store, &task).await,
                TaskState::Completed,
                later(100 + round),
            )
            .await;
        }
        tasks.push(task);
    }
    tasks.sort_by_key(|task| std::cmp::Reverse((task.status.at, task.id.to_string())));
    tasks
}

#[tokio::test]
async fn filters_order_pages_and_totals_are_right_together() {
    let (store, _database) = store_testing::start().await;
    let tasks = fifty(&store).await;
    created(&store, &task_of("acme", "weather", "user-2", now())).await;
    created(&store, &task_of("globex", "weather", "user-1", now())).await;
    let asker = asker("acme", "user-1");
    let contexts = [None, Some(&asker.context)];
    let states = [
        None,
        Some(TaskState::Completed),
        Some(TaskState::Submitted),
        Some(TaskState::Failed),
    ];
    let times = [None, Some(later(10)), Some(later(120)), Some(later(5000))];
    for context in contexts {
        for state in states {
            for changed_since in times {
                let expected: Vec<&Task> = tasks
                    .iter()
                    .filter(|task| context.is_none_or(|context| task.context_id == *context))
                    .filter(|task| state.is_none_or(|state| task.status.state == state))
                    .filter(|task| changed_since.is_none_or(|since| task.status.at >= since))
                    .collect();
                for limit in [7, 100] {
                    let query = TaskQuery {
                        context,
                        state,
                        changed_since,
                        limit,
                        ..asker.all()
                    };
                    let (found, total) = pages(&store, query).await;
                    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query:?}");
                    assert_eq!(total, expected.len() as u64);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_page_costs_the_same_however_many_tasks_others_have() {
    let (store, _database) = store_testing::start().await;
    for round in 0..30 {
        created(&store, &task_of("acme", "weather", "user-1", later(round))).await;
    }
    let asker = asker("acme", "user-1");
    let few = || TaskQuery {
        limit: 5,
        ..asker.all()
    };
    let (_, before) = measured(store.tasks().query(few())).await;
    for round in 0..200 {
        created(&store, &task_of("acme", "weather", "user-2", later(round))).await;
    }
    let (page, after) = measured(store.tasks().query(few())).await;
    let TaskPage { tasks, total, .. } = page.unwrap();
    assert_eq!((tasks.len(), total), (5, 30));
    assert_eq!(before, after);
    assert_eq!(after.total(), 3, "a query, a count, a batch of reads: {after:?}");
    assert!(after.capacity.read > 0.0 && after.capacity.write == 0.0);
    // Where one page is all there is, nobody counts.
    let (_, calls) = counted(store.tasks().query(asker.all())).await;
    assert_eq!(calls.total(), 2);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_caller_and_filter_only() {
    let (store, _database) = store_testing::start().await;
    fifty(&store).await;
    let me = asker("acme", "user-1");
    let mine = TaskQuery { limit: 5, ..me.all() };
    let cursor = store.tasks().query(mine).await.unwrap().next.unwrap();
    let with = |query| TaskQuery {
        cursor: Some(&cursor),
        ..query
    };
    assert!(store.tasks().query(with(mine)).await.is_ok());
    let (you, there) = (asker("acme", "user-2"), asker("globex", "user-1"));
    let state = Some(TaskState::Submitted);
    let changed_since = Some(later(1));
    let context = Some(&me.context);
    let foreign = [
        you.all(),
        there.all(),
        TaskQuery { state, ..mine },
        TaskQuery {
            changed_since,
            ..mine
        },
        TaskQuery { context, ..mine },
    ];
    let other = if cursor.ends_with('A') { 'Q' } else { 'A' };
    let moved = format!("{}{other}", &cursor[..cursor.len() - 1]);
    let giant = "a".repeat(1_000_000);
    for query in foreign.map(with) {
        let (refused, calls) = counted(store.tasks().query(query)).await;
        assert!(matches!(refused, Err(StoreError::BadCursor)), "{query:?}");
        assert_eq!(calls.total(), 0);
    }
    for rubbish in ["", "!", "null", &cursor[1..], &moved, &giant] {
        let query = TaskQuery {
            cursor: Some(rubbish),
            ..mine
        };
        let refused = store.tasks().query(query).await;
        assert!(matches!(refused, Err(StoreError::BadCursor)), "{rubbish:.20}");
    }
}

#[tokio::test]
async fn a_task_that_moves_while_somebody_pages_is_not_shown_twice_behind() {
    let (store, _database) = store_testing::start().await;
    let tasks = fifty(&store).await;
    let me = asker("acme", "user-1");
    let mine = TaskQuery {
        limit: 20,
        ..me.all()
    };
    let first = store.tasks().query(mine).await.unwrap();
    // One that was shown and one that was not both move to the front.
    for moved in [&tasks[15], &tasks[40]] {
        step(&store, read(&store, moved).await, TaskState::Failed, later(9000)).await;
    }
    let rest = TaskQuery {
        cursor: first.next.as_deref(),
        limit: 100,
        ..mine
    };
    let rest = store.tasks().query(rest).await.unwrap();
    let ids: Vec<TaskId> = first
        .tasks
        .iter()
        .chain(&rest.tasks)
        .map(|task| task.id)
        .collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!((unique.len(), ids.len()), (49, 49));
    assert_eq!(rest.total, 50);
}
