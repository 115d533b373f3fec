//! Whether the disk is full. SQLite does not always say so: what it cannot write beside its file is an I/O error like any
//! other.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a write of the database wants at the least, in bytes.
static LEAST: [u8; 64 * 1024] = [0; 64 * 1024];

/// The room where a database's file lies.
pub(crate) struct Room {
    /// What is written to see whether there is any; none for a database in memory.
    probe: Option<PathBuf>,
    full: AtomicBool,
}

impl Room {
    pub(crate) fn beside(file: Option<&Path>) -> Self {
        Self {
            probe: file.map(|file| file.with_extension("room")),
            full: AtomicBool::new(false),
        }
    }

    /// Something failed for a reason that is not its client's. Says in the log where it was that the disk is full, once.
    pub(crate) fn failed(&self) {
        let full = self.is_used_up();
        if full && !self.full.swap(full, Ordering::Relaxed) {
            tracing::error!("the disk is full: nothing can be stored until there is room again");
        }
    }

    /// Something was done.
    pub(crate) fn written(&self) {
        if self.is_full() && !self.is_used_up() {
            self.full.store(false, Ordering::Relaxed);
            tracing::warn!("the disk has room again");
        }
    }

    /// Whether the last failure was that.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn is_used_up(&self) -> bool {
        let Some(probe) = &self.probe else { return false };
        let written = std::fs::File::create(probe).and_then(|mut file| {
            file.write_all(&LEAST)?;
            file.sync_all()
        });
        // Where it cannot be removed, it is written over the next time.
        let _gone = std::fs::remove_file(probe);
        written.is_err_and(|fault| matches!(fault.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
    }
}
