//! Results that fit into a packet: artifacts in pieces, and what cannot be cut named with its size.

use serde_json::{Map, Value, json};

/// The result as items of at most `limit` bytes each, of which the last tells what the whole did.
///
/// A task that does not fit loses its messages, which the requester sent itself, and then tells its artifacts one by one
/// before it. Text and bytes of an artifact are cut (`append`, `lastChunk`); structured data, addresses and the message of a
/// status cannot be, and are named in a sentence instead.
#[must_use]
pub fn fit(mut result: Value, limit: usize) -> Vec<Value> {
    if size(&result) <= limit {
        return vec![result];
    }
    if let Some(update) = result.get("artifactUpdate") {
        return pieces(update, limit);
    }
    if result.get("task").is_some() {
        return task(result, limit);
    }
    name_message(&mut result, limit);
    vec![result]
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

fn task(mut result: Value, limit: usize) -> Vec<Value> {
    let Some(Value::Object(fields)) = result.get_mut("task") else {
        return vec![result];
    };
    fields.remove("history");
    let ids = ["id", "contextId"].map(|name| fields.get(name).cloned().unwrap_or_default());
    let artifacts = fields.get("artifacts").cloned();
    if size(&result) <= limit {
        return vec![result];
    }
    let [task_id, context_id] = ids;
    let artifacts = artifacts.as_ref().and_then(Value::as_array).into_iter().flatten();
    let updates = artifacts.map(|artifact| {
        json!({ "taskId": task_id, "contextId": context_id, "artifact": artifact, "append": false, "lastChunk": true })
    });
    let mut items: Vec<Value> = updates.flat_map(|update| pieces(&update, limit)).collect();
    if let Some(Value::Object(fields)) = result.get_mut("task") {
        fields.remove("artifacts");
    }
    name_message(&mut result, limit);
    items.push(result);
    items
}

/// The parts of a message that is too large, its own or a status', become one sentence.
fn name_message(result: &mut Value, limit: usize) {
    let whole = size(result);
    if whole <= limit {
        return;
    }
    for path in ["/statusUpdate/status/message", "/task/status/message", "/message"] {
        if let Some(Value::Object(message)) = result.pointer_mut(path) {
            message.insert("parts".to_owned(), json!([named("The message", whole)]));
        }
    }
}

fn named(what: &str, bytes: usize) -> Value {
    json!({ "text": format!("{what} of {bytes} bytes is too large for a packet of this broker, and was left out.") })
}

/// An artifact's update in pieces.
fn pieces(update: &Value, limit: usize) -> Vec<Value> {
    let mut bare = update.clone();
    if let Some(parts) = bare.pointer_mut("/artifact/parts") {
        *parts = json!([]);
    }
    // What is free may be large as well; an artifact is known by its id.
    if size(&bare) > limit / 2 {
        for path in ["/artifact/metadata", "/artifact/description", "/metadata"] {
            if let Some((parent, name)) = path.rsplit_once('/')
                && let Some(Value::Object(fields)) = bare.pointer_mut(parent)
            {
                fields.remove(name);
            }
        }
    }
    let room = limit.saturating_sub(size(&bare)).saturating_sub(64);
    let parts = update.pointer("/artifact/parts").and_then(Value::as_array);
    let cut = parts
        .into_iter()
        .flatten()
        .flat_map(|part| part_pieces(part, room));
    let mut runs: Vec<Vec<Value>> = Vec::new();
    let mut left = 0;
    for part in cut {
        let takes = size(&part) + 1;
        match runs.last_mut() {
            Some(run) if takes <= left => {
                left -= takes;
                run.push(part);
            }
            _ => {
                left = room.saturating_sub(takes);
                runs.push(vec![part]);
            }
        }
    }
    // An artifact without parts is still told of.
    if runs.is_empty() {
        runs.push(Vec::new());
    }
    let flag = |name: &str| update.get(name).and_then(Value::as_bool).unwrap_or_default();
    let (append, is_last, count) = (flag("append"), flag("lastChunk"), runs.len());
    let piece = |(index, parts): (usize, Vec<Value>)| {
        let mut piece = bare.clone();
        if let Some(fields) = piece.as_object_mut() {
            fields.insert("append".to_owned(), json!(append || index > 0));
            fields.insert("lastChunk".to_owned(), json!(is_last && index + 1 == count));
        }
        if let Some(Value::Object(artifact)) = piece.get_mut("artifact") {
            artifact.insert("parts".to_owned(), json!(parts));
        }
        json!({ "artifactUpdate": piece })
    };
    runs.into_iter().enumerate().map(piece).collect()
}

/// A part as parts of at most `room` bytes each.
fn part_pieces(part: &Value, room: usize) -> Vec<Value> {
    if size(part) <= room {
        return vec![part.clone()];
    }
    let Some(fields) = part.as_object() else {
        return vec![named("A part", size(part))];
    };
    let beside: usize = fields
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "text" | "raw"))
        .map(|(name, value)| name.len() + size(value) + 4)
        .sum();
    let room = room.saturating_sub(beside + 16);
    let with = |name: &str, value: &str| {
        let mut cut: Map<String, Value> = fields.clone();
        cut.insert(name.to_owned(), json!(value));
        Value::Object(cut)
    };
    match (fields.get("text"), fields.get("raw")) {
        (Some(Value::String(text)), None) if room >= 8 => {
            text_pieces(text, room).map(|text| with("text", text)).collect()
        }
        (None, Some(Value::String(raw))) if room >= 4 => {
            base64_pieces(raw, room).map(|raw| with("raw", raw)).collect()
        }
        _ => vec![named("A part", size(part))],
    }
}

