//! What an agent is asked and what it answers, free of either generation's wire form.

use domain::{
    Artifact, ContextId, Message, Metadata, Notification, PushConfigId, RemoteTaskId, RemoteUpdate,
    SecretString, TaskState,
};
use url::Url;

/// One call of an agent.
#[expect(
    clippy::large_enum_variant,
    reason = "a call lives once, on the way from the wire to its handler"
)]
#[derive(Debug, Clone)]
pub enum Call {
    /// A message: starts a task, or goes on with one.
    Send(SendCall),
    /// A look at a task.
    Get {
        /// The task's id as given; one that is no id of ours is simply not found.
        id: String,
        /// How many messages of the history to show; `None` is the agent's choice.
        history_length: Option<u32>,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// Calls a task off.
    Cancel {
        /// The task's id as given.
        id: String,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
}

/// A message to an agent, and how it is to be treated.
#[derive(Debug, Clone)]
pub struct SendCall {
    /// The message. Its own `task_id` is set only where it is an id of ours.
    pub message: Message,
    /// The task it belongs to, as given: an agent's ids are its own business.
    pub task_id: Option<String>,
    /// The answer is not to wait for the task's end (1.0 `returnImmediately`, 0.3 `blocking: false`).
    pub return_immediately: bool,
    /// Media types the client can read; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// Who wants to be told of changes.
    pub push: Option<PushTarget>,
    /// How many messages of the history the answer is to show; `None` is the agent's choice.
    pub history_length: Option<u32>,
    /// The interface's opaque `tenant`, echoed by the client. No authority.
    pub tenant: Option<String>,
    /// Free data of the call.
    pub metadata: Metadata,
}

impl SendCall {
    /// A call with nothing but the message, whose answer does not wait.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self {
            task_id: message.task_id.map(|id| id.to_string()),
            message,
            return_immediately: true,
            accepted_output_modes: Vec::new(),
            push: None,
            history_length: None,
            tenant: None,
            metadata: Metadata::new(),
        }
    }
}

/// Where a task's changes are pushed to.
#[derive(Debug, Clone)]
pub struct PushTarget {
    /// The configuration's id, where the client chose one.
    pub id: Option<PushConfigId>,
    /// The webhook.
    pub url: Url,
    /// A token that each notification carries, so that the receiver knows it for its own.
    pub token: Option<SecretString>,
    /// What the `Authorization` header of each notification says.
    pub authentication: Option<PushAuth>,
}

/// `Authorization: {scheme} {credentials}` of a push notification.
#[derive(Debug, Clone)]
pub struct PushAuth {
    /// The scheme, such as `Bearer`.
    pub scheme: String,
    /// The credentials.
    pub credentials: Option<SecretString>,
}

/// What an agent answers a send with.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A task of its own.
    Task(RemoteTask),
    /// A mere message: the matter is closed with it.
    Message(Message),
}

impl Answer {
    /// The answer as news of a job. A mere message settles it: its parts are the result.
    #[must_use]
    pub fn into_notification(self) -> Notification {
        match self {
            Self::Task(task) => task.into_notification(),
            Self::Message(message) => {
                let text = message.text();
                let artifact = Artifact {
                    metadata: message.metadata,
                    extensions: message.extensions,
                    ..Artifact::new(message.message_id.as_str(), message.parts)
                };
                Notification {
                    remote_task_id: None,
                    update: Some(RemoteUpdate {
                        state: TaskState::Completed,
                        text: Some(text).filter(|text| !text.is_empty()),
                        at: None,
                    }),
                    artifacts: vec![(artifact, false)],
                    snapshot: true,
                }
            }
        }
    }
}

/// A task at the agent that was called.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTask {
    /// Its id there.
    pub id: RemoteTaskId,
    /// Its conversation, where given.
    pub context_id: Option<ContextId>,
    /// Its state.
    pub status: RemoteUpdate,
    /// Its results so far.
    pub artifacts: Vec<Artifact>,
}

impl RemoteTask {
    /// The task as news of the job that it was delegated by.
    #[must_use]
    pub fn into_notification(self) -> Notification {
        Notification {
            remote_task_id: Some(self.id),
            update: Some(self.status),
            artifacts: self
                .artifacts
                .into_iter()
                .map(|artifact| (artifact, false))
                .collect(),
            snapshot: true,
        }
    }
}
