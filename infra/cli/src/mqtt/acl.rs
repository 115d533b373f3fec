//! `switchyard mqtt acl`: who may read and write which topics, in a broker's own words.

use a2a::mqtt::{AgentAddress, TopicPrefix};
use clap::{Args, ValueEnum};
use domain::{AgentName, ExposeSecret as _};
use serde_json::json;

use crate::Failure;
use crate::place::RunningSystem;
use local::data::secrets::Secrets;
use local::mqtt::access::{self, Rules};

/// Whose words.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum For {
    /// Mosquitto's `acl_file`
    Mosquitto,
}

#[derive(Args)]
#[command(
    after_help = "Mosquitto:  allow_anonymous false\n            use_username_as_clientid true\n            acl_file FILE\n            \
                  password_file FILE   (--passwords, then `mosquitto_passwd -U FILE`)\n\n\
                  Print both again, and let the broker read them (SIGHUP), whenever a tenant has come or gone."
)]
pub(crate) struct Acl {
    #[command(flatten)]
    place: RunningSystem,
    /// The broker that reads it
    #[arg(long = "for", value_enum, default_value = "mosquitto")]
    broker: For,
    /// The prefix of all topics, if the system does not run
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<TopicPrefix>,
    /// Print users and passwords instead, one a line
    #[arg(long)]
    passwords: bool,
}

impl Acl {
    pub(super) fn run(self) -> Result<(), Failure> {
        let endpoints = self.place.endpoints()?;
        let known = endpoints.mqtt.as_ref();
        let names = || endpoints.agents.keys().map(AgentName::as_str);
        let (orgs, guests): (Vec<String>, Vec<AgentAddress>) = match known {
            Some(known) => (
                known.orgs.clone(),
                known
                    .users
                    .keys()
                    .filter_map(|name| name.parse().ok())
                    .filter(|guest: &AgentAddress| access::is_outside(guest, names()))
                    .collect(),
            ),
            None => Default::default(),
        };
        let prefix = match (&self.prefix, known) {
            (Some(prefix), _) => prefix.clone(),
            (None, Some(known)) => known.prefix.parse().map_err(Failure::other)?,
            (None, None) => TopicPrefix::standard(),
        };
        let rules = Rules {
            prefix: &prefix,
            orgs: &orgs,
            guests: &guests,
        };
        let secrets = Secrets::load(&self.place.secrets_file())?;
        let passwords = secrets.as_ref().map(access::passwords).unwrap_or_default();
        let clients = rules.clients(&endpoints, &passwords).map_err(Failure::other)?;
        if self.passwords {
            if passwords.is_empty() {
                return Err(Failure::other(
                    "there are no passwords yet: they are made when the system starts with --mqtt spawn or --mqtt-sign-in",
                ));
            }
            for client in &clients {
                if let Some(password) = passwords.get(&client.address.to_string()) {
                    let (user, password) = (client.address.to_string(), password.expose_secret());
                    told!(json!({"user": user, "password": password}), "{user}:{password}");
                }
            }
            return Ok(());
        }
        let rules = match self.broker {
            For::Mosquitto => access::mosquitto(&clients),
        };
        match crate::out::is_json() {
            true => crate::out::event(&json!({ "acl": rules })),
            false => out!("{rules}"),
        }
        Ok(())
    }
}
