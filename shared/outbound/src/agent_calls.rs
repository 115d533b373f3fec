//! The A2A client: send, look, cancel, over both bindings and both generations.

use a2a::mqtt::TopicPrefix;
use a2a::{A2aError, Call, ListCall, RemoteTask, SendCall, SendResponse, Transport, decode, jsonrpc, rest};
use domain::{ContextId, Endpoint, Generation, MessageId, Metadata, RemoteTaskId, Responder, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::client::{Answered, Ask};
use crate::{CallError, Outbound, bridge};

/// Most messages of each task's history that are looked through for one of ours.
const HISTORY: u32 = 50;

/// What is asked of an agent.
#[derive(Clone)]
enum Operation {
    /// With an extension of the agent's that is to be in use.
    Send(Box<SendCall>, Option<&'static str>),
    Get(RemoteTaskId),
    Cancel(RemoteTaskId),
    List(ListCall),
    ExtendedCard,
}

/// What an agent says of a message that may have reached it.
#[derive(Debug)]
pub enum Sent {
    /// It has it: its task for it.
    Task(Box<RemoteTask>),
    /// It has not got it.
    Nothing,
    /// It does not say.
    Untold,
}

/// What a call brought.
struct Told {
    result: Value,
    /// Over MQTT: who has the task, where that is another agent than the one that was asked.
    responder: Option<Responder>,
}

impl Told {
    fn task(self, generation: Generation) -> Result<RemoteTask, CallError> {
        let task = decode::task(&self.result, generation).map_err(unusable)?;
        Ok(RemoteTask {
            responder: self.responder,
            ..task
        })
    }
}

impl Outbound {
    /// Sends a message to an agent. The endpoint's own `tenant` goes along.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn send(
        &self,
        to: &Endpoint,
        call: &SendCall,
        token: Option<&SecretString>,
    ) -> Result<SendResponse, CallError> {
        self.send_with(to, (call, None), token).await
    }

    /// The same, with this extension in use, if any, where the agent has it.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn send_with(
        &self,
        to: &Endpoint,
        (call, extension): (&SendCall, Option<&'static str>),
        token: Option<&SecretString>,
    ) -> Result<SendResponse, CallError> {
        let call = SendCall {
            tenant: to.tenant.clone(),
            ..call.clone()
        };
        let operation = Operation::Send(Box::new(call), extension);
        let Told { result, responder } = self.call(to, operation, token).await?;
        Ok(
            match decode::send_result(&result, to.generation).map_err(unusable)? {
                SendResponse::Task(task) => SendResponse::Task(RemoteTask { responder, ..task }),
                message @ SendResponse::Message(_) => message,
            },
        )
    }

    /// Looks at a task at an agent.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn task(
        &self,
        to: &Endpoint,
        id: &RemoteTaskId,
        token: Option<&SecretString>,
    ) -> Result<RemoteTask, CallError> {
        let told = self.call(to, Operation::Get(id.clone()), token).await?;
        told.task(to.generation)
    }

    /// Calls a task at an agent off.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn cancel(
        &self,
        to: &Endpoint,
        id: &RemoteTaskId,
        token: Option<&SecretString>,
    ) -> Result<RemoteTask, CallError> {
        let told = self.call(to, Operation::Cancel(id.clone()), token).await?;
        told.task(to.generation)
    }

    /// The task that an agent has for a message of ours: looked for among the newest tasks of the
    /// message's conversation, by the message's id in their histories. An operation of A2A 1.0.
    ///
    /// # Errors
    /// [`CallError`]; `Refused` also where the agent does not serve the operation.
    pub async fn task_of_message(
        &self,
        to: &Endpoint,
        (context, message): (&ContextId, &MessageId),
        token: Option<&SecretString>,
    ) -> Result<Sent, CallError> {
        let call = ListCall {
            context_id: Some(context.to_string()),
            history_length: Some(HISTORY),
            tenant: to.tenant.clone(),
            ..ListCall::default()
        };
        let Told { result, .. } = self.call(to, Operation::List(call), token).await?;
        let tasks = result.get("tasks").and_then(Value::as_array);
        let history = |task: &Value| task.get("history")?.as_array().cloned();
        let is_it = |task: &&Value| {
            let said = history(task).unwrap_or_default();
            said.iter()
                .any(|said| said["messageId"].as_str() == Some(message.as_str()))
        };
        // Whoever lists tasks without what was said in them cannot tell what it has not got.
        let untold = |task: &Value| history(task).is_none_or(|said| said.is_empty());
        match tasks.and_then(|tasks| tasks.iter().find(is_it)) {
            Some(task) => {
                let task = decode::task(task, to.generation).map_err(unusable)?;
                Ok(Sent::Task(Box::new(task)))
            }
            None if tasks.is_none_or(|tasks| tasks.iter().any(untold)) => Ok(Sent::Untold),
            None => Ok(Sent::Nothing),
        }
    }

    /// The card that an agent shows to whoever this token is for.
    ///
    /// # Errors
    /// [`CallError`]; `Refused` also where the agent has no such card.
    pub async fn extended_card(
        &self,
        to: &Endpoint,
        token: Option<&SecretString>,
    ) -> Result<Value, CallError> {
        let told = self.call(to, Operation::ExtendedCard, token).await?;
        Ok(told.result)
    }

    /// The generation that an endpoint is called in: what it turned out to speak, else what its card claims.
    #[must_use]
    pub fn spoken_by(&self, to: &Endpoint) -> Generation {
        self.spoken.at(&to.url).unwrap_or(to.generation)
    }

    /// One call; what it brought, unwrapped. An endpoint that does not know the operation by its name in the generation that its
    /// card claims is asked in the other one: it has done nothing yet, so that nothing is done twice.
    async fn call(
        &self,
        to: &Endpoint,
        operation: Operation,
        token: Option<&SecretString>,
    ) -> Result<Told, CallError> {
        let has_both = matches!(
            operation,
            Operation::Send(..) | Operation::Get(_) | Operation::Cancel(_)
        );
        if to.transport == Transport::Mqtt || !has_both {
            return self.call_as(to, operation, token).await;
        }
        let learned = self.spoken_by(to);
        let first = Endpoint {
            generation: learned,
            ..to.clone()
        };
        let refused = match self.call_as(&first, operation.clone(), token).await {
            Err(error) if is_not_known(&error, to.transport) => error,
            told => return told,
        };
        let other = Endpoint {
            generation: other(learned),
            ..to.clone()
        };
        match self.call_as(&other, operation, token).await {
            Err(error) if is_not_known(&error, to.transport) => Err(refused),
            // Whoever gives no answer of the protocol shows nothing of what it speaks.
            Err(error) if !matches!(error, CallError::Refused(_)) => Err(error),
            told => {
                self.spoken.note(&to.url, other.generation);
                tracing::info!(
                    host = to.url.host_str(),
                    claimed = a2a::version(to.generation),
                    spoken = a2a::version(other.generation),
                    "an agent speaks another generation than its card claims"
                );
                told
            }
        }
    }

    /// One call over the endpoint's binding in the endpoint's generation.
    async fn call_as(
        &self,
        to: &Endpoint,
        operation: Operation,
        token: Option<&SecretString>,
    ) -> Result<Told, CallError> {
        if to.transport == Transport::Mqtt {
            let body = self.jsonrpc_request(to, operation);
            let answered = self.call_over_mqtt(to, &body, token).await?;
            if let Some(fault) = bridge::fault(&answered) {
                return Err(fault.into());
            }
            let named = answered.responder.as_deref();
            let url = named.and_then(|agent| TopicPrefix::interface_of_responder(&to.url, agent));
            let responder = url.map(|url| Responder {
                asked: to.url.clone(),
                url,
            });
            let result = jsonrpc_answer(answered)?;
            return Ok(Told { result, responder });
        }
        let (sends, extension) = match &operation {
            Operation::Send(_, extension) => (true, *extension),
            _ => (false, None),
        };
        let (url, body) = match to.transport {
            Transport::JsonRpc | Transport::Mqtt => {
                (to.url.clone(), Some(self.jsonrpc_request(to, operation)))
            }
            Transport::Rest => rest_request(to, operation)?,
        };
        let media_type = match (to.transport, to.generation) {
            (Transport::Rest, Generation::V1_0) => a2a::MEDIA_TYPE,
            _ => "application/json",
        };
        let most = Some(self.policy.max_result);
        let timeout = self.policy.answer_timeout.filter(|_| sends);
        let ask_at = |url| {
            let ask = match &body {
                Some(body) => Ask::post(url, body).header("content-type", media_type),
                None => Ask::get(url),
            };
            let ask = ask
                .bearer(token)?
                .header("a2a-version", a2a::version(to.generation));
            let ask = match (extension, to.generation) {
                (Some(uri), Generation::V1_0) => ask.header("a2a-extensions", uri),
                (Some(uri), Generation::V0_3) => ask.header("x-a2a-extensions", uri),
                (None, _) => ask,
            };
            Ok::<_, CallError>(Ask { most, timeout, ..ask })
        };
        let mut answered = self.exchange(ask_at(&url)?).await?;
        if let Some(place) = answered
            .location
            .as_deref()
            .and_then(|told| same_origin(&url, told))
        {
            answered = self.exchange(ask_at(&place)?).await?;
        }
        let result = match to.transport {
            Transport::JsonRpc | Transport::Mqtt => jsonrpc_answer(answered),
            Transport::Rest => rest_answer(answered),
        }?;
        Ok(Told {
            result,
            responder: None,
        })
    }

    fn jsonrpc_request(&self, to: &Endpoint, operation: Operation) -> Value {
        let tenant = to.tenant.clone();
        let call = match operation {
            Operation::Send(call, _) => Call::Send(*call),
            Operation::Get(task) => Call::Get {
                id: task.to_string(),
                history_length: Some(no_history(to.generation)),
                tenant,
            },
            Operation::Cancel(task) => Call::Cancel {
                id: task.to_string(),
                metadata: Metadata::new(),
                tenant,
            },
            Operation::List(call) => Call::List(call),
            Operation::ExtendedCard => Call::ExtendedCard { tenant },
        };
        jsonrpc::call_request(&self.request_id(), &call, to.generation)
    }
}

