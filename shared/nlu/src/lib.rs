//! What people's words mean, read by sentence embeddings: which agent a text fits, what somebody does by saying it, whether it
//! destroys something or waits for something.
//!
//! Nothing here knows a word of any language. A model of sentences (the [`Embed`] door: [`e5`] in this process, or a hosted one)
//! makes directions of texts; labelled sentences (`data/sentences.tsv`) say what directions mean, and an agent's own card what fits
//! it. There is no IO here: bytes of weights and kept vectors are handed in. What somebody says as the data that an agent takes is
//! read without a model (`extract`).

mod cards;
#[cfg(feature = "e5")]
pub mod e5;
mod embed;
mod engine;
mod extract;
mod input;
mod kept;
mod learnt;
mod probe;
mod quoted;
mod sentences;
mod slot;
mod space;

pub use cards::CardReader;
pub use embed::{Embed, EmbedError, Vector, WIDTH_MAX};
pub use engine::{Engine, Reading};
pub use extract::{Asked, Extraction, Takes, day_of, extract, is_function_word, other_days};
pub use input::InputSchema;
pub use kept::{NoStore, VectorStore};
pub use quoted::{quoted, unquoted};
pub use sentences::{Act, Talk, rarity, talk_language};
pub use slot::Slot;
pub use words::Named;
