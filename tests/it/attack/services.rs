//! Rows of the gateway (public), the registry (bearer tokens), the chat (session cookies) and the webhook receiver
//! (tokens of jobs).

use std::time::Duration;

use domain::{AgentName, Clock as _, ExposeSecret as _, SystemEntropy, TaskId, Tenant};
use local::Signer;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use store::{Person, Share, TaskKey, User};

use super::Cell::{Hidden, Is, Na};
use super::world::{WITH_FILE, World, session_after_guest, session_of, told};
use super::{Attack, Cell, Row, Told};

/// What one task cost.
const OF_TASK: &str = "task=";

const TENANTS: &str = "the registry's entries are a tenant's, not a user's";
const PLATFORMS: &str =
    "types are the platform's: every tenant's token is refused, which is the cell of the small scope";
const SEEN: &str = "types are the same for every tenant, and none is asked for";
const PUBLIC: &str = "the page is public; what it shows comes from the routes below /api";
const NOBODYS: &str = "it is the same for everybody, and tells of nobody";
const GUEST: &str = "whoever has no session is a new guest, with a chat of their own";
const RANDOM: &str = "a session is a random value in this tenant's table: nobody else issues one";
const HERE: &str = "a session is good at the one function that has its cookie";
const WHOLE: &str = "a session has no scopes: it is its owner's";
const BODYS: &str = "a notification's token is random, made for one job; nobody else issues one";
const ONE_URL: &str = "a notification's token is good at one URL, the one it was given out with";
/// Where the host tells of tasks.
const TOLD: &str = "/api/push/tasks";
/// The operation of the row that starts a plan.
const START_PLAN: &str = "start a plan";
/// The operation of the row that says something else under a message's id.
const EDIT: &str = "edit";
/// The operation of the row that speaks no A2A.
const PLAIN: &str = "plain";
const LINKED: &str = "a link is all that is looked at, whoever has it";
const PASSES: &str = "a pass follows from the tenant's session key, and is good as long as that is";
const PASS_HERE: &str = "a pass is good at the one route that asks for it";
/// A browser's subscription, RFC 8291's own.
const SUBSCRIBES: &str = r#"{"endpoint":"http://127.0.0.1:9/send/1","keys":{"auth":"BTBZMqHH6r4Tts7J_aSIgg",
    "p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}}"#;
const NO_SCOPE: &str = "a notification's token allows one thing: to tell of its job";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(gateway());
    rows.extend(chat());
    rows.extend(webhook());
    rows.extend(registry());
    rows
}

pub(super) async fn ask(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    match row.function {
        "registry" => ask_registry(world, row, attack).await,
        "chat_api" if row.route == "/share/{token}" => ask_shared(world, row, attack).await,
        "chat_api" if row.route == TOLD => ask_told(world, attack).await,
        "chat_api" => ask_chat(world, row, attack).await,
        "gateway" => {
            vec![told(world.request(row.method, &format!("{}{}", world.at("/gateway"), row.route))).await]
        }
        _ => ask_webhook(world, row, attack).await,
    }
}

fn registry() -> impl Iterator<Item = Row> {
    let (no, small) = (Is(401), Is(403));
    let row = move |method, route, tenant: Cell, good: u16| Row {
        function: "registry",
        at: "registry",
        method,
        route,
        operation: "",
        cells: [no, no, no, no, no, tenant, Na(TENANTS), small],
        good: Is(good),
    };
    [
        row("GET", "/agents", small, 200),
        row("GET", "/types", Na(SEEN), 200),
        row("PUT", "/types/{name}", Na(PLATFORMS), 200),
        // The platform's operator is told that an agent has it.
        row("DELETE", "/types/{name}", Na(PLATFORMS), 409),
        row("POST", "/agents", small, 200),
        row("GET", "/agents/{id}", Is(404), 200),
        row("POST", "/agents/{id}/check", Is(404), 200),
        row("POST", "/agents/{id}/unreached", Is(404), 202),
        row("POST", "/agents/{id}/approve", Is(404), 400),
        row("POST", "/agents/{id}/disable", Is(404), 200),
        row("POST", "/agents/{id}/enable", Is(404), 200),
        row("DELETE", "/agents/{id}", Is(404), 204),
    ]
    .into_iter()
}

