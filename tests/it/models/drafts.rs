//! Words as they come: on the page before the model has ended, with whatever breaks in between, and once in the chat.

use std::time::Instant;

use serde_json::{Value, json};
use system_testing::User;
use system_testing::binary::{Up, free_port};
use system_testing::models::{BOTH, Piece, Stop};

use super::walk::system;
use super::*;
use crate::scripted::Scripted;

const PROMPT: &str = "Brauche ich einen Schirm?";
/// The running answer of the chat that is called `c`.
const RUNNING: &str = "/api/chat/c/stream";

/// An answer with a pause between its halves, and one before its end.
fn slowly(dialect: Dialect, text: &str, pause: Duration) -> Reply {
    let mut pieces: Vec<Piece> = dialect.text(text).into_iter().map(Piece::Bytes).collect();
    pieces.insert(2, Piece::Pause(pause));
    pieces.push(Piece::Pause(pause));
    pieces.extend(dialect.stop(Stop::Said).into_iter().map(Piece::Bytes));
    pieces.push(Piece::End);
    Reply::Stream {
        content_type: dialect.content_type(),
        pieces,
    }
}

/// The first half of an answer, and then this.
fn begun(dialect: Dialect, text: &str, then: Piece) -> Reply {
    let begun = dialect.text(text).into_iter().take(2);
    Reply::Stream {
        content_type: dialect.content_type(),
        pieces: begun.map(Piece::Bytes).chain([then]).collect(),
    }
}

/// The texts of a stream, a part each, as far as they have come.
fn parts(chunks: &[(Instant, Value)]) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (_, chunk) in chunks {
        let id = chunk["id"].as_str().unwrap_or_default();
        match chunk["type"].as_str() {
            Some("text-start") => parts.push((id.to_owned(), String::new())),
            Some("text-delta") => {
                let (_, text) = parts.iter_mut().find(|(known, _)| known == id).unwrap();
                text.push_str(chunk["delta"].as_str().unwrap());
            }
            _ => {}
        }
    }
    parts
}

fn texts(chunks: &[(Instant, Value)]) -> Vec<String> {
    parts(chunks).into_iter().map(|(_, text)| text).collect()
}

fn is_delta(chunk: &Value) -> bool {
    chunk["type"] == "text-delta"
}

