//! The function's settings.

use std::sync::Arc;
use std::time::Duration;

use domain::{AgentName, InvalidId, SystemClock, SystemEntropy, Tenant};
use edge::config::{ConfigError, Env, Platform};
use edge::queue::SqsDoor;
use store::{Store, Tables};

use crate::{State, TOKEN_TTL};

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `TENANT_ID`: the one tenant it serves.
    pub tenant: Tenant,
    /// `A2A_WEBHOOK_TOKEN_TTL` (seconds, default a week): how long after the task's creation its tokens are good.
    pub token_ttl: Duration,
    /// What every function has; `WAKE_QUEUES` must name the queue of `host`.
    pub platform: Platform,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let tenant = env.required("TENANT_ID");
        let token_ttl = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", TOKEN_TTL);
        let platform = Platform::read(&mut env);
        env.finish()?;
        Ok(Self {
            tenant: tenant?,
            token_ttl: token_ttl?,
            platform: platform?,
        })
    }

    /// Builds what the function works with.
    ///
    /// # Errors
    /// None in practice: the host's name is a good one.
    pub fn state(&self) -> Result<State, InvalidId> {
        let platform = &self.platform;
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        Ok(State {
            tenant: self.tenant.clone(),
            host: AgentName::parse("host")?,
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            wake: Arc::new(SqsDoor::new(platform.queues.clone())),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            token_ttl: self.token_ttl,
        })
    }
}
