//! The link to a calendar's consent in the hands of strangers. In the starter's own browser the host's page proves to the agent whose
//! browser it is, and nothing is typed; in any other the agent shows a code, and nothing is granted to anybody.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use local::Signer;
use reqwest::StatusCode;
use serde_json::Value;
use system_testing::browser::{Browser, Page, attribute};
use system_testing::user::http;
use system_testing::{Local, User};

use crate::consent::{code_on, profile};

const FREE: &str = "Am I free on Friday?";
const INES: &str = "ines@sandbox.example";
const OLA: &str = "ola@sandbox.example";

static CHATS: AtomicU32 = AtomicU32::new(0);

/// A tenant's user with a task that waits for the calendar, and a browser with that user's session.
struct Starter {
    user: User,
    chat: String,
    task: String,
    link: String,
    browser: Browser,
    base: String,
}

impl Starter {
    async fn new(local: &Local, tenant: &str) -> Self {
        let base = local.endpoint(&format!("/tenants/{tenant}/base")).to_owned();
        let user = local.user(tenant);
        // A chat's name is its first user's alone.
        let chat = format!("when-{}", CHATS.fetch_add(1, Ordering::Relaxed));
        let task = user.chat(&chat, "m1", FREE).await.task_id();
        let waiting = user.until(&task, &["auth-required"]).await;
        let link = waiting["authUrl"].as_str().expect("a link").to_owned();
        assert_eq!(link, format!("{base}/connect/task-{task}"), "{waiting:#}");
        let browser = profile(&user, &base);
        Self {
            user,
            chat,
            task,
            link,
            browser,
            base,
        }
    }

    /// The form on the page that the starter's browser is shown: where it goes, and its proof.
    async fn form(&mut self) -> (Page, String, String) {
        let page = self.browser.open(&self.link).await;
        assert_eq!(page.status, 200, "{page:?}");
        let field = |tag: &str, name: &str| {
            let tag = page.html.split('<').find(|part| part.starts_with(tag));
            attribute(tag.expect("a form"), name).expect("a field")
        };
        let (action, proof) = (field("form", "action"), field("input", "value"));
        (page.clone(), action, proof)
    }

    async fn waits(&self) -> bool {
        let task = self.user.task(&self.task).await;
        task["status"] == "auth-required" && self.connections().await == 0
    }

    async fn connections(&self) -> usize {
        let told = self.user.get("/api/connections").await.json();
        told["connections"].as_array().expect("a list").len()
    }
}

/// Posts a proof as the page of this origin would, from a browser without cookies.
async fn post(action: &str, origin: Option<&str>, body: String) -> (StatusCode, Vec<String>, String) {
    let mut request = http().post(action).body(body);
    request = request.header("content-type", "application/x-www-form-urlencoded");
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    let set = answer.headers().get_all("set-cookie").iter();
    let set = set
        .map(|value| value.to_str().expect("text").to_owned())
        .collect();
    (status, set, answer.text().await.expect("a page"))
}

fn proved(proof: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("proof", proof)
        .finish()
}

fn origin_of(local: &Local) -> String {
    let base = url::Url::parse(local.endpoint("/tenants/acme/base")).expect("an address");
    base.origin().ascii_serialization()
}

