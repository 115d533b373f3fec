//! Signing in to the chat: whose session begins, in which browser, and where it leads.

use std::collections::BTreeMap;
use std::time::Duration;

use auth::{pkce, token};
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Clock, Owner, Timestamp};
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use store::{LiveSession, User};
use tower::ServiceExt;
use url::form_urlencoded;
use wiremock::ResponseTemplate;

use super::world::{BASE, Browser, SESSION, Seen, World};

const COOKIE_NAME: &str = "__Host-switchyard_acme";

/// What the authorization server says of ada.
fn ada(world: &World, nonce: &str) -> Value {
    let now = world.clock.now().seconds();
    json!({"iss": world.issuer, "sub": "user-ada", "aud": "host", "nonce": nonce, "exp": now + 60,
        "auth_time": now, "preferred_username": "ada"})
}

async fn user(world: &World, since: Option<Timestamp>) {
    let ada = User {
        username: "ada".into(),
        subject: Owner::parse("user-ada").unwrap(),
        display_name: "Ada".into(),
        password_hash: "none".into(),
        roles: vec!["operator".into()],
        since,
        not_before: since,
    };
    world
        .store
        .identity()
        .put_user(&world.tenant, &ada)
        .await
        .unwrap();
}

async fn says(world: &World, claims: &Value) {
    let answer = json!({"access_token": "access-token-secret", "token_type": "Bearer", "expires_in": 600,
        "id_token": format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))});
    let answer = ResponseTemplate::new(200).set_body_json(answer);
    world.token_endpoint_gives(Some(answer)).await;
}

/// Leaves to sign in; what the authorization server is asked.
async fn leave(browser: &mut Browser, world: &World, target: &str) -> BTreeMap<String, String> {
    browser.get(world, target).await.asked()
}

async fn back(browser: &mut Browser, world: &World, parameters: &[(&str, &str)]) -> Seen {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    browser.get(world, &format!("/signin/callback?{query}")).await
}

/// Comes back with the code, as the authorization server sends it.
async fn come_back(browser: &mut Browser, world: &World, asked: &BTreeMap<String, String>) -> Seen {
    says(world, &ada(world, &asked["nonce"])).await;
    let iss = world.issuer.clone();
    let answer = [("code", "code-secret"), ("state", &asked["state"]), ("iss", &iss)];
    back(browser, world, &answer).await
}

async fn live(browser: &Browser, world: &World) -> Option<LiveSession> {
    let token = browser.cookies.get(COOKIE_NAME)?;
    let sessions = world.store.sessions();
    let hash = token::hash(token);
    let found = sessions.live_session(&world.tenant, &hash, world.clock.now());
    found.await.unwrap()
}

/// Nobody is signed in by what came, and whatever session was there is there still.
async fn not_signed_in(browser: &Browser, world: &World) {
    let live = live(browser, world).await;
    assert!(live.is_none_or(|session| session.signed_in.is_none()));
}

#[tokio::test]
async fn somebody_signs_in_and_is_back_where_they_were() {
    let world = World::new().await;
    user(&world, None).await;
    let mut browser = Browser::default();
    let asked = leave(&mut browser, &world, "/signin?return=tasks%2F1").await;
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["redirect_uri"], format!("{BASE}/signin/callback"));
    assert_eq!(asked["scope"], "openid profile");
    assert_eq!(asked["resource"], world.issuer);
    assert_eq!(asked["code_challenge_method"], "S256");
    not_signed_in(&browser, &world).await;

    let seen = come_back(&mut browser, &world, &asked).await;
    assert_eq!(seen.status, StatusCode::SEE_OTHER, "{}", seen.body);
    assert_eq!(seen.headers[LOCATION], format!("{BASE}/tasks/1"));
    let [exchange] = &world.exchanges().await[..] else {
        panic!("one exchange");
    };
    let form: BTreeMap<String, String> = form_urlencoded::parse(&exchange.body).into_owned().collect();
    assert_eq!(form["redirect_uri"], asked["redirect_uri"]);
    assert!(pkce::verify(&asked["code_challenge"], &form["code_verifier"]));

    let session = live(&browser, &world).await.expect("a session");
    let person = session.signed_in.expect("somebody");
    assert_eq!(
        (person.username.as_str(), person.display_name.as_str()),
        ("ada", "Ada")
    );
    assert_eq!(person.roles, ["operator"]);
    assert_eq!(
        session.expires_at,
        world.clock.now().after(Duration::from_secs(12 * 3600))
    );
    assert!(session.owner.as_str().starts_with("person-"), "{}", session.owner);
    assert_eq!(
        browser.cookies["__Host-switchyard_acme_signin"], "",
        "it is forgotten"
    );

    // The same answer once more signs nobody in: this browser expects none.
    let before = browser.cookies[COOKIE_NAME].clone();
    let seen = come_back(&mut browser, &world, &asked).await;
    seen.page(StatusCode::FORBIDDEN, "This is not the browser it began in");
    assert_eq!(browser.cookies[COOKIE_NAME], before);

    // Signing in once more gives another session, the same things, and ends the one before.
    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    let again = live(&browser, &world).await.expect("a session");
    assert_eq!(again.owner, session.owner);
    browser.cookies.insert(COOKIE_NAME.to_owned(), before);
    assert_eq!(live(&browser, &world).await, None);
}

