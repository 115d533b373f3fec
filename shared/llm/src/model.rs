//! The door: what a model is shown, and what it may answer.

use async_trait::async_trait;
use domain::{AgentType, TaskId};
use serde::{Deserialize, Serialize};

use crate::AgentBrief;

/// Something that reads a conversation and decides the next step.
#[async_trait]
pub trait Model: Send + Sync {
    /// Decides the next step.
    ///
    /// # Errors
    /// [`ModelError`] where the model could not be asked or answered nonsense.
    async fn step(&self, prompt: &Prompt) -> Result<Step, ModelError>;
}

/// All a model sees.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// Whom work can be given to.
    pub agents: Vec<AgentBrief>,
    /// The conversation, oldest first. The last [`Turn::User`] is what is to be answered; what stands before it
    /// is what was said and done earlier.
    pub turns: Vec<Turn>,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// The user said something.
    User(String),
    /// We said something.
    Said(String),
    /// We called tools.
    Calls(Vec<ToolCall>),
    /// What the tools answered.
    Results(Vec<ToolResult>),
}

/// What a model decides.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Answer the user with this.
    Say(String),
    /// Call these tools, all at once.
    Call(Vec<ToolCall>),
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the conversation; its result carries it.
    pub id: String,
    /// The tool with its arguments.
    #[serde(flatten)]
    pub tool: Tool,
}

/// The tools there are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
pub enum Tool {
    /// Gives work to the agent of that type.
    SendMessage {
        /// The type, as the registry has it.
        agent_type: AgentType,
        /// What the agent is asked to do.
        message: String,
    },
    /// Asks how a task is doing.
    TaskStatus {
        /// Which; the newest where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
    },
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// Who did it, to show; absent for our own tools.
    pub agent: Option<String>,
    /// How it went.
    pub outcome: ToolOutcome,
}

/// How a tool call went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// Done, with this text as the result.
    Done(String),
    /// Not done, with the reason.
    Failed(String),
}

/// Why a model could not decide.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It could not be reached or is overloaded; a later try may succeed.
    #[error("the model cannot be reached: {0}")]
    Unavailable(String),
    /// It answered something that is no step.
    #[error("the model answered something unusable: {0}")]
    Unusable(String),
}
