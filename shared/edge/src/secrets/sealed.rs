//! Secrets that lie in a tenant's record: each sealed with a data key of its own, which KMS opens with the tenant and the secret's name as
//! encryption context, and so for nobody whose role is not told that tenant.

use std::collections::BTreeMap;

use async_trait::async_trait;
use auth::Sealer;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use domain::{Entropy, ExposeSecret as _, SecretString, Tenant};
use outbound::Outbound;
use serde::Deserialize;
use serde_json::{Value, json};
use store::SealedSecret;
use tokio::sync::Mutex;

use super::{SecretSource, Secrets, SecretsError};
use crate::aws::{Caller, Service};

/// What data keys are called where they seal; each seals one secret.
const KEY_ID: &str = "kms";

/// The secrets of a tenant's record, and beside them those of Secrets Manager.
pub struct SealedSecrets {
    tenant: Tenant,
    sealed: BTreeMap<String, SealedSecret>,
    opened: Mutex<BTreeMap<String, SecretString>>,
    kms: Service,
    way: (Caller, Outbound),
    others: Secrets,
}

impl SealedSecrets {
    /// Nothing is opened before it is wanted.
    #[must_use]
    pub fn new(
        tenant: Tenant,
        sealed: BTreeMap<String, SealedSecret>,
        kms: Service,
        way: (Caller, Outbound),
        others: Secrets,
    ) -> Self {
        Self {
            tenant,
            sealed,
            opened: Mutex::default(),
            kms,
            way,
            others,
        }
    }

    async fn open(&self, id: &str, secret: &SealedSecret) -> Result<SecretString, SecretsError> {
        let broken = |reason: String| SecretsError::Sealed {
            id: id.to_owned(),
            reason,
        };
        let request = json!({
            "CiphertextBlob": BASE64_STANDARD.encode(&secret.key),
            "EncryptionContext": context(&self.tenant, id),
        });
        let answer = asked(&self.kms, &self.way, "TrentService.Decrypt", &request).await;
        let key: DataKey = answer.map_err(&broken)?;
        key.open((&self.tenant, id), secret).map_err(broken)
    }
}

#[async_trait]
impl SecretSource for SealedSecrets {
    async fn value(&self, id: &str) -> Result<SecretString, SecretsError> {
        let Some(secret) = self.sealed.get(id) else {
            return self.others.value(id).await;
        };
        // Held while asking: whoever wants the same asks KMS once.
        let mut opened = self.opened.lock().await;
        if let Some(known) = opened.get(id) {
            return Ok(known.clone());
        }
        let value = self.open(id, secret).await?;
        opened.insert(id.to_owned(), value.clone());
        Ok(value)
    }
}

/// Seals a secret for a tenant's record, with a new data key of this key of KMS.
///
/// # Errors
/// What KMS says.
pub async fn seal(
    (kms, key): (&Service, &str),
    way: &(Caller, Outbound),
    (tenant, id): (&Tenant, &str),
    secret: &SecretString,
    entropy: &dyn Entropy,
) -> Result<SealedSecret, SecretsError> {
    let broken = |reason: String| SecretsError::Sealed {
        id: id.to_owned(),
        reason,
    };
    let request = json!({ "KeyId": key, "KeySpec": "AES_256", "EncryptionContext": context(tenant, id) });
    let key: DataKey = asked(kms, way, "TrentService.GenerateDataKey", &request)
        .await
        .map_err(&broken)?;
    key.seal((tenant, id), secret, entropy).map_err(broken)
}

impl DataKey {
    /// Seals a secret of this tenant and name.
    ///
    /// # Errors
    /// Where it is no key.
    pub fn seal(
        self,
        (tenant, id): (&Tenant, &str),
        secret: &SecretString,
        entropy: &dyn Entropy,
    ) -> Result<SealedSecret, String> {
        let encrypted = self
            .encrypted
            .ok_or("the data key is not there in its encrypted form")?;
        let key = BASE64_STANDARD.decode(encrypted);
        let sealer = sealer(self.open)?;
        Ok(SealedSecret {
            key: key.map_err(|_| "the data key is not in base64")?,
            sealed: sealer.seal(secret.expose_secret().as_bytes(), &purpose(tenant, id), entropy),
        })
    }

    /// Opens a secret of this tenant and name.
    ///
    /// # Errors
    /// Where it was sealed with another key, or for another tenant or name.
    pub fn open(self, (tenant, id): (&Tenant, &str), secret: &SealedSecret) -> Result<SecretString, String> {
        let opened = sealer(self.open)?.open(&secret.sealed, &purpose(tenant, id));
        let opened = opened.map_err(|error| error.to_string())?;
        let text = String::from_utf8(opened).map_err(|_| "it is no text")?;
        Ok(SecretString::from(text))
    }
}

/// What KMS binds a data key to, and the role's policy asks for.
fn context(tenant: &Tenant, id: &str) -> Value {
    json!({ "tenant": tenant.prefix(), "secret": id })
}

/// What the sealed text is bound to.
fn purpose(tenant: &Tenant, id: &str) -> String {
    format!("{}#secret#{id}", tenant.prefix())
}

/// A data key as KMS gives it out: open, and where it is new, as only KMS opens it again.
#[derive(Deserialize)]
pub struct DataKey {
    #[serde(rename = "Plaintext")]
    open: String,
    #[serde(rename = "CiphertextBlob")]
    encrypted: Option<String>,
}

fn sealer(plaintext: String) -> Result<Sealer, String> {
    let plaintext = SecretString::from(plaintext);
    let key = BASE64_STANDARD.decode(plaintext.expose_secret());
    let key = key.map_err(|_| "the data key is not in base64".to_owned())?;
    let key = SecretString::from(BASE64_URL_SAFE_NO_PAD.encode(key));
    Sealer::new(vec![(KEY_ID.to_owned(), key)]).map_err(|error| error.to_string())
}

async fn asked<T: serde::de::DeserializeOwned>(
    kms: &Service,
    (caller, outbound): &(Caller, Outbound),
    target: &str,
    request: &Value,
) -> Result<T, String> {
    let headers = [
        ("content-type", "application/x-amz-json-1.1"),
        ("x-amz-target", target),
    ];
    let body = request.to_string().into_bytes();
    let answer = kms.post((caller, outbound), "/", &headers, body).await;
    let answer = answer.map_err(|error| error.to_string())?;
    // The parser's own words might quote a key.
    serde_json::from_slice(&answer).map_err(|_| "KMS answered something else".to_owned())
}
