//! The registry's agents and types.

use domain::{AgentId, AgentType, Tag, TypeScope};
use serde_json::json;

use crate::*;
use store::{
    CardSignature, Declared, DeclaredType, Health, Put, RegisteredAgent, StoreError, Visibility, counted,
};

fn tag(text: &str) -> Tag {
    Tag::parse(text).unwrap()
}

fn registered(tenant_name: Option<&str>, url: &str, tags: &[&str]) -> RegisteredAgent {
    RegisteredAgent {
        id: AgentId::random(&SystemEntropy),
        tenant: tenant_name.map(tenant),
        card_url: url.parse().unwrap(),
        card: json!({ "name": url, "size": 1, "extra": { "kept": [null, 1.5] } }),
        skills: vec![
            tags.iter().map(|text| tag(text)).collect(),
            vec![tag("region:eu")],
        ],
        registered_at: now(),
        health: Health {
            ok: true,
            checked_at: now(),
            reason: None,
        },
        signature: CardSignature::Good { kid: "k".into() },
        disabled: false,
        link_hosts: Vec::new(),
        pending: None,
    }
}

#[tokio::test]
async fn a_type_is_declared_once() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let weather = AgentType::parse("weather").unwrap();
    assert_eq!(cards.types().await.unwrap(), []);
    assert_eq!(
        cards.declare_type(&weather, TypeScope::Global).await.unwrap(),
        Declared::New
    );
    assert_eq!(
        cards.declare_type(&weather, TypeScope::Global).await.unwrap(),
        Declared::Same
    );
    let contradiction = cards.declare_type(&weather, TypeScope::Tenant).await.unwrap();
    assert_eq!(contradiction, Declared::Contradicts(TypeScope::Global));
    let horizon = AgentType::parse("horizon").unwrap();
    cards.declare_type(&horizon, TypeScope::Tenant).await.unwrap();
    let declared = |name: &AgentType, scope, private| DeclaredType {
        name: name.clone(),
        scope,
        private,
    };
    let (own, all) = (TypeScope::Tenant, TypeScope::Global);
    let expected = [declared(&horizon, own, false), declared(&weather, all, false)];
    assert_eq!(cards.types().await.unwrap(), expected);
    // Whether its agents are private is said at any time, and makes no type.
    let before = cards.edition(&[Visibility::Global]).await.unwrap();
    assert!(cards.set_private(&weather, true).await.unwrap());
    assert_ne!(cards.edition(&[Visibility::Global]).await.unwrap(), before);
    let expected = [declared(&horizon, own, false), declared(&weather, all, true)];
    assert_eq!(cards.types().await.unwrap(), expected);
    assert_eq!(cards.declare_type(&weather, all).await.unwrap(), Declared::Same);
    assert_eq!(cards.types().await.unwrap(), expected);
    let unknown = AgentType::parse("unknown").unwrap();
    assert!(!cards.set_private(&unknown, true).await.unwrap());
    assert_eq!(cards.types().await.unwrap(), expected);
}

#[tokio::test]
async fn an_agent_is_found_by_id_and_by_each_of_its_tags() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let agent = registered(None, "https://a.example/card", &["type:weather", "unit:metric"]);
    assert_eq!(cards.put(&agent).await.unwrap(), Put::Yes);
    assert_eq!(
        cards.find(Visibility::Global, &agent.id).await.unwrap(),
        Some(agent.clone())
    );
    for found_by in ["type:weather", "unit:metric", "region:eu"] {
        let (found, calls) = counted(cards.by_tag(Visibility::Global, &tag(found_by))).await;
        assert_eq!(found.unwrap(), std::slice::from_ref(&agent));
        assert_eq!(calls.total(), 2);
    }
    assert!(
        cards
            .by_tag(Visibility::Global, &tag("type:flats"))
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(cards.all(Visibility::Global).await.unwrap(), [agent]);
}

#[tokio::test]
async fn an_edition_changes_with_whatever_its_parts_hold_and_with_nothing_else() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    let own = [Visibility::Tenant(&acme), Visibility::Global];
    let (first, calls) = counted(cards.edition(&own)).await;
    assert_eq!(calls.total(), 1);
    let mut seen = vec![first.unwrap()];
    let mut changed = async |expect: bool| {
        let edition = cards.edition(&own).await.unwrap();
        assert_eq!(!seen.contains(&edition), expect);
        seen.push(edition);
    };
    changed(false).await;
    let weather = AgentType::parse("weather").unwrap();
    cards.declare_type(&weather, TypeScope::Global).await.unwrap();
    changed(true).await;
    cards.declare_type(&weather, TypeScope::Global).await.unwrap();
    cards.declare_type(&weather, TypeScope::Tenant).await.unwrap();
    changed(false).await;
    let url = "https://horizon.example/card";
    for tenant in [Some("acme"), None, Some("globex")] {
        let agent = registered(tenant, url, &["type:horizon"]);
        cards.put(&agent).await.unwrap();
        changed(tenant != Some("globex")).await;
        let health = Health {
            ok: false,
            ..agent.health.clone()
        };
        let part = agent.visibility();
        assert!(cards.set_health(part, &agent.id, health.clone()).await.unwrap());
        changed(tenant != Some("globex")).await;
        assert!(cards.remove(part, &agent.id).await.unwrap());
        changed(tenant != Some("globex")).await;
        // What is not there is not changed, and what was there once does not come back under an old name.
        assert!(!cards.set_health(part, &agent.id, health).await.unwrap());
        assert!(!cards.remove(part, &agent.id).await.unwrap());
        changed(false).await;
    }
    let foreign = [Visibility::Tenant(&globex), Visibility::Global];
    assert!(!seen.contains(&cards.edition(&foreign).await.unwrap()));
}

