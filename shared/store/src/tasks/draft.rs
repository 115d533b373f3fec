//! The draft of an answer: words of a language model as they come, for those who follow the task and asked for them. It is
//! never the truth of anything: no event tells of it, nobody is woken for it, and once the task has its answer nobody shows
//! it any more. It lies beside its task, apart from the log and what deliveries read.

use std::time::Duration;

use domain::{Task, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{expiry, is_over};
use super::{TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number};
use crate::codec::{Key, decode, encode};
use crate::dynamo::Written;
use crate::packed::Packed;

/// Most bytes of a draft's text; how it goes on is then seen in the answer alone.
pub const DRAFT_MAX: usize = 32 * 1024;

/// How long a draft is there after its last words.
const KEPT: Duration = Duration::from_secs(3600);

/// What a model has said so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerDraft {
    /// The turn of the task's model that it is of.
    pub turn: u32,
    /// Grows with each attempt at an answer, whoever makes it: what earlier ones said does not count any more.
    pub attempt: u64,
    /// The text, from its beginning.
    pub text: String,
}

/// The item of a draft.
#[derive(Serialize, Deserialize)]
struct DraftItem {
    pk: String,
    sk: String,
    turn: u32,
    attempt: u64,
    /// Of the text, in bytes: DynamoDB cannot tell of packed text which is longer.
    length: u64,
    text: Packed,
    /// Unix seconds.
    expires_at: i64,
}

pub(super) fn place(key: &TaskKey) -> Key {
    (key.partition(), "DRAFT".to_owned())
}

/// Whether a draft may lie beside a task: who wants one names an extension of the agent's.
pub(super) fn may_be_beside(task: &Task) -> bool {
    let mut terms = task.history.iter().map(|message| &message.terms);
    terms.any(|terms| !terms.extensions.is_empty())
}

impl Tasks<'_> {
    /// Puts a draft in place of the one before, where it is of a later attempt, or of the same one and longer. False where
    /// it is neither: somebody else is ahead. Of a text over [`DRAFT_MAX`] the beginning is kept.
    ///
    /// # Errors
    /// What the database says.
    pub async fn put_draft(
        &self,
        key: &TaskKey,
        draft: &AnswerDraft,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (pk, sk) = place(key);
        let kept = draft.text.floor_char_boundary(DRAFT_MAX);
        let text = draft.text.get(..kept).unwrap_or_default();
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let item = encode(&DraftItem {
            pk,
            sk,
            turn: draft.turn,
            attempt: draft.attempt,
            length,
            text: Packed(text.to_owned()),
            expires_at: expiry(now.after(KEPT)),
        })?;
        let ahead = Change::new()
            .when("attribute_not_exists(#attempt) OR #attempt < :attempt OR #attempt = :attempt AND #length < :length")
            .value("attempt", number(draft.attempt))
            .value("length", number(length));
        match self.store.put(self.table(), item, ahead).await? {
            Written::Done(_) => Ok(true),
            // A put whose first answer was lost finds its own text.
            Written::Refused(found) => {
                let found = found.and_then(|item| decode::<DraftItem>(self.table(), item).ok());
                Ok(found.is_some_and(|found| found.attempt == draft.attempt && *found.text == *text))
            }
        }
    }

    /// The draft beside a task, if there is one. One that cannot be read is none: nothing hangs on it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn draft(&self, key: &TaskKey, now: Timestamp) -> Result<Option<AnswerDraft>, StoreError> {
        let Some(item) = self.store.item(self.table(), &place(key)).await? else {
            return Ok(None);
        };
        match decode::<DraftItem>(self.table(), item) {
            Ok(found) if is_over(Some(found.expires_at), now) => Ok(None),
            Ok(found) => Ok(Some(AnswerDraft {
                turn: found.turn,
                attempt: found.attempt,
                text: found.text.0,
            })),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(tenant.id = key.tenant.name(), task.id = %key.id, error, "a draft cannot be read");
                Ok(None)
            }
        }
    }
}
