//! Finding agents on the broker, on a connection of its own, and having the registry know them as its operator's rules say. When
//! one comes or leaves, the registry is told to look at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Presence};
use domain::{AgentId, Tenant};
use http::Method;
use mqtt::{Inbox, Options, Received, Session, SessionState, Taking};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
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

/// The registry is told no more often than this, however fast an agent changes its card.
const BETWEEN: Duration = Duration::from_millis(200);

/// What to tell the registry, by agent: the newest word of each alone, so that an agent that says ever more does not fill the memory.
#[derive(Debug, Default)]
struct News {
    due: Mutex<HashMap<AgentAddress, Found>>,
    came: Notify,
}

impl News {
    /// Something new of an agent.
    fn put(&self, agent: AgentAddress, found: Found) {
        let mut due = self.due();
        let newest = merged(due.get(&agent).copied(), found);
        due.insert(agent, newest);
        drop(due);
        self.came.notify_one();
    }

    /// What could not be told; of an agent that has said more meanwhile, that.
    fn put_back(&self, agent: AgentAddress, found: Found) {
        let mut due = self.due();
        let newest = due.get(&agent).map_or(found, |newer| merged(Some(found), *newer));
        due.insert(agent, newest);
        drop(due);
        self.came.notify_one();
    }

    /// All there is, once there is some.
    async fn take(&self) -> HashMap<AgentAddress, Found> {
        loop {
            let due = std::mem::take(&mut *self.due());
            if !due.is_empty() {
                return due;
            }
            self.came.notified().await;
        }
    }

    fn due(&self) -> MutexGuard<'_, HashMap<AgentAddress, Found>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A card that was not told yet is still to be told.
fn merged(before: Option<Found>, newer: Found) -> Found {
    match (before, newer) {
        (Some(Found::Card), Found::Presence) => Found::Card,
        (_, newer) => newer,
    }
}

impl Discovery {
    /// Runs until `stop` says otherwise.
    pub(crate) async fn run(self, connection: Connection, mut stop: watch::Receiver<bool>) {
        let news = Arc::new(News::default());
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
            news: Arc::clone(&news),
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
            () = self.register(&news) => {}
        }
    }

    /// Tells the registry, one after the other.
    async fn register(&self, news: &News) {
        let mut wait = AGAIN.0;
        loop {
            let mut missed = false;
            for (agent, found) in news.take().await {
                if !self.told(&agent, found).await {
                    news.put_back(agent, found);
                    missed = true;
                }
            }
            if missed {
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(AGAIN.1);
            } else {
                tokio::time::sleep(BETWEEN).await;
                wait = AGAIN.0;
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
    news: Arc<News>,
}

impl Inbox for Cards {
    fn take(&self, received: Received) -> Taking {
        match self
            .bridge
            .discovered
            .take(&self.bridge.prefix, &received.publication)
        {
            Ok((_, Found::Same)) => {}
            Ok((agent, found)) => self.news.put(agent, found),
            Err(reason) => dropped(&self.identity, reason),
        }
        Box::pin(async {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_an_agent_that_says_ever_more_the_newest_word_waits_alone() {
        let news = News::default();
        let agent = |name: &str| AgentAddress::new("acme", "lab", name).unwrap();
        for _ in 0..10_000 {
            news.put(agent("loud"), Found::Card);
            news.put(agent("loud"), Found::Presence);
        }
        news.put(agent("gone"), Found::Card);
        news.put(agent("gone"), Found::Gone);
        news.put(agent("left"), Found::Presence);
        let due = news.take().await;
        let wanted = [
            ("loud", Found::Card),
            ("gone", Found::Gone),
            ("left", Found::Presence),
        ];
        assert_eq!(
            due,
            HashMap::from(wanted.map(|(name, found)| (agent(name), found)))
        );
        // What could not be told waits, unless there is something newer.
        news.put(agent("loud"), Found::Presence);
        news.put(agent("left"), Found::Gone);
        for (agent, found) in due {
            news.put_back(agent, found);
        }
        let wanted = [
            ("loud", Found::Card),
            ("gone", Found::Gone),
            ("left", Found::Gone),
        ];
        assert_eq!(
            news.take().await,
            HashMap::from(wanted.map(|(name, found)| (agent(name), found)))
        );
    }
}
