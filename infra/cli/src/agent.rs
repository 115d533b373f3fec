//! `switchyard agent …`: changes to the registry.

use clap::{Args, Subcommand};
use domain::AgentType;
use http::Method;
use local::address::below;
use serde_json::json;

use super::Failure;
use super::agents::Agents;
use super::dev::Dev;
use super::new_agent::New;
use super::place::RunningSystem;
use super::register::Register;
use super::registered::Registered;
use super::rotating::Move;
use super::trying::{Lint, Try};
use crate::client::{Call, Client};

/// Register, list, check, disable and remove agents
#[derive(Subcommand)]
pub(super) enum Agent {
    /// Make the folder of a new agent, which runs, is tested, and joins the running system by itself
    New(New),
    /// Register any A2A agent by the URL of its card
    Register(Register),
    /// Look at an agent as hosts see it: what of its examples finds it, and who takes the others. It is not registered
    Lint(Lint),
    /// Say a prompt to an agent as a host does, and whom it would go to beside the agents of the running system
    Try(Try),
    /// Register an agent while this runs, and show what hosts and it say to each other
    Dev(Dev),
    /// List the registered agents, with the health of each
    List(Agents),
    /// Remove an agent from the registry
    Remove(Registered),
    /// Remove a type that no agent has: it makes room for another, and may be declared anew
    RemoveType(RemoveType),
    /// Disable an agent: hosts give it no new work, what it works on goes on
    Disable(Registered),
    /// Enable an agent again
    Enable(Registered),
    /// Fetch an agent's card again, and show its health
    Check(Registered),
    /// Show what of an agent's card has changed since it was registered, and let it serve
    Approve {
        #[command(flatten)]
        agent: Registered,
        /// Approve it
        #[arg(long)]
        yes: bool,
    },
    Move(Move),
}

impl Agent {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::New(new) => new.run(),
            Self::Register(register) => register.run().await,
            Self::Lint(lint) => Box::pin(lint.run()).await,
            Self::Try(tried) => Box::pin(tried.run()).await,
            Self::Dev(dev) => Box::pin(dev.run()).await,
            Self::List(agents) => agents.run().await,
            Self::Remove(registered) => registered.remove().await,
            Self::RemoveType(removed) => removed.run().await,
            Self::Disable(registered) => registered.disable().await,
            Self::Enable(registered) => registered.enable().await,
            Self::Check(registered) => registered.check().await,
            Self::Approve { agent, yes } => agent.approve(yes).await,
            Self::Move(moved) => moved.run(),
        }
    }
}

#[derive(Args)]
pub(super) struct RemoveType {
    #[command(flatten)]
    place: RunningSystem,
    /// The type's name, without `type:`
    name: AgentType,
}

impl RemoveType {
    async fn run(self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        let client = Client::new().map_err(Failure::other)?;
        let call = Call {
            method: Method::DELETE,
            token: Some(&endpoints.registry_token),
            ..Call::get(below(&endpoints.registry, &format!("/types/{}", self.name)))
        };
        client.json(call).await?;
        told!(json!({"removed": self.name}), "removed the type {}", self.name);
        Ok(())
    }
}
