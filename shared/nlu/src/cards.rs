//! How well a sentence fits an agent: by its own card alone.
//!
//! The mean of the three texts of a card that are nearest, in standard deviations above what the sentences of the background
//! have with the same card. So a card with many texts, or with general ones, is no more likely than another, and no agent's score
//! depends on who else is there.

#![expect(
    clippy::indexing_slicing,
    reason = "an index comes of a search in the same array"
)]

use crate::embed::Vector;
use crate::kept;

/// So many texts of a card speak for it.
const NEAREST: usize = 3;

/// A card, ready to be held against sentences.
#[derive(Debug, Clone)]
pub struct CardReader {
    texts: Vec<Vector>,
    mean: f32,
    deviation: f32,
}

impl CardReader {
    pub(crate) fn new(texts: Vec<Vector>, background: &[Vector]) -> Self {
        let mut reader = Self {
            texts,
            mean: 0.0,
            deviation: 1.0,
        };
        let near: Vec<f32> = background.iter().map(|said| reader.nearness(said)).collect();
        #[expect(clippy::cast_precision_loss, reason = "some thousand sentences")]
        let count = near.len().max(1) as f32;
        reader.mean = near.iter().sum::<f32>() / count;
        let spread = near.iter().map(|near| (near - reader.mean).powi(2)).sum::<f32>() / count;
        reader.deviation = spread.sqrt().max(f32::EPSILON);
        reader
    }

    /// The card as it is kept: mean and deviation, and its texts.
    pub(crate) fn kept(&self) -> Vec<u8> {
        [
            kept::numbers([self.mean, self.deviation]),
            kept::packed(&self.texts),
        ]
        .concat()
    }

    /// A card of so many texts, as it was kept; none where the bytes hold something else.
    pub(crate) fn read(bytes: &[u8], count: usize) -> Option<Self> {
        let (numbers, texts) = bytes.split_at_checked(8)?;
        let [mean, deviation] = kept::read_numbers(numbers)?.try_into().ok()?;
        let texts = kept::unpacked(texts, count)?;
        (deviation > 0.0).then_some(Self {
            texts,
            mean,
            deviation,
        })
    }

    /// How many numbers its texts' vectors have.
    pub(crate) fn width(&self) -> usize {
        self.texts.first().map_or(0, |text| text.numbers().len())
    }

    /// How well a direction fits: in standard deviations of what anybody may say.
    pub(crate) fn fit(&self, said: &Vector) -> f32 {
        (self.nearness(said) - self.mean) / self.deviation
    }

    fn nearness(&self, said: &Vector) -> f32 {
        let mut best = [f32::NEG_INFINITY; NEAREST];
        for text in &self.texts {
            let near = text.cosine(said);
            if let Some(at) = best.iter().position(|known| near > *known) {
                best[at..].rotate_right(1);
                best[at] = near;
            }
        }
        let found = best.iter().filter(|near| near.is_finite());
        let (sum, count) = found.fold((0.0, 0.0_f32), |(sum, count), near| (sum + near, count + 1.0));
        sum / count.max(1.0)
    }
}
