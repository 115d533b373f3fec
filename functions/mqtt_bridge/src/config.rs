//! The bridge's settings.

use std::collections::BTreeSet;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, PoolAddress, TopicPrefix};
use auth::{Issuer, TenantRule};
use edge::config::{ConfigError, Env, YEAR};
use mqtt::BrokerUrl;
use serde::Deserialize;
use url::Url;

use crate::import_rule::ImportRule;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

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
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say: whose hosts may call.
    pub issuers: Vec<Issuer>,
    /// `A2A_WEBHOOK_TOKEN_TTL` (seconds, default a week): for how long replies to a host's call are taken.
    pub replies_for: Duration,
    /// `MQTT_AGENTS`: JSON list `[{"address": "ORG/UNIT/AGENT", "url", "pools": ["POOL"], "webhook"}]`, the agents that it answers for,
    /// and the pools of their units that each is a member of. Those with a `webhook` are tenants' hosts, which may call agents on the
    /// broker, and get their replies there.
    pub agents: Vec<AgentPlace>,
    /// `MQTT_IMPORTS`: JSON list `["ORG/UNIT[/AGENT]:TYPE[@TENANT]"]`, which agents of the broker the registry is to know. With it
    /// `REGISTRY_URL`, and `PLATFORM_KEY_SECRET`: the name or ARN of the secret with the platform's signing key (PKCS#8 PEM).
    pub imports: Option<Imports>,
    /// `AWS_ENDPOINT_URL_IOT_DATA_PLANE`: the broker is AWS IoT Core, whose rules hand over the requests; replies and cards are
    /// published there. No connection is kept then.
    pub iot: Option<Url>,
    /// `AWS_REGION`: what requests to it are signed for.
    pub region: Option<String>,
    /// `MQTT_PASSWORDS_SECRET`: the name of the secret with each agent's password at the broker, JSON `{"ORG/UNIT/AGENT":
    /// "…"}`; the address is the user name.
    pub passwords: Option<String>,
}

/// What the registry is to know of the broker.
#[derive(Debug, Clone)]
pub struct Imports {
    /// Which agents.
    pub rules: Vec<ImportRule>,
    /// The registry.
    pub registry: Url,
    /// The secret with the platform's signing key.
    pub platform_key: String,
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
    /// Of a tenant's host alone: where agents send it their news. It may call agents on the broker.
    pub webhook: Option<Url>,
}

impl<'de> Deserialize<'de> for AgentPlace {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Told {
            address: String,
            url: Url,
            #[serde(default)]
            pools: Vec<String>,
            #[serde(default)]
            webhook: Option<Url>,
        }
        let Told {
            address,
            url,
            pools,
            webhook,
        } = Told::deserialize(deserializer)?;
        let address: AgentAddress = address.parse().map_err(serde::de::Error::custom)?;
        let pools = pools
            .iter()
            .map(|pool| PoolAddress::new(address.org(), address.unit(), pool));
        let pools = pools
            .collect::<Result<_, _>>()
            .map_err(serde::de::Error::custom)?;
        Ok(Self {
            address,
            url,
            pools,
            webhook,
        })
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
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let replies_for = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", WEEK, 60..=YEAR);
        let imports = imports(env);
        let iot = env.optional("AWS_ENDPOINT_URL_IOT_DATA_PLANE");
        let region = env.optional("AWS_REGION");
        let passwords = env.optional("MQTT_PASSWORDS_SECRET");
        Ok(Self {
            url: url?,
            sealing_keys: sealing_keys?,
            broker: broker?,
            prefix: prefix?,
            orgs: orgs?,
            agents: agents?,
            issuers: issuers?,
            replies_for: replies_for?,
            imports: imports?,
            iot: iot?,
            region: region?,
            passwords: passwords?,
        })
    }

    /// The issuer of the platform's own tokens.
    pub(crate) fn platform_issuer(&self) -> Result<String, NoPlatform> {
        let platform = self
            .issuers
            .iter()
            .find(|issuer| issuer.tenants == TenantRule::Platform);
        Ok(platform.ok_or(NoPlatform)?.issuer.clone())
    }
}

/// Nobody signs for the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("TRUSTED_ISSUERS names no issuer of the platform, which registers agents")]
pub(crate) struct NoPlatform;

fn imports(env: &mut Env) -> Result<Option<Imports>, ConfigError> {
    let rules: Option<Vec<ImportRule>> = env.optional_json("MQTT_IMPORTS")?;
    let Some(rules) = rules.filter(|rules| !rules.is_empty()) else {
        return Ok(None);
    };
    let (registry, platform_key) = (env.required("REGISTRY_URL"), env.required("PLATFORM_KEY_SECRET"));
    Ok(Some(Imports {
        rules,
        registry: registry?,
        platform_key: platform_key?,
    }))
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
            "TRUSTED_ISSUERS",
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
                ("TRUSTED_ISSUERS", "[]"),
            ]);
            edge::config::read(env, Config::read).map(|(_, config)| config.agents)
        };
        let good = read("mqtts://broker.example", "acme/platform/weather").unwrap();
        assert_eq!(good[0].address.to_string(), "acme/platform/weather");
        assert!(read("mqtt://broker.example", "acme/platform/weather").is_err());
        assert!(read("mqtts://broker.example", "acme/weather").is_err());
    }
}
