//! What admins look after: users, at the authorization server, and settings; and that to others there is no such thing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::sessions::signed_in;
use super::world::{Answered, Browser, World, says};
use domain::{Clock as _, Owner};

type Asked = Arc<Mutex<Vec<String>>>;

/// An authorization server that writes down what it is asked; it answers only to the tenant's own tokens.
async fn idp(world: &World) -> Asked {
    let asked = Asked::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/idp", listener.local_addr().unwrap());
    let gate = world.gate(&format!("{url}/acme/users"), "users");
    let answer = move |State(asked): State<Asked>, request: Request| {
        let gate = gate.clone();
        async move {
            let caller = gate.admit(request.headers()).await;
            assert_eq!((caller.owner.as_str(), caller.scopes.len()), ("person-ada", 1));
            let what = format!("{} {}", request.method(), request.uri());
            let body = axum::body::to_bytes(request.into_body(), 10_000).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            asked.lock().unwrap().push(format!("{what} {text}"));
            answer_to(&what, &text)
        }
    };
    let app = Router::new().fallback(answer).with_state(Arc::clone(&asked));
    *world.idp.lock().unwrap() = url.parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    asked
}

fn answer_to(what: &str, body: &str) -> Response {
    let refused = |status: StatusCode, error: &str| {
        (status, Json(json!({"error": error, "message": "in its words"}))).into_response()
    };
    match what {
        _ if body.contains("taken") => refused(StatusCode::CONFLICT, "user_exists"),
        _ if body.contains("wrong") => refused(StatusCode::BAD_REQUEST, "invalid_request"),
        _ if what.contains("nobody") => refused(StatusCode::NOT_FOUND, "not_found"),
        _ if what.contains("broken") => StatusCode::FORBIDDEN.into_response(),
        _ if what.contains("away") => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        _ if what.starts_with("DELETE") || what.ends_with("/end") => StatusCode::NO_CONTENT.into_response(),
        "POST /idp/acme/users" => (
            StatusCode::CREATED,
            Json(json!({"username": "eve", "password": "once"})),
        )
            .into_response(),
        _ => Json(json!({"users": [], "nextCursor": null})).into_response(),
    }
}

async fn promote(world: &World, roles: &[&str]) {
    let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
    let identity = world.store.identity();
    let changed = identity.change_user(&world.tenant, "ada", |user| user.roles.clone_from(&roles));
    assert!(changed.await.unwrap().is_some());
}

async fn ask(app: &Router, browser: &Browser, (method, path): (Method, &str), body: &Value) -> Answered {
    let request = browser
        .request(method, path)
        .header(CONTENT_TYPE, "application/json");
    browser
        .send(app, request.body(Body::from(body.to_string())).unwrap())
        .await
}

