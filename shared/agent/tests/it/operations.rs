//! The operations around a task: lists, push configurations, tenants, what a card does not promise.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::{Access, Outcome};
use domain::{Artifact, Part, PartContent};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::{Bench, URL, bench, done, id_of, message, now, state};

fn get(path: &str) -> http::request::Builder {
    Request::get(path).header("a2a-version", "1.0")
}

fn ids(page: &Value) -> Vec<&str> {
    let tasks = page["tasks"].as_array().unwrap_or_else(|| panic!("{page}"));
    tasks.iter().map(|task| task["id"].as_str().unwrap()).collect()
}

async fn list(bench: &Bench, owner: &str, params: Value) -> Value {
    bench.rpc(owner, "ListTasks", params).await["result"].clone()
}

#[tokio::test]
async fn a_list_holds_the_callers_own_tasks_newest_first() {
    let script = |number, _: &mut agent::Run| match number {
        0 => Ok(Outcome::InputRequired("What?".into())),
        _ => Ok(done()),
    };
    let bench = bench(Access::Secured, Box::new(script)).await;
    let mut made = Vec::new();
    for number in 0..5 {
        let mut said = message(&format!("m{number}"), "hi");
        said["contextId"] = json!(if number < 2 { "early" } else { "late" });
        made.insert(0, id_of(&bench.send("ann", said, json!({})).await));
        bench.clock.advance(Duration::from_secs(60));
    }
    let all = list(&bench, "ann", json!({})).await;
    assert_eq!(ids(&all), made);
    assert_eq!(
        (&all["totalSize"], &all["pageSize"], &all["nextPageToken"]),
        (&json!(5), &json!(50), &json!(""))
    );
    for task in all["tasks"].as_array().unwrap() {
        assert!(task.get("artifacts").is_none(), "{task}");
    }
    // Page by page, and the same over REST.
    let (mut token, mut paged) = (String::new(), Vec::new());
    loop {
        let page = list(
            &bench,
            "ann",
            json!({ "pageSize": 2, "pageToken": token, "includeArtifacts": true }),
        )
        .await;
        assert_eq!(page["totalSize"], 5);
        paged.extend(ids(&page).into_iter().map(str::to_owned));
        let path = format!("/tasks?pageSize=2&includeArtifacts=true&pageToken={token}");
        assert_eq!(bench.json(Some("ann"), get(&path), "").await.1, page);
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(paged, made);
    for (params, expect) in [
        (json!({ "contextId": "early" }), &made[3..]),
        (json!({ "context_id": "late" }), &made[..3]),
        (json!({ "contextId": "none" }), &[]),
        (json!({ "status": "TASK_STATE_INPUT_REQUIRED" }), &made[4..]),
        (
            json!({ "statusTimestampAfter": "2026-01-01T00:03:00Z" }),
            &made[..2],
        ),
    ] {
        let page = list(&bench, "ann", params.clone()).await;
        assert_eq!(ids(&page), expect, "{params}");
        assert_eq!(page["totalSize"], expect.len(), "{params}");
    }
    let full = list(
        &bench,
        "ann",
        json!({ "includeArtifacts": true, "historyLength": 0, "pageSize": 1 }),
    )
    .await;
    assert_eq!(full["tasks"][0]["artifacts"][0]["parts"][0]["text"], "42");
    assert!(full["tasks"][0].get("history").is_none());
    // Others see nothing of it, and cannot go on with another's page.
    let none = list(&bench, "bob", json!({})).await;
    assert_eq!((ids(&none).len(), &none["totalSize"]), (0, &json!(0)));
    let token = list(&bench, "ann", json!({ "pageSize": 2 })).await["nextPageToken"].clone();
    for (owner, params) in [
        ("bob", json!({ "pageSize": 2, "pageToken": token })),
        (
            "ann",
            json!({ "pageSize": 2, "pageToken": token, "contextId": "late" }),
        ),
        ("ann", json!({ "pageToken": "rubbish" })),
        ("ann", json!({ "pageSize": 0 })),
        ("ann", json!({ "pageSize": 101 })),
    ] {
        let refused = bench.rpc(owner, "ListTasks", params.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
    }
}

/// What a file is called whose seed is `one`.
const DETACHED: &str = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";

#[tokio::test]
async fn a_list_that_shows_no_files_reads_none_and_a_file_beside_a_task_goes_to_its_caller() {
    let script = |_, run: &mut agent::Run| {
        let mut detached = Part::text("");
        let url = format!("{URL}/tasks/{}/files/{DETACHED}", run.task().id);
        detached.detach_to(url, (6, ""));
        let parts = vec![Part::new(PartContent::Raw("QUJD".repeat(9_000))), detached];
        Ok(Outcome::Completed {
            artifacts: vec![Artifact::new("a", parts)],
            say: None,
        })
    };
    let bench = bench(Access::Secured, Box::new(script)).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), json!({})).await);
    let key = bench.key(&id);
    let mut file = bench
        .agent
        .store
        .tasks()
        .receive(&key, "one")
        .await
        .unwrap()
        .unwrap();
    file.write(b"abcdef").await.unwrap();
    file.end().await.unwrap();
    for prefix in ["", "/v1", "/acme"] {
        let path = format!("{prefix}/tasks/{id}/files/{DETACHED}");
        let found = bench.ask(Some("ann"), Request::get(&path), "").await;
        assert_eq!(found.status(), StatusCode::OK, "{path}");
        assert_eq!(found.headers()["content-disposition"], "attachment");
        let body = found.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(&*body, b"abcdef");
        let foreign = bench.ask(Some("bob"), Request::get(&path), "").await;
        assert_eq!(foreign.status(), StatusCode::NOT_FOUND, "{path}");
    }
    std::fs::remove_dir_all(&bench.blobs).unwrap();
    let brief = list(&bench, "ann", json!({"historyLength": 0})).await;
    assert_eq!(ids(&brief), [id.as_str()]);
    assert!(!brief.to_string().contains("switchyard-blob"), "{brief}");
    let whole = bench.rpc(
        "ann",
        "ListTasks",
        json!({"historyLength": 0, "includeArtifacts": true}),
    );
    assert_eq!(whole.await["error"]["code"], -32603, "its files cannot be read");
    let path = format!("/tasks/{id}/files/{DETACHED}");
    let gone = bench.ask(Some("ann"), Request::get(&path), "").await;
    assert_eq!(
        gone.status(),
        StatusCode::INTERNAL_SERVER_ERROR,
        "its record says that it is there"
    );
}

