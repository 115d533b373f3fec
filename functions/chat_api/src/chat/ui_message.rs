//! What a page sends: the body of the AI SDK's `DefaultChatTransport`, parsed once into something that cannot be
//! wrong. Of the history a page repeats only the newest user message counts; the rest is already stored.

use auth::consent_code;
use domain::{AgentType, ChatId, FORM_MAX, MessageId, Part, PartContent, TaskId, UserContext, foreign_json};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::chat::known_models::HOST;
use crate::error::RouteError;
use crate::files::sent::{self as files, Files};

/// Most bytes of one stored message; a store's item and a task's record must hold it with room to spare.
const MESSAGE_MAX: usize = 128 * 1024;
/// Most parts of one message.
const PARTS_MAX: usize = 50;
/// The type of the part that is a filled-in form: the answer to a task's question.
const FORM: &str = "data-form";
/// Most fields of one.
const FIELDS_MAX: usize = 32;
/// Most characters of a chat's title.
const TITLE_MAX: usize = 80;

/// One request of the chat route.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatRequest {
    /// The chat, by the id its page chose.
    pub(crate) chat: ChatId,
    /// What the user says.
    pub(crate) message: UserMessage,
    /// Why the page asks.
    pub(crate) trigger: Trigger,
    /// The message takes the place of the one that has its id, where that says something else.
    pub(crate) edits: bool,
    /// The task whose card it is a reply to.
    pub(crate) task: Option<TaskId>,
    /// The agent that it is for, where its user names one; else the host finds out.
    pub(crate) agent: Option<AgentType>,
    /// Whose it is, where a browser kept it: the mark of an owner as `GET /api/session` tells it.
    pub(crate) owner: Option<String>,
}

/// Why a page asks for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The user said something.
    Submit,
    /// The user wants another answer in place of this one, or of the newest.
    Regenerate(Option<MessageId>),
}

/// A user's message, as it is stored and as it goes to the host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UserMessage {
    /// The id its page gave it.
    pub(crate) id: MessageId,
    /// The whole `UIMessage`, with nothing in it but what such a message has.
    pub(crate) body: Value,
    /// What of it an agent can read.
    pub(crate) parts: Vec<Part>,
    /// Those of its files that are kept with it.
    pub(crate) files: Files,
    /// The user's language, region and clock; no part of the stored message.
    pub(crate) context: UserContext,
}

#[derive(Deserialize)]
struct Body {
    id: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    message: Option<Value>,
    #[serde(rename = "taskId")]
    task_id: Option<String>,
    trigger: Option<String>,
    #[serde(rename = "messageId")]
    message_id: Option<String>,
    model: Option<String>,
    owner: Option<String>,
    locale: Option<String>,
    #[serde(rename = "timeZone")]
    time_zone: Option<String>,
}

impl ChatRequest {
    /// Parses the body of `POST /api/chat`, in either form: `{id, messages}` or `{id, message}`.
    ///
    /// # Errors
    /// [`RouteError::Invalid`] says what is wrong, without repeating it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, RouteError> {
        let body: Body = foreign_json::read(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => invalid("the body must be {id, messages} or {id, message}"),
            _ => RouteError::invalid("invalid_json", "the body is not JSON"),
        })?;
        let chat = body.id.ok_or_else(|| invalid("id, the chat's id, is missing"))?;
        let chat = ChatId::parse(&chat).map_err(|error| invalid(&error.to_string()))?;
        let task = body.task_id.as_deref().map(TaskId::parse).transpose();
        let task = task.map_err(|_| invalid("taskId must be the id of a task"))?;
        let message = match (body.message, body.messages) {
            (Some(message), _) => message,
            (None, mut messages) => messages
                .pop()
                .ok_or_else(|| invalid("messages holds no message"))?,
        };
        let mut message = UserMessage::parse(message)?;
        let is_form = message
            .parts
            .iter()
            .any(|part| matches!(part.content, PartContent::Data(_)));
        if is_form && task.is_none() {
            return Err(invalid(
                "a data-form part answers a task's question: taskId is missing",
            ));
        }
        let edits = body.message_id.as_deref() == Some(message.id.as_str());
        let trigger = match body.trigger.as_deref() {
            None | Some("submit-message") => Trigger::Submit,
            Some("regenerate-message") => {
                let answer = body.message_id.as_deref().filter(|_| !edits);
                let answer = answer.map(MessageId::parse).transpose();
                Trigger::Regenerate(answer.map_err(|error| invalid(&error.to_string()))?)
            }
            Some(_) => return Err(invalid("trigger must be submit-message or regenerate-message")),
        };
        let agent = body.model.filter(|model| model != HOST);
        let agent = agent.as_deref().map(AgentType::parse).transpose();
        let agent = agent
            .map_err(|_| RouteError::invalid("unknown_model", "model must be one of those of /api/models"))?;
        if let Some(agent) = &agent {
            message.is_for(agent);
        }
        message.context =
            UserContext::parse(body.locale, body.time_zone).map_err(|error| invalid(&error.to_string()))?;
        Ok(Self {
            chat,
            message,
            trigger,
            edits,
            task,
            agent,
            owner: body.owner,
        })
    }
}

