//! Answers whose large files go aside while they come in, so that none is ever whole in memory.

use std::time::Duration;

use a2a::sieve::{FilePiece, Sieve, SieveError};
use tokio::sync::mpsc;

use crate::CallError;

/// A file goes aside from so many characters of base64 on: three quarters of a megabyte, of which a task's record keeps two.
const FROM: usize = 1_000_000;
/// Most bytes of an answer with all its files: one file of 70 MB.
pub(crate) const ANSWER_MAX: usize = 100 * 1024 * 1024;
/// How long an answer may take to come in, once it has begun in the usual time.
pub(crate) const COMES_IN: Duration = Duration::from_secs(90);

/// Where large files go, and by which mark they are named.
#[derive(Clone)]
pub(crate) struct Aside {
    pub(crate) mark: String,
    pub(crate) files: mpsc::Sender<FilePiece>,
}

/// An answer that comes in, without its large files.
pub(crate) struct Sifting<'a> {
    aside: &'a Aside,
    sieve: Sieve,
    read: usize,
    most: usize,
}

impl<'a> Sifting<'a> {
    /// One of which `most` bytes may be left.
    pub(crate) fn new(aside: &'a Aside, most: usize) -> Self {
        Self {
            aside,
            sieve: Sieve::new(&aside.mark, (FROM, most)),
            read: 0,
            most,
        }
    }

    /// Takes in what came.
    pub(crate) async fn take(&mut self, chunk: &[u8]) -> Result<(), CallError> {
        self.read = self.read.saturating_add(chunk.len());
        if self.read > ANSWER_MAX {
            return Err(CallError::TooLarge(ANSWER_MAX));
        }
        let pieces = self.sieve.read(chunk).map_err(|error| match error {
            SieveError::TooLong => CallError::TooLarge(self.most),
            SieveError::NotBase64 => CallError::BadAnswer("a file in it is not base64".to_owned()),
        })?;
        for piece in pieces {
            let taken = self.aside.files.send(piece).await;
            taken.map_err(|_| CallError::Timeout)?;
        }
        Ok(())
    }

    /// What is left of it.
    pub(crate) fn left(self) -> Vec<u8> {
        self.sieve.left()
    }
}
