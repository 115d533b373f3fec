//! Extractors of chats and tasks that have been looked up and belong to whoever asks. What does not, does not exist.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use domain::{ChatId, Owner, Task, TaskId};
use http::request::Parts;
use store::{Chat, TaskKey};

use crate::error::RouteError;
use crate::session::visitor::{Seen, Visitor};
use crate::state::AppState;

/// The chat in the path, where the session has one of that id.
pub(crate) struct MaybeChat(pub(crate) Option<Chat>);

impl FromRequestParts<Arc<AppState>> for MaybeChat {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let id = ChatId::parse(&id(parts, room).await?).map_err(|_| RouteError::NotFound)?;
        let Visitor(Some(owner)) = Visitor::from_request_parts(parts, room).await? else {
            return Ok(Self(None));
        };
        let sessions = room.store.sessions();
        Ok(Self(
            sessions
                .find_chat(&room.tenant, &owner, &id, room.clock.now())
                .await?,
        ))
    }
}

/// The chat in the path.
pub(crate) struct OwnedChat(pub(crate) Chat);

impl FromRequestParts<Arc<AppState>> for OwnedChat {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let MaybeChat(chat) = MaybeChat::from_request_parts(parts, room).await?;
        match chat {
            Some(chat) if chat.deleted_at.is_some() => Err(RouteError::Deleted),
            chat => chat.map(Self).ok_or(RouteError::NotFound),
        }
    }
}

/// The task in the path, with its owner.
pub(crate) struct OwnedTask {
    pub(crate) task: Task,
    pub(crate) owner: Owner,
    /// Whether browsers of the owner are told of tasks.
    pub(crate) pushes: bool,
}

impl FromRequestParts<Arc<AppState>> for OwnedTask {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let id = TaskId::parse(&id(parts, room).await?).map_err(|_| RouteError::NotFound)?;
        let seen = Seen::from_request_parts(parts, room).await?;
        let Visitor(owner) = Visitor::of(&seen, room)?;
        let owner = owner.ok_or(RouteError::NotFound)?;
        tracing::Span::current().record("task.id", tracing::field::display(&id));
        let task = room.find_task(&owner, id).await?.ok_or(RouteError::NotFound)?;
        Ok(Self {
            task,
            owner,
            pushes: seen.pushes(),
        })
    }
}

impl AppState {
    /// The owner's task of that id; one read.
    pub(crate) async fn find_task(&self, owner: &Owner, id: TaskId) -> Result<Option<Task>, RouteError> {
        let found = self.anybodys_task(id).await?;
        Ok(found.filter(|task| task.owner == *owner))
    }

    /// The task of that id, whose ever it is: nothing that was said in it is for who asks.
    pub(crate) async fn anybodys_task(&self, id: TaskId) -> Result<Option<Task>, RouteError> {
        let key = TaskKey::new(&self.tenant, &self.agent, id);
        let found = self.tasks().find(&key, self.clock.now()).await?;
        Ok(found.map(|stored| stored.task))
    }

    /// The tasks of a chat, oldest first.
    pub(crate) async fn tasks_of(&self, chat: &Chat) -> Result<Vec<Task>, RouteError> {
        let now = self.clock.now();
        let tasks = self.tasks();
        Ok(tasks
            .by_context(&self.tenant, &self.agent, &chat.owner, &chat.context_id, now)
            .await?)
    }
}

async fn id(parts: &mut Parts, room: &Arc<AppState>) -> Result<String, RouteError> {
    let params = RawPathParams::from_request_parts(parts, room)
        .await
        .map_err(|_| RouteError::NotFound)?;
    let found = params
        .iter()
        .find(|(name, _)| *name == "id")
        .map(|(_, id)| id.to_owned());
    found.ok_or(RouteError::NotFound)
}
