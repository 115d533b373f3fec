//! The JSON-RPC binding: requests in, answers out, for a server; the same the other way round for a client.

use domain::Generation;
use serde_json::Value;

use crate::{A2aError, Call, SendCall};

/// The id of a JSON-RPC request, given back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestId(Value);

/// A request that was understood.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// The generation that its method name belongs to.
    pub generation: Generation,
    /// What is asked.
    pub call: Call,
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The request's id, as far as it was readable.
    pub id: RequestId,
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
    let _ = (body, version);
    todo!()
}

/// The answer to a request that went well.
#[must_use]
pub fn success(id: RequestId, result: Value) -> Value {
    let _ = (id, result);
    todo!()
}

/// The answer to a request that did not.
#[must_use]
pub fn failure(failure: &Failure) -> Value {
    let _ = failure;
    todo!()
}

/// A client's request to send a message.
#[must_use]
pub fn send_request(id: &str, call: &SendCall, generation: Generation) -> Value {
    let _ = (id, call, generation);
    todo!()
}

/// A client's request to look at a task.
#[must_use]
pub fn get_request(id: &str, task: &str, tenant: Option<&str>, generation: Generation) -> Value {
    let _ = (id, task, tenant, generation);
    todo!()
}

/// A client's request to call a task off.
#[must_use]
pub fn cancel_request(id: &str, task: &str, tenant: Option<&str>, generation: Generation) -> Value {
    let _ = (id, task, tenant, generation);
    todo!()
}

/// Takes an agent's answer apart: its result, or its error.
///
/// # Errors
/// The agent's error; [`A2aError::InvalidAgentResponse`] where it is no JSON-RPC answer at all.
pub fn answer(body: &Value) -> Result<Value, A2aError> {
    let _ = body;
    todo!()
}