impl UserMessage {
    fn parse(value: Value) -> Result<Self, RouteError> {
        let Value::Object(mut fields) = value else {
            return Err(invalid("a message must be an object"));
        };
        if fields.get("role").and_then(Value::as_str) != Some("user") {
            return Err(invalid("the newest message must be the user's"));
        }
        let id = fields
            .get("id")
            .and_then(Value::as_str)
            .ok_or_else(|| invalid("the message has no id"))?;
        let id = MessageId::parse(id).map_err(|error| invalid(&error.to_string()))?;
        let Some(Value::Array(mut listed)) = fields.remove("parts") else {
            return Err(invalid("a message must have an array of parts"));
        };
        if listed.len() > PARTS_MAX {
            return Err(invalid("the message has too many parts"));
        }
        let (attached, files) = files::read(&mut listed)?;
        let mut attached = attached.into_iter();
        let mut parts = Vec::new();
        for part in &listed {
            parts.extend(readable(part, &mut attached)?);
        }
        // What was filled in is for a program; the words beside it are how the chat shows that.
        if parts
            .iter()
            .any(|part| matches!(part.content, PartContent::Data(_)))
        {
            parts.retain(|part| !matches!(part.content, PartContent::Text(_)));
        }
        let says = |part: &Part| !matches!(&part.content, PartContent::Text(text) if text.trim().is_empty());
        if !parts.iter().any(says) {
            return Err(invalid("the message says nothing"));
        }
        // A code is good once, and then of no use to anybody; the message stays, without it.
        listed.iter_mut().for_each(mask);
        let mut body = Map::new();
        body.insert("id".into(), json!(id));
        body.insert("role".into(), json!("user"));
        if let Some(metadata) = fields.remove("metadata").filter(|metadata| !metadata.is_null()) {
            body.insert("metadata".into(), metadata);
        }
        body.insert("parts".into(), Value::Array(listed));
        let body = Value::Object(body);
        if body.to_string().len() > MESSAGE_MAX {
            return Err(RouteError::TooLarge);
        }
        Ok(Self {
            id,
            body,
            parts,
            files,
            context: UserContext::default(),
        })
    }

    /// Keeps with it whom it is for: the chat goes on with that one.
    fn is_for(&mut self, agent: &AgentType) {
        let Some(fields) = self.body.as_object_mut() else {
            return;
        };
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("model".to_owned(), json!(agent));
        }
    }

    /// The first words, as the title of a chat that starts with them.
    pub(crate) fn title(&self) -> String {
        let text = self.parts.iter().find_map(|part| match &part.content {
            PartContent::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        });
        let text = text.unwrap_or("File");
        let words = consent_code::mask(text)
            .unwrap_or_else(|| text.to_owned())
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if words.chars().count() <= TITLE_MAX {
            return words;
        }
        let short: String = words.chars().take(TITLE_MAX - 1).collect();
        format!("{}…", short.trim_end())
    }
}

