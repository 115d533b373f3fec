//! All the tasks of an owner, watched: a look says which of their cards have changed. A body is read only where its task's `rev`
//! has moved.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{Owner, Task, TaskId, Timestamp};
use serde_json::Value;
use store::StoreError;

use crate::chat::turn;
use crate::state::AppState;
use crate::tasks::view;

/// Most tasks that are looked at, those with the newest status.
const TASKS_MAX: u32 = 50;
/// An index may lag so far behind: what ended since the last look is looked for over that much more.
const OVERLAP: Duration = Duration::from_secs(10);
/// A cursor of the future is rubbish; clocks of two instances differ by less.
const SKEW: Duration = Duration::from_secs(60);

/// What was seen of a task.
struct Seen {
    rev: u64,
    card: Option<Value>,
}

/// The watch over an owner's tasks.
pub(crate) struct Watch {
    room: Arc<AppState>,
    owner: Owner,
    since: Timestamp,
    seen: HashMap<TaskId, Seen>,
}

impl Watch {
    /// Begins where the cursor says; without one, with what is unfinished.
    pub(crate) fn new(room: Arc<AppState>, owner: Owner, after: Option<Timestamp>) -> Self {
        let since = after.unwrap_or_else(|| room.clock.now());
        Self {
            room,
            owner,
            since,
            seen: HashMap::new(),
        }
    }

    /// Where the next watch goes on so that it misses nothing; it may tell some things twice.
    pub(crate) fn cursor(&self) -> String {
        format!("{:x}", self.since.millis())
    }

    /// The cards that have changed since the last look.
    pub(crate) async fn look(&mut self) -> Result<Vec<Value>, StoreError> {
        let (room, now) = (Arc::clone(&self.room), self.room.clock.now());
        let tasks = room.tasks();
        let heads = tasks
            .heads(&room.tenant, &room.agent, &self.owner, TASKS_MAX)
            .await?;
        let horizon = self.since.before(OVERLAP);
        let is_wanted = |head: &&store::Head| !head.state.is_terminal() || head.at >= horizon;
        let ids: Vec<TaskId> = heads.iter().filter(is_wanted).map(|head| head.id).collect();
        self.seen.retain(|id, _| ids.contains(id));
        let mut changed = Vec::new();
        if !ids.is_empty() {
            let revisions = tasks.revisions(&room.tenant, &room.agent, &ids).await?;
            let moved = |id: &TaskId| {
                let seen = self.seen.get(id).map(|seen| seen.rev);
                revisions.get(id).is_some_and(|rev| seen != Some(*rev))
            };
            changed.extend(ids.into_iter().filter(moved));
        }
        let mut cards = Vec::new();
        if !changed.is_empty() {
            let found = tasks.of_ids(&room.tenant, &room.agent, &changed, now).await?;
            cards.extend(found.iter().filter_map(|task| self.news(task)));
        }
        self.since = now;
        // The oldest first: what came last is told last.
        cards.reverse();
        Ok(cards)
    }

    /// The card, where it shows something else than before.
    fn news(&mut self, task: &Task) -> Option<Value> {
        let card = turn::has_card(task).then(|| view::card(task));
        let seen = Seen {
            rev: task.rev,
            card: card.clone(),
        };
        let before = self.seen.insert(task.id, seen).and_then(|seen| seen.card);
        card.filter(|card| !before.is_some_and(|before| is_same(&before, card)))
    }
}

/// A card's time moves with every write; that alone is no news.
fn is_same(one: &Value, two: &Value) -> bool {
    let bare = |card: &Value| {
        let mut card = card.clone();
        if let Some(fields) = card.as_object_mut() {
            fields.remove("updatedAt");
        }
        card
    };
    bare(one) == bare(two)
}

/// The time that a cursor names; `None` for rubbish.
pub(crate) fn place(cursor: &str, now: Timestamp) -> Option<Timestamp> {
    let millis = i64::from_str_radix(cursor, 16)
        .ok()
        .filter(|millis| *millis >= 0)?;
    let at = Timestamp::from_millis(millis);
    (format!("{millis:x}") == cursor && at <= now.after(SKEW)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_what_was_given_out_and_nothing_else() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        assert_eq!(place(&format!("{:x}", now.millis()), now), Some(now));
        for bad in [
            "",
            " ",
            "-1",
            "+1",
            "x",
            "01",
            "FF",
            "19b7f5b1400 ",
            "ffffffffffff",
            "ffffffffffffffffffffff",
        ] {
            assert_eq!(place(bad, now), None, "{bad}");
        }
    }
}
