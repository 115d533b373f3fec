//! The function's settings.

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
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let agent = AgentConfig::read(env);
        let tenant = env.tenant();
        let idp = env.required("IDP_URL");
        Ok(Self {
            tenant: tenant?,
            idp: idp?,
            agent: agent?,
        })
    }

    /// The tenant's authorization server.
    pub(crate) fn issuer(&self) -> Result<Url, url::ParseError> {
        let base = self.idp.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}/{}", self.tenant.prefix()))
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
