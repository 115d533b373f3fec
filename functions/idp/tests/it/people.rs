//! Who may stay: what a removed user, a changed password and a sign-out end, by every way in; and that others cannot lock
//! somebody out of a browser of theirs.

use axum::body::Body;
use domain::{Clock as _, SecretString, SystemEntropy, Tenant};
use http::{Method, Request, StatusCode};
use idp::{NewUser, People, ProvisionError};
use serde_json::json;

use crate::fixture::{Answer, Browser, Idp, PASSWORD, claims, encoded, request, request_with};

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

/// What ada has got by her sign-in.
struct Got {
    browser: Browser,
    unused: String,
    access: String,
    refresh: String,
}

impl Got {
    async fn all(idp: &Idp) -> Self {
        let browser = Browser::default();
        let tokens = idp.redeem(&browser.code(idp).await).await.json();
        let unused = browser.code(idp).await;
        let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
        let (access, refresh) = (text("access_token"), text("refresh_token"));
        let got = Self {
            browser,
            unused,
            access,
            refresh,
        };
        assert_eq!(got.userinfo(idp).await, StatusCode::OK);
        got
    }

    async fn userinfo(&self, idp: &Idp) -> StatusCode {
        let request =
            Request::get("/acme/userinfo").header("authorization", format!("Bearer {}", self.access));
        idp.call(request.body(Body::empty()).unwrap()).await.status
    }

    /// Nothing of it is good any more.
    async fn is_over(&self, idp: &Idp) {
        let page = self.browser.authorize(idp, &request()).await;
        assert!(
            page.text.contains("name=\"password\""),
            "a password is asked for: {}",
            page.text
        );
        let silent = self
            .browser
            .authorize(idp, &request_with(&[("prompt", "none")]))
            .await;
        assert_eq!(silent.sent_back()["error"], "login_required");
        for answer in [idp.redeem(&self.unused).await, idp.refresh(&self.refresh).await] {
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
            assert_eq!(answer.json()["error"], "invalid_grant");
        }
        assert_eq!(self.userinfo(idp).await, StatusCode::UNAUTHORIZED);
        for token in [&self.access, &self.refresh] {
            assert_eq!(idp.introspect(token).await, json!({ "active": false }));
        }
    }
}

#[tokio::test]
async fn a_removed_user_has_nothing_any_more_nor_has_the_next_of_that_name() {
    let idp = Idp::start().await;
    let got = Got::all(&idp).await;
    idp.advance(5);
    let tenant = acme();
    let people = People::of_operator(&idp.store, &tenant, idp.clock.now());
    people.remove("ada").await.unwrap();
    got.is_over(&idp).await;

    // Somebody else, at every agent too: tasks, grants and all else hang on the subject.
    let next = Got::all_of_next(&idp).await;
    let subject = |got: &Got| claims(&json!(got.access))["sub"].clone();
    assert_eq!(subject(&got), "user-ada");
    assert_ne!(subject(&next), subject(&got));
    let refreshed = idp.refresh(&next.refresh).await;
    assert_eq!(refreshed.status, StatusCode::OK, "{}", refreshed.text);
    let page = got.browser.authorize(&idp, &request()).await;
    assert!(
        page.text.contains("name=\"password\""),
        "the first one's sign-in: {}",
        page.text
    );
    let refused = people.remove("nobody").await;
    assert!(matches!(refused, Err(ProvisionError::Nobody(_))));
}

impl Got {
    /// Another ada, with a password of her own.
    async fn all_of_next(idp: &Idp) -> Self {
        let ada = NewUser {
            username: "ada".into(),
            display_name: "Another Ada".into(),
            password: PASSWORD.into(),
            roles: Vec::new(),
        };
        let tenant = acme();
        let people = People::of_operator(&idp.store, &tenant, idp.clock.now());
        let add = || people.add(&ada, idp.clock.now(), &SystemEntropy);
        add().await.unwrap();
        assert!(matches!(add().await, Err(ProvisionError::Taken(_))));
        Self::all(idp).await
    }
}

