//! Calls of hosts: what goes out, what comes back, and which replies are none of ours.

use std::sync::Arc;
use std::time::{Duration, Instant};

use a2a::mqtt::{AgentAddress, CallWebhook, Properties, Publication, TopicPrefix};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::Body;
use domain::{Clock as _, ExposeSecret as _, SystemClock, SystemEntropy, Tenant, Timestamp};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use mqtt::{PublishError, Published, Publisher, Received};
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Desk, Errors, TASK};
use crate::correlation::{Correlation, ReplyPlace};
use crate::drops::counting::Dropped;
use crate::{ATTEMPT, AgentPlace, Bridge, BridgeParts, replies, router};

const URL: &str = "https://gateway.example/mqtt";
const ISSUER: &str = "https://gateway.example/t/";
/// Whose tokens are no tenant's.
pub(super) const PLATFORM: &str = "platform";

pub(super) struct World {
    pub(super) bridge: Arc<Bridge>,
    desk: Arc<Desk>,
    webhook: MockServer,
    key: SigningKey,
    sealer: Arc<Sealer>,
}

fn host(tenant: &str) -> AgentAddress {
    format!("switchyard/{tenant}/host").parse().unwrap()
}

pub(super) async fn world() -> World {
    let webhook = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .mount(&webhook)
        .await;
    let key = SigningKey::generate().unwrap().0;
    let issuer = |name: &str| TrustedIssuer {
        issuer: format!("{ISSUER}{name}"),
        tenant: (name != PLATFORM).then(|| Tenant::parse(name).unwrap()),
        keys: vec![key.public_jwk()],
    };
    let place = |tenant: &str| AgentPlace {
        address: host(tenant),
        url: "https://gateway.example/a/host".parse().unwrap(),
        pools: Vec::new(),
        webhook: Some(format!("{}/t/{tenant}/hook", webhook.uri()).parse().unwrap()),
    };
    let entropy = Arc::new(SystemEntropy);
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let sealer = Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap());
    let bridge = Bridge::new(BridgeParts {
        url: URL.parse().unwrap(),
        broker: "mqtts://broker.example".parse().unwrap(),
        prefix: TopicPrefix::standard(),
        orgs: ["acme".to_owned()].into(),
        agents: vec![place("acme"), place("globex")],
        sealer: sealer.clone(),
        verifier: Verifier::new(URL.to_owned(), ["acme", "globex", PLATFORM].map(issuer).to_vec()).unwrap(),
        replies_for: Duration::from_secs(3_600),
        outbound: Outbound::new(policy, entropy.clone()),
        clock: Arc::new(SystemClock),
        entropy,
        patience: Duration::from_millis(500),
        attempt: ATTEMPT,
        stays: true,
    });
    let bridge = Arc::new(bridge.unwrap());
    let desk = Arc::new(Desk::default());
    for tenant in ["acme", "globex"] {
        bridge.publishes(&host(tenant), desk.clone());
    }
    World {
        bridge,
        desk,
        webhook,
        key,
        sealer,
    }
}

impl World {
    /// A token of a tenant's, or of the platform's.
    pub(super) fn token(&self, of: &str, scope: &str) -> String {
        let own = (of != PLATFORM).then(|| Tenant::parse(of).unwrap());
        let grant = Grant {
            issuer: &format!("{ISSUER}{of}"),
            subject: "host",
            tenant: own.as_ref(),
            audience: URL,
            scopes: &[scope],
            lifetime: Duration::from_secs(300),
        };
        let token = self.key.sign(&grant, SystemClock.now(), &SystemEntropy).unwrap();
        token.expose_secret().to_owned()
    }

