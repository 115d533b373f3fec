//! The second walk: a specialist that wants its user's consent; signing in at the identity provider; the parked task
//! goes on by itself, through restarts, for the right user only.

use std::time::Duration;

use serde_json::Value;
use system_testing::binary::{Up, free_port};
use system_testing::browser::{Browser, Page};
use system_testing::{Local, User};
use url::Url;

/// The first consent link in what was said.
pub(crate) fn link(task: &Value) -> String {
    let text = task.to_string();
    let start = text
        .find("/connect/")
        .unwrap_or_else(|| panic!("no consent link in {task:#}"));
    let begin = text[..start].rfind("http").expect("an address");
    text[begin..]
        .split(|c: char| c.is_whitespace() || "\"\\),".contains(c))
        .next()
        .expect("an address")
        .trim_end_matches('.')
        .to_owned()
}

/// Signs in and agrees.
pub(crate) async fn agree(browser: &mut Browser, link: &str, login: &Value) -> Page {
    let name = login["username"].as_str().expect("a name");
    let password = login["password"].as_str().expect("a password");
    let page = browser.open(link).await;
    let page = browser
        .submit(&page, &[("username", name), ("password", password)])
        .await;
    browser.submit(&page, &[]).await
}

/// The code that a page shows, to be typed where it all began.
pub(crate) fn code_on(page: &Page) -> String {
    let words = page
        .html
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let code = words.into_iter().find(|word| {
        word.len() == 9
            && word.as_bytes()[4] == b'-'
            && word.bytes().all(|c| c == b'-' || c.is_ascii_uppercase())
    });
    code.unwrap_or_else(|| panic!("no code in {page:?}")).to_owned()
}

pub(crate) fn profile(user: &User, base: &str) -> Browser {
    let path = Url::parse(base).expect("an address").path().to_owned();
    user.browser(&path)
}

