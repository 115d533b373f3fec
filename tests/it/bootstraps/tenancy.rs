//! Sandboxes that Lambda isolates by tenant: each is its first event's tenant's own function, and ends at another one's.

use std::collections::BTreeMap;

use std::time::{Duration, Instant};

use domain::{SettingChange, Tenant};
use serde_json::{Value, json};
use store::SETTINGS_TTL;
use system_testing::cloud::{Cloud, batch};
use system_testing::runtime_api::{Reply, Sandbox, Spec, program};

use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::lambda::get;

const CARD: &str = "/.well-known/agent-card.json";

/// A sandbox of acme's host, as its template has it but for these settings; `None` takes one away.
async fn host(cloud: &Cloud, settings: &[(&str, Option<&str>)]) -> Sandbox {
    let sandbox = begun(cloud, ("HostAgentFunction", "host_agent"), settings).await;
    sandbox.ready().await;
    sandbox
}

/// The same of one of its functions, which may not come up.
async fn begun(cloud: &Cloud, (id, package): (&str, &str), settings: &[(&str, Option<&str>)]) -> Sandbox {
    let mut environment: BTreeMap<String, String> = cloud.environments[&format!("acme/{id}")].clone();
    environment.insert("ANSWERS".to_owned(), "buffered".to_owned());
    environment.remove("BASE_PATH");
    for (name, value) in settings {
        environment.remove(*name);
        environment.extend(value.map(|value| ((*name).to_owned(), value.to_owned())));
    }
    let spec = Spec {
        name: package.to_owned(),
        binary: program(package),
        environment,
        timeout: Duration::from_secs(120),
        memory: 256,
        isolated: false,
    };
    Sandbox::start(&spec, cloud.log_folder()).await
}

/// Changes acme's record.
async fn set(cloud: &Cloud, changes: &[(&str, Option<&str>)]) {
    let changes = changes
        .iter()
        .map(|(key, value)| SettingChange::parse(key, *value));
    let changes: Vec<_> = changes.collect::<Result<_, _>>().expect("settings");
    let acme = Tenant::parse("acme").expect("a tenant");
    assert!(cloud.store.tenants().set(&acme, &changes).await.expect("a table"));
}

/// The card that was answered, without its signatures' own bytes: none is made twice.
fn answered(reply: Reply, sandbox: &Sandbox) -> Value {
    match reply {
        Reply::Answer(answer) => {
            let text = answer["body"].as_str().expect("text");
            let mut card: Value = serde_json::from_str(text).expect("a card");
            for signature in card["signatures"].as_array_mut().expect("signatures") {
                signature["signature"].take();
            }
            card
        }
        other => panic!("{other:?}\n{}", sandbox.log()),
    }
}

