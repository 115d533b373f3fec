//! The deployed system without an account: the templates, deployed to a small AWS in this process. The functions are their
//! own programs with the environment of their template, behind an API with the template's routes; every call of theirs to
//! AWS is judged by the policy of their role in the template, or of the role that they act as for a tenant.

mod gate;
mod gateway;
mod kms;
mod mistakes;
mod operator;
mod sts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::{Grant, KeySet, SigningKey};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, post};
use cli::onboarding::{BASE_URL, IDP_URL, OPERATOR, Plan, PlatformPlan, TenantStack};
use domain::{Clock as _, ExposeSecret as _, SystemClock, SystemEntropy, Tenant};
use edge::aws::{Caller, Service};
use http::Method;
use idp::NewUser;
use outbound::Outbound;
use sandbox::google::{CLIENT, Google};
use serde_json::{Value, json};
use store::{Folder, Order, OrderItem, OrderStatus, Pooled, Store, Tables};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use url::Url;

pub use gate::{Call, Gate, Message, Usage, Write, open_bucket, trace};
pub use gateway::{Route, routes};
pub use mistakes::{Mistake, Mistakes, mixed_up};
pub use operator::Asked;

use crate::policy::Policy;
use crate::runtime_api::{Function, Reply, Spec, program};
use crate::template::{Stack, Template};
use crate::{Local, User};

/// The password of the demo user `ada` of each tenant.
pub const PASSWORD: &str = "correct horse battery staple";
const STAGE: &str = "prod";
/// What the pool's stack is called here.
const POOL: &str = "pool";
/// How many times a function may lead to itself, where its template does not allow more.
const LOOP: u32 = 16;

/// The functions by the queues that they read, and whether they may wake themselves for ever.
type Sources = BTreeMap<String, (Arc<Function>, bool)>;

/// A deployment.
pub struct Cloud {
    /// The services that the functions call.
    pub gate: Arc<Gate>,
    /// The functions by stack and logical id, such as `acme/HostAgentFunction`.
    pub functions: BTreeMap<String, Arc<Function>>,
    /// The policies of the functions' roles, by the same names; of the roles that they act as for a tenant by those of the roles.
    pub policies: BTreeMap<String, Arc<Policy>>,
    /// The stacks: `platform` and each tenant's.
    pub stacks: BTreeMap<String, Stack>,
    /// The environments that the functions run with.
    pub environments: BTreeMap<String, BTreeMap<String, String>>,
    /// The tables, as somebody with all rights sees them.
    pub store: Store,
    /// Messages that failed five times.
    pub dead_letters: Arc<Mutex<Vec<Value>>>,
    operator: Option<SigningKey>,
    sessions: BTreeMap<String, SigningKey>,
    tenants: BTreeMap<String, Tenant>,
    /// What the records of the tenants in the pool say, by their names.
    pooled: BTreeMap<String, Pooled>,
    apis: Arc<gateway::Apis>,
    sources: Arc<Mutex<Sources>>,
    account: operator::Account,
    address: String,
    services: String,
    /// Where Google is.
    google: String,
    logs: tempfile::TempDir,
    parts: Vec<tokio::task::JoinHandle<()>>,
    _database: store_testing::Database,
    _bucket: tempfile::TempDir,
    _weather: Local,
}

impl Cloud {
    /// Deploys the platform and the tenants of these prefixes, and onboards them: identities, orders, registered agents. They
    /// are asked for by their names.
    pub async fn start(tenants: &[&str]) -> Self {
        Self::start_with(tenants, &program).await
    }

    /// The same, with the programs of the functions' packages from elsewhere: of another release, say.
    pub async fn start_with(tenants: &[&str], program: &dyn Fn(&str) -> PathBuf) -> Self {
        let mut cloud = Self::empty().await;
        let (platform, plan_of_all) = cloud.planned().await;
        let named: Vec<Tenant> = tenants
            .iter()
            .map(|prefix| Tenant::from_prefix(prefix).expect("a tenant"))
            .collect();
        let plans: BTreeMap<&str, Plan> = named
            .iter()
            .map(|tenant| (tenant.name(), plan(tenant, &cloud.url(tenant.name()))))
            .collect();
        let mut stacks: BTreeMap<String, Stack> = plans
            .iter()
            .map(|(tenant, plan)| ((*tenant).to_owned(), stack_of(plan).over(&platform)))
            .collect();
        stacks.insert("platform".to_owned(), platform);
        cloud.fill(&stacks, &plan_of_all, &plans).await;
        for (name, stack) in stacks {
            cloud.deploy(&name, stack, program);
        }
        cloud.register_platform().await;
        for plan in plans.values() {
            cloud.onboard(plan).await;
        }
        cloud
    }

