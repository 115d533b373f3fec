//! Rows of what every agent serves, at each of the agents: the host, the secured Horizon agent, the open weather and
//! accommodation agents, and the open report agent, whose tasks take long.

use domain::{AgentName, Clock as _, GrantKey, Owner, Tenant};
use local::Signer;
use serde_json::{Value, json};

use super::Cell::{Hidden, Is, Na, Result, Rpc};
use super::world::{VICTIM, World, told};
use super::{Attack, Cell, Row, Told};

/// The agents, in the order of [`World::tasks`].
pub(super) const NAMES: [&str; 6] = ["host", "horizon", "weather", "airbnb", "calendar", "report"];

const PUBLIC: &str = "the card and its metadata are public: a client needs them before it can have a token";
const OWN: &str = "without a task's id it starts a task of the caller's own";
const NOBODYS: &str = "it belongs to nobody: every caller of the tenant sees the same";
const REHEARSALS: &str = "nothing of anybody is in a rehearsal";
const KEEPERS: &str = "deliveries are the tenant's: whoever holds the scope looks after all of them";
const NO_CARD: &str = "the agent is open and has no extended card, whoever asks";
const OPEN: &str = "the agent is open: anybody may start a task there";

/// Not found, over JSON-RPC and over REST.
const RPC_404: Cell = Rpc(-32001);
const REST_404: Cell = Is(404);

/// An operation: where it is, whose, and its answers: to a stranger, to nobody at an open agent, and to good credentials at
/// host, Horizon and weather agent, whose answers are the accommodation agent's too.
struct Operation {
    method: &'static str,
    route: &'static str,
    name: &'static str,
    stranger: Cell,
    nobody: Cell,
    good: [Cell; 3],
    /// To good credentials at the report agent, whose tasks are open as the host's are that wait.
    report: Cell,
}

fn operation(
    (method, route, name): (&'static str, &'static str, &'static str),
    (stranger, nobody): (Cell, Cell),
    good: [Cell; 3],
) -> Operation {
    Operation {
        method,
        route,
        name,
        stranger,
        nobody,
        good,
        report: good[0],
    }
}

/// What the host alone does: the operation at every agent.
fn of_the_host(operation: Operation) -> Operation {
    Operation {
        report: operation.good[2],
        ..operation
    }
}

/// The rows of an operation at every agent.
fn at_every_agent(operation: &Operation) -> impl Iterator<Item = Row> {
    let Operation {
        method,
        route,
        name,
        stranger,
        nobody,
        good,
        report,
    } = *operation;
    let row = move |at, cells, good| Row {
        function: "agent",
        at,
        method,
        route,
        operation: name,
        cells,
        good,
    };
    let denied = Is(401);
    // Another tenant's token is known for what it is, and refused as that, before anything is looked up.
    let secured = [denied, denied, denied, denied, denied, Is(403), stranger, Is(403)];
    // Callers of every tenant are welcome, each in their own; a path that names another leads nowhere.
    let below = route.starts_with("/{tenant}");
    let foreign = if below { REST_404 } else { stranger };
    // Secured, and open to every tenant.
    let platform = [denied, denied, denied, denied, denied, foreign, stranger, Is(403)];
    let open = [nobody, denied, denied, denied, denied, foreign, stranger, Is(403)];
    [
        row("host", secured, good[0]),
        row("horizon", secured, good[1]),
        row("weather", open, good[2]),
        row("airbnb", open, good[2]),
        row("calendar", platform, report),
        row("report", open, report),
    ]
    .into_iter()
}

/// A row of something public, at every agent.
fn public(route: &'static str, good: [Cell; 6]) -> impl Iterator<Item = Row> {
    NAMES.into_iter().zip(good).map(move |(at, good)| Row {
        function: "agent",
        at,
        method: "GET",
        route,
        operation: "",
        cells: [Na(PUBLIC); 8],
        good,
    })
}

fn url(world: &World, at: &str) -> String {
    world.at(match at {
        "host" => "/tenants/acme/host_agent",
        "horizon" => "/tenants/acme/agents/horizon",
        "weather" => "/agents/weather",
        "airbnb" => "/agents/airbnb",
        "calendar" => "/agents/calendar",
        _ => "/agents/report",
    })
}

/// What an agent is asked by those who may.
fn prompt(at: &str) -> &'static str {
    match at {
        // The host waits for consent then, and the task stays open.
        "host" | "horizon" => "Where is my order 1001?",
        "weather" => "Will it rain in Oslo tomorrow?",
        "airbnb" => "A flat in Oslo for two, Friday to Sunday, under 120 a night",
        // It waits for consent then, and the task stays open.
        "calendar" => "Am I free on Friday?",
        // It takes as long as the clock stands still.
        _ => "Write a report about electric cars",
    }
}

