//! The bridge on IoT Core: what is published, as the SDK sends it, and what is done with what a rule hands over.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::Properties;
use domain::{Clock as _, SystemClock, Timestamp};
use edge::iot::{IOT_PAYLOAD_MAX, IotData};
use edge::{IotHandler as _, IotMessage, ScheduleHandler as _};
use mqtt::{PublishError, Published, Publisher as _};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Handled, World, message, request, result, task, world};
use crate::drops::counting::Dropped;
use crate::iot::{Cards, IotPublisher, Requests};

/// IoT Core's data API that answers with this status.
async fn core(status: u16) -> (MockServer, Arc<IotPublisher>) {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(status).set_body_json(json!({ "message": "OK" }));
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let publisher = IotPublisher(Arc::new(IotData::new(server.uri().parse().unwrap(), None)));
    (server, Arc::new(publisher))
}

async fn on_core(status: u16, answer: Value) -> (World, MockServer) {
    let world = world(200, answer).await;
    let (server, publisher) = core(status).await;
    world.bridge.publishes(&world.address, publisher);
    (world, server)
}

fn handed(publication: a2a::mqtt::Publication) -> IotMessage {
    IotMessage {
        publication,
        received_at: Some(SystemClock.now()),
    }
}

/// The Publish calls: path, query, the headers that are MQTT's properties, and the body.
async fn calls(server: &MockServer) -> Vec<(String, String, Vec<(String, String)>, Value)> {
    let requests = server.received_requests().await.unwrap();
    let read = |request: &wiremock::Request| {
        let headers = request.headers.iter();
        let mut own: Vec<(String, String)> = headers
            .filter(|(name, _)| name.as_str().starts_with("x-amz-mqtt5"))
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        own.sort();
        (
            request.url.path().to_owned(),
            request.url.query().unwrap_or_default().to_owned(),
            own,
            request.body_json().unwrap_or_default(),
        )
    };
    requests.iter().map(read).collect()
}

#[tokio::test]
async fn a_request_of_a_rule_is_answered_by_the_data_api() {
    let (world, server) = on_core(200, result(task("TASK_STATE_COMPLETED"))).await;
    let requests = Requests(Arc::clone(&world.bridge));
    requests
        .handle(handed(request("SendMessage", message())))
        .await
        .unwrap();
    let (asked, headers) = world.asked().await;
    assert_eq!(asked["params"]["configuration"]["returnImmediately"], true);
    assert_eq!(headers["authorization"], "Bearer hunter2");
    let calls = calls(&server).await;
    let [(path, query, properties, body)] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(path, "/topics/%24a2a%2Fv1%2Freply%2Facme%2Flab%2Fasker%2Fs1");
    assert_eq!(query, "qos=1&contentType=application%2Fjson");
    assert_eq!(
        *properties,
        [
            // 00 ff, in base64.
            ("x-amz-mqtt5-correlation-data".to_owned(), "AP8=".to_owned()),
            (
                "x-amz-mqtt5-payload-format-indicator".to_owned(),
                "UTF8_DATA".to_owned()
            ),
        ]
    );
    assert_eq!(body["result"], task("TASK_STATE_COMPLETED"));
}

#[tokio::test]
async fn user_properties_and_retained_cards_travel_as_the_api_has_them() {
    let (world, server) = on_core(200, json!({ "name": "Weather" })).await;
    let report = Cards(Arc::clone(&world.bridge)).run().await.unwrap();
    assert_eq!(report, json!({ "published": 1 }));
    let calls = calls(&server).await;
    let [(path, query, properties, _)] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(
        path,
        "/topics/%24a2a%2Fv1%2Fdiscovery%2Facme%2Fplatform%2Fweather"
    );
    assert_eq!(query, "qos=1&retain=true&contentType=application%2Fjson");
    let user = properties
        .iter()
        .find(|(name, _)| name == "x-amz-mqtt5-user-properties");
    let user = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &user.unwrap().1).unwrap();
    let user: Value = serde_json::from_slice(&user).unwrap();
    assert_eq!(
        user,
        json!([{ "a2a-status": "online" }, { "a2a-status-source": "agent" }])
    );
}

