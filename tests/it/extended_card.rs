//! Cards for callers who show who they are: the host's lists the agents of its tenant.

use a2a::OpenAgents;
use a2a::card::{Signature, Verdict};
use auth::card_signature::{self, Checked};
use domain::{AgentType, Clock as _, Tenant};
use serde_json::{Value, json};
use system_testing::Local;

async fn asked(url: &str, token: Option<&str>) -> (u16, Value) {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}});
    let mut request = system_testing::user::http()
        .post(url)
        .header("a2a-version", "1.0");
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.json(&call).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn fetched(url: &str, path: &str) -> Value {
    let url = format!("{}{path}", url.trim_end_matches('/'));
    system_testing::user::http()
        .get(url)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap()
}

/// The values of the skills' tags of this kind.
fn tagged<'c>(card: &'c Value, kind: &str) -> Vec<&'c str> {
    let skills = card["skills"].as_array().unwrap();
    let tags = skills.iter().flat_map(|skill| skill["tags"].as_array().unwrap());
    tags.filter_map(|tag| tag.as_str().unwrap().strip_prefix(kind)?.strip_prefix(':'))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_card_for_its_tenants_callers_lists_the_tenants_agents() {
    let local = Local::start().await;
    for tenant in ["acme", "globex"] {
        let url = local
            .endpoint(&format!("/tenants/{tenant}/host_agent"))
            .to_owned();
        let public = fetched(&url, "/.well-known/agent-card.json").await;
        assert_eq!(public["capabilities"]["extendedAgentCard"], true, "{public:#}");
        assert_eq!(tagged(&public, "type"), ["host"], "nobody else sees the agents");

        let token = local.system.token(tenant, "ada", &url).unwrap();
        let (status, answer) = asked(&url, Some(&token)).await;
        assert_eq!(status, 200, "{answer}");
        let card = &answer["result"];
        let types = tagged(card, "type");
        for kind in ["host", "weather", "airbnb", "calendar", "report", "horizon"] {
            assert!(types.contains(&kind), "{kind}: {card:#}");
        }
        assert_eq!(tagged(card, "tenant_id"), [tenant], "{card:#}");
        // What the agents take stands beside what they do.
        let skills = card["skills"].as_array().unwrap();
        let is_weathers = |skill: &&Value| skill["tags"].as_array().unwrap().contains(&json!("type:weather"));
        let weather = skills.iter().find(is_weathers).unwrap();
        assert!(
            weather["inputModes"]
                .as_array()
                .unwrap()
                .contains(&json!("text/plain")),
            "{weather:#}"
        );
        let ids: std::collections::BTreeSet<&str> =
            skills.iter().map(|skill| skill["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), skills.len(), "{ids:?}");

        // Signed like the public one.
        let jwks = fetched(&url, "/.well-known/jwks.json").await;
        let check = |signature: &a2a::card::JwsSignature, payload: &[u8]| {
            let (protected, signature) = (&signature.protected, &signature.signature);
            match card_signature::check(protected, signature, payload, &jwks) {
                Checked::Good { kid } => Verdict::Good(kid),
                other => Verdict::Bad(format!("{other:?}")),
            }
        };
        let verdict = a2a::card::verify(card, check);
        assert!(matches!(verdict, Signature::Good { .. }), "{verdict:?}");

        let (status, _) = asked(&url, None).await;
        assert_eq!(status, 401);
    }
    // Who has no more to say says so.
    let weather = local.endpoint("/agents/weather");
    let public = fetched(weather, "/.well-known/agent-card.json").await;
    assert_eq!(public["capabilities"]["extendedAgentCard"], false, "{public:#}");
    let token = local.system.token("acme", "ada", weather).unwrap();
    let (_, answer) = asked(weather, Some(&token)).await;
    assert_eq!(answer["error"]["code"], -32004, "{answer}");
    local.system.stop().await;
}

/// The types of the agents that the host of a tenant calls open.
async fn open_types(local: &Local, tenant: &str) -> Vec<String> {
    let url = local
        .endpoint(&format!("/tenants/{tenant}/host_agent"))
        .to_owned();
    let token = local.system.token(tenant, "ada", &url).unwrap();
    let (status, answer) = asked(&url, Some(&token)).await;
    assert_eq!(status, 200, "{answer}");
    let open = OpenAgents::of(&answer["result"]);
    open.types().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_card_names_the_agents_that_demand_nothing_as_its_flows_have_it() {
    let local = Local::start().await;
    // The calendar wants a token, and Horizon is its tenant's own.
    let open = ["airbnb", "report", "weather"];
    assert_eq!(open_types(&local, "acme").await, open);
    // What asked a user of this tenant for a sign-in is private for this tenant.
    let (acme, weather) = (
        Tenant::parse("acme").unwrap(),
        AgentType::parse("weather").unwrap(),
    );
    let store = local.system.store();
    store
        .private_types()
        .note(&acme, &weather, local.clock.now())
        .await
        .unwrap();
    assert_eq!(open_types(&local, "acme").await, ["airbnb", "report"]);
    assert_eq!(open_types(&local, "globex").await, open);
    // What is declared private is so for everybody.
    let registry = local.endpoint("/registry").trim_end_matches('/');
    let declared = system_testing::user::http()
        .put(format!("{registry}/types/report"))
        .bearer_auth(local.endpoint("/registry_token"))
        .json(&json!({"scope": "global", "private": true}));
    assert!(declared.send().await.unwrap().status().is_success());
    assert_eq!(open_types(&local, "globex").await, ["airbnb", "weather"]);
    local.system.stop().await;
}
