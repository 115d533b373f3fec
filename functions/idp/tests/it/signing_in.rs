//! Passwords, and the brake on guessing them.

use std::sync::Arc;

use http::StatusCode;
use tokio::task::JoinSet;

use crate::fixture::{Answer, Browser, Idp, PASSWORD, encoded, request, request_with};

async fn try_with(idp: &Idp, username: &str, password: &str) -> Answer {
    let browser = Browser::default();
    let page = browser.authorize(idp, &request()).await;
    let fields = [("username", username), ("password", password)];
    browser.send(idp, &page, "login", &fields).await
}

/// What stands in this field of the page, and the page without that.
fn without(page: &str, field: &str) -> (String, String) {
    let (before, rest) = page.split_once(&format!("name=\"{field}\" value=\"")).unwrap();
    let (value, after) = rest.split_once('"').unwrap();
    (value.to_owned(), format!("{before}{after}"))
}

/// The page without what differs with every page anyway, and with what was typed.
fn plain(page: &Answer) -> String {
    let (_, page) = without(&page.text, "form");
    let (_, page) = without(&page, "username");
    // Whoever has a name to correct is led there.
    page.replace(" autofocus", "")
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_look_alike() {
    let idp = Idp::start().await;
    let wrong = try_with(&idp, "ada", "wrong").await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    assert!(wrong.text.contains("role=\"alert\""), "{}", wrong.text);
    assert!(
        wrong
            .headers
            .get_all("set-cookie")
            .iter()
            .all(|set| !set.to_str().unwrap().contains("idp_acme="))
    );
    let long = "x".repeat(300);
    for (username, password) in [
        ("nobody", "wrong"),
        // A user of another tenant is nobody here.
        ("grace", PASSWORD),
        ("", PASSWORD),
        ("ada", ""),
        ("ada", &long),
        (&long, PASSWORD),
        ("a#b", PASSWORD),
        ("\0", "\0"),
    ] {
        let answer = try_with(&idp, username, password).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{username:?}");
        assert_eq!(plain(&answer), plain(&wrong), "{username:?}");
        // Nobody has to type their name again; what cannot be one is not shown.
        let shown = without(&answer.text, "username").0;
        let is_name = ["nobody", "grace", "ada"].contains(&username);
        assert_eq!(shown, if is_name { username } else { "" });
        assert!(!answer.text.contains(PASSWORD), "{}", answer.text);
    }
}

#[tokio::test]
async fn guessing_is_slowed_down_for_known_and_unknown_names_alike() {
    let idp = Idp::start().await;
    for username in ["ada", "nobody"] {
        for attempt in 0..store::MOST_FAILURES {
            let answer = try_with(&idp, username, "wrong").await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{username} {attempt}");
        }
        // Not even the right password is looked at now, however the name is written.
        let answer = try_with(&idp, &format!(" {}", username.to_uppercase()), PASSWORD).await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{username}");
        let wait: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=store::LOCKED_FOR.as_secs()).contains(&wait), "{wait}");
        assert!(answer.text.contains("Try again in a minute."), "{}", answer.text);
    }
    // Neither others of the tenant nor the other tenant are held up.
    assert_eq!(
        try_with(&idp, "alan", PASSWORD).await.status,
        StatusCode::SEE_OTHER
    );
    idp.advance(store::LOCKED_FOR.as_secs() + 1);
    assert_eq!(
        try_with(&idp, "ada", PASSWORD).await.status,
        StatusCode::SEE_OTHER
    );
    // A success clears the count.
    for _ in 1..store::MOST_FAILURES {
        assert_eq!(try_with(&idp, "ada", "wrong").await.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(
        try_with(&idp, "ada", PASSWORD).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn a_burst_of_guesses_does_not_slip_through() {
    let idp = Arc::new(Idp::start().await);
    let mut guesses = JoinSet::new();
    for _ in 0..20 {
        let idp = Arc::clone(&idp);
        guesses.spawn(async move { try_with(&idp, "ada", "wrong").await });
    }
    let answers = guesses.join_all().await;
    let looked_at = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::FORBIDDEN)
        .count();
    assert!(
        (1..=store::MOST_FAILURES as usize).contains(&looked_at),
        "{looked_at}"
    );
    let held_up = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::TOO_MANY_REQUESTS)
        .count();
    assert_eq!(looked_at + held_up, answers.len());
}

#[tokio::test]
async fn a_login_lasts_and_what_was_agreed_to_is_remembered_for_that_and_no_more() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    browser.code(&idp).await;
    // The same once more goes through without a page.
    let answer = browser.authorize(&idp, &request()).await;
    assert_eq!(answer.status, StatusCode::FOUND);
    assert!(answer.sent_back().contains_key("code"));
    let quiet = browser
        .authorize(&idp, &request_with(&[("prompt", "none")]))
        .await;
    assert!(quiet.sent_back().contains_key("code"));
    // Less, too; more or elsewhere does not.
    let less = browser
        .authorize(&idp, &request_with(&[("scope", "tasks")]))
        .await;
    assert!(less.sent_back().contains_key("code"));
    let more = request_with(&[("scope", "tasks orders:write")]);
    assert!(
        browser
            .authorize(&idp, &more)
            .await
            .text
            .contains("Change your orders")
    );
    let more = request_with(&[("scope", "tasks orders:write"), ("prompt", "none")]);
    assert_eq!(
        browser.authorize(&idp, &more).await.sent_back()["error"],
        "consent_required"
    );
    let elsewhere = request_with(&[("resource", "http://127.0.0.1:3000/a/other")]);
    assert!(
        browser
            .authorize(&idp, &elsewhere)
            .await
            .text
            .contains("value=\"allow\"")
    );
    // Asked for, everything is shown again.
    let again = browser
        .authorize(&idp, &request_with(&[("prompt", "consent")]))
        .await;
    assert!(again.text.contains("value=\"allow\""));
    let again = browser
        .authorize(&idp, &request_with(&[("prompt", "login")]))
        .await;
    assert!(again.text.contains("value=\"login\""));
    // And it leads on once that has been done.
    let next = browser.sign_in(&idp, &again, "ada").await;
    assert!(next.sent_back().contains_key("code"));
    let again = browser
        .authorize(&idp, &request_with(&[("prompt", "login consent")]))
        .await;
    let next = browser.sign_in(&idp, &again, "ada").await;
    assert!(next.text.contains("value=\"allow\""), "{}", next.text);

    idp.advance(600);
    let aged = browser
        .authorize(&idp, &request_with(&[("max_age", "599")]))
        .await;
    assert!(aged.text.contains("value=\"login\""));
    let young = browser
        .authorize(&idp, &request_with(&[("max_age", "601")]))
        .await;
    assert!(young.sent_back().contains_key("code"));
    idp.advance(12 * 3600);
    assert!(
        browser
            .authorize(&idp, &request())
            .await
            .text
            .contains("value=\"login\"")
    );
}

