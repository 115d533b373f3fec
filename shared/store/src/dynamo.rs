//! The few DynamoDB requests that everything here is made of, with their outcomes as types.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::time::Duration;

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, Delete, KeysAndAttributes, Put, ReturnValue,
    ReturnValuesOnConditionCheckFailure as OnRefusal, TransactWriteItem, Update,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::change::{Change, names, text};
use crate::error::{CONFLICT, failed, unavailable};
use crate::schema::{PARTITION, SORT};
use crate::{Store, StoreError};

/// An item as DynamoDB has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Partition and sort key of an item.
pub(crate) type Key = (String, String);

/// How often a write that ran into somebody else's transaction is tried.
const ROUNDS: u32 = 8;

/// Most bytes of one attribute that holds a document; an item may have 400 KB with everything else in it.
pub(crate) const DOCUMENT_LIMIT: usize = 350 * 1024;

/// Most bytes of the documents of one transaction, which may have 4 MB with everything else in it.
const TRANSACTION_LIMIT: usize = 3_800_000;

/// Most writes in one transaction.
const TRANSACTION_ITEMS: usize = 100;

/// Most keys in one batch of reads.
const BATCH: usize = 100;

/// What became of a conditional write.
#[derive(Debug)]
pub(crate) enum Written {
    /// It is written; the item as it is now, where the request gives it.
    Done(Item),
    /// The condition did not hold; the item as it is, if there is one.
    Refused(Option<Item>),
}

/// What became of a transaction.
#[derive(Debug)]
pub(crate) enum Transacted {
    /// All of it is written.
    Done,
    /// Nothing is written: these conditions did not hold, each with the item as it is, if there is one.
    Refused(Vec<(usize, Option<Item>)>),
}

/// A query of one partition. Over a table it reads what is there now; an index may lag behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query<'a> {
    pub(crate) table: &'a str,
    pub(crate) index: Option<&'a str>,
    /// Over `#names` and `:values`.
    pub(crate) condition: &'a str,
    pub(crate) values: Vec<(&'a str, AttributeValue)>,
    pub(crate) limit: Option<u32>,
    pub(crate) backwards: bool,
    pub(crate) start: Option<Item>,
}

impl Store {
    /// One page, and where the next one starts.
    pub(crate) async fn query(&self, query: Query<'_>) -> Result<(Vec<Item>, Option<Item>), StoreError> {
        let values = query
            .values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let request = self
            .client()
            .query()
            .table_name(query.table)
            .set_index_name(query.index.map(str::to_owned))
            .key_condition_expression(query.condition)
            .set_expression_attribute_names(Some(names(query.condition)))
            .set_expression_attribute_values(Some(values.collect()))
            .consistent_read(query.index.is_none())
            .scan_index_forward(!query.backwards)
            .set_limit(query.limit.and_then(|limit| i32::try_from(limit).ok()))
            .set_exclusive_start_key(query.start);
        let _turn = self.turn().await;
        let answer = request.send().await.map_err(failed("Query"))?;
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }

    /// Every page.
    pub(crate) async fn query_all(&self, mut query: Query<'_>) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::new();
        loop {
            let (more, next) = self.query(query.clone()).await?;
            items.extend(more);
            if next.is_none() {
                return Ok(items);
            }
            query.start = next;
        }
    }

    pub(crate) async fn item(&self, table: &str, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self
            .client()
            .get_item()
            .table_name(table)
            .set_key(Some(keyed(key)));
        let _turn = self.turn().await;
        let answer = request
            .consistent_read(true)
            .send()
            .await
            .map_err(failed("GetItem"))?;
        Ok(answer.item)
    }

    /// Puts an item where the change's condition holds; the change's updates are not looked at.
    pub(crate) async fn put(&self, table: &str, item: Item, change: Change) -> Result<Written, StoreError> {
        let request = self
            .client()
            .put_item()
            .table_name(table)
            .set_item(Some(item))
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(some(change.names()))
            .set_expression_attribute_values(some(change.values))
            .return_values_on_condition_check_failure(OnRefusal::AllOld);
        let _turn = self.turn().await;
        let mut round = 0;
        loop {
            let error = match request.clone().send().await {
                Ok(_) => return Ok(Written::Done(Item::new())),
                Err(error) => error,
            };
            round += 1;
            match error.as_service_error() {
                Some(refused) if refused.is_conditional_check_failed_exception() => {
                    return Ok(Written::Refused(match error.into_service_error() {
                        aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(refused) => refused.item,
                        _ => None,
                    }));
                }
                Some(other) if other.code() == Some(CONFLICT) && round < ROUNDS => pause(round).await,
                _ => return Err(failed("PutItem")(error)),
            }
        }
    }

