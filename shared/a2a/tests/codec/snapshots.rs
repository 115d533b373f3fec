//! What clients see.

use a2a::card::{Bearer, Card, Extension, ForeignOAuth, OAuth, Provider, Skill};
use a2a::{A2aError, Call, Generation, card, encode, jsonrpc, rest};
use domain::{Artifact, Metadata};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use url::Url;

use crate::samples::{finished_task, full_send};

const V1: Generation = Generation::V1_0;
const V03: Generation = Generation::V0_3;

#[test]
fn a_task() {
    let (task, _) = finished_task();
    assert_json_snapshot!("task_1_0", encode::task(&task, V1, None));
    assert_json_snapshot!("task_0_3", encode::task(&task, V03, None));
    assert_json_snapshot!("task_0_3_rest", rest::task(&task, V03, None));
}

#[test]
fn in_0_3_words_that_are_a_result_too_are_written_once() {
    let (mut task, _) = finished_task();
    assert!(encode::task(&task, V03, None)["status"].get("message").is_some());
    let last = task.status.message.clone().expect("last words");
    task.artifacts.push(Artifact::new("answer", last.parts));
    assert_eq!(encode::task(&task, V03, None)["status"].get("message"), None);
    assert!(encode::task(&task, V1, None)["status"].get("message").is_some());
}