#[tokio::test]
async fn callers_without_a_token_list_nothing() {
    let bench = bench(Access::Open, Box::new(|_, _| Ok(done()))).await;
    let mut said = message("m1", "hi");
    said["contextId"] = json!("c");
    let body = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    bench
        .call(None, &body("SendMessage", json!({ "message": said })))
        .await;
    for params in [json!({}), json!({ "contextId": "c" })] {
        let (_, page) = bench.call(None, &body("ListTasks", params)).await;
        assert_eq!(
            (ids(&page["result"]).len(), &page["result"]["totalSize"]),
            (0, &json!(0))
        );
    }
}

fn config(id: &str) -> Value {
    json!({ "id": id, "url": "https://hooks.example/x", "token": "very-secret",
        "authentication": { "scheme": "Bearer", "credentials": "most-secret" } })
}

#[tokio::test]
async fn push_configurations_come_and_go_and_never_show_their_secrets() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    let with = |task: &str, config: &Value| {
        let mut params = config.clone();
        params["taskId"] = json!(task);
        params
    };
    let create = "CreateTaskPushNotificationConfig";
    let made = bench.rpc("ann", create, with(&id, &config("one"))).await;
    assert_eq!(
        (&made["result"]["id"], &made["result"]["taskId"]),
        (&json!("one"), &json!(id))
    );
    let path = format!("/tasks/{id}/pushNotificationConfigs");
    let request = Request::post(&path).header("content-type", "application/a2a+json");
    let (status, made) = bench.json(Some("ann"), request, &config("two").to_string()).await;
    assert_eq!((status, &made["id"]), (StatusCode::OK, &json!("two")));
    let (_, listed) = bench.json(Some("ann"), get(&path), "").await;
    assert_eq!(listed["configs"].as_array().unwrap().len(), 2);
    let (_, page) = bench
        .json(Some("ann"), get(&format!("{path}?pageSize=1")), "")
        .await;
    assert_eq!(page["configs"][0]["id"], "one");
    let next = page["nextPageToken"].as_str().unwrap();
    let (_, page) = bench
        .json(
            Some("ann"),
            get(&format!("{path}?pageSize=1&pageToken={next}")),
            "",
        )
        .await;
    assert_eq!(
        (&page["configs"][0]["id"], &page["nextPageToken"]),
        (&json!("two"), &json!(""))
    );
    let found = bench
        .rpc(
            "ann",
            "GetTaskPushNotificationConfig",
            json!({ "taskId": id, "id": "one" }),
        )
        .await;
    assert_eq!(found["result"]["url"], "https://hooks.example/x");
    let old = bench
        .rpc("ann", "tasks/pushNotificationConfig/get", json!({ "id": id }))
        .await;
    assert_eq!(old["result"]["pushNotificationConfig"]["id"], "one");
    for shown in [&made, &listed, &found, &old] {
        assert!(!shown.to_string().contains("secret"), "{shown}");
    }
    let (lookup, remove) = (
        "GetTaskPushNotificationConfig",
        "DeleteTaskPushNotificationConfig",
    );
    for _ in 0..2 {
        let gone = bench
            .rpc("ann", remove, json!({ "taskId": id, "id": "one" }))
            .await;
        assert_eq!(gone["result"], json!({}), "{gone}");
        let none = bench
            .rpc("ann", lookup, json!({ "taskId": id, "id": "one" }))
            .await;
        assert_eq!(none["error"]["code"], -32001);
    }
    // No more than ten, no address inside.
    for number in 1..10 {
        let made = bench
            .rpc("ann", create, with(&id, &config(&format!("n{number}"))))
            .await;
        assert!(made.get("error").is_none(), "{made}");
    }
    let many = bench.rpc("ann", create, with(&id, &config("n10"))).await;
    assert_eq!(many["error"]["code"], -32602);
    let mut inside = config("two");
    inside["url"] = json!("https://169.254.169.254/x");
    assert_eq!(
        bench.rpc("ann", create, with(&id, &inside)).await["error"]["code"],
        -32602
    );
    // All of them go with the task's news: the store marked each due.
    bench.drain().await;
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn without_an_id_0_3_sets_the_one_configuration_of_a_task() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    for url in ["https://hooks.example/1", "https://hooks.example/2"] {
        let params = json!({ "taskId": id, "pushNotificationConfig": { "url": url } });
        let set = bench.rpc("ann", "tasks/pushNotificationConfig/set", params).await;
        assert_eq!(set["result"]["pushNotificationConfig"]["url"], url, "{set}");
    }
    let listed = bench
        .rpc("ann", "tasks/pushNotificationConfig/list", json!({ "id": id }))
        .await;
    let listed = listed["result"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(
        listed[0]["pushNotificationConfig"]["url"],
        "https://hooks.example/2"
    );
}

