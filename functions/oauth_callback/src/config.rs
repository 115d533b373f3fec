//! The function's settings.

use auth::Issuer;
use domain::{AgentName, SignInRule, Tenant};
use edge::config::{ConfigError, Env};
use url::Url;

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whose consents it takes.
    pub serves: Serves,
    /// `TENANT_BASE_URL`: the tenant's base URL; for an agent of the platform this deployment's own. The redirect URI is
    /// `callback` below it.
    pub base: Url,
    /// With `CONSENT_AGENT`: whose proofs of a browser are taken; without them every user types a code.
    pub proofs: Option<TakenProofs>,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds the sealing keys, newest first, as JSON
    /// `[["key id", "32 bytes in base64url"]]`.
    pub sealing_keys: String,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret that holds the providers that know us, as JSON
    /// `{"idp": {"issuer", "client_id", "client_secret"}}`.
    pub providers: String,
    /// `SIGN_IN_ISSUERS` (default `idp`) and `REQUIRE_ACR`: where people sign in to the chat, and what that must have been.
    pub sign_in: SignInRule,
}

/// The proofs of a browser that an agent's deployment takes.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenProofs {
    /// `AGENT_URL`: the agent's own URL, the audience of proofs as of tokens.
    pub agent: Url,
    /// `BROWSER_KEYS_URL`: where the authorization server vouches for the keys of each tenant's browsers; with `{tenant}`.
    pub keys: Issuer,
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
        let agent: Option<AgentName> = env.optional("CONSENT_AGENT")?;
        let serves = match agent {
            Some(agent) => {
                // It has no tenant of its own: who names one means something else.
                let named: [Option<Tenant>; 2] = [env.optional("TENANT_ID")?, env.optional("TENANT_PREFIX")?];
                match named.iter().any(Option::is_some) {
                    true => Err(env.problem("CONSENT_AGENT", "goes with no TENANT_ID".to_owned())),
                    false => Ok(Serves::Agent(agent)),
                }
            }
            None => env.tenant().map(Serves::Tenant),
        };
        let agent_url: Option<Url> = env.optional("AGENT_URL")?;
        let keys: Option<String> = env.optional("BROWSER_KEYS_URL")?;
        let proofs = match (agent_url, keys) {
            (Some(agent), Some(keys)) => {
                let read = auth::browser_proof::issuers(&keys);
                let read = read.map_err(|error| env.problem("BROWSER_KEYS_URL", error.to_string()));
                read.map(|keys| Some(TakenProofs { agent, keys }))
            }
            _ => Ok(None),
        };
        let base = env.required("TENANT_BASE_URL");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.required("OAUTH_PROVIDERS_SECRET");
        let sign_in = env.sign_in();
        Ok(Self {
            serves: serves?,
            base: base?,
            proofs: proofs?,
            sealing_keys: sealing_keys?,
            providers: providers?,
            sign_in: sign_in?,
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
            ("AGENT_URL", "https://gateway.example/a/calendar"),
            (
                "BROWSER_KEYS_URL",
                "https://gateway.example/idp/{tenant}/browsers.json",
            ),
            ("TENANT_BASE_URL", "https://gateway.example/consent"),
            ("SEALING_KEYS_SECRET", "sealing"),
            ("OAUTH_PROVIDERS_SECRET", "providers"),
        ]);
        let (_, config) = edge::config::read(env, Config::read).unwrap();
        assert_eq!(
            config.serves,
            Serves::Agent(AgentName::parse("calendar").unwrap())
        );
        let taken = config.proofs.unwrap();
        assert_eq!(taken.agent.as_str(), "https://gateway.example/a/calendar");
        let rubbish = Env::of([
            ("CONSENT_AGENT", "calendar"),
            ("AGENT_URL", "https://gateway.example/a/calendar"),
            ("BROWSER_KEYS_URL", "https://gateway.example/idp/browsers.json"),
            ("TENANT_BASE_URL", "https://gateway.example/consent"),
            ("SEALING_KEYS_SECRET", "sealing"),
            ("OAUTH_PROVIDERS_SECRET", "providers"),
        ]);
        let refused = edge::config::read(rubbish, Config::read).err().unwrap();
        assert!(refused.to_string().contains("BROWSER_KEYS_URL"), "{refused}");
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
