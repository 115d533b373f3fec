//! Items that hold one document and are found by their key alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::change::{Change, text};
use crate::codec::{Item, Key, decode, document, encode, fits, keyed, parse, text_of};
use crate::dynamo::Written;
use crate::error::failed;
use crate::tasks::expiry;
use crate::{Store, StoreError, count};

/// Most bytes of a partition key.
const PARTITION_LIMIT: usize = 2048;
/// Most bytes of a sort key.
const SORT_LIMIT: usize = 1024;

#[derive(Serialize, Deserialize)]
struct Record {
    pk: String,
    sk: String,
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl Store {
    /// Puts a document, over what was there; `expires_at` is for housekeeping alone.
    pub(crate) async fn put_record<T: Serialize>(
        &self,
        table: &str,
        key: Key,
        document_name: &'static str,
        value: &T,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let item = record(key, document_name, value, expires_at)?;
        self.put(table, item, Change::new()).await?;
        Ok(())
    }

    /// The document under a key.
    pub(crate) async fn record<T: DeserializeOwned>(
        &self,
        table: &str,
        key: &Key,
    ) -> Result<Option<T>, StoreError> {
        let found = self.item_at(table, key).await?;
        found.map(|item| document_of(table, item)).transpose()
    }

    /// The item under a key that others may have had a hand in: nothing lies under one that is too long.
    pub(crate) async fn item_at(&self, table: &str, key: &Key) -> Result<Option<Item>, StoreError> {
        // A key longer than DynamoDB takes was never stored.
        if !addressable(key) {
            return Ok(None);
        }
        self.item(table, key).await
    }

    /// Changes the item under a key that others may have had a hand in.
    pub(crate) async fn update_at(
        &self,
        table: &str,
        key: &Key,
        change: Change,
    ) -> Result<Written, StoreError> {
        if !addressable(key) {
            return Ok(Written::Refused(None));
        }
        self.update(table, key, change).await
    }

    /// Takes an item away; what it was. Of several at once only one gets it: it leaves its mark first, by which a repeat
    /// whose first answer was lost knows its own work.
    pub(crate) async fn take(&self, table: &str, key: &Key) -> Result<Option<Item>, StoreError> {
        let mark = self.mark();
        let change = Change::new()
            .set("taken_by", text(&mark))
            .when("attribute_exists(#pk)")
            .when("attribute_not_exists(#taken_by)");
        let item = match self.update_at(table, key, change).await? {
            Written::Done(item) => item,
            Written::Refused(Some(item)) if text_of(&item, "taken_by") == Some(&mark) => item,
            Written::Refused(_) => return Ok(None),
        };
        // From here on nobody else gets it, whether it goes away now or when it expires.
        if let Err(error) = self.remove(table, key).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(table, error, "what was taken is still there, marked");
        }
        Ok(Some(item))
    }

    /// Removes an item; what is not there is as good as removed.
    pub(crate) async fn remove(&self, table: &str, key: &Key) -> Result<(), StoreError> {
        if !addressable(key) {
            return Ok(());
        }
        let request = self
            .client()
            .delete_item()
            .table_name(table)
            .set_key(Some(keyed(key)))
            .set_return_consumed_capacity(count::wanted());
        let _turn = self.turn().await;
        let answer = Box::pin(request.send()).await.map_err(failed("DeleteItem"))?;
        count::written(answer.consumed_capacity());
        Ok(())
    }
}

/// The item of a document.
pub(crate) fn record<T: Serialize>(
    key: Key,
    document_name: &'static str,
    value: &T,
    expires_at: Option<Timestamp>,
) -> Result<Item, StoreError> {
    fits_key(document_name, &key)?;
    let (pk, sk) = key;
    encode(&Record {
        pk,
        sk,
        body: document(document_name, value)?,
        expires_at: expires_at.map(expiry),
    })
}

/// The document of an item.
pub(crate) fn document_of<T: DeserializeOwned>(table: &str, item: Item) -> Result<T, StoreError> {
    let record: Record = decode(table, item)?;
    parse(table, &(record.pk, record.sk), &record.body)
}

/// Refuses a key that DynamoDB would not take.
pub(crate) fn fits_key(what: &'static str, (pk, sk): &Key) -> Result<(), StoreError> {
    fits(what, pk.len(), PARTITION_LIMIT)?;
    fits(what, sk.len(), SORT_LIMIT)
}

fn addressable(key: &Key) -> bool {
    fits_key("the key", key).is_ok()
}

/// SHA-256 of a text, to stand for it in a key.
pub(crate) fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
