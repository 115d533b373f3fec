//! A queue of wakes within one process, for an agent that runs by itself. A wake that it takes no more is still due: whoever sweeps sends it
//! again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};

use crate::{Wake, WakeDoor, WakeError};

/// Most wakes that wait to be taken.
const CAPACITY: usize = 10_000;
/// Most wakes that are worked on at once.
const AT_ONCE: usize = 128;

/// What was put on the queue, with how long each is to wait.
pub type Wakes = mpsc::Receiver<(Wake, Duration)>;

struct Door(mpsc::Sender<(Wake, Duration)>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        self.0
            .try_send((wake.clone(), delay))
            .map_err(|refused| WakeError::Queue(Box::new(refused)))
    }
}

/// A queue: where wakes are put, and where they come out.
#[must_use]
pub fn queue() -> (Arc<dyn WakeDoor>, Wakes) {
    let (sender, wakes) = mpsc::channel(CAPACITY);
    (Arc::new(Door(sender)), wakes)
}

/// Has each wake worked on when its time has come, beside the others.
pub async fn work<W: Future<Output = ()> + Send + 'static>(mut wakes: Wakes, on: impl Fn(Wake) -> W) {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    while let Some((wake, delay)) = wakes.recv().await {
        let (working, slots) = (on(wake), Arc::clone(&slots));
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let _slot = slots.acquire().await;
            working.await;
        });
    }
}
