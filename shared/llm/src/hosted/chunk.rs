//! The lenient reading of one chunk of a Chat Completions stream: a dozen fields, each of which may be missing or of another
//! form than OpenAI gives it.

use domain::TokenUsage;
use serde_json::{Value, json};

use super::answer::{End, Gathered};
use super::decision::RawCall;
use crate::Draft;

/// Takes one chunk in.
pub(crate) fn take(gathered: &mut Gathered, calls: &mut Vec<Growing>, chunk: &Value, draft: &mut dyn Draft) {
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        gathered.usage = TokenUsage {
            input: count("/prompt_tokens"),
            output: count("/completion_tokens"),
            cached: count("/prompt_tokens_details/cached_tokens"),
        };
    }
    // We ask for one choice; a server that gives more gets its first read.
    let Some(choice) = chunk.pointer("/choices/0") else {
        return;
    };
    // A server that does not split its answer has it whole, under another name.
    let delta = choice
        .get("delta")
        .or_else(|| choice.get("message"))
        .unwrap_or(&Value::Null);
    let text = content(delta.get("content"));
    if !text.is_empty() {
        draft.grows(&text);
        gathered.text.push_str(&text);
    }
    gathered.refusal.push_str(&content(delta.get("refusal")));
    for call in delta
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        grow(calls, call);
    }
    // The form of old.
    if let Some(call) = delta.get("function_call").filter(|call| call.is_object()) {
        grow(calls, &json!({"index": 0, "function": call}));
    }
    if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
        gathered.end = Some(match reason {
            "length" | "max_tokens" | "model_length" => End::Length,
            "content_filter" | "refusal" | "safety" => End::Refused,
            _ => End::Natural,
        });
    }
}

/// Text, or the texts of a list of parts.
fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

/// A call that grows.
#[derive(Default)]
pub(crate) struct Growing {
    place: Option<u64>,
    pub(crate) call: RawCall,
}

/// Takes a piece of a call in. It is of the newest call at its place, unless it has another id: some servers give no
/// places, or all the same one.
fn grow(calls: &mut Vec<Growing>, piece: &Value) {
    let text = |path: &str| piece.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (id, place) = (text("/id"), piece.get("index").and_then(Value::as_u64));
    let is_same = |growing: &Growing| id.is_empty() || growing.call.id.is_empty() || growing.call.id == id;
    let known = match place {
        Some(_) => calls.iter().rposition(|growing| growing.place == place),
        None if id.is_empty() => calls.len().checked_sub(1),
        None => calls.iter().rposition(|growing| growing.call.id == id),
    };
    let known = known.filter(|at| calls.get(*at).is_some_and(is_same));
    let at = known.unwrap_or_else(|| {
        calls.push(Growing {
            place,
            ..Growing::default()
        });
        calls.len() - 1
    });
    let Some(Growing { call, .. }) = calls.get_mut(at) else {
        return;
    };
    if call.id.is_empty() {
        id.clone_into(&mut call.id);
    }
    if call.name.is_empty() {
        text("/function/name").clone_into(&mut call.name);
    }
    match piece.pointer("/function/arguments") {
        Some(Value::String(more)) => call.arguments.push_str(more),
        Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
        _ => {}
    }
}
