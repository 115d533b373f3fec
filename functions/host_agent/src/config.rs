//! The host's settings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent::PushSchedule;
use auth::{Issuer, JwksCache, KeyError, Sealer, SigningKey};
use domain::{Clock, Entropy, ExposeSecret, SecretString, SystemClock, SystemEntropy, Tenant};
use edge::config::{ConfigError, Env, Platform};
use edge::queue::SqsDoor;
use edge::secrets::{Secrets, SecretsError};
use llm::{ModelConfig, Models};
use outbound::oauth::Providers;
use outbound::{FetchedKeys, Outbound, Policy, SetupError};
use store::{Store, Tables};
use url::Url;

use crate::{Directory, Parts, Patience};

/// The command line.
#[derive(Debug, Clone, Default, clap::Parser)]
#[command(name = "host_agent", about = "The host agent of one tenant")]
pub struct Args {
    /// The one tenant this host serves; wins over `TENANT_ID`.
    #[arg(long)]
    pub tenant_id: Option<String>,
}

/// The host's settings, read once.
pub struct Config {
    /// `TENANT_ID` or `--tenant-id` (which wins): the one tenant it serves.
    pub tenant: Tenant,
    /// `HOST_AGENT_URL`: its own public URL.
    pub url: Url,
    /// `TENANT_BASE_URL`: the tenant's base URL, the issuer of the tokens made here.
    pub base: Url,
    /// `REGISTRY_URL`, or instead `A2A_AGENT_URL`: the card of the one agent that gets everything.
    pub directory: Place,
    /// `A2A_WEBHOOK_URL`: the public URL of the webhook receiver; https, unless loopback is allowed.
    pub webhook: Url,
    /// `A2A_WEBHOOK_TOKEN_TTL` (seconds, default a week): how long after the task's creation an agent's news is taken.
    pub token_ttl: Duration,
    /// `A2A_TASK_TIMEOUT` (seconds, default 1800): how long a task hears nothing before it is `unknown`.
    pub limit: Duration,
    /// `A2A_ENABLED` (default `true`): `false` keeps the host from delegating anything new.
    pub enabled: bool,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say: the tenant's own
    /// sessions, and its authorization server.
    pub issuers: Vec<Issuer>,
    /// `IDP_URL`: the authorization servers' URL; the tenant's own lies below it, under its name. Without it the card
    /// names none.
    pub idp: Option<Url>,
    /// `SESSION_KEY_SECRET`: the name or ARN of the secret that holds the tenant's session key (PKCS#8 PEM).
    pub session_key: String,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds the sealing keys, newest first, as JSON
    /// `[["key id", "32 bytes in base64url"]]`.
    pub sealing_keys: String,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret that holds the authorization servers that know the host,
    /// as JSON `{"idp": {"issuer", "client_id", "client_secret"}}`; without it agents behind a sign-in are not asked.
    pub providers: Option<String>,
    /// `ALLOW_LOOPBACK` (default `false`): plain http to loopback addresses, for local work.
    pub allow_loopback: bool,
    /// `A2A_PUSH_SCHEDULE`: when a delivery that failed is tried again.
    pub push_schedule: PushSchedule,
    /// What every function has; `WAKE_QUEUES` must name the queue of `host`.
    pub platform: Platform,
}

/// Where agents are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the registry at this URL.
    Registry(Url),
    /// Nowhere: the agent of this card gets everything.
    Fixed(Url),
}

