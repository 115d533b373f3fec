//! Chat Completions, streamed: the dialect that every model server speaks, each a little differently. What it reads is a
//! dozen fields, each of which may be missing; what is not understood is passed over, and nothing is an enumeration.

use async_trait::async_trait;
use domain::{ExposeSecret, SecretString};
use outbound::{CallError, EventLimits, EventRefusal, EventStream, Outbound, Streamed, TrustedOrigin};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::Provider;
use super::answer::{End, Gathered};
use super::dialogue::{Dialogue, Piece, Speaker, Spoken};
use super::fault::Fault;
use super::tools::RawCall;
use crate::{Answer, Draft, Usage};

/// How long is waited for the count of tokens once the answer is whole.
const EPILOGUE: std::time::Duration = std::time::Duration::from_secs(2);
/// OpenAI's own newer models refuse the field that all other servers know.
const OPENAI: &str = "api.openai.com";

/// A model behind Chat Completions.
#[derive(Debug)]
pub struct OpenAi {
    name: String,
    model: String,
    endpoint: Url,
    key: Option<SecretString>,
    max_tokens: u32,
    limits: EventLimits,
    outbound: Outbound,
}

impl OpenAi {
    /// The model of that name below this base URL, such as `https://api.openai.com/v1`. The key goes there and nowhere
    /// else.
    #[must_use]
    pub fn new(
        outbound: &Outbound,
        (base, model): (&Url, &str),
        key: Option<SecretString>,
        (max_tokens, limits): (u32, EventLimits),
    ) -> Self {
        let outbound = match TrustedOrigin::of(base) {
            Some(origin) => outbound.trusting(origin),
            None => outbound.clone(),
        };
        Self {
            name: format!("openai:{model}"),
            model: model.to_owned(),
            endpoint: outbound::below(base, "chat/completions"),
            key,
            max_tokens,
            limits,
            outbound,
        }
    }

    /// Whether calls to it can leave at all.
    ///
    /// # Errors
    /// [`CallError::NotAllowed`] with the reason.
    pub fn check(&self) -> Result<(), CallError> {
        self.outbound.check_url(&self.endpoint)
    }

    fn body(&self, dialogue: &Dialogue) -> Value {
        let mut messages = vec![json!({"role": "system", "content": dialogue.system})];
        messages.extend(dialogue.messages.iter().flat_map(|spoken| self.messages(spoken)));
        let tools = dialogue.tools.iter().map(|tool| {
            let function =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        });
        let most = match self.endpoint.host_str() {
            Some(OPENAI) => "max_completion_tokens",
            _ => "max_tokens",
        };
        json!({
            "model": self.model,
            "messages": messages,
            "tools": tools.collect::<Vec<Value>>(),
            "stream": true,
            "stream_options": {"include_usage": true},
            most: self.max_tokens,
        })
    }

