//! Chunking of big artifacts, so that a stream can show them piece by piece.

use domain::{Artifact, Event, EventKind, Part, PartContent};

/// The event in pieces of about `max_bytes`, split between an artifact's parts; a part stays whole, and so does every
/// other event.
pub(crate) fn split(event: &Event, max_bytes: usize) -> Vec<Event> {
    let EventKind::Artifact {
        artifact,
        append,
        last_chunk,
    } = &event.kind
    else {
        return vec![event.clone()];
    };
    let mut runs: Vec<Vec<Part>> = Vec::new();
    let mut room = 0;
    for part in &artifact.parts {
        let size = size(part);
        match runs.last_mut() {
            Some(run) if size <= room => {
                room -= size;
                run.push(part.clone());
            }
            _ => {
                room = max_bytes.saturating_sub(size);
                runs.push(vec![part.clone()]);
            }
        }
    }
    if runs.len() < 2 {
        return vec![event.clone()];
    }
    let last = runs.len() - 1;
    let piece = |(index, parts)| Event {
        seq: event.seq,
        at: event.at,
        kind: EventKind::Artifact {
            artifact: Artifact {
                artifact_id: artifact.artifact_id.clone(),
                name: artifact.name.clone(),
                description: artifact.description.clone(),
                parts,
                metadata: artifact.metadata.clone(),
                extensions: artifact.extensions.clone(),
            },
            append: *append || index > 0,
            last_chunk: *last_chunk && index == last,
        },
    };
    runs.into_iter().enumerate().map(piece).collect()
}

/// About how many bytes the part takes on the wire.
fn size(part: &Part) -> usize {
    let content = match &part.content {
        PartContent::Text(text) | PartContent::Raw(text) | PartContent::Url(text) => text.len(),
        PartContent::Data(data) => data.to_string().len(),
    };
    content.saturating_add(64)
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    fn event(parts: Vec<Part>) -> Event {
        Event {
            seq: 7,
            at: Timestamp::from_millis(1),
            kind: EventKind::artifact(Artifact::new("a", parts).named("A")),
        }
    }

    #[test]
    fn the_pieces_put_together_are_the_artifact() {
        let parts: Vec<Part> = (0..10).map(|n| Part::text(n.to_string().repeat(100))).collect();
        let whole = event(parts);
        let pieces = split(&whole, 500);
        assert_eq!(pieces.len(), 4);
        let mut together = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let EventKind::Artifact {
                artifact,
                append,
                last_chunk,
            } = &piece.kind
            else {
                panic!("{piece:?}")
            };
            assert_eq!((*append, *last_chunk, piece.seq), (index > 0, index == 3, 7));
            artifact.clone().merge_into(&mut together, *append);
        }
        assert_eq!(EventKind::artifact(together.remove(0)), whole.kind);
    }

    #[test]
    fn what_cannot_be_split_stays_whole() {
        let big = event(vec![Part::text("x".repeat(9_000))]);
        assert_eq!(split(&big, 10), [big]);
        let none = event(Vec::new());
        assert_eq!(split(&none, 10), [none]);
        let small = event(vec![Part::text("a"), Part::data(serde_json::json!({}))]);
        assert_eq!(split(&small, 10_000), [small]);
    }
}
