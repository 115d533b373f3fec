//! Blobs that no record leads to any more: of a task or chat that DynamoDB expired, or that a death left.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::Timestamp;

use super::{BlobKey, BlobScope, LISTED_MAX};
use crate::codec::{Item, Key};
use crate::sessions::CHAT;
use crate::tasks::{TASK, is_over};
use crate::{Store, StoreError};

/// For so long a blob may be there before its record: longer than any function runs.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// What is read of a record: whether it is there, and for how long.
const STANDING: &str = "#pk, #sk, #expires_at, #deleted_at";

/// Looks through the blob store for what nobody can reach.
#[derive(Clone, Copy)]
pub struct Orphans<'s> {
    pub(crate) store: &'s Store,
}

impl Orphans<'_> {
    /// Looks at the next blobs behind `after`, a thousand at most, and removes those of records that are gone, or over by now. How many
    /// went, and where to go on; nowhere after the last.
    ///
    /// # Errors
    /// What database and blob store say; a repeat goes on.
    pub async fn remove_some(
        &self,
        after: Option<&BlobKey>,
        now: Timestamp,
    ) -> Result<(usize, Option<BlobKey>), StoreError> {
        let Some(blobs) = &self.store.blobs else {
            return Ok((0, None));
        };
        let listed = blobs.list(&BlobScope::All, after).await?;
        let next = listed.get(LISTED_MAX - 1).map(|last| last.key.clone());
        let old = listed.iter().filter(|one| now.since(one.put_at) >= GRACE);
        let owners: BTreeSet<&str> = old.map(|one| one.key.owner()).collect();
        let (tasks, chats): (Vec<Key>, Vec<Key>) =
            owners.into_iter().map(record_of).partition(|(_, sk)| sk == TASK);
        let (mut gone, tables) = (0, self.store.tables());
        for (table, keys) in [(&tables.tasks, tasks), (&tables.sessions, chats)] {
            let found = self.store.items_of(table, &keys, Some(STANDING)).await?;
            for key in keys {
                if found.get(&key).is_none_or(|item| is_gone(item, now)) {
                    gone += self.store.remove_blobs(&BlobScope::Owner(key.0)).await?;
                }
            }
        }
        Ok((gone, next))
    }
}

/// The record whose blobs lie beside a partition.
fn record_of(owner: &str) -> Key {
    let is_task = owner.split('#').nth(2) == Some("task");
    (owner.to_owned(), if is_task { TASK } else { CHAT }.to_owned())
}

fn is_gone(item: &Item, now: Timestamp) -> bool {
    let end = item
        .get("expires_at")
        .and_then(|end| end.as_n().ok()?.parse().ok());
    item.contains_key("deleted_at") || is_over(end, now)
}
