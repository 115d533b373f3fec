//! Sentences as vectors: the door that engines of embeddings stand behind, in this process or hosted.

use async_trait::async_trait;

/// What a sentence means, as a direction: near sentences have a cosine near 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Box<[f32]>);

impl Vector {
    /// Takes numbers as a direction; their length is brought to 1.
    #[must_use]
    pub fn of(mut numbers: Vec<f32>) -> Self {
        let length = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
        numbers
            .iter_mut()
            .for_each(|x| *x /= length.max(f32::MIN_POSITIVE));
        Self(numbers.into())
    }

    /// The cosine between two directions, -1 to 1.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// The numbers, of length 1 together.
    #[must_use]
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }
}

/// Why a text has no vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The engine cannot be asked now; a later try may succeed.
    #[error("the engine of embeddings cannot be asked")]
    Unavailable,
    /// The engine failed at the text.
    #[error("the engine of embeddings failed")]
    Failed,
}

/// An engine that makes vectors of sentences. Vectors of different models cannot be compared.
#[async_trait]
pub trait Embed: Send + Sync {
    /// The model's name: vectors are kept under it.
    fn model(&self) -> &str;

    /// One vector for each text, in their order.
    ///
    /// # Errors
    /// [`EmbedError`] where one of them has none.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;
}