#[test]
fn a_history_is_cut_to_its_newest() {
    let (task, _) = finished_task();
    let ids = |length| {
        let written = encode::task(&task, V1, length);
        let history = written["history"].as_array().cloned().unwrap_or_default();
        history
            .iter()
            .map(|message| message["messageId"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(None), ["m-1", "m-2", "m-3"]);
    assert_eq!(ids(Some(9)), ["m-1", "m-2", "m-3"]);
    assert_eq!(ids(Some(1)), ["m-3"]);
    assert_eq!(encode::task(&task, V1, Some(0)).get("history"), None);
}

#[test]
fn events_of_a_stream() {
    let (task, events) = finished_task();
    let stream = |generation| -> Vec<Value> {
        events
            .iter()
            .filter_map(|event| encode::event(&task, event, generation))
            .collect()
    };
    // The user's own follow-up is in the log, but is nobody's news.
    assert_eq!(stream(V1).len(), events.len() - 1);
    assert_json_snapshot!("events_1_0", stream(V1));
    assert_json_snapshot!("events_0_3", stream(V03));
}

#[test]
fn pushes() {
    let (task, events) = finished_task();
    let last = &events[events.len() - 1..];
    assert_json_snapshot!("push_1_0_one_event", encode::push(&task, last, V1));
    assert_json_snapshot!("push_1_0_several_events", encode::push(&task, &events, V1));
    assert_json_snapshot!("push_0_3", encode::push(&task, last, V03));
}

#[test]
fn requests_of_our_client() {
    let call = full_send();
    let send = Call::Send(call.clone());
    assert_json_snapshot!("send_1_0", jsonrpc::call_request("1", &send, V1));
    assert_json_snapshot!("send_0_3", jsonrpc::call_request("1", &send, V03));
    assert_json_snapshot!("send_0_3_rest", rest::send_body(&call, V03));
    let look = |tenant: Option<&str>, history_length| Call::Get {
        id: "t-1".to_owned(),
        history_length: Some(history_length),
        tenant: tenant.map(str::to_owned),
    };
    let cancel = |tenant: Option<&str>| Call::Cancel {
        id: "t-1".to_owned(),
        metadata: Metadata::new(),
        tenant: tenant.map(str::to_owned),
    };
    let looks = [
        jsonrpc::call_request("1", &look(Some("north"), 0), V1),
        jsonrpc::call_request("1", &look(None, 1), V03),
        jsonrpc::call_request("1", &cancel(Some("north")), V1),
        jsonrpc::call_request("1", &cancel(None), V03),
    ];
    assert_json_snapshot!("look_and_cancel", looks);
}

#[test]
fn the_card() {
    let card = open_card();
    let both = card::encode(&card, V1);
    assert_json_snapshot!("card", both);
    assert_json_snapshot!("card_0_3_alone", card::encode(&card, V03));

    // We read our own card as clients of either generation would.
    let read = card::parse(&both).unwrap();
    assert_eq!(
        (read.name.as_str(), read.push_notifications, read.secured),
        ("Weather", true, true)
    );
    assert_eq!(read.skills[0].tags[0].value(), "weather");
    let kinds: Vec<_> = read
        .endpoints
        .iter()
        .map(|endpoint| (endpoint.generation, endpoint.transport))
        .collect();
    use domain::Transport::{JsonRpc, Rest};
    assert_eq!(kinds, [(V1, JsonRpc), (V1, Rest), (V03, JsonRpc), (V03, Rest)]);
    let read = card::parse(&card::encode(&card, V03)).unwrap();
    let kinds: Vec<_> = read
        .endpoints
        .iter()
        .map(|endpoint| (endpoint.generation, endpoint.transport))
        .collect();
    assert_eq!(kinds, [(V03, JsonRpc), (V03, Rest)]);
    assert_eq!(read.oauth, None);
}

/// What a card says of its authorization server is read back by clients of either generation.
#[test]
fn the_card_of_an_agent_behind_oauth() {
    let url = idp;
    let card = secured_card();
    let both = card::encode(&card, V1);
    assert_json_snapshot!("card_oauth", {
        let mut shown = both.clone();
        shown
            .as_object_mut()
            .unwrap()
            .retain(|name, _| name.starts_with("security"));
        shown
    });
    let mut new_alone = both.clone();
    for name in ["security", "url"] {
        new_alone.as_object_mut().unwrap().remove(name);
    }
    let expected = ForeignOAuth {
        metadata_url: Some(url(".well-known/oauth-authorization-server")),
        authorization_url: Some(url("authorize")),
        token_url: Some(url("token")),
        refresh_url: None,
        scopes: vec!["tasks".into(), "orders:read".into()],
    };
    for document in [both, new_alone, card::encode(&card, V03)] {
        let read = card::parse(&document).unwrap();
        assert!(read.secured);
        assert_eq!(read.oauth.as_ref(), Some(&expected), "{document}");
    }
}

/// Every error, in every binding and generation, and back again.
#[test]
fn errors() {
    let all = [
        A2aError::TaskNotFound,
        A2aError::TaskNotCancelable,
        A2aError::PushNotificationNotSupported,
        A2aError::UnsupportedOperation("the task is completed".into()),
        A2aError::ContentTypeNotSupported,
        A2aError::InvalidAgentResponse("no parts".into()),
        A2aError::ExtendedCardNotConfigured,
        A2aError::ExtensionSupportRequired("https://ext.example/a".into()),
        A2aError::VersionNotSupported("2.0".into()),
        A2aError::ParseError,
        A2aError::InvalidRequest("id must be text".into()),
        A2aError::MethodNotFound("Nope".into()),
        A2aError::InvalidParams("missing field `message`".into()),
        A2aError::Internal {
            request_id: Some("r-1".into()),
        },
    ];
    let mut table = Vec::new();
    for error in &all {
        let mut row = json!({ "error": error.reason() });
        for (name, generation) in [("1.0", V1), ("0.3", V03)] {
            let failure = jsonrpc::Failure {
                id: jsonrpc::RpcId::default(),
                generation,
                error: error.clone(),
            };
            let over_jsonrpc = jsonrpc::failure(&failure);
            let (status, over_rest) = rest::failure(error, generation);
            let again = jsonrpc::answer(over_jsonrpc.clone()).unwrap_err();
            let again_rest = rest::read_failure(&over_rest).unwrap();
            if generation == V1 {
                assert_eq!(again.code(), error.code());
            }
            assert_eq!(again_rest.reason(), error.reason());
            row[name] = json!({ "jsonrpc": over_jsonrpc["error"], "status": status, "rest": over_rest });
        }
        table.push(row);
    }
    assert_json_snapshot!("errors", table);
}

/// A card with a bearer token and everything else that needs no authorization server.
pub(crate) fn open_card() -> Card {
    Card {
        name: "Weather".into(),
        description: "Forecasts for any place".into(),
        version: "1.2.0".into(),
        url: Url::parse("https://agents.example/a/weather").unwrap(),
        mqtt: None,
        documentation_url: Some(Url::parse("https://docs.example/weather").unwrap()),
        provider: Some(Provider {
            organization: "Switchyard".into(),
            url: Url::parse("https://switchyard.example/").unwrap(),
        }),
        skills: vec![Skill {
            id: "forecast".into(),
            name: "Forecast".into(),
            description: "Rain, wind and temperature".into(),
            tags: vec!["type:weather".into()],
            examples: vec!["Will it rain in Oslo tomorrow?".into()],
            output_modes: vec!["text/plain".into(), "application/json".into()],
            ..Skill::default()
        }],
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        streaming: false,
        push_notifications: true,
        extended: false,
        extensions: vec![Extension {
            uri: "https://ext.example/units/v1".into(),
            description: "Temperatures in the unit that is asked for".into(),
            required: false,
            params: Metadata::from_iter([("units".into(), json!(["celsius", ""]))]),
        }],
        secured: Some(Bearer {
            description: Some("A token of the tenant's users".into()),
            scopes: vec!["tasks".into()],
            oauth: None,
        }),
    }
}

fn idp(path: &str) -> Url {
    Url::parse(&format!("https://idp.example/acme/{path}")).unwrap()
}

/// A card behind OAuth.
pub(crate) fn secured_card() -> Card {
    let url = idp;
    Card {
        name: "Horizon".into(),
        description: "Orders".into(),
        version: "1.0.0".into(),
        url: Url::parse("https://agents.example/a/horizon").unwrap(),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: Vec::new(),
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        streaming: false,
        push_notifications: true,
        extended: false,
        extensions: vec![Extension {
            uri: "https://ext.example/orders/v2".into(),
            required: true,
            ..Extension::default()
        }],
        secured: Some(Bearer {
            description: Some("A user's token".into()),
            scopes: vec!["tasks".into(), "orders:read".into()],
            oauth: Some(OAuth {
                issuer: "https://idp.example/acme".into(),
                authorization_url: url("authorize"),
                token_url: url("token"),
                metadata_url: url(".well-known/oauth-authorization-server"),
                scopes: vec![
                    ("tasks".into(), "Give it tasks".into()),
                    ("orders:read".into(), "See orders".into()),
                ],
            }),
        }),
    }
}
