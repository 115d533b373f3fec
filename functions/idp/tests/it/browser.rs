//! What a browser is told beside the page: headers and cookies, and that the page needs no script.

use domain::{SettingChange, Tenant};
use http::StatusCode;

use crate::fixture::{Answer, Browser, Idp, request, request_with};

fn check_page(page: &Answer) {
    let policy = page.header("content-security-policy");
    for directive in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "style-src 'sha256-",
    ] {
        assert!(policy.contains(directive), "{directive}: {policy}");
    }
    assert!(
        !policy.contains("unsafe") && !policy.contains("script-src"),
        "{policy}"
    );
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert!(page.header("content-type").starts_with("text/html"));
    for absent in ["<script", "onclick", "style=\"", "javascript:", "http-equiv"] {
        assert!(!page.text.contains(absent), "{absent}: {}", page.text);
    }
    for present in [
        "<html lang=\"en\">",
        "<title>",
        "<main>",
        "<h1>",
        "name=\"viewport\"",
    ] {
        assert!(page.text.contains(present), "{present}: {}", page.text);
    }
    // Each field that one sees has a label.
    for field in page.text.split("<input ").skip(1) {
        let field = field.split_once('>').unwrap().0;
        if field.contains("type=\"hidden\"") {
            continue;
        }
        let id = field.split_once("id=\"").unwrap().1.split_once('"').unwrap().0;
        assert!(page.text.contains(&format!("<label for=\"{id}\">")), "{field}");
    }
    // The policy's hash is that of the style on the page.
    let style = page
        .text
        .split_once("<style>")
        .unwrap()
        .1
        .split_once("</style>")
        .unwrap()
        .0;
    assert!(policy.contains(&hash(style)), "{policy}");
}

fn hash(style: &str) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(style))
}

#[tokio::test]
async fn every_page_is_locked_down_and_readable() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let login = browser.authorize(&idp, &request()).await;
    let wrong = browser
        .send(&idp, &login, "login", &[("username", "ada"), ("password", "x")])
        .await;
    let consent = browser.sign_in(&idp, &login, "ada").await;
    let fault = browser
        .authorize(&idp, &request_with(&[("client_id", "nobody")]))
        .await;
    let nowhere = idp.get("/initech/authorize").await;
    assert_eq!(nowhere.status, StatusCode::NOT_FOUND);
    for page in [&login, &wrong, &consent, &fault, &nowhere] {
        check_page(page);
    }
    // Where the form's answer leads is allowed, as browsers hold it against the same directive.
    let policy = login.header("content-security-policy");
    assert!(
        policy.contains("form-action 'self' http://127.0.0.1:3000;"),
        "{policy}"
    );
    assert!(
        fault
            .header("content-security-policy")
            .contains("form-action 'self';")
    );
}

#[tokio::test]
async fn a_tenants_pages_have_its_name_and_accent_and_nothing_of_them_is_markup() {
    let idp = Idp::start().await;
    let (browser, acme) = (Browser::default(), Tenant::parse("acme").unwrap());
    let plain = browser.authorize(&idp, &request()).await;
    assert!(
        plain.text.contains("<title>Sign in · Switchyard</title>"),
        "{}",
        plain.text
    );
    let tenants = idp.store.tenants();
    tenants.add(&acme).await.unwrap();
    let changes = [("brand", "A & <i>"), ("accent", "#7a1f5c")];
    let changes = changes.map(|(key, value)| SettingChange::parse(key, Some(value)).unwrap());
    assert!(tenants.set(&acme, &changes).await.unwrap());
    idp.clock.advance(std::time::Duration::from_secs(11));
    let login = browser.authorize(&idp, &request()).await;
    let consent = browser.sign_in(&idp, &login, "ada").await;
    for page in [&login, &consent] {
        check_page(page);
        assert!(page.text.contains("· A &amp; &lt;i&gt;</title>"), "{}", page.text);
        let accent = page
            .text
            .split("<style>")
            .nth(2)
            .and_then(|rest| rest.split("</style>").next())
            .unwrap();
        assert!(accent.contains("--accent: light-dark(#7a1f5c, #"), "{accent}");
        assert!(page.header("content-security-policy").contains(&hash(accent)));
    }
    // A page of nobody is ours.
    let nowhere = idp.get("/initech/authorize").await;
    assert!(nowhere.text.contains("· Switchyard</title>"), "{}", nowhere.text);
}

#[tokio::test]
async fn cookies_are_for_this_tenants_pages_alone() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let login = browser.authorize(&idp, &request()).await;
    let sent = browser
        .send(
            &idp,
            &login,
            "login",
            &[("username", "ada"), ("password", crate::fixture::PASSWORD)],
        )
        .await;
    for (answer, name) in [
        (&login, "switchyard_idp_form_acme=swf_"),
        (&sent, "switchyard_idp_acme=swl_"),
    ] {
        let set = answer.header("set-cookie");
        assert!(set.starts_with(name), "{set}");
        let attributes: Vec<&str> = set.split("; ").collect();
        for attribute in ["Path=/idp/acme", "HttpOnly", "SameSite=Lax"] {
            assert!(attributes.contains(&attribute), "{attribute}: {set}");
        }
    }
    // The second page leaves the form cookie, so that a form in another tab stays good.
    let other_tab = browser
        .authorize(&idp, &request_with(&[("prompt", "login")]))
        .await;
    assert!(other_tab.headers.get("set-cookie").is_none());
}

#[tokio::test]
async fn what_clients_and_links_say_is_shown_as_text() {
    let idp = Idp::start().await;
    let asked = request_with(&[
        ("client_id", "other"),
        ("scope", "tasks"),
        ("state", "\"><script>alert(1)</script>"),
        ("login_hint", "\"><script>alert(2)</script>"),
    ]);
    let page = Browser::default().authorize(&idp, &asked).await;
    check_page(&page);
    assert!(
        page.text.contains("Other &lt;b&gt;client&lt;/b&gt;"),
        "{}",
        page.text
    );
    assert!(
        page.text.contains("value=\"&quot;&gt;&lt;script&gt;alert(2)"),
        "{}",
        page.text
    );
}
