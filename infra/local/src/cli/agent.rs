//! `switchyard agent …`: changes to the registry.

use clap::{Args, Subcommand, ValueEnum};
use domain::{Tag, Tenant, TypeScope};
use http::Method;
use serde_json::json;
use url::Url;

use super::Failure;
use super::agents::{Agents, printable, text};
use super::place::{self, RunningSystem};
use super::registered::Registered;
use super::rotating::Move;
use crate::client::{Call, Client, ClientError, below};

/// Changes to the registry
#[derive(Subcommand)]
pub(super) enum Agent {
    /// Register any A2A agent by the URL of its card
    Register(Register),
    /// List the registered agents, with how each is
    List(Agents),
    /// Take an agent out of the registry
    Remove(Registered),
    /// Switch an agent off: no host is offered it, and what it works on goes on
    Disable(Registered),
    /// Switch an agent on again
    Enable(Registered),
    /// Look at an agent's card again, and say how it is
    Check(Registered),
    Move(Move),
}

/// Whom the agents of a type serve.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// One for all tenants
    Global,
    /// Each tenant has its own
    Tenant,
}

#[derive(Args)]
pub(super) struct Register {
    #[command(flatten)]
    place: RunningSystem,
    /// Where the agent's card is, such as https://agent.example/.well-known/agent-card.json
    card_url: Url,
    /// A tag for skills that have no `type:` tag of their own; `type:NAME` says what it is found by
    #[arg(long = "tag", value_name = "KEY:VALUE")]
    tags: Vec<Tag>,
    /// The one tenant it is for; without it the agent serves all
    #[arg(long)]
    tenant: Option<Tenant>,
    /// Declares the types that are new, those of the card too; of a --tag it is `tenant` with --tenant and else `global`
    #[arg(long)]
    scope: Option<Scope>,
    /// Declares its types private: what its agents say, or are told of others, needs their user's word
    #[arg(long)]
    private: bool,
    /// A host that it may send users to, to sign in, beside its card's own; links that lead elsewhere are shown as text
    #[arg(long = "link-host", value_name = "HOST")]
    link_hosts: Vec<String>,
}

impl Agent {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Register(register) => register.run().await,
            Self::List(agents) => agents.run().await,
            Self::Remove(registered) => registered.remove().await,
            Self::Disable(registered) => registered.disable().await,
            Self::Enable(registered) => registered.enable().await,
            Self::Check(registered) => registered.check().await,
            Self::Move(moved) => moved.run(),
        }
    }
}

impl Register {
    async fn run(mut self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        if let Some(name) = &self.tenant {
            place::tenant(&endpoints, name)?;
            self.tenant = endpoints.named(name).map(|(tenant, _)| tenant.clone());
        }
        let typed = self.tags.iter().any(|tag| tag.key() == "type");
        let usual = match self.tenant {
            Some(_) => Scope::Tenant,
            None => Scope::Global,
        };
        // A type that somebody types is wanted; one that a card brings is declared where somebody says so.
        let scope = self.scope.or(typed.then_some(usual));
        if scope == Some(Scope::Tenant) && self.tenant.is_none() {
            return Err(Failure::other(
                "--scope tenant needs --tenant NAME: whose agent is it?",
            ));
        }
        if let Some(tenant) = &self.tenant {
            let own = Tag::parse(&format!("tenant_id:{}", tenant.name())).map_err(Failure::other)?;
            if scope != Some(Scope::Global) && !self.tags.contains(&own) {
                self.tags.push(own);
            }
        }
        let client = Client::new().map_err(Failure::other)?;
        let token = Some(endpoints.registry_token.as_str());
        let scope = scope.map(|scope| match scope {
            Scope::Global => TypeScope::Global,
            Scope::Tenant => TypeScope::Tenant,
        });
        let mut body = json!({
            "cardUrl": self.card_url, "tags": self.tags, "tenant": self.tenant, "scope": scope,
        });
        // Left out where it is not wanted: a registry of an older release refuses what it does not know.
        if let Some(fields) = body.as_object_mut().filter(|_| self.private) {
            fields.insert("private".to_owned(), true.into());
        }
        if let Some(fields) = body.as_object_mut().filter(|_| !self.link_hosts.is_empty()) {
            fields.insert("linkHosts".to_owned(), json!(self.link_hosts));
        }
        let url = below(&endpoints.registry, "/agents");
        let registered = client.json(Call {
            token,
            ..Call::with_body(Method::POST, url, &body)
        });
        let agent = registered
            .await
            .map_err(|fault| Failure::other(format!("{fault}{}", mend(&fault))))?;
        let name = printable(text(&agent, "/card/name").unwrap_or("?"));
        let whose = self
            .tenant
            .map_or_else(|| "all tenants".to_owned(), |tenant| tenant.name().to_owned());
        outln!(
            "registered {name} for {whose} as {}",
            text(&agent, "/id").unwrap_or_default()
        );
        Ok(())
    }
}

/// The flag that mends what the registry has against a card.
fn mend(fault: &ClientError) -> &'static str {
    let said = fault.to_string();
    if said.contains("is not declared") {
        "; its type is new here: declare it by --scope global, or by --scope tenant --tenant NAME where each tenant has its own"
    } else if said.contains("no `type:` tag") || said.contains("is not `key:value`") {
        "; say what it is found by: --tag type:NAME"
    } else if [
        "is global",
        "is declared as tenant",
        "needs the tag",
        "is not of the tenant",
    ]
    .iter()
    .any(|reason| said.contains(reason))
    {
        "; a global type is registered without --tenant, a tenant's own with --tenant NAME"
    } else {
        ""
    }
}
