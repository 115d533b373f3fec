//! `switchyard agent register`: an agent joins by its card's URL.

use clap::{Args, ValueEnum};
use domain::{AgentType, Tag, Tenant, TypeScope};
use http::Method;
use local::address::below;
use local::data::endpoints::Endpoints;
use serde_json::{Value, json};
use url::Url;

use super::Failure;
use super::agents::{self, printable, text};
use super::checked;
use super::place::{self, RunningSystem};
use crate::client::{Call, Client, ClientError};

/// Whom the agents of a type serve.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// One agent for all tenants
    Global,
    /// Each tenant has its own
    Tenant,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  switchyard agent register http://127.0.0.1:9100\n  switchyard agent register https://agent.example --type currency --tenant acme"
)]
pub(super) struct Register {
    #[command(flatten)]
    place: RunningSystem,
    /// The URL of the agent's card, or of the agent, such as https://agent.example/.well-known/agent-card.json
    #[arg(value_parser = checked::web_address)]
    card_url: Url,
    /// The type that hosts find the agent by, where its card names none. Without it, a new one of the agent's name
    #[arg(long = "type", value_name = "NAME")]
    type_: Option<AgentType>,
    /// A further tag for skills without a `type:` tag of their own. May be repeated
    #[arg(long = "tag", value_name = "KEY:VALUE")]
    tags: Vec<Tag>,
    /// Register it for this tenant only; without it, for all tenants
    #[arg(long)]
    tenant: Option<Tenant>,
    /// Declare types that are new, also those that the card brings. The default, for the type of a --tag: `tenant` with
    /// --tenant, else `global`
    #[arg(long)]
    scope: Option<Scope>,
    /// Declare its types private: before its results reach another agent, or other results reach it, the user is asked
    #[arg(long)]
    private: bool,
    /// A host name that it may send users to for signing in, besides its card's. Links to other hosts are shown as text. May
    /// be repeated
    #[arg(long = "link-host", value_name = "HOST")]
    link_hosts: Vec<String>,
}

impl Register {
    /// Where the system is.
    pub(super) fn endpoints(&self) -> Result<Endpoints, Failure> {
        self.place.endpoints()
    }

    /// The address that was typed.
    pub(super) fn card_url(&self) -> &Url {
        &self.card_url
    }

    /// The same registration of what is at another address.
    pub(super) fn at(self, card_url: Url) -> Self {
        Self { card_url, ..self }
    }

    /// Joins a type, unless one was typed.
    pub(super) fn join(&mut self, type_: Option<AgentType>) {
        self.type_ = self.type_.take().or(type_);
    }

    /// Registers it; the agent as the registry lists it.
    pub(super) async fn register(&self) -> Result<Value, Failure> {
        self.asked(false).await.map(|(.., agent)| agent)
    }

    pub(super) async fn run(self) -> Result<(), Failure> {
        let (_, tenant, agent) = self.asked(false).await?;
        let name = printable(text(&agent, "/card/name").unwrap_or("?"));
        let whose = tenant.map_or_else(|| "all tenants".to_owned(), |tenant| tenant.name().to_owned());
        if crate::out::is_json() {
            crate::out::event(&agent);
            return Ok(());
        }
        outln!(
            "registered {name} for {whose} as {}",
            text(&agent, "/id").unwrap_or_default()
        );
        let declared = agent.get("declared").and_then(Value::as_array);
        for name in declared.into_iter().flatten().filter_map(Value::as_str) {
            outln!("  its type `{name}` is new here");
        }
        agents::warn(&agent);
        Ok(())
    }

    /// What a registration would come to, without one; for its tenant, or the first one here.
    pub(super) async fn rehearse(&self) -> Result<(Endpoints, Tenant, Value), Failure> {
        let (endpoints, tenant, agent) = self.asked(true).await?;
        let tenant = tenant.or_else(|| endpoints.tenants.keys().next().cloned());
        let tenant =
            tenant.ok_or_else(|| Failure::other("there is no tenant here whose host could see it"))?;
        Ok((endpoints, tenant, agent))
    }

