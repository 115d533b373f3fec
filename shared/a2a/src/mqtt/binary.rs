//! Artifacts as bytes, for a requester that asks for them.

use serde_json::Value;

use super::publication::{Properties, Publication, property};
use crate::lenient::decode_base64;

/// Most bytes that the properties of a binary piece take.
const BESIDE: usize = 512;

/// How a requester wants artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArtifactMode {
    /// Within the JSON, as everything else.
    #[default]
    Json,
    /// Bytes as the payload itself.
    Binary,
}

impl ArtifactMode {
    /// What a request says; a word that is not known counts as `json`.
    #[must_use]
    pub fn of(properties: &Properties) -> Self {
        match properties.one(property::ARTIFACT_MODE) {
            Ok(Some("binary")) => Self::Binary,
            _ => Self::Json,
        }
    }

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Binary => "binary",
        }
    }
}

/// An artifact's update as binary pieces of at most `room` bytes, without a topic; `None` where it is something else, or has
/// parts that are no bytes: those go as JSON.
#[must_use]
pub fn binary_pieces(result: &Value, beside: &Properties, room: usize) -> Option<Vec<Publication>> {
    let update = result.get("artifactUpdate")?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let artifact = update.get("artifact")?;
    let known = [
        (property::EVENT_TYPE, Some("task-artifact-update".to_owned())),
        (property::TASK_ID, text(update, "taskId")),
        (property::ARTIFACT_ID, text(artifact, "artifactId")),
        (property::CONTEXT_ID, text(update, "contextId")),
    ];
    let is_last = update
        .get("lastChunk")
        .and_then(Value::as_bool)
        .unwrap_or_default();
    let mut chunks: Vec<(Option<String>, Vec<u8>)> = Vec::new();
    for part in artifact.get("parts")?.as_array()? {
        let bytes = decode_base64(part.get("raw")?.as_str()?)?;
        let media_type = text(part, "mediaType");
        let size = room.saturating_sub(BESIDE).max(1);
        chunks.extend(
            bytes
                .chunks(size)
                .map(|chunk| (media_type.clone(), chunk.to_vec())),
        );
    }
    let count = chunks.len();
    let piece = |(index, (media_type, chunk)): (usize, (Option<String>, Vec<u8>))| {
        let mut properties = beside.clone();
        properties.content_type = Some(media_type.unwrap_or_else(|| "application/octet-stream".to_owned()));
        let known = known.iter().cloned();
        let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        properties.user.extend(known);
        let place = [
            (property::CHUNK, (index + 1).to_string()),
            (property::LAST_CHUNK, (is_last && index + 1 == count).to_string()),
        ];
        properties
            .user
            .extend(place.map(|(name, value)| (name.to_owned(), value)));
        Publication {
            payload: chunk.into(),
            properties,
            ..Publication::default()
        }
    };
    (count > 0).then(|| chunks.into_iter().enumerate().map(piece).collect())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_are_cut_and_numbered_and_everything_else_stays_json() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3_000).collect();
        let parts = json!([{ "raw": STANDARD.encode(&bytes), "mediaType": "image/png" }]);
        let update = |parts: Value| {
            json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "lastChunk": true,
            "artifact": { "artifactId": "a", "parts": parts } } })
        };
        let pieces = binary_pieces(&update(parts), &Properties::default(), 1_512).unwrap();
        let together: Vec<u8> = pieces.iter().flat_map(|piece| piece.payload.to_vec()).collect();
        assert_eq!((pieces.len(), together), (3, bytes));
        let told = |index: usize, name: &str| pieces[index].properties.one(name).unwrap().unwrap().to_owned();
        assert_eq!(
            (told(0, "a2a-chunk-seqno"), told(2, "a2a-chunk-seqno")),
            ("1".to_owned(), "3".to_owned())
        );
        assert_eq!(
            (told(1, "a2a-last-chunk"), told(2, "a2a-last-chunk")),
            ("false".to_owned(), "true".to_owned())
        );
        assert_eq!(pieces[0].properties.content_type.as_deref(), Some("image/png"));
        assert!(!pieces[0].properties.is_text);
        for other in [
            update(json!([{ "text": "x" }])),
            update(json!([])),
            json!({ "task": {} }),
        ] {
            assert!(
                binary_pieces(&other, &Properties::default(), 1_000).is_none(),
                "{other}"
            );
        }
    }
}
