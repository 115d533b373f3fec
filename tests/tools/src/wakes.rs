//! A queue of wakes within a program's own process.

use std::sync::Arc;
use std::time::Duration;

use agent::{Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use tokio::sync::mpsc;

/// What was put on the queue, with how long each is to wait.
pub type Wakes = mpsc::UnboundedReceiver<(Wake, Duration)>;

struct Door(mpsc::UnboundedSender<(Wake, Duration)>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        self.0
            .send((wake.clone(), delay))
            .map_err(|gone| WakeError::Queue(Box::new(gone)))
    }
}

/// A queue: where wakes are put, and where they come out.
#[must_use]
pub fn queue() -> (Arc<dyn WakeDoor>, Wakes) {
    let (sender, wakes) = mpsc::unbounded_channel();
    (Arc::new(Door(sender)), wakes)
}

/// Has each wake worked on when its time has come, beside the others.
pub async fn work<W: Future<Output = ()> + Send + 'static>(mut wakes: Wakes, on: impl Fn(Wake) -> W) {
    while let Some((wake, delay)) = wakes.recv().await {
        let working = on(wake);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            working.await;
        });
    }
}