/// The event is not answered, the process ends, and its log says why.
fn ended(reply: &Reply, sandbox: &Sandbox, why: &str) {
    assert!(matches!(reply, Reply::Ended), "{reply:?}\n{}", sandbox.log());
    assert!(sandbox.log().contains(why), "{}", sandbox.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_isolated_sandbox_is_its_first_tenants_function_and_ends_at_another_tenants_event() {
    let cloud = Cloud::start(&["acme"]).await;
    let card = || get("GET", CARD);

    let silo = host(&cloud, &[]).await;
    let expected = answered(silo.invoke(card()).await, &silo);
    // A silo's sandbox that Lambda isolates serves nobody: nothing says that the two are one tenant.
    ended(
        &silo.invoke_for("acme", card()).await,
        &silo,
        "a function serves exactly one tenant, and it was told another: Lambda named acme",
    );

    let sandbox = host(&cloud, &ISOLATED).await;
    for _ in 0..2 {
        let got = answered(sandbox.invoke_for("acme", card()).await, &sandbox);
        assert_eq!(got, expected, "the same function as a silo's");
    }
    let tags = &expected["skills"][0]["tags"];
    assert_eq!(tags, &json!(["type:host", "tenant_id:acme"]), "which is acme's");
    ended(
        &sandbox.invoke_for("globex", card()).await,
        &sandbox,
        "it was told another: Lambda named globex, and it serves acme",
    );

    // Neither what a client sends nor what the settings say stands in for Lambda's word.
    let beside = [("TENANCY", Some("isolated"))];
    let sandbox = host(&cloud, &beside).await;
    let mut event = card();
    event["headers"]["X-Amz-Tenant-Id"] = "acme".into();
    event["multiValueHeaders"]["X-Amz-Tenant-Id"] = ["acme"].as_slice().into();
    ended(
        &sandbox.invoke(event).await,
        &sandbox,
        "serves exactly one tenant, and it was not told which",
    );
    let sandbox = host(&cloud, &beside).await;
    ended(
        &sandbox.invoke_for("globex", card()).await,
        &sandbox,
        "it was told another: Lambda named globex, and it serves acme",
    );
}

const ISOLATED: [(&str, Option<&str>); 3] = [
    ("TENANT_ID", None),
    ("TENANT_PREFIX", None),
    ("TENANCY", Some("isolated")),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_asks_the_model_of_its_tenants_record_within_the_limit_that_was_deployed() {
    let cloud = Cloud::start(&["acme"]).await;
    let model = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(400))
        .mount(&model)
        .await;
    let list = json!([
        { "kind": "openai", "url": format!("{}/v1", model.uri()), "model": "acmes-own" }, { "kind": "rules" },
    ]);
    set(&cloud, &[("MODELS", Some(&list.to_string()))]).await;

    let event = || {
        let mut event = get("POST", "/message:send");
        let token = format!("Bearer {}", cloud.token("acme/HostAgentFunction"));
        for (name, value) in [
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
            ("a2a-version", "1.0"),
        ] {
            event["headers"][name] = value.into();
            event["multiValueHeaders"][name] = [value].as_slice().into();
        }
        let message = json!({ "message": {
            "messageId": domain::MessageId::random(&domain::SystemEntropy).to_string(), "role": "ROLE_USER",
            "parts": [{ "text": "Will it rain in Oslo tomorrow?" }],
        }, "configuration": { "returnImmediately": true } });
        event["body"] = message.to_string().into();
        event
    };
    // What costs money wants a limit, which the record does not say.
    let sandbox = host(&cloud, &ISOLATED).await;
    ended(
        &sandbox.invoke_for("acme", event()).await,
        &sandbox,
        "TOKENS_PER_DAY is not set",
    );
    assert_eq!(model.received_requests().await.expect("requests").len(), 0);

    let limited = [ISOLATED.as_slice(), &[("TOKENS_PER_DAY", Some("100000"))]].concat();
    let sandbox = host(&cloud, &limited).await;
    let sent = sandbox.invoke_for("acme", event()).await;
    let Reply::Answer(sent) = sent else {
        panic!("{sent:?}\n{}", sandbox.log())
    };
    let sent: Value = serde_json::from_str(sent["body"].as_str().expect("text")).expect("JSON");
    let wake =
        json!({ "v": 1, "kind": "task", "tenant": "acme", "agent": "host", "taskId": sent["task"]["id"] });
    let wake = batch("host", &[("1", &wake.to_string())], 1);
    let reply = sandbox.invoke_for("acme", wake).await;
    let asked = model.received_requests().await.expect("requests");
    let asked: Vec<Value> = asked
        .iter()
        .map(|asked| asked.body_json().expect("JSON"))
        .collect();
    assert!(!asked.is_empty(), "{reply:?}\n{}", sandbox.log());
    assert!(
        asked.iter().all(|asked| asked["model"] == "acmes-own"),
        "{asked:?}"
    );
}

/// Whether guests are let in, as the chat's session says it.
async fn lets_guests_in(sandbox: &Sandbox, tenant: Option<&str>) -> bool {
    let event = get("GET", "/api/session");
    let reply = match tenant {
        Some(tenant) => sandbox.invoke_for(tenant, event).await,
        None => sandbox.invoke(event).await,
    };
    let Reply::Answer(answer) = reply else {
        panic!("{reply:?}\n{}", sandbox.log())
    };
    let told: Value = serde_json::from_str(answer["body"].as_str().expect("text")).expect("JSON");
    !told["signInRequired"]
        .as_bool()
        .unwrap_or_else(|| panic!("{told}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_changes_a_warm_silo_and_a_warm_sandbox_and_no_bad_one_does() {
    let cloud = Cloud::start(&["acme"]).await;
    let chat = ("ChatApiFunction", "chat_api");
    // As they were deployed, whatever the record says of what is not the tenant's.
    let deployed = [("REQUIRE_SIGN_IN", Some("false"))];
    let silo = begun(&cloud, chat, &deployed).await;
    let started = silo.ready().await;
    let isolated = [ISOLATED.as_slice(), &deployed].concat();
    let sandbox = begun(&cloud, chat, &isolated).await;
    sandbox.ready().await;
    let both = async || {
        let silo = lets_guests_in(&silo, None).await;
        (silo, lets_guests_in(&sandbox, Some("acme")).await)
    };
    let becomes = async |expected: (bool, bool)| {
        let since = Instant::now();
        while both().await != expected {
            assert!(
                since.elapsed() < SETTINGS_TTL + Duration::from_secs(5),
                "not yet {expected:?}"
            );
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    assert_eq!(both().await, (true, true), "a start takes {started:?}");

    set(&cloud, &[("REQUIRE_SIGN_IN", Some("true"))]).await;
    becomes((false, false)).await;

    // A bad one changes nothing where it is warm; where it is cold there is no function.
    set(&cloud, &[("REQUIRE_SIGN_IN", Some("perhaps"))]).await;
    tokio::time::sleep(SETTINGS_TTL + Duration::from_millis(500)).await;
    assert_eq!(both().await, (false, false));
    for warm in [&silo, &sandbox] {
        assert!(
            warm.log().contains("goes on with what it said before"),
            "{}",
            warm.log()
        );
        assert!(
            warm.log().contains("REQUIRE_SIGN_IN is not valid"),
            "{}",
            warm.log()
        );
    }
    let cold = begun(&cloud, chat, &deployed).await;
    assert!(!cold.comes_up().await, "{}", cold.log());
    assert!(
        cold.log().contains("REQUIRE_SIGN_IN is not valid"),
        "{}",
        cold.log()
    );

    assert_eq!(cloud.refusals(), Vec::<String>::new());
}