/// Whether an endpoint says that it has no such operation: by the protocol's error, or where it has nothing at all at the
/// operation's path.
fn is_not_known(error: &CallError, transport: Transport) -> bool {
    match error {
        CallError::Refused(A2aError::MethodNotFound(_) | A2aError::VersionNotSupported(_)) => true,
        CallError::Status(404 | 405) => transport == Transport::Rest,
        _ => false,
    }
}

fn other(generation: Generation) -> Generation {
    match generation {
        Generation::V1_0 => Generation::V0_3,
        Generation::V0_3 => Generation::V1_0,
    }
}

/// The place that a redirect leads to, where it is of the same origin: servers add a slash so. What was sent, and the token with it,
/// goes to no other.
fn same_origin(from: &Url, told: &str) -> Option<Url> {
    let place = from.join(told).ok()?;
    let plain = place.username().is_empty() && place.password().is_none();
    (plain && place.origin() == from.origin() && place != *from).then_some(place)
}

/// How many messages of a task are asked for where none is wanted: 0.3 counts 0 as "all".
fn no_history(generation: Generation) -> u32 {
    match generation {
        Generation::V1_0 => 0,
        Generation::V0_3 => 1,
    }
}

fn rest_request(to: &Endpoint, operation: Operation) -> Result<(Url, Option<Value>), CallError> {
    Ok(match operation {
        Operation::Send(call, _) => {
            let body = rest::send_body(&call, to.generation);
            (below(to, &["message:send"])?, Some(body))
        }
        Operation::Get(task) => {
            let mut url = below(to, &["tasks", task.as_str()])?;
            url.set_query(Some(&format!("historyLength={}", no_history(to.generation))));
            (url, None)
        }
        Operation::Cancel(task) => {
            let url = below(to, &["tasks", &format!("{task}:cancel")])?;
            (url, Some(json!({})))
        }
        Operation::List(call) => {
            let mut url = below(to, &["tasks"])?;
            let mut query = url.query_pairs_mut();
            query.append_pair("pageSize", &call.page_size.to_string());
            for (name, value) in [
                ("contextId", call.context_id),
                (
                    "historyLength",
                    call.history_length.map(|length| length.to_string()),
                ),
            ] {
                query.extend_pairs(value.map(|value| (name, value)));
            }
            drop(query);
            (url, None)
        }
        Operation::ExtendedCard => {
            let path = match to.generation {
                Generation::V1_0 => "extendedAgentCard",
                Generation::V0_3 => "card",
            };
            (below(to, &[path])?, None)
        }
    })
}

