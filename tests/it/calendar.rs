//! The fourth walk: an agent that itself needs its user's consent elsewhere. Its task is `auth-required` with an address
//! of somebody whom the host knows nothing of; the host's task mirrors it, and goes on when the agent does.

use reqwest::Method;
use serde_json::json;
use system_testing::Local;

use crate::scripted::Scripted;

const PROMPT: &str = "Am I free on Friday in my calendar?";
const ADDRESS: &str = "https://accounts.example/o/oauth2/auth?client_id=calendar&state=s1";

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_own_consent_is_mirrored_with_its_address_and_the_task_goes_on() {
    let local = Local::start().await;
    let calendar = Scripted::start(&local, "calendar", PROMPT).await;
    let user = local.user("acme");
    let turn = tokio::spawn({
        let calendar = calendar.clone();
        async move {
            let sent = calendar.nth(1).await;
            let asks = format!("I need access to your calendar: {ADDRESS}. Please allow it.");
            calendar
                .reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some(&asks), None)
                .await;
            sent
        }
    });
    // The turn ends with the question: nobody waits with an open stream for a consent.
    let asked = user.chat("c", "m1", PROMPT).await;
    let sent = turn.await.expect("no panic");
    assert_eq!(sent.text, PROMPT, "{sent:?}");
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    assert!(
        waiting["statusMessage"]
            .as_str()
            .is_some_and(|text| text.contains(ADDRESS)),
        "{waiting:#}"
    );
    assert_eq!(
        waiting["authUrl"], ADDRESS,
        "the page can make a link of it: {waiting:#}"
    );
    assert_eq!(
        (&waiting["authUrlBy"], &waiting["authUrlHost"]),
        (&json!("agent"), &json!("accounts.example")),
        "and says whose it is: {waiting:#}"
    );
    assert_eq!(waiting["remoteTaskId"], sent.remote.as_str());
    assert!(asked.said().contains(ADDRESS), "{asked:?}");
    let shown = user.get("/api/chats/c/messages").await;
    assert!(shown.text.contains(ADDRESS), "{shown:?}");
    // The consent is the agent's own affair: no link of ours, no connection.
    assert!(!waiting.to_string().contains("/connect/"), "{waiting:#}");
    let connections = user.get("/api/connections").await;
    assert!(!connections.text.contains("accounts.example"), "{connections:?}");

    // Its callback was called: it goes on by itself, and so does the host's task.
    calendar
        .reports(&sent, "TASK_STATE_WORKING", Some("Looking at your Friday"), None)
        .await;
    user.until(&asked.task_id(), &["working"]).await;
    calendar
        .reports(
            &sent,
            "TASK_STATE_COMPLETED",
            None,
            Some("You are free on Friday."),
        )
        .await;
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(
        done["artifacts"].to_string().contains("free on Friday"),
        "{done:#}"
    );
    assert_eq!(done["authUrl"], json!(null), "{done:#}");
    let states: Vec<&str> = done["history"]
        .as_array()
        .expect("a history")
        .iter()
        .filter_map(|state| state["state"].as_str())
        .collect();
    let mut once = states.clone();
    once.dedup();
    assert_eq!(
        once,
        ["submitted", "working", "auth-required", "working", "completed"]
    );
    assert_eq!(calendar.sent().len(), 1, "asked once");
    local.system.stop().await;
}

