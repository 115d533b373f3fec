//! Whose is what: sessions, and that another one's things do not exist.

use std::time::Duration;

use axum::body::Body;
use domain::{Clock, Owner};
use http::header::{CONTENT_TYPE, SET_COOKIE};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use store::{Person, Session, User};

use super::world::{Browser, World, last_card, says};

#[tokio::test]
async fn a_guest_is_made_by_the_first_message_and_not_by_looking() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for path in ["/", "/api/chats", "/api/tasks", "/api/chats/c1/messages"] {
        let answered = browser.get(&app, path).await;
        assert!(!answered.headers.contains_key(SET_COOKIE), "{path}");
    }
    let answered = browser.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    let cookie = answered.headers[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("switchyard_acme=sws_"), "{cookie}");
    for attribute in ["; HttpOnly", "; SameSite=Lax", "; Path=/t/acme;"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let answered = browser
        .post(&app, "/api/chat", &says("c1", "m2", "hello again"))
        .await;
    assert!(!answered.headers.contains_key(SET_COOKIE), "the session goes on");
    let chats = browser.get(&app, "/api/chats").await.json();
    assert_eq!(chats["chats"].as_array().unwrap().len(), 1);
    assert_eq!(chats["chats"][0]["title"], "hello");
}

#[tokio::test]
async fn an_expired_session_is_none() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    browser.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    world.clock.advance(Duration::from_secs(31 * 24 * 3600));
    assert_eq!(browser.get(&app, "/api/chats").await.json()["chats"], json!([]));
    assert_eq!(
        browser.get(&app, "/api/chats/c1/messages").await.status,
        StatusCode::NOT_FOUND
    );
}

/// A browser in which ada has signed in.
pub(super) async fn signed_in(world: &World) -> Browser {
    let subject = Owner::parse("user-ada").unwrap();
    let ada = User {
        username: "ada".into(),
        subject: subject.clone(),
        display_name: "Ada".into(),
        password_hash: "none".into(),
        roles: vec!["operator".into()],
        since: None,
        not_before: None,
    };
    world
        .store
        .identity()
        .put_user(&world.tenant, &ada)
        .await
        .unwrap();
    let now = world.clock.now();
    let session = Session {
        owner: Owner::parse("person-ada").unwrap(),
        created_at: now,
        expires_at: now.after(Duration::from_secs(12 * 3600)),
        person: Some(Person {
            issuer: "http://127.0.0.1/acme".into(),
            subject,
            username: "ada".into(),
            auth_time: now,
            id: None,
            sid: None,
            proof: None,
        }),
        guest: None,
        pushes: store::Pushes::default(),
    };
    let sessions = world.store.sessions();
    sessions
        .begin_session(&world.tenant, &auth::token::hash("sws_ada"), &session)
        .await
        .unwrap();
    let browser = Browser::default();
    *browser.0.lock().unwrap() = Some("switchyard_acme=sws_ada".to_owned());
    browser
}

#[tokio::test]
async fn the_page_is_told_who_is_there() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let told = |browser: &Browser| {
        let (browser, app) = (browser.clone(), app.clone());
        async move { browser.get(&app, "/api/session").await.json() }
    };
    let sign_in = "http://127.0.0.1:3000/t/acme/signin";
    let nobody =
        json!({"who": "nobody", "owner": "", "signIn": sign_in, "signInRequired": false, "sharing": false});
    assert_eq!(told(&Browser::default()).await, nobody);
    let guest = Browser::default();
    guest.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    assert_eq!(told(&guest).await["who"], "guest");

    let ada = signed_in(&world).await;
    let person = told(&ada).await;
    assert_eq!(
        (
            &person["who"],
            &person["name"],
            &person["username"],
            &person["role"]
        ),
        (&json!("person"), &json!("Ada"), &json!("ada"), &json!("operator"))
    );
    let identity = world.store.identity();
    let promoted = identity.change_user(&world.tenant, "ada", |user| user.roles.push("admin".into()));
    promoted.await.unwrap();
    assert_eq!(told(&ada).await["role"], "admin");
    let member = identity.change_user(&world.tenant, "ada", |user| user.roles.clear());
    member.await.unwrap();
    assert_eq!(told(&ada).await["role"], "member");
    // Twelve hours at most, however busy.
    world.clock.advance(Duration::from_secs(12 * 3600));
    assert_eq!(told(&ada).await, nobody);
}