fn gateway() -> impl Iterator<Item = Row> {
    let public = |route| Row {
        function: "gateway",
        at: "gateway",
        method: "GET",
        route,
        operation: "",
        cells: [Na(NOBODYS); 8],
        good: Is(200),
    };
    // It is open to everybody on this machine. It is asked without its body, so that it kills nobody here.
    let killing = Row {
        method: "POST",
        good: Is(415),
        ..public("/local/workers/kill")
    };
    ["/healthz", "/openapi.json"]
        .into_iter()
        .map(public)
        .chain([killing])
}

/// The id of the tenant's own agent in the registry.
async fn horizon(world: &World) -> String {
    let registry = world.at("/registry");
    let admin = world.local.endpoint("/registry_token");
    let listed = world
        .request("GET", &format!("{registry}/agents?tenant=acme&disabled=true"))
        .bearer_auth(admin)
        .send();
    let listed: Value = listed.await.expect("an answer").json().await.expect("JSON");
    let horizon = world.at("/tenants/acme/agents/horizon");
    let mut own = listed["agents"].as_array().expect("agents").iter();
    let own = own.find(|agent| agent.to_string().contains(&horizon));
    own.and_then(|agent| agent["id"].as_str())
        .unwrap_or_else(|| panic!("{listed:#}"))
        .to_owned()
}

