//! The ledger: never more than the limit is admitted, whatever the database does, and what counts too much is set right.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::{Limit, OverQuota, Quota, ServicePlan, SettingChange, TaskState, Whose};
use store::{Admitted, Ended, HourCounts, OwnerDay, PointsAt, TenantDay, day_of, measured, next_day};
use store_testing::{Fate, Faults};
use tokio::task::JoinSet;

use crate::*;

fn quota(per_day: u64, at_once: u64) -> Quota {
    Quota {
        tasks_per_day: per_day,
        tasks_at_once: at_once,
        ..ServicePlan::NONE
    }
}

/// `now()` is so long after a minute began.
const HALF: std::time::Duration = std::time::Duration::from_millis(500);

const MANY: Quota = ServicePlan::NONE;

fn task_by(owner: &str, at: Timestamp) -> Task {
    let mut task = task_of("acme", "host", owner, at);
    task.kept.admitted = true;
    task
}

async fn admit(store: &Store, task: &Task, all: Quota, own: Quota) -> Admitted {
    store.ledger().admit_within(task, (all, own)).await.unwrap()
}

fn over(limit: Limit, whose: Whose, most: u64) -> Admitted {
    let until = match limit {
        // Where there are none, they are paused.
        Limit::TasksPerDay if most > 0 => next_day(now()),
        _ => later(10),
    };
    Admitted::No(OverQuota {
        limit,
        whose,
        most,
        until,
    })
}

async fn day(store: &Store) -> TenantDay {
    store.ledger().today(&tenant("acme"), now()).await.unwrap()
}

async fn owners(store: &Store) -> Vec<OwnerDay> {
    store
        .ledger()
        .owners_of_day(&tenant("acme"), day_of(now()))
        .await
        .unwrap()
}

fn completed() -> Ended {
    Ended {
        outcome: TaskState::Completed,
        took: seconds(3),
        cost: 120,
        bytes: 9_000,
    }
}

/// A task that was admitted and has ended: the day has begun for its owner and the tenant.
async fn begun(store: &Store, user: &str, at: Timestamp) {
    let task = task_by(user, at);
    assert_eq!(admit(store, &task, MANY, MANY).await, YES);
    store.ledger().ended(&task, completed()).await.unwrap();
}

const YES: Admitted = Admitted::Yes { nearly: false };

#[tokio::test]
async fn a_user_whose_share_is_used_up_is_refused_while_the_neighbour_is_not() {
    let (store, _database) = store_testing::start().await;
    let acme = tenant("acme");
    store.tenants().add(&acme).await.unwrap();
    let set = |key, value| SettingChange::parse(key, Some(value)).unwrap();
    let plan = [set("plan", "starter"), set("tasks_per_day", "30")];
    assert!(store.tenants().set(&acme, &plan).await.unwrap());
    for number in 0..3 {
        let one = task_by("user-1", now());
        let ledger = store.ledger();
        assert_eq!(ledger.admit(&one).await.unwrap(), YES, "{number}");
        ledger.ended(&one, completed()).await.unwrap();
    }
    let refused = store.ledger().admit(&task_by("user-1", now())).await.unwrap();
    assert_eq!(refused, over(Limit::TasksPerDay, Whose::Owner, 3));
    assert_eq!(
        store.ledger().admit(&task_by("user-2", now())).await.unwrap(),
        YES
    );
    let guest = task_by("guest-1", now());
    assert_eq!(store.ledger().admit(&guest).await.unwrap(), YES);
    let again = store.ledger().admit(&task_by("guest-1", now())).await.unwrap();
    assert_eq!(again, over(Limit::TasksPerDay, Whose::Owner, 1));

    // An admin raises the share inside the plan; the next send goes, and the day after everybody begins anew.
    let shares = [set("shares", "user-1=50")];
    assert!(store.tenants().set_own(&acme, &shares).await.unwrap().is_some());
    assert_eq!(
        store.ledger().admit(&task_by("user-1", now())).await.unwrap(),
        YES
    );
    let tomorrow = task_by("guest-1", later(86_400));
    assert_eq!(day(&store).await.tasks, 6);
    assert_eq!(store.ledger().admit(&tomorrow).await.unwrap(), YES);
    assert_eq!(day(&store).await.tasks, 1);
}

