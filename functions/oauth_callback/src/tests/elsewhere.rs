//! Signing in at an issuer that is not ours, and its word that somebody has signed out there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::{SigningKey, token};
use axum::body::Body;
use domain::{Clock, ExposeSecret, Owner, SecretString, Timestamp};
use http::header::{CONTENT_TYPE, LOCATION};
use http::{Request, StatusCode};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use outbound::oauth::{Dialect, OAuthClient, Provider, SignInTerms};
use serde_json::{Value, json};
use store::{LiveSession, person_id};
use tower::ServiceExt;
use url::form_urlencoded;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::world::{BASE, Browser, Queue, SESSION, Seen, World};

const COOKIE_NAME: &str = "__Host-switchyard_acme";
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Somebody else's provider.
struct Corp {
    server: MockServer,
    key: SigningKey,
    pem: SecretString,
    /// The identity token that it gives next.
    next: Arc<Mutex<String>>,
}

impl Corp {
    async fn start() -> Self {
        let (key, pem) = SigningKey::generate().unwrap();
        let corp = Self {
            server: MockServer::start().await,
            key,
            pem,
            next: Arc::default(),
        };
        corp.publish().await;
        corp
    }

    fn issuer(&self) -> String {
        format!("{}/corp", self.server.uri())
    }

    fn provider(&self) -> Provider {
        Provider {
            issuer: self.issuer(),
            dialect: Dialect::Standard,
            sign_in: SignInTerms {
                name: "Corp <Login>".into(),
                roles_claim: Some("groups".into()),
                roles: BTreeMap::from([("chat-admins".into(), "admin".into())]),
            },
            client: OAuthClient {
                id: "chat".into(),
                secret: "client-secret-secret".into(),
            },
        }
    }

    async fn publish(&self) {
        self.server.reset().await;
        let issuer = self.issuer();
        let get = |at: &str, body: Value| {
            Mock::given(method("GET"))
                .and(path(at.to_owned()))
                .respond_with(ResponseTemplate::new(200).set_body_json(body))
        };
        let metadata = json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/auth"),
            "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks"),
            "code_challenge_methods_supported": ["S256"],
        });
        get("/corp/.well-known/openid-configuration", metadata)
            .mount(&self.server)
            .await;
        get("/corp/jwks", json!({"keys": [self.key.public_jwk()]}))
            .mount(&self.server)
            .await;
        let next = Arc::clone(&self.next);
        Mock::given(method("POST"))
            .and(path("/corp/token"))
            .respond_with(move |_: &wiremock::Request| {
                ResponseTemplate::new(200).set_body_json(json!({
                    "access_token": "access-token-secret", "token_type": "Bearer", "id_token": *next.lock().unwrap(),
                }))
            })
            .mount(&self.server)
            .await;
    }

    /// Other keys from now on.
    async fn rotate(&mut self) {
        (self.key, self.pem) = SigningKey::generate().unwrap();
        self.publish().await;
    }

    fn sign(&self, kind: &str, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.key.kid().to_owned());
        header.typ = Some(kind.to_owned());
        let key = EncodingKey::from_ec_pem(self.pem.expose_secret().as_bytes()).unwrap();
        jsonwebtoken::encode(&header, claims, &key).unwrap()
    }

    fn identity(&self, now: Timestamp, nonce: &str) -> Value {
        json!({"iss": self.issuer(), "sub": "ada|1", "aud": "chat", "nonce": nonce, "iat": now.seconds(),
            "exp": now.seconds() + 60, "auth_time": now.seconds(), "name": "Ada", "preferred_username": "ada@corp.example",
            "groups": ["staff", "chat-admins"], "sid": "s1", "acr": "urn:two", "amr": ["pwd", "otp"]})
    }

    fn logout(&self, now: Timestamp, jti: &str) -> Value {
        json!({"iss": self.issuer(), "sub": "ada|1", "aud": "chat", "iat": now.seconds(), "exp": now.seconds() + 120,
            "jti": jti, "events": {EVENT: {}}})
    }
}

