//! Whoever was removed, has another password, has signed out, or is of a tenant that is suspended: what they had before, by every way in.
//! An access token that an application has got is checked by agents on their own, and ends with its ten minutes; but with its tenant at
//! once. Over MQTT it is the same: `mqtt::tokens`.

use std::time::Duration;

use domain::{Owner, SettingChange, Tenant};
use idp::NewUser;
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use system_testing::browser::{Browser, Page};
use system_testing::oauth::{self, CONFIDENTIAL, REDIRECT_URI, SECRET};
use system_testing::{Local, User};
use tokio::task::JoinHandle;
use url::Url;

use crate::sign_in::{chat_of, sign_in};
use crate::tenants::{admin, knock, link};

const VERIFIER: &str = "verifier-x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2x1Y2";
const PASSWORD: &str = "a-password-of-the-tests";
/// How long an open stream may go on: it looks for its session every five seconds.
const LOOKED: Duration = Duration::from_secs(15);
/// For how long an access token is good, with the minute by which clocks may differ.
const TOKENS_LIFE: Duration = Duration::from_secs(660);

/// What ends what somebody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Removed,
    Changed,
    /// Here in the chat: what applications were let do stays, and so does the sign-in over there.
    SignedOut,
    Everywhere,
    Suspended,
}

/// The last one ends everybody.
const ENDS: [End; 5] = [
    End::Removed,
    End::Changed,
    End::SignedOut,
    End::Everywhere,
    End::Suspended,
];

struct World {
    local: Local,
    base: String,
    /// Where an application's tokens are good.
    host: String,
    horizon: String,
}

/// Somebody who has signed in, and all that they have by that.
struct Somebody {
    name: String,
    owner: Owner,
    browser: Browser,
    user: User,
    task: String,
    /// The consent that a task of theirs waits for, and the answer to another that is on its way back.
    link: String,
    back: String,
    /// What whoever has it reads of a task of theirs.
    shared: String,
    code: String,
    refresh: String,
    at_horizon: String,
    at_host: String,
}

impl World {
    async fn start() -> Self {
        let local = Local::start_as(Options {
            require_sign_in: true,
            ..Options::default()
        })
        .await;
        let at = |place: &str| local.endpoint(place).trim_end_matches('/').to_owned();
        let (base, host) = (at("/tenants/acme/base"), at("/tenants/acme/host_agent"));
        let horizon = local.resource("acme");
        let mut client = oauth::client(CONFIDENTIAL, Some(SECRET), &horizon);
        client.resources.push(host.clone());
        let users: Vec<NewUser> = ENDS
            .iter()
            .map(|end| NewUser {
                username: name_of(*end),
                display_name: name_of(*end),
                password: PASSWORD.into(),
                roles: vec!["operator".to_owned(), "admin".to_owned()],
            })
            .collect();
        oauth::register(local.system.store(), "acme", &[client], &users).await;
        let on = [SettingChange::parse("share", Some("on")).expect("a setting")];
        let set = local.system.store().tenants().set(&Self::tenant(), &on).await;
        assert!(set.expect("settings"));
        local.clock.advance(store::SETTINGS_TTL);
        Self {
            local,
            base,
            host,
            horizon,
        }
    }

    fn tenant() -> Tenant {
        Tenant::parse("acme").expect("a tenant")
    }

    fn asks(&self, resource: &str, more: &[(&str, &str)]) -> String {
        let mut url = Url::parse(&format!("{}/authorize", self.local.issuer("acme"))).expect("an address");
        url.query_pairs_mut()
            .extend_pairs([
                ("response_type", "code"),
                ("client_id", CONFIDENTIAL),
                ("redirect_uri", REDIRECT_URI),
                ("scope", oauth::SCOPES),
                ("resource", resource),
                ("state", "s"),
                ("code_challenge", &auth::pkce::challenge(VERIFIER)),
                ("code_challenge_method", "S256"),
            ])
            .extend_pairs(more);
        url.into()
    }

    /// What the application's address is called with.
    async fn answer(&self, browser: &mut Browser, url: &str, login: &Value) -> Url {
        browser.stop_at = Some(REDIRECT_URI.to_owned());
        let back = oauth::agree(browser, url, login).await;
        browser.stop_at = None;
        back.url
    }

    async fn code(&self, browser: &mut Browser, resource: &str, login: &Value) -> String {
        let back = self.answer(browser, &self.asks(resource, &[]), login).await;
        let code = back.query_pairs().find(|(name, _)| name == "code");
        code.unwrap_or_else(|| panic!("no code: {back}")).1.into_owned()
    }