async fn ask_registry(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let registry = world.at("/registry");
    let horizon = world.at("/tenants/acme/agents/horizon");
    let id = self::horizon(world).await;
    let platform = row.route == "/types/{name}";
    let (signers, scope) = match platform {
        true => ((Signer::Platform, Signer::Session("globex")), "registry:admin"),
        false => (
            (Signer::Session("acme"), Signer::Session("globex")),
            "registry:write",
        ),
    };
    let tokens = world.tokens(signers, ("host", &registry, scope), attack);
    let mut path = row.route.replace("{id}", &id).replace("{name}", "weather");
    let body = match (row.method, row.route) {
        ("PUT", _) => Some(json!({ "scope": "global" })),
        ("POST", "/agents") => {
            Some(json!({ "cardUrl": format!("{horizon}/.well-known/agent-card.json"), "tenant": "acme" }))
        }
        _ => None,
    };
    if attack == Some(Attack::WrongTenant) && row.route == "/agents" && row.method == "GET" {
        path = format!("{path}?tenant=acme");
    }
    let mut answers = Vec::new();
    for token in tokens {
        let mut request = world.request(row.method, &format!("{registry}{path}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = &body {
            request = request.json(body);
        }
        answers.push(told(request).await);
    }
    answers
}

fn chat() -> impl Iterator<Item = Row> {
    let row = |(method, route, operation), [nobody, foreign]: [Cell; 2], good: u16| Row {
        function: "chat_api",
        at: "chat_api",
        method,
        route,
        operation,
        cells: [
            nobody,
            nobody,
            nobody,
            Na(RANDOM),
            Na(HERE),
            nobody,
            foreign,
            Na(WHOLE),
        ],
        good: Is(good),
    };
    let public = |route| Row {
        cells: [Na(PUBLIC); 8],
        ..row(("GET", route, ""), [Na(PUBLIC); 2], 200)
    };
    let (gone, empty) = ([Is(404); 2], [Hidden(200); 2]);
    [
        public("/"),
        public("/chats/{id}"),
        public("/chats/{id}/tasks/{task}"),
        public("/tasks"),
        public("/tasks/{id}"),
        public("/accounts"),
        public("/ops"),
        public("/assets/{file}"),
        public("/worker.js"),
        public("/brand.css"),
        public("/manifest.webmanifest"),
        // The tenant has none; whoever may open the page may see it.
        Row {
            good: Is(404),
            ..public("/logo")
        },
        row(("GET", "/api/session", ""), empty, 200),
        // Who has nothing to take over is told so, whoever it is.
        row(("POST", "/api/session/guest", ""), [Is(409); 2], 200),
        // Whoever it is erases themselves, and nobody else.
        row(("DELETE", "/api/me", ""), [Is(404), Hidden(200)], 200),
        row(("GET", "/api/chats", ""), empty, 200),
        row(("GET", "/api/chats/{id}/messages", ""), gone, 200),
        row(
            ("GET", "/api/chats/{id}/messages/{message}/files/{number}", ""),
            gone,
            200,
        ),
        // Nothing runs, in one's own chat as in what is none: the page asks, and needs no more.
        row(("GET", "/api/chat/{id}/stream", ""), [Hidden(204); 2], 204),
        row(("GET", "/api/events", ""), empty, 200),
        row(("GET", "/api/models", ""), empty, 200),
        row(("GET", "/api/tasks", ""), empty, 200),
        row(("GET", "/api/tasks/{id}", ""), gone, 200),
        row(("GET", "/api/tasks/{id}/events", ""), gone, 200),
        // The victim is a guest, and is told that guests cannot.
        row(("POST", "/api/tasks/{id}/share", ""), gone, 409),
        row(("GET", "/api/tasks/{id}/share", ""), gone, 200),
        row(("DELETE", "/api/tasks/{id}/share", ""), gone, 204),
        row(("GET", "/api/shares", ""), empty, 200),
        // A link is good for whoever has it, and at its tenant alone.
        Row {
            cells: [
                Na(LINKED),
                Is(404),
                Is(404),
                Na(RANDOM),
                Is(404),
                Is(404),
                Na(LINKED),
                Na(WHOLE),
            ],
            ..row(("GET", "/share/{token}", ""), gone, 200)
        },
        row(("GET", "/api/tasks/{id}/files/{place}", ""), gone, 200),
        row(("POST", "/api/tasks/{id}/{action}", "start"), gone, 409),
        row(("POST", "/api/tasks/{id}/{action}", "retry"), gone, 409),
        // The button beside a plan that waits.
        row(("POST", "/api/tasks/{id}/{action}", START_PLAN), gone, 200),
        row(("GET", "/api/ops/agents", ""), gone, 200),
        row(("GET", "/api/ops/eval", ""), gone, 200),
        row(("GET", "/api/ops/keys", ""), gone, 200),
        row(("GET", "/api/ops/tasks", ""), gone, 200),
        row(("GET", "/api/ops/usage", ""), gone, 200),
        row(("GET", "/api/ops/usage", OF_TASK), gone, 200),
        row(("GET", "/api/ops/audit", ""), gone, 200),
        row(("GET", "/api/ops/deliveries", ""), gone, 200),
        // The operator is told that nothing is parked there.
        row(("POST", "/api/ops/deliveries/replay", ""), gone, 409),
        row(("POST", "/api/ops/agents/{id}/{verb}", "check"), gone, 200),
        row(("GET", "/api/admin/access", ""), gone, 200),
        row(("GET", "/api/admin/access/{id}", ""), gone, 200),
        // An agent, which the next rows switch on again.
        row(("DELETE", "/api/admin/access/{kind}/{id}", "agent"), gone, 204),
        row(("POST", "/api/ops/agents/{id}/{verb}", "disable"), gone, 200),
        row(("POST", "/api/ops/agents/{id}/{verb}", "enable"), gone, 200),
        row(("POST", "/api/ops/agents/{id}/{verb}", "approve"), gone, 400),
        row(("GET", "/api/admin/users", ""), gone, 200),
        row(("POST", "/api/admin/users", ""), gone, 201),
        row(("PATCH", "/api/admin/users/{username}", ""), gone, 200),
        row(("POST", "/api/admin/users/{username}/{verb}", "reset"), gone, 200),
        row(("POST", "/api/admin/users/{username}/{verb}", "end"), gone, 204),
        row(("DELETE", "/api/admin/users/{username}", ""), gone, 204),
        row(("GET", "/api/admin/settings", ""), gone, 200),
        row(("PATCH", "/api/admin/settings", ""), gone, 200),
        row(("GET", "/api/connections", ""), empty, 200),
        // The victim's task waits: there is no answer to think of yet, which only its owner is told.
        row(("PUT", "/api/chats/{id}/feedback/{task}", ""), gone, 409),
        // An id of a chat is its owner's: somebody else who says it begins a chat of their own.
        row(("POST", "/api/chat", ""), [Na(GUEST), Hidden(200)], 200),
        // And so is the id of a message in it.
        row(("POST", "/api/chat", EDIT), [Na(GUEST), Hidden(200)], 200),
        // The card of somebody's task cannot be replied to by anybody else.
        row(("POST", "/api/chat", "reply"), gone, 200),
        row(("POST", "/api/tasks/{id}/{action}", "cancel"), gone, 200),
        row(("POST", "/api/chat/{id}/stop", ""), gone, 200),
        row(("PATCH", "/api/chats/{id}", ""), gone, 200),
        // The victim deletes a chat of their own, made for that.
        row(("DELETE", "/api/chats/{id}", ""), gone, 204),
        row(("DELETE", "/api/connections/{id}", ""), gone, 200),
        row(("GET", "/api/push", ""), empty, 200),
        // Who is somebody else has their own browser told.
        row(("PUT", "/api/push", ""), [Is(409), Hidden(200)], 200),
        row(("DELETE", "/api/push/{id}", ""), gone, 204),
        // Who may tell of their own tasks tells nobody of somebody else's, and is not told whether there is one.
        Row {
            cells: [
                Is(401),
                Is(401),
                Na(PASSES),
                Na(PASSES),
                Na(PASS_HERE),
                Is(401),
                Hidden(204),
                Na(PASS_HERE),
            ],
            ..row(("POST", TOLD, ""), gone, 204)
        },
    ]
    .into_iter()
}

/// Whoever may ask for an operator's or an admin's route.
async fn in_charge(world: &World, row: &Row) -> Option<String> {
    let name = match row.route {
        "/api/ops/audit" => "adam",
        route if route.starts_with("/api/ops/") => "olga",
        route if route.starts_with("/api/admin/") => "adam",
        _ => return None,
    };
    Some(session_of(&world.local, name).await)
}

/// A user of whom no other row knows.
pub(super) async fn somebody(world: &World) -> String {
    let tenant = Tenant::parse("acme").expect("a tenant");
    let identity = world.local.system.store().identity();
    let alan = identity
        .find_user(&tenant, "alan")
        .await
        .expect("users")
        .expect("alan");
    let username = format!("somebody-{}", world.next());
    let user = User {
        username: username.clone(),
        ..alan
    };
    identity.put_user(&tenant, &user).await.expect("a user");
    username
}

/// What another site's page gets by the victim's own cookie, where the browser sends it: a request that changes something is
/// refused, and nothing that is answered may be read there.
pub(super) async fn from_another_site(world: &World, row: &Row) -> Vec<String> {
    let base = world.at("/tenants/acme/base");
    let cookie = in_charge(world, row).await;
    let cookie = cookie.unwrap_or_else(|| world.user.cookie().expect("a session"));
    let path = row
        .route
        .replace("{id}", &world.chat_task)
        .replace("{action}", "cancel");
    let path = path
        .replace("{task}", &world.chat_task)
        .replace("{username}", "alan")
        .replace("{verb}", if row.operation == "end" { "end" } else { "disable" });
    let mut wrong = Vec::new();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let mut request = world.request(row.method, &format!("{base}{path}"));
        request = request.header("cookie", &cookie).header(name, value);
        if row.method != "GET" {
            request = request.header("content-type", "application/json").body("{}");
        }
        let answer = request.send().await.expect("an answer");
        let (status, headers) = (answer.status().as_u16(), answer.headers());
        let is_told = headers
            .keys()
            .any(|key| key.as_str().starts_with("access-control-allow"));
        let is_kept = headers
            .get("cross-origin-resource-policy")
            .is_some_and(|policy| policy == "same-origin");
        let is_refused = row.method == "GET" || status == 403;
        if is_told || !is_kept || !is_refused {
            wrong.push(format!(
                "{} {} with {name}: {value}: {status} {headers:?}",
                row.method, row.route
            ));
        }
    }
    wrong
}

