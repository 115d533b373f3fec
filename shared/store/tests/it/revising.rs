//! Read, decide, commit; where somebody else was faster, again.

use crate::*;
use store::{Decision, Revised};

fn working(task: Task, at: Timestamp) -> Decision<Task> {
    let mut revision = Revision::of(task);
    match revision.record(EventKind::status(TaskState::Working, None), at) {
        Ok(()) => Decision::Write {
            revision: Box::new(revision),
            due: Due::Keep,
        },
        Err(_) => Decision::Leave(revision.into_task()),
    }
}

#[tokio::test]
async fn a_decision_on_an_old_view_is_made_again_on_the_new_one() {
    let (store, _database) = store_testing::start().await;
    let old = task();
    let key = created(&store, &old).await;
    let newer = step(&store, old.clone(), TaskState::InputRequired, later(1)).await;
    let mut seen = Vec::new();
    let revised = store.tasks().revise(old, later(2), |task| {
        seen.push(task.rev);
        working(task, later(2))
    });
    let Revised::Written(revision) = revised.await.unwrap() else {
        panic!()
    };
    assert_eq!((seen, revision.seen()), (vec![1, newer.rev], newer.rev));
    let stored = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert_eq!(stored.task, revision.into_task());
}

#[tokio::test]
async fn a_task_that_is_over_or_gone_is_left() {
    let (store, _database) = store_testing::start().await;
    let old = task();
    created(&store, &old).await;
    let done = step(&store, old.clone(), TaskState::Completed, later(1)).await;
    let revised = store
        .tasks()
        .revise(old, later(2), |task| working(task, later(2)));
    let Revised::Left(left) = revised.await.unwrap() else {
        panic!()
    };
    assert_eq!(left, done);
    let never = Task {
        id: TaskId::from_bytes([8; 16]),
        ..task()
    };
    let revised = store
        .tasks()
        .revise(never, later(2), |task| working(task, later(2)));
    assert!(matches!(revised.await.unwrap(), Revised::Missing));
}

#[tokio::test]
async fn all_of_many_deciders_get_their_word_in() {
    let (store, _database) = store_testing::start().await;
    let task = task();
    let key = created(&store, &task).await;
    let say = |number: u8| {
        let (store, task) = (store.clone(), task.clone());
        async move {
            let revised = store.tasks().revise(task, now(), |task| {
                let mut revision = Revision::of(task);
                let said = Message::user(message_id(&format!("m{number}")), vec![Part::text("x")]);
                revision.record(EventKind::Said { message: said }, now()).unwrap();
                Decision::<()>::Write {
                    revision: Box::new(revision),
                    due: Due::Keep,
                }
            });
            assert!(matches!(revised.await.unwrap(), Revised::Written(_)));
        }
    };
    tokio::join!(say(1), say(2), say(3), say(4));
    let stored = store.tasks().find(&key, now()).await.unwrap().unwrap();
    assert_eq!((stored.task.rev, stored.task.history.len()), (5, 5));
}