    async fn token(&self, fields: &[(&str, &str)]) -> (StatusCode, Value) {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = system_testing::user::http()
            .post(format!("{}/token", self.local.issuer("acme")))
            .basic_auth(CONFIDENTIAL, Some(SECRET))
            .header("content-type", "application/x-www-form-urlencoded");
        let answer = request.body(body).send().await.expect("an answer");
        (answer.status(), answer.json().await.unwrap_or_default())
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
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token)])
            .await
    }

    async fn userinfo(&self, token: &str) -> StatusCode {
        let asked = system_testing::user::http().get(format!("{}/userinfo", self.local.issuer("acme")));
        asked.bearer_auth(token).send().await.expect("an answer").status()
    }

    /// Somebody comes, works and lets an application in.
    async fn comes(&self, end: End) -> Somebody {
        let name = name_of(end);
        let login = json!({ "username": name, "password": PASSWORD });
        let mut browser = Browser::default();
        sign_in(&self.local, &mut browser, &login).await;
        let user = chat_of(&self.local, &browser);
        let cookie = user.cookie().expect("a session");
        let sessions = self.local.system.store().sessions();
        let hash = auth::token::hash(cookie.split_once('=').expect("a cookie").1);
        let now = domain::Clock::now(&*self.local.clock);
        let session = sessions.find_session(&Self::tenant(), &hash, now).await;
        let owner = session.expect("sessions").expect("a session").owner;

        let file =
            json!({ "type": "file", "mediaType": "text/plain", "url": "data:text/plain;base64,c2VjcmV0" });
        let parts = json!([{ "type": "text", "text": "Where is my order 1001?" }, file]);
        let message = json!({ "id": "m1", "role": "user", "parts": parts });
        let asked = user.call(
            Method::POST,
            "/api/chat",
            Some(json!({ "id": "files", "message": message })),
        );
        let asked = asked.await;
        assert_eq!(asked.status, 200, "{asked:?}");
        let task = asked.task_id();
        let link = link(&user.until(&task, &["auth-required"]).await);
        let waiting = user.chat("way", "m1", "Where is my order 1002?").await.task_id();
        let way = crate::tenants::link(&user.until(&waiting, &["auth-required"]).await);
        browser.stop_at = Some(format!("{}/callback", self.base));
        let back = oauth::agree(&mut browser, &way, &login).await;
        browser.stop_at = None;
        assert!(back.url.path().ends_with("/callback"), "{back:?}");

        let rain = user
            .chat("rain", "m1", "Will it rain in Oslo tomorrow?")
            .await
            .task_id();
        user.until(&rain, &["completed"]).await;
        let path = format!("/api/tasks/{rain}/share");
        let made = user.call(Method::POST, &path, Some(json!({}))).await;
        assert_eq!(made.status, 201, "{made:?}");

        let mut tokens = Vec::new();
        for resource in [&self.horizon, &self.host] {
            let code = self.code(&mut browser, resource, &login).await;
            let (status, told) = self.redeem(&code).await;
            assert_eq!(status, StatusCode::OK, "{told}");
            tokens.push(told);
        }
        let text = |told: &Value, name: &str| told[name].as_str().expect("a token").to_owned();
        let code = self.code(&mut browser, &self.horizon, &login).await;
        Somebody {
            name,
            owner,
            user,
            task,
            link,
            back: back.url.into(),
            shared: text(&made.json(), "link"),
            code,
            refresh: text(&tokens[0], "refresh_token"),
            at_horizon: text(&tokens[0], "access_token"),
            at_host: text(&tokens[1], "access_token"),
            browser,
        }
    }

    /// Opens the stream of somebody's news; done when it ends.
    async fn stream(&self, of: &Somebody) -> JoinHandle<()> {
        let asked = system_testing::user::http()
            .get(format!("{}/api/events", self.base))
            .header("accept", "text/event-stream")
            .header("cookie", of.user.cookie().expect("a session"));
        let mut answer = asked.send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        tokio::spawn(async move { while let Ok(Some(_)) = answer.chunk().await {} })
    }

    async fn ends(&self, end: End, of: &mut Somebody) {
        let user = format!("/tenants/acme/users/{}", of.name);
        let (status, told) = match end {
            End::Removed => admin(&self.local, Method::DELETE, &user, None).await,
            End::Changed => admin(&self.local, Method::POST, &format!("{user}/reset"), None).await,
            End::SignedOut => {
                let out = of.user.call(Method::POST, "/signout", Some(json!({}))).await;
                (out.status, Value::Null)
            }
            End::Everywhere => {
                let place = format!("{}/logout", self.local.issuer("acme"));
                let asks = of.browser.open(&place).await;
                let everywhere = Page {
                    html: asks.html.replacen("value=\"logout\"", "value=\"everywhere\"", 1),
                    ..asks
                };
                (of.browser.submit(&everywhere, &[]).await.status, Value::Null)
            }
            End::Suspended => {
                let body = json!({ "suspended": true });
                admin(&self.local, Method::PUT, "/tenants/acme/status", Some(body)).await
            }
        };
        assert!(status.is_success(), "{end:?}: {status} {told}");
    }
}