#[tokio::test]
async fn no_tenant_ever_sees_anothers_agent() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    // The same URL, the same tags: each tenant has its own, and neither is told of the other's.
    let url = "https://horizon.example/card";
    let of_acme = registered(Some("acme"), url, &["type:horizon", "tenant_id:acme"]);
    let of_globex = registered(Some("globex"), url, &["type:horizon", "tenant_id:acme"]);
    assert_eq!(cards.put(&of_acme).await.unwrap(), Put::Yes);
    assert_eq!(cards.put(&of_globex).await.unwrap(), Put::Yes);
    let acme = Visibility::Tenant(&acme);
    for visibility in [Visibility::Tenant(&globex), Visibility::Global] {
        assert_eq!(cards.find(visibility, &of_acme.id).await.unwrap(), None);
        for found_by in ["type:horizon", "tenant_id:acme"] {
            let found = cards.by_tag(visibility, &tag(found_by)).await.unwrap();
            assert!(!found.contains(&of_acme));
        }
        assert!(!cards.all(visibility).await.unwrap().contains(&of_acme));
        assert!(!cards.remove(visibility, &of_acme.id).await.unwrap());
        let health = of_acme.health.clone();
        assert!(!cards.set_health(visibility, &of_acme.id, health).await.unwrap());
    }
    assert_eq!(cards.all(acme).await.unwrap(), [of_acme]);
}

#[tokio::test]
async fn a_replaced_agent_leaves_no_tag_and_no_url_behind() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let before = registered(None, "https://a.example/card", &["type:weather", "unit:metric"]);
    cards.put(&before).await.unwrap();
    let after = RegisteredAgent {
        id: before.id,
        ..registered(None, "https://b.example/card", &["type:climate", "unit:metric"])
    };
    assert_eq!(cards.put(&after).await.unwrap(), Put::Yes);
    assert!(
        cards
            .by_tag(Visibility::Global, &tag("type:weather"))
            .await
            .unwrap()
            .is_empty()
    );
    for found_by in ["type:climate", "unit:metric"] {
        let found = cards.by_tag(Visibility::Global, &tag(found_by)).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&after));
    }
    assert_eq!(
        cards.all(Visibility::Global).await.unwrap(),
        std::slice::from_ref(&after)
    );
    // The URL it had is free, the one it has is not.
    let other = registered(None, "https://a.example/card", &["type:weather"]);
    assert_eq!(cards.put(&other).await.unwrap(), Put::Yes);
    let third = registered(None, "https://b.example/card", &["type:weather"]);
    assert_eq!(cards.put(&third).await.unwrap(), Put::CardUrlTaken(after.id));
    assert_eq!(cards.find(Visibility::Global, &third.id).await.unwrap(), None);
    assert_eq!(
        cards
            .by_tag(Visibility::Global, &tag("type:weather"))
            .await
            .unwrap(),
        [other]
    );
}

#[tokio::test]
async fn a_removed_agent_is_gone_everywhere() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let agent = registered(None, "https://a.example/card", &["type:weather"]);
    cards.put(&agent).await.unwrap();
    assert!(cards.remove(Visibility::Global, &agent.id).await.unwrap());
    assert!(!cards.remove(Visibility::Global, &agent.id).await.unwrap());
    assert_eq!(cards.find(Visibility::Global, &agent.id).await.unwrap(), None);
    assert!(
        cards
            .by_tag(Visibility::Global, &tag("type:weather"))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(cards.all(Visibility::Global).await.unwrap().is_empty());
    let again = registered(None, "https://a.example/card", &["type:weather"]);
    assert_eq!(cards.put(&again).await.unwrap(), Put::Yes);
}

#[tokio::test]
async fn health_is_written_without_touching_the_card() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let mut agent = registered(None, "https://a.example/card", &["type:weather"]);
    cards.put(&agent).await.unwrap();
    agent.health = Health {
        ok: false,
        checked_at: later(60),
        reason: Some("no answer".into()),
    };
    assert!(
        cards
            .set_health(Visibility::Global, &agent.id, agent.health.clone())
            .await
            .unwrap()
    );
    assert_eq!(
        cards.find(Visibility::Global, &agent.id).await.unwrap(),
        Some(agent)
    );
    let absent = AgentId::random(&SystemEntropy);
    let health = registered(None, "https://b.example/", &[]).health;
    assert!(
        !cards
            .set_health(Visibility::Global, &absent, health)
            .await
            .unwrap()
    );
    assert_eq!(cards.find(Visibility::Global, &absent).await.unwrap(), None);
}