/// "done" goes to the agent that waits, as a message of the same task; a cancel reaches it likewise.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_says_meanwhile_goes_to_the_agent_that_waits() {
    let local = Local::start().await;
    let calendar = Scripted::start(&local, "calendar", PROMPT).await;
    let user = local.user("acme");
    let (asked, sent) = tokio::join!(user.chat("c", "m1", PROMPT), async {
        let sent = calendar.nth(1).await;
        calendar
            .reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some(ADDRESS), None)
            .await;
        sent
    });
    user.until(&asked.task_id(), &["auth-required"]).await;
    let (told, again) = tokio::join!(user.chat("c", "m2", "done"), async {
        let again = calendar.nth(2).await;
        calendar
            .reports(
                &sent,
                "TASK_STATE_COMPLETED",
                None,
                Some("You are free on Friday."),
            )
            .await;
        again
    });
    assert_eq!(
        (again.text.as_str(), &again.remote),
        ("done", &sent.remote),
        "the same task at the agent"
    );
    assert_eq!(told.task_id(), asked.task_id(), "the same task at the host");
    user.until(&asked.task_id(), &["completed"]).await;

    // An address that is none of the web's becomes no link.
    let (asked, _) = tokio::join!(user.chat("d", "m1", PROMPT), async {
        let sent = calendar.nth(3).await;
        let asks = "Open javascript:alert(1) or http://accounts.example/plain";
        calendar
            .reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some(asks), None)
            .await;
    });
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    assert_eq!(waiting["authUrl"], json!(null), "{waiting:#}");
    let path = format!("/api/tasks/{}/cancel", asked.task_id());
    let canceled = user.call(Method::POST, &path, Some(json!({}))).await;
    assert_eq!(canceled.status, 200, "{canceled:?}");
    user.until(&asked.task_id(), &["canceled"]).await;
    local.system.stop().await;
}

/// What an agent wrote that wanted its link to look like ours: a page of its own under a name that looks like the tenant's.
const PHISHING: &str = "https://acme-login.evil.example/t/acme/connect/9e3c526b?x=";

/// An agent chooses its words and its name. Its link becomes a button only where its operator has named the host, and is said
/// to be the agent's there; anything else stays a word among its words.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_an_agent_made_up_is_never_dressed_as_ours() {
    let local = Local::start().await;
    let name = "Currency <img src=x onerror=alert(1)> [click](javascript:alert(1))";
    let agent = Scripted::called(&local, ("currency", name), "How much is 100 euros in kroner?").await;
    let user = local.user("acme");
    let base = local.endpoint("/tenants/acme/base").to_owned();
    let ours = url::Url::parse(&base).expect("an address");
    let host = ours.host_str().expect("a host");
    let connect = format!("{base}/connect/9e3c526b");
    let shady = [
        PHISHING.to_owned(),
        format!("Open {PHISHING} to connect."),
        format!("https://{host}@acme-login.evil.example/t/acme/connect/9e3c526b"),
        "https://accounts.example.evil.example/o/oauth2".to_owned(),
        "https://evil.example/?https://accounts.example/".to_owned(),
        "https://mallory@accounts.example/o/oauth2".to_owned(),
        "javascript:alert(1)".to_owned(),
        "data:text/html,<script>alert(1)</script>".to_owned(),
        "https://[accounts.example]/ //accounts.example/ accounts.example".to_owned(),
    ];
    for (number, asks) in shady.iter().enumerate() {
        let (chat, id) = (format!("c{number}"), format!("m{number}"));
        let (asked, _) = tokio::join!(user.chat(&chat, &id, "How much is 100 euros in kroner?"), async {
            let sent = agent.nth(number + 1).await;
            agent
                .reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some(asks), None)
                .await;
        });
        let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
        for field in ["authUrl", "authUrlBy", "authUrlHost"] {
            assert_eq!(waiting[field], json!(null), "{asks}: {waiting:#}");
        }
        assert_eq!(waiting["statusMessage"], asks.as_str(), "its words are its words");
    }

    // An address of ours is no way to pass for us: it leads where the agent's own card lies here, and is said to be the agent's.
    let (asked, _) = tokio::join!(
        user.chat("own", "own", "How much is 100 euros in kroner?"),
        async {
            let sent = agent.nth(shady.len() + 1).await;
            agent
                .reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some(&connect), None)
                .await;
        }
    );
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    assert_eq!(waiting["authUrlBy"], "agent", "{waiting:#}");

    // Of several the one is taken that was named.
    let both = format!("{PHISHING} or {ADDRESS}");
    let (asked, _) = tokio::join!(
        user.chat("both", "both", "How much is 100 euros in kroner?"),
        async {
            let sent = agent.nth(shady.len() + 2).await;
            agent
                .reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some(&both), None)
                .await;
        }
    );
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    assert_eq!(
        (
            &waiting["authUrl"],
            &waiting["authUrlBy"],
            &waiting["authUrlHost"]
        ),
        (&json!(ADDRESS), &json!("agent"), &json!("accounts.example")),
        "{waiting:#}"
    );
    local.system.stop().await;
}
