//! Where secrets are read: Secrets Manager, asked once per secret and time to live, or a table of them in hand.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::SdkError;
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use domain::{Clock, SecretString, Timestamp};
use tokio::sync::{Mutex, OnceCell};
use url::Url;

use crate::aws::Caller;

mod sealed;

pub use sealed::{DataKey, SealedSecrets, seal};

/// How long a secret is kept before it is asked for again; a rotated key is in use after at most this long.
pub const SECRETS_TTL: Duration = Duration::from_secs(300);

/// Where secrets are read, by the names that settings give them.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// The secret's text, by name or ARN.
    ///
    /// # Errors
    /// [`SecretsError`] says whether the secret is missing or could not be read.
    async fn value(&self, id: &str) -> Result<SecretString, SecretsError>;
}

/// Secrets in hand, by their names: the local system's own.
pub struct Held(pub BTreeMap<String, SecretString>);

#[async_trait]
impl SecretSource for Held {
    async fn value(&self, id: &str) -> Result<SecretString, SecretsError> {
        let missing = || SecretsError::Missing { id: id.to_owned() };
        self.0.get(id).cloned().ok_or_else(missing)
    }
}

/// Where the secrets are.
#[derive(Debug, Clone, Default)]
pub struct SecretsPlace {
    /// Another endpoint than AWS's own.
    pub endpoint: Option<Url>,
    /// Another region than the environment's.
    pub region: Option<String>,
    /// Who calls.
    pub caller: Caller,
}

/// The secrets of a function. Nothing is asked, and no connection opened, before the first is wanted.
pub struct Secrets {
    place: SecretsPlace,
    clock: Arc<dyn Clock>,
    client: OnceCell<Client>,
    known: std::sync::Mutex<HashMap<String, Arc<Mutex<Option<CachedSecret>>>>>,
}

struct CachedSecret {
    value: SecretString,
    fresh_until: Timestamp,
}

/// Why a secret could not be had. Neither variant shows a value.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// There is no such secret, or it holds no text.
    #[error("the secret {id} does not exist or holds no text")]
    Missing {
        /// Name or ARN of the secret.
        id: String,
    },
    /// A secret of the tenant's record cannot be opened.
    #[error("the secret {id} of the tenant's record cannot be opened: {reason}")]
    Sealed {
        /// Its name.
        id: String,
        /// What went wrong.
        reason: String,
    },
    /// Secrets Manager did not answer, or refused.
    #[error("the secret {id} could not be read")]
    Unavailable {
        /// Name or ARN of the secret.
        id: String,
        /// What went wrong.
        #[source]
        source: Box<SdkError<GetSecretValueError>>,
    },
}

impl Secrets {
    /// Secrets at a place, timed by a clock.
    #[must_use]
    pub fn new(place: SecretsPlace, clock: Arc<dyn Clock>) -> Self {
        Self {
            place,
            clock,
            client: OnceCell::new(),
            known: std::sync::Mutex::default(),
        }
    }

    async fn ask(&self, id: &str) -> Result<SecretString, SecretsError> {
        let client = self
            .client
            .get_or_init(|| async {
                let place = &self.place;
                Client::new(
                    &place
                        .caller
                        .config(place.endpoint.as_ref(), place.region.as_deref()),
                )
            })
            .await;
        let missing = || SecretsError::Missing { id: id.to_owned() };
        match client.get_secret_value().secret_id(id).send().await {
            Ok(found) => found.secret_string.map(SecretString::from).ok_or_else(missing),
            Err(error) => match error.as_service_error() {
                Some(GetSecretValueError::ResourceNotFoundException(_)) => Err(missing()),
                _ => Err(SecretsError::Unavailable {
                    id: id.to_owned(),
                    source: Box::new(error),
                }),
            },
        }
    }
}

#[async_trait]
impl SecretSource for Secrets {
    /// A value past its time to live is still given while Secrets Manager does not answer.
    async fn value(&self, id: &str) -> Result<SecretString, SecretsError> {
        let place = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(id.to_owned()).or_default())
        };
        // Held while asking: parallel callers of one secret ask once, and those of another do not wait for it.
        let mut known = place.lock().await;
        let now = self.clock.now();
        if let Some(fresh) = known.as_ref().filter(|known| now < known.fresh_until) {
            return Ok(fresh.value.clone());
        }
        match self.ask(id).await {
            Ok(value) => {
                let fresh_until = now.after(SECRETS_TTL);
                *known = Some(CachedSecret {
                    value: value.clone(),
                    fresh_until,
                });
                Ok(value)
            }
            Err(SecretsError::Unavailable { id, source }) => match &*known {
                Some(stale) => {
                    tracing::warn!(secret = %id, error = %source, "secret not refreshed; the last one goes on");
                    Ok(stale.value.clone())
                }
                None => Err(SecretsError::Unavailable { id, source }),
            },
            Err(missing) => Err(missing),
        }
    }
}
