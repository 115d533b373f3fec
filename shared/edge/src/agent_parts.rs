//! What a function that is an A2A agent reads and builds before it is anything in particular.

use std::sync::Arc;

use agent::{Access, Agent, Executor, PushSchedule, RetrySchedule, Settings, WakeDoor};
use auth::{Issuer, Sealer, TokenValidator};
use domain::{AgentName, Clock, Entropy, Tenant};
use outbound::Outbound;
use store::Store;
use url::Url;

use crate::config::{ConfigError, Env};
use crate::queue::Wakes;
use crate::{Error, FILES_BODY_LIMIT, Front, Function, Ground};

/// The settings of every agent's function.
#[derive(Clone)]
pub struct AgentConfig {
    /// `AGENT_URL`: the agent's own URL, in its card and the audience of tokens for it.
    pub url: Url,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say: whose tokens are good.
    pub issuers: Vec<Issuer>,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret of [`Ground::sealer`].
    pub sealing_keys: String,
    /// `AGENT_MQTT_URL`: its interface on an MQTT broker, where it is on one; its card names it behind those over HTTP.
    pub mqtt: Option<Url>,
    /// `A2A_PUSH_SCHEDULE`: when a delivery that failed is tried again; the ground's settings say it where this does not.
    pub push_schedule: Option<PushSchedule>,
    /// `A2A_RETRY_SCHEDULE`: when an execution that failed is tried again, likewise.
    pub retry_schedule: Option<RetrySchedule>,
    /// `PUBLIC_AGENTS` (default `false`): whether an agent that is open takes callers without a token.
    pub public: bool,
}

impl AgentConfig {
    /// Reads the settings; the function's own are read beside them.
    ///
    /// # Errors
    /// The first that is wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let url = env.required("AGENT_URL");
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let mqtt = env.optional("AGENT_MQTT_URL");
        let push_schedule = env.optional("A2A_PUSH_SCHEDULE");
        let retry_schedule = env.optional("A2A_RETRY_SCHEDULE");
        let public = env.or("PUBLIC_AGENTS", false);
        Ok(Self {
            url: url?,
            issuers: issuers?,
            sealing_keys: sealing_keys?,
            mqtt: mqtt?,
            push_schedule: push_schedule?,
            retry_schedule: retry_schedule?,
            public: public?,
        })
    }

    /// Builds what the agent works with.
    ///
    /// # Errors
    /// Where a key is missing or none.
    pub async fn parts(self, ground: Ground) -> Result<AgentParts, Error> {
        Ok(AgentParts {
            validator: Arc::new(ground.verifier(&self.url, self.issuers)?),
            sealer: ground.sealer(&self.sealing_keys).await?,
            settings: Settings {
                public: self.public,
                ..ground.settings.with(self.push_schedule, self.retry_schedule)
            },
            url: self.url,
            mqtt: self.mqtt,
            store: ground.store,
            wake: ground.wake,
            outbound: ground.outbound,
            clock: ground.clock,
            entropy: ground.entropy,
        })
    }
}

/// What an agent works with, whatever it does.
pub struct AgentParts {
    /// The agent's own URL, where its card says it is called.
    pub url: Url,
    /// Its interface on an MQTT broker.
    pub mqtt: Option<Url>,
    /// The database, through the one room that names it.
    pub store: Store,
    /// The queues.
    pub wake: Arc<dyn WakeDoor>,
    /// Whose tokens are good here; its audience is the agent's URL.
    pub validator: Arc<dyn TokenValidator>,
    /// Seals what clients entrust to it.
    pub sealer: Arc<Sealer>,
    /// The HTTP client for everybody else's addresses.
    pub outbound: Outbound,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG.
    pub entropy: Arc<dyn Entropy>,
    /// Times and bounds.
    pub settings: Settings,
}

impl AgentParts {
    /// The agent of that name and card that does this.
    #[must_use]
    pub fn agent(
        self,
        (name, mut card): (AgentName, a2a::card::Card),
        (access, own_tenant): (Access, Option<Tenant>),
        executor: Arc<dyn Executor>,
    ) -> Arc<Agent> {
        card.extensions.extend(a2a::carrier_extensions());
        card.mqtt = self.mqtt;
        Arc::new(Agent {
            name,
            card,
            own_tenant,
            access,
            store: self.store,
            wake: self.wake,
            executor,
            validator: self.validator,
            sealer: self.sealer,
            outbound: self.outbound,
            clock: self.clock,
            entropy: self.entropy,
            settings: self.settings,
        })
    }
}

/// An agent's whole function: HTTP, with paths relative to the agent's URL, and its queue. `function` names it in its log
/// lines.
#[must_use]
pub fn function(agent: Arc<Agent>, function: &'static str) -> Function {
    let front = Front::new(function, &agent.clock, &agent.entropy).taking(FILES_BODY_LIMIT);
    Function::new(crate::front(agent::router(agent.clone()), front)).with_queue(Wakes(agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let mut env = Env::of::<&str, &str>([]);
        assert!(AgentConfig::read(&mut env).is_err());
        let fault = env
            .finish()
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        for name in ["AGENT_URL", "TRUSTED_ISSUERS", "SEALING_KEYS_SECRET"] {
            assert!(fault.contains(name), "{fault}");
        }
    }

    #[test]
    fn a_push_schedule_is_read_and_rubbish_is_refused_at_the_start() {
        let read = |schedule: &str| {
            let mut env = Env::of([
                ("AGENT_URL", "https://gateway.example/a/x"),
                ("TRUSTED_ISSUERS", "[]"),
                ("SEALING_KEYS_SECRET", "sealing"),
                ("A2A_PUSH_SCHEDULE", schedule),
            ]);
            let config = AgentConfig::read(&mut env);
            env.finish()?;
            config.map(|config| config.push_schedule)
        };
        assert_eq!(read(""), Ok(None));
        let two = [2, 60].map(std::time::Duration::from_secs);
        assert_eq!(read("2,60"), Ok(Some(PushSchedule::of(two.to_vec()))));
        for rubbish in ["soon", "0", "5,,5", "999999999"] {
            let refused = read(rubbish).err().map(|error| error.to_string());
            let refused = refused.unwrap_or_default();
            assert!(
                refused.contains("A2A_PUSH_SCHEDULE") && !refused.contains("999999999"),
                "{refused}"
            );
        }
    }
}
