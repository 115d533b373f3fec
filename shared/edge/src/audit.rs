//! What an operator is told of the audit, here and on AWS.

use auth::card_signature::{CardKeys, Checked, check};
use auth::{KeyError, Sealer};
use domain::{Tenant, Timestamp};
use serde_json::{Value, json};
use store::StoreError;
use store::audit::{Audit, AuditQuery};

/// What the keys that seals are signed with are for: they follow from the sweeper's sealing keys.
pub const SEALS: &str = "audit";

/// Most entries of an answer.
const MOST: usize = 1000;

/// A tenant's newest entries, or the platform's own.
///
/// # Errors
/// What the database says.
pub async fn listed(
    audit: Audit<'_>,
    tenant: Option<&Tenant>,
    since: Option<Timestamp>,
) -> Result<Value, StoreError> {
    let asked = AuditQuery {
        from: since,
        most: MOST,
        ..AuditQuery::default()
    };
    let page = audit.list(tenant, &asked).await?;
    Ok(json!({ "entries": page.items, "isWhole": page.next.is_none() }))
}

/// Why seals were not looked at.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// What the database says.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The keys are none.
    #[error("the seals' keys do not follow from the sealing keys: {0}")]
    Keys(#[from] KeyError),
}

/// What a look at a tenant's entries, or the platform's own, found against their seals.
///
/// # Errors
/// [`VerifyError`].
pub async fn verified(
    audit: Audit<'_>,
    tenant: Option<&Tenant>,
    since: Option<Timestamp>,
    sealer: &Sealer,
) -> Result<Value, VerifyError> {
    let jwks = json!({ "keys": CardKeys::of(sealer, SEALS)?.public_jwks() });
    let is_signed = |[protected, signature]: &[String; 2], bytes: &[u8]| {
        matches!(check(protected, signature, bytes, &jwks), Checked::Good { .. })
    };
    let since = since.unwrap_or(Timestamp::from_millis(0));
    Ok(json!(audit.verify(tenant, since, &is_signed).await?))
}
