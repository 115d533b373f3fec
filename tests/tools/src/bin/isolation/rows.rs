//! The attacks: what somebody of one tenant asks for of another's, at every route of the pool's functions.

use reqwest::Method;
use routes::Route;
use serde_json::{Value, json};
use system_testing::User;
use system_testing::cloud::Cloud;

/// The page's streams, which would be followed for a minute, and the send, which has its own row.
const STREAMS: [&str; 2] = ["/api/events", "/api/chat"];
/// A consent's page, where there is none.
const NO_CONSENT: &str = "/connect/00000000-0000-4000-8000-000000000000";

/// Somebody of a tenant, with something of theirs at each function.
pub(crate) struct Person {
    pub(crate) tenant: String,
    pub(crate) base: String,
    cookie: String,
    host: (String, String),
    horizon: (String, String),
    chat: String,
    task: String,
    waiting: String,
    at_host: String,
    at_horizon: String,
    consent: String,
    owner: String,
    /// What is in nobody else's answers.
    pub(crate) secrets: Vec<String>,
}

async fn rpc((token, address): &(String, String), method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let asked = system_testing::user::http().post(address).bearer_auth(token);
    let answer = asked.header("a2a-version", "1.0").json(&body).send().await;
    answer.expect("an answer").json().await.expect("JSON")
}

fn message(text: &str) -> Value {
    let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] })
}

impl Person {
    /// Ada of a tenant, signed in, with a chat, a task that is over, one that waits for her consent, and one at each agent.
    pub(crate) async fn settle(cloud: &Cloud, tenant: &str) -> Self {
        let ada: User = cloud.signed_in(tenant).await;
        let random = domain::MessageId::random(&domain::SystemEntropy).to_string();
        let private = format!("private{}", random.replace('-', ""));
        let chat = format!("trip-{random}");
        let asked = ada
            .chat(&chat, &format!("m-{random}"), "Will it rain in Oslo tomorrow?")
            .await;
        let task = asked.task_id();
        ada.until(&task, &["completed"]).await;
        let title = json!({ "title": private });
        ada.call(Method::PATCH, &format!("/api/chats/{chat}"), Some(title))
            .await;
        let orders = ada
            .chat(&format!("orders-{random}"), "m", "Where is my order 1001?")
            .await;
        let waiting = orders.task_id();
        let shown = ada.until(&waiting, &["auth-required"]).await.to_string();
        let consent = shown.find("/connect/").map(|start| {
            let rest = &shown[start..];
            rest.chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "/-_".contains(*c))
                .collect()
        });
        let me = format!("user-{random}");
        let host = cloud.caller(tenant, "host", &me);
        let horizon = cloud.caller(tenant, "horizon", &me);
        let mut tasks = Vec::new();
        for (at, text) in [
            (&host, format!("hello {private}")),
            (&horizon, format!("Where is my order 1001? {private}")),
        ] {
            let params = json!({ "message": message(&text), "configuration": { "returnImmediately": true } });
            let sent = rpc(at, "SendMessage", params).await;
            let id = sent.pointer("/result/task/id").and_then(Value::as_str);
            tasks.push(
                id.unwrap_or_else(|| panic!("{sent}\n{}", cloud.logs()))
                    .to_owned(),
            );
        }
        let session = ada.get("/api/session").await.json();
        let owner = session["owner"].as_str().unwrap_or("ada").to_owned();
        let cookie = ada.cookie().expect("a session");
        let bare = cookie.split_once('=').map(|(_, value)| value.to_owned());
        let [at_host, at_horizon] = <[String; 2]>::try_from(tasks).expect("two");
        let secrets = [
            private,
            chat.clone(),
            task.clone(),
            waiting.clone(),
            at_host.clone(),
            at_horizon.clone(),
        ];
        Self {
            tenant: tenant.to_owned(),
            base: cloud.base(tenant),
            secrets: secrets.into_iter().chain(bare).collect(),
            consent: consent.unwrap_or_else(|| NO_CONSENT.to_owned()),
            cookie,
            host,
            horizon,
            chat,
            task,
            waiting,
            at_host,
            at_horizon,
            owner,
        }
    }

    /// Has a sandbox of each function of hers wait.
    pub(crate) async fn warm(&self) {
        for (function, path) in [
            ("", "/api/session"),
            ("", "/signin"),
            ("host", "/.well-known/agent-card.json"),
            ("horizon", "/.well-known/agent-card.json"),
        ] {
            let at = match function {
                "host" => &self.host.1,
                "horizon" => &self.horizon.1,
                _ => &self.base,
            };
            let asked = system_testing::user::http().get(format!("{at}{path}"));
            let _warm = asked.header("cookie", &self.cookie).send().await;
        }
        let asked = system_testing::user::http().post(format!("{}/api/webhook/tasks", self.base));
        let _warm = asked
            .header("x-a2a-notification-token", "x")
            .json(&json!({}))
            .send()
            .await;
    }

    /// Asks for something small, which is done by the function's queue.
    pub(crate) async fn asks(&self) -> Value {
        let params = json!({ "message": message("hello"), "configuration": { "returnImmediately": true } });
        rpc(&self.host, "SendMessage", params).await
    }
}