/// Why the host cannot start.
#[derive(thiserror::Error)]
pub enum StartError {
    /// It was not told whose it is.
    #[error(
        "a host agent serves exactly one tenant, and it was not told which: set TENANT_ID or pass --tenant-id NAME"
    )]
    NoTenant,
    /// Settings are missing or wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A secret cannot be read.
    #[error("a secret of the host cannot be read: {0}")]
    Secret(#[from] SecretsError),
    /// A secret holds no key.
    #[error("the secret {secret} does not hold what it should: {reason}")]
    Key {
        /// The secret's name.
        secret: String,
        /// What is wrong, without the secret.
        reason: String,
    },
    /// The way out cannot be opened.
    #[error(transparent)]
    Outbound(#[from] SetupError),
    /// The tenant has no address below `IDP_URL`.
    #[error("the address of the tenant's authorization server: {0}")]
    Address(#[from] url::ParseError),
}

/// The same as the text for people: this is what a failing `main` prints.
impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`StartError::NoTenant`] before everything else; otherwise all that is missing or wrong, in one error.
    pub fn read(env: Env, args: Args) -> Result<Self, StartError> {
        let mut env = env.overridden("TENANT_ID", args.tenant_id);
        let tenant = env.optional::<Tenant>("TENANT_ID");
        if matches!(tenant, Ok(None)) {
            return Err(StartError::NoTenant);
        }
        let url = env.required("HOST_AGENT_URL");
        let base = env.required("TENANT_BASE_URL");
        let fixed = env.optional::<Url>("A2A_AGENT_URL");
        let directory = match fixed {
            Ok(Some(card)) => Ok(Place::Fixed(card)),
            Ok(None) => env.required("REGISTRY_URL").map(Place::Registry),
            Err(error) => Err(error),
        };
        let webhook = env.required("A2A_WEBHOOK_URL");
        let usual = Patience::default();
        let token_ttl = env.seconds_or("A2A_WEBHOOK_TOKEN_TTL", usual.token_ttl);
        let limit = env.seconds_or("A2A_TASK_TIMEOUT", usual.limit);
        let enabled = env.or("A2A_ENABLED", true);
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let idp = env.optional("IDP_URL");
        let session_key = env.required("SESSION_KEY_SECRET");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.optional("OAUTH_PROVIDERS_SECRET");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        let push_schedule = env.or("A2A_PUSH_SCHEDULE", PushSchedule::default());
        let platform = Platform::read(&mut env);
        env.finish()?;
        let tenant = tenant?.ok_or(StartError::NoTenant)?;
        Ok(Self {
            tenant,
            url: url?,
            base: base?,
            directory: directory?,
            webhook: webhook?,
            token_ttl: token_ttl?,
            limit: limit?,
            enabled: enabled?,
            issuers: issuers?,
            idp: idp?,
            session_key: session_key?,
            sealing_keys: sealing_keys?,
            providers: providers?,
            allow_loopback: allow_loopback?,
            push_schedule: push_schedule?,
            platform: platform?,
        })
    }

    /// Builds what the host works with.
    ///
    /// # Errors
    /// [`StartError`] says what is missing.
    pub async fn parts(self) -> Result<Parts, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = self.platform;
        let secrets = Secrets::new(platform.secrets.clone(), Arc::clone(&clock));
        let key = SigningKey::from_pem(&secrets.value(&self.session_key).await?)
            .map_err(|error| broken(&self.session_key, error))?;
        let sealer = sealer(&self.sealing_keys, &secrets.value(&self.sealing_keys).await?)?;
        let providers = match &self.providers {
            Some(name) => providers(name, &secrets.value(name).await?)?,
            None => Providers::new(),
        };
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        let policy = Policy {
            allow_loopback: self.allow_loopback,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::clone(&entropy))?;
        let keys = JwksCache::new(Arc::new(FetchedKeys(outbound.clone())));
        let sign_in = match &self.idp {
            Some(idp) => {
                let base = idp.as_str().trim_end_matches('/');
                Some(Url::parse(&format!("{base}/{}", self.tenant))?)
            }
            None => None,
        };
        let directory = match self.directory {
            Place::Registry(url) => Directory::registry(outbound.clone(), url),
            Place::Fixed(card) => Directory::fixed(outbound.clone(), card),
        };
        Ok(Parts {
            tenant: self.tenant,
            url: self.url,
            issuer: self.base.as_str().trim_end_matches('/').to_owned(),
            key: Arc::new(key),
            trusted: self.issuers,
            keys,
            sign_in,
            directory,
            webhook: self.webhook,
            sealer: Arc::new(sealer),
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            wake: Arc::new(SqsDoor::new(platform.queues)),
            outbound,
            model: Models::from(ModelConfig::default()),
            clock,
            entropy,
            patience: Patience {
                limit: self.limit,
                token_ttl: self.token_ttl,
                ..Patience::default()
            },
            enabled: self.enabled,
            providers,
            settings: agent::Settings {
                push_schedule: self.push_schedule,
                ..agent::Settings::default()
            },
        })
    }
}