    /// Changes an item where the change's condition holds.
    pub(crate) async fn update(&self, table: &str, key: &Key, change: Change) -> Result<Written, StoreError> {
        let request = self
            .client()
            .update_item()
            .table_name(table)
            .set_key(Some(keyed(key)))
            .update_expression(change.update())
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(some(change.names()))
            .set_expression_attribute_values(some(change.values))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(OnRefusal::AllOld);
        let _turn = self.turn().await;
        let mut round = 0;
        loop {
            let error = match request.clone().send().await {
                Ok(answer) => return Ok(Written::Done(answer.attributes.unwrap_or_default())),
                Err(error) => error,
            };
            round += 1;
            match error.as_service_error() {
                Some(refused) if refused.is_conditional_check_failed_exception() => {
                    return Ok(Written::Refused(match error.into_service_error() {
                        aws_sdk_dynamodb::operation::update_item::UpdateItemError::ConditionalCheckFailedException(refused) => refused.item,
                        _ => None,
                    }));
                }
                Some(other) if other.code() == Some(CONFLICT) && round < ROUNDS => pause(round).await,
                _ => return Err(failed("UpdateItem")(error)),
            }
        }
    }

    /// Writes all of it or nothing.
    pub(crate) async fn transact(&self, writes: Writes) -> Result<Transacted, StoreError> {
        const OPERATION: &str = "TransactWriteItems";
        let items = writes.checked()?;
        let request = self
            .client()
            .transact_write_items()
            .set_transact_items(Some(items));
        let _turn = self.turn().await;
        let mut round = 0;
        loop {
            // Each round gets a client token of its own from the SDK, whose own repeats within it share that token.
            let error = match request.clone().send().await {
                Ok(_) => return Ok(Transacted::Done),
                Err(error) => error,
            };
            round += 1;
            let reasons = match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
                    canceled.cancellation_reasons.clone().unwrap_or_default()
                }
                _ => return Err(failed(OPERATION)(error)),
            };
            match Canceled::of(reasons) {
                Canceled::Refused(refused) => return Ok(Transacted::Refused(refused)),
                Canceled::Transient if round < ROUNDS => pause(round).await,
                Canceled::Transient => return Err(StoreError::Throttled { operation: OPERATION }),
                Canceled::Otherwise => return Err(unavailable(OPERATION)(error)),
            }
        }
    }

    /// The items of these keys, as they are now, by key; what is not there is not in the answer.
    pub(crate) async fn items(&self, table: &str, keys: &[Key]) -> Result<HashMap<Key, Item>, StoreError> {
        const OPERATION: &str = "BatchGetItem";
        let _turn = self.turn().await;
        let mut found = HashMap::with_capacity(keys.len());
        for batch in keys.chunks(BATCH) {
            let mut open: Vec<Item> = batch.iter().map(keyed).collect();
            let mut round = 0;
            while !open.is_empty() {
                let wanted = KeysAndAttributes::builder()
                    .set_keys(Some(open))
                    .consistent_read(true)
                    .build();
                let wanted = wanted.map_err(unavailable(OPERATION))?;
                let answer = self
                    .client()
                    .batch_get_item()
                    .request_items(table, wanted)
                    .send()
                    .await;
                let answer = answer.map_err(failed(OPERATION))?;
                let got: Vec<Item> = answer
                    .responses
                    .into_iter()
                    .flat_map(|mut all| all.remove(table))
                    .flatten()
                    .collect();
                open = answer
                    .unprocessed_keys
                    .and_then(|mut all| all.remove(table))
                    .map(|left| left.keys)
                    .unwrap_or_default();
                // A page of large items comes in pieces; only a batch that brings nothing at all is a sign of load.
                round = if got.is_empty() { round + 1 } else { 0 };
                if round >= ROUNDS {
                    return Err(StoreError::Throttled { operation: OPERATION });
                }
                if round > 0 {
                    pause(round).await;
                }
                for item in got {
                    found.insert(key_of(table, &item)?, item);
                }
            }
        }
        Ok(found)
    }
}

/// Why a transaction was canceled, over all its writes.
#[derive(Debug)]
enum Canceled {
    Refused(Vec<(usize, Option<Item>)>),
    Transient,
    Otherwise,
}

