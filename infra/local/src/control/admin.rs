//! The gateway's own routes: a page for people, changes to the running system for whoever has the platform's token, and
//! what stands in for AWS (`control::aws`).
//!
//! | route | |
//! |---|---|
//! | `GET /` | where to go from here |
//! | `GET /admin/tenants` | the tenants |
//! | `POST /admin/tenants` with `{"name"}` | adds one |
//! | `DELETE /admin/tenants/{name}` | takes one away |
//! | `PUT /admin/tenants/{name}/status` with `{"suspended": true}` | lets nobody in any more, or everybody again |
//! | `GET /admin/tenants/{name}/users` | its users |
//! | `POST /admin/tenants/{name}/users` with `{"username", "roles"}` | adds a user; the answer has the password |
//! | `POST /admin/tenants/{name}/users/{user}/reset` | gives a user another password, and ends every sign-in |
//! | `DELETE /admin/tenants/{name}/users/{user}` | takes a user away, and ends every sign-in |
//! | `POST /admin/tenants/{name}/people/erase` with `{"name"}` | erases a person, and tells how far that is; without a name all that were begun |
//! | `POST /admin/tenants/{name}/people/end` with `{"issuer", "subject"}` | ends every sign-in of a person |
//! | `GET /admin/tenants/{name}/issuers` | where people sign in |
//! | `PUT /admin/tenants/{name}/issuers` with `{"offered", "requireAcr"}` | says which issuers are offered, and what is demanded |
//! | `PUT /admin/tenants/{name}/issuers/{id}` with `{"issuer", "client_id", "client_secret", "sign_in"}` | names an issuer |
//! | `DELETE /admin/tenants/{name}/issuers/{id}` | takes an issuer away |
//! | `PATCH /admin/tenants/{name}/settings` with `{"key": "value"}`, `null` to unset | changes its settings, all of these or none |
//! | `PUT /admin/tenants/{name}/logo` with `{"logo": "Base64"}` | gives its page a logo |
//! | `DELETE /admin/tenants/{name}/logo` | takes the logo away |
//! | `GET /admin/tenants/{name}/audit?since=TIME&verify=true` | who did what, the newest first; or what a look at it against its seals found |
//! | `GET /admin/audit?since=TIME&verify=true` | the same of the platform's own |
//! | `GET /admin/tenants/{name}/export` | all that is kept of it, as a tar (`store::Export`) |
//! | `GET /admin/tenants/{name}/usage?days=7` | what its language models took and its tasks cost, by day, the newest first; with `task=ID` what that one cost |
//! | `POST /admin/tenants/{name}/orders` with `{"orders": […]}` | stores orders of a tenant |
//! | `POST /admin/tenants/{name}/token` with `{"owner", "audience", "scope"}` | makes a token of the tenant's, good for five minutes |
//! | `POST /admin/keys/rotate` with `{"keys": "idp"`, `"sealing"` or `{"session": tenant}`, `"force"}` | rotates keys |
//! | `PUT /admin/tenants/{name}/mqtt/{client}` with `{"redirectUris": []}` | gives a tenant's client at the MQTT broker a password |
//! | `DELETE /admin/tenants/{name}/mqtt/{client}` | lets that client in no more |
//! | `GET /admin/mqtt/imports` | which agents of the MQTT broker the registry is to know |
//! | `POST /admin/mqtt/imports` with `{"add": [RULE], "remove": [RULE]}` | changes that |
//! | `GET /admin/environments/{tenant}` | what the functions' environments are to hold, outside of this process |

mod audit;
mod brand;
mod broker;
mod export;
mod imports;
mod issuers;
mod users;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use auth::{Refusal, Verifier};
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use domain::price::Cost;
use domain::{AgentName, ExposeSecret, InvalidSetting, Owner, SettingChange, TaskId, Tenant};
use edge::{Front, refused};
use http::request::Parts;
use http::{StatusCode, header};
use idp::ProvisionError;
use routes::Routes;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};
use store::{ImportError, ImportedOrder, Standing, TaskKey, USAGE_DAYS_MAX};
use url::Url;