/// A message as a browser sends it that kept it under a mark.
fn kept(chat: &str, mark: &Value) -> Value {
    let mut said = says(chat, "m1", "hello");
    said["owner"] = mark.clone();
    said
}

#[tokio::test]
async fn what_somebody_wrote_leaves_in_nobody_elses_name() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let (guest, other, ada) = (Browser::default(), Browser::default(), signed_in(&world).await);
    let mark = async |browser: &Browser| browser.get(&app, "/api/session").await.json()["owner"].clone();
    let status = async |browser: &Browser, chat: &str, mark: &Value| {
        let answered = browser.post(&app, "/api/chat", &kept(chat, mark)).await;
        if answered.status != StatusCode::OK {
            assert_eq!(answered.json()["error"], "another_owner", "{}", answered.text);
            assert!(
                !answered.headers.contains_key(SET_COOKIE),
                "nobody is made for it"
            );
        }
        answered.status
    };
    // What nobody wrote, a guest says; who is a guest by then, says the rest.
    assert_eq!(mark(&guest).await, "");
    assert_eq!(status(&guest, "g1", &json!("")).await, StatusCode::OK);
    assert_eq!(status(&guest, "g2", &json!("")).await, StatusCode::OK);
    let (guests, adas) = (mark(&guest).await, mark(&ada).await);
    assert_eq!(status(&guest, "g3", &guests).await, StatusCode::OK);
    assert_eq!(status(&ada, "a1", &adas).await, StatusCode::OK);
    assert_ne!(guests, adas);
    for (browser, wrote) in [
        (&ada, &guests),
        (&ada, &json!("")),
        (&guest, &adas),
        (&other, &guests),
        (&other, &adas),
        (&guest, &json!("\u{0}")),
        (&ada, &json!("person-ada")),
    ] {
        assert_eq!(status(browser, "x", wrote).await, StatusCode::CONFLICT, "{wrote}");
    }
    for browser in [&guest, &other, &ada] {
        let chats = browser.get(&app, "/api/chats").await.json();
        let ids = chats["chats"].as_array().unwrap().iter();
        assert!(ids.clone().all(|chat| chat["id"] != "x"), "{chats}");
    }
    let odd = ada.post(&app, "/api/chat", &kept("x", &json!(["a"]))).await;
    assert_eq!(odd.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_turn_of_somebody_who_has_signed_in_costs_one_read_more_than_a_guests() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let (guest, ada) = (Browser::default(), signed_in(&world).await);
    let mut costs = Vec::new();
    for (browser, chat) in [(&guest, "g"), (&ada, "a")] {
        // The first turn makes guest and chat.
        browser.post(&app, "/api/chat", &says(chat, "m1", "hello")).await;
        let turn = says(chat, "m2", "hello again");
        let (answered, calls) = store::counted(browser.post(&app, "/api/chat", &turn)).await;
        assert_eq!(answered.status, StatusCode::OK);
        costs.push(calls);
    }
    let [guests, adas] = &costs[..] else {
        unreachable!("two turns")
    };
    assert_eq!(adas.total(), guests.total() + 1, "{guests:?}, {adas:?}");
    let mut with_one_more = guests.by_operation.clone();
    *with_one_more.entry("GetItem".to_owned()).or_default() += 1;
    assert_eq!(adas.by_operation, with_one_more);
}