fn name_of(end: End) -> String {
    format!("{end:?}").to_lowercase()
}

impl Somebody {
    /// What only this person's session leads to, and how it is answered while it is good.
    fn chats_ways(&self) -> Vec<(Method, String, Option<Value>, u16)> {
        let message = json!({ "id": "m2", "role": "user", "parts": [{ "type": "text", "text": "Hello" }] });
        let (task, chat) = (&self.task, "files");
        let get = |path: String, good| (Method::GET, path, None, good);
        vec![
            (
                Method::POST,
                "/api/chat".to_owned(),
                Some(json!({ "id": "hello", "message": message })),
                200,
            ),
            get(format!("/api/chat/{chat}/stream"), 204),
            get(format!("/api/chats/{chat}/messages"), 200),
            get(format!("/api/chats/{chat}/messages/m1/files/0"), 200),
            get("/api/chats".to_owned(), 200),
            get("/api/events".to_owned(), 200),
            get("/api/tasks".to_owned(), 200),
            get(format!("/api/tasks/{task}"), 200),
            get(format!("/api/tasks/{task}/events"), 200),
            get("/api/models".to_owned(), 200),
            get(format!("/api/tasks/{task}/share"), 200),
            get("/api/shares".to_owned(), 200),
            get("/api/connections".to_owned(), 200),
            get("/api/ops/agents".to_owned(), 200),
            get("/api/ops/tasks".to_owned(), 200),
            get("/api/ops/usage".to_owned(), 200),
            get("/api/admin/users".to_owned(), 200),
            get("/api/admin/settings".to_owned(), 200),
            get("/api/admin/access".to_owned(), 200),
        ]
    }

    /// The status of the answer, which may be a stream that goes on.
    async fn asks(&self, base: &str, (method, path, body, _): &(Method, String, Option<Value>, u16)) -> u16 {
        let mut request = system_testing::user::http()
            .request(method.clone(), format!("{base}{path}"))
            .header("cookie", self.user.cookie().expect("a session"));
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await.expect("an answer").status().as_u16()
    }

    /// How the link to what they share is answered, which asks nobody who they are.
    async fn reads(&self) -> u16 {
        let answer = system_testing::user::http().get(&self.shared).send().await;
        answer.expect("an answer").status().as_u16()
    }

    /// How the link of the consent is answered in this browser, and where it leads.
    async fn follows(&self) -> (u16, String) {
        let asked = system_testing::user::http()
            .get(&self.link)
            .header("cookie", self.user.cookie().expect("a session"));
        let answer = asked.send().await.expect("an answer");
        let place = answer.headers().get("location");
        let place = place.map_or("", |place| place.to_str().expect("text"));
        (answer.status().as_u16(), place.to_owned())
    }
}

/// Each way is one, or the answers afterwards would say nothing.
async fn is_in(world: &World, (end, of): (End, &Somebody)) -> JoinHandle<()> {
    for way in of.chats_ways() {
        assert_eq!(
            of.asks(&world.base, &way).await,
            way.3,
            "{end:?} before: {} {}",
            way.0,
            way.1
        );
    }
    assert_eq!(of.reads().await, 200, "{end:?}");
    let (status, place) = of.follows().await;
    assert!(
        status == 302 && !place.contains("prompt=consent"),
        "{end:?}: {status} {place}"
    );
    knocks(world, (end, of), StatusCode::NOT_FOUND).await;
    assert_eq!(world.userinfo(&of.at_horizon).await, StatusCode::OK, "{end:?}");
    world.stream(of).await
}

