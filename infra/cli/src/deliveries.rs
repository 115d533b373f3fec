//! `switchyard deliveries`: what agents' clients have not been told yet, and why; and trying it again by hand.

use std::time::Duration;

use auth::{AccessToken, Grant};
use clap::{Args, Subcommand};
use domain::{AgentName, Clock, ExposeSecret, SystemClock, SystemEntropy, Tenant};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use super::Failure;
use super::agents::{printable, text};
use super::place::{self, RunningSystem};
use crate::client::{Call, Client, ClientError};
use local::address::below;
use local::data::endpoints::Endpoints;
use local::data::secrets::Secrets;

/// How long the command's tokens live.
const LIFETIME: Duration = Duration::from_secs(300);

/// List push notifications and their state, or deliver them again
///
/// A delivery is `idle` (everything was delivered), `owed` (it is being tried) or `parked` (it failed, and is tried no more).
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Deliveries {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: List,
}

#[derive(Subcommand)]
enum What {
    /// Try what is parked or owed again now
    Replay(Replay),
}

/// Which deliveries.
#[derive(Args)]
struct Scope {
    #[command(flatten)]
    place: RunningSystem,
    /// Only this tenant's
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Only this agent's, such as `host` or `weather`
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentName>,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    scope: Scope,
    /// Only those that are parked
    #[arg(long)]
    parked: bool,
}

#[derive(Args)]
struct Replay {
    #[command(flatten)]
    scope: Scope,
    /// Only those of this task, parked or owed; without it, all that are parked
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

/// One agent's deliveries for one tenant.
struct DeliveriesClient {
    tenant: Tenant,
    agent: AgentName,
    url: Url,
    token: String,
}

impl Deliveries {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = Client::new().map_err(Failure::other)?;
        match self.what {
            None => list(&client, &self.list).await,
            Some(What::Replay(replay)) => replay.run(&client).await,
        }
    }
}

async fn list(client: &Client, wanted: &List) -> Result<(), Failure> {
    let apis = wanted.scope.apis()?;
    if !crate::out::is_json() {
        outln!(
            "{:10} {:10} {:6} {:36} {:24} {:>5}  LAST ERROR",
            "TENANT",
            "AGENT",
            "STATE",
            "TASK",
            "HOST",
            "TRIES"
        );
    }
    for api in apis {
        for delivery in api.deliveries(client, wanted.parked).await? {
            let cell = |pointer: &str| printable(text(&delivery, pointer).unwrap_or_default());
            told!(
                json!({ "tenant": api.tenant.name(), "agent": api.agent.as_str(), "delivery": delivery }),
                "{:10} {:10} {:6} {:36} {:24} {:>5}  {}",
                api.tenant.name(),
                api.agent.as_str(),
                cell("/state"),
                cell("/taskId"),
                cell("/host"),
                delivery
                    .get("attempts")
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
                cell("/lastError"),
            );
        }
    }
    Ok(())
}

impl Replay {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let (mut count, mut known) = (0_u32, false);
        for api in self.scope.apis()? {
            for delivery in api.deliveries(client, self.task.is_none()).await? {
                let asked = self.task.as_deref();
                if asked.is_some_and(|task| text(&delivery, "/taskId") != Some(task)) {
                    continue;
                }
                known = true;
                if text(&delivery, "/state") == Some("idle") {
                    continue;
                }
                let which =
                    json!({"taskId": text(&delivery, "/taskId"), "configId": text(&delivery, "/configId")});
                let url = below(&api.url, "/deliveries/replay");
                let call = Call {
                    token: Some(&api.token),
                    ..Call::with_body(Method::POST, url, &which)
                };
                match client.send(call).await {
                    Ok(_) => count += 1,
                    // It went out in the meantime, or is on its way just now.
                    Err(ClientError::Refused { status, .. }) if status == StatusCode::NOT_FOUND => {}
                    Err(fault) => return Err(fault.into()),
                }
            }
        }
        if let Some(task) = self.task.filter(|_| !known) {
            let reason = format!(
                "there are no push notifications of a task {task}; `switchyard deliveries` lists all there are"
            );
            return Err(Failure::other(reason));
        }
        told!(json!({ "triedAgain": count }), "{count} tried again");
        Ok(())
    }
}