async fn world(corp: &Corp, rules: (&str, &str)) -> World {
    World::built(Queue::default(), rules, &[("corp", corp.provider())]).await
}

/// Leaves to sign in; what the issuer is asked.
async fn leave(browser: &mut Browser, world: &World, target: &str) -> BTreeMap<String, String> {
    browser.get(world, target).await.asked()
}

async fn back(browser: &mut Browser, world: &World, parameters: &[(&str, &str)]) -> Seen {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    browser.get(world, &format!("/signin/callback?{query}")).await
}

/// Signs in with what the provider says then.
async fn come(browser: &mut Browser, world: &World, corp: &Corp, change: impl FnOnce(&mut Value)) -> Seen {
    let asked = leave(browser, world, "/signin?issuer=corp&return=tasks").await;
    let mut claims = corp.identity(world.clock.now(), &asked["nonce"]);
    change(&mut claims);
    *corp.next.lock().unwrap() = corp.sign("JWT", &claims);
    back(
        browser,
        world,
        &[("code", "code-secret"), ("state", &asked["state"])],
    )
    .await
}

async fn live(browser: &Browser, world: &World) -> Option<LiveSession> {
    let token = browser.cookies.get(COOKIE_NAME)?;
    let (sessions, hash) = (world.store.sessions(), token::hash(token));
    let found = sessions.live_session(&world.tenant, &hash, world.clock.now());
    found.await.unwrap()
}

async fn tell(world: &World, media: &str, body: String) -> (StatusCode, String) {
    let request = Request::post("/signin/backchannel").header(CONTENT_TYPE, media);
    let response = world.app.clone().oneshot(request.body(Body::from(body)).unwrap());
    let (head, body) = response.await.unwrap().into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    (head.status, String::from_utf8(body.to_vec()).unwrap())
}

async fn signs_out(world: &World, token: &str) -> StatusCode {
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("logout_token", token)
        .finish();
    tell(world, "application/x-www-form-urlencoded", body).await.0
}

