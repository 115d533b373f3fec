//! A tenant that is removed, and another one that gets its name: nothing that was anybody's at the first is worth anything
//! at the second. Every kind of credential there is, tried one by one.

use std::time::Duration;

use domain::{SystemEntropy, Tenant};
use local::Signer;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use system_testing::browser::Browser;
use system_testing::oauth::{self, CONFIDENTIAL, REDIRECT_URI, SECRET};
use system_testing::{Local, User};
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::attack::silent_agent;
use crate::tenants::{admin, get, knock, link, order};

const NAME: &str = "umbrella";
const VERIFIER: &str = "verifier-x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2";

/// One of the tenants of that name.
struct Incarnation {
    base: String,
    host: String,
    horizon: String,
    issuer: String,
    login: Value,
}

impl Incarnation {
    async fn add(local: &Local) -> Self {
        let (status, added) = admin(local, Method::POST, "/tenants", Some(json!({ "name": NAME }))).await;
        assert_eq!(status, StatusCode::CREATED, "{added}");
        let text = |pointer: &str| {
            let text = added.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_else(|| panic!("no {pointer} in {added:#}"))
                .trim_end_matches('/')
                .to_owned()
        };
        let prefix = text("/prefix");
        assert!(prefix.starts_with("umbrella."), "{prefix}");
        let own = Self {
            base: text("/endpoints/base"),
            host: text("/endpoints/host_agent"),
            horizon: text("/endpoints/agents/horizon"),
            issuer: format!("{}/{prefix}", local.endpoint("/idp").trim_end_matches('/')),
            login: added["users"][0].clone(),
        };
        let client = oauth::client(CONFIDENTIAL, Some(SECRET), &own.horizon);
        let tenant = Tenant::from_prefix(&prefix).expect("a tenant");
        idp::provision(local.system.store(), &tenant, &[client], &[], &SystemEntropy)
            .await
            .expect("a client");
        own
    }

    /// The request of a client for this tenant's orders.
    fn request(&self) -> Url {
        let mut url = Url::parse(&format!("{}/authorize", self.issuer)).expect("an address");
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", CONFIDENTIAL),
            ("redirect_uri", REDIRECT_URI),
            ("scope", oauth::SCOPES),
            ("resource", &self.horizon),
            ("state", "s"),
            ("code_challenge", &auth::pkce::challenge(VERIFIER)),
            ("code_challenge_method", "S256"),
        ]);
        url
    }

    /// Begins a report at the host, whose news go to this address.
    async fn report(&self, local: &Local, receiver: &str) {
        let token = local
            .system
            .signed(
                Signer::Session(NAME),
                "user-demo",
                &self.host,
                "tasks",
                Duration::ZERO,
            )
            .expect("a token");
        let message = json!({ "messageId": "1d8f1c2e-1111-4222-8333-000000000001", "role": "ROLE_USER",
            "parts": [{ "text": "Prepare a report on bridges" }] });
        let push = json!({ "url": receiver, "token": "the-receivers-own-token" });
        let configuration = json!({ "returnImmediately": true, "taskPushNotificationConfig": push });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": { "message": message, "configuration": configuration } });
        let asked = system_testing::user::http()
            .post(&self.host)
            .bearer_auth(token)
            .header("a2a-version", "1.0");
        let answer = asked.json(&call).send().await.expect("an answer");
        let told: Value = answer.json().await.expect("JSON");
        assert!(told["result"]["task"].is_object(), "{told}");
    }

    async fn token(&self, fields: &[(&str, &str)]) -> (StatusCode, Value) {
        let usual = [("client_id", CONFIDENTIAL), ("client_secret", SECRET)];
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(usual.iter().chain(fields))
            .finish();
        let request = system_testing::user::http()
            .post(format!("{}/token", self.issuer))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        (status, answer.json().await.unwrap_or_default())
    }

    async fn redeem(&self, code: &str) -> (StatusCode, Value) {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT_URI),
            ("code_verifier", VERIFIER),
        ])
        .await
    }

    async fn refresh(&self, token: &str) -> (StatusCode, Value) {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.token(&fields).await
    }

    async fn get(&self, path: &str, cookie: &str) -> (StatusCode, String) {
        let url = format!("{}{path}", self.base);
        let request = system_testing::user::http().get(url).header("cookie", cookie);
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("text"))
    }
}

/// A code for a client, of a browser that may be signed in.
async fn code(own: &Incarnation, browser: &mut Browser) -> String {
    let back = oauth::agree(browser, own.request().as_str(), &own.login).await;
    let code = back.url.query_pairs().find(|(name, _)| name == "code");
    code.unwrap_or_else(|| panic!("no code: {back:?}")).1.into_owned()
}