/// The texts of the chat's answers as they are read again.
async fn read_again(user: &User, chat: &str) -> Vec<String> {
    let messages = user.get(&format!("/api/chats/{chat}/messages")).await.json();
    let answers = messages.as_array().unwrap().iter();
    let parts = answers
        .filter(|message| message["role"] == "assistant")
        .flat_map(|message| message["parts"].as_array().unwrap());
    let texts = parts.filter(|part| part["type"] == "text");
    texts
        .map(|part| part["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_on_the_page_before_the_model_has_ended() {
    let text = "Morgen bleibt es in Oslo trocken, soweit man das heute sagen kann.";
    for dialect in BOTH {
        let server = ModelServer::start([slowly(dialect, text, Duration::from_millis(1_200))]).await;
        let local = system(dialect, &server, false).await;
        let user = local.user("acme");
        let chunks = user.chat_as_it_comes(("c", "m", PROMPT), |_| false).await;
        assert_eq!(
            texts(&chunks),
            [text],
            "one part, which the answer ends: {chunks:#?}"
        );
        let deltas: Vec<_> = chunks.iter().filter(|(_, chunk)| is_delta(chunk)).collect();
        let (first, last) = (deltas.first().unwrap(), chunks.last().unwrap());
        assert!(
            deltas.len() >= 2 && last.0 - first.0 > Duration::from_secs(1),
            "{deltas:#?}"
        );
        let asked = server.asked();
        let shown = first.0 - asked[0].at;
        assert!(
            shown < Duration::from_millis(900),
            "{dialect:?}: the first word came after {shown:?}"
        );
        assert_eq!(asked.len(), 1);
        assert_eq!(read_again(&user, "c").await, [text]);
        local.system.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_attempt_is_another_part_and_the_stored_answer_is_there_once() {
    for dialect in BOTH {
        // The first breaks off; the last word of the second is told by the stored answer alone.
        let server = ModelServer::start([
            begun(
                dialect,
                "Es wird regnen, und zwar sehr.",
                Piece::Pause(Duration::from_millis(900)),
            ),
            slowly(dialect, "Es bleibt trocken.", Duration::from_millis(700)),
        ])
        .await;
        let local = system(dialect, &server, false).await;
        let user = local.user("acme");
        let chunks = user.chat_as_it_comes(("c", "m", PROMPT), |_| false).await;
        assert_eq!(
            texts(&chunks),
            ["Es wird regnen,", "Es bleibt trocken."],
            "{chunks:#?}"
        );
        let ends = chunks
            .iter()
            .filter(|(_, chunk)| chunk["type"] == "text-end")
            .count();
        assert_eq!(ends, 2);
        assert_eq!(read_again(&user, "c").await, ["Es bleibt trocken."]);
        local.system.stop().await;
    }
}

/// The agent takes longer than the page's own stream lasts.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_shows_between_the_entries_of_its_tasks_log() {
    let dialect = Dialect::OpenAi;
    let text = "Auf Lager sind noch neun St\u{fc}ck.";
    let server = ModelServer::start([
        dialect.sends(&[("stocktake", "How many are left?")]),
        slowly(dialect, text, Duration::from_millis(800)),
    ])
    .await;
    let local = system(dialect, &server, false).await;
    let agent = Scripted::start(&local, "stocktake", "Count the stock of the warehouse").await;
    let user = local.user("acme");
    let answer = user.chat("c", "m", "Wie viele sind noch da?").await;
    assert!(
        answer.said().contains("stocktake hat angefangen"),
        "{}",
        answer.said()
    );
    let events = format!("/api/tasks/{}/events", answer.task_id());
    let (told, ()) = tokio::join!(user.follow(&events, |_| false), async {
        let sent = agent.nth(1).await;
        agent
            .reports(&sent, "TASK_STATE_COMPLETED", None, Some("nine"))
            .await;
    });
    let place = |fits: &dyn Fn(&Value) -> bool| told.iter().position(|(_, event)| fits(event)).unwrap();
    let draft = place(&|event| event["type"] == "draft");
    let done = place(&|event| event["state"] == "completed");
    assert!(
        draft < done && told[done].0 - told[draft].0 > Duration::from_millis(500),
        "{told:#?}"
    );
    assert!(
        text.starts_with(told[draft].1["text"].as_str().unwrap()),
        "{told:#?}"
    );
    assert!(told[draft].1["seq"].is_null());
    assert_eq!(read_again(&user, "c").await, [text]);
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ai_packages_own_parser_reads_words_as_they_come() {
    let dialect = Dialect::OpenAi;
    let text = "Morgen bleibt es in Oslo trocken.";
    let server = ModelServer::start([
        dialect.sends(&[("weather", "Will it rain in Oslo tomorrow?")]),
        slowly(dialect, text, Duration::from_millis(600)),
    ])
    .await;
    let local = system(dialect, &server, false).await;
    let ran = tokio::process::Command::new("node")
        .arg(system_testing::folder().join("js/check-chat.mjs"))
        .args([local.endpoint("/tenants/acme/base"), PROMPT])
        .output()
        .await
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let message: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let parts = message["parts"].as_array().unwrap().iter();
    let texts: Vec<&Value> = parts.filter(|part| part["type"] == "text").collect();
    assert_eq!(texts.len(), 1, "{message:#}");
    assert_eq!(
        (&texts[0]["text"], &texts[0]["state"]),
        (&json!(text), &json!("done"))
    );
    local.system.stop().await;
}

/// Any A2A client may name the extension; its stream follows a worker of the host's queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_the_host_sees_words_in_its_stream_where_it_names_the_extension() {
    let dialect = Dialect::Bedrock;
    let text = "Morgen bleibt es in Oslo trocken.";
    let server = ModelServer::start([slowly(dialect, text, Duration::from_millis(600))]).await;
    let local = system(dialect, &server, false).await;
    let host = local.endpoint("/tenants/acme/host_agent").to_owned();
    let token = local.system.token("acme", "ada", &host).unwrap();
    let http = system_testing::user::http();
    let card = http.get(format!(
        "{}/.well-known/agent-card.json",
        host.trim_end_matches('/')
    ));
    let card: Value = card
        .header("a2a-version", "1.0")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let extensions = card["capabilities"]["extensions"].as_array().expect("extensions");
    let named = extensions.iter().any(|known| known["uri"] == a2a::DRAFTS);
    assert!(named, "{card:#}");
    let call = |method: &str, id: &str, extension: &str| {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": PROMPT}]});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}});
        let call = http.post(&host).bearer_auth(&token).header("a2a-version", "1.0");
        let sent = call.header("a2a-extensions", extension).json(&body).send();
        async move { sent.await.unwrap().text().await.unwrap() }
    };
    for (id, extension, named) in [("m-1", a2a::DRAFTS, true), ("m-2", "urn:x:other", false)] {
        let told = call("SendStreamingMessage", id, extension).await;
        let frames: Vec<&str> = told
            .split("\n\n")
            .filter(|frame| frame.contains("data: "))
            .collect();
        let drafts = frames.iter().filter(|frame| frame.contains(a2a::DRAFTS)).count();
        assert_eq!(drafts > 0, named, "{told}");
        let last = frames.last().unwrap();
        assert!(
            last.contains("TASK_STATE_COMPLETED") && last.contains(text),
            "{told}"
        );
    }
    let waited = call("SendMessage", "m-3", a2a::DRAFTS).await;
    assert!(waited.contains(text) && !waited.contains(a2a::DRAFTS), "{waited}");
    assert_eq!(server.asked().len(), 3);
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_hangs_up_on_the_model_and_ends_the_task_within_a_second() {
    for dialect in BOTH {
        let server = ModelServer::start([begun(dialect, "Es wird regnen, sehr.", Piece::Hang)]).await;
        let local = system(dialect, &server, false).await;
        let user = local.user("acme");
        let begun = user.chat_as_it_comes(("c", "m", PROMPT), is_delta).await;
        assert_eq!(texts(&begun), ["Es wird re"], "{begun:#?}");
        let task = begun[0].1["messageMetadata"]["taskId"]
            .as_str()
            .unwrap()
            .to_owned();
        // Nobody else sees the words: for them there is no such chat, and no running answer.
        for stranger in [local.user("acme"), local.user("globex")] {
            assert!(stranger.follow(RUNNING, |_| true).await.is_empty());
            let events = format!("/api/tasks/{task}/events");
            assert!(stranger.follow(&events, |_| true).await.is_empty());
            assert_eq!(stranger.get(&format!("/api/tasks/{task}")).await.status, 404);
        }
        assert_eq!((server.asked().len(), server.left()), (1, 0));
        let said = Instant::now();
        let stopped = user
            .call(reqwest::Method::POST, "/api/chat/c/stop", Some(json!({})))
            .await;
        assert!(stopped.status.is_success(), "{stopped:?}");
        assert_eq!(user.task(&task).await["status"], "canceled");
        while server.left() == 0 {
            assert!(
                said.elapsed() < Duration::from_secs(1),
                "{dialect:?}: it is still asked"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!read_again(&user, "c").await.concat().contains("regnen"));
        assert_eq!(server.asked().len(), 1, "it is not asked again");
        local.system.stop().await;
    }
}

/// As long as the killed worker's lease holds, nobody goes on: that is the time this takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_as_it_speaks_speaks_anew_and_the_answer_is_there_once() {
    let dialect = Dialect::OpenAi;
    let server = ModelServer::start([
        begun(dialect, "Es wird regnen, sehr.", Piece::Hang),
        slowly(dialect, "Es bleibt trocken.", Duration::from_secs(1)),
        slowly(dialect, "Nein, heute nicht mehr.", Duration::from_secs(1)),
    ])
    .await;
    let (data, port) = (tempfile::tempdir().unwrap(), free_port());
    let model = format!("openai:{}v1,scripted", server.url());
    let mut up = Up::start_more(data.path(), port, &["--model", &model]);
    let user = User::new(up.base("acme"));
    let begun = user.chat_as_it_comes(("c", "m", PROMPT), is_delta).await;
    assert_eq!(texts(&begun), ["Es wird re"], "{begun:#?}");
    up.kill();
    up = Up::start_more(data.path(), port, &["--model", &model]);
    let chunks = user.follow(RUNNING, |_| false).await;
    let (first, second) = match parts(&chunks).as_slice() {
        [first, second] => (first.clone(), second.clone()),
        others => panic!("{others:?}"),
    };
    assert_eq!(
        (first.1.as_str(), second.1.as_str()),
        ("Es wird re", "Es bleibt trocken.")
    );
    let deltas = chunks
        .iter()
        .filter(|(_, chunk)| chunk["id"] == second.0.as_str() && is_delta(chunk));
    assert!(deltas.count() >= 2, "word by word, also after that: {chunks:#?}");
    assert_eq!(read_again(&user, "c").await, ["Es bleibt trocken."]);
    assert_eq!(server.asked().len(), 2, "model calls: turns and kills");
    in_a_terminal(data.path()).await;
    assert_eq!(up.terminate(), Some(0));
}

/// The terminal shows the words as they come as well, and each once.
async fn in_a_terminal(data: &std::path::Path) {
    use tokio::io::AsyncReadExt as _;
    let mut chat = tokio::process::Command::new(system_testing::binary::path("switchyard"))
        .args(["chat", "--tenant", "acme", "--new", "--data"])
        .arg(data)
        .arg(PROMPT)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = chat.stdout.take().unwrap();
    let (mut said, mut first, mut bytes) = (String::new(), None, [0; 4096]);
    loop {
        let count = shown.read(&mut bytes).await.unwrap();
        if count == 0 {
            break;
        }
        said.push_str(&String::from_utf8_lossy(&bytes[..count]));
        if said.contains("Nein") {
            first.get_or_insert_with(Instant::now);
        }
    }
    assert!(chat.wait().await.unwrap().success(), "{said}");
    assert!(said.contains("Nein, heute nicht mehr.\n"), "{said}");
    assert_eq!(said.matches("Nein").count(), 1, "{said}");
    assert!(
        first.unwrap().elapsed() > Duration::from_secs(1),
        "as it came: {said}"
    );
}