    fn send(&self, tenant: &str) -> Value {
        let hook = format!("{}/t/{tenant}/hook", self.webhook.uri());
        json!({ "jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {
            "message": { "messageId": "m", "taskId": TASK, "role": "ROLE_USER", "parts": [{ "text": "Oslo?" }] },
            "configuration": { "returnImmediately": true,
                "taskPushNotificationConfig": { "url": hook, "token": "the-webhook's-token" } } } })
    }

    async fn call(&self, to: &str, body: &Value) -> (StatusCode, http::HeaderMap, Value) {
        let request = Request::post(format!("/call?to={to}"))
            .header(
                "authorization",
                format!("Bearer {}", self.token("acme", "mqtt:call")),
            )
            .header("a2a-authorization", "Bearer hunter2")
            .body(Body::from(body.to_string()))
            .unwrap();
        let response = router(Arc::clone(&self.bridge)).oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, headers, serde_json::from_slice(&body).unwrap())
    }

    /// The request that was published; waits for it.
    async fn published(&self, number: usize) -> Publication {
        for _ in 0..500 {
            if let Some(publication) = self.desk.published.lock().unwrap().get(number) {
                return publication.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("nothing was published");
    }

    /// Replies to a request.
    async fn reply(&self, to: &Publication, item: Value) {
        self.came(&reply_to(to, item)).await;
    }

    async fn came(&self, publication: &Publication) {
        let received = Received {
            publication: publication.clone(),
            is_repeat: false,
            packet_id: 7,
        };
        replies::take(&self.bridge, &host("acme"), &received).await;
    }

    /// What came to the webhook.
    async fn told(&self) -> Vec<Value> {
        let requests = self.webhook.received_requests().await.unwrap();
        requests
            .iter()
            .map(|request| request.body_json().unwrap())
            .collect()
    }

    /// Calls, and replies with this.
    async fn answered(&self, body: &Value, item: Value) -> (StatusCode, http::HeaderMap, Value) {
        let (answer, ()) = tokio::join!(self.call("acme/lab/echo", body), async {
            let request = self.published(0).await;
            self.came(&reply_to(&request, item)).await;
        });
        answer
    }
}

fn reply_to(request: &Publication, item: Value) -> Publication {
    let mut payload = json!({ "jsonrpc": "2.0", "id": "1" });
    payload
        .as_object_mut()
        .unwrap()
        .extend(item.as_object().unwrap().clone());
    Publication {
        topic: request.properties.response_topic.clone().unwrap(),
        payload: payload.to_string().into(),
        retain: false,
        properties: Properties {
            correlation: request.properties.correlation.clone(),
            ..Properties::default()
        },
    }
}

/// The user property by which a reply names its responder.
fn responder(name: &str) -> Vec<(String, String)> {
    vec![("a2a-responder-agent-id".to_owned(), name.to_owned())]
}

fn status(state: &str) -> Value {
    json!({ "statusUpdate": { "taskId": TASK, "contextId": "c", "status": { "state": state } } })
}

#[tokio::test]
async fn a_call_is_published_and_its_first_reply_is_the_answer_and_every_other_goes_to_the_webhook() {
    let world = world().await;
    let (code, _, answer) = world
        .answered(
            &world.send("acme"),
            json!({ "result": status("TASK_STATE_SUBMITTED") }),
        )
        .await;
    assert_eq!(
        (code, &answer["result"]["task"]["id"]),
        (StatusCode::OK, &json!(TASK))
    );
    let request = world.published(0).await;
    assert_eq!(request.topic, "$a2a/v1/request/acme/lab/echo");
    assert_eq!(
        request.properties.bearer().unwrap().unwrap().expose_secret(),
        "hunter2"
    );
    assert_eq!(request.properties.expiry, Some(60));
    let payload: Value = serde_json::from_slice(&request.payload).unwrap();
    assert_eq!(payload["method"], "SendStreamingMessage");
    assert!(
        !payload.to_string().contains("hook"),
        "the webhook stays here: {payload}"
    );
    assert!(
        world.told().await.is_empty(),
        "whoever called has the first reply"
    );
    let result = json!({ "artifactUpdate": { "taskId": TASK, "contextId": "c",
        "artifact": { "artifactId": "a", "parts": [{ "text": "Rain." }] }, "lastChunk": true } });
    world.reply(&request, json!({ "result": result })).await;
    world
        .reply(&request, json!({ "result": status("TASK_STATE_COMPLETED") }))
        .await;
    assert_eq!(world.told().await, [result, status("TASK_STATE_COMPLETED")]);
    let posted = &world.webhook.received_requests().await.unwrap()[0];
    assert_eq!(posted.url.path(), "/t/acme/hook");
    assert_eq!(posted.headers["authorization"], "Bearer the-webhook's-token");
}

#[tokio::test]
async fn a_reply_that_comes_first_and_tells_of_a_result_reaches_both() {
    let world = world().await;
    let result = json!({ "artifactUpdate": { "taskId": TASK, "contextId": "c", "artifact": { "artifactId": "a", "parts": [] } } });
    let (_, _, answer) = world
        .answered(&world.send("acme"), json!({ "result": result }))
        .await;
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(world.told().await, [result]);
}

#[tokio::test]
async fn the_end_of_a_stream_that_moved_here_is_news_and_no_answer() {
    let world = world().await;
    let mut end = status("TASK_STATE_COMPLETED");
    end["statusUpdate"]["metadata"] = json!({ a2a::EVERY_EVENT: { "number": 7 } });
    let (_, _, answer) = world
        .answered(&world.send("acme"), json!({ "result": end }))
        .await;
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(world.told().await, [end]);
}

#[tokio::test]
async fn replies_that_are_none_of_ours_change_nothing() {
    let world = world().await;
    let look = json!({ "jsonrpc": "2.0", "id": "1", "method": "GetTask", "params": { "id": TASK } });
    world
        .answered(
            &world.send("acme"),
            json!({ "result": status("TASK_STATE_SUBMITTED") }),
        )
        .await;
    let request = world.published(0).await;
    let good = reply_to(&request, json!({ "result": status("TASK_STATE_COMPLETED") }));
    let changed = |change: &dyn Fn(&mut Publication)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed
    };
    let foreign = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap();
    let (dropped, _guard) = Dropped::begin();
    for bad in [
        changed(&|it| it.properties.correlation = None),
        changed(&|it| it.properties.correlation = Some("c".into())),
        changed(&|it| it.properties.correlation = Some(vec![0xff; 64 * 1024].into())),
        changed(&|it| it.properties.correlation = Some(foreign.seal(b"{}", "x", &SystemEntropy).into())),
        changed(&|it| {
            it.properties.correlation = Some(world.sealer.seal(b"{}", "mqtt/reply", &SystemEntropy).into())
        }),
        changed(&|it| it.topic = "$a2a/v1/reply/switchyard/acme/host/other".to_owned()),
        changed(&|it| it.topic = it.topic.replace("/acme/", "/globex/")),
        changed(&|it| it.topic = "$a2a/v1/request/switchyard/acme/host".to_owned()),
        changed(&|it| it.properties.user = responder("acme/press/other")),
        changed(&|it| it.properties.user = responder("globex/lab/other")),
        changed(&|it| it.properties.user = responder("+")),
        changed(&|it| it.properties.user = [responder("other"), responder("other")].concat()),
        changed(&|it| it.payload = "[]".into()),
        changed(&|it| it.payload = "{".into()),
        changed(&|it| it.payload = json!({ "result": 1 }).to_string().into()),
        changed(&|it| it.payload = vec![b'x'; 2 * 1024 * 1024].into()),
        reply_to(
            &request,
            json!({ "error": { "code": -32001, "message": "Task not found" } }),
        ),
    ] {
        let before = dropped.count();
        world.came(&bad).await;
        assert!(world.told().await.is_empty(), "{bad:?}");
        assert_eq!(dropped.count(), before + 1, "{bad:?}");
    }
    // One that was sealed here for this place, and has expired.
    let (requester, topic) = (host("acme"), request.properties.response_topic.clone().unwrap());
    let place = ReplyPlace {
        requester: &requester,
        topic: &topic,
    };
    let lasting = |until: i64| {
        let correlation = Correlation {
            webhook: Some(CallWebhook {
                url: format!("{}/t/acme/hook", world.webhook.uri()).parse().unwrap(),
                token: "the-webhook's-token".into(),
            }),
            asked: "acme/lab/echo".parse().unwrap(),
            expires_at: Timestamp::from_millis(SystemClock.now().millis() + until),
        };
        let sealed = correlation.seal(&world.sealer, place, &SystemEntropy);
        changed(&|it| it.properties.correlation = Some(sealed.clone().into()))
    };
    let before = dropped.count();
    world.came(&lasting(-1_000)).await;
    assert!(world.told().await.is_empty(), "expired");
    assert_eq!(dropped.count(), before + 1, "expired");
    world.came(&lasting(60_000)).await;
    assert_eq!(world.told().await.len(), 1);
    world.webhook.reset().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .mount(&world.webhook)
        .await;
    // A correlation of acme's is worth nothing to globex.
    let received = Received {
        publication: good.clone(),
        is_repeat: false,
        packet_id: 1,
    };
    let before = dropped.count();
    replies::take(&world.bridge, &host("globex"), &received).await;
    assert!(world.told().await.is_empty());
    assert_eq!(dropped.count(), before + 1, "another tenant's");
    world.came(&good).await;
    assert_eq!(world.told().await.len(), 1);
    // What was asked without a webhook has nowhere to go once it is late.
    let (answer, ()) = tokio::join!(world.call("acme/lab/echo", &look), async {
        let look = world.published(1).await;
        world
            .reply(
                &look,
                json!({ "result": { "id": TASK, "status": { "state": "TASK_STATE_WORKING" } } }),
            )
            .await;
        world
            .reply(&look, json!({ "result": status("TASK_STATE_WORKING") }))
            .await;
    });
    assert_eq!(answer.2["result"]["id"], TASK);
    assert_eq!(world.told().await.len(), 1);
}