#[tokio::test]
async fn what_the_tenants_item_refuses_is_given_back_to_the_owner() {
    let (store, _database) = store_testing::start().await;
    let all = quota(5, 2);
    let [one, two] = [(); 2].map(|()| task_by("user-1", now()));
    for task in [&one, &two] {
        assert_eq!(admit(&store, task, all, MANY).await, YES);
    }
    let three = task_by("user-2", now());
    assert_eq!(
        admit(&store, &three, all, MANY).await,
        over(Limit::TasksAtOnce, Whose::Tenant, 2)
    );
    let owners = owners(&store).await;
    let counted: Vec<_> = owners
        .iter()
        .map(|day| (day.owner.as_str(), day.tasks, day.running))
        .collect();
    assert_eq!(counted, [("user-1", 2, 2), ("user-2", 0, 0)]);

    // An end frees the place, once.
    for _ in 0..2 {
        store.ledger().ended(&one, completed()).await.unwrap();
    }
    assert_eq!(admit(&store, &three, all, MANY).await, YES);
    let day_so_far = day(&store).await;
    assert_eq!((day_so_far.tasks, day_so_far.running), (3, 2));
    assert_eq!((day_so_far.micro_dollars, day_so_far.stored), (120, 9_000));

    // What was not made after all is given back whole; four fifths of the day are told once.
    store.ledger().give_back(&three, now()).await.unwrap();
    store.ledger().give_back(&three, now()).await.unwrap();
    assert_eq!((day(&store).await.tasks, day(&store).await.running), (2, 1));
    let mut nearly = Vec::new();
    for _ in 0..3 {
        let next = task_by("user-3", now());
        nearly.push(admit(&store, &next, all, MANY).await);
        store.ledger().ended(&next, completed()).await.unwrap();
    }
    assert_eq!(nearly, [YES, Admitted::Yes { nearly: true }, YES]);
    let last = task_by("user-4", now());
    assert_eq!(
        admit(&store, &last, all, MANY).await,
        over(Limit::TasksPerDay, Whose::Tenant, 5)
    );
    let nothing = over(Limit::TasksPerDay, Whose::Owner, 0);
    assert_eq!(admit(&store, &last, MANY, quota(0, 5)).await, nothing);
}