    /// Deploys the platform and the pool, and onboards the tenants of these prefixes into it.
    pub async fn start_pooled(tenants: &[&str]) -> Self {
        let mut cloud = Self::empty().await;
        let (platform, plan_of_all) = cloud.planned().await;
        let pool = cloud.pool_over(&platform);
        let stacks = BTreeMap::from([("platform".to_owned(), platform), (POOL.to_owned(), pool)]);
        cloud.fill(&stacks, &plan_of_all, &BTreeMap::new()).await;
        for (name, stack) in stacks {
            cloud.deploy(&name, stack, &program);
        }
        cloud.register_platform().await;
        for prefix in tenants {
            let tenant = Tenant::from_prefix(prefix).expect("a tenant");
            let plan = plan(&tenant, &format!("{}/t/{}", cloud.url(POOL), tenant.name()));
            let pooled = cloud.sealed(&plan).await;
            cloud.pooled.insert(tenant.name().to_owned(), pooled);
            cloud.onboard(&plan).await;
        }
        cloud
    }

    /// Fills the secrets of stacks.
    async fn fill(
        &mut self,
        stacks: &BTreeMap<String, Stack>,
        platform: &PlatformPlan,
        plans: &BTreeMap<&str, Plan>,
    ) {
        let mut secrets = secrets(stacks, platform, plans);
        let consent = stacks["platform"].environment("CalendarAgentFunction")["CONSENT_BASE_URL"].clone();
        let google = self.serve_google(&consent).await;
        let known = secrets
            .iter_mut()
            .find(|(name, _)| name.contains("calendar-providers"));
        *known.expect("the secret").1 = google;
        *self.gate.secrets.lock().expect("no panic under the lock") = secrets;
    }

    /// What a plan's tenant has in its record where it is in the pool: its keys, sealed by an operator's call of KMS.
    async fn sealed(&self, plan: &Plan) -> Pooled {
        let tenant = &plan.stack.tenant;
        let parameter = |name: &str| {
            let given = plan.parameters.iter().find(|(known, _)| *known == name);
            given.expect("a parameter").1.clone()
        };
        let base_url = parameter("PublicUrl");
        let key = self.stacks[POOL].output("KeysOfTenants");
        let may = json!({ "Statement": [{
            "Sid": "SealsKeys", "Effect": "Allow", "Action": "kms:GenerateDataKey", "Resource": key,
        }] });
        let operator = Policy::of_document("arn:aws:iam::123456789012:role/operator", &may);
        self.gate
            .policies
            .lock()
            .expect("no panic under the lock")
            .insert("operator".to_owned(), Arc::new(operator));
        let kms = Service {
            name: "kms",
            endpoint: format!("{}/operator", self.services).parse().expect("an address"),
            region: None,
        };
        let reach = outbound::Policy {
            allow_loopback: true,
            ..outbound::Policy::default()
        };
        let way = (Caller::own(), Outbound::new(reach, Arc::new(SystemEntropy)));
        let idp = self.stacks["platform"].output("IdpUrl");
        let mut secrets = BTreeMap::new();
        for (name, value) in &plan.secrets {
            let value = filled(value.expose_secret(), &base_url, &idp).into();
            let sealed = edge::secrets::seal((&kms, &key), &way, (tenant, name), &value, &SystemEntropy);
            secrets.insert((*name).to_owned(), sealed.await.expect("KMS seals"));
        }
        Pooled {
            host_path: parameter("HostPath"),
            horizon_path: parameter("HorizonPath"),
            session_public_key: parameter("SessionPublicKey"),
            base_url,
            secrets,
        }
    }

    /// The pool's stack as it is to be deployed.
    fn pool_over(&self, platform: &Stack) -> Stack {
        let address = self.url(POOL);
        Stack::new(Template::pool(), "switchyard-pool", &[("PublicUrl", &address)]).over(platform)
    }

    /// Deploys the platform and the pool, which has no tenant yet.
    pub async fn start_pool(program: &dyn Fn(&str) -> PathBuf) -> Self {
        let mut cloud = Self::empty().await;
        let (platform, _) = cloud.planned().await;
        let pool = cloud.pool_over(&platform);
        cloud.deploy("platform", platform, program);
        cloud.deploy(POOL, pool, program);
        cloud
    }

