//! The system under attack: a victim of tenant `acme` with something of theirs at every function.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Mutex as Lock;
use std::time::Duration;

use auth::{Grant, SigningKey};
use domain::{Clock, ExposeSecret, Owner, SettingChange, SystemEntropy, Tenant};
use host_agent::PlanApproval;
use local::{MqttBroker, Options, Signer};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use store::{GuestBefore, Person, Session};
use system_testing::browser::Browser;
use system_testing::oauth::{self, CONFIDENTIAL, SECRET};
use system_testing::{Local, User};
use tokio::sync::Mutex;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::elsewhere::Elsewhere;
use super::{Attack, Row, Told, agents, bridge, identity, services, sign_in};
use crate::scripted::Scripted;

tokio::task_local! {
    /// What was sent for a row, and how it was answered.
    pub(super) static SENT: RefCell<Vec<(RequestBuilder, StatusCode)>>;
}

/// The victim's owner at the agents.
pub(super) const VICTIM: &str = "user-ada";
/// A second client of `acme` with a secret, and a client that `globex` alone has.
pub(super) const OTHER_CLIENT: &str = "other-server";
pub(super) const GLOBEX_CLIENT: &str = "globex-server";
pub(super) const OTHER_SECRET: &str = "another-secret-of-the-tests-of-good-length";

pub(super) struct World {
    pub(super) local: Local,
    pub(super) http: reqwest::Client,
    /// The victim's ids: what no stranger's answer may hold.
    pub(super) secrets: Vec<String>,
    /// The victim's tasks at each of [`agents::NAMES`].
    pub(super) tasks: [String; 6],
    /// More of them, for what good credentials change.
    pub(super) spare: [String; 6],
    /// The victim in the chat, somebody else there, and somebody of the other tenant.
    pub(super) user: User,
    pub(super) stranger: User,
    pub(super) foreigner: User,
    /// The victim's task and chat there.
    pub(super) chat: String,
    pub(super) chat_task: String,
    /// Another task of theirs, whose plan waits, and the plan's hash.
    pub(super) chat_plan: (String, String),
    /// Another task of theirs, which brought a file.
    pub(super) printed: String,
    /// Cookies whose sessions have ended: by time, by signing out, with their user, with their user's password.
    pub(super) ended_cookies: Vec<String>,
    /// Keys of nobody whom the system trusts.
    pub(super) rogue: SigningKey,
    /// A specialist that never answers, and so keeps jobs open.
    pub(super) silent: MockServer,
    /// An issuer that is not ours, which people of `acme` sign in at too.
    pub(super) elsewhere: Elsewhere,
    /// Where the victim is signed in at the authorization servers of both tenants.
    pub(super) browser: Mutex<Browser>,
    pub(super) moves: Lock<u32>,
    /// Answers of operations that the API document is about.
    answers: Lock<Vec<Value>>,
}

impl World {
    pub(super) async fn start() -> Self {
        let local = Local::start_as(Options {
            plan_approval: PlanApproval::Always,
            // Nobody is there.
            mqtt: Some(MqttBroker::open("mqtt://127.0.0.1:9".parse().expect("a broker"))),
            ..Options::default()
        })
        .await;
        let resource = local.resource("acme");
        oauth::register_both(&local, "acme").await;
        let other = oauth::client(OTHER_CLIENT, Some(OTHER_SECRET), &resource);
        oauth::register(local.system.store(), "acme", &[other], &[]).await;
        let globex = oauth::client(GLOBEX_CLIENT, Some(SECRET), &local.resource("globex"));
        oauth::register(local.system.store(), "globex", &[globex], &[]).await;
        let silent = silent_agent(&local).await;
        for tenant in ["acme", "globex"] {
            let tenant = Tenant::parse(tenant).expect("a tenant");
            let on = [SettingChange::parse("share", Some("on")).expect("a setting")];
            let set = local.system.store().tenants().set(&tenant, &on).await;
            assert!(set.expect("settings"), "{}", tenant.name());
        }
        // What functions have read of their tenants is good for so long.
        local.clock.advance(store::SETTINGS_TTL);

        let (user, stranger, foreigner) = (local.user("acme"), local.user("acme"), local.user("globex"));
        let chat = "victims-chat".to_owned();
        let asked = user
            .chat(&chat, "victims-message", "Where is my order 1001?")
            .await;
        let chat_task = asked.task_id();
        user.until(&chat_task, &["auth-required"]).await;
        let chat_plan = waiting_plan(&user).await;
        let printed = printed_task(&local, &user).await;
        stranger
            .chat("strangers-chat", "strangers-message", "Hello")
            .await;
        foreigner
            .chat("foreigners-chat", "foreigners-message", "Hello")
            .await;
        let ended_cookies = ended_sessions(&local, &user).await;
        let elsewhere = Elsewhere::start(&local).await;
        let mut world = Self {
            http: system_testing::user::http(),
            secrets: Vec::new(),
            tasks: Default::default(),
            spare: Default::default(),
            user,
            stranger,
            foreigner,
            chat,
            chat_task,
            chat_plan,
            printed,
            ended_cookies,
            rogue: SigningKey::generate().expect("a key").0,
            silent,
            elsewhere,
            browser: Mutex::new(oauth::apps_browser()),
            moves: Lock::new(0),
            answers: Lock::default(),
            local,
        };
        for (number, at) in agents::NAMES.into_iter().enumerate() {
            world.tasks[number] = agents::new_task(&world, at).await;
            world.spare[number] = agents::new_task(&world, at).await;
        }
        world.secrets = world.tasks.to_vec();
        world.secrets.extend([
            world.chat.clone(),
            world.chat_task.clone(),
            world.chat_plan.0.clone(),
            "a-scope-of-the-victims".to_owned(),
        ]);
        world
    }