async fn ask_chat(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let base = world.at("/tenants/acme/base");
    let in_charge = in_charge(world, row).await;
    if attack.is_none() && row.route == "/api/connections/{id}" {
        // There must be a connection to end. Whoever connects has another session then.
        connect(world).await;
    }
    let own = match &in_charge {
        Some(cookie) => cookie.clone(),
        None if row.route == "/api/session/guest" => session_after_guest(world).await,
        None if row.route == "/api/me" => {
            let somebody = world.local.user("acme");
            somebody.ask("Hello").await;
            somebody.cookie().expect("a session")
        }
        None => world.user.cookie().expect("a session"),
    };
    let value = |cookie: &str| cookie.split_once('=').expect("a cookie").1.to_owned();
    let foreign = world.foreigner.cookie().expect("a session");
    let cookies = match attack {
        None => vec![Some(own.clone())],
        Some(Attack::None) => vec![None],
        Some(Attack::Rubbish) => [
            "switchyard_acme=rubbish",
            "switchyard_acme=sws_AAAA",
            "switchyard_acme=",
        ]
        .map(|text| Some(text.to_owned()))
        .to_vec(),
        Some(Attack::Expired) => world.ended_cookies.iter().cloned().map(Some).collect(),
        Some(Attack::WrongTenant) => {
            vec![
                Some(foreign.clone()),
                Some(format!("switchyard_acme={}", value(&foreign))),
            ]
        }
        // Who is signed in, and looks after nothing; who is a guest, however much is theirs.
        Some(Attack::WrongOwner) if in_charge.is_some() => {
            let mut less = vec![Some(session_of(&world.local, "alan").await), world.user.cookie()];
            if row.route.starts_with("/api/admin/") {
                less.push(Some(session_of(&world.local, "olga").await));
            }
            less
        }
        Some(Attack::WrongOwner)
            if row.route == "/api/me" || row.route == "/api/chat" && row.operation != "reply" =>
        {
            // Somebody of whom no other row knows, as these give them a chat of that id, or erase them.
            let somebody = world.local.user("acme");
            somebody.ask("Hello").await;
            vec![somebody.cookie()]
        }
        Some(Attack::WrongOwner) => vec![world.stranger.cookie()],
        Some(_) => Vec::new(),
    };
    let action = row.operation.split(' ').next().unwrap_or_default();
    let mut path = row.route.replace("{action}", action).replace("{verb}", action);
    path = path.replace("{kind}", action);
    if path == "/api/admin/access/{id}" {
        let (acme, first) = (
            Tenant::parse("acme").expect("a tenant"),
            store::PageRequest::default(),
        );
        let members = world.local.system.store();
        let members = members.sessions().members(&acme, &first).await.expect("tables");
        path = path.replace(
            "{id}",
            members.items.first().map_or("nobody", |one| one.owner.as_str()),
        );
    }
    if in_charge.is_some() && path.contains("{id}") {
        path = path.replace("{id}", &horizon(world).await);
    }
    if row.operation == OF_TASK {
        path = format!("{path}?{OF_TASK}{}", world.chat_task);
    }
    if path == "/api/ops/eval" {
        path.push_str("?say=Rain%20in%20Oslo");
    }
    if path.contains("{username}") {
        let username = match attack {
            Some(_) => "alan".to_owned(),
            None => somebody(world).await,
        };
        path = path.replace("{username}", &username);
    }
    let (plan_task, plan) = &world.chat_plan;
    path = match path.contains("/tasks/") {
        true if path.contains("{place}") => path.replace("{id}", &world.printed).replace("{place}", "0.0"),
        true if row.operation == START_PLAN => path.replace("{id}", plan_task),
        true => path.replace("{id}", &world.chat_task),
        false if path.contains("{message}") => {
            let [chat, message] = WITH_FILE;
            path.replace("{id}", chat)
                .replace("{message}", message)
                .replace("{number}", "0")
        }
        false if path.contains("/push/") => {
            // The victim's own, which nobody else has.
            let victims = SUBSCRIBES.replace("send/1", "send/victim");
            let body = serde_json::from_str(&victims).expect("JSON");
            let kept = world.user.call(Method::PUT, "/api/push", Some(body)).await;
            assert_eq!(kept.status, 200, "{kept:?}");
            path.replace("{id}", &auth::token::hash("http://127.0.0.1:9/send/victim"))
        }
        false if path.contains("/connections/") => path.replace("{id}", "idp"),
        false => path
            .replace("{id}", &world.chat)
            .replace("{task}", &world.chat_task),
    };
    if path.contains("{file}") {
        // Whichever file the page names.
        let page = told(world.request("GET", &base)).await;
        let named = page
            .text
            .split("assets/")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        path = path.replace("{file}", named.expect("a page of files"));
    }
    if attack.is_none() && (row.method, row.route) == ("DELETE", "/api/chats/{id}") {
        let extra = format!("to-delete-{}", world.next());
        let message = json!({ "id": "m-1", "role": "user", "parts": [{ "type": "text", "text": "Hello" }] });
        let body = json!({ "id": extra, "message": message });
        let asked = world.user.call(Method::POST, "/api/chat", Some(body)).await;
        assert_eq!(asked.status, 200, "{asked:?}");
        path = row.route.replace("{id}", &extra);
    }
    // A chat of the victim's, made to be edited.
    let edited = format!("to-edit-{}", world.next());
    let says =
        |text: &str| json!({ "id": "m-1", "role": "user", "parts": [{ "type": "text", "text": text }] });
    if row.operation == EDIT {
        let body = json!({ "id": edited, "message": says("Hello") });
        let asked = world.user.call(Method::POST, "/api/chat", Some(body)).await;
        assert_eq!(asked.status, 200, "{asked:?}");
    }
    let send = |base: &str, cookie: Option<&str>| -> RequestBuilder {
        let mut request = world.request(row.method, &format!("{base}{path}"));
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        if row.method == "GET" {
            return request;
        }
        let message = json!({ "id": format!("m-{}", world.next()), "role": "user",
            "parts": [{ "type": "text", "text": "Hello" }] });
        let body = match row.route {
            "/api/chat" if row.operation == "reply" => {
                json!({ "id": world.chat, "message": message, "taskId": world.chat_task })
            }
            "/api/chat" if row.operation == EDIT => {
                json!({ "id": edited, "message": says("Good evening"), "messageId": "m-1" })
            }
            "/api/session/guest" => json!({ "take": true }),
            "/api/push" => serde_json::from_str(SUBSCRIBES).expect("JSON"),
            "/api/admin/users" => json!({ "username": format!("new-{}", world.next()) }),
            "/api/admin/users/{username}" => json!({ "displayName": "Another" }),
            "/api/admin/settings" => json!({ "brand": "Another" }),
            "/api/ops/deliveries/replay" => {
                json!({ "agent": "host", "taskId": world.chat_task, "configId": "none" })
            }
            _ if row.operation == START_PLAN => json!({ "plan": plan }),
            "/api/chats/{id}" => json!({ "title": "Another" }),
            "/api/chats/{id}/feedback/{task}" => json!({ "verdict": "good" }),
            "/api/chat" => json!({ "id": world.chat, "messages": [message], "trigger": "submit-message" }),
            _ => json!({}),
        };
        request
            .header("content-type", "application/json")
            .body(body.to_string())
    };
    let mut answers = Vec::new();
    for cookie in &cookies {
        answers.push(told(send(&base, cookie.as_deref())).await);
    }
    if attack == Some(Attack::WrongTenant) {
        // And the victim's session at the other tenant: the victim's things are not there either.
        let globex = world.at("/tenants/globex/base");
        answers.push(told(send(&globex, Some(&format!("switchyard_globex={}", value(&own))))).await);
    }
    if row.operation == EDIT {
        let path = format!("/api/chats/{edited}/messages");
        let shown = world.user.call(Method::GET, &path, None).await;
        let own = if attack.is_some() { "Hello" } else { "Good evening" };
        assert!(shown.text.contains(&format!("\"text\":\"{own}\"")), "{shown:?}");
    }
    answers
}

