//! Push configurations: what each has been told, and who tells it now.

use domain::{PushConfigId, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{
    NOT_OVER, deliveries_partition, due_change, expired_change, is_over, parked_partition, sorted_at,
};
use super::{ClaimedPush, Due, PushConfig, PushSettled, Settled, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{decode, document, parse};
use crate::dynamo::Written;

/// Most bytes of a delivery's last error that are kept.
const ERROR_LIMIT: usize = 500;

/// The item of a push configuration.
#[derive(Serialize, Deserialize)]
pub(super) struct PushItem {
    pk: String,
    sk: String,
    pub(super) body: String,
    /// The last event that was delivered.
    pub(super) delivered: u64,
    /// How many events were told by themselves, where each is.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) numbered: u64,
    /// The last event that is news for the client.
    pub(super) latest_seq: u64,
    pub(super) attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_error: Option<String>,
    pub(super) created_at: Timestamp,
    /// When it was claimed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tried_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) news_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_holder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_until: Option<Timestamp>,
    /// Who settled it last, until it is claimed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_shard: Option<String>,
    /// There as long as it is parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status_pk: Option<String>,
    /// The end of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    context_pk: String,
    context_sk: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_none(numbered: &u64) -> bool {
    *numbered == 0
}

impl PushItem {
    /// A new one has been told of the events up to `delivered`; where `latest` is beyond, it is due.
    pub(super) fn new(
        key: &TaskKey,
        config: &PushConfig,
        delivered: u64,
        latest: u64,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let (pk, sk) = key.push(&config.id);
        let owed = latest > delivered;
        Ok(Self {
            pk,
            sk,
            body: document("the push configuration", config)?,
            delivered,
            numbered: 0,
            latest_seq: latest,
            attempts: 0,
            last_error: None,
            created_at: now,
            tried_at: None,
            news_at: None,
            lease_holder: None,
            lease_until: None,
            settled_by: None,
            due_at: owed.then_some(now),
            due_shard: owed.then(|| key.shard()),
            status_pk: None,
            expires_at: None,
            context_pk: deliveries_partition(&key.tenant, &key.agent),
            context_sk: sorted_at(now, key.id),
        })
    }

    pub(super) fn config(&self, table: &str) -> Result<PushConfig, StoreError> {
        parse(table, &(self.pk.clone(), self.sk.clone()), &self.body)
    }

    fn is_held(&self, holder: &str) -> bool {
        self.lease_holder.as_deref() == Some(holder)
    }

    fn claimed(&self, table: &str) -> Result<ClaimedPush, StoreError> {
        Ok(ClaimedPush {
            config: self.config(table)?,
            delivered: self.delivered,
            numbered: self.numbered,
            attempts: self.attempts,
        })
    }
}

/// Marks news. A delivery that is due already stays due when it was: news neither hurries a retry on its schedule
/// nor disturbs a claim, whose end finds the news by `latest_seq`. One that is parked is due again.
pub(super) fn news_change(key: &TaskKey, seq: u64, at: Timestamp, expires_at: Option<i64>) -> Change {
    let change = Change::new()
        .set("latest_seq", number(seq))
        .set("news_at", text(at))
        .set("due_shard", text(key.shard()))
        .set_to("due_at", "if_not_exists(#due_at, :news_at)")
        .remove(&["status_pk"])
        .when("attribute_exists(#pk)");
    match expires_at {
        Some(at) => change.set("expires_at", number(at)),
        None => change,
    }
}

impl Tasks<'_> {
    /// Claims a delivery that is due and that nobody else makes; `None` where there is nothing to do. It stays due, so
    /// that a claim whose worker was lost is found; moving it to the claim's end and back would cost two writes of the
    /// index for a wake that is seldom spared. A repeat whose first answer was lost finds its own claim.
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
            .set("tried_at", text(now))
            .remove(&["settled_by"])
            // It is due, or news of before the clock was set back.
            .when("#due_at <= :tried_at OR #news_at > :tried_at")
            .when_free("lease_until", text, now)
            .when(NOT_OVER)
            .value("now_s", number(now.seconds()));
        let place = key.push(config);
        let known: PushItem = match self.store.update(self.table(), &place, change).await? {
            Written::Done(item) => {
                let item: PushItem = decode(self.table(), item)?;
                return item.claimed(self.table()).map(Some);
            }
            Written::Refused(None) => return Ok(None),
            Written::Refused(Some(item)) => decode(self.table(), item)?,
        };
        if is_over(known.expires_at, now) {
            let cleared = expired_change(now);
            self.store.update(self.table(), &place, cleared).await?;
            return Ok(None);
        }
        let own = known.is_held(holder) && known.lease_until == Some(until);
        own.then(|| known.claimed(self.table())).transpose()
    }

    /// Writes down how a claimed delivery went and gives the claim up. With [`Due::Keep`] it is due again only where
    /// there is news beyond what was delivered; with [`Due::Never`] it is parked until there is news or a replay.
    /// A repeat whose first answer was lost is told the same.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settle_push(
        &self,
        key: &TaskKey,
        config: &PushConfigId,
        holder: &str,
        settled: Settled<'_>,
    ) -> Result<PushSettled, StoreError> {
        let change = Change::new()
            .set("delivered", number(settled.delivered))
            .set("attempts", number(settled.attempts))
            .set("settled_by", text(holder))
            .remove(&["lease_holder", "lease_until"])
            .when("#lease_holder = :settled_by");
        let change = match settled.numbered {
            0 => change,
            numbered => change.set("numbered", number(numbered)),
        };
        let change = match settled.last_error {
            Some(error) => {
                let kept = error.get(..error.floor_char_boundary(ERROR_LIMIT));
                change.set("last_error", text(kept.unwrap_or_default()))
            }
            None => change.remove(&["last_error"]),
        };
        let (change, with_news) = match settled.due {
            Due::Keep => {
                let nothing_new =
                    due_change(change.clone(), key, Due::Never).when("#latest_seq <= :delivered");
                let news = change
                    .set_to("due_at", "if_not_exists(#news_at, #due_at)")
                    .when("#latest_seq > :delivered");
                (nothing_new, Some(news))
            }
            Due::Never => {
                let change = change
                    .set("status_pk", text(parked_partition(&key.tenant, &key.agent)))
                    .set("status_sk", text(sorted_at(settled.at, key.id)));
                (due_change(change, key, Due::Never), None)
            }
            Due::At(_) => (due_change(change, key, settled.due), None),
        };
        let place = key.push(config);
        let tries = std::iter::once((change, PushSettled::Done));
        for (change, done) in tries.chain(with_news.map(|news| (news, PushSettled::News))) {
            let known: PushItem = match self.store.update(self.table(), &place, change).await? {
                Written::Done(_) => return Ok(done),
                Written::Refused(None) => return Ok(PushSettled::Lost),
                Written::Refused(Some(item)) => decode(self.table(), item)?,
            };
            if known.lease_holder.is_none() && known.settled_by.as_deref() == Some(holder) {
                let has_news = settled.due == Due::Keep && known.latest_seq > known.delivered;
                return Ok(if has_news {
                    PushSettled::News
                } else {
                    PushSettled::Done
                });
            }
            if !known.is_held(holder) {
                break;
            }
        }
        Ok(PushSettled::Lost)
    }
}
