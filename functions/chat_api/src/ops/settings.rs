//! `GET` and `PATCH /api/admin/settings`: what the tenant's admins set for it: the language and time zone of whoever names none, and
//! how its page looks and which agents it begins with, whether finished tasks may be shared, which users have another share of its plan
//! than a tenth, how long things are kept, and whether new tasks are paused, which is its operators' to say too. What the operator alone sets is not here.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, State};
use domain::{Owner, PAUSE, RETENTION, SHARES, SettingChange, TIME_ZONE};
use http::request::Parts;
use serde_json::Value;
use store::audit::{self, Action};
use store::{Member, PageRequest, ROLES, TenantSettings};

use crate::error::RouteError;
use crate::ops::agents::person_with;
use crate::ops::users::{ADMIN, Admin};
use crate::session::guard::MayChange;
use crate::state::AppState;

/// What an admin may set.
const OF_ADMINS: [&str; 10] = [
    "locale",
    "timeZone",
    "brand",
    "accent",
    "accentDark",
    "share",
    "start",
    PAUSE,
    SHARES,
    RETENTION,
];
/// Most bytes of a body.
const BODY_MAX: usize = 4 * 1024;
/// So many people are read at once, and so often at most, to find those who are named.
const PAGE: u32 = 100;
const PAGES_MAX: u32 = 50;

pub(crate) async fn show(State(room): State<Arc<AppState>>, _: Admin) -> Result<Json<Value>, RouteError> {
    let settings = room.store.tenants().settings(&room.tenant).await?;
    Ok(Json(shown(&room, &settings.unwrap_or_default()).await?))
}

/// Somebody who looks after the tenant, and whether they may set all of it.
pub(crate) struct Changer {
    owner: Owner,
    is_admin: bool,
}

impl FromRequestParts<Arc<AppState>> for Changer {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let (owner, person) = person_with(&ROLES, parts, room).await?;
        let is_admin = person.roles.iter().any(|role| role == ADMIN);
        Ok(Self { owner, is_admin })
    }
}

/// Changes what is named, all of it or nothing; `null` takes a setting away. Operators may pause new tasks and go on with them; to
/// them there is nothing else here.
pub(crate) async fn change(
    State(room): State<Arc<AppState>>,
    Changer { owner, is_admin }: Changer,
    _: MayChange,
    body: Bytes,
) -> Result<Json<Value>, RouteError> {
    let mut changes = changes(&body)?;
    if !is_admin && changes.iter().any(|change| change.key() != PAUSE) {
        return Err(RouteError::NotFound);
    }
    for change in &mut changes {
        if let (SHARES, Some(shares)) = (change.key(), change.value()) {
            let shares = of_people(&room, shares).await?;
            *change =
                SettingChange::parse(SHARES, Some(&shares)).map_err(|error| wrong(&error.to_string()))?;
        }
    }
    let set = room.store.tenants().set_own(&room.tenant, &changes).await?;
    let set = set.ok_or_else(|| {
        RouteError::conflict(
            "tenant_unknown",
            "the tenant's record is not there: its operator adds it",
        )
    })?;
    for each in &changes {
        room.tell(Action::TenantSet, &owner, each.key(), audit::DONE)
            .await;
    }
    if !is_admin {
        return Ok(Json(serde_json::json!({ PAUSE: set.get(PAUSE) })));
    }
    Ok(Json(shown(&room, &set).await?))
}

fn wrong(why: &str) -> RouteError {
    RouteError::invalid("invalid_setting", why)
}

/// Those who have signed in, as far as they are read.
async fn people(room: &AppState) -> Result<Vec<Member>, RouteError> {
    let sessions = room.store.sessions();
    let mut page = PageRequest {
        limit: PAGE,
        cursor: None,
    };
    let mut people = Vec::new();
    for _ in 0..PAGES_MAX {
        let members = sessions.members(&room.tenant, &page).await?;
        people.extend(members.items);
        page.cursor = members.next;
        if page.cursor.is_none() {
            break;
        }
    }
    Ok(people)
}

