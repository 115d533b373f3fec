//! What the life of a task costs in write capacity units, by DynamoDB's own rules, which the engine follows: a unit for
//! each begun kilobyte, twice in a transaction, and what moves in an index twice again.

use domain::{Artifact, Job, Notification, RemoteTaskId, RemoteUpdate, SealedToken};

use crate::*;
use store::{Attempts, Leased, measured};

/// Units of the work, and its output.
async fn units<T>(work: impl Future<Output = T>) -> (T, f64) {
    let (output, calls) = measured(work).await;
    (output, calls.capacity.write)
}

fn said(state: TaskState, text: &str) -> EventKind {
    EventKind::status(state, Some(message(text)))
}

async fn commit(store: &Store, revision: &Revision, due: Due, lease: LeaseAfter<'_>) {
    let committed = store.tasks().commit(revision, due, lease).await.unwrap();
    assert_eq!(committed, Committed::Yes);
}

#[tokio::test]
async fn the_life_of_a_task_costs_no_more_than_it_did() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let (task, config) = (task(), push_config("c"));
    let key = TaskKey::from(&task);
    let mut born = task.clone();
    born.push_configs = vec![config.id.clone()];
    let id = message_id("m");
    let new = NewRecord {
        task: &born,
        message_id: &id,
        body_hash: "hash",
        push: Some(&config),
        due_at: later(5),
        retention: seconds(3600),
    };
    let (_, create) = units(async { tasks.create(&new).await.unwrap() }).await;
    let (leased, lease) = units(async { tasks.lease(&key, "w", later(1), later(31)).await.unwrap() }).await;
    let Leased::Taken(stored) = leased else {
        panic!("not leased")
    };

    let mut revision = Revision::of(stored.task);
    revision
        .record(
            said(TaskState::Working, "Looking up the weather in Oslo …"),
            later(1),
        )
        .unwrap();
    let (_, working) = units(commit(&store, &revision, Due::Keep, LeaseAfter::Keep)).await;
    let (_, claim) = units(async {
        tasks
            .claim_push(&key, &config.id, "p", later(1), later(46))
            .await
            .unwrap()
    })
    .await;

    let mut revision = Revision::of(revision.into_task());
    let forecast = json_like(1_000);
    let artifact = Artifact::new("forecast".to_owned(), vec![Part::text(forecast)]);
    revision.record(EventKind::artifact(artifact), later(2)).unwrap();
    revision
        .record(
            said(TaskState::Completed, "Yes, rain is likely in Oslo tomorrow."),
            later(2),
        )
        .unwrap();
    let release = LeaseAfter::Release { holder: "w" };
    let (_, finish) = units(commit(&store, &revision, Due::Never, release)).await;
    let settled = store::Settled {
        delivered: 4,
        numbered: 0,
        attempts: 0,
        at: later(2),
        due: Due::Keep,
        last_error: None,
    };
    let (_, settle) = units(async { tasks.settle_push(&key, &config.id, "p", settled).await.unwrap() }).await;

    let spent = [create, lease, working, claim, finish, settle];
    // Create: message, task, push, and an entry in each of four indexes. Lease: the task alone, which is due before the
    // lease ends. Finish: the task, its log, the push, an end for message and entry of before, and the task's way through
    // its indexes.
    within(&spent, &[10.0, 1.0, 10.0, 1.0, 15.0, 2.0]);
    let (over, calls) = measured(tasks.lease(&key, "w", later(3), later(33))).await;
    assert!(matches!(over.unwrap(), Leased::Over(_)));
    assert_eq!((calls.total(), calls.capacity.write), (1, 0.0), "a late wake");
}

#[track_caller]
fn within(spent: &[f64], budget: &[f64]) {
    assert_eq!(spent.len(), budget.len());
    assert!(
        spent.iter().zip(budget).all(|(spent, budget)| spent <= budget),
        "{spent:?}, not {budget:?}"
    );
}

/// Letters of base64 that nothing makes shorter than they are.
fn noise(long: usize) -> String {
    let mut state: u64 = 7;
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        letters[usize::try_from(state >> 58).unwrap()] as char
    };
    (0..long).map(|_| next()).collect()
}

/// The job of a host's task with an endpoint, a token and results of usual sizes.
fn job() -> Job {
    let mut new = domain::testing::new_job();
    new.webhook = SealedToken {
        hash: noise(43),
        sealed: Some(noise(160)),
    };
    Job::prepare(new, later(1))
}