#[tokio::test]
async fn a_planted_session_leads_to_nothing_of_who_signs_in() {
    let world = World::new().await;
    user(&world, None).await;
    // Somebody has put their own guest's cookie into ada's browser.
    let planted = Browser::with_session(SESSION);
    let mut browser = planted.clone();
    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    let session = live(&browser, &world).await.expect("a session");
    assert_ne!(browser.cookies[COOKIE_NAME], planted.cookies[COOKIE_NAME]);
    let guest = live(&planted, &world).await.expect("the guest's own");
    assert_eq!(guest.signed_in, None);
    assert_ne!(guest.owner, session.owner);
}

#[tokio::test]
async fn an_answer_signs_in_the_browser_that_left_and_no_other() {
    let world = World::new().await;
    user(&world, None).await;
    // An attacker's own answer in a victim's browser: with nothing under way there, and with a sign-in of its own.
    let mut attacker = Browser::default();
    let asked = leave(&mut attacker, &world, "/signin").await;
    let mut victim = Browser::default();
    let seen = come_back(&mut victim, &world, &asked).await;
    seen.page(StatusCode::FORBIDDEN, "This is not the browser it began in");
    not_signed_in(&victim, &world).await;
    let own = leave(&mut victim, &world, "/signin").await;
    let seen = come_back(&mut victim, &world, &asked).await;
    seen.page(StatusCode::FORBIDDEN, "This is not the browser it began in");
    not_signed_in(&victim, &world).await;
    // The victim's own is not spoilt by that, nor by a second tab.
    leave(&mut victim, &world, "/signin?return=accounts").await;
    let seen = come_back(&mut victim, &world, &own).await;
    assert_eq!(seen.status, StatusCode::SEE_OTHER, "{}", seen.body);
    assert_eq!(seen.headers[LOCATION], format!("{BASE}/"));
}

#[tokio::test]
async fn another_site_starts_nothing() {
    let world = World::new().await;
    for site in ["cross-site", "same-site"] {
        let request = Request::get("/signin?return=tasks").header("sec-fetch-site", site);
        let response = world.app.clone().oneshot(request.body(Body::empty()).unwrap());
        let response = response.await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(!response.headers().contains_key(SET_COOKIE));
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let page = String::from_utf8(body.to_vec()).unwrap();
        assert!(page.contains("Do you want to sign in?"), "{page}");
        assert!(
            page.contains(&format!("href=\"{BASE}/signin?return=tasks\"")),
            "{page}"
        );
    }
    assert_eq!(world.exchanges().await.len(), 0);
}

#[tokio::test]
async fn nobody_is_led_elsewhere() {
    let world = World::new().await;
    user(&world, None).await;
    for wanted in [
        "https://evil.example",
        "//evil.example/",
        "/\\evil.example",
        "..%2f..%2fglobex",
        "tasks/../../globex/",
        "chats/1?x=https://evil.example",
        "signin/callback",
    ] {
        let query: String = form_urlencoded::byte_serialize(wanted.as_bytes()).collect();
        let mut browser = Browser::default();
        let asked = leave(&mut browser, &world, &format!("/signin?return={query}")).await;
        let seen = come_back(&mut browser, &world, &asked).await;
        assert_eq!(seen.headers[LOCATION], format!("{BASE}/"), "{wanted}");
        // Nor by a state that somebody has written anew.
        let asked = leave(&mut browser, &world, "/signin").await;
        let forged = format!("{}{wanted}", asked["state"]);
        let iss = world.issuer.clone();
        let seen = back(
            &mut browser,
            &world,
            &[("code", "c"), ("state", &forged), ("iss", &iss)],
        )
        .await;
        seen.page(StatusCode::FORBIDDEN, "This is not the browser it began in");
    }
}

