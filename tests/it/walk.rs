//! The first walk: a prompt, the weather agent, the answer; over HTTP, as the page and the terminal do it.

use std::time::Duration;

use serde_json::{Value, json};
use system_testing::Local;

/// Places, days and units as people write them, and what the answer must speak of.
#[tokio::test(flavor = "multi_thread")]
async fn a_weather_prompt_becomes_a_task_and_the_answer_comes_into_the_chat() {
    let local = Local::start().await;
    let user = local.user("acme");
    for (prompt, wanted) in [
        ("Will it rain in Oslo tomorrow?", &["Oslo", "2 January"][..]),
        (
            "What is the weather in Oslo and Bergen on Saturday?",
            &["Oslo", "Bergen"],
        ),
        ("Temperature in New York today in Fahrenheit", &["New York", "°F"]),
        ("How windy will it be in Paris this weekend?", &["Paris"]),
    ] {
        let answer = user.ask(prompt).await;
        assert_eq!(answer.headers["x-vercel-ai-ui-message-stream"], "v1");
        let chunks = answer.chunks();
        assert_eq!(chunks[0]["type"], "start");
        let first_part = chunks
            .iter()
            .position(|chunk| chunk["type"] == "data-task")
            .expect("a task part");
        let first_text = chunks.iter().position(|chunk| chunk["type"] == "text-delta");
        assert!(
            first_text.is_none_or(|text| first_part < text),
            "the task part comes at once: {chunks:#?}"
        );

        let task = user.until(&answer.task_id(), &["completed"]).await;
        assert_eq!(task["agentType"], "weather");
        assert!(task["remoteTaskId"].is_string(), "linked: {task:#}");
        let result = task["artifacts"].to_string() + &task["statusMessage"].to_string() + &answer.said();
        for word in wanted {
            assert!(result.contains(word), "{prompt}: no {word:?} in {task:#}");
        }
        assert!(result.contains("sandbox"), "sandbox data is labelled: {task:#}");
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_or_ambiguous_place_gets_a_sensible_answer() {
    let local = Local::start().await;
    let user = local.user("acme");
    let answer = user.ask("Will it rain in Xyzzyville tomorrow?").await;
    let ended = ["completed", "rejected", "failed", "input-required"];
    let task = user.until(&answer.task_id(), &ended).await;
    assert!(task.to_string().contains("Xyzzyville"), "{task:#}");

    // A question back, in the chat; the next message of the chat answers it.
    let asked = user
        .chat("where", "m1", "What will the weather be tomorrow?")
        .await;
    let task = user.until(&asked.task_id(), &["input-required"]).await;
    assert!(
        task["statusMessage"]
            .as_str()
            .is_some_and(|text| text.contains('?')),
        "{task:#}"
    );
    let told = user.chat("where", "m2", "Bergen").await;
    assert_eq!(told.task_id(), asked.task_id(), "the same task goes on");
    let task = user.until(&asked.task_id(), &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("Bergen"), "{task:#}");

    // Or it is waved off, and the chat is free again.
    let asked = user
        .chat("where-else", "m1", "What will the weather be tomorrow?")
        .await;
    user.until(&asked.task_id(), &["input-required"]).await;
    user.chat("where-else", "m2", "never mind").await;
    user.until(&asked.task_id(), &["canceled"]).await;
    let next = user
        .chat("where-else", "m3", "Will it rain in Oslo tomorrow?")
        .await;
    assert_ne!(next.task_id(), asked.task_id());
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chat_keeps_its_history_and_a_repeated_post_is_the_same_task() {
    let local = Local::start().await;
    let user = local.user("acme");
    let first = user.chat("trip", "m1", "Will it rain in Oslo tomorrow?").await;
    let again = user.chat("trip", "m1", "Will it rain in Oslo tomorrow?").await;
    assert_eq!(first.task_id(), again.task_id());
    user.until(&first.task_id(), &["completed"]).await;

    let task = user.task(&first.task_id()).await;
    let context = task["contextId"].as_str().expect("a context");
    let listed = user.get(&format!("/api/tasks?contextId={context}")).await.json();
    let listed = listed["tasks"]
        .as_array()
        .or(listed.as_array())
        .expect("a list")
        .clone();
    assert_eq!(listed.len(), 1, "one task, not two: {listed:#?}");

    for _ in 0..2 {
        let messages = user.get("/api/chats/trip/messages").await.json();
        let messages = messages["messages"]
            .as_array()
            .or(messages.as_array())
            .expect("a list")
            .clone();
        let roles: Vec<&str> = messages
            .iter()
            .filter_map(|message| message["role"].as_str())
            .collect();
        assert_eq!(
            roles,
            ["user", "assistant"],
            "nobody appends twice: {messages:#?}"
        );
        let text = messages[1]["parts"].to_string();
        assert!(text.contains("Oslo") && text.contains(&first.task_id()), "{text}");
    }
    // Another guest sees nothing of it.
    let stranger = local.user("acme");
    stranger.ask("hello").await;
    for path in [
        "/api/chats/trip/messages",
        &format!("/api/tasks/{}", first.task_id()),
    ] {
        assert_eq!(stranger.get(path).await.status, 404, "{path}");
    }
    let elsewhere = local.user("globex");
    elsewhere.ask("hello").await;
    assert_eq!(
        elsewhere
            .get(&format!("/api/tasks/{}", first.task_id()))
            .await
            .status,
        404
    );
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn how_is_my_task_doing_in_words_and_by_api() {
    let local = Local::start().await;
    let user = local.user("acme");
    let first = user.chat("c", "m1", "Will it rain in Oslo tomorrow?").await;
    let id = first.task_id();
    user.until(&id, &["completed"]).await;
    let asked = user.chat("c", "m2", &format!("How is my task {id} doing?")).await;
    let status = user.until(&asked.task_id(), &["completed"]).await;
    let said = status.to_string();
    assert!(
        said.contains("completed") || said.contains("done") || said.contains("finished"),
        "{status:#}"
    );
    let refreshed = user.get(&format!("/api/tasks/{id}?refresh=true")).await.json();
    assert_eq!(refreshed["status"], "completed");

    // Somebody else's task is nobody's.
    let stranger = local.user("acme");
    let asked = stranger.ask(&format!("How is my task {id} doing?")).await;
    let answer = stranger
        .until(&asked.task_id(), &["completed", "rejected", "failed"])
        .await;
    assert!(
        !answer.to_string().contains("Oslo"),
        "nothing of the other's task is said: {answer:#}"
    );
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_task_can_be_followed_and_resumed() {
    let local = Local::start().await;
    let user = local.user("acme");
    let id = user.ask("Will it snow in Tromsø tomorrow?").await.task_id();
    user.until(&id, &["completed"]).await;
    let all = user.get(&format!("/api/tasks/{id}/events")).await;
    assert_eq!(all.status, 200);
    let ids: Vec<u64> = all
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("id:"))
        .filter_map(|id| id.trim().parse().ok())
        .collect();
    assert!(ids.len() >= 3 && ids.is_sorted(), "{}", all.text);
    assert!(all.text.contains("completed"));
    for secret in ["webhook", "\"hash\"", "sealed"] {
        assert!(!all.text.contains(secret), "{secret} in {}", all.text);
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_wake_and_an_ended_lease_are_found_by_the_sweeper() {
    let local = Local::start().await;
    let user = local.user("acme");
    // The queues lose everything; the table does not.
    local.system.lose_wakes(true);
    let id = user.begin("Will it rain in Oslo tomorrow?").await;
    assert_eq!(user.task(&id).await["status"], "submitted");
    local.system.lose_wakes(false);
    for _ in 0..20 {
        local.advance(Duration::from_secs(40)).await;
        if user.task(&id).await["status"] == "completed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let task = user.until(&id, &["completed"]).await;
    assert_eq!(task["agentType"], "weather");
    local.system.stop().await;
}

/// H8: any A2A client can use the host like a model; JSON-RPC of both generations, REST, `/jsonrpc`.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_an_a2a_agent_of_both_generations() {
    let local = Local::start().await;
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let http = system_testing::user::http();
    let card: Value = http
        .get(format!("{host}/.well-known/agent-card.json"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(card["supportedInterfaces"][0]["protocolBinding"], "JSONRPC");
    assert_eq!(
        card["protocolVersion"], "0.3.0",
        "a 0.3 client reads the same document"
    );

    let token = local.system.token("acme", "somebody", &host).expect("a token");
    let call = |path: &str, version: Option<&str>, body: Value| {
        let mut request = http
            .post(format!("{host}{path}"))
            .bearer_auth(&token)
            .header("content-type", "application/json");
        if let Some(version) = version {
            request = request.header("a2a-version", version);
        }
        request.body(body.to_string()).send()
    };
    let part = json!([{ "text": "Will it rain in Oslo tomorrow?" }]);
    let v1 = json!({ "message": { "messageId": "a", "role": "ROLE_USER", "parts": part }, "configuration": { "returnImmediately": true } });
    let rpc = |method: &str, params: &Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    for path in ["", "/", "/jsonrpc"] {
        let answer: Value = call(path, Some("1.0"), rpc("SendMessage", &v1))
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        assert_eq!(
            answer["result"]["task"]["status"]["state"]
                .as_str()
                .map(|s| s.starts_with("TASK_STATE_")),
            Some(true),
            "{path}: {answer:#}"
        );
    }
    let v03 = json!({ "message": { "kind": "message", "messageId": "b", "role": "user", "parts": [{ "kind": "text", "text": "Will it rain in Oslo tomorrow?" }] }, "configuration": { "blocking": true } });
    let answer: Value = call("", None, rpc("message/send", &v03))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(answer["result"]["kind"], "task", "{answer:#}");
    assert_eq!(
        answer["result"]["status"]["state"], "completed",
        "a blocking send waits: {answer:#}"
    );
    let id = answer["result"]["id"].as_str().unwrap().to_owned();

    let got: Value = call("", Some("1.0"), rpc("GetTask", &json!({ "id": id })))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(
        got["result"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{got:#}"
    );
    let rest = http
        .get(format!("{host}/tasks/{id}"))
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    assert_eq!(rest.status(), 200);
    let rest = http
        .get(format!("{host}/v1/tasks/{id}"))
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    // 0.3 over REST is ProtoJSON, as its SDKs read it.
    assert_eq!(
        rest.json::<Value>().await.unwrap()["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    let sent = call("/message:send", Some("1.0"), v1.clone()).await.unwrap();
    assert_eq!(sent.status(), 200);

    // Another owner and another tenant find nothing; no token gets nowhere.
    let other = local
        .system
        .token("acme", "somebody-else", &host)
        .expect("a token");
    assert_eq!(
        http.get(format!("{host}/tasks/{id}"))
            .bearer_auth(&other)
            .send()
            .await
            .unwrap()
            .status(),
        404
    );
    assert_eq!(
        http.get(format!("{host}/tasks/{id}"))
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
    let globex = local.system.token("globex", "somebody", &host).expect("a token");
    let refused = http
        .get(format!("{host}/tasks/{id}"))
        .bearer_auth(&globex)
        .send()
        .await
        .unwrap();
    assert!([401, 403].contains(&refused.status().as_u16()), "{refused:?}");
    local.system.stop().await;
}