fn jsonrpc_answer(answered: Answered) -> Result<Value, CallError> {
    // Agents put JSON-RPC errors under all kinds of statuses; the error says more than the status does.
    let told = answered.json().ok().filter(|body| body.get("jsonrpc").is_some());
    match told {
        Some(body) if body.get("error").is_some_and(Value::is_object) && !is_about_token(&answered) => {
            let error = jsonrpc::answer(body).err().unwrap_or_else(A2aError::internal);
            Err(refused(&answered, error))
        }
        _ => jsonrpc::answer(answered.success()?.json()?).map_err(unusable),
    }
}

fn rest_answer(answered: Answered) -> Result<Value, CallError> {
    if answered.status >= 400 && !is_about_token(&answered) {
        let told = answered.json().ok().and_then(|body| rest::read_failure(&body));
        if let Some(error) = told {
            return Err(refused(&answered, error));
        }
    }
    answered.success()?.json()
}

fn is_about_token(answered: &Answered) -> bool {
    matches!(answered.status, 401 | 403)
}

/// An agent that checks tokens inside its protocol says it there.
fn refused(answered: &Answered, error: A2aError) -> CallError {
    if answered.expired_by(&error.to_string()) {
        CallError::Unauthorized {
            expired: true,
            challenge: None,
        }
    } else {
        CallError::Refused(error)
    }
}

