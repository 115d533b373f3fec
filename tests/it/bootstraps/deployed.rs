//! Both templates deployed: the walks through the whole system, with every call to AWS judged by the function's own policy.
//! This is the proof that the policies allow enough; `template.rs` is the one that they allow no more to other tenants, and
//! the end of the walk here tells what they allow that nobody needed.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use store::{BlobScope, Blobs as _};
use system_testing::User;
use system_testing::browser::Browser;
use system_testing::cloud::{Cloud, PASSWORD};
use url::Url;

pub(super) fn link(task: &Value) -> String {
    let text = task.to_string();
    let start = text
        .find("/connect/")
        .unwrap_or_else(|| panic!("no consent link in {task:#}"));
    let begin = text[..start].rfind("http").expect("an address");
    let rest = text[begin..]
        .split(|c: char| c.is_whitespace() || "\"\\),".contains(c))
        .next();
    rest.expect("an address").trim_end_matches('.').to_owned()
}

async fn consent(cloud: &Cloud, user: &User, tenant: &str, waiting: &Value) {
    let base = cloud.stacks[tenant].output("BaseUrl");
    let path = Url::parse(&base).expect("an address").path().to_owned();
    let mut browser = user.browser(&path);
    let page = browser.open(&link(waiting)).await;
    let page = browser
        .submit(&page, &[("username", "ada"), ("password", PASSWORD)])
        .await;
    let page = browser.submit(&page, &[]).await;
    assert_eq!(page.status, 200, "{page:?}\n{}", cloud.logs());
}

