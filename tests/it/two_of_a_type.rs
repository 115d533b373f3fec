//! Two agents of one type: both are used, the card decides between them, and the one that is down is passed over.

use std::time::Duration;

use serde_json::{Value, json};
use tests::Local;

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
    check_all(&local).await;
    let second = shares(&local, &agents, 8).await;
    assert_eq!(second, [0, 8], "the one that is down is passed over");

    agents[0].is_away(false);
    check_all(&local).await;
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

/// Has the registry look at every global agent's card again.
async fn check_all(local: &Local) {
    let (http, token) = (tests::user::http(), local.endpoint("/registry_token"));
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let listed = http.get(format!("{registry}/agents")).bearer_auth(token);
    let listed: Value = listed
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("a list");
    for agent in listed["agents"].as_array().expect("a list") {
        let url = format!("{registry}/agents/{}/check", agent["id"].as_str().expect("an id"));
        let checked = http.post(url).bearer_auth(token).json(&json!({})).send();
        assert_eq!(checked.await.expect("an answer").status(), 200);
    }
}
