//! What comes in over MQTT: topics, properties and payloads of requests; and replies cut to the size of a packet.
#![no_main]

use std::collections::BTreeSet;
use std::time::Duration;

use a2a::mqtt::{
    ArtifactMode, Properties, Publication, ReplyPath, ReplyWriter, RequestRules, TopicPrefix, read_request,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
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
});
