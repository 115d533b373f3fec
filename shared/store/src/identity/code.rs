//! Authorization codes: good once.

use std::time::Duration;

use domain::{Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Code, Identity, Redeemed};
use crate::StoreError;
use crate::change::{Change, text};
use crate::codec::{Item, Key, decode, document, encode, parse, text_of};
use crate::dynamo::Written;
use crate::tasks::expiry;

/// How long a code is remembered after its end, so that its replay is known for one.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

#[derive(Serialize, Deserialize)]
struct CodeItem {
    pk: String,
    sk: String,
    body: String,
    /// Until when it is good, to the millisecond.
    until: Timestamp,
    /// The family it was redeemed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redeemed_for: Option<String>,
    expires_at: i64,
}

fn code_key(tenant: &Tenant, code_hash: &str) -> Key {
    (format!("{}#code#{code_hash}", tenant.prefix()), "CODE".to_owned())
}

impl Identity<'_> {
    /// Stores a new code under its hash.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_code(&self, tenant: &Tenant, code_hash: &str, code: &Code) -> Result<(), StoreError> {
        let (pk, sk) = code_key(tenant, code_hash);
        let item = CodeItem {
            pk,
            sk,
            body: document("the code", code)?,
            until: code.expires_at,
            redeemed_for: None,
            expires_at: expiry(code.expires_at.after(REMEMBERED)),
        };
        self.store
            .put(self.table(), encode(&item)?, Change::new())
            .await?;
        Ok(())
    }

    /// Uses a code up, in one conditional write. `family_id` is new and random with every attempt: it says later what
    /// the code was redeemed for, and lets a repeat whose first answer was lost know its own work.
    ///
    /// # Errors
    /// What the database says.
    pub async fn redeem_code(
        &self,
        tenant: &Tenant,
        code_hash: &str,
        family_id: &str,
        now: Timestamp,
    ) -> Result<Redeemed, StoreError> {
        let change = Change::new()
            .set("redeemed_for", text(family_id))
            .when("attribute_not_exists(#redeemed_for)")
            .when("#until > :now")
            .value("now", text(now));
        let key = code_key(tenant, code_hash);
        match self.store.update_at(self.table(), &key, change).await? {
            Written::Done(item) => self.code(item).map(Redeemed::Fresh),
            Written::Refused(None) => Ok(Redeemed::Missing),
            Written::Refused(Some(item)) => match text_of(&item, "redeemed_for") {
                Some(family) if family == family_id => self.code(item).map(Redeemed::Fresh),
                Some(family) => Ok(Redeemed::Replayed {
                    family_id: family.to_owned(),
                }),
                None => Ok(Redeemed::Missing),
            },
        }
    }

    fn code(&self, item: Item) -> Result<Code, StoreError> {
        let item: CodeItem = decode(self.table(), item)?;
        parse(self.table(), &(item.pk, item.sk), &item.body)
    }
}
