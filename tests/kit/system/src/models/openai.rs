//! Chat Completions' events.

use serde_json::{Value, json};

use super::{Stop, Trouble};

fn event(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn chunk(choices: &Value, usage: Option<Value>) -> Vec<u8> {
    event(&json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": choices, "usage": usage,
    }))
}

fn delta(delta: &Value) -> Vec<u8> {
    chunk(
        &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
        None,
    )
}

pub(super) fn text(text: &str) -> Vec<Vec<u8>> {
    let half = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(half);
    vec![
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": first})),
        delta(&json!({"content": second})),
    ]
}

pub(super) fn call(place: usize, (id, name): (&str, &str), (first, second): (&str, &str)) -> Vec<Vec<u8>> {
    let opened =
        json!({"index": place, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
    let more = |arguments: &str| json!({"index": place, "function": {"arguments": arguments}});
    [opened, more(first), more(second)]
        .into_iter()
        .map(|call| delta(&json!({"tool_calls": [call]})))
        .collect()
}

pub(super) fn stop(stop: Stop) -> Vec<Vec<u8>> {
    let reason = match stop {
        Stop::Said => "stop",
        Stop::Called => "tool_calls",
        Stop::Length => "length",
        Stop::Refused => "content_filter",
    };
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 60},
    });
    vec![
        chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), None),
        chunk(&json!([]), Some(usage)),
        b"data: [DONE]\n\n".to_vec(),
    ]
}

pub(super) fn trouble(trouble: Trouble, words: &str) -> Vec<u8> {
    let code = match trouble {
        Trouble::Throttled => "rate_limit_exceeded",
        Trouble::Broken => "server_error",
        Trouble::Invalid => "invalid_request_error",
    };
    event(&json!({"error": {"message": words, "type": code, "code": null}}))
}

pub(super) fn refusal(_status: u16, words: &str) -> (Vec<(&'static str, &'static str)>, Value) {
    let error = json!({"error": {"message": words, "type": "an_error", "code": "an_error"}});
    (vec![("content-type", "application/json")], error)
}