fn sealer(secret: &str, text: &SecretString) -> Result<Sealer, StartError> {
    let keys: Vec<(String, String)> =
        serde_json::from_str(text.expose_secret()).map_err(|_| StartError::Key {
            secret: secret.to_owned(),
            reason: "it is not a JSON list of pairs".to_owned(),
        })?;
    let keys = keys
        .into_iter()
        .map(|(id, key)| (id, SecretString::from(key)))
        .collect();
    Sealer::new(keys).map_err(|error| broken(secret, error))
}

fn providers(secret: &str, text: &SecretString) -> Result<Providers, StartError> {
    // The parser's own words might quote the secret.
    serde_json::from_str(text.expose_secret()).map_err(|_| StartError::Key {
        secret: secret.to_owned(),
        reason: "it is not JSON of providers".to_owned(),
    })
}

fn broken(secret: &str, error: KeyError) -> StartError {
    StartError::Key {
        secret: secret.to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(&str, &str); 8] = [
        ("TENANT_ID", "acme"),
        ("HOST_AGENT_URL", "https://gateway.example/a/x/"),
        ("TENANT_BASE_URL", "https://gateway.example/t/acme"),
        ("REGISTRY_URL", "https://gateway.example/registry"),
        (
            "A2A_WEBHOOK_URL",
            "https://gateway.example/t/acme/api/webhook/tasks",
        ),
        ("TRUSTED_ISSUERS", "[]"),
        ("SESSION_KEY_SECRET", "session"),
        ("SEALING_KEYS_SECRET", "sealing"),
    ];

    fn without(name: &str) -> Env {
        Env::of(ALL.into_iter().filter(|(known, _)| *known != name))
    }

    #[test]
    fn without_a_tenant_it_refuses_to_start_and_says_so() {
        let refusal = Config::read(without("TENANT_ID"), Args::default()).err().unwrap();
        assert_eq!(
            format!("{refusal:?}"),
            "a host agent serves exactly one tenant, and it was not told which: set TENANT_ID or pass --tenant-id NAME"
        );
    }

    #[test]
    fn the_argument_wins_over_the_environment() {
        let args = Args {
            tenant_id: Some("globex".into()),
        };
        assert_eq!(
            Config::read(Env::of(ALL), args).unwrap().tenant.as_str(),
            "globex"
        );
        assert_eq!(
            Config::read(Env::of(ALL), Args::default())
                .unwrap()
                .tenant
                .as_str(),
            "acme"
        );
        let bad = Args {
            tenant_id: Some("Not A Tenant".into()),
        };
        assert!(
            Config::read(Env::of(ALL), bad)
                .err()
                .unwrap()
                .to_string()
                .contains("TENANT_ID")
        );
    }

    #[test]
    fn a_fixed_agent_stands_in_for_the_registry() {
        let mut all: Vec<_> = ALL
            .into_iter()
            .filter(|(name, _)| *name != "REGISTRY_URL")
            .collect();
        let missing = Config::read(Env::of(all.clone()), Args::default())
            .err()
            .unwrap()
            .to_string();
        assert!(missing.contains("REGISTRY_URL"), "{missing}");
        all.push(("A2A_AGENT_URL", "https://agent.example/card.json"));
        let config = Config::read(Env::of(all), Args::default()).unwrap();
        assert!(matches!(config.directory, Place::Fixed(_)));
        assert!(config.enabled);
        assert_eq!(config.limit, Duration::from_secs(1_800));
    }
}
