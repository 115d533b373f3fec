//! `POST`, `GET` and `DELETE /api/tasks/{id}/share`: a finished task of the user's that whoever has its link may read, and the end of
//! that. `GET /api/shares`: what the user has shared.
//!
//! The link is told once: its hash is stored. What it leads to is looked at with each reading ([`AppState::shared`]).

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use domain::{ExposeSecret, Lasting, Task, TaskState};
use http::StatusCode;
use outbound::below;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::audit::Action;
use store::{SHARES_MAX, Share, SharedAgent};

use crate::error::RouteError;
use crate::session::guard::{FromHere, MayChange};
use crate::session::owned::OwnedTask;
use crate::session::visitor::{Seen, Visitor};
use crate::share::sources::{Sources, is_name};
use crate::state::AppState;

/// What tokens of links begin with, so that scanners and people know one.
const TOKEN_PREFIX: &str = "swl";
/// Most bytes of a body, and most names that it agrees to.
const BODY_MAX: usize = 4 * 1024;
const AGREED_MAX: usize = 64;

#[derive(Default, Deserialize)]
struct Wanted {
    /// The types of agents whose words are shared though they demanded something.
    #[serde(default)]
    agreed: Vec<String>,
}

/// Shares the task; a link that it had before leads nowhere from then on.
pub(crate) async fn make(
    State(room): State<Arc<AppState>>,
    _: MayChange,
    OwnedTask { task, owner, .. }: OwnedTask,
    Seen(session): Seen,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), RouteError> {
    let Wanted { agreed } = wanted(&body)?;
    let (sessions, tenant, now) = (room.store.sessions(), &room.tenant, room.clock.now());
    let conflict = |code, message| Err(RouteError::conflict(code, message));
    let Some(epoch) = room.store.tenants().sharing(tenant, now).await? else {
        return conflict("sharing_off", "sharing is not switched on here: an admin does so");
    };
    let Some(person) = session.and_then(|session| session.person) else {
        return conflict(
            "sign_in_to_share",
            "sign in first: a guest could not end a link from anywhere else",
        );
    };
    if task.status.state != TaskState::Completed {
        return conflict("not_completed", "only a task that was completed can be shared");
    }
    if task.jobs.is_empty() {
        return conflict(
            "nothing_to_share",
            "no agent worked on this task: there is nothing to share",
        );
    }
    let sources = Sources::of(&room, &task).await?;
    let asked = sources.demanding(room.open_agents().await?.as_ref());
    let agents: Vec<_> = asked
        .iter()
        .filter(|one| !agreed.contains(&one.id))
        .cloned()
        .collect();
    if !agents.is_empty() {
        return Err(RouteError::AsksAgain { agents });
    }
    let others = sessions.shares_of(tenant, &owner, now).await?;
    if others.iter().filter(|other| other.task != task.id).count() >= SHARES_MAX {
        return conflict(
            "too_many_shares",
            "you share a hundred tasks already: end one first",
        );
    }
    let retention = room.store.tenants().retention(tenant);
    let token = auth::token::link(TOKEN_PREFIX, room.entropy.as_ref());
    let share = Share {
        task: task.id,
        owner,
        context: task.context_id.clone(),
        person,
        agents: sources.agents(),
        agreed: asked.into_iter().map(|one| one.id).collect(),
        epoch,
        created_at: now,
        ends_at: now.after(retention.of(Lasting::Shares)),
    };
    let hash = auth::token::hash(token.expose_secret());
    // Of a share its task is told, and never its link.
    let entry = room.entry(Action::ShareMake, &share.owner, &share.task.to_string());
    let store = room.store.telling(&entry);
    store.sessions().share(tenant, &hash, &share).await?;
    entry.tell(&store).await;
    let link = below(&room.base, &format!("share/{}", token.expose_secret()));
    let mut view = shown(&share);
    if let Some(fields) = view.as_object_mut() {
        fields.insert("link".to_owned(), json!(link));
    }
    Ok((StatusCode::CREATED, Json(view)))
}