#[tokio::test]
async fn what_is_no_good_answer_signs_nobody_in() {
    let world = World::new().await;
    user(&world, None).await;
    let iss = world.issuer.clone();
    let mut browser = Browser::default();
    for rubbish in [
        "",
        "code=x",
        "state=x",
        "code=a&state=b&state=c",
        "%ff",
        "code=&state=",
    ] {
        let seen = browser.get(&world, &format!("/signin/callback?{rubbish}")).await;
        seen.page(StatusCode::BAD_REQUEST, "This page needs an answer");
    }
    // From somebody else, or from nobody who says so.
    let globex = iss.replace("acme", "globex");
    for named in [Some(globex.as_str()), None] {
        let asked = leave(&mut browser, &world, "/signin").await;
        says(&world, &ada(&world, &asked["nonce"])).await;
        let mut answer = vec![("code", "code-secret"), ("state", asked["state"].as_str())];
        answer.extend(named.map(|iss| ("iss", iss)));
        let seen = back(&mut browser, &world, &answer).await;
        seen.page(StatusCode::BAD_REQUEST, "The answer came from somewhere else");
        assert_eq!(world.exchanges().await.len(), 0, "no code goes anywhere");
    }
    for (error, status, words) in [
        ("access_denied", StatusCode::OK, "You are not signed in"),
        (
            "server_error",
            StatusCode::BAD_GATEWAY,
            "The service did not agree",
        ),
    ] {
        let asked = leave(&mut browser, &world, "/signin").await;
        let answer = [("error", error), ("state", &asked["state"]), ("iss", &iss)];
        back(&mut browser, &world, &answer).await.page(status, words);
    }
    // Identity tokens of another request, another client, another issuer; of nobody; of the past.
    for (name, value, status) in [
        ("nonce", json!("another"), StatusCode::BAD_GATEWAY),
        ("aud", json!("another"), StatusCode::BAD_GATEWAY),
        ("aud", json!(["host", "another"]), StatusCode::BAD_GATEWAY),
        ("iss", json!(globex), StatusCode::BAD_GATEWAY),
        ("exp", json!(1), StatusCode::BAD_GATEWAY),
        ("auth_time", Value::Null, StatusCode::BAD_GATEWAY),
        ("sub", json!("user-eve"), StatusCode::FORBIDDEN),
        ("sub", json!("a#b"), StatusCode::FORBIDDEN),
        ("preferred_username", json!("nobody"), StatusCode::FORBIDDEN),
        ("preferred_username", json!("x#y"), StatusCode::FORBIDDEN),
        ("preferred_username", Value::Null, StatusCode::FORBIDDEN),
    ] {
        let asked = leave(&mut browser, &world, "/signin").await;
        let mut claims = ada(&world, &asked["nonce"]);
        claims[name] = value;
        says(&world, &claims).await;
        let answer = [("code", "code-secret"), ("state", &asked["state"]), ("iss", &iss)];
        let seen = back(&mut browser, &world, &answer).await;
        assert_eq!(seen.status, status, "{name}: {}", seen.body);
        not_signed_in(&browser, &world).await;
    }
    // A code that is used up, and a server that is down.
    for (answer, status) in [
        (
            ResponseTemplate::new(400).set_body_json(json!({"error": "invalid_grant"})),
            StatusCode::BAD_REQUEST,
        ),
        (ResponseTemplate::new(503), StatusCode::SERVICE_UNAVAILABLE),
    ] {
        let asked = leave(&mut browser, &world, "/signin").await;
        world.token_endpoint_gives(Some(answer)).await;
        let answer = [("code", "code-secret"), ("state", &asked["state"]), ("iss", &iss)];
        assert_eq!(back(&mut browser, &world, &answer).await.status, status);
        not_signed_in(&browser, &world).await;
    }
    // Who takes longer than ten minutes begins anew.
    let asked = leave(&mut browser, &world, "/signin").await;
    world.clock.advance(Duration::from_secs(601));
    let seen = come_back(&mut browser, &world, &asked).await;
    seen.page(StatusCode::BAD_REQUEST, "This answer is not expected");
    not_signed_in(&browser, &world).await;
}

