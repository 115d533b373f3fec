//! The registry's agents, found by id or tag, and the scope each type was declared with.

use domain::{AgentId, AgentType, Tag, Tenant, Timestamp, TypeScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::{Store, StoreError};

/// Which part of the registry is looked at: exactly one, never two together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility<'a> {
    /// The agents that serve every tenant.
    Global,
    /// One tenant's own.
    Tenant(&'a Tenant),
}

/// A registered agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAgent {
    /// Its id here.
    pub id: AgentId,
    /// Whose it is; none where it serves every tenant.
    pub tenant: Option<Tenant>,
    /// Where its card came from.
    pub card_url: Url,
    /// The card as fetched.
    pub card: Value,
    /// The tags of each skill.
    pub skills: Vec<Vec<Tag>>,
    /// Since when it is registered.
    pub registered_at: Timestamp,
    /// How it was at the last look.
    pub health: Health,
}

impl RegisteredAgent {
    /// Which part of the registry it lies in.
    #[must_use]
    pub fn visibility(&self) -> Visibility<'_> {
        self.tenant.as_ref().map_or(Visibility::Global, Visibility::Tenant)
    }
}

/// How an agent was at the last look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// True where its card could be had.
    pub ok: bool,
    /// When that was looked at.
    pub checked_at: Timestamp,
    /// What was wrong.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What became of declaring a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// It is declared.
    New,
    /// It was declared just so before.
    Same,
    /// It was declared with this other scope before, which stays.
    Contradicts(TypeScope),
}

/// What became of registering an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is registered; it replaces what had the same id.
    Yes,
    /// Another agent of the same visibility has that card URL.
    CardUrlTaken(AgentId),
    /// Somebody else changed that agent at the same time.
    Conflict,
}

/// The table of the registry.
#[derive(Clone, Copy)]
pub struct Cards<'s> {
    pub(crate) store: &'s Store,
}

impl Cards<'_> {
    /// Declares a type's scope, once.
    ///
    /// # Errors
    /// What the database says.
    pub async fn declare_type(&self, name: &AgentType, scope: TypeScope) -> Result<Declared, StoreError> {
        todo!()
    }

    /// The scope a type was declared with.
    ///
    /// # Errors
    /// What the database says.
    pub async fn type_scope(&self, name: &AgentType) -> Result<Option<TypeScope>, StoreError> {
        todo!()
    }

    /// Every declared type.
    ///
    /// # Errors
    /// What the database says.
    pub async fn types(&self) -> Result<Vec<(AgentType, TypeScope)>, StoreError> {
        todo!()
    }

    /// Registers an agent, or replaces the one of the same id, with its tags.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where the card does not fit; otherwise what the database says.
    pub async fn put(&self, agent: &RegisteredAgent) -> Result<Put, StoreError> {
        todo!()
    }

    /// The agent of that id.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(
        &self,
        visibility: Visibility<'_>,
        id: &AgentId,
    ) -> Result<Option<RegisteredAgent>, StoreError> {
        todo!()
    }

    /// The agents with a skill of that tag.
    ///
    /// # Errors
    /// What the database says.
    pub async fn by_tag(
        &self,
        visibility: Visibility<'_>,
        tag: &Tag,
    ) -> Result<Vec<RegisteredAgent>, StoreError> {
        todo!()
    }

    /// Every agent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn all(&self, visibility: Visibility<'_>) -> Result<Vec<RegisteredAgent>, StoreError> {
        todo!()
    }

    /// Removes an agent with its tags. False where there was none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove(&self, visibility: Visibility<'_>, id: &AgentId) -> Result<bool, StoreError> {
        todo!()
    }

    /// Writes down how an agent was found. False where there is none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn set_health(
        &self,
        visibility: Visibility<'_>,
        id: &AgentId,
        health: Health,
    ) -> Result<bool, StoreError> {
        todo!()
    }
}
