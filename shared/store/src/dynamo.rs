//! The few DynamoDB requests that everything here is made of, with their outcomes as types.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::pin::Pin;
use std::time::Duration;

use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, ReturnValue, ReturnValuesOnConditionCheckFailure as OnRefusal, Select,
};

use crate::change::{Change, conditioned, names, some};
use crate::codec::{Item, Key, key_of, keyed};
use crate::error::{BUSY, CONFLICT, failed, unavailable};
use crate::{Store, StoreError, count};

/// How often a write that ran into somebody else's transaction is tried.
pub(crate) const ROUNDS: u32 = 8;

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

/// A query of one partition. Over a table it reads what is there now; an index may lag behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query<'a> {
    pub(crate) table: &'a str,
    pub(crate) index: Option<&'a str>,
    /// Over `#names` and `:values`.
    pub(crate) condition: &'a str,
    /// What is left out of what was read; over `#names` and `:values` as well.
    pub(crate) filter: Option<&'a str>,
    /// The attributes that travel, as `#names`; all of them where none is said.
    pub(crate) only: Option<&'a str>,
    pub(crate) values: Vec<(&'a str, AttributeValue)>,
    pub(crate) limit: Option<u32>,
    pub(crate) backwards: bool,
    pub(crate) start: Option<Item>,
}

// The SDK's futures are large, and everything that waits for one would hold it, up to the server's connection: sent from
// the heap they cost one allocation, and the walks above fit a thread's stack also unoptimized.
impl Store {
    /// One page, and where the next one starts.
    pub(crate) async fn query(&self, query: Query<'_>) -> Result<(Vec<Item>, Option<Item>), StoreError> {
        let request = self.query_request(query);
        let _turn = self.turn().await;
        let answer = Box::pin(request.send()).await.map_err(failed("Query"))?;
        count::read(answer.consumed_capacity());
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }

    /// How many items there are, over as many pages as that takes; none of them travels.
    pub(crate) async fn count(&self, query: Query<'_>) -> Result<u64, StoreError> {
        self.count_to(query, u64::MAX).await
    }

    /// The same, which ends once there are so many.
    pub(crate) async fn count_to(&self, mut query: Query<'_>, most: u64) -> Result<u64, StoreError> {
        let mut total = 0;
        loop {
            let request = self.query_request(query.clone()).select(Select::Count);
            let _turn = self.turn().await;
            let answer = Box::pin(request.send()).await.map_err(failed("Query"))?;
            count::read(answer.consumed_capacity());
            total += u64::try_from(answer.count).unwrap_or_default();
            query.start = answer.last_evaluated_key;
            if query.start.is_none() || total >= most {
                return Ok(total);
            }
        }
    }

    fn query_request(&self, query: Query<'_>) -> QueryFluentBuilder {
        let values = query
            .values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let (filter, only) = (query.filter.unwrap_or_default(), query.only.unwrap_or_default());
        // Every attribute has a placeholder, so that no name collides with a reserved word.
        let expressions = format!("{} {filter} {only}", query.condition);
        self.client()
            .query()
            .table_name(query.table)
            .set_index_name(query.index.map(str::to_owned))
            .key_condition_expression(query.condition)
            .set_filter_expression(query.filter.map(str::to_owned))
            .set_projection_expression(query.only.map(str::to_owned))
            .set_expression_attribute_names(Some(names(&expressions)))
            .set_expression_attribute_values(Some(values.collect()))
            // An index has no consistent reads: who needs the present reads the items it names.
            .consistent_read(query.index.is_none())
            .scan_index_forward(!query.backwards)
            .set_limit(query.limit.and_then(|limit| i32::try_from(limit).ok()))
            .set_exclusive_start_key(query.start)
            .set_return_consumed_capacity(count::wanted())
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
        self.item_of(table, key, None).await
    }

    /// The same with these attributes alone, a projection expression over `#names`.
    pub(crate) async fn item_of(
        &self,
        table: &str,
        key: &Key,
        only: Option<&str>,
    ) -> Result<Option<Item>, StoreError> {
        let request = self
            .client()
            .get_item()
            .table_name(table)
            .set_key(Some(keyed(key)))
            .set_projection_expression(only.map(str::to_owned))
            .set_expression_attribute_names(only.map(names).and_then(some))
            .consistent_read(true)
            .set_return_consumed_capacity(count::wanted());
        let _turn = self.turn().await;
        let answer = Box::pin(request.send()).await.map_err(failed("GetItem"))?;
        count::read(answer.consumed_capacity());
        Ok(answer.item)
    }

