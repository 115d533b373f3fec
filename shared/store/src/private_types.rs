//! Which types of agents have asked a tenant's users for a sign-in: what such an agent says is private, whatever its card
//! says. A tenant learns it for itself alone, so that no tenant's agent decides about another's.

use domain::{AgentType, Tenant, Timestamp};

use crate::change::{Change, number};
use crate::codec::Key;
use crate::{Store, StoreError};

/// The facts of tenants, in the table of tasks: one item for each type, which has no end.
#[derive(Clone, Copy)]
pub struct PrivateTypes<'s> {
    pub(crate) store: &'s Store,
}

fn key(tenant: &Tenant, agent_type: &AgentType) -> Key {
    (
        format!("{}#host#private#{agent_type}", tenant.prefix()),
        "PRIVATE".to_owned(),
    )
}

impl PrivateTypes<'_> {
    /// Notes that an agent of this type has asked for a sign-in; noting it again changes nothing.
    ///
    /// # Errors
    /// What the database says.
    pub async fn note(
        &self,
        tenant: &Tenant,
        agent_type: &AgentType,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let change = Change::new()
            .set_to("since", "if_not_exists(#since, :now)")
            .value("now", number(now.millis()));
        let table = &self.store.tables().tasks;
        self.store
            .update(table, &key(tenant, agent_type), change)
            .await
            .map(drop)
    }

    /// Which of these have; one call for a hundred of them.
    ///
    /// # Errors
    /// What the database says.
    pub async fn among(&self, tenant: &Tenant, types: &[AgentType]) -> Result<Vec<AgentType>, StoreError> {
        let keys: Vec<Key> = types.iter().map(|one| key(tenant, one)).collect();
        let table = &self.store.tables().tasks;
        let found = self.store.items(table, &keys).await?;
        let has = types
            .iter()
            .zip(&keys)
            .filter(|(_, key)| found.contains_key(*key));
        Ok(has.map(|(one, _)| one.clone()).collect())
    }

    /// Whether one has.
    ///
    /// # Errors
    /// What the database says.
    pub async fn has(&self, tenant: &Tenant, agent_type: &AgentType) -> Result<bool, StoreError> {
        let table = &self.store.tables().tasks;
        let found = self.store.item(table, &key(tenant, agent_type)).await?;
        Ok(found.is_some())
    }
}
