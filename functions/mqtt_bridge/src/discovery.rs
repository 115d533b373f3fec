//! Finding agents on the broker, on a connection of its own, and having the registry know them as its operator's rules say. When
//! one comes or leaves, the registry is told to look at it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Presence};
use domain::{AgentId, Tenant};
use http::Method;
use mqtt::{Inbox, Options, Received, Session, SessionState, Taking};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use url::Url;

use crate::bridge::Bridge;
use crate::discovered::Found;
use crate::drops::dropped;
use crate::import_rule::ImportRule;
use crate::operator::Operator;
use crate::presence::Connection;

/// Cards that are handed over before one of them is acknowledged.
const AT_ONCE: u16 = 1_000;
/// Most bytes of a packet: a card, with all that stands beside it.
const PACKET: u32 = 256 * 1024;
/// A filter's retained cards are all here when nothing has come for so long.
const QUIET: Duration = Duration::from_millis(60);
/// Waits between two tries to tell the registry: the first, and the longest.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Finds agents, and has them registered.
pub(crate) struct Discovery {
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) rules: Vec<ImportRule>,
    pub(crate) operator: Operator,
    /// What it connects as.
    pub(crate) identity: AgentAddress,
}

/// Something to tell the registry, by agent; what is newer takes its place.
type News = (AgentAddress, Found);

impl Discovery {
    /// Runs until `stop` says otherwise.
    pub(crate) async fn run(self, connection: Connection, mut stop: watch::Receiver<bool>) {
        let (tell, news) = mpsc::unbounded_channel();
        let mut filters: Vec<String> = self
            .rules
            .iter()
            .map(|rule| rule.filter(&self.bridge.prefix))
            .collect();
        filters.sort();
        filters.dedup();
        let address = self.identity.to_string();
        let options = Options {
            broker: connection.broker,
            client_id: address.clone(),
            credentials: connection.password.map(|password| (address, password)),
            will: None,
            filters,
            kept_for: None,
            receive_maximum: AT_ONCE,
            max_packet: PACKET,
            settle: Some(QUIET),
        };
        let inbox = Arc::new(Cards {
            bridge: Arc::clone(&self.bridge),
            identity: self.identity.clone(),
            tell,
        });
        let session = match Session::open(options, inbox) {
            Ok(session) => session,
            Err(end) => {
                tracing::error!(error = %end, "agents on the broker are not looked for");
                return;
            }
        };
        tokio::select! {
            () = stopped(&mut stop) => session.close().await,
            () = ended(&session) => tracing::error!("agents on the broker are not looked for any more"),
            () = self.register(news) => {}
        }
    }

    /// Tells the registry, one after the other; the newest word of each agent alone.
    async fn register(&self, mut news: mpsc::UnboundedReceiver<News>) {
        let mut due: HashMap<AgentAddress, Found> = HashMap::new();
        let mut wait = AGAIN.0;
        loop {
            if due.is_empty() {
                let Some((agent, found)) = news.recv().await else {
                    return;
                };
                due.insert(agent, found);
            }
            while let Ok((agent, found)) = news.try_recv() {
                // A card that was not told yet is still to be told.
                let is_new = matches!(due.get(&agent), Some(Found::Card)) && found == Found::Presence;
                due.insert(agent, if is_new { Found::Card } else { found });
            }
            let mut missed = HashMap::new();
            for (agent, found) in due.drain() {
                if !self.told(&agent, found).await {
                    missed.insert(agent, found);
                }
            }
            due = missed;
            if due.is_empty() {
                wait = AGAIN.0;
            } else {
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(AGAIN.1);
            }
        }
    }

    /// False where it is to be told again.
    async fn told(&self, agent: &AgentAddress, found: Found) -> bool {
        let presence = self.bridge.discovered.card(agent).map(|found| found.presence);
        for rule in self.rules.iter().filter(|rule| rule.is_for(agent)) {
            let is_told = match (found, presence) {
                (Found::Card, Some(Presence::Online)) => self.registered(rule, agent).await,
                // It may be registered from before; who is not there cannot be registered anew.
                _ => self.checked(rule, agent).await,
            };
            if !is_told {
                return false;
            }
        }
        true
    }

    async fn registered(&self, rule: &ImportRule, agent: &AgentAddress) -> bool {
        let mut tags = vec![format!("type:{}", rule.agent_type)];
        tags.extend(
            rule.tenant
                .iter()
                .map(|tenant| format!("tenant_id:{}", tenant.name())),
        );
        let scope = if rule.tenant.is_some() { "tenant" } else { "global" };
        let body =
            json!({ "cardUrl": self.card_url(agent), "tags": tags, "tenant": rule.tenant, "scope": scope });
        let answered = self.operator.ask(Method::POST, "agents", Some(&body)).await;
        let what = "registered";
        judged(answered, (agent, what))
    }

    async fn checked(&self, rule: &ImportRule, agent: &AgentAddress) -> bool {
        let id = AgentId::of_card(
            rule.tenant.as_ref().map(Tenant::prefix),
            self.card_url(agent).as_str(),
        );
        let tenant = rule
            .tenant
            .as_ref()
            .map(|tenant| format!("?tenant={}", tenant.prefix()));
        let path = format!("agents/{id}/check{}", tenant.unwrap_or_default());
        let answered = self.operator.ask(Method::POST, &path, None).await;
        judged(answered, (agent, "checked"))
    }

    fn card_url(&self, agent: &AgentAddress) -> Url {
        self.bridge.card_url(agent)
    }
}

/// False where the registry could not be asked, and is to be asked again.
fn judged(answered: Result<(u16, Value), String>, (agent, what): (&AgentAddress, &str)) -> bool {
    match answered {
        Ok((200..=299, _)) => {
            tracing::info!(mqtt.agent = %agent, "an agent on the broker was {what}");
            true
        }
        // It was never registered, or its operator has removed it.
        Ok((404, _)) => true,
        Ok((status @ 400..=499, told)) if !matches!(status, 401 | 403 | 408 | 409 | 429) => {
            let reasons = told.get("reasons").or_else(|| told.get("message"));
            tracing::warn!(mqtt.agent = %agent, status, reasons = ?reasons, "an agent on the broker was not {what}");
            true
        }
        Ok((status, _)) => {
            tracing::info!(mqtt.agent = %agent, status, "the registry is asked again");
            false
        }
        Err(error) => {
            tracing::info!(mqtt.agent = %agent, error, "the registry is asked again");
            false
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Whoever could say so is gone: that is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn ended(session: &Session) {
    let mut state = session.watch();
    let _ = state
        .wait_for(|state| matches!(state, SessionState::Ended(_)))
        .await;
}

/// Takes cards.
struct Cards {
    bridge: Arc<Bridge>,
    identity: AgentAddress,
    tell: mpsc::UnboundedSender<News>,
}

impl Inbox for Cards {
    fn take(&self, received: Received) -> Taking {
        match self
            .bridge
            .discovered
            .take(&self.bridge.prefix, &received.publication)
        {
            Ok((_, Found::Same)) => {}
            Ok(news) => {
                // Nobody listens any more once it ends.
                let _ = self.tell.send(news);
            }
            Err(reason) => dropped(&self.identity, reason),
        }
        Box::pin(async {})
    }
}
