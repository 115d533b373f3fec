//! The system's agents on an MQTT broker, beside HTTP: where the bridge is, and which agents it answers for.

pub mod access;
mod door;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use a2a::mqtt::{AgentAddress, InvalidAddress, Recipient};
use edge::Background;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

use crate::address::below;
use crate::data::endpoints::Endpoints;

use access::PLATFORM;
pub use access::{ORG, is_outside};
pub use door::{BrokerAccess, MqttBroker, OwnBroker};

/// The bridge's path below the gateway.
pub(crate) const BRIDGE: &str = "/mqtt";
/// The webhook receiver's path below a tenant's base.
pub(crate) const WEBHOOK: &str = "/api/webhook/tasks";
/// How long connections may take to end in order: longer than each of them gives itself.
const LEAVE: Duration = Duration::from_secs(6);

/// The agents that the bridge answers for, as its settings have them.
pub(crate) fn agents(endpoints: &Endpoints) -> Result<Vec<Value>, InvalidAddress> {
    let platform = endpoints
        .agents
        .iter()
        .map(|(name, url)| (PLATFORM, name.as_str(), url, None));
    let tenants = endpoints.tenants.iter().flat_map(|(tenant, own)| {
        let agents = own.agents.iter().map(|(name, url)| (name.as_str(), url, None));
        let webhook = below(&own.base, WEBHOOK);
        let host = (host_agent::AGENT, &own.host_agent, Some(webhook));
        agents
            .chain([host])
            .map(|(name, url, webhook)| (tenant.prefix(), name, url, webhook))
    });
    let place = |(unit, name, url, webhook): (&str, &str, &Url, Option<Url>)| {
        let address = AgentAddress::new(ORG, unit, name)?;
        Ok(json!({ "address": address.to_string(), "url": url.as_str(), "webhook": webhook }))
    };
    platform.chain(tenants).map(place).collect()
}

/// The interface of an agent of this system on the broker; the unit is its tenant's prefix, where it is a tenant's.
pub(crate) fn interface(broker: &MqttBroker, unit: Option<&str>, name: &str) -> Option<Url> {
    let agent = AgentAddress::new(ORG, unit.unwrap_or(PLATFORM), name).ok()?;
    Some(
        broker
            .prefix
            .interface(broker.url.url(), &Recipient::Agent(agent)),
    )
}

/// What runs beside the functions; one set after the other, as two connections of one client would end each other.
#[derive(Default)]
pub(crate) struct Backgrounds {
    running: Mutex<Option<Running>>,
}

struct Running {
    stop: watch::Sender<bool>,
    /// Those before have ended.
    begun: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Backgrounds {
    /// Runs these from now on, in the place of those before.
    pub(crate) fn replace(&self, anew: Vec<Arc<dyn Background>>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let before = running.take();
        if before.is_none() && anew.is_empty() {
            return;
        }
        let (stop, stopped) = watch::channel(false);
        let (begins, begun) = watch::channel(false);
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                before.end().await;
            }
            begins.send_replace(true);
            // What does not end in time ends with this set.
            let mut each = JoinSet::new();
            for background in anew {
                let stopped = stopped.clone();
                each.spawn(async move { background.run(stopped).await });
            }
            while let Some(one) = each.join_next().await {
                if let Err(error) = one {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "what runs in the background broke down"
                    );
                }
            }
        });
        *running = Some(Running { stop, begun, task });
    }

    /// Waits until those of before the last change have ended.
    pub(crate) async fn settled(&self) {
        let begun = {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.as_ref().map(|running| running.begun.clone())
        };
        if let Some(mut begun) = begun {
            // Where they end without having begun, nothing runs either.
            let _ = begun.wait_for(|begun| *begun).await;
        }
    }

    /// Ends what runs, in order.
    pub(crate) async fn end(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(running) = running {
            running.end().await;
        }
    }
}

impl Running {
    async fn end(self) {
        self.stop.send_replace(true);
        let abort = self.task.abort_handle();
        if tokio::time::timeout(LEAVE, self.task).await.is_err() {
            abort.abort();
        }
    }
}
