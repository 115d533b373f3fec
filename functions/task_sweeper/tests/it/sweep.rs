//! Sweeps over a database in the same process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor, WakeError};
use domain::{Clock as _, ManualClock, PushConfigId, Tenant};
use edge::ScheduleHandler as _;
use serde_json::json;
use store::{Beat, Leased, TaskKey, counted};
use task_sweeper::{Looks, State, Sweeper, Swept, sweep, sweep_for};

use crate::support::{Wanted, create, create_with_delivery, id, start};

/// A queue that takes wakes for all agents but the one it does not like.
#[derive(Default)]
struct Queue {
    taken: Mutex<Vec<Wake>>,
    refuses: Option<&'static str>,
}

#[async_trait::async_trait]
impl WakeDoor for Queue {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        assert_eq!(delay, Duration::ZERO);
        if self
            .refuses
            .is_some_and(|agent| wake.key().agent.as_str() == agent)
        {
            return Err(WakeError::Queue("away".into()));
        }
        self.taken.lock().unwrap().push(wake.clone());
        Ok(())
    }
}

impl Queue {
    fn keys(&self) -> BTreeSet<String> {
        let name = |key: TaskKey| format!("{}/{}/{}", key.tenant.name(), key.agent, key.id);
        self.taken
            .lock()
            .unwrap()
            .drain(..)
            .map(|wake| name(wake.key()))
            .collect()
    }
}

fn due(agent: &'static str, number: u8) -> Wanted {
    Wanted {
        tenant: "acme",
        agent,
        id: id(number),
        due_at: start(),
    }
}

#[tokio::test]
async fn what_is_due_is_woken_in_every_shard_and_the_rest_is_not() {
    let (store, _database) = store_testing::start().await;
    let clock = ManualClock::new(start());
    for number in 0..16 {
        create(&store, due("host", number)).await;
    }
    let later = start().after(Duration::from_secs(60));
    create(
        &store,
        Wanted {
            due_at: later,
            ..due("weather", 16)
        },
    )
    .await;
    create(
        &store,
        Wanted {
            tenant: "globex",
            ..due("host", 17)
        },
    )
    .await;

    let queue = Queue::default();
    assert_eq!(
        sweep(&store, &queue, &clock).await,
        Swept {
            tasks: 17,
            ..Swept::default()
        }
    );
    let keys = queue.keys();
    assert_eq!(keys.len(), 17);
    assert!(keys.contains(&format!("globex/host/{}", id(17))));
    assert!(!keys.iter().any(|key| key.contains("weather")));

    // What nobody worked on is still due: a lost wake is repeated.
    clock.advance(Duration::from_secs(60));
    assert_eq!(sweep(&store, &queue, &clock).await.tasks, 18);
}

#[tokio::test]
async fn a_task_that_somebody_works_on_is_left_alone_until_the_lease_ends() {
    let (store, _database) = store_testing::start().await;
    let clock = ManualClock::new(start());
    let task = create(&store, due("host", 1)).await;
    let (key, until) = (TaskKey::from(&task), start().after(Duration::from_secs(30)));
    let tasks = store.tasks();
    let leased = tasks.lease(&key, "worker-1", start(), until).await.unwrap();
    assert!(matches!(leased, Leased::Taken(_)));

    // Before the worker's first heartbeat the task is due since it was born: who is woken for it finds it held.
    let queue = Queue::default();
    assert_eq!(sweep(&store, &queue, &clock).await.tasks, 1);
    let woken = tasks.lease(&key, "worker-2", start(), until).await.unwrap();
    assert_eq!(woken, Leased::Held);
    let beat = tasks.heartbeat(&key, "worker-1", until).await.unwrap();
    assert_eq!(beat, Beat::Kept);
    assert_eq!(sweep(&store, &queue, &clock).await, Swept::default());
    clock.advance(Duration::from_secs(30));
    assert_eq!(sweep(&store, &queue, &clock).await.tasks, 1);
}

#[tokio::test]
async fn a_delivery_is_woken_as_such() {
    let (store, _database) = store_testing::start().await;
    let config = PushConfigId::parse("hook-1").unwrap();
    create_with_delivery(&store, due("host", 3), &config).await;
    let queue = Queue::default();
    let swept = sweep(&store, &queue, &ManualClock::new(start())).await;
    assert_eq!(
        swept,
        Swept {
            deliveries: 1,
            ..Swept::default()
        }
    );
    let taken = queue.taken.lock().unwrap();
    assert!(
        matches!(&taken[..], [Wake::Push(wake)] if wake.config_id == config),
        "{taken:?}"
    );
}

#[tokio::test]
async fn a_queue_that_is_away_keeps_nobody_else_waiting() {
    let (store, _database) = store_testing::start().await;
    for number in 0..4 {
        create(&store, due("host", number)).await;
        create(&store, due("weather", number + 8)).await;
    }
    let queue = Queue {
        refuses: Some("host"),
        ..Queue::default()
    };
    let swept = sweep(&store, &queue, &ManualClock::new(start())).await;
    assert_eq!(
        swept,
        Swept {
            tasks: 4,
            not_sent: 4,
            ..Swept::default()
        }
    );
}

#[tokio::test]
async fn a_sweep_costs_one_query_a_shard_and_writes_nothing() {
    let (store, _database) = store_testing::start().await;
    create(&store, due("host", 5)).await;
    let (_, calls) = counted(sweep(&store, &Queue::default(), &ManualClock::new(start()))).await;
    assert_eq!(calls.by_operation, [("Query".to_owned(), 8)].into());
}