impl DeliveriesClient {
    async fn deliveries(&self, client: &Client, parked: bool) -> Result<Vec<Value>, Failure> {
        let mut url = below(&self.url, "/deliveries");
        let parked = if parked { "true" } else { "false" };
        url.query_pairs_mut().append_pair("parked", parked);
        Ok(client.pages(&self.token, url, "deliveries").await?)
    }
}

impl Scope {
    /// Every agent that is asked for, with a token for it in each tenant that is asked for.
    fn apis(&self) -> Result<Vec<DeliveriesClient>, Failure> {
        let endpoints = self.place.endpoints()?;
        if let Some(tenant) = &self.tenant {
            place::tenant(&endpoints, tenant)?;
        }
        let file = self.place.secrets_file();
        let secrets = Secrets::load(&file)?.ok_or_else(|| {
            let file = file.display();
            Failure::other(format!(
                "there are no keys in {file}; with `up --memory` they are never kept"
            ))
        })?;
        let host = AgentName::parse("host").map_err(Failure::other)?;
        let mut apis = Vec::new();
        for (tenant, own) in &endpoints.tenants {
            let global = endpoints.agents.iter().map(|(name, url)| (name, url, false));
            let others = own.agents.iter().map(|(name, url)| (name, url, true));
            let all = std::iter::once((&host, &own.host_agent, false))
                .chain(others)
                .chain(global);
            for (agent, url, behind_sign_in) in all {
                let wanted = self
                    .tenant
                    .as_ref()
                    .is_none_or(|wanted| wanted.name() == tenant.name())
                    && self.agent.as_ref().is_none_or(|wanted| wanted == agent);
                if wanted {
                    apis.push(DeliveriesClient {
                        token: token(&secrets, &endpoints, tenant, url, behind_sign_in)?,
                        tenant: tenant.clone(),
                        agent: agent.clone(),
                        url: url.clone(),
                    });
                }
            }
        }
        match &self.agent {
            Some(agent) if apis.is_empty() => Err(Failure::other(format!("there is no agent {agent} here"))),
            _ => Ok(apis),
        }
    }
}

/// A token for an agent's deliveries. A tenant's own agents take those of its authorization server alone.
fn token(
    secrets: &Secrets,
    endpoints: &Endpoints,
    tenant: &Tenant,
    agent: &Url,
    behind_sign_in: bool,
) -> Result<String, Failure> {
    let audience = agent.as_str().trim_end_matches('/');
    let now = SystemClock.now();
    let signed = if behind_sign_in {
        let keys = &secrets.idp;
        let told = AccessToken {
            issuer: &idp::issuer(&endpoints.idp, tenant),
            subject: "terminal",
            tenant: Some(tenant),
            audience,
            client_id: "terminal",
            scope: agent::DELIVERIES_SCOPE,
            auth_time: None,
            lifetime: LIFETIME,
        };
        keys.current().sign_access_token(&told, now, &SystemEntropy)
    } else {
        let own = secrets.tenants.get(tenant);
        let own = own.ok_or_else(|| Failure::other(format!("there is no key of {}", tenant.name())))?;
        let base = endpoints.tenants.get(tenant).map(|own| own.base.as_str());
        let told = Grant {
            issuer: base.unwrap_or_default().trim_end_matches('/'),
            subject: "terminal",
            tenant: Some(tenant),
            audience,
            scopes: &[agent::DELIVERIES_SCOPE],
            lifetime: LIFETIME,
        };
        let session = own.session().map_err(Failure::other)?;
        session.sign(&told, now, &SystemEntropy)
    };
    let signed = signed.map_err(Failure::other)?;
    Ok(signed.expose_secret().to_owned())
}
