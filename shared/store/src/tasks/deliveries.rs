//! An agent's deliveries, for whoever looks after them: listed, and sent again by hand.

use domain::{AgentName, PushConfigId, Tenant, Timestamp};

use super::item::{NOT_OVER, deliveries_partition, is_over, parked_partition};
use super::push::PushItem;
use super::{TaskKey, Tasks};
use crate::change::{Change, number, text};
use crate::codec::{Key, decode};
use crate::dynamo::Written;
use crate::page::Listing;
use crate::schema::{BY_CONTEXT, BY_STATUS};
use crate::{Page, PageRequest, StoreError};

/// Which deliveries are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Only those that nobody tries any more.
    pub parked_only: bool,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Its client knows everything.
    Idle,
    /// Its client is to be told something.
    Owed,
    /// Its client was to be told something, and could not be; nobody tries any more until there is news or a replay.
    Parked,
}

/// What one push configuration has been told. Nothing secret is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The task.
    pub key: TaskKey,
    /// The configuration.
    pub config_id: PushConfigId,
    /// The receiver's host; its path may hold secrets of its own.
    pub url_host: String,
    /// The last event that was delivered.
    pub delivered: u64,
    /// The last event that is news for the client.
    pub latest: u64,
    /// How often delivery failed since the last success.
    pub attempts: u32,
    /// How it stands.
    pub state: DeliveryState,
    /// Why it failed last.
    pub last_error: Option<String>,
    /// When it was made, tried, or given news, whichever was last.
    pub changed_at: Timestamp,
}

impl Tasks<'_> {
    /// An agent's deliveries, newest configuration first; the parked ones by their last try, newest first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another listing; otherwise what the database says.
    pub async fn deliveries(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        filter: DeliveryFilter,
        page: PageRequest,
        now: Timestamp,
    ) -> Result<Page<Delivery>, StoreError> {
        let (index, partition) = if filter.parked_only {
            (BY_STATUS, parked_partition(tenant, agent))
        } else {
            (BY_CONTEXT, deliveries_partition(tenant, agent))
        };
        let listing = Listing {
            table: self.table(),
            index,
            partition: &partition,
        };
        let (keys, next) = listing.page(self.store, &page).await?;
        let mut found = self.store.items(self.table(), &keys).await?;
        let mut items = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(item) = found.remove(&key) else { continue };
            let item: PushItem = decode(self.table(), item)?;
            // The index may lag behind the delivery.
            let wanted = !filter.parked_only || item.status_pk.is_some();
            if wanted && !is_over(item.expires_at, now) {
                items.extend(self.delivery(&key, &item)?);
            }
        }
        Ok(Page { items, next })
    }

    fn delivery(&self, key: &Key, item: &PushItem) -> Result<Option<Delivery>, StoreError> {
        let Some((key, Some(config_id))) = TaskKey::of(key) else {
            return Ok(None);
        };
        let config = item.config(self.table())?;
        let state = match &item.status_pk {
            Some(_) => DeliveryState::Parked,
            None if item.latest_seq > item.delivered => DeliveryState::Owed,
            None => DeliveryState::Idle,
        };
        let times = [Some(item.created_at), item.tried_at, item.news_at];
        Ok(Some(Delivery {
            key,
            config_id,
            url_host: config.url.host_str().unwrap_or_default().to_owned(),
            delivered: item.delivered,
            latest: item.latest_seq,
            attempts: item.attempts,
            state,
            last_error: item.last_error.clone(),
            changed_at: times.into_iter().flatten().max().unwrap_or(item.created_at),
        }))
    }

    /// Makes a delivery due now, with a fresh count of attempts: one that is parked, or that waits for its next try.
    /// False where there is none of that id, where nothing is owed, or where somebody delivers right now.
    ///
    /// # Errors
    /// What the database says.
    pub async fn replay_push(
        &self,
        key: &TaskKey,
        id: &PushConfigId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let change = Change::new()
            .set("due_shard", text(key.shard()))
            .set("due_at", text(now))
            .set("attempts", number(0))
            .remove(&["status_pk"])
            .when("#latest_seq > #delivered")
            .when_free("lease_until", text, now)
            .when(NOT_OVER)
            .value("now_s", number(now.seconds()));
        let written = self.store.update(self.table(), &key.push(id), change).await?;
        Ok(matches!(written, Written::Done(_)))
    }
}
