//! `switchyard mqtt`: a broker that is to carry agents, from the terminal. Whoever wants to see cards or send a message there uses any
//! client of MQTT 5.

mod acl;
mod check;
mod connect;
mod credentials;
mod import;

use clap::Subcommand;

use super::Failure;

/// Try an MQTT broker, keep tenants apart there, and register its agents
#[derive(Subcommand)]
pub(super) enum MqttCommand {
    /// Register agents of the broker by rules, or list the rules
    Import(import::Import),
    /// Print the access control list that keeps tenants apart on a broker
    Acl(acl::Acl),
    /// Let a client of a tenant in at the broker
    Credentials(credentials::Credentials),
    /// Test which parts of the profile work on a broker
    Check(check::Check),
}

impl MqttCommand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Import(import) => import.run().await,
            Self::Acl(acl) => acl.run(),
            Self::Credentials(credentials) => credentials.run().await,
            Self::Check(check) => check.run().await,
        }
    }
}
