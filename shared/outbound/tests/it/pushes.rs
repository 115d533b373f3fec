//! Delivering push notifications: what goes along, what counts as delivered, and who waits for whom.

use std::time::{Duration, Instant};

use auth::Sealer;
use auth::webhook::{SenderKeys, published_keys, verify};
use domain::trace::within;
use domain::{Clock, ExposeSecret, Generation, ManualClock, SecretString, SystemEntropy, Tenant, Timestamp};
use outbound::{CallError, Outbound, PushDelivery, PushError};
use serde_json::json;
use tokio::net::TcpListener;
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{header, only_request, outbound, trace, with};

const SENDER: &str = "https://agents.example/a";

fn keys() -> SenderKeys {
    let sealer = Sealer::new(vec![("k".into(), Sealer::generate_key(&SystemEntropy))]).unwrap();
    SenderKeys::of(&sealer, SENDER).unwrap()
}

fn clock() -> ManualClock {
    ManualClock::new(Timestamp::from_millis(1_767_225_600_000))
}

fn to(url: &str) -> PushDelivery {
    PushDelivery {
        tenant: Tenant::parse("acme").unwrap(),
        url: Url::parse(url).unwrap(),
        token: Some(SecretString::from("tok")),
        scheme: None,
        credentials: None,
        body: json!({"statusUpdate": {}}),
        generation: Generation::V1_0,
        id: "t-1_c-1_7".into(),
        responder: None,
    }
}

async fn receiving(status: u16) -> (MockServer, PushDelivery) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(status))
        .mount(&server)
        .await;
    let delivery = to(&format!("{}/hook", server.uri()));
    (server, delivery)
}

#[tokio::test]
async fn a_push_carries_what_its_receiver_asked_for() {
    let (server, delivery) = receiving(204).await;
    let (out, sender, time) = (outbound(), keys(), clock());
    within(Some(trace()), out.push(&delivery, &sender, &time))
        .await
        .unwrap();
    let request = only_request(&server).await;
    let told = |name: &str| header(&request, name).unwrap_or_default();
    assert_eq!(told("authorization"), "Bearer tok");
    assert_eq!(told("x-a2a-notification-token"), "tok");
    assert_eq!(told("a2a-version"), "1.0");
    assert_eq!(told("content-type"), "application/a2a+json");
    assert_eq!(told("webhook-id"), "t-1_c-1_7");
    assert!(told("traceparent").contains(&trace().trace_id()));
    assert_eq!(request.body_json::<serde_json::Value>().unwrap(), delivery.body);

    let (server, mut delivery) = receiving(200).await;
    delivery.scheme = Some("Basic".into());
    delivery.credentials = Some(SecretString::from("dTpw"));
    delivery.generation = Generation::V0_3;
    outbound().push(&delivery, &keys(), &clock()).await.unwrap();
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
async fn a_push_is_signed_for_its_moment_with_the_senders_key_and_the_receivers_secret() {
    let (server, mut delivery) = receiving(204).await;
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    delivery.token = Some(SecretString::from(secret));
    let (clock, keys) = (clock(), keys());
    outbound().push(&delivery, &keys, &clock).await.unwrap();
    let request = only_request(&server).await;
    let told = |name: &str| header(&request, name);
    let [id, at, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(told);
    assert_eq!(at.as_deref(), Some("1767225600"));
    let message = auth::webhook::WebhookMessage {
        id: id.as_deref().unwrap(),
        at: clock.now(),
        body: &request.body,
    };
    let by_secret = auth::webhook::hmac_signature(&secret.into(), &message);
    assert!(
        signatures
            .as_deref()
            .unwrap()
            .split(' ')
            .any(|one| one == by_secret)
    );
    let published = published_keys(&json!({"keys": keys.public_jwks()}));
    let checked = verify(
        [id.as_deref(), at.as_deref(), signatures.as_deref()],
        &request.body,
        &published,
        clock.now(),
    );
    assert_eq!(checked, Ok(()));
    let sent = format!("{:?}", request.headers);
    assert!(
        !sent.contains(secret),
        "a secret of Standard Webhooks never travels"
    );
    assert_eq!(header(&request, "authorization"), None);
}

#[tokio::test]
async fn any_status_but_success_is_a_failure() {
    for status in [302, 400, 410, 500] {
        let (_server, delivery) = receiving(status).await;
        let told = outbound().push(&delivery, &keys(), &clock()).await;
        assert!(
            matches!(told, Err(PushError::Failed(CallError::Status(code))) if code == status),
            "{told:?}"
        );
    }
    let (_server, delivery) = receiving(401).await;
    assert!(matches!(
        outbound().push(&delivery, &keys(), &clock()).await,
        Err(PushError::Failed(CallError::Unauthorized { .. }))
    ));
}

/// A receiver that takes connections and says nothing.
async fn hanging() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    (listener, url)
}

fn hurried() -> Outbound {
    with(|policy| policy.push_timeout = Duration::from_millis(150))
}

#[tokio::test]
async fn a_receiver_that_never_answers_is_left_in_peace_and_tried_again_later() {
    let (_listener, url) = hanging().await;
    let (out, keys, clock) = (hurried(), keys(), clock());
    let mut timeouts = 0;
    let until = loop {
        match out.push(&to(&url), &keys, &clock).await {
            Err(PushError::Failed(CallError::Timeout)) => timeouts += 1,
            Err(PushError::NotNow { until }) => break until,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(timeouts, 5);
    assert_eq!(until.since(clock.now()), Duration::from_secs(30));
    let started = Instant::now();
    let again = out.push(&to(&url), &keys, &clock).await;
    assert!(matches!(again, Err(PushError::NotNow { .. })));
    assert!(
        started.elapsed() < Duration::from_millis(150),
        "it costs no waiting"
    );
    clock.advance(Duration::from_secs(30));
    let again = out.push(&to(&url), &keys, &clock).await;
    assert!(matches!(again, Err(PushError::Failed(CallError::Timeout))));
}

#[tokio::test]
async fn a_receiver_that_refuses_at_once_does_not_rest() {
    let (_server, delivery) = receiving(500).await;
    let (out, keys, clock) = (outbound(), keys(), clock());
    for _ in 0..20 {
        let told = out.push(&delivery, &keys, &clock).await;
        assert!(matches!(told, Err(PushError::Failed(CallError::Status(500)))));
    }
}

#[tokio::test]
async fn no_content_of_a_push_shows_in_its_debug_form() {
    let (_server, mut delivery) = receiving(200).await;
    delivery.credentials = Some(SecretString::from("cred-secret"));
    delivery.token = Some(SecretString::from("tok-secret"));
    delivery.body = json!("body-secret");
    let shown = format!("{delivery:?}");
    assert!(!shown.contains("-secret"), "{shown}");
    assert!(delivery.token.unwrap().expose_secret().contains("secret"));
}
