//! The JSON-RPC binding: requests in, answers out, for a server; the same the other way round for a client.

use domain::{Generation, foreign_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::capped;
use crate::lenient::{Fault, tidy};
use crate::params::{self, Params};
use crate::{A2aError, Call, encode, generation, v0_3, v1_0};

/// The id of a JSON-RPC request, given back as it came: text, a number, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RpcId(Value);

impl RpcId {
    pub(crate) fn read(told: Option<&Value>) -> Option<Self> {
        match told {
            None | Some(Value::Null) => Some(Self::default()),
            Some(id @ (Value::String(_) | Value::Number(_))) => Some(Self(id.clone())),
            Some(_) => None,
        }
    }

    /// Whether it has no more text than this.
    pub(crate) fn is_within(&self, bytes: usize) -> bool {
        self.0.as_str().is_none_or(|text| text.len() <= bytes)
    }
}

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
    ExtendedCard,
}

/// Each operation's names in 1.0 and in 0.3. 0.3 defines no `tasks/list`; it is the name everybody would expect.
const METHODS: [(Operation, &str, &str); 11] = [
    (Operation::Send, "SendMessage", "message/send"),
    (Operation::Stream, "SendStreamingMessage", "message/stream"),
    (Operation::Get, "GetTask", "tasks/get"),
    (Operation::List, "ListTasks", "tasks/list"),
    (Operation::Cancel, "CancelTask", "tasks/cancel"),
    (Operation::Subscribe, "SubscribeToTask", "tasks/resubscribe"),
    (
        Operation::CreatePush,
        "CreateTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/set",
    ),
    (
        Operation::GetPush,
        "GetTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/get",
    ),
    (
        Operation::ListPush,
        "ListTaskPushNotificationConfigs",
        "tasks/pushNotificationConfig/list",
    ),
    (
        Operation::DeletePush,
        "DeleteTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/delete",
    ),
    (
        Operation::ExtendedCard,
        "GetExtendedAgentCard",
        "agent/getAuthenticatedExtendedCard",
    ),
];

/// A request that was understood.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its id.
    pub id: RpcId,
    /// The generation that its method name belongs to.
    pub generation: Generation,
    /// What is asked.
    pub call: Call,
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The request's id, as far as it was readable.
    pub id: RpcId,
    /// The generation the refusal is written in.
    pub generation: Generation,
    /// Why.
    pub error: A2aError,
}

/// Reads a request. `version` is the `A2A-Version` header or query parameter; the method name selects the generation.
///
/// # Errors
/// [`Failure`] with the refusal to answer.
pub fn parse(body: &[u8], version: Option<&str>) -> Result<Request, Failure> {
    let asked = generation(version);
    let mut failure = Failure {
        id: RpcId::default(),
        // A client that asks for a version we lack knows 1.0's words for it.
        generation: asked.as_ref().copied().unwrap_or(Generation::V1_0),
        error: A2aError::ParseError,
    };
    match read(body, asked, &mut failure) {
        Ok(call) => Ok(Request {
            id: failure.id,
            generation: failure.generation,
            call,
        }),
        Err(error) => Err(Failure { error, ..failure }),
    }
}

/// Reads the request; what is known of it so far goes to `so_far`.
fn read(body: &[u8], asked: Result<Generation, A2aError>, so_far: &mut Failure) -> Result<Call, A2aError> {
    let invalid = |reason: &str| A2aError::InvalidRequest(reason.to_owned());
    let request: Value = foreign_json::read(body).map_err(|_| A2aError::ParseError)?;
    let Value::Object(request) = request else {
        return Err(invalid("a request is one JSON object; batches are not supported"));
    };
    so_far.id = RpcId::read(request.get("id")).ok_or_else(|| invalid("id must be text, a number or null"))?;
    if request.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("jsonrpc must be \"2.0\""));
    }
    let Some(method) = request.get("method").and_then(Value::as_str) else {
        return Err(invalid("method must be text"));
    };
    asked?;
    if method.contains('/') {
        so_far.generation = Generation::V0_3;
    } else if method.starts_with(|first: char| first.is_ascii_uppercase()) {
        so_far.generation = Generation::V1_0;
    }
    call(method, so_far.generation, || params(&request))
}

