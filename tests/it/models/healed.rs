//! What servers and models do wrong, one row each: what the user reads, how often it was asked, and what it costs.

use std::sync::Mutex;

use async_trait::async_trait;
use domain::TokenUsage;
use llm::{Budget, BudgetError, Reservation, Tool, ToolCall, ToolOutcome, ToolResult};
use serde_json::{Value, json};
use system_testing::models::{Piece, Stop};

use super::*;

const OPEN: Dialect = Dialect::OpenAi;
const BEDROCK: Dialect = Dialect::Bedrock;
/// What a scripted answer says that it took.
const TOOK: u64 = 120;
const CALLS: &str = "calls 1, of which 0 cannot be run";
const UNUSABLE: &str = "unusable";
const LATER: &str = "unavailable";

/// Tokens that are used, and those that are reserved still.
#[derive(Clone, Default)]
struct Purse(Arc<Mutex<(u64, u64)>>);

struct Coin(Purse, u64);

#[async_trait]
impl Budget for Purse {
    async fn reserve(&self, tokens: u64) -> Result<Box<dyn Reservation>, BudgetError> {
        self.0.lock().unwrap().1 += tokens;
        Ok(Box::new(Coin(self.clone(), tokens)))
    }
}

#[async_trait]
impl Reservation for Coin {
    async fn settle(self: Box<Self>, _: &str, taken: TokenUsage) {
        let mut purse = self.0.0.lock().unwrap();
        purse.0 += taken.input + taken.output;
        purse.1 -= self.1;
    }

    async fn release(self: Box<Self>) {
        self.0.0.lock().unwrap().1 -= self.1;
    }
}

fn event(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn delta(delta: Value) -> Vec<u8> {
    event(&json!({"choices": [{"delta": delta}]}))
}

fn end(reason: Value) -> Vec<Vec<u8>> {
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20});
    vec![
        event(&json!({"choices": [{"delta": {}, "finish_reason": reason}]})),
        event(&json!({"choices": [], "usage": usage})),
        b"data: [DONE]\n\n".to_vec(),
    ]
}

/// An answer of these deltas.
fn deltas(deltas: impl IntoIterator<Item = Value>) -> Reply {
    OPEN.stream(deltas.into_iter().map(delta).chain(end(json!("stop"))).collect())
}

fn call(name: &str, arguments: &str) -> Reply {
    let call = json!({"index": 0, "id": "a", "function": {"name": name, "arguments": arguments}});
    deltas([json!({"tool_calls": [call]})])
}

fn status(status: u16, body: &Value) -> Reply {
    Reply::Status {
        status,
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.to_string(),
    }
}

fn refuses(code: u16, message: &str) -> Reply {
    status(
        code,
        &json!({"error": {"message": message, "type": "invalid_request_error", "code": null}}),
    )
}

fn breaks(dialect: Dialect, status: u16, kind: &str, message: &str) -> Reply {
    let _dialect = dialect;
    Reply::Status {
        status,
        headers: vec![
            ("content-type".into(), "application/json".into()),
            ("x-amzn-errortype".into(), kind.into()),
        ],
        body: json!({"message": message}).to_string(),
    }
}

fn cut(events: Vec<Vec<u8>>) -> Reply {
    Reply::Stream {
        content_type: OPEN.content_type(),
        pieces: events.into_iter().map(Piece::Bytes).collect(),
    }
}

/// Weather has answered: words are wanted.
fn brought() -> Prompt {
    let agent_type = AgentType::parse("weather").unwrap();
    let tool = Tool::SendMessage {
        agent_type,
        message: "Rain in Oslo?".into(),
        data: None,
    };
    let result = ToolResult {
        call_id: "a".into(),
        agent: Some("Weather".into()),
        outcome: ToolOutcome::Done("No rain.".into()),
    };
    let mut prompt = prompt();
    prompt
        .turns
        .push(Turn::Calls(vec![ToolCall { id: "a".into(), tool }]));
    prompt.turns.push(Turn::Results(vec![result]));
    prompt
}