/// Whether the task is shared, and until when; the link was told when it was made.
pub(crate) async fn show(
    State(room): State<Arc<AppState>>,
    OwnedTask { task, owner, .. }: OwnedTask,
) -> Result<Json<Value>, RouteError> {
    let sessions = room.store.sessions();
    let share = sessions
        .share_of(&room.tenant, (&owner, task.id), room.clock.now())
        .await?;
    let share = match share {
        Some(share) if room.holds(&share).await? => Some(shown(&share)),
        _ => None,
    };
    Ok(Json(json!({ "share": share })))
}

/// A repeat changes nothing.
pub(crate) async fn end(
    State(room): State<Arc<AppState>>,
    _: FromHere,
    OwnedTask { task, owner, .. }: OwnedTask,
) -> Result<StatusCode, RouteError> {
    let entry = room.entry(Action::ShareEnd, &owner, &task.id.to_string());
    let store = room.store.telling(&entry);
    if store.sessions().end_share(&room.tenant, &owner, task.id).await? {
        entry.tell(&store).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// What the visitor has shared, the newest first.
pub(crate) async fn list(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
) -> Result<Json<Value>, RouteError> {
    let mut shares = match visitor {
        Some(owner) => {
            let sessions = room.store.sessions();
            sessions.shares_of(&room.tenant, &owner, room.clock.now()).await?
        }
        None => Vec::new(),
    };
    shares.sort_by_key(|share| std::cmp::Reverse(share.created_at));
    let mut listed = Vec::with_capacity(shares.len());
    for share in &shares {
        if room.holds(share).await? {
            listed.push(shown(share));
        }
    }
    Ok(Json(json!({ "shares": listed })))
}

fn shown(share: &Share) -> Value {
    json!({
        "taskId": share.task,
        "createdAt": share.created_at,
        "endsAt": share.ends_at,
        "agreed": share.agreed,
    })
}

fn wanted(body: &[u8]) -> Result<Wanted, RouteError> {
    let wrong = || {
        RouteError::invalid(
            "invalid_agreed",
            "the body must be {agreed}: the names of agents that the answer of before asked about",
        )
    };
    if body.len() > BODY_MAX {
        return Err(RouteError::TooLarge);
    }
    if body.is_empty() {
        return Ok(Wanted::default());
    }
    let told: Map<String, Value> = serde_json::from_slice(body).map_err(|_| wrong())?;
    let wanted = Wanted::deserialize(Value::Object(told)).map_err(|_| wrong())?;
    let fits = wanted.agreed.len() <= AGREED_MAX && wanted.agreed.iter().all(|name| is_name(name));
    fits.then_some(wanted).ok_or_else(wrong)
}

impl AppState {
    /// Whether a share still holds, as far as it hangs on the tenant and on who shares it.
    async fn holds(&self, share: &Share) -> Result<bool, RouteError> {
        let now = self.clock.now();
        let epoch = self.store.tenants().sharing(&self.tenant, now).await?;
        if epoch != Some(share.epoch) {
            return Ok(false);
        }
        let sessions = self.store.sessions();
        Ok(sessions.still_counts(&self.tenant, &share.person, now).await?)
    }

    /// What a link's token leads to: as long as its share holds, its task is there and completed, and each agent whose words may
    /// stand in it is open or was agreed to.
    pub(crate) async fn shared(&self, token: &str) -> Result<Option<(Share, Task)>, RouteError> {
        let hash = auth::token::hash(token);
        let sessions = self.store.sessions();
        let found = sessions.find_share(&self.tenant, &hash, self.clock.now()).await?;
        let Some(share) = found else { return Ok(None) };
        if !self.holds(&share).await? {
            return Ok(None);
        }
        let task = self.find_task(&share.owner, share.task).await?;
        let Some(task) = task.filter(|task| task.status.state == TaskState::Completed) else {
            return Ok(None);
        };
        if left(&share).next().is_some() {
            let open = self.open_agents().await?;
            if !left(&share).all(|agent| open.has(&agent.agent_type, &agent.id)) {
                return Ok(None);
            }
        }
        Ok(Some((share, task)))
    }
}

/// The agents that nobody has agreed to, as they needed no word.
fn left(share: &Share) -> impl Iterator<Item = &SharedAgent> {
    let is_agreed = |agent: &SharedAgent| {
        let name = agent.agent_type.as_str();
        share.agreed.iter().any(|agreed| agreed == name)
    };
    share.agents.iter().filter(move |agent| !is_agreed(agent))
}
