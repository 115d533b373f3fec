//! The function's settings.

use std::sync::Arc;

use agent::Agent;
use domain::Tenant;
use edge::agent_parts::AgentConfig;
use edge::config::{ConfigError, Env};
use url::Url;

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

    /// Builds the agent.
    ///
    /// # Errors
    /// What is missing: keys, the way out, an address for the tenant below `IDP_URL`.
    pub async fn build(self) -> Result<Arc<Agent>, edge::Error> {
        let base = self.idp.as_str().trim_end_matches('/');
        let issuer = Url::parse(&format!("{base}/{}", self.tenant))?;
        Ok(crate::build(self.agent.parts().await?, self.tenant, &issuer)?)
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
