//! Lines of the checklist of RFC 9700 (`docs/rfc9700.md`) that no other test shows.

use domain::{SystemEntropy, Tenant};
use serde_json::Value;
use system_testing::Local;
use system_testing::browser::Browser;
use system_testing::oauth::{self, CONFIDENTIAL, PUBLIC, REDIRECT_URI, SECRET};
use url::Url;

/// An authorization request, with something changed or added.
fn request(local: &Local, changes: &[(&str, &str)]) -> Url {
    let mut url = Url::parse(&format!("{}/authorize", local.issuer("acme"))).expect("an address");
    let resource = local.resource("acme");
    let usual = [
        ("response_type", "code"),
        ("client_id", PUBLIC),
        ("redirect_uri", REDIRECT_URI),
        ("scope", "openid orders:read"),
        ("resource", &resource),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_challenge_method", "S256"),
    ];
    let kept = usual
        .iter()
        .filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    url.query_pairs_mut().extend_pairs(kept.chain(changes));
    url
}

/// §2.1, §4.11, §4.12: a form is answered with 303, which no browser answers with the form once more; and whoever is not
/// signed in sees a page before anything is redirected.
#[tokio::test(flavor = "multi_thread")]
async fn the_way_back_carries_no_form_along() {
    let local = Local::start().await;
    oauth::register_both(&local, "acme").await;
    let mut browser = Browser::default();
    let page = browser.open(request(&local, &[]).as_str()).await;
    assert_eq!(page.status, 200, "a page first: {page:?}");
    let http = system_testing::user::http();
    let form = page
        .html
        .split("name=\"form\" value=\"")
        .nth(1)
        .expect("a form")
        .split('"')
        .next()
        .expect("a value");
    let cookies: Vec<String> = browser
        .cookies()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let login = local.login("acme", 0);
    let (name, password) = (
        login["username"].as_str().unwrap(),
        login["password"].as_str().unwrap(),
    );
    for (fields, place) in [
        (
            vec![("step", "login"), ("username", name), ("password", password)],
            local.issuer("acme"),
        ),
        (vec![("step", "cancel")], REDIRECT_URI.to_owned()),
    ] {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .append_pair("form", form)
            .finish();
        let answer = http
            .post(page.url.clone())
            .header("content-type", "application/x-www-form-urlencoded")
            .header("cookie", cookies.join("; "))
            .body(body)
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 303);
        let to = answer.headers()["location"].to_str().unwrap();
        assert!(to.starts_with(&place) && !to.contains(password), "{to}");
    }
    local.system.stop().await;
}

/// §2.6: no answer allows another origin to read it, whatever it asks for.
#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_another_origin_reads_an_answer() {
    let local = Local::start().await;
    oauth::register_both(&local, "acme").await;
    let http = system_testing::user::http();
    let issuer = local.issuer("acme");
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    for url in [
        request(&local, &[]).to_string(),
        format!("{issuer}/token"),
        format!("{issuer}/userinfo"),
        format!("{issuer}/jwks.json"),
        format!("{issuer}/.well-known/openid-configuration"),
        format!("{base}/callback"),
        format!("{base}/api/chats"),
        local.resource("acme"),
        local.endpoint("/registry").to_owned(),
    ] {
        for method in ["OPTIONS", "GET", "POST"] {
            let answer = http
                .request(method.parse().unwrap(), &url)
                .header("origin", "https://elsewhere.example")
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "authorization")
                .send()
                .await
                .expect("an answer");
            let allows = answer
                .headers()
                .keys()
                .find(|name| name.as_str().starts_with("access-control"));
            assert_eq!(allows, None, "{method} {url}");
        }
    }
    local.system.stop().await;
}

/// §4.3: tokens are taken from the header alone (RFC 6750 §2.1).
#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_an_address_is_no_token() {
    let local = Local::start().await;
    let http = system_testing::user::http();
    let token = |audience: &str| local.system.token("acme", "user-ada", audience).expect("a token");
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let good = token(&host);
    let id = "00000000-0000-4000-8000-000000000000";
    let by_header = http
        .get(format!("{host}/tasks/{id}"))
        .bearer_auth(&good)
        .send()
        .await
        .unwrap();
    assert_eq!(by_header.status(), 404, "the token is good");
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let admin = local.endpoint("/registry_token");
    for url in [
        format!("{host}/tasks/{id}?access_token={good}"),
        format!("{registry}/agents?access_token={admin}"),
        format!("{}/userinfo?access_token={good}", local.issuer("acme")),
    ] {
        assert_eq!(http.get(&url).send().await.unwrap().status(), 401, "{url}");
    }
    local.system.stop().await;
}

/// §2.4: no grant takes a user's password.
#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_taken_but_by_the_page() {
    let local = Local::start().await;
    oauth::register_both(&local, "acme").await;
    let login = local.login("acme", 0);
    let resource = local.resource("acme");
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("grant_type", "password"),
            ("username", login["username"].as_str().unwrap()),
            ("password", login["password"].as_str().unwrap()),
            ("scope", "orders:read"),
            ("resource", &resource),
        ])
        .finish();
    let answer = system_testing::user::http()
        .post(format!("{}/token", local.issuer("acme")))
        .basic_auth(CONFIDENTIAL, Some(SECRET))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 400);
    let told: Value = answer.json().await.unwrap();
    assert_eq!(told["error"], "unsupported_grant_type");
    local.system.stop().await;
}

/// §4.15: the subject of a client's own token is never that of a person.
#[tokio::test(flavor = "multi_thread")]
async fn no_client_can_be_taken_for_a_person() {
    let local = Local::start().await;
    let tenant = Tenant::parse("acme").unwrap();
    let name = local.login("acme", 0)["username"].as_str().unwrap();
    let client = oauth::client(&format!("user-{name}"), Some(SECRET), &local.resource("acme"));
    let store = local.system.store();
    let refused = idp::provision(store, &tenant, &[client], &[], &SystemEntropy).await;
    assert!(refused.is_err(), "a client has the subject of a person");
    let found = store
        .identity()
        .find_client(&tenant, &format!("user-{name}"))
        .await
        .unwrap();
    assert!(found.is_none());
    local.system.stop().await;
}