    /// The platform's stack as it is to be deployed, over tables that are there.
    async fn planned(&mut self) -> (Stack, PlatformPlan) {
        self.store.create_tables().await.expect("tables");
        let plan = PlatformPlan::new(STAGE, "switchyard", &SystemEntropy).expect("a plan");
        self.operator = Some(SigningKey::from_pem(&plan.operator).expect("a key"));
        let mut given = plan.parameters.clone();
        given.push(("PublicUrl", self.url("platform")));
        let given: Vec<(&str, &str)> = given
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        (Stack::new(Template::platform(), "switchyard", &given), plan)
    }

    /// An account in which nothing is deployed yet, with the world's weather outside it.
    pub async fn empty() -> Self {
        let (_, database) = store_testing::start().await;
        let store = Store::new(
            &database.config(),
            Tables::prefixed(&format!("switchyard-{STAGE}-")),
        );
        let bucket = tempfile::tempdir().expect("a folder");
        let blobs = Folder::new(bucket.path());
        let store = store.with_blobs(Arc::new(blobs.clone()));
        let (queues, messages) = mpsc::unbounded_channel();
        let gate = Arc::new(Gate {
            database: database.url().to_string(),
            policies: Mutex::default(),
            secrets: Mutex::default(),
            sts: sts::Sts::default(),
            kms: kms::Kms::default(),
            functions: Mutex::default(),
            queues,
            begun: AtomicU32::new(0),
            usage: Mutex::default(),
            http: crate::user::http(),
            blobs,
            mistakes: Arc::default(),
            heard: Mutex::default(),
        });
        let apis = Arc::new(gateway::Apis::new(gate.mistakes.clone()));
        let mut cloud = Self {
            gate,
            functions: BTreeMap::new(),
            policies: BTreeMap::new(),
            environments: BTreeMap::new(),
            stacks: BTreeMap::new(),
            store,
            dead_letters: Arc::default(),
            operator: None,
            sessions: BTreeMap::new(),
            tenants: BTreeMap::new(),
            pooled: BTreeMap::new(),
            apis,
            sources: Arc::default(),
            account: operator::Account::default(),
            address: String::new(),
            services: String::new(),
            google: String::new(),
            logs: tempfile::tempdir().expect("a folder"),
            parts: Vec::new(),
            _database: database,
            _bucket: bucket,
            _weather: Local::start_now().await,
        };
        let services = Router::new()
            .route("/{caller}", post(gate::answer))
            .route("/{caller}/", post(gate::answer))
            .route(
                "/{caller}/2015-03-31/functions/{function}/invocations",
                post(gate::invoke),
            )
            .route("/{caller}/{bucket}/", any(gate::answer_s3))
            .route("/{caller}/{bucket}/{*key}", any(gate::answer_s3))
            .layer(DefaultBodyLimit::max(store::BLOB_MAX))
            .with_state(cloud.gate.clone());
        cloud.services = cloud.serve_new(services).await;
        let gateway = Router::new()
            .fallback(gateway::answer)
            .with_state(cloud.apis.clone());
        cloud.address = cloud.serve_new(gateway).await;
        cloud.connect_queues(messages);
        cloud
    }

    /// Where a stack's API answers.
    fn url(&self, name: &str) -> String {
        format!("{}/{name}/{STAGE}", self.address)
    }

    /// Serves Google's sandbox at an address of its own; what makes the platform known there.
    async fn serve_google(&mut self, consent: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = format!("http://{}/google", listener.local_addr().expect("an address"));
        let google = Google::new(
            issuer.parse().expect("an address"),
            format!("{consent}/callback"),
            (Arc::new(SystemClock), Arc::new(SystemEntropy)),
        );
        let router = Router::new().nest("/google", google.router());
        self.parts.push(tokio::spawn(async move {
            let _until_aborted = axum::serve(listener, router).await;
        }));
        self.google.clone_from(&issuer);
        let (id, secret) = CLIENT;
        let client = json!({"issuer": issuer, "dialect": "google", "client_id": id, "client_secret": secret});
        json!({ "google": client }).to_string()
    }