/// A useful page that grants nothing and starts nothing.
fn refused(status: u16, what: &str, (told, set, page): &(StatusCode, Vec<String>, String)) {
    assert_eq!(told.as_u16(), status, "{what}: {page}");
    assert!(set.is_empty(), "{what}: no browser is on its way: {set:?}");
    assert!(
        page.contains("<h1>") && page.contains("Nothing was granted") || status == 404,
        "{what}: {page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_starters_browser_nothing_is_typed() {
    let local = Local::start().await;
    let mut starter = Starter::new(&local, "acme").await;
    let (page, action, _) = starter.form().await;
    assert!(action.contains("/consent/connect/acme~"), "{action}");
    assert!(page.html.contains("Calendar"), "who asks is named: {page:?}");
    let told = http()
        .get(&starter.link)
        .header("cookie", starter.user.cookie().expect("a session"));
    let told = told.send().await.expect("an answer");
    let header = |name: &str| told.headers()[name].to_str().expect("text").to_owned();
    let policy = header("content-security-policy");
    let allowed: Vec<&str> = policy
        .split("; ")
        .filter(|rule| rule.starts_with("form-action"))
        .collect();
    assert_eq!(
        allowed,
        [format!("form-action {}", origin_of(&local))],
        "{policy}"
    );
    assert!(
        policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert_eq!(
        header("referrer-policy"),
        "strict-origin",
        "or the form would not say where it stood"
    );
    assert_eq!(header("cache-control"), "no-store");

    let google = starter.browser.submit(&page, &[]).await;
    assert!(google.html.contains("View your availability"), "{google:?}");
    let done = starter.browser.submit(&google, &[("user", INES)]).await;
    assert!(done.html.contains("You are connected"), "{done:?}");
    let task = starter.user.until(&starter.task, &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("you are busy"), "{task:#}");
    // The link is over: it leads nowhere any more.
    let over = starter.browser.open(&starter.link).await;
    assert_eq!(over.status, 410, "{over:?}");
    local.system.stop().await;
}

/// A stranger who opens the link before the starter, after, or at the same time, gets nothing, and takes nothing away.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_nothing_whenever_they_open_the_link() {
    let local = Local::start().await;
    let stranger_user = local.user("acme");
    stranger_user.chat("hello", "m1", "Hello").await;
    for (number, case) in ["before", "at once", "after"].into_iter().enumerate() {
        let mut starter = Starter::new(&local, "acme").await;
        let mut stranger = match number {
            // With a session of their own, or none.
            1 => profile(&stranger_user, &starter.base),
            _ => Browser::default(),
        };
        let done = match case {
            "before" => {
                let theirs = stranger.open(&starter.link).await;
                let theirs = stranger.submit(&theirs, &[("user", OLA)]).await;
                let code = code_on(&theirs);
                assert!(
                    theirs.html.contains("Only do so if you started this yourself"),
                    "{theirs:?}"
                );
                assert!(starter.waits().await, "{case}");
                // The code is of no use in a chat of the stranger's own.
                let own = stranger_user.chat("own", "m1", FREE).await.task_id();
                stranger_user.until(&own, &["auth-required"]).await;
                stranger_user.chat("own", "m2", &code).await;
                assert_eq!(stranger_user.task(&own).await["status"], "auth-required");
                let (page, ..) = starter.form().await;
                let google = starter.browser.submit(&page, &[]).await;
                let done = starter.browser.submit(&google, &[("user", INES)]).await;
                // What the stranger agreed to is void, and so is its code.
                starter.user.chat(&starter.chat, "m2", &code).await;
                done
            }
            "at once" => {
                let (page, ..) = starter.form().await;
                let (google, theirs) =
                    tokio::join!(starter.browser.submit(&page, &[]), stranger.open(&starter.link));
                let (done, theirs) =
                    tokio::join!(starter.browser.submit(&google, &[("user", INES)]), async {
                        match theirs.html.contains("<form") {
                            true => stranger.submit(&theirs, &[("user", OLA)]).await,
                            false => theirs,
                        }
                    });
                assert!(!theirs.html.contains("You are connected"), "{theirs:?}");
                done
            }
            _ => {
                let (page, ..) = starter.form().await;
                let google = starter.browser.submit(&page, &[]).await;
                let theirs = stranger.open(&starter.link).await;
                assert!(theirs.html.contains("under way in another browser"), "{theirs:?}");
                let done = starter.browser.submit(&google, &[("user", INES)]).await;
                let late = stranger.open(&starter.link).await;
                assert!(late.status == 410 || late.status == 409, "{late:?}");
                done
            }
        };
        assert!(done.html.contains("You are connected"), "{case}: {done:?}");
        let task = starter.user.until(&starter.task, &["completed"]).await;
        // It is the starter's own calendar that was read, not the stranger's.
        assert!(
            task["artifacts"].to_string().contains("you are busy"),
            "{case}: {task:#}"
        );
        let listed = stranger_user.get("/api/connections").await.json();
        assert_eq!(listed["connections"], serde_json::json!([]), "{case}");
    }
    local.system.stop().await;
}

/// A proof that is used, old, another's, or sent from another site grants nothing and starts nothing.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_fresh_proof_for_this_very_consent_counts_and_only_once() {
    let local = Local::start().await;
    let origin = origin_of(&local);
    let mut ada = Starter::new(&local, "acme").await;
    let mut alan = Starter::new(&local, "acme").await;
    let mut grace = Starter::new(&local, "globex").await;
    let (_, action, proof) = ada.form().await;
    let (_, alans_action, alans) = alan.form().await;
    let (_, graces_action, graces) = grace.form().await;

    for (what, action, sent, status) in [
        ("another task and owner", &action, proved(&alans), 403),
        ("another tenant", &action, proved(&graces), 403),
        ("another tenant's consent", &graces_action, proved(&proof), 403),
        ("another owner's consent", &alans_action, proved(&proof), 403),
        (
            "a consent under another tenant's name",
            &action.replace("acme~", "globex~"),
            proved(&proof),
            404,
        ),
        ("none", &action, String::new(), 403),
        ("empty", &action, "proof=".to_owned(), 403),
        ("two", &action, format!("{0}&{0}", proved(&proof)), 403),
        ("rubbish", &action, proved("rubbish"), 403),
        ("a longer one", &action, proved(&format!("{proof}x")), 403),
        ("an endless one", &action, proved(&"x".repeat(60_000)), 403),
        ("the tenant's own endpoint", &ada.link, proved(&proof), 404),
    ] {
        let told = post(action, Some(&origin), sent).await;
        refused(status, what, &told);
        assert!(!told.2.contains(&proof), "{what}: no proof is shown");
    }
    // No session token is a proof: not the user's for the agent, nor one that says it was meant for this.
    let id = action.rsplit('~').next().expect("an id");
    let owner = owner_of(&proof);
    let agent = local
        .endpoint("/agents/calendar")
        .trim_end_matches('/')
        .to_owned();
    for (signer, audience, scope) in [
        (Signer::Session("acme"), agent.as_str(), "tasks".to_owned()),
        (Signer::Session("acme"), agent.as_str(), format!("consent:{id}")),
        (Signer::Idp("acme"), agent.as_str(), format!("consent:{id}")),
        (Signer::Platform, agent.as_str(), format!("consent:{id}")),
    ] {
        let token = local
            .system
            .signed(signer, &owner, audience, &scope, Duration::ZERO);
        let told = post(&action, Some(&origin), proved(&token.expect("a token"))).await;
        refused(403, &format!("{signer:?} {scope}"), &told);
    }
    // Somebody's own proof, sent by a victim's browser from a page of theirs: browsers say where a form stood.
    for site in [
        None,
        Some("null"),
        Some("https://evil.example"),
        Some("http://127.0.0.1"),
    ] {
        let told = post(&action, site, proved(&proof)).await;
        refused(403, &format!("{site:?}"), &told);
    }
    for starter in [&ada, &alan, &grace] {
        assert!(starter.waits().await);
    }
    // A minute later it has ended, though tokens may be a minute late elsewhere.
    local.clock.advance(Duration::from_secs(60));
    refused(403, "old", &post(&action, Some(&origin), proved(&proof)).await);

    // A fresh one counts once, however it is sent again, and at once twice as well.
    let (_, action, proof) = ada.form().await;
    let (one, two) = tokio::join!(
        post(&action, Some(&origin), proved(&proof)),
        post(&action, Some(&origin), proved(&proof))
    );
    let mut both = [one, two];
    both.sort_by_key(|(status, ..)| status.as_u16());
    let [first, second] = &both;
    assert_eq!((first.0.as_u16(), first.1.len()), (200, 1), "{first:?}");
    refused(403, "used at once", second);
    refused(403, "used", &post(&action, Some(&origin), proved(&proof)).await);
    // The starter begins once more, and ends well.
    let (page, ..) = ada.form().await;
    let google = ada.browser.submit(&page, &[]).await;
    let done = ada.browser.submit(&google, &[("user", INES)]).await;
    assert!(done.html.contains("You are connected"), "{done:?}");
    ada.user.until(&ada.task, &["completed"]).await;
    for starter in [&alan, &grace] {
        assert!(starter.waits().await);
    }
    local.system.stop().await;
}