/// What the agents say to the application's access tokens.
async fn knocks(world: &World, (end, of): (End, &Somebody), wanted: StatusCode) {
    for (agent, token) in [(&world.horizon, &of.at_horizon), (&world.host, &of.at_host)] {
        assert_eq!(
            knock(agent, Some(token.clone())).await,
            wanted,
            "{end:?} at {agent}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_left_or_was_shut_out_has_nothing_by_any_way_in() {
    let world = World::start().await;
    let mut everybody = Vec::new();
    for end in ENDS {
        everybody.push((end, world.comes(end).await));
    }
    let mut streams = Vec::new();
    for (end, of) in &everybody {
        streams.push(is_in(&world, (*end, of)).await);
    }
    assert!(
        streams.iter().all(|stream| !stream.is_finished()),
        "they stay open"
    );
    world.local.clock.advance(Duration::from_secs(2));

    for is_suspended in [false, true] {
        let ends = |end: End| (end == End::Suspended) == is_suspended;
        for (end, of) in everybody.iter_mut().filter(|(end, _)| ends(*end)) {
            world.ends(*end, of).await;
        }
        for ((end, of), stream) in everybody.iter_mut().zip(&mut streams) {
            if ends(*end) {
                is_over(&world, *end, of).await;
                let stream = tokio::time::timeout(LOOKED, stream).await;
                assert!(stream.is_ok(), "{end:?}: an open stream ends");
            }
        }
    }
    // While the tenant is suspended nobody's token is good.
    for (end, of) in &everybody {
        knocks(&world, (*end, of), StatusCode::FORBIDDEN).await;
    }
    let resumed = json!({ "suspended": false });
    let (status, _) = admin(&world.local, Method::PUT, "/tenants/acme/status", Some(resumed)).await;
    assert!(status.is_success());
    // Whoever was shut out is in again; the others have come to their end.
    for (end, of) in &everybody {
        let way = (Method::GET, "/api/chats".to_owned(), None, 0);
        let wanted = if *end == End::Suspended { 200 } else { 401 };
        assert_eq!(of.asks(&world.base, &way).await, wanted, "{end:?}, resumed");
        // What was shared before the suspension is not.
        assert_eq!(of.reads().await, 404, "{end:?}, resumed");
    }
    world.local.clock.advance(TOKENS_LIFE);
    for (end, of) in &everybody {
        knocks(&world, (*end, of), StatusCode::UNAUTHORIZED).await;
    }
    world.local.system.stop().await;
}

async fn is_over(world: &World, end: End, of: &mut Somebody) {
    // What is shut answers so; whoever has no session that is good is asked to sign in.
    let shut = end == End::Suspended;
    let wanted = if shut { 403 } else { 401 };
    for way in of.chats_ways() {
        assert_eq!(
            of.asks(&world.base, &way).await,
            wanted,
            "{end:?}: {} {}",
            way.0,
            way.1
        );
    }
    let is_read = match end {
        End::SignedOut => 200,
        End::Suspended => 403,
        End::Removed | End::Changed | End::Everywhere => 404,
    };
    assert_eq!(of.reads().await, is_read, "{end:?}: what they shared");

    // Consent: the link is a stranger's, who is told that its starter is on their way; and the answer that comes back grants nothing.
    let strangers = if shut { 403 } else { 409 };
    assert_eq!(of.follows().await, (strangers, String::new()), "{end:?}");
    let page = of.browser.open(&of.back).await;
    assert!(!page.html.contains("You are connected"), "{end:?}: {page:?}");
    let grants = world.local.system.store().grants();
    let granted = grants.list_grants(&World::tenant(), &of.owner).await;
    assert_eq!(granted.expect("grants"), [], "{end:?}");

    // The authorization server.
    let stays = end == End::SignedOut;
    let refused = if shut {
        StatusCode::FORBIDDEN
    } else {
        StatusCode::BAD_REQUEST
    };
    let usual = if stays { StatusCode::OK } else { refused };
    for (what, (status, told)) in [
        ("code", world.redeem(&of.code).await),
        ("refresh", world.refresh(&of.refresh).await),
    ] {
        assert_eq!(status, usual, "{end:?}, {what}: {told}");
    }
    let silent = world.asks(&world.horizon, &[("prompt", "none")]);
    of.browser.stop_at = Some(REDIRECT_URI.to_owned());
    let back = of.browser.open(&silent).await;
    let has_code = back.url.query_pairs().any(|(name, _)| name == "code");
    assert_eq!(has_code, stays, "{end:?}, silently: {}", back.url);
    let informed = match (stays, shut) {
        (true, _) => StatusCode::OK,
        (_, true) => StatusCode::FORBIDDEN,
        _ => StatusCode::UNAUTHORIZED,
    };
    assert_eq!(world.userinfo(&of.at_horizon).await, informed, "{end:?}");

    // Agents check an access token on their own.
    let let_in = if shut {
        StatusCode::FORBIDDEN
    } else {
        StatusCode::NOT_FOUND
    };
    knocks(world, (end, of), let_in).await;
}
