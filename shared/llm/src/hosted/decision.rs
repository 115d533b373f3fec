//! What a model decides: the JSON Schema that it is held to, and how its answer is read. Whoever is not held to it writes something
//! near: calls of tools, agents as tools, names in another case, calls within prose. What means one thing alone is read as that.

use domain::{AgentType, PLAN_STEPS_MAX, TASK_STATUS, TaskId};
use nlu::Act;
use serde_json::{Map, Value, json};

use super::lenient;
use crate::{About, AgentBrief, PlannedTask, Step, Tool, ToolCall, Why};

/// The name of the decision, where it is forced as a tool.
pub(crate) const DECIDE: &str = "decide";
const SEND: &str = "send_message";
const PLAN: &str = "plan_tasks";
const UPDATE: &str = "update_task";
/// Most characters of a message to an agent, and of a planned piece of work: the whole plan is stored with each of its changes.
const MESSAGE_MAX: usize = 32_000;
const PLANNED_MAX: usize = 4_000;
/// Most bytes of the data of a message, and of a schema that a model is shown.
const DATA_MAX: usize = 4_096;
const SCHEMA_MAX: usize = 2_048;
const NEITHER: &str = "It says neither what to do nor what to say.";
/// Most acts that are read.
const ACTS_MAX: usize = 100;
/// What can be done about a task of the chat.
const ABOUT: [(&str, Act); 4] = [
    ("answer", Act::Answer),
    ("cancel", Act::Cancel),
    ("retry", Act::Retry),
    ("status", Act::Status),
];

/// A call as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RawCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// What an answer that decides must be, beside so many tasks of the chat.
pub(crate) fn schema(agents: &[AgentBrief], changes_plan: bool, tasks: usize) -> Value {
    let types: Vec<&str> = types(agents);
    let work = |agent: &AgentBrief| {
        let mut fields = json!({"agent": {"const": agent.agent_type()}, "request": {"type": "string"}});
        let data = agent.input().filter(|data| data.to_string().len() <= SCHEMA_MAX);
        if let (Some(fields), Some(data)) = (fields.as_object_mut(), data) {
            fields.insert("data".to_owned(), data.clone());
        }
        json!({"type": "object", "properties": fields, "required": ["agent", "request"]})
    };
    let each = match agents.is_empty() {
        true => json!({"type": "array", "maxItems": 0}),
        false => json!({"type": "array", "items": {"anyOf": agents.iter().map(work).collect::<Vec<_>>()}}),
    };
    let mut fields = json!({
        "do": each,
        "plan": {"type": "boolean"},
        "say": {"type": "string"},
    });
    if let Some(fields) = fields.as_object_mut() {
        if !types.is_empty() {
            fields.insert(
                "ask".to_owned(),
                json!({"type": "array", "items": {"enum": types}}),
            );
        }
        if tasks > 0 {
            let about = json!({
                "type": "object",
                "properties": {
                    "task": {"type": "integer", "minimum": 1, "maximum": tasks},
                    "act": {"enum": ABOUT.map(|(name, _)| name)},
                    "words": {"type": "string"},
                },
                "required": ["task", "act"],
            });
            fields.insert("about".to_owned(), json!({"type": "array", "items": about}));
        }
        if changes_plan {
            let change = json!({
                "type": "object",
                "properties": {"number": {"type": "integer"}, "request": {"type": "string"}, "drop": {"type": "boolean"}},
                "required": ["number"],
            });
            let described =
                "Changes of the plan that waits for its user, by the numbers of its parts, from 0.";
            fields.insert(
                "change".to_owned(),
                json!({"type": "array", "items": change, "description": described}),
            );
        }
    }
    json!({"type": "object", "properties": fields, "required": ["do", "say"]})
}

/// What an answer that plans must be.
pub(crate) fn plan_schema(agents: &[AgentBrief]) -> Value {
    let places = json!({"type": "array", "items": {"type": "integer", "minimum": 0}});
    let task = json!({
        "type": "object",
        "properties": {
            "agent": {"enum": types(agents)},
            "request": {"type": "string"},
            "after": places,
            "uses": places,
            "optional": {"type": "boolean"},
        },
        "required": ["agent", "request", "uses"],
    });
    json!({"type": "object", "properties": {"tasks": {"type": "array", "items": task}}, "required": ["tasks"]})
}

fn types(agents: &[AgentBrief]) -> Vec<&str> {
    let mut types: Vec<&str> = agents.iter().map(|agent| agent.agent_type().as_str()).collect();
    types.dedup();
    types
}

/// What a model decided, or why nobody can tell.
pub(crate) enum Decision {
    Step {
        step: Step,
        about: Vec<About>,
        beside: String,
    },
    /// Some pieces need others: it is asked how.
    Plan,
    /// Why it cannot be used, for the model.
    Unusable(String),
}

