//! What a job brought, as people and models read it.

use domain::{Job, PartContent};

/// Most characters of structured results that stand in for text.
const DATA_MAX: usize = 2_000;
/// Most bytes of all results that a job is handed.
pub(crate) const HANDED_OVER_MAX: usize = 16_384;

/// What a job brought, in words.
pub(crate) fn text_of(job: &Job) -> String {
    if let Some(text) = job.brought() {
        return text;
    }
    if let Some(text) = job
        .remote()
        .and_then(|remote| remote.text.clone())
        .filter(|text| !text.trim().is_empty())
    {
        return text;
    }
    let parts = job.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let data = parts.filter_map(|part| match &part.content {
        PartContent::Data(value) => Some(value.to_string()),
        PartContent::Url(url) if part.detached().is_none() => Some(url.clone()),
        PartContent::Text(_) | PartContent::Raw(_) | PartContent::Url(_) => None,
    });
    let data: String = data
        .collect::<Vec<_>>()
        .join("\n")
        .chars()
        .take(DATA_MAX)
        .collect();
    if data.is_empty() && job.artifacts.is_empty() {
        "It finished without a result.".to_owned()
    } else {
        data
    }
}
