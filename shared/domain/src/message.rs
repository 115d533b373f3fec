//! Messages, parts and artifacts, in the words of A2A but free of either generation's wire form.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{ContextId, MessageId, TaskId};

/// Free key-value data that A2A lets travel beside most things.
pub type Metadata = serde_json::Map<String, Value>;

/// The key in the metadata of an agent's message for what its user is told beside that work has begun.
pub const TOLD_BESIDE: &str = "switchyard/told-beside";
/// The key in a message's metadata under which a user has named the agent that it is for, by its type.
pub const ASKED_AGENT: &str = "switchyard/agent";
/// The key in a message's metadata under which the platform's chat says where it came from. An agent of ours keeps that beside
/// the message, as [`Terms::place`].
pub const ASKED_FROM: &str = "switchyard/from";
/// The key in a result's metadata for how many of its parts its agent wrote in a way that nobody here can read.
pub const UNREAD: &str = "switchyard/unread";

/// The media type of the data part of a question that says what its answer may fill in: a JSON Schema.
pub const SCHEMA_MEDIA_TYPE: &str = "application/schema+json";

/// Most characters of a text that are read for what they mean: whoever wrote it chose how long it is, and who reads it holds up others.
pub const READ_MAX: usize = 2_000;

/// As much of a text as is read for what it means. What is kept and handed on stays whole.
#[must_use]
pub fn to_read(text: &str) -> &str {
    let end = text.char_indices().nth(READ_MAX).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The client's side.
    User,
    /// The agent's side.
    Agent,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Unique to its sender.
    pub message_id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// At least one part in what comes from the wire.
    pub parts: Vec<Part>,
    /// The conversation, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The task it belongs to, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// URIs of extensions that contributed to the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks the message refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
    /// How its sender wants it answered. It came beside the message and never goes out with it.
    #[serde(default, skip_serializing_if = "Terms::is_none")]
    pub terms: Terms,
}

/// What the sender of a message said of the answer. An agent goes by it as far as it can.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// URIs of the agent's extensions that are in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Media types that the sender can read; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Where the message came from, in words; known of the platform's own chat alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Terms {
    /// True where nothing was said.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Message {
    /// The schema of what a question asks for as data, where it has one.
    #[must_use]
    pub fn form(&self) -> Option<&Value> {
        let is_form = |part: &&Part| part.media_type.as_deref() == Some(SCHEMA_MEDIA_TYPE);
        match &self.parts.iter().find(is_form)?.content {
            PartContent::Data(schema) => Some(schema),
            _ => None,
        }
    }

    /// A message of the given role with nothing but parts.
    #[must_use]
    pub fn new(message_id: MessageId, role: Role, parts: Vec<Part>) -> Self {
        Self {
            message_id,
            role,
            parts,
            context_id: None,
            task_id: None,
            metadata: Metadata::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
            terms: Terms::default(),
        }
    }

    /// A user's message.
    #[must_use]
    pub fn user(message_id: MessageId, parts: Vec<Part>) -> Self {
        Self::new(message_id, Role::User, parts)
    }

    /// An agent's message of one text part.
    #[must_use]
    pub fn agent_text(message_id: MessageId, text: impl Into<String>) -> Self {
        Self::new(message_id, Role::Agent, vec![Part::text(text)])
    }

    /// All text parts: a user's one a line, an agent's as they are, like those of its results.
    #[must_use]
    pub fn text(&self) -> String {
        match self.role {
            Role::User => texts(&self.parts).collect::<Vec<_>>().join("\n"),
            Role::Agent => joined(&self.parts),
        }
    }

    /// As much of its text as is read for what it means.
    #[must_use]
    pub fn text_to_read(&self) -> String {
        to_read(&self.text()).to_owned()
    }
}

/// One part of a message or artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// What it holds.
    pub content: PartContent,
    /// Media type, such as `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// A file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What a part holds; exactly one of these, as in A2A 1.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartContent {
    /// Text.
    Text(String),
    /// Bytes, standard base64 with padding.
    Raw(String),
    /// Where the content lies.
    Url(String),
    /// Any JSON value.
    Data(Value),
}

/// Under which name a part's metadata says what is kept of its file.
const KEPT: &str = "switchyard";

impl Part {
    /// The part as one whose file lies beside its task, at an address of ours.
    pub fn detach_to(&mut self, url: String, (size, sha256): (u64, &str)) {
        self.content = PartContent::Url(url);
        self.metadata
            .insert(KEPT.to_owned(), json!({"size": size, "sha256": sha256}));
    }

    /// The part as one whose file is not kept, because it has so many bytes.
    pub fn leave_out(&mut self, bytes: u64) {
        self.content = PartContent::Text(String::new());
        self.metadata.insert(KEPT.to_owned(), json!({"leftOut": bytes}));
    }

