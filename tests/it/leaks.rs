//! No token, code, password or key in any log, event, address (but the code in its own) or stored item: one run
//! through everything, with everything that it produced searched for every secret that was in it.

mod prefix;
mod search;

use std::collections::BTreeSet;
use std::time::Duration;

use auth::{ConsentSecrets, GrantSecrets, Sealer};
use consent::{ConsentStore, Stage};
use domain::{Clock, ExposeSecret, GrantKey, SettingChange, Tenant};
use local::{Data, Signer};
use reqwest::Method;
use serde_json::{Value, json};
use system_testing::browser::Browser;
use system_testing::oauth::{self, CONFIDENTIAL, PUBLIC, REDIRECT_URI, SECRET};
use system_testing::{Answer, Local, User};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use url::Url;

use search::{Log, Secrets};

/// What a user types is in the chat's tables, but in no log.
const PROMPT: &str = "zanzibar-marmalade";
/// As much as the rooms have to say, and what the crates below them say at `debug`.
const FILTER: &str = "debug,agent=trace,airbnb_agent=trace,calendar_agent=trace,auth=trace,a2a=trace,chat_api=trace,domain=trace,edge=trace,host_agent=trace,\
                      horizon_agent=trace,idp=trace,llm=trace,local=trace,oauth_callback=trace,outbound=trace,\
                      registry=trace,store=trace,task_sweeper=trace,weather_agent=trace,webhook_receiver=trace";

/// A run through everything, and what was seen on it.
struct Run {
    local: Local,
    tenant: Tenant,
    user: User,
    secrets: Secrets,
    /// Every address that a browser was at.
    visited: Vec<Url>,
    /// The name of every cookie that a browser was given.
    cookies: BTreeSet<String>,
    /// Items as they lay in the tables while people were about to agree.
    passing: Vec<Value>,
    /// What the system answered where its users look.
    answers: Vec<String>,
    sealer: Sealer,
    tasks: BTreeSet<String>,
    asked: usize,
}

impl Run {
    async fn start(folder: &std::path::Path, tenant: Tenant) -> Self {
        let globex = Tenant::parse("globex").expect("a tenant");
        let data = Data::Folder(folder.to_owned());
        let local = Local::start_for(data, vec![tenant.clone(), globex]).await;
        oauth::register_both(&local, tenant.name()).await;
        let text = std::fs::read_to_string(folder.join("secrets.json")).expect("the secrets");
        let kept: Value = serde_json::from_str(&text).expect("JSON");
        let mut secrets = Secrets::default();
        let keys: Vec<(String, String)> =
            serde_json::from_value(kept["sealing_keys"].clone()).expect("sealing keys");
        for (_, key) in &keys {
            secrets.add("a sealing key", key);
        }
        let keys = keys.into_iter().map(|(name, key)| (name, key.into())).collect();
        add_keys(&mut secrets, &kept["platform_key"]);
        add_keys(&mut secrets, &kept["idp_keys"]);
        for tenant in kept["tenants"].as_object().expect("tenants").values() {
            add_keys(&mut secrets, &tenant["session_key"]);
            secrets.add(
                "a client's secret",
                tenant["client_secret"].as_str().expect("a secret"),
            );
            for password in tenant["users"].as_object().expect("users").values() {
                secrets.add("a password", password.as_str().expect("a password"));
            }
        }
        secrets.add("a client's secret", SECRET);
        for name in ["registry_token", "admin_token"] {
            secrets.add("an operator's token", local.endpoint(&format!("/{name}")));
        }
        let vault = Url::parse(local.endpoint("/secrets_manager")).expect("an address");
        let unguessable = vault
            .path_segments()
            .into_iter()
            .flatten()
            .find(|part| part.len() > 20);
        secrets.add(
            "the address of the secrets",
            unguessable.expect("a path that nobody guesses"),
        );
        Self {
            user: local.user(tenant.name()),
            local,
            tenant,
            secrets,
            visited: Vec::new(),
            cookies: BTreeSet::new(),
            passing: Vec::new(),
            answers: Vec::new(),
            sealer: Sealer::new(keys).expect("a sealer"),
            tasks: BTreeSet::new(),
            asked: 0,
        }
    }

    /// The tenant's address of this name.
    fn place(&self, name: &str) -> &str {
        let place = self
            .local
            .endpoint(&format!("/tenants/{}/{name}", self.tenant.name()));
        place.trim_end_matches('/')
    }

