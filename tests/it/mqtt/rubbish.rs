//! Bad input over a broker: a typed answer or a counted drop, nothing changed, and the agent still there.

use a2a::mqtt::{Properties, Publication};
use serde_json::{Value, json};

use super::requester::{Requester, new_task};
use super::world::World;
use super::{message, state};

const AGENT: &str = "switchyard/platform/weather";

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_or_dropped_and_the_agent_goes_on() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let send =
        |params: Value| json!({ "jsonrpc": "2.0", "id": "r", "method": "SendMessage", "params": params });
    let good = |payload: Value| Publication {
        topic: format!("$a2a/v1/request/{AGENT}"),
        payload: payload.to_string().into(),
        retain: false,
        properties: Properties {
            response_topic: Some(asker.reply().to_owned()),
            correlation: Some("c".into()),
            ..Properties::default()
        },
    };
    let question = || good(send(message(&new_task(), "Weather in Oslo?")));
    let changed = |change: &dyn Fn(&mut Publication)| {
        let mut publication = question();
        change(&mut publication);
        publication
    };
    // Nobody is told, and nobody else either.
    for dropped in [
        changed(&|it| it.properties.response_topic = None),
        changed(&|it| it.properties.response_topic = Some("$a2a/v1/reply/globex/lab/asker/s".to_owned())),
        changed(&|it| it.properties.response_topic = Some("alarm/siren".to_owned())),
    ] {
        asker.raw(dropped).await;
        assert!(asker.next().await.is_none());
    }
    for (refused, code) in [
        (changed(&|it| it.properties.correlation = None), -32005),
        (
            changed(&|it| it.properties.correlation = Some(vec![b'c'; 60_000].into())),
            -32005,
        ),
        (changed(&|it| it.payload = "{".into()), -32700),
        (changed(&|it| it.payload = vec![0xff, 0xfe].into()), -32700),
        (good(json!([send(message(&new_task(), "x"))])), -32600),
        (
            good(
                json!({ "jsonrpc": "2.0", "id": "r", "method": "message/send", "params": message(&new_task(), "x") }),
            ),
            -32601,
        ),
        (
            good(json!({ "jsonrpc": "2.0", "id": "r", "method": "Frobnicate", "params": {} })),
            -32601,
        ),
        (
            good(send(
                json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x" }] } }),
            )),
            -32005,
        ),
        (good(send(message("t-1", "x"))), -32005),
        (
            good(send(
                json!({ "message": { "messageId": "m", "taskId": new_task(), "role": "ROLE_USER", "parts": [] } }),
            )),
            -32602,
        ),
        (
            changed(&|it| it.properties.user = vec![("a2a-authorization".into(), "Bearer a".into()); 2]),
            -32005,
        ),
    ] {
        let wanted = refused.properties.correlation.clone();
        asker.raw(refused).await;
        let answer = asker
            .next()
            .await
            .unwrap_or_else(|| panic!("no answer of {code}"));
        assert_eq!(answer.properties.correlation, wanted);
        let answer: Value = serde_json::from_slice(&answer.payload).expect("JSON");
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    // What is larger than any packet here is the broker's to keep away.
    asker
        .raw(changed(&|it| it.payload = vec![b'x'; 250_000].into()))
        .await;
    assert_eq!(asker.next().await.map(|it| it.payload.len() < 1_000), Some(true));
    let answer = asker
        .ask(
            AGENT,
            "SendMessage",
            message(&new_task(), "Weather in Oslo tomorrow?"),
        )
        .await;
    assert_eq!(state(&answer[0]), "TASK_STATE_COMPLETED");
    world.stop().await;
}