/// The host's word that the victim's task is over.
async fn ask_told(world: &World, attack: Option<Attack>) -> Vec<Told> {
    let key = TaskKey {
        tenant: Tenant::parse("acme").expect("a tenant"),
        agent: AgentName::parse("host").expect("a name"),
        id: TaskId::parse(&world.chat_task).expect("an id"),
    };
    let tasks = world.local.system.store();
    let found = tasks.tasks().find(&key, world.local.clock.now()).await;
    let owner = found.expect("tables").expect("the victim's task").task.owner;
    let pass = |tenant: &str, owner: &str| world.local.system.push_pass(tenant, owner).expect("a pass");
    let own = pass("acme", owner.as_str());
    let passes = match attack {
        None => vec![Some(own)],
        Some(Attack::None) => vec![None],
        Some(Attack::Rubbish) => vec![
            Some("rubbish".to_owned()),
            Some(format!("{owner}.")),
            Some(own.chars().rev().collect()),
        ],
        Some(Attack::WrongTenant) => vec![Some(pass("globex", owner.as_str()))],
        Some(Attack::WrongOwner) => vec![Some(pass("acme", "somebody"))],
        Some(_) => Vec::new(),
    };
    let body = json!({ "statusUpdate": { "taskId": world.chat_task, "contextId": "c",
        "status": { "state": "TASK_STATE_COMPLETED" } } });
    let url = format!("{}{TOLD}", world.at("/tenants/acme/base"));
    let mut answers = Vec::new();
    for pass in passes {
        let mut request = world.request("POST", &url).json(&body);
        if let Some(pass) = pass {
            request = request.bearer_auth(pass);
        }
        answers.push(told(request).await);
    }
    answers
}

