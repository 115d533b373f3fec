//! Deliveries of push notifications: what a configuration has been told, and who tells it now.

use domain::{PushConfigId, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{due_change, expired_change, expiry};
use super::{ClaimedPush, Due, PushConfig, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{decode, document, parse};
use crate::dynamo::Written;

/// The item of a push configuration.
#[derive(Serialize, Deserialize)]
pub(super) struct PushItem {
    pk: String,
    sk: String,
    body: String,
    /// The last event that was delivered.
    delivered: u64,
    /// The last event that is news for the client.
    latest_seq: u64,
    attempts: u32,
    expires_at: i64,
}

impl PushItem {
    /// A new one has been told of the first event: that is the answer its client got.
    pub(super) fn new(key: &TaskKey, config: &PushConfig, expires_at: Timestamp) -> Result<Self, StoreError> {
        let (pk, sk) = key.push(&config.id);
        Ok(Self {
            pk,
            sk,
            body: document("the push configuration", config)?,
            delivered: 1,
            latest_seq: 1,
            attempts: 0,
            expires_at: expiry(expires_at),
        })
    }
}

/// Marks news. A delivery that is due already stays due when it was: news neither hurries a retry on its schedule
/// nor disturbs a claim, whose end finds the news by `latest_seq`.
pub(super) fn news_change(key: &TaskKey, seq: u64, at: Timestamp) -> Change {
    Change::new()
        .set("latest_seq", number(seq))
        .set("news_at", text(at))
        .set("due_shard", text(key.shard()))
        .set_to("due_at", "if_not_exists(#due_at, :news_at)")
        .when("attribute_exists(#pk)")
}

impl Tasks<'_> {
    /// Claims a delivery that is due and that nobody else makes; `None` where there is nothing to do. It is due again
    /// when the claim ends.
    ///
    /// # Errors
    /// What the database says.
    pub async fn claim_push(
        &self,
        key: &TaskKey,
        config: &PushConfigId,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ClaimedPush>, StoreError> {
        let change = Change::new()
            .set("lease_holder", text(holder))
            .set("lease_until", text(until))
            .when("#due_at <= :now")
            .when("attribute_not_exists(#lease_until) OR #lease_until <= :now")
            .value("now", text(now))
            .when("#expires_at > :now_s")
            .value("now_s", number(now.seconds()));
        let place = key.push(config);
        match self
            .store
            .update(self.table(), &place, due_change(change, key, Due::At(until)))
            .await?
        {
            Written::Done(item) => {
                let item: PushItem = decode(self.table(), item)?;
                Ok(Some(ClaimedPush {
                    config: parse(self.table(), &place, &item.body)?,
                    delivered: item.delivered,
                    attempts: item.attempts,
                }))
            }
            Written::Refused(None) => Ok(None),
            Written::Refused(Some(item)) => {
                let item: PushItem = decode(self.table(), item)?;
                if item.expires_at <= now.seconds() {
                    self.store
                        .update(self.table(), &place, expired_change(now))
                        .await?;
                }
                Ok(None)
            }
        }
    }

    /// Writes down how a claimed delivery went and gives the claim up. With [`Due::Keep`] it is due again only where
    /// there is news beyond `delivered`. False where the claim was lost: nothing is written then.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settle_push(
        &self,
        key: &TaskKey,
        config: &PushConfigId,
        holder: &str,
        delivered: u64,
        attempts: u32,
        due: Due,
    ) -> Result<bool, StoreError> {
        let settled = Change::new()
            .set("delivered", number(delivered))
            .set("attempts", number(attempts))
            .remove(&["lease_holder", "lease_until"])
            .when("#lease_holder = :holder")
            .value("holder", text(holder));
        let place = key.push(config);
        if due != Due::Keep {
            let written = self
                .store
                .update(self.table(), &place, due_change(settled, key, due))
                .await?;
            return Ok(matches!(written, Written::Done(_)));
        }
        let nothing_new = due_change(settled.clone(), key, Due::Never).when("#latest_seq <= :delivered");
        match self.store.update(self.table(), &place, nothing_new).await? {
            Written::Done(_) => Ok(true),
            Written::Refused(None) => Ok(false),
            Written::Refused(Some(_)) => {
                // Either the claim is lost, or there is news since.
                let news = settled
                    .set_to("due_at", "if_not_exists(#news_at, #due_at)")
                    .when("#latest_seq > :delivered");
                let written = self.store.update(self.table(), &place, news).await?;
                Ok(matches!(written, Written::Done(_)))
            }
        }
    }
}