impl Canceled {
    /// A condition that does not hold decides, whatever else went wrong: a repeat would find the same.
    fn of(reasons: Vec<CancellationReason>) -> Self {
        let is =
            |reason: &CancellationReason, codes: &[&str]| codes.contains(&reason.code().unwrap_or("None"));
        let fine = ["None"];
        let refused = ["ConditionalCheckFailed"];
        let transient = [
            "TransactionConflict",
            "ThrottlingError",
            "ProvisionedThroughputExceeded",
        ];
        if reasons.iter().any(|reason| is(reason, &refused)) {
            let refused = reasons
                .into_iter()
                .enumerate()
                .filter(|(_, reason)| is(reason, &refused));
            return Self::Refused(refused.map(|(index, reason)| (index, reason.item)).collect());
        }
        let all_transient = reasons
            .iter()
            .all(|reason| is(reason, &fine) || is(reason, &transient));
        if all_transient && reasons.iter().any(|reason| is(reason, &transient)) {
            Self::Transient
        } else {
            Self::Otherwise
        }
    }
}

/// The writes of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    items: Vec<TransactWriteItem>,
    size: usize,
}

impl Writes {
    pub(crate) fn put(&mut self, table: &str, item: Item, change: Change) -> Result<(), StoreError> {
        self.size += size_of(item.values());
        let put = Put::builder()
            .table_name(table)
            .set_item(Some(item))
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(some(change.names()))
            .set_expression_attribute_values(some(change.values))
            .return_values_on_condition_check_failure(OnRefusal::AllOld);
        let put = put.build().map_err(unavailable("TransactWriteItems"))?;
        self.items.push(TransactWriteItem::builder().put(put).build());
        Ok(())
    }

    pub(crate) fn update(&mut self, table: &str, key: &Key, change: Change) -> Result<(), StoreError> {
        self.size += size_of(change.values.values());
        let update = Update::builder()
            .table_name(table)
            .set_key(Some(keyed(key)))
            .update_expression(change.update())
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(some(change.names()))
            .set_expression_attribute_values(some(change.values))
            .return_values_on_condition_check_failure(OnRefusal::AllOld);
        let update = update.build().map_err(unavailable("TransactWriteItems"))?;
        self.items
            .push(TransactWriteItem::builder().update(update).build());
        Ok(())
    }

    pub(crate) fn delete(&mut self, table: &str, key: &Key, change: Change) -> Result<(), StoreError> {
        let delete = Delete::builder()
            .table_name(table)
            .set_key(Some(keyed(key)))
            .set_condition_expression(change.condition())
            .set_expression_attribute_names(some(change.names()))
            .set_expression_attribute_values(some(change.values));
        let delete = delete.build().map_err(unavailable("TransactWriteItems"))?;
        self.items
            .push(TransactWriteItem::builder().delete(delete).build());
        Ok(())
    }

    fn checked(self) -> Result<Vec<TransactWriteItem>, StoreError> {
        let (count, size) = (self.items.len(), self.size);
        fits("a transaction", count, TRANSACTION_ITEMS)?;
        fits("a transaction", size, TRANSACTION_LIMIT)?;
        Ok(self.items)
    }
}

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

fn size_of<'v>(values: impl Iterator<Item = &'v AttributeValue>) -> usize {
    values
        .filter_map(|value| value.as_s().ok())
        .map(String::len)
        .sum()
}

fn some<K, V>(map: HashMap<K, V>) -> Option<HashMap<K, V>> {
    (!map.is_empty()).then_some(map)
}

/// Waits longer each round, and never as long as a rival that started at the same time.
async fn pause(round: u32) {
    let most = 10_u64 << round.min(6);
    let jitter = std::hash::RandomState::new().hash_one(round) % most;
    tokio::time::sleep(Duration::from_millis(most / 2 + jitter / 2)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canceled(codes: &[&str]) -> Canceled {
        Canceled::of(
            codes
                .iter()
                .map(|code| CancellationReason::builder().code(*code).build())
                .collect(),
        )
    }

    #[test]
    fn a_canceled_transaction_is_told_apart_by_its_reasons() {
        assert!(
            matches!(canceled(&["None", "ConditionalCheckFailed"]), Canceled::Refused(at) if at.len() == 1 && at[0].0 == 1)
        );
        assert!(matches!(
            canceled(&["TransactionConflict", "ConditionalCheckFailed"]),
            Canceled::Refused(_)
        ));
        assert!(matches!(
            canceled(&["TransactionConflict", "None"]),
            Canceled::Transient
        ));
        assert!(matches!(
            canceled(&["None", "ThrottlingError"]),
            Canceled::Transient
        ));
        assert!(matches!(
            canceled(&["ValidationError", "TransactionConflict"]),
            Canceled::Otherwise
        ));
        assert!(matches!(canceled(&[]), Canceled::Otherwise));
    }
}