/// The operations on deliveries.
const KEEP: &str = "keep";
/// The operation on no task at all.
const REHEARSE: &str = "rehearse";
/// The operations on connections, and the provider of the victim's.
const CONNECTION: &str = "connection";
const ELSEWHERE: &str = "elsewhere";

fn tokens(world: &World, at: &str, operation: &str, attack: Option<Attack>) -> Vec<Option<String>> {
    let audience = url(world, at);
    let (signers, scope) = match at {
        "horizon" => (
            (Signer::Idp("acme"), Signer::Idp("globex")),
            "openid orders:read tasks",
        ),
        _ => ((Signer::Session("acme"), Signer::Session("globex")), "tasks"),
    };
    let scope = match operation {
        KEEP => "deliveries",
        REHEARSE => "rehearse",
        _ => scope,
    };
    world.tokens(signers, (VICTIM, &audience, scope), attack)
}

fn good(world: &World, at: &str) -> String {
    tokens(world, at, "", None).remove(0).expect("a token")
}

fn message(world: &World, at: &str, task: Option<&str>) -> Value {
    let id = format!("attack-{}", world.next());
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": prompt(at) }] });
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message, "configuration": { "returnImmediately": true } })
}

/// Sends the host a prompt, and does not wait; the task's id.
pub(super) async fn ask_the_host(world: &World, prompt: &str) -> String {
    let mut message = message(world, "host", None);
    message["message"]["parts"][0]["text"] = prompt.into();
    let sent = world
        .request("POST", &format!("{}/message:send", url(world, "host")))
        .bearer_auth(good(world, "host"))
        .header("content-type", "application/json")
        .body(message.to_string());
    let sent: Value = sent.send().await.expect("an answer").json().await.expect("JSON");
    sent["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{sent}"))
        .to_owned()
}

