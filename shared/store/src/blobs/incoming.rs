//! Large things that come in piece by piece, of which nobody knows the length or the hash before their end, and go out the same way.

use async_trait::async_trait;
use domain::Task;
use sha2::{Digest as _, Sha256};

use super::{BlobKey, hash_of, hex, is_hash};
use crate::tasks::TaskKey;
use crate::{StoreError, Tasks};

/// Bytes of each part that is written but the last: S3 takes no fewer.
pub const PART: usize = 5 * 1024 * 1024;

/// A blob that is written part by part. Without its end nothing of it is there.
#[async_trait]
pub trait Incoming: Send {
    /// Writes the next part: [`PART`] bytes, or fewer where it is the last.
    ///
    /// # Errors
    /// What the place says.
    async fn write(&mut self, part: Vec<u8>) -> Result<(), StoreError>;

    /// Keeps what was written.
    ///
    /// # Errors
    /// What the place says.
    async fn end(self: Box<Self>) -> Result<(), StoreError>;
}

/// A file of a task that comes in.
pub struct Receiving {
    to: Box<dyn Incoming>,
    name: String,
    open: Vec<u8>,
    hash: Sha256,
    size: u64,
}

/// A file that lies beside a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// What it is called among the large things of its task.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
    /// Their SHA-256, in hex.
    pub sha256: String,
}

impl Receiving {
    /// Takes the next bytes in.
    ///
    /// # Errors
    /// What the blob store says.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        self.hash.update(bytes);
        self.size = self
            .size
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        while !bytes.is_empty() {
            let (now, more) = bytes.split_at(bytes.len().min(PART - self.open.len()));
            self.open.extend_from_slice(now);
            bytes = more;
            if self.open.len() == PART {
                self.to.write(std::mem::take(&mut self.open)).await?;
            }
        }
        Ok(())
    }

    /// Keeps the file.
    ///
    /// # Errors
    /// What the blob store says.
    pub async fn end(mut self) -> Result<Received, StoreError> {
        if !self.open.is_empty() || self.size == 0 {
            self.to.write(self.open).await?;
        }
        self.to.end().await?;
        Ok(Received {
            name: self.name,
            size: self.size,
            sha256: hex(&self.hash.finalize()),
        })
    }
}

impl Tasks<'_> {
    /// Takes a file in that is to lie beside this task, and goes with it. Its name is made of a seed that no other file has. None where
    /// there is no blob store.
    ///
    /// # Errors
    /// What the blob store says.
    pub async fn receive(&self, key: &TaskKey, seed: &str) -> Result<Option<Receiving>, StoreError> {
        let Some(blobs) = &self.store.blobs else {
            return Ok(None);
        };
        let place = BlobKey {
            owner: key.task().0,
            hash: hash_of(seed.as_bytes()),
        };
        let to = blobs.begin(&place).await?;
        Ok(Some(Receiving {
            to,
            name: place.hash,
            open: Vec::new(),
            hash: Sha256::new(),
            size: 0,
        }))
    }

    /// So many bytes of a file that lies beside this task, from that one on, fewer where it ends before; `None` where there is no such file.
    ///
    /// # Errors
    /// What the blob store says.
    pub async fn piece(
        &self,
        task: &Task,
        name: &str,
        (from, most): (u64, usize),
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(blobs) = self.store.blobs.as_ref().filter(|_| is_hash(name)) else {
            return Ok(None);
        };
        let place = BlobKey {
            owner: TaskKey::from(task).task().0,
            hash: name.to_owned(),
        };
        blobs.piece(&place, from, most).await
    }
}
