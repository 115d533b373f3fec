//! What every function is built on, whatever it does: made once for AWS ([`Ground::aws`]), and once by the local system.

use std::fmt;
use std::sync::Arc;

use agent::WakeDoor;
use auth::{Issuer, JwksCache, KeyError, Sealer, SigningKey, Verifier};
use domain::{Clock, Entropy, ExposeSecret, SecretString, SystemClock, SystemEntropy, Tenant};
use outbound::oauth::Providers;
use outbound::{FetchedKeys, Outbound, Policy};
use serde::de::DeserializeOwned;
use store::{Pooled, Store, Tables};
use url::Url;

use crate::Front;
use crate::aws::{Caller, Service};
use crate::blobs::S3Blobs;
use crate::config::{ConfigError, Platform, ThisMachine};
use crate::queue::SqsDoor;
use crate::secrets::{SealedSecrets, SecretSource, Secrets, SecretsError, SecretsPlace};

/// What every function is built on. Nothing in it has opened a connection yet.
#[derive(Clone)]
pub struct Ground {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where ids and keys come from.
    pub entropy: Arc<dyn Entropy>,
    /// The database, through the one room that names it.
    pub store: Store,
    /// Who calls AWS's services beside these.
    pub caller: Caller,
    /// The agents' queues.
    pub wake: Arc<dyn WakeDoor>,
    /// The way to everything that others named.
    pub outbound: Outbound,
    /// Where secrets are read.
    pub secrets: Arc<dyn SecretSource>,
    /// The keys of issuers whose keys are fetched.
    pub keys: Arc<JwksCache>,
    /// Times and bounds of every agent, as far as its own settings do not say otherwise.
    pub settings: agent::Settings,
    /// Where the engine that understands people's words is, or will be; always empty in a Lambda function.
    pub understanding: nlu::Slot,
}

/// Why a function cannot be built.
#[derive(thiserror::Error)]
pub enum BuildError {
    /// A secret cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretsError),
    /// A secret does not hold what it should.
    #[error("the secret {secret} does not hold what it should: {reason}")]
    Form {
        /// Its name or ARN.
        secret: String,
        /// What is wrong, without the secret.
        reason: String,
    },
}

/// The same as the text for people: this is what a failing `main` prints.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Ground {
    /// In Lambda: the services of AWS, or what stands in for them at the configured endpoints.
    #[must_use]
    pub fn aws(platform: Platform) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let policy = Policy {
            allow_loopback: platform.this_machine != ThisMachine::Closed,
            allow_host: match platform.this_machine {
                ThisMachine::AndAt(ip) => Some(ip),
                ThisMachine::Closed | ThisMachine::Loopback => None,
            },
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, Arc::clone(&entropy));
        let caller = platform.caller;
        let tables = caller.config(platform.dynamodb.as_ref(), platform.region.as_deref());
        let store =
            Store::new(&tables, Tables::prefixed(&platform.table_prefix)).with_entropy(entropy.clone());
        let store = match platform.blobs {
            Some(bucket) => store.with_blobs(Arc::new(S3Blobs::new(bucket, &outbound, &clock))),
            None => store,
        };
        Self {
            wake: Arc::new(SqsDoor::new(platform.queues, store.clone())),
            store,
            caller,
            secrets: Arc::new(Secrets::new(platform.secrets, Arc::clone(&clock))),
            keys: JwksCache::new(Arc::new(FetchedKeys(outbound.clone()))),
            settings: agent::Settings::default(),
            understanding: nlu::Slot::default(),
            outbound,
            clock,
            entropy,
        }
    }

    /// The same with the secrets of a pooled tenant's record.
    ///
    /// # Errors
    /// Where the settings do not say where KMS is.
    pub fn with_sealed(
        self,
        platform: &Platform,
        tenant: &Tenant,
        pooled: &Pooled,
    ) -> Result<Self, ConfigError> {
        let unset = || ConfigError::unset("AWS_ENDPOINT_URL_KMS");
        let kms = Service {
            name: "kms",
            endpoint: platform.kms.clone().ok_or_else(unset)?,
            region: platform.region.clone(),
        };
        // By whoever calls everything else: a tenant has one session in a sandbox.
        let others = SecretsPlace {
            caller: self.caller.clone(),
            ..platform.secrets.clone()
        };
        let sealed = SealedSecrets::new(
            tenant.clone(),
            pooled.secrets.clone(),
            kms,
            (self.caller.clone(), self.outbound.clone()),
            Secrets::new(others, Arc::clone(&self.clock)),
        );
        Ok(Self {
            secrets: Arc::new(sealed),
            ..self
        })
    }

    /// Whose tokens are good for this audience.
    ///
    /// # Errors
    /// Where the key of an issuer is none.
    pub fn verifier(&self, audience: &Url, issuers: Vec<Issuer>) -> Result<Verifier, KeyError> {
        Verifier::with_issuers(audience.to_string(), issuers, &self.keys)
    }

    /// The sealing keys of this secret, JSON `[["key id", "32 bytes in base64url"]]`, newest first.
    ///
    /// # Errors
    /// [`BuildError`] where it cannot be read or holds something else.
    pub async fn sealer(&self, secret: &str) -> Result<Arc<Sealer>, BuildError> {
        let keys: Vec<(String, String)> = parsed(secret, &self.secrets.value(secret).await?)?;
        let keys = keys.into_iter().map(|(id, key)| (id, SecretString::from(key)));
        let sealer = Sealer::new(keys.collect()).map_err(|error| broken(secret, &error))?;
        Ok(Arc::new(sealer))
    }

    /// The signing key of this secret, as PKCS#8 PEM.
    ///
    /// # Errors
    /// As [`Ground::sealer`].
    pub async fn signing_key(&self, secret: &str) -> Result<Arc<SigningKey>, BuildError> {
        let pem = self.secrets.value(secret).await?;
        let key = SigningKey::from_pem(&pem).map_err(|error| broken(secret, &error))?;
        Ok(Arc::new(key))
    }

    /// The authorization servers that know us, of this secret, JSON `{"idp": {"issuer", "client_id", "client_secret"}}`; none
    /// where there is no such secret.
    ///
    /// # Errors
    /// As [`Ground::sealer`].
    pub async fn providers(&self, secret: Option<&str>) -> Result<Providers, BuildError> {
        match secret {
            Some(secret) => parsed(secret, &self.secrets.value(secret).await?),
            None => Ok(Providers::new()),
        }
    }

    /// What stands before the router of this function, which is named so in its log lines.
    #[must_use]
    pub fn front(&self, function: &'static str) -> Front {
        Front::new(function, &self.clock, &self.entropy)
    }
}

