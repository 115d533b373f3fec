//! What a function that is an A2A agent reads and builds before it is anything in particular.

use std::sync::Arc;

use agent::{Access, Agent, Executor, PushSchedule, Settings, WakeDoor};
use auth::{Issuer, JwksCache, KeyError, Sealer, Verifier};
use axum::Router;
use domain::{AgentName, Clock, Entropy, ExposeSecret, SecretString, SystemClock, SystemEntropy, Tenant};
use outbound::{FetchedKeys, Outbound, Policy, SetupError};
use store::{Store, Tables};
use url::Url;

use crate::Front;
use crate::config::{ConfigError, Env, Platform};
use crate::queue::SqsDoor;
use crate::secrets::{Secrets, SecretsError};

/// The settings of every agent's function.
#[derive(Clone)]
pub struct AgentConfig {
    /// `AGENT_URL`: the agent's own URL, in its card and the audience of tokens for it.
    pub url: Url,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say: whose tokens are good.
    pub issuers: Vec<Issuer>,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds `[["name", "32 bytes in base64url"], …]`, the
    /// newest key first.
    pub sealing_keys: String,
    /// `ALLOW_LOOPBACK`: `true` lets calls go to loopback addresses, for local work.
    pub allow_loopback: bool,
    /// `A2A_PUSH_SCHEDULE`: when a delivery that failed is tried again.
    pub push_schedule: PushSchedule,
    /// What every function has.
    pub platform: Platform,
}

/// Why an agent's function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The secret with the sealing keys cannot be read.
    #[error("the sealing keys")]
    Secret(#[from] SecretsError),
    /// The secret holds no list of keys. Its text is not quoted.
    #[error("the secret of SEALING_KEYS_SECRET is not a JSON list of name and key")]
    NoKeys,
    /// A key is none.
    #[error("a key")]
    Key(#[from] KeyError),
    /// The way out cannot be opened.
    #[error("the way out")]
    Outbound(#[from] SetupError),
}

impl AgentConfig {
    /// Reads the settings; the function's own are read beside them.
    ///
    /// # Errors
    /// The first that is wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let platform = Platform::read(env);
        let url = env.required("AGENT_URL");
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        let push_schedule = env.or("A2A_PUSH_SCHEDULE", PushSchedule::default());
        Ok(Self {
            url: url?,
            issuers: issuers?,
            sealing_keys: sealing_keys?,
            allow_loopback: allow_loopback?,
            push_schedule: push_schedule?,
            platform: platform?,
        })
    }

    /// Builds what the agent works with.
    ///
    /// # Errors
    /// [`AgentError`] says what is missing.
    pub async fn parts(self) -> Result<AgentParts, AgentError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = self.platform;
        let secrets = Secrets::new(platform.secrets.clone(), clock.clone());
        let keys = sealing_keys(&secrets.value(&self.sealing_keys).await?)?;
        let sdk = crate::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        let policy = Policy {
            allow_loopback: self.allow_loopback,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, entropy.clone())?;
        let cache = JwksCache::new(Arc::new(FetchedKeys(outbound.clone())));
        Ok(AgentParts {
            verifier: Verifier::with_issuers(self.url.to_string(), self.issuers, &cache)?,
            url: self.url,
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            wake: Arc::new(SqsDoor::new(platform.queues)),
            sealer: Arc::new(Sealer::new(keys)?),
            outbound,
            clock,
            entropy,
            settings: Settings {
                push_schedule: self.push_schedule,
                ..Settings::default()
            },
        })
    }
}

/// What an agent works with, whatever it does.
pub struct AgentParts {
    /// The agent's own URL, where its card says it is called.
    pub url: Url,
    /// The tables.
    pub store: Store,
    /// The queues.
    pub wake: Arc<dyn WakeDoor>,
    /// Whose tokens are good here; its audience is the agent's URL.
    pub verifier: Verifier,
    /// Seals what clients entrust to it.
    pub sealer: Arc<Sealer>,
    /// The way out.
    pub outbound: Outbound,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// Times and bounds.
    pub settings: Settings,
}

impl AgentParts {
    /// The agent of that name and card that does this.
    #[must_use]
    pub fn agent(
        self,
        (name, card): (AgentName, a2a::card::Card),
        (access, own_tenant): (Access, Option<Tenant>),
        executor: Arc<dyn Executor>,
    ) -> Arc<Agent> {
        Arc::new(Agent {
            name,
            card,
            own_tenant,
            access,
            store: self.store,
            wake: self.wake,
            executor,
            verifier: self.verifier,
            sealer: self.sealer,
            outbound: self.outbound,
            clock: self.clock,
            entropy: self.entropy,
            settings: self.settings,
        })
    }
}

/// An agent's whole function over HTTP, paths relative to the agent's URL; `function` names it in its log lines.
pub fn router(agent: &Arc<Agent>, function: &'static str) -> Router {
    let front = Front {
        clock: agent.clock.clone(),
        entropy: agent.entropy.clone(),
        function,
    };
    crate::front(agent::router(agent.clone()), front)
}

fn sealing_keys(secret: &SecretString) -> Result<Vec<(String, SecretString)>, AgentError> {
    let keys: Vec<(String, String)> =
        serde_json::from_str(secret.expose_secret()).map_err(|_| AgentError::NoKeys)?;
    Ok(keys.into_iter().map(|(name, key)| (name, key.into())).collect())
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
        assert_eq!(read(""), Ok(PushSchedule::default()));
        let two = [2, 60].map(std::time::Duration::from_secs);
        assert_eq!(read("2,60"), Ok(PushSchedule::of(two.to_vec())));
        for rubbish in ["soon", "0", "5,,5", "999999999"] {
            let refused = read(rubbish).err().map(|error| error.to_string());
            let refused = refused.unwrap_or_default();
            assert!(
                refused.contains("A2A_PUSH_SCHEDULE") && !refused.contains("999999999"),
                "{refused}"
            );
        }
    }

    #[test]
    fn sealing_keys_keep_their_order() {
        let keys = sealing_keys(&SecretString::from(r#"[["k2","b"],["k1","a"]]"#)).unwrap_or_default();
        let names: Vec<_> = keys.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["k2", "k1"]);
        assert!(sealing_keys(&SecretString::from("abc")).is_err());
    }
}
