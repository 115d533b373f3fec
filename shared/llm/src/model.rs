//! The door: what a model is shown, and what it may answer.

use std::time::Duration;

use async_trait::async_trait;
use chrono::NaiveDate;
use domain::{AgentType, Clause, TaskId, Timestamp, TokenUsage};
use nlu::Act;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Agents;

/// Something that reads a conversation and decides the next step.
#[async_trait]
pub trait Model: Send + Sync {
    /// Decides the next step, and shows its words as they come. An answer counts only as a whole: what the draft has seen
    /// may be said otherwise in the end, or never.
    ///
    /// Dropping the future ends the asking at once.
    ///
    /// # Errors
    /// [`ModelError`] where the model could not be asked or answered nonsense.
    async fn step(&self, prompt: &Prompt, draft: &mut dyn Draft) -> Result<Answer, ModelError>;

    /// Whether somebody is asked over the network, who takes seconds and shows the words as they come. No by default.
    fn is_hosted(&self) -> bool {
        false
    }

    /// Whether it may call tools again once it has results. Who never does needs no agents in that prompt.
    fn goes_on(&self) -> bool {
        true
    }

    /// How long it may take to answer.
    fn longest(&self) -> Duration {
        LONGEST
    }
}

/// How long an answer may take, where nobody says otherwise.
pub(crate) const LONGEST: Duration = Duration::from_secs(75);

/// Sees the words of an answer as they come. It must not block: who writes them somewhere does that beside.
pub trait Draft: Send {
    /// An attempt begins, the first, second, … of this step; what the one before it said does not count.
    fn begins(&mut self, attempt: u32);
    /// The attempt says this further.
    fn grows(&mut self, text: &str);
}

/// A draft that nobody looks at.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDraft;

impl Draft for NoDraft {
    fn begins(&mut self, _attempt: u32) {}
    fn grows(&mut self, _text: &str) {}
}

/// All a model sees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// Whom work can be given to.
    pub agents: Agents,
    /// The conversation, oldest first. The last [`Turn::User`] is what is to be answered; what stands before it
    /// is what was said and done earlier.
    pub turns: Vec<Turn>,
    /// The day on which it is asked, where that is known.
    pub today: Option<NaiveDate>,
    /// The locale of whoever asks, where it is known.
    pub locale: Option<String>,
    /// What was said last is about a plan that waits for its user.
    pub changes_plan: bool,
    /// The tasks of the chat that what was said last may be about, in a line each.
    pub tasks: Vec<String>,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// The user said something.
    User(String),
    /// We said something. Before [`Turn::Calls`] it was said beside them.
    Said(String),
    /// We called tools.
    Calls(Vec<ToolCall>),
    /// What the tools answered.
    Results(Vec<ToolResult>),
}

/// What a model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it decides.
    pub step: Step,
    /// What it said beside its calls; empty where that is the step.
    pub beside: String,
    /// What is told of a part that it asks nobody about, though it was heard; empty where there is none.
    pub unasked: String,
    /// What is done about tasks of [`Prompt::tasks`] first.
    pub about: Vec<About>,
    /// What it makes of each part of what was said, all of it; empty where it is one part, or nobody knows.
    pub clauses: Vec<Clause>,
    /// Which model it was, such as `bedrock:MODEL_ID`.
    pub model: String,
    /// Its text was cut off, because it grew too long.
    pub is_cut: bool,
    /// What it took.
    pub usage: TokenUsage,
}

impl Answer {
    /// True for what the rules decided, as they would again: no model was asked for it.
    #[must_use]
    pub fn is_by_rule(&self) -> bool {
        self.model == RULES
    }
}

impl From<Step> for Answer {
    /// An answer that no model was asked for.
    fn from(step: Step) -> Self {
        Self {
            step,
            beside: String::new(),
            unasked: String::new(),
            about: Vec::new(),
            clauses: Vec::new(),
            model: RULES.to_owned(),
            is_cut: false,
            usage: TokenUsage::default(),
        }
    }
}