#[tokio::test]
async fn a_follow_up_can_register_who_wants_to_be_told() {
    let script = |number, _: &mut agent::Run| match number {
        0 => Ok(Outcome::InputRequired("What?".into())),
        _ => Ok(done()),
    };
    let bench = bench(Access::Secured, Box::new(script)).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), json!({})).await);
    let mut more = message("m2", "more");
    more["taskId"] = json!(id);
    let told = json!({ "returnImmediately": true, "taskPushNotificationConfig": config("one") });
    let sent = bench.send("ann", more.clone(), told).await;
    assert_eq!(state(&sent), "TASK_STATE_WORKING");
    let listed = bench
        .rpc("ann", "ListTaskPushNotificationConfigs", json!({ "taskId": id }))
        .await;
    assert_eq!(listed["result"]["configs"][0]["id"], "one");
    // The same again changes nothing; another message of that id is refused.
    assert_eq!(id_of(&bench.send("ann", more.clone(), now()).await), id);
    more["parts"] = json!([{ "text": "something else" }]);
    assert_eq!(bench.send("ann", more, now()).await["error"]["code"], -32602);
}

#[tokio::test]
async fn each_operation_sees_only_the_callers_own() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    // A task so large that it lies in pieces.
    let large = message("m1", &"hi ".repeat(100_000));
    let id = id_of(&bench.send("ann", large, now()).await);
    let create = json!({ "taskId": id, "url": "https://hooks.example/x", "id": "one" });
    bench
        .rpc("ann", "CreateTaskPushNotificationConfig", create.clone())
        .await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (method, params) in [
        ("GetTask", json!({ "id": id })),
        ("CancelTask", json!({ "id": id })),
        ("SubscribeToTask", json!({ "id": id })),
        ("CreateTaskPushNotificationConfig", create),
        (
            "GetTaskPushNotificationConfig",
            json!({ "taskId": id, "id": "one" }),
        ),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": id })),
        (
            "DeleteTaskPushNotificationConfig",
            json!({ "taskId": id, "id": "one" }),
        ),
        (
            "SendMessage",
            json!({ "message": { "messageId": "x", "role": "ROLE_USER", "parts": [{ "text": "x" }], "taskId": id } }),
        ),
        (
            "SendStreamingMessage",
            json!({ "message": { "messageId": "x", "role": "ROLE_USER", "parts": [{ "text": "x" }], "taskId": id } }),
        ),
    ] {
        let (foreign, calls) = store::counted(bench.rpc("bob", method, params.clone())).await;
        let other: Value = serde_json::from_str(&params.to_string().replace(&id, unknown)).unwrap();
        assert_eq!(foreign["error"]["code"], -32001, "{method}: {foreign}");
        let (nothing, calls_for_nothing) = store::counted(bench.rpc("bob", method, other)).await;
        assert_eq!(foreign["error"], nothing["error"], "{method}");
        // Nor can the two be told apart by how long they take.
        assert_eq!(calls, calls_for_nothing, "{method}");
        assert_eq!(calls.total(), 1, "{method}: {calls:?}");
        // Another tenant in the body is no way in either.
        let mut elsewhere = params;
        elsewhere["tenant"] = json!("globex");
        assert_eq!(
            bench.rpc("ann", method, elsewhere).await["error"]["code"],
            -32001,
            "{method}"
        );
    }
    let listed = bench
        .rpc("ann", "ListTaskPushNotificationConfigs", json!({ "taskId": id }))
        .await;
    assert_eq!(
        listed["result"]["configs"].as_array().unwrap().len(),
        1,
        "nothing was changed"
    );
    assert_eq!(
        state(&bench.act("ann", "GetTask", &id).await),
        "TASK_STATE_SUBMITTED"
    );
}