#[tokio::test]
async fn a_person_of_another_issuer_is_their_issuer_and_subject() {
    let corp = Corp::start().await;
    let world = world(&corp, ("idp,corp", "")).await;
    let mut browser = Browser::default();
    let seen = browser.get(&world, "/signin?return=tasks").await;
    seen.page(StatusCode::OK, "Where do you sign in?");
    assert!(seen.body.contains("Corp &lt;Login&gt;"), "{}", seen.body);
    assert!(
        seen.body
            .contains(&format!("href=\"{BASE}/signin?return=tasks&amp;issuer=corp\"")),
        "{}",
        seen.body
    );
    let asked = leave(&mut browser, &world, "/signin?issuer=corp").await;
    assert_eq!(asked.get("resource"), None, "many providers refuse one");
    assert_eq!(
        (asked["client_id"].as_str(), asked["scope"].as_str()),
        ("chat", "openid profile")
    );

    let seen = come(&mut browser, &world, &corp, |_| ()).await;
    assert_eq!(seen.status, StatusCode::SEE_OTHER, "{}", seen.body);
    assert_eq!(seen.headers[LOCATION], format!("{BASE}/tasks"));
    let ada = live(&browser, &world).await.expect("a session");
    let told = ada.signed_in.clone().expect("a person");
    assert_eq!(
        (
            told.username.as_str(),
            told.display_name.as_str(),
            &told.roles[..]
        ),
        ("ada@corp.example", "Ada", &["admin".to_owned()][..])
    );
    let subject = Owner::parse("ada|1").unwrap();
    assert_eq!(ada.owner, person_id(&corp.issuer(), &subject, None).unwrap());

    // Another name and address are the same person; the same address of another subject is somebody else.
    let mut second = Browser::default();
    come(&mut second, &world, &corp, |claims| {
        claims["preferred_username"] = json!("x")
    })
    .await;
    assert_eq!(live(&second, &world).await.expect("a session").owner, ada.owner);
    let mut other = Browser::default();
    come(&mut other, &world, &corp, |claims| claims["sub"] = json!("eve|2")).await;
    assert_ne!(live(&other, &world).await.expect("a session").owner, ada.owner);

    // What the issuer says last counts, at once and everywhere.
    come(&mut second, &world, &corp, |claims| {
        claims["groups"] = json!(["operator", "admin"])
    })
    .await;
    let told = live(&browser, &world).await.expect("a session").signed_in;
    assert_eq!(
        told.expect("a person").roles,
        [""; 0],
        "its words are not our roles"
    );

    // An epoch of their own ends what was proved before, here and in whatever is under way.
    world.clock.advance(Duration::from_secs(5));
    let sessions = world.store.sessions();
    let ended = sessions.end_person(&world.tenant, &ada.owner, world.clock.now());
    ended.await.unwrap();
    assert_eq!(live(&browser, &world).await, None);
    assert_eq!(live(&second, &world).await, None);
    assert!(live(&other, &world).await.is_some());
    let before = world.clock.now().seconds() - 5;
    let seen = come(&mut browser, &world, &corp, |claims| {
        claims["auth_time"] = json!(before)
    })
    .await;
    seen.page(StatusCode::FORBIDDEN, "Sign in once more");
    assert!(seen.body.contains("prompt=login"), "{}", seen.body);
    let asked = leave(&mut browser, &world, "/signin?issuer=corp&prompt=login").await;
    assert_eq!(asked["prompt"], "login");
    world.clock.advance(Duration::from_secs(1));
    come(&mut browser, &world, &corp, |_| ()).await;
    assert_eq!(live(&browser, &world).await.expect("a session").owner, ada.owner);
}

#[tokio::test]
async fn what_was_proved_in_the_second_of_an_end_does_not_outlive_it() {
    let corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let into_second = 1000 - world.clock.now().millis() % 1000;
    world
        .clock
        .advance(Duration::from_millis(u64::try_from(into_second).unwrap()));
    let mut browser = Browser::default();
    come(&mut browser, &world, &corp, |_| ()).await;
    let ada = live(&browser, &world).await.expect("a session").owner;
    // The issuer tells times to the second: this end is of the same one, and later.
    world.clock.advance(Duration::from_millis(300));
    let sessions = world.store.sessions();
    let ended = sessions.end_person(&world.tenant, &ada, world.clock.now());
    ended.await.unwrap();
    assert_eq!(live(&browser, &world).await, None);
    world.clock.advance(Duration::from_millis(300));
    // Silently, with the old proof.
    let seen = come(&mut browser, &world, &corp, |_| ()).await;
    seen.page(StatusCode::FORBIDDEN, "Sign in once more");
    assert_eq!(live(&browser, &world).await, None);
    world.clock.advance(Duration::from_millis(400));
    come(&mut browser, &world, &corp, |_| ()).await;
    assert_eq!(live(&browser, &world).await.expect("a session").owner, ada);
}

