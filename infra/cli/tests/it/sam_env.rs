//! Functions outside of the system: their configuration made of `switchyard sam-env` alone, against what runs.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use agent::{Wake, WakeDoor as _};
use axum::Router;
use axum::body::Body;
use domain::{SystemClock, SystemEntropy};
use edge::config::Env;
use edge::secrets::SecretSource as _;
use edge::{Function, Ground};
use http::{Request, StatusCode};
use local::{Data, Options, System};
use tower::ServiceExt;

use crate::binary::{out, sentence, switchyard};

type Environments = BTreeMap<String, BTreeMap<String, String>>;

async fn started(place: &tempfile::TempDir) -> (System, Environments) {
    let options = Options {
        data: Data::Folder(place.path().to_owned()),
        ..Options::default()
    };
    let system = System::start(options).await.unwrap();
    let file = place.path().join("env.json");
    let arguments = [
        "sam-env",
        "--data",
        place.path().to_str().unwrap(),
        "--out",
        file.to_str().unwrap(),
    ];
    let output = switchyard(&arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = std::fs::read_to_string(&file).unwrap();
    (system, serde_json::from_str(&text).unwrap())
}

/// The function's router, built as its `main.rs` builds it.
async fn started_by<C, E: Into<edge::Error>, F>(
    env: Env,
    read: fn(&mut Env) -> Result<C, E>,
    build: impl FnOnce(Ground, C) -> F,
) -> Router
where
    F: Future<Output = Result<Function, edge::Error>>,
{
    let (platform, config) = edge::config::read(env, read).unwrap();
    build(Ground::aws(platform), config).await.unwrap().router
}

async fn ask(router: &Router, path: &str, token: Option<&str>) -> StatusCode {
    let mut request = Request::get(path).header("a2a-version", "1.0");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::empty()).unwrap();
    router.clone().oneshot(request).await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_starts_from_exactly_that_and_answers() {
    const NO_TASK: &str = "/tasks/00000000-0000-4000-8000-000000000000";
    let place = tempfile::tempdir().unwrap();
    let (system, environments) = started(&place).await;
    let env = |name: &str| Env::of(environments[name].clone());
    let endpoints = system.endpoints();
    let acme = endpoints.tenants.values().next().unwrap();
    let horizon_url = acme.agents.values().next().unwrap().as_str();
    let token = |audience: &str| system.token("acme", "ada", audience).unwrap();
    let idp_token = |audience: &str, scope: &str| {
        let signer = local::Signer::Idp("acme");
        system.signed(signer, "user-ada", audience, scope, std::time::Duration::ZERO)
    };

    let host = started_by(
        env("HostAgentFunction"),
        host_agent::Config::read,
        host_agent::build,
    )
    .await;
    let url = acme.host_agent.as_str();
    assert_eq!(
        ask(&host, NO_TASK, Some(&token(url))).await,
        StatusCode::NOT_FOUND
    );
    // Its authorization server's keys are fetched from the running one.
    let of_idp = idp_token(url, "tasks");
    assert_eq!(
        ask(&host, NO_TASK, of_idp.as_deref()).await,
        StatusCode::NOT_FOUND
    );
    assert_eq!(ask(&host, NO_TASK, None).await, StatusCode::UNAUTHORIZED);

    let env_of_horizon = env("HorizonAgentFunction");
    let horizon = started_by(env_of_horizon, horizon_agent::Config::read, horizon_agent::build).await;
    let of_idp = idp_token(horizon_url, "tasks orders:read");
    assert_eq!(
        ask(&horizon, NO_TASK, of_idp.as_deref()).await,
        StatusCode::NOT_FOUND
    );

    let env_of_weather = env("WeatherAgentFunction");
    let weather = started_by(env_of_weather, weather_agent::Config::read, weather_agent::build).await;
    let url = environments["WeatherAgentFunction"]["AGENT_URL"].as_str();
    assert_eq!(
        ask(&weather, NO_TASK, Some(&token(url))).await,
        StatusCode::NOT_FOUND
    );

    let chat = started_by(env("ChatApiFunction"), chat_api::Config::read, chat_api::build).await;
    assert_eq!(ask(&chat, "/api/chats", None).await, StatusCode::OK);

    let idp = started_by(env("IdpFunction"), idp::Config::read, idp::build).await;
    assert_eq!(ask(&idp, "/acme/jwks.json", None).await, StatusCode::OK);
    assert_eq!(ask(&idp, "/nobody/jwks.json", None).await, StatusCode::NOT_FOUND);

    let env_of_callback = env("OauthCallbackFunction");
    let callback = started_by(
        env_of_callback,
        oauth_callback::Config::read,
        oauth_callback::build,
    )
    .await;
    let unknown = "/connect/00000000-0000-4000-8000-000000000000";
    assert_eq!(ask(&callback, unknown, None).await, StatusCode::NOT_FOUND);

    let env_of_receiver = env("WebhookReceiverFunction");
    let receiver = started_by(
        env_of_receiver,
        webhook_receiver::Config::read,
        webhook_receiver::build,
    )
    .await;
    let post = Request::post("/api/webhook/tasks").body(Body::empty()).unwrap();
    assert_eq!(
        receiver.oneshot(post).await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );

    let registry = started_by(env("RegistryFunction"), registry::Config::read, registry::build).await;
    assert_eq!(ask(&registry, "/types", None).await, StatusCode::UNAUTHORIZED);

    let env_of_sweeper = env("TaskSweeperFunction");
    let (platform, config) = edge::config::read(env_of_sweeper, task_sweeper::Config::read).unwrap();
    let mut queues = platform.queues.clone();
    let ground = Ground::aws(platform);
    let (door, store) = (ground.wake.clone(), ground.store.clone());
    let sweeper = task_sweeper::build(ground, config).await.unwrap();
    assert_eq!(
        sweeper.schedule.unwrap().run().await.unwrap(),
        serde_json::to_value(task_sweeper::Swept::default()).unwrap()
    );
    // A wake by the SDK arrives; one for a queue that is none does not.
    let wake = |agent: &str| {
        let key = store::TaskKey {
            tenant: domain::Tenant::parse("acme").unwrap(),
            agent: domain::AgentName::parse(agent).unwrap(),
            id: domain::TaskId::random(&SystemEntropy),
        };
        Wake::task(&key)
    };
    door.wake(&wake("host"), std::time::Duration::ZERO).await.unwrap();
    for url in queues.urls.values_mut() {
        url.set_path(&format!("{}x", url.path()));
    }
    let nowhere = edge::queue::SqsDoor::new(queues, store);
    assert!(
        nowhere
            .wake(&wake("host"), std::time::Duration::ZERO)
            .await
            .is_err()
    );
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_told_to_whoever_has_the_address_and_to_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    let (system, environments) = started(&place).await;
    let clock = Arc::new(SystemClock);
    let mut here = edge::secrets::SecretsPlace {
        endpoint: Some(system.endpoints().secrets_manager.clone()),
        ..Default::default()
    };
    let secrets = edge::secrets::Secrets::new(here.clone(), clock.clone());
    let sealing = secrets.value("switchyard/sealing-keys").await.unwrap();
    let arn = "arn:aws:secretsmanager:eu-north-1:000000000000:secret:switchyard/sealing-keys-000000";
    let named = secrets.value(arn).await.unwrap();
    use domain::ExposeSecret;
    assert_eq!(sealing.expose_secret(), named.expose_secret());
    for missing in ["", "switchyard", "switchyard/nobody/session-key"] {
        assert!(secrets.value(missing).await.is_err(), "{missing}");
    }
    let wrong = system.endpoints().gateway.join("aws/x/secretsmanager").unwrap();
    here.endpoint = Some(wrong);
    let stranger = edge::secrets::Secrets::new(here, clock);
    assert!(stranger.value("switchyard/sealing-keys").await.is_err());

    // No secret itself is among the settings.
    let text = serde_json::to_string(&environments).unwrap();
    for secret in ["PRIVATE", "client_secret", sealing.expose_secret()] {
        assert!(!text.contains(secret), "{secret}");
    }
    system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_functions_settings_are_lines_for_an_environment_file() {
    let place = tempfile::tempdir().unwrap();
    let (system, environments) = started(&place).await;
    let data = place.path().to_str().unwrap();
    let lines = switchyard(&[
        "sam-env",
        "--data",
        data,
        "--function",
        "webhook_receiver",
        "--tenant",
        "globex",
    ]);
    let told = out(&lines);
    assert!(told.lines().any(|line| line == "TENANT_ID='globex'"), "{told}");
    assert_eq!(
        told.lines().count(),
        environments["WebhookReceiverFunction"].len()
    );
    let none = switchyard(&["sam-env", "--data", data, "--function", "nothing"]);
    assert!(sentence(&none).contains("there is no function nothing; there are AirbnbAgentFunction"));
    let nobody = switchyard(&["sam-env", "--data", data, "--tenant", "nobody"]);
    assert!(sentence(&nobody).contains("there is no tenant nobody"));
    system.stop().await;
}
