//! Two tenants with users and clients, and a browser without scripts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use argon2::PasswordHasher as _;
use argon2::password_hash::phc::PasswordHash;
use auth::{Algorithm, KeySet};
use axum::Router;
use axum::body::Body;
use domain::{ExposeSecret, ManualClock, Owner, SecretString, SystemEntropy, Tenant, Timestamp};
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, Method, Request, StatusCode};
use idp::{Lifetimes, NewClient, State};
use serde_json::Value;
use store::{Store, User};
use store_testing::Database;
use tower::ServiceExt;
use url::Url;

pub(crate) const URL: &str = "http://127.0.0.1:3000/idp";
pub(crate) const ISSUER: &str = "http://127.0.0.1:3000/idp/acme";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:3000/t/acme/callback";
pub(crate) const HORIZON: &str = "http://127.0.0.1:3000/a/horizon";
pub(crate) const APP_CALLBACK: &str = "http://127.0.0.1:7777/cb";
pub(crate) const SECRET: &str = "host-secret-of-at-least-32-characters-0123";
pub(crate) const OTHER_SECRET: &str = "other-secret-of-at-least-32-characters-012";
pub(crate) const PASSWORD: &str = "correct horse battery staple";
pub(crate) const SCOPE: &str = "openid profile offline_access orders:read tasks";
/// The example of RFC 7636.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const START: i64 = 1_767_225_600_000;

/// The authorization server.
pub(crate) struct Idp {
    pub(crate) router: Router,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) kept: SecretString,
    pub(crate) store: Store,
    _database: Database,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn location(&self) -> Url {
        let location = self.headers.get(LOCATION);
        let location = location.unwrap_or_else(|| panic!("no redirect: {} {}", self.status, self.text));
        location.to_str().unwrap().parse().unwrap()
    }

    /// The parameters of a redirect.
    pub(crate) fn sent_back(&self) -> BTreeMap<String, String> {
        self.location().query_pairs().into_owned().collect()
    }
}

/// Parameters of an authorization request of the host, to be changed.
pub(crate) fn request() -> Vec<(&'static str, String)> {
    [
        ("response_type", "code"),
        ("client_id", "host"),
        ("redirect_uri", CALLBACK),
        ("scope", SCOPE),
        ("resource", HORIZON),
        ("state", "st-1"),
        ("nonce", "no-1"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

/// The same with one parameter changed, or left out where it is empty.
pub(crate) fn request_with(changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let mut pairs = request();
    for (name, value) in changes {
        pairs.retain(|(known, _)| known != name);
        if !value.is_empty() {
            pairs.push((name, (*value).to_owned()));
        }
    }
    pairs
}

pub(crate) fn encoded<V: AsRef<str>>(pairs: &[(&str, V)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs.iter().map(|(name, value)| (*name, value.as_ref())))
        .finish()
}

pub(crate) fn basic(client: &str, secret: &str) -> String {
    use base64::Engine as _;
    let text = format!("{client}:{secret}");
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text))
}

fn router(store: &Store, clock: &Arc<ManualClock>, keys: KeySet) -> Router {
    idp::router(State {
        url: URL.parse().unwrap(),
        store: store.clone(),
        keys: Arc::new(keys),
        clock: clock.clone(),
        entropy: Arc::new(SystemEntropy),
        settings: Lifetimes::default(),
    })
}

impl Idp {
    pub(crate) async fn start() -> Self {
        Self::start_with(Algorithm::Es256).await
    }

    pub(crate) async fn start_with(algorithm: Algorithm) -> Self {
        let (store, database) = store_testing::start().await;
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let (set, kept) = KeySet::generate(algorithm).unwrap();
        for (tenant, users) in [("acme", ["ada", "alan"]), ("globex", ["grace", "george"])] {
            let base: Url = format!("http://127.0.0.1:3000/t/{tenant}").parse().unwrap();
            let host = NewClient::host(&base, SECRET.into());
            let clients = [host, other(), app()];
            let tenant = Tenant::parse(tenant).unwrap();
            idp::provision(&store, &tenant, &clients, &[], &SystemEntropy)
                .await
                .unwrap();
            for name in users {
                store
                    .identity()
                    .put_user(&tenant, &user(&tenant, name))
                    .await
                    .unwrap();
            }
        }
        Self {
            router: router(&store, &clock, set),
            clock,
            kept,
            store,
            _database: database,
        }
    }

    /// The server as it starts with other keys, over the same tables.
    pub(crate) fn started_with(self, keys: KeySet) -> Self {
        let router = router(&self.store, &self.clock, keys);
        Self { router, ..self }
    }

    /// Another process of the same function: nothing but the tables is shared.
    pub(crate) fn beside(&self) -> Router {
        let (keys, _) = KeySet::generate(Algorithm::Es256).unwrap();
        router(&self.store, &self.clock, keys)
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn call(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap();
        Answer {
            status,
            headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// A form that a program sends.
    pub(crate) async fn post(
        &self,
        path: &str,
        authorization: Option<&str>,
        pairs: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::post(path).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        self.call(request.body(Body::from(encoded(pairs))).unwrap()).await
    }

    /// A request of the host at the token endpoint.
    pub(crate) async fn token(&self, pairs: &[(&str, &str)]) -> Answer {
        self.post("/acme/token", Some(&basic("host", SECRET)), pairs)
            .await
    }

    pub(crate) async fn redeem(&self, code: &str) -> Answer {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ])
        .await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Answer {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token)])
            .await
    }

    /// What a code of ada's gives.
    pub(crate) async fn tokens(&self) -> Value {
        let code = Browser::default().code(self).await;
        let answer = self.redeem(&code).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    }

    pub(crate) async fn introspect(&self, token: &str) -> Value {
        let answer = self
            .post(
                "/acme/introspect",
                Some(&basic("host", SECRET)),
                &[("token", token)],
            )
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    }
}

