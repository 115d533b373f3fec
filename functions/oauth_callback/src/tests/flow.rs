//! The ways through that end well, and who gets what by them.

use std::time::Duration;

use auth::{GrantSecrets, consent_code, pkce};
use consent::Stage;
use domain::{Clock, EventKind, ExposeSecret, TaskState};
use http::StatusCode;
use url::form_urlencoded;

use super::world::{BASE, Browser, Queue, RESOURCE, SECRETS, SESSION, World};

#[tokio::test]
async fn in_the_starters_browser_the_grant_is_stored_sealed_and_the_task_woken() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["client_id"], "host");
    assert_eq!(asked["redirect_uri"], format!("{BASE}/callback"));
    assert_eq!(asked["scope"], "openid tasks orders:read");
    assert_eq!(asked["resource"], RESOURCE);
    assert_eq!(asked["code_challenge_method"], "S256");
    let consent = world.consent().await;
    assert!(matches!(consent.stage, Stage::Started(_)));
    let stored = format!("{consent:?}");
    assert!(!stored.contains(&asked["state"]), "the state is stored as a hash");
    world.nothing_granted().await;

    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::OK, "You are connected");
    assert!(seen.body.contains("<li>See your orders</li>"));
    let [exchange] = &world.exchanges().await[..] else {
        panic!("one exchange");
    };
    let header = exchange.headers["authorization"].to_str().unwrap();
    // base64 of `host:client-secret-secret`
    assert_eq!(header, "Basic aG9zdDpjbGllbnQtc2VjcmV0LXNlY3JldA==");
    let form: std::collections::BTreeMap<String, String> =
        form_urlencoded::parse(&exchange.body).into_owned().collect();
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(form["code"], "code-secret");
    assert_eq!(form["redirect_uri"], asked["redirect_uri"]);
    assert_eq!(form["resource"], RESOURCE);
    assert!(pkce::verify(&asked["code_challenge"], &form["code_verifier"]));

    let grant = world.grant().await.unwrap();
    assert_eq!(grant.scopes, ["openid", "tasks", "orders:read"]);
    for secret in SECRETS {
        assert!(!format!("{grant:?}").contains(secret));
    }
    let opened = GrantSecrets::open(&world.sealer, &grant.sealed, &world.binding()).unwrap();
    assert_eq!(opened.access_token.expose_secret(), "access-token-secret");
    assert_eq!(
        opened.refresh_token.unwrap().expose_secret(),
        "refresh-token-secret"
    );
    assert_eq!(opened.id_token_subject.as_deref(), Some("ada@idp"));
    let until = world.clock.now().after(Duration::from_secs(600));
    assert_eq!(opened.expires_at, until);
    let consent = world.consent().await;
    assert_eq!(consent.stage, Stage::Done);
    assert_eq!(world.wakes(), 1);
}

#[tokio::test]
async fn a_forwarded_link_grants_nothing_by_itself() {
    for mut browser in [
        Browser::default(),
        Browser::with_session("sws_alan-session-secret"),
    ] {
        let world = World::new().await;
        let asked = browser.connect(&world).await;
        assert_eq!(asked["prompt"], "consent", "also who agreed before is asked");
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::OK, "One more step");
        world.nothing_granted().await;
        assert_eq!(world.wakes(), 0);
        let consent = world.consent().await;
        assert_eq!(
            consent.expires_at,
            world.clock.now().after(Duration::from_secs(600))
        );
        // The starter has the code: the result is the starter's, and opens for nobody else.
        let shown = seen.body.split("<p class=\"code\"><code>").nth(1).unwrap();
        let code = consent_code::read(shown.split('<').next().unwrap()).unwrap();
        let Stage::AwaitingCode {
            code_hash: hash,
            sealed_grant: sealed,
        } = consent.stage
        else {
            panic!("it awaits its code");
        };
        assert!(consent_code::matches(&hash, &world.consent_id, &code));
        assert_ne!(hash, code.expose_secret());
        let opened = GrantSecrets::open(&world.sealer, &sealed, &world.binding()).unwrap();
        assert_eq!(opened.access_token.expose_secret(), "access-token-secret");
        // The same answer once more shows no code and grants nothing.
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::BAD_REQUEST, "This answer is not expected");
        assert!(!seen.body.contains("class=\"code\""));
        world.nothing_granted().await;
        // After ten minutes it is over, and the task gets another link.
        world.clock.advance(Duration::from_secs(601));
        let seen = browser.get(&world, &world.link()).await;
        seen.page(StatusCode::GONE, "fresh link");
        assert_eq!(world.consent().await.stage, Stage::Ended);
    }
}

/// The one in whose session it began has left the browser before the answer comes: whoever sits there now grants them nothing.
#[tokio::test]
async fn the_starters_browser_without_the_starter_is_a_strangers() {
    for next in [None, Some("sws_alan-session-secret")] {
        let world = World::new().await;
        let mut browser = Browser::with_session(SESSION);
        let asked = browser.connect(&world).await;
        assert_eq!(asked.get("prompt"), None, "it is the starter's when it leaves");
        let (sessions, session) = (world.store.sessions(), auth::token::hash(SESSION));
        sessions.end_session(&world.tenant, &session).await.unwrap();
        if let Some(next) = next {
            browser = Browser {
                cookies: [browser.cookies, Browser::with_session(next).cookies]
                    .into_iter()
                    .flatten()
                    .collect(),
            };
        }
        let seen = browser.agree(&world, &asked).await;
        seen.page(StatusCode::OK, "One more step");
        world.nothing_granted().await;
        assert_eq!(world.wakes(), 0);
    }
}

