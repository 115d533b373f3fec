//! Answers whose large files go aside while they come in, so that none is ever whole in memory.

use std::time::Duration;

use a2a::sieve::{FilePiece, Sieve, SieveError};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::client::{Ask, failed, unpacked, whole};
use crate::{CallError, Outbound};

/// A file goes aside from so many characters of base64 on: three quarters of a megabyte, of which a task's record keeps two.
const FROM: usize = 1_000_000;
/// Most bytes of an answer with all its files: one file of 70 MB.
const ANSWER_MAX: usize = 100 * 1024 * 1024;
/// How long an answer may take to come in, once it has begun in the usual time.
const COMES_IN: Duration = Duration::from_secs(90);
/// How a file begins that is packed (RFC 1952).
const PACKED: &[u8] = &[0x1f, 0x8b];

/// Where large files go, and by which mark they are named.
#[derive(Clone)]
pub(crate) struct Aside {
    mark: String,
    files: mpsc::Sender<FilePiece>,
}

impl Outbound {
    /// The same way out for one call, in whose answer names stand for large files ([`a2a::sieve::placeholder`] of this mark). The files
    /// go there piece by piece; whoever takes none fails the call.
    #[must_use]
    pub fn sifting(&self, mark: &str, files: mpsc::Sender<FilePiece>) -> Self {
        let (mut sifting, mark) = (self.clone(), mark.to_owned());
        sifting.aside = Some(Aside { mark, files });
        sifting
    }

    /// Sends a request up to the head of the answer, whose body may take longer than that where large files go aside.
    pub(crate) async fn begun(&self, mut ask: Ask<'_>) -> Result<reqwest::Response, CallError> {
        if self.aside.is_none() {
            return self.opened(ask).await;
        }
        let begins = ask.timeout.unwrap_or(self.policy.timeout);
        ask.timeout = Some(begins.saturating_add(COMES_IN));
        let opened = timeout(begins, self.opened(ask)).await;
        opened.map_err(|_| CallError::Timeout)?
    }
}

/// The body of an answer without its large files.
pub(crate) async fn sifted(
    mut response: reqwest::Response,
    aside: &Aside,
    most: usize,
) -> Result<Bytes, CallError> {
    let told = response.content_length();
    if told.is_some_and(|told| usize::try_from(told).is_ok_and(|told| told > ANSWER_MAX)) {
        return Err(CallError::TooLarge(ANSWER_MAX));
    }
    let (mut sieve, mut read) = (Sieve::new(&aside.mark, (FROM, most)), 0_usize);
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if read == 0 && chunk.starts_with(PACKED) {
            let mut body = bytes::BytesMut::from(&*chunk);
            body.extend_from_slice(&whole(response, most.saturating_sub(chunk.len())).await?);
            return unpacked(body.freeze(), most);
        }
        read = read.saturating_add(chunk.len());
        if read > ANSWER_MAX {
            return Err(CallError::TooLarge(ANSWER_MAX));
        }
        let pieces = sieve.read(&chunk).map_err(|error| match error {
            SieveError::TooLong => CallError::TooLarge(most),
            SieveError::NotBase64 => CallError::BadAnswer("a file in it is not base64".to_owned()),
        })?;
        for piece in pieces {
            aside.files.send(piece).await.map_err(|_| CallError::Timeout)?;
        }
    }
    Ok(sieve.left().into())
}