#[tokio::test]
async fn who_has_a_task_is_told_to_whoever_called_and_to_its_webhook() {
    let world = world().await;
    let body = world.send("acme");
    let from = |request: &Publication, name: Option<&str>, state: &str| {
        let mut reply = reply_to(request, json!({ "result": status(state) }));
        reply.properties.user = name.map(responder).unwrap_or_default();
        reply
    };
    let (answer, request) = tokio::join!(world.call("acme/lab/pool/echoes", &body), async {
        let request = world.published(0).await;
        assert_eq!(request.topic, "$a2a/v1/request/acme/lab/pool/echoes");
        world
            .came(&from(&request, Some("echo-2"), "TASK_STATE_SUBMITTED"))
            .await;
        request
    });
    assert_eq!(answer.1["a2a-responder-agent-id"], "acme/lab/echo-2");
    // Handed over, by the name or by the whole address. Of a pool, what does not say who it is, is dropped.
    for (name, told) in [
        (Some("echo-3"), Some("acme/lab/echo-3")),
        (Some("acme/lab/echo-1"), Some("acme/lab/echo-1")),
        (None, None),
        (Some("acme/press/echo"), None),
    ] {
        world.webhook.reset().await;
        let taking = ResponseTemplate::new(204);
        Mock::given(any())
            .respond_with(taking)
            .mount(&world.webhook)
            .await;
        world.came(&from(&request, name, "TASK_STATE_WORKING")).await;
        let posted = world.webhook.received_requests().await.unwrap();
        let posted = posted
            .first()
            .map(|posted| &posted.headers["a2a-responder-agent-id"]);
        assert_eq!(posted.map(|agent| agent.to_str().unwrap()), told, "{name:?}");
    }
}

