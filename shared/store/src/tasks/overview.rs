//! What a tenant's operators see of all tasks of its host: how those stand that are not over, and how many ended otherwise than
//! completed. Nothing of what anybody said is read for it.

use domain::{AgentName, TaskId, TaskState, Tenant, Timestamp};

use super::item::{ended_partition, unfinished_partition};
use super::{TaskKey, Tasks};
use crate::StoreError;
use crate::change::text;
use crate::codec::{Item, Key, key_of, text_of};
use crate::dynamo::Query;
use crate::schema::{BY_CONTEXT, BY_OWNER, BY_STATUS};

/// Entries of keys alone, of which so many fit into one answer of an index.
const MOST: u32 = 1000;

/// What is read of each unfinished task.
const METADATA: &str =
    "#pk, #sk, #state, #attempts, #due_at, #lease_until, #context_sk, #owner_sk, #expires_at";

/// How a task stands that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    /// The task.
    pub id: TaskId,
    /// Its state.
    pub state: TaskState,
    /// Since when.
    pub since: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is to be looked at next.
    pub due_at: Option<Timestamp>,
    /// Until when somebody works on it.
    pub leased_until: Option<Timestamp>,
    /// How often it was leased since its attempts were last reset.
    pub attempts: u32,
}

impl Tasks<'_> {
    /// The host's tasks that are not over, oldest first: at most so many (up to 1,000), and whether there are more. Tasks that
    /// an earlier release has written last are not among them.
    ///
    /// # Errors
    /// What the database says.
    pub async fn unfinished(
        &self,
        tenant: &Tenant,
        host: &AgentName,
        most: u32,
    ) -> Result<(Vec<Unfinished>, bool), StoreError> {
        let most = most.min(MOST);
        let query = self.status_query(unfinished_partition(tenant, host), most);
        let (items, _) = self.store.query(query).await?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let keys = items.iter().take(most).map(|item| key_of(self.table(), item));
        let keys: Vec<Key> = keys.collect::<Result<_, _>>()?;
        // The index may lag behind, and says no state.
        let found = self.store.items_of(self.table(), &keys, Some(METADATA)).await?;
        let unfinished = keys.iter().filter_map(|key| unfinished(key, found.get(key)?));
        Ok((unfinished.collect(), items.len() > most))
    }

    /// How many of the host's tasks ended in this state and are still kept, counted up to `most` (up to 1,000) and one
    /// more, which says that there are more. Completed ones are not counted: none is found.
    ///
    /// # Errors
    /// What the database says.
    pub async fn ended(
        &self,
        tenant: &Tenant,
        host: &AgentName,
        state: TaskState,
        most: u32,
    ) -> Result<u64, StoreError> {
        let most = most.min(MOST);
        let query = self.status_query(ended_partition(tenant, host, state), most);
        self.store.count_to(query, u64::from(most) + 1).await
    }

    fn status_query(&self, partition: String, most: u32) -> Query<'_> {
        Query {
            table: self.table(),
            index: Some(BY_STATUS.name),
            condition: "#status_pk = :partition",
            values: vec![(":partition", text(partition))],
            limit: Some(most + 1),
            ..Query::default()
        }
    }
}

/// What is over by now, or cannot be read, is left out.
fn unfinished(key: &Key, item: &Item) -> Option<Unfinished> {
    let (task, None) = TaskKey::of(key)? else {
        return None;
    };
    let time = |name: &str| text_of(item, name).and_then(Timestamp::parse);
    let begins = |name: &str| Timestamp::parse(text_of(item, name)?.split('#').next()?);
    let state = TaskState::parse(text_of(item, "state")?)?;
    let is_over = state.is_terminal() || item.contains_key("expires_at");
    let attempts = item
        .get("attempts")
        .and_then(|value| value.as_n().ok()?.parse().ok());
    (!is_over).then_some(Unfinished {
        id: task.id,
        state,
        since: begins(BY_OWNER.sort)?,
        created_at: begins(BY_CONTEXT.sort)?,
        due_at: time("due_at"),
        leased_until: time("lease_until"),
        attempts: attempts.unwrap_or_default(),
    })
}
