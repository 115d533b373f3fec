//! Everything that must grant nothing, and everything that nobody may read.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consent::{Consent, InvalidMove, Stage};
use http::StatusCode;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::world::{Browser, SECRETS, SESSION, World, publish};

#[tokio::test]
async fn a_changed_parameter_grants_nothing() {
    for (name, value, status, words) in [
        ("state", None, 400, "needs an answer"),
        ("state", Some("rubbish"), 400, "not expected"),
        (
            "state",
            Some("0f8fad5b-d9cb-469f-a165-70867728950e_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
            400,
            "not expected",
        ),
        ("iss", None, 400, "came from somewhere else"),
        (
            "iss",
            Some("https://evil.example"),
            400,
            "came from somewhere else",
        ),
        ("code", None, 400, "needs an answer"),
    ] {
        let world = World::new().await;
        let mut browser = Browser::with_session(SESSION);
        let asked = browser.connect(&world).await;
        let good = [
            ("code", "code-secret"),
            ("state", asked["state"].as_str()),
            ("iss", world.issuer.as_str()),
        ];
        let changed: Vec<(&str, &str)> = good
            .into_iter()
            .filter_map(|(known, own)| {
                if known == name {
                    Some((known, value?))
                } else {
                    Some((known, own))
                }
            })
            .collect();
        let seen = browser.answer(&world, &changed).await;
        seen.page(StatusCode::from_u16(status).unwrap(), words);
        assert!(world.exchanges().await.is_empty(), "{name} {value:?}");
        world.nothing_granted().await;
        assert_eq!(world.wakes(), 0);
    }
}

#[tokio::test]
async fn a_provider_that_does_not_name_itself_may_leave_iss_out_but_not_lie() {
    for (iss, good) in [(None, true), (Some("https://evil.example"), false)] {
        let world = World::new().await;
        world.token_endpoint_gives(None).await;
        // The first that fits answers; this one is mounted with priority.
        world.idp.reset().await;
        publish(&world.idp, &world.issuer, false).await;
        let token = json!({"access_token": "access-token-secret", "token_type": "bearer"});
        wiremock::Mock::given(wiremock::matchers::path("/idp/acme/token"))
            .respond_with(ResponseTemplate::new(200).set_body_json(token))
            .mount(&world.idp)
            .await;
        let mut browser = Browser::with_session(SESSION);
        let asked = browser.connect(&world).await;
        let mut answer = vec![("code", "code-secret"), ("state", asked["state"].as_str())];
        answer.extend(iss.map(|iss| ("iss", iss)));
        let seen = browser.answer(&world, &answer).await;
        assert_eq!(seen.status == StatusCode::OK, good, "{}", seen.body);
        assert_eq!(world.grant().await.is_some(), good);
    }
}

#[tokio::test]
async fn an_answer_counts_only_in_the_browser_that_left() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    // The starter's session alone is not enough, nor is a guessed tie.
    for mut other in [Browser::default(), Browser::with_session(SESSION)] {
        other.cookies.insert(
            format!("__Host-switchyard_acme_consent_{}", world.consent_id),
            "swb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".into(),
        );
        let seen = other.agree(&world, &asked).await;
        assert!(seen.status == StatusCode::FORBIDDEN || seen.status == StatusCode::BAD_REQUEST);
        world.nothing_granted().await;
    }
    // The state is used up with that: the thief's try is the end of it.
    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::BAD_REQUEST, "not expected");
    assert!(world.exchanges().await.is_empty());
    // Begun once more, it works.
    let asked = browser.connect(&world).await;
    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::OK, "You are connected");
}

#[tokio::test]
async fn an_answer_is_good_once() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    browser
        .agree(&world, &asked)
        .await
        .page(StatusCode::OK, "You are connected");
    let grant = world.grant().await;
    for seen in [
        browser.agree(&world, &asked).await,
        Browser::default().agree(&world, &asked).await,
        browser.get(&world, &world.link()).await,
        Browser::default().get(&world, &world.link()).await,
    ] {
        seen.page(StatusCode::GONE, "This link has been used");
    }
    assert_eq!(world.grant().await, grant);
    assert_eq!((world.exchanges().await.len(), world.wakes()), (1, 1));
}

