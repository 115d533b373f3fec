//! Families of refresh tokens: rotated with every use, and revoked whole where one is used twice (RFC 9700, 4.14.2).

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Family, Identity, Rotated};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, encode};
use crate::dynamo::Written;
use crate::tasks::expiry;

/// How long the revocation of a family that is not stored yet is remembered: longer than any code is good.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

#[derive(Serialize, Deserialize)]
struct FamilyItem {
    pk: String,
    sk: String,
    #[serde(flatten)]
    family: Family,
    expires_at: i64,
}

fn family_key(tenant: &Tenant, id: &str) -> Key {
    (format!("{}#family#{id}", tenant.prefix()), "FAMILY".to_owned())
}

impl Identity<'_> {
    /// Stores a new family. False where there is one of that id: it was revoked before it came to be stored, because
    /// its code was replayed meanwhile, and no token of it may be given out.
    ///
    /// # Errors
    /// What the database says.
    pub async fn put_family(&self, tenant: &Tenant, family: &Family) -> Result<bool, StoreError> {
        let (pk, sk) = family_key(tenant, &family.id);
        let item = FamilyItem {
            pk,
            sk,
            family: family.clone(),
            expires_at: expiry(family.expires_at),
        };
        let absent = Change::new().when("attribute_not_exists(#pk)");
        match self.store.put(self.table(), encode(&item)?, absent).await? {
            Written::Done(_) => Ok(true),
            Written::Refused(None) => Ok(false),
            // The repeat of a write whose answer was lost finds its own.
            Written::Refused(Some(known)) => Ok(self.family(known)?.is_some_and(|known| known == *family)),
        }
    }

    /// Makes the next refresh token the good one, where the presented one is; one conditional write where all is well.
    /// `next_hash` is of a new random token with every attempt.
    ///
    /// # Errors
    /// What the database says.
    pub async fn rotate(
        &self,
        tenant: &Tenant,
        family_id: &str,
        presented_hash: &str,
        next_hash: &str,
        now: Timestamp,
    ) -> Result<Rotated, StoreError> {
        let change = Change::new()
            .set("refresh_hash", text(next_hash))
            .set_to("generation", "#generation + :one")
            .value("one", number(1))
            .when("#refresh_hash = :presented")
            .value("presented", text(presented_hash))
            .when("#revoked = :no")
            .value("no", AttributeValue::Bool(false))
            .when("#until > :now")
            .value("now", text(now));
        let key = family_key(tenant, family_id);
        let family = match self.store.update_at(self.table(), &key, change).await? {
            Written::Done(item) | Written::Refused(Some(item)) => self.family(item)?,
            Written::Refused(None) => None,
        };
        match family {
            None => Ok(Rotated::Missing),
            Some(family) if family.expires_at <= now => Ok(Rotated::Missing),
            Some(family) if family.revoked => Ok(Rotated::Revoked),
            // Written just now, or by this very request before its answer was lost.
            Some(family) if family.refresh_hash == next_hash => Ok(Rotated::Yes(family)),
            Some(_) => {
                self.revoke_family(tenant, family_id, now).await?;
                Ok(Rotated::Reused)
            }
        }
    }

    /// Revokes a family, also one that is only just about to be stored: [`Identity::put_family`] finds that out.
    ///
    /// # Errors
    /// What the database says.
    pub async fn revoke_family(
        &self,
        tenant: &Tenant,
        family_id: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let change = Change::new()
            .set("revoked", AttributeValue::Bool(true))
            // A family that is not stored yet needs an end as well, or the mark would stay for ever.
            .set_to("expires_at", "if_not_exists(#expires_at, :remembered)")
            .value("remembered", number(expiry(now.after(REMEMBERED))));
        let key = family_key(tenant, family_id);
        self.store.update_at(self.table(), &key, change).await?;
        Ok(())
    }

    /// The family of that id, also a revoked one. An expired one is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_family(
        &self,
        tenant: &Tenant,
        family_id: &str,
        now: Timestamp,
    ) -> Result<Option<Family>, StoreError> {
        let key = family_key(tenant, family_id);
        let Some(item) = self.store.item_at(self.table(), &key).await? else {
            return Ok(None);
        };
        let family = self.family(item)?;
        Ok(family.filter(|family| family.expires_at > now))
    }

    /// None where there is only a revocation.
    fn family(&self, item: Item) -> Result<Option<Family>, StoreError> {
        if !item.contains_key("id") {
            return Ok(None);
        }
        Ok(Some(decode::<FamilyItem>(self.table(), item)?.family))
    }
}
