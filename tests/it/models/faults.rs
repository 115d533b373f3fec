//! Every fault, of both dialects: one outcome each, and nothing of an answer that did not end.

use std::io::Write;
use std::sync::Mutex;

use domain::TokenUsage;
use llm::Tool;
use serde_json::json;
use system_testing::models::{BOTH, Piece, Stop, Trouble};
use tracing_subscriber::fmt::MakeWriter;

use super::*;

const OSLO: &str = r#"{"agent_type": "weather", "message": "Regnet det i Tromsø? é"}"#;

/// A log in hand.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A stream that ends as `end` has it.
fn stream(dialect: Dialect, events: &[Vec<u8>], end: impl IntoIterator<Item = Piece>) -> Reply {
    Reply::Stream {
        content_type: dialect.content_type(),
        pieces: events.iter().cloned().map(Piece::Bytes).chain(end).collect(),
    }
}

fn called(dialect: Dialect, calls: &[(&str, &str, &str)]) -> Vec<Vec<u8>> {
    let numbered = calls.iter().enumerate();
    numbered
        .flat_map(|(place, (id, name, arguments))| dialect.call(place, (id, name), arguments))
        .collect()
}

/// One reply for ever; the outcome, how often it was asked, and what its draft saw.
async fn outcome(dialect: Dialect, reply: Reply) -> (String, usize, String) {
    let asker = Asker::of(dialect, vec![reply]).await;
    let (answer, shown) = asker.step().await;
    if let Err(error) = &answer {
        let told = format!("{error} {error:?}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    (line(&answer), asker.server.asked().len(), shown)
}

#[tokio::test]
async fn a_whole_answer_is_taken_and_what_it_took_is_counted() {
    for dialect in BOTH {
        let asker = Asker::of(dialect, vec![dialect.says("Det blir sol i Tromsø.")]).await;
        let (answer, shown) = asker.step().await;
        let answer = answer.unwrap();
        assert_eq!(answer.step, Step::Say("Det blir sol i Tromsø.".into()));
        let usage = TokenUsage {
            input: 100,
            output: 20,
            cached: 60,
        };
        assert_eq!((answer.usage, answer.is_cut), (usage, false), "{dialect:?}");
        assert!(answer.model.ends_with(":scripted"));
        assert_eq!(shown, "|1:Det blir sol i Tromsø.");

        let events = [
            dialect.text("Let me see."),
            called(dialect, &[("a", "send_message", OSLO)]),
            dialect.stop(Stop::Called),
        ];
        let asker = Asker::of(dialect, vec![dialect.stream(events.concat())]).await;
        let answer = asker.step().await.0.unwrap();
        let Step::Call(calls) = &answer.step else {
            panic!("{answer:?}")
        };
        let tool = Tool::SendMessage {
            agent_type: AgentType::parse("weather").unwrap(),
            message: "Regnet det i Tromsø? é".into(),
            data: None,
        };
        assert_eq!(
            (calls.len(), &calls[0].tool, calls[0].id.as_str()),
            (1, &tool, "call00000")
        );
        assert_eq!(answer.beside, "Let me see.");
    }
}

/// Wherever a stream breaks, stands still, or ends without saying so, before its end was told: no answer, three attempts.
#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer_at_any_event() {
    for dialect in BOTH {
        let mut events = dialect.text("Let me see.");
        events.extend(called(
            dialect,
            &[("a", "send_message", OSLO), ("b", "task_status", "{}")],
        ));
        let said = events.len();
        events.extend(dialect.stop(Stop::Called));
        for cut in 0..=events.len() {
            for end in [vec![], vec![Piece::End]] {
                let (told, asked, _) = outcome(dialect, stream(dialect, &events[..cut], end.clone())).await;
                let expected = if cut <= said {
                    ("unavailable", 3)
                } else {
                    ("calls 2, of which 0 cannot be run", 1)
                };
                assert_eq!(
                    (told.as_str(), asked),
                    expected,
                    "{dialect:?}, cut after {cut} events, {end:?}"
                );
            }
        }
        // In the middle of an event, of a character even.
        let whole = events[..said].concat();
        for cut in (1..whole.len()).step_by(97) {
            let (told, ..) = outcome(dialect, stream(dialect, &[whole[..cut].to_vec()], [])).await;
            assert_eq!(told, "unavailable", "{dialect:?}, cut after {cut} bytes");
        }
    }
}

#[tokio::test]
async fn a_stream_in_single_bytes_is_the_same_answer() {
    for dialect in BOTH {
        let whole = [
            called(dialect, &[("a", "send_message", OSLO)]),
            dialect.stop(Stop::Called),
        ]
        .concat()
        .concat();
        let bytes: Vec<Vec<u8>> = whole.iter().map(|byte| vec![*byte]).collect();
        let (told, ..) = outcome(dialect, stream(dialect, &bytes, [Piece::End])).await;
        assert_eq!(told, "calls 1, of which 0 cannot be run");
    }
}

#[tokio::test]
async fn silence_is_no_answer_and_a_slow_answer_is_one() {
    for dialect in BOTH {
        let said = dialect.text("Let me see.");
        for told in [&said[..0], &said[..1], &said[..]] {
            let (told, asked, _) = outcome(dialect, stream(dialect, told, [Piece::Hang])).await;
            assert_eq!((told.as_str(), asked), ("unavailable", 3), "{dialect:?}");
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for event in [said, dialect.stop(Stop::Said)].concat() {
            pieces.extend([Piece::Pause(Duration::from_millis(150)), Piece::Bytes(event)]);
        }
        // What is whole counts, though its connection stays open.
        pieces.push(Piece::Hang);
        let slow = Reply::Stream {
            content_type: dialect.content_type(),
            pieces,
        };
        assert_eq!(outcome(dialect, slow).await.0, "says Let me see.");
    }
}

/// What a server's own word means, and how often it is asked: by status before the stream, by an event within it.
#[tokio::test]
async fn refusals_and_troubles_are_told_apart() {
    let words = format!("Received={KEY} Rain in Oslo?");
    for dialect in BOTH {
        for (status, expected, attempts) in [
            (429, "unavailable", 3),
            (500, "unavailable", 3),
            (502, "unavailable", 3),
            (503, "unavailable", 3),
            (529, "unavailable", 3),
            (400, "denied", 1),
            (401, "denied", 1),
            (403, "denied", 1),
            (404, "denied", 1),
        ] {
            let (told, asked, shown) = outcome(dialect, dialect.refusal(status, &words)).await;
            assert_eq!(
                (told.as_str(), asked),
                (expected, attempts),
                "{dialect:?} {status}"
            );
            assert!(!shown.contains("Oslo"));
        }
        for (wait, attempts) in [
            ("0", 3),
            ("6", 1),
            ("600", 1),
            ("soon", 3),
            ("-1", 3),
            ("99999999999999999999", 3),
        ] {
            for status in [429, 503] {
                let reply = dialect.refusal(status, &words).with("retry-after", wait);
                let (told, asked, _) = outcome(dialect, reply).await;
                assert_eq!(
                    (told.as_str(), asked),
                    ("unavailable", attempts),
                    "{dialect:?} {status} {wait}"
                );
            }
        }
        for (trouble, expected, attempts) in [
            (Trouble::Throttled, "unavailable", 3),
            (Trouble::Broken, "unavailable", 3),
            (Trouble::Invalid, "denied", 1),
        ] {
            let begun = called(dialect, &[("a", "send_message", OSLO)]);
            for before in [0, 1, begun.len()] {
                let events = [&begun[..before], &[dialect.trouble(trouble, &words)]].concat();
                let (told, asked, _) = outcome(dialect, stream(dialect, &events, [Piece::End])).await;
                assert_eq!(
                    (told.as_str(), asked),
                    (expected, attempts),
                    "{dialect:?} {trouble:?} after {before}"
                );
            }
        }
        // A success that is no stream at all.
        let whole = Reply::Status {
            status: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            body: json!({"hello": KEY}).to_string(),
        };
        assert_eq!(outcome(dialect, whole).await.0, "unavailable");
        let html = Reply::Status {
            status: 200,
            headers: vec![("content-type".into(), "text/html".into())],
            body: "<html>".into(),
        };
        assert_eq!(outcome(dialect, html).await.0, "unavailable");
    }
}

#[tokio::test]
async fn garbled_streams_are_no_answers() {
    for dialect in BOTH {
        let end = dialect.stop(Stop::Said);
        for broken in [dialect.half_a_character(), dialect.garbled()] {
            let events = [dialect.text("Hello."), vec![broken], end.clone()].concat();
            let (told, asked, _) = outcome(dialect, stream(dialect, &events, [Piece::End])).await;
            assert_eq!((told.as_str(), asked), ("unavailable", 3), "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn calls_that_cannot_be_run_are_told_apart_from_those_that_can() {
    for dialect in BOTH {
        let many: Vec<String> = (0..100).map(|number| format!("call-{number}")).collect();
        let many: Vec<(&str, &str, &str)> =
            many.iter().map(|id| (id.as_str(), "task_status", "{}")).collect();
        let long = json!({"agent_type": "weather", "message": "x".repeat(40_000)}).to_string();
        for (calls, invalid) in [
            (vec![("a", "send_message", OSLO)], 0),
            (vec![("a", "task_status", "")], 0),
            (
                vec![
                    ("a", "send_message", OSLO),
                    ("b", "send_message", "{\"agent_type\": \"wea"),
                ],
                1,
            ),
            (vec![("a", "send_message", "[]")], 1),
            (vec![("a", "send_message", "{}")], 1),
            (
                vec![(
                    "a",
                    "send_message",
                    r#"{"agent_type": "horizon", "message": "x"}"#,
                )],
                1,
            ),
            (
                vec![(
                    "a",
                    "send_message",
                    r#"{"agent_type": "weather", "message": "  "}"#,
                )],
                1,
            ),
            (
                vec![("a", "send_message", r#"{"agent_type": "weather", "message": 7}"#)],
                1,
            ),
            (vec![("a", "send_message", long.as_str())], 1),
            (vec![("a", "task_status", r#"{"task_id": "../etc"}"#)], 1),
            (vec![("a", "delete_everything", "{}"), ("b", "", "{}")], 2),
            // The same id twice.
            (vec![("a", "send_message", OSLO), ("a", "send_message", OSLO)], 0),
            (many, 0),
        ] {
            let events = [called(dialect, &calls), dialect.stop(Stop::Called)].concat();
            // It is told once what is wrong; nothing of what it decided is done.
            let expected = match invalid {
                0 => (
                    format!("calls {}, of which 0 cannot be run", calls.len()),
                    1,
                    "|1:".into(),
                ),
                _ => ("unusable".to_owned(), 2, "|1:|2:".into()),
            };
            assert_eq!(
                outcome(dialect, dialect.stream(events)).await,
                expected,
                "{dialect:?} {calls:?}"
            );
        }
    }
}

#[tokio::test]
async fn length_refusal_and_emptiness_are_told() {
    for dialect in BOTH {
        let ended = |events: Vec<Vec<u8>>, stop| dialect.stream([events, dialect.stop(stop)].concat());
        let calls = called(
            dialect,
            &[("a", "send_message", OSLO), ("b", "send_message", OSLO)],
        );
        for (reply, expected) in [
            (ended(dialect.text("So far"), Stop::Length), "says (cut) So far"),
            // The last call may lack its end, however whole it looks.
            (ended(calls.clone(), Stop::Length), "unusable"),
            (
                ended(dialect.text("I would rather not."), Stop::Refused),
                "refused I would rather not.",
            ),
            (ended(calls, Stop::Refused), "refused "),
            (ended(vec![], Stop::Said), "unusable"),
            (ended(dialect.text(" \n "), Stop::Said), "unusable"),
            (ended(vec![], Stop::Length), "unusable"),
        ] {
            let (told, asked, _) = outcome(dialect, reply).await;
            let attempts = if expected == "unusable" { 2 } else { 1 };
            assert_eq!(
                (told.trim_end(), asked),
                (expected.trim_end(), attempts),
                "{dialect:?}"
            );
        }
    }
}

#[tokio::test]
async fn three_megabytes_are_not_read() {
    for dialect in BOTH {
        let long = "x".repeat(30_000);
        let text: Vec<Vec<u8>> = (0..100).flat_map(|_| dialect.text(&long)).collect();
        let events = [text, dialect.stop(Stop::Said)].concat();
        let (told, asked, _) = outcome(dialect, stream(dialect, &events, [Piece::End])).await;
        assert_eq!((told.as_str(), asked), ("unusable", 1), "{dialect:?}");
        let arguments = json!({"agent_type": "weather", "message": "x".repeat(3_000_000)}).to_string();
        let events = [
            called(dialect, &[("a", "send_message", &arguments)]),
            dialect.stop(Stop::Called),
        ]
        .concat();
        assert_eq!(
            outcome(dialect, dialect.stream(events)).await.0,
            "unusable",
            "{dialect:?}"
        );
    }
}

/// What servers of Chat Completions make of it, which OpenAI does not.
#[tokio::test]
async fn compatible_servers_are_understood() {
    let event = |data: serde_json::Value| format!("data: {data}\r\n\r\n").into_bytes();
    let delta = |delta: serde_json::Value| event(json!({"choices": [{"delta": delta, "logprobs": 7}]}));
    let end = |reason: &str| event(json!({"choices": [{"delta": {}, "finish_reason": reason}], "x_new": {}}));
    let call = |call: serde_json::Value| delta(json!({"tool_calls": [call]}));
    let whole = json!({"agent_type": "weather", "message": "x"});
    for (events, expected) in [
        // Whole calls, arguments as an object, "stop" for calls (Ollama); no places (Gemini); no ids at all.
        (
            vec![
                call(
                    json!({"function": {"name": "send_message", "arguments": whole}, "id": "a", "index": 0}),
                ),
                call(
                    json!({"function": {"name": "send_message", "arguments": whole}, "id": "b", "index": 0}),
                ),
                end("stop"),
            ],
            "calls 2, of which 0 cannot be run",
        ),
        (
            vec![
                call(
                    json!({"id": "a", "function": {"name": "send_message", "arguments": "{\"agent_type\": \"weather\","}}),
                ),
                call(json!({"function": {"arguments": "\"message\": \"x\"}"}})),
                end("tool_calls"),
            ],
            "calls 1, of which 0 cannot be run",
        ),
        (
            vec![
                call(json!({"index": 3, "id": "", "function": {"name": "task_status"}})),
                call(json!({"index": 3, "id": null, "function": {"name": null, "arguments": "{}"}})),
                end("function_call"),
            ],
            "calls 1, of which 0 cannot be run",
        ),
        // Text in parts, an unknown reason for the end, comments, events without choices, no [DONE].
        (
            vec![
                b": OPENROUTER PROCESSING\n\n".to_vec(),
                event(json!({"choices": []})),
                event(json!({"choices": null, "error": null})),
                delta(
                    json!({"content": [{"type": "text", "text": "Hel"}, {"type": "other"}], "reasoning_content": "hm"}),
                ),
                delta(json!({"content": "lo.", "tool_calls": null, "role": "unknown"})),
                end("eos_token"),
            ],
            "says Hello.",
        ),
        (
            vec![delta(json!({"refusal": "I will not."})), end("stop")],
            "refused I will not.",
        ),
        (
            vec![event(json!({"error": {"code": 429, "message": KEY}}))],
            "unavailable",
        ),
        (
            vec![event(
                json!({"error": {"code": "401", "type": KEY, "message": KEY}}),
            )],
            "denied",
        ),
        (
            vec![[b"event: error\n".to_vec(), event(json!({"message": KEY}))].concat()],
            "unavailable",
        ),
    ] {
        let (told, ..) = outcome(Dialect::OpenAi, Dialect::OpenAi.stream(events)).await;
        assert_eq!(told, expected);
    }
}

/// A server may repeat the key, and the prompt, in all that it says. No log and no error shows either.
#[tokio::test]
async fn no_log_shows_the_key_or_what_the_server_says() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let words = format!("Received={KEY} Rain in Oslo?");
    for dialect in BOTH {
        for reply in [
            dialect.refusal(401, &words),
            dialect.refusal(400, &words),
            dialect.refusal(429, &words).with("retry-after", KEY),
            dialect.stream(vec![dialect.trouble(Trouble::Broken, &words)]),
            dialect.stream(vec![dialect.trouble(Trouble::Invalid, &words)]),
            stream(dialect, &dialect.text(&words), []),
        ] {
            outcome(dialect, reply).await;
        }
    }
    let codes = json!({"error": {"code": KEY, "type": KEY, "message": KEY}});
    for status in [200, 401, 500] {
        let reply = Reply::Status {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            body: codes.to_string(),
        };
        outcome(Dialect::OpenAi, reply).await;
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    // Only what our own rooms write: an operator who turns on the client's own traces asks for all there is.
    let ours = log
        .lines()
        .filter(|line| [" llm::", " outbound::"].iter().any(|room| line.contains(room)));
    let ours: Vec<&str> = ours.collect();
    assert!(
        ours.iter()
            .any(|line| line.contains("a model did not answer") && line.contains("401")),
        "{log}"
    );
    for line in ours {
        assert!(!line.contains("hunter2") && !line.contains("Received"), "{line}");
    }
    let warned = log.lines().filter(|line| {
        [" WARN ", " INFO ", "ERROR "]
            .iter()
            .any(|level| line.contains(level))
    });
    for line in warned {
        assert!(!line.contains("hunter2") && !line.contains("Oslo"), "{line}");
    }
}

/// What goes to a server, in its own words.
#[tokio::test]
async fn what_is_asked_has_its_stable_part_first_and_the_key_in_its_header_alone() {
    let asker = Asker::of(Dialect::OpenAi, vec![Dialect::OpenAi.says("Hello.")]).await;
    asker.step().await.0.unwrap();
    let asked = asker.server.asked().remove(0);
    assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    assert!(asked.head.contains(&format!("Bearer {KEY}")) && !asked.body.to_string().contains("hunter2"));
    assert_eq!(
        (&asked.body["stream"], &asked.body["max_tokens"]),
        (&json!(true), &json!(1_000))
    );
    assert_eq!(asked.body["messages"][0]["role"], "system");
    let schema = &asked.body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["do", "say"]));
    assert_eq!(
        (&asked.body["temperature"], &asked.body["tools"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(
        asked.body["messages"][1],
        json!({"role": "user", "content": "Rain in Oslo?"})
    );

    let asker = Asker::of(Dialect::Bedrock, vec![Dialect::Bedrock.says("Hello.")]).await;
    asker.step().await.0.unwrap();
    let asked = asker.server.asked().remove(0);
    assert!(
        asked
            .head
            .starts_with("POST /model/scripted/converse-stream HTTP/1.1"),
        "{}",
        asked.head
    );
    assert_eq!(
        asked.body["system"][1],
        json!({"cachePoint": {"type": "default"}})
    );
    assert_eq!(asked.body["inferenceConfig"]["maxTokens"], 1_000);
    let config = &asked.body["toolConfig"];
    assert_eq!(config["toolChoice"], json!({"tool": {"name": "decide"}}));
    let work =
        &config["tools"][0]["toolSpec"]["inputSchema"]["json"]["properties"]["do"]["items"]["anyOf"][0];
    assert_eq!(work["properties"]["agent"]["const"], "weather");
    assert_eq!(
        asked.body["messages"],
        json!([{"role": "user", "content": [{"text": "Rain in Oslo?"}]}])
    );
}