#[tokio::test]
async fn an_admins_requests_are_passed_on_in_their_name_and_nothing_else_is() {
    let world = World::new().await;
    let asked = idp(&world).await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    promote(&world, &["admin"]).await;
    let eve = json!({"username": "eve", "roles": ["operator"]});
    for (method, path, body, status, error) in [
        (Method::GET, "/api/admin/users", json!({}), 200, ""),
        (
            Method::GET,
            "/api/admin/users?cursor=a%26b&x=y",
            json!({}),
            200,
            "",
        ),
        (Method::POST, "/api/admin/users", eve, 201, ""),
        (
            Method::POST,
            "/api/admin/users",
            json!({"username": "taken"}),
            409,
            "user_exists",
        ),
        (
            Method::POST,
            "/api/admin/users",
            json!({"username": "wrong"}),
            400,
            "invalid_request",
        ),
        (
            Method::PATCH,
            "/api/admin/users/eve",
            json!({"roles": []}),
            200,
            "",
        ),
        (
            Method::POST,
            "/api/admin/users/eve/reset",
            json!({"x": 1}),
            200,
            "",
        ),
        (Method::POST, "/api/admin/users/a%2Fb/end", json!({}), 204, ""),
        (Method::DELETE, "/api/admin/users/eve", json!({}), 204, ""),
        (
            Method::DELETE,
            "/api/admin/users/nobody",
            json!({}),
            404,
            "not_found",
        ),
        (
            Method::DELETE,
            "/api/admin/users/broken",
            json!({}),
            502,
            "users_failed",
        ),
        (
            Method::DELETE,
            "/api/admin/users/away",
            json!({}),
            503,
            "users_unavailable",
        ),
        // Of these the authorization server hears nothing.
        (
            Method::DELETE,
            "/api/admin/users/ada",
            json!({}),
            409,
            "own_account",
        ),
        (
            Method::PATCH,
            "/api/admin/users/ada",
            json!({"roles": ["operator"]}),
            409,
            "own_account",
        ),
        (
            Method::POST,
            "/api/admin/users/eve/remove",
            json!({}),
            404,
            "not_found",
        ),
        (Method::DELETE, "/api/admin/users/..", json!({}), 404, "not_found"),
        (
            Method::DELETE,
            "/api/admin/users/%2e%2e",
            json!({}),
            404,
            "not_found",
        ),
        (
            Method::DELETE,
            "/api/admin/users/a%23b",
            json!({}),
            404,
            "not_found",
        ),
        (
            Method::DELETE,
            "/api/admin/users/%ff",
            json!({}),
            404,
            "not_found",
        ),
        (Method::POST, "/api/admin/users", json!([]), 400, "invalid_body"),
        (
            Method::POST,
            "/api/admin/users",
            json!("x".repeat(5000)),
            413,
            "payload_too_large",
        ),
        // An admin may give themselves another name, and keep the role.
        (
            Method::PATCH,
            "/api/admin/users/ada",
            json!({"roles": ["admin"], "displayName": "Ada L."}),
            200,
            "",
        ),
    ] {
        let answered = ask(&app, &ada, (method.clone(), path), &body).await;
        assert_eq!(
            answered.status.as_u16(),
            status,
            "{method} {path}: {}",
            answered.text
        );
        if !error.is_empty() {
            assert_eq!(answered.json()["error"], error, "{method} {path}");
        }
        assert_eq!(answered.headers["cache-control"], "no-store", "{method} {path}");
    }
    let asked = asked.lock().unwrap().clone();
    let heard = [
        "GET /idp/acme/users ",
        "GET /idp/acme/users?cursor=a%26b ",
        "POST /idp/acme/users {\"roles\":[\"operator\"],\"username\":\"eve\"}",
        "POST /idp/acme/users {\"username\":\"taken\"}",
        "POST /idp/acme/users {\"username\":\"wrong\"}",
        "PATCH /idp/acme/users/eve {\"roles\":[]}",
        "POST /idp/acme/users/eve/reset {}",
        "POST /idp/acme/users/a%2Fb/end {}",
        "DELETE /idp/acme/users/eve ",
        "DELETE /idp/acme/users/nobody ",
        "DELETE /idp/acme/users/broken ",
        "DELETE /idp/acme/users/away ",
        "PATCH /idp/acme/users/ada {\"displayName\":\"Ada L.\",\"roles\":[\"admin\"]}",
    ];
    assert_eq!(asked, heard);
}

