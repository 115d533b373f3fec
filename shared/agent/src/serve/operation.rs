//! Each operation of A2A, once for all bindings and both generations: a binding reads a [`Call`], and writes what was
//! [`Done`].

use std::sync::Arc;

use a2a::{A2aError, Call};
use domain::{Generation, Task};
use serde_json::Value;

use super::caller::{Called, Refused};
use super::stream::Live;
use super::{cancel, card, find, send, stream};
use crate::Agent;

/// A call's surroundings: who calls, and how.
pub(crate) struct Ask {
    pub(crate) agent: Arc<Agent>,
    pub(crate) called: Called,
    pub(crate) generation: Generation,
    /// The last event of a stream that the client has seen.
    pub(crate) last_event: Option<u64>,
}

/// What an operation came to.
pub(crate) enum Done {
    /// A send: its task, or the message that the agent answered with.
    Sent(Box<Task>, Option<u32>),
    /// A task, with so much of its history.
    Task(Box<Task>, Option<u32>),
    /// A card.
    Card(Value),
    /// What happens to a task from now on.
    Stream(Box<Live>),
}

/// Why an operation was refused.
pub(crate) enum Failed {
    /// In the protocol's words.
    Error(A2aError),
    /// The caller has to show credentials first.
    Refused(Refused),
}

impl From<A2aError> for Failed {
    fn from(error: A2aError) -> Self {
        Self::Error(error)
    }
}

/// Does what is asked.
pub(crate) async fn perform(ask: Ask, call: Call) -> Result<Done, Failed> {
    let Ask {
        agent,
        called,
        generation,
        last_event,
    } = ask;
    let Called { caller, trace } = called;
    supported(&agent, &call)?;
    find::same_tenant(&caller, call.tenant())?;
    Ok(match call {
        Call::Send(call) => {
            let history_length = call.history_length;
            let task = send::send(&agent, &caller, call, generation, trace).await?;
            Done::Sent(Box::new(task), history_length)
        }
        Call::Stream(call) => {
            let history_length = call.history_length;
            let task = send::accept(&agent, &caller, call, generation, trace).await?;
            let live = stream::of_send(&agent, task, generation, history_length, last_event)?;
            Done::Stream(Box::new(live))
        }
        Call::Get {
            id, history_length, ..
        } => {
            let task = find::owned(&agent, &caller, &id).await?.task;
            Done::Task(Box::new(task), history_length)
        }
        Call::Cancel { id, .. } => {
            let task = cancel::cancel(&agent, &caller, &id).await?;
            Done::Task(Box::new(task), None)
        }
        Call::Subscribe { id, .. } => {
            let task = find::owned(&agent, &caller, &id).await?.task;
            let live = stream::of_subscription(&agent, task, generation, last_event)?;
            Done::Stream(Box::new(live))
        }
        Call::List(_)
        | Call::CreatePush { .. }
        | Call::GetPush { .. }
        | Call::ListPush { .. }
        | Call::DeletePush { .. } => {
            let reason = "this operation is not supported".to_owned();
            return Err(A2aError::UnsupportedOperation(reason).into());
        }
        Call::ExtendedCard { .. } => Done::Card(card::extended(&agent, &caller, generation)?),
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