/// Reads an answer: its calls where it has any, otherwise its text.
pub(crate) fn read(
    calls: &[RawCall],
    text: &str,
    (may_plan, agents, tasks): (bool, &[AgentBrief], usize),
) -> Decision {
    let mut acts = Acts {
        agents,
        tasks,
        ..Acts::default()
    };
    let said = match calls {
        [] => match lenient::json(text).map(|value| acts.take(&value)) {
            // Half a decision, or a call in a form that nobody knows.
            None if text.starts_with(['{', '[', '<', '`']) => Err("It is no JSON object.".to_owned()),
            Some(told)
                if text.starts_with(['{', '[', '<', '`'])
                    || told.as_ref().err().is_none_or(|why| why != NEITHER) =>
            {
                told
            }
            None | Some(_) => {
                text.clone_into(&mut acts.say);
                Ok(())
            }
        },
        calls => {
            text.clone_into(&mut acts.say);
            let mut calls = calls.iter().take(ACTS_MAX);
            calls.try_for_each(|call| {
                let arguments = match call.arguments.trim() {
                    "" => Some(json!({})),
                    text => lenient::json(text),
                };
                let arguments = arguments.ok_or("The arguments are not a JSON object.")?;
                acts.call(&call.name, &arguments)
            })
        }
    };
    match said {
        Ok(()) => acts.decided(may_plan),
        Err(reason) => Decision::Unusable(reason),
    }
}

/// What is to be done, as it is read.
#[derive(Default)]
struct Acts<'a> {
    agents: &'a [AgentBrief],
    /// How many tasks of the chat it was shown.
    tasks: usize,
    tools: Vec<Tool>,
    about: Vec<About>,
    say: String,
    ask: Vec<AgentType>,
    is_plan: bool,
}

