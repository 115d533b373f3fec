//! When work must come to an orderly end: the invocation's deadline, or the end of the process.
//!
//! Whoever takes events from outside knows when it has to be done ([`Shutdown::scope`]); the worker asks ([`Shutdown::current`])
//! and lets go of what it holds before that, so that somebody else goes on at once and not when a lease has run out.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// When work has to stop.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    at: Option<Instant>,
    signal: Option<watch::Receiver<bool>>,
}

tokio::task_local! {
    static CURRENT: Shutdown;
}

impl Shutdown {
    /// After this long from now.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self {
            at: Instant::now().checked_add(limit),
            signal: None,
        }
    }

    /// As soon as the signal turns true, or nobody is left who could say so.
    #[must_use]
    pub fn on(signal: watch::Receiver<bool>) -> Self {
        Self {
            at: None,
            signal: Some(signal),
        }
    }

    /// This, and after this long from now at the latest.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        let new = Instant::now().checked_add(limit);
        Self {
            at: [self.at, new].into_iter().flatten().min(),
            ..self
        }
    }

    /// How long there is until then; `None` where no time is set.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Does work that is to stop then.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// When the work under way has to stop; never, where nobody said.
    pub(crate) fn current() -> Self {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    /// Resolves when it is time.
    pub(crate) async fn come(&self) {
        let by_time = async {
            match self.at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let by_signal = async {
            match self.signal.clone() {
                Some(mut signal) => {
                    let _or_nobody_is_left = signal.wait_for(|stop| *stop).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = by_time => {}
            () = by_signal => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_comes_with_the_earlier_of_time_and_signal() {
        let (begun, soon) = (Instant::now(), Duration::from_millis(40));
        let (send, signal) = watch::channel(false);
        let stop = Shutdown::on(signal).within(Duration::from_secs(900)).within(soon);
        stop.clone()
            .scope(async { Shutdown::current().come().await })
            .await;
        assert!(begun.elapsed() >= soon && begun.elapsed() < Duration::from_secs(60));
        let stop = Shutdown { at: None, ..stop };
        assert!(
            tokio::time::timeout(soon, stop.come()).await.is_err(),
            "not before the signal"
        );
        send.send(true).unwrap();
        stop.come().await;
        let never = tokio::time::timeout(soon, Shutdown::current().come()).await;
        assert!(never.is_err(), "nobody said when");
    }
}
