//! Commits: a revision written by compare-and-swap.

use std::time::Duration;

use domain::{EventKind, Revision};

use super::create::EventItem;
use super::item::{due_change, sorted_at, status_partition};
use super::push::news_change;
use super::{Committed, Due, LeaseAfter, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{document, encode, inconsistent};
use crate::transact::{Transacted, Writes};

/// How long events are kept at most. A commit does not read when its task ends, and an event may outlive it: nothing
/// finds it any more.
const LOG_KEPT: Duration = Duration::from_secs(400 * 24 * 3600);

impl Tasks<'_> {
    /// Writes a revision: compare-and-swap on the `rev` that was read, the events appended, what is due, and the
    /// push configurations marked where there is news for them. One transaction; none for an empty revision.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn commit(
        &self,
        revision: &Revision,
        due: Due,
        lease: LeaseAfter<'_>,
    ) -> Result<Committed, StoreError> {
        let (table, task) = (self.table(), revision.task());
        let key = TaskKey::from(task);
        let state = task.status.state;
        let change = Change::new()
            .set("rev", number(task.rev))
            .set("state", text(state.as_str()))
            .set("body", text(document("the task", task)?))
            .set("owner_sk", text(sorted_at(task.status.at, task.id)))
            .set(
                "status_pk",
                text(status_partition(&task.tenant, &task.agent, state)),
            )
            .set("status_sk", text(sorted_at(task.status.at, task.id)))
            .when("#rev = :seen")
            .value("seen", number(revision.seen()));
        let change = match lease {
            LeaseAfter::Keep => change,
            LeaseAfter::Release { holder } => change
                .remove(&["lease_holder", "lease_until"])
                .set("attempts", number(0))
                .when("#lease_holder = :holder")
                .value("holder", text(holder)),
        };
        let mut writes = Writes::default();
        writes.update(table, &key.task(), due_change(change, &key, due))?;
        for event in revision.events() {
            let item = EventItem::new(&key, event, event.at.after(LOG_KEPT))?;
            writes.put(table, encode(&item)?, Change::new())?;
        }
        let news = |kind: &EventKind| matches!(kind, EventKind::Status { .. } | EventKind::Artifact { .. });
        if let Some(event) = revision.events().iter().rev().find(|event| news(&event.kind)) {
            for config in &task.push_configs {
                writes.update(table, &key.push(config), news_change(&key, event.seq, event.at))?;
            }
        }
        match self.store.transact(writes).await? {
            Transacted::Done => Ok(Committed::Yes),
            Transacted::Refused(refused) if refused.iter().any(|(index, _)| *index == 0) => {
                Ok(Committed::Conflict)
            }
            Transacted::Refused(_) => Err(inconsistent(
                table,
                &key.task(),
                "it names a push configuration that is gone",
            )),
        }
    }
}