/// A user as provisioning would make it, but with a hash that takes no time: a test has no minute to spare.
fn user(tenant: &Tenant, name: &str) -> User {
    let params = argon2::Params::new(8, 1, 1, None).unwrap();
    let quick = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let hash: PasswordHash = quick
        .hash_password_with_salt(PASSWORD.as_bytes(), name.repeat(4).as_bytes())
        .unwrap();
    User {
        username: name.to_owned(),
        subject: Owner::parse(&format!("user-{name}")).unwrap(),
        display_name: format!("{name} of {}", tenant.name()),
        password_hash: hash.to_string(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    }
}

/// A second client with a secret, which is not the host.
fn other() -> NewClient {
    NewClient {
        client_id: "other".into(),
        name: "Other <b>client</b>".into(),
        secret: Some(OTHER_SECRET.into()),
        redirect_uris: vec!["https://other.example/cb?fixed=1".into(), CALLBACK.into()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".into()],
        scopes: vec!["openid".into(), "orders:read".into(), "tasks".into()],
        resources: vec![HORIZON.into()],
        this_machine: None,
    }
}

/// A public client, such as a terminal.
fn app() -> NewClient {
    NewClient {
        client_id: "app".into(),
        name: "Terminal".into(),
        secret: None,
        redirect_uris: vec![APP_CALLBACK.into()],
        signed_out_uris: Vec::new(),
        grant_types: vec!["authorization_code".into(), "refresh_token".into()],
        scopes: vec!["openid".into(), "offline_access".into(), "tasks".into()],
        resources: vec![HORIZON.into()],
        this_machine: None,
    }
}

/// A browser: keeps cookies, follows nothing by itself.
#[derive(Default)]
pub(crate) struct Browser {
    pub(crate) cookies: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    pub(crate) async fn call(&self, idp: &Idp, method: Method, path: &str, body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        let cookies: Vec<String> = self
            .cookies
            .lock()
            .unwrap()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies.join("; "));
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let body = body.map_or(Body::empty(), Body::from);
        let answer = idp.call(request.body(body).unwrap()).await;
        for set in answer.headers.get_all(SET_COOKIE) {
            let (pair, rest) = set.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            if rest.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub(crate) async fn authorize<V: AsRef<str>>(&self, idp: &Idp, pairs: &[(&str, V)]) -> Answer {
        let path = format!("/acme/authorize?{}", encoded(pairs));
        self.call(idp, Method::GET, &path, None).await
    }

    /// Fills a page's form in and sends it with one of its buttons.
    pub(crate) async fn send(&self, idp: &Idp, page: &Answer, step: &str, fields: &[(&str, &str)]) -> Answer {
        let action = attribute(&page.text, "action=\"").replace("&amp;", "&");
        let token = attribute(&page.text, "name=\"form\" value=\"");
        assert!(
            page.text.contains(&format!("name=\"step\" value=\"{step}\"")),
            "{}",
            page.text
        );
        let mut pairs = vec![("step", step), ("form", token.as_str())];
        pairs.extend_from_slice(fields);
        let path = format!("/acme/authorize{action}");
        self.call(idp, Method::POST, &path, Some(encoded(&pairs))).await
    }

    pub(crate) async fn follow(&self, idp: &Idp, answer: &Answer) -> Answer {
        let to = answer.location();
        let path = to.as_str().strip_prefix(URL).unwrap().to_owned();
        self.call(idp, Method::GET, &path, None).await
    }

    /// Signs in; what comes after.
    pub(crate) async fn sign_in(&self, idp: &Idp, page: &Answer, username: &str) -> Answer {
        let fields = [("username", username), ("password", PASSWORD)];
        let answer = self.send(idp, page, "login", &fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        self.follow(idp, &answer).await
    }

    /// Goes through all of it as ada, and gives the redirect to the client.
    pub(crate) async fn agree<V: AsRef<str>>(&self, idp: &Idp, pairs: &[(&str, V)]) -> Answer {
        let mut page = self.authorize(idp, pairs).await;
        if page.text.contains("value=\"login\"") {
            page = self.sign_in(idp, &page, "ada").await;
        }
        if page.text.contains("value=\"allow\"") {
            page = self.send(idp, &page, "allow", &[]).await;
        }
        assert!(page.status.is_redirection(), "{} {}", page.status, page.text);
        page
    }

    pub(crate) async fn code(&self, idp: &Idp) -> String {
        self.agree(idp, &request()).await.sent_back()["code"].clone()
    }
}

fn attribute(text: &str, before: &str) -> String {
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split_once('"').unwrap().0.to_owned()
}

/// The claims of a token, unverified.
pub(crate) fn claims(token: &Value) -> Value {
    part(token, 1)
}

/// A part of a token.
pub(crate) fn part(token: &Value, index: usize) -> Value {
    use base64::Engine as _;
    let part = token.as_str().unwrap().split('.').nth(index).unwrap();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(part)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// The text of a secret.
pub(crate) fn shown(secret: &SecretString) -> &str {
    secret.expose_secret()
}
