//! A folder as a blob store: of the local system, and of tests.
//!
//! A directory for each owner, in it a file for each blob. Names are percent-encoded but for letters and digits, so that none leads out of the
//! folder; a long one is a directory within another.

use std::fs;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use domain::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{BlobKey, BlobScope, Blobs, Incoming, LISTED_MAX, ListedBlob};
use crate::StoreError;
use crate::error::unavailable;

/// Most bytes of a directory's name: file systems take 255.
const NAME_MAX: usize = 200;
/// What the name ends with of a directory in which the rest of a long name is.
const GOES_ON: char = '+';
/// What tells apart the files that this process is writing; a file's name goes on with it behind the hash until the file is whole.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Blobs in a folder.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The blobs in this folder, which is made with the first of them.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn directory(&self, owner: &str) -> PathBuf {
        let name = utf8_percent_encode(owner, NON_ALPHANUMERIC).to_string();
        let (mut place, mut rest) = (self.root.clone(), name.as_str());
        while let Some((some, more)) = rest.split_at_checked(NAME_MAX) {
            place.push(format!("{some}{GOES_ON}"));
            rest = more;
        }
        place.join(rest)
    }

    fn file(&self, key: &BlobKey) -> PathBuf {
        self.directory(key.owner()).join(key.hash())
    }

    /// Runs what waits for a disk where it holds up nobody.
    async fn at<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let own = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&own)).await;
        done.map_err(unavailable(operation))?
            .map_err(unavailable(operation))
    }
}

/// `None` of what is not there.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file that is there as a whole or not at all, also after a loss of power.
struct Unfinished {
    file: fs::File,
    at: PathBuf,
    place: PathBuf,
}

impl Unfinished {
    fn begin(place: PathBuf) -> io::Result<Self> {
        let directory = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::create_dir_all(directory)?;
        let number = WRITES.fetch_add(1, Ordering::Relaxed);
        let at = place.with_extension(format!("{}-{number}", std::process::id()));
        let file = fs::File::create_new(&at)?;
        Ok(Self { file, at, place })
    }

    fn end(&self) -> io::Result<()> {
        let directory = self.place.parent().ok_or(io::ErrorKind::InvalidInput)?;
        self.file.sync_all()?;
        fs::rename(&self.at, &self.place)?;
        fs::File::open(directory)?.sync_all()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It is not there once it has its name.
        _ = fs::remove_file(&self.at);
    }
}

/// A blob of the folder that comes in parts.
struct Parts {
    folder: Folder,
    file: Arc<Unfinished>,
}

#[async_trait]
impl Incoming for Parts {
    async fn write(&mut self, part: Vec<u8>) -> Result<(), StoreError> {
        let file = Arc::clone(&self.file);
        let written = self.folder.at("PutBlob", move |_| (&file.file).write_all(&part));
        written.await
    }

    async fn end(self: Box<Self>) -> Result<(), StoreError> {
        let Self { folder, file } = *self;
        folder.at("PutBlob", move |_| file.end()).await
    }
}

/// Collects the blobs below a directory whose owner's name begins so.
fn walk(directory: &Path, name: &str, wanted: &str, found: &mut Vec<ListedBlob>) -> io::Result<()> {
    let Some(entries) = there(fs::read_dir(directory))? else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name();
        let Some(file) = file.to_str() else { continue };
        if entry.file_type()?.is_dir() {
            let name = format!("{name}{}", file.trim_end_matches(GOES_ON));
            let whole = percent_decode_str(&name).decode_utf8_lossy();
            let fits = whole.starts_with(wanted) || wanted.starts_with(&*whole);
            if fits || file.ends_with(GOES_ON) {
                walk(&entry.path(), &name, wanted, found)?;
            }
            continue;
        }
        let owner = percent_decode_str(name).decode_utf8_lossy();
        // What a death left unfinished goes with the rest of its owner.
        let hash = file.split('.').next().unwrap_or_default();
        let key = BlobKey::parse(&format!("{}/{hash}", super::escaped(&owner)));
        if let Some(key) = key.filter(|_| owner.starts_with(wanted)) {
            let changed = entry.metadata()?.modified()?.duration_since(UNIX_EPOCH);
            let millis = changed.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
            let put_at = Timestamp::from_millis(millis);
            found.push(ListedBlob { key, put_at });
        }
    }
    Ok(())
}

#[async_trait]
impl Blobs for Folder {
    async fn put(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), StoreError> {
        let (place, bytes) = (self.file(key), bytes.to_vec());
        self.at("PutBlob", move |_| {
            let mut unfinished = Unfinished::begin(place)?;
            unfinished.file.write_all(&bytes)?;
            unfinished.end()
        })
        .await
    }

    async fn begin(&self, key: &BlobKey) -> Result<Box<dyn Incoming>, StoreError> {
        let place = self.file(key);
        let file = self.at("PutBlob", move |_| Unfinished::begin(place)).await?;
        Ok(Box::new(Parts {
            folder: self.clone(),
            file: Arc::new(file),
        }))
    }

    async fn piece(&self, key: &BlobKey, from: u64, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let place = self.file(key);
        self.at("GetBlob", move |_| {
            let Some(mut file) = there(fs::File::open(place))? else {
                return Ok(None);
            };
            file.seek(io::SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(u64::try_from(most).unwrap_or(u64::MAX))
                .read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        })
        .await
    }

    async fn get(&self, key: &BlobKey, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let place = self.file(key);
        self.at("GetBlob", move |_| {
            let Some(file) = there(fs::File::open(place))? else {
                return Ok(None);
            };
            let mut bytes = Vec::new();
            let more = u64::try_from(most).map_or(u64::MAX, |most| most.saturating_add(1));
            file.take(more).read_to_end(&mut bytes)?;
            (bytes.len() <= most)
                .then_some(Some(bytes))
                .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the blob is larger than it was"))
        })
        .await
    }

    async fn delete(&self, key: &BlobKey) -> Result<(), StoreError> {
        let place = self.file(key);
        self.at("DeleteBlob", move |own| {
            there(fs::remove_file(&place))?;
            let directory = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
            let hash = place.file_name().unwrap_or_default().to_string_lossy();
            for entry in there(fs::read_dir(directory))?.into_iter().flatten() {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(&*hash) {
                    there(fs::remove_file(entry.path()))?;
                }
            }
            // The last one of an owner takes the directories along; those that have something in them stay.
            let above = place.ancestors().skip(1).take_while(|above| *above != own.root);
            for directory in above {
                if fs::remove_dir(directory).is_err() {
                    break;
                }
            }
            Ok(())
        })
        .await
    }

    async fn list(&self, scope: &BlobScope, after: Option<&BlobKey>) -> Result<Vec<ListedBlob>, StoreError> {
        let (scope, after) = (scope.clone(), after.map(BlobKey::path));
        self.at("ListBlobs", move |own| {
            let mut found = Vec::new();
            match &scope {
                BlobScope::Owner(owner) => {
                    let name = utf8_percent_encode(owner, NON_ALPHANUMERIC).to_string();
                    walk(&own.directory(owner), &name, owner, &mut found)?;
                    found.retain(|one| one.key.owner() == owner);
                }
                wider => walk(&own.root, "", &wider.prefix(), &mut found)?,
            }
            found.retain(|one| after.as_ref().is_none_or(|after| one.key.path() > *after));
            found.sort_by_key(|one| one.key.path());
            found.dedup_by(|one, other| one.key == other.key);
            found.truncate(LISTED_MAX);
            Ok(found)
        })
        .await
    }
}
