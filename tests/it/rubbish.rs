//! Rubbish at every endpoint: a typed 4xx, never a 5xx, never a panic, and nothing stored.

use std::time::Duration;

use local::Signer;
use reqwest::Method;
use serde_json::Value;
use system_testing::Local;
use system_testing::browser::Browser;

use crate::erased::everything;
use crate::sign_in::{chat_of, demo, sign_in};

struct Case {
    method: Method,
    path: String,
    bearer: Option<String>,
    cookie: Option<String>,
}

/// The session of somebody at `acme`.
pub(crate) async fn cookie_of(local: &Local, name: &str) -> String {
    let mut browser = Browser::default();
    sign_in(local, &mut browser, demo(local, name)).await;
    chat_of(local, &browser).cookie().expect("a session")
}

/// The users of `acme` at its authorization server, and a token for them.
fn users_of_acme(local: &Local) -> (String, Option<String>) {
    let users = format!("{}/users", local.issuer("acme"));
    let signer = Signer::Session("acme");
    let token = local
        .system
        .signed(signer, "user-adam", &users, "users", Duration::ZERO);
    (users, token)
}

/// Every endpoint that takes a body, with credentials that are good where some are needed: rubbish must be refused for
/// what it is, not for who sends it.
fn bodies(local: &Local, (admins, operators): (&str, &str)) -> Vec<Case> {
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let weather = local.endpoint("/agents/weather").trim_end_matches('/').to_owned();
    let airbnb = local.endpoint("/agents/airbnb").trim_end_matches('/').to_owned();
    let calendar = local
        .endpoint("/agents/calendar")
        .trim_end_matches('/')
        .to_owned();
    let for_calendar = local.system.token("acme", "rubbish", &calendar).expect("a token");
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let admin = local.endpoint("/registry_token").to_owned();
    let for_host = local.system.token("acme", "rubbish", &host).expect("a token");
    let case = |method: Method, path: String, bearer: Option<&String>| Case {
        method,
        path,
        bearer: bearer.cloned(),
        cookie: None,
    };
    let mut cases = vec![
        case(Method::POST, format!("{base}/api/chat"), None),
        case(
            Method::POST,
            format!("{base}/api/webhook/tasks"),
            Some(&"rubbish".to_owned()),
        ),
        case(Method::POST, format!("{registry}/agents"), Some(&admin)),
        case(Method::PUT, format!("{registry}/types/rubbish"), Some(&admin)),
    ];
    let pass = local.system.push_pass("acme", "rubbish");
    cases.push(case(
        Method::POST,
        format!("{base}/api/push/tasks"),
        pass.as_ref(),
    ));
    let (users, for_users) = users_of_acme(local);
    cases.push(case(Method::POST, users.clone(), for_users.as_ref()));
    cases.push(case(Method::PATCH, format!("{users}/ada"), for_users.as_ref()));
    let rehearser = local.system.signed(
        Signer::Session("acme"),
        "rubbish",
        &host,
        "rehearse",
        Duration::ZERO,
    );
    cases.push(case(
        Method::POST,
        format!("{host}/rehearsal"),
        rehearser.as_ref(),
    ));
    for (method, path, cookie) in [
        (Method::POST, "admin/users", admins),
        (Method::PATCH, "admin/users/ada", admins),
        (Method::PATCH, "admin/settings", admins),
        (Method::POST, "ops/deliveries/replay", operators),
        (Method::POST, "ops/agents/nope/check", operators),
        (Method::POST, "session/guest", admins),
        (Method::PATCH, "chats/nope", admins),
        (Method::PUT, "push", admins),
        (
            Method::PUT,
            "chats/nope/feedback/00000000-0000-4000-8000-000000000000",
            admins,
        ),
    ] {
        cases.push(Case {
            cookie: Some(cookie.to_owned()),
            ..case(method, format!("{base}/api/{path}"), None)
        });
    }
    for (agent, token) in [
        (&host, Some(&for_host)),
        (&weather, None),
        (&airbnb, None),
        (&calendar, Some(&for_calendar)),
    ] {
        for path in ["", "/", "/jsonrpc", "/message:send", "/v1/message:send"] {
            cases.push(case(Method::POST, format!("{agent}{path}"), token));
        }
    }
    cases
}

