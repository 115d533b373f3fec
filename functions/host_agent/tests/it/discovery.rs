//! Which agent is chosen, and that another tenant's never is.

use std::time::Duration;

use domain::TaskState;
use host_agent::Directory;
use serde_json::json;
use wiremock::matchers::path;
use wiremock::{Mock, ResponseTemplate};

use crate::world::{Reply, World, remote, status, world, world_with};

const ORDER: &str = "Where is my order 4711?";

#[tokio::test]
async fn of_a_tenant_type_only_the_tenants_own_agent_is_chosen() {
    let world = world_with(|_, _| {}).await;
    let (own, other) = (world.peer("own").await, world.peer("other").await);
    let mut ours = world.card(9, "own", "Horizon", &["type:horizon", "tenant_id:acme"], ORDER);
    ours["tenant"] = json!("acme");
    let mut theirs = world.card(
        1,
        "other",
        "Horizon",
        &["type:horizon", "tenant_id:globex"],
        ORDER,
    );
    theirs["tenant"] = json!("globex");
    world.registered(json!([theirs, ours]), json!({"horizon": "tenant"}));
    world.ask(ORDER).await;
    assert_eq!(
        (own.calls("SendMessage").len(), other.calls("SendMessage").len()),
        (1, 0)
    );
}

#[tokio::test]
async fn another_tenants_agent_is_never_chosen_even_when_it_is_all_there_is() {
    let world = world_with(|_, _| {}).await;
    let other = world.peer("other").await;
    let theirs = |tags: &[&str], tenant: serde_json::Value| {
        let mut card = world.card(1, "other", "Horizon", tags, ORDER);
        card["tenant"] = tenant;
        card
    };
    for (agent, scope) in [
        (
            theirs(&["type:horizon", "tenant_id:globex"], json!("globex")),
            "tenant",
        ),
        (
            theirs(&["type:horizon", "tenant_id:globex"], json!(null)),
            "tenant",
        ),
        (
            theirs(&["type:horizon", "tenant_id:globex"], json!(null)),
            "global",
        ),
        (theirs(&["type:horizon"], json!("globex")), "global"),
        (
            theirs(&["type:horizon", "tenant_id:acme"], json!("globex")),
            "tenant",
        ),
        (
            theirs(
                &["type:horizon", "tenant_id:acme", "tenant_id:globex"],
                json!(null),
            ),
            "tenant",
        ),
        // Its own tag is missing: it is nobody's.
        (theirs(&["type:horizon"], json!(null)), "tenant"),
    ] {
        world.registered(json!([agent]), json!({ "horizon": scope }));
        let id = world
            .say(
                "user-1",
                domain::MessageId::derived(&format!("{agent}{scope}")).as_str(),
                ORDER,
                None,
            )
            .await;
        let task = world.wake(id).await;
        assert!(task.jobs.is_empty(), "{agent} {scope}");
        assert!(
            !status(&task).1.contains("Horizon"),
            "not even its name is shown: {}",
            status(&task).1
        );
    }
    assert!(other.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn tags_are_matched_within_one_skill() {
    let world = world_with(|_, _| {}).await;
    let mut card = world.card(1, "own", "Horizon", &["type:horizon", "tenant_id:globex"], ORDER);
    card["card"]["skills"].as_array_mut().unwrap().push(json!({
        "id": "t", "name": "Other", "description": "Other", "tags": ["type:other", "tenant_id:acme"]
    }));
    world.registered(json!([card]), json!({"horizon": "tenant", "other": "tenant"}));
    assert!(world.ask(ORDER).await.jobs.is_empty());
}

#[tokio::test]
async fn a_type_that_nobody_declared_is_not_used() {
    let (world, weather) = world().await;
    world.registered(json!([world.weather()]), json!({}));
    assert!(world.ask("Will it rain in Oslo?").await.jobs.is_empty());
    assert!(weather.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_healthy_agent_is_preferred_and_the_host_never_asks_itself() {
    let world = world_with(|_, _| {}).await;
    let (sick, well) = (world.peer("sick").await, world.peer("well").await);
    let example = "Will it rain in Oslo?";
    let mut first = world.card(1, "sick", "Sick", &["type:weather"], example);
    first["health"]["ok"] = json!(false);
    let second = world.card(2, "well", "Well", &["type:weather"], example);
    let mut itself = world.card(0, "x", "Itself", &["type:weather"], example);
    itself["card"]["supportedInterfaces"][0]["url"] = json!(crate::world::URL);
    world.registered(json!([itself, first, second]), json!({"weather": "global"}));
    world.ask(example).await;
    assert_eq!(
        (sick.calls("SendMessage").len(), well.calls("SendMessage").len()),
        (0, 1)
    );
}

#[tokio::test]
async fn of_two_agents_of_a_type_the_card_decides() {
    let world = world_with(|_, _| {}).await;
    let (books, patents) = (world.peer("books").await, world.peer("patents").await);
    let card = |id: u8, at: &str, name: &str| world.card(id, at, name, &["type:search"], "Search something");
    let agents = json!([
        card(1, "books", "Library Search"),
        card(2, "patents", "Patent Search")
    ]);
    world.registered(agents, json!({"search": "global"}));
    let task = world.ask("Search for a patent on batteries").await;
    assert_eq!(task.jobs[0].agent_name, "Patent Search");
    let task = world.ask("Search the library for whales").await;
    assert_eq!(task.jobs[0].agent_name, "Library Search");
    assert_eq!(
        (
            books.calls("SendMessage").len(),
            patents.calls("SendMessage").len()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn equal_agents_share_the_chats_and_a_chat_stays_with_its_agent() {
    let world = world_with(|_, _| {}).await;
    let _peers = (world.peer("one").await, world.peer("two").await);
    let example = "Will it rain in Oslo?";
    let agents = |well: bool| {
        let mut one = world.card(1, "one", "Weather", &["type:weather"], example);
        one["health"]["ok"] = json!(well);
        json!([one, world.card(2, "two", "Weather", &["type:weather"], example)])
    };
    world.registered(agents(true), json!({"weather": "global"}));
    // A chat is its user's here.
    let mut went = std::collections::BTreeMap::new();
    for round in 0..2 {
        for user in 0..12 {
            let (user, id) = (format!("user-{user}"), format!("m-{user}-{round}"));
            let id = world.say(&user, &id, example, None).await;
            let agent = world.wake(id).await.jobs[0].agent_id;
            assert_eq!(*went.entry(user).or_insert(agent), agent, "the chat stays");
        }
    }
    let used: std::collections::BTreeSet<_> = went.values().copied().collect();
    assert_eq!(used.len(), 2, "both are used: {went:?}");

    // One falls ill: its chats move to the other, whose chats stay.
    world.registered(agents(false), json!({"weather": "global"}));
    for user in went.keys() {
        let id = world.say(user, &format!("later-{user}"), example, None).await;
        let agent = world.wake(id).await.jobs[0].agent_id;
        assert_eq!(agent, domain::AgentId::from_bytes([2; 16]));
    }
}

#[tokio::test]
async fn a_registry_that_is_down_is_asked_again_and_then_named() {
    let (world, _weather) = world().await;
    world.registry_is_down();
    let mut task = world.ask("Will it rain in Oslo?").await;
    for wait in agent::RetrySchedule::default().waits() {
        assert_eq!(task.status.state, TaskState::Submitted);
        world.clock.advance(*wait);
        task = world.wake(task.id).await;
    }
    let expected = "The registry of agents cannot be asked at the moment. I have stopped trying. Say “try again” or “cancel”.";
    assert_eq!(status(&task), (TaskState::Unknown, expected.into()));
}

#[tokio::test]
async fn a_fixed_agent_gets_everything() {
    let world = world_with(|parts, server| {
        let card = format!("{}/fixed/card", server.uri()).parse().unwrap();
        parts.directory = Directory::fixed(parts.outbound.clone(), card);
    })
    .await;
    let fixed = world.peer("fixed").await;
    let card = world.card(1, "fixed", "Fixed", &[], "x")["card"].clone();
    wiremock::Mock::given(wiremock::matchers::path("/fixed/card"))
        .respond_with(wiremock::ResponseTemplate::new(200).set_body_json(card))
        .mount(&world.server)
        .await;
    fixed.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "COMPLETED", None, &["Roses."])})),
    );
    let task = world.ask("Write a poem about love").await;
    assert_eq!(status(&task), (TaskState::Completed, "Roses.".into()));
}

#[tokio::test]
async fn many_messages_at_once_ask_a_slow_registry_twice() {
    let (world, weather) = world().await;
    let listing = json!({"agents": [world.weather()], "types": {"weather": "global"}});
    Mock::given(path("/registry/agents"))
        .respond_with(
            ResponseTemplate::new(200)
                .set_body_json(listing)
                .set_delay(Duration::from_millis(300)),
        )
        .with_priority(1)
        .mount(&world.server)
        .await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        let owner = format!("user-{number}");
        tasks.push(
            world
                .say(&owner, &format!("m-{number}"), "Will it rain in Oslo?", None)
                .await,
        );
    }
    let before = asked_of_the_registry(&world).await;
    let woken = futures_util::future::join_all(tasks.into_iter().map(|id| world.wake(id))).await;
    assert!(woken.iter().all(|task| task.jobs.len() == 1));
    assert_eq!(weather.calls("SendMessage").len(), 20);
    let asked = asked_of_the_registry(&world).await - before;
    // One for who comes first, one for those that came while that was under way.
    assert!((1..=3).contains(&asked), "{asked} questions for 20 messages");
}

async fn asked_of_the_registry(world: &World) -> usize {
    let all = world.server.received_requests().await.unwrap();
    all.iter()
        .filter(|request| request.url.path() == "/registry/agents")
        .count()
}
