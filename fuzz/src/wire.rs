//! What each target does with bytes. The tests of `a2a` include this file, so that every run of them plays each target over rubbish of
//! its own; cargo-fuzz finds more.

use std::collections::BTreeSet;
use std::time::Duration;

use a2a::card::{self, Verdict};
use a2a::mqtt::{
    AnswerKind, ArtifactMode, OutgoingCall, Properties, Publication, ReplyItem, ReplyPath, ReplyWriter,
    RequestRules, TopicPrefix, first_answer, is_for_webhook, is_stream_end, read_reply, read_request,
    refuses_streams,
};
use a2a::{A2aError, Generation, Transport, decode, rest};

/// Requests over JSON-RPC: anything is read or refused, and what was read is written back as the same call.
pub fn jsonrpc(data: &[u8]) {
    for version in [None, Some("1.0"), Some("0.3")] {
        match a2a::jsonrpc::parse(data, version) {
            Ok(request) => {
                let again = a2a::jsonrpc::call_request("1", &request.call, request.generation).to_string();
                assert!(a2a::jsonrpc::parse(again.as_bytes(), version).is_ok(), "{again}");
            }
            Err(failure) => assert!(a2a::jsonrpc::failure(&failure)["error"]["code"].is_i64()),
        }
    }
}

/// Bodies and queries over REST: anything is read or refused as the client's fault.
pub fn rest(data: &[u8]) {
    let query = String::from_utf8_lossy(data);
    for generation in [Generation::V1_0, Generation::V0_3] {
        refused(rest::parse_send(data, generation), generation);
        refused(rest::parse_push("t".into(), data, generation), generation);
        refused(rest::parse_cancel("t".into(), data), generation);
        refused(rest::parse_list(Some(&query), generation), generation);
        refused(rest::parse_get("t".into(), Some(&query), generation), generation);
        refused(rest::parse_list_push("t".into(), Some(&query)), generation);
    }
}

fn refused<T>(read: Result<T, A2aError>, generation: Generation) {
    if let Err(error) = read {
        let (status, _) = rest::failure(&error, generation);
        assert!(
            (400..500).contains(&status),
            "{error:?} is answered with {status}"
        );
    }
}

/// What other agents push, stream and answer.
pub fn notification(data: &[u8]) {
    let _ = decode::notification(data);
    // Large files are taken out of an answer while it comes in.
    let mut sieve = a2a::sieve::Sieve::new("m", (64, 4096));
    let _ = data.chunks(7).try_for_each(|piece| sieve.read(piece).map(drop));
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for generation in [Generation::V1_0, Generation::V0_3] {
        for transport in [Transport::JsonRpc, Transport::Rest] {
            let _ = decode::stream_item(text, generation, transport);
        }
        if let Ok(value) = serde_json::from_str(text) {
            let _ = decode::send_result(&value, generation);
            let _ = decode::list(&value, generation);
        }
    }
}

/// Cards of others, and their signatures.
pub fn card(data: &[u8]) {
    if let Ok(document) = serde_json::from_slice(data) {
        let _ = card::parse(&document);
        let _ = card::etag(&document);
        let _ = card::verify(&document, |_, _| Verdict::Bad(String::new()));
    }
}

/// What agents on a broker answer our hosts, and the calls that hosts make there.
pub fn reply(data: &[u8]) {
    match read_reply(data) {
        None => {}
        Some(ReplyItem::Error(error)) => {
            let _ = refuses_streams(&error);
        }
        Some(ReplyItem::Result(result)) => {
            let _ = (
                is_for_webhook(&result),
                is_stream_end(&result),
                a2a::event_number(&result),
            );
            for kind in [AnswerKind::Sent, AnswerKind::Task, AnswerKind::Other] {
                let answer = first_answer(kind, &result);
                assert!(answer.is_object(), "an object is answered by one");
                let _ = decode::send_result(&answer, Generation::V1_0);
            }
            // What goes to the webhook.
            let _ = decode::notification(result.to_string().as_bytes());
        }
    }
    if let Ok(call) = OutgoingCall::read(data) {
        if let Some(webhook) = &call.webhook {
            let sent: serde_json::Value = serde_json::from_str(&call.payload()).expect("JSON");
            let configuration = sent.pointer("/params/configuration");
            let named = configuration.and_then(|it| it.get("taskPushNotificationConfig"));
            assert!(named.is_none(), "{} goes on the wire", webhook.url);
        }
        let _ = call.without_stream().map(|call| call.payload());
    }
    if let Ok(topic) = std::str::from_utf8(data) {
        let _ = TopicPrefix::standard().read(topic);
    }
}

/// What comes in over MQTT: topics, properties and payloads of requests; and replies cut to the size of a packet.
pub fn mqtt(data: &[u8]) {
    let (&first, rest) = data.split_first().unwrap_or((&0, &[]));
    let half = rest.len().min(usize::from(first));
    let (names, payload) = rest.split_at(half);
    let names = String::from_utf8_lossy(names);
    let mut names = names.split('\n').map(str::to_owned);
    let mut next = || names.next().unwrap_or_default();
    let prefix = TopicPrefix::standard();
    let publication = Publication {
        topic: format!("$a2a/v1/request/{}", next()),
        payload: payload.to_vec().into(),
        retain: false,
        properties: Properties {
            response_topic: Some(format!("$a2a/v1/reply/acme/{}", next())),
            correlation: Some(next().into()),
            expiry: next().parse().ok(),
            user: vec![(next(), next()), ("a2a-authorization".to_owned(), next())],
            ..Properties::default()
        },
    };
    let orgs = BTreeSet::from(["acme".to_owned()]);
    let rules = RequestRules {
        prefix: &prefix,
        orgs: &orgs,
        age: Duration::ZERO,
    };
    if let Ok(request) = read_request(&publication, &rules) {
        let _ = request.body_with(Some(serde_json::json!({})));
    }
    let Ok(result) = serde_json::from_slice(payload) else {
        return;
    };
    let writer = ReplyWriter {
        path: ReplyPath {
            topic: publication.topic,
            correlation: publication.properties.correlation.unwrap_or_default(),
        },
        id: Default::default(),
        responder: None,
        artifacts: [ArtifactMode::Json, ArtifactMode::Binary][usize::from(first % 2)],
        max_packet: usize::from(first) * 8,
    };
    let _ = writer.result(result);
}
