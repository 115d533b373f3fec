//! Secrets and wakes, by the real AWS clients, against a server on loopback that speaks AWS's words.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor as _};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use domain::{AgentName, ExposeSecret as _, ManualClock, TaskId, Tenant, Timestamp};
use edge::queue::{Queues, SqsDoor};
use edge::secrets::{SECRETS_TTL, SecretSource as _, Secrets, SecretsError, SecretsPlace};
use serde_json::{Value, json};
use store::TaskKey;
use url::Url;

/// Answers with what was put in, and keeps what was asked.
#[derive(Clone, Default)]
struct Aws {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Aws {
    async fn start() -> (Self, Url) {
        let aws = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let router = Router::new().fallback(take).with_state(aws.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (aws, url)
    }

    fn will_say(&self, status: u16, body: Value) {
        self.answers.lock().unwrap().push_back((status, body));
    }

    fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

async fn take(State(aws): State<Aws>, headers: HeaderMap, body: String) -> impl IntoResponse {
    let target = headers.get("x-amz-target").unwrap().to_str().unwrap().to_owned();
    aws.asked
        .lock()
        .unwrap()
        .push((target, serde_json::from_str(&body).unwrap()));
    let (status, body) = aws
        .answers
        .lock()
        .unwrap()
        .pop_front()
        .unwrap_or((400, json!({})));
    let json = [("content-type", "application/x-amz-json-1.1")];
    (StatusCode::from_u16(status).unwrap(), json, body.to_string())
}

async fn secrets() -> (Aws, Arc<ManualClock>, Secrets) {
    let (aws, endpoint) = Aws::start().await;
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    let place = SecretsPlace {
        endpoint: Some(endpoint),
        ..SecretsPlace::default()
    };
    let secrets = Secrets::new(place, Arc::<ManualClock>::clone(&clock));
    (aws, clock, secrets)
}

fn secret(text: &str) -> Value {
    json!({ "Name": "switchyard/key", "SecretString": text })
}

#[tokio::test]
async fn a_secret_is_asked_for_once_until_its_time_is_over() {
    let (aws, clock, secrets) = secrets().await;
    assert!(
        aws.asked().is_empty(),
        "nothing is asked before a secret is wanted"
    );
    aws.will_say(200, secret("first"));
    aws.will_say(200, secret("second"));
    for _ in 0..3 {
        assert_eq!(
            secrets.value("switchyard/key").await.unwrap().expose_secret(),
            "first"
        );
    }
    assert_eq!(
        aws.asked(),
        [(
            "secretsmanager.GetSecretValue".to_owned(),
            json!({ "SecretId": "switchyard/key" })
        )]
    );
    clock.advance(SECRETS_TTL);
    assert_eq!(
        secrets.value("switchyard/key").await.unwrap().expose_secret(),
        "second"
    );
}

#[tokio::test]
async fn parallel_callers_ask_once() {
    let (aws, _clock, secrets) = secrets().await;
    aws.will_say(200, secret("one"));
    let all = futures_util::future::join_all((0..10).map(|_| secrets.value("switchyard/key"))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(aws.asked().len(), 1);
}

#[tokio::test]
async fn secrets_are_asked_for_side_by_side() {
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    // Nobody is answered before the other has asked.
    let answer = async move || {
        both.wait().await;
        secret("both").to_string()
    };
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let place = SecretsPlace {
        endpoint: Some(endpoint),
        ..SecretsPlace::default()
    };
    let secrets = Secrets::new(place, Arc::new(ManualClock::new(Timestamp::from_millis(0))));
    let two = async { tokio::try_join!(secrets.value("one"), secrets.value("two")) };
    let read = tokio::time::timeout(Duration::from_secs(2), two).await;
    assert!(read.expect("neither waits for the other").is_ok());
}

#[tokio::test]
async fn the_last_value_goes_on_while_nobody_answers() {
    let (aws, clock, secrets) = secrets().await;
    aws.will_say(200, secret("first"));
    secrets.value("switchyard/key").await.unwrap();
    clock.advance(SECRETS_TTL);
    aws.will_say(400, json!({ "__type": "AccessDeniedException", "message": "no" }));
    assert_eq!(
        secrets.value("switchyard/key").await.unwrap().expose_secret(),
        "first"
    );
}

#[tokio::test]
async fn a_missing_secret_and_a_refused_one_are_different_errors() {
    let (aws, _clock, secrets) = secrets().await;
    aws.will_say(
        400,
        json!({ "__type": "ResourceNotFoundException", "message": "no such secret" }),
    );
    let missing = secrets.value("switchyard/none").await.unwrap_err();
    assert!(
        matches!(&missing, SecretsError::Missing { id } if id == "switchyard/none"),
        "{missing:?}"
    );
    aws.will_say(400, json!({ "__type": "AccessDeniedException", "message": "no" }));
    let refused = secrets.value("switchyard/key").await.unwrap_err();
    assert!(matches!(refused, SecretsError::Unavailable { .. }), "{refused:?}");
}

fn wake(agent: &str) -> Wake {
    let key = TaskKey {
        tenant: Tenant::parse("acme").unwrap(),
        agent: AgentName::parse(agent).unwrap(),
        id: TaskId::from_bytes([7; 16]),
    };
    Wake::task(&key)
}

#[tokio::test]
async fn a_wake_goes_to_its_agents_queue_with_a_capped_delay() {
    let (aws, endpoint) = Aws::start().await;
    let queue: Url = "https://sqs.eu-north-1.amazonaws.com/123456789012/host"
        .parse()
        .unwrap();
    let urls = BTreeMap::from([(AgentName::parse("host").unwrap(), queue.clone())]);
    let (store, _database) = store_testing::start().await;
    let queues = Queues {
        urls,
        endpoint: Some(endpoint),
        ..Queues::default()
    };
    let door = SqsDoor::new(queues, store);
    for (delay, seconds) in [
        (Duration::ZERO, json!(0)),
        (Duration::from_millis(1_001), json!(2)),
        (Duration::from_secs(900), json!(900)),
        (Duration::from_secs(86_400), json!(900)),
    ] {
        aws.will_say(
            200,
            json!({ "MessageId": "m", "MD5OfMessageBody": "d41d8cd98f00b204e9800998ecf8427e" }),
        );
        door.wake(&wake("host"), delay).await.unwrap();
        let (target, sent) = aws.asked().pop().unwrap();
        assert_eq!(target, "AmazonSQS.SendMessage");
        assert_eq!(sent["QueueUrl"], queue.as_str());
        assert_eq!(sent["DelaySeconds"], seconds);
        assert_eq!(
            Wake::parse(sent["MessageBody"].as_str().unwrap()).unwrap(),
            wake("host")
        );
    }
}

#[tokio::test]
async fn a_wake_goes_to_its_tenants_queue_or_to_the_pools() {
    let (aws, endpoint) = Aws::start().await;
    let (store, _database) = store_testing::start().await;
    store.create_tables().await.unwrap();
    let each = "https://sqs.example/1/switchyard-prod-{tenant}-host"
        .parse()
        .unwrap();
    let queues = Queues {
        urls: BTreeMap::from([(AgentName::parse("host").unwrap(), each)]),
        endpoint: Some(endpoint),
        ..Queues::default()
    };
    let (woken, tenants) = (wake("host"), store.tenants());
    let tenant = woken.key().tenant;
    let sent_to = async |wakes: usize| {
        let door = SqsDoor::new(queues.clone(), store.clone());
        aws.will_say(200, json!({ "MessageId": "m", "MD5OfMessageBody": "" }));
        door.wake(&woken, Duration::ZERO).await.unwrap();
        aws.will_say(200, json!({ "Successful": [], "Failed": [] }));
        assert!(door.wake_all(vec![woken.clone()]).await.is_empty());
        let asked = aws.asked().split_off(wakes);
        let urls: Vec<&str> = asked
            .iter()
            .map(|(_, sent)| sent["QueueUrl"].as_str().unwrap())
            .collect();
        assert_eq!((urls.len(), urls[0]), (2, urls[1]));
        urls[0].to_owned()
    };
    let own = format!("https://sqs.example/1/switchyard-prod-{}-host", tenant.name());
    assert_eq!(sent_to(0).await, own, "of a release that kept no record");
    tenants.add(&tenant).await.unwrap();
    assert_eq!(sent_to(2).await, own);
    assert!(
        tenants
            .place_in_pool(&tenant, &store::Pooled::default())
            .await
            .unwrap()
    );
    assert_eq!(
        sent_to(4).await,
        "https://sqs.example/1/switchyard-prod-pool-host"
    );
    assert!(tenants.take_out_of_pool(&tenant).await.unwrap());
    assert_eq!(sent_to(6).await, own);
}

#[tokio::test]
async fn a_wake_that_cannot_be_sent_is_an_error() {
    let (aws, endpoint) = Aws::start().await;
    let urls = BTreeMap::from([(AgentName::parse("host").unwrap(), endpoint.clone())]);
    let (store, _database) = store_testing::start().await;
    let queues = Queues {
        urls,
        endpoint: Some(endpoint),
        ..Queues::default()
    };
    let door = SqsDoor::new(queues, store);
    let error = door.wake(&wake("weather"), Duration::ZERO).await.unwrap_err();
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("weather"),
        "{error:?}"
    );
    aws.will_say(
        400,
        json!({ "__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "none" }),
    );
    assert!(door.wake(&wake("host"), Duration::ZERO).await.is_err());
}
