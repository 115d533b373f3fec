//! The function's settings.

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

/// What tools and arguments are called: as the open-source server for Airbnb has them, where nothing else is said.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// The tool that searches.
    pub search: String,
    /// The tool that tells more of one listing.
    pub details: String,
    /// Where.
    pub place: String,
    /// The first day.
    pub from: String,
    /// The day of departure.
    pub to: String,
    /// How many adults.
    pub guests: String,
    /// How many children.
    pub children: String,
    /// How many babies.
    pub infants: String,
    /// How many pets.
    pub pets: String,
    /// The least price of the whole stay.
    pub least: String,
    /// The highest price of the whole stay.
    pub most: String,
    /// The listing.
    pub id: String,
}

impl Default for Tools {
    fn default() -> Self {
        let [
            search,
            details,
            place,
            from,
            to,
            guests,
            children,
            infants,
            pets,
            least,
            most,
            id,
        ] = [
            "airbnb_search",
            "airbnb_listing_details",
            "location",
            "checkin",
            "checkout",
            "adults",
            "children",
            "infants",
            "pets",
            "minPrice",
            "maxPrice",
            "id",
        ]
        .map(str::to_owned);
        Self {
            search,
            details,
            place,
            from,
            to,
            guests,
            children,
            infants,
            pets,
            least,
            most,
            id,
        }
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
            (tools.search.as_str(), tools.details.as_str()),
            ("find_homes", "airbnb_listing_details")
        );
        assert!(serde_json::from_str::<Tools>(r#"{"serch": "x"}"#).is_err());
    }
}
