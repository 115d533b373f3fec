//! What a tenant's host made of vectors of sentences, so that it is not made again by each process: bytes under the hash of what they
//! were made of. What comes of our own sentences is the same for every tenant, and lies under each all the same: no function of one
//! tenant writes what another reads.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Tenant, Timestamp};

use crate::change::{Change, number};
use crate::codec::{DOCUMENT_LIMIT, Key, VERSION, fits, keyed};
use crate::schema::EXPIRES_AT;
use crate::tasks::{expiry, is_over};
use crate::{Store, StoreError};

/// How long they are kept after they were made: until well after the release, or the card, that had them.
const KEPT: Duration = Duration::from_secs(400 * 24 * 3600);
/// The attribute that holds the bytes.
const BYTES: &str = "bytes";

/// Vectors, in the table of tasks.
#[derive(Clone, Copy)]
pub struct Vectors<'s> {
    pub(crate) store: &'s Store,
}

fn key(tenant: &Tenant, hash: &str) -> Key {
    (
        format!("{}#host#vectors#{hash}", tenant.prefix()),
        "VECTORS".to_owned(),
    )
}

impl Vectors<'_> {
    /// What is kept under this hash; `None` where there is nothing, or it is over.
    ///
    /// # Errors
    /// What the database says.
    pub async fn load(
        &self,
        tenant: &Tenant,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.store.item(self.table(), &key(tenant, hash)).await?;
        Ok(found.and_then(|mut item| {
            let until = item.get(EXPIRES_AT)?.as_n().ok()?.parse().ok();
            match item.remove(BYTES) {
                Some(AttributeValue::B(bytes)) if !is_over(until, now) => Some(bytes.into_inner()),
                _ => None,
            }
        }))
    }

    /// Keeps bytes under this hash. They follow from it, so that whoever writes last changes nothing.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] over 350 KB; what the database says.
    pub async fn keep(
        &self,
        tenant: &Tenant,
        hash: &str,
        bytes: Vec<u8>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        fits("vectors", bytes.len(), DOCUMENT_LIMIT)?;
        let mut item = keyed(&key(tenant, hash));
        item.extend([
            (BYTES.to_owned(), AttributeValue::B(bytes.into())),
            (EXPIRES_AT.to_owned(), number(expiry(now.after(KEPT)))),
            (VERSION.to_owned(), number(domain::RECORDS)),
        ]);
        self.store.put(self.table(), item, Change::new()).await.map(drop)
    }

    fn table(&self) -> &str {
        &self.store.tables().tasks
    }
}