    /// Puts an item where the change's condition holds; the change's updates are not looked at.
    pub(crate) async fn put(&self, table: &str, item: Item, change: Change) -> Result<Written, StoreError> {
        let request = conditioned!(
            self.client().put_item().table_name(table).set_item(Some(item)),
            change
        )
        .return_values_on_condition_check_failure(OnRefusal::AllOld)
        .set_return_consumed_capacity(count::wanted());
        let _turn = self.turn().await;
        let mut round = 0;
        loop {
            let error = match Box::pin(request.clone().send()).await {
                Ok(answer) => {
                    count::written(answer.consumed_capacity());
                    return Ok(Written::Done(Item::new()));
                }
                Err(error) => error,
            };
            round += 1;
            match error.as_service_error() {
                Some(refused) if refused.is_conditional_check_failed_exception() => {
                    return Ok(Written::Refused(match error.into_service_error() {
                        PutItemError::ConditionalCheckFailedException(refused) => refused.item,
                        _ => None,
                    }));
                }
                Some(other) if other.code() == Some(CONFLICT) && round < ROUNDS => pause(round).await,
                _ => return Err(failed("PutItem")(error)),
            }
        }
    }

    /// Changes an item where the change's condition holds.
    pub(crate) fn update(
        &self,
        table: &str,
        key: &Key,
        change: Change,
    ) -> impl Future<Output = Result<Written, StoreError>> {
        self.updated(table, key, change, false)
    }

    /// The same, for a change that must not be made twice and cannot tell: it is sent again only where it surely was not made.
    pub(crate) fn update_once(
        &self,
        table: &str,
        key: &Key,
        change: Change,
    ) -> impl Future<Output = Result<Written, StoreError>> {
        self.updated(table, key, change, true)
    }

    async fn updated(
        &self,
        table: &str,
        key: &Key,
        change: Change,
        once: bool,
    ) -> Result<Written, StoreError> {
        let again: &[&str] = if once { &BUSY } else { &[CONFLICT] };
        let request = conditioned!(
            self.client()
                .update_item()
                .table_name(table)
                .set_key(Some(keyed(key)))
                .update_expression(change.update()),
            change
        )
        .return_values(ReturnValue::AllNew)
        .return_values_on_condition_check_failure(OnRefusal::AllOld)
        .set_return_consumed_capacity(count::wanted());
        let _turn = self.turn().await;
        let mut round = 0;
        loop {
            let error = match sent(request.clone(), once).await {
                Ok(answer) => {
                    count::written(answer.consumed_capacity());
                    return Ok(Written::Done(answer.attributes.unwrap_or_default()));
                }
                Err(error) => error,
            };
            round += 1;
            match error.as_service_error() {
                Some(refused) if refused.is_conditional_check_failed_exception() => {
                    return Ok(Written::Refused(match error.into_service_error() {
                        UpdateItemError::ConditionalCheckFailedException(refused) => refused.item,
                        _ => None,
                    }));
                }
                Some(other) if other.code().is_some_and(|code| again.contains(&code)) && round < ROUNDS => {
                    pause(round).await
                }
                _ => return Err(failed("UpdateItem")(error)),
            }
        }
    }

    /// The items of these keys, as they are now, by key; what is not there is not in the answer.
    pub(crate) async fn items(&self, table: &str, keys: &[Key]) -> Result<HashMap<Key, Item>, StoreError> {
        self.items_of(table, keys, None).await
    }

    /// The same with these attributes alone, a projection expression over `#names` that has the key's.
    pub(crate) async fn items_of(
        &self,
        table: &str,
        keys: &[Key],
        only: Option<&str>,
    ) -> Result<HashMap<Key, Item>, StoreError> {
        const OPERATION: &str = "BatchGetItem";
        let _turn = self.turn().await;
        let mut found = HashMap::with_capacity(keys.len());
        for batch in keys.chunks(BATCH) {
            let mut open: Vec<Item> = batch.iter().map(keyed).collect();
            let mut round = 0;
            while !open.is_empty() {
                let wanted = KeysAndAttributes::builder()
                    .set_keys(Some(open))
                    .set_projection_expression(only.map(str::to_owned))
                    .set_expression_attribute_names(only.map(names).and_then(some))
                    .consistent_read(true)
                    .build();
                let wanted = wanted.map_err(unavailable(OPERATION))?;
                let request = self
                    .client()
                    .batch_get_item()
                    .request_items(table, wanted)
                    .set_return_consumed_capacity(count::wanted());
                let answer = Box::pin(request.send()).await.map_err(failed(OPERATION))?;
                count::read(answer.consumed_capacity());
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

type Sent = Pin<Box<dyn Future<Output = Result<UpdateItemOutput, SdkError<UpdateItemError>>> + Send>>;

/// Sends an update: once, or again by the SDK too, which cannot tell whether it was made.
fn sent(request: UpdateItemFluentBuilder, once: bool) -> Sent {
    let never = || Builder::new().retry_config(RetryConfig::disabled());
    match once {
        true => Box::pin(request.customize().config_override(never()).send()),
        false => Box::pin(request.send()),
    }
}

/// Waits longer each round, and never as long as a rival that started at the same time.
pub(crate) async fn pause(round: u32) {
    let most = 10_u64 << round.min(6);
    let jitter = std::hash::RandomState::new().hash_one(round) % most;
    tokio::time::sleep(Duration::from_millis(most / 2 + jitter / 2)).await;
}
