//! A seeded run repeats its writes, to the last mark.

use std::sync::{Arc, Mutex};

use crate::*;
use domain::Entropy;

/// Counts, and gives bytes that follow from the count.
struct Counting(Mutex<u64>);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let mut count = self.0.lock().unwrap();
        for chunk in bytes.chunks_mut(8) {
            *count += 1;
            chunk.copy_from_slice(&count.to_be_bytes()[8 - chunk.len()..]);
        }
    }
}

async fn lived() -> Vec<Value> {
    let (store, database) = store_testing::start().await;
    let store = store.with_entropy(Arc::new(Counting(Mutex::new(0))));
    let mut task = task();
    task.id = TaskId::from_bytes([7; 16]);
    task.history[0].task_id = Some(task.id);
    // Large enough to lie in pieces, which carry the mark of their write.
    task.artifacts = vec![domain::Artifact::new(
        "bulk",
        vec![Part::text("Oslo ".repeat(60_000))],
    )];
    let key = created(&store, &task).await;
    step(&store, task, TaskState::Working, later(1)).await;
    database.items(&database.tables().tasks, &place(&key).0)
}

#[tokio::test]
async fn two_runs_from_one_seed_write_the_same() {
    let (one, other) = (lived().await, lived().await);
    assert!(one.iter().any(|item| item["written_by"]["S"].is_string()));
    assert_eq!(one, other);
}
