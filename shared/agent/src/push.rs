//! Push notifications to clients: at least once, in order per configuration.
//!
//! A commit marks each configuration of its task due in the same transaction; a wake only makes it quick. What is
//! still owed is the difference between the task's log and the configuration's cursor: one event goes out as it is,
//! several collapse into a snapshot of the task. What fails is tried again on a schedule, then parked until
//! there is news or somebody asks for it ([`deliveries`]). The circuit to a receiver that does not answer is opened, so that
//! the others' deliveries find free workers.

pub(crate) mod deliveries;
mod each;
pub(crate) mod live;
mod schedule;

use std::sync::Arc;
use std::time::Duration;

use auth::KeyError;
use auth::webhook::SenderKeys;
use domain::trace::within;
use domain::{Event, MessageId, PushConfigId, Revision, SecretString, Timestamp, TraceParent};
use outbound::{CallError, PushDelivery, PushError};
use serde_json::Value;
use store::{ClaimedPush, Due, Owed, PushConfig, PushSettled, Settled, StoreError, TaskKey};
use tracing::Instrument as _;

use crate::{Agent, Wake, WakeDoor, measure, wake_or_log};
use live::{Feed, News};

pub use schedule::PushSchedule;

/// How long one delivery may take before somebody else may try it.
const CLAIM: Duration = Duration::from_secs(45);

/// Longest wait a queue carries; beyond it the sweeper wakes.
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// Deliveries in a row on one wake. A receiver that takes its time over a task with many news must not hold a worker.
const ROUNDS: u32 = 4;

/// Those who were sent away from a crowded receiver come again within this time of each other.
const SPREAD: Duration = Duration::from_millis(500);

/// The status by which a receiver says that it wants no more (Standard Webhooks).
const GONE: u16 = 410;

/// Wakes the deliveries that the commit of this revision made due, if it has anything for clients.
pub(crate) async fn announce(agent: &Agent, revision: &Revision) {
    wake_deliveries(agent.wake.as_ref(), revision).await;
}

/// Wakes the deliveries that the commit of this revision made due, if it has anything for clients. For whoever writes
/// news into a task without being its agent: the commit alone leaves them to the sweeper.
pub async fn wake_deliveries(door: &dyn WakeDoor, revision: &Revision) {
    if !revision.events().iter().any(|event| event.kind.is_public()) {
        return;
    }
    let task = revision.task();
    for config in &task.push_configs {
        let wake = Wake::for_push(task, config.clone());
        wake_or_log(door, &wake, Duration::ZERO).await;
    }
}

/// The text that binds a sealed push secret to its place.
pub(crate) fn associated(key: &TaskKey, config: &PushConfigId) -> String {
    format!("push/{}/{}/{}/{config}", key.tenant.prefix(), key.agent, key.id)
}

/// Delivers what one configuration has not been told yet; and what comes meanwhile, where an execution in this invocation feeds it
/// and every event is told.
pub(crate) async fn deliver(
    agent: &Arc<Agent>,
    key: &TaskKey,
    config: &PushConfigId,
    mut feed: Option<&mut Feed>,
) -> Result<(), StoreError> {
    let holder = MessageId::random(agent.entropy.as_ref()).to_string();
    let tasks = agent.store.tasks();
    for _ in 0..ROUNDS {
        let now = agent.clock.now();
        let claim = tasks.claim_push(key, config, &holder, now, now.after(CLAIM));
        let Some(claimed) = claim.await? else {
            return Ok(());
        };
        // What has just been recorded here need not be read.
        let fed = match feed.as_deref_mut() {
            Some(feed) => feed.after(claimed.delivered, Duration::ZERO).await,
            None => None,
        };
        let (events, task) = match fed {
            Some(News { task, events }) => (events, Some(task)),
            None => {
                let Owed { events, stored } = tasks.owed(key, claimed.delivered, now).await?;
                (events, stored.map(|stored| stored.task))
            }
        };
        let last = events.last().map_or(claimed.delivered, |event| event.seq);
        // The first event is the `submitted` that the client got as its answer.
        let is_visible = |event: &Event| event.seq > 1 && event.kind.is_public();
        let mut numbered = claimed.numbered;
        let delivered = match task.filter(|_| events.iter().any(is_visible)) {
            None => last,
            Some(task) if claimed.config.every_event => {
                let trace = task.trace.clone();
                let owed = News { task, events };
                let told = Box::pin(each::tell(agent, owed, &claimed, feed.as_deref_mut())).await;
                let sofar = told.claimed;
                if told.is_over {
                    match tasks.end_push(key, config, &holder, now).await? {
                        true => return Ok(()),
                        // Another has taken its place meanwhile, and is owed the same.
                        false => continue,
                    }
                }
                if let Some(error) = told.failed {
                    return later(agent, (key, trace), &sofar, &holder, &error).await;
                }
                numbered = sofar.numbered;
                sofar.delivered
            }
            Some(task) => {
                // The sweeper's wakes know no trace.
                if let Some(trace) = &task.trace {
                    tracing::Span::current().record("trace_id", trace.trace_id());
                }
                let visible: Vec<Event> = events.into_iter().filter(is_visible).collect();
                // A snapshot tells everything up to the task's own revision.
                let told = if visible.len() > 1 {
                    task.rev.max(last)
                } else {
                    last
                };
                // The same with every resend, and without full stops, which set the parts of what is signed apart.
                let id = MessageId::derived(&format!("push/{}/{config}/{told}", key.id));
                let sent = within(task.trace.clone(), async {
                    let span = tracing::debug_span!(
                        "agent.push.deliver", tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id, seq = told
                    );
                    let body = a2a::encode::push(&task, &visible, claimed.config.generation);
                    let sending = send(agent, key, &claimed.config, (id, body));
                    sending.instrument(span).await
                });
                if let Err(error) = sent.await {
                    return later(agent, (key, task.trace), &claimed, &holder, &error).await;
                }
                tracing::info!(tenant.id = key.tenant.name(), task.id = %key.id, seq = told, "push delivered");
                measure::count("PushesDelivered", agent);
                told
            }
        };
        let settled = Settled {
            delivered,
            numbered,
            attempts: 0,
            at: now,
            due: Due::Keep,
            last_error: None,
        };
        match tasks.settle_push(key, config, &holder, settled).await? {
            // The time of whoever would go on is over.
            PushSettled::News if feed.as_ref().is_some_and(|feed| feed.is_late()) => break,
            // News came while this went out. A round that delivered nothing would find the same once more.
            PushSettled::News if delivered > claimed.delivered => {}
            // Another has taken its place, and may be owed what was told here.
            PushSettled::Lost if claimed.config.every_event && feed.is_some() => {}
            PushSettled::News | PushSettled::Done | PushSettled::Lost => return Ok(()),
        }
    }
    wake_or_log(
        agent.wake.as_ref(),
        &Wake::push(key, config.clone()),
        Duration::ZERO,
    )
    .await;
    Ok(())
}

