//! `switchyard agents`, or `agent list`: what is registered, and for whom.

use std::time::Duration;

use clap::Args;
use domain::{Clock as _, SystemClock, Tenant, Timestamp};
use http::Method;
use serde_json::Value;
use url::Url;

use super::Failure;
use super::place::RunningSystem;
use crate::client::{Call, Client};
use local::address::below;
use local::data::endpoints::Endpoints;

/// Where an agent's card is, below its address.
pub(super) const CARD: &str = "/.well-known/agent-card.json";

/// List the registered agents
#[derive(Args)]
pub(super) struct Agents {
    #[command(flatten)]
    place: RunningSystem,
    /// Fetch each agent's card again first
    #[arg(long)]
    check: bool,
}

/// A line of the table.
struct Row {
    name: String,
    types: String,
    tenant: String,
    /// How long ago it was looked at.
    checked: String,
    health: String,
    id: String,
    card: String,
}

impl Agents {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        let client = Client::new().map_err(Failure::other)?;
        let mut agents = all(&client, &endpoints).await?;
        if self.check {
            for agent in &mut agents {
                *agent = check(&client, &endpoints, agent).await?;
            }
        }
        if crate::out::is_json() {
            agents.iter().for_each(crate::out::event);
            return Ok(());
        }
        let now = SystemClock.now();
        print(&agents.iter().map(|agent| Row::of(agent, now)).collect::<Vec<_>>());
        Ok(())
    }
}

/// Every agent, those of each tenant too.
pub(super) async fn all(client: &Client, endpoints: &Endpoints) -> Result<Vec<Value>, Failure> {
    let mut agents = list(client, endpoints, None).await?;
    for tenant in endpoints.tenants.keys() {
        let all = list(client, endpoints, Some(tenant)).await?;
        agents.extend(all.into_iter().filter(|agent| text(agent, "/tenant").is_some()));
    }
    Ok(agents)
}

pub(super) async fn list(
    client: &Client,
    endpoints: &Endpoints,
    tenant: Option<&Tenant>,
) -> Result<Vec<Value>, Failure> {
    let mut url = below(&endpoints.registry, "/agents");
    url.query_pairs_mut()
        .append_pair("disabled", "true")
        .extend_pairs(tenant.map(|tenant| ("tenant", tenant.prefix())));
    Ok(client.pages(&endpoints.registry_token, url, "agents").await?)
}

/// The agent's own address at the registry, and what follows it.
pub(super) fn url_of(endpoints: &Endpoints, agent: &Value, verb: &str) -> Url {
    let id = text(agent, "/id").unwrap_or_default();
    let mut url = below(&endpoints.registry, &format!("/agents/{id}{verb}"));
    if let Some(tenant) = text(agent, "/tenant") {
        url.query_pairs_mut().append_pair("tenant", tenant);
    }
    url
}

pub(super) async fn check(client: &Client, endpoints: &Endpoints, agent: &Value) -> Result<Value, Failure> {
    let call = Call {
        method: Method::POST,
        token: Some(&endpoints.registry_token),
        ..Call::get(url_of(endpoints, agent, "/check"))
    };
    Ok(client.json(call).await?)
}

/// Tells what of an agent will not work, as the registry found when it tried.
pub(super) fn warn(agent: &Value) {
    let warnings = agent.get("warnings").and_then(Value::as_array);
    for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
        outln!("  warning: {}", printable(warning));
    }
}

impl Row {
    fn of(agent: &Value, now: Timestamp) -> Self {
        let mut types: Vec<&str> = types_of(agent).collect();
        types.sort_unstable();
        types.dedup();
        Self {
            name: printable(text(agent, "/card/name").unwrap_or("?")),
            types: types.join(","),
            tenant: text(agent, "/tenant")
                .and_then(|prefix| Tenant::from_prefix(prefix).ok())
                .map_or_else(|| "(all)".to_owned(), |tenant| tenant.name().to_owned()),
            checked: text(agent, "/health/checkedAt")
                .and_then(Timestamp::parse)
                .map_or_else(|| "?".to_owned(), |at| age(now.since(at))),
            health: printable(&health(agent)),
            id: text(agent, "/id").unwrap_or_default().to_owned(),
            card: printable(text(agent, "/cardUrl").unwrap_or_default()),
        }
    }
}

/// The address of an agent's card, from that or the agent's own.
pub(super) fn card_url(url: &Url) -> Url {
    match url.path().ends_with(".json") {
        true => url.clone(),
        false => below(url, CARD),
    }
}

/// Where a listed agent's card is.
pub(super) fn card_url_of(agent: &Value) -> Option<Url> {
    let at = Url::parse(text(agent, "/cardUrl")?).ok()?;
    Some(card_url(&at))
}

/// The types that the tags of a listed agent name.
pub(super) fn types_of(agent: &Value) -> impl Iterator<Item = &str> {
    let skills = agent.pointer("/card/skills").and_then(Value::as_array);
    let skills = skills.into_iter().flatten();
    let tags = skills.filter_map(|skill| skill.get("tags")?.as_array()).flatten();
    tags.filter_map(|tag| tag.as_str()?.strip_prefix("type:"))
}

/// A time that has passed, in its largest unit.
fn age(passed: Duration) -> String {
    let seconds = passed.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How an agent was when its card was last looked at.
pub(super) fn health(agent: &Value) -> String {
    if agent.get("enabled").and_then(Value::as_bool) == Some(false) {
        return "disabled".to_owned();
    }
    let ok = agent.pointer("/health/ok").and_then(Value::as_bool);
    match (ok, text(agent, "/health/reason")) {
        (Some(true), _) if agent.get("pending").is_some() => {
            "healthy; its card has changed: `switchyard agent approve`".to_owned()
        }
        (Some(true), _) => "healthy".to_owned(),
        (_, reason) => format!("unhealthy: {}", reason.unwrap_or("unknown")),
    }
}

/// The text at a JSON pointer.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Text of somebody else's, without what would move a terminal's cursor or turn the direction of writing.
pub(super) fn printable(text: &str) -> String {
    domain::clean(text, 200)
}

fn print(rows: &[Row]) {
    let width = |cell: fn(&Row) -> &str, head: &str| {
        let longest = rows.iter().map(|row| cell(row).chars().count()).max();
        longest.unwrap_or(0).max(head.len())
    };
    let (name, types, tenant, checked, health) = (
        width(|row| &row.name, "NAME"),
        width(|row| &row.types, "TYPE"),
        width(|row| &row.tenant, "TENANT"),
        width(|row| &row.checked, "CHECKED"),
        width(|row| &row.health, "HEALTH"),
    );
    outln!(
        "{:36}  {:name$}  {:types$}  {:tenant$}  {:>checked$}  {:health$}  CARD",
        "ID",
        "NAME",
        "TYPE",
        "TENANT",
        "CHECKED",
        "HEALTH"
    );
    for row in rows {
        outln!(
            "{:36}  {:name$}  {:types$}  {:tenant$}  {:>checked$}  {:health$}  {}",
            row.id,
            row.name,
            row.types,
            row.tenant,
            row.checked,
            row.health,
            row.card
        );
    }
}