#[tokio::test]
async fn health_that_is_the_same_is_no_news() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let mut agent = registered(Some("acme"), "https://a.example/card", &["type:weather"]);
    cards.put(&agent).await.unwrap();
    let parts = [agent.visibility()];
    let before = cards.edition(&parts).await.unwrap();
    let health = Health {
        checked_at: later(60),
        ..agent.health.clone()
    };
    assert!(
        cards
            .set_same_health(parts[0], &agent.id, health.clone())
            .await
            .unwrap()
    );
    assert_eq!(cards.edition(&parts).await.unwrap(), before);
    let found = cards.find(parts[0], &agent.id).await.unwrap();
    let absent = AgentId::random(&SystemEntropy);
    assert!(
        !cards
            .set_same_health(parts[0], &absent, health.clone())
            .await
            .unwrap()
    );
    agent.health = health;
    assert_eq!(found, Some(agent));
}

#[tokio::test]
async fn an_agent_is_replaced_only_as_it_was_seen() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let seen = registered(None, "https://a.example/card", &["type:weather"]);
    cards.put(&seen).await.unwrap();
    let off = RegisteredAgent {
        disabled: true,
        ..seen.clone()
    };
    let health = Health {
        checked_at: later(60),
        ..seen.health.clone()
    };
    cards
        .set_health(Visibility::Global, &seen.id, health)
        .await
        .unwrap();
    assert_eq!(cards.replace(&seen, &off).await.unwrap(), Put::Yes);
    // Who looked before it was switched off does not switch it on.
    let renewed = RegisteredAgent {
        card: json!({"name": "new"}),
        ..seen.clone()
    };
    assert_eq!(cards.replace(&seen, &renewed).await.unwrap(), Put::Conflict);
    let found = cards.find(Visibility::Global, &seen.id).await.unwrap();
    assert_eq!(found, Some(off.clone()));
    cards.remove(Visibility::Global, &seen.id).await.unwrap();
    assert_eq!(cards.replace(&off, &seen).await.unwrap(), Put::Conflict);
    assert_eq!(cards.find(Visibility::Global, &seen.id).await.unwrap(), None);
}

#[tokio::test]
async fn every_agent_is_listed_for_the_clock_until_it_is_removed() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let agents = [
        registered(None, "https://a.example/card", &["type:weather"]),
        registered(Some("acme"), "https://a.example/card", &["type:weather"]),
        registered(Some("globex"), "https://a.example/card", &["type:weather"]),
    ];
    for agent in &agents {
        cards.put(agent).await.unwrap();
    }
    let mut every = cards.every(|_| true).await.unwrap();
    assert_eq!(every.len(), 3);
    for agent in &agents {
        assert!(every.contains(agent));
    }
    cards.remove(agents[1].visibility(), &agents[1].id).await.unwrap();
    every = cards.every(|_| true).await.unwrap();
    assert!(every.len() == 2 && !every.contains(&agents[1]), "{every:?}");
}

#[tokio::test]
async fn of_concurrent_registrations_of_one_url_one_wins() {
    let (store, _database) = store_testing::start().await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let store = store.clone();
        racers.spawn(async move {
            let agent = registered(None, "https://a.example/card", &["type:weather"]);
            (agent.id, store.registry().put(&agent).await.unwrap())
        });
    }
    let outcomes = racers.join_all().await;
    let winners: Vec<_> = outcomes
        .iter()
        .filter(|(_, put)| *put == Put::Yes)
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(winners.len(), 1);
    let taken = Put::CardUrlTaken(winners[0]);
    assert_eq!(outcomes.iter().filter(|(_, put)| *put == taken).count(), 11);
    assert_eq!(store.registry().all(Visibility::Global).await.unwrap().len(), 1);
}

#[tokio::test]
async fn more_than_a_hundred_agents_are_all_found() {
    let (store, _database) = store_testing::start().await;
    for number in 0..130 {
        let agent = registered(None, &format!("https://a.example/{number}"), &["type:weather"]);
        store.registry().put(&agent).await.unwrap();
    }
    assert_eq!(store.registry().all(Visibility::Global).await.unwrap().len(), 130);
    let found = store
        .registry()
        .by_tag(Visibility::Global, &tag("type:weather"))
        .await
        .unwrap();
    assert_eq!(found.len(), 130);
}

#[tokio::test]
async fn a_card_that_does_not_fit_is_refused_whole() {
    let (store, _database) = store_testing::start().await;
    let cards = store.registry();
    let mut large = registered(None, "https://a.example/card", &["type:weather"]);
    large.card = json!("x".repeat(400_000));
    assert!(matches!(
        cards.put(&large).await,
        Err(StoreError::TooLarge { .. })
    ));
    let mut tagged = registered(None, "https://a.example/card", &[]);
    tagged.skills = vec![(0..120).map(|number| tag(&format!("n:{number}"))).collect()];
    assert!(matches!(
        cards.put(&tagged).await,
        Err(StoreError::TooLarge { .. })
    ));
    assert!(cards.all(Visibility::Global).await.unwrap().is_empty());
}
