//! `switchyard mqtt`: the agents on a broker, from the terminal.

mod acl;
mod agents;
mod check;
mod connect;
mod import;
mod send;

use clap::Subcommand;

use super::Failure;

/// List, ask and register agents on an MQTT broker
#[derive(Subcommand)]
pub(super) enum MqttCommand {
    /// List the agents on the broker, by their cards
    Agents(agents::Agents),
    /// Send a message to an agent, and show what is published
    Send(send::Send),
    /// Register agents of the broker by rules, or list the rules
    Import(import::Import),
    /// Print the access control list that keeps tenants apart on a broker
    Acl(acl::Acl),
    /// Test which parts of the profile work on a broker
    Check(check::Check),
}

impl MqttCommand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Agents(agents) => agents.run().await,
            Self::Send(send) => Box::pin(send.run()).await,
            Self::Import(import) => import.run().await,
            Self::Acl(acl) => acl.run(),
            Self::Check(check) => check.run().await,
        }
    }
}