/// What a secret holds. The parser's own words might quote it.
fn parsed<T: DeserializeOwned>(name: &str, secret: &SecretString) -> Result<T, BuildError> {
    serde_json::from_str(secret.expose_secret()).map_err(|_| BuildError::Form {
        secret: name.to_owned(),
        reason: "it is not the JSON it should be".to_owned(),
    })
}

/// A key that is none. The error of a key does not quote it.
pub fn broken(secret: &str, error: &KeyError) -> BuildError {
    BuildError::Form {
        secret: secret.to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::secrets::Held;

    fn ground(secrets: &[(&str, &str)]) -> Ground {
        let held: BTreeMap<String, SecretString> = secrets
            .iter()
            .map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)))
            .collect();
        Ground {
            secrets: Arc::new(Held(held)),
            ..Ground::aws(Platform::default())
        }
    }

    #[tokio::test]
    async fn a_secret_of_another_form_is_named_and_not_quoted() {
        let ground = ground(&[
            ("providers", r#"{"idp": "hunter2"}"#),
            ("sealing", "hunter2"),
            ("key", r#"[["k1", "hunter2"]]"#),
        ]);
        let refused = [
            ground.providers(Some("providers")).await.err(),
            ground.sealer("sealing").await.err(),
            ground.sealer("key").await.err(),
            ground.signing_key("sealing").await.err(),
            ground.sealer("missing").await.err(),
        ];
        for (refused, name) in refused
            .into_iter()
            .zip(["providers", "sealing", "key", "sealing", "missing"])
        {
            let told = format!("{0} {0:?}", refused.unwrap());
            assert!(told.contains(name) && !told.contains("hunter2"), "{told}");
        }
    }

    #[tokio::test]
    async fn the_authorization_servers_that_know_us_are_read() {
        let good = r#"{"idp": {"issuer": "https://idp.example/acme", "client_id": "host", "client_secret": "hunter2"}}"#;
        let ground = ground(&[("providers", good)]);
        let read = ground.providers(Some("providers")).await.unwrap();
        assert_eq!(read.get("idp").map(|idp| idp.client.id.as_str()), Some("host"));
        assert!(!format!("{read:?}").contains("hunter2"));
        assert!(ground.providers(None).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_newest_sealing_key_seals_and_each_opens() {
        let key = |letter: char| letter.to_string().repeat(42) + "A";
        let both = format!(r#"[["k2","{}"],["k1","{}"]]"#, key('B'), key('A'));
        let ground = ground(&[("both", &both), ("new", &format!(r#"[["k2","{}"]]"#, key('B')))]);
        let both = ground.sealer("both").await.unwrap();
        let sealed = both.seal(b"x", "what", ground.entropy.as_ref());
        let alone = ground.sealer("new").await.unwrap();
        assert!(alone.open(&sealed, "what").is_ok(), "sealed with the first");
    }
}
