//! Chat Completions, streamed: the dialect that every model server speaks, each a little differently. What it reads is a
//! dozen fields, each of which may be missing; what is not understood is passed over, and nothing is an enumeration.

use async_trait::async_trait;
use domain::{ExposeSecret, SecretString};
use outbound::{CallError, EventLimits, EventRefusal, EventStream, Outbound, Streamed, TrustedOrigin};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::Provider;
use super::answer::Gathered;
use super::chunk::{EXTRA, Growing, take};
use super::dialogue::{Dialogue, Piece, Speaker, Spoken};
use super::fault::Fault;
use crate::{Answer, Draft};

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

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tokens(&self) -> u32 {
        self.max_tokens
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
