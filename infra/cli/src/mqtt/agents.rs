//! `switchyard mqtt agents`: whose cards lie on the broker, and whether they are there.

use std::collections::BTreeMap;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Publication, Topic, property};
use clap::Args;
use mqtt::{Publisher as _, Received};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::connect::{AtBroker, Connected, Way};
use crate::Failure;
use crate::agents::{printable, text};
use local::mqtt::ORG;
use local::mqtt::access::{PLATFORM, WATCHER};

/// After this long without another card, all are there.
const QUIET: Duration = Duration::from_millis(300);
/// Nobody waits longer for the cards of a filter.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Args)]
#[command(
    after_help = "A card says by itself whether its agent is there; whether it answers, `switchyard mqtt send` tells."
)]
pub(crate) struct Agents {
    #[command(flatten)]
    at: AtBroker,
    /// Only agents of this organisation; without it, of the running system and the organisations it replies to. May be repeated
    #[arg(long, value_name = "ORG")]
    org: Vec<String>,
    /// Only agents of this unit. May be repeated
    #[arg(long, value_name = "UNIT")]
    unit: Vec<String>,
    /// Keep running, and show changes
    #[arg(long)]
    watch: bool,
    /// Print a line of JSON for each agent
    #[arg(long)]
    json: bool,
}

/// An agent's card, as far as it is shown.
struct Row {
    address: String,
    status: String,
    source: String,
    name: String,
    skills: usize,
}

impl Agents {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let way = self.at.way(WATCHER)?;
        let filters = self.filters(&way);
        let mut cards = BTreeMap::new();
        // One after the other: brokers hold what a subscription brings against a limit, and drop the rest.
        for filter in &filters {
            let connected = way.connect(vec![filter.clone()]).await?;
            collect(connected, &way, &mut cards).await;
        }
        let rows: Vec<Row> = cards.iter().map(|(agent, card)| row(agent, card)).collect();
        if self.watch || !rows.is_empty() {
            self.show(&rows);
        }
        match self.watch {
            true => self.stay(&way, filters, cards).await,
            false if rows.is_empty() => Err(Failure::NotYet(format!(
                "no agent has a card below {}",
                filters.join(", ")
            ))),
            false => Ok(()),
        }
    }

    fn filters(&self, way: &Way) -> Vec<String> {
        let below = |org: &str, unit: &str| format!("{}/discovery/{org}/{unit}/+", way.prefix);
        let mut units = self.unit.clone();
        let orgs: Vec<&str> = match self.org.as_slice() {
            [] => std::iter::once(ORG)
                .chain(way.orgs.iter().map(String::as_str))
                .collect(),
            named => named.iter().map(String::as_str).collect(),
        };
        let mut filters = Vec::new();
        for org in orgs {
            if org == ORG && units.is_empty() {
                units = self.own_units();
            }
            match units.as_slice() {
                [] => filters.push(below(org, "+")),
                units => filters.extend(units.iter().map(|unit| below(org, unit))),
            }
            units.clone_from(&self.unit);
        }
        filters
    }

    /// The units of the running system, where one runs.
    fn own_units(&self) -> Vec<String> {
        let Ok(endpoints) = self.at.place.endpoints() else {
            return Vec::new();
        };
        let tenants = endpoints.tenants.keys().map(|tenant| tenant.prefix().to_owned());
        std::iter::once(PLATFORM.to_owned()).chain(tenants).collect()
    }

    fn show(&self, rows: &[Row]) {
        if self.json {
            rows.iter().for_each(print_json);
            return;
        }
        let width = |cell: fn(&Row) -> &str, head: &str| {
            let longest = rows.iter().map(|row| cell(row).chars().count()).max();
            longest.unwrap_or(0).max(head.len())
        };
        let (address, status) = (
            width(|row| &row.address, "AGENT"),
            width(|row| &row.status, "STATUS"),
        );
        outln!("{:address$}  {:status$}  SAYS    SKILLS  NAME", "AGENT", "STATUS");
        for row in rows {
            outln!(
                "{:address$}  {:status$}  {:6}  {:6}  {}",
                row.address,
                row.status,
                row.source,
                row.skills,
                row.name
            );
        }
    }

    /// Tells each change of what is shown.
    async fn stay(
        &self,
        way: &Way,
        filters: Vec<String>,
        mut cards: BTreeMap<AgentAddress, Publication>,
    ) -> Result<(), Failure> {
        let Connected { session, mut heard } = way.connect(filters).await?;
        outln!("Watching; Ctrl-C stops it.");
        loop {
            let received = tokio::select! {
                received = heard.recv() => received,
                _ = tokio::signal::ctrl_c() => None,
            };
            let Some(received) = received else {
                session.close().await;
                return Ok(());
            };
            let Some(Topic::Discovery(agent)) = way.prefix.read(&received.publication.topic) else {
                continue;
            };
            let publication = received.publication;
            if publication.payload.is_empty() {
                if cards.remove(&agent).is_some() {
                    outln!("{agent}  gone");
                }
                continue;
            }
            let (was, now) = (
                cards.get(&agent).map(|card| row(&agent, card)),
                row(&agent, &publication),
            );
            match was {
                None => outln!("{agent}  new, {}", now.status),
                Some(was) if (&was.status, &was.source) != (&now.status, &now.source) => {
                    outln!("{agent}  {} ({})", now.status, now.source);
                }
                Some(_)
                    if cards
                        .get(&agent)
                        .is_some_and(|card| card.payload != publication.payload) =>
                {
                    outln!("{agent}  has another card");
                }
                Some(_) => {}
            }
            cards.insert(agent, publication);
        }
    }
}

