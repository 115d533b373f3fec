//! What an agent is asked and what it answers, free of either generation's wire form.

use domain::{
    Artifact, ContextId, Message, Metadata, Notification, PushConfigId, RemoteTaskId, RemoteUpdate,
    Responder, SecretString, TaskState, Timestamp,
};
use url::Url;

/// One call of an agent.
#[derive(Debug, Clone)]
pub enum Call {
    /// A message: starts a task, or goes on with one. One answer.
    Send(SendCall),
    /// The same, answered by a stream of events.
    Stream(SendCall),
    /// A look at a task.
    Get {
        /// The task's id as given; one that is no id of ours is simply not found.
        id: String,
        /// How many messages of the history to show; `None` is the agent's choice.
        history_length: Option<u32>,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// A page of the caller's tasks.
    List(ListCall),
    /// Calls a task off.
    Cancel {
        /// The task's id as given.
        id: String,
        /// Free data of the call.
        metadata: Metadata,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// The events of a task from now on, behind a snapshot of it.
    Subscribe {
        /// The task's id as given.
        id: String,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// Somebody more wants to be told of a task's changes.
    CreatePush {
        /// The task's id as given.
        task_id: String,
        /// Who.
        target: PushTarget,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// A look at a push configuration.
    GetPush {
        /// The task's id as given.
        task_id: String,
        /// The configuration's id as given; `None`, which only 0.3 has, means the task's first.
        id: Option<String>,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// A task's push configurations.
    ListPush {
        /// The task's id as given.
        task_id: String,
        /// Most configurations to answer with; `None` is the agent's choice.
        page_size: Option<u32>,
        /// Where the page begins, as an earlier answer said.
        page_token: Option<String>,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// Takes a push configuration away; one that is not there is no error.
    DeletePush {
        /// The task's id as given.
        task_id: String,
        /// The configuration's id as given.
        id: String,
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
    /// The card that authenticated callers see.
    ExtendedCard {
        /// The interface's opaque `tenant`, echoed by the client. No authority.
        tenant: Option<String>,
    },
}

impl Call {
    /// The interface's opaque `tenant` as the client echoed it. No authority.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::Send(call) | Self::Stream(call) => call.tenant.as_deref(),
            Self::List(call) => call.tenant.as_deref(),
            Self::Get { tenant, .. }
            | Self::Cancel { tenant, .. }
            | Self::Subscribe { tenant, .. }
            | Self::CreatePush { tenant, .. }
            | Self::GetPush { tenant, .. }
            | Self::ListPush { tenant, .. }
            | Self::DeletePush { tenant, .. }
            | Self::ExtendedCard { tenant } => tenant.as_deref(),
        }
    }
}

/// Which of the caller's tasks to list, and what to show of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCall {
    /// Only those of this conversation, as given.
    pub context_id: Option<String>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Most tasks of a page, 1 to [`ListCall::MAX_PAGE`].
    pub page_size: u32,
    /// Where the page begins, as an earlier answer said.
    pub page_token: Option<String>,
    /// How many messages of each history to show; `None` is the agent's choice.
    pub history_length: Option<u32>,
    /// Only those whose status is from then or later.
    pub changed_since: Option<Timestamp>,
    /// The tasks' artifacts are wanted.
    pub include_artifacts: bool,
    /// The interface's opaque `tenant`, echoed by the client. No authority.
    pub tenant: Option<String>,
}

impl ListCall {
    /// Most tasks of a page (A2A 1.0, 3.1.4).
    pub const MAX_PAGE: u32 = 100;
    /// Tasks of a page where the client does not say.
    pub const DEFAULT_PAGE: u32 = 50;
}

impl Default for ListCall {
    fn default() -> Self {
        Self {
            context_id: None,
            state: None,
            page_size: Self::DEFAULT_PAGE,
            page_token: None,
            history_length: None,
            changed_since: None,
            include_artifacts: false,
            tenant: None,
        }
    }
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

    /// The task that the message belongs to, as it is written.
    pub(crate) fn of_task(&self) -> Option<String> {
        let own = || self.message.task_id.map(|id| id.to_string());
        self.task_id.clone().or_else(own)
    }

    /// How much of the history is wanted, as it is written.
    pub(crate) fn history(&self) -> Option<i32> {
        self.history_length
            .map(|length| i32::try_from(length).unwrap_or(i32::MAX))
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

/// What an agent shows of a push configuration: never its secrets, which only whoever made it knows (A2A 1.0, 13.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPush {
    /// Its id.
    pub id: PushConfigId,
    /// The webhook.
    pub url: Url,
    /// The scheme of the `Authorization` header that notifications carry.
    pub scheme: Option<String>,
}

/// What an agent answers a send with.
#[derive(Debug, Clone, PartialEq)]
pub enum SendResponse {
    /// A task of its own.
    Task(RemoteTask),
    /// A mere message: the matter is closed with it.
    Message(Message),
}

impl SendResponse {
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
                        text: Some(text).filter(|text| !text.is_empty()),
                        ..RemoteUpdate::of(TaskState::Completed)
                    }),
                    artifacts: vec![(artifact, false)],
                    snapshot: true,
                    responder: None,
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
    /// Who has it, where that is another agent than the one that was asked.
    pub responder: Option<Responder>,
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
            responder: self.responder,
        }
    }
}
