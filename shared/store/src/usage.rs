//! What a tenant's language models took in a day: one item a day, in which tokens are reserved before a model is asked and
//! counted after it has answered. What was reserved by a process that ended stays reserved: never too little is counted.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Days, NaiveDate};
use domain::{Entropy, Tenant, Timestamp, TokenUsage};
use serde::{Deserialize, Serialize};

use crate::change::{Change, number};
use crate::codec::{Item, Key};
use crate::dynamo::Written;
use crate::{Store, StoreError};

/// How long a day's count is kept: somebody may ask for last year's month.
pub(crate) const KEPT: Duration = Duration::from_secs(400 * 24 * 3600);
/// Most days that are told at once.
pub const USAGE_DAYS_MAX: u32 = 366;
/// The end of the key of a tenant's ledger.
const LEDGER: &str = "#host#usage#now";
/// All that is used and reserved.
const USED: &str = "used";
/// Begins the attribute of each reservation: hexadecimal digits follow.
const HOLD: &str = "hold_";
/// Begin the attributes of each model: a space and its name follow.
const INPUT: &str = "input";
const OUTPUT: &str = "output";
const CACHED: &str = "cached";
const CALLS: &str = "calls";

/// The counts of days, in the table of tasks.
#[derive(Clone, Copy)]
pub struct Usage<'s> {
    pub(crate) store: &'s Store,
}

/// Tokens that are reserved and not yet counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHold {
    id: String,
    day: NaiveDate,
    /// How many.
    pub tokens: u64,
}

/// What was used on a day (UTC).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayUsage {
    /// The day.
    pub day: NaiveDate,
    /// Tokens of all models, with those that are reserved.
    pub used: u64,
    /// Of these, what is reserved: for calls under way, and for such as ended nobody knows how.
    pub reserved: u64,
    /// By the names of models, such as `bedrock:eu.amazon.nova-pro-v1:0`.
    pub models: BTreeMap<String, ModelUsage>,
}

/// What one model took on a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Calls that ended.
    pub calls: u64,
    /// Their tokens.
    #[serde(flatten)]
    pub tokens: TokenUsage,
}

pub(crate) fn key(tenant: &Tenant, day: NaiveDate) -> Key {
    (
        format!("{}#host#usage#{day}", tenant.prefix()),
        "USAGE".to_owned(),
    )
}

/// Where a tenant's present day and month are counted by the ledger.
pub(crate) fn ledger_key(tenant: &Tenant) -> Key {
    (format!("{}{LEDGER}", tenant.prefix()), "TENANT".to_owned())
}

/// The tenant whose ledger this is the key of.
pub(crate) fn ledger_of((pk, _): &Key) -> Option<Tenant> {
    Tenant::parse_stored(pk.strip_suffix(LEDGER)?).ok()
}

/// Why so many tokens are not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooFewTokens {
    /// Calls under way have reserved what is left. They mostly take less than that, and give the rest back.
    InUse,
    /// The day's are used up, or fewer than so many are left of them.
    Spent,
}

/// The day of a moment, in UTC.
#[must_use]
pub fn day_of(now: Timestamp) -> NaiveDate {
    DateTime::from_timestamp_millis(now.millis())
        .unwrap_or_default()
        .date_naive()
}

