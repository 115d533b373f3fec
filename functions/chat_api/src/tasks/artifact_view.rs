//! A result of a task as its owner sees it: its parts, and of a file its size and where it can be had.

use domain::{Artifact, Part, PartContent};
use serde_json::{Map, Value, json};
use url::Url;

/// Most bytes of an artifact's content that a list of tasks repeats; more of it has the task's own answer.
pub(crate) const LISTED: usize = 16 * 1024;

/// Takes the parts out of an artifact's view where they are large.
pub(crate) fn in_brief(artifact: &mut Value) {
    let bytes = artifact.get("parts").map_or(0, |parts| parts.to_string().len());
    if let Some(fields) = artifact.as_object_mut().filter(|_| bytes > LISTED) {
        fields.insert("parts".into(), json!([]));
        fields.insert("bytes".into(), json!(bytes));
    }
}

/// Results, whose files lie each at its place: `artifact.part` behind what the places of these begin with.
pub(crate) fn artifacts(all: &[Artifact], begin: &str, files: &impl Fn(String) -> Url) -> Vec<Value> {
    let shown = all.iter().enumerate();
    let shown =
        shown.map(|(number, one)| artifact(one, |part| Some(files(format!("{begin}{number}.{part}")))));
    shown.collect()
}

/// A result; `file` says where its file of that number can be had.
pub(crate) fn artifact(artifact: &Artifact, file: impl Fn(usize) -> Option<Url>) -> Value {
    let parts = artifact.parts.iter().enumerate();
    json!({
        "artifactId": artifact.artifact_id,
        "name": artifact.name,
        "description": artifact.description,
        "parts": parts.map(|(number, one)| part(one, || file(number))).collect::<Vec<_>>(),
    })
}

/// A part as A2A 1.0 writes it: its content under the name of its kind; of a file that lies here how large it is, and where.
fn part(part: &Part, file: impl FnOnce() -> Option<Url>) -> Value {
    let mut shown = Map::new();
    let (kind, content) = match &part.content {
        PartContent::Text(text) => ("text", json!(text)),
        PartContent::Raw(base64) => {
            shown.extend(file().map(|url| ("url".to_owned(), json!(url))));
            ("bytes", json!(store::file_size(base64)))
        }
        // The address is that for A2A's callers.
        PartContent::Url(url) if part.detached().is_some() => {
            shown.insert("bytes".to_owned(), json!(part.detached()));
            ("url", json!(file().map_or_else(|| url.clone(), Url::into)))
        }
        PartContent::Url(url) if is_of_the_web(url) => ("url", json!(url)),
        // Stored by a release that took any: whoever shows it as a link would run it.
        PartContent::Url(url) => ("text", json!(url)),
        PartContent::Data(value) => ("data", value.clone()),
    };
    shown.insert(kind.to_owned(), content);
    let about = [("mediaType", &part.media_type), ("filename", &part.filename)];
    shown.extend(
        about
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), json!(text.as_ref()?)))),
    );
    Value::Object(shown)
}

pub(crate) fn is_of_the_web(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}