#[tokio::test]
async fn what_the_provider_does_wrong_grants_nothing_and_can_be_begun_once_more() {
    let token = |more: Value| {
        let mut body = json!({"access_token": "access-token-secret", "token_type": "Bearer"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        ResponseTemplate::new(200).set_body_json(body)
    };
    let error =
        |status: u16, error: &str| ResponseTemplate::new(status).set_body_json(json!({"error": error}));
    for (answer, status) in [
        (error(400, "invalid_grant"), 502),
        (error(401, "invalid_client"), 502),
        (error(400, "<script>"), 502),
        (error(503, "temporarily_unavailable"), 503),
        (ResponseTemplate::new(500), 503),
        (ResponseTemplate::new(200).set_body_string("rubbish"), 502),
        (token(json!({"token_type": "mac"})), 502),
        (token(json!({"access_token": ""})), 502),
        (token(json!({"id_token": "a.b.c"})), 502),
    ] {
        let world = World::new().await;
        world.token_endpoint_gives(Some(answer)).await;
        let mut browser = Browser::with_session(SESSION);
        let asked = browser.connect(&world).await;
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::from_u16(status).unwrap(), "Begin once more");
        assert!(!seen.body.contains("<script>"));
        world.nothing_granted().await;
        assert_eq!(world.wakes(), 0);
        world.token_endpoint_gives(None).await;
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::BAD_REQUEST, "not expected");
        let asked = browser.connect(&world).await;
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::OK, "You are connected");
    }
}

#[tokio::test]
async fn a_provider_that_refuses_to_ask_is_no_refusal_of_the_user() {
    for error in ["server_error", "invalid_scope", "<script>alert(1)</script>"] {
        let world = World::new().await;
        let mut browser = Browser::with_session(SESSION);
        let asked = browser.connect(&world).await;
        let answer = [
            ("error", error),
            ("state", asked["state"].as_str()),
            ("iss", world.issuer.as_str()),
        ];
        let seen = browser.answer(&world, &answer).await;
        seen.page(StatusCode::BAD_GATEWAY, "did not agree");
        assert!(!seen.body.contains("alert"));
        assert!(matches!(world.consent().await.stage, Stage::Started(_)));
        world.nothing_granted().await;
    }
}

#[tokio::test]
async fn metadata_that_cannot_be_had_or_used_send_the_browser_nowhere() {
    let world = World::new().await;
    world.idp.reset().await;
    let seen = Browser::with_session(SESSION).get(&world, &world.link()).await;
    seen.page(StatusCode::BAD_GATEWAY, "did not agree");
    publish(&world.idp, "https://evil.example/acme", true).await;
    let seen = Browser::with_session(SESSION).get(&world, &world.link()).await;
    seen.page(StatusCode::BAD_GATEWAY, "did not agree");
    assert_eq!(world.consent().await.stage, Stage::Open);
}

