//! Two agents of one type: both are used, the card decides between them, and the one that is down is passed over; and an
//! agent that is switched off.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use system_testing::Local;

use crate::scripted::Scripted;

#[tokio::test(flavor = "multi_thread")]
async fn the_card_decides_between_two_agents_of_a_type() {
    let local = Local::start().await;
    let library = Scripted::called(&local, ("search", "Library Search"), "Search the books").await;
    let patents = Scripted::called(&local, ("search", "Patent Search"), "Search the patents").await;
    let user = local.user("acme");
    for (prompt, expect) in [
        ("Search for patents on batteries", "Patent Search"),
        ("Search for books about whales", "Library Search"),
        ("search in the library for whales", "Library Search"),
    ] {
        let task = user.begin(prompt).await;
        assert_eq!(user.task(&task).await["agentName"], expect, "{prompt}");
    }
    patents.nth(1).await;
    library.nth(2).await;
    assert_eq!((library.sent().len(), patents.sent().len()), (2, 1));

    // Whoever asks what there is hears of both.
    let answer = user.ask("help").await.said();
    assert!(
        answer.contains("Library Search") && answer.contains("Patent Search"),
        "{answer}"
    );
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_agents_share_the_chats_and_the_one_that_is_down_gets_none() {
    let local = Local::start().await;
    let prompt = "Translate a letter";
    let kind = ("translation", "Translation");
    let agents = [
        Scripted::called(&local, kind, prompt).await,
        Scripted::called(&local, kind, prompt).await,
    ];
    // Each agent's share is random by the ids of chat and agent; sixteen chats miss one of them once in 30,000 runs.
    let first = shares(&local, &agents, 16).await;
    assert!(first.iter().all(|share| *share > 0), "both are used: {first:?}");

    agents[0].is_away(true);
    local.system.check_agents().await;
    let second = shares(&local, &agents, 8).await;
    assert_eq!(second, [0, 8], "the one that is down is passed over");

    agents[0].is_away(false);
    local.system.check_agents().await;
    let third = shares(&local, &agents, 16).await;
    assert!(third.iter().all(|share| *share > 0), "it is back: {third:?}");
    local.system.stop().await;
}

/// How many of so many new chats' messages each of the agents gets.
async fn shares(local: &Local, agents: &[Scripted; 2], chats: usize) -> [usize; 2] {
    let sent = || [agents[0].sent().len(), agents[1].sent().len()];
    let (user, before) = (local.user("acme"), sent());
    for _ in 0..chats {
        user.begin("Translate a letter").await;
    }
    let new = || [sent()[0] - before[0], sent()[1] - before[1]];
    for _ in 0..600 {
        if new().iter().sum::<usize>() >= chats {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        new().iter().sum::<usize>(),
        chats,
        "each message went to one agent"
    );
    new()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_switched_off_ends_what_it_has_and_gets_nothing_new() {
    let local = Local::start().await;
    let prompt = "Translate a letter";
    let agent = Scripted::start(&local, "translation", prompt).await;
    let user = local.user("acme");
    let running = user.begin(prompt).await;
    let sent = agent.nth(1).await;
    switch(&local, "translation", "disable").await;

    let refused = user.ask(prompt).await.said();
    assert!(
        refused.contains("one of the agents I can reach fits"),
        "{refused}"
    );
    assert!(
        !refused.contains("translation"),
        "it is not even named: {refused}"
    );
    agent
        .reports(&sent, "TASK_STATE_COMPLETED", None, Some("Dear Ada"))
        .await;
    let done = user.until(&running, &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("Dear Ada"), "{done:#}");

    // Neither does a look by the clock switch it on; its operator does.
    local.system.check_agents().await;
    user.ask(prompt).await;
    assert_eq!(agent.sent().len(), 1);
    switch(&local, "translation", "enable").await;
    user.begin(prompt).await;
    agent.nth(2).await;
    local.system.stop().await;
}

/// Switches a global agent off or on, as its operator.
async fn switch(local: &Local, name: &str, verb: &str) {
    let (http, token) = (system_testing::user::http(), local.endpoint("/registry_token"));
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let call = async |method: Method, path: &str| -> Value {
        let request = http
            .request(method, format!("{registry}{path}"))
            .bearer_auth(token);
        request
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .expect("JSON")
    };
    let all = call(Method::GET, "/agents?disabled=true").await;
    let mut agents = all["agents"].as_array().expect("a list").iter();
    let agent = agents.find(|agent| agent["card"]["name"] == name);
    let id = agent.and_then(|agent| agent["id"].as_str()).expect("the agent");
    let switched = call(Method::POST, &format!("/agents/{id}/{verb}")).await;
    assert_eq!(switched["enabled"], verb == "enable", "{switched:#}");
}