#[tokio::test]
async fn settings_are_an_admins_as_far_as_the_operator_leaves_them() {
    let world = World::new().await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    promote(&world, &["admin"]).await;
    let path = "/api/admin/settings";
    let change = async |body: Value| ask(&app, &ada, (Method::PATCH, path), &body).await;
    let early = change(json!({"brand": "Acme"})).await;
    assert_eq!(
        (early.status, early.json()["error"].as_str()),
        (StatusCode::CONFLICT, Some("tenant_unknown"))
    );
    world.store.tenants().add(&world.tenant).await.unwrap();
    let none = json!({"locale": null, "timeZone": null, "brand": null, "accent": null, "accentDark": null, "share": null, "shares": null, "start": null, "pause": null, "retention": null});
    assert_eq!(ada.get(&app, path).await.json(), none);
    let set = json!({"locale": "de-CH", "timeZone": "Europe/Zurich", "brand": "Acme", "accent": "#7a1f5c", "accentDark": "#f0a5d4", "share": "on", "shares": "ada=25", "start": "echo, weather", "pause": "off", "retention": "chats=90 tasks=14"});
    let answered = change(set.clone()).await;
    assert_eq!((answered.status, answered.json()), (StatusCode::OK, set.clone()));
    assert!(
        ada.get(&app, "/").await.text.contains("Acme"),
        "the page has it at once"
    );
    for rubbish in [
        json!(null),
        json!([]),
        json!({}),
        json!({"brand": 7}),
        json!({"brand": ""}),
        json!({"tokens_per_day": "1000000"}),
        json!({"logo": "abc"}),
        json!({"status": "active"}),
        json!({"brand": "Other", "accent": "#ffcc00"}),
        json!({"brand": "Other", "timeZone": "../etc"}),
        json!({"brand": "Other", "timeZone": "Mars/Base"}),
        json!({"timeZone": "europe/olso"}),
        json!({"timeZone": ""}),
        json!({"locale": "en_GB"}),
        json!({"locale": "english language", "brand": "Other"}),
        json!({"share": "yes"}),
        json!({"share": true}),
        json!({"pause": "yes"}),
        json!({"start": "we ather"}),
        json!({"start": ","}),
        json!({"shares": "ada=101"}),
        json!({"brand": "Other", "shares": "ada=25 user-1=50"}),
        json!({"plan": "business"}),
        json!({"tasks_per_day": "1000"}),
    ] {
        let refused = change(rubbish.clone()).await;
        assert_eq!(
            (refused.status, refused.json()["error"].as_str()),
            (StatusCode::BAD_REQUEST, Some("invalid_setting")),
            "{rubbish}"
        );
    }
    assert_eq!(
        change(json!({"brand": "x".repeat(5000)})).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(
        ada.get(&app, path).await.json(),
        set,
        "nothing of them came of it"
    );
    assert_eq!(change(json!({"brand": null})).await.json()["brand"], Value::Null);
    // A share counts by the id of its user's things, which nobody knows by heart.
    let raised = change(json!({"shares": "ada=50"})).await;
    assert_eq!(raised.status, StatusCode::OK, "{}", raised.text);
    assert_eq!(raised.json()["shares"], "ada=50", "by the name that one reads");
    let by_id = change(json!({"shares": "person-ada=50"})).await;
    assert_eq!(by_id.json()["shares"], "ada=50");
    let owner = Owner::parse("person-ada").unwrap();
    let (all, own) = world
        .store
        .tenants()
        .quotas(&world.tenant, &owner, world.clock.now())
        .await
        .unwrap();
    assert_eq!(own.tasks_per_day * 2, all.tasks_per_day);
}

#[tokio::test]
async fn an_operator_pauses_new_tasks_and_sets_nothing_else() {
    let world = World::new().await;
    world.store.tenants().add(&world.tenant).await.unwrap();
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    promote(&world, &["operator"]).await;
    let path = "/api/admin/settings";
    let change = async |body: Value| ask(&app, &ada, (Method::PATCH, path), &body).await;
    for more in [json!({"brand": "Mine"}), json!({"pause": "on", "brand": "Mine"})] {
        assert_eq!(change(more.clone()).await.status, StatusCode::NOT_FOUND, "{more}");
    }
    let plan = async || ada.get(&app, "/api/ops/usage").await.json()["plan"].clone();
    assert_eq!(
        (&plan().await["isPaused"], &plan().await["name"]),
        (&json!(false), &Value::Null)
    );
    let begin = async |id: &str| ada.post(&app, "/api/chat", &says("c", id, "hello")).await;
    begin("m1").await.chunks();
    let paused = change(json!({"pause": "on"})).await;
    assert_eq!(
        (paused.status, paused.json()),
        (StatusCode::OK, json!({"pause": "on"}))
    );
    assert_eq!(plan().await["isPaused"], true);
    let refused = begin("m2").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.text);
    assert_eq!(refused.headers[http::header::RETRY_AFTER], "10");
    let why = "New tasks are paused; what is at work goes on. Try again later, or ask your administrator";
    assert_eq!(
        (&refused.json()["message"], &refused.json()["whose"]),
        (&why.into(), &"tenant".into())
    );
    assert!(
        ada.get(&app, "/api/chats/c/messages").await.text.contains("m2"),
        "it is kept"
    );
    change(json!({"pause": null})).await;
    begin("m2").await.chunks();
    assert_eq!(plan().await["now"]["tasks"], 2);
}

