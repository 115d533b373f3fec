//! The data folder: one system at a time, files that only their owner reads, writes that are whole or absent.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::StartError;

/// An open data folder; the lock is held as long as this lives.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Opens the folder, making it first where it is missing.
    ///
    /// # Errors
    /// Where another system has it, or it cannot be made.
    pub fn open(path: &Path) -> Result<Self, StartError> {
        make(path)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join("lock"))
            .map_err(StartError::at(path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(StartError::Busy(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(StartError::at(path)(source)),
        }
    }

    /// The path of a file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Makes a folder that only its owner reads, and those above it, where they are missing.
///
/// # Errors
/// Where it cannot be made.
pub fn make(path: &Path) -> Result<(), StartError> {
    let mut maker = DirBuilder::new();
    let made = maker.recursive(true).mode(0o700).create(path);
    made.map_err(StartError::at(path))
}

/// Reads a text file; `None` where there is none.
///
/// # Errors
/// Where it cannot be read, or is not text.
pub fn read(path: &Path) -> Result<Option<String>, StartError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
        Err(fault) if fault.kind() == ErrorKind::InvalidData => Err(StartError::Damaged {
            path: path.to_owned(),
            reason: "is not text".to_owned(),
        }),
        Err(source) => Err(StartError::at(path)(source)),
    }
}

/// Writes a file that only its owner can read: under another name first, so that a reader or a crash finds it whole.
///
/// # Errors
/// Where it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), StartError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let draft = path.with_file_name(name);
    let write = || {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    };
    write().map_err(|source| {
        let _gone = std::fs::remove_file(&draft);
        StartError::at(path)(source)
    })
}

/// Writes behind what a file holds, which only its owner can read: all of it, or nothing.
pub(crate) fn append(path: &Path, text: &str) -> Result<(), StartError> {
    let write = || {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(path)?;
        let before = whole_lines(&mut file)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            file.set_len(before)?;
        }
        written
    };
    write().map_err(StartError::at(path))
}

/// Cuts off what a crash left half written; how much is there.
fn whole_lines(file: &mut File) -> std::io::Result<u64> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == *b"\n" {
        return Ok(length);
    }
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut all)?;
    let whole = all
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let whole = u64::try_from(whole).unwrap_or(0);
    file.set_len(whole)?;
    Ok(whole)
}

/// Removes a file, where it is there.
pub(crate) fn remove(path: &Path) -> Result<(), StartError> {
    match std::fs::remove_file(path) {
        Err(fault) if fault.kind() != ErrorKind::NotFound => Err(StartError::at(path)(fault)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_takes_one_system_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/data");
        let first = Folder::open(&path).unwrap();
        assert!(matches!(Folder::open(&path), Err(StartError::Busy(_))));
        drop(first);
        assert!(Folder::open(&path).is_ok());
    }

    #[test]
    fn what_is_written_is_whole_and_private() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("secrets.json");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_the_folders_place_is_told() {
        let place = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(
            Folder::open(place.path()),
            Err(StartError::Folder { .. })
        ));
    }
}
