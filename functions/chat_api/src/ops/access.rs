//! `/api/admin/access`: who and what is in, for the tenant's admins: people of every issuer with their sessions, browsers that are told of
//! tasks, shares and connections, and the tenant's own agents; each of it can be ended. To everybody else there is no such thing.

use std::sync::Arc;

use a2a::EVERY_CONNECTION;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use domain::{AgentId, Owner, TaskId, Timestamp};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use store::audit::{self, Action};
use store::{Access, Member, PageRequest};

use crate::error::RouteError;
use crate::ops::registry::Verb;
use crate::ops::users::{Admin, ask, at, own_account};
use crate::session::guard::FromHere;
use crate::state::AppState;

/// So many people are on a page.
const PEOPLE: u32 = 20;

/// Where the page before ended.
#[derive(Deserialize)]
pub(crate) struct PageStart {
    cursor: Option<Owner>,
}

/// Whose it is that is ended.
#[derive(Deserialize)]
pub(crate) struct OfPerson {
    of: Option<Owner>,
}

/// `GET /api/admin/access`: who has signed in, and what is open of theirs; on the first page the tenant's own agents too.
pub(crate) async fn list(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    start: Result<Query<PageStart>, QueryRejection>,
) -> Result<Json<Value>, RouteError> {
    let Query(PageStart { cursor }) = start.map_err(|_| RouteError::NotFound)?;
    let agents = match cursor {
        None => room.registry.agents(&admin.owner).await?,
        Some(_) => Vec::new(),
    };
    let own = agents
        .iter()
        .filter(|agent| agent.get("tenant").is_some_and(Value::is_string));
    let told = |agent: &Value| {
        let at = |place: &str| agent.pointer(place).cloned().unwrap_or_default();
        json!({"id": at("/id"), "name": at("/card/name"), "since": at("/registeredAt"), "isEnabled": at("/enabled")})
    };
    let agents: Vec<Value> = own.map(told).collect();
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    let page = PageRequest {
        limit: PEOPLE,
        cursor: cursor.map(|owner| owner.to_string()),
    };
    let members = sessions.members(&room.tenant, &page).await?;
    let mut people = Vec::new();
    for member in &members.items {
        let access = sessions.access_of(&room.tenant, member, now).await?;
        people.push(shown(member, &access));
    }
    Ok(Json(
        json!({"people": people, "agents": agents, "nextCursor": members.next}),
    ))
}

fn shown(member: &Member, access: &Access) -> Value {
    let one =
        |id: &str, since: Timestamp, until: Timestamp| json!({"id": id, "since": since, "until": until});
    let sessions = access
        .sessions
        .iter()
        .map(|(id, it)| one(id, it.created_at, it.expires_at));
    let devices = access
        .devices
        .iter()
        .map(|it| one(&it.id, it.created_at, it.expires_at));
    let shares = access
        .shares
        .iter()
        .map(|it| one(&it.task.to_string(), it.created_at, it.ends_at));
    let known = access.signed_in.as_ref();
    json!({
        "id": member.owner,
        "issuer": member.person.issuer,
        "username": known.map_or(member.person.username.as_str(), |known| known.username.as_str()),
        "name": known.map(|known| known.display_name.as_str()),
        "isIn": known.is_some(),
        "signedInAt": member.at,
        "sessions": sessions.collect::<Vec<_>>(),
        "devices": devices.collect::<Vec<_>>(),
        "shares": shares.collect::<Vec<_>>(),
    })
}

/// `GET /api/admin/access/{id}`: where that person is connected, as the host and its agents say.
pub(crate) async fn connections(
    State(room): State<Arc<AppState>>,
    _: Admin,
    id: Result<Path<Owner>, PathRejection>,
) -> Result<Json<Value>, RouteError> {
    let Path(owner) = id.map_err(|_| RouteError::NotFound)?;
    let member = room.member(&owner).await?;
    Ok(Json(json!(room.host.connections(&member.owner).await?)))
}

