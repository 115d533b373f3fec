//! Each operation of A2A, once for all bindings and both generations: a binding reads a [`Call`], and writes what was
//! [`Done`].

use std::sync::Arc;

use a2a::{A2aError, Call, ListCall, SendCall, ShownPush};
use axum::http::HeaderMap;
use domain::{Generation, Message, Task};
use serde_json::Value;
use store::TaskPage;

use super::caller::Called;
use super::failed::Failed;
use super::stream::{Live, mere};
use super::{cancel, card, find, headers, list, push_configs, send, stream, terms};
use crate::Agent;

/// A call's surroundings: who calls, and how.
pub(crate) struct Ask {
    pub(crate) agent: Arc<Agent>,
    pub(crate) called: Called,
    pub(crate) generation: Generation,
    /// The last event of a stream that the client has seen.
    pub(crate) last_event: Option<u64>,
    /// The card's extensions that the request declares.
    pub(crate) extensions: Vec<String>,
}

impl Ask {
    /// What the request's headers say of a call.
    ///
    /// # Errors
    /// The refusal to answer.
    pub(crate) fn of(
        agent: Arc<Agent>,
        called: Called,
        generation: Generation,
        headers: &HeaderMap,
        call: &Call,
    ) -> Result<Self, A2aError> {
        Ok(Self {
            last_event: headers::last_event(headers)?,
            extensions: terms::extensions(&agent.card, headers, call)?,
            agent,
            called,
            generation,
        })
    }

    /// What it wants of a stream.
    fn wants(&self) -> stream::Wants {
        stream::Wants {
            generation: self.generation,
            last_event: self.last_event,
            drafts: self.has(a2a::DRAFTS),
        }
    }

    fn has(&self, extension: &str) -> bool {
        self.extensions.iter().any(|uri| uri == extension)
    }

    /// How a push configuration that comes with the call is written.
    fn written(&self) -> push_configs::Written {
        push_configs::Written {
            generation: self.generation,
            every_event: self.has(a2a::EVERY_EVENT),
        }
    }

    /// What a send may do beyond the protocol.
    fn ways(&self) -> send::Ways {
        send::Ways {
            written: self.written(),
            client_task_id: self.has(a2a::CLIENT_TASK_ID),
        }
    }

    /// A message that can be taken, with what its sender said of the answer.
    fn taken(&self, mut call: SendCall) -> Result<SendCall, A2aError> {
        terms::media_types(&self.agent.card, &call)?;
        let place = terms::place(&self.called.caller, &mut call);
        call.message.terms = terms::terms(&self.extensions, &call, place);
        Ok(call)
    }
}

/// What an operation came to.
pub(crate) enum Done {
    /// A send's task, with so much of its history.
    Sent(Box<Task>, Option<u32>),
    /// A send that the agent answered with a mere message.
    Answered(Box<Message>),
    /// A task, with so much of its history.
    Task(Box<Task>, Option<u32>),
    /// A page of tasks.
    Page(TaskPage, ListCall),
    /// A push configuration of the task of that id.
    Push(String, ShownPush),
    /// A page of them, and where the next begins.
    Pushes(String, Vec<ShownPush>, Option<String>),
    /// A push configuration is gone.
    Deleted,
    /// A card.
    Card(Value),
    /// What happens to a task from now on.
    Stream(Box<Live>),
}

/// Does what is asked.
pub(crate) async fn perform(ask: &Ask, call: Call) -> Result<Done, Failed> {
    let (agent, generation) = (&ask.agent, ask.generation);
    let caller = &ask.called.caller;
    supported(agent, &call)?;
    find::same_tenant(caller, call.tenant())?;
    Ok(match call {
        Call::Send(call) => {
            let call = ask.taken(call)?;
            let (history_length, at_once) = (call.history_length, call.return_immediately);
            let task = send::send(agent, caller, call, ask.ways()).await?;
            // Whoever does not wait has the task by then, and gets it again for the same message once it is over.
            let may_be_message = !at_once || agent.executor.answers_directly(&task);
            match task.direct_message().filter(|_| may_be_message) {
                Some(message) => Done::Answered(Box::new(mere(message))),
                None => Done::Sent(Box::new(task), history_length),
            }
        }
        Call::Stream(call) => {
            let call = ask.taken(call)?;
            let history_length = call.history_length;
            let task = send::accept(agent, caller, call, ask.ways()).await?;
            let live = stream::of_send(agent, task, history_length, &ask.wants()).await?;
            Done::Stream(Box::new(live))
        }
        Call::Get {
            id, history_length, ..
        } => {
            let task = find::owned(agent, caller, &id).await?.task;
            Done::Task(Box::new(task), history_length)
        }
        Call::List(call) => {
            let page = list::list(agent, caller, &call).await?;
            Done::Page(page, call)
        }
        Call::Cancel { id, .. } => {
            let task = cancel::cancel(agent, caller, &id, generation).await?;
            Done::Task(Box::new(task), None)
        }
        Call::Subscribe { id, .. } => {
            let task = find::owned(agent, caller, &id).await?.task;
            let live = stream::of_subscription(agent, task, &ask.wants())?;
            Done::Stream(Box::new(live.held_by(agent, caller).await?))
        }
        Call::CreatePush { task_id, target, .. } => {
            let shown = push_configs::create(agent, caller, &task_id, target, ask.written()).await?;
            Done::Push(task_id, shown)
        }
        Call::GetPush { task_id, id, .. } => {
            let shown = push_configs::get(agent, caller, &task_id, id.as_deref()).await?;
            Done::Push(task_id, shown)
        }
        Call::ListPush {
            task_id,
            page_size,
            page_token,
            ..
        } => {
            let page = push_configs::PageRequest {
                size: page_size,
                token: page_token,
            };
            let (shown, next) = push_configs::list(agent, caller, &task_id, page).await?;
            Done::Pushes(task_id, shown, next)
        }
        Call::DeletePush { task_id, id, .. } => {
            push_configs::delete(agent, caller, &task_id, &id).await?;
            Done::Deleted
        }
        Call::ExtendedCard { .. } => Done::Card(card::extended(agent, caller, generation).await?),
    })
}

/// What the card does not promise is refused, whatever it is asked of (A2A 1.0, 3.3.4).
fn supported(agent: &Agent, call: &Call) -> Result<(), A2aError> {
    let lacking = |what: &str| {
        Err(A2aError::UnsupportedOperation(format!(
            "this agent does not support {what}"
        )))
    };
    match call {
        Call::Stream(_) | Call::Subscribe { .. } if !agent.card.streaming => lacking("streaming"),
        Call::ExtendedCard { .. } if !agent.card.extended => lacking("an extended card"),
        Call::CreatePush { .. } | Call::GetPush { .. } | Call::ListPush { .. } | Call::DeletePush { .. }
            if !agent.card.push_notifications =>
        {
            Err(A2aError::PushNotificationNotSupported)
        }
        _ => Ok(()),
    }
}
