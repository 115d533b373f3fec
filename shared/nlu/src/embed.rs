//! Sentences as vectors: the door that engines of embeddings stand behind, in this process or hosted.

use async_trait::async_trait;

/// Most numbers of a vector.
pub const WIDTH_MAX: usize = 2_048;

/// What a sentence means, as a direction: near sentences have a cosine near 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Box<[f32]>);

impl Vector {
    /// Numbers that somebody else made, as a direction; none where there are none or too many of them, or they point nowhere.
    #[must_use]
    pub fn read(numbers: Vec<f32>) -> Option<Self> {
        let length: f32 = numbers.iter().map(|x| x * x).sum();
        let is_direction = length.is_normal() && (1..=WIDTH_MAX).contains(&numbers.len());
        is_direction.then(|| Self::of(numbers))
    }

    /// Takes numbers as a direction; their length is brought to 1.
    pub(crate) fn of(mut numbers: Vec<f32>) -> Self {
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The engine cannot be asked now; a later try may succeed.
    #[error("the engine of embeddings cannot be asked")]
    Unavailable,
    /// The engine failed at the text.
    #[error("the engine of embeddings failed")]
    Failed,
    /// It made too few vectors, too many, or of another width than before.
    #[error("the engine of embeddings made vectors of another form")]
    Form,
    /// A hosted one gave no vectors, for this reason.
    #[error("the hosted model of sentences gave none: {0}")]
    Hosted(String),
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