impl Acts<'_> {
    /// An object that decides, or calls something; or several.
    fn take(&mut self, value: &Value) -> Result<(), String> {
        let fields = match value {
            Value::Array(items) => return items.iter().take(ACTS_MAX).try_for_each(|item| self.take(item)),
            Value::Object(fields) => fields,
            _ => return Err("It is no JSON object.".to_owned()),
        };
        let own = fields
            .get("function")
            .and_then(Value::as_object)
            .unwrap_or(fields);
        let name = ["name", "tool", "function"]
            .iter()
            .find_map(|key| own.get(*key)?.as_str());
        let arguments = ["arguments", "parameters", "args", "input"]
            .iter()
            .find_map(|key| own.get(*key));
        if let (Some(name), Some(arguments)) = (name, arguments) {
            let arguments = match arguments.as_str() {
                Some(text) => lenient::json(text).unwrap_or_default(),
                None => arguments.clone(),
            };
            return self.call(name, &arguments);
        }
        if fields.contains_key("tasks") {
            return self.plan(fields);
        }
        if agent_of(fields).is_some() {
            return self.ask(fields);
        }
        let lists = ["do", "calls", "tool_calls"];
        let known = ["say", "ask", "change", "about"].iter().chain(&lists);
        if !known.into_iter().any(|key| fields.contains_key(*key)) {
            return Err(NEITHER.to_owned());
        }
        if let Some(said) = fields.get("say").and_then(Value::as_str) {
            said.trim().clone_into(&mut self.say);
        }
        self.is_plan |= fields.get("plan").and_then(Value::as_bool).unwrap_or(false);
        let asked = fields.get("ask").and_then(Value::as_array).into_iter().flatten();
        let asked = asked
            .filter_map(|name| self.agent(name.as_str()?))
            .collect::<Vec<_>>();
        self.ask.extend(asked);
        let listed = |name: &str| fields.get(name).and_then(Value::as_array).into_iter().flatten();
        listed("change").try_for_each(|change| self.change(change))?;
        listed("about")
            .take(ACTS_MAX)
            .try_for_each(|about| self.about(about))?;
        for list in lists {
            if let Some(items) = fields.get(list).and_then(Value::as_array) {
                items.iter().take(ACTS_MAX).try_for_each(|item| self.take(item))?;
            }
        }
        Ok(())
    }

    /// A call of a tool, whatever it is called: by its own name, by the name of an agent, behind a name of a space.
    fn call(&mut self, name: &str, arguments: &Value) -> Result<(), String> {
        let fields = arguments
            .as_object()
            .ok_or("The arguments are not a JSON object.")?;
        let bare = name.rsplit(['.', ':', '/']).next().unwrap_or(name).trim();
        match bare.to_ascii_lowercase().as_str() {
            DECIDE => self.take(arguments),
            SEND => self.ask(fields),
            PLAN => self.plan(fields),
            UPDATE => self.change(arguments),
            TASK_STATUS => {
                let id = fields.get("task_id").and_then(Value::as_str).map(str::trim);
                let id = id.filter(|id| !id.is_empty()).map(TaskId::parse).transpose();
                let task_id = id.map_err(|_| "The task_id is not one.")?;
                self.tools.push(Tool::TaskStatus { task_id });
                Ok(())
            }
            lower => match self
                .agent(bare)
                .or_else(|| self.agent(lower.trim_start_matches("ask_")))
            {
                Some(agent_type) => self.send(agent_type, fields),
                None => Err("There is no such tool.".to_owned()),
            },
        }
    }

    fn agent(&self, name: &str) -> Option<AgentType> {
        let name = name.trim();
        let exact = |agent: &&AgentBrief| agent.agent_type().as_str() == name;
        let near = |agent: &&AgentBrief| {
            [agent.agent_type().as_str(), agent.name()]
                .iter()
                .any(|own| own.eq_ignore_ascii_case(name))
        };
        let found = self
            .agents
            .iter()
            .find(exact)
            .or_else(|| self.agents.iter().find(near));
        found.map(|agent| agent.agent_type().clone())
    }

    fn ask(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let name = agent_of(fields).ok_or("It lacks agent.")?;
        let agent_type = self
            .agent(name)
            .ok_or("There is no agent of this type. Use one of the list.")?;
        self.send(agent_type, fields)
    }

    fn send(&mut self, agent_type: AgentType, fields: &Map<String, Value>) -> Result<(), String> {
        let message = message(fields, MESSAGE_MAX)?;
        let given = fields
            .get("data")
            .filter(|data| data.as_object().is_some_and(|fields| !fields.is_empty()));
        // What does not fit is said in the words as well.
        let fits = |data: &&Value| data.to_string().len() <= DATA_MAX;
        let data = given.filter(fits).cloned();
        self.tools.push(Tool::SendMessage {
            agent_type,
            message,
            data,
        });
        Ok(())
    }

    fn plan(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let tasks = fields
            .get("tasks")
            .and_then(Value::as_array)
            .filter(|tasks| !tasks.is_empty());
        let tasks = tasks.ok_or("It lacks tasks.")?;
        if tasks.len() > PLAN_STEPS_MAX {
            return Err(format!("A plan has {PLAN_STEPS_MAX} tasks at most."));
        }
        let piece = |(at, task): (usize, &Value)| {
            let fields = task.as_object().ok_or("it is no object");
            let planned = fields
                .map_err(str::to_owned)
                .and_then(|fields| self.planned(fields));
            planned.map_err(|reason| format!("Task {at}: {reason}"))
        };
        let tasks = tasks
            .iter()
            .enumerate()
            .map(piece)
            .collect::<Result<_, String>>()?;
        self.tools.push(Tool::PlanTasks { tasks });
        Ok(())
    }

    fn planned(&self, fields: &Map<String, Value>) -> Result<PlannedTask, String> {
        let name = agent_of(fields).ok_or("It lacks agent.")?;
        let agent_type = self
            .agent(name)
            .ok_or("There is no agent of this type. Use one of the list.")?;
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let numbers = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(list) => {
                let list = list
                    .as_array()
                    .map(|list| list.iter().map(number).collect::<Option<_>>());
                list.flatten()
                    .ok_or_else(|| format!("Its {name} is no list of whole numbers."))
            }
        };
        Ok(PlannedTask {
            agent_type,
            message: message(fields, PLANNED_MAX)?,
            after: numbers("after")?,
            uses: numbers("uses")?,
            is_optional: fields.get("optional").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    fn change(&mut self, change: &Value) -> Result<(), String> {
        let number = change.get("number").and_then(Value::as_u64);
        let number = number.and_then(|number| u32::try_from(number).ok());
        let fields = change.as_object().filter(|fields| words_of(fields).is_some());
        self.tools.push(Tool::UpdateTask {
            number: number.ok_or("It lacks the number of a task.")?,
            message: fields.map(|fields| message(fields, PLANNED_MAX)).transpose()?,
            is_dropped: change.get("drop").and_then(Value::as_bool).unwrap_or(false),
        });
        Ok(())
    }

    fn about(&mut self, about: &Value) -> Result<(), String> {
        let number = about.get("task").and_then(Value::as_u64);
        let place = number.and_then(|number| usize::try_from(number.checked_sub(1)?).ok());
        let told = |name: &str| about.get(name).and_then(Value::as_str).unwrap_or_default();
        let act = ABOUT.iter().find(|(name, _)| *name == told("act"));
        self.about.push(About {
            task: place
                .filter(|place| *place < self.tasks)
                .ok_or("There is no task of this number.")?,
            act: act.ok_or("There is no such act.")?.1,
            words: told("words").to_owned(),
        });
        Ok(())
    }

    fn decided(mut self, may_plan: bool) -> Decision {
        let sends = |tool: &&Tool| matches!(tool, Tool::SendMessage { .. });
        let is_many = self.tools.iter().filter(sends).count() > 1;
        if self.is_plan && is_many && may_plan && self.about.is_empty() {
            return Decision::Plan;
        }
        let say = self.say.trim().to_owned();
        if !self.tools.is_empty() {
            // Ids that every provider takes, should one ever see them.
            let call = |(number, tool)| ToolCall {
                id: format!("call{number:05}"),
                tool,
            };
            let calls = self.tools.into_iter().enumerate().map(call).collect();
            return Decision::Step {
                step: Step::Call(calls),
                about: self.about,
                beside: say,
            };
        }
        self.ask.dedup();
        let step = match (self.ask.as_slice(), say.is_empty()) {
            ([], true) if self.about.is_empty() => return Decision::Unusable(NEITHER.to_owned()),
            ([], _) => Step::Say(say),
            (_, _) => Step::Choose {
                of: self.ask,
                why: Why::Unsure,
            },
        };
        Decision::Step {
            step,
            about: self.about,
            beside: String::new(),
        }
    }
}

fn agent_of(fields: &Map<String, Value>) -> Option<&str> {
    ["agent", "agent_type"]
        .iter()
        .find_map(|key| fields.get(*key)?.as_str())
}

fn words_of(fields: &Map<String, Value>) -> Option<&Value> {
    ["request", "message"].iter().find_map(|key| fields.get(*key))
}

fn message(fields: &Map<String, Value>, most: usize) -> Result<String, String> {
    let message = words_of(fields)
        .and_then(Value::as_str)
        .map(str::trim)
        .unwrap_or_default();
    match message.chars().count() {
        0 => Err("It lacks a request.".to_owned()),
        count if count <= most => Ok(message.to_owned()),
        _ => Err(format!("The request is longer than {most} characters.")),
    }
}

/// Calls as a model is shown what it decided, in the form that is asked of it.
pub(crate) fn written(calls: &[ToolCall]) -> String {
    let (mut pieces, mut tasks, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for call in calls {
        match &call.tool {
            Tool::PlanTasks { tasks: planned } => tasks.extend(planned.iter().map(written_piece)),
            Tool::UpdateTask { .. } => changes.push(wire(&call.tool).1),
            tool => pieces.push(match wire(tool) {
                (SEND, fields) => fields,
                (name, arguments) => json!({"name": name, "arguments": arguments}),
            }),
        }
    }
    let mut decision = json!({ "do": pieces });
    if let Some(fields) = decision.as_object_mut() {
        let lists = [("tasks", tasks), ("change", changes)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        fields.extend(lists.map(|(name, list)| (name.to_owned(), list.into())));
    }
    decision.to_string()
}

fn written_piece(task: &PlannedTask) -> Value {
    let mut piece = json!({"agent": task.agent_type, "request": task.message});
    if let Some(fields) = piece.as_object_mut() {
        let lists = [("after", &task.after), ("uses", &task.uses)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        fields.extend(lists.map(|(name, list)| (name.to_owned(), json!(list))));
        fields.extend(task.is_optional.then(|| ("optional".to_owned(), true.into())));
    }
    piece
}

/// Name and arguments of a call, as they are stored.
fn wire(tool: &Tool) -> (&str, Value) {
    match tool {
        Tool::SendMessage {
            agent_type,
            message,
            data,
        } => {
            let mut fields = json!({"agent": agent_type, "request": message});
            if let Some(fields) = fields.as_object_mut() {
                fields.extend(data.clone().map(|data| ("data".to_owned(), data)));
            }
            (SEND, fields)
        }
        Tool::PlanTasks { tasks } => {
            let tasks: Vec<Value> = tasks.iter().map(written_piece).collect();
            (PLAN, json!({ "tasks": tasks }))
        }
        Tool::UpdateTask {
            number,
            message,
            is_dropped,
        } => {
            let mut fields = json!({ "number": number });
            if let Some(fields) = fields.as_object_mut() {
                fields.extend(message.clone().map(|text| ("request".to_owned(), text.into())));
                fields.extend(is_dropped.then(|| ("drop".to_owned(), true.into())));
            }
            (UPDATE, fields)
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
    /// Who is asked what by it.
    pub(crate) fn requests(&self) -> Vec<(&AgentType, &str)> {
        match self {
            Self::SendMessage {
                agent_type, message, ..
            } => vec![(agent_type, message)],
            Self::PlanTasks { tasks } => {
                let pieces = tasks.iter().map(|task| (&task.agent_type, task.message.as_str()));
                pieces.collect()
            }
            _ => Vec::new(),
        }
    }

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
