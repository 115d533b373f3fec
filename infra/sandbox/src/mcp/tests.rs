//! The server's own protocol, asked by hand; the official clients ask it elsewhere.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use tower::ServiceExt as _;

use super::*;

async fn ask(revisions: Revisions, headers: &[(&str, &str)], body: &Value) -> (StatusCode, Value) {
    let mut request = Request::post("/").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = mcp(revisions).oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

fn newest(method: &str, name: Option<&str>) -> Value {
    let mut params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": NEWEST}});
    if let Some(name) = name {
        params["name"] = name.into();
        params["arguments"] = json!({"location": "Oslo"});
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[tokio::test]
async fn a_call_of_the_newest_revision_stands_for_itself() {
    let headers = [
        ("mcp-protocol-version", NEWEST),
        ("mcp-method", "tools/call"),
        ("mcp-name", "airbnb_search"),
    ];
    let call = newest("tools/call", Some("airbnb_search"));
    let (status, answer) = ask(Revisions::Both, &headers, &call).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let found: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        (
            &found["sandbox"],
            found["searchResults"].as_array().unwrap().len()
        ),
        (&json!(true), 10)
    );
    let (status, answer) = ask(Revisions::Both, &headers[..1], &call).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!(-32020))
    );
}

#[tokio::test]
async fn who_knows_only_the_handshake_says_so() {
    let headers = [
        ("mcp-protocol-version", NEWEST),
        ("mcp-method", "server/discover"),
    ];
    let discover = newest("server/discover", None);
    let (_, answer) = ask(Revisions::Both, &headers, &discover).await;
    assert_eq!(answer["result"]["supportedVersions"], json!([NEWEST, BEFORE]));
    let (_, answer) = ask(Revisions::Before, &headers, &discover).await;
    assert_eq!(answer["error"]["code"], -32601);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let (_, answer) = ask(Revisions::Before, &[], &hello).await;
    assert_eq!(answer["result"]["protocolVersion"], BEFORE);
    let (status, _) = ask(
        Revisions::Before,
        &[],
        &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    )
    .await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let (status, _) = ask(Revisions::Both, &[], &json!([])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
