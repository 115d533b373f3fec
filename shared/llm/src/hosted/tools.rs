//! The tools as models see them: names, JSON Schemas, and how a call is read.

use std::collections::BTreeSet;

use domain::{AgentType, PLAN_STEPS_MAX, TASK_STATUS, TaskId};
use serde_json::{Value, json};

use crate::{AgentBrief, PlannedTask, Tool, ToolCall};

const SEND_MESSAGE: &str = "send_message";
const PLAN_TASKS: &str = "plan_tasks";
const CREATE_TASK: &str = "create_task";
const UPDATE_TASK: &str = "update_task";
/// Most characters of a planned piece of work: the whole plan is stored with each of its changes.
const PLANNED_MAX: usize = 4_000;
/// Most characters of a message to an agent.
const MESSAGE_MAX: usize = 32_000;
/// Most bytes of the data of a message.
const DATA_MAX: usize = 4_096;
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
    let mut fields = json!({
        "agent_type": {"type": "string", "enum": types, "description": "Which agent, by its agent_type."},
        "message": {
            "type": "string",
            "description": "What the agent is to do, with all that it needs to know: it sees nothing else.",
        },
    });
    if agents.iter().any(AgentBrief::takes_data)
        && let Some(fields) = fields.as_object_mut()
    {
        let data = json!({
            "type": "object",
            "description": "The same as data, where a skill of the agent has an input: its fields, with what the user \
                            said and nothing made up. What nobody said is left out.",
        });
        fields.insert("data".to_owned(), data);
    }
    let send = ToolSpec {
        name: SEND_MESSAGE,
        description: "Gives a piece of work to an agent, and brings its result. Calls of one turn run at the same time.",
        schema: json!({"type": "object", "properties": fields, "required": ["agent_type", "message"]}),
    };
    let piece = |order: &str| {
        let numbers = json!({"type": "array", "items": {"type": "integer", "minimum": 0}});
        let described = |what: &str| {
            let mut numbers = numbers.clone();
            if let Some(fields) = numbers.as_object_mut() {
                fields.insert("description".to_owned(), format!("{what} {order}").into());
            }
            numbers
        };
        json!({
            "type": "object",
            "properties": {
                "agent_type": {"type": "string", "enum": types, "description": "Which agent, by its agent_type."},
                "message": {"type": "string", "description": "What the agent is to do. It sees this, and the results of uses."},
                "after": described("Begins once these are done."),
                "uses": described("Gets the results of these, and begins once they are done."),
                "optional": {"type": "boolean", "description": "What needs it goes on without it where it fails."},
            },
            "required": ["agent_type", "message"],
        })
    };
    let plan = ToolSpec {
        name: PLAN_TASKS,
        description: "Plans pieces of work of which some need others to be done first. Each begins by itself when its turn \
                      comes; you are asked again when all of it is over.",
        schema: json!({
            "type": "object",
            "properties": {"tasks": {"type": "array", "items": piece("Places in this list, from 0.")}},
            "required": ["tasks"],
        }),
    };
    let create = ToolSpec {
        name: CREATE_TASK,
        description: "Adds one piece of work that needs others: those handed out so far have the numbers 0, 1, … in their \
                      order.",
        schema: piece("Numbers of pieces of work."),
    };
    let update = ToolSpec {
        name: UPDATE_TASK,
        description: "Changes a planned piece of work that has not begun.",
        schema: json!({
            "type": "object",
            "properties": {
                "number": {"type": "integer", "minimum": 0, "description": "Its number."},
                "message": {"type": "string", "description": "What the agent is to do now."},
                "drop": {"type": "boolean", "description": "It is not wanted any more."},
            },
            "required": ["number"],
        }),
    };
    vec![send, plan, create, update, status]
}

fn written_piece(task: &PlannedTask) -> Value {
    let mut piece = json!({"agent_type": task.agent_type, "message": task.message});
    if let Some(fields) = piece.as_object_mut() {
        let lists = [("after", &task.after), ("uses", &task.uses)];
        fields.extend(
            lists
                .into_iter()
                .filter(|(_, list)| !list.is_empty())
                .map(|(name, list)| (name.to_owned(), json!(list))),
        );
        fields.extend(task.is_optional.then(|| ("optional".to_owned(), true.into())));
    }
    piece
}

