//! The routes for a tenant's admins: who may, what they may, and what each change ends.

use auth::{Grant, SigningKey};
use axum::body::Body;
use domain::{Clock as _, SystemEntropy, Tenant};
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use store::{SessionIssuer, User};

use crate::fixture::{Answer, Browser, CALLBACK, ISSUER, Idp, VERIFIER, basic, request, request_with};

const BASE: &str = "http://127.0.0.1:3000/t/acme";

/// The tenant's chat, which vouches for its admins.
struct Chat {
    idp: Idp,
    key: SigningKey,
}

impl Chat {
    async fn start() -> Self {
        let idp = Idp::start().await;
        let (key, _) = SigningKey::generate().unwrap();
        let issuer = SessionIssuer {
            issuer: BASE.to_owned(),
            keys: vec![key.public_jwk()],
            browser_keys: Vec::new(),
        };
        let identity = idp.store.identity();
        identity.put_session_issuer(&acme(), &issuer).await.unwrap();
        Self { idp, key }
    }

    fn token(&self, audience: &str, scope: &str) -> String {
        use domain::ExposeSecret as _;
        let acme = acme();
        let grant = Grant {
            issuer: BASE,
            subject: "person-adam",
            tenant: Some(&acme),
            audience,
            scopes: &[scope],
            lifetime: std::time::Duration::from_secs(60),
        };
        let token = self.key.sign(&grant, self.idp.clock.now(), &SystemEntropy);
        token.unwrap().expose_secret().to_owned()
    }

    fn good(&self) -> String {
        self.token(&format!("{ISSUER}/users"), "users")
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.raw(method, path, &self.good(), body).await
    }

    async fn raw(&self, method: Method, path: &str, token: &str, body: String) -> Answer {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {token}"));
        self.idp.call(request.body(Body::from(body)).unwrap()).await
    }

    async fn ada(&self) -> User {
        let found = self.idp.store.identity().find_user(&acme(), "ada").await;
        found.unwrap().unwrap()
    }

    async fn names(&self) -> Vec<String> {
        let users = self.idp.store.identity().list_users(&acme()).await.unwrap();
        users.into_iter().map(|user| user.username).collect()
    }
}

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

async fn signs_in(idp: &Idp, username: &str, password: &str) -> bool {
    let browser = Browser::default();
    let page = browser.authorize(idp, &request()).await;
    let sent = [("username", username), ("password", password)];
    browser.send(idp, &page, "login", &sent).await.status == StatusCode::SEE_OTHER
}

#[tokio::test]
async fn an_admin_adds_changes_resets_ends_and_removes_users() {
    let chat = Chat::start().await;
    let added = chat
        .ask(
            Method::POST,
            "/acme/users",
            Some(json!({ "username": "eve@acme.example", "displayName": "Eve" })),
        )
        .await;
    assert_eq!(added.status, StatusCode::CREATED, "{}", added.text);
    assert_eq!(added.header("cache-control"), "no-store");
    let mut user = added.json();
    let password = user.as_object_mut().unwrap().remove("password").unwrap();
    let shown = json!({ "username": "eve@acme.example", "displayName": "Eve", "roles": [] });
    assert_eq!(user, shown);
    let eve = "eve@acme.example";
    assert!(signs_in(&chat.idp, eve, password.as_str().unwrap()).await);

    // Once: nobody sees it again.
    let listed = chat.ask(Method::GET, "/acme/users", None).await;
    assert_eq!(listed.status, StatusCode::OK, "{}", listed.text);
    let names: Vec<_> = listed.json()["users"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user["username"].clone())
        .collect();
    assert_eq!(names, ["ada", "alan", eve]);
    assert!(
        !listed.text.contains("assword") && !listed.text.contains("argon2"),
        "{}",
        listed.text
    );
    let again = chat
        .ask(Method::POST, "/acme/users", Some(json!({ "username": eve })))
        .await;
    assert_eq!(
        (again.status, again.json()["error"].as_str()),
        (StatusCode::CONFLICT, Some("user_exists"))
    );

    let path = "/acme/users/eve%40acme.example";
    let changed = chat
        .ask(Method::PATCH, path, Some(json!({ "roles": ["operator"] })))
        .await;
    assert_eq!(changed.json()["roles"], json!(["operator"]), "{}", changed.text);
    let renamed = chat
        .ask(Method::PATCH, path, Some(json!({ "displayName": "Eva" })))
        .await;
    assert_eq!(
        renamed.json(),
        json!({ "username": eve, "displayName": "Eva", "roles": ["operator"] })
    );
    chat.idp.advance(5);
    let reset = chat.ask(Method::POST, &format!("{path}/reset"), None).await;
    assert_eq!(
        (reset.status, reset.header("cache-control")),
        (StatusCode::OK, "no-store")
    );
    let new = reset.json()["password"].as_str().unwrap().to_owned();
    assert!(!signs_in(&chat.idp, eve, password.as_str().unwrap()).await);
    assert!(signs_in(&chat.idp, eve, &new).await);
    let gone = chat.ask(Method::DELETE, path, None).await;
    assert_eq!((gone.status, gone.text.as_str()), (StatusCode::NO_CONTENT, ""));
    assert!(!signs_in(&chat.idp, eve, &new).await);
    for (method, path) in [
        (Method::DELETE, path.to_owned()),
        (Method::POST, format!("{path}/reset")),
        (Method::POST, format!("{path}/end")),
    ] {
        let answer = chat.ask(method, &path, None).await;
        assert_eq!(
            (answer.status, answer.json()["error"].as_str()),
            (StatusCode::NOT_FOUND, Some("not_found"))
        );
    }
}

