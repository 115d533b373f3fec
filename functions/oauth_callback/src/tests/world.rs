//! A tenant with a task that waits for consent, an identity provider, and browsers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{BrowserKeys, JwksCache, Sealer, token};
use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use consent::{Consent, ConsentRequest, ConsentStore, Consents, Stage};
use domain::{
    AgentName, ContextId, EventKind, GrantKey, ManualClock, Message, MessageId, NewTask, Owner, Part,
    Revision, SignInRule, SystemEntropy, Task, TaskId, TaskState, Tenant, Timestamp,
};
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use outbound::oauth::{Dialect, OAuthClient, Provider, Providers};
use outbound::{FetchedKeys, Outbound, Policy};
use serde_json::json;
use store::{Due, LeaseAfter, NewRecord, Store, StoredGrant, StoredTask, TaskKey};
use store_testing::Database;
use tower::ServiceExt;
use url::Url;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{Proofs, SignInIssuers, State, router};

pub(super) const BASE: &str = "https://chat.example/t/acme";
pub(super) const RESOURCE: &str = "https://agents.example/a/horizon";
pub(super) const SESSION: &str = "sws_ada-session-secret";
/// Everything that no page and no log may show, but for what is random.
pub(super) const SECRETS: [&str; 5] = [
    "access-token-secret",
    "refresh-token-secret",
    "code-secret",
    "client-secret-secret",
    "session-secret",
];

/// A queue that takes wakes, or does not.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) wakes: Mutex<Vec<Wake>>,
    pub(super) broken: bool,
}

#[async_trait]
impl WakeDoor for Queue {
    async fn wake(&self, wake: &Wake, _: Duration) -> Result<(), WakeError> {
        if self.broken {
            return Err(WakeError::Queue("no queue".into()));
        }
        self.wakes.lock().unwrap().push(wake.clone());
        Ok(())
    }
}

/// What came back.
pub(super) struct Seen {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Seen {
    /// Where the browser is sent, by its parameters.
    pub(super) fn asked(&self) -> BTreeMap<String, String> {
        self.location().query_pairs().into_owned().collect()
    }

    pub(super) fn location(&self) -> Url {
        assert_eq!(self.status, StatusCode::FOUND, "{}", self.body);
        self.headers[LOCATION].to_str().unwrap().parse().unwrap()
    }

    /// A page of ours, and that only.
    pub(super) fn page(&self, status: StatusCode, words: &str) -> &Self {
        assert_eq!(self.status, status, "{}", self.body);
        assert!(self.body.contains(words), "{words}: {}", self.body);
        assert!(self.body.starts_with("<!doctype html>") && self.body.contains("<html lang=\"en\">"));
        assert_eq!(self.body.matches("<h1>").count(), 1);
        assert!(self.body.contains("href=\"/t/acme/\""));
        let header = |name: &str| self.headers[name].to_str().unwrap();
        assert!(header("content-security-policy").starts_with("default-src 'none'; style-src 'self'"));
        assert!(header("content-type").starts_with("text/html"));
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("x-content-type-options"), "nosniff");
        for secret in SECRETS {
            assert!(!self.body.contains(secret), "{secret}: {}", self.body);
        }
        self
    }
}

/// A browser with its cookies.
#[derive(Clone, Default)]
pub(super) struct Browser {
    pub(super) cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(super) fn with_session(token: &str) -> Self {
        let cookies = BTreeMap::from([("__Host-switchyard_acme".to_owned(), token.to_owned())]);
        Self { cookies }
    }

