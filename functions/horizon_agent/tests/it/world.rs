//! The whole function with a database, real keys and a clock that stands still.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{AccessToken, Issuer, JwksCache, KeySource, NoKeys, Sealer, SigningKey, Verifier};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use domain::{ExposeSecret, ManualClock, Owner, SystemEntropy, Tenant, Timestamp};
use edge::agent_parts::AgentParts;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::{Order, OrderItem, OrderStatus};
use tower::ServiceExt;
use url::Url;

pub(crate) const URL: &str = "http://127.0.0.1:9/a/horizon";
pub(crate) const ACME: &str = "http://127.0.0.1:9/idp/acme";
pub(crate) const GLOBEX: &str = "http://127.0.0.1:9/idp/globex";

#[derive(Default)]
struct Door(Mutex<VecDeque<Wake>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back(wake.clone());
        Ok(())
    }
}

/// The authorization server's keys, as they would come over HTTP; `None` while it is down.
pub(crate) struct Published {
    pub(crate) document: Mutex<Option<Value>>,
    pub(crate) fetched: Mutex<u32>,
}

#[async_trait]
impl KeySource for Published {
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys> {
        assert!(url.path().ends_with("/jwks.json"), "{url}");
        *self.fetched.lock().unwrap() += 1;
        self.document.lock().unwrap().clone().ok_or(NoKeys)
    }
}

pub(crate) struct World {
    pub(crate) agent: Arc<Agent>,
    pub(crate) clock: Arc<ManualClock>,
    /// One key for all tenants, as the authorization server has it.
    pub(crate) key: SigningKey,
    pub(crate) published: Arc<Published>,
    door: Arc<Door>,
    _database: store_testing::Database,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// What a token says; a test changes what it is about.
#[derive(Clone, Copy)]
pub(crate) struct Says<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) tenant: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) scope: &'a str,
}

pub(crate) const GOOD: Says<'_> = Says {
    issuer: ACME,
    tenant: "acme",
    subject: "user-ada",
    audience: URL,
    scope: "openid orders:read tasks",
};

pub(crate) fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

pub(crate) async fn world() -> World {
    let (store, database) = store_testing::start().await;
    let (key, _) = SigningKey::generate().unwrap();
    let published = Arc::new(Published {
        document: Mutex::new(Some(json!({ "keys": [key.public_jwk()] }))),
        fetched: Mutex::new(0),
    });
    let issuers: Vec<Issuer> = serde_json::from_value(json!([
        { "issuer": ACME, "tenant": "acme", "jwks_uri": format!("{ACME}/jwks.json") },
        { "issuer": GLOBEX, "tenant": "globex", "jwks_uri": format!("{GLOBEX}/jwks.json") },
    ]))
    .unwrap();
    let cache = JwksCache::new(published.clone());
    let clock = Arc::new(ManualClock::new(
        Timestamp::parse("2026-11-21T09:00:00Z").unwrap(),
    ));
    let door = Arc::new(Door::default());
    let entropy = Arc::new(SystemEntropy);
    seed(&store).await;
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let parts = AgentParts {
        mqtt: None,
        url: URL.parse().unwrap(),
        store,
        wake: door.clone(),
        validator: Arc::new(Verifier::with_issuers(URL.into(), issuers, &cache).unwrap()),
        sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: Outbound::new(policy, entropy.clone()),
        clock: clock.clone(),
        entropy,
        settings: Settings::default(),
    };
    let agent = horizon_agent::agent(parts, acme(), &ACME.parse().unwrap()).unwrap();
    World {
        agent,
        clock,
        key,
        published,
        door,
        _database: database,
    }
}