#[tokio::test]
async fn the_paths_below_a_tenant_are_for_that_tenant() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let request = || Request::post("/acme/message:send").header("content-type", "application/json");
    let body = json!({ "message": message("m1", "hi") });
    let (status, sent) = bench.json(Some("ann"), request(), &body.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{sent}");
    let id = sent["task"]["id"].as_str().unwrap();
    for path in [
        format!("/tasks/{id}"),
        "/tasks".into(),
        format!("/tasks/{id}/pushNotificationConfigs"),
    ] {
        let (status, own) = bench.json(Some("ann"), get(&format!("/acme{path}")), "").await;
        assert_eq!(status, StatusCode::OK, "{path}: {own}");
        assert_eq!(own, bench.json(Some("ann"), get(&path), "").await.1);
        let (status, foreign) = bench.json(Some("ann"), get(&format!("/globex{path}")), "").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}: {foreign}");
    }
    let other = json!({ "message": message("m2", "hi"), "tenant": "globex" });
    let (status, _) = bench.json(Some("ann"), request(), &other.to_string()).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let unversioned = Request::get(format!("/v1/tasks/{id}"));
    let (status, old) = bench.json(Some("ann"), unversioned, "").await;
    assert_eq!((status, &old["id"]), (StatusCode::OK, &json!(id)));
}

