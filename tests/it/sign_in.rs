//! Signing in to the chat and out of it, as a browser does: who is there, whose things they see, and what ends it.

use std::time::Duration;

use domain::Tenant;
use local::{Data, Options};
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::browser::{Browser, Page};
use system_testing::{Local, User, oauth};

use crate::consent::{agree, link};
use crate::tenants::admin;

fn base(local: &Local) -> String {
    local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned()
}

/// Signs in by the page's link; where the browser is then.
pub(crate) async fn sign_in(local: &Local, browser: &mut Browser, login: &Value) -> Page {
    let start = format!("{}/signin?return=tasks", base(local));
    oauth::agree(browser, &start, login).await
}

/// The chat API with the session that the browser has.
pub(crate) fn chat_of(local: &Local, browser: &Browser) -> User {
    let user = User::new(&base(local));
    let own = browser.cookies().find(|(name, _)| *name == "switchyard_acme");
    let (name, value) = own.expect("a session");
    user.resume(&format!("{name}={value}"));
    user
}

async fn who(user: &User) -> Value {
    let answer = user.get("/api/session").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The demo user of this name.
pub(crate) fn demo<'l>(local: &'l Local, name: &str) -> &'l Value {
    let users = local.endpoints()["users"]["acme"].as_array().expect("users");
    let found = users.iter().find(|user| user["username"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {users:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_signs_in_works_and_signs_out() {
    let local = Local::start_as(Options {
        require_sign_in: true,
        ..Options::default()
    })
    .await;
    // Nobody is let in before.
    let nobody = local.user("acme");
    let refused = nobody.chat("trip", "m1", "Hello").await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let sign_in_at = format!("{}/signin", base(&local));
    assert_eq!(refused.json()["signIn"], sign_in_at.as_str());
    assert_eq!(nobody.cookie(), None, "no guest is made");

    let mut browser = Browser::default();
    let page = sign_in(&local, &mut browser, demo(&local, "olga")).await;
    assert_eq!(
        (page.status.as_u16(), page.url.as_str()),
        (200, format!("{}/tasks", base(&local)).as_str())
    );
    let olga = chat_of(&local, &browser);
    let told = who(&olga).await;
    assert_eq!(
        (&told["who"], &told["username"], &told["role"]),
        (&json!("person"), &json!("olga"), &json!("operator")),
        "{told}"
    );
    // Her work goes its usual way, and a consent in her browser is hers at once.
    let asked = olga.ask("Will it rain in Oslo tomorrow?").await;
    olga.until(&asked.task_id(), &["completed"]).await;
    let asked = olga.ask("Where is my order 1001?").await;
    let waiting = olga.until(&asked.task_id(), &["auth-required"]).await;
    let page = oauth::agree(&mut browser, &link(&waiting), demo(&local, "olga")).await;
    assert!(page.html.contains("You are connected"), "{page:?}");
    // Her session leads to more than before, by another token.
    assert_eq!(who(&olga).await["who"], "nobody");
    let olga = chat_of(&local, &browser);
    olga.until(
        &asked.task_id(),
        &["completed", "input-required", "failed", "rejected"],
    )
    .await;

    // In another browser she finds the same; somebody else does not.
    let mut second = Browser::default();
    sign_in(&local, &mut second, demo(&local, "olga")).await;
    let again = chat_of(&local, &second);
    assert_eq!(again.task(&asked.task_id()).await["id"], asked.task_id().as_str());
    let mut others = Browser::default();
    sign_in(&local, &mut others, demo(&local, "ada")).await;
    let ada = chat_of(&local, &others);
    assert_eq!(who(&ada).await["role"], "member");
    assert_eq!(
        ada.get(&format!("/api/tasks/{}", asked.task_id())).await.status,
        404
    );
    assert_eq!(ada.get("/api/chats").await.json()["chats"], json!([]));

    // She signs out in the first: here, then over there. The second is signed in still.
    let out = olga.call(Method::POST, "/signout", Some(json!({}))).await;
    assert_eq!(out.status, 200, "{out:?}");
    let next = out.json()["next"].as_str().expect("an address").to_owned();
    assert!(
        next.starts_with(&format!("{}/logout?", local.issuer("acme"))),
        "{next}"
    );
    assert_eq!(chat_of(&local, &browser).get("/api/chats").await.status, 401);
    let asks = browser.open(&next).await;
    let left = browser.submit(&asks, &[]).await;
    assert_eq!(left.url.as_str(), format!("{}/", base(&local)));
    let page = browser.open(&sign_in_at).await;
    assert!(
        page.html.contains("name=\"password\""),
        "nobody is signed in over there: {page:?}"
    );
    assert_eq!(who(&again).await["who"], "person");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_somebodys_sign_in_ends_their_chat_at_once() {
    let local = Local::start().await;
    let mut signed_in = Vec::new();
    for name in ["ada", "olga", "adam"] {
        let mut browser = Browser::default();
        sign_in(&local, &mut browser, demo(&local, name)).await;
        let user = chat_of(&local, &browser);
        let asked = user.ask("Will it rain in Oslo tomorrow?").await;
        user.until(&asked.task_id(), &["completed"]).await;
        signed_in.push((browser, user, asked.task_id()));
    }
    let guest = local.user("acme");
    guest.ask("Hello").await;
    local.clock.advance(Duration::from_secs(2));

    // Removed, another password, signed out everywhere.
    let (status, told) = admin(&local, Method::DELETE, "/tenants/acme/users/ada", None).await;
    assert!(status.is_success(), "{status} {told}");
    let (status, told) = admin(&local, Method::POST, "/tenants/acme/users/olga/reset", None).await;
    assert!(status.is_success(), "{status} {told}");
    let (browser, ..) = &mut signed_in[2];
    let asks = browser.open(&format!("{}/logout", local.issuer("acme"))).await;
    let everywhere = Page {
        html: asks.html.replacen("value=\"logout\"", "value=\"everywhere\"", 1),
        ..asks
    };
    browser.submit(&everywhere, &[]).await;

    for (browser, user, task) in &mut signed_in {
        for path in [format!("/api/tasks/{task}"), format!("/api/tasks/{task}/events")] {
            assert_eq!(user.get(&path).await.status, 404, "{path}");
        }
        assert_eq!(user.get("/api/chats").await.json()["chats"], json!([]));
        let cancel = format!("/api/tasks/{task}/cancel");
        let cancel = user.call(Method::POST, &cancel, Some(json!({})));
        assert_eq!(cancel.await.status, 404);
        assert_eq!(who(user).await["who"], "nobody");
        // Nor does the sign-in at the authorization server bring them back.
        let page = browser.open(&format!("{}/signin", base(&local))).await;
        assert!(page.html.contains("name=\"password\""), "{page:?}");
    }
    assert_eq!(who(&guest).await["who"], "guest");

    // The next ada is somebody else, and sees nothing of the first.
    let body = json!({ "username": "ada" });
    let (status, login) = admin(&local, Method::POST, "/tenants/acme/users", Some(body)).await;
    assert_eq!(status, 201, "{login}");
    let mut browser = Browser::default();
    sign_in(&local, &mut browser, &login).await;
    let next = chat_of(&local, &browser);
    assert_eq!(who(&next).await["username"], "ada");
    assert_eq!(next.get("/api/chats").await.json()["chats"], json!([]));
    let (_, _, task) = &signed_in[0];
    assert_eq!(next.get(&format!("/api/tasks/{task}")).await.status, 404);

    // Without a new proof it is over after twelve hours.
    local.clock.advance(Duration::from_secs(12 * 3600));
    assert_eq!(who(&next).await["who"], "nobody");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consent_of_a_guest_is_not_that_of_who_signs_in_later() {
    let local = Local::start().await;
    let guest = local.user("acme");
    let asked = guest.ask("Where is my order 1003?").await;
    let waiting = guest.until(&asked.task_id(), &["auth-required"]).await;
    let mut browser = crate::consent::profile(&guest, &base(&local));
    agree(&mut browser, &link(&waiting), demo(&local, "ada")).await;
    guest.until(&asked.task_id(), &["completed"]).await;
    let cookie = guest.cookie().expect("a session");
    let guest = User::new(&base(&local));
    guest.resume(&cookie);
    // Somebody else signs in, in the same browser: they have nothing of the guest's, and the guest nothing of theirs.
    sign_in(&local, &mut browser, demo(&local, "ada")).await;
    let ada = chat_of(&local, &browser);
    assert_eq!(who(&ada).await["username"], "ada");
    assert_eq!(ada.get("/api/connections").await.json()["connections"], json!([]));
    let own = ada.ask("Where is my order 1003?").await;
    ada.until(&own.task_id(), &["auth-required"]).await;
    assert_eq!(
        guest.get(&format!("/api/tasks/{}", own.task_id())).await.status,
        404
    );
    local.system.stop().await;
}

/// What an admin does with users in the chat goes past the operator's commands, which keep the list of endpoints.
#[tokio::test(flavor = "multi_thread")]
async fn whom_an_admin_removes_is_listed_no_more_and_stays_away_after_a_restart() {
    let place = tempfile::tempdir().expect("a folder");
    let data = || Data::Folder(place.path().to_owned());
    let local = Local::start_with(data()).await;
    let mut browser = Browser::default();
    sign_in(&local, &mut browser, demo(&local, "adam")).await;
    let adam = chat_of(&local, &browser);
    let changes = async |method: Method, path: &str, body: Value| {
        let path = format!("/api/admin/users/{path}");
        let answer = adam.call(method, &path, Some(body)).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
        answer.text
    };
    let listed = || {
        let file = std::fs::read_to_string(place.path().join("endpoints.json")).expect("the list");
        let file: Value = serde_json::from_str(&file).expect("JSON");
        let users = file["users"]["acme"].as_array().expect("users").iter();
        let told = users.map(|user| {
            let roles = user.get("roles").cloned();
            json!([user["username"], roles.unwrap_or_else(|| json!([]))])
        });
        Value::from(told.collect::<Vec<_>>())
    };
    // The list follows each change by itself. One at a time, as what is still to be looked at would see the next change as well.
    let lists = async |wanted: &Value| {
        for _ in 0..800 {
            if listed() == *wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        assert_eq!(listed(), *wanted);
    };
    let all = listed();
    let without = |list: &Value, name: &str| {
        let mut list = list.as_array().expect("users").clone();
        list.retain(|user| user[0] != name);
        Value::from(list)
    };
    changes(Method::DELETE, "alan", json!({})).await;
    let others = without(&all, "alan");
    lists(&others).await;
    let told: Value =
        serde_json::from_str(&changes(Method::POST, "ada/reset", json!({})).await).expect("JSON");
    // Ada signs in with a password that nobody told the list.
    lists(&without(&others, "ada")).await;
    changes(Method::PATCH, "olga", json!({ "roles": [] })).await;
    let wanted = json!([["olga", []], ["adam", ["admin"]]]);
    lists(&wanted).await;
    // Nor is one made anew whose removal the list did not hear of.
    let acme = Tenant::parse("acme").expect("a tenant");
    let identity = local.system.store().identity();
    identity.remove_user(&acme, "olga").await.expect("removed");
    local.system.stop().await;

    let local = Local::start_with(data()).await;
    let users = local
        .system
        .store()
        .identity()
        .list_users(&acme)
        .await
        .expect("users");
    let names: Vec<&str> = users.iter().map(|user| user.username.as_str()).collect();
    assert_eq!(names, ["ada", "adam"]);
    let password = told["password"].as_str().expect("a password");
    assert!(
        idp::is_password_of(&users[0].password_hash, &password.into()),
        "not reset anew"
    );
    assert_eq!(listed(), wanted, "of what it knows");
    local.system.stop().await;
}
