//! `POST /api/tasks/{id}/{cancel,start,retry}`.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{RawPathParams, State};
use domain::{
    ASKED_AGENT, AgentType, Approval, Message, MessageId, PLAN_HASH, Part, Role, Task, TaskPlan, TaskState,
};
use outbound::SendResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::chat::known_models::HOST;
use crate::chat::send::local_id;
use crate::chat::turn::Turn;
use crate::error::RouteError;
use crate::host::Sender;
use crate::session::guard::MayChange;
use crate::session::owned::OwnedTask;
use crate::state::AppState;
use crate::tasks::view;

/// What is said for who presses the button beside a plan.
const GO: &str = "go";

/// Which plan is to be started.
#[derive(Deserialize)]
struct Start {
    /// Its hash, as the task's view has it.
    plan: String,
}

/// Answers with the task as it is afterwards. The retry of a task that is over is a task of its own, which names the
/// first one as `retryOf`; a repeat of the same retry gives the same task.
pub(crate) async fn act(
    State(room): State<Arc<AppState>>,
    params: RawPathParams,
    _: MayChange,
    OwnedTask { task, owner, pushes }: OwnedTask,
    body: Bytes,
) -> Result<Json<Value>, RouteError> {
    let who = Sender {
        owner: owner.clone(),
        pushes,
    };
    let action = params
        .iter()
        .find(|(name, _)| *name == "action")
        .map(|(_, action)| action);
    match (action, task.status.state) {
        (Some("cancel"), _) => {
            room.host.cancel(&owner, task.id).await?;
        }
        (Some("start"), state) if let Some(plan) = &task.plan => {
            start_plan(&room, (&who, &task), (plan, state), &body).await?;
        }
        (Some("start"), TaskState::Submitted) | (Some("retry"), TaskState::Unknown) => {
            room.host.retry(&owner, task.id).await?;
        }
        (Some("start"), _) => {
            let reason = "a task starts by itself; this one has";
            return Err(RouteError::conflict("not_startable", reason));
        }
        (Some("retry"), TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => {
            return again(&room, &who, &task, instead(&room, &body).await?).await;
        }
        // What succeeded is asked of somebody else.
        (Some("retry"), TaskState::Completed) if let Some(agent) = instead(&room, &body).await? => {
            return again(&room, &who, &task, Some(agent)).await;
        }
        (Some("retry"), _) => {
            let reason = "only a task that did not succeed can be retried";
            return Err(RouteError::conflict("not_retryable", reason));
        }
        _ => return Err(RouteError::NotFound),
    }
    let now = room
        .find_task(&owner, task.id)
        .await?
        .ok_or(RouteError::NotFound)?;
    Ok(Json(view::task(&room.base, &now, None)))
}

/// Agrees to the plan that the task waits with, as a word of its user that names the plan: the host takes it for no other. A repeat
/// changes nothing.
async fn start_plan(
    room: &AppState,
    (who, task): (&Sender, &Task),
    (plan, state): (&TaskPlan, TaskState),
    body: &[u8],
) -> Result<(), RouteError> {
    let Start { plan: named } = serde_json::from_slice(body).map_err(|_| {
        RouteError::invalid("plan_missing", "name the hash of the plan that is to be started")
    })?;
    if named != plan.hash() {
        let reason = "the plan is another one by now: look at it before you start it";
        return Err(RouteError::conflict("plan_changed", reason));
    }
    let says_so = |message: &Message| {
        task.unanswered.as_ref() == Some(&message.message_id)
            && message.metadata.get(PLAN_HASH).and_then(Value::as_str) == Some(&named)
    };
    match &plan.approval {
        Approval::Given { hash } if *hash == named => return Ok(()),
        _ if task.history.iter().any(says_so) => return Ok(()),
        Approval::Awaited if state == TaskState::InputRequired => {}
        _ => {
            let reason = "the task does not wait for anybody to start its plan";
            return Err(RouteError::conflict("not_startable", reason));
        }
    }
    // The same for who presses twice; another where the same plan is asked about once more.
    let id = MessageId::derived(&format!("start/{}/{named}/{}", task.id, task.status.at));
    let mut message = Message::new(id, Role::User, vec![Part::text(GO)]);
    message.task_id = Some(task.id);
    message.context_id = Some(task.context_id.clone());
    message.metadata.insert(PLAN_HASH.to_owned(), named.into());
    room.host.send(who, message).await?;
    Ok(())
}

/// The agent that the body names, where it names one.
async fn instead(room: &AppState, body: &[u8]) -> Result<Option<AgentType>, RouteError> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(named) = body.get("model") else {
        return Ok(None);
    };
    let known = room.models().await?;
    let named = known.iter().find(|model| model.id != HOST && named == &model.id);
    let agent = named.and_then(|model| AgentType::parse(&model.id).ok());
    agent.map(Some).ok_or_else(RouteError::agent_gone)
}

/// A finished task never changes: what it was asked for is asked once more, in the same conversation, perhaps of somebody else.
async fn again(
    room: &AppState,
    who: &Sender,
    task: &Task,
    agent: Option<AgentType>,
) -> Result<Json<Value>, RouteError> {
    let nothing = || RouteError::conflict("not_retryable", "nobody asked for this task");
    let turn = Turn::taken_by(task).ok_or_else(nothing)?;
    let asked = task.history.iter().find(|message| message.role == Role::User);
    let asked = asked.ok_or_else(nothing)?;
    let mut metadata = asked.metadata.clone();
    metadata.extend(agent.map(|agent| (ASKED_AGENT.to_owned(), json!(agent))));
    let message = Message {
        context_id: Some(task.context_id.clone()),
        metadata,
        reference_task_ids: vec![task.id.to_string()],
        ..Message::new(turn.next_attempt(), Role::User, asked.parts.clone())
    };
    let SendResponse::Task(remote) = room.host.send(who, message).await? else {
        return Err(RouteError::conflict(
            "answered",
            "the host answered without a task",
        ));
    };
    let new = room.find_task(&who.owner, local_id(&remote.id)?).await?;
    let mut view = view::task(&room.base, &new.ok_or(RouteError::NotFound)?, None);
    if let Some(fields) = view.as_object_mut() {
        fields.insert("retryOf".into(), json!(task.id));
    }
    Ok(Json(view))
}
