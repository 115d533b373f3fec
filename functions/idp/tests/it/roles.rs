//! Scopes that are a role's: who has it can allow them, and who has lost it has lost them.

use domain::{SystemEntropy, Tenant};
use http::StatusCode;
use idp::NewClient;

use crate::fixture::{Answer, Browser, CALLBACK, HORIZON, Idp, VERIFIER, basic, request_with};

const TOOL_SECRET: &str = "tool-secret-of-at-least-32-characters-0123";

/// An operator's application.
async fn with_tool() -> Idp {
    let idp = Idp::start().await;
    let tool = NewClient {
        client_id: "tool".into(),
        name: "A tool".into(),
        secret: Some(TOOL_SECRET.into()),
        redirect_uris: vec![CALLBACK.into()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".into(), "refresh_token".into()],
        scopes: ["offline_access", "tasks", "deliveries"]
            .map(str::to_owned)
            .to_vec(),
        resources: vec![HORIZON.into()],
        this_machine: None,
    };
    let acme = Tenant::parse("acme").unwrap();
    idp::provision(&idp.store, &acme, &[tool], &[], &SystemEntropy)
        .await
        .unwrap();
    idp
}

async fn roles(idp: &Idp, roles: &[&str]) {
    let acme = Tenant::parse("acme").unwrap();
    let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
    let identity = idp.store.identity();
    let changed = identity.change_user(&acme, "ada", |user| user.roles.clone_from(&roles));
    assert!(changed.await.unwrap().is_some());
}

async fn token(idp: &Idp, pairs: &[(&str, &str)]) -> Answer {
    idp.post("/acme/token", Some(&basic("tool", TOOL_SECRET)), pairs)
        .await
}

fn scopes(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let text = answer.json()["scope"].as_str().unwrap().to_owned();
    let mut scopes: Vec<String> = text.split(' ').map(str::to_owned).collect();
    scopes.sort();
    scopes
}

#[tokio::test]
async fn who_has_the_role_allows_what_is_the_roles_and_loses_it_with_the_role() {
    let idp = with_tool().await;
    let asked = request_with(&[
        ("client_id", "tool"),
        ("scope", "offline_access tasks deliveries"),
        ("nonce", ""),
    ]);
    let members = request_with(&[
        ("client_id", "tool"),
        ("scope", "offline_access tasks"),
        ("nonce", ""),
    ]);
    let browser = Browser::default();
    browser.agree(&idp, &members).await;
    // A member is not even asked.
    let refused = browser.authorize(&idp, &asked).await.sent_back();
    assert_eq!(refused["error"], "access_denied");
    roles(&idp, &["operator"]).await;
    let page = browser.authorize(&idp, &asked).await;
    assert!(
        page.text.contains("which notifications of the agent"),
        "{}",
        page.text
    );
    // Whoever loses it before they agree cannot either.
    roles(&idp, &[]).await;
    let refused = browser.send(&idp, &page, "allow", &[]).await.sent_back();
    assert_eq!(refused["error"], "access_denied");

    roles(&idp, &["admin"]).await;
    let redeem = |code: String| {
        let idp = &idp;
        async move {
            let pairs = [
                ("grant_type", "authorization_code"),
                ("code", code.as_str()),
                ("redirect_uri", CALLBACK),
                ("code_verifier", VERIFIER),
            ];
            token(idp, &pairs).await
        }
    };
    let answer = redeem(browser.agree(&idp, &asked).await.sent_back()["code"].clone()).await;
    assert_eq!(scopes(&answer), ["deliveries", "offline_access", "tasks"]);
    let late = browser.agree(&idp, &asked).await.sent_back()["code"].clone();
    // The role goes, and with it the scope: of a code that was given before, and of what is refreshed.
    roles(&idp, &[]).await;
    assert_eq!(scopes(&redeem(late).await), ["offline_access", "tasks"]);
    let refresh = answer.json()["refresh_token"].as_str().unwrap().to_owned();
    let pairs = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
    ];
    let answer = token(&idp, &pairs).await;
    assert_eq!(scopes(&answer), ["offline_access", "tasks"]);
    let refresh = answer.json()["refresh_token"].as_str().unwrap().to_owned();
    let wider = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
        ("scope", "deliveries"),
    ];
    let refused = token(&idp, &wider).await;
    assert_eq!(
        (refused.status, refused.json()["error"].as_str()),
        (StatusCode::BAD_REQUEST, Some("invalid_scope"))
    );
}
