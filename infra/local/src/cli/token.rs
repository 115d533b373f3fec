//! `switchyard token`: a token to call an agent by hand, signed with the tenant's own key.

use std::time::Duration;

use auth::Grant;
use clap::Args;
use domain::{Clock, ExposeSecret, Owner, SystemClock, SystemEntropy, Tenant};
use url::Url;

use super::Failure;
use super::place::{self, Place};
use crate::secrets::Secrets;

/// How long a token lives.
const LIFETIME: Duration = Duration::from_secs(300);

/// Mint a token of five minutes for one agent
#[derive(Args)]
pub(super) struct Token {
    #[command(flatten)]
    place: Place,
    /// Whose token
    #[arg(long)]
    tenant: Tenant,
    /// For what: `host`, `registry` (to look), or the URL of an agent
    #[arg(long = "for", value_name = "AUDIENCE", default_value = "host")]
    audience: String,
    /// For whom: tasks belong to this name
    #[arg(long, default_value = "terminal")]
    owner: Owner,
}

impl Token {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        let tenant = place::tenant(&endpoints, &self.tenant)?;
        let (audience, scope) = match self.audience.as_str() {
            "host" => (tenant.host_agent.clone(), "tasks"),
            "registry" => (endpoints.registry.clone(), "registry:read"),
            url => (
                Url::parse(url).map_err(|_| Failure::other("--for takes host, registry or a URL"))?,
                "tasks",
            ),
        };
        let file = self.place.secrets_file();
        let secrets = Secrets::load(&file)?;
        let own = secrets
            .as_ref()
            .and_then(|secrets| secrets.tenants.get(&self.tenant))
            .ok_or_else(|| {
                let file = file.display();
                Failure::other(format!(
                    "there is no key of {} in {file}; with `up --memory` keys are never kept",
                    self.tenant
                ))
            })?;
        let grant = Grant {
            issuer: tenant.base.as_str().trim_end_matches('/'),
            subject: self.owner.as_str(),
            tenant: Some(&self.tenant),
            audience: audience.as_str(),
            scopes: &[scope],
            lifetime: LIFETIME,
        };
        let token = own
            .session
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .map_err(Failure::other)?;
        println!("{}", token.expose_secret());
        Ok(())
    }
}