    /// How many bytes the file has that lies beside its task.
    #[must_use]
    pub fn detached(&self) -> Option<u64> {
        self.metadata.get(KEPT)?.get("size")?.as_u64()
    }

    /// How many bytes the file had that is not kept.
    #[must_use]
    pub fn left_out(&self) -> Option<u64> {
        self.metadata.get(KEPT)?.get("leftOut")?.as_u64()
    }

    /// A part with nothing but content.
    #[must_use]
    pub fn new(content: PartContent) -> Self {
        Self {
            content,
            media_type: None,
            filename: None,
            metadata: Metadata::new(),
        }
    }

    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartContent::Text(text.into()))
    }

    /// A structured part.
    #[must_use]
    pub fn data(value: Value) -> Self {
        Self {
            media_type: Some("application/json".into()),
            ..Self::new(PartContent::Data(value))
        }
    }

    /// The schema of what a question asks for as data.
    #[must_use]
    pub fn form(schema: Value) -> Self {
        Self {
            media_type: Some(SCHEMA_MEDIA_TYPE.into()),
            ..Self::new(PartContent::Data(schema))
        }
    }
}

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within its task.
    pub artifact_id: String,
    /// A name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its content.
    pub parts: Vec<Part>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// URIs of extensions that contributed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// An artifact of these parts.
    #[must_use]
    pub fn new(artifact_id: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            artifact_id: artifact_id.into(),
            name: None,
            description: None,
            parts,
            metadata: Metadata::new(),
            extensions: Vec::new(),
        }
    }

    /// The same artifact with a name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// All text parts. What an agent wrote in pieces, as models do, is one text.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.parts)
    }

    /// Puts an update into a list of artifacts: replaces the one of the same id, or appends its parts to it.
    pub fn merge_into(self, artifacts: &mut Vec<Self>, append: bool) {
        match artifacts
            .iter_mut()
            .find(|known| known.artifact_id == self.artifact_id)
        {
            Some(known) if append => known.parts.extend(self.parts),
            Some(known) => *known = self,
            None => artifacts.push(self),
        }
    }
}

fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match &part.content {
        PartContent::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// The texts of these parts: those that follow one another are pieces of one text, joined as they are; a file or data between them
/// ends it, and a text with a file's name is one of its own.
pub(crate) fn joined<'p>(parts: impl IntoIterator<Item = &'p Part>) -> String {
    let mut all: Vec<String> = Vec::new();
    let mut goes_on = false;
    for part in parts {
        match (&part.content, all.last_mut()) {
            (PartContent::Text(text), Some(last)) if goes_on && part.filename.is_none() => {
                last.push_str(text)
            }
            (PartContent::Text(text), _) => all.push(text.clone()),
            _ => {}
        }
        goes_on = matches!(part.content, PartContent::Text(_)) && part.filename.is_none();
    }
    all.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_text_are_joined_as_they_are() {
        let text = |text: &str| Part::text(text);
        let named = |name: &str, text: &str| Part {
            filename: Some(name.to_owned()),
            ..Part::text(text)
        };
        let data = || Part::data(Value::from(1));
        for (parts, joined) in [
            (
                vec![text("Hel"), text("lo "), text("wor"), text("ld")],
                "Hello world",
            ),
            (vec![text("a\n"), text("b")], "a\nb"),
            (
                vec![text("Hel"), text(""), text("lo"), text(" "), text("you")],
                "Hello you",
            ),
            (vec![text("a"), data(), text("b"), text("c")], "a\nbc"),
            (vec![text("a"), named("x.txt", "b"), text("c")], "a\nb\nc"),
            (vec![data()], ""),
        ] {
            let message = |role| Message::new(MessageId::derived("m"), role, parts.clone());
            assert_eq!(Artifact::new("a", parts.clone()).text(), joined);
            assert_eq!(message(Role::Agent).text(), joined);
        }
        // A user's parts are texts of their own, such as a question and what was pasted beside it.
        let asked = Message::user(MessageId::derived("m"), vec![text("Read this:"), text("a")]);
        assert_eq!(asked.text(), "Read this:\na");
    }

    #[test]
    fn a_text_is_read_to_a_whole_character_and_kept_whole() {
        for letter in ["a", "ß", "の", "🦀"] {
            let text = letter.repeat(READ_MAX + 1);
            let message = Message::user(MessageId::derived("m"), vec![Part::text(text.as_str())]);
            assert_eq!(message.text_to_read(), letter.repeat(READ_MAX));
            assert_eq!(message.text(), text);
        }
        assert_eq!(to_read("Oslo"), "Oslo");
    }
}
