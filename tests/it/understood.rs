//! What people say, understood by the model of sentences: the whole system with the engine in it. `tests/run tools` fetches
//! the model before; whoever runs these tests alone waits for it once.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use system_testing::{Local, User};

/// What a prompt's task shows: its state, and what it says to its user.
async fn becomes(user: &User, prompt: &str, states: &[&str]) -> String {
    let task = user.ask(prompt).await.task_id();
    user.until(&task, states).await.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_understood_in_words_that_no_card_has() {
    let local = Local::start().await;
    let user = local.user("acme");
    for prompt in [
        "Will it be warmer in Madrid or in Athens this weekend",
        "do i need my wellies in Glasgow tomorrow",
        "¿me llevo el paraguas mañana en Bilbao?",
        "明日の札幌は傘が要りますか",
    ] {
        let task = becomes(&user, prompt, &["completed", "input-required"]).await;
        assert!(task.contains(r#""agentType":"weather""#), "{prompt}: {task}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_of_thanks_is_answered_in_its_own_language() {
    let local = Local::start().await;
    let user = local.user("acme");
    for (thanks, answer) in [
        ("danke", "Gern geschehen."),
        ("gracias", "De nada."),
        ("ありがとう", "どういたしまして"),
        ("thanks", "You are welcome."),
    ] {
        let said = user.ask(thanks).await.said();
        assert!(said.contains(answer), "{thanks}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pasted_behind_a_request_asks_for_nothing_itself() {
    let local = Local::start().await;
    let user = local.user("acme");
    let text = "Whales are mammals that live in the sea and breathe air. The blue whale is the largest of them all, as long as three \
                buses. Many whales live in groups and speak to each other over many miles of water. They eat krill and fish.";
    let done = becomes(&user, &format!("Summarise this: {text}"), &["completed"]).await;
    assert!(
        done.contains("From your text") && !done.contains("Accommodation"),
        "{done}"
    );
    let said = user
        .ask(&format!("Translate this to French: {text}"))
        .await
        .said();
    assert!(said.contains("I cannot do that here"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_destroys_or_depends_on_something_is_asked_about_before_anything_is_sent() {
    let local = Local::start().await;
    let user = local.user("acme");
    for (prompt, says) in [
        (
            "Is it going to snow in Innsbruck on Saturday? If so, find me a hotel there for two",
            "nothing is done yet",
        ),
        (
            "if it rains in Oslo on Sunday, write a report about umbrellas",
            "nothing is done yet",
        ),
        (
            "Wenn es am Samstag in Graz schneit, such mir dort ein Zimmer für zwei",
            "noch nichts geschehen",
        ),
    ] {
        let task = user.ask(prompt).await.task_id();
        let asked = user.until(&task, &["input-required"]).await;
        assert!(asked.to_string().contains(says), "{prompt}: {asked}");
        assert_eq!(asked.get("jobs").unwrap_or(&json!([])), &json!([]), "{prompt}");
    }
    for prompt in ["delete my account", "wire 500 euros to Bob"] {
        let said = user.ask(prompt).await.said();
        assert!(said.contains("I cannot do that here"), "{prompt}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_yes_to_the_question_has_it_sent() {
    let local = Local::start().await;
    let user = local.user("acme");
    let id = "one";
    let asked = user
        .chat(
            "chat-if",
            id,
            "if it rains in Oslo on Sunday tell me how warm it gets",
        )
        .await
        .task_id();
    user.until(&asked, &["input-required"]).await;
    user.chat("chat-if", "two", "yes").await;
    let done = user.until(&asked, &["completed"]).await;
    assert!(done.to_string().contains(r#""agentType":"weather""#), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_instead_calls_off_what_was_asked_before_and_one_more_question_does_not() {
    let local = Local::start().await;
    let user = local.user("acme");
    let asked = user
        .chat("c", "m1", "Write a report about whales")
        .await
        .task_id();
    user.until(&asked, &["working"]).await;
    let instead = user.chat("c", "m2", "no, I meant a report about beavers").await;
    assert!(
        instead.said().contains("That is instead of"),
        "{}",
        instead.said()
    );
    user.until(&asked, &["canceled"]).await;
    let other = user.chat("c", "m3", "and a report about otters").await;
    assert_ne!(
        user.task(&instead.task_id()).await["status"],
        "canceled",
        "{}",
        other.said()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_of_what_is_said_has_a_fate_that_is_shown() {
    let local = Local::start().await;
    let user = local.user("acme");
    let fates = |task: &Value| -> Vec<(String, String)> {
        let clauses = task["clauses"].as_array().expect("several parts");
        let text = |clause: &Value, name: &str| clause[name].as_str().expect("text").to_owned();
        clauses
            .iter()
            .map(|clause| (text(clause, "fate"), text(clause, "said")))
            .collect()
    };
    let said = "Weather in Bergen tomorrow and a flat in Oslo for two in December and sing me a song";
    let task = user.ask(said).await.task_id();
    let task = user.until(&task, &["input-required"]).await;
    let shown = fates(&task);
    let kinds: Vec<&str> = shown.iter().map(|(fate, _)| fate.as_str()).collect();
    assert_eq!(kinds, ["sent", "sent", "refused"], "{shown:?}");
    let together: Vec<&str> = shown.iter().map(|(_, said)| said.as_str()).collect();
    assert_eq!(together.join(" "), said, "no word is lost");
    assert_eq!(
        task["clauses"][0]["agents"][0],
        json!({"agentType": "weather", "agentName": "Weather", "state": "completed"})
    );
    assert_eq!(task["clauses"][1]["agents"][0]["state"], "input-required");

    let report = user
        .chat("c", "m1", "Write a report about whales")
        .await
        .task_id();
    user.until(&report, &["working"]).await;
    let both = user
        .chat("c", "m2", "cancel the report, and will it rain in Oslo tomorrow?")
        .await;
    let task = user.until(&both.task_id(), &["completed"]).await;
    let shown = fates(&task);
    let kinds: Vec<&str> = shown.iter().map(|(fate, _)| fate.as_str()).collect();
    assert_eq!(kinds, ["done", "sent"], "{shown:?}");
    // One part needs no list of its parts.
    let alone = user.ask("Will it rain in Oslo tomorrow?").await.task_id();
    assert_eq!(user.until(&alone, &["completed"]).await["clauses"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_asks_for_is_shown_as_a_form_and_sent_as_data() {
    let local = Local::start().await;
    let user = local.user("acme");
    let asked = user.chat("c", "m1", "Write a report for me").await.task_id();
    let task = user.until(&asked, &["input-required"]).await;
    assert_eq!(task["form"]["required"], json!(["topic"]), "{task:#}");
    let filled = |id: &str, data: Value, task: Option<&str>| {
        let parts = json!([{"type": "text", "text": "Topic: whales"}, {"type": "data-form", "data": data}]);
        json!({"id": "c", "taskId": task, "message": {"id": id, "role": "user", "parts": parts}})
    };
    // What is no object, what is too large, and what answers nothing is refused and changes nothing.
    for wrong in [
        filled("m2", json!("whales"), Some(&asked)),
        filled("m2", json!({"topic": "x".repeat(5_000)}), Some(&asked)),
        filled("m2", json!({"topic": "whales"}), None),
    ] {
        let refused = user.call(Method::POST, "/api/chat", Some(wrong)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    }
    let body = filled("m2", json!({"topic": "whales"}), Some(&asked));
    let answer = user.call(Method::POST, "/api/chat", Some(body)).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let task = user.until(&asked, &["working", "completed"]).await;
    assert_eq!(task["form"], Value::Null);
    assert!(task["statusMessage"].to_string().contains("whales"), "{task:#}");
    // The chat keeps the words of it.
    let messages = user.get("/api/chats/c/messages").await.json();
    assert!(messages.to_string().contains("Topic: whales"), "{messages}");
}