    fn heard(&mut self, answer: Answer) -> Answer {
        self.answers.push(answer.text.clone());
        answer
    }

    /// A question whose task gets into one of these states.
    async fn ask(&mut self, prompt: &str, states: &[&str]) -> Value {
        self.asked += 1;
        let (chat, message) = (format!("chat-{}", self.asked), format!("message-{}", self.asked));
        let answer = self
            .user
            .chat(&chat, &message, &format!("{prompt} {PROMPT}"))
            .await;
        let id = self.heard(answer).task_id();
        let cookie = self.user.cookie().expect("a session");
        self.secrets
            .add("a session's token", cookie.split_once('=').expect("a cookie").1);
        let task = self.user.until(&id, states).await;
        self.answers.push(task.to_string());
        self.tasks.insert(id);
        task
    }

    /// Agrees in this browser, and remembers whatever is secret on the way.
    async fn agree(&mut self, mut browser: Browser, task: &Value) -> system_testing::browser::Page {
        let base = self.place("base").to_owned();
        let text = task.to_string();
        let at = text
            .find("/connect/")
            .unwrap_or_else(|| panic!("no link: {task:#}"));
        let id = text[at + 9..]
            .split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)))
            .next();
        let id = id.expect("an id").to_owned();
        browser.stop_at = Some(format!("{base}/callback"));
        let login = self.local.login(self.tenant.name(), 0).clone();
        let page = browser.open(&format!("{base}/connect/{id}")).await;
        self.see(&browser, &page.html);
        // Once mistaken.
        let (name, password) = (
            login["username"].as_str().expect("a name"),
            "a password that is wrong",
        );
        self.secrets.add("a password", password);
        let page = browser
            .submit(&page, &[("username", name), ("password", password)])
            .await;
        // What is kept only until they agree.
        self.passing
            .extend(search::stored(self.local.system.endpoints().database().as_str()).await);
        self.see(&browser, &page.html);
        let back = oauth::agree(&mut browser, page.url.as_str(), &login).await;
        self.see(&browser, &page.html);
        for (name, value) in back.url.query_pairs() {
            match &*name {
                "code" => self.secrets.add("a code", &value),
                "state" => self.secrets.add("a state", &value),
                _ => {}
            }
        }
        let (store, tenant) = (self.local.system.store().clone(), self.tenant.clone());
        let records = ConsentStore::new(store, tenant.clone());
        let consent = records.find(&id).await.expect("read").expect("a consent");
        let Stage::Started(started) = consent.stage else {
            panic!("the browser is under way");
        };
        let binding = GrantKey {
            tenant: &tenant,
            owner: &consent.request.owner,
            provider: &consent.request.provider,
            resource: &consent.request.resource,
        };
        let told = ConsentSecrets::open(&self.sealer, &started.sealed, &binding).expect("it opens");
        self.secrets.add("a verifier", told.pkce_verifier.expose_secret());
        self.secrets.add("a state", told.state.expose_secret());
        browser.stop_at = None;
        let page = browser.open(back.url.as_str()).await;
        self.see(&browser, "");
        page
    }

    /// Remembers a browser's cookies and addresses, and a page's form token.
    fn see(&mut self, browser: &Browser, html: &str) {
        for (name, value) in browser.cookies() {
            self.secrets.add("a cookie", value);
            self.cookies.insert(name.to_owned());
        }
        self.visited.extend(browser.visited.iter().cloned());
        if let Some(rest) = html.split("name=\"form\" value=\"").nth(1) {
            self.secrets
                .add("a form's token", rest.split('"').next().expect("a value"));
        }
    }

    /// The tokens that lie sealed in the tables.
    async fn open_grants(&mut self) {
        let (store, tenant) = (self.local.system.store().clone(), self.tenant.clone());
        let cookie = self.user.cookie().expect("a session");
        let hash = auth::token::hash(cookie.split_once('=').expect("a cookie").1);
        let session = store
            .sessions()
            .find_session(&tenant, &hash, self.local.clock.now())
            .await;
        let owner = session.expect("read").expect("a session").owner;
        for grant in store.grants().list_grants(&tenant, &owner).await.expect("read") {
            let binding = GrantKey {
                tenant: &tenant,
                owner: &owner,
                provider: &grant.provider,
                resource: &grant.resource,
            };
            let told = GrantSecrets::open(&self.sealer, &grant.sealed, &binding).expect("it opens");
            self.secrets
                .add("an access token", told.access_token.expose_secret());
            let refresh = told.refresh_token.expect("a refresh token");
            self.secrets.add("a refresh token", refresh.expose_secret());
        }
    }

    /// The user's own browser.
    fn browser(&self) -> Browser {
        let base = Url::parse(self.place("base")).expect("an address");
        self.user.browser(base.path())
    }

    /// Connects a calendar at Google, asks it, and takes it back; whatever Google gave out is secret.
    async fn calendar(&mut self) {
        let waiting = self.ask("Am I free on Friday?", &["auth-required"]).await;
        let mut browser = Browser::default();
        let page = browser.open(&crate::consent::link(&waiting)).await;
        let page = browser.submit(&page, &[("user", "ines@sandbox.example")]).await;
        let code = crate::consent::code_on(&page);
        self.secrets.add("a consent's code", &code);
        self.see(&browser, "");
        for (name, value) in browser.visited.iter().flat_map(Url::query_pairs) {
            if name == "state" {
                self.secrets.add("a state", &value);
            }
        }
        let typed = self
            .user
            .chat(&format!("chat-{}", self.asked), "typed-too", &code)
            .await;
        self.answers.push(typed.text);
        let id = waiting["id"]
            .as_str()
            .or(waiting["taskId"].as_str())
            .expect("an id");
        self.user.until(id, &["completed"]).await;
        self.google();
        let listed = self.user.call(Method::GET, "/api/connections", None).await;
        let listed: Value = serde_json::from_str(&self.heard(listed).text).expect("JSON");
        let connections = listed["connections"].as_array().expect("a list").iter();
        let mut ids = connections
            .filter(|one| one["provider"] == "google")
            .map(|one| one["id"].clone());
        let own = ids.next().expect("Google's");
        let place = format!("/api/connections/{}", own.as_str().expect("an id"));
        let ended = self.user.call(Method::DELETE, &place, None).await;
        assert!(self.heard(ended).status.is_success());
        self.google();
    }

    fn google(&mut self) {
        let google = self.local.system.google().expect("the sandbox's");
        let given = google.secrets();
        assert!(given.len() > 2, "a code and tokens");
        for secret in given {
            let what = if secret.starts_with("4/") {
                "a code"
            } else {
                "a token of Google's"
            };
            self.secrets.add(what, &secret);
        }
        self.secrets.add("a client's secret", sandbox::google::CLIENT.1);
    }

    /// Somebody who has signed in shares a task twice; the links are read, also one that has ended.
    async fn shares(&mut self) {
        let on = [SettingChange::parse("share", Some("on")).expect("a setting")];
        let tenants = self.local.system.store().clone();
        assert!(tenants.tenants().set(&self.tenant, &on).await.expect("settings"));
        self.local.clock.advance(store::SETTINGS_TTL);
        let mut browser = Browser::default();
        let start = format!("{}/signin", self.place("base"));
        let login = self.local.login(self.tenant.name(), 1).clone();
        oauth::agree(&mut browser, &start, &login).await;
        self.see(&browser, "");
        let user = User::new(self.place("base"));
        let cookie = format!("switchyard_{}", self.tenant.prefix());
        let (name, value) = browser
            .cookies()
            .find(|(name, _)| *name == cookie)
            .expect("a session");
        user.resume(&format!("{name}={value}"));
        let prompt = format!("Will it rain in Oslo tomorrow? {PROMPT}");
        let task = user.chat("shared", "m1", &prompt).await.task_id();
        user.until(&task, &["completed"]).await;
        for _ in 0..2 {
            let path = format!("/api/tasks/{task}/share");
            let made = user.call(Method::POST, &path, Some(json!({}))).await;
            assert_eq!(made.status, 201, "{made:?}");
            let link = made.json()["link"].as_str().expect("a link").to_owned();
            self.secrets
                .add("a link's token", link.rsplit('/').next().expect("a token"));
            let read = system_testing::user::http()
                .get(&link)
                .send()
                .await
                .expect("an answer");
            assert_eq!(read.status(), 200);
            self.answers.push(read.text().await.expect("a page"));
            let told = user.get(&path).await;
            self.heard(told);
        }
        for token in self.secrets.of("a link's token") {
            let wrong = format!("{}/share/{token}x", self.place("base"));
            let read = system_testing::user::http()
                .get(&wrong)
                .send()
                .await
                .expect("an answer");
            assert_eq!(read.status(), 404);
            self.answers.push(read.text().await.expect("a page"));
        }
    }

    /// A client of ours takes every way there is, and some that there are not.
    async fn client(&mut self) {
        let http = system_testing::user::http();
        let issuer = self.local.issuer(self.tenant.name());
        let mut browser = oauth::apps_browser();
        let verifier = format!("verifier-{}", "x1Y2".repeat(12));
        self.secrets.add("a verifier", &verifier);
        let ask = |client: &str| {
            let mut url = Url::parse(&format!("{issuer}/authorize")).expect("an address");
            url.query_pairs_mut().extend_pairs([
                ("response_type", "code"),
                ("client_id", client),
                ("redirect_uri", REDIRECT_URI),
                ("scope", oauth::SCOPES),
                ("resource", &self.local.resource(self.tenant.name())),
                ("state", "a-state-of-the-clients-own"),
                ("code_challenge", &auth::pkce::challenge(&verifier)),
                ("code_challenge_method", "S256"),
            ]);
            url
        };
        let (good, public) = (ask(CONFIDENTIAL), ask(PUBLIC));
        for (url, right) in [(good.clone(), true), (good, false), (public, false)] {
            let back = oauth::agree(
                &mut browser,
                url.as_str(),
                self.local.login(self.tenant.name(), 1),
            )
            .await;
            let code = back
                .url
                .query_pairs()
                .find(|(name, _)| name == "code")
                .expect("a code")
                .1
                .into_owned();
            self.secrets.add("a code", &code);
            let fields = [
                ("grant_type", "authorization_code"),
                ("code", &code),
                ("redirect_uri", REDIRECT_URI),
                (
                    "code_verifier",
                    if right {
                        &verifier
                    } else {
                        "not-the-verifier-not-the-verifier-not-the-one"
                    },
                ),
            ];
            for _ in 0..2 {
                let told = self.post(&http, &format!("{issuer}/token"), &fields).await;
                for (name, what) in [
                    ("access_token", "an access token"),
                    ("refresh_token", "a refresh token"),
                    ("id_token", "an identity token"),
                ] {
                    if let Some(token) = told[name].as_str() {
                        self.secrets.add(what, token);
                    }
                }
            }
        }
        self.see(&browser, "");
        for token in self
            .secrets
            .of("a refresh token")
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            for path in ["introspect", "revoke", "introspect"] {
                self.post(&http, &format!("{issuer}/{path}"), &[("token", &token)])
                    .await;
            }
            let again = [("grant_type", "refresh_token"), ("refresh_token", &token)];
            self.post(&http, &format!("{issuer}/token"), &again).await;
        }
        for token in self
            .secrets
            .of("an access token")
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            http.get(format!("{issuer}/userinfo"))
                .bearer_auth(&token)
                .send()
                .await
                .expect("an answer");
        }
    }

    async fn post(&self, http: &reqwest::Client, url: &str, fields: &[(&str, &str)]) -> Value {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = http.post(url).basic_auth(CONFIDENTIAL, Some(SECRET));
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        request
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .unwrap_or_default()
    }

    /// Good, foreign, old and broken tokens at every agent, the registry and the webhook.
    async fn strangers(&mut self) {
        let http = system_testing::user::http();
        let horizon = self.local.resource(self.tenant.name());
        let host = self.place("host_agent").to_owned();
        let registry = self.local.endpoint("/registry").trim_end_matches('/').to_owned();
        let hook = format!("{}/api/webhook/tasks", self.place("base"));
        let own = self.tenant.clone();
        for tenant in [own.name(), "globex"] {
            for signer in [Signer::Session(tenant), Signer::Idp(tenant)] {
                for ago in [Duration::ZERO, Duration::from_secs(3600)] {
                    for audience in [&horizon, &host, &registry] {
                        let token = self
                            .local
                            .system
                            .signed(signer, "user-eve", audience, "tasks", ago);
                        let token = token.expect("a token");
                        self.secrets.add("an access token", &token);
                        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": PROMPT } });
                        for url in [&horizon, &host, &hook, &format!("{registry}/agents")] {
                            let request = http.post(url.as_str()).bearer_auth(&token).json(&body);
                            let answer = request.send().await.expect("an answer");
                            self.answers.push(answer.text().await.expect("a body"));
                        }
                    }
                }
            }
        }
        let broken = "Bearer of-nothing-at-all-but-secret";
        self.secrets.add("a broken token", "of-nothing-at-all-but-secret");
        for url in [&horizon, &host, &hook, &registry] {
            http.post(url.as_str())
                .header("authorization", broken)
                .body("{")
                .send()
                .await
                .expect("an answer");
        }
    }

    /// What users can look at, once more at the end.
    async fn look_around(&mut self) {
        for path in ["/api/chats", "/api/tasks", "/api/connections"] {
            let answer = self.user.get(path).await;
            self.heard(answer);
        }
        let chats = self.user.get("/api/chats").await.json();
        for chat in chats["chats"].as_array().expect("chats") {
            let id = chat["id"].as_str().expect("an id");
            let answer = self.user.get(&format!("/api/chats/{id}/messages")).await;
            self.heard(answer);
        }
        for id in self.tasks.clone() {
            let mut paths = vec![format!("/api/tasks/{id}")];
            // The log of a task that goes on is a stream without an end.
            if self.user.task(&id).await["status"] == "completed" {
                paths.push(format!("/api/tasks/{id}/events"));
            }
            for path in paths {
                let answer = self.user.get(&path).await;
                assert!(answer.status.is_success(), "{path}: {answer:?}");
                self.heard(answer);
            }
        }
    }
}