#[tokio::test]
async fn a_login_of_one_tenant_is_none_at_another() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    browser.code(&idp).await;
    // Even with the cookie put under the other's name.
    let value = browser.cookies.lock().unwrap()["switchyard_idp_acme"].clone();
    browser
        .cookies
        .lock()
        .unwrap()
        .insert("switchyard_idp_globex".to_owned(), value);
    let asked = request_with(&[("redirect_uri", "http://127.0.0.1:3000/t/globex/callback")]);
    let path = format!("/globex/authorize?{}", encoded(&asked));
    let answer = browser.call(&idp, http::Method::GET, &path, None).await;
    assert!(answer.text.contains("value=\"login\""), "{}", answer.text);
}

#[tokio::test]
async fn another_account_can_be_used_and_consent_can_be_denied() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let page = browser.authorize(&idp, &request()).await;
    let page = browser.sign_in(&idp, &page, "ada").await;
    let switched = browser.send(&idp, &page, "switch", &[]).await;
    let page = browser.follow(&idp, &switched).await;
    assert!(page.text.contains("value=\"login\""), "{}", page.text);
    let page = browser.sign_in(&idp, &page, "alan").await;
    assert!(page.text.contains("alan"));
    let denied = browser.send(&idp, &page, "deny", &[]).await.sent_back();
    assert_eq!(
        (denied["error"].as_str(), denied["state"].as_str()),
        ("access_denied", "st-1")
    );
    // A denial is not remembered as anything.
    assert!(
        browser
            .authorize(&idp, &request())
            .await
            .text
            .contains("value=\"allow\"")
    );

    let fresh = Browser::default();
    let page = fresh.authorize(&idp, &request()).await;
    let cancelled = fresh.send(&idp, &page, "cancel", &[]).await.sent_back();
    assert_eq!(cancelled["error"], "access_denied");
}
