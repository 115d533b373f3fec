//! A guest's work becomes the work of somebody who signs in in the same browser. What the guest had before gives nothing from then on:
//! cookies, links, codes, what is under way at the provider, grants. So a cookie that somebody planted in the browser leads nowhere.

use std::time::Duration;

use local::Options;
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::browser::{Browser, Page};
use system_testing::{Local, User, oauth};

use crate::consent::{code_on, link, profile};

struct World {
    local: Local,
    base: String,
}

impl World {
    async fn start() -> Self {
        let local = Local::start_as(Options::default()).await;
        let base = local.endpoint("/tenants/acme/base");
        let base = base.trim_end_matches('/').to_owned();
        Self { local, base }
    }

    fn login(&self, name: &str) -> &Value {
        let users = self.local.endpoints()["users"]["acme"].as_array().expect("users");
        let found = users.iter().find(|user| user["username"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    /// Signs in to the chat; the user with that browser's session.
    async fn sign_in(&self, browser: &mut Browser, name: &str) -> User {
        let start = format!("{}/signin?return=tasks", self.base);
        let page = oauth::agree(browser, &start, self.login(name)).await;
        assert_eq!(page.url.as_str(), format!("{}/tasks", self.base), "{page:?}");
        let own = browser.cookies().find(|(name, _)| *name == "switchyard_acme");
        let (name, value) = own.expect("a session");
        self.with_cookie(&format!("{name}={value}"))
    }

    fn with_cookie(&self, cookie: &str) -> User {
        let user = User::new(&self.base);
        user.resume(cookie);
        user
    }

    /// A task of the user that waits for consent: its id, and the link.
    async fn waiting(&self, user: &User, chat: &str, prompt: &str) -> (String, String) {
        let asked = user.chat(chat, "m1", prompt).await;
        let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
        (asked.task_id(), link(&waiting))
    }

    /// Signs in and agrees at the provider, but does not come back yet: the address of the way back.
    async fn until_the_way_back(&self, browser: &mut Browser, link: &str, name: &str) -> String {
        browser.stop_at = Some(format!("{}/callback", self.base));
        let page = oauth::agree(browser, link, self.login(name)).await;
        browser.stop_at = None;
        assert!(page.url.path().ends_with("/callback"), "{page:?}");
        page.url.to_string()
    }
}

async fn takes_over(user: &User) -> (u16, Value) {
    let take = json!({ "take": true });
    let answer = user.call(Method::POST, "/api/session/guest", Some(take)).await;
    (answer.status.as_u16(), answer.json())
}

async fn who(user: &User) -> Value {
    user.get("/api/session").await.json()["who"].clone()
}

async fn connections(user: &User) -> Value {
    user.get("/api/connections").await.json()["connections"].clone()
}

fn grants_nothing(page: &Page) {
    assert!(
        !page.html.contains("You are connected") && !page.html.contains("One more step"),
        "{page:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_adoption_nothing_of_the_guests_gives_anything() {
    let world = World::start().await;
    // Somebody plants their own guest's cookie in a browser, and keeps a copy of it.
    let guest = world.local.user("acme");
    let (connected, first) = world.waiting(&guest, "one", "Where is my order 1001?").await;
    let cookie = guest.cookie().expect("a session");
    let mut browser = profile(&guest, &world.base);
    let page = oauth::agree(&mut browser, &first, world.login("alan")).await;
    assert!(page.html.contains("You are connected"), "{page:?}");
    // Connecting gives the browser another session (its copy is worth nothing from there on): the newer one is planted.
    let planted = guest.cookie().expect("a session");
    assert_ne!(planted, cookie);
    let (name, value) = planted.split_once('=').expect("a cookie");
    guest.until(&connected, &["completed"]).await;
    let ended = guest
        .call(Method::DELETE, "/api/connections/idp", Some(json!({})))
        .await;
    assert_eq!(ended.status, 200, "{ended:?}");

    // Three consents are open: a link that nobody has followed, one on its way back, and one whose code is awaited. The last had been
    // granted once before.
    let (by_link, open) = world.waiting(&guest, "two", "Where is my order 1002?").await;
    let (by_answer, under_way) = world.waiting(&guest, "three", "Where is my order 1003?").await;
    let (by_code, forwarded) = world.waiting(&guest, "four", "Where is my order 1004?").await;
    let mut starters = Browser::default();
    starters.set(name, value);
    let back = world.until_the_way_back(&mut starters, &under_way, "alan").await;
    let page = oauth::agree(&mut Browser::default(), &forwarded, world.login("alan")).await;
    let code = code_on(&page);

    let ada = world.sign_in(&mut browser, "ada").await;
    let question = ada.get("/api/session").await.json()["takeOver"].clone();
    assert_eq!(
        (&question["chats"], &question["suggested"]),
        (&json!(4), &json!(true)),
        "{question}"
    );
    let before = ada.cookie().expect("a session");
    assert_eq!(takes_over(&ada).await, (200, json!({ "taken": true })));
    assert_ne!(ada.cookie().expect("a session"), before, "under another token");

    // The work is hers, and nothing that the guest was let do.
    assert_eq!(ada.task(&connected).await["status"], "completed");
    assert_eq!(connections(&ada).await, json!([]));

    // The cookies: the guest's first one, the one that was planted, hers of before.
    for old in [&cookie, &planted, &before] {
        let old = world.with_cookie(old);
        assert_eq!(who(&old).await, "nobody");
        assert_eq!(old.get("/api/chats").await.json()["chats"], json!([]));
        for path in [
            format!("/api/tasks/{connected}"),
            format!("/api/tasks/{by_code}/events"),
            "/api/chats/one/messages".to_owned(),
        ] {
            assert_eq!(old.get(&path).await.status, 404, "{path}");
        }
        assert_eq!(takes_over(&old).await.0, 409);
        // The code that the guest waited for, from the guest.
        let typed = old.chat("four", "m2", &code).await;
        assert_ne!(typed.status, 500, "{typed:?}");
        assert_eq!(connections(&old).await, json!([]));
    }
    // The links, in the planted browser, in hers and in a stranger's.
    let mut strangers = Browser::default();
    for link in [&first, &open, &under_way, &forwarded] {
        for browser in [&mut starters, &mut browser, &mut strangers] {
            let page = browser.open(link).await;
            assert!(page.status.is_client_error(), "{page:?}");
            grants_nothing(&page);
        }
    }
    // The answer that was on its way, where it left, and the code, typed by her to whom the chat belongs now.
    grants_nothing(&starters.open(&back).await);
    let typed = ada.chat("four", "m3", &code).await;
    assert_eq!(typed.status, 200, "{typed:?}");
    for task in [&by_link, &by_answer, &by_code] {
        let told = ada.task(task).await;
        assert_ne!(told["status"], "completed", "{told:#}");
    }
    assert_eq!(connections(&ada).await, json!([]));

    // Nobody takes it over a second time, whatever browser the old cookie is in.
    for old in [&cookie, &planted] {
        let mut again = Browser::with_cookie(old, "/");
        let eve = world.sign_in(&mut again, "olga").await;
        assert_eq!(eve.get("/api/session").await.json()["takeOver"], Value::Null);
        assert_eq!(takes_over(&eve).await.0, 409);
        assert_eq!(eve.get(&format!("/api/tasks/{connected}")).await.status, 404);
    }
    // Asked anew she is asked for her own consent.
    let own = ada.chat("five", "m1", "Where is my order 1001?").await;
    ada.until(&own.task_id(), &["auth-required"]).await;
    world.local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guests_connection_ends_with_the_time_of_a_guest() {
    let world = World::start().await;
    let guest = world.local.user("acme");
    let (task, link) = world.waiting(&guest, "one", "Where is my order 1001?").await;
    oauth::agree(&mut profile(&guest, &world.base), &link, world.login("alan")).await;
    guest.until(&task, &["completed"]).await;
    let connected = connections(&guest).await;
    assert_eq!(connected.as_array().map(Vec::len), Some(1), "{connected}");
    // Whoever comes by every other day stays a guest; what they have connected and do not use ends.
    for _ in 0..15 {
        world.local.clock.advance(Duration::from_secs(2 * 24 * 3600));
        assert_eq!(who(&guest).await, "guest");
    }
    assert_eq!(connections(&guest).await, json!([]));
    world.local.system.stop().await;
}

/// Whoever controls a sibling of the chat's host or path can set a cookie that the browser sends beside ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_tossed_beside_ones_own_makes_nobody_its_user() {
    let world = World::start().await;
    let (attacker, victim) = (world.local.user("acme"), world.local.user("acme"));
    let (task, link) = world.waiting(&attacker, "trap", "Where is my order 1001?").await;
    victim.chat("own", "m1", "Hello").await;
    let (tossed, own) = (
        attacker.cookie().expect("a session"),
        victim.cookie().expect("a session"),
    );
    let leads_to = async |cookie: &str| {
        let request = system_testing::user::http().get(&link).header("cookie", cookie);
        let answer = request.send().await.expect("an answer");
        let place = answer.headers()["location"].to_str().expect("text");
        assert!(place.contains("/authorize?"), "{place}");
        place.to_owned()
    };
    // Whether the browser that opens the link counts as the one that asked for it.
    let is_starters = async |cookie: &str| !leads_to(cookie).await.contains("prompt=consent");
    for both in [format!("{tossed}; {own}"), format!("{own}; {tossed}")] {
        assert!(!is_starters(&both).await);
        let user = world.with_cookie(&both);
        assert_eq!(who(&user).await, "nobody");
        assert_eq!(user.get("/api/chats").await.json()["chats"], json!([]));
        for path in [format!("/api/tasks/{task}"), "/api/chats/own/messages".to_owned()] {
            assert_eq!(user.get(&path).await.status, 404, "{path}");
        }
        // A new guest begins, whom neither of them is.
        let begun = user.chat("next", "m1", "Hello").await;
        assert_eq!(begun.status, 200, "{begun:?}");
        let next = user.cookie().expect("a session");
        assert!(![&tossed, &own, &both].contains(&&next), "{next}");
        for other in [&attacker, &victim] {
            assert_eq!(other.get("/api/chats/next/messages").await.status, 404);
        }
    }
    assert!(is_starters(&tossed).await, "the attacker's own browser is");
    // Over there, two logins are none: a password is asked for.
    let mut browser = Browser::default();
    world.sign_in(&mut browser, "ada").await;
    let login = browser.cookies().find(|(_, value)| value.starts_with("swl_"));
    let (name, value) = login.expect("a login");
    let place = leads_to(&tossed).await;
    let one = format!("{name}={value}");
    for (cookie, asks) in [
        (one.clone(), false),
        (format!("{one}; {name}=swl_{}", "A".repeat(43)), true),
        (format!("{name}=swl_{}; {one}", "A".repeat(43)), true),
    ] {
        let request = system_testing::user::http().get(&place).header("cookie", &cookie);
        let page = request
            .send()
            .await
            .expect("an answer")
            .text()
            .await
            .expect("text");
        assert_eq!(page.contains("name=\"password\""), asks, "{cookie}: {page}");
    }
    world.local.system.stop().await;
}
