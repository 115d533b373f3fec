//! Carries A2A between MQTT brokers and agents, and stores nothing: what would have to be remembered of a request lies sealed in
//! the push configuration that its agent keeps, and the agent's own outbox of notifications is the reply.
//!
//! A request that comes in becomes a call of the agent over HTTP; it is acknowledged to the broker when the agent has stored or
//! refused it. The agent's notifications come to `POST /reply`, are published, and are answered 2xx once the broker has
//! acknowledged them. Whatever dies half-way is repeated by the broker or by the agent.
//!
//! A host's call of an agent on the broker comes to `POST /call`, is published, and is answered with the first reply. What comes
//! later goes to the webhook that the host has named, which lies sealed in the request's correlation.
//!
//! On AWS IoT Core it needs no process: a rule hands over each request, and replies are published by HTTP.

mod asking;
mod bridge;
mod call;
mod caller;
mod cards;
mod config;
mod correlation;
mod discovered;
mod discovery;
mod drops;
mod handle;
mod import_rule;
mod iot;
mod lines;
mod operator;
mod presence;
mod replies;
mod reply;
mod settled;
mod ticket;
mod under_way;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use a2a::mqtt::AgentAddress;
use axum::Router;
use domain::{Clock, Entropy, ExposeSecret as _, SecretString};
use edge::iot::IotData;
use edge::{Background, BuildError, Error, Front, Function, Ground};
use routes::{Route, Routes};
use tokio::sync::watch;
use tokio::task::JoinSet;

use discovery::Discovery;
use operator::Operator;

pub use bridge::{ATTEMPT, Bridge, BridgeParts, PATIENCE};
pub use config::{AgentPlace, Config};
pub use discovered::{Discovered, Found, FoundCard, normalised};
pub use handle::{Handled, handle};
pub use import_rule::{ImportRule, InvalidRule};
pub use presence::{Connection, keep};

/// The function's name.
pub const NAME: &str = "mqtt_bridge";

/// Most bytes of a notification: a task's whole result may be in it.
pub const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// Builds the function: its router, and the connections of its agents for whoever keeps processes.
///
/// # Errors
/// Where a secret is missing or holds something else.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let passwords = match &config.passwords {
        Some(secret) => passwords(secret, &ground.secrets.value(secret).await?)?,
        None => BTreeMap::new(),
    };
    let operator = match &config.imports {
        Some(imports) => Some(Operator {
            registry: imports.registry.clone(),
            issuer: config.platform_issuer()?,
            key: ground.signing_key(&imports.platform_key).await?,
            outbound: ground.outbound.clone(),
            clock: Arc::clone(&ground.clock),
            entropy: Arc::clone(&ground.entropy),
        }),
        None => None,
    };
    let verifier = ground.verifier(&config.url, config.issuers)?;
    let bridge = Arc::new(Bridge::new(BridgeParts {
        url: config.url,
        broker: config.broker.clone(),
        prefix: config.prefix,
        orgs: config.orgs,
        agents: config.agents,
        sealer: ground.sealer(&config.sealing_keys).await?,
        verifier,
        replies_for: config.replies_for,
        outbound: ground.outbound,
        clock: ground.clock,
        entropy: ground.entropy,
        patience: if config.iot.is_some() {
            iot::PATIENCE
        } else {
            PATIENCE
        },
        attempt: ATTEMPT,
        stays: config.iot.is_none(),
    })?);
    if let Some(endpoint) = config.iot {
        return Ok(on_iot_core(bridge, IotData::new(endpoint, config.region)));
    }
    let connections = Connections {
        bridge: Arc::clone(&bridge),
        broker: config.broker,
        passwords,
        imports: operator.zip(config.imports.map(|imports| imports.rules)),
    };
    Ok(Function::new(router(bridge)).with_background(connections))
}

/// Without connections of its own: rules hand requests over, and everything is published by the data API.
fn on_iot_core(bridge: Arc<Bridge>, iot: IotData) -> Function {
    let publisher = Arc::new(iot::IotPublisher(Arc::new(iot)));
    for place in &bridge.agents {
        bridge.publishes(&place.address, publisher.clone());
    }
    Function::new(router(Arc::clone(&bridge)))
        .with_iot(iot::Requests(Arc::clone(&bridge)))
        .with_schedule(iot::Cards(bridge))
}

fn passwords(secret: &str, told: &SecretString) -> Result<BTreeMap<String, SecretString>, BuildError> {
    let read: Result<BTreeMap<String, String>, _> = serde_json::from_str(told.expose_secret());
    let read = read.map_err(|_| BuildError::Form {
        secret: secret.to_owned(),
        reason: "it is not the JSON it should be".to_owned(),
    })?;
    Ok(read
        .into_iter()
        .map(|(agent, password)| (agent, password.into()))
        .collect())
}

/// The agents' connections.
struct Connections {
    bridge: Arc<Bridge>,
    broker: mqtt::BrokerUrl,
    passwords: BTreeMap<String, SecretString>,
    /// Which agents of the broker are registered, and how.
    imports: Option<(Operator, Vec<ImportRule>)>,
}

#[async_trait::async_trait]
impl Background for Connections {
    async fn run(&self, stop: watch::Receiver<bool>) {
        // Whoever drops this drops the connections too.
        let mut kept = JoinSet::new();
        for place in &self.bridge.agents {
            let connection = Connection {
                broker: self.broker.clone(),
                password: self.passwords.get(&place.address.to_string()).cloned(),
            };
            let bridge = Arc::clone(&self.bridge);
            kept.spawn(keep(bridge, place.clone(), connection, stop.clone()));
        }
        if let Some((operator, rules)) = &self.imports
            && let Some(identity) = self.discoverer()
        {
            let connection = Connection {
                broker: self.broker.clone(),
                password: self.passwords.get(&identity.to_string()).cloned(),
            };
            let discovery = Discovery {
                bridge: Arc::clone(&self.bridge),
                rules: rules.clone(),
                operator: operator.clone(),
                identity,
            };
            kept.spawn(discovery.run(connection, stop.clone()));
        }
        while let Some(agent) = kept.join_next().await {
            if let Err(error) = agent {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "an agent's connection broke down"
                );
            }
        }
    }
}

impl Connections {
    /// What looks for agents connects as a client of its own, of the organisation that the bridge's agents are of.
    fn discoverer(&self) -> Option<AgentAddress> {
        let org = self.bridge.agents.first()?.address.org();
        AgentAddress::new(org, "platform", "discovery").ok()
    }
}

/// The whole function, paths relative to its URL.
pub fn router(bridge: Arc<Bridge>) -> Router {
    let (clock, entropy): (&Arc<dyn Clock>, &Arc<dyn Entropy>) = (&bridge.clock, &bridge.entropy);
    let front = Front::new(NAME, clock, entropy).taking(BODY_LIMIT);
    edge::front(served().with_state(bridge), front)
}

/// What the function serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<Bridge>> {
    Routes::new()
        .post(
            "/reply",
            "takes an agent's news of a request, and publishes its reply",
            reply::reply,
        )
        .post(
            "/call",
            "calls an agent on the broker for a tenant's host, and answers with its first reply",
            call::call,
        )
        .get(
            "/cards/{org}/{unit}/{agent}",
            "shows the registry the card of an agent on the broker",
            cards::card,
        )
}

#[cfg(test)]
mod tests;
