//! `switchyard agent remove`, `disable`, `enable`, `approve` and `check`: an agent that is registered, by its id or its name.

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::Failure;
use super::agents::{self, health, printable, text, url_of};
use super::place::RunningSystem;
use crate::client::{Call, Client};
use local::data::endpoints::Endpoints;

/// Which agent, and where.
#[derive(Args)]
pub(super) struct Registered {
    #[command(flatten)]
    place: RunningSystem,
    /// The agent's id, or its name if no other agent has that name; `switchyard agents` lists both
    agent: String,
}

impl Registered {
    pub(super) async fn remove(self) -> Result<(), Failure> {
        let (endpoints, client, agent) = self.find().await?;
        let call = Call {
            method: Method::DELETE,
            token: Some(&endpoints.registry_token),
            ..Call::get(url_of(&endpoints, &agent, ""))
        };
        client.json(call).await?;
        told!(agent, "removed {}", named(&agent));
        Ok(())
    }

    pub(super) async fn check(self) -> Result<(), Failure> {
        let (endpoints, client, agent) = self.find().await?;
        let checked = agents::check(&client, &endpoints, &agent).await?;
        told!(checked, "{} is {}", named(&checked), printable(&health(&checked)));
        if !crate::out::is_json() {
            agents::warn(&checked);
        }
        Ok(())
    }

    pub(super) async fn disable(self) -> Result<(), Failure> {
        let agent = self.switch("/disable").await?;
        told!(
            agent,
            "disabled {}: hosts give it no new work; what it works on goes on",
            named(&agent)
        );
        Ok(())
    }

    pub(super) async fn enable(self) -> Result<(), Failure> {
        let agent = self.switch("/enable").await?;
        told!(
            agent,
            "enabled {}, which is {}",
            named(&agent),
            printable(&health(&agent))
        );
        Ok(())
    }

    /// Shows what of a card has changed, and has it serve where that is said with it.
    pub(super) async fn approve(self, yes: bool) -> Result<(), Failure> {
        let (endpoints, client, agent) = self.find().await?;
        let Some(pin) = text(&agent, "/pending/pin") else {
            told!(
                agent,
                "{}: its card is the one that was registered",
                named(&agent)
            );
            return Ok(());
        };
        if !crate::out::is_json() {
            changes(&agent).iter().for_each(|change| outln!("{change}"));
        }
        if !yes {
            if crate::out::is_json() {
                crate::out::event(&agent);
            }
            return Err(Failure::other(
                "nothing is changed: the same with --yes has this card serve",
            ));
        }
        have_serve(&client, &endpoints, &agent, pin).await?;
        told!(agent, "approved {}", named(&agent));
        Ok(())
    }

    async fn switch(&self, verb: &str) -> Result<Value, Failure> {
        let (endpoints, client, agent) = self.find().await?;
        let call = Call {
            method: Method::POST,
            token: Some(&endpoints.registry_token),
            ..Call::get(url_of(&endpoints, &agent, verb))
        };
        Ok(client.json(call).await?)
    }

    async fn find(&self) -> Result<(Endpoints, Client, Value), Failure> {
        let endpoints = self.place.endpoints()?;
        let client = Client::new().map_err(Failure::other)?;
        let all = agents::all(&client, &endpoints).await?;
        let is = |agent: &&Value| {
            let name = printable(text(agent, "/card/name").unwrap_or_default());
            text(agent, "/id") == Some(&self.agent) || name.eq_ignore_ascii_case(&self.agent)
        };
        let mut found = all.iter().filter(is);
        match (found.next(), found.next()) {
            (Some(agent), None) => Ok((endpoints, client, agent.clone())),
            (None, _) => Err(Failure::other(format!(
                "no agent is called {}",
                printable(&self.agent)
            ))),
            (Some(_), Some(_)) => Err(Failure::other(format!(
                "several agents are called {}; say its id, which `switchyard agents` lists",
                printable(&self.agent)
            ))),
        }
    }
}

/// What of a card waits for a word, in three lines each.
pub(super) fn changes(agent: &Value) -> Vec<String> {
    let changes = agent.pointer("/pending/changes").and_then(Value::as_array);
    let change = |change: &Value| {
        let at = |name: &str| text(change, name).map_or_else(|| "nothing".to_owned(), printable);
        format!("{}\n  - {}\n  + {}", at("/at"), at("/before"), at("/after"))
    };
    changes.into_iter().flatten().map(change).collect()
}

/// Has the card serve that was looked at.
pub(super) async fn have_serve(
    client: &Client,
    endpoints: &Endpoints,
    agent: &Value,
    pin: &str,
) -> Result<(), Failure> {
    let url = url_of(endpoints, agent, "/approve");
    let call = Call {
        token: Some(&endpoints.registry_token),
        ..Call::with_body(Method::POST, url, &json!({ "pin": pin }))
    };
    client.json(call).await?;
    Ok(())
}

fn named(agent: &Value) -> String {
    let name = printable(text(agent, "/card/name").unwrap_or("?"));
    format!("{name} ({})", text(agent, "/id").unwrap_or_default())
}