#[tokio::test]
async fn opened_twice_the_newest_page_counts() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let first = browser.connect(&world).await;
    let second = browser.connect(&world).await;
    assert_ne!(first["state"], second["state"]);
    assert_ne!(first["code_challenge"], second["code_challenge"]);
    let seen = browser.agree(&world, &first).await;
    seen.page(StatusCode::BAD_REQUEST, "This answer is not expected");
    assert!(seen.body.contains(&format!("href=\"{BASE}{}\"", world.link())));
    world.nothing_granted().await;
    assert!(world.exchanges().await.is_empty());
    browser
        .agree(&world, &second)
        .await
        .page(StatusCode::OK, "You are connected");
    assert!(world.grant().await.is_some());
}

#[tokio::test]
async fn nobody_else_takes_the_place_of_the_starters_browser() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    let seen = Browser::default().get(&world, &world.link()).await;
    seen.page(StatusCode::CONFLICT, "under way in another browser");
    browser
        .agree(&world, &asked)
        .await
        .page(StatusCode::OK, "You are connected");
    // But the starter takes the place of anybody else.
    let world = World::new().await;
    let mut other = Browser::default();
    let others = other.connect(&world).await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    other
        .agree(&world, &others)
        .await
        .page(StatusCode::BAD_REQUEST, "This answer is not expected");
    world.nothing_granted().await;
    world.nonce.lock().unwrap().clone_from(&asked["nonce"]);
    browser
        .agree(&world, &asked)
        .await
        .page(StatusCode::OK, "You are connected");
}

#[tokio::test]
async fn a_lost_wake_is_found_by_the_sweeper() {
    let world = World::with(Queue {
        broken: true,
        ..Queue::default()
    })
    .await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    let before = world.stored().await;
    assert!(before.due_at.unwrap() > world.clock.now().after(Duration::from_secs(3600)));
    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::OK, "You are connected");
    let after = world.stored().await;
    assert!(after.due_at.unwrap() <= world.clock.now().after(Duration::from_secs(30)));
    assert_eq!(after.task, before.task, "nothing else of the task is changed");
}

#[tokio::test]
async fn the_same_answer_twice_at_once_is_exchanged_once() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    let (mut one, mut two) = (browser.clone(), browser);
    let (one, two) = tokio::join!(one.agree(&world, &asked), two.agree(&world, &asked));
    let good = [&one, &two]
        .iter()
        .filter(|seen| seen.status == StatusCode::OK)
        .count();
    assert_eq!((good, world.exchanges().await.len(), world.wakes()), (1, 1, 1));
    assert!(world.grant().await.is_some());
}

#[tokio::test]
async fn who_refuses_is_believed_once_and_for_all() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    let no = [
        ("error", "access_denied"),
        ("state", asked["state"].as_str()),
        ("iss", world.issuer.as_str()),
    ];
    let seen = browser.answer(&world, &no).await;
    seen.page(StatusCode::OK, "Nothing was granted");
    // As the chat says it: that half is over.
    seen.page(StatusCode::OK, "what needs it is not done");
    assert_eq!(world.consent().await.stage, Stage::Denied);
    assert_eq!(world.wakes(), 1);
    let due = world.stored().await.due_at.unwrap();
    assert!(due <= world.clock.now().after(Duration::from_secs(30)));
    for seen in [
        browser.answer(&world, &no).await,
        browser.agree(&world, &asked).await,
        browser.get(&world, &world.link()).await,
    ] {
        seen.page(StatusCode::GONE, "Nothing was granted");
    }
    world.nothing_granted().await;
    assert!(world.exchanges().await.is_empty());
    assert_eq!(world.wakes(), 1);
}

#[tokio::test]
async fn a_link_that_ran_out_wakes_its_task_for_another() {
    let world = World::new().await;
    let mut browser = Browser::with_session(SESSION);
    let asked = browser.connect(&world).await;
    world.clock.advance(Duration::from_secs(3601));
    let seen = browser.agree(&world, &asked).await;
    seen.page(StatusCode::GONE, "It gets a fresh link");
    assert_eq!(world.consent().await.stage, Stage::Ended);
    assert_eq!(world.wakes(), 1);
    let seen = browser.get(&world, &world.link()).await;
    seen.page(StatusCode::GONE, "It gets a fresh link");
    assert!(world.exchanges().await.is_empty());
    world.nothing_granted().await;
    // Where the task is over, nobody is woken for it.
    world.record(EventKind::status(TaskState::Canceled, None)).await;
    let woken = world.wakes();
    let seen = browser.get(&world, &world.link()).await;
    seen.page(StatusCode::GONE, "no longer waits");
    assert_eq!(world.wakes(), woken);
}

#[tokio::test]
async fn nobody_is_asked_for_a_task_that_is_over() {
    let world = World::new().await;
    world.record(EventKind::status(TaskState::Canceled, None)).await;
    let seen = Browser::with_session(SESSION).get(&world, &world.link()).await;
    seen.page(StatusCode::GONE, "no longer needed");
    assert_eq!(world.consent().await.stage, Stage::Open);
}