/// Takes every card that lies there.
async fn collect(
    Connected { session, mut heard }: Connected,
    way: &Way,
    cards: &mut BTreeMap<AgentAddress, Publication>,
) {
    let end = Instant::now() + LONGEST;
    loop {
        let received = match timeout_at(end, timeout(QUIET, heard.recv())).await {
            Ok(Ok(received)) => received,
            // Silence may be a busy machine. What lies there comes before the answer to what is asked after it, whatever that is.
            Ok(Err(_)) => {
                let asked = Publication {
                    topic: format!("{}/event/{}", way.prefix, way.me),
                    ..Publication::default()
                };
                let _ = session.publish(asked).await;
                heard.try_recv().ok()
            }
            Err(_) => None,
        };
        let Some(Received { publication, .. }) = received else {
            break;
        };
        if let Some(Topic::Discovery(agent)) = way.prefix.read(&publication.topic)
            && !publication.payload.is_empty()
        {
            cards.insert(agent, publication);
        }
    }
    session.close().await;
}

fn row(agent: &AgentAddress, publication: &Publication) -> Row {
    let card: Value = serde_json::from_slice(&publication.payload).unwrap_or_default();
    // Where a broker says it too, its own word comes first and counts.
    let said = |name: &str| {
        let mut user = publication.properties.user.iter();
        let found = user.find(|(known, _)| known == name);
        printable(found.map_or("?", |(_, value)| value.as_str()))
    };
    Row {
        address: agent.to_string(),
        status: said(property::STATUS),
        source: said(property::STATUS_SOURCE),
        name: printable(text(&card, "/name").unwrap_or("(no card)")),
        skills: card.get("skills").and_then(Value::as_array).map_or(0, Vec::len),
    }
}

fn print_json(row: &Row) {
    let line = serde_json::json!({
        "agent": row.address, "status": row.status, "source": row.source, "name": row.name, "skills": row.skills,
    });
    outln!("{line}");
}

#[cfg(test)]
mod tests {
    use a2a::mqtt::Properties;

    use super::*;

    #[test]
    fn a_brokers_word_counts_and_a_terminal_is_not_steered() {
        let user = [
            ("a2a-status", "offline"),
            ("a2a-status-source", "broker"),
            ("a2a-status", "online"),
            ("a2a-status-source", "agent"),
        ];
        let card = Publication {
            payload: r#"{"name": "We\u001b[2Jather", "skills": [{}, {}]}"#.into(),
            properties: Properties {
                user: user.map(|(name, value)| (name.into(), value.into())).to_vec(),
                ..Properties::default()
            },
            ..Publication::default()
        };
        let row = row(&"acme/lab/x".parse().unwrap(), &card);
        assert_eq!(
            (
                row.status.as_str(),
                row.source.as_str(),
                row.name.as_str(),
                row.skills
            ),
            ("offline", "broker", "We[2Jather", 2)
        );
    }
}
