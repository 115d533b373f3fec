//! Commits: a revision written by compare-and-swap.

use domain::{Event, EventKind, Keeping, PushConfigId, Revision, TaskState};

use super::create::LogItem;
use super::draft;
use super::item::{TaskItem, due_change, push_list, sorted_at, status_place};
use super::pieces::{Cut, MOST, MOST_FOR_STATUS};
use super::push::news_change;
use super::retention::{Ends, is_short};
use super::{Committed, Due, LeaseAfter, TaskKey, Tasks};
use crate::StoreError;
use crate::audit::{self, Action, Actor, Entry};
use crate::blobs::Spilled;
use crate::change::{Change, number, numbers, text};
use crate::codec::{Item, decode, inconsistent};
use crate::dynamo::ROUNDS;
use crate::error::unavailable;
use crate::packed::packed;
use crate::transact::{Transacted, Writes};

/// What a commit takes for granted of a task beside its revision. It is part of the condition: where it is no longer
/// so, the commit is put together anew, without a new decision.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    keeping: Keeping,
    push: Vec<PushConfigId>,
}

impl Known {
    fn of(item: &TaskItem, table: &str) -> Result<Self, StoreError> {
        Ok(Self {
            keeping: item.keeping(),
            push: item.push_configs(table)?,
        })
    }
}

/// A commit on its way.
struct Commit<'a> {
    key: TaskKey,
    revision: &'a Revision,
    due: Due,
    lease: LeaseAfter<'a>,
    body: Spilled,
    /// The JSON of the events.
    log: Spilled,
    /// Names this write, for the pieces.
    write: String,
}

impl Tasks<'_> {
    /// Writes a revision: compare-and-swap on the `rev` that was read, the events appended, what is due, and the
    /// push configurations marked where there is news for them. One transaction; in it, a task that is finished gets
    /// its end, and so does all that hangs on it.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit, [`StoreError::NeedsNewerRelease`] where the task is to be changed
    /// on a view that misses something: nothing is written then. Otherwise what the database says.
    #[tracing::instrument(
        name = "store.task.commit", level = "debug", skip_all,
        fields(
            tenant.id = revision.task().tenant.name(), agent = %revision.task().agent, task.id = %revision.task().id,
            task.state = revision.task().status.state.as_str(),
        )
    )]
    pub async fn commit(
        &self,
        revision: &Revision,
        due: Due,
        lease: LeaseAfter<'_>,
    ) -> Result<Committed, StoreError> {
        Box::pin(self.write(revision, due, lease)).await
    }

    async fn write(
        &self,
        revision: &Revision,
        due: Due,
        lease: LeaseAfter<'_>,
    ) -> Result<Committed, StoreError> {
        let (table, task) = (self.table(), revision.task());
        // A decision on half a view could do twice what the unknown part says was done; ending does nothing.
        if task.needs_newer_release() && !revision.events().iter().all(ends_or_suspends) {
            return Err(StoreError::NeedsNewerRelease);
        }
        let events = serde_json::to_string(revision.events()).map_err(unavailable("encode"))?;
        let commit = Commit {
            key: TaskKey::from(task),
            revision,
            due,
            lease,
            body: self.stored(task)?,
            log: self.store.spilled(&events, &task.kept.beside),
            write: self.store.mark(),
        };
        let mut known = match &task.kept.keeping {
            Some(keeping) => Known {
                keeping: keeping.clone(),
                push: task.push_configs.clone(),
            },
            // It was never read.
            None => match self.store.item(table, &commit.key.task()).await? {
                Some(item) => {
                    let item: TaskItem = decode(table, item)?;
                    if item.rev != revision.seen() {
                        return Ok(Committed::Conflict);
                    }
                    Known::of(&item, table)?
                }
                None => return Ok(Committed::Conflict),
            },
        };
        let told = self.told(revision);
        // Push configurations come and go without a new `rev`: each may cost a round, but the decision stands.
        for _ in 0..ROUNDS {
            let ends = Ends::of(task, &known.keeping, commit.body.text.len());
            let mut writes = commit.writes(table, &known, ends.as_ref())?;
            for entry in &told {
                writes.put(&self.store.tables().audit, entry.item(self.store)?, Change::new())?;
            }
            let large = [&commit.body, &commit.log];
            self.store.put_large(&commit.key.partition(), &large).await?;
            let refused = match self.store.transact(writes).await? {
                Transacted::Done => {
                    for entry in told {
                        entry.keep();
                        entry.tell(self.store).await;
                    }
                    if let Some(ends) = ends.filter(|ends| !ends.is_small()) {
                        self.end_rest(&ends, task.rev).await;
                    }
                    Box::pin(self.store.ledger().follow(revision)).await;
                    return Ok(Committed::Yes);
                }
                Transacted::Refused(refused) => refused,
            };
            // The task's own item is the first of the writes. Where another one refused, no reading will make it right.
            let Some((_, found)) = refused.into_iter().find(|(index, _)| *index == 0) else {
                return Err(inconsistent(
                    table,
                    &commit.key.task(),
                    "it names a push configuration, a message or an event that is gone",
                ));
            };
            match commit.goes_on(table, &known, found)? {
                Some(newer) => known = newer,
                None => return Ok(Committed::Conflict),
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }
}

impl Tasks<'_> {
    /// What the audit is told with a revision: that its user agreed to a plan, and to steps that are sent with their word alone.
    fn told(&self, revision: &Revision) -> Vec<Entry> {
        let (task, (is_approved, steps)) = (revision.task(), revision.agreed());
        if !self.store.knows_tenants {
            return Vec::new();
        }
        let audit = self.store.audit(task.updated_at);
        let entry = |action, object: String| {
            let owner = Actor::Owner(&task.owner);
            audit.entry(action, Some(&task.tenant), owner, &object, audit::DONE)
        };
        let approved = is_approved.then(|| entry(Action::PlanApprove, task.id.to_string()));
        let numbers: Vec<String> = steps.iter().map(u32::to_string).collect();
        let released = (!steps.is_empty()).then(|| {
            entry(
                Action::EffectRelease,
                format!("{}/{}", task.id, numbers.join(",")),
            )
        });
        approved.into_iter().chain(released).collect()
    }
}