#[tokio::test]
async fn a_new_password_ends_what_was_begun_with_the_old_one() {
    let idp = Idp::start().await;
    let got = Got::all(&idp).await;
    idp.advance(5);
    let new: SecretString = "another password".into();
    let at = (idp.clock.now(), &SystemEntropy as &dyn domain::Entropy);
    let tenant = acme();
    let people = People::of_operator(&idp.store, &tenant, idp.clock.now());
    people.reset("ada", &new, at).await.unwrap();
    got.is_over(&idp).await;
    let page = got.browser.authorize(&idp, &request()).await;
    let sent = |password: &'static str| [("username", "ada"), ("password", password)];
    let old = got.browser.send(&idp, &page, "login", &sent(PASSWORD)).await;
    assert_eq!(old.status, StatusCode::FORBIDDEN);
    let page = got.browser.authorize(&idp, &request()).await;
    let new = got
        .browser
        .send(&idp, &page, "login", &sent("another password"))
        .await;
    assert_eq!(new.status, StatusCode::SEE_OTHER, "{}", new.text);
}

async fn leave(idp: &Idp, browser: &Browser, query: &str, step: &str) -> Answer {
    let path = format!("/acme/logout?{query}");
    let page = browser.call(idp, Method::GET, &path, None).await;
    let token = page.text.split("name=\"form\" value=\"").nth(1).unwrap();
    let token = token.split('"').next().unwrap();
    let form = encoded(&[("step", step), ("form", token)]);
    browser.call(idp, Method::POST, &path, Some(form)).await
}

#[tokio::test]
async fn somebody_signs_out_here_or_everywhere_and_goes_back_only_where_that_is_registered() {
    let idp = Idp::start().await;
    let home = "http://127.0.0.1:3000/t/acme/";
    let here = encoded(&[
        ("client_id", "host"),
        ("post_logout_redirect_uri", home),
        ("state", "s"),
    ]);
    let (one, other) = (Got::all(&idp).await, Got::all(&idp).await);
    idp.advance(1);

    // A page of another site, or a form of another request, ends nothing.
    for form in ["step=logout", "step=everywhere&form=x"] {
        let path = format!("/acme/logout?{here}");
        let answer = one
            .browser
            .call(&idp, Method::POST, &path, Some(form.to_owned()))
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{form}");
    }
    let stays = leave(&idp, &one.browser, &here, "stay").await;
    assert_eq!(stays.status, StatusCode::SEE_OTHER);
    let silent = one
        .browser
        .authorize(&idp, &request_with(&[("prompt", "none")]))
        .await;
    assert!(silent.sent_back().contains_key("code"), "still signed in");

    let gone = leave(&idp, &one.browser, &here, "logout").await;
    assert_eq!(gone.location().as_str(), format!("{home}?state=s"));
    let page = one.browser.authorize(&idp, &request()).await;
    assert!(page.text.contains("name=\"password\""), "{}", page.text);
    assert_eq!(
        idp.refresh(&one.refresh).await.status,
        StatusCode::OK,
        "what was let in stays"
    );
    let silent = other
        .browser
        .authorize(&idp, &request_with(&[("prompt", "none")]))
        .await;
    assert!(silent.sent_back().contains_key("code"), "the other browser too");

    for (name, value) in [
        ("post_logout_redirect_uri", "http://127.0.0.1:3000/t/acme/evil"),
        ("client_id", "other"),
        ("client_id", "nobody"),
    ] {
        let mut pairs = vec![("client_id", "host"), ("post_logout_redirect_uri", home)];
        pairs.retain(|(known, _)| *known != name);
        pairs.push((name, value));
        let path = format!("/acme/logout?{}", encoded(&pairs));
        let answer = one.browser.call(&idp, Method::GET, &path, None).await;
        assert_eq!(answer.status, StatusCode::OK, "{name}={value}");
        assert!(answer.text.contains("signed out"), "{}", answer.text);
    }
    let ended = leave(&idp, &other.browser, "", "everywhere").await;
    assert!(ended.text.contains("You are signed out"), "{}", ended.text);
    other.is_over(&idp).await;
}

