//! The function's settings.

use domain::{AgentName, Tenant};
use edge::config::{ConfigError, Env};
use url::Url;

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whose consents it takes.
    pub serves: Serves,
    /// `TENANT_BASE_URL`: the tenant's base URL; the redirect URI is `callback` below it. For an agent of the platform
    /// `CONSENT_BASE_URL` instead.
    pub base: Url,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds the sealing keys, newest first, as JSON
    /// `[["key id", "32 bytes in base64url"]]`.
    pub sealing_keys: String,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret that holds the providers that know us, as JSON
    /// `{"idp": {"issuer", "client_id", "client_secret"}}`.
    pub providers: String,
}

/// Whose consents a deployment takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serves {
    /// `TENANT_ID`: those of one tenant's host.
    Tenant(Tenant),
    /// `CONSENT_AGENT`: those that this agent of the platform asks for, in every tenant. Users come back to one address then,
    /// and their `state` says in which tenant it is to be looked for.
    Agent(AgentName),
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let agent: Result<Option<AgentName>, ConfigError> = env.optional("CONSENT_AGENT");
        let (serves, base) = match agent {
            Ok(Some(agent)) => (Ok(Serves::Agent(agent)), env.required("CONSENT_BASE_URL")),
            Ok(None) => (env.tenant().map(Serves::Tenant), env.required("TENANT_BASE_URL")),
            Err(wrong) => (Err(wrong), env.required("CONSENT_BASE_URL")),
        };
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.required("OAUTH_PROVIDERS_SECRET");
        Ok(Self {
            serves: serves?,
            base: base?,
            sealing_keys: sealing_keys?,
            providers: providers?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_for_an_agent_has_no_tenant() {
        let env = Env::of([
            ("CONSENT_AGENT", "calendar"),
            ("CONSENT_BASE_URL", "https://gateway.example/consent"),
            ("SEALING_KEYS_SECRET", "sealing"),
            ("OAUTH_PROVIDERS_SECRET", "providers"),
        ]);
        let (_, config) = edge::config::read(env, Config::read).unwrap();
        assert_eq!(
            config.serves,
            Serves::Agent(AgentName::parse("calendar").unwrap())
        );
    }

    #[test]
    fn everything_that_is_missing_is_told_at_once() {
        let read = edge::config::read(Env::of([("ALLOW_LOOPBACK", "maybe")]), Config::read);
        let error = read.unwrap_err();
        let error: &ConfigError = error.downcast_ref().unwrap();
        let names: Vec<&str> = error
            .problems
            .iter()
            .map(|problem| problem.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "ALLOW_LOOPBACK",
                "TENANT_ID",
                "TENANT_BASE_URL",
                "SEALING_KEYS_SECRET",
                "OAUTH_PROVIDERS_SECRET"
            ]
        );
    }
}