fn rubbish() -> Vec<(&'static str, Vec<u8>)> {
    let deep = "[".repeat(100_000);
    let huge_id = "9".repeat(100_000);
    let send = |message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message}}}}}"#)
    };
    vec![
        ("empty", Vec::new()),
        ("truncated JSON", br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"#.to_vec()),
        ("not JSON", b"\xff\xfe\x00 hello".to_vec()),
        ("NULs", vec![0; 4096]),
        ("a number", b"42".to_vec()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a list of rubbish", b"[1,{},null]".to_vec()),
        ("an empty object", b"{}".to_vec()),
        ("wrong types", br#"{"jsonrpc":2,"id":{},"method":[],"params":"x","message":7,"messages":{},"cardUrl":[],"scope":4}"#.to_vec()),
        ("an unknown method", br#"{"jsonrpc":"2.0","id":1,"method":"tasks/destroyAll","params":{}}"#.to_vec()),
        ("a huge method", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{huge_id}"}}"#).into_bytes()),
        ("a huge id", format!(r#"{{"jsonrpc":"2.0","id":"{huge_id}","method":"GetTask","params":{{"id":"{huge_id}"}}}}"#).into_bytes()),
        ("deep nesting", deep.into_bytes()),
        ("no parts", send(r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#).into_bytes()),
        ("a part of nothing", send(r#"{"messageId":"m","role":"ROLE_USER","parts":[{}]}"#).into_bytes()),
        ("a message id with NUL", send(r#"{"messageId":"m\u0000","role":"ROLE_USER","parts":[{"text":"x"}]}"#).into_bytes()),
        ("a huge message id", send(&format!(r#"{{"messageId":"{huge_id}","role":"ROLE_USER","parts":[{{"text":"x"}}]}}"#)).into_bytes()),
        ("an unknown task", send(r#"{"messageId":"m","taskId":"nope","role":"ROLE_USER","parts":[{"text":"x"}]}"#).into_bytes()),
        ("10 MB", vec![b'a'; 10 * 1024 * 1024]),
        ("10 MB of JSON", format!(r#"{{"id":"c","messages":["{}"]}}"#, "x".repeat(10 * 1024 * 1024)).into_bytes()),
    ]
}

/// An error says what it is: `error`, or over REST of A2A 0.3 a bare error object with `code` and `type`.
fn has_type(value: &Value) -> bool {
    value.get("error").is_some() || (value.get("code").is_some() && value.get("type").is_some())
}

/// JSON-RPC answers errors with HTTP 200 and an error object.
fn typed(status: u16, body: &str, what: &str) {
    let value: Value = serde_json::from_str(body)
        .unwrap_or_else(|_| panic!("{what}: {status}, not JSON: {}", &body[..body.len().min(300)]));
    assert!(has_type(&value), "{what}: {status} without an error: {value}");
    assert!(
        status == 200 || (400..500).contains(&status),
        "{what}: {status} {value}"
    );
    if status == 200 {
        let code = value["error"]["code"].as_i64().unwrap_or_default();
        assert!(code < 0 && code != -32603, "{what}: {value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_endpoint_refuses_rubbish_with_a_typed_4xx_and_stores_nothing() {
    let local = Local::start().await;
    let http = system_testing::user::http();
    let admins = cookie_of(&local, "adam").await;
    let operators = cookie_of(&local, "olga").await;
    // The audit has what was refused, and nothing that was done.
    let stored = async || {
        let items = everything(&local).await;
        let left = items
            .iter()
            .filter(|(table, item)| *table != "audit" || item["result"]["S"] == "done");
        left.count()
    };
    let before = stored().await;
    for case in bodies(&local, (&admins, &operators)) {
        for (what, body) in rubbish() {
            let mut request = http
                .request(case.method.clone(), &case.path)
                .header("content-type", "application/json");
            if let Some(bearer) = &case.bearer {
                request = request.bearer_auth(bearer);
            }
            if let Some(cookie) = &case.cookie {
                request = request.header("cookie", cookie);
            }
            let told = format!("{what} at {} {}", case.method, case.path);
            match request.body(body).send().await {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let text = answer.text().await.unwrap_or_default();
                    typed(status, &text, &told);
                }
                // A server may cut a body off that is far beyond its bound, but only that.
                Err(error) => assert!(what.starts_with("10 MB"), "{told}: {error:?}"),
            }
        }
    }
    assert_eq!(stored().await, before, "rubbish left something in the tables");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_methods_and_ids_are_typed_too() {
    let local = Local::start().await;
    let http = system_testing::user::http();
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let gateway = local.endpoint("/gateway").trim_end_matches('/').to_owned();
    let admin = local.endpoint("/registry_token").to_owned();
    let for_host = local.system.token("acme", "rubbish", &host).expect("a token");
    let admins = cookie_of(&local, "adam").await;
    let operators = cookie_of(&local, "olga").await;
    let (users, for_users) = users_of_acme(&local);
    let long = "x".repeat(7000);
    let odd = [
        "nope",
        "%00",
        "%ff%fe",
        "..%2f..%2fetc",
        "%23",
        long.as_str(),
        "00000000-0000-0000-0000-000000000000",
    ];
    for id in odd {
        for (method, path, bearer) in [
            (Method::GET, format!("{base}/api/tasks/{id}"), None),
            (Method::GET, format!("{base}/api/tasks/{id}/events"), None),
            (Method::GET, format!("{base}/api/tasks/{id}/files/{id}"), None),
            (Method::POST, format!("{base}/api/tasks/{id}/cancel"), None),
            (Method::POST, format!("{base}/api/tasks/{id}/share"), None),
            (Method::GET, format!("{base}/api/tasks/{id}/share"), None),
            (Method::DELETE, format!("{base}/api/tasks/{id}/share"), None),
            (Method::GET, format!("{base}/api/tasks?contextId={id}"), None),
            (Method::GET, format!("{base}/api/chats/{id}/messages"), None),
            (
                Method::GET,
                format!("{base}/api/chats/{id}/messages/{id}/files/{id}"),
                None,
            ),
            (Method::GET, format!("{base}/api/chat/{id}/stream"), None),
            (Method::POST, format!("{base}/api/chat/{id}/stop"), None),
            (Method::PATCH, format!("{base}/api/chats/{id}"), None),
            (Method::DELETE, format!("{base}/api/chats/{id}"), None),
            (Method::PUT, format!("{base}/api/chats/{id}/feedback/{id}"), None),
            (Method::GET, format!("{base}/api/events?after={id}"), None),
            (Method::DELETE, format!("{base}/api/connections/{id}"), None),
            (Method::DELETE, format!("{base}/api/push/{id}"), None),
            (Method::GET, format!("{base}/api/ops/eval?say={id}&at={id}"), None),
            (Method::POST, format!("{base}/api/ops/agents/{id}/check"), None),
            (Method::POST, format!("{base}/api/ops/agents/{id}/{id}"), None),
            (
                Method::GET,
                format!("{base}/api/ops/deliveries?cursor={id}"),
                None,
            ),
            (Method::GET, format!("{base}/{id}"), None),
            (Method::GET, format!("{host}/tasks/{id}"), Some(&for_host)),
            (Method::GET, format!("{host}/v1/tasks/{id}"), Some(&for_host)),
            (Method::POST, format!("{host}/tasks/{id}:cancel"), Some(&for_host)),
            (
                Method::POST,
                format!("{host}/tasks/{id}:refresh"),
                Some(&for_host),
            ),
            (
                Method::POST,
                format!("{host}/tasks/{id}:explode"),
                Some(&for_host),
            ),
            (Method::GET, format!("{registry}/agents/{id}"), Some(&admin)),
            (Method::DELETE, format!("{registry}/agents/{id}"), Some(&admin)),
            (
                Method::POST,
                format!("{registry}/agents/{id}/check"),
                Some(&admin),
            ),
            (
                Method::POST,
                format!("{registry}/agents/{id}/disable"),
                Some(&admin),
            ),
            (
                Method::GET,
                format!("{registry}/agents?disabled={id}"),
                Some(&admin),
            ),
            (Method::GET, format!("{registry}/agents?tag={id}"), Some(&admin)),
            (Method::PUT, format!("{registry}/types/{id}"), Some(&admin)),
            (Method::DELETE, format!("{registry}/types/{id}"), Some(&admin)),
            (Method::GET, format!("{users}?cursor={id}"), for_users.as_ref()),
            (Method::PATCH, format!("{users}/{id}"), for_users.as_ref()),
            (Method::DELETE, format!("{users}/{id}"), for_users.as_ref()),
            (Method::POST, format!("{users}/{id}/reset"), for_users.as_ref()),
            (Method::POST, format!("{users}/{id}/end"), for_users.as_ref()),
            (Method::PATCH, format!("{base}/api/admin/users/{id}"), None),
            (Method::DELETE, format!("{base}/api/admin/users/{id}"), None),
            (Method::POST, format!("{base}/api/admin/users/{id}/reset"), None),
            (Method::POST, format!("{base}/api/admin/users/ada/{id}"), None),
            (Method::GET, format!("{gateway}/a/{id}"), None),
            (Method::GET, format!("{gateway}/t/{id}/api/chats"), None),
            (Method::GET, format!("{gateway}/{id}"), None),
        ] {
            let mut request = http
                .request(method.clone(), &path)
                .header("content-type", "application/json");
            if let Some(bearer) = bearer {
                request = request.bearer_auth(bearer);
            }
            for (part, cookie) in [("/api/admin/", &admins), ("/api/ops/", &operators)] {
                if path.contains(part) {
                    request = request.header("cookie", cookie);
                }
            }
            let answer = request.send().await.expect("an answer");
            let status = answer.status().as_u16();
            let short: String = path.chars().take(160).collect();
            assert!(status < 500, "{method} {short}: {status}");
            if (400..500).contains(&status) && method != Method::HEAD {
                let body = answer.text().await.unwrap_or_default();
                let value: Value = serde_json::from_str(&body)
                    .unwrap_or_else(|_| panic!("{method} {short}: {status} {body:?}"));
                assert!(has_type(&value), "{method} {short}: {value}");
            }
        }
    }
    for path in [
        format!("{base}/api/chat"),
        format!("{base}/api/webhook/tasks"),
        format!("{host}/message:send"),
        format!("{registry}/types"),
    ] {
        let answer = http
            .request(Method::PATCH, &path)
            .bearer_auth(&admin)
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 405, "PATCH {path}");
        assert!(
            answer
                .json::<Value>()
                .await
                .expect("typed")
                .get("error")
                .is_some()
        );
    }
    local.system.stop().await;
}

/// W1: the webhook's refusals, one by one.
#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_says_what_is_wrong() {
    let local = Local::start().await;
    let http = system_testing::user::http();
    let url = format!(
        "{}/api/webhook/tasks",
        local.endpoint("/tenants/acme/base").trim_end_matches('/')
    );
    let task = r#"{"task":{"id":"r","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let plain = r#"{"taskId":"r","status":"completed","result":"forged"}"#;
    let user = local.user("acme");
    let id = user.ask("Will it rain in Oslo tomorrow?").await.task_id();
    let done = user.until(&id, &["completed"]).await;
    for (token, wanted) in [
        (None, 401),
        (Some("rubbish".to_owned()), 401),
        (Some(format!("{id}.{}", "A".repeat(43))), 401),
        (Some("00000000-0000-4000-8000-000000000000.AAAA".to_owned()), 401),
    ] {
        // Few enough guesses for one source.
        for (header, body) in [("authorization", task), ("x-a2a-notification-token", plain)] {
            let mut request = http
                .post(&url)
                .header("content-type", "application/a2a+json")
                .body(body);
            if let Some(token) = &token {
                let value = if header == "authorization" {
                    format!("Bearer {token}")
                } else {
                    token.clone()
                };
                request = request.header(header, value);
            }
            assert_eq!(
                request.send().await.expect("an answer").status(),
                wanted,
                "{header}: {token:?}"
            );
        }
    }
    assert_eq!(user.task(&id).await, done, "nothing changed");
    local.system.stop().await;
}
