//! Finished tasks that whoever has a link may read. A share is found by the hash of its link's token, and by its owner and task; a task
//! has one link at a time.

use domain::{AgentId, AgentType, ContextId, Owner, TaskId, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::people::owner_place;
use super::{Person, Sessions};
use crate::StoreError;
use crate::change::{Change, text};
use crate::codec::{Item, Key, text_of};
use crate::dynamo::{Query, ROUNDS};
use crate::record::{document_of, record};
use crate::transact::{Transacted, Writes};

/// Most tasks that somebody has shared at a time.
pub const SHARES_MAX: usize = 100;

/// What the sort keys of an owner's shares begin with; the task's id follows.
pub(super) const SHARE: &str = "SHARE#";
/// The attribute with the hash of the link's token.
const HASH: &str = "link_hash";
const DOCUMENT: &str = "the share";

/// A finished task that whoever has its link may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// The task.
    pub task: TaskId,
    /// Whose it is.
    pub owner: Owner,
    /// The conversation that it belongs to.
    pub context: ContextId,
    /// Who shares it, and when they proved who they are: it is shared as long as that counts.
    pub person: Person,
    /// The agents whose words may stand in it.
    pub agents: Vec<SharedAgent>,
    /// The types of those whose words their user shares though they demand something of their callers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed: Vec<String>,
    /// The tenant's epoch of shares ([`crate::Tenants::sharing`]) that it was shared under.
    pub epoch: u64,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub ends_at: Timestamp,
}

/// An agent whose words may stand in what is shared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedAgent {
    /// Its type.
    pub agent_type: AgentType,
    /// Itself.
    pub id: AgentId,
}

fn link_key(tenant: &Tenant, hash: &str) -> Key {
    (
        format!("{}#session#share-{hash}", tenant.prefix()),
        "SHARE".to_owned(),
    )
}

/// Where the link of an owner's share leads from.
pub(super) fn link_of(tenant: &Tenant, own: &Item) -> Option<Key> {
    Some(link_key(tenant, text_of(own, HASH)?))
}

fn own_key(tenant: &Tenant, owner: &Owner, task: TaskId) -> Key {
    (owner_place(tenant, owner), format!("{SHARE}{task}"))
}

impl Sessions<'_> {
    /// Shares a task under the hash of a new link's token; the link that it had before leads nowhere from then on.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where others share it all the time.
    pub async fn share(&self, tenant: &Tenant, hash: &str, share: &Share) -> Result<(), StoreError> {
        let key = own_key(tenant, &share.owner, share.task);
        let until = Some(share.ends_at);
        for _ in 0..ROUNDS {
            let known = self.store.item_at(self.table(), &key).await?;
            let mut writes = Writes::default();
            let link = record(link_key(tenant, hash), DOCUMENT, share, until)?;
            writes.put(self.table(), link, Change::new())?;
            let mut own = record(key.clone(), DOCUMENT, share, until)?;
            own.insert(HASH.to_owned(), text(hash));
            writes.put(self.table(), own, as_seen(known.as_ref()))?;
            if let Some(before) = known.as_ref().and_then(|item| text_of(item, HASH)) {
                writes.delete(self.table(), &link_key(tenant, before), Change::new())?;
            }
            if let Transacted::Done = self.store.transact(writes).await? {
                return Ok(());
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }

    /// What is shared by the link whose token has this hash; one read. Whether it still is hangs on more than the time.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_share(
        &self,
        tenant: &Tenant,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Share>, StoreError> {
        let found: Option<Share> = self.store.record(self.table(), &link_key(tenant, hash)).await?;
        Ok(found.filter(|share| now < share.ends_at))
    }

    /// How the owner's task is shared.
    ///
    /// # Errors
    /// What the database says.
    pub async fn share_of(
        &self,
        tenant: &Tenant,
        (owner, task): (&Owner, TaskId),
        now: Timestamp,
    ) -> Result<Option<Share>, StoreError> {
        let key = own_key(tenant, owner, task);
        let found: Option<Share> = self.store.record(self.table(), &key).await?;
        Ok(found.filter(|share| now < share.ends_at))
    }

    /// What the owner has shared, of which there are [`SHARES_MAX`] at most where that is looked at before.
    ///
    /// # Errors
    /// What the database says.
    pub async fn shares_of(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<Vec<Share>, StoreError> {
        let shares = self.own_shares(tenant, owner).await?.into_iter();
        Ok(shares.filter(|share| now < share.ends_at).collect())
    }

    /// Ends what the owner shares of a task; false where it is not shared.
    ///
    /// # Errors
    /// What the database says; [`StoreError::Throttled`] where it is shared anew all the time.
    pub async fn end_share(&self, tenant: &Tenant, owner: &Owner, task: TaskId) -> Result<bool, StoreError> {
        let key = own_key(tenant, owner, task);
        for _ in 0..ROUNDS {
            let Some(known) = self.store.item_at(self.table(), &key).await? else {
                return Ok(false);
            };
            let mut writes = Writes::default();
            if let Some(hash) = text_of(&known, HASH) {
                writes.delete(self.table(), &link_key(tenant, hash), Change::new())?;
            }
            writes.delete(self.table(), &key, as_seen(Some(&known)))?;
            if let Transacted::Done = self.store.transact(writes).await? {
                return Ok(true);
            }
        }
        Err(StoreError::Throttled {
            operation: "TransactWriteItems",
        })
    }

    /// Ends what the owner shares of a conversation; how much that was.
    ///
    /// # Errors
    /// What the database says. What was not ended then is there for another try.
    pub async fn end_shares_of(
        &self,
        tenant: &Tenant,
        owner: &Owner,
        context: &ContextId,
    ) -> Result<usize, StoreError> {
        let mut ended = 0;
        for share in self.own_shares(tenant, owner).await? {
            if share.context == *context && self.end_share(tenant, owner, share.task).await? {
                ended += 1;
            }
        }
        Ok(ended)
    }

    async fn own_shares(&self, tenant: &Tenant, owner: &Owner) -> Result<Vec<Share>, StoreError> {
        let place = owner_place(tenant, owner);
        let query = Query {
            table: self.table(),
            condition: "#pk = :pk AND begins_with(#sk, :share)",
            values: vec![(":pk", text(&place)), (":share", text(SHARE))],
            ..Query::default()
        };
        let items = self.store.query_all(query).await?;
        let read = |item: Item| document_of(self.table(), item);
        items.into_iter().map(read).collect()
    }
}

/// Only where the owner's item is still the one that was read.
fn as_seen(known: Option<&Item>) -> Change {
    match known.and_then(|item| text_of(item, HASH)) {
        Some(hash) => Change::new()
            .when(&format!("#{HASH} = :seen"))
            .value("seen", text(hash)),
        None => Change::new().when("attribute_not_exists(#pk)"),
    }
}
