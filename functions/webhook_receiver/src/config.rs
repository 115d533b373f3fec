//! The function's settings.

use std::time::Duration;

use domain::Tenant;
use edge::config::{ConfigError, Env, YEAR};

use crate::TOKEN_TTL;

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `TENANT_ID`: the one tenant it serves.
    pub tenant: Tenant,
    /// `A2A_WEBHOOK_TOKEN_TTL` (seconds, default a week): how long after the task's creation its tokens are good.
    pub token_ttl: Duration,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let tenant = env.tenant();
        let token_ttl = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", TOKEN_TTL, 60..=YEAR);
        Ok(Self {
            tenant: tenant?,
            token_ttl: token_ttl?,
        })
    }
}
