//! Web pages whose names point at this machine (DNS rebinding).

use local::{Options, System};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::http::request;

/// As a browser asks whose page is of the name `name`, which leads here.
fn from_a_page(name: &str, method: Method, url: &Url) -> RequestBuilder {
    let authority = format!("{name}:{}", url.port().unwrap());
    request(method, url)
        .header("host", &authority)
        .header("origin", format!("http://{authority}"))
        .header("sec-fetch-site", "same-origin")
}

/// What somebody gets at every listener under that name: the index, the API document, a chat turn, a token of the
/// authorization server, an agent's card, a stand-in of AWS, an operator's list, the tables.
async fn answers(system: &System, name: &str) -> Vec<(StatusCode, String)> {
    let endpoints = system.endpoints();
    let acme = endpoints
        .tenants
        .iter()
        .find(|(tenant, _)| tenant.name() == "acme");
    let acme = acme.unwrap().1;
    let at = |path: &str| endpoints.gateway.join(path).unwrap();
    let below = |base: &Url, path: &str| Url::parse(&format!("{base}{path}")).unwrap();
    // Each of them is another guest.
    let chat: u32 = name.bytes().map(u32::from).sum();
    let turn = json!({
        "id": format!("chat-{chat}"),
        "message": {
            "id": "7d8f1c2e-1111-4222-8333-000000000002",
            "role": "user",
            "parts": [{"type": "text", "text": "What needs consent?"}],
        },
    });
    let key = &endpoints.dynamodb_key.as_ref().unwrap().access_key_id;
    let tables = from_a_page(name, Method::POST, &endpoints.dynamodb)
        .header("authorization", signed(key))
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .body("{}");
    let asked = [
        from_a_page(name, Method::GET, &endpoints.gateway),
        from_a_page(name, Method::GET, &at("openapi.json")),
        from_a_page(name, Method::POST, &below(&acme.base, "/api/chat")).json(&turn),
        from_a_page(
            name,
            Method::GET,
            &below(&acme.host_agent, "/.well-known/agent-card.json"),
        ),
        from_a_page(name, Method::GET, &at("admin/tenants")).bearer_auth(&endpoints.admin_token),
        tables,
    ];
    let mut answers = Vec::new();
    for request in asked {
        let response = request.send().await.unwrap();
        answers.push((response.status(), response.text().await.unwrap()));
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_foreign_name_gets_nothing_from_any_listener() {
    let system = System::start(Options::default()).await.unwrap();
    for name in ["evil.example", "localhost.evil.example", "10.0.0.7"] {
        for (status, body) in answers(&system, name).await {
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{name}: {body}");
            let told: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(told["error"], "unknown_host", "{body}");
        }
    }
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        for (status, body) in answers(&system, name).await {
            assert_eq!(status, StatusCode::OK, "{name}: {body}");
        }
    }
    system.stop().await;
}

/// What of a signature names the access key.
fn signed(key: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential={key}/20260101/eu-north-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_reads_or_changes_the_tables_without_their_access_key() {
    let system = System::start(Options::default()).await.unwrap();
    let endpoints = system.endpoints();
    let call = async |key: Option<&str>, operation: &str, body: Value| {
        let mut request = request(Method::POST, &endpoints.dynamodb)
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
        if let Some(key) = key {
            request = request.header("authorization", signed(key));
        }
        let answer = request.body(body.to_string()).send().await.unwrap();
        let status = answer.status();
        (status, answer.json::<Value>().await.unwrap())
    };
    let scan = json!({ "TableName": "switchyard-identity" });
    let user = json!({ "TableName": "switchyard-identity",
        "Key": { "pk": { "S": "acme#user#ada" }, "sk": { "S": "USER" } } });
    let asked = [
        ("ListTables", json!({})),
        ("Scan", scan.clone()),
        ("DeleteItem", user.clone()),
    ];
    for key in [None, Some("local"), Some("test"), Some("")] {
        for (operation, body) in &asked {
            let (status, told) = call(key, operation, body.clone()).await;
            assert_eq!(
                status,
                StatusCode::BAD_REQUEST,
                "{operation} with {key:?}: {told}"
            );
            let kind = told["__type"].as_str().unwrap();
            assert!(
                [
                    "UnrecognizedClientException",
                    "MissingAuthenticationTokenException"
                ]
                .iter()
                .any(|known| kind.ends_with(known)),
                "{told}"
            );
        }
    }
    let key = endpoints.dynamodb_key.as_ref().unwrap();
    let (status, found) = call(Some(&key.access_key_id), "GetItem", user).await;
    assert_eq!(status, StatusCode::OK, "{found}");
    assert!(found["Item"].is_object(), "nobody deleted it: {found}");
    let another = System::start(Options::default()).await.unwrap();
    assert_ne!(another.endpoints().dynamodb_key, endpoints.dynamodb_key);
    another.stop().await;
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_given_is_answered() {
    let options = Options {
        hosts: vec!["desk.example".parse().unwrap()],
        ..Options::default()
    };
    let system = System::start(options).await.unwrap();
    for (status, body) in answers(&system, "desk.example").await {
        assert_eq!(status, StatusCode::OK, "{body}");
    }
    for (status, _) in answers(&system, "table.example").await {
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST);
    }
    system.stop().await;
}
