//! Cards: per version, cached, signed.

use agent::Access;
use auth::card_signature::{self, Checked};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;

use crate::support::{Bench, URL, bench, done};

const CARD: &str = "/.well-known/agent-card.json";

async fn card(bench: &Bench, version: Option<&str>) -> (http::HeaderMap, Value) {
    let request = Request::get(CARD);
    let request = match version {
        Some(version) => request.header("a2a-version", version),
        None => request,
    };
    let response = bench.ask(None, request, "").await;
    assert_eq!(response.status(), StatusCode::OK);
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (head.headers, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_card_that_is_known_is_not_sent_again() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let (headers, _) = card(&bench, None).await;
    assert!(headers["cache-control"].to_str().unwrap().contains("max-age="));
    for (name, value) in [
        ("if-none-match", &headers["etag"]),
        ("if-modified-since", &headers["last-modified"]),
    ] {
        let response = bench.ask(None, Request::get(CARD).header(name, value), "").await;
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{name}");
        assert_eq!(response.headers()["etag"], headers["etag"]);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.is_empty());
    }
    let other = Request::get(CARD).header("if-none-match", "\"other\"");
    assert_eq!(bench.ask(None, other, "").await.status(), StatusCode::OK);
    // Another instance signs anew, and it is the same card all the same.
    assert_eq!(card(&bench, None).await.0["etag"], headers["etag"]);
}

#[tokio::test]
async fn a_card_speaks_the_version_that_is_asked_for() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let (headers, both) = card(&bench, None).await;
    let (new_headers, new) = card(&bench, Some("1.0")).await;
    let (old_headers, old) = card(&bench, Some("0.3")).await;
    let (_, unknown) = card(&bench, Some("7.0")).await;
    assert!(both["supportedInterfaces"].is_array() && both["preferredTransport"].is_string());
    assert!(new["supportedInterfaces"].is_array() && new.get("preferredTransport").is_none());
    assert!(old.get("supportedInterfaces").is_none() && old["preferredTransport"].is_string());
    assert_eq!(
        unknown["name"], both["name"],
        "whoever looks for a common version has to see the card"
    );
    assert_ne!(headers["etag"], new_headers["etag"]);
    assert_ne!(headers["etag"], old_headers["etag"]);
    assert_eq!(headers["vary"], "A2A-Version");
}

#[tokio::test]
async fn a_cards_urls_are_the_configured_one_whatever_the_request_says() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let mut request = Request::get(CARD);
    for name in [
        "host",
        "x-forwarded-host",
        "x-original-host",
        "x-amzn-remapped-host",
    ] {
        request = request.header(name, "evil.example");
    }
    let request = request
        .header("x-forwarded-proto", "gopher")
        .header("x-forwarded-prefix", "/evil")
        .header("forwarded", "host=evil.example;proto=gopher");
    let (_, told) = bench.json(None, request, "").await;
    assert!(!told.to_string().contains("evil") && !told.to_string().contains("gopher"));
    for interface in told["supportedInterfaces"].as_array().unwrap() {
        assert_eq!(interface["url"], URL);
    }
    assert_eq!(told["url"], URL);
}

#[tokio::test]
async fn a_card_is_signed_with_a_key_that_stands_beside_it() {
    let bench = bench(Access::Secured, Box::new(|_, _| Ok(done()))).await;
    let (_, jwks) = bench.json(None, Request::get("/.well-known/jwks.json"), "").await;
    let check = |signature: &a2a::card::JwsSignature, payload: &[u8]| match card_signature::check(
        &signature.protected,
        &signature.signature,
        payload,
        &jwks,
    ) {
        Checked::Good { kid } => a2a::card::Verdict::Good(kid),
        other => a2a::card::Verdict::Bad(format!("{other:?}")),
    };
    for version in [None, Some("1.0"), Some("0.3")] {
        let (_, mut signed) = card(&bench, version).await;
        let verdict = a2a::card::verify(&signed, check);
        assert!(
            matches!(verdict, a2a::card::Signature::Good { .. }),
            "{version:?}: {verdict:?}"
        );
        signed["name"] = "Mallory".into();
        let verdict = a2a::card::verify(&signed, check);
        assert!(
            matches!(verdict, a2a::card::Signature::Bad(_)),
            "{version:?}: {verdict:?}"
        );
    }
    let private = jwks["keys"]
        .as_array()
        .unwrap()
        .iter()
        .any(|key| key.get("d").is_some());
    assert!(!private);
}