/// Shares as an admin reads them: by the names that people sign in with, where only they have that one and it is taken back.
async fn by_name(room: &AppState, shares: &str) -> Result<String, RouteError> {
    let people = people(room).await?;
    let named = |share: &str| {
        let (id, percent) = share.rsplit_once('=')?;
        let name = &people
            .iter()
            .find(|one| one.owner.as_str() == id)?
            .person
            .username;
        let is_theirs = |one: &&Member| one.person.username == *name || one.owner.as_str() == name;
        let named = format!("{name}={percent}");
        let is_taken =
            SettingChange::parse(SHARES, Some(&named)).is_ok() && !name.contains(char::is_whitespace);
        (is_taken && people.iter().filter(is_theirs).count() == 1).then_some(named)
    };
    let shares = shares.split_ascii_whitespace();
    let shares: Vec<String> = shares
        .map(|share| named(share).unwrap_or_else(|| share.to_owned()))
        .collect();
    Ok(shares.join(" "))
}

/// Shares by the ids of people, who may be named as they sign in: a name that is nobody's would count for nobody.
async fn of_people(room: &AppState, shares: &str) -> Result<String, RouteError> {
    let people = people(room).await?;
    let of = |share: &str| {
        let (name, percent) = share.rsplit_once('=').unwrap_or((share, ""));
        let is_id = |one: &&Member| one.owner.as_str() == name;
        let mut meant = people
            .iter()
            .filter(is_id)
            .chain(people.iter().filter(|one| one.person.username == name));
        match (meant.next(), meant.next()) {
            (Some(one), other) if is_id(&one) || other.is_none() => Ok(format!("{}={percent}", one.owner)),
            (Some(_), _) => Err(wrong(&format!(
                "several people sign in as {name:?}: name the id of one"
            ))),
            (None, _) => Err(wrong(&format!(
                "nobody has signed in as {name:?} yet: nobody would have that share"
            ))),
        }
    };
    let shares: Vec<String> = shares
        .split_ascii_whitespace()
        .map(of)
        .collect::<Result<_, _>>()?;
    Ok(shares.join(" "))
}

fn changes(body: &[u8]) -> Result<Vec<SettingChange>, RouteError> {
    if body.len() > BODY_MAX {
        return Err(RouteError::TooLarge);
    }
    let told: BTreeMap<String, Option<String>> = serde_json::from_slice(body)
        .map_err(|_| wrong("the body must be settings by their names: texts, or null to take one away"))?;
    if told.is_empty() {
        return Err(wrong("name at least one setting"));
    }
    let change = |(key, value): (&String, &Option<String>)| {
        if !OF_ADMINS.contains(&key.as_str()) {
            return Err(wrong(&format!(
                "there is no setting {key:?} here; there are {}",
                OF_ADMINS.join(", ")
            )));
        }
        let change =
            SettingChange::parse(key, value.as_deref()).map_err(|error| wrong(&error.to_string()))?;
        match change.value() {
            Some(zone) if key == TIME_ZONE && !is_time_zone(zone) => Err(wrong(&format!(
                "there is no time zone {zone:?}; it is an IANA name such as Europe/Oslo"
            ))),
            _ => Ok(change),
        }
    };
    told.iter().map(change).collect()
}

/// Whether agents know it: one that they do not know they take for UTC, silently.
fn is_time_zone(name: &str) -> bool {
    name.parse::<chrono_tz::Tz>().is_ok()
}

async fn shown(room: &AppState, settings: &TenantSettings) -> Result<Value, RouteError> {
    let mut told = serde_json::Map::new();
    for key in OF_ADMINS {
        let value = match settings.get(key) {
            Some(shares) if key == SHARES => Value::String(by_name(room, shares).await?),
            value => value.map_or(Value::Null, |value| value.as_str().into()),
        };
        told.insert(key.to_owned(), value);
    }
    Ok(Value::Object(told))
}
