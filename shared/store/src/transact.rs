//! Transactions: all of it is written, or nothing, and then it is known why.

use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put,
    ReturnValuesOnConditionCheckFailure as OnRefusal, TransactWriteItem, Update,
};

use crate::change::{Change, conditioned};
use crate::codec::{Item, Key, fits, keyed};
use crate::dynamo::{ROUNDS, pause};
use crate::error::{failed, unavailable};
use crate::{Store, StoreError, count, timeouts};

/// Most bytes of the documents of one transaction, which may have 4 MB with everything else in it.
const TRANSACTION_LIMIT: usize = 3_800_000;

/// From so many bytes on a transaction takes its time.
const LARGE: usize = 500_000;

/// How many times as long as others a large transaction may take.
const PATIENCE: u32 = 5;

/// Most writes in one transaction.
const TRANSACTION_ITEMS: usize = 100;

/// What became of a transaction.
#[derive(Debug)]
pub(crate) enum Transacted {
    /// All of it is written.
    Done,
    /// Nothing is written: these conditions did not hold, each with the item as it is, if there is one.
    Refused(Vec<(usize, Option<Item>)>),
}

impl Store {
    /// Writes all of it or nothing.
    ///
    /// All tries share one client token, so that a repeat of what was written already, only that the answer was lost,
    /// is answered as done. A transaction that was canceled leaves its token as good as new.
    pub(crate) async fn transact(&self, mut writes: Writes) -> Result<Transacted, StoreError> {
        const OPERATION: &str = "TransactWriteItems";
        let tells = self.tells.as_ref().filter(|entry| !entry.is_kept());
        if let Some(entry) = tells {
            writes.put(&self.tables().audit, entry.item(self)?, Change::new())?;
        }
        let large = writes.size > LARGE;
        let items = writes.checked()?;
        let request = self
            .client()
            .transact_write_items()
            .set_transact_items(Some(items))
            .client_request_token(self.mark())
            .set_return_consumed_capacity(count::wanted());
        let _turn = self.turn().await;
        let mut round = 0;
        loop {
            let sent = if large {
                let patient = Builder::new().timeout_config(timeouts(PATIENCE));
                Box::pin(request.clone().customize().config_override(patient).send()).await
            } else {
                Box::pin(request.clone().send()).await
            };
            let error = match sent {
                Ok(answer) => {
                    count::written(answer.consumed_capacity());
                    tells.inspect(|entry| entry.keep());
                    return Ok(Transacted::Done);
                }
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
        let put = conditioned!(Put::builder().table_name(table).set_item(Some(item)), change)
            .return_values_on_condition_check_failure(OnRefusal::AllOld);
        let put = put.build().map_err(unavailable("TransactWriteItems"))?;
        self.items.push(TransactWriteItem::builder().put(put).build());
        Ok(())
    }

    pub(crate) fn update(&mut self, table: &str, key: &Key, change: Change) -> Result<(), StoreError> {
        self.size += size_of(change.values.values());
        let update = conditioned!(
            Update::builder()
                .table_name(table)
                .set_key(Some(keyed(key)))
                .update_expression(change.update()),
            change
        )
        .return_values_on_condition_check_failure(OnRefusal::AllOld);
        let update = update.build().map_err(unavailable("TransactWriteItems"))?;
        self.items
            .push(TransactWriteItem::builder().update(update).build());
        Ok(())
    }

    /// Everything only where this holds of another item.
    pub(crate) fn check(&mut self, table: &str, key: &Key, change: Change) -> Result<(), StoreError> {
        let check = conditioned!(
            ConditionCheck::builder()
                .table_name(table)
                .set_key(Some(keyed(key))),
            change
        );
        let check = check.build().map_err(unavailable("TransactWriteItems"))?;
        self.items
            .push(TransactWriteItem::builder().condition_check(check).build());
        Ok(())
    }

    pub(crate) fn delete(&mut self, table: &str, key: &Key, change: Change) -> Result<(), StoreError> {
        let delete = conditioned!(
            Delete::builder().table_name(table).set_key(Some(keyed(key))),
            change
        );
        let delete = delete.build().map_err(unavailable("TransactWriteItems"))?;
        self.items
            .push(TransactWriteItem::builder().delete(delete).build());
        Ok(())
    }

    fn checked(self) -> Result<Vec<TransactWriteItem>, StoreError> {
        let (count, size) = (self.items.len(), self.size);
        // Told apart here: DynamoDB's own refusal would look like a fault of ours.
        fits("a transaction", count, TRANSACTION_ITEMS)?;
        fits("a transaction", size, TRANSACTION_LIMIT)?;
        Ok(self.items)
    }
}

fn size_of<'v>(values: impl Iterator<Item = &'v AttributeValue>) -> usize {
    values
        .map(|value| match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::B(bytes) => bytes.as_ref().len(),
            _ => 0,
        })
        .sum()
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