/// What a message does with a task of [`Prompt::tasks`].
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The task's place there.
    pub task: usize,
    /// To answer it, cancel it, do it once more, or tell of it.
    pub act: Act,
    /// The words of the message that say so, by the model's account.
    pub words: String,
}

/// The name of the rules router among models.
pub(crate) const RULES: &str = "rules";

/// What a model decides.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Answer the user with this.
    Say(String),
    /// Call these tools, all at once.
    Call(Vec<ToolCall>),
    /// Let the user say which agent gets what was said, if any.
    Choose {
        /// The types there are to choose from, the likeliest first.
        of: Vec<AgentType>,
        /// Why nobody gets it unasked.
        why: Why,
    },
}

impl Step {
    /// Who is given work by it, and which: in words, and as data.
    pub fn sends(&self) -> impl Iterator<Item = (&AgentType, &str, Option<&Value>)> {
        let calls = match self {
            Self::Call(calls) => calls.as_slice(),
            _ => &[],
        };
        calls.iter().flat_map(|call| match &call.tool {
            Tool::SendMessage {
                agent_type,
                message,
                data,
            } => vec![(agent_type, message.as_str(), data.as_ref())],
            Tool::PlanTasks { tasks } => tasks
                .iter()
                .map(|task| (&task.agent_type, task.message.as_str(), None))
                .collect(),
            _ => Vec::new(),
        })
    }
}

/// Why an agent gets nothing before its user was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// It is not clear whom it is for.
    #[default]
    Unsure,
    /// It may remove something or give it away.
    Destroys,
    /// It depends on something that is not known yet.
    Conditional,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Unique within its step; its result carries it.
    pub id: String,
    /// The tool with its arguments.
    pub tool: Tool,
}

/// The tools there are.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// Gives work to the agent of that type.
    SendMessage {
        /// The type, as the registry has it.
        agent_type: AgentType,
        /// What the agent is asked to do.
        message: String,
        /// The same as data, by the schema that a skill of the agent publishes: an object.
        data: Option<Value>,
    },
    /// Plans pieces of work that wait for one another, all at once.
    PlanTasks {
        /// The pieces; they name one another by their places in this list, from 0.
        tasks: Vec<PlannedTask>,
    },
    /// Changes a piece of work that has not begun.
    UpdateTask {
        /// Its number.
        number: u32,
        /// What it is to be now; as it was where absent.
        message: Option<String>,
        /// It is not wanted any more.
        is_dropped: bool,
    },
    /// Asks how a task is doing.
    TaskStatus {
        /// Which; the newest where absent.
        task_id: Option<TaskId>,
    },
    /// What a model called is no tool, or cannot be called so. It is told, and nothing is done.
    Invalid {
        /// The name that it called.
        name: String,
        /// The arguments as they came; empty where they are too large to be shown again.
        arguments: String,
        /// What is wrong, for the model.
        reason: String,
    },
}

/// A piece of work as a model plans it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    /// The type of the agent that is to do it.
    pub agent_type: AgentType,
    /// What the agent is asked to do.
    pub message: String,
    /// It begins once these are done.
    pub after: Vec<u32>,
    /// It gets the results of these, and so begins once they are done.
    pub uses: Vec<u32>,
    /// What needs it goes on without it where it is not done.
    pub is_optional: bool,
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

/// Why a model could not decide; the variants are what can be done about it. No variant holds what a server said in its
/// own words, except for [`ModelError::Refused`].
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It could not be reached or is overloaded; a later try may succeed.
    #[error("the model cannot be reached: {0}")]
    Unavailable(String),
    /// It is being loaded, and answers soon.
    #[error("the model is starting")]
    Starting,
    /// Its provider does not take what we send: a wrong key, an unknown model, a prompt that is too long. Only the
    /// operator can help.
    #[error("the model does not take our requests: {0}")]
    Denied(String),
    /// It will not answer this; with its own words, where it has any.
    #[error("the model refuses to answer")]
    Refused(String),
    /// The tokens that it may take are used up.
    #[error("the tokens of the day are used up until {until}")]
    Spent {
        /// When there will be more.
        until: Timestamp,
    },
    /// It answered something that is no step.
    #[error("the model answered something unusable: {0}")]
    Unusable(String),
}