use crate::address::{below, plain};
use crate::control::{Control, Rotation, aws, index, survival};
use crate::data::current::Current;
use crate::error::{ChangeError, StartError};
use crate::functions::sam_env;

/// What a token must allow; only the platform's own issuer is asked about it.
pub(crate) const SCOPE: &str = "system:admin";

/// Where the changes are asked for.
#[must_use]
pub fn url(gateway: &Url) -> Url {
    below(gateway, "/admin")
}

struct Admin {
    control: Arc<Control>,
    verifier: Verifier,
}

/// Whoever may change the system. A handler that takes it cannot forget the check.
struct Operator;

impl FromRequestParts<Arc<Admin>> for Operator {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, Refused> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let token = auth::bearer(header.map(|value| value.to_str().unwrap_or("")))?;
        let verified = admin.verifier.verify(token, admin.control.site.clock.now())?;
        if verified.scopes.contains(SCOPE) {
            Ok(Self)
        } else {
            let needed = SCOPE.to_owned();
            Err(Refusal::SmallScope { needed }.into())
        }
    }
}

/// The gateway's own routes.
pub(crate) fn router(control: &Arc<Control>) -> Result<Router, StartError> {
    let current = control.now();
    let trusted = current.platform();
    let audience = plain(&url(&current.endpoints.gateway));
    let verifier = Verifier::new(audience, vec![trusted]).map_err(StartError::part("token verifier"))?;
    let front = Front::new("admin", &control.site.clock, &control.site.entropy);
    let changes = Routes::new()
        .get("/tenants", "lists the tenants", list)
        .post("/tenants", "adds a tenant", add)
        .delete("/tenants/{name}", "takes a tenant away", remove)
        .put(
            "/tenants/{name}/status",
            "suspends a tenant, or resumes it",
            suspend,
        )
        .post(
            "/tenants/{name}/purge",
            "removes what removed tenants of the name left",
            purge,
        )
        .get("/tenants/{name}/users", "lists a tenant's users", users::list)
        .post("/tenants/{name}/users", "adds a user", users::add)
        .post(
            "/tenants/{name}/users/{user}/reset",
            "gives a user another password",
            users::reset,
        )
        .delete("/tenants/{name}/users/{user}", "takes a user away", users::remove)
        .post(
            "/tenants/{name}/people/end",
            "ends every sign-in of a person",
            users::end,
        )
        .post(
            "/tenants/{name}/people/erase",
            "erases a person, or goes on with those who are being erased",
            users::erase,
        )
        .get(
            "/tenants/{name}/issuers",
            "tells where people sign in",
            issuers::list,
        )
        .put(
            "/tenants/{name}/issuers",
            "says which issuers are offered",
            issuers::offer,
        )
        .put("/tenants/{name}/issuers/{id}", "names an issuer", issuers::put)
        .delete(
            "/tenants/{name}/issuers/{id}",
            "takes an issuer away",
            issuers::remove,
        )
        .patch("/tenants/{name}/settings", "changes a tenant's settings", set)
        .put("/tenants/{name}/logo", "gives a tenant's page a logo", brand::put)
        .delete(
            "/tenants/{name}/logo",
            "takes a tenant's logo away",
            brand::remove,
        )
        .get("/tenants/{name}/audit", "tells who did what", audit::tenant)
        .get("/audit", "tells who did what to the platform", audit::platform)
        .get(
            "/tenants/{name}/export",
            "gives all that is kept of a tenant",
            export::tenant,
        )
        .get(
            "/tenants/{name}/usage",
            "tells what a tenant's models took",
            usage,
        )
        .post(
            "/tenants/{name}/token",
            "makes a token to call an agent by hand",
            token,
        )
        .post("/tenants/{name}/orders", "stores orders of a tenant", import)
        .put(
            "/tenants/{name}/mqtt/{client}",
            "gives a client of the tenant a password at the MQTT broker",
            broker::put,
        )
        .delete(
            "/tenants/{name}/mqtt/{client}",
            "lets a client of the tenant into the MQTT broker no more",
            broker::remove,
        )
        .post("/keys/rotate", "rotates keys", rotate)
        .get(
            "/mqtt/imports",
            "lists the rules by which agents of the broker are registered",
            imports::list,
        )
        .post("/mqtt/imports", "changes these rules", imports::change)
        .get(
            "/environments/{name}",
            "what functions outside of this process need set",
            environments,
        )
        .with_state(Arc::new(Admin {
            control: Arc::clone(control),
            verifier,
        }));
    Ok(Router::new()
        .route("/", get(page))
        .route("/aws/{slug}/{service}", any(aws::answer))
        .route("/aws/{slug}/{service}/", any(aws::answer))
        .merge(survival::served().into_router())
        .with_state(Arc::clone(control))
        .nest_service("/admin", edge::front(changes, front)))
}