    async fn serve_new(&mut self, router: Router) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        self.parts.push(tokio::spawn(async move {
            let _until_aborted = axum::serve(listener, router).await;
        }));
        format!("http://{address}")
    }

    /// Deploys a stack: its functions with the environments, policies and event sources of the template, behind its API.
    fn deploy(&mut self, name: &str, stack: Stack, program: &dyn Fn(&str) -> PathBuf) {
        let services = self.services.clone();
        for (id, properties) in stack.template.functions() {
            let full = format!("{name}/{id}");
            let caller = format!("{name}-{id}");
            let policy = Arc::new(Policy::of(&stack, id));
            self.gate
                .policies
                .lock()
                .expect("no panic under the lock")
                .insert(caller.clone(), policy.clone());
            self.policies.insert(full.clone(), policy);
            let mut environment = stack.environment(id);
            for (variable, value) in self.wanted_besides(&stack, id) {
                environment.entry(variable).or_insert(value);
            }
            // What must differ where there is no AWS and no TLS; a test compares names and values of all the rest.
            for service in ["DYNAMODB", "S3", "SECRETS_MANAGER", "SQS", "STS", "KMS", "LAMBDA"] {
                if let Some(place) = environment.get_mut(&format!("AWS_ENDPOINT_URL_{service}")) {
                    *place = format!("{services}/{caller}");
                }
            }
            if let Some(loopback) = environment.get_mut("ALLOW_LOOPBACK") {
                *loopback = "true".to_owned();
            }
            for quick in ["REPORT_STEP", "SWEEP_LOOKS", "CHECK_SHARDS"] {
                if let Some(quick) = environment.get_mut(quick) {
                    *quick = "1".to_owned();
                }
            }
            // Where there is no stand-in for Google, nobody asks for a calendar.
            if let Some(calendar) = environment.get_mut("GOOGLE_CALENDAR_URL")
                && !self.google.is_empty()
            {
                *calendar = format!("{}/calendar/v3", self.google);
            }
            for place in ["OPEN_METEO_GEOCODING_URL", "OPEN_METEO_FORECAST_URL"] {
                if let Some(place) = environment.get_mut(place) {
                    *place = format!(
                        "{}/sandbox/open-meteo",
                        self._weather.endpoint("/gateway").trim_end_matches('/')
                    );
                }
            }
            self.environments.insert(full.clone(), environment.clone());
            let spec = Spec {
                name: full.clone(),
                binary: program(stack.template.package(id)),
                environment,
                timeout: Duration::from_secs(properties["Timeout"].as_u64().expect("a time limit")),
                memory: properties["MemorySize"].as_u64().expect("memory"),
                isolated: match properties["TenancyConfig"]["TenantIsolationMode"].as_str() {
                    None => false,
                    Some("PER_TENANT") => true,
                    other => panic!("{id}: {other:?}"),
                },
            };
            // What has not changed stays warm, with the keys that it has read.
            let function = match self.functions.get(&full).filter(|known| known.is_of(&spec)) {
                Some(known) => known.clone(),
                None => Function::new(spec, self.logs.path()),
            };
            function.mistakes.get_or_init(|| self.gate.mistakes.clone());
            for event in properties["Events"].as_object().into_iter().flatten() {
                let (_, event) = event;
                if event["Type"] == "SQS" {
                    let arn = stack.text(&event["Properties"]["Queue"]);
                    let queue = arn.rsplit(':').next().unwrap_or_default().to_owned();
                    let mut sources = self.sources.lock().expect("no panic under the lock");
                    sources.insert(queue, (function.clone(), stack.may_recurse()));
                }
            }
            let arn = stack.text(&json!({ "Fn::GetAtt": [id, "Arn"] }));
            let mut invoked = self.gate.functions.lock().expect("no panic under the lock");
            invoked.insert(arn, function.clone());
            drop(invoked);
            self.functions.insert(full, function);
        }
        for (id, properties) in stack.template.of_type("AWS::KMS::Key") {
            // What may use it, the policies of roles say alone.
            let own = stack.value(&properties["KeyPolicy"]["Statement"]);
            let root = format!("arn:aws:iam::{}:root", crate::template::ACCOUNT);
            let by_policies = json!([{
                "Sid": "ByPolicies", "Effect": "Allow", "Principal": { "AWS": root }, "Action": "kms:*", "Resource": "*",
            }]);
            assert_eq!(own, by_policies, "{id}");
            self.gate
                .kms
                .put(&stack.text(&json!({ "Fn::GetAtt": [id, "Arn"] })));
        }
        for role in crate::template::stacks::tenant_roles(&stack).values() {
            let policy = Arc::new(Policy::of_role(&stack, role));
            self.gate.sts.put(&policy);
            self.policies.insert(format!("{name}/{role}"), policy);
        }
        let prefix = format!("{name}/");
        let functions = self
            .functions
            .iter()
            .filter_map(|(full, function)| Some((full.strip_prefix(&prefix)?.to_owned(), function.clone())));
        let api = gateway::Api {
            snapshot: gateway::snapshot(&stack),
            routes: gateway::routes(&stack),
            refusals: gateway::refusals(&stack),
            functions: functions.collect(),
            stage: STAGE.to_owned(),
        };
        self.apis.put(&format!("/{name}/{STAGE}"), api);
        self.stacks.insert(name.to_owned(), stack);
    }

    /// Deploys a stack once more, with other values of some parameters.
    ///
    /// # Panics
    /// Where there is no such stack or parameter.
    pub fn change(&mut self, name: &str, parameters: &[(&str, &str)]) {
        let changed = self.stacks[name].with(parameters);
        for (full, function) in &self.functions {
            if full.starts_with(&format!("{name}/")) {
                function.forget();
            }
        }
        self.deploy(name, changed, &program);
    }

    /// A stack's functions answer nobody any more.
    fn withdraw(&mut self, name: &str) {
        self.apis.remove(&format!("/{name}/{STAGE}"));
        let own = |full: &String| full.split_once('/').is_some_and(|(stack, _)| stack == name);
        for (full, function) in &self.functions {
            if own(full) {
                function.forget();
            }
        }
        self.functions.retain(|full, _| !own(full));
        for (_, policy) in self.policies.iter().filter(|(full, _)| own(full)) {
            self.gate.sts.remove(&policy.arn);
        }
        self.policies.retain(|full, _| !own(full));
        self.environments.retain(|full, _| !own(full));
    }

    /// Hands messages to the functions whose event sources their queues are; what fails comes again, five times.
    fn connect_queues(&mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        let sources = self.sources.clone();
        let dead_letters = self.dead_letters.clone();
        self.parts.push(tokio::spawn(async move {
            // They end with the account: a message that waits would start a sandbox in a folder that is gone.
            let mut deliveries = tokio::task::JoinSet::new();
            while let Some(message) = messages.recv().await {
                let Message {
                    queue: url,
                    body,
                    delay,
                    hops,
                } = message;
                let queue = url.rsplit('/').next().unwrap_or_default().to_owned();
                let source = sources
                    .lock()
                    .expect("no panic under the lock")
                    .get(&queue)
                    .cloned();
                let Some((function, may_recurse)) = source else {
                    panic!("a message for {url}, which no function reads");
                };
                let dead_letters = dead_letters.clone();
                deliveries.spawn(async move {
                    tokio::time::sleep(delay).await;
                    // After so many hops Lambda stops a function, where it was not told otherwise.
                    let stopped = hops > LOOP && !may_recurse;
                    for attempt in 1..=if stopped { 0 } else { 5 } {
                        let id = domain::MessageId::random(&SystemEntropy).to_string();
                        let mut event = batch(&queue, &[(&id, &body)], attempt);
                        event["Records"][0]["attributes"]["AWSTraceHeader"] = trace(hops).into();
                        let reply = function.invoke(event).await;
                        match reply {
                            Reply::Answer(answer) if answer["batchItemFailures"] == json!([]) => return,
                            other => eprintln!("{queue}: attempt {attempt} gave {other:?}"),
                        }
                        tokio::time::sleep(Duration::from_millis(500)).await;
                    }
                    dead_letters
                        .lock()
                        .expect("no panic under the lock")
                        .push(json!({ "queue": queue, "body": body }));
                });
            }
        }));
    }

    /// What `infra/deploy.sh` does with a plan once the stack is there.
    async fn onboard(&mut self, plan: &Plan) {
        let name = plan.stack.tenant.clone();
        let tenant = name.name();
        let session = plan.secrets.iter().find(|(name, _)| *name == "session-key");
        let session = SigningKey::from_pem(&session.expect("a key").1).expect("a key");
        self.sessions.insert(tenant.to_owned(), session);
        self.tenants.insert(tenant.to_owned(), name.clone());
        let idp = self.stacks["platform"].output("IdpUrl");
        for item in &plan.items {
            let item = filled(&item.to_string(), &self.base(tenant), &idp);
            let item: Value = serde_json::from_str(&item).expect("JSON");
            self.put_item(&format!("switchyard-{STAGE}-identity"), &item)
                .await;
        }
        self.store.tenants().add(&name).await.expect("a known tenant");
        if let Some(pooled) = self.pooled.get(tenant) {
            let placed = self.store.tenants().place_in_pool(&name, pooled).await;
            assert!(placed.expect("the table"), "a known tenant");
        }
        let now = SystemClock.now();
        let ada = self.store.identity().find_user(&name, "ada").await;
        let order = Order {
            id: "1001".to_owned(),
            customer: ada.expect("the table").map(|user| user.subject),
            status: OrderStatus::Shipped,
            items: vec![OrderItem {
                name: format!("Rocket skates of {tenant}"),
                quantity: 1,
            }],
            placed_at: now,
            eta: None,
            updated_at: now,
        };
        self.store
            .orders()
            .put_order(&name, &order)
            .await
            .expect("an order");
        let horizon = match self.pooled.get(tenant) {
            Some(pooled) => format!("{}/a/horizon/{}", pooled.base_url, pooled.horizon_path),
            None => self.stacks[tenant].output("HorizonAgentUrl"),
        };
        self.register("horizon", &horizon, Some(tenant)).await;
    }

    /// Registers the agents of the platform.
    async fn register_platform(&self) {
        let platform = &self.stacks["platform"];
        for (kind, output) in [
            ("weather", "WeatherAgentUrl"),
            ("airbnb", "AirbnbAgentUrl"),
            ("calendar", "CalendarAgentUrl"),
            ("report", "ReportAgentUrl"),
        ] {
            self.register(kind, &platform.output(output), None).await;
        }
    }

    /// Where a tenant's users go.
    #[must_use]
    pub fn base(&self, tenant: &str) -> String {
        match self.pooled.get(tenant) {
            Some(pooled) => pooled.base_url.clone(),
            None => self.stacks[tenant].output("BaseUrl"),
        }
    }

    async fn put_item(&self, table: &str, item: &Value) {
        let body = json!({ "TableName": table, "Item": item });
        crate::dynamodb::call(&self.gate.database, "PutItem", &body).await;
    }

    async fn register(&self, kind: &str, url: &str, tenant: Option<&str>) {
        let scope = if tenant.is_some() { "tenant" } else { "global" };
        self.registry(
            None,
            Method::PUT,
            &format!("/types/{kind}"),
            json!({ "scope": scope }),
        )
        .await;
        let card = format!("{url}/.well-known/agent-card.json");
        self.registry(tenant, Method::POST, "/agents", json!({ "cardUrl": card }))
            .await;
    }

    /// Changes the registry, for a tenant by a token of its own.
    async fn registry(&self, tenant: Option<&str>, method: Method, path: &str, body: Value) {
        let url = self.stacks["platform"].output("RegistryUrl");
        let name = tenant.map(|tenant| Tenant::parse(tenant).expect("a tenant's name"));
        let (issuer, key, scope) = match tenant {
            Some(tenant) => (self.base(tenant), &self.sessions[tenant], "registry:write"),
            None => (OPERATOR.to_owned(), self.operator(), "registry:admin"),
        };
        let grant = Grant {
            issuer: &issuer,
            subject: "operator",
            tenant: name.as_ref(),
            audience: &url,
            scopes: &[scope],
            lifetime: Duration::from_secs(300),
        };
        let token = key
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .expect("a token");
        let answer = crate::user::http()
            .request(method, format!("{url}{path}"))
            .bearer_auth(token.expose_secret())
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .expect("an answer");
        let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
        assert!(
            status.is_success(),
            "the registry answered {status}: {text}\n{}",
            self.logs()
        );
    }

    /// A token that a function of the platform or of a tenant takes, by its full name.
    #[must_use]
    pub fn token(&self, function: &str) -> String {
        let environment = &self.environments[function];
        // Agents of the platform take the tokens of every tenant, the registry its operator's.
        let stack = match function.split_once('/').expect("a full name") {
            ("platform", "RegistryFunction") => "platform",
            ("platform", _) => self.sessions.keys().next().expect("a tenant"),
            (own, _) => own,
        };
        let tenant = self.tenants.get(stack).cloned();
        let audience = ["REGISTRY_URL", "HOST_AGENT_URL", "AGENT_URL"]
            .iter()
            .find_map(|name| {
                environment
                    .get(*name)
                    .filter(|_| !(*name == "REGISTRY_URL" && stack != "platform"))
            })
            .unwrap_or_else(|| panic!("{function} takes no tokens"));
        let idp = self.stacks["platform"].output("IdpUrl");
        // Whoever asks for orders has signed in; hosts take the tenant's own sessions, the platform its operator.
        let (issuer, key) = match (&tenant, function.ends_with("/HorizonAgentFunction")) {
            (Some(tenant), true) => (format!("{idp}/{}", tenant.prefix()), None),
            (Some(_), false) => (self.stacks[stack].output("BaseUrl"), Some(&self.sessions[stack])),
            (None, _) => (OPERATOR.to_owned(), Some(self.operator())),
        };
        let grant = Grant {
            issuer: &issuer,
            subject: "somebody",
            tenant: tenant.as_ref(),
            audience,
            scopes: &["registry:admin", "orders:read", "tasks"],
            lifetime: Duration::from_secs(300),
        };
        let keys = self.gate.secrets.lock().expect("no panic under the lock");
        let (_, text) = keys
            .iter()
            .find(|(arn, _)| arn.contains("idp-keys"))
            .expect("the authorization server's keys");
        let keys = KeySet::from_secret(&text.as_str().into()).expect("keys");
        let key = key.unwrap_or_else(|| keys.current());
        let token = key
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .expect("a token");
        token.expose_secret().to_owned()
    }

    /// A token of somebody of a pooled tenant for one of its agents, `host` by the tenant's own session, `horizon` by the authorization
    /// server; and the agent's address.
    #[must_use]
    pub fn caller(&self, tenant: &str, agent: &str, subject: &str) -> (String, String) {
        let (pooled, own) = (&self.pooled[tenant], &self.tenants[tenant]);
        let idp = format!("{}/{}", self.stacks["platform"].output("IdpUrl"), own.prefix());
        let secrets = self.gate.secrets.lock().expect("no panic under the lock");
        let keys = secrets.iter().find(|(arn, _)| arn.contains("idp-keys"));
        let keys = KeySet::from_secret(&keys.expect("keys").1.as_str().into()).expect("keys");
        let (issuer, key, path) = match agent {
            "host" => (pooled.base_url.clone(), &self.sessions[tenant], &pooled.host_path),
            _ => (idp, keys.current(), &pooled.horizon_path),
        };
        let address = format!("{}/a/{agent}/{path}", pooled.base_url);
        let grant = Grant {
            issuer: &issuer,
            subject,
            tenant: Some(own),
            audience: &address,
            scopes: &["orders:read", "tasks"],
            lifetime: Duration::from_secs(3600),
        };
        let token = key
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .expect("a token");
        (token.expose_secret().to_owned(), address)
    }

    /// What a pooled tenant's record says to its functions.
    #[must_use]
    pub fn pooled(&self, tenant: &str) -> &Pooled {
        &self.pooled[tenant]
    }

    /// A tenant's whole prefix.
    #[must_use]
    pub fn tenant(&self, name: &str) -> &Tenant {
        &self.tenants[name]
    }

    /// Deploys the pool with another template, and the same parameters; what has not changed of it stays warm.
    pub fn redeploy_pool(&mut self, template: Template) {
        let mut changed = self.stacks[POOL].clone();
        changed.template = template;
        self.deploy(POOL, changed, &program);
    }

    /// Makes a function's call once more, by the same session, with what is changed of it.
    pub async fn again(&self, call: &Call, change: impl Fn(&str) -> String) -> (http::StatusCode, String) {
        let text = String::from_utf8_lossy(&call.body);
        let url = format!("{}/{}{}", self.services, call.function, change(&call.path));
        let mut headers = call.headers.clone();
        for own in ["host", "content-length"] {
            headers.remove(own);
        }
        let asked = self.gate.http.request(call.method.clone(), url).headers(headers);
        let answer = asked.body(change(&text)).send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("a body"))
    }

    fn operator(&self) -> &SigningKey {
        self.operator
            .as_ref()
            .expect("a platform that was deployed at the start")
    }

    /// A new guest of a tenant.
    #[must_use]
    pub fn user(&self, tenant: &str) -> User {
        User::new(&self.base(tenant))
    }

    /// Ada of a tenant, who is its admin, signed in to its chat.
    ///
    /// # Panics
    /// Where she is not.
    pub async fn signed_in(&self, tenant: &str) -> User {
        let base = self.base(tenant);
        let mut browser = crate::browser::Browser::default();
        let login = json!({ "username": "ada", "password": PASSWORD });
        let start = format!("{base}/signin?return=accounts");
        let page = crate::oauth::agree(&mut browser, &start, &login).await;
        let there = page.url.as_str() == format!("{base}/accounts");
        assert!(there, "{page:?}\n{}", self.logs());
        let session = browser.cookies().find(|(_, value)| value.starts_with("sws_"));
        let (name, value) = session.expect("a session");
        let ada = self.user(tenant);
        ada.resume(&format!("{name}={value}"));
        assert_eq!(ada.get("/api/session").await.json()["username"], "ada");
        ada
    }

    /// Every item of every table.
    pub async fn items(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for table in store::schema::ALL {
            let mut body = json!({ "TableName": format!("switchyard-{STAGE}-{}", table.name) });
            loop {
                let page = crate::dynamodb::call(&self.gate.database, "Scan", &body).await;
                all.extend(page["Items"].as_array().into_iter().flatten().cloned());
                if page["LastEvaluatedKey"].is_null() {
                    break;
                }
                body["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
            }
        }
        all
    }

    /// What the sweeper's schedule does every minute.
    pub async fn sweep(&self) -> Value {
        self.scheduled("TaskSweeperFunction").await
    }

    /// What the registry's schedule does every five minutes.
    pub async fn check_agents(&self) -> Value {
        self.scheduled("RegistryFunction").await
    }

    async fn scheduled(&self, function: &str) -> Value {
        let event = json!({ "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} });
        match self.functions[&format!("platform/{function}")]
            .invoke(event)
            .await
        {
            Reply::Answer(answer) => answer,
            other => panic!("{function} gave {other:?}\n{}", self.logs()),
        }
    }

    /// How many requests there were to APIs.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.apis.requests.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Whether no function works on anything.
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.functions.values().all(|function| function.is_quiet())
    }

    /// What every policy refused so far.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        let of = |(name, policy): (&String, &Arc<Policy>)| {
            let each = policy.refused().into_iter();
            each.map(|refused| format!("{name}: {refused:?}"))
                .collect::<Vec<_>>()
        };
        self.policies.iter().flat_map(of).collect()
    }

    /// The folder of the sandboxes' logs.
    #[must_use]
    pub fn log_folder(&self) -> &Path {
        self.logs.path()
    }

    /// Everything that the functions have logged.
    #[must_use]
    pub fn logs(&self) -> String {
        let files = std::fs::read_dir(self.logs.path()).expect("a folder");
        let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        paths.sort();
        paths
            .iter()
            .map(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!(
                    "--- {name}\n{}",
                    std::fs::read_to_string(path).unwrap_or_default()
                )
            })
            .collect()
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        for part in &self.parts {
            part.abort();
        }
        for function in self.functions.values() {
            function.forget();
        }
    }
}

