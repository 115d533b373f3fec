//! `switchyard token`: a token to call an agent by hand, signed with the tenant's own key.

use std::path::PathBuf;
use std::time::Duration;

use auth::{Grant, SigningKey};
use clap::Args;
use domain::{Clock, ExposeSecret, Owner, SystemClock, SystemEntropy, Tenant};
use http::Method;
use serde_json::{Value, json};
use url::Url;

use super::Failure;
use super::place::{self, RunningSystem};
use crate::client::Call;
use local::data::folder;

/// How long a token lives.
const LIFETIME: Duration = Duration::from_secs(300);

/// Make a token for one agent, good for five minutes
#[derive(Args)]
pub(super) struct Token {
    #[command(flatten)]
    place: RunningSystem,
    /// The tenant; with --key and without this, a token of the platform itself
    #[arg(long, value_name = "NAME", required_unless_present = "key")]
    tenant: Option<Tenant>,
    /// What it is for: `host`, `registry` (read only), or the URL of an agent
    #[arg(long = "for", value_name = "AUDIENCE", default_value = "host")]
    audience: String,
    /// The owner of the tasks that are made with it
    #[arg(long, default_value = "terminal")]
    owner: Owner,
    /// Sign with the private key in this PEM file instead, for a system that runs elsewhere
    #[arg(long, value_name = "FILE", requires_all = ["issuer", "scope"])]
    key: Option<PathBuf>,
    /// With --key: the issuer that the key belongs to
    #[arg(long, value_name = "URL", requires = "key")]
    issuer: Option<String>,
    /// With --key: the token's scope, such as registry:write
    #[arg(long, requires = "key")]
    scope: Option<String>,
}

impl Token {
    pub(super) async fn run(self) -> Result<(), Failure> {
        if let (Some(file), Some(issuer), Some(scope)) = (&self.key, &self.issuer, &self.scope) {
            let pem = folder::read(file)?
                .ok_or_else(|| Failure::other(format!("there is no {}", file.display())))?;
            let key = SigningKey::from_pem(&pem.into()).map_err(Failure::other)?;
            return print(&key, &self.grant(issuer, &self.audience, &[scope]));
        }
        let Some(name) = &self.tenant else {
            return Err(Failure::other("--tenant says whose token"));
        };
        let endpoints = self.place.endpoints()?;
        let tenant = place::tenant(&endpoints, name)?;
        let (audience, scope) = match self.audience.as_str() {
            "host" => (tenant.host_agent.clone(), "tasks"),
            "registry" => (endpoints.registry.clone(), "registry:read"),
            url => (
                Url::parse(url).map_err(|_| Failure::other("--for takes host, registry or a URL"))?,
                "tasks",
            ),
        };
        // The system itself signs it: of one that keeps nothing, nobody else has the key.
        let path = format!("/tenants/{}/token", name.name());
        let body = json!({ "owner": self.owner, "audience": audience, "scope": scope });
        let asked = self
            .place
            .ask(|endpoints| Call::with_body(Method::POST, place::admin(endpoints, &path), &body));
        let told = asked.await?;
        let token = told.get("token").and_then(Value::as_str).unwrap_or_default();
        told!(serde_json::json!({ "token": token }), "{token}");
        Ok(())
    }

    fn grant<'a>(&'a self, issuer: &'a str, audience: &'a str, scopes: &'a [&'a str]) -> Grant<'a> {
        Grant {
            issuer,
            subject: self.owner.as_str(),
            tenant: self.tenant.as_ref(),
            audience,
            scopes,
            lifetime: LIFETIME,
        }
    }
}

fn print(key: &SigningKey, grant: &Grant<'_>) -> Result<(), Failure> {
    let token = key
        .sign(grant, SystemClock.now(), &SystemEntropy)
        .map_err(Failure::other)?;
    let token = token.expose_secret();
    told!(serde_json::json!({ "token": token }), "{token}");
    Ok(())
}