    /// The answers to an attack, one for each shape that it has.
    pub(super) async fn attack(&self, row: &Row, attack: Attack) -> Vec<Told> {
        self.ask(row, Some(attack)).await
    }

    /// The answer to good credentials.
    pub(super) async fn good(&self, row: &Row) -> Vec<Told> {
        self.ask(row, None).await
    }

    async fn ask(&self, row: &Row, attack: Option<Attack>) -> Vec<Told> {
        match row.function {
            "agent" => agents::ask(self, row, attack).await,
            "mqtt_bridge" => bridge::ask(self, row, attack).await,
            "registry" | "chat_api" | "webhook_receiver" | "gateway" => {
                services::ask(self, row, attack).await
            }
            "oauth_callback" if row.route.starts_with("/sign") => sign_in::ask(self, row, attack).await,
            _ => identity::ask(self, row, attack).await,
        }
    }

    /// What the victim has, as the victim sees it, by where it is.
    pub(super) async fn victims(&self) -> BTreeMap<&'static str, Value> {
        let messages = format!("/api/chats/{}/messages", self.chat);
        let registered = self
            .http
            .get(format!("{}/agents", self.at("/registry")))
            .bearer_auth(self.local.endpoint("/registry_token"))
            .send();
        let registered = registered.await.expect("an answer").json().await.expect("JSON");
        let mut found = BTreeMap::from([
            ("chat's task", self.user.task(&self.chat_task).await),
            ("chat's plan", self.user.task(&self.chat_plan.0).await),
            ("chat", self.user.get(&messages).await.json()),
            ("registry", registered),
        ]);
        let acme = Tenant::parse("acme").expect("a tenant");
        let store = self.local.system.store();
        let users = store.identity().list_users(&acme).await.expect("users");
        let users = users
            .into_iter()
            .map(|user| serde_json::to_value(user).expect("JSON"));
        found.insert("users", users.collect());
        let settings = store.tenants().settings(&acme).await.expect("settings");
        found.insert("settings", json!(settings));
        for (at, id) in agents::NAMES.into_iter().zip(&self.tasks) {
            found.insert(at, agents::look(self, at, id).await);
        }
        found
    }

    /// A URL of the list of endpoints, without a slash at its end.
    pub(super) fn at(&self, pointer: &str) -> String {
        self.local.endpoint(pointer).trim_end_matches('/').to_owned()
    }

    /// A request by method.
    pub(super) fn request(&self, method: &str, url: &str) -> RequestBuilder {
        let method: Method = method.parse().expect("a method");
        self.http.request(method, url)
    }

    /// A token of each shape that an attack has ([`shapes`]).
    pub(super) fn tokens(
        &self,
        signers: (Signer<'_>, Signer<'_>),
        grant: (&str, &str, &str),
        attack: Option<Attack>,
    ) -> Vec<Option<String>> {
        shapes((&self.local, &self.rogue), signers, grant, attack)
    }

    /// Keeps an answer that the API document must describe.
    pub(super) fn note(&self, row: &Row, told: &Told) {
        let described = match row.function {
            "registry" => true,
            "chat_api" => row.route.starts_with("/api/"),
            "oauth_callback" => row.route.starts_with("/sign"),
            "agent" => row.route.starts_with("/deliveries"),
            _ => false,
        };
        if described {
            let place = (row.method, row.route);
            // The text of a redirect is the place it leads to.
            let body = if told.status.is_redirection() {
                ""
            } else {
                &told.text
            };
            let answer = system_testing::openapi::answer(place, told.status.as_u16(), &told.media, body);
            self.answers.lock().expect("no panic under the lock").push(answer);
        }
    }

    /// The answers that were kept.
    pub(super) fn noted(&self) -> Vec<Value> {
        self.answers.lock().expect("no panic under the lock").clone()
    }

    /// A number that was not given before.
    pub(super) fn next(&self) -> u32 {
        let mut moves = self.moves.lock().expect("no panic under the lock");
        *moves += 1;
        *moves
    }

    /// A code of a tenant's authorization server for this client, with its verifier; whoever it is signs in first.
    pub(super) async fn code(&self, tenant: &str, client: &str) -> (String, String) {
        let verifier = format!("{:0>50}", self.next());
        let mut url =
            url::Url::parse(&format!("{}/authorize", self.local.issuer(tenant))).expect("an address");
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", oauth::REDIRECT_URI),
            ("scope", oauth::SCOPES),
            ("resource", &self.local.resource(tenant)),
            ("state", "s"),
            ("code_challenge", &auth::pkce::challenge(&verifier)),
            ("code_challenge_method", "S256"),
        ]);
        let mut browser = self.browser.lock().await;
        let back = oauth::agree(&mut browser, url.as_str(), self.local.login(tenant, 0)).await;
        let code = back.url.query_pairs().find(|(name, _)| name == "code");
        let code = code.unwrap_or_else(|| panic!("no code: {back:?}")).1.into_owned();
        (code, verifier)
    }

    /// The tokens of a code.
    pub(super) async fn granted(&self, tenant: &str, client: &str) -> Value {
        let (code, verifier) = self.code(tenant, client).await;
        let secret = if client == OTHER_CLIENT {
            OTHER_SECRET
        } else {
            SECRET
        };
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("code_verifier", &verifier),
            ("redirect_uri", oauth::REDIRECT_URI),
        ];
        let url = format!("{}/token", self.local.issuer(tenant));
        let answer = self
            .http
            .post(url)
            .basic_auth(client, Some(secret))
            .header("content-type", FORM);
        let answer = answer.body(form(&fields)).send().await.expect("an answer");
        let told: Value = answer.json().await.expect("JSON");
        assert!(told["refresh_token"].is_string(), "{told}");
        told
    }

    /// A refresh token of the confidential client.
    pub(super) async fn refresh_token(&self, tenant: &str, client: &str) -> String {
        let granted = self.granted(tenant, client).await;
        granted["refresh_token"].as_str().expect("a token").to_owned()
    }

    /// The webhook token of a new open job, and the id that its specialist gave it.
    pub(super) async fn webhook(&self) -> (String, String) {
        let task = agents::ask_the_host(self, &format!("parrot this: {}", self.next())).await;
        for _ in 0..400 {
            let requests = self.silent.received_requests().await.expect("recorded");
            for request in requests.iter().rev() {
                let call: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                let config = &call["params"]["configuration"]["taskPushNotificationConfig"];
                let token = config["token"].as_str().unwrap_or_default();
                if token.starts_with(&task) {
                    // Nothing of it is acknowledged before the host has stored the specialist's task.
                    self.linked(&task).await;
                    let id = call["params"]["message"]["messageId"].as_str().expect("an id");
                    return (token.to_owned(), format!("remote-{id}"));
                }
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!(
            "the job was never handed over: {:#}",
            agents::look(self, "host", &task).await
        );
    }

    /// Waits until the host has said that the specialist is at work.
    async fn linked(&self, task: &str) {
        for _ in 0..400 {
            if agents::look(self, "host", task)
                .await
                .to_string()
                .contains("is working on it")
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!(
            "the job was never linked: {:#}",
            agents::look(self, "host", task).await
        );
    }
}

/// A token of each shape that an attack has; `None` is no token at all. `signer` and `globex` are who signs good
/// ones, here and for the other tenant.
pub(crate) fn shapes(
    (local, rogue): (&Local, &SigningKey),
    (signer, globex): (Signer<'_>, Signer<'_>),
    (subject, audience, scope): (&str, &str, &str),
    attack: Option<Attack>,
) -> Vec<Option<String>> {
    let now = Duration::ZERO;
    let signed = |signer, subject: &str, audience: &str, scope: &str, ago| {
        local.system.signed(signer, subject, audience, scope, ago)
    };
    let good = || signed(signer, subject, audience, scope, now);
    let elsewhere = local.endpoint("/gateway").trim_end_matches('/').to_owned() + "/elsewhere";
    match attack {
        None => vec![good()],
        Some(Attack::None) => vec![None],
        Some(Attack::Rubbish) => ["rubbish", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", ""]
            .map(|text| Some(text.to_owned()))
            .to_vec(),
        Some(Attack::Expired) => {
            vec![signed(
                signer,
                subject,
                audience,
                scope,
                Duration::from_secs(3600),
            )]
        }
        Some(Attack::WrongIssuer) => {
            let token = good().expect("a token");
            let trusted = claim(&token, "iss");
            let acme = Tenant::parse("acme").expect("a tenant");
            let forged = |issuer: &str| {
                let grant = Grant {
                    issuer,
                    subject,
                    tenant: Some(&acme),
                    audience,
                    scopes: &[scope],
                    lifetime: Duration::from_secs(300),
                };
                let token = rogue.sign(&grant, local.clock.now(), &SystemEntropy);
                Some(token.expect("a token").expose_secret().to_owned())
            };
            // The signature of one good token under the claims of another, too.
            let other = signed(signer, "somebody", audience, scope, now).expect("a token");
            let (head, signature) = (other.split_once('.'), token.rsplit_once('.'));
            let payload = head.expect("a token").1.split('.').next().expect("claims");
            let header = token.split('.').next().expect("a header");
            let mixed = format!("{header}.{payload}.{}", signature.expect("a token").1);
            vec![forged("https://elsewhere.example"), forged(&trusted), Some(mixed)]
        }
        Some(Attack::WrongAudience) => vec![
            signed(signer, subject, &elsewhere, scope, now),
            signed(signer, subject, &format!("{audience}x"), scope, now),
        ],
        Some(Attack::WrongTenant) => vec![signed(globex, subject, audience, scope, now)],
        Some(Attack::WrongOwner) => vec![signed(signer, "user-mallory", audience, scope, now)],
        Some(Attack::SmallScope) => vec![
            signed(signer, subject, audience, "something", now),
            signed(signer, subject, audience, "", now),
        ],
    }
}

/// What forms are sent as.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

pub(super) fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

/// What every answer says to a browser, whoever asked for what.
const ALWAYS: [&str; 5] = [
    "cache-control",
    "x-content-type-options",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "permissions-policy",
];

pub(super) async fn told(request: RequestBuilder) -> Told {
    let copy = request.try_clone();
    let mut answer = request.send().await.expect("an answer");
    let status = answer.status();
    if let Some(copy) = copy {
        let _ = SENT.try_with(|sent| sent.borrow_mut().push((copy, status)));
    }
    for name in ALWAYS {
        let said = answer.headers().contains_key(name);
        // The gateway's own are of nobody, and are not deployed.
        let path = answer.url().path();
        let of_nobody = ["/healthz", "/openapi.json"].contains(&path) || path.starts_with("/local/");
        assert!(
            said || of_nobody,
            "{name} is missing in {status} of {}",
            answer.url().path()
        );
    }
    let place = answer
        .headers()
        .get("location")
        .and_then(|place| place.to_str().ok())
        .map(str::to_owned);
    let media = answer.headers().get("content-type");
    let media = media.map_or("", |media| media.to_str().expect("text")).to_owned();
    let streams = media.starts_with("text/event");
    // A stream of events goes on; its first chunk says what it is.
    let text = if streams {
        let chunk = answer.chunk().await.expect("a chunk").unwrap_or_default();
        String::from_utf8_lossy(&chunk).into_owned()
    } else {
        answer.text().await.expect("a body")
    };
    Told {
        status,
        media,
        text: place.unwrap_or(text),
    }
}

/// A claim of a token that nobody checks here.
fn claim(token: &str, name: &str) -> String {
    use base64::Engine as _;
    let payload = token.split('.').nth(1).expect("claims");
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(payload)
        .expect("base64url");
    let claims: Value = serde_json::from_slice(&payload).expect("JSON");
    claims[name].as_str().expect("a claim").to_owned()
}

/// A chat of the victim's, and the message in it that has a file.
pub(super) const WITH_FILE: [&str; 2] = ["victims-print", "victims-print-message"];

/// A task of the victim's that was given a file and brought one.
async fn printed_task(local: &Local, user: &User) -> String {
    // Nobody else is like it: the parrot must stay who is meant by its own words.
    let engraver = Scripted::start(local, "engraver", "Engrave my nameplate").await;
    let file = json!({ "type": "file", "mediaType": "text/plain", "url": "data:text/plain;base64,c2VjcmV0" });
    let parts = json!([{ "type": "text", "text": "Engrave my nameplate" }, file]);
    let message = json!({ "id": WITH_FILE[1], "role": "user", "parts": parts });
    let body = json!({ "id": WITH_FILE[0], "message": message });
    let asked = user.call(Method::POST, "/api/chat", Some(body)).await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let file = json!({ "raw": "c2VjcmV0", "mediaType": "text/plain", "filename": "print.txt" });
    engraver.brings(&engraver.nth(1).await, json!([file])).await;
    user.until(&asked.task_id(), &["completed"]).await;
    asked.task_id()
}

/// A task whose plan waits for the victim's word, and the hash of that plan.
async fn waiting_plan(user: &User) -> (String, String) {
    let prompt = "Will it rain in Oslo tomorrow? Then write a report on it";
    let asked = user.chat("victims-plan", "victims-plan-message", prompt).await;
    let task = user.until(&asked.task_id(), &["input-required"]).await;
    let hash = task["plan"]["hash"].as_str().expect("a plan").to_owned();
    (asked.task_id(), hash)
}

/// The victim's own sessions, as the victim had them as somebody who had signed in: each leads to the victim's things, but for
/// what ended it.
async fn ended_sessions(local: &Local, victim: &User) -> Vec<String> {
    let acme = Tenant::parse("acme").expect("a tenant");
    let (store, cookie) = (local.system.store(), victim.cookie().expect("a session"));
    let sessions = store.sessions();
    let token = cookie.split_once('=').expect("a cookie").1;
    let found = sessions
        .find_session(&acme, &auth::token::hash(token), local.clock.now())
        .await;
    let owner = found.expect("sessions").expect("the victim's").owner;
    let names = ["gone", "changed", "left"];
    let users = names.map(|name| idp::NewUser {
        username: name.to_owned(),
        display_name: name.to_owned(),
        password: "a-password-of-the-tests".into(),
        // Without them the routes of those who are in charge would refuse them anyway.
        roles: vec!["operator".to_owned(), "admin".to_owned()],
    });
    oauth::register(store, "acme", &[], &users).await;
    let mut cookies = vec![ended_session(local).await];
    for name in names {
        let cookie = session_for(local, name, owner.clone()).await;
        let user = User::new(local.endpoint("/tenants/acme/base"));
        user.resume(&cookie);
        let own = user.get("/api/chats/victims-chat/messages").await;
        assert_eq!(own.status, 200, "{name} is there before: {own:?}");
        local.clock.advance(Duration::from_secs(1));
        let people = idp::People::of_operator(store, &acme, local.clock.now());
        match name {
            "gone" => people.remove(name).await.expect("removed"),
            "changed" => {
                let at = (local.clock.now(), &SystemEntropy as &dyn domain::Entropy);
                let password = "another-password-of-the-tests".into();
                people.reset(name, &password, at).await.expect("changed");
            }
            _ => {
                let out = user.call(Method::POST, "/signout", Some(json!({}))).await;
                assert_eq!(out.status, 200, "{out:?}");
            }
        }
        cookies.push(cookie);
    }
    cookies
}

/// A session that ended a second ago, as its cookie.
async fn ended_session(local: &Local) -> String {
    let (tenant, owner) = (
        Tenant::parse("acme").expect("a tenant"),
        Owner::parse("guest-late").expect("an owner"),
    );
    let token = auth::token::random("sws", &SystemEntropy);
    let now = local.clock.now();
    let hash = auth::token::hash(token.expose_secret());
    let (begun, ended) = (
        now.before(Duration::from_secs(60)),
        now.before(Duration::from_secs(1)),
    );
    let sessions = local.system.store().sessions();
    sessions
        .create_session(&tenant, &hash, &owner, begun, ended)
        .await
        .expect("a session");
    format!("switchyard_acme={}", token.expose_secret())
}

/// The cookie of one of the demo's people who has signed in just now.
pub(super) async fn session_of(local: &Local, name: &str) -> String {
    session_for(
        local,
        name,
        Owner::parse(&format!("person-{name}")).expect("an owner"),
    )
    .await
}

/// A session of somebody who has signed in just now, in which these things are theirs.
async fn session_for(local: &Local, name: &str, owner: Owner) -> String {
    let tenant = Tenant::parse("acme").expect("a tenant");
    let store = local.system.store();
    let found = store.identity().find_user(&tenant, name).await.expect("users");
    let user = found.unwrap_or_else(|| panic!("no {name}"));
    let token = auth::token::random("sws", &SystemEntropy);
    let now = local.clock.now();
    let session = Session {
        owner,
        created_at: now,
        expires_at: now.after(Duration::from_secs(12 * 3600)),
        person: Some(Person {
            issuer: format!("{}/acme", local.endpoint("/idp")),
            subject: user.subject,
            username: user.username,
            auth_time: now,
            id: None,
            sid: None,
            proof: None,
        }),
        guest: None,
        pushes: store::Pushes::default(),
    };
    let hash = auth::token::hash(token.expose_secret());
    let sessions = store.sessions();
    sessions
        .begin_session(&tenant, &hash, &session)
        .await
        .expect("a session");
    format!("switchyard_acme={}", token.expose_secret())
}

/// The cookie of somebody who has signed in where a guest has chatted, and has not said yet whose that work is.
pub(super) async fn session_after_guest(world: &World) -> String {
    let local = &world.local;
    let guest = local.user("acme");
    guest.ask("Hello").await;
    let cookie = guest.cookie().expect("a session");
    let before = auth::token::hash(cookie.split_once('=').expect("a cookie").1);
    let (tenant, sessions) = (
        Tenant::parse("acme").expect("a tenant"),
        local.system.store().sessions(),
    );
    let now = local.clock.now();
    let found = sessions
        .find_session(&tenant, &before, now)
        .await
        .expect("sessions");
    let signed_in = session_of(local, "alan").await;
    let hash = auth::token::hash(signed_in.split_once('=').expect("a cookie").1);
    let session = sessions
        .find_session(&tenant, &hash, now)
        .await
        .expect("sessions");
    let session = session.expect("alan's");
    // Somebody who has no work of their own yet.
    let person = Owner::parse(&format!("person-new-{}", world.next())).expect("an owner");
    let session = Session {
        owner: person.clone(),
        person: session.person.map(|known| Person {
            id: Some(person),
            ..known
        }),
        guest: Some(GuestBefore {
            owner: found.expect("the guest's").owner,
            session: before,
            shared: false,
        }),
        ..session
    };
    sessions
        .begin_session(&tenant, &hash, &session)
        .await
        .expect("a session");
    signed_in
}

/// A registered specialist that acknowledges and says no more.
pub(crate) async fn silent_agent(local: &Local) -> MockServer {
    let server = MockServer::start().await;
    let card = json!({
        "name": "Parrot", "description": "Repeats a word like a parrot", "version": "1",
        "supportedInterfaces": [{ "url": server.uri(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "pushNotifications": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "parrot", "name": "Parrot", "description": "Parrot a word",
                     "tags": ["type:parrot"], "examples": ["parrot this"] }],
    });
    let answer = move |request: &Request| {
        let Ok(call) = serde_json::from_slice::<Value>(&request.body) else {
            return ResponseTemplate::new(200).set_body_json(card.clone());
        };
        let message = &call["params"]["message"];
        let id = format!("remote-{}", message["messageId"].as_str().unwrap_or_default());
        let task = json!({ "id": id, "contextId": message["contextId"], "status": { "state": "TASK_STATE_WORKING" } });
        ResponseTemplate::new(200)
            .set_body_json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "task": task } }))
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let http = system_testing::user::http();
    let registry = local.endpoint("/registry").trim_end_matches('/');
    let admin = local.endpoint("/registry_token");
    let calls = [
        http.put(format!("{registry}/types/parrot"))
            .json(&json!({ "scope": "global" })),
        http.post(format!("{registry}/agents"))
            .json(&json!({ "cardUrl": server.uri() })),
    ];
    for call in calls {
        let answer = call.bearer_auth(admin).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{answer:?}");
    }
    server
}

/// The confidential client, where a good one is needed.
pub(super) const GOOD_CLIENT: (&str, &str) = (CONFIDENTIAL, SECRET);
