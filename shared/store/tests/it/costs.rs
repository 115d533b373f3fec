//! What the life of a task costs in write capacity units, by DynamoDB's own rules, which the engine follows: a unit for
//! each begun kilobyte, twice in a transaction, and what moves in an index twice again.

use domain::Artifact;

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
        attempts: 0,
        due: Due::Keep,
        last_error: None,
    };
    let (_, settle) = units(async { tasks.settle_push(&key, &config.id, "p", settled).await.unwrap() }).await;

    let spent = [create, lease, working, claim, finish, settle];
    // Create: message, task, log, push, and an entry in each of five indexes. Finish: the task, its log, the push, an end
    // for the three entries of before, and the task's way through its indexes.
    let budget = [13.0, 3.0, 12.0, 1.0, 19.0, 2.0];
    assert!(
        spent.iter().zip(budget).all(|(spent, budget)| *spent <= budget),
        "{spent:?}, not {budget:?}"
    );
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
    assert!(
        lease <= 4.0 && beat <= 4.0 && release <= 3.0,
        "{lease} {beat} {release}"
    );
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
