//! Where a tenant's functions are: in a stack of its own, or in the pool. In the pool its record says what in a stack its parameters and
//! secrets say: the paths of its agents, and its keys, sealed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::{Tenant, Timestamp};
use serde_json::{Map, Value, json};

use super::{OWN, PREFIX, REMOVED, STATUS, Standing, Tenants, key, record_of, standing_of};
use crate::StoreError;
use crate::change::{Change, text};
use crate::codec::{Item, text_of};
use crate::dynamo::Written;

/// Where it is, for whoever may know no more of it: an attribute beside what the pool's functions read.
const PLACE: &str = "place";
const IN_POOL: &str = "pool";
/// What the pool's functions read.
const POOLED: &str = "pooled";
/// What is read of a record to tell where the tenant is: no settings, and no sealed key.
const WHEREABOUTS: &str = "#pk, #sk, #status, #prefix, #place";
const BASE_URL: &str = "base_url";
const HOST_PATH: &str = "host_path";
const HORIZON_PATH: &str = "horizon_path";
const SESSION_PUBLIC_KEY: &str = "session_public_key";
const SECRETS: &str = "secrets";
const KEY: &str = "key";
const SEALED: &str = "sealed";

/// What a tenant's functions in the pool are told by its record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pooled {
    /// The tenant's address: the issuer of its sessions, what its redirect URIs and its agents' addresses begin with.
    pub base_url: String,
    /// The unguessable part of the host agent's address.
    pub host_path: String,
    /// The same of the Horizon agent's.
    pub horizon_path: String,
    /// The public half of the tenant's session key, as a JWK.
    pub session_public_key: String,
    /// Its secrets by their names, such as `session-key`.
    pub secrets: BTreeMap<String, SealedSecret>,
}

/// A secret that lies in a record.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// The data key that it is sealed with, as KMS encrypted it for this tenant and this secret.
    pub key: Vec<u8>,
    /// The secret, sealed with that data key (`auth::Sealer`).
    pub sealed: String,
}

/// Not what is in it, sealed or not.
impl std::fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedSecret")
    }
}

impl Tenants<'_> {
    /// Puts the tenant into the pool, or gives its functions there other paths and keys; false where it is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn place_in_pool(&self, tenant: &Tenant, pooled: &Pooled) -> Result<bool, StoreError> {
        let change = Change::new()
            .set(PLACE, text(IN_POOL))
            .set(POOLED, AttributeValue::M(item_of(pooled)));
        self.place(tenant, change).await
    }

    /// Takes the tenant out of the pool: nobody is led there any more, and what is due of it goes to its own queues. What the functions
    /// there read stays, for the wakes that are under way; false where the tenant is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn take_out_of_pool(&self, tenant: &Tenant) -> Result<bool, StoreError> {
        self.place(tenant, Change::new().remove(&[PLACE])).await
    }

    async fn place(&self, tenant: &Tenant, change: Change) -> Result<bool, StoreError> {
        let change = change
            .when("attribute_exists(#pk)")
            .when(OWN)
            .value(PREFIX, text(tenant.prefix()))
            .when(&format!("#{STATUS} <> :{REMOVED}"))
            .value(REMOVED, text(REMOVED));
        let written = self.store.update(self.table(), &key(tenant), change).await;
        self.store.inner.remembered.forget(tenant);
        Ok(matches!(written?, Written::Done(_)))
    }

    /// What the tenant's functions in the pool are told, if it is or was there; as it was read [`SETTINGS_TTL`](super::SETTINGS_TTL) ago at
    /// the latest.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub async fn pooled(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<Arc<Pooled>>, StoreError> {
        let record = self.record(tenant, now).await?;
        let own = record.filter(|record| record.prefix == tenant.prefix());
        Ok(own.and_then(|record| record.pooled))
    }

    /// Whether the tenant is in the pool, likewise.
    ///
    /// # Errors
    /// As [`Tenants::standing`].
    pub async fn is_pooled(&self, tenant: &Tenant, now: Timestamp) -> Result<bool, StoreError> {
        let record = self.record(tenant, now).await?;
        Ok(record.is_some_and(|record| record.prefix == tenant.prefix() && record.in_pool))
    }

    /// The present incarnation of this name in the pool, and how it stands, as the table says now; `None` where there is none. Reads no
    /// more of its record than that.
    ///
    /// # Errors
    /// What the database says.
    pub async fn present_in_pool(&self, name: &Tenant) -> Result<Option<(Tenant, Standing)>, StoreError> {
        let only = Some(WHEREABOUTS);
        let item = self.store.item_of(self.table(), &key(name), only).await?;
        Ok(item.and_then(|item| {
            let record = record_of(name, &item);
            let tenant = Tenant::from_prefix(&record.prefix).ok()?;
            let standing = standing_of(&tenant, Some(&record));
            (record.in_pool && tenant.name() == name.name()).then_some((tenant, standing))
        }))
    }
}

