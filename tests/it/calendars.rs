//! A user's Google calendar: consent at the sandbox, its code typed into the chat, the task that waited goes on by itself; and
//! links in strangers' hands.

use reqwest::Method;
use serde_json::Value;
use system_testing::browser::{Browser, Page};
use system_testing::{Local, User};

use crate::consent::{code_on, link};

/// Agrees at Google as this account, with every box ticked.
async fn agree(browser: &mut Browser, link: &str, account: &str) -> Page {
    let page = browser.open(link).await;
    assert!(page.html.contains("View your availability"), "{page:?}");
    browser.submit(&page, &[("user", account)]).await
}

async fn waiting(user: &User, chat: &str, question: &str) -> (String, Value) {
    let asked = user.chat(chat, "m1", question).await;
    let task = user.until(&asked.task_id(), &["auth-required"]).await;
    (asked.task_id(), task)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_is_connected_from_the_chat_and_asked() {
    let local = Local::start().await;
    let user = local.user("acme");
    let (id, task) = waiting(&user, "when", "Am I free on Friday?").await;
    assert_eq!(task["agentType"], "calendar", "{task:#}");
    assert_eq!(task["authUrl"].as_str(), Some(link(&task).as_str()), "{task:#}");
    let page = agree(&mut Browser::default(), &link(&task), "ines@sandbox.example").await;
    assert_eq!(page.status, 200, "{page:?}");
    let told = user.chat("when", "m2", &code_on(&page)).await;
    assert_eq!(told.task_id(), id, "the same task goes on");
    let task = user.until(&id, &["completed"]).await;
    let said = task["artifacts"].to_string();
    assert!(said.contains("On Friday 2 January 2026 you are busy"), "{task:#}");
    assert!(said.contains("sandbox"), "{task:#}");
    // The next one is answered at once; a wider one asks for the wider scope, together with the one that is there.
    let lunch = user.ask("An hour for lunch with Ines next week?").await;
    let task = user.until(&lunch.task_id(), &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("for example"), "{task:#}");
    let (id, task) = waiting(&user, "what", "What is on my calendar tomorrow?").await;
    let mut browser = Browser::default();
    let page = browser.open(&link(&task)).await;
    assert!(
        page.html.contains("View your availability") && page.html.contains("View events"),
        "{page:?}"
    );
    let page = browser.submit(&page, &[("user", "ines@sandbox.example")]).await;
    user.chat("what", "m2", &code_on(&page)).await;
    let task = user.until(&id, &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("Stand-up"), "{task:#}");
    local.system.stop().await;
}

/// Whoever gets the link of another's task can connect neither their own calendar to it nor the other's to themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_link_grants_nothing_to_anybody() {
    let local = Local::start().await;
    let (ada, mallory) = (local.user("acme"), local.user("acme"));
    let (id, task) = waiting(&mallory, "trap", "Am I free on Friday?").await;
    // The victim agrees in good faith: nothing is granted before the code is typed, and not in the victim's own chat.
    let page = agree(&mut Browser::default(), &link(&task), "ola@sandbox.example").await;
    assert!(
        page.html.contains("Only do so if you started this yourself"),
        "{page:?}"
    );
    let code = code_on(&page);
    let (own, _) = waiting(&ada, "own", "Am I free on Friday?").await;
    ada.chat("own", "m2", &code).await;
    for (user, id) in [(&mallory, &id), (&ada, &own)] {
        let task = user.until(id, &["auth-required"]).await;
        assert_eq!(task["artifacts"].as_array().map_or(0, Vec::len), 0, "{task:#}");
    }
    // A link of another tenant's name, a state of another's, and rubbish: a page, and nothing else.
    let mut browser = Browser::default();
    browser.open(&link(&task)).await;
    // In this browser the chat's own link has led to the agent's.
    let led = browser
        .visited
        .iter()
        .find(|url| url.path().contains("/connect/acme~"));
    let link = led.expect("the agent's link").to_string();
    for (wrong, status) in [
        (link.replace("acme~", "globex~"), 404),
        (link.replace("acme~", ""), 404),
        (link.replace("acme~", "acme%23x~"), 404),
        (
            format!(
                "{}/callback?code=c&state=globex~x_y",
                link.split("/connect").next().unwrap_or_default()
            ),
            400,
        ),
        (
            format!(
                "{}/callback?code=c&state=acme~x_y",
                link.split("/connect").next().unwrap_or_default()
            ),
            400,
        ),
        (
            format!("{}/callback", link.split("/connect").next().unwrap_or_default()),
            400,
        ),
    ] {
        let page = browser.open(&wrong).await;
        assert_eq!(page.status.as_u16(), status, "{wrong}: {page:?}");
        assert!(page.html.contains("<h1>"), "a page for people: {page:?}");
    }
    // Answered in another browser than the one that left: nothing.
    let mut first = Browser::default();
    first.stop_at = Some(format!(
        "{}/callback",
        link.split("/connect").next().unwrap_or_default()
    ));
    let page = agree(&mut first, &link, "ola@sandbox.example").await;
    let stolen = browser.open(page.url.as_str()).await;
    assert_eq!(stolen.status, 403, "{stolen:?}");
    let used = first.open(page.url.as_str()).await;
    assert!(
        !used.html.contains("class=\"code\""),
        "an answer counts once: {used:?}"
    );
    local.system.stop().await;
}

