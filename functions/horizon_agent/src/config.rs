//! The function's settings.

use domain::Tenant;
use edge::agent_parts::{AgentConfig, AgentError};
use edge::config::{ConfigError, Env};
use url::Url;

use crate::State;

/// The function's settings, read once.
#[derive(Clone)]
pub struct Config {
    /// `TENANT_ID`: the one tenant of this deployment.
    pub tenant: Tenant,
    /// `IDP_URL`: the authorization servers' URL; the tenant's own lies below it, under its name.
    pub idp: Url,
    /// What every agent has.
    pub agent: AgentConfig,
}

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What every agent has cannot be built.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The tenant has no address below `IDP_URL`.
    #[error("the address of the tenant's authorization server")]
    Address(#[from] url::ParseError),
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let agent = AgentConfig::read(&mut env);
        let tenant = env.required("TENANT_ID");
        let idp = env.required("IDP_URL");
        env.finish()?;
        Ok(Self {
            tenant: tenant?,
            idp: idp?,
            agent: agent?,
        })
    }

    /// Builds what the function works with.
    ///
    /// # Errors
    /// [`StartError`] says what is missing.
    pub async fn state(self) -> Result<State, StartError> {
        let parts = self.agent.parts().await?;
        let base = self.idp.as_str().trim_end_matches('/');
        Ok(State {
            issuer: Url::parse(&format!("{base}/{}", self.tenant))?,
            tenant: self.tenant,
            url: parts.url,
            store: parts.store,
            wake: parts.wake,
            verifier: parts.verifier,
            sealer: parts.sealer,
            outbound: parts.outbound,
            clock: parts.clock,
            entropy: parts.entropy,
            settings: parts.settings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let fault = Config::read(Env::of::<&str, &str>([])).err().unwrap().to_string();
        for name in [
            "AGENT_URL",
            "TENANT_ID",
            "IDP_URL",
            "TRUSTED_ISSUERS",
            "SEALING_KEYS_SECRET",
        ] {
            assert!(fault.contains(name), "{fault}");
        }
    }
}