/// Reads what the victim shares, by its link and by what is no link to it (any more).
async fn ask_shared(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let link = shared(world).await;
    let mut at = world.at("/tenants/acme/base");
    let tokens = match attack {
        // What is good elsewhere: a session's token, a task's id.
        Some(Attack::WrongAudience) => vec![world.user.cookie().unwrap_or_default(), world.printed.clone()],
        Some(Attack::Rubbish) => ["x", "swl_AAAAAAAAAAAAAAAAAAAAAA", &link[..link.len() - 1], "%00"]
            .map(str::to_owned)
            .to_vec(),
        Some(Attack::Expired) => {
            world.local.clock.advance(Duration::from_secs(7 * 24 * 3600 + 1));
            vec![link]
        }
        Some(Attack::WrongTenant) => {
            at = world.at("/tenants/globex/base");
            vec![link]
        }
        _ => vec![link],
    };
    let mut answers = Vec::new();
    for token in tokens {
        let token = token.replace('=', "%3D").replace(';', "%3B");
        let path = row.route.replace("{token}", &token);
        answers.push(told(world.request(row.method, &format!("{at}{path}"))).await);
    }
    answers
}

/// The token of a link to the victim's task that brought a file, shared as somebody who has signed in would.
async fn shared(world: &World) -> String {
    let (store, now) = (world.local.system.store(), world.local.clock.now());
    let tenant = Tenant::parse("acme").expect("a tenant");
    let username = "alan".to_owned();
    let user = store.identity().find_user(&tenant, &username).await;
    let user = user.expect("users").expect("alan");
    let key = TaskKey {
        tenant: tenant.clone(),
        agent: AgentName::parse("host").expect("a name"),
        id: TaskId::parse(&world.printed).expect("an id"),
    };
    let task = store.tasks().find(&key, now).await;
    let task = task.expect("tasks").expect("the task").task;
    let epoch = store.tenants().sharing(&tenant, now).await;
    let share = Share {
        task: task.id,
        owner: task.owner.clone(),
        context: task.context_id.clone(),
        person: Person {
            issuer: world.local.issuer("acme"),
            subject: user.subject,
            username,
            auth_time: now,
            id: None,
            sid: None,
            proof: None,
        },
        agents: Vec::new(),
        agreed: Vec::new(),
        epoch: epoch.expect("settings").expect("sharing is on"),
        created_at: now,
        ends_at: now.after(Duration::from_secs(7 * 24 * 3600)),
    };
    let token = auth::token::link("swl", &SystemEntropy);
    let hash = auth::token::hash(token.expose_secret());
    store
        .sessions()
        .share(&tenant, &hash, &share)
        .await
        .expect("shared");
    token.expose_secret().to_owned()
}

