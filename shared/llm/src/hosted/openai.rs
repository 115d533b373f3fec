//! Chat Completions, streamed: the dialect that every model server speaks, each a little differently. What it reads is a
//! dozen fields, each of which may be missing; what is not understood is passed over, and nothing is an enumeration.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use domain::{ExposeSecret, SecretString};
use outbound::{CallError, EventLimits, EventRefusal, EventStream, Outbound, Streamed, TrustedOrigin};
use serde_json::{Value, json};
use tokio::time::timeout;
use url::Url;

use super::Provider;
use super::answer::{End, Gathered};
use super::chunk::{Growing, take};
use super::decision::DECIDE;
use super::dialogue::{Dialogue, Speaker};
use super::fault::Fault;
use crate::Draft;

/// How long is waited for the count of tokens once the answer is whole.
const EPILOGUE: std::time::Duration = std::time::Duration::from_secs(2);
/// OpenAI's own newer models refuse the field that all other servers know; where one of both is refused, the other is sent.
const OPENAI: &str = "api.openai.com";
const MOST: &str = "max_tokens";
const MOST_THERE: &str = "max_completion_tokens";
/// What not every server knows, by the words with which it refuses it.
const OPTIONAL: [(&str, &[&str]); 4] = [
    ("stream_options", &["stream_options"]),
    ("response_format", &["response_format", "json_schema", "grammar"]),
    ("temperature", &["temperature"]),
    (MOST, &[MOST, MOST_THERE]),
];

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
    /// What its server has refused, and is not sent again.
    refused: Mutex<BTreeSet<&'static str>>,
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
            refused: Mutex::default(),
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
        let said = dialogue.messages.iter().map(|(by, text)| match by {
            Speaker::User => json!({"role": "user", "content": text}),
            Speaker::Model => json!({"role": "assistant", "content": text}),
        });
        let system = json!({"role": "system", "content": dialogue.system});
        let messages: Vec<Value> = std::iter::once(system).chain(said).collect();
        let mut body = json!({"model": self.model, "messages": messages, "stream": true});
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_openai = self.endpoint.host_str() == Some(OPENAI);
        let most = match is_openai != refused.contains(MOST) {
            true => MOST_THERE,
            false => MOST,
        };
        let schema = dialogue.schema.as_ref();
        let format = schema
            .map(|schema| json!({"type": "json_schema", "json_schema": {"name": DECIDE, "schema": schema}}));
        let optional = [
            ("stream_options", Some(json!({"include_usage": true}))),
            ("temperature", schema.map(|_| json!(0))),
            ("response_format", format),
        ];
        let optional = optional.into_iter().filter(|(name, _)| !refused.contains(name));
        if let Some(fields) = body.as_object_mut() {
            fields.insert(most.to_owned(), dialogue.most(self.max_tokens).into());
            fields.extend(optional.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        body
    }

    /// The field that its server does not know, by its own words; it is not sent again.
    fn unknown(&self, words: &str) -> Option<Fault> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_named = |names: &[&str]| names.iter().any(|name| words.contains(name));
        let found = OPTIONAL
            .iter()
            .find(|(field, names)| is_named(names) && !refused.contains(field));
        found.map(|(field, _)| {
            refused.insert(field);
            Fault::Unknown(field)
        })
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
        let EventRefusal {
            status,
            retry_after,
            body,
        } = refusal;
        if (200..300).contains(status) && body.get("error").is_some() {
            return self.error(body);
        }
        let words = body.to_string();
        let heals = Fault::of_words(*status, &words).or_else(|| match status {
            400 | 422 => self.unknown(&words),
            _ => None,
        });
        heals.unwrap_or_else(|| Fault::of_status(*status, *retry_after, self.code(body)))
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

    async fn read(
        &self,
        events: &mut EventStream,
        draft: &mut dyn Draft,
        (gathered, calls): (&mut Gathered, &mut Vec<Growing>),
    ) -> Result<(), Fault> {
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
            let Some(event) = event else {
                break;
            };
            if event.data.trim() == "[DONE]" {
                // Some say no more than this of its end.
                gathered.end = gathered.end.or(Some(End::Natural));
                break;
            }
            let chunk: Value = match serde_json::from_str(&event.data) {
                Ok(chunk) => chunk,
                Err(_) if gathered.end.is_some() => break,
                Err(_) => return Err(Fault::Broken("an event is not JSON".to_owned())),
            };
            let is_error = chunk.get("error").is_some_and(|error| !error.is_null());
            if is_error || event.name.as_deref() == Some("error") {
                return Err(self.error(&chunk));
            }
            take(gathered, calls, &chunk, draft);
        }
        Ok(())
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

    async fn attempt(
        &self,
        dialogue: &Dialogue,
        draft: &mut dyn Draft,
        gathered: &mut Gathered,
    ) -> Result<(), Fault> {
        let body = self.body(dialogue);
        let asked = self
            .outbound
            .post_for_events(&self.endpoint, &body, self.key.as_ref(), self.limits);
        let mut calls = Vec::new();
        let read = match asked.await? {
            Streamed::Events(mut events) => self.read(&mut events, draft, (gathered, &mut calls)).await,
            // A server that does not stream answers whole.
            Streamed::Refused(whole) if whole.status == 200 && whole.body.get("choices").is_some() => {
                take(gathered, &mut calls, &whole.body, draft);
                gathered.end = gathered.end.or(Some(End::Natural));
                Ok(())
            }
            Streamed::Refused(refusal) => Err(self.refused(&refusal)),
        };
        gathered.calls = calls.into_iter().map(|growing| growing.call).collect();
        read
    }
}
