//! The agents' queues on SQS: wakes out ([`SqsDoor`]) and wakes in ([`Wakes`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use domain::{AgentName, Clock as _, SystemClock, Tenant, TraceParent};
use futures_util::{StreamExt as _, stream};
use store::{Store, TaskKey};
use tokio::sync::OnceCell;
use tracing::Span;
use tracing::field::display;
use url::Url;

use crate::aws::Caller;
use crate::{QueueError, QueueHandler};

/// The longest delay SQS knows. Whoever wants to wake later is woken early, or by the sweeper.
pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// Which queue belongs to which agent, and where SQS is.
#[derive(Debug, Clone, Default)]
pub struct Queues {
    /// Queue URL of each agent; `{tenant}` in one stands for the name of the tenant that is woken, and for `pool` where its functions are there.
    pub urls: BTreeMap<AgentName, Url>,
    /// Another endpoint than AWS's own.
    pub endpoint: Option<Url>,
    /// Another region than the environment's.
    pub region: Option<String>,
    /// Who calls.
    pub caller: Caller,
}

/// Puts wakes on the agents' SQS queues. No connection is opened before the first wake.
pub struct SqsDoor {
    queues: Queues,
    store: Store,
    client: OnceCell<Client>,
}

impl SqsDoor {
    /// A door to these queues; the store says which tenants are in the pool.
    #[must_use]
    pub fn new(queues: Queues, store: Store) -> Self {
        Self {
            queues,
            store,
            client: OnceCell::new(),
        }
    }
}

/// Most messages of one request, as SQS has it.
const BATCH: usize = 10;
/// Requests under way at once.
const AT_ONCE: usize = 8;

impl SqsDoor {
    async fn client(&self) -> &Client {
        let queues = &self.queues;
        let client = self.client.get_or_init(|| async {
            let (endpoint, region) = (queues.endpoint.as_ref(), queues.region.as_deref());
            Client::new(&queues.caller.config(endpoint, region))
        });
        client.await
    }

    async fn queue_of(&self, wake: &Wake) -> Result<String, WakeError> {
        let TaskKey { agent, tenant, .. } = wake.key();
        let Some(url) = self.queues.urls.get(&agent).map(Url::as_str) else {
            return Err(WakeError::Queue(Box::new(NoQueue(agent))));
        };
        if !url.contains(OF_TENANT) {
            return Ok(url.to_owned());
        }
        let pooled = self.store.tenants().is_pooled(&tenant, SystemClock.now()).await;
        let pooled = pooled.map_err(|error| WakeError::Queue(Box::new(error)))?;
        let whose = if pooled { Tenant::POOL } else { tenant.name() };
        Ok(url.replace(OF_TENANT, whose))
    }

    /// Sends a batch; those that were not taken.
    async fn send(&self, (url, wakes): (String, Vec<Wake>)) -> Vec<(Wake, WakeError)> {
        let entries = wakes.iter().enumerate().map(|(id, wake)| {
            SendMessageBatchRequestEntry::builder()
                .id(id.to_string())
                .message_body(wake.to_json())
                .message_group_id(wake.key().tenant.prefix())
                .build()
        });
        let failed = match entries.collect() {
            Err(error) => Err(error.to_string()),
            Ok(entries) => {
                let request = self.client().await.send_message_batch().queue_url(url);
                let sent = request.set_entries(Some(entries)).send().await;
                sent.map_err(|error| aws_sdk_sqs::error::DisplayErrorContext(error).to_string())
            }
        };
        let why = |id: usize| match &failed {
            Err(error) => Some(error.clone()),
            Ok(told) => {
                let own = told.failed().iter().find(|failed| failed.id() == id.to_string());
                own.map(|failed| format!("{}: {}", failed.code(), failed.message().unwrap_or_default()))
            }
        };
        let each = wakes.into_iter().enumerate();
        each.filter_map(|(id, wake)| Some((wake, WakeError::Queue(why(id)?.into()))))
            .collect()
    }
}

/// No queue is configured for the agent.
#[derive(Debug, thiserror::Error)]
#[error("no queue is configured for the agent {0}")]
pub struct NoQueue(pub AgentName);

#[async_trait]
impl WakeDoor for SqsDoor {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        let url = self.queue_of(wake).await?;
        let client = self.client().await;
        client
            .send_message()
            .queue_url(url)
            .delay_seconds(delay_seconds(delay))
            .message_body(wake.to_json())
            // Queues are fair: whoever has many in flight waits for the others.
            .message_group_id(wake.key().tenant.prefix())
            .send()
            .await
            .map_err(|error| WakeError::Queue(Box::new(error)))?;
        Ok(())
    }

    async fn wake_all(&self, wakes: Vec<Wake>) -> Vec<(Wake, WakeError)> {
        let (mut left, mut queues) = (Vec::new(), BTreeMap::<String, Vec<Wake>>::new());
        for wake in wakes {
            match self.queue_of(&wake).await {
                Ok(url) => queues.entry(url).or_default().push(wake),
                Err(error) => left.push((wake, error)),
            }
        }
        let batches = queues.into_iter().flat_map(|(url, wakes)| {
            let batches = wakes.chunks(BATCH).map(|batch| (url.clone(), batch.to_vec()));
            batches.collect::<Vec<_>>()
        });
        let sent = stream::iter(batches).map(|batch| self.send(batch));
        let failed: Vec<_> = sent.buffer_unordered(AT_ONCE).collect().await;
        left.extend(failed.into_iter().flatten());
        left
    }
}

/// `{tenant}` in the URL of a queue where each tenant has its own, so that whoever wakes the agents of every tenant knows the queues of
/// tenants to come.
const OF_TENANT: &str = "%7Btenant%7D";

/// Hands the wakes of an agent's queue to the agent.
pub struct Wakes(pub Arc<Agent>);

#[async_trait]
impl QueueHandler for Wakes {
    async fn handle(&self, body: &str) -> Result<(), QueueError> {
        let wake = Wake::parse(body).map_err(|error| QueueError::Unreadable(error.to_string()))?;
        let (key, span) = (wake.key(), Span::current());
        span.record("tenant.id", key.tenant.name());
        span.record("task.id", display(&key.id));
        if let Some(trace) = wake.trace() {
            span.record("trace_id", trace.trace_id());
        }
        agent::handle(&self.0, &wake)
            .await
            .map_err(|error| QueueError::Failed(Box::new(error)))
    }

    fn trace(&self, body: &str) -> Option<TraceParent> {
        Wake::parse(body).ok()?.trace().cloned()
    }
}

/// Whole seconds, rounded up, so that nothing is looked at before it is due.
fn delay_seconds(delay: Duration) -> i32 {
    let capped = delay.min(LONGEST_DELAY);
    // Rounded up: too early, nothing is due yet, and the message is spent.
    let seconds = capped.as_secs() + u64::from(capped.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(0)
}