async fn seed(store: &store::Store) {
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let (ada, alan) = (Some("user-ada"), Some("user-alan"));
    for (tenant, id, customer, status, placed, item) in [
        (
            "acme",
            "1001",
            ada,
            OrderStatus::Shipped,
            "2026-11-16T10:00:00Z",
            "lantern",
        ),
        (
            "acme",
            "1002",
            ada,
            OrderStatus::Delivered,
            "2026-11-18T10:00:00Z",
            "tent",
        ),
        (
            "acme",
            "1003",
            alan,
            OrderStatus::Packed,
            "2026-11-19T10:00:00Z",
            "secret present",
        ),
        (
            "acme",
            "1004",
            None,
            OrderStatus::Placed,
            "2026-11-20T10:00:00Z",
            "rope",
        ),
        (
            "globex",
            "1001",
            ada,
            OrderStatus::Cancelled,
            "2026-11-20T10:00:00Z",
            "globex goods",
        ),
        (
            "globex",
            "2001",
            ada,
            OrderStatus::Placed,
            "2026-11-20T10:00:00Z",
            "globex goods",
        ),
    ] {
        let order = Order {
            id: id.into(),
            customer: customer.map(|text| Owner::parse(text).unwrap()),
            status,
            items: vec![OrderItem {
                name: item.into(),
                quantity: 1,
            }],
            placed_at: at(placed),
            eta: Some(at("2026-11-24T10:00:00Z")),
            updated_at: at("2026-11-20T10:00:00Z"),
        };
        let tenant = Tenant::parse(tenant).unwrap();
        store.orders().put_order(&tenant, &order).await.unwrap();
    }
}

impl World {
    /// So many more orders of the good caller, one a minute, numbered from 5000.
    pub(crate) async fn many_orders(&self, count: i64) {
        let first = Timestamp::parse("2026-11-19T10:00:00Z").unwrap().millis();
        for at in 0..count {
            let placed_at = Timestamp::from_millis(first + at * 60_000);
            let order = Order {
                id: (5000 + at).to_string(),
                customer: Some(Owner::parse("user-ada").unwrap()),
                status: OrderStatus::Placed,
                items: Vec::new(),
                placed_at,
                eta: None,
                updated_at: placed_at,
            };
            self.agent
                .store
                .orders()
                .put_order(&acme(), &order)
                .await
                .unwrap();
        }
    }

    pub(crate) fn token(&self, says: Says<'_>) -> String {
        self.signed_by(&self.key, says)
    }

    pub(crate) fn signed_by(&self, key: &SigningKey, says: Says<'_>) -> String {
        let tenant = Tenant::parse(says.tenant).unwrap();
        let token = AccessToken {
            issuer: says.issuer,
            subject: says.subject,
            tenant: Some(&tenant),
            audience: says.audience,
            client_id: "host",
            scope: says.scope,
            auth_time: None,
            lifetime: Duration::from_secs(600),
        };
        let now = domain::Clock::now(self.clock.as_ref());
        let token = key.sign_access_token(&token, now, &SystemEntropy).unwrap();
        token.expose_secret().to_owned()
    }

    pub(crate) async fn call(&self, request: Request<Body>) -> Answer {
        let response = edge::agent_parts::function(self.agent.clone(), horizon_agent::NAME)
            .router
            .oneshot(request)
            .await
            .unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        Answer {
            status,
            headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// One JSON-RPC call with this `Authorization` header, or without one.
    pub(crate) async fn rpc(&self, authorization: Option<&str>, method: &str, params: Value) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        self.call(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    /// A message without waiting.
    pub(crate) async fn message(
        &self,
        authorization: Option<&str>,
        text: &str,
        task: Option<&str>,
    ) -> Answer {
        let id = domain::MessageId::random(&SystemEntropy).to_string();
        let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] });
        if let Some(task) = task {
            // A context begins with a mark that no id of a task has.
            match task.strip_prefix('@') {
                Some(context) => message["contextId"] = context.into(),
                None => message["taskId"] = task.into(),
            }
        }
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        self.rpc(authorization, "SendMessage", params).await
    }

    /// Asks, works on it, and reads the task.
    pub(crate) async fn ask(&self, says: Says<'_>, text: &str, task: Option<&str>) -> Value {
        let authorization = format!("Bearer {}", self.token(says));
        let sent = self.message(Some(&authorization), text, task).await;
        assert_eq!(sent.status, StatusCode::OK, "{}", sent.body);
        let id = sent.body["result"]["task"]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{}", sent.body))
            .to_owned();
        loop {
            let Some(wake) = self.door.0.lock().unwrap().pop_front() else {
                break;
            };
            agent::handle(&self.agent, &wake).await.unwrap();
        }
        let read = self
            .rpc(Some(&authorization), "GetTask", json!({ "id": id }))
            .await;
        read.body["result"].clone()
    }
}