/// The lines of PEM keys, wherever they stand in a kept value.
fn add_keys(secrets: &mut Secrets, kept: &Value) {
    let text = kept.as_str().expect("a kept key").replace("\\n", "\n");
    let lines = text
        .lines()
        .filter(|line| line.len() > 40 && !line.contains("-----") && !line.contains('"'));
    let before = secrets.len();
    for line in lines {
        secrets.add("a signing key", line);
    }
    assert!(secrets.len() > before, "a key was found");
}

/// Where a secret was found, for each place that was searched.
async fn leaked(run: &Run, log: &Log, folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |place: &str, what: Vec<String>| {
        found.extend(what.into_iter().map(|what| format!("{what} in {place}")));
    };
    let logged = log.text();
    assert!(!logged.contains(PROMPT), "a prompt in the log");
    if !run.secrets.in_text(&logged).is_empty() {
        for line in logged.lines() {
            // Where from, without what stands in it.
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            let place = format!("the log: {} {}", event["target"], event["fields"]["message"]);
            note(&place, run.secrets.in_text(line));
        }
    }
    for answer in &run.answers {
        note("an answer", run.secrets.in_text(answer));
    }
    for item in search::stored(run.local.system.endpoints().database().as_str()).await {
        let key = format!("the item {} {}", item["pk"]["S"], item["sk"]["S"]);
        note(&key, run.secrets.in_text(&item.to_string()));
    }
    for (name, text) in search::files(folder) {
        match name.as_str() {
            // The vault itself.
            "secrets.json" => {}
            // Documented to hold the demo users' passwords, the operator's tokens, and where secrets are kept.
            "endpoints.json" => {
                let mut listed: Value = serde_json::from_str(&text).expect("JSON");
                listed["users"] = Value::Null;
                for name in ["registry_token", "admin_token", "secrets_manager", "sqs"] {
                    listed[name] = Value::Null;
                }
                note(&name, run.secrets.in_text(&listed.to_string()));
            }
            _ => note(&name, run.secrets.in_text(&text)),
        }
    }
    // A code and a state stand in the one address that brings them back; the state on the way there, too.
    for url in &run.visited {
        let query = url.query().unwrap_or_default();
        let may = match url.path().rsplit('/').next() {
            // Google's has no `iss`, but what was agreed to.
            Some("callback" | "cb") if ["iss=", "scope="].iter().any(|sign| query.contains(sign)) => {
                &["a code", "a state"][..]
            }
            Some("authorize" | "auth") => &["a state"],
            _ => &[],
        };
        let mut what = run.secrets.without(may).in_text(url.as_str());
        what.retain(|what| {
            !may.iter()
                .any(|may| *may == "a code" && what == "the shape of a code")
        });
        note(&format!("the address {}", url.path()), what);
    }
    found.sort();
    found.dedup();
    found
}

