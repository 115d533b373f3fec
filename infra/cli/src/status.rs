//! `switchyard status`: what runs here, in a few lines; and `switchyard open`, which opens a tenant's page.

use clap::Args;
use serde_json::{Value, json};

use crate::Failure;
use crate::agents::{all, health, printable, text};
use crate::client::Client;
use crate::here::AtTenant;
use crate::place::RunningSystem;

/// Say what runs: where, for which tenants, with which agents
#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    place: RunningSystem,
}

impl Status {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        let client = Client::new().map_err(Failure::other)?;
        let agents = all(&client, &endpoints).await?;
        let is_well = |agent: &&Value| health(agent).starts_with("healthy");
        let unwell: Vec<&Value> = agents.iter().filter(|agent| !is_well(agent)).collect();
        let named = |agent: &Value| (printable(text(agent, "/card/name").unwrap_or("?")), health(agent));
        if crate::out::is_json() {
            let tenants = endpoints
                .tenants
                .iter()
                .map(|(tenant, own)| (tenant.name(), own.base.as_str()));
            let unwell = unwell.iter().map(|agent| named(agent));
            let told = json!({
                "gateway": endpoints.gateway, "tenants": tenants.collect::<std::collections::BTreeMap<_, _>>(),
                "agents": agents.len(), "unwell": unwell.collect::<Vec<_>>(),
                "mqtt": endpoints.mqtt.as_ref().map(|mqtt| mqtt.broker.as_str()),
            });
            crate::out::event(&told);
            return Ok(());
        }
        outln!("running at {}", endpoints.gateway);
        for (tenant, own) in &endpoints.tenants {
            outln!("  {:12}  {}", tenant.name(), own.base);
        }
        if let Some(mqtt) = &endpoints.mqtt {
            outln!("MQTT broker at {}", mqtt.broker);
        }
        outln!("{} agents, {} healthy", agents.len(), agents.len() - unwell.len());
        for agent in unwell {
            let (name, health) = named(agent);
            outln!("  {name}: {health}");
        }
        Ok(())
    }
}

/// Open a tenant's page in the browser
#[derive(Args)]
pub(crate) struct Open {
    #[command(flatten)]
    at: AtTenant,
}

impl Open {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let here = self.at.open()?;
        show(here.base.as_str());
        Ok(())
    }
}

/// Opens an address of ours in the browser, and says it, for whoever has none.
pub(crate) fn show(address: &str) {
    told!(json!({ "url": address }), "{address}");
    if let Err(fault) = open::that_detached(address) {
        crate::out::complain(format_args!("no browser opens it here: {fault}"));
    }
}
