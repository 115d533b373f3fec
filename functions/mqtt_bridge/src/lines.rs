//! Work on one job's replies, one after the other in the order of receipt: the pieces of a result must not pass each other.
//! Replies of different jobs do not wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The lines, by what they are for.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lines {
    last: Arc<Mutex<Ends>>,
}

#[derive(Debug, Default)]
struct Ends {
    count: u64,
    /// The number of the last in each line, and when that is done.
    by_key: HashMap<String, (u64, oneshot::Receiver<()>)>,
}

/// A place in a line, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    key: String,
    number: u64,
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
    lines: Lines,
}

impl Lines {
    /// The next place in the line of this key. It must be taken in the order of receipt.
    pub(crate) fn join(&self, key: String) -> Place {
        let (done, is_done) = oneshot::channel();
        let mut ends = self.ends();
        ends.count += 1;
        let number = ends.count;
        let before = ends.by_key.insert(key.clone(), (number, is_done));
        drop(ends);
        Place {
            key,
            number,
            before: before.map(|(_, before)| before),
            _done: done,
            lines: self.clone(),
        }
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits until those before are done.
    pub(crate) async fn turn(&mut self) {
        if let Some(before) = self.before.take() {
            // It is dropped when it is done, and nothing is ever sent.
            let _ = before.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut ends = self.lines.ends();
        if ends
            .by_key
            .get(&self.key)
            .is_some_and(|(last, _)| *last == self.number)
        {
            ends.by_key.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_waits_for_the_first_of_its_own_line() {
        let lines = Lines::default();
        let (first, mut second) = (lines.join("a".to_owned()), lines.join("a".to_owned()));
        lines.join("b".to_owned()).turn().await;
        let waits = tokio::spawn(async move {
            second.turn().await;
            second
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(first);
        drop(waits.await.unwrap());
        assert!(lines.ends().by_key.is_empty());
    }
}