/// Name and arguments of a call, as its model is shown it again.
pub(crate) fn wire(tool: &Tool) -> (&str, Value) {
    match tool {
        Tool::SendMessage {
            agent_type,
            message,
            data,
        } => {
            let mut fields = json!({"agent_type": agent_type, "message": message});
            if let Some(fields) = fields.as_object_mut() {
                fields.extend(data.clone().map(|data| ("data".to_owned(), data)));
            }
            (SEND_MESSAGE, fields)
        }
        Tool::PlanTasks { tasks } => {
            let tasks: Vec<Value> = tasks.iter().map(written_piece).collect();
            (PLAN_TASKS, json!({ "tasks": tasks }))
        }
        Tool::CreateTask { task } => (CREATE_TASK, written_piece(task)),
        Tool::UpdateTask {
            number,
            message,
            is_dropped,
        } => {
            let mut fields = json!({ "number": number });
            if let Some(fields) = fields.as_object_mut() {
                fields.extend(message.clone().map(|text| ("message".to_owned(), text.into())));
                fields.extend(is_dropped.then(|| ("drop".to_owned(), true.into())));
            }
            (UPDATE_TASK, fields)
        }
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

/// The agent and what it is asked.
fn work(arguments: &Value, agents: &[AgentBrief], most: usize) -> Result<(AgentType, String), String> {
    let agent_type = arguments.get("agent_type").and_then(Value::as_str);
    let agent_type = agent_type.ok_or("It lacks agent_type.")?;
    let is_it = |agent: &&AgentBrief| agent.agent_type().as_str() == agent_type;
    let agent_type: AgentType = agents
        .iter()
        .find(is_it)
        .ok_or("There is no agent of this type. Use one of the catalogue.")?
        .agent_type()
        .clone();
    Ok((agent_type, message(arguments, most)?))
}

fn message(arguments: &Value, most: usize) -> Result<String, String> {
    let message = arguments.get("message").and_then(Value::as_str);
    let message = message.map(str::trim).unwrap_or_default().to_owned();
    match message.chars().count() {
        0 => Err("It lacks a message.".to_owned()),
        count if count <= most => Ok(message),
        _ => Err(format!("The message is longer than {most} characters.")),
    }
}

/// The data of a message; an empty object is none.
fn data(arguments: &Value) -> Result<Option<Value>, String> {
    match arguments.get("data") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) if fields.is_empty() => Ok(None),
        Some(data @ Value::Object(_)) if data.to_string().len() <= DATA_MAX => Ok(Some(data.clone())),
        Some(Value::Object(_)) => Err(format!("The data is larger than {DATA_MAX} bytes.")),
        Some(_) => Err("The data is not an object.".to_owned()),
    }
}