#[tokio::test]
async fn an_end_ends_what_was_proved_and_keeps_the_password() {
    let chat = Chat::start().await;
    let browser = Browser::default();
    let tokens = chat.idp.redeem(&browser.code(&chat.idp).await).await.json();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let ended = chat.ask(Method::POST, "/acme/users/ada/end", None).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT, "{}", ended.text);
    assert_eq!(chat.idp.refresh(refresh).await.json()["error"], "invalid_grant");
    let silent = browser
        .authorize(&chat.idp, &request_with(&[("prompt", "none")]))
        .await;
    assert_eq!(silent.sent_back()["error"], "login_required");
    chat.idp.advance(1);
    assert!(signs_in(&chat.idp, "ada", crate::fixture::PASSWORD).await);
}

#[tokio::test]
async fn more_users_than_a_page_are_told_page_by_page() {
    let chat = Chat::start().await;
    let ada = chat.ada().await;
    for number in 0..150 {
        let user = User {
            username: format!("u{number:03}"),
            ..ada.clone()
        };
        chat.idp.store.identity().put_user(&acme(), &user).await.unwrap();
    }
    let (mut names, mut path) = (Vec::new(), "/acme/users".to_owned());
    loop {
        let page = chat.ask(Method::GET, &path, None).await.json();
        let users = page["users"].as_array().unwrap();
        assert!(users.len() <= 100);
        names.extend(
            users
                .iter()
                .map(|user| user["username"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["nextCursor"].as_str() else {
            break;
        };
        path = format!("/acme/users?cursor={next}");
    }
    assert_eq!(names.len(), 152);
    assert!(names.is_sorted());
    // A cursor is a name: it leads to no other tenant's.
    for cursor in ["a%23b", "%20", "globex%23users", ""] {
        let answer = chat
            .ask(Method::GET, &format!("/acme/users?cursor={cursor}"), None)
            .await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_REQUEST,
            "{cursor}: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn nobody_else_may() {
    let chat = Chat::start().await;
    let (users, before) = (format!("{ISSUER}/users"), chat.names().await);
    let globex = "http://127.0.0.1:3000/idp/globex/users";
    for (token, path, status) in [
        (String::new(), "/acme/users", 401),
        ("rubbish".to_owned(), "/acme/users", 401),
        (chat.token(&users, "tasks"), "/acme/users", 403),
        (chat.token(&users, "registry:write"), "/acme/users", 403),
        (chat.token(ISSUER, "users"), "/acme/users", 401),
        (chat.token(&format!("{BASE}/a/host"), "users"), "/acme/users", 401),
        // A tenant's own token at another's, for which it says it is.
        (chat.token(globex, "users"), "/globex/users", 401),
        (chat.good(), "/globex/users", 401),
        (chat.good(), "/nobody/users", 404),
        (chat.good(), "/acme.7f3a9c2e/users", 404),
    ] {
        for (method, below) in [
            (Method::GET, ""),
            (Method::POST, ""),
            (Method::PATCH, "/ada"),
            (Method::DELETE, "/ada"),
            (Method::POST, "/ada/reset"),
            (Method::POST, "/ada/end"),
        ] {
            let body = json!({ "username": "mallory", "roles": ["admin"] }).to_string();
            let answer = chat
                .raw(method.clone(), &format!("{path}{below}"), &token, body)
                .await;
            assert_eq!(
                answer.status.as_u16(),
                status,
                "{method} {path}{below}: {}",
                answer.text
            );
        }
    }
    assert_eq!(chat.names().await, before);
    let suspended = chat.idp.store.tenants();
    suspended.add(&acme()).await.unwrap();
    suspended
        .suspend(&acme(), Some(chat.idp.clock.now()))
        .await
        .unwrap();
    let answer = chat.ask(Method::GET, "/acme/users", None).await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (StatusCode::FORBIDDEN, Some("tenant_suspended"))
    );
}

#[tokio::test]
async fn rubbish_is_refused_and_changes_nothing() {
    let chat = Chat::start().await;
    let before = chat.names().await;
    let long = "x".repeat(65);
    for body in [
        String::new(),
        "null".into(),
        "[]".into(),
        "{".into(),
        "{}".into(),
        format!(
            "{{\"username\":\"eve\",\"displayName\":\"{}\"}}",
            "x".repeat(5000)
        ),
        json!({ "username": "" }).to_string(),
        json!({ "username": "Eve" }).to_string(),
        json!({ "username": "e ve" }).to_string(),
        json!({ "username": "eve#USER" }).to_string(),
        json!({ "username": "eve/../ada" }).to_string(),
        json!({ "username": ".." }).to_string(),
        json!({ "username": long }).to_string(),
        json!({ "username": 7 }).to_string(),
        json!({ "username": "eve", "roles": ["owner"] }).to_string(),
        json!({ "username": "eve", "roles": "admin" }).to_string(),
        json!({ "username": "eve", "displayName": " Eve" }).to_string(),
        json!({ "username": "eve", "displayName": "E\u{202e}ve" }).to_string(),
        json!({ "username": "eve", "password": "mine" }).to_string(),
        json!({ "username": "eve", "subject": "user-ada" }).to_string(),
    ] {
        let answer = chat
            .raw(Method::POST, "/acme/users", &chat.good(), body.clone())
            .await;
        let status = answer.status.as_u16();
        assert!(
            status == 400 || status == 413,
            "{body:.60}: {status} {}",
            answer.text
        );
        assert!(answer.json()["error"].is_string() && answer.json()["message"].is_string());
        let answer = chat
            .raw(Method::PATCH, "/acme/users/ada", &chat.good(), body.clone())
            .await;
        assert!(answer.status.is_client_error(), "{body:.60}: {}", answer.text);
    }
    for path in ["%00", "a%23b", "%20", "ADA", "%ff", "..%2fada", &long] {
        let answer = chat
            .ask(Method::DELETE, &format!("/acme/users/{path}"), None)
            .await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {}", answer.text);
    }
    assert_eq!(chat.names().await, before);
    let ada = chat.ada().await;
    assert_eq!(
        (ada.roles, ada.display_name),
        (Vec::<String>::new(), "ada of acme".to_owned())
    );
}

/// An admin's own application, with a token of the authorization server itself.
#[tokio::test]
async fn an_application_may_what_its_admin_may_and_no_longer_than_that() {
    let chat = Chat::start().await;
    let (idp, users) = (&chat.idp, format!("{ISSUER}/users"));
    let tool = idp::NewClient {
        client_id: "tool".into(),
        name: "A tool".into(),
        secret: Some(crate::fixture::OTHER_SECRET.into()),
        redirect_uris: vec![CALLBACK.into()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".into()],
        scopes: vec!["users".into()],
        resources: vec![users.clone()],
        this_machine: None,
    };
    idp::provision(&idp.store, &acme(), &[tool], &[], &SystemEntropy)
        .await
        .unwrap();
    let roles = async |roles: &[&str]| {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let change = idp::UserChange {
            roles: Some(roles),
            display_name: None,
        };
        let tenant = acme();
        idp::People::of_operator(&idp.store, &tenant, idp.clock.now())
            .change("ada", &change)
            .await
            .unwrap();
    };
    let asked = request_with(&[
        ("client_id", "tool"),
        ("scope", "users"),
        ("resource", &users),
        ("nonce", ""),
    ]);
    let browser = Browser::default();
    let _signed_in = browser.agree(idp, &request()).await;
    for few in [&[][..], &["operator"]] {
        roles(few).await;
        assert_eq!(
            browser.authorize(idp, &asked).await.sent_back()["error"],
            "access_denied"
        );
    }
    roles(&["admin"]).await;
    let code = browser.agree(idp, &asked).await.sent_back()["code"].clone();
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let answer = idp
        .post(
            "/acme/token",
            Some(&basic("tool", crate::fixture::OTHER_SECRET)),
            &pairs,
        )
        .await;
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let list = async || {
        chat.raw(Method::GET, "/acme/users", &token, String::new())
            .await
            .status
    };
    assert_eq!(list().await, StatusCode::OK);
    // The token lives on; who it is of may not any more.
    roles(&["operator"]).await;
    assert_eq!(list().await, StatusCode::UNAUTHORIZED);
    roles(&["admin"]).await;
    assert_eq!(list().await, StatusCode::OK);
    idp.advance(2);
    let tenant = acme();
    let people = idp::People::of_operator(&idp.store, &tenant, idp.clock.now());
    people.end("ada", idp.clock.now()).await.unwrap();
    assert_eq!(list().await, StatusCode::UNAUTHORIZED);
    people.remove("ada").await.unwrap();
    assert_eq!(list().await, StatusCode::UNAUTHORIZED);
}