#[tokio::test]
async fn a_card_that_cannot_be_published_fails_the_run() {
    let (world, _server) = on_core(403, json!({ "name": "Weather" })).await;
    assert!(Cards(Arc::clone(&world.bridge)).run().await.is_err());
}

#[tokio::test]
async fn what_the_api_says_is_told_in_mqtts_words() {
    for (status, told) in [
        (200, Ok(Published::Taken)),
        (401, Err(PublishError::NotAuthorized)),
        (403, Err(PublishError::NotAuthorized)),
        (400, Err(PublishError::Refused(0x80))),
        (413, Err(PublishError::TooLarge)),
    ] {
        let (_server, publisher) = core(status).await;
        let reply = request("SendMessage", message());
        assert_eq!(publisher.publish(reply).await, told, "{status}");
    }
    let (server, publisher) = core(200).await;
    let large = a2a::mqtt::Publication {
        payload: vec![b'x'; IOT_PAYLOAD_MAX + 1].into(),
        ..request("SendMessage", message())
    };
    assert_eq!(publisher.publish(large).await, Err(PublishError::TooLarge));
    assert!(calls(&server).await.is_empty());
    let away = IotData::new("http://127.0.0.1:1".parse().unwrap(), None);
    let told = IotPublisher(Arc::new(away))
        .publish(request("SendMessage", message()))
        .await;
    assert_eq!(told, Err(PublishError::Disconnected));
}

#[tokio::test]
async fn an_answer_that_is_not_published_brings_the_request_again_and_rubbish_does_not() {
    let (world, server) = on_core(403, result(task("TASK_STATE_COMPLETED"))).await;
    let requests = Requests(Arc::clone(&world.bridge));
    assert!(
        requests
            .handle(handed(request("SendMessage", message())))
            .await
            .is_err()
    );
    let asked = world.agent.received_requests().await.unwrap().len();
    let told = calls(&server).await.len();
    let (dropped, _guard) = Dropped::begin();
    for bad in [
        a2a::mqtt::Publication {
            topic: "$a2a/v1/request/acme/platform/nobody".to_owned(),
            ..request("SendMessage", message())
        },
        a2a::mqtt::Publication {
            topic: "$a2a/v1/reply/acme/lab/asker/s".to_owned(),
            ..request("SendMessage", message())
        },
        a2a::mqtt::Publication {
            properties: Properties::default(),
            ..request("SendMessage", message())
        },
    ] {
        requests.handle(handed(bad)).await.unwrap();
    }
    assert_eq!(world.agent.received_requests().await.unwrap().len(), asked);
    assert_eq!(calls(&server).await.len(), told, "nothing was answered either");
    assert_eq!(dropped.count(), 3);
}

#[tokio::test]
async fn a_request_that_came_too_late_is_told_so() {
    let (world, server) = on_core(200, result(task("TASK_STATE_COMPLETED"))).await;
    let mut late = request("SendMessage", message());
    late.properties.expiry = Some(30);
    let late = IotMessage {
        publication: late,
        received_at: Some(Timestamp::from_millis(SystemClock.now().millis() - 40_000)),
    };
    Requests(Arc::clone(&world.bridge)).handle(late).await.unwrap();
    let calls = calls(&server).await;
    assert_eq!(calls[0].3["error"]["data"]["a2a_error"], "request_expired");
    assert!(world.agent.received_requests().await.unwrap().is_empty());
}

/// Where no process stays, what is said after a while is said before the request is done.
#[tokio::test]
async fn a_bridge_that_does_not_stay_shows_the_work_before_it_is_done() {
    let world = super::world_that(200, result(task("TASK_STATE_SUBMITTED")), false).await;
    let found = json!({ "id": super::TASK, "status": { "state": "TASK_STATE_WORKING" } });
    let asked = request("SendMessage", message());
    let handled = world.handle(&asked);
    let changed = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.agent.reset().await;
        let template = ResponseTemplate::new(200).set_body_json(result(found.clone()));
        Mock::given(any())
            .respond_with(template)
            .mount(&world.agent)
            .await;
    };
    let (handled, ()) = tokio::join!(handled, changed);
    assert_eq!(handled, Handled::Answered);
    assert_eq!(world.told()[0]["result"], json!({ "task": found }));
}
