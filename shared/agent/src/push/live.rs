//! Deliveries beside the execution that makes the news: what a worker records goes out at once, from the same invocation, to
//! whoever is told every event.
//!
//! One claim serves many events then. What comes next is handed over in memory ([`Feed`]), where each event would cost a wake, a
//! claim, a query and a settlement. The table knows as before what is owed: a feed that dies with its process loses nothing.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::{Event, PushConfigId, Revision, Task};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use store::TaskKey;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::deliver;
use crate::{Agent, Shutdown};

/// For how long a worker goes on telling once its execution is over; then what is left is for the queue.
const STAYS: Duration = Duration::from_secs(2);
/// For how long it waits for an answer that is on its way by then, a little more than a receiver may take.
const LAST: Duration = Duration::from_secs(12);
/// The same where the process is about to end.
const LAST_OF_ALL: Duration = Duration::from_secs(4);

tokio::task_local! {
    static NEWS: mpsc::UnboundedSender<News>;
}

/// What was recorded in one write, and the task after it.
#[derive(Clone)]
pub(super) struct News {
    pub(super) task: Task,
    pub(super) events: Vec<Event>,
}

impl News {
    fn is_public(&self) -> bool {
        self.events.iter().any(|event| event.kind.is_public())
    }
}

/// Hands over what the execution under way has recorded. False where nobody takes it: the queue has to be told then.
pub(crate) fn tell(revision: &Revision) -> bool {
    let task = revision.task();
    if task.push_configs.is_empty() || !a2a::wants_every_event(task) {
        return false;
    }
    let news = || News {
        task: task.clone(),
        events: revision.events().to_vec(),
    };
    NEWS.try_with(|feed| feed.send(news()).is_ok()).unwrap_or(false)
}

/// Does a worker's work, and delivers beside it what that records.
pub(crate) async fn beside<F: Future>(
    agent: &Arc<Agent>,
    key: &TaskKey,
    stop: &Shutdown,
    work: F,
) -> F::Output {
    let (tell, news) = mpsc::unbounded_channel();
    let over = Arc::new(OnceLock::new());
    let carrying = Box::pin(carry(agent, key, news, &over));
    let working = Box::pin(async {
        // Its end is the end of the news.
        let done = NEWS.scope(tell, work).await;
        let _first = over.set(Instant::now());
        done
    });
    match select(working, carrying).await {
        Either::Left((done, carrying)) => {
            let last = stop
                .left()
                .map_or(LAST, |left| LAST.min(left.saturating_add(LAST_OF_ALL)));
            // What is cut off here is claimed until that ends, and then somebody else's.
            let _ = timeout(last, carrying).await;
            done
        }
        Either::Right(((), working)) => working.await,
    }
}

/// Delivers to each configuration beside the others.
async fn carry(
    agent: &Arc<Agent>,
    key: &TaskKey,
    mut news: mpsc::UnboundedReceiver<News>,
    over: &Arc<OnceLock<Instant>>,
) {
    let mut feeds: HashMap<PushConfigId, mpsc::UnboundedSender<News>> = HashMap::new();
    let mut carriers = FuturesUnordered::new();
    let mut goes_on = true;
    while goes_on || !carriers.is_empty() {
        tokio::select! {
            told = news.recv(), if goes_on => match told {
                Some(told) => for config in &told.task.push_configs {
                    let feed = feeds.entry(config.clone()).or_insert_with(|| {
                        let (tell, news) = mpsc::unbounded_channel();
                        let feed = Feed { news, next: None, over: Arc::clone(over) };
                        carriers.push(Box::pin(carry_to(agent, key, config.clone(), feed)));
                        tell
                    });
                    // Its carrier listens until the feed is closed.
                    let _ = feed.send(told.clone());
                },
                None => {
                    goes_on = false;
                    feeds.clear();
                }
            },
            Some(()) = carriers.next(), if !carriers.is_empty() => {}
        }
    }
}

/// Delivers to one configuration whatever its feed brings.
async fn carry_to(agent: &Arc<Agent>, key: &TaskKey, config: PushConfigId, mut feed: Feed) {
    while feed.comes().await {
        if let Err(error) = deliver(agent, key, &config, Some(&mut feed)).await {
            tracing::warn!(task.id = %key.id, error = %error, "a delivery is left to the sweeper");
        }
        // What was looked at was there when the delivery was settled, or refused to be claimed.
        feed.next = None;
    }
}

/// What an execution in this invocation records, for one configuration.
pub(crate) struct Feed {
    news: mpsc::UnboundedReceiver<News>,
    /// What has come and was not taken yet.
    next: Option<News>,
    /// When the execution was over.
    over: Arc<OnceLock<Instant>>,
}

impl Feed {
    /// Waits for news that a client would be told of; false where none come any more.
    async fn comes(&mut self) -> bool {
        while let Some(mut news) = self.news.recv().await {
            if let Some(before) = self.next.take() {
                news.events.splice(0..0, before.events);
            }
            let is_public = news.is_public();
            self.next = Some(news);
            if is_public {
                return true;
            }
        }
        false
    }

    /// What follows on event `told`, where that is here or comes in this time; the table knows what lies between, where something
    /// does.
    pub(super) async fn after(&mut self, told: u64, wait: Duration) -> Option<News> {
        let until = Instant::now() + wait;
        loop {
            let mut news = match self.next.take() {
                Some(news) => news,
                None => timeout_at(until, self.news.recv()).await.ok()??,
            };
            news.events.retain(|event| event.seq > told);
            match news.events.first() {
                None => {}
                Some(first) if first.seq == told.saturating_add(1) => return Some(news),
                Some(_) => {
                    self.next = Some(news);
                    return None;
                }
            }
        }
    }

    /// Whether what is left has to be the queue's.
    pub(super) fn is_late(&self) -> bool {
        self.over.get().is_some_and(|over| over.elapsed() > STAYS)
    }
}
