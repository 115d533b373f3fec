//! Items and keys, and the way between them and our types.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;
use crate::change::text;
use crate::error::unavailable;
use crate::schema::{PARTITION, SORT};

/// An item as DynamoDB has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Partition and sort key of an item.
pub(crate) type Key = (String, String);

/// Most bytes of one attribute that holds a document; an item may have 400 KB with everything else in it.
pub(crate) const DOCUMENT_LIMIT: usize = 350 * 1024;

/// JSON text of a document, where it fits into an item.
pub(crate) fn document<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    let text = serde_json::to_string(value).map_err(unavailable("encode"))?;
    fits(what, text.len(), DOCUMENT_LIMIT)?;
    Ok(text)
}

pub(crate) fn fits(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit {
        return Err(StoreError::TooLarge { what, size, limit });
    }
    Ok(())
}

/// The struct as an item.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Item, StoreError> {
    serde_dynamo::to_item(value).map_err(unavailable("encode"))
}

/// The item as a struct.
pub(crate) fn decode<T: DeserializeOwned>(table: &str, item: Item) -> Result<T, StoreError> {
    let key = key_of(table, &item)?;
    serde_dynamo::from_item(item).map_err(|error| inconsistent(table, &key, error))
}

/// The JSON text as a document.
pub(crate) fn parse<T: DeserializeOwned>(table: &str, key: &Key, text: &str) -> Result<T, StoreError> {
    // The position says where; the message might repeat what is stored.
    let place = |error: serde_json::Error| {
        format!(
            "no such document (line {}, column {})",
            error.line(),
            error.column()
        )
    };
    serde_json::from_str(text).map_err(|error| inconsistent(table, key, place(error)))
}

pub(crate) fn inconsistent(table: &str, (pk, sk): &Key, reason: impl ToString) -> StoreError {
    StoreError::Inconsistent {
        table: table.to_owned(),
        key: format!("{pk} {sk}"),
        reason: reason.to_string(),
    }
}

pub(crate) fn keyed((pk, sk): &Key) -> Item {
    Item::from([(PARTITION.to_owned(), text(pk)), (SORT.to_owned(), text(sk))])
}

pub(crate) fn key_of(table: &str, item: &Item) -> Result<Key, StoreError> {
    match (text_of(item, PARTITION), text_of(item, SORT)) {
        (Some(pk), Some(sk)) => Ok((pk.to_owned(), sk.to_owned())),
        _ => Err(inconsistent(table, &Key::default(), "an item without a key")),
    }
}

pub(crate) fn text_of<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}
