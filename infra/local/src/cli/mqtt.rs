//! `switchyard mqtt`: the agents on a broker, from the terminal.

mod acl;
mod agents;
mod check;
mod connect;
mod import;
mod send;

use clap::Subcommand;

use super::Failure;

/// Look at the agents on an MQTT broker, ask them, and try what a broker can
#[derive(Subcommand)]
pub(super) enum MqttCommand {
    /// List the agents on the broker, by their cards
    Agents(agents::Agents),
    /// Send a message to an agent, and show what goes over the broker
    Send(send::Send),
    /// Have the registry know agents of the broker, or list the rules by which it does
    Import(import::Import),
    /// Print the access control list by which a broker keeps tenants apart
    Acl(acl::Acl),
    /// Try what a broker can, and tell which parts of the profile work there
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
