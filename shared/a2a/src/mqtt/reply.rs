//! Replies, as a responder writes them.

use std::fmt;

use bytes::Bytes;
use serde_json::{Value, json};

use super::publication::{Properties, Publication, property};
use super::{AgentAddress, ArtifactMode, BindingError, binary_pieces, fit};
use crate::jsonrpc::{self, RpcId};

/// Room for what stands around a result in its payload and beside it.
const ENVELOPE: usize = 256;

/// Where a request's replies go.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplyPath {
    /// The requester's topic.
    pub topic: String,
    /// What the requester knows its own by; empty where it told nothing.
    pub correlation: Bytes,
}

impl fmt::Debug for ReplyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyPath")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

/// Writes the replies to one request.
#[derive(Debug, Clone)]
pub struct ReplyWriter {
    /// Where to.
    pub path: ReplyPath,
    /// The request's id.
    pub id: RpcId,
    /// The agent that answers, where the requester cannot know: it asked a pool, or the task moves.
    pub responder: Option<AgentAddress>,
    /// How artifacts are wanted.
    pub artifacts: ArtifactMode,
    /// Most bytes of one packet.
    pub max_packet: usize,
}

impl ReplyWriter {
    /// A result: one item, or several where it does not fit into a packet.
    #[must_use]
    pub fn result(&self, result: Value) -> Vec<Publication> {
        let room = self.room();
        if self.artifacts == ArtifactMode::Binary
            && let Some(pieces) = binary_pieces(&result, &self.properties(), room)
        {
            return pieces
                .into_iter()
                .map(|piece| Publication {
                    topic: self.path.topic.clone(),
                    ..piece
                })
                .collect();
        }
        let items = fit(result, room).into_iter();
        items
            .map(|item| self.payload(&jsonrpc::success(self.id.clone(), item)))
            .collect()
    }

    /// A refusal of the binding's, or A2A's own.
    #[must_use]
    pub fn failure(&self, error: &BindingError) -> Publication {
        self.error(error.to_json())
    }

    /// An error in the agent's own words.
    #[must_use]
    pub fn error(&self, error: Value) -> Publication {
        self.payload(&json!({ "jsonrpc": "2.0", "id": self.id, "error": error }))
    }

    fn payload(&self, payload: &Value) -> Publication {
        Publication {
            topic: self.path.topic.clone(),
            payload: payload.to_string().into(),
            retain: false,
            properties: Properties {
                content_type: Some("application/json".to_owned()),
                is_text: true,
                ..self.properties()
            },
        }
    }

    /// What stands beside every reply.
    fn properties(&self) -> Properties {
        let responder = self.responder.iter();
        let responder = responder.map(|agent| (property::RESPONDER.to_owned(), agent.agent().to_owned()));
        Properties {
            correlation: Some(self.path.correlation.clone()).filter(|data| !data.is_empty()),
            user: responder.collect(),
            ..Properties::default()
        }
    }

    /// Most bytes of a result.
    fn room(&self) -> usize {
        let id = jsonrpc::success(self.id.clone(), Value::Null).to_string().len();
        let responder = self
            .responder
            .as_ref()
            .map_or(0, |agent| agent.to_string().len() + 64);
        let around = self.path.topic.len() + self.path.correlation.len() + id + responder + ENVELOPE;
        self.max_packet.saturating_sub(around)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(artifacts: ArtifactMode) -> ReplyWriter {
        ReplyWriter {
            path: ReplyPath {
                topic: "$a2a/v1/reply/acme/lab/asker/s1".to_owned(),
                correlation: vec![0, 0xff, 7].into(),
            },
            id: RpcId::default(),
            responder: Some("acme/pool/member".parse().unwrap()),
            artifacts,
            max_packet: 2_000,
        }
    }

    #[test]
    fn a_reply_has_the_correlation_untouched_and_fits_into_a_packet() {
        let text = "ä\"".repeat(3_000);
        let update = json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "lastChunk": true, "append": false,
            "artifact": { "artifactId": "a", "parts": [{ "text": text }] } } });
        let items = writer(ArtifactMode::Json).result(update);
        assert!(items.len() > 5);
        let mut together = String::new();
        for (index, item) in items.iter().enumerate() {
            let size = item.payload.len() + item.topic.len() + 200;
            assert!(size <= 2_000, "{size}");
            assert_eq!(item.properties.correlation.as_deref(), Some(&[0, 0xff, 7][..]));
            assert_eq!(item.properties.one(property::RESPONDER), Ok(Some("member")));
            let told: Value = serde_json::from_slice(&item.payload).unwrap();
            let told = &told["result"]["artifactUpdate"];
            assert_eq!(
                (&told["append"], &told["lastChunk"]),
                (&json!(index > 0), &json!(index == items.len() - 1))
            );
            together.extend(
                told["artifact"]["parts"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|part| part["text"].as_str().unwrap()),
            );
        }
        assert_eq!(together, text);
    }

    #[test]
    fn an_error_keeps_the_words_of_the_agent() {
        let told = writer(ArtifactMode::Json).error(json!({ "code": -32001, "message": "Task not found" }));
        let told: Value = serde_json::from_slice(&told.payload).unwrap();
        assert_eq!(
            told,
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32001, "message": "Task not found" } })
        );
    }
}