#[tokio::test]
async fn how_tasks_ended_is_counted_by_agent_and_hour() {
    let (store, _database) = store_testing::start().await;
    let (one, two) = (task_by("user-1", now()), task_by("user-1", later(3_600)));
    let ends = [
        (&one, completed()),
        (
            &two,
            Ended {
                outcome: TaskState::Failed,
                took: seconds(9_000),
                cost: 0,
                bytes: 0,
            },
        ),
    ];
    for (task, ended) in ends {
        assert_eq!(admit(&store, task, MANY, MANY).await, YES);
        store.ledger().ended(task, ended).await.unwrap();
    }
    let owners = owners(&store).await;
    let host = &owners[0].agents[&agent("host")];
    let counts = |bucket: usize, failed, cost| {
        let mut took = [0; store::TOOK_BUCKETS];
        took[bucket] = 1;
        HourCounts {
            ended: 1,
            failed,
            took,
            cost,
        }
    };
    assert_eq!(
        host.values().copied().collect::<Vec<_>>(),
        [counts(4, 0, 120), counts(11, 1, 0)]
    );
    assert_eq!(host.keys().copied().collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn a_task_that_waits_for_its_user_is_not_at_work_and_its_end_counts_once() {
    let (store, _database) = store_testing::start().await;
    let task = task_by("user-1", now());
    assert_eq!(admit(&store, &task, MANY, quota(9, 1)).await, YES);
    created(&store, &task).await;
    let asks = revised(&task, TaskState::InputRequired, later(1));
    let committed = store.tasks().commit(&asks, Due::Never, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let next = task_by("user-1", later(2));
    assert_eq!(
        admit(&store, &next, MANY, quota(9, 1)).await,
        YES,
        "the answer may come"
    );
    assert_eq!(day(&store).await.running, 1);

    let asked = asks.into_task();
    let goes_on = revised(&asked, TaskState::Working, later(3));
    let committed = store.tasks().commit(&goes_on, Due::Never, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let done = revised(&goes_on.into_task(), TaskState::Completed, later(4));
    let committed = store.tasks().commit(&done, Due::Never, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let owner = owners(&store).await.remove(0);
    assert_eq!((owner.tasks, owner.running, day(&store).await.running), (2, 1, 1));
    assert_eq!(owner.agents[&agent("host")][&0].ended, 1);
}

/// A hundred senders beside so many ends, over a client that meets load and rivals: how many were admitted. At no time more are at
/// work than the limit says.
async fn crowd(store: &Store, limit: u64, began: Vec<Task>) -> u64 {
    let store = Arc::new(store.clone());
    let at_work = Arc::new(AtomicU64::new(began.len() as u64));
    let (admitted, errors) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut crowd = JoinSet::new();
    for number in 0..100 {
        let (store, admitted, errors) = (Arc::clone(&store), Arc::clone(&admitted), Arc::clone(&errors));
        let at_work = Arc::clone(&at_work);
        crowd.spawn(async move {
            let task = task_by(&format!("user-{}", number % 7), later(1));
            // Who is told that the database is busy comes again.
            for _ in 0..20 {
                match store
                    .ledger()
                    .admit_within(&task, (quota(10_000, limit), MANY))
                    .await
                {
                    Ok(Admitted::No(_)) => return,
                    Ok(_) => {
                        admitted.fetch_add(1, Ordering::SeqCst);
                        let now = at_work.fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(now <= limit, "{now} at work");
                        return;
                    }
                    Err(_) => {
                        errors.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
            panic!("twenty times nothing but errors");
        });
    }
    for task in began {
        let (store, at_work) = (Arc::clone(&store), Arc::clone(&at_work));
        crowd.spawn(async move {
            at_work.fetch_sub(1, Ordering::SeqCst);
            while store.ledger().ended(&task, completed()).await.is_err() {}
        });
    }
    crowd.join_all().await;
    println!("{} calls ended in errors", errors.load(Ordering::SeqCst));
    admitted.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_so_many_places_left_a_hundred_senders_get_exactly_those() {
    let (_store, database) = store_testing::start().await;
    let (faulty, injector) = database.faulty_store(Faults {
        seed: 36,
        throttled: 50,
        conflicts: 100,
        ..Faults::default()
    });
    assert_eq!(crowd(&faulty, 37, Vec::new()).await, 37);
    let so_far = day(&faulty).await;
    assert_eq!((so_far.tasks, so_far.running), (37, 37));
    println!("{:?}", injector.injected());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_senders_and_a_hundred_ends_at_once_never_pass_the_limit() {
    let (store, database) = store_testing::start().await;
    let mut began = Vec::new();
    for number in 0..100 {
        let task = task_by(&format!("user-{}", number % 7), now());
        assert_eq!(admit(&store, &task, MANY, MANY).await, YES);
        began.push(task);
    }
    let (faulty, injector) = database.faulty_store(Faults {
        seed: 37,
        throttled: 50,
        conflicts: 100,
        ..Faults::default()
    });
    let admitted = crowd(&faulty, 104, began).await;
    let so_far = day(&store).await;
    let injected = injector.injected();
    println!("{admitted} of a hundred were admitted beside a hundred ends; {injected:?}");
    assert!((4..=100).contains(&admitted), "{admitted}");
    assert_eq!((so_far.tasks, so_far.running), (100 + admitted, admitted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_lost_refuse_too_much_until_that_is_set_right() {
    let (store, database) = store_testing::start().await;
    let (faulty, injector) = database.faulty_store(Faults {
        lost: 100,
        ..Faults::rough(38)
    });
    let admitted = crowd(&faulty, 37, Vec::new()).await;
    println!("{admitted} of 37 places were given; {:?}", injector.injected());
    assert!(admitted <= 37, "{admitted}");
    let so_far = day(&store).await;
    assert!(
        so_far.running >= admitted && so_far.running <= 37 + 5,
        "{so_far:?}"
    );
}

#[tokio::test]
async fn whoever_dies_between_the_two_updates_has_counted_too_much_and_that_is_set_right() {
    let (store, database) = store_testing::start().await;
    for user in ["user-1", "user-2"] {
        begun(&store, user, now()).await;
    }
    // Dies with the owner's item written, with the tenant's written too, or before the tenant's learns of an end.
    for (user, requests, does_one_more) in [("user-1", 1, false), ("user-2", 1, true)] {
        let (mortal, death) = database.mortal_store(Fate {
            requests,
            does_one_more,
        });
        let task = task_by(user, now());
        tokio::select! {
            () = death.comes() => {}
            _ = admit(&mortal, &task, MANY, MANY) => panic!("it lived"),
        }
    }
    let ended = task_by("user-3", now());
    assert_eq!(admit(&store, &ended, MANY, MANY).await, YES);
    let (mortal, death) = database.mortal_store(Fate {
        requests: 1,
        does_one_more: false,
    });
    tokio::select! {
        () = death.comes() => {}
        _ = async { mortal.ledger().ended(&ended, completed()).await } => panic!("it lived"),
    }
    let lives = task_by("user-3", now());
    assert_eq!(admit(&store, &lives, MANY, MANY).await, YES);
    created(&store, &lives).await;
    assert_eq!(day(&store).await.running, 3, "one lives");

    // At once nobody can tell; a minute later the owner's item is set right, and so is the tenant's.
    let own = |at| task_by("user-1", at);
    let refused = admit(&store, &own(later(5)), MANY, quota(9, 1)).await;
    assert!(matches!(refused, Admitted::No(_)), "{refused:?}");
    assert_eq!(admit(&store, &own(later(70)), MANY, quota(9, 1)).await, YES);
    let three = quota(99, 3);
    assert_eq!(day(&store).await.running, 4);
    let next = task_by("user-4", later(71));
    assert_eq!(admit(&store, &next, three, MANY).await, YES);
    assert_eq!(
        day(&store).await.running,
        3,
        "who lives, and the two that came since"
    );
    let refused = admit(&store, &task_by("user-5", later(72)), three, MANY).await;
    assert!(matches!(refused, Admitted::No(_)), "{refused:?}");
}

#[tokio::test]
async fn an_end_that_nobody_told_the_ledger_is_found_by_whoever_is_refused() {
    let (store, _database) = store_testing::start().await;
    let mut task = task_by("user-1", now());
    assert_eq!(admit(&store, &task, MANY, quota(9, 1)).await, YES);
    created(&store, &task).await;
    // Its process died between the task's end and the ledger's.
    task.kept.admitted = false;
    let done = revised(&task, TaskState::Completed, later(1));
    let committed = store.tasks().commit(&done, Due::Never, LeaseAfter::Keep).await;
    assert_eq!(committed.unwrap(), Committed::Yes);
    let at = later(61);
    assert_eq!(
        admit(&store, &task_by("user-1", at), MANY, quota(9, 1)).await,
        YES
    );
    let owner = owners(&store).await.remove(0);
    assert_eq!((owner.tasks, owner.running, day(&store).await.running), (2, 1, 1));
    assert_eq!(owner.agents[&agent("host")][&0].ended, 1);
}

#[tokio::test]
async fn an_admission_and_an_end_are_two_calls_and_two_units_each() {
    let (store, _database) = store_testing::start().await;
    let mut most = 0.0_f64;
    begun(&store, "user-1", now()).await;
    for number in 0..30_u64 {
        let task = task_by("user-1", later(number * 1_000));
        let (admitted, admission) = measured(admit(&store, &task, MANY, MANY)).await;
        let (ended, end) = measured(store.ledger().ended(&task, completed())).await;
        ended.unwrap();
        assert_eq!((admitted, admission.total(), end.total()), (YES, 2, 2));
        most = most.max(admission.capacity.write + end.capacity.write);
    }
    println!("at most {most} units, with thirty tasks of a user in nine hours");
    assert!(most <= 4.0, "{most}");
    // The first of a day looks for what was at work at midnight; the tenant's first is refused before it begins the day, and makes the
    // wake due.
    for (user, calls, units) in [("user-1", 4, 4.0), ("user-2", 3, 2.0), ("user-2", 2, 2.0)] {
        let task = task_by(user, later(86_400));
        let (admitted, admission) = measured(admit(&store, &task, MANY, MANY)).await;
        let spent = (admission.total(), admission.capacity.write);
        assert_eq!((admitted, spent), (YES, (calls, units)), "{user}");
    }
}

/// What one end of this cost and of so many bytes does to the next task, at these times.
async fn after(ended: Ended, all: Quota, days: [u64; 2]) -> [Admitted; 2] {
    let (store, _database) = store_testing::start().await;
    let one = task_by("user-1", now());
    assert_eq!(admit(&store, &one, all, MANY).await, YES);
    store.ledger().ended(&one, ended).await.unwrap();
    let mut told = Vec::new();
    for day in days {
        let task = task_by("user-2", later(day * 86_400));
        told.push(admit(&store, &task, all, MANY).await);
    }
    told.try_into().unwrap()
}

#[tokio::test]
async fn what_a_month_may_cost_is_refused_once_it_is_spent_and_the_next_month_begins_anew() {
    let all = Quota {
        dollars_per_month: 2,
        ..MANY
    };
    let cost = |cost| Ended { cost, ..completed() };
    let spent = Admitted::No(OverQuota {
        limit: Limit::DollarsPerMonth,
        whose: Whose::Tenant,
        most: 2,
        until: Timestamp::parse("2026-02-01T00:00:00.000Z").unwrap(),
    });
    assert_eq!(after(cost(2_000_000), all, [0, 30]).await, [spent, spent]);
    assert_eq!(after(cost(2_000_000), all, [30, 31]).await, [spent, YES]);
    // Four fifths are told with the day's first task.
    let nearly = Admitted::Yes { nearly: true };
    assert_eq!(after(cost(1_600_000), all, [0, 30]).await, [YES, nearly]);
}

#[tokio::test]
async fn what_may_be_kept_is_refused_once_so_much_is_and_a_thirtieth_goes_each_day() {
    let all = Quota {
        storage_mb: 3,
        ..MANY
    };
    let bytes = |bytes| Ended { bytes, ..completed() };
    let full = |day: u64| {
        Admitted::No(OverQuota {
            limit: Limit::Storage,
            whose: Whose::Tenant,
            most: 3,
            until: next_day(later(day * 86_400)),
        })
    };
    let nearly = Admitted::Yes { nearly: true };
    assert_eq!(after(bytes(3_050_000), all, [0, 1]).await, [full(0), nearly]);
    assert_eq!(after(bytes(6_000_000), all, [14, 16]).await, [full(14), nearly]);
    assert_eq!(after(bytes(6_000_000), all, [30, 31]).await, [YES, YES]);
}

#[tokio::test]
async fn guests_together_leave_four_fifths_to_who_has_signed_in() {
    let (store, _database) = store_testing::start().await;
    let refused = async |guest: &str, all| match admit(&store, &task_by(guest, later(1)), all, MANY).await {
        Admitted::No(over) => (over.limit, over.whose, over.most),
        Admitted::Yes { .. } => panic!("it is admitted"),
    };
    // A fifth of ten at once are two.
    let [one, two] = ["guest-1", "guest-2"].map(|guest| task_by(guest, now()));
    for task in [&one, &two] {
        assert_eq!(admit(&store, task, quota(20, 10), MANY).await, YES);
    }
    let at_once = (Limit::TasksAtOnce, Whose::Guests, 2);
    assert_eq!(refused("guest-3", quota(20, 10)).await, at_once);
    let user = task_by("user-1", now());
    assert_eq!(admit(&store, &user, quota(20, 10), MANY).await, YES);
    for task in [&one, &two] {
        store.ledger().ended(task, completed()).await.unwrap();
    }
    // A fifth of the day's twenty are four.
    for guest in ["guest-3", "guest-4"] {
        begun(&store, guest, now()).await;
    }
    let per_day = (Limit::TasksPerDay, Whose::Guests, 4);
    assert_eq!(refused("guest-5", quota(20, 10)).await, per_day);
    for _ in 0..3 {
        assert_eq!(
            admit(&store, &task_by("user-2", now()), quota(20, 10), MANY).await,
            YES
        );
    }
    // One that is given back makes room for another guest.
    let fits = task_by("guest-5", later(2));
    assert_eq!(admit(&store, &fits, quota(25, 10), MANY).await, YES);
    store.ledger().give_back(&fits, later(2)).await.unwrap();
    assert_eq!((day(&store).await.guests, day(&store).await.running), (4, 4));
}

#[tokio::test]
async fn what_is_at_work_at_midnight_is_so_in_the_new_day() {
    let (store, _database) = store_testing::start().await;
    let (night, morning) = (later(86_390), |by: u64| later(86_410 + by));
    let own = quota(9, 1);
    let late = task_by("user-1", night);
    assert_eq!(admit(&store, &late, quota(9, 2), own).await, YES);
    created(&store, &late).await;
    let refused = |at: Timestamp, whose, most| {
        Admitted::No(OverQuota {
            limit: Limit::TasksAtOnce,
            whose,
            most,
            until: at.after(seconds(10)),
        })
    };
    let next = task_by("user-1", morning(0));
    assert_eq!(
        admit(&store, &next, quota(9, 2), own).await,
        refused(morning(0), Whose::Owner, 1)
    );
    let other = task_by("user-2", morning(1));
    assert_eq!(admit(&store, &other, quota(9, 2), MANY).await, YES);
    let third = task_by("user-3", morning(2));
    assert_eq!(
        admit(&store, &third, quota(9, 2), MANY).await,
        refused(morning(2), Whose::Tenant, 2)
    );
    // Its end, in the new day, frees both places, and is counted once, in the day in which it began.
    let mut done = late.clone();
    done.status.at = morning(3);
    for _ in 0..2 {
        store.ledger().ended(&done, completed()).await.unwrap();
    }
    let next = task_by("user-1", morning(4));
    assert_eq!(admit(&store, &next, quota(9, 2), own).await, YES);
    let today = store.ledger().today(&tenant("acme"), morning(5)).await.unwrap();
    assert_eq!((today.tasks, today.running), (2, 2));
    assert_eq!(owners(&store).await[0].agents[&agent("host")][&23].ended, 1);
}

/// The tenants whose ledgers are due then.
async fn due(store: &Store, at: u64) -> Vec<Tenant> {
    let mut due = Vec::new();
    for shard in 0..store::DUE_SHARDS {
        let page = store.tasks().due(shard, later(at), 100, None).await.unwrap();
        let ledgers = page
            .items
            .into_iter()
            .filter(|each| each.what == PointsAt::Ledger);
        due.extend(ledgers.map(|each| each.key.tenant));
    }
    due
}

#[tokio::test]
async fn a_wake_each_day_sets_right_what_nobody_is_refused_for() {
    let (store, database) = store_testing::start().await;
    for user in ["user-1", "user-2"] {
        begun(&store, user, now()).await;
    }
    // Dies with the owner's item written; before the tenant's learns of an end.
    let unmade = task_by("user-1", now());
    let (mortal, death) = database.mortal_store(Fate {
        requests: 1,
        does_one_more: false,
    });
    tokio::select! {
        () = death.comes() => {}
        _ = admit(&mortal, &unmade, MANY, MANY) => panic!("it lived"),
    }
    let (ended, lives) = (task_by("user-2", now()), task_by("user-2", now()));
    for task in [&ended, &lives] {
        assert_eq!(admit(&store, task, MANY, MANY).await, YES);
    }
    created(&store, &lives).await;
    let (mortal, death) = database.mortal_store(Fate {
        requests: 1,
        does_one_more: false,
    });
    tokio::select! {
        () = death.comes() => {}
        _ = async { mortal.ledger().ended(&ended, completed()).await } => panic!("it lived"),
    }
    let at_work = async || {
        let owners = owners(&store).await;
        (
            owners.iter().map(|owner| owner.running).sum::<u64>(),
            day(&store).await.running,
        )
    };
    assert_eq!(at_work().await, (2, 2));
    assert_eq!(due(&store, 3_590).await, []);
    assert_eq!(due(&store, 3_601).await, [tenant("acme")]);
    let look = async |at| {
        let (acme, host) = (tenant("acme"), agent("host"));
        store.ledger().look_after(&acme, &host, later(at)).await.unwrap();
    };
    look(3_601).await;
    assert_eq!(at_work().await, (1, 1), "one lives");
    // As long as something is at work it looks again; then not before the next day.
    assert_eq!(
        (due(&store, 3_700).await.len(), due(&store, 7_300).await.len()),
        (0, 1)
    );
    store.ledger().ended(&lives, completed()).await.unwrap();
    look(7_300).await;
    assert_eq!((at_work().await, due(&store, 80_000).await.len()), ((0, 0), 0));
    begun(&store, "user-1", later(86_400)).await;
    assert_eq!(due(&store, 90_100).await.len(), 1);
    // Nobody looks after a tenant that is gone.
    let (acme, host) = (tenant("acme"), agent("host"));
    store.tasks().end_all(&acme, &host, later(86_401)).await.unwrap();
    assert_eq!(due(&store, 99_999).await, []);
}

#[tokio::test]
async fn no_more_deliveries_leave_in_a_minute_than_the_plan_has_whatever_processes_there_are() {
    let (store, database) = store_testing::start().await;
    let acme = tenant("acme");
    store.tenants().add(&acme).await.unwrap();
    let set = [SettingChange::parse("deliveries_per_minute", Some("40")).unwrap()];
    assert!(store.tenants().set(&acme, &set).await.unwrap());
    let processes = [database.store(), database.store(), store];
    let leave = async |at: Timestamp| {
        let mut left = 0;
        for _ in 0..30 {
            for process in &processes {
                match process.ledger().may_deliver(&acme, at).await.unwrap() {
                    Ok(()) => left += 1,
                    Err(until) => assert_eq!(until, later(59).after(seconds(1)).before(HALF)),
                }
            }
        }
        left
    };
    assert_eq!(leave(now()).await, 40);
    let next = later(60);
    let one = &processes[0];
    assert_eq!(
        one.ledger().may_deliver(&acme, next).await.unwrap(),
        Ok(()),
        "the next minute has its own"
    );
    // Who has no plan is not counted at all.
    let other = tenant("globex");
    let (left, calls) = measured(one.ledger().may_deliver(&other, now())).await;
    assert_eq!((left.unwrap(), calls.total()), (Ok(()), 1), "its record is read");
    let (left, calls) = measured(one.ledger().may_deliver(&other, now())).await;
    assert_eq!((left.unwrap(), calls.total()), (Ok(()), 0));
}

#[test]
fn a_day_ends_at_midnight_in_utc() {
    let at = |millis| next_day(Timestamp::from_millis(millis)).millis();
    assert_eq!(at(0), 86_400_000);
    assert_eq!(at(86_399_999), 86_400_000);
    assert_eq!(at(86_400_000), 2 * 86_400_000);
}

#[tokio::test]
async fn an_owner_has_five_streams_at_once_and_each_ends_by_itself() {
    let (store, _database) = store_testing::start().await;
    let acme = tenant("acme");
    let open = async |user: &str, at| {
        let user = owner(user);
        let ledger = store.ledger();
        ledger
            .open_stream((&acme, &user), (at, seconds(60)))
            .await
            .unwrap()
    };
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(open("guest-1", now()).await.ok().unwrap());
    }
    let over = open("guest-1", later(1)).await.err().unwrap();
    let refused = OverQuota {
        limit: Limit::Streams,
        whose: Whose::Owner,
        most: 5,
        until: later(60),
    };
    assert_eq!(over, refused);
    assert!(open("guest-2", now()).await.is_ok(), "the neighbour is served");
    // One that is closed makes room at once; of a process that died they end by themselves.
    held.pop();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let again = open("guest-1", later(2)).await.ok().unwrap();
    assert!(open("guest-1", later(3)).await.is_err());
    held.into_iter().for_each(std::mem::forget);
    std::mem::forget(again);
    for _ in 0..4 {
        std::mem::forget(open("guest-1", later(60)).await.ok().unwrap());
    }
    assert!(open("guest-1", later(60)).await.is_err());
}