    /// Asks the registry; for whom, and the agent as it lists it.
    async fn asked(&self, rehearse: bool) -> Result<(Endpoints, Option<Tenant>, Value), Failure> {
        let endpoints = self.place.endpoints()?;
        let (mut tenant, mut tags) = (None, self.tags.clone());
        if let Some(name) = &self.tenant {
            place::tenant(&endpoints, name)?;
            tenant = endpoints.named(name).map(|(tenant, _)| tenant.clone());
        }
        if let Some(name) = &self.type_ {
            let tag = Tag::parse(&format!("type:{name}")).map_err(Failure::other)?;
            tags.push(tag);
        }
        let typed = tags.iter().any(|tag| tag.key() == "type");
        let client = Client::new().map_err(Failure::other)?;
        // Registered already, by whichever of its addresses, it stays that one; what is everybody's is looked at as that.
        let at = agents::card_url(&self.card_url);
        let listed = agents::list(&client, &endpoints, tenant.as_ref()).await?;
        let is_same = |agent: &&Value| agents::card_url_of(agent).as_ref() == Some(&at);
        let known = listed
            .iter()
            .filter(is_same)
            .max_by_key(|agent| text(agent, "/tenant").is_some());
        let home = tenant
            .as_ref()
            .filter(|_| !rehearse || known.is_none_or(|known| text(known, "/tenant").is_some()));
        let card_url = known
            .filter(|known| text(known, "/tenant") == home.map(Tenant::prefix))
            .and_then(|known| text(known, "/cardUrl"))
            .unwrap_or(self.card_url.as_str());
        let usual = match home {
            Some(_) => Scope::Tenant,
            None => Scope::Global,
        };
        // A type that somebody types is wanted; one that a card brings is declared where somebody says so.
        let scope = self.scope.or(typed.then_some(usual));
        if scope == Some(Scope::Tenant) && home.is_none() {
            return Err(Failure::other(
                "--scope tenant needs --tenant NAME: whose agent is it?",
            ));
        }
        if let Some(tenant) = home {
            let own = Tag::parse(&format!("tenant_id:{}", tenant.name())).map_err(Failure::other)?;
            if scope != Some(Scope::Global) && !tags.contains(&own) {
                tags.push(own);
            }
        }
        let token = Some(endpoints.registry_token.as_str());
        let scope = scope.map(|scope| match scope {
            Scope::Global => TypeScope::Global,
            Scope::Tenant => TypeScope::Tenant,
        });
        let mut body = json!({
            "cardUrl": card_url, "tags": tags, "tenant": home, "scope": scope,
        });
        // Left out where it is not wanted: a registry of an older release refuses what it does not know.
        if let Some(fields) = body.as_object_mut().filter(|_| self.private) {
            fields.insert("private".to_owned(), true.into());
        }
        if let Some(fields) = body.as_object_mut().filter(|_| !self.link_hosts.is_empty()) {
            fields.insert("linkHosts".to_owned(), json!(self.link_hosts));
        }
        if let Some(fields) = body.as_object_mut().filter(|_| rehearse) {
            fields.insert("rehearse".to_owned(), true.into());
        }
        let url = below(&endpoints.registry, "/agents");
        let registered = client.json(Call {
            token,
            ..Call::with_body(Method::POST, url, &body)
        });
        let agent = registered
            .await
            .map_err(|fault| Failure::other(format!("{fault}{}", mend(&fault))))?;
        Ok((endpoints, tenant, agent))
    }
}

/// The flag that mends what the registry has against a card.
fn mend(fault: &ClientError) -> &'static str {
    let said = fault.to_string();
    if said.contains("is not declared") {
        "; its type is new here: declare it by --scope global, or by --scope tenant --tenant NAME where each tenant has its own"
    } else if said.contains("no `type:` tag") {
        "; say what it is found by: --type NAME"
    } else if said.contains("there is a type") {
        "; --type says so"
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
