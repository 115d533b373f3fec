//! The function's settings.

use std::collections::BTreeMap;

use edge::agent_parts::AgentConfig;
use edge::config::{ConfigError, Env};
use outbound::mcp::Pins;
use serde::Deserialize;
use url::Url;
use words::Currency;

/// The function's settings, read once.
#[derive(Clone)]
pub struct Config {
    /// Where places to stay come from.
    pub server: Server,
    /// What every agent has.
    pub agent: AgentConfig,
}

/// The MCP server that is asked.
#[derive(Debug, Clone)]
pub struct Server {
    /// `MCP_URL`: its address.
    pub url: Url,
    /// `MCP_TOOLS`: its tools that may be called, as they were read: JSON `{"name": "SHA-256"}`, which `switchyard mcp pin`
    /// writes.
    pub pins: Pins,
    /// `MCP_NAMES`: what tools and arguments are called there.
    pub tools: Tools,
    /// `MCP_LINK_HOSTS`: hosts of links that are shown; others are left out. JSON list.
    pub link_hosts: Vec<String>,
    /// `MCP_CURRENCY`: the currency of its prices, by its ISO 4217 code. Where there is none, a highest price in a currency that its
    /// user names is not searched for.
    pub currency: Option<Currency>,
}

/// What tools and arguments are called, each by our name: as the open-source server for Airbnb has them, where nothing else is said.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct Tools(BTreeMap<String, String>);

/// Our names and theirs: the tools that search and tell more of one listing, and their arguments. Prices are those of the whole stay.
const NAMES: [(&str, &str); 12] = [
    ("search", "airbnb_search"),
    ("details", "airbnb_listing_details"),
    ("place", "location"),
    ("from", "checkin"),
    ("to", "checkout"),
    ("guests", "adults"),
    ("children", "children"),
    ("infants", "infants"),
    ("pets", "pets"),
    ("least", "minPrice"),
    ("most", "maxPrice"),
    ("id", "id"),
];

impl Default for Tools {
    fn default() -> Self {
        Self(
            NAMES
                .map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()))
                .into(),
        )
    }
}

impl TryFrom<BTreeMap<String, String>> for Tools {
    type Error = String;

    fn try_from(told: BTreeMap<String, String>) -> Result<Self, String> {
        let mut tools = Self::default();
        for (ours, theirs) in told {
            let name = tools
                .0
                .get_mut(&ours)
                .ok_or_else(|| format!("nothing is called {ours}"))?;
            *name = theirs;
        }
        Ok(tools)
    }
}

impl Tools {
    /// What is called so here, as the server calls it.
    #[must_use]
    pub fn name(&self, ours: &str) -> &str {
        self.0.get(ours).map_or("", String::as_str)
    }
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let agent = AgentConfig::read(env);
        let url = env.required("MCP_URL");
        let pins = env.required_json("MCP_TOOLS");
        let tools = env.optional_json("MCP_NAMES");
        let link_hosts = env.optional_json("MCP_LINK_HOSTS");
        let currency = env.optional("MCP_CURRENCY");
        let server = Server {
            url: url?,
            pins: pins?,
            tools: tools?.unwrap_or_default(),
            link_hosts: link_hosts?.unwrap_or_else(|| vec!["www.airbnb.com".to_owned()]),
            currency: currency?,
        };
        Ok(Self {
            server,
            agent: agent?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let fault = edge::config::read(Env::of::<&str, &str>([]), Config::read)
            .err()
            .unwrap()
            .to_string();
        for name in ["AGENT_URL", "MCP_URL", "MCP_TOOLS"] {
            assert!(fault.contains(name), "{fault}");
        }
    }

    #[test]
    fn some_names_may_be_others() {
        let tools: Tools = serde_json::from_str(r#"{"search": "find_homes", "guests": "persons"}"#).unwrap();
        assert_eq!(
            (tools.name("search"), tools.name("details")),
            ("find_homes", "airbnb_listing_details")
        );
        assert!(serde_json::from_str::<Tools>(r#"{"serch": "x"}"#).is_err());
    }
}
