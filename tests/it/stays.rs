//! The walk to somewhere to stay: a prompt, the accommodation agent over its MCP server, a list and data; over HTTP, as the page
//! and the terminal do it.

use serde_json::json;
use system_testing::Local;

#[tokio::test(flavor = "multi_thread")]
async fn a_flat_is_found_through_the_host() {
    let local = Local::start().await;
    let user = local.user("acme");
    let answer = user
        .ask("A flat in Oslo for two, Friday to Sunday, under 120 a night")
        .await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert_eq!(task["agentType"], "airbnb", "{task:#}");
    let told = task["artifacts"].to_string();
    for words in [
        "in Oslo, from Friday 2 January 2026 to Sunday 4 January 2026 (2 nights), for 2 guests, for at most 240 EUR altogether",
        "(sandbox)",
        "https://listings.sandbox.example/rooms/",
    ] {
        assert!(told.contains(words), "{words}: {task:#}");
    }
    let parts = task["artifacts"][0]["parts"].as_array().expect("parts");
    let data = parts
        .iter()
        .find(|part| part.to_string().contains("\"listings\""));
    assert!(data.is_some(), "a structured artifact beside the words: {task:#}");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_asked_for_in_the_chat_and_the_answer_goes_on() {
    let local = Local::start().await;
    let user = local.user("acme");
    let asked = user
        .chat("trip", "m1", "Find a flat for two, Friday to Sunday")
        .await;
    let task = user.until(&asked.task_id(), &["input-required"]).await;
    assert_eq!(task["agentType"], "airbnb", "{task:#}");
    let question = task["statusMessage"].as_str().unwrap_or_default();
    assert!(question.contains("In which place"), "{task:#}");
    let told = user.chat("trip", "m2", "Bergen").await;
    assert_eq!(told.task_id(), asked.task_id(), "the same task goes on");
    let task = user.until(&asked.task_id(), &["completed"]).await;
    assert!(
        task["artifacts"].to_string().contains("in Bergen, from Friday"),
        "{task:#}"
    );
    assert_ne!(task["artifacts"], json!([]));
    local.system.stop().await;
}