#[tokio::test]
async fn what_the_issuer_did_not_sign_for_us_and_for_this_signs_nobody_in() {
    let mut corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let mut browser = Browser::default();
    for (name, value) in [
        ("iss", json!(world.issuer)),
        ("aud", json!("host")),
        ("aud", json!(["chat", "other"])),
        ("azp", json!("other")),
        ("nonce", json!("other")),
        ("nonce", Value::Null),
        ("exp", json!(-60)),
        ("iat", json!(world.clock.now().seconds() + 3600)),
        ("sub", json!("a#b")),
        ("sub", json!("anonymous")),
        ("sub", json!("")),
        ("auth_time", json!("now")),
    ] {
        let seen = come(&mut browser, &world, &corp, |claims| claims[name] = value.clone()).await;
        seen.page(StatusCode::BAD_GATEWAY, "The service did not agree");
        assert_eq!(live(&browser, &world).await, None, "{name} {value}");
    }
    // Signed by somebody else under the issuer's own key id, and by nobody.
    let (_, stranger) = SigningKey::generate().unwrap();
    let own = std::mem::replace(&mut corp.pem, stranger);
    let seen = come(&mut browser, &world, &corp, |_| ()).await;
    seen.page(StatusCode::BAD_GATEWAY, "The service did not agree");
    corp.pem = own;
    let asked = leave(&mut browser, &world, "/signin").await;
    let token = corp.sign("JWT", &corp.identity(world.clock.now(), &asked["nonce"]));
    let unsigned = token.rsplit_once('.').unwrap().0;
    *corp.next.lock().unwrap() = format!("{unsigned}.");
    let seen = back(&mut browser, &world, &[("code", "c"), ("state", &asked["state"])]).await;
    seen.page(StatusCode::BAD_GATEWAY, "The service did not agree");
    // Another issuer's answer, where this one does not name itself.
    let asked = leave(&mut browser, &world, "/signin").await;
    let answer = [
        ("code", "c"),
        ("state", asked["state"].as_str()),
        ("iss", world.issuer.as_str()),
    ];
    let seen = back(&mut browser, &world, &answer).await;
    seen.page(StatusCode::BAD_REQUEST, "The answer came from somewhere else");
    assert_eq!(live(&browser, &world).await, None);

    // Its keys may rotate at any time; what it signed with those before counts no more once they are gone.
    come(&mut browser, &world, &corp, |_| ()).await;
    assert!(live(&browser, &world).await.is_some());
    world.clock.advance(Duration::from_secs(61));
    corp.rotate().await;
    let mut second = Browser::default();
    come(&mut second, &world, &corp, |_| ()).await;
    assert!(live(&second, &world).await.is_some(), "by the new keys");

    // While it is out of reach, people are told so; whoever is signed in works on.
    corp.server.reset().await;
    let outage = ResponseTemplate::new(503);
    Mock::given(method("GET"))
        .respond_with(outage)
        .mount(&corp.server)
        .await;
    let seen = Browser::default().get(&world, "/signin").await;
    seen.page(StatusCode::SERVICE_UNAVAILABLE, "The service does not answer");
    assert!(live(&second, &world).await.is_some());
}

#[tokio::test]
async fn what_openid_connect_allows_signs_people_in() {
    let corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let now = world.clock.now().seconds();
    for (name, value) in [
        (
            "exp",
            json!(format!("{}.710636", now + 60).parse::<f64>().unwrap()),
        ),
        ("iat", json!(format!("{now}.25").parse::<f64>().unwrap())),
        ("auth_time", json!(format!("{now}.999").parse::<f64>().unwrap())),
        ("nbf", json!(format!("{now}.5").parse::<f64>().unwrap())),
    ] {
        let mut browser = Browser::default();
        come(&mut browser, &world, &corp, |claims| claims[name] = value.clone()).await;
        assert!(live(&browser, &world).await.is_some(), "{name} {value}");
    }
    for (name, value) in [
        ("exp", json!(1e300)),
        ("exp", json!("tomorrow")),
        ("exp", json!(format!("{}.9", now - 62).parse::<f64>().unwrap())),
        ("iat", json!(format!("{}.5", now + 61).parse::<f64>().unwrap())),
    ] {
        let mut browser = Browser::default();
        let seen = come(&mut browser, &world, &corp, |claims| claims[name] = value.clone()).await;
        seen.page(StatusCode::BAD_GATEWAY, "The service did not agree");
        assert_eq!(live(&browser, &world).await, None, "{name} {value}");
    }
}

