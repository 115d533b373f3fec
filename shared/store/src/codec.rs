//! Items and keys, and the way between them and our types.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::RECORDS;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;
use crate::change::{number, text};
use crate::error::unavailable;
use crate::schema::{PARTITION, SORT};

/// An item as DynamoDB has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The attribute that says which version of records an item was put in; items of before there were versions have none.
pub(crate) const VERSION: &str = "v";

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

/// The struct as an item, with the version of records it was put in. What is changed in place carries a version of its
/// own in its body, because a release of before there were versions leaves this one as it is.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::to_item(value).map_err(unavailable("encode"))?;
    item.insert(VERSION.to_owned(), number(RECORDS));
    Ok(item)
}

/// The item as a struct.
pub(crate) fn decode<T: DeserializeOwned>(table: &str, item: Item) -> Result<T, StoreError> {
    let key = key_of(table, &item)?;
    serde_dynamo::from_item(item).map_err(|error| inconsistent(table, &key, error))
}

/// The JSON text as a document.
pub(crate) fn parse<T: DeserializeOwned>(table: &str, key: &Key, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| inconsistent(table, key, place(&error)))
}

/// Where a text is no such document. The position says it; the message might repeat what is stored.
pub(crate) fn place(error: &serde_json::Error) -> String {
    format!(
        "no such document (line {}, column {})",
        error.line(),
        error.column()
    )
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
