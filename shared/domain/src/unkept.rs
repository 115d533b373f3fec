//! How much of agents' results a task keeps. What is too large for it is named with its size and not kept, and its job
//! then counts as failed: a task never says that it is completed where something of its result was dropped.

use std::io;

use serde::{Deserialize, Serialize};

use crate::message::joined;
use crate::rest::is_zero;
use crate::{Artifact, Part, PartContent};

/// Most bytes of JSON that the results of all jobs of a task may have together. The write that takes a result in has it
/// twice, in the task and in its log, and DynamoDB takes 4 MB.
pub const RESULTS_MAX: usize = 1_536_000;

/// Most results that all jobs of a task may have together: each is an event and rows of its own, whatever its size.
pub const ARTIFACTS_MAX: usize = 200;

/// Most parts of them: an answer that was streamed may have one for each word.
const PARTS_MAX: usize = 10_000;

/// A part of a result that is too large is left out from so many bytes on; what is shorter is worth keeping.
const BULK: usize = 8 * 1024;

/// Most characters of a result's text that are shown as text; the rest is in the result.
const EXCERPT: usize = 8_000;

/// Most results that are named as not kept; of more of them only the sizes are added up.
const NAMED: usize = 100;

/// Most of those that people read of.
const TOLD: usize = 10;

/// A result of which something was too large to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unkept {
    /// The result.
    pub artifact_id: String,
    /// What it is called: a file's name, or the result's.
    pub name: String,
    /// How many bytes of it are not kept.
    pub bytes: u64,
    /// How many whole results this stands for, which are more than are kept; 0 where it is one that was too large.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub results: u32,
}

/// What the results of other jobs of a task leave for those of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    bytes: usize,
    artifacts: usize,
    parts: usize,
}

impl Room {
    /// Beside these.
    pub(crate) fn beside<'a>(others: impl Iterator<Item = &'a Vec<Artifact>>) -> Self {
        let all = Self {
            bytes: RESULTS_MAX,
            artifacts: ARTIFACTS_MAX,
            parts: PARTS_MAX,
        };
        others.fold(all, |left, taken| Self {
            bytes: left.bytes.saturating_sub(size(taken)),
            artifacts: left.artifacts.saturating_sub(taken.len()),
            parts: left.parts.saturating_sub(parts_of(taken)),
        })
    }
}

fn parts_of(artifacts: &[Artifact]) -> usize {
    artifacts.iter().map(|artifact| artifact.parts.len()).sum()
}

/// The beginning of a text that may be long, for whoever reads it in a chat.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// How many bytes a value has as JSON.
pub(crate) fn size(value: &impl Serialize) -> usize {
    struct Counted(usize);
    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX / 4,
    }
}

