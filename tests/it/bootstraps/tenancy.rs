//! Sandboxes that Lambda isolates by tenant: each is its first event's tenant's own function, and ends at another one's.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use system_testing::cloud::Cloud;
use system_testing::runtime_api::{Reply, Sandbox, Spec, program};

use super::lambda::get;

const CARD: &str = "/.well-known/agent-card.json";

/// A sandbox of acme's host, as its template has it but for these settings; `None` takes one away.
async fn host(cloud: &Cloud, settings: &[(&str, Option<&str>)]) -> Sandbox {
    let mut environment: BTreeMap<String, String> = cloud.environments["acme/HostAgentFunction"].clone();
    environment.insert("ANSWERS".to_owned(), "buffered".to_owned());
    environment.remove("BASE_PATH");
    for (name, value) in settings {
        environment.remove(*name);
        environment.extend(value.map(|value| ((*name).to_owned(), value.to_owned())));
    }
    let spec = Spec {
        name: "host".to_owned(),
        binary: program("host_agent"),
        environment,
        timeout: std::time::Duration::from_secs(20),
        memory: 256,
    };
    let sandbox = Sandbox::start(&spec, cloud.log_folder()).await;
    sandbox.ready().await;
    sandbox
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
    let untold = [("TENANT_ID", None), ("TENANT_PREFIX", None)];

    let silo = host(&cloud, &[]).await;
    let expected = answered(silo.invoke(card()).await, &silo);
    // A silo's sandbox that Lambda isolates serves nobody: nothing says that the two are one tenant.
    ended(
        &silo.invoke_for("acme", card()).await,
        &silo,
        "a function serves exactly one tenant, and it was told another: Lambda named acme",
    );

    let isolated = [untold.as_slice(), &[("TENANCY", Some("isolated"))]].concat();
    let sandbox = host(&cloud, &isolated).await;
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