/// `DELETE /api/admin/access/{kind}/{id}`: ends it. What is a person's is named with `of`, their id.
pub(crate) async fn end(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    _: FromHere,
    path: Result<Path<(String, String)>, PathRejection>,
    of: Result<Query<OfPerson>, QueryRejection>,
) -> Result<StatusCode, RouteError> {
    let Path((kind, id)) = path.map_err(|_| RouteError::NotFound)?;
    let Query(OfPerson { of }) = of.map_err(|_| RouteError::NotFound)?;
    let ended = room.end(&admin, (&kind, &id), of.as_ref()).await;
    // Nothing that is not there is written down in the words of whoever asks.
    if !matches!(ended, Err(RouteError::NotFound)) {
        let result = ended.as_ref().map_or_else(RouteError::code, |()| audit::DONE);
        let object = format!("{kind}/{id}");
        room.tell(Action::AdminAccess, &admin.owner, &object, result)
            .await;
    }
    ended.map(|()| StatusCode::NO_CONTENT)
}

impl AppState {
    async fn member(&self, owner: &Owner) -> Result<Member, RouteError> {
        let found = self.store.sessions().member(&self.tenant, owner).await?;
        found.ok_or(RouteError::NotFound)
    }

    async fn end(
        &self,
        admin: &Admin,
        (kind, id): (&str, &str),
        of: Option<&Owner>,
    ) -> Result<(), RouteError> {
        let (sessions, tenant) = (self.store.sessions(), &self.tenant);
        if kind == "agent" {
            let id = AgentId::parse(id).map_err(|_| RouteError::NotFound)?;
            return self
                .registry
                .act(&admin.owner, id, (Verb::Disable, &json!({})))
                .await
                .map(|_| ());
        }
        let named = Owner::parse(id).ok().filter(|_| kind == "person");
        let owner = named.as_ref().or(of).ok_or(RouteError::NotFound)?;
        let member = self.member(owner).await?;
        let was_there = match kind {
            "person" => return self.end_person(admin, &member).await,
            "session" => sessions.end_session_of(tenant, owner, id).await?,
            "device" => {
                let found = sessions
                    .find_subscription(tenant, owner, id, self.clock.now())
                    .await?;
                sessions.end_subscription(tenant, owner, id).await?;
                found.is_some()
            }
            "share" => {
                let task = TaskId::parse(id).map_err(|_| RouteError::NotFound)?;
                sessions.end_share(tenant, owner, task).await?
            }
            "connection" if a2a::is_connection_id(id) => {
                self.host.disconnect(owner, id).await?;
                true
            }
            _ => false,
        };
        was_there.then_some(()).ok_or(RouteError::NotFound)
    }

    /// Ends all that leads a person in, and what they have let us do elsewhere.
    async fn end_person(&self, admin: &Admin, member: &Member) -> Result<(), RouteError> {
        if member.owner == admin.owner {
            return Err(own_account());
        }
        let (sessions, tenant, now) = (self.store.sessions(), &self.tenant, self.clock.now());
        let (owner, person) = (&member.owner, &member.person);
        let access = sessions.access_of(tenant, member, now).await?;
        match (&person.id, person.is_foreign()) {
            (Some(id), true) => sessions.end_person(tenant, id, now).await?,
            (None, true) => {}
            (_, false) => {
                let url = at(self, &person.username, Some("end"))?;
                match ask(self, admin, (Method::POST, &url), Some(&json!({}))).await {
                    // Whoever was removed has nothing there.
                    Ok(_) | Err(RouteError::NotFound) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        sessions.end_sessions_of(tenant, owner, None).await?;
        for share in &access.shares {
            sessions.end_share(tenant, owner, share.task).await?;
        }
        self.host.disconnect(owner, EVERY_CONNECTION).await?;
        Ok(())
    }
}
