//! What everything in the host works with. It stands below all that acts, and knows none of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor, wake_or_log};
use auth::Sealer;
use consent::Consents;
use domain::{AgentType, AwaitedConsent, Clock, Entropy, Owner, Task, Tenant, Timestamp};
use outbound::{Outbound, PushKeys};
use store::Store;
use url::Url;

use crate::approval::PlanApproval;
use crate::broker::MqttBridge;
use crate::rules::patience::Patience;
use crate::session_tokens::SessionTokens;

/// Beyond this the sweeper wakes the task; sooner, a delayed message does.
const SOON: Duration = Duration::from_secs(60);

/// The host's dependencies; shared behind an `Arc`.
pub(crate) struct Deps {
    pub(crate) tenant: Tenant,
    pub(crate) url: Url,
    /// Where agents send their notifications.
    pub(crate) webhook: Url,
    /// The way to agents on a broker, where there is one.
    pub(crate) bridge: Option<MqttBridge>,
    pub(crate) tokens: SessionTokens,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) store: Store,
    pub(crate) wake: Arc<dyn WakeDoor>,
    pub(crate) outbound: Outbound,
    pub(crate) push_keys: PushKeys,
    pub(crate) consents: Consents,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) patience: Patience,
    /// The engine of sentences, once it is there.
    pub(crate) understanding: nlu::Slot,
    /// Which plans wait for their user's word.
    pub(crate) approval: PlanApproval,
    /// The types that this process has noted as private.
    pub(crate) noted: Mutex<BTreeSet<AgentType>>,
}

impl Deps {
    /// Wakes the task after a while; the sweeper would, but not as soon.
    pub(crate) async fn nudge(&self, task: &Task, wait: Duration) {
        if wait <= SOON {
            let wake = Wake::for_task(task);
            wake_or_log(self.wake.as_ref(), &wake, wait).await;
        }
    }

    /// Whom the agent at a place knows an owner as: always the same, and nothing that another place knows. By the oldest key that there
    /// is, so that a new one changes nothing as long as the one before is kept.
    pub(crate) fn owner_at(&self, owner: &Owner, place: &str) -> Option<Owner> {
        let purpose = format!("owner-at/{}/{owner}/{place}", self.tenant.prefix());
        let seeds = self.sealer.derived(&purpose);
        let id: String = seeds
            .last()?
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Owner::parse(&format!("pair-{id}")).ok()
    }

    /// Where the user consents: an endpoint of `oauth_callback`.
    pub(crate) fn consent_link(&self, awaited: &AwaitedConsent) -> String {
        format!("{}/connect/{}", self.tokens.issuer, awaited.id)
    }

    /// The page of ours that leads to what an agent of this task asks the user for: the same endpoint.
    pub(crate) fn way_to_agent(&self, task: &Task) -> String {
        format!("{}/connect/task-{}", self.tokens.issuer, task.id)
    }
}

/// A task as one look at it sees it.
#[derive(Clone, Copy)]
pub(crate) struct OnTask<'a> {
    pub(crate) deps: &'a Deps,
    pub(crate) task: &'a Task,
    pub(crate) now: Timestamp,
}
