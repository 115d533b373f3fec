//! The A2A client: send, look, cancel, over both bindings and both generations.

use a2a::{A2aError, Answer, RemoteTask, SendCall, Transport, decode, jsonrpc, rest};
use domain::{Endpoint, Generation, RemoteTaskId, SecretString, TraceParent};
use serde_json::{Value, json};
use url::Url;

use crate::client::{Answered, Ask};
use crate::{CallError, Outbound};

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
        trace: Option<&TraceParent>,
    ) -> Result<Answer, CallError> {
        let call = SendCall {
            tenant: to.tenant.clone(),
            ..call.clone()
        };
        let result = match to.transport {
            Transport::JsonRpc => {
                let request = jsonrpc::send_request(&self.request_id(), &call, to.generation);
                self.over_jsonrpc(to, &request, token, trace).await?
            }
            Transport::Rest => {
                let url = below(to, &["message:send"])?;
                let body = rest::send_body(&call, to.generation);
                self.over_rest(to, Ask::post(&url, &body, trace), token).await?
            }
        };
        decode::send_result(&result, to.generation).map_err(unusable)
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
        trace: Option<&TraceParent>,
    ) -> Result<RemoteTask, CallError> {
        let result = match to.transport {
            Transport::JsonRpc => {
                let tenant = to.tenant.as_deref();
                let request = jsonrpc::get_request(&self.request_id(), id.as_str(), tenant, to.generation);
                self.over_jsonrpc(to, &request, token, trace).await?
            }
            Transport::Rest => {
                let mut url = below(to, &["tasks", id.as_str()])?;
                // 0.3 counts 0 as "all".
                url.set_query(Some(match to.generation {
                    Generation::V1_0 => "historyLength=0",
                    Generation::V0_3 => "historyLength=1",
                }));
                self.over_rest(to, Ask::get(&url, trace), token).await?
            }
        };
        decode::task(&result, to.generation).map_err(unusable)
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
        trace: Option<&TraceParent>,
    ) -> Result<RemoteTask, CallError> {
        let result = match to.transport {
            Transport::JsonRpc => {
                let tenant = to.tenant.as_deref();
                let request = jsonrpc::cancel_request(&self.request_id(), id.as_str(), tenant, to.generation);
                self.over_jsonrpc(to, &request, token, trace).await?
            }
            Transport::Rest => {
                let url = below(to, &["tasks", &format!("{id}:cancel")])?;
                self.over_rest(to, Ask::post(&url, &json!({}), trace), token)
                    .await?
            }
        };
        decode::task(&result, to.generation).map_err(unusable)
    }

    async fn over_jsonrpc(
        &self,
        to: &Endpoint,
        request: &Value,
        token: Option<&SecretString>,
        trace: Option<&TraceParent>,
    ) -> Result<Value, CallError> {
        let ask = Ask::post(&to.url, request, trace).bearer(token)?;
        let answered = self
            .exchange(ask.header("a2a-version", a2a::version(to.generation)))
            .await?;
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

    async fn over_rest(
        &self,
        to: &Endpoint,
        ask: Ask<'_>,
        token: Option<&SecretString>,
    ) -> Result<Value, CallError> {
        let ask = ask
            .bearer(token)?
            .header("a2a-version", a2a::version(to.generation));
        let ask = match (to.generation, ask.body.is_some()) {
            (Generation::V1_0, true) => ask.header("content-type", a2a::MEDIA_TYPE),
            _ => ask,
        };
        let answered = self.exchange(ask).await?;
        if answered.status >= 400 && !is_about_token(&answered) {
            let told = answered.json().ok().and_then(|body| rest::read_failure(&body));
            if let Some(error) = told {
                return Err(refused(&answered, error));
            }
        }
        answered.success()?.json()
    }
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
