//! The cards that the router's figures are measured with (`tests/data/routing/own_cards.json`) are those that our agents publish:
//! who changes an agent's words measures anew.

use serde_json::{Value, json};
use system_testing::Local;

/// What of a card the router reads.
fn told(card: &Value) -> Value {
    let skills = card["skills"].as_array().expect("skills").iter();
    let skills = skills.map(|skill| {
        let tags = skill["tags"].as_array().expect("tags").iter();
        let tags: Vec<&Value> = tags
            .filter(|tag| !tag.as_str().is_some_and(|tag| tag.starts_with("tenant_id:")))
            .collect();
        let none = json!([]);
        json!({
            "name": skill["name"],
            "description": skill["description"],
            "tags": tags,
            "examples": skill.get("examples").unwrap_or(&none),
        })
    });
    json!({ "name": card["name"], "description": card["description"], "skills": skills.collect::<Vec<_>>() })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_router_is_measured_with_the_cards_that_our_agents_publish() {
    let local = Local::start().await;
    let registry = local.endpoint("/registry");
    let listed: Value = system_testing::user::http()
        .get(format!("{registry}/agents?tenant=acme"))
        .bearer_auth(local.endpoint("/registry_token"))
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let file = system_testing::folder().join("data/routing/own_cards.json");
    let measured: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(file).expect("the file")).expect("JSON");
    let mut compared = Vec::new();
    for agent in listed["agents"].as_array().expect("agents") {
        let card = &agent["card"];
        let kind = card["skills"][0]["tags"].as_array().into_iter().flatten();
        let kind = kind.filter_map(|tag| tag.as_str()?.strip_prefix("type:")).next();
        let known = measured.iter().find(|known| known["type"].as_str() == kind);
        if let Some(known) = known {
            assert_eq!(told(known), told(card), "{kind:?}");
            compared.extend(kind);
        }
    }
    compared.sort_unstable();
    assert_eq!(compared, ["airbnb", "calendar", "horizon", "report", "weather"]);
}