fn planned(arguments: &Value, agents: &[AgentBrief]) -> Result<PlannedTask, String> {
    let (agent_type, message) = work(arguments, agents, PLANNED_MAX)?;
    let numbers = |name: &str| -> Result<Vec<u32>, String> {
        let wrong = || format!("Its {name} is no list of whole numbers.");
        match arguments.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => list
                .iter()
                .map(|number| {
                    number
                        .as_u64()
                        .and_then(|number| u32::try_from(number).ok())
                        .ok_or_else(wrong)
                })
                .collect(),
            Some(_) => Err(wrong()),
        }
    };
    Ok(PlannedTask {
        agent_type,
        message,
        after: numbers("after")?,
        uses: numbers("uses")?,
        is_optional: arguments
            .get("optional")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    })
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
            let (agent_type, message) = work(&arguments, agents, MESSAGE_MAX)?;
            Ok(Tool::SendMessage {
                agent_type,
                message,
                data: data(&arguments)?,
            })
        }
        PLAN_TASKS => {
            let tasks = arguments.get("tasks").and_then(Value::as_array);
            let tasks = tasks.filter(|tasks| !tasks.is_empty()).ok_or("It lacks tasks.")?;
            if tasks.len() > PLAN_STEPS_MAX {
                return Err(format!("A plan has {PLAN_STEPS_MAX} tasks at most."));
            }
            let piece = |(at, task): (usize, &Value)| {
                planned(task, agents).map_err(|reason| format!("Task {at}: {reason}"))
            };
            let tasks: Result<_, String> = tasks.iter().enumerate().map(piece).collect();
            Ok(Tool::PlanTasks { tasks: tasks? })
        }
        CREATE_TASK => Ok(Tool::CreateTask {
            task: planned(&arguments, agents)?,
        }),
        UPDATE_TASK => {
            let number = arguments.get("number").and_then(Value::as_u64);
            let number = number.and_then(|number| u32::try_from(number).ok());
            let message = match arguments.get("message") {
                None => None,
                Some(_) => Some(message(&arguments, PLANNED_MAX)?),
            };
            Ok(Tool::UpdateTask {
                number: number.ok_or("It lacks the number of a task.")?,
                message,
                is_dropped: arguments.get("drop").and_then(Value::as_bool).unwrap_or(false),
            })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CardText;

    fn agents() -> Vec<AgentBrief> {
        ["weather", "report"]
            .map(|name| {
                let card = CardText {
                    name,
                    description: "",
                };
                AgentBrief::new(AgentType::parse(name).unwrap(), card, [])
            })
            .to_vec()
    }

    fn one(name: &str, arguments: &Value) -> Tool {
        let raw = RawCall {
            id: "a".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        read(vec![raw], &agents(), false).remove(0).tool
    }

    #[test]
    fn data_goes_with_a_message_where_an_agent_has_a_schema_for_it() {
        let sent = json!({"agent_type": "weather", "message": "Oslo", "data": {"place": "Oslo"}});
        let tool = one(SEND_MESSAGE, &sent);
        assert_eq!(wire(&tool), (SEND_MESSAGE, sent));
        for none in [json!(null), json!({})] {
            let tool = one(
                SEND_MESSAGE,
                &json!({"agent_type": "weather", "message": "Oslo", "data": none}),
            );
            assert!(matches!(tool, Tool::SendMessage { data: None, .. }), "{tool:?}");
        }
        let large = json!({"place": "x".repeat(DATA_MAX)});
        for (wrong, why) in [
            (json!("Oslo"), "The data is not an object."),
            (json!([1]), "The data is not an object."),
            (large, "The data is larger than 4096 bytes."),
        ] {
            let tool = one(
                SEND_MESSAGE,
                &json!({"agent_type": "weather", "message": "Oslo", "data": wrong}),
            );
            assert!(
                matches!(&tool, Tool::Invalid { reason, .. } if reason == why),
                "{tool:?}"
            );
        }
        let offered = |agents: &[AgentBrief]| specs(agents)[0].schema.pointer("/properties/data").is_some();
        assert!(!offered(&agents()), "nobody takes any");
        let schema = json!({"type": "object", "properties": {"place": {"type": "string"}}});
        let skill = crate::SkillText {
            input: Some(&schema),
            ..crate::SkillText::default()
        };
        let stays = AgentBrief::new(AgentType::parse("stays").unwrap(), CardText::default(), [skill]);
        assert!(crate::catalogue(std::slice::from_ref(&stays)).contains("\"input\":{"));
        assert!(offered(&[stays]));
    }

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        let weather = json!({"agent_type": "weather", "message": "Oslo"});
        let report = json!({"agent_type": "report", "message": "write it up", "after": [0], "uses": [0], "optional": true});
        let drop = json!({"number": 1, "drop": true});
        for (name, arguments) in [
            (PLAN_TASKS, json!({"tasks": [weather, report]})),
            (CREATE_TASK, report.clone()),
            (UPDATE_TASK, json!({"number": 1, "message": "in short"})),
            (UPDATE_TASK, drop),
        ] {
            let tool = one(name, &arguments);
            assert_eq!(wire(&tool), (name, arguments));
            let (name, arguments) = tool.written();
            let recalled = Tool::recalled(&name, &arguments);
            assert_eq!(wire(&recalled), wire(&tool), "it is shown again as it was");
        }
    }

    #[test]
    fn what_is_no_plan_is_told() {
        let task = |more: Value| {
            let mut task = json!({"agent_type": "weather", "message": "Oslo"});
            task.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({ "tasks": [task] })
        };
        let long = "x".repeat(PLANNED_MAX + 1);
        let many = vec![json!({"agent_type": "weather", "message": "Oslo"}); PLAN_STEPS_MAX + 1];
        for (name, arguments, reason) in [
            (PLAN_TASKS, json!({}), "It lacks tasks."),
            (PLAN_TASKS, json!({"tasks": []}), "It lacks tasks."),
            (PLAN_TASKS, json!({"tasks": many}), "A plan has 20 tasks at most."),
            (
                PLAN_TASKS,
                task(json!({"agent_type": "astrology"})),
                "Task 0: There is no agent of this type. Use one of the catalogue.",
            ),
            (
                PLAN_TASKS,
                task(json!({"message": " "})),
                "Task 0: It lacks a message.",
            ),
            (
                PLAN_TASKS,
                task(json!({"message": long})),
                "Task 0: The message is longer than 4000 characters.",
            ),
            (
                PLAN_TASKS,
                task(json!({"after": [-1]})),
                "Task 0: Its after is no list of whole numbers.",
            ),
            (
                PLAN_TASKS,
                task(json!({"uses": "0"})),
                "Task 0: Its uses is no list of whole numbers.",
            ),
            (
                UPDATE_TASK,
                json!({"number": "1"}),
                "It lacks the number of a task.",
            ),
            (
                UPDATE_TASK,
                json!({"number": 1, "message": ""}),
                "It lacks a message.",
            ),
        ] {
            let Tool::Invalid { reason: told, .. } = one(name, &arguments) else {
                panic!("{arguments}")
            };
            assert_eq!(told, reason);
        }
    }
}