/// What `switchyard tenant add NAME --aws` makes.
fn plan(tenant: &Tenant, base: &str) -> Plan {
    let name = tenant.clone();
    let ada = NewUser {
        username: "ada".to_owned(),
        display_name: "Ada".to_owned(),
        password: PASSWORD.into(),
        roles: vec!["admin".to_owned()],
    };
    let base = Url::parse(base).expect("an address");
    let stack = TenantStack::new(name, STAGE, "switchyard").expect("plain names");
    let mut plan = Plan::new(stack, &[ada], &SystemEntropy).expect("a plan");
    // The walks are guests', but for those who sign in.
    plan.parameters.push(("RequireSignIn", "false".to_owned()));
    plan.parameters
        .push(("PublicUrl", base.as_str().trim_end_matches('/').to_owned()));
    plan
}

fn stack_of(plan: &Plan) -> Stack {
    let given: Vec<(&str, &str)> = plan
        .parameters
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let name = format!("{}-{}", plan.stack.platform, plan.stack.tenant.name());
    Stack::new(Template::tenant(), &name, &given)
}

/// A file of a plan once the addresses are known.
fn filled(text: &str, base: &str, idp: &str) -> String {
    text.replace(BASE_URL, base).replace(IDP_URL, idp)
}

/// The values that an operator puts in after the first deployment.
fn secrets(
    stacks: &BTreeMap<String, Stack>,
    platform: &PlatformPlan,
    plans: &BTreeMap<&str, Plan>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, stack) in stacks {
        for (id, properties) in stack.template.of_type("AWS::SecretsManager::Secret") {
            let arn = stack.text(&json!({ "Ref": id }));
            let called = stack.text(&properties["Name"]);
            let last = called.rsplit('/').next().unwrap_or_default();
            let plan = plans.get(name.as_str());
            let known = plan.map_or(&platform.secrets, |plan| &plan.secrets);
            let found = known.iter().find(|(name, _)| *name == last);
            let (_, value) = found.unwrap_or_else(|| panic!("nobody knows what the secret {id} holds"));
            let value = match plan {
                Some(_) => {
                    let (base, idp) = (stack.output("BaseUrl"), stacks["platform"].output("IdpUrl"));
                    filled(value.expose_secret(), &base, &idp)
                }
                None => value.expose_secret().to_owned(),
            };
            all.insert(arn, value);
        }
    }
    all
}

/// A batch of messages as SQS hands them to a function.
#[must_use]
pub fn batch(queue: &str, messages: &[(&str, &str)], attempt: u32) -> Value {
    let records: Vec<Value> = messages
        .iter()
        .map(|(id, body)| {
            json!({
                "messageId": id, "receiptHandle": "AQEB", "body": body,
                "attributes": {
                    "ApproximateReceiveCount": attempt.to_string(), "SentTimestamp": "1767225600000",
                    "SenderId": "AROAEXAMPLE", "ApproximateFirstReceiveTimestamp": "1767225600001",
                },
                "messageAttributes": {}, "md5OfBody": "", "eventSource": "aws:sqs",
                "eventSourceARN": format!("arn:aws:sqs:eu-north-1:{}:{queue}", crate::template::ACCOUNT),
                "awsRegion": "eu-north-1",
            })
        })
        .collect();
    json!({ "Records": records })
}