#[tokio::test]
async fn what_the_card_does_not_promise_is_refused() {
    let mut bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let id = id_of(&bench.send("ann", message("m1", "hi"), now()).await);
    let card = &mut Arc::get_mut(&mut bench.agent).unwrap().card;
    (card.streaming, card.push_notifications, card.extended) = (false, false, false);
    let by_config = json!({ "taskId": id, "id": "one", "url": "https://hooks.example/x" });
    for (method, params, code) in [
        (
            "SendStreamingMessage",
            json!({ "message": message("m2", "hi") }),
            -32004,
        ),
        ("SubscribeToTask", json!({ "id": id }), -32004),
        ("GetExtendedAgentCard", json!({}), -32004),
        ("CreateTaskPushNotificationConfig", by_config.clone(), -32003),
        ("GetTaskPushNotificationConfig", by_config.clone(), -32003),
        ("ListTaskPushNotificationConfigs", by_config.clone(), -32003),
        ("DeleteTaskPushNotificationConfig", by_config, -32003),
    ] {
        let refused = bench.rpc("ann", method, params).await;
        assert_eq!(refused["error"]["code"], code, "{method}: {refused}");
    }
}

#[tokio::test]
async fn an_extended_card_is_for_callers_who_show_who_they_are() {
    let mut bench = bench(Access::Open, Box::new(|_, _| Ok(done()))).await;
    Arc::get_mut(&mut bench.agent).unwrap().card.extended = true;
    let none = bench.rpc("ann", "GetExtendedAgentCard", json!({})).await;
    assert_eq!(none["error"]["code"], -32007);
    bench.executor.extended.store(true, Ordering::SeqCst);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard" });
    let (status, refused) = bench.call(None, &body).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(refused["www_authenticate"].is_string());
    let shown = bench.call(Some(&bench.token("ann")), &body).await.1;
    assert_eq!(shown["result"]["description"], "More for ann");
    let (_, rest) = bench.json(Some("ann"), get("/extendedAgentCard"), "").await;
    assert_eq!(rest["description"], "More for ann");
    assert_eq!(
        bench.json(None, get("/extendedAgentCard"), "").await.0,
        StatusCode::UNAUTHORIZED
    );
    let (_, old) = bench.json(Some("ann"), Request::get("/v1/card"), "").await;
    assert_eq!(old["protocolVersion"], "0.3.0");
}

#[tokio::test]
async fn versions_and_media_types_that_are_none_are_refused() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let body = json!({ "message": message("m1", "hi") }).to_string();
    let plain_json = || Request::post("/message:send").header("content-type", "application/json");
    let (status, told) = bench
        .json(Some("ann"), plain_json().header("a2a-version", "99.0"), &body)
        .await;
    assert_eq!(
        (status, &told["error"]["details"][0]["reason"]),
        (StatusCode::BAD_REQUEST, &json!("VERSION_NOT_SUPPORTED"))
    );
    let plain = Request::post("/message:send").header("content-type", "text/plain");
    let (status, told) = bench.json(Some("ann"), plain, &body).await;
    assert_eq!(
        (status, &told["error"]["code"]),
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, &json!(415))
    );
    let query = Request::post("/message:send?A2A-Version=0.3").header("content-type", "application/json");
    assert_eq!(
        bench.json(Some("ann"), query, &body).await.0,
        StatusCode::BAD_REQUEST
    );
    let own = Request::post("/message:send").header("content-type", "application/a2a+json");
    let response = bench.ask(Some("ann"), own, &body).await;
    assert_eq!(response.headers()["content-type"], "application/a2a+json");
    assert_eq!(response.status(), StatusCode::OK);
}