    pub(super) async fn get(&mut self, world: &World, target: &str) -> Seen {
        let line = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        let line = line.collect::<Vec<_>>().join("; ");
        let request = Request::get(target)
            .header(COOKIE, line)
            .body(Body::empty())
            .unwrap();
        let response = world.app.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        for cookie in head.headers.get_all(SET_COOKIE) {
            let text = cookie.to_str().unwrap();
            assert!(
                text.contains("; HttpOnly; SameSite=Lax; Secure")
                    && text.starts_with("__Host-")
                    && text.contains("; Path=/;"),
                "{text}"
            );
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        Seen {
            status: head.status,
            headers: head.headers,
            body: String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap(),
        }
    }

    /// Follows the link; what the provider is asked.
    pub(super) async fn connect(&mut self, world: &World) -> BTreeMap<String, String> {
        let seen = self.get(world, &world.link()).await;
        let asked = seen.asked();
        world.nonce.lock().unwrap().clone_from(&asked["nonce"]);
        asked
    }

    /// Comes back with these parameters.
    pub(super) async fn answer(&mut self, world: &World, parameters: &[(&str, &str)]) -> Seen {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        self.get(world, &format!("/callback?{query}")).await
    }

    /// Comes back with the code, as the provider sends it.
    pub(super) async fn agree(&mut self, world: &World, asked: &BTreeMap<String, String>) -> Seen {
        let iss = world.issuer.clone();
        self.answer(
            world,
            &[("code", "code-secret"), ("state", &asked["state"]), ("iss", &iss)],
        )
        .await
    }
}

pub(super) struct World {
    pub(super) app: Router,
    pub(super) store: Store,
    pub(super) clock: Arc<ManualClock>,
    pub(super) queue: Arc<Queue>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) tenant: Tenant,
    pub(super) owner: Owner,
    pub(super) key: TaskKey,
    pub(super) consent_id: String,
    pub(super) issuer: String,
    pub(super) idp: MockServer,
    pub(super) nonce: Arc<Mutex<String>>,
    _database: Database,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(Queue::default()).await
    }

    pub(super) async fn with(queue: Queue) -> Self {
        Self::built(queue, ("idp", ""), &[]).await
    }

    /// One whose people sign in at these issuers too, by the rules of the settings `SIGN_IN_ISSUERS` and `REQUIRE_ACR`.
    pub(super) async fn built(
        queue: Queue,
        (ids, demands): (&str, &str),
        others: &[(&str, Provider)],
    ) -> Self {
        let (store, database) = store_testing::start().await;
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(60_000)));
        let queue = Arc::new(queue);
        let idp = MockServer::start().await;
        let issuer = format!("{}/idp/acme", idp.uri());
        let nonce = Arc::new(Mutex::new(String::new()));
        publish(&idp, &issuer, true).await;
        let keys = vec![("k1".to_owned(), Sealer::generate_key(&SystemEntropy))];
        let sealer = Arc::new(Sealer::new(keys).unwrap());
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let provider = Provider {
            issuer: issuer.clone(),
            dialect: Dialect::Standard,
            sign_in: Default::default(),
            client: OAuthClient {
                id: "host".into(),
                secret: "client-secret-secret".into(),
            },
        };
        let tenant = Tenant::parse("acme").unwrap();
        let mut providers: Providers = [("idp".to_owned(), provider)].into();
        providers.extend(others.iter().map(|(id, other)| ((*id).to_owned(), other.clone())));
        let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
        let keys = JwksCache::new(Arc::new(FetchedKeys(outbound.clone())));
        let rule = SignInRule {
            issuers: ids.parse().unwrap(),
            demands: demands.parse().unwrap(),
        };
        let sign_in = SignInIssuers::new(rule, &providers, keys);
        let app = router(State {
            sign_in: sign_in.unwrap(),
            consents: Consents {
                tenant: tenant.clone(),
                agent: None,
                store: store.clone(),
                sealer: sealer.clone(),
                providers: Arc::new(providers),
                outbound,
                clock: clock.clone(),
                entropy: Arc::new(SystemEntropy),
            },
            base: BASE.parse().unwrap(),
            proofs: Proofs::Made(Arc::new(BrowserKeys::of(&sealer, &tenant).unwrap())),
            wake: queue.clone(),
        });
        let mut world = Self {
            app,
            store,
            clock,
            queue,
            sealer,
            owner: Owner::parse("ada").unwrap(),
            key: TaskKey {
                tenant: tenant.clone(),
                agent: AgentName::parse("host").unwrap(),
                id: TaskId::from_bytes([1; 16]),
            },
            tenant,
            consent_id: "0f8fad5b-d9cb-469f-a165-70867728950e".into(),
            issuer,
            idp,
            nonce,
            _database: database,
        };
        world.token_endpoint_gives(None).await;
        world.prepare().await;
        world
    }

    /// The task that waits, the starter's session, and the request for consent.
    async fn prepare(&mut self) {
        use domain::Clock;
        let now = self.clock.now();
        let new = NewTask {
            id: self.key.id,
            tenant: self.tenant.clone(),
            agent: self.key.agent.clone(),
            context_id: ContextId::parse("c").unwrap(),
            owner: self.owner.clone(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("My orders?")]),
            trace: None,
        };
        let task = Task::create(new, now);
        let record = NewRecord {
            task: &task,
            message_id: &MessageId::parse("m").unwrap(),
            body_hash: "h",
            push: None,
            due_at: now,
            retention: Duration::from_secs(100 * 24 * 3600),
        };
        self.store.tasks().create(&record).await.unwrap();
        self.record(EventKind::status(TaskState::AuthRequired, None))
            .await;
        let sessions = self.store.sessions();
        for (token, owner) in [(SESSION, "ada"), ("sws_alan-session-secret", "alan")] {
            let owner = Owner::parse(owner).unwrap();
            let until = now.after(Duration::from_secs(30 * 24 * 3600));
            sessions
                .create_session(&self.tenant, &token::hash(token), &owner, now, until)
                .await
                .unwrap();
        }
        let request = ConsentRequest {
            owner: self.owner.clone(),
            agent: self.key.agent.clone(),
            task_id: self.key.id,
            job: 0,
            provider: "idp".into(),
            issuer: self.issuer.clone(),
            resource: RESOURCE.into(),
            scopes: ["openid", "tasks", "orders:read"].map(str::to_owned).into(),
        };
        let until = now.after(Duration::from_secs(3600));
        let consent = Consent::new(self.consent_id.clone(), request, now, until);
        assert!(self.records().put(&consent).await.unwrap());
    }

    pub(super) fn records(&self) -> ConsentStore {
        ConsentStore::new(self.store.clone(), self.tenant.clone())
    }

    /// Writes into the task, which then is parked far in the future.
    pub(super) async fn record(&self, kind: EventKind) {
        use domain::Clock;
        let now = self.clock.now();
        let mut revision = Revision::of(self.stored().await.task);
        revision.record(kind, now).unwrap();
        let due = Due::At(now.after(Duration::from_secs(24 * 3600)));
        let tasks = self.store.tasks();
        tasks.commit(&revision, due, LeaseAfter::Keep).await.unwrap();
    }

    /// Makes the token endpoint answer so; `None` is the usual answer.
    pub(super) async fn token_endpoint_gives(&self, answer: Option<ResponseTemplate>) {
        self.idp.reset().await;
        publish(&self.idp, &self.issuer, true).await;
        let (nonce, issuer) = (self.nonce.clone(), self.issuer.clone());
        Mock::given(method("POST"))
            .and(path("/idp/acme/token"))
            .respond_with(move |_: &wiremock::Request| {
                answer.clone().unwrap_or_else(|| {
                    let nonce = nonce.lock().unwrap().clone();
                    let claims = json!({"iss": issuer, "sub": "ada@idp", "aud": "host", "nonce": nonce});
                    ResponseTemplate::new(200).set_body_json(json!({
                        "access_token": "access-token-secret", "token_type": "Bearer", "expires_in": 600,
                        "refresh_token": "refresh-token-secret", "scope": "openid tasks orders:read",
                        "id_token": format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string())),
                    }))
                })
            })
            .mount(&self.idp)
            .await;
    }

    /// What the token endpoint was asked, so far.
    pub(super) async fn exchanges(&self) -> Vec<wiremock::Request> {
        let all = self.idp.received_requests().await.unwrap();
        all.into_iter()
            .filter(|request| request.url.path() == "/idp/acme/token")
            .collect()
    }

    pub(super) fn link(&self) -> String {
        format!("/connect/{}", self.consent_id)
    }

    pub(super) async fn consent(&self) -> Consent {
        let found = self.records().find(&self.consent_id).await;
        found.unwrap().unwrap()
    }

    pub(super) async fn grant(&self) -> Option<StoredGrant> {
        let key = GrantKey {
            tenant: &self.tenant,
            owner: &self.owner,
            provider: "idp",
            resource: RESOURCE,
        };
        self.store.grants().find_grant(key).await.unwrap()
    }

    /// Whoever looks for a grant of anybody finds none, and nobody was woken.
    pub(super) async fn nothing_granted(&self) {
        for owner in ["ada", "alan"] {
            let owner = Owner::parse(owner).unwrap();
            let grants = self.store.grants().list_grants(&self.tenant, &owner).await;
            assert_eq!(grants.unwrap(), []);
        }
        assert_ne!(self.consent().await.stage, Stage::Done);
    }

    pub(super) fn binding(&self) -> GrantKey<'_> {
        GrantKey {
            tenant: &self.tenant,
            owner: &self.owner,
            provider: "idp",
            resource: RESOURCE,
        }
    }

    pub(super) fn wakes(&self) -> usize {
        let wakes = self.queue.wakes.lock().unwrap();
        assert!(wakes.iter().all(|wake| wake.key() == self.key));
        wakes.len()
    }

    pub(super) async fn stored(&self) -> StoredTask {
        let found = self
            .store
            .tasks()
            .find(&self.key, Timestamp::from_millis(0))
            .await;
        found.unwrap().unwrap()
    }
}

/// The provider's metadata.
pub(super) async fn publish(idp: &MockServer, issuer: &str, iss: bool) {
    Mock::given(method("GET"))
        .and(path("/idp/acme/.well-known/openid-configuration"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": iss,
        })))
        .mount(idp)
        .await;
}