/// The keys that the agent signs its notifications with.
pub(crate) fn keys(agent: &Agent) -> Result<SenderKeys, KeyError> {
    SenderKeys::of(&agent.sealer, agent.card.url.as_str())
}

/// Why a delivery is still owed.
#[derive(Debug, thiserror::Error)]
enum NotDelivered {
    #[error(transparent)]
    Push(#[from] PushError),
    #[error("its secrets do not open any more")]
    Sealed,
    #[error("there is no key to sign it with")]
    Unsigned(#[from] KeyError),
    #[error("as many deliveries of the tenant left in this minute as its plan has")]
    Paced { until: Timestamp },
}

async fn send(
    agent: &Agent,
    key: &TaskKey,
    config: &PushConfig,
    (id, body): (MessageId, Value),
) -> Result<(), NotDelivered> {
    match agent
        .store
        .ledger()
        .may_deliver(&key.tenant, agent.clock.now())
        .await
    {
        Ok(paced) => paced.map_err(|until| NotDelivered::Paced { until })?,
        Err(error) => {
            tracing::warn!(tenant.id = key.tenant.name(), %error, "a delivery leaves though its pace is not known")
        }
    }
    let place = associated(key, &config.id);
    let open = |sealed: &Option<String>| -> Result<Option<SecretString>, NotDelivered> {
        let Some(sealed) = sealed else { return Ok(None) };
        let plain = agent.sealer.open(sealed, &place);
        let plain = plain.ok().and_then(|plain| String::from_utf8(plain).ok());
        plain.map(|text| Some(text.into())).ok_or(NotDelivered::Sealed)
    };
    let delivery = PushDelivery {
        tenant: key.tenant.clone(),
        url: config.url.clone(),
        token: open(&config.sealed_token)?,
        scheme: config.scheme.clone(),
        credentials: open(&config.sealed_credentials)?,
        body,
        generation: config.generation,
        id: id.to_string(),
        responder: None,
    };
    agent
        .outbound
        .push(&delivery, &keys(agent)?, agent.clock.as_ref())
        .await?;
    Ok(())
}

/// Puts a failed delivery on its schedule, or parks it after the last attempt. One that was not even tried comes again
/// when its receiver may be tried, and that is no attempt.
async fn later(
    agent: &Agent,
    (key, trace): (&TaskKey, Option<TraceParent>),
    claimed: &ClaimedPush,
    holder: &str,
    error: &NotDelivered,
) -> Result<(), StoreError> {
    let (config, now, entropy) = (&claimed.config.id, agent.clock.now(), agent.entropy.as_ref());
    // How long its wake waits, and since when it may be claimed.
    let (wait, due, attempts) = match error {
        NotDelivered::Push(PushError::NotNow { until }) | NotDelivered::Paced { until } => {
            let wait = until.since(now) + schedule::share(SPREAD, entropy);
            (Some(wait), Due::At(*until), claimed.attempts)
        }
        // The receiver says that it wants nothing more, so no further try is made.
        NotDelivered::Push(PushError::Failed(CallError::Status(GONE))) => {
            (None, Due::Never, claimed.attempts + 1)
        }
        _ => {
            let wait = schedule::wait(agent.settings.push_schedule.waits(), claimed.attempts, entropy);
            let due = wait.map_or(Due::Never, |wait| Due::At(now.after(wait)));
            (wait, due, claimed.attempts + 1)
        }
    };
    let reason = error.to_string();
    if attempts > claimed.attempts {
        tracing::warn!(
            tenant.id = key.tenant.name(), task.id = %key.id, attempt = attempts, parked = wait.is_none(), reason,
            "push not delivered"
        );
        let metric = if wait.is_none() {
            "PushesParked"
        } else {
            "PushesRetried"
        };
        measure::count(metric, agent);
    }
    agent
        .store
        .tasks()
        .settle_push(
            key,
            config,
            holder,
            Settled {
                delivered: claimed.delivered,
                numbered: claimed.numbered,
                attempts,
                at: now,
                due,
                last_error: Some(&reason),
            },
        )
        .await?;
    // SQS delays nothing for longer; the sweeper finds the delivery by its due time.
    if let Some(wait) = wait.filter(|wait| *wait <= LONGEST_DELAY) {
        let wake = Wake::of_push(key, config.clone(), trace);
        wake_or_log(agent.wake.as_ref(), &wake, wait).await;
    }
    Ok(())
}