/// Pieces of a text that take at most `room` bytes each as JSON.
fn text_pieces(mut text: &str, room: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let mut taken = 0;
        let fits = text.char_indices().take_while(|(_, c)| {
            taken += match c {
                '"' | '\\' => 2,
                c if u32::from(*c) < 0x20 => 6,
                c => c.len_utf8(),
            };
            taken <= room
        });
        let end = fits.last().map_or(0, |(at, c)| at + c.len_utf8());
        // A room without space for one character cannot be asked for, and must not go round for ever.
        let end = if end == 0 { text.len() } else { end };
        let (piece, rest) = text.split_at(end);
        text = rest;
        Some(piece)
    })
}

/// Pieces of base64, each of which is base64 itself.
fn base64_pieces(mut raw: &str, room: usize) -> impl Iterator<Item = &str> {
    let whole = (room / 4).max(1) * 4;
    std::iter::from_fn(move || {
        let (piece, rest) = raw.split_at_checked(raw.floor_char_boundary(whole))?;
        raw = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn update(parts: Value) -> Value {
        json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "append": false, "lastChunk": true,
            "artifact": { "artifactId": "a", "name": "A", "parts": parts } } })
    }

    fn parts(items: &[Value]) -> Vec<Value> {
        let of = |item: &Value| {
            item["artifactUpdate"]["artifact"]["parts"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        };
        items.iter().flat_map(of).collect()
    }

    #[test]
    fn bytes_are_cut_where_base64_can_be() {
        let bytes: Vec<u8> = (0..=255).cycle().take(5_001).collect();
        let items = fit(
            update(json!([{ "raw": STANDARD.encode(&bytes), "filename": "x.bin" }])),
            1_000,
        );
        assert!(items.iter().all(|item| size(item) <= 1_000) && items.len() > 6);
        let cut = parts(&items);
        let together: Vec<u8> = cut
            .iter()
            .flat_map(|part| STANDARD.decode(part["raw"].as_str().unwrap()).unwrap())
            .collect();
        assert_eq!(together, bytes);
        assert!(cut.iter().all(|part| part["filename"] == "x.bin"));
    }

    #[test]
    fn what_cannot_be_cut_is_named_with_its_size() {
        let items = fit(
            update(json!([{ "data": { "x": "y".repeat(2_000) } }, { "text": "beside" }])),
            1_000,
        );
        let told = parts(&items);
        assert!(
            told[0]["text"].as_str().unwrap().contains("2017 bytes"),
            "{told:?}"
        );
        assert_eq!(told[1]["text"], "beside");
        let status = json!({ "statusUpdate": { "status": { "state": "TASK_STATE_FAILED", "message": { "parts": [{ "text": "y".repeat(2_000) }] } } } });
        let told = fit(status, 1_000);
        assert_eq!(
            (told.len(), &told[0]["statusUpdate"]["status"]["state"]),
            (1, &json!("TASK_STATE_FAILED"))
        );
        assert!(size(&told[0]) <= 1_000);
    }

    #[test]
    fn a_large_task_tells_its_artifacts_before_itself() {
        let task = |history: usize, text: usize| {
            json!({ "task": { "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
                "history": [{ "parts": [{ "text": "h".repeat(history) }] }],
                "artifacts": [{ "artifactId": "a", "parts": [{ "text": "x".repeat(text) }] }] } })
        };
        assert_eq!(fit(task(10, 10), 1_000), [task(10, 10)]);
        let without = fit(task(2_000, 10), 1_000);
        assert_eq!(without.len(), 1);
        assert!(without[0]["task"]["history"].is_null() && without[0]["task"]["artifacts"].is_array());
        let items = fit(task(10, 3_000), 1_000);
        let (last, before) = items.split_last().unwrap();
        assert_eq!(last["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert!(last["task"]["artifacts"].is_null());
        let text: String = parts(before)
            .iter()
            .map(|part| part["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(text.len(), 3_000);
        assert!(items.iter().all(|item| size(item) <= 1_000));
    }

    proptest! {
        #[test]
        fn any_text_comes_whole_in_pieces_that_fit(text in "(\\PC|[\"\\\\\n\u{1}]){0,600}", limit in 400_usize..900) {
            let items = fit(update(json!([{ "text": text }, { "text": "end" }])), limit);
            prop_assert!(items.iter().all(|item| size(item) <= limit), "{limit}");
            let together: String = parts(&items).iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect();
            prop_assert_eq!(together, format!("{text}end"));
        }

        #[test]
        fn no_result_breaks_the_cutting(result in json_of_anything(), limit in 0_usize..100) {
            prop_assert!(!fit(result, limit).is_empty());
        }
    }

    fn json_of_anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            ".{0,80}".prop_map(Value::from)
        ];
        let name = prop::sample::select(vec![
            "task",
            "artifactUpdate",
            "statusUpdate",
            "status",
            "message",
            "artifact",
            "parts",
            "artifacts",
            "text",
            "raw",
            "x",
        ]);
        leaf.prop_recursive(5, 40, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }
}
