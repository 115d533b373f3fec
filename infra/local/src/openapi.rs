//! The API document (OpenAPI 3.1) of what people's clients and operators call: paths, methods and summaries are the
//! functions' own routes, `operations.json` says what each takes and answers. Functions on AWS do not carry it; the
//! gateway of the local system serves it, and `switchyard openapi` prints what `docs/openapi.json` holds.

use routes::Route;
use serde_json::{Value, json};

const OPERATIONS: &str = include_str!("openapi/operations.json");

/// The routes that the document is about: not the page's own files, and not what agents and servers say to each other.
fn public() -> impl Iterator<Item = Route> {
    let chat = chat_api::routes()
        .into_iter()
        .filter(|route| route.path.starts_with("/api/"));
    let deliveries = agent::routes()
        .into_iter()
        .filter(|route| route.path.starts_with("/deliveries"));
    let sign_in = oauth_callback::routes()
        .into_iter()
        .filter(|route| route.path.starts_with("/sign"));
    chat.chain(sign_in).chain(registry::routes()).chain(deliveries)
}

/// The document. A route that `operations.json` does not know stands there with its summary alone, an operation that no
/// function serves without one: `docs/openapi.json` may hold neither, which a test sees to.
#[must_use]
pub fn document() -> Value {
    let mut document: Value = serde_json::from_str(OPERATIONS).unwrap_or_default();
    if let Some(info) = document.get_mut("info").and_then(Value::as_object_mut) {
        info.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let Some(paths) = paths else { return document };
    for Route { path, method, about } in public() {
        let path = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(operations) = path.as_object_mut() {
            let operation = operations
                .entry(method.to_lowercase())
                .or_insert_with(|| json!({}));
            if let Some(fields) = operation.as_object_mut() {
                fields.insert("summary".to_owned(), json!(about));
            }
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_public_operation_is_described_and_none_that_is_not_there() {
        let document = document();
        let mut seen = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                if method == "servers" {
                    continue;
                }
                assert!(
                    operation["summary"].is_string(),
                    "{method} {path} is served by nobody"
                );
                assert!(
                    operation["responses"].is_object(),
                    "{method} {path} is not described"
                );
                seen += 1;
            }
        }
        assert_eq!(seen, public().count());
    }

    #[test]
    fn the_document_in_the_repository_is_the_one_of_these_routes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(
            kept == document(),
            "docs/openapi.json is not of now: cargo run -- openapi > docs/openapi.json"
        );
    }
}
