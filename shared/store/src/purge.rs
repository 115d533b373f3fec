//! Removes what tenants left behind that were removed: the one place that looks through whole tables. It is an operator's
//! command; no function has the right to.
//!
//! A table is gone through in segments. Each has an item of its own beside the tenant's record, which says how far it is
//! and how many items it has removed. That items go and that they are counted is one transaction, so that the process may
//! die anywhere: the next one goes on where it was, and counts nothing twice. A segment is done when a pass over all of it
//! has found nothing. No transaction removes anything of a tenant that is here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Tenant, Timestamp};
use serde::Serialize;
use tokio::sync::Mutex;

use crate::blobs::BlobScope;
use crate::cards::EVERY;
use crate::change::{Change, names, number, text};
use crate::codec::{Item, Key, key_of, keyed, text_of};
use crate::dynamo::{Query, Written};
use crate::error::failed;
use crate::schema::{AUDIT, TENANTS};
use crate::tenants::{GONE, PREFIX, REMOVED, STATUS, gone_key, key};
use crate::transact::{Transacted, Writes};
use crate::{Store, StoreError, count};

/// How many parts a table is gone through in.
const SEGMENTS: i32 = 4;
/// Between two pages of a megabyte in a segment: all four read some 4,000 units a second, and leave the table to those who work.
const PAUSE: Duration = Duration::from_millis(100);
/// Most items that one transaction removes.
const AT_ONCE: usize = 25;
/// How long after its removal work of a tenant may still be under way, and write: longer than any function runs, message
/// waits and token lives.
const AFTERMATH: Duration = Duration::from_secs(3600);

/// What the sort keys of how far segments are begin with.
const PURGE: &str = "PURGE#";

const SINCE: &str = "since";
const PURGED_AT: &str = "purged_at";

/// Which items a scan gives: a tenant's own, and what one has in the list of every tenant's agents.
const MATCHES: &str = "begins_with(#pk, :prefix) OR (#pk = :every AND begins_with(#sk, :prefix))";
/// The guard of each transaction: holds where the tenant is not here.
const GONE_NOW: &str = "attribute_not_exists(#pk) OR #status = :removed OR #prefix <> :prefix OR \
    (attribute_not_exists(#prefix) AND #pk <> :prefix)";

/// What was removed of an incarnation of a tenant, in all runs together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Purged {
    /// The prefix it lay under.
    pub prefix: String,
    /// How many items, by table.
    pub removed: BTreeMap<String, u64>,
    /// True where nothing can come any more: the run began long enough after the removal.
    pub settled: bool,
}

/// Why a tenant is not purged.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// It was not removed.
    #[error("the tenant is here: remove it first")]
    Present,
    /// What the database says.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removes what removed tenants left behind.
#[derive(Clone, Copy)]
pub struct Purge<'s> {
    pub(crate) store: &'s Store,
    pub(crate) page: Option<i32>,
}

/// One segment of a table.
struct Part<'p> {
    tenant: &'p Tenant,
    table: &'p str,
    name: &'p str,
    segment: i32,
    /// Held while items are removed: all of them look at the one record of the tenant.
    writing: &'p Mutex<()>,
}

impl Part<'_> {
    fn key(&self) -> Key {
        let (prefix, name, segment) = (self.tenant.prefix(), self.name, self.segment);
        (
            self.tenant.name().to_owned(),
            format!("{PURGE}{prefix}#{name}#{segment}of{SEGMENTS}"),
        )
    }
}

/// How far a segment is.
#[derive(Debug, Default)]
struct Progress {
    /// Which change of it this is.
    rev: u64,
    /// Items removed in this pass.
    found: u64,
    /// Items removed in all.
    removed: u64,
    /// The last key that was looked at in this pass.
    cursor: Option<Key>,
}

/// What a transaction does to where a segment is.
enum Move {
    /// The rest of the page comes yet.
    Stays,
    /// The page is through.
    To(Key),
    /// The pass is.
    Ends,
}