/// A try to sign in from that address.
async fn try_from(idp: &Idp, browser: &Browser, source: &str, credentials: (&str, &str)) -> StatusCode {
    tried_from(idp, browser, source, credentials, None).await.status
}

/// The same with work that was done for it, by the token and the number; the page.
async fn tried_from(
    idp: &Idp,
    browser: &Browser,
    source: &str,
    (name, password): (&str, &str),
    work: Option<(String, String)>,
) -> Answer {
    let page = browser.authorize(idp, &request()).await;
    let Some(token) = page.text.split("name=\"form\" value=\"").nth(1) else {
        panic!("no form: {}", page.text)
    };
    let token = token.split('"').next().unwrap();
    let (work, number) = work.unwrap_or_default();
    let form = encoded(&[
        ("step", "login"),
        ("form", token),
        ("username", name),
        ("password", password),
        ("work", work.as_str()),
        ("number", number.as_str()),
    ]);
    let cookies: Vec<String> = browser
        .cookies
        .lock()
        .unwrap()
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut request = Request::post(format!("/acme/authorize?{}", encoded(&request())))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("cookie", cookies.join("; "))
        .body(Body::from(form))
        .unwrap();
    request
        .extensions_mut()
        .insert(edge::Source(source.parse().unwrap()));
    idp.call(request).await
}