fn unusable(error: A2aError) -> CallError {
    CallError::BadAnswer(error.to_string())
}

/// A path of the REST binding: 0.3 has `/v1` in front, 1.0 the interface's tenant.
fn below(to: &Endpoint, path: &[&str]) -> Result<Url, CallError> {
    if path.iter().any(|segment| matches!(*segment, "." | "..")) {
        return Err(CallError::Refused(A2aError::TaskNotFound));
    }
    let mut url = to.url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let prefix = match to.generation {
        Generation::V0_3 => Some("v1"),
        Generation::V1_0 => to.tenant.as_deref(),
    };
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(prefix).extend(path);
        }
        Err(()) => return Err(CallError::NotAllowed("it is not an HTTP address".to_owned())),
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_paths_are_built_below_the_interface() {
        let mut to = Endpoint {
            url: Url::parse("https://agents.example/a/b/?x=1#y").unwrap(),
            generation: Generation::V1_0,
            transport: Transport::Rest,
            tenant: None,
            resource: None,
        };
        let path = |to: &Endpoint, path: &[&str]| below(to, path).map(String::from).ok();
        let expect = |text: &str| Some(text.to_owned());
        assert_eq!(
            path(&to, &["message:send"]),
            expect("https://agents.example/a/b/message:send")
        );
        assert_eq!(
            path(&to, &["tasks", "a/../b?c#d:cancel"]),
            expect("https://agents.example/a/b/tasks/a%2F..%2Fb%3Fc%23d:cancel")
        );
        assert_eq!(path(&to, &["tasks", ".."]), None);
        to.tenant = Some("t 1".to_owned());
        assert_eq!(
            path(&to, &["tasks", "x"]),
            expect("https://agents.example/a/b/t%201/tasks/x")
        );
        to.generation = Generation::V0_3;
        assert_eq!(
            path(&to, &["tasks", "x"]),
            expect("https://agents.example/a/b/v1/tasks/x")
        );
    }
}
