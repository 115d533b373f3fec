//! The sample events hold requests that the router takes.

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;

use crate::world::{GOOD, world};

#[tokio::test]
async fn the_sample_events_are_answered() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events/horizon_agent");
    let world = world().await;
    for (name, status) in [
        ("card", 200),
        ("resource_metadata", 200),
        ("send_message", 200),
        ("unauthorized", 401),
        ("bad_token", 401),
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let mut request = Request::builder()
            .method(field("httpMethod").as_str())
            .uri(field("path"));
        for (name, value) in event["headers"].as_object().unwrap() {
            // The sample names where a token of the reader's own goes.
            let value = value
                .as_str()
                .unwrap()
                .replace("ACCESS_TOKEN", &world.token(GOOD));
            request = request.header(name, value);
        }
        let answer = world.call(request.body(Body::from(field("body"))).unwrap()).await;
        assert_eq!(answer.status.as_u16(), status, "{name}: {}", answer.body);
    }
}
