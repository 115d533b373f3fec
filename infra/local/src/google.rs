//! Google as the calendar agent asks it: the sandbox's, the real one, or whoever speaks as it does.

use std::sync::Arc;

use calendar_agent::PROVIDER;
use domain::{Clock, Entropy, ExposeSecret as _, SecretString};
use sandbox::google::{CLIENT, Google as Sandbox};
use serde_json::json;
use url::Url;

use crate::address::below;

/// Where the sandbox's is, below the gateway.
const SANDBOX: &str = "/sandbox/google";
/// Where users go to agree, and come back to.
pub(crate) const CONSENT: &str = "/consent";
/// Google's own issuer.
const LIVE: &str = "https://accounts.google.com";

/// How we are known at a Google outside of the system.
#[derive(Debug, Clone)]
pub struct GoogleClient {
    /// The address of one that is not the real one: its issuer, with the calendar's API at `calendar/v3` below it.
    pub at: Option<Url>,
    /// Its `client_id`.
    pub id: String,
    /// Its secret.
    pub secret: SecretString,
}

/// The Google that is asked.
pub(crate) enum Google {
    /// The sandbox's, which is one for as long as the system runs.
    Sandbox(Box<Sandbox>),
    /// One outside of the system.
    Live(Box<GoogleClient>),
}

impl Google {
    /// The one outside for this client; without one the sandbox's, below this gateway.
    pub(crate) fn of(
        live: Option<Box<GoogleClient>>,
        gateway: &Url,
        (clock, entropy): (&Arc<dyn Clock>, &Arc<dyn Entropy>),
    ) -> Self {
        match live {
            Some(client) => Self::Live(client),
            None => {
                let back = below(gateway, &format!("{CONSENT}/callback"));
                let parts = (Arc::clone(clock), Arc::clone(entropy));
                Self::Sandbox(Box::new(Sandbox::new(below(gateway, SANDBOX), back, parts)))
            }
        }
    }

    /// The sandbox, and where it is to be mounted.
    pub(crate) fn sandbox(&self) -> Option<(&'static str, &Sandbox)> {
        match self {
            Self::Sandbox(google) => Some((SANDBOX, google)),
            Self::Live(_) => None,
        }
    }

    /// The calendar's API, where it is not Google's own.
    pub(crate) fn calendar(&self, gateway: &Url) -> String {
        match self {
            Self::Sandbox(_) => below(gateway, &format!("{SANDBOX}/calendar/v3")).to_string(),
            Self::Live(client) => client
                .at
                .as_ref()
                .map_or_else(String::new, |at| below(at, "/calendar/v3").to_string()),
        }
    }

    /// The secret with what makes us known there.
    pub(crate) fn providers(&self, gateway: &Url) -> SecretString {
        let (issuer, id, secret) = match self {
            Self::Sandbox(_) => (
                below(gateway, SANDBOX).to_string(),
                CLIENT.0.to_owned(),
                CLIENT.1.to_owned(),
            ),
            Self::Live(client) => (
                client
                    .at
                    .as_ref()
                    .map_or(LIVE, Url::as_str)
                    .trim_end_matches('/')
                    .to_owned(),
                client.id.clone(),
                client.secret.expose_secret().to_owned(),
            ),
        };
        let provider =
            json!({"issuer": issuer, "dialect": "google", "client_id": id, "client_secret": secret});
        json!({ PROVIDER: provider }).to_string().into()
    }
}