    fn messages(&self, spoken: &Spoken) -> Vec<Value> {
        let (mut messages, mut text, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for piece in &spoken.parts {
            match piece {
                Piece::Text(said) => text.push(said.as_str()),
                Piece::Call { id, name, arguments } => {
                    let function = json!({"name": name, "arguments": arguments.to_string()});
                    calls.push(json!({"id": id, "type": "function", "function": function}));
                }
                Piece::Result { call_id, text, .. } => {
                    messages.push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
                }
                // Extra fields of its calls, by their places.
                Piece::Thought(_) => {}
            }
        }
        let thought = spoken.parts.iter().find_map(|piece| match piece {
            Piece::Thought(thought) if thought.model == self.name => thought.value.as_array(),
            _ => None,
        });
        for (call, extra) in calls.iter_mut().zip(thought.into_iter().flatten()) {
            if let (Some(call), false) = (call.as_object_mut(), extra.is_null()) {
                call.insert(EXTRA.to_owned(), extra.clone());
            }
        }
        let text = text.join("\n\n");
        let said = match spoken.by {
            Speaker::User if text.is_empty() => None,
            Speaker::User => Some(json!({"role": "user", "content": text})),
            Speaker::Model if calls.is_empty() => Some(json!({"role": "assistant", "content": text})),
            Speaker::Model => Some(json!({"role": "assistant", "content": text, "tool_calls": calls})),
        };
        messages.extend(said);
        messages
    }

    /// A code that a server gives, unless it repeats the key with it.
    fn code<'a>(&self, told: &'a Value) -> &'a str {
        let error = told.get("error").unwrap_or(told);
        let code = ["code", "type"].iter().find_map(|name| error.get(name)?.as_str());
        let key = self.key.as_ref().map(|key| key.expose_secret());
        code.filter(|code| key.is_none_or(|key| !code.contains(key) && !key.contains(code)))
            .unwrap_or_default()
    }

    /// What a refusal means. A success that is no stream may be an error all the same.
    fn refused(&self, refusal: &EventRefusal) -> Fault {
        match refusal.body.get("error") {
            Some(_) if (200..300).contains(&refusal.status) => self.error(&refusal.body),
            _ => Fault::of_status(refusal.status, refusal.retry_after, self.code(&refusal.body)),
        }
    }

    /// What an error within a success means: its number where it has one, its code otherwise.
    fn error(&self, told: &Value) -> Fault {
        let error = told.get("error").unwrap_or(told);
        let number = ["code", "status"].iter().find_map(|name| {
            let number = error.get(name)?;
            number.as_u64().or_else(|| number.as_str()?.parse().ok())
        });
        let code = self.code(told);
        match number.and_then(|number| u16::try_from(number).ok()) {
            Some(status @ 300..=599) => Fault::of_status(status, None, code),
            _ if code.contains("invalid") || code.contains("auth") || code.contains("not_found") => {
                Fault::of_status(400, None, code)
            }
            _ => Fault::of_status(503, None, code),
        }
    }

    async fn read(&self, events: &mut EventStream, draft: &mut dyn Draft) -> Result<Gathered, Fault> {
        let mut gathered = Gathered::default();
        let mut calls = Vec::new();
        loop {
            let event = match gathered.end {
                None => events.next().await?,
                // The answer is whole; what goes wrong with the rest does not matter any more.
                Some(_) => timeout(EPILOGUE, events.next())
                    .await
                    .ok()
                    .and_then(Result::ok)
                    .flatten(),
            };
            let Some(event) = event.filter(|event| event.data.trim() != "[DONE]") else {
                break;
            };
            let chunk: Value = match serde_json::from_str(&event.data) {
                Ok(chunk) => chunk,
                Err(_) if gathered.end.is_some() => break,
                Err(_) => return Err(Fault::Broken("an event is not JSON".to_owned())),
            };
            let is_error = chunk.get("error").is_some_and(|error| !error.is_null());
            if is_error || event.name.as_deref() == Some("error") {
                return Err(self.error(&chunk));
            }
            take(&mut gathered, &mut calls, &chunk, draft);
        }
        if calls.iter().any(|growing: &Growing| !growing.extra.is_null()) {
            let extra = calls.iter().map(|growing| growing.extra.clone());
            gathered.opaque = Some(extra.collect());
        }
        gathered.calls = calls.into_iter().map(|growing| growing.call).collect();
        Ok(gathered)
    }
}

/// Where some servers keep what they want to see again with a call, such as Gemini's signatures.
const EXTRA: &str = "extra_content";

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    async fn attempt(&self, dialogue: &Dialogue, draft: &mut dyn Draft) -> Result<Answer, Fault> {
        let body = self.body(dialogue);
        let asked = self
            .outbound
            .post_for_events(&self.endpoint, &body, self.key.as_ref(), self.limits);
        match asked.await? {
            Streamed::Events(mut events) => self.read(&mut events, draft).await?.answer(&self.name, dialogue),
            Streamed::Refused(refusal) => Err(self.refused(&refusal)),
        }
    }
}

/// Takes one chunk in.
fn take(gathered: &mut Gathered, calls: &mut Vec<Growing>, chunk: &Value, draft: &mut dyn Draft) {
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        gathered.usage = Usage {
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
struct Growing {
    place: Option<u64>,
    call: RawCall,
    extra: Value,
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
    let Some(Growing { call, extra, .. }) = calls.get_mut(at) else {
        return;
    };
    if call.id.is_empty() {
        id.clone_into(&mut call.id);
    }
    if call.name.is_empty() {
        text("/function/name").clone_into(&mut call.name);
    }
    if let Some(told) = piece.get(EXTRA) {
        extra.clone_from(told);
    }
    match piece.pointer("/function/arguments") {
        Some(Value::String(more)) => call.arguments.push_str(more),
        Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
        _ => {}
    }
}
