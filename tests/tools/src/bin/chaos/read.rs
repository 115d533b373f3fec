//! Reading, at the end, what the tables hold: every task with its log, the specialists' tasks, the deliveries, and what
//! is still due.

use std::time::{Duration, Instant};

use domain::{AgentName, Clock, Event, Owner, SystemClock, Task, Tenant, Timestamp};
use futures_util::StreamExt;
use store::{
    DUE_SHARDS, Delivery, DeliveryFilter, PageRequest, Pointer, PointsAt, Store, StoreError, TaskKey,
    TaskQuery,
};

use crate::customer::Asked;
use crate::worker::Access;

/// How many tasks are read at once.
const AT_ONCE: usize = 16;

/// A task with its log.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) task: Task,
    pub(crate) events: Vec<Event>,
}

/// Everything that the tables hold of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tables {
    /// What the customers asked for, as the host has it.
    pub(crate) asked: Vec<(Asked, Option<Logged>)>,
    /// All tasks of specialists.
    pub(crate) specialists: Vec<Logged>,
    /// All deliveries, of hosts and specialists.
    pub(crate) deliveries: Vec<Delivery>,
}

/// Waits until every task is over; gives how many are. Looks at one after the other: the database has other things to do.
pub(crate) async fn until_over(store: &Store, asked: &[Asked], deadline: Instant) -> usize {
    let mut over = 0;
    for one in asked {
        while !is_over(store, &one.key).await {
            if Instant::now() > deadline {
                println!("not over: task {}, {}", one.number, short(store, &one.key).await);
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        over += usize::from(is_over(store, &one.key).await);
    }
    over
}

async fn is_over(store: &Store, key: &TaskKey) -> bool {
    let task = task(store, key).await;
    task.is_some_and(|task| task.status.state.is_terminal())
}

/// A task in one line.
async fn short(store: &Store, key: &TaskKey) -> String {
    let Some(task) = task(store, key).await else {
        return "which is not there".to_owned();
    };
    let jobs: Vec<_> = task.jobs.iter().map(|job| &job.state).collect();
    format!(
        "{} {:?}, rev {}, jobs {jobs:?}, last stumble {:?}",
        task.id, task.status.state, task.rev, task.stumble
    )
}

/// On a loaded machine the database may take longer than its client waits.
async fn insist<T, F>(call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut tries = 0;
    loop {
        match call().await {
            Ok(read) => return read,
            Err(_) if tries < 5 => tries += 1,
            Err(fault) => panic!("the database does not answer: {fault}"),
        }
    }
}

async fn task(store: &Store, key: &TaskKey) -> Option<Task> {
    let tasks = &store.tasks();
    let found = insist(|| tasks.find(key, SystemClock.now())).await;
    found.map(|stored| stored.task)
}

/// Waits until no pointer to work that is due is left; gives what is left when the patience ends.
pub(crate) async fn until_nothing_is_due(store: &Store, patience: Duration) -> Vec<Pointer> {
    let deadline = Instant::now() + patience;
    let someday = Timestamp::from_millis(i64::from(i32::MAX) * 1_000);
    loop {
        let mut left = Vec::new();
        for shard in 0..DUE_SHARDS {
            let tasks = &store.tasks();
            let due = insist(|| tasks.due(shard, someday, 100, None)).await.items;
            // What a tenant has used is looked at once a day, for ever.
            left.extend(due.into_iter().filter(|pointer| pointer.what != PointsAt::Ledger));
        }
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Reads everything.
pub(crate) async fn tables(store: &Store, asked: &[Asked], customers: &[Access]) -> Tables {
    let asked = futures_util::stream::iter(asked)
        .map(|one| async move { (one.clone(), logged(store, task(store, &one.key).await).await) })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut tables = Tables {
        asked,
        ..Tables::default()
    };
    let weather = AgentName::parse("weather").expect("a name");
    let host = AgentName::parse("host").expect("a name");
    for Access { tenant, owner, .. } in customers {
        let tenant = Tenant::parse(tenant).expect("a tenant");
        let owner = Owner::parse(owner).expect("an owner");
        tables
            .specialists
            .extend(all_of(store, &tenant, &weather, &owner).await);
    }
    let mut tenants: Vec<&str> = customers.iter().map(|one| one.tenant.as_str()).collect();
    tenants.dedup();
    for tenant in tenants {
        let tenant = Tenant::parse(tenant).expect("a tenant");
        for agent in [&host, &weather] {
            tables.deliveries.extend(deliveries(store, &tenant, agent).await);
        }
    }
    tables
}

async fn all_of(store: &Store, tenant: &Tenant, agent: &AgentName, owner: &Owner) -> Vec<Logged> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let query = TaskQuery {
            tenant,
            agent,
            owner,
            context: None,
            state: None,
            changed_since: None,
            limit: 100,
            cursor: cursor.as_deref(),
            now: SystemClock.now(),
        };
        let tasks = &store.tasks();
        let page = insist(|| tasks.query(query)).await;
        for task in page.tasks {
            found.extend(logged(store, Some(task)).await);
        }
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

async fn deliveries(store: &Store, tenant: &Tenant, agent: &AgentName) -> Vec<Delivery> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest { limit: 100, cursor };
        let filter = DeliveryFilter::default();
        let tasks = &store.tasks();
        let listed =
            insist(|| tasks.deliveries(tenant, agent, filter, page.clone(), SystemClock.now())).await;
        found.extend(listed.items);
        cursor = listed.next;
        if cursor.is_none() {
            return found;
        }
    }
}

async fn logged(store: &Store, task: Option<Task>) -> Option<Logged> {
    let task = task?;
    let events = events(store, &TaskKey::from(&task)).await;
    Some(Logged { task, events })
}

async fn events(store: &Store, key: &TaskKey) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.seq);
        let tasks = &store.tasks();
        let more = insist(|| tasks.events(key, after, 500)).await;
        if more.is_empty() {
            return events;
        }
        events.extend(more);
    }
}
