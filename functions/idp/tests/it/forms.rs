//! Forms that were not sent from our own page.

use http::{Method, StatusCode};

use crate::fixture::{Answer, Browser, Idp, PASSWORD, encoded, request, request_with};

fn token(page: &Answer) -> &str {
    let (_, rest) = page.text.split_once("name=\"form\" value=\"").unwrap();
    rest.split_once('"').unwrap().0
}

async fn post(idp: &Idp, browser: &Browser, query: &str, pairs: &[(&str, &str)]) -> Answer {
    let path = format!("/acme/authorize?{query}");
    browser.call(idp, Method::POST, &path, Some(encoded(pairs))).await
}

fn refused(answer: &Answer, what: &str) {
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}");
    assert!(
        answer.text.contains("This page is out of date"),
        "{what}: {}",
        answer.text
    );
    assert!(answer.headers.get("location").is_none(), "{what}");
    assert!(answer.headers.get("set-cookie").is_none(), "{what}");
}

#[tokio::test]
async fn a_login_form_of_elsewhere_signs_nobody_in() {
    let idp = Idp::start().await;
    let (victim, attacker) = (Browser::default(), Browser::default());
    let query = encoded(&request());
    victim.authorize(&idp, &request()).await;
    let page = attacker.authorize(&idp, &request()).await;
    let good = [("username", "alan"), ("password", PASSWORD)];
    for (form, what) in [
        (token(&page), "the attacker's own token"),
        ("", "an empty one"),
        ("x", "rubbish"),
    ] {
        let mut pairs = vec![("step", "login"), ("form", form)];
        pairs.extend(good);
        refused(&post(&idp, &victim, &query, &pairs).await, what);
    }
    let mut pairs = vec![("step", "login")];
    pairs.extend(good);
    refused(&post(&idp, &victim, &query, &pairs).await, "none");
    // Without the cookie the right token is worth nothing either.
    let mut pairs = vec![("step", "login"), ("form", token(&page))];
    pairs.extend(good);
    refused(
        &post(&idp, &Browser::default(), &query, &pairs).await,
        "no cookie",
    );
}

#[tokio::test]
async fn a_consent_form_is_for_one_login_and_one_request() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let query = encoded(&request());
    let login_page = browser.authorize(&idp, &request()).await;
    let login_token = token(&login_page).to_owned();
    let page = browser.sign_in(&idp, &login_page, "ada").await;
    let consent_token = token(&page).to_owned();

    let other = Browser::default();
    let others = other.authorize(&idp, &request()).await;
    let others = other.sign_in(&idp, &others, "alan").await;
    let more = encoded(&request_with(&[("scope", "tasks orders:write")]));
    for (query, form, what) in [
        (&query, login_token.as_str(), "the login form's token"),
        (&query, token(&others), "another login's token"),
        (&more, consent_token.as_str(), "another request"),
        (&query, "", "none"),
    ] {
        for step in ["allow", "deny", "switch"] {
            let answer = post(&idp, &browser, query, &[("step", step), ("form", form)]).await;
            refused(&answer, &format!("{step} with {what}"));
        }
    }
    // Nothing was agreed to by any of that, and the right form still works.
    let asked = browser
        .authorize(&idp, &request_with(&[("prompt", "none")]))
        .await;
    assert_eq!(asked.sent_back()["error"], "consent_required");
    let back = browser.send(&idp, &page, "allow", &[]).await;
    assert!(back.sent_back().contains_key("code"));
}

#[tokio::test]
async fn a_consent_form_after_the_login_has_ended_leads_to_the_login() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let page = browser.authorize(&idp, &request()).await;
    let page = browser.sign_in(&idp, &page, "ada").await;
    idp.advance(13 * 3600);
    let answer = browser.send(&idp, &page, "allow", &[]).await;
    let page = browser.follow(&idp, &answer).await;
    assert!(page.text.contains("value=\"login\""), "{}", page.text);
}

#[tokio::test]
async fn every_login_has_a_secret_of_its_own() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let page = browser.authorize(&idp, &request()).await;
    browser.sign_in(&idp, &page, "ada").await;
    let first = browser.cookies.lock().unwrap()["switchyard_idp_acme"].clone();
    let page = browser
        .authorize(&idp, &request_with(&[("prompt", "login")]))
        .await;
    browser.sign_in(&idp, &page, "ada").await;
    assert_ne!(browser.cookies.lock().unwrap()["switchyard_idp_acme"], first);
}
