//! The sample events hold requests that the router takes, and a wake that the queue does.

use agent::Wake;
use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::World;

fn sample(name: &str) -> Value {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events/report_agent");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn the_sample_events_are_answered() {
    let world = World::new().await;
    for (name, status, holds) in [
        ("card", 200, "type:report"),
        ("send_message", 200, "TASK_STATE_SUBMITTED"),
        ("bad_token", 401, "invalid_token"),
    ] {
        let event = sample(name);
        let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let mut request = http::Request::builder()
            .method(field("httpMethod").as_str())
            .uri(field("path"));
        for (name, value) in event["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        let request = request.body(Body::from(field("body"))).unwrap();
        let answer = world.router().oneshot(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{name}");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains(holds), "{name}: {body}");
    }
    let wakes = sample("wakes");
    let wake = Wake::parse(wakes["Records"][0]["body"].as_str().unwrap()).unwrap();
    agent::handle(&world.agent(), &wake).await.unwrap();
}