#[tokio::test]
async fn a_member_of_a_pool_that_does_not_say_who_it_is_has_broken_the_profile() {
    let world = world().await;
    let body = world.send("acme");
    let (answer, ()) = tokio::join!(world.call("acme/lab/pool/echoes", &body), async {
        let request = world.published(0).await;
        world
            .reply(&request, json!({ "result": status("TASK_STATE_SUBMITTED") }))
            .await;
    });
    assert_eq!(answer.2["error"]["code"], -32005);
    assert_eq!(answer.2["error"]["data"]["a2a_error"], "transport_protocol_error");
    assert!(answer.1.get("a2a-responder-agent-id").is_none());
}

#[tokio::test]
async fn an_agent_that_was_asked_itself_may_hand_a_task_over_and_need_not() {
    for (name, told) in [(Some("echo-9"), Some("acme/lab/echo-9")), (None, None)] {
        let world = world().await;
        let body = world.send("acme");
        let (answer, ()) = tokio::join!(world.call("acme/lab/echo", &body), async {
            let request = world.published(0).await;
            let mut reply = reply_to(&request, json!({ "result": status("TASK_STATE_SUBMITTED") }));
            reply.properties.user = name.map(responder).unwrap_or_default();
            world.came(&reply).await;
        });
        let named = answer.1.get("a2a-responder-agent-id");
        assert_eq!(named.map(|agent| agent.to_str().unwrap()), told);
    }
}

