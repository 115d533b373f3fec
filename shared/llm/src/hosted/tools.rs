//! The tools as models see them: names, JSON Schemas, and how a call is read.

use std::collections::BTreeSet;

use domain::{AgentType, TaskId};
use serde_json::{Value, json};

use crate::{AgentBrief, Tool, ToolCall};

const SEND_MESSAGE: &str = "send_message";
const TASK_STATUS: &str = "task_status";
/// Most characters of a message to an agent.
const MESSAGE_MAX: usize = 32_000;
/// Most bytes of arguments that are shown again to the model that got them wrong.
const SHOWN_MAX: usize = 4_096;

/// A tool as a provider is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
}

/// A call as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RawCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The tools there are with these agents.
pub(crate) fn specs(agents: &[AgentBrief]) -> Vec<ToolSpec> {
    let status = ToolSpec {
        name: TASK_STATUS,
        description: "Asks how an earlier task of the user is doing. Without an id: the newest one.",
        schema: json!({
            "type": "object",
            "properties": {"task_id": {"type": "string", "description": "The id of the task, as the user names it."}},
        }),
    };
    let types: BTreeSet<&str> = agents.iter().map(|agent| agent.agent_type().as_str()).collect();
    if types.is_empty() {
        return vec![status];
    }
    let send = ToolSpec {
        name: SEND_MESSAGE,
        description: "Gives a piece of work to an agent, and brings its result. Calls of one turn run at the same time.",
        schema: json!({
            "type": "object",
            "properties": {
                "agent_type": {"type": "string", "enum": types, "description": "Which agent, by its agent_type."},
                "message": {
                    "type": "string",
                    "description": "What the agent is to do, with all that it needs to know: it sees nothing else.",
                },
            },
            "required": ["agent_type", "message"],
        }),
    };
    vec![send, status]
}

/// Name and arguments of a call, as its model is shown it again.
pub(crate) fn wire(tool: &Tool) -> (&str, Value) {
    match tool {
        Tool::SendMessage { agent_type, message } => (
            SEND_MESSAGE,
            json!({"agent_type": agent_type, "message": message}),
        ),
        Tool::TaskStatus { task_id: None } => (TASK_STATUS, json!({})),
        Tool::TaskStatus { task_id: Some(id) } => (TASK_STATUS, json!({"task_id": id})),
        Tool::Invalid { name, arguments, .. } => {
            let shown = serde_json::from_str(arguments).ok().filter(Value::is_object);
            (name, shown.unwrap_or_else(|| json!({})))
        }
    }
}

impl Tool {
    /// Name and arguments, as JSON text, of a call that is stored.
    #[must_use]
    pub fn written(&self) -> (String, String) {
        let (name, arguments) = wire(self);
        (name.to_owned(), arguments.to_string())
    }

    /// A call that was stored, to be shown again: nothing is done for it a second time.
    #[must_use]
    pub fn recalled(name: &str, arguments: &str) -> Self {
        let read: Value = serde_json::from_str(arguments).unwrap_or_default();
        let id = read.get("task_id").and_then(Value::as_str);
        match (name, id.map(TaskId::parse)) {
            (TASK_STATUS, None) => Self::TaskStatus { task_id: None },
            (TASK_STATUS, Some(Ok(id))) => Self::TaskStatus { task_id: Some(id) },
            _ => Self::Invalid {
                name: name.to_owned(),
                arguments: arguments.to_owned(),
                reason: String::new(),
            },
        }
    }
}

/// The calls of one step, in their order. `cut` says that the answer broke off, in its last call.
pub(crate) fn read(raw: Vec<RawCall>, agents: &[AgentBrief], cut: bool) -> Vec<ToolCall> {
    let mut ids = BTreeSet::new();
    let last = raw.len().saturating_sub(1);
    let numbered = raw.into_iter().enumerate();
    let call = |(number, raw): (usize, RawCall)| {
        let is_new = raw.id.is_empty() || ids.insert(raw.id.clone());
        let tool = match is_new {
            _ if cut && number == last => {
                Err("The answer grew too long and broke off within this call.".to_owned())
            }
            true => parsed(&raw, agents),
            false => Err("Another call of this turn has the same id.".to_owned()),
        };
        // Providers that give no ids, or one twice, get ours.
        let id = match is_new && !raw.id.is_empty() && raw.id.len() <= 64 {
            true => raw.id,
            false => format!("call-{number}"),
        };
        let tool = tool.unwrap_or_else(|reason| Tool::Invalid {
            name: named(&raw.name),
            arguments: Some(raw.arguments)
                .filter(|text| text.len() <= SHOWN_MAX)
                .unwrap_or_default(),
            reason,
        });
        ToolCall { id, tool }
    };
    numbered.map(call).collect()
}

/// A name that every provider takes back.
fn named(name: &str) -> String {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().filter(allowed).take(64).collect();
    if name.is_empty() {
        "unknown".to_owned()
    } else {
        name
    }
}

fn parsed(raw: &RawCall, agents: &[AgentBrief]) -> Result<Tool, String> {
    let text = match raw.arguments.trim() {
        "" => "{}",
        text => text,
    };
    let arguments: Value = serde_json::from_str(text)
        .ok()
        .filter(Value::is_object)
        .ok_or("The arguments are not a JSON object.")?;
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match raw.name.as_str() {
        SEND_MESSAGE => {
            let agent_type = text("agent_type").ok_or("It lacks agent_type.")?;
            let is_it = |agent: &&AgentBrief| agent.agent_type().as_str() == agent_type;
            let agent = agents.iter().find(is_it);
            let agent_type: AgentType = agent
                .ok_or("There is no agent of this type. Use one of the catalogue.")?
                .agent_type()
                .clone();
            let message = text("message").map(str::trim).unwrap_or_default().to_owned();
            match message.chars().count() {
                0 => Err("It lacks a message.".to_owned()),
                1..=MESSAGE_MAX => Ok(Tool::SendMessage { agent_type, message }),
                _ => Err(format!("The message is longer than {MESSAGE_MAX} characters.")),
            }
        }
        TASK_STATUS => match text("task_id").map(str::trim).filter(|id| !id.is_empty()) {
            None => Ok(Tool::TaskStatus { task_id: None }),
            Some(id) => match TaskId::parse(id) {
                Ok(id) => Ok(Tool::TaskStatus { task_id: Some(id) }),
                Err(_) => Err("The task_id is not one.".to_owned()),
            },
        },
        _ => Err("There is no such tool.".to_owned()),
    }
}