type Row = (&'static str, Vec<Reply>, &'static str, usize, u64);

/// What goes wrong where it is decided who does what.
#[rustfmt::skip]
fn decides() -> Vec<Row> {
    let good = || OPEN.sends(&[("weather", "Rain in Oslo?")]);
    let ask = r#"{"agent": "weather", "request": "Rain?"}"#;
    let whole = |body: &str| json!({"choices": [{"message": {"content": body}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 100, "completion_tokens": 20}});
    vec![
        // Calls and names that are nearly right.
        ("a decision by the schema", vec![OPEN.says(&format!(r#"{{"do": [{ask}], "say": ""}}"#))], CALLS, 1, TOOK),
        ("agent-as-tool", vec![call("weather", r#"{"request": "Rain?"}"#)], CALLS, 1, TOOK),
        ("agent-cap", vec![call("send_message", r#"{"agent_type": "Weather", "message": "Rain?"}"#)], CALLS, 1, TOOK),
        ("prefixed", vec![call("functions.send_message", r#"{"agent_type": "weather", "message": "Rain?"}"#)], CALLS, 1, TOOK),
        ("ask_weather", vec![call("ask_weather", r#"{"request": "Rain?"}"#)], CALLS, 1, TOOK),
        ("tool name in capitals", vec![call("Send_Message", r#"{"agent_type": "weather", "message": "Rain?"}"#)], CALLS, 1, TOOK),
        ("trailing-comma", vec![call("decide", r#"{"do": [{"agent": "weather", "request": "Rain?",},],}"#)], CALLS, 1, TOOK),
        ("python-dict", vec![call("decide", "{'do': [{'agent': 'weather', 'request': 'Rain?'}], 'plan': False, 'say': None}")], CALLS, 1, TOOK),
        ("fenced-args", vec![call("decide", &format!("```json\n{{\"do\": [{ask}]}}\n```"))], CALLS, 1, TOOK),
        ("double-encoded", vec![call("decide", &json!(format!("{{\"do\": [{ask}]}}")).to_string())], CALLS, 1, TOOK),
        ("prose-json", vec![OPEN.says(&format!("I will ask: ```json\n{{\"name\": \"send_message\", \"arguments\": {ask}}}\n```"))], CALLS, 1, TOOK),
        ("prose-tag", vec![OPEN.says(&format!("<tool_call>{{\"name\": \"weather\", \"arguments\": {ask}}}</tool_call>"))], CALLS, 1, TOOK),
        ("tool_calls as text", vec![OPEN.says(&format!("{{\"tool_calls\": [{{\"function\": {{\"name\": \"weather\", \"arguments\": {ask}}}}}]}}"))], CALLS, 1, TOOK),
        ("a bare request", vec![OPEN.says(ask)], CALLS, 1, TOOK),
        ("legacy-fc", vec![deltas([json!({"function_call": {"name": "weather", "arguments": "{\"request\": \"Ra"}}), json!({"function_call": {"arguments": "in?\"}"}})])], CALLS, 1, TOOK),
        ("arguments as an object", vec![deltas([json!({"tool_calls": [{"id": "a", "function": {"name": "weather", "arguments": {"request": "Rain?"}}}]})])], CALLS, 1, TOOK),
        ("thinks before it decides", vec![OPEN.says(&format!("<think>Oslo, so: {{\"do\": 1}}</think>{ask}"))], CALLS, 1, TOOK),
        ("data that is no object", vec![OPEN.says(r#"{"do": [{"agent": "weather", "request": "Rain?", "data": "x"}]}"#)], CALLS, 1, TOOK),
        ("says as a decision", vec![OPEN.says(r#"{"do": [], "say": "Hello."}"#)], "says Hello.", 1, TOOK),
        ("asks which agent", vec![OPEN.says(r#"{"do": [], "say": "", "ask": ["weather"]}"#)], "lets choose of 1", 1, TOOK),
        // Once more with a word.
        ("empty", vec![OPEN.says(""), good()], CALLS, 2, 2 * TOOK),
        ("newlines", vec![OPEN.says(&"\n".repeat(4_096)), good()], CALLS, 2, 2 * TOOK),
        ("reasoning only", vec![deltas([json!({"reasoning_content": "hm"})]), good()], CALLS, 2, 2 * TOOK),
        ("thinks and says nothing", vec![OPEN.says("<think>hm, and on"), good()], CALLS, 2, 2 * TOOK),
        ("unknown agent", vec![OPEN.sends(&[("horizon", "x")]), good()], CALLS, 2, 2 * TOOK),
        ("unknown tool", vec![call("delete_everything", "{}"), good()], CALLS, 2, 2 * TOOK),
        ("half a decision", vec![OPEN.says(r#"{"do": [{"agent": "wea"#), good()], CALLS, 2, 2 * TOOK),
        ("tool text in tags", vec![OPEN.says("<tools><function name=\"send_message\"></tools>"), good()], CALLS, 2, 2 * TOOK),
        ("cut within a call", vec![OPEN.stream([OPEN.call(0, ("a", "weather"), r#"{"request": "x"}"#), OPEN.stop(Stop::Length)].concat()), good()], CALLS, 2, 2 * TOOK),
        ("neither to do nor to say", vec![OPEN.says(r#"{"do": [], "say": ""}"#), good()], CALLS, 2, 2 * TOOK),
        ("the agent's own description", vec![OPEN.says(r#"{"do": [{"agent": "weather", "request": "Forecasts."}]}"#), good()], CALLS, 2, 2 * TOOK),
        ("empty for ever", vec![OPEN.says("")], UNUSABLE, 2, 2 * TOOK),
        ("unknown for ever", vec![call("delete_everything", "{}")], UNUSABLE, 2, 2 * TOOK),
        // What a server does not know is left out, and what is too long is made shorter.
        ("400 max_tokens", vec![refuses(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), good()], CALLS, 2, TOOK),
        ("422 stream_options (Mistral)", vec![status(422, &json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]})), good()], CALLS, 2, TOOK),
        ("400 response_format", vec![refuses(400, "'response_format.type' must be 'json_object' or 'text'"), good()], CALLS, 2, TOOK),
        ("400 grammar", vec![refuses(400, "failed to parse grammar"), good()], CALLS, 2, TOOK),
        ("400 temperature", vec![refuses(400, "Unsupported value: 'temperature' does not support 0"), good()], CALLS, 2, TOOK),
        ("all of them", vec![refuses(400, "stream_options"), refuses(400, "temperature"), refuses(422, "json_schema"), refuses(400, "max_completion_tokens"), good()], CALLS, 5, TOOK),
        ("refused for ever", vec![refuses(400, "stream_options")], "denied", 2, 0),
        ("context_length_exceeded (OpenAI)", vec![status(400, &json!({"error": {"code": "context_length_exceeded", "message": "x"}})), good()], CALLS, 2, TOOK),
        ("exceed_context_size (llama.cpp)", vec![status(400, &json!({"error": {"type": "exceed_context_size_error", "message": "x", "n_ctx": 4096}})), good()], CALLS, 2, TOOK),
        ("413", vec![refuses(413, "large"), good()], CALLS, 2, TOOK),
        ("too long for ever", vec![refuses(400, "maximum context length")], "denied", 3, 0),
        // Streams.
        ("json-not-stream", vec![status(200, &whole(ask))], CALLS, 1, TOOK),
        ("no-finish-done", vec![OPEN.stream(vec![delta(json!({"content": "Hello."})), b"data: [DONE]\n\n".to_vec()])], "says Hello.", 1, 0),
        ("no-finish-call", vec![OPEN.stream([OPEN.call(0, ("a", "weather"), r#"{"request": "x"}"#), vec![b"data: [DONE]\n\n".to_vec()]].concat())], CALLS, 1, 0),
        ("cut before a byte", vec![cut(vec![])], LATER, 3, 0),
        ("silence before a byte", vec![Reply::Stream { content_type: OPEN.content_type(), pieces: vec![Piece::Hang] }], LATER, 3, 0),
        ("cut once", vec![cut(vec![]), good()], CALLS, 2, TOOK),
        ("500 once", vec![refuses(500, "x"), good()], CALLS, 2, TOOK),
        ("429 with retry-after", vec![refuses(429, "x").with("retry-after", "0"), good()], CALLS, 2, TOOK),
        ("503 for ever", vec![refuses(503, "x")], LATER, 3, 0),
        ("loading once", vec![status(503, &json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})), good()], CALLS, 2, TOOK),
        ("finish_reason eos", vec![OPEN.stream([vec![delta(json!({"content": "Hello."}))], end(json!("eos"))].concat())], "says Hello.", 1, TOOK),
        ("finish_reason function_call", vec![OPEN.stream([OPEN.call(0, ("a", "weather"), r#"{"request": "x"}"#), end(json!("function_call"))].concat())], CALLS, 1, TOOK),
        ("finish_reason empty", vec![OPEN.stream([vec![delta(json!({"content": "Hello."}))], end(json!(""))].concat())], "says Hello.", 1, TOOK),
        ("content null, and a list", vec![deltas([json!({"content": null}), json!({"content": [{"type": "text", "text": "Hello."}]})])], "says Hello.", 1, TOOK),
        ("equal indexes", vec![deltas([json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "weather", "arguments": "{\"request\": \"x\"}"}}]}), json!({"tool_calls": [{"index": 0, "id": "b", "function": {"name": "weather", "arguments": "{\"request\": \"y\"}"}}]})])], "calls 2, of which 0 cannot be run", 1, TOOK),
        ("index gaps", vec![deltas([json!({"tool_calls": [{"index": 7, "id": "a", "function": {"name": "weather", "arguments": "{\"request\": \"x\"}"}}]})])], CALLS, 1, TOOK),
        ("CRLF, comments, no space", vec![OPEN.stream(vec![b": ping\r\n\r\n".to_vec(), b"data:{\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\r\n\r\n".to_vec(), event(&json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}))])], "says Hello.", 1, TOOK),
        ("content filter", vec![OPEN.stream(end(json!("content_filter")))], "refused ", 1, TOOK),
        ("content filter of the prompt (Azure)", vec![status(400, &json!({"error": {"code": "content_filter", "message": "filtered", "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"jailbreak": {"filtered": true, "detected": true}}}}}))], "refused ", 1, 0),
        ("results of a filter in chunks of their own (Azure)", vec![OPEN.stream([vec![event(&json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]})), event(&json!({"choices": [{"index": 0, "finish_reason": null, "delta": {"content": "Hello."}, "content_filter_results": {"hate": {"filtered": false, "severity": "safe"}}}]}))], end(json!("stop"))].concat())], "says Hello.", 1, TOOK),
        ("ids of nine letters (Mistral)", vec![OPEN.stream([OPEN.call(0, ("D681PevKs", "weather"), r#"{"request": "x"}"#), OPEN.stop(Stop::Called)].concat())], CALLS, 1, TOOK),
        ("refusal", vec![deltas([json!({"refusal": "No."})])], "refused No.", 1, TOOK),
        ("401", vec![refuses(401, KEY)], "denied", 1, 0),
        ("404", vec![refuses(404, "x")], "denied", 1, 0),
        ("text beside calls", vec![OPEN.stream([OPEN.text("Let me see."), OPEN.call(0, ("a", "weather"), r#"{"request": "x"}"#), OPEN.stop(Stop::Called)].concat())], CALLS, 1, TOOK),
    ]
}

/// What goes wrong where results are told.
#[rustfmt::skip]
fn writes() -> Vec<Row> {
    let good = || OPEN.says("It stays dry.");
    vec![
        ("words", vec![good()], "says It stays dry.", 1, TOOK),
        ("words as a decision", vec![OPEN.says(r#"{"do": [], "say": "It stays dry."}"#)], "says It stays dry.", 1, TOOK),
        ("thinks first", vec![OPEN.says("<think>so</think>It stays dry.")], "says It stays dry.", 1, TOOK),
        ("empty-after", vec![OPEN.says(""), good()], "says It stays dry.", 2, 2 * TOOK),
        ("repeat-call", vec![OPEN.sends(&[("weather", "Rain?")]), good()], "says It stays dry.", 2, 2 * TOOK),
        ("repeat-call for ever", vec![OPEN.sends(&[("weather", "Rain?")])], UNUSABLE, 2, 2 * TOOK),
        ("says the same for ever", vec![OPEN.stream([OPEN.text(&"again and ".repeat(200)), OPEN.stop(Stop::Length)].concat()), good()], "says It stays dry.", 2, 2 * TOOK),
    ]
}

#[rustfmt::skip]
fn of_bedrock() -> Vec<Row> {
    let good = || BEDROCK.sends(&[("weather", "Rain in Oslo?")]);
    let refuses = |status, kind, words| breaks(BEDROCK, status, kind, words);
    vec![
        ("nocache", vec![refuses(403, "AccessDeniedException", "You invoked an unsupported model or your request did not allow prompt caching."), good()], CALLS, 2, TOOK),
        ("no forced choice", vec![refuses(400, "ValidationException", "This model doesn't support the toolConfig.toolChoice.tool field."), good()], CALLS, 2, TOOK),
        ("no tools in a stream", vec![refuses(400, "ValidationException", "This model doesn't support tool use in streaming mode."), good()], CALLS, 2, TOOK),
        ("too long", vec![refuses(400, "ValidationException", "Input is too long for requested model."), good()], CALLS, 2, TOOK),
        ("no access", vec![refuses(403, "AccessDeniedException", "You don't have access to the model with the specified model ID.")], "denied", 1, 0),
        ("expired", vec![refuses(403, "ExpiredTokenException", "The security token included in the request is expired")], "denied", 1, 0),
    ]
}

#[tokio::test]
async fn each_fault_has_its_outcome_its_asks_and_its_cost() {
    let rows = [
        (OPEN, prompt(), decides()),
        (OPEN, brought(), writes()),
        (BEDROCK, prompt(), of_bedrock()),
    ];
    let (mut count, mut wrong) = (0, Vec::new());
    for (dialect, prompt, rows) in rows {
        for (name, script, told, asked, used) in rows {
            count += 1;
            let purse = Purse::default();
            let Asker { server, chain } = Asker::of(dialect, script).await;
            let chain = chain.within(Arc::new(purse.clone()));
            let answer = chain.step(&prompt, &mut Shown::default()).await;
            let (taken, open) = *purse.0.lock().unwrap();
            // Where nobody counts, it is counted roughly, and never as nothing.
            let is_rough = used == 0 && line(&answer) == told && answer.is_ok();
            let costs = if is_rough { taken > 0 } else { taken == used };
            let seen = (line(&answer), server.asked().len());
            if seen != (told.to_owned(), asked) || !costs || open != 0 {
                wrong.push(format!(
                    "{name}: {seen:?}, {taken} used, {open} reserved; {answer:?}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count >= 72, "{count} rows");
}

/// What a model does not know is left out of every later request.
#[tokio::test]
async fn what_was_refused_once_is_not_sent_again() {
    let script = vec![refuses(422, "stream_options"), OPEN.says("Hello.")];
    let asker = Asker::of(OPEN, script).await;
    for _ in 0..3 {
        asker.step().await.0.unwrap();
    }
    let asked = asker.server.asked();
    let sent: Vec<bool> = asked
        .iter()
        .map(|asked| asked.body["stream_options"].is_object())
        .collect();
    assert_eq!(sent, [true, false, false, false]);
}