/// The webhook token that the host gave out for the job of a task.
async fn webhook_token(silent: &MockServer, task: &str) -> String {
    for _ in 0..400 {
        for request in silent.received_requests().await.expect("recorded") {
            let call: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let token = &call["params"]["configuration"]["taskPushNotificationConfig"]["token"];
            if let Some(token) = token.as_str().filter(|token| token.starts_with(task)) {
                return token.to_owned();
            }
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the job was never handed over");
}

/// Waits until the receiver was told something.
async fn heard_of(local: &Local, receiver: &MockServer) {
    for _ in 0..200 {
        if !receiver.received_requests().await.expect("recorded").is_empty() {
            return;
        }
        local.system.sweep().await;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("nothing was told");
}

/// The cookies of a browser as they are sent, under the names that the other tenant's have as well.
fn renamed(pairs: &[(String, String)], from: &str, to: &str) -> Vec<(String, String)> {
    let other = pairs
        .iter()
        .map(|(name, value)| (name.replace(from, to), value.clone()));
    pairs.iter().cloned().chain(other).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_gets_the_name_of_another_inherits_nothing() {
    let local = Local::start().await;
    let first = Incarnation::add(&local).await;
    let user = User::new(&first.base);
    let said = order(&user, &first.base, &first.login).await;
    assert!(said.contains("1001"), "{said}");
    let chats = user.call(Method::GET, "/api/chats", None).await.json();
    let chat = chats["chats"][0]["id"].as_str().expect("a chat").to_owned();
    let task = user.call(Method::GET, "/api/tasks", None).await.json();
    let task = task["tasks"][0]["id"].as_str().expect("a task").to_owned();
    user.chat("second", "m1", "Hello").await;
    let cursor = user.call(Method::GET, "/api/chats?limit=1", None).await.json();
    let cursor = cursor["next"].as_str().expect("a cursor").to_owned();
    let older = user.get(&format!("/api/chats?cursor={cursor}")).await;
    assert!(older.text.contains(&chat), "it leads there: {older:?}");
    let stranger = User::new(&first.base);
    let asked = stranger.ask("Where is my order 1002?").await;
    let waiting = stranger.until(&asked.task_id(), &["auth-required"]).await;
    let open = link(&waiting);

    // A job that is open, with the token of its notifications; and a task that tells a receiver how it goes on.
    let silent = silent_agent(&local).await;
    let parrot = User::new(&first.base).ask("parrot this: 1").await.task_id();
    let webhook = webhook_token(&silent, &parrot).await;
    let receiver = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200))
        .mount(&receiver)
        .await;
    first.report(&local, &receiver.uri()).await;
    heard_of(&local, &receiver).await;

    let mut browser = oauth::apps_browser();
    let used = code(&first, &mut browser).await;
    let unused = code(&first, &mut browser).await;
    let (status, tokens) = first.redeem(&used).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let refresh = tokens["refresh_token"]
        .as_str()
        .expect("a refresh token")
        .to_owned();
    let access = tokens["access_token"].as_str().expect("a token").to_owned();
    assert_eq!(
        knock(&first.horizon, Some(access.clone())).await,
        StatusCode::NOT_FOUND,
        "let in"
    );
    let signed = |signer, audience: &str| {
        let scope = "tasks orders:read registry:read";
        local
            .system
            .signed(signer, "user-demo", audience, scope, Duration::ZERO)
    };
    let audiences = |own: &Incarnation| {
        let platform = ["/agents/weather", "/registry"].map(|place| local.endpoint(place).to_owned());
        [own.host.clone(), own.horizon.clone()]
            .into_iter()
            .chain(platform)
            .collect::<Vec<_>>()
    };
    let mut jwts = vec![access];
    for audience in audiences(&first) {
        let audience = audience.trim_end_matches('/');
        jwts.extend(signed(Signer::Session(NAME), audience));
        jwts.extend(signed(Signer::Idp(NAME), audience));
    }
    assert_eq!(jwts.len(), 9);

    let (status, _) = admin(&local, Method::DELETE, "/tenants/umbrella", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    for gone in [&first.base, &first.host, &first.horizon] {
        let answer = system_testing::user::http()
            .get(gone)
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{gone}");
    }
    let second = Incarnation::add(&local).await;
    assert_ne!(first.issuer, second.issuer);
    assert_eq!(first.base, second.base, "the address is the name's");

    // The chat's cookie: no chat, no task, no connection, and nothing behind an old cursor.
    let (before, after) = (
        first.issuer.rsplit('/').next().expect("a prefix"),
        second.issuer.rsplit('/').next().expect("a prefix"),
    );
    let cookie = user.cookie().expect("a session");
    for cookie in [cookie.clone(), cookie.replace(before, after)] {
        let (status, listed) = second.get("/api/chats", &cookie).await;
        assert_eq!(
            (status, listed.contains(&chat)),
            (StatusCode::OK, false),
            "{listed}"
        );
        let (_, page) = second.get(&format!("/api/chats?cursor={cursor}"), &cookie).await;
        assert!(!page.contains(&chat), "{page}");
        for path in [
            format!("/api/chats/{chat}/messages"),
            format!("/api/tasks/{task}"),
        ] {
            assert_eq!(
                second.get(&path, &cookie).await.0,
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        let (_, connections) = second.get("/api/connections", &cookie).await;
        assert!(!connections.contains("idp"), "{connections}");
    }

    // The login: a password is asked for, whatever the cookie is called.
    let pairs: Vec<(String, String)> = browser
        .cookies()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut old = Browser::default();
    for (name, value) in renamed(&pairs, before, after) {
        old.set(&name, &value);
    }
    for (own, shown) in [(&first, "nothing here"), (&second, "name=\"password\"")] {
        let page = old.open(own.request().as_str()).await;
        assert!(page.html.contains(shown), "{page:?}");
    }
    let mut anybody = Browser::default();
    let page = anybody.open(second.request().as_str()).await;
    let password = first.login["password"].as_str().expect("a password");
    let page = anybody
        .submit(&page, &[("username", "demo"), ("password", password)])
        .await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "an old password: {page:?}");

    // A code and a refresh token, at either issuer.
    for own in [&first, &second] {
        for (status, answer) in [own.redeem(&unused).await, own.refresh(&refresh).await] {
            assert!(status.is_client_error(), "{answer}");
            assert!(answer["access_token"].is_null(), "{answer}");
        }
    }

    // Every token at every door.
    for audience in audiences(&second) {
        for token in &jwts {
            let audience = audience.trim_end_matches('/');
            let status = match audience.ends_with("/registry") {
                true => get(&format!("{audience}/agents"), Some(token)).await.0,
                false => knock(audience, Some(token.clone())).await,
            };
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
            assert!(refused.contains(&status), "{audience}: {status}");
        }
    }

    // The link of a consent that was open, with the session that began it.
    let mut starter = stranger.browser("/");
    let page = starter.open(&open).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND, "{page:?}");

    // The token of an open job, and the task that had something to tell.
    let news = json!({ "taskId": "x", "status": "completed", "result": "stolen" });
    for header in ["authorization", "x-a2a-notification-token"] {
        let value = match header {
            "authorization" => format!("Bearer {webhook}"),
            _ => webhook.clone(),
        };
        let told = system_testing::user::http().post(format!("{}/api/webhook/tasks", second.base));
        let answer = told
            .header(header, value)
            .json(&news)
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{header}");
    }
    receiver.reset().await;
    for _ in 0..20 {
        local.advance(Duration::from_secs(30)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = receiver.received_requests().await.expect("recorded");
    assert!(
        told.is_empty(),
        "a tenant that is gone tells nobody anything: {told:?}"
    );

    // What the second has is its own, and the first's is not in it.
    let user = User::new(&second.base);
    user.ask("Hello").await;
    let page = user.get(&format!("/api/chats?cursor={cursor}")).await;
    assert!(
        page.status.is_client_error() && !page.text.contains(&chat),
        "{page:?}"
    );
    assert!(order(&user, &second.base, &second.login).await.contains("1001"));
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_at_a_suspended_tenant_and_what_waited_goes_on_when_it_is_resumed() {
    let local = Local::start().await;
    let hold = async |suspended: bool| {
        let body = json!({ "suspended": suspended });
        admin(&local, Method::PUT, "/tenants/acme/status", Some(body))
            .await
            .0
    };
    let user = local.user("acme");
    let asked = user.ask("Prepare a report on bridges").await;
    let id = asked.task_id();
    let host = local.endpoint("/tenants/acme/host_agent");
    let weather = local.endpoint("/agents/weather").trim_end_matches('/').to_owned();
    let horizon = local.resource("acme");
    assert_eq!(hold(true).await, StatusCode::NO_CONTENT);
    for path in [
        "/",
        "/api/chats",
        "/api/tasks",
        &format!("/api/tasks/{id}"),
        "/connect/x",
        "/callback",
    ] {
        let answer = user.call(Method::GET, path, None).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(answer.json()["error"], "tenant_suspended");
    }
    // Whoever opens it in a browser reads so, in words.
    for path in ["", "/tasks", "/signin", "/connect/x"] {
        let url = format!(
            "{}{path}",
            local.endpoint("/tenants/acme/base").trim_end_matches('/')
        );
        let opened = system_testing::user::http()
            .get(url)
            .header("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
        let page = opened.send().await.expect("an answer");
        assert_eq!(page.status(), StatusCode::FORBIDDEN, "{path}");
        let (media, policy) = (
            &page.headers()["content-type"],
            &page.headers()["content-security-policy"],
        );
        assert_eq!(media, "text/html; charset=utf-8");
        assert!(policy.to_str().expect("text").starts_with("default-src 'none'"));
        let text = page.text().await.expect("text");
        assert!(
            text.contains("This is closed for now") && !text.contains("acme"),
            "{text}"
        );
    }
    let answer = user
        .call(Method::POST, "/api/webhook/tasks", Some(json!({})))
        .await;
    assert!([401, 503].contains(&answer.status.as_u16()), "{answer:?}");
    for (signer, audience) in [
        (Signer::Session("acme"), host),
        (Signer::Idp("acme"), host),
        (Signer::Session("acme"), weather.as_str()),
        (Signer::Idp("acme"), horizon.as_str()),
    ] {
        let token = local
            .system
            .signed(signer, "user-ada", audience, "tasks orders:read", Duration::ZERO);
        assert_eq!(knock(audience, token).await, StatusCode::FORBIDDEN, "{audience}");
    }
    let registry = local.endpoint("/registry").trim_end_matches('/');
    let asked = system_testing::user::http()
        .get(format!("{registry}/agents"))
        .bearer_auth(
            local
                .system
                .registry_token("acme", "registry:read")
                .expect("a token"),
        );
    let refused = asked.send().await.expect("an answer");
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let metadata = format!("{}/.well-known/openid-configuration", local.issuer("acme"));
    let refused = system_testing::user::http()
        .get(metadata)
        .send()
        .await
        .expect("an answer");
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);

    // Others go on, and so does it, once it is resumed.
    let globex = local.user("globex").ask("Will it rain in Oslo tomorrow?").await;
    assert!(!globex.task_id().is_empty());
    assert_eq!(hold(false).await, StatusCode::NO_CONTENT);
    // A report takes several steps, each due some time after the one before.
    for _ in 0..60 {
        local.advance(Duration::from_secs(10)).await;
        if user.task(&id).await["status"] == "completed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let done = user.task(&id).await;
    assert_eq!(done["status"], "completed", "{done:#}");
    local.system.stop().await;
}

/// Of two tenants that have the same under way, one is suspended, then removed.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_due_of_a_tenant_that_was_removed_and_all_of_its_tasks_have_an_end() {
    let local = Local::start().await;
    for tenant in ["acme", "globex"] {
        let user = local.user(tenant);
        for number in 0..2 {
            user.ask(&format!("Prepare a report on bridges, part {number}"))
                .await;
        }
    }
    let items = async |filter: &str| {
        let body = json!({ "TableName": "switchyard-tasks", "FilterExpression": filter });
        let (_, place) = local.endpoint("/dynamodb").split_once("://").expect("an address");
        let url = format!("http://{}@{place}", local.endpoint("/dynamodb_key/access_key_id"));
        let told = system_testing::dynamodb::call(&url, "Scan", &body).await;
        let keys = told["Items"].as_array().expect("items").iter();
        let of = |name: &str| {
            keys.clone()
                .filter(|item| item["pk"]["S"].as_str().is_some_and(|key| key.starts_with(name)))
                .count()
        };
        (of("globex"), of("acme"))
    };
    let held = json!({ "suspended": true });
    let (status, _) = admin(&local, Method::PUT, "/tenants/globex/status", Some(held)).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (due, others) = items("attribute_exists(due_at)").await;
    assert!(due >= 2 && others >= 2, "{due}, {others}");
    let (status, told) = admin(&local, Method::DELETE, "/tenants/globex", None).await;
    assert!(status.is_success(), "{told}");
    assert_eq!(items("attribute_exists(due_at)").await.0, 0);
    let (endless, others) = items("attribute_not_exists(expires_at)").await;
    assert!(endless == 0 && others >= 2, "{endless}, {others}");
    local.system.stop().await;
}