/// The victim agrees to what a task of theirs waits for.
async fn connect(world: &World) {
    let asked = world.user.ask("Where is my order 1001?").await;
    super::identity::consent(world, &asked.task_id()).await;
    world.user.until(&asked.task_id(), &["completed"]).await;
}

/// A2A's notification, and the plain one of agents that speak no A2A: under the same rules.
fn webhook() -> [Row; 2] {
    ["", PLAIN].map(|operation| Row {
        function: "webhook_receiver",
        at: "webhook_receiver",
        method: "POST",
        route: "/api/webhook/tasks",
        operation,
        cells: [
            Is(401),
            Is(401),
            Is(401),
            Na(BODYS),
            Na(ONE_URL),
            Is(401),
            Is(400),
            Na(NO_SCOPE),
        ],
        good: Is(204),
    })
}

async fn ask_webhook(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let (token, remote) = world.webhook().await;
    let good = token.clone();
    let mut tenant = "acme";
    let mut about = remote;
    let tokens = match attack {
        None => vec![Some(token)],
        Some(Attack::None) => vec![None],
        Some(Attack::Rubbish) => {
            let task = token.split('.').next().unwrap_or_default();
            [
                "rubbish",
                &format!("{task}.{}", "A".repeat(43)),
                &token[..token.len() - 1],
            ]
            .map(|text| Some(text.to_owned()))
            .to_vec()
        }
        Some(Attack::Expired) => {
            world.local.clock.advance(Duration::from_secs(7 * 24 * 3600 + 1));
            vec![Some(token)]
        }
        Some(Attack::WrongTenant) => {
            tenant = "globex";
            vec![Some(token)]
        }
        Some(Attack::WrongOwner) => {
            // Another job's notification under this job's token.
            about = world.webhook().await.1;
            vec![Some(token)]
        }
        Some(_) => Vec::new(),
    };
    let url = format!(
        "{}/api/webhook/tasks",
        world.at(&format!("/tenants/{tenant}/base"))
    );
    let plain = row.operation == PLAIN;
    let news = match plain {
        true => json!({ "taskId": about, "status": "completed", "result": "42" }),
        false => {
            json!({ "task": { "id": about, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } } })
        }
    };
    // A source has so many guesses, and gets new ones with time; good news said again are as good.
    world.local.clock.advance(Duration::from_secs(2));
    let headers: &[&str] = match (plain, attack) {
        (true, Some(_)) => &["authorization"],
        (true, None) => &["authorization", "authorization"],
        (false, _) => &["authorization", "x-a2a-notification-token"],
    };
    let mut answers = Vec::new();
    for token in tokens {
        for header in headers {
            let mut request = world.request("POST", &url).json(&news);
            if let Some(token) = &token {
                let bearer = format!("Bearer {token}");
                request = request.header(
                    *header,
                    if *header == "authorization" {
                        &bearer
                    } else {
                        token
                    },
                );
            }
            answers.push(told(request).await);
        }
    }
    if plain && attack.is_none() {
        for rubbish in [
            json!({ "taskId": 5, "status": "completed" }),
            json!({ "taskId": about, "status": "splendid" }),
        ] {
            let request = world.request("POST", &url).json(&rubbish).bearer_auth(&good);
            let refused = told(request).await;
            assert_eq!(refused.status, 400, "{rubbish}: {refused:?}");
        }
    }
    answers
}
