//! The bridge's settings.

use std::collections::BTreeSet;

use a2a::mqtt::{AgentAddress, PoolAddress, TopicPrefix};
use edge::config::{ConfigError, Env};
use mqtt::BrokerUrl;
use serde::Deserialize;
use url::Url;

/// What the bridge reads from its environment, once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `BRIDGE_URL`: its own URL, below which agents reach it.
    pub url: Url,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret of [`edge::Ground::sealer`].
    pub sealing_keys: String,
    /// `MQTT_BROKER`: the broker that its agents are on.
    pub broker: BrokerUrl,
    /// `MQTT_PREFIX`: what topics on it begin with.
    pub prefix: TopicPrefix,
    /// `MQTT_ORGS`: JSON list of the organisations that replies go to.
    pub orgs: BTreeSet<String>,
    /// `MQTT_AGENTS`: JSON list `[{"address": "ORG/UNIT/AGENT", "url", "pools": ["POOL"]}]`, the agents that it answers for, and
    /// the pools of their units that each is a member of.
    pub agents: Vec<AgentPlace>,
    /// `MQTT_PASSWORDS_SECRET`: the name of the secret with each agent's password at the broker, JSON `{"ORG/UNIT/AGENT":
    /// "…"}`; the address is the user name.
    pub passwords: Option<String>,
}

/// An agent that the bridge answers for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlace {
    /// Its address on the broker.
    pub address: AgentAddress,
    /// Its JSON-RPC interface over HTTP.
    pub url: Url,
    /// The pools that it takes a share of the requests of.
    pub pools: Vec<PoolAddress>,
}

impl<'de> Deserialize<'de> for AgentPlace {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Told {
            address: String,
            url: Url,
            #[serde(default)]
            pools: Vec<String>,
        }
        let Told { address, url, pools } = Told::deserialize(deserializer)?;
        let address: AgentAddress = address.parse().map_err(serde::de::Error::custom)?;
        let pools = pools
            .iter()
            .map(|pool| PoolAddress::new(address.org(), address.unit(), pool));
        let pools = pools
            .collect::<Result<_, _>>()
            .map_err(serde::de::Error::custom)?;
        Ok(Self { address, url, pools })
    }
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let url = env.required("BRIDGE_URL");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let broker = env.required("MQTT_BROKER");
        let prefix = env.or("MQTT_PREFIX", TopicPrefix::standard());
        let orgs = env.required_json("MQTT_ORGS");
        let agents = env.required_json("MQTT_AGENTS");
        let passwords = env.optional("MQTT_PASSWORDS_SECRET");
        Ok(Self {
            url: url?,
            sealing_keys: sealing_keys?,
            broker: broker?,
            prefix: prefix?,
            orgs: orgs?,
            agents: agents?,
            passwords: passwords?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let read = edge::config::read(Env::of::<&str, &str>([]), Config::read);
        let fault = read.err().unwrap().to_string();
        for name in [
            "BRIDGE_URL",
            "SEALING_KEYS_SECRET",
            "MQTT_BROKER",
            "MQTT_ORGS",
            "MQTT_AGENTS",
        ] {
            assert!(fault.contains(name), "{fault}");
        }
    }

    #[test]
    fn a_broker_elsewhere_needs_tls_and_an_agent_three_names() {
        let read = |broker: &str, address: &str| {
            let agents =
                format!(r#"[{{"address": "{address}", "url": "https://gateway.example/a/weather"}}]"#);
            let env = Env::of([
                ("BRIDGE_URL", "https://gateway.example/mqtt"),
                ("SEALING_KEYS_SECRET", "sealing"),
                ("MQTT_BROKER", broker),
                ("MQTT_ORGS", r#"["acme"]"#),
                ("MQTT_AGENTS", &agents),
            ]);
            edge::config::read(env, Config::read).map(|(_, config)| config.agents)
        };
        let good = read("mqtts://broker.example", "acme/platform/weather").unwrap();
        assert_eq!(good[0].address.to_string(), "acme/platform/weather");
        assert!(read("mqtt://broker.example", "acme/platform/weather").is_err());
        assert!(read("mqtts://broker.example", "acme/weather").is_err());
    }
}