/// Whom a proof speaks of.
fn owner_of(proof: &str) -> String {
    use base64::Engine as _;
    let claims = proof.split('.').nth(1).expect("claims");
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(claims)
        .expect("base64");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    claims["sub"].as_str().expect("a subject").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_leads_nowhere_says_so() {
    let local = Local::start().await;
    let mut starter = Starter::new(&local, "acme").await;
    let mut browser = Browser::default();
    let nobodys = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for (wrong, status) in [
        (starter.link.replace("task-", "task-x"), 404),
        (starter.link.replace(&starter.task, nobodys), 404),
        (starter.link.replace("/t/acme/", "/t/globex/"), 404),
        (starter.link.replace("task-", "task-%00"), 404),
        (format!("{}{}", starter.link, "x".repeat(5_000)), 404),
    ] {
        let page = browser.open(&wrong).await;
        assert_eq!(page.status.as_u16(), status, "{wrong}: {page:?}");
        assert!(page.html.contains("<h1>"), "a page for people: {page:?}");
    }
    // A task that is over needs nothing any more, in no browser.
    starter.user.chat(&starter.chat, "m2", "cancel").await;
    starter.user.until(&starter.task, &["canceled"]).await;
    for browser in [&mut browser, &mut starter.browser] {
        let page = browser.open(&starter.link).await;
        assert_eq!(page.status, 410, "{page:?}");
    }
    local.system.stop().await;
}