/// What is connected through the calendar agent is listed beside the tenant's own, without anything secret, and ends as that
/// does: here, at Google, and for what waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_is_listed_among_the_connections_and_ends_there() {
    let local = Local::start().await;
    let (user, stranger) = (local.user("acme"), local.user("acme"));
    let (id, task) = waiting(&user, "when", "Am I free on Friday?").await;
    let page = agree(&mut Browser::default(), &link(&task), "ines@sandbox.example").await;
    user.chat("when", "m2", &code_on(&page)).await;
    user.until(&id, &["completed"]).await;
    let listed = user.get("/api/connections").await;
    let connections = listed.json();
    assert_eq!(connections["unasked"], serde_json::json!([]), "{connections:#}");
    let [google] = connections["connections"].as_array().expect("a list").as_slice() else {
        panic!("one connection: {connections:#}");
    };
    assert_eq!(
        (&google["provider"], &google["agent"]),
        (&"google".into(), &"Calendar".into())
    );
    for hidden in ["ya29", "sandbox-", "/a/calendar", "http://127"] {
        assert!(!listed.text.contains(hidden), "{listed:?}");
    }
    // Somebody else has none, and ends none by its id; the next of the user's needs no consent.
    let path = format!("/api/connections/{}", google["id"].as_str().expect("an id"));
    let theirs = stranger.chat("hello", "m1", "Hello").await;
    assert_eq!(theirs.status, 200, "{theirs:?}");
    assert!(!stranger.get("/api/connections").await.text.contains("google"));
    assert_eq!(stranger.call(Method::DELETE, &path, None).await.status, 404);
    let (more, _) = waiting(&user, "what", "What is on my calendar tomorrow?").await;
    let ended = user.call(Method::DELETE, &path, None).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    assert_eq!(
        ended.json(),
        serde_json::json!({"provider": "google", "revoked": true})
    );
    assert_eq!(user.call(Method::DELETE, &path, None).await.status, 404);
    user.until(&more, &["rejected"]).await;
    waiting(&user, "again", "Am I free on Friday?").await;
    // An agent that nobody knows has nothing.
    let unknown = "/api/connections/00000000-0000-4000-8000-000000000000~google";
    assert_eq!(user.call(Method::DELETE, unknown, None).await.status, 404);
    local.system.stop().await;
}

/// Fewer boxes than are needed: it is said which, and nothing is granted.
#[tokio::test(flavor = "multi_thread")]
async fn an_unticked_box_is_said_and_refusing_ends_the_task() {
    let local = Local::start().await;
    let user = local.user("acme");
    let (id, task) = waiting(&user, "what", "What is on my calendar tomorrow?").await;
    let mut browser = Browser::default();
    let page = browser.open(&link(&task)).await;
    let none = browser
        .submit(&page, &[("user", "ines@sandbox.example"), ("box.0", "")])
        .await;
    assert!(none.html.contains("Nothing was granted"), "{none:?}");
    let task = user.until(&id, &["rejected"]).await;
    assert!(task.to_string().contains("did not agree"), "{task:#}");
    local.system.stop().await;
}

/// One of two boxes is left out: the page says which, what was agreed to before still counts, and the same link leads on.
#[tokio::test(flavor = "multi_thread")]
async fn a_box_that_is_left_out_is_named_and_the_link_may_be_opened_again() {
    let local = Local::start().await;
    let user = local.user("acme");
    let (id, task) = waiting(&user, "when", "Am I free on Friday?").await;
    let page = agree(&mut Browser::default(), &link(&task), "ines@sandbox.example").await;
    user.chat("when", "m2", &code_on(&page)).await;
    user.until(&id, &["completed"]).await;

    let (id, task) = waiting(&user, "what", "What is on my calendar tomorrow?").await;
    let mut browser = Browser::default();
    let page = browser.open(&link(&task)).await;
    let boxes = page.html.matches("type=\"checkbox\"").count();
    assert_eq!(boxes, 2, "{page:?}");
    let events = page.html.find("View events").expect("a box for events");
    let left_out = if page.html[..events].contains("box.1") {
        "box.1"
    } else {
        "box.0"
    };
    let told = browser
        .submit(&page, &[("user", "ines@sandbox.example"), (left_out, "")])
        .await;
    assert!(told.html.contains("A box was left out"), "{told:?}");
    let waits = user.task(&id).await;
    assert_eq!(waits["status"], "auth-required", "{waits:#}");
    assert_eq!(waits["artifacts"].as_array().map_or(0, Vec::len), 0, "{waits:#}");
    // What was held before is held still.
    let free = user.ask("Am I free on Friday?").await;
    user.until(&free.task_id(), &["completed"]).await;
    let page = agree(&mut Browser::default(), &link(&task), "ines@sandbox.example").await;
    user.chat("what", "m2", &code_on(&page)).await;
    let done = user.until(&id, &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("Stand-up"), "{done:#}");
    local.system.stop().await;
}