#[tokio::test]
async fn to_everybody_else_there_is_no_such_thing() {
    let world = World::new().await;
    let asked = idp(&world).await;
    world.store.tenants().add(&world.tenant).await.unwrap();
    let (app, strict) = (world.app(Duration::ZERO), world.strict_app());
    let (nobody, guest, ada) = (Browser::default(), Browser::default(), signed_in(&world).await);
    guest.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    let routes = [
        (Method::GET, "/api/admin/users"),
        (Method::POST, "/api/admin/users"),
        (Method::PATCH, "/api/admin/users/eve"),
        (Method::DELETE, "/api/admin/users/eve"),
        (Method::POST, "/api/admin/users/eve/reset"),
        (Method::GET, "/api/admin/settings"),
        (Method::PATCH, "/api/admin/settings"),
        (Method::GET, "/api/admin/access"),
        (Method::GET, "/api/admin/access/person-ada"),
        (Method::DELETE, "/api/admin/access/person/person-ada"),
    ];
    let body = json!({"brand": "Other"});
    for roles in [&[][..], &["operator"], &["admins"]] {
        promote(&world, roles).await;
        for (app, status) in [(&app, 404), (&strict, 401)] {
            for (browser, status) in [(&nobody, status), (&guest, status), (&ada, 404)] {
                for (method, path) in &routes {
                    let answered = ask(app, browser, (method.clone(), path), &body).await;
                    assert_eq!(answered.status.as_u16(), status, "{roles:?} {method} {path}");
                }
            }
        }
    }
    assert_eq!(*asked.lock().unwrap(), [""; 0]);
    assert_eq!(
        json!(world.store.tenants().settings(&world.tenant).await.unwrap()),
        json!({})
    );
}

#[tokio::test]
async fn whoever_changes_something_has_signed_in_of_late() {
    let world = World::new().await;
    idp(&world).await;
    world.store.tenants().add(&world.tenant).await.unwrap();
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    promote(&world, &["admin"]).await;
    let brand = json!({"brand": "Acme"});
    let change = async || ask(&app, &ada, (Method::PATCH, "/api/admin/settings"), &brand).await;
    world.clock.advance(Duration::from_secs(15 * 60 - 1));
    assert_eq!(change().await.status, StatusCode::OK);
    world.clock.advance(Duration::from_secs(1));
    let refused = change().await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let told = refused.json();
    assert_eq!(told["error"], "sign_in_again");
    assert_eq!(told["signIn"], "http://127.0.0.1:3000/t/acme/signin?prompt=login");
    for (method, path) in [
        (Method::POST, "/api/admin/users"),
        (Method::PATCH, "/api/admin/users/eve"),
        (Method::DELETE, "/api/admin/users/eve"),
        (Method::POST, "/api/admin/users/eve/end"),
        (Method::DELETE, "/api/admin/access/person/person-eve"),
        (
            Method::POST,
            "/api/ops/agents/00000000-0000-0000-0000-000000000000/approve",
        ),
        (Method::POST, "/api/ops/deliveries/replay"),
    ] {
        let refused = ask(&app, &ada, (method.clone(), path), &brand).await;
        assert_eq!(refused.json()["error"], "sign_in_again", "{method} {path}");
    }
    for path in ["/api/admin/settings", "/api/admin/access?cursor=a"] {
        assert_eq!(ada.get(&app, path).await.status, StatusCode::OK, "{path}");
    }
}

