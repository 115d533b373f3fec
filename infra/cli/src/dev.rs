//! `switchyard agent dev`: an agent is registered while this runs, and what it and the hosts of this machine's system say to each other
//! is shown, without what is secret. A small proxy on loopback stands between them, because the system's log and traces hold no words;
//! the card that it hands on names the proxy, and so carries no signature.
//!
//! Not here: systems elsewhere, which cannot call this machine.

mod proxy;
mod redact;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use domain::AgentType;
use http::Method;
use local::address::below;
use local::data::endpoints::Endpoints;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use url::{Host, Url};

use super::Failure;
use super::agents::{self, printable, text, url_of};
use super::register::Register;
use super::registered;
use crate::client::{self, Call, Client};
use proxy::{BASE, Proxy};

/// How often the agent's card is looked at.
const LOOK: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(after_help = "Example:\n  switchyard agent dev http://127.0.0.1:9100")]
pub(super) struct Dev {
    #[command(flatten)]
    registration: Register,
}

/// A registration that ends with this command.
struct Joined {
    client: Client,
    endpoints: Endpoints,
    agent: Value,
    /// The agent's own registration, which rests meanwhile.
    own: Option<Value>,
}

impl Dev {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let endpoints = self.registration.endpoints()?;
        if !is_loopback(&endpoints.gateway) {
            return Err(Failure::other(
                "a system elsewhere cannot call this machine: `switchyard agent register` takes an address that it can call",
            ));
        }
        let card_url = agents::card_url(self.registration.card_url());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(Failure::other)?;
        let address = listener.local_addr().map_err(Failure::other)?;
        let base: Url = format!("http://{address}{BASE}")
            .parse()
            .map_err(Failure::other)?;
        let http = client::http().map_err(Failure::other)?;
        let proxy = Arc::new(Proxy::new(
            http,
            (base.clone(), card_url.clone()),
            endpoints.gateway.clone(),
        ));
        let card = proxy.card().await.map_err(Failure::other)?;
        let serving = proxy::serve(listener, Arc::clone(&proxy));
        let registration = self.registration.at(agents::card_url(&base));
        let joined = Joined::of(registration, endpoints, (&card, &card_url)).await?;
        let name = printable(text(&card, "/name").unwrap_or("?"));
        proxy.say(&format!(
            "{name} is registered until Ctrl-C; what hosts and it say follows, without what is secret"
        ));
        if card.get("signatures").is_some() {
            proxy.say("its card's signature is left out meanwhile: the card names this command's address");
        }
        let mut terminated = signal(SignalKind::terminate()).map_err(Failure::other)?;
        tokio::select! {
            never = joined.watch(&proxy, card, is_loopback(&card_url)) => never,
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
        serving.abort();
        joined.leave().await?;
        proxy.say(&format!("{name} is not registered any more"));
        Ok(())
    }
}

impl Joined {
    /// Registers what the proxy shows, and has the agent's own registration rest; one that an ended command left is taken away.
    async fn of(
        mut register: Register,
        endpoints: Endpoints,
        (card, card_url): (&Value, &Url),
    ) -> Result<Self, Failure> {
        let client = Client::new().map_err(Failure::other)?;
        let (mut own, mut of_before) = (None, None);
        for agent in agents::all(&client, &endpoints).await? {
            let at = text(&agent, "/cardUrl").and_then(|at| Url::parse(at).ok());
            let is_own = agents::card_url_of(&agent).as_ref() == Some(card_url);
            let is_left = text(&agent, "/card/name") == text(card, "/name")
                && at.is_some_and(|at| is_loopback(&at) && at.path().starts_with(BASE));
            if is_own || is_left {
                of_before = agents::types_of(&agent)
                    .next()
                    .and_then(|name| AgentType::parse(name).ok());
            }
            if is_left {
                call(
                    &client,
                    &endpoints,
                    Method::DELETE,
                    url_of(&endpoints, &agent, ""),
                )
                .await?;
            }
            if is_own && agent.get("enabled").and_then(Value::as_bool) != Some(false) {
                own = Some(agent);
            }
        }
        register.join(of_before);
        let agent = register.register().await?;
        let joined = Self {
            client,
            endpoints,
            agent,
            own,
        };
        if let Some(own) = &joined.own {
            joined.post(own, "/disable").await?;
        }
        agents::warn(&joined.agent);
        Ok(joined)
    }

    /// Has hosts see the card as it is, and says what changes of it.
    async fn watch(&self, proxy: &Proxy, mut known: Value, is_local: bool) {
        let mut is_there = true;
        loop {
            tokio::time::sleep(LOOK).await;
            let card = proxy.card().await;
            if card.is_ok() != is_there {
                is_there = card.is_ok();
                proxy.say(if is_there {
                    "the agent answers again"
                } else {
                    "the agent does not answer"
                });
            }
            let Some(card) = card.ok().filter(|card| *card != known) else {
                continue;
            };
            match self.renewed(is_local).await {
                Ok(said) => proxy.say(&said),
                Err(failure) => proxy.say(&format!(
                    "its card has changed, which the registry does not take: {failure}"
                )),
            }
            known = card;
        }
    }

    /// Has the registry read the changed card; what became of that.
    async fn renewed(&self, is_local: bool) -> Result<String, Failure> {
        let checked = agents::check(&self.client, &self.endpoints, &self.agent).await?;
        let Some(pin) = text(&checked, "/pending/pin") else {
            return Ok("its card has changed, and serves".to_owned());
        };
        if !is_local {
            return Ok("its card has changed, and waits: `switchyard agent approve` shows what, with --yes it serves".to_owned());
        }
        let changes = registered::changes(&checked);
        registered::have_serve(&self.client, &self.endpoints, &checked, pin).await?;
        Ok(format!(
            "its card has changed, and serves:\n{}",
            changes.join("\n")
        ))
    }

    async fn leave(&self) -> Result<(), Failure> {
        let (client, endpoints) = (&self.client, &self.endpoints);
        call(
            client,
            endpoints,
            Method::DELETE,
            url_of(endpoints, &self.agent, ""),
        )
        .await?;
        if let Some(own) = &self.own {
            self.post(own, "/enable").await?;
        }
        let declared = self
            .agent
            .get("declared")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for name in declared.filter_map(Value::as_str) {
            call(
                client,
                endpoints,
                Method::DELETE,
                below(&endpoints.registry, &format!("/types/{name}")),
            )
            .await?;
        }
        Ok(())
    }

    async fn post(&self, agent: &Value, verb: &str) -> Result<(), Failure> {
        call(
            &self.client,
            &self.endpoints,
            Method::POST,
            url_of(&self.endpoints, agent, verb),
        )
        .await
    }
}

async fn call(client: &Client, endpoints: &Endpoints, method: Method, url: Url) -> Result<(), Failure> {
    let call = Call {
        method,
        token: Some(&endpoints.registry_token),
        ..Call::get(url)
    };
    client.json(call).await?;
    Ok(())
}

/// Whether an address is this machine's own.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_own_addresses_are_loopback() {
        for (url, expect) in [
            ("http://127.0.0.1:9100/", true),
            ("http://127.8.0.1/", true),
            ("http://[::1]:9100/", true),
            ("http://localhost:9100/", true),
            ("http://localhost.example/", false),
            ("http://127.0.0.1.example/", false),
            ("http://10.0.0.1/", false),
            ("http://0.0.0.0/", false),
            ("https://agent.example/", false),
        ] {
            assert_eq!(is_loopback(&url.parse().unwrap()), expect, "{url}");
        }
    }
}