/// Identity tokens in the shapes of many providers, and whom each of them lets in.
#[tokio::test]
async fn what_many_providers_say_of_people_signs_them_in() {
    let table = include_str!("../../../../shared/outbound/tests/providers.json");
    let table: Value = serde_json::from_str(table).unwrap();
    let corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let now = world.clock.now().seconds();
    for row in table["identities"].as_array().unwrap() {
        let mut browser = Browser::default();
        let seen = come(&mut browser, &world, &corp, |claims| {
            let claims = claims.as_object_mut().unwrap();
            for (name, value) in row["claims"].as_object().unwrap() {
                let value = match value.as_str() {
                    Some("{now}") => json!(now),
                    Some("{255}") => json!("C".repeat(255)),
                    Some("{256}") => json!("C".repeat(256)),
                    _ => value.clone(),
                };
                claims.insert(name.clone(), value);
            }
            claims.retain(|_, value| *value != "{none}");
        })
        .await;
        let session = live(&browser, &world).await;
        if row["user"].is_null() {
            seen.page(StatusCode::BAD_GATEWAY, "The service did not agree");
            assert!(session.is_none(), "{row}");
            continue;
        }
        let session = session.unwrap_or_else(|| panic!("{row}: {}", seen.body));
        let who = session.signed_in.unwrap();
        assert_eq!(row["user"], who.username.as_str(), "{row}");
    }
}