#[tokio::test]
async fn a_session_ends_with_what_it_was_proved_by() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let ada = signed_in(&world).await;
    ada.post(&app, "/api/chat", &says("mine", "m1", "hello")).await;
    assert_eq!(
        ada.get(&app, "/api/chats/mine/messages").await.status,
        StatusCode::OK
    );
    let identity = world.store.identity();
    world.clock.advance(Duration::from_secs(1));
    let now = world.clock.now();
    let reset = identity.change_user(&world.tenant, "ada", |user| user.not_before = Some(now));
    reset.await.unwrap();
    let gone = ada.get(&app, "/api/chats/mine/messages").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    assert_eq!(ada.get(&app, "/api/session").await.json()["who"], "nobody");
    signed_in(&world).await;
    assert_eq!(ada.get(&app, "/api/session").await.json()["who"], "person");
    identity.remove_user(&world.tenant, "ada").await.unwrap();
    assert_eq!(ada.get(&app, "/api/chats").await.json()["chats"], json!([]));
}

#[tokio::test]
async fn where_one_must_sign_in_nobody_else_is_let_in_anywhere() {
    let world = World::new().await;
    let (open, strict) = (world.app(Duration::ZERO), world.strict_app());
    // A guest of before is nobody here.
    let guest = Browser::default();
    guest.post(&open, "/api/chat", &says("c1", "m1", "hello")).await;
    let mut tried = 0;
    for route in crate::routes() {
        // Whoever tells of tasks is no browser, and shows a pass.
        let is_open = ["/api/session", "/api/push/tasks"].contains(&route.path.as_str());
        if !route.path.starts_with("/api/") || is_open {
            continue;
        }
        let path = route
            .path
            .replace("/chat/{id}", "/chat/c1")
            .replace("/chats/{id}", "/chats/c1");
        let path = path.replace("{id}", "0b54a1f2-6a3e-4c39-8d0f-6f1c3d2b7a10");
        let path = path.replace("{action}", "cancel").replace("{provider}", "idp");
        let body = match (route.method, route.path.as_str()) {
            (_, "/api/chat") => says("c1", "m2", "hello"),
            ("PATCH", _) => json!({"title": "Another"}),
            _ => json!({}),
        };
        for browser in [&guest, &Browser::default()] {
            let request = browser
                .request(route.method.parse().unwrap(), &path)
                .header(CONTENT_TYPE, "application/json");
            let request = request.body(Body::from(body.to_string())).unwrap();
            let answered = browser.send(&strict, request).await;
            assert_eq!(
                answered.status,
                StatusCode::UNAUTHORIZED,
                "{} {path}: {}",
                route.method,
                answered.text
            );
            let told: Value = answered.json();
            assert_eq!(told["error"], "sign_in_required");
            assert_eq!(told["signIn"], "http://127.0.0.1:3000/t/acme/signin");
            assert!(answered.headers.contains_key("www-authenticate"));
            assert!(!answered.headers.contains_key(SET_COOKIE));
        }
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
    let told = guest.get(&strict, "/api/session").await.json();
    assert_eq!(
        (&told["who"], &told["signInRequired"]),
        (&json!("guest"), &json!(true))
    );
    // Whoever has signed in is let in.
    let ada = signed_in(&world).await;
    let answered = ada.post(&strict, "/api/chat", &says("ada", "m1", "hello")).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    assert_eq!(
        ada.get(&strict, "/api/chats").await.json()["chats"][0]["id"],
        "ada"
    );
}

#[tokio::test]
async fn nothing_of_another_session_exists() {
    let (world, mine, theirs) = (World::new().await, Browser::default(), Browser::default());
    let app = world.app(Duration::ZERO);
    let card = last_card(
        &mine
            .post(&app, "/api/chat", &says("mine", "m1", "park"))
            .await
            .chunks(),
    );
    theirs
        .post(&app, "/api/chat", &says("theirs", "m1", "hello"))
        .await;
    let (id, context) = (
        card["taskId"].as_str().unwrap(),
        card["contextId"].as_str().unwrap(),
    );
    for stranger in [&theirs, &Browser::default()] {
        for path in [
            format!("/api/tasks/{id}"),
            format!("/api/tasks/{id}?refresh=true"),
            format!("/api/tasks/{id}/events"),
            "/api/chats/mine/messages".to_owned(),
        ] {
            assert_eq!(
                stranger.get(&app, &path).await.status,
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        for path in [
            format!("/api/tasks/{id}/cancel"),
            format!("/api/tasks/{id}/start"),
            format!("/api/tasks/{id}/retry"),
            "/api/chat/mine/stop".to_owned(),
        ] {
            assert_eq!(
                stranger.post(&app, &path, &json!({})).await.status,
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        assert_eq!(
            stranger.get(&app, "/api/chat/mine/stream").await.status,
            StatusCode::NO_CONTENT
        );
        let listed = stranger
            .get(&app, &format!("/api/tasks?contextId={context}"))
            .await
            .json();
        assert_eq!(listed["tasks"], json!([]));
        // The id is no secret and nobody's alone: it means a chat of the stranger's own.
        let taken = stranger
            .post(&app, "/api/chat", &says("mine", "m9", "let me in"))
            .await;
        assert_eq!(taken.status, StatusCode::OK);
        let own = stranger.get(&app, "/api/chats/mine/messages").await.json();
        assert_eq!(own[0]["parts"][0]["text"], "let me in", "{own}");
    }
    let history = mine.get(&app, "/api/chats/mine/messages").await.json();
    assert_eq!(history.as_array().unwrap().len(), 2, "and nothing was added");
    assert_eq!(
        mine.get(&app, &format!("/api/tasks/{id}")).await.json()["status"],
        "submitted"
    );
}

#[tokio::test]
async fn another_sites_request_changes_nothing() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let body = says("c1", "m1", "hello").to_string();
    for (name, value, media, status) in [
        (
            "origin",
            "https://evil.example",
            "application/json",
            StatusCode::FORBIDDEN,
        ),
        (
            "sec-fetch-site",
            "cross-site",
            "application/json",
            StatusCode::FORBIDDEN,
        ),
        (
            "sec-fetch-site",
            "same-origin",
            "text/plain",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
    ] {
        let request = browser
            .request(Method::POST, "/api/chat")
            .header(name, value)
            .header(CONTENT_TYPE, media);
        let answered = browser
            .send(&app, request.body(Body::from(body.clone())).unwrap())
            .await;
        assert_eq!(answered.status, status);
        assert!(!answered.headers.contains_key(SET_COOKIE));
    }
}

#[tokio::test]
async fn the_page_is_whole_and_allows_nothing_from_elsewhere() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let page = browser.get(&app, "/").await;
    assert!(page.text.contains(r#"<base href="/t/acme/">"#) && !page.text.contains("{{"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    // Each view is the same page.
    for view in ["/chats/1", "/chats/1/tasks/2", "/tasks", "/tasks/2", "/accounts"] {
        assert_eq!(browser.get(&app, view).await.text, page.text, "{view}");
    }
    let named: Vec<&str> = page
        .text
        .split("\"./")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    for media in ["text/javascript", "text/css"] {
        let ending = if media == "text/css" { ".css" } else { ".js" };
        let path = named.iter().find(|path| path.ends_with(ending)).unwrap();
        let asset = browser.get(&app, &format!("/{path}")).await;
        assert!(asset.headers[CONTENT_TYPE].to_str().unwrap().starts_with(media));
        assert!(
            asset.headers["cache-control"]
                .to_str()
                .unwrap()
                .contains("immutable")
        );
        assert!(
            !asset.text.contains("import(\"http") && !asset.text.contains("url(http"),
            "{path}"
        );

        let mut known = browser.request(Method::GET, &format!("/{path}"));
        known = known.header("if-none-match", &asset.headers["etag"]);
        let known = browser.send(&app, known.body(Body::empty()).unwrap()).await;
        assert_eq!(
            (known.status, known.text.as_str()),
            (StatusCode::NOT_MODIFIED, "")
        );
    }
    let unknown = browser.get(&app, "/assets/none.js").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}