fn changed(job: &Job) -> EventKind {
    EventKind::Job {
        job: Box::new(job.clone()),
    }
}

#[tokio::test]
async fn the_life_of_a_task_that_is_delegated_costs_no_more_than_it_did() {
    let (store, _database) = store_testing::start().await;
    let tasks = store.tasks();
    let task = task_of(
        "acme",
        "host",
        "guest-179c8ff7-b4ae-495d-9fcb-d22158daf64a",
        now(),
    );
    let key = TaskKey::from(&task);
    let (_, create) = units(Box::pin(created(&store, &task))).await;
    let (leased, first) = units(async { tasks.lease(&key, "w", later(1), later(31)).await.unwrap() }).await;
    let Leased::Taken(stored) = leased else {
        panic!("not leased")
    };
    let mut spent = vec![create, first];
    let mut task = stored.task;
    let mut write = async |kinds: Vec<EventKind>, at: u64, due: Due, lease: LeaseAfter<'_>| {
        let mut revision = Revision::of(task.clone());
        for kind in kinds {
            revision.record(kind, later(at)).unwrap();
        }
        let ((), spent) = units(commit(&store, &revision, due, lease)).await;
        task = revision.into_task();
        spent
    };
    let mut job = job();
    let asking = said(TaskState::Working, "Asking Weather …");
    spent.push(write(vec![changed(&job), asking], 1, Due::Keep, LeaseAfter::Keep).await);
    let news = |state, artifacts| Notification {
        remote_task_id: Some(RemoteTaskId::parse("40bcac2e-f1e1-5fa4-9f5b-fd69e0f0cca4").unwrap()),
        update: Some(RemoteUpdate {
            at: Some(later(2)),
            ..RemoteUpdate::of(state)
        }),
        artifacts,
        snapshot: true,
        responder: None,
    };
    job.note(news(TaskState::Submitted, Vec::new()), later(2));
    let on_it = said(TaskState::Working, "Weather is working on it.");
    let release = LeaseAfter::Release { holder: "w" };
    let parked = Due::At(later(17));
    spent.push(write(vec![changed(&job), on_it], 2, parked, release).await);
    let forecast = Artifact::new("forecast".to_owned(), vec![Part::text(json_like(1_000))]);
    job.note(
        news(TaskState::Completed, vec![(forecast.clone(), false)]),
        later(3),
    );
    spent.push(write(vec![changed(&job)], 3, Due::At(later(3)), LeaseAfter::Keep).await);
    let again = units(async { tasks.lease(&key, "w", later(4), later(34)).await.unwrap() }).await;
    spent.push(again.1);
    let done = said(TaskState::Completed, "Yes, rain is likely in Oslo tomorrow.");
    let done = vec![EventKind::artifact(forecast), done];
    spent.push(write(done, 4, Due::Never, release).await);
    // The job is told whole once; what changes of it fits into one kilobyte. Of the indexes, being due moves with the wait
    // and the news, the owner's list with each status, the operators' list at the beginning and at the end.
    within(&spent, &[8.0, 1.0, 9.0, 11.0, 8.0, 2.0, 19.0]);
}

#[tokio::test]
async fn a_lease_that_is_kept_and_given_up_costs_by_the_packed_task() {
    let (store, _database) = store_testing::start().await;
    let mut task = task();
    // Ten kilobytes of JSON lie in less than three.
    task.history = vec![message(&json_like(10_000))];
    let key = created(&store, &task).await;
    let tasks = store.tasks();
    let (_, lease) = units(async { tasks.lease(&key, "w", now(), later(30)).await.unwrap() }).await;
    let (_, beat) = units(async { tasks.heartbeat(&key, "w", later(40)).await.unwrap() }).await;
    let release = tasks.release(&key, "w", 1, Due::Never, Attempts::Reset);
    let (released, release) = units(async { release.await.unwrap() }).await;
    assert!(released);
    // Two of the task; two more where it moves in the index of due things, one where it leaves it.
    within(&[lease, beat, release], &[2.0, 4.0, 3.0]);
}

/// Text such as results are made of: the same names with other values.
fn json_like(size: usize) -> String {
    let mut text = String::new();
    for day in 0_u32.. {
        if text.len() >= size {
            break;
        }
        let (high, low) = (day.wrapping_mul(7) % 30, day.wrapping_mul(5) % 17);
        text += &format!(
            r#"{{"date":"2026-01-{day:02}","temperatureMax":{high}.6,"temperatureMin":{low}.4,"summary":"light showers"}},"#
        );
    }
    text
}