/// Whether this may be said of a task that holds what this release does not know: that it is called off, or that nothing
/// was heard of it in time.
fn ends_or_suspends(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::Status {
            state: TaskState::Canceled | TaskState::Unknown,
            ..
        }
    )
}

impl Commit<'_> {
    /// What is known now, where only that has changed and the decision still stands.
    fn goes_on(&self, table: &str, known: &Known, found: Option<Item>) -> Result<Option<Known>, StoreError> {
        let Some(found) = found else {
            return Ok(None);
        };
        let found: TaskItem = decode(table, found)?;
        let held = match self.lease {
            LeaseAfter::Keep => true,
            LeaseAfter::Release { holder } => found.lease_holder.as_deref() == Some(holder),
        };
        let newer = Known::of(&found, table)?;
        Ok((held && found.rev == self.revision.seen() && newer != *known).then_some(newer))
    }

    fn writes(&self, table: &str, known: &Known, ends: Option<&Ends>) -> Result<Writes, StoreError> {
        let key = &self.key;
        let events = self.revision.events();
        let is_status = |kind: &EventKind| matches!(kind, EventKind::Status { .. });
        let grows = events.iter().any(|event| !is_status(&event.kind));
        // A task that is full must still be able to end, or nobody would ever be done with it.
        let most = if grows { MOST } else { MOST_FOR_STATUS };
        let before = known.keeping.pieces;
        let cut = Cut::body(&self.body, most, before, &self.write)?;
        let expires_at = ends.map(|ends| ends.at);

        let mut writes = Writes::default();
        let due = ends.map_or(self.due, |ends| ends.due(self.due));
        let change = due_change(self.change(known, &cut, ends), key, due);
        writes.update(table, &key.task(), change)?;
        let created_at = self.revision.task().created_at;
        LogItem::write(
            &mut writes,
            table,
            key,
            (events, &self.log.text),
            created_at,
            expires_at,
        )?;
        // Deliveries are a cursor over the log: the newest entry is enough, whatever lies before it goes along.
        if let Some(event) = events.iter().rev().find(|event| event.kind.is_public()) {
            for config in &known.push {
                let change = news_change(key, event.seq, event.at, expires_at);
                writes.update(table, &key.push(config), change)?;
            }
        }
        cut.write(&mut writes, table, key, before, expires_at)?;
        // In the same request: the answer is there, and what was shown of it ahead is of no more use.
        if ends.is_some() && draft::may_be_beside(self.revision.task()) {
            writes.delete(table, &draft::place(key), Change::new())?;
        }
        // A transaction takes a hundred items: what hangs on a task of many is ended after it.
        if let Some(ends) = ends.filter(|ends| ends.is_small()) {
            ends.write(&mut writes, table)?;
        }
        Ok(writes)
    }

    /// The change of the task's own item.
    fn change(&self, known: &Known, cut: &Cut, ends: Option<&Ends>) -> Change {
        let task = self.revision.task();
        let state = task.status.state;
        let change = Change::new()
            .set("rev", number(task.rev))
            .set("state", text(state.as_str()))
            .set("body", packed(&cut.inline))
            .set("pieces", number(cut.pieces()))
            // Listings are by the time of the newest status, so that each commit moves the entry.
            .set("owner_sk", text(sorted_at(task.status.at, task.id)))
            .when("#rev = :seen")
            .value("seen", number(self.revision.seen()))
            // A push configuration that came meanwhile must hear of this commit too.
            .when("#push = :known_push")
            .value("known_push", text(push_list(&known.push)))
            .when("#pieces = :known_pieces")
            .value("known_pieces", number(known.keeping.pieces));
        let change = match status_place(task) {
            Some((partition, place)) => change
                .set("status_pk", text(partition))
                .set("status_sk", text(place)),
            None if task.agent.is_host() => change.remove(&["status_pk", "status_sk"]),
            None => change,
        };
        let change = match &cut.written_by {
            Some(write) => change.set("written_by", text(write)),
            None => change,
        };
        let revisions = &known.keeping.revisions;
        // A commit that only moves what is due, or the lease, makes no entry.
        let makes_entry = !self.revision.events().is_empty();
        let change = if makes_entry && is_short(revisions) {
            change
                .set_to("revisions", "list_append(#revisions, :this_revision)")
                .value("this_revision", numbers(&[task.rev]))
        } else {
            change
        };
        let change = match ends {
            // All entries of the log get their end with it, so that all of them must be known.
            Some(ends) if ends.is_small() => change
                .when("#revisions = :known_revisions")
                .value("known_revisions", numbers(revisions)),
            _ => change,
        };
        let change = match ends {
            Some(ends) => change.set("expires_at", number(ends.at)),
            None => change,
        };
        match self.lease {
            // What is left to do for a task that is over is counted from here.
            LeaseAfter::Keep if ends.is_some() => change.set("attempts", number(0)),
            LeaseAfter::Keep => change,
            LeaseAfter::Release { holder } => change
                .remove(&["lease_holder", "lease_until"])
                .set("attempts", number(0))
                .when("#lease_holder = :holder")
                .value("holder", text(holder)),
        }
    }
}