/// Whether a record says that its tenant is in the pool.
pub(super) fn is_in_pool(item: &Item) -> bool {
    text_of(item, PLACE) == Some(IN_POOL)
}

/// What of a record goes when its tenant does.
pub(super) const OF_POOL: [&str; 2] = [PLACE, POOLED];

/// What a record says to the pool's functions; nothing where a part is missing.
pub(super) fn pooled_of(item: &Item) -> Option<Arc<Pooled>> {
    let map = item.get(POOLED)?.as_m().ok()?;
    let named = |name: &str| map.get(name)?.as_s().ok().cloned();
    let secrets = map.get(SECRETS)?.as_m().ok()?.iter();
    let secrets = secrets.map(|(name, secret)| {
        let secret = secret.as_m().ok()?;
        let key = secret.get(KEY)?.as_b().ok()?.as_ref().to_vec();
        let sealed = secret.get(SEALED)?.as_s().ok()?.clone();
        Some((name.clone(), SealedSecret { key, sealed }))
    });
    Some(Arc::new(Pooled {
        base_url: named(BASE_URL)?,
        host_path: named(HOST_PATH)?,
        horizon_path: named(HORIZON_PATH)?,
        session_public_key: named(SESSION_PUBLIC_KEY)?,
        secrets: secrets.collect::<Option<_>>()?,
    }))
}

/// What the record says to the pool's functions, in DynamoDB's JSON, for whoever writes it without this room.
#[must_use]
pub fn pooled_value(pooled: &Pooled) -> Value {
    plain(&AttributeValue::M(item_of(pooled)))
}

/// The same from there; `None` where a part is missing.
#[must_use]
pub fn pooled_from(value: &Value) -> Option<Pooled> {
    let item = HashMap::from([(POOLED.to_owned(), attribute(value)?)]);
    pooled_of(&item).map(Arc::unwrap_or_clone)
}

fn plain(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::B(bytes) => json!({ "B": BASE64_STANDARD.encode(bytes) }),
        AttributeValue::M(map) => {
            let map: Map<String, Value> = map
                .iter()
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect();
            json!({ "M": map })
        }
        // Nothing else is in a record of the pool.
        _ => Value::Null,
    }
}

fn attribute(value: &Value) -> Option<AttributeValue> {
    let (kind, value) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "S" => text(value.as_str()?),
        "B" => AttributeValue::B(Blob::new(BASE64_STANDARD.decode(value.as_str()?).ok()?)),
        "M" => {
            let map = value.as_object()?.iter();
            let map = map.map(|(name, value)| Some((name.clone(), attribute(value)?)));
            AttributeValue::M(map.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn item_of(pooled: &Pooled) -> HashMap<String, AttributeValue> {
    let secrets = pooled.secrets.iter().map(|(name, secret)| {
        let key = AttributeValue::B(Blob::new(secret.key.clone()));
        let parts = [(KEY.to_owned(), key), (SEALED.to_owned(), text(&secret.sealed))];
        (name.clone(), AttributeValue::M(HashMap::from(parts)))
    });
    HashMap::from([
        (BASE_URL.to_owned(), text(&pooled.base_url)),
        (HOST_PATH.to_owned(), text(&pooled.host_path)),
        (HORIZON_PATH.to_owned(), text(&pooled.horizon_path)),
        (SESSION_PUBLIC_KEY.to_owned(), text(&pooled.session_public_key)),
        (SECRETS.to_owned(), AttributeValue::M(secrets.collect())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_pool_is_the_same_after_a_way_through_json_and_half_of_one_is_none() {
        let secret = SealedSecret {
            key: vec![0, 255],
            sealed: "v1.kms.x".to_owned(),
        };
        let pooled = Pooled {
            base_url: "https://acme.example".to_owned(),
            host_path: "0123".to_owned(),
            horizon_path: "4567".to_owned(),
            session_public_key: "{}".to_owned(),
            secrets: BTreeMap::from([("session-key".to_owned(), secret)]),
        };
        let value = pooled_value(&pooled);
        assert_eq!(pooled_from(&value).as_ref(), Some(&pooled));
        for part in [
            "base_url",
            "host_path",
            "horizon_path",
            "session_public_key",
            "secrets",
        ] {
            let mut half = value.clone();
            half["M"].as_object_mut().unwrap().remove(part);
            assert_eq!(pooled_from(&half), None, "{part}");
        }
        for rubbish in [
            json!(null),
            json!({}),
            json!({"M": {"x": {"N": "1"}}}),
            json!({"M": 7}),
            json!({"B": "?"}),
        ] {
            assert_eq!(pooled_from(&rubbish), None, "{rubbish}");
        }
    }
}