/// The operation of that method name, with its parameters.
fn call(
    method: &str,
    generation: Generation,
    told: impl FnOnce() -> Result<Option<Value>, A2aError>,
) -> Result<Call, A2aError> {
    let known = METHODS
        .iter()
        .find(|(_, new, old)| *new == method || *old == method);
    let Some((operation, ..)) = known else {
        return Err(A2aError::MethodNotFound(capped(method, 64)));
    };
    let missing = || A2aError::InvalidParams("params must be an object".to_owned());
    let told = match (told()?, operation) {
        (Some(told), _) => told,
        (None, Operation::ExtendedCard) => Value::Object(Map::new()),
        (None, _) => return Err(missing()),
    };
    read_call(*operation, told, generation).map_err(|Fault(reason)| A2aError::InvalidParams(reason))
}

fn read_call(operation: Operation, told: Value, generation: Generation) -> Result<Call, Fault> {
    let send = |told| match generation {
        Generation::V1_0 => v1_0::read_send_call(told),
        Generation::V0_3 => v0_3::read_send_call(told),
    };
    match operation {
        Operation::Send => return send(told).map(Call::Send),
        Operation::Stream => return send(told).map(Call::Stream),
        _ => {}
    }
    let params = Params::of(told)?;
    match operation {
        Operation::Send | Operation::Stream => Err(Fault::new("a message is missing")),
        Operation::Get => params::get(&params, generation),
        Operation::List => params::list(&params, generation).map(Call::List),
        Operation::Cancel => params::cancel(&params),
        Operation::Subscribe => params::subscribe(&params),
        Operation::CreatePush => params::create_push(params, generation),
        Operation::GetPush => params::get_push(&params, generation),
        Operation::ListPush => params::list_push(&params, generation),
        Operation::DeletePush => params::delete_push(&params, generation),
        Operation::ExtendedCard => params::extended_card(&params),
    }
}

/// The parameters, tidied; `None` where there are none.
fn params(request: &Map<String, Value>) -> Result<Option<Value>, A2aError> {
    match request.get("params") {
        Some(params @ Value::Object(_)) => tidy(params)
            .map(Some)
            .map_err(|Fault(reason)| A2aError::InvalidParams(reason)),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(A2aError::InvalidParams("params must be an object".to_owned())),
    }
}

/// The answer to a request that went well.
#[must_use]
pub fn success(id: RpcId, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.0, "result": result })
}

/// The answer to a request that did not.
#[must_use]
pub fn failure(failure: &Failure) -> Value {
    let error = &failure.error;
    let mut written = json!({ "code": error.code_in(failure.generation), "message": error.to_string() });
    if let (Generation::V1_0, Some(fields)) = (failure.generation, written.as_object_mut()) {
        fields.insert("data".to_owned(), error.details());
    }
    json!({ "jsonrpc": "2.0", "id": failure.id.0, "error": written })
}

/// A client's request for any operation.
#[must_use]
pub fn call_request(id: &str, call: &Call, generation: Generation) -> Value {
    let operation = match call {
        Call::Send(_) => Operation::Send,
        Call::Stream(_) => Operation::Stream,
        Call::Get { .. } => Operation::Get,
        Call::List(_) => Operation::List,
        Call::Cancel { .. } => Operation::Cancel,
        Call::Subscribe { .. } => Operation::Subscribe,
        Call::CreatePush { .. } => Operation::CreatePush,
        Call::GetPush { .. } => Operation::GetPush,
        Call::ListPush { .. } => Operation::ListPush,
        Call::DeletePush { .. } => Operation::DeletePush,
        Call::ExtendedCard { .. } => Operation::ExtendedCard,
    };
    let names = METHODS.iter().find(|(known, ..)| *known == operation);
    let method = names.map(|(_, new, old)| match generation {
        Generation::V1_0 => *new,
        Generation::V0_3 => *old,
    });
    let params = encode::params(call, generation);
    json!({ "jsonrpc": "2.0", "id": id, "method": method.unwrap_or_default(), "params": params })
}

/// Takes an agent's answer apart: its result, or its error.
///
/// # Errors
/// The agent's error; [`A2aError::InvalidAgentResponse`] where it is no JSON-RPC answer at all.
pub fn answer(mut body: Value) -> Result<Value, A2aError> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let code = error.get("code").and_then(Value::as_i64);
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        let told = A2aError::from_code(code.unwrap_or_default(), message);
        return Err(told.detailed(error.get("data")));
    }
    if let Some(result) = body.get_mut("result").map(Value::take) {
        return Ok(result);
    }
    // Without JSON-RPC around it, it may be the answer itself: whoever reads it finds out.
    let bare = body.as_object().filter(|fields| !fields.contains_key("jsonrpc"));
    match bare {
        Some(fields) if !fields.is_empty() => Ok(body),
        _ => Err(A2aError::InvalidAgentResponse(
            "the answer has neither a result nor an error".to_owned(),
        )),
    }
}