#[tokio::test]
async fn our_secret_goes_to_the_configured_issuer_alone() {
    let world = World::new().await;
    for (provider, issuer) in [
        ("idp", "https://evil.example/acme"),
        ("google", world.issuer.as_str()),
    ] {
        let known = world.consent().await;
        let mut request = known.request;
        request.provider = provider.into();
        request.issuer = issuer.into();
        let id = "7c9e6679-7425-40de-944b-e07fc1f90ae7".to_owned();
        let consent = Consent::new(id, request, known.created_at, known.expires_at);
        world.records().put(&consent).await.unwrap();
        let link = format!("/connect/{}", consent.id);
        let seen = Browser::with_session(SESSION).get(&world, &link).await;
        seen.page(StatusCode::BAD_GATEWAY, "did not agree");
        assert!(world.idp.received_requests().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn rubbish_gets_a_page_and_the_next_request_an_answer() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let long = "x".repeat(10_000);
    for (target, status) in [
        ("/connect/1".to_owned(), 404),
        ("/connect/%ff".to_owned(), 404),
        ("/connect/%00".to_owned(), 404),
        ("/connect/..%2f..".to_owned(), 404),
        (format!("/connect/{long}"), 404),
        ("/connect/00000000-0000-0000-0000-000000000000".to_owned(), 404),
        ("/callback".to_owned(), 400),
        ("/callback?".to_owned(), 400),
        ("/callback?%ff=%ff&code".to_owned(), 400),
        ("/callback?code=a&state=b&state=c".to_owned(), 400),
        (format!("/callback?code=a&state={long}"), 400),
        ("/callback?code=a&state=%23%00%20".to_owned(), 400),
        (format!("/callback?code=a&state={}_x", world.consent_id), 400),
    ] {
        let seen = browser.get(&world, &target).await;
        assert_eq!(seen.status.as_u16(), status, "{target}");
        seen.page(seen.status, "<h1>");
        let start = target.get(..40).unwrap_or(&target);
        assert!(!seen.body.contains(&long), "{start}");
    }
    for elsewhere in ["/connect", "/connect/", "/callback/", "/callback/x"] {
        assert_eq!(browser.get(&world, elsewhere).await.status, StatusCode::NOT_FOUND);
    }
    let style = browser.get(&world, "/connect/page.css").await;
    assert_eq!(style.status, StatusCode::OK);
    let asked = browser.connect(&world).await;
    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::OK, "You are connected");
}

#[tokio::test]
async fn a_page_has_its_tenants_name_accent_and_logo() {
    let (world, mut browser) = (World::new().await, Browser::default());
    let plain = browser.get(&world, "/callback").await;
    assert!(plain.body.contains("· Switchyard</title>") && !plain.body.contains("brand.css"));
    let tenants = world.store.tenants();
    tenants.add(&world.tenant).await.unwrap();
    let changes = [("brand", "A & <i>"), ("accent", "#7a1f5c")];
    let changes = changes.map(|(key, value)| domain::SettingChange::parse(key, Some(value)).unwrap());
    assert!(tenants.set(&world.tenant, &changes).await.unwrap());
    let logo = store::Logo {
        media: "image/png".to_owned(),
        bytes: Vec::new(),
    };
    assert!(
        tenants
            .set_logo(&world.tenant, Some(("ab12", logo)))
            .await
            .unwrap()
    );
    world.clock.advance(Duration::from_secs(11));
    let branded = browser.get(&world, "/callback").await;
    branded.page(StatusCode::BAD_REQUEST, "· A &amp; &lt;i&gt;</title>");
    for part in [
        "<link rel=\"stylesheet\" href=\"/t/acme/brand.css\">",
        "<p class=\"brand\"><img src=\"/t/acme/logo?v=ab12\" alt=\"\">A &amp; &lt;i&gt; <span>acme</span>",
    ] {
        assert!(branded.body.contains(part), "{part}: {}", branded.body);
    }
}

#[tokio::test]
async fn an_expired_session_is_no_session() {
    let world = World::new().await;
    let later = |mut consent: Consent| {
        consent.expires_at = consent.expires_at.after(Duration::from_secs(40 * 24 * 3600));
        Ok::<_, InvalidMove>(consent)
    };
    world
        .records()
        .revise(world.consent().await, later)
        .await
        .unwrap();
    world.clock.advance(Duration::from_secs(31 * 24 * 3600));
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::OK, "One more step");
    world.nothing_granted().await;
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_log_line_tells_a_secret() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let world = World::new().await;
    let mut secrets: Vec<String> = SECRETS.map(str::to_owned).into();
    for mut browser in [Browser::default(), Browser::with_session(SESSION)] {
        let asked = browser.connect(&world).await;
        secrets.extend([asked["state"].clone(), asked["nonce"].clone()]);
        browser
            .answer(&world, &[("code", "code-secret"), ("state", "stale")])
            .await;
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::OK, "<h1>");
        if let Some(shown) = seen.body.split("<p class=\"code\"><code>").nth(1) {
            secrets.push(shown.split('<').next().unwrap().to_owned());
        }
        secrets.extend(browser.cookies.into_values());
    }
    for exchange in world.exchanges().await {
        let form: Vec<(String, String)> = url::form_urlencoded::parse(&exchange.body).into_owned().collect();
        secrets.extend(
            form.into_iter()
                .filter(|(name, _)| name == "code_verifier")
                .map(|(_, value)| value),
        );
    }
    drop(guard);
    let told = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(
        told.contains("consent given") && told.contains("request answered"),
        "{told}"
    );
    assert_eq!(secrets.len(), 5 + 4 + 1 + 3 + 2);
    for secret in secrets {
        assert!(!told.contains(&secret), "{secret}: {told}");
    }
}

#[tokio::test]
async fn the_sample_events_are_answered() {
    let world = World::new().await;
    for (name, status) in [
        ("connect_unknown", 404),
        ("callback_stale", 400),
        ("callback_rubbish", 400),
    ] {
        let path = format!(
            "{}/../../events/oauth_callback/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let event: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let target = match event["rawQueryString"].as_str().unwrap() {
            "" => event["rawPath"].as_str().unwrap().to_owned(),
            query => format!("{}?{query}", event["rawPath"].as_str().unwrap()),
        };
        let seen = Browser::default().get(&world, &target).await;
        assert_eq!(seen.status.as_u16(), status, "{name}");
    }
}