#[tokio::test]
async fn a_header_that_says_where_keys_are_is_not_followed_and_hurts_nobody() {
    let mut corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let elsewhere = MockServer::start().await;
    let (other, stranger) = SigningKey::generate().unwrap();
    let keys = json!({"keys": [other.public_jwk()]});
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(200).set_body_json(&keys))
        .mount(&elsewhere)
        .await;
    let place = format!("{}/jwks", elsewhere.uri());
    let come = async |corp: &Corp, kid: &str| {
        let mut browser = Browser::default();
        let asked = leave(&mut browser, &world, "/signin?issuer=corp&return=tasks").await;
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(kid.to_owned());
        header.jku = Some(place.clone());
        header.x5u = Some(place.clone());
        header.x5c = Some(vec!["MIIB".to_owned()]);
        let key = EncodingKey::from_ec_pem(corp.pem.expose_secret().as_bytes()).unwrap();
        let claims = corp.identity(world.clock.now(), &asked["nonce"]);
        *corp.next.lock().unwrap() = jsonwebtoken::encode(&header, &claims, &key).unwrap();
        let answer = [("code", "code-secret"), ("state", asked["state"].as_str())];
        back(&mut browser, &world, &answer).await;
        live(&browser, &world).await.is_some()
    };
    let own = corp.key.kid().to_owned();
    assert!(come(&corp, &own).await, "by the key that the issuer publishes");
    // A stranger's key, named by its own id and by the issuer's.
    corp.pem = stranger;
    assert!(!come(&corp, other.kid()).await);
    assert!(!come(&corp, &own).await);
    assert!(elsewhere.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_silent_sign_in_asks_nothing_and_changes_nothing_where_it_would_have_to() {
    let corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let mut browser = Browser::with_session(SESSION);
    let asked = leave(&mut browser, &world, "/signin?prompt=none&return=tasks").await;
    assert_eq!(asked["prompt"], "none");
    let answer = [("error", "login_required"), ("state", asked["state"].as_str())];
    let seen = back(&mut browser, &world, &answer).await;
    assert_eq!(seen.status, StatusCode::SEE_OTHER, "{}", seen.body);
    assert_eq!(seen.headers[LOCATION], format!("{BASE}/tasks"));
    assert_eq!(browser.cookies[COOKIE_NAME], SESSION, "it is as before");
    // An issuer that says so where it may ask is out of order.
    let asked = leave(&mut browser, &world, "/signin").await;
    let answer = [("error", "login_required"), ("state", asked["state"].as_str())];
    let seen = back(&mut browser, &world, &answer).await;
    seen.page(StatusCode::BAD_GATEWAY, "The service did not agree");
    // Twelve hours, then anew; without a word where the issuer still knows the person.
    come(&mut browser, &world, &corp, |_| ()).await;
    let first = live(&browser, &world).await.expect("a session");
    world.clock.advance(Duration::from_secs(12 * 3600));
    assert_eq!(live(&browser, &world).await, None);
    let asked = leave(&mut browser, &world, "/signin?prompt=none").await;
    let mut claims = corp.identity(world.clock.now(), &asked["nonce"]);
    claims["auth_time"] = json!(world.clock.now().seconds() - 12 * 3600);
    *corp.next.lock().unwrap() = corp.sign("JWT", &claims);
    back(&mut browser, &world, &[("code", "c"), ("state", &asked["state"])]).await;
    assert_eq!(
        live(&browser, &world).await.expect("a session").owner,
        first.owner
    );
}

#[tokio::test]
async fn an_issuer_is_asked_when_somebody_signed_in_and_if_it_does_not_say_the_token_stands_for_it() {
    let corp = Corp::start().await;
    let world = world(&corp, ("idp,corp", "")).await;
    let mut browser = Browser::default();
    // Whoever is to prove it once more does so now, at an issuer too that knows no prompt.
    for (query, max_age) in [
        ("issuer=corp", "2592000"),
        ("issuer=corp&prompt=none", "2592000"),
        ("issuer=corp&prompt=login", "0"),
    ] {
        let asked = leave(&mut browser, &world, &format!("/signin?{query}")).await;
        assert_eq!(asked["max_age"], max_age, "{query}");
    }
    let without = |issued: i64| {
        move |claims: &mut Value| {
            claims["iat"] = json!(issued);
            claims.as_object_mut().map(|claims| claims.remove("auth_time"));
        }
    };
    let now = world.clock.now();
    come(&mut browser, &world, &corp, without(now.seconds())).await;
    let ada = live(&browser, &world).await.expect("a session").owner;
    // An end covers it as it does a time that was said: a token of before does not outlive it.
    world.clock.advance(Duration::from_secs(60));
    let ended = world.store.sessions();
    let ended = ended.end_person(&world.tenant, &ada, world.clock.now());
    ended.await.unwrap();
    assert_eq!(live(&browser, &world).await, None);
    let seen = come(&mut browser, &world, &corp, without(now.seconds() + 59)).await;
    seen.page(StatusCode::FORBIDDEN, "Sign in once more");
    assert_eq!(live(&browser, &world).await, None);
}

#[tokio::test]
async fn a_tenant_may_demand_how_somebody_has_signed_in() {
    let corp = Corp::start().await;
    let world = world(&corp, ("idp,corp", "urn:two amr:hwk")).await;
    let mut browser = Browser::default();
    let asked = leave(&mut browser, &world, "/signin?issuer=corp").await;
    assert_eq!(asked["acr_values"], "urn:two");
    for (acr, amr, is_enough) in [
        (json!("urn:two"), json!([]), true),
        (json!("0"), json!(["pwd", "hwk"]), true),
        (json!("0"), json!(["pwd"]), false),
        (Value::Null, Value::Null, false),
        (json!("hwk"), json!(["urn:two"]), false),
        (json!(["urn:two"]), json!({"hwk": true}), false),
    ] {
        let mut browser = Browser::default();
        let seen = come(&mut browser, &world, &corp, |claims| {
            (claims["acr"], claims["amr"]) = (acr.clone(), amr.clone());
        })
        .await;
        assert_eq!(live(&browser, &world).await.is_some(), is_enough, "{acr} {amr}");
        if !is_enough {
            seen.page(StatusCode::FORBIDDEN, "This chat asks for a stronger sign-in");
        }
    }
}

#[tokio::test]
async fn an_issuers_word_ends_its_peoples_sessions_at_once_and_once() {
    let corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    let (mut one, mut two, mut eve) = (Browser::default(), Browser::default(), Browser::default());
    let sign_in = async |one: &mut Browser, two: &mut Browser| {
        come(one, &world, &corp, |_| ()).await;
        come(two, &world, &corp, |claims| claims["sid"] = json!("s2")).await;
        assert!(live(one, &world).await.is_some() && live(two, &world).await.is_some());
    };
    sign_in(&mut one, &mut two).await;
    come(&mut eve, &world, &corp, |claims| {
        (claims["sub"], claims["sid"]) = (json!("eve|2"), json!("s3"));
    })
    .await;
    world.clock.advance(Duration::from_secs(5));
    let now = world.clock.now();

    // One of its sessions alone.
    let mut claims = corp.logout(now, "j1");
    claims["sid"] = json!("s1");
    let by_sid = corp.sign("logout+jwt", &claims);
    assert_eq!(signs_out(&world, &by_sid).await, StatusCode::OK);
    assert_eq!(live(&one, &world).await, None);
    assert!(live(&two, &world).await.is_some());
    // A sign-in that was under way when its session ended there.
    let seen = come(&mut one, &world, &corp, |_| ()).await;
    seen.page(StatusCode::FORBIDDEN, "Sign in once more");
    assert_eq!(live(&one, &world).await, None);
    // Everything of a person; older issuers name no type.
    let by_subject = corp.sign("JWT", &corp.logout(now, "j2"));
    assert_eq!(signs_out(&world, &by_subject).await, StatusCode::OK);
    assert_eq!(live(&two, &world).await, None);
    assert!(live(&eve, &world).await.is_some(), "nobody else's");

    // Whoever signs in again afterwards stays, whatever is sent again.
    world.clock.advance(Duration::from_secs(5));
    come(&mut two, &world, &corp, |claims| claims["sid"] = json!("s4")).await;
    for replayed in [&by_sid, &by_subject] {
        assert_eq!(signs_out(&world, replayed).await, StatusCode::BAD_REQUEST);
        assert!(live(&two, &world).await.is_some());
    }

    // Forged, of another issuer, for somebody else, over, with a nonce, of no event, of nobody: nothing is ended.
    let now = world.clock.now();
    let tokens = [
        ("iss", json!(world.issuer)),
        ("iss", json!("https://elsewhere.example")),
        ("aud", json!("host")),
        ("aud", json!(["chat", "globex-chat"])),
        ("exp", json!(now.seconds() - 100)),
        ("iat", json!(now.seconds() + 3600)),
        ("nonce", json!("n")),
        ("events", json!({})),
        ("jti", Value::Null),
        ("sub", Value::Null),
    ];
    for (number, (name, value)) in tokens.into_iter().enumerate() {
        let mut claims = corp.logout(now, &format!("bad-{number}"));
        claims[name] = value;
        let token = corp.sign("logout+jwt", &claims);
        assert_eq!(
            signs_out(&world, &token).await,
            StatusCode::BAD_REQUEST,
            "{claims}"
        );
    }
    let good = corp.sign("logout+jwt", &corp.logout(now, "forged"));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let (_, stranger) = SigningKey::generate().unwrap();
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some(corp.key.kid().to_owned());
    let key = EncodingKey::from_ec_pem(stranger.expose_secret().as_bytes()).unwrap();
    let forged = jsonwebtoken::encode(&header, &corp.logout(now, "forged"), &key).unwrap();
    let identity = corp.sign("JWT", &corp.identity(now, "n"));
    let odd_type = corp.sign("at+jwt", &corp.logout(now, "odd"));
    for token in [
        &forged,
        &format!("{signed}."),
        &identity,
        &odd_type,
        "",
        "a.b.c",
        &"x".repeat(9000),
    ] {
        assert_eq!(signs_out(&world, token).await, StatusCode::BAD_REQUEST, "{token}");
    }
    let form = "application/x-www-form-urlencoded";
    for (media, body) in [
        ("application/json", format!("{{\"logout_token\":\"{good}\"}}")),
        ("text/plain", format!("logout_token={good}")),
        (form, format!("logout_token={good}&logout_token={good}")),
        (form, "%ff=%fe".to_owned()),
        (form, String::new()),
    ] {
        let (status, told) = tell(&world, media, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{told}");
        assert!(told.contains("invalid_request"), "{told}");
    }
    assert!(
        live(&two, &world).await.is_some(),
        "nothing was ended by any of it"
    );
    // Its keys are known here, so that it need not be there.
    corp.server.reset().await;
    assert_eq!(signs_out(&world, &good).await, StatusCode::OK);
    assert_eq!(live(&two, &world).await, None);
}

#[tokio::test]
async fn an_issuers_word_that_cannot_be_checked_is_to_be_sent_again() {
    let corp = Corp::start().await;
    let world = world(&corp, ("corp", "")).await;
    corp.server.reset().await;
    let good = corp.sign("logout+jwt", &corp.logout(world.clock.now(), "j1"));
    assert_eq!(signs_out(&world, &good).await, StatusCode::SERVICE_UNAVAILABLE);
    corp.publish().await;
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(
        signs_out(&world, &good).await,
        StatusCode::OK,
        "nothing of it was taken"
    );
    assert_eq!(signs_out(&world, &good).await, StatusCode::BAD_REQUEST);
}

/// Anybody can send a token that names an issuer and a key: what the issuer is asked for it does not grow with what arrives.
#[tokio::test]
async fn junk_that_names_an_issuer_makes_it_be_asked_seldom() {
    let corp = Corp::start().await;
    let junk = async |world: &World| {
        for number in 0..20 {
            let mut header = Header::new(Algorithm::ES256);
            header.kid = Some(format!("made-up-{number}"));
            header.typ = Some("logout+jwt".to_owned());
            let (_, stranger) = SigningKey::generate().unwrap();
            let key = EncodingKey::from_ec_pem(stranger.expose_secret().as_bytes()).unwrap();
            let claims = corp.logout(world.clock.now(), &format!("junk-{number}"));
            let token = jsonwebtoken::encode(&header, &claims, &key).unwrap();
            let status = signs_out(world, &token).await;
            assert!(!status.is_success(), "{status}");
        }
    };
    let asked = async || {
        let all = corp.server.received_requests().await.unwrap();
        let of = |end: &str| all.iter().filter(|asked| asked.url.path().ends_with(end)).count();
        (of("/openid-configuration"), of("/jwks"), all.len())
    };
    let near = world(&corp, ("corp", "")).await;
    junk(&near).await;
    assert_eq!(asked().await, (1, 1, 2));
    // A new key may be there by now: once a minute that is looked at.
    near.clock.advance(Duration::from_secs(61));
    junk(&near).await;
    assert_eq!(asked().await, (1, 2, 3));
    near.clock.advance(Duration::from_secs(3600));
    junk(&near).await;
    assert_eq!(asked().await, (2, 3, 5));
    // And of one that is not there, each place where it could say something once.
    corp.server.reset().await;
    let away = world(&corp, ("corp", "")).await;
    junk(&away).await;
    assert_eq!(asked().await.2, 3);
    away.clock.advance(Duration::from_secs(5));
    junk(&away).await;
    assert_eq!(asked().await.2, 6);
}

#[tokio::test]
async fn an_issuers_word_ends_what_it_began_also_where_nobody_signs_in_there_any_more() {
    let corp = Corp::start().await;
    // It knows us yet, and the tenant's people sign in there no more.
    let world = world(&corp, ("idp", "")).await;
    let token = corp.sign("logout+jwt", &corp.logout(world.clock.now(), "j1"));
    assert_eq!(signs_out(&world, &token).await, StatusCode::OK);
    let seen = Browser::default().get(&world, "/signin?issuer=corp").await;
    seen.page(StatusCode::NOT_FOUND, "Nobody signs in here");
}