/// How many bytes the content of a part has for a person: of a file, those of the file.
fn content(part: &Part) -> u64 {
    if let Some(bytes) = part.left_out() {
        return bytes;
    }
    let bytes = match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => text.len(),
        PartContent::Raw(base64) => base64.trim_end_matches('=').len() * 3 / 4,
        PartContent::Data(value) => size(value),
    };
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A size as people write it.
fn told(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Leaves out of results what is too much: they fit into the room that there is. What was left out once stays out when more of it
/// comes. False where nothing was to be left out.
pub(crate) fn keep_within(room: Room, artifacts: &mut Vec<Artifact>, unkept: &mut Vec<Unkept>) -> bool {
    let too_many = leave_out_many(room, artifacts, unkept);
    let too_large = leave_out_large(room.bytes, artifacts, unkept);
    leave_out_told(artifacts, unkept) || too_large || too_many
}

/// Leaves out files that were too large to be taken in, and nothing else of their results.
fn leave_out_told(artifacts: &mut Vec<Artifact>, unkept: &mut Vec<Unkept>) -> bool {
    let before = parts_of(artifacts);
    for artifact in artifacts.iter_mut() {
        let parts = std::mem::take(&mut artifact.parts);
        let (large, kept) = parts.into_iter().partition(|part| part.left_out().is_some());
        artifact.parts = kept;
        name_unkept(artifact, "", large, unkept);
    }
    artifacts.retain(|artifact| !artifact.parts.is_empty());
    parts_of(artifacts) < before
}

/// Leaves out the results, and the parts of them, that are too many. Results are counted, as their names would be too many too.
fn leave_out_many(room: Room, artifacts: &mut Vec<Artifact>, unkept: &mut Vec<Unkept>) -> bool {
    let more = artifacts.split_off(artifacts.len().min(room.artifacts));
    let bytes = more
        .iter()
        .flat_map(|artifact| &artifact.parts)
        .map(content)
        .sum::<u64>();
    let results = u32::try_from(more.len()).unwrap_or(u32::MAX);
    match unkept.iter_mut().find(|known| known.results > 0) {
        _ if more.is_empty() => {}
        Some(known) => {
            known.results = known.results.saturating_add(results);
            known.bytes = known.bytes.saturating_add(bytes);
        }
        None => unkept.push(Unkept {
            artifact_id: String::new(),
            name: String::new(),
            bytes,
            results,
        }),
    }
    let mut left = room.parts;
    let has_more_parts = parts_of(artifacts) > left;
    for artifact in artifacts.iter_mut() {
        let more = artifact.parts.split_off(artifact.parts.len().min(left));
        left -= artifact.parts.len();
        name_unkept(artifact, &artifact.artifact_id, more, unkept);
    }
    if has_more_parts {
        artifacts.retain(|artifact| !artifact.parts.is_empty());
    }
    !more.is_empty() || has_more_parts
}

/// Leaves out what is too large, so that the results have at most so many bytes of JSON.
fn leave_out_large(most: usize, artifacts: &mut Vec<Artifact>, unkept: &mut Vec<Unkept>) -> bool {
    let broken = |artifact: &Artifact, unkept: &[Unkept]| {
        unkept
            .iter()
            .any(|known| known.results == 0 && known.artifact_id == artifact.artifact_id)
    };
    let fits = size(artifacts) <= most;
    if fits && !artifacts.iter().any(|artifact| broken(artifact, unkept)) {
        return false;
    }
    for least in [BULK, 0] {
        for artifact in artifacts.iter_mut() {
            if !fits || broken(artifact, unkept) {
                leave_out(artifact, least, unkept);
            }
        }
        artifacts.retain(|artifact| !artifact.parts.is_empty());
        if size(artifacts) <= most {
            break;
        }
    }
    true
}

/// What a job says whose results could not be kept whole: its words, those of its results that are there, and what is not.
pub(crate) fn words(said: Option<&String>, artifacts: &[Artifact], unkept: &[Unkept]) -> String {
    let texts = artifacts.iter().map(Artifact::text);
    let mut said: Vec<String> = said.into_iter().cloned().chain(texts).collect();
    said.retain(|text| !text.trim().is_empty());
    let large = || unkept.iter().filter(|unkept| unkept.results == 0);
    let names = large().map(|unkept| format!("{} ({})", unkept.name, told(unkept.bytes)));
    let mut names: Vec<String> = names.take(TOLD).collect();
    if let Some(more) = large().count().checked_sub(TOLD).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    let large = format!("What it brought is too large to keep here: {}.", names.join(", "));
    let large = Some(large).filter(|_| !names.is_empty());
    let more = unkept.iter().find(|unkept| unkept.results > 0).map(|more| {
        let (results, bytes) = (more.results, told(more.bytes));
        format!("It brought more results than the {ARTIFACTS_MAX} that are kept here: {results} are left out ({bytes}).")
    });
    let missing: Vec<String> = large.into_iter().chain(more).collect();
    let missing = missing.join(" ");
    match excerpt(&said.join("\n")) {
        said if said.is_empty() => missing,
        said => format!("{said}\n{missing}"),
    }
}

/// The texts of results, and the files among them that are too long to be read in a chat, by name and size.
pub(crate) fn texts_and_files(artifacts: &[Artifact]) -> (Vec<String>, Vec<String>) {
    let mut files = Vec::new();
    let mut read_in_chat = |part: &&Part| match (&part.content, &part.filename) {
        (PartContent::Text(text), Some(name)) if text.chars().count() > EXCERPT => {
            files.push(format!("{name} ({})", told(content(part))));
            false
        }
        _ => true,
    };
    let texts = artifacts.iter().map(|artifact| {
        let shown: Vec<&Part> = artifact.parts.iter().filter(&mut read_in_chat).collect();
        joined(shown)
    });
    let texts = texts.collect();
    (texts, files)
}

/// Takes the parts out that have more bytes than this.
fn leave_out(artifact: &mut Artifact, least: usize, unkept: &mut Vec<Unkept>) {
    let (large, kept): (Vec<Part>, Vec<Part>) = std::mem::take(&mut artifact.parts)
        .into_iter()
        .partition(|part| size(part) > least);
    artifact.parts = kept;
    name_unkept(artifact, &artifact.artifact_id, large, unkept);
}

/// Names parts of a result that are not kept; by this id, of which more is left out when it comes.
fn name_unkept(artifact: &Artifact, id: &str, parts: Vec<Part>, unkept: &mut Vec<Unkept>) {
    let own = &artifact.artifact_id;
    for part in parts {
        let names = [part.filename.as_ref(), artifact.name.as_ref(), Some(own)];
        let name = names.into_iter().flatten().find(|name| !name.trim().is_empty());
        let name: String = name.unwrap_or(own).chars().take(120).collect();
        let bytes = content(&part);
        let full = unkept.len() >= NAMED;
        let known = |known: &&mut Unkept| {
            known.results == 0 && (full || (known.artifact_id == id && known.name == name))
        };
        match unkept.iter_mut().rev().find(known) {
            Some(known) => known.bytes = known.bytes.saturating_add(bytes),
            None => unkept.push(Unkept {
                artifact_id: id.to_owned(),
                name,
                bytes,
                results: 0,
            }),
        }
    }
}
