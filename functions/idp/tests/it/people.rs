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
    let people = People::of_operator(&idp.store, &tenant);
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
        let people = People::of_operator(&idp.store, &tenant);
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
    let people = People::of_operator(&idp.store, &tenant);
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
async fn try_from(idp: &Idp, browser: &Browser, source: &str, (name, password): (&str, &str)) -> StatusCode {
    let page = browser.authorize(idp, &request()).await;
    let Some(token) = page.text.split("name=\"form\" value=\"").nth(1) else {
        panic!("no form: {}", page.text)
    };
    let token = token.split('"').next().unwrap();
    let form = encoded(&[
        ("step", "login"),
        ("form", token),
        ("username", name),
        ("password", password),
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
    idp.call(request).await.status
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

/// However many addresses the tries come from: a stranger cannot use it to keep everybody out.
#[tokio::test]
async fn a_tenant_whose_names_are_tried_is_shut_for_a_minute_and_to_unknown_browsers_alone() {
    let idp = Idp::start().await;
    let known = Browser::default();
    known.code(&idp).await;
    leave(&idp, &known, "", "logout").await;
    let (identity, acme) = (idp.store.identity(), acme());
    let mut failures = 0;
    loop {
        let counted = identity
            .count_failure(&acme, &store::Brake::Tenant, idp.clock.now())
            .await;
        failures += 1;
        if counted.unwrap().is_locked(idp.clock.now()) {
            break;
        }
    }
    assert!(failures > 100, "{failures}");
    let unknown = async || try_from(&idp, &Browser::default(), "192.0.2.2", ("ada", PASSWORD)).await;
    assert_eq!(unknown().await, StatusCode::TOO_MANY_REQUESTS);
    let status = try_from(&idp, &known, "192.0.2.2", ("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    // It is a minute each time, however long it goes on.
    for _ in 0..3 {
        idp.advance(61);
        let status = try_from(&idp, &Browser::default(), "192.0.2.3", ("ada", "wrong")).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert_eq!(unknown().await, StatusCode::TOO_MANY_REQUESTS);
    }
    idp.advance(61);
    assert_eq!(unknown().await, StatusCode::SEE_OTHER);
}

/// `docs/decisions/limits.md` says why a good one is counted too.
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