/// Everything that a tenant's people and programs do.
async fn walked(folder: &std::path::Path, tenant: Tenant) -> Run {
    let mut run = Run::start(folder, tenant).await;
    run.ask("Will it rain in Oslo tomorrow?", &["completed"]).await;
    let waiting = run.ask("Where is my order 1001?", &["auth-required"]).await;
    let browser = run.browser();
    let page = run.agree(browser, &waiting).await;
    assert_eq!(page.status, 200, "{page:?}");
    let id = waiting["id"]
        .as_str()
        .or(waiting["taskId"].as_str())
        .expect("an id")
        .to_owned();
    run.user.until(&id, &["completed"]).await;
    run.open_grants().await;
    run.local.clock.advance(Duration::from_secs(11 * 60));
    run.ask("Where is my order 1001?", &["completed"]).await;
    run.open_grants().await;
    assert!(run.secrets.of("a refresh token").len() >= 2, "it was renewed");
    let ended = run.user.call(Method::DELETE, "/api/connections/idp", None).await;
    assert!(run.heard(ended).status.is_success());

    // In a browser that is not the starter's: a code to be typed.
    let waiting = run.ask("Where is my order 1001?", &["auth-required"]).await;
    let page = run.agree(Browser::default(), &waiting).await;
    let mut words = page
        .html
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let code = words.find(|word| {
        word.len() == 9
            && word.as_bytes()[4] == b'-'
            && word.bytes().all(|c| c == b'-' || c.is_ascii_uppercase())
    });
    let code = code.expect("a code to type").to_owned();
    run.secrets.add("a consent's code", &code);
    let chat = format!("chat-{}", run.asked);
    let typed = run.user.chat(&chat, "typed", &code).await;
    run.answers.push(typed.text);
    let id = waiting["id"]
        .as_str()
        .or(waiting["taskId"].as_str())
        .expect("an id")
        .to_owned();
    run.user.until(&id, &["completed"]).await;
    run.open_grants().await;
    run.user.call(Method::DELETE, "/api/connections/idp", None).await;

    run.calendar().await;

    // One that is called off, while it waits.
    let waiting = run.ask("Where is my order 1001?", &["auth-required"]).await;
    let id = waiting["id"]
        .as_str()
        .or(waiting["taskId"].as_str())
        .expect("an id")
        .to_owned();
    let canceled = run
        .user
        .call(Method::POST, &format!("/api/tasks/{id}/cancel"), Some(json!({})))
        .await;
    assert!(run.heard(canceled).status.is_success());
    run.shares().await;
    run.client().await;
    run.strangers().await;
    run.local.advance(Duration::from_secs(60)).await;
    run.look_around().await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_logged_told_shown_in_an_address_or_stored() {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .with_span_events(FmtSpan::FULL)
        .with_writer(move || writer.clone());
    let filter: Targets = FILTER.parse().expect("a list of targets");
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = walked(folder.path(), Tenant::parse("acme").expect("a tenant")).await;

    for kind in [
        "a sealing key",
        "a signing key",
        "a password",
        "a client's secret",
        "a session's token",
        "a cookie",
        "a form's token",
        "a code",
        "a state",
        "a verifier",
        "an access token",
        "a refresh token",
        "an identity token",
        "a consent's code",
    ] {
        assert!(
            !run.secrets.of(kind).is_empty(),
            "{kind} was never seen: the run proves nothing of it"
        );
    }
    assert!(log.text().lines().count() > 200, "the system logs");
    let found = leaked(&run, &log, folder.path()).await;
    assert!(found.is_empty(), "secrets where none may be: {found:#?}");

    // It can fail: a secret of each kind is planted in each kind of place, and found.
    let secret = run.secrets.of("a refresh token")[0].to_owned();
    tracing::info!(token = secret, "planted");
    run.answers.push(format!("planted: {secret}"));
    run.visited
        .push(Url::parse(&format!("http://127.0.0.1/x?token={secret}")).expect("an address"));
    run.user
        .chat("planted", "planted", &format!("Hello {secret}"))
        .await;
    std::fs::write(folder.path().join("planted"), &secret).expect("written");
    let found = leaked(&run, &log, folder.path()).await.join("\n");
    for place in [
        "in the log",
        "in an answer",
        "in the item",
        "in the address",
        "in planted",
        "in switchyard.db",
    ] {
        assert!(found.contains(place), "planted {place}, and not found: {found}");
    }
    run.local.system.stop().await;
}
