//! A registry with three signers (the platform, acme, globex) and a place that serves cards.

use std::sync::Arc;
use std::time::Duration;

use auth::{Grant, SigningKey, TrustedIssuer, Verifier};
use axum::Router;
use axum::body::Body;
use domain::{ExposeSecret, ManualClock, SystemEntropy, Tenant, Timestamp};
use http::{Method, Request, StatusCode};
use outbound::{Outbound, Policy};
use registry::{BrokerCards, State};
use serde_json::{Value, json};
use store_testing::Database;
use tower::ServiceExt;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const URL: &str = "https://registry.example";
const START: i64 = 1_767_225_600_000;

pub(crate) struct Registry {
    pub(crate) router: Router,
    pub(crate) checks: registry::Checks,
    pub(crate) cards: MockServer,
    pub(crate) clock: Arc<ManualClock>,
    keys: [SigningKey; 3],
    _database: Database,
}

/// Whose key signs.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Platform,
    Acme,
    Globex,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    pub(crate) challenge: Option<String>,
}

impl Registry {
    pub(crate) async fn start() -> Self {
        let (store, database) = store_testing::start().await;
        let keys = [0; 3].map(|_| SigningKey::generate().unwrap().0);
        let tenants = [None, Some("acme"), Some("globex")];
        let issuers = keys.iter().zip(tenants).map(|(key, tenant)| TrustedIssuer {
            issuer: format!("https://{}.example", tenant.unwrap_or("platform")),
            tenant: tenant.map(|name| Tenant::parse(name).unwrap()),
            keys: vec![key.public_jwk()],
        });
        let entropy = Arc::new(SystemEntropy);
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let policy = Policy {
            allow_loopback: true,
            timeout: Duration::from_secs(5),
            ..Policy::default()
        };
        let cards = MockServer::start().await;
        let state = Arc::new(State {
            broker_cards: Some(BrokerCards {
                bridge: format!("{}/mqtt", cards.uri()).parse().unwrap(),
                issuer: "https://platform.example".to_owned(),
                key: Arc::new(SigningKey::generate().unwrap().0),
            }),
            url: URL.parse().unwrap(),
            store,
            outbound: Outbound::new(policy, entropy.clone()),
            verifier: Verifier::new(URL.to_owned(), issuers.collect()).unwrap(),
            clock: clock.clone(),
            entropy,
        });
        Self {
            router: registry::router(Arc::clone(&state)),
            checks: registry::Checks(state, 1),
            cards,
            clock,
            keys,
            _database: database,
        }
    }

    /// A token for the registry.
    pub(crate) fn token(&self, by: By, scopes: &[&str]) -> String {
        self.token_for(by, scopes, URL)
    }

    pub(crate) fn token_for(&self, by: By, scopes: &[&str], audience: &str) -> String {
        let name = match by {
            By::Platform => None,
            By::Acme => Some("acme"),
            By::Globex => Some("globex"),
        };
        let tenant = name.map(|name| Tenant::parse(name).unwrap());
        let grant = Grant {
            issuer: &format!("https://{}.example", name.unwrap_or("platform")),
            subject: "host",
            tenant: tenant.as_ref(),
            audience,
            scopes,
            lifetime: Duration::from_secs(300),
        };
        let key = &self.keys[by as usize];
        key.sign(&grant, domain::Clock::now(&*self.clock), &SystemEntropy)
            .unwrap()
            .expose_secret()
            .to_owned()
    }

    pub(crate) fn admin(&self) -> String {
        self.token(By::Platform, &["registry:admin"])
    }

    pub(crate) async fn raw(&self, method: &str, path: &str, token: Option<&str>, body: Vec<u8>) -> Answer {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(path);
        request = request.header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = self
            .router
            .clone()
            .oneshot(request.body(Body::from(body)).unwrap())
            .await
            .unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap();
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap()
        };
        let challenge = headers
            .get("www-authenticate")
            .map(|value| value.to_str().unwrap().to_owned());
        Answer {
            status,
            body,
            challenge,
        }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, token: &str, body: Value) -> Answer {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        self.raw(method, path, Some(token), body).await
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.call("GET", path, token, Value::Null).await
    }

    pub(crate) async fn declare(&self, name: &str, scope: &str) {
        let answer = self
            .call(
                "PUT",
                &format!("/types/{name}"),
                &self.admin(),
                json!({"scope": scope}),
            )
            .await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    }

    /// Serves a card, and gives its URL.
    pub(crate) async fn serve(&self, at: &str, card: &Value) -> String {
        let response = ResponseTemplate::new(200).set_body_json(card);
        Mock::given(method("GET"))
            .and(path(at))
            .respond_with(response)
            .mount(&self.cards)
            .await;
        format!("{}{at}", self.cards.uri())
    }

    /// Registers a card as the platform; it must be admitted.
    pub(crate) async fn admit(&self, at: &str, card: &Value, tenant: Option<&str>) -> String {
        let url = self.serve(at, card).await;
        let body = json!({"cardUrl": url, "tenant": tenant});
        let answer = self.call("POST", "/agents", &self.admin(), body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
        answer.body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn ids(&self, path: &str, token: &str) -> Vec<String> {
        let answer = self.get(path, token).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let agents = answer.body["agents"].as_array().unwrap().iter();
        agents
            .map(|agent| agent["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A card of protocol 0.3 with one skill of these tags.
pub(crate) fn card(name: &str, tags: &[&str]) -> Value {
    json!({
        "name": name, "description": "d", "version": "1", "protocolVersion": "0.3.0",
        "url": "http://127.0.0.1:9/a2a", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "d", "tags": tags}],
    })
}
