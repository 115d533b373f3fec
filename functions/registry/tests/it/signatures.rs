//! Signed cards: a good signature is told, a bad one refused, an absent one and one that cannot be checked are shown.

use auth::Sealer;
use auth::card_signature::CardKeys;
use domain::SystemEntropy;
use http::StatusCode;
use serde_json::{Value, json};

use crate::fixture::{By, Registry, card};

struct Signer(CardKeys);

impl Signer {
    fn new() -> Self {
        let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap();
        Self(CardKeys::of(&sealer, "https://agents.example/echo").unwrap())
    }

    fn sign(&self, card: &Value, jku: Option<&str>) -> Value {
        let mut signed = card.clone();
        a2a::card::sign(&mut signed, |payload| {
            let halves = self.0.sign(payload, jku)?;
            Ok::<_, auth::KeyError>(a2a::card::JwsSignature {
                protected: halves.protected,
                signature: halves.signature,
            })
        })
        .unwrap();
        signed
    }

    fn jwks(&self) -> Value {
        json!({ "keys": self.0.public_jwks() })
    }
}

async fn register(registry: &Registry, at: &str, card: &Value) -> (StatusCode, Value) {
    let url = registry.serve(at, card).await;
    let body = json!({ "cardUrl": url });
    let answer = registry.call("POST", "/agents", &registry.admin(), body).await;
    (answer.status, answer.body)
}

#[tokio::test]
async fn a_good_signature_is_told_and_a_bad_one_is_refused() {
    let registry = Registry::start().await;
    registry.declare("echo", "global").await;
    let signer = Signer::new();
    let jku = registry.serve("/jwks.json", &signer.jwks()).await;
    let plain = card("Echo", &["type:echo"]);

    let (status, agent) = register(&registry, "/absent.json", &plain).await;
    assert_eq!(status, StatusCode::CREATED, "{agent}");
    assert_eq!(agent["signature"], json!({"state": "absent"}));

    let signed = signer.sign(&plain, Some(&jku));
    let (status, agent) = register(&registry, "/good.json", &signed).await;
    assert_eq!(status, StatusCode::CREATED, "{agent}");
    assert_eq!(
        agent["signature"],
        json!({"state": "good", "kid": signer.jwks()["keys"][0]["kid"]})
    );

    let mut bent = signed.clone();
    bent["url"] = json!("https://evil.example/a2a");
    let (status, refusal) = register(&registry, "/bent.json", &bent).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refusal}");
    assert!(
        refusal.to_string().contains("the card's signature is bad"),
        "{refusal}"
    );
    let host = registry.token(By::Acme, &["registry:read"]);
    assert_eq!(
        registry.ids("/agents", &host).await.len(),
        2,
        "the refused one left nothing"
    );
}

#[tokio::test]
async fn a_signature_that_cannot_be_checked_is_shown_as_that() {
    let registry = Registry::start().await;
    registry.declare("echo", "global").await;
    let signer = Signer::new();
    let plain = card("Echo", &["type:echo"]);
    let missing = format!("{}/nothing.json", registry.cards.uri());
    let strangers = registry.serve("/others.json", &Signer::new().jwks()).await;
    for (at, jku, reason) in [
        ("/1.json", None, "does not say where"),
        ("/2.json", Some("https://evil.example/jwks.json"), "own host"),
        ("/3.json", Some(missing.as_str()), "could not be fetched"),
        ("/4.json", Some(strangers.as_str()), "not published"),
    ] {
        let (status, agent) = register(&registry, at, &signer.sign(&plain, jku)).await;
        assert_eq!(status, StatusCode::CREATED, "{agent}");
        assert_eq!(agent["signature"]["state"], "unchecked");
        let told = agent["signature"]["reason"].as_str().unwrap();
        assert!(told.contains(reason), "{told}");
    }
}

#[tokio::test]
async fn a_check_marks_an_agent_whose_signature_went_bad_and_keeps_its_old_card() {
    let registry = Registry::start().await;
    registry.declare("echo", "global").await;
    let signer = Signer::new();
    let jku = format!("{}/jwks.json", registry.cards.uri());
    let signed = signer.sign(&card("Echo", &["type:echo"]), Some(&jku));
    registry.serve("/jwks.json", &signer.jwks()).await;
    let (_, agent) = register(&registry, "/e.json", &signed).await;

    registry.cards.reset().await;
    registry.serve("/jwks.json", &signer.jwks()).await;
    let mut bent = signed.clone();
    bent["name"] = json!("Evil");
    registry.serve("/e.json", &bent).await;
    let check = format!("/agents/{}/check", agent["id"].as_str().unwrap());
    let checked = registry
        .call("POST", &check, &registry.admin(), json!(null))
        .await;
    assert_eq!(checked.body["health"]["ok"], false, "{}", checked.body);
    assert!(
        checked.body["health"]["reason"]
            .as_str()
            .unwrap()
            .contains("signature")
    );
    assert_eq!(checked.body["card"]["name"], "Echo");
    assert_eq!(checked.body["signature"]["state"], "good");
}

/// Each start of an agent signs its card anew.
#[tokio::test]
async fn a_card_that_is_only_signed_anew_is_no_news() {
    let registry = Registry::start().await;
    registry.declare("echo", "global").await;
    let signer = Signer::new();
    let jku = registry.serve("/jwks.json", &signer.jwks()).await;
    let mut signed = signer.sign(&card("Echo", &["type:echo"]), Some(&jku));
    let (_, agent) = register(&registry, "/e.json", &signed).await;

    registry.cards.reset().await;
    registry.serve("/jwks.json", &signer.jwks()).await;
    // Two signatures of one card, both good: certainly other bytes than before.
    let once_more = signed["signatures"][0].clone();
    signed["signatures"].as_array_mut().unwrap().push(once_more);
    registry.serve("/e.json", &signed).await;
    let (report, calls) = store::counted(edge::ScheduleHandler::run(&registry.checks)).await;
    assert_eq!(report.unwrap()["well"], 1);
    assert!(
        !calls.by_operation.contains_key("TransactWriteItems"),
        "{calls:?}"
    );
    let host = registry.token(By::Acme, &["registry:read"]);
    let path = format!("/agents/{}", agent["id"].as_str().unwrap());
    assert_eq!(registry.get(&path, &host).await.body["card"], agent["card"]);
}