/// Somebody shares a task once the setting counts, and ends that; the link is read by nobody in particular.
async fn shared(cloud: &Cloud, user: &User) {
    let task = user.ask("Will it rain in Bergen tomorrow?").await.task_id();
    user.until(&task, &["completed"]).await;
    let path = format!("/api/tasks/{task}/share");
    let mut made = user.call(Method::POST, &path, Some(json!({}))).await;
    for _ in 0..60 {
        if made.status == 201 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        made = user.call(Method::POST, &path, Some(json!({}))).await;
    }
    assert_eq!(made.status, 201, "{made:?}\n{}", cloud.logs());
    let link = made.json()["link"].as_str().expect("a link").to_owned();
    // Another sandbox hears of the setting within ten seconds of its own.
    let mut listed = user.get("/api/shares").await;
    for _ in 0..60 {
        if listed.json()["shares"][0]["taskId"] == task.as_str() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        listed = user.get("/api/shares").await;
    }
    assert_eq!(listed.json()["shares"][0]["taskId"], task.as_str(), "{listed:?}");
    let read = async || {
        system_testing::user::http()
            .get(&link)
            .send()
            .await
            .expect("an answer")
            .status()
    };
    for _ in 0..60 {
        if read().await == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert_eq!(read().await, 200, "{}", cloud.logs());
    let ended = user.call(Method::DELETE, &path, None).await;
    assert_eq!(ended.status, 204, "{ended:?}\n{}", cloud.logs());
    assert_eq!(read().await, 404, "{}", cloud.logs());
}

/// What the sweeper may for what it does in one hour of each night, whether or not this runs in it.
const AT_NIGHT: [&str; 3] = [
    "WhichLargeThingsThereAre",
    "LargeThingsOfNobody",
    "WhatTheyBelongTo",
];

/// What a policy allows and no walk here needs, with the reason that it is there nevertheless.
const FOR_OTHER_DAYS: &[(&str, &str, &str, &str)] = &[
    (
        "TaskSweeperFunction",
        "SealedEntries",
        "s3:PutObject",
        "the stage locks sealed entries of the audit",
    ),
    (
        "ChatApiFunction",
        "LargeThingsOfTheHost",
        "s3:GetObject",
        "somebody opens a file of a result",
    ),
    (
        "ChatApiFunction",
        "LargeThingsOfTheErased",
        "s3:PutObject",
        "a task of an older release is canceled whose files lie in the tables",
    ),
    (
        "OauthCallbackFunction",
        "LargeThings",
        "s3:GetObject",
        "a task with a file waits for a consent",
    ),
    (
        "OauthCallbackFunction",
        "LargeThings",
        "s3:PutObject",
        "the same, of an older release",
    ),
    (
        "CalendarCallbackFunction",
        "LargeThings",
        "s3:GetObject",
        "the same at an agent",
    ),
    (
        "CalendarCallbackFunction",
        "LargeThings",
        "s3:PutObject",
        "the same at an agent",
    ),
    (
        "WebhookReceiverFunction",
        "LargeThings",
        "s3:PutObject",
        "an agent brings a large result",
    ),
    (
        "HorizonAgentFunction",
        "LargeThings",
        "s3:GetObject",
        "somebody sends it a large thing",
    ),
    (
        "HorizonAgentFunction",
        "LargeThings",
        "s3:PutObject",
        "somebody sends it a large thing",
    ),
    (
        "WeatherAgentFunction",
        "LargeThings",
        "s3:GetObject",
        "somebody sends it a large thing",
    ),
    (
        "WeatherAgentFunction",
        "LargeThings",
        "s3:PutObject",
        "somebody sends it a large thing",
    ),
    (
        "AirbnbAgentFunction",
        "LargeThings",
        "s3:GetObject",
        "somebody sends it a large thing",
    ),
    (
        "AirbnbAgentFunction",
        "LargeThings",
        "s3:PutObject",
        "somebody sends it a large thing",
    ),
    (
        "CalendarAgentFunction",
        "LargeThings",
        "s3:GetObject",
        "somebody sends it a large thing",
    ),
    (
        "CalendarAgentFunction",
        "LargeThings",
        "s3:PutObject",
        "somebody sends it a large thing",
    ),
    (
        "ReportAgentFunction",
        "LargeThings",
        "s3:GetObject",
        "somebody sends it a large thing",
    ),
    (
        "ReportAgentFunction",
        "LargeThings",
        "s3:PutObject",
        "somebody sends it a large thing",
    ),
    (
        "TaskSweeperFunction",
        "HowTenantsStand",
        "dynamodb:GetItem",
        "something has been due for minutes: is its tenant active?",
    ),
    (
        "AirbnbAgentFunction",
        "Ledger",
        "dynamodb:GetItem",
        "the same, with an owner's first task of a day",
    ),
    (
        "AirbnbAgentFunction",
        "Ledger",
        "dynamodb:UpdateItem",
        "somebody else than a host calls it, whose tasks were not admitted before",
    ),
    (
        "CalendarAgentFunction",
        "Ledger",
        "dynamodb:GetItem",
        "the same, with an owner's first task of a day",
    ),
    (
        "CalendarAgentFunction",
        "Ledger",
        "dynamodb:UpdateItem",
        "somebody else than a host calls it, whose tasks were not admitted before",
    ),
    (
        "HorizonAgentFunction",
        "Ledger",
        "dynamodb:GetItem",
        "the same, with an owner's first task of a day",
    ),
    (
        "HorizonAgentFunction",
        "Ledger",
        "dynamodb:UpdateItem",
        "somebody else than a host calls it, whose tasks were not admitted before",
    ),
    (
        "ReportAgentFunction",
        "Ledger",
        "dynamodb:GetItem",
        "the same, with an owner's first task of a day",
    ),
    (
        "ReportAgentFunction",
        "Ledger",
        "dynamodb:UpdateItem",
        "somebody else than a host calls it, whose tasks were not admitted before",
    ),
    (
        "WeatherAgentFunction",
        "Ledger",
        "dynamodb:GetItem",
        "the same, with an owner's first task of a day",
    ),
    (
        "WeatherAgentFunction",
        "Ledger",
        "dynamodb:UpdateItem",
        "somebody else than a host calls it, whose tasks were not admitted before",
    ),
    (
        "ReportAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:GetItem",
        "somebody asks how a task stands, who has a token: nobody else is let in",
    ),
    (
        "WeatherAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:GetItem",
        "somebody asks how a task stands, who has a token: nobody else is let in",
    ),
    (
        "HostAgentFunction",
        "WhoConsents",
        "dynamodb:GetItem",
        "somebody who has signed in uses what they granted, or types the code of a grant",
    ),
    (
        "HostAgentFunction",
        "WhoConsents",
        "dynamodb:Query",
        "somebody types the code of a grant: who it is, their sessions tell",
    ),
    (
        "HostAgentFunction",
        "RulesOfSignIn",
        "dynamodb:PutItem",
        "the rule of who is let in has changed, and the host is the first to see it",
    ),
    (
        "HostAgentFunction",
        "OwnTasks",
        "dynamodb:DeleteItem",
        "push configurations go; large tasks lie in pieces",
    ),
    (
        "HorizonAgentFunction",
        "OwnTasks",
        "dynamodb:DeleteItem",
        "push configurations go; large tasks lie in pieces",
    ),
    (
        "WeatherAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:DeleteItem",
        "push configurations go; large tasks lie in pieces",
    ),
    (
        "AirbnbAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:DeleteItem",
        "push configurations go; large tasks lie in pieces",
    ),
    (
        "CalendarAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:DeleteItem",
        "push configurations go; large tasks lie in pieces",
    ),
    (
        "ReportAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:DeleteItem",
        "push configurations go; large tasks lie in pieces",
    ),
    (
        "HorizonAgentFunction",
        "OwnTasks",
        "dynamodb:GetItem",
        "A2A clients get and cancel tasks",
    ),
    (
        "HorizonAgentFunction",
        "OwnTasks",
        "dynamodb:BatchGetItem",
        "A2A clients list tasks",
    ),
    (
        "WeatherAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:BatchGetItem",
        "A2A clients list tasks",
    ),
    (
        "AirbnbAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:BatchGetItem",
        "A2A clients list tasks",
    ),
    (
        "CalendarAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:BatchGetItem",
        "A2A clients list tasks",
    ),
    (
        "ReportAgentFunction",
        "OwnTasksOfEveryTenant",
        "dynamodb:BatchGetItem",
        "A2A clients list tasks",
    ),
    (
        "HorizonAgentFunction",
        "OwnListings",
        "dynamodb:Query",
        "A2A clients list tasks",
    ),
    (
        "WeatherAgentFunction",
        "OwnListings",
        "dynamodb:Query",
        "A2A clients list tasks",
    ),
    (
        "AirbnbAgentFunction",
        "OwnListings",
        "dynamodb:Query",
        "A2A clients list tasks",
    ),
    (
        "ReportAgentFunction",
        "OwnListings",
        "dynamodb:Query",
        "A2A clients list tasks",
    ),
    (
        "HostAgentFunction",
        "GrantsAndConsents",
        "dynamodb:UpdateItem",
        "a renewal is claimed",
    ),
    (
        "HostAgentFunction",
        "OwnTasks",
        "dynamodb:Query",
        "subscribers follow events; large tasks lie in pieces",
    ),
    (
        "OauthCallbackFunction",
        "WaitingTasks",
        "dynamodb:DeleteItem",
        "a task too large for one item lies in pieces",
    ),
    (
        "CalendarCallbackFunction",
        "WaitingTasks",
        "dynamodb:DeleteItem",
        "a task too large for one item lies in pieces",
    ),
    (
        "OauthCallbackFunction",
        "WaitingTasks",
        "dynamodb:PutItem",
        "a task too large for one item lies in pieces",
    ),
    (
        "CalendarCallbackFunction",
        "WaitingTasks",
        "dynamodb:PutItem",
        "a task too large for one item lies in pieces",
    ),
    (
        "OauthCallbackFunction",
        "WaitingTasks",
        "dynamodb:Query",
        "a task too large for one item lies in pieces",
    ),
    (
        "CalendarCallbackFunction",
        "WaitingTasks",
        "dynamodb:Query",
        "a task too large for one item lies in pieces",
    ),
    (
        "WebhookReceiverFunction",
        "TasksOfTheHost",
        "dynamodb:DeleteItem",
        "a task too large for one item lies in pieces",
    ),
    (
        "WebhookReceiverFunction",
        "TasksOfTheHost",
        "dynamodb:Query",
        "a task too large for one item lies in pieces",
    ),
    (
        "CalendarCallbackFunction",
        "WakeCalendar",
        "sqs:SendMessage",
        "a consent that is refused wakes its task",
    ),
    (
        "ChatApiFunction",
        "TasksOfTheErased",
        "dynamodb:PutItem",
        "who is erased has a task that still runs, and is canceled first",
    ),
    (
        "ChatApiFunction",
        "UsageOfTheModels",
        "dynamodb:GetItem",
        "an operator looks at what models took",
    ),
    (
        "ChatApiFunction",
        "UsageOfTheModels",
        "dynamodb:Query",
        "an operator looks at the day's tasks by agent",
    ),
    (
        "RegistryFunction",
        "EveryTenantsCards",
        "dynamodb:DeleteItem",
        "agents are removed",
    ),
    (
        "ChatApiFunction",
        "Audit",
        "dynamodb:Query",
        "an admin reads who did what",
    ),
    (
        "TaskSweeperFunction",
        "EveryAgentsQueue",
        "sqs:SendMessage",
        "a wake was lost",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_the_gateway_says_itself_has_the_form_of_our_errors() {
    let cloud = Cloud::start(&["acme"]).await;
    let weather = cloud.stacks["platform"].output("WeatherAgentUrl");
    let http = system_testing::user::http();
    let (agent, path) = weather.rsplit_once('/').unwrap();
    let long = "x".repeat(10_000_001);
    for (url, body, status, error) in [
        (format!("{weather}/nothing"), "", 404, "not_found"),
        // No snapshot of the API has the unguessable part: the function refuses another one.
        (
            format!("{agent}/{}", path.replace(|_| true, "0")),
            "",
            404,
            "not_found",
        ),
        (agent.to_owned(), "", 404, "not_found"),
        (agent.replace("/a/weather", "/a"), "", 404, "not_found"),
        (weather.clone(), long.as_str(), 413, "payload_too_large"),
    ] {
        let answer = http.post(&url).body(body.to_owned()).send().await.unwrap();
        assert_eq!(answer.status(), status, "{url}");
        let told: Value = answer.json().await.unwrap();
        assert_eq!(told["error"], error, "{url}: {told}");
        assert!(told["message"].is_string(), "{url}: {told}");
    }
}

/// What a domain of its own, or CloudFront, hands to an API: the path as it is, without the stage.
#[tokio::test(flavor = "multi_thread")]
async fn documents_before_the_path_are_those_below_it() {
    let cloud = Cloud::start(&["acme"]).await;
    let http = system_testing::user::http();
    for (base, path, document) in [
        ("platform", "/idp/acme".to_owned(), "oauth-authorization-server"),
        ("platform", "/idp/acme".to_owned(), "openid-configuration"),
        (
            "acme",
            path_of(&cloud, "HostAgentUrl"),
            "oauth-protected-resource",
        ),
        (
            "acme",
            path_of(&cloud, "HorizonAgentUrl"),
            "oauth-protected-resource",
        ),
    ] {
        let root = match base {
            "platform" => cloud.stacks[base].output("IdpUrl").replace("/idp", ""),
            tenant => cloud.stacks[tenant].output("BaseUrl"),
        };
        let get = async |url: String| {
            let answer = http.get(&url).send().await.unwrap();
            let (status, told) = (answer.status().as_u16(), answer.text().await.unwrap());
            (status, told)
        };
        let below = get(format!("{root}{path}/.well-known/{document}")).await;
        assert_eq!(below.0, 200, "{document} of {path}: {below:?}\n{}", cloud.logs());
        let before = get(format!("{root}/.well-known/{document}{path}")).await;
        assert_eq!(before, below, "{document} before {path}");
        let nobodys = get(format!("{root}/.well-known/{document}/nobody")).await;
        assert_eq!(nobodys.0, 404, "{document}: {nobodys:?}");
    }
}

/// The path of an agent below its tenant's base.
fn path_of(cloud: &Cloud, output: &str) -> String {
    let stack = &cloud.stacks["acme"];
    stack.output(output).replace(&stack.output("BaseUrl"), "")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_path_is_changed_is_at_the_new_one_and_no_longer_at_the_old() {
    let mut cloud = Cloud::start(&["acme"]).await;
    let before = cloud.stacks["platform"].output("WeatherAgentUrl");
    let new = "0123456789abcdef0123456789abcdef";
    cloud.change("platform", &[("WeatherPath", new)]);
    let after = cloud.stacks["platform"].output("WeatherAgentUrl");
    assert!(after.ends_with(new) && after != before, "{after}");
    let card = |url: &str| {
        let card = format!("{url}/.well-known/agent-card.json");
        system_testing::user::http().get(card).send()
    };
    assert_eq!(card(&before).await.unwrap().status(), 404);
    let answer = card(&after).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.unwrap().contains(new));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_works_as_it_is_deployed_and_needs_no_more_than_its_policies_allow() {
    let cloud = Cloud::start(&["acme.7f3a9c2e", "globex"]).await;

    // Weather: chat, host, registry, agent, webhook, answer.
    let user = cloud.user("acme");
    let asked = user.chat("trip", "m1", "Will it rain in Oslo tomorrow?").await;
    assert_eq!(asked.status, 200, "{asked:?}\n{}", cloud.logs());
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("Oslo"), "{done:#}");
    let events = user.get(&format!("/api/tasks/{}/events", asked.task_id())).await;
    assert!(events.text.contains("completed"), "{events:?}");
    let messages = user.get("/api/chats/trip/messages").await;
    assert!(messages.text.contains("Oslo"), "{messages:?}");
    assert!(user.get("/api/chats").await.text.contains("trip"));

    // A file: it lies in the bucket, for the chat and for the host, and comes back from there.
    let bytes: Vec<u8> = (0..60_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    let file = json!({
        "type": "file", "mediaType": "application/octet-stream", "filename": "a.bin",
        "url": format!("data:application/octet-stream;base64,{}", STANDARD.encode(&bytes)),
    });
    let text = json!({ "type": "text", "text": "Will it rain in Bergen tomorrow?" });
    let message = json!({ "id": "m1", "role": "user", "parts": [text, file] });
    let body = json!({ "id": "file", "trigger": "submit-message", "message": message });
    let asked = user.call(Method::POST, "/api/chat", Some(body)).await;
    assert_eq!(asked.status, 200, "{asked:?}\n{}", cloud.logs());
    user.until(&asked.task_id(), &["completed"]).await;
    let lies = async || {
        cloud
            .gate
            .blobs
            .list(&BlobScope::All, None)
            .await
            .expect("a folder")
    };
    assert_eq!(lies().await.len(), 2, "one of the chat, one of the host's task");
    let found = user.get("/api/chats/file/messages/m1/files/0").await;
    assert_eq!(found.status, 200, "{found:?}\n{}", cloud.logs());

    // Horizon: consent at the authorization server. Meanwhile every process is lost.
    let asked = user.chat("orders", "m1", "Where is my order 1001?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    for function in cloud.functions.values() {
        function.forget();
    }
    consent(&cloud, &user, "acme", &waiting).await;
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(
        done["artifacts"].to_string().contains("Rocket skates of acme"),
        "{done:#}"
    );
    assert!(user.get("/api/connections").await.text.contains("idp"));

    // A stay: no MCP server answers here, which is tried again until it is called off.
    let asked = user
        .chat("stay", "m1", "A flat in Oslo for two, Friday to Sunday")
        .await;
    let working = user.until(&asked.task_id(), &["working"]).await;
    assert_eq!(working["agentType"], "airbnb", "{working:#}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    user.chat("stay", "m2", "cancel").await;
    user.until(&asked.task_id(), &["canceled"]).await;

    // A calendar: consent at Google, whose code is typed back; the next question finds the grant, a wider one asks again.
    let asked = user.chat("calendar", "m1", "Am I free on Friday?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let mut browser = Browser::default();
    let page = browser.open(&link(&waiting)).await;
    let page = browser.submit(&page, &[]).await;
    assert_eq!(page.status, 200, "{page:?}\n{}", cloud.logs());
    user.chat("calendar", "m2", &crate::consent::code_on(&page)).await;
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("sandbox"), "{done:#}");
    let connections = user.get("/api/connections").await.json();
    let listed = connections["connections"].as_array().expect("a list");
    let google = listed.iter().find(|one| one["provider"] == "google");
    let google = google.unwrap_or_else(|| panic!("{connections:#}\n{}", cloud.logs()));
    let path = format!("/api/connections/{}", google["id"].as_str().expect("an id"));
    let ended = user.call(Method::DELETE, &path, None).await;
    assert_eq!(
        (ended.status.as_u16(), &ended.json()["revoked"]),
        (200, &json!(true)),
        "{ended:?}\n{}",
        cloud.logs()
    );
    let asked_all = user.chat("orders", "m2", "Show my orders").await;
    let done = user.until(&asked_all.task_id(), &["completed"]).await;
    assert!(
        done["artifacts"].to_string().contains("Rocket skates of acme"),
        "{done:#}"
    );

    // The other tenant has the same order number, its own data, and nothing of the first.
    let other = cloud.user("globex");
    let asked_there = other.ask("Where is my order 1001?").await;
    let waiting = other.until(&asked_there.task_id(), &["auth-required"]).await;
    consent(&cloud, &other, "globex", &waiting).await;
    let done = other.until(&asked_there.task_id(), &["completed"]).await;
    assert!(
        done["artifacts"].to_string().contains("Rocket skates of globex"),
        "{done:#}"
    );
    assert_eq!(
        other.get(&format!("/api/tasks/{}", asked.task_id())).await.status,
        404
    );

    // Cancel, list, retry, a lost connection.
    let asked = user.ask("Where is the parcel of my order 77?").await;
    let id = asked.task_id();
    user.until(
        &id,
        &[
            "auth-required",
            "input-required",
            "completed",
            "rejected",
            "failed",
        ],
    )
    .await;
    let ended = user.call(Method::DELETE, "/api/connections/idp", None).await;
    assert!(ended.status.is_success(), "{ended:?}");
    let asked = user.chat("late", "m1", "Where is my order 1001?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let canceled = user
        .call(
            Method::POST,
            &format!("/api/tasks/{}/cancel", asked.task_id()),
            Some(json!({})),
        )
        .await;
    assert!(canceled.status.is_success(), "{canceled:?}\n{}", cloud.logs());
    user.until(&asked.task_id(), &["canceled"]).await;
    let context = waiting["contextId"].as_str().expect("a context");
    let listed = user.get(&format!("/api/tasks?contextId={context}")).await;
    assert!(listed.text.contains(&asked.task_id()), "{listed:?}");

    // Long work in steps, each of which the queue wakes: more of them than Lambda allows by itself.
    cloud.gate.begun.store(14, Ordering::Relaxed);
    let asked = user.ask("Write a report about electric cars").await;
    user.until(&asked.task_id(), &["completed"]).await;

    // The sweeper's schedule, over the queues of all tenants.
    let swept = cloud.sweep().await;
    assert_eq!(swept["unreadShards"], 0, "{swept}");
    assert_eq!(swept["notSent"], 0, "{swept}");

    // The registry's schedule, over the agents of all tenants.
    let checked = cloud.check_agents().await;
    assert!(checked["well"].as_u64() > Some(2), "{checked}\n{}", cloud.logs());
    assert_eq!(checked["unwell"], 0, "{checked}\n{}", cloud.logs());

    // Somebody signs in to the chat, and out of it.
    let base = cloud.stacks["acme"].output("BaseUrl");
    let mut browser = Browser::default();
    let login = json!({ "username": "ada", "password": PASSWORD });
    let start = format!("{base}/signin?return=accounts");
    let page = system_testing::oauth::agree(&mut browser, &start, &login).await;
    assert_eq!(
        page.url.as_str(),
        format!("{base}/accounts"),
        "{page:?}\n{}",
        cloud.logs()
    );
    let ada = cloud.user("acme");
    let session = browser.cookies().find(|(_, value)| value.starts_with("sws_"));
    let (name, value) = session.expect("a session");
    ada.resume(&format!("{name}={value}"));
    assert_eq!(ada.get("/api/session").await.json()["username"], "ada");
    // An admin looks after the tenant's users and settings.
    let users = ada.get("/api/admin/users").await;
    assert_eq!(users.status, 200, "{users:?}\n{}", cloud.logs());
    assert_eq!(users.json()["users"][0]["username"], "ada");
    let settings = json!({ "timeZone": "Europe/Oslo", "share": "on" });
    let set = ada
        .call(Method::PATCH, "/api/admin/settings", Some(settings))
        .await;
    assert_eq!(set.status, 200, "{set:?}\n{}", cloud.logs());
    shared(&cloud, &ada).await;
    let out = ada.call(Method::POST, "/signout", Some(json!({}))).await;
    assert_eq!(out.status, 200, "{out:?}\n{}", cloud.logs());
    assert!(out.text.contains("/logout?client_id=host"), "{out:?}");
    ada.resume(&format!("{name}={value}"));
    assert_eq!(ada.get("/api/session").await.json()["who"], "nobody");

    // A guest goes for good, with all that the agents did for them.
    let gone = async || user.call(Method::DELETE, "/api/me", None).await;
    let mut erased = gone().await;
    for _ in 0..50 {
        if erased.status != 202 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        erased = gone().await;
    }
    assert_eq!(erased.status, 200, "{erased:?}\n{}", cloud.logs());
    assert_eq!(erased.json()["erased"]["blobs"], 2, "{erased:?}");
    assert_eq!(lies().await, [], "nothing of it is left");

    // What is under way ends; then nothing may have been refused.
    for _ in 0..50 {
        if cloud.quiet() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(cloud.refusals(), Vec::<String>::new(), "{}", cloud.logs());
    let dead = cloud
        .dead_letters
        .lock()
        .expect("no panic under the lock")
        .clone();
    assert_eq!(dead, Vec::<Value>::new(), "{}", cloud.logs());

    let mut unused = BTreeSet::new();
    for (name, policy) in &cloud.policies {
        let function = name.rsplit('/').next().unwrap_or_default();
        // Tenants' policies are the same but for the tenant: one of them is enough.
        let elsewhere = |sid: &str, action: &str| {
            let same = cloud
                .policies
                .iter()
                .filter(|(other, _)| other.ends_with(&format!("/{function}")));
            same.into_iter()
                .any(|(_, policy)| !policy.unused().contains(&(sid.to_owned(), action.to_owned())))
        };
        for (sid, action) in policy.unused() {
            let at_night = function == "TaskSweeperFunction" && AT_NIGHT.contains(&sid.as_str());
            if !at_night && !elsewhere(&sid, &action) {
                unused.insert(format!("{function} {sid} {action}"));
            }
        }
    }
    let expected: BTreeSet<String> = FOR_OTHER_DAYS
        .iter()
        .map(|(function, sid, action, _)| format!("{function} {sid} {action}"))
        .collect();
    assert_eq!(unused, expected, "allowed and not needed");
}