async fn page(State(control): State<Arc<Control>>) -> Response {
    let html = Html(index::page(&control.now().endpoints));
    ([(header::CACHE_CONTROL, "no-store")], html).into_response()
}

fn name_alone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tenant, D::Error> {
    let text = String::deserialize(deserializer)?;
    Tenant::parse(&text).map_err(de::Error::custom)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTenant {
    /// A name alone: nobody chooses an incarnation.
    #[serde(deserialize_with = "name_alone")]
    name: Tenant,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrders {
    orders: Vec<ImportedOrder>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotate {
    keys: Rotation,
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedToken {
    owner: Owner,
    audience: Url,
    scope: String,
}

/// How long a token lives that is made by hand.
const TOKEN: Duration = Duration::from_secs(300);

async fn token(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<WantedToken>, JsonRejection>,
) -> Result<Response, Refused> {
    let (Path(name), Json(wanted)) = (name?, body?);
    let current = admin.control.now();
    let own = current.endpoints.named(&name);
    let unknown = || ChangeError::Unknown {
        name: name.clone(),
        known: current.endpoints.tenants.keys().cloned().collect(),
    };
    let (tenant, own) = own.ok_or_else(unknown)?;
    let key = current.secrets.tenants.get(tenant).ok_or_else(unknown)?;
    let grant = auth::Grant {
        issuer: &plain(&own.base),
        subject: wanted.owner.as_str(),
        tenant: Some(tenant),
        audience: &plain(&wanted.audience),
        scopes: &[&wanted.scope],
        lifetime: TOKEN,
    };
    let site = &admin.control.site;
    let session = key.session().map_err(ChangeError::Key)?;
    let token = session.sign(&grant, site.clock.now(), &*site.entropy);
    let token = token.map_err(StartError::part("token"))?;
    let body = Json(json!({ "token": token.expose_secret() }));
    Ok(([(header::CACHE_CONTROL, "no-store")], body).into_response())
}

async fn list(_: Operator, State(admin): State<Arc<Admin>>) -> Result<Json<Value>, Refused> {
    let current = admin.control.now();
    let mut tenants = Vec::new();
    for name in current.endpoints.tenants.keys() {
        let (kept, now) = (admin.control.site.store.tenants(), admin.control.site.clock.now());
        let read = tokio::try_join!(kept.settings(name), kept.standing(name, now));
        let (settings, standing) = read.map_err(StartError::part("table of tenants"))?;
        let mut tenant = described(&current, name);
        if let Some(fields) = tenant.as_object_mut() {
            fields.insert("settings".to_owned(), json!(settings));
            fields.insert("suspended".to_owned(), json!(standing == Standing::Suspended));
        }
        tenants.push(tenant);
    }
    Ok(Json(json!({ "tenants": tenants })))
}

async fn add(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    body: Result<Json<NewTenant>, JsonRejection>,
) -> Result<Response, Refused> {
    let Json(NewTenant { name }) = body?;
    let control = Arc::clone(&admin.control);
    // A caller who goes away does not leave a tenant half added.
    let added = tokio::spawn(async move {
        let (current, tenant) = control.add_tenant(&name).await?;
        Ok::<_, ChangeError>(described(&current, &tenant))
    });
    let added = added.await.map_err(|_| Refused::broken())??;
    Ok((StatusCode::CREATED, Json(added)).into_response())
}

async fn remove(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<StatusCode, Refused> {
    let Path(name) = name?;
    let control = Arc::clone(&admin.control);
    let removed = tokio::spawn(async move { control.remove_tenant(&name).await });
    removed.await.map_err(|_| Refused::broken())??;
    Ok(StatusCode::NO_CONTENT)
}

async fn purge(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<Json<Value>, Refused> {
    let Path(name) = name?;
    let control = Arc::clone(&admin.control);
    let purged = tokio::spawn(async move { control.purge(&name).await });
    let purged = purged.await.map_err(|_| Refused::broken())??;
    Ok(Json(json!({ "purged": purged })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    suspended: bool,
}

async fn suspend(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<Status>, JsonRejection>,
) -> Result<StatusCode, Refused> {
    let (Path(name), Json(Status { suspended })) = (name?, body?);
    admin.control.suspend(&name, suspended).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<BTreeMap<String, Option<String>>>, JsonRejection>,
) -> Result<StatusCode, Refused> {
    let (Path(name), Json(asked)) = (name?, body?);
    let change = |(key, value): (&String, &Option<String>)| {
        let change = SettingChange::parse(key, value.as_deref())?;
        if let Some(zone) = change.value().filter(|_| change.key() == domain::TIME_ZONE) {
            crate::zone::known(zone).map_err(InvalidSetting::Value)?;
        }
        Ok(change)
    };
    let changes: Vec<_> = asked.iter().map(change).collect::<Result<_, InvalidSetting>>()?;
    if !changes.is_empty() {
        admin.control.set(&name, &changes).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn import(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<NewOrders>, JsonRejection>,
) -> Result<Json<Value>, Refused> {
    let (Path(name), Json(NewOrders { orders })) = (name?, body?);
    let name = admin.control.named(&name)?;
    let site = &admin.control.site;
    let stored = site.store.import_orders(&name, orders, site.clock.now()).await?;
    Ok(Json(json!({ "stored": stored })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    days: Option<u32>,
    task: Option<TaskId>,
}

async fn usage(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    since: Result<Query<Since>, QueryRejection>,
) -> Result<Json<Value>, Refused> {
    let (Path(name), Query(Since { days, task })) = (name?, since?);
    let days = days.unwrap_or(7);
    if !(1..=USAGE_DAYS_MAX).contains(&days) {
        let message = format!("days is 1 to {USAGE_DAYS_MAX}");
        return Err(Refused(refused(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            &message,
        )));
    }
    let name = admin.control.named(&name)?;
    let site = &admin.control.site;
    if let Some(id) = task {
        let key = TaskKey::new(
            &name,
            &AgentName::parse(AgentName::HOST).map_err(StartError::part("host"))?,
            id,
        );
        let found = site.store.tasks().find(&key, site.clock.now()).await;
        let found = found.map_err(StartError::part("tasks"))?;
        let task = found.ok_or_else(|| {
            Refused(refused(
                StatusCode::NOT_FOUND,
                "not_found",
                "there is no such task",
            ))
        })?;
        let cost = Cost::of(&task.task, store::kept_bytes(&task.task));
        return Ok(Json(
            json!({"taskId": id, "microDollars": cost.all(), "ofTokens": cost.tokens}),
        ));
    }
    let usual = site.outside.models.as_ref().map(|models| models.tokens_per_day);
    let used = site.store.ledger().used(&name, site.clock.now(), days).await;
    let mut used = used.map_err(StartError::part("ledger"))?;
    used.limit = used.limit.or(usual);
    Ok(Json(json!(used)))
}

async fn rotate(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    body: Result<Json<Rotate>, JsonRejection>,
) -> Result<StatusCode, Refused> {
    let Json(Rotate { keys, force }) = body?;
    admin.control.rotate(&keys, force).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn environments(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<Response, Refused> {
    let Path(name) = name?;
    let name = admin.control.named(&name)?;
    let current = admin.control.now();
    let site = &admin.control.site;
    let Some(functions) = sam_env::environments(&site.functions, &current, &name, &site.outside)? else {
        let known = current.endpoints.tenants.keys().cloned().collect();
        return Err(ChangeError::Unknown { name, known }.into());
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(functions)).into_response())
}

fn described(current: &Current, name: &Tenant) -> Value {
    let endpoints = &current.endpoints;
    json!({
        "name": name.name(),
        "prefix": name,
        "endpoints": endpoints.tenants.get(name),
        "users": endpoints.users.get(name.name()),
    })
}

/// Why a change is refused, as its caller reads it.
struct Refused(Response);

impl Refused {
    fn broken() -> Self {
        let message = "the change broke off; look at the tenants there are";
        Self(refused(StatusCode::INTERNAL_SERVER_ERROR, "internal", message))
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        let body = refused(status, refusal.error_code(), &refusal.to_string());
        Self(([(header::WWW_AUTHENTICATE, refusal.www_authenticate())], body).into_response())
    }
}

impl From<ChangeError> for Refused {
    fn from(error: ChangeError) -> Self {
        let (status, code) = match &error {
            ChangeError::Exists(_) => (StatusCode::CONFLICT, "exists"),
            ChangeError::Unknown { .. } | ChangeError::NothingLeft(_) => (StatusCode::NOT_FOUND, "not_found"),
            ChangeError::User(ProvisionError::Taken(_)) => (StatusCode::CONFLICT, "exists"),
            ChangeError::User(ProvisionError::Nobody(_)) => (StatusCode::NOT_FOUND, "not_found"),
            ChangeError::User(ProvisionError::Store(_)) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            ChangeError::User(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            ChangeError::NoIssuer(_) | ChangeError::NoImport(_) | ChangeError::NoBrokerClient(_) => {
                (StatusCode::NOT_FOUND, "not_found")
            }
            ChangeError::ManyImports(_) | ChangeError::ManyBrokerClients(_) => {
                (StatusCode::CONFLICT, "too_many")
            }
            ChangeError::NoBroker | ChangeError::NotOurBroker => (StatusCode::CONFLICT, "no_broker"),
            ChangeError::BrokerClientName(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            ChangeError::SignIn(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            ChangeError::Setting(_) => (StatusCode::BAD_REQUEST, "invalid_setting"),
            ChangeError::Last(_) => (StatusCode::CONFLICT, "last_tenant"),
            ChangeError::TooSoon { .. } => (StatusCode::CONFLICT, "too_soon"),
            ChangeError::Key(_) | ChangeError::Part(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        if status.is_server_error() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the change was not made"
            );
        }
        Self(refused(status, code, &error.to_string()))
    }
}

impl From<ImportError> for Refused {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Store(fault) => StartError::part("orders' table")(fault).into(),
            error => Self(refused(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_order",
                &error.to_string(),
            )),
        }
    }
}

impl From<InvalidSetting> for Refused {
    fn from(error: InvalidSetting) -> Self {
        ChangeError::from(error).into()
    }
}

impl From<StartError> for Refused {
    fn from(error: StartError) -> Self {
        ChangeError::from(error).into()
    }
}

impl From<JsonRejection> for Refused {
    fn from(rejection: JsonRejection) -> Self {
        Self(refused(
            rejection.status(),
            "invalid_request",
            &rejection.body_text(),
        ))
    }
}

impl From<QueryRejection> for Refused {
    fn from(rejection: QueryRejection) -> Self {
        Self(refused(
            rejection.status(),
            "invalid_request",
            &rejection.body_text(),
        ))
    }
}

impl From<PathRejection> for Refused {
    fn from(_: PathRejection) -> Self {
        Self(refused(
            StatusCode::NOT_FOUND,
            "not_found",
            "that is no tenant's name",
        ))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0
    }
}
