//! The stored form: what the release before wrote is read, and what is written it reads.

use serde_json::{Value, json};

use super::*;

/// A record as the first release wrote it, with what a stage adds.
fn first_release(status: &str, more: &Value) -> Value {
    let mut record = json!({
        "id": ID, "owner": "user-1", "agent": "host", "task_id": TaskId::from_bytes([7; 16]), "job": 0,
        "provider": "idp", "issuer": "https://idp.example/acme", "resource": "https://horizon.example/",
        "scopes": ["orders:read"], "sealed": "", "state_hash": null, "browser_hash": null, "status": status,
        "code_hash": null, "sealed_result": null, "created_at": at(0), "expires_at": at(600), "version": 1,
    });
    let fields = record.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    record
}

/// The same as this release writes it: with its version.
fn versioned(mut record: Value) -> Value {
    record["v"] = json!(domain::RECORDS);
    record
}

#[test]
fn every_stage_is_written_as_the_first_release_reads_it_and_read_as_it_wrote_it() {
    let started = json!({"state_hash": "s", "browser_hash": "browser of s", "sealed": "v1.k.sealed"});
    let held = json!({"code_hash": "code", "sealed_result": "v1.k.grant", "expires_at": at(300)});
    let stored = [
        first_release("open", &json!({})),
        first_release("started", &started),
        first_release("started", &held),
        first_release("done", &json!({})),
        first_release("denied", &json!({})),
        first_release("expired", &json!({})),
    ];
    for (consent, stored) in all().into_iter().zip(stored) {
        assert_eq!(
            serde_json::to_value(&consent).unwrap(),
            versioned(stored.clone()),
            "{}",
            kind(&consent)
        );
        assert_eq!(serde_json::from_value::<Consent>(stored).unwrap(), consent);
    }
}

#[test]
fn what_an_ended_consent_of_the_first_release_still_held_is_dropped() {
    let left =
        json!({"state_hash": "s", "browser_hash": "b", "sealed": "v1.k.sealed", "wrong_codes": ["m-1"]});
    let consent: Consent = serde_json::from_value(first_release("expired", &left)).unwrap();
    assert_eq!((kind(&consent), consent.wrong_codes()), ("ended", 1));
    let again = first_release("expired", &json!({"wrong_codes": ["m-1"]}));
    assert_eq!(serde_json::to_value(&consent).unwrap(), versioned(again));
}

#[test]
fn fields_and_stages_of_a_newer_release_are_kept_and_nothing_moves_such_a_stage() {
    let newer = domain::RECORDS + 1;
    let more = json!({"v": newer, "purpose": {"text": "orders"}});
    let consent: Consent = serde_json::from_value(first_release("open", &more)).unwrap();
    let consent = consent.start(leaving("s"), at(1)).unwrap();
    let written = serde_json::to_value(&consent).unwrap();
    assert_eq!(
        (&written["v"], &written["purpose"]["text"]),
        (&json!(newer), &json!("orders"))
    );

    let newer = first_release(
        "paused",
        &json!({"v": 9, "sealed": "v1.k.sealed", "paused_by": "ada"}),
    );
    let consent: Consent = serde_json::from_value(newer.clone()).unwrap();
    assert_eq!(kind(&consent), "newer");
    for moved in [
        consent.clone().start(leaving("s"), at(1)),
        consent.clone().hold("s", "h".into(), "g".into(), at(1)),
        consent.clone().give(),
        consent.clone().deny(),
        consent.clone().end(at(700)),
    ] {
        assert_eq!(moved, Err(crate::InvalidMove::Newer));
    }
    assert_eq!(serde_json::to_value(&consent).unwrap(), newer, "whole");
}

#[test]
fn a_started_record_without_state_and_code_is_not_a_consent() {
    assert!(serde_json::from_value::<Consent>(first_release("started", &json!({}))).is_err());
}

/// The records that releases have written, as the store's own suite keeps them.
#[test]
fn the_records_of_every_release_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/golden");
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let tables: Value = serde_json::from_str(&text).unwrap();
        let items = tables["sessions"].as_array().unwrap();
        let bodies = items.iter().filter(|item| item["sk"]["S"] == "CONSENT");
        let read = |item: &Value| serde_json::from_str::<Consent>(item["body"]["S"].as_str().unwrap());
        let read: Vec<Consent> = bodies.map(|item| read(item).unwrap()).collect();
        assert_eq!(read.iter().map(kind).collect::<Vec<_>>(), ["open", "started"]);
        assert!(read.iter().all(|consent| consent.wrong_codes() == 1));
    }
}