#[tokio::test]
async fn a_reply_is_repeated_until_its_webhook_has_it_and_is_the_same_to_it() {
    let world = world().await;
    world
        .answered(
            &world.send("acme"),
            json!({ "result": status("TASK_STATE_SUBMITTED") }),
        )
        .await;
    let request = world.published(0).await;
    world.webhook.reset().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(503))
        .up_to_n_times(1)
        .mount(&world.webhook)
        .await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .mount(&world.webhook)
        .await;
    let last = json!({ "result": status("TASK_STATE_COMPLETED") });
    world.reply(&request, last.clone()).await;
    // The broker tells it again, as the acknowledgement was lost.
    world.reply(&request, last).await;
    let told = world.webhook.received_requests().await.unwrap();
    let ids: Vec<_> = told
        .iter()
        .map(|told| told.headers["webhook-id"].clone())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

/// Its agent's notification is repeated where the bridge died before it could say that the event was published.
#[tokio::test]
async fn an_event_that_is_published_again_is_the_same_to_its_webhook_and_two_pieces_are_two() {
    let world = world().await;
    world
        .answered(
            &world.send("acme"),
            json!({ "result": status("TASK_STATE_SUBMITTED") }),
        )
        .await;
    let request = world.published(0).await;
    let event = |number: u64| {
        json!({ "result": { "artifactUpdate": { "taskId": TASK, "contextId": "c", "append": true,
            "artifact": { "artifactId": "a", "parts": [{ "text": "la" }] },
            "metadata": { a2a::EVERY_EVENT: { "number": number } } } } })
    };
    let known = async |number: u64, piece: Option<&str>, packet_id: u16| {
        world.webhook.reset().await;
        Mock::given(any())
            .respond_with(ResponseTemplate::new(204))
            .mount(&world.webhook)
            .await;
        let mut publication = reply_to(&request, event(number));
        let piece = piece.map(|piece| ("switchyard-piece".to_owned(), piece.to_owned()));
        publication.properties.user.extend(piece);
        let received = Received {
            publication,
            is_repeat: false,
            packet_id,
        };
        replies::take(&world.bridge, &host("acme"), &received).await;
        let told = world.webhook.received_requests().await.unwrap();
        told[0].headers["webhook-id"].to_str().unwrap().to_owned()
    };
    let first = known(3, None, 7).await;
    assert_eq!(
        known(3, None, 8).await,
        first,
        "the same event, as another packet"
    );
    assert_ne!(
        known(4, None, 7).await,
        first,
        "another event with the same words"
    );
    let piece = known(5, Some("1"), 7).await;
    assert_eq!(known(5, Some("1"), 8).await, piece);
    assert_ne!(known(5, Some("2"), 7).await, piece, "two pieces that are alike");
}

