//! What users choose becomes part of keys: chats, messages, contexts, tasks, push configurations, names. A `#` parts keys, and a
//! `.` a tenant's name from its incarnation; neither may lead out of the part that it was chosen for.

use std::time::Duration;

use local::Signer;
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::Local;
use system_testing::oauth;

use crate::sign_in::{chat_of, demo, sign_in};
use crate::tenants::admin;

/// What each chosen part begins with, so that it is found in the tables.
const MARK: &str = "zq9";

/// Everything that is tried in each place.
fn odd() -> Vec<String> {
    [
        "#x",
        "#",
        "##",
        "#MESSAGE#1",
        "#chat#victims",
        ".x",
        ".7f3a9c2e",
        "..",
        ".#x",
        "#.x",
        "%23x",
        "%2523x",
        "/#x",
        "#TASK",
        "#EVENT#1",
        "#owner#a",
        "\u{ff03}x",
        "\u{fe5f}x",
    ]
    .map(|text| format!("{MARK}{text}"))
    .to_vec()
}

/// The keys of every item that name the mark.
async fn keys(local: &Local) -> Vec<(String, String)> {
    let url = local.system.endpoints().database();
    let call = async |operation: &str, body: Value| {
        system_testing::dynamodb::call(url.as_str(), operation, &body).await
    };
    let tables = call("ListTables", json!({})).await;
    let mut found = Vec::new();
    for table in tables["TableNames"].as_array().expect("tables") {
        let page = call("Scan", json!({ "TableName": table })).await;
        for item in page["Items"].as_array().expect("items") {
            for part in item.as_object().expect("an item") {
                let text = part.1["S"].as_str().unwrap_or_default();
                let is_key = ["pk", "sk"].contains(&part.0.as_str())
                    || part.0.ends_with("_pk")
                    || part.0.starts_with("by_");
                if is_key && text.contains(MARK) {
                    found.push((part.0.clone(), text.to_owned()));
                }
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn no_chosen_part_of_a_key_becomes_two() {
    let local = Local::start().await;
    let (victim, user) = (local.user("acme"), local.user("acme"));
    victim
        .chat(&format!("{MARK}-victims"), "m1", "my secret is SWORDFISH")
        .await;
    user.chat(&format!("{MARK}-own"), "m1", "Hello").await;
    let mut browser = system_testing::browser::Browser::default();
    sign_in(&local, &mut browser, demo(&local, "adam")).await;
    let adam = chat_of(&local, &browser);
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let token = local
        .system
        .signed(Signer::Session("acme"), "user-x", &host, "tasks", Duration::ZERO)
        .expect("a token");
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let mut answers = Vec::new();
    for part in odd() {
        let encoded: String = url::form_urlencoded::byte_serialize(part.as_bytes()).collect();
        // Chats and messages.
        let message = json!({ "id": "m-1", "role": "user", "parts": [{ "type": "text", "text": "Hello" }] });
        let odd_message =
            json!({ "id": part, "role": "user", "parts": [{ "type": "text", "text": "Hello" }] });
        for body in [
            json!({ "id": part, "message": message }),
            json!({ "id": format!("{MARK}-own"), "message": odd_message }),
            json!({ "id": format!("{MARK}-own"), "message": message, "taskId": part, "model": part }),
        ] {
            answers.push((
                "POST /api/chat",
                user.call(Method::POST, "/api/chat", Some(body)).await.into(),
            ));
        }
        for path in [
            format!("/api/chats/{encoded}/messages"),
            format!("/api/chats/{MARK}-own/messages/{encoded}/files/0"),
            format!("/api/tasks/{encoded}"),
            format!("/api/chats?cursor={encoded}"),
            format!("/api/tasks?contextId={encoded}"),
            format!("/api/chats?q={encoded}"),
            format!("/connect/{encoded}"),
        ] {
            answers.push(("GET", user.get(&path).await.into()));
        }
        let path = format!("/api/chats/{MARK}-own/feedback/{encoded}");
        let body = json!({ "verdict": "good" });
        answers.push((
            "PUT feedback",
            user.call(Method::PUT, &path, Some(body)).await.into(),
        ));
        // A2A: message, context, task and push configuration.
        let push = json!({ "id": part, "url": "https://receiver.example/x", "token": part });
        for (id, context, task) in [
            (&part, None, None),
            (&"m".to_owned(), Some(&part), None),
            (&"n".to_owned(), None, Some(&part)),
        ] {
            let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "Hello" }] });
            if let Some(context) = context {
                message["contextId"] = json!(context);
            }
            if let Some(task) = task {
                message["taskId"] = json!(task);
            }
            let params = json!({ "message": message, "configuration": { "returnImmediately": true, "taskPushNotificationConfig": push } });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
            let asked = system_testing::user::http()
                .post(&host)
                .bearer_auth(&token)
                .header("a2a-version", "1.0")
                .json(&call);
            answers.push(("SendMessage", told(asked).await));
        }
        // Names at the registry, the authorization server, and of tenants and users.
        for path in [
            format!("/agents/{encoded}"),
            format!("/agents?tag=type%3A{encoded}"),
            format!("/agents?tenant={encoded}"),
        ] {
            let asked = system_testing::user::http()
                .get(format!("{registry}{path}"))
                .bearer_auth(local.endpoint("/registry_token"));
            answers.push(("GET registry", told(asked).await));
        }
        let asked = system_testing::user::http()
            .put(format!("{registry}/types/{encoded}"))
            .bearer_auth(local.endpoint("/registry_token"))
            .json(&json!({ "scope": "global" }));
        answers.push(("PUT type", told(asked).await));
        let idp = local.endpoint("/idp").trim_end_matches('/');
        for tenant in [
            encoded.clone(),
            format!("acme{encoded}"),
            "acme.7f3a9c2e".to_owned(),
            "acme%23user".to_owned(),
        ] {
            let asked =
                system_testing::user::http().get(format!("{idp}/{tenant}/.well-known/openid-configuration"));
            let answer = told(asked).await;
            assert_eq!(answer.status, 404, "{tenant}: {answer:?}");
        }
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", part.as_str()),
            ("client_secret", "x"),
        ];
        let asked = system_testing::user::http()
            .post(format!("{idp}/acme/token"))
            .header("content-type", "application/x-www-form-urlencoded");
        let body: String = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        answers.push(("POST token", told(asked.body(body)).await));
        for (path, body) in [
            ("/tenants", json!({ "name": part })),
            ("/tenants/acme/users", json!({ "username": part })),
        ] {
            let (status, text) = admin(&local, Method::POST, path, Some(body)).await;
            assert!(
                status.is_client_error() || path.ends_with("/users"),
                "{path} {part}: {status} {text}"
            );
            answers.push((
                "admin",
                Told {
                    status: status.as_u16(),
                    text: text.to_string(),
                },
            ));
        }
        // Users and settings, by an admin's session and by a token for the users.
        let users = format!("{}/users", local.issuer("acme"));
        let for_users = local.system.signed(
            Signer::Session("acme"),
            "user-adam",
            &users,
            "users",
            Duration::ZERO,
        );
        let for_users = for_users.expect("a token");
        let named = json!({ "username": part });
        let roles = json!({ "roles": ["operator"] });
        for (method, below, body) in [
            (Method::GET, format!("?cursor={encoded}"), None),
            (Method::POST, String::new(), Some(&named)),
            (Method::PATCH, format!("/{encoded}"), Some(&roles)),
            (Method::POST, format!("/{encoded}/reset"), None),
            (Method::POST, format!("/{encoded}/end"), None),
        ] {
            let asked = system_testing::user::http()
                .request(method.clone(), format!("{users}{below}"))
                .bearer_auth(&for_users);
            let asked = match body {
                Some(body) => asked.json(body),
                None => asked,
            };
            answers.push(("users", told(asked).await));
            let path = format!("/api/admin/users{below}");
            answers.push((
                "users in the chat",
                adam.call(method, &path, body.cloned()).await.into(),
            ));
        }
        for setting in [json!({ "brand": part }), json!({ part.clone(): "x" })] {
            let answer = adam
                .call(Method::PATCH, "/api/admin/settings", Some(setting))
                .await;
            answers.push(("settings", answer.into()));
        }
        let login = json!({ "username": part, "password": "x" });
        let mut browser = system_testing::browser::Browser::default();
        let base = local.endpoint("/tenants/acme/base").trim_end_matches('/');
        let page = oauth::agree(&mut browser, &format!("{base}/signin"), &login).await;
        answers.push((
            "sign in",
            Told {
                status: page.status.as_u16(),
                text: page.html,
            },
        ));
    }
    for (place, answer) in &answers {
        assert!(answer.status < 500, "{place}: {answer:?}");
        assert!(!answer.text.contains("SWORDFISH"), "{place}: {answer:?}");
    }
    // What is a name like any other is one, at each place where names of users are chosen.
    for place in ["users", "users in the chat"] {
        let told = |status| {
            answers
                .iter()
                .any(|(at, answer)| *at == place && answer.status == status)
        };
        assert!(told(200) && told(404) && (told(201) || told(409)), "{place}");
    }
    let taken = answers.iter().filter(|(_, answer)| answer.status == 200).count();
    assert!(taken > 0, "some of it is a name like any other");
    for (attribute, key) in keys(&local).await {
        // What was chosen is one part, and where it holds what parts keys, the last one: nothing can follow from it.
        let (_, chosen) = key.split_once(MARK).expect("the mark");
        if chosen.starts_with(['#', '%', '/']) || chosen.starts_with(".#") {
            let whole = format!("{MARK}{chosen}");
            assert!(odd().contains(&whole), "more follows in the key {key}");
        }
        let begins = attribute == "pk" && key.starts_with(MARK);
        assert!(!begins, "a tenant was made of it: {key}");
    }
    // The victim's chat is what it was.
    let chat = victim.get(&format!("/api/chats/{MARK}-victims/messages")).await;
    assert!(chat.text.contains("SWORDFISH"), "{chat:?}");
    local.system.stop().await;
}

#[derive(Debug)]
struct Told {
    status: u16,
    text: String,
}

impl From<system_testing::user::Answer> for Told {
    fn from(answer: system_testing::user::Answer) -> Self {
        Self {
            status: answer.status.as_u16(),
            text: answer.text,
        }
    }
}

async fn told(request: reqwest::RequestBuilder) -> Told {
    let answer = request.send().await.expect("an answer");
    let status = answer.status().as_u16();
    Told {
        status,
        text: answer.text().await.expect("text"),
    }
}