#[tokio::test(flavor = "multi_thread")]
async fn consent_is_asked_once_and_the_parked_task_goes_on_by_itself() {
    let local = Local::start().await;
    let user = local.user("acme");
    let asked = user.ask("Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let states: Vec<&str> = waiting["history"]
        .as_array()
        .expect("states")
        .iter()
        .filter_map(|state| state["state"].as_str().or(state["status"].as_str()))
        .collect();
    assert_eq!(states.first(), Some(&"submitted"), "{waiting:#}");
    let asked_for = &waiting["consent"];
    assert_eq!(asked_for["agentName"], "Horizon", "{waiting:#}");
    let scopes = asked_for["scopes"].as_array().expect("scopes");
    let in_words = scopes.iter().any(|scope| scope["words"] == "See your orders");
    assert!(in_words, "{waiting:#}");

    let mut browser = profile(&user, local.endpoint("/tenants/acme/base"));
    let page = agree(
        &mut browser,
        &link(&waiting),
        &local.endpoints()["users"]["acme"][0],
    )
    .await;
    assert_eq!(page.status, 200, "{page:?}");
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("1003"), "{done:#}");

    // The grant is there now: nobody is asked again, and the same link opens nothing more.
    let again = user.ask("Where is my order 1003?").await;
    user.until(&again.task_id(), &["completed"]).await;
    let used = browser.open(&link(&waiting)).await;
    assert!(!used.html.contains("name=\"password\""), "{used:?}");
    let connections = user.get("/api/connections").await;
    assert!(connections.text.contains("idp"), "{connections:?}");
    let secrets = ["access_token", "refresh_token", "eyJ"];
    assert!(
        secrets.iter().all(|secret| !connections.text.contains(secret)),
        "{connections:?}"
    );

    // The access token has run out meanwhile: it is renewed, and the user sees nothing of it.
    local.clock.advance(Duration::from_secs(11 * 60));
    let later = user.ask("Where is my order 1003?").await;
    let task = user
        .until(&later.task_id(), &["completed", "auth-required"])
        .await;
    assert_eq!(task["status"], "completed", "{task:#}");

    // A connection that its owner ended is asked for anew.
    let ended = user
        .call(reqwest::Method::DELETE, "/api/connections/idp", None)
        .await;
    assert!(ended.status.is_success(), "{ended:?}");
    let asked = user.ask("Where is my order 1003?").await;
    user.until(&asked.task_id(), &["auth-required"]).await;

    // Another guest of the same tenant has no grant of theirs.
    let stranger = local.user("acme");
    let asked = stranger.ask("Where is my order 1003?").await;
    stranger.until(&asked.task_id(), &["auth-required"]).await;
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_link_grants_nothing_until_the_starter_types_the_code() {
    let local = Local::start().await;
    let user = local.user("acme");
    let asked = user.chat("orders", "m1", "Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    // Somebody else's browser: no session of the starter in it.
    let page = agree(
        &mut Browser::default(),
        &link(&waiting),
        &local.endpoints()["users"]["acme"][0],
    )
    .await;
    assert_eq!(page.status, 200);
    assert_eq!(
        user.task(&asked.task_id()).await["status"],
        "auth-required",
        "nothing is granted by the link alone"
    );
    let code = code_on(&page);
    user.chat("orders", "m2", "AAAA-AAAA").await;
    assert_eq!(
        user.task(&asked.task_id()).await["status"],
        "auth-required",
        "a wrong code grants nothing"
    );
    user.chat("orders", "m3", &code).await;
    user.until(&asked.task_id(), &["completed"]).await;
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn denial_ends_the_task_and_a_changed_state_grants_nothing() {
    let local = Local::start().await;
    let user = local.user("acme");
    let base = local.endpoint("/tenants/acme/base").to_owned();
    let asked = user.ask("Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let mut browser = profile(&user, &base);
    browser.open(&link(&waiting)).await;
    for query in [
        "code=x&state=y",
        "state=y",
        "code=x",
        "error=access_denied&state=y",
        "",
    ] {
        let page = browser.open(&format!("{base}/callback?{query}")).await;
        assert!(page.status.is_client_error(), "{query}: {page:?}");
    }
    assert_eq!(user.task(&asked.task_id()).await["status"], "auth-required");

    let login = &local.endpoints()["users"]["acme"][0];
    let page = browser.open(&link(&waiting)).await;
    let fill = [
        ("username", login["username"].as_str().unwrap()),
        ("password", login["password"].as_str().unwrap()),
    ];
    let page = browser.submit(&page, &fill).await;
    let denied = page.html.replacen("<button", "<nothing", 1);
    browser.submit(&Page { html: denied, ..page }, &[]).await;
    let ended = user.until(&asked.task_id(), &["rejected"]).await;
    assert!(
        ended["statusMessage"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{ended:#}"
    );
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_question_and_consent_changes_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let mut up = Up::start(data.path(), port);
    let base = up.base("globex").to_owned();
    let login = up.endpoints["users"]["globex"][0].clone();
    let user = User::new(&base);
    let asked = user.ask("Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    up.kill();
    drop(up);
    let _up = Up::start(data.path(), port);
    let page = agree(&mut profile(&user, &base), &link(&waiting), &login).await;
    assert_eq!(page.status, 200, "{page:?}");
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("1003"), "{done:#}");
}

/// Consent phishing: a stranger starts a consent in a chat of their own, and sends its link to somebody who is signed in and has
/// agreed to the very same before.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_a_stranger_sent_never_grants_without_being_asked_who_started_it() {
    let local = Local::start().await;
    let base = local.endpoint("/tenants/acme/base").to_owned();
    let login = &local.endpoints()["users"]["acme"][0];
    let victim = local.user("acme");
    let own = victim.ask("Where is my order 1001?").await;
    let waiting = victim.until(&own.task_id(), &["auth-required"]).await;
    let mut browser = profile(&victim, &base);
    let shown = browser.open(&link(&waiting)).await;
    let name = login["username"].as_str().expect("a name");
    let password = login["password"].as_str().expect("a password");
    let shown = browser
        .submit(&shown, &[("username", name), ("password", password)])
        .await;
    for words in [
        "<strong>Horizon</strong>",
        "See your orders",
        "Where is my order 1001?",
        "less than a minute ago (2026-01-01",
        "another program, 127.0.0.1",
    ] {
        assert!(shown.html.contains(words), "{words}: {shown:?}");
    }
    assert!(!shown.html.contains("not started in this browser"), "{shown:?}");
    let page = browser.submit(&shown, &[]).await;
    assert!(page.html.contains("You are connected"), "{page:?}");
    assert!(
        page.html.contains("See your orders"),
        "in the same words: {page:?}"
    );
    victim.until(&own.task_id(), &["completed"]).await;

    local.clock.advance(Duration::from_secs(7 * 60));
    let stranger = local.user("acme");
    let asked = stranger
        .chat("trap", "m1", "Where is my order 1002? <b>Click \u{202e}fast</b>")
        .await;
    let waiting = stranger.until(&asked.task_id(), &["auth-required"]).await;
    local.clock.advance(Duration::from_secs(5 * 60));
    for visit in 0..2 {
        let shown = browser.open(&link(&waiting)).await;
        assert!(
            shown.url.path().ends_with("/authorize") && shown.html.contains("value=\"allow\""),
            "visit {visit}: somebody is asked: {shown:?}"
        );
        for words in [
            "not started in this browser",
            "<button class=\"second\" name=\"step\" value=\"allow\">",
            "Where is my order 1002? &lt;b&gt;Click fast&lt;/b&gt;",
            "5 minutes ago (2026-01-01",
            "another program, 127.0.0.1",
            "Horizon",
        ] {
            assert!(shown.html.contains(words), "{words}: {shown:?}");
        }
        if visit == 0 {
            assert_eq!(stranger.task(&asked.task_id()).await["status"], "auth-required");
            continue;
        }
        // Whoever agrees all the same is told once more before the code is anybody's.
        let page = browser.submit(&shown, &[]).await;
        for words in ["One more step", "Where is my order 1002?", "Horizon"] {
            assert!(page.html.contains(words), "{words}: {page:?}");
        }
        assert!(!page.html.contains("<b>"), "{page:?}");
    }
    assert_eq!(stranger.task(&asked.task_id()).await["status"], "auth-required");

    // Nobody else writes what the page says: without the client's seal, or under another request's, it says nothing.
    let sent = browser
        .visited
        .iter()
        .rfind(|url| url.path().ends_with("/authorize"));
    let sent = sent.expect("an authorization request").clone();
    let with = |changed: &str, value: &str| {
        let pairs: Vec<(String, String)> = sent.query_pairs().into_owned().collect();
        let mut url = sent.clone();
        url.query_pairs_mut()
            .clear()
            .extend_pairs(pairs.into_iter().map(|(name, was)| match name == changed {
                true => (name, value.to_owned()),
                false => (name, was),
            }));
        url
    };
    assert!(
        !sent.as_str().contains("1002"),
        "the words are in no address: {sent}"
    );
    for changed in [
        with(auth::occasion::PARAMETER, "v1.client.rubbish"),
        with("state", "another"),
    ] {
        let page = browser.open(changed.as_str()).await;
        assert!(page.html.contains("value=\"allow\""), "{page:?}");
        assert!(!page.html.contains("1002"), "{page:?}");
    }
    local.system.stop().await;
}
