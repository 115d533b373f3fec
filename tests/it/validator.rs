//! Each agent's router with its executor, and the validator of tokens substituted: what an agent does with what the
//! validator says, whatever tokens look like. The same with real tokens is in each agent's own tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Refusal, Sealer, SigningKey, TokenValidator};
use axum::Router;
use axum::body::{Body, to_bytes};
use domain::{Caller, ManualClock, Owner, SystemEntropy, Tenant, Timestamp};
use edge::agent_parts::AgentParts;
use host_agent::{Directory, Patience};
use http::{Request, StatusCode};
use outbound::mcp::{McpTool, Pins};
use outbound::oauth::{Dialect, OAuthClient, Provider, Providers};
use outbound::open_meteo::Bases;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use url::Url;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// Its tokens are words: who somebody is, or what is wrong.
struct Substitute;

#[async_trait]
impl TokenValidator for Substitute {
    async fn admit(
        &self,
        token: &str,
        _now: Timestamp,
        own: Option<&Tenant>,
        needed_scope: &str,
    ) -> Result<Caller, Refusal> {
        match token {
            "ada" | "alan" => Ok(Caller {
                tenant: own.cloned().unwrap_or_else(acme),
                owner: Owner::parse(&format!("user-{token}")).unwrap(),
                scopes: needed_scope.split(' ').map(str::to_owned).collect(),
            }),
            "expired" => Err(Refusal::Expired),
            "of-another-tenant" => Err(Refusal::WrongTenant),
            "for-another-audience" => Err(Refusal::Malformed),
            other => panic!("{other}: nobody brings that"),
        }
    }
}

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

#[derive(Default)]
struct Door(Mutex<VecDeque<Wake>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back(wake.clone());
        Ok(())
    }
}

const URL: &str = "http://127.0.0.1:9/a/agent";

struct World {
    store: store::Store,
    door: Arc<Door>,
    clock: Arc<ManualClock>,
    /// A registry that knows nobody.
    outside: MockServer,
    /// Open-Meteo's sandbox, and below `/mcp` that of places to stay.
    forecasts: Url,
    _database: store_testing::Database,
}

impl World {
    async fn new() -> Self {
        let (store, database) = store_testing::start().await;
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
        let outside = MockServer::start().await;
        let nobody = ResponseTemplate::new(200).set_body_json(json!({"agents": [], "types": {}}));
        let registry = Mock::given(path("/registry/agents")).respond_with(nobody);
        registry.mount(&outside).await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let forecasts = format!("http://{}", listener.local_addr().unwrap());
        let homes = sandbox::mcp::mcp(sandbox::mcp::Revisions::Both);
        let sandbox = sandbox::open_meteo::open_meteo(clock.clone()).nest("/mcp", homes);
        tokio::spawn(async move { axum::serve(listener, sandbox).await });
        Self {
            store,
            door: Arc::default(),
            clock,
            outside,
            forecasts: forecasts.parse().unwrap(),
            _database: database,
        }
    }

    fn outbound(&self) -> Outbound {
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        Outbound::new(policy, Arc::new(SystemEntropy))
    }

    fn sealer() -> Arc<Sealer> {
        let key = Sealer::generate_key(&SystemEntropy);
        Arc::new(Sealer::new(vec![("k1".into(), key)]).unwrap())
    }

    fn parts(&self) -> AgentParts {
        AgentParts {
            mqtt: None,
            url: URL.parse().unwrap(),
            store: self.store.clone(),
            wake: self.door.clone(),
            validator: Arc::new(Substitute),
            sealer: Self::sealer(),
            outbound: self.outbound(),
            clock: self.clock.clone(),
            entropy: Arc::new(SystemEntropy),
            settings: Settings::default(),
        }
    }

    fn host(&self) -> Arc<Agent> {
        let registry: Url = format!("{}/registry", self.outside.uri()).parse().unwrap();
        let host = host_agent::host(host_agent::Parts {
            tenant: acme(),
            url: URL.parse().unwrap(),
            issuer: "http://127.0.0.1:9/t/acme".to_owned(),
            key: Arc::new(SigningKey::generate().unwrap().0),
            validator: Arc::new(Substitute),
            sign_in: None,
            mqtt: None,
            bridge: None,
            directory: Directory::registry(self.outbound(), registry, None),
            webhook: "http://127.0.0.1:9/t/acme/api/webhook/tasks".parse().unwrap(),
            sealer: Self::sealer(),
            store: self.store.clone(),
            wake: self.door.clone(),
            outbound: self.outbound(),
            understanding: nlu::Slot::default(),
            model: llm::offline(nlu::Slot::default()),
            clock: self.clock.clone(),
            entropy: Arc::new(SystemEntropy),
            patience: Patience::default(),
            approval: host_agent::PlanApproval::Never,
            enabled: true,
            providers: outbound::oauth::Providers::new(),
            settings: Settings::default(),
        });
        host.unwrap().agent
    }
}

struct Tried {
    world: World,
    agent: Arc<Agent>,
    router: Router,
}

impl Tried {
    async fn call(&self, token: Option<&str>, method: &str, params: Value) -> (StatusCode, String, Value) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.map(|value| value.to_str().unwrap().to_owned());
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let body = serde_json::from_slice(&body).unwrap();
        (status, challenge.unwrap_or_default(), body)
    }

    async fn send(&self, token: Option<&str>, text: &str) -> (StatusCode, String, Value) {
        let id = domain::MessageId::random(&SystemEntropy).to_string();
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        let configuration = json!({"returnImmediately": true});
        let params = json!({"message": message, "configuration": configuration});
        self.call(token, "SendMessage", params).await
    }

    async fn work(&self) {
        loop {
            let next = self.world.door.0.lock().unwrap().pop_front();
            let Some(wake) = next else { return };
            agent::handle(&self.agent, &wake).await.unwrap();
        }
    }
}