/// By whose credentials somebody asks whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By their own at their own tenant, for what is the other's.
    Ids,
    /// By the other's at their own tenant, from the same place and with the same headers.
    Credentials,
    /// By their own at the other tenant.
    Place,
}

/// One request of an attack.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The function that is asked, by its logical id.
    pub(crate) function: &'static str,
    method: Method,
    path: String,
    body: Option<Value>,
}

/// The victim's ids in a path.
fn filled(path: &str, victim: &Person) -> String {
    let task = match path.contains("/events") || path.contains("{action}") {
        true => &victim.waiting,
        false => &victim.task,
    };
    let id = if path.starts_with("/api/chat") || path.starts_with("/chats") {
        &victim.chat
    } else if path.contains("/tasks/") {
        task
    } else {
        &victim.owner
    };
    let path = path.replace("{id}", id).replace("{task}", task);
    let path = path.replace("{action}", "cancel").replace("{verb}", "sign-out");
    let path = path.replace("{message}", "m1").replace("{username}", "ada");
    let path = path.replace("{number}", "0").replace("{place}", "0");
    path.replace("{file}", "x").replace("{token}", "x")
}

fn body(path: &str, victim: &Person) -> Option<Value> {
    Some(match path {
        "/api/chats/{id}" => json!({ "title": "Another" }),
        "/api/chats/{id}/feedback/{task}" => json!({ "verdict": "good" }),
        "/api/ops/deliveries/replay" => json!({ "agent": "host", "task": victim.task, "config": "x" }),
        "/api/session/guest" => json!({ "adopt": true }),
        "/api/admin/users" => json!({ "username": "eve", "displayName": "Eve", "roles": ["admin"] }),
        "/api/admin/users/{username}" => json!({ "displayName": "Eve", "roles": [] }),
        "/signout" => json!({}),
        _ => return None,
    })
}

/// Whether an attack by one's own credentials at one's own tenant has something of the other's to name.
fn names_something(path: &str) -> bool {
    ["{id}", "{task}", "replay"]
        .iter()
        .any(|part| path.contains(part))
}

fn of_routes(function: &'static str, routes: Vec<Route>, victim: &Person, way: Way) -> Vec<Row> {
    let fits = |route: &Route| {
        let path = route.path.as_str();
        // Whoever has the link of a consent may follow it at its tenant, and gives it with an account of their own there.
        let is_link = way == Way::Place && path == "/connect/{id}";
        !STREAMS.contains(&path) && !is_link && (way != Way::Ids || names_something(path))
    };
    let routes = routes.into_iter().filter(fits);
    let row = |route: Route| Row {
        function,
        method: route.method.parse().expect("a method"),
        path: match route.path.as_str() {
            "/connect/{id}" => victim.consent.clone(),
            path => filled(path, victim),
        },
        body: body(&route.path, victim),
    };
    routes.map(row).collect()
}

/// Every operation of A2A about a task of the victim's.
fn of_agent(function: &'static str, task: &str, victim: &Person) -> Vec<Row> {
    let push = json!({ "id": "x", "url": "https://example.com/x" });
    let calls = [
        ("GetTask", json!({ "id": task })),
        ("CancelTask", json!({ "id": task })),
        ("SubscribeToTask", json!({ "id": task })),
        ("ListTasks", json!({})),
        ("ListTasks", json!({ "tenant": victim.tenant })),
        (
            "CreateTaskPushNotificationConfig",
            json!({ "taskId": task, "configId": "x", "config": push }),
        ),
        (
            "GetTaskPushNotificationConfig",
            json!({ "taskId": task, "id": "x" }),
        ),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": task })),
        (
            "DeleteTaskPushNotificationConfig",
            json!({ "taskId": task, "id": "x" }),
        ),
        (
            "SendMessage",
            json!({ "message": {
            "messageId": "attack", "taskId": task, "role": "ROLE_USER", "parts": [{ "text": "And then?" }] } }),
        ),
    ];
    let row = |(method, params): (&str, Value)| Row {
        function,
        method: Method::POST,
        path: "/".to_owned(),
        body: Some(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })),
    };
    let mut rows: Vec<Row> = calls.into_iter().map(row).collect();
    let looks = [
        ("GET", format!("/tasks/{task}")),
        ("POST", format!("/tasks/{task}:cancel")),
        ("GET", format!("/v1/tasks/{task}")),
        ("GET", format!("/{}/tasks/{task}", victim.tenant)),
        ("GET", format!("/tasks/{task}/pushNotificationConfigs")),
        ("GET", "/connections".to_owned()),
        ("GET", "/deliveries".to_owned()),
    ];
    rows.extend(looks.map(|(method, path)| Row {
        function,
        method: method.parse().expect("a method"),
        path,
        body: None,
    }));
    rows
}

