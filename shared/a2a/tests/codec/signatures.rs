//! Signed cards: what is signed, whose form is understood, and that nothing unsigned slips through. The "signature"
//! here is a text of the key and the payload's hash, as the arithmetic is tested elsewhere.

use a2a::Generation;
use a2a::card::{self, JwsSignature, Signature, Verdict};
use serde_json::{Value, json};

use crate::snapshots::{open_card, secured_card};

fn mark(payload: &[u8]) -> String {
    String::from_utf8_lossy(payload).into_owned()
}

fn sign(document: &mut Value) {
    let signer = |payload: &[u8]| {
        Ok::<_, ()>(JwsSignature {
            protected: "k".into(),
            signature: mark(payload),
        })
    };
    card::sign(document, signer).unwrap();
}

fn signed_by_others(mut document: Value, payload: &str) -> Value {
    document["signatures"] = json!([{"protected": "k", "signature": payload, "header": {"a": 1}}]);
    document
}

fn verify(document: &Value) -> Signature {
    card::verify(document, |signature, payload| {
        match signature.protected.as_str() {
            "unknown" => Verdict::Unknown("no such key".into()),
            kid if signature.signature == mark(payload) => Verdict::Good(kid.into()),
            _ => Verdict::Bad("it does not fit".into()),
        }
    })
}

#[test]
fn what_we_sign_is_good_until_anything_changes() {
    for card in [open_card(), secured_card()] {
        for asked in [None, Some("1.0"), Some("0.3")] {
            let mut document = card::document(&card, asked).unwrap();
            assert_eq!(verify(&document), Signature::Absent);
            sign(&mut document);
            let Signature::Good { kid, card } = verify(&document) else {
                panic!("{document}")
            };
            assert_eq!(
                (kid.as_str(), &card),
                ("k", &document),
                "the whole card is signed"
            );
            let names: Vec<String> = document.as_object().unwrap().keys().cloned().collect();
            for name in names.iter().filter(|name| *name != "signatures") {
                let mut bent = document.clone();
                bent[name] = json!("bent");
                match verify(&bent) {
                    Signature::Bad(_) => {}
                    // A field of 0.3 beside a signed 1.0 card: dropped, as nobody signed it.
                    Signature::Good { card, .. } => assert!(card.get(name).is_none(), "{name}"),
                    other => panic!("{name}: {other:?}"),
                }
            }
            let mut added = document.clone();
            added["evil"] = json!("x");
            match verify(&added) {
                Signature::Bad(_) => {}
                Signature::Good { card, .. } => assert!(card.get("evil").is_none()),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn the_form_that_is_signed_is_rfc_8785s() {
    let mut document =
        json!({"b": 1.0, "a": {"z": "\u{20ac}\n", "e": 1e21, "n": 4.5e-7}, "\u{e9}": [true, null]});
    sign(&mut document);
    assert_eq!(
        document["signatures"][0]["signature"],
        "{\"a\":{\"e\":1e+21,\"n\":4.5e-7,\"z\":\"\u{20ac}\\n\"},\"b\":1,\"\u{e9}\":[true,null]}"
    );
}

/// The specification's own example of default values (8.4.1).
#[test]
fn default_values_are_left_out_as_the_specification_says() {
    let fragment = json!({"name": "Example Agent", "description": "", "skills": [],
        "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []}});
    let payload = r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#;
    assert!(matches!(
        verify(&signed_by_others(fragment, payload)),
        Signature::Good { .. }
    ));
}

/// A server that signs its 1.0 card and adds the fields of 0.3 afterwards, as the official Python SDK does.
#[test]
fn only_what_is_signed_of_a_mixed_card_is_kept() {
    let alone = card::document(&open_card(), Some("1.0")).unwrap();
    let mut signed = alone.clone();
    sign(&mut signed);
    let mut mixed = card::encode(&open_card(), Generation::V1_0);
    mixed["signatures"] = signed["signatures"].clone();
    mixed["url"] = json!("https://evil.example/");
    let Signature::Good { card, .. } = verify(&mixed) else {
        panic!("{mixed}")
    };
    assert_eq!(card, alone);
    let read = card::parse(&card).unwrap();
    assert!(
        read.endpoints
            .iter()
            .all(|endpoint| endpoint.url.host_str() == Some("agents.example"))
    );
}

#[test]
fn one_good_signature_is_enough_and_one_bad_one_alone_is_bad() {
    let mut document = card::document(&open_card(), Some("1.0")).unwrap();
    sign(&mut document);
    let good = document["signatures"][0].clone();
    let bad = json!({"protected": "k", "signature": "x"});
    let unknown = json!({"protected": "unknown", "signature": "x"});
    let verdict = |signatures: Value| {
        let mut document = document.clone();
        document["signatures"] = signatures;
        verify(&document)
    };
    assert!(matches!(
        verdict(json!([bad, unknown, good])),
        Signature::Good { .. }
    ));
    assert!(matches!(verdict(json!([unknown, bad])), Signature::Bad(_)));
    assert_eq!(
        verdict(json!([unknown])),
        Signature::Unchecked("no such key".into())
    );
    assert_eq!(verdict(json!([])), Signature::Absent);
    assert_eq!(verdict(json!(null)), Signature::Absent);
    for rubbish in [
        json!(7),
        json!("x"),
        json!([7]),
        json!([{}]),
        json!([{"protected": 1, "signature": 2}]),
    ] {
        assert!(matches!(verdict(rubbish.clone()), Signature::Bad(_)), "{rubbish}");
    }
    let many: Vec<Value> = vec![unknown; 100];
    assert!(matches!(verdict(json!(many)), Signature::Unchecked(_)));
}

#[test]
fn the_tag_follows_the_card_and_not_the_chance_in_its_signature() {
    let mut document = card::document(&open_card(), None).unwrap();
    sign(&mut document);
    let tag = card::etag(&document);
    let mut again = document.clone();
    again["signatures"][0]["signature"] = json!("another");
    assert_eq!(card::etag(&again), tag);
    again["version"] = json!("9");
    assert_ne!(card::etag(&again), tag);
    let mut other_key = document.clone();
    other_key["signatures"][0]["protected"] = json!("k2");
    assert_ne!(card::etag(&other_key), tag);

    let bare = tag.trim_start_matches("W/");
    for (header, fits) in [
        (tag.as_str(), true),
        (bare, true),
        ("*", true),
        (&format!("\"x\", {tag}"), true),
        ("\"x\"", false),
        ("", false),
    ] {
        assert_eq!(card::matches(header, &tag), fits, "{header}");
    }
}

#[test]
fn the_version_that_is_asked_for_selects_the_card() {
    let card = open_card();
    let both = card::document(&card, None).unwrap();
    assert!(both.get("supportedInterfaces").is_some() && both.get("url").is_some());
    assert_eq!(card::document(&card, Some("")), Ok(both));
    let new = card::document(&card, Some("1.0")).unwrap();
    assert!(new.get("supportedInterfaces").is_some() && new.get("url").is_none());
    let old = card::document(&card, Some("0.3")).unwrap();
    assert!(old.get("supportedInterfaces").is_none() && old.get("url").is_some());
    assert_eq!(card::document(&card, Some("2.0")).unwrap_err().code(), -32009);
}