/// A new task of the victim, as far as the agent gets with it alone.
pub(super) async fn new_task(world: &World, at: &str) -> String {
    let mut message = message(world, at, None);
    // Nobody listens there, so that something is owed from the start.
    message["configuration"]["taskPushNotificationConfig"] = hook();
    let sent = world
        .request("POST", &format!("{}/message:send", url(world, at)))
        .bearer_auth(good(world, at))
        .header("content-type", "application/json")
        .body(message.to_string());
    let sent: Value = sent.send().await.expect("an answer").json().await.expect("JSON");
    let id = sent["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{sent}"))
        .to_owned();
    for _ in 0..400 {
        let state = look(world, at, &id).await["status"]["state"].clone();
        let settled = match at {
            "host" | "calendar" => state == "TASK_STATE_AUTH_REQUIRED",
            "report" => state == "TASK_STATE_WORKING",
            _ => state == "TASK_STATE_COMPLETED",
        };
        if settled {
            return id;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the task at {at} never ended: {:#}", look(world, at, &id).await);
}

/// A task as its owner sees it.
pub(super) async fn look(world: &World, at: &str, id: &str) -> Value {
    let request = world.request("GET", &format!("{}/tasks/{id}", url(world, at)));
    let answer = request
        .bearer_auth(good(world, at))
        .send()
        .await
        .expect("an answer");
    answer.json().await.expect("JSON")
}

pub(super) async fn ask(world: &World, row: &Row, attack: Option<Attack>) -> Vec<Told> {
    let number = NAMES.iter().position(|name| *name == row.at).expect("an agent");
    // Good credentials may change the task: that is done to another one. What ends a task needs one of its own.
    let only_looks = ["get", "GetTask", "list", "tasks/list", "subscribe"];
    if row.operation == CONNECTION {
        connect(world, row.at).await;
    }
    let changes = row.method != "GET" && !only_looks.iter().any(|word| row.operation.contains(word));
    let ends = row.operation == KEEP || row.operation.to_lowercase().contains("cancel");
    let task = match attack {
        None if ends && [Result, Is(200), Is(202)].contains(&row.good) => new_task(world, row.at).await,
        None if changes => world.spare[number].clone(),
        _ => world.tasks[number].clone(),
    };
    let mut answers = Vec::new();
    for token in tokens(world, row.at, row.operation, attack) {
        let mut told_of = call(world, row, &task, token.as_deref()).await;
        // What is just on its way is not tried again by hand; nobody listens, so that it comes back.
        for _ in 0..200 {
            if told_of.status != 404 || attack.is_some() || row.operation != KEEP {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            told_of = call(world, row, &task, token.as_deref()).await;
        }
        // Whoever is told that there is no such task is told the same of one that never was.
        let hides = matches!(attack, Some(Attack::WrongOwner | Attack::WrongTenant));
        if hides && row.operation != CONNECTION && is_not_found(&told_of) {
            let never = "00000000-0000-4000-8000-000000000000";
            let unknown = call(world, row, never, token.as_deref()).await;
            assert_eq!(
                (told_of.status, told_of.text.replace(&task, never)),
                (unknown.status, unknown.text),
                "{} {} {}: a foreign task is told from an unknown one",
                row.at,
                row.route,
                row.operation
            );
        }
        answers.push(told_of);
    }
    answers
}

fn is_not_found(answer: &Told) -> bool {
    answer.status == 404 || answer.json()["error"]["code"] == -32001
}

/// One call of the row's operation on a task.
async fn call(world: &World, row: &Row, task: &str, token: Option<&str>) -> Told {
    let id = match row.operation {
        CONNECTION => ELSEWHERE,
        _ => task,
    };
    let mut path = row
        .route
        .replace("{id}", id)
        .replace("{config}", PUSH)
        .replace("{tenant}", "acme");
    let old = row.route.starts_with("/v1") || row.operation.contains('/');
    let body = match row.operation {
        "send" => Some(message(world, row.at, None)),
        "send to a task" => Some(message(world, row.at, Some(task))),
        "cancel" | "refresh" | "retry" | "subscribe" => {
            path = format!("{path}:{}", row.operation);
            None
        }
        "create push" if old => Some(json!({ "pushNotificationConfig": hook() })),
        "create push" => Some(hook()),
        _ if row.method != "POST" => None,
        KEEP => Some(json!({ "taskId": task, "configId": PUSH })),
        REHEARSE => Some(json!({ "say": "Will it rain in Oslo?" })),
        method => Some(rpc(world, row.at, method, task)),
    };
    let body = body.map(|body| if old { as_0_3(body) } else { body });
    let mut request = world.request(row.method, &format!("{}{path}", url(world, row.at)));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if !old {
        request = request.header("a2a-version", "1.0");
    }
    if let Some(body) = body {
        request = request
            .header("content-type", "application/json")
            .body(body.to_string());
    }
    told(request).await
}

/// The id of the push configuration that each of the victim's tasks has.
const PUSH: &str = "victims-push";

fn hook() -> Value {
    json!({ "id": PUSH, "url": "http://127.0.0.1:9/hook", "token": "a-token-of-the-victims" })
}

/// The words that 0.3 has for the same.
fn as_0_3(mut body: Value) -> Value {
    let text = body.to_string();
    let old = text
        .replace("\"ROLE_USER\"", "\"user\"")
        .replace("\"returnImmediately\":true", "\"blocking\":false")
        .replace("{\"text\":", "{\"kind\":\"text\",\"text\":");
    body = serde_json::from_str(&old).expect("JSON");
    let message = match body.get("params") {
        Some(_) => body.pointer_mut("/params/message"),
        None => body.pointer_mut("/message"),
    };
    if let Some(message) = message {
        message["kind"] = "message".into();
    }
    body
}

/// A JSON-RPC request.
fn rpc(world: &World, at: &str, operation: &str, task: &str) -> Value {
    let method = operation.trim_end_matches(" to a task");
    let old = method.contains('/');
    let params = match method {
        "SendMessage" | "SendStreamingMessage" | "message/send" | "message/stream" => {
            message(world, at, (method != operation).then_some(task))
        }
        "tasks/pushNotificationConfig/set" => json!({ "taskId": task, "pushNotificationConfig": hook() }),
        "CreateTaskPushNotificationConfig" => {
            let mut params = hook();
            params["taskId"] = task.into();
            params
        }
        _ if method.contains("PushNotificationConfig") && !old => json!({ "taskId": task, "id": PUSH }),
        _ if method.contains("pushNotificationConfig") => {
            json!({ "id": task, "pushNotificationConfigId": PUSH })
        }
        "ListTasks" | "tasks/list" | "GetExtendedAgentCard" | "agent/getAuthenticatedExtendedCard" => {
            json!({})
        }
        _ => json!({ "id": task }),
    };
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

pub(super) fn rows() -> Vec<Row> {
    let ok = [Is(200); 6];
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(public("/.well-known/agent-card.json", ok));
    rows.extend(public("/.well-known/agent.json", ok));
    // Only who has an authorization server tells of it.
    rows.extend(public(
        "/.well-known/oauth-protected-resource",
        [Is(200), Is(200), Is(404), Is(404), Is(404), Is(404)],
    ));

    rows.extend(public("/.well-known/jwks.json", ok));
    let mut operations = Vec::new();
    for route in ["/", "/jsonrpc"] {
        json_rpc(route, &mut operations);
    }
    for prefix in REST {
        rest(prefix, &mut operations);
    }
    rows.extend(operations.iter().flat_map(at_every_agent));
    for (method, route, foreign, good) in [
        // Somebody of another tenant is told of that tenant's.
        ("GET", "/deliveries", Hidden(200), Is(200)),
        ("POST", "/deliveries/replay", Is(404), Is(202)),
    ] {
        for at in NAMES {
            let (no, foreign) = (
                Is(401),
                if ["weather", "airbnb", "calendar", "report"].contains(&at) {
                    foreign
                } else {
                    Is(403)
                },
            );
            rows.push(Row {
                function: "agent",
                at,
                method,
                route,
                operation: KEEP,
                cells: [no, no, no, no, no, foreign, Na(KEEPERS), Is(403)],
                good,
            });
        }
    }
    rows.extend(connections());
    let no = Is(401);
    rows.push(Row {
        function: "agent",
        at: "host",
        method: "POST",
        route: "/rehearsal",
        operation: REHEARSE,
        cells: [no, no, no, no, no, Is(403), Na(REHEARSALS), Is(403)],
        good: Is(200),
    });
    rows
}

/// What a user has granted, at the agents that hold grants.
fn connections() -> impl Iterator<Item = Row> {
    let operations = [
        ("GET", "/connections", Hidden(200)),
        // Of one's own, made for that.
        ("DELETE", "/connections/{id}", REST_404),
    ];
    let no = Is(401);
    operations.into_iter().flat_map(move |(method, route, stranger)| {
        let row = move |at, foreign| Row {
            function: "agent",
            at,
            method,
            route,
            operation: CONNECTION,
            cells: [no, no, no, no, no, foreign, stranger, Is(403)],
            good: Is(200),
        };
        [row("host", Is(403)), row("calendar", stranger)]
    })
}

/// Something that the victim is connected to, and no task asks for.
async fn connect(world: &World, at: &str) {
    let (tenant, owner) = (
        Tenant::parse("acme").expect("a tenant"),
        Owner::parse(VICTIM).expect("an owner"),
    );
    let agent = (at == "calendar").then(|| AgentName::parse(at).expect("a name"));
    let key = GrantKey {
        tenant: &tenant,
        owner: &owner,
        provider: ELSEWHERE,
        resource: "https://elsewhere.example/",
    };
    let grants = world.local.system.store().grants().of(agent.as_ref());
    let scopes = ["a-scope-of-the-victims".to_owned()];
    let put = grants.put_grant(store::GivenGrant {
        key,
        scopes: &scopes,
        sealed: "sealed by nobody",
        person: None,
        now: world.local.clock.now(),
    });
    put.await.expect("stored");
}

/// JSON-RPC: the names of both generations do the same, but for the list, which only 1.0 has in its text.
fn json_rpc(route: &'static str, operations: &mut Vec<Operation>) {
    let over = [Result, Rpc(-32004), Rpc(-32004)];
    let no_cancel = [Result, Rpc(-32002), Rpc(-32002)];
    let (done, none) = ([Result; 3], (RPC_404, RPC_404));
    for (names, answers, good) in [
        (["SendMessage", "message/send"], (Na(OWN), Na(OPEN)), done),
        (["SendMessage to a task", "message/send to a task"], none, over),
        (
            ["SendStreamingMessage", "message/stream"],
            (Na(OWN), Na(OPEN)),
            done,
        ),
        (
            ["SendStreamingMessage to a task", "message/stream to a task"],
            none,
            over,
        ),
        (["GetTask", "tasks/get"], none, done),
        (["ListTasks", "tasks/list"], (Hidden(200), Hidden(200)), done),
        (["CancelTask", "tasks/cancel"], none, no_cancel),
        (["SubscribeToTask", "tasks/resubscribe"], none, over),
        (
            [
                "CreateTaskPushNotificationConfig",
                "tasks/pushNotificationConfig/set",
            ],
            none,
            done,
        ),
        (
            [
                "GetTaskPushNotificationConfig",
                "tasks/pushNotificationConfig/get",
            ],
            none,
            done,
        ),
        (
            [
                "ListTaskPushNotificationConfigs",
                "tasks/pushNotificationConfig/list",
            ],
            none,
            done,
        ),
        (
            [
                "DeleteTaskPushNotificationConfig",
                "tasks/pushNotificationConfig/delete",
            ],
            none,
            done,
        ),
    ] {
        operations.extend(names.map(|name| operation(("POST", route, name), answers, good)));
    }
    // The host's lists the tenant's agents; the others have no more to say than in public.
    let card = ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"];
    let (answers, good) = ((Na(NOBODYS), Na(NO_CARD)), [Result, Rpc(-32004), Rpc(-32004)]);
    operations.extend(card.map(|name| of_the_host(operation(("POST", route, name), answers, good))));
}

/// What the routes of REST lie below: 1.0, 0.3, and 1.0 with the caller's tenant in the path.
const REST: [&str; 3] = ["", "/v1", "/{tenant}"];

fn rest(prefix: &'static str, operations: &mut Vec<Operation>) {
    let path = |path: &str| -> &'static str { String::leak(format!("{prefix}{path}")) };
    // What an agent does not do, a task that is over, and what is asked wrongly have statuses of their own in 0.3.
    let (not_done, not_canceled, no_file) = if prefix == "/v1" {
        (Is(501), Is(409), Is(422))
    } else {
        (Is(400), Is(400), Is(400))
    };
    let (done, over) = ([Is(200); 3], [Is(200), not_done, not_done]);
    // Below a tenant's name everything is that tenant's callers' alone.
    let below_tenant = prefix == "/{tenant}";
    let none = (REST_404, REST_404);
    let own = if below_tenant {
        (Na(OWN), REST_404)
    } else {
        (Na(OWN), Na(OPEN))
    };
    let list = if below_tenant {
        (Hidden(200), REST_404)
    } else {
        (Hidden(200), Hidden(200))
    };
    let card = if below_tenant {
        (Na(NOBODYS), REST_404)
    } else {
        (Na(NOBODYS), Na(NO_CARD))
    };
    let (task, pushes) = ("/tasks/{id}", "/tasks/{id}/pushNotificationConfigs");
    let push = "/tasks/{id}/pushNotificationConfigs/{config}";
    let extended = if prefix == "/v1" {
        "/card"
    } else {
        "/extendedAgentCard"
    };
    for ((method, route, name), answers, good) in [
        (("POST", "/message:send", "send"), own, done),
        (("POST", "/message:send", "send to a task"), none, over),
        (("POST", "/message:stream", "send"), own, done),
        (("POST", "/message:stream", "send to a task"), none, over),
        (("GET", "/tasks", "list"), list, done),
        (("GET", task, "get"), none, done),
        (
            ("GET", "/tasks/{id}/files/{file}", "get file"),
            none,
            [no_file; 3],
        ),
        (("GET", task, "subscribe"), none, over),
        (("POST", task, "subscribe"), none, over),
        (("POST", task, "refresh"), none, done),
        // There is nothing to try again.
        (("POST", task, "retry"), none, [not_done; 3]),
        (
            ("POST", task, "cancel"),
            none,
            [Is(200), not_canceled, not_canceled],
        ),
        (("POST", pushes, "create push"), none, done),
        (("GET", pushes, "list push"), none, done),
        (("GET", push, "get push"), none, done),
        (("DELETE", push, "delete push"), none, done),
    ] {
        operations.push(operation((method, path(route), name), answers, good));
    }
    let good = [Is(200), not_done, not_done];
    let extended = operation(("GET", path(extended), "extended card"), card, good);
    operations.push(of_the_host(extended));
}
