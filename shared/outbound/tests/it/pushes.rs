//! Delivering push notifications.

use domain::{Generation, SecretString};
use outbound::{CallError, PushDelivery};
use serde_json::json;
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{header, only_request, outbound, trace};

async fn receiving(status: u16) -> (MockServer, PushDelivery) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(status))
        .mount(&server)
        .await;
    let delivery = PushDelivery {
        url: Url::parse(&format!("{}/hook", server.uri())).unwrap(),
        token: Some(SecretString::from("tok")),
        scheme: None,
        credentials: None,
        body: json!({"statusUpdate": {}}),
        generation: Generation::V1_0,
        id: "t-1.c-1.7".into(),
    };
    (server, delivery)
}

#[tokio::test]
async fn a_push_carries_what_its_receiver_asked_for() {
    let (server, delivery) = receiving(204).await;
    outbound().push(&delivery, Some(&trace())).await.unwrap();
    let request = only_request(&server).await;
    let told = |name: &str| header(&request, name).unwrap_or_default();
    assert_eq!(told("authorization"), "Bearer tok");
    assert_eq!(told("x-a2a-notification-token"), "tok");
    assert_eq!(told("a2a-version"), "1.0");
    assert_eq!(told("content-type"), "application/a2a+json");
    assert_eq!(told("webhook-id"), "t-1.c-1.7");
    assert!(told("traceparent").contains(&trace().trace_id()));
    assert_eq!(request.body_json::<serde_json::Value>().unwrap(), delivery.body);

    let (server, mut delivery) = receiving(200).await;
    delivery.scheme = Some("Basic".into());
    delivery.credentials = Some(SecretString::from("dTpw"));
    delivery.generation = Generation::V0_3;
    outbound().push(&delivery, None).await.unwrap();
    let request = only_request(&server).await;
    assert_eq!(header(&request, "authorization").as_deref(), Some("Basic dTpw"));
    assert_eq!(
        header(&request, "x-a2a-notification-token").as_deref(),
        Some("tok")
    );
    assert_eq!(
        header(&request, "content-type").as_deref(),
        Some("application/json")
    );
    assert_eq!(header(&request, "traceparent"), None);
}

#[tokio::test]
async fn any_status_but_success_is_a_failure() {
    for status in [302, 400, 410, 500] {
        let (_server, delivery) = receiving(status).await;
        let told = outbound().push(&delivery, None).await;
        assert!(
            matches!(told, Err(CallError::Status(code)) if code == status),
            "{told:?}"
        );
    }
    let (_server, delivery) = receiving(401).await;
    assert!(matches!(
        outbound().push(&delivery, None).await,
        Err(CallError::Unauthorized { .. })
    ));
}

#[tokio::test]
async fn no_content_of_a_push_shows_in_its_debug_form() {
    let (_server, mut delivery) = receiving(200).await;
    delivery.credentials = Some(SecretString::from("cred-secret"));
    delivery.token = Some(SecretString::from("tok-secret"));
    delivery.body = json!("body-secret");
    let shown = format!("{delivery:?}");
    assert!(!shown.contains("-secret"), "{shown}");
}