impl Purge<'_> {
    /// The same, with so many items looked at in a page, found or not.
    #[must_use]
    pub fn in_pages_of(self, items: u16) -> Self {
        Self {
            page: Some(i32::from(items.max(1))),
            ..self
        }
    }

    /// The incarnations of a name that were removed and may have left something.
    ///
    /// # Errors
    /// What the database says.
    pub async fn gone(&self, name: &Tenant) -> Result<Vec<Tenant>, StoreError> {
        let record = self.store.item(self.table(), &key(name)).await?;
        let (mut gone, mut present) = (BTreeSet::new(), None);
        if let Some(record) = record {
            let prefix = text_of(&record, PREFIX).unwrap_or(name.name()).to_owned();
            match text_of(&record, STATUS) {
                // By a release that listed no removed ones.
                Some(REMOVED) => _ = gone.insert(prefix),
                _ => present = Some(prefix),
            }
        }
        let listed = self.beside(name, GONE).await?;
        let (done, open): (Vec<_>, Vec<_>) = listed
            .iter()
            .filter_map(|item| Some((text_of(item, "sk")?.strip_prefix(GONE)?, item)))
            .partition(|(_, item)| item.contains_key(PURGED_AT));
        gone.extend(open.into_iter().map(|(prefix, _)| prefix.to_owned()));
        gone.retain(|prefix| {
            present.as_ref() != Some(prefix) && !done.iter().any(|(known, _)| known == prefix)
        });
        Ok(gone
            .iter()
            .filter_map(|prefix| Tenant::from_prefix(prefix).ok())
            .collect())
    }

    /// Removes all that lies under the prefix of a removed tenant, and says how much that was. It may break off anywhere, and
    /// goes on with the next call.
    ///
    /// # Errors
    /// [`PurgeError::Present`] for a tenant that was not removed; otherwise what the database says.
    pub async fn run(&self, tenant: &Tenant, now: Timestamp) -> Result<Purged, PurgeError> {
        let record = self.store.item(self.table(), &key(tenant)).await?;
        let is_here = |record: &Item| {
            let prefix = text_of(record, PREFIX).unwrap_or(tenant.name());
            prefix == tenant.prefix() && text_of(record, STATUS) != Some(REMOVED)
        };
        if record.as_ref().is_some_and(is_here) {
            return Err(PurgeError::Present);
        }
        let since = self.begin(tenant, now).await?;
        for (table, kind) in self.store.tables().each() {
            // Nobody deletes of the audit: it ends by itself.
            if kind == TENANTS || kind == AUDIT {
                continue;
            }
            let writing = Mutex::new(());
            let segment = |segment| {
                let writing = &writing;
                self.segment(Part {
                    tenant,
                    table,
                    name: kind.name,
                    segment,
                    writing,
                })
            };
            tokio::try_join!(segment(0), segment(1), segment(2), segment(3))?;
        }
        self.blobs(tenant).await?;
        let settled = now.since(since) >= AFTERMATH;
        if settled {
            let done = Change::new().set(PURGED_AT, text(now));
            self.store.update(self.table(), &gone_key(tenant), done).await?;
        }
        Ok(Purged {
            prefix: tenant.prefix().to_owned(),
            removed: self.counted(tenant).await?,
            settled,
        })
    }

    /// Since when the tenant is being purged.
    async fn begin(&self, tenant: &Tenant, now: Timestamp) -> Result<Timestamp, StoreError> {
        let first = Change::new()
            .set_to(SINCE, "if_not_exists(#since, :now)")
            .value("now", text(now));
        let begun = self.store.update(self.table(), &gone_key(tenant), first).await?;
        let since = match &begun {
            Written::Done(item) => text_of(item, SINCE).and_then(Timestamp::parse),
            Written::Refused(_) => None,
        };
        Ok(since.unwrap_or(now))
    }

    /// Removes what lies in the blob store. No other incarnation has this prefix. Where it breaks off, less is counted than went.
    async fn blobs(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let gone = self
            .store
            .remove_blobs(&BlobScope::Tenant(tenant.clone()))
            .await?;
        if gone > 0 {
            let sk = format!("{PURGE}{}#blobs#0of1", tenant.prefix());
            let counted = Change::new().add(
                "removed",
                "removed".to_owned(),
                i128::try_from(gone).unwrap_or_default(),
            );
            self.store
                .update(self.table(), &(tenant.name().to_owned(), sk), counted)
                .await?;
        }
        Ok(())
    }

    /// What each run before has counted too.
    async fn counted(&self, tenant: &Tenant) -> Result<BTreeMap<String, u64>, StoreError> {
        let begins = format!("{PURGE}{}#", tenant.prefix());
        let mut removed = BTreeMap::new();
        for item in self.beside(tenant, &begins).await? {
            let name = text_of(&item, "sk").and_then(|sk| sk.strip_prefix(&begins)?.split('#').next());
            if let Some(name) = name {
                *removed.entry(name.to_owned()).or_default() += number_of(&item, "removed");
            }
        }
        Ok(removed)
    }

    async fn segment(&self, part: Part<'_>) -> Result<(), PurgeError> {
        loop {
            let mut at = self.progress(&part).await?;
            let (found, next) = self.page(&part, at.cursor.as_ref()).await?;
            let is_last = next.is_none();
            if !is_last && self.page.is_none() {
                tokio::time::sleep(PAUSE).await;
            }
            // The whole segment in one look, and nothing in it: there is nothing to go on from either.
            if is_last && found.is_empty() && at.cursor.is_none() && at.found == 0 {
                return Ok(());
            }
            let mut batches: Vec<&[Key]> = found.chunks(AT_ONCE).collect();
            let rest = batches.pop().unwrap_or_default();
            let mut went = true;
            for batch in batches {
                went = went && self.remove(&part, &mut at, batch, Move::Stays).await?;
            }
            let found_none = is_last && at.found == 0 && rest.is_empty();
            let moved = next.map_or(Move::Ends, Move::To);
            // Somebody else does the same, or an item went by itself: what is there now says how it goes on.
            if went && self.remove(&part, &mut at, rest, moved).await? && found_none {
                return Ok(());
            }
        }
    }

    async fn progress(&self, part: &Part<'_>) -> Result<Progress, StoreError> {
        let Some(item) = self.store.item(self.table(), &part.key()).await? else {
            return Ok(Progress::default());
        };
        let cursor = text_of(&item, "cursor_pk").zip(text_of(&item, "cursor_sk"));
        Ok(Progress {
            rev: number_of(&item, "rev"),
            found: number_of(&item, "found"),
            removed: number_of(&item, "removed"),
            cursor: cursor.map(|(pk, sk)| (pk.to_owned(), sk.to_owned())),
        })
    }

    /// The tenant's keys of the next page, and where the one after it begins.
    async fn page(
        &self,
        part: &Part<'_>,
        after: Option<&Key>,
    ) -> Result<(Vec<Key>, Option<Key>), StoreError> {
        let request = self
            .store
            .client()
            .scan()
            .table_name(part.table)
            .segment(part.segment)
            .total_segments(SEGMENTS)
            .consistent_read(true)
            .filter_expression(MATCHES)
            .projection_expression("#pk, #sk")
            .set_expression_attribute_names(Some(names(MATCHES)))
            .expression_attribute_values(":prefix", text(format!("{}#", part.tenant.prefix())))
            .expression_attribute_values(":every", text(EVERY))
            .set_limit(self.page)
            .set_exclusive_start_key(after.map(keyed))
            .set_return_consumed_capacity(count::wanted());
        let _turn = self.store.turn().await;
        let answer = Box::pin(request.send()).await.map_err(failed("Scan"))?;
        count::read(answer.consumed_capacity());
        let keys = answer.items.iter().flatten().map(|item| key_of(part.table, item));
        let next = answer.last_evaluated_key.filter(|key| !key.is_empty());
        let next = next.map(|key| key_of(part.table, &key)).transpose()?;
        Ok((keys.collect::<Result<_, _>>()?, next))
    }

    /// Removes these items and says so, in one transaction; false where nothing came of it because the segment is elsewhere by
    /// now, or one of them is gone.
    async fn remove(
        &self,
        part: &Part<'_>,
        at: &mut Progress,
        keys: &[Key],
        moved: Move,
    ) -> Result<bool, PurgeError> {
        let many = u64::try_from(keys.len()).unwrap_or(u64::MAX);
        let (removed, found) = (at.removed.saturating_add(many), at.found.saturating_add(many));
        let left = match moved {
            Move::Ends => 0,
            Move::To(_) | Move::Stays => found,
        };
        let mut change = Change::new()
            .set("rev", number(at.rev + 1))
            .set("removed", number(removed))
            .set("found", number(left));
        change = match at.rev {
            0 => change.when("attribute_not_exists(#rev)"),
            rev => change.when("#rev = :seen").value("seen", number(rev)),
        };
        change = match moved {
            Move::Stays => change,
            Move::Ends => change.remove(&["cursor_pk", "cursor_sk"]),
            Move::To((pk, sk)) => change.set("cursor_pk", text(pk)).set("cursor_sk", text(sk)),
        };
        let mut writes = Writes::default();
        let guard = Change::new()
            .when(GONE_NOW)
            .value(REMOVED, text(REMOVED))
            .value(PREFIX, text(part.tenant.prefix()));
        writes.check(self.table(), &key(part.tenant), guard)?;
        writes.update(self.table(), &part.key(), change)?;
        for key in keys {
            writes.delete(part.table, key, Change::new().when("attribute_exists(#pk)"))?;
        }
        let _writing = part.writing.lock().await;
        match self.store.transact(writes).await? {
            Transacted::Done => {
                (at.rev, at.removed, at.found) = (at.rev + 1, removed, left);
                Ok(true)
            }
            Transacted::Refused(why) if why.iter().any(|(place, _)| *place == 0) => Err(PurgeError::Present),
            Transacted::Refused(_) => Ok(false),
        }
    }

    /// The items beside a tenant's record whose sort keys begin so.
    async fn beside(&self, name: &Tenant, begins: &str) -> Result<Vec<Item>, StoreError> {
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND begins_with(#sk, :begins)",
            values: vec![(":pk", text(name.name())), (":begins", text(begins))],
            ..Query::default()
        };
        self.store.query_all(query).await
    }

    fn table(&self) -> &str {
        &self.store.tables().tenants
    }
}

fn number_of(item: &Item, name: &str) -> u64 {
    let number = item
        .get(name)
        .and_then(|value: &AttributeValue| value.as_n().ok());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