#[tokio::test]
async fn a_crowd_is_drained_in_one_sweep_and_a_short_one_leaves_the_rest_for_the_next() {
    const MANY: u32 = 520;
    let (store, _database) = store_testing::start().await;
    let clock = ManualClock::new(start());
    for number in 0..MANY {
        // All of them fall into one shard, and make two pages of it.
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        create(
            &store,
            Wanted {
                tenant: "acme",
                agent: "host",
                id: domain::TaskId::from_bytes(bytes),
                due_at: start(),
            },
        )
        .await;
    }
    let queue = Queue::default();
    let short = sweep_for(&store, &queue, &clock, Duration::ZERO).await;
    let expected = Swept {
        tasks: 500,
        unfinished_shards: 1,
        ..Swept::default()
    };
    assert_eq!(short, expected);
    queue.keys();
    assert_eq!(sweep(&store, &queue, &clock).await.tasks, MANY);
    assert_eq!(
        queue.keys().len(),
        usize::try_from(MANY).unwrap(),
        "each of them once"
    );
}

#[tokio::test]
async fn an_unreadable_database_fails_the_invocation() {
    let (store, database) = store_testing::start().await;
    let state = State {
        store,
        wake: Arc::new(Queue::default()),
        clock: Arc::new(ManualClock::new(start())),
        looks: Looks {
            number: 1,
            every: Duration::ZERO,
        },
    };
    let sweeper = Sweeper::new(state);
    assert_eq!(
        sweeper.run().await.unwrap(),
        json!({ "tasks": 0, "deliveries": 0, "notSent": 0, "left": 0, "unreadShards": 0, "unfinishedShards": 0, "oldestDueSeconds": 0 })
    );
    drop(database);
    assert!(sweeper.run().await.is_err());
}

#[tokio::test]
async fn whatever_one_tenant_has_due_others_are_woken_and_the_alarm_is_of_active_ones() {
    const MANY: u32 = 2100;
    let (store, _database) = store_testing::start().await;
    let clock = ManualClock::new(start());
    for number in 0..MANY {
        let mut bytes = [0; 16];
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        let id = domain::TaskId::from_bytes(bytes);
        create(&store, Wanted { id, ..due("host", 0) }).await;
    }
    let (tenant, due_at) = ("globex", start().after(Duration::from_secs(1)));
    create(
        &store,
        Wanted {
            tenant,
            due_at,
            ..due("host", 1)
        },
    )
    .await;
    let acme = Tenant::parse("acme").unwrap();
    store.tenants().add(&acme).await.unwrap();
    for (minutes, suspended, oldest) in [(5, false, 300), (10, true, 899)] {
        clock.advance(Duration::from_secs(minutes * 60));
        let since = suspended.then(|| clock.now());
        store.tenants().suspend(&acme, since).await.unwrap();
        let queue = Queue::default();
        let swept = sweep(&store, &queue, &clock).await;
        assert_eq!(
            (swept.tasks, swept.left, swept.oldest_due_seconds),
            (2001, 100, oldest)
        );
        assert!(queue.keys().contains(&format!("globex/host/{}", id(1))));
    }
}

#[tokio::test]
async fn a_sweep_looks_several_times_and_wakes_what_stays_due_once() {
    let (store, _database) = store_testing::start().await;
    let (clock, queue) = (Arc::new(ManualClock::new(start())), Arc::new(Queue::default()));
    for number in 0..3 {
        create(&store, due("host", number)).await;
    }
    let sweeper = Sweeper::new(State {
        store,
        wake: queue.clone(),
        clock,
        looks: Looks {
            number: 3,
            every: Duration::ZERO,
        },
    });
    let (swept, calls) = counted(sweeper.run()).await;
    assert_eq!(swept.unwrap()["tasks"], 3);
    assert_eq!(queue.taken.lock().unwrap().len(), 3);
    assert_eq!(calls.by_operation, [("Query".to_owned(), 24)].into());
    // The next one wakes it again: the wake may be lost.
    assert_eq!(sweeper.run().await.unwrap()["tasks"], 3);
}

#[tokio::test]
async fn what_a_clock_put_off_that_was_set_back_since_is_woken_all_the_same() {
    for (set_back, woken) in [(3600, 2), (30, 0), (0, 0)] {
        let (store, _database) = store_testing::start().await;
        let ahead = start().after(Duration::from_secs(set_back));
        // Parked by the clock that was ahead: for half an hour, and for a second.
        for (number, wait) in [(0, 1800), (1, 1)] {
            let due_at = ahead.after(Duration::from_secs(60 + wait));
            create(
                &store,
                Wanted {
                    due_at,
                    ..due("host", number)
                },
            )
            .await;
        }
        let clock = Arc::new(MovedClock(std::sync::Mutex::new(ahead)));
        let sweeper = Sweeper::new(State {
            store,
            wake: Arc::new(Queue::default()),
            clock: clock.clone(),
            looks: Looks {
                number: 1,
                every: Duration::ZERO,
            },
        });
        assert_eq!(sweeper.run().await.unwrap()["tasks"], 0, "nothing is due yet");
        *clock.0.lock().unwrap() = start();
        assert_eq!(sweeper.run().await.unwrap()["tasks"], woken, "{set_back}");
        // Once: whoever was woken early has put it off by the clock of now.
        assert_eq!(sweeper.run().await.unwrap()["tasks"], 0, "{set_back}");
    }
}

/// A clock that is set.
struct MovedClock(std::sync::Mutex<domain::Timestamp>);

impl domain::Clock for MovedClock {
    fn now(&self) -> domain::Timestamp {
        *self.0.lock().unwrap()
    }
}
