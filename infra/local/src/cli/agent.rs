//! `switchyard agent …`: changes to the registry.

use clap::{Args, Subcommand, ValueEnum};
use domain::{AgentType, Tag, Tenant};
use http::{Method, StatusCode};
use serde_json::json;
use url::Url;

use super::Failure;
use super::agents::{printable, text};
use super::place::{self, RunningSystem};
use super::registered::Registered;
use crate::client::{Call, Client, ClientError, below};

/// Changes to the registry
#[derive(Subcommand)]
pub(super) enum Agent {
    /// Register any A2A agent by the URL of its card
    Register(Register),
    /// Take an agent out of the registry
    Remove(Registered),
    /// Look at an agent's card again, and say how it is
    Check(Registered),
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
    /// How a type that is new is declared; the default is `tenant` with --tenant and `global` without
    #[arg(long)]
    scope: Option<Scope>,
}

impl Agent {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Register(register) => register.run().await,
            Self::Remove(registered) => registered.remove().await,
            Self::Check(registered) => registered.check().await,
        }
    }
}

impl Register {
    async fn run(mut self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        if let Some(tenant) = &self.tenant {
            place::tenant(&endpoints, tenant)?;
        }
        let scope = self.scope.unwrap_or(if self.tenant.is_some() {
            Scope::Tenant
        } else {
            Scope::Global
        });
        if scope == Scope::Tenant && self.tenant.is_none() {
            return Err(Failure::other(
                "--scope tenant needs --tenant NAME: whose agent is it?",
            ));
        }
        let client = Client::new().map_err(Failure::other)?;
        let token = Some(endpoints.registry_token.as_str());

        for name in self.tags.iter().filter(|tag| tag.key() == "type").map(Tag::value) {
            let name = AgentType::parse(name).map_err(Failure::other)?;
            let url = below(&endpoints.registry, &format!("/types/{name}"));
            let word = if scope == Scope::Tenant {
                "tenant"
            } else {
                "global"
            };
            let call = Call {
                token,
                ..Call::with_body(Method::PUT, url, &json!({"scope": word}))
            };
            match client.json(call).await {
                Ok(_) => {}
                // Declared otherwise before: the registry says below whether this agent fits that.
                Err(ClientError::Refused {
                    status: StatusCode::CONFLICT,
                    ..
                }) if self.scope.is_none() => {}
                Err(fault) => {
                    return Err(Failure::other(format!(
                        "the type {name} cannot be declared {word}: {fault}"
                    )));
                }
            }
        }
        if let Some(tenant) = &self.tenant {
            let own = Tag::parse(&format!("tenant_id:{}", tenant.name())).map_err(Failure::other)?;
            if !self.tags.is_empty() && !self.tags.contains(&own) {
                self.tags.push(own);
            }
        }
        let body = json!({"cardUrl": self.card_url, "tags": self.tags, "tenant": self.tenant});
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
        println!(
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
        "; its type is new here: say --tag type:NAME, and --scope tenant with --tenant NAME where it serves one tenant alone"
    } else if said.contains("no `type:` tag") || said.contains("is not `key:value`") {
        "; say what it is found by: --tag type:NAME"
    } else if said.contains("is global")
        || said.contains("is of one tenant")
        || said.contains("needs the tag")
    {
        "; a global type is registered without --tenant, a tenant's own with --tenant NAME"
    } else {
        ""
    }
}