fn mask(part: &mut Value) {
    let field = |name: &str| part.get(name).and_then(Value::as_str);
    if let (Some("text"), Some(masked)) = (field("type"), field("text").and_then(consent_code::mask)) {
        *part = json!({"type": "text", "text": masked});
    }
}

/// What an agent can read of one part of a `UIMessage`; nothing for parts that only pages understand.
fn readable(part: &Value, attached: &mut impl Iterator<Item = Part>) -> Result<Option<Part>, RouteError> {
    let text_of = |name: &str| part.get(name).and_then(Value::as_str);
    let kind = text_of("type").ok_or_else(|| invalid("a part has no type"))?;
    match kind {
        "text" => {
            let text = text_of("text").ok_or_else(|| invalid("a text part has no text"))?;
            if text.contains('\0') {
                return Err(invalid("text must not contain NUL"));
            }
            Ok(Some(Part::text(text)))
        }
        "file" => Ok(attached.next()),
        FORM => match part.get("data") {
            Some(data @ Value::Object(fields))
                if fields.len() <= FIELDS_MAX && data.to_string().len() <= FORM_MAX =>
            {
                Ok(Some(Part::data(data.clone())))
            }
            _ => Err(invalid(
                "a data-form part must have an object of at most 32 fields and 4,096 bytes as its data",
            )),
        },
        _ => Ok(None),
    }
}

fn invalid(message: &str) -> RouteError {
    RouteError::invalid("invalid_message", message)
}

