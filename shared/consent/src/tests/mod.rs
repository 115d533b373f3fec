//! The moves of a consent, its stored form, and what concurrent writers do to it.

mod moves;
mod record;
mod records;

use domain::{AgentName, Owner, TaskId, Timestamp};

use crate::stage::{Consent, ConsentRequest, Stage, Started};

const ID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + seconds * 1_000)
}

/// A consent of second 0 that is good for ten minutes.
fn open() -> Consent {
    let request = ConsentRequest {
        owner: Owner::parse("user-1").unwrap(),
        agent: AgentName::parse("host").unwrap(),
        task_id: TaskId::from_bytes([7; 16]),
        job: 0,
        provider: "idp".into(),
        issuer: "https://idp.example/acme".into(),
        resource: "https://horizon.example/".into(),
        scopes: vec!["orders:read".into()],
    };
    Consent::new(ID.to_owned(), request, at(0), at(600))
}

fn leaving(state_hash: &str) -> Started {
    Started {
        state_hash: state_hash.to_owned(),
        browser_hash: format!("browser of {state_hash}"),
        sealed: "v1.k.sealed".to_owned(),
    }
}

fn started(state_hash: &str) -> Consent {
    open().start(leaving(state_hash), at(1)).unwrap()
}

fn awaiting_code() -> Consent {
    let held = started("s").hold("s", "code".into(), "v1.k.grant".into(), at(300));
    held.unwrap()
}

/// One consent of each stage.
fn all() -> [Consent; 6] {
    [
        open(),
        started("s"),
        awaiting_code(),
        started("s").give().unwrap(),
        started("s").deny().unwrap(),
        open().end(at(600)).unwrap(),
    ]
}

/// The kind of its stage.
fn kind(consent: &Consent) -> &'static str {
    match consent.stage {
        Stage::Open => "open",
        Stage::Started(_) => "started",
        Stage::AwaitingCode { .. } => "awaiting",
        Stage::Done => "done",
        Stage::Denied => "denied",
        Stage::Ended => "ended",
        Stage::Newer(_) => "newer",
    }
}
