//! Language models that are scripted: servers that speak OpenAI's stream and Bedrock's, and break both in every way. They
//! keep what they were asked.

mod bedrock;
mod openai;
mod server;

pub use server::{Asked, ModelServer, Piece, Reply};

use serde_json::{Value, json};

/// How a scripted answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// All was said.
    Said,
    /// Tools are called.
    Called,
    /// It grew too long.
    Length,
    /// A filter, or the model, would not go on.
    Refused,
}

/// Something that goes wrong within a stream, by the server's own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Too many requests.
    Throttled,
    /// The server's own fault.
    Broken,
    /// The request is wrong.
    Invalid,
}

/// Which dialect a scripted model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Chat Completions, as server-sent events.
    OpenAi,
    /// Converse, as AWS's event stream.
    Bedrock,
}

/// Both dialects.
pub const BOTH: [Dialect; 2] = [Dialect::OpenAi, Dialect::Bedrock];

impl Dialect {
    /// The events of an answer that says something.
    #[must_use]
    pub fn text(self, text: &str) -> Vec<Vec<u8>> {
        match self {
            Self::OpenAi => openai::text(text),
            Self::Bedrock => bedrock::text(text),
        }
    }

    /// The events of one call, its arguments in two pieces.
    #[must_use]
    pub fn call(self, place: usize, (id, name): (&str, &str), arguments: &str) -> Vec<Vec<u8>> {
        let half = arguments.floor_char_boundary(arguments.len() / 2);
        let halves = arguments.split_at(half);
        match self {
            Self::OpenAi => openai::call(place, (id, name), halves),
            Self::Bedrock => bedrock::call(place, (id, name), halves),
        }
    }

    /// The events with which an answer ends, the count of its tokens among them: 100 asked, 20 answered, 60 from a cache.
    #[must_use]
    pub fn stop(self, stop: Stop) -> Vec<Vec<u8>> {
        match self {
            Self::OpenAi => openai::stop(stop),
            Self::Bedrock => bedrock::stop(stop),
        }
    }

    /// An event that says that something went wrong.
    #[must_use]
    pub fn trouble(self, trouble: Trouble, words: &str) -> Vec<u8> {
        match self {
            Self::OpenAi => openai::trouble(trouble, words),
            Self::Bedrock => bedrock::trouble(trouble, words),
        }
    }

    /// An event whose text has half a character in it.
    #[must_use]
    pub fn half_a_character(self) -> Vec<u8> {
        match self {
            Self::OpenAi => b"data: {\"choices\":[{\"delta\":{\"content\":\"\xc3\"}}]}\n\n".to_vec(),
            Self::Bedrock => bedrock::event(
                "contentBlockDelta",
                b"{\"contentBlockIndex\":0,\"delta\":{\"text\":\"\xc3\"}}",
            ),
        }
    }

    /// An event that was garbled on its way: a checksum that is wrong where there is one, no JSON otherwise.
    #[must_use]
    pub fn garbled(self) -> Vec<u8> {
        match self {
            Self::OpenAi => b"data: {\"choices\":[{\"delta\":{\"con\n\n".to_vec(),
            Self::Bedrock => {
                let mut event = bedrock::text("hello").concat();
                let last = event.len() - 1;
                event[last] ^= 1;
                event
            }
        }
    }

    /// The head of a success.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenAi => "text/event-stream; charset=utf-8",
            Self::Bedrock => "application/vnd.amazon.eventstream",
        }
    }

    /// A refusal in the server's own form.
    #[must_use]
    pub fn refusal(self, status: u16, words: &str) -> Reply {
        let (headers, body): (Vec<(&str, &str)>, Value) = match self {
            Self::OpenAi => openai::refusal(status, words),
            Self::Bedrock => bedrock::refusal(status, words),
        };
        let headers = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Reply::Status {
            status,
            headers: headers.collect(),
            body: body.to_string(),
        }
    }

    /// A whole answer of these events.
    #[must_use]
    pub fn stream(self, events: Vec<Vec<u8>>) -> Reply {
        Reply::Stream {
            content_type: self.content_type(),
            pieces: events.into_iter().map(Piece::Bytes).chain([Piece::End]).collect(),
        }
    }

    /// A whole answer that says something.
    #[must_use]
    pub fn says(self, text: &str) -> Reply {
        self.stream([self.text(text), self.stop(Stop::Said)].concat())
    }

    /// A whole answer that calls `send_message`, once for each agent type with a message.
    #[must_use]
    pub fn sends(self, messages: &[(&str, &str)]) -> Reply {
        let call = |(agent_type, message): &(&str, &str)| {
            let arguments = json!({"agent_type": agent_type, "message": message});
            ("send_message", arguments)
        };
        self.calls(messages.iter().map(call))
    }

    /// A whole answer that calls these tools with these arguments.
    #[must_use]
    pub fn calls<'a>(self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
        let calls = calls
            .into_iter()
            .enumerate()
            .flat_map(|(place, (name, arguments))| {
                let id = format!("tool_{place}");
                self.call(place, (&id, name), &arguments.to_string())
            });
        self.stream(calls.chain(self.stop(Stop::Called)).collect())
    }

    /// A whole answer that plans these pieces of work: who does it, what, and with whose results, by their places.
    #[must_use]
    pub fn plans(self, pieces: &[(&str, &str, &[u32])]) -> Reply {
        let piece = |(agent_type, message, uses): &(&str, &str, &[u32])| json!({"agent_type": agent_type, "message": message, "uses": uses});
        let tasks: Vec<Value> = pieces.iter().map(piece).collect();
        self.calls([("plan_tasks", json!({ "tasks": tasks }))])
    }
}
