//! Audit events: each thing that somebody does about sign-ins, consents, grants, keys, agents, users and tenants is logged
//! exactly once, with who did it, to what, from where, and with which result; and nothing that people wrote is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::SigningKey;
use domain::{Clock, ExposeSecret, SecretString, SettingChange, Tenant, Timestamp};
use host_agent::PlanApproval;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use store::audit::{Action, TARGET};
use system_testing::browser::{Browser, Page};
use system_testing::{Local, User, oauth};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::consent::{code_on, link, profile};
use crate::erased::everything;
use crate::tenants::admin;

type Fields = BTreeMap<String, String>;

/// Keeps every audit event.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Fields>>>);

impl<S: Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let mut fields = Read(Fields::new());
        event.record(&mut fields);
        self.0.lock().expect("no panic under the lock").push(fields.0);
    }
}

struct Read(Fields);

impl Visit for Read {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

/// What one event must say: its action, its actor, its object (or a part of it) and its result.
type Wanted<'a> = (&'a str, &'a str, &'a str, &'a str);

/// From where, for what is done in a request of somebody; the host works without one.
const HERE: &str = "127.0.0.1";

struct Heard {
    kept: Kept,
    seen: BTreeSet<String>,
    /// Every event until now.
    events: Vec<Fields>,
    /// What no event may hold.
    secrets: Vec<String>,
}

impl Heard {
    /// Since the step before, each of these was logged exactly once, as it says here.
    async fn step(&mut self, step: &str, wanted: &[Wanted<'_>]) {
        // A worker may be at it still.
        for _ in 0..200 {
            let is_there = |action: &str| {
                let kept = self.kept.0.lock().expect("no panic under the lock");
                kept.iter().any(|event| event["audit.action"] == action)
            };
            if wanted.iter().all(|(action, ..)| is_there(action)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let events = std::mem::take(&mut *self.kept.0.lock().expect("no panic under the lock"));
        for (action, actor, object, result) in wanted {
            let of: Vec<&Fields> = events
                .iter()
                .filter(|event| event["audit.action"] == *action)
                .collect();
            let [event] = of[..] else {
                panic!("{step}: {} times {action}: {events:#?}", of.len());
            };
            let told = |name: &str| event.get(name).map_or("", String::as_str);
            assert!(told("audit.actor").starts_with(actor), "{step}: {event:#?}");
            assert!(told("audit.object").contains(object), "{step}: {event:#?}");
            assert_eq!(told("audit.result"), *result, "{step}: {event:#?}");
            if ["idp.", "chat.", "ops.", "admin.", "share."]
                .iter()
                .any(|of| action.starts_with(of))
            {
                assert_eq!(told("audit.source"), HERE, "{step}: {event:#?}");
            }
        }
        for event in &events {
            let text = format!("{event:?}");
            for secret in &self.secrets {
                assert!(!text.contains(secret.as_str()), "{step}: {text}");
            }
            self.seen.insert(event["audit.action"].clone());
        }
        self.events.extend(events);
    }

    /// Each event is an entry of the table, which has no others.
    async fn is_kept(&mut self, local: &Local) {
        self.step("the rest", &[]).await;
        let told = |event: &Fields| {
            let field = |name: &str| event.get(name).cloned().unwrap_or_default();
            assert_eq!(field("audit.kept"), "true", "{event:#?}");
            let place = event.get("tenant.prefix").map_or("global", String::as_str);
            [
                format!("{place}#audit"),
                field("audit.id"),
                field("audit.action"),
                field("audit.actor"),
                field("audit.object"),
                field("audit.result"),
                field("audit.source"),
            ]
        };
        let kept = |item: &Value| {
            let field = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
            let sk = field("sk");
            let id = sk.rsplit('#').next().unwrap_or_default().to_owned();
            let [action, actor, object, result, source] =
                ["action", "actor", "object", "result", "source"].map(field);
            [field("pk"), id, action, actor, object, result, source]
        };
        let items = everything(local).await;
        let entries = items.iter().filter(|(table, item)| {
            *table == "audit"
                && item["sk"]["S"]
                    .as_str()
                    .is_some_and(|sk| sk.starts_with("ENTRY#"))
        });
        let mut entries: Vec<_> = entries.map(|(_, item)| kept(item)).collect();
        let mut events: Vec<_> = self.events.iter().map(told).collect();
        entries.sort();
        events.sort();
        assert!(events.len() > Action::ALL.len(), "{}", events.len());
        assert_eq!(entries, events);
    }
}

fn base(local: &Local) -> String {
    let base = local.endpoint("/tenants/acme/base");
    base.trim_end_matches('/').to_owned()
}

fn demo<'l>(local: &'l Local, name: &str) -> &'l Value {
    let users = local.endpoints()["users"]["acme"].as_array().expect("users");
    let found = users.iter().find(|user| user["username"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// Signs in to the chat; the user with that browser's session.
async fn sign_in(local: &Local, browser: &mut Browser, name: &str) -> User {
    sign_in_at(local, "acme", (browser, demo(local, name))).await
}

async fn sign_in_at(local: &Local, tenant: &str, (browser, login): (&mut Browser, &Value)) -> User {
    let base = local
        .endpoint(&format!("/tenants/{tenant}/base"))
        .trim_end_matches('/');
    oauth::agree(browser, &format!("{base}/signin"), login).await;
    let user = User::new(base);
    let cookie = format!("switchyard_{tenant}");
    let own = browser.cookies().find(|(name, _)| *name == cookie);
    let (name, value) = own.expect("a session");
    user.resume(&format!("{name}={value}"));
    user
}

/// Presses a button of a page.
async fn press(browser: &mut Browser, page: &Page, step: &str) -> Page {
    browser.submit(page, &[("step", step)]).await
}

async fn registry(local: &Local, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let url = format!("{}{path}", local.endpoint("/registry").trim_end_matches('/'));
    let mut request = system_testing::user::http()
        .request(method, url)
        .bearer_auth(local.endpoint("/registry_token"));
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.expect("an answer");
    (answer.status(), answer.json().await.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_action_is_logged_once_with_who_did_what_from_where() {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::registry().with(kept.clone());
    tracing::subscriber::set_global_default(subscriber).expect("the only one of this process");
    let local = Local::start_as(Options {
        plan_approval: PlanApproval::Always,
        ..Options::default()
    })
    .await;
    let secrets = ["ada", "olga"].map(|name| demo(&local, name)["password"].as_str().unwrap().to_owned());
    let mut heard = Heard {
        kept,
        seen: BTreeSet::new(),
        events: Vec::new(),
        secrets: secrets.into_iter().chain(["my order".to_owned()]).collect(),
    };
    heard.step("the start", &[]).await;
    people(&local, &mut heard).await;
    admins(&local, &mut heard).await;
    looked_at(&local).await;
    heard.step("what is read of it", &[]).await;
    taken_over(&local, &mut heard).await;
    shared(&local, &mut heard).await;
    erased(&local, &mut heard).await;
    ended_elsewhere(&local, &mut heard).await;
    consents(&local, &mut heard).await;
    operators(&local, &mut heard).await;
    heard.is_kept(&local).await;
    let known: BTreeSet<String> = Action::ALL
        .iter()
        .map(|action| action.name().to_owned())
        .collect();
    let never: Vec<_> = known.difference(&heard.seen).collect();
    assert!(never.is_empty(), "no step of this test does {never:?}");
    let table =
        std::fs::read_to_string(system_testing::folder().join("../docs/audit.md")).expect("the table");
    let listed: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .filter(|name| {
            !["audit.", "tenant.id", "trace_id"]
                .iter()
                .any(|field| name.starts_with(field))
        })
        .collect();
    assert_eq!(listed, known, "docs/audit.md lists the actions");
    local.system.stop().await;
}

/// What admins read of it, and operators; sealed it is once its minutes are closed.
async fn looked_at(local: &Local) {
    let adam = sign_in(local, &mut Browser::default(), "adam").await;
    let read = async |user: &User, query: &str| user.get(&format!("/api/ops/audit{query}")).await;
    let listed = |page: &Value| page["entries"].as_array().expect("entries").clone();
    // Page by page it is all of it, the newest first, and of one action what was asked for.
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = read(&adam, &cursor).await;
        assert_eq!(page.status, 200, "{page:?}");
        let page = page.json();
        all.extend(listed(&page));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("?cursor={next}"),
            None => break,
        }
    }
    assert!(all.len() > 20, "{}", all.len());
    assert!(all.is_sorted_by(|one, next| one["at"].as_str() >= next["at"].as_str()));
    let of = |action: &str| {
        all.iter()
            .filter(|entry| entry["action"] == action)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(
        of("registry.type").is_empty(),
        "the platform's own are not a tenant's"
    );
    let sign_ins = read(&adam, "?action=chat.sign_in").await.json();
    assert_eq!(listed(&sign_ins), of("chat.sign_in"));
    let actor = all[0]["actor"].as_str().expect("an actor").to_owned();
    let own = listed(&read(&adam, &format!("?actor={actor}")).await.json());
    assert!(!own.is_empty() && own.iter().all(|entry| entry["actor"] == actor.as_str()));
    let at = all[10]["at"].as_str().expect("a time").to_owned();
    let before = listed(&read(&adam, &format!("?to={at}")).await.json());
    assert!(
        before.iter().all(|entry| entry["at"].as_str() < Some(&at)),
        "{at}"
    );
    let lines = read(&adam, "?format=jsonl").await;
    assert_eq!(lines.text.lines().count(), all.len());
    let table = read(&adam, "?format=csv").await;
    assert_eq!(table.text.lines().count(), all.len() + 1);
    for wrong in ["?format=xml", "?from=yesterday", "?cursor=x"] {
        assert_eq!(read(&adam, wrong).await.status, 400, "{wrong}");
    }
    // Another tenant's admin has theirs alone, and who is no admin has none.
    let body = json!({ "username": "gina", "roles": ["admin"] });
    let gina = admin(local, Method::POST, "/tenants/globex/users", Some(body))
        .await
        .1;
    let other = sign_in_at(local, "globex", (&mut Browser::default(), &gina)).await;
    let theirs = listed(&read(&other, "").await.json());
    assert!(!theirs.is_empty() && theirs.iter().all(|entry| !all.contains(entry)));
    // A cursor of another tenant's is no way there.
    let beyond = listed(&read(&other, &cursor).await.json());
    assert!(beyond.iter().all(|entry| theirs.contains(entry)));
    let olga = sign_in(local, &mut Browser::default(), "olga").await;
    assert_eq!(read(&olga, "").await.status, 404);

    let verified = async |of: &str| {
        admin(local, Method::GET, &format!("{of}/audit?verify=true"), None)
            .await
            .1
    };
    for of in ["", "/tenants/acme"] {
        assert_ne!(verified(of).await["unsealed"], json!([]), "{of}");
    }
    local.clock.advance(Duration::from_secs(200));
    local.system.sweep().await;
    for of in ["", "/tenants/acme", "/tenants/globex"] {
        let found = verified(of).await;
        assert_eq!(
            (&found["faults"], &found["unsealed"]),
            (&json!([]), &json!([])),
            "{of}: {found:#}"
        );
        assert!(found["seals"].as_u64() > Some(0), "{of}: {found:#}");
    }
}

/// Who signs in, and out.
async fn people(local: &Local, heard: &mut Heard) {
    let mut browser = Browser::default();
    let page = browser.open(&format!("{}/signin", base(local))).await;
    let wrong = [("username", "ada"), ("password", "not this one")];
    browser.submit(&page, &wrong).await;
    heard
        .step(
            "a wrong password",
            &[("idp.sign_in", "unknown", "session", "wrong")],
        )
        .await;
    let olga = sign_in(local, &mut browser, "olga").await;
    heard
        .step(
            "a sign-in",
            &[
                ("idp.sign_in", "user-olga", "session", "done"),
                ("idp.authorize", "user-olga", "host", "done"),
                ("token.issue", "client:host", "authorization_code", "done"),
                ("chat.sign_in", "person-", "session", "done"),
            ],
        )
        .await;
    let rubbish = format!("{}/signin/callback?code=x&state=y", base(local));
    Browser::default().open(&rubbish).await;
    heard
        .step(
            "a made-up answer",
            &[("chat.sign_in", "unknown", "session", "refused")],
        )
        .await;
    let agents = olga.get("/api/ops/agents").await.json();
    let mut listed = agents["agents"].as_array().expect("agents").iter();
    let own = listed
        .find(|agent| agent["isOwn"] == true)
        .expect("one of the tenant's own");
    let id = own["id"].as_str().expect("an agent").to_owned();
    let verb = format!("/api/ops/agents/{id}/check");
    let done = olga.call(Method::POST, &verb, Some(json!({}))).await;
    assert_eq!(done.status, 200, "{done:?}");
    heard
        .step(
            "an operator's look",
            &[("ops.agent", "person-", &format!("{id}/check"), "done")],
        )
        .await;
    replayed(local, &olga, heard).await;
    let out = olga.call(Method::POST, "/signout", Some(json!({}))).await.json();
    heard
        .step(
            "out of the chat",
            &[("chat.sign_out", "person-", "session", "done")],
        )
        .await;
    let page = browser.open(out["next"].as_str().expect("an address")).await;
    press(&mut browser, &page, "logout").await;
    heard
        .step("out over there", &[("idp.sign_out", "user-olga", "here", "done")])
        .await;
}

/// A delivery that is parked is tried once more.
async fn replayed(local: &Local, olga: &User, heard: &mut Heard) {
    let receiver = MockServer::start().await;
    let gone = Mock::given(path("/gone")).respond_with(ResponseTemplate::new(410));
    gone.mount(&receiver).await;
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let token = local.system.token("acme", "somebody", &host).expect("a token");
    let hook = json!({ "url": format!("{}/gone", receiver.uri()), "token": "t" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": "gone", "role": "ROLE_USER", "parts": [{ "text": "hello" }] },
        "configuration": { "returnImmediately": true, "taskPushNotificationConfig": hook } } });
    let sent = system_testing::user::http()
        .post(&host)
        .header("a2a-version", "1.0")
        .bearer_auth(token)
        .json(&call);
    let sent: Value = sent.send().await.expect("an answer").json().await.expect("JSON");
    let task = sent["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{sent}"))
        .to_owned();
    let mut parked = Value::Null;
    for _ in 0..200 {
        let listed = olga.get("/api/ops/deliveries").await.json();
        let mut deliveries = listed["deliveries"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into_iter();
        if let Some(found) = deliveries.find(|one| one["taskId"] == task.as_str()) {
            parked = found;
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let body = json!({ "agent": parked["agent"], "taskId": task, "configId": parked["configId"] });
    let done = olga
        .call(Method::POST, "/api/ops/deliveries/replay", Some(body))
        .await;
    assert_eq!(done.status, 200, "{parked}: {done:?}");
    heard
        .step("a replay", &[("ops.replay", "person-", &task, "done")])
        .await;
}

/// What an admin does with a user in the chat: told there with the person's address, and by the authorization server.
async fn admins(local: &Local, heard: &mut Heard) {
    let adam = sign_in(local, &mut Browser::default(), "adam").await;
    heard
        .step(
            "an admin's sign-in",
            &[("chat.sign_in", "person-", "session", "done")],
        )
        .await;
    let eve = "/api/admin/users/eve";
    for (method, path, body, verb, action) in [
        (
            Method::POST,
            "/api/admin/users",
            json!({ "username": "eve" }),
            "add",
            "user.add",
        ),
        (
            Method::PATCH,
            eve,
            json!({ "roles": ["operator"] }),
            "change",
            "user.change",
        ),
        (
            Method::POST,
            "/api/admin/users/eve/reset",
            json!({}),
            "reset",
            "user.reset",
        ),
        (
            Method::POST,
            "/api/admin/users/eve/end",
            json!({}),
            "end",
            "user.end",
        ),
        (Method::DELETE, eve, json!({}), "remove", "user.remove"),
    ] {
        let done = adam.call(method, path, Some(body)).await;
        assert!(done.status.is_success(), "{path}: {done:?}");
        let object = format!("eve/{verb}");
        let wanted = [
            ("admin.user", "person-", object.as_str(), "done"),
            (action, "person-", "eve", "done"),
        ];
        heard.step(verb, &wanted).await;
    }
    let known = adam.call(Method::GET, "/api/admin/access", None).await.json();
    let known = known["people"].as_array().cloned().unwrap_or_default();
    let is_in = |one: &&serde_json::Value| one["sessions"][0].is_object();
    let other = known.iter().find(is_in).expect("adam is in");
    let (id, session) = (&other["id"], &other["sessions"][0]["id"]);
    let (id, session) = (id.as_str().expect("an id"), session.as_str().expect("a session"));
    let path = format!("/api/admin/access/session/{session}?of={id}");
    let done = adam.call(Method::DELETE, &path, None).await;
    assert!(done.status.is_success(), "{path}: {done:?}");
    let object = format!("session/{session}");
    heard
        .step("an end", &[("admin.access", "person-", &object, "done")])
        .await;
}

/// A guest's work is taken over by whoever signs in in the same browser.
async fn taken_over(local: &Local, heard: &mut Heard) {
    let guest = local.user("acme");
    guest.ask("Hello").await;
    let mut browser = profile(&guest, &base(local));
    let alan = sign_in(local, &mut browser, "alan").await;
    let take = json!({ "take": true });
    let taken = alan.call(Method::POST, "/api/session/guest", Some(take)).await;
    assert_eq!(taken.status, 200, "{taken:?}");
    heard
        .step("a takeover", &[("chat.take_over", "person-", "guest-", "done")])
        .await;
}

/// Somebody shares what a task of theirs brought, ends that, and shares it until its chat is deleted.
async fn shared(local: &Local, heard: &mut Heard) {
    let on = [SettingChange::parse("share", Some("on")).expect("a setting")];
    let acme = Tenant::parse("acme").expect("a tenant");
    let set = local.system.store().tenants().set(&acme, &on).await;
    assert!(set.expect("settings"));
    local.clock.advance(store::SETTINGS_TTL);
    let olga = sign_in(local, &mut Browser::default(), "olga").await;
    let task = olga
        .chat("rain", "m1", "Will it rain in Oslo tomorrow?")
        .await
        .task_id();
    olga.until(&task, &["completed"]).await;
    heard.step("another sign-in", &[]).await;
    let path = format!("/api/tasks/{task}/share");
    for is_chats in [false, true] {
        let made = olga.call(Method::POST, &path, Some(json!({}))).await;
        assert_eq!(made.status, 201, "{made:?}");
        let link = made.json()["link"].as_str().expect("a link").to_owned();
        heard
            .secrets
            .push(link.rsplit('/').next().expect("a token").to_owned());
        heard
            .step("a link", &[("share.make", "person-", &task, "done")])
            .await;
        let (what, object) = match is_chats {
            false => (path.as_str(), task.as_str()),
            true => ("/api/chats/rain", "chat"),
        };
        let ended = olga.call(Method::DELETE, what, None).await;
        assert_eq!(ended.status, 204, "{ended:?}");
        heard
            .step("its end", &[("share.end", "person-", object, "done")])
            .await;
    }
}

/// A guest has themselves erased.
async fn erased(local: &Local, heard: &mut Heard) {
    let guest = local.user("acme");
    guest.ask("Hello").await;
    heard.step("a guest", &[]).await;
    let done = guest.call(Method::DELETE, "/api/me", None).await;
    assert_eq!(done.status, 200, "{done:?}");
    let id = done.json()["id"].as_str().expect("an id").to_owned();
    heard
        .step("an erasure", &[("person.erase", "guest-", &id, "done")])
        .await;
}

/// Another issuer says that somebody has signed out there.
async fn ended_elsewhere(local: &Local, heard: &mut Heard) {
    let issuer = Elsewhere::start().await;
    let named = json!({ "issuer": issuer.name(), "client_id": "chat", "client_secret": "a-secret-of-32-letters-or-more--" });
    let (status, told) = admin(local, Method::PUT, "/tenants/acme/issuers/corp", Some(named)).await;
    assert!(status.is_success(), "{status} {told}");
    let url = format!("{}/signin/backchannel", base(local));
    let token = issuer.logout(local.clock.now());
    // The second time it does not count.
    for (status, actor, object, result) in [
        (StatusCode::OK, "issuer:corp", "person-", "done"),
        (StatusCode::BAD_REQUEST, "unknown", "unknown", "refused"),
    ] {
        let said = system_testing::user::http()
            .post(&url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("logout_token={token}"));
        let answer = said.send().await.expect("an answer");
        assert_eq!(answer.status(), status, "{answer:?}");
        let wanted = ("chat.backchannel_logout", actor, object, result);
        heard.step("an issuer's word", &[wanted]).await;
    }
}

/// An issuer that is not ours, as far as it signs people out.
struct Elsewhere {
    server: MockServer,
    key: SigningKey,
    pem: SecretString,
}

impl Elsewhere {
    async fn start() -> Self {
        let server = MockServer::start().await;
        let (key, pem) = SigningKey::generate().expect("a key");
        let name = server.uri();
        let metadata = json!({
            "issuer": name, "authorization_endpoint": format!("{name}/auth"), "token_endpoint": format!("{name}/token"),
            "jwks_uri": format!("{name}/jwks"), "code_challenge_methods_supported": ["S256"],
        });
        for (at, body) in [
            ("/.well-known/openid-configuration", metadata),
            ("/jwks", json!({ "keys": [key.public_jwk()] })),
        ] {
            Mock::given(path(at))
                .respond_with(ResponseTemplate::new(200).set_body_json(body))
                .mount(&server)
                .await;
        }
        Self { server, key, pem }
    }

    fn name(&self) -> String {
        self.server.uri()
    }

    fn logout(&self, now: Timestamp) -> String {
        let claims = json!({
            "iss": self.name(), "sub": "ada", "aud": "chat", "iat": now.seconds(), "exp": now.seconds() + 120, "jti": "one",
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
        });
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.key.kid().to_owned());
        header.typ = Some("logout+jwt".to_owned());
        let key = EncodingKey::from_ec_pem(self.pem.expose_secret().as_bytes()).expect("a key");
        jsonwebtoken::encode(&header, &claims, &key).expect("a token")
    }
}

/// Consents and grants.
async fn consents(local: &Local, heard: &mut Heard) {
    let user = local.user("acme");
    let asked = user.ask("Where is my order 1001?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    heard
        .step(
            "a question",
            &[(
                "consent.ask",
                "guest-",
                &format!("idp/{}", asked.task_id()),
                "done",
            )],
        )
        .await;
    let mut browser = profile(&user, &base(local));
    oauth::agree(&mut browser, &link(&waiting), demo(local, "ada")).await;
    user.until(&asked.task_id(), &["completed"]).await;
    heard
        .step(
            "a consent",
            &[
                ("idp.sign_in", "user-ada", "session", "done"),
                ("idp.authorize", "user-ada", "host", "done"),
                ("token.issue", "client:host", "authorization_code", "done"),
                ("consent.give", "guest-", &asked.task_id(), "done"),
            ],
        )
        .await;
    local.clock.advance(Duration::from_secs(11 * 60));
    let again = user.ask("Where is my order 1001?").await;
    user.until(&again.task_id(), &["completed"]).await;
    heard
        .step(
            "a renewal",
            &[
                ("token.refresh", "client:host", "refresh_token", "done"),
                ("grant.renew", "guest-", "idp", "done"),
            ],
        )
        .await;
    let ended = user
        .call(Method::DELETE, "/api/connections/idp", Some(json!({})))
        .await;
    assert_eq!(ended.status, 200, "{ended:?}");
    heard
        .step(
            "a connection's end",
            &[
                ("token.revoke", "client:host", "", "done"),
                ("grant.end", "guest-", "idp", "done"),
            ],
        )
        .await;

    let second = local.user("acme");
    let asked = second.ask("Where is my order 1002?").await;
    let waiting = second.until(&asked.task_id(), &["auth-required"]).await;
    let mut browser = profile(&second, &base(local));
    let page = browser.open(&link(&waiting)).await;
    let login = demo(local, "alan");
    let fields = ["username", "password"].map(|name| (name, login[name].as_str().expect("text")));
    let page = browser.submit(&page, &fields).await;
    press(&mut browser, &page, "deny").await;
    second.until(&asked.task_id(), &["rejected"]).await;
    heard
        .step(
            "a refusal",
            &[
                ("consent.ask", "guest-", "idp/", "done"),
                ("idp.authorize", "user-alan", "host", "denied"),
                ("consent.refuse", "guest-", &asked.task_id(), "done"),
            ],
        )
        .await;

    let third = local.user("acme");
    let asked = third.chat("orders", "m1", "Where is my order 1003?").await;
    let waiting = third.until(&asked.task_id(), &["auth-required"]).await;
    let page = oauth::agree(&mut Browser::default(), &link(&waiting), demo(local, "ada")).await;
    heard
        .step(
            "in another browser",
            &[
                ("chat.guest", "guest-", "session", "done"),
                ("consent.hold", "unknown", &asked.task_id(), "done"),
            ],
        )
        .await;
    let code = code_on(&page);
    let last = if code.ends_with('B') { "C" } else { "B" };
    third.chat("orders", "m2", &format!("{}{last}", &code[..8])).await;
    heard
        .step(
            "a wrong code",
            &[("consent.code", "guest-", &asked.task_id(), "wrong")],
        )
        .await;
    third.chat("orders", "m3", &code).await;
    third.until(&asked.task_id(), &["completed"]).await;
    heard
        .step(
            "the right one",
            &[("consent.give", "guest-", &asked.task_id(), "done")],
        )
        .await;
    agreed(local, &third, heard).await;
}

/// A plan that its user agrees to, and what goes with their word alone to an agent that changes something.
async fn agreed(local: &Local, user: &User, heard: &mut Heard) {
    let prompt = "Where is my order 1003? Then write a report on it";
    let plan = user.chat("agreed", "m1", prompt).await.task_id();
    user.until(&plan, &["input-required"]).await;
    heard.step("a plan", &[]).await;
    user.chat("agreed", "m2", "yes").await;
    heard
        .step("a plan's start", &[("plan.approve", "guest-", &plan, "done")])
        .await;
    user.until(&plan, &["completed"]).await;

    let place = MockServer::start().await;
    let card = json!({
        "name": "Siren", "description": "Sounds the siren", "version": "1", "protocolVersion": "0.3.0", "url": place.uri(),
        "preferredTransport": "JSONRPC", "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "sound", "name": "Sound", "description": "Sounds the siren", "tags": ["type:siren", "effect:write"]}],
    });
    let says = ResponseTemplate::new(200).set_body_json(card);
    Mock::given(path("/card")).respond_with(says).mount(&place).await;
    let body = json!({ "cardUrl": format!("{}/card", place.uri()), "scope": "global" });
    let (status, agent) = registry(local, Method::POST, "/agents", Some(body)).await;
    assert!(status.is_success(), "{agent}");
    let sound = user
        .chat("sound", "m1", "/agent siren Sound the siren")
        .await
        .task_id();
    user.until(&sound, &["input-required"]).await;
    heard.step("what it would send", &[]).await;
    user.chat("sound", "m2", "yes").await;
    let released = format!("{sound}/0");
    heard
        .step(
            "what it sends",
            &[("effect.release", "guest-", &released, "done")],
        )
        .await;
    let id = agent["id"].as_str().expect("an id");
    let (status, _) = registry(local, Method::DELETE, &format!("/agents/{id}"), None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
}

/// What operators do.
/// An agent's card says something else one day, and the operator approves it.
async fn changed_card(local: &Local, heard: &mut Heard) {
    let place = MockServer::start().await;
    let says = |name: &str| {
        let card = json!({
            "name": name, "description": "Tunes", "version": "1", "protocolVersion": "0.3.0", "url": place.uri(),
            "preferredTransport": "JSONRPC", "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "tune", "name": "Tune", "description": "Tunes", "tags": ["type:weather"]}],
        });
        Mock::given(path("/card")).respond_with(ResponseTemplate::new(200).set_body_json(card))
    };
    says("Zither").mount(&place).await;
    let body = json!({ "cardUrl": format!("{}/card", place.uri()) });
    let (status, agent) = registry(local, Method::POST, "/agents", Some(body)).await;
    assert!(status.is_success(), "{agent}");
    let id = agent["id"].as_str().expect("an id").to_owned();
    place.reset().await;
    says("Your assistant").mount(&place).await;
    let (_, agent) = registry(local, Method::POST, &format!("/agents/{id}/check"), None).await;
    let pin = json!({ "pin": agent["pending"]["pin"] });
    let (status, agent) = registry(local, Method::POST, &format!("/agents/{id}/approve"), Some(pin)).await;
    assert_eq!(
        (status, &agent["card"]["name"]),
        (StatusCode::OK, &json!("Your assistant"))
    );
    let (status, _) = registry(local, Method::DELETE, &format!("/agents/{id}"), None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    heard
        .step(
            "a card that changes",
            &[
                ("registry.register", "operator", &id, "done"),
                ("registry.change", "unknown", &id, "done"),
                ("registry.approve", "operator", &id, "done"),
                ("registry.remove", "operator", &id, "done"),
            ],
        )
        .await;
}

async fn operators(local: &Local, heard: &mut Heard) {
    let (status, _) = registry(
        local,
        Method::PUT,
        "/types/weather",
        Some(json!({ "scope": "global" })),
    )
    .await;
    assert!(status.is_success(), "{status}");
    heard
        .step("a type", &[("registry.type", "operator", "weather", "done")])
        .await;
    let card = format!(
        "{}/.well-known/agent-card.json",
        local.endpoint("/agents/weather").trim_end_matches('/')
    );
    let (status, agent) = registry(local, Method::POST, "/agents", Some(json!({ "cardUrl": card }))).await;
    assert!(status.is_success(), "{agent}");
    let id = agent["id"].as_str().expect("an id").to_owned();
    heard
        .step(
            "a registration",
            &[("registry.register", "operator", &id, "done")],
        )
        .await;
    changed_card(local, heard).await;
    for verb in ["disable", "enable"] {
        let (status, _) = registry(local, Method::POST, &format!("/agents/{id}/{verb}"), None).await;
        assert_eq!(status, StatusCode::OK);
        heard
            .step(verb, &[(&format!("registry.{verb}"), "operator", &id, "done")])
            .await;
    }
    let (status, _) = registry(local, Method::DELETE, &format!("/agents/{id}"), None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    heard
        .step("a removal", &[("registry.remove", "operator", &id, "done")])
        .await;
    let (status, told) = registry(local, Method::DELETE, "/types/weather", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    heard
        .step(
            "a type's removal",
            &[("registry.type_remove", "operator", "weather", "done")],
        )
        .await;

    let mut prefix = String::new();
    let steps: [(Method, &str, Value, Wanted<'_>); 12] = [
        (
            Method::POST,
            "/tenants",
            json!({ "name": "initech" }),
            ("tenant.add", "operator", "initech.", "done"),
        ),
        (
            Method::PUT,
            "/tenants/initech/status",
            json!({ "suspended": true }),
            ("tenant.suspend", "operator", "initech.", "done"),
        ),
        (
            Method::PUT,
            "/tenants/initech/status",
            json!({ "suspended": false }),
            ("tenant.resume", "operator", "initech.", "done"),
        ),
        (
            Method::PATCH,
            "/tenants/initech/settings",
            json!({ "locale": "nb" }),
            ("tenant.set", "operator", "locale", "done"),
        ),
        (
            Method::POST,
            "/tenants/initech/users",
            json!({ "username": "milton" }),
            ("user.add", "operator", "milton", "done"),
        ),
        (
            Method::POST,
            "/tenants/initech/users/milton/reset",
            Value::Null,
            ("user.reset", "operator", "milton", "done"),
        ),
        (
            Method::DELETE,
            "/tenants/initech/users/milton",
            Value::Null,
            ("user.remove", "operator", "milton", "done"),
        ),
        (
            Method::POST,
            "/keys/rotate",
            json!({ "keys": "sealing" }),
            ("keys.rotate", "operator", "sealing", "done"),
        ),
        (
            Method::POST,
            "/keys/rotate",
            json!({ "keys": "idp", "force": true }),
            ("keys.rotate", "operator", "idp", "done"),
        ),
        (
            Method::POST,
            "/keys/rotate",
            json!({ "keys": { "session": "acme" }, "force": true }),
            ("keys.rotate", "operator", "session", "done"),
        ),
        (
            Method::GET,
            "/tenants/initech/export",
            Value::Null,
            ("tenant.export", "operator", "initech.", "done"),
        ),
        (
            Method::DELETE,
            "/tenants/initech",
            Value::Null,
            ("tenant.remove", "operator", "initech.", "done"),
        ),
    ];
    for (method, path, body, wanted) in steps {
        let body = Some(body).filter(|body| !body.is_null());
        let (status, told) = admin(local, method, path, body).await;
        assert!(status.is_success(), "{path}: {status} {told}");
        if let Some(made) = told["prefix"].as_str() {
            prefix = made.to_owned();
        }
        heard.step(path, &[wanted]).await;
    }
    assert!(prefix.starts_with("initech."));
    let (status, told) = admin(local, Method::POST, "/tenants/initech/purge", None).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    heard
        .step("a purge", &[("tenant.purge", "operator", "items", "done")])
        .await;
}