/// A message of the assistant in the AI SDK's form.
pub(crate) fn assistant(id: &MessageId, parts: Vec<Value>) -> Value {
    json!({"id": id, "role": "assistant", "parts": parts})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: Value) -> Result<ChatRequest, RouteError> {
        ChatRequest::parse(body.to_string().as_bytes())
    }

    fn user(parts: Value) -> Value {
        json!({"id": "m1", "role": "user", "parts": parts})
    }

    #[test]
    fn both_forms_of_the_transport_are_read() {
        let message = user(json!([{"type": "text", "text": "Oslo?"}]));
        let old = json!({"id": "m0", "role": "assistant", "parts": []});
        let whole =
            parse(json!({"id": "c", "messages": [old, message], "trigger": "submit-message"})).unwrap();
        let short = parse(json!({"id": "c", "message": message})).unwrap();
        assert_eq!(whole, short);
        assert_eq!(whole.message.parts, vec![Part::text("Oslo?")]);
        assert_eq!(whole.message.body, message);
    }

    #[test]
    fn half_a_character_spoils_no_message() {
        let body = br#"{"id": "c", "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Oslo? \ud83c"}]}}"#;
        let read = ChatRequest::parse(body).unwrap();
        assert_eq!(read.message.parts, vec![Part::text("Oslo? \u{fffd}")]);
        let marked = [b"\xef\xbb\xbf".as_slice(), body].concat();
        assert_eq!(ChatRequest::parse(&marked).unwrap(), read);
        assert!(ChatRequest::parse(b"{\"id\": \\ud83c}").is_err());
    }

    #[test]
    fn regenerating_names_the_answer_to_replace() {
        let message = user(json!([{"type": "text", "text": "Oslo?"}]));
        let again =
            json!({"id": "c", "messages": [message], "trigger": "regenerate-message", "messageId": "a1"});
        let wanted = Trigger::Regenerate(Some(MessageId::parse("a1").unwrap()));
        assert_eq!(parse(again).unwrap().trigger, wanted);
    }

    #[test]
    fn files_become_raw_or_url_parts() {
        let request = parse(json!({"id": "c", "message": user(json!([
            {"type": "file", "mediaType": "text/plain", "filename": "a.txt", "url": "data:text/plain;base64,aGk="},
            {"type": "file", "mediaType": "image/png", "url": "https://example.org/a.png"},
            {"type": "data-note", "data": {}},
        ]))}))
        .unwrap();
        let contents: Vec<_> = request.message.parts.iter().map(|part| &part.content).collect();
        assert_eq!(
            contents,
            [
                &PartContent::Raw("aGk=".into()),
                &PartContent::Url("https://example.org/a.png".into())
            ]
        );
    }

    #[test]
    fn rubbish_is_refused_with_a_reason() {
        let text = json!([{"type": "text", "text": "x"}]);
        let many = Value::Array(vec![json!({"type": "text", "text": "x"}); PARTS_MAX + 1]);
        for bad in [
            json!(null),
            json!([]),
            json!("x"),
            json!({}),
            json!({"id": "c"}),
            json!({"id": 7, "message": user(text.clone())}),
            json!({"id": "a#b", "message": user(text.clone())}),
            json!({"id": "a\u{0}b", "message": user(text.clone())}),
            json!({"id": "x".repeat(200), "message": user(text.clone())}),
            json!({"id": "c", "messages": []}),
            json!({"id": "c", "messages": "x"}),
            json!({"id": "c", "messages": [user(text.clone()), "x"]}),
            json!({"id": "c", "message": {"role": "user", "parts": text}}),
            json!({"id": "c", "message": {"id": "m", "role": "assistant", "parts": text}}),
            json!({"id": "c", "message": {"id": "m", "role": "user", "content": "old form"}}),
            json!({"id": "c", "message": user(json!([]))}),
            json!({"id": "c", "message": user(json!([{"type": "text", "text": "  "}]))}),
            json!({"id": "c", "message": user(json!([{"type": "text", "text": 7}]))}),
            json!({"id": "c", "message": user(json!([{"type": "text", "text": "a\u{0}"}]))}),
            json!({"id": "c", "message": user(json!([{"text": "x"}]))}),
            json!({"id": "c", "message": user(json!([7]))}),
            json!({"id": "c", "message": user(json!([{"type": "file", "mediaType": "a/b", "url": "javascript:x"}]))}),
            json!({"id": "c", "message": user(json!([{"type": "file", "mediaType": "a/b", "url": "data:a/b;base64,?"}]))}),
            json!({"id": "c", "message": user(many)}),
            json!({"id": "c", "message": user(text.clone()), "trigger": "resume-stream"}),
            json!({"id": "c", "message": user(text.clone()), "taskId": "t"}),
            json!({"id": "c", "message": user(text.clone()), "taskId": 7}),
            json!({"id": "c", "message": user(text.clone()), "taskId": ""}),
            json!({"id": "c", "message": user(text.clone()), "model": 7}),
            json!({"id": "c", "message": user(text.clone()), "model": ""}),
            json!({"id": "c", "message": user(text.clone()), "model": "a b"}),
            json!({"id": "c", "message": user(text.clone()), "model": "x".repeat(1000)}),
            json!({"id": "c", "message": user(text.clone()), "locale": "en_GB"}),
            json!({"id": "c", "message": user(text.clone()), "locale": 7}),
            json!({"id": "c", "message": user(text.clone()), "timeZone": "../etc"}),
        ] {
            assert!(
                matches!(parse(bad.clone()), Err(RouteError::Invalid { .. })),
                "{bad}"
            );
        }
        let long = user(json!([{"type": "text", "text": "x".repeat(MESSAGE_MAX)}]));
        assert!(matches!(
            parse(json!({"id": "c", "message": long})),
            Err(RouteError::TooLarge)
        ));
        for bad in [&b""[..], b"{", b"\xff\xfe", &b"[".repeat(100_000)[..]] {
            assert!(matches!(ChatRequest::parse(bad), Err(RouteError::Invalid { .. })));
        }
    }

    #[test]
    fn a_typed_code_is_stored_masked_and_goes_on_as_it_is() {
        let request = |text: &str| {
            let parts = json!([{"type": "step-start"}, {"type": "text", "text": text, "providerMetadata": {"t": text}}]);
            parse(json!({"id": "c1", "messages": [user(parts)]}))
                .unwrap()
                .message
        };
        for typed in ["BCDF-GHJK", " bcdfghjk\n"] {
            let message = request(typed);
            assert_eq!(message.parts, [Part::text(typed)], "the host reads it");
            assert_eq!(
                message.body["parts"],
                json!([{"type": "step-start"}, {"type": "text", "text": "••••-••••"}])
            );
            assert_eq!(message.title(), "••••-••••");
        }
        let within = request("the code is BCDF-GHJK, or is it?");
        assert!(!within.body.to_string().contains("BCDF"), "{}", within.body);
        assert_eq!(within.title(), "the code is ••••-••••, or is it?");
    }

    #[test]
    fn a_title_is_the_first_words_cut_short() {
        let titled = |text: &str| {
            parse(json!({"id": "c", "message": user(json!([{"type": "text", "text": text}]))}))
                .unwrap()
                .message
                .title()
        };
        assert_eq!(titled("Will it\n rain?"), "Will it rain?");
        assert_eq!(titled(&"ä".repeat(200)).chars().count(), TITLE_MAX);
    }

    /// What is left of good messages when they are cut, spoiled and spliced is refused as the client's fault, or is a good one.
    #[test]
    fn no_rubbish_breaks_the_reading_of_messages() {
        let file = json!({"type": "file", "mediaType": "text/plain", "filename": "ä.txt", "url": "data:text/plain;base64,aGkh"});
        let kept = json!({"type": "file", "mediaType": "image/png", "providerMetadata": {"switchyard": {"size": 7, "sha256": "x"}}});
        let page = json!({"type": "file", "mediaType": "a/b", "url": "https://example.org/a?b=1#c"});
        let text = json!({"type": "text", "text": "Oslo? My code is c1-bcdf-ghjk-mnpq. \u{1f98a}"});
        let whole = |parts: Value, more: Value| {
            let mut body = json!({"id": "c", "message": user(parts)});
            let fields = body.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            body.to_string().into_bytes()
        };
        let good = [
            whole(
                json!([text, file, page]),
                json!({"locale": "de-CH", "timeZone": "Europe/Zurich"}),
            ),
            whole(
                json!([kept, kept]),
                json!({"trigger": "regenerate-message", "messageId": "a1"}),
            ),
            whole(
                json!([{"type": "step-start"}, file, file, text]),
                json!({"model": "weather", "owner": "o"}),
            ),
        ];
        let mut seed = 19_u64;
        let mut any = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % u64::try_from(below.max(1)).unwrap()).unwrap()
        };
        let (mut read, mut refused) = (0, 0);
        for round in 0..5_000 {
            let mut bytes = good[round % good.len()].clone();
            for _ in 0..=any(3) {
                let (at, length) = (any(bytes.len()), any(24));
                let end = (at + length).min(bytes.len());
                let other = &good[any(good.len())];
                let from = any(other.len());
                let to = (from + any(24)).min(other.len());
                match any(5) {
                    0 => drop(bytes.splice(at..end, [])),
                    1 => drop(bytes.splice(at..at, other[from..to].to_vec())),
                    2 => drop(bytes.splice(at..end, other[from..to].to_vec())),
                    3 => drop(bytes.splice(at..at, br#""size":18446744073709551615,"#.to_vec())),
                    _ => bytes
                        .iter_mut()
                        .skip(at)
                        .take(1)
                        .for_each(|byte| *byte = b"\0\xff\"{],9-\\#;"[any(10)]),
                }
            }
            match ChatRequest::parse(&bytes) {
                Ok(request) => {
                    let message = request.message;
                    assert!(message.body.to_string().len() <= MESSAGE_MAX && !message.parts.is_empty());
                    assert!(message.title().chars().count() <= TITLE_MAX);
                    read += 1;
                }
                Err(error) => {
                    let status = axum::response::IntoResponse::into_response(error).status();
                    assert!(
                        status.is_client_error(),
                        "{status}: {}",
                        String::from_utf8_lossy(&bytes)
                    );
                    refused += 1;
                }
            }
        }
        assert!(read > 50 && refused > 1_000, "{read} {refused}");
    }
}
