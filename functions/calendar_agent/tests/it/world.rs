//! An agent with a queue, the sandbox's Google at an address of its own, and a user who agrees there.

use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Settings, Wake};
use agent_testing::{Door, loopback};
use auth::{Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use calendar_agent::Places;
use consent::{Consent, ConsentStore, Consents, read_reference};
use domain::{
    AgentName, Clock as _, ExposeSecret as _, ManualClock, SystemEntropy, TaskId, Tenant, Timestamp,
};
use edge::agent_parts::AgentParts;
use outbound::oauth::{CodeExchange, Dialect, OAuthClient, Provider};
use sandbox::google::{CLIENT, Google, USERS};
use serde_json::{Value, json};
use store::Store;
use tower::ServiceExt as _;
use url::Url;

pub(crate) const URL: &str = "http://127.0.0.1:9/a/calendar";
const BACK: &str = "http://127.0.0.1:9/consent/callback";
/// A Monday morning.
pub(crate) const NOW: &str = "2026-11-30T09:00:00Z";

pub(crate) struct World {
    pub(crate) agent: Arc<Agent>,
    pub(crate) google: Google,
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    consents: Consents,
    door: Arc<Door>,
    key: SigningKey,
    pub(crate) database: store_testing::Database,
}

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

pub(crate) async fn world() -> World {
    let (store, database) = store_testing::start().await;
    let clock = Arc::new(ManualClock::new(Timestamp::parse(NOW).unwrap()));
    let door = Arc::new(Door::default());
    let entropy = Arc::new(SystemEntropy);
    let (key, _) = SigningKey::generate().unwrap();
    let issuers = ["acme", "globex"].map(|name| TrustedIssuer {
        issuer: format!("https://{name}.example"),
        tenant: Some(tenant(name)),
        keys: vec![key.public_jwk()],
    });
    let verifier = Verifier::new(URL.into(), issuers.into()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer: Url = format!("http://{}/google", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let google = Google::new(issuer.clone(), BACK, (clock.clone(), entropy.clone()));
    let router = axum::Router::new().nest("/google", google.router());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let provider = Provider {
        issuer: issuer.to_string(),
        dialect: Dialect::Google,
        sign_in: Default::default(),
        client: OAuthClient {
            id: CLIENT.0.into(),
            secret: CLIENT.1.into(),
        },
    };
    let providers = outbound::oauth::Providers::from([(calendar_agent::PROVIDER.to_owned(), provider)]);
    let parts = AgentParts {
        mqtt: None,
        url: URL.parse().unwrap(),
        store: store.clone(),
        wake: door.clone(),
        validator: Arc::new(verifier),
        sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: loopback(),
        clock: clock.clone(),
        entropy: entropy.clone(),
        settings: Settings::default(),
    };
    let consents = Consents {
        tenant: tenant("acme"),
        agent: Some(AgentName::parse(calendar_agent::AGENT).unwrap()),
        store: store.clone(),
        sealer: parts.sealer.clone(),
        providers: Arc::new(providers.clone()),
        outbound: parts.outbound.clone(),
        clock: clock.clone(),
        entropy,
    };
    let places = Places {
        calendar: format!("{issuer}/calendar/v3").parse().unwrap(),
        consent: "http://127.0.0.1:9/consent".parse().unwrap(),
        providers,
    };
    World {
        agent: calendar_agent::agent(parts, places).unwrap(),
        google,
        store,
        clock,
        consents,
        door,
        key,
        database,
    }
}

impl World {
    /// A token of a user; the scope is the agent's where none is named.
    pub(crate) fn token(&self, (name, user): (&str, &str), audience: &str, scope: &str) -> String {
        let grant = auth::Grant {
            issuer: &format!("https://{name}.example"),
            subject: user,
            tenant: Some(&tenant(name)),
            audience,
            scopes: &[scope],
            lifetime: Duration::from_secs(300),
        };
        let token = self.key.sign(&grant, self.clock.now(), &SystemEntropy).unwrap();
        token.expose_secret().to_owned()
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Value) {
        let response = edge::agent_parts::function(self.agent.clone(), calendar_agent::NAME)
            .router
            .oneshot(request)
            .await
            .unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, headers, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn rpc(&self, who: (&str, &str), method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .header(
                "authorization",
                format!("Bearer {}", self.token(who, URL, "tasks")),
            )
            .body(Body::from(body.to_string()))
            .unwrap();
        let (status, _, answer) = self.answer(request).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Sends without waiting, works, and gives the task.
    pub(crate) async fn told(&self, who: (&str, &str), text: &str, task: Option<&str>) -> Value {
        let on = task.map(|task| ("taskId", task));
        self.sent(who, text, on).await
    }

    /// The same in a chat or on a task.
    pub(crate) async fn sent(&self, who: (&str, &str), text: &str, on: Option<(&str, &str)>) -> Value {
        let id = SystemEntropy.uuid_text();
        let mut message = json!({
            "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }],
            "metadata": {"switchyard/timeZone": "Europe/Oslo", "switchyard/locale": "en-GB"},
        });
        if let Some((name, id)) = on {
            message[name] = id.into();
        }
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        let sent = self.rpc(who, "SendMessage", params).await["task"].clone();
        self.work().await;
        self.task(who, &sent).await
    }

    pub(crate) async fn task(&self, who: (&str, &str), task: &Value) -> Value {
        self.rpc(who, "GetTask", json!({ "id": task["id"] })).await
    }

    pub(crate) async fn ask(&self, text: &str) -> Value {
        self.told(ADA, text, None).await
    }

    pub(crate) async fn work(&self) {
        loop {
            let Some(wake) = self.door.next() else {
                return;
            };
            agent::handle(&self.agent, &wake).await.unwrap();
        }
    }

    /// A plain request below the agent's URL, as this user.
    pub(crate) async fn call(&self, who: (&str, &str), method: Method, path: &str) -> (StatusCode, Value) {
        let token = self.token(who, URL, "tasks");
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {token}"));
        let (status, _, body) = self.answer(request.body(Body::empty()).unwrap()).await;
        (status, body)
    }

    /// Where a user is connected.
    pub(crate) async fn connections(&self, who: (&str, &str)) -> Value {
        let (status, body) = self.call(who, Method::GET, "/connections").await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body["connections"].clone()
    }

    /// Wakes the task as the callback would.
    pub(crate) async fn wake(&self, task: &Value) {
        let key = store::TaskKey {
            tenant: tenant("acme"),
            agent: AgentName::parse(calendar_agent::AGENT).unwrap(),
            id: TaskId::parse(task["id"].as_str().unwrap()).unwrap(),
        };
        agent::handle(&self.agent, &Wake::task(&key)).await.unwrap();
    }

    pub(crate) fn records(&self) -> ConsentStore {
        self.consents.records()
    }

    /// The consent that a task asks for.
    pub(crate) async fn asked(&self, task: &Value) -> Consent {
        assert_eq!(task["status"]["state"], "TASK_STATE_AUTH_REQUIRED", "{task}");
        let link = task["status"]["message"]["metadata"]["authUrl"].as_str().unwrap();
        assert!(said(task).contains(link));
        let (named, id) = read_reference(link.rsplit('/').next().unwrap()).unwrap();
        assert_eq!(named, tenant("acme"));
        self.records().find(id).await.unwrap().unwrap()
    }

    /// Agrees at Google as this account; what comes of the code is held, as in a browser that nobody knows, and the code
    /// that it is to be typed back by is given.
    pub(crate) async fn agree(&self, consent: &Consent, user: usize) -> String {
        let secrets = auth::ConsentSecrets {
            state: auth::token::random("state", &SystemEntropy),
            pkce_verifier: "v".repeat(43).into(),
            nonce: "n".into(),
            token_endpoint: String::new(),
            iss_required: false,
            starters_browser: false,
        };
        let started = self.consents.started(consent, &secrets, &"cookie".into());
        let start = |consent: Consent| consent.start(started.clone(), self.clock.now());
        let consent = self.records().revise(consent.clone(), start).await.unwrap();
        let granted = self.granted(&consent, user).await;
        let code = self.consents.hold(&consent, &started, &granted).await.unwrap();
        code.unwrap().expose_secret().to_owned()
    }

    async fn granted(&self, consent: &Consent, user: usize) -> auth::GrantSecrets {
        let provider = self.consents.provider(calendar_agent::PROVIDER).unwrap();
        let challenge = auth::pkce::challenge(&"v".repeat(43));
        let scope = consent.request.scopes.join(" ");
        let mut fields = vec![
            ("client_id", CLIENT.0),
            ("redirect_uri", BACK),
            ("response_type", "code"),
            ("code_challenge_method", "S256"),
            ("code_challenge", challenge.as_str()),
            ("access_type", "offline"),
            ("prompt", "consent"),
            ("scope", scope.as_str()),
            ("user", USERS[user].0),
            ("agree", "yes"),
        ];
        fields.extend(["box.0", "box.1"].map(|name| (name, "on")));
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = Request::post("/o/oauth2/v2/auth")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(body))
            .unwrap();
        let answer = self.google.router().oneshot(request).await.unwrap();
        let back: Url = answer.headers()["location"].to_str().unwrap().parse().unwrap();
        let (_, code) = back.query_pairs().find(|(name, _)| name == "code").unwrap();
        let exchange = CodeExchange {
            code: &code.into_owned().into(),
            verifier: &"v".repeat(43).into(),
            redirect_uri: BACK,
            resource: &consent.request.resource,
        };
        let outbound = &self.consents.outbound;
        let endpoint = outbound
            .server_metadata(&provider.issuer)
            .await
            .unwrap()
            .token_endpoint;
        let tokens = outbound
            .exchange_code(&endpoint, provider, exchange)
            .await
            .unwrap();
        tokens.granted(&consent.request.scopes, None, self.clock.now())
    }

    /// Asks, agrees and types the code back: the task as it is then.
    pub(crate) async fn connected(&self, question: &str) -> Value {
        let task = self.ask(question).await;
        let consent = self.asked(&task).await;
        let code = self.agree(&consent, 0).await;
        self.told(ADA, &code, task["id"].as_str()).await
    }
}

pub(crate) const ADA: (&str, &str) = ("acme", "ada");

trait UuidText {
    fn uuid_text(&self) -> String;
}

impl UuidText for SystemEntropy {
    fn uuid_text(&self) -> String {
        domain::Entropy::uuid(self).to_string()
    }
}

/// What a task says.
pub(crate) fn said(task: &Value) -> String {
    let parts = match task["artifacts"][0]["parts"].as_array() {
        Some(parts) => parts.clone(),
        None => task["status"]["message"]["parts"]
            .as_array()
            .cloned()
            .unwrap_or_default(),
    };
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The data that a task brought.
pub(crate) fn data(task: &Value) -> Value {
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    parts.iter().find_map(|part| part.get("data")).unwrap().clone()
}