#[tokio::test]
async fn a_stranger_who_locks_a_name_does_not_lock_its_owner_out() {
    let idp = Idp::start().await;
    // Ada has signed in with this browser before, and out again.
    let known = Browser::default();
    known.code(&idp).await;
    leave(&idp, &known, "", "logout").await;
    for _ in 0..store::MOST_FAILURES {
        let stranger = Browser::default();
        let status = try_from(&idp, &stranger, "192.0.2.1", ("ada", "wrong")).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    let unknown = Browser::default();
    let status = try_from(&idp, &unknown, "192.0.2.2", ("ada", PASSWORD)).await;
    assert_eq!(
        status,
        StatusCode::TOO_MANY_REQUESTS,
        "by any other browser nobody is let in"
    );
    let status = try_from(&idp, &known, "192.0.2.2", ("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    // It is known to her alone, and no free way to guess.
    let status = try_from(&idp, &known, "192.0.2.2", ("alan", "wrong")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_known_browser_is_no_free_way_to_guess() {
    let idp = Idp::start().await;
    let known = Browser::default();
    known.code(&idp).await;
    leave(&idp, &known, "", "logout").await;
    for _ in 0..store::MOST_FAILURES {
        let status = try_from(&idp, &known, "192.0.2.1", ("ada", "wrong")).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    let status = try_from(&idp, &known, "192.0.2.1", ("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn one_source_that_tries_many_names_is_stopped() {
    let idp = Idp::start().await;
    let mut refused = 0;
    for number in 0..40 {
        let name = format!("user{number}");
        let status = try_from(
            &idp,
            &Browser::default(),
            "2001:db8:1:2::1",
            (&name, "Winter2026"),
        )
        .await;
        refused += usize::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(refused, 10, "thirty are free");
    let elsewhere = try_from(&idp, &Browser::default(), "2001:db8:1:3::1", ("ada", PASSWORD)).await;
    assert_eq!(elsewhere, StatusCode::SEE_OTHER);
}

/// A page's challenge: its token, its id and its bits.
fn challenge(page: &Answer) -> (String, String, u32) {
    let after = |text: &str| {
        let rest = page
            .text
            .split(text)
            .nth(1)
            .unwrap_or_else(|| panic!("no {text}: {}", page.text));
        rest.split('"').next().unwrap().to_owned()
    };
    let bits = after("data-bits=\"").parse().unwrap();
    (after("name=\"work\" value=\""), after("data-work=\""), bits)
}

/// What a page's script finds.
fn solved(id: &str, bits: u32) -> String {
    use sha2::Digest as _;
    let zeros = |number: &u64| {
        let digest = sha2::Sha256::digest(format!("{id}.{number}"));
        u32::from_be_bytes(digest[..4].try_into().unwrap()).leading_zeros()
    };
    (0..).find(|number| zeros(number) >= bits).unwrap().to_string()
}

fn paid(token: &str, number: &str) -> Option<(String, String)> {
    Some((token.to_owned(), number.to_owned()))
}

/// Somebody has failed in so many other places.
async fn failed_elsewhere(idp: &Idp, tenant: &Tenant, places: u32) {
    for _ in 0..places {
        let identity = idp.store.identity();
        let counted = identity.count_failure(tenant, &store::Brake::Tenant, idp.clock.now());
        counted.await.unwrap();
    }
}

/// However many addresses the tries come from: a stranger cannot use that to keep anybody out.
#[tokio::test]
async fn a_tenant_whose_names_are_tried_from_many_places_asks_for_work_and_locks_nobody() {
    let idp = Idp::start().await;
    let known = Browser::default();
    known.code(&idp).await;
    leave(&idp, &known, "", "logout").await;
    let here = "192.0.2.2";
    let tried =
        async |credentials, work| tried_from(&idp, &Browser::default(), here, credentials, work).await;
    // One place counts once, however often it fails.
    for name in ["alan", "grace", "eve"] {
        assert_eq!(tried((name, "wrong"), None).await.status, StatusCode::FORBIDDEN);
    }
    failed_elsewhere(&idp, &acme(), store::MOST_SOURCES - 2).await;
    let few = tried(("alan", "wrong"), None).await;
    assert!(!few.text.contains("data-work") && !few.header("content-security-policy").contains("script-src"));
    failed_elsewhere(&idp, &acme(), 1).await;

    // Who comes from where nobody has failed, or by a browser that they have signed in with, pays nothing.
    let elsewhere = try_from(&idp, &Browser::default(), "192.0.2.3", ("ada", PASSWORD)).await;
    assert_eq!(elsewhere, StatusCode::SEE_OTHER);
    let status = try_from(&idp, &known, here, ("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    // Who does not pay is told what for, and pays with the next try. No password is looked at before.
    let asked = tried(("ada", PASSWORD), None).await;
    assert_eq!(asked.status, StatusCode::TOO_MANY_REQUESTS, "{}", asked.text);
    assert!(
        asked
            .header("content-security-policy")
            .contains("; script-src 'sha256-")
    );
    let (token, id, bits) = challenge(&asked);
    assert_eq!(bits, 16);
    let number = solved(&id, bits);
    let done = tried(("ada", PASSWORD), paid(&token, &number)).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);

    // It is good once; and a wrong password comes with the next challenge.
    let twice = tried(("ada", PASSWORD), paid(&token, &number)).await;
    assert_eq!(twice.status, StatusCode::TOO_MANY_REQUESTS);
    let (token, id, bits) = challenge(&twice);
    let number = solved(&id, bits);
    let wrong = tried(("ada", "wrong"), paid(&token, &number)).await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    challenge(&wrong);
    assert_eq!(
        tried(("ada", "wrong"), paid(&token, &number)).await.status,
        StatusCode::TOO_MANY_REQUESTS
    );

    // Not one of another tenant, unsolved, or in other words; and none whose time is over.
    let failed = try_from(&idp, &Browser::default(), here, ("ada", PASSWORD)).await;
    assert_eq!(failed, StatusCode::TOO_MANY_REQUESTS);
    let (token, id, bits) = challenge(&tried(("ada", PASSWORD), None).await);
    let number = solved(&id, bits);
    let globex = signed_work(&idp, "globex", 20);
    let (other, least) = (signed_work(&idp, "acme", 20), signed_work(&idp, "acme", 15));
    for (what, token, number) in [
        ("no number", token.clone(), String::new()),
        ("another number", token.clone(), "x".into()),
        ("a signed number", token.clone(), "-1".into()),
        ("no token", String::new(), number.clone()),
        ("rubbish", "a.b.c".into(), number.clone()),
        ("a changed token", token.replace('.', ".e"), number.clone()),
        ("another tenant's", globex.0, solved(&globex.1, 16)),
        ("less than is asked", least.0, solved(&least.1, 16)),
    ] {
        let refused = tried(("ada", PASSWORD), paid(&token, &number)).await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{what}");
    }
    let more = tried(("ada", PASSWORD), paid(&other.0, &solved(&other.1, 16))).await;
    assert_eq!(more.status, StatusCode::SEE_OTHER, "more than is asked");
    idp.advance(601);
    let late = tried(("ada", PASSWORD), paid(&token, &number)).await;
    assert_eq!(late.status, StatusCode::TOO_MANY_REQUESTS);
    // The more places, the more work: what was asked before is not enough then.
    let (token, id, bits) = challenge(&late);
    failed_elsewhere(&idp, &acme(), store::MOST_SOURCES).await;
    let lower = tried(("ada", PASSWORD), paid(&token, &solved(&id, bits))).await;
    assert_eq!(
        (lower.status, challenge(&lower).2),
        (StatusCode::TOO_MANY_REQUESTS, 17)
    );
}

/// A challenge in the words of ours, signed by the platform's own key.
fn signed_work(idp: &Idp, tenant: &str, bits: u32) -> (String, String) {
    use domain::ExposeSecret as _;
    let (issuer, tenant) = (
        format!("{}/{tenant}", crate::fixture::URL),
        Tenant::parse(tenant).unwrap(),
    );
    let grant = auth::Grant {
        issuer: &issuer,
        subject: "work",
        tenant: Some(&tenant),
        audience: &format!("{issuer}/work"),
        scopes: &[&format!("work:{bits}")],
        lifetime: std::time::Duration::from_secs(600),
    };
    let token = auth::KeySet::from_secret(&idp.kept)
        .unwrap()
        .current()
        .sign(&grant, idp.clock.now(), &domain::SystemEntropy)
        .unwrap();
    let token = token.expose_secret().to_owned();
    let id = claims(&token.as_str().into())["jti"].as_str().unwrap().to_owned();
    (token, id)
}

#[tokio::test]
async fn a_try_is_counted_before_its_password_is_looked_at() {
    let idp = Idp::start().await;
    for (password, status, writes) in [
        // By name, source and tenant.
        ("wrong", StatusCode::FORBIDDEN, [3, 0]),
        // Counted, and forgotten.
        (PASSWORD, StatusCode::SEE_OTHER, [1, 1]),
    ] {
        let browser = Browser::default();
        let tried = try_from(&idp, &browser, "192.0.2.1", ("ada", password));
        let (answered, calls) = store::counted(tried).await;
        let of = |operation: &str| calls.by_operation.get(operation).copied().unwrap_or_default();
        assert_eq!(answered, status);
        assert_eq!(["UpdateItem", "DeleteItem"].map(of), writes, "{calls:?}");
    }
}

#[tokio::test]
async fn two_processes_count_the_same_failures() {
    let idp = Idp::start().await;
    let processes = [idp.router.clone(), idp.beside()];
    let mut idp = idp;
    // A name, from ever other sources: five tries are free, whoever looks at them.
    for number in 0..store::MOST_FAILURES {
        idp.router = processes[usize::try_from(number).unwrap() % 2].clone();
        let source = format!("192.0.2.{number}");
        let status = try_from(&idp, &Browser::default(), &source, ("ada", "wrong")).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    for process in &processes {
        idp.router = process.clone();
        let status = try_from(&idp, &Browser::default(), "192.0.2.99", ("ada", PASSWORD)).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    }
    // A source, with ever other names.
    let mut refused = 0;
    for number in 0..36 {
        idp.router = processes[number % 2].clone();
        let name = format!("user{number}");
        let status = try_from(&idp, &Browser::default(), "198.51.100.7", (&name, "Winter2026")).await;
        refused += usize::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(refused, 6, "thirty are free, at both together");
    // The lock of the name is over after a minute, and twice as long after another failure.
    for (seconds, password, wanted) in [
        (61, "wrong", StatusCode::FORBIDDEN),
        (61, PASSWORD, StatusCode::TOO_MANY_REQUESTS),
        (61, PASSWORD, StatusCode::SEE_OTHER),
    ] {
        idp.advance(seconds);
        idp.router = processes[0].clone();
        let status = try_from(&idp, &Browser::default(), "203.0.113.1", ("ada", password)).await;
        assert_eq!(status, wanted);
    }
}
