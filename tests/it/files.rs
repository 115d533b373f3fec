//! What a user attaches goes to the agents that take it; who does not take it is named in the answer.

use std::time::Instant;

use reqwest::Method;
use serde_json::{Value, json};
use system_testing::{Local, User};

use crate::scripted::{Scripted, pattern};

const PICTURE: &str = "iVBORw0KGgo=";

/// By the chat's route, as a page sends it.
async fn in_the_chat(user: &User, prompt: &str) -> String {
    let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
    let parts = json!([
        {"type": "text", "text": prompt},
        {"type": "file", "mediaType": "image/png", "filename": "sky.png", "url": format!("data:image/png;base64,{PICTURE}")},
    ]);
    let message = json!({"id": id, "role": "user", "parts": parts});
    let body = json!({"id": format!("chat-{id}"), "trigger": "submit-message", "message": message});
    let answer = user.call(Method::POST, "/api/chat", Some(body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.task_id()
}

/// By A2A, as any other client does.
async fn by_a2a(local: &Local, prompt: &str) -> String {
    let url = local.endpoint("/tenants/acme/host_agent");
    let token = local.system.token("acme", "ada", url).unwrap();
    let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
    let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [
        {"text": prompt}, {"raw": PICTURE, "mediaType": "image/png", "filename": "sky.png"}]});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let request = system_testing::user::http().post(url).bearer_auth(token);
    let answer = request.header("a2a-version", "1.0").json(&call).send().await;
    let answer: Value = answer.unwrap().json().await.unwrap();
    let result = &answer["result"];
    let said = match result.get("message") {
        Some(message) => message,
        None => &result["task"]["status"]["message"],
    };
    said["parts"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:#}"))
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_an_agent_does_not_take_is_named_in_its_answer() {
    const LEFT_OUT: &str = "Weather takes no such files: sky.png left out.";
    let local = Local::start().await;
    let user = local.user("acme");
    let task = in_the_chat(&user, "Will it rain in Oslo tomorrow?").await;
    let done = user.until(&task, &["completed"]).await;
    let said = done["statusMessage"].as_str().unwrap_or_default();
    assert!(said.contains("Oslo") && said.ends_with(LEFT_OUT), "{done:#}");

    let said = by_a2a(&local, "Will it rain in Bergen tomorrow?").await;
    assert!(said.contains("Bergen") && said.ends_with(LEFT_OUT), "{said}");

    // Nobody takes it and nobody is asked: that is said too.
    let said = by_a2a(&local, "Thank you").await;
    assert!(said.contains("file"), "{said}");

    // For what it does not take nobody's consent is asked, and that is said in their language.
    let task = in_the_chat(&user, "Wo ist meine Bestellung 1003?").await;
    let done = user.until(&task, &["completed", "failed", "rejected"]).await;
    let said = done["statusMessage"].as_str().unwrap_or_default();
    assert!(said.contains("nimmt solche Dateien nicht an"), "{done:#}");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_to_an_agent_that_takes_it_as_it_was() {
    let local = Local::start().await;
    let printer = Scripted::start(&local, "printer", "Print this picture").await;
    let user = local.user("acme");
    let task = in_the_chat(&user, "Print this picture").await;
    let sent = printer.nth(1).await;
    let file = &sent.parts[1];
    assert_eq!(file["raw"], PICTURE, "{:#}", sent.parts);
    assert_eq!(
        (&file["filename"], &file["mediaType"]),
        (&json!("sky.png"), &json!("image/png"))
    );
    let print = json!({"raw": "JVBERi0xLjcK", "mediaType": "application/pdf", "filename": "Übung.pdf"});
    printer.brings(&sent, json!([{"text": "Printed."}, print])).await;
    let done = user.until(&task, &["completed"]).await;
    assert!(!done.to_string().contains("left out"), "{done:#}");

    // The result is told with its file's size and place, which is its owner's alone.
    let print = &done["artifacts"][0]["parts"][1];
    assert_eq!((&print["bytes"], print.get("raw")), (&json!(9), None), "{print}");
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let at = print["url"]
        .as_str()
        .unwrap()
        .strip_prefix(&base)
        .unwrap()
        .to_owned();
    let back = user.get(&at).await;
    assert_eq!((back.status.as_u16(), back.text.as_str()), (200, "%PDF-1.7\n"));
    for (name, value) in [
        ("content-type", "application/pdf"),
        (
            "content-disposition",
            "attachment; filename*=UTF-8''%C3%9Cbung%2Epdf",
        ),
        (
            "content-security-policy",
            "default-src 'none'; sandbox; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(back.headers[name], value, "{name}");
    }
    let of_task = |place: &str| format!("/api/tasks/{task}/files/{place}");
    assert_eq!(
        user.get(&of_task("0.0.1")).await.text,
        back.text,
        "as its job has it"
    );
    for missing in [
        "0.0",
        "0.2",
        "1.0",
        "0.1.0",
        "1.0.1",
        "0",
        "",
        "0.0.0.1",
        "-1.0",
        "a.b",
        "0.18446744073709551616",
    ] {
        assert_eq!(
            user.get(&of_task(missing)).await.status.as_u16(),
            404,
            "{missing}"
        );
    }
    let stranger = local.user("acme");
    stranger.ask("Hello").await;
    assert_eq!(stranger.get(&at).await.status.as_u16(), 404);
    local.system.stop().await;
}

/// What of this process lies in memory, and the most of it since it was last asked, in bytes.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let kilobytes: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
        kilobytes * 1024
    };
    let told = (of("VmRSS:"), of("VmHWM:"));
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    told
}

/// The whole system, the agent and the client are one process here: all of them together may take this much more than before.
/// Whoever held the file whole, in base64 and decoded, would take 117 MB.
const MEMORY_MAX: u64 = 100 * 1024 * 1024;
const LARGEST: usize = 50 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_result_of_fifty_megabytes_comes_through_and_nobody_holds_it() {
    let local = Local::start().await;
    let maps = Scripted::start(&local, "map", "Draw a map of the fjord").await;
    let user = local.user("acme");
    for (number, more) in [(1, false), (2, true)] {
        let task = user.begin("Draw a map of the fjord").await;
        let sent = maps.nth(number).await;
        maps.has_files(if more { &[LARGEST, 3_000_000] } else { &[LARGEST] });
        let (before, _) = resident();
        let begun = Instant::now();
        maps.reports(&sent, "TASK_STATE_COMPLETED", None, None).await;
        let done = user.until(&task, &["completed", "failed"]).await;
        let (_, most) = resident();
        println!(
            "in: {:?}, {} MB more",
            begun.elapsed(),
            most.saturating_sub(before) >> 20
        );
        assert!(
            most.saturating_sub(before) < MEMORY_MAX,
            "{before} before, {most} at most"
        );
        // Where there is too much the rest is kept, and that is said.
        let said = done["statusMessage"].as_str().unwrap_or_default();
        assert_eq!(
            done["status"],
            if more { "failed" } else { "completed" },
            "{said}"
        );
        assert_eq!(said.contains("1.bin (3.0 MB)"), more, "{said}");
        assert!(done.to_string().len() < 50_000);
        let results = [&done["artifacts"], &done["jobs"][0]["artifacts"]];
        let parts = results
            .iter()
            .find_map(|found| found[0]["parts"].as_array().filter(|parts| !parts.is_empty()));
        let parts = parts.unwrap_or_else(|| panic!("{done:#}"));
        assert_eq!(
            (parts.len(), &parts[0]["bytes"]),
            (2, &json!(LARGEST)),
            "{done:#}"
        );
        assert_eq!(parts[1]["text"], "That is all of it.");

        let url = parts[0]["url"].as_str().unwrap();
        let get = system_testing::user::http()
            .get(url)
            .header("cookie", user.cookie().unwrap());
        let (mut answer, begun, pattern) = (get.send().await.unwrap(), Instant::now(), pattern());
        assert_eq!(
            (answer.status().as_u16(), answer.content_length()),
            (200, Some(LARGEST as u64))
        );
        let mut at = 0;
        while let Some(chunk) = answer.chunk().await.unwrap() {
            let same = chunk
                .iter()
                .zip(pattern.iter().cycle().skip(at % pattern.len()))
                .all(|(one, two)| one == two);
            assert!(same, "at {at}");
            at += chunk.len();
        }
        assert_eq!(at, LARGEST);
        let (_, most) = resident();
        println!(
            "out: {:?}, {} MB more",
            begun.elapsed(),
            most.saturating_sub(before) >> 20
        );
        assert!(
            most.saturating_sub(before) < MEMORY_MAX,
            "{before} before, {most} at most"
        );
    }
    local.system.stop().await;
}