/// Somebody of another issuer who has signed in here.
async fn eve(world: &World, hash: &str) -> Owner {
    let (sessions, now) = (world.store.sessions(), world.clock.now());
    let profile = store::Profile {
        issuer: "https://corp.example".into(),
        subject: Owner::parse("eve").unwrap(),
        username: "eve@corp".into(),
        display_name: "Eve".into(),
        roles: Vec::new(),
    };
    let id = store::person_id(&profile.issuer, &profile.subject, None).unwrap();
    sessions.meet_person(&world.tenant, &id, &profile).await.unwrap();
    let session = store::Session {
        owner: id.clone(),
        created_at: now,
        expires_at: now.after(Duration::from_secs(3600)),
        person: Some(store::Person {
            issuer: profile.issuer,
            subject: profile.subject,
            username: String::new(),
            auth_time: now,
            id: Some(id.clone()),
            sid: None,
            proof: None,
        }),
        guest: None,
        pushes: store::Pushes::default(),
    };
    sessions
        .begin_session(&world.tenant, hash, &session)
        .await
        .unwrap();
    id
}

#[tokio::test]
async fn an_admin_sees_who_is_in_of_every_issuer_and_ends_it() {
    let world = World::new().await;
    let asked = idp(&world).await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    promote(&world, &["admin"]).await;
    let (sessions, tenant) = (world.store.sessions(), &world.tenant);
    eve(&world, "eves-first").await;
    let id = eve(&world, "eves-second").await;
    let long = format!("/api/admin/access?cursor={}", "a".repeat(1100));
    assert_eq!(ada.get(&app, &long).await.status, StatusCode::NOT_FOUND);
    let people = async || ada.get(&app, "/api/admin/access?cursor=a").await.json()["people"].clone();
    let shown = people().await;
    let row = shown
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == id.as_str())
        .unwrap();
    assert_eq!(
        (&row["issuer"], &row["name"], &row["isIn"]),
        (&json!("https://corp.example"), &json!("Eve"), &json!(true))
    );
    assert_eq!(row["sessions"].as_array().map(Vec::len), Some(2), "{row}");
    let end = async |path: &str| {
        ask(
            &app,
            &ada,
            (Method::DELETE, &format!("/api/admin/access/{path}")),
            &json!({}),
        )
        .await
    };
    for (path, status) in [
        ("session/nobodys".to_owned(), 404),
        (format!("session/eves-first?of={}", "person-nobody"), 404),
        (format!("session/sws_ada?of={id}"), 404),
        (format!("anything/x?of={id}"), 404),
        (format!("share/x?of={id}"), 404),
        (format!("device/x?of={id}"), 404),
        ("person/%ff".to_owned(), 404),
        ("person/person-nobody".to_owned(), 404),
        ("person/person-ada".to_owned(), 409),
        (format!("session/eves-first?of={id}"), 204),
        (format!("session/eves-first?of={id}"), 404),
    ] {
        let ended = end(&path).await;
        assert_eq!(ended.status.as_u16(), status, "{path}: {}", ended.text);
    }
    let live = async |hash: &str| {
        sessions
            .live_session(tenant, hash, world.clock.now())
            .await
            .unwrap()
    };
    assert!(live("eves-first").await.is_none() && live("eves-second").await.is_some());
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(end(&format!("person/{id}")).await.status, StatusCode::NO_CONTENT);
    assert!(live("eves-second").await.is_none());
    let known = sessions.find_person(tenant, &id).await.unwrap().unwrap();
    assert_eq!(
        known.not_before,
        Some(world.clock.now()),
        "what is under way comes to nothing"
    );
    assert_eq!(*world.connections.ended.lock().unwrap(), [format!("{id} all")]);
    let shown = people().await;
    let row = shown
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == id.as_str())
        .unwrap();
    assert_eq!((&row["sessions"], &row["isIn"]), (&json!([]), &json!(false)));
    assert_eq!(
        *asked.lock().unwrap(),
        [""; 0],
        "of another issuer nobody asks our own server"
    );
}