#[tokio::test]
async fn who_is_removed_or_proves_nothing_new_is_signed_out_at_once() {
    let world = World::new().await;
    user(&world, None).await;
    let mut browser = Browser::default();
    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    let first = live(&browser, &world).await.expect("a session");

    // Another password, or signed out everywhere: both raise the user's epoch.
    world.clock.advance(Duration::from_secs(5));
    let (identity, now) = (world.store.identity(), world.clock.now());
    let raised = identity.change_user(&world.tenant, "ada", |user| user.not_before = Some(now));
    raised.await.unwrap();
    assert_eq!(live(&browser, &world).await, None);
    // An answer that tells of the sign-in before that is too old as well.
    let asked = leave(&mut browser, &world, "/signin").await;
    let mut claims = ada(&world, &asked["nonce"]);
    claims["auth_time"] = json!(now.seconds() - 5);
    says(&world, &claims).await;
    let iss = world.issuer.clone();
    let answer = [("code", "code-secret"), ("state", &asked["state"]), ("iss", &iss)];
    let seen = back(&mut browser, &world, &answer).await;
    seen.page(StatusCode::FORBIDDEN, "You cannot sign in here");

    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    let again = live(&browser, &world).await.expect("a session");
    assert_eq!(again.owner, first.owner, "the same person's things");

    // The next one of that name is somebody else, whatever the subject.
    identity.remove_user(&world.tenant, "ada").await.unwrap();
    assert_eq!(live(&browser, &world).await, None);
    world.clock.advance(Duration::from_secs(5));
    user(&world, Some(world.clock.now())).await;
    assert_eq!(
        live(&browser, &world).await,
        None,
        "nor is the first one's session theirs"
    );
    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    let next = live(&browser, &world).await.expect("a session");
    assert_ne!(next.owner, first.owner);
}

#[tokio::test]
async fn who_is_signed_out_elsewhere_is_nobodys_starter() {
    let world = World::new().await;
    user(&world, None).await;
    let mut browser = Browser::default();
    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    world
        .store
        .identity()
        .remove_user(&world.tenant, "ada")
        .await
        .unwrap();
    // A consent link in that browser is a stranger's.
    let asked = browser.connect(&world).await;
    assert_eq!(asked["prompt"], "consent");
}

async fn sign_out(browser: &Browser, world: &World, headers: &[(&str, &str)]) -> (StatusCode, Value, bool) {
    let line = browser
        .cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let mut request = Request::post("/signout").header(COOKIE, line.collect::<Vec<_>>().join("; "));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = world.app.clone().oneshot(request.body(Body::from("{}")).unwrap());
    let response = response.await.unwrap();
    let (head, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    // Who signs out leaves nothing on the machine; who is refused keeps everything.
    let forgets = head
        .headers
        .get("clear-site-data")
        .map(|value| value.to_str().unwrap());
    assert_eq!(forgets, (head.status == StatusCode::OK).then_some("\"storage\""));
    let taken = head.headers.get(SET_COOKIE);
    let taken = taken.is_some_and(|set| set.to_str().unwrap().starts_with("__Host-switchyard_acme=;"));
    (head.status, serde_json::from_slice(&body).unwrap(), taken)
}

#[tokio::test]
async fn signing_out_ends_the_session_and_names_where_to_go_on() {
    let world = World::new().await;
    user(&world, None).await;
    let mut browser = Browser::default();
    let asked = leave(&mut browser, &world, "/signin").await;
    come_back(&mut browser, &world, &asked).await;
    let json = (CONTENT_TYPE.as_str(), "application/json");
    for (headers, status, error) in [
        (&[json, ("sec-fetch-site", "cross-site")][..], 403, "cross_origin"),
        (&[json, ("origin", "https://evil.example")], 403, "cross_origin"),
        (
            &[(CONTENT_TYPE.as_str(), "text/plain")],
            415,
            "unsupported_media_type",
        ),
        (&[], 415, "unsupported_media_type"),
    ] {
        let (refused, told, _) = sign_out(&browser, &world, headers).await;
        assert_eq!((refused.as_u16(), told["error"].as_str()), (status, Some(error)));
        assert!(live(&browser, &world).await.is_some());
    }
    let (status, told, taken) = sign_out(&browser, &world, &[json]).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    assert!(taken);
    assert_eq!(live(&browser, &world).await, None);
    // This one says nothing of signing out.
    assert_eq!(told["next"], format!("{BASE}/"));
    // Nobody has nothing to end.
    let (status, _, _) = sign_out(&Browser::default(), &world, &[json]).await;
    assert_eq!(status, StatusCode::OK);
}
