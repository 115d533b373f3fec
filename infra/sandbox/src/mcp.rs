//! An MCP server with places to stay, made up and labelled, whose tools have the names and answers of the open-source
//! server for Airbnb. It speaks the revision 2026-07-28, in which each call stands for itself, and 2025-11-25 with its
//! handshake, or that one alone.
//!
//! Not here: sessions, streams, prompts, resources.

mod listings;

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Map, Value, json};

/// The host of the links in its answers; nobody is there.
pub const LINK_HOST: &str = "listings.sandbox.example";

const NEWEST: &str = "2026-07-28";
const BEFORE: &str = "2025-11-25";
/// How long the list of tools is good, in milliseconds.
const TOOLS_FOR: u32 = 300_000;

/// Which revisions of the protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revisions {
    /// 2026-07-28 and 2025-11-25.
    Both,
    /// 2025-11-25, as servers do that nobody has touched since.
    Before,
}

/// The server, to be mounted at its address.
pub fn mcp(revisions: Revisions) -> Router {
    Router::new().route("/", post(answer)).with_state(revisions)
}

/// The tools as `tools/list` has them.
#[must_use]
pub fn tools() -> &'static [Map<String, Value>] {
    static READ: OnceLock<Vec<Map<String, Value>>> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(include_str!("mcp/tools.json")).unwrap_or_default())
}

/// A JSON-RPC error.
struct Refusal(i32, String);

fn refused<T>(code: i32, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(code, message.into()))
}

async fn answer(State(revisions): State<Revisions>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(Value::Object(request)) = serde_json::from_slice(&body) else {
        let refusal = error(&Value::Null, Refusal(-32700, "this is no JSON object".into()));
        return (StatusCode::BAD_REQUEST, refusal).into_response();
    };
    let Some(id) = request.get("id") else {
        return StatusCode::ACCEPTED.into_response();
    };
    let result = match told(revisions, &headers, &request) {
        Ok(Revision::Newest) => newest(&request),
        Ok(Revision::Before) => before(&request),
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(result) => Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response(),
        Err(refusal) => (StatusCode::BAD_REQUEST, error(id, refusal)).into_response(),
    }
}

fn error(id: &Value, Refusal(code, message): Refusal) -> Json<Value> {
    Json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

enum Revision {
    Newest,
    Before,
}

/// The revision that a request is of; one of the newest says the same in its headers as in its body.
fn told(
    revisions: Revisions,
    headers: &HeaderMap,
    request: &Map<String, Value>,
) -> Result<Revision, Refusal> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let body =
        |pointer: &str| Value::pointer(request.get("params").unwrap_or(&Value::Null), pointer).cloned();
    let revision = body("/_meta/io.modelcontextprotocol~1protocolVersion");
    if revisions == Revisions::Before || revision.is_none() {
        return Ok(Revision::Before);
    }
    let method = request.get("method").and_then(Value::as_str);
    let name = body("/name");
    let same = header("mcp-protocol-version") == revision.as_ref().and_then(Value::as_str)
        && header("mcp-method") == method
        && header("mcp-name") == name.as_ref().and_then(Value::as_str);
    match revision.as_ref().and_then(Value::as_str) {
        _ if !same => refused(-32020, "the headers say something else than the body"),
        Some(NEWEST) => Ok(Revision::Newest),
        _ => refused(-32022, "this revision is not spoken here"),
    }
}

fn server() -> Value {
    json!({"name": "switchyard-sandbox", "version": env!("CARGO_PKG_VERSION")})
}

fn newest(request: &Map<String, Value>) -> Result<Value, Refusal> {
    let mut result = match request.get("method").and_then(Value::as_str) {
        Some("server/discover") => json!({
            "supportedVersions": [NEWEST, BEFORE],
            "capabilities": {"tools": {}},
            "ttlMs": TOOLS_FOR,
            "cacheScope": "public",
            "_meta": {"io.modelcontextprotocol/serverInfo": server()},
        }),
        Some("tools/list") => json!({"tools": tools(), "ttlMs": TOOLS_FOR, "cacheScope": "public"}),
        Some("tools/call") => called(request)?,
        _ => return refused(-32601, "there is no such method"),
    };
    if let Value::Object(fields) = &mut result {
        fields.insert("resultType".to_owned(), "complete".into());
    }
    Ok(result)
}

fn before(request: &Map<String, Value>) -> Result<Value, Refusal> {
    match request.get("method").and_then(Value::as_str) {
        Some("initialize") => Ok(json!({
            "protocolVersion": BEFORE,
            "capabilities": {"tools": {}},
            "serverInfo": server(),
        })),
        Some("ping") => Ok(json!({})),
        Some("tools/list") => Ok(json!({"tools": tools()})),
        Some("tools/call") => called(request),
        _ => refused(-32601, "there is no such method"),
    }
}

fn called(request: &Map<String, Value>) -> Result<Value, Refusal> {
    let params = request.get("params").unwrap_or(&Value::Null);
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    let answered = match params.get("name").and_then(Value::as_str) {
        Some("airbnb_search") => listings::search(arguments),
        Some("airbnb_listing_details") => listings::details(arguments),
        _ => return refused(-32602, "there is no such tool"),
    };
    // A tool's own failure is no error of the protocol.
    let (answer, is_error) = match answered {
        Ok(answer) => (answer, false),
        Err(what) => (json!({"error": what, "sandbox": true}), true),
    };
    Ok(json!({"content": [{"type": "text", "text": answer.to_string()}], "isError": is_error}))
}

#[cfg(test)]
mod tests;