/// All that is asked of the victim's in a way.
pub(crate) fn rows(victim: &Person, way: Way) -> Vec<Row> {
    let chat = of_routes("ChatApiFunction", chat_api::routes(), victim, way);
    let chat = chat.into_iter().filter(|row| {
        // What would end the attacker's own session, or would leave their own tenant without its admin.
        way != Way::Ids || !(row.path.contains("/admin/users/") || row.path == "/api/me")
    });
    let consent = of_routes("OauthCallbackFunction", oauth_callback::routes(), victim, way);
    let webhook = Row {
        function: "WebhookReceiverFunction",
        method: Method::POST,
        path: "/api/webhook/tasks".to_owned(),
        body: Some(json!({ "statusUpdate": {
            "taskId": victim.task, "contextId": "x", "status": { "state": "TASK_STATE_COMPLETED" } } })),
    };
    let agents = of_agent("HostAgentFunction", &victim.at_host, victim).into_iter();
    let agents = agents.chain(of_agent("HostAgentFunction", &victim.task, victim));
    let agents = agents.chain(of_agent("HorizonAgentFunction", &victim.at_horizon, victim));
    chat.chain(consent).chain([webhook]).chain(agents).collect()
}

/// A session's value under the name of another one.
fn renamed(session: &str, other: &str) -> String {
    let value = session.split_once('=').map_or("", |(_, value)| value);
    let name = other.split_once('=').map_or("", |(name, _)| name);
    format!("{name}={value}")
}

/// What came of a row.
pub(crate) struct Told {
    pub(crate) status: u16,
    /// What of the victim's was in the answer, if anything.
    pub(crate) leaked: Option<String>,
}

/// Plays a row.
pub(crate) async fn play(
    row: &Row,
    way: Way,
    (attacker, victim): (&Person, &Person),
    (http, prefix): (&reqwest::Client, &str),
) -> Told {
    let place = if way == Way::Place { victim } else { attacker };
    let who = if way == Way::Credentials { victim } else { attacker };
    let (base, token) = match row.function {
        "HostAgentFunction" => (&place.host.1, Some(&who.host.0)),
        "HorizonAgentFunction" => (&place.horizon.1, Some(&who.horizon.0)),
        _ => (&place.base, None),
    };
    let url = format!("{base}{}", row.path);
    let mut asked = http
        .request(row.method.clone(), &url)
        .header("a2a-version", "1.0")
        .header("x-amz-tenant-id", prefix)
        .header("x-a2a-notification-token", "made-up");
    asked = match token {
        Some(token) => asked.bearer_auth(token),
        // By the name that the place asked gives its own, too.
        None => asked.header(
            "cookie",
            format!("{}; {}", who.cookie, renamed(&who.cookie, &place.cookie)),
        ),
    };
    let said = row.body.as_ref().map(Value::to_string).unwrap_or_default();
    if row.body.is_some() {
        asked = asked
            .header("content-type", "application/json")
            .body(said.clone());
    }
    let answer = asked.send().await.expect("an answer");
    let (status, headers) = (answer.status().as_u16(), format!("{:?}", answer.headers()));
    let text = answer.text().await.unwrap_or_default();
    // What somebody says oneself is no news to them.
    let mut known = victim.secrets.iter().filter(|secret| {
        let own = way == Way::Credentials && victim.cookie.ends_with(secret.as_str());
        !url.contains(secret.as_str()) && !said.contains(secret.as_str()) && !own
    });
    let leaked = known.find(|secret| text.contains(secret.as_str()) || headers.contains(secret.as_str()));
    let leaked = leaked.map(|secret| {
        format!(
            "{} {url} {said} by {way:?} told {secret}: {status} {text}",
            row.method
        )
    });
    Told { status, leaked }
}
