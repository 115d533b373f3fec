//! What a user thinks of the answers in a chat: kept beside its messages, by the task that gave the answer, and gone with the chat.

use domain::{ChatId, TaskId, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::Sessions;
use super::chats::chat_key;
use crate::StoreError;
use crate::change::Change;
use crate::codec::{Key, encode};
use crate::transact::Writes;

/// What the sort keys begin with. They lie between those of answers and of messages, so that one query reads all; releases that do
/// not know them pass over them.
pub(super) const FEEDBACK: &str = "FEEDBACK#";

/// What a user thinks of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It helped.
    Good,
    /// It did not.
    Bad,
    /// What a newer release stored.
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
pub(super) struct FeedbackItem {
    pk: String,
    sk: String,
    pub(super) task: TaskId,
    pub(super) verdict: Verdict,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl Sessions<'_> {
    /// Keeps what the user thinks of a task's answer, in place of what they thought before; `None` forgets it. The caller has looked
    /// whose the chat and the task are.
    ///
    /// # Errors
    /// What the database says.
    pub async fn keep_feedback(
        &self,
        tenant: &Tenant,
        chat: &ChatId,
        (task, verdict): (TaskId, Option<Verdict>),
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (pk, sk) = feedback_key(tenant, chat, task);
        let Some(verdict) = verdict else {
            let mut writes = Writes::default();
            writes.delete(self.table(), &(pk, sk), Change::new())?;
            self.store.transact(writes).await?;
            return Ok(());
        };
        let item = FeedbackItem {
            pk,
            sk,
            task,
            verdict,
            at: now,
            expires_at: Some(self.chats_end(tenant, now)),
        };
        self.store
            .put(self.table(), encode(&item)?, Change::new())
            .await?;
        Ok(())
    }
}

fn feedback_key(tenant: &Tenant, chat: &ChatId, task: TaskId) -> Key {
    (chat_key(tenant, chat).0, format!("{FEEDBACK}{task}"))
}