impl Usage<'_> {
    /// Reserves tokens of today, where so many are left of the limit.
    ///
    /// # Errors
    /// What the database says.
    pub async fn reserve(
        &self,
        tenant: &Tenant,
        tokens: u64,
        limit: Option<u64>,
        (now, entropy): (Timestamp, &dyn Entropy),
    ) -> Result<Result<TokenHold, TooFewTokens>, StoreError> {
        let mut id = [0; 8];
        entropy.fill(&mut id);
        let hold = TokenHold {
            id: format!("{HOLD}{:016x}", u64::from_be_bytes(id)),
            day: day_of(now),
            tokens,
        };
        let room = match limit.map(|limit| limit.checked_sub(tokens)) {
            Some(None) => return Ok(Err(TooFewTokens::Spent)),
            Some(room) => room,
            None => None,
        };
        let mut change = Change::new()
            .add(USED, USED.to_owned(), tokens)
            .set(&hold.id, number(tokens))
            .set("expires_at", number(now.after(KEPT).millis() / 1000))
            .when(&format!("attribute_not_exists(#{})", hold.id));
        if let Some(room) = room {
            change = change
                .when(&format!("attribute_not_exists(#{USED}) OR #{USED} <= :room"))
                .value("room", number(room));
        }
        match self.write(tenant, hold.day, change).await? {
            Written::Done(_) => Ok(Ok(hold)),
            // A change whose first answer was lost finds itself.
            Written::Refused(Some(item)) if item.contains_key(&hold.id) => Ok(Ok(hold)),
            Written::Refused(found) => {
                let today = found.map_or_else(DayUsage::default, |item| read(hold.day, &item));
                let taken = today.used.saturating_sub(today.reserved);
                Ok(Err(match room.is_some_and(|room| taken <= room) {
                    true => TooFewTokens::InUse,
                    false => TooFewTokens::Spent,
                }))
            }
        }
    }

    /// Counts what a model really took in place of what was reserved for it; once, however often it is said.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settle(
        &self,
        tenant: &Tenant,
        hold: &TokenHold,
        model: &str,
        taken: TokenUsage,
    ) -> Result<(), StoreError> {
        let all = i128::from(taken.input) + i128::from(taken.output);
        let of_model = |what: &str| format!("{what} {model}");
        let change = Change::new()
            .add(USED, USED.to_owned(), all - i128::from(hold.tokens))
            .add(INPUT, of_model(INPUT), taken.input)
            .add(OUTPUT, of_model(OUTPUT), taken.output)
            .add(CACHED, of_model(CACHED), taken.cached)
            .add(CALLS, of_model(CALLS), 1)
            .remove(&[&hold.id])
            .when(&format!("attribute_exists(#{})", hold.id));
        self.write(tenant, hold.day, change).await.map(drop)
    }

    /// Gives back what was reserved for a call that took nothing.
    ///
    /// # Errors
    /// What the database says.
    pub async fn release(&self, tenant: &Tenant, hold: &TokenHold) -> Result<(), StoreError> {
        let change = Change::new()
            .add(USED, USED.to_owned(), -i128::from(hold.tokens))
            .remove(&[&hold.id])
            .when(&format!("attribute_exists(#{})", hold.id));
        self.write(tenant, hold.day, change).await.map(drop)
    }

    /// What was used on a day; `None` where no model was asked, or it is forgotten.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of_day(&self, tenant: &Tenant, day: NaiveDate) -> Result<Option<DayUsage>, StoreError> {
        let item = self.store.item(self.table(), &key(tenant, day)).await?;
        Ok(item.as_ref().map(|item| read(day, item)))
    }

    /// What was used on each of the last days, today first, at most [`USAGE_DAYS_MAX`]; days without any are left out.
    ///
    /// # Errors
    /// What the database says.
    pub async fn last(
        &self,
        tenant: &Tenant,
        now: Timestamp,
        days: u32,
    ) -> Result<Vec<DayUsage>, StoreError> {
        let mut found = Vec::new();
        for ago in 0..days.min(USAGE_DAYS_MAX) {
            if let Some(day) = day_of(now).checked_sub_days(Days::new(ago.into())) {
                found.extend(self.of_day(tenant, day).await?);
            }
        }
        Ok(found)
    }

    async fn write(&self, tenant: &Tenant, day: NaiveDate, change: Change) -> Result<Written, StoreError> {
        self.store.update(self.table(), &key(tenant, day), change).await
    }

    fn table(&self) -> &str {
        &self.store.tables().tasks
    }
}

/// Attributes that mean nothing here are another release's.
fn read(day: NaiveDate, item: &Item) -> DayUsage {
    let mut usage = DayUsage {
        day,
        ..DayUsage::default()
    };
    let count = |value: &AttributeValue| value.as_n().ok().and_then(|text| text.parse::<u64>().ok());
    for (name, value) in item {
        let Some(count) = count(value) else { continue };
        if name == USED {
            usage.used = count;
        } else if name.starts_with(HOLD) {
            usage.reserved = usage.reserved.saturating_add(count);
        } else if let Some((what, model)) = name.split_once(' ') {
            let of = usage.models.entry(model.to_owned()).or_default();
            match what {
                INPUT => of.tokens.input = count,
                OUTPUT => of.tokens.output = count,
                CACHED => of.tokens.cached = count,
                CALLS => of.calls = count,
                _ => {}
            }
        }
    }
    usage
}
