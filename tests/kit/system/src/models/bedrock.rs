//! Converse's events, in frames with their checksums.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use serde_json::{Value, json};

use super::{Stop, Trouble};

fn frame(headers: [(&'static str, String); 3], payload: &[u8]) -> Vec<u8> {
    let headers = headers.map(|(name, value)| Header::new(name, HeaderValue::String(value.into())));
    let message = Message::new_from_parts(headers.to_vec(), payload.to_vec());
    let mut frame = Vec::new();
    write_message_to(&message, &mut frame).expect("a frame that is too large");
    frame
}

pub(super) fn event(kind: &str, payload: &[u8]) -> Vec<u8> {
    let headers = [
        (":message-type", "event".to_owned()),
        (":event-type", kind.to_owned()),
        (":content-type", "application/json".to_owned()),
    ];
    frame(headers, payload)
}

fn told(kind: &str, payload: &Value) -> Vec<u8> {
    event(kind, payload.to_string().as_bytes())
}

pub(super) fn text(text: &str) -> Vec<Vec<u8>> {
    let half = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(half);
    let delta = |text: &str| {
        told(
            "contentBlockDelta",
            &json!({"contentBlockIndex": 0, "delta": {"text": text}}),
        )
    };
    vec![
        told("messageStart", &json!({"role": "assistant"})),
        delta(first),
        delta(second),
        told("contentBlockStop", &json!({"contentBlockIndex": 0})),
    ]
}

pub(super) fn call(place: usize, (id, name): (&str, &str), (first, second): (&str, &str)) -> Vec<Vec<u8>> {
    // The text, where there is any, is the first block.
    let place = place + 1;
    let delta = |input: &str| {
        told(
            "contentBlockDelta",
            &json!({"contentBlockIndex": place, "delta": {"toolUse": {"input": input}}}),
        )
    };
    let start = json!({"contentBlockIndex": place, "start": {"toolUse": {"toolUseId": id, "name": name}}});
    vec![
        told("contentBlockStart", &start),
        delta(first),
        delta(second),
        told("contentBlockStop", &json!({"contentBlockIndex": place})),
    ]
}

pub(super) fn stop(stop: Stop) -> Vec<Vec<u8>> {
    let reason = match stop {
        Stop::Said => "end_turn",
        Stop::Called => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Refused => "content_filtered",
    };
    let usage =
        json!({"inputTokens": 40, "outputTokens": 20, "totalTokens": 120, "cacheReadInputTokens": 60});
    vec![
        told("messageStop", &json!({"stopReason": reason})),
        told("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 1}})),
    ]
}

pub(super) fn trouble(trouble: Trouble, words: &str) -> Vec<u8> {
    let kind = match trouble {
        Trouble::Throttled => "throttlingException",
        Trouble::Broken => "internalServerException",
        Trouble::Invalid => "validationException",
    };
    let headers = [
        (":message-type", "exception".to_owned()),
        (":exception-type", kind.to_owned()),
        (":content-type", "application/json".to_owned()),
    ];
    frame(headers, json!({"message": words}).to_string().as_bytes())
}

pub(super) fn refusal(status: u16, words: &str) -> (Vec<(&'static str, &'static str)>, Value) {
    let kind = match status {
        400 => "ValidationException",
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        _ => "InternalServerException",
    };
    let headers = vec![("content-type", "application/json"), ("x-amzn-errortype", kind)];
    (headers, json!({"message": words}))
}