#[tokio::test]
async fn what_an_agent_says_of_a_token_is_told_as_over_http() {
    for (code, name, wanted) in [
        (401, "unauthenticated", StatusCode::UNAUTHORIZED),
        (403, "insufficient_scope", StatusCode::FORBIDDEN),
        (-32004, "responder_unavailable", StatusCode::OK),
    ] {
        let world = world().await;
        let error = json!({ "code": code, "message": "no",
            "data": { "a2a_error": name, "www_authenticate": "Bearer error=\"invalid_token\"" } });
        let (status, headers, answer) = world
            .answered(&world.send("acme"), json!({ "error": error }))
            .await;
        assert_eq!((status, &answer["error"]), (wanted, &error));
        let challenge = headers
            .get("www-authenticate")
            .map(|value| value.to_str().unwrap());
        let told = (wanted != StatusCode::OK).then_some("Bearer error=\"invalid_token\"");
        assert_eq!(challenge, told);
    }
}

#[tokio::test]
async fn an_agent_that_does_not_stream_is_asked_without() {
    let world = world().await;
    let body = world.send("acme");
    let (answer, ()) = tokio::join!(world.call("acme/lab/echo", &body), async {
        let first = world.published(0).await;
        world
            .reply(
                &first,
                json!({ "error": { "code": -32601, "message": "no streams" } }),
            )
            .await;
        let second = world.published(1).await;
        assert_ne!(first.properties.correlation, second.properties.correlation);
        let task = json!({ "id": TASK, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" } });
        world.reply(&second, json!({ "result": { "task": task } })).await;
        let payload: Value = serde_json::from_slice(&second.payload).unwrap();
        assert_eq!(payload["method"], "SendMessage");
    });
    assert_eq!(
        answer.2["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

/// A broker that never acknowledges.
struct Mute;

#[async_trait]
impl Publisher for Mute {
    async fn publish(&self, _: Publication) -> Result<Published, PublishError> {
        std::future::pending().await
    }

    fn max_packet(&self) -> usize {
        256 * 1024
    }
}

/// All of the 15 seconds pass here, for both at once.
#[tokio::test]
async fn a_call_is_one_attempt_that_ends_without_a_reply_and_a_late_one_goes_to_the_webhook() {
    assert_eq!(ATTEMPT, Duration::from_secs(15), "as docs/mqtt.md says");
    assert!(ATTEMPT < Duration::from_secs(crate::call::EXPIRY.into()));
    let (world, mute) = (world().await, world().await);
    // Nor does anybody wait for longer where the broker itself does not answer.
    mute.bridge.publishes(&host("acme"), Arc::new(Mute));
    let no_reply = async |world: &World| {
        let begun = Instant::now();
        let (status, _, told) = world.call("acme/lab/echo", &world.send("acme")).await;
        let took = begun.elapsed();
        assert!((ATTEMPT..ATTEMPT * 2).contains(&took), "{took:?}");
        let error = &told["error"];
        assert_eq!((status, &error["code"]), (StatusCode::OK, &json!(-32004)));
        assert_eq!(
            error["data"],
            json!({ "a2a_error": "no_reply", "reason_code": null })
        );
    };
    tokio::join!(no_reply(&world), no_reply(&mute));
    assert_eq!(world.desk.published.lock().unwrap().len(), 1, "one attempt");
    assert!(world.told().await.is_empty());
    let late = status("TASK_STATE_SUBMITTED");
    let request = world.published(0).await;
    world.reply(&request, json!({ "result": late })).await;
    assert_eq!(world.told().await, [late]);
}

/// What a broker sends again after a connection was lost: many jobs' replies at once, more than a webhook is sent at a time.
#[tokio::test]
async fn replies_of_many_jobs_at_once_wait_for_each_other_and_for_no_clock() {
    let world = world().await;
    world.webhook.reset().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204).set_delay(Duration::from_millis(10)))
        .mount(&world.webhook)
        .await;
    world
        .answered(
            &world.send("acme"),
            json!({ "result": status("TASK_STATE_SUBMITTED") }),
        )
        .await;
    let request = world.published(0).await;
    let correlation = |job: usize| {
        let correlation = Correlation {
            webhook: Some(CallWebhook {
                url: format!("{}/t/acme/hook", world.webhook.uri()).parse().unwrap(),
                token: format!("token-{job}").into(),
            }),
            asked: "acme/lab/echo".parse().unwrap(),
            expires_at: SystemClock.now().after(Duration::from_secs(60)),
        };
        let (identity, topic) = (host("acme"), request.properties.response_topic.clone().unwrap());
        let place = ReplyPlace {
            requester: &identity,
            topic: &topic,
        };
        correlation.seal(&world.sealer, place, &SystemEntropy)
    };
    let begun = Instant::now();
    let takings = (0..96).map(|job| {
        let mut publication = reply_to(&request, json!({ "result": status("TASK_STATE_WORKING") }));
        publication.properties.correlation = Some(correlation(job).into());
        let received = Received {
            publication,
            is_repeat: false,
            packet_id: 7,
        };
        tokio::spawn(replies::take(&world.bridge, &host("acme"), &received))
    });
    for taking in takings.collect::<Vec<_>>() {
        taking.await.unwrap();
    }
    assert_eq!(world.told().await.len(), 96);
    // Whoever is sent away at the door and comes back ever later has been away for 7.5 s by the fourth time.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_host_that_may_not_ask_is_an_error_in_the_log_and_a_busy_broker_is_none() {
    for (answer, is_error) in [
        (PublishError::NotAuthorized, true),
        (PublishError::QuotaExceeded, false),
        (PublishError::Disconnected, false),
    ] {
        let world = world().await;
        *world.desk.answer.lock().unwrap() = Err(answer);
        let (errors, _guard) = Errors::begin();
        world.call("acme/lab/echo", &world.send("acme")).await;
        let told = errors.told();
        assert_eq!(told.lines().count(), usize::from(is_error), "{told}");
        for part in ["0x87", "switchyard/acme/host", "acme/lab/echo"] {
            assert_eq!(told.contains(part), is_error, "{part}: {told}");
        }
        assert!(
            !told.contains("hunter2") && !told.contains("the-webhook"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn what_the_broker_says_is_told_by_its_name() {
    for (answer, name, code) in [
        (
            Ok(Published::NoMatchingSubscribers),
            "no_matching_subscribers",
            Some("0x10"),
        ),
        (Err(PublishError::NotAuthorized), "not_authorized", Some("0x87")),
        (Err(PublishError::TooLarge), "packet_too_large", Some("0x95")),
        (
            Err(PublishError::QuotaExceeded),
            "broker_unavailable",
            Some("0x97"),
        ),
        // As a broker says that does not take a message with an expiry.
        (
            Err(PublishError::Refused(0x83)),
            "broker_unavailable",
            Some("0x83"),
        ),
        (Err(PublishError::Disconnected), "broker_unavailable", None),
    ] {
        let world = world().await;
        *world.desk.answer.lock().unwrap() = answer;
        let (status, _, told) = world.call("acme/lab/echo", &world.send("acme")).await;
        assert_eq!(
            (status, &told["error"]["data"]),
            (StatusCode::OK, &json!({ "a2a_error": name, "reason_code": code }))
        );
    }
}

#[tokio::test]
async fn nobody_calls_with_another_tenants_webhook_or_without_a_hosts_token() {
    let world = world().await;
    let (status, _, _) = world.call("acme/lab/echo", &world.send("globex")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for to in [
        "",
        "acme/lab",
        "acme/lab/+",
        "acme/lab/echo/x",
        "acme/lab/pool/",
        "acme/lab/pool/+",
    ] {
        let (status, _, _) = world.call(to, &world.send("acme")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{to}");
    }
    for (token, wanted) in [
        (world.token("acme", "tasks"), StatusCode::FORBIDDEN),
        ("rubbish".to_owned(), StatusCode::UNAUTHORIZED),
    ] {
        let request = Request::post("/call?to=acme/lab/echo")
            .header("authorization", format!("Bearer {token}"))
            .body(Body::from(world.send("acme").to_string()))
            .unwrap();
        let response = router(Arc::clone(&world.bridge)).oneshot(request).await.unwrap();
        assert_eq!(response.status(), wanted);
    }
    assert!(world.desk.published.lock().unwrap().is_empty());
}