/// The four cases, and who may see what came of the first.
async fn check(build: impl FnOnce(&World) -> Arc<Agent>, prompt: &str, open: bool) {
    ends(build, prompt, (open, "TASK_STATE_COMPLETED")).await;
}

/// The same of an agent whose work comes to rest in this state.
async fn ends(build: impl FnOnce(&World) -> Arc<Agent>, prompt: &str, (open, rests): (bool, &str)) {
    let world = World::new().await;
    let agent = build(&world);
    let tried = Tried {
        router: edge::agent_parts::function(agent.clone(), "agent").router,
        world,
        agent,
    };
    let name = tried.agent.name.to_string();

    // Valid: the executor works for whom the validator named, and for nobody else.
    let (status, _, body) = tried.send(Some("ada"), prompt).await;
    assert_eq!(status, StatusCode::OK, "{name}: {body}");
    tried.work().await;
    let task = json!({"id": body["result"]["task"]["id"]});
    let (_, _, done) = tried.call(Some("ada"), "GetTask", task.clone()).await;
    let state = &done["result"]["status"]["state"];
    assert_eq!(state, rests, "{name}: {done}");
    let (_, _, stranger) = tried.call(Some("alan"), "GetTask", task).await;
    assert_eq!(stranger["error"]["code"], -32001, "{name}: {stranger}");

    // Missing.
    let (status, challenge, body) = tried.send(None, prompt).await;
    match open {
        true => assert_eq!(status, StatusCode::OK, "{name}: {body}"),
        false => {
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{name}: {body}");
            assert!(challenge.starts_with("Bearer "), "{name}: {challenge}");
        }
    }

    // Expired, of another tenant, for-another-audience: each its own answer, also where nobody needs a token.
    let malformed = Refusal::Malformed.to_string();
    let wrong_tenant = Refusal::WrongTenant.to_string();
    for (token, status, code, text) in [
        ("expired", 401, "invalid_token", "token has expired"),
        (
            "of-another-tenant",
            403,
            Refusal::WrongTenant.error_code(),
            wrong_tenant.as_str(),
        ),
        ("for-another-audience", 401, "invalid_token", malformed.as_str()),
    ] {
        let (told, challenge, body) = tried.send(Some(token), prompt).await;
        assert_eq!(told.as_u16(), status, "{name}, {token}: {body}");
        assert_eq!(body["error"], code, "{name}, {token}");
        assert_eq!(body["error_description"], text, "{name}, {token}");
        assert!(challenge.starts_with("Bearer "), "{name}, {token}: {challenge}");
    }
    assert!(
        tried.world.door.0.lock().unwrap().len() <= usize::from(open),
        "{name}: refused is refused"
    );
}

#[tokio::test]
async fn the_weather_agent_takes_what_the_validator_admits() {
    let build =
        |world: &World| weather_agent::agent(world.parts(), Bases::both(world.forecasts.clone())).unwrap();
    check(build, "Will it rain in Oslo tomorrow?", true).await;
}

#[tokio::test]
async fn the_accommodation_agent_takes_what_the_validator_admits() {
    let tools: Vec<McpTool> = sandbox::mcp::tools().iter().cloned().map(McpTool::of).collect();
    let build = |world: &World| {
        let server = airbnb_agent::Server {
            url: world.forecasts.join("mcp").unwrap(),
            pins: Pins::of(&tools),
            tools: airbnb_agent::Tools::default(),
            currency: None,
            link_hosts: Vec::new(),
        };
        airbnb_agent::agent(world.parts(), server).unwrap()
    };
    check(build, "A flat in Oslo for two, Friday to Sunday", true).await;
}

#[tokio::test]
async fn the_calendar_agent_takes_what_the_validator_admits() {
    let build = |world: &World| {
        let provider = Provider {
            issuer: "http://127.0.0.1:9/google".to_owned(),
            dialect: Dialect::Google,
            sign_in: Default::default(),
            client: OAuthClient {
                id: "calendar".into(),
                secret: "secret".into(),
            },
        };
        let places = calendar_agent::Places {
            calendar: "http://127.0.0.1:9/google/calendar/v3".parse().unwrap(),
            consent: "http://127.0.0.1:9/consent".parse().unwrap(),
            providers: Providers::from([(calendar_agent::PROVIDER.to_owned(), provider)]),
        };
        calendar_agent::agent(world.parts(), places).unwrap()
    };
    // It waits for the consent of whom the validator named.
    let rests = (false, "TASK_STATE_AUTH_REQUIRED");
    ends(build, "Am I free on Friday?", rests).await;
}

#[tokio::test]
async fn the_report_agent_takes_what_the_validator_admits() {
    let build = |world: &World| report_agent::agent(world.parts(), Duration::ZERO).unwrap();
    check(build, "Write a report about whales", true).await;
}

#[tokio::test]
async fn the_horizon_agent_takes_what_the_validator_admits() {
    let issuer: Url = "http://127.0.0.1:9/idp/acme".parse().unwrap();
    let build = |world: &World| horizon_agent::agent(world.parts(), acme(), &issuer).unwrap();
    check(build, "Where is my order 1001?", false).await;
}

#[tokio::test]
async fn the_host_takes_what_the_validator_admits() {
    check(World::host, "What can you do?", false).await;
}
